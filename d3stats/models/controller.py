"""A stopping policy that reads the count of votes, as a finite graph, and what it costs in a count process.

A controller has nodes for every round; a node knows the round's count and whether to stop there. After a node
that goes on, the next round's count names the next node. Every stopping rule that looks at nothing but counts
is such a graph, with as many nodes as it has memories, so one forward pass gives its exact stops and verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats.models.process import CountProcess

__all__ = ["PLURALITY", "Controller", "Layer", "walk"]

PLURALITY = -1
"""The decision of a node that commits to the round's plurality; 0 is answer A and 1 is answer B."""


@dataclass(frozen=True, eq=False)
class Layer:
    """The nodes of one round.

    Attributes
    ----------
    counts : ndarray of int64, shape (nodes,)
        Votes for A in this round.
    stops : ndarray of bool, shape (nodes,)
        Where the debate stops.
    decisions : ndarray of int8, shape (nodes,)
        What a stop commits to: ``PLURALITY``, 0 for A, 1 for B.
    successors : ndarray of int64, shape (nodes that go on, panel + 1)
        By the next round's count, the node of the next layer.
    """

    counts: NDArray[np.int64]
    stops: NDArray[np.bool_]
    decisions: NDArray[np.int8]
    successors: NDArray[np.int64]

    def __post_init__(self) -> None:
        for array in (self.counts, self.stops, self.decisions, self.successors):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def live(self) -> NDArray[np.int64]:
        """The nodes that go on, in the order of `successors`."""
        return np.flatnonzero(~self.stops)

    @cached_property
    def row(self) -> NDArray[np.int64]:
        """The row of `successors` of each node; 0 where the node stops."""
        return np.where(self.stops, 0, np.cumsum(~self.stops) - 1)


@dataclass(frozen=True, eq=False)
class Controller:
    """A stopping policy on counts.

    Attributes
    ----------
    panel : int
        Seats on the panel.
    first : ndarray of int64, shape (panel + 1,)
        By the first round's count, the node of the first layer.
    layers : tuple of Layer
        One for each round; all nodes of the last one stop.
    """

    panel: int
    first: NDArray[np.int64]
    layers: tuple[Layer, ...]

    @property
    def n_rounds(self) -> int:
        """Rounds of a debate played to its full depth."""
        return len(self.layers)

    @property
    def n_nodes(self) -> int:
        """Nodes over all rounds."""
        return sum(map(len, self.layers))

    def stop_rounds(self, counts: NDArray[Any]) -> NDArray[np.int64]:
        """Say after which round each debate stops.

        Parameters
        ----------
        counts : ndarray of int, shape (debates, rounds)
            Votes for A, complete.

        Returns
        -------
        ndarray of int64, shape (debates,)
            0 where the debate has not stopped by the end of `counts`.
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


def walk(process: CountProcess, controller: Controller) -> list[NDArray[Any]]:
    """Play the controller in a process.

    Returns
    -------
    list of ndarray, shape (classes, nodes)
        For each round, P(class, the debate reaches this node).

    Raises
    ------
    ValueError
        When the panel or the number of rounds differ.
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
            masses.append(np.repeat(start[:, :1] * 0, size, axis=1))
            continue
        moving = masses[-1][:, before.live]
        flow = moving[:, :, None] * process.step(t)[:, before.counts[before.live]]
        masses.append(_scatter(flow.reshape(len(flow), -1), before.successors.ravel(), size))
    return masses


def _scatter(values: NDArray[Any], at: NDArray[np.int64], size: int) -> NDArray[Any]:
    """Add each column of `values` into the column of the result that `at` names."""
    classes = len(values)
    index = (np.arange(classes)[:, None] * size + at).ravel()
    if values.dtype != object:
        flat: NDArray[Any] = np.bincount(index, weights=values.ravel(), minlength=classes * size)
    else:
        flat = np.repeat(values.ravel()[:1] * 0, classes * size)
        np.add.at(flat, index, values.ravel())
    return flat.reshape(classes, size)
