"""The yardstick: a two-component Beta-Binomial mixture as a careful user of scipy would fit it, one row per debate.

Expectation-maximisation with scipy's log-pmf; each component's weighted maximum by quasi-Newton steps in
(log alpha, log beta). Nothing is counted first and nothing is compiled, which is the point of comparing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats
from scipy.special import logsumexp
from statsmodels.base.model import GenericLikelihoodModel

Floats = NDArray[np.float64]
START = np.array([0.0, *np.log([4.0, 1.5, 1.5, 4.0])])
"""(logit w, log a1, log b1, log a2, log b2): one start, where the real fit takes thirty."""


def joint_log_pmf(x: Floats, successes: NDArray[np.int64], trials: NDArray[np.int64]) -> Floats:
    """Return log w_k + log f_k of each debate, shape (2, debates)."""
    log_w = -np.logaddexp(0.0, [-x[0], x[0]])
    parts = [stats.betabinom.logpmf(successes, trials, *np.exp(x[1 + 2 * k : 3 + 2 * k])) for k in range(2)]
    return np.stack(parts) + log_w[:, None]


def fit_by_plain_em(
    successes: NDArray[np.int64], trials: NDArray[np.int64], max_iter: int = 200, tol: float = 1e-6
) -> tuple[Floats, float, int]:
    """Return the point, its log-likelihood and the number of EM iterations."""
    x, last = START.copy(), -np.inf
    for iteration in range(1, max_iter + 1):
        joint = joint_log_pmf(x, successes, trials)
        total = logsumexp(joint, axis=0)
        llf = float(total.sum())
        if llf - last < tol:
            return x, llf, iteration
        last = llf
        share = np.exp(joint - total)
        w = share[0].mean()
        x[0] = np.log(w / (1 - w))
        for k in range(2):
            at = slice(1 + 2 * k, 3 + 2 * k)

            def cost(v: Floats, p: Floats = share[k]) -> float:
                return -float((p * stats.betabinom.logpmf(successes, trials, *np.exp(v))).sum())

            x[at] = optimize.minimize(cost, x[at], method="L-BFGS-B", options={"maxiter": 5}).x
    return x, last, max_iter


class StatsmodelsMixture(GenericLikelihoodModel):
    """The same model as statsmodels' generic likelihood takes it: numerical derivatives, one row per debate."""

    def loglikeobs(self, params: Floats) -> Floats:
        """Log-likelihood of each debate; columns of endog are successes and trials."""
        successes, trials = self.endog[:, 0].astype(int), self.endog[:, 1].astype(int)
        return logsumexp(joint_log_pmf(np.asarray(params), successes, trials), axis=0)


def fit_by_statsmodels(successes: NDArray[np.int64], trials: NDArray[np.int64]) -> float:
    """Return the log-likelihood that statsmodels reaches by BFGS from the same single start."""
    data = np.column_stack([successes, trials]).astype(float)
    model = StatsmodelsMixture(data, np.ones((len(data), 1)))
    model.exog_names[:] = ["logit_w", "log_a1", "log_b1", "log_a2", "log_b2"]
    found = model.fit(start_params=START, method="bfgs", maxiter=100, disp=0, skip_hessian=True)
    return float(found.llf)
