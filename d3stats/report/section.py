"""The parts of a page: sections, and in each a part for every log, with tables, figures and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from d3stats.report.tables import Table

__all__ = ["Entry", "KeyFigure", "Part", "Picture", "Section"]


@dataclass(frozen=True)
class Picture:
    """A figure as SVG, with what it shows for those who cannot see it."""

    svg: str
    alt: str
    caption: str


@dataclass(frozen=True)
class Entry:
    """A text of a debate: who says it, what was recorded with it, and the words; all from the log."""

    heading: str
    facts: tuple[str, ...] = ()
    words: str | None = None
    round: int | None = None


@dataclass(frozen=True)
class KeyFigure:
    """A number that a reader sees first: what it is, the number, and what it is made of."""

    label: str
    value: str
    words: str


@dataclass(frozen=True, eq=False)
class Part:
    """The answer of one log, or of all logs together, to the question of a section.

    Attributes
    ----------
    log : str
        The name of the log; "" where the part is about all.
    absent : str
        Why there is nothing to show, in one sentence; "" where there is something.
    figures : tuple of KeyFigure
        Numbers above all others.
    warnings : tuple of str
        What a reader must know before the rest.
    lead : tuple of str
        Sentences above the tables.
    tables : tuple of (Table, str)
        Tables as people read them, each with one or two sentences on how to read it.
    shown : int or None
        Which table is open; the others open at a click.
    frames : mapping of str to DataFrame
        The same tables as data.
    pictures : tuple of Picture
    notes : tuple of str
        Sentences below the tables.
    debates : tuple of (str, tuple of Entry)
        Transcripts, each under the name of its debate. A table with this name in a row leads to it.
    """

    log: str = ""
    absent: str = ""
    figures: tuple[KeyFigure, ...] = ()
    warnings: tuple[str, ...] = ()
    lead: tuple[str, ...] = ()
    tables: tuple[tuple[Table, str], ...] = ()
    shown: int | None = 0
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
