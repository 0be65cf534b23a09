"""Read debate logs of any format into three tables, with nothing lost silently."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from d3stats.log.column_names import Columns
from d3stats.log.columns import Coding, Part, Records, joined
from d3stats.log.consistency import Checked, check
from d3stats.log.files import LogFile, find_files
from d3stats.log.frames import checked_of, tables_of
from d3stats.log.problems import KINDS, LogError, Problem
from d3stats.log.reader import read_lines
from d3stats.log.tables import read_table
from d3stats.values import missing_words

__all__ = ["KINDS", "DebateLog", "LogError", "Problem", "gather", "read_checked", "read_log"]


@dataclass(frozen=True, eq=False, repr=False)
class DebateLog:
    """A log in memory: three tables, sorted by debate, round and agent, whatever the order in the files.

    Two logs are equal when their tables and coding are; where they were read from does not matter.

    Attributes
    ----------
    items : DataFrame
        One row per debate: ``debate, question, cluster, label, answers, log, protocol, first``; ``answers`` is a
        tuple of str or None, the others are str or None.
    turns : DataFrame
        One row per turn: ``debate, round, agent, role, vote, scores, tokens_in, tokens_out, tokens_source,
        model, error``. A vote is None when there was none to be read; scores are a dict (side, criterion, raw
        points) or None; tokens are Int64. With ``coding="correctness"`` there is ``correct`` (Int64: 0, 1,
        missing) in place of ``vote``. A table that recorded only total tokens has ``tokens`` in place of
        ``tokens_in, tokens_out``.
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
    """

    items: pd.DataFrame
    turns: pd.DataFrame
    verdicts: pd.DataFrame
    problems: tuple[Problem, ...] = ()
    coding: Literal["answers", "correctness"] = "answers"
    notes: tuple[str, ...] = field(default=(), compare=False)
    n_records: int = field(default=0, compare=False)

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
        """How many records were left out; the others, ``n_records - n_left_out``, are in the tables."""
        return sum(problem.left_out == "record" for problem in self.problems)


def read_log(
    *paths: str | Path,
    strict: bool = True,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
) -> DebateLog:
    r"""Read files and globs into one log.

    The format is known by the name. ``.jsonl`` and ``.ndjson`` hold records as
    :class:`d3stats.log.writer.LogWriter` writes them, or rows of a table, one object a line without ``type``.
    ``.csv``, ``.tsv`` (all these also with ``.gz``), ``.xlsx`` and ``.parquet`` hold a table. Its cells are separated
    by commas, semicolons, tabs or bars, and a row is a turn: ``debate, round, agent`` and ``vote, label`` or
    ``correct``, and optionally ``question, cluster, log, protocol, answers`` (JSON), ``first``, ``role, scores``
    (JSON), ``tokens`` or ``tokens_in, tokens_out``, ``tokens_source, model, error``, and ``closed, decision,
    stop_round, stop_reason``. A wide table has a column of votes per agent, per round, or per both. The field's other
    names for these columns are known (:data:`d3stats.log.column_names.ALIASES`), in any case; `columns` names others.
    A row without round and agent is a debate without turns. A debate's question is the debate itself when it is not
    given. Rounds of a table in which a round 0 occurs are shifted by one, all rows of that file, and those of
    other tables that hold the same debates. What was taken for
    what, and which columns were not read, is in ``notes``.

    Votes, labels, declared answers, decisions and names are brought to one written form, see :mod:`d3stats.values`:
    an answer ``6.0`` is ``6``; an empty cell and words such as ``NA`` are missing, unless the debates' declared
    answers hold the word. What was done is in ``notes``.

    The same debate may be opened in several files if its items are alike. Texts and candidates are not read; see
    :func:`d3stats.log.reader.iter_records`.

    Parameters
    ----------
    *paths : path or glob
        Each file is read once, however often it is named.
    strict : bool
        Raise on the first defect in reading order, or leave out what is defective and list it in ``problems``;
        :data:`d3stats.log.problems.KINDS` says for each kind of defect what is left out.
    missing_values : iterable of str, optional
        The words that mean missing, in any case, in place of :data:`d3stats.values.MISSING_WORDS`; ``()`` keeps
        every word as an answer.
    columns : mapping, optional
        Which column of a table says what, where the names do not say it: ``{"debate": "qid"}``; several columns that
        make a name together, ``{"debate": ["run", "qid"]}``, or hold one agent's votes each,
        ``{"votes": ["gpt", "claude"]}``.
    encoding : str, optional
        Of tables as text; UTF-8, and UTF-16 with its mark, need none.

    Raises
    ------
    LogError
        With `strict`, names file, line, field, the requirement and what was got.
    FileNotFoundError
        When a path does not exist or a glob matches nothing.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "debates.csv"
    >>> _ = path.write_text("debate,round,agent,vote,label\nd,1,a,A,A\nd,1,b,,A\n")
    >>> read_log(path).turns[["debate", "round", "agent", "vote"]]
      debate  round agent  vote
    0      d      1     a     A
    1      d      1     b  None
    """
    checked = read_checked(
        paths, strict=strict, missing_values=missing_values, columns=columns, encoding=encoding
    )
    items, turns, verdicts = tables_of(checked)
    return DebateLog(
        items, turns, verdicts, checked.problems, checked.coding, checked.notes, checked.n_records
    )


def read_checked(
    paths: Iterable[str | Path],
    *,
    strict: bool = True,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
) -> Checked:
    """Read a log into columns, see :func:`read_log`."""
    words = missing_words(missing_values)
    checked = check(gather(find_files(paths), columns, encoding), words)
    return checked.strictly() if strict else checked


def gather(files: Sequence[LogFile], columns: Columns = None, encoding: str | None = None) -> Records:
    """Read every record of `files`; defects of a single record or file are listed, not raised."""
    return together(files, [read_file(file, columns, encoding) for file in files])


def read_file(file: LogFile, columns: Columns = None, encoding: str | None = None) -> Records:
    """Read every record of a file of any format."""
    if file.format == "jsonl":
        return read_lines(file, columns=columns)
    return read_table(file, columns=columns, encoding=encoding)


def together(files: Sequence[LogFile], parts: Sequence[Records]) -> Records:
    """Put what several files say together; those that record something else than the others are passed over."""
    parts = _counted_alike(parts)
    tables = [part for part in parts if part.n_rows]
    by_lines = any(
        file.format == "jsonl" and part.n_rows and not part.totals and part.coding == "answers"
        for file, part in zip(files, parts, strict=True)
    )
    coding: Coding = "answers" if by_lines or not tables else tables[0].coding
    totals = not by_lines and any(part.totals for part in tables)
    kept = [part if _is_alike(part, coding, totals) else _passed_over(part, coding, totals) for part in parts]
    return replace(joined(kept), coding=coding, totals=totals)


def _counted_alike(parts: Sequence[Records]) -> list[Records]:
    """Shift the rounds of tables that hold debates of a table whose rounds count from 0."""
    zero = {debate for part in parts if part.from_zero for debate in _debates(part)}
    return [
        _one_later(part) if part.from_zero is False and not zero.isdisjoint(_debates(part)) else part
        for part in parts
    ]


def _debates(part: Records) -> set[str]:
    debate = part.turns.coded("debate")
    return {debate.values[code] for code in np.unique(debate.codes)}


def _one_later(part: Records) -> Records:
    def moved(each: Part) -> Part:
        return Part(each.row, {k: c + 1 if k == "round" else c for k, c in each.columns.items()})

    note = (
        f"{part.files[0]}: rounds were shifted by one, as those of another file, which holds the same debates and "
        "counts from 0"
    )
    return replace(part, turns=moved(part.turns), verdicts=moved(part.verdicts), notes=[*part.notes, note])


_TOKENS = ("tokens", "tokens_in", "tokens_out")


def _is_alike(part: Records, coding: Coding, totals: bool) -> bool:
    if not part.n_rows:
        return True
    counted = any(name in part.turns.columns for name in _TOKENS)
    return part.coding == coding and (part.totals == totals or not counted)


def _passed_over(part: Records, coding: Coding, totals: bool) -> Records:
    message = (
        f"all files must record {coding} and {'total' if totals else 'split'} tokens alike; "
        f"got a table with {'vote' if part.coding == 'answers' else 'correct'}{', tokens' if part.totals else ''}"
    )
    (file,) = part.files
    problems = [
        Problem(file, None, None, message, "mixed coding", (), "nothing"),
        *(Problem(file, line, None, message, "mixed coding") for line in part.line.tolist()),
    ]
    none = np.zeros(0, dtype=np.int64)
    items, turns, verdicts = (Part(none, {}) for _ in range(3))
    return Records(
        part.files,
        none,
        none,
        items,
        turns,
        verdicts,
        [*part.problems, *problems],
        part.notes,
        part.n_records,
    )
