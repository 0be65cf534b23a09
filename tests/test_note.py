"""What was noticed is a value: warnings keep their kind and severity, and no code reads the text of a note."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from parsed import nodes_on_lines

import d3stats
from d3stats.estimate import named_notes
from d3stats.note import Note, kind_of, sentence_of, severity_of, warning, with_words

PACKAGE = Path(d3stats.__file__).parent


@dataclass(frozen=True)
class _Result:
    notes: tuple[str, ...]


@pytest.mark.parametrize(
    "note",
    [warning("3 votes are odd", "odd votes", n=3, examples=["x"]), Note("WARNING: is a vote", kind="words")],
)
@pytest.mark.parametrize(
    "through",
    [
        lambda note: pickle.loads(pickle.dumps(note)),
        copy.deepcopy,
        lambda note: next(iter(dict.fromkeys([note]))),
        lambda note: replace(_Result((note,))).notes[0],
        lambda note: with_words(note, "", ""),
    ],
)
def test_a_note_keeps_its_values(note: Note, through: object) -> None:
    kept = through(note)  # type: ignore[operator]
    assert kept == note
    assert vars(kept) == vars(note)
    assert json.loads(json.dumps([kept])) == [str(note)]


def test_a_note_joined_into_a_text_keeps_its_severity() -> None:
    odd = warning("votes are odd", "odd votes")
    every = named_notes([("a", [odd]), ("b", [odd]), ("c", [odd, "few"])], "runs")
    assert every == ["all 3 runs: WARNING: votes are odd", "c: few"]
    assert [severity_of(note) for note in every] == ["warning", "note"]
    assert sentence_of(pickle.loads(pickle.dumps(every[0]))) == "all 3 runs: votes are odd"
    assert kind_of(with_words(every[0], "log x: ", ".")) == "odd votes"


# ------------------------------------------------------------------ no text says "warning" without the value


def _turns(n: int = 30) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    rows = [
        (f"d{d}", 1 + r, f"agent {a}", "ABCD"[rng.integers(4)], "abcd"[d % 4])
        for d in range(n)
        for r in range(2)
        for a in range(3)
    ]
    return pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])


def _told() -> Iterator[tuple[str, object]]:
    turns = _turns()
    last = turns[turns["round"] == 2].rename(columns={"debate": "item", "agent": "rater"})
    runs = [pd.DataFrame({"item": range(40), "correct": [k % 2 * odd for k in range(40)]}) for odd in (0, 1)]
    yield "fit", d3stats.fit(turns, n_boot=10).notes
    yield "replay", d3stats.replay(turns, "unanimity").notes
    yield "agreement", d3stats.agreement(last[["item", "rater", "vote"]]).notes
    yield (
        "named",
        named_notes([("a", d3stats.agreement(last[["item", "rater", "vote", "label"]]).notes)], "logs"),
    )
    yield "compare", d3stats.compare(*runs).notes
    yield "open", d3stats.open(turns).trajectories().remarks()


def test_every_printed_warning_is_a_note_with_that_severity() -> None:
    warned = 0
    for name, notes in _told():
        for note in notes:  # type: ignore[attr-defined]
            assert (severity_of(note) == "warning") == ("WARNING: " in note), (name, note)
            assert severity_of(note) == "note" or kind_of(note), (name, note)
            warned += severity_of(note) == "warning"
    assert warned >= 4


@cache
def texts() -> dict[str, str]:
    """Return the text of each file of the package."""
    return {
        path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
        for path in PACKAGE.rglob("*.py")
    }


def test_only_the_class_of_notes_writes_the_word() -> None:
    wrote = [
        path
        for path, text in texts().items()
        for node in nodes_on_lines(text, re.compile("WARNING"))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("WARNING")
    ]
    assert wrote == ["note.py"]


# ------------------------------------------------------------------ no code reads a note

_CUTS = {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "replace",
         "rsplit", "find", "index"}  # fmt: skip
_NOTES = {"note", "remark", "warned", "finding"}
"""Variables that hold the text of a note; so do an attribute ``note`` and a subscript ``["note"]``."""
_TOUCHED = re.compile(r"\b(?:note|remark|warned|finding|sentence|(?:e|estimate|one)\.name)\b")
"""What a line has that reads a note or the name of an estimate."""
ALLOWED: dict[tuple[str, str], str] = {
    ("cli/compare.py", "e.note in note"): "leaves out a reason that a longer note repeats",
    ("cli/power.py", "e.name == 'questions'"): "the one estimate of a plan that is a whole number",
    ("models/bayes/paired.py", "e.name != 'difference'"): "the parameter that is shown first",
    ("report/sections.py", "source.paid.note[1:]"): "begins a sentence with a capital",
}
"""The file and the expression, with the reason."""


def _is_text_of_a_note(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name):
            return name in _NOTES
        case ast.Attribute(attr="note" | "sentence"):
            return True
        case ast.Attribute(attr="name", value=ast.Name(id="e" | "estimate" | "one")):
            return True
        case ast.Subscript(slice=ast.Constant(value="note")):
            return True
        case ast.Call(func=ast.Name(id="str"), args=[inner]):
            return _is_text_of_a_note(inner)
    return False


def _cuts(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        if not isinstance(node, ast.Call | ast.Subscript | ast.Compare):
            continue
        match node:
            case ast.Call(func=ast.Attribute(attr=attr, value=value)) if attr in _CUTS:
                if _is_text_of_a_note(value):
                    yield node
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re")), args=args):
                if any(map(_is_text_of_a_note, args)):
                    yield node
            case ast.Subscript(value=value, slice=ast.Slice()) if _is_text_of_a_note(value):
                yield node
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[right]):
                if _is_text_of_a_note(right) or (
                    isinstance(left, ast.Constant) and _is_text_of_a_note(right)
                ):
                    yield node
            case ast.Compare(left=left, comparators=[right]):
                for text, other in ((left, right), (right, left)):
                    if (
                        _is_text_of_a_note(text)
                        and isinstance(other, ast.Constant)
                        and other.value not in ("", None)
                    ):
                        yield node


def test_the_search_finds_each_way_of_reading_a_note() -> None:
    ways = [
        "note.startswith('WARNING')", "e.note.split(';')", "'scores' in note", "why in e.note", "note[:3]",
        "re.match('x', note)", "note == 'few'", "e.name.removeprefix('b')", "row['note'].partition(':')",
    ]  # fmt: skip
    assert [len(list(_cuts(nodes_on_lines(way, _TOUCHED)))) for way in ways] == [1] * len(ways)
    fine = [
        "note in notes",
        "severity_of(note) == 'warning'",
        "note.kind == 'x'",
        "e.name == name",
        "e.note == ''",
    ]
    assert not [way for way in fine if list(_cuts(ast.walk(ast.parse(way))))]


def test_no_code_reads_the_text_of_a_note_or_the_name_of_an_estimate() -> None:
    found = {
        (path, ast.unparse(node))
        for path, text in texts().items()
        for node in _cuts(nodes_on_lines(text, _TOUCHED))
    }
    assert found == set(ALLOWED)


def test_no_code_takes_a_refusal_apart() -> None:
    """Refusals have one form, "requirement; got what"; one that others need in parts is ``Advised``."""
    found = {
        (path, ast.unparse(node))
        for path, text in texts().items()
        for node in nodes_on_lines(text, re.compile("got "))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {*_CUTS, "search", "match", "fullmatch"}
        and any("got " in str(getattr(one, "value", "")) for one in node.args)
    }
    assert not found


def test_a_note_on_missing_votes_stands_only_where_votes_are_missing() -> None:
    whole = _turns()
    whole["label"] = whole["label"].str.upper()
    some = whole.assign(vote=whole["vote"].where(np.arange(len(whole)) % 20 > 0))
    told = [
        [note for note in d3stats.fit(turns, n_boot=10).notes if kind_of(note) == "missing values"]
        for turns in (whole, some)
    ]
    assert told[0] == []
    assert [note.startswith("9 of 180 votes are missing") for note in told[1]] == [True]
