"""Separation by the best of k: three ways of computing it agree, simulation agrees, and bad input is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from d3stats.models.separation.best_of_k import (
    Separation,
    integrated,
    phase_table,
    ranking_probability,
    separation,
    summed,
)
from d3stats.models.separation.laws import (
    DiscreteLaw,
    MixtureLaw,
    as_law,
    beta,
    exponential,
    normal,
    uniform,
    weibull,
)
from d3stats.models.separation.logged import separation_from_scores

NUMBERS = ("expected_gap", "mean_gap", "mean_first", "mean_second", "prob_first", "prob_tie", "prob_second")
RUBRIC = DiscreteLaw(np.arange(1, 21), np.arange(1, 21) / 210)
FLAT = DiscreteLaw(np.arange(1, 21), np.full(20, 0.05))
SILENT = MixtureLaw([DiscreteLaw([0.0], [1]), beta(4, 2)], [0.2, 0.8])
PAIRS: dict[str, tuple[Any, Any]] = {
    "uniform": (uniform(0.5, 1), uniform(0, 1)),
    "beta": (beta(6, 3), beta(4, 3)),
    "normal": (normal(1, 1), normal(0, 2)),
    "exponential": (exponential(2), exponential(1)),
    "weibull": (weibull(0.7, 2), weibull(0.7, 1)),
    "rubric": (RUBRIC, FLAT),
    "mixture": (SILENT, MixtureLaw([DiscreteLaw([0.0, 0.5], [0.5, 0.5]), beta(2, 2)], [0.5, 0.5])),
    "rubric and beta": (RUBRIC, MixtureLaw([DiscreteLaw([10.0], [1]), uniform(0, 20)], [0.3, 0.7])),
}
HARD: dict[str, tuple[Any, Any]] = {
    "barely a mean": (stats.t(1.2, loc=1), stats.t(1.2)),
    "pareto": (stats.pareto(1.5), stats.pareto(1.5, scale=1.1)),
    "beta with poles": (stats.beta(0.1, 0.2), stats.beta(0.2, 0.2)),
    "lognormal": (stats.lognorm(2), stats.lognorm(1)),
    "laplace": (stats.laplace(0.3), stats.laplace()),
    "gamma with a pole": (stats.gamma(0.3), stats.gamma(0.3, scale=2)),
    "truncated": (stats.truncnorm(-1, 2), stats.truncnorm(-1, 2.5)),
    "shifted": (stats.gamma(2, loc=5), stats.gamma(3, loc=4)),
    "weibull": (stats.weibull_min(0.5), stats.weibull_min(0.5, scale=2)),
    "heavy": (stats.genpareto(0.9), stats.genpareto(0.9, scale=2)),
    "disjoint": (stats.uniform(0, 1), stats.uniform(5, 1)),
    "identical": (stats.norm(), stats.norm()),
    "scales": (stats.norm(0, 1e-6), stats.norm(0, 1e6)),
    "tiny": (stats.uniform(0, 1e-6), stats.uniform(0, 2e-6)),
    "point mass": (DiscreteLaw([1], [1]), stats.uniform()),
    "histogram": (stats.rv_histogram(np.histogram([1, 2, 2, 3, 5], bins=3))(), stats.uniform(0, 4)),
}


def row(found: Separation, i: int = 0) -> NDArray[np.float64]:
    return np.array([getattr(found, name)[i] for name in NUMBERS])


def in_fractions(one: dict[int, Fraction], two: dict[int, Fraction], k: int) -> list[Fraction]:
    """The plain definition: all pairs of scores, in whole numbers."""

    def best(law: dict[int, Fraction]) -> dict[int, Fraction]:
        up_to = Fraction(0)
        result = {}
        for x in sorted(law):
            result[x] = (up_to + law[x]) ** k - up_to**k
            up_to += law[x]
        return result

    m1, m2 = best(one), best(two)
    pairs = [(x, y, p * q) for x, p in m1.items() for y, q in m2.items()]
    means = [sum((x * p for x, p in m.items()), Fraction(0)) for m in (m1, m2)]
    return [
        sum((abs(x - y) * p for x, y, p in pairs), Fraction(0)),
        means[0] - means[1],
        *means,
        sum((p for x, y, p in pairs if x > y), Fraction(0)),
        sum((p for x, y, p in pairs if x == y), Fraction(0)),
        sum((p for x, y, p in pairs if x < y), Fraction(0)),
    ]


tables = st.dictionaries(st.integers(-20, 20), st.integers(1, 30), min_size=1, max_size=7)


@settings(max_examples=40, deadline=None)
@given(one=tables, two=tables, k=st.integers(1, 12))
def test_sums_quadrature_and_fractions_agree(one: dict[int, int], two: dict[int, int], k: int) -> None:
    exact = [{x: Fraction(w, sum(t.values())) for x, w in t.items()} for t in (one, two)]
    wanted = np.array([float(v) for v in in_fractions(exact[0], exact[1], k)])
    laws = [as_law({x: float(p) for x, p in law.items()}) for law in exact]
    ks = np.array([k])
    np.testing.assert_allclose(row(separation(*laws, k)), wanted, rtol=0, atol=1e-12)
    for path in (summed, integrated):
        numbers = np.array([x[0] for x in path(laws[0], laws[1], ks)[:7]])
        np.testing.assert_allclose(numbers, wanted, rtol=0, atol=1e-10)


def by_mpmath(name: str, k: int) -> list[float]:
    """30 digits: E abs(M1 - M2), E M1 - E M2, P(M1 > M2), from densities and distribution functions anew."""
    import mpmath as mp

    mp.mp.dps = 30
    cut = mp.mpf
    inf = mp.inf

    def laws() -> tuple[Any, Any, Any, list[Any]]:
        if name == "normal":
            return (
                mp.ncdf,
                lambda x: mp.ncdf(x - 1),
                lambda x: mp.npdf(x - 1),
                [-16, -6, -3, 0, 1, 2, 4, 8, 17],
            )
        if name == "beta":
            f = [lambda x, a=a, b=b: mp.betainc(a, b, 0, x, regularized=True) for a, b in ((4, 3), (6, 3))]
            return f[0], f[1], lambda x: x**5 * (1 - x) ** 2 / mp.beta(6, 3), [0, cut(1) / 2, 1]
        if name == "beta with a pole":
            f = [lambda x, a=a: mp.betainc(a, 1.5, 0, x, regularized=True) for a in (cut("0.5"), cut("0.75"))]
            d = lambda x: x ** cut("-0.25") * mp.sqrt(1 - x) / mp.beta(cut("0.75"), cut("1.5"))  # noqa: E731
            return f[0], f[1], d, [0, cut("1e-6"), cut("0.01"), cut("0.5"), cut("0.99"), 1]
        if name == "uniform":
            return (
                lambda x: x,
                lambda x: max(2 * x - 1, cut(0)),
                lambda x: cut(2) * (x >= 0.5),
                [0, cut("0.5"), 1],
            )
        if name == "exponential":
            grid = [0, 1, 4, 12, 40, 100, inf]
            return lambda x: -mp.expm1(-x), lambda x: -mp.expm1(-x / 2), lambda x: mp.exp(-x / 2) / 2, grid
        if name == "weibull":
            c = cut("0.7")
            f = [lambda x, s=s: -mp.expm1(-((x / s) ** c)) for s in (1, 2)]
            d = lambda x: c / 2 * (x / 2) ** (c - 1) * mp.exp(-((x / 2) ** c))  # noqa: E731
            return f[0], f[1], d, [0, cut("1e-8"), cut("1e-3"), cut("0.1"), 1, 5, 30, 150, 600, 2000]
        if name == "logistic":
            f = [lambda x, m=m: 1 / (1 + mp.exp(-(x - m))) for m in (0, cut("0.5"))]
            return f[0], f[1], lambda x: f[1](x) * (1 - f[1](x)), [-80, -30, -10, -3, 0, 3, 10, 30, 80]
        f = [lambda x, s=s: mp.ncdf(mp.log(x) / s) for s in (1, cut("1.5"))]
        d = lambda x: mp.npdf(mp.log(x) / cut("1.5")) / (cut("1.5") * x)  # noqa: E731
        return f[0], f[1], d, [cut("1e-9"), cut("1e-3"), cut("0.1"), 1, 5, 50, 1000, 10**5, 10**8]

    f2, f1, d1, grid = laws()
    gap = mp.quad(lambda x: f1(x) ** k * (1 - f2(x) ** k) + f2(x) ** k * (1 - f1(x) ** k), grid)
    mean = mp.quad(lambda x: f2(x) ** k - f1(x) ** k, grid)
    ahead = mp.quad(lambda x: k * f1(x) ** (k - 1) * d1(x) * f2(x) ** k, grid)
    return [float(v) for v in (gap, mean, ahead)]


MP_PAIRS: dict[str, tuple[Any, Any]] = {
    "normal": (stats.norm(1), stats.norm()),
    "beta": (beta(6, 3), beta(4, 3)),
    "beta with a pole": (stats.beta(0.75, 1.5), stats.beta(0.5, 1.5)),
    "uniform": (stats.uniform(0.5, 0.5), stats.uniform()),
    "exponential": (stats.expon(scale=2), stats.expon()),
    "weibull": (weibull(0.7, 2), weibull(0.7, 1)),
    "logistic": (stats.logistic(0.5), stats.logistic()),
    "lognormal": (stats.lognorm(1.5), stats.lognorm(1.0)),
}


SLOW = ("lognormal", "beta with a pole", "normal", "weibull", "beta")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in MP_PAIRS]
)
def test_quadrature_agrees_with_thirty_digits(name: str) -> None:
    found = separation(*MP_PAIRS[name], k=4)
    gap, mean, ahead = by_mpmath(name, 4)
    assert found.expected_gap[0] == pytest.approx(gap, abs=1e-10)
    assert found.mean_gap[0] == pytest.approx(mean, abs=1e-10)
    assert found.prob_first[0] == pytest.approx(ahead, abs=1e-10)
    assert abs(found.expected_gap[0] - gap) <= max(found.error[0], 1e-13) * 4


def test_the_closed_forms_of_uniforms_and_exponentials_come_out() -> None:
    k = np.array([1, 2, 5, 50])
    harmonic = np.array([(1 / np.arange(1, n + 1)).sum() for n in k])
    found = separation(stats.expon(scale=3), stats.expon(), k)
    np.testing.assert_allclose(found.mean_first, 3 * harmonic, rtol=1e-12)
    np.testing.assert_allclose(found.mean_gap, 2 * harmonic, rtol=1e-12)
    same = separation(stats.uniform(), stats.uniform(), k)
    np.testing.assert_allclose(same.expected_gap, 2 * k / ((k + 1) * (2 * k + 1)), rtol=1e-12)
    np.testing.assert_allclose(same.ranking, 0.5, atol=1e-13)


@pytest.mark.parametrize("theta", [0.3, 2.0, 7.0])
def test_under_lehmann_alternatives_the_ranking_is_the_same_for_every_k(theta: float) -> None:
    found = separation(beta(theta, 1), uniform(0, 1), [1, 3, 40])
    np.testing.assert_allclose(found.ranking, theta / (1 + theta), atol=1e-12)


@pytest.mark.parametrize("name", PAIRS)
def test_simulation_agrees_within_four_standard_errors(name: str) -> None:
    first, second = PAIRS[name]
    k, draws = 3, 40_000
    rng = np.random.default_rng(11)
    m1, m2 = (as_law(law).sample((draws, k), rng).max(axis=1) for law in (first, second))
    seen = np.stack([np.abs(m1 - m2), m1 - m2, m1, m2, m1 > m2, m1 == m2, m1 < m2]).astype(float)
    se = seen.std(axis=1) / np.sqrt(draws)
    off = np.abs(seen.mean(axis=1) - row(separation(first, second, k)))
    assert (off <= 4 * se + 1e-12).all(), dict(zip(NUMBERS, off / np.maximum(se, 1e-12), strict=True))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "histogram" else ()) for name in HARD]
)
def test_hard_laws_give_numbers_that_hang_together(name: str) -> None:
    first, second = (as_law(law) for law in HARD[name])
    found = separation(first, second, [1, 2, 30, 10**4])
    total = found.prob_first + found.prob_tie + found.prob_second
    np.testing.assert_allclose(total, 1, rtol=0, atol=1e-12)
    values = found.to_frame().to_numpy()
    assert np.isfinite(values).all()
    scale = found.expected_gap
    assert (np.abs(found.mean_gap) <= scale * (1 + 1e-9) + found.error).all()
    np.testing.assert_allclose(found.mean_first - found.mean_second, found.mean_gap, atol=2e-10 * scale.max())
    assert found.mean_first[0] == pytest.approx(first.mean, rel=1e-9, abs=found.error[0])
    assert found.mean_second[0] == pytest.approx(second.mean, rel=1e-9, abs=found.error[0])
    swapped = separation(second, first, [1, 2, 30, 10**4])
    np.testing.assert_allclose(swapped.prob_second, found.prob_first, atol=1e-9)
    np.testing.assert_allclose(swapped.expected_gap, scale, rtol=1e-9)


def test_mass_between_the_nodes_is_not_passed_over() -> None:
    # The best of many Betas with a pole at 1 lies nearer to 1 than any node; the other law has no mass there.
    found = separation(beta(5.137711267, 0.05822699741), weibull(2.596122888, 0.002370295397), [1, 91, 4583])
    np.testing.assert_allclose(found.prob_first, 1, atol=1e-9)
    assert found.mean_first[-1] == pytest.approx(1, abs=1e-12)


def test_an_atom_below_everything_else_is_no_heavy_tail() -> None:
    silent = MixtureLaw([DiscreteLaw([0], [1]), normal(60, 0.4)], [0.3, 0.7])
    found = separation(silent, exponential(9000), [1, 74])
    assert found.mean_first[0] == pytest.approx(42)
    assert (found.error < 1e-8).all()


@settings(max_examples=25, deadline=None)
@given(
    a=st.floats(0.3, 30),
    b=st.floats(0.3, 30),
    c=st.floats(0.3, 30),
    d=st.floats(0.3, 30),
    k=st.integers(1, 60),
)
def test_the_parts_of_a_separation_fit_together(a: float, b: float, c: float, d: float, k: int) -> None:
    found = separation(beta(a, b), beta(c, d), k)
    assert found.expected_gap[0] >= abs(found.mean_gap[0]) - 1e-12
    assert found.prob_first[0] + found.prob_second[0] == pytest.approx(1, abs=1e-12)
    assert found.prob_error[0] < 1e-9
    assert found.mean_first[0] - found.mean_second[0] == pytest.approx(found.mean_gap[0], abs=1e-12)


def test_a_law_without_a_mean_can_still_be_ranked() -> None:
    with pytest.raises(ValueError, match="first must have a finite mean; got ContinuousLaw"):
        separation(stats.cauchy(1), stats.cauchy())
    with pytest.raises(ValueError, match="second must have a finite mean"):
        separation(stats.norm(), stats.pareto(1.0))
    # The difference of two Cauchy scores is Cauchy with scale two.
    assert ranking_probability(stats.cauchy(1), stats.cauchy())[0] == pytest.approx(
        0.5 + np.arctan(0.5) / np.pi, abs=1e-12
    )
    k = [1, 4, 9]
    np.testing.assert_allclose(
        ranking_probability(*PAIRS["rubric"], k), separation(*PAIRS["rubric"], k).ranking
    )
    np.testing.assert_allclose(
        ranking_probability(*PAIRS["mixture"], k), separation(*PAIRS["mixture"], k).ranking, atol=1e-12
    )


def test_mass_that_floats_cannot_tell_apart_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="too much mass lies next to one point"):
        separation(stats.beta(0.1, 0.1, loc=5), stats.beta(0.1, 0.2, loc=5), 3)


@pytest.mark.parametrize("k", [0, [1, 0], -1, 1.5, [], [1, np.nan], [[1, 2]]])
def test_a_k_that_is_no_number_of_advocates_is_refused(k: Any) -> None:
    with pytest.raises(ValueError, match="k must"):
        separation(stats.norm(), stats.norm(), k)


def test_an_all_tied_sample_always_ties() -> None:
    found = separation([7, 7, 7], [7, 7], [1, 5])
    np.testing.assert_array_equal(found.prob_tie, 1)
    np.testing.assert_array_equal(found.expected_gap, 0)
    np.testing.assert_array_equal(found.ranking, 0.5)
    point = separation(DiscreteLaw([0.5], [1]), stats.uniform(), 2)
    assert point.prob_first[0] == pytest.approx(0.25)
    assert point.prob_tie[0] == 0


def test_a_summary_says_what_grew_and_what_got_worse() -> None:
    def against_one(first: Any, second: Any) -> list[str]:
        found = separation(first, second, [1, 3])
        assert "against k = 1" in found.summary()
        return found.to_frame("against k = 1").loc[1, ["gap", "ranking"]].tolist()

    assert against_one(*PAIRS["uniform"]) == ["shrank", "worse"]
    assert against_one(*PAIRS["exponential"]) == ["grew", "better"]
    assert against_one(beta(2, 1), uniform(0, 1))[1] == "the same"


def test_a_frame_has_a_row_per_k_in_the_order_asked() -> None:
    frame = separation(*PAIRS["beta"], [3, 1]).to_frame()
    assert frame["k"].tolist() == [3, 1]
    assert set(NUMBERS) <= set(frame.columns)


def test_a_phase_table_asks_for_two_parameters() -> None:
    with pytest.raises(ValueError, match="grid must name two parameters"):
        phase_table(lambda a, b: (uniform(a, 1), uniform(0, b)), {"a": [0.5]}, 3)
    with pytest.raises(ValueError, match="k must be >= 2"):
        phase_table(lambda a, b: (uniform(a, 1), uniform(0, b)), {"a": [0.5], "b": [1.0]}, 1)
    table = phase_table(lambda a, b: (uniform(0, b), uniform(a, 1)), {"a": [0.5], "b": [1.0]}, 3)
    assert table["ranking_change"][0] == pytest.approx(0.69375 - 0.75)


def all_subsets(x: NDArray[np.float64], y: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Every choice of k advocates a side, counted one by one."""
    from itertools import combinations

    best = [[max(c) for c in combinations(z[~np.isnan(z)], k)] for z in (x, y)]
    m1, m2 = (a.ravel() for a in np.meshgrid(*best))
    seen = np.stack([np.abs(m1 - m2), m1 - m2, m1, m2, m1 > m2, m1 == m2, m1 < m2])
    return np.asarray(seen.astype(float).mean(axis=1))


