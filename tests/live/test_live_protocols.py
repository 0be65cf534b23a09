"""Every protocol of the catalogue, played over real HTTP: each slot can be asked for, filled and read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import pytest
from asking import QUICK
from layers import covering
from server import Asked, Server

from d3stats.agent import Case, Reply, Request
from d3stats.protocols import protocols
from d3stats.protocols.play import Outcome, RoundOver, RuleBook, ask, drive
from d3stats.run.live import LiveAgent
from d3stats.stopping import Decision, FullDepth, Rule

JUDGED = Case("d1", "q1", "Which is larger?", ("A", "B"), ("Two is.", "Three is."), "B", ("gpt-4",))
ASKED = Case("d1", "q1", "How many?", ("4", "5", "6"))

NAMED = re.compile(r"\bB\b|gpt|(?i:answer|side|candidate|advocate) A\b")

Heard = list[tuple[Request, Reply]]


def played(server: Server, name: str, **given: object) -> tuple[Outcome, Heard, LiveAgent]:
    """Play one debate under the protocol's own rule (or to full depth, where that rule needs a batch)."""
    protocol = protocols()[name]()
    case = ASKED if protocol.candidates is False else JUDGED
    rule = protocol.rule() if isinstance(protocol.rule(), Rule) else FullDepth()
    book, heard = RuleBook(case, rule, protocol.max_rounds), Heard()
    agent = LiveAgent("scripted", server.url, **(QUICK | given))  # type: ignore[arg-type]

    async def answer(request: Request) -> Reply:
        reply = await ask(agent, request)
        heard.append((request, reply))
        return reply

    async def settle(step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        return book.decide(step, since)

    async def run() -> Outcome:
        async with agent:
            return await drive(protocol.play(case), answer, settle)

    return asyncio.run(run()), heard, agent


@covering(name=sorted(protocols()), structured=["schema", "text"])
def test_a_whole_debate_over_http(server: Server, name: str, structured: str) -> None:
    outcome, heard, agent = played(server, name, structured=structured)
    assert server.errors == []
    assert outcome.reason
    assert {reply.error for _, reply in heard} == {None}
    assert len(server.calls) == len(heard)
    count = server.count()
    assert sum(reply.tokens_in or 0 for _, reply in heard) == count["tokens_in"]
    assert sum(reply.tokens_out or 0 for _, reply in heard) == count["tokens_out"]
    for request, reply in heard:
        longest = agent.imagine(request, "longest")
        assert (reply.tokens_in or 0) <= (longest.tokens_in or 0)
        assert (reply.tokens_out or 0) <= (longest.tokens_out or 0)
    for call in server.calls:
        seen = Asked(call.body, call.headers)
        assert not NAMED.search(seen.system + seen.user), (
            "a model learned the name of a candidate or a system"
        )


@pytest.mark.parametrize("name", ["agentverse", "chateval", "samre"])
def test_the_same_debate_gets_the_same_calls_again(server: Server, name: str) -> None:
    first = played(server, name)[:2]
    bodies = sorted((call.key, str(call.body)) for call in server.calls)
    server.reset()
    again = played(server, name)[:2]
    assert bodies == sorted((call.key, str(call.body)) for call in server.calls)
    assert first[0] == again[0]
