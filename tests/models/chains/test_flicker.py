"""The panel chain with kinds that are drawn again in every round, against enumeration, simulation and differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from d3stats.models.chains import panel_chain as chain
from d3stats.models.chains.panel_chain import ChainData, chain_laws, fit_panel_chain, fit_panel_chains, scores

FLICKERING = np.array([1.2, -0.5, 0.8, -0.7, 0.6, 0.4, 0.5, 0.2, -1.0, 1.5, 2.0, -0.4, -1.0, -1.5])


def logistic(x: np.ndarray) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-x)))


def plain_likelihood(theta: np.ndarray, votes: np.ndarray) -> float:
    """Sum over kind, easiness, and in every round over the kind shown and the shock: as the docstring says, no more."""
    z, wz = np.polynomial.hermite_e.hermegauss(chain.NODES)
    v, wv = np.polynomial.hermite_e.hermegauss(chain.SHOCKS)
    wz, wv = wz / wz.sum(), wv / wv.sum()
    first, log_first, drift, log_spread, own, pull, log_pull, hardening, log_shock, gap_first, gap = theta[
        :11
    ]
    hard, flick = logistic(theta[11]), logistic(theta[12:])
    total = 0.0
    for kind, (at, weight) in itertools.product((0, 1), zip(z, wz, strict=True)):
        chance = weight * (hard if kind else 1 - hard)
        for t, now in enumerate(votes):
            here = 0.0
            for shown, (shock, by) in itertools.product((0, 1), zip(v, wv, strict=True)):
                if t == 0:
                    eta = np.full(now.shape, first - gap_first * shown + np.exp(log_first) * at)
                else:
                    ones, n = (votes[t - 1] == 1).sum(), (votes[t - 1] != -1).sum()
                    said = np.where(votes[t - 1] == 1, 1, -1)
                    level = drift - gap * shown + np.exp(log_spread) * at + own * said
                    level = (
                        level
                        + pull * (2 * ones / n - 1)
                        + log_pull * 0.5 * np.log((ones + 0.5) / (n - ones + 0.5))
                    )
                    eta = t**hardening * level
                p = logistic(eta + np.exp(log_shock) * shock)
                counts = now != -1 if t == 0 else (now != -1) & (votes[t - 1] != -1)
                each = np.where(counts, np.where(now == 1, p, 1 - p), 1.0)
                flickers = flick[kind] if shown != kind else 1 - flick[kind]
                here += by * flickers * each.prod()
            chance *= here
        total += chance
    return float(np.log(total))


def test_the_likelihood_is_the_sum_over_all_that_is_hidden() -> None:
    rng = np.random.default_rng(2)
    votes = rng.integers(-1, 2, size=(6, 4, 3)).astype(np.int8)
    votes[votes.max(axis=2) == -1] = 1
    found = scores(FLICKERING, ChainData.from_votes(votes))[0]
    assert found.tolist() == pytest.approx([plain_likelihood(FLICKERING, each) for each in votes], abs=1e-10)


def test_the_gradient_is_the_derivative_also_in_the_two_of_flicker() -> None:
    rng = np.random.default_rng(3)
    data = ChainData.from_votes(rng.integers(-1, 2, size=(20, 5, 4)).astype(np.int8))
    for theta in (FLICKERING, chain.PRIOR_MEAN):
        step = 1e-5 * np.eye(14)
        numeric = [(scores(theta + s, data)[0] - scores(theta - s, data)[0]) / 2e-5 for s in step]
        np.testing.assert_allclose(scores(theta, data)[1], np.transpose(numeric), atol=1e-6)
        value, slope = chain.minus_log_posterior(theta, data)
        away = (theta - chain.PRIOR_MEAN) / chain.PRIOR_SD
        assert value == pytest.approx(0.5 * away @ away - scores(theta, data)[0].sum(), rel=1e-12)
        np.testing.assert_allclose(
            slope, away / chain.PRIOR_SD - scores(theta, data)[1].sum(axis=0), atol=1e-9
        )


def test_without_flicker_it_is_the_chain_of_twelve_parameters() -> None:
    rng = np.random.default_rng(4)
    data = ChainData.from_votes(rng.integers(0, 2, size=(9, 4, 5)).astype(np.int8))
    never = FLICKERING.copy()
    never[12:] = -np.inf
    for nested, whole in zip(scores(FLICKERING[:12], data), scores(never, data), strict=True):
        np.testing.assert_allclose(nested, whole[..., :12] if whole.ndim == 2 else whole, atol=1e-12)
    for name in ("weight", "initial", "steps"):
        nested, whole = (getattr(chain_laws(theta, 4, 3), name) for theta in (FLICKERING[:12], never))
        np.testing.assert_array_equal(nested, whole)


def test_the_law_of_the_counts_is_that_of_every_path_of_votes() -> None:
    laws = chain_laws(FLICKERING, panel=2, n_rounds=3)
    law = laws.weight[:, :, None] * laws.initial
    for t in range(2):
        law = np.matmul(law[:, :, None, :], laws.steps[:, t])[:, :, 0, :]
    votes = np.array(list(itertools.product((0, 1), repeat=6)), dtype=np.int8).reshape(-1, 3, 2)
    chance = np.exp(scores(FLICKERING, ChainData.from_votes(votes))[0])
    assert chance.sum() == pytest.approx(1.0, abs=1e-12)
    by_count = np.bincount(votes[:, 2].sum(axis=1), weights=chance)
    np.testing.assert_allclose(law.sum(axis=(0, 1)), by_count, atol=1e-12)


def jumping(rng: np.random.Generator, n: int = 80, jumps: float = 0.2) -> np.ndarray:
    """A panel that hears nobody, on easy and hard questions; in a share of the rounds it is as on the other kind."""
    shown = (rng.random((n, 1, 1)) < 0.6) ^ (rng.random((n, 7, 1)) < jumps)
    return (rng.random((n, 7, 7)) < np.where(shown, 0.95, 0.2)).astype(int)


def test_ability_that_jumps_is_told_from_ability_that_stays() -> None:
    stays = [fit_panel_chains(jumping(np.random.default_rng(seed), jumps=0.0)) for seed in (0,)]
    assert all(chains.flicker_probability < 0.05 and chains.likelier is chains.held for chains in stays)
    rng = np.random.default_rng(5)
    jumps = fit_panel_chains(jumping(rng))
    assert jumps.flicker_probability > 0.99
    assert jumps.likelier is jumps.flicker
    assert logistic(jumps.flicker.params.to_numpy()[12:]) == pytest.approx([0.2, 0.2], abs=0.08)
    drawn = jumps.draws(200, rng=1)
    assert np.isneginf(drawn[:, 12]).sum() == 200 - round(200 * jumps.flicker_probability)


@pytest.mark.slow
def test_marginal_likelihoods_are_those_of_importance_sampling() -> None:
    """Laplace against an average over draws from the approximation itself, widened."""
    rng = np.random.default_rng(6)
    votes = jumping(rng, n=60)
    data = ChainData.from_votes(votes.astype(np.int8))
    for flicker in (False, True):
        fit = fit_panel_chain(votes, flicker=flicker)
        size = len(fit.params)
        sd = chain.PRIOR_SD[:size]
        root = 1.3 * np.linalg.cholesky(fit.cov.to_numpy() * 1.0)
        noise = rng.standard_normal((4000, size))
        at = fit.params.to_numpy() + noise @ root.T
        density = -0.5 * (noise**2).sum(axis=1) - np.log(np.diag(root)).sum()
        inside = ((at >= chain.LOWER[:size]) & (at <= chain.UPPER[:size])).all(axis=1)
        joint = np.array(
            [
                -chain.minus_log_posterior(x, data)[0] if ok else -np.inf
                for x, ok in zip(at, inside, strict=True)
            ]
        )
        weight = joint - np.log(sd).sum() - density
        sampled = weight.max() + np.log(np.exp(weight - weight.max()).mean())
        assert fit.log_evidence == pytest.approx(sampled, abs=3.0)
