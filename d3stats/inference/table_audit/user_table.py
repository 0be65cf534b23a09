"""A user's table: which columns it has, and its cells as they were printed.

A cell is text, so that "0.60" keeps its second digit; a number of a data frame counts with its shortest form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from d3stats._check import integer
from d3stats.inference.table_audit.printed import Printed, printed

__all__ = ["COLUMNS", "Row", "UserTable", "read_table"]

COLUMNS = (
    "accuracy",
    "kappa",
    "n",
    "baseline",
    "gain",
    "relative_gain",
    "gained",
    "lost",
    "t",
    "p",
    "tokens",
    "cost",
    "tokens_per_point",
    "cost_per_point",
)
"""Columns that are read, besides the name of the row."""
NAMES = ("system", "model", "method", "framework", "configuration", "name")
EMPTY = frozenset({"", "-", "--", "–", "—", "na", "n/a", "nan", "none", "baseline"})
AVERAGES = frozenset({"average", "avg", "avg.", "mean"})
WHOLES = frozenset({"overall", "total", "all"})


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its name and the numbers that it prints."""

    name: str
    cells: dict[str, Printed]

    @property
    def n(self) -> int | None:
        """Number of items, None where it is not printed."""
        if "n" not in self.cells:
            return None
        value = self.cells["n"].value
        if value < 1 or value != int(value):
            raise ValueError(
                f"n must be a whole number >= 1; got {self.cells['n'].text!r} in row {self.name!r}"
            )
        return int(value)

    def has(self, columns: Iterable[str]) -> bool:
        """Say whether every one of these columns has a number here."""
        return all(column in self.cells for column in columns)


@dataclass(frozen=True, slots=True)
class UserTable:
    """A table as read.

    Attributes
    ----------
    rows : tuple of Row
        Without rows that average or total the others.
    averages, wholes : tuple of Row
        Rows called "average" or "mean", and "overall", "total" or "all".
    percent : bool
        Whether accuracies are in percent; otherwise they are shares.
    columns : tuple of str
        Columns that were read and have a number.
    ignored : tuple of str
        Columns that no check knows.
    """

    rows: tuple[Row, ...]
    averages: tuple[Row, ...]
    wholes: tuple[Row, ...]
    percent: bool
    columns: tuple[str, ...]
    ignored: tuple[str, ...]

    def with_columns(self, *columns: str) -> list[Row]:
        """Return the rows that print all of these."""
        return [row for row in self.rows if row.has(columns)]


def read_table(frame: pd.DataFrame, *, n: int | None = None) -> UserTable:
    """Read a table; `n` is every row's number of items where there is no such column.

    Raises
    ------
    ValueError
        When there is no row, two rows share a name, a cell is no number, or no known column is there.
    """
    given = {str(c).strip().lower().replace(" ", "_").replace("-", "_"): c for c in frame.columns}
    if len(given) < frame.shape[1]:
        raise ValueError(f"columns must have names that differ by more than case; got {list(frame.columns)}")
    known = [c for c in COLUMNS if c in given]
    if not known:
        raise ValueError(
            f"a table must have one of the columns {', '.join(COLUMNS)}; got {list(frame.columns)}"
        )
    if frame.empty:
        raise ValueError("a table must have at least one row; got none")
    names = _names(frame, given)
    rows = []
    for i, name in enumerate(names):
        cells = {c: cell for c in known if (cell := _cell(frame[given[c]].iloc[i], c, name)) is not None}
        if n is not None and "n" not in given:
            cells["n"] = printed(integer("n", n, minimum=1))
        rows.append(Row(name, cells))
    percent = _percent(rows)
    _refuse_outside(rows, percent)
    kinds = [name.strip().lower() for name in names]
    plain = tuple(r for r, k in zip(rows, kinds, strict=True) if k not in AVERAGES | WHOLES)
    return UserTable(
        rows=plain,
        averages=tuple(r for r, k in zip(rows, kinds, strict=True) if k in AVERAGES),
        wholes=tuple(r for r, k in zip(rows, kinds, strict=True) if k in WHOLES),
        percent=percent,
        columns=tuple(dict.fromkeys(c for c in (*COLUMNS,) if any(c in r.cells for r in rows))),
        ignored=tuple(str(c) for low, c in given.items() if low not in COLUMNS and low not in NAMES),
    )


def _names(frame: pd.DataFrame, given: Mapping[str, object]) -> list[str]:
    column = next((given[c] for c in NAMES if c in given), None)
    if column is None:
        return [f"row {i + 1}" for i in range(len(frame))]
    names = [str(name).strip() for name in frame[column]]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{column} must name each row once; got {twice[0]!r} more than once")
    return names


def _cell(value: object, column: str, name: str) -> Printed | None:
    text = "" if value is None or value is pd.NA else str(value).strip()
    if text.lower() in EMPTY:
        return None
    try:
        return printed(text if isinstance(value, str) else float(text))
    except ValueError:
        raise ValueError(f"{column} must be a number as printed; got {text!r} in row {name!r}") from None


def _percent(rows: Sequence[Row]) -> bool:
    cells = [row.cells[c] for row in rows for c in ("accuracy", "baseline") if c in row.cells]
    return any(cell.value > 1 or "%" in cell.text for cell in cells)


def _refuse_outside(rows: Sequence[Row], percent: bool) -> None:
    most = 100.0 if percent else 1.0
    limits = {"accuracy": (0.0, most), "baseline": (0.0, most), "p": (0.0, 1.0), "kappa": (-1.0, 1.0)}
    for row in rows:
        for column, (low, high) in limits.items():
            cell = row.cells.get(column)
            if cell is not None and not low <= cell.value <= high:
                raise ValueError(
                    f"{column} must lie between {low:g} and {high:g}; got {cell.text!r} in row {row.name!r}"
                )
