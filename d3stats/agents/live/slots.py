"""What a slot looks like on the wire: a JSON schema, and how names become numbers and back.

A model never learns the names ``"A"`` and ``"B"``: it sees "answer 1", the one that is shown first, and "answer 2".
Other answers that an item offers are "option 1", "option 2", in the order of the item. What they say is text of its
author; it stands in no schema and in no sentence of ours.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from d3stats.agents.request import Request, Slot

__all__ = ["OPEN_VOTE", "Wire"]

OPEN_VOTE = 200
"""The most characters of an answer in free words."""

TIE = "tie"
"""What a vote for neither candidate is called, by items and protocols alike."""

LISTED = 300
"""The most characters of one entry of a list."""


@dataclass(frozen=True)
class Wire:
    """The slot of one request, in the words that the model sees.

    Parameters
    ----------
    request : Request

    Raises
    ------
    ValueError
        When two answers would read the same to the model.

    Examples
    --------
    >>> from d3stats.agents import Case, Request, Slot
    >>> case = Case("d", "q", "Which?", ("A", "B", "tie"), ("this", "that"), "B")
    >>> wire = Wire(Request(case, 1, "juror 1", "juror", "vote", "Vote.", Slot(case.answers)))
    >>> wire.votes
    {'2': 'A', '1': 'B', 'tie': 'tie'}
    >>> wire.shown("A"), wire.schema["properties"]["vote"]["enum"]
    ('answer 2', ['1', '2', 'tie'])
    >>> case = Case("d", "q", "Which?", ("Oslo", "Rome"))
    >>> Wire(Request(case, 1, "p 1", "panelist", "answer", "Answer.", Slot(case.answers))).votes
    {'1': 'Oslo', '2': 'Rome'}
    """

    request: Request

    @property
    def slot(self) -> Slot:
        """What is asked for."""
        return self.request.slot

    @cached_property
    def places(self) -> dict[str, str]:
        """Each candidate's name and the number that it is shown under."""
        sides = self.request.case.sides
        if not sides:
            return {}
        first = self.request.shown_first
        order = sorted(sides, key=lambda side: side != first)
        return {side: str(place) for place, side in enumerate(order, start=1)}

    @cached_property
    def options(self) -> dict[str, str]:
        """Each answer that the item offers besides its candidates, and its number; a tie is called one."""
        answers, places = self.request.case.answers or (), self.places
        numbered = {answer: str(number) for number, answer in enumerate(answers, start=1)}
        return {
            answer: number
            for answer, number in numbered.items()
            if answer not in places and not (places and answer == TIE)
        }

    def shown(self, side: str) -> str:
        """Return how a side is called in the prompt; what is no candidate has a name of the protocol's."""
        place = self.places.get(side)
        return side if place is None else f"answer {place}"

    def voted(self, answer: str) -> str:
        """Return how a vote is told to others: by number, or in the protocol's own words."""
        number = self.options.get(answer)
        return self.shown(answer) if number is None else f"option {number}"

    @cached_property
    def votes(self) -> dict[str, str]:
        """What may stand in the vote field, and the answer that it means; empty for free words."""
        if not self.slot.wants_vote or self.slot.answers is None:
            return {}
        numbers = self.places | self.options
        words = {numbers.get(answer, answer): answer for answer in self.slot.answers}
        if len(words) < len(self.slot.answers):
            raise ValueError(
                "answers must differ from the numbers that candidates and options are shown under; "
                f"got answers={self.slot.answers!r}"
            )
        return words

    @cached_property
    def sides(self) -> dict[str, str]:
        """What a side is called in the scores field, and its name."""
        rubric = self.slot.rubric
        if rubric is None:
            return {}
        order = sorted(rubric.sides, key=lambda side: self.places.get(side, ""))
        return {f"answer_{self.places[side]}" if side in self.places else side: side for side in order}

    @property
    def wants_text(self) -> bool:
        """Whether free text is asked for."""
        return self.slot.words > 0 and not self.slot.listed

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the object's fields, reasons before what they are reasons for."""
        wanted = {
            "text": self.wants_text,
            "list": self.slot.listed > 0,
            "scores": self.slot.rubric is not None,
            "vote": self.slot.wants_vote,
        }
        return tuple(name for name, asked in wanted.items() if asked)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema, strict: every field required, none besides."""
        return _object({name: self._part(name) for name in self.fields})

    @cached_property
    def schema_text(self) -> str:
        """The schema as JSON."""
        return json.dumps(self.schema)

    def _part(self, name: str) -> dict[str, Any]:
        if name == "text":
            return {"type": "string"}
        if name == "list":
            entry = {"type": "string"}
            return {
                "type": "array",
                "items": entry,
                "minItems": self.slot.listed,
                "maxItems": self.slot.listed,
            }
        if name == "scores":
            rubric = self.slot.rubric
            assert rubric is not None
            # Every protocol's points are whole, and some servers hold only integers to a minimum and a maximum.
            points = {"type": "integer", "minimum": rubric.low, "maximum": rubric.high}
            return _object({side: _object(dict.fromkeys(rubric.criteria, points)) for side in self.sides})
        vote: dict[str, Any] = {"type": "string"}
        if self.votes:
            vote["enum"] = sorted(self.votes) if self.places else list(self.votes)
        return {"anyOf": [vote, {"type": "null"}]} if self.slot.may_pass else vote

    def words_for(self) -> str:
        """Say in words what belongs into the fields."""
        lines = []
        slot = self.slot
        if self.wants_text:
            lines.append(f'"text": what you have to say, at most {slot.words} words')
        if slot.listed:
            lines.append(f'"list": {slot.listed} short texts, at most {slot.words} words together')
        if slot.rubric is not None:
            low, high = slot.rubric.low, slot.rubric.high
            lines.append(f'"scores": for each side and each criterion a whole number from {low} to {high}')
        if slot.wants_vote:
            passing = ", or null to withhold your vote" if slot.may_pass else ""
            if self.votes:
                said = ", ".join(f'"{word}"' for word in (sorted(self.votes) if self.places else self.votes))
                numbered = "answer" if self.places else "option" if self.options else ""
                meaning = f" (the number of the {numbered})" if numbered else ""
                lines.append(f'"vote": one of {said}{meaning}{passing}')
            else:
                lines.append(f'"vote": your answer alone, in as few words as it takes{passing}')
        return "\n".join(f"- {line}" for line in lines)

    def most_tokens(self, per_word: float, reasoning: int) -> int:
        """Return the `max_tokens` of a call: words, the object around them, and head-room to reason.

        Each word of free text or of a free vote gets `per_word` tokens; each score 8 and its criterion's
        name; the rest of the object, and what a model says before it in text mode, 96 more.
        """
        slot = self.slot
        count = per_word * slot.words + 96 + 8 * slot.listed
        if slot.rubric is not None:
            name = max((len(criterion) for criterion in slot.rubric.criteria), default=0)
            count += len(slot.rubric.sides) * (16 + len(slot.rubric.criteria) * (8 + name / 2))
        if slot.open_vote:
            count += OPEN_VOTE / 4
        elif slot.answers is not None and slot.wants_vote:
            count += max(len(word.encode()) for word in self.votes)
        return math.ceil(count) + reasoning

    def vote_name(self, word: str) -> str | None:
        """Return the answer that a word in the vote field means; None when it means none."""
        return self.votes.get(word)


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
