"""The three tables of a log in one fixed form, so that every format reads into equal values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.log.arrays import voting_roles
from d3stats.log.column_names import TABLE_COLUMNS
from d3stats.log.columns import ITEM, TURN, VERDICT, Coded, Coding, Part
from d3stats.log.consistency import Checked

__all__ = [
    "ITEM_COLUMNS",
    "TABLE_COLUMNS",
    "VERDICT_COLUMNS",
    "checked_of",
    "frame",
    "seated",
    "turn_columns",
]

ITEM_COLUMNS = ("debate", "question", "cluster", "label", "answers", "log", "protocol", "first")
VERDICT_COLUMNS = ("debate", "decision", "round", "stop_reason")
_WHOLE = {"tokens", "tokens_in", "tokens_out", "correct"}


def turn_columns(coding: str, totals: bool) -> tuple[str, ...]:
    """Return the columns of the turns: votes or correctness, tokens split or as totals."""
    vote = "vote" if coding == "answers" else "correct"
    tokens = ("tokens",) if totals else ("tokens_in", "tokens_out")
    return ("debate", "round", "agent", "role", vote, "scores", *tokens, "tokens_source", "model", "error")


def seated(turns: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which turns are of agents that have a seat: all but those of roles that never vote in the whole log.

    See :func:`d3stats.log.arrays.voting_roles`. Where roles are not recorded, everybody has a seat.
    """
    if "role" not in turns.columns or not len(turns):
        return np.ones(len(turns), dtype=np.bool_)
    voted = turns["vote" if "vote" in turns.columns else "correct"].notna().to_numpy(dtype=np.bool_)
    role = coded(turns["role"])
    return voting_roles(role, voted)[role.codes]


def coded(column: pd.Series) -> Coded:
    """Return a column of texts as codes."""
    codes, values = pd.factorize(column.to_numpy(dtype=object))
    return Coded(codes.astype(np.int32), values.tolist())


def frame(records: pd.DataFrame | Iterable[Mapping[str, Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    """Order columns and rows, and give every column its one dtype.

    Text is object with None where missing; tokens and ``correct`` are Int64; a turn's round is int64, a
    verdict's Int64. Rows are sorted by debate, round and agent, so that order does not depend on the file.
    """
    table = pd.DataFrame(
        records if isinstance(records, pd.DataFrame) else list(records), columns=list(columns)
    )
    by = [name for name in ("debate", "round", "agent") if name in columns and "decision" not in columns]
    by = by or ["debate"]
    result = {}
    for name in columns:
        column = table[name]
        if name in _WHOLE or (name == "round" and "decision" in columns):
            result[name] = pd.array(_integers(column), dtype="Int64")
        elif name == "round":
            result[name] = column.to_numpy(dtype="int64")
        else:
            text = column.astype(object)
            result[name] = text.where(text.notna(), None)
    return pd.DataFrame(result).sort_values(by, ignore_index=True, kind="stable")


def _integers(column: pd.Series) -> Any:
    return column if column.dtype != object else [None if pd.isna(x) else int(x) for x in column]


def checked_of(
    turns: pd.DataFrame,
    items: pd.DataFrame,
    verdicts: pd.DataFrame | None = None,
    *,
    notes: tuple[str, ...] = (),
) -> Checked:
    """Return tables in canonical form, one row per turn, debate and verdict, as columns; scores may be dicts."""
    debates = items["debate"].to_numpy(dtype=object)
    by_correctness = "vote" not in turns.columns
    parts = []
    for table, names in (
        (items, ITEM),
        (turns, (*TURN["coded"], *TURN["numbers"])),
        (pd.DataFrame(columns=list(VERDICT)) if verdicts is None else verdicts, VERDICT),
    ):
        columns: dict[str, Any] = {}
        for name in names:
            if name == "debate":
                codes = pd.Index(debates).get_indexer(pd.Index(table["debate"]))
                columns[name] = Coded(codes.astype(np.int32), debates.tolist())
            elif name not in table.columns:
                continue
            elif name in TURN["numbers"]:
                numbers = pd.to_numeric(table[name]).to_numpy(dtype=np.float64, na_value=np.nan)
                columns[name] = numbers.astype(np.int64) if table is turns and name == "round" else numbers
            else:
                column = table[name]
                if name == "scores":
                    column = pd.Series(
                        [json.dumps(x) if isinstance(x, dict) else None for x in column], dtype=object
                    )
                columns[name] = coded(column)
        parts.append(Part(np.arange(len(table)), columns))
    coding: Coding = "correctness" if by_correctness else "answers"
    return Checked(*parts, notes=notes, coding=coding, totals="tokens" in turns.columns)
