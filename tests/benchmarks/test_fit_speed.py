"""How fast are the fits, and against what? Ratios are taken within one run; medians of several repeats.

Targets are printed beside what was measured. What is asserted leaves room for a machine that others share.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from numpy_mixture import derivatives, fit_by_lbfgs

from d3stats.counts import Counts
from d3stats.models.mixtures.climb import Objective, Space, optimise
from d3stats.models.mixtures.fit import fit_beta_binomial_mixture
from d3stats.models.mixtures.law import BetaBinomialMixture, Cells

PANEL = 7
LAW = BetaBinomialMixture.from_alpha_beta([0.62, 0.38], [6, 1.5], [1.2, 3])


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Compile once, outside every measurement."""
    fit_beta_binomial_mixture(range(8), 7, [3, 1, 1, 1, 2, 3, 4, 5])


def votes(n_debates: int, seed: int = 1) -> NDArray[np.int8]:
    rng = np.random.default_rng(seed)
    first = rng.random(n_debates) < LAW.weight[0]
    p = np.where(first, rng.beta(6, 1.2, n_debates), rng.beta(1.5, 3, n_debates))
    return (rng.random((n_debates, PANEL)) < p[:, None]).astype(np.int8)


def median_seconds(work: Callable[[], Any], repeats: int = 7) -> float:
    return float(np.median(seconds(work, repeats)))


def seconds(work: Callable[[], Any], repeats: int) -> list[float]:
    taken = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return taken


def say(text: str) -> None:
    print(f"\n  {text}")


def test_a_million_debates_are_fitted_from_their_votes(benchmark: Any) -> None:
    table = votes(1_000_000)

    def from_votes() -> float:
        return fit_beta_binomial_mixture(Counts.from_votes(table), n_starts=30).llf

    benchmark.pedantic(from_votes, rounds=15, warmup_rounds=2)
    times = seconds(from_votes, 25)
    whole = float(np.median(times))
    counting = median_seconds(lambda: Counts.from_votes(table), 15)
    say(f"10^6 debates of 7 votes to a fit with 30 starts: median {1e3 * whole:.1f} ms, "
        f"least {1e3 * min(times):.1f} ms, of the median counting {1e3 * counting:.1f} ms (target 20 ms)")  # fmt: skip
    # the least of 25 is what the work itself takes; the median also holds what other people's work took
    assert min(times) < 0.04
    assert whole < 0.15


@pytest.mark.parametrize("dtype", [np.bool_, np.int8])
def test_counting_a_million_panels_takes_milliseconds(benchmark: Any, dtype: type) -> None:
    table = votes(1_000_000).astype(dtype)
    benchmark.pedantic(Counts.from_votes, args=(table,), rounds=15, warmup_rounds=1)
    counting, copying = median_seconds(lambda: Counts.from_votes(table)), median_seconds(table.copy)
    say(
        f"counting 10^6 x 7 {np.dtype(dtype)}: {1e3 * counting:.1f} ms; copying the same: {1e3 * copying:.1f} ms"
    )
    assert Counts.from_votes(table).n_obs == 1_000_000
    assert counting < 0.1


def test_time_does_not_depend_on_the_number_of_debates_once_counted(benchmark: Any) -> None:
    small, large = (
        Counts.from_columns(range(8), [PANEL] * 8, weights=np.rint(n * LAW.pmf(PANEL))) for n in (1e3, 1e9)
    )
    benchmark.pedantic(fit_beta_binomial_mixture, args=(large,), rounds=15, warmup_rounds=2)
    times = [median_seconds(lambda c=c: fit_beta_binomial_mixture(c), 15) for c in (small, large)]
    say(f"fit with 30 starts: 10^3 debates {1e3 * times[0]:.2f} ms, 10^9 debates {1e3 * times[1]:.2f} ms")
    assert times[1] < 4 * times[0] + 0.005


def test_ten_thousand_bootstrap_refits_take_seconds(benchmark: Any) -> None:
    fit = fit_beta_binomial_mixture(range(8), 7, [96, 58, 41, 38, 45, 62, 98, 182])
    benchmark.pedantic(fit.bootstrap, args=(1_000,), kwargs={"rng": 1}, rounds=5, warmup_rounds=1)
    taken = median_seconds(lambda: fit.bootstrap(10_000, rng=1), 3)
    say(f"10^4 bootstrap refits: {taken:.2f} s (target 5 s on 2 cores)")
    assert taken < 20


def test_the_compiled_climb_is_worth_its_compiler(benchmark: Any) -> None:
    # The same evaluations, one point at a time, as the climb's dependent steps need them.
    weights = np.array([[96.0, 58, 41, 38, 45, 62, 98, 182]])
    cells, space = Cells.all_of(PANEL), Space(2)
    objective = Objective(cells, space)
    rng = np.random.default_rng(1)
    starts = space.join(
        rng.dirichlet([1, 1], 30), rng.uniform(0.1, 0.9, (30, 2)), rng.uniform(0, 0.6, (30, 2))
    )
    copies = np.repeat(weights, 30, axis=0)

    def climb() -> int:
        return int(optimise(cells, copies, space, n_starts=1, first=starts).n_iter.sum())

    benchmark.pedantic(climb, rounds=9, warmup_rounds=2)
    n_evaluations = climb()  # of the winners alone: fewer than were made
    compiled = median_seconds(climb)
    one = median_seconds(lambda: [derivatives(objective, starts[:1], weights) for _ in range(200)]) / 200
    ratio = n_evaluations * one / compiled
    say(f"compiled climb, 60 starts: {1e3 * compiled:.2f} ms; numpy, {n_evaluations} evaluations of the "
        f"winners alone at {1e6 * one:.0f} us each: {1e3 * n_evaluations * one:.1f} ms; "
        f"ratio {ratio:.0f} (>= 3)")  # fmt: skip
    assert ratio >= 3


def test_the_direct_method_is_the_fastest(benchmark: Any) -> None:
    seen = [96, 58, 41, 38, 45, 62, 98, 182]

    def fit(method: str) -> float:
        if method == "lbfgs":
            return fit_by_lbfgs(range(8), 7, seen, n_starts=10).llf
        return fit_beta_binomial_mixture(range(8), 7, seen, method=method, n_starts=10).llf  # type: ignore[arg-type]

    fit("em")
    benchmark.pedantic(fit, args=("newton",), rounds=9, warmup_rounds=1)
    newton, em, lbfgs = (median_seconds(lambda m=m: fit(m), 3) for m in ("newton", "em", "lbfgs"))
    say(f"10 starts: newton {1e3 * newton:.1f} ms, em {1e3 * em:.1f} ms, lbfgs {1e3 * lbfgs:.1f} ms")
    assert newton < em
    assert newton < lbfgs
