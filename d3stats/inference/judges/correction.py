"""Share of positives corrected for a judge's sensitivity and specificity, with its interval (Rogan and Gladen, 1978).

From the judge's share p of positives, and sensitivity Se and specificity Sp on labelled calibration items,
theta = (p + Sp - 1) / (Se + Sp - 1). It assumes that the judge errs on the study's items as on the calibration's, given
the label; the calibration set may be chosen by label. When it is a random part of the study,
:func:`~d3stats.prediction_powered_mean` assumes less and is narrower.

``Lang-Reiczigel`` (independent items) adds z^2/2 and 1 to the counts, shifts, and holds near 0 and 1. From ten labelled
positives and negatives on it held the share in .945 or more of the data sets, with three to eight down to .86. Below
ten ``MOVER`` takes its place. This inverts the test of p + Sp - 1 = theta (Se + Sp - 1), with limits made of each
share's own mid-p limits (:mod:`d3stats.resampling.contrasts`), over clusters or items. So a judge who has not erred
yet is not taken to be always right, and one that hardly separates the labels gets wide limits. Bootstraps go with both.

References
----------
Rogan and Gladen (1978), American Journal of Epidemiology 107, 71. Lang and Reiczigel (2014), Preventive Veterinary
Medicine 113, 13. Zou and Donner (2008), Statistics in Medicine 27, 1693 (MOVER).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike

from d3stats._arrays import Floats
from d3stats._check import RngLike, choice, integer, probability, whole_numbers
from d3stats.estimate import Estimate
from d3stats.inference.judges.labelled import (
    common_codes,
    error_of_two_samples,
    numbers,
    refuse_scores,
)
from d3stats.note import with_words
from d3stats.resampling import bootstrap_limits, cluster_totals, clustered_share, share
from d3stats.resampling.contrasts import share_reaches
from d3stats.result import EstimatesResult

__all__ = ["CorrectedRate", "CorrectedShares", "correct_counts", "correct_rate", "correct_shares"]

CountsKind = Literal["Lang-Reiczigel", "MOVER"]
FEW_ERRORS = 5
"""With fewer clusters (or items) in which the judge errs, of positives or of negatives, no bootstrap is given."""
FEW_LABELS = 10
"""With fewer calibration items of a label Lang and Reiczigel's limits miss their level."""
CorrectionKind = Literal["Lang-Reiczigel", "MOVER", "percentile", "basic", "bca", "studentised"]
_STEPS = 400
"""Shares from 0 to 1 that are tested before limits are found between two of them."""


