"""Ratings, items by raters, for every measure of agreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import LARGEST, meant
from d3stats._words import Advised
from d3stats.trajectories import MISSING

__all__ = ["LABEL", "Ratings", "UnknownRater"]


Codes = NDArray[np.int64]


LABEL = "label"
"""Name of the column of right answers when it is put beside the raters."""


class UnknownRater(ValueError):
    """No rater has this name.

    Attributes
    ----------
    name : str
        The name.
    known : tuple of str
        Names of the raters, and of the label where there is one.
    """

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name, self.known = name, tuple(known)
        listed = ", ".join(map(repr, known[:12])) + (
            f" and {len(known) - 12} more" if len(known) > 12 else ""
        )
        got = f"{name!r}{meant(name, list(known))}"
        super().__init__(Advised(f"rater must be one of {listed}", "name one of them", got=got))

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive the way back from a worker process."""
        return type(self), (self.name, self.known)


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """One category per item and rater.

    Attributes
    ----------
    items : tuple of str
        What was judged.
    raters : tuple of str
        Judges, humans or seats, in the order in which they first occur.
    categories : tuple of str
        The category of each code, in order: numbers by size, texts by the alphabet, or as the caller gave them.
        A tie is a category like any other.
    codes : ndarray of int64, shape (items, raters)
        Indices into `categories`; -1 where a rater did not judge an item.
    label : ndarray of int64, shape (items,), or None
        The right category, -1 where unknown; None where the source has no labels.
    cluster : ndarray of int64, shape (items,)
        Indices into `cluster_names`: the unit of resampling.
    cluster_names : tuple of str
        Questions, or items where they are their own clusters.
    notes : tuple of str
        What was done to get here.
    declared : bool
        Whether the caller named the categories. If not, a coefficient counts those that occur in the ratings compared.

    Examples
    --------
    >>> from d3stats.inference import as_ratings
    >>> table = pd.DataFrame({"judge 1": ["A", "B", "tie"], "judge 2": ["A", None, "B"]}, index=["q1", "q2", "q3"])
    >>> as_ratings(table).codes.tolist()
    [[0, 0], [1, -1], [2, 1]]
    >>> ratings = as_ratings(pd.DataFrame({"j": [1, 3, 5], "k": [1, 5, None], "label": [1, 3, 5]}))
    >>> ratings.n_items, ratings.raters, ratings.values().tolist(), ratings.counts.tolist()
    (3, ('j', 'k'), [1.0, 3.0, 5.0], [[2, 0, 0], [0, 1, 1], [0, 0, 1]])
    >>> ratings.of(["k", "label"]).codes.tolist()
    [[0, 0], [2, 1], [-1, 2]]
    >>> ratings.where(ratings.codes[:, 1] >= 0).items, ratings.of(["k"]).occurring().categories
    (('0', '1'), ('1', '5'))
    """

    items: tuple[str, ...]
    raters: tuple[str, ...]
    categories: tuple[str, ...]
    codes: Codes
    label: Codes | None
    cluster: Codes
    cluster_names: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())
    declared: bool = False

    def __post_init__(self) -> None:
        n, q = len(self.items), len(self.categories)
        for name, array, shape in (
            ("codes", self.codes, (n, len(self.raters))),
            ("label", self.label, (n,)),
            ("cluster", self.cluster, (n,)),
        ):
            if array is None:
                continue
            if array.shape != shape:
                raise ValueError(f"{name} must have shape {shape}; got {array.shape}")
            most, least = (len(self.cluster_names), 0) if name == "cluster" else (q, MISSING)
            if array.size and (array.min() < least or array.max() >= most):
                raise ValueError(
                    f"{name} must be codes from {least} to {most - 1}; got {array.min()} to {array.max()}"
                )
            array.setflags(write=False)
        for name, names in (("raters", self.raters), ("items", self.items), ("categories", self.categories)):
            if len(set(names)) < len(names):
                twice = next(x for x in names if names.count(x) > 1)
                raise ValueError(f"{name} must have different names; got {twice!r} twice")

    def __repr__(self) -> str:
        return (
            f"Ratings({self.n_items} items in {self.n_clusters} clusters x {self.n_raters} raters, "
            f"{len(self.categories)} categories, {int((self.codes == MISSING).sum())} missing)"
        )

    @property
    def n_items(self) -> int:
        """Number of items, including those without a judgment."""
        return len(self.items)

    @property
    def n_raters(self) -> int:
        """Number of raters."""
        return len(self.raters)

    @property
    def n_clusters(self) -> int:
        """Number of clusters that items come from."""
        return len(self.cluster_names)

    @cached_property
    def counts(self) -> Codes:
        """The number of raters who put an item in a category, shape (items, categories)."""
        table = np.zeros((self.n_items, len(self.categories)), dtype=np.int64)
        rows, columns = np.nonzero(self.codes != MISSING)
        np.add.at(table, (rows, self.codes[rows, columns]), 1)
        table.setflags(write=False)
        return table

    @cached_property
    def is_numeric(self) -> bool:
        """Whether every category is a finite number."""
        return not np.isnan(self._numbers).any()

    def values(self) -> NDArray[np.float64]:
        """Return the categories as numbers, shape (categories,).

        Raises
        ------
        ValueError
            When a category is no finite number.
        """
        if not self.is_numeric:
            words = [
                name for name, bare in zip(self.categories, np.isnan(self._numbers), strict=True) if bare
            ]
            named = f"missing_values={words[:3]} (--missing-values {','.join(words[:3])})"
            step = f"leave such cells empty, or say that they are missing with {named}"
            needed = "categories must be numbers to have distances"
            few = 2 * len(words) < len(self.categories)
            raise ValueError(Advised(needed, step if few else "", got=", ".join(map(repr, words[:3]))))
        return self._numbers

    @cached_property
    def _numbers(self) -> NDArray[np.float64]:
        """The categories as numbers, NaN for those that are no finite number."""
        names = pd.Series(self.categories, dtype=object)
        numbers = pd.to_numeric(names, errors="coerce").to_numpy(np.float64)
        numbers = np.where(np.isfinite(numbers), numbers, np.nan)
        if (huge := np.abs(numbers) > LARGEST).any():
            got = f"{numbers[huge.argmax()]:g}; correct it, or leave the cell empty"
            raise ValueError(f"votes must be at most {LARGEST:g} in size where they are numbers; got {got}")
        return numbers

    def of(self, raters: Sequence[str]) -> Ratings:
        """Keep some raters, in the given order; the label can be named as one of them.

        Raises
        ------
        ValueError
            When a rater is unknown.
        """
        label = {} if self.label is None else {LABEL: self.label}
        known = label | dict(zip(self.raters, self.codes.T, strict=True))
        for name in raters:
            if name not in known:
                names = [*self.raters, *(label.keys() - set(self.raters))]
                raise UnknownRater(name, names)
        codes = np.column_stack([known[name] for name in raters]) if raters else self.codes[:, :0]
        return replace(self, raters=tuple(raters), codes=codes.astype(np.int64))

    def where(self, items: NDArray[np.bool_]) -> Ratings:
        """Keep the flagged items; clusters keep their codes."""
        if items.all():
            return self
        return replace(
            self,
            items=tuple(compress(self.items, items.tolist())),
            codes=self.codes[items],
            label=None if self.label is None else self.label[items],
            cluster=self.cluster[items],
        )

    def occurring(self) -> Ratings:
        """Leave out categories that no rater used, unless the caller named the categories; the label does not count."""
        used: NDArray[np.bool_] = np.asarray(self.counts.any(axis=0), dtype=np.bool_)
        if self.declared or used.all():
            return self
        move = np.append(np.where(used, np.cumsum(used) - 1, MISSING), MISSING)
        return replace(
            self,
            categories=tuple(compress(self.categories, used.tolist())),
            codes=move[self.codes],
            label=None if self.label is None else move[self.label],
        )
