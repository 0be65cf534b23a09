"""The latent class model of votes: EM against a plain one, derivatives against differences, order of the classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from layers import sampled

from d3stats.models.panels.latent_class import (
    MOST_OWN_STARTS,
    LatentClasses,
    VotePatterns,
    climb,
    fit_latent_classes,
    log_odds,
    posterior_of,
    shares_of,
    starts_of,
)


def votes_of(accuracy: list[float], n: int, answers: int, missing: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, answers, n)
    shape = (n, len(accuracy))
    wrong = (truth[:, None] + rng.integers(1, answers, shape)) % answers
    codes = np.where(rng.random(shape) < np.array(accuracy), truth[:, None], wrong)
    return np.where(rng.random(shape) < missing, -1, codes).astype(np.int64)


def plain_em(codes: np.ndarray, answers: int, prior: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Dawid and Skene's equations 2.3 to 2.5, vote by vote, from the shares of the votes."""
    n, judges = codes.shape
    belief = np.array([[1e-3 + (row == k).sum() for k in range(answers)] for row in codes])
    belief = belief / belief.sum(axis=1, keepdims=True)
    for _ in range(steps):
        share = (belief.sum(axis=0) + prior / answers) / (n + prior)
        table = np.full((judges, answers, answers), prior / answers)
        for i in range(n):
            for j in range(judges):
                if codes[i, j] >= 0:
                    table[j, :, codes[i, j]] += belief[i]
        table /= table.sum(axis=2, keepdims=True)
        for i in range(n):
            odds = share.copy()
            for j in range(judges):
                if codes[i, j] >= 0:
                    odds *= table[j, :, codes[i, j]]
            belief[i] = odds / odds.sum()
    return belief, table


@sampled("answers, missing", [(2, 0.0), (3, 0.25), (4, 0.1)], (1,))
def test_em_is_that_of_dawid_and_skene_vote_by_vote(answers: int, missing: float) -> None:
    codes = votes_of([0.9, 0.8, 0.7, 0.7], 80, answers, missing, 3)
    patterns = VotePatterns.of(codes, answers)
    fit = climb(patterns, patterns.weights(), starts_of(patterns)[0], 0.5)
    belief, table = plain_em(codes, answers, 0.5, 400)
    np.testing.assert_allclose(fit.posterior[patterns.row], belief, atol=2e-3)
    np.testing.assert_allclose(fit.confusion, table, atol=2e-3)


@pytest.mark.parametrize("answers", [2, 3])
def test_scores_and_information_are_the_derivatives_of_the_log_density(answers: int) -> None:
    codes = votes_of([0.9, 0.8, 0.7, 0.6], 150, answers, 0.2, 5)
    patterns = VotePatterns.of(codes, answers)
    weights, prior = patterns.weights(), 0.7
    fit = climb(patterns, weights, starts_of(patterns)[0], prior, 1e-3)

    def density(point: np.ndarray) -> float:
        prevalence, confusion = (part[0] for part in shares_of(point[None], 4, answers))
        _, each = posterior_of(patterns.flat, prevalence, confusion)
        return float(weights @ each + prior / answers * (np.log(prevalence).sum() + np.log(confusion).sum()))

    def slope(point: np.ndarray) -> np.ndarray:
        return of(point).slope(patterns, weights)

    def of(point: np.ndarray) -> LatentClasses:
        prevalence, confusion = (part[0] for part in shares_of(point[None], 4, answers))
        posterior, _ = posterior_of(patterns.flat, prevalence, confusion)
        return replace(fit, prevalence=prevalence, confusion=confusion, posterior=posterior)

    point = log_odds(fit)
    steps = 1e-5 * np.eye(len(point))
    numeric = [(density(point + step) - density(point - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(of(point).slope(patterns, weights), numeric, atol=1e-4)
    curve = np.array([(slope(point + step) - slope(point - step)) / 2e-5 for step in steps])
    np.testing.assert_allclose(of(point).information(patterns, weights), -curve, atol=1e-4)


def test_the_fit_is_an_optimum_that_no_start_beats() -> None:
    codes = votes_of([0.95, 0.9, 0.6, 0.6, 0.6], 300, 2, 0.1, 7)
    patterns = VotePatterns.of(codes, 2)
    fit = fit_latent_classes(patterns, patterns.weights(), 0.2)
    assert fit.converged
    assert np.abs(fit.slope(patterns, patterns.weights())).max() < 1e-6
    tried = [climb(patterns, patterns.weights(), start, 0.2).log_density for start in starts_of(patterns)]
    assert fit.log_density >= max(tried) - 1e-6
    assert (fit.n_starts, len(tried)) == (6, 6)


@pytest.mark.parametrize("missing", [0.0, 0.6])
def test_a_large_panel_has_few_starts_and_the_optimum_of_all(missing: float) -> None:
    codes = votes_of([0.9, 0.8, *[0.6] * 28], 200, 3, missing, 12)
    patterns = VotePatterns.of(codes, 3)
    weights = patterns.weights()
    fit = fit_latent_classes(patterns, weights, 0.2)
    assert fit.n_starts == 1 + MOST_OWN_STARTS
    own = [
        np.where(patterns.votes[:, j].any(axis=1)[:, None], 0.8 * patterns.votes[:, j] + 0.2 / 3, 1 / 3)
        for j in range(30)
    ]
    best = max(climb(patterns, weights, start, 0.2).log_density for start in own)
    assert fit.log_density >= best - 1e-6 * len(codes)


def test_classes_are_named_by_the_votes_however_the_answers_are_coded() -> None:
    codes = votes_of([0.9, 0.8, 0.8, 0.7], 200, 3, 0.0, 9)
    order = np.array([2, 0, 1])
    one, other = (fit_latent_classes(p, p.weights(), 0.2) for p in (
        VotePatterns.of(codes, 3), VotePatterns.of(order[codes], 3)))  # fmt: skip
    np.testing.assert_allclose(one.accuracy, other.accuracy, atol=1e-6)
    np.testing.assert_allclose(one.prevalence, other.prevalence[order], atol=1e-6)
    assert one.accuracy.min() > 0.5
