"""The Beta posterior of how often the gap between two answers grows (D3), with its claimed and with valid bounds.

D3 (Harrasse, Bandi and Bandi, *Debate, Deliberate, Decide*, Definition 1) counts a success when the gap between the
scores of the two answers is larger than in the round before. After r trials with w successes, delta has the posterior
Beta(a0 + w, b0 + r - w). That is a posterior of the probability *that the gap grows*, not of the gap. Gaps that change
independently from round to round have mean 1/2 at any size, and a gap that grows slowly up to 0.1 has a mean near 1.
The posterior does not say who leads; for that, see :mod:`~d3stats.models.gaps.wins` and
:mod:`~d3stats.models.gaps.signed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats
from d3stats._check import number, probability, whole_numbers
from d3stats.models.gaps.posterior import BetaPosterior, ascents, cells_of, prior, signed_gaps, variance
from d3stats.sources import LogSource, Reading

__all__ = ["BetaGap", "contraction_table", "gap_posterior"]


@dataclass(frozen=True, eq=False, repr=False)
class BetaGap(BetaPosterior):
    """D3's posterior of the probability that the gap grows, for any number of debates and rounds at once.

    Make one from counts with :meth:`from_successes` or from scores with :func:`gap_posterior`.

    Attributes
    ----------
    alpha, beta : ndarray of float, any one shape
        The posterior is Beta(alpha, beta), element by element.
    trials : ndarray of int or None, same shape
        Comparisons made so far (the r of D3); None when only alpha and beta are known.
    ties : ndarray of int or None, same shape
        How many of them found two equal gaps; they count as failures. None when made from counts.

    Examples
    --------
    >>> gap = BetaGap.from_successes([5, 500], [5, 1000])
    >>> gap.mean.round(4).tolist()
    [0.8571, 0.5]
    >>> gap.prob_at_least(0.5).round(6).tolist()
    [0.984375, 0.5]
    >>> gap.cantelli_bound(0.5).round(4).tolist()
    [0.8929, 0.0]
    >>> gap.chebyshev_premise(0.5).tolist(), gap.chebyshev_bound(0.5).round(4).tolist()
    ([True, False], [0.7551, 0.996])
    >>> gap.sub_gaussian_bound(0.2).round(4).tolist(), gap.sub_gaussian_lower_bound(0.5).round(4).tolist()
    ([1.0, 0.0], [0.8701, 0.0])
    >>> gap.success_lowers_variance().tolist(), gap.prob_between(0.4, 0.6).round(4).tolist()
    ([True, True], [0.0426, 1.0])
    >>> gap.prob_near_mean(0.1).round(4).tolist(), [end.round(3).tolist() for end in gap.interval(0.95)]
    ([0.5805, 1.0], [[0.541, 0.469], [0.996, 0.531]])
    >>> gap.to_frame()[["mean", "low", "high"]].round(3).values.tolist()
    [[0.857, 0.541, 0.996], [0.5, 0.469, 0.531]]
    """

    trials: NDArray[Any] | None = None
    ties: NDArray[Any] | None = None
    _besides = ("trials", "ties")

    @classmethod
    def from_successes(
        cls, successes: ArrayLike, rounds: ArrayLike, *, a0: float = 1.0, b0: float = 1.0
    ) -> BetaGap:
        """Make the posterior from how often the gap grew.

        Parameters
        ----------
        successes : array of whole numbers, any shape
            Comparisons in which the gap grew, w.
        rounds : array of whole numbers, broadcast against `successes`
            Comparisons, r >= w.
        a0, b0 : float
            Prior, above 0; both 1 is flat.
        """
        a, b = prior("a0", a0), prior("b0", b0)
        counts = {"successes": successes, "rounds": rounds}
        won, tried = np.broadcast_arrays(*(whole_numbers(n, x, any_shape=True) for n, x in counts.items()))
        over = won > tried
        if over.any():
            at = tuple(int(i) for i in np.unravel_index(int(np.argmax(over)), over.shape))
            raise ValueError(
                f"rounds must be >= successes; got rounds={tried[at].item()}, successes={won[at].item()}"
                + (f" at {at[0] if len(at) == 1 else at}" if at else "")
            )
        return _from_counts(won, tried, None, a, b)

    @property
    def variance_cap(self) -> Floats:
        """Largest variance that any Beta of this alpha + beta has, 1 / (4 (alpha + beta + 1)).

        This bound falls with every trial; the variance itself need not (:meth:`failure_lowers_variance`).
        """
        return self._each(lambda a, b: 0.25 / (a + b + 1))

    def chebyshev_bound(self, eps: float) -> Floats:
        """Return D3's bound on P(delta >= 1 - eps), 1 - 4 Var / eps^2, exactly as claimed.

        The claimed bound is no bound where :meth:`chebyshev_premise` is false, because the proof needs the mean within
        eps/2 of 1. A negative value is no information. As in all methods of this class, eps is in (0, 1).
        """
        width = probability("eps", eps, open_interval=True)
        return self._each(lambda a, b: 1.0 - 4.0 * variance(a, b) / width**2)

    def chebyshev_premise(self, eps: float) -> NDArray[np.bool_]:
        """Return where the premise of D3's bound holds: abs(1 - mean) < eps / 2."""
        width = probability("eps", eps, open_interval=True)
        return self._each(lambda a, b: b / (a + b)) < width / 2

    def cantelli_bound(self, eps: float) -> Floats:
        """Return a lower bound on P(delta >= 1 - eps) from mean and variance that holds everywhere.

        With t = mean - (1 - eps) it is 1 - Var / (Var + t^2) where t > 0 (Cantelli's one-sided inequality) and the
        trivial 0 elsewhere.
        """
        width = probability("eps", eps, open_interval=True)

        def bound(a: Floats, b: Floats) -> Floats:
            beyond = np.maximum(width - b / (a + b), 0.0)
            return np.asarray(beyond**2 / (variance(a, b) + beyond**2))

        return self._each(bound)

    def sub_gaussian_bound(self, t: float) -> Floats:
        """Return an upper bound on P(abs(delta - mean) >= t), t >= 0: 2 exp(-2 (alpha + beta + 1) t^2), at most 1.

        A Beta variable is sub-Gaussian with variance proxy 1 / (4 (alpha + beta + 1)) (Marchal and Arbel 2017,
        Electronic Communications in Probability 22, Theorem 1).
        """
        far = number("t", t, minimum=0.0)
        return self._each(lambda a, b: np.minimum(2.0 * np.exp(-2.0 * (a + b + 1) * far * far), 1.0))

    def sub_gaussian_lower_bound(self, eps: float) -> Floats:
        """Return a lower bound on P(delta >= 1 - eps) from the one-sided sub-Gaussian tail.

        With t = mean - (1 - eps) it is 1 - exp(-2 (alpha + beta + 1) t^2) where t > 0 and the trivial 0 elsewhere
        (source as in :meth:`sub_gaussian_bound`).
        """
        width = probability("eps", eps, open_interval=True)
        return self._each(
            lambda a, b: -np.expm1(-2.0 * (a + b + 1) * np.maximum(width - b / (a + b), 0.0) ** 2)
        )

    def failure_lowers_variance(self) -> NDArray[np.bool_]:
        """Return where one more failure lowers the variance: (b + 1) N^2 < b (N + 1) (N + 2), N = a + b.

        Examples
        --------
        >>> bool(BetaGap(10.0, 1.0).failure_lowers_variance())
        False
        """
        return self._each(lambda a, b: _lowers(b, a + b)) > 0

    def success_lowers_variance(self) -> NDArray[np.bool_]:
        """Return where one more success lowers the variance: (a + 1) N^2 < a (N + 1) (N + 2), N = a + b."""
        return self._each(lambda a, b: _lowers(a, a + b)) > 0


