"""Is protocol A better than protocol B? Runs over the same items, compared in pairs.

The answer leads with the difference and its interval. The unit is the item, the unit of resampling the cluster (the
question), and p-values of several pairs are adjusted together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal, get_args

import numpy as np

from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats.estimate import named_notes
from d3stats.inference.comparing.comparison import Comparison
from d3stats.inference.comparing.pair_intervals import Kind, PairData, checked_kind
from d3stats.inference.comparing.pair_tests import TESTS, Test
from d3stats.inference.margins import checked_margin
from d3stats.inference.multiplicity import FAMILIES, Family, adjust
from d3stats.inference.paired import difference_of
from d3stats.inference.runs import UNNAMED, Items, PairedRuns, Run, as_runs, pair
from d3stats.log.column_names import Columns
from d3stats.trajectories import Missing

__all__ = ["Comparison", "Weights", "compare"]

Weights = Literal["item", "question"]
"""Whether every item counts alike, or every question (cluster) however many items it has."""


def compare(
    a: Any,
    b: Any,
    *more: Any,
    names: Sequence[str] | None = None,
    items: Items = "same",
    value: str | None = None,
    by: Literal["question", "debate"] = "question",
    round_number: int | Sequence[int | None] | None = None,
    missing: Missing = "exclude",
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
    weights: Weights = "item",
    margin: float | None = None,
    level: float = 0.95,
    kind: Kind = "cluster t",
    test: Test | None = None,
    family: Family = "holm",
    baseline: str | None = None,
    n_boot: int = 10_000,
    rng: RngLike = None,
) -> Comparison:
    """Compare two or more runs over the same items: b - a, with a clustered paired error.

    Interval and p-value are one method by default; see :mod:`d3stats.inference.paired`.

    Parameters
    ----------
    a, b, *more : Run, Trajectories, DebateLog, DataFrame, Series, array, str or Path
        Runs, as :func:`~d3stats.inference.runs.as_run` reads them. The first is the reference.
    names : sequence of str, optional
        One per run; by default the runs' own, or letters.
    items : {"same", "intersection"}
        Refuse runs over different items, or compare on the items that all have.
    value : str, optional
        A table's column of values, or what of a log is compared ("verdict", "plurality", "votes", "tokens",
        "score:SIDE"). Of a log's file the verdict is the recorded decision, where there are any.
    by : {"question", "debate"}
        What an item is in a log. Debates of one question are one cluster.
    round_number : int or sequence of int or None, optional
        The round of a log that is taken, one for all or one per run; None is each debate's last.
    missing : {"exclude", "wrong"}
        Whether an unreadable answer is missing or wrong.
    missing_values : iterable of str, optional
        The words that mean missing, in place of :data:`d3stats.values.MISSING_WORDS`.
    columns : mapping of str to str, optional
        Own names of the tables' columns by their standard names: ``{"item": "qid"}``.
    encoding : str, optional
        Of text files; UTF-8 by default.
    weights : {"item", "question"}
        By items a question counts by how many it has: with nine of twelve items in one question, all nine gained, and
        three questions of one unchanged item, the difference is .75. By questions each counts once, with the mean over
        its items, and the difference is .25; a question is then the item, and its mean no longer right or wrong.
    margin : float, optional
        The largest difference that nobody minds; adds non-inferiority and equivalence, and a band to the figure.
    level : float
        Level of the intervals, one at a time.
    kind : {"cluster t", "percentile", "basic", "bca", "studentised", "Tango"}
        Kind of the intervals; all others can be asked for afterwards.
    test : {"cluster t", "sign flip", "McNemar exact", "McNemar mid-p"}, optional
        Whose p-values are adjusted; by default the t where the interval is a t, else the sign flip.
    family : {"holm", "bh", "bonferroni"}
        How p-values are adjusted over the pairs.
    baseline : str, optional
        Compare every run with this one only; by default all pairs.
    n_boot : int
        Bootstrap replicates.
    rng : Generator, int or None
        Of bootstraps, and of sign flips where they cannot all be counted.

    Returns
    -------
    Comparison

    Raises
    ------
    ItemMismatch
        When runs have different items and `items` is "same"; it names them.
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
    """
    level = probability("level", level, open_interval=True)
    kind_, test_ = checked_kind(kind), test if test is None else choice("test", test, TESTS)
    choice("family", family, FAMILIES)
    n_boot = integer("n_boot", n_boot, minimum=2)
    margin = None if margin is None else checked_margin(margin)
    reading: dict[str, Any] = {"value": value, "by": by, "missing": missing, "missing_values": missing_values}
    reading |= {"encoding": encoding}
    sources = (a, b, *more)
    runs = _named(
        as_runs(sources, _rounds(round_number, len(sources)), columns=columns, **reading),
        names,
        # A file is called what it is called, also "run".
        [isinstance(source, (str, Path)) for source in sources],
    )
    choice("weights", weights, get_args(Weights))
    paired = pair(runs, items=items)
    if weights == "question":
        paired = _by_question(paired)
    seed = int(as_rng(rng).integers(2**62))
    differences = tuple(
        difference_of(
            _data(paired, i, j, n_boot, (seed, i, j)),
            repeated=paired.repeated,
            level=level,
            kind=kind_,
            test=test_,
        )
        for i, j in _pairs(paired.names, baseline)
    )
    if margin is not None:
        checked_margin(margin, all(d.binary for d in differences))
    p_values = [d.p_value for d in differences]
    adjusted = adjust([1.0 if p is None else p for p in p_values], family)
    whole = _data(paired, 0, 1, n_boot, (seed,))
    own = [
        replace(whole, names=(name, ""), first=row).own(0, level)
        for name, row in zip(paired.names, paired.values, strict=True)
    ]
    of_pairs = [(d.name, d.notes) for d in differences]
    notes = [
        *paired.notes,
        *(named_notes(of_pairs, "pairs") if len(differences) > 1 else differences[0].notes),
    ]
    if len(differences) > 1 and None in p_values:
        notes.append(
            f"{p_values.count(None)} of {len(p_values)} pairs have no p-value; they count in the family as 1"
        )
    return Comparison(
        differences=differences,
        runs=tuple(own),
        adjusted=tuple(None if p is None else float(q) for p, q in zip(p_values, adjusted, strict=True)),
        family=family,
        baseline=baseline,
        margin=margin,
        n_items=paired.n_items,
        n_clusters=paired.n_clusters,
        left_out=paired.left_out,
        unscored=paired.unscored,
        notes=tuple(dict.fromkeys(notes)),
    )


def _by_question(paired: PairedRuns) -> PairedRuns:
    """Return the same runs with one value per cluster, the mean over its items."""
    sizes = np.bincount(paired.cluster, minlength=paired.n_clusters)
    if (sizes == 1).all():
        return paired
    sums = [np.bincount(paired.cluster, weights=row, minlength=paired.n_clusters) for row in paired.values]
    values = np.array(sums) / sizes
    said = f"every question counts once, with the mean over its items ({paired.n_items} items in all)"
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
    return PairData(
        names=(paired.names[i], paired.names[j]),
        first=paired.values[i],
        second=paired.values[j],
        cluster=paired.cluster,
        n_boot=n_boot,
        seed=seed,
    )


def _pairs(names: tuple[str, ...], baseline: str | None) -> list[tuple[int, int]]:
    if baseline is None:
        return list(combinations(range(len(names)), 2))
    at = names.index(choice("baseline", baseline, names))
    return [(at, k) for k in range(len(names)) if k != at]


def _rounds(given: int | Sequence[int | None] | None, n: int) -> list[int | None]:
    if given is None or isinstance(given, int):
        return [given] * n
    rounds = list(given)
    if len(rounds) != n:
        raise ValueError(f"round_number must be one round, or one per run ({n}); got {len(rounds)}")
    return rounds


def _named(runs: list[Run], names: Sequence[str] | None, files: Sequence[bool]) -> list[Run]:
    """Name runs as asked; by default unnamed ones and those of one name get letters."""
    if names is not None:
        if len(names) != len(runs):
            raise ValueError(f"names must be one per run ({len(runs)}); got {len(names)}")
        return [replace(run, name=str(name)) for run, name in zip(runs, names, strict=True)]
    times = Counter(run.name for run in runs)
    letters = [ascii_uppercase[k] if k < 26 else f"run {k + 1}" for k in range(len(runs))]
    return [
        replace(run, name=letter)
        if run.name == UNNAMED and not file
        else replace(run, name=f"{run.name} ({letter})")
        if times[run.name] > 1
        else run
        for run, letter, file in zip(runs, letters, files, strict=True)
    ]
