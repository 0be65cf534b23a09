"""Which theorems about debates are true? Each is an object that can be checked, refuted by search, or corrected.

`claims` lists them, `page` shows one, `find_counterexample` refutes a false one, `survive` tries a true one on many
examples, and `verify` does so for all. Hypothesis makes the instances that claims are tried on; it is imported when
they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.theory.check import (
        Audit,
        Broken,
        NotRefuted,
        Recorded,
        Refutation,
        Survival,
        Unsound,
        Verdict,
        find_counterexample,
        recorded,
        survive,
        verify,
    )
    from d3stats.theory.claim import Assumption, Claim, Source, claim, claims
    from d3stats.theory.show import Contents, Page, contents, page

__all__ = [
    "Assumption",
    "Audit",
    "Broken",
    "Claim",
    "Contents",
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
    "contents",
    "find_counterexample",
    "page",
    "recorded",
    "survive",
    "verify",
]

lazy(__name__)
