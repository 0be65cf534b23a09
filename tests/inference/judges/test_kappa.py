"""Coefficients of agreement: what they are, when they are nothing, and whether their intervals cover."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layers import covering, examples, sampled
from scipy.special import ndtr

from d3stats.counts import ConfusionCounts
from d3stats.inference.judges.coefficients import (
    cohen_kappa,
    fleiss_cohen_everitt,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    pair_statistic,
    percent_agreement,
)
from d3stats.inputs.ratings import Ratings
from d3stats.note import kind_of
from d3stats.resampling import bootstrap_limits, cluster_t, cluster_totals
from d3stats.sources.ratings import as_ratings

PANEL = (fleiss_kappa, gwet_ac, krippendorff_alpha, percent_agreement)
KINDS = ("cluster t", "jackknife t", "percentile", "basic", "bca", "studentised", "classical")
ALPHA_TEXTBOOK = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


def textbook() -> pd.DataFrame:
    return pd.DataFrame({f"observer {i}": row for i, row in enumerate(ALPHA_TEXTBOOK)}, dtype=object)


def votes(n: int, seed: int, clusters: int | None = None) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    table = {f"r{i}": np.where(rng.random(n) < 0.7, truth, rng.integers(0, 3, n)) for i in range(3)}
    frame = pd.DataFrame(table).astype(object)
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    return frame if clusters is None else frame.assign(cluster=rng.integers(0, clusters, n))


def test_kappa_is_what_cohen_wrote() -> None:
    made = cohen_kappa(ConfusionCounts(("A", "B"), np.array([[20.0, 5.0], [10.0, 15.0]])))
    assert made.estimate.value == pytest.approx((0.7 - 0.5) / 0.5)
    assert made.share.value == pytest.approx(0.7)
    assert made.chance == pytest.approx(0.5)


def test_two_vectors_a_table_and_a_confusion_are_one_kappa() -> None:
    table = votes(80, 1)[["r0", "r1"]].dropna()
    counts = ConfusionCounts.from_pairs(table["r0"], table["r1"])
    expected = cohen_kappa(counts, weights="linear")
    for made in (
        cohen_kappa(table["r0"].to_numpy(), table["r1"].to_numpy(), weights="linear"),
        cohen_kappa(table, weights="linear"),
    ):
        assert made.estimate.value == pytest.approx(expected.estimate.value)
        assert made.estimate.low == pytest.approx(expected.estimate.low)
        assert made.z == pytest.approx(expected.z)


def test_the_error_of_fleiss_cohen_and_everitt_is_the_linearised_one_of_items_alone() -> None:
    made = cohen_kappa(votes(90, 2)[["r0", "r1"]], weights="quadratic", kind="classical").estimate
    linear = cohen_kappa(votes(90, 2)[["r0", "r1"]], weights="quadratic").estimate
    assert linear.se is not None
    assert made.se == pytest.approx(linear.se * np.sqrt((made.n - 1) / made.n), rel=1e-9)


def test_kappa_of_a_judge_that_always_answers_a_is_zero_and_has_no_interval() -> None:
    for kind in KINDS:
        made = cohen_kappa(["A"] * 6, list("AABAAB"), kind=kind, n_boot=200, rng=1)  # type: ignore[arg-type]
        assert made.estimate.value == 0
        assert made.estimate.low is None
        assert "'a' gives one answer only" in made.estimate.note
        assert made.share.value == pytest.approx(4 / 6)
        assert made.z is None


def test_kappa_of_two_judges_who_only_say_a_is_refused_and_ac1_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"got only 'A'. Report the share of agreement \(1.000\), or Gwet's AC1"
    ):
        cohen_kappa(["A"] * 5, ["A"] * 5)
    both = pd.DataFrame({"x": ["A"] * 5, "y": ["A"] * 5})
    for measure in (fleiss_kappa, krippendorff_alpha):
        with pytest.raises(ValueError, match="undefined where all ratings are one category; got only 'A'"):
            measure(both)
    with pytest.raises(ValueError, match="needs at least two possible categories"):
        gwet_ac(both)
    assert gwet_ac(both, categories=["A", "B"]).estimate.value == 1
    assert percent_agreement(both).estimate.value == 1


def test_perfect_agreement_has_no_interval_rather_than_an_empty_one() -> None:
    same = pd.DataFrame({"x": list("ABAB"), "y": list("ABAB")})
    for measure in (cohen_kappa, *PANEL):
        made = measure(same).estimate
        assert made.value == pytest.approx(1)
        if measure is percent_agreement:
            # A share of 1 has the limits of every share.
            assert (made.low, made.high) == (pytest.approx(0.025 ** (1 / 4)), 1.0)
            continue
        assert made.low is None
        assert made.note


def test_one_cluster_has_a_coefficient_and_no_interval() -> None:
    table = votes(40, 3).assign(cluster="one")
    for measure in PANEL:
        made = measure(table).estimate
        assert made.low is None
        assert "a single cluster" in made.note


def test_items_that_one_of_two_did_not_judge_are_left_out_and_counted() -> None:
    made = cohen_kappa(["A", None, "B", "A"], ["A", "B", None, "B"])
    assert made.estimate.n == 2
    assert made.notes[-1] == "2 of 4 items left out: not judged by both"
    with pytest.raises(ValueError, match="Cohen's kappa needs items that both raters judged; got none"):
        cohen_kappa(["A", None], [None, "B"])


def test_a_word_that_means_missing_is_an_answer_where_the_words_are_listed_as_the_note_advises() -> None:
    a, b = ["None", "x", "y", "None", "x", "y"], ["None", "x", "x", "y", "x", "y"]
    read = cohen_kappa(a, b)
    assert any("list the words that mean missing in missing_values" in note for note in read.notes)
    kept = cohen_kappa(a, b, missing_values=["n/a"])
    renamed = cohen_kappa([v.replace("None", "z") for v in a], [v.replace("None", "z") for v in b])
    assert kept.categories == ("None", "x", "y")
    assert kept.estimate.n == 6
    assert (kept.estimate.value, kept.estimate.low, kept.estimate.high) == pytest.approx(
        (renamed.estimate.value, renamed.estimate.low, renamed.estimate.high)
    )
    wide = pd.DataFrame({"a": a, "b": b})
    assert cohen_kappa(wide, missing_values=["n/a"]).estimate.value == kept.estimate.value
    with pytest.raises(ValueError, match="missing_values must be left out for ConfusionCounts"):
        cohen_kappa(
            ConfusionCounts(("A", "B"), np.array([[20.0, 5.0], [10.0, 15.0]])), missing_values=["n/a"]
        )


def test_a_tie_is_a_category_among_others() -> None:
    with_ties = cohen_kappa(["A", "tie", "B", "tie"], ["A", "tie", "B", "A"])
    assert with_ties.categories == ("A", "B", "tie")
    assert with_ties.estimate.n == 4


@covering(measure=[*PANEL, lambda t, **k: cohen_kappa(as_ratings(t).of(["r0", "r1"]), **k)], kind=KINDS)
def test_every_kind_gives_an_interval_about_every_coefficient(measure: Any, kind: str) -> None:
    table = votes(60, 4, clusters=25)
    made = measure(table, kind=kind, n_boot=400, rng=1)
    plain = measure(table, kind="cluster t")
    e = made.estimate
    assert e.low is not None
    assert e.low < e.value < e.high
    assert e.value == plain.estimate.value
    # All are estimates of one interval: ends within a standard error.
    assert abs(e.low - plain.estimate.low) < plain.estimate.se
    again = measure(table, kind=kind, n_boot=400, rng=1)
    assert again.estimate == e
    assert (e.n_clusters is None) == (kind == "classical")


def test_fleiss_kappa_of_two_is_scotts_pi() -> None:
    cells = np.array([[20.0, 5.0], [10.0, 15.0]])
    table = pd.DataFrame(
        np.repeat(np.argwhere(cells >= 0), cells.ravel().astype(int), axis=0), columns=["x", "y"]
    )
    pooled = (cells.sum(axis=0) + cells.sum(axis=1)) / 100
    chance = (pooled**2).sum()
    assert fleiss_kappa(table).estimate.value == pytest.approx((0.7 - chance) / (1 - chance))


def test_ac1_stays_high_where_kappa_falls_because_nearly_all_is_one_category() -> None:
    # Feinstein and Cicchetti's paradox: 95 % agreement and a kappa below 0.
    table = pd.DataFrame({"x": ["A"] * 97 + ["B", "B", "B"], "y": ["A"] * 95 + ["B", "B", "A", "A", "A"]})
    assert percent_agreement(table).estimate.value == pytest.approx(0.95)
    assert cohen_kappa(table).estimate.value < 0
    assert gwet_ac(table).estimate.value > 0.94


def test_custom_weights_are_agreement_and_checked() -> None:
    table = votes(60, 5)[["r0", "r1"]]
    linear = [[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]]
    made = cohen_kappa(table, weights=linear)
    assert made.weights == "custom"
    assert made.estimate.value == pytest.approx(cohen_kappa(table, weights="linear").estimate.value)
    for bad in (np.zeros((3, 3)), [[1, 2, 0], [2, 1, 0], [0, 0, 1]], [[1, 0.2, 0], [0.1, 1, 0], [0, 0, 1]]):
        with pytest.raises(ValueError, match="weights must give the credit of each pair of categories"):
            cohen_kappa(table, weights=bad)
    with pytest.raises(ValueError, match="weights must be a table of 3 x 3"):
        cohen_kappa(table, weights=np.eye(2))
    with pytest.raises(ValueError, match="weights must be one of"):
        cohen_kappa(table, weights="cubic")


def test_with_words_for_categories_the_order_of_weights_is_said() -> None:
    made = cohen_kappa(["low", "mid", "high"], ["low", "high", "high"], weights="linear")
    (said,) = [note for note in made.notes if kind_of(note) == "order of categories"]
    assert "the order high, low, mid, which is that of letters" in said
    table = pd.DataFrame({"item": [1, 2, 3], "x": ["low", "mid", "high"], "y": ["low", "high", "high"]})
    ordered = cohen_kappa(as_ratings(table, categories=["low", "mid", "high"]), weights="linear")
    assert "linear weights take the categories in the order low, mid, high" in ordered.notes
    assert not cohen_kappa([1, 2, 3], [1, 3, 3], weights="linear").notes


@covering(weights=[None, "linear", "quadratic"], words=[False, True])
def test_categories_that_no_rater_used_change_nothing_unless_they_are_named(
    weights: str | None, words: bool
) -> None:
    table = votes(30, 3)
    table = table.replace({0: "a", 1: "c", 2: "e"} if words else {0: 1, 1: 2, 2: 5}).astype(object)
    strange = ["b", "d"] if words else [3, 4]
    wide = table.assign(label=[*strange * 2, *table["r0"].iloc[4:]])
    for of in PANEL:
        setting = {} if of is krippendorff_alpha else {"weights": weights}
        plain, labelled = of(table, **setting), of(wide, **setting)
        assert labelled.estimate == plain.estimate
        assert labelled.share == plain.share
        assert labelled.categories == plain.categories
    pair = as_ratings(wide).of(["r0", "r1"])
    assert (
        cohen_kappa(pair, weights=weights).estimate
        == cohen_kappa(table[["r0", "r1"]], weights=weights).estimate
    )
    named = gwet_ac(table, weights=weights, categories=list("abcde") if words else [1, 2, 3, 4, 5])
    assert len(named.categories) == 5
    assert named.estimate.value > gwet_ac(table, weights=weights).estimate.value


@pytest.mark.parametrize("power", [1, 2])
def test_weights_of_numbers_go_by_their_values(power: int) -> None:
    name = {1: "linear", 2: "quadratic"}[power]
    table = votes(90, 5).dropna().replace({0: 1, 1: 2, 2: 5}).astype(int)
    at = np.array([1.0, 2.0, 5.0])
    found = cohen_kappa(table[["r0", "r1"]], weights=name).estimate
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    cells = pd.crosstab(table["r0"], table["r1"]).to_numpy()
    away = np.abs(at[:, None] - at) ** power
    assert found.value == pytest.approx(inter_rater.cohens_kappa(cells, weights=away).kappa)
    # By hand: disagreement of pairs over that of the two raters' answers at random.
    one, two = table["r0"].to_numpy(), table["r1"].to_numpy()
    within = (np.abs(one - two) ** power).mean()
    assert found.value == pytest.approx(1 - within / (np.abs(one[:, None] - two) ** power).mean())
    # Any other unit or origin of the numbers, and numbers between them that nobody gave, change nothing.
    for other, named in ((table * 10 - 3, None), (table, [1, 2, 3, 4, 5])):
        assert cohen_kappa(
            other[["r0", "r1"]], weights=name, categories=named
        ).estimate.value == pytest.approx(found.value)
        assert fleiss_kappa(other, weights=name, categories=named).estimate.value == pytest.approx(
            fleiss_kappa(table, weights=name).estimate.value
        )


def test_quadratic_fleiss_is_alpha_of_intervals_but_for_its_small_sample_factor() -> None:
    krippendorff = pytest.importorskip("krippendorff")
    table = votes(70, 8).dropna().replace({0: 1, 1: 2, 2: 5}).astype(float)
    peer = krippendorff.alpha(table.to_numpy().T, level_of_measurement="interval")
    n = table.size
    found = fleiss_kappa(table, weights="quadratic").estimate.value
    assert 1 - peer == pytest.approx((1 - found) * (n - 1) / n)
    assert krippendorff_alpha(table, metric="interval").estimate.value == pytest.approx(peer)


def test_alpha_does_not_see_items_with_one_rating_and_fleiss_sees_their_category() -> None:
    table = textbook()
    assert krippendorff_alpha(table).estimate.value == krippendorff_alpha(table.iloc[:11]).estimate.value
    assert fleiss_kappa(table).estimate.value != fleiss_kappa(table.iloc[:11]).estimate.value
    assert krippendorff_alpha(table).notes == ("1 of 12 items left out: fewer than two raters",)


def test_all_coefficients_give_one_reason_for_items_that_nobody_judged() -> None:
    table = textbook()
    table.iloc[11] = None
    notes = {made(table).notes for made in (krippendorff_alpha, fleiss_kappa, percent_agreement)}
    assert notes == {("1 of 12 items left out: no rater judged them",)}


def test_alpha_of_words_is_refused_on_scales_that_need_numbers() -> None:
    table = pd.DataFrame({"x": list("ABAB"), "y": list("ABBB")})
    for metric in ("interval", "ratio"):
        with pytest.raises(ValueError, match="categories must be numbers to have distances; got 'A'"):
            krippendorff_alpha(table, metric=metric)  # type: ignore[arg-type]
    assert "categories are taken in the order A, B" in krippendorff_alpha(table, metric="ordinal").notes
    with pytest.raises(ValueError, match="categories must be >= 0 on a ratio scale; got -1"):
        krippendorff_alpha(pd.DataFrame({"x": [-1, 1], "y": [1, 1]}), metric="ratio")


@given(
    cells=st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=3, max_size=3),
    order=st.permutations(range(3)),
)
def test_kappa_depends_neither_on_the_names_of_categories_nor_on_who_is_first(
    cells: list[list[int]], order: list[int]
) -> None:
    table = np.array(cells, dtype=float)
    if np.count_nonzero(table.sum(axis=0)) < 2 or np.count_nonzero(table.sum(axis=1)) < 2 or table.sum() < 4:
        return
    names = ("a", "b", "c")
    value = cohen_kappa(ConfusionCounts(names, table)).estimate.value
    assert -1 <= value <= 1
    moved = table[np.ix_(order, order)]
    assert cohen_kappa(ConfusionCounts(names, moved)).estimate.value == pytest.approx(value)
    assert cohen_kappa(ConfusionCounts(names, table.T)).estimate.value == pytest.approx(value)
    se, null = fleiss_cohen_everitt(table)
    assert se >= 0
    assert null >= 0


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_is_the_disagreement_of_pairs_counted_one_by_one(metric: Any) -> None:
    rows = [[x for x in unit if x is not None] for unit in zip(*ALPHA_TEXTBOOK, strict=True)]
    rows = [unit for unit in rows if len(unit) > 1]
    pool = [x for unit in rows for x in unit]
    counts = {c: pool.count(c) for c in set(pool)}

    def apart(c: int, k: int) -> float:
        if metric == "nominal":
            return float(c != k)
        if metric == "ordinal":
            low, high = sorted((c, k))
            return (sum(counts.get(g, 0) for g in range(low, high + 1)) - (counts[c] + counts[k]) / 2) ** 2
        return float((c - k) ** 2) if metric == "interval" else ((c - k) / (c + k)) ** 2

    def mean(values: list[int]) -> float:
        return sum(apart(a, b) for (i, a), (j, b) in product(enumerate(values), repeat=2) if i != j)

    n = len(pool)
    within = sum(mean(unit) / (len(unit) - 1) for unit in rows) / n
    between = mean(pool) / (n * (n - 1))
    assert krippendorff_alpha(textbook(), metric=metric).estimate.value == pytest.approx(1 - within / between)


def test_the_shape_of_a_result() -> None:
    made = fleiss_kappa(votes(40, 6))
    assert made.to_frame()["name"].tolist() == ["Fleiss' kappa", "share of agreement"]
    assert made.to_dict()["estimate"]["value"] == made.estimate.value
    assert "\\toprule" in made.to_latex()
    assert str(made).startswith("Fleiss' kappa: 0.")
    assert "expected by chance" in str(made)


def test_ratings_of_three_are_no_pair() -> None:
    with pytest.raises(ValueError, match="Cohen's kappa is of two raters; got 3"):
        cohen_kappa(votes(10, 7))
    with pytest.raises(ValueError, match="a and b must have the same length"):
        cohen_kappa([1, 2], [1])
    with pytest.raises(ValueError, match="counts must be whole numbers"):
        cohen_kappa(ConfusionCounts(("A", "B"), np.array([[1.5, 1], [1, 1]])))
    with pytest.raises(ValueError, match="kind must be one of"):
        cohen_kappa([1, 2], [1, 2], kind="wald")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="share of agreement needs an item that two raters judged"):
        percent_agreement(pd.DataFrame({"x": ["A", None], "y": [None, "B"]}))


# ------------------------------------------------------------------ coverage


@sampled("seed", range(4), (0,))
@pytest.mark.parametrize("of", [fleiss_kappa, krippendorff_alpha, gwet_ac])
def test_limits_are_the_values_that_the_test_does_not_reject(of: Any, seed: int) -> None:
    table = votes(60, seed, 25)
    for level in (0.5, 0.9, 0.95):
        found = of(table, level=level).estimate
        assert found.low is not None
        assert found.high is not None
        assert found.low < found.value < found.high
        assert found.p_value is not None
        assert (found.p_value > 1 - level) == (found.low <= 0 <= found.high)
    # Where a limit is 0 the p-value is one minus the level.
    edge = of(table, level=1 - found.p_value) if 1e-6 < found.p_value < 1 else None
    if edge is not None:
        assert min(abs(edge.estimate.low), abs(edge.estimate.high)) < 1e-6


def of_one_kind(rng: np.random.Generator, n: int, share: float, right: float, raters: int) -> pd.DataFrame:
    truth = rng.random((n, 1)) < share
    return pd.DataFrame(np.where(rng.random((n, raters)) < right, truth, ~truth).astype(int)).add_prefix("r")


def test_with_too_few_items_of_another_kind_kappa_and_alpha_have_no_interval() -> None:
    table = pd.DataFrame({"x": [1] * 28 + [0, 0], "y": [1] * 27 + [0, 0, 0], "z": [1] * 28 + [0, 0]})
    for of in (fleiss_kappa, krippendorff_alpha):
        found = of(table).estimate
        assert found.low is found.p_value is None
        assert (
            "only 2 items (clusters counted once) with another answer than '1' from most raters" in found.note
        )
    assert gwet_ac(table).estimate.low is not None
    table.iloc[:8] = 0
    assert fleiss_kappa(table).estimate.low is not None


def missed_of_one_kind(n: int, share: float, right: float, raters: int, replicates: int) -> tuple[int, int]:
    """Return how many intervals of Fleiss' kappa miss, and how many there are."""
    p, weight = np.array([right, 1 - right]), np.array([share, 1 - share])
    said, apart = weight @ p, weight @ (2 * p * (1 - p))
    truth = 1 - apart / (2 * said * (1 - said))
    rng, shown, bad = np.random.default_rng(n), 0, 0
    for _ in range(replicates):
        table = of_one_kind(rng, n, share, right, raters)
        if table.to_numpy().min() == table.to_numpy().max():
            continue
        found = fleiss_kappa(table).estimate
        shown += found.low is not None
        bad += found.low is not None and not found.low <= truth <= found.high
    return bad, shown


