"""Where to start: a fixed spread of starting points that any data set shares, and some made from its moments."""

from __future__ import annotations

import numpy as np

from d3stats.models._likelihood import log_pmf
from d3stats.models._objective import Floats, Objective, Space


def spread_starts(
    space: Space,
    share: Floats,
    weights: Floats,
    n_starts: int,
    rng: np.random.Generator | None,
    *,
    interior: bool = False,
) -> Floats:
    """Return starts for every data set, shape (data sets, n_starts, parameters).

    Parameters
    ----------
    share : ndarray, shape (cells,)
        Successes over trials of each cell.
    weights : ndarray, shape (data sets, cells)
    rng : Generator or None
        None takes a low-discrepancy sequence, so a fit without `rng` is deterministic.
    interior : bool
        Keep correlations away from 0: with a penalty the likelihood falls without end there.

    Notes
    -----
    Means are quantiles of the data's own distribution, smoothed towards the unit interval: half of the starts
    split the data evenly, the others at random quantiles. Correlations run from 0 (Binomial) to 0.6.
    """
    k = space.n_components
    unit = _kronecker(n_starts, 3 * k) if rng is None else rng.random((n_starts, 3 * k))
    levels = np.sort(unit[:, :k], axis=1)
    even = (np.arange(k) + 0.5) / k
    levels[: n_starts // 3] = even
    means = _quantiles(share, weights, levels)
    gumbel = -np.log(-np.log(np.clip(unit[:, k : 2 * k], 1e-6, 1 - 1e-6)))
    weight = np.exp(0.7 * gumbel)
    weight /= weight.sum(axis=1, keepdims=True)
    rho = 0.6 * unit[:, 2 * k :] ** 1.5
    rho[::5] = np.where(unit[::5, 2 * k :] < 0.5, 0.0, rho[::5])
    if interior:
        rho = np.maximum(rho, 0.01)
    rho[:, : space.n_binomial] = 0.0
    if space.n_binomial and k > 1:
        # which component is the Binomial one must not be tied to the order of the means
        means[:, 1::2] = means[:, 1::2, ::-1]
    n_sets = len(weights)
    flat = space.join(
        np.tile(weight, (n_sets, 1)), means.reshape(n_sets * n_starts, k), np.tile(rho, (n_sets, 1))
    )
    return flat.reshape(n_sets, n_starts, space.size)


def vertex_starts(smaller: Objective, x: Floats, weights: Floats, space: Space) -> Floats:
    """Return starts that add one narrow component where the fit with K - 1 components lacks mass most.

    The gradient function of Lindsay (1983), ``D(p) = sum_c W_c f(c | p) / f_hat(c) - N``, says how fast the
    likelihood rises when a Binomial component at ``p`` is mixed in; the start puts 5 % there. It finds small
    components that no quantile of the data points to.

    Parameters
    ----------
    smaller : Objective
        The model with K - 1 components.
    x : ndarray, shape (data sets, parameters of the smaller model)
        Its fits.

    Returns
    -------
    ndarray, shape (data sets, 1, parameters)
    """
    cells = smaller.cells
    log_weight, mu, rho = smaller.space.split(x)
    fitted = np.exp(smaller.component_log_pmf(x) + log_weight[:, :, None]).sum(axis=1)
    grid = np.linspace(0.005, 0.995, 100)
    candidates = np.exp(log_pmf(grid, np.zeros_like(grid), cells))
    slope = (weights / np.maximum(fitted, 1e-300)) @ candidates.T
    peak = grid[slope.argmax(axis=1)][:, None]
    # A Binomial component stands first, where the space holds it.
    weight = np.concatenate([np.full_like(peak, 0.05), 0.95 * np.exp(log_weight)], axis=1)
    start = space.join(
        weight, np.concatenate([peak, mu], axis=1), np.concatenate([np.zeros_like(peak), rho], axis=1)
    )
    return start[:, None, :]


def _quantiles(share: Floats, weights: Floats, levels: Floats) -> Floats:
    """Return smoothed quantiles of each data set's success shares, shape (data sets, *levels.shape)."""
    order = np.argsort(share, kind="stable")
    x = 0.02 + 0.96 * share[order]
    mass = weights[:, order]
    middle = np.cumsum(mass, axis=1) - 0.5 * mass
    middle /= np.maximum(mass.sum(axis=1, keepdims=True), 1e-300)
    return np.stack([np.interp(levels, row, x) for row in middle])


def _kronecker(n: int, dimension: int) -> Floats:
    """Return the first `n` points of the additive recurrence with the generalised golden ratio."""
    phi = 2.0
    for _ in range(64):
        phi = (1.0 + phi) ** (1.0 / (dimension + 1))
    alpha = phi ** -np.arange(1.0, dimension + 1)
    points: Floats = np.mod(0.5 + np.outer(np.arange(1, n + 1), alpha), 1.0)
    return points
