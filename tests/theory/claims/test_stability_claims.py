"""What the stability paper claims: what own and fresh responses do to beliefs, and what a KS distance of 0 hides."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from d3stats.models.beliefs.latent import (
    expected_belief,
)
from d3stats.theory.instances.beliefs import (
    Discussion,
    Evidence,
    evidence,
)
from d3stats.theory.instances.votes import (
    TwoRounds,
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
