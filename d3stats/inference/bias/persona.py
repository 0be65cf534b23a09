"""Effect of personas on the accuracy of jurors, how much personas differ, and accuracy of random subsets of them.

Everything is paired by item over clusters. *Effect*: accuracy with personas less without, on the items that both
judged. *Do personas differ*: Hotelling's test that all have the same accuracy, from cluster sums (Cochran's Q asks the
same of independent items). *Agreement*: the mean over pairs of personas of how often they name the same answer, its
lowest and highest pair, and (agreement - chance) / (1 - chance) with chance from the pooled shares of the answers
(Fleiss' kappa where nobody misses a vote).

References
----------
Cochran (1950), Biometrika 37, 256. Hotelling (1931), Annals of Mathematical Statistics 2, 360. Fleiss (1971),
Psychological Bulletin 76, 378. D3, section 5.1 and appendix G (which reports the first and the third).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats._words import counted
from d3stats.estimate import Estimate
from d3stats.inference.bias.audit import Audit, clustered_rate
from d3stats.inference.bias.verdicts import ONE_JUDGE, Judgments, Votes, as_judgments, one_judge
from d3stats.resampling import cluster_codes, cluster_estimate, cluster_totals, hotelling, ratios
from d3stats.result import EstimatesResult
from d3stats.trajectories import MISSING, Missing

__all__ = ["SET", "Heterogeneity", "PersonaEffect", "SubsetAccuracy", "persona_effect", "subset_accuracy"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SET = "accuracy with personas less without"
AGREEMENT, BEYOND = "mean pairwise agreement of personas", "agreement of personas beyond chance"
LOWEST, HIGHEST = "lowest pairwise agreement", "highest pairwise agreement"


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """Hotelling's test that all personas are equally accurate.

    Attributes
    ----------
    f, p_value : float or None
        Hotelling's F and its p-value; None where there is no test, and then `why` says why.
    """

    f: float | None
    df1: int
    df2: int
    p_value: float | None
    why: str = ""

    def __str__(self) -> str:
        if self.f is None or self.p_value is None:
            return f"do personas differ in accuracy: no test, {self.why}"
        return f"do personas differ in accuracy: F({self.df1}, {self.df2}) = {self.f:.2f}, p = {self.p_value:.3g}"


@dataclass(frozen=True, eq=False, kw_only=True)
class PersonaEffect(Audit):
    """Paired effect of personas on accuracy, the set's first, their agreement, and a test whether they differ.

    Attributes
    ----------
    agreement : DataFrame
        One row per pair of personas: ``first, second, agreement, low, high, n``.
    """

    heterogeneity: Heterogeneity
    agreement: pd.DataFrame
    _json = ("judge", "estimates", "notes", "heterogeneity", "agreement")

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {**super()._tables(), "agreement": self.agreement}

    def summary(self) -> str:
        """Return the estimates, the notes and the test as text."""
        return f"{super().summary()}\n  {self.heterogeneity}"


def persona_effect(
    source: Any,
    *,
    baseline: str = "none",
    personas: list[str] | None = None,
    judge: str | None = None,
    votes: Votes = "answer",
    missing: Missing = "exclude",
    level: float = 0.95,
) -> PersonaEffect:
    """Estimate the paired effect of personas on accuracy, test whether they differ, and compute their agreement.

    Parameters
    ----------
    source : Judgments, DataFrame, Trajectories, str or Path
        Verdicts with ``label`` and ``persona``; the juror without one is called as `baseline` says, or has no
        name. A log has a persona per seat. Several verdicts of one persona on an item count with their mean.
    baseline : str
        The plain juror. Where it does not occur there is no effect to estimate, and the rest is.
    personas : list of str, optional
        Which personas; by default all.
    judge : str, optional
        Whose personas, where the table has the column ``persona`` and several judges.
    votes : {"answer", "slot"}
    missing : {"exclude", "wrong"}
        Whether a missing vote is left out or counts as wrong.
    level : float

    Raises
    ------
    ValueError
        When there is no persona or no label, or a persona shares no labelled item with the plain juror.

    Examples
    --------
    >>> vote = {"none": "ABAABBAB", "ethics": "AAAABBAA", "business": "AAAAABAA"}
    >>> rows = [(i, p, v, "A") for p, word in vote.items() for i, v in enumerate(word)]
    >>> audit = persona_effect(pd.DataFrame(rows, columns=["item", "persona", "vote", "label"]))
    >>> round(audit[SET].value, 4), audit[AGREEMENT].value
    (0.3125, 0.875)
    """
    level = probability("level", level, open_interval=True)
    choice("missing", missing, ("exclude", "wrong"))
    data = as_judgments(source, votes=votes)
    owner = ""
    if "persona" in data.table or judge is not None:
        owner, data = one_judge(data, judge)
    known = np.asarray(data.judges, dtype=object)[data.judge]
    who = data.texts("persona") if "persona" in data.table else known
    who = np.where(who == "", baseline, who).astype(object)
    found = [str(name) for name in pd.unique(who) if name != baseline]
    names = found if personas is None else personas
    unknown = sorted(set(names) - set(found))
    if unknown or not names:
        raise ValueError(
            f"personas must occur in the table, at least one; got {unknown or 'none'}, it has {found}"
        )
    labelled = data.label != MISSING
    if not labelled.any():
        raise ValueError("a persona audit needs labels; got none")
    notes = [*data.doubts(), *data.notes]
    if not labelled.all():
        notes.append(
            f"accuracy: {int((~labelled).sum())} of {len(data)} verdicts have no label and were left out"
        )
    if lost := int((data.vote == MISSING).sum()):
        notes.append(f"{lost} missing votes {'were left out' if missing == 'exclude' else 'count as wrong'}")
    unknown_is = 0.0 if missing == "wrong" else np.nan
    right = np.where(data.vote == MISSING, unknown_is, (data.vote == data.label).astype(float))
    right[~labelled] = np.nan
    table = _by_item(data, who, right, [*names, baseline])
    cluster = _cluster_of_items(data)
    plain = table[baseline]
    estimates: list[Estimate] = []
    if np.isnan(plain).all():
        notes.append(f"no verdict of the plain juror {baseline!r}: accuracies and agreement only, no effect")
        for name in names:
            here = ~np.isnan(table[name])
            if here.any():
                estimates.append(clustered_rate(f"accuracy, {name}", table[name][here], cluster[here], level))
    else:
        gains = {name: table[name] - plain for name in names}
        apart = [name for name in names if np.isnan(gains[name]).all()]
        if apart:
            raise ValueError(
                f"a persona must share labelled items with the plain juror; got none for {apart}"
            )
        estimates.append(_mean_gain(SET, list(gains.values()), cluster, level))
        estimates += [_mean_gain(f"{SET}, {name}", [gain], cluster, level) for name, gain in gains.items()]
    pairs, agreement = _agreement(data, who, names, level)
    estimates += agreement
    if len(names) > 2:
        notes.append(
            "lowest and highest of several pairs lie apart by sampling alone; each interval is for its own pair"
        )
    return PersonaEffect(
        judge=counted(len(names), "persona") + (f" of {owner}" if owner not in ("", ONE_JUDGE) else ""),
        estimates=tuple(estimates),
        notes=tuple(notes),
        heterogeneity=_heterogeneity([table[name] for name in names], cluster),
        agreement=pairs,
    )


def _by_item(data: Judgments, who: NDArray[np.object_], value: Floats, names: list[str]) -> dict[str, Floats]:
    """Return each name's mean value per item, NaN where it has none."""
    n = len(data.items)
    result = {}
    for name in names:
        rows = (who == name) & ~np.isnan(value)
        size = np.bincount(data.item[rows], minlength=n)
        total = np.bincount(data.item[rows], weights=value[rows], minlength=n)
        result[name] = np.divide(total, size, out=np.full(n, np.nan), where=size > 0)
    return result


