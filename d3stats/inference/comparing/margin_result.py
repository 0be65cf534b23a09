"""What a margin test holds and how it is shown: the difference, the margin, and what was concluded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from d3stats._check import choice
from d3stats._latex import booktabs
from d3stats.estimate import Estimate

__all__ = ["Better", "MarginTest", "MarginTests"]

Better = Literal["higher", "lower"]
"""Whether large values are good (accuracy) or bad (tokens, errors)."""


@dataclass(frozen=True, kw_only=True)
class MarginTest:
    """What a test against a margin found; of :mod:`d3stats.inference.margins`.

    Attributes
    ----------
    question : {"non-inferior", "equivalent"}
    difference : Estimate
        Second - first, with the two-sided interval of level 1 - 2 alpha that decides.
    margin : float
        Units of the difference, above 0.
    alpha : float
        Of each one-sided test.
    better : {"higher", "lower"}
    p_value : float or None
        One-sided, or the larger of two; None where the interval is a bootstrap's, which decides alone, or where
        nothing can be decided.
    holds : bool or None
        Whether the claim is shown; None where the data carry no interval or too few clusters changed. False is not
        "the contrary is shown": where that is so, the conclusion says it.
    conclusion : str
        The same in words.
    notes : tuple of str
        What to know of the pair: clusters too few, or too few that changed, make the interval rough.
    """

    question: str
    difference: Estimate
    margin: float
    alpha: float
    better: str
    p_value: float | None
    holds: bool | None
    conclusion: str
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        p = "" if self.p_value is None else f" (one-sided p = {self.p_value:.3g})"
        return "\n".join(
            [f"{self.difference}\n{self.conclusion}{p}", *(f"  note: {note}" for note in self.notes)]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as a dictionary that JSON can hold."""
        return {
            "question": self.question,
            "difference": self.difference.to_dict(),
            "margin": self.margin,
            "alpha": self.alpha,
            "better": self.better,
            "p_value": self.p_value,
            "holds": self.holds,
            "conclusion": self.conclusion,
            "notes": list(self.notes),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row: the difference with its limits, then margin, p-value and conclusion."""
        return MarginTests((self,)).to_frame()

    def to_latex(self, *, digits: int = 3) -> str:
        """Return a booktabs tabular of one row."""
        return MarginTests((self,)).to_latex(digits=digits)


@dataclass(frozen=True)
class MarginTests:
    """One margin test per pair of a comparison, each decided by itself."""

    results: tuple[MarginTest, ...]

    def __iter__(self) -> Iterator[MarginTest]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, name: str | int) -> MarginTest:
        if isinstance(name, int):
            return self.results[name]
        found = {result.difference.name: result for result in self.results}
        return found[choice("name", name, tuple(found))]

    @property
    def holds(self) -> bool:
        """Whether the claim is shown of every pair; each at its alpha, which needs no correction for "every"."""
        return all(result.holds is True for result in self.results)

    def __str__(self) -> str:
        return "\n".join(str(result) for result in self.results)

    def to_dict(self) -> dict[str, Any]:
        """Return all results as a dictionary that JSON can hold."""
        return {"holds": self.holds, "results": [result.to_dict() for result in self.results]}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair; `holds` is missing where the data carry no interval."""
        rows = []
        for result in self.results:
            effect = result.difference
            row = {"name": effect.name, "value": effect.value, "low": effect.low, "high": effect.high}
            row |= {"level": effect.level, "kind": effect.kind, "question": result.question}
            row |= {"margin": result.margin, "alpha": result.alpha, "p_value": result.p_value}
            rows.append(row | {"holds": result.holds, "conclusion": result.conclusion})
        numbers = dict.fromkeys(("value", "low", "high", "p_value"), "float64")
        return pd.DataFrame(rows).astype(numbers).astype({"holds": "boolean"})

    def to_latex(self, *, digits: int = 3) -> str:
        """Return a booktabs tabular of difference, interval, margin, p and whether the claim is shown."""
        rows = []
        for result in self.results:
            effect = result.difference
            limits = "-" if effect.low is None else f"[{effect.low:.{digits}f}, {effect.high:.{digits}f}]"
            p = "-" if result.p_value is None else f"{result.p_value:.3g}"
            shown = {True: "shown", False: "not shown", None: "cannot be told"}[result.holds]
            cells = (effect.name, f"{effect.value:.{digits}f}", limits, f"{result.margin:g}", p)
            rows.append((*cells, f"{result.question}: {shown}"))
        return booktabs("lrlrrl", ("", "difference", "interval", "margin", "p", "claim"), rows)
