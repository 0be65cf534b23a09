"""The best table over (round, count), which forgets the path: what it promises, and what it delivers.

The table forgets which camp was ahead before. It takes today's count as if every path to it were mixed afresh,
so it sees evidence in later rounds where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats.models.chains.optimum import checked_losses, checked_prices
from d3stats.models.chains.process import PLURALITY, Controller, CountProcess, Layer, Verdict, walk

__all__ = ["ForgetfulTable", "forgetful_table"]


@dataclass(frozen=True, eq=False, repr=False)
class ForgetfulTable:
    """The best table over (round, count), made as if the count alone were a Markov chain.

    Attributes
    ----------
    stops : ndarray of bool, shape (n_rounds, panel + 1)
        Where the table stops.
    claimed : float
        Expected loss plus cost that the table's own arithmetic promises.
    value : float
        Expected loss plus cost that it has in the process.
    loss, rounds : float
        Expected loss and rounds that it has in the process.
    controller : Controller
    """

    stops: NDArray[np.bool_]
    claimed: Any
    value: Any
    loss: Any
    rounds: Any
    controller: Controller

    def __repr__(self) -> str:
        return f"ForgetfulTable(claimed={float(self.claimed):.6g}, value={float(self.value):.6g})"


def forgetful_table(
    process: CountProcess, cost: ArrayLike, *, verdict: Verdict = "majority", loss: NDArray[Any] | None = None
) -> ForgetfulTable:
    """Make the table over (round, count), for comparison with :func:`~d3stats.models.chains.optimum.solve`.

    Parameters
    ----------
    process, cost, verdict, loss
        As in :func:`~d3stats.models.chains.optimum.solve`.

    Returns
    -------
    ForgetfulTable

    Examples
    --------
    Where everybody copies somebody, later rounds say nothing, but the table pays for them:

    >>> from d3stats.models.chains.optimum import solve
    >>> from d3stats.worlds import count_process
    >>> from d3stats.worlds import Voter
    >>> p = count_process(Voter(panel=7), n_rounds=10)
    >>> table = forgetful_table(p, 0.005)
    >>> bool(table.claimed < solve(p, 0.005).value < table.value), round(solve(p, 0.005).rounds, 6)
    (True, 1.0)
    """
    prices = checked_prices(cost, process)
    losses = checked_losses(loss, verdict, process)
    size = process.panel + 1
    laws = process.by_class() * process.weights[:, None]
    ahead: NDArray[Any] = np.zeros(0)
    layers: list[Layer] = []
    for t in range(process.n_rounds, 0, -1):
        joint = laws[t - 1]
        total = joint.sum(axis=0)
        # A count that the process never shows keeps the prior; no path leads there.
        belief = np.where(total > 0, joint, process.weights[:, None])
        belief = belief / belief.sum(axis=0)
        at_stop = (belief[:, :, None] * losses[:, t - 1]).sum(axis=0)
        best = at_stop.argmin(axis=1)
        now = at_stop.min(axis=1)
        stops = np.ones(size, dtype=bool)
        if t < process.n_rounds:
            chance = (belief[:, :, None] * process.step(t)).sum(axis=0)
            onward = prices[t] + (chance * ahead).sum(axis=1)
            stops = (now <= onward).astype(bool)
            now = np.minimum(now, onward)
        ahead = now
        decisions = best if losses.shape[-1] == 2 else np.full(size, PLURALITY)
        nexts = np.tile(np.arange(size), (int((~stops).sum()), 1))
        layers.append(Layer(np.arange(size), stops, decisions.astype(np.int8), nexts))
    layers.reverse()
    controller = Controller(process.panel, np.arange(size), tuple(layers))
    lost = rounds = paid = process.weights[0] * 0
    for t, (mass, layer) in enumerate(zip(walk(process, controller), layers, strict=True)):
        at = np.flatnonzero(layer.stops)
        choice_made = np.maximum(layer.decisions[at], 0)
        lost = lost + (mass[:, at] * losses[:, t, layer.counts[at], choice_made]).sum()
        rounds = rounds + (t + 1) * mass[:, at].sum()
        paid = paid + prices[: t + 1].sum() * mass[:, at].sum()
    claimed = prices[0] + (laws[0].sum(axis=0) * ahead).sum()
    return ForgetfulTable(
        stops=np.stack([layer.stops for layer in layers]),
        claimed=claimed,
        value=lost + paid,
        loss=lost,
        rounds=rounds,
        controller=controller,
    )
