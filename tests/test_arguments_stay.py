"""No function that reads a source changes what it was given: what it makes of it, it returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import d3stats

PACKAGE = Path(d3stats.__file__).parent
FOLDERS = ("log", "sources", "inputs")

CHANGES = {
    *("append", "appendleft", "extend", "insert", "add", "update", "setdefault", "fill", "put"),
    *("pop", "popitem", "remove", "discard", "clear", "sort", "reverse"),
    *("difference_update", "intersection_update", "symmetric_difference_update"),
}
"""Methods that change their object."""

ALLOWED = {
    ("log/reader.py", "iter_records", "problems"): "the caller's list of what was passed over, as documented",
    ("log/lines.py", "blocks", "problems"): "a generator of blocks has no other way to tell a late problem",
    ("log/columns.py", "_stacked", "known"): "lists of texts that three parts of one log share",
    ("log/table_reader.py", "_confidences", "cells"): "the columns that the reader is making",
    **dict.fromkeys(
        [
            *[
                (f"log/importers/{file}.py", "records", "said")
                for file in ("alpaca_eval", "arena_hard", "lm_eval")
            ],
            *[
                (f"log/importers/{file}.py", "_ratings", "said")
                for file in ("deepeval", "langfuse", "promptfoo")
            ],
            ("log/importers/_pairs.py", "pair_records", "said"),
            ("log/importers/_ratings.py", "_once", "said"),
            ("log/importers/_ratings.py", "rating_records", "said"),
            ("log/importers/alpaca_eval.py", "_winner", "between"),
            ("log/importers/arena_hard.py", "_winner", "much"),
            ("log/importers/chateval.py", "_new", "seen"),
            ("log/importers/chateval.py", "_of_folder", "said"),
            ("log/importers/inspect_logs.py", "records", "said"),
            ("log/importers/lm_eval.py", "_records", "said"),
            ("log/importers/otel.py", "_events", "said"),
        ],
        "what an import left out, counted while its records are given one by one",
    ),
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def parameters(function: Function) -> set[str]:
    of = function.args
    # The dictionary behind ** is the function's own.
    return {one.arg for one in (*of.posonlyargs, *of.args, *of.kwonlyargs)} - {"self", "cls"}


def owner(node: ast.expr) -> str | None:
    """Return the variable of which an attribute or an entry is meant."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def changed(node: ast.AST) -> Iterator[str | None]:
    """Give the variables whose objects a statement or a call changes."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
        yield owner(node.func.value)
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign | ast.Delete):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
    for target in targets:
        for each in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            if isinstance(each, ast.Attribute | ast.Subscript):
                yield owner(each)


def rebound(function: Function) -> dict[str, int]:
    """Return the first line at which each variable gets an object of the function's own."""
    lines: dict[str, int] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            lines[node.id] = min(node.lineno, lines.get(node.id, node.lineno))
    return lines


def changes_of(source: str) -> set[tuple[str, str]]:
    """Return each function of a module that changes an argument, and the argument."""
    found = set()
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, Function):
            continue
        given, own = parameters(function), rebound(function)
        for node in ast.walk(function):
            for name in changed(node):
                line = getattr(node, "lineno", 0)
                is_augmented = isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
                if name in given and (own.get(name, line) >= line or (is_augmented and own[name] == line)):
                    found.add((function.name, name))
    return found


def test_functions_that_read_return_what_they_make() -> None:
    found = {
        (str(path.relative_to(PACKAGE)), *one)
        for folder in FOLDERS
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        for one in changes_of(path.read_text(encoding="utf-8"))
    }
    assert found == set(ALLOWED)


@pytest.mark.parametrize(
    "body",
    [
        "x.append(1)",
        "x[0] = 1",
        "x.notes.append(1)",
        "x.columns['a'] = 1",
        "del x[0]",
        "x += [1]",
        "x.name = 1",
        "x[0] += 1",
        "a, x[0] = 1, 2",
    ],
)
def test_the_search_finds_a_change(body: str) -> None:
    assert changes_of(f"def read(x):\n    {body}\n    return x\n") == {("read", "x")}


@pytest.mark.parametrize(
    "body", ["x = list(x)\n    x.append(1)", "y = x.copy()\n    y.append(1)", "x.get(1)"]
)
def test_the_search_passes_over_own_objects(body: str) -> None:
    assert changes_of(f"def read(x):\n    {body}\n    return x\n") == set()
