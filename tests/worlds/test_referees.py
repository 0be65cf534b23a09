"""The referee team: who hears whom, what that does to the order of speaking, and what it costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from d3stats.trajectories import Trajectories
from d3stats.worlds import Referees, simulate_debates

COMMUNICATION = ("one_by_one", "simultaneous", "simultaneous_with_summarizer")
ONE_BY_ONE, SIMULTANEOUS, SUMMARIZED = COMMUNICATION
every_mode = pytest.mark.parametrize("mode", COMMUNICATION)

MIDDLE: dict[str, Any] = {"base": 5.5, "level_sd": 0.5, "position_bias": 0.0}
"""Scores in the middle of 1 to 10, where rounding and clipping move no mean."""


def team(mode: Any = ONE_BY_ONE, **settings: Any) -> Referees:
    return Referees(communication=mode, **settings)


def lead(t: Trajectories) -> np.ndarray:
    """The team's mean score of A minus that of B, shape (debates, turns)."""
    assert t.scores is not None
    return t.scores[:, :, 0] - t.scores[:, :, 1]


def right(t: Trajectories) -> np.ndarray:
    return np.asarray((t.votes == t.label[:, None, None]).mean(axis=0))


# ---------------------------------------------------------------- scores and votes


@given(
    mode=st.sampled_from(COMMUNICATION),
    panel=st.integers(1, 5),
    base=st.floats(1, 10),
    gap_sd=st.floats(0, 30),
    conformity=st.floats(0, 1),
    seed=st.integers(0, 2**32),
)
def test_scores_are_means_of_whole_numbers_from_1_to_10_in_any_team(
    mode: str, panel: int, base: float, gap_sd: float, conformity: float, seed: int
) -> None:
    t = simulate_debates(
        team(mode, panel=panel, base=base, gap_sd=gap_sd, conformity=conformity), 30, 3, seed
    )
    assert t.scores is not None
    assert t.tokens is not None
    sums = t.scores * panel
    np.testing.assert_allclose(sums, np.rint(sums), atol=1e-9)
    assert t.scores.min() >= 1
    assert t.scores.max() <= 10
    assert (t.tokens > 0).all()


def test_a_referee_votes_for_the_higher_score_and_calls_equal_scores_a_tie() -> None:
    t = simulate_debates(team(panel=1), 2000, 2, 1)
    difference = lead(t)
    expected = np.where(difference > 0, 0, np.where(difference < 0, 1, 2))
    assert set(np.unique(expected)) == {0, 1, 2}
    np.testing.assert_array_equal(t.votes[:, :, 0], expected)
    assert t.answers == ("A", "B", "tie")


def test_equal_answers_read_without_error_are_a_unanimous_tie() -> None:
    silent = {"gap_sd": 0, "shared_sd": 0, "role_sd": 0, "talk_noise": 0, "summary_noise": 0}
    for mode in COMMUNICATION:
        t = simulate_debates(team(mode, **silent, position_bias=0, label_noise=0), 50, 3, 1)
        assert (t.votes == 2).all()
        assert (t.label == 2).all()


def test_the_label_is_a_tie_as_often_as_the_margin_says() -> None:
    t = simulate_debates(team(gap_sd=1.5, label_noise=0.8, tie_margin=0.4), 20000, 2, 1)
    expected = 2 * stats.norm.cdf(0.4 / np.hypot(1.5, 0.8)) - 1
    assert (t.label == 2).mean() == pytest.approx(expected, abs=4 * np.sqrt(0.15 / 20000))
    assert not (simulate_debates(team(tie_margin=0), 2000, 2, 1).label == 2).any()


# ---------------------------------------------------------------- who hears whom


def first_turn_lead(mode: str, lean: tuple[float, ...]) -> float:
    return float(
        lead(simulate_debates(team(mode, lean=lean, conformity=0.4, **MIDDLE), 10000, 2, 1))[:, 0].mean()
    )


def test_one_by_one_the_first_voice_moves_the_team_more_than_the_last() -> None:
    w = 0.4
    first, last = first_turn_lead(ONE_BY_ONE, (2, 0, 0)), first_turn_lead(ONE_BY_ONE, (0, 0, 2))
    # The second hears the first, the third the mean of both; the last one's lean keeps the weight 1 - w.
    assert first == pytest.approx(2 * (1 + w + w * (1 + w) / 2) / 3, abs=0.06)
    assert last == pytest.approx(2 * (1 - w) / 3, abs=0.06)


