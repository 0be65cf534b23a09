"""Which stratum (category, task, difficulty) an item has, read from any source that items are read from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import pandas as pd

from d3stats._check import meant
from d3stats.inputs.labels import ItemStrata, NoSuchStrata, StrataOf
from d3stats.log.column_names import TABLE_COLUMNS, MissingColumn, plain
from d3stats.log.problems import LogError, Problem
from d3stats.note import Note
from d3stats.sources.item_tables import Fields
from d3stats.sources.opened import Opened, Reading, open
from d3stats.values import canonical, name_text

__all__ = [
    "item_strata",
    "kinds_of_debates",
]


_OF_LOG = ("category", "protocol", "log")
"""Fields of a debate that can be strata in every log."""
_TAKEN = frozenset(TABLE_COLUMNS) - {"category", "protocol", "log", "persona", "model", "role"} | {
    "item",
    "rater",
    "judge",
}
"""Fields that a reader needs for something else."""

_OF_TURNS = ("model", "persona", "temperature")
"""Fields of a turn that say what kind of debate it is of."""


def kinds_of_debates(source: Opened) -> tuple[str, ...]:
    """Return the columns of a source that say of what kind its debates are, in the order of the log's fields.

    A column that is empty everywhere is none. Arrays of votes have no columns.
    """
    if not source.has_records:
        return ()
    log = source.log(parsed=False)
    found = [(log.items, name) for name in _OF_LOG] + [(log.turns, name) for name in _OF_TURNS]
    return tuple(name for frame, name in found if name in frame and frame[name].notna().any())


def item_strata(
    source: Any,
    strata: StrataOf,
    fields: Fields | None = None,
    **reading: Unpack[Reading],
) -> ItemStrata:
    """Read the stratum of every item.

    Analyse ``open(source).aside(strata)``, in which the column is the debates' category and nothing else.

    Parameters
    ----------
    source : what :func:`d3stats.open` takes
        A log, or a table of items that `fields` tells from a log.
    strata : str, mapping or Series
        The name of a column: of a table, any; of a log of records ``category``, ``protocol`` or ``log``. Or the stratum
        of each item by its name, and then `source` is not looked at.
    fields : Fields, optional
        Columns of a table of items; without them the source is a log.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Raises
    ------
    ValueError
        When there is no such column, or it is read as something else.

    Examples
    --------
    >>> table = pd.DataFrame({"item": ["q1", "q2"], "correct": [1, 0], "task": ["math", None]})
    >>> found = item_strata(table, "task", Fields(("item",), ("item",)))
    >>> found.column, found.labels(["q1", "q2"]).names
    ('task', ('math',))
    """
    if isinstance(strata, ItemStrata):
        return strata
    missing_values = reading.get("missing_values")
    if isinstance(strata, pd.Series):
        return _given(
            dict(zip(strata.index, strata, strict=True)), str(strata.name or "stratum"), missing_values
        )
    if isinstance(strata, Mapping):
        return _given(strata, "stratum", missing_values)
    if not isinstance(strata, str):
        raise TypeError(
            f"strata must be the name of a column, or a mapping of item to stratum; got {strata!r}"
        )
    opened = open(source, **reading)
    if fields is not None and not opened.is_log(fields):
        read = opened.items(fields)
        return _of_table(read.frame, strata, opened.reading.get("missing_values"), read.notes)
    if opened.has_records:
        return _of_log(opened, strata)
    raise NoSuchStrata(
        "strata must be a mapping of item to stratum where the source has no columns of items; got "
        f"{strata!r} for {opened.name}; or give the log's path"
    )


def _given(strata: Mapping[Any, Any], column: str, missing_values: Iterable[str] | None) -> ItemStrata:
    if not strata:
        raise ValueError("strata must give the stratum of some item; got none")
    return _gathered({"item": list(strata)}, list(strata.values()), column, missing_values)


def _gathered(
    names: Mapping[str, Sequence[Any]],
    values: Sequence[Any],
    column: str,
    missing_values: Iterable[str] | None,
) -> ItemStrata:
    """Put strata together by name; `names` calls the same rows by level."""
    texts = canonical(
        pd.Series(list(values), dtype=object), missing_values=missing_values, names=True
    ).columns[0]
    levels: dict[str, dict[str, frozenset[str]]] = {}
    for level, each in names.items():
        of: dict[str, set[str]] = {}
        for name, text in zip(each, texts, strict=True):
            if (key := name_text(name)) is not None:
                of.setdefault(key, set()).update([] if text is None else [str(text)])
        levels[level] = {key: frozenset(found) for key, found in of.items()}
    return ItemStrata(column, levels)


def _of_table(
    frame: pd.DataFrame, strata: str, missing_values: Iterable[str] | None, notes: Sequence[str]
) -> ItemStrata:
    taken = [note for note in notes if isinstance(note, Note) and strata in note.examples]
    column = _column(strata, [str(name) for name in frame.columns], taken)
    if column in ("item", "vote", "correct", "score", "rater"):
        raise ValueError(
            f"strata must be a column that says the kind of an item; got {strata!r}, read as {column}"
        )
    position = [str(name) for name in frame.columns].index(column)
    named = "item" in frame.columns
    items = frame["item"] if named else frame.index
    names = {"item": list(items)}
    if of_questions := _names_categories(strata) and "question" in frame.columns:
        names["question"] = list(frame["question"])
    found = _gathered(names, list(frame.iloc[:, position]), strata, missing_values)
    return replace(found, of_questions=of_questions)


def _names_categories(strata: str) -> bool:
    return plain(strata) == "category"


def _column(strata: str, names: Sequence[str], taken: Sequence[str] = ()) -> str:
    """Return the column that is meant, in any case."""
    if strata in names:
        return strata
    alike = [name for name in names if plain(name) == plain(strata)]
    if len(alike) == 1:
        return alike[0]
    more = f" ({taken[0]}; choose another with columns=, --columns)" if taken else meant(strata, names)
    raise NoSuchStrata(
        f"strata must be a column of the table ({', '.join(names[:20])}); got {strata!r}{more}"
    )


def _refuse_problems(problems: Iterable[Problem], strata: str) -> None:
    """Refuse a debate whose rows contradict each other; other defects are for whoever reads the votes."""
    wrong = next((problem for problem in problems if problem.field == "category"), None)
    if wrong is not None:
        raise ValueError(f"{strata} must be one per debate; {wrong}")


def _of_log(opened: Opened, strata: str) -> ItemStrata:
    """Return strata by debate, question and cluster; a column of a table is read as the debates' category."""
    if plain(strata) in {plain(name) for name in _TAKEN}:
        raise ValueError(
            f"strata must be a column that says the kind of a question; got {strata!r}, read as such"
        )
    field = _field_of_log(opened, strata)
    try:
        log = opened.aside(strata).log()
    except MissingColumn as error:
        if error.field != "category":
            raise
        raise NoSuchStrata(str(error)) from None
    except LogError as error:
        _refuse_problems([error.problem], strata)
        raise
    _refuse_problems(log.problems, strata)
    items = log.items
    cluster = items["cluster"].where(items["cluster"].notna(), items["question"])
    names = {name: items[name].tolist() for name in ("debate", "question")} | {"cluster": cluster.tolist()}
    return replace(
        _gathered(names, items[field].tolist(), strata, ()), of_questions=_names_categories(strata)
    )


def _field_of_log(opened: Opened, strata: str) -> str:
    if plain(strata) == "log":
        return "log"
    if opened.kind == "table":
        return "category"
    if plain(strata) not in map(plain, _OF_LOG):
        raise NoSuchStrata(
            f"strata must be one of {', '.join(_OF_LOG)} in a log of records; got {strata!r}{meant(strata, _OF_LOG)}; "
            "a mapping of question to stratum is possible too"
        )
    return plain(strata)
