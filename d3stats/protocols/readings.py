"""The schematic of a protocol, found by playing it: who speaks when, who reads whom, and whose word is the verdict.

The code knows nothing about single protocols. A synthetic agent says the number of its turn, so that the messages of a
request show which turns it contains. To find out who decides, the protocol is played again: the turns of one kind take
one side and all others the other side, and the decision shows who was followed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import pandas as pd

from d3stats._check import integer
from d3stats._words import counted
from d3stats.agent import Case, Reply, Request
from d3stats.protocols.from_text import protocol_from_text
from d3stats.protocols.play import DebateProtocol, Outcome, Speak, complete
from d3stats.result import Result
from d3stats.stopping import Decision, StopReason

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Schematic", "schematic"]

FOR, AGAINST, NEITHER = "for", "against", "neither"
"""The side of a turn, in votes and scores. Another word is the agent that it marks highest; its vote is against."""

_SIDES = ("A", "B")
_FAVOURED = "yes"
"""The answer to an open question that one side takes; the others give an answer of their own each."""


@dataclass(frozen=True, slots=True)
class _Turn:
    number: int
    stage: int
    closing: bool
    request: Request


@dataclass(frozen=True)
class Schematic(Result):
    """The turns of a debate under a protocol, and which turns each speaker reads.

    Attributes
    ----------
    protocol : str
        The protocol as text.
    rounds, max_rounds : int
        Rounds that were played, and the most that the protocol allows.
    turns : DataFrame
        One row per turn, in the order of speaking: ``turn`` (from 1), ``stage`` (turns of a stage are at the same
        time), ``round``, ``closing`` (whether the turn follows the end of its round, as a jury at the end does),
        ``agent, role, act``, ``gives`` ("text", "vote", "scores", "vote and scores"; "may vote" where the agent may
        pass), ``decides`` ("verdict": the decision follows these turns; "fallback": it follows these where the former
        are tied or missing; else empty).
    readings : DataFrame
        One row per turn that another one reads: ``turn, agent, round`` of the reader, ``reads, reads_agent,
        reads_round`` of what is read, and ``shows``, what is shown of it ("text", "text and vote", ...).
    notes : tuple of str

    Examples
    --------
    >>> found = schematic("majority:judges=3")
    >>> found.rounds, len(found.turns), len(found.readings)
    (1, 3, 0)
    """

    protocol: str
    rounds: int
    max_rounds: int
    turns: pd.DataFrame
    readings: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The answer, who speaks: turns and rounds."""
        played = f"{self.rounds} of at most {self.max_rounds} rounds" if self.max_rounds > 1 else "one round"
        who = counted(self.turns["agent"].nunique(), "agent")
        return f"{self.protocol}: {counted(len(self.turns), 'turn')} of {who} in {played}."

    def _title(self) -> str:
        return "order of turns and who reads whom"

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        reads = self.readings.groupby("turn")["reads"].agg(lambda turns: ", ".join(map(str, turns))).to_dict()
        shown = self.turns.assign(reads=[reads.get(turn, "") for turn in self.turns["turn"]])
        return {"turns": shown, "readings": self.readings}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the turns; see :func:`~d3stats.plotting.plot_schematic`.

        Examples
        --------
        >>> ax = schematic("more:jurors=3").plot()
        >>> [label.get_text() for label in ax.get_yticklabels()][-3:]
        ['juror 1', 'juror 2', 'juror 3']
        """
        from d3stats.plotting import plot_schematic

        name, _, parameters = self.protocol.partition(":")
        title = f"{name}: {parameters.replace(',', ', ')}" if parameters else name
        if self.rounds < self.max_rounds:
            title += f" ({self.rounds} of at most {self.max_rounds} rounds)"
        title = fill(title, 48, break_long_words=False, break_on_hyphens=False)
        return plot_schematic(self.turns, self.readings, title=title, ax=ax)


def schematic(protocol: DebateProtocol | str, rounds: int | None = None) -> Schematic:
    """Find who speaks when, who reads whom and who decides, by playing the protocol with a synthetic agent.

    Parameters
    ----------
    protocol : DebateProtocol or str
        A protocol, or its text such as ``"chateval:communication=simultaneous"``.
    rounds : int, optional
        Rounds to play, at most the protocol's ``max_rounds``; by default 2, or 1 where there is only one. The debate is
        then stopped, as a stopping rule would.

    Returns
    -------
    Schematic

    Raises
    ------
    ValueError
        When `rounds` is not in that range, or the protocol shows a message that no agent wrote.

    Notes
    -----
    A request shows a turn when one of its messages holds what was said in that turn. A joint defence therefore counts
    as its writer's message, not as those of the advocates whose defences were joined.

    The turns that decide are those of one kind (``act``) that the decision follows against all other turns. Turns of
    the kind whose change alone leaves the decision as it is are left out, unless it takes a whole round of them to
    change it.

    Examples
    --------
    >>> found = schematic("chateval")
    >>> found.to_frame()[["turn", "round", "agent", "reads", "decides"]].tail(3)
       turn  round      agent          reads  decides
    3     4      2  referee 1        1, 2, 3  verdict
    4     5      2  referee 2     1, 2, 3, 4  verdict
    5     6      2  referee 3  1, 2, 3, 4, 5  verdict
    """
    if isinstance(protocol, str):
        protocol = protocol_from_text(protocol)
    if not isinstance(protocol, DebateProtocol):
        raise TypeError(f"protocol must be a DebateProtocol or its text; got {protocol!r}")
    most = protocol.max_rounds
    rounds = min(2, most) if rounds is None else integer("rounds", rounds, minimum=1, maximum=most)
    turns, _ = _play(protocol, rounds, lambda number, request: AGAINST)
    decides = _deciders(protocol, rounds, turns)
    rows: list[tuple[Any, ...]] = []
    read: list[tuple[Any, ...]] = []
    for turn in turns:
        asked = turn.request
        who = (turn.number, turn.stage, asked.round, turn.closing, asked.agent, asked.role, asked.act)
        rows.append((*who, _gives(asked), decides.get(turn.number, "")))
        read += [
            (
                turn.number,
                asked.agent,
                asked.round,
                n,
                turns[n - 1].request.agent,
                turns[n - 1].request.round,
                shown,
            )
            for n, shown in _shown(turn, protocol).items()
        ]
    told = ("turn", "stage", "round", "closing", "agent", "role", "act", "gives", "decides")
    heard = ("turn", "agent", "round", "reads", "reads_agent", "reads_round", "shows")
    return Schematic(
        str(protocol),
        max(turn.request.round for turn in turns),
        most,
        pd.DataFrame(rows, columns=list(told)),
        pd.DataFrame(read, columns=list(heard)),
        () if decides else ("no kind of turn decides alone, so no verdict is marked",),
    )


def _play(
    protocol: DebateProtocol, rounds: int, stance: Callable[[int, Request], str]
) -> tuple[list[_Turn], Outcome]:
    """Play one debate, which is stopped after so many rounds, with replies by their turn's stance."""
    case = Case("debate", "question", "Which is it?", _SIDES, ("one answer", "another answer"), "A")
    if protocol.candidates is not True:
        case = Case("debate", "question", "What is it?")
    play, turns = protocol.play(case), list[_Turn]()
    send: tuple[Reply, ...] | Decision | None = None
    stage = over = 0
    while True:
        try:
            step = play.send(send)
        except StopIteration as ended:
            outcome: Outcome = ended.value
            return turns, outcome
        if isinstance(step, Speak):
            stage += 1
            replies = []
            for request in step.requests:
                number = len(turns) + 1
                turns.append(_Turn(number, stage, request.round <= over, request))
                replies.append(_reply(number, request, stance(number, request), rounds))
            send = tuple(replies)
        else:
            over = step.number
            stop = step.ends is not None or over >= rounds
            send = Decision(stop, (step.ends or StopReason.EXHAUSTED) if stop else None)


