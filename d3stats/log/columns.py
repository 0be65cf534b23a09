"""The content of files and tables as columns: the one form between every reader and the rules of a log.

A reader turns lines or rows into :class:`Records`: texts as codes, numbers as arrays, and the row that each entry came
from. The rules between records (``consistency.py``), the array view and the counts work on codes alone, so a million
turns cost as many array operations as a thousand, and each text is looked at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Ints
from d3stats.log.problems import Problem

Coding = Literal["answers", "correctness"]

ITEM = (
    *("debate", "question", "cluster", "label", "answers", "log", "protocol", "polling", "first", "category"),
)
"""Columns of the items, all coded; the values of ``answers`` are tuples of texts."""
TURN = {
    "coded": ("debate", "agent", "role", "vote", "scores", "tokens_source", "model", "error", "persona"),
    "numbers": (
        "round",
        "correct",
        "tokens",
        "tokens_in",
        "tokens_out",
        "tokens_cached",
        "temperature",
        "confidence",
    ),
}
"""Columns of the turns. Numbers are float64 with NaN where missing, but ``round``, which is int64 and at least 1.
All but the temperature and the confidence are whole.

``scores`` is coded too: its values are JSON texts. Columns that no row fills may be absent.
"""
TEXTS = {"items": ("text", "candidates"), "turns": ("text",)}
"""The texts of questions and turns, all coded; read only on request, since all other analyses work without them."""
VERDICT = ("debate", "decision", "round", "stop_reason")
"""Columns of the verdicts; ``round`` is float64 with NaN where missing, the others are coded."""


class Coder(dict[Any, int]):
    """Give each value a code in the order of first appearance: ``list(map(coder.__getitem__, values))``."""

    def __init__(self) -> None:
        super().__init__({None: -1})

    def __missing__(self, value: Any) -> int:
        code = self[value] = len(self) - 1
        return code

    def codes(self, values: Iterable[Any]) -> NDArray[np.int32]:
        """Return the code of each value, -1 for None."""
        return np.array(list(map(self.__getitem__, values)), dtype=np.int32)

    def values_list(self) -> list[Any]:
        """Return the values of the codes."""
        return list(self)[1:]


_BLOCK = 1 << 14
"""Codes that are looked at before it is asked whether others can still be missing."""


def occurring(columns: Sequence[NDArray[np.int32]], n: int) -> NDArray[np.bool_]:
    """Return which of the codes 0 to n - 1 occur."""
    used = np.zeros(n + 1, dtype=np.bool_)
    for codes in columns:
        used[codes[:_BLOCK]] = True
        if not used[:-1].all():
            rest = codes[_BLOCK:]
            used[rest[opens(rest)]] = True
    return used[:-1]


def changes(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which entries begin a run of equal ones."""
    new = np.ones(len(columns[0]), dtype=np.bool_)
    new[1:] = False
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return new


def opens(*columns: NDArray[Any]) -> Ints:
    """Return where runs of equal entries begin."""
    return np.flatnonzero(changes(*columns))


@dataclass(frozen=True)
class Coded:
    """A column of values as codes.

    Attributes
    ----------
    codes : ndarray of int32
        Index into `values`, -1 where missing.
    values : list
        Different values, texts or tuples of texts; some may not occur.
    """

    codes: NDArray[np.int32]
    values: list[Any]

    @classmethod
    def of(cls, values: Iterable[Hashable | None]) -> Coded:
        """Code a column of values; None is missing."""
        coder = Coder()
        codes = coder.codes(values)
        return cls(codes, coder.values_list())

    @classmethod
    def missing(cls, n: int) -> Coded:
        """Return a column without any value."""
        return cls.constant(-1, n, [])

    @classmethod
    def constant(cls, code: int, n: int, values: list[Any]) -> Coded:
        """Return a column with one code everywhere, which takes no memory and cannot be written to."""
        return cls(np.broadcast_to(np.int32(code), n), values)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, at: Any) -> Coded:
        """Keep some entries (a mask, indices or a slice)."""
        return Coded(self.codes[at], self.values)

    def to_array(self) -> NDArray[np.object_]:
        """Return the values themselves, None where missing."""
        lookup = np.empty(len(self.values) + 1, dtype=object)
        lookup[:-1] = self.values
        lookup[-1] = None
        return lookup[self.codes]

    def occurring(self) -> list[Any]:
        """Return the values that occur."""
        return list(compress(self.values, occurring([self.codes], len(self.values)).tolist()))

    def mapped(self, forms: Mapping[Any, Any]) -> Coded:
        """Put another value in place of each; values that become equal become one, None becomes missing."""
        coder = Coder()
        lookup = np.array([*(coder[forms.get(value, value)] for value in self.values), -1], dtype=np.int32)
        return Coded(lookup[self.codes], coder.values_list())


def unified(*columns: Coded) -> tuple[list[NDArray[np.int32]], list[Any]]:
    """Return the columns' codes over one list of values; free where they share their list already."""
    lookups, values = _one_list([column.values for column in columns])
    return [_translated(column, lookup) for column, lookup in zip(columns, lookups, strict=True)], values


_Lookups = list[NDArray[np.int32] | None]


def _one_list(lists: Sequence[list[Any]]) -> tuple[_Lookups, list[Any]]:
    """Return one list of all values and the new code of each old one, None where a list stays as it is."""
    largest = max(lists, key=len)
    if all(values is largest for values in lists):
        return [None] * len(lists), largest
    coder = Coder()
    coder.update(zip(largest, range(len(largest)), strict=True))
    lookups = [
        None if values is largest else np.array([*map(coder.__getitem__, values), -1], dtype=np.int32)
        for values in lists
    ]
    return lookups, largest if len(coder) == len(largest) + 1 else coder.values_list()


