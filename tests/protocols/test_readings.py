"""Who reads whom and who decides, as the papers have it: listed by hand, for two rounds."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import pytest

from d3stats.agent import Case, Message, Slot
from d3stats.protocols import protocol_from_text, protocols, schematic
from d3stats.protocols.play import DebateProtocol, Outcome, Play, round_over, said, speak
from d3stats.protocols.readings import Schematic

Reads = Mapping[str, str]


def readings(found: Schematic) -> dict[str, str]:
    """Return who reads what, as ``{"judge/1": "advocate A/1, advocate B/1"}``; who reads nothing is left out."""
    reader = found.readings["agent"] + "/" + found.readings["round"].astype(str)
    source = found.readings["reads_agent"] + "/" + found.readings["reads_round"].astype(str)
    return source.groupby(reader, sort=False).agg(", ".join).to_dict()


def deciding(found: Schematic, how: str) -> list[str]:
    rows = found.turns[found.turns["decides"] == how]
    return (rows["agent"] + "/" + rows["round"].astype(str)).tolist()


# D3, Algorithm 2: advocates read T_(r-1), the judge the round's two arguments, jurors the final transcript.
COURT_1, COURT_2 = "advocate A/1, advocate B/1, judge/1", "advocate A/2, advocate B/2, judge/2"
SAMRE: Reads = {
    "judge/1": "advocate A/1, advocate B/1",
    "advocate A/2": COURT_1,
    "advocate B/2": COURT_1,
    "judge/2": "advocate A/2, advocate B/2",
    **{f"juror {j}/2": f"{COURT_1}, {COURT_2}" for j in range(1, 6)},
}
# ChatEval, figure 2 and Algorithms 1 to 3, for three referees.
FIRST = "referee 1/1, referee 2/1, referee 3/1"
ONE_BY_ONE: Reads = {
    "referee 2/1": "referee 1/1",
    "referee 3/1": "referee 1/1, referee 2/1",
    "referee 1/2": FIRST,
    "referee 2/2": f"{FIRST}, referee 1/2",
    "referee 3/2": f"{FIRST}, referee 1/2, referee 2/2",
}
FIRST_TURN: Reads = {reader: heard for reader, heard in ONE_BY_ONE.items() if reader.endswith("/1")}
SIMULTANEOUS: Reads = dict.fromkeys(("referee 1/2", "referee 2/2", "referee 3/2"), FIRST)
SUMMARIZER: Reads = {
    "summarizer/1": FIRST,
    **dict.fromkeys(("referee 1/2", "referee 2/2", "referee 3/2"), "summarizer/1"),
    "summarizer/2": f"{FIRST}, referee 1/2, referee 2/2, referee 3/2",
}
# D3, Algorithm 1, and 2.3 for what jurors read of the judge.
MORE: Reads = {
    "aggregator A/1": "advocate A 1/1, advocate A 2/1, advocate A 3/1",
    "aggregator B/1": "advocate B 1/1, advocate B 2/1, advocate B 3/1",
    "judge/1": "aggregator A/1, aggregator B/1",
    **{f"juror {j}/1": "aggregator A/1, aggregator B/1, judge/1" for j in range(1, 6)},
}
# The advocates paper, Algorithm 1.
MORE_ADVOCATES: Reads = {"judge/1": ", ".join(f"advocate {side} {i}/1" for side in "AB" for i in (1, 2, 3))}
# Three roles respond sequentially to the question and the prior history.
SIDES_1 = "debater, affirmative/1, debater, negative/1"
MULTI_PERSONA: Reads = {
    "debater, negative/1": "debater, affirmative/1",
    "moderator/1": SIDES_1,
    "debater, affirmative/2": f"{SIDES_1}, moderator/1",
    "debater, negative/2": f"{SIDES_1}, moderator/1, debater, affirmative/2",
    "moderator/2": f"{SIDES_1}, moderator/1, debater, affirmative/2, debater, negative/2",
}
# Two leaves critique each other's outputs, a parent reviews both in each round.
EOT: Reads = {
    "synthesizer/1": "leaf 1/1, leaf 2/1",
    "leaf 1/2": "leaf 1/1, leaf 2/1",
    "leaf 2/2": "leaf 1/1, leaf 2/1",
    "synthesizer/2": "leaf 1/2, leaf 2/2",
}
# The released code of Exchange-of-Thought, for the second round; each also reads itself.
NETWORKS: dict[str, dict[int, tuple[int, ...]]] = {
    "memory": {1: (1, 2, 3), 2: (1, 2, 3), 3: (1, 2, 3)},
    "report": {1: (1, 2, 3), 2: (1, 2), 3: (1, 3)},
    "relay": {1: (1, 2), 2: (2, 3), 3: (1, 3)},
    "debate": {1: (1, 2, 3), 2: (2, 3), 3: (2, 3)},
}
# An assigner selects experts, a solver answers, critics improve independently, an evaluator assesses; then again.
CRITICS_1, CRITICS_2 = (f"critic 1/{r}, critic 2/{r}, critic 3/{r}" for r in (1, 2))
AGENTVERSE: Reads = {
    **{f"critic {c}/1": "assigner/1, solver/1" for c in (1, 2, 3)},
    "evaluator/1": f"solver/1, {CRITICS_1}",
    "solver/2": f"solver/1, {CRITICS_1}, evaluator/1",
    **{f"critic {c}/2": "assigner/1, solver/2" for c in (1, 2, 3)},
    "evaluator/2": f"solver/2, {CRITICS_2}",
}
# PRD: the reviews, then in turn, each having read all before.
PEER_DISCUSSION: Reads = {
    "reviewer 1/2": "reviewer 1/1, reviewer 2/1",
    "reviewer 2/2": "reviewer 1/1, reviewer 2/1, reviewer 1/2",
}


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("samre", SAMRE),
        ("samre_advocates", SAMRE),
        ("chateval", ONE_BY_ONE),
        ("chateval:communication=simultaneous", SIMULTANEOUS),
        ("chateval:communication=simultaneous_with_summarizer", SUMMARIZER),
        ("chateval:referees=annotator+annotator+annotator", ONE_BY_ONE),
        ("chateval:max_rounds=1", FIRST_TURN),
        ("chateval:max_rounds=1,communication=simultaneous", {}),
        ("chateval:referees=none,max_rounds=1", {}),
        ("more", MORE),
        ("more_advocates", MORE_ADVOCATES),
        ("multi_persona", MULTI_PERSONA),
        ("eot", EOT),
        ("agentverse", AGENTVERSE),
        ("peer_discussion", PEER_DISCUSSION),
        ("majority", {}),
        ("single_judge", {}),
    ],
)
def test_the_readings_of_two_rounds_are_those_of_the_paper(text: str, edges: Reads) -> None:
    assert readings(schematic(text)) == edges


@pytest.mark.parametrize("communication", NETWORKS)
def test_the_four_networks_of_exchange_of_thought_are_those_of_its_code(communication: str) -> None:
    found = readings(schematic(f"eot_network:communication={communication}"))
    wanted = {
        f"solver {reader}/2": ", ".join(f"solver {other}/1" for other in others)
        for reader, others in NETWORKS[communication].items()
    }
    assert found == wanted


@pytest.mark.parametrize(
    ("text", "verdict", "fallback"),
    [
        # D3, 2.3: the jurors' majority, and the judge's cumulative score; Algorithm 2: the final score.
        ("samre", [f"juror {j}/2" for j in range(1, 6)], ["judge/1", "judge/2"]),
        ("samre:tie_break=final", [f"juror {j}/2" for j in range(1, 6)], ["judge/2"]),
        ("samre:poll=every_round", [f"juror {j}/2" for j in range(1, 6)], ["judge/1", "judge/2"]),
        ("samre:jurors=0", ["judge/1", "judge/2"], []),
        ("more", [f"juror {j}/1" for j in range(1, 6)], ["judge/1"]),
        ("more:jurors=0", ["judge/1"], []),
        ("more_advocates", ["judge/1"], []),
        # ChatEval: the results of all referees after the last turn.
        ("chateval", ["referee 1/2", "referee 2/2", "referee 3/2"], []),
        ("chateval:extraction=mean", ["referee 1/2", "referee 2/2", "referee 3/2"], []),
        ("chateval:extraction=borda", ["referee 1/2", "referee 2/2", "referee 3/2"], []),
        ("chateval:max_rounds=1", ["referee 1/1", "referee 2/1", "referee 3/1"], []),
        ("chateval:referees=none,max_rounds=1", ["referee 1/1"], []),
        # Marks of the last round choose among the answers of the round before.
        ("chateval_open", [f"{who}/{r}" for r in (1, 2) for who in ("public", "critic", "scientist")], []),
        ("multi_persona", ["moderator/2"], ["debater, negative/2"]),
        ("eot", ["synthesizer/2"], []),
        ("eot_network", ["solver 1/2", "solver 2/2", "solver 3/2"], []),
        ("agentverse", ["evaluator/2"], ["critic 3/2"]),
        ("peer_discussion", ["reviewer 1/2", "reviewer 2/2"], []),
        ("stability", [f"panelist {i}/2" for i in range(1, 8)], []),
        ("majority", [f"panelist {i}/1" for i in range(1, 6)], []),
    ],
)
def test_the_verdict_is_of_those_whom_the_paper_names(
    text: str, verdict: list[str], fallback: list[str]
) -> None:
    found = schematic(text)
    assert deciding(found, "verdict") == verdict
    assert deciding(found, "fallback") == fallback
    assert not found.notes


def test_a_stage_is_who_may_speak_at_the_same_time() -> None:
    def stages(text: str) -> list[list[str]]:
        return schematic(text).turns.groupby("stage")["agent"].agg(list).tolist()

    one, two, three = (f"referee {i}" for i in (1, 2, 3))
    assert stages("chateval") == [[one], [two], [three]] * 2
    assert stages("chateval:communication=simultaneous") == [[one, two, three]] * 2
    summed = stages("chateval:communication=simultaneous_with_summarizer")
    assert summed == [[one, two, three], ["summarizer"]] * 2


def test_a_jury_at_the_end_speaks_after_its_round() -> None:
    def closing(text: str) -> set[str]:
        turns = schematic(text).turns
        return set(turns.loc[turns["closing"], "role"])

    assert closing("samre") == {"juror"}
    assert closing("samre:poll=every_round") == closing("chateval") == set()


def test_what_a_turn_gives_is_what_it_is_asked_for() -> None:
    def gives(text: str) -> dict[str, str]:
        turns = schematic(text).turns
        return dict(zip(turns["role"], turns["gives"], strict=True))

    assert gives("samre") == {"advocate": "text", "judge": "scores", "juror": "vote"}
    assert gives("multi_persona")["moderator"] == "may vote"
    assert gives("agentverse")["evaluator"] == "vote and scores"


def test_what_is_shown_of_a_turn_is_said() -> None:
    shown = schematic("samre").readings.drop_duplicates("reads").set_index("reads_agent")["shows"]
    assert shown.to_dict() == {"advocate A": "text", "advocate B": "text", "judge": "text and scores"}


@pytest.mark.parametrize("name", sorted(protocols()))
def test_every_protocol_has_a_schematic_with_a_verdict(name: str) -> None:
    found = schematic(name)
    assert "verdict" in set(found.turns["decides"])
    assert found.rounds == min(2, protocols()[name]().max_rounds)
    assert found.turns["turn"].tolist() == list(range(1, len(found.turns) + 1))
    stage = found.turns.set_index("turn")["stage"]
    # Nobody reads what is said at the same time, or later.
    assert (found.readings["reads"].map(stage) < found.readings["turn"].map(stage)).all()
    assert found.headline.startswith(f"{name}: {len(found.turns)} turn")
    assert "order of turns and who reads whom" in found.summary()


def test_more_rounds_can_be_asked_for_up_to_the_protocols_own() -> None:
    assert schematic("samre", rounds=4).rounds == 4
    assert schematic(protocol_from_text("samre:max_rounds=3"), rounds=1).turns["round"].max() == 1
    with pytest.raises(ValueError, match="rounds must be <= 3; got rounds=4"):
        schematic("multi_persona", rounds=4)
    with pytest.raises(TypeError, match="protocol must be a DebateProtocol or its text; got 3"):
        schematic(3)  # type: ignore[arg-type]


def test_a_leaf_that_has_left_is_not_drawn() -> None:
    # Leaves that give new answers in every round stay, so a third round looks like the second.
    assert [len(schematic("eot", rounds=r).turns) for r in (1, 2, 3)] == [3, 6, 9]


class Whisper(DebateProtocol):
    """One agent reads what nobody said; another's word counts for nothing."""

    name = ""

    def __init__(self, seen: tuple[Message, ...] = (), votes: bool = True) -> None:
        object.__setattr__(self, "max_rounds", 1)
        object.__setattr__(self, "seen", seen)
        object.__setattr__(self, "votes", votes)

    def __str__(self) -> str:
        return "whisper"

    def play(self, case: Case) -> Play:
        slot = Slot(case.answers if self.votes else None)  # type: ignore[attr-defined]
        asked = self.request(case, 1, "one", "judge", "judge", "Vote.", slot, self.seen)  # type: ignore[attr-defined]
        (reply,) = yield from speak(asked)
        yield from round_over(1, votes=[reply.vote], ends="one_round")
        said(asked, reply, "one")
        return Outcome("B", 1, "one_round")


def test_a_message_that_nobody_said_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must show earlier messages.*'hear, hear' in the request of 'one'"):
        schematic(Whisper((Message("two", 1, "hear, hear"),)))


def test_a_verdict_that_follows_nobody_is_not_marked() -> None:
    found = schematic(Whisper())
    assert set(found.turns["decides"]) == {""}
    assert found.notes == ("no kind of turn decides alone, so no verdict is marked",)


def test_the_table_has_a_row_for_each_turn() -> None:
    found = schematic("chateval")
    assert found.to_frame()["reads"].tolist() == ["", "1", "1, 2", "1, 2, 3", "1, 2, 3, 4", "1, 2, 3, 4, 5"]
    pd.testing.assert_frame_equal(found.to_frame("readings"), found.readings)
    assert found.to_dict()["tables"]["turns"][0]["agent"] == "referee 1"
    assert "\\toprule" in found.to_latex()
    assert "<table" in found._repr_html_()
