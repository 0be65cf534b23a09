"""Are judges as often right as they say, what does recalibration gain, and do weighted votes decide better?

Assumptions: clusters (questions) are independent; a confidence is the probability that the voter gave its own vote of
being right.

References
----------
Brier (1950), Monthly Weather Review 78, 1. Nitzan and Paroush (1982), International Economic Review 23, 289 (weights).
Those of ``d3stats.inference.judges.calibration_error`` and ``d3stats.inference.judges.recalibration``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from d3stats._arrays import Floats, Ints
from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats._words import Advised, counted, percent, points
from d3stats.estimate import Estimate
from d3stats.inference.judges.calibration_error import (
    BINNINGS,
    UNCORRECTED,
    Binning,
    bins_of,
    calibration_error,
    decomposition,
    reliability_bins,
)
from d3stats.inference.judges.recalibration import cross_fitted, fit_beta, fit_isotonic
from d3stats.inputs.confidences import Confidences
from d3stats.resampling import (
    cluster_estimate,
    cluster_totals,
    clustered_share,
    item_ratio_error,
    ratios,
)
from d3stats.result import EstimatesResult
from d3stats.sources import Reading
from d3stats.sources.confidences import as_confidences

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FEWEST", "FOLDS", "Confidence", "confidence", "gains_of", "means_of", "verdicts_of"]


FOLDS, FEWEST = 5, 10
"""Parts of the clusters for cross-fitting, and the clusters below which nothing is recalibrated."""

GROUPS = 20
"""Parts of the clusters that the error of a gain leaves out in turn."""

Fit = Callable[[Floats, Floats], Callable[[Floats], Floats]]
_LEAST = 1e-3
"""A recalibrated confidence counts in a weight as at least this and at most 1 minus this."""
_TIED = 1e-9


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Confidence(EstimatesResult):
    """Calibration of stated confidences: the result of :func:`confidence`.

    Attributes
    ----------
    stated : Estimate
        Mean confidence.
    accuracy : Estimate
        Share of right votes.
    overconfidence : Estimate
        Mean confidence minus the share of right votes; below 0 for underconfidence.
    brier : Estimate
        Mean of (confidence - right)^2, 0 at best.
    calibration_error : Estimate
        Root mean square difference of confidence and share of right votes over bins, corrected for bias. Its p-value
        is of calibrated votes.
    plain_error : float
        Mean absolute difference over the bins, the usual expected calibration error, which is above 0 by chance.
    miscalibration, discrimination, uncertainty : float
        Parts of the Brier score (reliability, resolution, uncertainty): the first minus the second plus the third.
    gains : tuple of Estimate
        Brier score minus that after isotonic and after Beta recalibration, by cross-fitting; empty where `notes` says
        why.
    weighted : tuple of Estimate
        Accuracy of verdicts with votes weighted by the stated and by the recalibrated confidence, each minus that of
        the plurality, paired by debate; empty where `notes` says why.
    verdicts : tuple of Estimate
        Accuracy of the plurality and of both weighted verdicts.
    bins : DataFrame
        One row per bin: ``n, clusters, confidence, right, band_low, band_high``. Calibrated votes lie in the band.
    curve : DataFrame
        Recalibrated by all votes: ``confidence, isotonic, beta``, one row per different confidence, at most 200.
    judges : DataFrame
        One row per judge: ``judge, n, confidence, right, over, low, high, brier``.
    rounds : DataFrame
        The same per round, with ``round``; empty unless it was asked for.
    n_votes, n_clusters : int
        Votes that count, and the clusters that they come from.
    level : float
        Level of all intervals.

    Examples
    --------
    >>> rng = np.random.default_rng(2)
    >>> said = rng.uniform(0.5, 1, 400)
    >>> votes = pd.DataFrame({"item": range(400), "judge": "x", "label": "A", "confidence": said})
    >>> votes["vote"] = np.where(rng.random(400) < said - 0.2, "A", "B")
    >>> found = confidence(votes, rng=1)
    >>> found.overconfidence.low > 0.1, found.miscalibration > 0.03, [gain.low > 0 for gain in found.gains]
    (True, True, [True, True])
    >>> found.plot().get_xlabel()
    'stated confidence'
    """

    stated: Estimate
    accuracy: Estimate
    overconfidence: Estimate
    brier: Estimate
    calibration_error: Estimate
    plain_error: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    gains: tuple[Estimate, ...]
    weighted: tuple[Estimate, ...]
    verdicts: tuple[Estimate, ...]
    bins: pd.DataFrame
    curve: pd.DataFrame
    judges: pd.DataFrame
    rounds: pd.DataFrame
    notes: tuple[str, ...]
    n_votes: int
    n_clusters: int
    level: float
    _json = (
        *(
            "estimates",
            "plain_error",
            "miscalibration",
            "discrimination",
            "uncertainty",
            "bins",
            "curve",
            "judges",
        ),
        *("rounds", "notes", "n_votes", "n_clusters", "level"),
    )

    @property
    def headline(self) -> str:
        """The mean confidence, the share of right votes, and whether their difference is shown."""
        who = "Judges say" if len(self.judges) > 1 else "The judge says"
        be = "are" if len(self.judges) > 1 else "is"
        a, o = self.accuracy, self.overconfidence
        says = f"{who} {percent(self.stated.value)} and {be} right in {percent(a.value, a.low, a.high)}"
        over = o.value > 0
        if o.low is None or o.high is None:
            return f"{says}; whether that is overconfidence is unknown: {o.note}."
        if o.excludes(0.0):
            low, high = (o.low, o.high) if over else (-o.high, -o.low)
            word = "overconfident" if over else "underconfident"
            return f"{says}: {word} by {points(abs(o.value), low, high, sign=False)}."
        return f"{says}: neither over- nor underconfidence is shown ({points(o.value, o.low, o.high)})."

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of right votes against the stated confidence, with consistency bands and recalibrations."""
        from d3stats.plotting import plot_reliability

        return plot_reliability(self.bins, curve=self.curve, ax=ax)

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every estimate that the data carry."""
        first = (self.overconfidence, self.stated, self.accuracy, self.brier, self.calibration_error)
        return (*first, *self.gains, *self.verdicts, *self.weighted)

    def _answer(self) -> Sequence[str]:
        e, b = self.calibration_error, self.brier
        limits = "" if b.low is None else f" [{b.low:z.3f}, {b.high:z.3f}]"
        corrected = "not corrected" if e.kind == UNCORRECTED else "corrected for bias"
        lines = [
            self.headline,
            f"Calibration error {points(e.value, e.low, e.high, sign=False)}, {corrected}.",
            f"Brier score {b.value:z.3f}{limits} = {self.miscalibration:z.3f} miscalibration - "
            f"{self.discrimination:z.3f} discrimination + {self.uncertainty:z.3f} uncertainty.",
        ]
        if self.gains:
            said = ", ".join(
                f"{name} {_change(gain)}" for name, gain in zip(("isotonic", "Beta"), self.gains, strict=True)
            )
            lines.append(f"Brier score that recalibration saves (cross-fitted): {said}.")
        if self.weighted:
            plain, _, again = self.verdicts
            gain = self.weighted[1]
            lines.append(
                f"Verdicts by recalibrated confidence are right in {percent(again.value)}, by plurality in "
                f"{percent(plain.value)}: {points(gain.value, gain.low, gain.high)}."
            )
        return lines

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        tables = {"judges": self.judges, "bins": self.bins, "curve": self.curve, **super()._tables()}
        return tables if self.rounds.empty else {"rounds": self.rounds, **tables}


def _change(e: Estimate) -> str:
    return f"{e.value:+z.3f}" + ("" if e.low is None else f" [{e.low:+z.3f}, {e.high:+z.3f}]")


def confidence(
    source: Any,
    *,
    round_number: int | None = None,
    by_round: bool = False,
    bins: int = 10,
    binning: Binning = "equal_count",
    level: float = 0.95,
    rng: RngLike = None,
    **reading: Unpack[Reading],
) -> Confidence:
    """Compare the confidences of votes with the right answers: calibration, gains of recalibration, weighted verdicts.

    Parameters
    ----------
    source : Confidences, or any source that ``d3stats.open`` takes
        Votes with a confidence (a column ``confidence``, or in a wide table one like ``x_confidence``) and labels.
    round_number : int, optional
        The round to take votes from; by default each debate's last.
    by_round : bool
        Also return every round's mean confidence and share of right votes.
    bins : int
        Bins of the calibration error and the picture, at least 2.
    binning : {"equal_count", "equal_width"}
        Bins of about as many votes each, or of the same width. Votes of one confidence are in one bin.
    level : float
        Level of intervals over clusters.
    rng : Generator, int or None
        Source of the folds for recalibration; one seed gives one result.
    **reading : Reading
        How the source is read, as for ``d3stats.open``.

    Returns
    -------
    Confidence

    Raises
    ------
    ValueError
        When no vote has a confidence and a right answer, or none in this round.

    Notes
    -----
    Recalibration is fitted without a fifth of the clusters and used on that fifth, so that no vote is recalibrated by
    votes of its own question. A weighted verdict is the answer with the largest sum of weights. The weight of a vote is
    its stated confidence, or the log odds ``log((K - 1) p / (1 - p))`` of its confidence after Beta recalibration, with
    K the different answers in the debate, at least 2 (Nitzan and Paroush, 1982). A tie is shared evenly. All verdicts
    compared are of the same votes, those with a confidence.

    Examples
    --------
    >>> votes = pd.DataFrame({"item": [1, 2, 3, 4] * 5, "judge": np.repeat(list("vwxyz"), 4), "label": "A"})
    >>> votes = votes.assign(vote=list("AABA") * 5, confidence=[0.9, 0.8, 0.9, 1.0] * 5)
    >>> found = confidence(votes, rng=1)
    >>> print(found.stated)
    mean confidence: 0.900 [0.770, 1.000] (95 % skewness-adjusted cluster t, n = 20 in 4 clusters)
    """
    level = probability("level", level, open_interval=True)
    bins = integer("bins", bins, minimum=2)
    choice("binning", binning, BINNINGS)
    generator = as_rng(rng)
    everything = as_confidences(source, **reading)
    data = _of_round(everything, round_number)
    c, y, cluster = data.confidence, data.right, data.cluster
    notes = list(data.notes)
    bin_ = bins_of(c, bins, binning)
    error, _, alone = calibration_error(c, y, cluster, bin_, level)
    if alone and not error.note:
        notes.append(f"{counted(alone, 'vote')} in bins of one cluster {'is' if alone == 1 else 'are'} not part of the "
                     "calibration error")  # fmt: skip
    frame = reliability_bins(c, y, cluster, bin_, level)
    parts = decomposition(c, y)
    stated, accuracy, over, brier = means_of(data, level)
    gains, again = _recalibrated(data, level, generator, notes)
    verdicts, weighted = verdicts_of(data, again, level, notes)
    return Confidence(
        stated=stated, accuracy=accuracy, overconfidence=over, brier=brier, calibration_error=error,
        plain_error=float((frame["n"] * (frame["confidence"] - frame["right"]).abs()).sum() / len(data)),
        miscalibration=parts.miscalibration, discrimination=parts.discrimination, uncertainty=parts.uncertainty,
        gains=gains, weighted=weighted, verdicts=verdicts, bins=frame, curve=_curve(c, y),
        judges=_rows("judge", data.judges, data, data.judge, level),
        rounds=_by_round(everything, level) if by_round else _rows("round", (), data, data.round, level),
        notes=tuple(notes), n_votes=len(data), n_clusters=data.n_clusters, level=level,
    )  # fmt: skip


def _of_round(data: Confidences, number: int | None) -> Confidences:
    if number is None:
        if not data.last.any():
            have = ", ".join(map(str, np.unique(data.round)))
            needed = "the last rounds of debates must have votes with a confidence"
            raise ValueError(Advised(needed, f"choose round {have} with round_number (--round)", got="none"))
        return data.where(data.last)
    number = integer("round_number", number, minimum=1)
    if not (data.round == number).any():
        have = ", ".join(map(str, np.unique(data.round)))
        raise ValueError(f"round_number must be a round with confidences, one of {have}; got {number}")
    return data.where(data.round == number)


def _mean(
    name: str, x: Floats, cluster: Ints, level: float, least: float, bounds: tuple[float, float]
) -> Estimate:
    ones = np.ones_like(x)
    totals = cluster_totals(np.column_stack([x, ones]), cluster)
    least = max(least, item_ratio_error(x, ones, cluster))
    return cluster_estimate(
        name, totals, ratios((0, 1)), len(x), level=level, bounds=bounds, tested=False, least=least
    )


def means_of(data: Confidences, level: float) -> tuple[Estimate, Estimate, Estimate, Estimate]:
    """Return mean confidence, accuracy, their difference and the Brier score.

    A share that is 0 or 1 in the sample does not vary, so the errors of the last two are at least those of independent
    votes of which one more is right with the mean confidence.
    """
    c, y, cluster = data.confidence, data.right, data.cluster
    n = len(data)
    p = (y.sum() + c.mean()) / (n + 1)
    alone = float(np.sqrt(p * (1 - p) / n))
    scores = float(np.sqrt(p * (1 - p) * ((2 * c - 1) ** 2).mean() / n))
    return (
        _mean("mean confidence", c, cluster, level, 0.0, (0.0, 1.0)),
        clustered_share(y, np.ones_like(y), cluster, level=level, name="accuracy"),
        _mean("overconfidence", c - y, cluster, level, alone, (-1.0, 1.0)),
        _mean("Brier score", (c - y) ** 2, cluster, level, scores, (0.0, 1.0)),
    )


def _row(data: Confidences, level: float) -> tuple[Any, ...]:
    stated, accuracy, over, brier = means_of(data, level)
    return len(data), stated.value, accuracy.value, over.value, over.low, over.high, brier.value


def _rows(key: str, names: Sequence[Any], data: Confidences, code: Ints, level: float) -> pd.DataFrame:
    rows = [(name, *_row(data.where(code == k), level)) for k, name in enumerate(names) if (code == k).any()]
    columns = [key, "n", "confidence", "right", "over", "low", "high", "brier"]
    return pd.DataFrame(rows, columns=columns).astype({"low": float, "high": float})


def _by_round(data: Confidences, level: float) -> pd.DataFrame:
    numbers, code = np.unique(data.round, return_inverse=True)
    return _rows("round", numbers.tolist(), data, code.astype(np.int64), level)


def _curve(c: Floats, y: Floats) -> pd.DataFrame:
    at = np.unique(c)
    at = at if len(at) <= 200 else at[np.linspace(0, len(at) - 1, 200).round().astype(int)]
    return pd.DataFrame({"confidence": at, "isotonic": fit_isotonic(c, y)(at), "beta": fit_beta(c, y)(at)})


def _recalibrated(
    data: Confidences, level: float, rng: np.random.Generator, notes: list[str]
) -> tuple[tuple[Estimate, ...], Floats | None]:
    """Return what isotonic and Beta recalibration save, and the confidences after the latter."""
    clusters = data.n_clusters
    if clusters < FEWEST:
        notes.append(f"{counted(clusters, 'cluster')}: recalibration and weights need at least {FEWEST}")
        return (), None
    return gains_of(data, rng.permutation(np.arange(clusters) % FOLDS)[data.cluster], level)


def gains_of(data: Confidences, fold: Ints, level: float) -> tuple[tuple[Estimate, ...], Floats]:
    """Return what isotonic and Beta recalibration save, cross-fitted over folds, and the confidences after the second.

    The votes behind a map are also those that other maps are tried on. So the error is that of a jackknife, which
    leaves a twentieth of the clusters out at a time and fits all maps again (Kott 2001). The error of the mean alone is
    too small by a third where the votes are calibrated.
    """
    c, y, n = data.confidence, data.right, data.n_clusters
    size = min(GROUPS, n)
    folds = np.zeros(n, dtype=np.int64)
    folds[data.cluster] = fold
    group = np.empty(n, dtype=np.int64)
    group[np.argsort(folds, kind="stable")] = np.arange(n) % size
    gains, after = [], c
    for name, fit in (("isotonic", fit_isotonic), ("Beta", fit_beta)):

        def saved(kept: NDArray[np.bool_], fit: Fit = fit) -> tuple[float, Floats]:
            fitted = cross_fitted(fit, c[kept], y[kept], fold[kept])
            return float(((c[kept] - y[kept]) ** 2 - (fitted - y[kept]) ** 2).mean()), fitted

        value, after = saved(np.ones(len(c), dtype=np.bool_))
        without = np.array([saved(group[data.cluster] != k)[0] for k in range(size)])
        se = math.sqrt((size - 1) / size * ((without - without.mean()) ** 2).sum())
        half = float(stdtrit(size - 1, (1 + level) / 2)) * se
        p_value = float(2 * stdtr(size - 1, -abs(value) / se)) if se > 0 else None
        gains.append(
            Estimate(
                name=f"Brier score saved, {name}", value=value, low=max(value - half, -1.0),
                high=min(value + half, 1.0), kind="jackknife t", n=len(c), se=se, level=level, n_clusters=n,
                p_value=p_value,
            )
        )  # fmt: skip
    return tuple(gains), after


def _paired(name: str, x: Floats, cluster: Ints, level: float) -> Estimate:
    totals = cluster_totals(np.column_stack([x, np.ones_like(x)]), cluster)
    return cluster_estimate(
        name, totals, ratios((0, 1)), len(x), level=level, bounds=(-1.0, 1.0), symmetric=True
    )


def verdicts_of(
    data: Confidences, again: Floats | None, level: float, notes: list[str]
) -> tuple[tuple[Estimate, ...], tuple[Estimate, ...]]:
    """Return the accuracies of three verdicts on the same votes, and the differences to the plurality."""
    panel = np.bincount(data.debate)
    if panel.max() < 2:
        notes.append("every debate has one vote with a confidence, so there are no verdicts to weight")
        return (), ()
    if again is None:
        return (), ()
    if data.by_correctness:
        notes.append(
            "votes are only right or wrong here, so wrong votes count as one answer, which is an assumption"
        )
    pair, at = np.unique(np.column_stack([data.debate, data.vote]), axis=0, return_inverse=True)
    at = at.reshape(-1)
    answers = np.maximum(np.bincount(pair[:, 0]), 2)[data.debate]
    p = np.clip(again, _LEAST, 1.0 - _LEAST)
    odds = np.log((answers - 1) * p / (1.0 - p))
    debates, first, row = np.unique(pair[:, 0], return_index=True, return_inverse=True)
    correct = np.zeros(len(pair))
    correct[at] = data.right
    cluster = np.zeros(len(panel), dtype=np.int64)
    cluster[data.debate] = data.cluster
    cluster = cluster[debates]
    right = []
    for weight in (np.ones_like(p), data.confidence, odds):
        total = np.bincount(at, weight)
        leads = total >= np.maximum.reduceat(total, first)[row] - _TIED
        right.append(np.bincount(row, leads * correct) / np.bincount(row, leads))
    ones = np.ones(len(debates))
    names = ("plurality", "stated weights", "recalibrated weights")
    verdicts = tuple(
        clustered_share(x, ones, cluster, level=level, name=f"accuracy, {name}")
        for name, x in zip(names, right, strict=True)
    )
    weighted = tuple(
        _paired(f"{name} - plurality", x - right[0], cluster, level)
        for name, x in zip(names[1:], right[1:], strict=True)
    )
    return verdicts, weighted
