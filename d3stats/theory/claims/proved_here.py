"""Claims stated and proved here: the corrections of the papers' claims, and the inequalities that they rest on."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from d3stats.models.separation.best_of_k import ranking_probability, separation
from d3stats.models.separation.excess import gain_of_max
from d3stats.models.separation.laws import MaxLaw, ScoreLaw
from d3stats.models.separation.orders import dispersive_order, is_dfr
from d3stats.models.separation.softmax import softmax_weighted
from d3stats.theory.claim import ADVOCATES, D3, HERE, Assumption, Claim, Source
from d3stats.theory.instances.advocates import (
    AHEAD,
    BOUNDED,
    CEILING,
    DILATED,
    DILATION,
    DISPERSIVE,
    INDEPENDENT,
    MEANS_PART,
    POWERS,
    SEVERAL,
    Advocates,
    BestOf,
    bounded_pairs,
    ceiling_pairs,
    dfr_laws,
    dfr_pairs,
    dilation_pairs,
    dispersive_pairs,
    lehmann_pairs,
    single_laws,
)
from d3stats.theory.instances.beliefs import (
    CONCEPTS,
    COUNTING_AGENTS,
    Discussion,
    Listeners,
    discussions,
    equal_listeners,
)
from d3stats.theory.instances.draws import sign
from d3stats.theory.instances.gaps import (
    POSTERIOR,
    PROPER_TRIAL,
    GapDebate,
    Trial,
    debates,
    debates_above,
    debates_near_one,
    trials,
)
from d3stats.theory.instances.scores import POSITIVE_LEVEL, WARM, Curves, Team, curves, teams
from d3stats.theory.instances.votes import (
    SAME_DEBATES,
    CountChain,
    Judge,
    TwoRounds,
    condorcet_chains,
    count_chains,
    judges,
    judges_above_half,
    two_rounds,
)

__all__ = ["CLAIMS"]

_INSTEAD_OF = Source(HERE, f"in place of {D3}, Theorems 2 and 3")
_COMPUTED = 10_000
"""The most advocates a side for which a separation is computed."""


def _unused_share_of_bound(debate: GapDebate) -> float:
    """Return the share of the bound that is not used; both are tiny far out, so no difference would show it."""
    far = debate.prob_far_from_mean
    return 1.0 if far == 0 else 1 - far / debate.sub_gaussian_bound


def _sign_agrees_with_condition(trial: Trial) -> float:
    """Return the size of the change of variance, negative where the condition foretells the other sign."""
    fall = trial.before - trial.after
    if sign(fall) == sign(trial.condition):
        return float(abs(fall))
    return -float(abs(fall) or abs(trial.condition))


def _theta(instance: Advocates) -> float:
    middle = instance.second.quantile(0.5)
    return float(np.log(instance.first.cdf(middle)) / np.log(instance.second.cdf(middle)))


def _power_numbers(instance: Advocates) -> dict[str, float]:
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


def _mean_gap_rises(instance: Advocates) -> NDArray[np.float64]:
    """Return by how much the means of the best of 1, 2, ..., k lie further apart than those of single scores."""
    counts = range(1, instance.k + 1)
    return np.asarray(gain_of_max(instance.first, counts) - gain_of_max(instance.second, counts))


def _gain_margin(instance: Advocates) -> float:
    # Not for one advocate, where the two sides are the same and no fault would show.
    return float(_mean_gap_rises(instance)[1:].min())


def _step_margin(instance: Advocates) -> float:
    return float(np.diff(_mean_gap_rises(instance)).min())


def _identity_numbers(instance: BestOf) -> dict[str, float]:
    return {
        "E M - E G": float(gain_of_max(instance.law, instance.k)[0]),
        "integral of the excess wealth": float(gain_of_max(instance.law, instance.k, route="wealth")[0]),
    }


def _identity_margin(instance: BestOf) -> float:
    gain, integral = _identity_numbers(instance).values()
    return -abs(gain - integral)


def _spread_numbers(instance: BestOf) -> dict[str, float]:
    best = MaxLaw(instance.law, instance.k)
    low, high = np.array([0.1, 0.9])
    return {
        "90 % to 10 % quantile of G": float(instance.law.quantile(high) - instance.law.quantile(low)),
        "90 % to 10 % quantile of M": float(best.quantile(high) - best.quantile(low)),
        "deepest fall of Q_M - Q_G": -dispersive_order(best, instance.law).margin,
    }


def _spread_margin(instance: BestOf) -> float:
    return dispersive_order(MaxLaw(instance.law, instance.k), instance.law).margin


def _shortfalls(instance: Advocates) -> tuple[float, float]:
    """Return E (s1 - M1) + E (s2 - M2) for one advocate and for k, where s is the ceiling of a score."""
    found = instance.separation
    ceilings = instance.first.support[1] + instance.second.support[1]
    one, best = ceilings - found.mean_first - found.mean_second
    return float(one), float(best)


def _tail_bound(law: ScoreLaw, k: int) -> float:
    """Return the least of t + (s - a - t) F(s - t)^k over some t: a bound on E (s - M)."""
    low, high = law.support
    t = (high - low) * np.array([1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 64])
    return float((t + (high - low - t) * law.cdf(high - t) ** k).min())


def _ceiling_numbers(instance: Advocates) -> dict[str, float]:
    one, best = _shortfalls(instance)
    return {
        **instance.numbers(),
        "|s1 - s2|": abs(instance.first.support[1] - instance.second.support[1]),
        "E (s1 - G1) + E (s2 - G2)": one,
        "E (s1 - M1) + E (s2 - M2)": best,
        "bound on it": sum(_tail_bound(law, instance.k) for law in (instance.first, instance.second)),
    }


def _ceiling_margin(instance: Advocates) -> float:
    apart = abs(instance.first.support[1] - instance.second.support[1])
    gap = float(instance.separation.expected_gap[1])
    one, best = _shortfalls(instance)
    bound = sum(_tail_bound(law, instance.k) for law in (instance.first, instance.second))
    return min(best - abs(gap - apart), one - best, bound - best)


def _advocates_enough(instance: Advocates, gap: float) -> int:
    """Return a K from which on E|M1 - M2| is at most four fifths of E|G1 - G2|, the gap of one advocate."""
    fifth = gap / 5
    enough = 1
    for law in (instance.first, instance.second):
        low, high = law.support
        over = float(law.sf(high - fifth))
        if high - low > fifth and over < 1:
            enough = max(enough, math.ceil(math.log(fifth / (high - low)) / math.log1p(-over)))
    return enough


def _late_gaps(instance: Advocates, gap: float, counts: Sequence[int]) -> list[float]:
    """Return E|M1 - M2| for each k up to 10,000, the most that are computed; beyond, theorem-c's bound on it."""
    t = gap / 5
    pair = (instance.first, instance.second)
    late = []
    for k in counts:
        if k <= _COMPUTED:
            late.append(float(separation(*pair, k).expected_gap[0]))
            continue
        bound = 0.0
        for law in pair:
            low, high = law.support
            over = float(law.sf(high - t))
            below = math.exp(k * math.log1p(-over)) if over < 1 else 0.0
            bound += t + max(high - low - t, 0.0) * below
        late.append(bound)
    return late


