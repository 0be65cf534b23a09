"""Exchange-of-Thought: agents solve, read each other's solutions and solve again (Yin et al. 2023).

``eot`` has two agents and a third that sums up, as in a later comparison; ``eot_network`` has three equal agents and
the four networks of the original.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from d3stats._check import Probability, choice
from d3stats.agent import Case, Message, Reply, Request
from d3stats.protocols.play import (
    DebateProtocol,
    Outcome,
    Play,
    ballot,
    plurality,
    round_over,
    said,
    speak,
    task,
    votes_of,
)
from d3stats.stopping import ExchangeOfThought, StoppingRule, Unanimity
from d3stats.stopping.words import alike

__all__ = ["NETWORKS", "EoT", "EoTNetwork"]

LEAVES = (
    "You attend to every detail (the role of Kitty).",
    "You look for unusual ways to a solution (the role of Peter).",
)
FIRST = (
    "You are {name}, a student working on a problem. {trait} {task} Go step by step, and end with your "
    "answer."
)
AGAIN = (
    "You are {name}, a student working on a problem. {trait} {task} Your solution of the last round and "
    "your friend's are shown. Examine your friend's critically, say what you would change in it, and need "
    "not agree; then give your solution step by step as you now see it, and end with your answer."
)
SYNTHESISE = (
    "You are a student who brings together what two friends, leaf 1 and leaf 2, have worked out (the role "
    "of Ben). {task} Compare their solutions, name the strong and the weak points and where they "
    "contradict each other, and give one complete answer with the reasons for it."
)


@dataclass(frozen=True, kw_only=True)
class EoT(DebateProtocol):
    """Two leaves solve at the same time; in later rounds each reads both solutions of the round before.

    The synthesizer reads both leaves' solutions in every round; its answer of the last round is the
    decision. The debate ends when the leaves' answers read alike, when both leaves have left, or after the
    last round. A leaf leaves when its answer reads like its own of the round before. After that it does not
    speak again, and the others read its last solution.

    Parameters
    ----------
    max_rounds : int
        The paper's number is 3.
    similarity, self_similarity : float
        The ratios of :class:`~d3stats.stopping.ExchangeOfThought` above which two leaves agree and one leaf
        leaves.

    Notes
    -----
    Answers are compared, not whole solutions. Leaving belongs to the protocol and happens under any
    stopping rule; when both have left, the debate is over ("agents_left"). A leaf that has left casts no
    vote: in the log and to a rule its seat is empty, and ``ExchangeOfThought`` remembers its answer. The
    leaves have a role each, ``"leaf 1"`` and ``"leaf 2"``, because a log wants all agents of one role in a
    round or none. When the synthesizer fails in the last round, there is no decision, though the leaves may
    agree.

    Examples
    --------
    >>> str(EoT(similarity=0.95).rule())
    'eot:0.95'
    """

    max_rounds: int = 3
    similarity: Probability = 0.85
    self_similarity: Probability = 0.9

    name: ClassVar[str] = "eot"
    citation: ClassVar[str] = (
        "Yin et al. (2023), arXiv 2312.01823, with the roles and difflib thresholds of a later comparison"
    )
    candidates: ClassVar[bool | None] = None

    def rule(self) -> StoppingRule:
        """Return the comparison of answers, with this protocol's thresholds and rounds."""
        return ExchangeOfThought(self.similarity, self.self_similarity, self.max_rounds)

    def play(self, case: Case) -> Play:
        """Play one debate."""
        kept: list[str | None] = [None, None]
        left = [False, False]
        solutions: list[tuple[Message, ...]] = [(), ()]
        number = 0
        while True:
            number += 1
            asked = {
                i: self._leaf(case, number, i, (*solutions[0], *solutions[1])) for i in (0, 1) if not left[i]
            }
            replies = dict(zip(asked, (yield from speak(*asked.values())), strict=True))
            votes: list[str | None] = [None, None]
            for i, reply in replies.items():
                solutions[i] = said(asked[i], reply, asked[i].agent, show=True)
                votes[i] = reply.vote
                left[i] = alike(kept[i], reply.vote, self.self_similarity)
                kept[i] = reply.vote
            parent: Reply
            (parent,) = yield from speak(self._synthesizer(case, number, (*solutions[0], *solutions[1])))
            decision = yield from round_over(number, votes=(*votes, parent.vote))
            # The rule is asked first: leaves that agree have a consensus, even if both would leave.
            if decision.stop or all(left):
                reason = str(decision.reason) if decision.stop else "agents_left"
                return Outcome(parent.vote, number, reason)

    def _leaf(self, case: Case, number: int, seat: int, seen: tuple[Message, ...]) -> Request:
        name = f"leaf {seat + 1}"
        instruction = (FIRST if number == 1 else AGAIN).format(name=name, trait=LEAVES[seat], task=task(case))
        return self.request(case, number, name, name, "solve", instruction, ballot(case, 200), seen)

    def _synthesizer(self, case: Case, number: int, seen: tuple[Message, ...]) -> Request:
        instruction = SYNTHESISE.format(task=task(case))
        return self.request(
            case, number, "synthesizer", "synthesizer", "synthesise", instruction, ballot(case, 200), seen
        )


