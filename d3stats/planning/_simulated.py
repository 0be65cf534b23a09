"""Simulated moments: the world whose debates have the pilot's moments.

The estimate minimises d' W d, d the pilot's moments less those of `n_sim` debates drawn with the same seed at
every parameter, W the inverse of the covariance of the pilot's moments, clustered by question and shrunk
towards the covariance in the world itself, which a pilot of some dozen questions needs. With D the derivative
of the simulated moments and H simulated debates per pilot debate, the covariance is
(1 + 1/H) (D' W D)^-1, and the minimum over 1 + 1/H is chi-squared with moments - parameters degrees of freedom
when the world is right. Source: McFadden (1989), Econometrica 57; Pakes and Pollard (1989), Econometrica 57.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from d3stats.planning._moments import Key, clustered_covariance, means, moments
from d3stats.planning._observed import Observed, observe
from d3stats.planning._parameters import Space
from d3stats.planning._path_likelihood import inverted
from d3stats.simulate import simulate
from d3stats.trajectories import MISSING, Trajectories

__all__ = ["MomentFit", "drawn_like", "fit_moments"]

Floats = NDArray[np.float64]
_STEP = 0.05
"""Step of a difference, as a share of a log-odds, a log, or half a parameter's width."""


@dataclass(frozen=True, eq=False)
class MomentFit:
    """A minimum, and the covariance of the parameters on the real line.

    Attributes
    ----------
    x : ndarray, shape (parameters,)
    covariance : ndarray, shape (parameters, parameters)
    blind : ndarray of bool, shape (parameters,)
    statistic : float
        Of the test of overidentification, chi-squared with `df` degrees of freedom in the right world.
    df : int
    p_value : float
    converged : bool
    matched : tuple of (str, int)
        Names and rounds of the moments that were matched.
    n_sim : int
    clustered : bool
    """

    x: Floats
    covariance: Floats
    blind: NDArray[np.bool_]
    statistic: float
    df: int
    p_value: float
    converged: bool
    matched: tuple[Key, ...]
    n_sim: int
    clustered: bool


def drawn_like(world: Any, pilot: Trajectories, n_debates: int, seed: int) -> Observed:
    """Draw debates and leave out the labels, votes and scores that the pilot lacks, debate for debate."""
    log = simulate(world, n_debates, pilot.n_rounds, seed)
    at = np.arange(n_debates) % pilot.n_debates
    panel = int(world.panel)
    present = (pilot.votes[:, :, :panel] != MISSING)[at]
    label = np.where(pilot.label[at] == MISSING, MISSING, log.label).astype(np.int32)
    scores = log.scores
    if pilot.scores is None:
        scores = None
    elif scores is not None and np.isnan(pilot.scores).any():
        scores = np.where(np.isnan(pilot.scores[:, :, :2]).any(axis=2)[at][:, :, None], np.nan, scores)
    return observe(world, _with(log, label, scores), present)


def _with(log: Trajectories, label: NDArray[np.int32], scores: Floats | None) -> Trajectories:
    return replace(log, label=label, scores=scores, sides=log.sides if scores is not None else ())


def fit_moments(
    space: Space, pilot: Trajectories, seen: Observed, n_sim: int, rng: np.random.Generator
) -> MomentFit:
    """Find the world with the pilot's moments."""
    seed = int(rng.integers(2**62))
    ratio = n_sim / pilot.n_debates
    centre = 0.0 if seen.level is None else float(np.nanmean(seen.level))
    columns = moments(seen, centre)
    keys = list(columns)
    table = np.stack(list(columns.values()), axis=1)
    target, of_pilot = means(table), clustered_covariance(table, seen.cluster)
    groups = len(np.unique(seen.cluster))

    def simulated(x: Floats, size: int) -> Floats:
        drawn = drawn_like(space.world(x), pilot, size, seed)
        return np.stack(list(moments(drawn, centre).values()), axis=1)

    few = max(1, round(n_sim / 4 / pilot.n_debates)) * pilot.n_debates
    x = _screened(space, lambda z: means(simulated(z, few)), target, of_pilot, rng)
    # A first climb finds where the world's own covariance is to be taken, a second one uses it.
    x, _, _ = _climb(space, lambda z: simulated(z, few), target, x, of_pilot, seen, xtol=2e-2)
    x, residual, kept = _climb(space, lambda z: simulated(z, n_sim), target, x, of_pilot, seen, xtol=2e-3)
    derivative, rest = _slope(residual, x, space), residual(x)
    held = space.on_bound(x)
    information = derivative.T @ derivative / (1 + 1 / ratio)
    covariance, blind = inverted(information, held)
    left = covariance @ (derivative.T @ rest) / (1 + 1 / ratio)
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-30))
    settled = bool((np.abs(left[~blind]) < 0.25 * spread[~blind]).all())
    statistic = float(rest @ rest) / (1 + 1 / ratio)
    df = len(kept) - int((~held).sum())
    return MomentFit(
        x,
        covariance,
        blind,
        statistic,
        df,
        float(special.chdtrc(df, statistic)) if df > 0 else 1.0,
        settled,
        tuple(keys[i] for i in kept),
        n_sim,
        groups < len(table),
    )