def _late_numbers(instance: Advocates) -> dict[str, float]:
    numbers = instance.numbers()
    gap = numbers["E|G1 - G2|"]
    enough = _advocates_enough(instance, gap)
    name = "E|M1 - M2| at K" if enough <= _COMPUTED else "bound on E|M1 - M2| at K"
    return {**numbers, "K": enough, name: _late_gaps(instance, gap, [enough])[0]}


def _late_margin(instance: Advocates) -> float:
    one = float(separation(instance.first, instance.second).expected_gap[0])
    enough = _advocates_enough(instance, one)
    return 0.8 * one - max(_late_gaps(instance, one, (enough, enough + instance.k, 3 * enough)))


def _softmax_margin(instance: Team) -> float:
    # The library keeps its values within the bounds, which would hide a fault: so both are compared.
    x = instance.softmax_numbers()
    found = softmax_weighted([float(g) for g in instance.judge], float(instance.temperature))
    apart = max(
        abs(x["A"] - float(found.value)),
        abs(x["Var_p(g)"] - float(found.slope)),
        abs(x["max - tau H(p)"] - float(found.entropy_bound)),
        abs(x["Var_p(g)"] - x["dA / d(1/tau)"]),
    )
    return min(
        x["A"] - x["mean"],
        x["max"] - x["A"],
        x["A"] - x["max - tau H(p)"],
        x["max - tau H(p)"] - x["max - tau log k"],
        -apart,
    )


