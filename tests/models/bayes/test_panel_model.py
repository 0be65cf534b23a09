"""Dawid and Skene's model with priors: its density is that of the fit without sampling, its posterior recovers."""

from __future__ import annotations

import numpy as np
import pytest

from d3stats.models.bayes import panel_model
from d3stats.models.panels.latent_class import VotePatterns, fit_latent_classes, posterior_of


def votes_of(rng: np.random.Generator, n: int, accuracy: list[float], answers: int) -> np.ndarray:
    truth = rng.integers(0, answers, n)
    shape = (n, len(accuracy))
    wrong = (truth[:, None] + rng.integers(1, answers, shape)) % answers
    return np.where(rng.random(shape) < accuracy, truth[:, None], wrong)


@pytest.mark.parametrize("answers", [2, 3])
def test_the_density_is_that_of_the_fit_without_sampling(answers: int) -> None:
    rng = np.random.default_rng(1)
    codes = votes_of(rng, 60, [0.9, 0.7, 0.6, 0.6], answers)
    codes[3, 1] = -1
    model = panel_model(codes, prior=1.5, right=0.5)
    patterns = VotePatterns.of(codes, answers)
    graphs = model.replace_rvs_by_values([model["votes"], model["prevalence"], model["confusion"]])
    evaluate = model.compile_fn(graphs, inputs=model.value_vars)
    found = []
    for _ in range(3):
        moved = {
            name: value + rng.normal(0, 0.5, np.shape(value)) for name, value in model.initial_point().items()
        }
        votes, prevalence, confusion = evaluate(moved)
        _, each = posterior_of(patterns.flat, prevalence, confusion)
        found.append((float(votes), float(patterns.weights() @ each)))
    assert np.array(found)[:, 0] == pytest.approx(np.array(found)[:, 1], rel=1e-9)


@pytest.mark.slow
def test_the_posterior_holds_the_accuracies_and_agrees_with_the_likeliest_ones() -> None:
    import pymc

    accuracy = [0.9, 0.85, 0.7, 0.65, 0.6]
    codes = votes_of(np.random.default_rng(2), 600, accuracy, 2)
    with panel_model(codes):
        drawn = pymc.sample(400, tune=400, chains=2, cores=1, random_seed=1, progressbar=False)
    draws = np.asarray(drawn.posterior["accuracy"]).reshape(-1, 5)
    low, high = np.quantile(draws, [0.005, 0.995], axis=0)
    assert (low <= accuracy).all()
    assert (accuracy <= high).all()
    patterns = VotePatterns.of(codes, 2)
    fit = fit_latent_classes(patterns, patterns.weights(), 0.2)
    assert draws.mean(axis=0) == pytest.approx(fit.accuracy, abs=0.03)


def test_codes_that_are_no_votes_are_refused() -> None:
    with pytest.raises(ValueError, match="codes must be whole numbers"):
        panel_model([[0.5, 1.0]])
    with pytest.raises(ValueError, match="codes must be from -1 to 1"):
        panel_model([[0, 2]], 2)
    with pytest.raises(ValueError, match="prior must be above 0"):
        panel_model([[0, 1]], prior=0.0)
