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

from d3stats._arrays import Ints
from d3stats._words import Advised, counted, percent, setting
from d3stats.inputs.verdicts import TIE, Votes
from d3stats.log.cells import truths
from d3stats.log.column_names import choice_of, plain, to_type
from d3stats.note import Note
from d3stats.trajectories import MISSING
from d3stats.values import is_missing_word

__all__ = [
    "as_of_answers",
    "meaning_of_votes",
    "order_of_swaps",
    "votes_as_places",
    "votes_for_models",
    "votes_of_scores",
]

_PAIRS = (("length_a", "length_b"), ("family_a", "family_b"), ("model_a", "model_b"))
_CLEARLY = 0.9
"""From this share of exchanged items on, columns describe places; below it some items are wrong in another way."""
_SWAPPED = frozenset(
    f"{before}{word}{after}"
    for word in ("swap", "swapped", "flip", "flipped", "reversed")
    for before, after in (("", ""), ("is", ""), ("was", ""), ("", "order"), ("order", ""), ("position", ""))
)
"""Plain names of columns that say whether B was shown first."""
_ORDER_WORDS = {
    word: order
    for order, words in (
        ("AB", "original normal forward unswapped unchanged straight"),
        ("BA", "swapped swap reversed reverse flipped backward inverted exchanged"),
    )
    for word in words.split()
}
"""Words in a column of orders, plain."""
_PLACES = {"first": "A", "second": "B", "left": "A", "right": "B"}
"""Words for a place, which may also be words for an answer."""


def order_of_swaps(table: pd.DataFrame, columns: Any = None) -> tuple[pd.DataFrame, list[str]]:
    """Make an order of a column that says whether the answers were swapped, where there is no order; and say so."""
    chosen = choice_of(columns).get("order")
    if "order" in table.columns:
        table, words = _order_in_words(table)
        if words:
            return table, words
        found = ["order"] if isinstance(chosen, str) and plain(chosen) in _SWAPPED else []
    else:
        found = [str(name) for name in table.columns if plain(name) in _SWAPPED]
    if not found:
        return table, []
    if len(found) > 1:
        step = f"choose one with {to_type(order=found[0])}"
        raise ValueError(Advised("order must be one column", step, got=" and ".join(map(repr, found))))
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


