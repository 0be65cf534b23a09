"""What does a protocol do for a stopping rule? Polls of agents that only vote, and the meaning of a tie.

In most protocols a vote is a part of what an agent says to the others. The jurors of some protocols only vote: no
agent reads them, so a debate takes the same course with and without them. A rule that reads votes has them asked
after every round; under any other rule they are asked once, when the debate is over. Protocols, worlds, logs and the
costs of rules all take this from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from d3stats._check import NonNegativeInt
from d3stats._named import Value

__all__ = ["OF_PROTOCOL", "Polling", "reads_votes"]


def reads_votes(rule: Any) -> bool:
    """Whether a stopping rule looks at votes, so that the voters must have been asked in every round."""
    return bool(rule.reads & {"votes", "texts", "labels"})


@dataclass(frozen=True, kw_only=True)
class Polling(Value):
    """Polls of the agents that only vote in a protocol, and the meaning of a tie of the last votes.

    Parameters
    ----------
    voters : str
        The role whose turns only vote; "" where there is none.
    always : tuple of int
        Rounds in which they are asked under every rule.
    at_end : bool
        Whether they can be asked only when the debate is over, so that a rule that reads votes cannot be run.
    remedy : str
        The setting with which they can be asked after every round.
    decided_by_scores : int
        The first round whose scores are added up to decide a tie between two answers; 0 where scores decide none.

    Examples
    --------
    >>> from d3stats.stopping import from_text
    >>> jury = OF_PROTOCOL["samre"]
    >>> [jury.asked(from_text(rule), 1, stops=False) for rule in ("unanimity", "d3_paper")]
    [True, False]
    >>> OF_PROTOCOL["stability"].asked(from_text("fixed:2"), 1, stops=False)
    True
    """

    voters: str = ""
    always: tuple[int, ...] = ()
    at_end: bool = False
    remedy: str = ""
    decided_by_scores: NonNegativeInt = 0

    def asked(self, rule: Any, number: int, *, stops: bool) -> bool:
        """Whether votes are cast in a round of a debate under a rule that stops there or does not."""
        return not self.voters or stops or number in self.always or reads_votes(rule)

    def refuses(self, rule: Any) -> bool:
        """Whether a rule cannot be run, because it reads votes that are cast only when the debate is over."""
        return self.at_end and reads_votes(rule)


_TALK = Polling()
_JURY = Polling(voters="juror", remedy="poll=every_round", decided_by_scores=1)

OF_PROTOCOL = {
    **dict.fromkeys(
        ("majority", "stability", "chateval", "eot_network", "peer_rank", "peer_discussion"), _TALK
    ),
    "more": Polling(decided_by_scores=1),
    "samre": _JURY,
    "samre_advocates": _JURY,
    # MORE's jury votes before the choice, and SAMRE's judge adds up scores of its own.
    "d3": Polling(voters="juror", always=(1,), remedy="poll=every_round", decided_by_scores=2),
}
"""By name, the protocols in which the last votes decide. A tie of two sides that no scores decide is the answer "tie"
where that may be voted for, and else no decision."""
