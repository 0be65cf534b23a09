"""Protocols crossed with questions: the law of right answers, with the questions' effects integrated out.

The logit of a right answer is the protocol's effect plus the question's, ``alpha_p + sd_question * z_q`` with z
standard normal, and optionally ``sd_interaction * w_qp``. Given the protocols' effects, questions are independent, and
each one's likelihood is an integral over z: a sum over equally spaced nodes, whose error for such smooth integrands
falls exponentially in their number. Questions with the same successes and trials are one row with a weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

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
_FARTHEST = 60.0
_CELL_REACH = 8.0
_TAIL = -16.0
"""A sum reaches far enough when its ends are below this, in logs from its largest term."""
_SPACING = 0.4
_WIDE = 3.0
"""Nodes are `_SPACING` apart, 1.5 `_SPACING` over the root of the trials where these are many: 0.9 standard errors of
a logit at this sd, and closer in proportion to the sd above it. The relative error of the sum is then below 1e-7."""
_MOST_TRIALS = 10_000
_MOST_NODES = 200_000


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
    def most_trials(self) -> tuple[int, int]:
        """Most trials of one question, and of one cell."""
        return int(self.trials.sum(axis=1).max()), int(self.trials.max())

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


def nodes(most_trials: int, sd: float, reach: float) -> tuple[Floats, Floats]:
    """Points and log weights that integrate a question of that many trials against the standard normal.

    Parameters
    ----------
    most_trials : int
    sd : float
        What a point is multiplied by in the logit; either sign.
    reach : float
        Half the width of the sum.
    """
    # In steps of half an octave, so that points stay where they are while a sampler moves.
    steps = math.ceil(2 * math.log2(max(abs(sd) / _WIDE, 1.0)))
    return _nodes(most_trials, steps, reach)


@lru_cache(maxsize=64)
def _nodes(most_trials: int, steps: int, reach: float) -> tuple[Floats, Floats]:
    if most_trials > _MOST_TRIALS:
        raise ValueError(f"trials of one question must add up to at most {_MOST_TRIALS}; got {most_trials}")
    spacing = _SPACING * min(1.0, 1.5 / math.sqrt(max(most_trials, 1))) * 2 ** (-steps / 2)
    count = math.ceil(2 * reach / spacing) | 1
    if count > _MOST_NODES:
        raise ValueError(
            f"a spread of {_WIDE * 2 ** (steps / 2):.3g} logits is too wide for questions of {most_trials} trials: the "
            f"likelihood needs {count} nodes, at most {_MOST_NODES} are possible. Take a smaller prior of the spread"
        )
    z = np.linspace(-reach, reach, count)
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
    z = found.z
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
    """Nodes; log of weight times likelihood by pattern and node; chance of a right answer by protocol and node; with
    an interaction, by protocol, the slopes of each kind of cell in its logit and in sd_interaction.
    """

    z: Floats
    log: Floats
    chance: Floats
    slopes: list[tuple[Floats, Floats]]


def _at_nodes(cells: Cells, alpha: Floats, sd_question: float, sd_interaction: float | None) -> _AtNodes:
    """Evaluate at nodes that reach as far as the likelihood does: to far effects, where answers and spread disagree."""
    reach = _REACH
    while True:
        found = _within(cells, alpha, sd_question, sd_interaction, reach)
        ends = np.maximum(found.log[:, 0], found.log[:, -1]) - found.log.max(axis=1)
        if ends.max() < _TAIL or reach >= _FARTHEST:
            return found
        reach *= 1.5


def _within(
    cells: Cells, alpha: Floats, sd_question: float, sd_interaction: float | None, reach: float
) -> _AtNodes:
    from scipy.special import expit

    z, log_weight = nodes(cells.most_trials[0], sd_question, reach)
    eta = alpha[:, None] + sd_question * z
    chance = expit(eta)
    if sd_interaction is None:
        successes, trials, _ = cells.tables
        return _AtNodes(z, successes @ eta - trials @ np.logaddexp(0, eta) + log_weight, chance, [])
    w, log_w = nodes(cells.most_trials[1], sd_interaction, _CELL_REACH)
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
    return _AtNodes(z, log, chance, slopes)


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
    from scipy.special import expit, ndtr

    out = np.empty(alpha.shape)
    # A wide normal is smooth beside the logistic law's density, a narrow one is not; in either case sums are exact.
    wide = sd >= 1
    z = np.arange(-9, 9.01, 0.3)
    weight = np.exp(-0.5 * z**2)
    u = np.arange(-40, 40.01, 0.5)
    density = expit(u) * expit(-u)
    for p in range(alpha.shape[1]):
        a = alpha[:, p, None]
        out[~wide, p] = expit(a[~wide] + sd[~wide, None] * z) @ (weight / weight.sum())
        out[wide, p] = ndtr((a[wide] - u) / sd[wide, None]) @ (density / density.sum())
    return out


def accuracy_at_hand(
    cells: Cells, alpha: Floats, sd_question: Floats, sd_interaction: Floats | None, rng: np.random.Generator
) -> Floats:
    """Draw the mean accuracy over the questions at hand, given draws of the parameters; shape of alpha.

    Each question's effect is drawn from its posterior given the parameters, on the nodes, and so is each cell's
    where there is an interaction. Questions of one pattern are drawn together, by one multinomial.
    """
    from scipy.special import expit

    out = np.empty(alpha.shape)
    for i in range(len(alpha)):
        extra = None if sd_interaction is None else float(sd_interaction[i])
        found = _at_nodes(cells, alpha[i], float(sd_question[i]), extra)
        z = found.z
        drawn = rng.multinomial(cells.weight, _normalised(found.log))
        if extra is None:
            out[i] = found.chance @ drawn.sum(axis=0) / cells.n_questions
            continue
        w, log_w = nodes(cells.most_trials[1], extra, _CELL_REACH)
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
