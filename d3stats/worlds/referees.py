"""The referee team of ChatEval: everyone scores both answers, and talks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from statistics import fmean
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats._check import Finite, NonNegativeFloat, NonNegativeInt, PositiveInt, Probability, within
from d3stats.agent import Message, Refused, Reply, Request
from d3stats.polling import OF_PROTOCOL, Polling
from d3stats.worlds.base import Group, World, scalar, vector
from d3stats.worlds.draw import Drawn, sample
from d3stats.worlds.streams import (
    TOKENS_PER_WORD,
    Stream,
    Streams,
    SyntheticAgent,
    SyntheticItem,
    item_range,
    seat_of,
    statement,
    synthetic_agent,
    synthetic_items,
)

__all__ = ["Pair", "RefereeAgent", "Referees", "draw_pair", "heard_difference"]


A, B, TIE = 0, 1, 2
LOWEST, HIGHEST = 1, 10


@dataclass(frozen=True, kw_only=True)
class Referees(World):
    """Role-prompted referees who give two answers a score of 1 to 10 in every turn and hear each other.

    Points are raw points of 1 to 10, a difference is A's score minus B's, and Z is a fresh standard normal
    variable each time it is written. Referee j speaks in turn t, both from 1.

    * Item: the difference in quality is q = gap_sd Z. The label is "tie" when q + label_noise Z lies within
      +-tie_margin, else the side it points to.
    * Opinion: o(j) = q + b + lean(j) + shared_sd Z + role_sd Z(j), with b = position_bias, or minus that when
      B is shown first. The first error is one draw for the whole team, as all referees are one LLM.
    * Message: x(j, t) = (1 - w) o(j) + w h(j, t) + talk_noise Z, with w = conformity and h(j, t) what the
      referee has heard; before the referee has heard a message, w = 0. The scores are
      clip(round(base + level_sd Z(j) +- x(j, t) / 2), 1, 10), + for A.
    * Hearing: h(j, t) is a mean of differences of scores that referees gave. With ``"one_by_one"`` it is the mean
      of every other referee's latest message: of this turn from the seats before j, of the last turn from the seats
      after. The first referee therefore influences the rest most. With ``"simultaneous"`` it is the mean of the
      others' messages of the last turn. With ``"simultaneous_with_summarizer"`` it is the mean of all messages of
      all turns before, plus summary_noise Z, one draw that the whole team reads.
    * Runs: the opinions and levels belong to the item; messages are drawn again in another run.

    A vote is the answer with the higher score. Equal scores are a vote for the third answer, "tie", not a
    missing vote: the referee has spoken, and human annotators may say the same. The log's scores are the
    team's means per side: ChatEval takes the majority of the votes or compares these means.

    Tokens are words x 4/3 of every call's prompt and message. A referee reads the instructions, the question,
    both answers, and all messages so far (one by one), those of the turns before (simultaneous), or the
    summaries of those turns. The summarizer is one more call a turn, which reads all messages so far.

    Parameters
    ----------
    panel : int
        Referees.
    communication : {"one_by_one", "simultaneous", "simultaneous_with_summarizer"}
    first : {"A", "B"}
        The answer that is read first. The same seed gives the same debates either way.
    run : int
        Number of a repeat: the same seed gives the same items, and every call is drawn again.
    gap_sd, label_noise, tie_margin, shared_sd, role_sd, talk_noise, level_sd, summary_noise : float
        Points.
    position_bias : float
        Points toward the answer read first.
    lean : sequence of float
        Points toward A of each role, in the order of speaking; empty for none.
    roles : sequence of str
        The role of each referee, in the order of speaking; empty for a role of its own for each. Referees of one
        role share Z(j), of the opinion and of the level; the talk noise of each call is their own.
    conformity : float
        Weight of what is heard, between 0 and 1.
    base : float
        Mean score of an average answer, between 1 and 10.
    question_words, answer_words, instruction_words, reply_words, summary_words : float
        Words of the question, of an answer, of a role's prompt, of the longest reply and summary.
    slack : float
        A message has between (1 - slack) and 1 times its longest length, uniformly.

    Notes
    -----
    Algorithm 1 of ChatEval, read to the letter, passes a message only to the seats after it; its text and its
    figure let it reach everyone who speaks later, which is what is drawn here. The paper fixes no lengths;
    those of this world are plain guesses. With the defaults one referee is right, of
    three labels, in .57 and the majority of three after two turns in .60 of 20,000 items, in every mode.
    ChatEval has .54 for one agent and .60 for three, one by one, but .55 in the other modes (tables 1 and 4,
    80 items, so a standard error of .055): averaging alone makes no such difference.

    Examples
    --------
    >>> Referees(panel=2, communication="simultaneous", lean=(0.5, -0.5)).lean
    (0.5, -0.5)
    """

    panel: PositiveInt = 3
    communication: Literal["one_by_one", "simultaneous", "simultaneous_with_summarizer"] = "one_by_one"
    first: Literal["A", "B"] = "A"
    run: NonNegativeInt = 0

    gap_sd: NonNegativeFloat = 1.5
    label_noise: NonNegativeFloat = 0.8
    tie_margin: NonNegativeFloat = 0.4
    position_bias: Finite = 0.3
    lean: Sequence[float] = ()
    roles: Sequence[str] = ()
    shared_sd: NonNegativeFloat = 0.9
    role_sd: NonNegativeFloat = 1.2
    talk_noise: NonNegativeFloat = 0.5
    conformity: Probability = 0.4
    summary_noise: NonNegativeFloat = 0.5
    base: Annotated[float, partial(within, low=1, high=10)] = 7.5
    level_sd: NonNegativeFloat = 0.7

    question_words: NonNegativeFloat = 40.0
    answer_words: NonNegativeFloat = 150.0
    instruction_words: NonNegativeFloat = 130.0
    reply_words: NonNegativeFloat = 100.0
    summary_words: NonNegativeFloat = 80.0
    slack: Probability = 0.3

    name: ClassVar[str] = "referees"
    citation: ClassVar[str] = "ChatEval (2023), arXiv 2308.07201, sections 2 and 3, appendices A and B"
    free: ClassVar[tuple[str, ...]] = (
        *("gap_sd", "shared_sd", "role_sd", "talk_noise", "conformity", "position_bias", "base"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "lean", vector("lean", self.lean, self.panel, "referee"))
        roles = self.roles
        if isinstance(roles, str) or not all(isinstance(role, str) and role for role in roles):
            raise ValueError(f"roles must be a list of names, one per referee; got roles={roles!r}")
        object.__setattr__(self, "roles", tuple(roles))
        if len(self.roles) not in (0, self.panel):
            raise ValueError(f"roles must have one name per referee ({self.panel}); got {len(self.roles)}")

    @property
    def answers(self) -> tuple[str, ...]:
        return ("A", "B", "tie")

    @property
    def polling(self) -> Polling:
        """The majority of the last turn, as in ChatEval."""
        return replace(OF_PROTOCOL["chateval"], tie=True)

    @property
    def readers(self) -> tuple[int, ...]:
        """The first seat, from 0, of each referee's role."""
        return tuple(self.roles.index(role) for role in self.roles) or tuple(range(self.panel))

    @property
    def points(self) -> tuple[int, int]:
        return (LOWEST, HIGHEST)

    def groups(self) -> dict[str, Group]:
        groups = self.scalars(
            *("gap_sd", "label_noise", "tie_margin", "shared_sd", "role_sd", "talk_noise", "level_sd"),
            *("conformity", "position_bias"),
        )
        groups["base"] = scalar("base", 1, 10)
        if self.communication == "simultaneous_with_summarizer":
            groups |= self.scalars("summary_noise")
        groups["lean"] = Group(
            lambda world: tuple(world.lean) or (0.0,) * world.panel,
            lambda world, values: replace(world, lean=values),
        )
        return groups

    def untold(self, free: tuple[str, ...], labelled: bool) -> list[str]:
        note = "without labels gap_sd and shared_sd cannot be separated, because both shift a whole team"
        return [] if labelled else [note]


