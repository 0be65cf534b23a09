"""Votes of judges as a latent class model: the right answer is hidden, and given it the judges vote independently.

Item i has the right answer k with probability p_k, and judge j then votes l with probability pi_jkl. The parameters are
those of the largest posterior density under weak Dirichlet priors, found by EM from several starts. Items with the same
votes are one row with a weight.

References
----------
Dawid and Skene (1979), Applied Statistics 28, 20, eqs. 2.3 to 2.5 (model and EM). Louis (1982), JRSS B 44, 226 (the
observed information of EM).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from d3stats._arrays import Floats, Ints

__all__ = ["LatentClasses", "VotePatterns", "climb", "fit_latent_classes", "starts_of"]


MOST_STEPS = 5000
_LOOSE, _TIGHT = 1e-7, 1e-12
"""Gain in log posterior density, per item, at which a start is left and at which the best one is."""
_NEWTON_STEPS, _FLAT = 30, 1e-9
"""Newton steps after EM, and the slope per item at which they end."""
_SAME = 1e-5
"""Starts within so much of the best log density, per item, reached the same optimum."""
_LEAST = 1e-12
MOST_OWN_STARTS = 20
"""Judges whose own votes are a start: all of a panel up to this size, else those who agree most with the plurality."""


@dataclass(frozen=True)
class VotePatterns:
    """The different rows of votes, each with the items that have it.

    `votes` is 1 where a judge cast a vote, shape (patterns, judges, answers); `row` is each item's pattern.
    """

    votes: Floats
    row: Ints

    @classmethod
    def of(cls, codes: Ints, n_answers: int) -> VotePatterns:
        """Return the patterns of codes of shape (items, judges); -1 is a missing vote."""
        distinct, row = np.unique(codes, axis=0, return_inverse=True)
        votes = (distinct[:, :, None] == np.arange(n_answers)).astype(np.float64)
        return cls(votes, np.ravel(row).astype(np.int64))

    @property
    def flat(self) -> Floats:
        """Votes as a matrix, shape (patterns, judges * answers)."""
        return self.votes.reshape(len(self.votes), -1)

    def weights(self, items: Floats | None = None) -> Floats:
        """Return the weight of every pattern: its items, or the sum of the weights given to them."""
        return np.bincount(self.row, items, minlength=len(self.votes)).astype(np.float64)


@dataclass(frozen=True)
class LatentClasses:
    """A fitted latent class model.

    Attributes
    ----------
    prevalence : ndarray, shape (answers,)
        Chance of each right answer.
    confusion : ndarray, shape (judges, answers, answers)
        Chance of each vote (last axis) given the right answer.
    posterior : ndarray, shape (patterns, answers)
        Chance of each right answer given the votes.
    log_density : float
        Log-likelihood plus log prior density, up to a constant of the prior.
    llf : float
        Log-likelihood.
    converged : bool
        Whether the last step gained nothing.
    n_starts, n_reached_best : int
        Starts of the search, and how many of them reached the optimum that was kept.
    prior : float
        Votes that the prior counts for in each row of a confusion matrix, and items in the prevalences.
    """

    prevalence: Floats
    confusion: Floats
    posterior: Floats
    log_density: float
    llf: float
    converged: bool
    n_starts: int
    n_reached_best: int
    prior: float

    @property
    def accuracy(self) -> Floats:
        """Chance that each judge is right, shape (judges,)."""
        return np.asarray(np.einsum("k,jkk->j", self.prevalence, self.confusion))

    def scores(self, patterns: VotePatterns) -> Floats:
        """Return each pattern's derivative of its log-likelihood, shape (patterns, parameters).

        Parameters are log odds against the last answer: of the prevalences, then of the rows by judge and answer.
        """
        parts = [scores * self.posterior[:, [k]] for k, scores in enumerate(self._complete(patterns))]
        return np.asarray(np.sum(parts, axis=0))

    def slope(self, patterns: VotePatterns, weights: Floats) -> Floats:
        """Return the derivative of the log density, which is 0 at the optimum, shape (parameters,)."""
        shares = [self.prevalence, *self.confusion.reshape(-1, len(self.prevalence))]
        prior = [self.prior * (1 / len(share) - share[:-1]) for share in shares]
        return np.asarray(weights @ self.scores(patterns) + np.concatenate(prior))

    def _complete(self, patterns: VotePatterns) -> list[Floats]:
        """Return for each right answer the derivative if it were known, shape (patterns, parameters) each."""
        n, judges, answers = patterns.votes.shape
        seen = patterns.votes.sum(axis=2)
        found = []
        for k in range(answers):
            prevalence = np.tile(np.eye(answers)[k] - self.prevalence, (n, 1))[:, :-1]
            rows = np.zeros((n, judges, answers, answers - 1))
            rows[:, :, k] = (patterns.votes - seen[:, :, None] * self.confusion[:, k])[:, :, :-1]
            found.append(np.concatenate([prevalence, rows.reshape(n, -1)], axis=1))
        return found

    def information(self, patterns: VotePatterns, weights: Floats) -> Floats:
        """Return minus the second derivative of the log density, shape (parameters, parameters) (Louis, 1982)."""
        judges, answers = self.confusion.shape[:2]
        size = answers - 1
        whole = np.zeros((size * (1 + judges * answers),) * 2)

        def curve(share: Floats) -> Floats:
            return (np.diag(share) - np.outer(share, share))[:-1, :-1]

        whole[:size, :size] = (weights.sum() + self.prior) * curve(self.prevalence)
        known = weights[:, None] * self.posterior
        cast = np.einsum("pk,pjl->jk", known, patterns.votes) + self.prior
        for at, (j, k) in enumerate(np.ndindex(judges, answers)):
            part = slice(size * (1 + at), size * (2 + at))
            whole[part, part] = cast[j, k] * curve(self.confusion[j, k])
        mean = np.zeros((len(weights), len(whole)))
        for k, scores in enumerate(self._complete(patterns)):
            whole -= scores.T @ (known[:, [k]] * scores)
            mean += self.posterior[:, [k]] * scores
        return whole + mean.T @ (weights[:, None] * mean)


def log_odds(fit: LatentClasses) -> Floats:
    """Return the parameters as log odds against the last answer, in the order of the scores."""
    shares = [fit.prevalence, *fit.confusion.reshape(-1, len(fit.prevalence))]
    return np.concatenate([np.log(share[:-1] / share[-1]) for share in shares])


def shares_of(points: Floats, judges: int, answers: int) -> tuple[Floats, Floats]:
    """Return prevalences (m, answers) and confusions (m, judges, answers, answers) of points of shape (m, size)."""
    logits = points.reshape(len(points), 1 + judges * answers, answers - 1)
    logits = np.concatenate([logits, np.zeros((*logits.shape[:2], 1))], axis=2)
    shares = np.exp(logits - logits.max(axis=2, keepdims=True))
    shares /= shares.sum(axis=2, keepdims=True)
    return shares[:, 0], shares[:, 1:].reshape(-1, judges, answers, answers)


def posterior_of(flat: Floats, prevalence: Floats, confusion: Floats) -> tuple[Floats, Floats]:
    """Return the chance of each right answer, shape (patterns, answers), and each pattern's log-likelihood."""
    judges, answers = confusion.shape[:2]
    by_answer = np.log(np.maximum(confusion, _LEAST)).transpose(0, 2, 1).reshape(judges * answers, answers)
    joint = flat @ by_answer + np.log(np.maximum(prevalence, _LEAST))
    top = joint.max(axis=1, keepdims=True)
    odds = np.exp(joint - top)
    total = odds.sum(axis=1, keepdims=True)
    return odds / total, (np.log(total) + top)[:, 0]


