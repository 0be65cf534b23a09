"""Records of a debate log, one per line.

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

import json
import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from d3stats._check import LARGEST

__all__ = [
    "MODELS",
    "SCHEMA_VERSION",
    "AnyRecord",
    "Header",
    "Item",
    "Record",
    "RepeatedKey",
    "Turn",
    "Verdict",
    "first_defect",
    "parse_json",
]

SCHEMA_VERSION = 4
"""The version that this package writes. Readers accept this version and older ones, and refuse newer ones.

Version 2 added an item's ``candidates``, ``first`` and ``category``, and a turn's ``persona``, ``tokens_cached``,
``tokens_source``, ``temperature`` and ``error``. Version 3 added an item's ``polling``. Version 4 added a
turn's ``confidence``.
"""

Name = Annotated[str, Meta(min_length=1)]
Round = Annotated[int, Meta(ge=1, le=999_999_999)]
Tokens = Annotated[int, Meta(ge=0, le=999_999_999_999_999)]
MOST_TEMPERATURE = 1_000_000
Score = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Temperature = Annotated[float, Meta(ge=0, le=MOST_TEMPERATURE)]
Confidence = Annotated[float, Meta(ge=0, le=1)]


class Record(Struct, tag_field="type", frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Any line of a log: immutable, no unknown fields.

    Fields are checked where a record is read from a file and where it is written to one, not when it is made.

    Examples
    --------
    >>> Turn(debate="d1", round=1, agent="juror", vote="A").to_dict()["type"]
    'turn'
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, the type first."""
        return {"type": self.__struct_config__.tag} | msgspec.structs.asdict(self)


class Header(Record, tag="log", frozen=True):
    """The first line of a file.

    Attributes
    ----------
    schema_version : int
        The version of the schema that the file is written in.
    writer : str
        The program that wrote it.
    source : str or None
        Where the records come from.

    Examples
    --------
    >>> Header(source="example").to_dict()
    {'type': 'log', 'schema_version': 4, 'writer': 'd3stats', 'source': 'example'}
    """

    type: ClassVar[Literal["log"]] = "log"
    # Factories, so that both are always written.
    schema_version: int = msgspec.field(default_factory=lambda: SCHEMA_VERSION)
    writer: str = msgspec.field(default_factory=lambda: "d3stats")
    source: str | None = None


class Item(Record, tag="item", frozen=True):
    """The record that opens a debate.

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
    polling : str or None
        Who only votes in the protocol and how it decides, with its settings: the text of a ``d3stats.polling.Polling``,
        as ``"scores:scored_from=1,scored=last"``. None where it is not known, or the usual of the protocol.
    text : str or None
        The question as asked; optional.
    candidates : tuple of str or None
        The answers that were judged, in the order of their names (the first names in `answers`); optional.
    first : str or None
        The name of the candidate that was shown first; None when there was none or it is not known.
    category : str or None
        The kind of question, such as ``"coding"`` or ``"ethics"``; None when there are no kinds.

    Examples
    --------
    >>> item = Item(debate="q1/AB", question="q1", label="A", answers=("A", "B"))
    >>> item.label, item.cluster
    ('A', None)
    """

    type: ClassVar[Literal["item"]] = "item"
    debate: Name
    question: Name
    cluster: Name | None = None
    label: Name | None = None
    answers: tuple[Name, ...] | None = None
    log: Name | None = None
    protocol: Name | None = None
    polling: Name | None = None
    text: str | None = None
    candidates: tuple[str, ...] | None = None
    first: Name | None = None
    category: Name | None = None


class Turn(Record, tag="turn", frozen=True):
    """The turn of one agent in one round.

    Attributes
    ----------
    debate : str
        The debate's identifier.
    round : int
        From 1.
    agent, role : str, str or None
        Who spoke, and as what.
    vote : str or None
        The agent's answer after this turn; None when it cannot be read.
    scores : dict of dict of float or None
        Side, then criterion, then raw points as the agent gave them (not rescaled). A side without any criterion was
        to be scored and its points are missing.
    tokens_in, tokens_out : int or None
        Prompt and completion tokens of the call; None when not recorded.
    tokens_cached : int or None
        The part of the prompt tokens that the server read from its cache; None when not recorded.
    tokens_source : str or None
        ``"estimate"`` when they are no server's count; None for a count.
    model, text : str or None
        Which model answered, and what was said; optional.
    error : str or None
        Why something that was asked for is missing, machine-readable: ``"timeout"``, ``"unreadable"``.
    persona : str or None
        In which role a juror was asked to read, such as ``"trial judge"``; None without one.
    temperature : float or None
        The sampling temperature that was sent with the call; None where none was sent or it is not known.
    confidence : float or None
        Probability, from 0 to 1, that the agent gave its own vote of being right; None where it gave none.

    Examples
    --------
    >>> turn = Turn(debate="q1/AB", round=1, agent="juror 1", scores={"A": {"clarity": 4.0}}, tokens_out=120)
    >>> turn.vote is None, turn.scores["A"]["clarity"]
    (True, 4.0)
    """

    type: ClassVar[Literal["turn"]] = "turn"
    debate: Name
    round: Round
    agent: Name
    role: Name | None = None
    vote: Name | None = None
    scores: dict[str, dict[str, Score]] | None = None
    tokens_in: Tokens | None = None
    tokens_out: Tokens | None = None
    tokens_cached: Tokens | None = None
    tokens_source: Name | None = None
    model: Name | None = None
    text: str | None = None
    error: Name | None = None
    persona: Name | None = None
    temperature: Temperature | None = None
    confidence: Confidence | None = None


