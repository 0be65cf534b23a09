"""What counts cannot tell: different mixtures with one law, and how many numbers a panel of n votes determines."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from d3stats.models.mixtures.climb import Objective, Space
from d3stats.models.mixtures.fit import fit_beta_binomial_mixture
from d3stats.models.mixtures.law import BetaBinomialMixture, Cells
from d3stats.models.mixtures.rounds import latent_ks, pmf_ks

ORACLES = json.loads((Path(__file__).parents[2] / "oracles" / "fits.json").read_text())
JACOBIAN = ORACLES["jacobian_n7_truth(.62,6,1.2,1.5,3)"]
TRUTH = BetaBinomialMixture.from_alpha_beta([0.62, 0.38], [6, 1.5], [1.2, 3])


def parameter_jacobian(law: BetaBinomialMixture, trials: int) -> NDArray[np.float64]:
    """d pmf / d (w, log a1, log b1, log a2, log b2) by central differences, shape (trials + 1, 5)."""
    x = np.array([law.weight[0], *np.log([law.alpha[0], law.beta[0], law.alpha[1], law.beta[1]])])

    def pmf(v: NDArray[np.float64]) -> NDArray[np.float64]:
        a1, b1, a2, b2 = np.exp(v[1:])
        mixture = BetaBinomialMixture.from_alpha_beta([v[0], 1 - v[0]], [a1, a2], [b1, b2])
        return mixture.pmf(trials)

    h = 1e-5
    return np.stack([(pmf(x + h * e) - pmf(x - h * e)) / (2 * h) for e in np.eye(5)], axis=1)


@pytest.mark.parametrize("trials", [1, 2, 3, 5, 7, 12, 50, 200])
def test_two_unlike_mixtures_share_one_law_at_every_panel_size(trials: int) -> None:
    one = BetaBinomialMixture.from_alpha_beta([0.6, 0.4], [2, 1], [1, 3])
    other = BetaBinomialMixture.from_alpha_beta([0.6, 0.4], [1, 3], [2, 1])
    assert np.abs(one.pmf(trials) - other.pmf(trials)).max() <= 1e-14
    assert sorted(one.mu) != pytest.approx(sorted(other.mu), abs=0.05)


def test_the_shared_law_has_the_density_that_the_algebra_gives() -> None:
    # 3/5 Beta(2,1) + 2/5 Beta(1,3) has density 1.2 (1 - x + x^2)
    x = np.linspace(0, 1, 101)
    law = BetaBinomialMixture.from_alpha_beta([0.6, 0.4], [2, 1], [1, 3])
    assert np.abs(law.latent_cdf(x) - 1.2 * (x - x**2 / 2 + x**3 / 3)).max() <= 1e-14


@given(a=st.floats(0.05, 200), b=st.floats(0.05, 200), trials=st.integers(1, 60))
def test_any_beta_is_a_mixture_of_two_others(a: float, b: float, trials: int) -> None:
    one = BetaBinomialMixture.from_alpha_beta([1.0], [a], [b])
    two = BetaBinomialMixture.from_alpha_beta([a / (a + b), b / (a + b)], [a + 1, a], [b, b + 1])
    assert np.abs(one.pmf(trials) - two.pmf(trials)).max() <= 1e-13
    assert float(pmf_ks(one, two, trials)) <= 1e-12
    assert latent_ks(one, two) <= 1e-11


def test_functionals_of_two_descriptions_of_one_law_are_equal() -> None:
    one = BetaBinomialMixture.from_alpha_beta([0.6, 0.4], [2, 1], [1, 3])
    other = BetaBinomialMixture.from_alpha_beta([0.6, 0.4], [1, 3], [2, 1])
    assert float(one.mean) == pytest.approx(float(other.mean), abs=1e-15)
    assert float(one.spread) == pytest.approx(float(other.spread), abs=1e-15)


@pytest.mark.parametrize(("trials", "rank"), [(int(n), r) for n, r in JACOBIAN["rank_by_n"].items()])
def test_a_panel_of_n_votes_determines_at_most_n_numbers(trials: int, rank: int) -> None:
    singular = np.linalg.svd(parameter_jacobian(TRUTH, trials), compute_uv=False)
    assert int((singular > 1e-7 * singular[0]).sum()) == rank


def test_the_weight_at_seven_votes_has_the_known_large_error() -> None:
    jacobian = parameter_jacobian(TRUTH, 7)
    information = (jacobian / TRUTH.pmf(7)[:, None]).T @ jacobian
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    names = ("w", "log_a1", "log_b1", "log_a2", "log_b2")
    for name, error in zip(names, errors, strict=True):
        assert error == pytest.approx(JACOBIAN["se_sqrtN"][name], abs=6e-3), name
    assert np.linalg.cond(information) == pytest.approx(JACOBIAN["cond_info"], rel=0.01)


def test_our_information_gives_the_known_error_of_the_weight() -> None:
    # Data that are exactly the law's own shares make observed and expected information one.
    n_obs = 1e6
    fit = fit_beta_binomial_mixture(range(8), 7, n_obs * TRUTH.pmf(7))
    assert fit.llf == pytest.approx(fit.saturated_llf, abs=1e-6)
    # seven free shares, five parameters: the fit must come back to the truth
    assert fit.distribution.weight[1] == pytest.approx(0.62, abs=1e-4)
    assert np.sqrt(n_obs) * fit.bse["weight_1"] == pytest.approx(JACOBIAN["se_sqrtN"]["w"], abs=0.02)


def test_the_curvature_at_the_truth_is_the_expected_information() -> None:
    space, cells = Space(2), Cells.all_of(7)
    point = space.join(TRUTH.weight[None], TRUTH.mu[None], TRUTH.rho[None])
    _, gradient, hessian = Objective(cells, space).derivatives(point, TRUTH.pmf(7)[None])
    assert np.abs(gradient).max() <= 1e-12
    by_logit = np.linalg.inv(-hessian[0])[0, 0]
    assert 0.62 * 0.38 * np.sqrt(by_logit) == pytest.approx(JACOBIAN["se_sqrtN"]["w"], abs=6e-3)


def test_a_fit_to_three_votes_admits_that_it_cannot_tell_the_components() -> None:
    fit = fit_beta_binomial_mixture([0, 1, 2, 3], 3, [30, 20, 24, 60])
    assert "Panels of at most 3 votes determine 3 numbers; this model has 5 parameters" in fit.summary()
    assert fit.functionals(n_boot=50, rng=1)["kind"].str.startswith("parametric bootstrap").all()
