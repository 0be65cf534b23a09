"""Single responses, scored on several aspects by people and by a team of referees: ChatEval on Topical-Chat."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Annotated, ClassVar

import pandas as pd

from d3stats._check import Finite, NonNegativeFloat, NonNegativeInt, PositiveInt, Probability, integer
from d3stats.agent import RESPONSE, Message, Refused, Reply, Request
from d3stats.worlds.base import World
from d3stats.worlds.streams import (
    Stream,
    Streams,
    SyntheticAgent,
    SyntheticItem,
    seat_of,
    statement,
    synthetic_agent,
    synthetic_items,
)

__all__ = ["ResponseAgent", "Responses", "human_scores"]


@dataclass(frozen=True, kw_only=True)
class Responses(World):
    """Responses to dialogues, each with a quality in every aspect, and referees who score one response in turns.

    Points are raw points of a scale from `lowest` to `highest`, and Z is a fresh standard normal variable each time it
    is written. Item k is one of `per_dialogue` responses to a dialogue; a is an aspect, j a referee, t a turn.

    * Quality: q(k, a) = quality_sd (sqrt(s) Z(dialogue, a) + sqrt(1 - s) (sqrt(h) Z(k) + sqrt(1 - h) Z(k, a))). Here s
      is dialogue_share, what responses to one dialogue share, and h is halo, what the aspects of a response share.
    * People: each of `annotators` says clip(round(base + q + human_sd Z), lowest, highest); the human score is their
      mean (:func:`human_scores`).
    * Opinion: o(j, a) = q + shared_sd Z(k, a) + role_sd Z(k, j, a). The first error is the team's, as all referees are
      one LLM; referees of one role (`roles`) share the second, too.
    * Score: clip(round(base + level_sd Z(k, j) + x)) on the scale that is asked for, with x(j, t, a) = (1 - w) o + w m
      + talk_noise Z and w = conformity. Here m is the mean of the latest scores of the others who are heard, or the
      last summary, less base; before anything is heard, w = 0.
    * A summary tells the mean of all scores that the summarizer reads, by aspect, plus summary_noise Z.

    The protocol decides which messages a referee reads, so this world is played and not drawn. Tokens are words x 4/3
    of every call's prompt and message.

    Parameters
    ----------
    per_dialogue : int
        Responses to one dialogue, which are one cluster.
    roles : sequence of str
        The role of each referee, in the order of speaking; empty for a role of its own for each.
    run : int
        Number of a repeat with the same items and other calls.
    annotators : int
        People who score each response.
    lowest, highest : int
        The people's scale.
    base : float
        Score of an average response.
    quality_sd, human_sd, shared_sd, role_sd, talk_noise, level_sd, summary_noise : float
        Points.
    dialogue_share, halo, conformity : float
        Shares, between 0 and 1.
    question_words, answer_words, instruction_words, reply_words, summary_words : float
        Words of the dialogue, of the response, of a role's prompt, of the longest reply and summary.
    slack : float
        A message has between (1 - slack) and 1 times its longest length, uniformly.

    Notes
    -----
    The shape is that of ChatEval, section 3.2: 60 dialogues with 6 responses each. None of the numbers is measured.

    Examples
    --------
    >>> world = Responses(per_dialogue=2)
    >>> [item.cluster for item in synthetic_items(world, 3, seed=1)]
    ['dialogue 1', 'dialogue 1', 'dialogue 2']
    """

    per_dialogue: PositiveInt = 6
    roles: Sequence[str] = ()
    run: NonNegativeInt = 0
    annotators: PositiveInt = 3
    lowest: Annotated[int, integer] = 1
    highest: Annotated[int, integer] = 10
    base: Finite = 6.0
    quality_sd: NonNegativeFloat = 1.5
    human_sd: NonNegativeFloat = 1.0
    dialogue_share: Probability = 0.2
    halo: Probability = 0.5
    shared_sd: NonNegativeFloat = 0.9
    role_sd: NonNegativeFloat = 1.2
    talk_noise: NonNegativeFloat = 0.5
    conformity: Probability = 0.4
    level_sd: NonNegativeFloat = 0.7
    summary_noise: NonNegativeFloat = 0.5

    question_words: NonNegativeFloat = 150.0
    answer_words: NonNegativeFloat = 25.0
    instruction_words: NonNegativeFloat = 130.0
    reply_words: NonNegativeFloat = 100.0
    summary_words: NonNegativeFloat = 80.0
    slack: Probability = 0.3

    name: ClassVar[str] = "responses"
    citation: ClassVar[str] = (
        "ChatEval (2023), arXiv 2308.07201, sections 2 and 3.5; the numbers are this library's"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lowest >= self.highest:
            raise ValueError(
                f"lowest must be below highest; got lowest={self.lowest}, highest={self.highest}"
            )
        if isinstance(self.roles, str) or not all(isinstance(role, str) and role for role in self.roles):
            raise ValueError(f"roles must be a list of names, one per referee; got roles={self.roles!r}")
        object.__setattr__(self, "roles", tuple(self.roles))


class _Quality:
    """Qualities of items by aspect, and the people's scores; every number has a stream of its own name."""

    def __init__(self, world: Responses, streams: Streams) -> None:
        self.world = world
        self.normal = lru_cache(maxsize=65536)(lambda *names: streams.of("response", *names).normal())

    def of(self, question: str, aspect: str) -> float:
        """Return the points by which a response is better than the average one."""
        world, dialogue = self.world, _dialogue(self.world, question)
        own = _mix(world.halo, self.normal("all", question), self.normal("own", question, aspect))
        return world.quality_sd * _mix(world.dialogue_share, self.normal("dialogue", dialogue, aspect), own)

    def people(self, question: str, aspect: str) -> float:
        """Return the mean score of the annotators."""
        world, quality = self.world, self.of(question, aspect)
        errors = (self.normal("person", question, aspect, i) for i in range(world.annotators))
        return fmean(
            _on_scale(world.base + quality + world.human_sd * error, world.lowest, world.highest)
            for error in errors
        )


