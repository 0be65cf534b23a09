"""What does a run cost, and can it be played at all? A dry run answers without calling any model.

Each debate is played with simulated replies, typical ones or the longest that an agent can give. That gives the
forecast of a run, the bounds that the budget sets aside, and the checks made before anything is spent.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from d3stats._check import integer
from d3stats._words import counted, duration
from d3stats.agent import Agent, Case, Reply, Request, Size
from d3stats.note import Note, warning
from d3stats.protocols.play import DebateProtocol, RoundOver, Speak, complete, round_seen
from d3stats.result import Result
from d3stats.run.budget import FREE, Bank, Cost, Tariff
from d3stats.run.items import DebateItem, Orders, Planned, notes_of, placements
from d3stats.stopping import Decision, Rule, StoppingRule
from d3stats.stopping.tokens import TOKENS_UNKNOWN
from d3stats.stopping.votes import NEVER, refuse_steps
from d3stats.worlds.tokens import PriceTable

if TYPE_CHECKING:
    import pandas as pd

    from d3stats.planning.ledger import Ledger

__all__ = ["Asked", "Cast", "Forecast", "Outlook", "ahead", "check_rule", "forecast", "imagined"]

Key = tuple[int, str]
"""A turn of a debate: its round and its agent."""

Said = tuple[Request, Reply]


@dataclass(frozen=True)
class Cast:
    """The agents of a run by role.

    Parameters
    ----------
    agents : Agent or mapping of str to Agent
        One for all roles, or by role, with ``"default"`` for the roles that are not named. A numbered role that is
        not named itself (``"reviewer 2"``) is played by its kind (``"reviewer"``).

    Examples
    --------
    >>> from d3stats.protocols import ReplayAgent
    >>> from d3stats.log.schema import Turn
    >>> one, other = (ReplayAgent([Turn(debate="d1", round=1, agent=name)]) for name in ("one", "other"))
    >>> cast = Cast({"reviewer": one, "default": other})
    >>> cast("reviewer 2") is one, cast("judge") is other
    (True, True)
    """

    agents: Agent | Mapping[str, Agent]

    def __call__(self, role: str) -> Agent:
        """Return the agent of a role."""
        if not isinstance(self.agents, Mapping):
            return self.agents
        kind, _, number = role.rpartition(" ")
        names = (role, kind, "default") if number.isdecimal() else (role, "default")
        found = next((self.agents[name] for name in names if name in self.agents), None)
        if found is None:
            raise ValueError(
                f"agents must have an agent for the role {role!r} or a 'default'; got {', '.join(self.agents)}"
            )
        return found

    def model(self, role: str) -> str | None:
        """Return the model of a role's agent, None when it has none."""
        model = getattr(self(role), "model", None)
        return None if model is None else str(model)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that take part, each once."""
        known = {getattr(agent, "model", None) for agent in self.all.values()}
        return tuple(sorted(str(model) for model in known if model is not None))

    @property
    def all(self) -> dict[str, Agent]:
        """The agents by role, ``"default"`` for one that plays all."""
        return dict(self.agents) if isinstance(self.agents, Mapping) else {"default": self.agents}


def imagined(agent: Agent, request: Request, size: Size) -> Reply:
    """Return an agent's simulated reply with everything in it that was asked for.

    A vote that may be withheld is withheld, because the debate then takes longest.
    """
    slot = request.slot
    reply = agent.imagine(request, size)
    text = reply.text
    if slot.listed and text:
        step = max(1, len(text) // slot.listed)
        text = "\n".join(text[i * step : (i + 1) * step] for i in range(slot.listed))
    vote = None
    if slot.wants_vote and not slot.may_pass:
        # Another one each round: whoever repeats itself may leave early (eot).
        choices = slot.answers or ("answer", "other")
        vote = choices[(request.round - 1) % len(choices)]
    scores = None
    if slot.rubric is not None:
        rubric = slot.rubric
        scores = {side: dict.fromkeys(rubric.criteria, float(rubric.low)) for side in rubric.sides}
    return complete(request, replace(reply, text=text, vote=vote, scores=scores, error=None))


def ahead(
    protocol: DebateProtocol,
    case: Case,
    cast: Callable[[str], Agent],
    size: Size,
    *,
    said: Mapping[Key, Reply] | None = None,
    continued: int | None = None,
) -> Iterator[Said | RoundOver]:
    """Yield the calls that a debate has ahead of it, with simulated replies, and the ends of its rounds.

    Parameters
    ----------
    protocol, case
    cast : function of role
        Whose ``imagine`` is asked.
    size : {"typical", "longest"}
    said : mapping, optional
        Replies that are there already, by round and agent.
    continued : int, optional
        The debate continues after so many rounds and is stopped after the next one; by default it is played to its
        last round.
    """
    said, continued = said or {}, protocol.max_rounds - 1 if continued is None else continued
    play = protocol.play(case)
    send: object = None
    while True:
        try:
            step = play.send(send)
        except StopIteration:
            return
        if isinstance(step, Speak):
            replies = []
            for request in step.requests:
                reply = said.get((request.round, request.agent))
                if reply is None:
                    reply = imagined(cast(request.role), request, size)
                    yield request, reply
                replies.append(reply)
            send = tuple(replies)
        else:
            yield step
            stop = step.ends is not None or step.number > continued
            send = Decision(stop=stop, reason=(step.ends or "exhausted") if stop else None)


def check_rule(
    protocol: DebateProtocol,
    rule: StoppingRule,
    cases: Sequence[Case],
    cast: Callable[[str], Agent],
    labelled: bool,
) -> None:
    """Refuse, before anything is spent, a rule that will have nothing to look at.

    Parameters
    ----------
    cases : sequence of Case
        Cases of all debates. Rounds of the first debate are simulated, and of the others if the first has no
        token counts.

    Raises
    ------
    ValueError
        When the rule reads votes, scores or labels that a debate of this protocol does not have after each round. Also
        when the rule refuses its rounds (a panel of another size, scores of one side where two are compared), or has a
        budget of tokens and no agent counts any.
    """
    reads = rule.reads
    if "labels" in reads and not labelled:
        raise ValueError(
            f"rule must not need labels when no item has one; got {rule}, which counts votes for the right "
            "answer (camp=largest or camp=first counts others: ks:camp=largest)"
        )
    rounds: list[tuple[RoundOver, list[Said]]] = []
    since: list[Said] = []
    for moment in ahead(protocol, cases[0], cast, "typical"):
        if isinstance(moment, RoundOver):
            rounds.append((moment, since))
            since = []
        else:
            since.append(moment)
    ends = [step for step, _ in rounds]
    if reads & {"votes", "texts", "labels"} and not all(any(step.votes) for step in ends):
        how = f" ({protocol.polling.remedy} makes it)" if protocol.polling.remedy else ""
        raise ValueError(
            f"protocol must poll its voters every round for the rule {rule}, which reads votes; "
            f"got {protocol}, which does not{how}"
        )
    if "scores" in reads and not all(step.scores for step in ends):
        raise ValueError(
            f"protocol must score every round for the rule {rule}, which reads scores; got {protocol}, which does not"
        )
    if "confidence" in reads and not any(
        reply.confidence is not None for _, said in rounds for _, reply in said
    ):
        raise ValueError(
            f"agents must state a confidence with their votes for the rule {rule}, which reads it; got none from any "
            "agent (set confidence in the replies of `imagine` too, or take another rule)"
        )
    if "votes" in reads and rounds:
        refuse_steps([rule], max(len(step.votes) for step in ends))
    for part in rule.parts():
        if isinstance(part, Rule):
            # What a rule refuses (one side scored in place of two) it refuses here, not after a paid round.
            state, codes = part.start(), dict[str, int]()
            decisions = [state.update(round_seen(step, since, codes)) for step, since in rounds]
            unknown = any(decision.reason == TOKENS_UNKNOWN for decision in decisions)
            if unknown and not any(_counts_tokens(protocol, case, cast) for case in cases):
                raise ValueError(
                    f"agents must count their tokens for the rule {part}, which compares them with a "
                    "budget; got no "
                    "count from any agent (set tokens_in and tokens_out of the replies of `imagine`, or take another "
                    "rule)"
                )


def _counts_tokens(protocol: DebateProtocol, case: Case, cast: Callable[[str], Agent]) -> bool:
    """Whether any reply of a debate is expected to have its tokens."""
    moments = ahead(protocol, case, cast, "typical")
    replies = (moment[1] for moment in moments if not isinstance(moment, RoundOver))
    return any(None not in (reply.tokens_in, reply.tokens_out) for reply in replies)


LONGEST_ITEMS = 10
"""So many of the longest items are held against the context window."""

SAFE = 2.0
"""The factor on the characters per token at which a prompt is refused, where its tokens were not counted."""

LARGER = "use a larger window (slots share llama-server's -c), fewer rounds or shorter items"


class Asked:
    """The request of a run: who plays which debates by which protocol and rule, within which limits.

    Parameters
    ----------
    protocol, items, agents, rule, orders, seed, repeats, budget_tokens, max_usd, prices
        As for :func:`d3stats.run.run.run_debates`.

    Attributes
    ----------
    planned : tuple of Planned
        The debates.
    roles : tuple of str
        The roles that the protocol calls for.
    voters : tuple of str
        Those of them that are asked for votes, or for scores that decide.
    notes : tuple of str
        How the items were read, and how many have no label.

    Raises
    ------
    ValueError
        When the items do not suit the protocol, the rule has nothing to look at, a price is missing, or a limit is
        invalid. Also when an agent is for a role that the protocol does not have.
    """

    def __init__(
        self,
        protocol: DebateProtocol,
        items: Iterable[DebateItem],
        agents: Agent | Mapping[str, Agent],
        *,
        rule: StoppingRule | None,
        orders: Orders,
        seed: int,
        repeats: int,
        budget_tokens: int | None,
        max_usd: float | None,
        prices: PriceTable | None,
    ) -> None:
        self.protocol, self.rule = protocol, protocol.rule() if rule is None else rule
        self.orders, self.seed, self.repeats = orders, seed, repeats
        self.budget_tokens, self.max_usd, self.prices = budget_tokens, max_usd, prices
        self.cast, self.tariff = Cast(agents), Tariff(prices)
        self.ledger: Ledger | None = None
        items = items if isinstance(items, list) else list(items)
        cautions = (getattr(agent, "cautions", ()) for agent in self.cast.all.values())
        self.notes = (*notes_of(items), *dict.fromkeys(note for each in cautions for note in each))
        self.planned = tuple(placements(items, orders, seed, repeats, self.cast.models))
        _check_items(self.planned, protocol)
        self.check(self.rule)
        slots = [(request.role, request.slot) for request, _ in self.calls(self.planned[0], "typical")]
        self.roles = tuple(sorted({role for role, _ in slots}))
        self.voters = tuple(
            sorted({role for role, slot in slots if slot.wants_vote or slot.lead or slot.rubric is not None})
        )
        _check_roles(agents, self.roles, protocol)
        if max_usd is not None:
            self.tariff.require({self.cast.model(role): None for role in self.roles}, "a budget in dollars")
        self.bank()

    def bank(self, spent: Cost = FREE) -> Bank:
        """Return the budget, of which so much is spent."""
        return Bank(self.budget_tokens, self.max_usd, spent)

    def check(self, rule: StoppingRule) -> None:
        """Refuse a rule that these debates give nothing to look at."""
        labelled = any(debate.item.label is not None for debate in self.planned)
        check_rule(self.protocol, rule, [debate.case for debate in self.planned], self.cast, labelled)

    @property
    def batched(self) -> bool:
        """Whether the rule decides for all debates together."""
        return not isinstance(self.rule, Rule)

    @property
    def replayed(self) -> bool:
        """Whether a resumed run goes through its closed debates again, because later decisions depend on them."""
        return self.batched or self.ledger is not None

    def calls(
        self,
        planned: Planned,
        size: Size,
        said: Mapping[Key, Reply] | None = None,
        continued: int | None = None,
    ) -> Iterator[Said]:
        """Yield the calls that a debate has ahead of it, see :func:`ahead`."""
        for moment in ahead(self.protocol, planned.case, self.cast, size, said=said, continued=continued):
            if not isinstance(moment, RoundOver):
                yield moment

    def price(self, request: Request, reply: Reply) -> Cost:
        """Return the cost of a reply with its tokens."""
        return self.tariff.cost(
            self.cast.model(request.role), int(reply.tokens_in or 0), int(reply.tokens_out or 0)
        )

    def next_round(self, planned: Planned, said: Mapping[Key, Reply] | None = None, played: int = 0) -> Cost:
        """Return the most that the rounds up to the one after `played`, and the end after it, can cost."""
        return sum((self.price(*call) for call in self.calls(planned, "longest", said, played)), FREE)

    def course(self, planned: Planned, said: Mapping[Key, Reply] | None = None) -> tuple[Cost, ...]:
        """Return the most that everything after round 0, 1, 2, ... can cost when the debate is never stopped."""
        rounds = [FREE]
        for moment in ahead(self.protocol, planned.case, self.cast, "longest", said=said):
            if isinstance(moment, RoundOver):
                rounds.append(FREE)
            else:
                rounds[-1] += self.price(*moment)
        return tuple(accumulate(reversed(rounds)))[::-1]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the run, as the journal records them."""
        agents = self.cast.all.values()
        return {
            "protocol": str(self.protocol),
            "rule": str(self.rule),
            "orders": self.orders,
            "seed": self.seed,
            "repeats": self.repeats,
            "agents": {role: _described(self.cast(role)) for role in self.roles},
            "servers": sorted({str(agent.where) for agent in agents if hasattr(agent, "where")}),
            "voters": list(self.voters),
            "budget_tokens": self.budget_tokens,
            "max_usd": self.max_usd,
            "prices": None if self.prices is None else self.prices.date,
        }

    def check_budget(self) -> None:
        """Refuse a budget that is below every debate.

        Raises
        ------
        ValueError
            Names the least that would do, and what a debate is expected to cost.
        """
        bank = self.bank()
        if not bank.limited:
            return
        needs = []
        for planned in self.planned:
            needs.append(self.next_round(planned))
            if bank.fits(needs[-1]):
                return
        least = min(needs, key=lambda need: (need.tokens, need.pico))
        typical = sum((self.price(*call) for call in self.calls(self.planned[0], "typical")), FREE)
        if bank.tokens is not None and least.tokens > bank.tokens:
            asked, usual = f"budget_tokens must be at least {least.tokens}", f"{typical.tokens:,}"
            got = f"budget_tokens={bank.tokens}"
        else:
            asked, usual = f"max_usd must be at least {least.dollars:.6f}", f"{typical.dollars:.6f}"
            got = f"max_usd={self.max_usd}"
        raise ValueError(
            f"{asked} so that one debate can start and end with any replies (a typical debate with all its "
            f"rounds costs about {usual}); got {got}"
        )

    def check_windows(self, done: Container[str] = ()) -> tuple[Note, ...]:
        """Refuse calls that cannot fit into the context window of their model, where it is known; warn of tight ones.

        A prompt that alone takes more than the window cannot fit. Its tokens are those of the server's tokeniser where
        it has one; else a prompt is refused only where it is too long at :data:`SAFE` times as many characters a token
        as a forecast takes. A call may not fit when its prompt and the limit on its reply take more.

        Only the longest items are checked, because the protocol bounds the length of messages on every item.

        Parameters
        ----------
        done : container of str
            Debates that are over.

        Raises
        ------
        ValueError
            Names the longest call, the window, and what to change.
        """
        agents = self.cast.all.values()
        if not any(getattr(agent, "window", None) for agent in agents):
            return ()
        left = [planned for planned in self.planned if planned.debate not in done]
        tight: tuple[int, int, Request] | None = None
        for planned in sorted(left, key=lambda planned: planned.item.size, reverse=True)[:LONGEST_ITEMS]:
            for request, reply in self.calls(planned, "typical"):
                agent = self.cast(request.role)
                window = getattr(agent, "window", None)
                if not window:
                    continue
                asked = int(reply.tokens_in or 0)
                if not request.seen and asked > window * (1.0 if getattr(agent, "measured", False) else SAFE):
                    raise ValueError(
                        f"the context window of {self.cast.model(request.role)!r} must hold every prompt; got "
                        f"{window:,} tokens and a prompt of about {asked:,} ({request.agent} in round "
                        f"{request.round} of {planned.item.question!r}); {LARGER}, or skip this check (--window 0, "
                        "in Python window=0)"
                    )
                most = asked + int(agent.imagine(request, "longest").tokens_out or 0)
                if most > window and (tight is None or most - window > tight[0] - tight[1]):
                    tight = (most, window, request)
        if tight is None:
            return ()
        most, window, request = tight
        text = (
            f"the longest call may take about {most:,} tokens ({request.agent} in round {request.round}), and the "
            f"context window of {self.cast.model(request.role)!r} has {window:,}; a reply that does not fit is "
            f"missing; {LARGER}"
        )
        return (warning(text, "context window", about=str(self.cast.model(request.role))),)


