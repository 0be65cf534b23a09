"""Dependence of judges given the hidden right answer: size, power, and what it cannot see."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

from d3stats.inference import conditional_independence


def votes_of(right: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    truth = rng.random(len(right)) < 0.5
    votes = np.where(right, truth[:, None], ~truth[:, None])
    return pd.DataFrame(np.where(votes, "A", "B"), columns=[f"j{k}" for k in range(right.shape[1])])


@pytest.mark.parametrize(("panels", "rare"), [(12, 4), pytest.param(60, 9, marks=pytest.mark.slow)])
def test_independent_judges_are_rarely_called_dependent(panels: int, rare: int) -> None:
    """Of 60 panels at p <= .05, 3 are expected and 9 are rarer than 1 in 250; of 12, .6 and four."""
    rejected = 0
    for seed in range(panels):
        rng = np.random.default_rng(seed)
        right = rng.random((80, 4)) < np.array([0.9, 0.8, 0.75, 0.7])
        rejected += conditional_independence(votes_of(right, rng), n_boot=19, rng=seed).p_value <= 0.05
    assert rejected < rare


def test_judges_who_fail_on_the_same_items_are_found() -> None:
    rng = np.random.default_rng(1)
    z = np.sqrt(0.3) * rng.standard_normal((800, 1)) + np.sqrt(0.7) * rng.standard_normal((800, 6))
    found = conditional_independence(votes_of(z < ndtri(0.75), rng), n_boot=39, rng=1)
    assert found.p_value <= 0.05
    assert found.mean_excess > 0
    assert any("depend on each other" in note for note in found.notes)
    assert found.headline.startswith("The judges depend on each other")


def test_one_copy_among_independent_judges_is_the_worst_pair() -> None:
    rng = np.random.default_rng(2)
    table = votes_of(rng.random((400, 5)) < 0.8, rng)
    copied = np.where(rng.random(400) < 0.85, table["j4"], table["j3"])
    found = conditional_independence(table.assign(j5=copied), n_boot=39, rng=1)
    assert set(found.worst) == {"j4", "j5"}
    assert found.excess > 0
    assert found.p_value <= found.pairs["p_value"].iloc[0] <= 0.05


def test_three_judges_are_refused() -> None:
    rng = np.random.default_rng(3)
    with pytest.raises(ValueError, match="at least 4 judges"):
        conditional_independence(votes_of(rng.random((50, 3)) < 0.8, rng))
