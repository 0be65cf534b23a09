"""E (X - t)^+ of any score law at any t, and quantiles at log odds."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from d3stats.models.scores.law import ScoreLaw
from d3stats.models.scores.maxima import beyond
from d3stats.models.scores.maximum import MaxLaw
from d3stats.models.scores.mixture import MixtureLaw

__all__ = ["StopLoss", "corners", "logit_quantile", "middle"]

Floats = NDArray[np.float64]

_SPLIT = 1e-13
"""Share of the whole by which the orders 5 and 10 may differ on a piece before it is halved."""
_DEPTH = 60


@lru_cache(maxsize=1)
def _rules() -> tuple[Floats, Floats, Floats]:
    coarse, fine = special.roots_legendre(5), special.roots_legendre(10)
    return np.concatenate([coarse[0], fine[0]]), coarse[1], fine[1]


class StopLoss:
    """The stop-loss function t -> E (X - t)^+ = integral of P(X > x) from t up.

    Cumulated once from the top over pieces on which the survival function is smooth; a question then costs one
    piece more. Discrete laws are summed.

    Parameters
    ----------
    law : ScoreLaw
        With a finite mean.

    Attributes
    ----------
    middle : float
        A score well inside the law.
    error : float
        Bound on the error of an answer, in points: what the two orders differ by, and what is beyond the last cut.

    Raises
    ------
    ValueError
        When the error is more than 1e-6 of the mean distance from the middle: a tail too heavy for the integral.
    """

    def __init__(self, law: ScoreLaw) -> None:
        self.law = law
        # Below the middle P(X <= x) is integrated instead, so that a deep floor costs no digits.
        self.middle = middle(law)
        if law.is_discrete:
            self._rungs: Floats = law.atoms[0]
            pieces = law.sf(self._rungs[:-1]) * np.diff(self._rungs)
            self.error = 0.0
        else:
            self._rungs, pieces, self.error = self._pieces()
            spread = float(np.abs(pieces).sum())
            if not self.error <= 1e-6 * spread:
                raise ValueError(
                    f"law must have excesses that can be computed to six digits; got an error of {self.error:.2g} "
                    f"against a scale of {spread:.2g} for {law!r}: a tail too heavy"
                )
        self._over: Floats = np.append(np.cumsum(pieces[::-1])[::-1], 0.0)

    def __call__(self, t: ArrayLike) -> Floats:
        """Return E (X - t)^+ for every t; infinite at -inf."""
        points = np.asarray(t, dtype=np.float64)
        flat = points.ravel()
        above = np.searchsorted(self._rungs, flat, side="left")
        rung = np.minimum(above, self._rungs.size - 1)
        width = self._rungs[rung] - flat
        if self.law.is_discrete:
            part = np.where(above == 0, 1.0, self.law.sf(np.where(np.isfinite(flat), flat, 0.0))) * width
        else:
            part = np.zeros_like(flat)
            inside = (above > 0) & (width > 0)
            if inside.any():
                # On a part of a piece, order 5 does as well as it did on the piece.
                nodes, weights, _ = _rules()
                half = 0.5 * width[inside]
                x = (flat[inside] + half)[:, None] + half[:, None] * nodes[:5]
                part[inside] = half * (self._signed(x) @ weights)
            part += np.maximum(self.middle - flat, 0.0)
        # Beyond the last rung there is nothing.
        found = np.where(
            width >= 0, np.maximum(self._over[rung] + np.where(width > -np.inf, part, 0.0), 0.0), 0.0
        )
        return np.asarray(found.reshape(points.shape))

    def _signed(self, x: Floats) -> Floats:
        """Return P(X > x) from the middle up and -P(X <= x) below it."""
        at = x.ravel()
        low = at < self.middle
        values = np.empty_like(at)
        values[low] = -self.law.cdf(at[low])
        values[~low] = self.law.sf(at[~low])
        return np.asarray(values.reshape(x.shape))

    def _pieces(self) -> tuple[Floats, Floats, float]:
        """Return rungs, the integral of the signed probability between each two, and the error of their sum."""
        nodes, rough_weights, weights = _rules()
        cuts = np.unique(np.append(self.law.breakpoints(), self.middle))
        low, high = cuts[:-1], cuts[1:]
        starts: list[Floats] = []
        sums: list[Floats] = []
        error = float(beyond(self.law, cuts, np.ones(1, dtype=np.int64))[0][0])
        for depth in range(_DEPTH):
            half = 0.5 * (high - low)
            values = self._signed((low + half)[:, None] + half[:, None] * nodes)
            exact = half * (values[:, 5:] @ weights)
            apart = np.abs(exact - half * (values[:, :5] @ rough_weights))
            # The best idea of the size so far: a first look may miss a spike, or see one where there is none.
            whole = float(np.abs(exact).sum() + sum(np.abs(done).sum() for done in sums))
            split = apart > _SPLIT * whole
            if depth == _DEPTH - 1:
                split[:] = False
            starts.append(low[~split])
            sums.append(exact[~split])
            error += float(apart[~split].sum())
            if not split.any():
                break
            between = low[split] + half[split]
            low, high = np.concatenate([low[split], between]), np.concatenate([between, high[split]])
        start, value = np.concatenate(starts), np.concatenate(sums)
        order = np.argsort(start)
        return np.append(start[order], cuts[-1]), value[order], error


def middle(law: ScoreLaw) -> float:
    """Return a score well inside a law: its median, for a mixture the mean of the medians of its parts."""
    if isinstance(law, MixtureLaw):
        return float(sum(w * middle(part) for w, part in zip(law.weights, law.laws, strict=True)))
    if isinstance(law, MaxLaw) and isinstance(law.law, MixtureLaw):
        return middle(law.law)
    return float(law.quantile(0.5))


def logit_quantile(law: ScoreLaw, z: Floats) -> Floats:
    """Return the quantile at u = 1/(1 + exp(-z)): both tails to the last digit."""
    low = z <= 0
    found = np.empty_like(z)
    found[low] = law.quantile(special.expit(z[low]))
    found[~low] = law.upper_quantile(special.expit(-z[~low]))
    return found


def corners(law: ScoreLaw) -> Floats:
    """Return finite points where the distribution function may jump or bend: atoms and ends of parts."""
    if isinstance(law, MaxLaw):
        return corners(law.law)
    if isinstance(law, MixtureLaw):
        return np.unique(np.concatenate([corners(part) for part in law.laws]))
    ends = np.asarray(law.support)
    return np.union1d(law.atoms[0], ends[np.isfinite(ends)])
