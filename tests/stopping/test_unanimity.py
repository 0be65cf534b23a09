"""What counts as agreement when votes are missing."""

from __future__ import annotations

import pytest

from d3stats.stopping import Round, Unanimity, rounds_of
from d3stats.trajectories import Trajectories


@pytest.mark.parametrize(
    ("votes", "exclude", "block", "one_is_enough"),
    [
        ((1, 1, 1), True, True, True),
        ((1, 1, 2), False, False, False),
        ((1, 1, -1), True, False, True),
        ((1, -1, -1), False, False, True),
        ((-1, -1, -1), False, False, False),
        ((1, 2, -1), False, False, False),
        ((4,), True, True, True),
        ((-1,), False, False, False),
    ],
)
def test_a_missing_vote_is_left_out_or_blocks(
    votes: tuple[int, ...], exclude: bool, block: bool, one_is_enough: bool
) -> None:
    latest = Round(1, votes, len(votes))
    assert Unanimity().start().update(latest).stop is exclude
    assert Unanimity(missing="block").start().update(latest).stop is block
    assert Unanimity(min_votes=1).start().update(latest).stop is one_is_enough


def test_an_empty_seat_beyond_the_panel_is_not_a_missing_vote() -> None:
    t = Trajectories.from_arrays([[["A", "A", None]]], ["A"], panel=[2])
    assert Unanimity(missing="block").stop_rounds(t).reasons.tolist() == ["unanimity"]
    assert next(rounds_of(t, 0)).votes == (0, 0)


def test_unknown_treatments_of_missing_votes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"missing must be one of 'exclude', 'block'; got missing='drop'"):
        Unanimity(missing="drop")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"min_votes must be >= 1"):
        Unanimity(min_votes=0)


def test_rounds_of_a_debate_that_is_not_there_are_refused() -> None:
    t = Trajectories.from_arrays([[["A"]]], ["A"])
    with pytest.raises(ValueError, match=r"debate must be below 1; got debate=1"):
        next(rounds_of(t, 1))


def test_a_round_carries_tokens_and_scores_and_says_none_for_missing_ones() -> None:
    t = Trajectories.from_arrays(
        [[["A"], ["A"]]],
        ["A"],
        tokens=[[10.0, float("nan")]],
        scores=[[[1.0, float("nan")], [2.0, 3.0]]],
        sides=["pro", "con"],
    )
    first, second = rounds_of(t, 0)
    assert (first.tokens, first.scores) == (10.0, (1.0, None))
    assert (second.tokens, second.scores) == (None, (2.0, 3.0))