def _check_items(planned: Sequence[Planned], protocol: DebateProtocol) -> None:
    if not planned:
        raise ValueError("items must hold at least one item; got none")
    for debate in planned:
        n = len(debate.item.candidates)
        takes = {True: (2,), False: (0,), None: (0, 2)}[protocol.candidates]
        takes += (1,) if protocol.one_response else ()
        if n not in takes:
            words = {0: "no candidates", 1: "one candidate", 2: "two candidates"}
            needs, got = " or ".join(words[k] for k in sorted(takes, reverse=True)), ("none", "one", "two")[n]
            raise ValueError(
                f"items must have {needs} for {protocol.name}; got {got} in {debate.item.question!r}"
            )
    names = Counter(debate.debate for debate in planned)
    twice = next((name for name, times in names.items() if times > 1), None)
    if twice is not None:
        raise ValueError(f"items must have different names; got {twice!r} twice")


def _check_roles(agents: object, roles: Sequence[str], protocol: DebateProtocol) -> None:
    """Refuse an agent for a role that nobody has: its name is a slip, and another would play in its place."""
    if not isinstance(agents, Mapping):
        return
    known = {"default", *roles}
    known |= {role.rpartition(" ")[0] for role in roles if role.rpartition(" ")[2].isdecimal()}
    odd = next((name for name in agents if name not in known), None)
    if odd is not None:
        raise ValueError(
            f"agents must be for roles of {protocol.name} ({', '.join(sorted(known - {'default'}))}) "
            f"or 'default'; got {odd!r}"
        )