def _climb(
    space: Space,
    simulated: Callable[[Floats], Floats],
    target: Floats,
    x: Floats,
    of_pilot: Floats,
    seen: Observed,
    xtol: float,
) -> tuple[Floats, Callable[[Floats], Floats], NDArray[np.int64]]:
    """Minimise the weighted distance from `x` on; the weights are those of the world at `x`."""
    groups = len(np.unique(seen.cluster))
    cov = _shrunk(of_pilot, _covariance_of_one(simulated(x)), len(seen.cluster), groups)
    kept = independent(cov)
    if len(kept) < len(space):
        raise ValueError(
            f"free must name at most {len(kept)} parameters for this pilot, as many as it has moments; "
            f"got {len(space)}"
        )
    root = np.linalg.cholesky(cov[np.ix_(kept, kept)])

    def residual(z: Floats) -> Floats:
        result: Floats = np.linalg.solve(root, (means(simulated(z)) - target)[kept])
        return result

    found = optimize.least_squares(
        residual,
        x,
        jac=lambda z: _slope(residual, z, space),
        bounds=(space.box_low, space.box_high),
        x_scale=_reach(space),
        xtol=xtol,
        ftol=xtol / 20,
        max_nfev=12,
    )
    return np.asarray(found.x, dtype=np.float64), residual, kept


def _covariance_of_one(table: Floats) -> Floats:
    """Return the covariance of a single debate's moments."""
    return clustered_covariance(table, np.arange(len(table))) * len(table)


def _screened(space: Space, moments_at: Any, target: Floats, cov: Floats, rng: np.random.Generator) -> Floats:
    """Return the best of the template and some worlds around it, each moment in units of its own error."""
    unit = np.sqrt(np.diag(cov))
    unit = np.maximum(unit, 0.02 * np.maximum(np.abs(target), 0.1))
    first = space.start()
    spread = np.where(np.isfinite(space.box_high), 0.8, 0.5 * space.width)
    trials = [first, *(first + rng.uniform(-1, 1, (12, len(space))) * spread)]
    trials = [np.clip(x, space.box_low + 0.1, space.box_high - 0.1) for x in trials]
    off = [float((((moments_at(x) - target) / unit) ** 2).sum()) for x in trials]
    return trials[int(np.argmin(off))]


def _shrunk(of_pilot: Floats, of_world: Floats, n_debates: int, groups: int) -> Floats:
    """Mix the pilot's covariance with the world's; the fewer questions per moment, the more of the world's."""
    share = min(0.9, len(of_pilot) / (len(of_pilot) + groups))
    # Clustering makes the pilot's means vary more than debates that are all questions of their own.
    known = np.diag(of_world) > 0
    ratio = np.diag(of_pilot)[known] * n_debates / np.diag(of_world)[known]
    design = max(1.0, float(np.median(ratio))) if groups < n_debates else 1.0
    mixed: Floats = (1 - share) * of_pilot + share * design * of_world / n_debates
    return mixed


def independent(cov: Floats) -> NDArray[np.int64]:
    """Return the moments that are not next to a linear combination of those before them (R squared < .98)."""
    sd = np.sqrt(np.diag(cov))
    kept: list[int] = []
    for i in range(len(cov)):
        if sd[i] <= 1e-9:
            continue
        if kept:
            inside = cov[np.ix_(kept, kept)]
            across = cov[kept, i]
            if across @ np.linalg.solve(inside, across) > 0.98 * cov[i, i]:
                continue
        kept.append(i)
    return np.array(kept, dtype=np.int64)


def _reach(space: Space) -> Floats:
    result: Floats = np.where(np.isfinite(space.box_high), 1.0, 0.5 * space.width)
    return result


def _slope(residual: Any, x: Floats, space: Space) -> Floats:
    """Differentiate by central differences, wide enough that votes flip."""
    columns = []
    for step, unit in zip(_STEP * _reach(space), np.eye(len(x)), strict=True):
        high = np.minimum(x + step * unit, space.box_high)
        low = np.maximum(x - step * unit, space.box_low)
        columns.append((residual(high) - residual(low)) / (high - low).sum())
    return np.stack(columns, axis=1)
