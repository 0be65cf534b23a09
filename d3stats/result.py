"""Text, tables, dictionary, LaTeX and HTML of every result, from one description of its tables."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd

from d3stats._latex import booktabs
from d3stats.estimate import Estimate, estimates_frame, estimates_latex

__all__ = ["EstimatesResult", "Result", "json_value"]


class Result:
    r"""Show a result in every form from one description of its tables.

    A subclass defines ``_tables``; ``_title`` where the class name says too little; and ``_json``, the attributes
    that its dictionary holds, where these are not title, tables and notes.

    Attributes
    ----------
    notes : tuple of str
        What a reader must know, one sentence each.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Shares(Result):
    ...     right: int
    ...     n: int
    ...     notes: tuple[str, ...] = ("one answer is missing",)
    ...
    ...     def _title(self) -> str:
    ...         return f"share of right answers among {self.n}"
    ...
    ...     def _tables(self) -> dict[str, pd.DataFrame]:
    ...         return {"shares": pd.DataFrame({"right": [self.right], "share": [self.right / self.n]})}
    >>> print(Shares(right=3, n=4))
    share of right answers among 4
    <BLANKLINE>
     right  share
         3 0.7500
    <BLANKLINE>
    note: one answer is missing
    >>> Shares(right=3, n=4).to_dict()["tables"]
    {'shares': [{'right': 3, 'share': 0.75}]}
    >>> shares = Shares(right=3, n=4)
    >>> shares.to_frame()["share"].tolist()
    [0.75]
    >>> shares.summary() == str(shares), "right" in shares._repr_html_()
    (True, True)
    >>> shares.to_latex(digits=2).splitlines()[4]
    '3 & 0.75 \\\\'
    """

    notes: tuple[str, ...] = ()
    _json: ClassVar[tuple[str, ...]] = ()

    def _title(self) -> str:
        """Return one line: what was computed, by which method, on how much data."""
        return type(self).__name__

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        """Return every table by its title, the main table first."""
        raise NotImplementedError(f"{type(self).__name__} must define _tables")

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Return the main table, or the one with this title.

        Parameters
        ----------
        table : str, optional
            Title of a table; by default the main one.

        Returns
        -------
        DataFrame
            One row per thing that was computed.

        Raises
        ------
        ValueError
            If no table has this title; the message lists those that exist.
        """
        tables = self._tables()
        if table is None:
            return next(iter(tables.values()))
        if table not in tables:
            raise ValueError(f"table must be one of {', '.join(map(repr, tables))}; got {table!r}")
        return tables[table]

    def summary(self) -> str:
        """Return the title, every table and the notes as text."""
        tables = self._tables()
        parts = [self._title()]
        for title, frame in tables.items():
            text = frame.to_string(index=_is_named(frame), float_format=_text, na_rep="", max_rows=None)
            parts.append(text if len(tables) == 1 else f"{title}\n{text}")
        parts += ["\n".join(f"note: {note}" for note in self.notes)] if self.notes else []
        return "\n\n".join(parts)

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Return title, tables (a list of rows each) and notes, or other attributes, as JSON can hold them."""
        if self._json:
            return {name: json_value(getattr(self, name)) for name in self._json}
        tables = {title: _records(frame) for title, frame in self._tables().items()}
        return {"title": self._title(), "tables": tables, "notes": list(self.notes)}

    def to_latex(self, table: str | None = None, *, digits: int = 3) -> str:
        """Return the main table, or the one with this title, as a booktabs tabular; every cell is escaped.

        Parameters
        ----------
        table : str, optional
            Title of a table.
        digits : int
            Digits after the point of numbers that are not whole.

        Returns
        -------
        str
            A tabular, without a float around it.
        """
        frame = self.to_frame(table)
        frame = frame.reset_index() if _is_named(frame) else frame
        numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]
        columns = "".join("r" if number else "l" for number in numeric)
        rows = ([_cell(value, digits) for value in row] for row in frame.itertuples(index=False))
        return booktabs(columns, [str(name) for name in frame.columns], rows)

    def _repr_html_(self) -> str:
        """Return title, tables and notes as HTML, as a notebook shows them."""
        tables = self._tables()
        parts = [f"<p><strong>{html.escape(self._title())}</strong></p>"]
        for title, frame in tables.items():
            parts += [f"<p>{html.escape(title)}</p>"] if len(tables) > 1 else []
            parts.append(frame.to_html(index=_is_named(frame), float_format=_text, na_rep="", border=0))
        parts += [f"<p>note: {html.escape(note)}</p>" for note in self.notes]
        return "\n".join(parts)


class EstimatesResult(Result):
    """Show a result that is a list of estimates: one row each, columns as in :class:`~d3stats.estimate.Estimate`.

    Examples
    --------
    >>> from d3stats.inference import fleiss_kappa
    >>> found = fleiss_kappa(pd.DataFrame({"a": [1, 1, 0, 0], "b": [1, 1, 0, 1], "c": [0, 1, 0, 0]}))
    >>> [each.name for each in found.estimates]
    ["Fleiss' kappa", 'share of agreement']
    >>> found.to_frame()[["value", "n"]].round(3).values.tolist()
    [[0.333, 4.0], [0.667, 4.0]]
    """

    _json: ClassVar[tuple[str, ...]] = ("estimates", "notes")

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The estimates, what was asked for first."""
        raise NotImplementedError(f"{type(self).__name__} must define estimates")

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {"estimates": estimates_frame(self.estimates)}

    def _remarks(self) -> list[str]:
        """Return the lines that stand below the estimates."""
        return []

    def summary(self) -> str:
        """Return one line per estimate, remarks and notes as text."""
        notes = (f"note: {note}" for note in self.notes)
        return "\n".join([*map(str, self.estimates), *self._remarks(), *notes])

    def to_latex(self, table: str | None = None, *, digits: int = 3) -> str:
        """Return the estimates as a booktabs tabular (estimate, interval, kind, size), or the table of this title."""
        if table not in (None, next(iter(self._tables()))):
            return super().to_latex(table, digits=digits)
        return estimates_latex(self.estimates, digits=digits)


