"""A panel's vote count as a finite mixture of Markov chains, and stopping policies on it as finite graphs.

There are two answers, A and B, and a panel of n seats. A debate belongs to a hidden class (which answer is right, how
hard the item is). Within its class the number of votes for A moves from round to round as a Markov chain; this holds
when exchangeable agents look at the last round's votes only. The class is never seen, so what happens next depends on
the whole path, through the posterior of the class.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import choice, integer

__all__ = [
    "PLURALITY",
    "Controller",
    "CountProcess",
    "Layer",
    "Verdict",
    "agreement_loss",
    "error_loss",
    "walk",
]


_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class CountProcess:
    """A finite mixture of Markov chains for the number of votes for A over the rounds of a debate.

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
        holds for all rounds when the second axis has length 1.
    n_rounds : int
        Rounds of a debate played to its full depth.
    names : tuple of str
        Names of the classes.

    Examples
    --------
    >>> p = CountProcess.symmetric([[0.3, 0.7]], [[[1.0, 0.0], [0.0, 1.0]]], n_rounds=3)
    >>> p.panel, p.n_classes
    (1, 2)
    >>> p.marginal()[0].tolist()
    [0.5, 0.5]
    >>> p.step(1)[0].tolist(), p.by_class().shape, p.majority().tolist()
    ([[1.0, 0.0], [0.0, 1.0]], (3, 2, 2), [0.0, 1.0])
    >>> p.path_likelihood([1, 1, 1]).tolist(), p.path_likelihood([1, 0]).tolist()
    ([0.7, 0.3], [0.0, 0.0])
    """

    weights: Floats
    a_is_right: NDArray[np.bool_]
    initial: Floats
    steps: Floats
    n_rounds: int
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        integer("n_rounds", self.n_rounds, minimum=1)
        for name in ("weights", "initial", "steps"):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        classes = len(self.weights)
        size = self.initial.shape[1] if self.initial.ndim == 2 else 0
        if self.weights.ndim != 1 or classes == 0:
            raise ValueError(f"weights must have shape (classes,); got shape {self.weights.shape}")
        if self.initial.shape != (classes, size) or size < 2:
            raise ValueError(
                f"initial must have shape ({classes}, panel + 1), panel >= 1; got {self.initial.shape}"
            )
        shape = self.steps.shape
        if shape not in {(classes, depth, size, size) for depth in (1, self.n_rounds - 1)}:
            raise ValueError(
                f"steps must have shape ({classes}, 1 or {self.n_rounds - 1}, {size}, {size}); got {shape}"
            )
        if self.a_is_right.shape != (classes,) or self.a_is_right.dtype != bool:
            raise ValueError(f"a_is_right must be {classes} booleans; got {self.a_is_right!r}")
        if self.names and len(self.names) != classes:
            raise ValueError(f"names must be {classes} names; got {len(self.names)}")
        for name, values in (("weights", self.weights), ("initial", self.initial), ("steps", self.steps)):
            if not np.isfinite(values).all() or (values < 0).any():
                raise ValueError(f"{name} must be finite and >= 0; got {values.min():g} among them")
            worst = float(np.abs(values.sum(axis=-1) - 1.0).max())
            if worst > _TOLERANCE:
                raise ValueError(f"{name} must sum to 1 over its last axis; got a sum off by {worst:g}")
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

        The process has two classes per difficulty: first all in which A is right, then all in which B is.

        Parameters
        ----------
        initial : array, shape (difficulties, panel + 1)
            Law of the first round's number of right votes, by difficulty class.
        steps : array, shape (difficulties, panel + 1, panel + 1) or (difficulties, rounds - 1, ...)
        weights : array, shape (difficulties,), optional
            Shares of the difficulty classes; equal by default.
        """
        first, moves = np.asarray(initial), np.asarray(steps)
        moves = moves[:, None] if moves.ndim == 3 else moves
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

    def step(self, round_number: int) -> Floats:
        """Return the matrices from this round to the next, shape (classes, panel + 1, panel + 1)."""
        at = integer("round_number", round_number, minimum=1)
        if at >= self.n_rounds:
            raise ValueError(f"round_number must be below n_rounds={self.n_rounds}; got {at}")
        result: Floats = self.steps[:, 0 if self.steps.shape[1] == 1 else at - 1]
        return result

    def marginal(self) -> Floats:
        """Return the law of the count in each round, all classes together, shape (n_rounds, panel + 1)."""
        return np.stack([(self.weights[:, None] * law).sum(axis=0) for law in self.by_class()])

    def by_class(self) -> Floats:
        """Return the law of the count in each round by class, shape (n_rounds, classes, panel + 1)."""
        laws = [self.initial]
        for t in range(1, self.n_rounds):
            laws.append((laws[-1][:, :, None] * self.step(t)).sum(axis=1))
        return np.stack(laws)

    def majority(self) -> Floats:
        """Return P(the plurality verdict is A) by count, shape (panel + 1,); a tie is a fair coin.

        A tied round's verdict is its lowest seat's answer, and exchangeable seats make that a fair coin.
        """
        result: Floats = (1 + np.sign(2 * np.arange(self.panel + 1) - self.panel)) / 2
        return result

    def final_verdict(self) -> Floats:
        """Return P(the verdict of the last round is A | round, class, count), shape (n_rounds, classes, panel + 1).

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

    def path_likelihood(self, counts: ArrayLike) -> Floats:
        """Return P(these counts | class), shape (classes,), of one path of counts from round 1 on."""
        path = [integer("counts", c, minimum=0) for c in np.asarray(counts).tolist()]
        result = self.initial[:, path[0]]
        for t, (i, j) in enumerate(pairwise(path), start=1):
            result = result * self.step(t)[:, i, j]
        return result


Verdict = Literal["majority", "posterior"]
"""The verdict of a stop: the round's plurality, or the answer with the smaller expected loss."""