def gap_posterior(
    scores: LogSource | ArrayLike,
    *,
    a0: float = 1.0,
    b0: float = 1.0,
    first: float | None = None,
    **reading: Unpack[Reading],
) -> BetaGap:
    """Compute D3's Beta posterior that the gap grows, after each round of each debate, by conjugate updates.

    Parameters
    ----------
    scores : Trajectories, what :func:`d3stats.as_trajectories` takes, or array
        A log with scores, or scores of two sides in raw points, shape (debates, rounds, 2), NaN where missing; or the
        gaps themselves, (debates, rounds), whose sign is dropped.
    a0, b0 : float
        Prior, above 0.
    first : float, optional
        The gap before round 1, in raw points, >= 0. D3 lets r run from 1 and compares delta_r with
        delta_(r - 1), so it needs a delta_0 and gives none. Without `first`, as here by default, round 1 is
        no trial and the first comparison is that of round 2 with round 1. ``first=0`` takes delta_0 = 0: then
        round 1 is a success whenever the two scores differ, and r trials are made in r rounds.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    BetaGap
        Arrays of shape (debates, rounds): the posterior after each round, with ``trials`` and ``ties`` so
        far.

    Notes
    -----
    A success is a gap strictly larger than the last known one; an equal one is a failure, as Definition 1 has it,
    and is counted in ``ties`` besides. A missing gap is no trial, and the next known gap is compared with the last
    known one. After a debate's end the posterior stays what it was. In a debate of ties alone the posterior is that
    the gap never grows, and ``ties == trials`` says why.

    Examples
    --------
    >>> gap = gap_posterior([[[14, 12], [17, 11], [18, 12], [19, 12]]])
    >>> gap.trials.tolist(), gap.ties.tolist()
    ([[0, 1, 2, 3]], [[0, 0, 1, 1]])
    >>> gap.mean.round(3).tolist()
    [[0.5, 0.667, 0.5, 0.6]]
    """
    a, b = prior("a0", a0), prior("b0", b0)
    before = None if first is None else number("first", first, minimum=0.0)
    won, tried, tied = ascents(np.abs(signed_gaps(scores, **reading)), before)
    return _from_counts(won, tried, tied, a, b)


