"""Output of results: tables and text that fit the terminal, JSON, and a spinner while a command works."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from d3stats._progress import working as working
from d3stats._words import counted, visible, visible_json
from d3stats.log.problems import shortened
from d3stats.note import kind_of, note_values, severity_of, worst_first
from d3stats.report.tables import Table, table_of, without_formulas

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from d3stats.result import Gate, Result

PIPED = 110
"""Columns of prose where there is no terminal; a table in a pipe is as wide as it needs to be."""

WIDEST = 120
"""Columns of prose on a wider terminal: longer lines are hard to read."""

LEAST = 40
"""Columns that prose and tables take on a narrower terminal."""

_NARROW = 14
_TALLEST = 5


def print_json(value: Any) -> None:
    """Write one JSON document to standard output; missing values are null."""
    sys.stdout.write(visible_json(json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False)) + "\n")


def print_document(found: Mapping[str, Any], notes: Sequence[str] = (), **more: Any) -> None:
    """Write a result as JSON, with what else the terminal notes; each note once, the warnings first."""
    own = list(found.get("notes", ()))
    said = {note["text"] for note in own}
    own += [note for note in note_values(notes) if note["text"] not in said]
    print_json({**found, "notes": sorted(own, key=lambda note: note["severity"] != "warning"), **more})


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a table as JSON-ready rows, NaN and NA as None."""
    rows: list[dict[str, Any]] = json.loads(frame.to_json(orient="records", double_precision=15))
    return rows


# ------------------------------------------------------------------------------------------ width


