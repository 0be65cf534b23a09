"""A gain relative to the first run: its value, its limits, and their coverage."""

from __future__ import annotations

import numpy as np
import pytest
from layers import examples

from d3stats.inference import paired_difference


def covers(
    questions: int, items: int, right: float, gained: float, lost: float, draws: int, seed: int
) -> float:
    """Return how often 95 % limits hold the true relative gain."""
    rng = np.random.default_rng(seed)
    truth, hits, made = (gained - lost) / right, 0, 0
    cluster = np.repeat(np.arange(questions), items)
    for _ in range(draws):
        chance = rng.beta(4 * right, 4 * (1 - right), size=questions)[:, None]
        first = (rng.random((questions, items)) < chance).astype(float)
        u = rng.random((questions, items))
        second = np.where(first == 1, u > lost / right, u < gained / (1 - right)).astype(float)
        found = paired_difference(first.ravel(), second.ravel(), cluster, n_boot=2).relative()
        if found.low is not None and found.high is not None:
            made += 1
            hits += found.low <= truth <= found.high
    return hits / made


@examples(70, 300)
def test_limits_hold_the_true_relative_gain(n_examples: int) -> None:
    assert covers(60, 2, 0.7, 0.15, 0.05, n_examples, 1) > 0.92


@pytest.mark.slow
@pytest.mark.parametrize(
    "cell", [(80, 1, 0.8, 0.12, 0.04), (40, 3, 0.7, 0.15, 0.05), (200, 1, 0.6, 0.2, 0.1)]
)
def test_limits_hold_the_true_relative_gain_in_every_cell(cell: tuple[int, int, float, float, float]) -> None:
    assert 0.935 < covers(*cell, draws=2000, seed=2) < 0.98


def test_the_value_is_the_difference_over_the_first_mean_and_the_scale_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.normal(10, 2, 50), rng.normal(11, 2, 50)
    found = paired_difference(first, second)
    relative = found.relative()
    assert relative.value == pytest.approx(found.difference.value / first.mean())
    scaled = paired_difference(7 * first, 7 * second).relative()
    assert scaled.low == pytest.approx(relative.low)
    assert scaled.high == pytest.approx(relative.high)


def test_no_limits_without_a_change_and_no_gain_over_nothing() -> None:
    alike = paired_difference([1, 0, 1, 1], [1, 0, 1, 1]).relative()
    assert alike.value == 0
    assert alike.low is None
    with pytest.raises(ValueError, match="the mean of A must be above 0; got 0"):
        paired_difference([0, 0, 0], [1, 0, 1]).relative()


def test_a_difference_without_limits_gives_its_reason_to_the_relative_one() -> None:
    """Every item gains the same, so nothing tells how far a gain may be off, though the first run's mean varies."""
    found = paired_difference([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0])
    relative = found.relative()
    assert (relative.value, relative.low, relative.high, relative.kind) == (0.4, None, None, "none")
    assert "every cluster changed by the same +1" in relative.note