def _mix(share: float, one: float, other: float) -> float:
    """Return a normal number of which `share` of the variance is the first one's."""
    return math.sqrt(share) * one + math.sqrt(1 - share) * other


def _on_scale(points: float, low: int, high: int) -> float:
    return float(min(max(round(points), low), high))


def _dialogue(world: Responses, question: str) -> int:
    return (int(question) - 1) // world.per_dialogue + 1


def human_scores(
    world: Responses, items: Sequence[SyntheticItem], aspects: Sequence[str], seed: int = 0
) -> pd.DataFrame:
    """Draw what people say of responses: the mean of their scores, by response and aspect.

    Parameters
    ----------
    world : Responses
        The synthetic world with its parameters.
    items : sequence of SyntheticItem
        Those of :func:`~d3stats.worlds.synthetic_items` with the same world and seed.
    aspects : sequence of str
        Names of the aspects that people score.
    seed : int
        Seed of the draws; one seed gives one result.

    Returns
    -------
    DataFrame
        One row per response: ``question`` and a column per aspect.

    Examples
    --------
    >>> world = Responses()
    >>> human_scores(world, synthetic_items(world, 2, seed=3), ["coherence"], seed=3).shape
    (2, 2)
    """
    quality = _Quality(world, Streams(seed))
    rows = [{a: quality.people(item.question, a) for a in aspects} for item in items]
    return pd.DataFrame({"question": [item.question for item in items]}).join(pd.DataFrame(rows))


