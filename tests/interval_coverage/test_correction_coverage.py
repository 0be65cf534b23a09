"""Do corrected shares and prediction-powered means cover in 95 of 100 studies, where the judge alone misses?

A judge with known sensitivity and specificity (or with noise) is simulated with its labels; independent items, and
items of a question that hang together (Beta-distributed chances per question). "Up to Monte Carlo error" means two
standard errors of a coverage of .95 at the number of replicates.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from layers import sampled

from d3stats.inference.judges.correction import correct_counts, correct_rate
from d3stats.inference.judges.prediction_powered import prediction_powered_difference, prediction_powered_mean

FULL, QUICK = 2000, 60


def band(replicates: int) -> float:
    return 2 * float(np.sqrt(0.95 * 0.05 / replicates))


def inside(found: float, replicates: int, low: float = 0.94, high: float = 0.96) -> bool:
    return low - band(replicates) <= found <= high + band(replicates)


def beta(mean: float, icc: float, size: int, rng: np.random.Generator) -> np.ndarray:
    return rng.beta(mean * (1 / icc - 1), (1 - mean) * (1 / icc - 1), size) if icc else np.full(size, mean)


def judged(
    theta: float, se: float, sp: float, icc: float, groups: int, each: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Labels and verdicts, shape (groups, each); every chance varies over groups with the given correlation."""
    p, s, q = (beta(mean, icc, groups, rng)[:, None] for mean in (theta, se, sp))
    label = rng.random((groups, each)) < p
    return label.astype(float), np.where(
        label, rng.random(label.shape) < s, rng.random(label.shape) >= q
    ).astype(float)


def share_coverage(
    theta: float, se: float, sp: float, n: int, m1: int, m0: int, replicates: int
) -> dict[str, float]:
    rng, hit = np.random.default_rng([1, n, m1]), Counter[str]()
    for _ in range(replicates):
        counts = (rng.binomial(n, theta * se + (1 - theta) * (1 - sp)), n,
                  rng.binomial(m1, se), m1, rng.binomial(m0, sp), m0)  # fmt: skip
        for kind in ("Lang-Reiczigel", "MOVER"):
            found = correct_counts(*counts, kind=kind)  # type: ignore[arg-type]
            hit[kind] += not found.rate.excludes(theta)
        hit["naive"] += not found.naive.excludes(theta)
    return {name: count / replicates for name, count in hit.items()}


@pytest.mark.parametrize(
    "replicates", [pytest.param(QUICK), pytest.param(FULL, marks=pytest.mark.slow)], ids=["quick", "full"]
)
def test_corrected_shares_cover_and_the_judge_alone_does_not(replicates: int) -> None:
    middle = share_coverage(0.3, 0.85, 0.92, 400, 100, 100, replicates)
    print(middle)
    assert all(inside(middle[kind], replicates, high=0.97) for kind in ("Lang-Reiczigel", "MOVER"))
    far = share_coverage(0.3, 0.75, 0.8, 600, 80, 80, replicates)
    print(far)
    assert inside(far["Lang-Reiczigel"], replicates, high=0.965)
    assert inside(far["MOVER"], replicates, high=0.97)
    assert far["naive"] < 0.5


@pytest.mark.parametrize(
    "replicates", [pytest.param(QUICK), pytest.param(FULL, marks=pytest.mark.slow)], ids=["quick", "full"]
)
def test_near_no_positives_lang_reiczigel_still_covers_and_the_judge_alone_never_does(
    replicates: int,
) -> None:
    found = share_coverage(0.02, 0.85, 0.95, 400, 100, 100, replicates)
    print(found)
    assert inside(found["Lang-Reiczigel"], replicates, high=0.98)
    assert inside(found["MOVER"], replicates, high=0.98)
    assert found["naive"] < 0.05


def clustered_share_coverage(icc: float, replicates: int) -> dict[str, float]:
    rng, hit = np.random.default_rng([2, round(100 * icc)]), Counter[str]()
    names = np.repeat(np.arange(160), 5).reshape(160, 5)
    for _ in range(replicates):
        label, verdict = judged(0.4, 0.85, 0.9, icc, 160, 5, rng)
        study, seen, known = verdict[:80].ravel(), verdict[80:].ravel(), label[80:].ravel()
        found = correct_rate(
            study, seen, known, cluster=names[:80].ravel(), calibration_cluster=names[80:].ravel()
        )
        hit["MOVER"] += not found.rate.excludes(0.4)
        hit["as if independent"] += not correct_rate(study, seen, known).rate.excludes(0.4)
    return {name: count / replicates for name, count in hit.items()}


