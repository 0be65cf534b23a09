"""Records of judgments on two contestants: a debate is one item, two contestants and the order of their answers.

The formats of pairs share these rules. The answers of a debate are the names of its two contestants and ``tie``; its
``first`` is the one that was shown first, or nothing where that is not known. An item is judged once by a judge in an
order, and the debates of one item and two contestants are one question in either order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from d3stats._words import Advised, counted, verb
from d3stats.log.importers._source import shape
from d3stats.log.schema import Item, Turn
from d3stats.plausibility import NO_SIDE

TIE = "tie"


@dataclass(frozen=True)
class Judgment:
    """One judgment; `one` was shown first where `ordered`."""

    where: str
    item: str
    judge: str
    one: str
    two: str
    ordered: bool
    winner: str | None
    """The name of the winner, a tie, or None where the judge gave none that can be read."""
    cluster: str | None = None
    asked: str | None = None
    responses: tuple[str, str] | None = None
    said: str | None = None
    category: str | None = None


def pair_records(judgments: Iterable[Judgment], name: str, said: list[str]) -> Iterator[Item | Turn]:
    """Yield the records of judgments; `said` gets a sentence on what has no winner.

    Raises
    ------
    ValueError
        When a contestant meets itself or is called like a tie, or a judge judges a pair twice in one order.
    """
    debates: dict[str, tuple[Item, dict[str, Turn]]] = {}
    n = 0
    lost: list[str] = []
    for j in judgments:
        n += 1
        _check(j)
        pair = sorted((j.one, j.two))
        question = f"{j.item}: {pair[0]} | {pair[1]}"
        debate = f"{question} ({j.one} first)" if j.ordered else question
        if debate not in debates:
            responses = None if j.responses is None or j.one == pair[0] else j.responses[::-1]
            item = Item(
                debate,
                question,
                cluster=j.cluster or j.item,
                answers=(*pair, TIE),
                protocol=f"{name} pairs",
                text=j.asked,
                candidates=responses or j.responses,
                first=j.one if j.ordered else None,
                category=j.category,
            )
            debates[debate] = item, {}
        turns = debates[debate][1]
        if j.judge in turns:
            order = f" with {j.one!r} first" if j.ordered else ""
            needed = "a judge must judge the two contestants of an item once in an order"
            got = f"{j.judge!r} on {question!r}{order} again at {j.where}"
            raise ValueError(Advised(needed, "remove the copies, or import the files one by one", got=got))
        if j.winner is None:
            lost.append(j.where)
        turns[j.judge] = Turn(
            debate,
            1,
            j.judge,
            role="judge",
            vote=j.winner,
            model=j.judge,
            text=j.said,
            error="no_winner" if j.winner is None else None,
        )
    if lost:
        one = verb(len(lost), "has", "have")
        said.append(
            f"{len(lost):,} of {counted(n, 'judgment')} {one} no winner and no vote, the first at {lost[0]}"
        )
    for item, turns in debates.values():
        yield item
        yield from turns.values()


def _check(j: Judgment) -> None:
    shape(f"{j.where}, contestants", "two different names", j.one != j.two, (j.one, j.two))
    for name in (j.one, j.two):
        shape(f"{j.where}, contestant", "a name that says no tie", name.casefold() not in NO_SIDE, name)
