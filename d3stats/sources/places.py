"""Do columns of verdicts describe the answers A and B, or the places in which they were shown?

Items that were shown in both orders tell: what describes the answers is the same in both orders, and what describes the
places is exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._words import counted, setting
from d3stats.log.column_names import choice_of, plain, to_type
from d3stats.log.tables import truths
from d3stats.note import Note
from d3stats.trajectories import MISSING
from d3stats.values import is_missing_word

__all__ = ["as_of_answers", "order_of_swaps"]

Ints = NDArray[np.int64]
_PAIRS = (("length_a", "length_b"), ("family_a", "family_b"), ("model_a", "model_b"))
_CLEARLY = 0.9
"""From this share of exchanged items on, columns describe places; below it some items are wrong in another way."""
_SWAPPED = frozenset(
    f"{before}{word}{after}"
    for word in ("swap", "swapped", "flip", "flipped", "reversed")
    for before, after in (("", ""), ("is", ""), ("was", ""), ("", "order"), ("order", ""), ("position", ""))
)
"""Plain names of columns that say whether B was shown first."""


def order_of_swaps(table: pd.DataFrame, columns: Any = None) -> tuple[pd.DataFrame, list[str]]:
    """Make an order of a column that says whether the answers were swapped, where there is no order; and say so."""
    chosen = choice_of(columns).get("order")
    if "order" in table.columns:
        found = ["order"] if isinstance(chosen, str) and plain(chosen) in _SWAPPED else []
    else:
        found = [str(name) for name in table.columns if plain(name) in _SWAPPED]
    if not found:
        return table, []
    if len(found) > 1:
        raise ValueError(
            f"order must be one column; got {' and '.join(map(repr, found))}; choose one with {to_type(order=found[0])}"
        )
    name = str(chosen) if found == ["order"] else found[0]
    cells = [None if pd.isna(cell) or is_missing_word(str(cell)) else str(cell) for cell in table[found[0]]]
    meant = truths(sorted({cell for cell in cells if cell is not None}))
    if meant is None:
        strange = sorted({cell for cell in cells if cell is not None})[:3]
        raise ValueError(
            f"{name!r} must say True or False, whether B was shown first; got {', '.join(map(repr, strange))}; "
            "write the order as AB or BA in a column 'order'"
        )
    order = [None if cell is None else ("BA" if meant[cell] else "AB") for cell in cells]
    read = table.drop(columns=found).assign(order=pd.Series(order, index=table.index, dtype=object))
    read.attrs = table.attrs
    return read, [f"order is {name!r}: BA where it is true, AB where it is false"]


@dataclass(frozen=True)
class _Seen:
    """What items that were shown in both orders say of a pair of columns."""

    what: str
    same: int
    exchanged: int
    example: str

    @property
    def of_places(self) -> bool | None:
        """Whether the columns describe places; None where no item tells."""
        return None if self.same == self.exchanged == 0 else self.exchanged > self.same


def as_of_answers(
    table: pd.DataFrame, item: Ints, order: Ints, label: Ints, items: Sequence[str], votes: str
) -> tuple[pd.DataFrame, Ints, list[str]]:
    """Return lengths, families and labels as of the answers, and what was taken for what.

    Where votes name answers, columns that change places with the order are refused: the votes may name places too.
    """
    pairs = [pair for pair in _PAIRS if set(pair) <= set(table.columns)]
    seen = {
        pair: _seen(table[pair[0]], table[pair[1]], " and ".join(pair), item, order, items) for pair in pairs
    }
    known = np.where((label == 0) | (label == 1), label, MISSING)
    right = pd.Series(known).where(known != MISSING)
    of_label = _seen(right, 1 - right, "label", item, order, items)
    every = [*seen.values(), of_label]
    if votes == "answer":
        return table, label, _warned(every)
    told = [one.of_places for one in seen.values() if one.of_places is not None]
    back = order == 1
    moved: list[_Seen] = []
    kept: list[_Seen] = []
    unknown: list[_Seen] = []
    for pair, one in seen.items():
        places = one.of_places if one.of_places is not None else (any(told) if told else None)
        if places:
            first, second = (table[name] for name in pair)
            table = table.assign(**{pair[0]: first.mask(back, second), pair[1]: second.mask(back, first)})
            moved.append(one)
        else:
            (unknown if places is None else kept).append(one)
    if (known != MISSING).any() and (order[known != MISSING] == 1).any():
        if of_label.of_places:
            label = np.where(back & (known != MISSING), 1 - label, label)
            moved.append(of_label)
        else:
            (unknown if of_label.of_places is None else kept).append(of_label)
    notes: list[str] = []
    if moved:
        told_by = ", ".join(f"{one.what} (in {counted(one.exchanged, 'item')})" for one in moved)
        text = f"read as of the places, like the votes, because they change with the order: {told_by}"
        notes.append(Note(text, kind="columns of places", examples=[one.what for one in moved]))
    if kept:
        text = f"read as of the answers A and B, because they are the same in both orders: {_names(kept)}"
        notes.append(Note(text, kind="columns of answers", examples=[one.what for one in kept]))
    if unknown:
        text = (
            f"no item tells whether {_names(unknown)} describe the answers or, like the votes, the places; "
            "they were read as of the answers A and B"
        )
        notes.append(
            Note(text, kind="answers or places", severity="warning", examples=[o.what for o in unknown])
        )
    notes += [doubt for one in every if one.same and one.exchanged for doubt in [_doubt(one)]]
    return table, label, notes


def _warned(every: Sequence[_Seen]) -> list[str]:
    """Refuse columns that are exchanged with the order; warn where some items are."""
    places = [
        one for one in every if one.exchanged and one.exchanged >= _CLEARLY * (one.same + one.exchanged)
    ]
    if places:
        one = places[0]
        raise ValueError(
            f"{one.what} must describe the answers A and B in both orders; got them exchanged between AB and BA in "
            f"{counted(one.exchanged, 'item')}, such as {one.example!r}; if votes name the place too, use "
            f"{setting('votes', 'slot')}, else write {_names(places)} as of the answers"
        )
    return [_doubt(one) for one in every if one.exchanged]


def _doubt(one: _Seen) -> Note:
    text = (
        f"{one.what} {'is' if one.what == 'label' else 'are'} exchanged between the orders AB and BA in "
        f"{one.exchanged:,} of {one.same + one.exchanged:,} items, such as {one.example!r}, and the same in the others"
    )
    return Note(text, kind="answers or places", severity="warning", n=one.exchanged, examples=[one.example])


def _names(several: Sequence[_Seen]) -> str:
    return ", ".join(one.what for one in several)


def _seen(a: pd.Series, b: pd.Series, what: str, item: Ints, order: Ints, items: Sequence[str]) -> _Seen:
    """Count the items whose two values are the same in both orders, and those in which they are exchanged."""
    first, second = (_text(column) for column in (a, b))
    rows = pd.DataFrame({"item": item, "order": order, "a": first, "b": second})
    rows = rows[(rows["order"] != MISSING) & rows["a"].notna() & rows["b"].notna() & (rows["a"] != rows["b"])]
    rows = rows.drop_duplicates(["item", "order"])
    both = rows[rows["order"] == 0].merge(rows[rows["order"] == 1], on="item", suffixes=("", "_ba"))
    same = (both["a"] == both["a_ba"]) & (both["b"] == both["b_ba"])
    exchanged = (both["a"] == both["b_ba"]) & (both["b"] == both["a_ba"])
    example = str(items[int(both["item"][exchanged].iloc[0])]) if exchanged.any() else ""
    return _Seen(what, int(same.sum()), int(exchanged.sum()), example)


def _text(column: pd.Series) -> NDArray[np.object_]:
    """Return numbers by their value and other cells as text, None where missing."""
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().sum() == column.notna().sum():
        return np.asarray(numbers.astype(object).where(numbers.notna(), None), dtype=object)
    return np.asarray(column.astype(str).where(column.notna(), None), dtype=object)
