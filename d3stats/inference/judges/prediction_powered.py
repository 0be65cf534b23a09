"""Prediction-powered mean: an unbiased mean from few labels and many judge scores (PPI and PPI++).

With scores f of all items and labels Y of some, a random part of all (or of all clusters),

    theta(lambda) = lambda * mean of f over the unlabelled + mean of (Y - lambda f) over the labelled.

lambda = 1 is the prediction-powered mean, 0 the mean of the labels alone; the tuned one has the smallest estimated
variance in [0, 1].

With labels 0 and 1 and scores in [0, 1], the mean is made of shares: labels 1 where the judge says 1, labels 1 where it
says 0, and the judge's own. Each share has limits of its own, and the limits of the mean are put together from these
(MOVER). So a judge whom no label has contradicted yet is not taken to be always right. Over clusters each share has
as many trials as they are worth, n / (1 + (m - 1) r) with Kish's m trials a cluster. The correlation r of the judge's
errors is measured on both sides together. As far as few errors are seen, it is that of the labels. Other values: the
error is linearised over clusters (without clusters, over items); clusters with and without labels have their own
degrees of freedom, put together by Welch and Satterthwaite, and tuning costs one.

Where every item had its own chance pi of a label, labels count with 1 / pi:

    theta(lambda) = lambda * mean of f over all + sum of (Y - lambda f) / pi / sum of 1 / pi, sums over the labelled,

with an error that is linearised over clusters.

References
----------
Zrnic and Candes (2024), arXiv 2403.03208 (chances of labels). Hajek (1971) (the sum of weights below).
Zou and Donner (2008), Statistics in Medicine 27, 1693 (MOVER, correlated parts). Brown, Cai and DasGupta (2001),
Statistical Science 16, 101 (Jeffreys' limits of a share).
Angelopoulos, Bates, Fannjiang, Jordan and Zrnic (2023), Science 382, 669 (the mean). Angelopoulos, Duchi and Zrnic
(2023), arXiv 2311.01453 (lambda, their PPI++). Cochran (1977), Sampling Techniques, chapter 12 (the same idea:
regression estimation in double sampling).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats
from d3stats._check import RngLike, choice, probability, refuse_first
from d3stats._words import counted, verb
from d3stats.estimate import Estimate
from d3stats.inference.comparison.pair_data import score_limits
from d3stats.inference.judges.labelled import common_codes, error_of_two_samples, numbers
from d3stats.note import warning
from d3stats.resampling import (
    bootstrap_limits,
    cluster_totals,
    clustered_share,
    share,
    student_limits,
)
from d3stats.resampling.degrees import degrees_of_freedom, effective_clusters, mean_error
from d3stats.result import EstimatesResult

__all__ = ["PredictionPowered", "prediction_powered_difference", "prediction_powered_mean"]


PoweredKind = Literal["MOVER", "t", "percentile", "basic", "bca", "studentised"]
FEW_LABELS = 20
FEW_DIFFERENT = 10
"""Below so many labels that are not the judge's, no error is estimated from their spread."""
FEW_DIFFERENT_WEIGHTED = 20
"""As many with weights: with ten, intervals of .27 of the data sets, those with more errors than expected, held .84."""
ASSUMED_ERRORS = 2.0
"""So many errors of a judge are taken to be as alike within a cluster as labels are, beside those seen."""
_ROUNDING = 1e-9
UNLIKE = 0.01
"""Level of the test that labelled items have the judge's scores of the others."""


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
        Mean of judge minus label over the labelled items; of independent verdicts with Tango's limits.
    tuning : float
        lambda, how much of the judge was used.
    width_ratio : float or None
        Width of the interval over that of the labels alone; None where one has none.
    worth_labels : float or None
        How many labels alone would give an interval of the same width.
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
    prediction-powered mean: 0.700 [0.638, 0.758] (95 % MOVER, n = 1000)
    labels-only mean: 0.670 [0.573, 0.754] (95 % Wilson, n = 100)
    judge-only mean: 0.649 [0.619, 0.678] (95 % Wilson, n = 1000)
    judge - label: -0.060 [-0.134, 0.002] (95 % Tango, n = 100)
    >>> found.n_labelled, round(found.worth_labels), round(found.width_ratio, 2)
    (100, 230, 0.66)
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
    chance: ArrayLike | None = None,
    tuning: float | None = None,
    kind: PoweredKind | None = None,
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
    chance : array of float, shape (items,), optional
        With what probability each item was chosen for a label, each by a draw of its own; by default all with the same.
        A labelled item then counts as 1 / chance items. Where labels and scores are 0 or 1 and the chance depends on
        the score alone, the interval is "MOVER", else "t".
    tuning : float, optional
        lambda; by default the one with the smallest variance in [0, 1]. 1 is the untuned mean.
    kind : {"MOVER", "t", "percentile", "basic", "bca", "studentised"}, optional
        "MOVER", the default for labels 0 and 1 with scores in [0, 1], puts limits together from Jeffreys' limits of the
        shares. With clusters these have as many trials as the clusters are worth, and Student's quantile. "t" is
        linearised with Student's t; the others are bootstraps of
        clusters that tune lambda again in each replicate. Where fewer than ten labels differ from the judge's score,
        only "MOVER" gives an interval.
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
        With fewer than three labelled items or clusters, without an unlabelled item, when a value is infinite, or a
        chance is not above 0 and at most 1.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.random(1000) < 0.7
    >>> judge = np.where(rng.random(1000) < 0.9, truth, ~truth)
    >>> result = prediction_powered_mean(judge, np.where(np.arange(1000) < 100, truth, np.nan))
    >>> print(result.mean)
    prediction-powered mean: 0.700 [0.638, 0.758] (95 % MOVER, n = 1000)
    >>> round(result.tuning, 2), round(result.width_ratio, 2)
    (0.69, 0.66)
    >>> chance = np.where(judge, 0.1, 0.3)
    >>> chosen = rng.random(1000) < chance
    >>> print(prediction_powered_mean(judge, np.where(chosen, truth, np.nan), chance=chance).mean)
    prediction-powered mean: 0.683 [0.623, 0.729] (95 % MOVER, n = 1000)
    """
    f = numbers("judge", judge)
    system = _System(f, numbers("label", label, f.size))
    if chance is None:
        return _powered((system,), cluster, tuning, kind, level, n_boot, rng, name)
    if kind is not None:
        raise ValueError(f"kind must be left out with chances of labels; got {kind!r}")
    return _weighted(system, cluster, numbers("chance", chance, f.size), tuning, level, name)


def _weighted(
    system: _System, cluster: ArrayLike | None, chance: Floats, tuning: float | None, level: float, name: str
) -> PredictionPowered:
    """Return the mean of items that had chances of their own to be labelled."""
    refuse_first("chance", "must be above 0 and at most 1", chance, ~((chance > 0) & (chance <= 1)))
    level = probability("level", level, open_interval=True)
    if tuning is not None:
        tuning = probability("tuning", tuning)
    kept, units, notes = _judged(system, cluster)
    f, y, chance = system.f[kept], system.y[kept], chance[kept]
    known = ~np.isnan(y)
    _refuse_few(known, units)
    clustered = cluster is not None
    what = "clusters" if clustered else "items"
    size = None if not clustered else int(units.max()) + 1
    weight = np.where(known, 1 / chance, 0.0)
    truth, whole = np.where(known, y, 0.0), weight.sum()
    label, seen, scored = float(weight @ truth / whole), float(weight @ f / whole), float(f.mean())
    rows = np.column_stack(
        [weight * (truth - label) / whole, (f - scored) / f.size - weight * (f - seen) / whole]
    )
    a, b = cluster_totals(rows, units).T
    alike = all(np.ptp(chance[f == said]) == 0 for said in np.unique(f))
    stratified = tuning is None and system.of_shares and bool(np.isin(f, (0.0, 1.0)).all()) and alike
    used = min(max(_best_tuning(a, b), 0.0), 1.0) if tuning is None else tuning
    worth = cluster_totals(np.column_stack([weight, weight**2]), units)
    scarce = worth[:, 0] > 0
    df = max(degrees_of_freedom(worth[scarce, 0]) - (tuning is None and 0 < used < 1), 1.0)
    bounds = (0.0, 1.0) if system.of_shares else (-np.inf, np.inf)
    n_known, many = int(known.sum()), int(scarce.sum())
    if many < FEW_LABELS:
        notes += (f"only {many} {what} are labelled, so intervals are approximate",)
    wrong = len(np.unique(units[known & (y != f)]))
    blind = (
        f"no interval, because only {wrong} of {many} labelled {what} differ from the judge: too few to show how often "
        "it errs"
    )

    def estimate(
        at: str, value: float, influence: Floats, limits_in: tuple[float, float], n: int, clusters: int | None,
        why: str = "",
    ) -> Estimate:  # fmt: skip
        groups = len(influence)
        error = float(np.sqrt(groups / (groups - 1) * (influence @ influence)))
        why = why or ("" if error > 0 else "no spread in the data")
        low, high, _ = student_limits(value, error, df, level) if not why else (None, None, None)
        inside = min(max(value, limits_in[0]), limits_in[1])
        if low is not None and high is not None:
            low, high = min(max(low, limits_in[0]), inside), max(min(high, limits_in[1]), inside)
        return Estimate(name=at, value=inside, low=low, high=high, kind="cluster t" if clustered else "t", n=n,
                        se=error, level=level, n_clusters=clusters, note=why)  # fmt: skip

    short = blind if wrong < FEW_DIFFERENT_WEIGHTED else ""
    mean = estimate(f"prediction-powered {name}", used * scored + label - used * seen, a + used * b, bounds, f.size,
                    size, short if used > 0 else "")  # fmt: skip
    if stratified:
        own = units if clustered else None
        value, used, parts = _by_verdict(_System(f, y), own)
        both = cluster_totals(np.column_stack([known, ~known]).astype(float), units).T
        degrees = np.inf if own is None else _degrees(parts.influence.sum(axis=1), *both)
        error = float(np.sqrt((parts.influence.sum(axis=1) ** 2).sum()))
        mean = _put_together(
            replace(mean, value=value, se=error), [parts], (1.0,), (0.0, 1.0), degrees, tested=False
        )
    alone = estimate(f"labels-only {name}", label, a, bounds, n_known, many if clustered else None)
    naive = _share(
        estimate(f"judge-only {name}", scored, cluster_totals((f - scored)[:, None] / f.size, units)[:, 0], bounds,
                 f.size, size), f, units if clustered else None)  # fmt: skip
    gap = cluster_totals((weight * (f - truth - (seen - label)) / whole)[:, None], units)[:, 0]
    span = (-1.0, 1.0) if system.of_shares else bounds
    bias = estimate("judge - label", seen - label, gap, span, n_known, many if clustered else None, short)
    ratio = None
    if mean.low is not None and mean.high is not None and alone.low is not None and alone.high is not None:
        ratio = (mean.high - mean.low) / (alone.high - alone.low)
    return PredictionPowered(
        mean, alone, naive, bias, used, ratio, n_known / ratio**2 if ratio else None, n_known, f.size - n_known, notes
    )  # fmt: skip


def _judged(
    every: _System, cluster: ArrayLike | None
) -> tuple[NDArray[np.bool_], NDArray[np.int64], tuple[str, ...]]:
    """Return which items have a judge's score, the clusters of these, and a note on the others."""
    codes = common_codes([("cluster", cluster, every.f.size)])
    judged = ~np.isnan(every.f)
    notes: tuple[str, ...] = ()
    if not judged.all():
        known = ~np.isnan(every.y)
        notes = (
            f"{int((~judged).sum())} of {every.f.size} items have no judge's score and were left out, "
            f"{int((~judged & known).sum())} of {int(known.sum())} labelled ones among them",
        )
    units = (
        np.arange(int(judged.sum())) if codes is None else np.unique(codes[0][judged], return_inverse=True)[1]
    )
    return judged, units, notes