@dataclass(frozen=True)
class CorrectedRate(EstimatesResult):
    """A judge's share of positives corrected for its errors, beside the rates that it is made of.

    Attributes
    ----------
    rate : Estimate
        The corrected share, within [0, 1].
    naive : Estimate
        What the judge alone says.
    labels_only : Estimate
        Share of positives in the calibration set: comparable only when that is a random part of the study.
    sensitivity, specificity : Estimate
        Sensitivity and specificity of the judge, from the calibration items.
    youden : float
        Se + Sp - 1: 1 for a judge without error, 0 for one that knows nothing.
    untruncated : float
        The corrected share before it was put into [0, 1].

    Examples
    --------
    >>> from d3stats.inference import correct_rate
    >>> judge = np.repeat([1, 0], [130, 270])
    >>> seen, label = np.repeat([1, 0, 1, 0], [85, 15, 8, 92]), np.repeat([1, 0], 100)
    >>> found = correct_rate(judge, seen, label)
    >>> print(found.rate)
    corrected rate: 0.318 [0.231, 0.399] (95 % Lang-Reiczigel, n = 400)
    >>> round(found.naive.value, 3), round(found.sensitivity.value, 2), round(found.specificity.value, 2)
    (0.325, 0.85, 0.92)
    >>> round(found.youden, 2)
    0.77
    """

    rate: Estimate
    naive: Estimate
    labels_only: Estimate
    sensitivity: Estimate
    specificity: Estimate
    youden: float
    untruncated: float
    notes: tuple[str, ...] = ()
    _json = ("estimates", "notes", "youden", "untruncated")

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Corrected, naive, labels only, sensitivity, specificity."""
        return self.rate, self.naive, self.labels_only, self.sensitivity, self.specificity


def correct_counts(
    positive: int,
    n: int,
    true_positive: int,
    n_positive: int,
    true_negative: int,
    n_negative: int,
    *,
    kind: CountsKind | None = None,
    level: float = 0.95,
) -> CorrectedRate:
    """Correct a judge's share of positives for its sensitivity and specificity, from counts of independent items.

    Parameters
    ----------
    positive, n : int
        Items that the judge calls positive, of how many in the study.
    true_positive, n_positive : int
        Labelled positives that the judge calls positive, of how many in the calibration set.
    true_negative, n_negative : int
        Labelled negatives that the judge calls negative, of how many.
    kind : {"Lang-Reiczigel", "MOVER"}, optional
        By default "Lang-Reiczigel", and "MOVER" with fewer than ten labelled positives or negatives, where
        "Lang-Reiczigel" gives no interval.
    level : float
        Level of the intervals, in (0, 1).

    Returns
    -------
    CorrectedRate

    Raises
    ------
    ValueError
        When counts are no counts, the calibration set lacks positives or negatives, or Se + Sp - 1 is not above 0 (by
        more than its error, except with "MOVER"). The judge is then not known to separate positives from negatives.

    Examples
    --------
    >>> print(correct_counts(130, 400, 85, 100, 92, 100).rate)
    corrected rate: 0.318 [0.231, 0.399] (95 % Lang-Reiczigel, n = 400)
    """
    if kind is not None:
        choice("kind", kind, get_args(CountsKind))
    level = probability("level", level, open_interval=True)
    for name, k, most, of in (
        ("positive", positive, n, "n"),
        ("true_positive", true_positive, n_positive, "n_positive"),
        ("true_negative", true_negative, n_negative, "n_negative"),
    ):
        if integer(name, k, minimum=0) > integer(of, most, minimum=0):
            raise ValueError(f"{of} must be >= {name}; got {of}={most}, {name}={k}")
    rates = Rates(positive, n, true_positive, n_positive, true_negative, n_negative)
    few = int(min(n_positive, n_negative))
    if kind == "MOVER" or (kind is None and few < FEW_LABELS):
        return _over_clusters(_counted(rates), "MOVER", level, 1, None, clustered=False)
    z = _normal_quantile(level)
    rates.refuse_blind(z)
    unknown = f"no interval, because only {few} calibration items have one of the labels: this kind needs {FEW_LABELS}"
    return _reported(
        rates, rates.lang_reiczigel(z), rates.delta_error(), "Lang-Reiczigel", level, None,
        unknown=unknown if few < FEW_LABELS else "",
    )  # fmt: skip


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
    """Correct a judge's share of positives for its sensitivity and specificity, from verdicts, clusters allowed.

    Parameters
    ----------
    judge : array of 0/1, shape (items,)
        The judge's verdicts in the study; missing ones (NaN, None) are left out and counted in the notes.
    calibration_judge, calibration_label : array of 0/1, shape (calibration items,)
        Verdict and label of items that are *not* among the study's; pairs with one missing are left out.
    cluster, calibration_cluster : array, optional
        The question of each item; a question may occur in both.
    kind : {"Lang-Reiczigel", "MOVER", "percentile", "basic", "bca", "studentised"}, optional
        By default as for :func:`correct_counts`, and "MOVER" with clusters; the first needs independent items, and the
        last four are bootstraps of clusters.
    level : float
        Level of the intervals, in (0, 1).
    n_boot, rng : int; Generator, int or None
        Replicates and generator of the bootstraps.

    Returns
    -------
    CorrectedRate
        The corrected share beside the naive one; a note reports truncation to [0, 1].

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
    study = numbers("judge", judge)
    seen = numbers("calibration_judge", calibration_judge)
    label = numbers("calibration_label", calibration_label, seen.size)
    for name, column in (("judge", study), ("calibration_judge", seen), ("calibration_label", label)):
        refuse_scores(name, column)
    codes = common_codes(
        [("cluster", cluster, study.size), ("calibration_cluster", calibration_cluster, seen.size)]
    )
    if kind is not None:
        choice("kind", kind, get_args(CorrectionKind))
    if kind == "Lang-Reiczigel" and codes is not None:
        raise ValueError(
            f"kind must not be {kind!r} with clusters, which assumes independent items; got both"
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
    if codes is not None:
        units = np.concatenate([codes[0][kept], codes[1][whole]])
        found = _over_clusters(
            cluster_totals(rows, units), kind or "MOVER", level, n_boot, rng, clustered=True
        )
    elif kind is None or kind in get_args(CountsKind):
        n, x, n1, tp, n0, tn = map(int, rows.sum(axis=0))
        found = correct_counts(x, n, tp, n1, tn, n0, kind=kind, level=level)  # type: ignore[arg-type]  # one of them
    else:
        found = _over_clusters(rows, kind, level, n_boot, rng, clustered=False)
    return replace(found, notes=notes + found.notes)


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
    def numerator(self) -> float:
        """Share that the judge calls positive + specificity - 1."""
        return self.x / self.n + self.tn / self.n0 - 1

    @property
    def youden(self) -> float:
        """Sensitivity + specificity - 1."""
        return self.tp / self.n1 + self.tn / self.n0 - 1

    @property
    def corrected(self) -> float:
        """(p + Sp - 1) / (Se + Sp - 1), not truncated."""
        return self.numerator / self.youden

    @property
    def parts(self) -> tuple[tuple[float, float], ...]:
        """Successes and trials of the apparent rate, the sensitivity and the specificity."""
        return (self.x, self.n), (self.tp, self.n1), (self.tn, self.n0)

    def variances(self) -> tuple[float, float, float]:
        """Return the binomial variances of the apparent rate, the sensitivity and the specificity."""
        p, se, sp = (k / m * (1 - k / m) / m for k, m in self.parts)
        return p, se, sp

    def delta_error(self) -> float:
        """Return the standard error of the corrected rate (Rogan and Gladen 1978; with estimated Se and Sp)."""
        theta = self.corrected
        p, se, sp = self.variances()
        return float(np.sqrt(p + theta**2 * se + (1 - theta) ** 2 * sp) / abs(self.youden))

    def adjusted(self, z: float) -> Rates:
        """Return the counts with z^2 / 2 (study) and 1 (calibration) successes and failures more."""
        return Rates(self.x + z**2 / 2, self.n + z**2, self.tp + 1, self.n1 + 2, self.tn + 1, self.n0 + 2)

    def lang_reiczigel(self, z: float) -> tuple[float, float]:
        """Return Lang and Reiczigel's (2014) limits: delta method on adjusted counts, with a shift; not truncated."""
        more = self.adjusted(z)
        theta = more.corrected
        _, se, sp = more.variances()
        centre = theta + 2 * z**2 * (theta * se - (1 - theta) * sp)
        half = z * more.delta_error()
        return centre - half, centre + half

    def refuse_empty(self) -> None:
        """Refuse an empty study or calibration set."""
        if self.n < 1:
            raise ValueError("the study must have a judged item; got none")
        for what, size, rate in (
            ("positives", self.n1, "sensitivity"),
            ("negatives", self.n0, "specificity"),
        ):
            if size < 1:
                raise ValueError(
                    f"the calibration set must hold {what}, because otherwise the {rate} is unknown; got none"
                )

    def refuse_blind(self, z: float) -> None:
        """Refuse an empty study or calibration set, and a judge that is not known to tell positives from negatives.

        The judge tells them if Se + Sp - 1 is `z` errors above 0, with one success and one failure added to each.
        """
        self.refuse_empty()
        more = self.adjusted(z)
        _, se, sp = more.variances()
        if more.youden <= z * np.sqrt(se + sp):
            raise self.blind()

    def blind(self) -> ValueError:
        """Return the refusal of a judge that is not known to tell positives from negatives."""
        return ValueError(
            "the judge must separate positives from negatives (Se + Sp - 1 above 0 by more than its "
            f"error); got Se = {self.tp / self.n1:z.3f} of {self.n1:g} and Sp = {self.tn / self.n0:z.3f} of "
            f"{self.n0:g}; use more calibration labels or a better judge"
        )


def _normal_quantile(level: float) -> float:
    return float(scipy.special.ndtri((1 + level) / 2))


def _rows(study: Floats, seen: Floats, label: Floats) -> Floats:
    """Return a row per item: study item, called positive; labelled positive, found; labelled negative, found."""
    rows = np.zeros((study.size + seen.size, 6))
    rows[: study.size, 0], rows[: study.size, 1] = 1, study
    calibration = rows[study.size :]
    calibration[:, 2], calibration[:, 3] = label, label * seen
    calibration[:, 4], calibration[:, 5] = 1 - label, (1 - label) * (1 - seen)
    return rows


def _counted(rates: Rates) -> Floats:
    """Return the rows of independent items with these counts."""

    def ones(k: float, n: float) -> Floats:
        return np.repeat([1.0, 0.0], [round(k), round(n - k)])

    seen = np.concatenate([ones(rates.tp, rates.n1), 1 - ones(rates.tn, rates.n0)])
    return _rows(ones(rates.x, rates.n), seen, np.repeat([1.0, 0.0], [round(rates.n1), round(rates.n0)]))


def _corrected(sums: Floats) -> Floats:
    n, x, n1, tp, n0, tn = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        youden = tp / n1 + tn / n0 - 1
        theta = (x / n + tn / n0 - 1) / youden
    return np.where(youden > 0, theta, np.nan)


def _over_clusters(
    totals: Floats, kind: str, level: float, n_boot: int, rng: RngLike, *, clustered: bool
) -> CorrectedRate:
    """Return the corrected rate with an interval over clusters, or over items as their own clusters."""
    rates = Rates(*totals.sum(axis=0)[[1, 0, 3, 2, 5, 4]].tolist())
    if kind == "MOVER":
        rates.refuse_empty()
    else:
        rates.refuse_blind(_normal_quantile(level))
    if len(totals) < 2:
        raise ValueError("clusters must be at least 2, because one cluster shows no variation; got 1")
    # Influences of the apparent rate, the sensitivity and the specificity, cluster by cluster.
    p, se, sp = [
        (totals[:, i + 1] - k / m * totals[:, i]) / m
        for i, (k, m) in zip((0, 2, 4), rates.parts, strict=True)
    ]
    scarce = totals[:, 2] + totals[:, 4] > 0
    se_b, df_b = error_of_two_samples(se + sp, scarce)
    if rates.youden <= (
        0.0 if kind == "MOVER" else float(scipy.special.stdtrit(df_b, (1 + level) / 2)) * se_b
    ):
        raise rates.blind()
    theta = rates.corrected
    error = error_of_two_samples(p + sp - theta * (se + sp), scarce)[0] / rates.youden
    own = totals if clustered else None
    if kind == "MOVER":
        ends, why = _agreeing_shares(totals, rates.corrected, level)
        return _reported(rates, ends, error, kind, level, own, unknown=why)
    drawn = bootstrap_limits(totals, _corrected, kind=kind, level=level, n_boot=n_boot, rng=rng)  # type: ignore[arg-type]
    low, high = drawn.interval()
    found_ends = None if low is None or high is None or error == 0.0 else (low, high)
    why = ""
    missed, found_wrongly = (int((totals[:, i] > totals[:, i + 1]).sum()) for i in (2, 4))
    if min(missed, found_wrongly) < FEW_ERRORS:
        what = "clusters" if clustered else "items"
        why = (
            f"no interval, because the judge misses a positive in {missed} calibration {what} and a negative "
            f"in {found_wrongly}: with fewer than {FEW_ERRORS} its errors are not known"
        )
    found = _reported(rates, found_ends, error, kind, level, own, unknown=why)
    return replace(found, notes=((drawn.note,) if drawn.note else ()) + found.notes)


def _agreeing_shares(totals: Floats, theta: float, level: float) -> tuple[tuple[float, float], str]:
    """Return the least and the largest share in [0, 1] that the data agree with, or why there are no limits.

    A share theta agrees where the MOVER limits of p - theta Se + (1 - theta) Sp - (1 - theta) hold 0.
    """
    found = share_reaches(totals[:, [1, 0, 3, 2, 5, 4]], level)
    if isinstance(found, str):
        return (0.0, 1.0), f"no interval, because {found}"

    def beyond(theta: Floats | float) -> Floats:
        """Return how far 0 lies outside the limits, negative inside."""
        each = np.asarray(theta, dtype=np.float64)
        weights = np.stack([np.ones_like(each), -each, 1.0 - each], axis=-1)
        at = weights @ found.share - (1.0 - each)
        # Towards 0: down where the contrast is above it.
        reach = weights * np.where((weights > 0) == (at > 0)[..., None], found.below, found.above)
        square = (reach @ found.alike * reach).sum(axis=-1)
        return np.asarray(np.abs(at) - np.sqrt(np.maximum(square, 0.0)))

    best = min(max(theta, 0.0), 1.0)
    tested = np.unique([*np.linspace(0.0, 1.0, _STEPS + 1), best])
    held = np.flatnonzero(beyond(tested) <= 0)
    if not len(held):
        return (0.0, 1.0), (
            "no interval, because no share in [0, 1] agrees with the judge's errors in the calibration set; the "
            "judge's errors in the study must differ from them"
        )

    def edge(inside: int, outside: int) -> float:
        from scipy.optimize import brentq

        if not 0 <= outside < len(tested):
            return float(tested[inside])
        return float(brentq(lambda theta: float(beyond(theta)), tested[inside], tested[outside], xtol=1e-10))

    first, last = int(held[0]), int(held[-1])
    return (edge(first, first - 1), edge(last, last + 1)), ""


def _reported(
    rates: Rates, ends: tuple[float, float] | None, se: float, kind: str, level: float, totals: Floats | None,
    *, unknown: str = "",
) -> CorrectedRate:  # fmt: skip
    """Return a corrected rate within [0, 1] beside the rates that it is made of."""
    theta = rates.corrected
    value = min(max(theta, 0.0), 1.0)
    said = []
    if value != theta:
        said.append(f"the corrected share is {theta:z.3f}, truncated to {value:g}")
    low = high = None
    if ends is None:
        said.append("no interval, because all clusters are equal")
    elif unknown:
        said.append(unknown)
    elif max(ends) < 0 or min(ends) > 1:
        said.append(
            f"no interval, because [{ends[0]:z.3f}, {ends[1]:z.3f}] lies outside [0, 1]; the judge's errors "
            "in the study cannot be those of the calibration set"
        )
    else:
        low, high = (min(max(end, 0.0), 1.0) for end in ends)
        cut = [f"{end:z.3f}" for end in ends if not 0 <= end <= 1]
        if cut:
            said.append(f"limits outside [0, 1] were truncated: {', '.join(cut)}")
        # A shifted interval may leave a truncated estimate outside by a hair.
        low, high = min(low, value), max(high, value)
    n_clusters = None if totals is None else len(totals)
    rate = Estimate(name="corrected rate", value=value, low=low, high=high, kind=kind, n=int(rates.n), se=se,
                    level=level, n_clusters=n_clusters, note="; ".join(said))  # fmt: skip
    names = ("judge alone", "sensitivity", "specificity", "labels alone")
    if totals is None:
        pairs = [*rates.parts, (rates.n1, rates.n1 + rates.n0)]
        parts = [
            share(int(k), int(m), level=level, name=name) for name, (k, m) in zip(names, pairs, strict=True)
        ]
    else:
        n, x, n1, tp, n0, tn = totals.T
        sums, own = ((x, n), (tp, n1), (tn, n0), (n1, n1 + n0)), np.arange(len(totals))
        parts = [
            clustered_share(*s, own, level=level, name=name) for name, s in zip(names, sums, strict=True)
        ]
    naive, sensitivity, specificity, labels = parts
    return CorrectedRate(rate, naive, labels, sensitivity, specificity, rates.youden, theta, tuple(said))


@dataclass(frozen=True, eq=False)
class CorrectedShares(EstimatesResult):
    """A judge's shares of several categories, corrected for its confusions.

    Attributes
    ----------
    shares : tuple of Estimate
        The corrected share of each category, within [0, 1].
    naive : tuple of Estimate
        What the judge alone says.
    untruncated : tuple of float
        Corrected shares before truncation; they add up to 1.
    covariance : ndarray of float, shape (categories, categories)
        Covariance of the untruncated shares.

    Examples
    --------
    >>> from d3stats.inference import correct_shares
    >>> found = correct_shares([130, 270], [[85, 15], [8, 92]], categories=["yes", "no"])
    >>> print(found.shares[0])
    corrected share of yes: 0.318 [0.231, 0.399] (95 % Lang-Reiczigel, n = 400)
    >>> found.covariance.round(4).tolist()
    [[0.0017, -0.0017], [-0.0017, 0.0017]]
    """

    shares: tuple[Estimate, ...]
    naive: tuple[Estimate, ...]
    untruncated: tuple[float, ...]
    covariance: Floats = field(repr=False, compare=False)
    notes: tuple[str, ...] = ()
    _json = ("estimates", "notes", "untruncated", "covariance")

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Corrected shares, then the judge's."""
        return self.shares + self.naive


def correct_shares(
    judged: ArrayLike, confusion: ArrayLike, *, categories: Sequence[str] | None = None, level: float = 0.95
) -> CorrectedShares:
    """Correct a judge's shares of several categories by the inverse of its confusion matrix, items independent.

    Parameters
    ----------
    judged : array of int, shape (categories,)
        How many items of the study the judge put in each category.
    confusion : array of int, shape (categories, categories)
        Calibration items by label (row) and verdict (column); none of them is in the study.
    categories : sequence of str, optional
        Their names.
    level : float
        Level of the intervals: of two categories those of :func:`correct_counts`; of more, delta-method limits of
        counts with z^2 / K in each category and 2 / K for each pair of label and verdict more. There are none of more
        than two categories where a label has fewer than ten calibration items.

    Returns
    -------
    CorrectedShares

    Raises
    ------
    ValueError
        When a count is negative or no integer, a label has no calibration item, or the judge does not separate the
        labels (the determinant of the table is within its error of 0).

    Examples
    --------
    >>> found = correct_shares([130, 270], [[85, 15], [8, 92]], categories=["yes", "no"])
    >>> [round(share.value, 3) for share in found.shares]
    [0.318, 0.682]
    """
    level = probability("level", level, open_interval=True)
    z = _normal_quantile(level)
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
    n = int(study.sum())
    theta, covariance = _solved(study, counts)
    shares = _two_shares(study, counts, level) if size == 2 else _many_shares(study, counts, theta, level)
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0)).tolist()
    shares = tuple(
        replace(each, name=f"corrected share of {name}", se=error)
        for each, name, error in zip(shares, names, errors, strict=True)
    )
    naive = tuple(
        share(round(k), n, level=level, name=f"judge alone: {name}")
        for k, name in zip(study.tolist(), names, strict=True)
    )
    notes = tuple(
        with_words(each.note, f"{each.name}: ")
        for each, value in zip(shares, theta, strict=True)
        if each.note and each.value != value
    )
    return CorrectedShares(shares, naive, tuple(map(float, theta)), covariance, notes)


