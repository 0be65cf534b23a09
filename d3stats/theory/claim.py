"""A claim of the literature as an object, the works that claims are from, and the catalogue of all claims.

A claim is data: words, a formula, assumptions as tests, a margin that is negative exactly where the
conclusion fails, a strategy that makes instances, and a status. A claim that "holds" survives generated examples. A
claim that is "refuted" is found false by a search that does not know its counterexample. A claim that "holds under" a
missing condition is found false without it and survives with it. Strict claims are read in their weak form, so that
equality refutes nothing (claims about whole numbers excepted, where the page says so).
"""

from __future__ import annotations

import difflib
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "ADVOCATES",
    "D3",
    "DEBATE_OR_VOTE",
    "HERE",
    "STABILITY",
    "WORKS",
    "Assumption",
    "Claim",
    "Source",
    "Status",
    "as_claim",
    "claim",
    "claims",
    "position_of_work",
    "short_name",
]

Status = Literal["holds", "holds under", "refuted"]

D3 = "Harrasse, Bandi and Bandi (D3), arXiv 2410.04663 (version 3 on, full text)"
ADVOCATES = (
    "Optimal Architectures for Judging LLM Outputs Using LLMs (the advocates paper), arXiv 2410.04663 (versions 1 and "
    "2, full text)"
)
STABILITY = "Hu et al. (2025), arXiv 2510.12697 (a summary)"
DEBATE_OR_VOTE = "Choi, Zhu and Li (2025), Debate or Vote, arXiv 2508.17536 (its abstract)"
"""A work, its version, and in brackets what of it was read: a verdict is about no more than that."""
HERE = "d3stats"
"""For what is stated and proved in this package: a correction, a formula that a source left out."""

WORKS = (D3, ADVOCATES, STABILITY, DEBATE_OR_VOTE, HERE)

_SHORT = ("D3", "advocates", "stability", "debate or vote", "d3stats")


def position_of_work(work: str) -> int:
    """Return the position of a work among `WORKS`, matched by text or arXiv number; after all of them if unknown.

    Examples
    --------
    >>> position_of_work(STABILITY), position_of_work("version 2 of arXiv 2510.12697"), position_of_work("folklore")
    (2, 2, 5)
    """
    if work in WORKS:
        return WORKS.index(work)
    numbers = [re.search(r"\d{4}\.\d{5}", known) for known in WORKS]
    named = [k for k, number in enumerate(numbers) if number is not None and number.group() in work]
    # Two works have one number: the first two versions of D3 are the advocates paper.
    if WORKS.index(ADVOCATES) in named and re.search(r"2410\.04663v[12]\b", work):
        return WORKS.index(ADVOCATES)
    return named[0] if named else len(WORKS)


def short_name(work: str) -> str:
    """Return the name of a work in a word or two, for tables.

    Examples
    --------
    >>> short_name(DEBATE_OR_VOTE), short_name("Shaked and Shanthikumar (1998), theorem 2.1")
    ('debate or vote', 'Shaked and Shanthikumar (1998)')
    """
    position = position_of_work(work)
    return _SHORT[position] if position < len(_SHORT) else work.split(", ")[0]


@dataclass(frozen=True)
class Source:
    """Where a claim is made.

    Attributes
    ----------
    work : str
        Authors or short name, year, and an identifier that can be looked up.
    place : str
        Theorem, section, appendix.

    Examples
    --------
    >>> print(Source("Condorcet (1785)", "jury theorem"))
    Condorcet (1785), jury theorem
    """

    work: str
    place: str

    def __str__(self) -> str:
        return f"{self.work}, {self.place}"


