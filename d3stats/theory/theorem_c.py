"""What a ceiling of the scores, such as the top of a rubric, does to the best of k advocates."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from d3stats.models.separation.best_of_k import separation
from d3stats.models.separation.laws import ScoreLaw
from d3stats.theory._advocate_conditions import BOUNDED, CEILING, INDEPENDENT, SEVERAL, one_and_best
from d3stats.theory.claim import Claim, Source
from d3stats.theory.d3_separation import advocate_numbers
from d3stats.theory.instances.families import Advocates, bounded_pairs, ceiling_pairs
from d3stats.theory.sources import D3, HERE

__all__ = ["CLAIMS"]

_INSTEAD_OF = Source(HERE, f"in place of {D3}, Theorems 2 and 3")


def _shortfalls(instance: Advocates) -> tuple[float, float]:
    """Return E (s1 - M1) + E (s2 - M2) for one advocate and for k, where s is the ceiling of a score."""
    found = one_and_best(instance)
    ceilings = instance.first.support[1] + instance.second.support[1]
    one, best = ceilings - found.mean_first - found.mean_second
    return float(one), float(best)


def _tail_bound(law: ScoreLaw, k: int) -> float:
    """Return the least of t + (s - a - t) F(s - t)^k over some t: a bound on E (s - M)."""
    low, high = law.support
    t = (high - low) * np.array([1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 64])
    return float((t + (high - low - t) * law.cdf(high - t) ** k).min())


def _ceiling_numbers(instance: Advocates) -> Mapping[str, float]:
    one, best = _shortfalls(instance)
    return {
        **advocate_numbers(instance),
        "|s1 - s2|": abs(instance.first.support[1] - instance.second.support[1]),
        "E (s1 - G1) + E (s2 - G2)": one,
        "E (s1 - M1) + E (s2 - M2)": best,
        "bound on it": sum(_tail_bound(law, instance.k) for law in (instance.first, instance.second)),
    }


def _ceiling_margin(instance: Advocates) -> float:
    apart = abs(instance.first.support[1] - instance.second.support[1])
    gap = float(one_and_best(instance).expected_gap[1])
    one, best = _shortfalls(instance)
    bound = sum(_tail_bound(law, instance.k) for law in (instance.first, instance.second))
    return min(best - abs(gap - apart), one - best, bound - best)


def _enough(instance: Advocates, gap: float) -> int:
    """Return a K from which on E|M1 - M2| is at most four fifths of E|G1 - G2|, the gap of one advocate."""
    fifth = gap / 5
    enough = 1
    for law in (instance.first, instance.second):
        low, high = law.support
        over = float(law.sf(high - fifth))
        if high - low > fifth and over < 1:
            enough = max(enough, math.ceil(math.log(fifth / (high - low)) / math.log1p(-over)))
    return enough


def _late_numbers(instance: Advocates) -> Mapping[str, float]:
    numbers = advocate_numbers(instance)
    enough = _enough(instance, numbers["E|G1 - G2|"])
    late = separation(instance.first, instance.second, enough)
    return {**numbers, "K": enough, "E|M1 - M2| at K": float(late.expected_gap[0])}


def _late_margin(instance: Advocates) -> float:
    one = float(separation(instance.first, instance.second).expected_gap[0])
    enough = _enough(instance, one)
    late = separation(instance.first, instance.second, (enough, enough + instance.k, 3 * enough)).expected_gap
    return 0.8 * one - float(late.max())


CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="theorem-c",
        title="Bounded scores: the gap tends to that of the ceilings",
        source=_INSTEAD_OF,
        statement=(
            "If scores have essential suprema s1 and s2, then E|M1 - M2| differs from |s1 - s2| by at most "
            "E (s1 - M1) + E (s2 - M2), which does not grow with k and tends to 0: with a the lower end, "
            "E (s - M) <= t + (s - a - t) F(s - t)^k for every t in (0, s - a)."
        ),
        latex=(
            r"\bigl|\, E|M_1 - M_2| - |s_1 - s_2| \,\bigr| \le \sum_i E(s_i - M_i), \qquad "
            r"E(s - M) \le t + (s - a - t) F(s - t)^k"
        ),
        assumptions=(INDEPENDENT, SEVERAL, BOUNDED),
        status="holds",
        quantities=_ceiling_numbers,
        margin=_ceiling_margin,
        instances=bounded_pairs,
        proof=(
            "M1 - M2 - (s1 - s2) is (s2 - M2) - (s1 - M1), and both brackets are not negative: the triangle "
            "inequality gives the first part. E (s - M) is the integral of F^k from a to s, which falls with k; "
            "split it at s - t, where F^k is at most F(s - t)^k below and 1 above. F(s - t) < 1 by the meaning of s, "
            "so for large k the bound is below 2t, whatever t."
        ),
    ),
    Claim(
        name="common-ceiling",
        title="On a rubric with a top score, enough advocates close the gap",
        source=_INSTEAD_OF,
        statement=(
            "If both scores have one ceiling s and are not both constant, there is a K with E|M1 - M2| <= 0.8 "
            "E|G1 - G2| for every k >= K. With t = E|G1 - G2| / 5, any K will do for which (s - a_i) F_i(s - t)^K "
            "<= t for both answers, a_i their lower ends. So the claim of D3 fails for all large k."
        ),
        latex=r"s_1 = s_2 \implies E|M_1 - M_2| \le \tfrac45 E|G_1 - G_2| \quad \text{for every } k \ge K",
        assumptions=(INDEPENDENT, CEILING, BOUNDED),
        status="holds",
        quantities=_late_numbers,
        margin=_late_margin,
        instances=ceiling_pairs,
        proof=(
            "By theorem-c with s1 = s2, E|M1 - M2| <= E (s - M1) + E (s - M2), and each is at most t + (s - a_i) "
            "F_i(s - t)^k <= 2t for k >= K. Four fifths are left, and E|G1 - G2| > 0 since one score is not constant."
        ),
    ),
)
