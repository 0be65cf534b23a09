"""Random debates for the property that live and replayed are one: protocols, items, agents and rules.

Everything follows from one seed. Agents answer by debate, round and agent alone, so a run under another rule hears
the same replies in the rounds that it plays.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from d3stats.agent import Agent, More, Reply, Request, Size, always
from d3stats.protocols import protocol_from_text
from d3stats.protocols.play import DebateProtocol, Outcome, RoundOver, RuleBook, ask, drive
from d3stats.protocols.recorded import as_reply
from d3stats.run.budget import Bank
from d3stats.run.items import DebateItem, Planned, placements
from d3stats.run.record import as_turn
from d3stats.run.run import Lockstep
from d3stats.stopping import Decision, Rule, StoppingRule, StopReason, from_text
from d3stats.stopping.text import rule_names
from d3stats.trajectories import Trajectories
from d3stats.worlds import Assembly, Courtroom
from d3stats.worlds.streams import synthetic_agent, synthetic_items

PROTOCOLS = (
    "stability:max_rounds={rounds},panel={panel}",
    "stability:max_rounds={rounds},panel={panel},sees=last_round",
    "chateval:max_rounds={rounds},referees=public+critic",
    "chateval:max_rounds={rounds},communication=simultaneous",
    "chateval:max_rounds={rounds},aspects=coherence+overall,referees=public+critic+author",
    "chateval_open:max_rounds={rounds}",
    "multi_persona:max_rounds={rounds}",
    "eot:max_rounds={rounds}",
    "eot_network:max_rounds={rounds},communication=report",
    "agentverse:max_rounds={rounds},critics={panel}",
    "peer_discussion:max_rounds={rounds}",
    "samre:max_rounds={rounds},jurors={panel},poll=every_round,personas=none",
    "samre:max_rounds={rounds},jurors=0",
    "samre_advocates:max_rounds={rounds},jurors={panel},poll=every_round,personas=none",
    "majority:judges={panel}",
    "more:jurors={panel},personas=none",
)
"""At least one of every protocol with several rounds, and two with one; juries of every size, even ones too."""

SETTINGS: dict[str, tuple[str, ...]] = {
    "fixed": ("fixed:2",),
    "ladder": ("ladder:4-3-2",),
    "supermajority": ("supermajority:0.7", "supermajority:1.0", "supermajority:0.6,patience=2"),
    "unanimity": ("unanimity", "unanimity:block", "unanimity:min_votes=1"),
    "sprt": ("sprt:0.8,alpha=0.2,beta=0.2", "sprt:0.6,alpha=0.3,evidence=latest"),
    "e_process": ("e_process:0.4",),
    "betting": ("betting:0.45,bets=5",),
    "adaptive_consistency": ("adaptive_consistency:0.85",),
    "esc": ("esc:3",),
    "declaration": ("declaration", "declaration:0", "declaration:undecided=B"),
    "score_declaration": ("score_declaration:0,at_least=1", "score_declaration:1,at_least=9"),
    "look_ahead": ("look_ahead:2,p=0.6,cost=0.02",),
    "confidence": ("confidence:0.7", "confidence:1.0", "confidence:0.55,of=mean"),
    "token_budget": ("token_budget:150", "token_budget:150,growth=20"),
    "agreement_routing": ("agreement_routing", "agreement_routing:0.6,within=2"),
    "commit_walls": ("commit_walls:2", "commit_walls:2,cost=0.3,max_rounds=3"),
    "judge_sprt": ("judge_sprt:6,useful_b=2,other_a=2,other_b=6,low=0,high=200",),
    "wide_gap": ("wide_gap:3", "wide_gap:6,within=2"),
    "gap_posterior": ("gap_posterior:0.6,width=0.2",),
    "budgeted": ("budgeted:2.5", "budgeted:2,budget=120,max_rounds=3"),
    "eot": ("eot:0.5,max_rounds=3", "eot:0.99,max_rounds=9"),
    "ks": (
        "ks:0.4,patience=1",
        "ks:0.4,patience=1,camp=first",
        "ks:0.4,patience=1,camp=largest",
        "ks:0.5,patience=1,carry=unanimity,missing=wrong",
        "unanimity | ks:0.3,patience=1,camp=first",
        "supermajority:0.6 & ks:0.9,patience=1,camp=largest",
    ),
    "ks_bound": (
        "ks_bound:0.9,level=0.5,window=1",
        "ks_bound:0.9,level=0.5,window=1,camp=first,missing=wrong",
    ),
    "hu2025": (),
}
"""Settings with which a rule fires in short debates. A rule that is not here is played as its name alone reads.