def error_loss(process: CountProcess, verdict: Verdict = "majority") -> Floats:
    """Return the probability of a wrong verdict, shape (classes, n_rounds, panel + 1, choices).

    With "majority" there is one choice, the round's plurality, a tie being a fair coin; with "posterior" there are
    two, A and B.

    Parameters
    ----------
    process : CountProcess
        The law of the count.
    verdict : {"majority", "posterior"}
        What a stop commits to.

    Returns
    -------
    ndarray of float, shape (classes, n_rounds, panel + 1, choices)

    Examples
    --------
    >>> p = CountProcess.symmetric([[0.3, 0.7]], [[[0.9, 0.1], [0.2, 0.8]]], n_rounds=2)
    >>> error_loss(p)[:, 0, :, 0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    choice("verdict", verdict, ("majority", "posterior"))
    right = process.a_is_right[:, None]
    if verdict == "majority":
        by_class = np.where(right, 1 - process.majority(), process.majority())[:, None, :, None]
    else:
        by_class = np.where(right, [0.0, 1.0], [1.0, 0.0])[:, None, None, :]
    shape = (process.n_classes, process.n_rounds, process.panel + 1, by_class.shape[-1])
    return np.broadcast_to(by_class, shape)


def agreement_loss(process: CountProcess, verdict: Verdict = "majority") -> Floats:
    """Return the probability of a verdict other than the last round's, for plans without gold labels.

    Shape and verdicts are those of :func:`error_loss`. Two ties in different rounds are taken as two separate coins.

    Parameters
    ----------
    process : CountProcess
        The law of the count.
    verdict : {"majority", "posterior"}
        What a stop commits to.

    Returns
    -------
    ndarray of float, shape (classes, n_rounds, panel + 1, choices)

    Examples
    --------
    >>> p = CountProcess.symmetric([[0.3, 0.7]], [[[0.9, 0.1], [0.2, 0.8]]], n_rounds=2)
    >>> agreement_loss(p)[0, :, :, 0].round(2).tolist()
    [[0.1, 0.2], [0.0, 0.0]]
    """
    choice("verdict", verdict, ("majority", "posterior"))
    final_a = process.final_verdict().transpose(1, 0, 2)
    if verdict == "posterior":
        return np.stack([1 - final_a, final_a], axis=-1)
    votes_a = process.majority()
    loss: Floats = votes_a * (1 - final_a) + (1 - votes_a) * final_a
    # The last round's verdict is full depth's, tied or not.
    loss[:, -1] = 0.0
    return loss[..., None]


PLURALITY = -1
"""The decision of a node that commits to the round's plurality; 0 is answer A and 1 is answer B."""


