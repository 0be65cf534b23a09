"""Open a source of debates or of items once: the only place that asks what a source is.

A path, a glob, the name of a bundled log, a data frame, rows, a list of any of these, a log in memory and arrays all
become one :class:`Opened`. It reads a file once and keeps what was read: debates, items and strata of one file are
read one time. Any function takes an ``Opened`` in place of the path.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from glob import has_magic
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, cast

import numpy as np
import pandas as pd

from d3stats._words import Advised
from d3stats.counts import RoundCounts
from d3stats.inputs.recorded import RecordedLog
from d3stats.log.column_names import (
    TABLE_COLUMNS,
    Columns,
    MissingColumn,
    choice_of,
    other_names,
    plain,
)
from d3stats.log.columns import Coded, Records
from d3stats.log.consistency import Checked, check
from d3stats.log.counting import LogCounts
from d3stats.log.counts_file import holds_counts, read_counts
from d3stats.log.files import LogFile, as_path, files_note, find_files
from d3stats.log.frames import DebateLog, log_of
from d3stats.log.json_rows import flat_sheet, is_flat, json_sheet
from d3stats.log.opening import unusable
from d3stats.log.problems import Problem
from d3stats.log.reader import read_lines, refuse_unread, takes, together, unread
from d3stats.log.sheets import Sheet, frame_sheet, mapping_sheet, open_sheet, whole_frame
from d3stats.log.stated import stated_forms, stated_notes, with_stated_answers
from d3stats.log.table_reader import FRAME, nothing, records_of_sheet
from d3stats.log.timing import seconds_by_round
from d3stats.note import FIRST_SHEET, Note, kind_of
from d3stats.sources.item_tables import (
    Fields,
    TableFile,
    as_frame,
    frame_with_points,
    is_frame,
    one_frame,
    sound,
    table_of_sheet,
    without_words,
)
from d3stats.sources.recorded import recorded_of
from d3stats.trajectories import Missing, Trajectories
from d3stats.values import canonical_text, missing_words

__all__ = [
    "LogSource",
    "Opened",
    "Reading",
    "applies",
    "as_trajectories",
    "is_cube",
    "log_or_array",
    "open",
    "open_all",
    "readings",
]

_OF_LOGS = frozenset(("verdict", "plurality", "votes", "tokens"))
"""Values of a run that debates have and tables of items have not."""

LogSource = Any
"""Any source of debates that :func:`open` opens."""

Read = Literal["answer"]
Kind = Literal["records", "table", "log", "arrays", "values", "counts"]


class Reading(TypedDict, total=False):
    """Settings of reading a source; every function that takes a source has them as keywords.

    Attributes
    ----------
    columns : mapping of str to str
        Own names of a table's columns by their standard names, ``{"debate": "qid"}``.
    missing_values : iterable of str
        The words that mean missing, in place of :data:`d3stats.values.MISSING_WORDS`; ``()`` keeps every word.
    encoding : str
        Encoding of CSV and TSV files; UTF-8, and UTF-16 with its mark, need none. JSON is UTF-8.
    sheet : str
        The sheet of a workbook; by default the first, and a note names the others.
    scorer : str
        The scorer that is read of a log of Inspect with several, of which all are raters by default.
    roles : iterable of str
        Only the turns of these roles.
    lenient : bool
        Leave out defective records and list them; by default the first is an error.
    read : "answer"
        Read a vote as the answer that it states: "The answer is B." as "B". The answers are the labels and the declared
        answers; see :func:`d3stats.values.stated_answer`. A vote that names answers and states none of them as its own
        is missing.

    Examples
    --------
    >>> how: Reading = {"columns": {"debate": "qid"}, "missing_values": ["ERROR"]}
    >>> sorted(how)
    ['columns', 'missing_values']
    """

    columns: Columns
    missing_values: Iterable[str] | None
    encoding: str | None
    sheet: str | None
    scorer: str | None
    roles: Iterable[str] | None
    lenient: bool
    read: Read | None


_APPLY = {
    "records": ("missing_values", "columns", "encoding", "roles", "lenient", "read"),
    "table": ("missing_values", "columns", "roles", "lenient", "read"),
    "log": ("roles",),
    "arrays": ("missing_values",),
}
"""What of a reading can be applied to each kind of source; workbooks also have a sheet, logs of Inspect a scorer."""


@dataclass(eq=False, repr=False)
class Opened:
    """A source that was opened once; every function that takes a source takes it in place of the path.

    Attributes
    ----------
    name : str
        What messages call it: the paths, or the kind of object.
    kind : {"records", "table", "log", "arrays", "values", "counts"}
        Files of records; tables (files, frames, rows); logs in memory; arrays of votes; other values, such as one
        number per item; counts of rounds, which no longer hold debates.
    value : object
        The frame, log, arrays or counts that were given, or several logs, each opened; None for files.
    paths : tuple of str
        The files or globs, where there are any.
    reading : Reading
        How it is read.

    Examples
    --------
    >>> import d3stats
    >>> log = d3stats.open("slm7")
    >>> log
    Opened('slm7', table of 3,360 rows)
    >>> log.trajectories()
    Trajectories(160 debates x 3 rounds x 7 seats, 40 questions, coding='answers')
    >>> log.has_records, len(log.log().turns), log.recorded().usable, len(log.checked().items), log.sheet().names[:2]
    (True, 3360, False, 160, ['debate', 'question'])
    >>> scores = d3stats.open(pd.DataFrame({"item": ["q1", "q2"], "correct": [1, 0], "task": ["math", "law"]}))
    >>> items = Fields(("item",), ("item",), ("correct",), one_round=True)
    >>> scores.is_log(items), scores.aside("task").items(items).frame.columns.tolist()
    (False, ['item', 'correct'])
    >>> log.counts() == log.trajectories().counts()
    True
    >>> given = d3stats.open(scores.value, columns={"item": "name"})
    >>> given.lacking(), given.choosing({"item": "item"}).lacking()
    ({'item'}, set())
    """

    name: str
    kind: Kind
    value: Any = None
    paths: tuple[str, ...] = ()
    reading: Reading = field(default_factory=lambda: Reading())
    _halves: tuple[Note, ...] = ()
    _aside: str | None = None
    _checked: dict[bool, Checked] = field(default_factory=dict)
    _logs: dict[tuple[bool, bool], DebateLog] = field(default_factory=dict)
    _recorded: RecordedLog | None = None
    _trajectories: Trajectories | None = None

    def __repr__(self) -> str:
        rows = f" of {sum(len(s.line) for s in self.tables):,} rows" if self.kind == "table" else ""
        return f"Opened({self.name!r}, {self.kind}{rows})"

    # ------------------------------------------------------------------------------------------------ what was written

    @cached_property
    def files(self) -> tuple[LogFile, ...]:
        """The files, each once."""
        if not self.paths:
            return ()
        return find_files(self.paths, self.reading.get("sheet"), self.reading.get("scorer"))

    @cached_property
    def frame(self) -> pd.DataFrame | None:
        """The data frame that was given; None for files."""
        return self.value if isinstance(self.value, pd.DataFrame) else None

    @cached_property
    def _sheets(self) -> tuple[Sheet | Problem | None, ...]:
        """The tables as they were written; None for a file of records, a problem for one that is no table."""
        if self.frame is not None:
            sheet = frame_sheet(self.frame, FRAME)
            return (replace(sheet, notes=[*sheet.notes, *self._halves]),)
        return tuple(_sheet_of(file, self.reading.get("encoding")) for file in self.files)

    @property
    def tables(self) -> list[Sheet]:
        """The tables as they were written, without those that are none."""
        return [sheet for sheet in self._sheets if isinstance(sheet, Sheet)]

    @property
    def columns(self) -> Columns:
        """The choice of columns."""
        return self.reading.get("columns")

    @property
    def stem(self) -> str | None:
        """The name of a single file without folder and ending; None for anything else."""
        if len(self.paths) != 1 or (has_magic(self.paths[0]) and len(self.files) != 1):
            return None
        if has_magic(self.paths[0]):
            return self.files[0].path.name.removesuffix(".gz").rsplit(".", 1)[0]
        file = Path(self.paths[0]).name
        return file.removesuffix(".gz").rsplit(".", 1)[0] or file

    def lacking(self) -> set[str]:
        """Return the fields for which a column was chosen that no table here has."""
        if self.kind != "table":
            return set(choice_of(self.columns))
        there = {plain(str(name)) for sheet in self.tables for name in sheet.names}
        chosen = choice_of(self.columns)
        listed = {field: [name] if isinstance(name, str) else name for field, name in chosen.items()}
        return {field for field, names in listed.items() if not there >= set(map(plain, names))}

    def choosing(self, columns: Columns) -> Opened:
        """Return the same source read with another choice of columns."""
        other = self.aside(self._aside or "")
        other._aside = self._aside
        other.reading = {**self.reading, "columns": columns}
        return other

    def aside(self, column: Any) -> Opened:
        """Return the same source with a column set aside for strata.

        The column is the category of a log of debates. A table of items loses it, unless a function needs it for
        something else too. Strata that are no column leave the source as it is.
        """
        if not isinstance(column, str):
            return self
        if self.kind == "table":
            _ = self._sheets  # read once, for both
        other = copy(self)
        other._aside = plain(column) if plain(column) == "log" else column
        other._checked, other._logs, other._recorded, other._trajectories = {}, {}, None, None
        return other

    # ------------------------------------------------------------------------------------------------ as items

    @property
    def _inspect(self) -> bool:
        """Whether these are logs of Inspect, which have a value per item besides votes."""
        return bool(self.files) and all(file.inspect for file in self.files)

    def is_log(self, fields: Fields) -> bool:
        """Whether this is read as a log of debates rather than as a table of items; records always are.

        A log of Inspect is a log, but a run of an evaluation is the value of each of its items.
        """
        if self._inspect:
            return not fields.one_round or bool(_OF_LOGS & {*fields.choosable})
        if self.frame is not None:
            return fields.is_log(self.frame.columns, self.columns)
        if self.kind != "table" or any(isinstance(sheet, Problem) for sheet in self._sheets):
            return self.kind != "table"
        return all(fields.is_log(sheet.names, self.columns) for sheet in self.tables)

    def items(self, fields: Fields, *, texts: Collection[str] | None = None) -> TableFile:
        """Return the rows of a table of items, with the standard names of its columns.

        Parameters
        ----------
        fields : Fields
            The columns of such a table.
        texts : collection of str, optional
            Columns of a file that stay text; by default all.

        Raises
        ------
        ValueError
            When a file is empty or no table, or a column occurs twice.
        """
        if self.frame is not None:
            frame, points = frame_with_points(self.frame)
            named, taken = fields.named(frame, self.columns)
            table = TableFile(named, [*taken, *points, *self._halves])
            table = table if texts is None else without_words(table, texts, self.missing_words)
        elif self.kind == "table" or self._inspect:
            given = [_inspect_sheet(file, fields) for file in self.files] if self._inspect else self._sheets
            sheets = [sound(sheet) for sheet in given if sheet is not None]
            table = table_of_sheet(
                sheets, fields, texts=texts, columns=self.columns, missing=self.missing_words
            )
            _refuse_first_sheet(self.name, table, fields)
            table = replace(table, notes=[*files_note(self.files), *table.notes])
        else:
            self._refuse_counts()
            raise TypeError(f"a table of items must have rows; got {self!r}")
        if self.reading.get("read") == "answer":
            table = _items_with_stated_answers(table)
        if self._aside is None:
            return table
        known = {*fields.wanted, *fields.choosable}
        left = [
            name
            for name in table.frame.columns
            if plain(str(name)) == plain(self._aside) and name not in known
        ]
        return replace(table, frame=table.frame.drop(columns=left))

    def sheet(self) -> Sheet:
        """Return the one table as it was written.

        Raises
        ------
        ValueError
            When there are several files, or the file is empty or no table.
        """
        if self.kind != "table" or len(self._sheets) != 1:
            raise ValueError(f"there must be one table; got {self!r}")
        (only,) = self._sheets
        assert only is not None
        return sound(only)

    # ------------------------------------------------------------------------------------------------ as a log

    @property
    def missing_words(self) -> frozenset[str]:
        """The words that mean missing."""
        return missing_words(self.reading.get("missing_values"))

    @property
    def _category(self) -> str | None:
        """The column that is the category of a table's debates, where one was set aside for strata."""
        return None if self.kind != "table" or self._aside == "log" else self._aside

    def checked(self, *, texts: bool = False) -> Checked:
        """Return the log as columns, all roles."""
        if self.kind == "log":
            found: Checked = self.value.to_checked()
            return found
        self._refuse_counts()
        if not self.has_records:
            raise TypeError(f"a log of records is needed; got {self.name}, which hold votes alone")
        if texts not in self._checked:
            columns = self.columns
            if self.files:
                refuse_unread(self.files, columns)
            if self._category is not None:
                columns = {**choice_of(columns), "category": self._category}
            try:
                parts = [self._records(k, columns, texts) for k in range(len(self._sheets))]
            except MissingColumn as error:
                if error.field != "category" or self._category is None:
                    raise
                # It was named as the column of strata.
                raise MissingColumn("category", f"strata{error.message.removeprefix('category')}") from None
            whole = parts[0] if self.frame is not None else together(self.files, parts)
            if self.reading.get("read") == "answer":
                whole = with_stated_answers(whole)
            read = check(whole, self.missing_words)
            lenient = self.reading.get("lenient")
            self._checked[texts] = read.leniently() if lenient else read.strictly()
        return self._checked[texts]

    def _records(self, k: int, columns: Columns, texts: bool) -> Records:
        sheet = self._sheets[k]
        if sheet is None:
            return read_lines(self.files[k], columns=columns, texts=texts)
        if isinstance(sheet, Problem):
            return nothing(self.files[k].name, [sheet])
        return records_of_sheet(sheet, columns, texts=texts)

    def log(self, *, texts: bool = False, parsed: bool = True, every_role: bool = False) -> DebateLog:
        """Return the log as tables of items, turns and verdicts.

        Parameters
        ----------
        texts : bool
            With the texts of the turns.
        parsed : bool
            With scores as dicts, and not as JSON, which takes far less time and memory.
        every_role : bool
            With all turns, and not only those of the chosen roles.
        """
        key = texts, parsed
        if key not in self._logs:
            log = self.value
            if self.kind != "log":
                log = log_of(self.checked(texts=texts), parsed=parsed)
                log = replace(log, files=tuple(file.path for file in self.files))
            self._logs[key] = log
        log = self._logs[key]
        if self._roles is None or every_role:
            return log
        return replace(log, turns=log.turns[log.turns["role"].isin(self._roles)])

    @property
    def _roles(self) -> tuple[str, ...] | None:
        roles = self.reading.get("roles")
        return None if roles is None else tuple(roles)

    @property
    def has_records(self) -> bool:
        """Whether there are records of turns, and not arrays of votes alone."""
        return self.kind in ("records", "table", "log")

    def recorded(self) -> RecordedLog:
        """Return the array view with the decision that each debate recorded; arrays have none.

        Raises
        ------
        ValueError
            When the debates cannot be read.
        TypeError
            When the values are no debates.
        """
        self._refuse_counts()
        if self._recorded is None:
            if self.has_records:
                self._recorded = recorded_of(self.checked(), self.trajectories())
            else:
                t = self._arrays()
                self._recorded = RecordedLog(t, np.full(len(t), None, dtype=object))
        return self._recorded

    def _arrays(self) -> Trajectories:
        """Return arrays that were given, and those of several logs one below the other."""
        if self.kind != "arrays":
            return _arrays_of(self.value, self.reading.get("missing_values"))
        if isinstance(self.value, Trajectories):
            return self.value
        return Trajectories.concat(*(one.trajectories() for one in self.value))

    def counts(self, missing: Missing = "exclude") -> RoundCounts:
        """Return the counts of rounds: those that were read, or those of the debates.

        Raises
        ------
        ValueError
            When the counts were made with another choice of `missing`.
        """
        if self.kind != "counts":
            return self.trajectories().counts(missing)
        kept: LogCounts = self.value
        if kept.missing != missing:
            step = f"count the logs again with --missing {missing}"
            raise ValueError(
                Advised(f"missing must be {kept.missing!r} for {self.name}", step, got=repr(missing))
            )
        return kept.rounds

    def _refuse_counts(self) -> None:
        if self.kind == "counts":
            step = "use the log itself; d3stats fit and d3stats.fit_rounds also take counts"
            raise TypeError(
                Advised("a log must hold debates", step, got=f"counts of rounds alone in {self.name}")
            )

    def trajectories(self) -> Trajectories:
        """Return the array view of the debates, see :meth:`recorded`."""
        self._refuse_counts()
        if self._recorded is not None or not self.has_records:
            return self.recorded().trajectories
        if self._trajectories is None:
            found = Trajectories._from_checked(self.checked(), self._roles)
            # A run's journal has the time of each call; of several logs the names of debates may be changed.
            if len(self.files) == 1 and self.files[0].name.endswith((".jsonl", ".ndjson")):
                took = seconds_by_round(self.files[0].path, found.debates, found.n_rounds)
                found = found if took is None else replace(found, seconds=took)
            self._trajectories = found
        return self._trajectories


