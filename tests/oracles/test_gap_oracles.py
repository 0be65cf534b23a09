"""The numbers of the gap posterior that were worked out elsewhere, to the digits given there."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from d3stats.models.gaps.beta import BetaGap, contraction_table, gap_posterior


@pytest.mark.parametrize(
    ("successes", "rounds", "eps", "bound", "truth"),
    [
        (500, 1000, 0.1, 0.9002991026919243, 8.027637762954219e-225),
        (900, 1000, 0.05, 0.8554128253523738, 4.1333108411122696e-11),
    ],
)
def test_the_claimed_bound_is_near_one_where_the_probability_is_nothing(
    successes: int, rounds: int, eps: float, bound: float, truth: float
) -> None:
    gap = BetaGap.from_successes(successes, rounds)
    assert gap.chebyshev_bound(eps) == pytest.approx(bound, rel=1e-13)
    assert gap.prob_between(1 - eps, 1.0) == pytest.approx(truth, rel=1e-11, abs=0)
    assert not gap.chebyshev_premise(eps)
    assert gap.cantelli_bound(eps) == gap.sub_gaussian_lower_bound(eps) == 0.0


def test_five_successes_in_five_rounds() -> None:
    """Claimed .7551, by Cantelli .8929, exactly .984375."""
    gap = BetaGap.from_successes(5, 5)
    assert round(float(gap.chebyshev_bound(0.5)), 4) == 0.7551
    assert round(float(gap.cantelli_bound(0.5)), 4) == 0.8929
    assert gap.prob_at_least(0.5) == pytest.approx(0.984375, rel=1e-14)
    assert gap.chebyshev_premise(0.5)
    row = contraction_table([5], [5], 0.5).iloc[0]
    assert (round(row["claimed"], 4), round(row["cantelli"], 4), row["exact"]) == (0.7551, 0.8929, 0.984375)


def test_a_failure_can_raise_the_variance() -> None:
    before, after = BetaGap(np.array(10.0), np.array(1.0)), BetaGap(np.array(10.0), np.array(2.0))
    assert round(float(before.var), 7) == 0.0068871
    assert round(float(after.var), 7) == 0.0106838
    assert not before.failure_lowers_variance()
    assert (after.var < after.variance_cap) & (before.var < before.variance_cap)


@pytest.mark.parametrize("trials", [1, 2, 3, 4, 5, 6])
def test_ascents_of_exchangeable_gaps_have_mean_half_and_variance_of_a_twelfth(trials: int) -> None:
    """w of r comparisons, over all orders of r + 1 distinct gaps: mean r/2, variance (r + 2)/12, not r/4."""
    orders = np.array(list(permutations(range(trials + 1))), dtype=float)
    gap = gap_posterior(orders)
    ascents = [int(a) for a in gap.alpha[:, -1] - 1]
    assert gap.trials is not None
    assert gap.trials[0, -1] == trials
    mean = Fraction(sum(ascents), len(ascents))
    variance = Fraction(sum(a * a for a in ascents), len(ascents)) - mean**2
    assert mean == Fraction(trials, 2)
    assert variance == Fraction(trials + 2, 12)


def test_ascents_of_drawn_gaps_agree_with_the_exact_variance() -> None:
    drawn, trials = 40_000, 20
    gap = gap_posterior(np.random.default_rng(1).random((drawn, trials + 1)))
    ascents = gap.alpha[:, -1] - 1
    variance, spread = (trials + 2) / 12, ascents - ascents.mean()
    assert abs(ascents.mean() - trials / 2) < 4 * np.sqrt(variance / drawn)
    error = np.sqrt(((spread**2).var()) / drawn)
    assert abs(ascents.var() - variance) < 4 * error
    assert abs(ascents.var() - trials / 4) > 40 * error


@pytest.mark.parametrize("level", [0.02, 0.5, 0.95])
def test_the_posterior_mean_is_a_half_at_every_level_of_independent_gaps(level: float) -> None:
    drawn, rounds = 4000, 51
    width = min(level, 1 - level)
    gaps = level + width * np.random.default_rng(2).uniform(-1, 1, (drawn, rounds))
    means = gap_posterior(gaps).mean[:, -1]
    assert abs(means.mean() - 0.5) < 4 * means.std() / np.sqrt(drawn)
    # (1 + w) / (r + 2) with the variance of w that ascents have
    trials = rounds - 1
    assert means.std() == pytest.approx(np.sqrt((trials + 2) / 12) / (trials + 2), rel=0.05)


def test_a_gap_that_rises_to_a_tenth_looks_like_certainty() -> None:
    """Fifty growths: .98077, for a gap that is .1 in the end."""
    gap = gap_posterior(np.linspace(0.0, 0.1, 51)[None, :])
    assert gap.mean[0, -1] == pytest.approx(51 / 52, rel=1e-14)
    assert round(float(gap.mean[0, -1]), 5) == 0.98077


def test_the_mean_of_a_random_world_converges_though_its_gap_does_not() -> None:
    """w = r or 0 with probability 1/2 each: the mean of the means is 1/2, and each goes to 0 or 1."""
    for rounds in (10, 1000):
        gap = BetaGap.from_successes([0, rounds], rounds)
        assert gap.mean.mean() == pytest.approx(0.5, rel=1e-14)
        assert gap.prob_between(0.4, 0.6).max() < 0.02
