"""Limits against scipy's, the t interval against textbook formulas, and refusals in words."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from d3stats.resampling import LimitsKind, bootstrap, bootstrap_limits, cluster_t, jackknife, ratios

KINDS: tuple[LimitsKind, ...] = ("percentile", "basic", "bca", "studentised")
share = ratios((0, 1))


def with_ones(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([values, np.ones(len(values))])


@pytest.mark.parametrize(
    ("kind", "method"), [("percentile", "percentile"), ("basic", "basic"), ("bca", "BCa")]
)
@pytest.mark.parametrize("values", ["skewed", "votes"])
def test_limits_of_the_same_replicates_are_scipys(kind: str, method: str, values: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.exponential(size=30) if values == "skewed" else (rng.random(30) < 0.8).astype(float)
    draws = bootstrap(with_ones(x), share, n_boot=3000, rng=2)
    mine = draws.limits(kind, level=0.9)  # type: ignore[arg-type]  # the names are the parameters' own
    theirs = stats.bootstrap(
        (x,),
        np.mean,
        n_resamples=0,
        bootstrap_result=SimpleNamespace(bootstrap_distribution=draws.replicates[:, 0]),
        confidence_level=0.9,
        method=method,
    )
    np.testing.assert_allclose(mine.interval(), tuple(theirs.confidence_interval), rtol=1e-10)
    assert mine.se[0] == pytest.approx(theirs.standard_error, rel=1e-12)


def test_scipys_own_resamples_give_the_same_limits_but_for_chance() -> None:
    x = np.random.default_rng(5).exponential(size=60)
    n_boot = 20_000
    for kind, method in (("percentile", "percentile"), ("bca", "BCa")):
        mine = bootstrap_limits(with_ones(x), share, kind=kind, n_boot=n_boot, rng=1)  # type: ignore[arg-type]
        theirs = stats.bootstrap(
            (x,), np.mean, n_resamples=n_boot, method=method, rng=np.random.default_rng(2)
        )
        for one, other in zip(mine.interval(), theirs.confidence_interval, strict=True):
            # a 2.5 % quantile of a near normal law: s sqrt(.025 .975 / B) / density, twice drawn; tails of BCa thinner
            assert one == pytest.approx(other, abs=5 * np.sqrt(2) * mine.se[0] * 3.5 / np.sqrt(n_boot))


def test_studentised_limits_are_quantiles_of_each_draws_own_t() -> None:
    x = np.random.default_rng(6).exponential(size=25)
    mine = bootstrap_limits(with_ones(x), share, kind="studentised", n_boot=40_000, rng=1)
    rng = np.random.default_rng(2)
    rows = x[rng.integers(25, size=(40_000, 25))]
    t = (rows.mean(axis=1) - x.mean()) / (rows.std(axis=1, ddof=1) / 5)
    low, high = np.quantile(t, [0.025, 0.975])
    se = x.std(ddof=1) / 5
    # the long tail of t is thin, so that its quantile is the less sure one
    np.testing.assert_allclose(mine.interval(), (x.mean() - high * se, x.mean() - low * se), atol=0.1 * se)


@pytest.mark.parametrize("multiplicity", [None, [1, 2, 1, 3, 1, 1]])
def test_errors_of_the_data_and_of_every_draw_have_clusters_less_one(multiplicity: list[int] | None) -> None:
    """The error of a ratio r is sqrt(G / (G - 1) sum (x - r n)^2) / sum n (Cochran, 1977, section 6.4)."""
    x, n = np.array([3.0, 0, 2, 4, 1, 1]), np.array([4.0, 1, 3, 5, 2, 2])
    rows = np.repeat(np.arange(6), multiplicity) if multiplicity else np.arange(6)
    # A column for each row counts how often a draw has it, so that every draw can be computed again.
    totals = np.column_stack([x, n, np.eye(6)])
    statistic = ratios((0, 1), *((2 + k, 1) for k in range(6)))
    drawn = bootstrap(totals, statistic, n_boot=50, rng=1, errors=True, multiplicity=multiplicity)

    def direct(held: NDArray[np.int64]) -> tuple[float, float]:
        g, one, size = len(held), x[held], n[held]
        r = one.sum() / size.sum()
        return r, np.sqrt(g / (g - 1) * ((one - r * size) ** 2).sum()) / size.sum()

    assert (drawn.estimate[0], drawn.error[0]) == pytest.approx(direct(rows), rel=1e-8)
    for values, error in zip(drawn.replicates, drawn.errors[:, 0], strict=True):
        counts = values[1:] / values[1:].sum() * len(rows)
        held = np.repeat(np.arange(6), np.rint(counts).astype(int))
        np.testing.assert_allclose(counts, np.rint(counts), atol=1e-9)
        assert (values[0], error) == pytest.approx(direct(held), rel=1e-6, abs=1e-8)


@given(st.integers(0, 2**32 - 1), st.integers(2, 40))
def test_the_t_interval_of_one_row_a_cluster_is_students(seed: int, n: int) -> None:
    x = np.random.default_rng(seed).normal(3, 2, size=n)
    mine = cluster_t(with_ones(x), share, level=0.9, null=1.0, symmetric=True)
    theirs = stats.ttest_1samp(x, 1.0)
    assert mine.se[0] == pytest.approx(stats.sem(x), rel=1e-9)
    assert mine.df == n - 1
    assert mine.p_value[0] == pytest.approx(theirs.pvalue, rel=1e-6)
    np.testing.assert_allclose(mine.interval(), tuple(theirs.confidence_interval(0.9)), rtol=1e-8)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_the_t_interval_of_a_ratio_of_equal_clusters_is_the_survey_samplers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = np.full(30, float(rng.integers(1, 12)))
    right = rng.binomial(size.astype(int), 0.6).astype(float)
    rate = right.sum() / size.sum()
    error = np.sqrt(30 / 29 * ((right - rate * size) ** 2).sum()) / size.sum()
    assert cluster_t(np.column_stack([right, size]), share).se[0] == pytest.approx(error, rel=1e-9)


def test_the_jackknife_leaves_out_each_cluster_once() -> None:
    rng = np.random.default_rng(8)
    totals = rng.uniform(1, 2, (12, 2))
    plain = [np.delete(totals, i, axis=0).sum(axis=0) for i in range(12)]
    np.testing.assert_allclose(jackknife(totals, share)[:, 0], [a / b for a, b in plain])


@pytest.mark.parametrize("kind", KINDS)
def test_clusters_that_are_all_alike_carry_no_interval(kind: str) -> None:
    """A judge who is always right: two equal limits would say that nothing else is possible."""
    totals = np.column_stack([np.arange(1.0, 31), np.arange(1.0, 31)])
    limits = bootstrap_limits(totals, share, kind=kind, n_boot=500, rng=0)  # type: ignore[arg-type]
    assert limits.estimate[0] == 1.0
    assert limits.interval() == (None, None)
    assert limits.reasons[0] == "every resample gives the same value, 1"
    t = cluster_t(totals, share)
    assert t.interval() == (None, None)
    assert t.se[0] == 0
    assert "the variation between clusters is unknown" in t.reasons[0]


@pytest.mark.parametrize("kind", KINDS)
def test_rounding_is_not_taken_for_spread(kind: str) -> None:
    totals = np.column_stack([np.full(20, 0.1) + np.full(20, 0.2), np.full(20, 0.3), np.ones(20)])
    limits = bootstrap_limits(
        totals,
        lambda sums: np.column_stack([sums[:, 0] / sums[:, 2], (sums[:, 0] - sums[:, 1]) / sums[:, 2]]),
        kind=kind,  # type: ignore[arg-type]
        n_boot=400,
        rng=0,
    )
    assert limits.interval(0) == limits.interval(1) == (None, None)
    assert all(limits.reasons)


def test_limits_that_coincide_are_refused_with_the_reason() -> None:
    """The middle of 21 draws of 0/1 values, 17 of them 1: hardly ever 0."""
    values = np.column_stack([np.r_[np.ones(17), np.zeros(4)], np.ones(21)])
    limits = bootstrap_limits(values, lambda s: (s[:, 0] > s[:, 1] / 2) * 1.0, kind="percentile", rng=0)
    assert limits.interval() == (None, None)
    assert "both limits" in limits.reasons[0] or "same value" in limits.reasons[0]


def test_draws_without_spread_make_studentised_limits_refuse() -> None:
    totals = np.column_stack([np.r_[1.0, np.zeros(14)], np.ones(15)])
    limits = bootstrap_limits(totals, share, kind="studentised", rng=0)
    # with one right of 15, more than a third of the draws hold none and have no error of their own
    assert limits.interval() == (None, None)
    assert "so they cannot be studentised" in limits.reasons[0]
    assert bootstrap_limits(totals, share, kind="percentile", rng=0).interval()[1] is not None


def test_replicates_that_leave_the_statistic_undefined_are_counted_and_left_out() -> None:
    totals = np.column_stack([np.r_[1.0, 0.0, 1.0, np.zeros(9)], np.r_[1.0, 2.0, 1.0, np.zeros(9)]])
    limits = bootstrap_limits(totals, share, kind="percentile", n_boot=5000, rng=0)
    # nobody of three drawn: (9/12)^12 of all draws
    chance = 0.75**12
    assert abs(limits.n_undefined[0] / 5000 - chance) < 4 * np.sqrt(chance / 5000)
    assert f"{limits.n_undefined[0]} of 5000 resamples leave the statistic undefined" in limits.note
    assert np.isnan(limits.replicates).sum() == limits.n_undefined[0]
    low, high = limits.interval()
    assert low is not None
    assert high is not None
    assert 0 <= low < high <= 1


def test_most_replicates_undefined_is_no_interval() -> None:
    totals = np.column_stack([np.r_[1.0, np.zeros(9)], np.r_[2.0, np.zeros(9)]])

    def only_if_drawn_twice(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        value = np.where(sums[:, 1] > 4.5, sums[:, 0], np.nan)
        value[np.isclose(sums[:, 1], 2)] = 1.0
        return value

    limits = bootstrap_limits(totals, only_if_drawn_twice, kind="percentile", n_boot=500, rng=0)
    assert limits.interval() == (None, None)


def test_few_clusters_are_allowed_with_a_note_and_one_is_not() -> None:
    totals = np.array([[1.0, 2.0], [2.0, 3.0], [0.0, 2.0]])
    limits = bootstrap_limits(totals, share, kind="percentile", rng=0)
    assert limits.note.startswith("only 3 clusters")
    assert bootstrap_limits(np.tile(totals, (10, 1)), share, kind="percentile", rng=0).note == ""
    for call in (cluster_t, jackknife, bootstrap):
        with pytest.raises(ValueError, match="totals must have at least two clusters"):
            call(totals[:1], share)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=25),
    st.sampled_from(KINDS),
)
def test_no_nan_comes_without_a_reason(pairs: list[tuple[int, int]], kind: str) -> None:
    totals = np.array([(min(a, b), b) for a, b in pairs], dtype=float)
    if totals[:, 1].sum() == 0:
        with pytest.raises(ValueError, match="undefined"):
            bootstrap_limits(totals, share, kind=kind, n_boot=50, rng=0)  # type: ignore[arg-type]
        return
    limits = bootstrap_limits(totals, share, kind=kind, n_boot=200, rng=0)  # type: ignore[arg-type]
    assert np.isfinite(limits.estimate).all()
    low, high = limits.low[0], limits.high[0]
    assert bool(limits.reasons[0]) == (not low < high)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"kind": "normal"},
            "kind must be one of 'percentile', 'basic', 'bca', 'studentised'; got kind='normal'",
        ),
        ({"level": 1.0}, "level must lie strictly between 0 and 1"),
        ({"n_boot": 1}, "n_boot must be >= 2"),
        ({"totals": [[1.0, np.nan], [1.0, 2.0]]}, "totals must be finite; got .* at cluster 0"),
        ({"totals": [1.0, 2.0]}, r"totals must have shape \(clusters, columns\)"),
        ({"totals": [[0.0, 0.0], [0.0, 0.0]]}, "statistic must be defined on the data themselves"),
        ({"statistic": lambda sums: sums.sum()}, "statistic must map sums"),
        ({"multiplicity": [1]}, r"multiplicity must have one value per row \(2\); got 1"),
    ],
)
def test_wrong_arguments_are_named(change: dict[str, object], words: str) -> None:
    arguments = {"totals": [[1.0, 2.0], [2.0, 2.0]], "statistic": share, "kind": "bca", "rng": 0} | change
    with pytest.raises(ValueError, match=words):
        bootstrap_limits(**arguments)  # type: ignore[arg-type]  # wrong on purpose


def test_studentised_limits_have_to_be_planned_for() -> None:
    draws = bootstrap([[1, 2], [2, 2], [0, 2]], share, n_boot=10, rng=0)
    with pytest.raises(ValueError, match="errors must be True"):
        draws.limits("studentised")


@pytest.mark.parametrize("kind", KINDS)
def test_a_bootstrap_says_when_unequal_clusters_are_worth_few(kind: LimitsKind) -> None:
    """Limits of each kind hold a share at the two designs below in .57 to .86 of 1,000 data sets."""
    rng = np.random.default_rng(8)
    for sizes in ([50, 50] + 18 * [2], 5 * [1, 2, 4, 8, 200]):
        totals = np.column_stack([rng.binomial(sizes, 0.5), sizes])
        found = bootstrap_limits(totals, share, kind=kind, n_boot=200, rng=1)
        assert f"only {len(sizes)} clusters of unequal size" in found.note
    equal = np.column_stack([rng.binomial(5, 0.5, 40), np.full(40, 5)])
    assert bootstrap_limits(equal, share, kind=kind, n_boot=200, rng=1).note == ""