class _HasEstimates(Protocol):
    @property
    def estimates(self) -> tuple[Estimate, ...]: ...

    def find(self, name: str) -> Estimate | None: ...


class ByName:
    """Access to the estimates of a result by their names."""

    def find(self: _HasEstimates, name: str) -> Estimate | None:
        """Return the estimate of this name, or None where the data do not give it."""
        return next((e for e in self.estimates if e.name == name), None)

    def __getitem__(self: _HasEstimates, name: str) -> Estimate:
        found = self.find(name)
        if found is None:
            raise KeyError(f"no estimate {name!r}; there are {[e.name for e in self.estimates]}")
        return found


def json_value(value: object) -> Any:
    """Return a value as JSON can hold it: missing and infinite as None, arrays as lists, a frame as a list of rows.

    Parameters
    ----------
    value : object
        Numbers, texts, arrays, frames, sequences, mappings, dataclasses, or results with ``to_dict``.

    Returns
    -------
    object
        What `json.dumps` takes.

    Examples
    --------
    >>> json_value({"share": np.float64("nan"), "counts": np.arange(2)})
    {'share': None, 'counts': [0, 1]}
    """
    match value:
        case pd.DataFrame():
            return _records(value)
        case Mapping():
            return {str(key): json_value(each) for key, each in value.items()}
        case list() | tuple():
            return [json_value(each) for each in value]
        case np.ndarray() | np.generic():
            return json_value(value.tolist())
        case float():
            return value if math.isfinite(value) else None
        case None | bool() | int() | str():
            return value
    if hasattr(value, "to_dict"):
        return json_value(value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return json_value(asdict(value))
    return None if value is pd.NA or value is pd.NaT else str(value)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    frame = frame.reset_index() if _is_named(frame) else frame
    names = [str(name) for name in frame.columns]
    return [dict(zip(names, map(json_value, row), strict=True)) for row in frame.itertuples(index=False)]


def _is_named(frame: pd.DataFrame) -> bool:
    """Say whether the rows have names of their own; a plain count of rows is no name."""
    return not isinstance(frame.index, pd.RangeIndex)


def _text(value: float) -> str:
    return f"{value:z.4f}" if abs(value) >= 5e-4 or value == 0 else f"{value:.3g}"


def _cell(value: object, digits: int) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float | np.floating):
        return f"{value:z.{digits}f}"
    return str(value)