Communication = Literal["memory", "report", "relay", "debate"]

NETWORKS: dict[str, tuple[tuple[int, ...], ...]] = {
    "memory": ((1, 2), (0, 2), (0, 1)),
    "report": ((1, 2), (0,), (0,)),
    "relay": ((1,), (2,), (0,)),
    "debate": ((1, 2), (2,), (1,)),
}
"""The seats, from 0, whose solutions each of the three solvers reads: a bus, a star, a ring and a tree."""

TRAITS = (*LEAVES, "You weigh the different ways to a solution against each other (the role of Ben).")
EXCHANGE = (
    "You are {name}, a student working on a problem. {trait} {task} Your solution of the last round and those that "
    "have reached you are shown. Go through your own again in their light, without taking any of them for right; then "
    "give your solution step by step as you now see it, and end with your answer."
)


@dataclass(frozen=True, kw_only=True)
class EoTNetwork(DebateProtocol):
    """Three solvers answer at the same time, round by round, each reading those whom the network connects it with.

    From the second round each reads its own solution of the round before, and those of its neighbours. The debate ends
    when all three answers are equal, or after the last round; the plurality of the last answers is the decision.

    Parameters
    ----------
    max_rounds : int
        The first round, before anything is read, is counted; the source has five exchanges after it.
    communication : {"memory", "report", "relay", "debate"}
        Who reads whom. Memory: each reads both others. Report: the first reads both others, who read the first. Relay:
        the first reads the second, the second the third, the third the first. Debate: the first reads both others, who
        read each other.

    Notes
    -----
    Networks, rule and decision are those of the released code. The rule counts three equal answers; when one is
    missing, the debate continues. The confidence that the source shows beside a solution, the share of rounds in which
    the solver gave its most frequent answer, is not shown here. Three different answers give no decision, where the
    source takes the first solver's.

    Examples
    --------
    >>> str(EoTNetwork(communication="relay").rule()), EoTNetwork().communication
    ('unanimity:missing=block', 'memory')
    """

    max_rounds: int = 6
    communication: Communication = "memory"

    name: ClassVar[str] = "eot_network"
    citation: ClassVar[str] = "Yin et al. (2023), arXiv 2312.01823, and its released code"
    candidates: ClassVar[bool | None] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("communication", self.communication, get_args(Communication))

    def rule(self) -> StoppingRule:
        """Return agreement of all three."""
        return Unanimity(missing="block")

    def play(self, case: Case) -> Play:
        """Play one debate."""
        solutions: list[tuple[Message, ...]] = [(), (), ()]
        number = 0
        while True:
            number += 1
            asked = [self._solver(case, number, seat, solutions) for seat in range(3)]
            replies = yield from speak(*asked)
            solutions = [
                said(request, reply, request.agent, show=True)
                for request, reply in zip(asked, replies, strict=True)
            ]
            votes = votes_of(replies)
            decision = yield from round_over(number, votes=votes)
            if decision.stop:
                return Outcome(plurality(case, votes), number, str(decision.reason), decision.detail)

    def _solver(self, case: Case, number: int, seat: int, solutions: list[tuple[Message, ...]]) -> Request:
        name = f"solver {seat + 1}"
        text = (FIRST if number == 1 else EXCHANGE).format(name=name, trait=TRAITS[seat], task=task(case))
        read = sorted((seat, *NETWORKS[self.communication][seat]))
        seen = [message for other in read for message in solutions[other]]
        return self.request(case, number, name, "solver", "solve", text, ballot(case, 200), seen)