def _refuse_few(known: NDArray[np.bool_], units: NDArray[np.int64]) -> None:
    """Refuse fewer than three labelled items or clusters, and labels of all."""
    if known.sum() < 3 or known.all():
        raise ValueError(
            "labels must be known for at least three items and unknown for at least one; "
            f"got {int(known.sum())} of {known.size}"
        )
    if (many := len(np.unique(units[known]))) < 3:
        raise ValueError(
            f"labels must come from at least three clusters to show the variation between clusters; got {many}"
        )


def _powered(
    systems: tuple[_System, ...], cluster: ArrayLike | None, tuning: float | None, kind: PoweredKind | None,
    level: float, n_boot: int, rng: RngLike, name: str,
) -> PredictionPowered:  # fmt: skip
    """Return the powered mean of one system, or of the second minus the first, with a test of 0."""
    if kind is not None:
        choice("kind", kind, get_args(PoweredKind))
    level = probability("level", level, open_interval=True)
    if tuning is not None:
        tuning = probability("tuning", tuning)
    every, tested = _System.difference(*systems) if len(systems) > 1 else systems[0], len(systems) > 1
    judged, units, notes = _judged(every, cluster)
    f, y = every.f[judged], every.y[judged]
    known = ~np.isnan(y)
    systems = tuple(_System(one.f[judged], np.where(known, one.y[judged], np.nan)) for one in systems)
    _refuse_few(known, units)
    totals = cluster_totals(_rows(f, y, known), units)
    scarce = totals[:, 0] > 0
    clustered = cluster is not None
    what = "clusters" if clustered else "items"
    if scarce.sum() < FEW_LABELS:
        notes += (f"only {int(scarce.sum())} {what} are labelled, so intervals are approximate",)
    notes += _unlike(f, known, units, clustered=clustered)
    shares = all(one.of_shares for one in systems)
    if kind == "MOVER" and not shares:
        raise ValueError("kind must not be 'MOVER' unless labels are 0 or 1 and scores in [0, 1]; got others")
    kind = kind or ("MOVER" if shares else "t")
    bounds = (-1.0 if tested else 0.0, 1.0) if shares else (-np.inf, np.inf)
    a, b = _influences(totals)
    own = _best_tuning(a, b)
    used = min(max(own, 0.0), 1.0) if tuning is None else tuning
    if tuning is None and used != own:
        notes += (f"the lambda of least variance is {own:z.2f}; {used:g} was used",)
    value = float(_mean(totals.sum(axis=0), used))
    se, df = error_of_two_samples(a + used * b, scarce, spent=2 if tuning is None and 0 < used < 1 else 1)
    clusters = None if not clustered else len(totals)
    differing = len(np.unique(units[known & (y != f)]))
    blind = ""
    if differing < FEW_DIFFERENT:
        blind = (
            f"no interval, because only {differing} of {int(scarce.sum())} labelled {what} differ from the judge: too "
            f"few to show how often it errs{', except with kind=MOVER' if shares else ''}"
        )

    def estimate(at: str, value: float, error: float, degrees: float, n: int, many: int | None) -> Estimate:
        low, high, p = student_limits(value, error, degrees, level) if error > 0 else (None, None, None)
        return Estimate(name=at, value=value, low=low, high=high, kind="t" if many is None else "cluster t", n=n,
                        se=error, level=level, n_clusters=many, p_value=p if tested else None,
                        note="" if error > 0 else "no spread in the data")  # fmt: skip

    def mean_of(
        at: str, above: Floats, below: Floats, labelled: NDArray[np.bool_], *size: int | None
    ) -> Estimate:
        value = float(above.sum() / below.sum())
        error = error_of_two_samples((above - value * below) / below.sum(), labelled)
        return estimate(at, value, *error, *size)  # type: ignore[arg-type]

    n_known, n_scarce = int(known.sum()), None if not clustered else int(scarce.sum())
    everything = np.ones(len(totals), dtype=bool)
    n_lab, lab, seen, n_rest, rest = totals.T
    alone = mean_of(f"labels-only {name}", lab, n_lab, scarce, n_known, n_scarce)
    naive = mean_of(f"judge-only {name}", seen + rest, n_lab + n_rest, everything, f.size, clusters)
    bias = mean_of("judge - label", seen - lab, n_lab, scarce, n_known, n_scarce)
    mean = estimate(f"prediction-powered {name}", value, se, df, f.size, clusters)
    if shares:
        own_units = None if not clustered else units

        def together(estimate: Estimate, tuning: float, *, powered: bool, sign: float = 1.0) -> Estimate:
            parts = [_shares(one, own_units, tuning, powered=powered) for one in systems]
            signs = (-sign, sign) if tested else (sign,)
            whole = np.sum(
                [s * part.influence.sum(axis=1) for s, part in zip(signs, parts, strict=True)], axis=0
            )
            degrees = np.inf if own_units is None else _degrees(whole, n_lab, n_rest)
            limits_in = bounds if powered else (-1.0, 1.0)
            return _put_together(estimate, parts, signs, limits_in, degrees, tested=tested)

        if not tested and not clustered and np.isin(f, (0.0, 1.0)).all():
            # A judge who errs on one side only was missed in .11 by limits put together from shares.
            more, less = (
                int(seen_otherwise.sum()) for seen_otherwise in (f[known] > y[known], f[known] < y[known])
            )
            low, high = score_limits(more, less, n_known, level)
            bias = replace(bias, low=low, high=high, kind="Tango", note="")
        else:
            bias = together(bias, 1.0, powered=False, sign=-1.0)
        if not tested:
            alone, naive = (
                _share(estimate, values, own)
                for estimate, values, own in (
                    (alone, y[known], None if not clustered else units[known]),
                    (naive, f, own_units),
                )
            )
        else:
            alone = together(alone, 0.0, powered=False)
    elif blind:
        bias = replace(bias, low=None, high=None, p_value=None, note=blind)
    if kind == "MOVER":
        labels_alone = tuning == 0
        mean = (
            replace(alone, name=mean.name, n=mean.n, n_clusters=clusters)
            if labels_alone
            else together(mean, used, powered=True)
        )
    elif blind and used > 0:
        mean = replace(mean, low=None, high=None, p_value=None, note=blind)
    elif kind != "t":
        mean = _bootstrapped(mean, totals, tuning, kind, n_boot, rng)
    if mean.low is not None and mean.high is not None:
        mean = replace(mean, low=max(mean.low, bounds[0]), high=min(mean.high, bounds[1]))
    ratio = None
    if mean.low is not None and mean.high is not None and alone.low is not None and alone.high is not None:
        ratio = (mean.high - mean.low) / (alone.high - alone.low)
    worth = n_known / ratio**2 if ratio else None
    return PredictionPowered(mean, alone, naive, bias, used, ratio, worth, n_known, f.size - n_known, notes)


