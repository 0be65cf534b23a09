"""Everybody who may be asked to judge two answers, with the same eyes: one world for all debate protocols."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from d3stats._check import choice, number, probability
from d3stats.worlds.base import World, positive
from d3stats.worlds.courtroom import Courtroom

__all__ = ["REVEALS", "Assembly"]

REVEALS = ("argument", "talk")
"""What brings hidden quality to light: advocates' arguments alone, or any message."""

_AT_LEAST_ZERO = (
    "contrariness",
    "decide_at",
    "accept_at",
    "mark_noise",
    "reply_words",
    "summary_words",
    "expert_words",
)


@dataclass(frozen=True, kw_only=True)
class Assembly(World):
    """Items and advocates of a courtroom, and agents who read a pair equally well whatever their role.

    It exists to compare protocols: a judge, a juror, a panelist, a referee, a moderator, a leaf, a synthesizer, a
    solver, a critic, an evaluator and a reviewer all read a pair with the same errors, so protocols differ only in
    who is asked, who hears whom, and how it is decided. Points are raw points of a judge's total of 6 to 120, Z is
    a fresh standard normal variable each time it is written, and all that is not defined here is the `court`'s:
    the quality gap q, the label, the length ratio L, the bias b toward A, the arguments' strengths X(s, r).

    * Revelation: whoever has read r rounds of argument sees the gap

      g(r) = q (1 - hidden decay^r),

      so the bare answers hide the share `hidden`. (In a :class:`~d3stats.worlds.Courtroom`, where everybody has
      heard an argument, the first round hides it: g(r) here is that world's g(r + 1).) With
      ``reveals="argument"`` only advocates reveal; with ``reveals="talk"`` the rounds of any message count.
    * Argument misleads as well: the strengths add d(r) = X(A, r) - X(B, r), where a side that said nothing has the
      strength 0. A judge goes by the arguments of its round, everybody else by the mean of g(r) + d(r) over the rounds
      of argument that it reads (as in the courtroom); without an argument it is g(0).
    * Reading: x(j) = g + d + b + juror_shared Z + juror_persona (sqrt(1 - diversity) Z + sqrt(diversity) Z(j))
      + juror_noise Z. The first two Z belong to the item, as one LLM misreads one question alike each time; Z(j) to
      the item and the agent j in all its calls; the last is drawn in every call. The total error is the same for
      every `diversity`: it only says how much of it the others share.
    * Talk: who hears others' readings h(i) says y = (1 - w) x + w mean h(i), with w = conformity, over the latest
      word of each; who hears nobody says y = x. Judges, jurors and reviewers are asked for their own view and hear
      arguments only. A vote is A when y > 0. A summary passes on the mean of what it read.
    * Marks: on a judge's rubric, criteria of 1 to 20, as in the courtroom:
      clip(round(base + (X(A) + X(B) +- y) / 12 + noise (sqrt(halo) Z + sqrt(1 - halo) Z)), 1, ceiling), + for A.
      On any other rubric of m criteria, clip(round(level +- y / (2 m points_per_mark) + mark_noise Z), low, high),
      with the level as far up the scale as `base` is between 1 and 20. The higher total is the vote. Where other
      agents' answers are marked and not the candidates, each has the mark of the side that it leaned to in the rounds
      before.
    * Multi-Persona: the negative is there to disagree: from its y, `contrariness` is taken in the direction of the
      affirmative's latest word. The moderator passes while abs(y) < `decide_at`, unless it has to decide.
    * AgentVerse: the evaluator finds the solution correct with probability expit((s y - accept_at) / accept_scale),
      with s = 1 for a solver who leans to A, -1 for B, and y the evaluator's reading, which hears solver and critics.
    * Runs: as in the courtroom, with ``court.run``.

    Tokens are words x 4/3: a prompt holds the role's instruction, the question, both answers and every message that
    is seen, each as long as it was when written. Messages have between (1 - slack) and 1 times their longest
    length.

    Of the court, `panel`, `protocol`, `first`, `advocates`, `poll` and `memory` are not read: the protocol says
    them.

    Parameters
    ----------
    court : Courtroom
        Items, biases, advocates, marks, lengths, and the reading errors ``juror_shared, juror_persona,
        juror_noise``, which here are everybody's.
    reveals : {"argument", "talk"}
    diversity : float
        Share of the variance of the persistent own error that agents do not have in common, between 0 and 1.
    conformity : float
        Weight of what is heard, between 0 and 1.
    contrariness, decide_at, accept_at : float
        Points.
    accept_scale, points_per_mark : float
        Points, above 0.
    mark_noise : float
        Marks.
    reply_words, summary_words, expert_words : float
        Longest message of a talker and of a summarizer; the description of a recruited expert.

    Notes
    -----
    None of these numbers is measured. Three of them decide which protocol comes out on top: how much is hidden
    (``court.hidden``), how far arguments mislead (``court.advocate_sd``), and how much of the error all agents share
    (``court.juror_shared``, `diversity`). A ranking in one such world is a statement about these, not about LLMs.

    Examples
    --------
    >>> world = Assembly(court=Courtroom(hidden=0.5), diversity=0.5)
    >>> world.shown(0), world.shown(1)
    (0.5, 0.85)
    """

    court: Courtroom = field(default_factory=Courtroom)
    reveals: Literal["argument", "talk"] = "argument"
    diversity: float = 1.0
    conformity: float = 0.4
    contrariness: float = 2.0
    decide_at: float = 6.0
    accept_at: float = 2.0
    accept_scale: float = 2.0
    points_per_mark: float = 2.0
    mark_noise: float = 0.3
    reply_words: float = 100.0
    summary_words: float = 80.0
    expert_words: float = 25.0

    name: ClassVar[str] = "assembly"
    citation: ClassVar[str] = "this library's; items and advocates as in D3, talk as in ChatEval (2023)"

    def __post_init__(self) -> None:
        if not isinstance(self.court, Courtroom):
            raise TypeError(f"court must be a Courtroom; got court={self.court!r}")
        choice("reveals", self.reveals, REVEALS)
        for name in ("diversity", "conformity"):
            object.__setattr__(self, name, probability(name, getattr(self, name)))
        for name in _AT_LEAST_ZERO:
            object.__setattr__(self, name, number(name, getattr(self, name), minimum=0))
        for name in ("accept_scale", "points_per_mark"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))

    @property
    def run(self) -> int:
        """Number of the repeat: the same items, every call made anew."""
        return self.court.run

    def shown(self, rounds: int) -> float:
        """Return the share of the quality gap that so many rounds of argument show."""
        return 1 - self.court.hidden * self.court.decay**rounds
