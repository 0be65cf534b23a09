"""Pilots of the same size drawn from a calibrated world, beside the pilot itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.planning.calibration.moments import Key, check_statistics, clustered_covariance, means
from d3stats.planning.calibration.observed import Observed
from d3stats.planning.calibration.simulated import drawn_like
from d3stats.planning.calibration.space import Space
from d3stats.trajectories import Trajectories

__all__ = ["COLUMNS", "predictive_checks", "two_sided"]

Floats = NDArray[np.float64]

COLUMNS = ("statistic", "round", "pilot", "predicted", "low", "high", "p_value")
_PER_DRAW = 4
"""Pilots drawn at each draw of the parameters: a block of debates holds several."""


def predictive_checks(
    space: Space,
    x: Floats,
    covariance: Floats,
    pilot: Trajectories,
    seen: Observed,
    n_rep: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Compare the pilot with replicates, over parameters drawn from their estimated law.

    Returns
    -------
    DataFrame
        ``statistic, round, pilot, predicted, low, high, p_value``: limits hold 90 % of the replicates, and the
        p-value is the two-sided share of replicates at least as far out, the pilot counted among them.
    """
    here = {k: v for k, v in check_statistics(seen).items() if (~np.isnan(v)).sum() > 1}
    keys: list[Key] = list(here)
    table = np.stack(list(here.values()), axis=1)
    at_pilot = means(table)
    widen = np.sqrt(_design_effect(table, seen.cluster))
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    draws = max(1, -(-n_rep // _PER_DRAW))
    # Not every covariance is a sum of squares to the last digit; eigenvalues below 0 are 0.
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    size = pilot.n_debates
    found = np.empty((draws, _PER_DRAW, len(keys)))
    for i in range(draws):
        at = space.drawn(x, root, sd, rng)
        drawn = drawn_like(space.world(at), pilot, _PER_DRAW * size, int(rng.integers(2**62)))
        columns = check_statistics(drawn)
        whole = np.stack([columns[key] for key in keys], axis=1)
        for j, part in enumerate(np.split(whole, _PER_DRAW)):
            found[i, j] = means(part)
    replicate = found.reshape(-1, len(keys))
    centre = replicate.mean(axis=0)
    replicate = centre + (replicate - centre) * widen
    low, high = np.quantile(replicate, [0.05, 0.95], axis=0)
    p = [two_sided(replicate[:, k], float(at_pilot[k])) for k in range(len(keys))]
    rows = zip((k[0] for k in keys), (k[1] for k in keys), at_pilot, centre, low, high, p, strict=True)
    return pd.DataFrame(list(rows), columns=list(COLUMNS))


def two_sided(replicates: Floats, value: float) -> float:
    """Return the share of replicates as far out as a value, on either side; the value counts as one of them.

    Examples
    --------
    >>> two_sided(np.arange(99.0), 200.0)
    0.02
    """
    above = 1 + int((replicates >= value - 1e-12).sum())
    below = 1 + int((replicates <= value + 1e-12).sum())
    return min(1.0, 2 * min(above, below) / (1 + len(replicates)))


def _design_effect(table: Floats, cluster: NDArray[np.int64]) -> Floats:
    """Return how many times repeated questions multiply the variance of each mean; at least 1."""
    if len(np.unique(cluster)) == len(cluster):
        return np.ones(table.shape[1])
    alone = np.diag(clustered_covariance(table, np.arange(len(table))))
    together = np.diag(clustered_covariance(table, cluster))
    result: Floats = np.maximum(1.0, np.where(alone > 0, together / np.where(alone > 0, alone, 1.0), 1.0))
    return result
