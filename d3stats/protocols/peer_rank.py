"""Reviewers compare a pair in both orders; a vote weighs what its reviewer is worth (PRD's peer rank)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from d3stats._check import choice, integer, nonnegative
from d3stats.agents.request import Case, Request, Slot
from d3stats.protocols.play import Outcome, Play, plurality, round_over, settled, speak
from d3stats.protocols.protocol import DebateProtocol

__all__ = ["PeerRank"]

INSTRUCTION = (
    "You review two answers to one question. Compare them, free of any leaning towards the one that comes "
    "first, the longer one or one that sounds like your own; explain what decides, and vote for the "
    "better answer."
)


@dataclass(frozen=True, kw_only=True)
class PeerRank(DebateProtocol):
    """Each reviewer compares the candidates twice, once with each shown first; a weighted majority decides.

    Parameters
    ----------
    reviewers : int
        The paper's panel has 5: the models whose answers are compared review each other.
    weights : tuple of float
        One per reviewer, from 0; empty for equal weights.
        :func:`~d3stats.protocols.peer_weights.peer_weights` finds the paper's weights from finished
        reviews.
    orders : {"agree", "each"}
        "agree": a reviewer has one vote, and only if both of its votes are equal; if they differ it
        abstains, or votes "tie" where the case has that answer. "each": both votes count, as in the paper's
        win rates.

    Raises
    ------
    ValueError
        When there are weights, but not one per reviewer, or all are 0.

    Notes
    -----
    A reviewer with one missing vote has, under "agree", no vote. Equal weight on both candidates is "tie"
    where the case has it, else no decision. The log has two turns per reviewer, with votes by candidate.
    Reviewers have a role each ("reviewer 1", ...), so that each may be another model; the paper's reviewers
    are never told which model wrote an answer.

    Examples
    --------
    >>> str(PeerRank(reviewers=2, weights=(2, 1)))
    'peer_rank:reviewers=2,weights=2.0+1.0'
    """

    reviewers: int = 5
    weights: tuple[float, ...] = ()
    orders: Literal["agree", "each"] = "agree"

    name: ClassVar[str] = "peer_rank"
    citation: ClassVar[str] = "Li et al. (2023), arXiv 2307.02762 (PRD), peer rank"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "reviewers", integer("reviewers", self.reviewers, minimum=1))
        choice("orders", self.orders, ("agree", "each"))
        weights = tuple(nonnegative("weights", self.weights).tolist())
        if weights and (len(weights) != self.reviewers or not any(weights)):
            raise ValueError(
                f"weights must be one per reviewer ({self.reviewers}) and not all 0; got weights={weights!r}"
            )
        object.__setattr__(self, "weights", weights)

    def play(self, case: Case) -> Play:
        """Play one debate."""
        slot = Slot(case.answers, words=150)
        # In the order of the log's seats, which a rule sees.
        asked = sorted(
            (self._reviewer(case, seat, side, slot) for seat in range(self.reviewers) for side in case.sides),
            key=lambda request: request.agent,
        )
        replies = yield from speak(*asked)
        votes = {request.agent: reply.vote for request, reply in zip(asked, replies, strict=True)}
        given: list[str | None] = []
        weights: list[float] = []
        for seat in range(self.reviewers):
            both = [votes[_name(seat, side)] for side in case.sides]
            kept = both if self.orders == "each" else [_agreed(case, both)]
            given += kept
            weights += [self.weights[seat] if self.weights else 1.0] * len(kept)
        worth = {
            side: sum(weight for vote, weight in zip(given, weights, strict=True) if vote == side)
            for side in case.sides
        }
        yield from round_over(1, votes=votes.values(), ends="one_round")
        return Outcome(plurality(case, given, weights), 1, "one_round", worth)

    def _reviewer(self, case: Case, seat: int, side: str, slot: Slot) -> Request:
        name, role = _name(seat, side), f"reviewer {seat + 1}"
        return Request(case, 1, name, role, "review", INSTRUCTION, slot, first=side)


def _name(seat: int, side: str) -> str:
    return f"reviewer {seat + 1}, {side} first"


def _agreed(case: Case, both: list[str | None]) -> str | None:
    """Return the vote of a reviewer who was asked twice."""
    if None in both:
        return None
    if len(set(both)) == 1:
        return both[0]
    # One vote for each candidate is a tie; a candidate and a tie are no vote.
    return settled({vote for vote in both if vote is not None}, case.sides, case.answers)
