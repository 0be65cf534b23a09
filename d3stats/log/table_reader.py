"""Tables of debates: CSV, TSV, Excel, Parquet, flat JSON lines and data frames, as columns of codes.

``sheets.py`` makes a sheet of each: its column names, and each column's cells as codes of texts. Which column says what
is decided in ``column_names.py``; a wide sheet, with a column per agent or per round, is turned into one row per turn.
Then each different text is parsed once, and a cell that is not what its column may hold is a problem of its row.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Ints
from d3stats.log.beside import beside_votes, tells_of_votes
from d3stats.log.cells import (
    Wrong,
    WrongCell,
    how_to_write,
    is_temperature,
    is_zero,
    no_truths,
    not_given,
    to_answers,
    to_scores,
    to_share,
    to_temperature,
    to_truth,
    to_whole,
    truths_note,
)
from d3stats.log.column_names import (
    TABLE_COLUMNS,
    ColumnError,
    Columns,
    Resolved,
    as_option,
    choice_of,
    maybe_label,
    one_role,
    other_names,
    plain,
    resolve,
    to_type,
)
from d3stats.log.columns import TEXTS, Coded, Coder, Part, Records, joined, together
from d3stats.log.confidences import FIELDS as CONFIDENCES
from d3stats.log.confidences import one_field, read_cells
from d3stats.log.files import LogFile
from d3stats.log.numbers import with_points
from d3stats.log.opening import unusable
from d3stats.log.problems import LONGEST, Advised, Problem, shortened
from d3stats.log.proposals import is_slip, proposed
from d3stats.log.sheets import (
    ParquetTable,
    Sheet,
    connect,
    frame_sheet,
    open_sheet,
    unreadable_parquet,
    without_headers,
)
from d3stats.log.wide import alike_columns, is_row_each, two_ways, unfolded, without_outcome
from d3stats.note import FIRST_SHEET, UNREAD_LABEL, UNREAD_SCORES, Note, kind_of, unread, warning
from d3stats.values import is_missing_word

FRAME, ITEMS = "the table", "the items"
"""Name of data frames in messages."""


def records_of_table(
    source: Any,
    items: Any = None,
    *,
    columns: Columns = None,
    encoding: str | None = None,
    texts: bool = False,
) -> Records:
    """Read a table of debates of any kind.

    Parameters
    ----------
    source : LogFile or data frame
        One row per turn, or a wide table with a column per agent or per round; a pandas, polars or Arrow frame.
    items : data frame, optional
        One row per debate, where the first frame holds only turns.
    columns : mapping, optional
        Which column says what, where the names do not say it: ``{"debate": "qid"}``. Several columns may make a
        debate's name together, ``{"debate": ["run", "qid"]}``; hold an agent's votes each,
        ``{"votes": ["gpt", "claude"]}``; hold the votes of a round each, ``{"rounds": ["t1", "t2"]}``; or hold those of
        an agent in the round that ends the name, ``{"rounds": ["gpt_1", "gpt_2", "phi_1", "phi_2"]}``.
    encoding : str, optional
        Encoding of a text file; UTF-8, and UTF-16 with its mark, need none.
    texts : bool
        Also read the column ``text`` of a table with a row per turn.

    Raises
    ------
    ValueError
        When `columns` names what there is not.
    TypeError
        When `source` is no table.
    """
    if not isinstance(source, LogFile):
        opened = None if items is None else frame_sheet(items, ITEMS)
        return records_of_sheet(frame_sheet(source, FRAME), columns, opened, texts=texts)
    sheet = open_sheet(source, encoding)
    if isinstance(sheet, Problem):
        return nothing(source.name, [sheet])
    return records_of_sheet(sheet, columns, texts=texts)


def nothing(name: str, problems: list[Problem], notes: Sequence[str] = ()) -> Records:
    """Return what is left of a file that is passed over."""
    none: Ints = np.zeros(0, dtype=np.int64)
    empty = Part(none, {})
    return Records([name], none, none, empty, empty, empty, problems=problems, notes=list(notes))


def parquet_blocks(
    file: LogFile, rows: int = 1_000_000, *, columns: Columns = None, without: Collection[str] = ()
) -> Iterator[Records]:
    """Read a Parquet file in blocks of rows, each with codes of its own, so that memory stays flat.

    All blocks count rounds alike, from 0 or from 1, as the whole file does. Fields `without` which the caller gets
    along may be missing in the result.
    """
    import duckdb

    problem = unusable(file)
    if problem is not None:
        yield nothing(file.name, [problem])
        return
    try:
        with connect(ordered=True) as con:
            table = ParquetTable(file, con)
            names, none = list(table.kinds), np.zeros(0, dtype=np.int64)
            try:
                empty = Sheet(file.name, names, [Coded.missing(0) for _ in names], none)
                at = _log_columns(empty, columns).columns
            except ColumnError:
                at = {}  # the first block says what is wrong
            several = {name: at[name][0] for name in ("round", "correct") if name in at and table.n > rows}
            texts = {name: table.different(column) for name, column in several.items()}
            odd = no_truths(texts.get("correct", ()))
            if odd is not None:
                wrong = Problem(file.name, 1, "correct", odd, "wrong field", (), "nothing")
                yield nothing(file.name, [wrong])
                return
            zero = any(map(is_zero, texts.get("round", ()))) or None
            unread = {column for name in without for column in at.get(name, ())}
            for sheet in table.sheets(rows, unread):
                yield records_of_sheet(sheet, columns, from_zero=zero)
    except duckdb.Error as error:
        yield nothing(file.name, [unreadable_parquet(file, error)])


# ------------------------------------------------------------------------------------------------ which column is what


_ITEM = ("question", "cluster", "label", "answers", "log", "protocol", "polling", "first", "category")
_MOST_ROUND = 999_999_999
_NEAR = ("label", "cluster", "question", "answers", "round", "tokens_in", "tokens_out", "correct")
"""Columns without which a log says less, so that a misspelled one must not be passed over."""


_IN_A_LOG = {"item": "debate", "rater": "agent", "judge": "agent"}
"""What tables of items call a debate and an agent."""


def _log_columns(sheet: Sheet, columns: Columns, texts: bool = False) -> Resolved:
    """Find the column of each field of a log.

    A question's identifier is the debate's where there is no other; a model is the agent where there is no other.
    """
    names = [name for name in sheet.names if name and not name.startswith("Unnamed: ")]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ColumnError(
            twice, Advised("a column must occur once", "rename one of them", got=f"{twice!r} twice")
        )
    chosen = {
        _IN_A_LOG.get(name, name): column
        for name, column in one_role(columns, "agent").items()
        if name not in ("votes", "rounds")
    }
    known = (*TABLE_COLUMNS, *TEXTS["turns"]) if texts else TABLE_COLUMNS
    wanted = [name for name in known if name != "model" or "model" in chosen]
    found = resolve(names, wanted, columns=chosen, what=sheet.name)
    if "model" not in found.columns:
        keys = [name for several in found.columns.values() if len(several) > 1 for name in several]
        model = resolve([*found.unread, *keys], ["model"], what=sheet.name).columns
        left = tuple(name for name in found.unread if (name,) != model.get("model"))
        found = replace(found, columns={**found.columns, **model}, unread=left)
    if "debate" not in found.columns:
        found = found.renamed("question", "debate")
    found = found.without(*_excluded(found, sheet))
    if _is_a_voter(found, sheet):
        found = found.without("round")
    unread = set(found.unread)
    return replace(
        found,
        columns={name: found.columns[name] for name in known if name in found.columns},
        unread=tuple(name for name in sheet.names if name in unread),
    )


def _is_a_voter(found: Resolved, sheet: Sheet) -> bool:
    """Whether the column that is taken for the round, such as ``t``, holds the same texts as other columns of votes."""
    at = found.columns
    if {"vote", "correct", "agent"} & set(at) or "round" not in at or "round" in found.chosen:
        return False
    (name,) = at["round"]
    texts = set(sheet.get(name).occurring())
    return not any(map(_is_number, texts)) and any(
        texts & set(sheet.get(other).occurring()) for other in found.unread if other
    )


def _excluded(found: Resolved, sheet: Sheet) -> list[str]:
    """Return the fields that others exclude: votes or correctness, the total or the parts of tokens."""
    at = found.columns
    excluded = []
    if "vote" in at and "correct" in at:
        if "correct" in found.chosen and "vote" not in found.chosen:
            excluded.append("vote")
        elif "vote" in found.chosen or "label" in at or _is_empty(sheet, at["correct"]):
            excluded.append("correct")
        elif _is_empty(sheet, at["vote"]):
            excluded.append("vote")
        else:
            raise ColumnError(
                "vote",
                Advised(
                    "a table must have one of the columns vote and correct, or a label beside the vote",
                    f"choose one with {to_type(vote=at['vote'][0])}",
                    got=", ".join(sheet.names),
                ),
            )
    if "temperature" in at and "temperature" not in found.chosen and not _are_temperatures(sheet, at):
        excluded.append("temperature")
    excluded += one_field(found)
    split = [name for name in ("tokens_in", "tokens_out") if name in at]
    if "tokens" in at and split:
        by_kind = len(split) == 2 and at["tokens"] != ("tokens",)
        if "tokens" not in found.chosen and (by_kind or _is_empty(sheet, at["tokens"])):
            excluded.append("tokens")
        elif "tokens" in found.chosen or all(_is_empty(sheet, at[name]) for name in split):
            excluded += split
        else:
            raise ColumnError(
                "tokens",
                "a table must have the column tokens or the columns tokens_in and tokens_out, so that no token is "
                f"counted twice; got tokens, {', '.join(split)}; remove one of them",
            )
    return excluded


def _texts(sheet: Sheet, name: str) -> NDArray[np.object_]:
    """Return the cells of a column as they are written, "" where missing."""
    cells = sheet.get(name)
    return np.array([*map(str, cells.values), ""], dtype=object)[cells.codes]


def _of_one_kind(other: NDArray[np.object_], taken: NDArray[np.object_]) -> bool:
    """Whether both columns hold only numbers, or the other mostly words that the taken one has too."""
    told, known = ([text for text in texts.tolist() if text] for texts in (other, taken))
    numbers = [all(map(_is_number, set(texts))) for texts in (told, known)]
    if not (told and known) or any(numbers):
        return bool(told and known) and all(numbers)
    words = set(known)
    return sum(text in words for text in told) > len(told) / 2


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _are_temperatures(sheet: Sheet, at: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether a column of this name has sampling temperatures only; another, such as the weather's, is not read."""
    (name,) = at["temperature"]
    return all(is_missing_word(text) or is_temperature(text) for text in sheet.get(name).occurring())


