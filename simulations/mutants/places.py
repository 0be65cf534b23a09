"""Places in a source file where one small change makes a mutant, and the changed source.

The operators are those of cosmic-ray, and one of this study that leaves out a keyword argument of a call. A place is a
piece of code and a kind of operator. At a place with several mutants one is drawn, so that an arithmetic sign, with
six, has no more weight than a number.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import parso
from cosmic_ray.operators.operator import Operator
from cosmic_ray.operators.provider import _OPERATORS

GROUPS = (
    *(
        {"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"},
        {"BitOr", "BitAnd", "BitXor"},
        {"RShift", "LShift"},
    ),
    *({"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"}, {"Is", "IsNot"}),
)
"""An operator is replaced by one of its group: a shift in place of a sum is found by every test."""

NOT_USED = {"VariableReplacer", "VariableInserter"}
"""These need the name of a variable."""


class DropKeyword(Operator):  # type: ignore[misc]
    """An operator that leaves out a keyword argument of a call."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the place of a keyword argument."""
        if node.type == "argument" and len(node.children) == 3 and node.children[1].get_code().strip() == "=":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> None:
        """Leave the argument out."""

    @classmethod
    def examples(cls) -> tuple[()]:
        """Return none."""
        return ()


def _operators() -> dict[str, Operator]:
    chosen = {"DropKeyword": DropKeyword()}
    for name, made in _OPERATORS.items():
        parts = name.split("_")
        swaps = parts[0] in ("ReplaceBinaryOperator", "ReplaceComparisonOperator")
        if name in NOT_USED or (swaps and not any(set(parts[1:]) <= group for group in GROUPS)):
            continue
        chosen[name] = made()
    return chosen


OPERATORS = _operators()


def _family(name: str) -> str:
    return name.split("_")[0]


@dataclass(frozen=True)
class Place:
    """One place: where it is, and the operators that change it."""

    file: str
    line: int
    start: tuple[int, int]
    end: tuple[int, int]
    function: str
    family: str
    key: str
    choices: tuple[tuple[str, int, int], ...] = field(repr=False)

    def order(self, seed: int) -> int:
        """Return the place's number in the draw; it does not depend on the other places."""
        return crc32(f"{seed}|{self.key}".encode())


@dataclass(frozen=True)
class Mutant:
    """One mutant: its place, its operator, the line before and after, and the whole source."""

    place: Place
    operator: str
    before: str
    after: str
    source: str = field(repr=False)


def places(file: str, source: str) -> list[Place]:
    """Return the places of a file in order; annotations and blocks for type checkers are not among them."""
    tree = parso.parse(source)
    lines = source.splitlines()
    functions = _functions(source)
    annotations = _annotations(source)
    found: dict[tuple[Any, Any, str], list[tuple[str, int, int]]] = {}
    for number, node in enumerate(_nodes(tree)):
        for name, operator in OPERATORS.items():
            for index, (start, end) in enumerate(operator.mutation_positions(node)):
                if not any(low <= start < high for low, high in annotations):
                    found.setdefault((start, end, _family(name)), []).append((name, number, index))
    seen: Counter[str] = Counter()
    made = []
    for (start, end, family), choices in sorted(found.items()):
        text = lines[start[0] - 1]
        column = start[1] - len(text) + len(text.lstrip())
        key = "|".join([file, functions.get(start[0], ""), family, str(column), text.strip()])
        seen[key] += 1
        made.append(
            Place(
                *(file, start[0], start, end, functions.get(start[0], ""), family),
                f"{key}|{seen[key]}",
                tuple(choices),
            )
        )
    return made


def mutant(place: Place, source: str, seed: int) -> Mutant | None:
    """Return the mutant that is drawn at a place, or None where no choice gives a program."""
    for name, number, index in sorted(
        place.choices, key=lambda c: crc32(f"{seed}|{place.key}|{c[0]}|{c[2]}".encode())
    ):
        changed = _applied(name, number, index, source)
        if changed != source and _is_python(changed):
            before, after = source.splitlines(), changed.splitlines()
            at = place.line - 1
            return Mutant(
                place, name, before[at].strip(), after[at].strip() if at < len(after) else "", changed
            )
    return None


def _applied(name: str, number: int, index: int, source: str) -> str:
    node = next(node for at, node in enumerate(_nodes(parso.parse(source))) if at == number)
    start, end = node.start_pos, node.end_pos
    changed = OPERATORS[name].mutate(node, index)
    text = "" if changed is None else changed.get_code(include_prefix=False).lstrip()
    lines = source.splitlines(keepends=True)
    before = "".join(lines[: start[0] - 1]) + lines[start[0] - 1][: start[1]]
    after = lines[end[0] - 1][end[1] :] + "".join(lines[end[0] :])
    if name == "DropKeyword":
        # With the comma behind it, or the one before it where it is the last.
        shorter = re.sub(r"^\s*,[ \t]*", "", after)
        if shorter == after:
            before = re.sub(r",\s*$", "", before)
        after = shorter
    elif not text:
        before = before.rstrip(" ")
    return before + text + after


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in getattr(node, "children", ()):
        yield from _nodes(child)


def _functions(source: str) -> dict[int, str]:
    # The innermost function or class of each line.
    found: dict[int, str] = {}

    def walk(node: ast.AST, name: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = name
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{name}.{child.name}".strip(".")
                first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                found.update(dict.fromkeys(range(first, (child.end_lineno or first) + 1), inner))
            walk(child, inner)

    walk(ast.parse(source), "")
    return found


def _annotations(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    found: list[ast.AST] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found += [node.returns] if node.returns else []
            arguments = node.args
            every = [
                *arguments.posonlyargs,
                *arguments.args,
                *arguments.kwonlyargs,
                arguments.vararg,
                arguments.kwarg,
            ]
            found += [a.annotation for a in every if a is not None and a.annotation]
        elif isinstance(node, ast.AnnAssign):
            found.append(node.annotation)
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            found.append(node)
    lines = source.splitlines()

    def at(line: int, column: int) -> tuple[int, int]:
        # ast counts bytes, parso characters.
        return line, len(lines[line - 1].encode()[:column].decode())

    return [(at(n.lineno, n.col_offset), at(n.end_lineno, n.end_col_offset)) for n in found]  # type: ignore[attr-defined]


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True
