"""Is D3's posterior one of the gap? It is one of how often the gap grows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log, sqrt
from typing import TYPE_CHECKING

from d3stats.models.gaps.beta import gap_posterior
from d3stats.theory.claim import Assumption, Claim, Source
from d3stats.theory.sources import D3

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["READING", "GapPath"]

_LEVEL = 0.95


@dataclass(frozen=True)
class GapPath:
    """The normalised gaps of a debate, round by round, and D3's posterior under a flat prior.

    Examples
    --------
    >>> path = GapPath((Fraction(0), Fraction(1, 20), Fraction(1, 10)))
    >>> print(path)
    gaps 0, 1/20, 1/10
    >>> path.mean, path.range
    (0.75, (0.0, 0.1))
    """

    gaps: tuple[Fraction, ...]

    def __str__(self) -> str:
        return "gaps " + ", ".join(str(gap) for gap in self.gaps)

    @cached_property
    def mean(self) -> float:
        """Posterior mean after the last round; the first comparison is that of the second round."""
        return float(gap_posterior([[float(gap) for gap in self.gaps]]).mean[0, -1])

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest gap of the debate."""
        return float(min(self.gaps)), float(max(self.gaps))

    @property
    def radius(self) -> float:
        """Half the width of an interval around the mean that holds at least 95 % of the posterior."""
        successes_and_failures = 2 + len(self.gaps) - 1
        return sqrt(log(2 / (1 - _LEVEL)) / (2 * (successes_and_failures + 1)))

    @property
    def distance(self) -> float:
        """From the posterior mean to the nearest value between the smallest and the largest gap."""
        low, high = self.range
        return max(low - self.mean, self.mean - high, 0.0)


def paths() -> SearchStrategy[GapPath]:
    """Return gaps on a grid of twentieths, two to forty rounds."""
    from hypothesis import strategies as st

    steps = st.lists(st.integers(0, 20), min_size=2, max_size=40)
    return steps.map(lambda steps: GapPath(tuple(Fraction(step, 20) for step in steps)))


def path_quantities(path: GapPath) -> dict[str, float]:
    """Return what the posterior says and what the gaps were."""
    low, high = path.range
    return {
        "posterior mean": path.mean,
        "smallest gap": low,
        "largest gap": high,
        "last gap": float(path.gaps[-1]),
        "distance of the mean from the gaps": path.distance,
        "half width of the 95 % interval": path.radius,
    }


READING = Claim(
    name="d3-gap-posterior-reading",
    title="The gap posterior is a posterior of the gap",
    source=Source(D3, "abstract ('concentrates around the true difference') and definition 1"),
    statement=(
        "delta_r, the gap on [0, 1], has after r rounds the posterior Beta(a0 + w, b0 + r - w). If that is a "
        "posterior of the gap, then an interval that holds 95 % of it should reach at least one value between "
        "the smallest and the largest gap that the debate has shown. (a0 = b0 = 1; the interval is the mean "
        "+- sqrt(log(40) / (2 (r + 3))), wider than the exact one.)"
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
    quantities=path_quantities,
    margin=lambda path: path.radius - path.distance,
    instances=paths,
    counterexample=GapPath((Fraction(0), Fraction(1, 20), Fraction(1, 10))),
    corrected=(
        "It is a posterior of the probability that the gap grows. For the gap itself take the Normal-Inverse-Gamma "
        "posterior of the signed normalised gap, with P(answer 1 is better); for who is ahead the Beta posterior "
        "of wins per criterion or per juror (models.signed_gap, models.wins). A gap on [0, 1] has no sign, so no "
        "statement about mis-ranking follows from it."
    ),
    proof=(
        "A success is 'the gap grew', and how far it grew is dropped. Of r comparisons of independent continuous "
        "gaps r/2 are successes on average, with variance (r + 2)/12, at any level: gaps about .02, .5 or .95 all "
        "give a mean near 1/2. A gap that rises by small steps to .1 has w = r and mean (r + 1)/(r + 2), "
        ".98077 at r = 50. The interval: a Beta(a, b) variable is sub-Gaussian with proxy 1/(4 (a + b + 1)) "
        "(Marchal and Arbel 2017)."
    ),
)
