"""A log as arrays, with the decision that each debate recorded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from d3stats.inputs.questions import Questions
from d3stats.trajectories import MISSING, Trajectories

__all__ = ["RecordedLog"]


@dataclass(frozen=True, eq=False, repr=False)
class RecordedLog:
    """A log as arrays, with the decision that each debate recorded.

    Attributes
    ----------
    decision : ndarray of object, shape (debates,)
        What each debate's verdict record says; None where it has none, or says nothing.
    roles : tuple of str
        The roles that vote somewhere in the log.
    questions : Questions or None
        What the log says of its questions, to be held against other logs.
    """

    trajectories: Trajectories
    decision: NDArray[np.object_]
    roles: tuple[str, ...] = ()
    questions: Questions | None = None

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
            "debates, so results from votes may differ from the decisions. Select the voting agents by "
            f"role{said}."
        )

    def right(self) -> NDArray[np.float64]:
        """Return 1 where the decision is the label, 0 where it is not, NaN where either is unknown."""
        t = self.trajectories
        label = np.array([*t.answers, None], dtype=object)[t.label]
        unknown = ~self.known | (t.label == MISSING)
        return np.where(unknown, np.nan, (self.decision == label).astype(float))
