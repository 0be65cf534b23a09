"""Confidences of votes in tables: which column tells of which votes, and which cells are numbers from 0 to 1.

A column is read only if all its cells are such numbers, or if it was chosen. Percentages are read only from a column
that is called, or was chosen to be, ``confidence_percent``, because 1 may be 1 % or certainty.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from d3stats._words import counted, verb
from d3stats.log.cells import DECIMAL
from d3stats.log.column_names import ColumnError, Resolved, other_names, plain, to_type
from d3stats.log.columns import Coded
from d3stats.log.problems import Advised
from d3stats.note import UNREAD_CONFIDENCE, Note, warning
from d3stats.values import is_missing_word

__all__ = ["FIELDS", "columns_of_votes", "one_field", "read_cells"]

FIELDS = ("confidence", "confidence_percent")
"""The fields of a table that hold confidences, as numbers from 0 to 1 and from 0 to 100."""
_WORDS = {field: frozenset(map(plain, (field, *other_names(field)))) for field in FIELDS}


def one_field(found: Resolved) -> list[str]:
    """Return the field to leave out where columns of both fields were found: the one that was not chosen.

    Raises
    ------
    ColumnError
        When none was chosen, or both.
    """
    both = [field for field in FIELDS if field in found.columns]
    chosen = [field for field in both if field in found.chosen]
    if len(both) < 2:
        return []
    if len(chosen) == 1:
        return [field for field in both if field not in chosen]
    first = found.columns[both[0]]
    step = f"choose one with {to_type(confidence=first[0] if len(first) == 1 else list(first))}"
    names = ", ".join(name for field in both for name in found.columns[field])
    raise ColumnError(
        "confidence", Advised("a table must have one column for the confidence", step, got=names)
    )


def columns_of_votes(
    votes: Sequence[str],
    places: Sequence[tuple[str, str]],
    names: Sequence[str],
    place_of: Mapping[str, tuple[str, str]],
) -> dict[str, dict[str, str]]:
    """Return for each field the column that tells of each column of votes, by their names.

    Parameters
    ----------
    votes : sequence of str
        Columns of votes in a wide table.
    places : sequence of (str, str)
        Agent and round of each.
    names : sequence of str
        Columns that may tell of them, such as ``x_confidence`` of the votes in ``x``.
    place_of : mapping of str to (str, str)
        Agent and round that each of these names says.

    Returns
    -------
    dict of str to dict of str to str

    Examples
    --------
    >>> columns_of_votes(["x", "y"], [("x", ""), ("y", "")], ["x_confidence", "conf y"], {})
    {'confidence': {'x': 'x_confidence', 'y': 'conf y'}}
    """
    by_name = {plain(vote): vote for vote in votes}
    by_place = {
        (plain(agent), number): vote for vote, (agent, number) in zip(votes, places, strict=True) if number
    }
    found: dict[str, dict[str, str]] = {}
    for name in names:
        agent, number = place_of.get(name, ("", ""))
        for text, known in ((name, by_name), (agent if number else "", by_place)):
            for field, who in _parted(text):
                key = who if known is by_name else (who, number)
                if key in known:
                    found.setdefault(field, {}).setdefault(known[key], name)  # type: ignore[index]  # of its kind of key
    return found


def _parted(name: str) -> list[tuple[str, str]]:
    """Return the field and the rest of a name that begins or ends in a word for confidence, the longest word first."""
    parts = [part for part in re.split(r"[\W_]+", name) if part]
    cut = [
        (what, who)
        for k in range(1, len(parts))
        for who, what in ((parts[:k], parts[k:]), (parts[k:], parts[:k]))
    ]
    ways = [(field, plain("".join(who)), len(what)) for what, who in cut for field in FIELDS
            if plain("".join(what)) in _WORDS[field]]  # fmt: skip
    return [(field, who) for field, who, _ in sorted(ways, key=lambda way: -way[2])[:1]]


def read_cells(
    cells: Coded, field: str, columns: Sequence[str], chosen: bool
) -> tuple[Coded | None, list[Note]]:
    """Return a column of confidences as texts of numbers from 0 to 1, None where it is not read, and what to say.

    Parameters
    ----------
    cells : Coded
        The cells, a decimal comma already a point.
    field : {"confidence", "confidence_percent"}
        What the column is taken for.
    columns : sequence of str
        Its name; in a wide table, the names of the columns that make it.
    chosen : bool
        Whether the user chose it. Cells that are no confidence are then missing votes' confidences and counted;
        without a choice such a column is not read.

    Returns
    -------
    tuple of (Coded or None, list of Note)

    Raises
    ------
    ColumnError
        When a chosen column has no cell that is a confidence.

    Examples
    --------
    >>> read_cells(Coded.of(["0.5", "1", None]), "confidence", ["conf"], False)[0].values
    ['0.5', '1.0']
    >>> print(read_cells(Coded.of(["80", "95"]), "confidence", ["conf"], False)[1][0].partition(";")[0])
    column 'conf' was not read as confidence, because 2 of 2 cells are no number from 0 to 1, such as '80'
    """
    named = columns[0] if len(columns) == 1 else list(columns)
    column = f"column {columns[0]!r}" if len(columns) == 1 else f"columns {', '.join(map(repr, columns))}"
    most = 1.0 if field == "confidence" else 100.0
    values = {text: _number(text, most, percent=field != "confidence") for text in cells.values}
    texts = np.array([not is_missing_word(text) for text in cells.values] + [False])
    wrong = np.array([value is None for value in values.values()] + [False]) & texts
    n, bad = int(texts[cells.codes].sum()), int(wrong[cells.codes].sum())
    limits = f"no number from 0 to {most:g}"
    such = next((cells.values[code] for code in cells.codes.tolist() if wrong[code]), "")
    if bad and not chosen:
        step = f"; {advice}" if field == "confidence" and (advice := _step(named, such)) else ""
        others = f"; {to_type(**{field: named})} reads the others" if bad < n else ""
        text = (
            f"{column} {verb(len(columns), 'was', 'were')} not read as confidence, because {bad:,} of "
            f"{counted(n, 'cell')} {verb(bad, 'is', 'are')} {limits}, such as {such!r}{step}{others}"
        )
        return None, [Note(text, kind=UNREAD_CONFIDENCE, about="confidence", n=bad, examples=columns)]
    if bad and bad == n:
        needed = f"{field} must be a number from 0 to {most:g}"
        raise ColumnError(field, Advised(needed, _step(named, such) or "choose another column",
                                         got=f"{such!r} in {column}"))  # fmt: skip
    notes = []
    if bad:
        text = (
            f"{bad:,} of {counted(n, 'cell')} in {column} {verb(bad, 'is', 'are')} {limits}, such as {such!r}; "
            f"{verb(bad, 'this vote counts', 'these votes count')} without a confidence"
        )
        notes.append(warning(text, UNREAD_CONFIDENCE, about="confidence", n=bad, examples=[such]))
    if field != "confidence" and n > bad:
        text = f"{column} {verb(len(columns), 'holds', 'hold')} confidences in per cent, read as shares"
        notes.append(Note(text, kind="per cent", about="confidence", n=n - bad))
        notes += _maybe_shares(cells, values, columns, n - bad, named)
    shares = {text: None if value is None else repr(value / most) for text, value in values.items()}
    return cells.mapped(shares), notes


def _maybe_shares(
    cells: Coded, values: Mapping[str, float | None], columns: Sequence[str], n: int, named: str | list[str]
) -> list[Note]:
    """Warn of per cents of which all are at most 1: they may be shares."""
    seen = [cells.values[code] for code in dict.fromkeys(cells.codes.tolist()) if code >= 0]
    known = [(text, value) for text in seen if (value := values[text]) is not None]
    if any(value > 1 or text.rstrip().endswith("%") for text, value in known) or not any(v for _, v in known):
        return []
    such, value = max(known, key=lambda pair: float(pair[1] or 0.0))
    text = (
        f"{counted(n, 'confidence')} in {' and '.join(map(repr, columns))} {verb(n, 'is', 'are')} at most 1 and "
        f"{verb(n, 'is', 'are')} read as per cents, such as {such!r} as {value:g} %; if they are shares, use "
        f"{to_type(confidence=named)}"
    )
    return [warning(text, "per cents below 1", about="confidence", n=n, examples=[such])]


def _step(named: str | list[str], such: str) -> str:
    """Say how to read per cents, where a cell may be one."""
    try:
        may_be = 1 < float(such.strip().rstrip("% ")) <= 100
    except ValueError:
        may_be = False
    return f"if they are per cents, add {to_type(confidence_percent=named)}" if may_be else ""


def _number(text: str, most: float, *, percent: bool) -> float | None:
    written = text.strip()
    written = written.removesuffix("%").rstrip() if percent else written
    if DECIMAL.fullmatch(written) is None or not float(written) <= most:
        return None
    return float(written)
