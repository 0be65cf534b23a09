"""Beyond the panel: what many more such jurors would be right with, from a fitted law of right votes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from d3stats._check import RngLike, as_rng
from d3stats.estimate import Estimate
from d3stats.models.betabinom import BetaBinomialMixture
from d3stats.models.mixture import fit_beta_binomial_mixture, fit_beta_binomial_mixture_batch
from d3stats.resampling import cluster_totals, resampled_totals

Floats = NDArray[np.float64]
KIND = "bootstrap percentile"
FLAT = 1e-6
"""Below, refits differ by rounding alone."""


def beyond(
    right: NDArray[np.int64],
    votes: NDArray[np.int64],
    cluster: NDArray[np.int64],
    *,
    level: float,
    n_boot: int,
    rng: RngLike,
    note: str,
) -> tuple[Estimate, Estimate] | str:
    """Return the limit of a large panel and the gain per juror of two more, or why there is none.

    Right votes follow a mixture of two Beta-Binomials; a large panel is right where an item's chance of a right vote
    is above one half. The law is fitted anew to each of `n_boot` resamples of clusters.
    """
    size = int(votes.max())
    if size < 3:
        return f"a law of right votes needs items with at least 3 votes; got at most {size}"
    generator = as_rng(rng)
    cells, at = np.unique(np.column_stack([right, votes]), axis=0, return_inverse=True)
    per_item = np.zeros((len(right), len(cells)))
    per_item[np.arange(len(right)), at.ravel()] = 1.0
    fit = fit_beta_binomial_mixture(
        cells[:, 0], cells[:, 1], per_item.sum(axis=0), n_components=2, n_starts=20, rng=generator
    )
    point = _promises(fit.distribution, size)
    totals = cluster_totals(per_item, cluster)
    ends: list[tuple[float | None, float | None]] = [(None, None), (None, None)]
    errors: list[float | None] = [None, None]
    why = "a single cluster: nothing says how clusters vary"
    if len(totals) > 1:
        weights = resampled_totals(totals, n_boot, generator)
        batch = fit_beta_binomial_mixture_batch(
            cells[:, 0], cells[:, 1], weights, n_components=2, n_starts=4, tol=1e-7, rng=generator
        )
        drawn = _promises(batch.distribution, size)
        tails = [(1 - level) / 2, (1 + level) / 2]
        for i in range(2):
            low, high = np.quantile(drawn[:, i], tails)
            if high - low < FLAT:
                # Two equal limits are not an interval.
                continue
            # The fit to the data sits on a boundary that few resamples reach: the interval is made to hold it.
            ends[i] = min(float(low), float(point[i])), max(float(high), float(point[i]))
            errors[i] = float(drawn[:, i].std(ddof=1))
        why = f"from a fitted mixture, {n_boot} refits" + (f"; {note}" if note else "")
    names = ("limit of a large panel", "gain per juror of two more")
    found = [
        Estimate(name=name, value=float(point[i]), low=ends[i][0], high=ends[i][1], kind=KIND, n=len(right),
                 se=errors[i], level=level, n_clusters=len(totals),
                 note=why if ends[i][0] is not None or len(totals) < 2 else f"every refit gives the same; {why}")
        for i, name in enumerate(names)
    ]  # fmt: skip
    return found[0], found[1]


def _promises(law: BetaBinomialMixture, size: int) -> Floats:
    """Return the limit of a large panel and the gain per juror of two more, shape (..., 2)."""
    above = 1.0 - (law.latent_cdf(0.5) + law.latent_cdf(0.5, side="left")) / 2
    gain = (_with_coin(law, size + 2) - _with_coin(law, size)) / 2
    return np.stack(np.broadcast_arrays(above, gain), axis=-1)


def _with_coin(law: BetaBinomialMixture, size: int) -> Floats:
    pmf = law.pmf(size)
    s = np.arange(size + 1)
    result: Floats = pmf @ ((2 * s > size) + 0.5 * (2 * s == size))
    return result
