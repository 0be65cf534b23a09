"""Does the gap of an iterated debate converge to 1? The gap convergence theorem of the advocates paper."""

from __future__ import annotations

from fractions import Fraction

from d3stats.theory.claim import Assumption, Claim, Source
from d3stats.theory.instances.gaps import (
    POSTERIOR,
    GapDebate,
    bound_quantities,
    debates,
    debates_near_one,
)
from d3stats.theory.sources import ADVOCATES, HERE

__all__ = ["CLAIMS"]


def beyond_the_claimed_bound(debate: GapDebate) -> float:
    """Return P(delta >= 1 - eps) less the sources' bound on it."""
    return debate.beyond - debate.claimed


CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="advocates-theorem-3",
        title="The gap of an iterated debate exceeds 1 - eps",
        source=Source(ADVOCATES, "theorem 3 (gap convergence), appendix A.3 and B"),
        statement=(
            "After i iterations, in w of which the gap grew, the gap has the law Beta(alpha + w, beta + i - w). "
            "For every tolerance eps > 0, P(gap >= 1 - eps) >= 1 - 4 Var / eps^2; as the variance vanishes, the "
            "probability that the gap is nearly 1 grows to 1 with the number of iterations."
        ),
        latex=(
            r"P(\delta_i \ge 1-\varepsilon) \ge 1 - a_{i,\varepsilon},\qquad "
            r"a_{i,\varepsilon} = \frac{4\,\mathrm{Var}(\delta_i)}{\varepsilon^2}"
        ),
        assumptions=POSTERIOR,
        status="refuted",
        quantities=bound_quantities,
        margin=beyond_the_claimed_bound,
        instances=debates,
        counterexample=GapDebate(Fraction(1), Fraction(1), 5, 10, Fraction(2, 5)),
        corrected=(
            "The bound holds where the mean lies within eps/2 of 1. For every eps it does so in the end only if "
            "the gap grows in nearly every round, w/i -> 1. A gap that grows in a share s < 1 of the rounds "
            "leaves delta near s, and P(delta >= 1 - eps) goes to 0 for eps < 1 - s."
        ),
        correction=("gap-bound-near-one", "cantelli-bound"),
        proof=(
            "Chebyshev gives P(|delta - E| >= eps/2) <= 4 Var / eps^2. To pass from there to delta >= 1 - eps "
            "the proof needs |E - 1| < eps/2 and obtains it by saying that w approaches i. Nothing assumed "
            "implies that: it is a second premise, and the statement leaves it out. With w = i/2, alpha = beta or "
            "in the limit, the mean is 1/2; then, for eps < 1/2, the claimed bound goes to 1 and the probability to 0."
        ),
    ),
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
        quantities=bound_quantities,
        margin=beyond_the_claimed_bound,
        instances=debates_near_one,
        proof=(
            "If delta < 1 - eps and E > 1 - eps/2, then |delta - E| > eps/2. Chebyshev's inequality bounds the "
            "probability of that by Var / (eps/2)^2. The Cantelli bound is never weaker there: with "
            "t = E - 1 + eps > eps/2 it is at least 1 - Var / (Var + eps^2/4)."
        ),
    ),
)
