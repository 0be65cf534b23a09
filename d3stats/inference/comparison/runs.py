"""An evaluation run as inference reads it, one value per item and the items' clusters; runs paired by item.

Runs come from logs, from ``Trajectories`` or from tidy tables. Items that only one run has are named, and leaving them
out has to be asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Unpack, get_type_hints

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import choice
from d3stats._words import counted, setting
from d3stats.inference.comparison.run_tables import (
    RunTable,
    fields_of,
    from_frame,
    from_trajectories,
    items_of,
    missing_as_wrong,
)
from d3stats.log.contradictions import Contradiction, Told, contradictions, refuse, renamed, warned
from d3stats.note import MISSING_VALUES, warning, with_words
from d3stats.plausibility import MUCH_MISSING, warnings_of
from d3stats.sources import Reading, open, open_all
from d3stats.sources.recorded import RecordedLog
from d3stats.sources.shared import Shared, shared
from d3stats.sources.tables import blank_clusters, place_of
from d3stats.trajectories import Missing, Trajectories
from d3stats.values import canonical

__all__ = ["ItemMismatch", "Items", "PairedRuns", "Run", "as_run", "as_runs", "pair"]

Floats = NDArray[np.float64]


class ItemMismatch(ValueError):
    """Runs do not have the same items; `only` says which are in some run alone (run name to item names).

    Parameters
    ----------
    message : str
        What does not fit, and what to do.
    only : dict of str to tuple of str
        Items that a run alone has, by the run's name.

    Examples
    --------
    >>> from d3stats.inference import as_run, pair
    >>> runs = [as_run(pd.Series({"q1": 1, other: 0}), name=name) for name, other in (("A", "q2"), ("B", "q3"))]
    >>> try:
    ...     pair(runs)
    ... except ItemMismatch as error:
    ...     print(error.only)
    {'A': ('q2',), 'B': ('q3',)}
    """

    def __init__(self, message: str, only: dict[str, tuple[str, ...]]) -> None:
        super().__init__(message)
        self.only = only


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """One value per item of an evaluation, with the items' clusters.

    Attributes
    ----------
    name : str
        What the run is called in tables.
    items : tuple of str
        Item names, each once.
    value : ndarray of float, shape (items,)
        1 right and 0 wrong, or any score; the mean over repeats where an item was run several times; NaN where
        nothing could be scored.
    cluster : tuple of str
        The question (or group) that each item belongs to: the unit of resampling.
    repeats : ndarray of int, shape (items,)
        How many values each mean is made of; 0 where there is none.
    binary : bool
        Whether every value is 0 or 1.
    notes : tuple of str
        What was done to get here.
    unlabelled : tuple of str
        Items without a label. Whether they are right is unknown, under any setting of `missing`.
    label : tuple of str or None
        The right answer that decided each item's value, None where unknown; empty where values came as such.
    told : Told or None
        What the source says of its questions, to be held against other runs; None where values came as such.

    Examples
    --------
    >>> from d3stats.inference import as_run
    >>> table = pd.DataFrame({"item": ["a", "b", "c"], "correct": [1, 0, 1], "cluster": ["q1", "q1", "q2"]})
    >>> run = as_run(table, name="old")
    >>> run.items, run.value.tolist(), run.cluster
    (('a', 'b', 'c'), [1.0, 0.0, 1.0], ('q1', 'q1', 'q2'))
    >>> run.binary, run.clustered
    (True, True)
    """

    name: str
    items: tuple[str, ...]
    value: Floats
    cluster: tuple[str, ...]
    repeats: NDArray[np.int64]
    binary: bool
    notes: tuple[str, ...] = field(default=())
    unlabelled: tuple[str, ...] = field(default=())
    label: tuple[str | None, ...] = field(default=())
    told: Told | None = field(default=None)

    def __repr__(self) -> str:
        size = f"{counted(len(self.items), 'item')} in {counted(len(set(self.cluster)), 'cluster')}"
        return f"Run({self.name!r}, {size})"

    def __len__(self) -> int:
        return len(self.items)

    @property
    def clustered(self) -> bool:
        """Whether some item belongs to something else than itself."""
        return self.cluster != self.items


@dataclass(frozen=True, eq=False, repr=False)
class PairedRuns:
    """Values of several runs on the same items, all of them scored.

    Attributes
    ----------
    names, items : tuple of str
    values : ndarray of float, shape (runs, items)
        No NaN: items that some run could not score are in `unscored`, or count as `missing` says.
    cluster : ndarray of int64, shape (items,)
        Codes into `cluster_names`.
    cluster_names : tuple of str
    binary : bool
        Whether every value of every run is 0 or 1.
    left_out : dict of str to tuple of str
        Items of each run that the others lack; empty with ``items="same"``.
    unscored : dict of str to tuple of str
        Items that each run could not score, for want of a label or of a value.
    notes : tuple of str
        What was done to the runs.
    repeated : bool
        Whether some value is a mean over several tries at its item.

    Examples
    --------
    >>> from d3stats.inference import as_run, pair
    >>> both = pair([as_run([1, 0, 1], name="old"), as_run([1, 1, 0], name="new")])
    >>> both.names, both.values.tolist(), both.n_items, both.n_clusters
    (('old', 'new'), [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]], 3, 3)
    """

    names: tuple[str, ...]
    items: tuple[str, ...]
    values: Floats
    cluster: NDArray[np.int64]
    cluster_names: tuple[str, ...]
    binary: bool
    left_out: dict[str, tuple[str, ...]]
    unscored: dict[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()
    repeated: bool = False

    def __repr__(self) -> str:
        size = f"{counted(self.n_items, 'item')} in {counted(self.n_clusters, 'cluster')}"
        return f"PairedRuns({', '.join(self.names)}; {size})"

    @property
    def n_items(self) -> int:
        """Number of items that all runs scored."""
        return len(self.items)

    @property
    def n_clusters(self) -> int:
        """Number of clusters that these items come from."""
        return len(self.cluster_names)


Items = Literal["same", "intersection"]
ItemIs = Literal["debate", "question"]


def pair(runs: Sequence[Run], *, items: Items = "same") -> PairedRuns:
    """Return the values of several runs, matched by item.

    A run that states no clusters takes those of the runs that do, and a note says so.

    Parameters
    ----------
    runs : sequence of Run
        At least two, with different names.
    items : {"same", "intersection"}
        "same" refuses runs over different items with :class:`ItemMismatch`; "intersection" keeps the items that all
        have, and the result says which were left out.

    Returns
    -------
    PairedRuns

    Raises
    ------
    ValueError
        When no item is common or scored by all, or an item has different clusters or labels in different runs. Also
        when runs are matched by debate, and a debate is about different questions.

    Examples
    --------
    >>> from d3stats.inference.comparison.runs import as_run
    >>> a = as_run(pd.Series({"q1": 1, "q2": 0, "q3": 1}, name="A"))
    >>> b = as_run(pd.Series({"q1": 1, "q2": 1}, name="B"))
    >>> pair([a, b], items="intersection").left_out["A"]
    ('q3',)
    """
    choice("items", items, ("same", "intersection"))
    if len(runs) < 2:
        raise ValueError(f"runs must be at least two; got {len(runs)}")
    names = tuple(run.name for run in runs)
    if len(set(names)) < len(names):
        raise ValueError(f"runs must have different names (pass names=, --name); got {list(names)}")
    both = shared({run.name: run.items for run in runs})
    only, common = both.only, list(both.common)
    if any(only.values()) and items == "same":
        raise ItemMismatch(_mismatch(both), only)
    if not common:
        raise ValueError(f"runs must have items in common; got none among {[len(r) for r in runs]} items")
    places = [pd.Index(run.items).get_indexer(pd.Index(common)) for run in runs]
    apart = _contradictions(runs)
    table = np.vstack([run.value[at] for run, at in zip(runs, places, strict=True)])
    repeats = np.vstack([run.repeats[at] for run, at in zip(runs, places, strict=True)])
    cluster, cluster_note = _common_clusters(runs, places, common)
    scored, rows = ~np.isnan(table).any(axis=0), zip(names, table, strict=True)
    unscored = {name: tuple(common[k] for k in np.flatnonzero(np.isnan(row))) for name, row in rows}
    if not scored.any():
        counts = ", ".join(f"{len(v)} of {len(common)} not by {k}" for k, v in unscored.items() if v)
        raise ValueError(
            f"runs must have items that all of them scored; got none ({counts}); d3stats doctor LOG shows "
            "what is missing"
        )
    codes, cluster_names = pd.factorize(cluster[scored])
    values = table[:, scored]
    # Which items have no label is said with those that are left out.
    notes = warned(apart, besides=("labels absent",))
    notes += [with_words(note, f"{run.name}: ") for run in runs for note in run.notes]
    notes += [cluster_note] if cluster_note else []
    notes += _two_scales(names, values)
    return PairedRuns(
        names=names,
        items=tuple(np.asarray(common, dtype=object)[scored]),
        values=values,
        cluster=codes.astype(np.int64),
        cluster_names=tuple(map(str, cluster_names)),
        binary=bool(((values == 0) | (values == 1)).all()),
        left_out=only,
        unscored=unscored,
        notes=(*dict.fromkeys(notes), *_losses(only, unscored, len(common), int(scored.sum()))),
        repeated=bool((repeats[:, scored] > 1).any()),
    )


def _contradictions(runs: Sequence[Run]) -> tuple[Contradiction, ...]:
    """Return what runs say otherwise of the same questions; refuse other right answers, and debates of other questions.

    Runs that are matched by question may call their debates alike: that is no more than a warning.
    """
    told = [(run, run.told) for run in runs if run.told is not None]
    logs = renamed([each for _, each in told], [run.name for run, _ in told])
    tables = any(run.label and not each.agents for run, each in told)
    found = contradictions(logs, **({"what": "run", "unit": "item"} if tables else {}))
    refuse(
        found,
        ["labels"],
        advice="If labels may differ (answers in another order), give the column 'correct' instead of 'vote' and "
        "'label'.",
    )
    if all(set(run.items) <= set(each.debate) for run, each in told):
        refuse(found, ["questions"])
    return found


def _losses(
    only: dict[str, tuple[str, ...]], unscored: dict[str, tuple[str, ...]], n_common: int, n_kept: int
) -> list[str]:
    notes = []
    if any(only.values()):
        notes.append(f"items that are not in all runs were left out: {Shared((), only).left_out()}")
    if n_kept < n_common:
        counts = ", ".join(f"{len(v)} by {k}" for k, v in unscored.items() if v)
        notes.append(f"{n_common - n_kept} of {n_common} items left out as not scored: {counts}")
    total = n_common + len({item for items in only.values() for item in items})
    if 2 * n_kept < total:
        text = (
            f"more than half of the items are left out ({total - n_kept} of {total}); the results "
            f"describe only the other {n_kept}, which may be the easy ones"
        )
        notes.append(warning(text, "left out", n=total - n_kept))
    return notes


def _two_scales(names: Sequence[str], values: Floats) -> list[str]:
    """Say that one run is right or wrong, and another has numbers that are no share of being right."""
    binary = np.isin(values, (0.0, 1.0)).all(axis=1)
    beyond = ((values < 0) | (values > 1)).any(axis=1)
    if not (binary.any() and beyond.any()):
        return []
    at = int(beyond.argmax())
    one, other, low, high = names[int(binary.argmax())], names[at], values[at].min(), values[at].max()
    text = (
        f"values of {one} are 0 or 1, those of {other} go from {low:g} to {high:g}; their difference means nothing "
        "unless both have the same scale; value (--value) names a column that all runs have"
    )
    return [warning(text, "two scales", about=other)]


def _common_clusters(
    runs: Sequence[Run], places: Sequence[NDArray[np.intp]], common: Sequence[str]
) -> tuple[NDArray[np.object_], str]:
    """Return the cluster of every common item, and a note when some runs say nothing of clusters."""
    stating = [k for k, run in enumerate(runs) if run.clustered]
    source = stating[0] if stating else 0
    owner = {k: np.asarray(runs[k].cluster, dtype=object)[places[k]] for k in stating or [0]}
    for k in stating[1:]:
        different = np.flatnonzero(owner[k] != owner[source])
        if len(different):
            at = int(different[0])
            one, other = (f"{owner[run][at]!r} ({runs[run].name})" for run in (source, k))
            raise ValueError(
                f"an item must be in one cluster in all runs; got {common[at]!r} in {one} and {other}"
            )
    silent = [run.name for k, run in enumerate(runs) if stating and k not in stating]
    note = f"clusters are those of {runs[source].name}; none stated by {', '.join(silent)}" if silent else ""
    return owner[source], note


def _mismatch(both: Shared) -> str:
    n_shared = len(both.common)
    advice = "The runs have no item in common."
    if n_shared:
        common = counted(n_shared, "common item")
        advice = f"To compare on the {common}, ask for it: {setting('items', 'intersection')}."
    return f"runs must have the same items; got {both.statement()}. {advice}"


UNNAMED = "run"
"""Name of a run that has no name."""


def as_run(
    source: Any,
    *,
    name: str | None = None,
    value: str | None = None,
    by: ItemIs = "question",
    round_number: int | None = None,
    missing: Missing = "exclude",
    **reading: Unpack[Reading],
) -> Run:
    """Return a run, one value per item, from a log, a table, a Series or an array.

    Parameters
    ----------
    source : Run, Series, or what :func:`d3stats.open` takes
        A log or ``Trajectories`` gives 1 where the verdict is the label. A table of items has a column ``item`` and one
        of ``correct`` (0/1), ``score``, or the column that `value` names, or ``vote`` and ``label`` (in one written
        form, see :mod:`d3stats.values`); optionally ``cluster``, or else a ``question`` that several items share. In a
        file empty cells and words such as NA are missing. A table with a column ``debate`` and no ``item`` is a log;
        columns may have the field's other names. A Series has items as its index, an array of shape (items,) numbers
        them; an array of shape (debates, rounds, seats) holds votes.
    name : str, optional
        What to call the run; by default the file's, the Series' or the column's name.
    value : str, optional
        For a table, the column of values. For a log, one of: "verdict" (is it right, the default); "plurality" (is
        the plurality of the votes right); "votes" (the share of the votes cast that are right); "tokens" (spent up
        to that round); "score:SIDE" (points of a side in that round). The verdict is the decision
        that a log's file records, missing for debates without one. In a log without any decision, in
        ``Trajectories`` and where `round_number` is given, the verdict is the plurality.
    by : {"question", "debate"}
        What an item is in a log: a question (several debates of it are averaged) or a single debate.
    round_number : int, optional
        The round of a log that is taken, or a debate's last where it ended before; by default each debate's last.
    missing : {"exclude", "wrong"}
        Whether a value that could not be read is missing or counts 0, which right/wrong values alone can.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Run

    Raises
    ------
    ValueError
        When a column is absent, no item has a label, a value is infinite, or an item changes its cluster or its
        label. Also when no vote is spelt like a label, or `missing` is "wrong" and the values are not right or wrong.

    Examples
    --------
    >>> run = as_run(pd.DataFrame({"item": ["q1", "q2"], "correct": [1, 0]}), name="A")
    >>> run.value.tolist(), run.binary
    ([1.0, 0.0], True)
    """
    choice("missing", missing, ("exclude", "wrong"))
    choice("by", by, ("question", "debate"))
    cells: dict[str, str] = {}
    taken: list[str] = []
    recorded: RecordedLog | None = None
    opened = open(source, **reading)
    default = opened.stem
    source = opened.value if opened.kind == "values" else opened
    if isinstance(source, (list, tuple, np.ndarray)) and np.ndim(source) == 1:
        source = pd.Series(source)
    if not opened.is_log(fields_of(value)):
        table_file = items_of(opened, value)
        source, cells, taken = table_file.frame, table_file.cells, table_file.notes
    elif opened.kind != "values" or isinstance(source, (np.ndarray, Mapping)):
        recorded = opened.recorded()
        source = recorded.trajectories
    if round_number is not None and isinstance(source, (Run, pd.Series, pd.DataFrame)):
        got = f"got {round_number} for a table"
        raise ValueError(f"round_number must be left out where a run has no rounds; {got}")
    if value is not None and isinstance(source, (Run, pd.Series)):
        raise ValueError(f"value must be left out where a run has one column; got {value!r}")
    if isinstance(source, Run):
        return _again(source, name, missing)
    if isinstance(source, Trajectories):
        table = from_trajectories(source, value, by, round_number, missing, recorded, name or default)
        # That no vote is a label is said in words of its own.
        told = warnings_of(f for f in source.findings() if f.kind != "no vote is a label")
        table.notes[:] = [*told, *table.notes, *source.notes]
    elif isinstance(source, pd.Series):
        (items,) = canonical(source.index.to_series(), missing_values=(), names=True).columns
        rows = pd.DataFrame({"item": items, "value": source.to_numpy(), "labelled": True})
        table = RunTable(rows, None if source.name is None else str(source.name))
    elif isinstance(source, pd.DataFrame):
        table = from_frame(source, value, name or default or UNNAMED, opened.reading.get("missing_values"))
        table.notes[:0] = taken
        table.notes.extend(cells[c] for c in ("correct", "score", value) if c in cells)
    else:
        kinds = "a Run, Trajectories, DebateLog, DataFrame, Series, array or a path"
        raise TypeError(f"a run must be {kinds}; got {type(source).__name__}")
    called = next(n for n in (name, default, table.name, UNNAMED) if n is not None)
    doubts = _doubts(table.rows, missing) if isinstance(source, (pd.DataFrame, pd.Series)) else []
    return _reduced(table.rows, called, missing, [*doubts, *table.notes], table.told)


def as_runs(
    sources: Sequence[Any],
    round_numbers: Sequence[int | None] | None = None,
    **reading: Any,
) -> list[Run]:
    """Return several runs, as :func:`as_run` does each, with one choice of columns and a round for each.

    A chosen column that a table lacks is looked for there under its usual names; it is refused when all lack it.

    Parameters
    ----------
    sources : sequence
        Runs, as :func:`as_run` reads them.
    round_numbers : sequence of int or None, optional
        The round of each log that is taken; by default each debate's last.
    **reading
        Settings of :func:`as_run`, ``columns`` among them.

    Returns
    -------
    list of Run
        In the order of `sources`.

    Examples
    --------
    >>> [run.value.tolist() for run in as_runs([[1, 0, 1], [0.5, 0.25, 1.0]])]
    [[1.0, 0.0, 1.0], [0.5, 0.25, 1.0]]
    """
    rounds = [None] * len(sources) if round_numbers is None else round_numbers
    how: Any = {name: reading.pop(name) for name in get_type_hints(Reading) if name in reading}
    return [
        as_run(source if isinstance(source, Run) else opened, round_number=round_number, **reading)
        for source, opened, round_number in zip(sources, open_all(sources, **how), rounds, strict=True)
    ]


def _doubts(rows: pd.DataFrame, missing: Missing) -> list[str]:
    """Warn of values that can hardly be meant: all wrong, or many missing."""
    values = pd.to_numeric(rows["value"], errors="coerce").to_numpy(dtype=np.float64)
    values = values[rows["labelled"].to_numpy()]
    n, known = len(values), values[~np.isnan(values)]
    absent = n - len(known)
    doubts: list[str] = []
    if len(known) >= 8 and not known.any():
        text = f"every one of {len(known)} values is 0; check that the column marks right answers with 1"
        doubts.append(warning(text, "all wrong", n=len(known)))
    if missing == "exclude" and n >= 8 and absent > MUCH_MISSING * n:
        text = f"{absent} of {n} values are missing; the others may not be representative"
        doubts.append(warning(text, MISSING_VALUES, n=absent))
    return doubts


def _again(run: Run, name: str | None, missing: Missing) -> Run:
    if missing == "wrong" and np.isnan(run.value).any():
        if run.repeats.max(initial=0) > 1:
            where = "where items were run several times"
            raise ValueError(f"missing must be given to as_run {where}; got a finished {run!r}")
        labelled = ~np.isin(run.items, run.unlabelled)
        empty = np.isnan(run.value) & labelled
        notes = (*run.notes, *missing_as_wrong(int(empty.sum()), int(labelled.sum()), "values"))
        value, repeats = np.where(empty, 0.0, run.value), np.where(empty, 1, run.repeats)
        run = replace(run, value=value, repeats=repeats, notes=notes)
    return run if name is None else replace(run, name=name)


def _reduced(
    table: pd.DataFrame, name: str, missing: Missing, notes: Sequence[str], told: Told | None = None
) -> Run:
    """Turn a row per try into a value per item; without `told`, the items tell their own labels."""
    if table.empty:
        raise ValueError(f"a run must have items; got none in {name!r}")
    if table["item"].isna().any():
        row = int(np.argmax(table["item"].isna().to_numpy()))
        raise ValueError(f"item must be named; got a missing name {place_of(table, row)} of {name!r}")
    labelled = table["labelled"].to_numpy(dtype=bool)
    given = _floats(table, name)
    values = _filled(given, labelled, missing, name)
    n_filled = int((np.isnan(given) & ~np.isnan(values)).sum())
    filled = missing_as_wrong(n_filled, int(labelled.sum()), "values")
    codes, names = pd.factorize(table["item"].astype(str))
    known = ~np.isnan(values)
    repeats = np.bincount(codes[known], minlength=len(names))
    total = np.bincount(codes[known], weights=values[known], minlength=len(names))
    mean = np.full(len(names), np.nan)
    np.divide(total, repeats, out=mean, where=repeats > 0)
    some = mean[repeats > 0]
    without = np.bincount(codes[~labelled], minlength=len(names)) == np.bincount(codes)
    unlabelled = tuple(map(str, names[without]))
    cluster, blank = _clusters(table, codes, names, name)
    label, items = _labels(table, codes, names, name), tuple(map(str, names))
    if told is None and label:
        told = Told(name, items, items, label)
    return Run(
        name=name,
        items=items,
        value=mean,
        cluster=cluster,
        repeats=repeats.astype(np.int64),
        binary=bool(len(some) and np.isin(some, (0.0, 1.0)).all()),
        notes=(*notes, *_said(labelled, unlabelled, repeats), *filled, *blank),
        unlabelled=unlabelled,
        label=label,
        told=told,
    )


def _floats(table: pd.DataFrame, name: str) -> Floats:
    column = table["value"]
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        read = pd.to_numeric(column, errors="coerce").isna().to_numpy()
        row = int(np.argmax(read & column.notna().to_numpy()))
        got = (
            f"{column.iloc[row]!r} {place_of(table, row)}, item {str(table['item'].iloc[row])!r} of {name!r}"
        )
        raise TypeError(f"values of a run must be numbers; got {got}") from None
    if np.isinf(values).any():
        got = f"an infinite one {place_of(table, int(np.isinf(values).argmax()))} of {name!r}"
        raise ValueError(f"values must be finite or missing; got {got}")
    return values


def _filled(values: Floats, labelled: NDArray[Any], missing: Missing, name: str) -> Floats:
    empty = np.isnan(values) & labelled
    if missing == "exclude" or not empty.any():
        return values
    there = values[~np.isnan(values)]
    if not np.isin(there, (0.0, 1.0)).all():
        # 0 would be a guessed score.
        got = f"'wrong' with values from {there.min():g} to {there.max():g} in {name!r}"
        raise ValueError(f"missing must be 'exclude' where values are not right or wrong; got {got}")
    return np.where(empty, 0.0, values)


def _said(labelled: NDArray[Any], unlabelled: tuple[str, ...], repeats: NDArray[Any]) -> tuple[str, ...]:
    notes = []
    if not labelled.all():
        tries = f"{int((~labelled).sum())} of {len(labelled)} tries have no label"
        notes.append(f"{tries}; {len(unlabelled)} of {len(repeats)} items have none at all")
    if repeats.max(initial=0) > 1:
        notes.append(f"items run several times ({int(repeats.max())} at most) count with their mean")
    return tuple(notes)


def _labels(table: pd.DataFrame, codes: NDArray[Any], names: Any, name: str) -> tuple[str | None, ...]:
    """Return each item's right answer, None where unknown; empty where values came as such."""
    if "label" not in table:
        return ()
    stated = table["label"].to_numpy(dtype=object)
    found, row = _first_stated(stated, codes, len(names))
    if row is not None:
        one, other, item = found[codes[row]], stated[row], str(names[codes[row]])
        raise ValueError(f"an item must have one label; got {one!r} and {other!r} on {item!r} in {name!r}")
    return tuple(found)


