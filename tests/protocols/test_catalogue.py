"""Every protocol is found, is written as text, and can be played."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest
from golden import Played, fitting, lines, pair, plays, question

from d3stats.agent import Reply, Request
from d3stats.protocols import protocol_from_text, protocols
from d3stats.protocols.baselines import Majority
from d3stats.protocols.d3 import More, Samre
from d3stats.protocols.play import DebateProtocol
from d3stats.stopping import FixedRounds, StoppingRule

NAMES = sorted(protocols())
ROLES = {
    "advocate",
    "affirmative",
    "aggregator",
    "assigner",
    "critic",
    "evaluator",
    "judge",
    "juror",
    "leaf",
    "moderator",
    "negative",
    "panelist",
    "referee",
    "reviewer",
    "solver",
    "summarizer",
    "synthesizer",
}
ACTS = {
    "affirm",
    "aggregate",
    "answer",
    "argue",
    "assign",
    "criticise",
    "discuss",
    "evaluate",
    "judge",
    "moderate",
    "oppose",
    "referee",
    "review",
    "solve",
    "summarise",
    "synthesise",
    "vote",
}


def test_the_systems_of_the_literature_are_there() -> None:
    assert {
        "single_judge",
        "majority",
        "more",
        "more_advocates",
        "samre",
        "samre_advocates",
        "chateval",
        "chateval_open",
        "stability",
        "multi_persona",
        "eot",
        "eot_network",
        "agentverse",
        "peer_rank",
        "peer_discussion",
    } <= set(protocols())


@pytest.mark.parametrize("name", NAMES)
def test_a_protocol_says_where_it_is_from_and_is_written_by_its_name(name: str) -> None:
    kind = protocols()[name]
    assert kind.citation
    assert kind.__module__.startswith("d3stats.protocols.")
    assert str(kind()) == name
    assert protocol_from_text(name) == kind()
    assert isinstance(kind().rule(), StoppingRule)


@pytest.mark.parametrize("name", NAMES)
def test_text_with_every_parameter_written_out_reads_back(name: str) -> None:
    protocol = protocols()[name]()
    written = []
    for parameter in fields(protocol):
        value = getattr(protocol, parameter.name)
        parts = value if isinstance(value, tuple) else (value,)
        written.append(f"{parameter.name}={'+'.join(map(str, parts))}")
    assert protocol_from_text(f"{name}: {' , '.join(written)}") == protocol


@pytest.mark.parametrize(
    "text",
    [
        "samre:max_rounds=3,epsilon=2.5",
        "samre:budget=4000",
        "samre:jurors=3,poll=every_round",
        "samre:memory=latest,tie_break=final",
        "samre_advocates:jurors=3,last_round=unread",
        "more:advocates=5,jurors=0",
        "single_judge:calibrate=True",
        "single_judge:calibrate=True,samples=3",
        "majority:judges=7",
    ],
)
def test_a_written_protocol_reads_back_as_it_was_written(text: str) -> None:
    protocol = protocol_from_text(text)
    assert protocol_from_text(str(protocol)) == protocol
    assert sorted(str(protocol).partition(":")[2].split(",")) == sorted(text.partition(":")[2].split(","))


def test_values_have_the_type_of_the_parameter() -> None:
    samre = protocol_from_text("samre:budget=None,epsilon=2,jurors=3")
    assert samre == Samre(budget=None, epsilon=2, jurors=3)
    assert protocol_from_text("single_judge:calibrate=false") == protocol_from_text("single_judge")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("court", "protocol must be one of agentverse, .*; got 'court'"),
        ("", "protocol must be one of"),
        ("more:juror=3", "parameter of more must be one of max_rounds, .*; got 'juror'"),
        ("more:3", "more must be given key=value after the colon; got '3'"),
        ("more:", "more must be given key=value"),
        ("more:jurors=3,jurors=4", "jurors of more must be given once"),
        (
            "more:jurors=many",
            "jurors must be an integer; got jurors='many' .*in the protocol 'more:jurors=many'",
        ),
        ("more:jurors=-1", "jurors must be >= 0; got jurors=-1"),
        ("samre:epsilon=nan", "epsilon must be finite"),
        ("single_judge:calibrate=maybe", "calibrate must be True or False; got calibrate='maybe'"),
        ("samre:poll=often", "poll must be one of 'end', 'every_round'; got poll='often'"),
        ("More", "got 'More'"),
    ],
)
def test_what_is_no_protocol_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        protocol_from_text(text)
    assert "\n" not in str(caught.value)


def test_a_text_is_needed() -> None:
    with pytest.raises(TypeError, match="protocol must be a string"):
        protocol_from_text(Majority())  # type: ignore[arg-type]


def played(kind: type[DebateProtocol]) -> list[Played]:
    cases = [pair("A"), pair("B")] if kind.candidates is not False else []
    cases += [question(), question(None)] if not kind.candidates else []
    return [plays(kind(), case, None, FixedRounds(2)) for case in cases]


@pytest.mark.parametrize("name", NAMES)
def test_every_protocol_plays_on_every_kind_of_case_that_it_says_it_takes(name: str) -> None:
    kind = protocols()[name]
    debates = played(kind)
    assert debates
    for debate in debates:
        assert 1 <= debate.outcome.round <= kind().max_rounds
        assert debate.outcome.reason
        assert debate.rounds
        assert [over.number for over in debate.rounds] == list(range(1, debate.outcome.round + 1))


@pytest.mark.parametrize("name", NAMES)
def test_roles_and_acts_are_of_the_shared_vocabulary(name: str) -> None:
    for debate in played(protocols()[name]):
        # A leaf may carry its number: two that speak in different rounds are two roles.
        assert {request.role.rstrip(" 0123456789") for request in debate.requests} <= ROLES
        assert {request.act for request in debate.requests} <= ACTS


@pytest.mark.parametrize("name", NAMES)
def test_nobody_reads_what_was_not_said_before(name: str) -> None:
    for debate in played(protocols()[name]):
        said = ""
        for stage in debate.stages:
            if isinstance(stage, tuple):
                assert all(message.text in said for request in stage for message in request.seen)
                said += "".join(f"[{debate.replies[r.agent, r.round].text}]" for r in stage)


def test_a_case_that_does_not_fit_is_refused_before_anybody_speaks() -> None:
    More().check(pair())
    with pytest.raises(ValueError, match="candidates must be two for more, which compares answers; got none"):
        More().check(question())
    for name in NAMES:
        if protocols()[name].candidates is False:
            with pytest.raises(ValueError, match="candidates must be none"):
                protocols()[name]().check(pair())


@pytest.mark.parametrize(
    ("text", "rounds", "calls"),
    [
        ("single_judge", 1, 1),
        ("single_judge:calibrate=True", 1, 2),
        ("single_judge:calibrate=True,samples=3", 1, 6),
        ("majority:judges=7", 1, 7),
        ("more", 1, 2 * 3 + 3 + 5),
        ("more:advocates=2,jurors=0", 1, 2 * 2 + 3),
        ("more_advocates", 1, 2 * 3 + 1),
        ("samre", 4, 3 * 4 + 5),
        ("samre:jurors=3,poll=every_round", 4, (3 + 3) * 4),
        ("samre_advocates", 3, 3 * 3 + 5),
        ("chateval", 2, 3 * 2),
        ("chateval:communication=simultaneous_with_summarizer", 2, (3 + 1) * 2),
        ("chateval_open", 2, 3 * 2),
        ("stability", 4, 7 * 4),
        ("multi_persona", 3, 3 * 3),
        ("eot", 2, 3 * 2),
        ("eot_network", 4, 3 * 4),
        ("agentverse", 3, 1 + (3 + 2) * 3),
        ("agentverse:recruit=every_round", 3, (3 + 3) * 3),
        ("peer_rank", 1, 2 * 5),
        ("peer_discussion", 3, 2 * 3),
    ],
)
def test_the_calls_of_a_debate_are_those_of_the_table_in_the_documentation(
    text: str, rounds: int, calls: int
) -> None:
    def quarrel(request: Request) -> Reply:
        """Neighbours disagree, and nobody is content."""
        reply = fitting(request)
        if reply.vote is not None and request.agent[-1] in "24":
            reply = replace(reply, vote="B")
        if request.act == "evaluate" and reply.scores:
            reply = replace(
                reply, scores={side: dict.fromkeys(row, 0.0) for side, row in reply.scores.items()}
            )
        return reply

    debate = plays(protocol_from_text(text), pair(), quarrel, FixedRounds(rounds))
    assert (debate.outcome.round, len(debate.requests)) == (rounds, calls)


def test_every_protocol_has_its_row_in_the_table_of_the_documentation() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "reference" / "protocols.md"
    text = page.read_text(encoding="utf-8").split("## Sampling temperatures")[0]
    rows = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert sorted(rows) == NAMES


def test_the_complete_example_of_the_documentation_is_a_protocol(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "reference" / "protocols.md"
    (body,) = (
        block
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
        if ">>>" not in block
    )
    assert len(body.splitlines()) < 40
    file = tmp_path / "second_thoughts.py"
    file.write_text(body)
    spec = importlib.util.spec_from_file_location("second_thoughts", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["second_thoughts"] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["second_thoughts"]
    played = plays(module.SecondThoughts(), pair())
    assert lines(played) == [
        "judge/1 (judge: answer) sees nothing",
        "round 1 over: votes A, scores none",
        "doubter/2 (critic: criticise) sees judge/1+vote",
        "judge/2 (judge: answer) sees judge/1+vote, doubter/2",
        "round 2 over: votes A, scores none",
        "doubter/3 (critic: criticise) sees judge/1+vote, doubter/2, judge/2+vote",
        "judge/3 (judge: answer) sees judge/1+vote, doubter/2, judge/2+vote, doubter/3",
        "round 3 over: votes A, scores none",
    ]