def _order_in_words(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Read a column of orders that says original and swapped, in whatever words."""
    cells = table["order"].map(lambda cell: None if pd.isna(cell) else str(cell)).astype(object)
    said = {
        cell: _ORDER_WORDS.get(plain(cell)) for cell in cells.dropna().unique() if not is_missing_word(cell)
    }
    if not said or None in said.values():
        return table, []
    read = table.assign(order=cells.map(said).astype(object).where(cells.isin(list(said)), None))
    read.attrs = table.attrs
    return read, [
        f"order in words: {', '.join(f'{word!r} is {order}' for word, order in sorted(said.items()))}"
    ]


_OF_SIDES = (("scorea", "scoreb"), ("ascore", "bscore"), ("score1", "score2"), ("modelascore", "modelbscore"))
"""Plain names of columns with the scores of the two sides."""


def votes_of_scores(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Make a vote of the scores of both sides, where there is no vote; and say so."""
    by_plain = {plain(str(name)): name for name in table.columns}
    pair = next((each for each in _OF_SIDES if set(each) <= set(by_plain)), None)
    if pair is None or "vote" in table.columns:
        return table, []
    names = [by_plain[name] for name in pair]
    values = []
    for name in names:
        cells = [None if pd.isna(cell) or is_missing_word(str(cell)) else cell for cell in table[name]]
        numbers = pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce").to_numpy(dtype=np.float64)
        strange = [cell for cell, x in zip(cells, numbers, strict=True) if cell is not None and x != x]
        if strange:
            raise ValueError(
                Advised("scores must be numbers", f"see the column {name!r}", got=repr(strange[0]))
            )
        values.append(numbers)
    one, other = values
    vote = np.full(len(table), None, dtype=object)
    vote[one > other], vote[one < other], vote[one == other] = "A", "B", "tie"
    read = table.assign(vote=pd.Series(vote, index=table.index, dtype=object))
    read.attrs = table.attrs
    said = f"vote is the side with the higher score, of {str(names[0])!r} (A) and {str(names[1])!r} (B)"
    return read, [f"{said}; {counted(int((one == other).sum()), 'tie')}"]


def votes_for_models(
    table: pd.DataFrame, votes: Votes | None
) -> tuple[pd.DataFrame, Votes | None, list[str]]:
    """Read votes and labels that name a model of their row, and the order that exchanged columns of models tell.

    A vote for a model is one for its column. Where an item has its two models in either order, the columns are places,
    and so are votes that name a column: an order of the first row of each item is AB.
    """
    by_plain = {plain(str(name)): name for name in table.columns}
    pair = [by_plain[name] for name in ("modela", "modelb") if name in by_plain]
    if len(pair) < 2 or not {"item", "vote"} <= set(table.columns):
        return table, votes, []
    one, other = (_text(table[name]) for name in pair)
    notes: list[str] = []
    changed: dict[str, Any] = {}
    for name in (name for name in ("vote", "label") if name in table.columns):
        said = _text(table[name])
        names = (said == one) | (said == other)
        others = {str(x).upper() for x in said[~names] if x is not None and not is_missing_word(str(x))}
        if names.any() and others <= _NO_MODELS:
            read = np.where(said == one, "A", np.where(said == other, "B", said))
            changed[name] = pd.Series(read, index=table.index, dtype=object)
            notes.append(
                f"{name}s name models: A is the one in {str(pair[0])!r}, B the one in {str(pair[1])!r}"
            )
    attrs, table = table.attrs, table.assign(**changed)
    table.attrs = attrs
    item = pd.factorize(table["item"].astype(str))[0]
    order = _codes_of_orders(table) if "order" in table.columns else np.zeros(len(table), dtype=np.int64)
    start = (
        pd.Series(one, dtype=object).where(order == 0).groupby(item).transform("first").to_numpy(dtype=object)
    )
    back = (one != start) & (other == start)
    if not back.any() or votes == "answer":
        return table, votes, notes
    if "order" not in table.columns:
        table = table.assign(order=np.where(back, "BA", "AB").astype(object))
        table.attrs = attrs
        notes.append(
            f"order is that of {str(pair[0])!r} and {str(pair[1])!r}: AB as in the first row of an item, BA where they "
            "are exchanged; votes name the column, so the place"
        )
    elif "vote" not in changed or (back != (order == 1)).any():
        return table, votes, notes
    return table, "slot", notes


_NO_MODELS = {"TIE", "TIE (BOTHBAD)", "A", "B", "MODEL_A", "MODEL_B"}


def _codes_of_orders(table: pd.DataFrame) -> Ints:
    return np.asarray(
        [{"AB": 0, "12": 0, "1-2": 0}.get(str(cell).upper(), 1) for cell in table["order"]], dtype=np.int64
    )


def meaning_of_votes(
    table: pd.DataFrame, order: Ints, votes: Votes | None
) -> tuple[pd.DataFrame, Votes, list[str]]:
    """Return the votes in letters, and whether they name answers or places; refuse what could be either.

    First and second name the answers A and B, or the places in which they were shown. So do 1 and 2 beside an order in
    letters, unless labels in 1 and 2 are the same in both orders, which those of places are not.
    """
    said = {name: _text(table[name]) for name in ("vote", "label", "order") if name in table.columns}
    cast = {str(x).casefold() for x in said["vote"] if x is not None}
    words = cast & set(_PLACES)
    numbers = bool(cast & {"1", "2"})
    both = {0, 1} <= set(order[(order != MISSING) & (said["vote"] != None)].tolist())  # noqa: E711
    if votes is None and both and (words or numbers):
        labels = {str(x).casefold() for x in said.get("label", ()) if x is not None}
        coded_alike = (
            numbers
            and not words
            and (bool(labels & {"1", "2"}) or not any(str(x).upper() in ("AB", "BA") for x in said["order"]))
        )
        if not coded_alike:
            shown = sorted(words or cast & {"1", "2"})
            needed = (
                f"vote must say whether {' and '.join(map(repr, shown))} are places or the answers A and B"
            )
            slot, answer = setting("votes", "slot"), setting("votes", "answer")
            step = f"for the places in which answers were shown use {slot}, else {answer}"
            raise ValueError(Advised(needed, step))
    if words:
        changed = {
            name: pd.Series(
                [_PLACES.get(str(x).casefold(), x) for x in said[name]], index=table.index, dtype=object
            )
            for name in ("vote", "label")
            if name in said
        }
        attrs, table = table.attrs, table.assign(**changed)
        table.attrs = attrs
    notes: list[str] = []
    if votes is None and both:
        letters = "1 and 2" if numbers else "A and B"
        notes.append(
            Note(
                f"votes are read as names of the answers {letters}, wherever these were shown; if they name places, "
                f"use {setting('votes', 'slot')}",
                kind="meaning of votes",
            )
        )
    return table, votes or "answer", notes


def votes_as_places(vote: Ints, order: Ints, label: Ints, item: Ints, judge: Ints) -> str:
    """Say where votes that were read as answers behave as those for places do: by their labels, or in both orders."""
    seen = _right_as_places(vote, order, label) or _opposed_as_places(vote, order, item, judge)
    return seen and f"{seen}; votes that name places look so: use {setting('votes', 'slot')} if they do"


def _right_as_places(vote: Ints, order: Ints, label: Ints) -> str:
    """Say where votes are right in the order AB and wrong in BA.

    Shares right are means over the two labels, so that a judge that always follows the place has 1/2 in both orders.
    """
    shares: list[tuple[float, float]] = []
    for one in (0, 1):
        cells = [
            (vote == label)[(order == one) & (label == k) & (vote != MISSING) & (vote != TIE)] for k in (0, 1)
        ]
        if min(map(len, cells)) < _EACH:
            return ""
        means = [float(cell.mean()) for cell in cells]
        shares.append((sum(means) / 2, float(sum(0.25 / len(cell) for cell in cells)) ** 0.5 / 2))
    (ab, se_ab), (ba, se_ba) = shares
    above, below = (ab - 0.5) / se_ab, (0.5 - ba) / se_ba
    if min(above, below) < _AT_LEAST or (above + below) / 2**0.5 < _CERTAIN:
        return ""
    return (
        f"votes read as answers are right in {percent(ab, digits=0)} of items shown as AB and in "
        f"{percent(ba, digits=0)} of those shown as BA, less "
        "than by chance"
    )


def _opposed_as_places(vote: Ints, order: Ints, item: Ints, judge: Ints) -> str:
    """Say where a judge's two votes on an item, one in each order, are for the same answer less often than by chance.

    Whatever a judge makes of the places, votes for answers agree at least as often as independent votes with its shares
    in either order. Votes for places that follow the answers agree less often.
    """
    rows = pd.DataFrame({"item": item, "judge": judge, "order": order, "vote": vote})
    rows = rows[rows["vote"].isin((0, 1))].drop_duplicates(["item", "judge", "order"])
    pairs = rows[rows["order"] == 0].merge(
        rows[rows["order"] == 1], on=["item", "judge"], suffixes=("", "_ba")
    )
    fewer, variance = -0.5, 0.0
    for _, of_judge in pairs.groupby("judge"):
        n, one, other = len(of_judge), of_judge["vote"].mean(), of_judge["vote_ba"].mean()
        # Votes for B in both orders: the mean and the variance of independent votes with these shares, less those seen.
        fewer += n * one * other - int((of_judge["vote"] & of_judge["vote_ba"]).sum())
        variance += n**2 / max(n - 1, 1) * one * (1 - one) * other * (1 - other)
    spread = float(variance) ** 0.5
    if not spread or fewer < _CERTAIN * spread:
        return ""
    return (
        f"votes read as answers are for the same answer in {int((pairs['vote'] == pairs['vote_ba']).sum()):,} of "
        f"{counted(len(pairs), 'pair')} of verdicts in both orders, fewer than by chance"
    )


_EACH = 5
"""So many items of each label in each order tell whether votes are right more often than by chance."""
_AT_LEAST, _CERTAIN = 0.5, 2.3
"""Standard errors by which each order must be away from chance, and both together."""


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
        needed = f"{one.what} must describe the answers A and B in both orders"
        got = f"them exchanged between AB and BA in {counted(one.exchanged, 'item')}, such as {one.example!r}"
        slot = setting("votes", "slot")
        step = f"if votes name the place too, use {slot}, else write {_names(places)} as of the answers"
        raise ValueError(Advised(needed, step, got=got))
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