def contraction_table(
    successes: ArrayLike, rounds: ArrayLike, eps: float, *, a0: float = 1.0, b0: float = 1.0
) -> pd.DataFrame:
    """Compute P(delta >= 1 - eps) of one debate exactly, with the bound that D3 claims and two that hold.

    Parameters
    ----------
    successes, rounds : arrays of whole numbers, shape (points,)
        Successes w after r trials.
    eps : float
        In (0, 1).
    a0, b0 : float
        Prior, above 0.

    Returns
    -------
    DataFrame
        ``round, successes, mean, var, exact, claimed, premise, cantelli, sub_gaussian, eps``, a row per point:
        what :func:`d3stats.plotting.plot_gap_contraction` draws. ``claimed`` can be negative; ``premise`` says
        where its proof applies.

    Examples
    --------
    >>> table = contraction_table([5, 500], [5, 1000], 0.5)
    >>> table[["round", "exact", "claimed", "premise", "cantelli"]].round(4)
       round   exact  claimed  premise  cantelli
    0      5  0.9844   0.7551     True    0.8929
    1   1000  0.5000   0.9960    False    0.0000
    """
    width = probability("eps", eps, open_interval=True)
    gap = BetaGap.from_successes(successes, rounds, a0=a0, b0=b0)
    if len(gap.shape) != 1:
        raise ValueError(f"successes must be one-dimensional; got shape {gap.shape}")
    return pd.DataFrame(
        {
            "round": gap.trials,
            "successes": np.broadcast_to(np.asarray(successes), gap.shape),
            "mean": gap.mean,
            "var": gap.var,
            "exact": gap.prob_at_least(1.0 - width),
            "claimed": gap.chebyshev_bound(eps),
            "premise": gap.chebyshev_premise(eps),
            "cantelli": gap.cantelli_bound(eps),
            "sub_gaussian": gap.sub_gaussian_lower_bound(eps),
            "eps": width,
        }
    )


def _from_counts(
    won: NDArray[Any], tried: NDArray[Any], tied: NDArray[Any] | None, a0: float, b0: float
) -> BetaGap:
    return BetaGap(won + a0, tried - won + b0, trials=tried, ties=tied, _cache=cells_of(won, tried, a0, b0))


def _lowers(part: Floats, total: Floats) -> Floats:
    """Return 1 where a trial that adds to `part` lowers the variance, 0 elsewhere."""
    return ((part + 1) * total**2 < part * (total + 1) * (total + 2)).astype(np.float64)
