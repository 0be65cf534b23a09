"""MORE of the advocates paper: three advocates a side, no joint defence, no jury."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from d3stats.agents.request import Case
from d3stats.protocols._court import REASONS, heard, judge
from d3stats.protocols.jury import judge_decides
from d3stats.protocols.more import parallel
from d3stats.protocols.play import Play, preferred, round_over, speak, total
from d3stats.protocols.protocol import OneRound

__all__ = ["MoreAdvocates"]


@dataclass(frozen=True, kw_only=True)
class MoreAdvocates(OneRound):
    """The judge reads every advocate's defence and decides by the totals, 6 to 120 points a side.

    Parameters
    ----------
    advocates : int
        Advocates a side.
    defence_words, reasons_words : int
        The longest defence, and the judge's longest reasons.

    Notes
    -----
    Algorithm 1 of the advocates paper has no step that joins the defences, though its section 3.3 and its prompt E.2.2
    do; :class:`~d3stats.protocols.more.More` with ``jurors=0`` is that version. Equal totals are no decision.

    Examples
    --------
    >>> MoreAdvocates().advocates
    3
    """

    advocates: int = 3
    defence_words: int = 80
    reasons_words: int = 150

    name: ClassVar[str] = "more_advocates"
    citation: ClassVar[str] = (
        "the advocates paper before D3 (Optimal Architectures for Judging LLM Outputs Using LLMs), "
        "3.1 and Algorithm 1"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._whole("advocates", "defence_words", "reasons_words")

    def play(self, case: Case) -> Play:
        """Play one debate."""
        self.check(case)
        asked = parallel(case, self.advocates, self.defence_words)
        spoken = heard(asked, (yield from speak(*asked)), "advocate")
        reasons = REASONS.format(words=self.reasons_words)
        (reply,) = yield from speak(judge(case, spoken, reasons, self.reasons_words, lead=True))
        points = total(reply, case.sides)
        yield from round_over(1, votes=[preferred(points, case.answers)], scores=points, ends="one_round")
        return judge_decides(points, case, 1, "one_round")
