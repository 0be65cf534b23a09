"""Items that several inputs share: which all have, which only one has, and the one sentence that says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["Shared", "named", "shared"]

_SHOWN = 5


@dataclass(frozen=True)
class Shared:
    """The items of several sources.

    Attributes
    ----------
    common : tuple of str
        Items of all sources, in the order of the first.
    only : dict of str to tuple of str
        By source the items that not all have.

    Examples
    --------
    >>> found = shared({"old": ["q1", "q2"], "new": ["q2", "q3", "q4"]})
    >>> found.common, found.statement()
    (('q2',), "1 only in old ('q1'); 2 only in new ('q3', 'q4')")
    >>> found.left_out()
    "1 of old ('q1'), 2 of new ('q3', 'q4')"
    """

    common: tuple[str, ...]
    only: dict[str, tuple[str, ...]]

    def statement(self) -> str:
        """Count and name the items that not all sources have, by source; "" where all have the same."""
        return "; ".join(
            f"{len(items)} only in {name} {named(items)}" for name, items in self.only.items() if items
        )

    def left_out(self) -> str:
        """Say the same where only common items are kept."""
        return ", ".join(
            f"{len(items):,} of {name} {named(items)}" for name, items in self.only.items() if items
        )


def shared(items: Mapping[str, Iterable[str]]) -> Shared:
    """Compare the items of sources, given by the names of the sources."""
    listed = {name: tuple(dict.fromkeys(each)) for name, each in items.items()}
    common = set.intersection(*map(set, listed.values()))
    first = next(iter(listed.values()))
    return Shared(
        tuple(item for item in first if item in common),
        {name: tuple(item for item in each if item not in common) for name, each in listed.items()},
    )


def named(items: Iterable[str]) -> str:
    """Name the first items in brackets."""
    each = list(items)
    more = f" and {len(each) - _SHOWN} more" if len(each) > _SHOWN else ""
    return f"({', '.join(map(repr, each[:_SHOWN]))}{more})"
