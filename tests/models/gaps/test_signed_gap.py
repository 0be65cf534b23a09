"""The Normal-Inverse-Gamma posterior of the signed gap: exact, calibrated, and the same by quadrature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from d3stats.models.gaps.signed import SignedGap, StudentT, signed_gap_posterior
from d3stats.trajectories import Trajectories

PRIOR = {"m0": 0.1, "k0": 0.8, "a0": 2.5, "b0": 0.06}


def _drawn(debates: int, rounds: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean gaps and gaps of a world drawn from the prior."""
    rng = np.random.default_rng(seed)
    variance = PRIOR["b0"] / rng.gamma(PRIOR["a0"], size=debates)
    mu = PRIOR["m0"] + np.sqrt(variance / PRIOR["k0"]) * rng.standard_normal(debates)
    gaps = mu[:, None] + np.sqrt(variance)[:, None] * rng.standard_normal((debates, rounds))
    return mu, gaps


SCALE = 50.0
"""Wide enough for every draw: gaps are given in raw points, of which SCALE make one unit."""


def _posterior(gaps: NDArray[np.float64]) -> SignedGap:
    # drawn in units, so the prior is put into units of the wider scale
    return signed_gap_posterior(
        gaps, scale=SCALE, m0=PRIOR["m0"] / SCALE, k0=PRIOR["k0"], a0=PRIOR["a0"], b0=PRIOR["b0"] / SCALE**2
    )


# ------------------------------------------------------------------ against other computations


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=12), st.floats(0.1, 5), st.floats(0.5, 5))
def test_round_by_round_is_the_update_by_all_rounds_at_once(gaps: list[float], k0: float, a0: float) -> None:
    y, m0, b0 = np.array(gaps), 0.2, 0.1
    got = signed_gap_posterior(y[None, :], scale=1, m0=m0, k0=k0, a0=a0, b0=b0)
    n, mean = len(y), y.mean()
    k = k0 + n
    assert got.m[0, -1] == pytest.approx((k0 * m0 + n * mean) / k, abs=1e-12)
    assert (got.k[0, -1], got.a[0, -1]) == pytest.approx((k, a0 + n / 2))
    b = b0 + 0.5 * ((y - mean) ** 2).sum() + 0.5 * k0 * n * (mean - m0) ** 2 / k
    assert got.b[0, -1] == pytest.approx(b, rel=1e-10)


def test_a_grid_over_mean_and_variance_gives_the_same_probabilities() -> None:
    """Prior times likelihood on a grid, with nothing conjugate in it."""
    y, next_above = np.array([0.25, -0.05, 0.3, 0.1]), 0.2
    m0, k0, a0, b0 = 0.0, 1.0, 2.0, 0.04
    mu = (np.arange(-2000, 2000) + 0.5)[:, None] / 2000
    log_v = np.linspace(-9, 1, 301)[None, :]
    v = np.exp(log_v)
    # the density of log v carries a Jacobian of v
    log_post = stats.invgamma.logpdf(v, a0, scale=b0) + log_v + stats.norm.logpdf(mu, m0, np.sqrt(v / k0))
    log_post = log_post + sum(stats.norm.logpdf(one, mu, np.sqrt(v)) for one in y)
    weight = np.exp(log_post - log_post.max())
    weight /= weight.sum()
    got = signed_gap_posterior(y[None, :], scale=1, m0=m0, k0=k0, a0=a0, b0=b0)
    assert got.prob_better[0, -1] == pytest.approx(float((weight * (mu > 0)).sum()), abs=1e-6)
    assert got.mean[0, -1] == pytest.approx(float((weight * mu).sum()), abs=1e-6)
    ahead = stats.norm.sf(next_above, mu, np.sqrt(v))
    assert got.predictive().prob_above(next_above)[0, -1] == pytest.approx(
        float((weight * ahead).sum()), abs=1e-6
    )


