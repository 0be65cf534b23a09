"""Which stratum (category, task, difficulty) an item has, read from any source that items are read from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pandas as pd

from d3stats._check import meant
from d3stats._words import counted
from d3stats.inference.comparison.strata import Labels
from d3stats.inference.tables import Fields, is_table, read_table
from d3stats.log.column_names import TABLE_COLUMNS, Columns, MissingColumn, choice_of, plain
from d3stats.log.files import as_frame, as_path, find_files, is_frame
from d3stats.log.problems import LogError, Problem
from d3stats.values import canonical, name_text

if TYPE_CHECKING:
    from d3stats.log.reader import DebateLog

__all__ = [
    "ItemStrata",
    "Level",
    "NoSuchStrata",
    "StrataOf",
    "item_strata",
    "read_besides",
    "strata_of_runs",
    "strata_or_none",
    "without_strata",
]

StrataOf: TypeAlias = "str | Mapping[Any, Any] | pd.Series | ItemStrata | None"
"""The column that says an item's stratum, or the stratum of each item by its name."""

_OF_LOG = ("category", "protocol", "log")
"""Fields of a debate that can be strata in every log."""
_TAKEN = frozenset(TABLE_COLUMNS) - {"category", "protocol", "log", "persona", "model", "role"} | {
    "item",
    "rater",
    "judge",
}
"""Fields that a reader needs for something else."""
_UNREAD = "columns that were not read: "


Level = Literal["item", "debate", "question", "cluster"]
"""The kinds of things that have names."""


@dataclass(frozen=True)
class ItemStrata:
    """Strata by the names of items, or of debates and clusters.

    Attributes
    ----------
    column : str
        What strata are.
    of : dict of str to dict of str to set of str
        By level ("item", or "debate", "question" and "cluster" of a log) and name the strata: one, unless rows
        contradict each other; none where the value is missing.
    log : DebateLog or None
        The log of a path or a table, read with the column as the debates' category, so that no other field is made of
        it (a column "task" would be the question). Analyse this one.
    of_questions : bool
        Whether strata are the categories of questions, so that debates of one question have the same. Another column,
        such as the protocol, may differ between them.

    Examples
    --------
    >>> found = item_strata(None, {"q1": "math", "q2": "ethics"})
    >>> found.labels(["q1", "q3", "q2"]).codes.tolist()
    [1, -1, 0]
    """

    column: str
    of: Mapping[str, Mapping[str, frozenset[str]]]
    log: DebateLog | None = None
    of_questions: bool = False

    @property
    def is_log(self) -> bool:
        """Whether strata are known by debate."""
        return "debate" in self.of

    def texts(self, names: Sequence[Any], level: Level = "item", unit: str = "question") -> list[str | None]:
        """Return the stratum of each name, None where it has none; a name with several strata is refused.

        Parameters
        ----------
        names : sequence
            Items; of a log debates, questions or clusters, as `level` says.
        level : {"item", "debate", "question", "cluster"}
            What the names are, where the source is a log.
        unit : str
            What a name is called in messages.

        Raises
        ------
        ValueError
            When a name has several strata, or a question several categories.
        """
        of = self.of[level if self.is_log else "item"]
        keys = [str(name_text(name)) for name in names]
        if self.of_questions:
            self._refuse_several("question", self.of["question"])
        self._refuse_several(unit, {key: of.get(key, ()) for key in keys})
        return [next(iter(of.get(key, ())), None) for key in keys]

    def _refuse_several(self, unit: str, of: Mapping[str, Collection[str]]) -> None:
        several = [name for name, found in of.items() if len(found) > 1]
        if several:
            one = " and ".join(map(repr, sorted(of[several[0]])[:3]))
            shown = ", ".join(map(repr, several[:5])) + (
                f" and {len(several) - 5} more" if len(several) > 5 else ""
            )
            raise ValueError(
                f"{self.column} must be one per {unit}; got {one} in {several[0]!r}; it changes within "
                f"{counted(len(several), unit)}: {shown}"
            )

    def labels(self, names: Sequence[Any], level: Level = "item", unit: str = "question") -> Labels:
        """Return :meth:`texts` as codes; refused where no name has a stratum."""
        found = self.texts(names, level, unit)
        if names and not any(found):
            known = next(iter(self.of[level if self.is_log else "item"]), None)
            strange = known is not None and str(names[0]) not in self.of[level if self.is_log else "item"]
            more = (
                f"; strata are given for {known!r} and others, the data have {names[0]!r}" if strange else ""
            )
            raise ValueError(f"{self.column} must say the stratum of some {unit}; got none{more}")
        return Labels.of(found, self.column, missing_values=())


