"""Who judged what how: items x raters, the table that every measure of agreement reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import choice, meant
from d3stats.inference.agreeing.rating_tables import Repeats, long_table
from d3stats.log.column_names import Columns
from d3stats.trajectories import MISSING
from d3stats.values import canonical, shared_spelling

__all__ = ["Ratings", "as_ratings"]

Codes = NDArray[np.int64]
LABEL = "label"
"""What the column of right answers is called when it is put beside the raters."""


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
        What the codes stand for, in order: numbers by size, texts by the alphabet, or as the caller gave them.
        A tie is a category like any other.
    codes : ndarray of int64, shape (items, raters)
        Indices into `categories`; -1 where a rater did not judge an item.
    label : ndarray of int64, shape (items,), or None
        The right category, -1 where unknown; None where the source has no labels.
    cluster : ndarray of int64, shape (items,)
        Indices into `cluster_names`: the unit of resampling.
    cluster_names : tuple of str
    notes : tuple of str
        What was done to get here.

    Examples
    --------
    >>> table = pd.DataFrame({"judge 1": ["A", "B", "tie"], "judge 2": ["A", None, "B"]}, index=["q1", "q2", "q3"])
    >>> as_ratings(table).codes.tolist()
    [[0, 0], [1, -1], [2, 1]]
    """

    items: tuple[str, ...]
    raters: tuple[str, ...]
    categories: tuple[str, ...]
    codes: Codes
    label: Codes | None
    cluster: Codes
    cluster_names: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())

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
        """Number of items, also those that nobody judged."""
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
        """How many raters put an item in a category, shape (items, categories)."""
        table = np.zeros((self.n_items, len(self.categories)), dtype=np.int64)
        rows, columns = np.nonzero(self.codes != MISSING)
        np.add.at(table, (rows, self.codes[rows, columns]), 1)
        table.setflags(write=False)
        return table

    def values(self) -> NDArray[np.float64]:
        """Return the categories as numbers, shape (categories,).

        Raises
        ------
        ValueError
            When a category is no finite number.
        """
        numbers = []
        for name in self.categories:
            try:
                number = float(name)
            except ValueError:
                number = np.nan
            if not np.isfinite(number):
                raise ValueError(f"categories must be numbers to have distances; got {name!r}")
            numbers.append(number)
        return np.array(numbers)

    def of(self, raters: Sequence[str]) -> Ratings:
        """Keep some raters, in the given order; the label can be named as one of them.

        Raises
        ------
        ValueError
            When a rater is unknown.
        """
        columns = []
        for name in raters:
            if name in self.raters:
                columns.append(self.codes[:, self.raters.index(name)])
            elif name == LABEL and self.label is not None:
                columns.append(self.label)
            else:
                known = [*self.raters, *([LABEL] if self.label is not None else [])]
                listed = ", ".join(map(repr, known[:12])) + (" ..." if len(known) > 12 else "")
                raise ValueError(f"rater must be one of {listed}; got {name!r}{meant(name, known)}")
        codes = np.column_stack(columns) if columns else self.codes[:, :0]
        return replace(self, raters=tuple(raters), codes=codes.astype(np.int64))

    def where(self, items: NDArray[np.bool_]) -> Ratings:
        """Keep the flagged items; clusters keep their codes."""
        return replace(
            self,
            items=tuple(name for name, kept in zip(self.items, items.tolist(), strict=True) if kept),
            codes=self.codes[items],
            label=None if self.label is None else self.label[items],
            cluster=self.cluster[items],
        )


def as_ratings(
    source: Any,
    *,
    round_number: int | None = None,
    categories: Sequence[Any] | None = None,
    raters: Sequence[str] | None = None,
    repeats: Repeats = "refuse",
    by: Literal["debate", "question"] = "debate",
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
) -> Ratings:
    """Read ratings from whatever holds some.

    Parameters
    ----------
    source : Ratings, Trajectories, DebateLog, DataFrame, str or Path
        A long table has the columns ``item, rater, vote`` and optionally ``label, cluster, round``. Any other
        DataFrame is wide: a row per item (named by a column ``item``, else by the index), a column per rater,
        and optionally ``label`` and ``cluster``. Where there is no ``cluster``, items that share a ``question`` hang
        together. A DataFrame with a column ``debate`` and no ``item`` is a log. A path is a debate log or either
        table as CSV or Parquet, and then with a column ``item``; empty cells and words such as NA are missing. In a
        log the agents are the raters, in ``Trajectories`` the seats.
    round_number : int, optional
        The round whose votes are taken; by default each debate's last.
    categories : sequence, optional
        Every category that could have been chosen, in order; by default those that occur. A measure may depend
        on the ones that nobody chose.
    raters : sequence of str, optional
        Keep these, in this order; "label" stands for the right answers.
    repeats : {"refuse", "separate"}
        What a second vote of a rater on an item is: an error, or the vote of another rater, "NAME (2)".
    by : {"debate", "question"}
        What an item is in a log. By "question", votes of several runs meet: a rater is then "RUN: AGENT" where
        there are several runs.
    missing_values : iterable of str, optional
        The words that mean missing, in place of :data:`d3stats.values.MISSING_WORDS`.
    columns : mapping of str to str, optional
        Own names of a table's columns by their standard names: ``{"item": "qid"}``.
    encoding : str, optional
        Of a text file; UTF-8 by default.

    Raises
    ------
    ValueError
        When a column is absent, a vote is outside `categories`, a rater votes twice on an item, or an item
        changes its label or cluster.
    TypeError
        When the source is of another kind.

    Examples
    --------
    >>> votes = pd.DataFrame({"item": ["q1", "q1", "q2"], "rater": ["x", "y", "x"], "vote": ["A", "B", "A"]})
    >>> as_ratings(votes)
    Ratings(2 items in 2 clusters x 2 raters, 2 categories, 1 missing)
    """
    choice("repeats", repeats, ("refuse", "separate"))
    choice("by", by, ("debate", "question"))
    if isinstance(source, Ratings):
        if round_number is not None:
            raise ValueError(f"round_number must be left out for ratings; got {round_number}")
        ratings = source if categories is None else _recoded(source, categories)
    else:
        reading: dict[str, Any] = {"columns": columns, "encoding": encoding}
        table = long_table(source, round_number, repeats, by, missing_values, **reading)
        ratings = _from_table(*table, categories)
    return ratings if raters is None else ratings.of(raters)


