"""The limit of a large panel: exact bounds, laws that no votes can tell apart, and coverage under many laws."""

from __future__ import annotations

import numpy as np
import pytest
from layers import sampled
from scipy.stats import binom, f

from d3stats.inference.judges.large_panel import GRID, MixingLaws, large_panel
from d3stats.models.beliefs.condorcet import majority_is_right

Array = np.ndarray

LAWS: dict[str, tuple[tuple[float, float, float], ...]] = {
    "one kind": ((1.0, 0.7, 0.0),),
    "two kinds": ((0.7, 0.85, 0.05), (0.3, 0.3, 0.05)),
    "three kinds": ((0.45, 0.9, 0.0), (0.35, 0.55, 0.0), (0.2, 0.2, 0.0)),
    "a Beta law": ((1.0, 0.7, 1 / 6),),
    "hardly above one half": ((0.5, 0.52, 0.0), (0.5, 0.8, 0.0)),
}


def chances(law: str, size: int, rng: np.random.Generator) -> Array:
    weight, mean, rho = map(np.array, zip(*LAWS[law], strict=True))
    kind = rng.choice(len(weight), size, p=weight)
    precision = 1 / np.maximum(rho[kind], 1e-9) - 1
    spread = rng.beta(mean[kind] * precision, (1 - mean[kind]) * precision)
    return np.where(rho[kind] > 0, spread, mean[kind])


def panel(right: Array, votes: Array | int, cluster: Array | None = None) -> tuple[object, object]:
    n = np.broadcast_to(votes, right.shape).astype(np.int64)
    at = np.arange(len(right)) if cluster is None else cluster
    notes: list[str] = []
    found = large_panel(right.astype(np.int64), n, at, 0.95, "", notes)
    assert found[0] is not None
    assert found[1] is not None
    return found


def truth(law: str, jurors: int) -> tuple[float, float]:
    p = chances(law, 1_000_000, np.random.default_rng(99))
    larger, now = (
        (binom.pmf(np.arange(n + 1)[:, None], n, GRID[None]).T @ majority_is_right(n))
        for n in (jurors + 2, jurors)
    )
    return float((p > 0.5).mean()), float(np.interp(p, GRID, (larger - now) / 2).mean())


def test_the_bounds_hold_every_law_with_the_same_moments() -> None:
    # Laws on the grid with the same chances of 0..3 right votes differ in their limits; each lies within the bounds.
    rng = np.random.default_rng(1)
    n = 3
    counts = binom.pmf(np.arange(n + 1)[:, None], n, GRID[None])
    law = rng.dirichlet(np.full(len(GRID), 0.05))
    made = MixingLaws.of(np.arange(n + 1), np.full(n + 1, n), 5000 * (counts @ law))
    above = (GRID > 0.5).astype(float)
    low, high = made.ends(above, above, 0.02)
    _, _, null = np.linalg.svd(counts)
    for _ in range(200):
        way = rng.normal(size=len(null) - n - 1) @ null[n + 1 :]
        most = np.min(np.where(way < 0, -law / np.minimum(way, -1e-300), np.inf))
        other = law + most * way
        assert np.allclose(counts @ other, counts @ law)
        assert low - 1e-3 <= other[GRID > 0.5].sum() <= high + 1e-3
    assert low < high


def test_the_best_law_is_the_one_whose_slope_is_nowhere_above_the_number_of_items() -> None:
    # Lindsay's condition for the maximum over all laws.
    rng = np.random.default_rng(2)
    right, votes = np.unique(rng.binomial(7, chances("three kinds", 300, rng)), return_counts=True)
    made = MixingLaws.of(right, np.full(len(right), 7), votes.astype(float))
    slope = made.chances.T @ (made.weights / made.fitted)
    assert slope.max() <= 300 + 0.1
    assert slope @ made.law == pytest.approx(300)


def test_three_kinds_that_two_beta_binomials_miss_lie_within_the_limits() -> None:
    rng = np.random.default_rng(3)
    limit, _ = truth("three kinds", 7)
    assert limit == pytest.approx(0.8, abs=0.002)
    found, _ = panel(rng.binomial(7, chances("three kinds", 400, rng)), 7)
    assert not found.excludes(limit)  # type: ignore[attr-defined]
    assert found.high - found.low < 0.75  # type: ignore[attr-defined]


