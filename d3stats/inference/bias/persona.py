"""Effects of personas on jurors: accuracy, agreement, and influence on the majority.

Everything is paired by item over clusters.

- *Effect*: accuracy with personas minus accuracy without, on the items that both judged.
- *Main effect* of a persona: its accuracy minus the mean accuracy of the others, on items that it and another
  judged.
- *Leave one out*: accuracy of the majority minus its accuracy without this persona, and how often the
  majority changes (this needs no label).
- *Do personas differ*: Hotelling's test that all have the same accuracy, from cluster sums (Cochran's Q asks the same
  of independent items).
- *Agreement*: how often two personas name the same answer, as the mean over pairs, with the lowest and the highest
  pair. Also (agreement - chance) / (1 - chance) as Fleiss' kappa.

References
----------
Cochran (1950), Biometrika 37, 256. Hotelling (1931), Annals of Mathematical Statistics 2, 360. Fleiss (1971),
Psychological Bulletin 76, 378. Holm (1979), Scandinavian Journal of Statistics 6, 65. D3, section 5.1 and appendix G
(which reports the effect and the agreement).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Unpack

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats._words import counted, said_p
from d3stats.estimate import Estimate
from d3stats.inference.bias.audit import HIGHEST, LOWEST, Audit, audited, clustered_rate
from d3stats.inference.comparison.multiplicity import adjust
from d3stats.inference.comparison.pair_data import mean_change
from d3stats.inference.judges.coefficients import fleiss_kappa
from d3stats.inputs.labels import StrataOf
from d3stats.inputs.ratings import Ratings
from d3stats.inputs.verdicts import ONE_JUDGE, Judgments, Votes, one_judge
from d3stats.resampling import (
    cluster_codes,
    cluster_estimate,
    cluster_t,
    cluster_totals,
    clustered_share,
    hotelling,
)
from d3stats.resampling.cluster_t import student_limits
from d3stats.resampling.degrees import changed_degrees
from d3stats.result import EstimatesResult
from d3stats.sources import Reading
from d3stats.sources.verdicts import judgments_with_strata
from d3stats.trajectories import MISSING, Missing
from d3stats.values import RIGHT, WRONG

__all__ = [
    "AGREEMENT",
    "CHANGED",
    "HIGHEST",
    "LEFT_OUT",
    "LOWEST",
    "MAIN",
    "SET",
    "Heterogeneity",
    "PersonaEffect",
    "SubsetAccuracy",
    "persona_effect",
    "subset_accuracy",
]


SET = "accuracy with personas minus accuracy without"
AGREEMENT, BEYOND = "mean pairwise agreement of personas", "agreement of personas beyond chance"
MAIN, LEFT_OUT = "accuracy minus that of the others", "accuracy of the majority, with minus without"
CHANGED = "share of items whose majority changes without"


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """Hotelling's test that all personas are equally accurate.

    Attributes
    ----------
    f, p_value : float or None
        Hotelling's F and its p-value; None where there is no test, and then `why` says why.
    df1, df2 : int
        Degrees of freedom of F.
    why : str
        Why there is no test, "" where there is one.

    Examples
    --------
    >>> from d3stats.inference import persona_effect
    >>> vote = {"none": "ABAABBAB", "ethics": "AAAABBAA", "business": "AAAAABAA"}
    >>> rows = [(i, p, v, "A") for p, word in vote.items() for i, v in enumerate(word)]
    >>> table = pd.DataFrame(rows, columns=["item", "persona", "vote", "label"])
    >>> found = persona_effect(table).heterogeneity
    >>> found.df1, found.df2, found.why
    (1, 7, '')
    """

    f: float | None
    df1: int
    df2: int
    p_value: float | None
    why: str = ""

    def __str__(self) -> str:
        if self.f is None or self.p_value is None:
            return f"do personas differ in accuracy: no test, because {self.why}"
        return f"do personas differ in accuracy: F({self.df1}, {self.df2}) = {self.f:z.2f}, {said_p(self.p_value)}"


@dataclass(frozen=True, eq=False, kw_only=True)
class PersonaEffect(Audit):
    r"""Effect of personas on accuracy, of each on the majority, their agreement, and a test whether they differ.

    Attributes
    ----------
    estimates : tuple of Estimate
        The effect of the set first, if there is a juror without persona; otherwise the accuracies; then the
        agreement. Without labels the agreement alone.
    main_effects, left_out, changes : tuple of Estimate
        One per persona, in the same order. `main_effects` is its accuracy minus that of the others; `left_out` is
        the accuracy of the majority with the persona minus without it. Both are empty without labels. `changes` is
        the share of items whose majority changes without the persona; it is empty with fewer than three personas.
    heterogeneity : Heterogeneity
        The test whether personas differ.
    agreement : DataFrame
        One row per pair of personas: ``first, second, agreement, low, high, n``.
    judge : str
        Who spoke as the personas.

    Examples
    --------
    >>> from d3stats.inference import persona_effect
    >>> vote = {"none": "ABAABBAB", "ethics": "AAAABBAA", "business": "AAAAABAA"}
    >>> rows = [(i, p, v, "A") for p, word in vote.items() for i, v in enumerate(word)]
    >>> found = persona_effect(pd.DataFrame(rows, columns=["item", "persona", "vote", "label"]))
    >>> round(found.effect.value, 4)
    0.3125
    >>> found.agreement[["first", "second", "agreement"]].values.tolist()
    [['ethics', 'business', 0.875]]
    >>> found.plot().get_xlabel()
    'accuracy minus that of the others'
    """

    heterogeneity: Heterogeneity
    agreement: pd.DataFrame
    main_effects: tuple[Estimate, ...] = ()
    left_out: tuple[Estimate, ...] = ()
    changes: tuple[Estimate, ...] = ()
    _json = ("judge", "estimates", "notes", "heterogeneity", "agreement", "personas")

    def _gated(self) -> tuple[Estimate, ...]:
        """Return the effect of the set of personas, or else those of each."""
        return (self.effect,) if self.effect.name == SET else self.main_effects

    @property
    def headline(self) -> str:
        """The effect of the set of personas, or else the largest effects of single ones and whether personas differ."""
        if self.effect.name == SET or not self.main_effects:
            return super().headline
        least, most = (pick(self.main_effects, key=lambda e: e.value) for pick in (min, max))
        ends = f"{least.value:+z.3f} ({least.of}) to {most.value:+z.3f} ({most.of})"
        return f"{self.judge}: accuracy minus that of the others is {ends}; {self.heterogeneity}"

    @property
    def personas(self) -> pd.DataFrame:
        """The effects of each persona, one row per measure: "main effect", "leave one out", "majority changes".

        Columns: ``persona, measure, value, low, high, level, kind, p_value, p_holm, n, n_clusters, note``. ``p_holm``
        is adjusted over the personas of a measure that have a test. A share of items whose majority changes has none.
        """
        rows = []
        for measure, found in (
            ("main effect", self.main_effects),
            ("leave one out", self.left_out),
            ("majority changes", self.changes),
        ):
            tested = [e.p_value for e in found if e.p_value is not None]
            adjusted = iter(adjust(tested) if tested else ())
            for e in found:
                p = None if e.p_value is None else float(next(adjusted))
                limits = (e.value, e.low, e.high, e.level, e.kind)
                rows.append((e.of, measure, *limits, e.p_value, p, e.n, e.n_clusters, e.note))
        columns = "persona measure value low high level kind p_value p_holm n n_clusters note"
        return pd.DataFrame(rows, columns=columns.split())

    def find(self, name: str) -> Estimate | None:
        """Return the estimate of this name, or None where the data do not give it."""
        every = (*self.estimates, *self.main_effects, *self.left_out, *self.changes)
        return next((e for e in every if e.name == name), None)

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {**super()._tables(), "personas": self.personas, "agreement": self.agreement}

    def summary(self) -> str:
        """Return the estimates, the notes, the test and what each persona does as text."""
        lines = [super().summary(), f"  {self.heterogeneity}"]
        found = (*self.main_effects, *self.left_out, *self.changes)
        adjusted = self.personas["p_holm"].to_numpy(dtype=float, na_value=np.nan)
        for e, p in zip(found, adjusted.tolist(), strict=True):
            lines.append(f"  {e}" + ("" if np.isnan(p) else f", {said_p(p)} (Holm)"))
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the main effects, or without labels what each persona changes, with their intervals.

        With strata, draw every estimate by stratum, the personas of one measure in one panel.

        Raises
        ------
        ValueError
            When there is neither, or with strata there are more than 7 personas.
        """
        from d3stats.plotting.intervals import plot_forest

        if self.strata:
            return super().plot(ax)
        found, label = (
            (self.main_effects, MAIN) if self.main_effects else (self.changes, "share of items changed")
        )
        if not found:
            raise ValueError(
                "a figure of personas must have main effects or changes of the majority; got neither"
            )
        rows = [(e.of, e.value, e.low, e.high, e.level, e.kind) for e in found]
        frame = pd.DataFrame(rows, columns=["label", "difference", "low", "high", "level", "kind"])
        return plot_forest(frame, xlabel=label, ax=ax)


