"""What the long run found: how many examples each claim has survived, kept with the package."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["FILE", "Recorded", "recorded"]

FILE = Path(__file__).with_name("record.csv")
"""Written by ``simulations/theorem_audit/run.py``."""


@dataclass(frozen=True)
class Recorded:
    """One row of the record.

    Attributes
    ----------
    claim : str
    examples : int
        Survived; fewer than were asked for where the strategy has no more.
    distinct : int
        How many of them differ.
    exhausted : bool
        Whether there are no more instances.
    least_margin : float
        In the claim's units.
    seed : int
    """

    claim: str
    examples: int
    distinct: int
    exhausted: bool
    least_margin: float
    seed: int


def recorded(claim: str) -> Recorded | None:
    """Return what is on record for a claim, or None.

    The record is of the claim as it stood when the run was made; a claim that changes must be run again.

    Examples
    --------
    >>> recorded("a claim that nobody made") is None
    True
    """
    return _rows().get(claim)


@cache
def _rows() -> dict[str, Recorded]:
    with FILE.open(encoding="utf-8", newline="") as lines:
        return {row["claim"]: _row(row) for row in csv.DictReader(lines)}


def _row(row: dict[str, str]) -> Recorded:
    return Recorded(
        claim=row["claim"],
        examples=int(row["examples"]),
        distinct=int(row["distinct"]),
        exhausted=row["exhausted"] == "True",
        least_margin=float(row["least_margin"]),
        seed=int(row["seed"]),
    )
