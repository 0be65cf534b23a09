"""Rank correlations: scipy's values, and intervals that cover, with clusters too."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from layers import covering, examples, sampled
from scipy import stats

from d3stats.inference.judges.correlation import (
    FEW_OTHER,
    Cells,
    Least,
    correlation,
    kendall,
    null_error,
    rank_statistic,
    spearman,
)

KINDS = ("cluster t", "jackknife t", "percentile", "basic", "bca")


def scores(n: int, seed: int, levels: int | None = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = 0.6 * x + rng.normal(size=n)
    if levels is None:
        return x, y
    return np.clip(np.round(x * 1.2 + 3), 1, levels), np.clip(np.round(y + 3), 1, levels)


@pytest.mark.parametrize("levels", [None, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_scipy_with_ties_and_without(levels: int | None, seed: int) -> None:
    x, y = scores(40, seed, levels)
    assert spearman(x, y).estimate.value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert kendall(x, y).estimate.value == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)


@pytest.mark.parametrize(("method", "of"), [("spearman", stats.spearmanr), ("kendall", stats.kendalltau)])
def test_a_replicate_by_counts_is_that_of_the_resampled_rows(method: str, of: Any) -> None:
    x, y = scores(30, 4)
    cells = Cells.of(x, y)
    rng = np.random.default_rng(1)
    for _ in range(5):
        rows = rng.integers(0, 30, 30)
        counts = np.bincount(cells.cell[rows], minlength=len(cells.x)).astype(float)[None]
        assert rank_statistic(cells, method)(counts)[0, 0] == pytest.approx(of(x[rows], y[rows]).statistic)


def test_missing_scores_are_left_out_and_counted() -> None:
    x, y = scores(30, 5)
    with_gaps = [None, *x[1:]], [*y[:-1], np.nan]
    made = spearman(*with_gaps)
    assert made.estimate.value == pytest.approx(stats.spearmanr(x[1:-1], y[1:-1]).statistic)
    assert made.notes == ("2 of 30 pairs left out: a score is missing",)


@pytest.mark.parametrize("levels", [None, 2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_the_error_under_no_relation_is_that_of_scipy(levels: int | None, seed: int) -> None:
    x, y = scores(40, seed, levels)
    z = kendall(x, y).estimate.value / null_error(Cells.of(x, y), "kendall")
    assert 2 * stats.norm.sf(abs(z)) == pytest.approx(stats.kendalltau(x, y, method="asymptotic").pvalue)


def test_rho_of_all_orders_of_one_score_varies_as_one_over_n_less_one_whatever_its_ties() -> None:
    short = np.array([1, 1, 2, 2, 3.0])
    rho = [stats.spearmanr(short, np.array(p)).statistic for p in permutations([1, 2, 2, 2, 1.0])]
    assert np.std(rho) == pytest.approx(null_error(Cells.of(short, short), "spearman"))


@pytest.mark.parametrize("method", ["spearman", "kendall"])
@pytest.mark.parametrize("levels", [None, 2, 5])
def test_the_error_of_independent_pairs_is_that_of_every_pair_as_its_own_cluster(
    method: Any, levels: int | None
) -> None:
    x, y = scores(70, 9, levels)
    alone = correlation(x, y, method=method).estimate
    clustered = correlation(x, y, method=method, cluster=range(70)).estimate
    assert (alone.se, alone.low, alone.high, alone.p_value) == pytest.approx(
        (clustered.se, clustered.low, clustered.high, clustered.p_value), rel=1e-5
    )


@pytest.mark.parametrize("method", ["spearman", "kendall"])
@pytest.mark.parametrize("seed", range(8))
def test_interval_and_p_agree_and_the_error_has_a_least_value(method: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = (rng.random((2, 40)) < (0.3, 0.5)[seed % 2]).astype(float)
    for cluster in (None, np.repeat(np.arange(20), 2)):
        e = correlation(x, y, method=method, cluster=cluster).estimate
        assert e.low is not None
        assert e.high is not None
        assert e.p_value is not None
        assert (e.p_value > 0.05) == (e.low <= 0 <= e.high)
        assert e.se is not None
        assert e.se / (1 - e.value**2) >= null_error(Cells.of(x, y), method) - 1e-12


@covering(
    method=["spearman", "kendall"],
    kind=[None, *KINDS],
)
def test_too_few_other_scores_give_no_interval_in_any_kind_and_the_note_counts_them(
    method: Any, kind: Any
) -> None:
    y = np.tile([0.0, 1, 1, 0, 1], 8)
    for others, given in ((FEW_OTHER - 1, False), (FEW_OTHER, True)):
        x = np.r_[np.ones(others), np.zeros(40 - others)]
        # Twins in one cluster are one piece of evidence: as many clusters as pairs before.
        for a, b, cluster in (
            (x, y, None if kind is None else range(40)),
            (np.repeat(x, 2), np.repeat(y, 2), np.repeat(range(40), 2)),
        ):
            for one, two, which in ((a, b, "first"), (b, 1 - a, "second")):
                e = correlation(
                    one, two, method=method, cluster=cluster, kind=kind, n_boot=500, rng=1
                ).estimate
                assert (e.low is not None) == given
                assert (f"only {others} of 40" in e.note and f"a {which} score" in e.note) != given
                assert (e.p_value is None) == (kind in ("percentile", "basic", "bca"))


def test_small_samples_without_a_common_score_keep_their_interval() -> None:
    assert spearman([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]).estimate.low is not None
    few = spearman(
        [1, 2, 3] * 4, [1, 3, 2, 1, 2, 3, 2, 1, 3, 1, 3, 2], cluster=np.repeat(range(4), 3)
    ).estimate
    assert few.low is not None


@pytest.mark.parametrize("t", [-0.1, 0.0, 0.05, 0.15])
@pytest.mark.parametrize(
    "counts", [([90, 10], [80, 20]), ([80, 12, 8], [10, 20, 70]), ([10, 80, 10], [70, 30])]
)
def test_the_least_error_is_that_of_tilted_probabilities(
    counts: tuple[list[int], list[int]], t: float
) -> None:
    shares = [np.array(c) / 100 for c in counts]
    ranks = [np.cumsum(s) - s / 2 - 0.5 for s in shares]
    a, b = (r / np.sqrt(s @ r**2) for r, s in zip(ranks, shares, strict=True))
    product = np.multiply.outer(a, b)
    tilted = np.multiply.outer(*shares) * (1 + t * product)
    assert (tilted * product).sum() == pytest.approx(t)
    x, y = (np.repeat(np.arange(len(c)), c) for c in counts)
    least = Least.of(Cells.of(x, y), "spearman")
    wanted = max((tilted * product**2).sum(), 1.0)
    assert (least.at(t) / null_error(Cells.of(x, y), "spearman")) ** 2 == pytest.approx(wanted)


@pytest.mark.parametrize("method", ["spearman", "kendall"])
@pytest.mark.parametrize("flip", [False, True])
def test_each_limit_has_the_error_of_scores_with_that_correlation(method: Any, flip: bool) -> None:
    x = np.r_[np.ones(10), np.zeros(190)]
    y = np.r_[np.zeros(9), np.ones(9), np.zeros(182)]
    e = correlation(x, 1 - y if flip else y, method=method).estimate
    least = Least.of(Cells.of(x, 1 - y if flip else y), method)
    assert e.low is not None
    assert e.high is not None
    assert e.se is not None
    own, times = e.se / (1 - e.value**2), stats.t.ppf(0.975, 199)
    for end in (e.low, e.high):
        away = abs(np.arctanh(end) - np.arctanh(e.value))
        assert away == pytest.approx(times * max(own, least.at(end)))
    far = e.low if flip else e.high
    assert abs(np.arctanh(far) - np.arctanh(e.value)) > 1.5 * times * own


def cut(shares: list[float], latent: np.ndarray) -> np.ndarray:
    """Return levels of these shares of normal scores."""
    return np.searchsorted(stats.norm.ppf(np.cumsum(shares)[:-1]), latent)


def covered(
    method: Any, shares: tuple[list[float], list[float]], rho: float, n: int, replicates: int, seed: int
) -> tuple[float, float]:
    """Return the share of data sets with limits, and how often these hold the value of 400,000 pairs."""
    rng = np.random.default_rng(seed)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        u, v = rng.normal(size=(2, n))
        return cut(shares[0], u), cut(shares[1], rho * u + np.sqrt(1 - rho**2) * v)

    cells = Cells.of(*draw(400_000))
    whole = cells.totals(np.zeros(len(cells.cell), dtype=np.int64))
    truth = float(rank_statistic(cells, method)(whole)[0, 0])
    given = hits = 0
    for _ in range(replicates):
        x, y = draw(n)
        if np.ptp(x) == 0 or np.ptp(y) == 0:
            continue
        e = correlation(x, y, method=method).estimate
        if e.low is not None and e.high is not None:
            given += 1
            hits += e.low <= truth <= e.high
    return given / replicates, hits / max(given, 1)


@pytest.mark.slow  # the related pair of yes and no is the fast layer
def test_related_scores_with_two_rare_levels_are_covered() -> None:
    given, hit = covered("kendall", ([0.94, 0.04, 0.02],) * 2, 0.3, 200, 300, seed=3)
    assert given > 0.9
    assert hit >= 0.93 - 3 * np.sqrt(0.07 * 0.93 / 300)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spearman", "kendall"])
@pytest.mark.parametrize("rho", [0.3, 0.6, -0.6])
@pytest.mark.parametrize(
    "shares",
    [
        ([0.93, 0.07], [0.9, 0.1]),
        ([0.96, 0.04], [0.93, 0.07]),
        ([0.94, 0.06], [0.71, 0.14, 0.15]),
        ([0.94, 0.04, 0.02], [0.94, 0.04, 0.02]),
        ([0.7, 0.3], [0.8, 0.2]),
        ([0.02, 0.03, 0.05, 0.2, 0.7], [0.85, 0.1, 0.05]),
        ([0.02, 0.03, 0.05, 0.2, 0.7], [0.02, 0.08, 0.8, 0.08, 0.02]),
    ],
)
def test_related_scores_with_rare_levels_are_covered(
    shares: tuple[list[float], list[float]], rho: float, method: Any
) -> None:
    for n in (12, 40, 100, 200):
        given, hit = covered(method, shares, rho, n, 600, seed=n)
        # What is given in less than one of twenty data sets is given for shares beyond their own 95 % limits.
        if given >= 0.05:
            assert hit >= 0.93 - 3 * np.sqrt(0.07 * 0.93 / (600 * given))


SHARES = {2: (0.5, 0.5), 3: (0.3, 0.4, 0.3), 5: (0.02, 0.03, 0.05, 0.2, 0.7)}


def rejected(method: Any, levels: int, n: int, replicates: int, *, clusters: bool = False) -> float:
    """Return how often unrelated scores with ties are said to be related."""
    rng = np.random.default_rng(levels)
    found = 0
    for _ in range(replicates):
        x, y = rng.choice(levels, (2, n), p=SHARES[levels])
        if np.ptp(x) == 0 or np.ptp(y) == 0:
            continue  # scores that are all alike are refused, so that they are never said to be related
        p = correlation(x, y, method=method, cluster=np.arange(n) // 2 if clusters else None).estimate.p_value
        found += p is not None and p <= 0.05
    return found / replicates


@sampled("levels", SHARES, (0,))
@examples(60, 300)
def test_scores_with_ties_are_not_related_too_often(levels: int, n_examples: int) -> None:
    assert rejected("kendall", levels, 60, n_examples) <= 0.06 + 3 * np.sqrt(0.06 * 0.94 / n_examples)


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("method", ["spearman", "kendall"])
@pytest.mark.parametrize("levels", SHARES)
@pytest.mark.parametrize("n", [20, 60, 150])
def test_the_size_holds_with_ties(n: int, levels: int, method: Any, clusters: bool) -> None:
    assert rejected(method, levels, n, 2000, clusters=clusters) <= 0.06 + 3 * np.sqrt(0.06 * 0.94 / 2000)


@sampled("method", ["spearman", "kendall"], (1,))
@examples(60, 300)
def test_a_related_pair_of_yes_and_no_is_covered(method: Any, n_examples: int) -> None:
    # Both correlations are phi = .5 here: equal shares of 0 and 1, equal in three of four.
    rng, hits = np.random.default_rng(4), 0
    for _ in range(n_examples):
        x = rng.integers(0, 2, 60)
        e = correlation(x, np.where(rng.random(60) < 0.75, x, 1 - x), method=method).estimate
        assert e.low is not None
        assert e.high is not None
        hits += e.low <= 0.5 <= e.high
    assert hits / n_examples >= 0.94 - 3 * np.sqrt(0.06 * 0.94 / n_examples)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["spearman", "kendall"])
def test_every_kind_gives_an_interval_about_the_value(kind: Any, method: Any) -> None:
    x, y = scores(120, 7)
    cluster = np.repeat(np.arange(40), 3)
    e = correlation(x, y, method=method, cluster=cluster, kind=kind, n_boot=1000, rng=1).estimate
    alone = correlation(x, y, method=method).estimate
    assert e.low is not None
    assert alone.low is not None
    assert e.low < e.value < e.high
    # Independent pairs in clusters: about the interval that knows of none.
    assert abs(e.low - alone.low) < 0.06
    assert e.n_clusters == 40
    assert e == correlation(x, y, method=method, cluster=cluster, kind=kind, n_boot=1000, rng=1).estimate


def test_within_dialogues_is_the_mean_of_each_and_not_the_correlation_over_all_turns() -> None:
    rng = np.random.default_rng(8)
    dialogue = np.repeat(np.arange(30), 6)
    level = rng.normal(size=30)[dialogue]
    x, y = 5 * level + rng.normal(size=180), 5 * level + rng.normal(size=180)
    over = spearman(x, y, cluster=dialogue)
    within = spearman(x, y, within=dialogue)
    by_hand = np.mean([stats.spearmanr(x[dialogue == d], y[dialogue == d]).statistic for d in range(30)])
    assert over.estimate.value > 0.9
    assert within.estimate.value == pytest.approx(by_hand)
    assert abs(within.estimate.value) < 0.2
    assert (within.over, within.n_groups, within.estimate.n_clusters) == ("groups", 30, 30)
    assert over.over == "all pairs"


def test_a_dialogue_whose_scores_do_not_vary_is_left_out_and_counted() -> None:
    x = [1, 2, 3, 1, 1, 1, 3, 2, 1]
    y = [1, 2, 3, 1, 2, 3, 1, 2, 3]
    made = kendall(x, y, within=list("aaabbbccc"))
    assert made.estimate.value == 0
    assert made.n_groups_undefined == 1
    assert made.notes == ("1 of 3 groups left out, because a score does not vary in them",)


def test_what_cannot_be_correlated_is_refused() -> None:
    with pytest.raises(ValueError, match="x must vary, or no correlation exists; got only 3"):
        spearman([3, 3, 3], [1, 2, 3])
    with pytest.raises(ValueError, match="a correlation needs three complete pairs; got 2"):
        spearman([3, 3, None], [1, 2, 3])
    with pytest.raises(ValueError, match="x and y must have the same length; got 2 and 3"):
        spearman([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="kind must not be 'fisher'"):
        spearman([1, 2, 3], [1, 2, 3], cluster=[1, 1, 2], kind="fisher")
    with pytest.raises(ValueError, match="a group of within= must lie in one cluster"):
        spearman([1, 2, 3], [1, 2, 3], cluster=[1, 2, 2], within=[1, 1, 2])
    with pytest.raises(ValueError, match="x must be finite or missing"):
        spearman([1, np.inf, 3], [1, 2, 3])
    with pytest.raises(TypeError, match="x must be one row of numbers"):
        spearman(["a", "b", "c"], [1, 2, 3])
    with pytest.raises(ValueError, match="cluster must name every pair; got a missing name at row 1"):
        spearman([1, 2, 3], [1, 2, 3], cluster=[1, None, 2])


def test_perfect_correlation_and_a_single_cluster_have_no_interval() -> None:
    made = spearman([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]).estimate
    assert made.value == pytest.approx(1)
    assert made.low is None
    assert "perfect" in made.note
    alone = spearman([1, 2, 3, 4], [1, 3, 2, 4], cluster=["q"] * 4).estimate
    assert alone.low is None
    assert "a single cluster" in alone.note
    assert spearman([1, 2, 3, 4], [1, 3, 2, 4]).to_dict()["method"] == "spearman"


def coverage(icc: float, replicates: int, seed: int, **settings: Any) -> float:
    """Return how often an interval over 60 clusters of 4 covers rho 0 although both scores share their cluster."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(60), 4)
    hits = 0
    for _ in range(replicates):
        x, y = (
            np.sqrt(icc) * rng.normal(size=60)[cluster] + np.sqrt(1 - icc) * rng.normal(size=240)
            for _ in range(2)
        )
        chosen = settings | ({"cluster": cluster} if settings["kind"] != "fisher" else {})
        e = spearman(np.round(x), np.round(y), **chosen).estimate
        assert e.low is not None
        hits += e.low <= 0 <= e.high
    return hits / replicates


@pytest.mark.slow
def test_the_clustered_interval_covers_where_fishers_does_not() -> None:
    error = 3 * np.sqrt(0.05 * 0.95 / 2000)
    for icc in (0.0, 0.1, 0.3):
        assert abs(coverage(icc, 2000, 1, kind="cluster t") - 0.95) <= 0.01 + error
    assert coverage(0.6, 2000, 1, kind="fisher") < 0.9
    assert abs(coverage(0.6, 2000, 1, kind="cluster t") - 0.95) <= 0.015 + error
