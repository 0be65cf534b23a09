"""Requests to ask, and a short way to ask them, for the tests of the live agent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from server import Server

from d3stats.agent import Case, Message, Reply, Request, Rubric, Slot
from d3stats.run.live import LiveAgent
from d3stats.run.live.prompt import Draft, Prompt

CASE = Case("d1", "q1", "Which is larger?", ("A", "B", "tie"), ("Two is.", "Three is."), "B")
"""B is shown first: "answer 1" means B."""

VOTE = Request(CASE, 1, "juror 1", "juror", "vote", "You are a juror. Vote.", Slot(CASE.answers))
JUDGE = Request(
    CASE,
    2,
    "judge",
    "judge",
    "judge",
    "You are a judge. Score both answers.",
    Slot(CASE.answers, rubric=Rubric(("A", "B"), ("relevance", "depth"), 1, 20), lead=True, words=150),
    seen=(Message("advocate", 1, "Three is more than two.", "B"),),
    rounds=3,
)
ARGUE = replace(VOTE, agent="advocate A", role="advocate", act="argue", side="A", slot=Slot(words=120))
OPEN = Request(Case("d2", "q2", "How many?"), 1, "p 1", "panelist", "answer", "Answer.", Slot(open_vote=True))
EXPERTS = replace(OPEN, agent="a", act="assign", slot=Slot(listed=3, words=60))
MODERATE = replace(OPEN, agent="m", act="moderate", slot=Slot(open_vote=True, may_pass=True))
BOTH = replace(JUDGE, agent="evaluator", act="evaluate", slot=replace(JUDGE.slot, lead=False))

QUICK: dict[str, Any] = {"backoff": 0.001, "timeout": 60.0, "seed": 7}
"""Settings that do not keep a test waiting; the time is for a busy machine."""


def render(request: Request, *, seed: int = 0, as_text: bool = False) -> Prompt:
    """Return the messages of a request."""
    return Draft(request).prompt(seed=seed, as_text=as_text)


def asked(
    server: Server, *requests: Request, more: Callable[[int, int], bool] | None = None, **given: Any
) -> list[Reply]:
    """Ask one new agent, one request after the other."""

    async def run() -> list[Reply]:
        async with LiveAgent("scripted", server.url, **(QUICK | given)) as agent:
            if more is None:
                return [await agent.act(request) for request in requests]
            return [await agent.act(request, more) for request in requests]

    return asyncio.run(run())


def at_once(server: Server, requests: list[Request], **given: Any) -> list[Reply]:
    """Ask one new agent, all at once."""

    async def run() -> list[Reply]:
        async with LiveAgent("scripted", server.url, **(QUICK | given)) as agent:
            return await asyncio.gather(*(agent.act(request) for request in requests))

    return asyncio.run(run())
