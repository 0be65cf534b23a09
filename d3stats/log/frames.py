"""A log in memory: three tables in one canonical form, made of columns and made into columns again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.log.arrays import voting_roles
from d3stats.log.columns import ITEM, TEXTS, TURN, VERDICT, Coded, Coding, Part
from d3stats.log.consistency import Checked
from d3stats.log.lines import ENCODER, SCORES
from d3stats.log.problems import Problem

__all__ = ["DebateLog", "as_log", "checked_of", "coded", "in_order", "log_of", "seated", "tables_of"]


_DECIMAL = ("temperature", "confidence")
"""Numbers of turns that are not whole."""


@dataclass(frozen=True, eq=False, repr=False)
class DebateLog:
    r"""A log in memory: three tables, sorted by debate, round and agent, for any order in the files.

    Two logs are equal when their tables and coding are; where they were read from does not matter.

    Attributes
    ----------
    items : DataFrame
        One row per debate: ``debate, question, cluster, label, answers, log, protocol, first, category``;
        ``answers`` is a tuple of str or None, the others are str or None. A log that was read with its texts may also
        have ``text`` and ``candidates``, a tuple of str or None.
    turns : DataFrame
        One row per turn: ``debate, round, agent, role, vote, scores, tokens_in, tokens_out, tokens_source,
        model, error, persona, temperature``. A vote is None when there was none to be read; scores are a dict (side,
        criterion, raw points) or None; tokens are Int64, temperatures Float64. With ``coding="correctness"`` there is
        ``correct`` (Int64: 0, 1, missing) in place of ``vote``. A table that recorded only total tokens has ``tokens``
        in place of ``tokens_in, tokens_out``; where cached prompt tokens were recorded there is ``tokens_cached``, and
        where votes were given with a confidence there is ``confidence`` (Float64, from 0 to 1). A log that was read
        with its texts also has ``text``, where there are some.
    verdicts : DataFrame
        One row per closed debate: ``debate, decision, round, stop_reason``.
    problems : tuple of Problem
        What is wrong, in reading order; empty when the log was read strictly.
    coding : {"answers", "correctness"}
        Whether agents' votes are answers or only right or wrong.
    notes : tuple of str
        What the reader did that is no defect, such as shifting rounds that count from 0, taking words as missing
        and spellings as one.
    n_records : int
        Lines and table rows read, left out or not (a JSON Lines header is a record, a CSV header is not).
    files : tuple of Path
        The files that were read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from d3stats.log import read_log
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "debates.csv"
    >>> _ = path.write_text("debate,round,agent,vote,label\nd,1,a,A,A\nd,one,b,B,A\n")
    >>> log = read_log(path, strict=False)
    >>> log.items[["debate", "label"]].values.tolist(), len(log.turns), len(log.verdicts)
    ([['d', 'A']], 1, 0)
    >>> log.n_records, log.n_left_out, log.problems[0].field
    (2, 1, 'round')
    >>> len(log.to_checked().items)
    1
    """

    items: pd.DataFrame
    turns: pd.DataFrame
    verdicts: pd.DataFrame
    problems: tuple[Problem, ...] = ()
    coding: Literal["answers", "correctness"] = "answers"
    notes: tuple[str, ...] = field(default=(), compare=False)
    n_records: int = field(default=0, compare=False)
    files: tuple[Path, ...] = field(default=(), compare=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DebateLog):
            return NotImplemented
        return self.coding == other.coding and all(
            getattr(self, name).equals(getattr(other, name)) for name in ("items", "turns", "verdicts")
        )

    __hash__ = None  # type: ignore[assignment]  # frames have no hash

    def __repr__(self) -> str:
        return (
            f"DebateLog({len(self.items)} debates, {len(self.turns)} turns, {len(self.verdicts)} verdicts, "
            f"coding={self.coding!r}, {len(self.problems)} problems)"
        )

    def to_checked(self) -> Checked:
        """Return the tables as columns."""
        return checked_of(self.turns, self.items, self.verdicts, notes=self.notes)

    @property
    def n_left_out(self) -> int:
        """The number of records that were left out; the others, ``n_records - n_left_out``, are in the tables."""
        return sum(problem.left_out == "record" for problem in self.problems)


def log_of(checked: Checked, *, parsed: bool = True) -> DebateLog:
    """Return what remains of a log as tables, without `parsed` with scores as JSON."""
    return as_log(in_order(checked), parsed=parsed)


def as_log(checked: Checked, *, parsed: bool = True) -> DebateLog:
    items, turns, verdicts = tables_of(checked, parsed=parsed)
    return DebateLog(
        items, turns, verdicts, checked.problems, checked.coding, checked.notes, checked.n_records
    )


def seated(turns: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which turns are of agents that have a seat: all but those of roles that never vote in the whole log.

    See :func:`d3stats.log.arrays.voting_roles`. If roles are not recorded, every agent has a seat.
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


def in_order(checked: Checked) -> Checked:
    """Return a log sorted by debate, round and agent, so that its order does not depend on the file."""
    turns, agent, debate = checked.turns, checked.turns.coded("agent"), checked.items.coded("debate")
    place, names = _rank(debate.values), sorted(debate.values)

    def moved(part: Part, order: NDArray[Any]) -> Part:
        return part[order].replaced(debate=Coded(place[part.coded("debate").codes[order]], names))

    def by_debate(part: Part) -> Part:
        return moved(part, np.argsort(place[part.coded("debate").codes], kind="stable"))

    order = np.lexsort(
        (_rank(agent.values)[agent.codes], turns.numbers("round"), place[turns.coded("debate").codes])
    )
    return replace(
        checked,
        items=by_debate(checked.items),
        turns=moved(turns, order),
        verdicts=by_debate(checked.verdicts),
    )


def tables_of(checked: Checked, *, parsed: bool = True) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return items, turns and verdicts of a log that is :func:`in_order`.

    Text is object with None where missing; tokens and ``correct`` are Int64; a turn's round is int64, a verdict's
    Int64. Scores are dicts, or without `parsed` their JSON texts, which take far less time and memory.
    """
    vote = "vote" if checked.coding == "answers" else "correct"
    tokens = ("tokens",) if checked.totals else ("tokens_in", "tokens_out")
    if not np.isnan(checked.turns.numbers("tokens_cached")).all():
        tokens = (*tokens, "tokens_cached")
    said = ("debate", "round", "agent", "role", vote, "scores", *tokens, "tokens_source", "model", "error")
    said += ("persona", "temperature")
    if not np.isnan(checked.turns.numbers("confidence")).all():
        said += ("confidence",)
    said += tuple(name for name in TEXTS["turns"] if name in checked.turns.columns)
    asked = (*ITEM, *(name for name in TEXTS["items"] if name in checked.items.columns))
    return (
        _table(checked.items, asked),
        _table(checked.turns, said, parsed),
        _table(checked.verdicts, VERDICT),
    )


