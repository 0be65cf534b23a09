"""Text, tables, dictionary, LaTeX and HTML of every result, from one description of its tables."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd

from d3stats._latex import booktabs
from d3stats.estimate import Estimate, estimates_frame, estimates_latex
from d3stats.note import above_and_below, around, note_values, worst_first

__all__ = ["EstimatesResult", "Gate", "Result", "json_value"]

REFUTED, UNDECIDED = 4, 5
"""Exit codes of a program whose claim is refuted, and whose claim the data do not decide."""


@dataclass(frozen=True)
class Gate:
    """Whether the data show a claim, for programs that continue only if they do.

    Attributes
    ----------
    claim : str
        What was to be shown.
    shown : bool or None
        True where the whole interval agrees with the claim, False where none of it does, None where the limit lies
        inside the interval, or there is no interval.
    found : str
        The estimate with its interval.

    Examples
    --------
    >>> alpha = Estimate(name="alpha", value=0.82, low=0.76, high=0.88, kind="cluster t", n=157)
    >>> gate = Gate.of([alpha], at_least=0.8)
    >>> print(gate)
    Not decided: alpha is at least 0.8 (0.820 [0.760, 0.880])
    >>> gate.code, Gate.of([alpha], at_least=0.7).code, Gate.of([alpha], at_most=0.7).code
    (5, 0, 4)
    >>> bool(Gate.of([alpha], at_least=0.7)), gate.to_dict()["outcome"]
    (True, 'not decided')
    """

    claim: str
    shown: bool | None
    found: str

    @classmethod
    def of(
        cls,
        estimates: Sequence[Estimate],
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        absolute: bool = False,
    ) -> Gate:
        """Hold the intervals of estimates against a limit, all of which must agree with it.

        Parameters
        ----------
        estimates : sequence of Estimate
            A claim is refuted where one of them refutes it.
        at_least, at_most : float
            One of them: the limit.
        absolute : bool
            Whether `at_most` limits the size of an effect of any sign.

        Returns
        -------
        Gate

        Raises
        ------
        ValueError
            If not one of both limits is given, a limit is not finite, or there is no estimate.
        """
        limit = _one_limit(at_least, at_most)
        if not estimates:
            raise ValueError("estimates must hold at least one to hold against a limit; got none")
        least = at_least is not None
        verdicts: list[bool | None] = []
        for e in estimates:
            if e.low is None or e.high is None:
                verdicts.append(None)
                continue
            low, high = e.low, e.high
            if absolute:
                low, high = (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))
            inside, outside = (low >= limit, high < limit) if least else (high <= limit, low > limit)
            verdicts.append(True if inside else False if outside else None)
        shown = False if False in verdicts else None if None in verdicts else True
        deciding = next(e for e, verdict in zip(estimates, verdicts, strict=True) if verdict is shown)
        what = "every estimate" if len(estimates) > 1 else deciding.name
        size = f"the size of {what}" if absolute else what
        words = "at least" if least else "at most"
        limits = "no interval" if deciding.low is None else f"[{deciding.low:z.3f}, {deciding.high:z.3f}]"
        name = f"{deciding.name} " if len(estimates) > 1 else ""
        return cls(f"{size} is {words} {limit:g}", shown, f"{name}{deciding.value:z.3f} {limits}")

    @property
    def outcome(self) -> str:
        """One of "shown", "refuted" and "not decided"."""
        return {True: "shown", False: "refuted", None: "not decided"}[self.shown]

    @property
    def code(self) -> int:
        """The exit code of a program: 0 shown, 4 refuted, 5 not decided."""
        return {True: 0, False: REFUTED, None: UNDECIDED}[self.shown]

    def to_dict(self) -> dict[str, Any]:
        """Return claim, outcome, exit code and estimate, as JSON can hold them."""
        return {"claim": self.claim, "outcome": self.outcome, "code": self.code, "found": self.found}

    def __bool__(self) -> bool:
        return self.shown is True

    def __str__(self) -> str:
        return f"{self.outcome.capitalize()}: {self.claim} ({self.found})"


class TablesOnDemand(Mapping[str, pd.DataFrame]):
    """Tables by their titles; each is made when it is first read, because some take seconds and few are printed."""

    def __init__(self, makers: Mapping[str, Callable[[], pd.DataFrame]]) -> None:
        self._makers = makers
        self._made: dict[str, pd.DataFrame] = {}

    def __getitem__(self, title: str) -> pd.DataFrame:
        if title not in self._made:
            self._made[title] = self._makers[title]()
        return self._made[title]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def _one_limit(at_least: float | None, at_most: float | None) -> float:
    given = [limit for limit in (at_least, at_most) if limit is not None]
    if len(given) != 1:
        raise ValueError(
            f"exactly one of at_least and at_most must be given; got at_least={at_least!r}, at_most={at_most!r}"
        )
    if not math.isfinite(given[0]):
        raise ValueError(f"the limit must be finite; got {given[0]!r}")
    return float(given[0])


class Result:
    r"""Show a result in every form from one description of its tables.

    A subclass defines ``headline`` and ``_tables``; ``_title``, a caption, where the tables need one; and ``_json``,
    the attributes that its dictionary holds, where these are not title, tables and notes.

    Attributes
    ----------
    headline : str
        The answer in one sentence, with its uncertainty.
    notes : tuple of str
        What a reader must know, one sentence each; shown worst first.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Shares(Result):
    ...     right: int
    ...     n: int
    ...     notes: tuple[str, ...] = ("one answer is missing",)
    ...
    ...     @property
    ...     def headline(self) -> str:
    ...         return f"{self.right} of {self.n} answers are right."
    ...
    ...     def _tables(self) -> dict[str, pd.DataFrame]:
    ...         return {"shares": pd.DataFrame({"right": [self.right], "share": [self.right / self.n]})}
    >>> print(Shares(right=3, n=4))
    3 of 4 answers are right.
    <BLANKLINE>
     right  share
         3 0.7500
    <BLANKLINE>
    note: one answer is missing
    >>> Shares(right=3, n=4)
    <Shares: 3 of 4 answers are right. Tables: shares>
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

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Keep the short form of a result, which a dataclass would replace by all of its fields."""
        super().__init_subclass__(**kwargs)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]  # in place of the dataclass's

    @property
    def headline(self) -> str:
        """The answer in one sentence, with its uncertainty."""
        raise NotImplementedError(f"{type(self).__name__} must define headline")

    @property
    def _n_main(self) -> int:
        """How many of the tables that people read answer the question; the others are further ones."""
        return 1

    def _answer(self) -> Sequence[str]:
        """Return the sentences that answer the question, the most important first."""
        return (self.headline,)

    def _title(self) -> str:
        """Return a caption, "" for none: what was computed, by which method, on how much data."""
        return ""

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        """Return every table by its title, the main table first."""
        raise NotImplementedError(f"{type(self).__name__} must define _tables")

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        """Return the tables that people read, the main one first, with five columns at most where cells are text."""
        return self._tables()

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

    def gate(self, *, at_least: float | None = None, at_most: float | None = None) -> Gate:
        """Say whether the data show that what was estimated is at least, or at most, so large.

        The claim is shown where the whole interval agrees with it, refuted where none of it does, and else not
        decided: a two-sided interval at level 95 % gives a one-sided test at 2.5 %.

        Parameters
        ----------
        at_least, at_most : float
            One of them: the limit.

        Returns
        -------
        Gate
            Its ``code`` is the exit code of a program: 0 shown, 4 refuted, 5 not decided.

        Raises
        ------
        ValueError
            If not one of both is given, or the result has no estimate with an interval.

        Examples
        --------
        >>> from d3stats import agreement
        >>> votes = pd.DataFrame({"x": list("AABBCCAB") * 5, "y": list("AABCCCAB") * 5, "z": list("AABBCCAA") * 5})
        >>> agreement(votes).gate(at_least=0.5).outcome
        'shown'
        """
        return Gate.of(self._gated(), at_least=at_least, at_most=at_most)

    def _gated(self) -> Sequence[Estimate]:
        """Return the estimates that a gate holds against a limit."""
        raise ValueError(f"a gate must be given a result with an estimate; got {type(self).__name__}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.headline.rstrip('.')}. Tables: {', '.join(self._tables())}>"

    def summary(self) -> str:
        """Return the answer, every table and the notes as text."""
        tables = self._shown()
        warned, others = above_and_below(self.notes)
        parts = ["\n".join(filter(None, (*self._answer(), self._title(), *warned)))]
        for title, frame in tables.items():
            text = frame.to_string(index=_is_named(frame), float_format=_text, na_rep="", max_rows=None)
            parts.append(text if len(tables) == 1 else f"{title}\n{text}")
        return "\n\n".join([*parts, *(["\n".join(others)] if others else [])])

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Return headline, title, tables (a list of rows each) and notes, or attributes, as JSON can hold them.

        A note is a dictionary: ``text, severity``, and where they are known ``kind, about, count, examples``.
        """
        document: dict[str, Any] = json_value({"headline": self.headline} | self._document())
        return document

    def _document(self) -> dict[str, Any]:
        """Return what the dictionary holds beside the headline."""
        if self._json:
            return {name: getattr(self, name) for name in self._json}
        return {"title": self._title(), "tables": self._listed(), "notes": self.notes}

    def _listed(self) -> dict[str, list[dict[str, Any]]]:
        """Return every table as a list of rows, by its title."""
        return {title: _records(frame) for title, frame in self._tables().items()}

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
        if table is None or table == next(iter(self._tables())):
            own = self._latex(digits)
            if own is not None:
                return own
        shown = self._shown()
        frame = next(iter(shown.values())) if table is None else shown.get(table)
        frame = self.to_frame(table) if frame is None else frame
        frame = frame.reset_index() if _is_named(frame) else frame
        numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]
        columns = "".join("r" if number else "l" for number in numeric)
        rows = ([_cell(value, digits) for value in row] for row in frame.itertuples(index=False))
        return booktabs(columns, [str(name) for name in frame.columns], rows)

    def _latex(self, digits: int) -> str | None:
        """Return the main table as a tabular of its own form; None for that of its frame."""
        return None

    def _repr_html_(self) -> str:
        """Return the answer, the tables and the notes as HTML, as a notebook shows them."""
        tables = self._shown()
        parts = [f"<p><strong>{'<br>'.join(map(html.escape, self._answer()))}</strong></p>"]
        parts += [f"<p>{html.escape(title)}</p>"] if (title := self._title()) else []
        for title, frame in tables.items():
            parts += [f"<p>{html.escape(title)}</p>"] if len(tables) > 1 else []
            parts.append(frame.to_html(index=_is_named(frame), float_format=_text, na_rep="", border=0))
        parts += [f"<p>note: {html.escape(note)}</p>" for note in worst_first(self.notes)]
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

    @property
    def headline(self) -> str:
        """The first estimate with its interval."""
        return (
            str(self.estimates[0]) if self.estimates else "There is no estimate; the notes give the reason."
        )

    def _gated(self) -> Sequence[Estimate]:
        return self.estimates[:1]

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {"estimates": estimates_frame(self.estimates)}

    def _remarks(self) -> list[str]:
        """Return the lines that stand below the estimates."""
        return []

    def summary(self) -> str:
        """Return the answer, one line per estimate, remarks and notes as text."""
        lines = list(map(str, self.estimates))
        answer = [line for line in self._answer() if line not in lines[:1]]
        return "\n".join(around([*answer, *lines, *self._remarks()], self.notes, len(answer)))

    def _latex(self, digits: int) -> str:
        """Return the estimates: estimate, interval, kind, size."""
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

    Texts under the names ``notes`` and ``warnings`` are notes, which become dictionaries.

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
            return {str(key): _notes_or_value(str(key), each) for key, each in value.items()}
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


def _notes_or_value(name: str, value: object) -> Any:
    if (
        name in ("notes", "warnings")
        and isinstance(value, list | tuple)
        and all(isinstance(each, str) for each in value)
    ):
        return note_values(value)
    return json_value(value)


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
