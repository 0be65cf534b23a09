"""Runs of an evaluation, one value per item and the items' clusters, and their pairing by item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats._words import Advised, counted
from d3stats.estimate import named_notes
from d3stats.inputs.items import Shared, mostly_left_out, shared
from d3stats.inputs.labels import ItemStrata
from d3stats.inputs.questions import Contradiction, Questions, contradictions, refuse, renamed, warned
from d3stats.note import Note, warning

__all__ = ["PairedRuns", "Run", "pair"]


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
    questions : Questions or None
        What the source says of its questions, to be held against other runs; None where values came as such.
    strata : ItemStrata or None
        The strata of its items, where they were asked for.

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
    questions: Questions | None = field(default=None)
    strata: ItemStrata | None = field(default=None)

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
        Items of each run that the others lack.
    unscored : dict of str to tuple of str
        Items that each run could not score, for want of a label or of a value.
    notes : tuple of str
        What was done to the runs.
    repeated : bool
        Whether some value is a mean over several tries at its item.
    strata : tuple of ItemStrata
        The strata of the items as each run has them, where they were asked for.

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
    strata: tuple[ItemStrata, ...] = ()

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


def pair(runs: Sequence[Run]) -> PairedRuns:
    """Return the values of several runs, matched by item.

    Items that not all runs have are left out, and a warning counts and names them. A run that states no clusters takes
    those of the runs that do, and a note says so.

    Parameters
    ----------
    runs : sequence of Run
        At least two, with different names.

    Returns
    -------
    PairedRuns

    Raises
    ------
    ItemMismatch
        When runs share less than half of the items of the smallest.
    ValueError
        When no item is scored by all, or an item has different clusters or labels in different runs. Also
        when runs are matched by debate, and a debate is about different questions.

    Examples
    --------
    >>> from d3stats.inference import as_run
    >>> a = as_run(pd.Series({"q1": 1, "q2": 0, "q3": 1}, name="A"))
    >>> b = as_run(pd.Series({"q1": 1, "q2": 1}, name="B"))
    >>> pair([a, b]).left_out["A"]
    ('q3',)
    """
    if len(runs) < 2:
        raise ValueError(f"runs must be at least two; got {len(runs)}")
    names = tuple(run.name for run in runs)
    if len(set(names)) < len(names):
        step = "pass names= (--name)"
        raise ValueError(Advised("runs must have different names", step, got=str(list(names))))
    both = shared({run.name: run.items for run in runs})
    both.refuse_few("item", "run", "call an item the same in all runs (--columns item=NAME names its column)")
    common = list(both.common)
    places = [pd.Index(run.items).get_indexer(pd.Index(common)) for run in runs]
    apart = _contradictions(runs)
    table = np.vstack([run.value[at] for run, at in zip(runs, places, strict=True)])
    repeats = np.vstack([run.repeats[at] for run, at in zip(runs, places, strict=True)])
    cluster, cluster_note = _common_clusters(runs, places, common)
    scored, rows = ~np.isnan(table).any(axis=0), zip(names, table, strict=True)
    unscored = {name: tuple(common[k] for k in np.flatnonzero(np.isnan(row))) for name, row in rows}
    if not scored.any():
        counts = ", ".join(f"{len(v)} of {len(common)} not by {k}" for k, v in unscored.items() if v)
        step = "d3stats doctor LOG shows what is missing"
        raise ValueError(
            Advised("runs must have items that all of them scored", step, got=f"none ({counts})")
        )
    codes, cluster_names = pd.factorize(cluster[scored])
    values = table[:, scored]
    # Which items have no label is said with those that are left out.
    notes = warned(apart, besides=("labels absent",))
    notes += named_notes([(run.name, run.notes) for run in runs], "runs")
    notes += [cluster_note] if cluster_note else []
    notes += _two_scales(names, values)
    return PairedRuns(
        names=names,
        items=tuple(np.asarray(common, dtype=object)[scored]),
        values=values,
        cluster=codes.astype(np.int64),
        cluster_names=tuple(map(str, cluster_names)),
        binary=bool(((values == 0) | (values == 1)).all()),
        left_out=both.only,
        unscored=unscored,
        notes=(*dict.fromkeys(notes), *_losses(both, unscored, int(scored.sum()))),
        repeated=bool((repeats[:, scored] > 1).any()),
        strata=tuple(run.strata for run in runs if run.strata is not None),
    )


def _contradictions(runs: Sequence[Run]) -> tuple[Contradiction, ...]:
    """Return what runs say otherwise of the same questions; refuse other right answers, and debates of other questions.

    Runs that are matched by question may call their debates alike: that is no more than a warning.
    """
    stated = [(run, run.questions) for run in runs if run.questions is not None]
    logs = renamed([each for _, each in stated], [run.name for run, _ in stated])
    tables = any(run.label and not each.agents for run, each in stated)
    found = contradictions(logs, **({"what": "run", "unit": "item"} if tables else {}))
    refuse(
        found,
        ["labels"],
        advice="If labels may differ (answers in another order), give the column 'correct' instead of 'vote' and "
        "'label'.",
    )
    if all(set(run.items) <= set(each.debate) for run, each in stated):
        refuse(found, ["questions"])
    return found


_MANY_UNSCORED = 0.1
"""From this share of items on, those that only some runs have scored may change the difference."""


def _losses(both: Shared, unscored: dict[str, tuple[str, ...]], n_kept: int) -> list[str]:
    notes = both.notes("item", "run") if both.left_out else []
    if n_kept < (n_common := len(both.common)):
        counts = ", ".join(f"{len(v)} by {k}" for k, v in unscored.items() if v)
        many = n_common - n_kept
        # What no run has scored, such as an item without a label, favours none.
        apart = many - len(set.intersection(*map(set, unscored.values())))
        notes.append(
            Note(
                f"{many} of {n_common} items left out as not scored: {counts}",
                kind="not scored",
                severity="warning" if apart >= _MANY_UNSCORED * n_common else "note",
                n=many,
            )
        )
    return [*notes, *mostly_left_out(n_kept, both.total, "item")]


_ENOUGH_FOR_A_SCALE = 20
"""Of so many items, values between 0 and 1 beside values that are mostly above 1 have another scale."""


def _two_scales(names: Sequence[str], values: Floats) -> list[str]:
    """Say that one run is right or wrong, or has shares, and another has numbers that are mostly no shares."""
    binary = np.isin(values, (0.0, 1.0)).all(axis=1)
    beyond = ((values < 0) | (values > 1)).any(axis=1)
    if not (binary.any() and beyond.any()):
        binary = ((values >= 0) & (values <= 1)).all(axis=1)
        beyond = (values >= 0).all(axis=1) & ((values > 1).mean(axis=1) > 0.5)
        if not (binary.any() and beyond.any()) or values.shape[1] < _ENOUGH_FOR_A_SCALE:
            return []
    at, first = int(beyond.argmax()), int(binary.argmax())
    one, other, low, high = names[first], names[at], values[at].min(), values[at].max()
    own = "0 or 1" if np.isin(values[first], (0.0, 1.0)).all() else "between 0 and 1"
    text = (
        f"values of {one} are {own}, those of {other} go from {low:g} to {high:g}; their difference means nothing "
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