def _rank(names: list[str]) -> NDArray[np.int32]:
    rank = np.zeros(len(names) + 1, dtype=np.int32)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return rank


def _table(part: Part, names: tuple[str, ...], parsed: bool = True) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for name in names:
        if name == "round" and "agent" in names:
            columns[name] = part.numbers(name).astype(np.int64)
        elif name == "round" or name in TURN["numbers"]:
            given = part.numbers(name)
            absent = np.isnan(given)
            if name in _DECIMAL:
                columns[name] = pd.array(pd.arrays.FloatingArray(np.where(absent, 0.0, given), absent))
                continue
            whole = np.where(absent, 0, given).astype(np.int64)
            columns[name] = pd.array(pd.arrays.IntegerArray(whole, absent))
        else:
            values = part.coded(name).to_array()
            if name == "scores" and parsed:
                values[:] = [None if x is None else SCORES.decode(x) for x in values]
            columns[name] = pd.Series(values, dtype=object)
    return pd.DataFrame(columns, columns=list(names))


def _scores_text(scores: Any) -> str | None:
    """Return scores as JSON."""
    if not isinstance(scores, dict):
        return scores if isinstance(scores, str) else None
    try:
        text = ENCODER.encode(scores).decode()
    except (TypeError, ValueError, OverflowError):
        return json.dumps(scores)
    # What is not finite was written as null.
    return json.dumps(scores) if "null" in text else text


def checked_of(
    turns: pd.DataFrame,
    items: pd.DataFrame,
    verdicts: pd.DataFrame | None = None,
    *,
    notes: tuple[str, ...] = (),
) -> Checked:
    """Return tables in canonical form, one row per turn, debate and verdict, as columns; scores are dicts or JSON."""
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
                    column = pd.Series([_scores_text(x) for x in column], dtype=object)
                columns[name] = coded(column)
        parts.append(Part(np.arange(len(table)), columns))
    coding: Coding = "correctness" if by_correctness else "answers"
    opened, said, closed = parts
    return Checked(opened, said, closed, notes=notes, coding=coding, totals="tokens" in turns.columns)
