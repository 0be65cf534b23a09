"""What a rule says of a log: whose votes it reads, and that it cannot fire."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from d3stats import replay
from d3stats.agents.synthetic import synthetic_agent, synthetic_items
from d3stats.protocols import play_sync
from d3stats.protocols.catalogue import protocol_from_text
from d3stats.simulate import simulate
from d3stats.stopping import Declaration, from_text
from d3stats.trajectories import Trajectories
from d3stats.worlds import Courtroom


def debates(*agents: str, silent: str = "") -> Trajectories:
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
    return Trajectories.from_frame(pd.DataFrame(rows))


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
    notes = replay(debates("zoe", "judge", "moderator"), f"{rule} & fixed:2", n_boot=50, rng=1).notes
    (note,) = (note for note in notes if "as the judge's" in note)
    assert f"takes the votes of {whose!r} as the judge's" in note


def test_a_judge_who_never_votes_has_no_seat_and_the_note_names_who_is_read_in_its_place() -> None:
    (note,) = Declaration().remarks(debates("debater", "moderator", silent="moderator"))
    assert "takes the votes of 'debater' as the judge's" in note


def test_a_declaration_from_a_seat_that_nobody_has_is_said_never_to_fire() -> None:
    t = debates("debater", "moderator")
    (note,) = Declaration(2).remarks(t)
    assert "never fires: no debate of this log has the seat 2" in note
    assert set(Declaration(2).stop_rounds(t).reasons.tolist()) == {"exhausted"}


WHOLE_PANEL = ["supermajority:1.0", "unanimity:block", "ladder:{seats}"]


@pytest.mark.parametrize("panel", [2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("text", WHOLE_PANEL)
def test_a_rule_that_waits_for_the_empty_seat_of_an_even_jury_says_so(text: str, panel: int) -> None:
    t = simulate(Courtroom(panel=panel, poll="every_round"), 60, 3, rng=1)
    rule = from_text(text.format(seats=len(t.seats)))
    fires = bool((rule.stop_rounds(t).reasons != "exhausted").any())
    notes = [note for note in rule.remarks(t) if "cannot fire in" in note]
    assert fires == (panel % 2 == 1)
    assert len(notes) == (panel % 2 == 0)


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
