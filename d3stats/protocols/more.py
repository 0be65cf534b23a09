"""MORE of D3: many advocates a side, one round, one defence a side, and a jury."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from d3stats.agents.request import Case, Message, Request, Slot
from d3stats.protocols._court import AGGREGATOR, REASONS, advocate, heard, judge, remark
from d3stats.protocols.jury import judge_decides, jurors, jury_decides
from d3stats.protocols.personas import jury
from d3stats.protocols.play import Play, RoundOver, Speak, preferred, round_over, said, speak, total, votes_of
from d3stats.protocols.protocol import OneRound

__all__ = ["More"]


@dataclass(frozen=True, kw_only=True)
class More(OneRound):
    """Advocates defend each answer in parallel, their defences become one a side, judge and jurors weigh these.

    Parameters
    ----------
    advocates : int
        Advocates a side. A single one's defence stands as it is.
    jurors : int
        0: the judge decides.
    personas : {"curated", "pool", "none"}
        The jurors' roles; see :func:`~d3stats.protocols.personas.jury`.
    persona_seed : int
        Of the draw from the pool.
    defence_words, aggregate_words, reasons_words, rationale_words : int
        The longest defence, joint defence, judge's reasons and juror's rationale. The first two are D3's.

    Notes
    -----
    D3, 2.2, 2.3 and Algorithm 1. The jury's majority decides; the judge's points break a tie. An advocate that
    fails says nothing; a side none of whose advocates or whose aggregator could be heard has no defence.

    Examples
    --------
    >>> str(More(jurors=0)), More().advocates
    ('more:jurors=0', 3)
    """

    advocates: int = 3
    jurors: int = 5
    personas: Literal["curated", "pool", "none"] = "curated"
    persona_seed: int = 0
    defence_words: int = 80
    aggregate_words: int = 150
    reasons_words: int = 150
    rationale_words: int = 60

    name: ClassVar[str] = "more"
    citation: ClassVar[str] = "D3: Debate, Deliberate, Decide, 2.2, 2.3 and Algorithm 1"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._whole("advocates", "defence_words", "aggregate_words", "reasons_words", "rationale_words")
        object.__setattr__(self, "jurors", len(jury(self.jurors, self.personas, self.persona_seed)))

    def play(self, case: Case) -> Play:
        """Play one debate."""
        self.check(case)
        defences = yield from self._defences(case)
        reasons = REASONS.format(words=self.reasons_words)
        bench = judge(case, defences, reasons, self.reasons_words, lead=not self.jurors)
        (reply,) = yield from speak(bench)
        points = total(reply, case.sides)
        if not self.jurors:
            yield from round_over(1, votes=[preferred(points, case.answers)], scores=points, ends="one_round")
            return judge_decides(points, case, 1, "one_round")
        panel = jury(self.jurors, self.personas, self.persona_seed)
        record = defences + remark(bench, reply)
        votes = votes_of((yield from speak(*jurors(case, 1, 1, record, panel, self.rationale_words))))
        yield from round_over(1, votes=votes, scores=points, ends="one_round")
        return jury_decides(votes, points, case, 1, "one_round")

    def _defences(self, case: Case) -> Generator[Speak | RoundOver, Any, tuple[Message, ...]]:
        """What the judge reads: one defence a side."""
        asked = parallel(case, self.advocates, self.defence_words)
        spoken = heard(asked, (yield from speak(*asked)), "advocate")
        if self.advocates == 1:
            return spoken
        joining = [
            Request(
                case,
                1,
                f"aggregator {side}",
                "aggregator",
                "aggregate",
                AGGREGATOR.format(words=self.aggregate_words),
                Slot(words=self.aggregate_words),
                own,
                side,
            )
            for side in case.shown
            if (own := tuple(message for message in spoken if message.side == side))
        ]
        # Of nothing nothing is made: a side that said nothing has nobody to write a defence for it.
        joint = (yield from speak(*joining)) if joining else ()
        return tuple(m for pair in zip(joining, joint, strict=True) for m in said(*pair, "advocate"))


def parallel(case: Case, each: int, words: int) -> list[Request]:
    """Ask so many advocates a side, who hear nobody."""
    numbers = [""] if each == 1 else [f" {i}" for i in range(1, each + 1)]
    return [
        advocate(case, side, f"advocate {side}{number}", words) for side in case.shown for number in numbers
    ]
