"""What one line of a debate log says.

A debate log is a sequence of records, one JSON object a line, in any order that respects time:

``log``
    Once per file, first line: the version of this schema and the program that wrote the file.
``item``
    Opens a debate: which question it is about, which cluster of questions that belongs to, the right answer
    if it is known, and the answer set if it is closed.
``turn``
    What one agent said in one round: a vote, scores, or both; tokens; the text if it was kept. A vote that
    could not be read is ``null``: missing, not wrong.
``verdict``
    Closes a debate: the decision, the round that it was taken in, and why the debate stopped.

Rounds count from 1 (the first votes); a foreign log that counts from 0 is shifted by its importer.
Answers are strings and are equal when the strings are equal; importers write them in a canonical form.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from d3stats.log._visible import storable

SCHEMA_VERSION = 2
"""The version that this package writes. Readers accept this version and older ones, and refuse newer ones.

Version 2 added an item's ``candidates`` and ``first``, and a turn's ``tokens_source`` and ``error``.
"""


def _storable(value: Any) -> Any:
    return storable(value) if isinstance(value, str) else value


Name = Annotated[str, Field(min_length=1)]
Said = Annotated[Name, BeforeValidator(_storable)]
Text = Annotated[str, BeforeValidator(_storable)]
Round = Annotated[int, Field(ge=1, le=999_999_999)]
Tokens = Annotated[int, Field(ge=0, le=999_999_999_999_999)]


class Record(BaseModel):
    """Any line of a log: immutable, no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Header(Record):
    """The first line of a file."""

    type: Literal["log"] = "log"
    schema_version: int = SCHEMA_VERSION
    writer: str = "d3stats"
    source: str | None = None


class Item(Record):
    """Opens a debate.

    Attributes
    ----------
    debate : str
        The debate's identifier, unique across the files of a log.
    question : str
        The question's identifier. The same question may be debated many times.
    cluster : str or None
        What is resampled together; None means the question.
    label : str or None
        The right answer, when known.
    answers : tuple of str or None
        The closed answer set, when there is one; a vote outside it is an error.
    log : str or None
        The run, condition or file that the debate came from: what an analysis groups by.
    protocol : str or None
        The debate protocol's name.
    text : str or None
        The question as asked; optional.
    candidates : tuple of str or None
        The answers that were judged, in the order of their names (the first names in `answers`); optional.
    first : str or None
        The name of the candidate that was shown first; None when there was none or it is not known.
    """

    type: Literal["item"] = "item"
    debate: Name
    question: Name
    cluster: Name | None = None
    label: Name | None = None
    answers: tuple[Name, ...] | None = None
    log: Name | None = None
    protocol: Name | None = None
    text: Text | None = None
    candidates: tuple[Text, ...] | None = None
    first: Name | None = None


class Turn(Record):
    """What one agent said in one round.

    Attributes
    ----------
    vote : str or None
        The answer that the agent stands for after this turn; None when there is none to be read.
    scores : dict of dict of float or None
        Side, then criterion, then raw points as the agent gave them (not rescaled). A side without any criterion was
        to be scored and its points are missing.
    tokens_in, tokens_out : int or None
        Prompt and completion tokens of the call; None when not recorded.
    tokens_source : str or None
        ``"estimate"`` when they are no server's count; None for a count.
    error : str or None
        Why something that was asked for is missing, machine-readable: ``"timeout"``, ``"unreadable"``.
    """

    type: Literal["turn"] = "turn"
    debate: Name
    round: Round
    agent: Name
    role: Name | None = None
    vote: Said | None = None
    scores: dict[str, dict[str, float]] | None = None
    tokens_in: Tokens | None = None
    tokens_out: Tokens | None = None
    tokens_source: Name | None = None
    model: Name | None = None
    text: Text | None = None
    error: Name | None = None


class Verdict(Record):
    """Closes a debate: what was decided, after which round, and the machine-readable reason it stopped."""

    type: Literal["verdict"] = "verdict"
    debate: Name
    decision: Said | None = None
    round: Round | None = None
    stop_reason: Name | None = None


AnyRecord = Header | Item | Turn | Verdict
