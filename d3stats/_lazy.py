"""Folders whose public names are loaded when they are first used, so that importing one of them costs little.

The names are those that the folder's ``__init__`` imports for type checkers, under ``if TYPE_CHECKING``: they are
listed once, and mypy sees them.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["homes", "lazy"]

_BLOCK = "if TYPE_CHECKING:"


class _Folder(ModuleType):
    """A package that finds its public names, and its modules, when they are asked for."""

    _HOMES: dict[str, str]

    def __getattr__(self, name: str) -> Any:
        home = self._HOMES.get(name)
        if home not in (None, self.__name__):
            value = getattr(import_module(home), name)
            self.__dict__[name] = value
            return value
        if not name.startswith("_") and find_spec(f"{self.__name__}.{name}") is not None:
            return import_module(f"{self.__name__}.{name}")
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Keep a public name when the module of the same name is imported, as ``plan`` of ``planning/plan.py``."""
        if not (isinstance(value, ModuleType) and self._HOMES.get(name, self.__name__) != self.__name__):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted(self.__all__)


def homes(file: str) -> dict[str, str]:
    """Return the module of each name that a file imports for type checkers.

    Examples
    --------
    >>> import d3stats.planning
    >>> homes(d3stats.planning.__file__)["plan"]
    'd3stats.planning.plan'
    """
    return dict(_homes(file))


@cache
def _homes(file: str) -> dict[str, str]:
    inside, lines = False, []
    for line in Path(file).read_text(encoding="utf-8").splitlines():
        # Only these blocks are parsed: they are a few lines of a file of hundreds.
        inside = line.startswith(_BLOCK) or (inside and line[:1] in ("", " "))
        if inside:
            lines.append(line)
    return {
        alias.asname or alias.name: str(line.module)
        for block in ast.parse("\n".join(lines)).body
        if isinstance(block, ast.If)
        for line in block.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }


def lazy(package: str) -> None:
    """Make a package load its public names when they are first used; it calls this with its ``__name__``."""
    module = sys.modules[package]
    vars(module)["_HOMES"] = homes(str(module.__file__))
    module.__class__ = _Folder
