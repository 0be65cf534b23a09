"""Numbers as people write them, with a decimal comma or marks between thousands, in a form that a program reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from d3stats.note import Note
from d3stats.values import is_missing_word

__all__ = ["with_points"]

_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_MARKS = re.compile(r"[' \u2019\u00a0\u2009\u202f]")
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:[' \u2019\u00a0\u2009\u202f][0-9]{3})+(?:\.[0-9]+)?")
_WHOLE_POINTED = re.compile(r"[0-9]+,0{1,2}")
_POINTED = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_DOTTED = re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+")


_SEVERAL = 5
"""Fewer different numbers say nothing of how a column is written."""


def with_points(
    name: str, texts: Iterable[str], may_have_commas: bool, *, whole: bool = False
) -> tuple[dict[str, str], list[Note]]:
    """Return the form with a point of each number with a comma, and what to say.

    Where cells are separated by commas, a column whose numbers could all have a comma between thousands stays as it is,
    and a warning says that it was not read as numbers. So does a column of `whole` numbers: what is read is refused.
    """
    written = [text for text in texts if not is_missing_word(text)]
    stripped = [text.strip() for text in written]
    grouped = [text for text in stripped if _GROUPED.fullmatch(text)]
    if grouped and all(_GROUPED.fullmatch(text) or _POINTED.fullmatch(text) for text in stripped):
        text = f"column {name!r} holds numbers with marks between thousands, such as {grouped[0]!r}, read without them"
        note = Note(text, kind="marks between thousands", about=name, n=len(grouped), examples=grouped[:3])
        return {text: _MARKS.sub("", text) for text in written}, [note]
    if not whole and (dotted := _points_between_thousands(stripped)):
        text = f"column {name!r} holds numbers such as {dotted!r}, read with a decimal point; if the point parts "
        text += "thousands, write the numbers without it"
        return {}, [Note(text, kind="points in numbers", severity="warning", about=name, examples=[dotted])]
    if not whole and len(set(stripped)) >= _SEVERAL and all(map(_DOTTED.fullmatch, stripped)):
        text = f"column {name!r} holds numbers with three decimals each, such as {stripped[0]!r}; if the point parts "
        text += "thousands, write the numbers without it"
        return {}, [Note(text, kind="points in numbers", about=name, examples=stripped[:1])]
    commas = [text for text in stripped if _COMMA.fullmatch(text)]
    if not commas or not all(_COMMA.fullmatch(text) or _WHOLE.fullmatch(text) for text in stripped):
        return {}, []
    if whole and not all(map(_WHOLE_POINTED.fullmatch, commas)):
        return {}, []
    if not may_have_commas and all(map(_THOUSANDS.fullmatch, commas)):
        text = f"column {name!r} holds numbers such as {commas[0]!r}, whose comma may be a decimal one or "
        text += (
            "between thousands; they were not read as numbers: write them with a point, or without a comma"
        )
        return {}, [Note(text, kind="commas in numbers", severity="warning", about=name, examples=commas[:3])]
    text = f"column {name!r} holds numbers with a decimal comma, such as {commas[0]!r}, read with a decimal point"
    unclear = all(map(_THOUSANDS.fullmatch, commas))
    text += "; write them without a comma if it parts thousands" if unclear else ""
    note = Note(text, kind="decimal commas", severity="warning" if unclear else "note", about=name, n=len(commas),
                examples=commas[:3])  # fmt: skip
    return {text: text.replace(",", ".") for text in written}, [note]


def _points_between_thousands(texts: Sequence[str]) -> str:
    """Return one of the numbers whose point seems to part thousands, "" where none does.

    All of them have three digits after the point, and none begins with 0; and other numbers have no point and up to
    three digits, or the last digit of all is 0, which a program that writes decimals leaves out or writes everywhere.
    """
    pointed = [text for text in texts if _DOTTED.fullmatch(text)]
    others = [text for text in texts if not _DOTTED.fullmatch(text)]
    few = len(set(pointed)) < _SEVERAL or not all(re.fullmatch("[1-9][0-9]{0,2}", text) for text in others)
    if few or not (others or all(text.endswith("0") for text in pointed)):
        return ""
    return pointed[0]