def persona_effect(
    source: Any,
    *,
    baseline: str = "none",
    personas: list[str] | None = None,
    judge: str | None = None,
    votes: Votes | None = None,
    missing: Missing = "exclude",
    level: float = 0.95,
    strata: StrataOf = None,
    **reading: Unpack[Reading],
) -> PersonaEffect:
    """Estimate what personas do to accuracy and to the majority, paired by item over clusters, and their agreement.

    Parameters
    ----------
    source : Judgments, DataFrame, Trajectories, DebateLog, str or Path
        Votes for any answers, by ``persona``; the juror without one is called as in `baseline`, or has no name. In a
        log the personas that a run recorded count, and where there are none, each agent is one. Several votes of one
        persona on an item count with their mean; the majority takes the first. Without ``label`` the result holds no
        accuracies, only agreement and changes of the majority.
    baseline : str
        Name of the juror without persona. If it does not occur, no effect is estimated, only the other
        quantities.
    personas : list of str, optional
        Which personas; by default all. The majority is that of these.
    judge : str, optional
        Whose personas, where the table has the column ``persona`` and several judges.
    votes : {"answer", "slot"}, optional
        Whether a vote names the answer, or the place where it was shown (A the first).
    missing : {"exclude", "wrong"}
        Whether a missing vote is left out or counts as wrong. In the majority it is left out either way.
    level : float
        Level of the intervals, in (0, 1).
    strata : str, mapping or Series, optional
        The column that says an item's kind (category, task), or the kind of each item by its name: every estimate is
        then also made by stratum, raw and shrunken; see :mod:`d3stats.inference.comparison.strata`.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    PersonaEffect

    Raises
    ------
    ValueError
        When there is no persona, or only one and no juror without persona on labelled items, or a persona
        shares no labelled item with the juror without persona.

    Notes
    -----
    The majority is the answer with the most votes. On a tie with m answers it counts 1 / m right where the label is one
    of them. Two wrong votes of a log that records only correctness count as one answer, and a note says so.

    Examples
    --------
    >>> vote = {"none": "ABAABBAB", "ethics": "AAAABBAA", "business": "AAAAABAA"}
    >>> rows = [(i, p, v, "A") for p, word in vote.items() for i, v in enumerate(word)]
    >>> audit = persona_effect(pd.DataFrame(rows, columns=["item", "persona", "vote", "label"]))
    >>> round(audit[SET].value, 4), audit[AGREEMENT].value
    (0.3125, 0.875)
    >>> audit[f"{MAIN}, business"].value
    0.125
    """
    level = probability("level", level, open_interval=True)
    choice("missing", missing, ("exclude", "wrong"))
    found: PersonaEffect = audited(
        _of_judge,
        *judgments_with_strata(source, strata, votes=votes, personas=True, **reading),
        judge,
        pooled=True,
        again=_same_personas,
        baseline=baseline,
        personas=personas,
        missing=missing,
        level=level,
    )
    return found


