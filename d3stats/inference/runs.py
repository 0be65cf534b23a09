"""An evaluation run as inference reads it: one value per item, and which items hang together.

Runs come from logs, from ``Trajectories`` or from tidy tables. Two runs are compared on the same items or not at
all: items that only one run has are named, and leaving them out has to be asked for.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import choice
from d3stats.trajectories import MISSING, Missing, Trajectories

__all__ = ["ItemMismatch", "PairedRuns", "Run", "as_run", "pair"]

Floats = NDArray[np.float64]
Items = Literal["same", "intersection"]
_SHOWN = 5


class ItemMismatch(ValueError):
    """Runs do not have the same items; `only` says which are in some run alone (run name to item names)."""

    def __init__(self, message: str, only: dict[str, tuple[str, ...]]) -> None:
        super().__init__(message)
        self.only = only


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """One value per item of an evaluation.

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
    """

    name: str
    items: tuple[str, ...]
    value: Floats
    cluster: tuple[str, ...]
    repeats: NDArray[np.int64]
    binary: bool
    notes: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {len(self.items)} items in {len(set(self.cluster))} clusters)"

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, eq=False, repr=False)
class PairedRuns:
    """Several runs side by side on the same items, all of them scored.

    Attributes
    ----------
    names : tuple of str
        The runs.
    items : tuple of str
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
        Items that each run could not score.
    notes : tuple of str
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

    def __repr__(self) -> str:
        return f"PairedRuns({', '.join(self.names)}; {self.n_items} items in {self.n_clusters} clusters)"

    @property
    def n_items(self) -> int:
        """Number of items that all runs scored."""
        return len(self.items)

    @property
    def n_clusters(self) -> int:
        """Number of clusters that these items come from."""
        return len(self.cluster_names)


def as_run(
    source: Any,
    *,
    name: str | None = None,
    value: str | None = None,
    by: Literal["debate", "question"] = "question",
    round_number: int | None = None,
    missing: Missing = "exclude",
) -> Run:
    """Read a run from whatever holds one.

    Parameters
    ----------
    source : Run, Trajectories, DataFrame, Series, str or Path
        A path is a debate log. A log or ``Trajectories`` gives 1 where the plurality verdict is the label. A
        DataFrame has a column ``item`` and one of ``correct`` (0/1), ``score``, or the column that `value` names,
        or ``vote`` and ``label``; optionally ``cluster``. A Series has items as its index.
    name : str, optional
        What to call the run; by default the log's or the column's name.
    value : str, optional
        The DataFrame's column of values.
    by : {"question", "debate"}
        What an item is in a log: a question (several debates of it are averaged) or a single debate.
    round_number : int, optional
        The round whose verdict is taken; by default each debate's last.
    missing : {"exclude", "wrong"}
        Whether a value that could not be read is missing or counts 0.

    Raises
    ------
    ValueError
        When a column is absent, no item has a label, a value is infinite, or an item changes its cluster.
    TypeError
        When the source is of another kind.

    Examples
    --------
    >>> run = as_run(pd.DataFrame({"item": ["q1", "q2"], "correct": [1, 0]}), name="A")
    >>> run.value.tolist(), run.binary
    ([1.0, 0.0], True)
    """
    choice("missing", missing, ("exclude", "wrong"))
    choice("by", by, ("question", "debate"))
    if isinstance(source, Run):
        return source
    if isinstance(source, (str, Path)):
        name = Path(source).name if name is None else name
        source = Trajectories.from_log(source)
    if isinstance(source, Trajectories):
        table, default = _verdicts(source, by, round_number), "run"
    elif isinstance(source, pd.Series):
        table = pd.DataFrame({"item": source.index, "value": source.to_numpy()})
        default = "run" if source.name is None else str(source.name)
    elif isinstance(source, pd.DataFrame):
        table, default = _columns(source, value)
    else:
        kinds = "a Run, Trajectories, DataFrame, Series or a path"
        raise TypeError(f"a run must be {kinds}; got {type(source).__name__}")
    return _reduced(table, default if name is None else name, missing)


