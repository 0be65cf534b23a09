"""Runs side by side, item by item, or a refusal that says which items do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import choice
from d3stats._words import counted
from d3stats.inference.comparing.run_types import ItemMismatch, PairedRuns, Run

__all__ = ["Items", "pair"]

Items = Literal["same", "intersection"]
_SHOWN = 5


def pair(runs: Sequence[Run], *, items: Items = "same") -> PairedRuns:
    """Put runs side by side, item by item.

    A run that states no clusters takes those of the runs that do, and a note says so.

    Parameters
    ----------
    runs : sequence of Run
        At least two, with different names.
    items : {"same", "intersection"}
        "same" refuses runs over different items; "intersection" keeps the items that all have, and the result
        says which were left out.

    Raises
    ------
    ItemMismatch
        When runs have different items and `items` is "same".
    ValueError
        When fewer than two runs are given, two have one name, no item is common or scored by all, or an item is
        in different clusters, or has different labels, in different runs.

    Examples
    --------
    >>> from d3stats.inference.runs import as_run
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
        raise ValueError(f"runs must have different names (pass names=); got {list(names)}")
    shared = set(runs[0].items).intersection(*(run.items for run in runs[1:]))
    only = {run.name: tuple(i for i in run.items if i not in shared) for run in runs}
    if any(only.values()) and items == "same":
        raise ItemMismatch(_mismatch(only, len(shared)), only)
    common = [i for i in runs[0].items if i in shared]
    if not common:
        raise ValueError(f"runs must have items in common; got none among {[len(r) for r in runs]} items")
    places = [pd.Index(run.items).get_indexer(pd.Index(common)) for run in runs]
    _one_label(runs, places, common)
    table = np.vstack([run.value[at] for run, at in zip(runs, places, strict=True)])
    repeats = np.vstack([run.repeats[at] for run, at in zip(runs, places, strict=True)])
    cluster, cluster_note = _common_clusters(runs, places, common)
    scored = ~np.isnan(table).any(axis=0)
    unscored = {
        name: tuple(common[k] for k in np.flatnonzero(np.isnan(row)))
        for name, row in zip(names, table, strict=True)
    }
    if not scored.any():
        counts = ", ".join(f"{len(v)} of {len(common)} not by {k}" for k, v in unscored.items() if v)
        raise ValueError(f"runs must have items that all of them scored; got none ({counts})")
    codes, cluster_names = pd.factorize(cluster[scored])
    values = table[:, scored]
    notes = [f"{run.name}: {note}" for run in runs for note in run.notes]
    notes += [cluster_note] if cluster_note else []
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


def _one_label(runs: Sequence[Run], places: Sequence[NDArray[np.intp]], common: Sequence[str]) -> None:
    """Refuse runs whose right answers to an item differ: they are marked by different keys."""
    marked = [
        (run, np.array(run.label, dtype=object)[at])
        for run, at in zip(runs, places, strict=True)
        if run.label
    ]
    for k, (run, label) in enumerate(marked):
        for other, second in marked[:k]:
            different = [i for i, (x, y) in enumerate(zip(second, label, strict=True)) if x and y and x != y]
            if different:
                at = different[0]
                named = ", ".join(repr(common[i]) for i in different[:_SHOWN])
                more = f" and {len(different) - _SHOWN} more" if len(different) > _SHOWN else ""
                raise ValueError(
                    f"runs must have the same label on an item; got {second[at]!r} ({other.name}) and {label[at]!r} "
                    f"({run.name}) on {common[at]!r}; labels differ on {len(different)} of {len(common)} items "
                    f"({named}{more}). Where they may (answers in another order), give 'correct' for 'vote' and "
                    "'label'."
                )


def _losses(
    only: dict[str, tuple[str, ...]], unscored: dict[str, tuple[str, ...]], n_common: int, n_kept: int
) -> list[str]:
    notes = []
    if any(only.values()):
        counts = ", ".join(f"{len(v)} of {k}" for k, v in only.items() if v)
        notes.append(f"items that not all runs have were left out: {counts}")
    if n_kept < n_common:
        counts = ", ".join(f"{len(v)} by {k}" for k, v in unscored.items() if v)
        notes.append(f"{n_common - n_kept} of {n_common} items left out as not scored: {counts}")
    total = n_common + len({item for items in only.values() for item in items})
    if 2 * n_kept < total:
        notes.append(
            f"WARNING: more than half of the items are left out ({total - n_kept} of {total}); what follows "
            f"speaks for the other {n_kept} alone, and these may be the easy ones"
        )
    return notes


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
            raise ValueError(
                f"an item must be in one cluster in all runs; got {common[at]!r} in {owner[source][at]!r} "
                f"({runs[source].name}) and {owner[k][at]!r} ({runs[k].name})"
            )
    silent = [run.name for k, run in enumerate(runs) if stating and k not in stating]
    note = f"clusters are those of {runs[source].name}; none stated by {', '.join(silent)}" if silent else ""
    return owner[source], note


def _mismatch(only: dict[str, tuple[str, ...]], n_shared: int) -> str:
    parts = []
    for name, items in only.items():
        if items:
            more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
            parts.append(f"{len(items)} only in {name} ({', '.join(map(repr, items[:_SHOWN]))}{more})")
    mended = (
        f'To compare on the {counted(n_shared, "common item")}, ask for it: items="intersection".'
        if n_shared
        else "They have no item in common."
    )
    return f"runs must have the same items; got {'; '.join(parts)}. {mended}"