def _from_table(table: pd.DataFrame, notes: tuple[str, ...], categories: Sequence[Any] | None) -> Ratings:
    item, items = pd.factorize(table["item"])
    rater, raters = pd.factorize(table["rater"])
    labelled = "label" in table.columns and bool(table["label"].notna().any())
    said = table["vote"]
    names = _ordered(said, table["label"] if labelled else None, categories)
    codes = np.full((len(items), len(raters)), MISSING, dtype=np.int64)
    codes[item, rater] = _coded("vote", said, names)
    label = np.full(len(items), MISSING, dtype=np.int64)
    if labelled:
        label[item] = _coded("label", table["label"], names)
    cluster = np.zeros(len(items), dtype=np.int64)
    cluster_codes, cluster_names = pd.factorize(table["cluster"])
    cluster[item] = cluster_codes
    return Ratings(
        items=tuple(map(str, items)),
        raters=tuple(map(str, raters)),
        categories=names,
        codes=codes,
        label=label if labelled else None,
        cluster=cluster,
        cluster_names=tuple(map(str, cluster_names)),
        notes=(*notes, *_strangers(codes, label, tuple(map(str, raters)))),
    )


def _strangers(codes: Codes, label: Codes, raters: tuple[str, ...]) -> list[str]:
    """Name raters none of whose votes is ever another's: their columns may be no votes."""
    used = [set(column[column != MISSING].tolist()) for column in codes.T]
    right = set(label[label != MISSING].tolist())
    times = Counter(code for said in used for code in said)
    alone = [
        repr(name)
        for name, said in zip(raters, used, strict=True)
        if said and not said & right and all(times[code] == 1 for code in said)
    ]
    if not alone or len(raters) < 2:
        return []
    more = f" and {len(alone) - 5} more" if len(alone) > 5 else ""
    return [f"no vote of {', '.join(alone[:5])}{more} is ever another rater's: are these votes?"]


def _ordered(said: pd.Series, label: pd.Series | None, given: Sequence[Any] | None) -> tuple[str, ...]:
    seen = set(said.dropna()) | (set() if label is None else set(label.dropna()))
    if given is not None:
        names = _named(given, seen)
        if not names:
            raise ValueError("categories must be at least one; got none")
        return names
    try:
        return tuple(sorted(seen, key=lambda text: (float(text), text)))
    except ValueError:
        return tuple(sorted(seen))


def _named(given: Sequence[Any], seen: set[str]) -> tuple[str, ...]:
    """Return given categories as those that occur are written."""
    spelling = shared_spelling(
        [*seen, *(form for form in canonical(given, missing_values=()).columns[0] if form)]
    )
    return tuple(
        spelling.get(str(form), str(form)) for form in canonical(given, missing_values=()).columns[0]
    )


def _coded(name: str, column: pd.Series, categories: tuple[str, ...]) -> Codes:
    at = {text: code for code, text in enumerate(categories)}
    strange = column.notna() & ~column.isin(list(at))
    if strange.any():
        row = int(np.argmax(strange.to_numpy()))
        raise ValueError(f"{name} must be one of {list(categories)}; got {column.iloc[row]!r} at row {row}")
    return np.asarray(column.map(at).fillna(MISSING), dtype=np.int64)


def _recoded(source: Ratings, categories: Sequence[Any]) -> Ratings:
    names = _named(categories, set(source.categories))
    used = set(np.unique(source.codes)) | (set() if source.label is None else set(np.unique(source.label)))
    gone = [source.categories[c] for c in sorted(used - {MISSING}) if source.categories[c] not in names]
    if gone:
        raise ValueError(f"categories must list every one that occurs; got none named {gone[0]!r}")
    move = np.array([*(names.index(c) if c in names else MISSING for c in source.categories), MISSING])
    label = None if source.label is None else move[source.label]
    return replace(source, categories=names, codes=move[source.codes], label=label)
