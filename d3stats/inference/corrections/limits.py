"""Limits of a corrected rate from the three rates that it is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rates:
    """Counts of the study (`x` positive of `n`) and of the calibration (`tp` of `n1` positives, `tn` of `n0`)."""

    x: float
    n: float
    tp: float
    n1: float
    tn: float
    n0: float

    @property
    def apparent(self) -> float:
        """Share that the judge calls positive."""
        return self.x / self.n

    @property
    def youden(self) -> float:
        """Sensitivity + specificity - 1."""
        return self.tp / self.n1 + self.tn / self.n0 - 1

    @property
    def corrected(self) -> float:
        """(p + Sp - 1) / (Se + Sp - 1), not truncated."""
        return (self.apparent + self.tn / self.n0 - 1) / self.youden

    def variances(self) -> tuple[float, float, float]:
        """Return the binomial variances of the apparent rate, the sensitivity and the specificity."""
        parts = ((self.x, self.n), (self.tp, self.n1), (self.tn, self.n0))
        p, se, sp = (k / m * (1 - k / m) / m for k, m in parts)
        return p, se, sp

    def adjusted(self, z: float) -> Rates:
        """Return the counts with z^2 / 2 (study) and 1 (calibration) successes and failures more."""
        return Rates(
            self.x + z**2 / 2, self.n + z**2, self.tp + 1, self.n1 + 2, self.tn + 1, self.n0 + 2
        )  # fmt: skip


def covariance(rates: Rates) -> tuple[float, float, float]:
    """Return Var a, Cov(a, b), Var b of a = p + Sp - 1 and b = Se + Sp - 1 for independent samples."""
    p, se, sp = rates.variances()
    return p + sp, sp, se + sp


def delta_error(rates: Rates) -> float:
    """Return the standard error of the corrected rate (Rogan and Gladen 1978; with estimated Se and Sp)."""
    theta = rates.corrected
    p, se, sp = rates.variances()
    return float(np.sqrt(p + theta**2 * se + (1 - theta) ** 2 * sp) / abs(rates.youden))


def lang_reiczigel(rates: Rates, z: float) -> tuple[float, float]:
    """Return Lang and Reiczigel's (2014) limits: delta method on adjusted counts, with a shift; not truncated."""
    more = rates.adjusted(z)
    theta = more.corrected
    _, se, sp = more.variances()
    centre = theta + 2 * z**2 * (theta * se - (1 - theta) * sp)
    half = z * delta_error(more)
    return centre - half, centre + half


def fieller(a: float, b: float, aa: float, ab: float, bb: float, t: float) -> tuple[float, float]:
    """Return all theta for which a - theta b is within t errors of 0 (Fieller 1954); b must be t errors above 0."""
    first, second, third = b**2 - t**2 * bb, a * b - t**2 * ab, a**2 - t**2 * aa
    root = float(np.sqrt(max(second**2 - first * third, 0.0)))
    return (second - root) / first, (second + root) / first


def clearly_tells_apart(rates: Rates, z: float) -> bool:
    """Say whether Se + Sp - 1 is z errors above 0, with one success and one failure added to each."""
    more = rates.adjusted(z)
    _, se, sp = more.variances()
    return bool(more.youden > z * np.sqrt(se + sp))
