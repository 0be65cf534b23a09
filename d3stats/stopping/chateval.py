"""A fixed number of turns, at least two: how ChatEval's referees end their discussion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from d3stats._check import integer
from d3stats.stopping.fixed import FixedRounds

__all__ = ["ChatEvalTurns"]


@dataclass(frozen=True)
class ChatEvalTurns(FixedRounds):
    """Stop after `n` turns of every referee; fewer than two are refused.

    Parameters
    ----------
    n : int
        Turns, at least 2 (the paper's own number): the last turn scores what was said in the turns before.

    Examples
    --------
    >>> from d3stats.stopping import Round
    >>> ChatEvalTurns().run([Round(1, (0, 0), 2), Round(2, (0, 1), 2), Round(3, (0, 0), 2)])
    (2, 'chateval_turns')
    >>> ChatEvalTurns(1)
    Traceback (most recent call last):
    ...
    ValueError: n must be >= 2: the last turn scores the turns before it, and there would be none; got n=1
    """

    n: int = 2

    name: ClassVar[str] = "chateval"
    citation: ClassVar[str] = "Chan et al. (2023), arXiv 2308.07201, sections 2 and 4: two discussion turns"
    reason: ClassVar[str] = "chateval_turns"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", integer("n", self.n))
        if self.n < 2:
            raise ValueError(
                "n must be >= 2: the last turn scores the turns before it, and there would be none; "
                f"got n={self.n}"
            )
