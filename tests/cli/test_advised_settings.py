"""A setting that names what is not there is refused with its name, what it must be, what it is, and a next step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import d3stats
from d3stats.cli import app


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    label = rng.choice(["A", "B"], 40)
    votes = {name: rng.choice(["A", "B"], 40) for name in "suv"}
    pd.DataFrame({"item": range(40), **votes, "label": label}).to_csv("wide.csv", index=False)
    some = np.where(np.arange(40) < 20, label, None)
    pd.DataFrame({"item": range(40), "judge": votes["s"], "label": some}).to_csv("judged.csv", index=False)
    return tmp_path


REFUSED = {
    "correct judged.csv --judge nope": ("judge must be one of 'judge'", "got 'nope'", "name one of them with"),
    "correct wide.csv --judge judge": ("judge must be one of 's', 'u', 'v'", "got 'judge'", "--judge s"),
    "correct judged.csv --columns judge=judge": ("must have item, rater and vote", "none named vote", "vote=COLUMN"),
    "correct judged.csv --chance nope": ("chance must be a column", "got 'nope'", "item, judge, label"),
    "panel wide.csv --price s": ("--price must be JUDGE=PRICE", "got 's'", "write it as --price"),
    "panel wide.csv --price s=two": ("--price must be JUDGE=PRICE", "got 's=two'", "write it as --price"),
    "panel wide.csv --price q=1": ("prices must be of judges", "got 'q'", "name one of 's', 'u', 'v'"),
    "panel wide.csv --price s=1": ("prices must have every judge", "none for 'u', 'v'", "leave all out"),
    "paper d3:table-1 gemma-votes --strata nope": ("strata must be a column", "got 'nope'", "category, round"),
    "agreement gemma-votes --strata nope": ("strata must be a column", "got 'nope'", "category, round"),
    "show gemma-votes --scorer one": ("scorer must be left out", "got 'one'", "no logs of Inspect"),
    "show gemma-votes --sheet one": ("sheet must be left out", "got 'one'", "no workbook"),
}  # fmt: skip


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("words", REFUSED)
def test_what_is_not_there_is_refused_with_a_next_step(words: str) -> None:
    done = CliRunner().invoke(app, words.split(), env={"COLUMNS": "400"})
    assert done.exit_code == 1, done.output
    for part in REFUSED[words]:
        assert part in done.stderr, done.stderr


@pytest.mark.parametrize(
    "name", ["rank", "agreement", "panel", "correct", "bias", "fit", "replay", "rationales"]
)
def test_a_mapping_that_is_no_source_is_refused_with_a_next_step(name: str) -> None:
    columns = {"item": [1], "first": ["x"], "second": ["y"], "winner": ["x"]}
    with pytest.raises(
        TypeError, match=r"must have votes.*got 'item', 'first'.*make columns a table with pandas"
    ):
        getattr(d3stats, name)(columns)
