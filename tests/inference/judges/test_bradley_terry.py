"""Rankings: what is recovered, how often intervals cover, and who has no rating."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from layers import examples

from d3stats import rank
from d3stats.inference import Pairwise, as_pairwise, borda_count
from d3stats.inference.judges.bradley_terry import AGAINST, ELO, FIRST_WINS, PAIRED, TIES
from d3stats.models.pairs.davidson import Comparisons, fit_davidson, outcome_chances

NAMES = "abcd"
RATINGS = np.array([0.8, 0.3, -0.2, -0.9])


def drawn(
    clusters: int = 60,
    size: int = 10,
    *,
    spread: float = 0.0,
    order: float = 0.4,
    tie: float = -0.5,
    unequal: bool = False,
    ratings: np.ndarray = RATINGS,
    seed: int | np.random.Generator = 1,
) -> Pairwise:
    """Judgments of clusters, in each of which contestants have ratings of their own around the common ones."""
    rng = np.random.default_rng(seed)
    n = len(ratings)
    sizes = np.full(clusters, size)
    if unequal:
        sizes = np.where(np.arange(clusters) < clusters // 5, 4 * size, max(size // 2, 1))
    cluster = np.repeat(np.arange(clusters), sizes)
    rows = len(cluster)
    own = rng.normal(0, spread, (clusters, n))
    first = rng.integers(n, size=rows)
    second = (first + rng.integers(1, n, size=rows)) % n
    d = ratings[first] - ratings[second] + own[cluster, first] - own[cluster, second] + order
    won, even, _ = outcome_chances(d, tie)
    u = rng.random(rows)
    outcome = np.where(u < won, 1, np.where(u < won + even, 0, -1))
    names = tuple("abcdefghijkl"[:n])
    return Pairwise(
        first, second, outcome, np.zeros(rows, dtype=np.int64), cluster, np.ones(rows, dtype=np.bool_), names, ("J",),
        tuple(f"q{k}" for k in range(clusters)), cluster,
    )  # fmt: skip


def as_table(data: Pairwise) -> pd.DataFrame:
    word = {1: "first", 0: "tie", -1: "second"}
    return pd.DataFrame(
        {
            "item": [data.clusters[k] for k in data.cluster],
            "judge": [data.judges[k] for k in data.judge],
            "first": [data.contestants[k] for k in data.first],
            "second": [data.contestants[k] for k in data.second],
            "winner": [word[k] for k in data.outcome.tolist()],
        }
    )


def test_ratings_order_and_ties_are_recovered_from_a_table() -> None:
    found = rank(as_table(drawn(400, 10, seed=3)))
    assert found.ratings["contestant"].tolist() == list(NAMES)
    np.testing.assert_allclose(found.ratings["rating"], RATINGS - RATINGS.mean(), atol=0.12)
    order, tie = (found.effects.set_index("effect")["share"][name] for name in (FIRST_WINS, TIES))
    assert order == pytest.approx(1 / (1 + np.exp(-0.4)), abs=0.03)
    assert tie == pytest.approx(np.exp(-0.5) / (2 + np.exp(-0.5)), abs=0.02)
    assert found.settled == 6
    assert found.headline.startswith("a is ahead of b by ")
    assert found.headline.endswith(", and of all others.")
    assert (found.pairs[["win", "tie", "loss"]].sum(axis=1) - 1).abs().max() < 1e-12


def test_the_predicted_shares_are_those_of_both_orders() -> None:
    data = drawn(300, 10, seed=5)
    found = rank(data)
    fit = fit_davidson(Comparisons(data.first, data.second, data.outcome, data.judge, data.ordered, 4))
    each = [
        outcome_chances(np.array(fit.ratings[0] - fit.ratings[1] + s * fit.order[0]), fit.tie[0])
        for s in (1, -1)
    ]
    row = found.pairs.iloc[0]
    np.testing.assert_allclose(
        row[["win", "tie", "loss"]].astype(float), np.mean(each, axis=0).ravel(), atol=1e-9
    )


def test_errors_are_those_of_leaving_out_one_question() -> None:
    """The one-step influence against fits without each cluster."""
    data = drawn(25, 40, spread=0.5, seed=7)
    found = rank(data)
    whole = Comparisons(data.first, data.second, data.outcome, data.judge, data.ordered, 4)
    without = []
    for cluster in range(25):
        keep = data.cluster != cluster
        parts = {k: getattr(whole, k)[keep] for k in ("first", "second", "outcome", "group", "ordered")}
        without.append(fit_davidson(replace(whole, **parts)).ratings)
    away = np.array(without) - fit_davidson(whole).ratings
    exact = np.sqrt(24 / 25 * (away**2).sum(axis=0))
    own = found.ratings.set_index("contestant")["se"][list(NAMES)]
    np.testing.assert_allclose(own, exact, rtol=0.02)
    a, b = (list(NAMES).index(name) for name in found.pairs.iloc[0][["first", "second"]])
    of_pair = np.sqrt(24 / 25 * ((away[:, a] - away[:, b]) ** 2).sum())
    assert found.pairs["se"].iloc[0] == pytest.approx(of_pair, rel=0.02)


def test_rows_of_a_question_written_twice_do_not_narrow_intervals() -> None:
    data = drawn(40, 8, spread=0.6, seed=9)
    twice = data.rows(np.ones(len(data), dtype=np.bool_))
    twice = replace(
        twice,
        **{
            k: np.tile(getattr(data, k), 2)
            for k in ("first", "second", "outcome", "judge", "cluster", "ordered", "item")
        },
    )
    one, two = rank(data), rank(twice)
    np.testing.assert_allclose(two.ratings["rating"], one.ratings["rating"], atol=1e-8)
    np.testing.assert_allclose(two.ratings[["low", "high"]], one.ratings[["low", "high"]], atol=1e-6)


def test_writing_a_row_the_other_way_round_changes_nothing_without_an_order() -> None:
    data = drawn(30, 10, seed=2)
    swap = np.random.default_rng(1).random(len(data)) < 0.5
    other = replace(
        data,
        first=np.where(swap, data.second, data.first),
        second=np.where(swap, data.first, data.second),
        outcome=np.where(swap, -data.outcome, data.outcome),
    )
    for order, same in ((False, True), (True, False)):
        one, two = rank(data, order=order).ratings["rating"], rank(other, order=order).ratings["rating"]
        assert np.allclose(one, two, atol=1e-8) == same
    names = tuple(f"model {name}" for name in reversed(NAMES))
    renamed = replace(data, contestants=names)
    np.testing.assert_allclose(rank(renamed).ratings["rating"], rank(data).ratings["rating"], atol=1e-9)


def test_a_reference_that_was_named_beforehand_has_narrower_intervals_than_all_pairs() -> None:
    data = drawn(60, 10, seed=4)
    first, named = rank(data), rank(data, reference="a")
    assert (first.reference, named.reference) == ("a", "a")
    assert {e.kind for e in first.estimates} == {PAIRED}
    assert {e.kind for e in named.estimates} == {AGAINST}
    for one, other in zip(first.estimates, named.estimates, strict=True):
        assert one.value == other.value
        assert one.low is not None
        assert other.low is not None
        assert one.low < other.low < one.value
    alone = rank(data.of(["a", "b"]))
    single = rank(data.of(["a", "b"]), reference="a")
    assert alone.estimates[0].low == pytest.approx(single.estimates[0].low, rel=1e-6)
    assert first.ratings["rank_low"].tolist() == named.ratings["rank_low"].tolist()


def test_elo_points_are_another_scale_of_the_same() -> None:
    data = drawn(60, 10, seed=4)
    one, elo = rank(data), rank(data, scale="elo")
    np.testing.assert_allclose(elo.ratings["rating"], 1000 + ELO * one.ratings["rating"])
    np.testing.assert_allclose(elo.pairs["low"], ELO * one.pairs["low"])
    assert elo.pairs["win"].tolist() == one.pairs["win"].tolist()
    assert "Elo points" in elo.headline
    assert pytest.approx(400) == ELO * np.log(10)


def test_each_judge_may_have_an_order_effect_of_its_own() -> None:
    parts = [drawn(400, 10, order=b, tie=t, seed=k) for k, (b, t) in enumerate([(1.5, -1.0), (-0.5, 0.5)])]
    tables = [as_table(part).assign(judge=judge) for part, judge in zip(parts, "JK", strict=True)]
    found = rank(pd.concat(tables, ignore_index=True), effects="judge")
    shares = found.effects.set_index(["effect", "judge"])["share"]
    assert shares[FIRST_WINS, "J"] == pytest.approx(1 / (1 + np.exp(-1.5)), abs=0.04)
    assert shares[FIRST_WINS, "K"] == pytest.approx(1 / (1 + np.exp(0.5)), abs=0.06)
    assert shares[TIES, "K"] == pytest.approx(np.exp(0.5) / (2 + np.exp(0.5)), abs=0.03)
    np.testing.assert_allclose(found.ratings["rating"], RATINGS - RATINGS.mean(), atol=0.12)
    silent = pd.concat([tables[0], tables[1].assign(winner="tie")], ignore_index=True)
    left = rank(silent, effects="judge")
    assert any("K calls ties alone" in note for note in left.notes)
    assert left.n_judgments == len(tables[0])


def test_who_wins_or_loses_everything_is_named_and_has_no_number() -> None:
    table = as_table(drawn(40, 10, seed=6))
    table.loc[table["first"] == "a", "winner"] = "first"
    table.loc[table["second"] == "a", "winner"] = "second"
    n = int(((table["first"] == "a") | (table["second"] == "a")).sum())
    with pytest.raises(
        ValueError, match=rf"finite estimate; got a won all of {n} judgments; .*--penalty 0.5"
    ):
        rank(table)
    lost = table.replace({"winner": {"first": "second", "second": "first"}})
    with pytest.raises(ValueError, match=rf"got a lost all of {n} judgments"):
        rank(lost)
    assert "a" not in rank(table, without=["a"]).ratings["contestant"].tolist()
    found = rank(table, penalty=0.5)
    assert np.isfinite(found.ratings["rating"]).all()
    assert found.ratings["contestant"].iloc[0] == "a"
    with_a = found.pairs["first"] == "a"
    assert found.pairs.loc[with_a, ["low", "high"]].isna().all(axis=None)
    assert found.pairs.loc[~with_a, ["low", "high"]].notna().all(axis=None)
    assert not found.pairs.loc[with_a, "settled"].any()
    assert any(note.startswith(f"WARNING: a won all of {n} judgments: the size") for note in found.notes)
    assert "(no interval)" in found.headline


def test_two_who_beat_all_others_are_named_together() -> None:
    rows = [("a", "b", "first"), ("b", "a", "first"), ("a", "c", "first"), ("b", "d", "first")]
    rows += [("c", "d", "first"), ("d", "c", "first"), ("c", "d", "second"), ("a", "b", "second")]
    table = pd.DataFrame(rows, columns=["first", "second", "winner"]).assign(item=range(len(rows)))
    with pytest.raises(
        ValueError, match="got a and b won all of 2 judgments against the others; c and d lost all"
    ):
        rank(table, order=False)


@pytest.mark.parametrize(
    ("rows", "how", "message"),
    [
        ([("a", "b", "first"), ("b", "a", "first"), ("c", "d", "first")], {}, "2 groups that never met"),
        (
            [("a", "b", "first"), ("a", "b", "second")] * 3,
            {},
            "in both orders or a cycle of pairs; got .*--no-order",
        ),
        ([("a", "b", "tie")] * 3, {}, "must have a winner, to rank by; got 3 judgments, all of them ties"),
        (
            [("a", "b", "first"), ("b", "a", "first")] * 3,
            {},
            "every effect must have a finite estimate; got judges",
        ),
        (
            [("a", "b", "first"), ("b", "a", "first")],
            {"reference": "z"},
            "reference must be one of 'a', 'b'; got 'z'",
        ),
        (
            [("a", "b", "first"), ("b", "a", "first")],
            {"without": ["z"]},
            "without must name contestants; got 'z'",
        ),
        ([("a", "b", "first"), ("b", "a", "first")], {"without": ["a"]}, "two or more different names"),
    ],
)
def test_what_cannot_be_ranked_is_refused(rows, how, message: str) -> None:  # type: ignore[no-untyped-def]
    table = pd.DataFrame(rows, columns=["first", "second", "winner"]).assign(item=range(len(rows)))
    with pytest.raises(ValueError, match=message):
        rank(table, **how)


def test_one_question_has_no_intervals_and_one_question_alone_with_a_contestant_none_for_it() -> None:
    data = drawn(20, 20, seed=8)
    one = rank(replace(data, cluster=np.zeros(len(data), dtype=np.int64)))
    assert one.ratings[["low", "high"]].isna().all(axis=None)
    assert all(e.low is None and "single cluster" in e.note for e in one.estimates)
    assert one.settled == 0
    table = as_table(data)
    more = pd.DataFrame(
        [("q0", "J", "e", "a", "first"), ("q0", "J", "b", "e", "first"), ("q0", "J", "e", "c", "tie")] * 2,
        columns=table.columns,
    )
    found = rank(pd.concat([table, more], ignore_index=True))
    with_e = (found.pairs["first"] == "e") | (found.pairs["second"] == "e")
    assert found.pairs.loc[with_e, "low"].isna().all()
    assert found.pairs.loc[~with_e, "low"].notna().all()
    assert any("one cluster carries most" in note for note in found.notes)


def test_a_circular_triple_that_is_shown_is_named() -> None:
    rng = np.random.default_rng(3)
    rows = []
    for item in range(120):
        for one, two in (("a", "b"), ("b", "c"), ("c", "a")):
            winner = one if rng.random() < 0.75 else two
            rows.append((item, *((one, two) if rng.random() < 0.5 else (two, one)), winner))
    found = rank(pd.DataFrame(rows, columns=["item", "first", "second", "winner"]))
    assert found.circular[["first", "second", "third", "shown"]].values.tolist() == [["a", "b", "c", True]]
    assert any(
        "a beats b beats c beats a; 1 with each of its three leads shown" in note for note in found.notes
    )
    assert any(
        note.startswith("WARNING: one rating per contestant does not fit 3 of 3 pairs")
        for note in found.notes
    )


def test_scores_of_three_contestants_are_ranked_as_borda_counts_them() -> None:
    rng = np.random.default_rng(5)
    rows = [
        (item, name, round(float(base + rng.normal()), 1))
        for item in range(80)
        for name, base in (("x", 1.0), ("y", 0.4), ("z", 0.0))
    ]
    table = pd.DataFrame(rows, columns=["item", "contestant", "score"])
    found = rank(table)
    assert found.effects["effect"].tolist() == [TIES]
    points = (
        borda_count(table.rename(columns={"contestant": "candidate"}).assign(agent="J"))
        .points.groupby("candidate")["borda"]
        .mean()
    )
    shares = found.ratings.set_index("contestant")["share"]
    np.testing.assert_allclose(shares[points.index], points / 2, atol=1e-12)
    assert found.ratings["contestant"].tolist() == ["x", "y", "z"]


def test_ratings_without_ties_are_those_of_evalica() -> None:
    """Of evalica 0.4.2: the logarithms of ``evalica.bradley_terry(first, second, winners).scores``, less their mean."""
    rng = np.random.default_rng(1)
    first = rng.integers(0, 10, 20_000)
    second = (first + rng.integers(1, 10, 20_000)) % 10
    strength = np.linspace(1, -1, 10)
    lead = strength[first] - strength[second] + rng.logistic(size=20_000)
    winner = np.where(lead > 0, "first", "second")
    columns = {"item": np.arange(20_000) // 20, "first": first, "second": second, "winner": winner}
    table = pd.DataFrame(columns).astype({"first": str, "second": str})
    theirs = [
        1.036235,
        0.786219,
        0.542296,
        0.352615,
        0.127362,
        -0.075433,
        -0.322996,
        -0.577539,
        -0.792532,
        -1.076228,
    ]
    own = rank(table, order=False).ratings.set_index("contestant")["rating"]
    np.testing.assert_allclose(own[list(map(str, range(10)))], theirs, atol=2e-6)


def covered(cells: dict, replicates: int, seed: int) -> pd.Series:  # type: ignore[type-arg]
    """Return how often intervals hold what estimates tend to: of a rating, of all pairs at once, of both effects."""
    big = drawn(
        60_000, 6, seed=99, **{k: v for k, v in cells.items() if k not in ("clusters", "size", "unequal")}
    )
    true = fit_davidson(Comparisons(big.first, big.second, big.outcome, big.judge, big.ordered, 4))
    rating = dict(zip(NAMES, true.ratings, strict=True))
    effect = [1 / (1 + np.exp(-true.order[0])), np.exp(true.tie[0]) / (2 + np.exp(true.tie[0]))]
    rng, hits = np.random.default_rng(seed), []
    for _ in range(replicates):
        found = rank(drawn(seed=rng, **cells))
        one, pairs = found.ratings, found.pairs
        values = one["contestant"].map(rating)
        difference = pairs["first"].map(rating) - pairs["second"].map(rating)
        hits.append(
            {
                "rating": ((one["low"] <= values) & (values <= one["high"])).mean(),
                "pairs": ((pairs["low"] <= difference) & (difference <= pairs["high"])).all(),
                "effects": ((found.effects["low"] <= effect) & (effect <= found.effects["high"])).mean(),
                "false misfit": (pairs["p_value"] < 0.05).any(),
            }
        )
    return pd.DataFrame(hits).astype(float).mean()


CELLS = {
    "few questions": {"clusters": 12, "size": 12, "spread": 0.7},
    "unequal questions": {"clusters": 40, "size": 6, "spread": 0.7, "unequal": True},
    "strong order effect": {"clusters": 30, "size": 12, "spread": 0.7, "order": 1.5},
    "many ties": {"clusters": 30, "size": 12, "spread": 0.7, "tie": 1.0},
}


@examples(20, 60)
def test_intervals_cover_with_clustered_questions(n_examples: int) -> None:
    found = covered(CELLS["few questions"], n_examples, 1)
    assert found["rating"] >= 0.90
    assert found["pairs"] >= 0.88
    assert found["effects"] >= 0.88


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS)
def test_intervals_cover_in_every_cell(cell: str) -> None:
    """Standard error of a share of 400: .011 at .95."""
    found = covered(CELLS[cell], 400, 2)
    assert found["rating"] >= 0.925
    assert found["pairs"] >= 0.92
    assert found["effects"] >= 0.92
    assert found["false misfit"] <= 0.08


def test_what_is_left_out_is_in_no_count_of_items_or_clusters() -> None:
    """Every subset of judgments counts its own items: by rows, by contestants, and in what is printed."""
    table = as_table(drawn(40, 1, seed=5))
    data = as_pairwise(table)
    out = data.contestants[-1]
    left = table[(table["first"] != out) & (table["second"] != out)]
    found = rank(table, without=[out])
    alone = rank(left)
    assert 0 < left["item"].nunique() < table["item"].nunique()
    assert (found.n_items, found.n_clusters) == (alone.n_items, alone.n_clusters)
    assert found.n_items == left["item"].nunique()
    some = data.rows(np.arange(len(data)) < 7)
    assert some.n_items == table["item"].iloc[:7].nunique()
    assert f"{some.n_items} items in {some.n_items} clusters" in repr(some)


@pytest.mark.parametrize(
    ("names", "winners", "warns"),
    [
        ("AB", "names", True),
        ("AB", "words", False),
        ("ABC", "names", False),
        ("xy", "letters", False),
    ],
)
def test_letters_that_are_names_and_places_are_said_to_be_read_as_names(
    names: str, winners: str, warns: bool
) -> None:
    rng = np.random.default_rng(6)
    first, second = (
        np.array(side) for side in zip(*(rng.permutation(list(names))[:2] for _ in range(60)), strict=True)
    )
    won = rng.random(60) < 0.5
    place = {"words": ("first", "second"), "letters": ("A", "B")}.get(winners)
    winner = np.where(won, first, second) if place is None else np.where(won, *place)
    table = pd.DataFrame({"item": range(60), "first": first, "second": second, "winner": winner})
    data = as_pairwise(table)
    assert (data.outcome == np.where(won, 1, -1)).all()
    said = [note for note in data.notes if "read as names of contestants" in note]
    assert bool(said) == warns
    if warns:
        other = int((first == "B").sum())
        assert f"differ in {other} of 60 judgments" in said[0]
        assert said[0].startswith("WARNING")