@sample.register
def sample_referees(world: Referees, n_debates: int, n_rounds: int, rng: np.random.Generator) -> Drawn:
    """Draw discussions of a team of referees; a round is a turn.

    Examples
    --------
    >>> from d3stats.worlds import simulate_debates
    >>> from d3stats.worlds import Referees
    >>> talks = simulate_debates(Referees(panel=3), n_debates=100, n_rounds=2, rng=1)
    >>> talks.answers, talks.scores.shape
    (('A', 'B', 'tie'), (100, 2, 2))
    """
    quality, label = draw_pairs(world, n_debates, rng)
    # Whatever depends on the team has streams of its own, so that every team of a seed sees the same items.
    seed = int(rng.integers(2**63))
    standing = np.random.default_rng([seed, 0])
    talking, writing = np.random.default_rng([seed, 1 + world.run]).spawn(2)
    opinion = _opinions(world, quality, standing)
    level = world.base + world.level_sd * standing.standard_normal((n_debates, world.panel))[:, world.readers]
    given = _talk(world, opinion, level, n_rounds, talking)
    difference = given[..., 0] - given[..., 1]
    votes = np.where(difference > 0, A, np.where(difference < 0, B, TIE)).astype(np.int32)
    seats = tuple(f"referee {j + 1}" for j in range(world.panel))
    tokens, written = _tokens(world, n_debates, n_rounds, writing)
    sides, points = ("A", "B"), given.mean(axis=2)
    return Drawn(votes, label, world.answers, tokens, points, sides, seats, tokens - written, written)


