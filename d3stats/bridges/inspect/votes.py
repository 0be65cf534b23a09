"""What one score of Inspect says: a vote, or why there is none."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from inspect_ai.scorer import Score

__all__ = [
    "GRADES",
    "READINGS",
    "Canonical",
    "Reading",
    "chosen_scorer",
    "grade_of",
    "label_of",
    "letters_of",
    "tokens_of",
    "vote_of",
]

Reading = Literal["accepted", "answer", "grade"]
READINGS = ("accepted", "answer", "grade")
GRADES = ("correct", "incorrect", "partial")
Canonical = Callable[[str], str | None]
"""Gives equal answers one form; None for what is no answer."""

_LETTERS = {"C": "correct", "I": "incorrect", "P": "partial"}
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def vote_of(
    score: Score,
    *,
    reading: Reading = "accepted",
    label: str | None = None,
    answers: Collection[str] | None = None,
    canonical: Canonical | None = None,
) -> tuple[str | None, str | None]:
    """Return the vote and, where there is none, why.

    Parameters
    ----------
    score : Score
        Of one sample, by one scorer.
    reading : {"accepted", "answer", "grade"}
        See :func:`~d3stats.bridges.inspect.read_inspect_log`.
    label : str, optional
        The right answer; with "accepted" an answer that the scorer calls correct is written like this.
    answers : collection of str, optional
        The closed set; an answer outside it is no vote.
    canonical : function of str to (str or None), optional
        Gives equal answers one form.

    Returns
    -------
    vote, error : str or None
        One of them is None.

    Examples
    --------
    >>> from types import SimpleNamespace as score
    >>> vote_of(score(value="C", answer="$18.00", reason=None), label="18")
    ('18', None)
    >>> vote_of(score(value="I", answer=None, reason=None), label="18")
    (None, 'no_answer')
    """
    grade = grade_of(score.value)
    if reading == "grade":
        return (grade, None) if grade is not None else (None, _why(score, "no_grade"))
    answer = None if score.answer is None else score.answer.strip()
    if answer and canonical is not None:
        answer = canonical(answer)
    if not answer:
        return None, _why(score, "no_answer")
    if reading == "accepted" and label is not None:
        if grade == "correct":
            return label, None
        if _unscored(score):
            return None, _why(score, "no_grade")
        if answer == label:
            # The text says right and the scorer does not: a guess either way.
            return None, "contradiction"
    if answers is not None and answer not in answers:
        return None, "not_a_choice"
    return answer, None


def grade_of(value: Any) -> str | None:
    """Return "correct", "incorrect" or "partial"; None for any other value of a score.

    Examples
    --------
    >>> [grade_of(value) for value in ("C", "I", "P", "N", True, 0, 1.0, 0.5, float("nan"), [1])]
    ['correct', 'incorrect', 'partial', None, 'correct', 'incorrect', 'correct', None, None, None]
    """
    if isinstance(value, str):
        return _LETTERS.get(value)
    if isinstance(value, (bool, int, float)) and value in (0, 1):
        return "correct" if value else "incorrect"
    return None


def label_of(target: str | list[str]) -> str | None:
    """Return the right answer as one text: several targets are joined, no target is None.

    Examples
    --------
    >>> label_of("18"), label_of(["A", "C"]), label_of("")
    ('18', 'A, C', None)
    """
    wanted = [target] if isinstance(target, str) else target
    return ", ".join(text.strip() for text in wanted if text.strip()) or None


def letters_of(choices: list[str] | None, label: str | None) -> tuple[str, ...] | None:
    """Return the letters of a multiple-choice sample when its target is one of them; else None.

    Examples
    --------
    >>> letters_of(["red", "blue"], "B"), letters_of(["red", "blue"], "blue"), letters_of(None, "B")
    (('A', 'B'), None, None)
    """
    if not choices or len(choices) > len(_ALPHABET):
        return None
    letters = tuple(_ALPHABET[: len(choices)])
    return letters if label in letters else None


def chosen_scorer(known: Collection[str], scorer: str | None) -> str:
    """Return the scorer that is read: the one that is named, or the only one.

    Raises
    ------
    ValueError
        When it is not known, or there are several and none is named, or there is none.
    """
    listed = ", ".join(repr(name) for name in known) or "none"
    if scorer is None:
        if len(known) != 1:
            raise ValueError(f"scorer must be named where there is not exactly one; got {listed}")
        return next(iter(known))
    if scorer not in known:
        raise ValueError(f"scorer must be one of the log's ({listed}); got scorer={scorer!r}")
    return scorer


def tokens_of(usage: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return prompt tokens, cached ones included, and completion tokens of all models; None when not recorded."""
    if not usage:
        return None, None
    cached = ("input_tokens_cache_read", "input_tokens_cache_write")
    prompt = sum(one.input_tokens + sum(getattr(one, name) or 0 for name in cached) for one in usage.values())
    return prompt, sum(one.output_tokens for one in usage.values())


def _unscored(score: Score) -> bool:
    return isinstance(score.value, float) and math.isnan(score.value)


def _why(score: Score, otherwise: str) -> str:
    """Return the scorer's own machine-readable reason, if it gave one."""
    return str(getattr(score, "reason", None) or otherwise)
