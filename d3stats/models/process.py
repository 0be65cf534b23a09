"""A panel's vote count as a finite mixture of Markov chains: what exact evaluation and the optimum work on.

Two answers, A and B, and a panel of n seats. A debate belongs to a hidden class (which answer is right, how
hard the item is); within its class the number of votes for A moves from round to round as a Markov chain,
as it does whenever exchangeable agents look at nothing but the last round's votes. The class is never seen,
so what happens next depends on the whole path, through the posterior of the class.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import integer

__all__ = ["CountProcess"]

_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class CountProcess:
    """The law of the number of votes for A over the rounds of a debate.

    Attributes
    ----------
    weights : ndarray, shape (classes,)
        Prior probabilities of the classes.
    a_is_right : ndarray of bool, shape (classes,)
        Whether A is the right answer in the class.
    initial : ndarray, shape (classes, panel + 1)
        Law of the first round's count of votes for A.
    steps : ndarray, shape (classes, 1 or n_rounds - 1, panel + 1, panel + 1)
        ``steps[c, t - 1, i, j]``: probability of j votes for A in round t + 1 after i in round t; one matrix
        stands for all rounds when the second axis has length 1.
    n_rounds : int
        Rounds of a debate played to its full depth.
    names : tuple of str
        Names of the classes.

    Notes
    -----
    Arrays hold floats, or ``fractions.Fraction`` (dtype object) for exact arithmetic.

    Examples
    --------
    >>> p = CountProcess.symmetric([[0.3, 0.7]], [[[1.0, 0.0], [0.0, 1.0]]], n_rounds=3)
    >>> p.panel, p.n_classes, p.exact
    (1, 2, False)
    >>> p.marginal()[0].tolist()
    [0.5, 0.5]
    """

    weights: NDArray[Any]
    a_is_right: NDArray[np.bool_]
    initial: NDArray[Any]
    steps: NDArray[Any]
    n_rounds: int
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        integer("n_rounds", self.n_rounds, minimum=1)
        classes = len(self.weights)
        size = self.initial.shape[1] if self.initial.ndim == 2 else 0
        depth = {1, self.n_rounds - 1}
        if self.weights.ndim != 1 or classes == 0:
            raise ValueError(f"weights must have shape (classes,); got shape {self.weights.shape}")
        if self.initial.shape != (classes, size) or size < 2:
            raise ValueError(
                f"initial must have shape ({classes}, panel + 1), panel >= 1; got {self.initial.shape}"
            )
        shape = self.steps.shape
        if len(shape) != 4 or shape[0] != classes or shape[2:] != (size, size) or shape[1] not in depth:
            raise ValueError(
                f"steps must have shape ({classes}, 1 or {self.n_rounds - 1}, {size}, {size}); got {shape}"
            )
        if self.a_is_right.shape != (classes,) or self.a_is_right.dtype != bool:
            raise ValueError(f"a_is_right must be {classes} booleans; got {self.a_is_right!r}")
        if self.names and len(self.names) != classes:
            raise ValueError(f"names must be {classes} names; got {len(self.names)}")
        for name, array in (("weights", self.weights), ("initial", self.initial), ("steps", self.steps)):
            values = array.astype(np.float64)
            if not np.isfinite(values).all() or (values < 0).any():
                raise ValueError(f"{name} must be finite and >= 0; got {values.min():g} among them")
            worst = float(np.abs(values.sum(axis=-1) - 1.0).max())
            if worst > _TOLERANCE:
                raise ValueError(f"{name} must sum to 1 over its last axis; got a sum off by {worst:g}")
            array.setflags(write=False)
        self.a_is_right.setflags(write=False)

    @classmethod
    def symmetric(
        cls,
        initial: ArrayLike,
        steps: ArrayLike,
        *,
        n_rounds: int,
        weights: ArrayLike | None = None,
        names: tuple[str, ...] = (),
    ) -> CountProcess:
        """Build from laws of the number of *right* votes; A is right in half of the debates.

        Parameters
        ----------
        initial : array, shape (difficulties, panel + 1)
            Law of the first round's number of right votes, by difficulty class.
        steps : array, shape (difficulties, panel + 1, panel + 1) or (difficulties, rounds - 1, ...)
        weights : array, shape (difficulties,), optional
            Shares of the difficulty classes; equal by default.

        Returns
        -------
        CountProcess
            With two classes per difficulty: first all in which A is right, then all in which B is.
        """
        first = np.asarray(initial)
        moves = np.asarray(steps)
        if moves.ndim == 3:
            moves = moves[:, None]
        n = len(first)
        shares = np.full(n, 1.0 / n) if weights is None else np.asarray(weights)
        labels = names or tuple(f"difficulty {i + 1}" for i in range(n))
        return cls(
            weights=np.concatenate([shares, shares]) / 2,
            a_is_right=np.repeat([True, False], n),
            initial=np.concatenate([first, first[:, ::-1]]),
            steps=np.concatenate([moves, moves[:, :, ::-1, ::-1]]),
            n_rounds=n_rounds,
            names=tuple(f"A right, {x}" for x in labels) + tuple(f"B right, {x}" for x in labels),
        )

    def __repr__(self) -> str:
        return f"CountProcess({self.n_classes} classes, panel of {self.panel}, {self.n_rounds} rounds)"

    @property
    def panel(self) -> int:
        """Seats on the panel."""
        return int(self.initial.shape[1]) - 1

    @property
    def n_classes(self) -> int:
        """Number of hidden classes."""
        return len(self.weights)

    @property
    def exact(self) -> bool:
        """Whether the arrays hold fractions."""
        return self.initial.dtype == object

    def step(self, round_number: int) -> NDArray[Any]:
        """Return the matrices from this round to the next, shape (classes, panel + 1, panel + 1)."""
        at = integer("round_number", round_number, minimum=1)
        if at >= self.n_rounds:
            raise ValueError(f"round_number must be below n_rounds={self.n_rounds}; got {at}")
        result: NDArray[Any] = self.steps[:, 0 if self.steps.shape[1] == 1 else at - 1]
        return result

    def marginal(self) -> NDArray[Any]:
        """Return the law of the count in each round, all classes together, shape (n_rounds, panel + 1)."""
        return np.stack([(self.weights[:, None] * law).sum(axis=0) for law in self.by_class()])

    def by_class(self) -> NDArray[Any]:
        """Return the law of the count in each round by class, shape (n_rounds, classes, panel + 1)."""
        laws = [self.initial]
        for t in range(1, self.n_rounds):
            laws.append((laws[-1][:, :, None] * self.step(t)).sum(axis=1))
        return np.stack(laws)

    def majority(self) -> NDArray[Any]:
        """Return P(the plurality verdict is A) by count, shape (panel + 1,); a tie is a fair coin.

        A tied round's verdict is its lowest seat's answer, and exchangeable seats make that a fair coin.
        """
        one = self.weights[0] * 0 + 1
        counts = np.arange(self.panel + 1)
        twice = 2 * counts - self.panel
        return np.array([one if d > 0 else one * 0 if d < 0 else one / 2 for d in twice])

    def final_verdict(self) -> NDArray[Any]:
        """Return P(the verdict of the last round is A | class, round, count).

        Returns
        -------
        ndarray, shape (n_rounds, classes, panel + 1)

        Examples
        --------
        >>> p = CountProcess.symmetric([[0.3, 0.7]], [[[0.9, 0.1], [0.2, 0.8]]], n_rounds=2)
        >>> p.final_verdict()[0, 0].tolist()
        [0.1, 0.8]
        """
        laws = [np.stack([self.majority()] * self.n_classes)]
        for t in range(self.n_rounds - 1, 0, -1):
            laws.append((self.step(t) * laws[-1][:, None, :]).sum(axis=2))
        return np.stack(laws[::-1])

    def path_likelihood(self, counts: ArrayLike) -> NDArray[Any]:
        """Return P(these counts | class), shape (classes,), of one path of counts from round 1 on."""
        path = [integer("counts", c, minimum=0) for c in np.asarray(counts).tolist()]
        result: NDArray[Any] = self.initial[:, path[0]]
        for t, (i, j) in enumerate(pairwise(path), start=1):
            result = result * self.step(t)[:, i, j]
        return result
