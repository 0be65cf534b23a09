"""When do several advocates a side separate two answers? What is true in place of D3's theorems 2 and 3."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from d3stats.models.separation.best_of_k import ranking_probability
from d3stats.models.separation.excess import gain_of_max
from d3stats.models.separation.laws import MaxLaw
from d3stats.models.separation.orders import dispersive_order, is_dfr
from d3stats.theory._advocate_conditions import (
    AHEAD,
    DILATED,
    DISPERSIVE,
    EXCESS_WEALTH,
    INDEPENDENT,
    MEANS_PART,
    POWERS,
    SEVERAL,
)
from d3stats.theory.claim import Assumption, Claim, Source
from d3stats.theory.d3_separation import advocate_numbers, gap_rise
from d3stats.theory.instances.families import (
    Advocates,
    BestOf,
    dfr_laws,
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


def _parted(instance: Advocates) -> NDArray[np.float64]:
    """Return by how much the means of the best of 1, 2, ..., k lie further apart than those of single scores."""
    counts = range(1, instance.k + 1)
    return np.asarray(gain_of_max(instance.first, counts) - gain_of_max(instance.second, counts))


def _gain_margin(instance: Advocates) -> float:
    # Not for one advocate, where the two sides are the same and no fault would show.
    return float(_parted(instance)[1:].min())


def _step_margin(instance: Advocates) -> float:
    return float(np.diff(_parted(instance)).min())


def _identity_numbers(instance: BestOf) -> Mapping[str, float]:
    return {
        "E M - E G": float(gain_of_max(instance.law, instance.k)[0]),
        "integral of the excess wealth": float(gain_of_max(instance.law, instance.k, route="wealth")[0]),
    }


def _identity_margin(instance: BestOf) -> float:
    gain, integral = _identity_numbers(instance).values()
    return -abs(gain - integral)


def _spread_numbers(instance: BestOf) -> Mapping[str, float]:
    best = MaxLaw(instance.law, instance.k)
    low, high = np.array([0.1, 0.9])
    return {
        "90 % to 10 % quantile of G": float(instance.law.quantile(high) - instance.law.quantile(low)),
        "90 % to 10 % quantile of M": float(best.quantile(high) - best.quantile(low)),
        "deepest fall of Q_M - Q_G": -dispersive_order(best, instance.law).margin,
    }


def _spread_margin(instance: BestOf) -> float:
    return dispersive_order(MaxLaw(instance.law, instance.k), instance.law).margin


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
            "counts in full. (i) fails for every score with a ceiling except a constant: on a rubric it promises "
            "nothing."
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
            "negative by (iii), so h(s) >= h(0). Falling failure rates give (i) by falling-rates-spread. Under a "
            "ceiling c a score that is not constant has E M > E G, so M - E M ends at c - E M, below c - E G, where "
            "G - E G ends: it is not larger in the convex order."
        ),
    ),
    Claim(
        name="falling-rates-spread",
        title="The best of k scores with a falling failure rate spreads more than one",
        source=_INSTEAD_OF,
        statement=(
            "If the failure rate of G falls, with an atom at the lower end at most, then M is larger than G in the "
            "dispersive order, and so, where the mean is finite, in excess wealth and dilation, for every k."
        ),
        latex=r"\frac{f}{1 - F} \text{ falls} \implies M^{(k)} \ge_{\mathrm{disp}} G",
        assumptions=(
            Assumption("log P(G > x) is convex on the support", lambda b: is_dfr(b.law).holds),
            _RATE,
        ),
        status="holds",
        quantities=_spread_numbers,
        margin=_spread_margin,
        slack=1e-8,
        instances=dfr_laws,
        proof=(
            "With w = u^(1/k) >= u and r the failure rate, Q'(w)(1 - w) = 1/r(Q(w)) >= Q'(u)(1 - u). So the quantile "
            "Q(w) of M has the slope Q'(w) w / (k u) >= Q'(u) (1 + w + ... + w^(k-1)) / (k w^(k-1)) >= Q'(u), as "
            "(1 - u)/(1 - w) = 1 + w + ... + w^(k-1). Q_M - Q_G does not fall, which is the dispersive order. Up to "
            "an atom at the lower end Q is flat, and Q_M is not lower."
        ),
    ),
)
