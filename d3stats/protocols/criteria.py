"""What judges look at: the six criteria of D3, appendix D.2, each scored from 1 to 20."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["CRITERIA", "as_list"]

CRITERIA = ("relevance", "accuracy", "depth", "clarity", "reasoning", "rebuttal")
"""Relevance to the question; accuracy and sources; depth and completeness; clarity and flow; strength of reasoning
and support; how well the opponent's points are met."""


def as_list(names: Sequence[str]) -> str:
    """Write names as a numbered list.

    Examples
    --------
    >>> print(as_list(["depth", "clarity"]))
    1. depth
    2. clarity
    """
    return "\n".join(f"{i}. {name}" for i, name in enumerate(names, start=1))
