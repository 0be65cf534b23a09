"""Does D3's gap posterior concentrate where the source says? Theorem 1, its bound, and bounds that hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from d3stats.models.gaps.beta import BetaGap
from d3stats.theory._gap_reading import READING, GapPath
from d3stats.theory._gap_variance import VARIANCE_CLAIMS, Trial
from d3stats.theory.claim import Assumption, Claim, Source
from d3stats.theory.instances.gaps import (
    POSTERIOR,
    GapDebate,
    bound_quantities,
    debates,
    debates_above,
    proper_prior,
)
from d3stats.theory.instances.small import positive, rounds, shares
from d3stats.theory.sources import D3, HERE

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = ["CLAIMS", "Course", "GapDebate", "GapPath", "Trial"]


@dataclass(frozen=True)
class Course:
    """Debates whose gap grows in a share of the rounds; the share is drawn once, each with equal probability.

    One share is a fixed sequence w_r = floor(share * r); several are a random one.

    Examples
    --------
    >>> course = Course(Fraction(1), Fraction(1), (Fraction(0), Fraction(1)), 10, Fraction(1, 4))
    >>> print(course)
    Beta(1, 1) prior, 10 rounds, w = 0 or 10, eps = 1/4
    >>> course.level, round(course.near, 4), course.near_in_the_limit
    (Fraction(1, 2), 0.0422, 0.0)
    """

    a0: Fraction
    b0: Fraction
    growing: tuple[Fraction, ...]
    r: int
    eps: Fraction

    def __str__(self) -> str:
        counts = " or ".join(str(w) for w in self.successes)
        return f"Beta({self.a0}, {self.b0}) prior, {self.r} rounds, w = {counts}, eps = {self.eps}"

    @property
    def successes(self) -> tuple[int, ...]:
        """The counts w that can be."""
        return tuple(floor(share * self.r) for share in self.growing)

    @property
    def level(self) -> Fraction:
        """Delta, what the expected gap converges to."""
        return sum(self.growing, Fraction(0)) / len(self.growing)

    @property
    def bias(self) -> Fraction:
        """|E delta_r - Delta|, over the draw of the share too."""
        total = self.a0 + self.b0 + self.r
        return abs(self.a0 + Fraction(sum(self.successes), len(self.successes)) - self.level * total) / total

    @property
    def near(self) -> float:
        """P(|delta_r - Delta| < eps)."""
        low, high = max(self.level - self.eps, Fraction(0)), min(self.level + self.eps, Fraction(1))
        alphas = [float(self.a0 + w) for w in self.successes]
        betas = [float(self.b0 + self.r - w) for w in self.successes]
        return float(BetaGap(alphas, betas).prob_between(float(low), float(high)).mean())  # type: ignore[arg-type]

    @property
    def promised(self) -> Fraction:
        """What the proof gives: Chebyshev's bound with the largest variance that a Beta of this N can have."""
        cap = 1 / (4 * (self.a0 + self.b0 + self.r + 1))
        return 1 - cap / (self.eps - self.bias) ** 2

    @property
    def near_in_the_limit(self) -> float:
        """The limit of `near`: a share whose distance from Delta is eps exactly is within it half of the time."""
        within = sum(self._within_in_the_limit(share) for share in self.growing)
        return float(Fraction(within, len(self.growing)))

    def _within_in_the_limit(self, share: Fraction) -> Fraction:
        distance = abs(share - self.level)
        if distance != self.eps:
            return Fraction(distance < self.eps)
        # The posterior is normal about the share in the end, and an end of the interval halves it; at 0 and 1 it
        # is not, and lies on one side of the end: that of Delta.
        return Fraction(1, 2) if 0 < share < 1 else Fraction(1)


def courses(most: int) -> SearchStrategy[Course]:
    """Return courses with up to `most` different shares."""
    from hypothesis import strategies as st

    share = st.just(Fraction(0)) | st.just(Fraction(1)) | shares(10)

    @st.composite
    def one(draw: DrawFn) -> Course:
        growing = draw(st.lists(share, min_size=1, max_size=most))
        if not sum(growing):
            growing = [*growing[1:], Fraction(1)]
        r = draw(rounds())
        course = Course(draw(positive()), draw(positive()), tuple(growing), r, Fraction(0))
        # Near enough for the proof's bound to be stated; how near is drawn.
        return replace(course, eps=course.bias + draw(shares()))

    return one()


def _room_below_sub_gaussian(debate: GapDebate) -> float:
    """Return the share of the bound that is not used; both are tiny far out, so no difference would show it."""
    return 1.0 if debate.away == 0 else 1 - debate.away / debate.sub_gaussian


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
            Assumption("The prior is proper: a0, b0 > 0", proper_prior),
            Assumption("The expected gap converges to a Delta > 0", lambda course: course.level > 0),
            Assumption("|E delta_r - Delta| < eps", lambda course: course.bias < course.eps),
        ),
        missing=(
            Assumption(
                "w_r is a fixed sequence, not a random one", lambda course: len(set(course.growing)) == 1
            ),
        ),
        status="holds under",
        quantities=lambda course: {
            "Delta": float(course.level),
            "bias": float(course.bias),
            "P(|delta_r - Delta| < eps)": course.near,
            "promised": float(course.promised),
            "its limit, r -> infinity": course.near_in_the_limit,
        },
        margin=lambda course: course.near - float(course.promised),
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
            "E delta_r| >= eps - bias, and Chebyshev bounds that by Var / (eps - bias)^2 with "
            "Var <= 1 / (4 (a0 + b0 + r + 1)) -> 0. If w_r is random, the variance of delta_r is the mean of the "
            "posterior variances plus the variance of the posterior means, and the second part need not "
            "vanish: with w_r = r or 0, each with probability 1/2, the mean is near 1/2 and delta_r near 0 or 1."
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
        quantities=bound_quantities,
        margin=lambda debate: debate.beyond - debate.claimed,
        instances=debates,
        counterexample=GapDebate(Fraction(1), Fraction(1), 0, 1, Fraction(2, 3)),
        corrected=(
            "It holds where 1 - E delta_r < eps/2, so for a limit Delta < 1 it fails for every eps < 1 - Delta "
            "in the end. Cantelli's inequality gives a bound wherever E delta_r > 1 - eps; the exact "
            "probability is a regularised incomplete beta function and needs no bound."
        ),
        correction=("gap-bound-near-one", "cantelli-bound", "sub-gaussian-bound"),
        proof=(
            "Chebyshev speaks of the distance from the mean, the claim of the distance from 1. The two go "
            "together only if the mean is within eps/2 of 1. With one round and no growth delta ~ Beta(1, 2) "
            "has variance 1/18; at eps = 2/3 the claimed bound is 1/2 and the truth 4/9. With 500 of 1000 rounds "
            "and eps = .1 the claimed bound is .9003 and the truth 8.03e-225."
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
        quantities=bound_quantities,
        margin=lambda debate: debate.beyond - debate.cantelli,
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
            "P(|delta - mean| >= t)": debate.away,
            "bound": debate.sub_gaussian,
        },
        margin=_room_below_sub_gaussian,
        slack=1e-6,
        instances=debates,
        proof=(
            "The optimal variance proxy of Beta(a, b) is at most 1 / (4 (a + b + 1)), with equality iff a = b: "
            "E exp(s (delta - E)) <= exp(s^2 / (8 (N + 1))) for every s, shown from the differential equation "
            "of the confluent hypergeometric function. Chernoff's method with s = 4 (N + 1) t bounds each tail "
            "by exp(-2 (N + 1) t^2)."
        ),
    ),
    *VARIANCE_CLAIMS,
    READING,
)
