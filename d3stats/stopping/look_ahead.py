"""Stop when no plan of a few more rounds is worth its price: m-step look-ahead."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from d3stats._check import choice, integer, number, probability
from d3stats.stopping._tally import EVIDENCE, Evidence, TallyRule

__all__ = ["LookAhead"]

# A tie between stopping and going on is a stop, whatever the last bit of the sums.
_TIE = 1e-12


@dataclass(frozen=True)
class LookAhead(TallyRule):
    """Stop when a verdict now costs no more than the best plan of at most `m` further rounds.

    A vote is right with probability `p`, given the truth independently, and either answer is as likely to be
    true beforehand. At a lead of d votes the leader is right with probability q = 1 / (1 + ((1 - p) / p)^d). A
    wrong verdict costs 1 and a round `cost`. With V_0(d) = 1 - q and V_j(d) = min(1 - q, cost + E V_{j-1}(d')),
    d' the lead after one more vote of every seat, the rule stops where cost + E V_{m-1}(d') >= 1 - q.

    Parameters
    ----------
    m : int
        Rounds to look ahead, at least 1. One vote cannot change the leader at a lead of 1 or more and is worth
        exactly 0 there, so with one seat ``m=1`` stops at the first lead: look further.
    p : float
        Chance that a vote is right, in (1/2, 1).
    cost : float
        Price of one round, in wrong verdicts; at least 0.
    evidence : {"all", "latest"}
        "all" (default): every vote so far counts. That is the sampling setting: each round asks fresh
        voters. Votes of the same agents in later rounds are not independent, and the table overrates them.
        "latest": only the votes of the current round count as evidence; the plan still adds votes to it.

    Notes
    -----
    Raiffa, H. and Schlaifer, R. (1961). Applied statistical decision theory: preposterior analysis. With `m` at
    least the rounds that are left, the rule is the exact optimum of this model. With more than two answers the
    leader and the runner-up are taken for the only candidates, which overrates the leader.
    The evidence is for the leader of the votes counted. With ``evidence="all"`` that is the leader of all rounds
    so far, and what is promised of a wrong stop is promised of that verdict, not of the last round's plurality.

    Examples
    --------
    >>> [LookAhead(m, p=0.7, cost=0.01).lead_needed(panel=1) for m in (1, 2, 3, 5, 9)]
    [1, 2, 3, 3, 4]
    """

    m: int = 3
    p: float = 0.7
    cost: float = 0.01
    evidence: Evidence = "all"

    name: ClassVar[str] = "look_ahead"
    citation: ClassVar[str] = "Raiffa and Schlaifer (1961): value of information, at most m rounds ahead"
    statistic: ClassVar[str] = "chance of a wrong verdict now, against the best plan of at most m more rounds"
    guarantee: ClassVar[str] = (
        "for independent votes right with probability p, two answers: it stops only where no plan of at most m "
        "more rounds is expected to pay"
    )
    reason: ClassVar[str] = "look_ahead"

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", integer("m", self.m, minimum=1))
        object.__setattr__(self, "p", probability("p", self.p, open_interval=True))
        if self.p <= 0.5:
            raise ValueError(f"p must be above 1/2; got p={self.p!r}")
        object.__setattr__(self, "cost", number("cost", self.cost, minimum=0.0))
        choice("evidence", self.evidence, EVIDENCE)

    def value(self, lead: int, panel: int = 1) -> float:
        """Return the expected cost of the best plan of at most `m` more rounds, at a lead of `lead` votes."""
        ahead, go_on = integer("lead", lead, minimum=0), _go_on(self, integer("panel", panel, minimum=1))
        now = float(_risk(self, np.array([ahead]))[0])
        return min(now, float(go_on[ahead])) if ahead < len(go_on) else now

    def lead_needed(self, panel: int = 1) -> int:
        """Return the smallest lead from which on the rule stops, on a panel of this size."""
        return int(np.flatnonzero(~_stops(self, integer("panel", panel, minimum=1))).max(initial=-1)) + 1

    def enough(self, lead: NDArray[Any], second: NDArray[Any], panel: NDArray[Any]) -> NDArray[np.bool_]:
        """Look the lead up in the table of the panel's size."""
        ahead = lead - second
        result = np.zeros(ahead.shape, dtype=bool)
        for size in np.unique(panel).tolist():
            table = _stops(self, size)
            result |= (panel == size) & table[np.minimum(ahead, len(table) - 1)]
        return result


def _risk(rule: LookAhead, lead: NDArray[Any]) -> NDArray[np.float64]:
    from scipy.special import expit

    result: NDArray[np.float64] = expit(-np.abs(lead) * (math.log(rule.p) - math.log1p(-rule.p)))
    return result


@lru_cache(maxsize=512)
def _go_on(rule: LookAhead, panel: int) -> NDArray[np.float64]:
    """Expected cost of at least one and at most m more rounds, for leads 0 .. m * panel + 1.

    Further ahead no plan can change the leader, and going on only costs.
    """
    from scipy.special import gammaln

    j = np.arange(panel + 1)
    # In logarithms: a panel of thousands must not overflow.
    ways = gammaln(panel + 1) - gammaln(j + 1) - gammaln(panel - j + 1)
    up, down = math.log(rule.p), math.log1p(-rule.p)
    right, wrong = np.exp(ways + j * up + (panel - j) * down), np.exp(ways + (panel - j) * up + j * down)
    radius = 2 * rule.m * panel + 1
    value = _risk(rule, np.arange(-radius, radius + 1))
    going_on = value
    for _ in range(rule.m):
        radius -= panel
        leads = np.arange(-radius, radius + 1)
        loss = _risk(rule, leads)
        q = np.where(leads >= 0, 1 - loss, loss)
        going_on = np.full(len(leads), rule.cost)
        for k in range(panel + 1):
            law = q * right[k] + (1 - q) * wrong[k]
            going_on += law * value[2 * k : 2 * k + len(leads)]
        value = np.minimum(loss, going_on)
    return going_on[radius:]


@lru_cache(maxsize=512)
def _stops(rule: LookAhead, panel: int) -> NDArray[np.bool_]:
    going_on = _go_on(rule, panel)
    result: NDArray[np.bool_] = _risk(rule, np.arange(len(going_on))) <= going_on + _TIE
    return result
