"""Audit of a user's table: every check that its columns allow, and which were left out for want of a column."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, get_args

import pandas as pd

from printed_tables.arguments import integer
from printed_tables.checks import (
    check_average,
    check_difference,
    check_kappas,
    check_one_price,
    check_ratio,
    check_relative_gain,
    check_share,
    check_within_parts,
    counts_of_share,
    kappa_of_any_classes,
)
from printed_tables.printed import (
    Finding,
    Printed,
    Verdict,
    fits_or_needs,
    printed,
)
from printed_tables.significance import (
    check_common_df,
    check_gains_and_losses,
    check_items_to_change,
    check_p_values,
    check_paired_t,
    check_significance,
    check_t_and_p,
    holds,
    implied_df,
    t_range,
)

__all__ = [
    "CHECKS",
    "COLUMNS",
    "Check",
    "Reading",
    "Row",
    "TableAudit",
    "Unit",
    "UserTable",
    "audit_table",
    "readings",
    "said_of",
    "user_table",
]

Unit = Literal["percent", "share", "count"]

COLUMNS = ("accuracy", "kappa", "n", "baseline", "gain", "relative_gain", "gained", "lost", "t", "p", "tokens", "cost",
           "tokens_per_point", "cost_per_point")  # fmt: skip
"""Columns that are read, besides the name of the row."""
FROM_ITEMS = ("accuracy", "baseline")
"""Columns of which each number is a share of items."""
NAMES = ("system", "model", "method", "framework", "configuration", "name")
EMPTY = frozenset({"", "-", "--", "–", "—", "na", "n/a", "nan", "none", "baseline"})
NO_TEST = frozenset({"inf", "-inf", "n.s.", "ns"})
"""Entries of t and p that mean that there is no number."""
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
    """A table as read: its rows, those that average or total the others apart; one unit a column."""

    rows: tuple[Row, ...]
    averages: tuple[Row, ...]
    wholes: tuple[Row, ...]
    units: Mapping[str, Unit]
    columns: tuple[str, ...]  # that have a number
    ignored: tuple[str, ...]  # that no check knows
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

        rows, averages, wholes = map(cut, (self.rows, self.averages, self.wholes))
        return replace(self, rows=rows, averages=averages, wholes=wholes, units=reading.units)


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of a table's numbers: the unit of each column, and whether digits were cut off or rounded."""

    units: Mapping[str, Unit]
    cut_off: bool


def readings(table: UserTable) -> Iterator[Reading]:
    """Yield what the table may mean, the most plausible first; a sign or a number above 1 leaves a column one unit."""
    every = [r.cells for r in (*table.rows, *table.averages, *table.wholes)]

    def cells(*columns: str) -> list[Printed]:
        return [row[c] for row in every for c in columns if c in row]

    def of_size(column: str, first: Unit) -> tuple[Unit, ...]:
        given = cells(column)
        if not given:
            return (first,)
        if any("%" in x.text or abs(x.value) > 1 for x in given):
            return ("percent",)
        return ("percent", "share") if first == "percent" else ("share", "percent")

    counts = _units_of_items(cells("gained", "lost"), any("n" in row for row in every))
    relative = of_size("relative_gain", "percent")
    if (rises := cells("relative_gain")) and not any("%" in x.text for x in rises):
        relative = ("percent", "share")
    for cut_off, accuracy in product((False, True), of_size("accuracy", "share")):
        baselines = of_size("baseline", accuracy)
        if len(of_size("accuracy", "share")) == len(baselines) == 2:
            baselines = (accuracy,)  # both columns are small: one unit for both
        for baseline, gain, items, rise in product(baselines, of_size("gain", accuracy), counts, relative):
            units: dict[str, Unit] = {"accuracy": accuracy, "baseline": baseline, "gain": gain}
            yield Reading(units | {"gained": items, "lost": items, "relative_gain": rise}, cut_off)


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


