"""What a debate still has ahead of it: played on with imagined replies, asking nobody.

The engine behind the budget (the most that the next round and the end can cost), the forecast, and the check that a
stopping rule has something to look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from d3stats.agent import Agent, Case, Reply, Request, Size
from d3stats.protocols.play import DebateProtocol, RoundOver, Speak, complete, round_seen
from d3stats.stopping import Decision, Rule, StoppingRule
from d3stats.stopping.tokens import TOKENS_UNKNOWN

__all__ = ["Cast", "Imagined", "ahead", "check_rule", "imagined"]

Key = tuple[int, str]
"""A turn of a debate: its round and its agent."""


@dataclass(frozen=True)
class Cast:
    """Who plays which role.

    Parameters
    ----------
    agents : Agent or mapping of str to Agent
        One for all roles, or by role, with ``"default"`` for the roles that are not named. A numbered role that is
        not named itself (``"reviewer 2"``) is played by its kind (``"reviewer"``).

    Examples
    --------
    >>> from d3stats.protocols import ReplayAgent
    >>> from d3stats.log.schema import Turn
    >>> one, other = (ReplayAgent([Turn(debate="d1", round=1, agent=name)]) for name in ("one", "other"))
    >>> cast = Cast({"reviewer": one, "default": other})
    >>> cast("reviewer 2") is one, cast("judge") is other
    (True, True)
    """

    agents: Agent | Mapping[str, Agent]

    def __call__(self, role: str) -> Agent:
        """Return the agent of a role."""
        if not isinstance(self.agents, Mapping):
            return self.agents
        kind, _, number = role.rpartition(" ")
        names = (role, kind, "default") if number.isdecimal() else (role, "default")
        found = next((self.agents[name] for name in names if name in self.agents), None)
        if found is None:
            raise ValueError(
                f"agents must have an agent for the role {role!r} or a 'default'; got {', '.join(self.agents)}"
            )
        return found

    def model(self, role: str) -> str | None:
        """Return the model of a role's agent, None when it has none."""
        model = getattr(self(role), "model", None)
        return None if model is None else str(model)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that take part, each once."""
        known = {getattr(agent, "model", None) for agent in self.all.values()}
        return tuple(sorted(str(model) for model in known if model is not None))

    @property
    def all(self) -> dict[str, Agent]:
        """The agents by role, ``"default"`` for one that plays all."""
        return dict(self.agents) if isinstance(self.agents, Mapping) else {"default": self.agents}


@dataclass(frozen=True, slots=True)
class Imagined:
    """A call that was not made, or a round's end (no request)."""

    request: Request | None
    reply: Reply | None
    step: RoundOver | None = None


