"""How a result that is a list of estimates shows itself: text, table, LaTeX, JSON."""

from __future__ import annotations

from typing import Any

import pandas as pd

from d3stats.estimate import Estimate, estimates_frame, estimates_latex


class Reported:
    """Shows `estimates` and `notes`; a result adds what else it holds."""

    notes: tuple[str, ...]

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The estimates, what was asked for first."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n".join([*map(str, self.estimates), *(f"note: {note}" for note in self.notes)])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per estimate, columns as in :class:`~d3stats.estimate.Estimate`."""
        return estimates_frame(self.estimates)

    def to_latex(self, *, digits: int = 3) -> str:
        """Return the estimates as a booktabs tabular."""
        return estimates_latex(self.estimates, digits=digits)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dictionary that JSON can hold."""
        return {"estimates": [e.to_dict() for e in self.estimates], "notes": list(self.notes)}
