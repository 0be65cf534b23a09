"""A token budget that is kept: stop before the round that might not fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from d3stats._check import NonNegativeFloat, PositiveFloat, number
from d3stats.stopping.rule import Decision, ReasonedRule, Round
from d3stats.trajectories import Trajectories

__all__ = ["TokenBudget"]

TOKENS_UNKNOWN = "tokens_unknown"
"""The reason of a debate that a rule with a budget stops because the tokens of a round are not recorded."""


@dataclass(frozen=True)
class TokenBudget(ReasonedRule):
    """Stop when the tokens spent and an upper bound on the next round exceed the budget.

    With c_r the tokens of round r, prompts and completions of all agents, the bound on c_{r+1} is one of

    - ``growth="linear"``: c_r + max(0, c_r - c_{r-1}). Exact when every prompt carries the transcript and every
      round adds the same to it, so that costs grow by the same amount each round. A bound when they never grow
      by more than they did the round before. After the first round, `factor` times c_1.
    - ``growth=`` a number: c_r + growth. A bound when no round costs more than `growth` tokens above the last.
    - `next_round_max`: that number, for instance calls per round times the largest context that is sent.

    Parameters
    ----------
    budget : float
        Tokens that a debate may spend, above 0.
    growth : "linear" or float
        Tokens; at least 0.
    factor : float
        Only with ``growth="linear"``: the most that the second round costs, in multiples of the first; at
        least 1. A round whose prompts carry one more round of transcript often costs about twice the first.
    next_round_max : float, optional
        The most that any round costs, in tokens; takes the place of `growth`.

    Raises
    ------
    ValueError
        On a log without tokens.

    Notes
    -----
    A rule decides after a round, so the first round is always paid for; the budget is kept if that round fits.
    When the tokens of a round are not recorded, the sum is unknown and nothing is guaranteed; the rule then
    stops with the reason "tokens_unknown". The bound is cautious: a last round that would have fitted may be
    left out, except where costs are linear.

    Examples
    --------
    >>> rounds = [Round(r, (0, 1), 2, tokens=1000.0 * r) for r in range(1, 9)]
    >>> TokenBudget(10_000).run(rounds), TokenBudget(9_999).run(rounds)
    ((4, 'token_budget'), (3, 'token_budget'))
    >>> TokenBudget(10_000).next_round_bound(3000.0, 2000.0)
    4000.0
    """

    budget: PositiveFloat
    growth: Literal["linear"] | float = "linear"
    factor: Annotated[float, partial(number, minimum=1.0)] = 2.0
    next_round_max: NonNegativeFloat | None = None

    name: ClassVar[str] = "token_budget"
    inputs: ClassVar[frozenset[str]] = frozenset({"tokens"})
    citation: ClassVar[str] = (
        "after Harrasse, Bandi and Bandi, Debate, Deliberate, Decide (D3), Algorithm 2, which uses past "
        "rounds"
    )
    statistic: ClassVar[str] = "tokens spent plus an upper bound on the next round's"
    guarantee: ClassVar[str] = (
        "never spends more than the budget if the first round fits and the stated bound on a round's growth "
        "holds; none on accuracy"
    )
    reason: ClassVar[str] = "token_budget"
    reasons: ClassVar[tuple[str, ...]] = ("token_budget", TOKENS_UNKNOWN)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.growth, str):
            object.__setattr__(self, "growth", number("growth", self.growth, minimum=0.0))
        elif self.growth != "linear":
            raise ValueError(f"growth must be 'linear' or a number of tokens; got growth={self.growth!r}")
        if self.next_round_max is not None and self.growth != "linear":
            raise ValueError(f"next_round_max must be given without growth; got growth={self.growth!r}")

    def next_round_bound(self, last: float, previous: float | None = None) -> float:
        """Return the most that the next round may cost after rounds of these costs, in tokens.

        Parameters
        ----------
        last, previous : float
            Tokens of the last round and of the one before, None when there was none.
        """
        if self.next_round_max is not None:
            return self.next_round_max
        if not isinstance(self.growth, str):
            return last + self.growth
        return last * self.factor if previous is None else last + max(0.0, last - previous)

    def start(self) -> _State:
        """Open a debate with nothing spent."""
        return _State(self)

    def conditions(self, trajectories: Trajectories) -> tuple[NDArray[np.bool_], ...]:
        """Say where the next round might not fit, and where the tokens spent are unknown."""
        cost = trajectories.tokens
        if cost is None:
            raise ValueError(
                "tokens must be logged, because token_budget adds up the tokens of each round; got none"
            )
        spent = np.cumsum(cost, axis=1)
        if self.next_round_max is not None:
            bound = np.full_like(cost, self.next_round_max)
        elif not isinstance(self.growth, str):
            bound = cost + self.growth
        else:
            bound = cost * self.factor
            bound[:, 1:] = cost[:, 1:] + np.maximum(0.0, np.diff(cost, axis=1))
        return spent + bound > self.budget, np.isnan(spent)


@dataclass
class _State:
    rule: TokenBudget
    spent: float | None = 0.0
    last: float | None = None

    def update(self, latest: Round, /) -> Decision:
        if latest.tokens is None or self.spent is None:
            self.spent = None
            return self.rule.decision((False, True), {})
        self.spent += latest.tokens
        bound = self.rule.next_round_bound(latest.tokens, self.last)
        self.last = latest.tokens
        over = self.spent + bound > self.rule.budget
        return self.rule.decision((over, False), {"spent": self.spent, "next_round_bound": bound})