def _of_judge(
    data: Judgments,
    *,
    judge: str | None,
    baseline: str,
    personas: Sequence[str] | None,
    missing: Missing,
    level: float,
) -> PersonaEffect:
    """Audit the votes of the personas of one judge, or of all jurors."""
    owner = ""
    if "persona" in data.table or judge is not None:
        owner, data = one_judge(data, judge)
    known = np.asarray(data.judges, dtype=object)[data.judge]
    who = data.texts("persona") if "persona" in data.table else known
    who = np.where(who == "", baseline, who).astype(object)
    found = [str(name) for name in pd.unique(who) if name != baseline]
    names = found if personas is None else list(dict.fromkeys(personas))
    unknown = sorted(set(names) - set(found))
    if unknown or not names:
        raise ValueError(
            f"at least one persona must occur in the table; got {unknown or 'none'}, it has {found}"
        )
    labelled = data.label != MISSING
    plain_there = bool(((who == baseline) & labelled).any())
    if len(names) == 1 and not plain_there:
        raise ValueError(
            "a persona audit must have two personas, or one and labelled votes of the juror without "
            f"persona {baseline!r}; got "
            f"{names[0]!r} alone"
        )
    notes = [*data.doubts(), *data.notes]
    if not labelled.any():
        notes.append(
            "no labels, so there is no accuracy, only the agreement and how often the majority changes "
            "without a persona"
        )
    elif not labelled.all():
        notes.append(
            f"accuracy: {int((~labelled).sum())} of {len(data)} verdicts have no label and were left out"
        )
    if lost := int((data.vote == MISSING).sum()):
        notes.append(f"{lost} missing votes {'were left out' if missing == 'exclude' else 'count as wrong'}")
    if set(data.answers) <= {RIGHT, WRONG}:
        notes.append("votes are only right or wrong, so two wrong votes count as the same answer")
    cluster = _cluster_of_items(data)
    estimates: list[Estimate] = []
    main: list[Estimate] = []
    heterogeneity = Heterogeneity(None, len(names) - 1, 0, None, "there are no labels")
    if labelled.any():
        right = _right(data, labelled, missing)
        table = _by_item(data, who, right, [*names, baseline])
        estimates += _against_plain(table, names, baseline, cluster, level, notes)
        heterogeneity = _heterogeneity([table[name] for name in names], cluster)
        if len(names) > 1:
            main = _main_effects({name: table[name] for name in names}, cluster, level, notes)
    first = _first_votes(data, who, names)
    pairs, agreement = _agreement(data, first, names, level)
    estimates += agreement
    left_out, changes = _leave_one_out(data, first, names, level, notes)
    if len(names) > 2:
        notes.append(
            "the lowest and highest of several pairs differ by chance alone; each interval is for its own pair"
        )
    if not estimates:
        raise ValueError(
            "personas must share items, or share labelled items with the juror without persona; got "
            "personas that never voted on the same item"
        )
    return PersonaEffect(
        judge=counted(len(names), "persona") + (f" of {owner}" if owner not in ("", ONE_JUDGE) else ""),
        estimates=tuple(estimates),
        notes=tuple(notes),
        heterogeneity=heterogeneity,
        agreement=pairs,
        main_effects=tuple(main),
        left_out=tuple(left_out),
        changes=tuple(changes),
    )


