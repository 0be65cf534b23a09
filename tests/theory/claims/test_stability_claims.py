"""What the stability paper claims: what own and fresh responses do to beliefs, and what a KS distance of 0 hides."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given

from d3stats.models.beliefs.latent import (
    expected_belief,
)
from d3stats.theory import claim
from d3stats.theory.instances.beliefs import (
    Discussion,
    Evidence,
    evidence,
)
from d3stats.theory.instances.votes import (
    CountChain,
    TwoRounds,
    voter_row,
)

HALF = Fraction(1, 2)

STRONG = ((Fraction(9, 10), Fraction(1, 10)), (Fraction(1, 10), Fraction(9, 10)))


@given(evidence(fresh=False))
def test_a_panels_own_responses_leave_the_expected_belief_alone(case: Evidence) -> None:
    assert case.expected == pytest.approx(float(case.prior[0]), abs=1e-12)


@pytest.mark.parametrize(
    ("belief", "n", "expected"),
    [
        (7, 1, 0.7),
        (7, 2, 571298 / 790625),
        (7, 7, 0.784880),
        (3, 2, 219327 / 790625),
        (3, 7, 0.215120),
        (5, 7, 0.5),
    ],
)
def test_own_responses_drawn_at_once_make_beliefs_extreme(belief: int, n: int, expected: float) -> None:
    """All drawn from the belief at the start, and then updated on as if independent given the concept."""
    prior, table = [belief / 10, 1 - belief / 10], [[0.8, 0.2], [0.2, 0.8]]
    spoken = np.array(prior) @ np.array(table)
    assert expected_belief(prior, table, 0, spoken, n_responses=n) == pytest.approx(expected, abs=5e-7)
    assert expected_belief(prior, table, 0, "self", n_responses=n) == pytest.approx(prior[0], abs=1e-12)


def test_fresh_evidence_needs_a_truth_that_speaks_unlike_its_rivals_on_average() -> None:
    """The truth's law is that of neither rival, and is their mean: nothing is learnt of it from one response."""
    tenth = Fraction(1, 10)
    table = ((HALF, HALF), (9 * tenth, tenth), (tenth, 9 * tenth))
    case = Evidence((HALF, HALF / 2, HALF / 2), table, fresh=True, n=1)
    assert case.guaranteed == case.prior[0]
    assert case.expected == pytest.approx(0.5, abs=1e-12)


@given(evidence(fresh=True))
def test_more_fresh_evidence_raises_the_expected_belief_further(case: Evidence) -> None:
    beliefs = [Evidence(case.prior, case.table, True, n).expected for n in range(4)]
    assert all(later >= earlier - 1e-12 for earlier, later in pairwise(beliefs))


def test_strong_matches_are_outweighed_one_by_two_and_balanced_by_one() -> None:
    after = [Discussion((HALF, HALF), STRONG, (0, *[1] * against)).after for against in range(4)]
    assert after == pytest.approx([0.9, 0.5, 0.1, 1 / 82], rel=1e-12)


@pytest.mark.parametrize("panel", [1, 3, 7])
def test_swapping_the_halves_shows_nothing_and_flips_everything(panel: int) -> None:
    wrong, right = (0,) * 50, (panel,) * 50
    swapped = TwoRounds(panel, wrong + right, right + wrong)
    assert (swapped.distance, swapped.share_changed, swapped.share_flipped) == (0.0, 1.0, 1.0)


def test_voters_who_start_as_condorcet_lose_by_debating() -> None:
    """Three voters of accuracy 2/3: all paths of counts, summed with exact fractions, against the first majority."""
    p = Fraction(2, 3)
    first = tuple(comb(3, s) * p**s * (1 - p) ** (3 - s) for s in range(4))
    law = list(first)
    for _ in range(60):
        law = [sum(law[i] * voter_row(3, i)[j] for i in range(4)) for j in range(4)]
    assert float(law[3]) == pytest.approx(2 / 3, abs=1e-9)
    case = CountChain(first, tuple(voter_row(3, s) for s in range(4)))
    assert case.prob_right == p
    assert case.prob_majority_right == pytest.approx(20 / 27)
    assert claim("stability-theorem-4-2").admits(case)
    assert claim("stability-theorem-4-2").margin(case) == pytest.approx(2 / 3 - 20 / 27)
