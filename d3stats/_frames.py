"""Tidy tables of one's own for :meth:`d3stats.trajectories.Trajectories.from_frame`: refusals, and canonical form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import whole_numbers
from d3stats.log.consistency import Checked
from d3stats.log.frames import TABLE_COLUMNS, checked_of
from d3stats.values import canonical

_CORRECT = {"0": 0, "false": 0, "1": 1, "true": 1}


def checked_tables(
    turns: pd.DataFrame, items: pd.DataFrame | None, missing_values: Iterable[str] | None = None
) -> Checked:
    """Return one row per turn and, optionally, one row per debate as columns, or say what is wrong with them."""
    _need(turns, "turns", ["debate", "round", "agent"])
    if "vote" not in turns.columns and "correct" not in turns.columns:
        raise ValueError(f"turns must have a column vote or correct; got {list(turns.columns)}")
    if items is not None:
        _need(items, "items", ["debate"])
    notes = _unread(turns, items)
    turns, items, said = _canonical_tables(turns, items, missing_values)
    if turns[["debate", "round", "agent"]].isna().to_numpy().any():
        raise ValueError("turns must name a debate, a round and an agent in every row; got missing values")
    if items["debate"].isna().any():
        raise ValueError("items must name a debate in every row; got missing values")
    names = items["debate"].astype(str).to_numpy(dtype=object)
    index = pd.Index(names)
    if index.has_duplicates:
        raise ValueError(f"items must list each debate once; got {index[index.duplicated()][0]!r} twice")
    row = index.get_indexer(pd.Index(turns["debate"].astype(str)))
    if (row < 0).any():
        raise ValueError(
            f"debate must be listed in items; got {turns['debate'].iloc[int(np.argmax(row < 0))]!r}"
        )
    played = whole_numbers("round", np.asarray(turns["round"]), minimum=1) - 1
    _refuse_duplicates(turns, row, played)
    _refuse_gaps(names, row, played)
    if "vote" not in turns.columns:
        turns = turns.assign(correct=_correct(turns["correct"]))
    kinds = [
        c for c in ("tokens", "tokens_in", "tokens_out") if c in turns.columns and turns[c].notna().any()
    ]
    if "tokens" in kinds and len(kinds) > 1:
        raise ValueError(
            "turns must have the column tokens or the columns tokens_in and tokens_out, so that no token is counted "
            f"twice; got {', '.join(kinds)}: drop one of them"
        )
    if "tokens" not in kinds:
        turns = turns.drop(columns="tokens", errors="ignore")
    return checked_of(turns.assign(round=played + 1), items, notes=(*notes, *said))


def _correct(column: pd.Series) -> NDArray[np.float64]:
    (correct,) = canonical(column).columns
    known = np.array([np.nan if text is None else _CORRECT.get(text.casefold(), 2) for text in correct])
    if (known == 2).any():
        at = int(np.argmax(known == 2))
        raise ValueError(f"correct must be 0, 1 or missing; got {correct[at]} at row {at}")
    return known


def _need(frame: pd.DataFrame, name: str, columns: list[str]) -> None:
    absent = [column for column in columns if column not in frame.columns]
    if absent:
        raise ValueError(f"{name} must have the columns {columns}; got none named {absent}")


def _unread(turns: pd.DataFrame, items: pd.DataFrame | None) -> list[str]:
    """Name the columns that nothing here reads: perhaps one of them was meant as a cluster, or a vote."""
    columns = dict.fromkeys([*turns.columns, *(() if items is None else items.columns)])
    unread = [str(c) for c in columns if c not in TABLE_COLUMNS]
    if "vote" in turns.columns and "correct" in turns.columns:
        unread.append("correct")
    if not unread:
        return []
    listed = ", ".join(unread[:8]) + (f" and {len(unread) - 8} more" if len(unread) > 8 else "")
    return [f"columns that were not read: {listed}"]


_OF_ITEMS = ("label", "question", "cluster", "log")


def _canonical_tables(
    turns: pd.DataFrame, items: pd.DataFrame | None, missing_values: Iterable[str] | None
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Write answers and names in one form, and collect what a table of turns says of each debate."""
    tidy = None if items is None else items["debate"]
    named = canonical(turns["debate"], *([] if tidy is None else [tidy]), missing_values=(), names=True)
    agent = canonical(turns["agent"], missing_values=(), names=True)
    turns = turns.assign(debate=named.columns[0], agent=agent.columns[0])
    notes = [*named.notes("debates"), *agent.notes("agents")]
    if "role" in turns.columns:
        role = canonical(turns["role"], missing_values=missing_values, names=True)
        turns = turns.assign(role=role.columns[0])
        notes += role.notes("roles")
    if items is None:
        columns = [c for c in _OF_ITEMS if c in turns.columns]
        opened = turns[["debate", *columns]].drop_duplicates(ignore_index=True)
    else:
        opened = items.assign(debate=named.columns[1])
    for column in ("question", "cluster", "log"):
        if column in opened.columns:
            name = canonical(opened[column], missing_values=missing_values, names=True)
            opened = opened.assign(**{column: name.columns[0]})
            notes += name.notes(f"{column}s")
    if "vote" in turns.columns:
        keep = {
            str(a) for given in opened.get("answers", ()) if isinstance(given, (tuple, list)) for a in given
        }
        label = opened["label"] if "label" in opened.columns else pd.Series(dtype=object)
        read = canonical(turns["vote"], label, missing_values=missing_values, keep=keep)
        turns = turns.assign(vote=read.columns[0])
        if "label" in opened.columns:
            opened = opened.assign(label=read.columns[1])
        notes += read.notes("votes", "labels")
    return turns, opened if items is not None else _once(opened), notes


