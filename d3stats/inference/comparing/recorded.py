"""What a debate log says was decided, beside the votes that were cast.

A protocol's decision need not be the plurality of all votes: a moderator decides over debaters who vote too, points are
added up over two calls, a judge's points break a jury's tie. The verdict records of a log keep what was decided.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from d3stats.log.column_names import Columns
from d3stats.trajectories import MISSING, Trajectories

if TYPE_CHECKING:
    import pandas as pd

    from d3stats.log.problems import Problem
    from d3stats.log.reader import DebateLog

__all__ = ["RecordedLog", "read_recorded", "recorded_of"]


@dataclass(frozen=True, eq=False, repr=False)
class RecordedLog:
    """A log as arrays, and its decisions.

    Attributes
    ----------
    trajectories : Trajectories
    decision : ndarray of object, shape (debates,)
        What each debate's verdict record says; None where it has none, or says nothing.
    roles : tuple of str
        The roles that vote somewhere in the log.
    problems : tuple of Problem
        What is wrong with the files; empty when they were read strictly.
    """

    trajectories: Trajectories
    decision: NDArray[np.object_]
    roles: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    def __repr__(self) -> str:
        return f"RecordedLog({self.trajectories!r}, {int(self.known.sum())} decisions)"

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Which debates have a recorded decision, shape (debates,)."""
        return np.array([d is not None for d in self.decision], dtype=np.bool_)

    @cached_property
    def differs(self) -> NDArray[np.bool_]:
        """Which decisions are another answer than the plurality of the debate's last round, shape (debates,)."""
        t = self.trajectories
        if t.n_rounds == 0:
            return np.zeros(len(t), dtype=np.bool_)
        last = t.verdicts()[np.arange(len(t)), np.maximum(t.depth, 1) - 1]
        plurality = np.array([*t.answers, None], dtype=object)[last]  # MISSING, -1, is the last
        other: NDArray[np.bool_] = self.known & (last != MISSING) & (plurality != self.decision)
        return other

    @cached_property
    def usable(self) -> bool:
        """Whether there are decisions, and they can be held against labels: votes are not just right or wrong."""
        return self.trajectories.coding == "answers" and bool(self.known.any())

    def note(self) -> str | None:
        """Say in how many debates votes and decisions part, for readers of votes; None where nowhere."""
        other = int(self.differs.sum()) if self.usable else 0
        if not other:
            return None
        said = f" (here: {', '.join(self.roles)})" if self.roles else ""
        return (
            f"The recorded decision is not the plurality of the last votes in {other} of {len(self.decision)} "
            f"debates: what follows from votes may differ from what the debates decided. Whose votes count can be "
            f"chosen by role{said}."
        )

    def right(self) -> NDArray[np.float64]:
        """Return 1 where the decision is the label, 0 where it is not, NaN where either is unknown."""
        t = self.trajectories
        label = np.array([*t.answers, None], dtype=object)[t.label]
        unknown = ~self.known | (t.label == MISSING)
        return np.where(unknown, np.nan, (self.decision == label).astype(float))


def read_recorded(
    *paths: str | Path,
    strict: bool = True,
    roles: Iterable[str] | None = None,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
) -> RecordedLog:
    """Read log files with their decisions; the parameters are those of :meth:`Trajectories.from_log`."""
    from d3stats.log.reader import read_log

    log = read_log(*paths, strict=strict, missing_values=missing_values, columns=columns, encoding=encoding)
    return recorded_of(log, roles)


def recorded_of(log: DebateLog, roles: Iterable[str] | None = None) -> RecordedLog:
    """Return a log that was read as arrays, with its decisions."""
    t = Trajectories._from_read(log, roles)
    return RecordedLog(t, _decisions(log.verdicts, t.debates), _voting(log.turns), log.problems)


def _decisions(verdicts: pd.DataFrame, debates: tuple[str, ...]) -> NDArray[np.object_]:
    said: dict[Any, Any] = dict(zip(verdicts["debate"], verdicts["decision"], strict=True))
    return np.array([said.get(name) for name in debates], dtype=object)


def _voting(turns: pd.DataFrame) -> tuple[str, ...]:
    cast = turns["vote" if "vote" in turns.columns else "correct"].notna()
    return tuple(sorted(set(turns.loc[cast, "role"].dropna())))
