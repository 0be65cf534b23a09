"""Tables of ratings, verdicts and runs are read under the field's other names for their columns, and say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from d3stats import compare
from d3stats.inference.bias import as_judgments
from d3stats.inference.ratings import as_ratings
from d3stats.inference.runs import as_run

RATINGS = pd.DataFrame(
    {"item": [1, 1, 2, 2], "rater": list("abab"), "vote": list("ABAA"), "label": list("AAAA")}
)


@pytest.mark.parametrize("item", ["qid", "Question ID", "task_id"])
@pytest.mark.parametrize("rater", ["judge", "annotator", "model"])
@pytest.mark.parametrize("vote", ["answer", "rating", "verdict"])
def test_ratings_runs_and_verdicts_are_read_under_other_names(item: str, rater: str, vote: str) -> None:
    names = {"item": item, "rater": rater, "vote": vote, "label": "gold"}
    ratings = as_ratings(RATINGS.rename(columns=names))
    assert ratings.codes.tolist() == as_ratings(RATINGS).codes.tolist()
    assert any(note.startswith(f"columns: item is {item!r}, rater is {rater!r}") for note in ratings.notes)
    one = RATINGS[RATINGS["rater"] == "a"].drop(columns="rater")
    renamed = one.rename(columns=names)
    assert as_run(renamed).value.tolist() == as_run(one).value.tolist()
    read = as_judgments(renamed)
    assert read.vote.tolist() == as_judgments(one).vote.tolist()
    assert read.notes[0].startswith(f"columns: item is {item!r}")


LOG = pd.DataFrame(
    {
        "debate": np.repeat([f"d{k}" for k in range(6)], 4),
        "round": np.tile([1, 1, 2, 2], 6),
        "agent": np.tile(["x", "y"], 12),
        "vote": list("ABAABBBAAAABBABBABABBBAA"),
        "label": np.repeat(list("ABAABB"), 4),
    }
)
TABLE = pd.DataFrame(
    {
        "item": [1, 1, 2, 2, 3, 3],
        "rater": list("ababab"),
        "vote": list("ABAABB"),
        "label": list("AAAABB"),
        "cluster": list("ppqqqq"),
    }
)

DOORS: dict[str, Callable[..., Any]] = {
    "agreement": lambda s, **how: as_ratings(s, **how).codes.tolist(),
    "runs": lambda s, **how: as_run(s, **how).value.tolist(),
    "comparison": lambda s, **how: (
        compare(s, s, names=["p", "q"], n_boot=20, rng=1, **how).to_frame().to_csv()
    ),
    "bias": lambda s, **how: as_judgments(s, **how).vote.tolist(),
}

NAMES: dict[str, tuple[dict[str, str], bool]] = {
    "other names": ({"debate": "dialogue_id", "round": "turn", "agent": "speaker", "vote": "answer", "label": "gold",
                     "item": "qid", "rater": "annotator", "cluster": "cluster_id"}, False),
    "own names": ({"debate": "wd", "round": "wr", "agent": "wa", "vote": "wv", "label": "wl", "item": "wi",
                   "rater": "wx", "cluster": "wc"}, True),
}  # fmt: skip


def _sources(table: pd.DataFrame, folder: Path) -> dict[str, Any]:
    for end, sep in ((".csv", ","), (".tsv", "\t")):
        table.to_csv(folder / f"t{end}", sep=sep, index=False)
    with duckdb.connect() as con:
        con.register("t", table)
        con.execute(f"COPY t TO '{folder / 't.parquet'}' (FORMAT parquet)")
    frames = {"pandas": table, "polars": pl.DataFrame(table.to_dict("list"))}
    return frames | {end: folder / f"t.{end}" for end in ("csv", "tsv", "parquet")}


@pytest.mark.parametrize("how", NAMES)
@pytest.mark.parametrize("table", ["log", "table"])
@pytest.mark.parametrize("door", DOORS)
def test_every_door_knows_a_column_under_another_name_in_frames_and_in_files(
    door: str, table: str, how: str, tmp_path: Path
) -> None:
    """One source under its standard names says what is expected of it under all others, in memory and on disk."""
    standard = LOG if table == "log" else TABLE
    if (door, table) in (("runs", "table"), ("comparison", "table")):
        standard = standard[standard["rater"] == "a"].drop(columns="rater")
    if (door, table) == ("bias", "table"):
        standard = standard.drop(columns="rater")
    names, chosen = NAMES[how]
    names = {name: own for name, own in names.items() if name in standard}
    expected = DOORS[door](standard)
    for form, source in _sources(standard.rename(columns=names), tmp_path).items():
        assert DOORS[door](source, **({"columns": names} if chosen else {})) == expected, form


@pytest.mark.parametrize("door", DOORS)
def test_a_choice_of_a_column_that_is_not_there_names_the_nearest(door: str, tmp_path: Path) -> None:
    own = TABLE.rename(columns={"item": "my_key"})
    for form, source in _sources(own, tmp_path).items():
        with pytest.raises(ValueError, match=r"got 'mykay'; did you mean 'my_key'\?"):
            DOORS[door](source, columns={"item": "mykay"})
        with pytest.raises(ValueError, match=r"columns must choose among .*got 'itme'"):
            DOORS[door](source, columns={"item": "my_key", "itme": "vote"})
        assert form


def test_a_chosen_column_goes_before_one_of_that_name_and_several_make_one_name() -> None:
    hidden = TABLE.assign(mine=TABLE["item"] + 10, item="never read")
    assert as_ratings(hidden, columns={"item": "mine"}).items == ("11", "12", "13")
    pairs = TABLE.assign(run=["r", "r", "r", "r", "s", "s"])
    read = as_ratings(pairs, columns={"item": ["run", "item"]})
    assert read.items == ("r / 1", "r / 2", "s / 3")
    assert read.codes.tolist() == as_ratings(TABLE).codes.tolist()


def test_rounds_of_a_question_are_never_averaged_as_if_they_were_tries(tmp_path: Path) -> None:
    """A question, rounds and agents are a log: a run takes its last round, in a frame and in a file."""
    own = LOG.rename(columns={"debate": "qid", "vote": "answer", "label": "gold"})
    expected = as_run(LOG).value.tolist()
    for form, source in _sources(own, tmp_path).items():
        assert as_run(source).value.tolist() == expected, form


def test_a_column_that_stands_twice_and_a_second_sheet_are_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("item,correct,correct\n1,1,0\n2,0,1\n")
    with pytest.raises(ValueError, match=r"run\.csv must name each column once; got 'correct' twice"):
        as_run(path)
    with pd.ExcelWriter(tmp_path / "run.xlsx") as book:
        pd.DataFrame({"item": [1, 2], "correct": [1, 0]}).to_excel(book, sheet_name="runs", index=False)
        pd.DataFrame({"item": [1, 2], "correct": [0, 0]}).to_excel(book, sheet_name="others", index=False)
    assert any("others" in note for note in as_run(tmp_path / "run.xlsx").notes)


@pytest.mark.parametrize("judge", ["Model", "annotator", "judge_id"])
def test_judges_under_another_name_are_never_pooled(judge: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"item": [1, 1, 2, 2], "judge": list("xyxy"), "vote": list("ABBA")})
    for form, source in _sources(table.rename(columns={"judge": judge}), tmp_path).items():
        read = as_judgments(source)
        assert read.judges == ("x", "y"), form
        assert any(f"judge is {judge!r}" in note for note in read.notes)
