"""Which debates a list of items makes, what each is called, and which candidate it shows first."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from d3stats._check import choice, integer
from d3stats.agents.request import Case
from d3stats.debates.items import DebateItem

__all__ = ["ORDERS", "Orders", "Planned", "placements"]

Orders = Literal["seeded", "both", "first"]
ORDERS = ("seeded", "both", "first")


@dataclass(frozen=True, slots=True)
class Planned:
    """One debate that is to be played: its name in the log, its item, and the candidate shown first.

    `names` are those of the LLMs that take part, which nobody may read in another's message.
    """

    debate: str
    item: DebateItem
    first: str | None
    names: tuple[str, ...] = ()

    @property
    def case(self) -> Case:
        """What the agents get."""
        case = self.item.case(self.debate, self.first)
        return replace(case, names=case.names + self.names) if self.names else case


def placements(
    items: Iterable[DebateItem],
    orders: Orders = "seeded",
    seed: int = 0,
    repeats: int = 1,
    names: tuple[str, ...] = (),
) -> Iterator[Planned]:
    """Yield the debates of some items, in order.

    A debate is called as its question; with ``orders="both"`` ``"q/AB"`` and ``"q/BA"`` (the candidate shown first
    comes first in the name); with several repeats a number is added, ``"q/AB/2"``.

    Parameters
    ----------
    items : iterable of DebateItem
    orders : {"seeded", "both", "first"}
        Which candidate is shown first: a coin of the seed and the question, each once, or always A. Repeats of a
        question change places in turn, so that the coin decides the first one only.
    seed : int
    repeats : int
        How often each item is debated in each order.
    names : tuple of str
        Names of the LLMs that take part.

    Examples
    --------
    >>> item = DebateItem("q1", "Why?", ("So.", "No."))
    >>> [(d.debate, d.first) for d in placements([item], "both")]
    [('q1/AB', 'A'), ('q1/BA', 'B')]
    >>> [d.first for d in placements([item], "seeded", repeats=4)]
    ['A', 'B', 'A', 'B']
    """
    choice("orders", orders, ORDERS)
    integer("seed", seed, minimum=0)
    integer("repeats", repeats, minimum=1)
    for item in items:
        if orders == "both" and not item.candidates:
            raise ValueError(
                f"orders must be 'seeded' for questions without candidates; got orders='both' "
                f"and question {item.question!r}"
            )
        for number in range(1, repeats + 1):
            tail = f"/{number}" if repeats > 1 else ""
            for place, first in _shown_first(item, orders, seed, number):
                yield Planned(f"{item.question}{place}{tail}", item, first, names)


def _shown_first(
    item: DebateItem, orders: Orders, seed: int, number: int
) -> Iterator[tuple[str, str | None]]:
    if not item.candidates or item.answers is None:
        yield "", None
        return
    one, other = item.answers[:2]
    if orders == "both":
        yield f"/{one}{other}", one
        yield f"/{other}{one}", other
    elif orders == "first":
        yield "", one
    else:
        coin = hashlib.blake2b(f"{seed}\x1f{item.question}".encode(errors="replace"), digest_size=8).digest()[
            0
        ]
        yield "", (one, other)[(coin + number - 1) % 2]
