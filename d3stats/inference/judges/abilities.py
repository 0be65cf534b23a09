"""How able is each judge and how hard each item, and what is right, without labels?

The model of abilities and difficulties of Whitehill and others (2009), with the difficulties integrated out. It allows
what Dawid and Skene's model does not: judges who err together because an item is hard for all.

Assumptions: given the right answer and the item's difficulty, judges err independently; wrong answers are equally
likely; judges are better than chance on average; each answer is right equally often, or as often as given. Hard items
bring a judge down to chance and never below it, so a panel that is misled in common still looks right.

References
----------
Whitehill, Ruvolo, Wu, Bergsma and Movellan (2009), Advances in Neural Information Processing Systems 22.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from d3stats._arrays import Floats
from d3stats._check import number, probability
from d3stats._words import counted, percent, points
from d3stats.estimate import Estimate
from d3stats.inference.judges.dawid_skene import (
    FEWEST_CLUSTERS,
    FEWEST_JUDGES,
    FEWEST_OF_THREE,
    UNSEEN,
    against_labels,
    left_out,
    limits_of_shares,
    patterns_of,
    shared_answers,
    verdicts_of,
)
from d3stats.inputs.ratings import Ratings
from d3stats.models.panels.item_difficulty import Density, fit_item_difficulty
from d3stats.models.panels.latent_class import VotePatterns
from d3stats.note import warning
from d3stats.resampling import ONE_CLUSTER, cluster_totals
from d3stats.result import EstimatesResult
from d3stats.sources.ratings import as_ratings
from d3stats.trajectories import MISSING

__all__ = ["Glad", "glad"]

UNIFORM, ESTIMATED = "uniform", "estimated"
PRIOR = 0.2
"""Items that the prior of an estimated prevalence counts for."""
_SINGULAR, _EQUAL = 1e-9, 0.01
_FAR, _ROUNDING = 0.1, 1e-6
"""Half the sum of the differences of shares above which two sets of shares are far apart."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Glad(EstimatesResult):
    """Judges' abilities, items' difficulties and verdicts without labels: the result of :func:`glad`.

    Attributes
    ----------
    expected : float
        Mean probability of the verdicts: the share that is right if the model holds and its parameters were known.
    accuracy, plurality, gain : Estimate or None
        With labels: share of the verdicts that are right, that of the plurality (a tie shared evenly), and the
        difference on the same items. None without labels.
    judges : DataFrame
        One row per judge: ``judge, n`` (votes), ``accuracy, low, high`` (by the model, the mean over items),
        ``ability`` (log odds of the right answer against one wrong answer, on an item of median difficulty), and with
        labels ``labelled`` (accuracy by the labels).
    items : DataFrame
        One row per item: ``item, verdict, probability, plurality, difficulty`` (minus the log of the factor on all
        abilities, its mean given the votes), and with labels ``label``.
    prevalences : DataFrame
        One row per answer: ``answer``, ``share`` (of the items where it is right, as taken or estimated), and
        ``verdicts``, ``votes`` (its shares of these).
    spread : float
        Standard deviation of the difficulties; 0 where items are equally hard.
    n_items, n_clusters : int
        Items with votes, and the clusters that they come from.
    converged : bool
        Whether the search ended at an optimum.
    llf : float
        Log-likelihood.
    level : float
        Level of all intervals.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> ease = np.exp(rng.standard_normal(400))
    >>> right = rng.random((400, 5)) < 1 / (1 + np.exp(-np.outer(ease, [2, 1.5, 1, 0.5, 0.5])))
    >>> truth = rng.random(400) < 0.5
    >>> votes = pd.DataFrame(np.where(right == truth[:, None], "A", "B"), columns=list("vwxyz"))
    >>> found = glad(votes)
    >>> found.judges["accuracy"].round(2).tolist()
    [0.88, 0.81, 0.71, 0.69, 0.68]
    >>> print(found.headline)
    If the model holds, verdicts of 5 judges are right 89 % (difficulties spread by 0.8).
    """

    expected: float
    accuracy: Estimate | None
    plurality: Estimate | None
    gain: Estimate | None
    judges: pd.DataFrame
    items: pd.DataFrame
    prevalences: pd.DataFrame
    spread: float
    notes: tuple[str, ...]
    n_items: int
    n_clusters: int
    converged: bool
    llf: float
    level: float
    _json = (
        *(
            "expected",
            "estimates",
            "judges",
            "items",
            "prevalences",
            "spread",
            "notes",
            "n_items",
            "n_clusters",
        ),
        *("converged", "llf", "level"),
    )

    @property
    def headline(self) -> str:
        """The share of right verdicts: by the labels where there are some, else if the model holds."""
        size = counted(len(self.judges), "judge")
        if self.accuracy is None or self.plurality is None or self.gain is None:
            return (
                f"If the model holds, verdicts of {size} are right {percent(self.expected)} (difficulties spread by "
                f"{self.spread:z.1f})."
            )
        mine, theirs, gain = (
            write(e.value, e.low, e.high)
            for write, e in ((percent, self.accuracy), (percent, self.plurality), (points, self.gain))
        )
        return (
            f"Verdicts of {size} weighted by ability are right {mine}, their plurality {theirs}; gain {gain}."
        )

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every estimate that the data carry."""
        return tuple(e for e in (self.accuracy, self.plurality, self.gain) if e is not None)

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {
            "judges": self.judges,
            **super()._tables(),
            "prevalences": self.prevalences,
            "items": self.items,
        }


def glad(
    ratings: Any,
    *,
    prevalence: str | Mapping[str, float] = UNIFORM,
    prior: float | None = None,
    level: float = 0.95,
    **reading: Any,
) -> Glad:
    """Estimate judges' abilities, items' difficulties and right answers without labels, by the GLAD model.

    Parameters
    ----------
    ratings : Ratings, or any source that :func:`~d3stats.inference.as_ratings` reads
        Votes of three or more judges on items that have the same set of answers. Missing votes are left out. Labels
        are not used in the fit; where there are some, the verdicts are compared with them.
    prevalence : {"uniform", "estimated"} or mapping
        How often each answer is right: equally often, estimated from the votes, or the share given for each answer.
        An estimated prevalence can run away to one answer where judges are little better than chance.
    prior : float, optional
        With an estimated prevalence: items that its prior counts for, shared evenly over the answers. Above 0, and 0.2
        where none is given.
    level : float
        Level of intervals over clusters.
    **reading
        Passed on to ``as_ratings`` (``round_number``, ``repeats``, ...).

    Returns
    -------
    Glad

    Raises
    ------
    ValueError
        When there are fewer than three judges or two answers, or answers that differ from item to item; when a
        prevalence is not of the answers; when a prior is given and no prevalence is estimated.

    Notes
    -----
    On an item of ease e, a judge of ability a votes for the right one of K answers with probability
    1 / (1 + (K - 1) exp(-a e)), and for each wrong one alike. The log of e is normal around 0. With K = 2 this is
    equation 1 of Whitehill et al. (2009), where each e is a parameter of its own. Here e is integrated out at 31
    points, so that few judges per item do not bias the abilities. The prevalence is held fixed, as there, unless it is
    to be estimated. Priors: normal(1, 2) for abilities, half-normal(1)
    for the spread of log e. Nothing is drawn at random.

    Intervals are Student's t over clusters on the log odds, with the sandwich error (Liang and Zeger, 1986), as in
    :func:`~d3stats.inference.dawid_skene`.

    Examples
    --------
    >>> votes = pd.DataFrame({"x": list("AABABBAB"), "y": list("AABABBAA"), "z": list("ABBABBAB")})
    >>> "".join(glad(votes).items["verdict"])
    'AABABBAB'
    """
    level = probability("level", level, open_interval=True)
    counts = _prior(prior, prevalence)
    table = as_ratings(ratings, **reading)
    kept = shared_answers(table)
    patterns = patterns_of(kept)
    names = kept.categories[: patterns.votes.shape[2]]
    given = _given(prevalence, names)
    fit, at = fit_item_difficulty(patterns, patterns.weights(), counts, given)
    density = Density(patterns, patterns.weights(), counts, given)
    low, high, why, n_clusters = _limits(kept, patterns, at, density, level)
    verdict = fit.posterior.argmax(axis=1)[patterns.row]
    chance = fit.posterior.max(axis=1)[patterns.row]
    accuracy, plurality, gain, labelled = against_labels(kept, verdict, level)
    judges = pd.DataFrame(
        {
            "judge": kept.raters,
            "n": (kept.codes != MISSING).sum(axis=0),
            "accuracy": fit.accuracy,
            "low": low,
            "high": high,
            "ability": fit.ability,
        }
    )
    judges.loc[judges["n"] == 0, ["accuracy", "low", "high", "ability"]] = np.nan  # the prior alone
    if labelled is not None:
        judges["labelled"] = labelled
    items = verdicts_of(kept, verdict, chance)
    cast = patterns.weights() @ patterns.votes.sum(axis=1)
    prevalences = pd.DataFrame(
        {
            "answer": names,
            "share": fit.prevalence,
            "verdicts": np.bincount(verdict, minlength=len(names)) / len(verdict),
            "votes": cast / cast.sum(),
        }
    )
    items.insert(4, "difficulty", -fit.ease[patterns.row])
    notes = [*table.notes, *left_out(table, kept)]
    if not fit.converged:
        notes.append(warning("the search did not end at an optimum; give a larger prior", "not converged"))
    if fit.spread < _EQUAL:
        notes.append("no difference in difficulty is seen, so the judges are as if independent")
    notes += _of_prevalence(prevalences, prevalence)
    if gain is not None and gain.high is not None and gain.high < 0:
        text = "by the labels the verdicts are right less often than the plurality, which is the better verdict here"
        notes.append(warning(text, "worse than the plurality"))
    notes += [f"no intervals: {why}"] if why else []
    return Glad(
        expected=float(chance.mean()), accuracy=accuracy, plurality=plurality, gain=gain, judges=judges, items=items,
        prevalences=prevalences, spread=fit.spread, notes=(*notes, UNSEEN), n_items=kept.n_items, n_clusters=n_clusters,
        converged=fit.converged, llf=fit.llf, level=level,
    )  # fmt: skip


def _prior(prior: float | None, prevalence: str | Mapping[str, float]) -> float:
    """Return the items that the prior of an estimated prevalence counts for."""
    if prior is None:
        return PRIOR
    if prevalence != ESTIMATED:
        raise ValueError(
            f"prior must be left out unless the prevalence is estimated (prevalence={ESTIMATED!r}); got {prior}"
        )
    prior = number("prior", prior, minimum=0.0)
    if prior <= 0:
        raise ValueError(f"prior must be above 0; got {prior:g}")
    return prior


def _given(prevalence: str | Mapping[str, float], names: Sequence[str]) -> Floats | None:
    """Return the share of each answer that is held fixed, or None where it is estimated."""
    if isinstance(prevalence, str):
        if prevalence not in (UNIFORM, ESTIMATED):
            raise ValueError(
                f"prevalence must be {UNIFORM!r}, {ESTIMATED!r} or a share of each answer; got {prevalence!r}"
            )
        return np.full(len(names), 1 / len(names)) if prevalence == UNIFORM else None
    if set(prevalence) != set(names):
        raise ValueError(
            f"prevalence must have a share of each answer that judges gave, {', '.join(map(repr, names))}; "
            f"got {', '.join(map(repr, prevalence)) or 'none'}"
        )
    shares = np.array(
        [probability(f"prevalence of {name}", prevalence[name], open_interval=True) for name in names]
    )
    if abs(shares.sum() - 1) > _ROUNDING:
        raise ValueError(f"prevalence must add up to 1; got {shares.sum():.6g}")
    return np.asarray(shares / shares.sum())


def _of_prevalence(found: pd.DataFrame, prevalence: str | Mapping[str, float]) -> list[str]:
    """Say what is taken of the prevalence, and where it is far from the verdicts or, if estimated, from the votes."""
    compared = "votes" if prevalence == ESTIMATED else "verdicts"
    apart = found["share"] - found[compared]
    far = float(apart.abs().sum()) / 2 > _FAR
    row = found.iloc[int(apart.abs().to_numpy().argmax())]
    share, other = percent(row["share"]), percent(row[compared])
    if prevalence == ESTIMATED:
        if not far:
            return []
        text = (
            f"{row['answer']} is estimated to be right on {share} of the items and has {other} of the votes; an "
            f"estimated prevalence can run away, so compare with prevalence={UNIFORM!r}"
        )
        return [warning(text, "prevalence far from the votes")]
    taken = "each answer is taken to be right equally often" if prevalence == UNIFORM else ""
    if far:
        taken = taken or "the prevalence is the one given"
        return [f"{taken}; {row['answer']} is taken at {share} and has {other} of the verdicts"]
    return [taken] if taken else []


def _limits(
    kept: Ratings, patterns: VotePatterns, at: Floats, density: Density, level: float
) -> tuple[Floats, Floats, str, int]:
    """Return limits of the judges' accuracies, why there are none, and the number of clusters."""
    scores = density.scores(at)[1][patterns.row]
    totals = cluster_totals(np.column_stack([np.ones(len(scores)), scores]), kept.cluster)
    none = np.full(kept.n_raters, np.nan)
    fewest = FEWEST_CLUSTERS if kept.n_raters > FEWEST_JUDGES else FEWEST_OF_THREE
    if len(totals) < 2:
        return none, none, ONE_CLUSTER, len(totals)
    if len(totals) < fewest:
        why = f"{counted(len(totals), 'cluster')}, and with {kept.n_raters} judges limits need {fewest}"
        return none, none, why, len(totals)
    information = density.information(at)
    roots = np.linalg.eigvalsh(information)
    if roots[0] <= _SINGULAR * roots[-1]:
        return none, none, "the votes do not determine all parameters", len(totals)

    def odds(rows: Floats) -> Floats:
        share = np.clip(np.stack([density.accuracies(row) for row in rows]), 1e-12, 1 - 1e-12)
        return np.asarray(np.log(share / (1 - share)))

    inverse = np.asarray(np.linalg.inv(information), dtype=np.float64)
    low, high = limits_of_shares(odds, at, totals, inverse, level)
    return low, high, "", len(totals)
