"""Optimal stopping when independent votes are bought one at a time (Wald), exact with fractions.

The value after n votes, k of them for A, is ``V = min(min(q, 1 - q), c + E V')``. The minimum is between two choices:
decide for the likelier answer and be wrong with the smaller probability, or pay c for one more vote (Wald 1947,
*Sequential Analysis*; Arrow, Blackwell and Girshick 1949, Econometrica 17). With fractions for arguments every number
is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from d3stats._check import integer, number, probability
from d3stats._words import counted
from d3stats.result import Result

__all__ = ["VoteOptimum", "optimal_votes", "optimal_votes_beta"]

Row = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class VoteOptimum(Result):
    """The optimal plan for buying votes one at a time, and its value; fractions throughout when its arguments were.

    Attributes
    ----------
    value : float or Fraction
        Expected error plus expected cost before the first vote.
    error : float or Fraction
        P(the verdict is wrong).
    votes : float or Fraction
        Expected number of votes.
    best_fixed : (int, float or Fraction)
        The best number of votes to buy without looking, and its value.
    stops : tuple of ndarray of bool
        ``stops[n][k]``: whether to stop after n votes, k of them for A; a tie between the two stops.
    values : tuple of ndarray
        ``values[n][k]``: expected error and further cost from there on.

    Examples
    --------
    >>> plan = optimal_votes(0.7, 0.01, 15)
    >>> round(float(plan.error), 4), round(float(plan.votes), 3), plan.horizon, plan.best_fixed[0]
    (0.0612, 7.843, 15, 11)
    >>> plan.bounds()[:6]
    [None, None, None, None, 4, 5]
    """

    value: Any
    error: Any
    votes: Any
    best_fixed: tuple[int, Any]
    stops: tuple[NDArray[np.bool_], ...]
    values: tuple[Row, ...]

    @property
    def horizon(self) -> int:
        """Votes that may be bought at most."""
        return len(self.stops) - 1

    @property
    def headline(self) -> str:
        """The least expected error plus cost, with votes and error."""
        return (
            f"Optimal buying of at most {counted(self.horizon, 'vote')}: expected error plus cost "
            f"{float(self.value):.6g}, {float(self.votes):.4g} votes, error {float(self.error):.4g}."
        )

    def _tables(self) -> dict[str, pd.DataFrame]:
        leads = pd.array(self.bounds(), dtype="Int64")
        return {"bounds": pd.DataFrame({"votes": np.arange(len(self.stops)), "stops_from_lead": leads})}

    def bounds(self) -> list[int | None]:
        """Return, after n = 0, 1, ... votes, the smallest lead at which the plan stops; None if at none."""
        smallest: list[int | None] = []
        for n, row in enumerate(self.stops):
            leads = abs(2 * np.arange(n + 1) - n)[row]
            smallest.append(int(leads.min()) if leads.size else None)
        return smallest


def optimal_votes(
    accuracy: float | Fraction,
    cost: float | Fraction,
    horizon: int,
    prior: float | Fraction = Fraction(1, 2),
) -> VoteOptimum:
    """Compute the optimal stopping of votes that are right with a known probability, by backward induction.

    Parameters
    ----------
    accuracy : float or Fraction
        P(a vote is right), strictly between 0 and 1, each vote by itself.
    cost : float or Fraction
        Price of a vote in units of error, >= 0.
    horizon : int
        Votes that may be bought at most, at least 0.
    prior : float or Fraction
        P(A is right) before any vote.

    Returns
    -------
    VoteOptimum

    Examples
    --------
    >>> optimal_votes(Fraction(7, 10), Fraction(1, 100), 15).value
    Fraction(174506622320231, 1250000000000000)
    >>> optimal_votes(0.7, 0.01, 15).bounds()[:8]
    [None, None, None, None, 4, 5, 4, 5]
    """
    probability("accuracy", float(accuracy), open_interval=True)
    probability("prior", float(prior))
    integer("horizon", horizon, minimum=0)
    exact = all(isinstance(x, (int, Fraction)) for x in (accuracy, cost, prior))
    p, q = (accuracy, prior) if exact else (float(accuracy), float(prior))
    rows = []
    for n in range(horizon + 1):
        k = np.arange(n + 1)
        if exact:
            for_a = q * _powers(p, k) * _powers(1 - p, n - k)
            for_b = (1 - q) * _powers(1 - p, k) * _powers(p, n - k)
            rows.append(for_a / (for_a + for_b))
        else:
            lead = (2 * k - n) * np.log(float(p) / (1 - float(p)))
            with np.errstate(over="ignore"):
                rows.append(q / (q + (1 - q) * np.exp(-lead)) if q > 0 else np.zeros(n + 1))
    return _induct(rows, [q_n * p + (1 - q_n) * (1 - p) for q_n in rows], cost, exact)


def optimal_votes_beta(
    a: float | Fraction, b: float | Fraction, cost: float | Fraction, horizon: int
) -> VoteOptimum:
    """Compute the optimal stopping of votes whose long-run share for A has a Beta(a, b) prior, by backward induction.

    The verdict is right when it is the answer that most votes would be for in the long run.

    Parameters
    ----------
    a, b : float or Fraction
        Both above 0; for exact arithmetic whole numbers.
    cost, horizon
        As in :func:`optimal_votes`.

    Returns
    -------
    VoteOptimum

    Examples
    --------
    >>> plan = optimal_votes_beta(1, 1, Fraction(1, 100), 15)
    >>> float(plan.value) < 0.5, plan.bounds()[-1]
    (True, 1)
    """
    for name, value in (("a", a), ("b", b)):
        if number(name, float(value)) <= 0:
            raise ValueError(f"{name} must be > 0; got {name}={value!r}")
    integer("horizon", horizon, minimum=0)
    exact = all(isinstance(x, (int, Fraction)) and x == int(x) for x in (a, b))
    exact = exact and isinstance(cost, (int, Fraction))
    rows, chances = [], []
    for n in range(horizon + 1):
        k = np.arange(n + 1)
        if exact:
            alpha, total = int(a), int(a) + int(b) + n
            rows.append(np.array([_beta_above_half(alpha + i, total) for i in range(n + 1)], dtype=object))
            chances.append(np.array([Fraction(alpha + i, total) for i in range(n + 1)], dtype=object))
        else:
            rows.append(scipy.special.betainc(float(b) + n - k, float(a) + k, 0.5))
            chances.append((float(a) + k) / (float(a) + float(b) + n))
    return _induct(rows, chances, cost, exact)


def _induct(belief: list[Row], chance: list[Row], cost: float | Fraction, exact: bool) -> VoteOptimum:
    """Work backward from the horizon; `belief[n][k]` is P(A is right), `chance[n][k]` P(the next vote is A)."""
    number("cost", float(cost), minimum=0)
    price = cost if exact else float(cost)
    at_stop = [np.minimum(q, 1 - q) for q in belief]
    values, stops = [at_stop[-1]], [np.ones(len(at_stop[-1]), dtype=bool)]
    for n in range(len(belief) - 2, -1, -1):
        onward = price + chance[n] * values[0][1:] + (1 - chance[n]) * values[0][:-1]
        stops.insert(0, (at_stop[n] <= onward).astype(bool))
        values.insert(0, np.minimum(at_stop[n], onward))
    one = belief[0][:1] * 0 + 1
    reach = everyone = one
    error = votes = one[0] * 0
    fixed = []
    for n in range(len(belief)):
        error = error + (reach * at_stop[n])[stops[n]].sum()
        votes = votes + n * reach[stops[n]].sum()
        fixed.append((everyone * at_stop[n]).sum() + price * n)
        if n < len(belief) - 1:
            reach = _one_more(np.where(stops[n], reach * 0, reach), chance[n])
            everyone = _one_more(everyone, chance[n])
    best = min(range(len(fixed)), key=lambda n: fixed[n])
    return VoteOptimum(values[0][0], error, votes, (best, fixed[best]), tuple(stops), tuple(values))


def _one_more(reach: Row, chance: Row) -> Row:
    nothing = reach[:1] * 0
    for_a = np.concatenate([nothing, reach * chance])
    result: Row = for_a + np.concatenate([reach * (1 - chance), nothing])
    return result


def _powers(base: Any, exponents: NDArray[np.int64]) -> Row:
    return np.array([base ** int(e) for e in exponents], dtype=object)


def _beta_above_half(alpha: int, total: int) -> Fraction:
    """P(Beta(alpha, total - alpha) > 1/2): at most alpha - 1 heads in total - 1 fair tosses."""
    return Fraction(sum(comb(total - 1, i) for i in range(alpha)), 2 ** (total - 1))
