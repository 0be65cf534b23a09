"""Sections as one HTML page: no script, no request, every character of the data escaped.

Tables that do not fit a narrow screen become a list of records, one line per value, as in the terminal.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

from d3stats._words import visible
from d3stats.note import sentence_of
from d3stats.report.methods import METHODS, REFERENCES
from d3stats.report.section import Entry, Part, Picture, Section
from d3stats.report.tables import Table

__all__ = ["to_page"]

LONGEST_NAME, LONGEST_CELL = 200, 1000
"""Characters of a name, and of a cell of a table; more are cut."""

WIDE, LONGEST_HEAD = 4, 14
"""A table with more columns, and with long cells or longer heads, is shown as records on a narrow screen."""

MANY, WIDEST = 8, 16
"""A table with more columns and short cells is shown as lines of values on a narrow screen, and everywhere."""

_NUMBER = re.compile(r"[-+]?[0-9][-+0-9.,%() \[\]]*")
"""A number with its limits or its noise, which stands on one line."""

_SIZE = re.compile(r'(?:width|height)="([0-9.]+)pt"')

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""The policy for browsers: load nothing from outside the page."""


def to_page(sections: Sequence[Section], logs: Sequence[str], command: str, seed: int) -> str:
    """Return the page."""
    from d3stats import __version__

    title = f"Report on {', '.join(logs)}"
    several = len(logs) > 1
    style = (files("d3stats.report") / "page.css").read_text(encoding="utf-8")
    empty = [s for s in sections if s.parts and all(part.absent for part in s.parts)]
    sections = [s for s in sections if s not in empty]
    keys = [*((s.key, s.title) for s in sections), ("methods", "Methods"), ("made", "About this page")]
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        f"<title>{_line(title)}</title>",
        f"<style>\n{style}</style>",
        "</head>",
        "<body>",
        '<a class="skip" href="#main">Skip to the content</a>',
        "<header>",
        f"<h1>{_line(title)}</h1>",
        f"<p>Made by d3stats {_line(__version__)}, seed {seed}. Every interval is one over questions, not votes.</p>",
        "</header>",
        '<nav aria-label="Contents">',
        "<ul>",
        *(f'<li><a href="#{key}">{_line(name)}</a></li>' for key, name in keys),
        "</ul>",
        "</nav>",
        '<main id="main" tabindex="-1">',
    ]
    for section in sections:
        parts += _section(section, several)
    parts += _methods()
    parts += [
        '<section aria-labelledby="made">',
        '<h2 id="made">About this page</h2>',
        f"<p>d3stats {_line(__version__)}, seed {seed}. The same files, settings and seed give the same page, byte by "
        "byte, with the same versions of the package and of the libraries under it. An option that a note names is "
        "one of the single command: replay, agreement, bias or compare.</p>",
        f"<pre><code>{_line(command)}</code></pre>",
        *_without_result(empty, several),
        "</section>",
        "</main>",
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(parts)


def _line(text: object, longest: int = 10_000) -> str:
    """Escape a text for one line: markup is shown, and what acts or hides is written out."""
    said = str(text)
    cut = said if len(said) <= longest else f"{said[:longest]} [cut]"
    return html.escape(visible(cut, one_line=True))


def _words(text: str) -> str:
    return html.escape(visible(text))


def _name(text: object) -> str:
    """Escape a name; a long one keeps its beginning and its end, in which names differ."""
    said = str(text)
    if len(said) > LONGEST_NAME:
        end = LONGEST_NAME // 3
        said = f"{said[: LONGEST_NAME - end]} [cut] {said[-end:]}"
    return _line(said)


def _section(section: Section, several: bool) -> Iterable[str]:
    yield f'<section aria-labelledby="{section.key}">'
    yield f'<h2 id="{section.key}">{_line(section.title)}</h2>'
    yield f'<p class="question">{_line(section.question)}</p>'
    for number, part in enumerate(section.parts, 1):
        own = several and bool(part.log)
        if own:
            yield f"<h3>{_name(part.log)}</h3>"
        yield from _part(part, 4 if own else 3, number)
    yield "</section>"


def _part(part: Part, level: int, number: int) -> Iterable[str]:
    if part.absent:
        yield f'<p class="absent">{_line(part.absent)}</p>'
        return
    if part.figures:
        yield '<dl class="key">'
        for figure in part.figures:
            yield (
                f"<div><dt>{_name(figure.label)}</dt><dd><strong>{_name(figure.value)}</strong> "
                f"{_line(figure.words, LONGEST_CELL)}</dd></div>"
            )
        yield "</dl>"
    if part.warnings:
        yield '<div class="warning">'
        yield "<p><strong>Read this first</strong></p>"
        yield from _list(map(sentence_of, part.warnings))
        yield "</div>"
    for sentence in part.lead:
        yield f"<p>{_line(sentence)}</p>"
    places = {name: f"debate-{number}-{k}" for k, (name, _) in enumerate(part.debates, 1)}
    names = [_short_title(table[0], part.tables) for table, _ in part.tables]
    for k, (table, how) in enumerate(part.tables):
        shown = _table(table, how, part.log if level > 3 else "", places)
        folded = k != part.shown
        yield from (_folded(names[k], shown) if folded else shown)
    if part.pictures:
        yield '<div class="figures">'
        for picture in part.pictures:
            yield from _picture(picture)
        yield "</div>"
    if part.notes:
        notes = list(dict.fromkeys(part.notes))
        yield from _folded(f"{len(notes)} note{'' if len(notes) == 1 else 's'}", _list(notes))
    for name, entries in part.debates:
        yield from _folded(f"Debate: {name}", _transcript(name, entries, level, places[name]))


def _short_title(title: str, tables: Sequence[tuple[Table, str]]) -> str:
    """Return what a title says before its colon, or, where another table has that too, before its brackets."""
    short = title.split(": ")[0]
    return title.split(" (")[0] if sum(table[0].split(": ")[0] == short for table, _ in tables) > 1 else short


def _folded(title: str, content: Iterable[str]) -> Iterable[str]:
    """Show a part at a click; a link to a place in it opens it."""
    yield "<details>"
    yield f"<summary>{_name(title)}</summary>"
    yield from content
    yield "</details>"


def _without_result(sections: Sequence[Section], several: bool) -> Iterable[str]:
    """Say which sections the data cannot fill, and why."""
    if not sections:
        return
    reasons = []
    for section in sections:
        reasons.append(f"<dt>{_line(section.title)}</dt>")
        for part in section.parts:
            whose = f"{_name(part.log)}: " if several and part.log else ""
            reasons.append(f'<dd class="absent">{whose}{_line(part.absent)}</dd>')
    yield from _folded("Sections that these data cannot fill", ["<dl>", *reasons, "</dl>"])


def _list(sentences: Iterable[str]) -> Iterable[str]:
    yield "<ul>"
    for sentence in dict.fromkeys(sentences):
        yield f"<li>{_line(sentence, 2000)}</li>"
    yield "</ul>"


def _table(table: Table, how: str, log: str, places: Mapping[str, str]) -> Iterable[str]:
    title, heads, rows = table
    label = f"{log}: {title}" if log else title
    # Roles are given in words because a record on a narrow screen is no longer laid out as a table.
    long = any(len(cell) > 6 for row in rows for cell in row[1:]) or max(map(len, heads)) > LONGEST_HEAD
    sentences = any(_is_prose(cell) for row in rows for cell in row[1:])
    records = len(heads) > WIDE and long and sentences
    kind = "records" if records else "flow" if len(heads) > (WIDE if long else MANY) else "grid"
    kind += " wide" if kind == "flow" and len(heads) > WIDEST else ""
    yield f'<div class="table" role="region" tabindex="0" aria-label="{_line(label)}">'
    yield f'<table class="{kind}" role="table">'
    yield f'<caption>{_line(title)} <span class="how">{_line(how)}</span></caption>'
    first, *rest = [head or "what" for head in heads]
    yield '<thead role="rowgroup"><tr role="row">'
    prose = [any(_is_prose(row[k]) for row in rows) for k in range(len(heads))]
    prose[0] = False
    looks = [' class="prose"' if told else "" for told in prose]
    yield "".join(
        f'<th scope="col" role="columnheader"{look}>{_broken(_name(head))}</th>'
        for head, look in zip((first, *rest), looks, strict=True)
    )
    yield "</tr></thead>"
    yield '<tbody role="rowgroup">'
    for row in rows:
        name, *cells = row
        said = "".join(
            f'<td role="cell" data-head="{_name(head)}"{look or _look(cell)}>{_broken(_line(cell, LONGEST_CELL))}</td>'
            for head, cell, look in zip(rest, cells, looks[1:], strict=True)
        )
        linked = f'<a href="#{places[name]}">{_name(name)}</a>' if name in places else _name(name)
        head = f'<th scope="row" role="rowheader" data-head="{_name(heads[0])}">{linked}</th>'
        yield f'<tr role="row">{head}{said}</tr>'
    yield "</tbody>"
    yield "</table>"
    yield "</div>"


def _broken(text: str) -> str:
    """Let a line end after a stroke: shares of many rounds and paths hold no space."""
    return text.replace("/", "/<wbr>")


def _look(cell: str) -> str:
    return ' class="number"' if _NUMBER.fullmatch(cell) else ""


def _is_prose(cell: str) -> bool:
    """Say whether a cell holds a sentence and not a number with its limits."""
    return sum(word[:1].isalpha() for word in cell.split()) > 4


def _picture(picture: Picture) -> Iterable[str]:
    data = base64.b64encode(picture.svg.encode()).decode("ascii")
    width, height = (round(96 / 72 * float(size)) for size in _SIZE.findall(picture.svg)[:2])
    yield "<figure>"
    yield (
        f'<img src="data:image/svg+xml;base64,{data}" width="{width}" height="{height}" '
        f'alt="{_line(picture.alt)}">'
    )
    yield f"<figcaption>{_line(picture.caption)}</figcaption>"
    yield "</figure>"


def _transcript(name: str, entries: Sequence[Entry], level: int, place: str) -> Iterable[str]:
    yield f'<article class="debate" id="{place}">'
    yield f"<h{level}>{_name(f'Debate: {name}')}</h{level}>"
    at: int | None = None
    for entry in entries:
        if entry.round is not None and entry.round != at:
            at = entry.round
            yield f"<h{level + 1}>Round {at}</h{level + 1}>"
        yield '<div class="turn">'
        facts = "".join(f' <span class="fact">{_name(fact)}</span>' for fact in entry.facts)
        yield f"<p><strong>{_name(entry.heading)}</strong>{facts}</p>"
        if entry.words:
            yield f'<blockquote dir="auto">{_words(entry.words)}</blockquote>'
        yield "</div>"
    yield "</article>"


def _methods() -> Iterable[str]:
    yield '<section aria-labelledby="methods">'
    yield '<h2 id="methods">Methods</h2>'
    terms = [
        f"<{tag}>{_line(text)}</{tag}>"
        for pair in METHODS.items()
        for tag, text in zip(("dt", "dd"), pair, strict=True)
    ]
    yield from _folded("Method of each number", ["<dl>", *terms, "</dl>"])
    yield from _folded("References", _list(REFERENCES))
    yield "</section>"
