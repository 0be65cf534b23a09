"""Is B better than A, do judges agree, are they biased, and what is the truth behind their verdicts?

Functions take runs, votes or tables and return an effect with its interval; a p-value, where there is a test, comes
after these. Posteriors of the same quantities are in :mod:`d3stats.models.bayes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.estimate import Estimate, estimates_frame, estimates_latex
    from d3stats.inference.bias import (
        LengthBias,
        PersonaEffect,
        PositionBias,
        SelfPreference,
        length_bias,
        persona_effect,
        position_bias,
        self_preference,
    )
    from d3stats.inference.comparison.compare import Comparison, compare
    from d3stats.inference.comparison.margins import MarginTest, MarginTests, equivalence, noninferiority
    from d3stats.inference.comparison.mcnemar import McNemar, discordant_pairs
    from d3stats.inference.comparison.multiplicity import adjust
    from d3stats.inference.comparison.paired import PairedDifference, PairTest, paired_difference
    from d3stats.inference.comparison.power import (
        Design,
        PilotPlan,
        PowerPlan,
        minimum_detectable_effect,
        plan_comparison,
        sample_size,
    )
    from d3stats.inference.comparison.strata import Strata, stratify
    from d3stats.inference.judges.abilities import Glad, glad
    from d3stats.inference.judges.agreement import (
        AgreementByLog,
        AgreementTable,
        agreement,
        agreement_by_log,
    )
    from d3stats.inference.judges.aspects import AspectCorrelations, aspect_correlations, direct_scores
    from d3stats.inference.judges.bradley_terry import Ranking, rank
    from d3stats.inference.judges.coefficients import (
        cohen_kappa,
        fleiss_kappa,
        gwet_ac,
        krippendorff_alpha,
        percent_agreement,
    )
    from d3stats.inference.judges.conditional_independence import (
        ConditionalIndependence,
        conditional_independence,
    )
    from d3stats.inference.judges.confidence import Confidence, confidence
    from d3stats.inference.judges.correct import CorrectedJudge, correct
    from d3stats.inference.judges.correction import (
        CorrectedRate,
        CorrectedShares,
        correct_counts,
        correct_rate,
        correct_shares,
    )
    from d3stats.inference.judges.correlation import Correlation, correlation, kendall, spearman
    from d3stats.inference.judges.dawid_skene import DawidSkene, dawid_skene
    from d3stats.inference.judges.effective import EffectiveJurors, effective_jurors
    from d3stats.inference.judges.jury import JuryCurve, jury_curve
    from d3stats.inference.judges.panel import Panel, panel
    from d3stats.inference.judges.prediction_powered import (
        PredictionPowered,
        prediction_powered_difference,
        prediction_powered_mean,
    )
    from d3stats.inference.judges.ranking import BordaCount, borda_count
    from d3stats.inference.reasons import (
        RationaleComparison,
        Rationales,
        compare_rationales,
        rationale_strata,
        rationale_texts,
        rationales,
    )
    from d3stats.inputs.items import ItemMismatch
    from d3stats.inputs.pairwise import Pairwise
    from d3stats.inputs.ratings import Ratings
    from d3stats.inputs.runs import PairedRuns, Run, pair
    from d3stats.models.beliefs import condorcet
    from d3stats.resampling.proportions import exact_coverage, proportion_interval, share
    from d3stats.sources.pairwise import as_pairwise
    from d3stats.sources.ratings import as_ratings
    from d3stats.sources.runs import as_run

__all__ = [
    "AgreementByLog",
    "AgreementTable",
    "AspectCorrelations",
    "BordaCount",
    "Comparison",
    "ConditionalIndependence",
    "Confidence",
    "CorrectedJudge",
    "CorrectedRate",
    "CorrectedShares",
    "Correlation",
    "DawidSkene",
    "Design",
    "EffectiveJurors",
    "Estimate",
    "Glad",
    "ItemMismatch",
    "JuryCurve",
    "LengthBias",
    "MarginTest",
    "MarginTests",
    "McNemar",
    "PairTest",
    "PairedDifference",
    "PairedRuns",
    "Pairwise",
    "Panel",
    "PersonaEffect",
    "PilotPlan",
    "PositionBias",
    "PowerPlan",
    "PredictionPowered",
    "Ranking",
    "Ratings",
    "RationaleComparison",
    "Rationales",
    "Run",
    "SelfPreference",
    "Strata",
    "adjust",
    "agreement",
    "agreement_by_log",
    "as_pairwise",
    "as_ratings",
    "as_run",
    "aspect_correlations",
    "borda_count",
    "cohen_kappa",
    "compare",
    "compare_rationales",
    "conditional_independence",
    "condorcet",
    "confidence",
    "correct",
    "correct_counts",
    "correct_rate",
    "correct_shares",
    "correlation",
    "dawid_skene",
    "direct_scores",
    "discordant_pairs",
    "effective_jurors",
    "equivalence",
    "estimates_frame",
    "estimates_latex",
    "exact_coverage",
    "fleiss_kappa",
    "glad",
    "gwet_ac",
    "jury_curve",
    "kendall",
    "krippendorff_alpha",
    "length_bias",
    "minimum_detectable_effect",
    "noninferiority",
    "pair",
    "paired_difference",
    "panel",
    "percent_agreement",
    "persona_effect",
    "plan_comparison",
    "position_bias",
    "prediction_powered_difference",
    "prediction_powered_mean",
    "proportion_interval",
    "rank",
    "rationale_strata",
    "rationale_texts",
    "rationales",
    "sample_size",
    "self_preference",
    "share",
    "spearman",
    "stratify",
]

lazy(__name__)
