"""Every protocol is found, is written as text, and can be played."""

from __future__ import annotations

from dataclasses import fields

import pytest
from golden import Played, pair, plays, question

from d3stats.protocols.catalogue import protocol_from_text, protocols
from d3stats.protocols.majority import Majority
from d3stats.protocols.more import More
from d3stats.protocols.protocol import DebateProtocol
from d3stats.protocols.samre import Samre
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
        "stability",
        "multi_persona",
        "eot",
        "agentverse",
        "peer_rank",
        "peer_discussion",
    } <= set(protocols())


@pytest.mark.parametrize("name", NAMES)
def test_a_protocol_says_where_it_is_from_and_is_written_by_its_name(name: str) -> None:
    kind = protocols()[name]
    assert kind.citation
    assert kind.__module__.rpartition(".")[2] == name
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
