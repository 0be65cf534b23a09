"""Judges without labels: recovery of accuracies and right answers, coverage, comparison with labels, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from layers import examples, sampled

from d3stats.inference import dawid_skene

ACCURATE = [0.97, 0.95, 0.6, 0.6, 0.6, 0.55, 0.55]


def panel_of(
    accuracy: list[float], n: int, seed: int, *, answers: int = 2, missing: float = 0.0, per_question: int = 1
) -> pd.DataFrame:
    """Votes of judges who err independently, with the label."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, answers, n)
    shape = (n, len(accuracy))
    wrong = (truth[:, None] + rng.integers(1, answers, shape)) % answers
    codes = np.where(rng.random(shape) < np.array(accuracy), truth[:, None], wrong)
    words = np.array(list("ABCDEF"), dtype=object)
    votes = np.where(rng.random(shape) < missing, None, words[codes])
    table = pd.DataFrame(votes, columns=[f"j{k}" for k in range(len(accuracy))])
    table.insert(0, "item", [f"i{k:04d}" for k in range(n)])
    return table.assign(label=words[truth], cluster=[f"c{k // per_question:04d}" for k in range(n)])


def test_accuracies_of_independent_judges_are_recovered_without_labels() -> None:
    found = dawid_skene(panel_of(ACCURATE, 4000, 1).drop(columns="label"))
    assert found.judges["accuracy"].to_numpy() == pytest.approx(ACCURATE, abs=0.03)
    assert found.accuracy is None
    assert "labelled" not in found.judges
    assert found.converged
    assert found.n_reached_best >= 6


def test_weighted_verdicts_beat_the_plurality_where_judges_differ_and_are_independent() -> None:
    found = dawid_skene(panel_of([0.99, 0.99, *[0.6] * 5], 1000, 2))
    verdicts, plurality, gain, _ = found.estimates
    assert verdicts.value > 0.99
    assert plurality.value < 0.92
    assert gain.low is not None
    assert gain.low > 0.05


def test_four_answers_and_missing_votes_are_recovered() -> None:
    accuracy = [0.9, 0.8, 0.7, 0.6, 0.5]
    found = dawid_skene(panel_of(accuracy, 3000, 3, answers=4, missing=0.3))
    assert found.judges["accuracy"].to_numpy() == pytest.approx(accuracy, abs=0.04)
    rows = found.confusion.groupby(["judge", "truth"])["share"].sum()
    assert rows.to_numpy() == pytest.approx(1.0)
    assert any("votes are missing" in note for note in found.notes)


def test_labels_change_no_fit() -> None:
    table = panel_of(ACCURATE, 200, 4)
    one, other = dawid_skene(table), dawid_skene(table.drop(columns="label"))
    pd.testing.assert_frame_equal(one.judges.drop(columns="labelled"), other.judges)
    assert one.verdicts["verdict"].tolist() == other.verdicts["verdict"].tolist()


@sampled(
    "accuracy, n, answers, missing, per_question",
    [([0.7] * 5, 60, 2, 0.0, 1), ([0.9] * 5, 100, 3, 0.3, 1), ([0.95, 0.95, 0.95, 0.6, 0.6], 200, 2, 0.0, 4)],
    (0,),
)
@examples(7, 40, "seeds")
def test_intervals_hold_the_accuracies(
    accuracy: list[float], n: int, answers: int, missing: float, per_question: int, seeds: int
) -> None:
    held, right = [], []
    for seed in range(seeds):
        table = panel_of(accuracy, n, 100 + seed, answers=answers, missing=missing, per_question=per_question)
        found = dawid_skene(table)
        low, high = (found.judges[end].to_numpy() for end in ("low", "high"))
        held.append((low <= accuracy) & (accuracy <= high))
        assert found.accuracy is not None
        right.append(not found.expected.excludes(found.accuracy.value))
    assert np.mean(held) > 0.90
    assert np.mean(right) > 0.85


def test_copies_are_taken_for_the_truth_and_the_note_says_so() -> None:
    """Three judges who repeat each other outvote four better ones: nothing in the votes tells."""
    table = panel_of([0.7, 0.75, 0.75, 0.75, 0.75], 1500, 6)
    table = table.assign(j8=table["j0"], j9=table["j0"])
    found = dawid_skene(table)
    assert found.judges.set_index("judge").loc["j8", "accuracy"] > 0.95
    assert found.accuracy is not None
    assert found.accuracy.value < 0.75
    assert any("wrong in common" in note for note in found.notes)


def test_a_label_that_no_judge_gave_counts_as_wrong() -> None:
    table = panel_of([0.9] * 4, 100, 7)
    table.loc[:9, "label"] = "D"
    found = dawid_skene(table)
    assert found.accuracy is not None
    assert found.accuracy.n == 100
    assert found.accuracy.value <= 0.9
    assert sorted(found.prevalences["answer"]) == ["A", "B"]


def test_few_clusters_have_no_intervals_and_the_reason() -> None:
    found = dawid_skene(panel_of([0.8] * 5, 60, 8, per_question=6))
    assert found.judges["low"].isna().all()
    assert found.expected.low is None
    assert "limits need 30" in found.expected.note


def test_what_makes_no_panel_is_refused() -> None:
    table = panel_of([0.8] * 4, 40, 9)
    with pytest.raises(ValueError, match="at least 3 judges"):
        dawid_skene(table[["item", "j0", "j1"]])
    free = table.assign(**{f"j{k}": [str(1000 + i) for i in range(40)] for k in range(4)})
    with pytest.raises(ValueError, match="same set for all items"):
        dawid_skene(free.drop(columns="label"))
    with pytest.raises(ValueError, match="prior must be above 0"):
        dawid_skene(table, prior=0.0)
    with pytest.raises(ValueError, match="two different votes"):
        dawid_skene(table.assign(j0="A", j1="A", j2="A", j3="A"))
