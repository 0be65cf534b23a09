"""The few-parameter chain that a learned one is shrunk towards, and how much it should count for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["smooth_start", "smooth_steps", "worth"]

Floats = NDArray[np.float64]

_WORTHS = np.geomspace(0.1, 1000.0, 33)
# A weak pull of the coefficients to zero keeps a pilot in which nobody ever changes within bounds.
_RIDGE = 0.02
_LEAST = 1e-6


def smooth_start(counts: Floats) -> Floats:
    """Fit a Beta-Binomial to how often each count was seen, shape (panel + 1,)."""
    from scipy.optimize import minimize
    from scipy.special import betaln, binom, expit

    n = len(counts) - 1
    k = np.arange(n + 1)

    def law(x: Floats) -> Floats:
        mean, precision = expit(x[0]), np.exp(np.clip(x[1], -4, 8))
        a, b = mean * precision, (1 - mean) * precision
        return np.asarray(binom(n, k) * np.exp(betaln(a + k, b + n - k) - betaln(a, b)))

    def loss(x: Floats) -> float:
        return float(-(counts * np.log(_floored(law(x)))).sum() + _RIDGE * (x**2).sum())

    found = minimize(loss, np.array([0.0, 1.0]), method="L-BFGS-B", bounds=[(-8, 8), (-4, 8)])
    return _floored(law(found.x))


def smooth_steps(counts: Floats) -> Floats:
    """Fit the four-parameter chain to a table of moves, shape (panel + 1, panel + 1).

    From i right votes, the next count is Binomial(i, s) + Binomial(n - i, r), with logit s and logit r linear
    in the share i / n.
    """
    from scipy.optimize import minimize

    n = len(counts) - 1
    share = np.arange(n + 1) / n

    def loss(x: Floats) -> float:
        return float(-(counts * np.log(_floored(_chain(x, share)))).sum() + _RIDGE * (x**2).sum())

    found = minimize(loss, np.array([0.0, 1.0, -1.0, 1.0]), method="L-BFGS-B", bounds=[(-8, 8)] * 4)
    return _floored(_chain(found.x, share))


def worth(counts: Floats, centres: Floats) -> float:
    """Return the likeliest number of debates per row that the centres count for (Dirichlet-multinomial).

    Parameters
    ----------
    counts, centres : ndarray, shape (rows, outcomes)
    """
    from scipy.special import gammaln

    m = _WORTHS[:, None, None]
    rows = counts.sum(axis=1)
    alpha = m * centres
    terms = (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=(1, 2))
    llf = terms + (gammaln(m[:, :, 0]) - gammaln(m[:, :, 0] + rows)).sum(axis=1)
    return float(_WORTHS[int(llf.argmax())])


def _chain(x: Floats, share: Floats) -> Floats:
    from scipy.special import binom, expit

    n = len(share) - 1
    stay, turn = expit(x[0] + x[1] * share), expit(x[2] + x[3] * share)
    rows = np.empty((n + 1, n + 1))
    for i in range(n + 1):
        kept, won = np.arange(i + 1), np.arange(n - i + 1)
        from_right = binom(i, kept) * stay[i] ** kept * (1 - stay[i]) ** (i - kept)
        from_wrong = binom(n - i, won) * turn[i] ** won * (1 - turn[i]) ** (n - i - won)
        rows[i] = np.convolve(from_right, from_wrong)
    return rows


def _floored(law: Floats) -> Floats:
    raised = law + _LEAST
    result: Floats = raised / raised.sum(axis=-1, keepdims=True)
    return result