def test_more_votes_narrow_the_limits_and_few_votes_give_none() -> None:
    rng = np.random.default_rng(4)
    p = chances("two kinds", 2000, rng)
    widths = []
    for jurors in (3, 9):
        found, _ = panel(rng.binomial(jurors, p), jurors)
        widths.append(found.high - found.low)  # type: ignore[attr-defined]
    assert widths[0] > widths[1] + 0.1
    notes: list[str] = []
    assert large_panel(np.array([1, 2]), np.array([2, 2]), np.arange(2), 0.95, "", notes) == (None, None)
    assert "at least 3 votes" in notes[0]


def test_repeated_items_of_a_cluster_add_nothing() -> None:
    rng = np.random.default_rng(5)
    right = rng.binomial(5, chances("two kinds", 150, rng))
    once, _ = panel(right, 5)
    four, _ = panel(np.repeat(right, 4), 5, np.repeat(np.arange(150), 4))
    assert four.value == pytest.approx(once.value, abs=0.02)  # type: ignore[attr-defined]
    ends = lambda e: (e.low, e.high)  # noqa: E731
    assert ends(four) == pytest.approx(ends(once), abs=0.02)


@sampled("jurors", [3, 5, 7], (1,))
def test_a_law_of_one_chance_belongs_to_the_limits_up_to_two_degrees_of_freedom(jurors: int) -> None:
    # At the boundary of the laws the distance from the best one is a mixture of chi-squares, not one with one degree.
    larger, now = (
        (binom.pmf(np.arange(n + 1)[:, None], n, GRID[None]).T @ majority_is_right(n))
        for n in (jurors + 2, jurors)
    )
    gain, rng, beyond = (larger - now) / 2, np.random.default_rng(jurors), 0
    for _ in range(3):
        right = rng.binomial(jurors, 0.7, 100)
        _, more = panel(right, jurors)
        cells, weights = np.unique(right, return_counts=True)
        best = MixingLaws.of(cells, np.full(len(cells), jurors), weights.astype(float))
        away = weights @ np.log(best.fitted) - weights @ binom.logpmf(cells[:, None], jurors, GRID)
        held = away <= f.ppf(0.95, 2, 99)
        assert more.low <= gain[held].min()  # type: ignore[attr-defined]
        assert more.high >= gain[held].max()  # type: ignore[attr-defined]
        beyond += held.sum() > (away <= f.ppf(0.95, 1, 99) / 2).sum()
    assert beyond


@pytest.mark.slow
@pytest.mark.parametrize("jurors", [3, 5, 7])
@pytest.mark.parametrize("items", [30, 100])
def test_the_gain_of_two_jurors_is_held_where_all_items_are_of_one_kind(jurors: int, items: int) -> None:
    rng, draws = np.random.default_rng(10), 600
    _, goal = truth("one kind", jurors)
    held = sum(
        not panel(rng.binomial(jurors, 0.7, items), jurors)[1].excludes(goal)  # type: ignore[attr-defined]
        for _ in range(draws)
    )
    print(jurors, items, held / draws)
    assert held / draws >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / draws)


@pytest.mark.slow
@pytest.mark.parametrize("jurors", [5, 7, 11])
@pytest.mark.parametrize("law", list(LAWS))
@pytest.mark.parametrize("items", [100, 400])
def test_limits_hold_their_level_under_every_law(law: str, jurors: int, items: int) -> None:
    rng, draws = np.random.default_rng(8), 200
    goal = truth(law, jurors)
    held = np.zeros(2)
    for _ in range(draws):
        found = panel(rng.binomial(jurors, chances(law, items, rng)), jurors)
        held += [not one.excludes(x) for one, x in zip(found, goal, strict=True)]  # type: ignore[attr-defined]
    print(law, jurors, items, held / draws)
    assert (held / draws >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / draws)).all()


@pytest.mark.slow
def test_limits_hold_their_level_with_ragged_votes_in_clusters() -> None:
    rng, draws = np.random.default_rng(9), 200
    limit, _ = truth("three kinds", 7)
    cluster = np.repeat(np.arange(60), 4)
    held = 0
    for _ in range(draws):
        p = np.repeat(chances("three kinds", 60, rng), 4)
        votes = rng.integers(4, 8, len(p))
        found, _ = panel(rng.binomial(votes, p), votes, cluster)
        held += not found.excludes(limit)  # type: ignore[attr-defined]
    print(held / draws)
    assert held / draws >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / draws)