def _first_stated(
    stated: NDArray[np.object_], codes: NDArray[Any], n_items: int
) -> tuple[NDArray[np.object_], int | None]:
    """Return what is first stated of each item, None where nothing is, and the first row that states another thing."""
    rows = np.flatnonzero(stated != None)  # noqa: E711
    first = np.full(n_items, None, dtype=object)
    first[codes[rows[::-1]]] = stated[rows[::-1]]
    different = rows[stated[rows] != first[codes[rows]]]
    return first, int(different[0]) if len(different) else None


def _clusters(
    table: pd.DataFrame, codes: NDArray[Any], names: Any, name: str
) -> tuple[tuple[str, ...], list[str]]:
    """Return each item's cluster, and a note when some have none; where none is stated, the item itself."""
    items = np.asarray(names, dtype=object)
    if "cluster" not in table:
        return tuple(map(str, items)), []
    blank = table["cluster"].isna().to_numpy()
    owner = np.where(blank, items[codes], table["cluster"].astype(str).to_numpy(dtype=object))
    found, row = _first_stated(owner, codes, len(items))
    if row is not None:
        item, one, other = items[codes[row]], found[codes[row]], owner[row]
        raise ValueError(f"an item must be in one cluster; got {item!r} in {one!r} and {other!r} in {name!r}")
    alone = len(np.unique(codes[blank]))
    return tuple(map(str, found)), [blank_clusters(alone)] if 0 < alone < len(items) else []