def draw_pairs(world: Referees, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int32]]:
    """Draw how much better A is, and the label."""
    quality: Floats = world.gap_sd * rng.standard_normal(n)
    judged = quality + world.label_noise * rng.standard_normal(n)
    label = np.where(np.abs(judged) < world.tie_margin, TIE, np.where(judged > 0, A, B)).astype(np.int32)
    return quality, label


def _opinions(world: Referees, quality: Floats, rng: np.random.Generator) -> Floats:
    """Return what each referee thinks A is better by, before a word is said; shape (debates, referees)."""
    n = len(quality)
    lean = np.asarray(world.lean) if world.lean else np.zeros(world.panel)
    shared, own = rng.standard_normal((n, 1)), rng.standard_normal((n, world.panel))[:, world.readers]
    opinions: Floats = opinion(world, quality[:, None], lean, shared, own, world.first)
    return opinions


def opinion(world: Referees, quality: Any, lean: Any, shared: Any, own: Any, first: str | None) -> Any:
    """Return what a referee thinks A is better by, from its two errors and what it reads first."""
    position = world.position_bias if first == "A" else -world.position_bias
    return quality + position + lean + world.shared_sd * shared + world.role_sd * own


def _talk(world: Referees, opinion: Floats, level: Floats, n_rounds: int, rng: np.random.Generator) -> Floats:
    """Return the scores given, shape (debates, turns, referees, sides)."""
    n, m = opinion.shape
    noise = rng.standard_normal((n, n_rounds, m))
    blur = world.summary_noise * rng.standard_normal((n, n_rounds))
    given = np.empty((n, n_rounds, m, 2))
    said = np.empty((n, n_rounds, m))
    for t in range(n_rounds):
        for j in range(m):
            heard = _heard(world.communication, said, t, j, blur)
            given[:, t, j, 0], given[:, t, j, 1] = spoken(
                world, opinion[:, j], heard, level[:, j], noise[:, t, j]
            )
            said[:, t, j] = given[:, t, j, 0] - given[:, t, j, 1]
    return given


def spoken(world: Referees, own: Any, heard: Any, level: Any, noise: Any) -> tuple[Any, Any]:
    """Return the scores of A and B that a referee gives, with what it has heard or None."""
    x = own if heard is None else (1 - world.conformity) * own + world.conformity * heard
    half = (x + world.talk_noise * noise) / 2
    a, b = np.rint(level + half), np.rint(level - half)
    return np.minimum(np.maximum(a, LOWEST), HIGHEST), np.minimum(np.maximum(b, LOWEST), HIGHEST)


def _heard(communication: str, said: Floats, t: int, j: int, blur: Floats) -> Floats | None:
    """Return what referee j has in the ear before speaking in turn t, None before anything was said."""
    if communication == "simultaneous_with_summarizer":
        return None if t == 0 else said[:, :t].mean(axis=(1, 2)) + blur[:, t]
    others = np.arange(said.shape[2]) != j
    if communication == "simultaneous":
        latest = said[:, t - 1, others] if t else said[:, 0, :0]
    else:
        after = said[:, t - 1, j + 1 :] if t else said[:, 0, :0]
        latest = np.concatenate([said[:, t, :j], after], axis=1)
    return latest.mean(axis=1) if latest.shape[1] else None


def case_words(world: Referees) -> float:
    """Return the words of a prompt that holds the role, the question and both answers."""
    return world.instruction_words + world.question_words + 2 * world.answer_words


