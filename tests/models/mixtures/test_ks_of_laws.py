"""Distances between fitted laws: known values, and a brute grid as the second implementation."""

from __future__ import annotations

import json
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from d3stats.models.mixtures.law import BetaBinomialMixture
from d3stats.models.mixtures.rounds import latent_ks, pmf_ks

ORACLES = json.loads((Path(__file__).parents[2] / "oracles" / "fits.json").read_text())
GRID = np.linspace(0.0, 1.0, 200_001)


def of(row: list[float]) -> BetaBinomialMixture:
    """(w, a1, b1, a2, b2), as the oracle writes a mixture."""
    w, a1, b1, a2, b2 = row
    return BetaBinomialMixture.from_alpha_beta([w, 1 - w], [a1, a2], [b1, b2])


def brute_latent_cdf(law: BetaBinomialMixture) -> np.ndarray:
    parts = [w * stats.beta.cdf(GRID, a, b) for w, a, b in zip(law.weight, law.alpha, law.beta, strict=True)]
    return np.sum(parts, axis=0)


def exact_count_distance(first: list[float], second: list[float], trials: int) -> float:
    """The distance with 40 digits."""

    def cdf(row: list[float]) -> list[mpmath.mpf]:
        w, a1, b1, a2, b2 = (mpmath.mpf(str(x)) for x in row)
        total, out = mpmath.mpf(0), []
        for s in range(trials + 1):
            for share, a, b in ((w, a1, b1), (1 - w, a2, b2)):
                total += (
                    share
                    * mpmath.binomial(trials, s)
                    * mpmath.beta(s + a, trials - s + b)
                    / mpmath.beta(a, b)
                )
            out.append(total)
        return out

    with mpmath.workdps(40):
        return float(max(abs(x - y) for x, y in zip(cdf(first), cdf(second), strict=True)))


def test_the_pair_of_the_audit_has_the_known_distances() -> None:
    pair = ORACLES["ks_pair"]
    a, b = of(pair["A"]), of(pair["B"])
    assert float(pmf_ks(a, b, pair["n"])) == pytest.approx(pair["pmf_ks"], abs=1e-12)
    assert latent_ks(a, b) == pytest.approx(pair["latent_ks_grid200001"], abs=1e-6)
    assert a.pmf(7).tolist() == pytest.approx(pair["pmfA"], abs=5e-9)


def test_the_latent_distance_jumps_where_the_counts_hardly_move() -> None:
    pair = ORACLES["ks_discontinuity"]
    a, b = of(pair["A"]), of(pair["B"])
    # the stored number came from log-gamma functions, which lose nine digits at a precision of 1e6
    assert float(pmf_ks(a, b, 7)) == pytest.approx(pair["pmf_ks"], abs=1e-9)
    assert float(pmf_ks(a, b, 7)) == pytest.approx(exact_count_distance(pair["A"], pair["B"], 7), abs=1e-14)
    assert latent_ks(a, b) == pytest.approx(pair["latent_ks"], abs=1e-6)


def test_two_binomials_a_hair_apart_are_a_whole_latent_step_apart() -> None:
    def law(p: float) -> BetaBinomialMixture:
        return BetaBinomialMixture([0.7, 0.3], [p, 0.2], [0.0, 0.1])

    assert latent_ks(law(0.8), law(0.8 + 1e-7)) == pytest.approx(0.7, abs=1e-9)
    assert float(pmf_ks(law(0.8), law(0.8 + 1e-7), 7)) < 1e-6
    assert latent_ks(law(0.8), law(0.8)) == 0.0


def test_all_or_none_against_a_coin_is_half_apart() -> None:
    all_or_none = BetaBinomialMixture([1.0], [0.5], [1.0])
    coin = BetaBinomialMixture([1.0], [0.5], [0.0])
    assert latent_ks(all_or_none, coin) == pytest.approx(0.5, abs=1e-12)