@sampled("icc, replicates", [(0.3, QUICK // 2), *((icc, FULL) for icc in (0.0, 0.1, 0.3))], (0,))
def test_clustered_corrections_cover_and_independent_ones_fail_when_items_hang_together(
    icc: float, replicates: int
) -> None:
    found = clustered_share_coverage(icc, replicates)
    print(icc, found)
    assert inside(found["MOVER"], replicates, high=0.98)
    if icc == 0.3:
        assert found["as if independent"] < 0.92


def powered_coverage(
    icc: float, accuracy: float, replicates: int, *, difference: bool = False
) -> dict[str, float]:
    """80 labelled clusters of 320 (of 5 items; independent: 200 items of 2,000), judged by a judge that is biased."""
    rng, hit = np.random.default_rng([3, round(100 * icc), round(100 * accuracy)]), Counter[str]()
    groups, each, shown = (320, 5, 80) if icc else (2000, 1, 200)
    cluster = np.repeat(np.arange(groups), each) if icc else None
    for _ in range(replicates):
        label, verdict = judged(0.7, accuracy, accuracy - 0.1, icc, groups, each, rng)
        known = label.copy()
        known[shown:] = np.nan
        truth = 0.7
        if difference:
            # The second system is right on 0.8: a common part and one of its own.
            own = np.where(rng.random(label.shape) < 1 / 3, 1.0, label)
            seen = np.where(rng.random(label.shape) < accuracy, own, 1 - own)
            other = own.copy()
            other[shown:] = np.nan
            arguments = (verdict.ravel(), known.ravel(), seen.ravel(), other.ravel())
            found = prediction_powered_difference(*arguments, cluster=cluster)
            untuned = prediction_powered_difference(*arguments, cluster=cluster, tuning=1)
            truth = 0.1
        else:
            found = prediction_powered_mean(verdict.ravel(), known.ravel(), cluster=cluster)
            untuned = prediction_powered_mean(verdict.ravel(), known.ravel(), cluster=cluster, tuning=1)
        for name, estimate in (("tuned", found.mean), ("untuned", untuned.mean), ("labels only", found.labels_only),
                               ("naive", found.naive)):  # fmt: skip
            hit[name] += not estimate.excludes(truth)
        hit["width"] += found.width_ratio or np.nan  # type: ignore[assignment]
        hit["untuned width"] += untuned.width_ratio or np.nan  # type: ignore[assignment]
    return {name: count / replicates for name, count in hit.items()}


@sampled("icc, replicates", [(0.3, QUICK // 2), *((icc, FULL) for icc in (0.0, 0.1, 0.3))], (0,))
def test_prediction_powered_means_cover_and_the_judge_alone_does_not(icc: float, replicates: int) -> None:
    found = powered_coverage(icc, 0.85, replicates)
    print(icc, found)
    for name in ("tuned", "untuned", "labels only"):
        assert inside(found[name], replicates), name
    assert found["naive"] < 0.7
    assert found["width"] < 0.92
    assert found["width"] < found["untuned width"]


@pytest.mark.parametrize(
    "replicates",
    [pytest.param(QUICK // 2), pytest.param(FULL, marks=pytest.mark.slow)],
    ids=["quick", "full"],
)
def test_with_a_poor_judge_tuning_keeps_what_the_untuned_mean_loses(replicates: int) -> None:
    found = powered_coverage(0.0, 0.6, replicates)
    print(found)
    assert inside(found["tuned"], replicates)
    assert found["width"] <= 1.005
    assert found["untuned width"] > 1.2


@pytest.mark.parametrize(
    "replicates",
    [pytest.param(QUICK // 2), pytest.param(FULL, marks=pytest.mark.slow)],
    ids=["quick", "full"],
)
def test_prediction_powered_differences_cover(replicates: int) -> None:
    for icc in (0.0, 0.3):
        found = powered_coverage(icc, 0.85, replicates, difference=True)
        print(icc, found)
        assert inside(found["tuned"], replicates)
        assert found["width"] < found["untuned width"]


@sampled("ability", [0.6, 0.7], (0,))
def test_limits_hold_where_a_judge_hardly_separates_the_labels(ability: float) -> None:
    """With Fieller's limits and a test that the judge separates them, .65 of the intervals held the rate at .6."""
    rng, held = np.random.default_rng([5, round(10 * ability)]), []
    names = np.repeat(np.arange(80), 5).reshape(80, 5)
    for _ in range(100):
        label, verdict = judged(0.5, ability, ability, 0.3, 80, 5, rng)
        parts = verdict[:40].ravel(), verdict[40:].ravel(), label[40:].ravel()
        cluster = {"cluster": names[:40].ravel(), "calibration_cluster": names[40:].ravel()}
        try:
            rate = correct_rate(*parts, **cluster).rate
        except ValueError:
            continue
        if rate.low is not None:
            held.append(not rate.excludes(0.5))
    assert len(held) > 66
    assert np.mean(held) > 0.92
