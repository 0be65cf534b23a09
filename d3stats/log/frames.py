"""The three tables of a log in one fixed form, so that every format reads into equal values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.log.column_names import TABLE_COLUMNS

__all__ = ["ITEM_COLUMNS", "TABLE_COLUMNS", "VERDICT_COLUMNS", "frame", "seated", "turn_columns"]

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

    Advocates, aggregators, summarizers and a judge beside a jury speak and are paid for, but have no vote that could
    be missing. Where nobody votes at all, or roles are not recorded, everybody has a seat.
    """
    everybody = np.ones(len(turns), dtype=np.bool_)
    if "role" not in turns.columns:
        return everybody
    vote = turns["vote" if "vote" in turns.columns else "correct"].notna()
    role = turns["role"]
    has_seat: NDArray[np.bool_] = (role.isna() | role.isin(role[vote].unique())).to_numpy(dtype=np.bool_)
    return has_seat if has_seat.any() else everybody


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
