"""How often does the gap between two answers grow, which answer leads, and by how much? Posteriors of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.models.gaps.beta import BetaGap, contraction_table, gap_posterior
    from d3stats.models.gaps.signed import SignedGap, StudentT, signed_gap_posterior
    from d3stats.models.gaps.wins import WinPosterior, score_wins, vote_wins, win_posterior

__all__ = [
    "BetaGap",
    "SignedGap",
    "StudentT",
    "WinPosterior",
    "contraction_table",
    "gap_posterior",
    "score_wins",
    "signed_gap_posterior",
    "vote_wins",
    "win_posterior",
]

lazy(__name__)
