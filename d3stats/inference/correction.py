"""How often is it so, when a judge with known errors says how often?

A judge that calls a share p of items positive, finds positives with sensitivity Se and negatives with specificity
Sp, sees p = theta Se + (1 - theta) (1 - Sp). Solved for the true share,

    theta = (p + Sp - 1) / (Se + Sp - 1).

Se and Sp come from a calibration set: judged items whose label is known. Their error is a part of the answer's, and
with few calibration items the larger part.

What it assumes: the judge errs on the study's items as it does on the calibration's (given the label). The calibration
set may be chosen by label, for instance half of it positives; it need not look like the study. When it is a random
part of the study, :func:`~d3stats.inference.prediction_powered.prediction_powered_mean` assumes less and is narrower.

Intervals: ``Lang-Reiczigel`` (independent items; adds z^2/2 and 1 to the counts, and holds near 0 and 1), ``Fieller``
(inverts the test of a - theta b = 0; clusters allowed), ``delta`` (symmetric; too short near 0 and 1), and bootstraps.

References
----------
Rogan and Gladen (1978), American Journal of Epidemiology 107, 71. Lang and Reiczigel (2014), Preventive Veterinary
Medicine 113, 13. Fieller (1954), J. R. Stat. Soc. B 16, 175.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, choice, integer, probability
from d3stats.estimate import Estimate
from d3stats.inference._correction_limits import (
    Rates,
    clearly_tells_apart,
    covariance,
    delta_error,
    fieller,
    lang_reiczigel,
)
from d3stats.inference._judged import cluster_codes, column_of, grouped_error, refuse_scores
from d3stats.inference._reported import Reported
from d3stats.inference.proportion import share
from d3stats.resampling import bootstrap_limits, cluster_totals

__all__ = ["CorrectedRate", "correct_counts", "correct_rate"]

Floats = NDArray[np.float64]
CorrectionKind = Literal["Lang-Reiczigel", "Fieller", "delta", "percentile", "basic", "bca", "studentised"]
CLOSED = ("Lang-Reiczigel", "Fieller", "delta")
BOOTSTRAPS = ("percentile", "basic", "bca", "studentised")


@dataclass(frozen=True)
class CorrectedRate(Reported):
    """What :func:`correct_rate` found.

    Attributes
    ----------
    rate : Estimate
        The corrected share, within [0, 1].
    naive : Estimate
        What the judge alone says.
    labels_only : Estimate
        Share of positives in the calibration set: comparable only when that is a random part of the study.
    sensitivity, specificity : Estimate
    youden : float
        Se + Sp - 1: 1 for a judge without error, 0 for one that knows nothing.
    untruncated : float
        The corrected share before it was put into [0, 1].
    notes : tuple of str
    """

    rate: Estimate
    naive: Estimate
    labels_only: Estimate
    sensitivity: Estimate
    specificity: Estimate
    youden: float
    untruncated: float
    notes: tuple[str, ...] = ()

    __str__ = Reported.__str__

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Corrected, naive, labels only, sensitivity, specificity."""
        return self.rate, self.naive, self.labels_only, self.sensitivity, self.specificity

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dictionary that JSON can hold."""
        return super().to_dict() | {"youden": self.youden, "untruncated": self.untruncated}


def correct_counts(
    positive: int,
    n: int,
    true_positive: int,
    n_positive: int,
    true_negative: int,
    n_negative: int,
    *,
    kind: Literal["Lang-Reiczigel", "Fieller", "delta"] = "Lang-Reiczigel",
    level: float = 0.95,
) -> CorrectedRate:
    """Correct a judged share from counts of independent items.

    Parameters
    ----------
    positive, n : int
        Items that the judge calls positive, of how many in the study.
    true_positive, n_positive : int
        Labelled positives that the judge calls positive, of how many in the calibration set.
    true_negative, n_negative : int
        Labelled negatives that the judge calls negative, of how many.
    kind : {"Lang-Reiczigel", "Fieller", "delta"}
    level : float

    Raises
    ------
    ValueError
        When counts are no counts, the calibration set lacks positives or negatives, or Se + Sp - 1 is not above 0
        by more than its error: the judge is then not known to tell positives from negatives.

    Examples
    --------
    >>> print(correct_counts(130, 400, 85, 100, 92, 100).rate)
    corrected rate: 0.318 [0.231, 0.399] (95 % Lang-Reiczigel, n = 400)
    """
    choice("kind", kind, CLOSED)
    level = probability("level", level, open_interval=True)
    for name, k, most, of in (
        ("positive", positive, n, "n"),
        ("true_positive", true_positive, n_positive, "n_positive"),
        ("true_negative", true_negative, n_negative, "n_negative"),
    ):
        if integer(name, k, minimum=0) > integer(of, most, minimum=0):
            raise ValueError(f"{of} must be >= {name}; got {of}={most}, {name}={k}")
    rates = Rates(positive, n, true_positive, n_positive, true_negative, n_negative)
    _refuse_empty(rates)
    z = _normal_quantile(level)
    _refuse_blind(rates, z, clear=True)
    aa, ab, bb = covariance(rates)
    a = rates.apparent + rates.tn / rates.n0 - 1
    if kind == "Lang-Reiczigel":
        ends = lang_reiczigel(rates, z)
    elif kind == "Fieller":
        ends = fieller(a, rates.youden, aa, ab, bb, z)
    else:
        half = z * delta_error(rates)
        ends = rates.corrected - half, rates.corrected + half
    return _result(rates, ends, delta_error(rates), kind, level, None, ())


def correct_rate(
    judge: ArrayLike,
    calibration_judge: ArrayLike,
    calibration_label: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    calibration_cluster: ArrayLike | None = None,
    kind: CorrectionKind | None = None,
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
) -> CorrectedRate:
    """Correct the share of items that a judge calls positive for the judge's errors.

    Parameters
    ----------
    judge : array of 0/1, shape (items,)
        The judge's verdicts in the study; missing ones (NaN, None) are left out and counted in the notes.
    calibration_judge, calibration_label : array of 0/1, shape (calibration items,)
        Verdict and label of items that are *not* among the study's; pairs with one missing are left out.
    cluster, calibration_cluster : array, optional
        The question of each item; a question may occur in both.
    kind : {"Lang-Reiczigel", "Fieller", "delta", "percentile", "basic", "bca", "studentised"}, optional
        By default "Lang-Reiczigel", and "Fieller" with clusters; the last four are bootstraps of clusters.
    level : float
    n_boot : int
        Replicates of the bootstraps.
    rng : Generator, int or None
        Of the bootstraps.

    Returns
    -------
    CorrectedRate
        The corrected share beside the naive one; truncation to [0, 1] is said in a note.

    Raises
    ------
    ValueError
        As :func:`correct_counts`; when a verdict is not 0 or 1; when the kind does not go with clusters.

    Examples
    --------
    >>> import numpy as np
    >>> judge = np.repeat([1, 0], [130, 270])
    >>> seen, label = np.repeat([1, 0, 1, 0], [85, 15, 8, 92]), np.repeat([1, 0], 100)
    >>> result = correct_rate(judge, seen, label)
    >>> print(result.rate.value.__round__(3), result.naive.value)
    0.318 0.325
    """
    level = probability("level", level, open_interval=True)
    study = column_of("judge", judge)
    seen = column_of("calibration_judge", calibration_judge)
    label = column_of("calibration_label", calibration_label, seen.size)
    for name, column in (("judge", study), ("calibration_judge", seen), ("calibration_label", label)):
        refuse_scores(name, column)
    codes = cluster_codes(
        [("cluster", cluster, study.size), ("calibration_cluster", calibration_cluster, seen.size)]
    )
    chosen = kind if kind is not None else ("Lang-Reiczigel" if codes is None else "Fieller")
    choice("kind", chosen, (*CLOSED, *BOOTSTRAPS))
    if chosen == "Lang-Reiczigel" and codes is not None:
        raise ValueError(
            "kind must not be 'Lang-Reiczigel' with clusters: it takes items as independent; got both"
        )
    kept, whole = ~np.isnan(study), ~(np.isnan(seen) | np.isnan(label))
    notes = tuple(
        f"{int((~good).sum())} of {good.size} {what} left out: {why}"
        for good, what, why in (
            (kept, "study items", "no verdict"),
            (whole, "calibration items", "no verdict or no label"),
        )
        if not good.all()
    )
    rows = _rows(study[kept], seen[whole], label[whole])
    if codes is None:
        rates = Rates(*rows.sum(axis=0)[[1, 0, 3, 2, 5, 4]].tolist())
        if chosen in CLOSED:
            plain = correct_counts(*(int(c) for c in _counts(rates)), kind=chosen, level=level)  # type: ignore[arg-type]
            return replace(plain, notes=notes + plain.notes)
        units = np.arange(len(rows))
    else:
        units = np.concatenate([codes[0][kept], codes[1][whole]])
    return _clustered(rows, units, chosen, level, n_boot, rng, notes, codes is not None)


def _clustered(
    rows: Floats,
    units: NDArray[np.int64],
    kind: str,
    level: float,
    n_boot: int,
    rng: RngLike,
    notes: tuple[str, ...],
    clustered: bool,
) -> CorrectedRate:
    from scipy.special import stdtrit

    totals = cluster_totals(rows, units)
    rates = Rates(*totals.sum(axis=0)[[1, 0, 3, 2, 5, 4]].tolist())
    _refuse_empty(rates)
    _refuse_blind(rates, _normal_quantile(level), clear=True)
    if len(totals) < 2:
        raise ValueError("clusters must be at least 2, for nothing says how one varies; got 1")
    # Influences of the apparent rate, the sensitivity and the specificity, cluster by cluster.
    part = [
        (totals[:, i + 1] - k / m * totals[:, i]) / m
        for i, (k, m) in zip((0, 2, 4), _pairs(rates), strict=True)
    ]
    scarce = totals[:, 2] + totals[:, 4] > 0
    se_b, df_b = grouped_error(part[1] + part[2], scarce)
    if rates.youden <= float(stdtrit(df_b, (1 + level) / 2)) * se_b:
        _refuse_blind(rates, 0.0, clear=False)
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
            _refuse_blind(rates, 0.0, clear=False)
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
    return _result(rates, ends, se, label, level, totals if clustered else None, notes)


def _result(
    rates: Rates,
    ends: tuple[float, float] | None,
    se: float,
    kind: str,
    level: float,
    totals: Floats | None,
    notes: tuple[str, ...],
) -> CorrectedRate:
    theta = rates.corrected
    value = min(max(theta, 0.0), 1.0)
    said = []
    if value != theta:
        said.append(f"the corrected share is {theta:.3f}, truncated to {value:g}")
    low = high = None
    if ends is None:
        said.append("no interval: no cluster differs from the others")
    else:
        low, high = (min(max(end, 0.0), 1.0) for end in ends)
        cut = [f"{end:.3f}" for end in ends if not 0 <= end <= 1]
        if cut:
            said.append(f"limits outside [0, 1] were truncated: {', '.join(cut)}")
        # A shifted interval may leave a truncated estimate outside by a hair.
        low, high = min(low, value), max(high, value)
    n_clusters = None if totals is None else len(totals)
    rate = Estimate(
        name="corrected rate",
        value=value,
        low=low,
        high=high,
        kind=kind,
        n=int(rates.n),
        se=se,
        level=level,
        n_clusters=n_clusters,
        note="; ".join(said),
    )
    parts = []
    names = ("judge alone", "sensitivity", "specificity", "labels alone")
    pairs = [*_pairs(rates), (rates.n1, rates.n1 + rates.n0)]
    columns = ((1, 0), (3, 2), (5, 4), (2, None))
    for name, (k, m), (top, bottom) in zip(names, pairs, columns, strict=True):
        if totals is None:
            parts.append(share(int(k), int(m), level=level, name=name))
            continue
        size = totals[:, 2] + totals[:, 4] if bottom is None else totals[:, bottom]
        on = size > 0
        parts.append(
            share(
                totals[on, top].astype(int),
                size[on].astype(int),
                cluster=np.flatnonzero(on),
                level=level,
                name=name,
            )
        )
    naive, sensitivity, specificity, labels = parts
    return CorrectedRate(
        rate, naive, labels, sensitivity, specificity, rates.youden, theta, notes + tuple(said)
    )


def _corrected(sums: Floats) -> Floats:
    n, x, n1, tp, n0, tn = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        youden = tp / n1 + tn / n0 - 1
        theta = (x / n + tn / n0 - 1) / youden
    return np.where(youden > 0, theta, np.nan)


def _rows(study: Floats, seen: Floats, label: Floats) -> Floats:
    rows = np.zeros((study.size + seen.size, 6))
    rows[: study.size, 0], rows[: study.size, 1] = 1, study
    calibration = rows[study.size :]
    calibration[:, 2], calibration[:, 3] = label, label * seen
    calibration[:, 4], calibration[:, 5] = 1 - label, (1 - label) * (1 - seen)
    return rows


def _pairs(rates: Rates) -> tuple[tuple[float, float], ...]:
    return (rates.x, rates.n), (rates.tp, rates.n1), (rates.tn, rates.n0)


def _counts(rates: Rates) -> tuple[float, ...]:
    return rates.x, rates.n, rates.tp, rates.n1, rates.tn, rates.n0


def _normal_quantile(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def _refuse_empty(rates: Rates) -> None:
    if rates.n < 1:
        raise ValueError("the study must have a judged item; got none")
    for what, size, rate in (("positives", rates.n1, "sensitivity"), ("negatives", rates.n0, "specificity")):
        if size < 1:
            raise ValueError(
                f"the calibration set must hold {what}, for the {rate} is unknown without; got none"
            )


def _refuse_blind(rates: Rates, z: float, *, clear: bool) -> None:
    if clear and clearly_tells_apart(rates, z):
        return
    raise ValueError(
        "the judge must be known to tell positives from negatives (Se + Sp - 1 above 0 by more than its error): "
        f"got Se = {rates.tp / rates.n1:.3f} of {rates.n1:g} and Sp = {rates.tn / rates.n0:.3f} of {rates.n0:g}; "
        "more calibration labels, or a better judge"
    )
