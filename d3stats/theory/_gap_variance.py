"""Does the variance of the gap posterior fall with every round? Its upper bound does."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from d3stats.theory.claim import Assumption, Claim, Source
from d3stats.theory.instances.gaps import (
    POSTERIOR,
    GapDebate,
    beta_variance,
    debates,
)
from d3stats.theory.instances.small import counts, sign
from d3stats.theory.sources import D3, HERE

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["VARIANCE_CLAIMS", "Trial"]


@dataclass(frozen=True)
class Trial:
    """A posterior Beta(a, b) and whether the gap grows in the next round.

    Examples
    --------
    >>> print(Trial(Fraction(3), Fraction(1), grew=False))
    Beta(3, 1), then the gap does not grow: Beta(3, 2)
    """

    a: Fraction
    b: Fraction
    grew: bool

    def __str__(self) -> str:
        after = f"Beta({self.a + self.grew}, {self.b + (not self.grew)})"
        return f"Beta({self.a}, {self.b}), then the gap {'grows' if self.grew else 'does not grow'}: {after}"

    @property
    def before(self) -> Fraction:
        """Variance before the trial."""
        return beta_variance(self.a, self.b)

    @property
    def after(self) -> Fraction:
        """Variance after it."""
        return beta_variance(self.a + self.grew, self.b + (not self.grew))

    @property
    def condition(self) -> Fraction:
        """Above 0 iff the trial lowers the variance: x (N + 1)(N + 2) - (x + 1) N^2 for what it adds to, x."""
        total, adds_to = self.a + self.b, self.a if self.grew else self.b
        return adds_to * (total + 1) * (total + 2) - (adds_to + 1) * total**2


def trials() -> SearchStrategy[Trial]:
    """Return a posterior and a next trial."""
    from hypothesis import strategies as st

    return st.builds(Trial, counts(), counts(), st.booleans())


def trial_quantities(trial: Trial) -> dict[str, float]:
    """Return both variances and the condition."""
    return {
        "variance before": float(trial.before),
        "variance after": float(trial.after),
        "fall": float(trial.before - trial.after),
        "condition": float(trial.condition),
    }


def condition_agrees(trial: Trial) -> float:
    """Return the size of the change of variance, negative where the condition foretells the other sign."""
    fall = trial.before - trial.after
    if sign(fall) == sign(trial.condition):
        return float(abs(fall))
    return -float(abs(fall) or abs(trial.condition))


def _cap(debate: GapDebate) -> Fraction:
    return 1 / (4 * (debate.a0 + debate.b0 + debate.r + 1))


_TRIAL = (Assumption("The posterior is proper: a, b > 0", lambda trial: trial.a > 0 and trial.b > 0),)
_PLACE = "definition 1 ('variance decreasing at rate O(1/r)'), appendix C.1"

VARIANCE_CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="d3-variance-cap",
        title="The variance of the gap posterior is O(1/r)",
        source=Source(D3, _PLACE),
        statement="After r rounds the posterior variance is O(1/r): at most 1 / (4 (a0 + b0 + r + 1)).",
        latex=r"\mathrm{Var}(\delta_r) \le \frac{1}{4\,(a_0+b_0+r+1)}",
        assumptions=POSTERIOR,
        status="holds",
        quantities=lambda debate: {
            "mean": float(debate.mean),
            "variance": float(debate.variance),
            "cap": float(_cap(debate)),
        },
        margin=lambda debate: float(_cap(debate) - debate.variance),
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
        source=Source(D3, _PLACE),
        statement=(
            "The posterior variance of the gap decreases with the rounds, which signifies increasing "
            "confidence: Var(delta_(r+1)) <= Var(delta_r)."
        ),
        latex=r"\mathrm{Var}(\delta_{r+1}) \le \mathrm{Var}(\delta_r)",
        assumptions=_TRIAL,
        status="refuted",
        quantities=trial_quantities,
        margin=lambda trial: float(trial.before - trial.after),
        slack=0.0,
        instances=trials,
        counterexample=Trial(Fraction(3), Fraction(1), grew=False),
        corrected=(
            "Its upper bound 1 / (4 (a0 + b0 + r + 1)) decreases. The variance itself rises when the round "
            "surprises: a failure lowers it iff (b + 1) N^2 < b (N + 1)(N + 2) with N = a + b. On average over "
            "the posterior's own forecast it does fall."
        ),
        correction=("d3-variance-cap", "variance-condition"),
        proof=(
            "E (1 - E) / (N + 1) falls through its denominator, but an unexpected outcome moves E towards 1/2 "
            "and raises E (1 - E) by more. Beta(3, 1) has 3/80 = .0375; after one round without growth "
            "Beta(3, 2) has .04. Beta(10, 1) goes from .0068871 to .0106838."
        ),
    ),
    Claim(
        name="variance-condition",
        title="When one more round lowers the variance",
        source=Source(HERE, "correction of D3, definition 1"),
        statement=(
            "A round without growth turns Beta(a, b) into Beta(a, b + 1) and lowers the variance iff "
            "(b + 1) N^2 < b (N + 1)(N + 2), N = a + b. A round with growth lowers it iff "
            "(a + 1) N^2 < a (N + 1)(N + 2)."
        ),
        latex=r"\mathrm{Var}\,\mathrm{B}(a,b{+}1) < \mathrm{Var}\,\mathrm{B}(a,b) \iff (b+1)N^2 < b(N+1)(N+2)",
        assumptions=_TRIAL,
        status="holds",
        quantities=trial_quantities,
        margin=condition_agrees,
        slack=0.0,
        instances=trials,
        proof=(
            "Var B(a, b) - Var B(a, b + 1) = a b / (N^2 (N+1)) - a (b+1) / ((N+1)^2 (N+2)) "
            "= a [b (N+1)(N+2) - (b+1) N^2] / (N^2 (N+1)^2 (N+2)); the denominator is positive. The other case "
            "is the same with a and b exchanged."
        ),
    ),
)
