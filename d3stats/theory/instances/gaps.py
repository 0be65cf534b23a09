"""Debates as D3's gap posterior sees them: a prior, how often the gap grew, and what the gaps were.

Means and variances are fractions, so that their signs are exact; probabilities and bounds come from models.gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, log, sqrt
from typing import TYPE_CHECKING

from d3stats.models.gaps.beta import BetaGap, gap_posterior
from d3stats.theory.claim import Assumption
from d3stats.theory.instances.draws import Dice, between, drawn, strategy

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "POSTERIOR",
    "PROPER_PRIOR",
    "PROPER_TRIAL",
    "Course",
    "GapDebate",
    "GapPath",
    "Trial",
    "courses",
    "debates",
    "debates_above",
    "debates_near_one",
    "paths",
    "trials",
]

_LEVEL = 0.95


def _beta_variance(a: Fraction, b: Fraction) -> Fraction:
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
    >>> round(debate.prob_near_one, 6), round(debate.claimed_bound, 4), round(debate.cantelli_bound, 4)
    (0.984375, 0.7551, 0.8929)
    >>> list(debate.numbers())[:2]
    ['mean', 'variance']
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
        return self.alpha / (self.alpha + self.beta)

    @property
    def variance(self) -> Fraction:
        return _beta_variance(self.alpha, self.beta)

    @property
    def variance_cap(self) -> Fraction:
        """The largest variance that a Beta law with these parameters' sum can have."""
        return 1 / (4 * (self.a0 + self.b0 + self.r + 1))

    @cached_property
    def posterior(self) -> BetaGap:
        return BetaGap(float(self.alpha), float(self.beta))  # type: ignore[arg-type]  # one debate: scalars

    @property
    def prob_near_one(self) -> float:
        """P(delta >= 1 - eps)."""
        return float(self.posterior.prob_at_least(float(1 - self.eps)))

    @property
    def claimed_bound(self) -> float:
        """The sources' bound, 1 - 4 Var / eps^2."""
        return float(self.posterior.chebyshev_bound(float(self.eps)))

    @property
    def cantelli_bound(self) -> float:
        """Cantelli's bound; 0 where the mean is not above 1 - eps."""
        return float(self.posterior.cantelli_bound(float(self.eps)))

    @property
    def prob_far_from_mean(self) -> float:
        """``P(|delta - mean| >= eps)``, the sum of its two tails, each exact far out."""
        below, above = self.mean - self.eps, self.mean + self.eps
        low = float(self.posterior.prob_between(0.0, float(below))) if below > 0 else 0.0
        return low + (float(self.posterior.prob_at_least(float(above))) if above < 1 else 0.0)

    @property
    def sub_gaussian_bound(self) -> float:
        """The sub-Gaussian bound on `prob_far_from_mean`, at most 1."""
        return float(self.posterior.sub_gaussian_bound(float(self.eps)))

    def numbers(self) -> dict[str, float]:
        """Return the posterior, the exact probability above 1 - eps, and the bounds on it."""
        return {
            "mean": float(self.mean),
            "variance": float(self.variance),
            "P(delta >= 1 - eps)": self.prob_near_one,
            "claimed bound": self.claimed_bound,
            "Cantelli bound": self.cantelli_bound,
        }


