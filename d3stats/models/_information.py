"""Observed information of a fit: the curvature at the optimum, in the parameters that people read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from d3stats.counts import Counts
from d3stats.models._likelihood import Cells
from d3stats.models._objective import Objective, Space

Floats = NDArray[np.float64]

SINGULAR = 1e-10
"""Reciprocal condition (of the correlation form) below which the curvature says nothing in some direction."""


@dataclass(frozen=True)
class Information:
    """Covariance of (weights but the last, means, correlations), components ordered by mean.

    Parameters that the model holds fixed (``n_binomial``) have zero variance.
    """

    point: Floats
    covariance: Floats
    n_components: int

    def alpha_beta_covariance(self) -> Floats:
        """Return the covariance of (weights, alphas, betas) by the delta method."""
        k = self.n_components
        mu, rho = self.point[k - 1 : 2 * k - 1], self.point[2 * k - 1 :]
        if (rho <= 0).any():
            raise ValueError("alpha and beta need rho > 0 in every component; got a Binomial component")
        jacobian = np.eye(3 * k - 1)
        for j in range(k):
            m, r = k - 1 + j, 2 * k - 1 + j
            precision = 1.0 / rho[j] - 1.0
            jacobian[m, m], jacobian[m, r] = precision, -mu[j] / rho[j] ** 2
            jacobian[r, m], jacobian[r, r] = -precision, -(1 - mu[j]) / rho[j] ** 2
        result: Floats = jacobian @ self.covariance @ jacobian.T
        return result


def information(counts: Counts, x: Floats, space: Space, penalty: float) -> Information:
    """Invert the Hessian at an interior optimum `x`.

    Raises
    ------
    ValueError
        When the curvature is not positive definite to working precision.
    """
    k = space.n_components
    objective = Objective(Cells.of(counts.successes, counts.trials), space, penalty)
    _, _, hess = objective.derivatives(x[None], counts.weights[None])
    free = np.ones(space.size, dtype=bool)
    free[2 * k - 1 : 2 * k - 1 + space.n_binomial] = False
    curvature = -hess[0][np.ix_(free, free)]
    scale = np.sqrt(np.maximum(np.diag(curvature), 0.0))
    if (scale > 0).all():
        values, vectors = np.linalg.eigh(curvature / np.outer(scale, scale))
        definite = values[0] > SINGULAR * values[-1]
    else:
        definite = False
    if not definite:
        raise ValueError(
            "normal-theory errors need a positive definite curvature; got a flat direction: "
            "the data do not determine the components. Use conf_int(kind='bootstrap') or fewer components"
        )
    inverse = (vectors / values) @ vectors.T / np.outer(scale, scale)
    full = np.zeros((space.size, space.size))
    full[np.ix_(free, free)] = inverse

    # softmax coordinates to weights, then components into the order of their means
    log_weight, mu, rho = (a[0] for a in space.split(x[None]))
    w = np.exp(log_weight)
    softmax = np.diag(w) - np.outer(w, w)
    to_natural = np.zeros((3 * k, space.size))
    to_natural[:k, : k - 1] = softmax[:, : k - 1]
    to_natural[k:, k - 1 :] = np.eye(2 * k)
    order = np.argsort(mu, kind="stable")
    rows = np.concatenate([order[:-1], k + order, 2 * k + order])
    jacobian = to_natural[rows]
    point = np.concatenate([w, mu, rho])[rows]
    return Information(point, jacobian @ full @ jacobian.T, k)
