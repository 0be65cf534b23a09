"""The model of abilities and difficulties: its density by integration item by item, its derivative, its limits."""

from __future__ import annotations

import numpy as np
import pytest
from layers import examples
from scipy.integrate import quad
from scipy.stats import norm

from d3stats.models.panels.item_difficulty import Density, fit_item_difficulty
from d3stats.models.panels.latent_class import VotePatterns


def votes_of(rng: np.random.Generator, n: int, ability: list[float], spread: float, answers: int) -> tuple:
    """Draw right answers and votes."""
    truth = rng.integers(0, answers, n)
    ease = np.exp(spread * rng.standard_normal(n))
    chance = 1 / (1 + (answers - 1) * np.exp(-np.outer(ease, ability)))
    wrong = (truth[:, None] + rng.integers(1, answers, chance.shape)) % answers
    return np.where(rng.random(chance.shape) < chance, truth[:, None], wrong).astype(np.int64), truth


@pytest.mark.parametrize("answers", [2, 3])
def test_the_density_is_the_integral_over_ease_of_every_item(answers: int) -> None:
    rng = np.random.default_rng(1)
    codes, _ = votes_of(rng, 8, [1.5, 1.0, 0.3], 0.6, answers)
    codes[2, 1] = codes[5] = -1
    patterns = VotePatterns.of(codes, answers)
    density = Density(patterns, patterns.weights(), 0.2)
    logits, ability, spread = rng.normal(0, 0.3, answers - 1), np.array([1.2, 0.9, -0.2]), 0.5
    at = np.concatenate([logits, ability, [spread]])
    share = np.exp(np.append(logits, 0))
    share /= share.sum()

    def likelihood(row: np.ndarray, truth: int, z: float) -> float:
        chance = 1 / (1 + (answers - 1) * np.exp(-ability * np.exp(spread * z)))
        each = np.where(row == truth, chance, (1 - chance) / (answers - 1))
        return float(np.prod(np.where(row < 0, 1, each)) * norm.pdf(z))

    by_hand = [
        np.log(
            sum(
                share[k] * quad(lambda z, k=k, row=row: likelihood(row, k, z), -9, 9)[0]
                for k in range(answers)
            )
        )
        for row in codes
    ]
    assert density.scores(at)[0][patterns.row] == pytest.approx(by_hand, abs=1e-6)


@pytest.mark.parametrize("answers", [2, 4])
def test_the_derivative_is_that_of_differences(answers: int) -> None:
    rng = np.random.default_rng(2)
    codes, _ = votes_of(rng, 200, [2, 1, 0.5, 0.5], 0.7, answers)
    patterns = VotePatterns.of(codes, answers)
    density = Density(patterns, patterns.weights(), 0.2)
    at = np.concatenate([rng.normal(0, 0.2, answers - 1), [1.5, 0.8, 0.1, 0.6], [0.9]])
    steps = 1e-5 * np.eye(len(at))
    by_differences = [(density.negative(at + s)[0] - density.negative(at - s)[0]) / 2e-5 for s in steps]
    assert density.negative(at)[1] == pytest.approx(by_differences, abs=1e-4)


@pytest.mark.parametrize("answers", [2, 4])
def test_a_given_prevalence_is_the_same_density_without_its_parameters(answers: int) -> None:
    rng = np.random.default_rng(6)
    codes, _ = votes_of(rng, 200, [2, 1, 0.5, 0.5], 0.7, answers)
    patterns = VotePatterns.of(codes, answers)
    logits, rest = rng.normal(0, 0.5, answers - 1), np.array([1.5, 0.8, 0.1, 0.6, 0.9])
    share = np.exp(np.append(logits, 0.0))
    given = Density(patterns, patterns.weights(), 0.2, share / share.sum())
    free = Density(patterns, patterns.weights(), 0.2)
    each, scores = free.scores(np.concatenate([logits, rest]))
    np.testing.assert_allclose(given.scores(rest)[0], each, atol=1e-12)
    np.testing.assert_allclose(given.scores(rest)[1], scores[:, answers - 1 :], atol=1e-12)
    steps = 1e-5 * np.eye(len(rest))
    by_differences = [(given.negative(rest + s)[0] - given.negative(rest - s)[0]) / 2e-5 for s in steps]
    assert given.negative(rest)[1] == pytest.approx(by_differences, abs=1e-4)
    fit, _ = fit_item_difficulty(patterns, patterns.weights(), 0.2, share / share.sum())
    np.testing.assert_array_equal(fit.prevalence, share / share.sum())


@examples(2, 4, "answers")
def test_abilities_spread_and_prevalences_are_recovered(answers: int) -> None:
    ability = [2.5, 2.0, 1.5, 1.0, 0.5, 0.0]
    codes, truth = votes_of(np.random.default_rng(3), 4000, ability, 0.8, answers)
    patterns = VotePatterns.of(codes, answers)
    fit, _ = fit_item_difficulty(patterns, patterns.weights(), 0.2)
    assert fit.converged
    assert fit.ability == pytest.approx(ability, abs=0.25)
    assert fit.spread == pytest.approx(0.8, abs=0.15)
    assert fit.prevalence == pytest.approx(np.full(answers, 1 / answers), abs=0.03)
    assert fit.accuracy == pytest.approx((codes == truth[:, None]).mean(axis=0), abs=0.03)
    said = fit.posterior.max(axis=1)[patterns.row].mean()
    assert said == pytest.approx((fit.posterior.argmax(axis=1)[patterns.row] == truth).mean(), abs=0.015)


def test_items_of_equal_difficulty_have_a_spread_near_zero() -> None:
    codes, truth = votes_of(np.random.default_rng(4), 3000, [2, 1.5, 1, 1, 0.5], 0.0, 2)
    patterns = VotePatterns.of(codes, 2)
    fit, _ = fit_item_difficulty(patterns, patterns.weights(), 0.2)
    assert fit.spread < 0.35
    assert fit.accuracy == pytest.approx((codes == truth[:, None]).mean(axis=0), abs=0.03)
