"""Protocols crossed with questions: the law of right answers, with the questions' effects integrated out.

The logit of a right answer is the protocol's effect plus the question's, ``alpha_p + sd_question * z_q`` with z standard
normal, and optionally ``sd_interaction * w_qp``. Given the protocols' effects, questions are independent, and each
one's likelihood is an integral over z: a sum over equally spaced nodes, whose error for such smooth integrands
falls exponentially in their number. Questions with the same successes and trials are one row with a weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import whole_numbers

__all__ = [
    "Cells",
    "accuracy_at_hand",
    "cells_of",
    "contrasts",
    "log_likelihood",
    "nodes",
    "population_accuracy",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_REACH = 6.0
_LEAST_NODES = 41
_MOST_NODES = 2001
_NODES_PER_ROOT_TRIAL = 15.0
"""Spacing 1.2 standard errors of a logit at sd 3: the sum's relative error is then below 1e-5."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Successes of trials by question and protocol, questions alike put together.

    Attributes
    ----------
    protocols : tuple of str
    n_questions : int
    successes, trials : ndarray of int, shape (patterns, protocols)
        0 trials where a cell is missing.
    weight : ndarray of int, shape (patterns,)
        How many questions have the pattern.
    pattern : ndarray of int, shape (questions,)
        The pattern of each question.
    """

    protocols: tuple[str, ...]
    n_questions: int
    successes: Ints
    trials: Ints
    weight: Ints
    pattern: Ints

    @property
    def most_trials(self) -> int:
        """Most trials of one question."""
        return int(self.trials.sum(axis=1).max())


def cells_of(correct: ArrayLike, trials: ArrayLike, question: ArrayLike, protocol: ArrayLike) -> Cells:
    """Check the rows and add them up; rows of one cell are summed and rows without trials are missing cells."""
    right, tried = whole_numbers("correct", correct), whole_numbers("trials", trials)
    names = [pd.Series(np.asarray(v, dtype=object)) for v in (question, protocol)]
    sizes = {
        "correct": right.size,
        "trials": tried.size,
        "question": names[0].size,
        "protocol": names[1].size,
    }
    if len(set(sizes.values())) > 1:
        raise ValueError(f"correct, trials, question and protocol must have one length; got {sizes}")
    bad = right > tried
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"trials must be >= correct; got trials={tried[row]}, correct={right[row]} at row {row}"
        )
    for label, column in zip(("question", "protocol"), names, strict=True):
        if column.isna().any():
            raise ValueError(
                f"{label} must be named; got a missing name at row {int(column.isna().argmax())}"
            )
    seen = tried > 0
    q, questions = pd.factorize(names[0][seen].astype(str))
    p, protocols = pd.factorize(names[1][seen].astype(str))
    if len(questions) < 2 or len(protocols) < 1:
        raise ValueError(f"a hierarchy over questions needs at least 2 with trials; got {len(questions)}")
    shape = (len(questions), len(protocols))
    tables = np.zeros((2, *shape), dtype=np.int64)
    np.add.at(tables[0], (q, p), right[seen])
    np.add.at(tables[1], (q, p), tried[seen])
    return _collapsed(tables[0], tables[1], tuple(map(str, protocols)))


def _collapsed(successes: Ints, trials: Ints, protocols: tuple[str, ...]) -> Cells:
    rows, pattern, weight = np.unique(
        np.hstack([successes, trials]), axis=0, return_inverse=True, return_counts=True
    )
    n = len(protocols)
    return Cells(
        protocols,
        len(successes),
        rows[:, :n],
        rows[:, n:],
        weight.astype(np.int64),
        pattern.ravel().astype(np.int64),
    )


def contrasts(n_protocols: int) -> Floats:
    """Orthonormal columns that sum to zero, shape (protocols, protocols - 1) (Helmert)."""
    out = np.zeros((n_protocols, n_protocols - 1))
    for k in range(1, n_protocols):
        out[:k, k - 1] = 1.0
        out[k, k - 1] = -float(k)
        out[:, k - 1] /= np.sqrt(k * (k + 1.0))
    return out


def nodes(most_trials: int) -> tuple[Floats, Floats]:
    """Points and log weights that integrate a question of that many trials against the standard normal."""
    count = max(_LEAST_NODES, int(_NODES_PER_ROOT_TRIAL * np.sqrt(most_trials))) | 1
    if count > _MOST_NODES:
        most = int((_MOST_NODES / _NODES_PER_ROOT_TRIAL) ** 2)
        raise ValueError(f"trials of one question must add up to at most {most}; got {most_trials}")
    z = np.linspace(-_REACH, _REACH, count)
    log_weight = -0.5 * z**2
    return z, log_weight - np.log(np.exp(log_weight).sum())


def log_likelihood(cells: Cells, alpha: Floats, sd_question: float, sd_interaction: float = 0.0) -> Floats:
    """Log-likelihood of one question of each pattern, without binomial coefficients; shape (patterns,).

    The plain reference of what the sampler climbs.
    """
    from scipy.special import logsumexp

    at_node, _ = _at_nodes(cells, alpha, sd_question, sd_interaction)
    return np.asarray(logsumexp(at_node, axis=1), dtype=np.float64)


def _at_nodes(
    cells: Cells, alpha: Floats, sd_question: float, sd_interaction: float
) -> tuple[Floats, Floats]:
    """Log of weight times likelihood by pattern and node, and the logits by protocol and node."""
    z, log_weight = nodes(cells.most_trials)
    eta = alpha[:, None] + sd_question * z
    if sd_interaction > 0:
        from scipy.special import logsumexp

        w, log_w = nodes(int(cells.trials.max()))
        by_w = eta[:, :, None] + sd_interaction * w
        total = np.zeros((len(cells.weight), len(z)))
        for p in range(len(alpha)):
            s, f = cells.successes[:, p], cells.trials[:, p] - cells.successes[:, p]
            each = -s[:, None, None] * np.logaddexp(0, -by_w[p]) - f[:, None, None] * np.logaddexp(0, by_w[p])
            total += logsumexp(each + log_w, axis=2)
        return total + log_weight, eta
    failures = cells.trials - cells.successes
    like = -cells.successes @ np.logaddexp(0, -eta) - failures @ np.logaddexp(0, eta)
    return like + log_weight, eta


def population_accuracy(alpha: Floats, sd: Floats) -> Floats:
    """Mean of a right answer over all questions, ``E[1 / (1 + exp(-(alpha + sd * z)))]``; shape of alpha.

    Parameters
    ----------
    alpha : ndarray, shape (draws, protocols)
    sd : ndarray, shape (draws,)
        Of question and interaction together.
    """
    from scipy.special import expit

    z, log_weight = nodes(0)
    weight = np.exp(log_weight)
    out = np.empty_like(alpha)
    for p in range(alpha.shape[1]):
        out[:, p] = expit(alpha[:, p, None] + sd[:, None] * z) @ weight
    return out


def accuracy_at_hand(
    cells: Cells, alpha: Floats, sd_question: Floats, sd_interaction: Floats | None, rng: np.random.Generator
) -> Floats:
    """Draw the mean accuracy over the questions at hand, given draws of the parameters; shape of alpha.

    Each question's effect is drawn from its posterior given the parameters, on the nodes, and so is each cell's
    where there is an interaction. Questions of one pattern are drawn together, by one multinomial.
    """
    from scipy.special import expit

    z, _ = nodes(cells.most_trials)
    out = np.empty_like(alpha)
    for i in range(len(alpha)):
        extra = 0.0 if sd_interaction is None else float(sd_interaction[i])
        at_node, eta = _at_nodes(cells, alpha[i], float(sd_question[i]), extra)
        drawn = rng.multinomial(cells.weight, _normalised(at_node))
        if extra <= 0:
            out[i] = expit(eta) @ drawn.sum(axis=0) / cells.n_questions
            continue
        w, log_w = nodes(int(cells.trials.max()))
        for p in range(alpha.shape[1]):
            pairs, inverse = np.unique(
                np.stack([cells.successes[:, p], cells.trials[:, p]], axis=1), axis=0, return_inverse=True
            )
            counts = np.zeros((len(pairs), len(z)), dtype=np.int64)
            np.add.at(counts, inverse.ravel(), drawn)
            logits = eta[p][:, None] + extra * w
            total = 0.0
            for (s, n), row in zip(pairs.tolist(), counts, strict=True):
                hit = row > 0
                at = log_w - s * np.logaddexp(0, -logits[hit]) - (n - s) * np.logaddexp(0, logits[hit])
                total += float((rng.multinomial(row[hit], _normalised(at)) * expit(logits[hit])).sum())
            out[i, p] = total / cells.n_questions
    return out


def _normalised(log_weights: Floats) -> Floats:
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)