def _reply(number: int, request: Request, stance: str, rounds: int) -> Reply:
    """Return the turn's number as text, with the vote and the scores of its stance."""
    slot, answers = request.slot, request.case.answers
    favoured, other = (_FAVOURED, f"answer {'i' * number}") if answers is None else answers[:2]
    best = {FOR: favoured, AGAINST: other, NEITHER: None}.get(stance, stance)
    scores = None
    if slot.rubric is not None:
        points = {side: slot.rubric.high if side == best else slot.rubric.low for side in slot.rubric.sides}
        scores = {side: dict.fromkeys(slot.rubric.criteria, float(each)) for side, each in points.items()}
    vote = {FOR: favoured, NEITHER: None}.get(stance, other)
    if not slot.wants_vote or (slot.may_pass and request.round < rounds):
        vote = None
    text = "\n".join([f"turn {number}"] * max(1, slot.listed))
    return complete(request, Reply(text, vote=vote, scores=scores))


def _shown(turn: _Turn, protocol: DebateProtocol) -> dict[int, str]:
    """Return the turns whose messages a request shows, and what it shows of each."""
    found: dict[int, str] = {}
    for message in turn.request.seen:
        word, _, number = message.text.partition(" ")
        if word != "turn" or not number.isdecimal() or not 1 <= int(number) < turn.number:
            raise ValueError(
                "protocol must show earlier messages in a slot of at least one word; got the message "
                f"{message.text!r} in the request of {turn.request.agent!r} in round {turn.request.round} of {protocol}"
            )
        shown = {"vote": message.vote, "scores": message.scores}
        found[int(number)] = " and ".join(
            ["text", *(name for name, value in shown.items() if value is not None)]
        )
    return dict(sorted(found.items()))