def _shares(flat: Floats, shape: tuple[int, int], known: Floats, prior: float) -> tuple[Floats, Floats]:
    """Return prevalences and confusions of largest density when `known` are the weights of the right answers."""
    judges, answers = shape
    cast = (known.T @ flat).reshape(answers, judges, answers).transpose(1, 0, 2) + prior / answers
    prevalence = known.sum(axis=0) + prior / answers
    return prevalence / prevalence.sum(), cast / cast.sum(axis=2, keepdims=True)


def _log_prior(prevalence: Floats, confusion: Floats, prior: float) -> float:
    """Return the log density of the Dirichlet priors on the log odds, up to a constant."""
    logs = np.log(np.maximum(prevalence, _LEAST)).sum() + np.log(np.maximum(confusion, _LEAST)).sum()
    return prior / len(prevalence) * float(logs)


def climb(
    patterns: VotePatterns, weights: Floats, start: Floats, prior: float, gain: float = _TIGHT
) -> LatentClasses:
    """Return the optimum that EM reaches from a posterior of shape (patterns, answers)."""
    flat, shape = patterns.flat, patterns.votes.shape[1:]
    items, before, posterior = weights.sum(), -np.inf, start
    for _ in range(MOST_STEPS):
        prevalence, confusion = _shares(flat, shape, weights[:, None] * posterior, prior)
        posterior, each = posterior_of(flat, prevalence, confusion)
        llf = float(weights @ each)
        density = llf + _log_prior(prevalence, confusion, prior)
        left, before = density - before, density
        if left <= gain * items:
            break
    done = bool(left <= _TIGHT * items)
    return LatentClasses(prevalence, confusion, posterior, before, llf, done, 1, 1, prior)


