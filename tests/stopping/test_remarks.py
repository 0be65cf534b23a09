"""What a rule says of a log: whose votes it reads, and that it cannot fire."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from d3stats import replay
from d3stats.protocols import play_sync, protocol_from_text
from d3stats.stopping import Declaration, from_text
from d3stats.trajectories import Trajectories
from d3stats.worlds import Courtroom, simulate_debates
from d3stats.worlds.streams import synthetic_agent, synthetic_items


def debates(*agents: str, silent: str = "", roles: tuple[str, ...] | None = None) -> Trajectories:
    """Two debates of three rounds; all agents vote A in every round, one of them never."""
    rows = [
        {
            "debate": d,
            "round": r,
            "agent": agent,
            "role": agent,
            "vote": None if agent == silent else "A",
            "label": "A",
        }
        for d in ("d1", "d2")
        for r in (1, 2, 3)
        for agent in agents
    ]
    return Trajectories.from_frame(pd.DataFrame(rows), roles=roles)


def renamed(t: Trajectories) -> Trajectories:
    return replace(t, debates=tuple(f"other {name}" for name in t.debates))


@pytest.mark.parametrize(
    ("rule", "whose"),
    [
        ("declaration", "zoe"),
        ("declaration:0", "judge"),
        ("declaration:-2", "moderator"),
        ("declaration:1", "moderator"),
    ],
)
def test_a_replay_says_whose_votes_a_declaration_is(rule: str, whose: str) -> None:
    notes = replay(debates("zoe", "judge", "moderator"), f"{rule} & fixed:2").notes
    (note,) = (note for note in notes if "as the judge's" in note)
    assert f"takes the votes of {whose!r} as the judge's" in note


def test_a_declaration_from_the_end_is_refused_where_a_judge_who_never_votes_may_have_left_its_seat() -> None:
    t = debates("debater", "moderator", silent="moderator")
    for log in (t, t.select([1]), Trajectories.concat(t, renamed(debates("debater", "moderator")))):
        with pytest.raises(ValueError, match=r"seat must count from the front, .* 'debater'\. Use seat=0 if"):
            replay(log, "declaration") if len(log) > 1 else Declaration().stop_rounds(log)
    assert set(Declaration(0).stop_rounds(t).reasons.tolist()) == {"declaration"}
    (note,) = Declaration(0).remarks(t)
    assert "takes the votes of 'debater' as the judge's" in note


def test_a_judge_who_never_votes_keeps_its_seat_where_the_voting_roles_are_named() -> None:
    t = debates("debater", "moderator", silent="moderator", roles=("debater", "moderator"))
    assert set(Declaration().stop_rounds(t).reasons.tolist()) == {"exhausted"}


def test_silence_in_front_of_the_judge_moves_no_seat_that_counts_from_the_end() -> None:
    t = debates("advocate", "judge", silent="advocate")
    assert set(Declaration().stop_rounds(t).reasons.tolist()) == {"declaration"}


def test_a_declaration_from_a_seat_that_nobody_has_is_said_never_to_fire() -> None:
    t = debates("debater", "moderator")
    (note,) = Declaration(2).remarks(t)
    assert "never fires, because no debate of this log has the seat 2" in note
    assert set(Declaration(2).stop_rounds(t).reasons.tolist()) == {"exhausted"}


WHOLE_PANEL = ["supermajority:1.0", "unanimity:block", "ladder:{panel}"]


@pytest.mark.parametrize("panel", [2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("text", WHOLE_PANEL)
def test_a_rule_that_asks_for_a_seat_that_stays_empty_says_so(text: str, panel: int) -> None:
    t = simulate_debates(Courtroom(panel=panel, poll="every_round"), 60, 3, rng=1)
    empty = np.full((*t.votes.shape[:2], 1), -1)
    wider = replace(
        t, votes=np.concatenate([t.votes, empty], axis=2), panel=t.panel + 1, seats=(*t.seats, "nobody")
    )
    for log, size in ((t, panel), (wider, panel + 1)):
        rule = from_text(text.format(panel=size))
        fires = bool((rule.stop_rounds(log).reasons != "exhausted").any())
        notes = [note for note in rule.remarks(log) if "cannot fire in" in note]
        assert fires == (log is t)
        assert len(notes) == (log is wider)


@pytest.mark.parametrize("panel", [2, 4])
def test_an_even_jury_that_is_played_has_no_empty_seat_and_the_rule_fires(panel: int) -> None:
    world = Courtroom(panel=panel, poll="every_round")
    protocol = protocol_from_text(f"samre:jurors={panel},poll=every_round,personas=none,max_rounds=2")
    rule, agent = from_text("supermajority:1.0"), synthetic_agent(world, seed=2)
    heard: list[tuple] = []
    for item in synthetic_items(world, 4, seed=2):
        play_sync(protocol, item.case(item.question), agent, heard=heard)
    turns = pd.DataFrame(
        {
            "debate": q.case.debate,
            "round": q.round,
            "agent": q.agent,
            "role": q.role,
            "vote": reply.vote,
            "label": "A",
        }
        for q, reply in heard
    )
    t = Trajectories.from_frame(turns)
    assert t.panel.tolist() == [panel] * 4
    assert rule.remarks(t) == ()
    assert (rule.stop_rounds(t).reasons == "supermajority").any()


@pytest.mark.parametrize("text", ["unanimity", "supermajority:0.8", "ladder:3-2", "unanimity:block"])
def test_some_missing_votes_are_no_reason_to_say_that_a_rule_cannot_fire(text: str) -> None:
    rng = np.random.default_rng(1)
    votes = rng.integers(0, 2, (50, 4, 5))
    votes[rng.random(votes.shape) < 0.05] = -1
    assert from_text(text).remarks(Trajectories.from_arrays(votes, answers=["A", "B"])) == ()
