"""Converged means converged: no small move from the optimum brings anything, however the search ended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from layers import examples
from numpy_mixture import fit_by_lbfgs

from d3stats.models.mixtures.climb import METHODS, Objective, Space
from d3stats.models.mixtures.fit import fit_beta_binomial_mixture, fit_beta_binomial_mixture_batch
from d3stats.models.mixtures.law import Cells
from d3stats.models.mixtures.result import MixtureFit


def gain_of_small_moves(fit: MixtureFit, rng: np.random.Generator) -> float:
    """What single and joint moves of up to a thousandth bring, as a share of the log-likelihood."""
    s = fit.settings
    space = Space(s.n_components, s.n_binomial)
    objective = Objective(Cells.of(*fit.counts.keys.T), space, s.penalty)
    weights = fit.counts.weights[None]
    value, gradient, _ = objective.derivatives(fit.point[None], weights)
    steepest = gradient / max(float(np.abs(gradient).max()), 1e-300)
    moves = np.concatenate(
        [np.eye(space.size), -np.eye(space.size), rng.standard_normal((30, space.size)), steepest]
    )
    low, high = space.bounds()
    sizes = 10.0 ** np.arange(-9, -2)
    points = np.clip(fit.point + (sizes[:, None, None] * moves).reshape(-1, space.size), low, high)
    best = objective.value(points, np.repeat(weights, len(points), axis=0)).max()
    return float((best - value[0]) / (1 + abs(value[0])))


def degenerate_or_random(i: int, rng: np.random.Generator) -> tuple[int, np.ndarray]:
    """One vote, all right, all or none, one kind of debate, a gap in the middle, or up to 10^14 debates."""
    n = int(rng.integers(1, 9))
    weights = np.zeros(n + 1)
    kind = i % 6
    if kind == 0:
        weights[-1] = rng.integers(1, 50)
    elif kind == 1:
        weights[[0, -1]] = rng.integers(1, 50, 2)
    elif kind == 2:
        weights[rng.integers(n + 1)] = 1
    elif kind == 3:
        weights[:2] = rng.integers(1, 9, 2)
    else:
        many = 10.0 ** rng.uniform(0, 14 if kind == 4 else 4)
        weights = np.floor(many * rng.dirichlet(np.full(n + 1, 0.3)))
        weights[0] += 1
    return n, weights


def fitted(method: str, *data: Any, **options: Any) -> MixtureFit:
    """Fit by a method of the package or by the tests' quasi-Newton search."""
    if method == "lbfgs":
        return fit_by_lbfgs(*data, **options)
    return fit_beta_binomial_mixture(*data, method=method, **options)


def check(method: str, n_sets: int, seed: int) -> int:
    rng = np.random.default_rng(seed)
    converged = 0
    for i in range(n_sets):
        n, weights = degenerate_or_random(i, rng)
        fit = fitted(
            method, range(n + 1), n, weights, n_components=int(rng.integers(1, 4)), max_iter=300,
            n_starts=1 if method == "lbfgs" else int(rng.choice([1, 1, 12])),
            penalty=float(rng.choice([0.0, 0.0, 0.01, 1.0])),
        )  # fmt: skip
        if fit.converged:
            converged += 1
            assert gain_of_small_moves(fit, rng) < 2e-9, (i, n, weights.tolist(), fit.settings)
    return converged


@pytest.mark.parametrize("method", [*METHODS, "lbfgs"])
@examples(8, 36)
def test_from_a_converged_fit_no_small_move_raises_the_likelihood(method: str, n_examples: int) -> None:
    assert check(method, n_examples, seed=1) > n_examples / 2


@pytest.mark.slow
@pytest.mark.parametrize("method", [*METHODS, "lbfgs"])
def test_from_a_converged_fit_no_small_move_raises_the_likelihood_of_a_thousand_logs(method: str) -> None:
    assert check(method, 1000, seed=2) > 500


def test_a_quasi_newton_search_that_breaks_off_has_not_converged() -> None:
    rng = np.random.default_rng(3)
    ended = []
    for _ in range(40):
        n, many = int(rng.integers(2, 9)), 10.0 ** rng.uniform(3, 14)
        weights = np.floor(many * rng.dirichlet(np.full(n + 1, 0.3)))
        tight = fit_by_lbfgs(range(n + 1), n, weights, n_starts=1, max_iter=8)
        ended.append(tight.converged)
        if tight.converged:
            assert gain_of_small_moves(tight, rng) < 2e-9
    assert not all(ended)


@pytest.mark.parametrize("penalty", [1e-8, 1e-6, 1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("method", [*METHODS, "lbfgs"])
def test_a_small_penalty_does_not_hold_the_first_start_at_the_binomial(method: str, penalty: float) -> None:
    seen = [3000, 2000, 2000, 2000, 2000, 2000, 3000]
    one = fitted(method, range(7), 6, seen, n_components=1, n_starts=1, penalty=penalty)
    many = fit_beta_binomial_mixture(range(7), 6, seen, n_components=1, penalty=penalty)
    assert one.converged
    assert one.llf == pytest.approx(many.llf, abs=1e-5)
    assert one.distribution.rho[0] > 0.4


def test_a_batch_says_of_each_data_set_what_its_own_fit_says() -> None:
    rng = np.random.default_rng(5)
    table = np.floor(10.0 ** rng.uniform(0, 9, (12, 1)) * rng.dirichlet(np.full(6, 0.4), 12)) + 1
    batch = fit_beta_binomial_mixture_batch(range(6), 5, table, n_starts=2, max_iter=12)
    alone = [fit_beta_binomial_mixture(range(6), 5, row, n_starts=2, max_iter=12).converged for row in table]
    assert batch.converged.tolist() == alone == [batch[i].converged for i in range(12)]
    assert 0 < sum(alone) < 12
