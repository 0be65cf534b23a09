"""Which claims are there: every module of this room that has ``CLAIMS`` adds its own, and needs no list."""

from __future__ import annotations

import difflib
import pkgutil
from functools import cache
from importlib import import_module

from d3stats.theory.claim import Claim
from d3stats.theory.sources import place_of

__all__ = ["as_claim", "claim", "claims"]


def claims() -> dict[str, Claim]:
    """Return every claim by its name: D3, the advocates paper, stability, Debate or Vote, then what is proved here.

    Within a work the order is that of the modules' names and of the claims in each.

    Returns
    -------
    dict of str to Claim
        A fresh one; changing it changes nothing else.

    Raises
    ------
    ValueError
        When two claims have one name.

    Examples
    --------
    >>> claims()["sign-agreement"].status
    'holds'
    """
    return dict(_found())


def claim(name: str) -> Claim:
    """Return the claim of a name; capitals, spaces and underscores are taken as meant.

    Raises
    ------
    KeyError
        When there is none; the message lists names that are close.

    Examples
    --------
    >>> claim("Sign agreement").title
    'Accuracy and length of the sign-agreement stop'
    >>> claim("sign-agrement")
    Traceback (most recent call last):
        ...
    KeyError: "name must be a claim's; got name='sign-agrement': did you mean sign-agreement, ..."
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a claim's name; got {name!r}")
    known = _found()
    plain = "-".join(name.lower().replace("_", " ").replace("-", " ").split())
    if plain in known:
        return known[plain]
    close = _close(name, list(known))
    hint = f"did you mean {', '.join(close)}?" if close else f"there are {', '.join(known)}"
    raise KeyError(f"name must be a claim's; got name={name!r}: {hint}")


def as_claim(entry: str | Claim) -> Claim:
    """Return a claim, or the one of a name."""
    return entry if isinstance(entry, Claim) else claim(entry)


def _close(name: str, known: list[str]) -> list[str]:
    wanted = name.strip().lower().replace("_", "-").replace(" ", "-")
    if not wanted:
        return []
    inside = [other for other in known if wanted in other]
    return list(dict.fromkeys([*difflib.get_close_matches(wanted, known, n=4, cutoff=0.55), *inside]))[:6]


@cache
def _found() -> dict[str, Claim]:
    import d3stats.theory as room

    listed: list[Claim] = []
    for module in sorted(m.name for m in pkgutil.iter_modules(room.__path__)):
        listed += getattr(import_module(f"{room.__name__}.{module}"), "CLAIMS", ())
    listed.sort(
        key=lambda entry: place_of(entry.source.work)
    )  # stable: modules and claims keep their order within a work
    by_name: dict[str, Claim] = {}
    for entry in listed:
        if entry.name in by_name:
            raise ValueError(f"name must be one claim's alone; got name={entry.name!r} twice")
        by_name[entry.name] = entry
    return by_name
