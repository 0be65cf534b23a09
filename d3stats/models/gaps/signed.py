"""The Normal-Inverse-Gamma posterior of the signed gap: which answer leads, by how much, and how surely.

The signed gap of a round is (s1 - s2) / scale, between -1 and 1 when scale is the range of the rubric. Gaps of a
debate are taken as independent draws from a Normal with unknown mean mu and variance; mu > 0 means that answer 1 is
better. The prior is conjugate (Gelman et al. 2013, *Bayesian Data Analysis*, 3rd edition, section 3.3), so every
probability here is a Student t's and exact under the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats
from d3stats._check import choice, number, probability, refuse_first
from d3stats.models.gaps.posterior import KINDS, Kind, floats, posterior_table, prior, signed_gaps
from d3stats.sources import LogSource, Reading

__all__ = ["SignedGap", "StudentT", "signed_gap_posterior"]


@dataclass(frozen=True, eq=False, repr=False)
class StudentT:
    """Student t distributions of one number per debate and round.

    Attributes
    ----------
    location, scale, df : ndarray of float, one shape
        Centre, spread (not the standard deviation) and degrees of freedom.

    Examples
    --------
    >>> next_gap = signed_gap_posterior([[4.0, 6.0, 5.0]], scale=20).predictive()
    >>> next_gap.prob_positive[0].round(3).tolist()
    [0.706, 0.821, 0.869]
    >>> next_gap.prob_above(0.1)[0].round(3).tolist(), next_gap.prob_same_sign([[0.3, -0.2, 0.1]])[0].round(3).tolist()
    ([0.5, 0.648, 0.707], [0.706, 0.179, 0.869])
    >>> [end[0, -1].round(3).item() for end in next_gap.interval(0.9)]
    [-0.103, 0.478]
    """

    location: Floats
    scale: Floats
    df: Floats

    def __repr__(self) -> str:
        return f"StudentT(shape={self.location.shape})"

    @property
    def prob_positive(self) -> Floats:
        """P(the number is above 0)."""
        return self.prob_above(0.0)

    @property
    def prob_keeps_sign(self) -> Floats:
        """P(the number lies on the side of 0 where its centre lies); 1/2 where the centre is 0."""
        return np.asarray(scipy.special.stdtr(self.df, np.abs(self.location) / self.scale), dtype=np.float64)

    def prob_above(self, x: float) -> Floats:
        """Return P(the number is above `x`)."""
        at = number("x", x)
        return np.asarray(scipy.special.stdtr(self.df, (self.location - at) / self.scale), dtype=np.float64)

    def prob_same_sign(self, gaps: ArrayLike) -> Floats:
        """Return P(the number has the sign of the given gap), which is finite and not 0; a tie has no sign to keep."""
        given = floats("gaps", gaps)
        refuse_first("gaps", "must be finite and not 0", given, ~np.isfinite(given) | (given == 0))
        up = self.prob_positive
        return np.where(given > 0, up, 1.0 - up)

    def interval(self, level: float, kind: Kind = "equal-tailed") -> tuple[Floats, Floats]:
        """Return the ends of an interval with probability `level`; equal tails and HDI are one and the same here."""
        mass = probability("level", level, open_interval=True)
        choice("kind", kind, KINDS)
        half = self.scale * scipy.special.stdtrit(self.df, 0.5 + mass / 2)
        return self.location - half, self.location + half


@dataclass(frozen=True, eq=False, repr=False)
class SignedGap:
    """Normal-Inverse-Gamma posterior of the signed gap after each round.

    mu given the variance v is Normal(m, v / k), and v is Inverse-Gamma(a, b).

    Attributes
    ----------
    m, k, a, b : ndarray of float, shape (debates, rounds)
        Parameters of the posterior. m and the square root of b are in units of ``scale``.
    trials : ndarray of int, shape (debates, rounds)
        Gaps seen so far.
    scale : float
        Raw points that make one unit of gap.

    Examples
    --------
    >>> gap = signed_gap_posterior([[4.0, 6.0, 5.0]], scale=20)
    >>> gap.mean.round(3).tolist(), gap.mean_points.round(2).tolist(), gap.prob_better.round(3).tolist()
    ([[0.1, 0.167, 0.188]], [[2.0, 3.33, 3.75]], [[0.818, 0.953, 0.985]])
    >>> gap.marginal().df.tolist(), gap.predictive().prob_positive.round(3).tolist()
    ([[5.0, 6.0, 7.0]], [[0.706, 0.821, 0.869]])
    >>> [end[0, -1].round(3).item() for end in gap.interval(0.95)]
    [0.025, 0.35]
    >>> gap.to_frame().columns.tolist()[:4]
    ['debate', 'round', 'trials', 'mean']
    """

    m: Floats
    k: Floats
    a: Floats
    b: Floats
    trials: NDArray[np.int64]
    scale: float

    def __repr__(self) -> str:
        return f"SignedGap(shape={self.m.shape}, scale={self.scale:g})"

    @property
    def mean(self) -> Floats:
        """Posterior mean of mu, the mean gap, in units of ``scale``: positive where answer 1 leads."""
        return self.m

    @property
    def mean_points(self) -> Floats:
        """Posterior mean of the mean gap in raw points."""
        return self.m * self.scale

    def marginal(self) -> StudentT:
        """Return the posterior of mu: a Student t with 2a degrees of freedom and squared scale b / (a k)."""
        return StudentT(self.m, np.sqrt(self.b / (self.a * self.k)), 2.0 * self.a)

    @property
    def prob_better(self) -> Floats:
        """P(mu > 0): the probability that answer 1 is better."""
        return self.marginal().prob_positive

    def interval(self, level: float, kind: Kind = "equal-tailed") -> tuple[Floats, Floats]:
        """Return the ends of an interval of the mean gap, in units of ``scale``; both kinds are one and the same."""
        return self.marginal().interval(level, kind)

    def to_frame(self, level: float = 0.95, kind: Kind = "equal-tailed") -> pd.DataFrame:
        """Return a table with a row per debate and round, in units of ``scale``.

        The columns are ``debate`` (from 0), ``round`` (from 1), ``trials, mean, prob_better, low, high, level, kind``.
        """
        low, high = self.interval(level, kind)
        columns = {"trials": self.trials, "mean": self.mean, "prob_better": self.prob_better}
        return posterior_table({**columns, "low": low, "high": high}, level, kind)

    def predictive(self) -> StudentT:
        """Return the posterior predictive of the next round's gap, in units of ``scale``.

        A Student t with 2a degrees of freedom and squared scale b (k + 1) / (a k). It knows no bounds: near the
        ends of the rubric some of its mass lies beyond them.
        """
        return StudentT(self.m, np.sqrt(self.b * (self.k + 1) / (self.a * self.k)), 2.0 * self.a)


def signed_gap_posterior(
    scores: LogSource | ArrayLike,
    *,
    scale: float,
    m0: float = 0.0,
    k0: float = 1.0,
    a0: float = 2.0,
    b0: float = 0.04,
    **reading: Unpack[Reading],
) -> SignedGap:
    """Compute the Normal-Inverse-Gamma posterior of the signed gap after each round, by conjugate updates.

    Parameters
    ----------
    scores : Trajectories, what :func:`d3stats.as_trajectories` takes, or array
        A log with scores, or scores of two sides in raw points, shape (debates, rounds, 2), NaN where missing; or the
        signed gaps themselves, (debates, rounds).
    scale : float
        Raw points that make one unit, above 0: the range of the rubric, 19 or 20 for scores from 1 to 20. No gap
        may be larger.
    m0, k0 : float
        Prior mean of mu, and how many rounds it is worth (above 0). ``m0=0`` favours neither answer.
    a0, b0 : float
        The prior of the variance is Inverse-Gamma(a0, b0), both above 0, with mean b0 / (a0 - 1) where a0 > 1. The
        defaults expect gaps to vary by a standard deviation of a fifth of the scale from round to round.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    SignedGap

    Notes
    -----
    After a gap y: b grows by k (y - m)^2 / (2 (k + 1)), m moves to (k m + y) / (k + 1), k grows by 1 and a by 1/2. A
    round without a gap leaves the posterior as it was.
    Rounds of one debate that carry each other's scores forward are not independent; the posterior is then too narrow.

    Examples
    --------
    >>> gap = signed_gap_posterior([[[14, 12], [17, 11], [18, 12]]], scale=20)
    >>> gap.mean_points.round(2).tolist()
    [[1.0, 2.67, 3.5]]
    >>> gap.prob_better.round(3).tolist()
    [[0.695, 0.918, 0.977]]
    """
    unit = number("scale", scale)
    if unit <= 0:
        raise ValueError(f"scale must be > 0, the range of the rubric in points; got scale={scale!r}")
    gaps = signed_gaps(scores, **reading) / unit
    beyond = np.abs(gaps) > 1.0 + 1e-12
    if beyond.any():
        raise ValueError(
            f"scale must be at least the largest gap, {np.nanmax(np.abs(gaps)) * unit:g} points; got scale={scale!r}"
        )
    start = (number("m0", m0), prior("k0", k0), prior("a0", a0), prior("b0", b0))
    m, k, a, b = (np.full(len(gaps), value) for value in start)
    after = np.empty((4, *gaps.shape))
    for r in range(gaps.shape[1]):
        seen = ~np.isnan(gaps[:, r])
        y = np.where(seen, gaps[:, r], m)
        b = b + seen * (k * (y - m) ** 2 / (2.0 * (k + 1.0)))
        m = np.where(seen, (k * m + y) / (k + 1.0), m)
        k, a = k + seen, a + seen / 2.0
        after[:, :, r] = m, k, a, b
    after.setflags(write=False)
    return SignedGap(after[0], after[1], after[2], after[3], (~np.isnan(gaps)).cumsum(axis=1), unit)
