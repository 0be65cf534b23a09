"""Play protocols over the same items, each item in both orders, in as many processes as are given.

Synthetic agents answer at once, so a protocol is played here in a plain loop, without files, budgets or concurrency;
the replies and the decisions are those of a run to a log.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from d3stats.agent import Reply, Request
from d3stats.protocols import protocol_from_text
from d3stats.protocols.play import DebateProtocol, Outcome, RoundOver, RuleBook, complete
from d3stats.stopping import CONTINUE, BatchRound, Decision, Rule, StoppingRule, StopReason, from_text
from d3stats.trajectories import MISSING, Trajectories
from d3stats.worlds import from_table
from d3stats.worlds.streams import synthetic_agent, synthetic_items

__all__ = ["panel_votes", "play_all"]

ORDERS = ("AB", "BA")

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
    found = Parallel(n_jobs=workers)(delayed(played)(*task) for task in tasks)
    yield from zip([p["label"] for p in protocols], found, strict=True)


def panel_votes(
    world: Mapping[str, Any], protocol: str, rounds: int, n_items: int, seed: int
) -> Trajectories:
    """Return the votes of debates that all go on for so many rounds."""
    agent, items = inhabited(json.dumps(world), n_items, seed)
    codes, rule = {"A": 0, "B": 1, None: MISSING}, from_text(f"fixed:{rounds}")
    votes = []
    for order in ORDERS:
        for item in items:
            debate = alone(Debate(protocol_from_text(protocol), agent, item, order), rule)
            votes.append([[codes[vote] for vote in said] for said in debate.votes])
    labels = [codes[item.label] for item in items]
    return Trajectories.from_arrays(np.array(votes), label=labels * len(ORDERS), answers=["A", "B"])


def played(
    world: Mapping[str, Any], text: str, rule_text: str | None, n_items: int, seed: int
) -> pd.DataFrame:
    """Play one protocol over all items in both orders; to a rule that needs a whole batch these are one batch."""
    protocol, (agent, items) = protocol_from_text(text), inhabited(json.dumps(world), n_items, seed)
    rule = protocol.rule() if rule_text is None else from_text(rule_text)
    debates = (Debate(protocol, agent, item, order) for order in ORDERS for item in items)
    done = (
        map(partial(alone, rule=rule), debates) if isinstance(rule, Rule) else together(list(debates), rule)
    )
    return pd.DataFrame([debate.row for debate in done], columns=COLUMNS)


@lru_cache(maxsize=1)
def inhabited(world: str, n_items: int, seed: int) -> tuple[Any, Sequence[Any]]:
    """Return a world's agent and items; what an agent remembers of them serves the next protocol."""
    value = from_table(json.loads(world))
    return synthetic_agent(value, seed), synthetic_items(value, n_items, seed)


class Debate:
    """One debate, played round by round.

    Parameters
    ----------
    protocol : DebateProtocol
    agent : SyntheticAgent
    item : SyntheticItem
    order : {"AB", "BA"}

    Attributes
    ----------
    step : RoundOver
        The latest round.
    since : list of (Request, Reply)
        What was said in it.
    votes : list of tuple
        The votes of all rounds.
    row : list
        What is known when it is over; None until then.
    """

    def __init__(self, protocol: DebateProtocol, agent: Any, item: Any, order: str) -> None:
        self.protocol, self.agent, self.item, self.order = protocol, agent, item, order
        self.case = item.case(f"{item.question}/{order}", order[0])
        self.calls, self.input, self.output = 0, 0, 0
        self.row: list[Any] | None = None
        self.since: list[tuple[Request, Reply]] = []
        self.votes: list[tuple[str | None, ...]] = []
        self._play = protocol.play(self.case)
        self.go_on(None)

    def go_on(self, decision: Decision | None) -> None:
        """Take the decision on the latest round, and play the next one if there is any."""
        self.since, send = [], decision
        while True:
            try:
                step = self._play.send(send)
            except StopIteration as stop:
                self._close(stop.value)
                return
            if isinstance(step, RoundOver):
                self.step = step
                self.votes.append(step.votes)
                return
            send = tuple(self._reply(request) for request in step.requests)

    def _reply(self, request: Request) -> Reply:
        reply = complete(request, self.agent.reply(request))
        self.since.append((request, reply))
        self.calls += 1
        self.input += reply.tokens_in
        self.output += reply.tokens_out
        return reply

    def _close(self, outcome: Outcome) -> None:
        decided = [self.item.label, outcome.decision, outcome.round]
        spent = [self.calls, self.input, self.output]
        self.row = [self.case.debate, self.item.question, self.order, *decided, *spent, outcome.reason]
        self.since = []


def alone(debate: Debate, rule: Rule) -> Debate:
    """Play a debate to its end under a rule that looks at nothing else."""
    book = RuleBook(debate.case, rule, debate.protocol.max_rounds)
    while debate.row is None:
        debate.go_on(book.decide(debate.step, debate.since))
    return debate


def together(debates: Sequence[Debate], rule: StoppingRule) -> Sequence[Debate]:
    """Play debates side by side under a rule that looks at all of them after each round; all score nothing."""
    state = rule.start_batch()
    codes: dict[str | None, int] = {"A": 0, "B": 1, None: MISSING}
    label = np.array([codes[debate.item.label] for debate in debates], dtype=np.int32)
    cluster = np.unique([debate.item.question for debate in debates], return_inverse=True)[1]
    while any(debate.row is None for debate in debates):
        played = np.array([debate.row is None for debate in debates])
        running = [debate for debate in debates if debate.row is None]
        votes = np.full((len(debates), len(running[0].step.votes)), MISSING, dtype=np.int32)
        votes[played] = [[codes[vote] for vote in debate.step.votes] for debate in running]
        number = running[0].step.number
        latest = BatchRound(
            number=number,
            votes=votes,
            label=label,
            played=played,
            panel=played * np.int64(votes.shape[1]),
            cluster=cluster,
            answers=("A", "B"),
        )
        decisions = state.update(latest)
        for at in np.flatnonzero(played).tolist():
            decision = CONTINUE
            if decisions.stop[at]:
                decision = Decision(stop=True, reason=str(decisions.reasons[at]))
            elif number == debates[at].protocol.max_rounds:
                decision = Decision(stop=True, reason=str(StopReason.EXHAUSTED))
            debates[at].go_on(decision)
    return debates
