"""Do the judges agree, how right is a jury, and what is the truth behind a judge's verdicts?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.inference.judges.abilities import Glad, glad
    from d3stats.inference.judges.agreement import (
        MEASURES,
        AgreementByLog,
        AgreementTable,
        agreement,
        agreement_by_log,
    )
    from d3stats.inference.judges.bradley_terry import Ranking, rank
    from d3stats.inference.judges.coefficients import (
        cohen_kappa,
        fleiss_cohen_everitt,
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
    from d3stats.inference.judges.correction import (
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
    from d3stats.inputs.ratings import Ratings
    from d3stats.sources.ratings import as_ratings

__all__ = [
    "MEASURES",
    "AgreementByLog",
    "AgreementTable",
    "ConditionalIndependence",
    "Confidence",
    "CorrectedShares",
    "Correlation",
    "DawidSkene",
    "EffectiveJurors",
    "Glad",
    "JuryCurve",
    "Panel",
    "PredictionPowered",
    "Ranking",
    "Ratings",
    "agreement",
    "agreement_by_log",
    "as_ratings",
    "cohen_kappa",
    "conditional_independence",
    "confidence",
    "correct_counts",
    "correct_rate",
    "correct_shares",
    "correlation",
    "dawid_skene",
    "effective_jurors",
    "fleiss_cohen_everitt",
    "fleiss_kappa",
    "glad",
    "gwet_ac",
    "jury_curve",
    "kendall",
    "krippendorff_alpha",
    "panel",
    "percent_agreement",
    "prediction_powered_difference",
    "prediction_powered_mean",
    "rank",
    "spearman",
]

lazy(__name__)
