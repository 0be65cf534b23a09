"""Each claim that holds, or holds with what is missing, survives examples that were made to its assumptions.

A survivor checks the assumptions of every instance that it looks at and is an error when one is violated.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import strategies as st

from d3stats.theory import Claim, claims, survive
from d3stats.theory.check import first_failure

TRUE = [entry for entry in claims().values() if entry.status != "refuted"]
LATER = {"ks-lemma", "theorem-b"}
"""Claims of a second: of their works others are in the fast layer."""
every_true_claim = pytest.mark.parametrize(
    "entry",
    [
        pytest.param(entry, id=entry.name, marks=pytest.mark.slow if entry.name in LATER else ())
        for entry in TRUE
    ],
)


@contextmanager
def counted_draws() -> Iterator[list[dict[str, Any]]]:
    """Collect what became of each draw of hypothesis: looked at, discarded, or drawn again by a filter."""
    from hypothesis.statistics import collector

    runs: list[dict[str, Any]] = []
    draws: list[dict[str, Any]] = []
    with collector.with_value(runs.append):
        yield draws
    for run in runs:
        draws.extend(run.get("generate-phase", {}).get("test-cases", []))


def discarded(draws: list[dict[str, Any]]) -> list[dict[str, Any]]:
    again = [d for d in draws if any("satisfy filter" in str(event) for event in d["events"])]
    return again + [d for d in draws if d["status"] == "invalid"]


@every_true_claim
def test_a_claim_survives_25_examples_and_none_is_discarded(entry: Claim) -> None:
    with counted_draws() as draws:
        found = survive(entry, 25)
    assert found.n == 25 or found.exhausted
    assert found.least_margin >= -entry.slack
    assert found.n_distinct >= found.n // 4
    assert len(draws) >= found.n
    assert not discarded(draws)


@pytest.mark.slow
@every_true_claim
def test_a_claim_survives_100_000_examples(entry: Claim) -> None:
    found = survive(entry, 100_000)
    assert found.n == 100_000 or found.exhausted
    assert found.least_margin >= -entry.slack


@pytest.mark.parametrize("kind", ["filter", "assume"])
def test_a_strategy_that_discards_would_be_noticed(kind: str) -> None:
    @st.composite
    def assumed(draw: st.DrawFn) -> int:
        from hypothesis import assume

        number = draw(st.integers(0, 1000))
        assume(number % 3)
        return number

    strategy = st.integers(0, 1000).filter(lambda x: x % 3) if kind == "filter" else assumed()
    with counted_draws() as draws:
        assert first_failure(strategy, lambda _: False, n=100, seed=1) is None
    assert discarded(draws)