def prediction_powered_difference(
    judge_a: ArrayLike,
    label_a: ArrayLike,
    judge_b: ArrayLike,
    label_b: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    tuning: float | None = None,
    kind: PoweredKind | None = None,
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
    one = int((np.isnan(columns["label_a"]) != np.isnan(columns["label_b"])).sum())
    systems = tuple(_System(columns[f"judge_{at}"], columns[f"label_{at}"]) for at in "ab")
    result = _powered(systems, cluster, tuning, kind, level, n_boot, rng, name)
    note = f"{counted(one, 'item')} with a label of one system alone {verb(one, 'counts', 'count')} as unlabelled"
    return replace(result, notes=(*result.notes, note)) if one else result


@dataclass(frozen=True, eq=False)
class _System:
    """A judge's scores and the labels of one system, NaN where missing."""

    f: Floats
    y: Floats

    @classmethod
    def difference(cls, a: _System, b: _System) -> _System:
        """Return b - a; an item is labelled where both are."""
        return cls(b.f - a.f, b.y - a.y)

    @property
    def of_shares(self) -> bool:
        """Whether labels are 0 or 1 and scores between."""
        known = self.y[~np.isnan(self.y)]
        return bool(np.isin(known, (0.0, 1.0)).all() and (self.f >= 0).all() and (self.f <= 1).all())


@dataclass(frozen=True, eq=False)
class _Parts:
    """What a mean of labels 0 and 1 is the sum of, each part with limits of its own.

    The parts are the labels where the judge says 1 and where it says 0 (scores below a half), what is left of the
    labelled items' scores, and the unlabelled items' scores. `influence` has a row per cluster; `reach` gives, for a
    tail and its quantile, how far each part may be below and above its estimate.
    """

    influence: Floats
    reach: Callable[[float, float], tuple[Floats, Floats]]

    @property
    def error_seen(self) -> bool:
        """Whether labels differ both where the judge says 1 and where it says 0."""
        return bool(self.influence[:, :2].any(axis=0).all())


def _shares(system: _System, units: NDArray[np.int64] | None, tuning: float, *, powered: bool) -> _Parts:
    """Return the parts of the prediction-powered mean, or (not `powered`) of the labelled items' mean y - tuning f."""
    f, y = system.f, system.y
    known = ~np.isnan(y)
    binary = bool(np.isin(f, (0.0, 1.0)).all())
    says = (f >= 0.5).astype(float)
    has = known.astype(float)
    one, zero, truth = has * says, has * (1 - says), np.where(known, y, 0.0)
    n, m = has.sum(), (1 - has).sum()
    ones, zeros = one.sum(), zero.sum()
    both = truth.sum() / n
    # A judge that never says 1 on labelled items has no effect there that could be seen.
    high = float(truth @ one / ones) if ones else float(both)
    low = float(truth @ zero / zeros) if zeros else float(both)
    weight = float(says.mean() if powered else ones / n)
    slope = high - low - tuning
    rest = (high - low) * says - tuning * f
    left, seen = float(rest @ has / n), float(f @ (1 - has) / m)
    size = tuning if powered else 0.0
    columns = np.column_stack(
        [
            one * (truth - high) * (weight / ones if ones else 0.0),
            zero * (truth - low) * ((1 - weight) / zeros if zeros else 0.0),
            has * (rest - left) / n,
            (1 - has) * (f - seen) * size / m,
        ]
    )
    influence = columns if units is None else cluster_totals(columns, units)
    labelled = (has if units is None else cluster_totals(has[:, None], units)[:, 0]) > 0

    counted = [(truth * one, one), (truth * zero, zero)]
    by = [weight, 1 - weight]
    if binary:
        counted, by = [*counted, (f * has, has), (f * (1 - has), 1 - has)], [*by, slope, size]
    at = np.array([high, low, f @ has / n, seen][: len(by)])
    trials = np.array([each[1].sum() for each in counted])
    worth = trials
    if units is not None:
        sums = [cluster_totals(np.column_stack(each), units) for each in counted]
        worth = np.array(
            [
                *_worth_of_errors(sums[:2], cluster_totals(np.column_stack([truth, has]), units)),
                *(_worth(each) for each in sums[2:]),
            ]
        )

    def reach(tail: float, quantile: float) -> tuple[Floats, Floats]:
        below, above = np.zeros((2, 4))
        below[: len(by)], above[: len(by)] = _jeffreys(by, at, worth, tail)
        if not binary:
            for k, part in ((2, labelled), (3, ~labelled)):
                half = quantile * error_of_two_samples(influence[:, k], part if part.any() else ~part)[0]
                below[k], above[k] = half, half
        return np.maximum(below, 0.0), np.maximum(above, 0.0)

    return _Parts(influence, reach)


def _jeffreys(
    by: Sequence[float], at: Floats, worth: NDArray[Any], tail: float
) -> tuple[list[float], list[float]]:
    """Return how far parts may be below and above, each the share `at` of so many trials, times `by`.

    Jeffreys' limits are 0 and 1 where no trial, or none or all of them, say otherwise.
    """
    from scipy.special import betaincinv

    below, above = [], []
    for scale, share_at, count in zip(by, at, worth, strict=True):
        yes, no = share_at * count, (1 - share_at) * count
        lower = float(betaincinv(yes + 0.5, no + 0.5, tail)) if yes > _ROUNDING else 0.0
        upper = float(betaincinv(yes + 0.5, no + 0.5, 1 - tail)) if no > _ROUNDING else 1.0
        ends = sorted((scale * (lower - share_at), scale * (upper - share_at)))
        below.append(-ends[0])
        above.append(ends[1])
    return below, above


def _by_verdict(system: _System, units: NDArray[np.int64] | None) -> tuple[float, float, _Parts]:
    """Return the mean of labels 0 and 1 by verdict 0 and 1, how much more often they are 1 at 1, and its parts.

    The parts are the labels where the judge says 1 and where it says 0, and the share of items where it says 1. How
    many of either are labelled plays no role.
    """
    says, known = system.f, ~np.isnan(system.y)
    truth, has = np.where(known, system.y, 0.0), known.astype(float)
    one, zero, every = has * says, has * (1 - says), np.ones(says.size)
    ones, zeros, weight = float(one.sum()), float(zero.sum()), float(says.mean())
    both = float(truth.sum() / has.sum())
    high = float(truth @ one / ones) if ones else both
    low = float(truth @ zero / zeros) if zeros else both
    columns = np.column_stack(
        [
            one * (truth - high) * (weight / ones if ones else 0.0),
            zero * (truth - low) * ((1 - weight) / zeros if zeros else 0.0),
            (says - weight) * (high - low) / says.size,
        ]
    )
    counted = [(truth * one, one), (truth * zero, zero), (says, every)]
    worth = np.array([ones, zeros, float(says.size)])
    if units is not None:
        sums = [cluster_totals(np.column_stack(each), units) for each in counted]
        labels = cluster_totals(np.column_stack([truth, has]), units)
        worth = np.array([*_worth_of_errors(sums[:2], labels), _worth(sums[2])])
    by, at = [weight, 1 - weight, high - low], np.array([high, low, weight])
    influence = columns if units is None else cluster_totals(columns, units)

    def reach(tail: float, quantile: float) -> tuple[Floats, Floats]:
        below, above = _jeffreys(by, at, worth, tail)
        return np.maximum(below, 0.0), np.maximum(above, 0.0)

    return weight * high + (1 - weight) * low, high - low, _Parts(influence, reach)


def _worth(counted: Floats) -> float:
    """Return how many independent trials the trials (second column) of clusters are worth; at most all of them."""
    above, below = counted[counted[:, 1] > 0].T
    total = float(below.sum())
    share_at = float(above.sum()) / total if total else 0.0
    spread = share_at * (1 - share_at)
    if len(below) < 2 or spread <= _ROUNDING:
        return effective_clusters(below)
    return min(total, spread / max(mean_error(above - share_at * below, below, spread) ** 2, spread / total))


def _worth_of_errors(parts: Sequence[Floats], labels: Floats) -> list[float]:
    """Return the independent trials that labels are worth where the judge says 1, and where it says 0.

    The correlation of the judge's errors within a cluster is that which both parts show together, each by its number
    of errors. :data:`ASSUMED_ERRORS` further errors correlate as labels do, so that few errors do not pass for
    independent ones.
    """
    correlation, errors = _alike(labels) * ASSUMED_ERRORS, ASSUMED_ERRORS
    own = [_alike(part) for part in parts]
    rarer = [float(min(part[:, 0].sum(), part[:, 1].sum() - part[:, 0].sum())) for part in parts]
    for found, seen in zip(own, rarer, strict=True):
        correlation, errors = correlation + seen * found, errors + seen
    within = max(correlation / errors, 0.0)
    worth = []
    for _, below in (part.T for part in parts):
        total = float(below.sum())
        worth.append(total / (1 + (float(below @ below) / total - 1) * within) if total else 0.0)
    return worth


def _alike(counted: Floats) -> float:
    """Return the correlation of two trials of a cluster, from -1 to 1; 0 where none can be seen."""
    above, below = counted[counted[:, 1] > 0].T
    total, clusters = float(below.sum()), len(below)
    if clusters < 2 or total <= clusters:
        return 0.0
    share_at = float(above.sum()) / total
    spread = share_at * (1 - share_at)
    if spread <= _ROUNDING:
        return 0.0
    away = above - share_at * below
    found = float((away**2 / (below * (1 - below / total))).sum()) / spread
    return min(max((found - clusters) / (total - clusters), -1.0), 1.0)


def _put_together(
    estimate: Estimate, parts: list[_Parts], signs: tuple[float, ...], bounds: tuple[float, float], degrees: float,
    *, tested: bool,
) -> Estimate:  # fmt: skip
    """Return the estimate with limits from those of its parts (MOVER); parts are as correlated as their influences.

    All parts have the quantile of Student's t with `degrees`, the normal one if they are infinite.
    """
    influence = np.concatenate(
        [sign * part.influence for sign, part in zip(signs, parts, strict=True)], axis=1
    )
    products = influence.T @ influence
    size = np.sqrt(np.diag(products))
    spread = np.outer(size, size)
    alike = np.divide(products, spread, out=np.zeros_like(products), where=spread > 0)
    np.fill_diagonal(alike, 1.0)

    def limits(level: float) -> tuple[float, float]:
        quantile = float(
            -scipy.special.ndtri((1 - level) / 2)
            if np.isinf(degrees)
            else -scipy.special.stdtrit(degrees, (1 - level) / 2)
        )
        tail = float(scipy.special.ndtr(-quantile))
        ends = [
            part.reach(tail, quantile)[:: 1 if sign > 0 else -1]
            for sign, part in zip(signs, parts, strict=True)
        ]
        below, above = (np.concatenate([end[side] for end in ends]) for side in (0, 1))
        low, high = (float(np.sqrt(max(d @ alike @ d, 0.0))) for d in (below, above))
        return max(estimate.value - low, bounds[0]), min(estimate.value + high, bounds[1])

    low, high = limits(estimate.level)
    p = None
    if tested:
        p = _level_at_zero(limits) if estimate.value else 1.0
    se = estimate.se if all(part.error_seen for part in parts) else None
    return replace(estimate, low=low, high=high, se=se, kind="MOVER", p_value=p, note="")


def _degrees(influence: Floats, labelled: Floats, unlabelled: Floats) -> float:
    """Return the degrees of freedom of a sum of cluster influences, by what clusters with and without labels are worth.

    `labelled` and `unlabelled` are the items of each cluster; as in ``error_of_two_samples``, but of Kish's numbers.
    """
    scarce = labelled > 0
    square = below = 0.0
    for part, sizes in ((scarce, labelled), (~scarce, unlabelled)):
        own = float(influence[part] @ influence[part])
        square, below = square + own, below + (own**2 / degrees_of_freedom(sizes[part]) if own else 0.0)
    return square**2 / below if below else degrees_of_freedom(labelled)


def _level_at_zero(limits: Callable[[float], tuple[float, float]]) -> float:
    """Return 1 minus the level at which the limits just reach 0."""
    from scipy.optimize import brentq

    def short(quantile: float) -> float:
        """Return how far the limits end before 0, negative where they hold it."""
        low, high = limits(float(1 - 2 * scipy.special.ndtr(-quantile)))
        return max(low, -high)

    least, most = 1e-9, 8.0  # normal quantiles; beyond 8 a level is 1
    if short(least) <= 0 or short(most) >= 0:
        return 1.0 if short(least) <= 0 else float(2 * scipy.special.ndtr(-most))
    return float(2 * scipy.special.ndtr(-brentq(short, least, most, xtol=1e-7)))


def _share(estimate: Estimate, values: Floats, units: NDArray[np.int64] | None) -> Estimate:
    """Return the mean of 0 and 1 with limits of a share; of other numbers as it is."""
    if not np.isin(values, (0.0, 1.0)).all():
        return estimate
    if units is None:
        made = share(int(values.sum()), values.size, level=estimate.level)
    else:
        codes = np.unique(units, return_inverse=True)[1]
        made = clustered_share(values, np.ones(values.size), codes, level=estimate.level)
    return replace(estimate, low=made.low, high=made.high, kind=made.kind, note=made.note)


def _unlike(
    f: Floats, known: NDArray[np.bool_], units: NDArray[np.int64], *, clustered: bool
) -> tuple[str, ...]:
    """Say that the judge scores labelled items otherwise than the rest: then they are hardly a random part."""
    seen, rest = f[known], f[~known]
    if np.isin(f, (0.0, 1.0)).all() and not clustered:
        from scipy.stats import fisher_exact

        table = [[int((part == value).sum()) for value in (0.0, 1.0)] for part in (seen, rest)]
        p = float(fisher_exact(np.array(table))[1])
    else:
        # The spread of all items, since labels at random leave it the same in both parts.
        away = cluster_totals((f - f.mean())[:, None], units)[:, 0]
        se = float(
            np.sqrt(away @ away * len(away) / (len(away) - 1) / f.size * (1 / seen.size + 1 / rest.size))
        )
        p = student_limits(float(seen.mean() - rest.mean()), se, len(away) - 1, 0.95)[2] if se > 0 else 1.0
    if p >= UNLIKE:
        return ()
    text = (
        f"the judge's mean is {seen.mean():z.3f} on labelled and {rest.mean():z.3f} on unlabelled items (p = {p:.2g}): "
        "the labelled items are no random part, and the mean may be biased"
    )
    return (warning(text, "labels not at random"),)


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
