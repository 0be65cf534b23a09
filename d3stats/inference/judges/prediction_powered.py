"""Prediction-powered mean: an unbiased mean from few labels and many judge scores (PPI and PPI++).

With scores f of all items and labels Y of some, a random part of all (or of all clusters),

    theta(lambda) = lambda * mean of f over the unlabelled + mean of (Y - lambda f) over the labelled.

lambda = 1 is the prediction-powered mean, 0 the mean of the labels alone; the tuned one has the smallest estimated
variance in [0, 1]. The error is linearised over clusters (without clusters, over items); clusters with and without
labels have their own degrees of freedom, put together by Welch and Satterthwaite, and tuning costs one.

References
----------
Angelopoulos, Bates, Fannjiang, Jordan and Zrnic (2023), Science 382, 669 (the mean). Angelopoulos, Duchi and Zrnic
(2023), arXiv 2311.01453 (lambda, their PPI++). Cochran (1977), Sampling Techniques, chapter 12 (the same idea:
regression estimation in double sampling).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, choice, probability
from d3stats.estimate import Estimate
from d3stats.inference.judges.labelled import common_codes, error_of_two_samples, numbers
from d3stats.resampling import bootstrap_limits, cluster_totals, student_limits
from d3stats.result import EstimatesResult

__all__ = ["PredictionPowered", "prediction_powered_difference", "prediction_powered_mean"]

Floats = NDArray[np.float64]


PoweredKind = Literal["t", "percentile", "basic", "bca", "studentised"]
FEW_LABELS = 20


@dataclass(frozen=True)
class PredictionPowered(EstimatesResult):
    """A prediction-powered mean beside the means of the labels alone and of the judge alone.

    Attributes
    ----------
    mean : Estimate
        The prediction-powered mean.
    labels_only : Estimate
        The mean of the labels alone, the estimate without a judge.
    naive : Estimate
        The judge's mean over all items, as if it were the truth; its interval is about the judge.
    bias : Estimate
        Mean of judge minus label over the labelled items.
    tuning : float
        lambda, how much of the judge was used.
    width_ratio : float or None
        Width of the interval over that of the labels alone; None where one has none.
    worth_labels : float or None
        How many labels alone would give the same standard error.
    n_labelled, n_unlabelled : int
        Items with and without a label.

    Examples
    --------
    >>> from d3stats import prediction_powered_mean
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.random(1000) < 0.7
    >>> judge = np.where(rng.random(1000) < 0.9, truth, ~truth)
    >>> found = prediction_powered_mean(judge, np.where(np.arange(1000) < 100, truth, np.nan))
    >>> print(found)
    prediction-powered mean: 0.700 [0.638, 0.762] (95 % t, n = 1000)
    labels-only mean: 0.670 [0.576, 0.764] (95 % t, n = 100)
    judge-only mean: 0.649 [0.619, 0.679] (95 % t, n = 1000)
    judge - label: -0.060 [-0.122, 0.002] (95 % t, n = 100)
    >>> found.n_labelled, round(found.worth_labels), round(found.width_ratio, 2)
    (100, 228, 0.66)
    """

    mean: Estimate
    labels_only: Estimate
    naive: Estimate
    bias: Estimate
    tuning: float
    width_ratio: float | None
    worth_labels: float | None
    n_labelled: int
    n_unlabelled: int
    notes: tuple[str, ...] = ()
    _json = ("estimates", "notes", "tuning", "width_ratio", "worth_labels", "n_labelled", "n_unlabelled")

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Prediction-powered, labels only, naive, bias."""
        return self.mean, self.labels_only, self.naive, self.bias


def prediction_powered_mean(
    judge: ArrayLike,
    label: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    tuning: float | None = None,
    kind: PoweredKind = "t",
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
    name: str = "mean",
) -> PredictionPowered:
    """Estimate a mean from labels of some items and a judge's scores of all, by prediction-powered inference (PPI++).

    Parameters
    ----------
    judge : array of float, shape (items,)
        The judge's score of each item (a verdict 0/1, a probability, points); items without one are left out.
    label : array of float, shape (items,)
        The truth in the same units, missing (NaN, None) where unknown. The labelled items must be a random sample.
    cluster : array, shape (items,), optional
        The question of each item; a question may have labelled and unlabelled items.
    tuning : float, optional
        lambda; by default the one with the smallest variance in [0, 1]. 1 is the untuned mean.
    kind : {"t", "percentile", "basic", "bca", "studentised"}
        Linearised with Student's t, or a bootstrap of clusters that tunes lambda again in each replicate.
    level : float
        Level of the intervals, in (0, 1).
    n_boot, rng : int; Generator, int or None
        Replicates and generator of the bootstraps.
    name : str
        What the mean is called in tables.

    Returns
    -------
    PredictionPowered

    Raises
    ------
    ValueError
        With fewer than three labelled items or clusters, without an unlabelled item, or when a value is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.random(1000) < 0.7
    >>> judge = np.where(rng.random(1000) < 0.9, truth, ~truth)
    >>> result = prediction_powered_mean(judge, np.where(np.arange(1000) < 100, truth, np.nan))
    >>> print(result.mean)
    prediction-powered mean: 0.700 [0.638, 0.762] (95 % t, n = 1000)
    >>> round(result.tuning, 2), round(result.width_ratio, 2)
    (0.69, 0.66)
    """
    return _powered(judge, label, cluster, tuning, kind, level, n_boot, rng, name, tested=False)


