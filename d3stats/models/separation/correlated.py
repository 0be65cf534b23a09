"""The best of k scores that share a factor: any law of one score under a Gaussian copula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats.models.separation.laws import (
    MaxLaw,
    ScoreLaw,
    as_count,
    as_law,
    log_cdf,
    require_mean,
)
from d3stats.models.separation.quadrature import integrate
from d3stats.resampling.clusters import cluster_totals, resampled_totals

__all__ = [
    "CorrelatedMaxLaw",
    "Diagonal",
    "ScoreCorrelation",
    "correlated_max",
    "diagonal",
    "mean_of_power",
    "score_correlation",
]

Floats = NDArray[np.float64]

_SPAN = 9.5
"""How many standard deviations of a normal an integral covers: what lies beyond is below 1e-20."""
_CELLS = 1 << 20


class Diagonal:
    """The greatest of k standard normals with pairwise correlation rho, 0 < rho < 1, k > 1.

    With X_i = sqrt(rho) Z + sqrt(1 - rho) E_i the maximum is sqrt(rho) Z + sqrt(1 - rho) max E_i. Its distribution
    function is a mean over whichever of the two parts is wider, so that the integrand is smooth at every rho; the
    trapezoid rule is then accurate to rounding, and steps are halved until two of them agree.
    """

    def __init__(self, k: int, rho: float) -> None:
        self.k, self.rho = k, rho
        self._a, self._b = np.sqrt(rho), np.sqrt(1 - rho)
        self._step = 0.5
        grid = np.linspace(-8.0, 9.0, 35)
        found = self._pair(grid)
        for _ in range(8):
            self._step /= 2
            finer = self._pair(grid)
            self.error = float(max(np.abs(x - y).max() for x, y in zip(found, finer, strict=True)))
            found = finer
            if self.error < 1e-15 * 8:
                break

    def cdf(self, q: Floats) -> Floats:
        """Return P(max <= q)."""
        return self._mean(q, upper=False)

    def sf(self, q: Floats) -> Floats:
        """Return P(max > q), without cancellation."""
        return self._mean(q, upper=True)

    def ratio(self, q: Floats) -> Floats:
        """Return the density of the maximum over that of one: k E Phi(sqrt(1-rho) q - sqrt(rho) Y)^(k-1)."""
        y = np.arange(-_SPAN, _SPAN + self._step, self._step)
        weight = np.exp(-0.5 * y * y)
        weight /= weight.sum()

        def part(some: Floats) -> Floats:
            powered = np.exp((self.k - 1) * special.log_ndtr(self._b * some[:, None] - self._a * y))
            return np.asarray(self.k * (powered @ weight))

        return self._by_parts(q, part, y.size, (0.0, float(self.k)))

    def quantile(self, u: Floats) -> Floats:
        """Return q with P(max <= q) = u, for u strictly between 0 and 1."""
        # One normal lies below the maximum, and k independent ones above it.
        low, high = special.ndtri(u), special.ndtri(u ** (1.0 / self.k))
        high = np.where(np.isfinite(high), high, 40.0)
        low = np.minimum(low, high)
        at = 0.5 * (low + high)
        for _ in range(80):
            over = self.cdf(at) - u
            low, high = np.where(over < 0, at, low), np.where(over < 0, high, at)
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                slope = self.ratio(at) * np.exp(-0.5 * at * at) / np.sqrt(2 * np.pi)
                newton = at - over / slope
            inside = np.isfinite(newton) & (newton > low) & (newton < high)
            following = np.where(inside, newton, 0.5 * (low + high))
            moved = np.abs(following - at)
            at = following
            if (moved <= 1e-13 * np.maximum(1.0, np.abs(at))).all():
                break
        return np.asarray(at)

    def sample(self, size: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw maxima: the factor, and the greatest of k by its own quantile."""
        common = rng.standard_normal(size)
        # The upper tail by log(u) / k near 0, where u^(1/k) would round to 1.
        greatest = -special.ndtri(-np.expm1(np.log1p(-rng.random(size)) / self.k))
        return np.asarray(self._a * common + self._b * greatest)

    def _pair(self, q: Floats) -> tuple[Floats, Floats]:
        return self.cdf(q), self.sf(q)

    def _mean(self, q: Floats, *, upper: bool) -> Floats:
        """Average over the wider part: the shared factor up to rho = 1/2, the greatest of the rest above."""
        a, b, k = self._a, self._b, self.k
        finite = q[np.isfinite(q)]
        far = float(np.abs(finite).max(initial=0.0))
        # A tail at q is made by parts up to about q: the grid goes there.
        y = np.arange(-_SPAN - far, _SPAN + far + self._step, self._step)
        if self.rho <= 0.5:
            weight = np.exp(-0.5 * y * y)
            weight /= weight.sum()
        else:
            weight = np.exp(-0.5 * y * y + (k - 1) * special.log_ndtr(y))
            weight /= weight.sum()
        used = weight > 0
        y, weight = y[used], weight[used]

        def part(some: Floats) -> Floats:
            if self.rho <= 0.5:
                logs = k * special.log_ndtr((some[:, None] - a * y) / b)
                return np.asarray((-np.expm1(logs) if upper else np.exp(logs)) @ weight)
            apart = (some[:, None] - b * y) / a
            return np.asarray(special.ndtr(-apart if upper else apart) @ weight)

        ends = (1.0, 0.0) if upper else (0.0, 1.0)
        return self._by_parts(q, part, y.size, ends)

    @staticmethod
    def _by_parts(
        q: Floats, part: Callable[[Floats], Floats], width: int, ends: tuple[float, float]
    ) -> Floats:
        shape = np.shape(q)
        flat = np.ravel(q)
        out = np.where(flat < 0, ends[0], ends[1])
        finite = np.flatnonzero(np.isfinite(flat))
        rows = max(1, _CELLS // width)
        for start in range(0, finite.size, rows):
            at = finite[start : start + rows]
            out[at] = part(flat[at])
        return out.reshape(shape)


@lru_cache(maxsize=256)
def diagonal(k: int, rho: float) -> Diagonal:
    """Return the law for k and rho; both sides of a separation share one."""
    return Diagonal(k, rho)


class CorrelatedMaxLaw(ScoreLaw):
    """The best of k scores of one law whose normal ranks share a factor.

    P(M <= x) = E_Z[Phi((q - sqrt(rho) Z) / sqrt(1 - rho))^k] with q = Phi^-1(F(x)) and Z standard normal.
    Where F jumps, a score covers all normal ranks of the jump.

    Parameters
    ----------
    law : ScoreLaw, frozen scipy distribution, table of score to probability, or sample
    k : int
        At least 2.
    rho : float
        Correlation of two advocates' normal ranks, strictly between 0 and 1: :func:`correlated_max` takes the
        limits as well.

    Raises
    ------
    ValueError
        When k is below 2 or rho is not strictly between 0 and 1.

    Examples
    --------
    >>> from scipy import stats
    >>> law = CorrelatedMaxLaw(stats.norm(), 2, 0.5)
    >>> round(law.cdf(0.0).item(), 6), round(law.mean, 6)
    (0.333333, 0.398942)
    """

    def __init__(self, law: Any, k: int, rho: float) -> None:
        self.law = as_law(law)
        self.k = integer("k", k, minimum=2)
        self.rho = probability("rho", rho, open_interval=True)
        self._diagonal = diagonal(self.k, self.rho)

    def __repr__(self) -> str:
        return f"CorrelatedMaxLaw({self.law!r}, k={self.k}, rho={self.rho:g})"

    @property
    def error(self) -> float:
        """Absolute error of the distribution function beside that of the law: two steps' difference."""
        return self._diagonal.error

    def cdf(self, x: ArrayLike) -> Floats:
        return self._diagonal.cdf(_normal_rank(self.law.cdf(x), self.law.sf(x)))

    def below(self, x: ArrayLike) -> Floats:
        under = self.law.below(x)
        return self._diagonal.cdf(_normal_rank(under, 1.0 - under))

    def sf(self, x: ArrayLike) -> Floats:
        return self._diagonal.sf(_normal_rank(self.law.cdf(x), self.law.sf(x)))

    def density(self, x: ArrayLike) -> Floats:
        if self.law.is_discrete:
            return self.law.density(x)
        q = _normal_rank(self.law.cdf(x), self.law.sf(x))
        return np.asarray(self._diagonal.ratio(q) * self.law.density(x))

    def quantile(self, u: ArrayLike) -> Floats:
        levels = np.asarray(u, dtype=np.float64)
        if self.law.is_discrete:
            points, _ = self.law.atoms
            at = np.searchsorted(self._heap, levels, side="left")
            return np.asarray(points[np.minimum(at, points.size - 1)])
        inner = (levels > 0) & (levels < 1)
        q = np.where(levels > 0, np.inf, -np.inf)
        q[inner] = self._diagonal.quantile(levels[inner])
        return self.law.quantile(special.ndtr(q))

    @cached_property
    def _heap(self) -> Floats:
        return self.cdf(self.law.atoms[0])

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:
        points, _ = self.law.atoms
        if self.law.is_discrete:
            return points, np.diff(self._heap, prepend=0.0)
        return points, self.cdf(points) - self.below(points)

    @property
    def support(self) -> tuple[float, float]:
        return self.law.support

    @cached_property
    def mean(self) -> float:
        # A maximum of k has a mean when one score has: it lies below the sum of their sizes.
        require_mean("law", self.law)
        return mean_of_power(self)

    def breakpoints(self) -> Floats:
        return self.law.breakpoints()

    def sample(self, size: int | tuple[int, ...], rng: RngLike = None) -> Floats:
        return self.law.quantile(special.ndtr(self._diagonal.sample(size, as_rng(rng))))

    @property
    def is_discrete(self) -> bool:
        return self.law.is_discrete


def correlated_max(law: Any, k: int, rho: float) -> ScoreLaw:
    """Return the law of the best of k exchangeably correlated scores.

    Parameters
    ----------
    law : ScoreLaw, frozen scipy distribution, table of score to probability, or sample
        The law of one advocate's score.
    k : int
        Advocates, at least 1.
    rho : float
        Correlation of two advocates' normal ranks, 0 to 1. At 0 they are independent; at 1 all say the same,
        and the best is any of them.

    Returns
    -------
    ScoreLaw

    Raises
    ------
    ValueError
        When k is below 1 or rho lies outside 0 to 1.

    Examples
    --------
    >>> from scipy import stats
    >>> [round(correlated_max(stats.uniform(), 5, rho).mean, 4) for rho in (0.0, 0.5, 0.9, 1.0)]
    [0.8333, 0.7341, 0.6039, 0.5]
    """
    one = as_law(law)
    k = as_count(k)
    rho = probability("rho", rho)
    if k == 1 or rho == 1:
        return one
    return MaxLaw(one, k) if rho == 0 else CorrelatedMaxLaw(one, k, rho)


def _normal_rank(up_to: Floats, over: Floats) -> Floats:
    """Return Phi^-1 of a probability, read from the smaller of the two tails."""
    return np.asarray(np.where(over < 0.5, -special.ndtri(over), special.ndtri(up_to)))


def mean_of_power(law: ScoreLaw, power: float = 1.0) -> float:
    """Return the mean of F^power, by parts from the median."""
    if law.is_discrete:
        points, _ = law.atoms
        over = -np.expm1(power * log_cdf(law, points[:-1]))
        return float(points[0] + np.diff(points) @ over)
    middle = float(law.quantile(0.5))

    def integrand(x: Floats) -> Floats:
        logs = power * log_cdf(law, x)
        return np.where(x < middle, -np.exp(logs), -np.expm1(logs))[:, None]

    return middle + float(integrate((integrand, np.unique(np.append(law.breakpoints(), middle))))[0][0])


Kind = Literal["studentized", "percentile"]

_ITEMS, _SCORES, _SQUARES, _SUM, _BETWEEN, _WITHIN = range(6)
_UPPER = np.triu_indices(6)


@dataclass(frozen=True)
class ScoreCorrelation:
    """The correlation of two advocates' scores of one item, with its interval.

    Attributes
    ----------
    estimate : float
        The one-way ICC(1), as it comes out: it can be negative.
    low, high : float
        Ends of the interval.
    level : float
    kind : {"studentized", "percentile"}
        Of the bootstrap over clusters of items.
    n_items, n_clusters, n_scores : int
        Items, their clusters and scores that were used, single scores of an item among them.
    mean_size : float
        n0 of the unbalanced analysis of variance: scores per item, less their variance over their sum.
    mean_square_between, mean_square_within : float
        In points squared.
    n_boot : int
    n_undefined : int
        Resamples without any variance, left out of the interval.
    """

    estimate: float
    low: float
    high: float
    level: float
    kind: Kind
    n_items: int
    n_clusters: int
    n_scores: int
    mean_size: float
    mean_square_between: float
    mean_square_within: float
    n_boot: int
    n_undefined: int

    def to_frame(self) -> pd.DataFrame:
        """Return one row with every attribute."""
        return pd.DataFrame([{name: getattr(self, name) for name in self.__dataclass_fields__}])

    def summary(self) -> str:
        """Return one line: the correlation, its interval and what it rests on."""
        return (
            f"intraclass correlation {self.estimate:.3f} [{self.low:.3f}, {self.high:.3f}] ({self.level:.0%}, "
            f"{self.kind} bootstrap over {self.n_clusters} clusters, {self.n_items} items, {self.n_scores} scores)"
        )


def score_correlation(
    scores: ArrayLike,
    *,
    cluster: Any = None,
    level: float = 0.95,
    kind: Kind = "studentized",
    n_boot: int = 2000,
    rng: RngLike = None,
) -> ScoreCorrelation:
    """Estimate how far the advocates' scores of one item agree beyond chance.

    Parameters
    ----------
    scores : array, shape (items, advocates)
        In points; missing scores are NaN. Advocates are exchangeable: one who is always stricter than the rest
        lowers the correlation, as drawing that one would.
    cluster : array, shape (items,), optional
        Which items belong together (the answers to one question): they are resampled together. By default each
        item is alone.
    level : float
        Of the interval, strictly between 0 and 1.
    kind : {"studentized", "percentile"}
        Bootstrap over clusters. Studentized: of log F = log(MSB / MSW) with a sandwich error in each resample,
        carried over to the correlation; it needs variance within items.
    n_boot : int
        Resamples, at least 100.
    rng : Generator, int or None

    Returns
    -------
    ScoreCorrelation

    Raises
    ------
    ValueError
        When there are fewer than 2 items with scores, no item has 2 scores, or all scores are equal: then
        there is no variance to share.

    Notes
    -----
    One-way analysis of variance with unequal numbers (Donner, 1986, International Statistical Review 54):
    (MSB - MSW) / (MSB + (n0 - 1) MSW) with n0 = (N - sum n_i^2 / N) / (items - 1).

    Coverage of the studentized interval at 95 %, four advocates, a fifth of the scores missing, correlation .5:
    .94 for normal scores of 100 or 300 items, .92 to .94 for exponential ones; .93 and .92 for 30 items.

    This is the correlation of the scores. The rho of :func:`~d3stats.models.separation.payoff.correlated_max` is that
    of normal ranks: equal for normal scores, a little larger otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.normal(size=(200, 1)) + rng.normal(size=(200, 4))
    >>> found = score_correlation(scores, rng=1)
    >>> round(found.estimate, 2), found.low < 0.5 < found.high
    (0.46, True)
    """
    level = probability("level", level, open_interval=True)
    choice("kind", kind, ("studentized", "percentile"))
    integer("n_boot", n_boot, minimum=100)
    sums, kept, spread = _item_sums(scores)
    items = sums if cluster is None else cluster_totals(sums, _codes(cluster, kept))
    if len(items) < 2:
        raise ValueError(f"cluster must leave at least two clusters to resample; got {len(items)}")
    totals = items.sum(axis=0)
    between, within, size = (float(x[0]) for x in _mean_squares(totals[None]))
    if within <= 0 and kind == "studentized":
        raise ValueError(
            "kind must be 'percentile' when no item has two different scores, for there is no variance within "
            f"items; got kind={kind!r}"
        )
    tail = (1 - level) / 2
    if kind == "percentile":
        drawn = _correlation(*_mean_squares(resampled_totals(items, n_boot, rng)))
        known = drawn[~np.isnan(drawn)]
        if known.size < 2:
            raise ValueError(
                f"scores must vary in at least 2 resamples of clusters; they do in {known.size} of {n_boot}"
            )
        low, high = np.quantile(known, [tail, 1 - tail])
        undefined = n_boot - known.size
    else:
        low, high, undefined = _studentized(items, tail, n_boot, rng)
    return ScoreCorrelation(
        estimate=float(_correlation(np.array(between), np.array(within), np.array(size))),
        low=float(low),
        high=float(high),
        level=level,
        kind=kind,
        n_items=int(totals[_ITEMS]),
        n_clusters=len(items),
        n_scores=int(totals[_SCORES]),
        mean_size=size,
        mean_square_between=between * spread**2,
        mean_square_within=within * spread**2,
        n_boot=n_boot,
        n_undefined=int(undefined),
    )


def _codes(cluster: Any, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    labels = np.asarray(cluster)
    if labels.shape != kept.shape:
        raise ValueError(f"cluster must have one label per item ({kept.size}); got shape {labels.shape}")
    codes, _ = pd.factorize(labels)
    if (codes < 0).any():
        raise ValueError(
            f"cluster must not be missing; got {labels[np.argmin(codes)]} at item {np.argmin(codes)}"
        )
    return codes[kept].astype(np.int64)


def _item_sums(scores: ArrayLike) -> tuple[Floats, NDArray[np.bool_], float]:
    """Return each item's 1, n, n^2, sum, sum^2 / n and squares within, who has scores, and the unit."""
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"scores must be numbers, items by advocates; got {scores!r}") from None
    if values.ndim != 2:
        raise ValueError(f"scores must be two-dimensional (items, advocates); got shape {values.shape}")
    if np.isinf(values).any():
        raise ValueError("scores must be finite, or NaN where missing; got an infinite score")
    if (np.abs(values) > 1e100).any():
        raise ValueError(f"scores must be at most 1e100 in size; got {np.nanmax(np.abs(values)):g}")
    seen = ~np.isnan(values)
    n = seen.sum(axis=1)
    kept = n > 0
    values, seen, n = values[kept], seen[kept], n[kept]
    if n.size < 2:
        raise ValueError(f"scores must hold at least 2 items with a score; got {n.size}")
    if n.max() < 2:
        raise ValueError("scores must hold an item with at least 2 scores; got single scores only")
    known = values[seen]
    if known.min() == known.max():
        raise ValueError(
            f"scores must differ somewhere: with all {known.size} tied at {known[0]:g} a correlation is undefined"
        )
    # About the mean and in units of the range: scores far from zero lose no digits.
    middle, spread = known.mean(), known.max() - known.min()
    centred = np.where(seen, (values - middle) / spread, 0.0)
    total = centred.sum(axis=1)
    own = np.where(seen, centred - (total / n)[:, None], 0.0)
    within = (own**2).sum(axis=1)
    constant = np.where(seen, values, -np.inf).max(axis=1) == np.where(seen, values, np.inf).min(axis=1)
    within[constant] = 0.0  # exactly, and not what rounding leaves
    sums = np.column_stack([np.ones(n.size), n, n.astype(np.float64) ** 2, total, total**2 / n, within])
    return sums, kept, float(spread)


def _mean_squares(totals: Floats) -> tuple[Floats, Floats, Floats]:
    """Return MSB, MSW and n0 of totals, shape (sets, 6)."""
    items, scores, squares, total, between, within = totals.T
    msb = np.maximum(between - total**2 / scores, 0.0) / (items - 1)
    # A resample of items with single scores has no mean square within, and no correlation.
    free = scores - items
    msw = np.where(free > 0, within / np.where(free > 0, free, 1.0), np.nan)
    return msb, msw, (scores - squares / scores) / (items - 1)


def _correlation(between: Floats, within: Floats, size: Floats) -> Floats:
    whole = between + (size - 1) * within
    known = whole > 0
    return np.where(known, (between - within) / np.where(known, whole, 1.0), np.nan)


def _studentized(items: Floats, tail: float, n_boot: int, rng: RngLike) -> tuple[float, float, int]:
    products = items[:, _UPPER[0]] * items[:, _UPPER[1]]
    columns = np.concatenate([items, products], axis=1)
    whole = columns.sum(axis=0)[None]
    estimate, error = _log_f(whole, len(items))
    drawn, errors = _log_f(resampled_totals(columns, n_boot, rng), len(items))
    known = np.isfinite(drawn) & (errors > 0)
    if known.sum() < 100:
        raise ValueError(
            "kind must be 'percentile' here: too few resamples have variance both between and within items "
            f"({int(known.sum())} of {n_boot})"
        )
    t = (drawn[known] - estimate) / errors[known]
    upper, lower = np.quantile(t, [1 - tail, tail])
    size = _mean_squares(whole[:, :6])[2]
    ratio = np.exp(np.array([estimate[0] - upper * error[0], estimate[0] - lower * error[0]]))
    low, high = _correlation(ratio, np.ones(2), np.repeat(size, 2))
    return float(low), float(high), int(n_boot - known.sum())


def _log_f(columns: Floats, n_clusters: int) -> tuple[Floats, Floats]:
    """Return log F and its sandwich error over clusters, from totals and totals of products."""
    totals, products = columns[:, :6], columns[:, 6:]
    items, scores, _, total, _, within = totals.T
    msb, msw, _ = _mean_squares(totals)
    good = (msb > 0) & (msw > 0)
    ssb = np.where(good, msb * (items - 1), 1.0)
    ssw = np.where(good, within, 1.0)
    free = np.where(good, scores - items, 1.0)
    # Derivatives of log SSB - log SSW + log(N - items) - log(items - 1) by each total.
    slope = np.zeros_like(totals)
    slope[:, _ITEMS] = -1 / free - 1 / (items - 1)
    slope[:, _SCORES] = (total / scores) ** 2 / ssb + 1 / free
    slope[:, _SUM] = -2 * total / scores / ssb
    slope[:, _BETWEEN] = 1 / ssb
    slope[:, _WITHIN] = -1 / ssw
    second = np.zeros((len(columns), 6, 6))
    second[:, _UPPER[0], _UPPER[1]] = products
    second[:, _UPPER[1], _UPPER[0]] = products
    second -= totals[:, :, None] * totals[:, None, :] / n_clusters
    variance = np.einsum("ri,rij,rj->r", slope, second, slope)
    variance *= n_clusters / (n_clusters - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(good, np.log(np.where(good, msb / np.where(good, msw, 1.0), 1.0)), np.nan)
    return value, np.where(good, np.sqrt(np.maximum(variance, 0.0)), np.nan)
