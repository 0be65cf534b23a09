"""Intervals for what the data determine: the mean, the spread and the majority probability of a fitted law."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.models._information import Information
from d3stats.models.betabinom import BetaBinomialMixture

Floats = NDArray[np.float64]

NAMES = ("mean", "spread", "P(S > n/2)")


def functional_values(law: BetaBinomialMixture, trials: int) -> Floats:
    """Return the functionals on the last axis, shape (..., 3)."""
    return np.stack([law.mean, law.spread, law.prob_majority(trials)], axis=-1)


def wald_table(law: BetaBinomialMixture, info: Information, trials: int, level: float) -> pd.DataFrame:
    """Delta method: probabilities on the logit scale, the spread on the log scale."""
    from scipy.special import expit, logit, ndtri

    estimate = functional_values(law, trials)
    gradient = _gradient(info, trials)
    se = np.sqrt(np.einsum("fp,pq,fq->f", gradient, info.covariance, gradient))
    z = float(ndtri(0.5 + level / 2))
    lower, upper = np.empty(3), np.empty(3)
    for i in (0, 2):
        p = np.clip(estimate[i], 1e-12, 1 - 1e-12)
        half = z * se[i] / (p * (1 - p))
        lower[i], upper[i] = expit(logit(p) - half), expit(logit(p) + half)
    ratio = np.exp(z * se[1] / estimate[1])
    lower[1], upper[1] = estimate[1] / ratio, estimate[1] * ratio
    return _table(estimate, se, lower, upper, level, "wald")


def percentile_table(
    law: BetaBinomialMixture, draws: BetaBinomialMixture, trials: int, level: float
) -> pd.DataFrame:
    """Percentiles of a parametric bootstrap."""
    estimate = functional_values(law, trials)
    values = functional_values(draws, trials)
    lower, upper = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return _table(estimate, values.std(axis=0, ddof=1), lower, upper, level, percentile_kind(values.shape[0]))


def percentile_kind(n_boot: int) -> str:
    """Name the interval."""
    return f"parametric bootstrap percentile, {n_boot} replicates"


def _gradient(info: Information, trials: int) -> Floats:
    """Differentiate the functionals in (weights, means, correlations) by central differences."""
    k, x = info.n_components, info.point

    def value(point: Floats) -> Floats:
        weight = np.append(point[: k - 1], 1.0 - point[: k - 1].sum())
        return functional_values(
            BetaBinomialMixture(weight, point[k - 1 : 2 * k - 1], point[2 * k - 1 :]), trials
        )

    columns = []
    for j in range(len(x)):
        h = 1e-6 * min(x[j], 1.0 - x[j])
        if h <= 0:
            columns.append(np.zeros(len(NAMES)))
            continue
        e = np.zeros(len(x))
        e[j] = h
        columns.append((value(x + e) - value(x - e)) / (2 * h))
    return np.stack(columns, axis=1)


def _table(
    estimate: Floats, se: Floats, lower: Floats, upper: Floats, level: float, kind: str
) -> pd.DataFrame:
    return pd.DataFrame(
        {"estimate": estimate, "se": se, "lower": lower, "upper": upper, "level": level, "kind": kind},
        index=pd.Index(NAMES, name="functional"),
    )
