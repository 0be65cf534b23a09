"""Votes of judges when the right answer is hidden and items differ in difficulty, which all judges share.

Item i has the right answer k with probability p_k and an ease exp(s z_i), z_i standard normal. Judge j of ability a_j
then votes for the right answer with probability 1 / (1 + (K - 1) exp(-a_j exp(s z_i))) and for each wrong one alike.
This is GLAD (Whitehill and others, 2009), with an ability of 0 as chance also for more than two answers. The ease of
items is integrated out by Gauss-Hermite quadrature in place of one parameter per item. With s = 0 the judges are
independent, each with one accuracy. Parameters have the largest posterior density under weak priors. The p_k are given
or are parameters too. Estimated ones can run away where judges are little better than chance: if one answer is right on
nearly all items, every judge's bias towards it looks like ability.

References
----------
Whitehill, Ruvolo, Wu, Bergsma and Movellan (2009), Advances in Neural Information Processing Systems 22, eq. 1 and
section 3.1 (priors). Bock and Aitkin (1981), Psychometrika 46, 443 (marginal maximum likelihood).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from d3stats._arrays import Floats
from d3stats.models.panels.latent_class import VotePatterns

__all__ = ["ItemDifficulty", "fit_item_difficulty"]


NODES = 31
"""Points of the quadrature; with 61 accuracies change by less than 1e-4."""
ABILITY, ABILITY_SD, SPREAD_SD = 1.0, 2.0, 1.0
"""Mean and standard deviation of an ability's prior, and that of the spread, half-normal."""
_LEAST_SPREAD = 1e-3
_STEP = 1e-4


@dataclass(frozen=True)
class ItemDifficulty:
    """A fitted model of abilities and difficulties.

    Attributes
    ----------
    prevalence : ndarray, shape (answers,)
        Chance of each right answer.
    ability : ndarray, shape (judges,)
        Log odds of the right answer against one wrong answer, on an item of median ease.
    spread : float
        Standard deviation s of the log ease of items.
    accuracy : ndarray, shape (judges,)
        Chance that each judge is right, the mean over items.
    posterior : ndarray, shape (patterns, answers)
        Chance of each right answer given the votes.
    ease : ndarray, shape (patterns,)
        Posterior mean of the log ease.
    log_density, llf : float
        Log-likelihood with and without the log priors, up to a constant.
    converged : bool
        Whether the search ended at an optimum.
    """

    prevalence: Floats
    ability: Floats
    spread: float
    accuracy: Floats
    posterior: Floats
    ease: Floats
    log_density: float
    llf: float
    converged: bool


