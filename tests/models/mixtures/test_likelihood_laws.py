"""What must hold of any fit: it does not depend on how the data are written, EM only climbs, panels may vary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from numpy_mixture import fit_by_lbfgs
from scipy import optimize, stats

from d3stats.counts import Counts
from d3stats.models.mixtures.climb import Objective, Space
from d3stats.models.mixtures.compiled import climb, climb_em
from d3stats.models.mixtures.fit import (
    fit_beta_binomial,
    fit_beta_binomial_mixture,
    fit_beta_binomial_mixture_batch,
)
from d3stats.models.mixtures.law import BetaBinomialMixture, Cells

Floats = NDArray[np.float64]
BIMODAL = [96, 58, 41, 38, 45, 62, 98, 182]

shares = st.floats(0.05, 0.95)
rows = st.lists(st.tuples(st.integers(1, 9), st.floats(0, 1), st.integers(1, 40)), min_size=4, max_size=14)


def columns(table: list[tuple[int, float, int]]) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    trials = np.array([n for n, _, _ in table])
    successes = np.array([round(share * n) for n, share, _ in table])
    return successes, trials, np.array([w for _, _, w in table], dtype=float)


# ---------------------------------------------------------------- invariance


@given(
    w=st.floats(0.01, 0.99), mu=st.tuples(shares, shares), rho=st.tuples(shares, shares), n=st.integers(1, 20)
)
def test_mixture_pmf_is_invariant_to_component_order(
    w: float, mu: tuple[float, float], rho: tuple[float, float], n: int
) -> None:
    law = BetaBinomialMixture([w, 1 - w], mu, rho)
    swapped = BetaBinomialMixture([1 - w, w], mu[::-1], rho[::-1])
    assert law.pmf(n).tolist() == pytest.approx(swapped.pmf(n).tolist(), abs=1e-15)
    assert float(law.spread) == pytest.approx(float(swapped.spread), rel=1e-12)


@settings(max_examples=20)
@given(table=rows)
def test_a_fit_does_not_depend_on_how_its_rows_are_split_or_ordered(
    table: list[tuple[int, float, int]],
) -> None:
    s, n, w = columns(table)
    whole = fit_beta_binomial_mixture(s, n, w)
    order = np.arange(len(s))[::-1]
    halves = fit_beta_binomial_mixture(
        np.concatenate([s, s[order]]), np.concatenate([n, n[order]]), np.concatenate([w, w[order]]) / 2
    )
    repeated = fit_beta_binomial_mixture(np.repeat(s, w.astype(int)), np.repeat(n, w.astype(int)))
    for other in (halves, repeated):
        assert other.llf == pytest.approx(whole.llf, rel=1e-12, abs=1e-9)
        assert other.distribution.weight.tolist() == pytest.approx(
            whole.distribution.weight.tolist(), abs=1e-9
        )
        assert other.n_obs == pytest.approx(whole.n_obs)


@settings(max_examples=20)
@given(first=rows, second=rows)
def test_counts_add_up_before_a_fit_as_their_rows_do(
    first: list[tuple[int, float, int]], second: list[tuple[int, float, int]]
) -> None:
    def counted(table: list[tuple[int, float, int]]) -> Counts:
        s, n, w = columns(table)
        return Counts.from_columns(s, n, weights=w)

    added = fit_beta_binomial_mixture(counted(first) + counted(second))
    together = fit_beta_binomial_mixture(*columns(first + second))
    assert added.llf == together.llf
    assert added.params.tolist() == together.params.tolist()


@settings(max_examples=20)
@given(table=rows)
def test_swapping_right_and_wrong_mirrors_the_law(table: list[tuple[int, float, int]]) -> None:
    s, n, w = columns(table)
    fit, mirror = fit_beta_binomial(s, n, w), fit_beta_binomial(n - s, n, w)
    assert mirror.llf == pytest.approx(fit.llf, rel=1e-9)
    assert mirror.mean == pytest.approx(1 - fit.mean, abs=1e-6)


def test_components_are_ordered_by_mean_and_params_are_named_in_that_order() -> None:
    fit = fit_beta_binomial_mixture(range(8), 7, BIMODAL, n_components=3)
    assert (np.diff(fit.components["mean"]) >= 0).all()
    assert list(fit.params.index) == [
        "weight_1", "weight_2", "mean_1", "mean_2", "mean_3", "rho_1", "rho_2", "rho_3",
    ]  # fmt: skip
    assert fit.params["mean_2"] == fit.components["mean"].iloc[1]


def test_a_batch_gives_what_single_fits_give() -> None:
    rng = np.random.default_rng(3)
    tables = rng.multinomial(150, np.array(BIMODAL) / sum(BIMODAL), size=6).astype(float)
    batch = fit_beta_binomial_mixture_batch(range(8), [7] * 8, tables)
    for i, row in enumerate(tables):
        single = fit_beta_binomial_mixture(range(8), 7, row)
        assert batch[i].llf == pytest.approx(single.llf, abs=1e-8)
        assert batch.llf[i] == pytest.approx(single.llf, abs=1e-8)
        assert batch.distribution.pmf(7)[i] == pytest.approx(single.pmf(), abs=1e-4)


# ---------------------------------------------------------------- EM climbs


@settings(max_examples=40)
@given(
    table=rows,
    k=st.integers(1, 3),
    penalty=st.sampled_from([0.0, 0.1, 1.0]),
    seed=st.integers(0, 10_000),
)
def test_every_em_map_raises_the_objective(
    table: list[tuple[int, float, int]], k: int, penalty: float, seed: int
) -> None:
    s, n, w = columns(table)
    cells, space = Cells.of(s, n), Space(k)
    objective = Objective(cells, space, penalty)
    rng = np.random.default_rng(seed)
    start = space.join(
        rng.dirichlet(np.ones(k))[None], rng.uniform(0.02, 0.98, (1, k)), rng.uniform(0, 0.9, (1, k))
    )
    values = [float(objective.value(start, w[None])[0])]
    for max_iter in (3, 6, 9, 30, 90):  # three maps are one accelerated step
        x, value, _ = climbed(climb_em, start, w, cells, space, penalty, max_iter)
        assert value[0] == pytest.approx(float(objective.value(x, w[None])[0]), rel=1e-11, abs=1e-9)
        values.append(float(value[0]))
    assert (np.diff(values) >= -1e-10 * (1 + abs(values[-1]))).all(), values


@settings(max_examples=25)
@given(table=rows, k=st.integers(1, 3), penalty=st.sampled_from([0.0, 0.1]), seed=st.integers(0, 10_000))
def test_every_newton_step_raises_the_objective_and_ends_above_em(
    table: list[tuple[int, float, int]], k: int, penalty: float, seed: int
) -> None:
    s, n, w = columns(table)
    cells, space = Cells.of(s, n), Space(k)
    rng = np.random.default_rng(seed)
    start = space.join(
        rng.dirichlet(np.ones(k))[None], rng.uniform(0.02, 0.98, (1, k)), rng.uniform(0, 0.9, (1, k))
    )
    values = [climbed(climb, start, w, cells, space, penalty, m)[1][0] for m in (1, 2, 4, 8, 16, 60)]
    assert (np.diff(values) >= -1e-10 * (1 + abs(values[-1]))).all(), values


@pytest.mark.parametrize("penalty", [0.05, pytest.param(1.0, marks=pytest.mark.slow)])
def test_methods_agree_on_the_posterior_mode_too(penalty: float) -> None:
    fits = [
        fit_beta_binomial_mixture(range(8), 7, BIMODAL, penalty=penalty, method=method, n_starts=10)
        for method in ("newton", "em")
    ]
    fits.append(fit_by_lbfgs(range(8), 7, BIMODAL, penalty=penalty, n_starts=10))
    assert all(fit.converged and not fit.boundary for fit in fits)
    for fit in fits[1:]:
        assert fit.llf == pytest.approx(fits[0].llf, abs=2e-3)  # flat where the penalised sum is level
        assert fit.pmf() == pytest.approx(fits[0].pmf(), abs=1e-4)


def climbed(
    how: object, start: Floats, w: Floats, cells: Cells, space: Space, penalty: float, max_iter: int
) -> tuple[Floats, Floats, Floats]:
    problem = Objective(cells, space, penalty).problem()
    return how(start, np.zeros(1, np.int64), w[None], problem, max_iter, 1e-10)  # type: ignore[operator]  # a climb


# ---------------------------------------------------------------- panels that vary


def plain_fit(successes: NDArray[np.int64], trials: NDArray[np.int64]) -> tuple[float, float, float]:
    """One Beta-Binomial per row, as a user of scipy would write it: (llf, mean, rho)."""

    def cost(v: Floats) -> float:
        return -float(stats.betabinom.logpmf(successes, trials, *np.exp(v)).sum())

    found = min(
        (optimize.minimize(cost, np.log(x0), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11})
         for x0 in ([1.0, 1.0], [5.0, 2.0])),
        key=lambda r: r.fun,
    )  # fmt: skip
    a, b = np.exp(found.x)
    return -float(found.fun), a / (a + b), 1 / (a + b + 1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_missing_votes_give_what_a_plain_row_by_row_fit_gives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trials = rng.integers(1, 8, size=250)
    law = BetaBinomialMixture.from_alpha_beta([1.0], [2.0], [1.2])
    successes = law.sample(trials, rng)
    fit = fit_beta_binomial(successes, trials)
    llf, mean, rho = plain_fit(successes, trials)
    assert fit.llf == pytest.approx(llf, abs=1e-7)
    assert fit.mean == pytest.approx(mean, abs=1e-5)
    assert fit.distribution.rho[0] == pytest.approx(rho, abs=1e-5)


def test_a_mixture_on_varying_panels_has_the_likelihood_of_its_rows() -> None:
    rng = np.random.default_rng(5)
    trials = rng.integers(1, 10, size=300)
    law = BetaBinomialMixture.from_alpha_beta([0.6, 0.4], [6, 1.5], [1.2, 3])
    successes = law.sample(trials, rng)
    fit = fit_beta_binomial_mixture(successes, trials)
    d = fit.distribution
    by_row = sum(
        w * stats.betabinom.pmf(successes, trials, a, b)
        if np.isfinite(a)
        else w * stats.binom.pmf(successes, trials, m)
        for w, a, b, m in zip(d.weight, d.alpha, d.beta, d.mu, strict=True)
    )
    assert fit.llf == pytest.approx(float(np.log(by_row).sum()), abs=1e-8)
    truth = sum(
        w * stats.betabinom.pmf(successes, trials, a, b)
        for w, a, b in zip(law.weight, law.alpha, law.beta, strict=True)
    )
    assert fit.llf >= float(np.log(truth).sum())


def test_debates_without_a_vote_are_left_out_not_counted_as_wrong() -> None:
    with_empty = fit_beta_binomial([2, 0, 3, 0, 1], [3, 0, 3, 0, 2])
    without = fit_beta_binomial([2, 3, 1], [3, 3, 2])
    assert with_empty.n_obs == without.n_obs == 3
    assert with_empty.llf == without.llf


def test_criteria_count_parameters_as_the_model_has_them() -> None:
    fit = fit_beta_binomial_mixture(range(8), 7, BIMODAL)
    held = fit_beta_binomial_mixture(range(8), 7, BIMODAL, n_binomial=1)
    assert (fit.n_params, held.n_params) == (5, 4)
    assert fit.aic == pytest.approx(10 - 2 * fit.llf)
    assert fit.bic == pytest.approx(5 * np.log(620) - 2 * fit.llf)
