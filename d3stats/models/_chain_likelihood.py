"""The likelihood of the panel chain: one debate at a time given its easiness, summed over Gauss-Hermite nodes.

Each debate is of an easy or a hard kind and has an easiness z ~ N(0, 1) within its kind, for good, and each of its
rounds has a shock v ~ N(0, 1) of its own. The seats of a round are independent given all that; sums over nodes
take the place of the two integrals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = [
    "LOWER",
    "NAMES",
    "NODES",
    "PRIOR_MEAN",
    "PRIOR_SD",
    "SHOCKS",
    "UPPER",
    "ChainData",
    "features",
    "hermite",
    "minus_log_posterior",
    "scores",
]

Floats = NDArray[np.float64]

NAMES = (
    "first",
    "log_spread_first",
    "drift",
    "log_spread",
    "own_vote",
    "pull",
    "log_pull",
    "hardening",
    "log_shock",
    "gap_first",
    "gap",
    "logit_hard",
)
# Weak: on the logit scale of a single vote, one unit covers what any published debate has shown.
PRIOR_MEAN = np.array([0.5, -0.3, 0.0, -0.5, 1.0, 0.5, 1.0, 0.0, -1.0, 0.7, 0.7, -0.7])
PRIOR_SD = np.array([1.0, 0.7, 0.7, 0.8, 1.0, 1.0, 1.0, 0.5, 0.8, 1.0, 1.0, 1.0])
LOWER = np.array([-5.0, -4.0, -5.0, -4.0, -5.0, -8.0, -5.0, -1.5, -5.0, 0.0, 0.0, -4.0])
UPPER = np.array([5.0, 1.5, 5.0, 1.5, 5.0, 8.0, 5.0, 1.5, 1.0, 6.0, 6.0, 3.0])

NODES, SHOCKS = 5, 5
"""Points for easiness within a kind, and for shocks."""
_CHUNK = 1024


class Rule(NamedTuple):
    """Nodes and weights of a Gauss-Hermite rule for a standard normal."""

    at: Floats
    weight: Floats


def hermite(n: int) -> Rule:
    """Return the rule with n nodes; weights sum to 1."""
    at, weight = np.polynomial.hermite_e.hermegauss(n)
    return Rule(at, weight / weight.sum())


def kinds(nodes: int) -> tuple[Floats, Floats, Floats]:
    """Return the classes of easiness: z, whether the kind is hard (0 or 1), and the weight within the kind.

    Each of shape (2 * nodes,), the easy kind first.
    """
    rule = hermite(nodes)
    return np.tile(rule.at, 2), np.repeat([0.0, 1.0], nodes), np.tile(rule.weight, 2)


def features(ones: NDArray[np.int64], cast: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return how a round's share of ones pulls: linearly, and on the logit scale with half a vote added."""
    linear = 2.0 * ones / np.maximum(cast, 1) - 1.0
    return np.where(cast > 0, linear, 0.0), 0.5 * np.log((ones + 0.5) / (cast - ones + 0.5))


@dataclass(frozen=True, eq=False)
class ChainData:
    """What the likelihood needs of the votes.

    Attributes
    ----------
    first_ones, first_cast : ndarray of int, shape (debates,)
        Ones and votes in round 1.
    ones_after_one, cast_after_one : ndarray of int, shape (debates, rounds - 1)
        Among seats that cast a 1 and vote again in the next round: how many cast a 1 there, and how many.
    ones_after_zero, cast_after_zero : the same among seats that cast a 0.
    linear, logit : ndarray of float, shape (debates, rounds - 1)
        The features of the earlier round.
    """

    first_ones: NDArray[np.int64]
    first_cast: NDArray[np.int64]
    ones_after_one: NDArray[np.int64]
    cast_after_one: NDArray[np.int64]
    ones_after_zero: NDArray[np.int64]
    cast_after_zero: NDArray[np.int64]
    linear: Floats
    logit: Floats

    @classmethod
    def from_votes(cls, votes: NDArray[np.int8]) -> ChainData:
        """Count from votes of shape (debates, rounds, seats): 1, 0, or -1 for none."""
        one, zero = votes == 1, votes == 0
        cast = one | zero
        again_one, again_zero = one[:, :-1] & cast[:, 1:], zero[:, :-1] & cast[:, 1:]
        linear, logit = features(one[:, :-1].sum(2), cast[:, :-1].sum(2))
        return cls(
            one[:, 0].sum(1),
            cast[:, 0].sum(1),
            (again_one & one[:, 1:]).sum(2),
            again_one.sum(2),
            (again_zero & one[:, 1:]).sum(2),
            again_zero.sum(2),
            linear,
            logit,
        )

    def __len__(self) -> int:
        return len(self.first_ones)

    def chunks(self) -> list[ChainData]:
        """Cut into pieces that keep the arrays over nodes small."""
        fields = [getattr(self, name) for name in self.__dataclass_fields__]
        return [ChainData(*(array[i : i + _CHUNK] for array in fields)) for i in range(0, len(self), _CHUNK)]