class Density:
    """The log density of parameters and its derivative.

    Parameters are the abilities and the spread; before them, where no prevalences are given, the logits of the
    prevalences against the last.
    """

    def __init__(
        self, patterns: VotePatterns, weights: Floats, prior: float, given: Floats | None = None
    ) -> None:
        self.votes, self.weights, self.prior = patterns.votes, weights, prior
        self.cast = patterns.votes.sum(axis=2)
        self.n_answers, self.given = patterns.votes.shape[2], given
        self.n_free = self.n_answers - 1 if given is None else 0
        points, share = np.polynomial.hermite_e.hermegauss(NODES)
        self.points, self.log_share = points, np.log(share / share.sum())

    def parts(self, at: Floats) -> tuple[Floats, Floats, float]:
        """Return prevalences, abilities and the spread."""
        ability, spread = at[self.n_free : -1], float(at[-1])
        if self.given is not None:
            return self.given, ability, spread
        logits = np.append(at[: self.n_free], 0.0)
        share = np.exp(logits - logits.max())
        return share / share.sum(), ability, spread

    def right(self, ability: Floats, spread: float) -> tuple[Floats, Floats]:
        """Return the ease at every node, and log odds of the right answer against all others, (judges, nodes)."""
        ease = np.exp(np.clip(spread * self.points, -30, 30))
        return ease, ability[:, None] * ease - np.log(self.n_answers - 1)

    def joint(self, at: Floats) -> tuple[Floats, Floats, Floats]:
        """Return log chances of votes, right answer and node (patterns, answers, nodes), with ease and log odds."""
        prevalence, ability, spread = self.parts(at)
        ease, odds = self.right(ability, spread)
        hit, miss = -np.logaddexp(0, -odds), -np.logaddexp(0, odds) - np.log(self.n_answers - 1)
        known = np.einsum("pjk,jq->pkq", self.votes, hit - miss) + (self.cast @ miss)[:, None, :]
        return known + np.log(prevalence)[:, None] + self.log_share, ease, odds

    def scores(self, at: Floats) -> tuple[Floats, Floats]:
        """Return each pattern's log-likelihood and its derivative, shape (patterns, parameters)."""
        from scipy.special import expit, logsumexp

        log, ease, odds = self.joint(at)
        prevalence, ability, _ = self.parts(at)
        each = logsumexp(log, axis=(1, 2))
        both = np.exp(log - each[:, None, None])
        by_answer, by_node = both.sum(axis=2), both.sum(axis=1)
        # Fisher's identity: the derivative is that of the complete data, averaged over what is hidden.
        surplus = np.einsum("pjk,pkq->pjq", self.votes, both)
        surplus -= self.cast[:, :, None] * by_node[:, None, :] * expit(odds)
        pulled = surplus * ease
        slope_spread = np.einsum("pjq,j,q->p", pulled, ability, self.points)
        first = (by_answer - prevalence)[:, : self.n_free]
        return each, np.column_stack([first, pulled.sum(axis=2), slope_spread])

    def log_prior(self, at: Floats) -> tuple[float, Floats]:
        """Return the log prior density, up to a constant, and its derivative."""
        prevalence, ability, spread = self.parts(at)
        share = self.prior / len(prevalence)
        value = share * np.log(prevalence).sum() if self.n_free else 0.0
        value -= 0.5 * (((ability - ABILITY) / ABILITY_SD) ** 2).sum() + 0.5 * (spread / SPREAD_SD) ** 2
        slope = np.concatenate(
            [
                share - self.prior * prevalence[: self.n_free],
                -(ability - ABILITY) / ABILITY_SD**2,
                [-spread / SPREAD_SD**2],
            ]
        )
        return float(value), slope

    def negative(self, at: Floats) -> tuple[float, Floats]:
        """Return minus the log density and its derivative."""
        each, scores = self.scores(at)
        prior, slope = self.log_prior(at)
        return -float(self.weights @ each) - prior, -(self.weights @ scores) - slope

    def information(self, at: Floats) -> Floats:
        """Return minus the second derivative of the log density, by differences of the first."""
        steps = _STEP * np.eye(len(at))
        rows = [(self.negative(at + s)[1] - self.negative(at - s)[1]) / (2 * _STEP) for s in steps]
        return np.asarray((np.array(rows) + np.array(rows).T) / 2)

    def accuracies(self, at: Floats) -> Floats:
        """Return the chance that each judge is right, the mean over the ease of items."""
        from scipy.special import expit

        _, ability, spread = self.parts(at)
        return np.asarray(expit(self.right(ability, spread)[1]) @ np.exp(self.log_share))


def fit_item_difficulty(
    patterns: VotePatterns, weights: Floats, prior: float, given: Floats | None = None
) -> tuple[ItemDifficulty, Floats]:
    """Fit the model by L-BFGS from abilities of 1 and spreads of .5 and 2; return the better optimum and its point.

    Prevalences `given`, of shape (answers,), are held fixed; without them they are estimated.
    """
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    density = Density(patterns, weights, prior, given)
    judges = patterns.votes.shape[1]
    size = density.n_free + judges + 1
    bounds = [(None, None)] * (size - 1) + [(_LEAST_SPREAD, 5.0)]
    found = []
    for spread in (0.5, 2.0):
        start = np.concatenate([np.zeros(density.n_free), np.full(judges, ABILITY), [spread]])
        found.append(
            minimize(
                density.negative, start, jac=True, method="L-BFGS-B", bounds=bounds,
                options={"maxiter": 2000, "ftol": 1e-13, "gtol": 1e-6 * max(1.0, weights.sum() / 1000)},
            )
        )  # fmt: skip
    best = min(found, key=lambda one: float(one.fun))
    at = np.asarray(best.x, dtype=np.float64)
    log, _, _ = density.joint(at)
    each = logsumexp(log, axis=(1, 2))
    both = np.exp(log - each[:, None, None])
    prevalence, ability, spread = density.parts(at)
    return ItemDifficulty(
        prevalence=prevalence, ability=ability, spread=spread, accuracy=density.accuracies(at),
        posterior=both.sum(axis=2), ease=both.sum(axis=1) @ (spread * density.points),
        log_density=-float(best.fun), llf=float(weights @ each), converged=bool(best.success),
    ), at  # fmt: skip