def _cluster_of_items(data: Judgments) -> Ints:
    cluster = np.full(len(data.items), MISSING, dtype=np.int64)
    cluster[data.item] = data.cluster
    return cluster


def _mean_gain(name: str, gains: list[Floats], cluster: Ints, level: float) -> Estimate:
    """Return the mean over personas of their mean gain per item, by clusters."""
    columns = []
    for gain in gains:
        known = ~np.isnan(gain)
        columns += [np.where(known, gain, 0.0), known.astype(float)]
    seen = np.stack(columns[1::2]).any(axis=0)
    totals = cluster_totals(np.stack(columns, axis=1)[seen], cluster[seen])

    def statistic(sums: Floats) -> Floats:
        return np.asarray((sums[:, ::2] / sums[:, 1::2]).mean(axis=1))

    found = cluster_estimate(name, totals, statistic, int(seen.sum()), level=level, bounds=(-1.0, 1.0))
    if found.low is None and len(totals) > 1 and found.value == 0:
        return replace(found, note="no item changed: right or wrong with and without alike")
    return found


def _heterogeneity(right: list[Floats], cluster: Ints) -> Heterogeneity:
    """Test that all personas are right equally often, on items that all judged."""
    k = len(right)
    table = np.stack(right, axis=1)
    whole = ~np.isnan(table).any(axis=1)
    if k < 2:
        return Heterogeneity(None, 0, 0, None, "one persona only")
    if not whole.any():
        return Heterogeneity(None, k - 1, 0, None, "no item was judged by all of them")
    totals = cluster_totals(table[whole], cluster[whole])
    found = hotelling(totals[:, 1:] - totals[:, :1])
    why = ""
    if found.df2 < 1:
        why = f"{len(totals)} clusters are too few for {k} personas"
    elif found.f is None:
        why = "some personas differ in no cluster, or always alike; leave one of them out"
    return Heterogeneity(found.f, found.df1, found.df2, found.p_value, why)