def terminal_columns() -> int | None:
    """Return the width of the terminal in columns, or the value of COLUMNS; None in a pipe."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return max(int(said), LEAST)
    try:
        return max(os.get_terminal_size(sys.stdout.fileno()).columns or 80, LEAST)
    except (OSError, ValueError):  # a pipe, a file, or what stands for one in a test
        return None


def prose_columns(piped: int = PIPED) -> int:
    """Return the width that text may take, in columns."""
    return min(terminal_columns() or piped, WIDEST)


def folded(text: str, room: int, first: str = "", rest: str = "") -> list[str]:
    """Break a text at its spaces into lines of at most `room` columns; a wider word is cut, a huge one shortened.

    Examples
    --------
    >>> folded("0.731 [0.660, 0.801] of 160 debates", 16, "- ", "  ")
    ['- 0.731 [0.660,', '  0.801] of 160', '  debates']
    """
    from rich.cells import cell_len, chop_cells

    lines, line, empty = [], first, True
    for word in map(shortened, text.split()):
        if not empty and cell_len(line) + 1 + cell_len(word) > room:
            lines.append(line)
            line, empty = rest, True
        while empty and cell_len(line) + cell_len(word) > room and cell_len(line) < room:
            part = chop_cells(word, room - cell_len(line))[0]
            part = part[: part.rfind(",") + 1] or part
            lines.append(line + part)
            line, word = rest, word[len(part) :]
        line, empty = line + ("" if empty else " ") + word, False
    return [*lines, line]


def say(text: str = "", *, bold: bool = False, err: bool = False, nl: bool = True) -> None:
    """Write text; a character that would act on a terminal, or hide, is written as its escape."""
    text = visible(text)
    typer.echo(typer.style(text, bold=True) if bold else text, err=err, nl=nl)


def print_text(text: str, first: str = "", rest: str = "", *, bold: bool = False) -> None:
    """Print a sentence, wrapped."""
    for line in folded(visible(text), prose_columns(), first, rest):
        say(line, bold=bold)


def print_notes(notes: Sequence[str]) -> None:
    """Print notes as a list, wrapped."""
    for note in notes:
        print_text(note, "- ", "  ")


def is_warning(note: str) -> bool:
    """Tell whether a note belongs above the tables, because the numbers are probably not what was meant."""
    return severity_of(note) == "warning"


LINES_OF_NOTES = 5
"""Lines that warnings and notes take together without --all, but for one note."""


def print_warnings(notes: Sequence[str], *, everything: bool = True, lines: int = LINES_OF_NOTES) -> int:
    """Print the notes that belong above the tables, and return how many lines they take in a narrow terminal.

    Without `everything`, those that do not fit are named by their kinds.
    """
    shown = above = list(filter(is_warning, notes))
    if not everything and sum(map(_height, above)) > lines:
        cuts = [[*above[:last], _named(above[last:])] for last in range(len(above) - 1, 0, -1)]
        fit = [cut for cut in cuts if sum(map(_height, cut)) <= lines]
        shown = [*fit, *cuts[-1:], above][0]
    print_notes(shown)
    return sum(map(_height, shown))


def _named(warnings: Sequence[str]) -> str:
    kinds = ", ".join(dict.fromkeys(map(kind_of, warnings)))
    return f"{counted(len(warnings), 'more warning')} ({kinds}): --all"


def _height(note: str) -> int:
    return len(folded(note, 80, "- ", "  "))  # the same notes on every terminal


def _fitting(notes: Sequence[str], lines: int) -> int:
    """Return how many of the first notes fit, at least one."""
    heights = list(itertools.accumulate(map(_height, notes)))
    return max(sum(height <= lines for height in heights), min(len(notes), 1))


def print_answer(lines: Sequence[str]) -> None:
    """Print the sentences that answer the question."""
    for number, line in enumerate(lines):
        print_text(line, rest="  ", bold=number == 0)


def print_result(
    found: Result,
    *,
    everything: bool = False,
    notes: Sequence[str] = (),
    tables: Sequence[Table] = (),
    shown: Mapping[str, pd.DataFrame] | None = None,
) -> None:
    """Print a result: the answer, what warns, the main table, and the notes that matter most.

    With `everything`, print all tables and notes. Further `tables` were asked for, so that they are always printed;
    `notes` follow those of the result; `shown` are other tables in place of those of the result.
    """
    every = worst_first(dict.fromkeys([*found.notes, *notes]))
    print_answer(found._answer())
    took = print_warnings(every, everything=everything)
    say()
    tables_by_title = found._shown() if shown is None else shown
    titles = list(tables_by_title)
    further = titles[found._n_main :]
    if caption := found._title():
        print_text(caption)
        say()
    for title in titles if everything else titles[: found._n_main]:
        # A table that is not printed is not made.
        heading = title if everything or found._n_main > 1 else ""
        print_table(*table_of(heading, tables_by_title[title]))
    for table in tables:
        print_table(*table)
    print_some_notes(
        without_warnings(every),
        everything=everything,
        further=0 if everything else len(further),
        lines=LINES_OF_NOTES - took,
    )


def print_tables(
    answer: Sequence[str],
    tables: Sequence[Table],
    notes: Sequence[str],
    *,
    everything: bool,
    main: int = 1,
    asked: Sequence[Table] = (),
    lines: int = LINES_OF_NOTES,
) -> None:
    """Print an answer, what warns, the first `main` tables, the tables that were asked for, and notes."""
    every = worst_first(dict.fromkeys(notes))
    print_answer(answer)
    took = print_warnings(every, everything=everything, lines=lines)
    say()
    for table in [*(tables if everything else tables[:main]), *asked]:
        print_table(*table)
    further = 0 if everything else max(len(tables) - main, 0)
    print_some_notes(without_warnings(every), everything=everything, further=further, lines=lines - took)


def leave(gate: Gate) -> None:
    """End the program with the exit code of a gate: 0 shown, 4 refuted, 5 not decided."""
    if gate.code:
        raise typer.Exit(gate.code)


def print_some_notes(
    notes: Sequence[str], *, everything: bool, further: int = 0, lines: int = LINES_OF_NOTES
) -> None:
    """Print the first notes, and how many more notes and tables there are.

    At least one note is printed where no warning took its lines.
    """
    fit = (
        _fitting(notes, lines)
        if lines == LINES_OF_NOTES
        else sum(height <= lines for height in itertools.accumulate(map(_height, notes)))
    )
    kept = notes if everything else notes[:fit]
    print_notes(kept)
    left = [
        counted(n, noun) for n, noun in ((further, "more table"), (len(notes) - len(kept), "more note")) if n
    ]
    if left:
        print_text(f"{' and '.join(left)}: --all", "- ", "  ")


def tables_of(found: Result) -> list[Table]:
    """Return every table that people read of a result, as LaTeX has them."""
    return list(itertools.starmap(table_of, found._shown().items()))


def without_warnings(notes: Sequence[str], said: Collection[str] = ()) -> list[str]:
    """Return the notes that belong below the tables, without those that were already printed."""
    return [note for note in notes if not is_warning(note) and note not in said]


# ------------------------------------------------------------------------------------------ tables


def print_latex(tables: Sequence[Table]) -> None:
    """Print tables as LaTeX, each after its title as a comment."""
    from d3stats._latex import booktabs

    for title, columns, rows in tables:
        say(f"% {title}\n{booktabs('l' + 'r' * (len(columns) - 1), columns, rows)}")


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; if it does not fit the terminal, print records with one line per value, so that no digit
    is lost.

    Before that, headings and cells of several words are broken into lines.
    """
    from rich.cells import cell_len

    title, columns = visible(title), [visible(name) for name in columns]
    rows = [[visible(cell) for cell in row] for row in rows]
    room = terminal_columns()
    if title:
        for line in [title] if room is None else folded(title, min(room, WIDEST)):
            say(line, bold=True)
        say()
    gap = 3 if room is None or _unbroken(columns, rows) + 3 * (len(columns) - 1) < room else 2
    widths = _widths(columns, rows, room, gap)
    if widths is None:
        _print_records(columns, rows, room or PIPED)
        return
    headed = any(map(str.strip, columns))
    for number, row in enumerate([columns, *rows]):
        if number == 0 and not headed:
            continue
        cells = [_lines(cell, width) for cell, width in zip(row, widths, strict=True)]
        for k in range(max(map(len, cells))):
            padded = []
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True)):
                text = cell[k] if k < len(cell) else ""
                blank = " " * (width - cell_len(text))
                padded.append(blank + text if i and not _is_prose(rows, i) else text + blank)
            say((" " + (" " * gap).join(padded)).rstrip(), bold=number == 0)
        if number == 0:
            say(" " + "─" * (sum(widths) + gap * (len(widths) - 1)))
    say()