def _powered(
    judge: ArrayLike, label: ArrayLike, cluster: ArrayLike | None, tuning: float | None, kind: PoweredKind,
    level: float, n_boot: int, rng: RngLike, name: str, *, tested: bool,
) -> PredictionPowered:  # fmt: skip
    choice("kind", kind, get_args(PoweredKind))
    level = probability("level", level, open_interval=True)
    if tuning is not None:
        tuning = probability("tuning", tuning)
    f = numbers("judge", judge)
    y = numbers("label", label, f.size)
    codes = common_codes([("cluster", cluster, f.size)])
    judged = ~np.isnan(f)
    notes: tuple[str, ...] = ()
    if not judged.all():
        lost = int((~judged & ~np.isnan(y)).sum())
        notes = (
            f"{int((~judged).sum())} of {f.size} items have no judge's score and were left out, "
            f"{lost} of {int((~np.isnan(y)).sum())} labelled ones among them",
        )
    f, y = f[judged], y[judged]
    units = np.arange(f.size) if codes is None else codes[0][judged]
    known = ~np.isnan(y)
    if known.sum() < 3 or known.all():
        raise ValueError(
            "labels must be known for at least three items and unknown for at least one; "
            f"got {int(known.sum())} of {f.size}"
        )
    rows = _rows(f, y, known)
    totals = cluster_totals(rows, units)
    scarce = totals[:, 0] > 0
    if scarce.sum() < 3:
        raise ValueError(
            "labels must come from at least three clusters to show the variation between clusters; got "
            f"{int(scarce.sum())}"
        )
    if scarce.sum() < FEW_LABELS:
        what = "items" if codes is None else "clusters"
        notes += (f"only {int(scarce.sum())} {what} are labelled, so intervals are approximate",)
    a, b = _influences(totals)
    own = _best_tuning(a, b)
    used = min(max(own, 0.0), 1.0) if tuning is None else tuning
    if tuning is None and used != own:
        notes += (f"the lambda of least variance is {own:z.2f}; {used:g} was used",)
    value = float(_mean(totals.sum(axis=0), used))
    se, df = error_of_two_samples(a + used * b, scarce, spent=2 if tuning is None and 0 < used < 1 else 1)
    clusters = None if codes is None else len(totals)

    def estimate(what: str, at: float, error: float, degrees: float, n: int, many: int | None) -> Estimate:
        low, high, p = student_limits(at, error, degrees, level) if error > 0 else (None, None, None)
        return Estimate(name=what, value=at, low=low, high=high, kind="t" if many is None else "cluster t", n=n,
                        se=error, level=level, n_clusters=many, p_value=p if tested else None,
                        note="" if error > 0 else "no spread in the data")  # fmt: skip

    mean = estimate(f"prediction-powered {name}", value, se, df, f.size, clusters)
    if kind != "t":
        mean = _bootstrapped(mean, totals, tuning, kind, n_boot, rng)
    n_known, n_scarce = int(known.sum()), None if codes is None else int(scarce.sum())

    def mean_of(
        what: str, above: Floats, below: Floats, labelled: NDArray[np.bool_], *size: int | None
    ) -> Estimate:
        at = float(above.sum() / below.sum())
        error = error_of_two_samples((above - at * below) / below.sum(), labelled)
        return estimate(what, at, *error, *size)  # type: ignore[arg-type]

    n_lab, lab, seen, n_rest, rest = totals.T
    alone = mean_of(f"labels-only {name}", lab, n_lab, scarce, n_known, n_scarce)
    everything = np.ones(len(totals), dtype=bool)
    naive = mean_of(f"judge-only {name}", seen + rest, n_lab + n_rest, everything, f.size, clusters)
    bias = mean_of("judge - label", seen - lab, n_lab, scarce, n_known, n_scarce)
    ratio = None
    if mean.low is not None and mean.high is not None and alone.low is not None and alone.high is not None:
        ratio = (mean.high - mean.low) / (alone.high - alone.low)
    worth = n_known * (alone.se / se) ** 2 if se > 0 and alone.se else None
    return PredictionPowered(mean, alone, naive, bias, used, ratio, worth, n_known, f.size - n_known, notes)


