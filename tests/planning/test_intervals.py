"""The intervals of ratios over resampled questions: coverage, and two implementations of BCa."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from d3stats.inference import paired_difference
from d3stats.planning import replay
from d3stats.planning.costs import BootstrapSettings, RatioColumns, change_limits, log_ratio, ratio
from d3stats.resampling import cluster_t, ratios
from d3stats.trajectories import Trajectories


def one_ratio(above: np.ndarray, below: np.ndarray) -> RatioColumns:
    columns = RatioColumns()
    columns.measure("rule", "ratio", columns.add("above", above), columns.add("below", below))
    return columns


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [2, 3, 8, 40])
def test_a_mean_over_questions_of_one_size_has_the_t_interval_of_their_means(n: int, level: float) -> None:
    """Degrees of freedom and error are those of n - 1, exactly; scipy's and the cluster t are second opinions."""
    rng = np.random.default_rng(n)
    means = rng.normal(2.0, 0.3, n)
    above = np.concatenate([means - 0.7, means, means + 0.7])
    cluster = np.tile(np.arange(n), 3)
    found = ratio(above, np.ones(3 * n), cluster, level, symmetric=True)
    theirs = stats.ttest_1samp(means, 0.0)
    se = means.std(ddof=1) / np.sqrt(n)
    assert (found.value, found.se) == pytest.approx((means.mean(), se), rel=1e-12)
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval(level)), rel=1e-10)
    same = cluster_t(np.column_stack([3 * means, np.full(n, 3.0)]), ratios((0, 1)), level=level)
    longer = ratio(above, np.ones(3 * n), cluster, level)
    assert (longer.low, longer.high) == pytest.approx(same.interval(), rel=1e-8)
    assert longer.low <= found.low + 1e-9
    assert longer.high >= found.high - 1e-9
    saved = log_ratio(above, np.ones(3 * n), cluster, level)
    ends = [(end - means.mean()) / means.mean() for end in (longer.high, longer.low)]
    assert saved.value == pytest.approx(1 - means.mean(), rel=1e-12)
    assert (saved.low, saved.high) == pytest.approx(
        tuple(1 - means.mean() * np.exp(end) for end in ends), rel=1e-10
    )


def test_the_error_of_a_ratio_is_that_of_its_residuals() -> None:
    """Unequal denominators: residuals about the ratio without each cluster (CR3), and Kish's clusters less one."""
    rng = np.random.default_rng(5)
    below, above = rng.integers(1, 6, 12).astype(float), rng.uniform(0, 3, 12)
    value = above.sum() / below.sum()
    share = below / below.sum()
    residual = (above - value * below) / below.sum() / (1 - share)
    se = np.sqrt(11 / 12 * (residual**2).sum())
    df = 1 / (share**2).sum() - 1
    found = ratio(above, below, np.arange(12), 0.95)
    assert (found.value, found.se) == pytest.approx((value, se), rel=1e-12)
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, df) * se, rel=1e-10)


@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_limits_agree_with_scipys_bootstrap(interval: str) -> None:
    rng = np.random.default_rng(2)
    # Heavy-tailed on purpose: without the acceleration the upper limit would be .15 lower.
    above, below = rng.lognormal(0.0, 1.5, 40), rng.integers(1, 4, 40).astype(float)
    settings = BootstrapSettings(0.9, interval, 20_000)
    mine = one_ratio(above, below).limits(np.arange(40), settings, np.random.default_rng(1))
    theirs = stats.bootstrap(
        (above, below),
        lambda a, b, axis=-1: a.sum(axis=axis) / b.sum(axis=axis),
        paired=True,
        vectorized=True,
        confidence_level=0.9,
        n_resamples=20_000,
        method="BCa" if interval == "bca" else "percentile",
        rng=np.random.default_rng(3),
    ).confidence_interval
    assert mine.estimate[0] == pytest.approx(above.sum() / below.sum())
    assert (mine.low[0], mine.high[0]) == pytest.approx(tuple(theirs), rel=0.02)


def test_an_undefined_ratio_is_not_given_limits() -> None:
    columns = one_ratio(np.zeros(5), np.zeros(5))
    limits = columns.limits(np.arange(5), BootstrapSettings(0.95, "bca", 50), np.random.default_rng(1))
    assert np.isnan([limits.estimate[0], limits.low[0], limits.high[0]]).all()
    assert limits.sizes[0] == 0