def imagined(agent: Agent, request: Request, size: Size) -> Reply:
    """Return an agent's imagined reply with everything in it that was asked for.

    A vote that may be withheld is withheld: that goes on longest.
    """
    slot = request.slot
    reply = agent.imagine(request, size)
    text = reply.text
    if slot.listed and text:
        step = max(1, len(text) // slot.listed)
        text = "\n".join(text[i * step : (i + 1) * step] for i in range(slot.listed))
    vote = None
    if slot.wants_vote and not slot.may_pass:
        # Another one each round: whoever repeats itself may leave early (eot).
        choices = slot.answers or ("answer", "other")
        vote = choices[(request.round - 1) % len(choices)]
    scores = None
    if slot.rubric is not None:
        rubric = slot.rubric
        scores = {side: dict.fromkeys(rubric.criteria, float(rubric.low)) for side in rubric.sides}
    return complete(request, replace(reply, text=text, vote=vote, scores=scores, error=None))


def ahead(
    protocol: DebateProtocol,
    case: Case,
    cast: Callable[[str], Agent],
    size: Size,
    *,
    said: Mapping[Key, Reply] | None = None,
    continued: int = 0,
) -> Iterator[Imagined]:
    """Play a debate on from its record and yield the calls that are ahead of it, and the ends of rounds.

    Parameters
    ----------
    protocol, case
    cast : function of role
        Whose ``imagine`` is asked.
    size : {"typical", "longest"}
    said : mapping, optional
        Replies that are there already, by round and agent.
    continued : int
        The debate goes on after so many rounds and is stopped after the next one.
    """
    said = said or {}
    play = protocol.play(case)
    send: object = None
    while True:
        try:
            step = play.send(send)
        except StopIteration:
            return
        if isinstance(step, Speak):
            replies = []
            for request in step.requests:
                reply = said.get((request.round, request.agent))
                if reply is None:
                    reply = imagined(cast(request.role), request, size)
                    yield Imagined(request, reply)
                replies.append(reply)
            send = tuple(replies)
        else:
            yield Imagined(None, None, step)
            stop = step.ends is not None or step.number > continued
            send = Decision(stop=stop, reason=(step.ends or "exhausted") if stop else None)


def check_rule(
    protocol: DebateProtocol,
    rule: StoppingRule,
    cases: Sequence[Case],
    cast: Callable[[str], Agent],
    labelled: bool,
) -> None:
    """Refuse, before anything is spent, a rule that will have nothing to look at.

    Parameters
    ----------
    cases : sequence of Case
        Of all debates: rounds of the first are imagined, and of the others where the first has no token counts.

    Raises
    ------
    ValueError
        When the rule reads votes, scores or labels that a debate of this protocol does not have after each round, or
        refuses its rounds (a panel of another size, scores of one side where two are compared), or holds tokens against
        a budget and no agent counts any.
    """
    reads = rule.reads
    if "labels" in reads and not labelled:
        raise ValueError(
            f"rule must not need labels when no item has one; got {rule}, which counts votes for the right "
            "answer (camp=largest or camp=first counts others: ks:camp=largest)"
        )
    rounds = _imagined_rounds(protocol, cases[0], cast)
    ends = [step for step, _ in rounds]
    if reads & {"votes", "texts", "labels"} and not all(any(step.votes) for step in ends):
        how = " (poll=every_round makes it)" if hasattr(protocol, "poll") else ""
        raise ValueError(
            f"protocol must poll its voters every round for the rule {rule}, which reads votes; "
            f"got {protocol}, which does not{how}"
        )
    if "scores" in reads and not all(step.scores for step in ends):
        raise ValueError(
            f"protocol must score every round for the rule {rule}, which reads scores; got {protocol}, which does not"
        )
    for part in rule.parts():
        if isinstance(part, Rule):
            # What a rule refuses (one side scored in place of two) it refuses here, not after a paid round.
            state, codes = part.start(), dict[str, int]()
            decisions = [state.update(round_seen(step, since, codes)) for step, since in rounds]
            unknown = any(decision.reason == TOKENS_UNKNOWN for decision in decisions)
            if unknown and not any(_counts_tokens(protocol, case, cast) for case in cases):
                raise ValueError(
                    f"agents must count their tokens for the rule {part}, which holds them against a budget; got no "
                    "count from any agent (give the imagined replies tokens_in and tokens_out, or take another rule)"
                )


def _counts_tokens(protocol: DebateProtocol, case: Case, cast: Callable[[str], Agent]) -> bool:
    """Whether any reply of a debate is expected to have its tokens."""
    last = protocol.max_rounds - 1
    replies = (moment.reply for moment in ahead(protocol, case, cast, "typical", continued=last))
    return any(reply is not None and None not in (reply.tokens_in, reply.tokens_out) for reply in replies)


def _imagined_rounds(
    protocol: DebateProtocol, case: Case, cast: Callable[[str], Agent]
) -> list[tuple[RoundOver, list[tuple[Request, Reply]]]]:
    """Return the rounds of a debate of typical replies, each with what was said in it."""
    rounds = []
    since: list[tuple[Request, Reply]] = []
    for moment in ahead(protocol, case, cast, "typical", continued=protocol.max_rounds - 1):
        if moment.step is not None:
            rounds.append((moment.step, since))
            since = []
        elif moment.request is not None and moment.reply is not None:
            since.append((moment.request, moment.reply))
    return rounds
