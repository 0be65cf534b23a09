"""``--figure``: written twice, with or without a suffix, refused before the work begins, and said where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_rationales import cited_log
from pace import idle_seconds
from typer.main import get_command
from typer.testing import CliRunner, Result

from d3stats.cli import app

COMMANDS = {
    "fit": ("fit", "slm7", "--n-boot", "5"),
    "fit of a round": ("fit", "slm7", "--n-boot", "5", "--round", "2"),
    "replay": ("replay", "slm7"),
    "plan": ("plan", "slm7", "--no-limit", "--n-draws", "20"),
    "agreement": ("agreement", "slm7", "--measure", "fleiss"),
    "simulate": ("simulate", "--like", "slm7", "--debates", "500"),
    "simulate a study": ("simulate", "STUDY"),
    "compare": ("compare", "slm7", "slm7", "--round", "1", "--round", "3"),
    "bias": ("bias", "VERDICTS"),
    "calibrate": ("calibrate", "slm7", "--world", "voter", "--n-rep", "40", "--n-sim", "100"),
    "protocols": ("protocols", "samre:jurors=3"),
    "rationales": ("rationales", "SAID"),
    "abstain": ("abstain", "slm7"),
    "scores": ("scores", "CHEAP"),
    "escalate": ("escalate", "CHEAP", "DEAR", "--max-loss-vs-second", "0.2"),
    "rank": ("rank", "PAIRS"),
    "paper": ("paper", "d3:figure-4", "slm7", "--rule", "fixed:1"),
}


DRAWN_ELSEWHERE = {
    *("fit", "fit of a round", "simulate", "replay", "plan", "rationales", "agreement", "protocols", "bias"),
    *("calibrate", "escalate", "simulate a study", "paper"),
}
"""Commands of which another test draws the figure, here or in tests/plotting."""


def run(*words: str) -> Result:
    return CliRunner().invoke(app, [FILES.get(word, word) for word in words])


FILES: dict[str, str] = {}


@pytest.fixture(scope="module", autouse=True)
def _verdicts(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("tables")
    path = folder / "verdicts.csv"
    rows = [(i, order, "AB"[(i + k) % 3 == 0]) for i in range(30) for k, order in enumerate(("AB", "BA"))]
    pd.DataFrame(rows, columns=["item", "order", "vote"]).to_csv(path, index=False)
    cited_log(np.random.default_rng(1), 12).to_csv(folder / "said.csv", index=False)
    (folder / "court.toml").write_text('name = "courtroom"\n', encoding="utf-8")
    for place, protocol in (("CHEAP", "more"), ("DEAR", "samre")):
        FILES[place] = str(folder / f"{protocol}.jsonl")
        made = ["--synthetic", str(folder / "court.toml"), "--limit", "20", "--protocol", protocol]
        assert CliRunner().invoke(app, ["debate", *made, "-o", FILES[place]]).exit_code == 0
    study = 'rules = ["fixed:1"]\nn_rounds = 4\ndebates = 300\nseeds = 1\n'
    worlds = "".join(f'[[worlds]]\nname = "{name}"\n' for name in ("voter", "conformity"))
    (folder / "study.toml").write_text(study + worlds, encoding="utf-8")
    FILES["STUDY"] = str(folder / "study.toml")
    shown = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("a", "c"), ("c", "a")]
    sides = [(*both, won) for both in shown for won in ("first", "second", "tie", "first")]
    pairs = pd.DataFrame(sides * 4, columns=["first", "second", "winner"]).assign(item=range(96))
    pairs.to_csv(folder / "pairs.csv", index=False)
    FILES["PAIRS"] = str(folder / "pairs.csv")
    FILES.update(VERDICTS=str(path), SAID=str(folder / "said.csv"))


def test_every_command_that_draws_is_tried_here() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    drawing = {name for name, c in commands.items() if any("--figure" in p.opts for p in c.params)}
    assert drawing == {words[0] for words in COMMANDS.values()}


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        # Of these another test draws the same figure, or another form of the command does.
        *(
            pytest.param(name, "", marks=pytest.mark.slow if name in DRAWN_ELSEWHERE else ())
            for name in COMMANDS
        ),
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
        done = run(*COMMANDS[name], "--figure", str(tmp_path / name))
        assert f"figure: {tmp_path / name}.pdf and {tmp_path / name}.png" in done.stderr
        assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    alone, whole = ((tmp_path / f"{name}.png").stat().st_size for name in ("fit of a round", "fit"))
    assert alone < 0.6 * whole


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_place_that_cannot_be_written_is_refused_before_the_work(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in ("out.svg", "file/out"):

        def refused(place: str = place) -> None:
            done = run(*COMMANDS[name], "--figure", str(tmp_path / place))
            assert done.exit_code == 1
            assert "of a figure must" in done.output

        assert idle_seconds(refused, tries=1) < 3


def test_a_log_without_right_answers_is_sent_to_replay_and_plan(tmp_path: Path) -> None:
    path = tmp_path / "nolabel.csv"
    rows = [(f"d{d}", r, f"a{a}", "AB"[(d + a) % 2]) for d in range(4) for r in (1, 2) for a in range(3)]
    pd.DataFrame(rows, columns=["debate", "round", "agent", "vote"]).to_csv(path, index=False)
    done = run("fit", str(path))
    assert done.exit_code == 1
    assert "see replay and plan" in " ".join(done.output.split())
    assert run("replay", str(path)).exit_code == 0


def test_one_protocol_is_drawn_and_shown_with_its_values(tmp_path: Path) -> None:
    done = run("protocols", "samre:jurors=3", "--figure", str(tmp_path / "samre"))
    assert "  jurors = 3\n" in done.stdout
    for words, said in (
        (("protocols",), "--figure draws one protocol; got no name"),
        (("protocols", "samre:jurers=3"), "did you mean 'jurors'?"),
    ):
        refused = run(*words, "--figure", str(tmp_path / "none"))
        assert refused.exit_code == 1
        assert said in " ".join(refused.output.split())
    assert not (tmp_path / "none.png").exists()
