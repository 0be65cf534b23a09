"""Tables of items: which columns tell them from a log, and their cells as texts or numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from d3stats._words import Advised, counted
from d3stats.inputs.lines import Lines
from d3stats.log.beside import beside_votes, tells_of_votes
from d3stats.log.column_names import (
    TURNS,
    WHO,
    ColumnError,
    Columns,
    choice_of,
    one_role,
    other_names,
    plain,
    renamed,
    resolve,
    two_models,
)
from d3stats.log.columns import Coded
from d3stats.log.numbers import with_points
from d3stats.log.problems import KINDS, Problem
from d3stats.log.sheets import (
    Sheet,
    cell_text,
    has_field,
    header_note,
    is_header,
    one_word_row,
    without_headers,
)
from d3stats.log.wide import is_wide_log
from d3stats.note import MISSING_VALUES, Note, Severity, unread
from d3stats.values import MISSING_WORDS, is_missing_word, name_text

__all__ = [
    "Fields",
    "TableFile",
    "as_frame",
    "beside_items",
    "blank_clusters",
    "frame_with_points",
    "is_frame",
    "one_frame",
    "question_clusters",
    "sound",
    "table_of_sheet",
    "unread_note",
    "with_parts",
    "without_words",
]

_BOOLEANS = {"true": "1", "false": "0"}


@dataclass(frozen=True)
class Fields:
    """The columns of a table of items, which is told from a log of debates by them.

    Attributes
    ----------
    wanted : tuple of str
        Columns that may have the field's other names.
    needed : tuple of str
        Those without which no other name is looked for.
    choosable : tuple of str
        Columns that may be chosen besides.
    one_round : bool
        Whether the table of items has no rounds, so that rounds and agents beside a question say that it is a log.
    """

    wanted: tuple[str, ...]
    needed: tuple[str, ...]
    choosable: tuple[str, ...] = ()
    one_round: bool = False

    def is_log(self, names: Collection[Any], columns: Columns = None) -> bool:
        """Whether these are the columns of a log of debates rather than of a table of items."""
        chosen = choice_of(columns)
        if {"debate", "votes", "rounds"} & set(chosen):
            return True
        if "item" in chosen:
            return False
        if "rater" in self.wanted and is_wide_log(names, columns):
            return True
        if "item" in map(plain, names):
            return False
        try:
            (debate,) = resolve(names, ["debate"]).columns.get("debate", ("",))
            if debate and plain(debate) not in other_names("item"):
                return True
            of_turns = resolve(names, ["debate", "round", "agent", *chosen], columns=columns).columns
        except ColumnError:
            return False
        return self.one_round and {"debate", "round", "agent"} <= set(of_turns)

    def named(self, frame: pd.DataFrame, columns: Columns = None) -> tuple[pd.DataFrame, list[str]]:
        """Give the columns their standard names and say which had others."""
        known = {*self.wanted, *self.choosable}
        called = next((name for name in WHO if name in known), None)
        chosen = choice_of(columns) if called is None else one_role(columns, called)
        return renamed(frame, self.wanted, self.needed, columns=chosen, choosable=self.choosable)


@dataclass(frozen=True)
class TableFile:
    """A table that was read, which columns had other names, and by column what was done to its cells."""

    frame: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    cells: dict[str, str] = field(default_factory=dict)


def table_of_sheet(
    sheets: Sequence[Sheet],
    fields: Fields,
    *,
    texts: Collection[str] | None = None,
    columns: Columns = None,
    missing: Collection[str] = MISSING_WORDS,
) -> TableFile:
    """Return the rows of sheets with the same columns as one table of items.

    Parameters
    ----------
    sheets : sequence of Sheet
    fields : Fields
    texts : collection of str, optional
        Columns that stay text as it was written, to be read later by :mod:`d3stats.values`; by default
        all. Others become numbers where all their cells are, and words for missing are missing.
    columns : mapping, optional
        Own names of columns by their standard names.
    missing : collection of str
        The words that mean missing.

    Raises
    ------
    ValueError
        When a column occurs twice, or the sheets have different columns.
    """
    for sheet in sheets:
        twice = next((name for name in sheet.names if name and sheet.names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"{sheet.name} must name each column once; got {twice!r} twice")
    read = [_with_points(without_headers(sheet)) for sheet in sheets]
    sheets = [sheet for sheet, _ in read]
    frame, taken = fields.named(one_frame([_cells_of(sheet) for sheet in sheets]), columns)
    taken = [*taken, *(note for _, notes in read for note in notes)]
    frame.attrs["lines"] = _lines_of(sheets)
    frame = frame.astype(object)
    table = TableFile(frame, [*taken, *(note for sheet in sheets for note in sheet.notes)])
    if texts is None:
        return table
    table = without_words(table, texts, missing)
    for column in frame.columns:
        if column not in texts:
            table.frame[column] = _numbers(table.frame[column])
    return table


def without_words(table: TableFile, texts: Collection[str], missing: Collection[str]) -> TableFile:
    """Read words for missing, in columns other than `texts`, as missing, and say so by column."""
    frame, said = table.frame, dict(table.cells)
    changed: dict[str, pd.Series] = {}
    for column in frame.columns if frame.columns.is_unique else []:
        cells = frame[column]
        if column in texts or not (cells.dtype == object or pd.api.types.is_string_dtype(cells.dtype)):
            continue
        words = cells.map(lambda cell: isinstance(cell, str) and is_missing_word(cell, missing)).astype(bool)
        if not words.any():
            continue
        changed[column] = cells.astype(object).mask(words, None)
        named = sorted({cell for cell in cells[words] if cell.strip()})
        if n := int(cells.isin(named).sum()):
            listed = ", ".join(map(repr, named))
            text = f"read as missing in column {column!r}: {counted(n, 'cell')} ({listed})"
            # A word that nobody named may be a value.
            severity: Severity = "warning" if missing is MISSING_WORDS else "note"
            said[column] = Note(
                text, kind=MISSING_VALUES, severity=severity, about=column, n=n, examples=named
            )
    made = frame.assign(**changed)
    made.attrs = frame.attrs
    return replace(table, frame=made, cells=said)


_WHOLE = re.compile(r"[+-]?[0-9]+")


def _with_points(sheet: Sheet) -> tuple[Sheet, list[Note]]:
    """Write numbers with a decimal comma with a point, in columns that hold nothing else; and say so."""
    columns, notes = list(sheet.columns), []
    for k, (name, column) in enumerate(zip(sheet.names, sheet.columns, strict=True)):
        forms, said = with_points(name, column.occurring(), sheet.may_have_commas)
        notes += said
        if forms:
            columns[k] = column.mapped({text: forms.get(text, text) for text in column.values})
    return replace(sheet, columns=columns), notes


_NESTED = (Mapping, list, set, np.ndarray)


def frame_with_points(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[Note]]:
    """Do the same in the text columns of a data frame."""
    frame, notes = _without_headers(frame)
    changed: dict[str, pd.Series] = {}
    for name in [name for name in frame.columns if isinstance(name, str)] if frame.columns.is_unique else []:
        cells = frame[name]
        if not (cells.dtype == object or pd.api.types.is_string_dtype(cells.dtype)):
            continue
        nested = pd.api.types.is_object_dtype(cells.dtype) and any(
            isinstance(cell, _NESTED) for cell in cells
        )
        if nested:  # as a file holds it
            cells = cells.map(lambda cell: cell_text(cell) if isinstance(cell, _NESTED) else cell)
            changed[name] = cells
        texts = [cell for cell in cells.dropna().unique() if isinstance(cell, str)]
        forms, said = with_points(str(name), texts, True)
        notes += said
        if forms:
            changed[name] = cells.map(
                lambda cell, forms=forms: forms.get(cell, cell) if isinstance(cell, str) else cell
            )
    if not changed:
        return frame, notes
    made = frame.assign(**changed)
    made.attrs = frame.attrs
    return made, notes


def _without_headers(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[Note]]:
    """Do what :func:`without_headers` does in a data frame; columns that were texts for a header are numbers again."""
    names = [name for name in frame.columns if isinstance(name, str)]
    if len(names) < 2 or len(names) < frame.shape[1] or not frame.columns.is_unique:
        return frame, []
    if any(frame[n].dtype != object and not pd.api.types.is_string_dtype(frame[n].dtype) for n in names):
        return frame, []
    unit: list[Note] = []
    if len(frame) > 2:
        others = frame.iloc[1:]
        unit = one_word_row(frame.iloc[0].tolist(), lambda word: bool((others == word).to_numpy().any()))
    again, loose = np.ones(len(frame), dtype=np.bool_), has_field(names)
    for name in names:
        again &= (
            frame[name]
            .map(lambda cell, name=name: is_header(cell, name, loose))
            .to_numpy(dtype=np.bool_, na_value=False)
        )
        if not again.any():
            return frame, unit
    return frame[~again].infer_objects(), [*unit, header_note(int(again.sum()))]


def _cells_of(sheet: Sheet) -> pd.DataFrame:
    cells = {
        name: pd.Series(column.to_array(), dtype=object)
        for name, column in zip(sheet.names, sheet.columns, strict=True)
    }
    return pd.DataFrame(cells, columns=list(cells))


def _lines_of(sheets: Sequence[Sheet]) -> Lines:
    """Return the places of the rows of sheets, one below the other."""
    sizes = [len(sheet.line) for sheet in sheets]
    return Lines(
        [sheet.name for sheet in sheets],
        np.repeat(np.arange(len(sheets)), sizes),
        np.concatenate([sheet.line for sheet in sheets]),
    )


def one_frame(tables: Sequence[Any]) -> pd.DataFrame:
    """Put the rows of tables with the same columns together; an index is kept unless it only counts rows."""
    frames = [as_frame(table) for table in tables]
    if len(frames) == 1:
        return frames[0]
    first = _names_of(frames[0])
    for frame in frames[1:]:
        names = _names_of(frame)
        if sorted(names) != sorted(first):
            differ = sorted(set(names) ^ set(first))
            raise ValueError(
                Advised(
                    "tables in a list must have the same columns, to be read as one table",
                    "give them the same names, and join them with pd.concat",
                    got=f"{', '.join(map(repr, differ[:8]))} in some of them only",
                )
            )
    counted = all(f.index.names == [None] and pd.api.types.is_integer_dtype(f.index.dtype) for f in frames)
    return pd.concat(frames, ignore_index=counted)


def _names_of(frame: pd.DataFrame) -> list[str]:
    return [*map(str, frame.columns), *(f"index {name}" for name in frame.index.names if name is not None)]


def sound(sheet: Sheet | Problem) -> Sheet:
    """Return a table without problems; refuse any other."""
    problems = [sheet] if isinstance(sheet, Problem) else sheet.problems
    if isinstance(sheet, Problem) or problems:
        first = problems[0]
        if first.line is not None:
            raise ValueError(f"{first.place}: {first.message}")
        advice = KINDS[first.kind].advice.rstrip(".")
        what = f"{first.place} must be a table with a line of column names: {first.message}"
        raise ValueError(Advised(what, f"{advice[:1].lower()}{advice[1:]}"))
    if not sheet.names:
        raise ValueError(f"{sheet.name} must be a table with a line of column names; got none")
    return sheet


def _numbers(cells: pd.Series) -> pd.Series:
    said = cells.dropna().str.lower()
    if len(said) and said.isin(_BOOLEANS).all():
        cells = cells.str.lower().map(_BOOLEANS)
    try:
        return pd.to_numeric(cells).astype("float64")
    except (TypeError, ValueError):
        return cells


def unread_note(frame: pd.DataFrame, read: Collection[Any]) -> list[Note]:
    """Return a note on the columns of a table that were not read, since one of them may be the cluster."""
    return unread(str(column) for column in frame.columns if column not in read)


def beside_items(frame: pd.DataFrame, read: Collection[Any], value: str = "vote") -> list[Note]:
    """Say how columns that were not read contradict the votes of a table of items, or its `value` where that counts.

    A column in which vote and label are right or wrong is compared with it also if it is what counts.
    """
    names = [str(name) for name in frame.columns if tells_of_votes(str(name))]
    columns = {name: _coded(frame[name]) for name in names if name not in read or name == value}
    if not columns or ("vote" not in frame and value not in frame):
        return []
    counts = "" if value == "vote" else value
    if {"vote", "label"} <= set(frame.columns):
        return beside_votes(columns, _coded(frame["vote"]), _coded(frame["label"]), counts=counts)
    columns.pop(value, None)
    return beside_votes(columns, _coded(frame[value if value in frame else "vote"]))


def _coded(cells: pd.Series) -> Coded:
    return Coded.of(map(name_text, cells.astype(object)))


def question_clusters(frame: pd.DataFrame) -> str:
    """Return the column of the clusters of items: "cluster", else a "question" of several items, else ""."""
    if "cluster" in frame.columns:
        return "cluster"
    if "question" not in frame.columns:
        return ""
    item = frame["item"] if "item" in frame.columns else frame.index.to_series()
    several = item.groupby(frame["question"]).nunique()
    return "question" if len(several) and several.max() > 1 else ""


def with_parts(table: TableFile, *, either_order: bool = False) -> TableFile:
    """Make turns and pairs of models parts of the items of a table that compares two models in each row.

    A question with several turns, or about several pairs of models, is several items; they form a cluster. With
    `either_order` a pair is the same whichever of the two models comes first.
    """
    frame = table.frame
    if "item" not in frame.columns or not two_models(frame.columns):
        return table
    by_plain = {plain(str(name)): name for name in frame.columns}
    turn = next((name for known, name in by_plain.items() if known in TURNS), None)
    item = frame["item"].astype(str)
    first, second = (frame[by_plain[name]].astype(str) for name in ("modela", "modelb"))
    pairs = first + " / " + second
    unordered = pairs.where(first <= second, second + " / " + first)
    parts = []
    if turn is not None and frame[turn].groupby(item).nunique().max() > 1:
        parts.append((str(turn), frame[turn].map(_whole)))
    if (unordered if either_order else pairs).groupby(item).nunique().max() > 1:
        parts.append((f"{by_plain['modela']} + {by_plain['modelb']}", unordered if either_order else pairs))
    if not parts:
        return table
    missing = frame["item"].isna()
    whole = item
    for _, part in parts:
        whole = whole + " / " + part.astype(str)
    more = {} if {"cluster", "question"} & set(frame.columns) else {"question": frame["item"]}
    made = frame.assign(item=whole.astype(object).mask(missing, None), **more)
    made.attrs = frame.attrs
    text = f"items are separated by {' and '.join(name for name, _ in parts)} besides the column of items"
    return replace(table, frame=made, notes=[*table.notes, Note(text, kind="parts of items")])


def _whole(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def blank_clusters(n_items: int) -> str:
    """Say that some items have a blank for their cluster."""
    many = "forms a cluster of its own" if n_items == 1 else "each form a cluster of their own"
    return f"{counted(n_items, 'item')} without a cluster, while others have one, {many}"


def is_frame(source: Any) -> bool:
    """Say whether this is a DataFrame of pandas or of polars, or an Arrow table."""
    return isinstance(source, pd.DataFrame) or type(source).__module__.partition(".")[0] in (
        "polars",
        "pyarrow",
    )


def as_frame(source: Any) -> pd.DataFrame:
    """Return a DataFrame of pandas or of polars, or an Arrow table, as a DataFrame of pandas."""
    if isinstance(source, pd.DataFrame):
        return source
    eager = source.collect() if hasattr(source, "collect") else source
    # Without pyarrow, which polars' own conversion needs.
    lists = eager.to_pydict() if hasattr(eager, "to_pydict") else eager.to_dict(as_series=False)
    return pd.DataFrame(lists)
