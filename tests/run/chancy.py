"""An agent in this process that answers by a hash of the request, with delays and failures on request."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from d3stats.agent import More, Reply, Request, Size, always
from d3stats.run.items import DebateItem
from d3stats.run.live import LiveAgent

Key = tuple[str, int, str]


def pairs(n: int, *, labelled: bool = True) -> list[DebateItem]:
    """Return n items with two candidates."""
    return [
        DebateItem(
            f"q{i}",
            f"question {i}?",
            (f"answer {i}", f"another {i}"),
            label="AB"[i % 2] if labelled else None,
        )
        for i in range(n)
    ]


class Chancy:
    """Always the same reply to the same request, another one when anything in it is another.

    Parameters
    ----------
    failing : float
        Share of calls whose first attempt fails.
    pause : float
        Seconds that a call takes at most.
    before : function of (call number, Request), optional
        Is run before a reply is made; may raise.
    """

    model = "chancy"

    def __init__(
        self,
        failing: float = 0.0,
        pause: float = 0.0,
        before: Callable[[int, Request], Reply | None] | None = None,
    ) -> None:
        self.failing, self.pause, self.before = failing, pause, before
        self.asked: Counter[Key] = Counter()
        self.tokens = 0
        self.at_once = self.most_at_once = 0

    @property
    def calls(self) -> int:
        return self.asked.total()

    async def act(self, request: Request, /, more: More = always) -> Reply:
        key = (request.case.debate, request.round, request.agent)
        self.asked[key] += 1
        number = self.calls
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return await self._reply(number, key, request, more)
        finally:
            self.at_once -= 1

    async def _reply(self, number: int, key: Key, request: Request, more: More) -> Reply:
        # The whole request, what was seen included: a wrong transcript brings another reply.
        rng = random.Random(repr(request))
        await asyncio.sleep(self.pause * rng.random())
        special = None if self.before is None else self.before(number, request)
        if special is not None:
            return special
        most = self.imagine(request, "longest")
        assert most.tokens_in is not None
        assert most.tokens_out is not None
        sent, said = rng.randint(1, most.tokens_in), rng.randint(1, most.tokens_out)
        if rng.random() < self.failing:
            if not more(most.tokens_in + most.tokens_out) or rng.random() < 0.5:
                self.tokens += sent
                return Reply(None, tokens_in=sent, tokens_out=0, estimated=True, error="timeout")
            sent, said = sent + rng.randint(0, most.tokens_in), said + rng.randint(0, most.tokens_out)
        self.tokens += sent + said
        slot, vote, scores = request.slot, None, None
        if slot.wants_vote and not (slot.may_pass and rng.random() < 0.5):
            vote = rng.choice(slot.answers or ("x", "y", "z"))
        if slot.rubric is not None:
            rubric = slot.rubric
            scores = {
                side: {name: float(rng.randint(rubric.low, rubric.high)) for name in rubric.criteria}
                for side in rubric.sides
            }
        text = f"{request.agent} in round {request.round}: {rng.random()}"
        return Reply(text, vote, scores, sent, said, model="chancy-1")

    def imagine(self, request: Request, size: Size, /) -> Reply:
        read = 20 + sum(len(message.text) for message in request.seen) // 4
        if size == "longest":
            return Reply(
                "x" * request.slot.longest, tokens_in=4 * read, tokens_out=2 * request.slot.words + 20
            )
        return Reply("x" * 5 * request.slot.words, tokens_in=read, tokens_out=request.slot.words)


class Honest:
    """Bounds like a live agent's, by bytes; replies, and counts of tokens, as they are usual."""

    model = "honest"

    def __init__(self) -> None:
        self._live = LiveAgent("honest", "http://127.0.0.1:1/v1")
        self.asked: Counter[Key] = Counter()
        self.tokens = 0

    async def act(self, request: Request, /, more: More = always) -> Reply:
        key = (request.case.debate, request.round, request.agent)
        self.asked[key] += 1
        await asyncio.sleep(0)
        rng = random.Random(repr(key))
        usual = self._live.imagine(request, "typical")
        sent, said = int(usual.tokens_in or 0), int((usual.tokens_out or 0) * rng.uniform(0.6, 1.0))
        self.tokens += sent + said
        slot = request.slot
        vote = rng.choice(slot.answers or ("x",)) if slot.wants_vote else None
        scores = None
        if slot.rubric is not None:
            scores = {
                side: {name: float(rng.randint(4, 9)) for name in slot.rubric.criteria}
                for side in slot.rubric.sides
            }
        return Reply(usual.text, vote, scores, sent, said, model="honest-1")

    def imagine(self, request: Request, size: Size, /) -> Reply:
        return self._live.imagine(request, size)


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the records of a JSON lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def of_type(path: Path, kind: str) -> list[dict[str, Any]]:
    """Return the records of one type."""
    return [record for record in lines(path) if record.get("type") == kind]


def as_set(path: Path) -> set[str]:
    """Return a log's lines without their order."""
    return set(path.read_text(encoding="utf-8").splitlines())


def turns(path: Path) -> Iterator[Key]:
    """Yield the keys of the turns of a log."""
    for record in of_type(path, "turn"):
        yield record["debate"], record["round"], record["agent"]


def defects(path: Path) -> list[str]:
    """Return what the doctor finds."""
    from d3stats.log.doctor import doctor

    return [str(problem) for problem in doctor(path).problems]