class NoSuchStrata(ValueError):
    """A source has no column of this name, or no columns at all."""


def item_strata(
    source: Any,
    strata: StrataOf,
    fields: Fields | None = None,
    *,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
    strict: bool = True,
) -> ItemStrata:
    """Read the stratum of every item from one source, or from several (a list of paths).

    Parameters
    ----------
    source : path, DataFrame, DebateLog or list of paths
        A log, or a table of items that `fields` tells from a log.
    strata : str, mapping or Series
        The name of a column: of a table, any; of a log of records ``category``, ``protocol`` or ``log``. Or the stratum
        of each item by its name, and then `source` is not looked at.
    fields : Fields, optional
        Columns of a table of items; without them the source is a log.
    missing_values, columns, encoding, strict
        As the source is read otherwise.

    Returns
    -------
    ItemStrata

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
    reading: dict[str, Any] = {"missing_values": missing_values, "columns": columns}
    if isinstance(source, (str, Path)):
        path = as_path(source)
        if fields is not None and is_table(path):
            read = read_table(path, fields, columns=columns, encoding=encoding)
            if read is not None:
                return _of_table(read.frame, strata, missing_values, read.notes)
        return _of_files([path], strata, encoding=encoding, strict=strict, **reading)
    if isinstance(source, (list, tuple)) and source and all(isinstance(one, (str, Path)) for one in source):
        return _of_files(
            [as_path(one) for one in source], strata, encoding=encoding, strict=strict, **reading
        )
    if is_frame(source):
        frame = as_frame(source)
        if fields is None or fields.is_log(frame.columns, columns):
            log = _log_of_frame(frame, strata, **reading)
            return replace(_of_log(log, strata, choosable=True), log=log)
        frame, taken = fields.named(frame, columns)
        return _of_table(frame, strata, missing_values, taken)
    if hasattr(source, "verdicts") and hasattr(source, "turns") and hasattr(source, "items"):
        return _of_log(source, strata)
    raise NoSuchStrata(
        "strata must be a mapping of item to stratum where the source has no columns of items; got "
        f"{strata!r} for {type(source).__name__}; or give the log's path or read_log(path)"
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
    taken = [note for note in notes if repr(strata) in note]
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


def _of_files(
    paths: Sequence[str],
    strata: str,
    *,
    missing_values: Iterable[str] | None,
    columns: Columns,
    encoding: str | None,
    strict: bool,
) -> ItemStrata:
    from d3stats.log.reader import is_flat, read_log

    records = [file for file in find_files(paths) if file.format == "jsonl" and not is_flat(file)]
    if records and plain(strata) not in map(plain, _OF_LOG):
        raise NoSuchStrata(
            f"strata must be one of {', '.join(_OF_LOG)} in a log of records; got {strata!r}{meant(strata, _OF_LOG)}; "
            "a mapping of question to stratum is possible too"
        )
    chosen = columns if records else _with_category(columns, strata)
    try:
        reading: dict[str, Any] = {"missing_values": missing_values, "columns": chosen, "encoding": encoding}
        log = read_log(*paths, strict=strict, **reading)
    except MissingColumn as error:
        if error.field != "category":
            raise
        raise NoSuchStrata(str(error)) from None
    except LogError as error:
        _refuse_problems([error.problem], strata)
        raise
    _refuse_problems(log.problems, strata)
    return replace(_of_log(log, strata, choosable=not records), log=log)


def _log_of_frame(
    frame: pd.DataFrame, strata: str, *, missing_values: Iterable[str] | None, columns: Columns
) -> DebateLog:
    from d3stats.log.consistency import check
    from d3stats.log.reader import log_of
    from d3stats.log.tables import read_table as read_turns
    from d3stats.values import missing_words

    try:
        records = read_turns(frame, columns=_with_category(columns, strata))
    except MissingColumn as error:
        if error.field != "category":
            raise
        raise NoSuchStrata(str(error)) from None
    checked = check(records, missing_words(missing_values))
    _refuse_problems(checked.problems, strata)
    return log_of(checked.strictly())


def _refuse_problems(problems: Iterable[Problem], strata: str) -> None:
    """Refuse a debate whose rows contradict each other; other defects are for whoever reads the votes."""
    wrong = next((problem for problem in problems if problem.field == "category"), None)
    if wrong is not None:
        raise ValueError(f"{strata} must be one per debate; {wrong}")


def _with_category(columns: Columns, strata: str) -> Columns:
    """Return the choice of columns with the strata in place of the category."""
    if plain(strata) in {plain(name) for name in _TAKEN}:
        raise ValueError(
            f"strata must be a column that says the kind of a question; got {strata!r}, read as such"
        )
    if plain(strata) == "log":
        return columns
    return {**choice_of(columns), "category": strata}


def _of_log(log: DebateLog, strata: str, *, choosable: bool = False) -> ItemStrata:
    """Return strata by debate, question and cluster; of a table that was read for it, they are in the category."""
    if plain(strata) == "log":
        field = "log"
    elif choosable:
        field = "category"
    else:
        possible = [name for name in _OF_LOG if name in log.items.columns]
        if strata not in possible:
            raise NoSuchStrata(
                f"strata must be one of {', '.join(possible)} in a log; got {strata!r}{meant(strata, possible)}; "
                f"read another column of a table with read_log(path, columns={{'category': {strata!r}}})"
            )
        field = strata
    items = log.items
    cluster = items["cluster"].where(items["cluster"].notna(), items["question"])
    names = {name: items[name].tolist() for name in ("debate", "question")} | {"cluster": cluster.tolist()}
    return replace(
        _gathered(names, items[field].tolist(), strata, ()), of_questions=_names_categories(strata)
    )


def without_strata(
    source: Any, strata: StrataOf, fields: Fields, *, columns: Columns = None, encoding: str | None = None
) -> tuple[Any, Columns, list[str]]:
    """Return a table of items without its column of strata, which may look like ratings, and how it was read.

    A log and a source without such a column come back as they are, with the choice of columns.
    """
    if not isinstance(strata, str):
        return source, columns, []
    frame, notes = None, []
    if isinstance(source, (str, Path)):
        path = as_path(source)
        read = read_table(path, fields, columns=columns, encoding=encoding) if is_table(path) else None
        frame, notes = (None, []) if read is None else (read.frame, read.notes)
    elif is_frame(source) and not fields.is_log(as_frame(source).columns, columns):
        frame, notes = fields.named(as_frame(source), columns)
    if frame is None:
        return source, columns, []
    return frame.drop(columns=[name for name in frame.columns if plain(name) == plain(strata)]), None, notes


def read_besides(notes: Iterable[str], column: str) -> list[str]:
    """Return notes of a reader without the column of strata among those that were not read.

    Examples
    --------
    >>> read_besides(["columns that were not read: task, seed", "columns that were not read: task"], "task")
    ['columns that were not read: seed']
    """
    kept = []
    for note in notes:
        head, found, listed = note.partition(_UNREAD)
        if not found:
            kept.append(note)
            continue
        left = [name for name in listed.split(", ") if name != column]
        kept += [f"{head}{_UNREAD}{', '.join(left)}"] if left else []
    return kept


def strata_of_runs(
    found: Sequence[ItemStrata | NoSuchStrata], items: Sequence[str], *, level: Level, unit: str
) -> Labels:
    """Return the stratum of each item from those runs that say it; they must say the same.

    Raises
    ------
    ValueError
        When no run has the column, an item has several strata in one run, or others in another.
    """
    known = [one for one in found if isinstance(one, ItemStrata)]
    if not known:
        raise next(one for one in found if isinstance(one, NoSuchStrata))
    texts: list[str | None] = [None] * len(items)
    column = known[0].column
    for one in known:
        told = one.texts(items, level, unit)
        changed = [
            (item, first, other)
            for item, first, other in zip(items, texts, told, strict=True)
            if first and other and first != other
        ]
        if changed:
            item, first, other = changed[0]
            raise ValueError(
                f"{column} must be the same in all runs; got {first!r} and {other!r} in {item!r}, and it differs on "
                f"{counted(len(changed), unit)}"
            )
        texts = [first or other for first, other in zip(texts, told, strict=True)]
    if len(known) == 1:
        return known[0].labels(list(items), level, unit)
    return ItemStrata(column, {"item": _sets(items, texts)}).labels(list(items), unit=unit)


def strata_or_none(
    source: Any, strata: StrataOf, fields: Fields, **reading: Any
) -> ItemStrata | NoSuchStrata:
    """Return the strata of a run, or why it has none; other runs may have the column."""
    try:
        return item_strata(source, strata, fields, **reading)
    except NoSuchStrata as error:
        return error


def _sets(items: Sequence[str], found: Sequence[str | None]) -> dict[str, frozenset[str]]:
    pairs = zip(items, found, strict=True)
    return {item: frozenset() if text is None else frozenset((text,)) for item, text in pairs}
