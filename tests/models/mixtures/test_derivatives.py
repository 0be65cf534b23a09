"""One likelihood, written four times: compiled loops, numpy matrices, finite differences, scipy's log-gammas."""

from __future__ import annotations

from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from numpy_mixture import derivatives, log_pmf_derivatives
from scipy import stats

from d3stats.models.mixtures.climb import EDGE, Objective, Space
from d3stats.models.mixtures.law import BetaBinomialMixture, Cells, log_pmf

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A point, a table and a model."""

    objective: Objective
    x: Floats
    weights: Floats

    def numpy(self, x: Floats | None = None) -> tuple[float, Floats, Floats]:
        at = self.x if x is None else x
        value, gradient, hessian = derivatives(self.objective, at[None], self.weights[None])
        return float(value[0]), gradient[0], hessian[0]

    def compiled(self) -> tuple[float, Floats, Floats]:
        value, gradient, hessian = self.objective.derivatives(self.x[None], self.weights[None])
        return float(value[0]), gradient[0], hessian[0]


anywhere = st.one_of(
    st.floats(0.01, 0.99), st.sampled_from([EDGE, 1e-6, 1e-3, 0.5, 1 - 1e-3, 1 - 1e-6, 1 - EDGE])
)
correlation = st.one_of(
    st.floats(0.001, 0.95), st.sampled_from([0.0, 1e-12, 1e-8, 1e-4, 0.999, 1 - 1e-6, 1 - EDGE])
)
table = st.lists(
    st.tuples(st.integers(1, 12), st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e5])),
    min_size=1,
    max_size=12,
)
long_table = st.tuples(st.just(200), st.floats(0, 1), st.just(2.0)).map(lambda row: [row, (1, 1.0, 1.0)])


@st.composite
def cases(draw: st.DrawFn, mean: st.SearchStrategy = anywhere, rho: st.SearchStrategy = correlation) -> Case:
    k = draw(st.integers(1, 3))
    rows = draw(st.one_of(table, long_table))
    trials = np.array([n for n, _, _ in rows])
    successes = np.array([round(share * n) for n, share, _ in rows])
    weights = np.array([w for _, _, w in rows], dtype=float)
    z = draw(st.lists(st.floats(-20, 20), min_size=k - 1, max_size=k - 1))
    mu = draw(st.lists(mean, min_size=k, max_size=k))
    r = draw(st.lists(rho, min_size=k, max_size=k))
    n_binomial = draw(st.integers(0, k))
    r[:n_binomial] = [0.0] * n_binomial
    penalty = draw(st.sampled_from([0.0, 0.0, 0.1, 2.0]))
    objective = Objective(Cells.of(successes, trials), Space(k, n_binomial), penalty)
    return Case(objective, np.array([*z, *mu, *r], dtype=float), weights)


def close(a: Floats | float, b: Floats | float, rel: float, scale: float = 1.0) -> bool:
    size = max(float(np.abs(a).max()), float(np.abs(b).max()), scale)
    return bool(np.isfinite(a).all() and np.abs(np.asarray(a) - np.asarray(b)).max() <= rel * size)


@given(case=cases())
def test_compiled_and_numpy_derivatives_agree_everywhere_in_the_box(case: Case) -> None:
    for one, other in zip(case.compiled(), case.numpy(), strict=True):
        assert close(one, other, 1e-11)


@given(case=cases(mean=st.floats(0.05, 0.95), rho=st.floats(0.02, 0.9)))
def test_gradient_and_hessian_are_those_of_finite_differences(case: Case) -> None:
    _, gradient, hessian = case.numpy()
    free = np.ones(len(case.x), dtype=bool)
    k, held = case.objective.space.n_components, case.objective.space.n_binomial
    free[2 * k - 1 : 2 * k - 1 + held] = False  # rho = 0 has no left side
    scale = 1.0 + case.weights.sum() * case.objective.cells.trials.max()
    for at in np.flatnonzero(free):
        e = np.zeros(len(case.x))
        e[at] = 1e-5 * (1.0 if at < k - 1 else min(case.x[at], 1 - case.x[at]))
        up, down = case.numpy(case.x + e), case.numpy(case.x - e)
        width = 2 * e[at]
        # the value is only known to 1e-16 of its size, so a slope by differences is only to 1e-11 / step
        assert close((up[0] - down[0]) / width, gradient[at], 1e-5, scale=scale)
        assert close((up[1] - down[1])[free] / width, hessian[at][free], 1e-5, scale=scale)


@given(
    mu=st.floats(0.001, 0.999),
    rho=st.floats(1e-3, 0.999),
    trials=st.one_of(st.integers(1, 30), st.just(200)),
)
def test_the_pmf_is_scipys_beta_binomial(mu: float, rho: float, trials: int) -> None:
    law = BetaBinomialMixture([1.0], [mu], [rho])
    s = np.arange(trials + 1)
    ours = log_pmf(np.array([mu]), np.array([rho]), Cells.all_of(trials))[0]
    theirs = stats.betabinom.logpmf(s, trials, law.alpha[0], law.beta[0])
    assert close(ours, theirs, 1e-9)
    assert law.pmf(trials).sum() == pytest.approx(1.0, abs=1e-12)


@given(mu=st.floats(1e-6, 1 - 1e-6), trials=st.one_of(st.integers(1, 30), st.just(200)))
def test_a_correlation_of_zero_is_the_binomial(mu: float, trials: int) -> None:
    law = BetaBinomialMixture([1.0], [mu], [0.0])
    assert close(law.pmf(trials), stats.binom.pmf(np.arange(trials + 1), trials, mu), 1e-12)
    near = BetaBinomialMixture([1.0], [mu], [1e-13])
    assert close(law.pmf(trials), near.pmf(trials), 1e-8)


@pytest.mark.parametrize("trials", [1, 2, 7, 40])
def test_a_correlation_of_one_is_all_or_none(trials: int) -> None:
    pmf = BetaBinomialMixture([1.0], [0.3], [1.0]).pmf(trials)
    assert pmf[0] == pytest.approx(0.7, abs=1e-12)
    assert pmf[-1] == pytest.approx(0.3, abs=1e-12)
    assert np.abs(pmf[1:-1]).max(initial=0.0) <= 1e-12


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_a_mean_at_the_end_puts_all_mass_there(mean: float) -> None:
    for rho in (0.0, 0.3, 1.0):
        pmf = BetaBinomialMixture([1.0], [mean], [rho]).pmf(5)
        assert pmf[5 if mean else 0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("mu", "rho"), [(0.8, 1e-6), (0.8, 1e-10), (1e-9, 0.5), (1 - 1e-9, 1e-4), (0.3, 1 - 1e-8), (0.5, 0.2)]
)
@pytest.mark.parametrize("trials", [1, 7, 200])
def test_the_log_pmf_keeps_its_digits_where_log_gammas_lose_them(mu: float, rho: float, trials: int) -> None:
    ours = log_pmf(np.array([mu]), np.array([rho]), Cells.all_of(trials))[0]
    with mpmath.workdps(50):
        precision = 1 / mpmath.mpf(rho) - 1
        a, b = mpmath.mpf(mu) * precision, (1 - mpmath.mpf(mu)) * precision
        exact = [
            float(
                mpmath.log(
                    mpmath.binomial(trials, s) * mpmath.beta(s + a, trials - s + b) / mpmath.beta(a, b)
                )
            )
            for s in range(trials + 1)
        ]
    # 1 - mu carries the rounding of mu: 1e-16 / 1e-9 at the far end
    assert np.abs(ours - exact).max() <= 3e-7 if mu > 0.999 else np.abs(ours - exact).max() <= 1e-8
    middle = 0.1 < mu < 0.9 and 1e-7 < rho < 0.9
    assert not middle or np.abs(ours - exact).max() <= 1e-12 * (1 + np.abs(exact).max())


def test_one_vote_says_nothing_about_the_correlation() -> None:
    cells = Cells.all_of(1)
    for rho in (0.0, 0.3, 0.9):
        value, gradient, hessian = log_pmf_derivatives(np.array([0.3]), np.array([rho]), cells)
        assert value[0].tolist() == pytest.approx([np.log(0.7), np.log(0.3)], abs=1e-15)
        assert np.abs(gradient[1]).max() <= 1e-14
        assert np.abs(hessian[2]).max() <= 1e-13


def test_a_cell_without_weight_changes_nothing() -> None:
    x = np.array([0.4, 0.2, 0.7, 0.1, 0.3])
    full = Case(
        Objective(Cells.of(np.array([1, 2, 0]), np.array([3, 3, 5])), Space(2)), x, np.array([2.0, 0.0, 1.0])
    )
    less = Case(Objective(Cells.of(np.array([1, 0]), np.array([3, 5])), Space(2)), x, np.array([2.0, 1.0]))
    for mine, plain in zip(full.compiled(), less.compiled(), strict=True):
        assert close(mine, plain, 1e-14)
    for mine, plain in zip(full.numpy(), less.numpy(), strict=True):
        assert close(mine, plain, 1e-14)
