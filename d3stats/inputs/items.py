"""The one pairing of inputs by their items: which all have, which only some have, and when too few are shared.

Items that not all inputs have are left out, counted and named; on few shared items a comparison means nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from d3stats._words import Advised
from d3stats.note import Note, warning

__all__ = ["ItemIs", "ItemMismatch", "Shared", "mostly_left_out", "shared"]

ItemIs = Literal["question", "debate"]
"""An item of a log: a question, or a single debate."""

_SHOWN = 5


class ItemMismatch(ValueError):
    """Inputs share too few items to be paired; `only` says which not all have (name of the input to names of items).

    Parameters
    ----------
    message : str
        What does not fit, and what to do.
    only : dict of str to tuple of str
        Items that not all inputs have, by the input's name.

    Examples
    --------
    >>> import pandas as pd
    >>> from d3stats.inference import as_run, pair
    >>> tables = {name: pd.Series({"q1": 1, f"{name}2": 0, f"{name}3": 0}) for name in "AB"}
    >>> try:
    ...     pair([as_run(table, name=name) for name, table in tables.items()])
    ... except ItemMismatch as error:
    ...     print(error.only)
    {'A': ('A2', 'A3'), 'B': ('B2', 'B3')}
    """

    def __init__(self, message: str, only: dict[str, tuple[str, ...]]) -> None:
        super().__init__(message)
        self.only = only


@dataclass(frozen=True)
class Shared:
    """The items of several inputs.

    Attributes
    ----------
    common : tuple of str
        Items of all inputs, in the order of the first.
    only : dict of str to tuple of str
        By input the items that not all have.

    Examples
    --------
    >>> found = shared({"old": ["q1", "q2"], "new": ["q2", "q3", "q4"]})
    >>> found.common, found.left_out
    (('q2',), "1 of old ('q1'), 2 of new ('q3', 'q4')")
    >>> found.notes("item", "run")[0]
    "WARNING: paired by item: 1 is in both runs; left out are 1 of old ('q1'), 2 of new ('q3', 'q4')"
    >>> shared({"old": ["q1", "q2", "q3"], "new": ["q3", "q4", "q5"]}).refuse_few("item", "run", "name them alike")
    Traceback (most recent call last):
    ...
    d3stats.inputs.items.ItemMismatch: runs must share at least half of the items of the smallest; got 1 of 3: left ...
    """

    common: tuple[str, ...]
    only: dict[str, tuple[str, ...]]

    @property
    def total(self) -> int:
        """Number of different items."""
        return len(self.common) + len({item for items in self.only.values() for item in items})

    @property
    def left_out(self) -> str:
        """Count and name the items that not all inputs have, by input; "" where all have the same."""
        return ", ".join(
            f"{len(items):,} of {name} {_first_names(items)}" for name, items in self.only.items() if items
        )

    def refuse_few(self, unit: str, what: str, advice: str) -> None:
        """Refuse inputs that share none or less than half of the items of the one that has fewest.

        Raises
        ------
        ItemMismatch
            When too few are shared.
        """
        smallest = len(self.common) + min(map(len, self.only.values()))
        if self.common and 2 * len(self.common) >= smallest:
            return
        got = f"{len(self.common) or 'none'} of {smallest:,}"
        raise ItemMismatch(
            Advised(
                f"{what}s must share at least half of the {unit}s of the smallest",
                advice,
                got=f"{got}: left out would be {self.left_out}",
            ),
            self.only,
        )

    def notes(self, unit: str, what: str) -> list[str]:
        """Say by what inputs are paired and what is left out, as a warning where something is."""
        n, all_of_them = len(self.common), "both" if len(self.only) == 2 else "all"
        said = f"paired by {unit}: {n:,} {'is' if n == 1 else 'are'} in {all_of_them} {what}s"
        if not self.left_out:
            return [Note(said, kind="pairing", n=n)]
        return [warning(f"{said}; left out are {self.left_out}", "left out", n=self.total - n)]


def shared(items: Mapping[str, Iterable[str]]) -> Shared:
    """Compare the items of inputs, given by the names of the inputs."""
    listed = {name: tuple(dict.fromkeys(each)) for name, each in items.items()}
    common = set.intersection(*map(set, listed.values()))
    first = next(iter(listed.values()))
    return Shared(
        tuple(item for item in first if item in common),
        {name: tuple(item for item in each if item not in common) for name, each in listed.items()},
    )


def mostly_left_out(kept: int, total: int, unit: str) -> list[str]:
    """Warn where more than half of the items are left out of a result."""
    if 2 * kept >= total:
        return []
    text = (
        f"more than half of the {unit}s are left out ({total - kept:,} of {total:,}); the results describe only the "
        f"other {kept:,}, which may be the easy ones"
    )
    return [warning(text, "left out", n=total - kept)]


def _first_names(items: Iterable[str]) -> str:
    """Name the first items in brackets."""
    each = list(items)
    more = f" and {len(each) - _SHOWN} more" if len(each) > _SHOWN else ""
    return f"({', '.join(map(repr, each[:_SHOWN]))}{more})"