def open(source: LogSource, **reading: Unpack[Reading]) -> Opened:
    """Open a source once, for any function that takes one.

    Parameters
    ----------
    source : path, glob, name, DataFrame, rows, DebateLog, Trajectories, array, list of these, or Opened
        Files are JSON lines, CSV, TSV, XLSX, Parquet or logs of Inspect (``.eval``); a name is that of a bundled log. A
        DataFrame of pandas, polars or Arrow has a row per turn or per item, or is wide. Rows are mappings. A list of
        paths is one log or one table, and so is a list of tables with the same columns. A list of logs, see
        :meth:`Trajectories.concat`. An array holds votes, shape (debates, rounds, seats); a mapping holds the arguments
        of :meth:`Trajectories.from_arrays`.
    **reading : Reading
        How it is read: ``columns, missing_values, encoding, sheet, scorer, roles, lenient, read``.

    Returns
    -------
    Opened

    Raises
    ------
    FileNotFoundError
        When a text is no file, no glob and no bundled log; the message names the nearest.
    ValueError
        When an argument does not apply to what was given.
    TypeError
        When the source is of another kind.

    Examples
    --------
    >>> import d3stats
    >>> log = d3stats.open("slm7")
    >>> d3stats.agreement(log, measures=["alpha"]).n_items, d3stats.replay(log, "fixed:1").baseline
    (160, 'unanimity')
    """
    given = _given(reading)
    apply = _applying(source, given)
    for name in given:
        if name not in apply:
            raise _refusal(source, name, given[name])
    if isinstance(source, Opened):
        return source
    if isinstance(source, Mapping) and "votes" not in source:
        names = ", ".join(map(repr, list(source)[:6])) or "no names"
        step = "make columns a table with pandas.DataFrame(...), and rows a list of mappings"
        raise TypeError(
            Advised("a mapping must have votes, as the arguments of from_arrays have", step, got=names)
        )
    several = isinstance(source, (list, tuple)) and len(source) > 0
    if isinstance(source, (str, Path)):
        return _files([source], str(source), reading)
    if several and all(isinstance(one, (str, Path)) for one in source):
        named = ", ".join(map(str, source[:3])) + (f" and {len(source) - 3} more" if len(source) > 3 else "")
        return _files(source, named, reading)
    if several and all(map(is_frame, source)):
        source = one_frame(source)
    elif several and all(isinstance(one, Mapping) for one in source):
        return _frame(list(source), reading)
    if is_frame(source):
        return _frame(as_frame(source), reading)
    if isinstance(source, DebateLog):
        return Opened("a DebateLog", "log", source, reading=reading)
    if isinstance(source, LogCounts):
        return Opened("counts", "counts", source)
    if several and all(isinstance(one, _LOGS) for one in source):
        roles = reading.get("roles")
        of_roles: Reading = {} if roles is None else {"roles": tuple(roles)}
        each = [open(one, **of_roles) for one in source]
        return Opened("several logs", "arrays", each)
    kind: Kind = "arrays" if isinstance(source, Trajectories) else "values"
    return Opened(type(source).__name__, kind, source, reading=reading)