def _is_empty(sheet: Sheet, names: tuple[str, ...]) -> bool:
    return all((sheet.get(name).codes < 0).all() for name in names) and len(sheet.line) > 0


def _reads(sheet: Sheet, choice: Mapping[str, str | Sequence[str]]) -> bool:
    """Whether each row of a table is a turn of its own when its columns are chosen so."""
    read = records_of_sheet(sheet, choice, advise=False)
    if read.problems or read.n_rows != len(sheet.line):
        return False
    turns = read.turns
    return (
        _repeated(turns.coded("debate"), Coded.of(turns.numbers("round").tolist()), turns.coded("agent"))
        is None
    )


# ------------------------------------------------------------------------------------------------ rows


_SAID = (
    *(
        "correct",
        "error",
        "model",
        "persona",
        "role",
        "scores",
        "tokens",
        "tokens_in",
        "tokens_out",
        "tokens_cached",
        "tokens_source",
    ),
    "vote",
)
_CLOSING = ("decision", "stop_round", "stop_reason")

_MEASURED = ("label", "vote", "correct", "tokens", "tokens_in", "tokens_out", "tokens_cached")
"""Fields on whose values the results rest, so that two columns for one of them are warned of."""


def records_of_sheet(
    sheet: Sheet,
    columns: Columns,
    items: Sheet | None = None,
    *,
    from_zero: bool | None = None,
    texts: bool = False,
    advise: bool = True,
) -> Records:
    """Read a table of cells, with one of items beside it; `from_zero` says how the rounds of a part of a file count.

    With `advise`, what a table lacks is looked for in its values.
    """
    try:
        table = TableReader.of(sheet, columns, texts=texts, advise=advise)
        if items is None:
            return table.records(from_zero=from_zero)
        # What turns say of debates besides is not read.
        table = replace(table, found=table.found.without(*_ITEM))
        try:
            opened = _item_records(items)
        except ColumnError as error:
            raise _Refused(table.sheet, "wrong field", error.field, error.message) from None
        records = table.records(has_items=False, from_zero=from_zero)
    except _Refused as refused:
        return refused.records()
    return joined([replace(opened, coding=records.coding, totals=records.totals), records])


