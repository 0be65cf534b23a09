"""What agents tell each other: a text of numbers, which only who sees the message can read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["Told", "tell", "told"]


LONGEST_TEXT = 80
"""Bytes of the longest message that agents write, with two numbers beside its words."""


class Told(NamedTuple):
    """What an agent reads out of a message: numbers by name, and how many words others have to read."""

    facts: Mapping[str, float]
    words: float


def tell(words: float, **facts: float) -> str:
    """Write a message.

    Examples
    --------
    >>> tell(71.25, strength=1.5, heard=2)
    'strength 1.5; heard 2; 71.25 words'
    """
    return "; ".join([*(f"{name} {value:.17g}" for name, value in facts.items()), f"{words:.17g} words"])


_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_TOLD = re.compile(rf"(?:[a-z]+ {_NUMBER}; )*{_NUMBER} words")


@lru_cache(maxsize=4096)
def told(text: str) -> Told:
    """Read a message; a text that no synthetic agent wrote has words and says nothing.

    Examples
    --------
    >>> told("strength 1.5; heard 2; 71.25 words").facts["strength"]
    1.5
    >>> told("It depends, really.")
    Told(facts=mappingproxy({}), words=3.0)
    """
    if not _TOLD.fullmatch(text):
        return Told(MappingProxyType({}), float(len(text.split())))
    *facts, words = text.split("; ")
    pairs = (fact.split(" ") for fact in facts)
    return Told(MappingProxyType({name: float(value) for name, value in pairs}), float(words.split(" ")[0]))
