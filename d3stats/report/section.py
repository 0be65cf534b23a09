"""What a page is made of: sections, and in each a part for every log, with tables, figures and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from d3stats.report.tables import Table

__all__ = ["Entry", "Part", "Picture", "Section"]


@dataclass(frozen=True)
class Picture:
    """A figure as PNG, with what it shows for those who cannot see it."""

    png: bytes
    alt: str
    caption: str


@dataclass(frozen=True)
class Entry:
    """A text of a debate: who says it, what was recorded with it, and the words; all from the log."""

    heading: str
    facts: tuple[str, ...] = ()
    words: str | None = None
    round: int | None = None


@dataclass(frozen=True, eq=False)
class Part:
    """What one log says to the question of a section, or all logs together.

    Attributes
    ----------
    log : str
        The name of the log; "" where the part is about all.
    absent : str
        Why there is nothing to show, in one sentence; "" where there is something.
    lead : tuple of str
        Sentences above the tables.
    warnings : tuple of str
        What stands above everything else.
    tables : tuple of Table
        Tables as people read them.
    frames : mapping of str to DataFrame
        The same tables as data.
    pictures : tuple of Picture
    notes : tuple of str
        Sentences below the tables.
    debates : tuple of (str, tuple of Entry)
        Transcripts, each under its title.
    """

    log: str = ""
    absent: str = ""
    lead: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    frames: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    pictures: tuple[Picture, ...] = ()
    notes: tuple[str, ...] = ()
    debates: tuple[tuple[str, tuple[Entry, ...]], ...] = ()


@dataclass(frozen=True, eq=False)
class Section:
    """A heading, the question that the section answers, and its parts."""

    key: str
    title: str
    question: str
    parts: tuple[Part, ...]