@dataclass(frozen=True, eq=False)
class Layer:
    """The nodes of one round of a stopping policy.

    Examples
    --------
    >>> from d3stats.models.chains import solve
    >>> fresh = [[0.3, 0.7]]
    >>> policy = solve(CountProcess.symmetric(fresh, [[fresh[0], fresh[0]]], n_rounds=3), 0.01, verdict="posterior")
    >>> layer = policy.controller.layers[1]
    >>> layer.counts.tolist(), layer.stops.tolist(), layer.live.tolist()
    ([0, 1, 0, 1, 0, 1], [True, True, False, True, True, False], [2, 5])
    """

    counts: Ints
    """Votes for A in this round, shape (nodes,)."""
    stops: NDArray[np.bool_]
    """Where the debate stops, shape (nodes,)."""
    decisions: NDArray[np.int8]
    """The verdict of a stop, shape (nodes,): ``PLURALITY``, 0 for A, 1 for B."""
    successors: Ints
    """The node of the next layer by the next round's count, shape (nodes that continue, panel + 1)."""

    def __post_init__(self) -> None:
        for array in (self.counts, self.stops, self.decisions, self.successors):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def live(self) -> Ints:
        """The nodes that continue, in the order of `successors`."""
        return np.flatnonzero(~self.stops)

    @cached_property
    def row(self) -> Ints:
        """The row of `successors` of each node; 0 where the node stops."""
        return np.where(self.stops, 0, np.cumsum(~self.stops) - 1)


@dataclass(frozen=True, eq=False)
class Controller:
    """A stopping policy on counts as a graph: a node knows its count, and the next count names the next node.

    All nodes of the last layer stop.

    Examples
    --------
    >>> from d3stats.models.chains import solve
    >>> fresh = [[0.3, 0.7]]
    >>> policy = solve(CountProcess.symmetric(fresh, [[fresh[0], fresh[0]]], n_rounds=3), 0.01, verdict="posterior")
    >>> policy.controller.n_rounds
    3
    >>> policy.controller.stop_rounds(np.array([[1, 1, 0], [1, 0, 1]])).tolist()
    [2, 3]
    """

    panel: int
    """Seats on the panel."""
    first: Ints
    """By the first round's count, the node of the first layer, shape (panel + 1,)."""
    layers: tuple[Layer, ...]
    """One for each round."""

    @property
    def n_rounds(self) -> int:
        """Rounds of a debate played to its full depth."""
        return len(self.layers)

    def stop_rounds(self, counts: NDArray[Any]) -> Ints:
        """Return after which round each debate stops, 0 where it has not stopped by the end of `counts`.

        `counts` are the votes for A, complete, shape (debates, rounds).
        """
        stopped = np.zeros(len(counts), dtype=np.int64)
        if counts.shape[1] == 0:
            return stopped
        running = np.arange(len(counts))
        node = self.first[counts[:, 0]]
        for t, layer in enumerate(self.layers[: counts.shape[1]]):
            if t:
                before = self.layers[t - 1]
                node = before.successors[before.row[node], counts[running, t]]
            stops = layer.stops[node]
            stopped[running[stops]] = t + 1
            running, node = running[~stops], node[~stops]
        return stopped


def walk(process: CountProcess, controller: Controller) -> list[Floats]:
    """Return P(class, the debate reaches this node) for each round, shape (classes, nodes), by one forward pass.

    A process whose panel or number of rounds differs from the policy's is refused.

    Parameters
    ----------
    process : CountProcess
        The law of the count.
    controller : Controller
        A policy for the same panel and number of rounds.

    Returns
    -------
    list of ndarray of float, shape (classes, nodes)

    Examples
    --------
    >>> from d3stats.models.chains import solve
    >>> fresh = [[0.3, 0.7]]
    >>> process = CountProcess.symmetric(fresh, [[fresh[0], fresh[0]]], n_rounds=3)
    >>> [chance.sum().round(2).item() for chance in walk(process, solve(process, 0.01, verdict="posterior").controller)]
    [1.0, 1.0, 0.42]
    """
    if process.panel != controller.panel or process.n_rounds != controller.n_rounds:
        raise ValueError(
            f"process must have the panel and rounds of the policy "
            f"({controller.panel} seats, {controller.n_rounds} rounds); "
            f"got {process.panel} seats, {process.n_rounds} rounds"
        )
    start = process.weights[:, None] * process.initial
    masses = [_scatter(start, controller.first, len(controller.layers[0]))]
    for t in range(1, process.n_rounds):
        before, size = controller.layers[t - 1], len(controller.layers[t])
        if not before.live.size:
            masses.append(np.zeros((process.n_classes, size)))
            continue
        moving = masses[-1][:, before.live]
        flow = moving[:, :, None] * process.step(t)[:, before.counts[before.live]]
        masses.append(_scatter(flow.reshape(len(flow), -1), before.successors.ravel(), size))
    return masses


def _scatter(values: Floats, at: Ints, size: int) -> Floats:
    """Add each column of `values` into the column of the result that `at` names."""
    classes = len(values)
    index = (np.arange(classes)[:, None] * size + at).ravel()
    flat: Floats = np.bincount(index, values.ravel(), minlength=classes * size).astype(np.float64)
    return flat.reshape(classes, size)