def _rise_agrees_with_condition(case: Discussion) -> float:
    """Return the change of belief, negative where the condition foretells the other sign."""
    foretold = sign(case.prob_under_truth - case.prob_under_belief)
    return foretold * case.rise if foretold else -abs(case.rise)


def _hear_and_are_heard_alike(panel: Listeners) -> bool:
    n = len(panel.counts)
    heard_by = [sum(others.count(i) for others in panel.heard) for i in range(n)]
    return len({len(others) for others in panel.heard} | set(heard_by)) == 1


def _formula_numbers(judge: Judge) -> dict[str, float]:
    correct, rounds = judge.enumerated()
    return {
        "P(correct), formula": float(judge.accuracy),
        "P(correct), all histories": float(correct),
        "E[T], formula": float(judge.rounds),
        "E[T], all histories": float(rounds),
    }


def _formula_margin(judge: Judge) -> float:
    correct, rounds = judge.enumerated()
    return -float(max(abs(correct - judge.accuracy), abs(rounds - judge.rounds)))


def _three_numbers(judge: Judge) -> dict[str, float]:
    return {
        "P(correct), sign agreement": float(judge.accuracy),
        "P(correct), majority of three": float(judge.majority_of_three),
        "E[T], sign agreement": float(judge.rounds),
    }


def _three_margin(judge: Judge) -> float:
    return float(min(judge.accuracy - judge.majority_of_three, 3 - judge.rounds))


