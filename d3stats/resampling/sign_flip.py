"""The sign-flip test that a paired difference is zero: how often fair signs of cluster sums give so large a total.

Under the null that the two conditions are exchangeable within a cluster, each cluster's difference is as likely to
be d as -d (Fisher, 1935). Exact for whole-number or rational sums, and for up to 40 real ones; drawn otherwise.

With very many clusters, the signs of the largest sums are drawn one by one. For the most common sizes, the number of
positive sums is drawn, and the total of the rest is a normal number. This neglects the fourth cumulant of the rest.
Beside `DRAWN` larger sums, it moves p by about 1e-5 at most (Edgeworth's first term), a fiftieth of the error of
100,000 draws at p = .05.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats
from d3stats._check import RngLike, as_rng, integer

__all__ = ["SignFlip", "sign_flip_p"]

MOST_ENUMERATED = 40
"""Up to so many real cluster sums all sign patterns are counted, in two halves."""

MOST_DRAWN = 8_192
"""Up to so many real cluster sums every sign is drawn."""
DRAWN = 2_048
"""With more sums than that, so many signs are drawn, those of the largest sums."""
COMMON = 32
"""Up to so many sizes are drawn all at once, by how many of them are positive."""

_MOST_WORK = 400_000_000
_FINEST = 1_000_000
_TIES = 1e-12
_BLOCK = 4_096


@dataclass(frozen=True)
class SignFlip:
    """P-value of a sign-flip test, and how it was computed.

    Attributes
    ----------
    p_value : float
        Two-sided: how likely a total at least as far from 0 is.
    exact : bool
        Whether all sign patterns were counted.
    n_draws : int
        Random patterns drawn, 0 when exact.
    n_clusters : int
        Clusters whose sum is not 0; the others do not affect the p-value.
    n_normal : int
        Clusters, those with the smallest sums, whose total was taken as normal in every draw.

    Examples
    --------
    >>> found = sign_flip_p([1.0, 2.0, 3.0, 4.0])
    >>> found.p_value, found.exact, found.how
    (0.125, True, 'exact')
    """

    p_value: float
    exact: bool
    n_draws: int
    n_clusters: int
    n_normal: int = 0

    @property
    def how(self) -> str:
        """The way in which the patterns were counted, in words."""
        if self.exact:
            return "exact"
        rest = f", the {self.n_normal:,} smallest of {self.n_clusters:,} sums together as a normal one"
        return f"{self.n_draws:,} random swaps" + (rest if self.n_normal else "")


def sign_flip_p(values: ArrayLike, *, n_draws: int = 100_000, rng: RngLike = None) -> SignFlip:
    """Test by sign flips that cluster sums of paired differences are symmetric about zero.

    Parameters
    ----------
    values : array_like of float, shape (clusters,)
        Each cluster's sum of differences.
    n_draws : int
        Random sign patterns where counting all of them is out of reach; the observed one counts as one more draw
        (Phipson and Smyth, 2010), so that p is never 0.
    rng : Generator, int or None
        Used for random patterns only.

    Returns
    -------
    SignFlip

    Raises
    ------
    ValueError
        Values that are not finite or not one-dimensional, or none at all.

    Examples
    --------
    Student's ten differences of hours of sleep (Student, 1908):

    >>> sign_flip_p([1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4])
    SignFlip(p_value=0.00390625, exact=True, n_draws=0, n_clusters=9, n_normal=0)
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"values must be one value per cluster, at least one; got shape {array.shape}")
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"values must be finite; got {array[row]!r} at cluster {row}")
    n_draws = integer("n_draws", n_draws, minimum=1)
    generator = as_rng(rng)
    sizes = np.abs(array[array != 0])
    if sizes.size == 0:
        return SignFlip(1.0, True, 0, 0)
    observed = abs(float(array.sum()))
    whole = _as_whole(array)
    if whole is not None:
        p_value = _by_convolution(np.abs(whole[whole != 0]), abs(int(whole.sum())))
        if p_value is not None:
            return SignFlip(p_value, True, 0, sizes.size)
    if sizes.size <= MOST_ENUMERATED:
        return SignFlip(_by_enumeration(sizes, observed), True, 0, sizes.size)
    if sizes.size <= MOST_DRAWN:
        return SignFlip(_by_drawing(sizes, observed, n_draws, generator), False, n_draws, sizes.size)
    parts = _parts(sizes)
    if whole is not None and parts.n_normal:
        # Totals lie two units apart: a normal one has to reach half-way to the next.
        observed -= float(np.abs(array).max()) / int(np.abs(whole).max())
    p_value = _by_drawing(parts.single, observed, n_draws, generator, parts)
    return SignFlip(p_value, False, n_draws, sizes.size, parts.n_normal)


