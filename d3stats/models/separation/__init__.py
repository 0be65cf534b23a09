"""How well does the best of k advocates separate two answers?

Laws of scores, separation, stochastic orders, softmax weights, correlated advocates and their payoff.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.models.separation.best_of_k import Separation, phase_table, ranking_probability, separation
    from d3stats.models.separation.correlated import (
        CorrelatedMaxLaw,
        ScoreCorrelation,
        correlated_max,
        score_correlation,
    )
    from d3stats.models.separation.excess import (
        excess_wealth,
        excess_wealth_table,
        gain_of_max,
        gain_table,
        gini_mean_difference,
    )
    from d3stats.models.separation.laws import (
        ContinuousLaw,
        DiscreteLaw,
        MaxLaw,
        MixtureLaw,
        ScoreLaw,
        as_law,
        beta,
        exponential,
        normal,
        uniform,
        weibull,
    )
    from d3stats.models.separation.logged import LoggedSeparation, separation_from_scores
    from d3stats.models.separation.orders import (
        GapGrowth,
        OrderCheck,
        ceiling_limit,
        dilation_order,
        dispersive_order,
        dominates,
        excess_wealth_order,
        gain_condition,
        gap_growth_conditions,
        gini_condition,
        is_dfr,
    )
    from d3stats.models.separation.payoff import (
        AdvocatePayoff,
        advocate_payoff,
        correlated_separation,
        effective_advocates,
    )
    from d3stats.models.separation.softmax import (
        SelectedScore,
        WeightedScore,
        softmax_law,
        softmax_mean,
        softmax_selected,
        softmax_weighted,
        softmax_weights,
    )

__all__ = [
    "AdvocatePayoff",
    "ContinuousLaw",
    "CorrelatedMaxLaw",
    "DiscreteLaw",
    "GapGrowth",
    "LoggedSeparation",
    "MaxLaw",
    "MixtureLaw",
    "OrderCheck",
    "ScoreCorrelation",
    "ScoreLaw",
    "SelectedScore",
    "Separation",
    "WeightedScore",
    "advocate_payoff",
    "as_law",
    "beta",
    "ceiling_limit",
    "correlated_max",
    "correlated_separation",
    "dilation_order",
    "dispersive_order",
    "dominates",
    "effective_advocates",
    "excess_wealth",
    "excess_wealth_order",
    "excess_wealth_table",
    "exponential",
    "gain_condition",
    "gain_of_max",
    "gain_table",
    "gap_growth_conditions",
    "gini_condition",
    "gini_mean_difference",
    "is_dfr",
    "normal",
    "phase_table",
    "ranking_probability",
    "score_correlation",
    "separation",
    "separation_from_scores",
    "softmax_law",
    "softmax_mean",
    "softmax_selected",
    "softmax_weighted",
    "softmax_weights",
    "uniform",
    "weibull",
]

lazy(__name__)