_AT_LEAST_ONE = Assumption("k >= 1", lambda a: a.k >= 1)
_NO_LOWER = Assumption(
    "D_ma(r) >= D_id(r) for every r", lambda c: all(b >= a for a, b in zip(c.single, c.several, strict=True))
)
_MARTINGALE = (
    Assumption("The mean stays: E[S_(t+1) | S_t] = S_t", lambda case: case.keeps_its_mean),
    Assumption(
        "No count between 0 and n stays for ever, so all agree in the end",
        lambda case: case.reaches_unanimity,
    ),
)
_NO_TIES = Assumption(
    "rounds are independent, none is tied, and each names the better answer with one probability 0 < p < 1",
    lambda judge: 0 < judge.p < 1,
)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="gap-bound-near-one",
        title="The variance bound, where the mean is close to 1",
        source=Source(HERE, "correction of the advocates' theorem 3 and of D3's concentration bound"),
        statement=(
            "If the posterior mean of the gap lies within eps/2 of 1, then P(delta >= 1 - eps) >= "
            "1 - 4 Var(delta) / eps^2."
        ),
        latex=(
            r"1-\mathbb{E}\,\delta_r < \tfrac{\varepsilon}{2} \;\Rightarrow\; "
            r"P(\delta_r \ge 1-\varepsilon) \ge 1-\frac{4\,\mathrm{Var}(\delta_r)}{\varepsilon^2}"
        ),
        assumptions=(
            *POSTERIOR,
            Assumption("1 - mean < eps / 2", lambda debate: 1 - debate.mean < debate.eps / 2),
        ),
        status="holds",
        quantities=GapDebate.numbers,
        margin=lambda debate: debate.prob_near_one - debate.claimed_bound,
        instances=debates_near_one,
        proof=(
            "If delta < 1 - eps and E > 1 - eps/2, then |delta - E| > eps/2. Chebyshev's inequality bounds the "
            "probability of that by Var / (eps/2)^2. The Cantelli bound is never weaker there: with "
            "t = E - 1 + eps > eps/2 it is at least 1 - Var / (Var + eps^2/4)."
        ),
    ),
    Claim(
        name="cantelli-bound",
        title="A one-sided bound from mean and variance",
        source=Source(HERE, "replaces D3's concentration bound; Cantelli (1929)"),
        statement=(
            "If E delta_r > 1 - eps, then with t = E delta_r - 1 + eps, "
            "P(delta_r >= 1 - eps) >= 1 - Var / (Var + t^2)."
        ),
        latex=r"P(\delta_r \ge 1-\varepsilon) \ge 1 - \frac{\mathrm{Var}}{\mathrm{Var} + (\mathbb{E}-1+\varepsilon)^2}",
        assumptions=(
            *POSTERIOR,
            Assumption("E delta_r > 1 - eps", lambda debate: debate.mean > 1 - debate.eps),
        ),
        status="holds",
        quantities=GapDebate.numbers,
        margin=lambda debate: debate.prob_near_one - debate.cantelli_bound,
        instances=debates_above,
        proof=(
            "Let X = E - delta, of mean 0, and u > 0. If X >= t then (X + u)^2 >= (t + u)^2, so by Markov "
            "P(X >= t) <= (Var + u^2) / (t + u)^2. The right side is least at u = Var / t, where it is "
            "Var / (Var + t^2). Nothing of the Beta law is used but its mean and variance."
        ),
    ),
    Claim(
        name="sub-gaussian-bound",
        title="Both tails of the gap posterior are sub-Gaussian",
        source=Source("Marchal and Arbel (2017), Electronic Communications in Probability 22", "theorem 1"),
        statement=(
            "With N = a0 + b0 + r, P(|delta_r - E delta_r| >= t) <= 2 exp(-2 (N + 1) t^2) for every t > 0, here "
            "t = eps. The margin is the share of the bound that is left."
        ),
        latex=r"P(|\delta_r - \mathbb{E}\,\delta_r| \ge t) \le 2 e^{-2(a_0+b_0+r+1)t^2}",
        assumptions=POSTERIOR,
        status="holds",
        quantities=lambda debate: {
            "mean": float(debate.mean),
            "t": float(debate.eps),
            "P(|delta - mean| >= t)": debate.prob_far_from_mean,
            "bound": debate.sub_gaussian_bound,
        },
        margin=_unused_share_of_bound,
        slack=1e-6,
        instances=debates,
        proof=(
            "The optimal variance proxy of Beta(a, b) is at most 1 / (4 (a + b + 1)), with equality iff a = b. This "
            "means E exp(s (delta - E)) <= exp(s^2 / (8 (N + 1))) for every s, shown from the differential equation "
            "of the confluent hypergeometric function. Chernoff's method with s = 4 (N + 1) t bounds each tail "
            "by exp(-2 (N + 1) t^2)."
        ),
    ),
    Claim(
        name="variance-condition",
        title="Condition for one more round to lower the variance",
        source=Source(HERE, "correction of D3, definition 1"),
        statement=(
            "A round without growth turns Beta(a, b) into Beta(a, b + 1) and lowers the variance iff "
            "(b + 1) N^2 < b (N + 1)(N + 2), N = a + b. A round with growth lowers it iff "
            "(a + 1) N^2 < a (N + 1)(N + 2)."
        ),
        latex=r"\mathrm{Var}\,\mathrm{B}(a,b{+}1) < \mathrm{Var}\,\mathrm{B}(a,b) \iff (b+1)N^2 < b(N+1)(N+2)",
        assumptions=(PROPER_TRIAL,),
        status="holds",
        quantities=Trial.numbers,
        margin=_sign_agrees_with_condition,
        slack=0.0,
        instances=trials,
        proof=(
            "Var B(a, b) - Var B(a, b + 1) = a b / (N^2 (N+1)) - a (b+1) / ((N+1)^2 (N+2)) "
            "= a [b (N+1)(N+2) - (b+1) N^2] / (N^2 (N+1)^2 (N+2)); the denominator is positive. The other case "
            "is the same with a and b exchanged."
        ),
    ),
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
        title="A larger score in the dilation order moves the means apart",
        source=_INSTEAD_OF,
        statement=(
            "If G1 is larger than G2 in the dilation order, then E M1 - E M2 >= E G1 - E G2 for every k. The "
            "dispersive and the excess-wealth order imply it; dominance is neither needed nor enough."
        ),
        latex=(
            r"G_1 - E G_1 \ge_{\mathrm{cx}} G_2 - E G_2 \implies "
            r"E M_1 - E M_2 \ge E G_1 - E G_2 \quad \text{for every } k"
        ),
        assumptions=(INDEPENDENT, SEVERAL, DILATION),
        status="holds",
        quantities=Advocates.numbers,
        margin=_gain_margin,
        instances=dilation_pairs,
        proof=(
            "Let H(u) be the integral of Q - E G from u to 1, so that H(0) = H(1) = 0. M has the quantile density "
            "k u^(k-1), so E M - E G is the integral of (Q - E G) k u^(k-1), and by parts k (k - 1) times that of "
            "H(u) u^(k-2). The convex order of the centred scores is H1 >= H2 at every level (Shaked and "
            "Shanthikumar 2007, theorem 3.A.5), and the weight is not negative."
        ),
    ),
    Claim(
        name="theorem-a-identity",
        title="The gain of the best of k is an integral of the excess wealth",
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
            _AT_LEAST_ONE,
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
        quantities=Advocates.numbers,
        margin=_step_margin,
        instances=dispersive_pairs,
        proof=(
            "E M1 - E M2 is E D(U_k), where D = Q1 - Q2 and U_k is the largest of k uniform numbers, since the best "
            "of k scores is Q(U_k). U_k grows with k, and D does not fall: that is the dispersive order."
        ),
    ),
    Claim(
        name="theorem-b",
        title="Conditions for the expected absolute gap to grow",
        source=_INSTEAD_OF,
        statement=(
            "E|M1 - M2| >= E|G1 - G2| holds under three conditions. By condition (i), M_i is larger than G_i in the "
            "dilation order for both answers, as it is when failure rates fall. By (ii), E M1 - E M2 >= E G1 - E G2. "
            "By (iii), P(G1 >= G2) >= 1/2, where a tie counts in full. Condition (i) fails for every score with a "
            "ceiling except a constant, so the theorem does not apply to a rubric."
        ),
        latex=(
            r"M_i \ge_{\mathrm{dil}} G_i, \; E[M_1 - M_2] \ge E[G_1 - G_2], \; P(G_1 \ge G_2) \ge \tfrac12 "
            r"\implies E|M_1 - M_2| \ge E|G_1 - G_2|"
        ),
        assumptions=(INDEPENDENT, SEVERAL, DILATED, MEANS_PART, AHEAD),
        status="holds",
        quantities=Advocates.numbers,
        margin=lambda a: a.gap_rise,
        slack=1e-8,
        instances=dfr_pairs,
        proof=(
            "Let s = (E M1 - E M2) - (E G1 - E G2). By (ii), s >= 0. Convex order adds over independent terms, so by "
            "(i) M1 - M2 - s is larger than G1 - G2 in the convex order. As x -> |x + s| is convex, E|M1 - M2| "
            ">= E|G1 - G2 + s| = h(s). The function h is convex with right slope P(G1 >= G2) - P(G1 < G2) at 0. This "
            "is not negative by (iii), so h(s) >= h(0). Falling failure rates give (i) by falling-rates-spread. Under "
            "a ceiling c a score that is not constant has E M > E G. Then M - E M ends at c - E M, below c - E G, "
            "where G - E G ends. So M - E M is not larger in the convex order."
        ),
    ),
    Claim(
        name="falling-rates-spread",
        title="The best of k scores with a falling failure rate spreads more than one",
        source=_INSTEAD_OF,
        statement=(
            "If the failure rate of G falls, with an atom at the lower end at most, then M is larger than G in the "
            "dispersive order for every k. The same holds in excess wealth and dilation where the mean is finite."
        ),
        latex=r"\frac{f}{1 - F} \text{ falls} \implies M^{(k)} \ge_{\mathrm{disp}} G",
        assumptions=(
            Assumption("log P(G > x) is convex on the support", lambda b: is_dfr(b.law).holds),
            _AT_LEAST_ONE,
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
    Claim(
        name="theorem-c",
        title="Bounded scores: the gap tends to that of the ceilings",
        source=_INSTEAD_OF,
        statement=(
            "If scores have essential suprema s1 and s2, then E|M1 - M2| differs from |s1 - s2| by at most "
            "E (s1 - M1) + E (s2 - M2). This bound does not grow with k and tends to 0. With a the lower end, "
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
            "so for large k the bound is below 2t, for every t."
        ),
    ),
    Claim(
        name="common-ceiling",
        title="On a rubric with a top score, enough advocates close the gap",
        source=_INSTEAD_OF,
        statement=(
            "Let both scores have one ceiling s and not both be constant. Then there is a K with E|M1 - M2| <= 0.8 "
            "E|G1 - G2| for every k >= K. Let t = E|G1 - G2| / 5 and a_i the lower ends. Every K is large enough for "
            "which (s - a_i) F_i(s - t)^K <= t for both answers. So the claim of D3 fails for all large k."
        ),
        latex=r"s_1 = s_2 \implies E|M_1 - M_2| \le \tfrac45 E|G_1 - G_2| \quad \text{for every } k \ge K",
        assumptions=(INDEPENDENT, CEILING, BOUNDED),
        status="holds",
        quantities=_late_numbers,
        margin=_late_margin,
        instances=ceiling_pairs,
        proof=(
            "By theorem-c with s1 = s2, E|M1 - M2| <= E (s - M1) + E (s - M2). Each term is at most t + (s - a_i) "
            "F_i(s - t)^k <= 2t for k >= K. Four fifths are left, and E|G1 - G2| > 0 since one score is not constant."
        ),
    ),
    Claim(
        name="aggregation-loss",
        title="The loss of an aggregator with other scores",
        source=Source(HERE, f"in place of {ADVOCATES}, aggregation property"),
        statement=(
            "If inner scores differ from the judge's by at most eta, then g(f_agg) >= max_j g(f_j) - 2 eta for the "
            "argmax of the inner scores."
        ),
        latex=r"|g' - g| \le \eta \implies g(f_{\mathrm{agg}}) \ge \max_j g(f_j) - 2 \eta",
        assumptions=(WARM,),
        status="holds",
        quantities=Team.numbers,
        margin=lambda team: float(2 * team.largest_difference - team.shortfall),
        slack=0.0,
        instances=lambda: teams(within=20),
        proof="g(f_agg) >= g'(f_agg) - eta >= g'(f_best) - eta >= g(f_best) - 2 eta, with f_best the judge's best.",
    ),
    Claim(
        name="softmax-weighted-bounds",
        title="Where a softmax-weighted score lies",
        source=Source(HERE, f"of the softmax in {ADVOCATES}, section 3.3"),
        statement=(
            "A = sum of p_j g_j with p = softmax(g / tau) satisfies mean <= A <= max, "
            "A >= max - tau H(p) >= max - tau log k, and dA / d(1/tau) = Var_p(g). (All from the definitions; the "
            "margin also counts how far models.softmax is from them.)"
        ),
        latex=(
            r"\bar g \le A_\tau \le \max_j g_j, \quad A_\tau \ge \max_j g_j - \tau H(p) \ge \max_j g_j - \tau \log k, "
            r"\quad \frac{dA_\tau}{d(1/\tau)} = \mathrm{Var}_p(g)"
        ),
        assumptions=(WARM,),
        status="holds",
        quantities=Team.softmax_numbers,
        margin=_softmax_margin,
        slack=1e-12,
        instances=teams,
        proof=(
            "Let b = 1/tau and L(b) = log sum exp(b g). Then A = L'(b) and dA/db = L''(b) = Var_p(g) >= 0, so A rises "
            "from the mean at b = 0 towards the maximum. From log p_j = b g_j - L follows H(p) = L - b A. As "
            "L >= b max, A = tau L - tau H >= max - tau H. Finally H <= log k."
        ),
    ),
    Claim(
        name="iteration-complexity",
        title="A curve that is nowhere lower reaches a level no later",
        source=Source(HERE, f"in place of {ADVOCATES}, Theorem 2"),
        statement="If D_ma(r) >= D_id(r) for every round r, then I_ma <= I_id at every level.",
        latex=r"D_{ma}(r) \ge D_{id}(r) \;\forall r \implies I_{ma}(\varepsilon) \le I_{id}(\varepsilon)",
        assumptions=(POSITIVE_LEVEL, _NO_LOWER),
        status="holds",
        quantities=Curves.numbers,
        margin=lambda c: float(c.rounds_saved),
        slack=0.0,
        instances=curves,
        proof=(
            "I is the first round with D(r) >= level. Every round in which D_id reaches it is one in which D_ma "
            "does, and the least element of a larger set is no larger."
        ),
    ),
    Claim(
        name="belief-amplification",
        title="When responses raise the belief in the truth",
        source=Source(HERE, "correction of the stability paper's theorem 4.1"),
        statement=(
            "pi' > pi iff prod_j P(z_j | truth) > sum_theta pi(theta) prod_j P(z_j | theta); pi' = pi iff both "
            "sides are equal."
        ),
        latex=(
            r"\pi' > \pi \iff \prod_j P(z_j \mid \theta_\ast) > "
            r"\sum_\theta \pi(\theta) \prod_j P(z_j \mid \theta)"
        ),
        assumptions=(CONCEPTS,),
        status="holds",
        quantities=Discussion.numbers,
        margin=_rise_agrees_with_condition,
        instances=discussions,
        proof=(
            "By Bayes' rule pi' = pi L / m, with L the left side and m > 0 the right side, so pi' - pi = "
            "pi (L - m) / m, and pi > 0."
        ),
    ),
    Claim(
        name="panel-mean-martingale",
        title="The panel's mean belief stays where it is",
        source=Source(HERE, "correction of Debate or Vote, martingale theorem"),
        statement=(
            "If all agents have the same strength A, and each hears d answers and is heard d times, then the mean "
            "belief of the panel is a martingale for all beliefs. As strengths stay equal, this holds in every round."
        ),
        latex=r"\mathbb{E}\Big[\tfrac1n\sum_i \mu_{i,t+1} \,\Big|\, \mathcal{F}_t\Big] = \tfrac1n\sum_i \mu_{i,t}",
        assumptions=(
            COUNTING_AGENTS,
            Assumption(
                "All strengths are equal", lambda panel: len({sum(pair) for pair in panel.counts}) == 1
            ),
            Assumption("Each hears d and is heard by d", _hear_and_are_heard_alike),
        ),
        status="holds",
        quantities=Listeners.numbers,
        margin=lambda panel: float(-abs(panel.mean_drift)),
        slack=0.0,
        instances=equal_listeners,
        proof=(
            "Sum E mu_i' = (A mu_i + sum of mu_j over those heard) / (A + d) over i: each mu_j is counted d times, "
            "so the sum is (A + d) / (A + d) sum_i mu_i. With unequal strengths the weak move more than the "
            "strong, and the mean drifts towards the strong."
        ),
    ),
    Claim(
        name="ks-lemma",
        title="D is at most the share of debates whose count changed",
        source=Source(HERE, "lemma on KS stopping"),
        statement="On the same debates, D <= the share of debates whose count of correct votes changed.",
        latex=r"D \le \frac{1}{N}\,\#\{i : S_{i,t+1} \ne S_{i,t}\}",
        assumptions=(SAME_DEBATES,),
        status="holds",
        quantities=TwoRounds.numbers,
        margin=lambda rounds: rounds.share_changed - rounds.distance,
        instances=two_rounds,
        proof=(
            "For every x, F_t(x) - F_(t+1)(x) = (1/N) sum_i (1{S_i,t <= x} - 1{S_i,t+1 <= x}). A debate whose "
            "count stayed adds 0, any other at most 1 in absolute value. So debates that have stopped and are "
            "carried forward make D fall by themselves, in all cases."
        ),
    ),
    Claim(
        name="theorem-d",
        title="Debate to consensus is as accurate as one agent when the count is a martingale",
        source=Source(HERE, "theorem D, by optional stopping; the voter model"),
        statement=(
            "Let the number S_t of correct votes be a martingale, and let the panel of n debate until all agree. Then "
            "P(unanimously correct) = E[S_0] / n, the mean individual accuracy in round 0, for every such process."
        ),
        latex=r"\mathbb{E}[S_{t+1} \mid \mathcal{F}_t] = S_t \;\Rightarrow\; P(S_T = n) = \frac{\mathbb{E}\,S_0}{n}",
        assumptions=_MARTINGALE,
        status="holds",
        quantities=CountChain.numbers,
        margin=lambda case: float(-abs(case.prob_right - case.mean_accuracy)),
        slack=0.0,
        instances=count_chains,
        proof=(
            "S_t is a bounded martingale, so E S_T = E S_0 at the time T of unanimity. T is finite with "
            "probability 1. From each count between 0 and n some departure has positive probability, and a "
            "departure that keeps the mean goes up with positive probability, so n is reached from every count. "
            "At T the count is 0 or n, hence E S_T = n P(S_T = n). The voter model, in which each agent copies a seat "
            "drawn at random, is such a process. The model of arXiv 2508.17536 is not. Its agents add what they hear "
            "to counts of their own, so that beliefs are martingales (where debate-or-vote-theorem-1 holds). The "
            "number of correct votes is drawn again from the beliefs in each round and need not be a martingale."
        ),
    ),
    Claim(
        name="vote-beats-consensus",
        title="An immediate majority vote beats debating to consensus",
        source=Source(HERE, "from theorem D and Condorcet (1785)"),
        statement=(
            "Let an odd number n of agents be right independently with probability p >= 1/2 each, and let the "
            "count of correct votes be a martingale from then on. The majority of round 0 is right with at least "
            "the probability with which the consensus in the end is right."
        ),
        latex=r"P(S_0 > n/2) \ge p = P(S_T = n)",
        assumptions=(
            *_MARTINGALE,
            Assumption(
                "S_0 is Binomial(n, p), p >= 1/2, n odd (Condorcet)", lambda case: case.begins_as_condorcet
            ),
        ),
        status="holds",
        quantities=CountChain.numbers,
        margin=lambda case: case.prob_majority_right - float(case.prob_right),
        instances=condorcet_chains,
        proof=(
            "By theorem D the consensus is right with probability p. Let q = 1 - p. By symmetry, "
            "P(S_0 > n/2) - p = q P(S_0 > n/2) - p P(S_0 < n/2). This is the sum over s > n/2 of C(n, s) "
            "(q p^s q^(n-s) - p q^s p^(n-s)). Each term is >= 0, because p^(s-1) q^(n-s) >= p^(n-s) q^(s-1) when "
            "p >= q and s - 1 >= n - s."
        ),
    ),
    Claim(
        name="sign-agreement",
        title="Accuracy and length of the sign-agreement stop",
        source=Source(HERE, f"the rule: {ADVOCATES}, section 3.2 and Algorithm 2"),
        statement=(
            "Let a debate stop when two rounds in a row name the same answer, with no cap on rounds. With q = 1 - p, "
            "the answer named at the stop is right with probability p^2 (1 + q) / (1 - p q), after "
            "(2 + p q) / (1 - p q) rounds on average. (The source caps at four rounds, at which 2 (p q)^2 of the "
            "debates are undecided, 441/5000 at p = .7.)"
        ),
        latex=r"P(\text{correct}) = \frac{p^2 (1 + q)}{1 - pq}, \qquad E[T] = \frac{2 + pq}{1 - pq}, \qquad q = 1 - p",
        assumptions=(_NO_TIES,),
        status="holds",
        quantities=_formula_numbers,
        margin=_formula_margin,
        slack=1e-12,
        instances=judges,
        proof=(
            "A history that ends right at round t alternates up to its last two rounds. If it has an even number "
            "of rounds, 2 + 2j, it has probability p^2 (pq)^j; if it has 3 + 2j it begins with a wrong round and has "
            "q p^2 (pq)^j. Sum both over j: p^2 (1 + q) / (1 - pq). P(T > t) is that of two alternating histories: "
            "2 (pq)^(t/2) for even t >= 2 and (pq)^((t-1)/2) for odd t, since p + q = 1. "
            "E[T] = sum of P(T > t) = 1 + 2pq/(1 - pq) + 1/(1 - pq) = (2 + pq) / (1 - pq)."
        ),
    ),
    Claim(
        name="sign-agreement-beats-three",
        title="The sign-agreement stop against three rounds",
        source=Source(HERE, f"the rule: {ADVOCATES}, section 3.2 and Algorithm 2"),
        statement=(
            "With p >= 1/2 the sign-agreement stop, with no cap on rounds, is right at least as often as the majority "
            "of three rounds, and takes at most three rounds on average. Here 'right' is the answer named at the stop."
        ),
        latex=r"p \ge \tfrac12 \implies \frac{p^2 (1 + q)}{1 - pq} \ge p^2 (3 - 2p), \quad \frac{2 + pq}{1 - pq} \le 3",
        assumptions=(_NO_TIES, Assumption("p >= 1/2", lambda judge: 2 * judge.p >= 1)),
        status="holds",
        quantities=_three_numbers,
        margin=_three_margin,
        slack=0.0,
        instances=judges_above_half,
        proof=(
            "3 - 2p = 1 + 2q, and (1 + q) - (1 + 2q)(1 - pq) = q (p - 1 + 2pq) = q^2 (2p - 1) >= 0. "
            "The second part is 2 + pq <= 3 - 3pq, that is 4pq <= 1."
        ),
    ),
)