def _frame(table: Any, reading: Reading) -> Opened:
    frame, halves = whole_frame(table)
    return Opened("the table", "table", _with_index(frame), reading=reading, _halves=tuple(halves))


def _with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Make levels of an index columns where their names are those of fields, as all other formats have them."""
    fields = {name for field_ in TABLE_COLUMNS for name in (field_, *other_names(field_))}
    levels = [name for name in frame.index.names if name is not None and name not in frame.columns]
    known = [name for name in levels if plain(name) in map(plain, fields) and plain(name) != "item"]
    return frame.reset_index(level=known) if known else frame


def open_all(sources: Sequence[LogSource], **reading: Unpack[Reading]) -> list[Opened]:
    """Open several sources in one way, each as far as it applies to it.

    An argument must apply to one source at least. A chosen column that a table lacks is looked for there under its
    usual names; it is refused when all tables lack it.

    Examples
    --------
    >>> [one.kind for one in open_all(["slm7", [1, 0, 1]], missing_values=["ERROR"])]
    ['table', 'values']
    """
    opened = [open(source, **own) for source, own in zip(sources, readings(sources, reading), strict=True)]
    lacking = [one.lacking() for one in opened]
    everywhere = set.intersection(*lacking) if lacking else set()
    return [
        one.choosing({k: v for k, v in choice_of(one.columns).items() if k not in lacks - everywhere})
        if lacks - everywhere
        else one
        for one, lacks in zip(opened, lacking, strict=True)
    ]


def readings(sources: Sequence[LogSource], reading: Reading) -> list[Reading]:
    """Return for each source what of a reading applies to it.

    Raises
    ------
    ValueError
        When an argument applies to none of the sources.
    """
    given = _given(reading)
    apply = [_applying(source, given) for source in sources]
    for name, value in given.items():
        if apply and not any(name in names for names in apply):
            raise _refusal(sources[0], name, value)
    return [
        cast(Reading, {name: value for name, value in reading.items() if name in names}) for names in apply
    ]


_LOGS = (Trajectories, DebateLog, Opened)
"""What a list of logs holds."""

_BY_FORMAT = ("columns", "encoding")
"""What of a reading applies to files of some formats only."""


def _applying(source: Any, given: Collection[str]) -> tuple[str, ...]:
    """Return which arguments apply to a source, of `given` also by the format of its files."""
    apply = _taken(source)[1]
    if not set(_BY_FORMAT) & set(given):
        return apply
    files = _files_of(source)
    if not files:
        return apply
    return tuple(
        name for name in apply
        if name not in _BY_FORMAT or name not in given or any(_takes(file, name) for file in files)
    )  # fmt: skip


def _takes(file: LogFile, name: str) -> bool:
    """Whether an argument applies to a file; a log of Inspect is also a table of its items."""
    return takes(file, name) or (name == "columns" and file.inspect)


def _files_of(source: Any) -> tuple[LogFile, ...]:
    """Return the files of a source; none where they cannot be found, which reading them says."""
    paths = source if isinstance(source, (list, tuple)) else [source]
    if not paths or not all(isinstance(path, (str, Path)) for path in paths):
        return ()
    try:
        return find_files(tuple(map(as_path, paths)))
    except (OSError, ValueError):
        return ()


def _refusal(source: Any, name: str, value: Any) -> ValueError:
    files = _files_of(source) if name in _BY_FORMAT else ()
    if files:
        return unread(files, name, value)
    what, _ = _taken(source)
    return ValueError(f"{name} must be left out for {what}, to which it does not apply; got {value!r}")


def _given(reading: Reading) -> dict[str, Any]:
    for name in reading:
        if name not in Reading.__annotations__:
            known = ", ".join(Reading.__annotations__)
            raise TypeError(f"a source is read with {known}; got the unknown argument {name!r}")
    return {name: value for name, value in reading.items() if value is not None and value is not False}


def applies(source: LogSource, argument: str) -> bool:
    """Whether an argument of a reading can be applied to a source."""
    return argument in _applying(source, (argument,))


def _taken(source: Any) -> tuple[str, tuple[str, ...]]:
    """Return what a source is, and which arguments of a reading apply to it."""
    several = isinstance(source, (list, tuple)) and len(source) > 0
    if isinstance(source, (str, Path)) or (several and all(isinstance(one, (str, Path)) for one in source)):
        paths = source if several else [source]
        ends = [str(path).lower().rpartition(".")[2] for path in paths]
        of_kind = [*(["sheet"] * ("xlsx" in ends)), *(["scorer"] * bool({"eval", "json"} & {*ends}))]
        return "files", (*_APPLY["records"], *of_kind)
    if is_frame(source) or (
        several and (all(map(is_frame, source)) or all(isinstance(one, Mapping) for one in source))
    ):
        return "a DataFrame" if is_frame(source) else "tables", _APPLY["table"]
    if isinstance(source, Opened):
        return "a source that is open already (give it to open())", ()
    if isinstance(source, DebateLog):
        return "a DebateLog", _APPLY["log"]
    if several and all(isinstance(one, DebateLog) for one in source):
        return "several DebateLogs", _APPLY["log"]
    if several and all(isinstance(one, _LOGS) for one in source):
        return "a list of logs that holds others than DebateLogs", ()
    if isinstance(source, (list, tuple, np.ndarray)) or (isinstance(source, Mapping) and "votes" in source):
        return "arrays" if isinstance(source, Mapping) else "an array", _APPLY["arrays"]
    return type(source).__name__, ()


def _items_with_stated_answers(table: TableFile) -> TableFile:
    frame = table.frame
    if "vote" not in frame.columns or "label" not in frame.columns:
        got = ", ".join(map(str, frame.columns[:12]))
        raise ValueError(f"read='answer' needs the columns vote and label, which tell the answers; got {got}")
    vote = Coded.of(map(canonical_text, frame["vote"]))
    forms = stated_forms(
        filter(None, vote.occurring()), {text for text in map(canonical_text, frame["label"]) if text}
    )
    texts = pd.Series(vote.to_array(), index=frame.index, dtype=object)
    read = frame.assign(vote=texts.map(forms).where(texts.isin(list(forms)), frame["vote"]))
    read.attrs = frame.attrs
    return replace(table, frame=read, notes=[*table.notes, *stated_notes(forms, vote)])


def _files(paths: Sequence[str | Path], name: str, reading: Reading) -> Opened:
    found = tuple(map(as_path, paths))
    files = find_files(found)
    if holds_counts(files):
        if given := {k: v for k, v in _given(reading).items() if k != "lenient"}:
            step = "give it where the logs are counted"
            name_of = next(iter(given))
            raise ValueError(
                Advised(f"{name_of} must be left out for counts", step, got=repr(given[name_of]))
            )
        return Opened(name, "counts", read_counts(*found), paths=found)
    records = any(file.format == "jsonl" and not is_flat(file) for file in files)
    return Opened(name, "records" if records else "table", paths=found, reading=reading)


def _sheet_of(file: LogFile, encoding: str | None) -> Sheet | Problem | None:
    """Return a file as a table, what is wrong with it, or None where it holds records."""
    if file.format not in ("jsonl", "json"):
        return open_sheet(file, encoding)
    if (whole := unusable(file)) is not None:
        return whole
    if file.format == "json":
        return json_sheet(file)
    if not is_flat(file):
        return None
    return flat_sheet(file)


def _refuse_first_sheet(name: str, table: TableFile, fields: Fields) -> None:
    """Refuse a first sheet that holds no table of items, where a workbook has others."""
    names = list(table.frame.columns)
    others = next((note for note in table.notes if kind_of(note) == FIRST_SHEET), None)
    if others is not None and len(names) < 3 and not {*fields.wanted, *fields.choosable} & set(names):
        needed, got = f"{name} must have a table of items on its first sheet", ", ".join(map(str, names))
        raise ValueError(Advised(needed, "choose one with sheet= (--sheet NAME)", got=f"{got}; {others}"))


def _inspect_sheet(file: LogFile, fields: Fields) -> Sheet | Problem:
    """Return a log of Inspect as a table of the values of its items."""
    from d3stats.log.importers.inspect_logs import item_rows

    if (whole := unusable(file)) is not None:
        return whole
    own = set(fields.choosable) - {"question", "correct", "score"}
    rows, notes = item_rows(file.path, next(iter(own), None), file.scorer)
    return replace(mapping_sheet(file.name, list(enumerate(rows, start=1))), notes=list(notes))


def _arrays_of(source: Any, missing_values: Iterable[str] | None) -> Trajectories:
    """Return votes by debate, round and seat, or the arguments of ``from_arrays``, as Trajectories."""
    if isinstance(source, Mapping) and "votes" in source:
        return Trajectories.from_arrays(**{"missing_values": missing_values, **source})
    if isinstance(source, (list, tuple, np.ndarray)):
        strange = _no_votes(source)
        if strange is not None:
            raise TypeError(
                "a list must hold paths, tables, Trajectories or DebateLogs, all of one kind, rows as mappings, or "
                f"votes by debate, round and seat; got a list with a {strange} in it"
            )
        return Trajectories.from_arrays(source, missing_values=missing_values)
    raise TypeError(
        "a log must be Trajectories, a DebateLog, a DataFrame, a path, a list of paths, a bundled name or an array of "
        f"votes; got {type(source).__name__}"
    )


def is_cube(value: Any) -> bool:
    """Whether a value is votes by debate, round and seat, or the arguments of ``from_arrays``."""
    if isinstance(value, Mapping):
        return "votes" in value
    if isinstance(value, np.ndarray):
        return value.ndim == 3
    while isinstance(value, (list, tuple)) and value and isinstance(value[0], (list, tuple, np.ndarray)):
        value = value[0]
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], (list, tuple, np.ndarray)):
            return True
    return False


def _no_votes(array: Any) -> str | None:
    """Name the kind of something in a list of debates that is neither a list nor a vote; None where there is none."""
    outer = list(array) if isinstance(array, (list, tuple)) or array.dtype == object else []
    for one in [*outer, *(two for each in outer if isinstance(each, (list, tuple)) for two in each)]:
        kind = type(one)
        if not isinstance(one, (list, tuple, np.ndarray)) and (
            is_frame(one) or isinstance(one, (Mapping, set, Trajectories, Path, pd.Series, DebateLog, Opened))
        ):
            return kind.__name__
    return None


def as_trajectories(source: LogSource, **reading: Unpack[Reading]) -> Trajectories:
    """Return the array view of the debates of any source, see :func:`d3stats.open`.

    Parameters
    ----------
    source : what :func:`d3stats.open` takes
        Debates.
    **reading : Reading
        How it is read: ``columns, missing_values, encoding, sheet, scorer, roles, lenient, read``.

    Returns
    -------
    Trajectories

    Raises
    ------
    FileNotFoundError
        When a text is no file, no glob and no bundled log; the message names the nearest.
    ValueError
        When the debates cannot be read, or an argument does not apply to what was given.
    TypeError
        When the source is of another kind.

    Examples
    --------
    >>> table = pd.DataFrame({"qid": ["q"] * 4, "round": [1, 1, 2, 2], "agent": ["x", "y"] * 2, "vote": list("ABAA")})
    >>> as_trajectories(table, columns={"debate": "qid"}).unanimous().tolist()
    [[False, True]]
    >>> as_trajectories("slm7")
    Trajectories(160 debates x 3 rounds x 7 seats, 40 questions, coding='answers')
    """
    return open(source, **reading).trajectories()


def log_or_array(source: Any, **reading: Unpack[Reading]) -> Any:
    """Return an array of numbers as it is, also a DataFrame of nothing else, and a log as Trajectories."""
    if is_frame(source):
        table = as_frame(source)
        numbers = (
            not reading
            and "debate" not in table.columns
            and all(map(pd.api.types.is_numeric_dtype, table.dtypes))
        )
        return table if numbers else as_trajectories(table, **reading)
    opened = open(source, **reading)
    known = opened.kind != "values" or isinstance(source, Mapping)
    return opened.trajectories() if known else source