def polished(fit: LatentClasses, patterns: VotePatterns, weights: Floats) -> LatentClasses:
    """Return the optimum near a fit by Newton's method; the fit itself where a step gains nothing."""
    judges, answers = fit.confusion.shape[:2]
    for _ in range(_NEWTON_STEPS):
        slope = fit.slope(patterns, weights)
        if np.abs(slope).max() <= _FLAT * weights.sum():
            return replace(fit, converged=True)
        try:
            step = np.linalg.solve(fit.information(patterns, weights), slope)
        except np.linalg.LinAlgError:
            return fit
        prevalence, confusion = shares_of((log_odds(fit) + np.clip(step, -1, 1))[None], judges, answers)
        posterior, each = posterior_of(patterns.flat, prevalence[0], confusion[0])
        llf = float(weights @ each)
        density = llf + _log_prior(prevalence[0], confusion[0], fit.prior)
        if not density >= fit.log_density - 1e-12 * abs(fit.log_density):
            return fit
        fit = replace(
            fit, prevalence=prevalence[0], confusion=confusion[0], posterior=posterior, llf=llf, log_density=density
        )  # fmt: skip
    return fit


def starts_of(patterns: VotePatterns) -> list[Floats]:
    """Return starting posteriors: the shares of the votes (plurality), and the votes of single judges beside them.

    In a panel of more than 20 judges these are the 20 with the most votes for the plurality, in the order of the panel.
    """
    votes = patterns.votes
    answers = votes.shape[2]
    plurality = (votes.sum(axis=1) + 1e-3) / (votes.sum(axis=(1, 2)) + 1e-3 * answers)[:, None]
    starts = [plurality]
    agreed = np.einsum("p,pjk,pk->j", np.bincount(patterns.row, minlength=len(votes)), votes, plurality)
    for judge in np.sort(np.argsort(-agreed, kind="stable")[:MOST_OWN_STARTS]):
        own, cast = votes[:, judge], votes[:, judge].sum(axis=1, keepdims=True)
        starts.append(np.where(cast > 0, 0.8 * own + 0.2 * plurality, plurality))
    return starts


def fit_latent_classes(patterns: VotePatterns, weights: Floats, prior: float) -> LatentClasses:
    """Fit the model from every start, and name its classes after the answers that the judges gave most often there.

    The density is the same for every order of the classes. The order kept is the one in which the judges are right
    most often, so that the judges are better than chance on average.
    """
    tried = [climb(patterns, weights, start, prior, _LOOSE) for start in starts_of(patterns)]
    best = max(tried, key=lambda fit: fit.log_density)
    near = _SAME * weights.sum()
    reached = sum(fit.log_density >= best.log_density - near for fit in tried)
    best = polished(best, patterns, weights)
    if not best.converged:
        best = climb(patterns, weights, best.posterior, prior)
    return replace(named_by_votes(best, patterns, weights), n_starts=len(tried), n_reached_best=int(reached))


def named_by_votes(fit: LatentClasses, patterns: VotePatterns, weights: Floats) -> LatentClasses:
    """Put the classes in the order in which votes and classes agree most often."""
    from scipy.optimize import linear_sum_assignment

    together = (weights[:, None] * fit.posterior).T @ patterns.votes.sum(axis=1)
    _, named = linear_sum_assignment(-together)
    order = np.argsort(named)
    return replace(
        fit, prevalence=fit.prevalence[order], confusion=fit.confusion[:, order], posterior=fit.posterior[:, order]
    )  # fmt: skip