class Verdict(Record, tag="verdict", frozen=True):
    """The record that closes a debate: the decision, its round, and the machine-readable reason of the stop.

    Attributes
    ----------
    debate : str
        The debate's identifier.
    decision : str or None
        The answer decided on.
    round : int or None
        The round after which it was decided.
    stop_reason : str or None
        Why the debate ended there.

    Examples
    --------
    >>> Verdict(debate="q1/AB", decision="A", round=2, stop_reason="unanimity").to_dict()
    {'type': 'verdict', 'debate': 'q1/AB', 'decision': 'A', 'round': 2, 'stop_reason': 'unanimity'}
    """

    type: ClassVar[Literal["verdict"]] = "verdict"
    debate: Name
    decision: Name | None = None
    round: Round | None = None
    stop_reason: Name | None = None


AnyRecord = Header | Item | Turn | Verdict
"""A record of any type."""

MODELS: dict[str, type[AnyRecord]] = {"log": Header, "item": Item, "turn": Turn, "verdict": Verdict}
"""The record of each type."""


class RepeatedKey(ValueError):
    """A key that occurs twice in one JSON object.

    Examples
    --------
    >>> parse_json('{"vote": "A", "vote": "B"}')
    Traceback (most recent call last):
        ...
    d3stats.log.schema.RepeatedKey: vote
    """


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedKey(next(name for name in names if names.count(name) > 1))
    return result


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def parse_json(text: str) -> Any:
    """Parse JSON strictly.

    Parameters
    ----------
    text : str
        One JSON value.

    Returns
    -------
    object

    Raises
    ------
    ValueError
        When it is malformed, a key is repeated, or a number is not a JSON number.

    Examples
    --------
    >>> parse_json('{"vote": "A", "round": 1}')
    {'vote': 'A', 'round': 1}
    """
    return json.loads(text, object_pairs_hook=_pairs, parse_constant=_no_constant)


def first_defect(fields: Mapping[str, Any], model: type[Record]) -> tuple[str, str, Any] | None:
    """Return the first field that a record cannot have, the requirement that it breaks, and what was got.

    Parameters
    ----------
    fields : mapping of str to object
        The fields of a line, by name.
    model : type of Record
        What the line should be.

    Returns
    -------
    tuple of (str, str, object), or None
        None where the record is sound.

    Examples
    --------
    >>> first_defect({"debate": "d", "round": 0, "agent": "a"}, Turn)
    ('round', 'must be a whole number >= 1', 0)
    """
    known = _fields(model)
    for field in known:
        if field.name not in fields:
            if field.required:
                return field.name, "must be given", "nothing"
        elif (defect := _defect(fields[field.name], field.type, field.name)) is not None:
            return defect
    unknown = [name for name in fields if name != "type" and name not in {field.name for field in known}]
    return (unknown[0], "must be a known field", fields[unknown[0]]) if unknown else None


@cache
def _fields(model: type[Record]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(model)


_WORDS = {
    "int": "a whole number",
    "str": "a text",
    "float": "a number",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def _sound(value: Any, kind: Any) -> bool:
    """Whether a field of several parts is of its type and has finite numbers only: one look where all is well."""
    try:
        msgspec.convert(value, kind)
    except (UnicodeEncodeError, msgspec.ValidationError):
        return False
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, (dict, list)):
            left += one.values() if isinstance(one, dict) else one
        elif isinstance(one, float) and not math.isfinite(one):
            return False
    return True


def _defect(value: Any, kind: Any, name: str) -> tuple[str, str, Any] | None:
    if isinstance(value, (dict, list)) and _sound(value, kind):
        return None
    # A message names a place inside a field by types alone, so the parts are looked at one by one.
    origin = dict if isinstance(value, Mapping) else tuple
    several = next((one for one in (kind, *get_args(kind)) if get_origin(one) is origin), None)
    if several is not None and isinstance(value, (Mapping, list, tuple)):
        keys = value.items() if isinstance(value, Mapping) else enumerate(value)
        inner = get_args(several)[origin is dict]
        return next((found for key, part in keys if (found := _defect(part, inner, f"{name}.{key}"))), None)
    if isinstance(value, float) and not math.isfinite(value):
        return name, "must be a finite number", value
    try:
        msgspec.convert(value, kind)
    except UnicodeEncodeError:
        plain = _defect("?", kind, name)
        return name, "must be text without half of a surrogate pair" if plain is None else plain[1], value
    except msgspec.ValidationError as error:
        expected = re.sub(r", got .*| - at .*| of length >= 1", "", str(error))
        said = re.fullmatch(r"Expected `(.*)`(.*)", expected)
        if said is None:  # a whole number of hundreds of digits is no wrong type
            return name, "must be a number below 1e308", value
        names, limit = said.groups()
        words = " or ".join(_WORDS.get(one, one) for one in names.split(" | "))
        empty = " that is not empty" if value == "" else ""
        return name, f"must be {words}{empty}{limit}", value
    return None
