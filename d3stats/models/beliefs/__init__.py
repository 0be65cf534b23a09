"""How do beliefs move when agents hear each other, and does a debate move the share of right votes?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.models.beliefs.condorcet import condorcet, count_pmf, majority_accuracy
    from d3stats.models.beliefs.latent import Amplification, amplifies, belief_after, belief_from_counts
    from d3stats.models.beliefs.martingale import MartingaleTest, martingale_test

__all__ = [
    "Amplification",
    "MartingaleTest",
    "amplifies",
    "belief_after",
    "belief_from_counts",
    "condorcet",
    "count_pmf",
    "majority_accuracy",
    "martingale_test",
]

lazy(__name__)
