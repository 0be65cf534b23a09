"""How results are shown: tables for people, JSON for machines, a progress line for what takes a while."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_OPTIONS = {"names": "--name", "measures": "--measure", "round_number": "--round"} | {
    word: f"--{word}"
    for word in (
        "items",
        "repeats",
        "identical",
        "votes",
        "categories",
        "kind",
        "missing",
        "margin",
        "by",
        "value",
    )
}
"""What an argument of the library is called on the command line, where a message may tell to give it."""
_ASKED = re.compile(rf"""\b({"|".join(_OPTIONS)})=(?:(["'])(.*?)\2|\.\.\.|(?=[);,]))""")


def spoken(message: str) -> str:
    """Put options where a message of the library names arguments of Python.

    Examples
    --------
    >>> spoken('To compare on the 3 common items, ask for it: items="intersection".')
    'To compare on the 3 common items, ask for it: --items intersection.'
    """
    return _ASKED.sub(lambda m: f"{_OPTIONS[m[1]]} {m[3]}" if m[3] else _OPTIONS[m[1]], message)


def print_json(value: Any) -> None:
    """Write one JSON document to standard output; missing values are null."""
    sys.stdout.write(json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a table as JSON-ready rows, NaN and NA as None."""
    rows: list[dict[str, Any]] = json.loads(frame.to_json(orient="records", double_precision=15))
    return rows


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table that fits the terminal; without a terminal it is as wide as it needs to be."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=240)
    table = Table(
        # As Text: a name in brackets is no markup.
        title=Text(title, style="bold"),
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1),
    )
    for i, name in enumerate(columns):
        table.add_column(Text(name), justify="left" if i == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def print_notes(notes: Sequence[str]) -> None:
    """Print notes as a list, wrapped."""
    import textwrap

    for note in notes:
        sys.stdout.write(textwrap.fill(spoken(note), 110, initial_indent="- ", subsequent_indent="  ") + "\n")


def print_warnings(notes: Sequence[str]) -> None:
    """Print the notes that belong above the tables."""
    print_notes(list(filter(stands_above, notes)))


def without_warnings(notes: Sequence[str], said: Collection[str] = ()) -> list[str]:
    """Return the notes that belong below the tables, without those that were said already."""
    return [note for note in notes if not stands_above(note) and note not in said]


def stands_above(note: str) -> bool:
    """Say whether a note belongs above the tables: what can hardly be meant, and which column was taken for what."""
    return _ABOVE.search(note) is not None


_ABOVE = re.compile(
    r"WARNING: |(^|: |; )(columns: |columns that were not read: |a wide table: |raters are |there is no column "
    r"|the first sheet, )"
)


def save_figure(draw: Callable[[], Axes | Figure], path: Path, *, err: bool = True) -> None:
    """Draw in the package's style, write the figure as PDF and PNG, and say where, by default on standard error."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Whole

    from d3stats.plotting.style import save, use_style

    with mpl.rc_context({"backend": "agg"}), use_style():
        drawn = draw()
        whole = drawn if isinstance(drawn, Whole) else drawn.get_figure(root=True)
        assert whole is not None
        pdf, png = save(whole, path)
    (sys.stderr if err else sys.stdout).write(f"figure: {pdf} and {png}\n")


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner on the terminal while something runs; silent when standard error is not a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(what):
            yield
    else:
        yield


def line_width() -> int:
    """Characters of a line of the terminal, 80 without one; longer lines than 100 are hard to read."""
    import shutil

    return max(40, min(shutil.get_terminal_size().columns, 100))


def estimate(value: float, lower: float, upper: float, digits: int = 3) -> str:
    """Write an estimate with its interval where it has one; a dash stands for what could not be estimated."""
    if value != value:  # NaN: nothing could be estimated
        return "-"
    bare = f"{value:.{digits}f}"
    return bare if lower != lower else f"{bare} [{lower:.{digits}f}, {upper:.{digits}f}]"
