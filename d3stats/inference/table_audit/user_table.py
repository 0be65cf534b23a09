"""A user's table: which columns it has, and its cells as they were printed.

A cell is text, so that "0.60" keeps its second digit; a number of a data frame counts with its shortest form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

from d3stats._check import integer
from d3stats.inference.table_audit.printed import Printed, printed

__all__ = ["COLUMNS", "Reading", "Row", "Unit", "UserTable", "read_table", "readings", "said_of"]

Unit = Literal["percent", "share", "count"]

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
FROM_ITEMS = ("accuracy", "baseline")
"""Columns of which each number is a share of items."""
NAMES = ("system", "model", "method", "framework", "configuration", "name")
EMPTY = frozenset({"", "-", "--", "–", "—", "na", "n/a", "nan", "none", "baseline"})
NO_TEST = frozenset({"inf", "-inf", "n.s.", "ns"})
"""What t and p print where there is no number."""
AVERAGE = re.compile(r"((un)?weighted|macro|micro|grand)?[ _-]*(average|avg\.?|mean)")
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
    units : dict of str to str
        What a column is read as: "percent", "share", or "count" of items. One unit a column.
    columns : tuple of str
        Columns that were read and have a number.
    ignored : tuple of str
        Columns that no check knows.
    notes : tuple of str
        What was decided in reading.
    """

    rows: tuple[Row, ...]
    averages: tuple[Row, ...]
    wholes: tuple[Row, ...]
    units: Mapping[str, Unit]
    columns: tuple[str, ...]
    ignored: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def percent(self) -> bool:
        """Whether accuracies are in percent; otherwise they are shares."""
        return self.units["accuracy"] == "percent"

    def with_columns(self, *columns: str) -> list[Row]:
        """Return the rows that print all of these."""
        return [row for row in self.rows if row.has(columns)]

    def cell(self, row: Row, column: str, unit: Unit | None = None) -> Printed:
        """Return a row's number in the unit of its column, or in another: a share is a count of the row's n items."""
        mine = self.units[column]
        unit = unit or mine
        if mine == "count" == unit:
            return row.cells[column].taken_exactly()
        if "count" in (mine, unit) and row.n is None:
            raise ValueError(f"n must be printed to count items; got none in row {row.name!r}")
        size = {"share": 1.0, "percent": 100.0, "count": float(row.n or 0)}
        given = row.cells[column]
        return (given.taken_exactly() if mine == "count" else given).scaled(size[unit] / size[mine])

    def read_as(self, reading: Reading) -> UserTable:
        """Return the same table in one of its readings."""
        if not reading.cut_off:
            return replace(self, units=reading.units)
        exact = {"n", *(c for c, unit in reading.units.items() if unit == "count")}

        def cut(rows: tuple[Row, ...]) -> tuple[Row, ...]:
            return tuple(
                Row(r.name, {c: x if c in exact else x.cut_off() for c, x in r.cells.items()}) for r in rows
            )

        return replace(
            self,
            rows=cut(self.rows),
            averages=cut(self.averages),
            wholes=cut(self.wholes),
            units=reading.units,
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """What a table's numbers may mean: the unit of each column, and whether digits were cut off or rounded."""

    units: Mapping[str, Unit]
    cut_off: bool


def readings(table: UserTable) -> Iterator[Reading]:
    """Yield what the table may mean, the most plausible first; a sign or a number above 1 leaves a column one unit."""
    every = [r.cells for r in (*table.rows, *table.averages, *table.wholes)]

    def cells(*columns: str) -> list[Printed]:
        return [row[c] for row in every for c in columns if c in row]

    def of_size(*columns: str, first: Unit) -> tuple[Unit, ...]:
        given = cells(*columns)
        if not given:
            return (first,)
        if any("%" in x.text or abs(x.value) > 1 for x in given):
            return ("percent",)
        return ("percent", "share") if first == "percent" else ("share", "percent")

    counted = cells("gained", "lost")
    relative = of_size("relative_gain", first="percent")
    if (rises := cells("relative_gain")) and not any("%" in x.text for x in rises):
        relative = ("percent", "share")
    for cut_off in (False, True):
        for accuracy in of_size("accuracy", first="share"):
            baselines = of_size("baseline", first=accuracy)
            # Both columns small: one unit for both.
            both_small = len(of_size("accuracy", first="share")) == len(baselines) == 2
            for baseline in (accuracy,) if both_small else baselines:
                for gain in of_size("gain", first=accuracy):
                    for items in _units_of_items(counted, any("n" in row for row in every)):
                        for rise in relative:
                            units: dict[str, Unit] = {
                                "accuracy": accuracy,
                                "baseline": baseline,
                                "gain": gain,
                            }
                            units |= {"gained": items, "lost": items, "relative_gain": rise}
                            yield Reading(units, cut_off)


def _units_of_items(cells: Sequence[Printed], sized: bool) -> tuple[Unit, ...]:
    """Return what gained and lost may be: whole numbers are counts, others are percentages or shares."""
    if not cells or any("%" in x.text for x in cells):
        return ("percent",)
    small: tuple[Unit, ...] = ("share",) if all(x.value <= 1 for x in cells) else ()
    if any("." in x.text for x in cells):
        return (*small, "percent")
    return ("count", "percent", *small) if sized else ("percent", *small, "count")


def said_of(table: UserTable, reading: Reading) -> str:
    """Return a sentence that says in which units the columns are read."""
    words = {"percent": "percent", "share": "shares", "count": "numbers of items"}
    by_unit: dict[str, list[str]] = {}
    for column, unit in reading.units.items():
        if column in table.columns:
            by_unit.setdefault(words[unit], []).append(column)
    return "; ".join(f"{_listed(columns)} in {unit}" for unit, columns in by_unit.items())


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


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
    if not any(row.cells for row in rows):
        raise ValueError(f"a table must print at least one number in {', '.join(known)}; got none")
    _refuse_outside(rows)
    rows, notes = _in_tens(rows)
    kinds = [
        "average" if AVERAGE.fullmatch(k) else "whole" if k in WHOLES else "row"
        for k in (name.strip().lower() for name in names)
    ]
    unsure = [r.name for r in rows if any(r.cells[c].several_runs for c in r.cells if c in FROM_ITEMS)]
    if unsure:
        notes.append(
            f'{_listed(unsure)}: a "±" is printed, so that the accuracy may be a mean of several runs; '
            "it is not held against whole numbers of items"
        )
    table = UserTable(
        rows=tuple(r for r, k in zip(rows, kinds, strict=True) if k == "row"),
        averages=tuple(r for r, k in zip(rows, kinds, strict=True) if k == "average"),
        wholes=tuple(r for r, k in zip(rows, kinds, strict=True) if k == "whole"),
        units={},
        columns=tuple(c for c in COLUMNS if any(c in r.cells for r in rows)),
        ignored=tuple(str(c) for low, c in given.items() if low not in COLUMNS and low not in NAMES),
        notes=tuple(notes),
    )
    return table.read_as(next(readings(table)))


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
    if text.lower() in EMPTY or (column in ("t", "p") and text.lower() in NO_TEST):
        return None
    try:
        if column == "p" and text[0] in ">≥":
            bound = printed(text.lstrip(">≥= ")).value
            return Printed(text, (1 + bound) / 2, (1 - bound) / 2)
        return printed(text if isinstance(value, str) else float(text))
    except ValueError:
        raise ValueError(f"{column} must be a number as printed; got {text!r} in row {name!r}") from None


def _in_tens(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Take tokens that all end in 0 as rounded to tens, hundreds, or what else all of them share."""
    cells = [row.cells["tokens"] for row in rows if "tokens" in row.cells]
    if len(cells) < 2 or any(x.half_unit != 0.5 or x.value == 0 for x in cells):
        return list(rows), []
    zeros = min(len(str(int(x.value))) - len(str(int(x.value)).rstrip("0")) for x in cells)
    if not zeros:
        return list(rows), []
    out = []
    for row in rows:
        if "tokens" in row.cells:
            given = row.cells["tokens"]
            row = Row(row.name, row.cells | {"tokens": replace(given, half_unit=0.5 * 10**zeros)})
        out.append(row)
    return out, [f"tokens all end in 0: they are taken as rounded to {10**zeros:,}"]


def _refuse_outside(rows: Sequence[Row]) -> None:
    limits = {"accuracy": (0.0, 100.0), "baseline": (0.0, 100.0), "p": (0.0, 1.0), "kappa": (-1.0, 1.0)}
    for row in rows:
        for column, (low, high) in limits.items():
            cell = row.cells.get(column)
            if cell is not None and not low <= cell.value <= high:
                raise ValueError(
                    f"{column} must lie between {low:g} and {high:g}; got {cell.text!r} in row {row.name!r}"
                )