def _gives(request: Request) -> str:
    slot = request.slot
    if slot.may_pass:
        return "may vote"
    parts = [*(["vote"] if slot.wants_vote else []), *(["scores"] if slot.rubric is not None else [])]
    return " and ".join(parts) or "text"


def _deciders(protocol: DebateProtocol, rounds: int, turns: list[_Turn]) -> dict[int, str]:
    """Return the turns that the decision follows, and those that it follows where the former are tied or missing."""
    kinds: dict[str, list[_Turn]] = {}
    for turn in turns:
        if _gives(turn.request) != "text":
            kinds.setdefault(turn.request.act, []).append(turn)

    def decision(stances: Mapping[int, str]) -> str | None:
        return _play(protocol, rounds, lambda number, _: stances.get(number, AGAINST))[1].decision

    def pivotal(kind: list[_Turn], tied: Mapping[int, str]) -> list[int]:
        """Return the turns of a kind whose change changes the decision, alone or with their round."""
        those = {turn.number for turn in kind}

        def followed(without: Collection[int] = ()) -> bool:
            stances = {**dict.fromkeys(those - set(without), FOR), **tied}
            return decision(stances) in {_SIDES[0], _FAVOURED}

        if not followed():
            return []
        by_round: dict[int, list[int]] = {}
        for turn in kind:
            by_round.setdefault(turn.request.round, []).append(turn.number)
        alone = [number for number in sorted(those) if not followed([number])]
        return alone or [number for own in by_round.values() if not followed(own) for number in own]

    for act, kind in reversed(kinds.items()):
        first = pivotal(kind, {})
        if not first:
            continue
        # As many for as against, and nothing from the last where they are odd.
        even = len(first) - len(first) % 2
        tied = {number: (FOR, AGAINST)[i % 2] for i, number in enumerate(first[:even])}
        tied |= dict.fromkeys(first[even:], NEITHER)
        rest = [n for other, those in kinds.items() if other != act for n in pivotal(those, tied)]
        # Marks that agents give each other may choose among the answers.
        marking = [t for t in turns if t.request.slot.rubric and not t.request.case.candidates]
        marked = sorted({name for t in marking for name in t.request.slot.rubric.sides})  # type: ignore[union-attr]
        best = [decision(dict.fromkeys((t.number for t in marking), name)) for name in marked]
        chosen = [t.number for t in marking] if len({one for one in best if one is not None}) > 1 else []
        return dict.fromkeys(rest, "fallback") | dict.fromkeys([*first, *chosen], "verdict")
    return {}