@dataclass(frozen=True)
class Assumption:
    """One condition of a claim, in words and as a test of an instance.

    Attributes
    ----------
    words : str
        The condition.
    holds : callable
        From an instance to whether it satisfies the condition.

    Examples
    --------
    >>> Assumption("x >= 0", lambda x: x >= 0).holds(-1)
    False
    """

    words: str
    holds: Callable[[Any], bool] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement about debates that can be checked on instances.

    An instance is a frozen value with a readable ``str``: a pair of score laws and a k, a prior and a sequence of
    successes, a panel. Strategies make instances that satisfy the assumptions by construction.

    Attributes
    ----------
    name : str
        What ``d3stats theorems NAME`` takes.
    title : str
        A few words.
    source : Source
        Where it is claimed; for a correction, where it is proved.
    statement : str
        The claim in our words, formulas in plain text.
    latex : str
        Its formula, without dollar signs.
    assumptions : tuple of Assumption
        What the source assumes.
    status : {"holds", "holds under", "refuted"}
        "holds under" means: false as claimed, true with `missing` added.
    quantities : callable
        Instance to named numbers: all that a reader wants to see of it.
    margin : callable
        Instance to a number: >= 0 where the conclusion is true of it, in its weak form, < 0 where it fails.
    slack : float
        Numerical error of the margin: a claim fails on an instance when its margin is below -slack.
    instances : callable
        Returns the strategy of instances that satisfy `assumptions`.
    missing : tuple of Assumption
        For "holds under": what has to be added.
    rescued : callable, optional
        For "holds under": returns the strategy of instances that satisfy `assumptions` and `missing`.
    counterexample : object, optional
        The smallest instance known on which the claim fails; None for a claim that holds.
    corrected : str
        What is true instead, or what to use instead.
    correction : tuple of str
        Names of the claims that replace this one.
    proof : str
        Sketch of the proof; for a refuted claim, the step that breaks.

    Examples
    --------
    >>> from d3stats.theory import claim
    >>> three = claim("sign-agreement-beats-three")
    >>> str(three.source)[:7], three.status, len(three.assumptions)
    ('d3stats', 'holds', 2)
    >>> false = claim("more-advocates-rank-better")
    >>> false.fails_on(false.counterexample), false.admits(false.counterexample)
    (True, True)
    """

    name: str
    title: str
    source: Source
    statement: str
    latex: str
    assumptions: tuple[Assumption, ...]
    status: Status
    quantities: Callable[[Any], Mapping[str, float]] = field(repr=False)
    margin: Callable[[Any], float] = field(repr=False)
    instances: Callable[[], SearchStrategy[Any]] = field(repr=False)
    slack: float = 1e-9
    missing: tuple[Assumption, ...] = ()
    rescued: Callable[[], SearchStrategy[Any]] | None = field(default=None, repr=False)
    counterexample: Any | None = None
    corrected: str = ""
    correction: tuple[str, ...] = ()
    proof: str = ""

    def __post_init__(self) -> None:
        got = f"got status={self.status!r}"
        if (self.counterexample is None) != (self.status == "holds"):
            got += f", counterexample={self.counterexample!r} for {self.name}"
            raise ValueError(f"counterexample must be given unless the claim holds; {got}")
        if (self.rescued is not None) != (self.status == "holds under"):
            raise ValueError(f"rescued must be given for 'holds under' and only then; {got} for {self.name}")

    def fails_on(self, instance: Any) -> bool:
        """Whether the instance satisfies what the source assumes and contradicts what it concludes."""
        return self.admits(instance) and self.margin(instance) < -self.slack

    def admits(self, instance: Any, *, corrected: bool = False) -> bool:
        """Whether the instance satisfies the assumptions, and with `corrected` the missing ones too."""
        asked = self.assumptions + (self.missing if corrected else ())
        return all(assumption.holds(instance) for assumption in asked)


def claims() -> dict[str, Claim]:
    """Return a new dictionary of every claim by its name, read from the modules of ``d3stats.theory.claims``.

    The order is that of the works (D3, the advocates paper, stability, Debate or Vote, what is proved here), then
    that of the modules and of the claims in each.

    Returns
    -------
    dict of str to Claim

    Examples
    --------
    >>> claims()["sign-agreement"].status
    'holds'
    """
    return dict(_catalogue())


def claim(name: str) -> Claim:
    """Return the claim with a name; capitals, spaces and underscores do not matter.

    Parameters
    ----------
    name : str
        As ``d3stats theorems`` lists it.

    Returns
    -------
    Claim

    Raises
    ------
    KeyError
        When no claim has the name; the message lists names that are close.

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
    known = _catalogue()
    plain = "-".join(name.lower().replace("_", " ").replace("-", " ").split())
    if plain in known:
        return known[plain]
    close = _close_names(name, list(known))
    hint = f"did you mean {', '.join(close)}?" if close else f"there are {', '.join(known)}"
    raise KeyError(f"name must be a claim's; got name={name!r}: {hint}")


def as_claim(entry: str | Claim) -> Claim:
    """Return a claim, or the one of a name."""
    return entry if isinstance(entry, Claim) else claim(entry)


def _close_names(name: str, known: list[str]) -> list[str]:
    wanted = name.strip().lower().replace("_", "-").replace(" ", "-")
    if not wanted:
        return []
    inside = [other for other in known if wanted in other]
    return list(dict.fromkeys([*difflib.get_close_matches(wanted, known, n=4, cutoff=0.55), *inside]))[:6]


@cache
def _catalogue() -> dict[str, Claim]:
    package = import_module("d3stats.theory.claims")
    modules = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    every: list[Claim] = []
    for module in modules:
        every += getattr(import_module(f"{package.__name__}.{module}"), "CLAIMS", ())
    by_name: dict[str, Claim] = {}
    # A stable sort: within a work, modules and claims keep their order.
    for entry in sorted(every, key=lambda entry: position_of_work(entry.source.work)):
        if entry.name in by_name:
            raise ValueError(f"name must be one claim's alone; got name={entry.name!r} twice")
        by_name[entry.name] = entry
    return by_name
