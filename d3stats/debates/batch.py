"""Follow a rule that looks at a whole batch: all debates play a round, then it decides for all of them.

A debate that has played its round waits here until every other running debate has played it too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from d3stats.agents.request import Reply, Request
from d3stats.debates.budget import Bank
from d3stats.debates.placement import Planned
from d3stats.protocols.play import RoundOver
from d3stats.protocols.rules import round_seen
from d3stats.stopping import CONTINUE, Decision, Round, StoppingRule
from d3stats.stopping.batch import BatchRound, LiveWatcher, MixedState
from d3stats.trajectories import MISSING
from d3stats.values import canonical_text

__all__ = ["Lockstep"]


@dataclass
class _Arrived:
    seen: Round
    future: asyncio.Future[Decision]


class Lockstep:
    """The barrier at the end of each round.

    Parameters
    ----------
    rule : StoppingRule
        A batch rule or a combination with one.
    planned : sequence of Planned
        The debates of the batch, one row each, whether they will begin or not.
    bank : Bank
        Is told who waits, so that nobody waits for money of those who wait here.
    """

    def __init__(self, rule: StoppingRule, planned: Sequence[Planned], bank: Bank) -> None:
        self.bank = bank
        self.planned = planned
        self._state = MixedState(rule, LiveWatcher)
        self._codes: dict[str, int] = {}
        for debate in planned:
            # The label of an open question too: an answer is right or wrong before anybody has voted it.
            for answer in (*(debate.item.answers or ()), _label(debate)):
                if answer is not None:
                    self._codes.setdefault(answer, len(self._codes))
        labels = [self._codes.get(_label(debate) or "", MISSING) for debate in planned]
        self._label = np.array(labels, dtype=np.int32)
        clusters = [debate.item.cluster or debate.item.question for debate in planned]
        self._cluster = np.unique(clusters, return_inverse=True)[1].astype(np.int64)
        self._arrived: dict[int, _Arrived] = {}
        self._present = set(range(len(planned)))

    async def arrive(self, row: int, step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        """Wait until all running debates have played the round; return this one's decision."""
        seen = round_seen(step, since, self._codes)
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._arrived[row] = _Arrived(seen, future)
        # Before the bank is told: when this was the last to arrive, nobody waits in vain.
        if not self._decide():
            self.bank.pause()
        return await future

    def leave(self, row: int) -> None:
        """Take a debate out that is over, or never began."""
        self._present.discard(row)
        self._decide(left=True)

    def _decide(self, left: bool = False) -> bool:
        if not self._arrived or len(self._arrived) < len(self._present):
            return False
        arrived, self._arrived = self._arrived, {}
        # Whoever calls from `arrive` is not paused yet.
        self.bank.resume(len(arrived) - (0 if left else 1))
        decisions = self._state.update(self._round(arrived))
        for row, one in arrived.items():
            stop = bool(decisions.stop[row])
            if not one.future.done():
                reason = str(decisions.reasons[row]) if stop else None
                one.future.set_result(Decision(stop, reason) if stop else CONTINUE)
        return True

    def _round(self, arrived: dict[int, _Arrived]) -> BatchRound:
        n = len(self.planned)
        seats = max((one.seen.panel for one in arrived.values()), default=0)
        votes = np.full((n, seats), MISSING, dtype=np.int32)
        played = np.zeros(n, dtype=bool)
        panel = np.zeros(n, dtype=np.int64)
        tokens = np.full(n, np.nan)
        sides = max((len(one.seen.scores or ()) for one in arrived.values()), default=0)
        scores = np.full((n, sides), np.nan)
        for row, one in arrived.items():
            votes[row, : one.seen.panel] = one.seen.votes
            played[row], panel[row] = True, one.seen.panel
            if one.seen.tokens is not None:
                tokens[row] = one.seen.tokens
            for side, points in enumerate(one.seen.scores or ()):
                scores[row, side] = np.nan if points is None else points
        return BatchRound(
            number=next(iter(arrived.values())).seen.number,
            votes=votes,
            label=self._label,
            played=played,
            panel=panel,
            cluster=self._cluster,
            tokens=tokens,
            scores=scores if sides else None,
            answers=tuple(self._codes),
        )


def _label(debate: Planned) -> str | None:
    """Return the right answer in the form that votes have: free words are written as a log is read."""
    return debate.item.label if debate.item.answers is not None else canonical_text(debate.item.label)
