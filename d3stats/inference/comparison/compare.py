"""Comparison of two or more runs over the same items, pair by pair, with p-values adjusted together.

The unit is the item, the unit of resampling the cluster (the question).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats._latex import booktabs
from d3stats._words import counted, verb
from d3stats.estimate import Estimate, estimates_frame, interval_kind, limits_text, named_notes
from d3stats.inference.comparison.margins import Better, MarginTests, checked_margin
from d3stats.inference.comparison.multiplicity import FAMILIES, Family, adjust
from d3stats.inference.comparison.pair_data import TESTS, Kind, PairData, Test, checked_kind, said_p
from d3stats.inference.comparison.paired import PairedDifference, difference_of
from d3stats.inference.comparison.strata import Strata, by_stratum, plot_panels, strata_tables
from d3stats.inputs.items import ItemIs
from d3stats.inputs.labels import Labels, Level, StrataOf, common_strata
from d3stats.inputs.runs import PairedRuns, pair
from d3stats.note import above_and_below, around, severity_of
from d3stats.result import Gate, Result
from d3stats.sources import Reading, open_all
from d3stats.sources.runs import RunOf, runs_of
from d3stats.trajectories import Missing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Comparison", "Weights", "compare"]


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    r"""Differences of runs over the same items, pair by pair, with p-values adjusted together.

    Attributes
    ----------
    differences : tuple of PairedDifference
        One per pair, second - first; the earlier run (or the baseline) is first.
    runs : tuple of Estimate
        Each run's own mean.
    adjusted : tuple of float or None
        p-values adjusted over all pairs; None where a pair has none. Such a pair still counts in the family, with 1.
    family : {"holm", "bh", "bonferroni"}
        How they were adjusted.
    baseline : str or None
        The run that all others were compared with; None when all pairs were.
    margin : float or None
        The largest difference that does not matter, in units of the difference.
    n_items, n_clusters : int
        Items that all runs scored, and the clusters that they come from.
    left_out, unscored : dict of str to tuple of str
        Items that other runs lack, and items that a run could not score, by run.
    notes : tuple of str
        What was done to the runs, and which results the data do not allow.
    strata : tuple of Strata
        The differences and then the runs' own means by stratum, where strata were asked for.

    Examples
    --------
    >>> from d3stats import compare
    >>> old, new = [1, 0, 1, 1] * 25, [1, 0, 1, 1] * 15 + [1, 1, 1, 1] * 10
    >>> found = compare(old, new, names=("old", "new"), rng=1)
    >>> print(found.difference)
    new - old: 0.100 [0.033, 0.167] (95 % cluster t, n = 100 in 100 clusters)
    >>> print(found.interval("percentile"))
    new - old: 0.100 [0.040, 0.160] (95 % percentile, n = 100 in 100 clusters)
    >>> found.noninferior(0.02).holds, found.equivalent(0.02).holds
    (True, False)
    >>> found.intervals()["kind"].tolist()
    ['cluster t', 'percentile', 'basic', 'bca', 'studentised', 'Tango']
    >>> found.plot().get_xlabel()
    'difference'
    """

    differences: tuple[PairedDifference, ...]
    runs: tuple[Estimate, ...]
    adjusted: tuple[float | None, ...]
    family: str
    baseline: str | None
    margin: float | None
    n_items: int
    n_clusters: int
    left_out: dict[str, tuple[str, ...]]
    unscored: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]
    strata: tuple[Strata, ...] = ()

    def __iter__(self) -> Iterator[PairedDifference]:
        return iter(self.differences)

    def _with_adjusted(self) -> list[tuple[PairedDifference, float | None]]:
        return list(zip(self.differences, self.adjusted, strict=True))

    def __len__(self) -> int:
        return len(self.differences)

    def __getitem__(self, name: str | int) -> PairedDifference:
        if isinstance(name, int):
            return self.differences[name]
        found = {d.name: d for d in self.differences}
        return found[choice("name", name, tuple(found))]

    @property
    def only(self) -> PairedDifference:
        """The pair, where there is one; an error where there are several."""
        if len(self.differences) > 1:
            names = [d.name for d in self.differences]
            raise ValueError(
                f"a comparison must have exactly one pair for this, or name the pair; got {names}"
            )
        return self.differences[0]

    @property
    def difference(self) -> Estimate:
        """The difference of the only pair."""
        return self.only.difference

    @property
    def p_value(self) -> float | None:
        """The p-value of the only pair."""
        return self.only.p_value

    def interval(self, kind: str = "cluster t", *, level: float | None = None) -> Estimate:
        """Return the only pair's difference with another kind of interval."""
        return self.only.interval(kind, level=level)

    def intervals(self, *, level: float | None = None) -> pd.DataFrame:
        """Return a table of every pair's difference with every kind of interval."""
        return pd.concat([d.intervals(level=level) for d in self.differences], ignore_index=True)

    def noninferior(self, margin: float, *, alpha: float = 0.05, better: Better = "higher") -> MarginTests:
        """Ask of every pair whether the second run is worse by less than a margin."""
        return MarginTests(tuple(d.noninferior(margin, alpha=alpha, better=better) for d in self.differences))

    def equivalent(self, margin: float, *, alpha: float = 0.05) -> MarginTests:
        """Ask of every pair whether the runs differ by less than a margin."""
        return MarginTests(tuple(d.equivalent(margin, alpha=alpha) for d in self.differences))

    @property
    def headline(self) -> str:
        """The answer, whether a difference is shown and how large it may be; or, of several pairs, which are shown."""
        if len(self) == 1:
            return self.only.headline
        shown = [d for d, p in self._with_adjusted() if p is not None and p < 1 - d.difference.level]
        listed = "; ".join(f"{d.name} {d._in_units()}" for d in shown)
        what = f"{len(shown)} of {counted(len(self), 'difference')} {verb(len(shown), 'is', 'are')} shown"
        return f"{what} (p adjusted, {self.family}){f': {listed}' if shown else ''}."

    def _answer(self) -> Sequence[str]:
        if self.margin is None:
            return (self.headline,)
        return (self.headline, *(f"{gate}." for gate in self._margin_gates(self.margin)))

    def _margin_gates(self, margin: float) -> list[Gate]:
        tests = zip(self.differences, self.noninferior(margin), strict=True)
        return [test._outcome(d.first.name, d.second.name) for d, test in tests]

    def gate(
        self, *, margin: float | None = None, at_least: float | None = None, at_most: float | None = None
    ) -> Gate:
        """Say whether the data show, of every pair, that the second run is not worse than the first by a margin.

        Parameters
        ----------
        margin : float, optional
            The largest difference that does not matter; by default that of the comparison. The test is that of
            :meth:`noninferior`, one-sided at 5 %.
        at_least, at_most : float, optional
            In place of a margin, a limit of the differences, held against their intervals.

        Returns
        -------
        Gate
            Its ``code`` is the exit code of a program: 0 shown, 4 refuted, 5 not decided.

        Raises
        ------
        ValueError
            If no limit is given, or a margin beside another limit.

        Examples
        --------
        >>> from d3stats import compare
        >>> found = compare([1, 0, 1, 1] * 100, [1, 0, 1, 1] * 97 + [1, 1, 0, 1] * 3, names=("a", "b"))
        >>> print(found.gate(margin=0.02))
        Shown: b is less than 0.02 worse than a (may be 0.0121 worse, one-sided 95 %)
        """
        if at_least is not None or at_most is not None:
            if margin is not None:
                raise ValueError(
                    f"margin must come without at_least and at_most; got margin={margin!r} and one of them"
                )
            return super().gate(at_least=at_least, at_most=at_most)
        room = self.margin if margin is None else margin
        if room is None:
            raise ValueError(
                "a gate must have a margin, at_least or at_most; got none, as the comparison has none"
            )
        worst: tuple[bool | None, ...] = (False, None, True)
        return min(self._margin_gates(room), key=lambda gate: worst.index(gate.shown))

    def _gated(self) -> Sequence[Estimate]:
        return [d.difference for d in self.differences]

    def _tables(self) -> dict[str, pd.DataFrame]:
        """Return the differences, one row per pair, and the runs.

        After the columns of an Estimate come ``p_adjusted, family, test, first, second, first_value,
        second_value, gained, lost, unchanged, correlation`` and one ``p_...`` per test; missing where refused.
        """
        table = estimates_frame([d.difference for d in self.differences])
        rest = pd.DataFrame(
            [
                {
                    "p_adjusted": adjusted,
                    "family": self.family,
                    "test": d.test,
                    "first": d.first.name,
                    "second": d.second.name,
                    "first_value": d.first.value,
                    "second_value": d.second.value,
                    **{name: getattr(d, name) for name in ("gained", "lost", "unchanged", "correlation")},
                    **{f"p_{t.name.replace(' ', '_').replace('-', '_').lower()}": t.p_value for t in d.tests},
                }
                for d, adjusted in self._with_adjusted()
            ]
        )
        numbers = {c: "float64" for c in map(str, rest) if c.startswith("p_") or c == "correlation"}
        differences = pd.concat([table, rest.astype(numbers)], axis=1)
        return {"differences": differences, "runs": estimates_frame(self.runs), **strata_tables(self.strata)}

    def _title(self) -> str:
        against = f"against {self.baseline}" if self.baseline else "the later run minus the earlier"
        family = f"; p adjusted over {len(self)} pairs ({self.family})" if len(self) > 1 else ""
        size = f"{counted(self.n_items, 'item')} in {counted(self.n_clusters, 'cluster')}"
        return f"{size}; {against}, above 0 if it has more{family}"

    def _document(self) -> dict[str, Any]:
        """Return everything as a dictionary that JSON can hold, the effects first."""
        margins = {}
        if self.margin is not None:
            margins["noninferior"] = self.noninferior(self.margin).to_dict()
            margins["equivalent"] = self.equivalent(self.margin).to_dict()
            margins["gate"] = self.gate().to_dict()
        counts = ("n_items", "n_clusters", "left_out", "unscored", "notes")
        return {
            "differences": [d.to_dict() | {"p_adjusted": p} for d, p in self._with_adjusted()],
            **{name: getattr(self, name) for name in ("runs", "family", "baseline", "margin")},
            **margins,
            **{name: getattr(self, name) for name in counts},
            **({"strata": self.strata} if self.strata else {}),
        }

    def _latex(self, digits: int) -> str:
        """Return difference, interval, its kind (or why there is none), items in clusters, gained and lost, p, and
        adjusted p of several pairs.
        """
        several = len(self) > 1
        rows = []
        for d, adjusted in self._with_adjusted():
            e, changed = d.difference, f"{d.gained} / {d.lost}"
            size = (interval_kind(e), f"{e.n} in {e.n_clusters}")
            cells = (
                e.name,
                f"{e.value:z.{digits}f}",
                limits_text(e, digits),
                *size,
                changed,
                _short(e.p_value),
            )
            rows.append((*cells, _short(adjusted)) if several else cells)
        head = ("", "difference", "interval", "kind", "n", "gained / lost", "p")
        return booktabs("lrrllrr" + "r" * several, (*head, f"p, {self.family}") if several else head, rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the differences with their intervals about zero, and the margin where there is one.

        With strata, draw the differences and each run's mean by stratum; in given axes, draw the difference of the only
        pair, or the runs' means where there are several pairs.
        """
        from d3stats.plotting.intervals import plot_forest

        if self.strata:
            differences, runs = self.strata[: len(self)], self.strata[len(self) :]
            what = differences[0].quantity if len(self) == 1 else "difference of two runs"
            panels = {what: differences, "mean of the run": runs}
            if ax is not None and len(self) > 1:
                del panels[what]
            return plot_panels(panels, ax)
        table = self.to_frame()[["name", "value", "low", "high", "level", "kind"]]
        frame = table.rename(columns={"name": "label", "value": "difference"})
        return plot_forest(frame, margin=self.margin, ax=ax)

    def summary(self) -> str:
        """Return every difference with its runs and tests, what the margin shows, and the notes."""
        answer = list(self._answer())
        lines, warned = [*answer, self._title()], above_and_below(self.notes)[0]
        several = len(self) > 1
        for d, adjusted in self._with_adjusted():
            # Of several pairs the notes stand at the end, each once with its pairs.
            lines += [str(d.difference), *d.details(omit=d.notes if several else warned)]
            if several and adjusted is not None:
                lines.append(f"  {self.family}: {said_p(adjusted)} by {d.test}")
        if self.margin is not None:
            results = (*self.noninferior(self.margin), *self.equivalent(self.margin))
            lines += [result.conclusion for result in results]
        shown = () if several else self.differences[0].notes
        notes = [note for note in self.notes if severity_of(note) == "warning" or note not in shown]
        whole = around(lines, notes, len(answer))
        return "\n".join([*whole, *(part.summary() for part in self.strata)])


def _short(p: float | None) -> str:
    return "-" if p is None else f"{p:z.3f}" if p >= 0.0005 else "< .001"


Weights = Literal["item", "question"]
"""Whether every item counts alike, or every question (cluster) however many items it has."""


def compare(
    a: Any,
    b: Any,
    *more: Any,
    names: Sequence[str] | None = None,
    value: str | None = None,
    by: ItemIs = "question",
    round_number: int | Sequence[int | None] | None = None,
    missing: Missing = "exclude",
    weights: Weights = "item",
    strata: StrataOf = None,
    margin: float | None = None,
    level: float = 0.95,
    kind: Kind = "cluster t",
    test: Test | None = None,
    family: Family = "holm",
    baseline: str | None = None,
    n_boot: int = 10_000,
    rng: RngLike = None,
    **reading: Unpack[Reading],
) -> Comparison:
    """Estimate the differences of two or more runs over the same items, with clustered paired t intervals.

    Interval and p-value are one method by default; see :mod:`d3stats.inference.comparison.paired`.

    Parameters
    ----------
    a, b, *more : Run, Trajectories, DebateLog, DataFrame, Series, array, str or Path
        Runs, as :func:`~d3stats.inference.as_run` reads them. The first is the reference.
    names : sequence of str, optional
        Name of a run, given once per run; by default the runs' own names, or letters.
    value : str, optional
        A table's column of values, or what of a log is compared ("verdict", "plurality", "votes", "tokens",
        "score:SIDE"), as for :func:`~d3stats.inference.as_run`.
    by : {"question", "debate"}
        Unit of comparison in a log; with "question", the debates of a question are averaged.
    missing : {"exclude", "wrong"}
        A missing vote is left out (the number of votes then varies) or counts as wrong.
    round_number : int or sequence of int or None, optional
        The round of a log that is taken, one for all or one per run; None is each debate's last.
    weights : {"item", "question"}
        Whether each item counts once, or each question once. By items a question counts by how many it has: with nine
        of twelve items in one question, all nine gained, and three questions of one unchanged item, the difference is
        .75. By questions each counts once, with the mean over its items, and the difference is .25; a question is then
        the item, and its mean no longer right or wrong.
    strata : str, mapping or Series, optional
        The column that says an item's kind (category, task, difficulty), or the kind of each item by its name. Every
        difference and every run's mean is then also estimated by stratum, raw and shrunken, with a test that strata
        are alike; see :mod:`d3stats.inference.comparison.strata`. At least one run must have the column; of a log of
        records it is ``category``, ``protocol`` or ``log``.
    margin : float, optional
        Largest difference that does not matter; adds tests of non-inferiority and equivalence, and a band to the
        figure.
    level : float
        Level of the intervals, one at a time.
    kind : {"cluster t", "percentile", "basic", "bca", "studentised", "Tango"}
        Kind of interval. All others can be asked for afterwards.
    test : {"cluster t", "sign flip", "McNemar exact", "McNemar mid-p"}, optional
        The test whose p-value is shown and adjusted; by default the t where the interval is a t, else the sign flip.
    family : {"holm", "bh", "bonferroni"}
        Adjustment of p-values for the number of pairs.
    baseline : str, optional
        Name of the run to compare all others with; by default all pairs.
    n_boot : int
        Bootstrap replicates; only for the kinds of interval that are bootstraps.
    rng : Generator, int or None
        Random numbers of bootstraps, and of sign flips where they cannot all be counted.

    Returns
    -------
    Comparison

    Raises
    ------
    ItemMismatch
        When runs share less than half of the items of the smallest; it names the others. Else items that not all runs
        have are left out, and a warning counts and names them.
    ValueError
        When no item is scored by all runs, or a setting is none of those above.

    Examples
    --------
    >>> import pandas as pd
    >>> items = [f"q{k}" for k in range(12)]
    >>> single = pd.DataFrame({"item": items, "correct": [1, 0, 1, 0] * 3})
    >>> debate = pd.DataFrame({"item": items, "correct": [1, 0, 1, 1] * 2 + [1, 0, 1, 0]})
    >>> found = compare(single, debate, names=("single", "debate"), rng=1)
    >>> print(found.difference)
    debate - single: 0.167 [-0.317, 0.650] (95 % cluster t, n = 12 in 12 clusters)
    >>> found.only.gained, found.only.lost, found.only.p("McNemar exact")
    (2, 0, 0.5)
    >>> kinds = pd.Series(["math", "ethics", "coding"] * 4, index=items, name="category")
    >>> by_kind = compare(single, debate, names=("single", "debate"), strata=kinds, rng=1).strata[0]
    >>> [(e.name, e.value) for e in by_kind.raw]
    [('coding', 0.0), ('ethics', 0.25), ('math', 0.25)]
    """
    asked = _Asked(level, kind, test, family, baseline, margin, weights, by, n_boot)
    opened = open_all((a, b, *more), **reading)
    of_logs = RunOf(value, by, missing)
    runs = runs_of(opened, of_logs, names=names, round_number=round_number, strata=strata)
    return _compared(pair(runs), asked, rng)


@dataclass(frozen=True)
class _Asked:
    """Settings of a comparison, checked."""

    level: float
    kind: Kind
    test: Test | None
    family: Family
    baseline: str | None
    margin: float | None
    weights: Weights
    by: ItemIs
    n_boot: int

    def __post_init__(self) -> None:
        probability("level", self.level, open_interval=True)
        checked_kind(self.kind)
        if self.test is not None:
            choice("test", self.test, TESTS)
        choice("family", self.family, FAMILIES)
        integer("n_boot", self.n_boot, minimum=2)
        if self.margin is not None:
            checked_margin(self.margin)
        choice("weights", self.weights, get_args(Weights))

    def difference(self, data: PairData, repeated: bool) -> PairedDifference:
        """Return the difference of a pair with its interval and its tests."""
        return difference_of(data, level=self.level, kind=self.kind, test=self.test, repeated=repeated)

    def pairs(self, names: tuple[str, ...]) -> list[tuple[int, int]]:
        """Return which runs are compared, the first of each pair first."""
        if self.baseline is None:
            return list(combinations(range(len(names)), 2))
        at = names.index(choice("baseline", self.baseline, names))
        return [(at, k) for k in range(len(names)) if k != at]


def _compared(paired: PairedRuns, asked: _Asked, rng: RngLike) -> Comparison:
    """Compare runs, and by stratum where the runs have strata."""
    labels = _labels(paired, asked) if paired.strata else None
    if asked.weights == "question":
        paired = _by_question(paired)
    seed = int(as_rng(rng).integers(2**62))
    pairs = asked.pairs(paired.names)
    differences = tuple(
        asked.difference(_data(paired, i, j, asked.n_boot, (seed, i, j)), paired.repeated) for i, j in pairs
    )
    margin = asked.margin
    if margin is not None:
        checked_margin(margin, all(d.binary for d in differences))
    p_values = [d.p_value for d in differences]
    adjusted = adjust([1.0 if p is None else p for p in p_values], asked.family)
    notes = [*paired.notes]
    if len(differences) == 1:
        notes += differences[0].notes
    else:
        notes += named_notes([(d.name, d.notes) for d in differences], "pairs")
        if none := p_values.count(None):
            notes.append(
                f"{none} of {len(p_values)} pairs have no p-value; they count as p = 1 in the adjustment"
            )
    return Comparison(
        strata=() if labels is None else _by_stratum(paired, labels, pairs, seed, asked),
        differences=differences,
        runs=tuple(_own(paired, seed, asked)),
        adjusted=tuple(None if p is None else float(q) for p, q in zip(p_values, adjusted, strict=True)),
        family=asked.family,
        baseline=asked.baseline,
        margin=margin,
        n_items=paired.n_items,
        n_clusters=paired.n_clusters,
        left_out=paired.left_out,
        unscored=paired.unscored,
        notes=tuple(dict.fromkeys(notes)),
    )


def _labels(paired: PairedRuns, asked: _Asked) -> Labels:
    """Return the stratum of every item, or of every question where these count once."""
    of_questions = asked.by == "question"
    unit = "question" if of_questions else "item"
    level: Level = "cluster" if of_questions else "debate"
    labels = common_strata(paired.strata, paired.items, level=level, unit=unit)
    return _of_clusters(labels, paired) if asked.weights == "question" else labels


def _of_clusters(labels: Labels, paired: PairedRuns) -> Labels:
    """Return the stratum of every question, where a question counts once."""
    codes = np.full(paired.n_clusters, -1, dtype=np.int64)
    known = labels.codes >= 0
    codes[paired.cluster[known]] = labels.codes[known]
    changed = known & (codes[paired.cluster] != labels.codes)
    if changed.any():
        names = dict.fromkeys(paired.cluster_names[k] for k in paired.cluster[changed])
        raise ValueError(
            f"{labels.column} must be one per question with weights='question'; got several in "
            f"{counted(len(names), 'question')}: {', '.join(map(repr, list(names)[:5]))}"
        )
    return replace(labels, codes=codes)


def _by_stratum(
    paired: PairedRuns, labels: Labels, pairs: list[tuple[int, int]], seed: int, asked: _Asked
) -> tuple[Strata, ...]:
    """Return every pair's difference by stratum, then every run's mean."""

    def measure(rows: NDArray[np.bool_]) -> list[Estimate]:
        codes = np.unique(paired.cluster[rows], return_inverse=True)[1]
        part = replace(paired, values=paired.values[:, rows], cluster=codes)
        data = [_data(part, i, j, asked.n_boot, (seed, i, j)) for i, j in pairs]
        return [
            *(asked.difference(one, paired.repeated).difference for one in data),
            *_own(part, seed, asked),
        ]

    shares = {name: (0.0, 1.0) for name, row in zip(paired.names, paired.values, strict=True) if _share(row)}
    changes = {
        f"{paired.names[j]} - {paired.names[i]}": (-1.0, 1.0)
        for i, j in pairs
        if _share(paired.values[i]) and _share(paired.values[j])
    }
    return by_stratum(labels, paired.cluster, measure, bounds=shares | changes, names=paired.cluster_names)


def _own(paired: PairedRuns, seed: int, asked: _Asked) -> list[Estimate]:
    """Return every run's own mean."""
    whole = _data(paired, 0, 1, asked.n_boot, (seed,))
    return [
        replace(whole, names=(name, ""), first=row).own(0, asked.level)
        for name, row in zip(paired.names, paired.values, strict=True)
    ]


def _share(row: NDArray[np.float64]) -> bool:
    return bool(np.isin(row, (0, 1)).all())


def _by_question(paired: PairedRuns) -> PairedRuns:
    """Return the same runs with one value per cluster, the mean over its items."""
    sizes = np.bincount(paired.cluster, minlength=paired.n_clusters)
    if (sizes == 1).all():
        return paired
    sums = [np.bincount(paired.cluster, weights=row, minlength=paired.n_clusters) for row in paired.values]
    values = np.array(sums) / sizes
    said = f"each question counts once, with the mean over its items ({paired.n_items} items in all)"
    return replace(
        paired,
        items=paired.cluster_names,
        values=values,
        cluster=np.arange(paired.n_clusters),
        binary=bool(np.isin(values, (0, 1)).all()),
        repeated=True,
        notes=(*paired.notes, said),
    )


def _data(paired: PairedRuns, i: int, j: int, n_boot: int, seed: tuple[int, ...]) -> PairData:
    names, values = (paired.names[i], paired.names[j]), paired.values
    return PairData(names, values[i], values[j], paired.cluster, n_boot, seed)
