"""Claims of D3: the gap posterior and how it concentrates, and that several advocates separate two answers."""

from __future__ import annotations

from fractions import Fraction

from d3stats.models.separation.laws import DiscreteLaw, uniform
from d3stats.theory.claim import D3, Assumption, Claim, Source
from d3stats.theory.instances.advocates import (
    DOMINANCE,
    INDEPENDENT,
    SEVERAL,
    Advocates,
    dominating_pairs,
    pairs,
)
from d3stats.theory.instances.gaps import (
    POSTERIOR,
    PROPER_PRIOR,
    PROPER_TRIAL,
    Course,
    GapDebate,
    GapPath,
    Trial,
    courses,
    debates,
    paths,
    trials,
)

__all__ = ["CLAIMS"]

_VARIANCE = "definition 1 ('variance decreasing at rate O(1/r)'), appendix C.1"
_SURE = DiscreteLaw([1], [1])
_COIN = DiscreteLaw([0, 1], [0.5, 0.5])
_INSTEAD = (
    "The dilation order, not dominance, makes the means part (theorem-a); scores with falling failure rates "
    "make the absolute gap grow too (theorem-b). Under a common ceiling, such as a rubric that ends at 20, it tends "
    "to 0 (theorem-c, common-ceiling)."
)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="d3-theorem-1",
        title="The gap converges in probability to the limit of its mean",
        source=Source(D3, "theorem 1 (probabilistic convergence), appendix C.1"),
        statement=(
            "If E delta_r -> Delta > 0, then P(|delta_r - Delta| < eps) -> 1 for every eps > 0 (E over w_r as well; "
            "for a given sequence w_r it is the posterior mean, and the theorem holds). At what rate is in the proof: "
            "in a round with bias |E delta_r - Delta| < eps the probability is at least "
            "1 - 1 / (4 (a0 + b0 + r + 1) (eps - bias)^2)."
        ),
        latex=(
            r"\mathbb{E}\,\delta_r \to \Delta > 0 \;\Rightarrow\; "
            r"\lim_{r\to\infty} P(|\delta_r - \Delta| < \varepsilon) = 1"
        ),
        assumptions=(
            PROPER_PRIOR,
            Assumption("The expected gap converges to a Delta > 0", lambda course: course.limit > 0),
            Assumption("|E delta_r - Delta| < eps", lambda course: course.bias < course.eps),
        ),
        missing=(
            Assumption(
                "w_r is a fixed sequence, not a random one", lambda course: len(set(course.growing)) == 1
            ),
        ),
        status="holds under",
        quantities=Course.numbers,
        margin=lambda course: course.prob_near_limit - float(course.guaranteed),
        instances=lambda: courses(3),
        rescued=lambda: courses(1),
        counterexample=Course(Fraction(1), Fraction(1), (Fraction(0), Fraction(1)), 10, Fraction(1, 4)),
        corrected=(
            "For a fixed sequence w_r it holds. For a random one: delta_r -> Delta in probability iff "
            "w_r / r -> Delta in probability; convergence of the mean does not suffice."
        ),
        correction=("sub-gaussian-bound",),
        proof=(
            "For a fixed sequence E delta_r is the posterior mean. If |delta_r - Delta| >= eps then |delta_r - "
            "E delta_r| >= eps - bias. Chebyshev bounds that by Var / (eps - bias)^2 with "
            "Var <= 1 / (4 (a0 + b0 + r + 1)) -> 0. If w_r is random, the variance of delta_r is the mean of the "
            "posterior variances plus the variance of the posterior means. The second part need not tend to 0. "
            "With w_r = r or 0, each with probability 1/2, the mean is near 1/2 and delta_r near 0 or 1."
        ),
    ),
    Claim(
        name="d3-concentration-bound",
        title="The gap exceeds 1 - eps with probability near 1",
        source=Source(D3, "section 3, concentration bound after theorem 1"),
        statement="For every eps in (0, 1), P(delta_r >= 1 - eps) >= 1 - 4 Var(delta_r) / eps^2.",
        latex=r"P(\delta_r \ge 1-\varepsilon) \ge 1 - \frac{4\,\mathrm{Var}(\delta_r)}{\varepsilon^2}",
        assumptions=POSTERIOR,
        status="refuted",
        quantities=GapDebate.numbers,
        margin=lambda debate: debate.prob_near_one - debate.claimed_bound,
        instances=debates,
        counterexample=GapDebate(Fraction(1), Fraction(1), 0, 1, Fraction(2, 3)),
        corrected=(
            "The bound holds where 1 - E delta_r < eps/2. For a limit Delta < 1 it therefore fails for every "
            "eps < 1 - Delta at large r. Cantelli's inequality gives a bound wherever E delta_r > 1 - eps; the exact "
            "probability is a regularised incomplete beta function and needs no bound."
        ),
        correction=("gap-bound-near-one", "cantelli-bound", "sub-gaussian-bound"),
        proof=(
            "Chebyshev bounds the distance from the mean, the claim the distance from 1. One implies the other "
            "only if the mean is within eps/2 of 1. With one round and no growth delta ~ Beta(1, 2) "
            "has variance 1/18; at eps = 2/3 the claimed bound is 1/2 and the truth 4/9. With 500 of 1000 rounds "
            "and eps = .1 the claimed bound is .9003 and the truth 8.03e-225."
        ),
    ),
    Claim(
        name="d3-variance-cap",
        title="The variance of the gap posterior is O(1/r)",
        source=Source(D3, _VARIANCE),
        statement="After r rounds the posterior variance is O(1/r): at most 1 / (4 (a0 + b0 + r + 1)).",
        latex=r"\mathrm{Var}(\delta_r) \le \frac{1}{4\,(a_0+b_0+r+1)}",
        assumptions=POSTERIOR,
        status="holds",
        quantities=lambda debate: {
            "mean": float(debate.mean),
            "variance": float(debate.variance),
            "cap": float(debate.variance_cap),
        },
        margin=lambda debate: float(debate.variance_cap - debate.variance),
        slack=0.0,
        instances=debates,
        proof=(
            "With E the mean and N = a0 + b0 + r, Var = E (1 - E) / (N + 1), and E (1 - E) <= 1/4. Equality only "
            "at E = 1/2: it is an upper bound that falls, and says nothing of the variance's own path."
        ),
    ),
    Claim(
        name="d3-variance-decreases",
        title="Every round makes the gap posterior surer",
        source=Source(D3, _VARIANCE),
        statement=(
            "The posterior variance of the gap decreases with the rounds, which signifies increasing "
            "confidence: Var(delta_(r+1)) <= Var(delta_r)."
        ),
        latex=r"\mathrm{Var}(\delta_{r+1}) \le \mathrm{Var}(\delta_r)",
        assumptions=(PROPER_TRIAL,),
        status="refuted",
        quantities=Trial.numbers,
        margin=lambda trial: float(trial.before - trial.after),
        slack=0.0,
        instances=trials,
        counterexample=Trial(Fraction(3), Fraction(1), grew=False),
        corrected=(
            "The upper bound of the variance, 1 / (4 (a0 + b0 + r + 1)), decreases. The variance itself rises when "
            "the round is a surprise. A failure lowers it iff (b + 1) N^2 < b (N + 1)(N + 2) with N = a + b. On "
            "average over the posterior's own forecast it falls."
        ),
        correction=("d3-variance-cap", "variance-condition"),
        proof=(
            "E (1 - E) / (N + 1) falls through its denominator, but an unexpected outcome moves E towards 1/2 "
            "and raises E (1 - E) by more. Beta(3, 1) has 3/80 = .0375; after one round without growth "
            "Beta(3, 2) has .04. Beta(10, 1) goes from .0068871 to .0106838."
        ),
    ),
    Claim(
        name="d3-gap-posterior-reading",
        title="The gap posterior is a posterior of the gap",
        source=Source(D3, "abstract ('concentrates around the true difference') and definition 1"),
        statement=(
            "After r rounds the gap on [0, 1], delta_r, has the posterior Beta(a0 + w, b0 + r - w). If that is a "
            "posterior of the gap, then an interval that holds 95 % of it should reach at least one value between "
            "the smallest and the largest gap of the debate. Here a0 = b0 = 1, and the interval is the mean "
            "+- sqrt(log(40) / (2 (r + 3))), wider than the exact one."
        ),
        latex=(
            r"\left|\mathbb{E}\,\delta_r - g\right| \le \sqrt{\tfrac{\log 40}{2(r+3)}} "
            r"\ \text{for some}\ g \in [\min_s g_s, \max_s g_s]"
        ),
        assumptions=(
            Assumption("Gaps lie in [0, 1]", lambda path: all(0 <= gap <= 1 for gap in path.gaps)),
            Assumption("At least one comparison", lambda path: len(path.gaps) >= 2),
        ),
        status="refuted",
        quantities=GapPath.numbers,
        margin=lambda path: path.half_width - path.distance,
        instances=paths,
        counterexample=GapPath((Fraction(0), Fraction(1, 20), Fraction(1, 10))),
        corrected=(
            "This is a posterior of the probability that the gap grows. For the gap itself take the "
            "Normal-Inverse-Gamma posterior of the signed normalised gap, with P(answer 1 is better). For the leader "
            "take the Beta posterior of wins per criterion or per juror (models.signed_gap, models.wins). A gap on "
            "[0, 1] has no sign, so no statement about mis-ranking follows from it."
        ),
        proof=(
            "A success is 'the gap grew', and how far it grew is dropped. With independent continuous gaps, r/2 of r "
            "comparisons are successes on average, with variance (r + 2)/12, at any level. Gaps about .02, .5 or .95 "
            "all give a mean near 1/2. A gap that rises by small steps to .1 has w = r and mean (r + 1)/(r + 2), "
            ".98077 at r = 50. The interval holds because a Beta(a, b) variable is sub-Gaussian with proxy "
            "1/(4 (a + b + 1)) (Marchal and Arbel 2017)."
        ),
    ),
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
        quantities=Advocates.numbers,
        margin=lambda a: a.gap_rise,
        instances=pairs,
        counterexample=Advocates(uniform(0.5, 1), uniform(), 2),
        corrected=_INSTEAD,
        correction=("theorem-a", "theorem-b", "theorem-c"),
        proof=(
            "The proof adds dominance, F1 <= F2, and shows that F1^k <= F2^k, so that E M1 > E M2. Its next "
            "step, E M1 - E G1 >= E M2 - E G2, is given without proof, and is false. Dominance is about the place of "
            "scores, and the gain of a maximum depends on their spread. The conclusion is about E[M1 - M2], and the "
            "theorem is about E|M1 - M2|."
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
        quantities=Advocates.numbers,
        margin=lambda a: a.gap_rise,
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
        title="Dominance widens the gap of the means",
        source=Source(D3, "proof of Theorem 3, C.3"),
        statement=(
            "If the scores of the better answer stochastically dominate those of the other, the best of k have means "
            "further apart than single scores: E M1 - E M2 > E G1 - E G2."
        ),
        latex=r"F_1 \le F_2 \implies E M_1 - E M_2 > E G_1 - E G_2",
        assumptions=(INDEPENDENT, SEVERAL, DOMINANCE),
        status="refuted",
        quantities=Advocates.numbers,
        margin=lambda a: a.mean_gap_rise,
        instances=dominating_pairs,
        counterexample=Advocates(_SURE, _COIN, 2),
        corrected=(
            "With >= it holds, for every k, when the first score is larger in the dilation order; dominance is "
            "neither needed nor enough. For one k it holds exactly when the integral of (Q1 - Q2)(k u^(k-1) - 1) over "
            "(0, 1) is not negative; for k = 2, when the Gini mean difference of G1 is at least that of G2."
        ),
        correction=("theorem-a", "theorem-a-identity"),
        proof=(
            "E M - E G is the integral of F - F^k. This measures spread and is 0 for a constant score. A constant 1 "
            "dominates a fair coin on 0 and 1. The coin gains 1/4 from a second advocate and the constant nothing, "
            "so the distance of the means falls from 1/2 to 1/4."
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
        quantities=Advocates.numbers,
        margin=lambda a: a.ranking_rise,
        slack=1e-8,
        instances=dominating_pairs,
        counterexample=Advocates(uniform(0.5, 1), uniform(), 2),
        corrected=(
            "The upper tails decide. If F1 is a power of F2 the ranking is the same for every k (lehmann-invariance). "
            "Normal scores one standard deviation apart are ranked better with more advocates, .760 to .888 for k = 1 "
            "to 10. U(.5, 1) against U(0, 1) is ranked worse, .75 to 2/3. Measure P(M1 > M2) before paying for k."
        ),
        correction=("lehmann-invariance",),
        proof=(
            "P(M1 > M2) is the integral of F2^k over the law of M1. As k grows both maxima move into the upper tails, "
            "where the better answer need not lead by much. Near 1 the density of U(.5, 1) is twice that of U(0, 1), "
            "and P(M1 > M2) falls from .75 over .7083 and .69375 to 2/3."
        ),
    ),
)
