"""The three tables of a log in one fixed form, so that every format reads into equal values."""

from __future__ import annotations

import json
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
    "seated",
    "tables_of",
    "turn_columns",
]

ITEM_COLUMNS = ("debate", "question", "cluster", "label", "answers", "log", "protocol", "first")
VERDICT_COLUMNS = ("debate", "decision", "round", "stop_reason")


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


def tables_of(checked: Checked) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return items, turns and verdicts, sorted by debate, round and agent so that order does not depend on the file.

    Text is object with None where missing; tokens and ``correct`` are Int64; a turn's round is int64, a verdict's
    Int64.
    """
    turns, agent = checked.turns, checked.turns.coded("agent")
    place = _rank(checked.items.coded("debate").values)

    def by_debate(part: Part) -> NDArray[Any]:
        return np.argsort(place[part.coded("debate").codes], kind="stable")

    order = np.lexsort(
        (_rank(agent.values)[agent.codes], turns.numbers("round"), place[turns.coded("debate").codes])
    )
    return (
        _table(checked.items[by_debate(checked.items)], ITEM_COLUMNS),
        _table(turns[order], turn_columns(checked.coding, checked.totals)),
        _table(checked.verdicts[by_debate(checked.verdicts)], VERDICT_COLUMNS),
    )


def _rank(names: list[str]) -> NDArray[np.int64]:
    rank = np.zeros(len(names) + 1, dtype=np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return rank


def _table(part: Part, names: tuple[str, ...]) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for name in names:
        if name == "round" and "agent" in names:
            columns[name] = part.numbers(name).astype(np.int64)
        elif name == "round" or name in TURN["numbers"]:
            given = part.numbers(name)
            absent = np.isnan(given)
            whole = np.where(absent, 0, given).astype(np.int64)
            columns[name] = pd.array(pd.arrays.IntegerArray(whole, absent))
        else:
            values = part.coded(name).to_array()
            if name == "scores":
                values[:] = [None if x is None else json.loads(x, parse_int=float) for x in values]
            columns[name] = pd.Series(values, dtype=object)
    return pd.DataFrame(columns, columns=list(names))


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
    parts: list[Part] = []
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
    opened, said, closed = parts
    return Checked(opened, said, closed, notes=notes, coding=coding, totals="tokens" in turns.columns)
