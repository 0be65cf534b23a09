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

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import choice, probability
from d3stats._words import counted
from d3stats.estimate import Estimate
from d3stats.inference.bias._audit import Audit
from d3stats.inference.bias._rates import clustered_rate, effect, ratio
from d3stats.inference.bias.reading import ONE_JUDGE, Judgments, Votes, as_judgments, one_judge
from d3stats.resampling import cluster_totals
from d3stats.trajectories import MISSING, Missing

__all__ = ["Heterogeneity", "PersonaEffect", "persona_effect"]

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
