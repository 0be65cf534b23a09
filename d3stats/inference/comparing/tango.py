"""The difference of two shares on the same items by its score test: limits and tests that hold with few changes.

A Wald or t interval takes its error from the changes that were seen; with two or three of them that is far too short.
The score test takes the error that the tested difference itself implies, from the shares gained and lost that are the
most likely under it. Items are taken as independent of each other.

References
----------
Tango (1998), Statistics in Medicine 17, 891.
"""

from __future__ import annotations

import math

__all__ = ["score_limits", "score_z"]

_HALVINGS = 60


def score_z(gained: int, lost: int, n: int, difference: float) -> float:
    """Return how many standard errors the observed difference lies above a tested one.

    Parameters
    ----------
    gained, lost : int
        Items that the second run alone has right, and the first alone.
    n : int
        Items.
    difference : float
        The tested difference, second less first, in [-1, 1].

    Returns
    -------
    float
        Falls from infinity at -1 to minus infinity at 1; 0 where the difference is the observed one.

    Examples
    --------
    >>> round(score_z(0, 3, 300, -0.02), 3)
    1.237
    """
    if difference < 0:
        return -score_z(lost, gained, n, -difference)
    above = gained - lost - n * difference
    # The likelihood of the share lost, given the difference, is largest at the root of a q^2 + b q - c.
    a, b = 2.0 * n, (2 * n - gained + lost) * difference - gained - lost
    c = lost * difference * (1 - difference)
    root = math.sqrt(b * b + 4 * a * c)
    # Of two equal forms, the one that does not subtract near-equal numbers.
    q = (root - b) / (2 * a) if b <= 0 else 2 * c / (root + b)
    variance = n * (2 * q + difference * (1 - difference))
    if variance <= 0:
        return 0.0 if above == 0 else math.copysign(math.inf, above)
    return above / math.sqrt(variance)


def score_limits(gained: int, lost: int, n: int, level: float) -> tuple[float, float]:
    """Return the differences that the two-sided score test at 1 - level does not reject, lowest and highest.

    Examples
    --------
    >>> [round(limit, 4) for limit in score_limits(28, 25, 618, 0.9)]
    [-0.0148, 0.0247]
    """
    from scipy.special import ndtri

    reach = float(ndtri((1 + level) / 2))
    return -_highest(lost, gained, n, reach), _highest(gained, lost, n, reach)


def _highest(gained: int, lost: int, n: int, reach: float) -> float:
    if gained == n:
        return 1.0
    inside, outside = (gained - lost) / n, 1.0
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if score_z(gained, lost, n, middle) >= -reach:
            inside = middle
        else:
            outside = middle
    return inside
