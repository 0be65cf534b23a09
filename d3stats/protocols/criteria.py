"""What judges look at: the six criteria of D3, appendix D.2, each scored from 1 to 20."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["CRITERIA", "MEANING", "as_list", "explained"]

MEANING = {
    "relevance": "is it about what was asked?",
    "accuracy": "are its facts right and its sources good?",
    "depth": "how far does it go, and is anything missing?",
    "clarity": "is it well put, each thing in its place?",
    "reasoning": "does one step follow from the other, with facts behind it?",
    "rebuttal": "are the points of the other side met?",
}
"""What each of them asks."""

CRITERIA = tuple(MEANING)
"""Their names, in the order of D3."""


def as_list(names: Sequence[str]) -> str:
    """Write names as a numbered list.

    Examples
    --------
    >>> print(as_list(["depth", "clarity"]))
    1. depth
    2. clarity
    """
    return "\n".join(f"{i}. {name}" for i, name in enumerate(names, start=1))


def explained(names: Sequence[str] = CRITERIA) -> str:
    """Write criteria as a numbered list with what each of them asks.

    Examples
    --------
    >>> print(explained(["relevance"]))
    1. relevance: is it about what was asked?
    """
    return as_list([f"{name}: {MEANING[name]}" for name in names])
