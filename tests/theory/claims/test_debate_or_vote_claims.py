"""What Debate or Vote claims: beliefs by enumeration, and votes counted one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d3stats.models.beliefs import majority_accuracy
from d3stats.models.beliefs.latent import (
    dirichlet_expected_belief,
    is_martingale,
)
from d3stats.theory import claim
from d3stats.theory.instances.beliefs import (
    Listeners,
    listeners,
)
from d3stats.theory.instances.votes import (
    Ballot,
)


def as_arrays(panel: Listeners) -> tuple[np.ndarray, np.ndarray]:
    """The counts and the weights of a panel as the model takes them."""
    n = len(panel.counts)
    weights = np.array([[float(others.count(j)) for j in range(n)] for others in panel.heard])
    return np.array(panel.counts, dtype=float), weights


@given(listeners())
def test_all_answers_enumerated_give_the_closed_form_of_the_model(panel: Listeners) -> None:
    counts, weights = as_arrays(panel)
    expected = dirichlet_expected_belief(counts, weights)[:, 0]
    assert [float(mean) for mean in panel.next_beliefs] == pytest.approx(expected.tolist(), abs=1e-13)


@given(listeners())
def test_a_belief_is_a_martingale_iff_those_heard_believe_the_same(panel: Listeners) -> None:
    still = [after == now for after, now in zip(panel.next_beliefs, panel.beliefs, strict=True)]
    alike = [heard == now for heard, now in zip(panel.heard_beliefs, panel.beliefs, strict=True)]
    counts, weights = as_arrays(panel)
    assert still == alike == is_martingale(counts, weights).holds.tolist()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=2), st.integers(1, 5), st.integers(1, 4))
def test_the_plurality_is_that_of_all_ballots_counted_one_by_one(
    rivals: list[int], best: int, n: int
) -> None:
    ballot = Ballot((best, *rivals), n)
    won = Fraction(0)
    for votes in product(range(len(ballot.weights)), repeat=n):
        counts = [votes.count(answer) for answer in range(len(ballot.weights))]
        chance = Fraction(prod(ballot.weights[v] for v in votes), sum(ballot.weights) ** n)
        won += chance * (counts[0] == max(counts)) / counts.count(max(counts))
    assert ballot.plurality == won


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
def test_with_two_answers_the_plurality_is_condorcets_majority(right: int, wrong: int, n: int) -> None:
    ballot = Ballot((right, wrong), n)
    assert float(ballot.plurality) == pytest.approx(majority_accuracy(float(ballot.accuracy), n), abs=1e-12)


def test_a_vote_makes_it_worse_where_the_right_answer_is_not_the_likeliest() -> None:
    ballot = Ballot((4, 5), 9)
    assert not claim("debate-or-vote-theorem-2").admits(ballot)
    assert ballot.plurality < ballot.accuracy
