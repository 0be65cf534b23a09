"""The values that a comparison reads: one run, several runs side by side, and runs that do not fit together."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from d3stats._words import counted

__all__ = ["ItemMismatch", "PairedRuns", "Run"]

Floats = NDArray[np.float64]


class ItemMismatch(ValueError):
    """Runs do not have the same items; `only` says which are in some run alone (run name to item names)."""

    def __init__(self, message: str, only: dict[str, tuple[str, ...]]) -> None:
        super().__init__(message)
        self.only = only


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """One value per item of an evaluation.

    Attributes
    ----------
    name : str
        What the run is called in tables.
    items : tuple of str
        Item names, each once.
    value : ndarray of float, shape (items,)
        1 right and 0 wrong, or any score; the mean over repeats where an item was run several times; NaN where
        nothing could be scored.
    cluster : tuple of str
        The question (or group) that each item belongs to: the unit of resampling.
    repeats : ndarray of int, shape (items,)
        How many values each mean is made of; 0 where there is none.
    binary : bool
        Whether every value is 0 or 1.
    notes : tuple of str
        What was done to get here.
    unlabelled : tuple of str
        Items without a label: whether they are right is unknown, whatever a missing vote counts as.
    label : tuple of str or None
        The right answer that decided each item's value, None where unknown; empty where values came as such.
    """

    name: str
    items: tuple[str, ...]
    value: Floats
    cluster: tuple[str, ...]
    repeats: NDArray[np.int64]
    binary: bool
    notes: tuple[str, ...] = field(default=())
    unlabelled: tuple[str, ...] = field(default=())
    label: tuple[str | None, ...] = field(default=())

    def __repr__(self) -> str:
        size = f"{counted(len(self.items), 'item')} in {counted(len(set(self.cluster)), 'cluster')}"
        return f"Run({self.name!r}, {size})"

    def __len__(self) -> int:
        return len(self.items)

    @property
    def clustered(self) -> bool:
        """Whether some item belongs to something else than itself."""
        return self.cluster != self.items


@dataclass(frozen=True, eq=False, repr=False)
class PairedRuns:
    """Several runs side by side on the same items, all of them scored.

    Attributes
    ----------
    names : tuple of str
        The runs.
    items : tuple of str
    values : ndarray of float, shape (runs, items)
        No NaN: items that some run could not score are in `unscored`, or count as `missing` says.
    cluster : ndarray of int64, shape (items,)
        Codes into `cluster_names`.
    cluster_names : tuple of str
    binary : bool
        Whether every value of every run is 0 or 1.
    left_out : dict of str to tuple of str
        Items of each run that the others lack; empty with ``items="same"``.
    unscored : dict of str to tuple of str
        Items that each run could not score, for want of a label or of a value.
    notes : tuple of str
    repeated : bool
        Whether some value is a mean over several tries at its item.
    """

    names: tuple[str, ...]
    items: tuple[str, ...]
    values: Floats
    cluster: NDArray[np.int64]
    cluster_names: tuple[str, ...]
    binary: bool
    left_out: dict[str, tuple[str, ...]]
    unscored: dict[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()
    repeated: bool = False

    def __repr__(self) -> str:
        size = f"{counted(self.n_items, 'item')} in {counted(self.n_clusters, 'cluster')}"
        return f"PairedRuns({', '.join(self.names)}; {size})"

    @property
    def n_items(self) -> int:
        """Number of items that all runs scored."""
        return len(self.items)

    @property
    def n_clusters(self) -> int:
        """Number of clusters that these items come from."""
        return len(self.cluster_names)
