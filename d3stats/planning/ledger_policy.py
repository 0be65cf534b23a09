"""A ledger as a policy of a simulation study, beside its rules: each batch of debates is one campaign."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from d3stats.planning.ledger import Ledger
    from d3stats.trajectories import Trajectories

__all__ = ["PREFIX", "LedgerPolicy"]

PREFIX = "ledger:"
"""The start of a ledger among the rules of a study, as in ``ledger:eps=.01,delta=.1``."""


@dataclass(frozen=True)
class LedgerPolicy:
    """A ledger whose campaigns are the batches of a study.

    Attributes
    ----------
    ledger : Ledger
        Its n is the number of debates of a batch.
    text : str
        As it was written.
    """

    ledger: Ledger
    text: str
    reads: ClassVar[frozenset[str]] = frozenset({"votes"})

    @classmethod
    def from_text(cls, text: str, batch: int | None) -> LedgerPolicy:
        """Read ``ledger:eps=.01,delta=.1``; `incumbent` may be one of its settings, and must come last."""
        from d3stats.planning.ledger import Ledger

        if batch is None:
            raise ValueError(
                f"batch must be given with a ledger, as the debates of a campaign; got none, {text}"
            )
        settings, _, incumbent = text.removeprefix(PREFIX).partition(",incumbent=")
        ledger = Ledger.from_text(settings, n=batch, incumbent=incumbent or "unanimity")
        return cls(ledger, text)

    def __str__(self) -> str:
        return self.text

    def stops(self, t: Trajectories, first: int, stream: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Play campaign after campaign; return the stop and the loss of each debate.

        The coins of a campaign are drawn from the stream of the study and the number of its first debate, so they are
        the same for any chunk and worker; nothing else draws from them.
        """
        from d3stats.planning.campaigns import Logged, played_campaign

        stops, losses = [], []
        logged = Logged.of(self.ledger, t)
        for rows in self._campaigns(len(t)):
            place = f"d3stats study campaign, stream {stream}, debate {first + int(rows[0])}, {self.ledger}"
            played = played_campaign(self.ledger, logged, rows, blake2b(place.encode()).digest()[:32])
            stops.append(played.stops)
            losses.append(played.loss)
        return np.concatenate(stops), np.concatenate(losses)

    def _campaigns(self, debates: int) -> Iterator[NDArray[np.int64]]:
        for at in range(0, debates, self.ledger.n):
            yield np.arange(at, at + self.ledger.n)
