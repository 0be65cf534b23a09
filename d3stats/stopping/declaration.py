"""Stop when one agent says that the debate is decided: a judge's vote or an evaluator's mark."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from d3stats._check import integer, number
from d3stats.stopping._scores import scores_got
from d3stats.stopping.rule import CONTINUE, Decision, Round, Rule
from d3stats.trajectories import MISSING, Trajectories

__all__ = ["Declaration", "ScoreDeclaration"]


@dataclass(frozen=True)
class Declaration(Rule):
    """Stop when the judge's seat has cast a vote: a judge that wants to hear more casts none, or says so.

    Parameters
    ----------
    seat : int
        Seat of the judge, from 0, or from the end of the debate's own panel if negative; -1, the default, is
        the last seat that is taken. In a log, agents who vote sit in the order of their names, so the last seat is
        that of the last name; a replay's notes say whose it is. A debate without that seat is never declared over.
    undecided : str
        The answer by which the judge of this log says "go on", if that is a vote like any other, as
        ``"no preference"`` is in the logs that Liang et al. released. Words; a rule's text has ``_`` for spaces.

    Raises
    ------
    ValueError
        When `undecided` is given and the log says only which votes were right (``coding="correctness"``), or when
        the seat counts from the end and somebody there may be a judge who casts no vote in the whole log.

    Notes
    -----
    A vote that could not be read looks like a judge that goes on, so the rule then stops late, never early. A
    role that casts no vote in the whole log has no seat, and the log does not say whether it was asked. Where such an
    agent would change who has a seat that counts from the end, a replay is refused; count from the front, or read the
    log with the ``roles`` that are asked to vote, who then have seats.
    Multi-Persona also ends after three rounds: ``Declaration() | FixedRounds(3)``.

    Examples
    --------
    >>> Declaration().run([Round(1, (0, 1, -1), 3), Round(2, (0, 1, 1), 3)])
    (2, 'declaration')
    """

    seat: int = -1
    undecided: str = ""

    name: ClassVar[str] = "declaration"
    inputs: ClassVar[frozenset[str]] = frozenset({"votes", "texts"})
    citation: ClassVar[str] = (
        "Liang et al. (2023), arXiv 2305.19118: the judge ends the debate (Multi-Persona)"
    )
    statistic: ClassVar[str] = "whether the judge's seat has cast a vote that decides"
    guarantee: ClassVar[str] = "none; the verdict is as good as the judge's sense of when to stop"
    reason: ClassVar[str] = "declaration"

    def __post_init__(self) -> None:
        object.__setattr__(self, "seat", integer("seat", self.seat))
        object.__setattr__(self, "undecided", _word("undecided", self.undecided))

    def start(self) -> Declaration:
        """Open a debate; the rule needs no memory."""
        return self

    def update(self, latest: Round, /) -> Decision:
        """Stop when the judge has declared."""
        if self.undecided and latest.texts is None:
            raise ValueError(
                f"texts must be given, because {self.name} looks for an answer in words; got a round without"
            )
        seat = self.seat if self.seat >= 0 else latest.panel + self.seat
        if not 0 <= seat < latest.panel or latest.votes[seat] == MISSING:
            return CONTINUE
        if latest.texts is not None and self._goes_on(latest.texts[seat]):
            return CONTINUE
        return Decision(stop=True, reason=self.reason, detail={"vote": latest.votes[seat]})

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire in every round in which the judge declares."""
        if self.undecided and trajectories.coding == "correctness":
            raise ValueError(
                f"coding must be 'answers', because {self.name} looks for an answer in words; got 'correctness'"
            )
        self._refuse_another(trajectories)
        panel = trajectories.panel
        seat = np.full(len(panel), self.seat) if self.seat >= 0 else panel + self.seat
        taken = (seat >= 0) & (seat < panel)
        if not taken.any():
            return np.zeros(trajectories.votes.shape[:2], dtype=bool)
        at = np.where(taken, seat, 0)[:, None, None]
        votes = np.take_along_axis(trajectories.votes, at, axis=2)[:, :, 0]
        silent = [MISSING, *(code for code, a in enumerate(trajectories.answers) if self._goes_on(a))]
        result: NDArray[np.bool_] = taken[:, None] & ~np.isin(votes, silent)
        return result

    def _refuse_another(self, t: Trajectories) -> None:
        """Refuse a seat from the end that a judge without any vote in the log may have left to another agent."""
        if self.seat >= 0 or t.speakers is None:
            return
        seated_after = (t.speakers == 1)[:, ::-1].cumsum(axis=1)[:, ::-1]
        # Somebody without a seat who stands behind the seat that is read.
        behind = ((t.speakers == 0) & (seated_after < -self.seat)).any(axis=1) & (t.panel >= -self.seat)
        if not behind.any():
            return
        row = int(behind.argmax())
        front = int(t.panel[row]) + self.seat
        raise ValueError(
            f"seat must count from the front, because in debate {t.debates[row]!r} an agent who casts no vote in the "
            f"whole log may have been the judge; got {self}, which would read {t.seats[front]!r} (seat={front} reads "
            "it on purpose; a log that is read with the roles that are asked to vote has seats for all of them)"
        )

    def remarks(self, trajectories: Trajectories) -> tuple[str, ...]:
        """Say whose votes are read as the judge's."""
        t = trajectories
        seat = np.full(len(t), self.seat) if self.seat >= 0 else t.panel + self.seat
        taken = (seat >= 0) & (seat < t.panel)
        whose = [repr(t.seats[at]) for at in np.unique(seat[taken]).tolist()]
        if not whose:
            return (f"{self} never fires: no debate of this log has the seat {self.seat}.",)
        place = "the last seat" if self.seat == -1 else f"seat {self.seat}"
        return (
            f"{self} takes the votes of {' or '.join(whose)} as the judge's ({place}; agents sit in the order of "
            "their names, and seat= names another).",
        )

    def _goes_on(self, answer: str | None) -> bool:
        return bool(self.undecided) and answer is not None and answer.replace(" ", "_") == self.undecided


