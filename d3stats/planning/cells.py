"""Cells of the tables of stopping rules as people read them: percent, points, counts, each with its limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from d3stats._words import percent, points
from d3stats.stopping.text import short_name

__all__ = [
    "Write",
    "amount",
    "cells",
    "change_cell",
    "limits_of",
    "plain",
    "rule_cell",
    "share_cell",
    "state_cell",
    "with_error",
]

Write = Callable[[Mapping[Any, Any]], str]
"""A function that makes a cell of a row."""


def limits_of(row: Mapping[Any, Any], measure: str) -> tuple[float, float, float]:
    """Return a measure of a row with its limits, NaN where there is none."""
    value, low, high = (float(row.get(f"{measure}{end}", float("nan"))) for end in ("", "_low", "_high"))
    return value, low, high


def cells(table: pd.DataFrame, columns: Mapping[str, Write]) -> pd.DataFrame:
    """Return a table of texts, one column per heading."""
    rows = table.to_dict("records")
    return pd.DataFrame({head: [write(row) for row in rows] for head, write in columns.items()}, dtype=object)


def rule_cell(row: Mapping[Any, Any]) -> str:
    """Name the rule of a row, a published one by its short name."""
    return short_name(str(row["rule"]))


def state_cell(row: Mapping[Any, Any]) -> str:
    """Name how far the tests of a row went."""
    return next((word for word in ("chosen", "certified", "tested") if row[word]), "not tested")


def amount(measure: str, digits: int, *, limits: bool = True) -> Write:
    """Write a number with its limits."""

    def write(row: Mapping[Any, Any]) -> str:
        value, low, high = limits_of(row, measure)
        if value != value:
            return "-"
        ends = f" [{low:z,.{digits}f}, {high:z,.{digits}f}]" if limits and low == low else ""
        return f"{value:z,.{digits}f}{ends}"

    return write


def share_cell(measure: str, digits: int | None = 1) -> Write:
    """Write a share in percent with its limits."""

    def write(row: Mapping[Any, Any]) -> str:
        value, low, high = limits_of(row, measure)
        return "-" if value != value else percent(value, low, high, digits=digits)

    return write


def change_cell(measure: str) -> Write:
    """Write a change of a share in points with its limits; the heading has the unit."""

    def write(row: Mapping[Any, Any]) -> str:
        value, low, high = limits_of(row, measure)
        return "-" if value != value else points(value, low, high).replace(" points", "")

    return write


def plain(measure: str, digits: int) -> Write:
    """Write a number alone."""
    return amount(measure, digits, limits=False)


def with_error(
    measure: str, times: float = 100, digits: int = 1, *, unit: str = " %", sign: str = ""
) -> Write:
    """Write a measure with its standard error in brackets, by default in percent."""

    def write(row: Mapping[Any, Any]) -> str:
        value, error = (float(row.get(f"{measure}{end}", float("nan"))) for end in ("", "_se"))
        if value != value:
            return "-"
        ending = unit if sign == "" else ""
        said = "" if error != error else f" ({times * error:z,.{digits}f})"
        return f"{times * value:{sign}z,.{digits}f}{ending}{said}"

    return write
