"""Do several advocates a side move two answers apart, as D3 says they do?"""

from __future__ import annotations

from collections.abc import Mapping

from d3stats.models.separation.laws import DiscreteLaw, uniform
from d3stats.theory._advocate_conditions import DOMINANCE, INDEPENDENT, SEVERAL, one_and_best
from d3stats.theory.claim import Claim, Source
from d3stats.theory.instances.families import Advocates, dominating_pairs, pairs
from d3stats.theory.sources import D3

__all__ = ["CLAIMS", "advocate_numbers", "gap_rise", "mean_gap_rise", "ranking_rise"]

_SURE = DiscreteLaw([1], [1])
_COIN = DiscreteLaw([0, 1], [0.5, 0.5])


def advocate_numbers(instance: Advocates) -> Mapping[str, float]:
    """Return all that two answers look like from one advocate and from the best of k."""
    found = one_and_best(instance)
    numbers: dict[str, float] = {}
    for i, (one, two) in enumerate((("G1", "G2"), ("M1", "M2"))):
        numbers |= {
            f"E|{one} - {two}|": float(found.expected_gap[i]),
            f"E {one} - E {two}": float(found.mean_gap[i]),
            f"P({one} > {two})": float(found.prob_first[i]),
            f"P({one} = {two})": float(found.prob_tie[i]),
        }
    return numbers


def gap_rise(instance: Advocates) -> float:
    """Return E|M1 - M2| - E|G1 - G2|, in points."""
    one, best = one_and_best(instance).expected_gap
    return float(best - one)


def mean_gap_rise(instance: Advocates) -> float:
    """Return (E M1 - E M2) - (E G1 - E G2), in points."""
    one, best = one_and_best(instance).mean_gap
    return float(best - one)


def ranking_rise(instance: Advocates) -> float:
    """Return how much P(M1 > M2) exceeds P(G1 > G2), with ties or without: the kinder of the two."""
    found = one_and_best(instance)
    fair = found.prob_first + 0.5 * found.prob_tie
    return float(max(found.prob_first[1] - found.prob_first[0], fair[1] - fair[0]))


