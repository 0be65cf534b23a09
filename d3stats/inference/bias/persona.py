"""Do personas make jurors better, and do they differ from each other at all?

Everything is paired by item: a persona is compared with the plain juror on the items that both judged, and items of one
cluster are kept together.

- *Effect*: accuracy with personas less without, averaged over personas, then for each persona.
- *Do personas differ*: Hotelling's test that all have the same accuracy, from cluster sums (Cochran's Q asks the same
  of independent items).
- *Agreement*: the mean over pairs of personas of how often they name the same answer, and the lowest and highest pair;
  and what is left of it beyond chance, (agreement - chance) / (1 - chance) with chance from the pooled shares of the
  answers (Fleiss' kappa where nobody misses a vote). High agreement alone does not show that personas complement
  each other: copies of one juror agree always. The lowest and highest of many pairs lie apart by sampling alone.

References
----------
Cochran (1950), Biometrika 37, 256. Hotelling (1931), Annals of Mathematical Statistics 2, 360. Fleiss (1971),
Psychological Bulletin 76, 378. D3, section 5.1 and appendix G (which reports the first and the third).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, choice, integer, number, probability
from d3stats._words import counted
from d3stats.estimate import Estimate, estimates_frame, estimates_latex
from d3stats.inference.bias.audit import Audit, clustered_rate, effect, ratio
from d3stats.inference.bias.verdicts import ONE_JUDGE, Judgments, Votes, as_judgments, one_judge
from d3stats.resampling import cluster_totals
from d3stats.trajectories import MISSING, Missing

__all__ = [
    "Heterogeneity",
    "PersonaEffect",
    "SpreadCheck",
    "SubsetAccuracy",
    "persona_effect",
    "spread_check",
    "subset_accuracy",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SET = "accuracy with personas less without"
AGREEMENT, BEYOND = "mean pairwise agreement of personas", "agreement of personas beyond chance"
LOWEST, HIGHEST = "lowest pairwise agreement", "highest pairwise agreement"


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """Whether personas differ in accuracy.

    Attributes
    ----------
    f, p_value : float or None
        Hotelling's F and its p-value; None where there is no test, and then `why` says why.
    df1, df2 : int
    why : str
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


