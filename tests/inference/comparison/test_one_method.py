"""An interval and the p-value beside it come from one method: at one level they never say two things about 0."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from layers import examples

from d3stats.inference import PairedDifference, compare, equivalence, noninferiority, paired_difference
from d3stats.inference.comparison.mcnemar import METHODS, mcnemar

LEVELS = (0.8, 0.9, 0.95, 0.99)


def small_table(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return two runs on few or many clusters of equal or unequal size, of which few or most change."""
    n_clusters = int(rng.integers(2, 60))
    size = rng.integers(1, [2, 4, 13][rng.integers(3)], n_clusters)
    cluster = np.repeat(np.arange(n_clusters), size)
    touched = (rng.random(n_clusters) < rng.choice([0.05, 0.1, 0.3, 0.8]))[cluster]
    touched &= rng.random(len(cluster)) < rng.choice([0.4, 1.0])
    first = (rng.random(len(cluster)) < rng.random()).astype(float)
    up = rng.random(len(cluster)) < rng.choice([0.0, 0.5, 0.8, 1.0])
    if rng.random() < 0.25:
        first = rng.choice([0.0, 0.25, 1 / 3, 0.5, 0.9], len(cluster))
    second = np.where(touched, np.where(up, 1.0, 0.0), first)
    return first, second, cluster


def agrees(p: float | None, low: float | None, high: float | None, level: float) -> bool:
    """Say whether a p-value is at most 1 - level exactly where the interval leaves out 0."""
    if low is None or high is None or p is None:
        return True
    return (p <= 1 - level) == (not low <= 0 <= high)


@examples(80, 2000)
def test_the_p_value_is_small_exactly_where_the_interval_leaves_out_zero(n_examples: int) -> None:
    rng = np.random.default_rng(1)
    given = rejected = 0
    for _ in range(n_examples):
        first, second, cluster = small_table(rng)
        level = float(rng.choice(LEVELS))
        found = paired_difference(first, second, cluster, level=level, n_boot=2, rng=1)
        e = found.difference
        assert agrees(found.p_value, e.low, e.high, level), (found, first, second, cluster)
        if e.low is not None and e.high is not None:
            assert e.high - e.low > 1e-9
            given, rejected = given + 1, rejected + e.excludes(0.0)
    assert given > 0.75 * n_examples
    assert 0.1 < rejected / given < 0.9


@examples(100, 700)
def test_a_margin_is_never_met_where_the_interval_of_the_same_level_reaches_it(n_examples: int) -> None:
    rng = np.random.default_rng(2)
    claimed = refused = 0
    for _ in range(n_examples):
        first, second, cluster = small_table(rng)
        alpha, margin = float(rng.choice([0.025, 0.05, 0.1])), float(rng.choice([0.02, 0.05, 0.1, 0.3]))
        pair = paired_difference(first, second, cluster, level=1 - 2 * alpha, n_boot=2, rng=1)
        for found in (
            noninferiority(pair, margin, alpha=alpha),
            noninferiority(pair, margin, alpha=alpha, better="lower"),
            equivalence(pair, margin, alpha=alpha),
        ):
            e, printed = found.difference, pair.difference
            if found.holds is None or e.low is None or printed.low is None:
                continue
            assert found.p_value is not None
            assert found.holds is (found.p_value < alpha)
            low_side = found.question == "equivalent" or found.better == "higher"
            high_side = found.question == "equivalent" or found.better == "lower"
            for at, side in ((printed.low > -margin, low_side), (printed.high < margin, high_side)):
                assert at or not side or not found.holds, (found, pair)
            claimed, refused = claimed + found.holds, refused + (not found.holds)
    assert claimed > n_examples / 7
    assert refused > n_examples / 7


@examples(20, 60)
def test_a_comparison_of_tables_uses_the_same_pair_of_interval_and_test(n_examples: int) -> None:
    rng = np.random.default_rng(3)
    for _ in range(n_examples):
        first, second, cluster = small_table(rng)
        base = pd.DataFrame({"item": np.arange(len(first)), "cluster": cluster})
        found = compare(base.assign(score=first), base.assign(score=second), n_boot=2, rng=1)
        e = found.difference
        assert found.only.test == "cluster t" or e.low is None
        assert agrees(found.p_value, e.low, e.high, e.level)
        assert e.p_value == found.p_value


@pytest.mark.parametrize("method", METHODS)
@examples(20, 40, "most")
def test_the_interval_of_mcnemars_share_leaves_out_a_half_exactly_where_its_own_test_rejects(
    method: str, most: int
) -> None:
    for b in range(most):
        for c in range(most):
            if b + c:
                found = mcnemar(b, c, method=method)  # type: ignore[arg-type]  # from METHODS
                share = found.share
                assert share.excludes(0.5) == (found.p_value <= 0.05), (b, c, share)
                assert share.low is not None
                assert share.high is not None
                assert 0 <= share.low <= share.value <= share.high <= 1
                assert share.high - share.low > 1e-6


def test_the_limits_of_81_of_263_are_those_that_newcombe_printed() -> None:
    """Newcombe (1998), Statistics in Medicine 17, 857, table I: methods 3, 4, 5 and 6."""
    printed = {
        "asymptotic": (0.2553, 0.3662),
        "corrected": (0.2535, 0.3682),
        "exact": (0.2527, 0.3676),
        "mid-p": (0.2544, 0.3658),
    }
    for method, limits in printed.items():
        share = mcnemar(263 - 81, 81, method=method).share  # type: ignore[arg-type]  # from METHODS
        assert (share.low, share.high) == pytest.approx(limits, abs=5.1e-5), method


def five_of_a_hundred() -> PairedDifference:
    first = np.repeat([1.0, 0.0], [80, 20])
    second = first.copy()
    second[80:85] = 1
    return paired_difference(first, second, n_boot=200, rng=1)


def test_five_gained_and_none_lost_of_a_hundred_hold_zero_and_have_p_above_a_twentieth() -> None:
    found = five_of_a_hundred()
    assert (found.difference.low, found.difference.high) == pytest.approx((-0.0063, 0.1063), abs=5e-5)
    assert found.p_value == pytest.approx(0.0713, abs=5e-5)


def test_a_test_that_is_another_method_and_falls_on_the_other_side_is_named() -> None:
    found = five_of_a_hundred()
    assert any("holds 0, and McNemar mid-p p = 0.031 says otherwise" in note for note in found.notes)
    asked = paired_difference(
        found.data.first, found.data.second, kind="Tango", test="sign flip", n_boot=200, rng=1
    )
    assert any("leaves out 0" in note and "sign flip p = 0.062" in note for note in asked.notes)


def test_changes_that_are_rounding_are_none() -> None:
    first = np.tile([0.1, 0.2, 0.3], 20)
    second = np.tile([0.3, 0.1, 0.2], 20)
    second[:3] = [0.5, 0.2, 0.3]
    second[3:6] = [0.0, 0.2, 0.3]
    found = paired_difference(first, second, np.repeat(np.arange(20), 3), n_boot=2, rng=1)
    assert found.data.changed == 2
    assert found.data.df == 2
