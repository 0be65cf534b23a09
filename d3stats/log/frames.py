"""The three tables of a log in one fixed form, so that every format reads into equal values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = [
    "BY_A_RULE",
    "ITEM_COLUMNS",
    "TABLE_COLUMNS",
    "VERDICT_COLUMNS",
    "frame",
    "seated",
    "stopped_by_rule",
    "turn_columns",
]

TABLE_COLUMNS = (
    "debate",
    "question",
    "cluster",
    "log",
    "protocol",
    "label",
    "answers",
    "first",
    "round",
    "agent",
    "role",
    "vote",
    "correct",
    "scores",
    "tokens",
    "tokens_in",
    "tokens_out",
    "tokens_source",
    "model",
    "error",
    "closed",
    "decision",
    "stop_round",
    "stop_reason",
)
"""Columns of a tidy table, one row per turn; ``answers`` and ``scores`` hold JSON."""

ITEM_COLUMNS = ("debate", "question", "cluster", "label", "answers", "log", "protocol", "first")
VERDICT_COLUMNS = ("debate", "decision", "round", "stop_reason")
_WHOLE = {"tokens", "tokens_in", "tokens_out", "correct"}

BY_A_RULE = frozenset(
    [
        "fixed_rounds",
        "unanimity",
        "ks_stable",
        "ks_equivalent",
        "supermajority",
        "ladder",
        "sprt",
        "e_process",
        "betting",
        "gap_posterior",
        "look_ahead",
        "adaptive_consistency",
        "esc_window",
        "gap_stable",
        "token_budget",
        "tokens_unknown",
        "optimal",
        "sign_agreement",
        "consensus",
        "declaration",
        "score_declaration",
        "chateval_turns",
        "budget",
    ]
)
"""Reasons of debates that would have gone on: a stopping rule, or a run's budget of tokens, ended them."""

_OWN_ENDS = {"declaration": ("multi_persona",), "chateval_turns": ("chateval", "chateval_open")}
"""Reasons that are not a rule's in these protocols, which end by themselves for them."""


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


def stopped_by_rule(debates: pd.DataFrame, depth: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which debates a stopping rule ended although their run would have let them go on.

    A rule that fires in the last round that is allowed cuts nothing off. Which round that is shows in debates of the
    same run that ended for want of rounds; where none did, or runs have no name, a debate is taken as cut.

    Parameters
    ----------
    debates : DataFrame
        One row per debate: ``stop_reason`` and, where they are known, ``protocol`` and ``log``, the name of the run.
    depth : ndarray of int, shape (debates,)
        Rounds played.
    """
    text = debates["stop_reason"].astype(object)
    reason = text.where(text.notna(), "").astype(str).str.strip().to_numpy(dtype=object)
    nothing = pd.Series(index=debates.index, dtype=object)
    protocol = debates.get("protocol", nothing).to_numpy(dtype=object)
    run = debates.get("log", nothing)
    stopped = np.isin(reason, list(BY_A_RULE))
    for own, names in _OWN_ENDS.items():
        stopped &= ~((reason == own) & pd.Series(protocol).isin(names).to_numpy(dtype=np.bool_))
    known = run.notna().to_numpy(dtype=np.bool_)
    table = pd.DataFrame(
        {"run": run.to_numpy(), "protocol": protocol, "depth": depth, "whole": reason == "exhausted"}
    )
    last = table.groupby(["run", "protocol"], dropna=False)["depth"].transform("max").to_numpy()
    table["whole"] &= depth == last
    seen = table.groupby(["run", "protocol"], dropna=False)["whole"].transform("any").to_numpy(dtype=np.bool_)
    return np.asarray(stopped & ~(known & seen & (depth == last)))


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
