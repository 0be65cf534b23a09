"""A budget that is never exceeded: nothing is begun whose bound is not set aside.

Tokens are whole numbers and dollars are counted in millionths of a millionth (a price per million tokens with six
decimals is then a whole number per token), so sums do not round.

A :class:`Bank` holds what there is; each debate has a :class:`Purse` with what is set aside for its next round and
its end; each call has a :class:`Hold`, its bound, taken from the purse. A call that ends gives back what it did not
use. A debate whose next round does not fit waits until others have given back; when everybody waits, the debates
that wait are refused.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from d3stats._check import integer, number
from d3stats.simulate.tokens import PriceTable

__all__ = ["FREE", "Bank", "Cost", "Hold", "Purse", "Tariff"]

PICO = 1e12
"""Dollars are counted in millionths of a millionth."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens, and dollars in millionths of a millionth."""

    tokens: int = 0
    pico: int = 0

    @property
    def dollars(self) -> float:
        """The dollars."""
        return self.pico / PICO

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.tokens + other.tokens, self.pico + other.pico)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.tokens - other.tokens, self.pico - other.pico)

    def within(self, other: Cost) -> bool:
        """Whether this is at most the other, in tokens and in dollars."""
        return self.tokens <= other.tokens and self.pico <= other.pico

    def least(self, other: Cost) -> Cost:
        """Return the smaller of both, each for itself."""
        return Cost(min(self.tokens, other.tokens), min(self.pico, other.pico))

    def beyond(self, other: Cost) -> Cost:
        """Return what this has more than the other, nothing where it has less."""
        return Cost(max(self.tokens - other.tokens, 0), max(self.pico - other.pico, 0))


FREE = Cost()


