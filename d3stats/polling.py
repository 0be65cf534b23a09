"""What does a protocol do for a stopping rule? Polls of agents that only vote, and how a round's votes are decided.

In most protocols a vote is a part of what an agent says to the others. The jurors of some protocols only vote: no
agent reads them, so a debate takes the same course with and without them. A rule that reads votes has them asked
after every round; under any other rule they are asked once, when the debate is over. Protocols, worlds, logs and the
costs of rules all take this from here. A log records it debate by debate, so that a replay decides as the run did.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_type_hints

from d3stats._check import NonNegativeInt, choice
from d3stats._named import Value, typed

__all__ = ["OF_PROTOCOL", "Polling", "reads_votes"]

Decides = Literal["plurality", "sides", "pairs", "agreement", "latest", "scores"]


def reads_votes(rule: Any) -> bool:
    """Whether a stopping rule looks at votes, so that the voters must have been asked in every round."""
    return bool(rule.reads & {"votes", "texts", "labels"})


@dataclass(frozen=True, kw_only=True)
class Polling(Value):
    """Polls of the agents that only vote in a protocol, and how the votes and scores of a round are decided.

    Parameters
    ----------
    decides : {"plurality", "sides", "pairs", "agreement", "latest", "scores"}
        What decides a debate that stops after a round.

        - plurality: the most votes of that round;
        - sides: the votes for the two sides alone (a Borda count);
        - pairs: the plurality of reviewers who have two votes each, and one together where both are equal;
        - agreement: the answer that all seats give;
        - latest: the vote of the last seat in that round, else the latest vote of the seats before it, the nearest
          first;
        - scores: the side with more points.
    voters : str
        The role whose turns only vote; "" where there is none.
    always : tuple of int
        Rounds in which they are asked under every rule.
    at_end : bool
        Whether they can be asked only when the debate is over, so that a rule that reads votes cannot be run.
    scored_from : int
        The first round whose scores count, for decisions by scores and for a tied plurality; 0 where scores decide
        nothing.
    scored : {"sum", "last"}
        Whether scores are added up over the rounds, or those of the last round count alone.
    undecided : {"none", "last_seat"}
        What seats that do not agree decide: nothing, or what the last seat votes for.
    weights : tuple of float
        The weight of each voter's vote; empty for equal ones.
    tie : bool
        Whether "tie" is an answer of the debate, so that two sides that lead are that answer and not undecided.
    ends : tuple of str
        Reasons for which the protocol itself ends a debate under any stopping rule.

    Examples
    --------
    >>> from d3stats.stopping import from_text
    >>> jury = OF_PROTOCOL["samre"]
    >>> [jury.asked(from_text(rule), 1, stops=False) for rule in ("unanimity", "d3_paper")]
    [True, False]
    >>> OF_PROTOCOL["stability"].asked(from_text("fixed:2"), 1, stops=False)
    True
    >>> str(jury), Polling.from_text(str(jury)) == jury
    ('plurality:voters=juror,scored_from=1', True)
    """

    decides: Decides = "plurality"
    voters: str = ""
    always: tuple[int, ...] = ()
    at_end: bool = False
    scored_from: NonNegativeInt = 0
    scored: Literal["sum", "last"] = "sum"
    undecided: Literal["none", "last_seat"] = "none"
    weights: tuple[float, ...] = ()
    ends: tuple[str, ...] = ()
    tie: bool = False

    @property
    def remedy(self) -> str:
        """The setting with which the voters can be asked after every round."""
        return "poll=every_round" if self.voters else ""

    def __str__(self) -> str:
        shown = []
        for one in fields(self)[1:]:
            given = getattr(self, one.name)
            if given != one.default:
                shown.append(
                    f"{one.name}={'+'.join(map(str, given)) if isinstance(given, tuple) else str(given)}"
                )
        return f"{self.decides}:{','.join(shown)}" if shown else self.decides

    @classmethod
    def from_text(cls, text: str) -> Polling:
        """Read the text form.

        Raises
        ------
        ValueError
            When it is none: names what is allowed.
        """
        decides, _, rest = text.partition(":")
        choice("polling", decides, get_args(Decides))
        hints, given = get_type_hints(cls), dict[str, Any]()
        for part in rest.split(",") if rest else ():
            key, _, value = part.partition("=")
            choice(f"a setting of polling {text!r}", key, [one.name for one in fields(cls)[1:]])
            given[key] = typed(key, hints[key], value)
        return cls(decides=decides, **given)  # type: ignore[arg-type]  # checked above

    def asked(self, rule: Any, number: int, *, stops: bool) -> bool:
        """Whether votes are cast in a round of a debate under a rule that stops there or does not."""
        return not self.voters or stops or number in self.always or reads_votes(rule)

    def refuses(self, rule: Any) -> bool:
        """Whether a rule cannot be run, because it reads votes that are cast only when the debate is over."""
        return self.at_end and reads_votes(rule)


_TALK = Polling()
_JURY = Polling(voters="juror", scored_from=1)

OF_PROTOCOL = {
    **dict.fromkeys(("majority", "stability", "chateval", "eot_network"), _TALK),
    "peer_rank": Polling(decides="pairs"),
    "peer_discussion": Polling(decides="agreement"),
    "multi_persona": Polling(decides="latest", ends=("declaration",)),
    "more": Polling(scored_from=1),
    "more_advocates": Polling(decides="scores", scored_from=1),
    "samre": _JURY,
    "samre_advocates": _JURY,
    # MORE's jury votes before the choice, and SAMRE's judge adds up scores of its own.
    "d3": Polling(voters="juror", always=(1,), scored_from=2),
}
"""By name, what protocols do with their usual settings, in debates without the answer "tie". Other protocols are left
out, because a round's votes and scores do not tell their decision."""
