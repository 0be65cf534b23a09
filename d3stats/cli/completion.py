"""Completion of words in the shell: choices of options, and names of rules, worlds, protocols and bundled logs.

A shell starts the program at every press of the key, so little is imported, and only when it is needed.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import get_args

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


def paper_items(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the papers and items that begin so, for the first word, and then the logs."""
    from d3stats.report.paper import ITEMS, PAPERS

    if ctx.params.get("words"):
        return logs(incomplete)
    return _beginning([*PAPERS, *(name for name, item in ITEMS.items() if item.make is not None)], incomplete)


def formats(incomplete: str) -> list[str]:
    """Return the formats to import that begin so."""
    from d3stats.log.importers import available

    return _beginning([*available(), "list"], incomplete)


def layouts(incomplete: str) -> list[str]:
    """Return the layouts of a file of items that begin so."""
    from d3stats.run.items import FORMATS

    return _beginning(FORMATS, incomplete)


def claims(incomplete: str) -> list[str]:
    """Return the claims that begin so."""
    from d3stats.theory import claims as known

    return _beginning(known(), incomplete)


def words(metavar: str | None) -> list[str] | None:
    """Return the words that an option takes, where it names the place in the library that lists them; else None.

    A place is ``module:name``, of a Literal or of a collection of names; words may precede it, with ``|``.

    Examples
    --------
    >>> words("d3stats.trajectories:Missing"), words("ROLE=NAME")
    (['exclude', 'wrong'], None)
    """
    if metavar is None or "d3stats." not in metavar:
        return None
    found: list[str] = []
    for part in metavar.split("|"):
        module, _, name = part.partition(":")
        known = getattr(import_module(module), name) if name else [part]
        found += get_args(known) or known
    return found


def choice(metavar: str | None) -> Callable[..., list[str]] | None:
    """Return what completes an option with choices, from its place or from ``[COLUMN|one|other]``; else None."""
    if metavar is None:
        return None
    stated = [word for word in metavar.strip("[]").split("|") if not word.rpartition(":")[2].isupper()]
    if "d3stats." not in metavar and not (metavar.startswith("[") and stated):
        return None

    def complete(_context: object, _parameter: object, incomplete: str) -> list[str]:
        known = words(metavar)
        return _beginning(stated if known is None else known, incomplete)

    return complete


def _stated(kind: str, incomplete: str) -> list[str]:
    from d3stats._named import stated

    return _beginning(stated(_FOLDERS[kind]), incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