def user_table(frame: pd.DataFrame, *, n: int | None = None) -> UserTable:
    """Read a table; `n` is every row's number of items where there is no such column.

    Raises
    ------
    ValueError
        When there is no row, two rows share a name, a cell is no number, or no known column is there.
    """
    heads = [_head(c) for c in frame.columns]
    given = {low: c for (low, _), c in zip(heads, frame.columns, strict=True)}
    in_percent = {low for low, percent in heads if percent}
    if len(given) < frame.shape[1]:
        raise ValueError(
            "columns must have names that differ by more than case and a percent sign; "
            f"got {list(map(str, frame.columns))}"
        )
    known = [c for c in COLUMNS if c in given]
    if not known:
        raise ValueError(
            f"a table must have one of the columns {', '.join(COLUMNS)}; got {list(frame.columns)}"
            "; rename a column to one of them"
        )
    if frame.empty:
        raise ValueError("a table must have at least one row; got none")
    names = _names(frame, given)
    frame, comma = _with_points(frame, [given[c] for c in known])
    rows = []
    for i, name in enumerate(names):
        cells = {
            c: replace(cell, text=f"{cell.text}%") if c in in_percent and "%" not in cell.text else cell
            for c in known
            if (cell := _cell(frame[given[c]].iloc[i], c, name)) is not None
        }
        if n is not None and "n" not in given:
            cells["n"] = printed(integer("n", n, minimum=1))
        rows.append(Row(name, cells))
    if not any(row.cells for row in rows):
        raise ValueError(f"a table must print at least one number in {', '.join(known)}; got none")
    _refuse_outside(rows)
    rows, notes = _in_tens(rows)
    notes = [*comma, *notes]
    kinds: dict[str, list[Row]] = {"row": [], "average": [], "whole": []}
    for row in rows:
        low = row.name.strip().lower()
        kinds["average" if AVERAGE.fullmatch(low) else "whole" if low in WHOLES else "row"].append(row)
    unsure = [r.name for r in rows if any(r.cells[c].several_runs for c in r.cells if c in FROM_ITEMS)]
    if unsure:
        notes.append(
            f'{_listed(unsure)}: a "±" is printed, so the accuracy may be a mean of several runs; '
            "it is not compared with whole numbers of items"
        )
    table = UserTable(
        rows=tuple(kinds["row"]),
        averages=tuple(kinds["average"]),
        wholes=tuple(kinds["whole"]),
        units={},
        columns=tuple(c for c in COLUMNS if any(c in r.cells for r in rows)),
        ignored=tuple(str(c) for low, c in given.items() if low not in COLUMNS and low not in NAMES),
        notes=tuple(notes),
    )
    return table.read_as(next(readings(table)))


_PERCENT = re.compile(r"[\s,]*[(\[]?(in )?(%|pct\.?|percent)[)\]]?$")
_MAY_BE_PERCENT = ("accuracy", "baseline", "gain", "relative_gain", "gained", "lost")


