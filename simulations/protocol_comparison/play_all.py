"""Play protocols over the same items, each item in both orders, in as many processes as are given."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from d3stats import Trajectories
from d3stats._parallel import run_tasks
from d3stats.agents import Agent, Reply, Request
from d3stats.agents.synthetic import synthetic_agent, synthetic_items
from d3stats.protocols.catalogue import protocol_from_text
from d3stats.protocols.engine import ask, drive
from d3stats.protocols.play import Outcome, RoundOver
from d3stats.protocols.protocol import DebateProtocol
from d3stats.protocols.rules import RuleBook
from d3stats.stopping import Decision, FullDepth, Rule, StoppingRule, StopReason, from_text
from d3stats.worlds import from_table

__all__ = ["play_all"]

ORDERS = ("AB", "BA")
DEPTHS = (3, 4, 6)
"""How deep a batch is played before it is asked whether all of it has stopped."""

COLUMNS = ["debate", "item", "order", "label", "verdict", "rounds", "calls", "input", "output", "reason"]


def play_all(
    world: Mapping[str, Any],
    protocols: Sequence[Mapping[str, Any]],
    n_items: int,
    seed: int,
    *,
    workers: int = 1,
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each protocol's label and a row per debate; a world and a seed name the same items for all.

    Parameters
    ----------
    world : mapping
        A table that :func:`d3stats.worlds.from_table` reads.
    protocols : sequence of mapping
        ``label``, ``protocol`` (as text) and, where another rule than the protocol's own stops it, ``rule``.
    """
    tasks = [(world, p["protocol"], p.get("rule"), n_items, seed) for p in protocols]
    found = run_tasks(played, tasks, workers=workers, ordered=True)
    yield from zip([p["label"] for p in protocols], found, strict=True)


def played(
    world: Mapping[str, Any], text: str, rule_text: str | None, n_items: int, seed: int
) -> pd.DataFrame:
    """Play one protocol over all items in both orders."""
    value = from_table(world)
    protocol, agent = protocol_from_text(text), synthetic_agent(value, seed)
    items = synthetic_items(value, n_items, seed)
    rule = protocol.rule() if rule_text is None else from_text(rule_text)
    return asyncio.run(_played(protocol, rule, agent, items))


async def _played(
    protocol: DebateProtocol, rule: StoppingRule, agent: Agent, items: Sequence[Any]
) -> pd.DataFrame:
    rows = []
    for order in ORDERS:
        debates = [Debate(protocol, rule, agent, item, order) for item in items]
        if not isinstance(rule, Rule):
            await _stop_together(debates, rule)
        for debate in debates:
            outcome = await debate.play()
            decided = [debate.item.label, outcome.decision, outcome.round]
            spent = [debate.calls, debate.input, debate.output]
            rows.append([debate.case.debate, debate.item.question, order, *decided, *spent, outcome.reason])
            debate.heard.clear()
    return pd.DataFrame(rows, columns=COLUMNS)


async def _stop_together(debates: Sequence[Debate], rule: StoppingRule) -> None:
    """Find the round in which each debate stops under a rule that looks at the whole batch.

    The batch is played a few rounds deep, then deeper, until the rule has stopped all of it. Nobody is asked twice.
    """
    codes: dict[str | None, int] = {"A": 0, "B": 1, None: -1}
    labels = [codes[debate.item.label] for debate in debates]
    most = debates[0].protocol.max_rounds
    for depth in sorted({*(d for d in DEPTHS if d < most), most}):
        for debate in debates:
            debate.end = depth, str(StopReason.EXHAUSTED)
            await debate.play()
        votes = np.array([[[codes[vote] for vote in step.votes] for step in d.steps] for d in debates])
        stops = rule.stop_rounds(Trajectories.from_arrays(votes, label=labels, answers=["A", "B"]))
        if depth == most or not (stops.reasons == str(StopReason.EXHAUSTED)).any():
            break
    for debate, at, why in zip(debates, stops.rounds, stops.reasons, strict=True):
        debate.end = int(at), str(why)


class Debate:
    """One debate: what was said and paid, and the rounds as a rule sees them.

    Parameters
    ----------
    protocol : DebateProtocol
    rule : StoppingRule
        One that needs a whole batch is followed by setting `end`: round and reason of the stop.
    agent : Agent
    item : SyntheticItem
    order : {"AB", "BA"}
    """

    def __init__(
        self, protocol: DebateProtocol, rule: StoppingRule, agent: Agent, item: Any, order: str
    ) -> None:
        self.protocol, self.rule, self.agent, self.item = protocol, rule, agent, item
        self.case = item.case(f"{item.question}/{order}", order[0])
        self.end: tuple[int, str] | None = None
        self.heard: dict[tuple[int, str], Reply] = {}

    async def play(self) -> Outcome:
        """Play it to its end, from the start; what was said before is said again."""
        rule = self.rule if self.end is None and isinstance(self.rule, Rule) else FullDepth()
        self.book = RuleBook(self.case, rule, self.protocol.max_rounds)
        self.calls, self.input, self.output = 0, 0, 0
        self.steps: list[RoundOver] = []
        return await drive(self.protocol.play(self.case), self._answer, self._settle)

    async def _answer(self, request: Request) -> Reply:
        at = request.round, request.agent
        if at not in self.heard:
            self.heard[at] = await ask(self.agent, request)
        reply = self.heard[at]
        self.calls += 1
        self.input += reply.tokens_in or 0
        self.output += reply.tokens_out or 0
        return reply

    async def _settle(self, step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        self.steps.append(step)
        if self.end is None:
            return self.book.decide(step, since)
        at, why = self.end
        return Decision(stop=step.number >= at, reason=why if step.number >= at else None)
