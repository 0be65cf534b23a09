"""Covariances of a fit against second formulas: the delta method by differences, the observed information inverted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from d3stats.counts import Counts
from d3stats.models.mixtures import fit_beta_binomial_mixture
from d3stats.models.mixtures.law import BetaBinomialMixture
from d3stats.models.mixtures.result import Information, worth_of_rarer_votes


@given(st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_the_covariance_of_alphas_and_betas_is_the_delta_method_by_differences(k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.dirichlet(np.full(k, 3.0))[: k - 1]
    point = np.concatenate([weight, rng.uniform(0.1, 0.9, k), rng.uniform(0.05, 0.8, k)])
    root = rng.normal(size=(3 * k - 1, 3 * k - 1)) * 0.01
    covariance = root @ root.T

    def mapped(x: np.ndarray) -> np.ndarray:
        law = BetaBinomialMixture(
            np.append(x[: k - 1], 1 - x[: k - 1].sum()), x[k - 1 : 2 * k - 1], x[2 * k - 1 :]
        )
        return np.concatenate([x[: k - 1], law.alpha, law.beta])

    steps = 1e-6 * np.eye(len(point))
    jacobian = np.column_stack([(mapped(point + e) - mapped(point - e)) / 2e-6 for e in steps])
    found = Information(point, covariance, k).alpha_beta_covariance()
    np.testing.assert_allclose(found, jacobian @ covariance @ jacobian.T, rtol=1e-5, atol=1e-9)


def test_standard_errors_are_those_of_the_likelihood_curved_by_differences() -> None:
    """The log-likelihood is scipy's, and its second derivatives are differences in weights, means and correlations."""
    law = BetaBinomialMixture([0.6, 0.4], [0.3, 0.75], [0.15, 0.1])
    counts = Counts.from_columns(law.sample(np.full(4000, 9), rng=1), np.full(4000, 9))
    fit = fit_beta_binomial_mixture(counts, n_components=2, rng=0)
    at = fit.params.to_numpy()

    def loglik(x: np.ndarray) -> float:
        share, mean, rho = np.array([x[0], 1 - x[0]]), x[1:3], x[3:5]
        precision = 1 / rho - 1
        parts = stats.betabinom.pmf(np.arange(10)[:, None], 9, mean * precision, (1 - mean) * precision)
        weight = np.zeros(10)
        np.add.at(weight, counts.keys[:, 0], counts.weights)
        return float(weight @ np.log(parts @ share))

    h = 1e-4
    e = h * np.eye(5)
    hessian = np.array(
        [
            [loglik(at + a + b) - loglik(at + a - b) - loglik(at - a + b) + loglik(at - a - b) for b in e]
            for a in e
        ]
    ) / (4 * h * h)
    np.testing.assert_allclose(fit.cov_params().to_numpy(), np.linalg.inv(-hessian), rtol=2e-3)
    np.testing.assert_allclose(fit.bse.to_numpy(), np.sqrt(np.diag(np.linalg.inv(-hessian))), rtol=1e-3)


@pytest.mark.parametrize("flip", [False, True])
def test_the_worth_of_rarer_votes_is_the_share_of_questions_that_hold_one(flip: bool) -> None:
    """Five questions of two debates, five seats; the rarer votes fall in two questions, so they are worth two."""
    rarer = np.array([1, 0, 0, 2, 0, 0, 0, 0, 0, 0])
    trials, cluster = np.full(10, 5), np.repeat(np.arange(5), 2)
    successes = rarer if flip else trials - rarer
    assert worth_of_rarer_votes(successes, trials, cluster) == (
        "right" if flip else "wrong",
        pytest.approx(2.0),
    )
    # Sizes 4, 2, 2 are worth 64 / 24 equal questions; the largest holds half of the debates.
    uneven = np.array([0, 0, 0, 0, 1, 1, 2, 2])
    held = np.array([1, 0, 0, 0, 0, 0, 0, 0])
    votes = held if flip else np.full(8, 3) - held
    assert worth_of_rarer_votes(votes, np.full(8, 3), uneven)[1] == pytest.approx(64 / 24 / 2)
    # As many right votes as wrong ones: the right ones are counted.
    assert worth_of_rarer_votes(np.array([1, 0]), np.array([1, 1]), np.array([0, 1]))[0] == "right"
