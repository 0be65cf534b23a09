"""Laws of a score: what is taken, what is refused, and that mixtures and maxima are laws too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gamma, gammaln

from d3stats.models.separation.best_of_k import ranking_probability, separation
from d3stats.models.separation.excess import gain_of_max
from d3stats.models.separation.laws import (
    ContinuousLaw,
    DiscreteLaw,
    MaxLaw,
    MixtureLaw,
    ScoreLaw,
    as_law,
    beta,
    exponential,
    log_below,
    log_cdf,
    mean_of_max,
    normal,
    uniform,
    weibull,
)

SILENT = MixtureLaw([DiscreteLaw([0, 0.5], [0.6, 0.4]), beta(2, 3)], [0.25, 0.75])
LAWS: list[ScoreLaw] = [
    DiscreteLaw([1, 2, 7], [0.2, 0.5, 0.3]),
    as_law(stats.gamma(0.7)),
    as_law(stats.t(1.2, loc=1)),
    SILENT,
    MaxLaw(SILENT, 3),
    MaxLaw(normal(1, 2), 40),
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_parts_of_a_law_fit_together(law: ScoreLaw) -> None:
    x = law.quantile(np.array([0.01, 0.1, 0.3, 0.5, 0.8, 0.99]))
    np.testing.assert_allclose(law.cdf(x) + law.sf(x), 1, atol=1e-13)
    points, masses = law.atoms
    np.testing.assert_allclose(law.cdf(points) - law.below(points), masses, atol=1e-13)
    np.testing.assert_allclose(np.exp(log_cdf(law, x)), law.cdf(x), rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_below(law, x)), law.below(x), rtol=1e-12, atol=1e-15)
    cuts = law.breakpoints()
    assert (np.diff(cuts) > 0).all()
    assert np.isfinite(cuts).all()
    assert np.isin(points, cuts).all()


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_quantile_is_the_least_score_that_is_enough(law: ScoreLaw) -> None:
    levels = np.array([0.001, 0.2, 0.25, 0.7, 0.95])
    x = law.quantile(levels)
    assert (law.cdf(x) >= levels - 1e-12).all()
    assert (law.below(x) <= levels + 1e-12).all()
    high = law.upper_quantile(np.array([1e-3, 1e-6]))
    assert (law.sf(high) <= np.array([1e-3, 1e-6]) * (1 + 1e-6)).all()


@pytest.mark.parametrize("law", LAWS[:-1], ids=repr)
def test_draws_have_the_mean_of_the_law(law: ScoreLaw) -> None:
    drawn = law.sample(4000, rng=5)
    levels = np.array([0.1, 0.5, 0.9])
    at = law.quantile(levels)
    share = (drawn[:, None] <= at).mean(axis=0)
    np.testing.assert_allclose(share, law.cdf(at), atol=4 * 0.5 / np.sqrt(4000))


@settings(max_examples=100, deadline=None)
@given(
    points=st.lists(st.integers(-20, 20), min_size=1, max_size=8, unique=True),
    weights=st.lists(st.floats(0.01, 1), min_size=8, max_size=8),
    k=st.integers(1, 60),
)
def test_the_mean_of_a_best_of_k_is_the_sum_over_its_atoms(
    points: list[int], weights: list[float], k: int
) -> None:
    masses = np.array(weights[: len(points)])
    law = DiscreteLaw(sorted(points), masses / masses.sum())
    best = MaxLaw(law, k)
    x, p = best.atoms
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert best.mean == pytest.approx(x @ p, abs=1e-11)


def test_means_of_maxima_of_exponentials_are_harmonic_numbers() -> None:
    k = np.array([1, 2, 10, 1000])
    wanted = [(1 / np.arange(1, n + 1)).sum() for n in k]
    np.testing.assert_allclose(mean_of_max(exponential(1), k), wanted, rtol=1e-12)
    np.testing.assert_allclose(mean_of_max(as_law(stats.expon()), k), wanted, rtol=1e-12)
    np.testing.assert_allclose(mean_of_max(uniform(0, 1), k), k / (k + 1), rtol=1e-12)


def test_means_of_maxima_reach_far_into_heavy_tails() -> None:
    # E max of k Pareto(a) scores = Gamma(k + 1) Gamma(1 - 1/a) / Gamma(k + 1 - 1/a).
    for a in (1.1, 1.5, 3.0):
        k = np.array([1, 7, 100])
        wanted = np.exp(gammaln(k + 1) + gammaln(1 - 1 / a) - gammaln(k + 1 - 1 / a))
        np.testing.assert_allclose(mean_of_max(as_law(stats.pareto(a)), k), wanted, rtol=1e-9)


def test_a_tail_too_heavy_to_integrate_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="computed to six digits"):
        mean_of_max(as_law(stats.pareto(1.005)), np.array([1]))


def test_laws_are_read_off_what_a_user_has() -> None:
    assert isinstance(as_law({1: 0.5, 3: 0.5}), DiscreteLaw)
    assert as_law(stats.binom(20, 0.3)).mean == pytest.approx(6)
    assert as_law(stats.randint(1, 21)).support == (1, 20)
    assert as_law(stats.rv_discrete(values=([1, 2, 4], [0.5, 0.25, 0.25]))).mean == 2
    assert as_law(stats.rv_discrete(values=([1, 2, 4], [0.5, 0.25, 0.25]))(loc=1)).mean == 3
    assert isinstance(as_law(stats.norm(0, 1)), ContinuousLaw)
    assert as_law([5, 5, 5]).atoms[0].tolist() == [5]
    assert as_law([1, 2, np.nan, 3]).mean == 2
    assert DiscreteLaw.empirical([[1, 2], [np.nan, 3]]).mean == 2
    law = normal()
    assert as_law(law) is law


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: DiscreteLaw([2, 1], [0.5, 0.5]), "support must be strictly increasing; got 2 before 1"),
        (lambda: DiscreteLaw([1, 1], [0.5, 0.5]), "strictly increasing"),
        (lambda: DiscreteLaw([1, 2], [0.5, 0.6]), "probabilities must sum to 1; got a sum of 1.1"),
        (lambda: DiscreteLaw([1, 2], [1.5, -0.5]), "finite and >= 0"),
        (lambda: DiscreteLaw([1, np.nan], [0.5, 0.5]), "support must be finite; got nan"),
        (lambda: DiscreteLaw([1, 2, 3], [0.5, 0.5]), "one value per score"),
        (lambda: DiscreteLaw([], []), "at least one score"),
        (lambda: as_law([np.nan, np.nan]), "scores must hold at least one score; got none"),
        (lambda: as_law([1.0, np.inf]), "support must be finite"),
        (lambda: as_law(stats.norm(0, 0)), "valid parameters.*point mass"),
        (lambda: as_law(stats.beta(-1, 2)), "valid parameters"),
        (lambda: as_law(stats.poisson(-1)), "valid parameters; got poisson"),
        (
            lambda: as_law(stats.zipf(2.5)),
            "at most 2.20 points.*got zipf from 1 to inf, whose tail is too long",
        ),
        (lambda: as_law(stats.randint(0, 10**9)), "at most 2.20 points.*got randint"),
        (
            lambda: as_law(stats.norm([0, 1])),
            "one distribution, not an array of them; got norm .* shape .2,.",
        ),
        (lambda: as_law(stats.binom(5, [0.2, 0.3])), "one distribution, not an array of them; got binom"),
        (lambda: as_law([[1, 2], [3, 4]]), "one dimension.*got shape .2, 2.; .* separation_from_scores"),
        (lambda: MixtureLaw([normal()], [0.9]), "weights must sum to 1"),
        (lambda: MixtureLaw([], []), "at least one law"),
        (lambda: MaxLaw(normal(), 0), "k must be >= 1"),
        (
            lambda: MaxLaw(normal(), 2**70),
            "k must be <= 10000, the most advocates a side that are computed; got k=1180591620717411303424",
        ),
    ],
)
def test_what_is_no_law_is_refused(make: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize("thing", ["normal", stats.norm, print])
def test_what_is_not_even_numbers_is_refused(thing: Any) -> None:
    with pytest.raises(TypeError, match="must be a law"):
        as_law(thing)


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        ({1: 1, "a": 0}, "from numbers to probabilities; got the score 'a'"),
        ({"1": 1}, "from numbers to probabilities; got the score '1'"),
        ({1: "all"}, "probabilities must be numbers"),
        ([[1, 2], [3]], "must be numbers, in one list"),
        (["7", "8"], "must be numbers, in one list"),
    ],
)
def test_scores_that_are_no_numbers_are_refused(thing: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        as_law(thing)


@pytest.mark.parametrize(
    "law",
    [
        stats.poisson(3),
        stats.poisson(3, loc=0.5),
        stats.geom(0.01),
        stats.nbinom(2.5, 0.1),
        stats.skellam(3, 5),
        stats.logser(0.9),
    ],
    ids=lambda law: law.dist.name,
)
def test_a_discrete_law_without_end_is_cut_where_nothing_is_left(law: Any) -> None:
    table = as_law(law)
    assert table.is_discrete
    assert table.mean == pytest.approx(law.mean(), rel=1e-13)
    x = table.quantile([0.01, 0.5, 0.99])
    np.testing.assert_allclose(table.cdf(x), law.cdf(x), rtol=1e-13)
    assert table.sf(table.support[1] - 1) < 1e-25


def test_the_best_of_many_geometric_scores_has_the_mean_of_its_series() -> None:
    p, k = 0.3, np.array([1, 5, 1000])
    n = np.arange(400)
    wanted = (-np.expm1(k * np.log1p(-((1 - p) ** n[1:, None])))).sum(axis=0) + 1
    np.testing.assert_allclose(mean_of_max(as_law(stats.geom(p)), k), wanted, rtol=1e-14)


PARETO = [1.05, 1.12, 1.3, 1.5, 2.0, 3.0]


def pareto_max(b: float, k: Any) -> Any:
    """E max of k Pareto(b) scores = Gamma(1 - 1/b) k! / Gamma(k + 1 - 1/b)."""
    return np.exp(gammaln(1 - 1 / b) + gammaln(np.add(k, 1)) - gammaln(np.add(k, 1 - 1 / b)))


@pytest.mark.parametrize("b", PARETO)
def test_no_heavy_tail_is_off_by_more_than_the_error_that_is_returned(b: float) -> None:
    k = np.array([1, 3, 10])
    found = separation(stats.pareto(b), {0: 1}, k)
    off = np.abs(found.mean_first - pareto_max(b, k))
    assert (off <= found.error).all()
    assert (off <= 1e-13 * found.mean_first).all()


def test_where_a_tail_barely_has_a_mean_the_error_says_so() -> None:
    found = separation(stats.pareto(1.03), {0: 1}, [1, 3, 10])
    off = np.abs(found.mean_first - pareto_max(1.03, [1, 3, 10]))
    assert (off > 1e-9).all()
    assert (off <= found.error).all()
    assert (found.error <= 1e-8 * found.mean_first).all()


@pytest.mark.parametrize(
    ("law", "mean"),
    [
        (stats.lomax(1.1), 10.0),
        (stats.invgamma(1.2), 5.0),
        (stats.t(1.3, loc=2), 2.0),
        (stats.lognorm(8), np.exp(32)),
        (stats.truncpareto(1.1, 1e40), 11 * (1 - 1e-4)),
        (MixtureLaw([normal(), as_law(stats.pareto(1.2))], [0.5, 0.5]), 3.0),
        (weibull(0.05), gamma(21.0)),
    ],
    ids=["lomax", "inverse gamma", "t", "lognormal", "truncated", "one heavy tail", "Weibull"],
)
def test_a_piece_over_many_decades_is_not_passed_over(law: Any, mean: float) -> None:
    found = separation(law, {0: 1}, 1)
    assert found.mean_first[0] == pytest.approx(mean, rel=1e-12)
    assert abs(found.mean_first[0] - mean) <= found.error[0]


@pytest.mark.parametrize("shape", [0.02, 0.05, 0.2, 0.7])
def test_the_best_of_three_weibull_scores_has_the_mean_of_its_series(shape: float) -> None:
    wanted = gamma(1 + 1 / shape) * np.array([1, 3 - 3 * 2 ** (-1 / shape) + 3 ** (-1 / shape)])
    np.testing.assert_allclose(mean_of_max(weibull(shape), np.array([1, 3])), wanted, rtol=1e-13)


@pytest.mark.slow  # the fast layer has two other laws whose maxima have fewer digits
def test_a_survival_function_without_digits_in_its_tail_is_refused_in_words() -> None:
    # scipy has P(X > x) of this law as 1 less a number near 1, so that its tail ends at 1e-16.
    with pytest.raises(ValueError, match=r"six digits; got an error of .*burr\(1.1, 2\)"):
        separation(stats.burr(1.1, 2), {0: 1})


def test_light_tails_are_cut_as_sparsely_as_before() -> None:
    assert as_law(stats.norm()).breakpoints().size <= 17
    assert as_law(stats.expon()).breakpoints().size <= 17
    assert normal().breakpoints().size == 11


@pytest.mark.parametrize(
    ("k", "error", "said"),
    [
        (2**70, ValueError, "k must be <= 10000, the most advocates"),
        ([1, 2**70], ValueError, "k must be <= 10000, the most advocates"),
        (float("inf"), ValueError, "k must be <= 10000, the most advocates"),
        (float("nan"), ValueError, "k must be whole numbers"),
        (2.5, ValueError, "k must be whole numbers"),
        ("3", TypeError, "k must be whole numbers; got k='3'"),
        (True, TypeError, "k must be whole numbers; got k=True"),
        ([1, True], TypeError, "k must be whole numbers; got k=True"),
        (None, TypeError, "k must be whole numbers; got k=None"),
        ([], ValueError, "at least one"),
    ],
)
def test_what_is_no_number_of_advocates_is_refused(k: Any, error: type[Exception], said: str) -> None:
    for ask in (
        lambda: separation({1: 1}, {0: 1}, k),
        lambda: ranking_probability({1: 1}, {0: 1}, k),
        lambda: gain_of_max({1: 1}, k),
    ):
        with pytest.raises(error, match=said):
            ask()


def test_a_mixture_joins_the_atoms_that_its_parts_share() -> None:
    law = MixtureLaw([DiscreteLaw([0, 1], [0.5, 0.5]), DiscreteLaw([1, 2], [0.5, 0.5])], [0.4, 0.6])
    assert law.is_discrete
    np.testing.assert_allclose(law.atoms[0], [0, 1, 2])
    np.testing.assert_allclose(law.atoms[1], [0.2, 0.5, 0.3])


def test_the_best_of_k_of_a_best_of_k_is_the_best_of_more() -> None:
    x = np.linspace(-1, 4, 9)
    np.testing.assert_allclose(MaxLaw(MaxLaw(normal(), 3), 4).cdf(x), MaxLaw(normal(), 12).cdf(x), rtol=1e-13)


@settings(max_examples=60, deadline=None)
@given(
    share=st.floats(0.05, 0.95), atom=st.floats(-3, 3), level=st.floats(1e-6, 1 - 1e-6), gap=st.floats(0.1, 2)
)
def test_a_quantile_of_a_mixture_is_an_atom_where_it_jumps_and_a_lower_end_where_it_rests(
    share: float, atom: float, level: float, gap: float
) -> None:
    jumps = MixtureLaw([DiscreteLaw([atom], [1]), normal()], [share, 1 - share])
    inside = 0.5 * (jumps.below(atom) + jumps.cdf(atom))
    assert jumps.quantile(inside) == atom
    assert jumps.upper_quantile(1 - inside) == atom
    rests = MixtureLaw([uniform(0, 1), uniform(1 + gap, 2 + gap)], [share, 1 - share])
    assert rests.quantile(rests.cdf(1.0)) == pytest.approx(1, abs=1e-12)
    for law in (jumps, rests):
        x = law.quantile(level)
        assert law.cdf(x + 1e-12) >= level - 1e-12
        assert law.below(x - 1e-12) <= level + 1e-12
        assert law.sf(law.upper_quantile(level)) <= level + 1e-12


def test_closed_forms_come_out_for_every_k_up_to_ten_thousand_and_no_further() -> None:
    k = np.unique(np.geomspace(1, 10_000, 90).astype(int))
    found = separation(exponential(3), exponential(), k)
    harmonic = np.cumsum(1 / np.arange(1, 10_001))[k - 1]
    np.testing.assert_allclose(found.mean_first, 3 * harmonic, rtol=1e-13)
    np.testing.assert_allclose(found.mean_gap, 2 * harmonic, rtol=1e-13)
    same = separation(uniform(), uniform(), k)
    np.testing.assert_allclose(same.expected_gap, 2 * k / ((k + 1) * (2 * k + 1)), rtol=1e-13)
    np.testing.assert_allclose(separation(beta(0.3, 1), uniform(), k).ranking, 0.3 / 1.3, rtol=1e-13)
    np.testing.assert_allclose(mean_of_max(as_law(stats.pareto(2)), k), pareto_max(2, k), rtol=1e-10)
    with pytest.raises(ValueError, match=r"k must be <= 10000, .*; got k=10001"):
        separation(uniform(), uniform(), 10_001)