class _Refused(Exception):
    """A table that cannot be read and is passed over: one problem, however many rows."""

    def __init__(self, sheet: Sheet, kind: str, field: str, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.problem = Problem(sheet.name, line, field, message, kind, (), "nothing")
        self.sheet = sheet

    def records(self) -> Records:
        """Return what is left of the table: the problem, and the notes."""
        return nothing(self.sheet.name, [self.problem], self.sheet.notes)


@dataclass(frozen=True)
class TableReader:
    """A table with a row per turn: its cells, which column says what, and what to type where one is lacking.

    Attributes
    ----------
    sheet : Sheet
        The cells; of a wide table, one row per turn already.
    found : Resolved
        The column of each field.
    columns : mapping or None
        What the user chose.
    advise : bool
        Whether what the table lacks is looked for in its values.
    taken : tuple of str
        Which column was taken for what, where names do not say it.
    """

    sheet: Sheet
    found: Resolved
    columns: Columns
    advise: bool
    taken: tuple[str, ...] = ()

    @classmethod
    def of(cls, sheet: Sheet, columns: Columns, *, texts: bool, advise: bool) -> TableReader:
        """Find the columns of a sheet, and make rows of turns of a wide one.

        Raises
        ------
        _Refused
            When a column is lacking, or two could be meant.
        """
        try:
            if not sheet.names:
                raise ColumnError("debate", "a table must have a line of column names; got none")
            sheet = _filled_rows(_without_errors(without_headers(sheet)))
            found = _log_columns(sheet, columns, texts)
            sheet, found = without_outcome(sheet, found, columns)
            whole, taken = len(sheet.line), found.taken_note()
            sheet, found = _with_scores(sheet, found)
            sheet, found = cls(sheet, found, columns, advise)._unfolded()
            long = len(sheet.line) == whole
            if long:
                found = _without_row_numbers(sheet, found)
            lacking = cls(sheet, found, columns, advise and long)._lacking()
        except ColumnError as error:
            raise _Refused(sheet, "wrong field", error.field, error.message) from None
        if lacking is not None:
            raise _Refused(sheet, "unknown column" if found.unread else "wrong field", *lacking)
        return cls(sheet, found, columns, advise, tuple(taken))

    def _unfolded(self) -> tuple[Sheet, Resolved]:
        try:
            return unfolded(self.sheet, self.found, self.columns)
        except ColumnError as error:
            choice, _ = self._proposal([])
            if choice is None:
                raise
            step = f"say which they are with {to_type(**choice)}"
            message = Advised("a table must have a column for the vote", step, ": ", got=error.field)
            raise ColumnError(error.field, message) from None

    def records(self, *, has_items: bool = True, from_zero: bool | None = None) -> Records:
        """Read the rows; unless the table `has_items`, they only hold turns.

        Raises
        ------
        _Refused
            When a column cannot be what it was taken for.
        """
        sheet, found = self.sheet, self.found
        cells = {
            name: together([sheet.get(column) for column in several])
            for name, several in found.columns.items()
        }
        said = self._doubt(cells)
        if said is not None:
            raise _Refused(sheet, "wrong field", *said)
        said_right = cells["correct"].occurring() if "correct" in cells else []
        odd = no_truths(said_right)
        if odd is not None:
            told = cells["correct"]
            wrong = [k for k, text in enumerate(told.values) if no_truths([text]) is not None]
            first = int(np.flatnonzero(np.isin(told.codes, wrong))[0])
            raise _Refused(sheet, "wrong field", "correct", odd, int(sheet.line[first]))
        notes = [*self.taken, *sheet.notes]
        if not_of_debates := _category_of_turns(cells, found):
            del cells["category"]
        answers, of_answers = _to_points(cells, sheet.may_have_commas)
        numbers, of_numbers = _numbers_to_points(cells, found, sheet.may_have_commas)
        cells |= answers | numbers
        notes += self._confidences(cells)
        notes += [*not_of_debates, *of_answers, *of_numbers, *truths_note(said_right)]
        if not {"vote", "correct"} & set(cells):
            cells["vote"] = Coded.missing(len(sheet.line))
            notes.append("there is no column for the vote, so the table holds scores alone")
        if "round" not in cells:
            notes.append("there is no column for the round, so all rows belong to round 1")
        read = {column for name in cells for column in found.columns.get(name, ())}
        notes += [*self._unread_label(cells), *self._rivals(read), *unread(found.unread)]
        notes += [*self._few_questions(cells), *self._beside(cells)]
        rows = _Rows(sheet.name, sheet.line, cells, from_zero)
        return replace(
            rows.records(has_items=has_items),
            problems=[*sheet.problems, *self._misspelled(), *rows.problems],
            n_records=sheet.n_records,
            coding="answers" if "vote" in cells else "correctness",
            totals="tokens" in cells,
            from_zero=bool(rows.shift) if "round" in cells else None,
            notes=[*notes, *rows.notes],
        )

    def _confidences(self, cells: dict[str, Coded]) -> list[Note]:
        """Put the confidences of votes, as shares, in place of the cells that hold them; return what to say.

        Raises
        ------
        _Refused
            When a chosen column holds no confidence.
        """
        for field in (name for name in CONFIDENCES if name in cells):
            names = self.found.columns.get(field, (field,))
            try:
                if len(names) > 1:
                    needed = "confidence must be one column in a table with a row per turn"
                    raise ColumnError(field, Advised(needed, "choose one", got=", ".join(names)))
                read, said = read_cells(
                    cells.pop(field), field, names[0].split(" + "), field in self.found.chosen
                )
            except ColumnError as error:
                raise _Refused(self.sheet, "wrong field", error.field, error.message) from None
            if read is not None:
                cells["confidence"] = read
            return said
        return []

    def _lacking(self) -> tuple[str, str] | None:
        """Return the first column that a long table lacks, and one sentence on all that is missing."""
        sheet, found, at = self.sheet, self.found, self.found.columns
        missing = [name for name in ("debate", "agent") if name not in at]
        has_scores = "scores" in at and not _is_empty(sheet, at["scores"])
        if not ({"vote", "correct"} & set(at) or has_scores):
            missing.append("vote")
        if not missing:
            return None
        listed = " and ".join("vote (or correct)" if name == "vote" else name for name in missing)
        left = [name for name in found.unread if name]
        sides = list(_score_columns(left))
        if left:
            may_be_wide = "vote" in missing and len(left) > 1 and not {"round", "agent"} <= set(at)
            all_alike = may_be_wide and is_row_each(sheet, found) and alike_columns(sheet, found) == left
            votes = left if all_alike else []
            choice, hint = (None, "") if all_alike else self._proposal(missing)
            typed = to_type(**(choice or self._chosen_with(missing)))
            advice = f"say which they are with {typed}"
            if choice is not None:
                pass
            elif "vote" in missing and len(sides) > 1:
                advice += f", or {to_type(scores=sides)} where each column holds the scores of one side"
            elif "vote" in missing:
                advice += ", with correct in place of vote where the column says 1 for right and 0 for wrong"
            if choice is not None or len(sides) > 1 or not may_be_wide:
                pass
            elif "agent" in at and missing == ["vote"] and len(votes) > 1:
                advice += f", or {two_ways(votes, found)}"
            elif "debate" in at:
                typed = to_type(
                    **choice_of(self.columns), votes=votes if len(votes) > 1 else ["COLUMN", "COLUMN"]
                )
                advice += f", or with {typed} where each column holds one agent's votes"
        else:
            advice, hint = "", ""
        title = self._header_line(missing)
        if title is not None:
            advice, hint = f"the column names seem to be in line {title}; delete the lines above it", ""
        advice = "; ".join(filter(None, [advice, *self._other_sheets()]))
        needed = f"a table must have a column for {listed}"
        known = ", ".join(name for name in sheet.names if name) or "none"
        known = shortened(known, max(80, LONGEST - len(needed) - 6 - len(hint) - len(advice)))
        return missing[0], Advised(needed, advice, got=f"{known}{hint}")

    def _other_sheets(self) -> list[str]:
        """Say which sheets were not read, and what to type for one of them."""
        return [
            f"{note} (sheet=, --sheet, reads another)"
            for note in self.sheet.notes
            if kind_of(note) == FIRST_SHEET
        ]

    def _chosen_with(self, open_fields: Sequence[str]) -> dict[str, str | list[str]]:
        """Return the user's choice with the word COLUMN for each field that is still to be chosen."""
        return choice_of(self.columns) | dict.fromkeys(open_fields, "COLUMN")

    def _header_line(self, missing: Sequence[str]) -> int | None:
        """Return the line of a row near the top that names all missing columns."""
        sheet = self.sheet
        for k in range(min(5, len(sheet.line))):
            texts = {
                plain(column.values[column.codes[k]]) for column in sheet.columns if column.codes[k] >= 0
            }
            if all(texts & {name, *other_names(name)} for name in missing):
                return int(sheet.line[k])
        return None

    def _proposal(self, missing: Sequence[str]) -> tuple[dict[str, str | list[str]] | None, str]:
        """Return a choice of columns with which this table can be read, or which columns may be what."""
        sheet, found, chosen = self.sheet, self.found, choice_of(self.columns)
        if not self.advise or {"votes", "rounds", "scores"} & set(chosen):
            return None, ""
        by_name = {name for name, several in found.columns.items() if several == (name,)}
        made = proposed(sheet, found.columns, {*found.chosen, *by_name}, missing)
        choice = made.choice
        if choice is not None:
            known = {_IN_A_LOG.get(name, name): column for name, column in chosen.items()}
            choice = {**known, **choice}
            if as_option(choice) is not None and _reads(sheet, choice):
                choice = self._shortest(choice)
                if len(to_type(**choice)) < LONGEST - 200:
                    return choice, ""
        told = [
            f"{role} may be {' or '.join(map(repr, names[:3]))}"
            for role, names in made.possible.items()
            if len(names) <= 3
        ]
        return None, f" (by their values {', '.join(told)})" if told else ""

    def _shortest(self, choice: dict[str, str | list[str]]) -> dict[str, str | list[str]]:
        """Leave out what a reader finds by the names even so."""
        sheet, found = self.sheet, self.found
        at = _log_columns(sheet, choice).columns
        for name in [name for name in choice if name not in found.chosen and name in found.columns]:
            less = {each: c for each, c in choice.items() if each != name}
            if less and _log_columns(sheet, less).columns == at:
                choice = less
        return choice

    def _misspelled(self) -> list[Problem]:
        """Return unread columns that are one slip away from a field that no column stands for."""
        known = f"columns must be among {', '.join(TABLE_COLUMNS)}"
        return [
            Problem(
                self.sheet.name,
                1,
                name,
                Advised(known, got=f"{name!r}: did you mean {meant}?"),
                "unknown column",
                (),
                "nothing",
            )
            for name in self.found.unread
            for meant in _NEAR
            if meant not in self.found.columns and is_slip(plain(name), plain(meant))
        ]

    def _unread_label(self, cells: Mapping[str, Coded]) -> list[str]:
        """Warn of a column that was not read and may hold the right answers, where there is no label."""
        name = None if "label" in cells else maybe_label(self.found.unread)
        if name is None or name not in self.sheet.names or "vote" not in cells:
            return []
        told = self.sheet.get(name)
        pairs = np.unique(np.stack([cells["debate"].codes, told.codes])[:, told.codes >= 0], axis=1)
        if not pairs.size or np.bincount(pairs[0]).max() > 1:
            return []
        text = f"{name!r} was not read and has one value in each debate, as right answers have; "
        text += f"if it holds them, add label={name} to columns= (--columns)"
        return [warning(text, UNREAD_LABEL, about="label", examples=[name])]

    def _rivals(self, read: Collection[str]) -> list[str]:
        """Warn of columns with another name of a field, and with other values of its kind than those that were read."""
        sheet, found = self.sheet, self.found
        said: list[str] = []
        for field in _MEASURED:
            own = found.columns.get(field, ())
            if field in found.chosen or len(own) != 1 or own[0] not in sheet.names:
                continue
            names = other_names(field)
            for name in (c for c in found.unread if c in sheet.names and plain(c) in names):
                columns = {c for c in read if c in sheet.names}
                other, taken = _texts(sheet, name), _texts(sheet, own[0])
                if _of_one_kind(other, taken) and not any((other == _texts(sheet, c)).all() for c in columns):
                    text = (
                        f"the columns {own[0]!r} and {name!r} can both be {field}, and their values differ; {own[0]!r} "
                        f"was read; choose one with {to_type(**{field: own[0]})} or {to_type(**{field: name})}"
                    )
                    said.append(warning(text, "two columns", about=field, examples=[own[0], name]))
        return said

    def _beside(self, cells: Mapping[str, Coded]) -> list[Note]:
        """Say how columns that were not read, and that of errors, contradict the votes."""
        names = [name for name in self.found.unread if name in self.sheet.names and tells_of_votes(name)]
        columns = {name: self.sheet.get(name) for name in names}
        if (
            "error" in cells and "protocol" not in cells
        ):  # in a log of debates it may say why a score is missing
            columns["error"] = cells["error"]
        if not columns or "vote" not in cells:
            return []
        places = [cells[name] for name in ("debate", "round") if name in cells]
        return beside_votes(columns, cells["vote"], cells.get("label"), places)

    def _few_questions(self, cells: Mapping[str, Coded]) -> list[str]:
        """Warn where a column that was taken for the question looks like a kind of question, as `task` may be."""
        found = self.found
        (name, *more) = found.columns.get("question", ("question",))
        if more or plain(name) == "question" or "question" in found.chosen:
            return []
        debates, questions = (
            len(np.unique(c.codes[c.codes >= 0])) for c in (cells["debate"], cells["question"])
        )
        if questions * 10 > debates:
            return []
        text = (
            f"{questions} different values in column {name!r} are taken for the questions of {debates} debates; "
            f"if they are kinds of questions, choose {to_type(category=name)}"
        )
        return [warning(text, "few questions", about=name, n=questions)]

    def _doubt(self, cells: Mapping[str, Coded]) -> tuple[str, str, int] | None:
        """Return the field, the message and the line where a column that was taken or is absent cannot be right."""
        sheet, found, columns = self.sheet, self.found, self.columns
        sure = "round" in cells and (found.columns["debate"] == ("debate",) or "debate" in found.chosen)
        if sure and not {"model", "log"} & set(found.columns):
            return None
        again = _repeated(*(cells[name] for name in ("debate", "round", "agent") if name in cells))
        if again is None:
            return None
        who = f"{_at(cells['agent'], again)!r} twice in debate {_at(cells['debate'], again)!r}"
        left = [name for name in found.unread if name]
        line = int(sheet.line[again])
        if "round" not in cells:
            choice, hint = self._proposal(["round"])
            typed = to_type(**(choice or self._chosen_with(["round"])))
            message = "a table in which an agent speaks twice in a debate must have a column round"
            step, hint = typed, f", with {who}{hint}"
            listed = ", ".join(filter(None, sheet.names))
            listed = shortened(listed, max(80, LONGEST - len(message) - len(hint) - len(step) - 6))
            return "round", Advised(message, step, ": ", got=f"{listed}{hint}"), line
        taken = found.columns["debate"]
        # A column that is called debate is one, unless several models or runs played the same debates.
        parts = ("log", "model") if sure else ("question", "log", "model", "role")
        others = [*([] if sure else left), *(c[0] for name, c in found.columns.items() if name in parts)]
        for other in others:
            apart = together([*map(sheet.get, taken), sheet.get(other)])
            if _repeated(apart, cells["round"], cells["agent"]) is None:
                message = "debate must identify each debate"
                got = f"{who} in one round, with debate from {taken[0]!r}"
                if sure:
                    asked = {} if "question" in found.columns or len(taken) > 1 else {"question": taken[0]}
                    typed = to_type(**choice_of(columns) | {"debate": [other, *taken]} | asked)
                    return "debate", Advised(message, f"{typed} has no such row", ": ", got=got), line
                choice, hint = self._proposal([])
                if choice is None:
                    typed = to_type(**choice_of(columns) | {"debate": ["COLUMN", *taken]})
                    return (
                        "debate",
                        Advised(message, f"name the columns with {typed}", ": ", got=got + hint),
                        line,
                    )
                return "debate", Advised(message, f"{to_type(**choice)} has no such row", ": ", got=got), line
        return None


_OF_A_SIDE = re.compile(r"scores?[\W_]+(?P<after>.+)|(?P<before>.+?)[\W_]+scores?", re.IGNORECASE)


def _score_columns(names: Iterable[str]) -> dict[str, str]:
    """Return the columns whose names say the score of a side, such as ``score_pro``, and the side of each."""
    found = ((name, _OF_A_SIDE.fullmatch(name)) for name in names)
    return {name: match["after"] or match["before"] for name, match in found if match is not None}


def _with_scores(sheet: Sheet, found: Resolved) -> tuple[Sheet, Resolved]:
    """Join columns with one side's score each into the column ``scores``.

    They are those that the user chose, or those whose names end or begin in "score" where the rest of the names
    are the sides that the table's labels, answers and votes name. A table of scores needs no agent: it has one judge.
    """
    at = found.columns
    if "scores" not in at:
        sides = _score_columns(found.unread)
        said = [
            t
            for name in ("label", "answers", "vote")
            for c in at.get(name, ())
            for t in sheet.get(c).occurring()
        ]
        known = {plain(side) for text in said if not is_missing_word(text) for side in _sides_of(text)}
        if len(sides) < 2 or not known:
            return sheet, found
        if not known <= set(map(plain, sides.values())):
            names = " and ".join(sorted({text for text in said if not is_missing_word(text)})[:3])
            note = (
                f"no scores were read from {', '.join(sides)}, because labels and votes ({names}) are not the sides "
                f"{', '.join(sides.values())}; if these columns hold the scores of sides, choose them with columns= "
                f"(--columns scores={'+'.join(sides)})"
            )
            told = Note(note, kind=UNREAD_SCORES, n=len(sides), examples=sides)
            return replace(sheet, notes=[*sheet.notes, told]), found
    elif len(at["scores"]) > 1:
        sides = {name: _score_columns([name]).get(name, name) for name in at["scores"]}
    else:
        return sheet, found
    spelled = {
        plain(t): t for c in at.get("label", ()) for t in sheet.get(c).occurring() if not is_missing_word(t)
    }
    sides = {name: spelled.get(plain(side), side) for name, side in sides.items()}
    if len(set(sides.values())) < len(sides):
        raise ColumnError(
            "scores", f"scores must be one column for each side; got {', '.join(sides)} in {sheet.name}"
        )
    pointed = [_pointed(sheet.get(name), name, sheet.may_have_commas, whole=False) for name in sides]
    cells = zip(*(column.to_array() for column, _ in pointed), strict=True)
    points = [
        json.dumps(
            {side: _points(cell) for side, cell in zip(sides.values(), row, strict=True)}, ensure_ascii=False
        )
        if any(cell is not None for cell in row)
        else None
        for row in cells
    ]
    made = {"scores": Coded.of(points)}
    notes: list[str] = [note for _, said in pointed for note in said]
    notes.append(f"scores of {' and '.join(sides.values())} are in the columns {', '.join(sides)}")
    if "answers" not in at and "vote" not in at:
        made["answers"] = Coded.constant(
            0, len(sheet.line), [json.dumps(list(sides.values()), ensure_ascii=False)]
        )
    if "agent" not in at:
        made["agent"] = Coded.constant(0, len(sheet.line), ["judge"])
        notes.append("there is no column for the agent, so all scores are of one judge")
    # No column of the table has these names.
    own = {name: f"{name} of the columns named above" for name in made}
    joint = replace(
        sheet,
        names=[*sheet.names, *own.values()],
        columns=[*sheet.columns, *made.values()],
        notes=[*notes, *sheet.notes],
    )
    return joint, replace(
        found,
        columns={**found.columns, **{name: (column,) for name, column in own.items()}},
        unread=tuple(name for name in found.unread if name not in sides),
    )


def _sides_of(text: str) -> list[str]:
    """Return the answers that a cell names: those of a list, or the one that it is."""
    try:
        listed = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return [text]
    return [str(each) for each in listed] if isinstance(listed, list) else [text]


def _points(cell: str | None) -> dict[str, float | str]:
    """Return one side's points as a log holds them; what is no number stays text, which is refused as such."""
    if cell is None or is_missing_word(cell):
        return {}
    try:
        points = float(cell)
    except ValueError:
        return {"score": cell}
    return {"score": points if math.isfinite(points) else cell}


def _category_of_turns(cells: Mapping[str, Coded], found: Resolved) -> list[str]:
    """Say that a column "category" is about turns and not debates, unless it was asked for; it is then not read."""
    if "category" not in cells or "category" in found.chosen:
        return []
    debate, category = cells["debate"].codes, cells["category"].codes
    given = (debate >= 0) & (category >= 0)
    pairs = np.unique(np.stack([debate[given], category[given]]), axis=1)
    if len(np.unique(pairs[0])) == pairs.shape[1]:
        return []
    (name,) = found.columns["category"]
    return [f"column {name!r} differs within debates, so it is no category of a debate: not read"]


def _without_row_numbers(sheet: Sheet, found: Resolved) -> Resolved:
    """Take a column "id" that numbers the rows of a long table for no debate."""
    at = found.columns.get("debate", ())
    if at and plain(at[0]) in ("id", "idx") and "debate" not in found.chosen:
        codes = sheet.get(at[0]).codes
        if len(codes) > 1 and len(np.unique(codes)) == len(codes):
            return found.without("debate")
    return found


_ERRORS = frozenset(("#REF!", "#N/A", "#DIV/0!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!"))


def _without_errors(sheet: Sheet) -> Sheet:
    """Empty the cells that hold an error of a spreadsheet."""
    columns, notes = [], []
    for name, column in zip(sheet.names, sheet.columns, strict=True):
        if _ERRORS.isdisjoint(column.values):
            columns.append(column)
            continue
        errors = [code for code, text in enumerate(column.values) if text in _ERRORS]
        wrong = np.isin(column.codes, errors)
        if wrong.any():
            column = Coded(np.where(wrong, -1, column.codes).astype(np.int32), column.values)
            which = " and ".join(column.values[code] for code in errors)
            cells = "cell is" if wrong.sum() == 1 else "cells are"
            notes.append(
                f"column {name!r}: {wrong.sum():,} {cells} an error of the spreadsheet ({which}), read as empty"
            )
        columns.append(column)
    return replace(sheet, columns=columns, notes=[*sheet.notes, *notes]) if notes else sheet


_COMMA = re.compile(r"[+-]?[0-9]+(?:,[0-9]+)?")


_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")


def _to_points(cells: Mapping[str, Coded], decimal: bool) -> tuple[dict[str, Coded], list[str]]:
    """Return columns of answers whose `decimal` comma is a point, where all answers are such numbers, and a note.

    Where a comma may stand between thousands, as another answer says, nothing is changed and a warning is returned.
    """
    names = [name for name in ("vote", "label", "first", "decision") if name in cells]
    texts = {t.strip() for name in names for t in cells[name].occurring() if not is_missing_word(t)}
    with_comma = sorted(t for t in texts if "," in t)
    twins = [t for t in with_comma if _GROUPED.fullmatch(t) and t.replace(",", "") in texts]
    if twins:
        other = twins[0].replace(",", "")
        text = f"{twins[0]!r} and {other!r} are two different answers; write each number in one form"
        return {}, [warning(text, "commas in numbers", n=len(twins), examples=[twins[0], other])]
    if not decimal or "answers" in cells or not with_comma or not all(map(_COMMA.fullmatch, texts)):
        return {}, []
    note = (
        f"all answers are numbers with a decimal comma, such as {with_comma[0]!r}, and are read with a "
        "decimal point"
    )
    return {name: _with_point(cells[name]) for name in names}, [note]


def _with_point(column: Coded) -> Coded:
    return column.mapped({text: text.replace(",", ".") for text in column.values})


def _numbers_to_points(
    cells: Mapping[str, Coded], found: Resolved, may_have_commas: bool
) -> tuple[dict[str, Coded], list[Note]]:
    """Return other numbers with a decimal point and without marks between thousands, and notes."""
    changed: dict[str, Coded] = {}
    notes: list[Note] = []
    wholes = ("round", "stop_round", "tokens", "tokens_in", "tokens_out", "tokens_cached")
    for name in (*wholes, "temperature", *CONFIDENCES):
        if name in cells:
            (column, *_) = found.columns.get(name, (name,))
            changed[name], said = _pointed(cells[name], column, may_have_commas, whole=name in wholes)
            notes += said
    return changed, notes


def _pointed(column: Coded, name: str, may_have_commas: bool, *, whole: bool) -> tuple[Coded, list[Note]]:
    """Return a column of numbers in the form of :func:`with_points`, and notes."""
    forms, said = with_points(name, column.occurring(), may_have_commas, whole=whole)
    return column.mapped({text: forms.get(text, text) for text in column.values}) if forms else column, said


def _filled_rows(sheet: Sheet) -> Sheet:
    """Drop rows in which no cell is filled; spreadsheets end with many."""
    if not sheet.columns or any((column.codes >= 0).all() for column in sheet.columns):
        return sheet
    filled = np.any([column.codes >= 0 for column in sheet.columns], axis=0)
    if filled.all():
        return sheet
    columns = [column[filled] for column in sheet.columns]
    n_records = sheet.n_records - int((~filled).sum())
    return replace(sheet, columns=columns, line=sheet.line[filled], n_records=n_records)


def _item_records(sheet: Sheet) -> Records:
    """Read a table with one row per debate."""
    sheet = _filled_rows(sheet)
    found = resolve(sheet.names, ["debate", *_ITEM, "closed", "decision", "stop_reason"], what=sheet.name)
    if "debate" not in found.columns:
        found = found.renamed("question", "debate")
    if "debate" not in found.columns:
        raise ColumnError("debate", f"items must have a column debate; got {', '.join(sheet.names)}")
    rows = _Rows(sheet.name, sheet.line, {name: sheet.get(c[0]) for name, c in found.columns.items()})
    records = replace(rows.records(has_items=True), problems=rows.problems, n_records=sheet.n_records)
    records.notes = [*found.taken_note(), *unread(found.unread)]
    return records


def _at(column: Coded, row: int) -> Any:
    return column.values[column.codes[row]]


def _repeated(*columns: Coded) -> int | None:
    """Return the first row that says the same as one before, in columns that it fills."""
    given = np.flatnonzero(np.all([column.codes >= 0 for column in columns], axis=0))
    key = np.zeros(len(given), dtype=np.int64)
    for column in columns:
        _, key = np.unique(key * (len(column.values) + 1) + column.codes[given], return_inverse=True)
    _, first = np.unique(key, return_index=True)
    again = np.ones(len(key), dtype=np.bool_)
    again[first] = False
    return int(given[np.argmax(again)]) if again.any() else None


class _Rows:
    """The cells of a long table, each different text parsed once; a wrong cell is a problem of its row."""

    def __init__(
        self, name: str, line: Ints, cells: Mapping[str, Coded], from_zero: bool | None = None
    ) -> None:
        self.name, self.line, self.cells, self.from_zero = name, line, dict(cells), from_zero
        self.n = len(line)
        self.wrong: NDArray[np.bool_] = np.zeros(self.n, dtype=np.bool_)
        self.problems: list[Problem] = []
        self.notes: list[str] = []

    def given(self, name: str) -> NDArray[np.bool_]:
        column = self.cells.get(name)
        return np.zeros(self.n, dtype=np.bool_) if column is None else column.codes >= 0

    def refuse(self, rows: NDArray[np.bool_], say: Wrong | Mapping[int, Wrong], codes: Any = None) -> None:
        """Leave out rows that no earlier rule left out; `say` may depend on the code of the cell."""
        for row in np.flatnonzero(rows & ~self.wrong):
            name, requirement, got = say[int(codes[row])] if isinstance(say, Mapping) else say
            shown = repr(got) if len(repr(got)) <= 80 else repr(got)[:77] + "..."
            keys = (self.cells[key] for key in ("debate", "round", "agent") if key in self.cells)
            key = tuple(column.values[column.codes[row]] for column in keys if column.codes[row] >= 0)
            message = Advised(f"{name} {requirement}", got=f"{name}={shown}{how_to_write(name, got)}")
            self.problems.append(Problem(self.name, int(self.line[row]), name, message, "wrong field", key))
        self.wrong |= rows

    def parsed(self, name: str, parse: Any) -> list[Any]:
        """Parse each text of a column; what is wrong leaves its rows out and is None."""
        column = self.cells[name]
        values: list[Any] = []
        wrong: dict[int, Wrong] = {}
        for code, text in enumerate(column.values):
            try:
                values.append(None if is_missing_word(text) else parse(name, text))
            except WrongCell as error:
                values.append(None)
                wrong[code] = error.wrong
        if wrong:
            self.refuse(np.isin(column.codes, list(wrong)), wrong, column.codes)
        self.cells[name] = column = _blanked(column, values, wrong)
        return values

    def numbers(self, name: str, parse: Any) -> NDArray[np.float64]:
        if name not in self.cells or not self.cells[name].values:
            return np.full(self.n, np.nan)
        values = [np.nan if v is None else float(v) for v in self.parsed(name, parse)]
        return np.array([*values, np.nan])[self.cells[name].codes]

    def records(self, has_items: bool) -> Records:
        cells = self.cells
        if not self.given("debate").all():
            self.refuse(~self.given("debate"), ("debate", "must be given", ""))
        answers = (
            _values_of(cells["answers"].codes, self.parsed("answers", to_answers))
            if "answers" in cells
            else None
        )
        played = self._rounds()
        if "scores" in cells:
            cells["scores"] = _values_of(cells["scores"].codes, self.parsed("scores", to_scores))
        columns: dict[str, Any] = {"round": played}
        for name in ("tokens_in", "tokens_out", "tokens_cached"):
            if name in cells:
                columns[name] = self.numbers(name, to_whole)
        if "round" in cells and len(played):
            self._in_range(played, "round")
        parsers = {
            "correct": to_truth,
            "tokens": to_whole,
            "temperature": to_temperature,
            "confidence": to_share,
        }
        for name, parse in parsers.items():
            if name in cells:
                columns[name] = self.numbers(name, parse)
        speaks = self.given("round") if "round" in cells else self.given("agent")
        if not speaks.all():
            for name in _SAID:
                unused = self.given(name) & ~speaks
                if unused.any():
                    got = {
                        k: (name, "must come with a round and an agent", v)
                        for k, v in enumerate(cells[name].values)
                    }
                    self.refuse(unused, got, cells[name].codes)
        verdicts = self._verdicts()
        kept = ~self.wrong
        rows = np.flatnonzero(kept)
        everything = {"debate": cells["debate"], **columns}
        said = (
            "agent",
            "role",
            "vote",
            "scores",
            "tokens_source",
            "model",
            "error",
            "persona",
            *TEXTS["turns"],
        )
        for name in said:
            if name in cells:
                everything[name] = cells[name]
        whole = np.arange(self.n, dtype=np.int64)
        opened = {name: cells[name] for name in ("debate", *_ITEM) if name in cells}
        if answers is not None:
            opened["answers"] = answers
        opened |= self._said_once(opened)
        spoken = kept & speaks
        return Records(
            files=[self.name],
            file=np.zeros(self.n, dtype=np.int64),
            line=self.line,
            items=_part(whole, opened, rows if has_items else rows[:0]),
            turns=_part(whole, everything, np.flatnonzero(spoken)),
            verdicts=_part(whole, *verdicts, kept),
        )

    def _said_once(self, opened: Mapping[str, Coded]) -> dict[str, Coded]:
        """Return columns in which what one row says of a debate holds for its rows that say nothing, and note them."""
        debate = opened["debate"].codes
        filled: dict[str, Coded] = {}
        for name in _ITEM:
            column = opened.get(name)
            if column is None or (column.codes >= 0).all() or not (column.codes >= 0).any():
                continue
            given = np.flatnonzero((column.codes >= 0) & (debate >= 0))[::-1]
            first = np.full(len(opened["debate"].values) + 1, -1, dtype=np.int32)
            first[debate[given]] = column.codes[given]
            codes = np.where((column.codes < 0) & (debate >= 0), first[debate], column.codes).astype(np.int32)
            if (codes != column.codes).any():
                filled[name] = Coded(codes, column.values)
        if filled:
            listed = " and ".join(filled)
            self.notes.append(
                f"{listed}: a value in some rows of a debate also holds for its rows with an empty cell"
            )
        return filled

    def _rounds(self) -> NDArray[np.float64]:
        """Return each row's round, from 1; a table in which a round 0 occurs counts from 0."""
        if "round" not in self.cells:
            return np.ones(self.n)
        column = self.cells["round"]
        zero = any(map(is_zero, column.values)) if self.from_zero is None else self.from_zero
        self.shift = int(zero)
        if zero:
            self.notes.append(f"{self.name}: rounds count from 0 and were shifted to count from 1")
        words = np.array([*map(is_missing_word, column.values), True])
        has_round = ~words[column.codes]
        if (has_round != self.given("agent")).any():
            self.refuse(has_round & ~self.given("agent"), not_given("agent"))
            self.refuse(~has_round & self.given("agent"), not_given("round"))
        played = self.numbers("round", to_whole)
        return played + 1 if zero else played

    shift = 0

    def _in_range(self, played: NDArray[np.float64], name: str) -> None:
        """Leave out rows whose round, counted from 1, is out of range; the message counts as the table does."""
        lowest, highest = 1 - self.shift, _MOST_ROUND - self.shift
        for out, limit in ((played < 1, f">= {lowest}"), (played > _MOST_ROUND, f"<= {highest}")):
            for number in np.unique(played[out]):
                got = int(number) - self.shift
                self.refuse(played == number, (name, f"must be a whole number {limit}", got))

    def _verdicts(self) -> tuple[dict[str, Any], NDArray[np.bool_]]:
        none: dict[str, Any] = {}
        if not {"closed", *_CLOSING} & set(self.cells):
            return none, np.zeros(self.n, dtype=np.bool_)
        stop = self.numbers("stop_round", to_whole) + self.shift
        closed = self.numbers("closed", to_truth)
        said = self.given("decision") | self.given("stop_round") | self.given("stop_reason")
        if ((closed == 0) & said).any():
            texts = self.cells["closed"]
            rule = "must be 1 if a verdict is given"
            self.refuse(
                (closed == 0) & said,
                {k: ("closed", rule, v) for k, v in enumerate(texts.values)},
                texts.codes,
            )
        if "stop_round" in self.cells:
            self._in_range(stop, "stop_round")
        columns: dict[str, Any] = {"debate": self.cells["debate"], "round": stop}
        for name in ("decision", "stop_reason"):
            if name in self.cells:
                columns[name] = self.cells[name]
        return columns, (closed == 1) | (np.isnan(closed) & said)


def _part(whole: Ints, columns: dict[str, Any], at: Any, kept: Any = None) -> Part:
    """Keep some rows, without a copy where all are kept."""
    if kept is not None:
        at = np.flatnonzero(at & kept)
    part = Part(whole, columns) if len(at) == len(whole) else Part(whole, columns)[at]
    if "agent" in part.columns:
        part.columns["round"] = part.columns["round"].astype(np.int64)
    return part


def _blanked(column: Coded, values: Sequence[Any], wrong: Mapping[int, Any]) -> Coded:
    """Take texts that mean missing out of a column."""
    empty = [k for k, value in enumerate(values) if value is None and k not in wrong]
    if not empty:
        return column
    return Coded(np.where(np.isin(column.codes, empty), -1, column.codes).astype(np.int32), column.values)


def _values_of(codes: NDArray[np.int32], values: list[Any]) -> Coded:
    """Code by what texts stand for: two texts may be one list."""
    coder = Coder()
    lookup = np.array([*map(coder.__getitem__, values), -1], dtype=np.int32)
    return Coded(lookup[codes], coder.values_list())
