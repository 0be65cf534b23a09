"""A budget that is never exceeded: a call starts only if its worst-case cost still fits.

A :class:`Bank` holds the budget of a run. Each debate has a :class:`Purse`, the amount reserved for its next round and
its end. Each call has a :class:`Hold`, its worst-case cost, which is taken from the :class:`Purse`. A call that ends
gives back what it did not use. A debate starts beside others only when all its rounds fit beside theirs, so it rarely
runs short. A debate whose next round does not fit waits until others give back; when all debates wait, one of them is
refused.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from d3stats._check import integer, number
from d3stats.worlds.tokens import PriceTable

__all__ = ["FREE", "PICO", "Bank", "Cost", "Hold", "Purse", "Tariff"]

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
    """The prices of tokens by model.

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
    _cached: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        models = {} if self.prices is None else self.prices.models
        # Rounded up: a budget in dollars must hold whatever the seventh decimal is.
        rates = {name: (_rate(asked), _rate(answered)) for name, (asked, answered) in models.items()}
        object.__setattr__(self, "_rates", rates)
        cached = {} if self.prices is None else self.prices.cached
        object.__setattr__(self, "_cached", {name: _rate(price) for name, price in cached.items()})

    def cost(self, model: str | None, tokens_in: int, tokens_out: int, cached: int = 0) -> Cost:
        """Return what so many tokens of a model cost; `cached` of the prompt tokens have the cached price.

        A bound is made without cached tokens, so that it holds if the cache is empty.
        """
        asked, answered = self._rates.get(model or "", (0, 0))
        saved = cached * (asked - self._cached.get(model or "", asked))
        return Cost(tokens_in + tokens_out, tokens_in * asked + tokens_out * answered - saved)

    def dearest(self, model: str | None, tokens: int, most: tuple[int, int] | None = None) -> tuple[int, int]:
        """Put so many tokens on the side, prompt or completion, that costs more.

        Parameters
        ----------
        most : tuple of int, optional
            What either side can be at most.
        """
        asked, answered = self._rates.get(model or "", (0, 0))
        dear = tokens
        if most is not None and tokens <= sum(most):
            dear = min(tokens, most[0] if asked > answered else most[1])
        return (dear, tokens - dear) if asked > answered else (tokens - dear, dear)

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
    later: Cost
    running: bool
    begins: bool
    growth: float
    future: asyncio.Future[bool]


