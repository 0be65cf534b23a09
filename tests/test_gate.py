"""A gate says shown, refuted or not decided, and a program leaves with its code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from d3stats import agreement, bias, compare, position_bias, report
from d3stats.cli import app
from d3stats.estimate import Estimate
from d3stats.result import Gate

pytestmark = pytest.mark.usefixtures("computed_once")


def between(low: float | None, high: float | None) -> Estimate:
    return Estimate(
        name="x", value=0.0 if low is None else low, low=low, high=high, kind="k", n=9, note="few"
    )


@pytest.mark.parametrize(
    ("limits", "at_least", "at_most", "absolute", "shown"),
    [
        ((0.2, 0.4), 0.2, None, False, True),
        ((0.2, 0.4), 0.3, None, False, None),
        ((0.2, 0.4), 0.41, None, False, False),
        ((0.2, 0.4), None, 0.4, False, True),
        ((0.2, 0.4), None, 0.1, False, False),
        ((-0.3, 0.1), None, 0.2, False, True),
        ((-0.3, 0.1), None, 0.2, True, None),
        ((-0.3, -0.25), None, 0.2, True, False),
        ((-0.1, 0.1), None, 0.2, True, True),
        ((None, None), 0.1, None, False, None),
    ],
)
def test_the_whole_interval_decides(
    limits: tuple[float, float], at_least: float, at_most: float, absolute: bool, shown: bool | None
) -> None:
    gate = Gate.of([between(*limits)], at_least=at_least, at_most=at_most, absolute=absolute)
    assert gate.shown is shown
    assert gate.code == {True: 0, False: 4, None: 5}[shown]
    assert bool(gate) is (shown is True)


def test_all_must_agree_and_one_refutes() -> None:
    good, open_, bad = between(0.5, 0.6), between(0.3, 0.6), between(0.0, 0.1)
    assert Gate.of([good, good], at_least=0.4).shown is True
    assert Gate.of([good, open_], at_least=0.4).shown is None
    assert Gate.of([good, open_, bad], at_least=0.4).shown is False


@pytest.mark.parametrize("limits", [{}, {"at_least": 0.1, "at_most": 0.2}, {"at_least": float("nan")}])
def test_a_gate_has_one_finite_limit(limits: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="got "):
        Gate.of([between(0.1, 0.2)], **limits)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs on 400 items: the same, 12 lost, 60 lost; verdicts of a fair and of a biased judge; ratings."""
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(3)
    right = (rng.random(400) < 0.7).astype(int)
    for name, lost in (("old", 0), ("new", 12), ("bad", 90)):
        column = right.copy()
        column[np.flatnonzero(column)[:lost]] = 0
        column[np.flatnonzero(right == 0)[: 10 if lost else 0]] = 1
        pd.DataFrame({"item": range(400), "correct": column}).to_csv(folder / f"{name}.csv", index=False)
    truth = rng.choice(["A", "B"], 200)
    for name, pull in (("fair", 0.0), ("biased", 0.6)):
        rows = []
        for item, best in enumerate(truth):
            for order in ("AB", "BA"):
                vote = (
                    order[0]
                    if rng.random() < pull
                    else best
                    if rng.random() < 0.9
                    else "AB".replace(best, "")
                )
                rows.append((item, order, vote))
        pd.DataFrame(rows, columns=["item", "order", "vote"]).to_csv(folder / f"{name}.csv", index=False)
    rows = [
        (f"d{d}", f"q{d}", r, f"a{k}", "AB"[(d + k) % 2], "C")
        for d in range(6)
        for r in (1, 2)
        for k in range(3)
    ]
    turns = pd.DataFrame(rows, columns=["debate", "question", "round", "agent", "vote", "label"])
    turns.to_csv(folder / "debates.csv", index=False)  # no vote is a label
    rows = []
    for d in range(60):
        best = "AB"[d % 2]
        for r in (1, 2):
            votes = [best if rng.random() < 0.7 else "AB".replace(best, "") for _ in range(3)]
            rows += [(f"d{d}", f"q{d}", r, f"a{k}", vote, best) for k, vote in enumerate(votes)]
    pd.DataFrame(rows, columns=turns.columns).to_csv(folder / "sound.csv", index=False)
    noisy = {f"r{k}": np.where(rng.random(200) < 0.1, rng.choice(["A", "B"], 200), truth) for k in range(3)}
    pd.DataFrame({"item": range(200), **noisy}).to_csv(folder / "ratings.csv", index=False)
    return folder


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("compare old.csv new.csv --margin 0.05", 0),
        ("compare old.csv bad.csv --margin 0.05", 4),
        ("compare old.csv new.csv --margin 0.01", 5),
        ("agreement ratings.csv --at-least 0.5", 0),
        ("agreement ratings.csv --at-least 0.99", 4),
        ("agreement ratings.csv --at-least 0.81", 5),
        ("bias fair.csv --at-most 0.2", 0),
        ("bias biased.csv --at-most 0.1", 4),
        ("bias biased.csv --at-most 0.3", 5),
        ("report old.csv", 1),
        # The test below has both gates of reports in the fast layer.
        pytest.param("report debates.csv --gate --n-boot 20 --overwrite", 4, marks=pytest.mark.slow),
        pytest.param("report sound.csv --gate --n-boot 20 --overwrite", 0, marks=pytest.mark.slow),
        ("compare old.csv nothing.csv --margin 0.05", 1),
        ("compare old.csv new.csv --margin much", 2),
        ("agreement nothing.csv --at-least 0.5", 1),
        ("agreement ratings.csv --at-least much", 2),
        ("bias nothing.csv --at-most 0.1", 1),
        ("bias fair.csv --at-most much", 2),
        ("report nothing.csv --gate", 1),
        ("report sound.csv --gate --level much", 2),
    ],
)
@pytest.mark.usefixtures("without_pictures")
def test_a_command_ends_with_the_code_of_its_claim(
    words: str, code: int, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs)
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code == code, done.output
    if code in (0, 4, 5):
        asked = CliRunner().invoke(app, [*words.split(), "--json"])
        assert asked.exit_code == code
        assert f'"code": {code}' in asked.output


@pytest.mark.usefixtures("without_pictures")
def test_python_and_the_terminal_give_one_gate(runs: Path) -> None:
    assert compare(runs / "old.csv", runs / "new.csv").gate(margin=0.05).code == 0
    assert agreement(runs / "ratings.csv").gate(at_least=0.99).code == 4
    assert position_bias(runs / "biased.csv").gate(at_most=0.3).code == 5
    assert bias(runs / "fair.csv").gate(at_most=0.2).code == 0
    assert report(runs / "debates.csv", n_boot=20).gate().code == 4
    assert report(runs / "sound.csv", n_boot=20).gate().code == 0
    with pytest.raises(ValueError, match="must have a margin"):
        compare(runs / "old.csv", runs / "new.csv").gate()