def scores(seed: int, shape: tuple[int, int], shift: float = 0.0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return np.clip(np.rint(rng.normal(6 + shift, 2, shape)), 1, 10)


def test_logged_scores_give_the_mean_over_all_choices_of_advocates() -> None:
    x, y = scores(1, (4, 5)), scores(2, (4, 6))
    x[0, 2] = y[1, 0] = np.nan
    for k in (1, 2, 4):
        wanted = np.mean([all_subsets(a, b, k) for a, b in zip(x, y, strict=True)], axis=0)
        found = separation_from_scores(x, y, k, n_boot=2, rng=0).estimates().iloc[0]
        np.testing.assert_allclose([found[name] for name in NUMBERS], wanted, atol=1e-12)


def test_items_with_too_few_advocates_are_counted_and_left_out_at_every_k() -> None:
    x, y = scores(1, (6, 4)), scores(2, (6, 4))
    x[2, 1:] = np.nan
    found = separation_from_scores(x, y, [1, 3], n_boot=10, rng=0)
    assert (found.n_items, found.n_left_out) == (5, 1)
    alone = separation_from_scores(np.delete(x, 2, 0), np.delete(y, 2, 0), [1, 3], n_boot=10, rng=0)
    np.testing.assert_array_equal(found.table["estimate"], alone.table["estimate"])
    assert "1 left out" in found.summary()


@pytest.mark.parametrize("kind", ["percentile", "bca"])
def test_an_all_tied_log_has_estimates_and_no_interval_of_no_width(kind: Any) -> None:
    found = separation_from_scores(np.full((5, 3), 7.0), np.full((5, 4), 7.0), [1, 3], kind=kind, rng=1)
    assert found.all_tied
    assert np.isfinite(found.table["estimate"]).all()
    assert found.table[["se", "low", "high"]].isna().all(axis=None)
    assert "expected_gap" in found.notes[0]
    assert "every resample of clusters gives the same value" in found.notes[0]
    assert "only 5 clusters" in found.notes[1]
    assert "nan" not in found.summary().lower()
    wide = found.estimates()
    np.testing.assert_array_equal(wide["prob_tie"], 1)
    np.testing.assert_array_equal(wide[["expected_gap", "mean_gap"]], 0)
    assert "so no k can separate" in found.summary()


def test_the_same_seed_gives_the_same_intervals() -> None:
    x, y = scores(1, (30, 4)), scores(2, (30, 4), 1.0)
    a, b = (separation_from_scores(x, y, [1, 2], rng=4, n_boot=100).table for _ in range(2))
    assert a.equals(b)


def test_items_of_one_cluster_are_resampled_together() -> None:
    x, y = scores(1, (40, 4)), scores(2, (40, 4), 1.0)
    twice = [np.repeat(z, 2, axis=0) for z in (x, y)]
    found = separation_from_scores(*twice, 2, cluster=np.repeat(np.arange(40), 2), rng=4, n_boot=500)
    plain = separation_from_scores(x, y, 2, rng=4, n_boot=500)
    assert found.n_clusters == 40
    np.testing.assert_allclose(found.table["se"], plain.table["se"], rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["percentile", "bca"])
def test_intervals_over_items_cover_the_truth(kind: Any) -> None:
    truth = separation(normal(0.5, 1), normal(0, 1), [1, 3])
    rng = np.random.default_rng(7)
    inside = []
    for _ in range(600):
        x, y = rng.normal(0.5, 1, (60, 4)), rng.normal(0, 1, (60, 4))
        table = separation_from_scores(x, y, [1, 3], kind=kind, n_boot=400, rng=rng).table
        rows = table.set_index(["quantity", "k"])
        for quantity in ("expected_gap", "ranking"):
            wanted = getattr(truth, quantity)[1]
            low, high = rows.loc[(quantity, 3), ["low", "high"]]
            inside.append(low <= wanted <= high)
    assert 0.92 <= np.mean(inside) <= 0.97


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"k": 5}, "k must be at most the advocates logged for an item on both sides .at most 4."),
        ({"k": 0}, "k must be >= 1"),
        ({"k": []}, "k must hold"),
        ({"second_scores": np.ones((3, 4))}, "one row per item .6.; got 3"),
        ({"first_scores": np.ones(6)}, "shape .items, advocates."),
        ({"first_scores": np.full((6, 4), np.inf)}, "finite or NaN; got inf at item 0, advocate 0"),
        ({"first_scores": np.full((6, 4), np.nan)}, "at most 0"),
        ({"cluster": ["a"] * 6}, "at least two clusters"),
        ({"cluster": ["a"] * 5}, "one name per item"),
        ({"cluster": [None, *"abcde"]}, "cluster must name every item"),
        ({"kind": "normal"}, "kind must be one of"),
        ({"level": 95}, "level must lie"),
    ],
)
def test_logged_scores_that_cannot_be_used_are_refused(change: dict[str, Any], said: str) -> None:
    asked: dict[str, Any] = {
        "first_scores": scores(1, (6, 4)),
        "second_scores": scores(2, (6, 4)),
        "k": 2,
    } | change
    with pytest.raises(ValueError, match=said):
        separation_from_scores(**asked, n_boot=10, rng=0)
