"""What must be set aside for a debate: its next round and its end, and its whole course, whatever is said in it."""

from __future__ import annotations

from collections.abc import Mapping

from d3stats.agents.request import Reply, Request
from d3stats.debates.ahead import Cast, Key, ahead
from d3stats.debates.cost import FREE, Cost, Tariff
from d3stats.debates.placement import Planned
from d3stats.protocols.protocol import DebateProtocol

__all__ = ["Reserve"]


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
