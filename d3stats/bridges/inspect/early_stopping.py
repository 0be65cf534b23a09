"""Any stopping rule of this package as an early-stopping manager of Inspect.

Inspect asks a manager before every epoch of a sample and tells it the scores of every epoch that is over. So an
epoch is a vote, and a sample's further epochs are left out once the rule fires.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from d3stats._check import choice, integer, number
from d3stats._words import missing_extra
from d3stats.log.importers.inspect_logs import Canonical, chosen_scorer, vote_of
from d3stats.stopping import Round, Rule, StoppingRule, TokenBudget
from d3stats.trajectories import MISSING

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalSpec
    from inspect_ai.scorer import SampleScore
    from inspect_ai.util import EarlyStop

__all__ = ["InspectStopping"]

_FIRST_WITH_EARLY_STOPPING = (0, 3, 154)


class InspectStopping:
    """Stop a sample's further epochs once a rule fires over its votes so far.

    Give it to a task: ``Task(..., epochs=40, early_stopping=InspectStopping(SPRT(0.7)))``. One manager serves one
    running task, because Inspect does not say which task it asks for.

    Parameters
    ----------
    rule : Rule
        Sees votes only: neither the target nor the score, nor tokens, which the interface does not tell.
    scorer : str, optional
        Whose answers are the votes; it may be left out where there is one scorer.
    votes : {"answer", "grade"}
        "answer": the answer that the scorer read. "grade": whether it was correct. The rule then knows the
        truth, which fits a question such as "is this solved often enough", but it is not a stopping rule for
        unlabelled use.
    canonical : function of str to (str or None), optional
        Gives equal answers one form; None for what is no answer.
    panel : int
        How many epochs make a round. A rule that looks at one round's votes, such as unanimity, needs several; a
        rule that adds up all votes takes 1.
    wait : float
        How many seconds a running epoch is waited for before the sample's next one starts. Inspect starts as many
        epochs at once as it is allowed to, so without waiting (0) epochs are started that the rule would have
        saved. An epoch that is not heard of by then (it failed and was not scored) counts as a missing vote.
        While it waits an epoch occupies one of the run's ``max_samples`` places.

    Notes
    -----
    Votes go to the rule in the order of the epochs, not of their arrival, so quick answers do not count
    first. With enough `wait` the same votes stop at the same epoch for any concurrency.

    Raises
    ------
    ImportError
        When the installed inspect-ai has no early stopping. Such a version ignores the manager and runs all epochs.

    Examples
    --------
    >>> from d3stats.stopping import Unanimity
    >>> manager = InspectStopping(Unanimity(), panel=3)
    >>> manager.name
    'd3stats unanimity, rounds of 3'
    >>> import asyncio
    >>> from types import SimpleNamespace as Given
    >>> async def run():
    ...     await manager.start_task(Given(scorers=[Given(name="match")]), [Given(id="q1")], epochs=6)
    ...     for epoch in (1, 2, 3):
    ...         left_out = await manager.schedule_sample("q1", epoch)
    ...         scores = {"match": Given(score=Given(answer="18", value="C", metadata=None))}
    ...         await manager.complete_sample("q1", epoch, scores)
    ...     return await manager.complete_task()
    >>> told = asyncio.run(run())
    >>> told["samples_where_it_fired"], told["epochs_planned"]
    (1, 6)
    """

    def __init__(
        self,
        rule: Rule,
        *,
        scorer: str | None = None,
        votes: Literal["answer", "grade"] = "answer",
        canonical: Canonical | None = None,
        panel: int = 1,
        wait: float = 300.0,
    ) -> None:
        if not isinstance(rule, StoppingRule):
            raise TypeError(f"rule must be a stopping rule; got {rule!r}")
        if not isinstance(rule, Rule):
            raise TypeError(
                f"rule must decide for each sample by itself; got {rule}, which needs a whole batch"
            )
        if rule.needs_labels:
            raise ValueError(f"rule must not need the right answers; got {rule}")
        choice("votes", votes, ("answer", "grade"))
        self.rule, self.scorer, self.votes, self.canonical = rule, scorer, votes, canonical
        self.panel = integer("panel", panel, minimum=1)
        self.wait = number("wait", wait, minimum=0)
        _probe(rule, self.panel)
        _require_early_stopping()
        self._running = False
        self._samples: dict[str | int, _Votes] = {}
        self._scorer = ""
        self._epochs = 0

    @property
    def name(self) -> str:
        """The manager's name in Inspect's log."""
        rounds = f", rounds of {self.panel}" if self.panel > 1 else ""
        return f"d3stats {self.rule}{rounds}"

    async def start_task(self, task: EvalSpec, samples: Sequence[Sample], epochs: int) -> str:
        """Register the samples.

        Raises
        ------
        RuntimeError
            When another task that this manager serves is still running.
        ValueError
            When the scorer is not clear.
        """
        if self._running:
            raise RuntimeError(
                "a manager must serve one task at a time; got a second task; make one manager per task"
            )
        self._scorer = chosen_scorer([one.name for one in task.scorers or ()], self.scorer)
        self._running, self._epochs = True, epochs
        self._samples = {_id(sample): _Votes(self.rule, self.panel) for sample in samples}
        return self.name

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Say whether an epoch is left out, once the sample's earlier ones have been heard."""
        seen = self._samples.setdefault(id, _Votes(self.rule, self.panel))
        if self.wait > 0 and not seen.stopped:
            await self._hear(seen, epoch)
        if not seen.stopped:
            if epoch == seen.next:
                seen.since = monotonic()
            return None
        from inspect_ai.util import EarlyStop

        seen.saved += 1
        return EarlyStop(id=id, epoch=epoch, reason=seen.reason, metadata={"after_epoch": seen.after})

    async def complete_sample(self, id: str | int, epoch: int, scores: Mapping[str, SampleScore]) -> None:
        """Take an epoch's vote."""
        seen = self._samples.setdefault(id, _Votes(self.rule, self.panel))
        found = scores.get(self._scorer)
        vote = None
        if found is not None:
            vote, _ = vote_of(found.score, reading=self.votes, canonical=self.canonical)
        seen.take(epoch, vote)

    async def complete_task(self) -> dict[str, Any]:
        """Return what is written to Inspect's log."""
        self._running = False
        every = self._samples.values()
        return {
            "rule": str(self.rule),
            "citation": self.rule.citation,
            "votes": self.votes,
            "panel": self.panel,
            "wait": self.wait,
            "samples": len(self._samples),
            "samples_where_it_fired": sum(seen.stopped for seen in every),
            "epochs_planned": self._epochs * len(self._samples),
            "epochs_saved": sum(seen.saved for seen in every),
            "votes_missing": sum(vote is None for seen in every for vote in seen.heard.values()),
            "votes_after_the_stop": sum(seen.late for seen in every),
        }

    async def _hear(self, seen: _Votes, epoch: int) -> None:
        import anyio

        while not seen.stopped and seen.next < epoch:
            seen.news = seen.news or anyio.Event()
            with anyio.move_on_after(max(0.0, seen.since + self.wait - monotonic())):
                await seen.news.wait()
            if seen.next < epoch and monotonic() >= seen.since + self.wait:
                seen.take(seen.next, None)


