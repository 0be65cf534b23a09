"""Where a value was read: the file and line of each row, to end an error with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from d3stats._words import line_of

__all__ = ["Lines", "place_of"]


class Lines:
    """The file and line of each row of a table; a frame keeps it in its ``attrs``."""

    def __init__(self, files: Sequence[str], file: Any, line: Any) -> None:
        self.files, self.file, self.line = files, file, line

    def __deepcopy__(self, memo: object) -> Lines:
        return self  # pandas copies attrs with every frame


def place_of(frame: pd.DataFrame, row: int | str) -> str:
    """Return the place of a row of a table, to end an error with: file and line, or its number counted from 1.

    `row` counts from 0; the rows of a log are named by their debates.

    Examples
    --------
    >>> place_of(pd.DataFrame({"vote": ["A", "x"]}), 1)
    'at row 2 (counted from 1)'
    """
    if isinstance(row, str):
        return f"in debate {row!r}"
    lines = frame.attrs.get("lines")
    if lines is None:
        return f"at row {row + 1} (counted from 1)"
    file = lines.files[int(lines.file[row])]
    return f"in {line_of(file, int(lines.line[row]))}"
