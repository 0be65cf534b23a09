"""When do several advocates a side separate two answers? What is true in place of D3's theorems 2 and 3."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from d3stats.models.excess import gain_of_max
from d3stats.models.score_law import ScoreLaw
from d3stats.models.separation import ranking_probability, separation
from d3stats.theory._advocate_conditions import (
    AHEAD,
    BOUNDED,
    CEILING,
    DILATED,
    DISPERSIVE,
    EXCESS_WEALTH,
    INDEPENDENT,
    MEANS_PART,
    POWERS,
    SEVERAL,
    one_and_best,
)
from d3stats.theory.claim import Assumption, Claim, Source
from d3stats.theory.d3_separation import advocate_numbers, gap_rise
from d3stats.theory.families import (
    Advocates,
    BestOf,
    bounded_pairs,
    ceiling_pairs,
    dfr_pairs,
    dispersive_pairs,
    excess_wealth_pairs,
    lehmann_pairs,
    single_laws,
)
from d3stats.theory.sources import D3, HERE

__all__ = ["CLAIMS"]

_INSTEAD_OF = Source(HERE, f"in place of {D3}, Theorems 2 and 3")


def _theta(instance: Advocates) -> float:
    middle = instance.second.quantile(0.5)
    return float(np.log(instance.first.cdf(middle)) / np.log(instance.second.cdf(middle)))


def _power_numbers(instance: Advocates) -> Mapping[str, float]:
    theta = _theta(instance)
    one, best = ranking_probability(instance.first, instance.second, (1, instance.k))
    return {
        "theta": theta,
        "theta / (1 + theta)": theta / (1 + theta),
        "P(G1 > G2)": float(one),
        "P(M1 > M2)": float(best),
    }


def _power_margin(instance: Advocates) -> float:
    theta = _theta(instance)
    found = ranking_probability(instance.first, instance.second, (1, instance.k))
    return -float(np.abs(found - theta / (1 + theta)).max())


def _gains(instance: Advocates) -> tuple[list[float], list[float]]:
    """Return E M - E G of both answers for every number of advocates up to k."""
    counts = range(1, instance.k + 1)
    return gain_of_max(instance.first, counts).tolist(), gain_of_max(instance.second, counts).tolist()


def _gain_margin(instance: Advocates) -> float:
    one, two = _gains(instance)
    return min(a - b for a, b in zip(one, two, strict=True))


def _step_margin(instance: Advocates) -> float:
    apart = np.subtract(*_gains(instance))
    return float(np.diff(apart).min())


def _identity_numbers(instance: BestOf) -> Mapping[str, float]:
    return {
        "E M - E G": float(gain_of_max(instance.law, instance.k)[0]),
        "integral of the excess wealth": float(gain_of_max(instance.law, instance.k, route="wealth")[0]),
    }


def _identity_margin(instance: BestOf) -> float:
    gain, integral = _identity_numbers(instance).values()
    return -abs(gain - integral)


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


def _enough(instance: Advocates) -> int:
    """Return a K from which on E|M1 - M2| is at most four fifths of E|G1 - G2|."""
    fifth = float(one_and_best(instance).expected_gap[0]) / 5
    enough = 1
    for law in (instance.first, instance.second):
        low, high = law.support
        over = float(law.sf(high - fifth))
        if high - low > fifth and over < 1:
            enough = max(enough, math.ceil(math.log(fifth / (high - low)) / math.log1p(-over)))
    return enough


def _late_numbers(instance: Advocates) -> Mapping[str, float]:
    enough = _enough(instance)
    late = separation(instance.first, instance.second, enough)
    return {**advocate_numbers(instance), "K": enough, "E|M1 - M2| at K": float(late.expected_gap[0])}


def _late_margin(instance: Advocates) -> float:
    enough = _enough(instance)
    late = separation(instance.first, instance.second, (enough, enough + instance.k, 3 * enough)).expected_gap
    return float(0.8 * one_and_best(instance).expected_gap[0] - late.max())


_RATE = Assumption("k >= 1", lambda a: a.k >= 1)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="lehmann-invariance",
        title="Powers of one distribution function are ranked alike by any number of advocates",
        source=_INSTEAD_OF,
        statement=(
            "If F1 = F2^theta and there are no ties, then P(M1 > M2) = theta / (1 + theta) for every k: more "
            "advocates move the scores and leave the ranking as it was."
        ),
        latex=r"F_1 = F_2^{\theta} \implies P(M_1 > M_2) = \frac{\theta}{1 + \theta} \quad \text{for every } k",
        assumptions=(POWERS, SEVERAL),
        status="holds",
        quantities=_power_numbers,
        margin=_power_margin,
        slack=1e-8,
        instances=lehmann_pairs,
        proof=(
            "U = F2(G2) is uniform, and P(F2(G1) <= u) = u^theta. The best of k have P(F2(M2) <= u) = u^k and "
            "P(F2(M1) <= u) = u^(k theta). P(M1 > M2) is the integral of u^k d(u^(k theta)) = k theta / (k theta + k) "
            "= theta / (1 + theta). With atoms the last step fails: F2(G2) is not uniform."
        ),
    ),
    Claim(
        name="theorem-a",
        title="Excess wealth decides whether means move apart",
        source=_INSTEAD_OF,
        statement=(
            "If G1 is larger than G2 in the excess-wealth order, then E M1 - E M2 >= E G1 - E G2 for every k. "
            "Dominance is not needed."
        ),
        latex=r"W_{G_1} \ge W_{G_2} \implies E M_1 - E M_2 \ge E G_1 - E G_2 \quad \text{for every } k",
        assumptions=(INDEPENDENT, SEVERAL, EXCESS_WEALTH),
        status="holds",
        quantities=advocate_numbers,
        margin=_gain_margin,
        instances=excess_wealth_pairs,
        proof=(
            "By theorem-a-identity E M - E G is the integral of W_G against a weight that is not negative and the "
            "same for both answers. So W1 >= W2 gives E M1 - E G1 >= E M2 - E G2."
        ),
    ),
    Claim(
        name="theorem-a-identity",
        title="What the best of k gains is an integral of the excess wealth",
        source=_INSTEAD_OF,
        statement=(
            "For every law with a finite mean, E M - E G = integral over u in (0, 1) of "
            "W(u) (1 + 2u + ... + (k-1) u^(k-2)), where W(u) = E (G - Q(u))^+ is the excess wealth."
        ),
        latex=r"E M - E G = \int_0^1 W_G(u) \sum_{j=1}^{k-1} j u^{j-1} \, du",
        assumptions=(
            Assumption(
                "scores are independent, of one law with a finite mean", lambda b: np.isfinite(b.law.mean)
            ),
            _RATE,
        ),
        status="holds",
        quantities=_identity_numbers,
        margin=_identity_margin,
        slack=1e-8,
        instances=single_laws,
        proof=(
            "E M - E G is the integral of F - F^k over x, that is of u - u^k over dQ(u). W(u), the integral of 1 - v "
            "over dQ(v) from u on, has dW = -(1 - u) dQ, and (u - u^k)/(1 - u) = u + ... + u^(k-1) = p(u). So the "
            "gain is the integral of -p dW, and by parts that of W p', with p' = 1 + 2u + ... + (k-1) u^(k-2). The "
            "ends vanish: W(1) = 0, and u W(u) tends to 0 at 0 as the mean is finite."
        ),
    ),
    Claim(
        name="theorem-a-monotone",
        title="Dispersion makes means move apart with every advocate",
        source=_INSTEAD_OF,
        statement="If G1 is larger than G2 in the dispersive order, then E M1 - E M2 does not fall with k.",
        latex=r"G_1 \ge_{\mathrm{disp}} G_2 \implies E M_1^{(k+1)} - E M_2^{(k+1)} \ge E M_1^{(k)} - E M_2^{(k)}",
        assumptions=(INDEPENDENT, SEVERAL, DISPERSIVE),
        status="holds",
        quantities=advocate_numbers,
        margin=_step_margin,
        instances=dispersive_pairs,
        proof=(
            "E M1 - E M2 is E D(U_k), where D = Q1 - Q2 and U_k is the largest of k uniform numbers, since the best "
            "of k scores is Q(U_k). U_k grows with k, and D does not fall: that is the dispersive order."
        ),
    ),
    Claim(
        name="theorem-b",
        title="When the expected absolute gap does grow",
        source=_INSTEAD_OF,
        statement=(
            "E|M1 - M2| >= E|G1 - G2| if (i) M_i is larger than G_i in the dilation order for both answers, as it is "
            "when failure rates fall, (ii) E M1 - E M2 >= E G1 - E G2, and (iii) P(G1 >= G2) >= 1/2, where a tie "
            "counts in full."
        ),
        latex=(
            r"M_i \ge_{\mathrm{dil}} G_i, \; E[M_1 - M_2] \ge E[G_1 - G_2], \; P(G_1 \ge G_2) \ge \tfrac12 "
            r"\implies E|M_1 - M_2| \ge E|G_1 - G_2|"
        ),
        assumptions=(INDEPENDENT, SEVERAL, DILATED, MEANS_PART, AHEAD),
        status="holds",
        quantities=advocate_numbers,
        margin=gap_rise,
        slack=1e-8,
        instances=dfr_pairs,
        proof=(
            "Let s = (E M1 - E M2) - (E G1 - E G2) >= 0 by (ii). Convex order adds over independent terms, so by (i) "
            "M1 - M2 - s is larger than G1 - G2 in the convex order; x -> |x + s| is convex, hence E|M1 - M2| >= "
            "E|G1 - G2 + s| = h(s). h is convex with right slope P(G1 >= G2) - P(G1 < G2) at 0, which is not "
            "negative by (iii), so h(s) >= h(0). Falling failure rates give (i): with w = u^(1/k) and r the rate, "
            "Q'(w)(1 - w) = 1/r(Q(w)) >= Q'(u)(1 - u), so that the quantile Q(w) of M has the slope "
            "Q'(w) w / (k u) >= Q'(u) (1 + w + ... + w^(k-1)) / (k w^(k-1)) >= Q'(u): M is larger in the dispersive "
            "order, which implies dilation. An atom at the lower end only adds a stretch where Q is flat."
        ),
    ),
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
