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

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from d3stats._check import RngLike, choice, integer, probability
from d3stats.inference.corrections.clusters import clustered_rate, judged_rows, normal_quantile
from d3stats.inference.corrections.judged import cluster_codes, column_of, refuse_scores
from d3stats.inference.corrections.limits import Rates, covariance, delta_error, fieller, lang_reiczigel
from d3stats.inference.corrections.result import CorrectedRate, refuse_blind, refuse_empty, reported

__all__ = ["CorrectedRate", "correct_counts", "correct_rate"]

CorrectionKind = Literal["Lang-Reiczigel", "Fieller", "delta", "percentile", "basic", "bca", "studentised"]
CLOSED = ("Lang-Reiczigel", "Fieller", "delta")
BOOTSTRAPS = ("percentile", "basic", "bca", "studentised")


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
    refuse_empty(rates)
    z = normal_quantile(level)
    refuse_blind(rates, z, clear=True)
    aa, ab, bb = covariance(rates)
    a = rates.apparent + rates.tn / rates.n0 - 1
    if kind == "Lang-Reiczigel":
        ends = lang_reiczigel(rates, z)
    elif kind == "Fieller":
        ends = fieller(a, rates.youden, aa, ab, bb, z)
    else:
        half = z * delta_error(rates)
        ends = rates.corrected - half, rates.corrected + half
    return reported(rates, ends, delta_error(rates), kind, level, None, ())


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
    rows = judged_rows(study[kept], seen[whole], label[whole])
    if codes is None:
        rates = Rates(*rows.sum(axis=0)[[1, 0, 3, 2, 5, 4]].tolist())
        if chosen in CLOSED:
            plain = correct_counts(*(int(c) for c in _counts(rates)), kind=chosen, level=level)  # type: ignore[arg-type]
            return replace(plain, notes=notes + plain.notes)
        units = np.arange(len(rows))
    else:
        units = np.concatenate([codes[0][kept], codes[1][whole]])
    return clustered_rate(rows, units, chosen, level, n_boot, rng, notes, codes is not None)


def _counts(rates: Rates) -> tuple[float, ...]:
    return rates.x, rates.n, rates.tp, rates.n1, rates.tn, rates.n0
