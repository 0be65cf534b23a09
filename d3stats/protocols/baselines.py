"""Baselines without a debate: a single judge, and a majority of judges who vote apart."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from d3stats._check import PositiveInt
from d3stats.agent import Case, Rubric, Slot
from d3stats.protocols.jury import CRITERIA, explained, judge_decides
from d3stats.protocols.play import OneRound, Outcome, Play, plurality, round_over, speak, total, votes_of

__all__ = ["Majority", "SingleJudge"]

INSTRUCTION = (
    "You compare two answers to one question and score each of them, on every criterion, from 1 to 20:\n"
    f"{explained()}\n"
    "Be impartial, and look for small differences that matter. Then give your reasons in at most {words} words."
)


EVIDENCE = (
    "You compare two answers to one question. First write down in at most {words} words what speaks for and against "
    "each of them. Then, from what you have written, score each of them, on every criterion, from 1 to 20:\n"
    f"{explained()}\n"
    "Be impartial, and look for small differences that matter."
)


@dataclass(frozen=True, kw_only=True)
class SingleJudge(OneRound):
    """One judge scores both candidates on D3's six criteria; the higher total wins.

    Parameters
    ----------
    calibrate : bool
        Ask in both orders, with each candidate shown first, and add the points of both: what the place of an
        answer is worth then cancels (balanced position calibration, Wang et al. 2023, arXiv 2305.17926). When
        one order has no scores, there is no decision.
    samples : int
        Ask so many times in each order and average the points (multiple evidence calibration of the same work, with
        which ChatEval, section 3.3, compares itself). With two or more, the judge writes down the evidence before it
        scores. A sample without scores is left out of the average.
    words : int
        The longest reasons.

    Notes
    -----
    Equal points are a tie where that may be voted for, else no decision. D3's baseline is one call (appendix F.3).
    Samples differ only where the model draws its words: at temperature 0 they are all alike.

    Examples
    --------
    >>> str(SingleJudge(calibrate=True, samples=3))
    'single_judge:calibrate=True,samples=3'
    """

    calibrate: bool = False
    samples: PositiveInt = 1
    words: PositiveInt = 150

    name: ClassVar[str] = "single_judge"
    citation: ClassVar[str] = "the baseline of D3, appendix F.3; both calibrations of arXiv 2305.17926"

    def play(self, case: Case) -> Play:
        """Play one debate."""
        self.check(case)
        slot = Slot(case.answers, rubric=Rubric(case.sides, CRITERIA, 1, 20), lead=True, words=self.words)
        instruction = (INSTRUCTION if self.samples == 1 else EVIDENCE).format(words=self.words)
        orders: tuple[str | None, ...] = case.sides if self.calibrate else (None,)
        # In the order of the log's seats, which a rule sees.
        asked = sorted(
            (
                self.request(case, 1, self._name(side, i), "judge", "judge", instruction, slot, first=side)
                for side in orders
                for i in range(1, self.samples + 1)
            ),
            key=lambda request: request.agent,
        )
        replies = yield from speak(*asked)
        given: dict[str | None, list[dict[str, float]]] = {side: [] for side in orders}
        for request, reply in zip(asked, replies, strict=True):
            points = total(reply, case.sides)
            if points is not None:
                given[request.first].append(points)
        points = None
        if all(given.values()):
            points = {
                side: sum(fmean(each[side] for each in sample) for sample in given.values())
                for side in case.sides
            }
        more = {} if self.samples == 1 else {"samples scored": float(sum(map(len, given.values())))}
        yield from round_over(1, votes=votes_of(replies), scores=points, ends="one_round")
        return judge_decides(points, case, 1, "one_round", more)

    def _name(self, side: str | None, sample: int) -> str:
        place = "" if side is None else f", {side} first"
        return f"judge{place}" if self.samples == 1 else f"judge{place}, sample {sample}"


OF_TWO = (
    "Below are a question and two answers to it. Decide which answer is better, and give your reasons in at most "
    "{words} words. Where an answer stands and how long it is should not matter."
)

OPEN = "Below is a question. Think it through in at most {words} words, and answer it."


@dataclass(frozen=True, kw_only=True)
class Majority(OneRound):
    """Several judges vote without hearing each other; the answer with the most votes is the decision.

    Parameters
    ----------
    judges : int
    words : int
        The longest reasons.

    Notes
    -----
    Self-consistency (Wang et al. 2022, arXiv 2203.11171) when all judges are one LLM. A missing vote counts for
    no answer. When both sides of a pair lead, the decision is ``"tie"`` where that may be voted for. In other cases of
    several leading answers there is no decision.

    Examples
    --------
    >>> str(Majority(judges=7))
    'majority:judges=7'
    """

    judges: PositiveInt = 5
    words: PositiveInt = 100

    name: ClassVar[str] = "majority"
    citation: ClassVar[str] = (
        "Wang et al. (2022), arXiv 2203.11171: sample several answers, take the most frequent"
    )
    candidates: ClassVar[bool | None] = None

    def play(self, case: Case) -> Play:
        """Play one debate."""
        self.check(case)
        instruction = (OF_TWO if case.candidates else OPEN).format(words=self.words)
        slot = Slot(case.answers, open_vote=case.answers is None, words=self.words)
        asked = [
            self.request(case, 1, f"panelist {i}", "panelist", "answer", instruction, slot)
            for i in range(1, self.judges + 1)
        ]
        votes = votes_of((yield from speak(*asked)))
        yield from round_over(1, votes=votes, ends="one_round")
        counts = Counter(vote for vote in votes if vote is not None)
        detail = {f"votes {answer}": float(count) for answer, count in sorted(counts.items())}
        detail["votes missing"] = float(len(votes) - counts.total())
        return Outcome(plurality(case, votes), 1, "one_round" if counts else "no_votes", detail)