@given(st.floats(-2, 2), st.floats(0.05, 3), st.floats(0.5, 60), st.floats(0.1, 0.999))
def test_the_student_t_is_scipys(location: float, scale: float, df: float, level: float) -> None:
    ours = StudentT(np.array(location), np.array(scale), np.array(df))
    law = stats.t(df, location, scale)
    assert ours.prob_positive == pytest.approx(law.sf(0), rel=1e-8, abs=1e-14)
    low, high = ours.interval(level)
    assert (low, high) == pytest.approx(law.interval(level), rel=1e-6, abs=1e-8)
    assert law.cdf(high) - law.cdf(low) == pytest.approx(level, abs=1e-9)


# ------------------------------------------------------------------ calibrated under its own prior


def test_intervals_and_probabilities_are_calibrated_when_worlds_come_from_the_prior() -> None:
    debates, rounds, level = 20_000, 5, 0.95
    mu, gaps = _drawn(debates, rounds + 1, 1)
    post = _posterior(gaps[:, :rounds])
    allowed = 4 * np.sqrt(level * (1 - level) / debates)
    low, high = post.interval(level)
    for r in range(rounds):
        covered = ((low[:, r] <= mu / SCALE) & (mu / SCALE <= high[:, r])).mean()
        assert abs(covered - level) < allowed, r
    ahead = post.predictive()
    left, right = ahead.interval(level)
    for r in range(rounds):
        following = gaps[:, r + 1] / SCALE
        assert abs(((left[:, r] <= following) & (following <= right[:, r])).mean() - level) < allowed, r
        kept = (following > 0) == (post.mean[:, r] > 0)
        said = ahead.prob_keeps_sign[:, r]
        assert abs(kept.mean() - said.mean()) < 4 * np.sqrt((said * (1 - said)).mean() / debates), r
    _calibrated(post.prob_better[:, -1], mu > 0)
    _calibrated(ahead.prob_positive[:, -1], gaps[:, rounds] > 0)


def _calibrated(said: NDArray[np.float64], happened: NDArray[np.bool_]) -> None:
    """Within 4 standard errors in each tenth of what was said."""
    which = np.minimum((10 * said).astype(int), 9)
    for bin_ in range(10):
        here = which == bin_
        if here.sum() < 50:
            continue
        error = np.sqrt((said[here] * (1 - said[here])).sum()) / here.sum()
        assert abs(happened[here].mean() - said[here].mean()) < 4 * error, bin_


def test_rounds_that_copy_each_other_make_it_too_sure() -> None:
    """One draw, said five times: the 95 % interval of the mean gap is far from 95 %. The docstring warns."""
    mu, gaps = _drawn(4000, 1, 2)
    noise = 1e-3 * np.random.default_rng(3).standard_normal((4000, 5))
    low, high = _posterior(gaps + noise).interval(0.95)
    assert ((low[:, -1] <= mu / SCALE) & (mu / SCALE <= high[:, -1])).mean() < 0.85


# ------------------------------------------------------------------ what it reads


def test_a_missing_round_leaves_the_posterior_as_it_was() -> None:
    holed = signed_gap_posterior([[4.0, np.nan, 6.0, np.nan]], scale=20)
    dense = signed_gap_posterior([[4.0, 6.0]], scale=20)
    for name in ("m", "k", "a", "b", "trials"):
        got, expected = getattr(holed, name)[0], getattr(dense, name)[0]
        assert got.tolist() == [expected[0], expected[0], expected[1], expected[1]]
    silent = signed_gap_posterior([[np.nan, np.nan]], scale=20)
    assert silent.prob_better.tolist() == [[0.5, 0.5]]