def _same_personas(whole: PersonaEffect) -> dict[str, Any]:
    """Return the personas of the whole, so that every stratum has the same or no estimate."""
    names = list(dict.fromkeys(whole.personas["persona"]))
    return {"personas": names} if names else {}


def _right(data: Judgments, labelled: NDArray[np.bool_], missing: Missing) -> Floats:
    """Return 1 for a right vote, 0 for a wrong one, NaN where neither is known."""
    unknown_is = 0.0 if missing == "wrong" else np.nan
    right = np.where(data.vote == MISSING, unknown_is, (data.vote == data.label).astype(float))
    right[~labelled] = np.nan
    return right


def _against_plain(
    table: Mapping[str, Floats],
    names: list[str],
    baseline: str,
    cluster: Ints,
    level: float,
    notes: list[str],
) -> list[Estimate]:
    """Return the gains over the juror without persona, the set first; without that juror, the accuracies and a note."""
    plain = table[baseline]
    estimates = []
    if np.isnan(plain).all():
        notes.append(
            f"no verdict of the juror without persona {baseline!r}, so there is no effect to estimate"
        )
        for name in names:
            here = ~np.isnan(table[name])
            if here.any():
                estimates.append(
                    clustered_rate("accuracy", table[name][here], cluster[here], level).about(name)
                )
        return estimates
    gains = {name: table[name] - plain for name in names}
    apart = [name for name in names if np.isnan(gains[name]).all()]
    if apart:
        raise ValueError(
            f"a persona must share labelled items with the juror without persona; got none for {apart}"
        )
    estimates.append(_mean_gain(SET, list(gains.values()), cluster, level))
    estimates += [_mean_gain(SET, [gain], cluster, level).about(name) for name, gain in gains.items()]
    return estimates


def _main_effects(
    table: Mapping[str, Floats], cluster: Ints, level: float, notes: list[str]
) -> list[Estimate]:
    """Return the accuracy of each persona minus the mean of the others, on the items that it and another judged."""
    every = np.stack(list(table.values()))
    judged = ~np.isnan(every)
    right, size = np.where(judged, every, 0.0).sum(axis=0), judged.sum(axis=0)
    found, alone = [], []
    for name, own in table.items():
        shared = ~np.isnan(own) & (size > 1)
        if not shared.any():
            alone.append(name)
            continue
        others = np.divide(right - np.nan_to_num(own), size - 1, out=np.full(len(own), np.nan), where=shared)
        found.append(_mean_gain(MAIN, [own - others], cluster, level).about(name))
    if alone:
        notes.append(f"no main effect of {', '.join(alone)}: no labelled item in common with another persona")
    return found


