"""A log as arrays with its recorded decisions, and what it says of its questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from d3stats.inputs.questions import Questions
from d3stats.inputs.recorded import RecordedLog
from d3stats.trajectories import Trajectories

if TYPE_CHECKING:
    from d3stats.log.consistency import Checked

__all__ = ["questions_of", "recorded_of"]


def recorded_of(checked: Checked, t: Trajectories) -> RecordedLog:
    """Return the arrays of a log with the decisions and what else its columns say."""
    said = dict(
        zip(
            checked.verdicts.coded("debate").to_array(),
            checked.verdicts.coded("decision").to_array(),
            strict=True,
        )
    )
    decision = np.array([said.get(name) for name in t.debates], dtype=object)
    answers = checked.coding == "answers"
    cast = checked.turns.coded("vote").codes >= 0 if answers else checked.turns.numbers("correct") >= 0
    voting = checked.turns.coded("role")[cast].occurring()
    return RecordedLog(t, decision, tuple(sorted(voting)), questions_of(checked))


def questions_of(source: Any, name: str = "") -> Questions:
    """Return what a log says of its debates.

    Examples
    --------
    >>> from d3stats import Trajectories
    >>> questions_of(Trajectories.from_arrays([[["A", "B"]]], ["A"], debates=["d"]), "one").of("label")
    {'d': frozenset({'A'})}
    """
    if hasattr(source, "to_checked"):
        source = source.to_checked()
    if hasattr(source, "verdicts") and hasattr(source, "turns"):
        return _questions_of_log(source, name)
    t: Any = source
    words = np.array([*t.answers, None], dtype=object)
    asked = t.questions or ("",) * len(t)
    return Questions(
        name,
        t.debates,
        tuple(question or debate for question, debate in zip(asked, t.debates, strict=True)),
        tuple(words[t.label]) if t.coding == "answers" else (),
        agents=frozenset(t.seats),
    )


def _questions_of_log(checked: Checked, name: str) -> Questions:
    items = checked.items
    debate, question, label, category = (
        items.coded(column).to_array() for column in ("debate", "question", "label", "category")
    )
    return Questions(
        name,
        tuple(debate),
        tuple(asked or own for asked, own in zip(question, debate, strict=True)),
        tuple(label) if checked.coding == "answers" else (),
        tuple(category),
        frozenset(checked.turns.coded("agent").occurring()),
    )