def _unbroken(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return the width of all cells side by side, none of them broken into lines but headings."""
    from rich.cells import cell_len

    cells = [[row[i] for row in rows] for i in range(len(columns))]
    return sum(
        max((cell_len(text) for text in (*column, *head.split())), default=0)
        for head, column in zip(columns, cells, strict=True)
    )


def _widths(
    columns: Sequence[str], rows: Sequence[Sequence[str]], room: int | None, gap: int
) -> list[int] | None:
    """Return the width of each column, None where the table cannot fit."""
    from rich.cells import cell_len

    def widest(texts: Sequence[str]) -> int:
        return max((cell_len(line) for text in texts for line in text.split("\n")), default=0)

    def word(texts: Sequence[str]) -> int:
        return widest([part for text in texts for part in text.split()])

    cells = [[row[i] for row in rows] for i in range(len(columns))]
    natural = [max(widest(column), cell_len(head)) for head, column in zip(columns, cells, strict=True)]
    if room is None:
        return natural
    room -= 1 + gap * (len(columns) - 1)
    least = [max(widest(column), word([head])) for head, column in zip(columns, cells, strict=True)]
    for i, column in enumerate(cells):
        if sum(least) > room and _is_prose(rows, i):
            shortest = max(_NARROW, word([columns[i], *column]))
            least[i] = min(least[i], max(shortest, least[i] + room - sum(least)))
            if max(len(_lines(cell, least[i])) for cell in column) > _TALLEST:
                return None
    spare = room - sum(least)
    if spare < 0:
        return None
    for i, width in enumerate(natural):  # what is left goes to heads, from the left
        more = min(max(width - least[i], 0), spare)
        least[i], spare = least[i] + more, spare - more
    return least


def _lines(cell: str, width: int) -> list[str]:
    return [line for part in cell.split("\n") for line in folded(part, width)]


def _is_prose(rows: Sequence[Sequence[str]], column: int) -> bool:
    """Whether a column holds sentences, which may be wrapped, rather than numbers and names."""
    return any(sum(part[:1].isalpha() for part in row[column].split()) > 1 for row in rows)


def _print_records(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> None:
    """Print each row as a list of its values, as psql's expanded display does; empty cells are left out."""
    from rich.cells import cell_len

    label = min(max(map(cell_len, columns[1:])), room // 2)
    for row in rows:
        for line in folded(f"{columns[0]} {row[0]}".strip(), room):
            say(line, bold=True)
        for head, cell in zip(columns[1:], row[1:], strict=True):
            if cell:
                *above, name = folded(head, label + 2, "  ", "  ")
                for line in above:
                    say(line)
                start = f"{name}{' ' * (label + 4 - cell_len(name))}"
                for line in folded(cell, room, start, " " * (label + 4)):
                    say(line)
        say()


# ------------------------------------------------------------------------------------------ else


def csv_text(table: pd.DataFrame) -> str:
    """Return a table as CSV, and print to standard error how many texts a spreadsheet would take for a formula."""
    text, changed = without_formulas(table)
    if changed:
        begin = "begins" if changed == 1 else "begin"
        why = "so that no spreadsheet takes a text for a formula"
        say(f"{counted(changed, 'cell')} of the table {begin} with an apostrophe, {why}", err=True)
    return text


def save_figure(draw: Callable[[], Axes | Figure], path: Path, *, err: bool = True) -> None:
    """Draw in the package's style, write PDF and PNG, and print paths and intervals, by default to standard error."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Whole

    from d3stats.plotting.style import intervals_drawn, save, use_style

    with mpl.rc_context({"backend": "agg"}), use_style():
        drawn = draw()
        whole = drawn if isinstance(drawn, Whole) else drawn.get_figure(root=True)
        assert whole is not None
        pdf, png = save(whole, path)
    intervals = intervals_drawn(whole)
    told = f"; {intervals}" if intervals else ""
    line = f"figure: {pdf} and {png}{told}"
    if err:
        sys.stderr.write(f"{line}\n")
    else:
        print_text(line)
