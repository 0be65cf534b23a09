"""The intervals of ratios of sums over questions: coverage, second implementations, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from layers import examples, sampled
from scipy import stats

from d3stats.inference import paired_difference
from d3stats.planning import replay
from d3stats.planning.costs import RatioColumns, change_limits, log_ratio, ratio
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


def test_an_undefined_ratio_is_not_given_limits() -> None:
    columns = one_ratio(np.zeros(5), np.zeros(5))
    limits = columns.limits(np.arange(5), 0.95)
    assert np.isnan([limits.estimate[0], limits.low[0], limits.high[0]]).all()
    assert limits.sizes[0] == 0


def test_a_single_scored_debate_has_no_limits() -> None:
    below = np.array([1.0, 0.0, 0.0, 0.0])
    limits = one_ratio(below, below).limits(np.arange(4), 0.95)
    assert limits.estimate[0] == 1.0
    assert np.isnan([limits.low[0], limits.high[0]]).all()


def coverage(reps: int, n_questions: int, each: int) -> np.ndarray:
    """Share of worlds whose accuracy and rounds under unanimity lie in their intervals; questions correlate debates."""
    rng = np.random.default_rng(12)
    covered = []

    def world(n: int) -> Trajectories:
        p = rng.beta(1.4, 0.6, n).repeat(each)
        votes = (rng.random((len(p), 3, 3)) < p[:, None, None]).astype(int)
        cluster = np.arange(n).repeat(each)
        return Trajectories.from_arrays(votes, [1] * len(p), answers=["wrong", "right"], cluster=cluster)

    many = replay(world(15_000), "fixed:1").to_frame().set_index("rule")
    truth = {"accuracy": ("fixed:1", 0.7), "rounds": ("unanimity", float(many.loc["unanimity", "rounds"]))}
    truth["accuracy"] = ("fixed:1", float(many.loc["fixed:1", "accuracy"]))
    for _ in range(reps):
        found = replay(world(n_questions), "fixed:1").to_frame().set_index("rule")
        row = [
            (found.loc[rule, f"{what}_low"], at, found.loc[rule, f"{what}_high"])
            for what, (rule, at) in truth.items()
        ]
        covered.append([np.nan if np.isnan(low) else float(low <= at <= high) for low, at, high in row])
    return np.nanmean(covered, axis=0)


@sampled("questions, each, reps", [(10, 1, 40), (10, 1, 150), (20, 1, 150), (30, 4, 150)], (0,))
def test_intervals_cover_with_few_questions(questions: int, each: int, reps: int) -> None:
    """Quantiles of resampled questions held .87 of the mean rounds of 10 debates."""
    assert (coverage(reps, questions, each) >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / reps)).all()


@pytest.mark.slow
@pytest.mark.parametrize(("questions", "each"), [(10, 1), (20, 1), (150, 4)])
def test_intervals_cover_at_the_level_they_state(questions: int, each: int) -> None:
    assert (coverage(2000, questions, each) >= 0.925).all()


def test_limits_stay_in_the_range_of_their_measure() -> None:
    votes = np.zeros((6, 4, 3), dtype=int)
    votes[0, :3, 0] = 1
    found = replay(Trajectories.from_arrays(votes, [0] * 6, answers=["A", "B"])).to_frame()
    known = found[found["rounds_low"].notna()]
    assert len(known)
    assert (known["rounds_low"] >= 1).all()
    assert (known["rounds_high"] <= 4).all()
    assert (found["saved_rounds_vs_full_high"].dropna() <= 1).all()


@sampled("debates, lost", [(10, 0.1), (60, 0.02), (60, 0.2)], (0,))
@examples(200, 400, "logs")
def test_a_change_of_right_and_wrong_is_held_where_few_debates_changed(
    debates: int, lost: float, logs: int
) -> None:
    """Quantiles of resampled questions held .81 of the changes of 10 debates."""
    rng, held = np.random.default_rng(debates), []
    for _ in range(logs):
        u = rng.random(debates)
        change = np.where(u < lost, -1.0, np.where(u > 0.98, 1.0, 0.0))
        low, high = change_limits(change, np.arange(debates), 0.95)
        if not np.isnan(low):
            held.append(low <= 0.02 - lost <= high)
    assert np.mean(held) >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / logs)


def test_a_change_in_a_replay_has_the_paired_t_limits() -> None:
    rng = np.random.default_rng(6)
    one, other = rng.integers(0, 2, (2, 60)).astype(float)
    cluster = rng.integers(0, 15, 60)
    columns = RatioColumns()
    of = columns.add("counts", np.ones(60))
    columns.measure("a", "accuracy", columns.add("change", other - one), of, change=True)
    found = columns.limits(cluster, 0.9)
    expected = paired_difference(one, other, cluster, level=0.9, rng=1).difference
    assert (found.estimate[0], found.low[0], found.high[0]) == pytest.approx(
        (expected.value, expected.low, expected.high)
    )
