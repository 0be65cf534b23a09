"""Every theorem an object that is checked, refuted or corrected.

Who may live here: claims of the literature about debates, one source per file, and what checks them. A claim
computes with `models` and never with random numbers; hypothesis makes its instances and is imported only when
they are asked for. A new claim is an entry of ``CLAIMS`` in any file of this room.
"""

from d3stats.theory.catalogue import claim, claims
from d3stats.theory.claim import Assumption, Claim, Source
from d3stats.theory.search import (
    Broken,
    NotRefuted,
    Refutation,
    Survival,
    Unsound,
    find_counterexample,
    survive,
)

__all__ = [
    "Assumption",
    "Broken",
    "Claim",
    "NotRefuted",
    "Refutation",
    "Source",
    "Survival",
    "Unsound",
    "claim",
    "claims",
    "find_counterexample",
    "survive",
]
