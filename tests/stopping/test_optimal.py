"""The optimal policy as a rule: one meaning online and vectorised, gaps, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import examples

from d3stats.models.chains.optimum import solve
from d3stats.models.chains.process import CountProcess
from d3stats.planning import replay
from d3stats.stopping import Optimal, Round, Unanimity, rounds_of
from d3stats.stopping.text import rule_names
from d3stats.trajectories import MISSING, Trajectories

RNG = np.random.default_rng(11)
PROCESS = CountProcess(
    weights=RNG.dirichlet(np.ones(4)),
    a_is_right=np.array([True, False, True, False]),
    initial=RNG.dirichlet(np.ones(4), size=4),
    steps=RNG.dirichlet(np.ones(4), size=(4, 1, 4)),
    n_rounds=5,
)
RULES = [
    Optimal(solve(PROCESS, cost, verdict=verdict, max_beliefs=beliefs), answer)
    for cost, verdict, beliefs, answer in (
        (0.003, "majority", 2000, 0),
        (0.001, "posterior", 2000, 0),
        (0.001, "posterior", 30, 1),
    )
]


@st.composite
def logs(draw: st.DrawFn, missing: bool = True) -> Trajectories:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, rounds = draw(st.integers(1, 12)), draw(st.integers(1, 7))
    votes = rng.integers(0, 2, size=(n, rounds, 3))
    if missing:
        votes[rng.random(votes.shape) < draw(st.sampled_from([0.0, 0.1, 0.5]))] = MISSING
    depth = rng.integers(0, rounds + 1, size=n)
    votes[np.arange(rounds) >= depth[:, None]] = MISSING
    return Trajectories.from_arrays(votes, answers=["A", "B"], depth=depth)


@examples(15, 60)
def test_the_optimal_rule_stops_online_where_it_stops_vectorised(n_examples: int) -> None:
    drawn = given(st.sampled_from(RULES), logs(), st.integers(1, 4))
    settings(max_examples=n_examples, deadline=None)(drawn(both_faces_stop_alike))()


def both_faces_stop_alike(rule: Optimal, t: Trajectories, n: int) -> None:
    for each in (rule, rule.after(n), rule | Unanimity(), rule & Unanimity()):
        stops = each.stop_rounds(t)
        online = [each.run(rounds_of(t, i)) for i in range(t.n_debates)]
        assert list(zip(stops.rounds.tolist(), stops.reasons.tolist(), strict=True)) == online


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(RULES), logs(missing=False), st.integers(0, 2**32 - 1))
def test_the_optimal_rule_does_not_see_seats_labels_or_the_future(
    rule: Optimal, t: Trajectories, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    stops = rule.stop_rounds(t).rounds
    seated = replace(t, votes=np.ascontiguousarray(t.votes[:, :, rng.permutation(3)]))
    assert rule.stop_rounds(seated).rounds.tolist() == stops.tolist()
    later = (np.arange(t.n_rounds) >= stops[:, None])[:, :, None] & (t.votes != MISSING)
    changed = np.where(later, rng.integers(0, 2, size=t.votes.shape), t.votes).astype(np.int32)
    assert rule.stop_rounds(replace(t, votes=changed)).rounds.tolist() == stops.tolist()


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(RULES), logs())
def test_it_never_stops_in_a_round_with_a_missing_vote_before_the_process_ends(
    rule: Optimal, t: Trajectories
) -> None:
    stops = rule.stop_rounds(t)
    for i in np.flatnonzero(stops.reasons == "optimal"):
        last = stops.rounds[i] - 1
        assert last >= 5 or (t.votes[i, last] != MISSING).all()


def test_a_lost_round_is_weighed_by_every_count_it_may_have_had() -> None:
    rule = RULES[1]
    state = rule.start()
    state.update(Round(1, (0, MISSING, 1), 3))
    state.update(Round(2, (0, 0, 1), 3))
    chance = np.zeros(4)
    # One of two votes seen is for A: one seat is unknown, so one or two of three.
    for first, seen in ((1, 2 / 3), (2, 2 / 3)):
        chance += seen * PROCESS.weights * PROCESS.path_likelihood([first, 2])
    assert state.node == rule.policy.best_node(2, 2, chance)


def test_it_has_no_text_form_but_says_what_it_is() -> None:
    assert str(RULES[0]) == "optimal(cost=0.003)"
    assert "posterior" in str(RULES[1])
    assert "" not in rule_names()
    assert not any(made is Optimal for made in rule_names().values())


def test_it_is_replayed_beside_other_rules() -> None:
    rng = np.random.default_rng(1)
    t = Trajectories.from_arrays(rng.integers(0, 2, size=(40, 5, 3)), [0, 1] * 20, answers=["A", "B"])
    table = replay(t, [RULES[0], RULES[0] | Unanimity(), RULES[0].after(2)]).to_frame()
    assert table["rule"].tolist()[:2] == ["optimal(cost=0.003)", "optimal(cost=0.003) | unanimity"]


def test_other_panels_and_more_answers_are_refused_in_words() -> None:
    rule = RULES[0]
    four = Trajectories.from_arrays([[[0, 1, 0, 0]]], answers=["A", "B"])
    three_answers = Trajectories.from_arrays([[[0, 1, 2]]], answers=["A", "B", "C"])
    with pytest.raises(ValueError, match="panel must be 3"):
        rule.stop_rounds(four)
    with pytest.raises(ValueError, match="panel must be 3"):
        rule.run(rounds_of(four, 0))
    with pytest.raises(ValueError, match="answers must be at most two"):
        rule.stop_rounds(three_answers)
    with pytest.raises(ValueError, match="answers must be at most two"):
        rule.run([Round(1, (0, 1, 2), 3)])
    with pytest.raises(TypeError, match="policy must be an OptimalPolicy"):
        Optimal("policy")  # type: ignore[arg-type]  # what a user might pass
