"""The corrected rate of clustered items: rates as sums over clusters, linearised, inverted or resampled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from d3stats._check import RngLike
from d3stats.inference.corrections.judged import grouped_error
from d3stats.inference.corrections.limits import Rates, fieller
from d3stats.inference.corrections.result import CorrectedRate, pairs_of, refuse_blind, refuse_empty, reported
from d3stats.resampling import bootstrap_limits, cluster_totals

Floats = NDArray[np.float64]


def normal_quantile(level: float) -> float:
    """Return the two-sided normal quantile of a level."""
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def clustered_rate(
    rows: Floats,
    units: NDArray[np.int64],
    kind: str,
    level: float,
    n_boot: int,
    rng: RngLike,
    notes: tuple[str, ...],
    clustered: bool,
) -> CorrectedRate:
    """Return the corrected rate with an interval over clusters, or over items as their own clusters."""
    from scipy.special import stdtrit

    totals = cluster_totals(rows, units)
    rates = Rates(*totals.sum(axis=0)[[1, 0, 3, 2, 5, 4]].tolist())
    refuse_empty(rates)
    refuse_blind(rates, normal_quantile(level), clear=True)
    if len(totals) < 2:
        raise ValueError("clusters must be at least 2, for nothing says how one varies; got 1")
    # Influences of the apparent rate, the sensitivity and the specificity, cluster by cluster.
    part = [
        (totals[:, i + 1] - k / m * totals[:, i]) / m
        for i, (k, m) in zip((0, 2, 4), pairs_of(rates), strict=True)
    ]
    scarce = totals[:, 2] + totals[:, 4] > 0
    se_b, df_b = grouped_error(part[1] + part[2], scarce)
    if rates.youden <= float(stdtrit(df_b, (1 + level) / 2)) * se_b:
        refuse_blind(rates, 0.0, clear=False)
    theta = rates.corrected
    se_theta, df = grouped_error(part[0] + part[2] - theta * (part[1] + part[2]), scarce)
    se = se_theta / rates.youden
    t = float(stdtrit(df, (1 + level) / 2))
    ends: tuple[float, float] | None
    if se == 0.0:
        ends = None
    elif kind == "delta":
        ends = theta - t * se, theta + t * se
    elif kind == "Fieller":
        a = [part[0] + part[2], part[1] + part[2]]
        aa, bb, both = (grouped_error(x, scarce)[0] ** 2 for x in (a[0], a[1], a[0] + a[1]))
        # The degrees are those at the estimate; the determinant may be short of b^2 > t^2 bb by their change.
        if rates.youden**2 <= t**2 * bb:
            refuse_blind(rates, 0.0, clear=False)
        ends = fieller(
            rates.apparent + rates.tn / rates.n0 - 1, rates.youden, aa, (both - aa - bb) / 2, bb, t
        )
    else:
        drawn = bootstrap_limits(totals, _corrected, kind=kind, level=level, n_boot=n_boot, rng=rng)  # type: ignore[arg-type]
        low, high = drawn.interval()
        ends = None if low is None or high is None else (low, high)
        notes += tuple(note for note in (drawn.note,) if note)
    label = {"percentile": "bootstrap percentile", "basic": "bootstrap basic", "bca": "bootstrap BCa",
             "studentised": "bootstrap studentised"}.get(kind, f"{kind}, clustered")  # fmt: skip
    return reported(rates, ends, se, label, level, totals if clustered else None, notes)


def _corrected(sums: Floats) -> Floats:
    n, x, n1, tp, n0, tn = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        youden = tp / n1 + tn / n0 - 1
        theta = (x / n + tn / n0 - 1) / youden
    return np.where(youden > 0, theta, np.nan)


def judged_rows(study: Floats, seen: Floats, label: Floats) -> Floats:
    """Return a row per item: study item, called positive; labelled positive, found; labelled negative, found."""
    rows = np.zeros((study.size + seen.size, 6))
    rows[: study.size, 0], rows[: study.size, 1] = 1, study
    calibration = rows[study.size :]
    calibration[:, 2], calibration[:, 3] = label, label * seen
    calibration[:, 4], calibration[:, 5] = 1 - label, (1 - label) * (1 - seen)
    return rows
