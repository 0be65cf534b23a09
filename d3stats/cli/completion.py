"""Completion of words in the shell: names of rules, worlds, protocols and bundled logs.

A shell starts the program at every press of the key, so little is imported, and only when it is needed.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable

import typer

_FOLDERS = {"rules": "d3stats.stopping", "worlds": "d3stats.worlds", "protocols": "d3stats.protocols"}
"""Where the names of each kind are defined, by the command that lists them."""


def rules(incomplete: str) -> list[str]:
    """Return the stopping rules that begin so."""
    return _stated("rules", incomplete)


def worlds(incomplete: str) -> list[str]:
    """Return the synthetic worlds that begin so."""
    return _stated("worlds", incomplete)


def protocols(incomplete: str) -> list[str]:
    """Return the debate protocols that begin so."""
    return _stated("protocols", incomplete)


def listed(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the names that begin so, of the kind that the command lists."""
    return _stated(str(ctx.info_name), incomplete)


def logs(incomplete: str) -> list[str]:
    """Return the bundled logs that begin so, and the files beside them.

    A shell lists files itself only if a program offers nothing, so nothing is returned where no bundled log fits.
    Names that a shell would have to quote, and hidden files, are left to it.
    """
    from d3stats.log.files import BUNDLED

    found = _beginning(BUNDLED, incomplete)
    files = _beginning(os.listdir(), incomplete) if found else []
    plain = [name for name in files if name == shlex.quote(name) and not name.startswith(".")]
    return found + [f"{name}/" if os.path.isdir(name) else name for name in plain]


def _stated(kind: str, incomplete: str) -> list[str]:
    from d3stats._named import stated

    return _beginning(stated(_FOLDERS[kind]), incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