def test_exchanging_the_answers_exchanges_the_verdict() -> None:
    scores = np.random.default_rng(4).integers(1, 21, (30, 4, 2)).astype(float)
    one = signed_gap_posterior(scores, scale=19)
    other = signed_gap_posterior(scores[:, :, ::-1], scale=19)
    np.testing.assert_allclose(one.prob_better + other.prob_better, 1, atol=1e-12)
    np.testing.assert_array_equal(one.mean_points, -other.mean_points)
    np.testing.assert_allclose(one.predictive().prob_keeps_sign, other.predictive().prob_keeps_sign)


def test_units_do_not_matter_when_the_prior_has_them_too() -> None:
    gaps = np.array([[4.0, -1.0, 3.0]])
    points = signed_gap_posterior(gaps, scale=20, b0=0.04)
    shares = signed_gap_posterior(gaps / 20, scale=1, b0=0.04)
    np.testing.assert_allclose(points.prob_better, shares.prob_better)
    np.testing.assert_allclose(points.mean_points / 20, shares.mean_points)


def test_the_log_stops_where_the_debate_did() -> None:
    scores = np.array([[[10.0, 7.0], [10.0, 7.0], [1.0, 20.0]]])
    votes = np.full((1, 3, 1), None, dtype=object)
    log = Trajectories.from_arrays(votes, scores=scores, sides=("a", "b"), depth=[2])
    post = signed_gap_posterior(log, scale=19)
    assert post.trials.tolist() == [[1, 2, 2]]
    assert post.mean[0, 1] == post.mean[0, 2] > 0


def test_the_sign_of_a_gap_is_kept_as_often_as_the_law_says() -> None:
    ahead = signed_gap_posterior([[5.0, 6.0]], scale=20).predictive()
    up, down = ahead.prob_same_sign([[5.0, 6.0]]), ahead.prob_same_sign([[-5.0, -6.0]])
    np.testing.assert_allclose(up + down, 1.0)
    np.testing.assert_array_equal(up, ahead.prob_positive)
    with pytest.raises(ValueError, match=r"gaps must be finite and not 0; got gaps=0.0 at \(0, 1\)"):
        ahead.prob_same_sign([[5.0, 0.0]])


def test_a_table_holds_a_row_per_debate_and_round() -> None:
    post = signed_gap_posterior([[5.0, np.nan], [1.0, -1.0]], scale=20)
    table = post.to_frame(0.9)
    assert table["trials"].tolist() == [1, 1, 1, 2]
    np.testing.assert_array_equal(table["high"], post.interval(0.9)[1].ravel())
    assert table[["level", "kind"]].drop_duplicates().to_numpy().tolist() == [[0.9, "equal-tailed"]]


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"k0": 0}, "k0 must be > 0, a proper prior"),
        ({"a0": -0.5}, "a0 must be > 0, a proper prior"),
        ({"b0": 0}, "b0 must be > 0, a proper prior"),
        ({"b0": np.inf}, "b0 must be finite"),
        ({"m0": np.nan}, "m0 must be finite"),
        ({"scale": 0}, "scale must be > 0, the range of the rubric in points"),
        ({"scale": 3}, "scale must be at least the largest gap, 4 points; got scale=3"),
        ({"scores": np.ones((1, 2, 3))}, "scores must be of two sides; got scores of 3"),
        ({"scores": [[np.inf]]}, "scores must be finite, or NaN where missing"),
    ],
)
def test_bad_input_is_refused_in_words(given_: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        signed_gap_posterior(**{"scores": [[4.0, 2.0]], "scale": 20, **given_})


def test_a_log_without_scores_is_refused() -> None:
    with pytest.raises(ValueError, match="got a log without scores"):
        signed_gap_posterior(Trajectories.from_arrays([[["A", "B"]]]), scale=20)


def test_ten_thousand_debates_are_updated_at_once() -> None:
    gaps = np.random.default_rng(6).uniform(-10, 10, (10_000, 10))
    many = signed_gap_posterior(gaps, scale=20)
    alone = signed_gap_posterior(gaps[[4321]], scale=20)
    np.testing.assert_array_equal(many.prob_better[4321], alone.prob_better[0])