def test_the_gap_just_before_a_step_counts() -> None:
    smooth = BetaBinomialMixture.from_alpha_beta([1.0], [2], [1])  # P(p <= x) = x^2
    step = BetaBinomialMixture([1.0], [0.9], [0.0])
    assert latent_ks(smooth, step) == pytest.approx(0.81, abs=1e-12)


def test_the_law_of_a_narrow_beta_is_an_integral_of_its_density_and_joins_that_of_a_wider_one() -> None:
    law = BetaBinomialMixture([1.0], [0.97], [1e-13])
    x = 0.97 - 2 * float(law.spread)
    with mpmath.workdps(30):
        mean, precision = mpmath.mpf(0.97), 1 / mpmath.mpf(1e-13) - 1
        sd = mpmath.sqrt(mean * (1 - mean) / (precision + 1))

        def density(u: mpmath.mpf) -> mpmath.mpf:
            right, wrong = mean * precision - 1, (1 - mean) * precision - 1
            return mpmath.exp(
                right * mpmath.log1p(sd * u / mean) + wrong * mpmath.log1p(-sd * u / (1 - mean))
            )

        whole = mpmath.quad(density, [-10, -3, 0, 3, 10])
        exact = mpmath.quad(density, [-10, -3, (mpmath.mpf(x) - mean) / sd]) / whole
    assert float(law.latent_cdf(x)) == pytest.approx(float(exact), abs=1e-12)
    # The incomplete Beta function ended in NaN at the last of these correlations, and before that took milliseconds.
    for rho in (2.0e-12, 2.3e-12, 1e-15, 2e-17):
        one = BetaBinomialMixture([1.0], [0.7], [rho])
        z = np.linspace(-9, 9, 181)
        found = one.latent_cdf(0.7 + one.spread * z)
        assert (np.diff(found) >= 0).all()
        assert found == pytest.approx(stats.norm.cdf(z), abs=1e-6)
    assert latent_ks(one, BetaBinomialMixture([1.0], [0.2], [0.1])) > 0.9


shape = st.floats(0.3, 60)
laws = st.builds(
    lambda w, a1, b1, a2, b2: of([w, a1, b1, a2, b2]), st.floats(0.02, 0.98), shape, shape, shape, shape
)


@settings(max_examples=3)
@given(a=laws, b=laws)
def test_the_latent_distance_is_that_of_a_fine_grid(a: BetaBinomialMixture, b: BetaBinomialMixture) -> None:
    brute = float(np.abs(brute_latent_cdf(a) - brute_latent_cdf(b)).max())
    ours = latent_ks(a, b)
    assert ours >= brute - 1e-10  # a grid can only miss the top
    # shapes >= 0.3 are steep at the ends: between 0 and the first grid point a cdf rises by at most 7 %
    inner = ours - brute
    steep = min(a.alpha.min(), a.beta.min(), b.alpha.min(), b.beta.min()) < 1.2
    assert inner <= (0.07 if steep else 1e-6)


@settings(max_examples=30)
@given(a=laws, b=laws, trials=st.integers(1, 30))
def test_the_count_distance_is_that_of_plain_distribution_functions(
    a: BetaBinomialMixture, b: BetaBinomialMixture, trials: int
) -> None:
    s = np.arange(trials + 1)

    def plain(law: BetaBinomialMixture) -> np.ndarray:
        rows = zip(law.weight, law.alpha, law.beta, strict=True)
        return np.sum([w * stats.betabinom.cdf(s, trials, p, q) for w, p, q in rows], axis=0)

    distance = float(pmf_ks(a, b, trials))
    assert distance == pytest.approx(float(np.abs(plain(a) - plain(b)).max()), abs=1e-12)
    assert 0.0 <= distance <= 1.0
    assert distance == float(pmf_ks(b, a, trials))
    # a panel blurs the latent law: counts are never further apart than what they come from
    assert distance <= latent_ks(a, b) + 1e-9