@dataclass(frozen=True)
class Tariff:
    """What tokens cost by model.

    Parameters
    ----------
    prices : PriceTable, optional
        Without one everything is free in dollars.

    Examples
    --------
    >>> Tariff(PriceTable("2025-01-01", {"mine": (1.0, 4.0)})).cost("mine", 1000, 500).dollars
    0.003
    """

    prices: PriceTable | None = None
    _rates: dict[str, tuple[int, int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        models = {} if self.prices is None else self.prices.models
        # Rounded up: a budget in dollars must hold whatever the seventh decimal is.
        rates = {name: (_rate(asked), _rate(answered)) for name, (asked, answered) in models.items()}
        object.__setattr__(self, "_rates", rates)

    def cost(self, model: str | None, tokens_in: int, tokens_out: int) -> Cost:
        """Return what so many tokens of a model cost."""
        asked, answered = self._rates.get(model or "", (0, 0))
        return Cost(tokens_in + tokens_out, tokens_in * asked + tokens_out * answered)

    def dearest(self, model: str | None, tokens: int) -> tuple[int, int]:
        """Put so many tokens on the side, prompt or completion, that costs more."""
        asked, answered = self._rates.get(model or "", (0, 0))
        return (tokens, 0) if asked > answered else (0, tokens)

    def require(self, models: Iterable[str | None], why: str) -> None:
        """Refuse when a model has no price."""
        for model in models:
            if (model or "") not in self._rates:
                known = ", ".join(self._rates) or "none"
                raise ValueError(f"prices must name the model {model!r} for {why}; got prices of {known}")


def _rate(per_million: float) -> int:
    # What a decimal price lacks in binary is not a reason to round up.
    return math.ceil(round(per_million * 1e6, 6))


@dataclass
class _Waiting:
    need: Cost
    running: bool
    future: asyncio.Future[bool]


class Bank:
    """What there is to spend.

    Parameters
    ----------
    tokens : int or None
        None sets no limit.
    dollars : float or None
    spent : Cost
        What earlier runs of the same log have spent.
    """

    def __init__(self, tokens: int | None = None, dollars: float | None = None, spent: Cost = FREE) -> None:
        self.tokens = None if tokens is None else integer("budget_tokens", tokens, minimum=1)
        self.pico: int | None = None
        if dollars is not None:
            self.pico = math.floor(number("max_usd", dollars, minimum=0.0) * PICO)
        self.spent, self.held = spent, FREE
        self.overdrawn = 0
        self.closing = False
        self.active = 0
        self._queue: list[_Waiting] = []

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.tokens is not None or self.pico is not None

    def fits(self, need: Cost) -> bool:
        """Whether so much could be set aside now."""
        used = self.spent + self.held + need
        return (self.tokens is None or used.tokens <= self.tokens) and (
            self.pico is None or used.pico <= self.pico
        )

    def take(self, need: Cost) -> bool:
        """Set aside at once, or not at all."""
        if not self.fits(need):
            return False
        self.held += need
        return True

    async def wait_for(self, need: Cost, *, running: bool) -> bool:
        """Set aside, waiting for others to give back; False when everybody waits and it still does not fit.

        Debates that have begun come first. Once one of them was refused, no new one begins.
        """
        if not running and self.closing:
            return False
        first = running or not any(waiting.running for waiting in self._queue)
        if first and self.take(need):
            return True
        waiting = _Waiting(need, running, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        self.pause()
        try:
            return await waiting.future
        except asyncio.CancelledError:
            if waiting in self._queue:
                self._queue.remove(waiting)
                self.active += 1
            elif waiting.future.done() and not waiting.future.cancelled() and waiting.future.result():
                self.held -= need
            raise

    def give(self, back: Cost) -> None:
        """Give back what was set aside and is not needed."""
        self.held -= back
        self._serve()

    def pay(self, held: Cost, actual: Cost) -> None:
        """Turn what was set aside for a call into what it cost."""
        if not actual.within(held):
            self.overdrawn += 1
        self.held -= held
        self.spent += actual
        self._serve()

    def resume(self, debates: int = 1) -> None:
        """Count debates as playing."""
        self.active += debates

    def pause(self, debates: int = 1) -> None:
        """Count debates as not playing; when nobody plays, those who wait for the bank are refused."""
        self.active -= debates
        self._serve()

    def _serve(self) -> None:
        for running in (True, False):
            for waiting in [waiting for waiting in self._queue if waiting.running is running]:
                if self.take(waiting.need):
                    self._answer(waiting, True)
            if any(waiting.running for waiting in self._queue):
                break
        if self.active == 0 and self._queue:
            if any(waiting.running for waiting in self._queue):
                self.closing = True
            for waiting in list(self._queue):
                self._answer(waiting, False)

    def _answer(self, waiting: _Waiting, granted: bool) -> None:
        self._queue.remove(waiting)
        if waiting.future.done():  # its debate was cancelled
            if granted:
                self.held -= waiting.need
            return
        self.active += 1
        waiting.future.set_result(granted)


class Purse:
    """What is set aside for one debate: its next round and its end."""

    def __init__(self, bank: Bank) -> None:
        self.bank, self.left = bank, FREE

    async def fill(self, need: Cost, *, running: bool) -> bool:
        """Make the purse hold this much; False, and nothing changes, when that cannot be had."""
        lacking = need.beyond(self.left)
        if lacking != FREE and not await self.bank.wait_for(lacking, running=running):
            return False
        spare = (self.left + lacking).beyond(need)
        self.left = need
        if spare != FREE:
            self.bank.give(spare)
        return True

    def hold(self, bound: Cost) -> Hold | None:
        """Set a call's bound aside: from the purse, and what it lacks from the bank; None when it does not fit."""
        own = self.left.least(bound)
        if not self.bank.take(bound - own):
            return None
        self.left -= own
        return Hold(self.bank, bound)

    def close(self) -> None:
        """Give back what is left."""
        left, self.left = self.left, FREE
        self.bank.give(left)


class Hold:
    """What is set aside for one call and its further attempts."""

    def __init__(self, bank: Bank, amount: Cost) -> None:
        self.bank, self.amount = bank, amount

    def add(self, more: Cost) -> bool:
        """Set aside for a further attempt, if there is enough."""
        if not self.bank.take(more):
            return False
        self.amount += more
        return True

    def settle(self, actual: Cost) -> None:
        """End the call at what it cost."""
        amount, self.amount = self.amount, FREE
        self.bank.pay(amount, actual)
