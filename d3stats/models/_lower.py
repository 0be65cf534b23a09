"""What no policy can beat: lower bounds on the value of a process."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats.models._beliefs import Beliefs
from d3stats.models._revealed import Revealed
from d3stats.models.process import CountProcess

__all__ = ["class_known", "lower_bound"]


def class_known(process: CountProcess, prices: NDArray[Any], losses: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the value from each round and count on if the class were known, each (classes, panel + 1)."""
    values = [losses[:, -1].min(axis=-1)]
    for t in range(process.n_rounds - 1, 0, -1):
        onward = prices[t] + (process.step(t) * values[-1][:, None, :]).sum(axis=2)
        values.append(np.minimum(losses[:, t - 1].min(axis=-1), onward))
    return values[::-1]


def lower_bound(
    process: CountProcess,
    prices: NDArray[Any],
    losses: NDArray[Any],
    beliefs: list[Beliefs],
    known: list[NDArray[Any]],
    revealed: Revealed,
) -> float:
    """Bound the value from below on the beliefs that were kept.

    The value is concave in the belief. With two classes it lies above the chord between the kept beliefs on
    either side. With more, it is the least of many plans' linear losses, each of which charges a class at
    least what is lost when the class is known and at most the dearest course: that bounds how far the value
    can fall from a kept belief nearby (a sawtooth bound, Hauskrecht 2000, JAIR 13, with a second side).

    Parameters
    ----------
    losses : ndarray, shape (n_rounds, panel + 1, classes, choices)
    """
    dearest = _dearest(process, prices, losses)
    ahead: NDArray[np.float64] = np.zeros(0)
    for t in range(process.n_rounds, 0, -1):
        here = beliefs[t - 1]
        value = (here.belief[:, :, None] * losses[t - 1][here.counts]).sum(axis=1).min(axis=1)
        if t < process.n_rounds and here.grown.size:
            onward = _onward(process, t, here, beliefs[t], ahead, known[t], dearest[t], revealed)
            value[here.grown] = np.minimum(value[here.grown], prices[t] + onward)
        ahead = value
    return float(prices[0] + (beliefs[0].reach * ahead).sum())


def _onward(
    process: CountProcess,
    t: int,
    here: Beliefs,
    then: Beliefs,
    values: NDArray[np.float64],
    known: NDArray[np.float64],
    dearest: NDArray[np.float64],
    revealed: Revealed,
) -> NDArray[np.float64]:
    moves = process.step(t)[:, here.counts[here.grown]].transpose(1, 2, 0)
    joint = here.belief[here.grown][:, None, :] * moves
    total = np.zeros(len(here.grown))
    for j in range(process.panel + 1):
        mass = joint[:, j].sum(axis=1)
        open_ = np.flatnonzero((mass > 0) & (here.children[:, j] >= 0))
        if process.n_classes == 2:
            mine = np.flatnonzero(then.counts == j)
            order = mine[np.argsort(then.belief[mine, 0])]
            at = np.concatenate([[0.0], then.belief[order, 0], [1.0]])
            chord = np.concatenate([[known[1, j]], values[order], [known[0, j]]])
            total[open_] += mass[open_] * np.interp(joint[open_, j, 0] / mass[open_], at, chord)
        else:
            child = here.children[open_, j]
            centre, u = then.belief[child], joint[open_, j]
            chord = _from_centre(u, centre, values[child], known[:, j], dearest[:, j])
            told = revealed.value(t + 1, np.full(len(open_), j), u)
            total[open_] += np.maximum(chord, told)
    return total


def _from_centre(
    joint: NDArray[np.float64],
    centre: NDArray[np.float64],
    value: NDArray[np.float64],
    least: NDArray[np.float64],
    most: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Bound the value at `joint` by the value at `centre`, scaled as suits best; all of shape (n, classes)."""
    best = np.full(len(joint), -np.inf)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(centre > 0, joint / centre, 0.0)
    # The bound is concave and piecewise linear in the scale, so its top is at one of the ratios.
    for scale in np.where(np.isfinite(ratios), ratios, 0.0).T:
        gap = joint - scale[:, None] * centre
        bound = scale * value + np.maximum(gap, 0.0) @ least - np.maximum(-gap, 0.0) @ most
        best = np.maximum(best, bound)
    return best


def _dearest(
    process: CountProcess, prices: NDArray[np.float64], losses: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Return what the dearest course from each round and count on loses, each (classes, panel + 1)."""
    worst = losses.max(axis=-1)
    values = [worst[-1].T]
    for t in range(process.n_rounds - 1, 0, -1):
        onward = prices[t] + (process.step(t) * values[-1][:, None, :]).sum(axis=2)
        values.append(np.maximum(worst[t - 1].T, onward))
    return values[::-1]