def pair(runs: Sequence[Run], *, items: Items = "same") -> PairedRuns:
    """Put runs side by side, item by item.

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
        in different clusters in different runs.

    Examples
    --------
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
        raise ValueError(f"runs must have different names (pass name=); got {list(names)}")
    shared = set(runs[0].items).intersection(*(run.items for run in runs[1:]))
    only = {run.name: tuple(i for i in run.items if i not in shared) for run in runs}
    if any(only.values()) and items == "same":
        raise ItemMismatch(_mismatch(only, len(shared)), only)
    common = [i for i in runs[0].items if i in shared]
    if not common:
        raise ValueError(f"runs must have items in common; got none among {[len(r) for r in runs]} items")
    values, clusters = [], []
    for run in runs:
        at = {item: k for k, item in enumerate(run.items)}
        order = [at[i] for i in common]
        values.append(run.value[order])
        clusters.append([run.cluster[k] for k in order])
    for other, run in zip(clusters[1:], runs[1:], strict=True):
        for item, mine, theirs in zip(common, clusters[0], other, strict=True):
            if mine != theirs:
                raise ValueError(
                    f"an item must be in one cluster in all runs; got {item!r} in {mine!r} ({names[0]}) "
                    f"and {theirs!r} ({run.name})"
                )
    table = np.vstack(values)
    scored = ~np.isnan(table).any(axis=0)
    unscored = {
        run.name: tuple(common[k] for k in np.flatnonzero(np.isnan(row)))
        for run, row in zip(runs, table, strict=True)
    }
    if not scored.any():
        raise ValueError("runs must have items that all of them scored; got none")
    codes, cluster_names = pd.factorize(np.asarray(clusters[0], dtype=object)[scored])
    notes = [note for run in runs for note in run.notes]
    if any(only.values()):
        counts = ", ".join(f"{len(v)} of {k}" for k, v in only.items() if v)
        notes.append(f"items that not all runs have were left out: {counts}")
    if not scored.all():
        counts = ", ".join(f"{len(v)} by {k}" for k, v in unscored.items() if v)
        notes.append(f"{int((~scored).sum())} of {len(common)} items left out as not scored: {counts}")
    return PairedRuns(
        names=names,
        items=tuple(np.asarray(common, dtype=object)[scored]),
        values=table[:, scored],
        cluster=codes.astype(np.int64),
        cluster_names=tuple(map(str, cluster_names)),
        binary=all(run.binary for run in runs),
        left_out=only,
        unscored=unscored,
        notes=tuple(dict.fromkeys(notes)),
    )


def _verdicts(t: Trajectories, by: str, round_number: int | None) -> pd.DataFrame:
    if round_number is not None and not 1 <= round_number <= t.n_rounds:
        raise ValueError(f"round_number must lie between 1 and {t.n_rounds}; got {round_number}")
    if t.n_debates == 0 or (t.label == MISSING).all():
        raise ValueError(f"a run needs labels to say which verdicts are right; got none in {t!r}")
    last = (
        np.maximum(t.depth, 1) if round_number is None else np.minimum(round_number, np.maximum(t.depth, 1))
    )
    verdict = t.verdicts()[np.arange(t.n_debates), last - 1]
    correct = np.where(verdict == MISSING, np.nan, (verdict == t.label).astype(float))
    known = t.label != MISSING
    cluster = np.asarray(t.cluster_names, dtype=object)[t.cluster]
    item = cluster if by == "question" else np.asarray(t.debates, dtype=object)
    table = pd.DataFrame({"item": item[known], "value": correct[known], "cluster": cluster[known]})
    table.attrs["unlabelled"] = int((~known).sum())
    return table


def _columns(source: pd.DataFrame, value: str | None) -> tuple[pd.DataFrame, str]:
    if "item" not in source.columns:
        raise ValueError(f"a table of a run must have a column 'item'; got {list(source.columns)}")
    named = (
        value if value is not None else next((c for c in ("correct", "score") if c in source.columns), None)
    )
    if named is None and {"vote", "label"} <= set(source.columns):
        values = (source["vote"].astype(object) == source["label"].astype(object)).astype(float)
        values = values.where(source["vote"].notna())
        known = source["label"].notna()
        table = source[["item"]].assign(value=values).loc[known]
        table.attrs["unlabelled"] = int((~known).sum())
        source, named = source[known], "vote"
    elif named is None or named not in source.columns:
        wanted = "'correct', 'score', or 'vote' and 'label'" if named is None else repr(named)
        raise ValueError(f"a table of a run must have the column {wanted}; got {list(source.columns)}")
    else:
        table = source[["item"]].assign(value=source[named])
        if named == "correct":
            wrong = table["value"].notna() & ~table["value"].isin([0, 1])
            if wrong.any():
                row = int(np.argmax(wrong.to_numpy()))
                raise ValueError(
                    f"correct must be 0, 1 or missing; got {table['value'].iloc[row]!r} at row {row}"
                )
    if "cluster" in source.columns:
        table["cluster"] = source["cluster"]
    return table, "run" if named in ("correct", "score", "vote") else str(named)


def _reduced(table: pd.DataFrame, name: str, missing: Missing) -> Run:
    if table.empty:
        raise ValueError(f"a run must have items; got none in {name!r}")
    if table["item"].isna().any():
        raise ValueError(
            f"item must be named; got a missing name at row {int(table['item'].isna().argmax())}"
        )
    try:
        values = table["value"].astype("float64").to_numpy()
    except (TypeError, ValueError):
        raise TypeError(
            f"values of a run must be numbers; got dtype {table['value'].dtype} in {name!r}"
        ) from None
    if np.isinf(values).any():
        raise ValueError(
            f"values must be finite or missing; got an infinite one at row {np.isinf(values).argmax()}"
        )
    notes = []
    if table.attrs.get("unlabelled"):
        notes.append(f"{name}: {table.attrs['unlabelled']} without a label were left out")
    if missing == "wrong":
        values = np.nan_to_num(values, nan=0.0)
    item, names = pd.factorize(table["item"].astype(str))
    cluster = table["cluster"].astype(object) if "cluster" in table else pd.Series([None] * len(table))
    owner = [str(c) if not _absent(c) else str(i) for c, i in zip(cluster, table["item"], strict=True)]
    first: dict[int, str] = {}
    for at, mine in zip(item.tolist(), owner, strict=True):
        if first.setdefault(at, mine) != mine:
            raise ValueError(
                f"an item must be in one cluster; got {str(names[at])!r} in {first[at]!r} and {mine!r}"
            )
    known = ~np.isnan(values)
    repeats = np.bincount(item[known], minlength=len(names))
    total = np.bincount(item[known], weights=values[known], minlength=len(names))
    mean = np.full(len(names), np.nan)
    np.divide(total, repeats, out=mean, where=repeats > 0)
    if repeats.max(initial=0) > 1:
        notes.append(f"{name}: items run several times ({int(repeats.max())} at most) count with their mean")
    some = mean[~np.isnan(mean)]
    return Run(
        name=name,
        items=tuple(map(str, names)),
        value=mean,
        cluster=tuple(first[k] for k in range(len(names))),
        repeats=repeats.astype(np.int64),
        binary=bool(len(some) and np.isin(some, (0.0, 1.0)).all()),
        notes=tuple(notes),
    )


def _absent(value: Hashable) -> bool:
    return value is None or bool(pd.isna(value))  # type: ignore[call-overload]


def _mismatch(only: dict[str, tuple[str, ...]], n_shared: int) -> str:
    parts = []
    for name, items in only.items():
        if items:
            more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
            parts.append(f"{len(items)} only in {name} ({', '.join(map(repr, items[:_SHOWN]))}{more})")
    return (
        f"runs must have the same items; got {'; '.join(parts)}. "
        f'To compare on the {n_shared} common items, ask for it: items="intersection".'
    )
