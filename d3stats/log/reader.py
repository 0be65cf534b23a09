"""Files of debates, each read by its format into columns; several files become one log."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from d3stats.log.column_names import Columns
from d3stats.log.columns import Coding, Part, Records, joined
from d3stats.log.consistency import Checked, check
from d3stats.log.files import LogFile, files_note, find_files
from d3stats.log.frames import DebateLog, as_log, in_order, log_of
from d3stats.log.json_rows import flat_sheet, is_flat, json_sheet
from d3stats.log.lines import BLOCK, Builder, blocks, lines_of, read_line
from d3stats.log.opening import unusable
from d3stats.log.problems import Advised, LogError, Problem
from d3stats.log.schema import (
    AnyRecord,
)
from d3stats.log.stated import with_stated_answers
from d3stats.log.table_reader import nothing, records_of_sheet, records_of_table
from d3stats.values import missing_words

__all__ = ["iter_records", "read_log"]


def read_lines(file: LogFile, *, columns: Columns = None, texts: bool = False) -> Records:
    """Read all lines of a file; what cannot be read are problems of the result.

    Lines without a type are rows of a table, one turn each; `columns` then says which key is what.
    """
    builder = Builder(file, texts=texts)
    whole = unusable(file)
    if whole is not None:
        builder.problems.append(whole)
        return builder.records()
    if is_flat(file):
        return _read_flat(file, columns, texts)
    for block, first in blocks(file, builder.problems):
        builder.add(block, first)
    records = builder.records()
    if file.inspect:
        from d3stats.log.importers.inspect_logs import notes_on

        records.notes.extend(notes_on(file.path, file.scorer))
    return records


def line_blocks(
    file: LogFile,
    start: int = 0,
    stop: int | None = None,
    size: int = 1 << 25,
    *,
    columns: Columns = None,
    without: Collection[str] = (),
) -> Iterator[Records]:
    """Read the lines that begin in a span of bytes, in parts of about `size` bytes with codes of their own.

    Memory stays flat. The span counts bytes of the text, unpacked; without `stop` it goes to the end of the file.
    Columns `without` which the caller gets along are checked all the same.
    """
    if unusable(file) is not None or is_flat(file):
        if start == 0:
            yield read_lines(file, columns=columns)
        return
    problems: list[Problem] = []
    builder, held = Builder(file, without), 0
    for block, first in blocks(file, problems, start, stop, min(size, BLOCK)):
        builder.add(block, first)
        held += len(block)
        if held >= size:
            yield builder.records()
            builder, held = Builder(file, without), 0
    builder.problems += problems
    if held or builder.problems:
        yield builder.records()


def _read_flat(file: LogFile, columns: Columns, texts: bool) -> Records:
    return records_of_sheet(flat_sheet(file), columns, texts=texts)


def iter_records(
    path: str | Path,
    *,
    strict: bool = True,
    problems: list[Problem] | None = None,
    scorer: str | None = None,
) -> Iterator[AnyRecord]:
    r"""Yield the records of a JSON lines log in the order of the file, the header included.

    Each line is checked by itself. Relations between records (a turn of a debate that no item opens) are checked by
    :func:`d3stats.log.read_log` and the doctor. Texts and candidates are included, and memory does
    not grow with the file. A file without a single byte has no records.

    Parameters
    ----------
    path : path
        Ends in ``.jsonl`` or ``.ndjson``, also with ``.gz``.
    strict : bool
        Raise on the first line that is no record; otherwise pass over it.
    problems : list, optional
        Gets the lines that were passed over, so that nothing is lost silently.
    scorer : str, optional
        The scorer that is read of a log of Inspect with several, of which all are raters by default.

    Yields
    ------
    Header, Item, Turn or Verdict

    Raises
    ------
    LogError
        With `strict`, names file, line, field, the requirement and what was got.
    FileNotFoundError
        When there is no such file.
    ValueError
        When the name has another ending.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "debates.jsonl"
    >>> _ = path.write_text('{"type":"item","debate":"d","question":"q","text":"Why?"}\n{"type":"tu')
    >>> skipped = []
    >>> [record.text for record in iter_records(path, strict=False, problems=skipped)]
    ['Why?']
    >>> skipped[0].kind
    'truncated last line'
    """
    (file,) = find_files([path], scorer=scorer)
    if file.format != "jsonl":
        raise ValueError(
            f"path must end in .jsonl or .ndjson (also with .gz) to be read record by record; got {str(path)!r}"
        )
    if file.path.stat().st_size == 0:
        return
    late: list[Problem] = []

    def found() -> Iterator[AnyRecord | Problem]:
        if (whole := unusable(file)) is not None:
            yield whole
            return
        for block, first in blocks(file, late):
            for number, line in enumerate(lines_of(block), start=first):
                if line.strip():
                    yield read_line(file, number, line)
        yield from late

    for record in found():
        if not isinstance(record, Problem):
            yield record
        elif strict:
            raise LogError(record)
        elif problems is not None:
            problems.append(record)


def takes(file: LogFile, setting: str) -> bool:
    """Whether a file can be read with own names of columns, in another encoding, or by the name of a sheet."""
    if setting == "encoding":
        return file.format in ("csv", "tsv")
    if setting == "sheet":
        return file.format == "xlsx"
    return setting != "columns" or file.format != "jsonl" or unusable(file) is not None or is_flat(file)


def refuse_unread(
    files: Sequence[LogFile], columns: Columns = None, encoding: str | None = None, sheet: str | None = None
) -> None:
    """Refuse own names of columns where no file is a table, an encoding of no CSV or TSV, a sheet of no workbook.

    Raises
    ------
    ValueError
        When a setting that is given applies to none of the files.
    """
    for name, value in (("columns", columns), ("encoding", encoding), ("sheet", sheet)):
        if value and not any(takes(file, name) for file in files):
            raise unread(files, name, value)


def unread(files: Sequence[LogFile], name: str, value: Any) -> ValueError:
    """Return the refusal of a setting that applies to none of the files."""
    named = ", ".join(file.name for file in files[:3]) + (f" and {len(files) - 3} more" if files[3:] else "")
    lines = any(file.format in ("jsonl", "json") for file in files)
    if name == "columns":
        kind, step = "JSON lines of records, whose fields have the names of a log", "leave it out"
    elif name == "sheet":
        kind, step = "no workbooks", "leave it out"
    elif lines:
        kind, step = "no CSV or TSV", "save the file as UTF-8, which JSON is read as"
    else:
        kind, step = "no CSV or TSV", "leave it out, because the file itself says how its text is written"
    needed = f"{name} must be left out for files that are {kind}"
    return ValueError(Advised(needed, step, got=f"{value!r} for {named}"))


def read_log(
    *paths: str | Path,
    strict: bool = True,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
    sheet: str | None = None,
    texts: bool = False,
) -> DebateLog:
    r"""Read files and globs into one log.

    The format is known by the name. ``.jsonl`` and ``.ndjson`` hold records as
    :class:`d3stats.log.writer.LogWriter` writes them, or rows of a table, one object a line without ``type``.
    ``.csv``, ``.tsv`` (all these also with ``.gz``), ``.xlsx`` and ``.parquet`` hold a table. Its cells are separated
    by commas, semicolons, tabs or bars, and a row is a turn: ``debate, round, agent`` and ``vote, label`` or
    ``correct``, and optionally ``question, cluster, category, log, protocol, answers`` (JSON), ``first``,
    ``role, persona, scores`` (JSON), ``tokens`` or ``tokens_in, tokens_out``, ``tokens_cached, tokens_source``,
    ``model, temperature, confidence, error``, and ``closed, decision, stop_round, stop_reason``.
    A wide table has a column of votes per agent, per round, or per both. The field's other names for these columns
    are known (``d3stats.log.column_names.ALIASES``), in any case; `columns` names others. A row without round and
    agent is a debate without turns. A debate's question is the debate itself when it is not given. Rounds of a table
    in which a round 0 occurs are shifted by one, all rows of that file, and those of other tables that hold the same
    debates. The meaning given to each column, and the columns that were not read, are in ``notes``.

    Votes, labels, declared answers, decisions and names are brought to one written form, see :mod:`d3stats.values`:
    an answer ``6.0`` is ``6``. An empty cell and words such as ``NA`` are missing, unless the debates'
    declared answers hold the word. The changes are listed in ``notes``.

    The same debate may be opened in several files if its items are alike. Texts and candidates are read with `texts`
    only; see also :func:`d3stats.log.reader.iter_records`.

    Parameters
    ----------
    *paths : path or glob
        Each file is read once, however often it is named.
    strict : bool
        Raise on the first defect in reading order, or leave out what is defective and list it in ``problems``;
        :data:`d3stats.log.KINDS` says for each kind of defect what is left out.
    missing_values : iterable of str, optional
        The words that mean missing, in any case, in place of :data:`d3stats.values.MISSING_WORDS`; ``()`` keeps
        every word as an answer.
    columns : mapping, optional
        Which column of a table says what, where the names do not say it: ``{"debate": "qid"}``; several columns that
        make a name together, ``{"debate": ["run", "qid"]}``, or hold one agent's votes each,
        ``{"votes": ["gpt", "claude"]}``.
    encoding : str, optional
        Encoding of tables as text; UTF-8, and UTF-16 with its mark, need none.
    sheet : str, optional
        The sheet that is read of a workbook; by default the first, and a note names the others.
    texts : bool
        Also read the text of each turn: the field ``text`` of a record, or the column ``text`` of a table with a row
        per turn (other names are ``rationale``, ``reasoning``, ``explanation`` and the like). From records, the
        question's text and the candidates are read too. Memory then grows with the texts.

    Returns
    -------
    DebateLog

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
    how: dict[str, Any] = {"columns": columns, "encoding": encoding, "sheet": sheet, "texts": texts}
    checked = read_checked(paths, strict=strict, missing_values=missing_values, **how)
    return replace(log_of(checked), files=tuple(file.path for file in find_files(paths)))