def test_one_by_one_the_first_voice_of_a_turn_has_heard_the_last_of_the_turn_before() -> None:
    w, lean = 0.4, 2.0
    plain, leaning = (
        lead(simulate_debates(team(lean=by, conformity=w, **MIDDLE), 20000, 2, 1))[:, 1].mean()
        for by in ((), (0, 0, lean))
    )
    third = (1 - w) * lean
    one = w * (0 + third) / 2
    two = w * (one + third) / 2
    assert leaning - plain == pytest.approx((one + two + third + w * (one + two) / 2) / 3, abs=0.025)


@pytest.mark.parametrize("mode", [SIMULTANEOUS, SUMMARIZED])
def test_when_all_talk_at_once_it_does_not_matter_who_leans(mode: str) -> None:
    teams = [team(mode, lean=lean, **MIDDLE) for lean in ((2, 0, 0), (0, 0, 2))]
    first, last = (lead(simulate_debates(t, 20000, 3, 1)).mean(axis=0) for t in teams)
    np.testing.assert_allclose(first, last, atol=0.03)
    assert first[0] == pytest.approx(2 / 3, abs=0.06)


def test_one_by_one_a_later_seat_is_more_often_right_in_the_first_turn() -> None:
    in_order = right(simulate_debates(team(ONE_BY_ONE, role_sd=2, shared_sd=0.3), 20000, 2, 1))[0]
    assert in_order[1] > in_order[0] + 0.02
    assert in_order[2] > in_order[0] + 0.03


@pytest.mark.parametrize("mode", [SIMULTANEOUS, SUMMARIZED])
def test_when_all_talk_at_once_seats_are_exchangeable(mode: str) -> None:
    t = simulate_debates(team(mode, role_sd=2, shared_sd=0.3), 20000, 3, 1)
    for turn in range(3):
        seats = right(t)[turn]
        assert np.ptp(seats) < 5 * np.sqrt(2 * 0.25 / 20000)


def test_a_team_that_does_not_listen_says_the_same_in_every_mode() -> None:
    deaf = [simulate_debates(team(mode, conformity=0), 500, 3, 1) for mode in COMMUNICATION]
    for other in deaf[1:]:
        np.testing.assert_array_equal(deaf[0].votes, other.votes)
        np.testing.assert_array_equal(deaf[0].scores, other.scores)


@every_mode
def test_listening_brings_the_referees_together(mode: str) -> None:
    deaf, open_minded = (
        (votes[:, 1, 0] == votes[:, 1, 1]).mean()
        for votes in (simulate_debates(team(mode, conformity=w), 5000, 2, 1).votes for w in (0, 0.5))
    )
    assert deaf < open_minded - 0.05


def test_two_who_talk_at_once_and_only_listen_trade_places_forever() -> None:
    votes = simulate_debates(
        team(SIMULTANEOUS, panel=2, conformity=1, talk_noise=0, gap_sd=0.5, **MIDDLE), 500, 3, 1
    ).votes
    assert (votes[:, 0, 0] != votes[:, 0, 1]).mean() > 0.3
    np.testing.assert_array_equal(votes[:, 1], votes[:, 0, ::-1])
    np.testing.assert_array_equal(votes[:, 2], votes[:, 0])


def test_a_noisy_summary_misleads_the_whole_team_at_once() -> None:
    clear, noisy = (
        lead(simulate_debates(team(SUMMARIZED, summary_noise=s, conformity=0.8, **MIDDLE), 20000, 3, 1))
        for s in (0.0, 3.0)
    )
    np.testing.assert_array_equal(clear[:, 0], noisy[:, 0])
    # One error of sd .8 x 3 for all, so averaging over referees does not take it away.
    assert noisy[:, 1].var() - clear[:, 1].var() == pytest.approx(2.4**2, rel=0.1)
    # The next summary is of both turns, so half of the error is in it, beside its own.
    assert noisy[:, 2].var() - clear[:, 2].var() == pytest.approx(2.4**2 * (1 + 0.4**2), rel=0.1)


def test_one_referee_who_hears_nobody_keeps_to_the_first_opinion() -> None:
    t = simulate_debates(team(panel=1, talk_noise=0), 500, 4, 1)
    assert (t.votes == t.votes[:, :1]).all()


