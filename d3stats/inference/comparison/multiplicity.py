"""P-values adjusted for the number of tests: Holm, Benjamini-Hochberg, Bonferroni.

- ``holm``: the chance of one false rejection or more stays below the level, for any dependence between the
  tests. It is never worse than Bonferroni.
- ``bh``: the expected share of false rejections among all stays below the level (Benjamini-Hochberg); for independent
  or positively dependent tests.
- ``bonferroni``: each p-value times the number of tests; for comparison with published values.

References
----------
Holm (1979), Scandinavian Journal of Statistics 6, 65. Benjamini and Hochberg (1995), Journal of the Royal Statistical
Society B 57, 289.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import choice, refuse_first

__all__ = ["Family", "adjust"]

Family = Literal["holm", "bh", "bonferroni"]
"""The methods that adjust p-values for the number of tests."""
FAMILIES: tuple[str, ...] = get_args(Family)


def adjust(p_values: ArrayLike, method: Family = "holm") -> NDArray[np.float64]:
    """Adjust p-values for the number of tests, by Holm, Benjamini-Hochberg or Bonferroni.

    Parameters
    ----------
    p_values : array of float, shape (tests,)
        One per test of the family, all of them: leaving out the large ones makes the others too small.
    method : {"holm", "bh", "bonferroni"}
        Holm, Benjamini-Hochberg or Bonferroni.

    Returns
    -------
    ndarray of float, shape (tests,)
        In the order given, at most 1; equal p-values stay equal.

    Raises
    ------
    ValueError
        When there is none, or one is missing or outside [0, 1]: a test that could not be made belongs into the
        report, not into the family.

    Examples
    --------
    >>> adjust([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    >>> adjust([0.01, 0.04, 0.03], "bh").round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    choice("method", method, FAMILIES)
    p = _checked(p_values)
    m = p.size
    if method == "bonferroni":
        return np.minimum(m * p, 1.0)
    # statsmodels computes the same, and collects garbage of the whole process in every call: .3 s.
    order = np.argsort(p, kind="stable")
    ascending = p[order]
    if method == "holm":
        steps = np.maximum.accumulate(np.arange(m, 0, -1) * ascending)
    else:
        steps = np.minimum.accumulate((m / np.arange(1, m + 1) * ascending)[::-1])[::-1]
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def _checked(p_values: ArrayLike) -> NDArray[np.float64]:
    try:
        p = np.asarray(p_values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"p_values must be numbers; got {p_values!r}") from None
    if p.ndim != 1 or p.size == 0:
        raise ValueError(f"p_values must be a list of at least one; got an array of shape {p.shape}")
    refuse_first("p_values", "must lie between 0 and 1", p, ~((p >= 0) & (p <= 1)))
    return p