def _translated(column: Coded, lookup: NDArray[np.int32] | None) -> NDArray[np.int32]:
    return column.codes if lookup is None else lookup[column.codes]


def together(columns: list[Coded]) -> Coded:
    """Make one name of several columns of texts, missing where one of them is."""
    if len(columns) == 1:
        return columns[0]
    given = np.all([column.codes >= 0 for column in columns], axis=0)
    pairs = np.stack([column.codes for column in columns], axis=1)
    different, codes = np.unique(pairs[given], axis=0, return_inverse=True)
    values = [" / ".join(c.values[k] for c, k in zip(columns, row, strict=True)) for row in different]
    whole = np.full(len(given), -1, dtype=np.int32)
    whole[given] = codes.reshape(-1)
    return Coded(whole, values)


@dataclass(frozen=True)
class Part:
    """All items, all turns or all verdicts, in reading order.

    Attributes
    ----------
    row : ndarray of int64
        Which row of the files each entry is of. A row of a table opens its debate, may hold a turn, and may close the
        debate; a line of JSON does one of these.
    columns : dict of str to Coded or ndarray
        See :data:`ITEM`, :data:`TURN`, :data:`VERDICT`.
    """

    row: Ints
    columns: dict[str, Any]

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, at: Any) -> Part:
        """Keep some entries (a mask or indices)."""
        return Part(self.row[at], {name: column[at] for name, column in self.columns.items()})

    def replaced(self, **columns: Any) -> Part:
        """Return the part with other columns in place of those of their names."""
        return Part(self.row, self.columns | columns)

    def coded(self, name: str) -> Coded:
        """Return a coded column, all missing where it is absent."""
        column = self.columns.get(name)
        return Coded.missing(len(self)) if column is None else column

    def numbers(self, name: str) -> NDArray[Any]:
        """Return a column of numbers, all NaN where it is absent."""
        column: NDArray[Any] | None = self.columns.get(name)
        return np.full(len(self), np.nan) if column is None else column


@dataclass
class Records:
    """All records that could be read, and what could not.

    Attributes
    ----------
    files : list of str
        Names, for messages.
    file, line : ndarray of int64, shape (rows,)
        Place of each row: an index into `files`, and its line or row there.
    items, turns, verdicts : Part
    problems : list of Problem
        Defects of single rows and of whole files.
    notes : list of str
        What the reader did that is no defect.
    n_records : int
        Lines and table rows read, left out or not.
    coding : {"answers", "correctness"}
    totals : bool
        Whether tokens were recorded as totals only (a column ``tokens``).
    from_zero : bool or None
        Whether a table's rounds counted from 0 and were shifted; None where it has no rounds of its own.
    """

    files: list[str]
    file: Ints
    line: Ints
    items: Part
    turns: Part
    verdicts: Part
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    n_records: int = 0
    coding: Coding = "answers"
    totals: bool = False
    from_zero: bool | None = None

    @property
    def n_rows(self) -> int:
        """Rows that could be read."""
        return len(self.file)


def joined(parts: Sequence[Records]) -> Records:
    """Put what several files or blocks say together, in order; all of one coding, see `Records`."""
    if len(parts) == 1:
        return parts[0]
    names = list(dict.fromkeys(name for part in parts for name in part.files))
    place = {name: i for i, name in enumerate(names)}
    files = [np.array([place[name] for name in part.files], dtype=np.int64) for part in parts]
    starts = np.cumsum([0, *(part.n_rows for part in parts)])
    known: dict[tuple[int, ...], tuple[_Lookups, list[Any]]] = {}
    stacked: dict[str, Any] = {
        name: _stacked([getattr(part, name) for part in parts], starts, known)
        for name in ("items", "turns", "verdicts")
    }
    return Records(
        files=names,
        file=np.concatenate([own[part.file] for own, part in zip(files, parts, strict=True)]),
        line=np.concatenate([part.line for part in parts]),
        **stacked,
        problems=[problem for part in parts for problem in part.problems],
        notes=list(dict.fromkeys(note for part in parts for note in part.notes)),
        n_records=sum(part.n_records for part in parts),
        coding=parts[0].coding,
        totals=parts[0].totals,
    )


def _stacked(
    parts: Sequence[Part], starts: NDArray[Any], known: dict[tuple[int, ...], tuple[_Lookups, list[Any]]]
) -> Part:
    """Put parts below each other; columns that share their list of values in every part share it in the result."""
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(name for part in parts for name in part.columns):
        first = next(part.columns[name] for part in parts if name in part.columns)
        if isinstance(first, Coded):
            each = [part.coded(name) for part in parts]
            key = tuple(id(part.columns[name].values) if name in part.columns else 0 for part in parts)
            if key not in known:
                known[key] = _one_list([column.values for column in each])
            lookups, values = known[key]
            codes = [_translated(column, lookup) for column, lookup in zip(each, lookups, strict=True)]
            columns[name] = Coded(np.concatenate(codes), values)
        else:
            # A part without rows has no numbers of another type.
            columns[name] = np.concatenate([part.numbers(name) for part in parts if len(part)] or [first])
    rows = [part.row + start for part, start in zip(parts, starts[:-1], strict=True)]
    return Part(np.concatenate(rows), columns)