# ---------------------------------------------------------------- order of the answers


def test_without_position_bias_the_order_of_the_answers_changes_nothing() -> None:
    a, b = (simulate_debates(team(position_bias=0, first=first), 300, 3, 1) for first in ("A", "B"))
    np.testing.assert_array_equal(a.scores, b.scores)


@every_mode
def test_position_bias_turns_verdicts_with_the_order(mode: str) -> None:
    turned = []
    for bias in (0.3, 1.0, 3.0):
        a, b = (
            simulate_debates(team(mode, position_bias=bias, first=first), 3000, 2, 1).verdicts()
            for first in ("A", "B")
        )
        turned.append((a != b)[:, -1].mean())
    assert turned[0] < turned[1] < turned[2]


def test_another_run_keeps_the_items_and_talks_anew() -> None:
    first, again = (simulate_debates(team(run=run), 2000, 2, 1) for run in (0, 1))
    np.testing.assert_array_equal(first.label, again.label)
    assert 0.6 < (first.verdicts() == again.verdicts()).mean() < 1


# ---------------------------------------------------------------- tokens


SMALL: dict[str, Any] = {
    "panel": 3,
    "slack": 0,
    "question_words": 0,
    "instruction_words": 1,
    "answer_words": 5,
    "reply_words": 2,
    "summary_words": 4,
}


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        # Three prompts of 11; within a turn the second reads 2 more and the third 4; 6 a turn are said.
        (ONE_BY_ONE, [33 + 6 + 6, 33 + 18 + 6 + 6, 33 + 36 + 6 + 6]),
        (SIMULTANEOUS, [33 + 6, 33 + 18 + 6, 33 + 36 + 6]),
        # The summarizer reads 1 + everything said and writes 4; the others read the summaries.
        (SUMMARIZED, [33 + 6 + 1 + 6 + 4, 33 + 12 + 6 + 1 + 12 + 4, 33 + 24 + 6 + 1 + 18 + 4]),
    ],
)
def test_tokens_are_those_counted_by_hand(mode: str, words: list[float]) -> None:
    tokens = simulate_debates(team(mode, **SMALL), 2, 3, 1).tokens
    np.testing.assert_allclose(tokens, np.tile(words, (2, 1)) * 4 / 3)


@every_mode
def test_every_turn_costs_more_than_the_one_before(mode: str) -> None:
    tokens = simulate_debates(team(mode), 200, 5, 1).tokens
    assert tokens is not None
    assert (np.diff(tokens, axis=1) > 0).all()


def test_a_summarizer_costs_at_first_and_saves_in_a_long_discussion() -> None:
    plain, summed = (simulate_debates(team(mode), 200, 8, 1).tokens for mode in (SIMULTANEOUS, SUMMARIZED))
    assert plain is not None
    assert summed is not None
    assert (summed[:, 0] > plain[:, 0]).all()
    assert (summed.sum(axis=1) < plain.sum(axis=1)).all()


# ---------------------------------------------------------------- seeds


@every_mode
@pytest.mark.parametrize("sizes", [[1, 1023, 1024, 452], [700, 900, 900]])
def test_the_same_seed_gives_the_same_talks_however_they_are_cut(mode: str, sizes: list[int]) -> None:
    whole = simulate_debates(team(mode), 2500, 2, 7)
    starts = np.cumsum([0, *sizes[:-1]])
    parts = [
        simulate_debates(team(mode), n, 2, 7, first=int(at)) for n, at in zip(sizes, starts, strict=True)
    ]
    for name in ("votes", "label", "scores", "tokens"):
        np.testing.assert_array_equal(getattr(whole, name), np.concatenate([getattr(p, name) for p in parts]))


def test_every_team_of_a_seed_meets_the_same_items() -> None:
    teams = [team(mode, panel=n) for mode in COMMUNICATION for n in (2, 5)]
    labels = [simulate_debates(t, 500, 2, 1).label for t in teams]
    assert all((label == labels[0]).all() for label in labels)


# ---------------------------------------------------------------- the paper's aggregates


