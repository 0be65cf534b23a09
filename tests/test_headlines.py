"""Every public result answers first: one sentence, in every form, and a short representation."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any

import pytest

import d3stats
from d3stats.note import sentence_of, warning
from d3stats.result import EstimatesResult, Result

FIELDS = ("text", "severity", "kind", "about", "count", "examples")
"""The fields of a note in a dictionary, in order."""
NOTES = ("few", warning("3 votes are odd", "odd votes", about="j1", n=3, examples=["x", "y"]))
NEEDS_AN_EXTRA = {"BayesFit", "BayesMixture", "BayesPaired", "PairedPosterior"}


def modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages(d3stats.__path__, "d3stats."):
        if not found.name.startswith(("d3stats.cli", "d3stats.bridges")) and "._" not in found.name:
            try:
                yield importlib.import_module(found.name)
            except ImportError:  # an extra that is not installed
                continue


def results() -> dict[str, type[Result]]:
    """Every public class of results, by module and name."""
    found = {}
    for module in modules():
        for name in getattr(module, "__all__", ()):
            kind = getattr(module, name)
            if inspect.isclass(kind) and issubclass(kind, Result) and kind not in (Result, EstimatesResult):
                found[f"{kind.__module__}.{kind.__name__}"] = kind
    return found


RESULTS = results()


@cache
def made(kind: type[Result]) -> list[Result]:
    """Return what the examples of a class make of it."""
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(kind) or "")
    space = dict(vars(importlib.import_module(kind.__module__)))
    values: list[Any] = []
    for example in examples:
        try:
            values.append(eval(compile(example.source, kind.__name__, "eval"), space))
        except SyntaxError:
            before = dict(space)
            exec(compile(example.source, kind.__name__, "exec"), space)
            values += [value for name, value in space.items() if before.get(name) is not value]
    return [value for value in values if type(value) is kind]


def lists_of_notes(document: Any, name: str = "") -> Iterator[list[Any]]:
    """Return every list of notes in a document, after a look at the form of each note."""
    if isinstance(document, list):
        if name in ("notes", "warnings"):
            for note in document:
                assert list(note) == [field for field in FIELDS if field in note]
                assert note["severity"] in ("note", "warning")
                assert note["text"]
                assert all(value not in ("", None, []) for value in note.values())
            yield document
        for each in document:
            yield from lists_of_notes(each)
    elif isinstance(document, dict):
        for key, each in document.items():
            yield from lists_of_notes(each, key)


def noted(one: Result) -> Result:
    """Return a result with two notes, where notes are its own and not made of other things."""
    own = {each.name for each in fields(one)} if is_dataclass(one) else set()
    return replace(one, notes=NOTES) if "notes" in own else one  # type: ignore[type-var]


def notes_are_values(found: list[Result]) -> None:
    """The notes of a dictionary are values."""
    for one in map(noted, found):
        listed = list(lists_of_notes(one.to_dict()))
        if "few" not in one.notes:
            continue
        values = next(notes for notes in listed if notes and notes[0]["text"] == "3 votes are odd")
        assert values[0] == {
            "text": "3 votes are odd",
            "severity": "warning",
            "kind": "odd votes",
            "about": "j1",
            "count": 3,
            "examples": ["x", "y"],
        }
        assert {"text": "few", "severity": "note"} in values


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize("name", sorted(RESULTS))
def test_every_public_result_answers_in_one_sentence_in_every_form(name: str) -> None:
    kind = RESULTS[name]
    assert kind.headline is not Result.headline, f"{name} has no headline of its own"
    if kind.__module__.startswith("d3stats.models.bayes"):
        pytest.skip("sampling takes an extra and minutes")
    found = made(kind)
    assert found, f"no example of {name} makes one"
    for one in found:
        headline = one.headline
        assert headline == headline.strip()
        assert "\n" not in headline
        assert len(headline) > 15
        assert "nan" not in headline.lower().split()
        document = one.to_dict()
        assert document["headline"] == headline
        json.dumps(document, allow_nan=False)
        listed = list(lists_of_notes(document))
        assert {note["text"] for notes in listed for note in notes} >= set(map(sentence_of, one.notes))
        assert repr(one).startswith(f"<{kind.__name__}: ")
        assert len(repr(one)) < 700
        assert one.summary().strip()
        assert one._repr_html_()
    notes_are_values(found)
