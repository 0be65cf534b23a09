"""The law of one advocate's score, and what follows from it for the best of several.

Who may live here: score laws, one kind per file; integrals, orders and correlations of their maxima. What a user
asks of two answers lies one floor up, in `separation`, `orders`, `advocates` and their neighbours.
"""

from d3stats.models.scores.continuous import ContinuousLaw
from d3stats.models.scores.discrete import DiscreteLaw
from d3stats.models.scores.law import ScoreLaw
from d3stats.models.scores.maximum import MaxLaw
from d3stats.models.scores.mixture import MixtureLaw
from d3stats.models.scores.named import beta, exponential, normal, uniform, weibull
from d3stats.models.scores.read import as_law

__all__ = [
    "ContinuousLaw",
    "DiscreteLaw",
    "MaxLaw",
    "MixtureLaw",
    "ScoreLaw",
    "as_law",
    "beta",
    "exponential",
    "normal",
    "uniform",
    "weibull",
]
