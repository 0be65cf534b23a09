"""One world for all debate protocols: agents of every role read two answers with the same errors."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats._check import NonNegativeFloat, PositiveFloat, Probability
from d3stats.agent import Message, Refused, Reply, Request, Rubric, Size
from d3stats.polling import OF_PROTOCOL, Polling
from d3stats.trajectories import MISSING
from d3stats.worlds.base import World
from d3stats.worlds.courtroom import (
    BenchAgent,
    Courtroom,
    Heard,
    Items,
    case_words,
    draw_items,
    juror_error,
    reading_bias,
    standing_error,
)
from d3stats.worlds.draw import Drawn, sample
from d3stats.worlds.streams import (
    TOKENS_PER_WORD,
    Scores,
    Stream,
    SyntheticItem,
    statement,
    synthetic_agent,
    synthetic_items,
    tell,
)

__all__ = ["Assembly", "AssemblyAgent"]


@dataclass(frozen=True, kw_only=True)
class Assembly(World):
    """Items and advocates of a courtroom, and agents who read a pair equally well in every role.

    This world serves to compare protocols. Agents of all roles (judge, juror, panelist, referee, moderator, leaf,
    synthesizer, solver, critic, evaluator, reviewer) read a pair with the same errors. Protocols therefore differ only
    in who is asked, who hears whom, and how it is decided. Points are raw points of a judge's total of 6 to 120. Each
    written Z is a new standard normal variable. The `court` defines the rest: the quality gap q, the label, the length
    ratio L, the bias b toward A, the arguments' strengths X(s, r).

    * Revelation: an agent that has read r rounds of argument sees the gap

      g(r) = q (1 - hidden decay^r),

      so the answers without arguments hide the share `hidden`. (In a :class:`~d3stats.worlds.Courtroom`, where all
      agents have heard an argument, the first round hides it, so g(r) here is that world's g(r + 1).) With
      ``reveals="argument"`` only advocates reveal; with ``reveals="talk"`` the rounds of any message count.
    * Argument misleads as well. The strengths add d(r) = X(A, r) - X(B, r), where a side that said nothing has the
      strength 0. A judge uses the arguments of its round. All other agents use the mean of g(r) + d(r) over the rounds
      of argument that they read (as in the courtroom), and g(0) without an argument.
    * Reading: agent j reads x(j) =
      ``g + d + b + juror_shared Z + juror_persona (sqrt(1 - diversity) Z + sqrt(diversity) Z(j)) + juror_noise Z``.
      The first two Z belong to the item, as one LLM misreads one question alike each time. Z(j) belongs to the item and
      the agent j in all its calls, and the last Z is drawn in every call. The total error is the same for every
      `diversity`, which sets how much of the error is shared with the other agents.
    * Talk: an agent that hears others' readings h(i) says ``y = (1 - w) x + w mean h(i)``, with w = conformity, over
      the latest message of each. Without others' readings it says ``y = x``. Judges, jurors and reviewers are asked for
      their own view and hear arguments only. A vote is A when y > 0. A summary passes on the mean of what it read.
    * Marks: on a judge's rubric, criteria of 1 to 20, as in the courtroom (+ for A), a mark is
      ``clip(round(base + (X(A) + X(B) +- y) / 12 + noise (sqrt(halo) Z + sqrt(1 - halo) Z)), 1, ceiling)``.
      On any other rubric of m criteria it is
      ``clip(round(level +- y / (2 m points_per_mark) + mark_noise Z), low, high)``, with the level as far up the scale
      as `base` is between 1 and 20. The higher total is the vote. Where other agents' answers are marked and not the
      candidates, each has the mark of the side that it leaned to in the rounds before.
    * Multi-Persona: the task of the negative side is to disagree. From its y, `contrariness` is subtracted in the
      direction of the affirmative's latest message. The moderator passes while ``abs(y) < decide_at``, unless it has to
      decide.
    * AgentVerse: the evaluator finds the solution correct with probability ``expit((s y - accept_at) / accept_scale)``,
      with s = 1 for a solver who leans to A, -1 for B, and y the evaluator's reading, which hears solver and critics.
    * Runs: as in the courtroom, with ``court.run``.

    Tokens are words x 4/3: a prompt holds the role's instruction, the question, both answers and every message that
    is seen, each as long as it was when written. Messages have between (1 - slack) and 1 times their longest
    length.

    The agents take the court's `panel`, `protocol`, `first`, `advocates`, `poll` and `memory` from the protocol that
    they play. :func:`~d3stats.worlds.simulate_debates` draws the debates of one `protocol`; `panel` are then the
    reviewers of peer rank. In Multi-Persona the moderator ends a debate, at the latest in its last round.

    Parameters
    ----------
    protocol : {"multi_persona", "peer_discussion", "peer_rank"}
        The protocol that is simulated. Peer rank has one round, so there is no stopping rule to choose.
    court : Courtroom
        Items, biases, advocates, marks, lengths, and the reading errors ``juror_shared, juror_persona,
        juror_noise``, which here apply to all agents.
    reveals : {"argument", "talk"}
    diversity : float
        Share of the variance of the persistent own error that agents do not have in common, between 0 and 1.
    conformity : float
        Weight of what is heard, between 0 and 1.
    contrariness, decide_at, accept_at : float
        Points.
    accept_scale, points_per_mark : float
        Points, above 0.
    mark_noise : float
        Marks.
    reply_words, summary_words, expert_words : float
        Longest message of a talker and of a summarizer; the description of a recruited expert.

    Notes
    -----
    None of these numbers is measured. Three of them decide which protocol comes out on top: how much is hidden
    (``court.hidden``), how far arguments mislead (``court.advocate_sd``), and how much of the error all agents share
    (``court.juror_shared``, `diversity`). A ranking in one such world is a statement about these, not about LLMs.

    Examples
    --------
    >>> world = Assembly(court=Courtroom(hidden=0.5), diversity=0.5)
    >>> world.shown(0), world.shown(1)
    (0.5, 0.85)
    """

    protocol: Literal["multi_persona", "peer_discussion", "peer_rank"] = "multi_persona"
    court: Courtroom = field(default_factory=Courtroom)
    reveals: Literal["argument", "talk"] = "argument"
    diversity: Probability = 1.0
    conformity: Probability = 0.4
    contrariness: NonNegativeFloat = 2.0
    decide_at: NonNegativeFloat = 6.0
    accept_at: NonNegativeFloat = 2.0
    accept_scale: PositiveFloat = 2.0
    points_per_mark: PositiveFloat = 2.0
    mark_noise: NonNegativeFloat = 0.3
    reply_words: NonNegativeFloat = 100.0
    summary_words: NonNegativeFloat = 80.0
    expert_words: NonNegativeFloat = 25.0

    name: ClassVar[str] = "assembly"
    citation: ClassVar[str] = "this library's; items and advocates as in D3, discussion as in ChatEval (2023)"

    def __post_init__(self) -> None:
        if not isinstance(self.court, Courtroom):
            raise TypeError(f"court must be a Courtroom; got court={self.court!r}")
        if self.court.personas or self.court.plain_diversity < 1:
            raise ValueError(
                "court of an assembly must have neither personas nor plain_diversity, because an assembly "
                f"does not use them; give the assembly diversity; got {len(self.court.personas)} personas, "
                f"plain_diversity={self.court.plain_diversity:g}"
            )
        super().__post_init__()

    @property
    def polling(self) -> Polling:
        """The decisions of the protocol that is simulated."""
        return OF_PROTOCOL[self.protocol]

    @property
    def run(self) -> int:
        """Number of the repeat: the same items, with new calls."""
        return self.court.run

    def shown(self, rounds: int) -> float:
        """Return the share of the quality gap that so many rounds of argument show."""
        return 1 - self.court.hidden * self.court.decay**rounds


@sample.register
def sample_assembly(world: Assembly, n_debates: int, n_rounds: int, rng: np.random.Generator) -> Drawn:
    """Draw debates of the protocol of an assembly.

    Raises
    ------
    ValueError
        When peer rank, which has one round, is asked for more.

    Examples
    --------
    >>> from d3stats.worlds import simulate_debates
    >>> debates = simulate_debates(Assembly(), n_debates=100, n_rounds=3, rng=1)
    >>> debates.seats, bool((debates.depth < 3).any()), bool(debates.ended_early().any())
    (('debater, affirmative', 'debater, negative', 'moderator'), True, False)
    """
    if world.protocol == "peer_rank" and n_rounds != 1:
        raise ValueError(
            f"n_rounds must be 1 for protocol='peer_rank', whose debates have one round; got n_rounds={n_rounds}; "
            "simulate it by itself, apart from protocols of several rounds"
        )
    items = draw_items(world.court, n_debates, rng)
    standing = np.random.default_rng([items.seed, 0])
    reading, writing = np.random.default_rng([items.seed, 1 + world.run]).spawn(2)
    agents = _AGENTS.get(world.protocol, ()) or tuple(f"reviewer {j + 1}" for j in range(world.court.panel))
    shared, own = standing.standard_normal((n_debates, 1)), standing.standard_normal((n_debates, len(agents)))
    if world.diversity < 1:
        own = standing_error(world.diversity, standing.standard_normal((n_debates, 1)), own)
    readers = _Readers(world, items, shared, own, reading)
    case = case_words(world.court, items.log_length_ratio)[:, None]
    longest = np.full((n_rounds, len(agents)), world.reply_words)
    depth = None
    if world.protocol == "peer_rank":
        both = [readers.lean(j, first=first) for j in range(len(agents)) for first in ("A", "B")]
        votes = np.where(np.stack(both, axis=1) > 0, 0, 1).astype(np.int32)[:, None]
        agents = tuple(f"{agent}, {first} first" for agent in agents for first in "AB")
        longest = np.full((1, len(agents)), world.court.rationale_words)
        seen = np.zeros((1, len(agents), 1, len(agents)))
    elif world.protocol == "peer_discussion":
        longest[0] = world.court.rationale_words
        votes = _discussion(world, readers, n_rounds)
        seen = _heard_before(n_rounds, len(agents), apart=1)
    else:
        votes, depth = _multi_persona(world, readers, n_rounds)
        seen = _heard_before(n_rounds, len(agents))
    said = longest * (1 - world.court.slack * writing.random((n_debates, *longest.shape)))
    read = np.einsum("rsqt,nqt->nr", seen, said)
    sent = TOKENS_PER_WORD * (len(agents) * case + read)
    written = TOKENS_PER_WORD * said.sum(axis=2)
    if depth is not None:
        over = np.arange(n_rounds) >= depth[:, None]
        sent, written, votes = np.where(over, np.nan, sent), np.where(over, np.nan, written), votes.copy()
        votes[over] = MISSING
    drawn = Drawn(votes, items.label, ("A", "B"), seats=agents, depth=depth)
    return drawn._replace(tokens=sent + written, tokens_in=sent, tokens_out=written)


_AGENTS = {
    "multi_persona": ("debater, affirmative", "debater, negative", "moderator"),
    "peer_discussion": ("reviewer 1", "reviewer 2"),
}


class _Readers:
    """Agents who read the bare answers of many items, each with its own standing error."""

    def __init__(
        self, world: Assembly, items: Items, shared: Floats, own: Floats, rng: np.random.Generator
    ) -> None:
        self.world, self.items, self.shared, self.own, self.rng = world, items, shared[:, 0], own, rng

    def lean(self, agent: int, talked: int = 0, first: str | None = None) -> Floats:
        """Return how much better A looks to an agent in a new call, after so many rounds of talk."""
        court, items = self.world.court, self.items
        bias = reading_bias(court, items.log_length_ratio, items.own_family, first or court.first)
        noise = self.rng.standard_normal(len(self.shared))
        error = juror_error(court, self.shared, self.own[:, agent], noise)
        shown = self.world.shown(talked if self.world.reveals == "talk" else 0)
        found: Floats = items.quality_gap * shown + bias + error
        return found


def _after(world: Assembly, lean: Floats, heard: list[Floats]) -> Floats:
    """Return what an agent says that hears the latest leans of others."""
    w = world.conformity
    found: Floats = (1 - w) * lean + w * np.mean(heard, axis=0) if heard else lean
    return found


def _discussion(world: Assembly, readers: _Readers, n_rounds: int) -> NDArray[np.int32]:
    """Return the votes of two reviewers, who talk from round 2 on; shape (debates, rounds, 2)."""
    said = [readers.lean(0), readers.lean(1)]
    votes = [np.stack(said, axis=1)]
    for r in range(1, n_rounds):
        for me, other in ((0, 1), (1, 0)):
            said[me] = _after(world, readers.lean(me, r + me), [said[other]])
        votes.append(np.stack(said, axis=1))
    return np.where(np.stack(votes, axis=1) > 0, 0, 1).astype(np.int32)


def _multi_persona(
    world: Assembly, readers: _Readers, n_rounds: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the votes of both debaters and the moderator, and the rounds until the moderator decides."""
    said: dict[int, Floats] = {}
    votes, n = [], len(readers.shared)
    depth = np.full(n, n_rounds, dtype=np.int64)
    for r in range(n_rounds):
        for me in range(3):
            heard = [lean for who, lean in said.items() if who != me]
            lean = _after(world, readers.lean(me, r if me == 0 else r + 1), heard)
            said[me] = lean - np.copysign(world.contrariness, said[0]) if me == 1 else lean
        cast = np.where(np.stack([said[me] for me in range(3)], axis=1) > 0, 0, 1).astype(np.int32)
        passed = (np.abs(said[2]) < world.decide_at) & (r + 1 < n_rounds)
        cast[passed, 2] = MISSING
        depth = np.where(passed, depth, np.minimum(depth, r + 1))
        votes.append(cast)
    return np.stack(votes, axis=1), depth


def _heard_before(n_rounds: int, agents: int, apart: int = 0) -> Floats:
    """Return who reads which message: 1 for all that was said before; the first `apart` rounds are said at once."""
    place = np.arange(n_rounds * agents).reshape(n_rounds, agents)
    reads = (place[:, :, None, None] > place).astype(np.float64)
    reads[:apart] = 0.0
    return reads


COURT = ("argue", "aggregate")
ALONE = ("judge", "vote", "review")
TALK = (
    *("referee", "answer", "affirm", "oppose", "moderate"),
    *("solve", "synthesise", "criticise", "evaluate", "discuss"),
)

_ASKED_TWICE = re.compile(r"(?:, \S+ first)?(?:, sample \d+)?$")

JUDGES_TOP = 20
"""A rubric that goes up to here is a judge's; its marks are the courtroom's."""


class AssemblyAgent(BenchAgent[Assembly]):
    """An agent that plays all roles in a debate of an assembly; :class:`~d3stats.worlds.Assembly` defines its law.

    An agent asked several times ("judge, A first", "judge, B first", "judge, A first, sample 2") is one and the same,
    and misreads a question in the same way each time.

    Examples
    --------
    >>> from d3stats.protocols import play_sync
    >>> from d3stats.protocols.baselines import SingleJudge
    >>> world = Assembly()
    >>> item = synthetic_items(world, 1, seed=3)[0]
    >>> play_sync(SingleJudge(), item.case("d1"), AssemblyAgent(world, seed=3)).reason
    'one_round'
    """

    acts: ClassVar[tuple[str, ...]] = (*COURT, *ALONE, *TALK, "summarise", "assign")

    def __init__(self, world: Assembly, seed: int = 0) -> None:
        super().__init__(world, seed)
        self._spoken: tuple[tuple[Message, ...], list[tuple[Message, float]]] = ((), [])

    def reply(self, request: Request) -> Reply:
        """Answer a request at once."""
        if not request.case.sides:
            raise Refused(f"case must have two candidates in this world; got none in {request.case.debate!r}")
        return super().reply(request)

    def _answer(self, request: Request, stream: Stream) -> Reply:
        match request.act:
            case "argue":
                return self._argue(request, stream)
            case "aggregate":
                return self._aggregate(request, stream)
            case "summarise":
                heard = self._heard_leans(request)
                return self.say(request, stream, {"lean": fmean(heard)} if heard else {})
            case "assign":
                words = [self._long(self.world.expert_words, stream) for _ in range(request.slot.listed)]
                return self.done(request, stream, "\n".join(map(tell, words)), sum(words))
        return self._read(request, stream)

    def _imagined(self, request: Request, size: Size, text: str, words: float) -> Reply:
        if request.act == "assign":
            text = "\n".join([tell(self._kept(size) * self.world.expert_words)] * request.slot.listed)
        return super()._imagined(request, size, text, words)

    def reading(self, request: Request, heard: Mapping[int, Heard], noise: float) -> float:
        """Return how much better A looks to this agent, in points, its errors included.

        Parameters
        ----------
        request : Request
        heard : mapping of int to Heard
            The arguments that count, by round; empty for the bare answers.
        noise : float
            The call's own standard normal error.
        """
        world, question, rounds = self.world, request.case.question, heard.values()
        talked = 0
        if world.reveals == "talk":
            talked = max((message.round for message, _ in self._leans(request)), default=0)
        seen, argued = world.shown(talked), 0.0
        if rounds:
            seen = fmean(fmean(world.shown(max(int(n) + 1, talked)) for n in at.feedback) for at in rounds)
            argued = fmean(at.strength[0] - at.strength[1] for at in rounds)
        own = self.standing("juror", question, _ASKED_TWICE.sub("", request.agent))
        if world.diversity < 1:
            alike = self.standing("persona", question)
            own = math.sqrt(1 - world.diversity) * alike + math.sqrt(world.diversity) * own
        error = juror_error(world.court, self.standing("jury", question), own, noise)
        return float(self.item(question).gap * seen + argued + self.bias(request) + error)

    def _leans(self, request: Request) -> list[tuple[Message, float]]:
        """Return who leaned how far to A, message by message; several agents in a row see the same ones."""
        if request.seen is not self._spoken[0]:
            facts = ((message, statement(message.text).facts.get("lean")) for message in request.seen)
            self._spoken = request.seen, [(message, lean) for message, lean in facts if lean is not None]
        return self._spoken[1]

    def _latest(self, request: Request) -> dict[str, float]:
        return {message.speaker: lean for message, lean in self._leans(request)}

    def _heard_leans(self, request: Request) -> list[float]:
        """Return the latest lean of everybody else who can be heard."""
        me = (request.agent, request.role)
        return [lean for speaker, lean in self._latest(request).items() if speaker not in me]

    def _read(self, request: Request, stream: Stream) -> Reply:
        """Read the pair, and say what the act asks for: a vote, scores, a lean."""
        world, slot, (a, b) = self.world, request.slot, request.case.sides
        argued = self.heard(request)
        if request.act == "judge":
            argued = {n: at for n, at in argued.items() if n == request.round}
        lean = self.reading(request, argued, stream.normal())
        if request.act in TALK:
            lean = self._after_talk(request, lean)
        scores = None
        if slot.rubric is not None:
            if request.act == "evaluate":
                scores = self._verdict_on_solution(request, slot.rubric, lean, stream)
            else:
                leans = {a: lean, b: -lean}
                if slot.rubric.sides != request.case.sides:
                    leans = {who: lean * self._way_of(request, who) for who in slot.rubric.sides}
                scores = self._scores(slot.rubric, leans, argued, stream)
        passed = slot.may_pass and abs(lean) < world.decide_at
        vote = (a if lean > 0 else b) if slot.wants_vote and not passed else None
        return self.say(request, stream, {"lean": lean}, vote, scores)

    def _after_talk(self, request: Request, lean: float) -> float:
        heard, w = self._heard_leans(request), self.world.conformity
        if heard:
            lean = (1 - w) * lean + w * fmean(heard)
        proposed = self._latest(request).get("affirmative") if request.act == "oppose" else None
        return lean if proposed is None else lean - math.copysign(self.world.contrariness, proposed)

    def _way_of(self, request: Request, speaker: str) -> float:
        """Return which way a speaker leaned before this round: 1 to A, -1 to B, 0 when it was not heard."""
        leans = [x for m, x in self._leans(request) if m.round < request.round and m.speaker == speaker]
        return math.copysign(1.0, leans[-1]) if leans else 0.0

    def _scores(
        self, rubric: Rubric, leans: Mapping[str, float], argued: Mapping[int, Heard], stream: Stream
    ) -> Scores:
        world, n = self.world, len(rubric.criteria)
        if rubric.high == JUDGES_TOP:
            level = fmean(fmean(at.strength) for at in argued.values()) if argued else 0.0
            given = self.marks(rubric, [level + lean / 2 for lean in leans.values()], stream)
        else:
            level = rubric.low + (rubric.high - rubric.low) * (self.court.base - 1) / (JUDGES_TOP - 1)
            halves = [lean / (2 * n * world.points_per_mark) for lean in leans.values()]
            given = [
                [float(round(level + half + world.mark_noise * z)) for z in stream.normals(n)]
                for half in halves
            ]
        return {
            side: dict(zip(rubric.criteria, (min(max(x, rubric.low), rubric.high) for x in row), strict=True))
            for side, row in zip(leans, given, strict=True)
        }

    def _verdict_on_solution(self, request: Request, rubric: Rubric, lean: float, stream: Stream) -> Scores:
        """Say for each side of the rubric whether the solution is right: its lowest or its highest mark."""
        world, solution = self.world, self._latest(request).get("solver")
        toward = -math.inf if solution is None else math.copysign(lean, lean * solution)
        at = (toward - world.accept_at) / world.accept_scale
        right = stream.uniform() < (1 / (1 + math.exp(-at)) if at > -700 else 0.0)
        mark = float(rubric.high if right else rubric.low)
        return {side: dict.fromkeys(rubric.criteria, mark) for side in rubric.sides}

    def _lengths(self, request: Request) -> tuple[float, ...]:
        world, court = self.world, self.court
        if request.act in COURT:
            return super()._lengths(request)
        if request.act == "judge":
            return (2 * court.feedback_words if request.rounds > 1 else 0.0), court.reasons_words
        # Nothing of these is filed; streams were named with a second length, 0, which stays.
        if request.act in ("vote", "review", "answer"):
            return court.rationale_words, 0.0
        if request.act == "assign":
            return world.expert_words * request.slot.listed, 0.0
        return (world.summary_words if request.act == "summarise" else world.reply_words), 0.0


synthetic_agent.register(Assembly, AssemblyAgent)


@synthetic_items.register
def assembly_items(world: Assembly, n: int, seed: int = 0, *, first: int = 0) -> list[SyntheticItem]:
    """Return the items of the assembly's court."""
    return synthetic_items(world.court, n, seed, first=first)
