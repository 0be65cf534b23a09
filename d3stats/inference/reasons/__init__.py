"""Do rationales cite the debate, how alike are they, and which reasons go with dissent?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.inference.reasons.dissent import REASONS
    from d3stats.inference.reasons.evidence import ARGUMENT
    from d3stats.inference.reasons.rationales import (
        RationaleComparison,
        Rationales,
        compare_rationales,
        rationale_strata,
        rationales,
    )
    from d3stats.sources.texts import rationale_texts

__all__ = [
    "ARGUMENT",
    "REASONS",
    "RationaleComparison",
    "Rationales",
    "compare_rationales",
    "rationale_strata",
    "rationale_texts",
    "rationales",
]

lazy(__name__)
