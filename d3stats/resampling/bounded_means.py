"""Is a mean of bounded values below a limit? A test by betting, valid for any number of independent clusters.

The values of a cluster add up to a sum between minus its size and its size. Clusters are independent, but they may
have different laws and sizes. The mean is that over all values, so a large cluster counts more than a small one, and
the sizes are taken as given. No cluster bets more than the largest one can lose, so a hundred small clusters beside
one that holds half of all values are worth about two clusters.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from d3stats._arrays import Floats

__all__ = ["betting_p", "betting_upper"]


_STAKES = 64
_BETS = 1.0 - ((np.arange(_STAKES) + 0.5) / _STAKES) ** 2
_HALVINGS = 30
_TOP = 1.0 - 1e-9


def betting_p(
    sums: ArrayLike, limit: float, sizes: ArrayLike | None = None, *, largest: float | None = None
) -> Floats:
    """Return the p-value of "the mean is at least `limit`", one over the mean wealth of constant bets against it.

    Let x be the sum of a cluster and w its size, both divided by the largest size, and m the limit. A bet of stake s in
    [0, 1/(1 - m)) turns wealth v into v (1 + s (m w - x)), which never falls below 0. The clusters are independent, so
    the expected final wealth is the product of the expected factors. By the inequality of the arithmetic and geometric
    means it is at most 1 where the mean is at least m. The mean over stakes fixed in advance, the quantiles of
    s (1 - m) = 1 - u with u ~ Beta(1/2, 1), is so an e-value, and Markov's inequality makes 1/mean a p-value. It adapts
    to the variance: with few losses it needs some 1/m clusters, where Hoeffding's inequality on [-1, 1] needs 1/m^2.
    Source: Waudby-Smith and Ramdas (2024), JRSS-B 86, arXiv 2010.09686, section 4.

    Parameters
    ----------
    sums : array of float, shape (clusters,) or (clusters, columns)
        Sum of each cluster's values, which lie in [-1, 1].
    limit : float
        In (0, 1).
    sizes : array of float, shape (clusters,), optional
        Number of values of each cluster; by default 1.
    largest : float, optional
        The most values that a cluster could have had; by default the largest size. Where chance makes the sizes, as
        where only some values of a cluster count, the test is valid with a number that is fixed beforehand.

    Returns
    -------
    ndarray of float, shape () or (columns,)

    Examples
    --------
    >>> zeros = [float(betting_p(np.zeros(n), 0.05)) for n in (58, 59)]
    >>> [round(p, 4) for p in zeros]
    [0.1001, 0.0959]
    >>> round(float(betting_p(np.zeros(59), 0.05, [20] + [1] * 58)), 2)
    0.87
    """
    values = np.asarray(sums, dtype=np.float64)
    x, w, counts = _distinct(values, sizes, largest)
    return np.asarray(_p(x, w, counts, limit).reshape(values.shape[1:]))


def betting_upper(sums: ArrayLike, alpha: float, sizes: ArrayLike | None = None) -> float:
    """Return the upper confidence limit of the largest of several means, by inverting :func:`betting_p`.

    The largest true mean belongs to one column, and the limit is at least that of this column. So the limit is below
    the largest mean with probability `alpha` at most, for any number of columns.

    Parameters
    ----------
    sums : array of float, shape (clusters, columns)
        Sum of each cluster's values, which lie in [-1, 1].
    alpha : float
        Probability of error, in (0, 1).
    sizes : array of float, shape (clusters,), optional
        Number of values of each cluster; by default 1.

    Returns
    -------
    float
        In (0, 1].

    Examples
    --------
    >>> rare = np.zeros((61, 1))
    >>> rare[0] = 1
    >>> round(betting_upper(rare, 0.05), 4), round(betting_upper(np.zeros((61, 1)), 0.05), 4)
    (0.104, 0.06)
    """
    x, w, counts = _distinct(np.asarray(sums, dtype=np.float64), sizes)
    low, high = 0.0, _TOP
    if _p(x, w, counts, high).max() > alpha:
        return 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _p(x, w, counts, middle).max() <= alpha else (middle, high)
    return high


def _distinct(
    sums: Floats, sizes: ArrayLike | None, largest: float | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return the different pairs of sum and size, over the largest size, and how often each column has them."""
    columns = sums.reshape(len(sums), -1)
    size = np.ones(len(sums)) if sizes is None else np.asarray(sizes, dtype=np.float64)
    largest = size.max() if largest is None else largest
    pairs, index = np.unique(columns + 1j * size[:, None], return_inverse=True)
    index = index.reshape(columns.shape)
    counts = np.array([np.bincount(column, minlength=len(pairs)) for column in index.T], dtype=np.float64).T
    return pairs.real / largest, pairs.imag / largest, counts


def _p(x: Floats, w: Floats, counts: Floats, limit: float) -> Floats:
    stakes = _BETS / (1.0 - limit)
    growth = np.log1p(stakes[:, None] * (limit * w - x)) @ counts
    wealth = scipy.special.logsumexp(growth, axis=0) - np.log(_STAKES)
    return np.asarray(np.exp(np.minimum(0.0, -wealth)), dtype=np.float64)
