"""A score with a density, as scipy.stats has it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng
from d3stats.models.scores.law import ScoreLaw
from d3stats.models.scores.quantiles import tail_cuts

__all__ = ["ContinuousLaw"]

Floats = NDArray[np.float64]


class ContinuousLaw(ScoreLaw):
    """A score with a density: a frozen continuous distribution of scipy.stats.

    Parameters
    ----------
    frozen : scipy.stats rv_continuous, frozen
        Any continuous distribution with its parameters.

    Raises
    ------
    ValueError
        When the parameters make no distribution (scipy answers with NaN), as a scale of 0 does.

    Examples
    --------
    >>> from scipy import stats
    >>> ContinuousLaw(stats.uniform()).cdf([0.25, 2.0]).tolist()
    [0.25, 1.0]
    """

    def __init__(self, frozen: Any) -> None:
        self.frozen = frozen
        low, high = frozen.support()
        if np.isnan(low) or np.isnan(high) or np.isnan(frozen.cdf(0.0)):
            name = getattr(getattr(frozen, "dist", None), "name", "distribution")
            raise ValueError(
                f"score law must have valid parameters; got {name}{frozen.args}{frozen.kwds or ''}, which scipy "
                "takes for no distribution (a point mass is DiscreteLaw([x], [1]))"
            )
        self._support = (float(low), float(high))

    def __repr__(self) -> str:
        parts = [f"{a:g}" for a in self.frozen.args] + [f"{k}={v:g}" for k, v in self.frozen.kwds.items()]
        return f"ContinuousLaw({self.frozen.dist.name}({', '.join(parts)}))"

    def cdf(self, x: ArrayLike) -> Floats:
        return np.asarray(self.frozen.cdf(x), dtype=np.float64)

    def below(self, x: ArrayLike) -> Floats:
        return self.cdf(x)

    def sf(self, x: ArrayLike) -> Floats:
        # Some of scipy's survival functions divide by a probability that has reached 0.
        with np.errstate(all="ignore"):
            return np.asarray(self.frozen.sf(x), dtype=np.float64)

    def density(self, x: ArrayLike) -> Floats:
        return np.asarray(self.frozen.pdf(x), dtype=np.float64)

    def quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(self.frozen.ppf(u), dtype=np.float64)

    def upper_quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(self.frozen.isf(u), dtype=np.float64)

    @property
    def atoms(self) -> tuple[Floats, Floats]:
        return np.empty(0), np.empty(0)

    @property
    def support(self) -> tuple[float, float]:
        return self._support

    @cached_property
    def mean(self) -> float:
        with np.errstate(all="ignore"):
            return float(self.frozen.mean())

    def breakpoints(self) -> Floats:
        return self._breakpoints

    @cached_property
    def _breakpoints(self) -> Floats:
        with np.errstate(all="ignore"):
            middle = float(self.frozen.ppf(0.5))
            up = tail_cuts(self.frozen.isf, self.frozen.sf, middle, self._support[1])
            down = tail_cuts(self.frozen.ppf, self.frozen.cdf, middle, self._support[0])
        cuts = np.unique(np.concatenate([up, down]))
        cuts.setflags(write=False)
        return cuts

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        return np.asarray(self.frozen.rvs(size=size, random_state=as_rng(rng)), dtype=np.float64)
