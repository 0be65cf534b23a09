"""What a run will cost, before its first call: the debates played with imagined replies."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from d3stats._check import integer
from d3stats.agent import Agent, Size
from d3stats.protocols.play import DebateProtocol
from d3stats.run.ahead import Cast, ahead
from d3stats.run.asked import Asked
from d3stats.run.budget import FREE, Cost, Tariff
from d3stats.run.items import DebateItem, Orders, Planned
from d3stats.stopping import StoppingRule
from d3stats.worlds.tokens import PriceTable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Forecast", "Outlook", "forecast"]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What debates cost that stop after so many rounds; sums over all debates.

    Attributes
    ----------
    rounds : int
    size : str
        ``"typical"`` or ``"longest"``; the latter is a bound on one attempt a call.
    calls, tokens_in, tokens_out : int
    dollars : float or None
        None without prices.
    """

    rounds: int
    size: Size
    calls: int
    tokens_in: int
    tokens_out: int
    dollars: float | None

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True)
class Forecast:
    """The cost of a run.

    Attributes
    ----------
    debates : int
    measured : int
        How many of them were played with imagined replies; the sums are scaled up from these.
    shortest, full : Outlook
        Typical replies, when every debate stops after its first round, and when none stops before the last.
    bound : Outlook
        The longest replies and the last round. An upper bound when all debates were measured and every call is
        made once; further attempts after failures come on top of it, within the budget.
    """

    debates: int
    measured: int
    shortest: Outlook
    full: Outlook
    bound: Outlook

    def to_frame(self) -> pd.DataFrame:
        """Return ``case, rounds, calls, tokens_in, tokens_out, tokens, dollars, tokens_per_debate``."""
        import pandas as pd

        names = ("first round", "all rounds", "at most")
        looks = (self.shortest, self.full, self.bound)
        return pd.DataFrame(
            {
                "case": names,
                "rounds": [look.rounds for look in looks],
                "calls": [look.calls for look in looks],
                "tokens_in": [look.tokens_in for look in looks],
                "tokens_out": [look.tokens_out for look in looks],
                "tokens": [look.tokens for look in looks],
                "dollars": [look.dollars for look in looks],
                "tokens_per_debate": [look.tokens / self.debates for look in looks],
            }
        )


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
    """Say what a run would cost; asks nobody.

    Parameters
    ----------
    protocol, items, agents, orders, repeats, seed, rule, budget_tokens, max_usd, prices
        As for :func:`d3stats.run.run.run_debates`. Rule and limits change no number; they are looked at as the
        run would.
    measure : int
        How many debates are played with imagined replies at most, drawn evenly over the list with `seed`.

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
    asked = Asked.of(
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
    planned, cast, tariff = asked.planned, asked.cast, asked.tariff
    count = min(integer("measure", measure, minimum=1), len(planned))
    # One debate at random in each of equally long stretches: every n-th would meet only the long ones of items whose
    # lengths alternate, or only one order of the candidates.
    draw, edges = random.Random(seed), [i * len(planned) // count for i in range(count + 1)]
    chosen = [planned[draw.randrange(*stretch)] for stretch in pairwise(edges)]
    if prices is not None:
        tariff.require([cast.model(role) for role in asked.roles], "a forecast in dollars")

    def look(rounds: int, size: Size) -> Outlook:
        return _look(
            protocol, chosen, cast, tariff if prices is not None else None, len(planned), rounds, size
        )

    depth = protocol.max_rounds
    return Forecast(len(planned), count, look(1, "typical"), look(depth, "typical"), look(depth, "longest"))


def _look(
    protocol: DebateProtocol,
    chosen: Sequence[Planned],
    cast: Cast,
    tariff: Tariff | None,
    debates: int,
    rounds: int,
    size: Size,
) -> Outlook:
    calls = asked = answered = 0
    cost: Cost = FREE
    for planned in chosen:
        for moment in ahead(protocol, planned.case, cast, size, continued=rounds - 1):
            if moment.request is None or moment.reply is None:
                continue
            calls += 1
            one, other = int(moment.reply.tokens_in or 0), int(moment.reply.tokens_out or 0)
            asked, answered = asked + one, answered + other
            if tariff is not None:
                cost += tariff.cost(cast.model(moment.request.role), one, other)
    scale = debates / len(chosen)
    return Outlook(
        rounds,
        size,
        round(calls * scale),
        round(asked * scale),
        round(answered * scale),
        None if tariff is None else cost.dollars * scale,
    )
