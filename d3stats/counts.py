"""What does a log come down to? Counts that add up, from which every model of counts is fitted.

Every estimator that can be computed from counts takes one of these. Counts of the parts of a log, by file or by worker,
add up with ``+`` to the counts of the whole, in any order. Trials vary with missing votes, so each cell carries its
own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, NDArray

from d3stats._check import nonnegative, whole_numbers
from d3stats.values import canonical

__all__ = ["ConfusionCounts", "Counts", "RoundCounts", "TransitionCounts"]


class CellColumn(NDArrayOperatorsMixin):
    """One column of cells, each of one debate or of several.

    Arithmetic and comparisons with it give plain arrays, and `values` is one. It turns into an array of its own accord
    only where every cell is one debate, because a function that takes the bare array would take each cell for one.

    Examples
    --------
    >>> column = Counts.from_columns([3, 3, 1], [3, 3, 2]).successes
    >>> column.tolist(), (column / 2).tolist(), column[1], column.max(), len(column)
    ([1, 3], [0.5, 1.5], np.int64(3), np.int64(3), 2)
    >>> np.asarray(column)
    Traceback (most recent call last):
    TypeError: successes must come with weights, because each is a cell of several debates; got none: pass the counts \
themselves, or weights=counts.weights
    """

    __slots__ = ("name", "values", "weighted")

    def __init__(self, name: str, values: NDArray[np.int64], weighted: bool) -> None:
        self.name, self.values, self.weighted = name, values, weighted

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the values where each is one debate."""
        if self.weighted:
            raise TypeError(
                f"{self.name} must come with weights, because each is a cell of several debates; "
                "got none: pass the counts themselves, or weights=counts.weights"
            )
        return np.array(self.values, dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Compute value by value; a sum or another reduction needs the weights."""
        if method != "__call__":
            return getattr(ufunc, method)(*map(np.asarray, inputs), **options)
        return ufunc(*map(bare, inputs), **options)

    def __getitem__(self, index: Any) -> Any:
        part = self.values[index]
        return CellColumn(self.name, part, self.weighted) if isinstance(part, np.ndarray) else part

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[np.int64]:
        return iter(self.values)

    def __repr__(self) -> str:
        return f"CellColumn({self.name!r}, {self.values.tolist()}, weighted={self.weighted})"

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of cells, as a tuple."""
        return self.values.shape

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.values.size

    def tolist(self) -> list[int]:
        """Return the values as whole numbers of Python."""
        return [int(value) for value in self.values]

    def max(self, initial: int | None = None) -> np.int64:
        """Return the largest value, which no weight changes."""
        return np.int64(self.values.max() if initial is None else self.values.max(initial=initial))

    def min(self) -> np.int64:
        """Return the smallest value, which no weight changes."""
        return np.int64(self.values.min())


def bare(column: Any) -> Any:
    """Return the plain values of a column of cells, for those who have the weights; anything else as it is."""
    return column.values if isinstance(column, CellColumn) else column


@dataclass(frozen=True, eq=False, repr=False)
class _Cells:
    """Unique integer keys, sorted, each with a positive weight: the common shape of every count here."""

    columns: ClassVar[tuple[str, ...]] = ()

    keys: NDArray[np.int64]
    """Shape (cells, len(columns)): unique rows in lexicographic order."""
    weights: NDArray[np.float64]
    """Shape (cells,): how many debates fell in each cell; fractional weights are allowed."""

    def __post_init__(self) -> None:
        self.keys.setflags(write=False)
        self.weights.setflags(write=False)

    @classmethod
    def _reduce(cls, keys: NDArray[np.int64], weights: NDArray[np.float64]) -> Self:
        """Merge equal keys; zero weights vanish, so equal data have equal cells."""
        keys = keys.reshape(-1, len(cls.columns))
        positive = weights > 0
        if not positive.all():
            keys, weights = keys[positive], weights[positive]
        if len(keys) == 0:
            return cls(np.empty((0, len(cls.columns)), np.int64), np.empty(0))
        order = np.lexsort(keys.T[::-1])
        keys, weights = keys[order], weights[order]
        first = np.ones(len(keys), dtype=bool)
        first[1:] = (keys[1:] != keys[:-1]).any(axis=1)
        return cls(np.ascontiguousarray(keys[first]), np.add.reduceat(weights, np.flatnonzero(first)))

    @classmethod
    def empty(cls) -> Self:
        """Return the zero of ``+``."""
        return cls._reduce(np.empty((0, len(cls.columns)), np.int64), np.empty(0))

    @classmethod
    def from_columns(cls, *columns: ArrayLike, weights: ArrayLike | None = None) -> Self:
        """Build from one array per column (see ``columns``), one row per observation or per cell.

        Raises
        ------
        ValueError
            When columns differ in length, a value is negative, fractional or not finite, successes exceed
            trials, or a weight is negative or not finite.
        TypeError
            When columns of counts whose cells stand for several debates come without their weights.
        """
        if len(columns) != len(cls.columns):
            raise TypeError(
                f"{cls.__name__} needs {len(cls.columns)} columns {cls.columns}; got {len(columns)}"
            )
        if weights is not None:
            columns = tuple(map(bare, columns))
        named = {n: whole_numbers(n, column) for n, column in zip(cls.columns, columns, strict=True)}
        arrays = list(named.values())
        size = arrays[0].size
        for name, array in named.items():
            if array.size != size:
                raise ValueError(f"{name} must be as long as {cls.columns[0]} ({size}); got {array.size}")
        cls._check(named)
        if weights is None:
            return cls._reduce(*_tabulated(arrays))
        return cls._reduce(np.column_stack(arrays), nonnegative("weights", weights, size=size))

    @classmethod
    def _check(cls, columns: Mapping[str, NDArray[np.int64]]) -> None:
        for name, trials in columns.items():
            if not name.endswith("trials"):
                continue
            prefix = name.removesuffix("trials")
            successes = columns[f"{prefix}successes"]
            bad = successes > trials
            if bad.any():
                row = int(np.argmax(bad))
                raise ValueError(
                    f"{name} must be >= {prefix}successes; "
                    f"got {name}={trials[row]}, {prefix}successes={successes[row]} at row {row}"
                )

    def __add__(self, other: object) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._reduce(
            np.concatenate([self.keys, other.keys]), np.concatenate([self.weights, other.weights])
        )

    def __radd__(self, other: object) -> Self:
        """Let ``sum()`` start from 0."""
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return np.array_equal(self.keys, other.keys) and np.allclose(
            self.weights, other.weights, rtol=1e-12, atol=0
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Refuse: an array of the cells would lose the weights."""
        raise TypeError(
            f"{type(self).__name__} must stay what it is, because an array has no weights; "
            "got a conversion to an array: use to_frame()"
        )

    def __len__(self) -> int:
        """Return the number of distinct cells."""
        return len(self.weights)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_obs={self.n_obs:g}, cells={len(self)})"

    @property
    def n_obs(self) -> float:
        """The total weight: how many debates were counted."""
        return float(self.weights.sum())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per cell: the key columns and ``weight``."""
        frame = pd.DataFrame(self.keys, columns=list(self.columns))
        return frame.assign(weight=self.weights)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> Self:
        """Build from a frame with the columns of :meth:`to_frame`; ``weight`` may be absent (one per row)."""
        missing = [name for name in cls.columns if name not in frame.columns]
        if missing:
            raise ValueError(f"frame must have the columns {list(cls.columns)}; got none named {missing}")
        weights = frame["weight"].to_numpy() if "weight" in frame.columns else None
        return cls.from_columns(*(frame[name].to_numpy() for name in cls.columns), weights=weights)


def _tabulated(columns: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Count equal rows by a table of all rows that could be, where it is small."""
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    if math.prod(sizes) > 1 << 20:
        return np.column_stack(columns), np.ones(len(columns[0]))
    counts = np.bincount(np.ravel_multi_index(tuple(columns), sizes), minlength=1)
    found = np.flatnonzero(counts)
    return np.column_stack(np.unravel_index(found, sizes)), counts[found].astype(np.float64)


class Counts(_Cells):
    """Number of debates that had `successes` correct votes out of `trials` votes cast.

    Attributes
    ----------
    keys : ndarray of int64, shape (cells, 2)
        Correct votes and votes cast of each cell, in ascending order.
    weights : ndarray of float, shape (cells,)
        How many debates are in each cell.

    Examples
    --------
    >>> Counts.from_columns([3, 3, 1], [3, 3, 2]).to_frame()
       successes  trials  weight
    0          1       2     1.0
    1          3       3     2.0
    >>> monday, tuesday = Counts.from_votes([[1, 1, 0], [1, 1, 1]]), Counts.from_columns([2], [3], weights=[4.0])
    >>> both = monday + tuesday
    >>> both.successes.tolist(), both.trials.tolist(), both.weights.tolist(), both.n_obs
    ([2, 3], [3, 3], [5.0, 1.0], 6.0)
    >>> Counts.from_frame(both.to_frame()) == both, both + Counts.empty() == both
    (True, True)
    """

    columns = ("successes", "trials")

    @classmethod
    def from_votes(cls, votes: ArrayLike) -> Counts:
        """Count correct votes per debate, straight from the vote array.

        Parameters
        ----------
        votes : array of bool or int, shape (debates, seats)
            1 or True for a correct vote, 0 or False for another, any negative number for a missing one.

        Raises
        ------
        ValueError
            When the array is not two-dimensional or a vote is above 1.

        Examples
        --------
        >>> Counts.from_votes([[1, 1, 0], [1, 0, -1]]).to_frame()
           successes  trials  weight
        0          1       2     1.0
        1          2       3     1.0
        """
        array = np.asarray(votes)
        if array.ndim != 2:
            raise ValueError(f"votes must have shape (debates, seats); got shape {array.shape}")
        if array.dtype.kind not in "biu":
            raise TypeError(
                f"votes must be booleans or integers (missing is negative); got dtype {array.dtype}"
            )
        return _count_votes(array)

    @property
    def successes(self) -> CellColumn:
        """Correct votes of each cell, shape (cells,); a fit takes them with `weights` only."""
        return self._column(0)

    @property
    def trials(self) -> CellColumn:
        """Votes cast in each cell, shape (cells,); a fit takes them with `weights` only."""
        return self._column(1)

    def _column(self, at: int) -> CellColumn:
        return CellColumn(self.columns[at], self.keys[:, at], bool((self.weights != 1).any()))

    @property
    def panel(self) -> int:
        """Votes of a full panel: how many votes most debates have, the largest number where several tie.

        Debates without a vote do not count. The largest, because a missing vote makes a panel smaller, never larger.
        """
        sizes, at = np.unique(self.keys[:, 1], return_inverse=True)
        held = np.bincount(at, weights=self.weights)[sizes > 0]
        if not held.size:
            raise ValueError("counts must hold at least one debate with a vote to have a panel; got none")
        # Fractional weights that tie may differ in their last digits.
        return int(sizes[sizes > 0][held >= held.max() * (1 - 1e-9)].max())


def _count_votes(votes: NDArray[Any]) -> Counts:
    """Histogram (correct, cast) in blocks that stay in cache; a sum over a short last axis would be slow."""
    seats = votes.shape[1]
    table = np.zeros((seats + 1, seats + 1), dtype=np.int64)
    small = np.uint8 if seats < 256 else np.int64
    for at in range(0, len(votes), 1 << 17):
        block = votes[at : at + (1 << 17)]
        if block.dtype != bool:
            if block.max(initial=0) > 1:
                raise ValueError(f"votes must be 1, 0 or negative (missing); got {block.max()}")
            if block.min(initial=0) < 0:
                correct, cast = _row_sums(block == 1, small), _row_sums(block >= 0, small)
                both = cast.astype(np.int64) * (seats + 1) + correct
                table += np.bincount(both, minlength=table.size).reshape(table.shape)
                continue
            block = block == 1
        correct = _row_sums(block, small)
        for s in range(seats + 1):
            table[seats, s] += np.count_nonzero(correct == s)
    trials, successes = np.nonzero(table)
    return Counts.from_columns(successes, trials, weights=table[trials, successes])


def _row_sums(flags: NDArray[np.bool_], dtype: type[np.integer[Any]]) -> NDArray[Any]:
    ones = flags.view(np.uint8)
    total = np.zeros(len(flags), dtype=dtype)
    for seat in range(flags.shape[1]):
        total += ones[:, seat]
    return total


class RoundCounts(_Cells):
    """:class:`Counts` of every round of a log, as one additive object.

    Attributes
    ----------
    keys : ndarray of int64, shape (cells, 3)
        Round, correct votes and votes cast of each cell, in ascending order.
    weights : ndarray of float, shape (cells,)
        How many debates are in each cell.

    Examples
    --------
    >>> first, second = Counts.from_columns([3, 1], [3, 3]), Counts.from_columns([3, 3], [3, 3])
    >>> counts = RoundCounts.from_rounds({1: first, 2: second})
    >>> counts.rounds, counts[2].to_frame().values.tolist()
    ((1, 2), [[3.0, 3.0, 2.0]])
    >>> counts.pooled().n_obs
    4.0
    >>> counts.to_frame()
       round  successes  trials  weight
    0      1          1       3     1.0
    1      1          3       3     1.0
    2      2          3       3     2.0
    >>> RoundCounts.from_frame(counts.to_frame()) == RoundCounts.from_columns([1, 1, 2, 2], [3, 1, 3, 3], [3, 3, 3, 3])
    True
    >>> RoundCounts.empty().n_obs
    0.0
    """

    columns = ("round", "successes", "trials")

    @classmethod
    def from_rounds(cls, rounds: Mapping[int, Counts]) -> RoundCounts:
        """Stack one :class:`Counts` per round."""
        parts = [
            cls._reduce(np.column_stack([np.full(len(c), r, dtype=np.int64), c.keys]), c.weights)
            for r, c in rounds.items()
        ]
        return sum(parts, start=cls.empty())

    @property
    def rounds(self) -> tuple[int, ...]:
        """The round numbers that occur, ascending."""
        return tuple(int(r) for r in np.unique(self.keys[:, 0]))

    def __getitem__(self, round_number: int) -> Counts:
        here = self.keys[:, 0] == round_number
        if not here.any():
            raise KeyError(f"round must be one of {list(self.rounds)}; got round={round_number!r}")
        return Counts._reduce(self.keys[here, 1:], self.weights[here])

    def pooled(self) -> Counts:
        """Forget the round: all rounds as one set of cells."""
        return Counts._reduce(self.keys[:, 1:], self.weights)


class TransitionCounts(_Cells):
    """Number of debates that went from one (successes, trials) cell in `round` to another in the next round.

    Attributes
    ----------
    keys : ndarray of int64, shape (cells, 5)
        Round, correct votes and votes cast in it, and the same two numbers in the next round, in ascending order.
    weights : ndarray of float, shape (cells,)
        How many debates went that way.

    Examples
    --------
    >>> moves = TransitionCounts.from_columns([1, 1], [1, 2], [3, 3], [2, 3], [3, 3])
    >>> moves.before().to_frame().values.tolist(), moves.after().to_frame().values.tolist()
    ([[1.0, 3.0, 1.0], [2.0, 3.0, 1.0]], [[2.0, 3.0, 1.0], [3.0, 3.0, 1.0]])
    >>> TransitionCounts.from_frame(moves.to_frame()) + TransitionCounts.empty() == moves
    True
    """

    columns = ("round", "successes", "trials", "next_successes", "next_trials")

    @property
    def rounds(self) -> tuple[int, ...]:
        """The rounds that debates leave, ascending."""
        return tuple(int(r) for r in np.unique(self.keys[:, 0]))

    def __getitem__(self, round_number: int) -> TransitionCounts:
        here = self.keys[:, 0] == round_number
        return self._reduce(self.keys[here], self.weights[here])

    def before(self) -> Counts:
        """Cells that the debates came from, rounds pooled."""
        return Counts._reduce(self.keys[:, 1:3], self.weights)

    def after(self) -> Counts:
        """Cells that the debates went to, rounds pooled."""
        return Counts._reduce(self.keys[:, 3:5], self.weights)


@dataclass(frozen=True, eq=False)
class ConfusionCounts:
    """Number of times that truth `labels[i]` met vote `labels[j]`.

    A vote of None in the source is left out, not wrong.

    Attributes
    ----------
    labels : tuple of str
        Every label or vote that occurs, sorted.
    matrix : ndarray of float, shape (labels, labels)
        Rows are the truth, columns the vote.

    Examples
    --------
    >>> counts = ConfusionCounts.from_pairs(["A", "A", "B", "B"], ["A", "B", "B", None])
    >>> counts.to_frame()
    vote     A    B
    truth
    A      1.0  1.0
    B      0.0  1.0
    >>> counts.n_obs, (counts + ConfusionCounts.from_texts(["A"], ["A"])).n_obs, ConfusionCounts.empty().n_obs
    (3.0, 4.0, 0.0)
    """

    labels: tuple[str, ...]
    matrix: NDArray[np.float64]

    @classmethod
    def from_pairs(
        cls, truth: Iterable[Any], vote: Iterable[Any], weights: ArrayLike | None = None
    ) -> ConfusionCounts:
        """Count (truth, vote) pairs in canonical form; pairs with a missing side are left out."""
        truths, votes = canonical(truth, vote).columns
        return cls.from_texts(truths, votes, weights=weights)

    @classmethod
    def from_texts(
        cls, truth: Iterable[str | None], vote: Iterable[str | None], weights: ArrayLike | None = None
    ) -> ConfusionCounts:
        """Count pairs that are in canonical form; None is missing."""
        frame = pd.DataFrame({"truth": list(truth), "vote": list(vote)}, dtype=object)
        frame["weight"] = 1.0 if weights is None else nonnegative("weights", weights, size=len(frame))
        frame = frame.dropna(subset=["truth", "vote"])
        frame = frame[frame["weight"] > 0]
        labels = tuple(sorted(set(frame["truth"]) | set(frame["vote"])))
        matrix = np.zeros((len(labels), len(labels)))
        index = {label: i for i, label in enumerate(labels)}
        rows = frame["truth"].map(index).to_numpy(dtype=np.int64)
        columns = frame["vote"].map(index).to_numpy(dtype=np.int64)
        np.add.at(matrix, (rows, columns), frame["weight"].to_numpy())
        return cls(labels, matrix)

    @classmethod
    def empty(cls) -> ConfusionCounts:
        """Return the zero of ``+``."""
        return cls((), np.zeros((0, 0)))

    @property
    def n_obs(self) -> float:
        """The number of pairs counted."""
        return float(self.matrix.sum())

    def __add__(self, other: object) -> ConfusionCounts:
        if not isinstance(other, ConfusionCounts):
            return NotImplemented
        labels = tuple(sorted(set(self.labels) | set(other.labels)))
        index = {label: i for i, label in enumerate(labels)}
        matrix = np.zeros((len(labels), len(labels)))
        for part in (self, other):
            at = np.array([index[label] for label in part.labels], dtype=np.int64)
            matrix[np.ix_(at, at)] += part.matrix
        return ConfusionCounts(labels, matrix)

    def __radd__(self, other: object) -> ConfusionCounts:
        """Let ``sum()`` start from 0."""
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConfusionCounts):
            return NotImplemented
        return self.labels == other.labels and np.allclose(self.matrix, other.matrix, rtol=1e-12, atol=0)

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash

    def to_frame(self) -> pd.DataFrame:
        """Return the table with truth in rows and votes in columns."""
        return pd.DataFrame(
            self.matrix,
            index=pd.Index(self.labels, name="truth"),
            columns=pd.Index(self.labels, name="vote"),
        )
