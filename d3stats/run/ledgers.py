"""Debates of a ledger's campaign, many at a time, with the decisions of one at a time.

Debates are decided in their order. One that stops early waits, without a call and without a place among those that
are played, until it is its turn or an audit is certain. The early rule of a debate follows from the decisions before
it by more than the lag. So the verdicts and tokens are the same for any number at a time, and for a resumed run.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from d3stats._words import counted
from d3stats.agent import Reply, Request
from d3stats.note import warning
from d3stats.protocols.play import DebateProtocol, RoundOver, Speak, round_seen
from d3stats.run.budget import Bank
from d3stats.run.forecast import Asked, Key, ahead
from d3stats.run.items import Planned
from d3stats.stopping import Decision, Round, RuleState
from d3stats.stopping.rule import Rule
from d3stats.trajectories import MISSING

if TYPE_CHECKING:
    from d3stats.planning.campaigns import Controller, Known
    from d3stats.planning.ledger import Campaign, Certificate, Ledger

__all__ = ["Early", "RunningCampaign", "as_ledger", "check_protocol", "decision_at", "identity"]


LAG_PER_CALL = 4
"""Debates of the lag for each call at a time: a debate then seldom waits for the audits that its early rule may use."""


def as_ledger(
    text: str | None, incumbent: str | None, planned: int, concurrency: int, journal: Path
) -> Ledger | None:
    """Return the ledger of a run of so many debates; None where none is asked for.

    A resumed run has the lag of the one before, also with another number of calls at a time.
    """
    if text is None:
        if incumbent is not None:
            raise ValueError(
                f"incumbent must be given with a ledger alone; got incumbent={incumbent!r}, no ledger"
            )
        return None
    from d3stats.planning.ledger import Ledger

    lag = _lag_of(journal) or (1 if concurrency == 1 else LAG_PER_CALL * concurrency)
    return Ledger.from_text(text, n=planned, incumbent=incumbent or "unanimity", lag=lag)


def _lag_of(journal: Path) -> int | None:
    """Return the lag of the run that wrote a journal, None where there is none."""
    if not journal.is_file():
        return None
    with journal.open("rb") as file:
        found = re.search(rb'"rule":\s*"n=[^"]*,lag=(\d+); debates ', file.readline())
    return None if found is None else int(found[1])


def identity(ledger: Ledger, planned: Sequence[Planned]) -> str:
    """Return what a resumed campaign must have in common with the one before: the ledger, and its debates in order."""
    names = "\n".join(debate.debate for debate in planned)
    return f"{ledger}; debates {hashlib.blake2b(names.encode(), digest_size=8).hexdigest()}"


def check_protocol(asked: Asked) -> None:
    """Refuse a protocol that makes further calls after a stop: the verdict at a stop must follow from its rounds."""
    moments = list(ahead(asked.protocol, asked.planned[0].case, asked.cast, "typical", continued=0))
    if not isinstance(moments[-1], RoundOver):
        how = f" ({asked.protocol.polling.remedy} may do)" if asked.protocol.polling.remedy else ""
        raise ValueError(
            "protocol must decide by the votes of its rounds for a ledger, which compares the verdicts at two stops; "
            f"got {asked.protocol}, which makes further calls after a stop{how}"
        )


def decision_at(
    protocol: DebateProtocol, planned: Planned, said: Mapping[Key, Reply], stop: int
) -> str | None:
    """Return the decision of a debate that stops after so many rounds, from the replies that it has."""
    play = protocol.play(planned.case)
    send: Any = None
    while True:
        try:
            step = play.send(send)
        except StopIteration as end:
            decision: str | None = end.value.decision
            return decision
        if isinstance(step, Speak):
            send = tuple(said[request.round, request.agent] for request in step.requests)
        else:
            send = Decision(stop=step.number >= stop)


@dataclass
class Early:
    """The early stop of one debate.

    Attributes
    ----------
    stopped : int
        The round of the early stop, 0 where there is none.
    honoured : bool
        Whether its verdict is delivered.
    """

    running: RunningCampaign
    row: int
    state: RuleState | None
    codes: dict[str, int]
    rounds: list[Round] = field(default_factory=list)
    stopped: int = 0
    honoured: bool = False
    decision: str | None = None

    async def settle(
        self,
        step: RoundOver,
        since: Sequence[tuple[Request, Reply]],
        decision: Decision,
        said: Mapping[Key, Reply],
    ) -> Decision | None:
        """Take a round and the reference rule's decision; return the campaign's, None where the run is being ended."""
        seen = round_seen(step, since, self.codes)
        self.rounds.append(seen)
        if self.state is None or self.stopped or decision.stop:
            return decision
        early = self.state.update(seen)
        if not early.stop:
            return decision
        self.stopped = step.number
        running = self.running
        self.decision = decision_at(running.protocol, running.planned[self.row], said, step.number)
        what = await running.hold(self.row)
        if what is None:
            return None
        self.honoured = what == "honour"
        return early if self.honoured else decision

    def known(self, weight: float, label: str | None) -> Known:
        """Return what the debate tells the choice of further early rules."""
        from d3stats.log.arrays import tally_rounds
        from d3stats.planning.campaigns import Known

        n_rounds, panel = self.running.n_rounds, self.running.panel
        votes = np.full((n_rounds, panel), MISSING, dtype=np.int32)
        spent = np.zeros(n_rounds + 1)
        for r, seen in enumerate(self.rounds):
            votes[r, : min(panel, seen.panel)] = seen.votes[:panel]
            spent[r + 1 :] += 1.0 if not seen.tokens else seen.tokens
        verdicts = tally_rounds(votes[None], max(1, len(self.codes)))[0][0].astype(np.int64)
        code = MISSING if label is None else self.codes.get(label, MISSING)
        return Known(votes, len(self.rounds), verdicts, spent, weight, code)


class RunningCampaign:
    """The campaign of a run: which debate may start, which is held, and the decisions in their order.

    Parameters
    ----------
    ledger, secret, asked, bank
        Parts of the run.
    write : function
        Writes a record to the journal.
    decided : int
        How many decisions the journal has already.
    controller : Controller, optional
        Chooses the early rule; by default the ladder that is expected to save most.
    """

    def __init__(
        self,
        ledger: Ledger,
        secret: bytes,
        asked: Asked,
        bank: Bank,
        write: Callable[[dict[str, Any]], None],
        decided: int,
        controller: Controller | None = None,
    ) -> None:
        from d3stats.planning.campaigns import LadderController

        self.ledger, self.bank, self.write, self.written = ledger, bank, write, decided
        self.campaign: Campaign = ledger.start(secret)
        self.protocol, self.planned = asked.protocol, asked.planned
        self.n_rounds = asked.protocol.max_rounds
        first = next(
            moment
            for moment in ahead(asked.protocol, asked.planned[0].case, asked.cast, "typical")
            if isinstance(moment, RoundOver)
        )
        self.panel = len(first.votes)
        self.controller = controller or LadderController(ledger, self.panel, self.n_rounds)
        self.more: Callable[[], object] = lambda: None
        self.workers = self.limit = 0
        self.over = False
        self.cut = 0
        self._held: dict[int, asyncio.Future[str | None]] = {}
        self._done: dict[int, tuple[Early, int | None, bool]] = {}
        self._audit: int | None = None
        self._known: list[Known] = []
        self._upto = [0]
        self._stage = [1]
        self._rules: dict[int, Rule | None] = {}
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    async def begin(self, row: int) -> Early | None:
        """Wait until the debates that the early rule of this one may use are decided; None when the run is ended."""
        from d3stats.planning.campaigns import horizon

        used = horizon(self.ledger, row + 1)
        if self.campaign.delivered - self.campaign.audit_open < used and not self.over:
            ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((used, ready))
            self.bank.pause()
            try:
                await ready
            finally:
                self.bank.resume()
        if self.over:
            return None
        rule = self._rule(used, row)
        codes = {answer: i for i, answer in enumerate(self.planned[row].case.answers or ())}
        return Early(self, row, None if rule is None else rule.start(), codes)

    def _rule(self, used: int, row: int) -> Rule | None:
        if not used:
            return None
        if used not in self._rules:
            # Debates begin in their order, so this is the first with what is known up to there.
            known = self._known[: self._upto[used]]
            if not self._rules:
                if self.ledger.stages is None:
                    self.campaign.design(*self.controller.design(known, self.ledger.n - used))
                self.controller.start(self.campaign.audit_design, self.ledger.n)
            self._rules[used] = self.controller.choose(known, self._stage[used], self.ledger.n - row)
        return self._rules[used]

    async def hold(self, row: int) -> str | None:
        """Say whether an early stop is honoured or audited, as soon as that is certain; None when the run is ended."""
        if self.over:
            return None
        if self.campaign.covers(row + 1):
            return "audit"
        future: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._held[row] = future
        self._advance()
        if future.done():
            return future.result()
        self.bank.pause()
        self.workers += 1
        self.more()  # another debate is played in the place of this one
        try:
            return await future
        finally:
            self.bank.resume()

    def spare(self) -> bool:
        """Whether a worker that has ended a debate is one too many, because held debates are played again."""
        if self.workers - len(self._held) <= self.limit:
            return False
        self.workers -= 1
        return True

    def close(self, row: int, early: Early, loss: int | None, cut: bool) -> None:
        """Take a debate that has its verdict; `loss` is that of an early stop which was audited."""
        if not early.honoured:  # those are decided when they are held
            self._done[row] = (early, loss, cut)
            self._advance()

    def abandon(self) -> None:
        """End the campaign for now: a debate was left open, so none after it can be decided."""
        self.over = True
        for future in self._held.values():
            if not future.done():
                future.set_result(None)
        self._held.clear()
        for _, ready in self._waiting:
            if not ready.done():
                ready.set_result(None)
        self._waiting.clear()

    def _advance(self) -> None:
        """Decide all debates whose turn has come."""
        campaign = self.campaign
        while not self.over and campaign.delivered - campaign.audit_open < self.ledger.n:
            row = campaign.delivered - campaign.audit_open
            if campaign.audit_open:
                if row not in self._done:
                    return
                self._close_audit(row)
                continue
            if row in self._held:
                share = campaign.share
                what = campaign.decide(early=True)
                if what == "honour":
                    self._decided(row, "honour", share, None)
                self._release(row, what)
                continue
            if row not in self._done:
                return
            early, _, cut = self._done[row]
            if early.stopped:
                campaign.decide(early=True)  # an audit, because its coin was covered
                continue
            campaign.decide(early=False)
            self.cut += cut
            self._decided(row, "deliver", None, None)
            self._learn(early, row, 1.0)

    def _close_audit(self, row: int) -> None:
        campaign = self.campaign
        early, loss, _ = self._done[row]
        share, stage = campaign.share, campaign.stage
        campaign.audited(loss)
        self._decided(row, "audit", share, loss)
        self._learn(early, row, 1.0 / share)
        if campaign.stage != stage:
            # A higher audit share: what it covers is played on at once.
            for held in [held for held in sorted(self._held) if campaign.covers(held + 1)]:
                self._release(held, "audit")

    def _learn(self, early: Early, row: int, weight: float) -> None:
        del self._done[row]
        self._known.append(early.known(weight, self.planned[row].item.label))
        self._mark()

    def _decided(self, row: int, did: str, share: float | None, loss: int | None) -> None:
        if did == "honour":
            self._mark()
        if row + 1 > self.written and did != "deliver":
            record: dict[str, Any] = {"ledger": row + 1, "debate": self.planned[row].debate, "did": did}
            record |= {"stage": self.campaign.stage, "share": share}
            self.write(record | ({"loss": loss} if did == "audit" else {}))

    def _mark(self) -> None:
        self._upto.append(len(self._known))
        self._stage.append(self.campaign.stage)
        delivered = self.campaign.delivered - self.campaign.audit_open
        for used, ready in self._waiting:
            if used <= delivered and not ready.done():
                ready.set_result(None)
        self._waiting = [(used, ready) for used, ready in self._waiting if not ready.done()]

    def _release(self, row: int, what: str) -> None:
        future = self._held.pop(row)
        if not future.done():
            future.set_result(what)

    def notes(self) -> tuple[str, ...]:
        """Return a warning of debates that the budget ended, which the guarantee does not count."""
        if not self.cut:
            return ()
        text = (
            f"{counted(self.cut, 'debate')} ended by the budget and not by a rule; the guarantee of the ledger does "
            "not count their verdicts"
        )
        return (warning(text, "undelivered debates", n=self.cut),)

    def certificate(self) -> Certificate:
        """Return the guarantee so far."""
        return self.campaign.certificate()
