"""The referee team of ChatEval: everyone scores both answers, and talks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from d3stats._check import choice, integer, number, probability
from d3stats.worlds.base import World

__all__ = ["COMMUNICATION", "Referees"]

COMMUNICATION = ("one_by_one", "simultaneous", "simultaneous_with_summarizer")
"""Who hears whom (ChatEval, section 2)."""

_AT_LEAST_ZERO = (
    "gap_sd",
    "label_noise",
    "tie_margin",
    "shared_sd",
    "role_sd",
    "talk_noise",
    "level_sd",
    "summary_noise",
    "question_words",
    "answer_words",
    "instruction_words",
    "reply_words",
    "summary_words",
)


@dataclass(frozen=True, kw_only=True)
class Referees(World):
    """Role-prompted referees who give two answers a score of 1 to 10 in every turn and hear each other.

    Points are raw points of 1 to 10, a difference is A's score minus B's, and Z is a fresh standard normal
    variable each time it is written. Referee j speaks in turn t, both from 1.

    * Item: the difference in quality is q = gap_sd Z. The label is "tie" when q + label_noise Z lies within
      +-tie_margin, else the side it points to.
    * Opinion: o(j) = q + b + lean(j) + shared_sd Z + role_sd Z(j), with b = position_bias, or minus that when
      B is shown first. The first error is one draw for the whole team, as all referees are one LLM.
    * What is said: x(j, t) = (1 - w) o(j) + w h(j, t) + talk_noise Z, with w = conformity and h what the
      referee has heard; before anything is heard, w = 0. The scores are
      clip(round(base + level_sd Z(j) +- x(j, t) / 2), 1, 10), + for A.
    * What is heard, as differences of the scores given:
      ``"one_by_one"``: the mean of every other referee's latest word, of this turn from the seats before j
      and of the last turn from the seats after, so the first voice anchors the rest;
      ``"simultaneous"``: the mean of the others' words of the last turn;
      ``"simultaneous_with_summarizer"``: the mean of all words of all turns before, plus summary_noise Z,
      one draw that the whole team reads.
    * Runs: the opinions and levels belong to the item; what is said is drawn anew in another run.

    A vote is the answer with the higher score. Equal scores are a vote for the third answer, "tie", not a
    missing vote: the referee has spoken, and human annotators may say the same. The log's scores are the
    team's means per side: ChatEval takes the majority of the votes or compares these means.

    Tokens are words x 4/3 of every call's prompt and message. A referee reads the instructions, the question,
    both answers, and all messages so far (one by one), those of the turns before (simultaneous), or the
    summaries of those turns. The summarizer is one more call a turn, which reads all messages so far.

    Parameters
    ----------
    panel : int
        Referees.
    communication : {"one_by_one", "simultaneous", "simultaneous_with_summarizer"}
    first : {"A", "B"}
        The answer that is read first. The same seed gives the same debates either way.
    run : int
        Number of a repeat: the same seed gives the same items, and every call is made anew.
    gap_sd, label_noise, tie_margin, shared_sd, role_sd, talk_noise, level_sd, summary_noise : float
        Points.
    position_bias : float
        Points toward the answer read first.
    lean : sequence of float
        Points toward A of each role, in the order of speaking; empty for none.
    conformity : float
        Weight of what is heard, between 0 and 1.
    base : float
        Mean score of an average answer, between 1 and 10.
    question_words, answer_words, instruction_words, reply_words, summary_words : float
        Words of the question, of an answer, of a role's prompt, of the longest reply and summary.
    slack : float
        A message has between (1 - slack) and 1 times its longest length, uniformly.

    Notes
    -----
    Algorithm 1 of ChatEval, read to the letter, passes a message only to the seats after it; its text and its
    figure let it reach everyone who speaks later, which is what is drawn here. The paper fixes no lengths;
    those of this world are plain guesses. With the defaults one referee is right, of
    three labels, in .57 and the majority of three after two turns in .60 of 20,000 items, in every mode.
    ChatEval has .54 for one agent and .60 for three, one by one, but .55 in the other modes (tables 1 and 4,
    80 items, so a standard error of .055): averaging alone makes no such difference.

    Examples
    --------
    >>> Referees(panel=2, communication="simultaneous", lean=(0.5, -0.5)).lean
    (0.5, -0.5)
    """

    panel: int = 3
    communication: Literal["one_by_one", "simultaneous", "simultaneous_with_summarizer"] = "one_by_one"
    first: Literal["A", "B"] = "A"
    run: int = 0

    gap_sd: float = 1.5
    label_noise: float = 0.8
    tie_margin: float = 0.4
    position_bias: float = 0.3
    lean: Sequence[float] = ()
    shared_sd: float = 0.9
    role_sd: float = 1.2
    talk_noise: float = 0.5
    conformity: float = 0.4
    summary_noise: float = 0.5
    base: float = 7.5
    level_sd: float = 0.7

    question_words: float = 40.0
    answer_words: float = 150.0
    instruction_words: float = 130.0
    reply_words: float = 100.0
    summary_words: float = 80.0
    slack: float = 0.3

    name: ClassVar[str] = "referees"
    citation: ClassVar[str] = "ChatEval (2023), arXiv 2308.07201, sections 2 and 3, appendices A and B"

    def __post_init__(self) -> None:
        object.__setattr__(self, "panel", integer("panel", self.panel, minimum=1))
        object.__setattr__(self, "run", integer("run", self.run, minimum=0))
        choice("communication", self.communication, COMMUNICATION)
        choice("first", self.first, ("A", "B"))
        for name in _AT_LEAST_ZERO:
            number(name, getattr(self, name), minimum=0)
        number("position_bias", self.position_bias)
        probability("conformity", self.conformity)
        probability("slack", self.slack)
        if not 1 <= number("base", self.base) <= 10:
            raise ValueError(f"base must lie between 1 and 10; got base={self.base!r}")
        if isinstance(self.lean, (int, float, str)):
            raise ValueError(
                f"lean must be a list with one value per referee ({self.panel}); got lean={self.lean!r}"
            )
        lean = tuple(number("lean", value) for value in self.lean)
        if lean and len(lean) != self.panel:
            raise ValueError(f"lean must have one value per referee ({self.panel}); got {len(lean)}")
        object.__setattr__(self, "lean", lean)