@dataclass(frozen=True)
class Course:
    """Debates whose gap grows in a share of the rounds; the share is drawn once, each with equal probability.

    One share is a fixed sequence w_r = floor(share * r); several are a random one.

    Attributes
    ----------
    a0, b0 : Fraction
        Prior, above 0.
    growing : tuple of Fraction
        Shares of rounds in which the gap grows, each with equal probability.
    r : int
        Rounds.
    eps : Fraction
        A tolerance in (0, 1).

    Examples
    --------
    >>> course = Course(Fraction(1), Fraction(1), (Fraction(0), Fraction(1)), 10, Fraction(1, 4))
    >>> print(course)
    Beta(1, 1) prior, 10 rounds, w = 0 or 10, eps = 1/4
    >>> course.limit, round(course.prob_near_limit, 4), course.final_prob_near_limit
    (Fraction(1, 2), 0.0422, 0.0)
    >>> list(course.numbers())[:2]
    ['Delta', 'bias']
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
    def limit(self) -> Fraction:
        """Delta, what the expected gap converges to."""
        return sum(self.growing, Fraction(0)) / len(self.growing)

    @property
    def bias(self) -> Fraction:
        """``|E delta_r - Delta|``, over the draw of the share too."""
        total = self.a0 + self.b0 + self.r
        return abs(self.a0 + Fraction(sum(self.successes), len(self.successes)) - self.limit * total) / total

    @property
    def prob_near_limit(self) -> float:
        """``P(|delta_r - Delta| < eps)``."""
        low, high = max(self.limit - self.eps, Fraction(0)), min(self.limit + self.eps, Fraction(1))
        alphas = [float(self.a0 + w) for w in self.successes]
        betas = [float(self.b0 + self.r - w) for w in self.successes]
        return float(BetaGap(alphas, betas).prob_between(float(low), float(high)).mean())  # type: ignore[arg-type]  # lists

    @property
    def guaranteed(self) -> Fraction:
        """The bound of the proof: Chebyshev's, with the largest variance that a Beta of this N can have."""
        cap = 1 / (4 * (self.a0 + self.b0 + self.r + 1))
        return 1 - cap / (self.eps - self.bias) ** 2

    @property
    def final_prob_near_limit(self) -> float:
        """The limit of `prob_near_limit` for r -> infinity; a share exactly eps from Delta is near half of the time."""
        near = sum(self._is_near_in_the_end(share) for share in self.growing)
        return float(Fraction(near, len(self.growing)))

    def _is_near_in_the_end(self, share: Fraction) -> Fraction:
        distance = abs(share - self.limit)
        if distance != self.eps:
            return Fraction(distance < self.eps)
        # The posterior is normal about the share in the end, and an end of the interval halves it; at 0 and 1 it
        # is not, and lies on one side of the end: that of Delta.
        return Fraction(1, 2) if 0 < share < 1 else Fraction(1)

    def numbers(self) -> dict[str, float]:
        """Return the limit, how far the mean is from it, and the probability to be near it now and in the end."""
        return {
            "Delta": float(self.limit),
            "bias": float(self.bias),
            "P(|delta_r - Delta| < eps)": self.prob_near_limit,
            "promised": float(self.guaranteed),
            "its limit, r -> infinity": self.final_prob_near_limit,
        }


@dataclass(frozen=True)
class Trial:
    """A posterior Beta(a, b) and whether the gap grows in the next round.

    Attributes
    ----------
    a, b : Fraction
        Parameters of the posterior, above 0.
    grew : bool
        Whether the gap grows.

    Examples
    --------
    >>> print(Trial(Fraction(3), Fraction(1), grew=False))
    Beta(3, 1), then the gap does not grow: Beta(3, 2)
    >>> trial = Trial(Fraction(3), Fraction(1), grew=False)
    >>> trial.after > trial.before, list(trial.numbers())[:2]
    (True, ['variance before', 'variance after'])
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
        return _beta_variance(self.a, self.b)

    @property
    def after(self) -> Fraction:
        """Variance after it."""
        return _beta_variance(self.a + self.grew, self.b + (not self.grew))

    @property
    def condition(self) -> Fraction:
        """Above 0 iff the trial lowers the variance: x (N + 1)(N + 2) - (x + 1) N^2 for what it adds to, x."""
        total, adds_to = self.a + self.b, self.a if self.grew else self.b
        return adds_to * (total + 1) * (total + 2) - (adds_to + 1) * total**2

    def numbers(self) -> dict[str, float]:
        """Return both variances and the condition."""
        return {
            "variance before": float(self.before),
            "variance after": float(self.after),
            "fall": float(self.before - self.after),
            "condition": float(self.condition),
        }


@dataclass(frozen=True)
class GapPath:
    """The normalised gaps of a debate, round by round, and D3's posterior under a flat prior.

    Attributes
    ----------
    gaps : tuple of Fraction
        Gap after each round, in [0, 1].

    Examples
    --------
    >>> path = GapPath((Fraction(0), Fraction(1, 20), Fraction(1, 10)))
    >>> print(path)
    gaps 0, 1/20, 1/10
    >>> path.mean, path.range
    (0.75, (0.0, 0.1))
    >>> list(path.numbers())[:2]
    ['posterior mean', 'smallest gap']
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
    def half_width(self) -> float:
        """Half the width of an interval around the mean that holds at least 95 % of the posterior."""
        successes_and_failures = 2 + len(self.gaps) - 1
        return sqrt(log(2 / (1 - _LEVEL)) / (2 * (successes_and_failures + 1)))

    @property
    def distance(self) -> float:
        """From the posterior mean to the nearest value between the smallest and the largest gap."""
        low, high = self.range
        return max(low - self.mean, self.mean - high, 0.0)

    def numbers(self) -> dict[str, float]:
        """Return what the posterior says and what the gaps were."""
        low, high = self.range
        return {
            "posterior mean": self.mean,
            "smallest gap": low,
            "largest gap": high,
            "last gap": float(self.gaps[-1]),
            "distance of the mean from the gaps": self.distance,
            "half width of the 95 % interval": self.half_width,
        }