``hu2025`` fits mixtures in every round, which takes minutes here; it is ``ks`` with other settings.
"""


def rules() -> list[StoppingRule]:
    """Return every rule that can be written as text, some in several settings; a new rule is found by its name."""
    found = []
    for name in rule_names():
        for text in SETTINGS.get(name, (name,)):
            try:
                found.append(from_text(text))
            except ValueError:
                found.append(from_text(f"{text}:2"))
    return found


@dataclass
class Hashed:
    """Answers by a hash of debate, round and agent.

    Parameters
    ----------
    seed : int
    agreeing : float
        Chance that a voter votes as most do in this debate.
    failing : float
        Chance that a vote or scores that are asked for are missing.
    uncounted : float
        Chance that a reply's tokens are not recorded.
    partial : float
        Chance that one side, or one criterion, of the scores that are asked for is missing.
    """

    seed: int
    agreeing: float = 0.5
    failing: float = 0.0
    uncounted: float = 0.0
    partial: float = 0.0

    model = "hashed"

    async def act(self, request: Request, /, more: More = always) -> Reply:
        case, slot = request.case, request.slot
        rng = random.Random(f"{self.seed}/{case.debate}/{request.round}/{request.agent}")
        choices = case.answers or (
            f"{case.question} x",
            "x",
            "6",
            "6.0",
            " six  of one ",
            "y",
            f"{self.seed % 3}",
        )
        usual = random.Random(f"{self.seed}/{case.debate}").choice(choices)
        vote, scores = None, None
        if slot.wants_vote and not (slot.may_pass and rng.random() < 0.6):
            vote = usual if rng.random() < self.agreeing else rng.choice(choices)
        if slot.rubric is not None:
            low, high = slot.rubric.low, slot.rubric.high
            scores = {
                side: {name: float(rng.randint(low, min(high, low + 1))) for name in slot.rubric.criteria}
                for side in slot.rubric.sides
            }
            if rng.random() < self.partial:
                side = rng.choice(slot.rubric.sides)
                dropped = rng.choice(slot.rubric.criteria)
                if rng.random() < 0.5:
                    del scores[side]
                else:
                    scores = {
                        s: {c: x for c, x in of.items() if (s, c) != (side, dropped)}
                        for s, of in scores.items()
                    }
        known = rng.random() >= self.uncounted
        sent, said = (rng.randint(5, 25), rng.randint(1, 9)) if known else (None, None)
        text = "\n".join(f"expert {i}" for i in range(slot.listed)) or f"{request.agent}: {rng.random():.3f}"
        # In the first round of the first debate nobody fails: whoever is asked for votes casts one somewhere.
        if rng.random() < self.failing and not (case.debate.startswith("q0") and request.round == 1):
            return Reply(text, None, None, sent, said, model="hashed-1", error="unreadable")
        stated = None if rng.random() < self.failing else rng.randint(0, 10) / 10
        return Reply(text, vote, scores, sent, said, model="hashed-1", confidence=stated)

    def imagine(self, request: Request, size: Size, /) -> Reply:
        return Reply("x" * 5, tokens_in=25, tokens_out=9, confidence=0.5)


@dataclass
class Setting:
    """What is debated, by whom and how."""

    seed: int
    protocol: DebateProtocol
    items: list[DebateItem]
    agent: Agent
    planned: tuple[Planned, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.planned = tuple(placements(self.items, seed=self.seed))


def setting(seed: int) -> Setting:
    """Draw a protocol, its items and its agents."""
    rng = random.Random(seed)
    text = rng.choice(PROTOCOLS).format(rounds=rng.randint(2, 5), panel=rng.randint(1, 5))
    protocol = protocol_from_text(text)
    n = rng.randint(1, 5)
    if rng.random() < 0.25:
        court = protocol.name in ("samre", "samre_advocates", "more", "majority")
        world = Courtroom() if court and rng.random() < 0.5 else Assembly()
        if protocol.candidates is not False:
            drawn = [
                DebateItem(f"q{i}", item.text, item.candidates, item.answers, item.label)
                for i, item in enumerate(synthetic_items(world, n, seed=seed))
            ]
            if not (isinstance(world, Courtroom) and protocol.name == "majority"):
                return Setting(seed, protocol, drawn, synthetic_agent(world, seed=seed))
    agent = Hashed(
        seed, rng.choice((0.3, 0.6, 0.9)), rng.choice((0.0, 0.1, 0.4)), rng.choice((0.0, 0.0, 0.1))
    )
    agent.partial = random.Random(f"{seed}, scores").choice((0.0, 0.2, 0.6))
    pairs = protocol.candidates is True or (protocol.candidates is None and rng.random() < 0.5)
    names = rng.choice((("A", "B"), ("B", "A"), ("A", "B", "tie"), ("gpt", "claude")))
    listed = None if pairs or rng.random() < 0.6 else rng.choice((("2", "10", "1"), ("C", "B", "A")))
    items = []
    for i in range(n):
        answers = names if pairs else listed
        # The label of an open question may be an answer that nobody ever votes.
        label = rng.choice(answers) if answers else rng.choice(("x", "6", f"q{i} x", "never voted"))
        items.append(
            DebateItem(
                f"q{i}",
                f"question {i}?",
                ("this", "that") if pairs else (),
                answers,
                # One label at least, so that rules that count right votes may be played.
                label if i == 0 or rng.random() < 0.8 else None,
                rng.choice((None, "one", "two")),
            )
        )
    return Setting(seed, protocol, items, agent)


LOGGED = ("debate", "round", "agent", "role", "vote", "scores", "tokens_in", "tokens_out", "confidence")
"""What a log has of a turn that arrays are made of."""

Spoken = dict[tuple[str, int, str], Reply]


@dataclass
class Played:
    """What a run under one rule did."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)
    """The last decision of each debate; by the protocol itself where `ended` holds it."""
    ended: set[str] = field(default_factory=set)
    turns: list[dict[str, Any]] = field(default_factory=list)
    late: set[str] = field(default_factory=set)
    """Debates in which somebody spoke after the last round was over (a jury)."""
    asked: set[str] = field(default_factory=set)
    """Roles that were asked for a vote."""

    def log(self, setting: Setting) -> Trajectories:
        """Return the arrays of the log that this run writes."""
        items = pd.DataFrame(
            [
                {
                    "debate": one.debate,
                    "question": one.item.question,
                    "cluster": one.item.cluster,
                    "label": one.item.label,
                }
                for one in setting.planned
            ]
        )
        return Trajectories.from_frame(pd.DataFrame(self.turns), items)

    @property
    def silent(self) -> set[str]:
        """Roles that were asked for votes and never cast one: the log cannot know that they had a seat."""
        return self.asked - {turn["role"] for turn in self.turns if turn["vote"] is not None}