def prediction_powered_difference(
    judge_a: ArrayLike,
    label_a: ArrayLike,
    judge_b: ArrayLike,
    label_b: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    tuning: float | None = None,
    kind: PoweredKind = "t",
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
    name: str = "B - A",
) -> PredictionPowered:
    """Estimate a mean difference of two systems on the same items by prediction-powered inference (PPI++).

    Parameters
    ----------
    judge_a, label_a, judge_b, label_b : array of float, shape (items,)
        Scores and labels of both systems, item by item. An item counts as labelled when both labels are known.
    cluster, tuning, kind, level, n_boot, rng, name
        As in :func:`prediction_powered_mean`.

    Returns
    -------
    PredictionPowered
        Mean of the differences B minus A; ``mean.p_value`` is two-sided, of no difference.

    Raises
    ------
    ValueError
        As :func:`prediction_powered_mean`, and when the columns differ in length.

    Examples
    --------
    >>> judge = [[1, 0, 1, 1, 0, 1, 1, 0], [1, 1, 1, 0, 1, 1, 1, 1]]
    >>> label = [[1, 0, 0, 1, None, None, None, None], [1, 1, 1, 0, None, None, None, None]]
    >>> result = prediction_powered_difference(judge[0], label[0], judge[1], label[1], tuning=1)
    >>> round(result.mean.value, 3), result.n_labelled
    (0.75, 4)
    """
    columns = {"judge_a": numbers("judge_a", judge_a)}
    for what, values in (("label_a", label_a), ("judge_b", judge_b), ("label_b", label_b)):
        columns[what] = numbers(what, values, columns["judge_a"].size)
    label = columns["label_b"] - columns["label_a"]
    one = int((np.isnan(columns["label_a"]) != np.isnan(columns["label_b"])).sum())
    judge = columns["judge_b"] - columns["judge_a"]
    result = _powered(judge, label, cluster, tuning, kind, level, n_boot, rng, name, tested=True)
    note = f"{one} items with a label of one system alone count as unlabelled"
    return replace(result, notes=(*result.notes, note)) if one else result


def _rows(f: Floats, y: Floats, known: NDArray[np.bool_]) -> Floats:
    """Return a row per item: labelled, its label, its score; unlabelled, its score."""
    has, truth = known.astype(float), np.where(known, y, 0.0)
    seen, unseen = f * has, f * (1 - has)
    return np.column_stack([has, truth, seen, 1 - has, unseen])


def _mean(sums: Floats, tuning: float | Floats) -> Floats:
    """Return the prediction-powered mean of sums (..., 5)."""
    n, y, f, m, u = sums[..., :5].T
    return np.asarray(tuning * u / m + (y - tuning * f) / n)


def _influences(totals: Floats) -> tuple[Floats, Floats]:
    """Return what each cluster adds to the mean of labels, and to the judge's unlabelled minus labelled mean."""
    n, y, f, m, u = totals.sum(axis=0)
    a = (totals[:, 1] - y / n * totals[:, 0]) / n
    b = (totals[:, 4] - u / m * totals[:, 3]) / m - (totals[:, 2] - f / n * totals[:, 0]) / n
    return a, b


def _best_tuning(a: Floats, b: Floats) -> float:
    """Return the lambda of least variance of a + lambda b."""
    spread = float(b @ b)
    return -float(a @ b) / spread if spread > 0 else 0.0


def _bootstrapped(
    mean: Estimate, totals: Floats, tuning: float | None, kind: str, n_boot: int, rng: RngLike
) -> Estimate:
    """Return the mean with bootstrap limits over clusters; lambda is tuned in each resample unless it is given."""
    # What lambda is made of are sums over clusters of products of their totals.
    left = np.stack([totals[:, 1], totals[:, 0], totals[:, 4], totals[:, 3], totals[:, 2]])
    pairs = [(i, j) for i in range(5) for j in range(i, 5)]
    products = np.stack([left[i] * left[j] for i, j in pairs], axis=1)

    def statistic(sums: Floats) -> Floats:
        if tuning is not None:
            return _mean(sums, tuning)
        at = {pair: 5 + k for k, pair in enumerate(pairs)}

        def moment(one: Floats, two: Floats) -> Floats:
            total = np.zeros(len(sums))
            for i in range(5):
                for j in range(5):
                    total += one[i] * two[j] * sums[:, at[min(i, j), max(i, j)]]
            return total

        count, y, f, rest, u = sums[:, :5].T
        zero = np.zeros(len(sums))
        a = np.stack([1 / count, -y / count**2, zero, zero, zero])
        b = np.stack([zero, f / count**2, 1 / rest, -u / rest**2, -1 / count])
        below = moment(b, b)
        best = np.divide(-moment(a, b), below, out=np.zeros(len(sums)), where=below > 0)
        return _mean(sums, np.clip(best, 0.0, 1.0))

    drawn = bootstrap_limits(
        np.concatenate([totals, products], axis=1),
        statistic,
        kind=kind,  # type: ignore[arg-type]
        level=mean.level,
        n_boot=n_boot,
        rng=rng,
    )
    low, high = drawn.interval()
    se, note = float(drawn.se[0]), drawn.reasons[0] or drawn.note
    return replace(mean, low=low, high=high, kind=kind, se=se, note=note)