@dataclass(frozen=True, eq=False)
class PersonaEffect(Audit):
    """What :func:`persona_effect` found; the first estimate is the effect of the set.

    Attributes
    ----------
    heterogeneity : Heterogeneity
    agreement : DataFrame
        One row per pair of personas: ``first, second, agreement, low, high, n``.
    """

    heterogeneity: Heterogeneity
    agreement: pd.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """Return estimates, the test, pairs and notes as JSON can hold them."""
        h = self.heterogeneity
        test = {"f": h.f, "df1": h.df1, "df2": h.df2, "p_value": h.p_value, "why": h.why}
        pairs = self.agreement.astype(object).where(self.agreement.notna(), None).to_dict("records")
        return super().to_dict() | {"heterogeneity": test, "agreement": pairs}

    def __str__(self) -> str:
        return f"{super().__str__()}\n  {self.heterogeneity}"


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
    """Measure what personas do to accuracy, and how much they agree.

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

    Returns
    -------
    PersonaEffect

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
    who = (
        data.texts("persona")
        if "persona" in data.table
        else np.asarray(data.judges, dtype=object)[data.judge]
    )
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
    lost = int((data.vote == MISSING).sum())
    if lost:
        notes.append(f"{lost} missing votes {'were left out' if missing == 'exclude' else 'count as wrong'}")
    right = np.where(data.vote == MISSING, np.nan, (data.vote == data.label).astype(float))
    right = np.nan_to_num(right, nan=0.0) if missing == "wrong" else right
    right[~labelled] = np.nan
    table = _by_item(data, who, right, [*names, baseline])
    cluster = _cluster_of_items(data)
    plain = table[baseline]
    estimates: list[Estimate] = []
    if np.isnan(plain).all():
        notes.append(f"no verdict of the plain juror {baseline!r}: accuracies and agreement only, no effect")
        for name in names:
            known = ~np.isnan(table[name])
            if known.any():
                estimates.append(
                    clustered_rate(f"accuracy, {name}", table[name][known], cluster[known], level)
                )
    else:
        gains = {name: table[name] - plain for name in names}
        apart = [name for name in names if np.isnan(gains[name]).all()]
        if apart:
            raise ValueError(
                f"a persona must share labelled items with the plain juror; got none for {apart}"
            )
        estimates.append(_mean_gain(SET, list(gains.values()), cluster, level))
        estimates += [_mean_gain(f"{SET}, {name}", [gain], cluster, level) for name, gain in gains.items()]
    pairs = _agreements(data, who, names, level)
    estimates += _agreement_estimates(data, who, names, pairs, level)
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
        mean = np.full(n, np.nan)
        np.divide(total, size, out=mean, where=size > 0)
        result[name] = mean
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

    found = effect(name, totals, statistic, int(seen.sum()), level)
    if found.low is None and len(totals) > 1 and found.value == 0:
        note = "no item changed: right or wrong with and without alike"
        return Estimate(**(found.to_dict() | {"note": note}))
    return found


def _heterogeneity(right: list[Floats], cluster: Ints) -> Heterogeneity:
    """Test that all personas are right equally often, on items that all judged."""
    from scipy.special import fdtrc

    k = len(right)
    table = np.stack(right, axis=1)
    whole = ~np.isnan(table).any(axis=1)
    if k < 2:
        return Heterogeneity(None, 0, 0, None, "one persona only")
    if not whole.any():
        return Heterogeneity(None, k - 1, 0, None, "no item was judged by all of them")
    totals = cluster_totals(table[whole], cluster[whole])
    apart = totals[:, 1:] - totals[:, :1]
    n, df1 = len(apart), k - 1
    df2 = n - df1
    if df2 < 1:
        return Heterogeneity(None, df1, df2, None, f"{n} clusters are too few for {k} personas")
    spread = np.atleast_2d(np.cov(apart, rowvar=False))
    if np.linalg.matrix_rank(spread) < df1:
        why = "some personas differ in no cluster, or always alike; leave one of them out"
        return Heterogeneity(None, df1, df2, None, why)
    mean = apart.mean(axis=0)
    f = float(df2 / (df1 * (n - 1)) * n * mean @ np.linalg.solve(spread, mean))
    return Heterogeneity(f, df1, df2, float(fdtrc(df1, df2, f)))


def _first_votes(data: Judgments, who: NDArray[np.object_], names: list[str]) -> Ints:
    """Return each persona's votes, shape (names, items x orders); the first where there are several."""
    slot = data.item * 3 + data.order + 1
    votes = np.full((len(names), 3 * len(data.items)), MISSING, dtype=np.int64)
    for row, name in enumerate(names):
        rows = np.flatnonzero((who == name) & (data.vote != MISSING))[::-1]
        votes[row, slot[rows]] = data.vote[rows]
    return votes


def _agreements(data: Judgments, who: NDArray[np.object_], names: list[str], level: float) -> pd.DataFrame:
    votes, cluster = _first_votes(data, who, names), np.repeat(_cluster_of_items(data), 3)
    rows = []
    for i, j in combinations(range(len(names)), 2):
        both = (votes[i] != MISSING) & (votes[j] != MISSING)
        if both.any():
            found = clustered_rate("", (votes[i] == votes[j])[both].astype(float), cluster[both], level)
            row = (names[i], names[j], found.value, found.low, found.high, found.n)
            rows.append(dict(zip(("first", "second", "agreement", "low", "high", "n"), row, strict=True)))
    return pd.DataFrame(rows, columns=["first", "second", "agreement", "low", "high", "n"])


def _agreement_estimates(
    data: Judgments, who: NDArray[np.object_], names: list[str], pairs: pd.DataFrame, level: float
) -> list[Estimate]:
    if pairs.empty:
        return []
    votes, cluster = _first_votes(data, who, names), np.repeat(_cluster_of_items(data), 3)
    # Per row: how many personas gave each answer; pairs that agree and pairs in all follow from it.
    given = np.stack([(votes == code).sum(axis=0) for code in range(3)], axis=1).astype(float)
    size = given.sum(axis=1)
    agree, of = (given * (given - 1)).sum(axis=1) / 2, size * (size - 1) / 2
    used = of > 0
    totals = cluster_totals(np.column_stack([agree, of, given])[used], cluster[used])
    mean = effect(AGREEMENT, totals, ratio, int(used.sum()), level, bounds=(0.0, 1.0))
    found = [_untested(mean)]
    if (totals[:, 2:].sum(axis=0) > 0).sum() > 1:
        found.append(_untested(effect(BEYOND, totals, _beyond_chance, int(used.sum()), level)))
    if len(pairs) > 1:
        values = pairs["agreement"].to_numpy()
        for name, at in ((LOWEST, int(values.argmin())), (HIGHEST, int(values.argmax()))):
            first, second = (str(pairs[end].iloc[at]) for end in ("first", "second"))
            one, two = votes[names.index(first)], votes[names.index(second)]
            both = (one != MISSING) & (two != MISSING)
            same = (one == two)[both].astype(float)
            found.append(clustered_rate(name, same, cluster[both], level, note=f"{first} and {second}"))
    return found


