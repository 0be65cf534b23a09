"""What the defences in a transcript come to for whoever reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from d3stats.agents.request import Message
from d3stats.agents.synthetic.texts import told
from d3stats.simulate.courtroom import aggregate

__all__ = ["SILENCE", "Heard", "heard_by_round", "joined"]


class Heard(NamedTuple):
    """What a round's defences come to: strength and rounds of feedback built on, for A and for B."""

    strength: tuple[float, float]
    feedback: tuple[float, float]


SILENCE = Heard((0.0, 0.0), (0.0, 0.0))
"""Nobody argued: the answers stand as they are, and no more of the gap shows than before any feedback."""


def heard_by_round(seen: Sequence[Message], sides: Sequence[str], temperature: float) -> dict[int, Heard]:
    """Return what the defences in these messages come to, by round.

    Where a side's defences were aggregated, the joint one counts; otherwise several become one by the softmax of
    the world. A side that said nothing has strength 0; it builds on as much feedback as the other.
    """
    single: dict[int, dict[str, list[tuple[float, float]]]] = {}
    joint: dict[int, dict[str, tuple[float, float]]] = {}
    for message in seen:
        if message.side is None:
            continue
        facts = told(message.text).facts
        if "joint" in facts:
            joint.setdefault(message.round, {})[message.side] = facts["joint"], facts.get("heard", 0.0)
        elif "strength" in facts:
            defence = facts["strength"], facts.get("heard", 0.0)
            single.setdefault(message.round, {}).setdefault(message.side, []).append(defence)
    for number, by_side in single.items():
        of_round = joint.setdefault(number, {})
        for side, defences in by_side.items():
            of_round.setdefault(side, joined(defences, temperature))
    return {number: _both(by_side.get(sides[0]), by_side.get(sides[1])) for number, by_side in joint.items()}


def joined(defences: Sequence[tuple[float, float]], temperature: float) -> tuple[float, float]:
    """Return the strength of several defences of a side by the softmax, and the most feedback that one builds on."""
    if len(defences) == 1:
        return defences[0]
    strength = float(aggregate(np.array([x for x, _ in defences]), temperature))
    return strength, max(heard for _, heard in defences)


def _both(a: tuple[float, float] | None, b: tuple[float, float] | None) -> Heard:
    if a is None:
        a = (0.0, b[1] if b else 0.0)
    if b is None:
        b = (0.0, a[1])
    return Heard((a[0], b[0]), (a[1], b[1]))
