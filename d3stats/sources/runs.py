"""Evaluation runs, one value per item, read from logs, ``Trajectories``, tidy tables, Series and arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import Any, Unpack, get_type_hints

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats._check import LARGEST, shown
from d3stats._words import counted, verb
from d3stats.inputs.items import ItemIs
from d3stats.inputs.labels import ItemStrata, NoSuchStrata, StrataOf
from d3stats.inputs.lines import place_of
from d3stats.inputs.questions import Questions
from d3stats.inputs.runs import Run
from d3stats.note import Note
from d3stats.sources.item_tables import blank_clusters
from d3stats.sources.opened import Opened, Reading, open, open_all
from d3stats.sources.run_tables import (
    NO_ROUNDS,
    ONE_COLUMN,
    UNNAMED,
    RunOf,
    RunTable,
    missing_as_wrong,
    run_table,
)
from d3stats.sources.strata import item_strata
from d3stats.trajectories import Missing

__all__ = ["RunOf", "as_run", "as_runs", "runs_of"]


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
    of = RunOf(value, by, missing)
    _refuse_by([source], of)
    return _run_of(open(source, **reading), of, name, round_number)


def _refuse_by(given: Sequence[Any], of: RunOf) -> None:
    """Refuse another choice of items for runs that all were read already."""
    if of.by != "question" and all(isinstance(one, Run) for one in given):
        raise ValueError(f"by must be left out for runs, whose items are chosen by as_run; got by={of.by!r}")


def _run_of(opened: Opened, of: RunOf, name: str | None, round_number: int | None) -> Run:
    """Return the run that an opened source holds, see :func:`as_run`."""
    given, stem = opened.value, opened.stem
    if isinstance(given, Run):
        if round_number is not None:
            raise ValueError(NO_ROUNDS.format(round_number))
        if of.value is not None:
            raise ValueError(ONE_COLUMN.format(of.value))
        return _again(given, name, of.missing)
    table = run_table(opened, of, round_number, name or stem)
    called = next(n for n in (name, stem, table.name, UNNAMED) if n is not None)
    return _reduced(table, called, of.missing)


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
        as_run(opened, round_number=round_number, **reading)
        for opened, round_number in zip(open_all(sources, **how), rounds, strict=True)
    ]


def runs_of(
    sources: Sequence[Opened],
    of: RunOf,
    *,
    names: Sequence[str] | None = None,
    round_number: int | Sequence[int | None] | None = None,
    strata: StrataOf = None,
) -> list[Run]:
    """Return the runs that opened sources hold, under different names and with their strata where these are asked for.

    `round_number` is one for all or one per run.
    """
    rounds = _rounds(round_number, len(sources))
    _refuse_by([one.value for one in sources], of)
    kinds = [None if strata is None else _strata_of(one, strata, of) for one in sources]
    runs = []
    for one, kind, number in zip(sources, kinds, rounds, strict=True):
        column = strata if kind is not None and not kind.absent else None
        runs.append(replace(_run_of(one.aside(column), of, None, number), strata=kind))
    # A file is called what it is called, also "run".
    return _with_names(runs, names, [one.stem is not None for one in sources])


def _strata_of(opened: Opened, strata: StrataOf, of: RunOf) -> ItemStrata:
    """Return the strata of a run, or why it has none: other runs may have the column."""
    try:
        return item_strata(opened, strata, of.fields)
    except NoSuchStrata as error:
        return ItemStrata(str(strata), {}, absent=str(error))


def _rounds(given: int | Sequence[int | None] | None, n: int) -> list[int | None]:
    if given is None or isinstance(given, int):
        return [given] * n
    rounds = list(given)
    if len(rounds) != n:
        raise ValueError(f"round_number must be one round, or one per run ({n}); got {len(rounds)}")
    return rounds


def _with_names(runs: list[Run], names: Sequence[str] | None, files: Sequence[bool]) -> list[Run]:
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


def _reduced(read: RunTable, name: str, missing: Missing) -> Run:
    """Turn a row per try into a value per item; without questions, the items tell their own labels."""
    table, questions = read.rows, read.questions
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
    if questions is None and label:
        questions = Questions(name, items, items, label)
    return Run(
        name=name,
        items=items,
        value=mean,
        cluster=cluster,
        repeats=repeats.astype(np.int64),
        binary=bool(len(some) and np.isin(some, (0.0, 1.0)).all()),
        notes=(*read.notes, *_said(labelled, unlabelled, repeats, read.copies), *filled, *blank),
        unlabelled=unlabelled,
        label=label,
        questions=questions,
    )


def _floats(table: pd.DataFrame, name: str) -> Floats:
    column = table["value"]
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if (np.isnan(values) & column.notna().to_numpy()).any():
            raise ValueError("nan")  # a text that no word for missing is
    except (TypeError, ValueError):
        read = pd.to_numeric(column, errors="coerce").isna().to_numpy()
        row = int(np.argmax(read & column.notna().to_numpy()))
        item = shown(str(table["item"].iloc[row]))
        got = f"{shown(column.iloc[row])} {place_of(table, row)}, item {item} of {name!r}"
        raise TypeError(f"values of a run must be numbers; got {got}") from None
    if np.isinf(values).any():
        got = f"an infinite one {place_of(table, int(np.isinf(values).argmax()))} of {name!r}"
        raise ValueError(f"values must be finite or missing; got {got}")
    if (huge := np.abs(values) > LARGEST).any():
        row = int(huge.argmax())
        got = f"{values[row]:g} {place_of(table, row)} of {name!r}; correct it, or leave the cell empty"
        raise ValueError(f"values must be at most {LARGEST:g} in size; got {got}")
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


def _said(
    labelled: NDArray[Any], unlabelled: tuple[str, ...], repeats: NDArray[Any], copies: int
) -> tuple[str, ...]:
    notes = []
    if not labelled.all():
        tries = f"{int((~labelled).sum())} of {len(labelled)} tries have no label"
        notes.append(f"{tries}; {len(unlabelled)} of {len(repeats)} items have none at all")
    if repeats.max(initial=0) > 1:
        alike = (
            f"; {counted(copies, 'row')} {verb(copies, 'is', 'are')} equal to an earlier one in every column"
        )
        text = f"items run several times ({int(repeats.max())} at most) count with their mean{alike if copies else ''}"
        notes.append(Note(text, kind="repeats", n=copies))
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