def _once(opened: pd.DataFrame) -> pd.DataFrame:
    """Keep one row per debate, refusing a label that changes on the way."""
    grouped = opened.groupby("debate", sort=False)
    columns = [c for c in opened.columns if c != "debate"]
    for column in columns:
        values = grouped[column].nunique()
        if (values > 1).any():
            raise ValueError(
                f"{column} must be one per debate; got {values.max()} in debate {values.idxmax()!r}"
            )
    return grouped[columns].first().reset_index() if columns else opened[["debate"]].drop_duplicates()


def _refuse_duplicates(turns: pd.DataFrame, row: NDArray[np.int64], played: NDArray[np.int64]) -> None:
    # Codes in place of names: a table of numbers is searched faster than one of texts.
    agent = pd.factorize(turns["agent"].astype(str))[0]
    repeated = pd.DataFrame({"row": row, "played": played, "agent": agent}).duplicated().to_numpy()
    if repeated.any():
        turn = turns.iloc[int(np.argmax(repeated))]
        raise ValueError(
            "an agent must speak once per round; "
            f"got debate={turn['debate']!r}, round={turn['round']}, agent={turn['agent']!r} twice"
        )


def _refuse_gaps(names: NDArray[Any], row: NDArray[np.int64], played: NDArray[np.int64]) -> None:
    depth = np.zeros(len(names), dtype=np.int64)
    np.maximum.at(depth, row, played + 1)
    # Pairs that occur, not a table of all: a round number may be as large as it likes.
    pairs = pd.DataFrame({"row": row, "played": played}).drop_duplicates()
    short = np.bincount(pairs["row"], minlength=len(names)) < depth
    if short.any():
        debate = int(np.argmax(short))
        seen = np.sort(pairs["played"][pairs["row"] == debate].to_numpy())
        at = np.flatnonzero(seen != np.arange(len(seen)))
        skipped = int(at[0] if len(at) else len(seen)) + 1
        raise ValueError(
            f"rounds must follow one another; got no round {skipped} in debate {names[debate]!r}"
        )