def read_both(
    paths: Iterable[str | Path],
    *,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
    sheet: str | None = None,
    scorer: str | None = None,
    read: str | None = None,
) -> tuple[DebateLog, Checked]:
    """Read a log leniently into tables, in which scores are JSON texts, and into columns of the same order.

    For those who need both, since ``DebateLog.to_checked`` looks at every cell again.
    """
    how: dict[str, Any] = {
        "columns": columns,
        "encoding": encoding,
        "sheet": sheet,
        "scorer": scorer,
        "read": read,
    }
    checked = in_order(read_checked(paths, strict=False, missing_values=missing_values, **how))
    return as_log(checked, parsed=False), checked


def read_checked(
    paths: Iterable[str | Path],
    *,
    strict: bool = True,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
    sheet: str | None = None,
    scorer: str | None = None,
    texts: bool = False,
    read: str | None = None,
) -> Checked:
    """Read a log into columns, see :func:`read_log`; with ``read="answer"`` votes are the answers that they state."""
    words = missing_words(missing_values)
    files = find_files(paths, sheet, scorer)
    refuse_unread(files, columns, encoding, sheet)
    records = together(files, [read_file(file, columns, encoding, texts) for file in files])
    checked = check(with_stated_answers(records) if read == "answer" else records, words)
    return checked.strictly() if strict else checked.leniently()