def _as_whole(values: Floats) -> NDArray[np.int64] | None:
    """Return the values as multiples of a common unit, or None where they have none that is coarse enough."""
    largest = float(np.abs(values).max())
    unit = 0.0
    # Euclid's algorithm on floats: a remainder below the noise is none.
    for value in np.unique(np.abs(values[values != 0])):
        a, b = float(value), unit
        while b > 1e-9 * largest:
            a, b = b, a % b
            if b > (1 - 1e-6) * a:
                b = 0.0
        unit = a
        if largest / unit > _FINEST:
            return None
    multiples = values / unit
    whole = np.rint(multiples)
    if np.abs(multiples - whole).max() > 1e-6:
        return None
    return whole.astype(np.int64)


def _by_convolution(sizes: NDArray[np.int64], observed: int) -> float | None:
    """Count all patterns of whole numbers, size by size; None where that is too much work."""
    from scipy import special

    distinct, times = np.unique(sizes, return_counts=True)
    if len(distinct) == 1:
        # The number of positive signs is binomial.
        n = int(times[0])
        above = (n + observed // int(distinct[0])) // 2
        return min(1.0, 2.0 * float(special.bdtrc(above - 1, n, 0.5))) if observed else 1.0
    top = int(sizes.sum())
    if float((times + 1).sum()) * top > _MOST_WORK:
        return None
    # law[k] is the probability that the sizes with a positive sign add up to k.
    law = np.ones(1)
    for size, n in zip(distinct.tolist(), times.tolist(), strict=True):
        k = np.arange(n + 1)
        binomial = np.exp(
            special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1) - n * np.log(2)
        )
        wider = np.zeros(len(law) + size * n)
        for i, share in enumerate(binomial):
            wider[i * size : i * size + len(law)] += share * law
        law = wider
    if observed == 0:
        return 1.0
    # The total is 2 k - top, and top and the observed total have the same parity.
    return min(1.0, 2.0 * float(law[(top + observed) // 2 :].sum()))


def _by_enumeration(sizes: Floats, observed: float) -> float:
    """Count all patterns of real numbers: the totals of two halves, sorted, met in the middle."""
    half = len(sizes) // 2
    left, right = np.sort(_all_totals(sizes[:half])), np.sort(_all_totals(sizes[half:]))
    threshold = observed - _TIES * float(sizes.sum())
    if threshold <= 0:
        return 1.0
    reached = len(right) - np.searchsorted(right, threshold - left, side="left")
    return min(1.0, 2.0 * int(reached.sum()) / 2.0 ** len(sizes))


def _all_totals(sizes: Floats) -> Floats:
    totals = np.zeros(1)
    for size in sizes:
        totals = np.concatenate([totals - size, totals + size])
    return totals


class _Parts(NamedTuple):
    """How very many sums are drawn: single ones, sizes that many share, and the spread of the rest's total."""

    single: Floats
    common: Floats
    times: NDArray[np.int64]
    spread: float
    n_normal: int


def _parts(sizes: Floats) -> _Parts:
    distinct, times = np.unique(sizes, return_counts=True)
    often = np.sort(np.argsort(-times, kind="stable")[:COMMON])
    often = often[times[often] >= COMMON]
    alone = np.ones(len(distinct), dtype=bool)
    alone[often] = False
    rest = np.repeat(distinct[alone], times[alone])
    n_normal = max(len(rest) - DRAWN, 0)
    spread = float(np.sqrt(np.square(rest[:n_normal]).sum()))
    return _Parts(rest[n_normal:], distinct[often], times[often], spread, n_normal)


def _by_drawing(
    sizes: Floats, observed: float, n_draws: int, generator: np.random.Generator, more: _Parts | None = None
) -> float:
    """Draw sign patterns eight clusters at a time: a random byte looks up the total of its eight signs."""
    padded = np.zeros(-(-len(sizes) // 8) * 8)
    padded[: len(sizes)] = sizes
    tables = [_all_totals(eight) for eight in padded.reshape(-1, 8)]
    scale = float(sizes.sum()) + (0.0 if more is None else float(more.common @ more.times))
    threshold = observed - _TIES * scale
    reached = 0
    for low in range(0, n_draws, _BLOCK):
        size = min(_BLOCK, n_draws - low)
        bytes_ = np.frombuffer(generator.bytes(size * len(tables)), dtype=np.uint8).reshape(len(tables), size)
        total = np.zeros(size)
        for table, byte in zip(tables, bytes_, strict=True):
            total += table[byte]
        if more is not None:
            total += more.spread * generator.standard_normal(size)
            for each, times in zip(more.common, more.times, strict=True):
                total += each * (2.0 * generator.binomial(times, 0.5, size) - times)
        reached += int((np.abs(total) >= threshold).sum())
    return (reached + 1) / (n_draws + 1)
