"""How fast is separation? Medians of several repeats, printed beside what is promised.

The targets are for a free core; D3STATS_BENCH_SLACK says how many times longer a run may take elsewhere, or beside
other work.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import pytest
from scipy import stats

from d3stats.models.separation.best_of_k import separation
from d3stats.models.separation.laws import DiscreteLaw, beta, weibull

SLACK = float(os.environ.get("D3STATS_BENCH_SLACK", "5"))
UP_TO_FIFTY = np.arange(1, 51)


def best_of(first: Any, second: Any, k: Any, repeats: int = 9) -> float:
    separation(first, second, k)
    taken = []
    for _ in range(repeats):
        begin = time.perf_counter()
        separation(first, second, k)
        taken.append(time.perf_counter() - begin)
    return float(np.median(taken))


def test_a_rubric_takes_a_millisecond_for_fifty_ks() -> None:
    support = np.arange(1, 21)
    pair = DiscreteLaw(support, support / 210), DiscreteLaw(support, np.full(20, 0.05))
    taken = best_of(*pair, UP_TO_FIFTY, 25)
    print(f"\n  rubric 1 to 20, k = 1..50: {taken * 1e3:.2f} ms (promised 1)")
    assert taken <= 1e-3 * SLACK


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("uniform", stats.uniform(0.5, 0.5), stats.uniform()),
        ("beta", stats.beta(6, 3), stats.beta(4, 3)),
        ("norm", stats.norm(1), stats.norm()),
        ("expon", stats.expon(scale=2), stats.expon()),
        ("weibull", stats.weibull_min(0.7, scale=2), stats.weibull_min(0.7)),
        ("gamma", stats.gamma(2.5), stats.gamma(2)),
        ("lognorm", stats.lognorm(1.2), stats.lognorm(1)),
    ],
)
def test_continuous_laws_take_fifty_milliseconds_for_fifty_ks(name: str, first: Any, second: Any) -> None:
    taken = best_of(first, second, UP_TO_FIFTY)
    print(f"\n  {name}, k = 1..50: {taken * 1e3:.1f} ms (promised 50)")
    assert taken <= 0.05 * SLACK


def test_a_pair_of_named_laws_takes_a_few_milliseconds() -> None:
    def once(i: int) -> None:
        separation(beta(2 + i * 0.01, 3), weibull(0.8, 1 + i * 0.01), 3)

    once(0)
    begin = time.perf_counter()
    for i in range(50):
        once(i)
    taken = (time.perf_counter() - begin) / 50
    print(f"\n  named laws, made and compared at one k: {taken * 1e3:.2f} ms (promised 6)")
    assert taken <= 6e-3 * SLACK