def test_a_replicate_without_a_scored_debate_is_left_out() -> None:
    below = np.array([1.0, 0.0, 0.0, 0.0])
    limits = one_ratio(below, below).limits(
        np.arange(4), BootstrapSettings(0.95, "percentile", 200), np.random.default_rng(1)
    )
    assert limits.estimate[0] == 1.0
    assert np.isnan([limits.low[0], limits.high[0]]).all(), "all replicates with a scored debate are alike"


def coverage(interval: str, reps: int, n_questions: int) -> float:
    """Share of worlds whose accuracy at round 1 lies in its interval; four debates a question, correlated."""
    rng = np.random.default_rng(12)
    covered = 0
    for _ in range(reps):
        p = rng.beta(1.4, 0.6, n_questions).repeat(4)
        votes = (rng.random((len(p), 1, 1)) < p[:, None, None]).astype(int)
        t = Trajectories.from_arrays(
            votes, [1] * len(p), answers=["wrong", "right"], cluster=np.arange(n_questions).repeat(4)
        )
        row = replay(t, "fixed:1", interval=interval, n_boot=400, rng=rng).to_frame().iloc[0]
        covered += row["accuracy_low"] <= 0.7 <= row["accuracy_high"]
    return covered / reps


@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_intervals_cover_when_debates_of_one_question_hang_together(interval: str) -> None:
    assert coverage(interval, 120, 100) == pytest.approx(0.95, abs=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_intervals_cover_at_the_level_they_state(interval: str) -> None:
    assert 0.935 <= coverage(interval, 2000, 150) <= 0.965


def test_percentile_limits_say_that_they_are_too_short_while_they_are() -> None:
    """Without a note 95 % limits of a mean lack at most 1.5 points of coverage by the t law."""
    from scipy.stats import norm, t

    from d3stats.resampling import FEW_FOR_PERCENTILES

    def covered(n: int) -> float:
        return float(2 * t.cdf(norm.ppf(0.975) * np.sqrt((n - 1) / n), n - 1) - 1)

    assert covered(FEW_FOR_PERCENTILES) >= 0.935 > covered(FEW_FOR_PERCENTILES // 2)
    for questions in (FEW_FOR_PERCENTILES - 1, FEW_FOR_PERCENTILES):
        votes = np.random.default_rng(1).integers(0, 2, (questions, 2, 5))
        notes = replay(
            Trajectories.from_arrays(votes, label=np.ones(questions, dtype=int)),
            ["fixed:1"],
            n_boot=50,
            rng=1,
        ).notes
        assert any("too short" in note for note in notes) == (questions < FEW_FOR_PERCENTILES)


@pytest.mark.parametrize(("debates", "lost"), [(10, 0.1), (60, 0.02), (60, 0.2)])
def test_a_change_of_right_and_wrong_is_held_where_few_debates_changed(debates: int, lost: float) -> None:
    """400 logs; limits of resampled questions held .81 of the changes of 10 debates."""
    rng, held = np.random.default_rng(debates), []
    for _ in range(400):
        u = rng.random(debates)
        change = np.where(u < lost, -1.0, np.where(u > 0.98, 1.0, 0.0))
        low, high = change_limits(change, np.arange(debates), 0.95)
        if not np.isnan(low):
            held.append(low <= 0.02 - lost <= high)
    assert np.mean(held) >= 0.93 - 0.025


def test_a_change_in_a_replay_has_the_paired_t_limits() -> None:
    rng = np.random.default_rng(6)
    one, other = rng.integers(0, 2, (2, 60)).astype(float)
    cluster = rng.integers(0, 15, 60)
    columns = RatioColumns()
    of = columns.add("counts", np.ones(60))
    columns.measure("a", "accuracy", columns.add("change", other - one), of, change=True)
    found = columns.limits(cluster, BootstrapSettings(0.9, "percentile", 10), np.random.default_rng(1))
    expected = paired_difference(one, other, cluster, level=0.9, rng=1).difference
    assert (found.estimate[0], found.low[0], found.high[0]) == pytest.approx(
        (expected.value, expected.low, expected.high)
    )