def _terms(theta: Floats, d: ChainData) -> tuple[Floats, Floats]:
    """Return each debate's log-likelihood and its gradient, shapes (debates,) and (debates, parameters)."""
    first, log_spread_first, drift, log_spread, own, pull, log_pull, hardening, log_shock = theta[:9]
    gap_first, gap, logit_hard = theta[9:]
    z, hard, within = kinds(NODES)
    share = special.expit(logit_hard)
    wz = within * np.where(hard == 1.0, share, 1.0 - share)
    v, wv = hermite(SHOCKS)
    spread_first, spread, shock = np.exp(log_spread_first), np.exp(log_spread), np.exp(log_shock)

    eta = first + (spread_first * z - gap_first * hard)[:, None] + shock * v
    ones, cast = d.first_ones[:, None, None], d.first_cast[:, None, None]
    log_first = ones * eta - cast * np.logaddexp(0.0, eta) + np.log(wv)
    by_node = special.logsumexp(log_first, axis=2)
    in_first = np.exp(log_first - by_node[:, :, None]) * (ones - cast * special.expit(eta))

    log_time = np.log(np.arange(1, d.linear.shape[1] + 1))
    scale = np.exp(hardening * log_time)[None, :, None, None]
    middle = (drift + pull * d.linear + log_pull * d.logit)[:, :, None, None]
    middle = middle + (spread * z - gap * hard)[None, None, :, None]
    mean_one, mean_zero = middle + own, middle - own
    eta_one, eta_zero = scale * mean_one + shock * v, scale * mean_zero + shock * v
    n1, n0 = d.cast_after_one[:, :, None, None], d.cast_after_zero[:, :, None, None]
    x1, x0 = d.ones_after_one[:, :, None, None], d.ones_after_zero[:, :, None, None]
    log_round = (
        x1 * eta_one - n1 * np.logaddexp(0.0, eta_one) + x0 * eta_zero - n0 * np.logaddexp(0.0, eta_zero)
    ) + np.log(wv)
    top = log_round.max(axis=3, keepdims=True)
    weight = np.exp(log_round - top)
    total = weight.sum(axis=3, keepdims=True)
    joint = by_node + (top + np.log(total))[..., 0].sum(axis=1) + np.log(wz)
    llf = special.logsumexp(joint, axis=1)

    posterior = np.exp(joint - llf[:, None])
    weight *= posterior[:, None, :, None] / total
    in_one = weight * (x1 - n1 * special.expit(eta_one))
    in_zero = weight * (x0 - n0 * special.expit(eta_zero))
    both = in_one + in_zero
    scaled = both * scale
    in_first *= posterior[:, :, None]
    per_round = scaled.sum(axis=(2, 3))
    gradient = np.empty((len(d), len(theta)))
    gradient[:, 0] = in_first.sum(axis=(1, 2))
    gradient[:, 1] = (in_first.sum(axis=2) @ z) * spread_first
    gradient[:, 2] = per_round.sum(axis=1)
    gradient[:, 3] = (scaled.sum(axis=(1, 3)) @ z) * spread
    gradient[:, 4] = ((in_one - in_zero) * scale).sum(axis=(1, 2, 3))
    gradient[:, 5] = (per_round * d.linear).sum(axis=1)
    gradient[:, 6] = (per_round * d.logit).sum(axis=1)
    moved = (in_one * mean_one + in_zero * mean_zero) * scale
    gradient[:, 7] = moved.sum(axis=(2, 3)) @ log_time
    gradient[:, 8] = (both.sum(axis=(1, 2)) @ v + in_first.sum(axis=1) @ v) * shock
    gradient[:, 9] = -(in_first.sum(axis=2) @ hard)
    gradient[:, 10] = -(scaled.sum(axis=(1, 3)) @ hard)
    gradient[:, 11] = posterior @ hard - share
    return llf, gradient


def scores(theta: Floats, data: ChainData) -> tuple[Floats, Floats]:
    """Return each debate's log-likelihood and score, without the prior."""
    parts = [_terms(theta, piece) for piece in data.chunks()]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def minus_log_posterior(theta: Floats, data: ChainData) -> tuple[float, Floats]:
    """Return minus the log-likelihood plus the prior's penalty, and the gradient; what the fit minimises."""
    value, gradient = 0.0, np.zeros(len(theta))
    for piece in data.chunks():
        llf, slope = _terms(theta, piece)
        value -= float(llf.sum())
        gradient -= slope.sum(axis=0)
    away = (theta - PRIOR_MEAN) / PRIOR_SD
    return value + 0.5 * float(away @ away), gradient + away / PRIOR_SD