@pytest.mark.slow  # the next coverage of rare disagreement is the fast layer
def test_fleiss_kappa_covers_where_nearly_all_items_are_of_one_kind() -> None:
    bad, shown = missed_of_one_kind(30, 0.9, 0.9, 3, 120)
    assert shown > 60
    assert bad / shown <= 0.07 + 3 * np.sqrt(0.07 * 0.93 / shown)


@pytest.mark.slow
@pytest.mark.parametrize("raters", [3, 5])
@pytest.mark.parametrize("share", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("n", [10, 15, 20, 30, 60])
def test_fleiss_kappa_covers_in_every_cell(n: int, share: float, raters: int) -> None:
    bad, shown = missed_of_one_kind(n, share, 0.9, raters, 1500)
    assert bad / shown <= 0.07 + 3 * np.sqrt(0.07 * 0.93 / shown)


def drawn(rng: np.random.Generator, kappa: float, icc: float, g: int, m: int) -> np.ndarray:
    """Return the sums of two judges on g clusters of m items, whose agreement is shared in a cluster.

    The first says either answer with probability 1/2; whether the second says the same has correlation `icc` within
    a cluster and mean (1 + kappa) / 2, so that kappa is what it is called.
    """
    mean = (1 + kappa) / 2
    spread = (1 - icc) / icc if icc > 0 else np.inf
    share = rng.beta(mean * spread, (1 - mean) * spread, size=(g, 1)) if icc > 0 else np.full((g, 1), mean)
    first = rng.random((g, m)) < 0.5
    same = rng.random((g, m)) < share
    second = first == same
    return np.stack([same, ~first, first, ~second, second], axis=-1).reshape(g * m, 5).astype(float)


def missed(
    kappa: float, icc: float, replicates: int, seed: int, g: int = 80, m: int = 5
) -> tuple[float, float]:
    """Return how often the clustered and the independent 95 % interval miss kappa."""
    rng = np.random.default_rng(seed)
    statistic = pair_statistic(np.eye(2))
    cluster = np.repeat(np.arange(g), m)
    misses = np.zeros(2)
    for _ in range(replicates):
        columns = drawn(rng, kappa, icc, g, m)
        for j, totals in enumerate((cluster_totals(columns, cluster), columns)):
            found = cluster_t(totals, lambda sums: statistic(sums)[:, :1])
            misses[j] += not found.low[0] <= kappa <= found.high[0]
    clustered, alone = misses / replicates
    return float(clustered), float(alone)


@examples(150, 300, "n")
def test_the_classical_error_fails_on_clustered_items_and_the_clustered_one_does_not(n: int) -> None:
    clustered, alone = missed(0.5, 0.3, n, 1)
    assert alone > 0.1
    assert clustered < 0.09


@pytest.mark.slow  # the coverage of rare disagreement is the fast layer
def test_of_a_high_kappa_cluster_t_misses_too_often_and_bca_does_not() -> None:
    rng, statistic, replicates = np.random.default_rng(4), pair_statistic(np.eye(2)), 500
    first = lambda sums: statistic(sums)[:, :1]  # noqa: E731
    missed = np.zeros(2)
    for _ in range(replicates):
        totals = drawn(rng, 0.8, 0.0, 80, 1)
        linear = cluster_t(totals, first)
        better = bootstrap_limits(totals, first, kind="bca", n_boot=400, rng=rng)
        for j, found in enumerate((linear, better)):
            missed[j] += not found.low[0] <= 0.8 <= found.high[0]
    linear_rate, better_rate = missed / replicates
    assert linear_rate > 0.07
    assert better_rate < 0.05 + 3 * np.sqrt(0.05 * 0.95 / replicates)
    assert better_rate < linear_rate


@pytest.mark.slow
@pytest.mark.parametrize("icc", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("kappa", [0.0, 0.5])
def test_the_clustered_interval_of_kappa_covers_and_its_test_has_its_size(icc: float, kappa: float) -> None:
    replicates = 4000
    clustered, alone = missed(kappa, icc, replicates, 2)
    error = 3 * np.sqrt(0.05 * 0.95 / replicates)
    assert 0.04 - error <= clustered <= 0.06 + error
    if kappa == 0:
        assert clustered <= 0.055 + error
    if icc == 0.3:
        assert alone > 0.1
    if icc == 0:
        assert alone <= 0.06 + error


@sampled("sizes, alike", [([1] * 102, 0.0), ([1, 2, 4, 8, 40] * 8, 0.6), ([1, 3] * 20 + [60] * 4, 0.6)], (0,))
@examples(150, 300, "n")
def test_kappa_holds_its_level_where_raters_hardly_ever_disagree(
    sizes: list[int], alike: float, n: int
) -> None:
    """Few disagreements may be far fewer than the true share, and their own error is then too small."""
    rng, held = np.random.default_rng(3), []
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    items, groups = (tuple(map(str, range(n))) for n in (len(cluster), len(sizes)))
    true = 1 - 2 * 0.98 * 0.02 / 0.5
    for _ in range(n):
        truth = rng.integers(2, size=(len(cluster), 1))
        common = rng.standard_normal((len(sizes), 3))[cluster]
        luck = np.sqrt(alike) * common + np.sqrt(1 - alike) * rng.standard_normal((len(cluster), 3))
        codes = np.where(ndtr(luck) < 0.98, truth, 1 - truth)
        if len(np.unique(codes)) < 2:
            continue
        found = fleiss_kappa(
            Ratings(items, ("x", "y", "z"), ("A", "B"), codes, None, cluster, groups, ())
        ).estimate
        if found.low is not None and found.high is not None:
            held.append(found.low <= true <= found.high)
    assert len(held) > 0.93 * n
    assert np.mean(held) >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / len(held)), np.mean(held)
