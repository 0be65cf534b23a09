"""What a run is asked to do, looked at before anything is opened or spent: the same look for a run and a forecast."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from d3stats.agent import Agent, Reply, Request, Size
from d3stats.protocols.play import DebateProtocol
from d3stats.run.ahead import Cast, Key, ahead, check_rule
from d3stats.run.budget import FREE, Bank, Cost, Tariff
from d3stats.run.items import DebateItem, Orders, Planned, placements
from d3stats.stopping import Rule, StoppingRule
from d3stats.worlds.tokens import PriceTable

__all__ = ["Asked", "Reserve", "check_log"]


class Reserve:
    """Bounds of what debates cost, each attempt made once.

    Parameters
    ----------
    protocol, cast, tariff
        Of the run.
    """

    def __init__(self, protocol: DebateProtocol, cast: Cast, tariff: Tariff) -> None:
        self.protocol, self.cast, self.tariff = protocol, cast, tariff

    def price(self, request: Request, reply: Reply) -> Cost:
        """Return the cost of a reply with its tokens."""
        return self.tariff.cost(
            self.cast.model(request.role), int(reply.tokens_in or 0), int(reply.tokens_out or 0)
        )

    def next_round(self, planned: Planned, said: Mapping[Key, Reply] | None = None, played: int = 0) -> Cost:
        """The most that the rounds up to the one after `played`, and the end after it, can cost."""
        need = FREE
        for moment in ahead(self.protocol, planned.case, self.cast, "longest", said=said, continued=played):
            if moment.request is not None and moment.reply is not None:
                need += self.price(moment.request, moment.reply)
        return need

    def course(self, planned: Planned, said: Mapping[Key, Reply] | None = None) -> tuple[Cost, ...]:
        """The most that everything after round 0, 1, 2, ... can cost when the debate is never stopped."""
        rounds = [FREE]
        last = self.protocol.max_rounds - 1
        for moment in ahead(self.protocol, planned.case, self.cast, "longest", said=said, continued=last):
            if moment.request is None or moment.reply is None:
                rounds.append(FREE)
            else:
                rounds[-1] += self.price(moment.request, moment.reply)
        for i in reversed(range(len(rounds) - 1)):
            rounds[i] += rounds[i + 1]
        return tuple(rounds)

    def typical(self, planned: Planned) -> Cost:
        """What a debate is expected to cost when it is never stopped."""
        cost, last = FREE, self.protocol.max_rounds - 1
        for moment in ahead(self.protocol, planned.case, self.cast, "typical", continued=last):
            if moment.request is not None and moment.reply is not None:
                cost += self.price(moment.request, moment.reply)
        return cost


LONGEST_ITEMS = 10
"""So many of the longest items are held against the context window."""


@dataclass(frozen=True)
class Asked:
    """What is played, by whom, within what.

    Attributes
    ----------
    roles : tuple of str
        The roles that the protocol calls for.
    voters : tuple of str
        Those of them that are asked for votes, or for scores that decide.
    """

    protocol: DebateProtocol
    rule: StoppingRule
    planned: tuple[Planned, ...]
    cast: Cast
    roles: tuple[str, ...]
    orders: Orders
    seed: int
    repeats: int
    budget_tokens: int | None = None
    max_usd: float | None = None
    prices: PriceTable | None = None
    voters: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        protocol: DebateProtocol,
        items: Iterable[DebateItem],
        agents: Agent | Mapping[str, Agent],
        *,
        rule: StoppingRule | None = None,
        orders: Orders = "seeded",
        seed: int = 0,
        repeats: int = 1,
        budget_tokens: int | None = None,
        max_usd: float | None = None,
        prices: PriceTable | None = None,
    ) -> Asked:
        """Look at what is asked for; parameters as for :func:`d3stats.run.run.run_debates`.

        Raises
        ------
        ValueError
            When the items do not suit the protocol, the rule has nothing to look at, an agent is for a role that
            nobody has, a price is missing, or a limit is no limit.
        """
        rule = protocol.rule() if rule is None else rule
        cast = Cast(agents)
        planned = tuple(placements(items, orders, seed, repeats, cast.models))
        _check_items(planned, protocol)
        labelled = any(debate.item.label is not None for debate in planned)
        check_rule(protocol, rule, [debate.case for debate in planned], cast, labelled)
        calls = ahead(protocol, planned[0].case, cast, "typical", continued=protocol.max_rounds)
        requests = [moment.request for moment in calls if moment.request is not None]
        roles = tuple(sorted({request.role for request in requests}))
        voters = {
            request.role
            for request in requests
            if request.slot.wants_vote or request.slot.lead or request.slot.rubric is not None
        }
        _check_roles(agents, roles, protocol)
        if max_usd is not None:
            Tariff(prices).require({cast.model(role): None for role in roles}, "a budget in dollars")
        Bank(budget_tokens, max_usd)
        return cls(
            protocol,
            rule,
            planned,
            cast,
            roles,
            orders,
            seed,
            repeats,
            budget_tokens,
            max_usd,
            prices,
            tuple(sorted(voters)),
        )

    @property
    def batched(self) -> bool:
        """Whether the rule decides for all debates together."""
        return not isinstance(self.rule, Rule)

    @property
    def tariff(self) -> Tariff:
        """What tokens cost."""
        return Tariff(self.prices)

    @property
    def reserve(self) -> Reserve:
        """What its debates can cost."""
        return Reserve(self.protocol, self.cast, self.tariff)

    @property
    def settings(self) -> dict[str, Any]:
        """What a journal says of the run."""
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
        bank, reserve = Bank(self.budget_tokens, self.max_usd), self.reserve
        if not bank.limited:
            return
        needs = []
        for planned in self.planned:
            needs.append(reserve.next_round(planned))
            if bank.fits(needs[-1]):
                return
        least = min(needs, key=lambda need: (need.tokens, need.pico))
        typical = reserve.typical(self.planned[0])
        if bank.tokens is not None and least.tokens > bank.tokens:
            asked, usual = f"budget_tokens must be at least {least.tokens}", f"{typical.tokens:,}"
            got = f"budget_tokens={bank.tokens}"
        else:
            asked, usual = f"max_usd must be at least {least.dollars:.6f}", f"{typical.dollars:.6f}"
            got = f"max_usd={self.max_usd}"
        raise ValueError(
            f"{asked} for one debate to begin and end, whatever is said in it "
            f"(a typical debate with all its rounds costs about {usual}); got {got}"
        )

    def check_windows(self, done: Container[str] = ()) -> None:
        """Refuse calls that can be longer than the context window of their model, where it is known.

        The longest items are looked at: what others say is bounded by the protocol, whatever the item.

        Parameters
        ----------
        done : container of str
            Debates that are over.

        Raises
        ------
        ValueError
            Names the longest call, the window, and what to change.
        """
        if not any(getattr(agent, "window", None) for agent in self.cast.all.values()):
            return
        left = [planned for planned in self.planned if planned.debate not in done]
        worst: tuple[int, int, Request, Planned] | None = None
        for planned in sorted(left, key=_size, reverse=True)[:LONGEST_ITEMS]:
            for request, tokens in self._calls(planned, "longest"):
                window = getattr(self.cast(request.role), "window", None)
                if window and tokens > window and (worst is None or tokens - window > worst[0] - worst[1]):
                    worst = (tokens, window, request, planned)
        if worst is None:
            return
        tokens, window, request, planned = worst
        usual = max(tokens for other, tokens in self._calls(planned, "typical") if other.role == request.role)
        raise ValueError(
            f"the context window of {self.cast.model(request.role)!r} must hold the longest call, {tokens:,} tokens "
            f"when every byte is one and about {usual:,} as a rule ({request.agent} in round {request.round}); got "
            f"{window:,}: give the server a larger one (slots share llama-server's -c), ask for fewer rounds, shorter "
            "items or less with --tokens-per-word and --reasoning-tokens, or skip this check (--window 0, in Python "
            "window=0)"
        )

    def _calls(self, planned: Planned, size: Size) -> Iterator[tuple[Request, int]]:
        last = self.protocol.max_rounds - 1
        for moment in ahead(self.protocol, planned.case, self.cast, size, continued=last):
            if moment.request is not None and moment.reply is not None:
                yield moment.request, int(moment.reply.tokens_in or 0) + int(moment.reply.tokens_out or 0)


def _size(planned: Planned) -> int:
    return sum(len(text.encode(errors="replace")) for text in (planned.item.text, *planned.item.candidates))


def check_log(log: Path) -> None:
    """Refuse a path that cannot be a log."""
    if log.suffix not in (".jsonl", ".ndjson"):
        raise ValueError(f"log must end in .jsonl or .ndjson; got log={str(log)!r}")
    if not log.absolute().parent.is_dir():
        raise ValueError(f"log must lie in a folder that exists; got log={str(log)!r}")
    if log.is_dir():
        raise ValueError(f"log must be a file; got the folder log={str(log)!r}")


def _check_items(planned: Sequence[Planned], protocol: DebateProtocol) -> None:
    if not planned:
        raise ValueError("items must hold at least one item; got none")
    for debate in planned:
        if protocol.candidates is not None and protocol.candidates != bool(debate.item.candidates):
            needs = "two candidates" if protocol.candidates else "no candidates"
            got = "two" if debate.item.candidates else "none"
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
