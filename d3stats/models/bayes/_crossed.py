"""Protocols crossed with questions: the law of right answers, with the questions' effects integrated out.

The logit of a right answer is the protocol's effect plus the question's, ``alpha_p + sd_question * z_q`` with z
standard normal, and optionally ``sd_interaction * w_qp``. Given the protocols' effects, questions are independent, and
each one's likelihood is an integral over z: a sum over equally spaced nodes, whose error for such smooth integrands
falls exponentially in their number. Questions with the same successes and trials are one row with a weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import whole_numbers

__all__ = [
    "Cells",
    "accuracy_at_hand",
    "cells_of",
    "collapsed",
    "contrasts",
    "nodes",
    "pattern_log_likelihood",
    "population_accuracy",
    "value_and_gradient",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_REACH = 6.0
_LEAST_NODES = 31
_MOST_NODES = 2001
_NODES_PER_ROOT_TRIAL = 20.0
"""Spacing 0.9 standard errors of a logit at sd 3; the relative error of the sum is then below 1e-7."""


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

    @cached_property
    def tables(self) -> tuple[Floats, Floats, Floats]:
        """Successes, trials and weights as floats: whole numbers would be converted at every product."""
        return (
            self.successes.astype(np.float64),
            self.trials.astype(np.float64),
            self.weight.astype(np.float64),
        )

    @cached_property
    def nodes(self) -> tuple[Floats, Floats]:
        """Points and log weights for the effect of a question."""
        return nodes(int(self.trials.sum(axis=1).max()))

    @cached_property
    def cell_nodes(self) -> tuple[Floats, Floats]:
        """Points and log weights for the effect of one cell."""
        return nodes(int(self.trials.max()))

    @cached_property
    def kinds(self) -> tuple[tuple[Ints, Ints, Ints], ...]:
        """Successes and trials that occur, and which of them each pattern has, for each protocol."""
        out = []
        for s, n in zip(self.successes.T, self.trials.T, strict=True):
            pairs, at = np.unique(np.stack([s, n], axis=1), axis=0, return_inverse=True)
            out.append((pairs[:, 0], pairs[:, 1], at.ravel().astype(np.int64)))
        return tuple(out)

    def replicated(
        self, alpha: Floats, sd_question: float, sd_interaction: float | None, rng: np.random.Generator
    ) -> Ints:
        """Draw successes for the same trials from new questions; shape (questions, protocols)."""
        from scipy.special import expit

        trials = self.trials[self.pattern]
        logits = alpha + sd_question * rng.standard_normal((self.n_questions, 1))
        if sd_interaction is not None:
            logits = logits + sd_interaction * rng.standard_normal(trials.shape)
        return np.asarray(rng.binomial(trials, expit(logits)), dtype=np.int64)


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
    return collapsed(tables[0], tables[1], tuple(map(str, protocols)))


def collapsed(successes: Ints, trials: Ints, protocols: tuple[str, ...]) -> Cells:
    """Put questions with the same successes and trials together; tables of shape (questions, protocols)."""
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


def value_and_gradient(
    cells: Cells, alpha: Floats, sd_question: float, sd_interaction: float | None = None
) -> tuple[float, Floats]:
    """Log-likelihood without binomial coefficients, and its gradient in alpha and the standard deviations.

    Returns
    -------
    float
    ndarray of float, shape (protocols + 1,), or (protocols + 2,) with an interaction
    """
    found = _at_nodes(cells, alpha, sd_question, sd_interaction)
    successes, trials, weight = cells.tables
    top = found.log.max(axis=1, keepdims=True)
    share = np.exp(found.log - top)
    total = share.sum(axis=1, keepdims=True)
    value = float(weight @ (top + np.log(total))[:, 0])
    share *= weight[:, None] / total
    z = cells.nodes[0]
    if sd_interaction is None:
        in_eta = successes.T @ share - found.chance * (trials.T @ share)
        return value, np.append(in_eta.sum(axis=1), float((in_eta @ z).sum()))
    gradient = np.zeros(len(alpha) + 2)
    for p, (slope, slope_w) in enumerate(found.slopes):
        at = cells.kinds[p][2]
        by_kind = np.zeros_like(slope)
        np.add.at(by_kind, at, share)
        gradient[p] = (by_kind * slope).sum()
        gradient[-2] += (by_kind * slope).sum(axis=0) @ z
        gradient[-1] += (by_kind * slope_w).sum()
    return value, gradient


def pattern_log_likelihood(
    cells: Cells, alpha: Floats, sd_question: float, sd_interaction: float | None = None
) -> Floats:
    """Log-likelihood of one question of each pattern, without binomial coefficients; shape (patterns,)."""
    log = _at_nodes(cells, alpha, sd_question, sd_interaction).log
    top = log.max(axis=1)
    return np.asarray(top + np.log(np.exp(log - top[:, None]).sum(axis=1)), dtype=np.float64)


@dataclass(frozen=True, eq=False, slots=True)
class _AtNodes:
    """Log of weight times likelihood by pattern and node; chance of a right answer by protocol and node; and with
    an interaction, by protocol, the slopes of each kind of cell in its logit and in sd_interaction.
    """

    log: Floats
    chance: Floats
    slopes: list[tuple[Floats, Floats]]


def _at_nodes(cells: Cells, alpha: Floats, sd_question: float, sd_interaction: float | None) -> _AtNodes:
    from scipy.special import expit

    z, log_weight = cells.nodes
    eta = alpha[:, None] + sd_question * z
    chance = expit(eta)
    if sd_interaction is None:
        successes, trials, _ = cells.tables
        return _AtNodes(successes @ eta - trials @ np.logaddexp(0, eta) + log_weight, chance, [])
    w, log_w = cells.cell_nodes
    log = np.tile(log_weight, (len(cells.weight), 1))
    slopes = []
    for p, (s, n, at) in enumerate(cells.kinds):
        logits = eta[p][:, None] + sd_interaction * w
        each = _cell(s, n, logits)
        each += log_w
        top = each.max(axis=2, keepdims=True)
        share = np.exp(each - top)
        total = share.sum(axis=2, keepdims=True)
        log += (top + np.log(total))[at, :, 0]
        share /= total
        right = expit(logits)
        mean = (share * right).sum(axis=2)
        slope_w = s[:, None] * (share @ w) - n[:, None] * (share * (right * w)).sum(axis=2)
        slopes.append((s[:, None] - n[:, None] * mean, slope_w))
    return _AtNodes(log, chance, slopes)


def _cell(s: Ints, n: Ints, logits: Floats) -> Floats:
    """Log-likelihood of kinds of cell at logits of shape (nodes, cell nodes)."""
    out = s[:, None, None] * logits - n[:, None, None] * np.logaddexp(0, logits)
    return np.asarray(out, dtype=np.float64)


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

    z = cells.nodes[0]
    out = np.empty_like(alpha)
    for i in range(len(alpha)):
        extra = None if sd_interaction is None else float(sd_interaction[i])
        found = _at_nodes(cells, alpha[i], float(sd_question[i]), extra)
        drawn = rng.multinomial(cells.weight, _normalised(found.log))
        if extra is None:
            out[i] = found.chance @ drawn.sum(axis=0) / cells.n_questions
            continue
        w, log_w = cells.cell_nodes
        for p, (s, n, at) in enumerate(cells.kinds):
            counts = np.zeros((len(s), len(z)), dtype=np.int64)
            np.add.at(counts, at, drawn)
            kind, node = np.nonzero(counts)
            logits = (alpha[i, p] + sd_question[i] * z[node])[:, None] + extra * w
            like = -s[kind, None] * np.logaddexp(0, -logits) - (n - s)[kind, None] * np.logaddexp(0, logits)
            by_w = rng.multinomial(counts[kind, node], _normalised(like + log_w))
            out[i, p] = float((by_w * expit(logits)).sum()) / cells.n_questions
    return out


def _normalised(log_weights: Floats) -> Floats:
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)