def _first_votes(data: Judgments, who: NDArray[np.object_], names: list[str]) -> Ints:
    """Return each persona's votes, shape (names, items x orders); the first where there are several."""
    slot = data.item * 3 + data.order + 1
    votes = np.full((len(names), 3 * len(data.items)), MISSING, dtype=np.int64)
    for row, name in enumerate(names):
        rows = np.flatnonzero((who == name) & (data.vote != MISSING))[::-1]
        votes[row, slot[rows]] = data.vote[rows]
    return votes


def _agreement(
    data: Judgments, who: NDArray[np.object_], names: list[str], level: float
) -> tuple[pd.DataFrame, list[Estimate]]:
    """Return one row per pair of personas, and their mean agreement, that beyond chance, the lowest and the highest."""
    votes, cluster = _first_votes(data, who, names), np.repeat(_cluster_of_items(data), 3)
    found = []
    for i, j in combinations(range(len(names)), 2):
        both = (votes[i] != MISSING) & (votes[j] != MISSING)
        if both.any():
            same = (votes[i] == votes[j])[both].astype(float)
            rate = clustered_rate("", same, cluster[both], level, note=f"{names[i]} and {names[j]}")
            found.append((names[i], names[j], rate))
    rows = [(a, b, rate.value, rate.low, rate.high, rate.n) for a, b, rate in found]
    table = pd.DataFrame(rows, columns=["first", "second", "agreement", "low", "high", "n"])
    if not found:
        return table, []
    # Per row: how many personas gave each answer; pairs that agree and pairs in all follow from it.
    given = np.stack([(votes == code).sum(axis=0) for code in range(3)], axis=1).astype(float)
    size = given.sum(axis=1)
    agree, of = (given * (given - 1)).sum(axis=1) / 2, size * (size - 1) / 2
    used = of > 0
    totals = cluster_totals(np.column_stack([agree, of, given])[used], cluster[used])
    n = int(used.sum())
    shape: dict[str, Any] = {"level": level, "tested": False}
    estimates = [cluster_estimate(AGREEMENT, totals, ratios((0, 1)), n, bounds=(0.0, 1.0), **shape)]
    if (totals[:, 2:].sum(axis=0) > 0).sum() > 1:
        estimates.append(cluster_estimate(BEYOND, totals, _beyond_chance, n, bounds=(-1.0, 1.0), **shape))
    if len(found) > 1:
        rates = [rate for *_, rate in found]
        estimates.append(replace(min(rates, key=lambda rate: rate.value), name=LOWEST))
        estimates.append(replace(max(rates, key=lambda rate: rate.value), name=HIGHEST))
    return table, estimates


def _beyond_chance(sums: Floats) -> Floats:
    agreement = sums[:, 0] / sums[:, 1]
    shares = sums[:, 2:] / sums[:, 2:].sum(axis=1, keepdims=True)
    chance = (shares**2).sum(axis=1)
    return np.asarray((agreement - chance) / (1 - chance))


MOST_SUBSETS = 20_000
"""Up to so many subsets the spread between them is counted over all; beyond it, over so many drawn ones."""
_BLOCK = 500