def _head(name: object) -> tuple[str, bool]:
    """Return a column's name without case and signs, and whether it says that its numbers are percentages."""
    low = str(name).strip().lower()
    without = _PERCENT.sub("", low)

    def plain(text: str) -> str:
        return re.sub(r"[\s-]+", "_", text)

    return (
        (plain(without), True)
        if without != low and plain(without) in _MAY_BE_PERCENT
        else (plain(low), False)
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
    if text.lower() in EMPTY or (column in ("t", "p") and text.lower() in NO_TEST):
        return None
    try:
        if column == "p" and text[0] in ">≥":
            bound = printed(text.lstrip(">≥= ")).value
            return Printed(text, (1 + bound) / 2, (1 - bound) / 2)
        return printed(text if isinstance(value, str) else float(text))
    except ValueError:
        raise ValueError(f"{column} must be a number as printed; got {text!r} in row {name!r}") from None


_WRITTEN = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+")
_WITH_POINTS = re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+")
_COMMA = re.compile(r"(?:[0-9]+|[1-9][0-9]{0,2}(?:\.[0-9]{3})+),[0-9]+")


def _texts(frame: pd.DataFrame) -> list[str]:
    return [cell for k in range(frame.shape[1]) for cell in frame.iloc[:, k] if isinstance(cell, str)]


def _decimal_comma(texts: Iterable[str]) -> str | None:
    """Return a number whose comma stands before its decimals, where all numbers can be written so; else None.

    The comma of "1,390" may stand between thousands; that of "85,0" cannot.
    """
    numbers = [x for text in texts for x in _WRITTEN.findall(text) if "," in x or "." in x]
    certain = [x for x in numbers if _COMMA.fullmatch(x) and not _THOUSANDS.fullmatch(x)]
    one_way = all(_COMMA.fullmatch(x) or _WITH_POINTS.fullmatch(x) for x in numbers)
    return certain[0] if certain and one_way else None


def _refuse_doubtful(texts: Iterable[str]) -> None:
    """Refuse a number whose comma may stand before decimals or between thousands, in a table that writes either."""
    found = next((x for text in texts for x in _WRITTEN.findall(text) if _THOUSANDS.fullmatch(x)), None)
    if found is not None:
        raise ValueError(
            f"numbers of a table with decimal commas must have no comma between thousands; got {found!r}; write "
            f"{found.replace(',', '')} (or all numbers with decimal points, if this comma is a decimal comma)"
        )


def _with_points(frame: pd.DataFrame, columns: Sequence[object]) -> tuple[pd.DataFrame, list[str]]:
    """Write numbers that have a decimal comma with a point, and say so."""
    found = _decimal_comma(_texts(frame[list(columns)]))
    if found is None:
        return frame, []
    frame = frame.copy()
    for column in columns:
        if _head(column)[0] in ("n", "tokens"):
            _refuse_doubtful(_texts(frame[[column]]))
        frame[column] = [
            cell.replace(".", "").replace(",", ".") if isinstance(cell, str) else cell
            for cell in frame[column]
        ]
    return frame, [f"numbers have a decimal comma, such as {found!r}"]


def _in_tens(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Take tokens that all end in 0 as rounded to tens, hundreds, or what else all of them share."""
    cells = [row.cells["tokens"] for row in rows if "tokens" in row.cells]
    if len(cells) < 2 or any(x.half_unit != 0.5 or x.value == 0 for x in cells):
        return list(rows), []
    zeros = min(len(str(int(x.value))) - len(str(int(x.value)).rstrip("0")) for x in cells)
    if not zeros:
        return list(rows), []
    out = [
        Row(
            r.name,
            {c: replace(x, half_unit=0.5 * 10**zeros) if c == "tokens" else x for c, x in r.cells.items()},
        )
        for r in rows
    ]
    return out, [f"all token numbers end in 0, so they are read as rounded to {10**zeros:,}"]


def _refuse_outside(rows: Sequence[Row]) -> None:
    limits = {"accuracy": (0.0, 100.0), "baseline": (0.0, 100.0), "p": (0.0, 1.0), "kappa": (-1.0, 1.0)}
    limits |= dict.fromkeys(("gained", "lost", "tokens", "cost", *_PER_POINT), (0.0, math.inf))
    for row in rows:
        for column, (low, high) in limits.items():
            cell = row.cells.get(column)
            if cell is not None and not low <= cell.value <= high:
                within = f"between {low:g} and {high:g}" if high < math.inf else "at or above 0"
                raise ValueError(f"{column} must lie {within}; got {cell.text!r} in row {row.name!r}")


_PER_POINT = ("tokens_per_point", "cost_per_point")
_SUMMED = ("accuracy", "baseline", "kappa", "gain", "relative_gain", "tokens", "cost")
"""Columns of which a row of averages may print the average."""
_PAIRS = 400
"""Above so many pairs of counts that print both accuracies, tables of counts are not enumerated."""
_SLACK = 1e-9
_OTHER_ITEMS = "another number of items, clusters of items, or scores that are not 0 or 1"


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a user's table: columns that some row must have together, the question, what yields findings."""

    name: str
    needs: tuple[str, ...]
    asks: str
    run: Callable[[UserTable], Iterator[Finding]]


def _shares(table: UserTable) -> Iterator[Finding]:
    for row in _of_items(table, "accuracy", "n"):
        yield check_share(row.cells["accuracy"], _n(row.n), place=row.name, percent=table.percent)


def _gains(table: UserTable) -> Iterator[Finding]:
    unit = table.units["gain"]
    for row in table.with_columns("accuracy", "baseline", "gain"):
        new, old = _both(table, row, unit)
        yield check_difference(new, old, row.cells["gain"], place=row.name, check="gain")


def _relative_gains(table: UserTable) -> Iterator[Finding]:
    for row in table.with_columns("accuracy", "baseline", "relative_gain"):
        new, old = _both(table, row, "share")
        said = table.cell(row, "relative_gain", "percent")
        if table.units["relative_gain"] == "share":
            said = replace(said, text=f"{said.text} = {said.value:.6g}%")
        if old.low > 0:  # nothing is relative to 0
            yield check_relative_gain(new, old, said, place=row.name, check="relative gain in percent")


def _both(table: UserTable, row: Row, unit: Unit) -> list[Printed]:
    return [table.cell(row, column, unit) for column in FROM_ITEMS]


def _items_to_change(table: UserTable) -> Iterator[Finding]:
    for row in table.with_columns("gained", "lost"):
        known = [c for c in FROM_ITEMS if c in row.cells and not row.cells[c].several_runs]
        if not known or (table.units["gained"] == "count" and row.n is None):
            continue
        up, down = (table.cell(row, column, "percent") for column in ("gained", "lost"))
        of = {"accuracy": "after", "baseline": "before"}
        accuracies = {of[c]: table.cell(row, c, "percent") for c in known}
        yield check_items_to_change(up, down, n=row.n, place=row.name, **accuracies)


def _gained_and_lost(table: UserTable) -> Iterator[Finding]:
    for row in table.with_columns("gained", "lost"):
        unit = table.units["gain"] if "gain" in row.cells else table.units["accuracy"]
        if table.units["gained"] == "count" and row.n is None:
            continue
        if "gain" in row.cells:
            said = _from_entries(table, row, "gain")
        elif row.has(("accuracy", "baseline")):
            new, old = _both(table, row, unit)
            said = Printed(f"{new} - {old}", new.value - old.value, new.half_unit + old.half_unit)
        else:
            continue
        up, down = (table.cell(row, column, unit) for column in ("gained", "lost"))
        found = check_gains_and_losses(up, down, said, place=row.name)
        needed = found.needed and "other numbers gained and lost, or numbers for other items"
        yield replace(found, needed=needed)


def _from_entries(table: UserTable, row: Row, column: str) -> Printed:
    """Return a gain, granting that it was taken from the accuracies as printed and is off by their rounding."""
    said = row.cells[column]
    if column not in ("gain", "relative_gain") or "accuracy" not in row.cells:
        return said
    unit = table.units[column]
    new = table.cell(row, "accuracy", unit)
    # A baseline that is not printed has as many digits as the accuracy.
    error = table.cell(row, "baseline", unit).half_unit if "baseline" in row.cells else new.half_unit
    if column == "gain":
        return replace(said, half_unit=said.half_unit + new.half_unit + error)
    whole = 1.0 if unit == "share" else 100.0
    ratio = 1 + said.value / whole
    old = table.cell(row, "baseline", unit) if "baseline" in row.cells else new.scaled(1 / max(ratio, 1e-9))
    if old.value <= error:
        return replace(said, half_unit=math.inf)
    slip = whole * (new.half_unit + abs(ratio) * error) / (old.value - error)
    return replace(said, half_unit=said.half_unit + slip)


def _t_and_p(table: UserTable) -> Iterator[Finding]:
    for row in table.with_columns("t", "p"):
        t, p = row.cells["t"], row.cells["p"]
        found = check_t_and_p(t, p, place=row.name, df=None if row.n is None else row.n - 1)
        other = "" if found.verdict != "inconsistent" else _other_t_test(t, p, row.n)
        yield replace(found, verdict="conditional", needed=other) if other else found


def _other_t_test(t: Printed, p: Printed, n: int | None) -> str:
    """Name the test other than a two-sided paired t test of n items that has this t and p; "" where there is none."""
    if (other := _test_of_items(implied_df(t, p), n)) != "":
        return other
    # One-sided: half the two-sided p, or the rest of it when the new run is the worse one.
    halves = [p.scaled(2)]
    if t.low <= 0:
        halves.append(Printed(p.text, 2 - 2 * p.value, 2 * p.half_unit + 1e-15))
    for half in halves:
        found = implied_df(t, half) if half.low <= 1 else None
        if found is not None and (n is None or holds(found, n - 1) or _test_of_items(found, n)):
            return "a one-sided test"
    return ""


def _test_of_items(found: tuple[int, int | None] | None, n: int | None) -> str:
    """Name the test of n items, other than the paired t, that has degrees of freedom in this range; "" if none has."""
    if found is None or n is None or holds(found, n - 1):
        return ""
    least, most = found
    if most is None:
        return "a p of the normal distribution, or more items"
    if most >= n and least <= 2 * n - 2:
        return "a test of two independent samples"
    return f"{least + 1} to {most + 1} pairs or clusters" if most < n - 1 else ""


def _one_df(table: UserTable) -> Iterator[Finding]:
    rows = table.with_columns("t", "p")
    # Rows of other numbers of items have other degrees of freedom.
    if len(rows) > 1 and len({r.n for r in rows}) == 1:
        found = check_common_df([(r.name, r.cells["t"], r.cells["p"]) for r in rows], place="all rows")
        yield _only_if(found, "another number of pairs for each row, or other tests in some rows")


def _paired_t(table: UserTable) -> Iterator[Finding]:
    for row in _of_items(table, "accuracy", "baseline", "t", "n"):
        new, old = _both(table, row, "share")
        n, t = _n(row.n), row.cells["t"]
        if n < 2:
            continue
        least, most = t_range(old, new, n)
        stated = sorted((abs(t.low), abs(t.high)))
        reached = stated[1] >= least - _SLACK and (stated[0] <= most + _SLACK or t.low <= 0 <= t.high)
        if len(counts_of_share(old, n, percent=False)) * len(counts_of_share(new, n, percent=False)) > _PAIRS:
            # Too many tables to count them: between the extremes every t is nearly reached.
            verdict: Verdict = "conditional" if reached else "inconsistent"
            needed = "a small number of lost items" if reached else _OTHER_ITEMS
            check, said = f"paired t of {n} right-or-wrong answers", f"{old} -> {new}, t = {t}"
            yield Finding(check, row.name, said, f"t from {least:z.2f} to {most:z.2f}", verdict, needed)
            continue
        found = check_paired_t(old, new, t, n, place=row.name)
        if found.verdict == "inconsistent":
            found = replace(found, needed=_OTHER_ITEMS)
        yield _only_if(found, "a z test, or a test of two independent samples") if reached else found


def _differences(table: UserTable) -> Iterator[Finding]:
    for row in _of_items(table, "accuracy", "baseline", "p", "n"):
        new, old = _both(table, row, "share")
        yield check_significance(old, new, row.cells["p"], _n(row.n), place=row.name, percent=False)


def _family(table: UserTable) -> Iterator[Finding]:
    rows = table.with_columns("p")
    if len(rows) > 1:
        yield check_p_values([(r.name, r.cells["p"]) for r in rows], place="all rows")


def _kappas(table: UserTable) -> Iterator[Finding]:
    rows = table.with_columns("accuracy", "kappa")
    for r in rows:
        a, k = r.cells["accuracy"], r.cells["kappa"]
        found = check_kappas([(a, k)], place=r.name, percent=table.percent)
        if kappa_of_any_classes(a, k, percent=table.percent):
            yield _only_if(found, "more than two classes")
        else:
            yield replace(found, needed="a weighted kappa, or one of other items")
    if len(rows) > 1:
        cells = [(r.cells["accuracy"], r.cells["kappa"]) for r in rows]
        found = check_kappas(cells, place="all rows", percent=table.percent)
        yield _only_if(found, "more than two classes, or other items in each row")


def _ratio(above: str) -> Callable[[UserTable], Iterator[Finding]]:
    def run(table: UserTable) -> Iterator[Finding]:
        for row in table.with_columns(above, "accuracy", f"{above}_per_point"):
            points, said = table.cell(row, "accuracy", "percent"), row.cells[f"{above}_per_point"]
            check = f"{above} per point of accuracy"
            if points.low > 0:
                yield check_ratio(row.cells[above], points, said, place=row.name, check=check)

    return run


def _price(table: UserTable) -> Iterator[Finding]:
    rows = [(r.name, r.cells["tokens"], r.cells["cost"]) for r in table.with_columns("tokens", "cost")]
    rows = [(name, tokens, cost) for name, tokens, cost in rows if tokens.low > 0 and cost.high > 0]
    if len(rows) > 1:
        found = check_one_price(rows, place="all rows")
        yield _only_if(found, "another price for some rows")


def _averages(table: UserTable) -> Iterator[Finding]:
    rows = table.rows
    sizes = [float(_n(r.n)) for r in rows] if all("n" in r.cells for r in rows) else None
    for whole in table.averages:
        # A column with a gap may be averaged over other rows than those that print it.
        columns = [c for c in _SUMMED if c in whole.cells and all(c in r.cells for r in rows)]
        if len(rows) < 2:
            continue
        unclear = []
        for column in columns:
            parts, said = [_from_entries(table, r, column) for r in rows], _from_entries(table, whole, column)
            if not all(math.isfinite(p.half_unit) for p in (*parts, said)):
                continue
            plain, weighted = (
                check_average(parts, said, place=whole.name, weights=w, check=f"average {column}")
                for w in (None, sizes)
            )
            if plain.verdict == "consistent":
                yield plain
            elif weighted.verdict == "consistent":
                yield replace(weighted, needed="rows weighted by their n")
            elif column == "relative_gain" and _of_averages(table, whole):
                yield _only_if(plain, "a relative gain of the averages")
            elif sizes is None or column == "relative_gain":
                unclear.append((column, plain))
            else:
                yield plain
        taken = {
            c: ([_from_entries(table, r, c) for r in rows], _from_entries(table, whole, c)) for c in columns
        }
        linear = {"accuracy", "baseline", "gain", *dict(unclear)} - {"relative_gain"}
        weights = _weights_exist([taken[c] for c in columns if c in linear] if sizes is None else [])
        for column, plain in unclear:
            among = check_within_parts(*taken[column], place="").verdict == "consistent"
            fits = weights and among
            yield _only_if(plain, "rows weighted by numbers that are not printed") if fits else plain


def _of_averages(table: UserTable, whole: Row) -> bool:
    """Say whether a row's relative gain is that of its own accuracy and baseline."""
    if not whole.has(("accuracy", "baseline")):
        return False
    new, old = _both(table, whole, "share")
    said = table.cell(whole, "relative_gain", "percent")
    return old.low > 0 and check_relative_gain(new, old, said, place="").verdict == "consistent"


def _weights_exist(columns: Sequence[tuple[Sequence[Printed], Printed]]) -> bool:
    """Say whether one weighting of the rows gives every column's average at once, rounding allowed for."""
    if not columns:
        return True
    from scipy.optimize import linprog

    rows, limits = [], []
    for parts, said in columns:
        scale = max(max(abs(p.high) for p in parts), abs(said.high), 1e-12)
        rows += [[p.low / scale for p in parts], [-p.high / scale for p in parts]]
        limits += [said.high / scale + 1e-9, -said.low / scale + 1e-9]
    n = len(columns[0][0])
    found = linprog([0.0] * n, A_ub=rows, b_ub=limits, A_eq=[[1.0] * n], b_eq=[1.0], bounds=(0, 1))
    return bool(found.status == 0)


def _wholes(table: UserTable) -> Iterator[Finding]:
    for whole in table.wholes:
        parts = table.with_columns("accuracy")
        if "accuracy" not in whole.cells or len(parts) < max(2, len(table.rows)):
            continue
        cells, said = [r.cells["accuracy"] for r in parts], whole.cells["accuracy"]
        sizes = [r.n for r in parts if r.n is not None]
        if len(sizes) == len(parts) and whole.n == sum(sizes):
            # The parts make up the whole, so that their sizes are its weights.
            found = check_average(
                cells, said, place=whole.name, weights=sizes, check="accuracy over all items"
            )
            plain = check_average(cells, said, place=whole.name)
            if found.verdict == "inconsistent" and plain.verdict == "consistent":
                found = replace(found, needed="a mean of the rows with equal weights")
            yield found
        else:
            yield check_within_parts(cells, said, place=whole.name)


def _sums_of_items(table: UserTable) -> Iterator[Finding]:
    sizes = [row.n for row in table.rows if row.n is not None]
    for whole in table.wholes:
        if whole.n is None or len(sizes) < 2 or len(sizes) < len(table.rows) or set(sizes) == {whole.n}:
            continue  # rows of the same items have the n of all
        said, implied = " + ".join(map(str, sizes)), f"{sum(sizes)}, and at least {max(sizes)}"
        found = fits_or_needs(
            "n of all items",
            whole.name,
            f"{whole.n} for {said}",
            implied,
            whole.n == sum(sizes),
            "items of other rows",
        )
        needed = "items in several rows" if whole.n < sum(sizes) else "items in no row"
        yield _only_if(found, needed) if whole.n >= max(sizes) else found


def _of_items(table: UserTable, *columns: str) -> list[Row]:
    """Return the rows that print these and whose accuracies are those of one run over n items."""
    items = [c for c in columns if c in FROM_ITEMS]
    return [row for row in table.with_columns(*columns) if not any(row.cells[c].several_runs for c in items)]


def _only_if(found: Finding, needed: str) -> Finding:
    """Return an inconsistent finding as a conditional one: the table does not say that it is not so."""
    return found if found.verdict != "inconsistent" else replace(found, verdict="conditional", needed=needed)


def _n(n: int | None) -> int:
    if n is None:
        raise ValueError("n must be printed or given; got none")
    return n


CHECKS = {
    name: Check(name, tuple(needs.split()), asks, run)
    for name, needs, asks, run in (
        ("share", "accuracy n", "Is each accuracy a whole number of n items?", _shares),
        ("gain", "accuracy baseline gain", "Is the gain the difference?", _gains),
        (
            "relative-gain",
            "accuracy baseline relative_gain",
            "Is it the gain of the entries?",
            _relative_gains,
        ),
        ("gained-lost", "gained lost", "Does gained minus lost equal the gain?", _gained_and_lost),
        (
            "items-to-change",
            "gained lost",
            "Are there as many wrong items as are gained, and right ones as are lost?",
            _items_to_change,
        ),
        ("kappa", "accuracy kappa", "Which share of the majority class do they need?", _kappas),
        ("t-and-p", "t p", "Which degrees of freedom do t and p share?", _t_and_p),
        ("one-df", "t p", "Do all rows fit one number of degrees of freedom?", _one_df),
        ("paired-t", "accuracy baseline t n", "Can t come from n right-or-wrong answers?", _paired_t),
        ("difference-p", "accuracy baseline p n", "Can the difference have this p at n?", _differences),
        ("holm", "p", "Which tests remain significant after correction for their number?", _family),
        (
            "tokens-per-point",
            "tokens accuracy tokens_per_point",
            "Does it equal tokens divided by accuracy?",
            _ratio("tokens"),
        ),
        (
            "cost-per-point",
            "cost accuracy cost_per_point",
            "Does it equal cost divided by accuracy?",
            _ratio("cost"),
        ),
        ("one-price", "tokens cost", "Do all rows fit one price?", _price),
        ("average", "", "Is a row named average or mean the mean of the others?", _averages),
        ("overall", "accuracy", "Does a row named overall lie between the others?", _wholes),
        ("overall-n", "n", "Is its n the sum of the others?", _sums_of_items),
    )
}
"""Every check of a user's table by name, in the order of the report."""


@dataclass(frozen=True)
class TableAudit:
    """Findings of the checks of one table, and which checks were left out.

    Attributes
    ----------
    findings : tuple of Finding
        In the order of the checks.
    left_out : dict of str to str
        Checks that were not made, and why.
    ignored : tuple of str
        Columns that no check reads.
    notes : tuple of str
        What was decided in reading: the unit of each column, whether digits were rounded or cut off.

    Examples
    --------
    >>> from printed_tables import audit_table
    >>> columns = {"accuracy": ["85.0", "86.3"], "baseline": ["72.5", "72.5"], "gain": ["12.5", "14.8"]}
    >>> found = audit_table(pd.DataFrame(columns))
    >>> found.holds, [(finding.place, finding.implied) for finding in found.of("inconsistent")]
    (False, [('row 2', '13.8 (13.7 to 13.9)')])
    """

    findings: tuple[Finding, ...]
    left_out: Mapping[str, str]
    ignored: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def of(self, verdict: Verdict) -> tuple[Finding, ...]:
        """Return the findings with this verdict."""
        return tuple(f for f in self.findings if f.verdict == verdict)

    @property
    def holds(self) -> bool:
        """Whether nothing is inconsistent."""
        return not self.of("inconsistent")

    @property
    def headline(self) -> str:
        """The answer, how many findings are inconsistent."""
        if not self.findings:
            return "Nothing was checked, because no check has all of its columns."
        wrong, depends, right = (len(self.of(verdict)) for verdict in get_args(Verdict))
        return (
            f"{len(self.findings)} findings: {wrong} inconsistent, {depends} possible only under a further "
            f"condition, {right} consistent."
        )

    def __str__(self) -> str:
        ordered = (f for verdict in get_args(Verdict) for f in self.of(verdict))
        return "\n".join([self.headline, *map(str, ordered), *(f"Note: {note}." for note in self.notes)])


def audit_table(
    source: pd.DataFrame, *, checks: Sequence[str] | None = None, n: int | None = None
) -> TableAudit:
    """Check every number of a table against the others by interval arithmetic, rounding allowed for.

    A table is read in the way in which the fewest numbers are inconsistent, one unit a column; `notes` say which.

    Parameters
    ----------
    source : DataFrame
        One row per system.
        Columns that are read (upper and lower case alike): ``system`` (or ``model``, ``method``, ``framework``,
        ``configuration``, ``name``), ``accuracy`` and ``baseline`` (the accuracy compared with), ``kappa``, ``n``
        (items), ``gain`` (accuracy minus baseline), ``relative_gain``, ``gained`` and ``lost`` (items right in this run
        alone, and in the baseline alone: counts, percent or shares of n), ``t``, ``p`` (of that t, where both are
        printed), ``tokens``, ``cost``, ``tokens_per_point``, ``cost_per_point`` (per percentage point of accuracy).
        Cells should be text: a float has lost its closing zeros. A row called "average"
        or "mean", "overall", "total" or "all" is checked against the others.
    checks : sequence of str, optional
        Names in ``CHECKS``; by default all.
    n : int, optional
        Number of items of every row, when there is no column ``n``.

    Returns
    -------
    TableAudit

    Raises
    ------
    ValueError
        When a check is unknown, or wanted by name and its columns are missing; when the table cannot be read.

    Examples
    --------
    >>> table = pd.DataFrame({"system": ["MORE", "SAMRE"], "accuracy": ["85.0", "86.3"], "baseline": ["72.5", "72.5"],
    ...                       "gain": ["12.5", "14.8"]})
    >>> found = audit_table(table, n=80)
    >>> print(found.of("inconsistent")[0])
    SAMRE, gain: printed 14.8, implied 13.8 (13.7 to 13.9): inconsistent (other entries than the printed ones)
    """
    table = user_table(source, n=n)
    wanted = list(CHECKS) if checks is None else list(checks)
    for name in wanted:
        if name not in CHECKS:
            raise ValueError(f"check must be one of {', '.join(CHECKS)}; got {name!r}")
    made: list[tuple[int, Reading, TableAudit]] = []
    for reading in readings(table):
        found = _made(table.read_as(reading), wanted)
        made.append((len(found.of("inconsistent")), reading, found))
        if not made[-1][0]:
            break
    wrong, reading, found = min(made, key=lambda one: one[0])
    if checks is not None and found.left_out:
        name, why = next(iter(found.left_out.items()))
        raise ValueError(f"check {name!r} must have its columns ({', '.join(CHECKS[name].needs)}); got {why}")
    return replace(found, notes=(*_notes(table, reading, made[0][0] - wrong), *table.notes))


def _made(table: UserTable, wanted: Sequence[str]) -> TableAudit:
    """Make the wanted checks of a table in one reading."""
    findings: list[Finding] = []
    left_out: dict[str, str] = {}
    for name in wanted:
        check = CHECKS[name]
        made = list(check.run(table))
        findings += made
        if not made:
            missing = [c for c in check.needs if c not in table.columns]
            left_out[name] = f"no {' and no '.join(missing)}" if missing else "no comparable rows"
    return TableAudit(tuple(findings), left_out, table.ignored)


def _notes(table: UserTable, reading: Reading, saved: int) -> list[str]:
    """Say how the table was read, and why not in the first way."""
    notes = []
    first = next(readings(table))
    if units := said_of(table, reading):
        notes.append(f"read as {units}")
    if reading.units["accuracy"] == "share" and "accuracy" in table.columns:
        notes.append('accuracies are at most 1 and have no "%"; write "%" after percentages below 1')
    if saved:
        changes = [f"as {said_of(table, first)}"] if dict(first.units) != dict(reading.units) else []
        changes += ["rounded, not truncated"] if reading.cut_off else []
        notes.append(f"read {', '.join(changes)}, {saved} more findings would be inconsistent")
    if reading.cut_off:
        notes.append("digits are read as truncated, not rounded")
    return notes
