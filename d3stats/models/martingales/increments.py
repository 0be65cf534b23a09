"""The increments of the share of correct votes, one row per debate and pair of neighbouring rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Increments:
    """Rows of (debate, round): where the share started, by how much it changed, in which cell and cluster.

    Attributes
    ----------
    start, change : ndarray, shape (rows,)
        S_t and S_{t+1} - S_t.
    cell : ndarray of int, shape (rows,)
        The starting count; with a varying number of votes the count of the largest panel that is nearest,
        0 and `panel` being kept for shares of exactly 0 and 1.
    from_round, debate, cluster : ndarray of int, shape (rows,)
    panel : int
        Votes of the largest panel.
    notes : tuple of str
        What was left out.
    """

    start: Floats
    change: Floats
    cell: Ints
    from_round: Ints
    debate: Ints
    cluster: Ints
    panel: int
    notes: tuple[str, ...] = ()

    def of_round(self, r: int) -> Increments:
        """Return the rows that start in round `r`."""
        return self.where(self.from_round == r)

    def where(self, at: NDArray[np.bool_]) -> Increments:
        """Return some of the rows."""
        parts = (
            self.start[at],
            self.change[at],
            self.cell[at],
            self.from_round[at],
            self.debate[at],
            self.cluster[at],
        )
        return Increments(*parts, self.panel)


def increments_of(log: Any, trials: ArrayLike | None, cluster: ArrayLike | None, missing: str) -> Increments:
    """Read a log or arrays, check them, and return the increments."""
    if hasattr(log, "successes_trials"):
        if trials is not None or cluster is not None:
            raise TypeError("trials and cluster must be left out when a log is given; it brings its own")
        s, n = log.successes_trials(missing)
        group = np.asarray(log.cluster)
        played = np.asarray(log.reached())
    else:
        if trials is None:
            raise TypeError("trials must be given with an array of correct votes; got None")
        s = _whole("successes", log)
        n = _whole("trials", trials)
        if s.ndim != 2:
            raise ValueError(f"successes must have shape (debates, rounds); got shape {s.shape}")
        if n.ndim and n.shape != s.shape:
            raise ValueError(f"trials must be one number or have shape {s.shape}; got shape {n.shape}")
        n = np.broadcast_to(n, s.shape)
        if (s > n).any():
            row, column = np.argwhere(s > n)[0]
            raise ValueError(
                f"trials must be >= successes; got trials={n[row, column]}, "
                f"successes={s[row, column]} at debate {row}, round {column + 1}"
            )
        group = np.arange(len(s)) if cluster is None else np.asarray(cluster)
        if group.shape != (len(s),):
            raise ValueError(f"cluster must have one value per debate ({len(s)}); got shape {group.shape}")
        # A round without votes is the end of a debate unless it went on.
        played = np.cumsum(n[:, ::-1] > 0, axis=1)[:, ::-1] > 0
    return _increments(s, n, played, np.unique(group, return_inverse=True)[1].astype(np.int64))


def _increments(s: Ints, n: Ints, played: NDArray[np.bool_], cluster: Ints) -> Increments:
    if s.shape[1] < 2:
        raise ValueError(f"the log must have at least two rounds, a change needs two; got {s.shape[1]}")
    both = (n[:, :-1] > 0) & (n[:, 1:] > 0)
    # Column by column, so that rows of one transition lie together.
    at, debate = np.nonzero(both.T)
    if not len(at):
        raise ValueError("the log must have a debate with votes and a label in two rounds running; got none")
    groups = len(np.unique(cluster[debate]))
    if groups < 2:
        raise ValueError(
            f"cluster must have at least 2 values, errors are measured between questions; got {groups}"
        )
    before, votes = s[debate, at], n[debate, at]
    start = before / votes
    change = s[debate, at + 1] / n[debate, at + 1] - start
    panel = int(votes.max())
    # 2 s panel + votes over 2 votes is s / votes * panel rounded half up, in whole numbers.
    nearest = np.clip((2 * before * panel + votes) // (2 * votes), min(1, panel), max(panel - 1, 0))
    cell = np.where(before == 0, 0, np.where(before == votes, panel, nearest))
    known: NDArray[np.bool_] = np.asarray((n > 0).any(axis=1))
    holes = int((~both & played[:, 1:] & known[:, None]).sum())
    lost = int((~known).sum())
    notes = []
    if holes:
        notes.append(f"{holes} pairs of rounds left out because one of them has no vote")
    if lost:
        notes.append(f"{lost} debates left out: no vote or no label")
    return Increments(
        start,
        change,
        cell.astype(np.int64),
        (at + 1).astype(np.int64),
        debate.astype(np.int64),
        cluster[debate],
        panel,
        tuple(notes),
    )


def _whole(name: str, values: Any) -> Ints:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a rectangular array of whole numbers; got {values!r}") from None
    bad = ~(np.isfinite(array) & (array == np.floor(array)) & (array >= 0))
    if bad.any():
        raise ValueError(f"{name} must be whole numbers >= 0; got {array[bad][0]!r}")
    return array.astype(np.int64)
