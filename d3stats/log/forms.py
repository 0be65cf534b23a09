"""Answers and names of a log in canonical form (see ``values.py``): written so by the exact reader, asked by the fast.

Votes, labels, declared answers, the candidate shown first and decisions are compared with each other, so they get
their form together. Questions, clusters, logs and roles are names. Debates and agents are names for which no word
means missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from d3stats.log.engine import quoted
from d3stats.values import canonical, missing_words

if TYPE_CHECKING:
    import duckdb

    from d3stats.log.reference import Gathered

__all__ = ["ANSWERS", "NAMES", "settle", "settled_notes"]

ANSWERS = ("vote", "label", "first", "decision", "answers")
NAMES = ("question", "cluster", "log", "role")
_KEYS = ("debate", "agent")
_SAID = ("votes", "labels", "candidates shown first", "decisions", "answers")

MOST = 200_000
"""Different values of a column up to which they are looked at one by one."""


def settle(gathered: Gathered, missing_values: Iterable[str] | None = None) -> None:
    """Write every record's answers and names in canonical form, and note what changed by it."""
    parts = [part for row in gathered.rows for part in (row.item, row.turn, row.verdict) if part is not None]
    for name in _KEYS:
        read = canonical([part[name] for part in parts if name in part], missing_values=(), names=True)
        for part in parts:
            if name in part:
                # A name of spaces alone stays as it is written: a record needs one.
                part[name] = read.forms[part[name]] or part[name]
        gathered.notes += read.notes(f"{name}s")
    items = [row.item for row in gathered.rows if row.item is not None]
    turns = [row.turn for row in gathered.rows if row.turn is not None]
    for name in NAMES:
        parts_here = turns if name == "role" else items
        given = dict.fromkeys((part["debate"], part[name]) for part in parts_here)
        read = canonical([value for _, value in given], missing_values=missing_values, names=True)
        for part in parts_here:
            if part[name] is not None:
                part[name] = read.forms[part[name]]
        gathered.notes += read.notes(f"{name}s")
    for item in items:
        item["question"] = item["question"] or item["debate"]

    def once(name: str) -> list[str | None]:
        """Return a field of each debate; a table repeats it on each of the debate's rows."""
        return [value for _, value in dict.fromkeys((p["debate"], p[name]) for p in parts if name in p)]

    declared = list(dict.fromkeys(a for p in items for a in p["answers"] or ()))
    read = canonical(
        [turn["vote"] for turn in turns],
        once("label"),
        once("first"),
        once("decision"),
        declared,
        missing_values=missing_values,
        keep=declared,
    )
    for part in parts:
        for name in ("vote", "label", "first", "decision"):
            if part.get(name) is not None:
                part[name] = read.forms[part[name]]
        if part.get("answers") is not None:
            # Two spellings of one answer are one answer.
            forms = dict.fromkeys(read.forms[answer] for answer in part["answers"])
            part["answers"] = tuple(form for form in forms if form is not None)
    gathered.notes += read.notes(*_SAID)


def settled_notes(
    con: duckdb.DuckDBPyConnection, columns: Mapping[str, str], missing_values: Iterable[str] | None = None
) -> list[str] | None:
    """Return the notes on a log whose values are all in canonical form already; None where one may not be.

    `columns` holds a query for each field that selects its values as ``v``; answers are JSON.
    """
    words = missing_words(missing_values)
    odd = rf"""NOT regexp_full_match(v, '[!-~]+( [!-~]+)*') OR regexp_full_match(v, '-?[0-9]+\.0*')
        OR lower(v) IN ({", ".join(map(quoted, sorted(words)))})"""
    answers: dict[str, None] = {}
    declared: dict[str, None] = {}
    for name, query in columns.items():
        where = "v IS NOT NULL" if name in ANSWERS else f"v IS NOT NULL AND ({odd})"
        found = con.execute(f"SELECT DISTINCT v FROM ({query}) WHERE {where} LIMIT {MOST + 1}").fetchall()
        if len(found) > MOST:
            return None
        values = [text for (text,) in found]
        if name == "answers":
            for several in map(json.loads, values):
                declared |= dict.fromkeys(several)
        elif name in ANSWERS:
            answers |= dict.fromkeys(values)
        else:
            meaning = () if name in _KEYS else words
            if canonical(values, missing_values=meaning, names=True).columns[0].tolist() != values:
                return None
    every = list(answers | declared)
    settled = canonical(every, missing_values=words, keep=declared)
    return settled.notes(*_SAID) if settled.columns[0].tolist() == every else None
