"""When do more advocates widen the gap between two answers? Conditions on the law of one score, with margins.

What fails: that a stochastically greater score is enough. What holds: theorems A, B and C of
``docs/methods/orders.md``, whose conditions are computed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from d3stats.models.excess import gain_of_max, gini_mean_difference
from d3stats.models.orders import dilation_order
from d3stats.models.scores import MaxLaw, ScoreLaw
from d3stats.models.scores.read import as_count
from d3stats.models.scores.slack import OrderCheck, rounding, verdict, with_means
from d3stats.models.separation import separation

__all__ = ["GapGrowth", "ceiling_limit", "gain_condition", "gap_growth_conditions", "gini_condition"]


@dataclass(frozen=True)
class GapGrowth:
    """Sufficient conditions for E abs(M1 - M2) >= E abs(G1 - G2), and that conclusion.

    Attributes
    ----------
    spread : OrderCheck
        (i) The best of k is above one score in the dilation order, for both answers; the lesser margin.
    mean_gap : OrderCheck
        (ii) E M1 - E M2 >= E G1 - E G2; the margin in points.
    ahead : OrderCheck
        (iii) P(G1 >= G2) >= 1/2; the margin is a probability.
    conclusion : OrderCheck
        E abs(M1 - M2) - E abs(G1 - G2), in points.
    prob_first, prob_tie : float
        P(G1 > G2) and P(G1 = G2), for readers of stronger forms of (iii).
    """

    spread: OrderCheck
    mean_gap: OrderCheck
    ahead: OrderCheck
    conclusion: OrderCheck
    prob_first: float
    prob_tie: float

    @property
    def promised(self) -> bool:
        """Whether all three conditions hold, so that the conclusion must."""
        return self.spread.holds and self.mean_gap.holds and self.ahead.holds


def gain_condition(first: Any, second: Any, k: int) -> OrderCheck:
    """Check for one k that the best of k gains at least as much for the first law as for the second.

    It is the same as E M1 - E M2 >= E G1 - E G2, and as: the integral of (Q1 - Q2)(k u^(k-1) - 1) is >= 0.

    Returns
    -------
    OrderCheck
        The margin is (E M1 - E M2) - (E G1 - E G2), in points.

    Raises
    ------
    ValueError
        When a law has no finite mean, or k is below 1.

    Examples
    --------
    >>> from d3stats.models.scores import uniform
    >>> round(gain_condition(uniform(0.5, 1), uniform(), 2).margin, 6)
    -0.083333
    """
    one, two = with_means(first, second)
    count = as_count(k)
    margin = float(gain_of_max(one, count)[0] - gain_of_max(two, count)[0])
    return _number(margin, one, two)


def gini_condition(first: Any, second: Any) -> OrderCheck:
    """Check that the Gini mean difference of the first law is at least that of the second.

    It decides the mean gap at k = 2, and says nothing about other k.

    Returns
    -------
    OrderCheck
        The margin is the difference of the two, in points.

    Examples
    --------
    >>> gini_condition({0: 0.5, 1: 0.5}, {0: 0.25, 1: 0.75}).margin
    0.125
    """
    one, two = with_means(first, second)
    return _number(gini_mean_difference(one) - gini_mean_difference(two), one, two)


def gap_growth_conditions(first: Any, second: Any, k: int) -> GapGrowth:
    """Check the three conditions under which k advocates a side widen the expected absolute gap.

    Parameters
    ----------
    first, second : ScoreLaw, frozen scipy distribution, table of score to probability, or sample
    k : int
        Advocates a side, at least 1.

    Returns
    -------
    GapGrowth

    Raises
    ------
    ValueError
        When a law has no finite mean, or k is below 1.

    Notes
    -----
    Proof. By (i) M1 - M2 less its mean is above G1 - G2 less its mean in the convex order, so
    E abs(M1 - M2) >= f(E M1 - E M2) with f(d) = E abs(G1 - G2 - E G1 + E G2 + d). f is convex, and its right
    derivative at d = E G1 - E G2 is P(G1 >= G2) - P(G1 < G2). If (iii) that is not negative, f does not fall
    beyond, and (ii) places E M1 - E M2 there.

    (iii) counts ties in full: P(G1 > G2) >= 1/2 and P(G1 > G2) + P(G1 = G2)/2 >= 1/2 suffice but are not needed.
    It cannot be weakened within the proof: with P(G1 >= G2) < 1/2 f falls at first.

    (i) fails for k >= 2 and every score with a ceiling, a point mass excepted: the ceiling is the same for the
    best of k, whose mean is greater, so the best of k reaches less far above its mean. The theorem is about
    scores without a ceiling; with one, see :func:`ceiling_limit`.

    Examples
    --------
    >>> from d3stats.models.scores import exponential, uniform
    >>> found = gap_growth_conditions(exponential(2), exponential(1), 3)
    >>> found.promised, round(found.conclusion.margin, 6)
    (True, 0.688889)
    >>> found = gap_growth_conditions(uniform(0.5, 1), uniform(), 3)
    >>> found.spread.holds, found.mean_gap.holds, found.ahead.holds, round(found.conclusion.margin, 6)
    (False, False, True, -0.14494)
    """
    one, two = with_means(first, second)
    count = as_count(k)
    each = [dilation_order(MaxLaw(law, count), law) for law in (one, two)]
    single = separation(one, two, [1, count])
    exact = single.method == "sum"
    ahead, tie = float(single.prob_first[0]), float(single.prob_tie[0])
    return GapGrowth(
        spread=min(each, key=lambda check: (check.holds, check.margin)),
        mean_gap=gain_condition(one, two, count),
        ahead=verdict(ahead + tie - 0.5, None, max(1e-12, float(single.error[0])), exact),
        conclusion=verdict(
            float(single.expected_gap[1] - single.expected_gap[0]), None, float(single.error.sum()), exact
        ),
        prob_first=ahead,
        prob_tie=tie,
    )


def ceiling_limit(first: Any, second: Any) -> float:
    """Return what E abs(M1 - M2) tends to as k grows: the distance of the two ceilings, in points.

    Parameters
    ----------
    first, second : ScoreLaw, frozen scipy distribution, table of score to probability, or sample
        Scores with a ceiling and a finite mean; a floor is not needed.

    Raises
    ------
    ValueError
        When a score has no ceiling or no finite mean.

    Notes
    -----
    abs(M1 - M2) differs from the distance of the ceilings by at most the two distances M_i to its ceiling, which
    fall to zero in the mean (dominated convergence). With a common ceiling the gap vanishes, so it cannot have
    grown for all large k.

    Examples
    --------
    >>> rubric = {score: 0.05 for score in range(1, 21)}
    >>> ceiling_limit(rubric, {1: 0.9, 20: 0.1})
    0.0
    """
    one, two = with_means(first, second)
    tops = []
    for name, law in (("first", one), ("second", two)):
        top = law.support[1]
        if not np.isfinite(top):
            raise ValueError(f"{name} must have a ceiling; got {law!r}, whose scores are unbounded above")
        tops.append(top)
    return abs(tops[0] - tops[1])


def _number(margin: float, one: ScoreLaw, two: ScoreLaw) -> OrderCheck:
    exact = one.is_discrete and two.is_discrete
    # Quadrature is good to about 1e-12 of the size of a score, rounding to some ulps.
    return verdict(margin, None, rounding(one, two) * (1 if exact else 200), exact)
