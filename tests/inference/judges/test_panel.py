"""Worth of a panel, what judges add, and the best panel for a price: exact, with and without labels."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from d3stats import panel
from d3stats.cli.app import app
from d3stats.inference import effective_jurors


def votes_of(right: np.ndarray, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    truth = rng.random(len(right)) < 0.5
    votes = np.where(right, truth[:, None], ~truth[:, None])
    table = pd.DataFrame(np.where(votes, "A", "B"), columns=[f"j{k}" for k in range(right.shape[1])])
    return table.assign(label=np.where(truth, "A", "B"))


def independent(accuracy: list[float], n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((n, len(accuracy))) < np.array(accuracy)


def plain_share(right: np.ndarray, members: tuple[int, ...]) -> float:
    """Share of items on which more than half of the members are right, half of a tie."""
    hits = right[:, members].sum(axis=1) * 2 - len(members)
    return float(((hits > 0) + 0.5 * (hits == 0)).mean())


def test_the_frontier_is_that_of_all_panels() -> None:
    right = independent([0.9, 0.8, 0.75, 0.7, 0.6], 150, 3)
    price = [5.0, 3.0, 2.0, 1.0, 1.0]
    found = panel(votes_of(right), prices={f"j{k}": p for k, p in enumerate(price)}, rng=1)
    every = [c for size in range(1, 6) for c in combinations(range(5), size)]
    for row in found.frontier.itertuples():
        can = [plain_share(right, c) for c in every if sum(price[k] for k in c) <= row.price + 1e-9]
        assert row.accuracy == pytest.approx(max(can))
    assert found.frontier["accuracy"].is_monotonic_increasing
    assert found.bound is None


def test_what_a_judge_adds_is_the_loss_without_it_and_worth_is_that_of_effective_jurors() -> None:
    right = independent([0.9, 0.8, 0.75, 0.7, 0.6], 200, 4)
    table = votes_of(right)
    found = panel(table, rng=1)
    for k in range(5):
        others = tuple(j for j in range(5) if j != k)
        change = plain_share(right, tuple(range(5))) - plain_share(right, others)
        assert found.judges["adds"].iloc[k] == pytest.approx(change)
    assert found.worth is not None
    assert found.worth.value == pytest.approx(effective_jurors(table, rng=1).kish.value)


def test_copies_make_the_panel_smaller_and_are_the_worst_pair() -> None:
    right = independent([0.75] * 4, 600, 5)
    found = panel(votes_of(np.column_stack([right, right[:, [0, 0]]])), rng=1)
    assert found.worth is not None
    assert found.worth.value < 4
    assert found.effective is not None
    assert found.effective.worst.value == pytest.approx(1.0)
    assert "j0 and j4" in found.summary()


def test_the_chosen_panel_is_measured_where_it_was_not_chosen() -> None:
    """Nine equal judges: the best three on these items are no better than any three."""
    chosen, held = [], []
    for seed in range(12):
        found = panel(votes_of(independent([0.65] * 9, 80, 50 + seed)), judges=3, rng=seed)
        assert found.best is not None
        chosen.append(found.frontier["accuracy"].max())
        held.append(found.best.value)
    honest = 0.65**3 + 3 * 0.65**2 * 0.35
    assert np.mean(chosen) > honest + 0.05
    assert np.mean(held) < honest + 0.02


def test_above_twelve_judges_the_search_is_greedy_with_a_bound() -> None:
    found = panel(votes_of(independent([0.9, *[0.6] * 13], 120, 6)), judges=2, rng=1)
    assert found.bound is not None
    assert found.frontier["accuracy"].max() <= found.bound <= 1
    assert "j0" in found.chosen
    assert any("adding one judge at a time" in note for note in found.notes)


def test_without_labels_every_number_says_so() -> None:
    table = votes_of(independent([0.95, 0.9, 0.7, 0.7, 0.7], 300, 7)).drop(columns="label")
    found = panel(table, n_boot=19, rng=1)
    assert "at most" in found.headline
    assert "model's verdict" in found.summary()
    assert found.independence is not None
    assert found.worth is not None
    assert found.worth.low is None
    assert any("no labels" in note for note in found.notes)


def test_what_cannot_be_meant_is_refused() -> None:
    table = votes_of(independent([0.8] * 3, 60, 8))
    with pytest.raises(ValueError, match="judges must be at most 3"):
        panel(table, judges=4)
    with pytest.raises(ValueError, match="max_price must buy a judge"):
        panel(table, max_price=0.5)
    with pytest.raises(ValueError, match="prices must have every judge"):
        panel(table, prices={"j0": 1.0})
    with pytest.raises(ValueError, match="prices must be of judges of the panel"):
        panel(table, prices={"zz": 1.0})


def test_the_command_prints_a_screen_and_takes_prices(tmp_path: Path) -> None:
    votes_of(independent([0.9, 0.8, 0.7, 0.7, 0.7, 0.65, 0.6], 100, 9)).to_csv(
        tmp_path / "v.csv", index=False
    )
    whole = CliRunner().invoke(app, ["panel", str(tmp_path / "v.csv")], env={"COLUMNS": "80"})
    assert whole.exit_code == 0
    lines = whole.stdout.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("7 judges are worth")
    prices = [word for k in range(7) for word in ("--price", f"j{k}={k + 1}")]
    paid = CliRunner().invoke(app, ["panel", str(tmp_path / "v.csv"), "--max-price", "3", *prices])
    assert "Best panel by price" in paid.stdout
    wrong = CliRunner().invoke(app, ["panel", str(tmp_path / "v.csv"), "--price", "j0"])
    assert wrong.exit_code == 1
    assert "JUDGE=PRICE" in wrong.stderr


def test_one_item_has_no_interval_and_the_answer_says_so() -> None:
    one = pd.DataFrame({"item": ["i"], "x": ["A"], "y": ["A"], "z": ["B"], "label": ["A"]})
    assert panel(one, rng=1).headline == "The plurality of 3 judges is right 100 % (no interval: 1 cluster)."


def test_a_copy_is_named_and_nobody_is_said_to_add_where_judges_depend_and_no_item_has_a_label() -> None:
    rng = np.random.default_rng(3)
    truth = rng.random(200) < 0.5
    right = rng.random((200, 5)) < [0.9, 0.8, 0.75, 0.75, 0.7]
    votes = pd.DataFrame(np.where(right == truth[:, None], "A", "B"), columns=list("vwxyz")).assign(
        copy=lambda t: t["y"]
    )
    found = panel(votes, rng=1)
    assert any("y and copy (200 items)" in note for note in found.notes)
    said = " ".join(found._answer())
    assert "show neither who adds something nor which panel is best" in said
    asked = panel(votes, judges=2, max_price=3, rng=1)
    assert asked.frontier.empty
    assert (asked.best, asked.chosen) == (None, ())
    assert any("no best panels" in note for note in asked.notes)
    assert "Best panel" not in " ".join(asked._answer())
    assert "Shown to" not in said
    labelled = panel(votes.assign(label=np.where(truth, "A", "B")), rng=1)
    assert any("y and copy (200 items)" in note for note in labelled.notes)
    assert "add something" in " ".join(labelled._answer())
    assert len(labelled.frontier)
    assert not any("no best panels" in note for note in labelled.notes)
