"""Dawid and Skene's model of judges as a PyMC model, the right answers summed out.

    P(votes[i]) = sum_k prevalence[k] prod_j confusion[j, k, vote[i, j]]

Items with the same votes are one row with a weight. The prior of a confusion matrix has more weight on right votes, so
that the order in which judges are better than chance is the likely one. The other orders are in the posterior too.

References
----------
Dawid and Skene (1979), Applied Statistics 28, 20. Paun and others (2018), Transactions of the ACL 6, 571 (Bayesian
versions and their priors).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from d3stats._check import number
from d3stats.models.bayes import stack
from d3stats.models.panels.latent_class import VotePatterns

__all__ = ["panel_model"]


def panel_model(codes: Any, n_answers: int | None = None, *, prior: float = 1.0, right: float = 1.0) -> Any:
    """Build the PyMC model of judges with confusion matrices and hidden right answers (Dawid and Skene).

    Free variables: ``prevalence`` (Dirichlet, over answers) and ``confusion`` (Dirichlet, by judge and right answer).
    ``accuracy`` follows, the share of right votes of each judge. The potential ``votes`` is the log-likelihood with
    the right answers summed out, so that the No-U-Turn sampler can draw from the model.

    Parameters
    ----------
    codes : array of int, shape (items, judges)
        Number of the answer that each judge gave, from 0; -1 is a missing vote.
    n_answers : int, optional
        Answers, by default as many as the largest code needs.
    prior : float
        Parameter of all Dirichlet priors, above 0; 1 is uniform.
    right : float
        Added to it for right votes; above 0 it makes judges likely to be better than chance.

    Returns
    -------
    pymc.Model

    Raises
    ------
    ValueError
        When there is no vote, a code is below -1 or above the answers, or a prior is not above 0.

    Examples
    --------
    >>> model = panel_model([[0, 0, 1], [1, 1, 1], [0, -1, 0], [1, 0, 1]])
    >>> [variable.name for variable in model.free_RVs]
    ['prevalence', 'confusion']
    """
    pm, pt = stack.load("pymc"), stack.load("pytensor.tensor")
    prior, right = number("prior", prior, minimum=0.0), number("right", right, minimum=0.0)
    if prior <= 0:
        raise ValueError(f"prior must be above 0; got {prior:g}")
    votes = np.asarray(codes)
    if votes.ndim != 2 or votes.dtype.kind not in "iu" or votes.size == 0 or votes.max() < 0:
        raise ValueError(
            "codes must be whole numbers of shape (items, judges) with a vote; got "
            f"{votes.dtype} of shape {votes.shape}"
        )
    answers = int(votes.max()) + 1 if n_answers is None else int(n_answers)
    if answers < 2 or votes.max() >= answers or votes.min() < -1:
        raise ValueError(
            f"codes must be from -1 to {max(answers, 2) - 1}, with two answers or more; got {votes.min()} to "
            f"{votes.max()} and {answers} answers"
        )
    patterns = VotePatterns.of(votes.astype(np.int64), answers)
    judges = votes.shape[1]
    alpha = prior + right * np.broadcast_to(np.eye(answers), (judges, answers, answers))
    coords = {"judge": range(judges), "truth": range(answers), "vote": range(answers)}
    with stack.quiet(), pm.Model(coords=coords) as model:
        prevalence = pm.Dirichlet("prevalence", np.full(answers, prior), dims="truth")
        confusion = pm.Dirichlet("confusion", alpha, dims=("judge", "truth", "vote"))
        own = confusion[:, np.arange(answers), np.arange(answers)]
        pm.Deterministic("accuracy", (own * prevalence).sum(axis=1), dims="judge")
        by_answer = pt.log(confusion).transpose(0, 2, 1).reshape((judges * answers, answers))
        each = pt.logsumexp(pt.dot(patterns.flat, by_answer) + pt.log(prevalence), axis=1)
        pm.Potential("votes", (patterns.weights() * each).sum())
    return model
