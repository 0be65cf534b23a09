"""Judges and items of differing difficulty: recovery, coverage, what independence overstates, refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from layers import examples

from d3stats.inference import dawid_skene, glad


def panel_of(
    ability: list[float],
    n: int,
    seed: int,
    *,
    spread: float = 1.0,
    missing: float = 0.0,
    per_question: int = 1,
) -> pd.DataFrame:
    """Votes of judges who find the same items hard, with the label; the items of a question are equally hard."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    question = np.arange(n) // per_question
    ease = np.exp(spread * rng.standard_normal(n))[question]
    right = rng.random((n, len(ability))) < 1 / (1 + np.exp(-np.outer(ease, ability)))
    words = np.array(["A", "B"], dtype=object)
    votes = np.where(right == truth[:, None].astype(bool), words[1], words[0])
    votes = np.where(rng.random(votes.shape) < missing, None, votes)
    table = pd.DataFrame(votes, columns=[f"j{k}" for k in range(len(ability))])
    table.insert(0, "item", [f"i{k:04d}" for k in range(n)])
    return table.assign(label=words[truth], cluster=[f"c{k:04d}" for k in question])


def accuracies(ability: list[float], spread: float) -> np.ndarray:
    z, share = np.polynomial.hermite_e.hermegauss(61)
    return 1 / (1 + np.exp(-np.outer(ability, np.exp(spread * z)))) @ (share / share.sum())


ABILITY = [2.0, 1.5, 1.0, 0.7, 0.4]


def test_what_verdicts_are_worth_is_said_right_where_independence_says_too_much() -> None:
    table = panel_of(ABILITY, 4000, 1, spread=1.2)
    ours, theirs = glad(table), dawid_skene(table)
    assert ours.accuracy is not None
    assert ours.judges["accuracy"].to_numpy() == pytest.approx(accuracies(ABILITY, 1.2), abs=0.03)
    assert ours.expected == pytest.approx(ours.accuracy.value, abs=0.02)
    assert theirs.expected.value > ours.expected + 0.02
    assert theirs.judges["accuracy"].max() > ours.judges["accuracy"].max()


def test_hard_items_have_a_higher_difficulty() -> None:
    table = panel_of([2.0] * 7, 600, 2, spread=1.5)
    items = glad(table).items
    agree = (table.filter(like="j").eq("A").mean(axis=1) - 0.5).abs()
    assert np.corrcoef(items["difficulty"], agree)[0, 1] < -0.9


@pytest.mark.parametrize(
    ("ability", "n", "spread", "missing", "per_question"),
    [
        ([1.5] * 5, 120, 0.5, 0.0, 1),
        pytest.param(ABILITY, 250, 1.0, 0.2, 1, marks=pytest.mark.slow),
        pytest.param([2, 2, 1.5, 1, 1], 300, 0.8, 0.0, 4, marks=pytest.mark.slow),
    ],
)
@examples(8, 40)
def test_intervals_hold_the_accuracies(
    ability: list[float], n: int, spread: float, missing: float, per_question: int, n_examples: int
) -> None:
    held = []
    for seed in range(n_examples):
        found = glad(panel_of(ability, n, seed, spread=spread, missing=missing, per_question=per_question))
        low, high = (found.judges[end].to_numpy() for end in ("low", "high"))
        true = accuracies(ability, spread)
        held.append((low <= true) & (true <= high))
    assert np.mean(held) > 0.90


def test_labels_change_no_fit_and_order_of_judges_moves_rows_alone() -> None:
    table = panel_of(ABILITY, 200, 4)
    one, other = glad(table), glad(table.drop(columns="label"))
    pd.testing.assert_frame_equal(one.judges.drop(columns="labelled"), other.judges)
    turned = glad(table[["item", "j4", "j3", "j2", "j1", "j0", "cluster"]]).judges.set_index("judge")
    assert turned["accuracy"].sort_index().to_numpy() == pytest.approx(other.judges["accuracy"], abs=1e-4)


def test_few_clusters_have_no_intervals_and_the_reason() -> None:
    found = glad(panel_of(ABILITY, 60, 8, per_question=6))
    assert found.judges["low"].isna().all()
    assert any("limits need 30" in note for note in found.notes)


def test_what_makes_no_panel_is_refused() -> None:
    table = panel_of(ABILITY, 40, 9)
    with pytest.raises(ValueError, match="at least 3 judges"):
        glad(table[["item", "j0", "j1"]])
    with pytest.raises(ValueError, match="prior must be above 0"):
        glad(table, prevalence="estimated", prior=0.0)
    with pytest.raises(ValueError, match="prior must be left out unless the prevalence is estimated"):
        glad(table, prior=1.0)
    with pytest.raises(ValueError, match="prevalence must be 'uniform', 'estimated' or a share of each"):
        glad(table, prevalence="flat")
    with pytest.raises(
        ValueError, match="prevalence must have a share of each answer that judges gave, 'A', 'B'"
    ):
        glad(table, prevalence={"A": 1.0})
    with pytest.raises(ValueError, match=r"prevalence must add up to 1; got 0\.9"):
        glad(table, prevalence={"A": 0.5, "B": 0.4})


CROWDS = Path(__file__).resolve().parents[3] / "simulations" / "conformance" / "crowd"


def crowd(name: str) -> pd.DataFrame:
    """Read the votes of a public crowd, with labels."""
    return pd.read_csv(CROWDS / f"{name}.csv.gz").rename(columns={"worker": "rater"}).astype(str)


def test_a_crowd_little_better_than_chance_needs_a_prevalence_that_is_held() -> None:
    votes = crowd("duck")
    held, free = glad(votes), glad(votes, prevalence="estimated")
    assert held.accuracy is not None
    assert held.gain is not None
    assert held.gain.low is not None
    assert held.gain.high is not None
    assert held.gain.low < 0 < held.gain.high
    assert held.accuracy.value > 0.72
    assert not any(getattr(note, "kind", "") == "worse than the plurality" for note in held.notes)
    assert free.accuracy is not None
    assert free.accuracy.value < 0.6
    assert free.prevalences["share"].max() > 0.9
    text = " ".join(free.notes)
    assert "is estimated to be right on 94" in text
    assert "right less often than the plurality" in text


@pytest.mark.slow
def test_where_verdicts_are_worse_than_the_plurality_a_warning_says_so() -> None:
    found = glad(crowd("face"))
    assert found.accuracy is not None
    assert found.accuracy.value == pytest.approx(0.62, abs=0.005)
    assert "right less often than the plurality" in " ".join(found.notes)


def test_prevalences_hold_what_is_given_and_an_estimated_one_is_recovered() -> None:
    table = panel_of(ABILITY, 2000, 11)
    keep = (table["label"] == "A") | (np.arange(len(table)) % 3 == 0)
    table = table[keep]
    true = (table["label"] == "A").mean()
    free = glad(table, prevalence="estimated")
    assert free.prevalences["share"][0] == pytest.approx(true, abs=0.05)
    given = glad(table, prevalence={"B": 1 - true, "A": true})
    assert given.prevalences["share"].tolist() == pytest.approx([true, 1 - true])
    assert given.judges["accuracy"].to_numpy() == pytest.approx(accuracies(ABILITY, 1.0), abs=0.05)
    held = glad(table)
    assert held.prevalences["share"].tolist() == [0.5, 0.5]
    assert any("taken to be right equally often; A is taken at 50" in note for note in held.notes)