def _described(agent: Agent) -> Any:
    """What a journal says of an agent: its own settings, or its kind and model.

    Where its server stands is said apart: it may move between runs.
    """
    settings = getattr(agent, "settings", None)
    if isinstance(settings, Mapping):
        return {name: value for name, value in settings.items() if name != "server"}
    return {"agent": type(agent).__name__, "model": getattr(agent, "model", None)}


@dataclass(frozen=True, slots=True)
class Outlook:
    """The cost of debates that stop after so many rounds, as sums over all debates.

    Attributes
    ----------
    rounds : int
    size : str
        ``"typical"`` or ``"longest"``; the latter is a bound on one attempt a call.
    calls, tokens_in, tokens_out : int
    dollars : float or None
        None without prices.
    seconds : float or None
        None where no earlier run has measured its calls.
    """

    rounds: int
    size: Size
    calls: int
    tokens_in: int
    tokens_out: int
    dollars: float | None
    seconds: float | None = None

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True)
class Forecast(Result):
    """The cost of a run, by a dry run.

    Attributes
    ----------
    debates : int
    measured : int
        How many of them were played with simulated replies; the sums are scaled up from these.
    shortest, full : Outlook
        Typical replies, when every debate stops after the first round in which the rule can stop it, and when none
        stops before the last.
    bound : Outlook
        The longest replies and the last round. An upper bound when all debates were measured and every call is
        made once; further attempts after failures come on top of it, within the budget.
    notes : tuple of str
        How the items were read, and how many have no label; see :func:`d3stats.run.items.read_items`.

    Examples
    --------
    >>> look = Outlook(rounds=2, size="typical", calls=4, tokens_in=900, tokens_out=100, dollars=0.01)
    >>> found = Forecast(debates=1, measured=1, shortest=look, full=look, bound=look)
    >>> print(found.headline)
    1 debate: 1,000 tokens ($0.01) if none stops early, at most 1,000 ($0.01).
    """

    debates: int
    measured: int
    shortest: Outlook
    full: Outlook
    bound: Outlook
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The answer, what the debates cost if none stops early, and at most."""
        most = f"{self.bound.tokens:,}{_paid(self.bound)}"
        return (
            f"{counted(self.debates, 'debate')}: {self.full.tokens:,} tokens{_paid(self.full)} if none stops early, "
            f"at most {most}."
        )

    def timed(self, seconds: float, calls: int, at_once: int, source: str) -> Forecast:
        """Return the forecast with the time that its calls take at the pace of an earlier run.

        Parameters
        ----------
        seconds : float
            A call's share of the time of the earlier run.
        calls, at_once : int
            Calls that were timed there, and the most at a time.
        source : str
            Where they were timed.

        Examples
        --------
        >>> look = Outlook(rounds=2, size="typical", calls=40, tokens_in=900, tokens_out=100, dollars=None)
        >>> found = Forecast(debates=1, measured=1, shortest=look, full=look, bound=look)
        >>> print(found.timed(1.5, 200, 8, "pilot.calls.jsonl").notes[-1])
        Time: about 60 s if none stops early, at the pace of 200 calls in pilot.calls.jsonl (1.5 s each, 8 at a time).
        """
        shortest, full, bound = (
            replace(look, seconds=look.calls * seconds) for look in (self.shortest, self.full, self.bound)
        )
        note = (
            f"Time: about {duration(full.calls * seconds)} if none stops early, at the pace of "
            f"{counted(calls, 'call')} in {source} ({seconds:.2g} s each, {at_once} at a time)."
        )
        return replace(self, shortest=shortest, full=full, bound=bound, notes=(*self.notes, note))

    def _tables(self) -> dict[str, pd.DataFrame]:
        """Return ``case, rounds, calls, tokens_in, tokens_out, tokens, dollars, tokens_per_debate``."""
        import pandas as pd

        looks = (self.shortest, self.full, self.bound)
        names = ("rounds", "calls", "tokens_in", "tokens_out", "tokens", "dollars")
        table = pd.DataFrame({name: [getattr(look, name) for look in looks] for name in names})
        table.insert(0, "case", ("earliest stop", "all rounds", "at most"))
        return {"costs": table.assign(tokens_per_debate=[look.tokens / self.debates for look in looks])}

    def _document(self) -> dict[str, Any]:
        names = ("debates", "measured", "shortest", "full", "bound", "notes")
        return {name: getattr(self, name) for name in names}


def _paid(look: Outlook) -> str:
    return "" if look.dollars is None else f" (${look.dollars:z,.2f})"


def forecast(
    protocol: DebateProtocol,
    items: Iterable[DebateItem],
    agents: Agent | Mapping[str, Agent],
    *,
    orders: Orders = "seeded",
    repeats: int = 1,
    seed: int = 0,
    rule: StoppingRule | None = None,
    budget_tokens: int | None = None,
    max_usd: float | None = None,
    prices: PriceTable | None = None,
    measure: int = 50,
) -> Forecast:
    """Estimate what a run would cost by a dry run that calls no model.

    Parameters
    ----------
    protocol, items, agents, orders, repeats, seed, rule, budget_tokens, max_usd, prices
        As for :func:`d3stats.run.run.run_debates`. The rule says where debates stop at the
        earliest, and limits change no number; they are checked as in a run.
    measure : int
        How many debates are played with simulated replies at most, drawn evenly over the list with `seed`.

    Returns
    -------
    Forecast

    Raises
    ------
    ValueError
        When the run would be refused, or the prices do not name an agent's model.

    Examples
    --------
    >>> from d3stats.agent import Reply
    >>> from d3stats.protocols.baselines import SingleJudge
    >>> class Judge:
    ...     model = "mine"
    ...     def imagine(self, request, size):
    ...         return Reply("", tokens_in=100, tokens_out=10 if size == "typical" else 50)
    >>> found = forecast(SingleJudge(), [DebateItem("q", "Why?", ("So.", "No."))], Judge())
    >>> found.full.tokens, found.bound.tokens, found.full.dollars
    (110, 150, None)
    """
    asked = Asked(
        protocol,
        items,
        agents,
        rule=rule,
        orders=orders,
        seed=seed,
        repeats=repeats,
        budget_tokens=budget_tokens,
        max_usd=max_usd,
        prices=prices,
    )
    asked.check_budget()
    planned = asked.planned
    count = min(integer("measure", measure, minimum=1), len(planned))
    # One debate at random in each of equally long stretches: every n-th would meet only the long ones of items whose
    # lengths alternate, or only one order of the candidates.
    draw, edges = random.Random(seed), [i * len(planned) // count for i in range(count + 1)]
    chosen = [planned[draw.randrange(*stretch)] for stretch in pairwise(edges)]
    if prices is not None:
        asked.tariff.require([asked.cast.model(role) for role in asked.roles], "a forecast in dollars")

    def look(rounds: int, size: Size) -> Outlook:
        calls = [call for debate in chosen for call in asked.calls(debate, size, continued=rounds - 1)]
        cost = sum((asked.price(*call) for call in calls), FREE)
        scale = len(planned) / len(chosen)
        return Outlook(
            rounds,
            size,
            round(len(calls) * scale),
            round(sum(int(reply.tokens_in or 0) for _, reply in calls) * scale),
            round(sum(int(reply.tokens_out or 0) for _, reply in calls) * scale),
            None if prices is None else cost.dollars * scale,
        )

    depth = protocol.max_rounds
    first = 1 if protocol.ends_itself else min(asked.rule.earliest, depth)
    cases = look(first, "typical"), look(depth, "typical"), look(depth, "longest")
    notes = list(asked.notes)
    if rule is not None and depth < asked.rule.earliest < NEVER:
        ends = "1 round" if depth == 1 else f"{depth} rounds"
        notes.append(
            f"{rule} stops no debate before round {asked.rule.earliest}; debates of {protocol} have {ends}, so it "
            "never stops one"
        )
    return Forecast(len(planned), count, *cases, notes=tuple(notes))
