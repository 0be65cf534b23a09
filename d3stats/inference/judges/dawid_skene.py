"""How accurate is each judge, and what is the right answer of each item, without labels?

The model of Dawid and Skene (1979): every item has one right answer, of a set that is the same for all items. Given it,
the judges vote independently, each with a confusion matrix of its own.

Assumptions: judges err independently given the right answer, and are better than chance on average. Neither can be
seen for certain in votes: a panel that is wrong in common looks like a panel that is right.

References
----------
Dawid and Skene (1979), Applied Statistics 28, 20. Nitzan and Paroush (1982), International Economic Review 23, 289
(weights of independent judges: log odds of being right).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from d3stats._arrays import Floats, Ints
from d3stats._check import number, probability
from d3stats._words import counted, percent, points
from d3stats.estimate import Estimate
from d3stats.inference.comparison.pair_data import PairData
from d3stats.inputs.ratings import Ratings
from d3stats.models.panels.latent_class import (
    LatentClasses,
    VotePatterns,
    fit_latent_classes,
    log_odds,
    posterior_of,
    shares_of,
)
from d3stats.note import warning
from d3stats.resampling import (
    ONE_CLUSTER,
    cluster_t,
    cluster_totals,
    clustered_share,
    degrees_of_freedom,
    student_limits,
)
from d3stats.result import EstimatesResult
from d3stats.sources.ratings import as_ratings
from d3stats.trajectories import MISSING

__all__ = ["DawidSkene", "dawid_skene"]


FEWEST_JUDGES = 3
"""Two judges who differ leave open who of them is right."""
MOST_ANSWERS = 10
"""Above so many different votes, answers are rather a set of their own for each item."""
FEWEST_CLUSTERS, FEWEST_OF_THREE = 30, 100
"""In fewer clusters limits covered too little; three judges just determine the model."""
_SINGULAR, _STEP, _POINTS = 1e-9, 1e-4, 128
UNSEEN = (
    "without right answers the judges are taken to err independently and to be better than chance on average; "
    "a panel that is wrong in common looks right"
)
_TIE = "tie"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DawidSkene(EstimatesResult):
    """Judges' accuracies and items' verdicts without labels: the result of :func:`dawid_skene`.

    Attributes
    ----------
    expected : Estimate
        Share of the verdicts that are right if the model holds: the mean probability of the verdicts.
    accuracy, plurality, gain : Estimate or None
        With labels: share of the verdicts that are right, that of the plurality (a tie shared evenly), and the
        difference on the same items. None without labels.
    judges : DataFrame
        One row per judge: ``judge, n`` (votes), ``accuracy, low, high`` (by the model, without labels), ``weight``
        (log odds of being right against one wrong answer), and with labels ``labelled`` (accuracy by the labels).
    confusion : DataFrame
        One row per judge, right answer and vote: ``judge, truth, vote, share, low, high``.
    prevalences : DataFrame
        One row per answer: ``answer, share, low, high``: how often it is right.
    verdicts : DataFrame
        One row per item: ``item, verdict, probability, plurality`` ("tie" where several answers lead), and with labels
        ``label``.
    n_items, n_clusters : int
        Items with votes, and the clusters that they come from.
    n_starts, n_reached_best : int
        Starts of the search, and those that reached the best optimum.
    converged : bool
        Whether the search ended at an optimum.
    llf : float
        Log-likelihood.
    prior : float
        Votes that the prior counts for in each row of a confusion matrix.
    level : float
        Level of all intervals.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> right = rng.random((200, 5)) < np.array([0.95, 0.9, 0.6, 0.6, 0.6])
    >>> truth = rng.random(200) < 0.5
    >>> votes = pd.DataFrame(np.where(right == truth[:, None], "A", "B"), columns=list("vwxyz"))
    >>> found = dawid_skene(votes)
    >>> found.judges["accuracy"].round(2).tolist()
    [0.89, 0.91, 0.6, 0.56, 0.67]
    >>> print(found.headline)
    If the model holds, verdicts of 5 judges are right 92 % [86, 96].
    >>> found.verdicts.columns.tolist()
    ['item', 'verdict', 'probability', 'plurality']
    """

    expected: Estimate
    accuracy: Estimate | None
    plurality: Estimate | None
    gain: Estimate | None
    judges: pd.DataFrame
    confusion: pd.DataFrame
    prevalences: pd.DataFrame
    verdicts: pd.DataFrame
    notes: tuple[str, ...]
    n_items: int
    n_clusters: int
    n_starts: int
    n_reached_best: int
    converged: bool
    llf: float
    prior: float
    level: float
    _json = (
        *("estimates", "judges", "confusion", "prevalences", "verdicts", "notes", "n_items", "n_clusters"),
        *("n_starts", "n_reached_best", "converged", "llf", "prior", "level"),
    )

    @property
    def headline(self) -> str:
        """The share of right verdicts: by the labels where there are some, else if the model holds."""
        size = counted(len(self.judges), "judge")
        if self.accuracy is None or self.plurality is None or self.gain is None:
            e = self.expected
            return f"If the model holds, verdicts of {size} are right {percent(e.value, e.low, e.high)}."
        mine, theirs, gain = (
            write(e.value, e.low, e.high)
            for write, e in ((percent, self.accuracy), (percent, self.plurality), (points, self.gain))
        )
        return f"Weighted verdicts of {size} are right {mine}, their plurality {theirs}; gain {gain}."

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every estimate that the data carry."""
        some = (self.accuracy, self.plurality, self.gain, self.expected)
        return tuple(e for e in some if e is not None)

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {
            "judges": self.judges,
            **super()._tables(),
            "confusion": self.confusion,
            "prevalences": self.prevalences,
            "verdicts": self.verdicts,
        }


