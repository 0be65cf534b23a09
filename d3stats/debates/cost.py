"""What calls cost, in tokens and dollars that sum without rounding.

Tokens are whole numbers and dollars are counted in millionths of a millionth (a price per million tokens with six
decimals is then a whole number per token).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from d3stats.simulate.tokens import PriceTable

__all__ = ["FREE", "PICO", "Cost", "Tariff"]

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
