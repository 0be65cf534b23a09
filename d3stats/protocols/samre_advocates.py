"""SAMRE of the advocates paper: four rounds, over when the judge agrees with itself, and averaged scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from d3stats._check import choice
from d3stats.agents.request import Case
from d3stats.protocols._court import Rounds, summed
from d3stats.protocols.play import Play
from d3stats.stopping import FixedRounds, SignAgreement, StoppingRule

__all__ = ["SamreAdvocates"]


@dataclass(frozen=True, kw_only=True)
class SamreAdvocates(Rounds):
    """Two advocates answer each other until the judge prefers the same side twice running; jurors decide.

    Parameters
    ----------
    jurors : int
        The paper's text and list of backgrounds have 5, its Algorithm 2 and notation 3. 0: the averaged scores
        decide ("SAMRE without juries" of its Table 1).
    last_round : {"read", "unread"}
        Whether jurors read the round in which the judge agreed with itself. Algorithm 2 breaks (line 6) before that
        round is added to the memory (line 8), and then lets jurors read a memory M_r that was never made; its
        notation has all rounds up to r in M_r. ``"read"`` follows the notation, ``"unread"`` the order of the lines.
        Other endings leave nothing out.
    poll, memory, personas, persona_seed, defence_words, feedback_words, rationale_words
        As in :class:`~d3stats.protocols.samre.Samre`; the default memory is that of this notation, too.

    Notes
    -----
    Advocates paper, 3.2 and Algorithm 2. The scores are averaged over the rounds played; the last one is among them
    (line 10). The paper does not say how a tied vote is broken, which takes an even jury or a missing vote; the
    averaged scores break it here.

    Raises
    ------
    ValueError
        For ``last_round="unread"`` with a jury that is asked in every round: it has read it.

    Examples
    --------
    >>> str(SamreAdvocates().rule())
    'sign_agreement:2 | fixed:4'
    """

    max_rounds: int = 4
    last_round: Literal["read", "unread"] = "read"

    name: ClassVar[str] = "samre_advocates"
    citation: ClassVar[str] = (
        "the advocates paper before D3 (Optimal Architectures for Judging LLM Outputs Using LLMs), "
        "3.2 and Algorithm 2"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("last_round", self.last_round, ("read", "unread"))
        if self.last_round == "unread" and self.poll == "every_round":
            raise ValueError(
                "poll must be 'end' for last_round='unread', a jury asked in every round reads it; "
                f"got poll={self.poll!r}"
            )

    def rule(self) -> StoppingRule:
        """Return the paper's rule: the sign of the gap twice running, or four rounds."""
        return SignAgreement() | FixedRounds(self.max_rounds)

    def play(self, case: Case) -> Play:
        """Play one debate."""
        debate = yield from self.hear(case)
        points = summed(debate, case)
        if points is not None:
            played = sum(given is not None for given in debate.scores)
            points = {side: value / played for side, value in points.items()}
        unread = self.last_round == "unread" and debate.reason == SignAgreement.reason
        return (yield from self.decide(case, debate, debate.before if unread else debate.record, points))
