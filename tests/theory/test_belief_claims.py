"""What is claimed of beliefs, votes and rounds that look alike, and what is true of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d3stats.models.beliefs.latent import (
    amplifies,
    consensus_probability,
    dirichlet_expected_belief,
    expected_belief,
    is_martingale,
    majority_accuracy,
    panel_drift,
)
from d3stats.theory import claim
from d3stats.theory.instances.beliefs import (
    Discussion,
    Evidence,
    Listeners,
    discussions,
    evidence,
    listeners,
)
from d3stats.theory.instances.votes import (
    Ballot,
    CountChain,
    TwoRounds,
    absorbed_right,
    condorcet_chains,
    count_chains,
    voter_row,
)

HALF = Fraction(1, 2)
STRONG = ((Fraction(9, 10), Fraction(1, 10)), (Fraction(1, 10), Fraction(9, 10)))


def as_arrays(panel: Listeners) -> tuple[np.ndarray, np.ndarray]:
    """The counts and the weights of a panel as the model takes them."""
    n = len(panel.counts)
    weights = np.array([[float(others.count(j)) for j in range(n)] for others in panel.heard])
    return np.array(panel.counts, dtype=float), weights


def voters(first: tuple[Fraction, ...]) -> CountChain:
    n = len(first) - 1
    return CountChain(first, tuple(voter_row(n, s) for s in range(n + 1)))


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


@given(discussions())
def test_the_condition_for_amplification_is_the_models(case: Discussion) -> None:
    table = [[float(p) for p in row] for row in case.table]
    found = amplifies([float(p) for p in case.prior], table, 0, list(case.heard))
    assert found.after == pytest.approx(case.after, rel=1e-12)
    if case.prob_under_truth != case.prob_under_belief:
        assert found.rises == (case.prob_under_truth > case.prob_under_belief)


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


def test_with_unequal_strengths_the_mean_belief_drifts_towards_the_strong() -> None:
    panel = Listeners(((9, 1), (1, 1)), ((1,), (0,)))
    drift = [after - now for after, now in zip(panel.next_beliefs, panel.beliefs, strict=True)]
    assert sum(drift) > 0
    assert float(sum(drift) / 2) == pytest.approx(float(panel_drift(*as_arrays(panel))), rel=1e-12)
    assert not claim("panel-mean-martingale").admits(panel)
    assert claim("panel-mean-martingale").margin(panel) < 0


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


@given(count_chains())
def test_the_absorbed_chain_is_what_a_linear_solver_finds(case: CountChain) -> None:
    n = case.panel
    steps = np.array([[float(p) for p in row] for row in case.steps])
    inner = steps[1:n, 1:n]
    solved = np.linalg.solve(np.eye(n - 1) - inner, steps[1:n, n]) if n > 1 else []
    assert [float(h) for h in absorbed_right(case.steps)[1:n]] == pytest.approx(list(solved), abs=1e-10)


@given(condorcet_chains())
def test_consensus_is_right_as_often_as_the_model_says(case: CountChain) -> None:
    assert float(case.prob_right) == pytest.approx(
        consensus_probability(float(case.mean_accuracy)), abs=1e-12
    )


def test_a_panel_that_follows_its_majority_is_no_martingale_and_breaks_theorem_d() -> None:
    """All take the side of the majority: the consensus is then Condorcet's, above the mean accuracy."""
    follow = ((1, 0, 0, 0), (1, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 1))
    p = Fraction(7, 10)
    first = tuple(c * p**s * (1 - p) ** (3 - s) for s, c in enumerate((1, 3, 3, 1)))
    case = CountChain(first, tuple(tuple(Fraction(x) for x in row) for row in follow))
    assert case.prob_right == Fraction(98, 125)
    assert claim("theorem-d").margin(case) == pytest.approx(-0.084)
    assert not claim("theorem-d").admits(case)


def test_where_beliefs_are_martingales_the_count_of_votes_need_not_be() -> None:
    """Two agents with counts (1, 1) have both said the right answer: each now believes 2/3, not 1."""
    before, after = (Listeners((pair, pair), ((1,), (0,))) for pair in ((1, 1), (2, 1)))
    assert before.next_beliefs == before.beliefs
    assert after.next_beliefs == after.beliefs
    said, expected_next = 2, sum(after.beliefs)
    assert expected_next == Fraction(4, 3) < said
    theorem = claim("theorem-d")
    assert "voter model" in theorem.source.place
    assert "2508.17536" not in str(theorem.source)


def test_where_the_majority_is_likely_wrong_consensus_beats_the_vote() -> None:
    case = voters((Fraction(0), Fraction(0), Fraction(0), Fraction(1), *[Fraction(0)] * 4))
    assert (case.prob_majority_right, case.prob_right) == (0, Fraction(3, 7))
    assert not claim("vote-beats-consensus").admits(case)
    assert claim("vote-beats-consensus").margin(case) < 0


@pytest.mark.parametrize("panel", [1, 3, 7])
def test_swapping_the_halves_shows_nothing_and_flips_everything(panel: int) -> None:
    wrong, right = (0,) * 50, (panel,) * 50
    swapped = TwoRounds(panel, wrong + right, right + wrong)
    assert (swapped.distance, swapped.share_changed, swapped.share_flipped) == (0.0, 1.0, 1.0)


def test_carrying_finished_debates_forward_makes_the_distance_fall_by_itself() -> None:
    moving = TwoRounds(3, (1, 1, 2), (2, 2, 3))
    carried = TwoRounds(3, moving.before + (3,) * 9, moving.after + (3,) * 9)
    assert carried.distance == pytest.approx(moving.distance * 3 / 12)
    assert carried.distance <= carried.share_changed == 3 / 12


def test_a_tie_is_a_side_of_its_own() -> None:
    assert TwoRounds(2, (1, 1, 0), (2, 1, 1)).share_flipped == pytest.approx(2 / 3)
