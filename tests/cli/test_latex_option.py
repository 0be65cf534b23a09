"""``--latex``: the table that is printed, with every cell of it; never together with ``--json``."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from d3stats.cli import app
from d3stats.cli.example import example_table

pytestmark = pytest.mark.usefixtures("computed_once")


COMMANDS = get_command(app).commands  # type: ignore[attr-defined]
WITH_LATEX = sorted(name for name, c in COMMANDS.items() if any("--latex" in p.opts for p in c.params))

STUDY = """
rules = ["fixed:2"]
n_rounds = 3
debates = 100
seeds = 1
batch = 100
[[worlds]]
name = "voter"
panel = 3
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("latex")
    example_table().to_csv(made / "turns.csv", index=False)
    (made / "study.toml").write_text(STUDY)
    return made


@pytest.mark.parametrize(
    ("words", "cells"),
    [
        ("fit turns.csv --n-boot 5", ("missing votes", "verdicts right")),
        ("fit turns.csv --n-boot 5 --round 2", ("functional", "spread")),
        ("replay turns.csv --paired", ("\\% stopped in round 1/2/3", "against")),
        ("plan turns.csv --no-limit", ("unanimity", "P(loss\\textless{}=1)")),
        ("simulate study.toml", ("fixed:2", "saved")),
    ],
)
def test_the_printed_table_is_written_as_latex(words: str, cells: tuple[str, ...], folder: Path) -> None:
    command = [
        str(folder / word) if "." in word and (folder / word).exists() else word for word in words.split()
    ]
    done = CliRunner().invoke(app, [*command, "--latex"])
    assert done.exit_code == 0, done.output
    assert done.stdout.count("\\begin{tabular}") == done.stdout.count("\\bottomrule") > 0
    for cell in cells:
        assert cell in done.stdout
    assert not [
        line for line in done.stdout.splitlines() if line[:1] not in ("%", "\\") and not line.endswith("\\\\")
    ]


@pytest.mark.parametrize("name", WITH_LATEX)
def test_two_formats_at_once_are_refused_before_the_work(name: str, folder: Path) -> None:
    required = {
        "bias": ["x.csv"],
        "compare": ["slm7", "slm7"],
        "escalate": ["a", "b"],
        "simulate": ["x.toml"],
        "paper": ["d3:table-1", "slm7"],
    }
    words = required.get(name, [] if name in ("power", "theorems") else ["slm7"])
    done = CliRunner().invoke(app, [name, *words, "--json", "--latex"])
    assert done.exit_code == 1
    assert "one of --json and --latex" in done.stderr or "one of --json, --latex and --csv" in done.stderr


def test_the_analyses_and_plans_have_it() -> None:
    assert {
        "fit",
        "replay",
        "plan",
        "compare",
        "simulate",
        "agreement",
        "bias",
        "power",
        "rationales",
        "scores",
        "abstain",
        "correct",
    } <= set(WITH_LATEX)
