"""Each claim that is false somewhere is refuted by a search that was not told where."""

from __future__ import annotations

import pytest

from d3stats.theory import Claim, claims, find_counterexample

FALSE = [entry for entry in claims().values() if entry.status != "holds"]
every_false_claim = pytest.mark.parametrize("entry", FALSE, ids=lambda entry: entry.name)

READABLE = 110
"""Characters that a shrunk counterexample may take."""


@every_false_claim
def test_the_search_finds_a_counterexample_and_shrinks_it(entry: Claim) -> None:
    found = find_counterexample(entry, max_examples=2000)
    assert entry.admits(found.instance)
    assert entry.margin(found.instance) == found.margin < -entry.slack
    assert len(str(found.instance)) <= READABLE
    assert found.n_examined <= 2000
    assert set(found.quantities) >= set(entry.quantities(entry.counterexample))


@every_false_claim
def test_the_named_counterexample_is_one(entry: Claim) -> None:
    assert entry.admits(entry.counterexample)
    assert entry.margin(entry.counterexample) < -entry.slack
    if entry.status == "holds under":
        assert not entry.admits(entry.counterexample, corrected=True)


@every_false_claim
def test_a_counterexample_fails_by_more_than_rounding(entry: Claim) -> None:
    assert entry.margin(entry.counterexample) < -1000 * max(entry.slack, 1e-12)