PROPER_PRIOR = Assumption("The prior is proper: a0, b0 > 0", lambda debate: debate.a0 > 0 and debate.b0 > 0)
POSTERIOR = (
    PROPER_PRIOR,
    Assumption(
        "0 <= w <= r and 0 < eps < 1", lambda debate: 0 <= debate.w <= debate.r and 0 < debate.eps < 1
    ),
)
"""The assumption of every bound on a posterior."""
PROPER_TRIAL = Assumption("The posterior is proper: a, b > 0", lambda trial: trial.a > 0 and trial.b > 0)


def debates() -> SearchStrategy[GapDebate]:
    """Return debates of 1 to 1000 rounds with any prior and tolerance, short ones first.

    A bound on what rounds have shown is not tried on a debate that has had none.
    """
    return drawn(_debate)


def _debate(dice: Dice) -> GapDebate:
    r, a0, b0, eps = dice.rounds(), dice.positive(), dice.positive(), dice.share()
    # A long debate takes one draw more for w: drawn last, so that nothing moves when a debate is shortened.
    return GapDebate(a0, b0, dice.whole(0, r), r, eps)


@strategy
def debates_above(dice: Dice) -> GapDebate:
    """Return debates whose posterior mean lies above 1 - eps."""
    debate = _debate(dice)
    return replace(debate, eps=between(1 - debate.mean, Fraction(1), dice.share()))


@strategy
def debates_near_one(dice: Dice) -> GapDebate:
    """Return debates whose posterior mean lies within eps / 2 of 1: those that the sources' proof covers."""
    a0, b0, lost = dice.positive(), dice.positive(), dice.whole(0, 30)
    # More successes than beta in all: the mean is above 1/2, so that eps may exceed twice its distance to 1.
    w = lost + ceil(b0) + dice.rounds()
    debate = GapDebate(a0, b0, w, w + lost, Fraction(1, 2))
    return replace(debate, eps=between(2 * (1 - debate.mean), Fraction(1), dice.share()))


@strategy
def courses(dice: Dice, most: int) -> Course:
    """Return courses with up to `most` different shares."""
    ends = (Fraction(0), Fraction(1))
    growing = [
        dice.tenth_or_simpler() if how == 2 else ends[how]
        for how in dice.some_wholes(0, 2, fewest=1, most=most)
    ]
    if not sum(growing):
        growing = [*growing[1:], Fraction(1)]
    found = Course(dice.positive(), dice.positive(), tuple(growing), dice.rounds(), Fraction(0))
    # Near enough for the proof's bound to be stated; how near is drawn.
    return replace(found, eps=found.bias + dice.share())


@strategy
def trials(dice: Dice) -> Trial:
    """Return a posterior and a next trial."""
    return Trial(dice.count(), dice.count(), dice.coin())


def paths() -> SearchStrategy[GapPath]:
    """Return gaps on a grid of twentieths, two to forty rounds."""
    return drawn(
        lambda dice: GapPath(tuple(Fraction(step, 20) for step in dice.some_wholes(0, 20, fewest=2, most=40)))
    )