def dawid_skene(
    ratings: Any,
    *,
    prior: float = 0.2,
    level: float = 0.95,
    **reading: Any,
) -> DawidSkene:
    """Estimate each judge's confusion matrix and each item's right answer without labels, by Dawid and Skene's EM.

    Parameters
    ----------
    ratings : Ratings, or any source that :func:`~d3stats.inference.as_ratings` reads
        Votes of three or more judges on items that have the same set of answers. Missing votes are left out. Labels
        are not used in the fit; where there are some, the verdicts are compared with them.
    prior : float
        Votes that the prior counts for in each row of a confusion matrix, and items in the prevalences; shared evenly
        over the answers. Above 0.
    level : float
        Level of intervals over clusters.
    **reading
        Passed on to ``as_ratings`` (``round_number``, ``repeats``, ...).

    Returns
    -------
    DawidSkene

    Raises
    ------
    ValueError
        When there are fewer than three judges or two answers, or answers that differ from item to item.

    Notes
    -----
    Parameters have the largest posterior density under symmetric Dirichlet priors. The search starts from the shares
    of the votes (plurality) and from every judge's votes, climbs by EM and ends by Newton's method. In a panel of
    more than 20 judges, the 20 with the most votes for the plurality are starts. It draws nothing at random.
    The density is the same for every order of the hidden answers; they are named in the order in which the judges are
    right most often.

    Intervals are Student's t over clusters on the log odds, with the sandwich error: the inverse of the observed
    information (Louis, 1982) between the variation of the clusters' scores (Liang and Zeger, 1986).

    Examples
    --------
    >>> votes = pd.DataFrame({"x": list("AABABBAB"), "y": list("AABABBAA"), "z": list("ABBABBAB")})
    >>> found = dawid_skene(votes)
    >>> "".join(found.verdicts["verdict"]), found.n_starts
    ('AABABBAB', 4)
    """
    level = probability("level", level, open_interval=True)
    prior = number("prior", prior, minimum=0.0)
    if prior <= 0:
        raise ValueError(f"prior must be above 0; got {prior:g}")
    table = as_ratings(ratings, **reading)
    kept = shared_answers(table)
    fit, patterns = fitted(kept, prior)
    found = Sandwich(fit, patterns, kept, level)
    notes = [*table.notes, *left_out(table, kept), *_remarks(fit, found), UNSEEN]
    verdict = fit.posterior.argmax(axis=1)[patterns.row]
    accuracy, plurality, gain, labelled = against_labels(kept, verdict, level)
    judges = found.judges()
    expected, chance = found.expected()
    if labelled is not None:
        judges["labelled"] = labelled
    return DawidSkene(
        expected=expected, accuracy=accuracy, plurality=plurality, gain=gain, judges=judges,
        confusion=found.confusion(), prevalences=found.prevalences(),
        verdicts=verdicts_of(kept, verdict, chance[patterns.row]), notes=tuple(notes),
        n_items=kept.n_items, n_clusters=found.n_clusters, n_starts=fit.n_starts, n_reached_best=fit.n_reached_best,
        converged=fit.converged, llf=fit.llf, prior=prior, level=level,
    )  # fmt: skip