class Bank:
    """The budget of a run: the amounts spent, set aside and left.

    Parameters
    ----------
    tokens : int or None
        None sets no limit.
    dollars : float or None
    spent : Cost
        What earlier runs of the same log have spent.

    Attributes
    ----------
    held : Cost
        What is set aside.
    later : Cost
        What the debates that have started can cost beyond that. It is not set aside, but no other debate starts on it.
    open : int
        Debates that have started and not ended.
    active : int
        Number of these, and of those that want to start, that do not wait.
    growth : float
        How many times the bound of its first round a refused debate asked for. Another debate that starts with less
        would be cut short, too.
    """

    def __init__(self, tokens: int | None = None, dollars: float | None = None, spent: Cost = FREE) -> None:
        self.tokens = None if tokens is None else integer("budget_tokens", tokens, minimum=1)
        self.pico: int | None = None
        if dollars is not None:
            self.pico = math.floor(number("max_usd", dollars, minimum=0.0) * PICO)
        self.spent, self.held, self.later = spent, FREE, FREE
        self.overdrawn = 0
        self.open = 0
        self.active = 0
        self.growth = 1.0
        self._queue: list[_Waiting] = []

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.tokens is not None or self.pico is not None

    @property
    def left(self) -> Cost:
        """The amount that is neither spent nor set aside; 0 where there is no limit."""
        used = self.spent + self.held
        return Cost((self.tokens or used.tokens) - used.tokens, (self.pico or used.pico) - used.pico)

    def to_begin(self, need: Cost) -> Cost:
        """Return what must be left for a debate to start alone, if its first round and end need `need`."""
        return Cost(math.ceil(need.tokens * self.growth), math.ceil(need.pico * self.growth))

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

    async def wait_for(
        self,
        need: Cost,
        later: Cost = FREE,
        *,
        running: bool,
        begins: bool | None = None,
        growth: float = 1.0,
    ) -> bool:
        """Set aside, waiting for others to give back; False when all debates wait and it still does not fit.

        Debates that are running come first.

        Parameters
        ----------
        need : Cost
        later : Cost
            What the rest of a debate that begins can cost.
        running : bool
            Whether the debate has a record that must be closed. Such a debate need not fit in its whole course.
        begins : bool, optional
            Whether it is not counted as open yet; when it is not running by default.
        growth : float
            How many times its first bound a running debate asks for in all.
        """
        begins = not running if begins is None else begins
        waiting = _Waiting(need, later, running, begins, growth, asyncio.get_running_loop().create_future())
        first = running or not any(other.running for other in self._queue)
        if first and self._admit(waiting):
            return True
        self._queue.append(waiting)
        self.pause()
        try:
            return await waiting.future
        except asyncio.CancelledError:
            if waiting in self._queue:
                self._queue.remove(waiting)
                self.active += 1
            elif waiting.future.done() and not waiting.future.cancelled() and waiting.future.result():
                self._expel(waiting)
            raise

    def _admit(self, waiting: _Waiting) -> bool:
        if not waiting.running:
            alone = self.to_begin(waiting.need)
            if not self.fits(alone if self.open == 0 else waiting.need + waiting.later + self.later):
                return False
        if not self.take(waiting.need):
            return False
        if waiting.begins:
            self.open += 1
            self.later += waiting.later
        return True

    def _expel(self, waiting: _Waiting) -> None:
        self.held -= waiting.need
        if waiting.begins:
            self.open -= 1
            self.later -= waiting.later

    def expect(self, was: Cost, now: Cost) -> None:
        """Replace what the rest of an open debate can cost."""
        if was != now:
            self.later = self.later - was + now
            self._serve()

    def leave(self, held: Cost, later: Cost) -> None:
        """Give back what an open debate has left, which ends."""
        self.held -= held
        self.later -= later
        self.open -= 1
        self._serve()

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
        """Count debates as not playing; when no debate plays, one of those that wait for the bank is refused."""
        self.active -= debates
        self._serve()

    def _serve(self) -> None:
        for running in (True, False):
            for waiting in [waiting for waiting in self._queue if waiting.running is running]:
                if self._admit(waiting):
                    self._answer(waiting, True)
            if any(waiting.running for waiting in self._queue):
                break
        if self.active > 0 or not self._queue:
            return
        stuck = [waiting for waiting in self._queue if waiting.running]
        if stuck:
            # What it gives back when it has ended may do for the others. Of equals the last one goes.
            cut = max(reversed(stuck), key=lambda one: (one.need.tokens, one.need.pico))
            self.growth = max(self.growth, cut.growth)
            self._answer(cut, False)
        else:
            for waiting in list(self._queue):
                self._answer(waiting, False)

    def _answer(self, waiting: _Waiting, granted: bool) -> None:
        self._queue.remove(waiting)
        if waiting.future.done():  # its debate was cancelled
            if granted:
                self._expel(waiting)
            return
        self.active += 1
        waiting.future.set_result(granted)


class Purse:
    """The amount set aside for one debate (its next round and its end), and what its further rounds can cost."""

    def __init__(self, bank: Bank) -> None:
        self.bank, self.left, self.later = bank, FREE, FREE
        self.open = False
        self._first = FREE

    async def fill(self, need: Cost, later: Cost = FREE, *, running: bool) -> bool:
        """Set aside so much for the debate; False, without any change, when the bank does not have it.

        Parameters
        ----------
        need : Cost
            Need of the next round and the end after it.
        later : Cost
            Need of all that could follow.
        running : bool
            Whether the debate has started.
        """
        lacking = need.beyond(self.left)
        if not self.open:
            if not await self.bank.wait_for(lacking, later, running=running, begins=True):
                return False
            self.open, self.later = True, later
            self._first = FREE if running else need
        elif lacking != FREE:
            growth = need.tokens / self._first.tokens if self._first.tokens else 1.0
            if not await self.bank.wait_for(lacking, running=running, growth=growth):
                return False
        spare = (self.left + lacking).beyond(need)
        self.left = need
        was, self.later = self.later, later
        self.bank.expect(was, later)
        if spare != FREE:
            self.bank.give(spare)
        return True

    def hold(self, bound: Cost) -> Hold | None:
        """Set a call's bound aside, first from this amount, then from the bank; None when it does not fit."""
        own = self.left.least(bound)
        if not self.bank.take(bound - own):
            return None
        self.left -= own
        return Hold(self.bank, bound)

    def close(self) -> None:
        """Give back what is left."""
        if self.open:
            left, later, self.left, self.later, self.open = self.left, self.later, FREE, FREE, False
            self.bank.leave(left, later)


class Hold:
    """The amount set aside for one call and its further attempts."""

    def __init__(self, bank: Bank, amount: Cost) -> None:
        self.bank, self.amount = bank, amount

    def change(self, amount: Cost) -> bool:
        """Hold this much from now on, if there is enough."""
        if not self.bank.take(amount.beyond(self.amount)):
            return False
        spare, self.amount = self.amount.beyond(amount), amount
        if spare != FREE:
            self.bank.give(spare)
        return True

    def settle(self, actual: Cost) -> None:
        """End the call at what it cost."""
        amount, self.amount = self.amount, FREE
        self.bank.pay(amount, actual)
