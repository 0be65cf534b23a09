"""Read debate logs of any format into three tables, with nothing lost silently."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from d3stats.log.engine import connect
from d3stats.log.files import LogFile, find_files
from d3stats.log.frames import ITEM_COLUMNS, VERDICT_COLUMNS, frame, turn_columns
from d3stats.log.problems import KINDS, LogError, Problem
from d3stats.log.scan import are_small, check_exactly, surely_clean
from d3stats.values import missing_words

if TYPE_CHECKING:
    import duckdb

    from d3stats.log.lines import Clean

__all__ = ["KINDS", "DebateLog", "LogError", "Problem", "read_log"]


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

    @property
    def n_left_out(self) -> int:
        """How many records were left out; the others, ``n_records - n_left_out``, are in the tables."""
        return sum(problem.left_out == "record" for problem in self.problems)


def read_log(
    *paths: str | Path,
    strict: bool = True,
    missing_values: Iterable[str] | None = None,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
) -> DebateLog:
    r"""Read files and globs into one log.

    The format is known by the name: ``.jsonl`` and ``.ndjson`` (also with ``.gz``) hold records as
    :class:`d3stats.log.write.LogWriter` writes them; ``.csv`` (also with ``.gz``) and ``.parquet`` hold one row
    per turn with the columns ``debate, round, agent`` and ``vote, label`` or ``correct``, and optionally
    ``question, cluster, log, protocol, answers`` (JSON), ``first``, ``role, scores`` (JSON), ``tokens`` or
    ``tokens_in, tokens_out``, ``tokens_source, model, error``, and ``closed, decision, stop_round,
    stop_reason``. A row without round and agent is a debate without turns. A debate's
    question is the debate itself when it is not given. Rounds of a table in which a round 0 occurs are shifted
    by one, all rows of that file; this is noted, not a problem.

    Votes, labels, declared answers, decisions and names are brought to one written form, see :mod:`d3stats.values`:
    an answer ``6.0`` is ``6``; an empty cell and words such as ``NA`` are missing, unless the debates' declared
    answers hold the word. What was done is in ``notes``.

    The same debate may be opened in several files if its items are alike. Texts and candidates are not read; see
    :func:`d3stats.log.records.iter_records`.

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
    columns : mapping of str to str, optional
        Own names of a table's columns by their standard names: ``{"debate": "qid"}``.
    encoding : str, optional
        Of text files; UTF-8 by default.

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
    refuse_other_names(columns, encoding)
    files = find_files(paths)
    words = missing_words(missing_values)
    log = None if are_small(files) else _read_fast(files, words)
    return _read_exactly(files, words, strict=strict) if log is None else log


def refuse_other_names(columns: Mapping[str, str] | None, encoding: str | None) -> None:
    """Refuse own names of columns, and encodings, of files that are read under the standard ones."""
    if columns:
        raise ValueError(
            f"columns must be left out for files of debates, whose columns have their standard names; got "
            f"{dict(columns)} (rename them, or read the table with pandas and give columns with the DataFrame)"
        )
    if encoding is not None and encoding.lower().replace("-", "").replace("_", "") != "utf8":
        raise ValueError(
            f"encoding must be UTF-8 for files of debates; got {encoding!r} (save the file as UTF-8)"
        )


def _read_fast(files: Sequence[LogFile], words: Iterable[str] | None = None) -> DebateLog | None:
    with connect() as con:
        clean = surely_clean(con, files, words)
        return None if clean is None else _read_clean(con, files, clean)


def _read_exactly(files: Sequence[LogFile], words: Iterable[str] | None = None, *, strict: bool) -> DebateLog:
    checked, problems = check_exactly(files, strict=strict, missing_values=words)
    gathered = checked.gathered
    return DebateLog(
        items=frame(checked.items.values(), ITEM_COLUMNS),
        turns=frame(checked.turns, turn_columns(gathered.coding, gathered.totals)),
        verdicts=frame(checked.verdicts.values(), VERDICT_COLUMNS),
        problems=problems,
        coding=gathered.coding,
        notes=tuple(gathered.notes),
        n_records=gathered.n_records,
    )


def _read_clean(con: duckdb.DuckDBPyConnection, files: Sequence[LogFile], clean: Clean) -> DebateLog:
    from d3stats.log.lines import view_lines
    from d3stats.log.tables import view_tables

    n_records = int(con.execute("SELECT sum(n) FROM scan").fetchall()[0][0])
    if files[0].format == "jsonl":
        view_lines(con, list(files))
    else:
        view_tables(con)

    def fetch(view: str, columns: tuple[str, ...]) -> pd.DataFrame:
        table = con.execute(f"SELECT {', '.join(columns)} FROM {view}").df()
        for name, convert in (("answers", _answers), ("scores", _scores)):
            if name in columns:
                table[name] = _converted(table[name], convert)
        return frame(table, columns)

    return DebateLog(
        items=fetch("items", ITEM_COLUMNS),
        turns=fetch("turns", turn_columns(clean.coding, clean.totals)),
        verdicts=fetch("verdicts", VERDICT_COLUMNS),
        coding=clean.coding,
        notes=clean.notes,
        n_records=n_records,
    )


def _answers(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def _scores(text: str) -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = json.loads(text, parse_int=float)
    return scores


def _converted(column: pd.Series, convert: Callable[[str], Any]) -> pd.Series:
    result: pd.Series = pd.Series([None] * len(column), dtype=object)
    given = column.notna().to_numpy()
    if given.any():
        result[given] = pd.Series([convert(text) for text in column[given]], dtype=object).to_numpy()
    return result
