"""What the discussions share: how a vote is asked for, and what the task is called."""

from __future__ import annotations

from d3stats.agents.request import Case, Slot

COMPARE = "Two answers to one question lie before you; decide which of them is better."
SOLVE = "You are given a question; work out its answer."


def task(case: Case) -> str:
    """Say what is to be done, without a word that a candidate wrote."""
    return COMPARE if case.candidates else SOLVE


def ballot(case: Case, words: int, *, may_pass: bool = False) -> Slot:
    """Ask for reasons and a vote: one of the case's answers, or free words where it has none."""
    return Slot(case.answers, open_vote=case.answers is None, may_pass=may_pass, words=words)
