"""A logistic model with cluster-robust errors: Newton's climb, the jackknife over clusters, and separation.

Outcomes may lie anywhere in [0, 1] (a tie is 1/2): the estimate is then the quasi-likelihood's (Papke and Wooldridge,
1996), and the errors do not take the Binomial's variance as true.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LogitFit", "fit_logit", "separated"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_STEPS = 60
_SMALL = 1e-10
_EXTREME = 18.0
"""A linear predictor beyond this is looked at as a sign of separation."""


@dataclass(frozen=True, eq=False)
class LogitFit:
    """Coefficients, fitted shares, and what each cluster changes.

    Attributes
    ----------
    coefficients : ndarray of float, shape (p,)
    fitted : ndarray of float, shape (n,)
    left_out : ndarray of float, shape (clusters, p)
        Coefficients without each cluster less `coefficients`, by one Newton step.
    cluster : ndarray of int64, shape (n,)
        Codes 0 .. clusters - 1.
    """

    coefficients: Floats
    fitted: Floats
    left_out: Floats
    cluster: Ints

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.left_out)

    def jackknife_se(self, changes: Floats) -> float:
        """Return the error of whatever changes so when a cluster is left out (CR3)."""
        return float(np.sqrt((self.n_clusters - 1) / self.n_clusters * (changes**2).sum()))

    def mean_changes(self, values: Floats, slope: Floats) -> Floats:
        """Return what leaving out a cluster does to the mean of `values`, whose derivative is `slope`."""
        n, mean = len(values), values.mean()
        size = np.bincount(self.cluster, minlength=self.n_clusters)
        total = np.bincount(self.cluster, weights=values, minlength=self.n_clusters)
        result: Floats = self.left_out @ slope - (total - size * mean) / (n - size)
        return result


def fit_logit(design: Floats, outcome: Floats, cluster: Ints) -> LogitFit | None:
    """Fit by maximum (quasi-)likelihood; None where there is no maximum, because the outcomes are separated.

    Parameters
    ----------
    design : ndarray of float, shape (n, p)
    outcome : ndarray of float, shape (n,)
        In [0, 1].
    cluster : ndarray of int64, shape (n,)

    Raises
    ------
    ValueError
        When columns of the design depend on each other, or leaving out one cluster makes them so.
    """
    from scipy.special import expit

    rank = int(np.linalg.matrix_rank(design))
    if rank < design.shape[1]:
        raise ValueError(
            f"terms of the model must differ from each other; got {design.shape[1]} of rank {rank}"
        )
    beta = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        p = expit(design @ beta)
        score = design.T @ (outcome - p)
        information = (design * (p * (1 - p))[:, None]).T @ design
        if np.linalg.cond(information) > 1e13:
            return None
        step = np.linalg.solve(information, score)
        # A Newton step of more than a few units runs past the maximum.
        step *= min(1.0, 4.0 / max(float(np.abs(design @ step).max()), 1e-300))
        beta = beta + step
        if float(np.abs(step).max()) < _SMALL * (1 + float(np.abs(beta).max())):
            break
    else:
        return None
    reach = float(np.abs(design @ beta).max())
    if reach > _EXTREME and separated(design, outcome):
        return None
    p = expit(design @ beta)
    codes = np.unique(cluster, return_inverse=True)[1].astype(np.int64)
    return LogitFit(beta, p, _left_out(design, outcome - p, p * (1 - p), codes), codes)


def _left_out(design: Floats, residual: Floats, weight: Floats, codes: Ints) -> Floats:
    n_clusters, n_terms = int(codes.max()) + 1, design.shape[1]
    scores = np.empty((n_clusters, n_terms))
    parts = np.empty((n_clusters, n_terms, n_terms))
    for a in range(n_terms):
        scores[:, a] = np.bincount(codes, weights=design[:, a] * residual, minlength=n_clusters)
        for b in range(n_terms):
            product = design[:, a] * design[:, b] * weight
            parts[:, a, b] = np.bincount(codes, weights=product, minlength=n_clusters)
    rest = parts.sum(axis=0) - parts
    scale = np.trace(parts.sum(axis=0)) / n_terms
    weak = np.linalg.eigvalsh(rest)[:, 0] < 1e-9 * scale
    if weak.any():
        raise ValueError(
            "every term of the model must vary in more than one cluster; "
            f"without cluster {int(np.argmax(weak))} alone a term cannot be estimated"
        )
    result: Floats = -np.linalg.solve(rest, scores[:, :, None])[:, :, 0]
    return result


def separated(design: Floats, outcome: Floats) -> bool:
    """Say whether some combination of terms predicts every outcome without error (Albert and Anderson, 1984).

    By linear programming (Konis, 2007): is there b with ``x b >= 0`` at 1, ``<= 0`` at 0, ``= 0`` in between, and
    not 0 throughout?
    """
    from scipy.optimize import linprog

    sign = np.where(outcome == 1, 1.0, np.where(outcome == 0, -1.0, 0.0))
    between = sign == 0
    signed = design * sign[:, None]
    found = linprog(
        -signed.sum(axis=0),
        A_ub=-signed[~between],
        b_ub=np.zeros(int((~between).sum())),
        A_eq=design[between] if between.any() else None,
        b_eq=np.zeros(int(between.sum())) if between.any() else None,
        bounds=[(-1, 1)] * design.shape[1],
    )
    return found.status == 0 and found.fun is not None and bool(found.fun < -1e-7)