def _leave_one_out(
    data: Judgments, votes: Ints, names: list[str], level: float, notes: list[str]
) -> tuple[list[Estimate], list[Estimate]]:
    """Return what each persona adds to the accuracy of the majority, and how often the majority changes without it."""
    if len(names) < 3:
        notes.append("leave one out needs three personas: the majority of two is a tie wherever they differ")
        return [], []
    cluster = np.repeat(_cluster_of_items(data), 3)
    label = np.full(len(data.items), MISSING, dtype=np.int64)
    label[data.item] = data.label
    label = np.repeat(label, 3)
    counts = np.stack([(votes == code).sum(axis=0) for code in range(len(data.answers))], axis=1)
    leads, credit = _leaders(counts, label)
    left_out, changes, alone = [], [], []
    for row, name in zip(votes, names, strict=True):
        here = np.flatnonzero((row != MISSING) & (counts.sum(axis=1) > 1))
        if not len(here):
            alone.append(name)
            continue
        without = counts[here].copy()
        without[np.arange(len(here)), row[here]] -= 1
        others, others_credit = _leaders(without, label[here])
        changed = (others != leads[here]).any(axis=1).astype(float)
        changes.append(clustered_rate(CHANGED, changed, cluster[here], level).about(name))
        gain = np.full(len(row), np.nan)
        gain[here] = credit[here] - others_credit
        if not np.isnan(gain).all():
            left_out.append(_mean_gain(LEFT_OUT, [gain], cluster, level).about(name))
    if alone:
        notes.append(f"leave one out without {', '.join(alone)}: no item in common with another persona")
    return left_out, changes


def _leaders(counts: NDArray[np.int64], label: Ints) -> tuple[NDArray[np.bool_], Floats]:
    """Return which answers lead, and how right that is: 1 / m where the label is one of m; NaN without a label."""
    leads = (counts == counts.max(axis=1, keepdims=True)) & (counts > 0)
    right = leads[np.arange(len(label)), np.maximum(label, 0)] / np.maximum(leads.sum(axis=1), 1)
    return leads, np.where(label == MISSING, np.nan, right)


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


_UNCHANGED = "no item changed between right and wrong with the personas"


def _mean_gain(name: str, gains: list[Floats], cluster: Ints, level: float) -> Estimate:
    """Return the mean over personas of their mean gain per item, by clusters."""
    if len(gains) == 1:
        (gain,) = gains
        here = ~np.isnan(gain)
        found = mean_change(name, gain[here], cluster[here], level)
        unchanged = found.low is None and not gain[here].any()
        return replace(found, note=_UNCHANGED) if unchanged and found.n_clusters != 1 else found
    columns = []
    for gain in gains:
        known = ~np.isnan(gain)
        columns += [np.where(known, gain, 0.0), known.astype(float)]
    seen = np.stack(columns[1::2]).any(axis=0)
    totals = cluster_totals(np.stack(columns, axis=1)[seen], cluster[seen])

    def statistic(sums: Floats) -> Floats:
        return np.asarray((sums[:, ::2] / sums[:, 1::2]).mean(axis=1))

    found = cluster_estimate(name, totals, statistic, int(seen.sum()), level=level, bounds=(-1.0, 1.0))
    if found.low is None or found.high is None or found.se is None:
        unchanged = len(totals) > 1 and found.value == 0
        return replace(found, note=_UNCHANGED) if unchanged else found
    items, changed = totals[:, 1::2].sum(axis=1), np.abs(totals[:, ::2]).sum(axis=1)
    low, high, p = student_limits(found.value, found.se, changed_degrees(items, [changed]), level)
    low, high = min(low, found.low), max(high, found.high)
    return replace(found, low=max(low, -1.0), high=min(high, 1.0), p_value=max(p, found.p_value or 0.0))


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
        why = f"{counted(len(totals), 'cluster')} judged by all of them, too few for {k} personas"
    elif found.f is None:
        why = "some personas never differ from each other, or always in the same way; leave one of them out"
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
    data: Judgments, votes: Ints, names: list[str], level: float
) -> tuple[pd.DataFrame, list[Estimate]]:
    """Return one row per pair of personas, and their mean agreement, that beyond chance, the lowest and the highest."""
    cluster = np.repeat(_cluster_of_items(data), 3)
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
    given = np.stack([(votes == code).sum(axis=0) for code in range(len(data.answers))], axis=1).astype(float)
    size = given.sum(axis=1)
    agree, of = (given * (given - 1)).sum(axis=1) / 2, size * (size - 1) / 2
    used = of > 0
    n = int(used.sum())
    estimates = [replace(_mean_of_chances(AGREEMENT, agree[used], of[used], cluster[used], level), n=n)]
    if (given[used] > 0).any(axis=0).sum() > 1:
        estimates.append(_beyond_chance(data, votes[:, used], names, cluster[used], level))
    if len(found) > 1:
        # A pair that shares one cluster agrees there or does not; it says nothing of how often.
        rates = [rate for *_, rate in found if rate.low is not None] or [rate for *_, rate in found]
        estimates.append(replace(min(rates, key=lambda rate: rate.value), name=LOWEST))
        estimates.append(replace(max(rates, key=lambda rate: rate.value), name=HIGHEST))
    return table, estimates