def play(setting: Setting, rule: StoppingRule, known: Spoken) -> Played:
    """Play all debates of a setting under a rule, as a run does; `known` keeps replies from run to run."""
    return asyncio.run(_play(setting, rule, known))


async def _play(setting: Setting, rule: StoppingRule, known: Spoken) -> Played:
    played = Played()
    batch = None if isinstance(rule, Rule) else Lockstep(rule, setting.planned, Bank())
    if batch is not None:
        for _ in setting.planned:
            batch.bank.resume()
    debates = [_debate(setting, rule, known, played, batch, row) for row in range(len(setting.planned))]
    for result in await asyncio.gather(*debates, return_exceptions=True):
        if result is not None:
            raise result
    return played


async def _debate(
    setting: Setting, rule: StoppingRule, known: Spoken, played: Played, batch: Lockstep | None, row: int
) -> None:
    planned, most = setting.planned[row], setting.protocol.max_rounds
    book = RuleBook(planned.case, rule, most) if isinstance(rule, Rule) else None
    over = 0

    async def answer(request: Request) -> Reply:
        nonlocal over
        key = (request.case.debate, request.round, request.agent)
        if key not in known:
            known[key] = await ask(setting.agent, request)
        reply = known[key]
        if over >= request.round:
            played.late.add(planned.debate)
        if request.slot.wants_vote or request.slot.lead:
            played.asked.add(request.role)
        turn = as_turn(request, reply)
        played.turns.append({name: getattr(turn, name) for name in LOGGED})
        return as_reply(turn)

    async def settle(step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        nonlocal over
        over = step.number
        if book is not None:
            decision = book.decide(step, since)
        else:
            assert batch is not None
            decision = await batch.arrive(row, step, since)
            if step.ends is not None:
                decision = Decision(stop=True, reason=step.ends)
            elif not decision.stop and step.number >= most:
                decision = Decision(stop=True, reason=str(StopReason.EXHAUSTED))
        if step.ends is not None:
            played.ended.add(planned.debate)
        played.decisions[planned.debate] = decision
        return decision

    try:
        played.outcomes[planned.debate] = await drive(setting.protocol.play(planned.case), answer, settle)
    finally:
        if batch is not None:
            batch.leave(row)
            batch.bank.pause()


def as_decided(played: Played, debate: str) -> tuple[int, str]:
    """Return rounds and the rule's reason; "exhausted" where the protocol ended the debate by itself."""
    decision = played.decisions[debate]
    own = debate in played.ended or not decision.stop
    return played.outcomes[debate].round, str(StopReason.EXHAUSTED) if own else str(decision.reason)