@dataclass(frozen=True, eq=False)
class SubsetAccuracy(EstimatesResult):
    """Mean accuracy of the majority of a random subset of personas, and its spread between subsets.

    Attributes
    ----------
    accuracy : Estimate
        Mean accuracy of the majority over all subsets; its error is that of the items.
    size, n_personas : int
        Personas in a subset, and in all.
    n_subsets : int
        How many subsets there are.
    sd_between : float
        Standard deviation of the accuracy over all subsets, on these items.
    exact : bool
        Whether `sd_between` was counted over all subsets.
    sd_binomial : float
        Standard deviation of one accuracy over as many independent items.
    """

    accuracy: Estimate
    size: int
    n_personas: int
    n_subsets: int
    sd_between: float
    exact: bool
    sd_binomial: float
    _json = ("accuracy", "size", "n_personas", "n_subsets", "sd_between", "exact", "sd_binomial")

    def se_of_mean(self, drawn: int) -> float:
        """Return the error of the mean over `drawn` different random subsets: items, and subsets not drawn."""
        drawn = integer("drawn", drawn, minimum=1)
        if drawn > self.n_subsets:
            raise ValueError(f"drawn must be <= the number of subsets ({self.n_subsets}); got {drawn}")
        if self.accuracy.se is None:
            raise ValueError(f"the error of the items is unknown ({self.accuracy.note})")
        rest = (self.n_subsets - drawn) / (self.n_subsets - 1) if self.n_subsets > 1 else 0.0
        return math.sqrt(self.accuracy.se**2 + self.sd_between**2 / drawn * rest)

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The accuracy."""
        return (self.accuracy,)

    def _remarks(self) -> list[str]:
        how = "counted over all" if self.exact else f"over {MOST_SUBSETS} drawn"
        spread = f"spread between them {self.sd_between:.4f} ({how}); of one accuracy by the Binomial"
        return [
            f"{self.n_subsets} subsets of {self.size} among {self.n_personas}: {spread} {self.sd_binomial:.4f}"
        ]


def subset_accuracy(
    correct: ArrayLike,
    size: int,
    *,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    rng: RngLike = None,
) -> SubsetAccuracy:
    """Compute the exact mean accuracy of the majority of a random subset of personas (hypergeometric), and its spread.

    Parameters
    ----------
    correct : array of 0 and 1, shape (items, personas)
        Whether each persona was right; no vote missing. With two answers the majority is right when more than half
        are, and half right where it ties.
    size : int
        Personas in a subset.
    cluster : array, shape (items,), optional
        The question of each item; by default each is its own.
    level : float
    rng : Generator, int or None
        For the spread, where there are more than 20,000 subsets.

    Raises
    ------
    ValueError
        When a value is neither 0 nor 1 (missing ones included), or `size` exceeds the personas.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> right = rng.random((120, 8)) < rng.beta(6, 2, size=(120, 1))
    >>> found = subset_accuracy(right, 5)
    >>> print(found.accuracy)
    accuracy of the majority of 5: 0.828 [0.774, 0.882] (95 % cluster t, n = 120 in 120 clusters)
    >>> round(found.sd_between, 4), round(found.sd_binomial, 4), found.n_subsets
    (0.0245, 0.0344, 56)
    """
    from scipy.stats import hypergeom

    level = probability("level", level, open_interval=True)
    table = np.asarray(correct, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise ValueError(f"correct must have shape (items, personas); got shape {table.shape}")
    if not np.isin(table, (0.0, 1.0)).all():
        item, persona = np.argwhere(~np.isin(table, (0.0, 1.0)))[0]
        raise ValueError(f"correct must be 0 or 1 throughout; got {table[item, persona]} at item {item}")
    size = integer("size", size, minimum=1)
    n, personas = table.shape
    if size > personas:
        raise ValueError(f"size must be <= the number of personas ({personas}); got {size}")
    codes = cluster_codes(cluster, n, unit="item")
    law = hypergeom(personas, table.sum(axis=1), size)
    chance = law.sf(size // 2)
    if size % 2 == 0:
        chance = chance + law.pmf(size // 2) / 2
    totals = cluster_totals(np.stack([chance, np.ones(n)], axis=1), codes)
    name = f"accuracy of the majority of {size}"
    found = cluster_estimate(name, totals, ratios((0, 1)), n, level=level, bounds=(0.0, 1.0), tested=False)
    n_subsets = math.comb(personas, size)
    exact = n_subsets <= MOST_SUBSETS
    spread = _spread(table, size, n_subsets if exact else None, as_rng(rng))
    sd = math.sqrt(found.value * (1 - found.value) / n)
    return SubsetAccuracy(found, size, personas, n_subsets, spread, exact, sd)


def _spread(table: Floats, size: int, n_subsets: int | None, rng: np.random.Generator) -> float:
    """Return the standard deviation of the accuracy over subsets, all of them or many drawn ones."""
    personas = table.shape[1]
    if n_subsets is None:
        noise = rng.random((MOST_SUBSETS, personas))
        chosen = np.argpartition(noise, size - 1, axis=1)[:, :size]
    else:
        chosen = np.array(list(combinations(range(personas), size)))
    accuracies = []
    for block in (chosen[at : at + _BLOCK] for at in range(0, len(chosen), _BLOCK)):
        member = np.zeros((len(block), personas))
        np.put_along_axis(member, block, 1.0, axis=1)
        votes = member @ table.T
        accuracies.append(((np.sign(2 * votes - size) + 1) / 2).mean(axis=1))
    return float(np.concatenate(accuracies).std())