def fitted(ratings: Ratings, prior: float) -> tuple[LatentClasses, VotePatterns]:
    """Fit the model to ratings whose items all have a vote."""
    patterns = patterns_of(ratings)
    return fit_latent_classes(patterns, patterns.weights(), prior), patterns


def patterns_of(ratings: Ratings) -> VotePatterns:
    """Return the different rows of votes, on the answers that judges gave."""
    return VotePatterns.of(ratings.codes, len(ratings.categories) - (_NOBODY in ratings.categories))


def shared_answers(table: Ratings, *, fewest: int = FEWEST_JUDGES) -> Ratings:
    """Keep the items with a vote and the answers that judges gave; refuse answers that differ from item to item."""
    if table.n_raters < fewest:
        raise ValueError(
            f"ratings must have at least {fewest} judges to tell without labels who is right; got {table.n_raters}"
        )
    kept = table.where(np.asarray(table.counts.any(axis=1), dtype=np.bool_))
    used = kept.counts.any(axis=0)
    if not table.declared and not used.all():
        move = np.append(np.where(used, np.cumsum(used) - 1, MISSING), MISSING)
        names = tuple(np.array(kept.categories, dtype=object)[used])
        label = kept.label
        if label is not None:  # an answer that nobody gave is kept as one that no verdict can be
            extra = (label != MISSING) & ~np.append(used, True)[label]
            label = np.where(extra, len(names), move[label])
            names = (*names, _NOBODY) if extra.any() else names
        kept = replace(kept, categories=names, codes=move[kept.codes], label=label)
        used = kept.counts.any(axis=0)
    n_answers = int(used.sum())
    if n_answers < 2:
        raise ValueError(f"ratings must have at least two different votes; got {n_answers}")
    rare = (kept.counts > 0).sum(axis=0)[used] <= 1
    if n_answers > MOST_ANSWERS or (2 * rare.sum() > n_answers and n_answers > 2):
        raise ValueError(
            f"answers must be the same set for all items; got {n_answers} different votes on "
            f"{counted(kept.n_items, 'item')}, {int(rare.sum())} of them on one item only; code votes as sides (A, B) "
            "or as right and wrong"
        )
    return kept


_NOBODY = "(an answer that no judge gave)"


def left_out(table: Ratings, kept: Ratings) -> list[str]:
    notes = []
    if kept.n_items < table.n_items:
        notes.append(f"{table.n_items - kept.n_items} of {table.n_items} items left out: no vote")
    missing = int((kept.codes == MISSING).sum())
    if missing:
        notes.append(
            f"{missing} of {kept.codes.size} votes are missing and left out, as if they were missing at random"
        )
    return notes


def _remarks(fit: LatentClasses, found: Sandwich) -> list[str]:
    notes: list[str] = []
    if not fit.converged:
        notes.append(warning("the search did not end at an optimum; give a larger prior", "not converged"))
    if fit.n_reached_best < fit.n_starts / 2:
        notes.append(
            f"only {fit.n_reached_best} of {fit.n_starts} starts reached the best optimum, so the votes may fit "
            "several explanations"
        )
    if found.why:
        notes.append(f"no intervals: {found.why}")
    return notes


