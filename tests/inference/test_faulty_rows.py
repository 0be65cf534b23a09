"""A refused row is named as its reader finds it: file and line, or its number counted from 1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from layers import covering

from d3stats.inference import agreement, length_bias
from d3stats.inference.bias import as_judgments
from d3stats.sources.runs import as_run

VERDICTS = {"item": "qrst", "judge": "JKJK", "vote": "AABA", "length_a": "5678", "length_b": "8765"}
RATINGS = {"item": "qqrr", "rater": "xyxy", "vote": "ABAB"}
RUN = {"item": "qrst", "correct": [1.0, 0.0, 1.0, 0.0]}
SCORES = {"item": "qrst", "score": [1.0, 2.0, 3.0, 4.0]}


def judged(source: Any) -> Any:
    return as_judgments(source, votes="answer")


def one_judge(source: Any) -> Any:
    return length_bias(source, judge="K", use_label=False)


def rated(source: Any) -> Any:
    return agreement(source, categories=["A", "B"])


CASES = [
    (judged, VERDICTS, "vote", "Z"),
    (judged, VERDICTS, "item", ""),
    (one_judge, VERDICTS, "length_a", "-6"),
    (rated, RATINGS, "vote", "Z"),
    (rated, RATINGS, "rater", ""),
    (as_run, RUN, "correct", 7.0),
    (as_run, SCORES, "score", float("inf")),
    (as_run, RUN, "item", ""),
]


@pytest.mark.parametrize(("read", "columns", "name", "bad"), CASES)
@covering(row=[1, 3], kind=["csv", "tsv", "parquet", "frame"])
def test_a_faulty_row_is_named_by_file_and_line_or_counted_from_one(
    tmp_path: Path,
    read: Callable[[Any], Any],
    columns: dict[str, str],
    name: str,
    bad: str,
    row: int,
    kind: str,
) -> None:
    table = pd.DataFrame({column: list(cells) for column, cells in columns.items()})
    table.loc[row, name] = bad or None
    source: Any = table
    where = rf"at row {row + 1} \(counted from 1\)"
    if kind != "frame":
        source = tmp_path / f"table.{kind}"
        if kind == "parquet":
            import duckdb

            duckdb.from_df(table).to_parquet(str(source))
            where = rf"in \S*table\.parquet, row {row + 1}"
        else:
            lines = table.to_csv(index=False, sep="\t" if kind == "tsv" else ",").splitlines()
            # A blank line: the number of the row and that of its line are not one more and two more.
            source.write_text("\n".join([*lines[:2], "", *lines[2:]]) + "\n")
            where = rf"in \S*table\.{kind}, line {row + 3}"
    with pytest.raises((TypeError, ValueError), match=where):
        read(source)


def test_rows_of_a_frame_are_counted_whatever_its_index() -> None:
    table = pd.DataFrame({c: list(cells) for c, cells in RATINGS.items()}, index=[7, 7, 9, 2])
    table.iloc[2, 2] = "Z"
    with pytest.raises(ValueError, match=r"got 'Z' at row 3 \(counted from 1\), rater 'x'"):
        rated(table)
    wide = pd.DataFrame({"x": ["A", "Z"], "y": ["B", "B"]}, index=["q", "r"])
    with pytest.raises(ValueError, match=r"got 'Z' at row 2 \(counted from 1\), rater 'x'"):
        rated(wide)


def test_a_faulty_vote_of_a_log_is_named_by_its_debate() -> None:
    log = pd.DataFrame({"debate": list("ddee"), "round": 1, "agent": list("xyxy"), "vote": list("ABAC")})
    with pytest.raises(ValueError, match="got 'C' in debate 'e', rater 'y'"):
        rated(log.assign(label="A"))
