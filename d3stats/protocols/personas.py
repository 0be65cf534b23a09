"""Who sits on a jury? Roles and what they look for; no demographics (D3, appendices D.3 and G)."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path

from d3stats._check import RngLike, as_rng, choice, integer

__all__ = ["DOMAINS", "Persona", "curated", "jury", "personas", "pool"]

DOMAINS = (
    "law",
    "medicine",
    "education",
    "technology",
    "ethics",
    "business",
    "social work",
    "risk analysis",
    "compliance",
)
"""The nine domains of D3's pool (appendix G.1)."""

KINDS = ("curated", "pool", "none")


@dataclass(frozen=True, slots=True)
class Persona:
    """A juror's role.

    Attributes
    ----------
    domain, role : str
    lens : str
        What somebody in that role looks for first.
    """

    domain: str
    role: str
    lens: str


@functools.cache
def _read() -> dict[str, tuple[Persona, ...]]:
    text = Path(__file__).with_name("personas.toml").read_text(encoding="utf-8")
    return {table: tuple(Persona(**row) for row in rows) for table, rows in tomllib.loads(text).items()}


def curated() -> tuple[Persona, ...]:
    """Return the five roles of D3's own jury.

    Examples
    --------
    >>> [persona.domain for persona in curated()]
    ['ethics', 'environment', 'business', 'social work', 'technology']
    """
    return _read()["curated"]


@functools.cache
def pool() -> tuple[Persona, ...]:
    """Return fifty roles over the nine domains, the domains in turn.

    Examples
    --------
    >>> len(pool()), [persona.domain for persona in pool()[:3]]
    (50, ['law', 'medicine', 'education'])
    """
    rows = _read()["pool"]
    before = [sum(other.domain == row.domain for other in rows[:i]) for i, row in enumerate(rows)]
    turn = sorted(range(len(rows)), key=lambda i: (before[i], DOMAINS.index(rows[i].domain)))
    return tuple(rows[i] for i in turn)


def personas(n: int, seed: RngLike = None, *, domain: str | None = None) -> tuple[Persona, ...]:
    """Return distinct roles of the pool.

    Parameters
    ----------
    n : int
        How many, at least 1.
    seed : Generator, int or None
        Draws them at random, as D3 draws its subsets of five; None takes the first, a different domain each.
    domain : str, optional
        From this domain only.

    Raises
    ------
    ValueError
        When there are not so many.

    Examples
    --------
    >>> [persona.role for persona in personas(2, domain="medicine")]
    ['emergency physician', 'epidemiologist']
    >>> personas(5, seed=1) == personas(5, seed=1)
    True
    """
    n = integer("n", n, minimum=1)
    known = pool()
    if domain is not None:
        choice("domain", domain, DOMAINS)
        known = tuple(persona for persona in known if persona.domain == domain)
    if n > len(known):
        where = "the pool" if domain is None else f"the domain {domain!r}"
        raise ValueError(f"n must be at most {len(known)}, the roles of {where}; got n={n}")
    if seed is None:
        return known[:n]
    return tuple(known[i] for i in as_rng(seed).permutation(len(known))[:n])


def jury(jurors: int, personas: str = "curated", seed: int = 0) -> tuple[Persona | None, ...]:
    """Return the roles of a jury.

    Parameters
    ----------
    jurors : int
    personas : {"curated", "pool", "none"}
        D3's five, and after them the pool in its order; or a draw from the pool; or jurors without a role.
    seed : int
        Of the draw.

    Raises
    ------
    ValueError
        When there are not so many roles.

    Examples
    --------
    >>> jury(5) == curated(), jury(2, "none")
    (True, (None, None))
    """
    jurors = integer("jurors", jurors, minimum=0)
    choice("personas", personas, KINDS)
    seed = integer("seed", seed, minimum=0)
    if personas == "none":
        return (None,) * jurors
    known = pool() if personas == "pool" else curated() + pool()
    if jurors > len(known):
        raise ValueError(f"jurors must be at most {len(known)}, the roles there are; got jurors={jurors}")
    return known[:jurors] if personas == "curated" else _drawn(jurors, seed)


@functools.cache
def _drawn(jurors: int, seed: int) -> tuple[Persona, ...]:
    return personas(jurors, seed) if jurors else ()
