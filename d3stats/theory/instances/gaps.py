"""Debates as D3's gap posterior sees them: a prior, how often the gap grew, a tolerance.

Mean and variance are fractions, so that their signs are exact; probabilities and bounds come from models.gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING

from d3stats.models.gaps.beta import BetaGap
from d3stats.theory.claim import Assumption
from d3stats.theory.instances.small import between, positive, rounds, shares

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = [
    "POSTERIOR",
    "GapDebate",
    "beta_mean",
    "beta_variance",
    "bound_quantities",
    "debates",
    "debates_above",
    "debates_near_one",
    "proper_prior",
]


def beta_mean(a: Fraction, b: Fraction) -> Fraction:
    """Return the mean of Beta(a, b)."""
    return a / (a + b)


def beta_variance(a: Fraction, b: Fraction) -> Fraction:
    """Return the variance of Beta(a, b), exactly."""
    total = a + b
    return a * b / (total**2 * (total + 1))


@dataclass(frozen=True)
class GapDebate:
    """After r trials with w successes, delta ~ Beta(a0 + w, b0 + r - w).

    Attributes
    ----------
    a0, b0 : Fraction
        Prior, above 0.
    w, r : int
        How often the gap grew, of how many comparisons.
    eps : Fraction
        A tolerance in (0, 1).

    Examples
    --------
    >>> debate = GapDebate(Fraction(1), Fraction(1), 5, 5, Fraction(1, 2))
    >>> print(debate)
    Beta(1, 1) prior, the gap grew in 5 of 5 rounds, eps = 1/2
    >>> round(debate.beyond, 6), round(debate.claimed, 4), round(debate.cantelli, 4)
    (0.984375, 0.7551, 0.8929)
    """

    a0: Fraction
    b0: Fraction
    w: int
    r: int
    eps: Fraction

    def __str__(self) -> str:
        grew = f"the gap grew in {self.w} of {self.r} rounds"
        return f"Beta({self.a0}, {self.b0}) prior, {grew}, eps = {self.eps}"

    @property
    def alpha(self) -> Fraction:
        return self.a0 + self.w

    @property
    def beta(self) -> Fraction:
        return self.b0 + self.r - self.w

    @property
    def mean(self) -> Fraction:
        return beta_mean(self.alpha, self.beta)

    @property
    def variance(self) -> Fraction:
        return beta_variance(self.alpha, self.beta)

    @cached_property
    def posterior(self) -> BetaGap:
        return BetaGap(float(self.alpha), float(self.beta))  # type: ignore[arg-type]  # one debate: scalars

    @property
    def beyond(self) -> float:
        """P(delta >= 1 - eps)."""
        return float(self.posterior.prob_at_least(float(1 - self.eps)))

    @property
    def claimed(self) -> float:
        """The sources' bound, 1 - 4 Var / eps^2."""
        return float(self.posterior.chebyshev_bound(float(self.eps)))

    @property
    def cantelli(self) -> float:
        """Cantelli's bound; 0 where the mean is not above 1 - eps."""
        return float(self.posterior.cantelli_bound(float(self.eps)))

    @property
    def away(self) -> float:
        """P(|delta - mean| >= eps), the sum of its two tails, each exact far out."""
        below, above = self.mean - self.eps, self.mean + self.eps
        low = float(self.posterior.prob_between(0.0, float(below))) if below > 0 else 0.0
        return low + (float(self.posterior.prob_at_least(float(above))) if above < 1 else 0.0)

    @property
    def sub_gaussian(self) -> float:
        """The sub-Gaussian bound on `away`, at most 1."""
        return float(self.posterior.sub_gaussian_bound(float(self.eps)))


def proper_prior(debate: GapDebate) -> bool:
    """Whether a0 and b0 are above 0."""
    return debate.a0 > 0 and debate.b0 > 0


def w_is_possible(debate: GapDebate) -> bool:
    """Whether 0 <= w <= r and 0 < eps < 1."""
    return 0 <= debate.w <= debate.r and 0 < debate.eps < 1


POSTERIOR = (
    Assumption("The prior is proper: a0, b0 > 0", proper_prior),
    Assumption("0 <= w <= r and 0 < eps < 1", w_is_possible),
)


def bound_quantities(debate: GapDebate) -> dict[str, float]:
    """Return the posterior of a debate, the exact probability beyond 1 - eps and what is said of it."""
    return {
        "mean": float(debate.mean),
        "variance": float(debate.variance),
        "P(delta >= 1 - eps)": debate.beyond,
        "claimed bound": debate.claimed,
        "Cantelli bound": debate.cantelli,
    }


def debates() -> SearchStrategy[GapDebate]:
    """Return debates of 1 to 1000 rounds with any prior and tolerance, short ones first.

    A bound on what rounds have shown is not tried on a debate that has had none.
    """
    from hypothesis import strategies as st

    @st.composite
    def one(draw: DrawFn) -> GapDebate:
        r = draw(rounds())
        return GapDebate(
            a0=draw(positive()),
            b0=draw(positive()),
            w=draw(st.integers(0, r)),
            r=r,
            eps=draw(shares()),
        )

    return one()


def debates_above() -> SearchStrategy[GapDebate]:
    """Return debates whose posterior mean lies above 1 - eps."""
    from hypothesis import strategies as st

    def widened(debate: GapDebate, share: Fraction) -> GapDebate:
        return replace(debate, eps=between(1 - debate.mean, Fraction(1), share))

    return st.builds(widened, debates(), shares())


def debates_near_one() -> SearchStrategy[GapDebate]:
    """Return debates whose posterior mean lies within eps / 2 of 1: those that the sources' proof covers."""
    from hypothesis import strategies as st

    @st.composite
    def one(draw: DrawFn) -> GapDebate:
        a0, b0 = draw(positive()), draw(positive())
        lost = draw(st.integers(0, 30))
        # More successes than beta in all: the mean is above 1/2, so that eps may exceed twice its distance to 1.
        w = lost + ceil(b0) + draw(rounds())
        debate = GapDebate(a0, b0, w, w + lost, Fraction(1, 2))
        return replace(debate, eps=between(2 * (1 - debate.mean), Fraction(1), draw(shares())))

    return one()
