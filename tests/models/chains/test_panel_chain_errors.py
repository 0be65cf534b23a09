"""Errors of the panel chain: what the data say can only narrow the prior, whatever the clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from d3stats.models.chains import panel_chain as chain
from d3stats.models.chains.panel_chain import PanelChainFit, fit_panel_chain


def small_pilot(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw a pilot of any shape: few questions or many, repeated or not, votes that stay, follow or are coins."""
    rng = np.random.default_rng(seed)
    questions, repeats = rng.integers(2, 15), rng.integers(1, 7)
    panel, rounds = rng.integers(2, 8), rng.integers(2, 7)
    ability = np.repeat(rng.beta(*rng.uniform(0.1, 4, 2), questions), repeats)[:, None]
    stay, follow = rng.dirichlet([1, 1, 1])[:2]
    votes = np.empty((len(ability), rounds, panel), dtype=int)
    votes[:, 0] = rng.random((len(ability), panel)) < ability
    for t in range(1, rounds):
        u = rng.random((len(ability), panel))
        lead = votes[:, t - 1].mean(axis=1, keepdims=True) > 0.5
        fresh = rng.random((len(ability), panel)) < ability
        votes[:, t] = np.where(u < stay, votes[:, t - 1], np.where(u < stay + follow, lead, fresh))
    votes[rng.random(votes.shape) < rng.choice([0, 0.1])] = -1
    return votes, np.repeat(np.arange(questions), repeats)


def in_units_of_the_prior(fit: PanelChainFit) -> np.ndarray:
    return np.asarray(
        np.linalg.eigvalsh(fit.cov.to_numpy() / np.outer(*2 * [chain.PRIOR_SD[: len(fit.params)]]))
    )


def check(seed: int) -> None:
    fit = fit_panel_chain(*small_pilot(seed))
    variances = in_units_of_the_prior(fit)
    assert variances.min() > 0
    assert variances.max() <= 1 + 1e-9
    assert (fit.bse <= chain.PRIOR_SD[:12] * (1 + 1e-9)).all()
    assert fit.design_effect >= 1


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_no_direction_is_less_sure_than_the_prior(seed: int) -> None:
    check(seed)


@pytest.mark.slow
def test_no_direction_is_less_sure_than_the_prior_in_four_hundred_pilots() -> None:
    for seed in range(400):
        check(seed)


@pytest.mark.parametrize("copies", [2, 5])
def test_a_question_that_is_copied_tells_nothing_new(copies: int) -> None:
    votes, _ = small_pilot(12)
    once = fit_panel_chain(votes, np.arange(len(votes)))
    question = np.tile(np.arange(len(votes)), copies)
    again = fit_panel_chain(np.tile(votes, (copies, 1, 1)), question)
    alone = fit_panel_chain(np.tile(votes, (copies, 1, 1)))
    # The likelihood is multiplied by the copies and its worth divided by them, at least nearly.
    assert again.design_effect > 0.6 * copies
    assert in_units_of_the_prior(again).sum() > in_units_of_the_prior(alone).sum()
    np.testing.assert_allclose(
        in_units_of_the_prior(again).sum(), in_units_of_the_prior(once).sum(), rtol=0.35
    )