def _tokens(world: Referees, n: int, n_rounds: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the tokens of a turn's calls, prompts and messages together and messages alone; (debates, turns)."""
    m = world.panel

    def written(longest: float, *shape: int) -> Floats:
        return longest * (1 - world.slack * rng.random((n, n_rounds, *shape)))

    reply, summary = written(world.reply_words, m), written(world.summary_words)
    turn = reply.sum(axis=2)
    before = np.cumsum(turn, axis=1) - turn
    case = case_words(world)
    if world.communication == "one_by_one":
        # Seat j reads this turn's messages of the seats before it, too.
        words = m * (case + before) + (np.cumsum(reply, axis=2) - reply).sum(axis=2) + turn
    elif world.communication == "simultaneous":
        words = m * (case + before) + turn
    else:
        summaries = np.cumsum(summary, axis=1) - summary
        summarizing = world.instruction_words + before + turn + summary
        words = m * (case + summaries) + turn + summarizing
    said = turn + summary if world.communication == "simultaneous_with_summarizer" else turn
    return TOKENS_PER_WORD * words, TOKENS_PER_WORD * said


class Pair(NamedTuple):
    """The hidden state of an item: points by which A is better, and the label."""

    quality: float
    label: str


def draw_pair(world: Referees, streams: Streams, question: str) -> Pair:
    """Draw the state of an item; the same for every debate about the question."""
    quality, label = draw_pairs(world, 1, streams.generator("item", question))
    return Pair(float(quality[0]), world.answers[int(label[0])])


def heard_difference(seen: Sequence[Message], sides: Sequence[str], me: str) -> float | None:
    """Return what a referee has in the ear, as A's score minus B's; None before anything is heard.

    That is the last summary where there is one, else the mean of every other referee's latest scores.
    """
    latest: dict[str, float] = {}
    summary = None
    for message in seen:
        if message.scores is not None:
            if message.speaker != me:
                latest[message.speaker] = _difference(message, sides)
        elif "difference" in (facts := statement(message.text).facts):
            summary = facts["difference"]
    if summary is not None:
        return summary
    return fmean(latest.values()) if latest else None


def _difference(message: Message, sides: Sequence[str]) -> float:
    scores = message.scores or {}
    return fmean(scores[sides[0]].values()) - fmean(scores[sides[1]].values())


class RefereeAgent(SyntheticAgent[Referees]):
    """Every referee of a team, and its summarizer.

    - referee: scores by its opinion of the pair, mixed with what it hears.
    - summarise: tells the mean difference of all scores that the summarizer sees, with an error of summary_noise.

    Parameters
    ----------
    world : Referees
        ``communication``, ``first`` and ``panel`` say what the simulator draws; here the protocol that is played
        decides about these.
    seed : int
    """

    acts: ClassVar[tuple[str, ...]] = ("referee", "summarise")

    def __init__(self, world: Referees, seed: int = 0) -> None:
        super().__init__(world, seed)
        self._errors = lru_cache(maxsize=65536)(lambda *names: self.streams.of(*names).normals(2))

    def _item(self, question: str) -> Pair:
        return draw_pair(self.world, self.streams, question)

    def _answer(self, request: Request, stream: Stream) -> Reply:
        world, case, rubric = self.world, request.case, request.slot.rubric
        if request.act == "summarise":
            given = [_difference(m, case.sides) for m in request.seen if m.scores is not None]
            facts = {"difference": fmean(given) + world.summary_noise * stream.normal()} if given else {}
            return self.say(request, stream, facts)
        if request.slot.wants_vote or (rubric is not None and rubric.sides != case.sides):
            raise Refused(
                "slot of a referee must ask for scores of the candidates in world 'referees', which has no law for "
                f"other votes and marks; got {request.slot}"
            )
        role, level = self._errors("referee", case.question, self._reader(request.agent))
        team = self._errors("team", case.question)[0]
        lean = world.lean[seat_of(request.agent) - 1] if world.lean else 0.0
        first = "A" if request.shown_first == case.sides[0] else "B"
        own = opinion(world, self.item(case.question).quality, lean, team, role, first)
        heard = heard_difference(request.seen, case.sides, request.agent)
        points = spoken(world, own, heard, world.base + world.level_sd * level, stream.normal())
        if rubric is None:
            return self.say(request, stream)
        scores = {
            side: dict.fromkeys(rubric.criteria, float(x)) for side, x in zip(case.sides, points, strict=True)
        }
        return self.say(request, stream, scores=scores)

    def _reader(self, agent: str) -> str:
        """Return the name of the first referee with the agent's role, whose errors it has."""
        if not self.world.roles:
            return agent
        seat = seat_of(agent)
        if seat > self.world.panel:
            raise Refused(
                f"roles of world 'referees' must have one name per referee of the protocol; got "
                f"{self.world.panel} and {agent!r}"
            )
        return f"referee {self.world.readers[seat - 1] + 1}"

    def _lengths(self, request: Request) -> tuple[float, ...]:
        return (self.world.reply_words if request.act == "referee" else self.world.summary_words,)

    def _prompt(self, request: Request) -> float:
        # A summarizer reads what was said and not the case.
        case = self.world.instruction_words if request.act == "summarise" else case_words(self.world)
        return self.tokens_per_word * (case + self.read(request.seen))


synthetic_agent.register(Referees, RefereeAgent)


@synthetic_items.register
def referee_items(world: Referees, n: int, seed: int = 0, *, first: int = 0) -> list[SyntheticItem]:
    """Return pairs of answers to compare; a tie may be the right verdict."""
    streams = Streams(seed)
    return item_range(
        n, first, lambda q: (draw_pair(world, streams, q).label, None), world.answers, pairs=True
    )