class Sandwich:
    """Intervals of functions of the parameters: one Newton step for the scores of each cluster."""

    def __init__(self, fit: LatentClasses, patterns: VotePatterns, ratings: Ratings, level: float) -> None:
        self.fit, self.patterns, self.ratings, self.level = fit, patterns, ratings, level
        self.shape = fit.confusion.shape[0], fit.confusion.shape[1]
        self.point, self.n = log_odds(fit), ratings.n_items
        scores = fit.scores(patterns)[patterns.row]
        self.totals = cluster_totals(np.column_stack([np.ones(self.n), scores]), ratings.cluster)
        self.n_clusters = len(self.totals)
        self.sums = self.totals.sum(axis=0)
        information = fit.information(patterns, patterns.weights())
        roots = np.linalg.eigvalsh(information)
        fewest = FEWEST_CLUSTERS if self.shape[0] > FEWEST_JUDGES else FEWEST_OF_THREE
        self.why = ONE_CLUSTER if self.n_clusters < 2 else ""
        if not self.why and self.n_clusters < fewest:
            self.why = (
                f"{counted(self.n_clusters, 'cluster')}, and with {self.shape[0]} judges limits need {fewest}"
            )
        if not self.why and roots[0] <= _SINGULAR * roots[-1]:
            self.why = "the votes do not determine all parameters"
        inverse = np.zeros_like(information) if self.why else np.linalg.inv(information)
        self.inverse = np.asarray(inverse, dtype=np.float64)
        self.design = 1.0
        if not self.why:
            # Clusters whose items are alike make parameters as unsure as fewer items (Rao and Scott, 1981).
            parts = self.totals[:, 1:] - self.totals[:, [0]] * self.sums[1:] / self.n
            self.design = max(1.0, float((parts * (parts @ self.inverse)).sum()) / len(self.point))

    def _limits(self, values: Callable[[Floats, Floats], Floats]) -> tuple[Floats, Floats]:
        """Return limits of shares, a function of prevalences and confusions, or NaN where there are none."""

        def odds(points: Floats) -> Floats:
            share = np.clip(values(*shares_of(points, *self.shape)), 1e-12, 1 - 1e-12)
            return np.log(share / (1 - share))

        if self.why:
            at = odds(self.point[None])[0]
            return np.full(at.shape, np.nan), np.full(at.shape, np.nan)
        return limits_of_shares(odds, self.point, self.totals, self.inverse, self.level)

    def judges(self) -> pd.DataFrame:
        accuracy = self.fit.accuracy
        low, high = self._limits(
            lambda prevalence, confusion: np.einsum("mk,mjkk->mj", prevalence, confusion)
        )
        safe = np.clip(accuracy, 1e-12, 1 - 1e-12)
        columns = {
            "judge": self.ratings.raters,
            "n": (self.ratings.codes != MISSING).sum(axis=0),
            "accuracy": accuracy,
            "low": low,
            "high": high,
            "weight": np.log((self.shape[1] - 1) * safe / (1 - safe)),
        }
        return pd.DataFrame(columns)

    def confusion(self) -> pd.DataFrame:
        shares = self.fit.confusion.ravel()
        low, high = self._limits(lambda _, confusion: confusion.reshape(len(confusion), -1))
        names = self.ratings.categories[: self.shape[1]]
        keys = [(j, t, v) for j in self.ratings.raters for t in names for v in names]
        return pd.DataFrame(keys, columns=["judge", "truth", "vote"]).assign(share=shares, low=low, high=high)

    def prevalences(self) -> pd.DataFrame:
        low, high = self._limits(lambda prevalence, _: prevalence)
        names = self.ratings.categories[: self.shape[1]]
        return pd.DataFrame({"answer": names, "share": self.fit.prevalence, "low": low, "high": high})

    def expected(self) -> tuple[Estimate, Floats]:
        """Return the share of right verdicts if the model holds, and each pattern's chance of a right verdict.

        Both are means over likely parameters (normal on the log odds), since the likeliest ones are too favourable.
        """
        verdict, weights = self.fit.posterior.argmax(axis=1), self.patterns.weights()
        each = [self.fit.posterior]
        if not self.why:
            root = np.linalg.cholesky(self.design * self.inverse)
            flat = self.patterns.flat
            points = self.point + normal_points(len(self.point)) @ root.T
            shares = zip(*shares_of(points, *self.shape), strict=True)
            each = [posterior_of(flat, prevalence, confusion)[0] for prevalence, confusion in shares]
        right = np.stack([posterior[np.arange(len(verdict)), verdict] for posterior in each])
        chance = right.mean(axis=0)
        value = float(weights @ chance) / self.n
        low = high = None
        if not self.why:
            spread = float((right @ weights / self.n).var() + weights @ (chance * (1 - chance)) / self.n**2)
            safe = min(max(value, 0.5 / self.n), 1 - 0.5 / self.n)
            df = degrees_of_freedom(self.totals[:, 0])
            none = float(
                np.exp(weights @ np.log(np.maximum(chance, 1e-300)))
            )  # chance that no verdict is wrong
            ends = student_limits(
                np.log(safe / (1 - safe)), np.sqrt(spread) / (safe * (1 - safe)), df, self.level
            )
            low, high = (float(1 / (1 + np.exp(-end))) for end in ends[:2])
            low, high = min(low, value), 1.0 if none >= (1 - self.level) / 2 else max(high, value)
        note = self.why or "if the judges err independently given the right answer"
        found = Estimate(
            name="right verdicts, if the model holds", value=value, low=low, high=high, level=self.level,
            kind="cluster t", n=self.n, n_clusters=self.n_clusters, note=note,
        )  # fmt: skip
        return found, chance


