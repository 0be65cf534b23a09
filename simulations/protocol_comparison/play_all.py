"""Play protocols over the same items, each item in both orders, in as many processes as are given."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
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
COLUMNS = ["debate", "item", "order", "label", "verdict", "rounds", "calls", "input", "output", "reason"]


def play_all(
    world: Mapping[str, Any],
    protocols: Sequence[Mapping[str, Any]],
    n_items: int,
    seed: int,
    *,
    workers: int = 1,
) -> dict[str, pd.DataFrame]:
    """Return a row per debate for every protocol, by its label; a world and a seed name the same items for all.

    Parameters
    ----------
    world : mapping
        A table that :func:`d3stats.worlds.from_table` reads.
    protocols : sequence of mapping
        ``label``, ``protocol`` (as text) and, where another rule than the protocol's own stops it, ``rule``.
    """
    tasks = [(world, p["protocol"], p.get("rule"), n_items, seed) for p in protocols]
    found = run_tasks(played, tasks, workers=workers, ordered=True)
    return {p["label"]: table for p, table in zip(protocols, found, strict=True)}


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
        ends = None if isinstance(rule, Rule) else await _batch_stops(protocol, rule, agent, items, order)
        for at, item in enumerate(items):
            debate = Debate(protocol, rule, agent, item, order, None if ends is None else ends[at])
            outcome = await debate.play()
            debate_id, spent = debate.case.debate, [debate.calls, debate.input, debate.output]
            decided = [item.label, outcome.decision, outcome.round]
            rows.append([debate_id, item.question, order, *decided, *spent, outcome.reason])
    return pd.DataFrame(rows, columns=COLUMNS)


async def _batch_stops(
    protocol: DebateProtocol, rule: StoppingRule, agent: Agent, items: Sequence[Any], order: str
) -> list[tuple[int, str]]:
    """Say after which round each debate stops under a rule that looks at the whole batch.

    An agent's words depend on the debate and the round alone, so debates played to the end say what the rule
    would have seen; they are then played again up to there.
    """
    votes = []
    for item in items:
        debate = Debate(protocol, FullDepth(), agent, item, order, None)
        await debate.play()
        votes.append([step.votes for step in debate.steps])
    codes: dict[str | None, int] = {"A": 0, "B": 1, None: -1}
    array = np.array([[[codes[vote] for vote in votes_] for votes_ in rounds] for rounds in votes])
    labels = [codes[item.label] for item in items]
    stops = rule.stop_rounds(Trajectories.from_arrays(array, label=labels, answers=["A", "B"]))
    return [(int(at), str(why)) for at, why in zip(stops.rounds, stops.reasons, strict=True)]


class Debate:
    """One debate: who was asked how much, and the rounds as a rule sees them."""

    def __init__(
        self,
        protocol: DebateProtocol,
        rule: StoppingRule,
        agent: Agent,
        item: Any,
        order: str,
        end: tuple[int, str] | None,
    ) -> None:
        self.protocol, self.agent, self.end = protocol, agent, end
        self.case = item.case(f"{item.question}/{order}", order[0])
        self.book = RuleBook(self.case, rule if isinstance(rule, Rule) else FullDepth(), protocol.max_rounds)
        self.calls, self.input, self.output = 0, 0, 0
        self.steps: list[RoundOver] = []

    async def play(self) -> Outcome:
        """Play it to its end."""
        return await drive(self.protocol.play(self.case), self._answer, self._settle)

    async def _answer(self, request: Request) -> Reply:
        reply = await ask(self.agent, request)
        self.calls += 1
        self.input += reply.tokens_in or 0
        self.output += reply.tokens_out or 0
        return reply

    async def _settle(self, step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        self.steps.append(step)
        decision = self.book.decide(step, since)
        if self.end is None or decision.reason not in (None, str(StopReason.EXHAUSTED)):
            return decision
        at, why = self.end
        return Decision(stop=step.number >= at, reason=why if step.number >= at else None)