@dataclass(frozen=True)
class ScoreDeclaration(Rule):
    """Stop when an evaluator gives a high enough mark.

    Parameters
    ----------
    side : int
        Which of the log's score sides holds the evaluator's mark, from 0.
    at_least : float
        The mark that ends the debate, in raw points; AgentVerse's evaluator gives 1 to a correct answer. A
        missing mark goes on.

    Raises
    ------
    ValueError
        When played on a log without scores, or without that side.

    Examples
    --------
    >>> ScoreDeclaration().run([Round(1, (0,), 1, scores=(0.0,)), Round(2, (0,), 1, scores=(1.0,))])
    (2, 'score_declaration')
    """

    side: int = 0
    at_least: float = 1.0

    name: ClassVar[str] = "score_declaration"
    inputs: ClassVar[frozenset[str]] = frozenset({"scores"})
    citation: ClassVar[str] = "Chen et al. (2023), arXiv 2308.10848: the evaluator's correctness (AgentVerse)"
    statistic: ClassVar[str] = "the evaluator's mark in the latest round"
    guarantee: ClassVar[str] = "none; the verdict is as good as the evaluator"
    reason: ClassVar[str] = "score_declaration"

    def __post_init__(self) -> None:
        object.__setattr__(self, "side", integer("side", self.side, minimum=0))
        object.__setattr__(self, "at_least", number("at_least", self.at_least))

    def start(self) -> ScoreDeclaration:
        """Open a debate; the rule needs no memory."""
        return self

    def update(self, latest: Round, /) -> Decision:
        """Stop when the mark is high enough."""
        if latest.scores is None or len(latest.scores) <= self.side:
            raise self._refusal(None if latest.scores is None else len(latest.scores))
        mark = latest.scores[self.side]
        if mark is not None and mark >= self.at_least:
            return Decision(stop=True, reason=self.reason, detail={"mark": mark})
        return CONTINUE

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire in every round with a mark that is high enough."""
        scores = trajectories.scores
        if scores is None or scores.shape[2] <= self.side:
            raise self._refusal(None if scores is None else scores.shape[2])
        result: NDArray[np.bool_] = scores[:, :, self.side] >= self.at_least
        return result

    def _refusal(self, sides: int | None) -> ValueError:
        return ValueError(
            f"scores must be given for side {self.side}, because {self.name} reads the evaluator's mark "
            f"there; got {scores_got(sides)}"
        )


def _word(name: str, value: object) -> str:
    """Return text that a rule's own text can hold: it would read a number back as a number."""
    word = value.replace(" ", "_") if isinstance(value, str) else "0"
    if re.search(r"[\s|&(),=]", word) or _is_number(word):
        raise ValueError(f"{name} must be words without any of | & ( ) , =; got {name}={value!r}")
    return word


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
