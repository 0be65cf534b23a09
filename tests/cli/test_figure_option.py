"""``--figure``: written twice, with or without a suffix, refused before the work begins, and said where."""

from __future__ import annotations

import time
from pathlib import Path

import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from d3stats.cli import app

COMMANDS = {
    "fit": ("fit", "slm7", "--n-boot", "20"),
    "fit of a round": ("fit", "slm7", "--n-boot", "20", "--round", "2"),
    "replay": ("replay", "slm7", "--n-boot", "20"),
    "plan": ("plan", "slm7", "--no-limit"),
    "agreement": ("agreement", "slm7", "--measure", "fleiss"),
    "compare": ("compare", "slm7", "slm7", "--round", "1", "--round", "3"),
    "bias": ("bias", "VERDICTS"),
    "calibrate": ("calibrate", "slm7"),
}


def run(*words: str) -> Result:
    return CliRunner().invoke(app, [VERDICTS if word == "VERDICTS" else word for word in words])


VERDICTS = ""


@pytest.fixture(scope="module", autouse=True)
def _verdicts(tmp_path_factory: pytest.TempPathFactory) -> None:
    global VERDICTS
    path = tmp_path_factory.mktemp("verdicts") / "verdicts.csv"
    rows = [(i, order, "AB"[(i + k) % 3 == 0]) for i in range(30) for k, order in enumerate(("AB", "BA"))]
    pd.DataFrame(rows, columns=["item", "order", "vote"]).to_csv(path, index=False)
    VERDICTS = str(path)


def test_every_command_that_draws_is_tried_here() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    drawing = {name for name, c in commands.items() if any("--figure" in p.opts for p in c.params)}
    assert drawing == {words[0] for words in COMMANDS.values()}


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        *((name, "") for name in COMMANDS),
        ("agreement", ".pdf"),
        *(pytest.param(name, ".pdf", marks=pytest.mark.slow) for name in COMMANDS if name != "agreement"),
    ],
)
def test_a_figure_is_written_twice_and_its_place_is_said(name: str, suffix: str, tmp_path: Path) -> None:
    done = run(*COMMANDS[name], "--figure", str(tmp_path / f"out{suffix}"))
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    assert f"figure: {tmp_path / 'out.pdf'} and {tmp_path / 'out.png'}" in done.stderr
    assert "figure:" not in done.stdout


def test_one_round_is_drawn_alone(tmp_path: Path) -> None:
    for name in ("fit", "fit of a round"):
        run(*COMMANDS[name], "--figure", str(tmp_path / name))
    alone, whole = ((tmp_path / f"{name}.png").stat().st_size for name in ("fit of a round", "fit"))
    assert alone < 0.6 * whole


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_place_that_cannot_be_written_is_refused_before_the_work(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in ("out.svg", "file/out"):
        begun = time.perf_counter()
        done = run(*COMMANDS[name], "--figure", str(tmp_path / place))
        assert done.exit_code == 1
        assert "path of a figure must" in done.output
        assert time.perf_counter() - begun < 3


def test_a_log_without_right_answers_is_sent_to_replay_and_plan(tmp_path: Path) -> None:
    path = tmp_path / "nolabel.csv"
    rows = [(f"d{d}", r, f"a{a}", "AB"[(d + a) % 2]) for d in range(4) for r in (1, 2) for a in range(3)]
    pd.DataFrame(rows, columns=["debate", "round", "agent", "vote"]).to_csv(path, index=False)
    done = run("fit", str(path))
    assert done.exit_code == 1
    assert "see replay and plan" in " ".join(done.output.split())
    assert run("replay", str(path), "--n-boot", "20").exit_code == 0
