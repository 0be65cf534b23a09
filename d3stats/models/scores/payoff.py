"""When does another advocate a side stop paying: what a separation is worth at given token prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import nonnegative, number
from d3stats.models.separation import Separation

__all__ = ["AdvocatePayoff", "Ranks", "payoff_of"]

Floats = NDArray[np.float64]

PER_MILLION = 1e6


class Ranks(NamedTuple):
    """How often the best of k of each side is ahead, for every k: the part of a separation that needs no mean."""

    k: NDArray[np.int64]
    prob_first: Floats
    prob_tie: Floats
    prob_error: Floats


@dataclass(frozen=True, eq=False)
class AdvocatePayoff:
    """What k advocates a side cost and bring, and where one should stop adding them.

    Attributes
    ----------
    k : array of int, shape (ks,)
        Advocates a side.
    prob_right : array
        P(M1 > M2) + P(M1 = M2) / 2: the better answer wins, a coin decides ties.
    prob_tie : array
    tokens, dollars : array
        Of one debate: 2 k advocates.
    gain : array
        Probability right beyond the k before, the first beyond a coin.
    gain_per_dollar : array
        That gain over what the step costs, per dollar.
    net_value : array
        Dollars: value_of_right * prob_right - dollars.
    value_of_right : float
        Dollars.
    best_k : int
        Greatest net value among those asked for; the least such k. It lies beyond `pays_until` where steps that do
        not pay each alone are made good by later ones.
    pays_until : int
        The last k up to which every step was worth its price; 0 when not even the first beats a coin.
    reason : str
        Why it stops there, and which k is worth most where that is a later one.
    """

    k: NDArray[np.int64]
    prob_right: Floats
    prob_tie: Floats
    tokens: Floats
    dollars: Floats
    gain: Floats
    gain_per_dollar: Floats
    net_value: Floats
    value_of_right: float
    best_k: int
    pays_until: int
    reason: str

    def to_frame(self) -> pd.DataFrame:
        """Return one row per k."""
        names = ("k", "prob_right", "prob_tie", "tokens", "dollars", "gain", "gain_per_dollar", "net_value")
        return pd.DataFrame({name: getattr(self, name) for name in names})

    def summary(self) -> str:
        """Return the best k, what it costs and brings, and why another advocate does not pay."""
        i = int(np.flatnonzero(self.k == self.best_k)[0])
        lines = [
            f"best: k={self.best_k} a side, right with probability {self.prob_right[i]:.4f} for "
            f"${self.dollars[i]:.4g} a debate ({self.tokens[i]:,.0f} tokens)",
            f"pays until k={self.pays_until}: {self.reason}"
            if self.pays_until
            else f"the first step does not pay: {self.reason}",
        ]
        if self.net_value[i] <= self.value_of_right / 2:
            lines.append(
                "a coin is worth as much: at these prices no number of advocates that was asked for pays"
            )
        return "\n".join(lines)


def payoff_of(
    found: Separation | Ranks,
    *,
    prices: float | tuple[float, float],
    tokens_per_advocate: float | tuple[float, float],
    value_of_right: float,
) -> AdvocatePayoff:
    """Price a separation; arguments as of :func:`~d3stats.models.advocates.advocate_payoff`."""
    k = found.k
    falls = np.flatnonzero(np.diff(k) <= 0)
    if falls.size:
        i = int(falls[0])
        raise ValueError(f"k must be strictly increasing; got {k[i]} before {k[i + 1]} at position {i}")
    value = number("value_of_right", value_of_right, minimum=0.0)
    per_token = _one_or_two("prices", prices) / PER_MILLION
    used = _one_or_two("tokens_per_advocate", tokens_per_advocate)
    if per_token.size == 2 and used.size == 1:
        raise ValueError(
            f"tokens_per_advocate must be a pair (prompt, completion) when prices are; got {tokens_per_advocate!r}"
        )
    one = float((per_token * used).sum())
    if one <= 0:
        raise ValueError(
            "an advocate must cost something; "
            f"got prices={prices!r} and tokens_per_advocate={tokens_per_advocate!r}"
        )
    tokens = 2.0 * k * used.sum()
    dollars = np.asarray(2.0 * k * one, dtype=np.float64)
    right = found.prob_first + 0.5 * found.prob_tie
    gain = np.diff(right, prepend=0.5)
    step = np.diff(dollars, prepend=0.0)
    net = value * right - dollars
    pays_until, reason = _stop(k, right, value * gain, step, np.asarray(found.prob_error))
    best = int(np.argmax(net))
    # Below a coin's worth no number of advocates is to be recommended.
    later = bool(k[best] > pays_until and net[best] > value / 2)
    if later:
        reason += f"; yet later steps make up for it, and of those asked for k={k[best]} is worth most"
    elif " rank worse" in reason:
        reason += f"; use k={pays_until}"
    return AdvocatePayoff(
        k=k,
        prob_right=right,
        prob_tie=found.prob_tie,
        tokens=tokens,
        dollars=dollars,
        gain=gain,
        gain_per_dollar=gain / step,
        net_value=net,
        value_of_right=value,
        best_k=int(k[best]),
        pays_until=pays_until,
        reason=reason,
    )


def _stop(k: NDArray[np.int64], right: Floats, worth: Floats, step: Floats, error: Floats) -> tuple[int, str]:
    """Return the last k before the first step that does not pay, and why it does not."""
    short = np.flatnonzero(worth < step)
    if short.size == 0:
        if k.size == 1:
            return int(k[0]), f"k={k[0]} against a coin is worth its price, and no other k was asked for"
        return int(k[-1]), f"every step up to the last k asked for ({k[-1]}) pays; ask for more"
    i = int(short[0])
    cost = f"is worth ${max(worth[i], 0.0):.4g} and costs ${step[i]:.4g}"
    if i == 0:
        if right[0] < 0.5:
            return 0, f"the better answer is behind at k={k[0]}: P(right) is {right[0]:.4f}, below a coin's"
        return 0, f"already k={k[0]} against a coin {cost}"
    before = int(k[i - 1])
    fallen = right[i] < right[i - 1] - 4 * (float(error[i]) + 1e-15)
    if fallen:
        return before, (
            f"more advocates rank worse: P(right) falls from {right[i - 1]:.4f} at k={before} to "
            f"{right[i]:.4f} at k={k[i]}"
        )
    return before, f"the step from k={before} to k={k[i]} {cost}"


def _one_or_two(name: str, values: float | Sequence[float]) -> Floats:
    array = nonnegative(name, np.atleast_1d(np.asarray(values, dtype=np.float64)))
    if array.size not in (1, 2):
        raise ValueError(f"{name} must be one number, or a pair for prompt and completion; got {array.size}")
    return array