def _beyond_chance(data: Judgments, votes: Ints, names: list[str], cluster: Ints, level: float) -> Estimate:
    """Return Fleiss' kappa of the votes (personas, items)."""
    groups = pd.Index(cluster).unique()
    ratings = Ratings(
        items=tuple(map(str, range(votes.shape[1]))),
        raters=tuple(names),
        categories=tuple(map(str, data.answers)),
        codes=votes.T,
        label=None,
        cluster=groups.get_indexer(pd.Index(cluster)).astype(np.int64),
        cluster_names=tuple(map(str, groups)),
        notes=(),
    )
    return replace(fleiss_kappa(ratings, level=level).estimate, name=BEYOND, p_value=None)


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

    Examples
    --------
    >>> from d3stats.inference.bias import subset_accuracy
    >>> rng = np.random.default_rng(0)
    >>> found = subset_accuracy(rng.random((120, 8)) < rng.beta(6, 2, size=(120, 1)), 5)
    >>> print(found.accuracy)
    accuracy of the majority of 5: 0.828 [0.767, 0.876] (95 % cluster t, log-odds, n = 120 in 120 clusters)
    >>> round(found.se_of_mean(3), 4), found.n_subsets
    (0.0307, 56)
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
        spread = f"spread between them {self.sd_between:z.4f} ({how}); of one accuracy by the Binomial"
        return [
            f"{self.n_subsets} subsets of {self.size} among {self.n_personas}: {spread} {self.sd_binomial:z.4f}"
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
        Level of the intervals, in (0, 1).
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
    accuracy of the majority of 5: 0.828 [0.767, 0.876] (95 % cluster t, log-odds, n = 120 in 120 clusters)
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
    name = f"accuracy of the majority of {size}"
    found = _mean_of_chances(name, chance, np.ones(n), codes, level)
    n_subsets = math.comb(personas, size)
    exact = n_subsets <= MOST_SUBSETS
    spread = _spread(table, size, n_subsets if exact else None, as_rng(rng))
    sd = math.sqrt(found.value * (1 - found.value) / n)
    return SubsetAccuracy(found, size, personas, n_subsets, spread, exact, sd)


def _mean_of_chances(name: str, above: Floats, below: Floats, cluster: Ints, level: float) -> Estimate:
    """Return a share whose trials are chances, with cluster t limits of its log-odds; a share's where all are alike.

    A chance varies less than a trial. Limits made for trials would be up to 1.9 times as wide here. Limits of the mean
    itself held .91 at 30 items and 5 personas, those of its log-odds .97.
    """
    found = clustered_share(above, below, cluster, level=level, name=name)
    totals = cluster_totals(np.stack([above, below], axis=1), cluster)

    def log_odds(sums: Floats) -> Floats:
        return np.asarray(scipy.special.logit(sums[:, :1] / sums[:, 1:]))

    if found.low is None or not 0 < found.value < 1:
        return found
    made = cluster_t(totals, log_odds, level=level)
    if made.reasons[0]:
        return found
    low, high = float(scipy.special.expit(made.low[0])), float(scipy.special.expit(made.high[0]))
    se = float(made.se[0]) * found.value * (1 - found.value)
    return replace(found, low=low, high=high, se=se, kind="cluster t, log-odds")


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
