"""A mixture that walks over rounds: its limits, its bands, what is missing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from d3stats.counts import Counts, RoundCounts
from d3stats.models.bayes import rounds as walk
from d3stats.models.bayes.mixture import MixturePriors
from d3stats.models.mixtures.fit import fit_beta_binomial_mixture
from d3stats.models.mixtures.law import BetaBinomialMixture
from d3stats.models.mixtures.rounds import fit_rounds as fit_each_round

ONE = BetaBinomialMixture(np.array([1.0]), np.array([0.5]), np.array([0.2]))
LAWS = {
    1: BetaBinomialMixture(np.array([1.0]), np.array([0.4]), np.array([0.15])),
    2: BetaBinomialMixture(np.array([1.0]), np.array([0.6]), np.array([0.3])),
    4: BetaBinomialMixture(np.array([1.0]), np.array([0.7]), np.array([0.5])),
}


def counts_of(laws, debates, panel=5):
    weights = {r: np.round(debates * law.pmf(panel)) for r, law in laws.items()}
    return RoundCounts.from_rounds(
        {
            r: Counts.from_columns(range(panel + 1), [panel] * (panel + 1), weights=w)
            for r, w in weights.items()
        }
    )


@pytest.fixture(scope="module")
def moved():
    """Three rounds (the third of four has no votes), 1,000 debates each, one component."""
    counts = counts_of(LAWS, 1000)
    return counts, walk.fit_rounds(counts, n_components=1, draws=200, tune=150, chains=1, rng=1)


def test_many_debates_give_each_round_its_own_maximum_likelihood_fit(moved):
    counts, fit = moved
    best = fit_each_round(counts, n_components=1)
    for r in (1, 2, 4):
        law, mle = fit[r], best[r].distribution
        assert law.mu.mean() == pytest.approx(float(mle.mu[0]), abs=0.7 * law.mu.std())
        assert law.rho.mean() == pytest.approx(float(mle.rho[0]), abs=0.7 * law.rho.std())
        assert law.mu.std() < 0.02


def test_bands_hold_the_truth_and_say_what_they_are(moved):
    _, fit = moved
    bands = fit.bands(0.99).set_index(["quantity", "round"])
    for r, law in LAWS.items():
        for name, value in (("mean", law.mu[0]), ("rho", law.rho[0]), ("accuracy", law.mean)):
            row = bands.loc[(name, r)]
            assert row["low"] < value < row["high"], (name, r)
    assert set(bands["level"]) == {0.99}
    assert bands.loc[("accuracy", 1), "component"] is not None


def test_changes_between_rounds_have_their_interval(moved):
    _, fit = moved
    rise = fit.change(1, 4)
    assert rise.value == pytest.approx(0.3, abs=0.04)
    assert rise.excludes(0.0)
    assert rise.note == "P(increase) = 1.000"
    assert fit.change(4, 1).value == pytest.approx(-rise.value)


def test_shares_and_figure_are_those_of_full_panels(moved):
    counts, fit = moved
    shares = fit.count_shares()
    assert list(shares["round"].unique()) == [1, 2, 4]
    first = shares[shares["round"] == 1]
    np.testing.assert_allclose(first["observed"], counts[1].weights / counts[1].n_obs)
    np.testing.assert_allclose(first["predicted"], first["observed"], atol=0.03)
    assert len(fit.plot().get_lines()) == 2


def test_a_walk_reads_like_any_other_fit(moved):
    counts, fit = moved
    assert list(fit.params.index)[:3] == ["accuracy[0]", "accuracy[1]", "accuracy[2]"]
    assert list(fit.params.index)[-2:] == ["step[0]", "step[1]"]
    assert fit.rounds == (1, 2, 4)
    assert json.loads(json.dumps(fit.to_dict()))["n_obs"] == counts.n_obs
    assert fit.loo().elpd < 0
    checks = fit.posterior_check(0.999)
    assert len(checks) == 15
    assert checks["inside"].all()
    assert fit.prior_check()["high"].max() > 0.9


def test_without_steps_all_rounds_are_one_mixture():
    counts = counts_of({1: LAWS[1], 2: LAWS[2]}, 200)
    still = MixturePriors(step=1e-4)
    fit = walk.fit_rounds(counts, n_components=1, priors=still, draws=150, tune=150, chains=1, rng=1)
    first, second = fit[1].mu.ravel(), fit[2].mu.ravel()
    np.testing.assert_allclose(first, second, atol=1e-3)
    pooled = fit_beta_binomial_mixture(counts.pooled(), n_components=1)
    assert first.mean() == pytest.approx(float(pooled.distribution.mu[0]), abs=0.02)
    assert fit[1].rho.mean() == pytest.approx(float(pooled.distribution.rho[0]), abs=0.05)


def test_a_round_with_few_votes_leans_on_its_neighbours():
    """Three debates all wrong between two rounds of hundreds that are mostly right: alone they would say 0."""
    law = BetaBinomialMixture(np.array([1.0]), np.array([0.7]), np.array([0.1]))
    many = counts_of({1: law, 3: law}, 300)
    few = RoundCounts.from_columns([2], [0], [1], weights=[3])
    fit = walk.fit_rounds(many + few, n_components=1, draws=100, tune=150, chains=1, rng=1)
    assert 0.4 < fit[2].mu.mean() < 0.72
    assert fit[2].mu.std() > 1.5 * fit[1].mu.std()
    assert fit.panel == 5


def test_steps_of_the_prior_grow_with_the_square_root_of_the_gap():
    counts = RoundCounts.from_columns([1, 2, 6], [1, 1, 1], [2, 2, 2])
    priors = MixturePriors(step=0.3)
    density = walk._density(counts, 1, priors)
    np.testing.assert_allclose(density.spacing, [1.0, 2.0])
    drawn = walk._walks_from_prior(density, priors, np.random.default_rng(1))
    logit = np.log(drawn["mean"][..., 0] / (1 - drawn["mean"][..., 0]))
    near, far = np.diff(logit, axis=1).T
    # A normal step of half-normal size has variance step^2.
    assert near.std() == pytest.approx(0.3, rel=0.15)
    assert far.std() == pytest.approx(0.6, rel=0.15)
    first = stats.kstest(drawn["mean"][:, 0, 0], "uniform")
    assert first.pvalue > 1e-3


@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        (RoundCounts.from_columns([1], [1], [2]), ValueError, "at least two rounds with votes; got \\[1\\]"),
        (RoundCounts.from_columns([1, 2], [1, 0], [2, 0]), ValueError, "at least two rounds with votes"),
        (Counts.from_columns([1], [2]), TypeError, "rounds must be RoundCounts"),
    ],
)
def test_what_is_no_walk_is_refused(counts, error, message):
    with pytest.raises(error, match=message):
        walk.fit_rounds(counts)


def test_an_unknown_round_or_quantity_is_named(moved):
    _, fit = moved
    with pytest.raises(KeyError, match="got 3"):
        fit[3]
    with pytest.raises(KeyError, match="got 3"):
        fit.change(1, 3)
    with pytest.raises(ValueError, match="quantity must be one of"):
        fit.change(1, 2, quantity="rho")
