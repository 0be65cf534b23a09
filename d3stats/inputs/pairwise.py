"""Judgments of two contestants on an item: who was shown first, who won, by whose judgment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from d3stats._arrays import Bools, Ints
from d3stats._check import meant
from d3stats._words import Advised

__all__ = ["FIRST", "SECOND", "TIED", "Pairwise"]


FIRST, TIED, SECOND = 1, 0, -1
"""Outcomes of a judgment: the first won, neither did, the second won."""


@dataclass(frozen=True, eq=False, repr=False)
class Pairwise:
    """Judgments on two contestants, one per row.

    Attributes
    ----------
    first, second : ndarray of int64, shape (rows,)
        Codes into `contestants`: who was shown first and second; two different ones.
    outcome : ndarray of int64, shape (rows,)
        1 where the first won, -1 where the second did, 0 for a tie.
    judge, cluster : ndarray of int64, shape (rows,)
        Codes into `judges` and `clusters`.
    ordered : ndarray of bool, shape (rows,)
        Whether first and second say what was shown first; not so where both were scored alone.
    contestants, judges, clusters : tuple of str
        The values of the codes, contestants and judges in the order of the alphabet.
    item : ndarray of int64, shape (rows,)
        A number for each item.
    notes : tuple of str
        What the reader did.

    Examples
    --------
    >>> import pandas as pd
    >>> from d3stats.inference import as_pairwise
    >>> rows = [("q1", "x", "y", "first"), ("q1", "y", "x", "tie"), ("q2", "x", "z", "z")]
    >>> pairs = as_pairwise(pd.DataFrame(rows, columns=["item", "first", "second", "winner"]))
    >>> pairs, pairs.outcome.tolist()
    (Pairwise(3 judgments on 3 contestants by 1 judge, 2 items in 2 clusters), [1, 0, -1])
    >>> len(pairs.of(["x", "y"])), pairs.rows(pairs.outcome == 0).first.tolist()
    (2, [1])
    """

    first: Ints
    second: Ints
    outcome: Ints
    judge: Ints
    cluster: Ints
    ordered: Bools
    contestants: tuple[str, ...]
    judges: tuple[str, ...]
    clusters: tuple[str, ...]
    item: Ints
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        n = len(self.first)
        for name in ("first", "second", "outcome", "judge", "cluster", "ordered", "item"):
            if getattr(self, name).shape != (n,):
                raise ValueError(f"{name} must have shape ({n},); got {getattr(self, name).shape}")
        for name, codes, known in (
            ("first", self.first, self.contestants),
            ("second", self.second, self.contestants),
            ("judge", self.judge, self.judges),
            ("cluster", self.cluster, self.clusters),
        ):
            if n and not 0 <= codes.min() <= codes.max() < len(known):
                raise ValueError(f"{name} must be codes into {len(known)} names; got {codes.max()}")
        if not np.isin(self.outcome, (FIRST, TIED, SECOND)).all():
            raise ValueError(f"outcome must be 1, 0 or -1; got {sorted(set(self.outcome.tolist()))}")
        if (self.first == self.second).any():
            row = int(np.argmax(self.first == self.second))
            raise ValueError(
                f"first and second must be two contestants; got {self.contestants[self.first[row]]!r} twice at row "
                f"{row + 1} (counted from 1)"
            )

    @property
    def n_items(self) -> int:
        """Different items of the judgments."""
        return len(np.unique(self.item))

    def __len__(self) -> int:
        return len(self.first)

    def __repr__(self) -> str:
        judges = f"{len(self.judges)} judge{'s' * (len(self.judges) != 1)}"
        size = f"{len(self)} judgments on {len(self.contestants)} contestants by {judges}"
        return f"Pairwise({size}, {self.n_items} items in {len(np.unique(self.cluster))} clusters)"

    def rows(self, keep: Bools) -> Pairwise:
        """Return some rows; names and codes stay."""
        names = ("first", "second", "outcome", "judge", "cluster", "ordered", "item")
        return replace(self, **{name: getattr(self, name)[keep] for name in names})

    def of(self, contestants: list[str] | tuple[str, ...]) -> Pairwise:
        """Return the judgments on these contestants only, with their names alone.

        Raises
        ------
        ValueError
            When a name is unknown or given twice, or there are not two of them.
        """
        names = tuple(map(str, contestants))
        for name in names:
            if name not in self.contestants:
                raise ValueError(
                    f"contestants must be among {', '.join(map(repr, self.contestants))}; got {name!r}"
                    f"{meant(name, self.contestants)}"
                )
        if len(set(names)) < max(len(names), 2):
            raise ValueError(
                Advised(
                    "contestants must be two or more different names",
                    "leave the argument out for all",
                    got=repr(list(names)),
                )
            )
        kept = tuple(name for name in self.contestants if name in names)
        code = np.full(len(self.contestants), -1, dtype=np.int64)
        code[[self.contestants.index(name) for name in kept]] = np.arange(len(kept))
        some = self.rows((code[self.first] >= 0) & (code[self.second] >= 0))
        return replace(some, first=code[some.first], second=code[some.second], contestants=kept)