def _beyond_chance(sums: Floats) -> Floats:
    agreement = sums[:, 0] / sums[:, 1]
    shares = sums[:, 2:] / sums[:, 2:].sum(axis=1, keepdims=True)
    chance = (shares**2).sum(axis=1)
    return np.asarray((agreement - chance) / (1 - chance))


def _untested(estimate: Estimate) -> Estimate:
    """Drop the test against 0, which nobody asks of an agreement."""
    return Estimate(**(estimate.to_dict() | {"p_value": None}))


MOST_SUBSETS = 20_000
"""Up to so many subsets the spread between them is counted over all; beyond it, over so many drawn ones."""
_BLOCK = 500


@dataclass(frozen=True, eq=False)
class SubsetAccuracy:
    """What :func:`subset_accuracy` found.

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

    def se_of_mean(self, drawn: int) -> float:
        """Return the error of the mean over `drawn` different random subsets: items, and subsets not drawn."""
        drawn = integer("drawn", drawn, minimum=1)
        if drawn > self.n_subsets:
            raise ValueError(f"drawn must be <= the number of subsets ({self.n_subsets}); got {drawn}")
        if self.accuracy.se is None:
            raise ValueError(f"the error of the items is unknown ({self.accuracy.note})")
        rest = (self.n_subsets - drawn) / (self.n_subsets - 1) if self.n_subsets > 1 else 0.0
        return math.sqrt(self.accuracy.se**2 + self.sd_between**2 / drawn * rest)

    def to_dict(self) -> dict[str, Any]:
        """Return the accuracy and the spreads as JSON can hold them."""
        more = ("size", "n_personas", "n_subsets", "sd_between", "exact", "sd_binomial")
        return {"accuracy": self.accuracy.to_dict(), **{name: getattr(self, name) for name in more}}

    def to_frame(self) -> Any:
        """Return one row: the accuracy as an estimate."""
        return estimates_frame([self.accuracy])

    def to_latex(self) -> str:
        """Return a booktabs tabular of the accuracy."""
        return estimates_latex([self.accuracy])

    def __str__(self) -> str:
        how = "counted over all" if self.exact else f"over {MOST_SUBSETS} drawn"
        return (
            f"{self.accuracy}\n{self.n_subsets} subsets of {self.size} among {self.n_personas}: spread between them "
            f"{self.sd_between:.4f} ({how}); of one accuracy by the Binomial {self.sd_binomial:.4f}"
        )


def subset_accuracy(
    correct: ArrayLike,
    size: int,
    *,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    rng: RngLike = None,
) -> SubsetAccuracy:
    """Return the accuracy of the majority of a random subset of personas.

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

    Returns
    -------
    SubsetAccuracy

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
    codes = np.arange(n) if cluster is None else np.unique(np.asarray(cluster), return_inverse=True)[1]
    if codes.shape != (n,):
        raise ValueError(f"cluster must have one name per item ({n}); got shape {codes.shape}")
    law = hypergeom(personas, table.sum(axis=1), size)
    chance = law.sf(size // 2)
    if size % 2 == 0:
        chance = chance + law.pmf(size // 2) / 2
    totals = cluster_totals(np.stack([chance, np.ones(n)], axis=1), codes.astype(np.int64))
    name = f"accuracy of the majority of {size}"
    found = effect(name, totals, ratio, n, level, bounds=(0.0, 1.0))
    found = Estimate(**(found.to_dict() | {"p_value": None}))
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
        blocks = [chosen[at : at + _BLOCK] for at in range(0, MOST_SUBSETS, _BLOCK)]
    else:
        stream = combinations(range(personas), size)
        blocks = []
        while part := list(islice(stream, _BLOCK)):
            blocks.append(np.asarray(part))
    accuracies = []
    for block in blocks:
        member = np.zeros((len(block), personas))
        np.put_along_axis(member, block, 1.0, axis=1)
        votes = member @ table.T
        accuracies.append(((np.sign(2 * votes - size) + 1) / 2).mean(axis=1))
    return float(np.concatenate(accuracies).std())


@dataclass(frozen=True, slots=True)
class SpreadCheck:
    """What :func:`spread_check` found.

    Attributes
    ----------
    sd : float
        The +- as printed.
    sd_binomial : float
        The spread of accuracies that were each measured on their own items.
    ratio : float
        The printed over the binomial one.
    p_smaller : float
        How likely a spread at most this large is, if each subset had its own items.
    sd_if_error : float
        The spread that is meant if the printed one is the standard error of the mean over the runs.
    p_smaller_if_error : float
        How likely a spread at most that large is, if each subset had its own items.
    se_of_mean : float
        Error of the mean if each subset had its own items.
    se_same_items : float
        Error of the mean if all subsets had the same items, at most: with personas independent given the item it
        lies between `se_of_mean` and this.
    conclusion : str
    """

    sd: float
    sd_binomial: float
    ratio: float
    p_smaller: float
    sd_if_error: float
    p_smaller_if_error: float
    se_of_mean: float
    se_same_items: float
    conclusion: str

    def __str__(self) -> str:
        return self.conclusion


def spread_check(mean: float, sd: float, n_subsets: int, n_items: int) -> SpreadCheck:
    """Compare a printed spread between runs with what the Binomial alone gives.

    A source that prints "mean +- spread" may mean the standard deviation between runs, or the standard error of
    their mean: both are read.

    Parameters
    ----------
    mean, sd : float
        Mean accuracy over the runs and the printed spread, as shares.
    n_subsets : int
        Runs, at least 2.
    n_items : int
        Items of a run.

    Returns
    -------
    SpreadCheck

    Notes
    -----
    Item i is judged rightly by a random subset with chance p_i. One accuracy has the variance mean (1 - mean) / n
    = (Var p_i + E p_i (1 - p_i)) / n. The mean over R subsets on the same items keeps the first part and 1/R of the
    second, if subsets are independent given the item: at most the variance of one accuracy. What a subset does to
    all items alike comes on top, and shows between runs.

    Examples
    --------
    D3's table 4: 85.9 +- .7 over ten subsets of personas, on 120 questions.

    >>> found = spread_check(0.859, 0.007, 10, 120)
    >>> print(found)
    the Binomial alone gives 0.0318 between runs that each have their own 120 items. 0.0070 as a standard deviation between runs is smaller than that (p = 1.7e-05), as of runs that share items; as the standard error of 10 runs it means 0.0221 (p = 0.11), and nothing speaks against items of their own. If all runs had the same items, and personas are independent given the item, the error of the mean is at most about 0.0318
    """  # noqa: E501  # what is printed
    from scipy.special import chdtr

    mean = probability("mean", mean, open_interval=True)
    sd = number("sd", sd, minimum=0.0)
    n_subsets, n_items = integer("n_subsets", n_subsets, minimum=2), integer("n_items", n_items, minimum=1)
    alone = math.sqrt(mean * (1 - mean) / n_items)
    if_error = sd * math.sqrt(n_subsets)
    p, p_if_error = (float(chdtr(n_subsets - 1, (n_subsets - 1) * (x / alone) ** 2)) for x in (sd, if_error))
    said = (
        f"the Binomial alone gives {alone:.4f} between runs that each have their own {n_items} items. {sd:.4f} as a "
        f"standard deviation between runs {_against(p)}; as the standard error of {n_subsets} runs it means "
        f"{if_error:.4f} (p = {p_if_error:.2g}), {_against(p_if_error, told=True)}. If all runs had the same items, "
        f"and personas are independent given the item, the error of the mean is at most about {alone:.4f}"
    )
    own = alone / math.sqrt(n_subsets)
    return SpreadCheck(sd, alone, sd / alone, p, if_error, p_if_error, own, alone, said)


def _against(p: float, *, told: bool = False) -> str:
    if p < 0.05:
        return "smaller too" if told else f"is smaller than that (p = {p:.2g}), as of runs that share items"
    return f"{'and' if told else f'(p = {p:.2g}):'} nothing speaks against items of their own"