_INSTEAD = (
    "The excess-wealth order, not dominance, makes the means part (theorem-a); scores with falling failure rates "
    "make the absolute gap grow too (theorem-b). Under a common ceiling, such as a rubric that ends at 20, it tends "
    "to 0 (theorem-c, common-ceiling)."
)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="d3-theorem-2",
        title="Parallel advocates separate scores",
        source=Source(D3, "Theorem 2 in section 3, proof in C.2"),
        statement=(
            "With k independent defenses of each answer the expected absolute gap between the best scores exceeds "
            "the one between single scores: E|max_j g(f_1j) - max_j g(f_2j)| > E|g(f_1) - g(f_2)|. No condition on "
            "the scores is stated; the proof assumes that those of the first answer dominate."
        ),
        latex=r"E\bigl[\,|\max_j g(f_{1,j}) - \max_j g(f_{2,j})|\,\bigr] > E\bigl[\,|g(f_1) - g(f_2)|\,\bigr]",
        assumptions=(INDEPENDENT, SEVERAL),
        status="refuted",
        quantities=advocate_numbers,
        margin=gap_rise,
        instances=pairs,
        counterexample=Advocates(uniform(0.5, 1), uniform(), 2),
        corrected=_INSTEAD,
        correction=("theorem-a", "theorem-b", "theorem-c"),
        proof=(
            "The proof brings in dominance, F1 <= F2, and shows that F1^k <= F2^k, so that E M1 > E M2. Its next "
            "step, E M1 - E G1 >= E M2 - E G2, is only said to be expected, and is false: dominance says where "
            "scores lie and the gain of a maximum depends on how they spread. What it concludes is about "
            "E[M1 - M2], and the theorem is about E|M1 - M2|."
        ),
    ),
    Claim(
        name="d3-theorem-3-absolute",
        title="Dominance makes several advocates superior",
        source=Source(D3, "Theorem 3 in section 3.1"),
        statement=(
            "If the scores of the better answer stochastically dominate those of the other, the expected absolute "
            "gap between the best of k exceeds the one between single scores: E|M1 - M2| > E|G1 - G2|."
        ),
        latex=r"F_1 \le F_2 \implies E|M_1 - M_2| > E|G_1 - G_2|",
        assumptions=(INDEPENDENT, SEVERAL, DOMINANCE),
        status="refuted",
        quantities=advocate_numbers,
        margin=gap_rise,
        instances=dominating_pairs,
        counterexample=Advocates(_SURE, uniform(), 2),
        corrected=_INSTEAD,
        correction=("theorem-b", "theorem-c", "common-ceiling"),
        proof=(
            "An answer that always scores 1 dominates one whose score is uniform on [0, 1]. More advocates cannot "
            "lift the first and do lift the second: E|M1 - M2| = 1 - k/(k+1) = 1/(k+1) falls with k. The proof's "
            "step E M1 - E G1 >= E M2 - E G2 reads 0 >= k/(k+1) - 1/2."
        ),
    ),
    Claim(
        name="d3-theorem-3-signed",
        title="What the proof of superiority sets out to show",
        source=Source(D3, "proof of Theorem 3, C.3"),
        statement=(
            "If the scores of the better answer stochastically dominate those of the other, the best of k have means "
            "further apart than single scores: E M1 - E M2 > E G1 - E G2."
        ),
        latex=r"F_1 \le F_2 \implies E M_1 - E M_2 > E G_1 - E G_2",
        assumptions=(INDEPENDENT, SEVERAL, DOMINANCE),
        status="refuted",
        quantities=advocate_numbers,
        margin=mean_gap_rise,
        instances=dominating_pairs,
        counterexample=Advocates(_SURE, _COIN, 2),
        corrected=(
            "With >= it holds, for every k, when the first score is larger in the excess-wealth order; dominance is "
            "neither needed nor enough. For one k it holds exactly when the integral of (Q1 - Q2)(k u^(k-1) - 1) over "
            "(0, 1) is not negative; for k = 2, when the Gini mean difference of G1 is at least that of G2."
        ),
        correction=("theorem-a", "theorem-a-identity"),
        proof=(
            "E M - E G is the integral of F - F^k: it measures spread and is 0 for a score that is sure. A sure 1 "
            "dominates a fair coin on 0 and 1; the coin gains 1/4 from a second advocate, the sure answer nothing, "
            "and the means move from 1/2 apart to 1/4."
        ),
    ),
    Claim(
        name="more-advocates-rank-better",
        title="Parallel defenses amplify the signal",
        source=Source(D3, "section 3, after Theorem 2 (our reading of 'amplify signal')"),
        statement=(
            "If the scores of the better answer stochastically dominate those of the other, more advocates do not "
            "make it less likely to be ranked first: P(M1 > M2) >= P(G1 > G2)."
        ),
        latex=r"F_1 \le F_2 \implies P(M_1 > M_2) \ge P(G_1 > G_2)",
        assumptions=(INDEPENDENT, SEVERAL, DOMINANCE),
        status="refuted",
        quantities=advocate_numbers,
        margin=ranking_rise,
        slack=1e-8,
        instances=dominating_pairs,
        counterexample=Advocates(uniform(0.5, 1), uniform(), 2),
        corrected=(
            "The upper tails decide. If F1 is a power of F2 the ranking is the same for every k (lehmann-invariance); "
            "normal scores one standard deviation apart are ranked better with more advocates, .760 to .888 for k = 1 "
            "to 10; U(.5, 1) against U(0, 1) is ranked worse, .75 to 2/3. Measure P(M1 > M2) before paying for k."
        ),
        correction=("lehmann-invariance",),
        proof=(
            "P(M1 > M2) is the integral of F2^k over the law of M1. As k grows both maxima move into the upper tails, "
            "where dominance leaves the better answer no more than a share of what happens: near 1 the density of "
            "U(.5, 1) is twice that of U(0, 1), and P(M1 > M2) = .75, .7083, .69375 falls to 2/3."
        ),
    ),
)
