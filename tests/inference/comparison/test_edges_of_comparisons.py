"""Comparisons at the edges: an effect beyond certainty, a plan with its correlation, and runs that never differ."""

from __future__ import annotations

import numpy as np
import pytest

from d3stats.estimate import Estimate
from d3stats.inference import paired_difference
from d3stats.inference.comparison.power import Design, power, sample_size
from d3stats.inference.comparison.strata import Labels, by_stratum


def test_an_effect_beyond_certainty_is_an_answer_that_is_always_right() -> None:
    rated = Design(accuracy=0.95, correlation=0.3)
    assert rated.discordance_at(0.2) == 0.2
    assert rated.discordance_at(0.05) == pytest.approx(0.05)


def test_a_plan_shows_the_correlation_of_a_question_where_it_has_several_items() -> None:
    assert "icc 0.2" in power(0.1, 50, sd=1.0, cluster_size=4, icc=0.2).summary()
    assert "icc" not in sample_size(0.1, sd=1.0).summary()


def test_a_relative_gain_without_limits_says_why() -> None:
    alike = paired_difference([1, 0, 1, 1], [1, 0, 1, 1]).relative()
    assert (alike.low, alike.high, alike.kind) == (None, None, "none")
    assert alike.note


def test_a_stratum_is_compared_with_no_difference_unless_told_otherwise() -> None:
    rng = np.random.default_rng(1)
    labels, cluster = Labels.of(["a", "b"] * 40), np.arange(80)
    first = rng.integers(0, 2, 80)
    second = np.where(rng.random(80) < 0.3, 1, first)

    def measure(rows: np.ndarray) -> list[Estimate]:
        return [paired_difference(first[rows], second[rows], cluster[rows]).difference]

    (plain,), (zero,) = (by_stratum(labels, cluster, measure, **how) for how in ({}, {"null": 0.0}))
    assert plain.to_frame().equals(zero.to_frame())
