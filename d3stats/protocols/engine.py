"""Play one debate: pass requests to agents and rounds to the stopping rule until the protocol returns.

The engine knows neither budgets nor files. Who answers a request (an agent, a record of an earlier run, an imagined
reply) and who decides after a round are functions that it is given.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from d3stats.agents.request import Agent, Case, More, Reply, Request, always
from d3stats.protocols.play import Outcome, Play, RoundOver, Speak, complete
from d3stats.protocols.protocol import DebateProtocol
from d3stats.stopping import Decision

__all__ = ["Answer", "Settle", "ask", "drive", "play_sync"]

Answer = Callable[[Request], Awaitable[Reply]]
"""Answers one request."""

Settle = Callable[[RoundOver, Sequence[tuple[Request, Reply]]], Awaitable[Decision]]
"""Says whether to stop after a round, given what was said since the round before."""


async def ask(agent: Agent, request: Request, more: More = always) -> Reply:
    """Ask an agent, and complete its reply; what is recorded and what a protocol sees come from here."""
    return complete(request, await agent.act(request, more))


async def drive(play: Play, answer: Answer, settle: Settle) -> Outcome:
    """Play one debate to its end.

    Parameters
    ----------
    play : Play
        From :meth:`DebateProtocol.play`.
    answer : coroutine function
        Answers a request; requests of one stage are answered at the same time.
    settle : coroutine function
        Gets a round and the requests and replies since the last round; returns the rule's decision. When the
        protocol itself ends here (``ends``) its decision is not asked for.
    """
    since: list[tuple[Request, Reply]] = []
    send: Any = None
    while True:
        try:
            step = play.send(send)
        except StopIteration as stop:
            outcome: Outcome = stop.value
            return outcome
        if isinstance(step, Speak):
            _refuse_twins(step, since)
            replies = await _all(answer, step.requests)
            since += zip(step.requests, replies, strict=True)
            send = replies
        else:
            send = await settle(step, tuple(since))
            since = []


async def _all(answer: Answer, requests: tuple[Request, ...]) -> tuple[Reply, ...]:
    if len(requests) == 1:
        return (await answer(requests[0]),)
    tasks = [asyncio.ensure_future(_answered(answer, request)) for request in requests]
    try:
        # When one fails the others end first: what is in flight is paid for, so it is heard.
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    failed = [error for error in (task.exception() for task in tasks) if error is not None]
    if failed:
        raise failed[0]
    return tuple(task.result() for task in tasks)


async def _answered(answer: Answer, request: Request) -> Reply:
    # Called inside the task: one that is cancelled before it begins leaves no coroutine behind that nobody awaits.
    return await answer(request)


def _refuse_twins(step: Speak, since: Sequence[tuple[Request, Reply]]) -> None:
    spoken = [(request.round, request.agent) for request, _ in since]
    spoken += [(request.round, request.agent) for request in step.requests]
    if len(set(spoken)) < len(spoken):
        again = next(key for i, key in enumerate(spoken) if key in spoken[:i])
        raise ValueError(f"an agent must speak once a round; got {again[1]!r} again in round {again[0]}")


def play_sync(
    protocol: DebateProtocol,
    case: Case,
    agent: Agent,
    *,
    heard: list[tuple[Request, Reply]] | None = None,
) -> Outcome:
    """Play one debate in the foreground, under the protocol's own rule; for synthetic agents, tests and examples.

    Parameters
    ----------
    protocol : DebateProtocol
        Its rule must decide debate by debate.
    heard : list, optional
        Gets every request and reply, in order.
    """
    from d3stats.protocols.rules import RuleBook

    book = RuleBook(case, protocol.rule(), protocol.max_rounds)

    async def answer(request: Request) -> Reply:
        reply = await ask(agent, request)
        if heard is not None:
            heard.append((request, reply))
        return reply

    async def settle(step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        return book.decide(step, since)

    return asyncio.run(drive(protocol.play(case), answer, settle))
