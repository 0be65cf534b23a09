"""Votes with the probability of being right that each voter gave, whether they are right, and their clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Ints

__all__ = ["Confidences"]


@dataclass(frozen=True, eq=False, repr=False)
class Confidences:
    """Votes with a confidence on debates with a known right answer, one entry per vote.

    Attributes
    ----------
    confidence : ndarray of float, shape (votes,)
        Probability, from 0 to 1, that the voter gave its vote of being right.
    right : ndarray of float, shape (votes,)
        1 where the vote is right, else 0.
    vote : ndarray of int64, shape (votes,)
        Code of the answer; equal within a debate where votes are equal.
    debate : ndarray of int64, shape (votes,)
        Code of the debate.
    cluster : ndarray of int64, shape (votes,)
        Code of the cluster of the debate, from 0 without a gap.
    judge : ndarray of int64, shape (votes,)
        Index into `judges`.
    round : ndarray of int64, shape (votes,)
        From 1.
    last : ndarray of bool, shape (votes,)
        Whether the round is the last of its debate.
    judges : tuple of str
        Names of the voters.
    by_correctness : bool
        Whether votes are only known to be right or wrong, so that wrong votes look equal.
    notes : tuple of str
        What was left out.

    Examples
    --------
    >>> from d3stats.sources.confidences import as_confidences
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"item": [1, 2], "judge": "x", "vote": ["A", "B"], "label": "A", "confidence": [0.9, 0.6]})
    >>> as_confidences(votes)
    Confidences(2 votes of 1 judge in 2 clusters)
    """

    confidence: NDArray[np.float64]
    right: NDArray[np.float64]
    vote: Ints
    debate: Ints
    cluster: Ints
    judge: Ints
    round: Ints
    last: NDArray[np.bool_]
    judges: tuple[str, ...]
    by_correctness: bool = False
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        n, clusters = len(self.judges), self.n_clusters
        return (
            f"Confidences({len(self)} vote{'s' * (len(self) != 1)} of {n} judge{'s' * (n != 1)} in {clusters} "
            f"cluster{'s' * (clusters != 1)})"
        )

    def __len__(self) -> int:
        return len(self.confidence)

    @property
    def n_clusters(self) -> int:
        """Number of clusters that the votes come from."""
        return len(np.unique(self.cluster))

    def where(self, votes: NDArray[np.bool_]) -> Confidences:
        """Keep some votes; clusters get new numbers, judges keep their codes."""
        cluster = np.unique(self.cluster[votes], return_inverse=True)[1].astype(np.int64)
        kept = {name: getattr(self, name)[votes]
                for name in ("confidence", "right", "vote", "debate", "judge", "round", "last")}  # fmt: skip
        return replace(self, **kept, cluster=cluster)
