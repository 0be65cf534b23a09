"""A claim of the literature as an object: what it says, what it assumes, whether it is true, and how one can tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["Assumption", "Claim", "Source", "Status"]

Status = Literal["holds", "holds under", "refuted"]


@dataclass(frozen=True)
class Source:
    """Where a claim is made.

    Attributes
    ----------
    work : str
        Authors or short name, year, and an identifier that can be looked up.
    place : str
        Theorem, section, appendix.
    """

    work: str
    place: str

    def __str__(self) -> str:
        return f"{self.work}, {self.place}"


@dataclass(frozen=True)
class Assumption:
    """One condition of a claim, in words and as a test of an instance."""

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
        if (self.counterexample is None) != (self.status == "holds"):
            raise ValueError(
                f"counterexample must be given unless the claim holds; got status={self.status!r}, "
                f"counterexample={self.counterexample!r} for {self.name}"
            )
        if (self.rescued is not None) != (self.status == "holds under"):
            raise ValueError(
                f"rescued must be given for 'holds under' and only then; got status={self.status!r} "
                f"for {self.name}"
            )

    def fails_on(self, instance: Any) -> bool:
        """Whether the instance satisfies what the source assumes and contradicts what it concludes."""
        return self.admits(instance) and self.margin(instance) < -self.slack

    def admits(self, instance: Any, *, corrected: bool = False) -> bool:
        """Whether the instance satisfies the assumptions, and with `corrected` the missing ones too."""
        asked = self.assumptions + (self.missing if corrected else ())
        return all(assumption.holds(instance) for assumption in asked)