def limits_of_shares(
    odds: Callable[[Floats], Floats], point: Floats, totals: Floats, inverse: Floats, level: float
) -> tuple[Floats, Floats]:
    """Return limits of shares of a fit, by Student's t over clusters on their log odds.

    `odds` gives the log odds for each row of parameters, `totals` the items and scores of every cluster, `inverse` the
    inverse information. The error is at least that of the information with the prior: of a judge without an error in
    these votes, clusters show no variation.
    """
    whole = totals.sum(axis=0)

    def of_sums(sums: Floats) -> Floats:
        moved = sums[:, 1:] * (whole[0] / sums[:, :1]) - whole[1:]
        return odds(point + moved @ inverse)

    at = odds(point[None])[0]
    steps = _STEP * np.eye(len(point))
    slope = (odds(point + steps) - odds(point - steps)) / (2 * _STEP)
    least = np.sqrt((slope * (inverse @ slope)).sum(axis=0))
    found = cluster_t(totals, of_sums, level=level, weights=totals[:, 0])
    plain = np.array([bool(reason) for reason in found.reasons])
    se = np.maximum(np.where(plain, 0.0, found.se), least)
    ends = [student_limits(x, e, d, level)[:2] for x, e, d in zip(at, se, found.df, strict=True)]
    low, high = (1 / (1 + np.exp(-np.array(side))) for side in zip(*ends, strict=True))
    return low, high


@cache
def normal_points(size: int) -> Floats:
    """Return points that fill a standard normal law evenly, shape (points, size); the same in every call."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    return np.asarray(ndtri(qmc.Sobol(size, scramble=True, rng=np.random.default_rng(1)).random(_POINTS)))


def plurality_shares(counts: Ints) -> Floats:
    """Return each answer's share of the lead, shape (items, answers); a tie is shared evenly."""
    leads = (counts == counts.max(axis=1, keepdims=True)).astype(np.float64)
    return np.asarray(leads / leads.sum(axis=1, keepdims=True))


def against_labels(
    ratings: Ratings, verdict: Ints, level: float
) -> tuple[Estimate | None, Estimate | None, Estimate | None, Floats | None]:
    """Return accuracy of verdicts, of the plurality, their paired difference, and each judge's, by the labels."""
    if ratings.label is None or not (ratings.label != MISSING).any():
        return None, None, None, None
    known = ratings.label != MISSING
    label, cluster = ratings.label[known], np.unique(ratings.cluster[known], return_inverse=True)[1]
    mine = (verdict[known] == label).astype(np.float64)
    theirs = plurality_shares(ratings.counts[known])[np.arange(len(label)), label]
    cast = ratings.codes[known] != MISSING
    own = np.divide(
        (ratings.codes[known] == label[:, None]).sum(axis=0), cast.sum(axis=0),
        out=np.full(ratings.n_raters, np.nan), where=cast.any(axis=0),
    )  # fmt: skip
    pair = PairData(("plurality", "verdicts"), theirs, mine, cluster, 1, (0,))
    named = zip(("right verdicts, by labels", "right pluralities, by labels"), (mine, theirs), strict=True)
    both = [_share(name, x, cluster, level) for name, x in named]
    gain = replace(pair.interval("cluster t", level, None), name="verdicts - plurality")
    return both[0], both[1], gain, own


def _share(name: str, right: Floats, cluster: Ints, level: float) -> Estimate:
    return clustered_share(right, np.ones_like(right), cluster, level=level, name=name)


def verdicts_of(ratings: Ratings, verdict: Ints, probability: Floats) -> pd.DataFrame:
    names = np.array(ratings.categories, dtype=object)
    shares = plurality_shares(ratings.counts)
    plural = np.where(shares.max(axis=1) < 1, _TIE, names[shares.argmax(axis=1)])
    frame = pd.DataFrame(
        {"item": ratings.items, "verdict": names[verdict], "probability": probability, "plurality": plural}
    )
    if ratings.label is not None and (ratings.label != MISSING).any():
        frame["label"] = [None if code == MISSING else ratings.categories[code] for code in ratings.label]
    return frame
