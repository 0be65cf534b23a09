"""Strata of questions and items: a code per row, and strata by the names of items."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Ints
from d3stats._words import counted
from d3stats.values import canonical, name_text

__all__ = ["ItemStrata", "Labels", "Level", "NoSuchStrata", "StrataOf", "common_strata"]


@dataclass(frozen=True, eq=False)
class Labels:
    """The stratum of each row of some data.

    Attributes
    ----------
    column : str
        What strata are: the name of the column.
    codes : ndarray of int64, shape (rows,)
        Indices into `names`, -1 where a row has no stratum.
    names : tuple of str
        The strata: numbers by size, other names by the alphabet.

    Examples
    --------
    >>> labels = Labels.of(["math", None, "ethics", "math"], "category")
    >>> labels.names, labels.codes.tolist(), labels.rows(1).tolist()
    (('ethics', 'math'), [1, -1, 0, 1], [True, False, False, True])
    """

    column: str
    codes: Ints
    names: tuple[str, ...]

    @classmethod
    def of(
        cls, values: Iterable[Any], column: str = "stratum", *, missing_values: Iterable[str] | None = None
    ) -> Labels:
        """Read one stratum per row; None, NaN, "" and words such as NA (or `missing_values`) are missing."""
        given_values = pd.Series(list(values), dtype=object)
        texts = canonical(given_values, missing_values=missing_values, names=True).columns[0]
        given = {str(text) for text in texts if text is not None and str(text).strip()}
        names = tuple(sorted(given, key=_in_order))
        at = {name: code for code, name in enumerate(names)}
        codes = [-1 if text is None else at.get(str(text), -1) for text in texts]
        return cls(column, np.array(codes, dtype=np.int64), names)

    def rows(self, stratum: int) -> NDArray[np.bool_]:
        """Return which rows a stratum has, a mask."""
        found: NDArray[np.bool_] = self.codes == stratum
        return found


def _in_order(text: str) -> tuple[bool, float, str]:
    try:
        return False, float(text), text
    except ValueError:
        return True, 0.0, text


StrataOf: TypeAlias = "str | Mapping[Any, Any] | pd.Series | ItemStrata | None"
"""The column that says an item's stratum, or the stratum of each item by its name."""


Level = Literal["item", "debate", "question", "cluster"]
"""The kinds of things that have names."""


@dataclass(frozen=True)
class ItemStrata:
    """Strata by the names of items, or of debates and clusters.

    Attributes
    ----------
    column : str
        What strata are.
    of : dict of str to dict of str to set of str
        By level ("item", or "debate", "question" and "cluster" of a log) and name the strata: one, unless rows
        contradict each other; none where the value is missing.
    of_questions : bool
        Whether strata are the categories of questions, so that debates of one question have the same. Another column,
        such as the protocol, may differ between them.
    absent : str
        Why a source has no such strata; "" where it has.

    Examples
    --------
    >>> found = ItemStrata("kind", {"item": {"q1": frozenset({"math"}), "q2": frozenset({"ethics"})}})
    >>> found.labels(["q1", "q3", "q2"]).codes.tolist()
    [1, -1, 0]
    """

    column: str
    of: Mapping[str, Mapping[str, frozenset[str]]]
    of_questions: bool = False
    absent: str = ""

    @property
    def is_log(self) -> bool:
        """Whether strata are known by debate."""
        return "debate" in self.of

    def texts(self, names: Sequence[Any], level: Level = "item", unit: str = "question") -> list[str | None]:
        """Return the stratum of each name, None where it has none; a name with several strata is refused.

        Raises
        ------
        ValueError
            When a name has several strata, or a question several categories.
        """
        of = self.of[level if self.is_log else "item"]
        keys = [str(name_text(name)) for name in names]
        if self.of_questions:
            self._refuse_several("question", self.of["question"])
        self._refuse_several(unit, {key: of.get(key, ()) for key in keys})
        return [next(iter(of.get(key, ())), None) for key in keys]

    def _refuse_several(self, unit: str, of: Mapping[str, Collection[str]]) -> None:
        several = [name for name, found in of.items() if len(found) > 1]
        if several:
            one = " and ".join(map(repr, sorted(of[several[0]])[:3]))
            shown = ", ".join(map(repr, several[:5])) + (
                f" and {len(several) - 5} more" if len(several) > 5 else ""
            )
            raise ValueError(
                f"{self.column} must be one per {unit}; got {one} in {several[0]!r}; it changes within "
                f"{counted(len(several), unit)}: {shown}"
            )

    def labels(self, names: Sequence[Any], level: Level = "item", unit: str = "question") -> Labels:
        """Return :meth:`texts` as codes; refused where no name has a stratum."""
        found = self.texts(names, level, unit)
        if names and not any(found):
            known = next(iter(self.of[level if self.is_log else "item"]), None)
            strange = known is not None and str(names[0]) not in self.of[level if self.is_log else "item"]
            more = (
                f"; strata are given for {known!r} and others, the data have {names[0]!r}" if strange else ""
            )
            raise ValueError(f"{self.column} must say the stratum of some {unit}; got none{more}")
        return Labels.of(found, self.column, missing_values=())


class NoSuchStrata(ValueError):
    """A source has no column of this name, or no columns at all."""


def common_strata(found: Sequence[ItemStrata], items: Sequence[str], *, level: Level, unit: str) -> Labels:
    """Return the stratum of each item from those sources that say it; they must say the same.

    Raises
    ------
    ValueError
        When no run has the column, an item has several strata in one run, or others in another.
    """
    known = [one for one in found if not one.absent]
    if not known:
        raise NoSuchStrata(found[0].absent)
    texts: list[str | None] = [None] * len(items)
    column = known[0].column
    for one in known:
        stated = one.texts(items, level, unit)
        changed = [
            (item, first, other)
            for item, first, other in zip(items, texts, stated, strict=True)
            if first and other and first != other
        ]
        if changed:
            item, first, other = changed[0]
            raise ValueError(
                f"{column} must be the same in all runs; got {first!r} and {other!r} in {item!r}, and it differs on "
                f"{counted(len(changed), unit)}"
            )
        texts = [first or other for first, other in zip(texts, stated, strict=True)]
    if len(known) == 1:
        return known[0].labels(list(items), level, unit)
    return ItemStrata(column, {"item": _sets(items, texts)}).labels(list(items), unit=unit)


def _sets(items: Sequence[str], found: Sequence[str | None]) -> dict[str, frozenset[str]]:
    pairs = zip(items, found, strict=True)
    return {item: frozenset() if text is None else frozenset((text,)) for item, text in pairs}