def read_file(
    file: LogFile, columns: Columns = None, encoding: str | None = None, texts: bool = False
) -> Records:
    """Read every record of a file of any format."""
    if file.format == "jsonl":
        return read_lines(file, columns=columns, texts=texts)
    if file.format == "json":
        sheet = unusable(file) or json_sheet(file)
        if isinstance(sheet, Problem):
            return nothing(file.name, [sheet])
        return records_of_sheet(sheet, columns, texts=texts)
    return records_of_table(file, columns=columns, encoding=encoding, texts=texts)


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
    whole = joined(kept)
    return replace(whole, coding=coding, totals=totals, notes=[*files_note(files), *whole.notes])


def _counted_alike(parts: Sequence[Records]) -> list[Records]:
    """Shift the rounds of tables that hold debates of a table whose rounds count from 0."""
    zero = {debate for part in parts if part.from_zero for debate in _debates(part)}
    return [
        _one_later(part) if zero and part.from_zero is False and not zero.isdisjoint(_debates(part)) else part
        for part in parts
    ]


def _debates(part: Records) -> set[str]:
    debate = part.turns.coded("debate")
    return {debate.values[code] for code in np.unique(debate.codes)}


def _one_later(part: Records) -> Records:
    def moved(each: Part) -> Part:
        return Part(each.row, {k: c + 1 if k == "round" else c for k, c in each.columns.items()})

    note = (
        f"{part.files[0]}: rounds were shifted by one, because another file with the same debates counts "
        "from 0"
    )
    return replace(part, turns=moved(part.turns), verdicts=moved(part.verdicts), notes=[*part.notes, note])


_TOKENS = ("tokens", "tokens_in", "tokens_out")


def _is_alike(part: Records, coding: Coding, totals: bool) -> bool:
    if not part.n_rows:
        return True
    counted = any(name in part.turns.columns for name in _TOKENS)
    return part.coding == coding and (part.totals == totals or not counted)


def _passed_over(part: Records, coding: Coding, totals: bool) -> Records:
    message = Advised(
        f"all files must record {coding} and {'total' if totals else 'split'} tokens alike",
        got=(
            f"a table with "
            f"{'vote' if part.coding == 'answers' else 'correct'}{', tokens' if part.totals else ''}"
        ),
    )
    (file,) = part.files
    problems = [
        Problem(file, None, None, message, "mixed coding", (), "nothing"),
        *(Problem(file, line, None, message, "mixed coding") for line in part.line.tolist()),
    ]
    left = nothing(file, [*part.problems, *problems], part.notes)
    return replace(left, n_records=part.n_records)
