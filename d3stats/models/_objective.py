"""The mixture log-likelihood of many data sets at many parameter values, with gradient and Hessian.

A point is a row ``x = (z_1 .. z_{K-1}, mu_1 .. mu_K, rho_1 .. rho_K)``: weights are the softmax of
``(z, 0)``; means and correlations stand as they are, in a box that is closed where the likelihood is
(``rho = 0`` is a Binomial component).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from d3stats.models._likelihood import Cells, log_pmf, log_pmf_derivatives

Floats = NDArray[np.float64]

EDGE = 1e-10
"""How near to 0 or 1 a mean, and to 1 a correlation, may come: the log-likelihood is unchanged to about 1e-10
per debate, and its derivatives stay finite."""
LOGIT_BOUND = 25.0


@dataclass(frozen=True)
class Space:
    """The parameter space of a K-component mixture, `n_binomial` components of which are Binomial."""

    n_components: int
    n_binomial: int = 0

    @property
    def size(self) -> int:
        """Length of a point."""
        return 3 * self.n_components - 1

    @property
    def n_free(self) -> int:
        """Number of parameters of the model."""
        return self.size - self.n_binomial

    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper corner of the box."""
        k = self.n_components
        low = np.concatenate([np.full(k - 1, -LOGIT_BOUND), np.full(k, EDGE), np.zeros(k)])
        high = np.concatenate([np.full(k - 1, LOGIT_BOUND), np.full(k, 1 - EDGE), np.full(k, 1 - EDGE)])
        high[2 * k - 1 : 2 * k - 1 + self.n_binomial] = 0.0
        return low, high

    def split(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Return log weights, means and correlations, each of shape (points, K)."""
        k = self.n_components
        z = np.concatenate([x[:, : k - 1], np.zeros((len(x), 1))], axis=1)
        z = z - z.max(axis=1, keepdims=True)
        log_weight = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        return log_weight, x[:, k - 1 : 2 * k - 1], x[:, 2 * k - 1 :]

    def join(self, weight: Floats, mu: Floats, rho: Floats) -> Floats:
        """Return points from weights, means and correlations, clipped into the box."""
        log_weight = np.log(np.maximum(weight, 1e-300))
        z = log_weight[:, :-1] - log_weight[:, -1:]
        low, high = self.bounds()
        clipped: Floats = np.clip(np.concatenate([z, mu, rho], axis=1), low, high)
        return clipped


@dataclass(frozen=True)
class Objective:
    """The (optionally penalised) log-likelihood.

    Attributes
    ----------
    penalty : float
        Adds ``penalty * sum_k [log w_k + log mu_k(1 - mu_k) + log rho_k(1 - rho_k)]``: a log-concave
        Beta(1 + penalty, 1 + penalty) prior on each, so that the maximum is interior. 0 is maximum likelihood.
    """

    cells: Cells
    space: Space
    penalty: float = 0.0

    def component_log_pmf(self, x: Floats) -> Floats:
        """Return ``log f_k(cell)``, shape (points, K, cells)."""
        _, mu, rho = self.space.split(x)
        return log_pmf(mu, rho, self.cells)

    def value(self, x: Floats, weights: Floats) -> Floats:
        """Return the objective at each point, shape (points,); `weights` has shape (points, cells)."""
        log_weight, mu, rho = self.space.split(x)
        joint = log_pmf(mu, rho, self.cells) + log_weight[:, :, None]
        total: Floats = (weights * _log_sum(joint)[0]).sum(axis=1)
        if self.penalty:
            total = total + self.penalty * self._log_prior(log_weight, mu, rho)
        return total

    def derivatives(self, x: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Return value (points,), gradient (points, p) and Hessian (points, p, p)."""
        k, m = self.space.n_components, len(x)
        log_weight, mu, rho = self.space.split(x)
        value, gradient, hessian = log_pmf_derivatives(mu.ravel(), rho.ravel(), self.cells)
        value = value.reshape(m, k, -1)
        gradient, hessian = gradient.reshape(2, m, k, -1), hessian.reshape(3, m, k, -1)
        if k == 1:
            posterior = np.ones_like(value)
            total = (weights * value[:, 0]).sum(axis=1)
        else:
            marginal, posterior = _log_sum(value + log_weight[:, :, None])
            total = (weights * marginal).sum(axis=1)
        w = np.exp(log_weight)
        share = posterior * weights[:, None, :]

        # score[c] = d log f(c) / dx, one row per parameter
        score = np.concatenate(
            [posterior[:, :-1] - w[:, :-1, None], posterior * gradient[0], posterior * gradient[1]], axis=1
        )
        grad = (score * weights[:, None, :]).sum(axis=2)
        hess = -(score * weights[:, None, :]) @ score.transpose(0, 2, 1)

        diagonal = np.arange(k)
        at_mu, at_rho = k - 1 + diagonal, 2 * k - 1 + diagonal
        by_mu = (share * gradient[0]).sum(axis=2)
        by_rho = (share * gradient[1]).sum(axis=2)
        hess[:, at_mu, at_mu] += (share * (hessian[0] + gradient[0] ** 2)).sum(axis=2)
        mixed = (share * (hessian[1] + gradient[0] * gradient[1])).sum(axis=2)
        hess[:, at_mu, at_rho] += mixed
        hess[:, at_rho, at_mu] += mixed
        hess[:, at_rho, at_rho] += (share * (hessian[2] + gradient[1] ** 2)).sum(axis=2)
        if k > 1:
            self._add_weight_terms(hess, w, share.sum(axis=2), by_mu, by_rho)
        if self.penalty:
            total = total + self.penalty * self._log_prior(log_weight, mu, rho)
            self._add_prior(grad, hess, w, mu, rho)
        return total, grad, hess

    @staticmethod
    def _add_weight_terms(hess: Floats, w: Floats, held: Floats, by_mu: Floats, by_rho: Floats) -> None:
        """Add the second derivatives that involve the weights (softmax), in place."""
        k = w.shape[1]
        free, held_free = w[:, :-1], held[:, :-1]
        n = held.sum(axis=1)[:, None, None]
        outer = held_free[:, :, None] * free[:, None, :]
        block = 2.0 * n * free[:, :, None] * free[:, None, :] - outer - outer.transpose(0, 2, 1)
        j = np.arange(k - 1)
        block[:, j, j] += held_free - n[:, 0] * free
        hess[:, : k - 1, : k - 1] += block
        indicator = np.eye(k)[: k - 1]
        for start, by in ((k - 1, by_mu), (2 * k - 1, by_rho)):
            cross = (indicator[None] - free[:, :, None]) * by[:, None, :]
            hess[:, : k - 1, start : start + k] += cross
            hess[:, start : start + k, : k - 1] += cross.transpose(0, 2, 1)

    def _log_prior(self, log_weight: Floats, mu: Floats, rho: Floats) -> Floats:
        free = slice(self.space.n_binomial, None)
        r = np.maximum(rho[:, free], 1e-12)
        result: Floats = (
            log_weight.sum(axis=1)
            + (np.log(mu) + np.log1p(-mu)).sum(axis=1)
            + (np.log(r) + np.log1p(-r)).sum(axis=1)
        )
        return result

    def _add_prior(self, grad: Floats, hess: Floats, w: Floats, mu: Floats, rho: Floats) -> None:
        k, b = self.space.n_components, self.space.n_binomial
        c = self.penalty
        if k > 1:
            free = w[:, :-1]
            grad[:, : k - 1] += c * (1 - k * free)
            curvature = k * free[:, :, None] * free[:, None, :]
            j = np.arange(k - 1)
            curvature[:, j, j] -= k * free
            hess[:, : k - 1, : k - 1] += c * curvature
        at = k - 1 + np.arange(k)
        grad[:, at] += c * (1 / mu - 1 / (1 - mu))
        hess[:, at, at] -= c * (1 / mu**2 + 1 / (1 - mu) ** 2)
        at = 2 * k - 1 + np.arange(b, k)
        r = np.maximum(rho[:, b:], 1e-12)
        grad[:, at] += c * (1 / r - 1 / (1 - r))
        hess[:, at, at] -= c * (1 / r**2 + 1 / (1 - r) ** 2)


def _log_sum(joint: Floats) -> tuple[Floats, Floats]:
    """Return log sum_k exp(joint_k) and the shares exp(joint_k - that), the sum over the second axis."""
    top = joint.max(axis=1, keepdims=True)
    shifted = np.exp(joint - top)
    total = shifted.sum(axis=1, keepdims=True)
    return (np.log(total) + top)[:, 0], shifted / total
