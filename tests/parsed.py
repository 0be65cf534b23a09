"""Code as syntax trees: each file is parsed once in a process, and only what may hold what is looked for is walked."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate

__all__ = ["nodes_on_lines", "on_lines", "tree_of"]


@cache
def tree_of(text: str) -> ast.Module:
    """Return the syntax tree of a text; no caller may change it."""
    return ast.parse(text)


def on_lines(text: str, pattern: re.Pattern[str]) -> Callable[[ast.AST], bool]:
    """Return what decides whether a line of a node matches a pattern; a node without a place may."""
    found = [0, *accumulate(pattern.search(line) is not None for line in text.split("\n"))]

    def has(node: ast.AST) -> bool:
        first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        return first is None or last is None or found[last] > found[first - 1]

    return has


def nodes_on_lines(text: str, pattern: re.Pattern[str]) -> Iterator[ast.AST]:
    """Yield the nodes of a text that have a line which matches; a text without such a line is not parsed."""
    if not pattern.search(text):
        return
    has = on_lines(text, pattern)
    left: list[ast.AST] = [tree_of(text)]
    while left:
        node = left.pop()
        yield node
        left += [child for child in ast.iter_child_nodes(node) if has(child)]