@dataclass
class _Votes:
    """One sample's votes, handed to the rule in the order of their epochs."""

    rule: Rule
    panel: int
    next: int = 1
    after: int = 0
    reason: str | None = None
    saved: int = 0
    late: int = 0
    since: float = field(default_factory=monotonic)
    heard: dict[int, str | None] = field(default_factory=dict)
    news: Any = None

    def __post_init__(self) -> None:
        self._state = self.rule.start()
        self._codes: dict[str, int] = {}

    @property
    def stopped(self) -> bool:
        return self.after > 0

    def take(self, epoch: int, vote: str | None) -> None:
        if epoch in self.heard:
            # Given up as missing before it came, or run a second time.
            self.late += 1
            return
        self.heard[epoch] = vote
        self.late += self.stopped
        while self.next in self.heard:
            self.next, self.since = self.next + 1, monotonic()
            if not self.stopped and (self.next - 1) % self.panel == 0:
                self._close()
        if self.news is not None:
            self.news.set()
            self.news = None

    def _close(self) -> None:
        last = self.next - 1
        texts = tuple(self.heard[epoch] for epoch in range(last - self.panel + 1, last + 1))
        codes = tuple(
            MISSING if text is None else self._codes.setdefault(text, len(self._codes)) for text in texts
        )
        decision = self._state.update(Round(last // self.panel, codes, self.panel, texts=texts))
        if decision.stop:
            self.after, self.reason = last, decision.reason


def _probe(rule: Rule, panel: int) -> None:
    """Let a rule that needs more than votes say so now, not in the middle of a paid run."""
    if any(isinstance(part, TokenBudget) for part in rule.parts()):
        raise ValueError(f"rule must decide by votes alone; got {rule}, which counts tokens")
    try:
        rule.start().update(Round(1, (0,) * panel, panel, texts=("",) * panel))
    except ValueError as error:
        raise ValueError(f"rule must decide by votes alone; got {rule}: {error}") from None


def _require_early_stopping() -> None:
    """Refuse an Inspect that would take the manager and never ask it; without Inspect there is nothing to refuse."""
    try:
        found = version("inspect-ai")
    except PackageNotFoundError:
        return
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:3])
    if numbers < _FIRST_WITH_EARLY_STOPPING:
        first = ".".join(map(str, _FIRST_WITH_EARLY_STOPPING))
        needs = f"stopping epochs early needs inspect-ai >= {first}, since older versions ignore the manager"
        raise ImportError(missing_extra(needs, "inspect", ImportError(f"inspect-ai {found}")))


def _id(sample: Sample) -> str | int:
    # Inspect numbers samples without an id, and says 0 where it has not.
    return 0 if sample.id is None else sample.id
