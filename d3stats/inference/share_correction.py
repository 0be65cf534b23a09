"""How often is each answer so, when a judge with a known table of confusions says how often?

With several categories (first, second, tie) the judge's shares are q = A theta, A[j, i] the chance that it says j
where the label is i. Solved, theta = A^-1 q; with two categories this is the correction by sensitivity and specificity.
The error is by the delta method, from the study and from every column of A:

    Cov theta = A^-1 ( Cov q + sum_i theta_i^2 Cov A_i ) A^-T.

References
----------
Rogan and Gladen (1978), American Journal of Epidemiology 107, 71. Kuha and Skinner (1997), in Survey Measurement and
Process Quality (misclassification with validation data).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import probability, whole_numbers
from d3stats.estimate import Estimate
from d3stats.inference._reported import Reported

__all__ = ["CorrectedShares", "correct_shares"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CorrectedShares(Reported):
    """What :func:`correct_shares` found.

    Attributes
    ----------
    shares : tuple of Estimate
        The corrected share of each category, within [0, 1].
    naive : tuple of Estimate
        What the judge alone says.
    untruncated : tuple of float
        Corrected shares before truncation; they add up to 1.
    covariance : ndarray of float, shape (categories, categories)
        Of the untruncated shares.
    notes : tuple of str
    """

    shares: tuple[Estimate, ...]
    naive: tuple[Estimate, ...]
    untruncated: tuple[float, ...]
    covariance: Floats = field(repr=False, compare=False)
    notes: tuple[str, ...] = ()

    __str__ = Reported.__str__

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Corrected shares, then the judge's."""
        return self.shares + self.naive

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dictionary that JSON can hold."""
        return super().to_dict() | {
            "untruncated": list(self.untruncated),
            "covariance": self.covariance.tolist(),
        }


def correct_shares(
    judged: ArrayLike,
    confusion: ArrayLike,
    *,
    categories: Sequence[str] | None = None,
    level: float = 0.95,
) -> CorrectedShares:
    """Correct the shares of several categories for a judge's confusions, items independent.

    Parameters
    ----------
    judged : array of int, shape (categories,)
        How many items of the study the judge put in each category.
    confusion : array of int, shape (categories, categories)
        Calibration items by label (row) and verdict (column); none of them is in the study.
    categories : sequence of str, optional
        Their names.
    level : float
        Of delta-method intervals with a normal quantile, too short for shares near 0 and 1.

    Returns
    -------
    CorrectedShares

    Raises
    ------
    ValueError
        When counts are no counts, a label has no calibration item, or the table does not tell the labels apart by
        more than its error: its determinant is not that far from 0.

    Examples
    --------
    >>> found = correct_shares([130, 270], [[85, 15], [8, 92]], categories=["yes", "no"])
    >>> [round(share.value, 3) for share in found.shares]
    [0.318, 0.682]
    """
    from scipy.special import ndtri

    level = probability("level", level, open_interval=True)
    z = float(ndtri((1 + level) / 2))
    study = whole_numbers("judged", judged).astype(float)
    size = study.size
    table = np.asarray(confusion)
    if table.shape != (size, size) or size < 2:
        raise ValueError(f"confusion must have shape ({size}, {size}), with at least 2; got {table.shape}")
    counts = whole_numbers("confusion", table.ravel()).astype(float).reshape(size, size)
    names = tuple(map(str, range(1, size + 1))) if categories is None else tuple(map(str, categories))
    if len(names) != size:
        raise ValueError(f"categories must have {size} names; got {len(names)}")
    if study.sum() < 1:
        raise ValueError("judged must hold an item; got none")
    labelled = counts.sum(axis=1)
    if (labelled < 1).any():
        empty = names[int(np.argmin(labelled))]
        raise ValueError(f"confusion must hold calibration items of every label; got none of {empty!r}")
    _refuse_alike(counts, z, names)
    said = (counts / labelled[:, None]).T
    inverse = np.linalg.inv(said)
    q = study / study.sum()
    theta = inverse @ q
    middle = _multinomial(q, study.sum())
    for i in range(size):
        middle += theta[i] ** 2 * _multinomial(said[:, i], labelled[i])
    covariance = inverse @ middle @ inverse.T
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    notes: list[str] = []
    shares = tuple(
        _estimate(f"corrected share of {name}", float(value), float(error), z, int(study.sum()), level, notes)
        for name, value, error in zip(names, theta, errors, strict=True)
    )
    plain = np.sqrt(q * (1 - q) / study.sum())
    naive = tuple(
        _estimate(f"judge alone: {name}", float(value), float(error), z, int(study.sum()), level, [])
        for name, value, error in zip(names, q, plain, strict=True)
    )
    return CorrectedShares(shares, naive, tuple(map(float, theta)), covariance, tuple(notes))


def _multinomial(p: Floats, n: float) -> Floats:
    result: Floats = (np.diag(p) - np.outer(p, p)) / n
    return result


def _estimate(
    name: str, value: float, se: float, z: float, n: int, level: float, notes: list[str]
) -> Estimate:
    inside = min(max(value, 0.0), 1.0)
    low, high = value - z * se, value + z * se
    note = ""
    if inside != value:
        note = f"{value:.3f}, truncated to {inside:g}"
        notes.append(f"{name}: {note}")
    if se == 0 or high < 0 or low > 1:
        why = "no spread in the data" if se == 0 else f"[{low:.3f}, {high:.3f}] lies outside [0, 1]"
        return Estimate(name=name, value=inside, low=None, high=None, kind="delta", n=n, level=level,
                        note="; ".join(x for x in (note, why) if x))  # fmt: skip
    return Estimate(name=name, value=inside, low=max(low, 0.0), high=min(high, 1.0), kind="delta", n=n, se=se,
                    level=level, note=note)  # fmt: skip


def _refuse_alike(counts: Floats, z: float, names: tuple[str, ...]) -> None:
    # With one more of each pair of label and verdict, as one success and one failure are added for two categories.
    more = counts + 1
    labelled = more.sum(axis=1)
    said = more / labelled[:, None]
    determinant = float(np.linalg.det(said))
    clear = determinant > 0
    if clear:
        slope = determinant * np.linalg.inv(said).T
        variance = sum(slope[i] @ _multinomial(said[i], labelled[i]) @ slope[i] for i in range(len(names)))
        clear = determinant > z * float(np.sqrt(variance))
    if not clear:
        raise ValueError(
            "the judge must be known to tell the labels apart (determinant of its table of shares above 0 by more than "
            f"its error): got {determinant:.3f} for {', '.join(names)}; more calibration labels, or a better judge"
        )
