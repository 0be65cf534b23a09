"""Stop when it is known well enough how often the gap grows: D3's Beta posterior, read for what it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import number, probability
from d3stats.models.gaps.beta import BetaGap
from d3stats.models.gaps.posterior import ascents
from d3stats.stopping._scores import gap_of, gaps_of
from d3stats.stopping.rule import CONTINUE, Decision, Round, Rule
from d3stats.trajectories import Trajectories

__all__ = ["GapPosterior"]


@dataclass(frozen=True)
class GapPosterior(Rule):
    """Stop when the posterior of P(the gap grows) is concentrated: P(abs(delta - mean) < width) >= level.

    The gap of a round is abs(s1 - s2), in raw points. After r comparisons of a gap with the one before, of which
    w found it larger, delta has the posterior Beta(a + w, b + r - w).

    This is a posterior of the probability that the gap grows from round to round, not of the gap: gaps that
    jump about independently give a mean near 1/2 whatever their size, and a gap that creeps from 0 to 0.1 gives
    a mean near 1. So the rule stops because the trend is known, not because one side is ahead, and the posterior
    treats the comparisons as independent with one constant chance, which gaps are not.

    Parameters
    ----------
    level : float
        Posterior probability asked for, in (0, 1).
    width : float
        Half-width of the band around the posterior mean, in (0, 1).
    a, b : float
        Prior, above 0.

    Notes
    -----
    D3, Definition 1, with the criterion taken as posterior mass around the mean; the standard deviation alone
    is not monotone in the number of rounds either. The first round has no gap before it and is no comparison.
    Where a score is missing there is no gap, and the next known gap is compared with the last known one.
    With the defaults the rule cannot fire before round 7, and then only if the gap grew every time or never.

    Examples
    --------
    >>> rule = GapPosterior(level=0.9, width=0.25)
    >>> rising = [Round(r, (0,), 1, scores=(50.0 + r, 50.0)) for r in range(1, 9)]
    >>> rule.run(rising)
    (4, 'gap_posterior')
    """

    level: float = 0.95
    width: float = 0.25
    a: float = 1.0
    b: float = 1.0

    name: ClassVar[str] = "gap_posterior"
    inputs: ClassVar[frozenset[str]] = frozenset({"scores"})
    citation: ClassVar[str] = (
        "Harrasse, Bandi and Bandi, Debate, Deliberate, Decide (D3), Definition 1: Beta posterior"
    )
    statistic: ClassVar[str] = "posterior probability within `width` of the mean of Beta(a + w, b + r - w)"
    guarantee: ClassVar[str] = "none on the verdict: it says how often the gap grows, not who is ahead"
    reason: ClassVar[str] = "gap_posterior"

    def __post_init__(self) -> None:
        for name in ("level", "width"):
            object.__setattr__(self, name, probability(name, getattr(self, name), open_interval=True))
        for name in ("a", "b"):
            value = number(name, getattr(self, name))
            if value <= 0:
                raise ValueError(f"{name} must be > 0; got {name}={value!r}")
            object.__setattr__(self, name, value)

    def start(self) -> _State:
        """Open a debate without a gap."""
        return _State(self)

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire where the posterior is concentrated."""
        gaps = np.abs(gaps_of(self.name, trajectories))
        grown, compared, _ = ascents(gaps, None)
        result: NDArray[np.bool_] = _concentrated(self, gaps.shape[1])[compared, grown]
        return result

    def mass(self, grown: int, compared: int) -> float:
        """Return the posterior probability within `width` of the mean after `compared` comparisons."""
        return float(_posterior(self, grown, compared).prob_near_mean(self.width))


def _posterior(rule: GapPosterior, grown: ArrayLike, compared: ArrayLike) -> BetaGap:
    return BetaGap.from_successes(grown, compared, a0=rule.a, b0=rule.b)


@lru_cache(maxsize=256)
def _concentrated(rule: GapPosterior, size: int) -> NDArray[np.bool_]:
    compared, grown = np.indices((size + 1, size + 1))
    mass = _posterior(rule, np.minimum(grown, compared), compared).prob_near_mean(rule.width)
    return mass >= rule.level


@dataclass
class _State:
    rule: GapPosterior
    last: float | None = None
    grown: int = 0
    compared: int = 0

    def update(self, latest: Round, /) -> Decision:
        gap = gap_of(self.rule.name, latest)
        if gap is not None:
            if self.last is not None:
                self.compared += 1
                self.grown += abs(gap) > self.last
            self.last = abs(gap)
        mass = self.rule.mass(self.grown, self.compared)
        if mass < self.rule.level:
            return CONTINUE
        return Decision(stop=True, reason=self.rule.reason, detail={"mass": mass})