def _solved(study: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Return the corrected shares of verdicts `study` and labelled verdicts `counts`, and their covariance."""
    labelled, q = counts.sum(axis=1), study / study.sum()
    said = (counts / labelled[:, None]).T
    inverse = np.linalg.inv(said)
    theta = inverse @ q
    middle = _multinomial(q, study.sum())
    for i in range(len(q)):
        middle += theta[i] ** 2 * _multinomial(said[:, i], labelled[i])
    return theta, inverse @ middle @ inverse.T


def _multinomial(p: Floats, n: float) -> Floats:
    return np.asarray((np.diag(p) - np.outer(p, p)) / n)


def _two_shares(study: Floats, counts: Floats, level: float) -> tuple[Estimate, ...]:
    """Return the shares of two categories: the corrected rate of the first, and what it leaves to the second."""
    sides = (study, counts), (study[::-1], counts[::-1, ::-1])
    return tuple(
        correct_counts(
            *map(round, (x[0], x.sum(), c[0, 0], c[0].sum(), c[1, 1], c[1].sum())), level=level
        ).rate
        for x, c in sides
    )


def _many_shares(study: Floats, counts: Floats, theta: Floats, level: float) -> tuple[Estimate, ...]:
    """Return the shares of more categories, with delta limits of counts to which a little is added."""
    z, size = _normal_quantile(level), len(study)
    centre, covariance = _solved(study + z**2 / size, counts + 2 / size)
    half = z * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    few = int(counts.sum(axis=1).min())
    why = f"no interval, because a label has {few} calibration items, fewer than {FEW_LABELS}"
    made = []
    for value, at, away in zip(theta.tolist(), centre.tolist(), half.tolist(), strict=True):
        inside, low, high = min(max(value, 0.0), 1.0), at - away, at + away
        said = [f"{value:z.3f}, truncated to {inside:g}"] if inside != value else []
        missing = few < FEW_LABELS or high < 0 or low > 1
        if missing:
            said.append(why if few < FEW_LABELS else f"[{low:z.3f}, {high:z.3f}] lies outside [0, 1]")
        made.append(
            Estimate(name="", value=inside, low=None if missing else min(max(low, 0.0), inside),
                     high=None if missing else max(min(high, 1.0), inside), kind="delta, adjusted counts",
                     n=int(study.sum()), level=level, note="; ".join(said))
        )  # fmt: skip
    return tuple(made)


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
            "the judge must separate the labels (determinant of its table of shares above 0 by more than "
            f"its error); got {determinant:z.3f} for {', '.join(names)}; use more calibration labels or a "
            "better judge"
        )
