"""``|`` stops at the earlier stop, ``&`` at the later one, ``after`` ignores what came too early."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stopping_strategies import debate_rules, logs

from d3stats.stopping import (
    FixedRounds,
    FullDepth,
    KSStability,
    Round,
    Rule,
    StoppingRule,
    Unanimity,
    batch_rounds,
)
from d3stats.trajectories import Trajectories


def log_of(*rounds: str) -> Trajectories:
    """One debate; each round is a string of one-letter votes."""
    return Trajectories.from_arrays([[list(votes) for votes in rounds]], ["A"])


@given(debate_rules, debate_rules, logs())
def test_or_is_the_minimum_and_and_the_maximum_of_the_two_stops(a: Rule, b: Rule, t: Trajectories) -> None:
    first, second = a.stop_rounds(t).rounds, b.stop_rounds(t).rounds
    assert (a | b).stop_rounds(t).rounds.tolist() == np.minimum(first, second).tolist()
    assert (a & b).stop_rounds(t).rounds.tolist() == np.maximum(first, second).tolist()


@given(debate_rules, debate_rules, logs())
def test_order_matters_to_the_reason_only(a: Rule, b: Rule, t: Trajectories) -> None:
    assert (a | b).stop_rounds(t).rounds.tolist() == (b | a).stop_rounds(t).rounds.tolist()
    assert (a & b).stop_rounds(t).rounds.tolist() == (b & a).stop_rounds(t).rounds.tolist()


@given(debate_rules, logs(), st.integers(1, 6))
def test_after_never_stops_before_that_many_rounds(a: Rule, t: Trajectories, k: int) -> None:
    rounds = a.after(k).stop_rounds(t).rounds
    assert (rounds >= np.minimum(k, t.depth)).all()
    assert (rounds >= a.stop_rounds(t).rounds).all()


def test_after_waits_for_the_next_firing_and_and_does_not() -> None:
    t = log_of("AA", "AB", "AB", "BB")
    assert Unanimity().after(2).stop_rounds(t).rounds.tolist() == [4]
    latched = (Unanimity() & FixedRounds(2)).stop_rounds(t)
    assert (latched.rounds.tolist(), latched.reasons.tolist()) == ([2], ["fixed_rounds"])


def test_the_left_rule_gives_the_reason_when_both_fire_at_once() -> None:
    t = log_of("AB", "AA")
    both = FixedRounds(2), Unanimity()
    assert (both[0] | both[1]).stop_rounds(t).reasons.tolist() == ["fixed_rounds"]
    assert (both[1] | both[0]).stop_rounds(t).reasons.tolist() == ["unanimity"]
    assert (both[1] & both[0]).stop_rounds(t).reasons.tolist() == ["unanimity"]


@pytest.mark.parametrize("second", [FixedRounds(2), KSStability(patience=1)], ids=str)
def test_the_later_rule_gives_the_reason_of_both_however_long_after(second: StoppingRule) -> None:
    t = log_of("AB", "AB", "AA", "AA", "AA")
    stops = (Unanimity() & second).after(4).stop_rounds(t)
    assert (stops.rounds.tolist(), stops.reasons.tolist()) == ([4], ["unanimity"])


def test_a_rule_that_never_fires_exhausts_the_debate() -> None:
    stops = FullDepth().stop_rounds(log_of("AB", "AB"))
    assert (stops.rounds.tolist(), stops.reasons.tolist()) == ([2], ["exhausted"])


def test_firing_in_the_last_round_of_the_log_is_not_exhaustion() -> None:
    assert FixedRounds(2).stop_rounds(log_of("AB", "AB")).reasons.tolist() == ["fixed_rounds"]


def test_a_debate_stops_at_the_first_of_its_own_stop_and_the_batchs() -> None:
    votes = [
        [["A", "A"], ["A", "A"], ["A", "A"], ["A", "A"]],
        [["A", "B"], ["A", "B"], ["A", "B"], ["A", "B"]],
        [["A", "B"], ["A", "B"], ["A", "B"], ["A", "B"]],
    ]
    t = Trajectories.from_arrays(votes, ["A", "A", "A"])
    stops = (Unanimity() | KSStability(patience=2)).stop_rounds(t)
    assert stops.rounds.tolist() == [1, 3, 3]
    assert stops.reasons.tolist() == ["unanimity", "ks_stable", "ks_stable"]


def test_a_stopped_debate_no_longer_speaks_to_the_batch() -> None:
    # Debate 1 agrees at once; its log goes on and keeps moving, the other two stand still.
    moving = [["A", "A"], ["B", "B"], ["A", "A"], ["B", "B"]]
    still = [["A", "B"]] * 4
    t = Trajectories.from_arrays([moving, still, still], ["A", "A", "A"])
    assert KSStability(patience=1).stop_rounds(t).reasons.tolist() == ["exhausted"] * 3
    assert (Unanimity() | KSStability(patience=1)).stop_rounds(t).rounds.tolist() == [1, 2, 2]


def test_carried_debates_count_as_they_stood_when_they_finished() -> None:
    moving = [["A", "A"], ["B", "B"], ["A", "A"], ["B", "B"]]
    still = [["A", "B"]] * 4
    t = Trajectories.from_arrays([moving, still, still], ["A", "A", "A"])
    assert KSStability().distances(t) == (None, 1 / 3, 1 / 3, 1 / 3)
    assert KSStability(carry=Unanimity()).distances(t) == (None, 0.0, 0.0, 0.0)


def test_after_takes_whole_rounds_from_one_on() -> None:
    with pytest.raises(ValueError, match=r"rounds must be >= 1; got rounds=0"):
        Unanimity().after(0)
    with pytest.raises(ValueError, match=r"rounds must be >= 1"):
        (Unanimity() | KSStability()).after(0)


def test_rules_combine_with_rules_only() -> None:
    with pytest.raises(TypeError):
        Unanimity() | "fixed:2"  # type: ignore[operator]
    with pytest.raises(TypeError):
        KSStability() & 3  # type: ignore[operator]


def test_a_batch_must_come_in_order_and_keep_its_debates() -> None:
    t = Trajectories.from_arrays([[["A"], ["A"], ["B"]], [["A"], ["B"], ["B"]]], ["A", "B"])
    first, second, third = batch_rounds(t)
    state = KSStability().start()
    state.update(first)
    with pytest.raises(ValueError, match=r"number must be 2, the next round; got number=3"):
        state.update(third)
    state = KSStability().start()
    state.update(next(batch_rounds(t.select([0]))))
    with pytest.raises(ValueError, match=r"same debates every round \(1\); got 2"):
        state.update(second)


def test_a_round_names_what_is_wrong_with_it() -> None:
    with pytest.raises(ValueError, match=r"number must be >= 1; got number=0"):
        Round(0, (0, 1), 2)
    with pytest.raises(ValueError, match=r"one code per seat.*got 2 votes for panel=3"):
        Round(1, (0, 1), 3)
    with pytest.raises(ValueError, match=r"codes >= -1; got votes=\(0, -2\)"):
        Round(1, (0, -2), 2)
