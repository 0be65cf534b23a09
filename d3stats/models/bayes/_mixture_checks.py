"""What a log of counts looks like in a few numbers, and the same numbers of logs drawn from laws."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from d3stats.counts import Counts
from d3stats.models.bayes._mixture_draws import law_of

Floats = NDArray[np.float64]

STATISTICS = (
    "share of votes right",
    "debates with a right majority",
    "debates all right",
    "debates all wrong",
    "sd of the share right",
)
REPLICATES = 1000


def observed_statistics(counts: Counts) -> dict[str, float]:
    """Return the statistics of the data."""
    values = _statistics(counts.successes, counts.trials, counts.weights[None])
    return {name: float(v[0]) for name, v in values.items()}


def replicated_statistics(
    values: Mapping[str, Floats], counts: Counts, rng: np.random.Generator
) -> dict[str, Floats]:
    """Return the statistics of one log per draw, with as many debates of each panel size as the data.

    Parameters
    ----------
    values : dict of ndarray
        ``weight, mean, rho`` of shape (draws, K); at most 1000 draws, evenly spaced, are used.
    counts : Counts
        Fractional numbers of debates are rounded.
    """
    keep = np.linspace(0, len(values["mean"]) - 1, min(REPLICATES, len(values["mean"]))).astype(np.int64)
    law = law_of({name: values[name][keep] for name in ("weight", "mean", "rho")})
    successes, trials, tables = [], [], []
    for n in np.unique(counts.trials).tolist():
        debates = max(round(float(counts.weights[counts.trials == n].sum())), 1)
        pmf = law.pmf(n)
        tables.append(rng.multinomial(debates, pmf / pmf.sum(axis=1, keepdims=True)))
        successes.append(np.arange(n + 1))
        trials.append(np.full(n + 1, n))
    return _statistics(
        np.concatenate(successes), np.concatenate(trials), np.concatenate(tables, axis=1).astype(np.float64)
    )


def _statistics(
    successes: NDArray[np.int64], trials: NDArray[np.int64], weights: Floats
) -> dict[str, Floats]:
    """Return each statistic for each row of `weights`, shape (rows,)."""
    share = weights / weights.sum(axis=1, keepdims=True)
    right = successes / trials
    mean = share @ right
    variance = np.maximum(share @ right**2 - mean**2, 0.0)
    values = (
        (weights @ successes) / (weights @ trials),
        share @ (2 * successes > trials),
        share @ (successes == trials),
        share @ (successes == 0),
        np.sqrt(variance),
    )
    return dict(zip(STATISTICS, values, strict=True))