class ResponseAgent(SyntheticAgent[Responses]):
    """Every referee of a team that scores single responses, and its summarizer; see :class:`Responses`."""

    acts: ClassVar[tuple[str, ...]] = ("referee", "summarise")
    one_response: ClassVar[bool] = True

    def __init__(self, world: Responses, seed: int = 0) -> None:
        super().__init__(world, seed)
        self.quality = _Quality(world, self.streams)

    def _item(self, question: str) -> _Quality:
        return self.quality

    def check(self, request: Request) -> None:
        """Refuse what the world has no law for."""
        super().check(request)
        if request.case.sides != (RESPONSE,):
            raise Refused(
                f"case must be a single response in world 'responses'; got {len(request.case.candidates)} candidates "
                f"for {request.case.question!r}"
            )

    def _answer(self, request: Request, stream: Stream) -> Reply:
        world, rubric = self.world, request.slot.rubric
        if request.act == "summarise":
            given = _given(request.seen, None)
            facts = {
                aspect: fmean(points) + world.summary_noise * stream.normal()
                for aspect, points in sorted(given.items())
            }
            return self.say(request, stream, facts)
        if rubric is None or rubric.sides != (RESPONSE,):
            raise Refused(f"slot of a referee must ask for scores of the response; got {request.slot}")
        question, reader = request.case.question, self._reader(request.agent)
        level = world.base + world.level_sd * self.standing("level", question, reader)
        heard = _heard(request.seen, request.agent)
        scores = {}
        for aspect in rubric.criteria:
            x = (
                self.quality.of(question, aspect)
                + world.shared_sd * self.standing("team", question, aspect)
                + world.role_sd * self.standing("role", question, reader, aspect)
            )
            if aspect in heard:
                x = (1 - world.conformity) * x + world.conformity * (heard[aspect] - world.base)
            x += world.talk_noise * stream.normal()
            scores[aspect] = _on_scale(level + x, rubric.low, rubric.high)
        return self.say(request, stream, scores={RESPONSE: scores})

    def _reader(self, agent: str) -> str:
        """Return the name of the first referee with the agent's role, whose errors it has."""
        roles = self.world.roles
        if not roles:
            return agent
        seat = seat_of(agent)
        if seat > len(roles):
            raise Refused(
                "roles of world 'responses' must have one name per referee of the protocol; got "
                f"{len(roles)} and {agent!r}"
            )
        return f"referee {roles.index(roles[seat - 1]) + 1}"

    def _lengths(self, request: Request) -> tuple[float, ...]:
        return (self.world.reply_words if request.act == "referee" else self.world.summary_words,)

    def _prompt(self, request: Request) -> float:
        world, case = self.world, self.world.instruction_words
        if request.act != "summarise":
            case += world.question_words + world.answer_words
        return self.tokens_per_word * (case + self.read(request.seen))


def _given(seen: Sequence[Message], me: str | None) -> dict[str, list[float]]:
    """Return all scores that were given by others, by aspect."""
    found: dict[str, list[float]] = {}
    for message in seen:
        if message.scores is not None and message.speaker != me:
            for aspect, points in message.scores[RESPONSE].items():
                found.setdefault(aspect, []).append(points)
    return found


def _heard(seen: Sequence[Message], me: str) -> Mapping[str, float]:
    """Return what a referee has in the ear, by aspect: the last summary, else the mean of the others' latest scores."""
    latest: dict[str, Message] = {}
    summary: Mapping[str, float] = {}
    for message in seen:
        if message.scores is not None:
            latest[message.speaker] = message
        elif facts := statement(message.text).facts:
            summary = facts
    if summary:
        return summary
    others = tuple(message for speaker, message in latest.items() if speaker != me)
    return {aspect: fmean(points) for aspect, points in _given(others, me).items()}


synthetic_agent.register(Responses, ResponseAgent)


@synthetic_items.register
def response_items(world: Responses, n: int, seed: int = 0, *, first: int = 0) -> list[SyntheticItem]:
    """Return responses to score, those to one dialogue as one cluster."""
    start, found = integer("first", first, minimum=0), []
    for number in range(start + 1, start + integer("n", n, minimum=1) + 1):
        dialogue = _dialogue(world, str(number))
        found.append(
            SyntheticItem(
                str(number),
                f"Synthetic dialogue {dialogue}",
                (f"Synthetic response {number}",),
                None,
                None,
                f"dialogue {dialogue}",
            )
        )
    return found
