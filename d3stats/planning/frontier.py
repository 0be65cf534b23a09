"""Cost against accuracy: the ladders that no cheaper one beats, and whether an earlier stop is the more accurate.

A debate can make verdicts worse. Unanimity and full depth then lose to a rule that stops earlier. A limit on the loss
alone does not show it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from d3stats._words import points
from d3stats.planning.ladders import Evaluated, rule_of
from d3stats.planning.misfit import ChainLoss
from d3stats.stopping.text import short_name

__all__ = ["Candidate", "EarlierStop", "best_by_cost", "earlier_stop", "frontier_table", "most_accurate"]

_MOST = 8


class Candidate(NamedTuple):
    """A ladder with its mean cost and loss, and the probability that it loses no more than allowed."""

    cost: float
    kept: float
    thresholds: tuple[int, ...]
    loss: float = 0.0


class EarlierStop(NamedTuple):
    """A rule that keeps more verdicts than unanimity or full depth, which stop later."""

    thresholds: tuple[int, ...]
    gains: Mapping[str, ChainLoss]
    """By the rule that is beaten: what is lost by stopping earlier, so a gain is below 0."""

    def sentence(self, missing: bool, kept: str, level: float) -> str:
        """Say what loses to what, and by how much."""
        beaten = " and ".join(self.gains)
        verb = "lose" if len(self.gains) > 1 else "loses"
        name = short_name(rule_of(self.thresholds, missing))
        found = []
        for other, lost in self.gains.items():
            low, high = lost.limits(level)
            gain = points(-float(lost.mean.mean()), -high, -low)
            found.append(f"{gain} against {other}" if len(self.gains) > 1 else gain)
        start = f"{beaten[0].upper()}{beaten[1:]} {verb} to an earlier stop"
        return f"{start}: {name} changes {kept} by {', '.join(found)}."


def best_by_cost(ladders: Sequence[Candidate], most: int = _MOST) -> list[Candidate]:
    """Return the ladders that lose less than every cheaper one, in order of cost; at most so many of them."""
    found: list[Candidate] = []
    for one in sorted(ladders, key=lambda ladder: (ladder.cost, ladder.loss)):
        if not found or one.loss < found[-1].loss - 1e-12:
            found.append(one)
    if len(found) <= most:
        return found
    return [found[i] for i in np.unique(np.round(np.linspace(0, len(found) - 1, most)).astype(int))]


def most_accurate(ladders: Sequence[Candidate], near: float) -> Candidate:
    """Return the cheapest ladder whose loss is at most `near` above the least."""
    least = min(ladder.loss for ladder in ladders)
    return min((one for one in ladders if one.loss <= least + near), key=lambda ladder: ladder.cost)


def earlier_stop(
    best: Candidate, lost: Mapping[str, ChainLoss], max_loss: float, confidence: float
) -> EarlierStop | None:
    """Return the most accurate ladder where it keeps more than a later rule, surely and by more than `max_loss`.

    `lost` is what the ladder loses against each later rule.
    """
    beaten = {
        name: one
        for name, one in lost.items()
        if one.within(-1e-12) >= confidence and -float(one.mean.mean()) > max_loss
    }
    return EarlierStop(best.thresholds, beaten) if beaten else None


def frontier_table(
    names: Mapping[str, Evaluated],
    lost_by: Callable[[str], ChainLoss],
    unanimity: Evaluated,
    level: float,
    factor: float,
) -> pd.DataFrame:
    """Return cost and share of verdicts kept under the chain, one row per rule in order of cost.

    Columns are ``rule, cost, kept, gain`` (against unanimity) with their limits ``_low, _high``, and ``p_gain``, the
    probability that the rule keeps more than unanimity.
    """
    tails = [(1 - level) / 2, (1 + level) / 2]
    rows: list[dict[str, Any]] = []
    for name, found in names.items():
        lost = lost_by(name)
        low, high = lost.limits(level)
        kept = unanimity.kept - lost.mean
        noise = ChainLoss(kept, lost.sd).limits(level)
        cost = np.quantile(found.cost, tails)
        rows.append(
            {
                "rule": name,
                "cost": float(found.cost.mean()) * factor,
                "cost_low": float(cost[0]) * factor,
                "cost_high": float(cost[1]) * factor,
                "kept": float(kept.mean()),
                "kept_low": max(noise[0], 0.0),
                "kept_high": min(noise[1], 1.0),
                "gain": -float(lost.mean.mean()),
                "gain_low": -high if high > low else np.nan,
                "gain_high": -low if high > low else np.nan,
                "p_gain": lost.within(-1e-12) if high > low else np.nan,
            }
        )
    return pd.DataFrame(rows).sort_values("cost", kind="stable", ignore_index=True)
