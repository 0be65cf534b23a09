"""Panelists, played through the panel's protocol, against the simulator of the same world."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from twins import distances, far, played, twin

from d3stats.agent import Case, Message, Refused, Request, Slot
from d3stats.protocols.baselines import Majority
from d3stats.protocols.stability import Stability
from d3stats.stopping import Rule, Unanimity
from d3stats.worlds import (
    Conformity,
    Courtroom,
    DirichletCompound,
    LatentConcept,
    Lengths,
    MixturePanel,
    PanelWorld,
    Voter,
    World,
)
from d3stats.worlds.streams import (
    LARGEST_NORMAL,
    Streams,
    seat_of,
    statement,
    synthetic_agent,
    synthetic_items,
    tell,
)

MIXED = Conformity(panel=5, skill=(0, 0.5, 1, 1, -0.5), llms=("x", "x", "y", "z", "z"), shared_points=3)
CELLS: dict[str, tuple[PanelWorld, int, Rule | None]] = {
    "conformity": (Conformity(panel=5), 3, None),
    "conformity, to unanimity": (Conformity(panel=5), 5, Unanimity()),
    "conformity, mixed seats": (MIXED, 3, None),
    "voter, lengths that spread": (Voter(panel=5, lengths=Lengths(spread=0.4)), 3, None),
    "voter, last round": (Voter(panel=5, lengths=Lengths(sees="last_round")), 3, None),
    "mixture, drifting": (MixturePanel(panel=4, persistence=0.6, mean_drift=(0.3, -0.3)), 3, None),
    "mixture, all kept": (MixturePanel(panel=4, persistence=1), 3, None),
    "dirichlet": (DirichletCompound(panel=4), 3, None),
    "dirichlet, neighbours": (DirichletCompound(panel=5, n_answers=4, degree=2), 3, None),
    "latent concept, fresh": (LatentConcept(panel=3), 3, None),
    "latent concept, self": (LatentConcept(panel=3, n_concepts=3, evidence="self", clarity=0.6), 3, None),
}


COMPARED = {
    "conformity": 51,
    "conformity, to unanimity": 89,
    "conformity, mixed seats": 51,
    "voter, lengths that spread": 52,
    "voter, last round": 51,
    "mixture, drifting": 46,
    "mixture, all kept": 46,
    "dirichlet": 46,
    "dirichlet, neighbours": 60,
    "latent concept, fresh": 39,
    "latent concept, self": 44,
}
"""Numbers that 10,000 panels are compared by, but for events that hardly occur."""


def unlike(name: str, n: int, seed: int, **settings: Any) -> dict[str, float]:
    """How far a played panel is from its twin, in standard errors."""
    world, rounds, rule = CELLS[name]
    sees: Any = "last_round" if world.lengths and world.lengths.sees == "last_round" else "history"
    protocol = Stability(panel=world.panel, max_rounds=rounds, sees=sees, camp="none")
    ours = played(protocol, world, n, seed, rule=rule, **settings)
    return distances(ours, twin(world, 10 * n if n > 2000 else 8_000, rounds, seed + 1, rule=rule))


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("conformity", 250),
        *(
            (name, 120)
            for name in ("voter, lengths that spread", "mixture, drifting", "dirichlet, neighbours")
        ),
        ("latent concept, self", 120),
    ],
)
def test_a_played_panel_has_the_law_of_its_twin(name: str, n: int) -> None:
    found = unlike(name, n, 31)
    assert len(found) > 20
    assert not far(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", CELLS)
def test_ten_thousand_played_panels_have_the_law_of_their_twin(name: str) -> None:
    found = unlike(name, 10_000, 11)
    assert len(found) >= COMPARED[name] - 3
    assert not far(found)


def deaf(request: Request) -> Request:
    return replace(request, seen=())


def without_me(request: Request) -> Request:
    return replace(request, seen=tuple(m for m in request.seen if m.speaker != request.agent))


@pytest.mark.parametrize(
    ("name", "wiring", "n"),
    [
        ("conformity", deaf, 150),
        ("conformity", without_me, 200),
        ("latent concept, self", deaf, 150),
    ],
)
def test_a_panelist_that_sees_too_little_breaks_the_law(name: str, wiring: Any, n: int) -> None:
    found = unlike(name, n, 5, wiring=wiring)
    assert any("token" not in where for where in far(found))


def test_panelists_who_forget_what_they_heard_break_the_law() -> None:
    world = DirichletCompound(panel=4, strength=0.5, precision=50, accuracy=0.5)
    protocol, drawn = Stability(panel=4, max_rounds=2, camp="none"), twin(world, 20_000, 2, 6)
    assert not far(distances(played(protocol, world, 200, 5), drawn))
    assert any(
        "token" not in where for where in far(distances(played(protocol, world, 200, 5, wiring=deaf), drawn))
    )


# ---------------------------------------------------------------- single seats


def asked(agent: str, seen: tuple[Message, ...] = (), number: int = 1, debate: str = "d") -> Request:
    case = Case(debate, "1", "?", ("A", "B"))
    return Request(case, number, agent, "panelist", "answer", "", Slot(case.answers), seen, rounds=9)


def vote(speaker: str, answer: str, number: int = 1) -> Message:
    return Message(speaker, number, tell(80.0), vote=answer)


def test_a_voter_copies_a_seat_of_the_last_round_it_sees() -> None:
    agent = synthetic_agent(Voter(panel=3), 3)
    seen = (
        vote("panelist 1", "A"),
        vote("panelist 2", "A"),
        vote("panelist 1", "B", 2),
        vote("panelist 2", "B", 2),
    )
    said = {agent.reply(asked(f"panelist {j}", seen, 3)).vote for j in range(1, 60)}  # type: ignore[attr-defined]  # synthetic
    assert said == {"B"}


def test_a_stubborn_panelist_repeats_the_vote_that_it_sees_of_itself() -> None:
    agent: Any = synthetic_agent(Conformity(panel=3, stubbornness=1.0), 3)
    for mine in "AB":
        seen = (vote("panelist 1", mine), vote("panelist 2", "A"), vote("panelist 3", "B"))
        assert {agent.reply(asked("panelist 1", seen, 2, f"d{i}")).vote for i in range(40)} == {mine}
    others = (vote("panelist 2", "A"), vote("panelist 3", "B"))
    assert {agent.reply(asked("panelist 1", others, 2, f"d{i}")).vote for i in range(40)} == {"A", "B"}


def test_a_panel_of_the_latent_concept_says_the_same_in_turn_and_at_once() -> None:
    for evidence in ("self", "fresh"):
        agent: Any = synthetic_agent(LatentConcept(panel=5, clarity=0.9, evidence=evidence), 3)
        at_once = [agent.reply(asked(f"panelist {j}")) for j in range(1, 6)]
        talk: tuple[Message, ...] = ()
        for j, before in enumerate(at_once, start=1):
            reply = agent.reply(asked(f"panelist {j}", talk))
            assert (reply.vote, reply.text) == (before.vote, before.text)
            talk += (Message(f"panelist {j}", 1, reply.text, vote=reply.vote),)


def test_a_neighbour_is_heard_and_nobody_else() -> None:
    world = DirichletCompound(panel=5, degree=1, strength=0.01, accuracy=0.5)
    agent: Any = synthetic_agent(world, 3)
    heard = tuple(vote("panelist 2", "A") for _ in range(400))
    unheard = tuple(vote("panelist 3", "B") for _ in range(400))
    assert {agent.reply(asked("panelist 1", heard + unheard, 2, f"d{i}")).vote for i in range(60)} == {"A"}


def test_a_seat_that_the_world_has_not_is_refused() -> None:
    agent: Any = synthetic_agent(Conformity(panel=3), 3)
    with pytest.raises(Refused, match=r"panel must have a seat for 'panelist 4'; got panel=3"):
        agent.reply(asked("panelist 4"))
    with pytest.raises(Refused, match="a name that ends in its seat"):
        seat_of("chair")


def test_answers_that_the_world_does_not_know_are_refused() -> None:
    agent: Any = synthetic_agent(LatentConcept(n_concepts=3), 3)
    with pytest.raises(Refused, match="answers must hold those of world 'latent_concept', A, B, C"):
        agent.reply(asked("panelist 1"))


def test_a_world_without_agents_is_named() -> None:
    with pytest.raises(TypeError, match="world must support synthetic agents; got World"):
        synthetic_agent(World(), 3)
    with pytest.raises(TypeError, match="world must support synthetic items; got World"):
        synthetic_items(World(), 3)


def test_each_answer_is_right_equally_often() -> None:
    world = DirichletCompound(n_answers=4)
    labels = [item.label for item in synthetic_items(world, 4000, 3)]
    counts = np.array([labels.count(letter) for letter in "ABCD"])
    assert (np.abs(counts - 1000) < 4 * np.sqrt(750)).all()


def test_a_majority_of_independent_judges_is_played_too() -> None:
    ours = played(Majority(judges=5), Voter(panel=5), 300, 3)
    assert not far(distances(ours, twin(Voter(panel=5), 20_000, 1, 4), skip=("token",)))


# ---------------------------------------------------------------- streams and lengths


def test_a_stream_is_its_name() -> None:
    streams = Streams(7)
    assert streams.of("a", 1).normals(20) == Streams(7).of("a", 1).normals(20)
    names: list[tuple[str | int, ...]] = [("a", 1), ("a", "1"), ("a1",), ("a", 1, ""), ("a,1",)]
    assert len({streams.of(*name).uniform() for name in names}) == len(names)
    assert Streams(8).of("a", 1).uniform() != streams.of("a", 1).uniform()
    assert streams.generator("a").random() == Streams(7).generator("a").random()


def test_numbers_of_many_streams_are_uniform_and_uncorrelated() -> None:
    streams = Streams(7)
    table = np.array([[s.uniform() for _ in range(10)] for s in (streams.of("x", i) for i in range(4000))])
    assert 0 < table.min() < table.max() < 1
    assert np.abs(table.mean(axis=0) - 0.5).max() < 4 * np.sqrt(1 / 12 / 4000)
    assert np.abs(np.corrcoef(table.T) - np.eye(10)).max() < 4.5 / np.sqrt(4000)
    fill = np.histogram(table, bins=20, range=(0, 1))[0]
    assert np.abs(fill - 2000).max() < 4.5 * np.sqrt(2000 * 0.95)


def test_rounding_at_random_keeps_the_mean() -> None:
    stream = Streams(1).of("x")
    values = [stream.rounded(3.3) for _ in range(4000)]
    assert set(values) == {3, 4}
    assert np.mean(values) == pytest.approx(3.3, abs=4 * np.sqrt(0.21 / 4000))


def test_a_number_told_is_the_number_read() -> None:
    for value in (0.1 + 0.2, -1.5e-300, 7.0, 1e22, -0.0):
        read = statement(tell(71.1 / 3, strength=value))
        assert (read.facts["strength"], read.words) == (value, 71.1 / 3)


def test_lengths_that_spread_have_a_bound() -> None:
    agent: Any = synthetic_agent(Voter(lengths=Lengths(spread=0.5)), 3)
    longest = agent.imagine(asked("panelist 1"), "longest")
    counts = [agent.reply(asked("panelist 1", debate=f"d{i}")).tokens_out for i in range(500)]
    assert max(counts) < longest.tokens_out < 180 * np.exp(0.5 * LARGEST_NORMAL)
    typical = agent.imagine(asked("panelist 1"), "typical").tokens_out
    assert np.mean(counts) == pytest.approx(typical, abs=0.5 + 4 * np.std(counts) / np.sqrt(500))


def test_a_world_that_records_no_tokens_gives_none() -> None:
    agent: Any = synthetic_agent(Voter(lengths=None), 3)
    reply = agent.reply(asked("panelist 1"))
    assert (reply.tokens_in, reply.tokens_out) == (None, None)


def test_every_agent_names_its_world_and_seed_for_whoever_goes_on() -> None:
    agents: list[Any] = [synthetic_agent(world, 3) for world in (Voter(), Voter(panel=5), Courtroom())]
    assert len({str(agent.settings) for agent in agents}) == 3
    assert agents[0].settings["seed"] == 3
    assert repr(agents[2]) == "CourtAgent(courtroom, seed=3)"
