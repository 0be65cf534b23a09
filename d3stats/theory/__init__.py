"""Every theorem an object that is checked, refuted or corrected.

Who may live here: claims of the literature about debates, one source per file, and what checks them. A claim
computes with `models` and never with random numbers; hypothesis makes its instances and is imported only when
they are asked for. A new claim is an entry of ``CLAIMS`` in any file of this room.
"""

from d3stats.theory.catalogue import claim, claims
from d3stats.theory.claim import Assumption, Claim, Source
from d3stats.theory.page import Page, page
from d3stats.theory.record import Recorded, recorded
from d3stats.theory.search import (
    Broken,
    NotRefuted,
    Refutation,
    Survival,
    Unsound,
    find_counterexample,
    survive,
)
from d3stats.theory.verify import Audit, Verdict, verify

__all__ = [
    "Assumption",
    "Audit",
    "Broken",
    "Claim",
    "NotRefuted",
    "Page",
    "Recorded",
    "Refutation",
    "Source",
    "Survival",
    "Unsound",
    "Verdict",
    "claim",
    "claims",
    "find_counterexample",
    "page",
    "recorded",
    "survive",
    "verify",
]