@every_mode
def test_the_default_team_of_three_is_near_its_paper_and_better_than_one(mode: str) -> None:
    """Chat of three: .60 right of three labels, one agent: .54, each of 80 items (standard error .055)."""
    three = simulate_debates(team(mode), 20000, 2, 1)
    assert (three.verdicts()[:, 1] == three.label).mean() == pytest.approx(0.60, abs=0.015)
    alone = simulate_debates(replace(team(mode), panel=1), 20000, 2, 1)
    assert (alone.verdicts()[:, 0] == alone.label).mean() == pytest.approx(0.54, abs=0.04)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"panel": 0}, "panel must be >= 1; got panel=0"),
        ({"communication": "shouting"}, "communication must be one of 'one_by_one', .*; got communication="),
        ({"first": "tie"}, "first must be one of 'A', 'B'; got first='tie'"),
        ({"base": 11}, "base must lie between 1 and 10; got base=11"),
        ({"conformity": -0.1}, "conformity must lie between 0 and 1; got conformity=-0.1"),
        ({"role_sd": -1}, "role_sd must be >= 0; got role_sd=-1"),
        ({"lean": (1.0, 2.0)}, r"lean must have one number per referee \(3\); got 2"),
        ({"lean": (1.0, 2.0, np.inf)}, "lean must be finite; got lean=inf"),
        ({"run": -1}, "run must be >= 0; got run=-1"),
    ],
)
def test_a_team_that_cannot_be_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Referees(**settings)


@every_mode
def test_one_turn_is_the_first_of_two(mode: str) -> None:
    one, two = (simulate_debates(team(mode), 500, turns, 1) for turns in (1, 2))
    np.testing.assert_array_equal(one.label, two.label)
    assert one.votes.shape == (500, 1, 3)
    # Whole batches are drawn turn by turn within a stream, so the law is the same and the draws are not.
    assert one.scores is not None
    assert two.scores is not None
    assert one.scores[:, 0].mean() == pytest.approx(two.scores[:, 0].mean(), abs=4 * 1.5 / np.sqrt(500))


# ---------------------------------------------------------------- roles that sit twice


def test_referees_of_one_role_read_alike_and_differ_by_the_call() -> None:
    same = team(SIMULTANEOUS, roles=("annotator",) * 3, talk_noise=0)
    assert same.readers == (0, 0, 0)
    votes = simulate_debates(same, 400, 2, 1).votes
    assert (votes == votes[:, :, :1]).all()
    noisy = simulate_debates(replace(same, talk_noise=1.0), 400, 1, 1).votes
    assert 0.05 < (noisy[:, 0, 0] != noisy[:, 0, 1]).mean() < 0.5


def test_only_seats_of_one_role_share_their_error() -> None:
    mixed = team(SIMULTANEOUS, roles=("critic", "scientist", "critic"), talk_noise=0, role_sd=3)
    votes = simulate_debates(mixed, 2000, 1, 1).votes[:, 0]
    assert (votes[:, 0] == votes[:, 2]).all()
    assert (votes[:, 0] != votes[:, 1]).mean() > 0.2


def test_roles_of_their_own_are_the_team_without_roles() -> None:
    plain, named = (simulate_debates(team(roles=roles), 300, 2, 1) for roles in ((), ("a", "b", "c")))
    np.testing.assert_array_equal(plain.scores, named.scores)
    np.testing.assert_array_equal(plain.votes, named.votes)


def test_repeating_a_role_gains_less_than_adding_one() -> None:
    """Table 3 of ChatEval: the same role for all gains nothing over one agent; here it averages call errors only."""
    settings: dict[str, Any] = {"role_sd": 2.0, "shared_sd": 0.3, "talk_noise": 0.3}
    right_of = [
        (t.verdicts()[:, -1] == t.label).mean()
        for t in (
            simulate_debates(team(panel=1, **settings), 20000, 1, 1),
            simulate_debates(team(roles=("annotator",) * 3, **settings), 20000, 2, 1),
            simulate_debates(team(**settings), 20000, 2, 1),
        )
    ]
    assert right_of[1] == pytest.approx(right_of[0], abs=0.02)
    assert right_of[2] > right_of[1] + 0.04


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (("critic",), r"roles must have one name per referee \(3\); got 1"),
        ("critic", "roles must be a list of names, one per referee; got roles='critic'"),
        ((1, 2, 3), "roles must be a list of names"),
    ],
)
def test_roles_that_do_not_fit_the_team_are_refused(roles: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Referees(roles=roles)
