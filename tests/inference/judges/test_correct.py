"""A judge's shares and means corrected by labels, against the functions of single shares, counts and simulations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from layers import covering, examples, sampled

from d3stats import correct, open
from d3stats.inference import as_ratings, correct_rate, correct_shares, prediction_powered_mean

LETTERS = np.array(list("ABCD"))


def items_of(
    n: int = 1000, labels: int = 100, share: float = 0.7, right: float = 0.9, seed: int = 1, per: int = 1
) -> pd.DataFrame:
    """Return items with a judge of 0 and 1, labels of a random part, and clusters of `per` items that are alike."""
    rng = np.random.default_rng(seed)
    cluster = np.arange(n) // per
    chance = (
        rng.beta(share * 4, (1 - share) * 4, cluster.max() + 1)[cluster] if per > 1 else np.full(n, share)
    )
    truth = rng.random(n) < chance
    judge = np.where(rng.random(n) < right, truth, ~truth).astype(int)
    known = np.zeros(n, dtype=bool)
    known[rng.choice(n, labels, replace=False)] = True
    table = pd.DataFrame({"item": [f"i{k}" for k in range(n)], "judge": judge, "truth": truth.astype(int)})
    table["label"] = pd.array(np.where(known, truth.astype(int), None), dtype="Int64")
    if per > 1:
        table["cluster"] = cluster
    return table


def visible(table: pd.DataFrame) -> pd.DataFrame:
    """Return what the analysis sees: the truth is left out."""
    return table.drop(columns="truth")


@pytest.mark.parametrize("per", [1, 5])
def test_two_categories_at_random_are_two_powered_means(per: int) -> None:
    table = items_of(per=per)
    found = correct(visible(table))
    cluster = table["cluster"] if per > 1 else None
    for k, category in enumerate("01"):
        label = np.where(table["label"].isna(), np.nan, (table["label"] == k).astype(float))
        one = prediction_powered_mean((table["judge"] == k).astype(float), label, cluster=cluster)
        e = found.corrected[k]
        assert (e.of, e.value, e.low, e.high) == (category, one.mean.value, one.mean.low, one.mean.high)
        assert found.alone[k].value == one.naive.value
        assert found.labels_only[k].value == one.labels_only.value
    assert found.headline.startswith(f"{100 * found.corrected[1].value:.0f} %")
    assert found.worth_labels == pytest.approx(one.worth_labels)


def test_no_label_and_many_categories_are_refused() -> None:
    table = visible(items_of(60, 20))
    with pytest.raises(ValueError, match="an item that judge judged must have a label"):
        correct(table.assign(judge=table["judge"].astype("Int64").mask(table["label"].notna())))
    named = [f"c{k % 25}" for k in range(60)]
    with pytest.raises(ValueError, match="categories must be at most 20; got 25"):
        correct(table.assign(judge=named, label=np.where(table["label"].notna(), named, None)))


def test_chosen_labels_are_corrected_as_counts_are() -> None:
    table = items_of()
    known = table["label"].notna().to_numpy()
    found = correct(visible(table), labelled="chosen")
    judge, label = table["judge"].to_numpy(), table["truth"].to_numpy()
    one = correct_rate(judge[~known], judge[known], label[known])
    assert found.corrected[1].value == one.rate.value
    assert (found.corrected[1].low, found.corrected[1].high) == (one.rate.low, one.rate.high)
    assert found.alone[1].value == judge[~known].mean()
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 4, 900)
    said = np.where(rng.random(900) < 0.8, truth, rng.integers(0, 4, 900))
    seen = np.arange(900) < 240
    four = pd.DataFrame({"judge": LETTERS[said], "label": np.where(seen, LETTERS[truth], None)})
    confusion = [[int(((truth == i) & (said == j) & seen).sum()) for j in range(4)] for i in range(4)]
    shares = correct_shares(
        [int(((said == k) & ~seen).sum()) for k in range(4)], confusion, categories="ABCD"
    )
    got = correct(four, labelled="chosen")
    assert [(e.value, e.low, e.high) for e in got.corrected] == [
        (e.value, e.low, e.high) for e in shares.shares
    ]
    clustered = correct(four.assign(cluster=np.arange(900) // 3), labelled="chosen")
    assert all(e.low is None for e in clustered.corrected)


def test_scores_give_a_mean_and_chosen_scores_are_refused() -> None:
    rng = np.random.default_rng(3)
    truth = rng.normal(5, 2, 300).round(1)
    judge = (truth + rng.normal(0, 1, 300)).round(1)
    table = pd.DataFrame({"judge": judge, "label": np.where(np.arange(300) < 60, truth, np.nan)})
    found, one = correct(table), prediction_powered_mean(judge, table["label"])
    assert len(found.corrected) == 1
    assert found.corrected[0].value == pytest.approx(one.mean.value, abs=1e-12)
    assert found.corrected[0].low == pytest.approx(one.mean.low, abs=1e-12)
    apart = table.assign(judge=table["judge"] + 0.05)
    assert not any("every accuracy would be 0" in note for note in correct(apart).notes)
    with pytest.raises(ValueError, match="must give categories; got scores"):
        correct(table, labelled="chosen")


def test_a_weighted_mean_is_the_formula_and_an_equal_chance_the_unweighted_one() -> None:
    rng = np.random.default_rng(4)
    truth = (rng.random(400) < 0.6).astype(float)
    judge = np.where(rng.random(400) < 0.85, truth, 1 - truth)
    chance = np.where(judge == 1, 0.2, 0.5)
    label = np.where(rng.random(400) < chance, truth, np.nan)
    known = ~np.isnan(label)
    for tuning in (0.0, 0.6, 1.0):
        found = prediction_powered_mean(judge, label, chance=chance, tuning=tuning)
        weight = 1 / chance[known]
        value = tuning * judge.mean() + weight @ (label[known] - tuning * judge[known]) / weight.sum()
        assert found.mean.value == pytest.approx(value, abs=1e-12)
        share = (~known).mean()
        equal = prediction_powered_mean(judge, label, chance=np.full(400, 0.3), tuning=tuning)
        assert equal.mean.value == pytest.approx(
            prediction_powered_mean(judge, label, tuning=tuning * share).mean.value, abs=1e-12
        )
    for bad in (0.0, 1.5, np.nan):
        with pytest.raises(ValueError, match="chance must be above 0 and at most 1"):
            prediction_powered_mean(judge, label, chance=np.where(np.arange(400) == 7, bad, chance))


@sampled(
    "share, sensitivity, specificity, labels, per",
    [(0.5, 0.9, 0.7, 100, 1), (0.8, 0.8, 0.8, 150, 1), (0.15, 0.7, 0.95, 200, 1), (0.5, 0.8, 0.8, 200, 5)],
    (3,),
)
@examples(150, 300, "n_tables")
def test_intervals_with_chances_hold_their_level(
    share: float, sensitivity: float, specificity: float, labels: int, per: int, n_tables: int
) -> None:
    rng, held, given, n = np.random.default_rng(5), 0, 0, 1000
    for _ in range(n_tables):
        cluster = np.arange(n) // per
        p = rng.beta(share * 8, (1 - share) * 8, n)[cluster] if per > 1 else share
        truth = rng.random(n) < p
        judge = np.where(truth, rng.random(n) < sensitivity, rng.random(n) > specificity).astype(float)
        chance = np.where(judge == 1, 0.6, 1.4) * labels / n
        label = np.where(rng.random(n) < chance, truth, np.nan)
        e = prediction_powered_mean(judge, label, chance=chance, cluster=cluster if per > 1 else None).mean
        if e.low is not None and e.high is not None:
            given += 1
            held += e.low <= share <= e.high
    assert given >= 0.9 * n_tables
    assert held / given >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / given)


@covering(per=[1, 5], right=[0.75, 0.9])
def test_so_many_labels_give_the_width_that_was_asked_for(right: float, per: int) -> None:
    width, n = 0.09, 3000
    table = items_of(n, 1000, right=right, seed=6, per=per)
    found = correct(visible(table), width=width)
    needed = found.budget.set_index("way")["labels"]
    assert (
        needed["by verdict"] <= needed["at random, with the judge"] <= needed["at random, without the judge"]
    )
    truth, judge = table["truth"].to_numpy(), table["judge"].to_numpy(dtype=float)
    cluster = table["cluster"].to_numpy() if per > 1 else None
    chances = found.strata.set_index("verdict")["chance"]
    rng, widths = np.random.default_rng(7), {way: [] for way in needed.index}
    for _ in range(12):
        for way in needed.index:
            if way == "by verdict":
                chance = np.where(judge == 1, chances["1"], chances["0"])
                known = rng.random(n) < chance
            else:
                chance, known = None, np.zeros(n, dtype=bool)
                known[rng.choice(n, int(needed[way]), replace=False)] = True
            tuning = 0.0 if way.endswith("without the judge") else None
            label = np.where(known, truth, np.nan)
            e = prediction_powered_mean(judge, label, cluster=cluster, chance=chance, tuning=tuning).mean
            assert e.low is not None
            widths[way].append(e.high - e.low)
    for way, each in widths.items():
        assert np.mean(each) == pytest.approx(width, rel=0.15), way


def test_the_same_answer_from_every_kind_of_source(tmp_path) -> None:
    table = visible(items_of())
    path = tmp_path / "items.csv"
    table.to_csv(path, index=False)
    table.to_parquet(tmp_path / "items.parquet")
    first = correct(table, width=0.08).to_dict()
    for source in (path, tmp_path / "items.parquet", open(path), as_ratings(path), table.to_dict("records")):
        found = correct(source, width=0.08).to_dict()
        assert {**found, "notes": []} == {**first, "notes": []}


def test_what_cannot_be_answered_is_refused_with_the_next_step() -> None:
    table = visible(items_of())
    with pytest.raises(
        ValueError, match="judge must be named where there are several; got none; choose one of"
    ):
        correct(table.assign(other=1))
    with pytest.raises(ValueError, match="must have no label"):
        correct(table.assign(label=1))
    with pytest.raises(ValueError, match="label"):
        correct(table.drop(columns="label"))
    with pytest.raises(ValueError, match="width must come with"):
        correct(table, labelled="chosen", width=0.1)
    few = table.assign(label=table["label"].where(np.arange(1000) < 60))
    with pytest.raises(ValueError, match="width must have 20 labels to plan from; got"):
        correct(few, width=0.1)
    wide = correct(table, width=0.01)
    assert wide.budget["labels"].isna().all()
    assert "takes more items" in wide.headline
