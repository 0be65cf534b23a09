"""Votes read as the answer that they state: "The answer is B." as "B"."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from d3stats.log.columns import Coded, Records
from d3stats.note import Note
from d3stats.values import answer_said, is_missing_word, statement_in

__all__ = ["stated_forms", "stated_notes", "with_stated_answers"]


def with_stated_answers(records: Records) -> Records:
    """Read votes, and decisions, as the answers that they state."""
    items, turns, verdicts = records.items, records.turns, records.verdicts
    answers = {text for text in items.coded("label").occurring() if not is_missing_word(text)}
    answers |= {text for several in items.coded("answers").occurring() for text in several}
    if not answers:
        raise ValueError(
            "read='answer' needs the answers that there are; got no label and no declared answer"
        )
    vote, decision = turns.coded("vote"), verdicts.coded("decision")
    forms = stated_forms({*vote.occurring(), *decision.occurring()}, answers)
    return replace(
        records,
        turns=turns.replaced(vote=vote.mapped(forms)) if "vote" in turns.columns else turns,
        verdicts=verdicts.replaced(decision=decision.mapped(forms))
        if "decision" in verdicts.columns
        else verdicts,
        notes=[*records.notes, *stated_notes(forms, vote)],
    )


def stated_forms(said: Iterable[str], answers: set[str]) -> dict[str, str | None]:
    """Return the answer of each text that is none and states one, and None for a text that names some unclearly."""
    found = {text: answer_said(text, answers) for text in set(said) - answers}
    return {text: answer for text, (answer, named) in found.items() if named}


def stated_notes(forms: Mapping[str, str | None], vote: Coded) -> list[Note]:
    """Say how many votes were read as the answer that they state, and how many state none clearly."""
    read = {text: answer for text, answer in forms.items() if answer is not None}
    unclear = sorted(text for text, answer in forms.items() if answer is None)

    def cast(texts: Collection[str]) -> int:
        return int(np.isin(vote.codes, [k for k, text in enumerate(vote.values) if text in texts]).sum())

    notes = []
    if read:
        # Sentences first: how a plain letter is read is no question.
        examples = sorted(read, key=lambda text: (-len(text) // 20, text))[:2]
        shown = " and ".join(f"{statement_in(text)!r} as {read[text]!r}" for text in examples)
        notes.append(
            Note(
                f"{cast(read):,} of {len(vote):,} votes were read as the answer that they state, for example {shown}",
                kind="stated answers",
                n=cast(read),
                examples=examples,
            )
        )
    if unclear:
        notes.append(
            Note(
                f"{cast(unclear):,} of {len(vote):,} votes are missing, because they name answers but state none "
                f"clearly as their own, for example {statement_in(unclear[0])!r}",
                kind="unclear answers",
                severity="warning",
                n=cast(unclear),
                examples=unclear[:3],
            )
        )
    return notes
