"""What claims about several advocates assume, as tests of an instance."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import special

from d3stats.models.separation.best_of_k import Separation, separation
from d3stats.models.separation.laws import MaxLaw, ScoreLaw
from d3stats.models.separation.orders import (
    dilation_order,
    dispersive_order,
    dominates,
    excess_wealth_order,
    is_dfr,
)
from d3stats.theory.claim import Assumption
from d3stats.theory.instances.families import Advocates

__all__ = [
    "AHEAD",
    "BOUNDED",
    "CEILING",
    "DILATED",
    "DISPERSIVE",
    "DOMINANCE",
    "EXCESS_WEALTH",
    "INDEPENDENT",
    "MEANS_PART",
    "POWERS",
    "SEVERAL",
    "one_and_best",
]

_ROUNDING = 1e-9
"""Rounding of probabilities and, as a share of the scores' scale, of means."""


@lru_cache(maxsize=4)
def one_and_best(instance: Advocates) -> Separation:
    """Return the separation for one advocate and for k; an assumption and a margin ask for the same."""
    return separation(instance.first, instance.second, (1, instance.k))


def _dominates(instance: Advocates) -> bool:
    """Check dominance at the jumps and over a grid of levels, and that it is strict somewhere."""
    one, two = instance.first, instance.second
    cuts = np.union1d(one.breakpoints(), two.breakpoints())
    x = np.concatenate([cuts, 0.5 * (cuts[1:] + cuts[:-1])])
    strict = (one.sf(x) > two.sf(x)).any() or (one.below(x) < two.below(x)).any()
    return bool(strict and dominates(one, two).margin >= -_ROUNDING)


def _power(instance: Advocates) -> bool:
    """Compare log F1 / log F2 at levels of both laws, none of them a simple fraction that a law may be built on."""
    if instance.first.atoms[0].size or instance.second.atoms[0].size:
        return False
    levels = special.expit(np.linspace(-7.0, 7.0, 58))
    x = np.union1d(instance.first.quantile(levels), instance.second.quantile(levels))
    one, two = instance.first.cdf(x), instance.second.cdf(x)
    if min(one.min(), two.min()) <= 0 or max(one.max(), two.max()) >= 1:
        return False
    ratio = np.log(one) / np.log(two)
    return bool(np.ptp(ratio) <= 1e-6 * ratio[0])


def _is_bounded(law: ScoreLaw) -> bool:
    return bool(np.isfinite(law.support).all())


def _dilated(instance: Advocates) -> bool:
    return all(
        is_dfr(law).holds or dilation_order(MaxLaw(law, instance.k), law).holds
        for law in (instance.first, instance.second)
    )


def _means_part(instance: Advocates) -> bool:
    one, best = one_and_best(instance).mean_gap
    return bool(best - one >= -_ROUNDING * (1 + abs(best)))


def _ahead(instance: Advocates) -> bool:
    return bool(one_and_best(instance).prob_second[0] <= 0.5 + _ROUNDING)


INDEPENDENT = Assumption(
    "all scores are independent; those for one answer have one law, with a finite mean",
    lambda a: bool(np.isfinite(a.first.mean) and np.isfinite(a.second.mean)),
)
SEVERAL = Assumption("k >= 2", lambda a: a.k >= 2)
DOMINANCE = Assumption("P(G1 > x) >= P(G2 > x) for every x, strictly for some x", _dominates)
EXCESS_WEALTH = Assumption(
    "W1(u) >= W2(u) for every level u, with the excess wealth W(u) = E (G - Q(u))^+",
    lambda a: excess_wealth_order(a.first, a.second).holds,
)
DISPERSIVE = Assumption(
    "Q1(v) - Q1(u) >= Q2(v) - Q2(u) for all levels u < v", lambda a: dispersive_order(a.first, a.second).holds
)
POWERS = Assumption("there are no ties, and F1 = F2^theta for some theta > 0", _power)
DILATED = Assumption("M_i - E M_i is larger than G_i - E G_i in the convex order, for both answers", _dilated)
MEANS_PART = Assumption("E M1 - E M2 >= E G1 - E G2", _means_part)
AHEAD = Assumption("P(G1 >= G2) >= 1/2", _ahead)
BOUNDED = Assumption("both scores are bounded", lambda a: _is_bounded(a.first) and _is_bounded(a.second))
CEILING = Assumption(
    "both scores have the same essential supremum, and are not both constant",
    lambda a: (
        a.first.support[1] == a.second.support[1]
        and (a.first.support[0] < a.first.support[1] or a.second.support[0] < a.second.support[1])
    ),
)
