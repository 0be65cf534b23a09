"""Are my judges biased by position, by length, towards their own family, or by persona?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.inference.bias.audit import Audit, Audits, audits_frame, each_judge
    from d3stats.inference.bias.bias import bias
    from d3stats.inference.bias.length import LengthBias, length_bias
    from d3stats.inference.bias.persona import (
        Heterogeneity,
        PersonaEffect,
        SubsetAccuracy,
        persona_effect,
        subset_accuracy,
    )
    from d3stats.inference.bias.position import PositionBias, position_bias, position_frame, position_table
    from d3stats.inference.bias.self_preference import SelfPreference, self_preference
    from d3stats.inputs.verdicts import Judgments
    from d3stats.sources.verdicts import as_judgments

__all__ = [
    "Audit",
    "Audits",
    "Heterogeneity",
    "Judgments",
    "LengthBias",
    "PersonaEffect",
    "PositionBias",
    "SelfPreference",
    "SubsetAccuracy",
    "as_judgments",
    "audits_frame",
    "bias",
    "each_judge",
    "length_bias",
    "persona_effect",
    "position_bias",
    "position_frame",
    "position_table",
    "self_preference",
    "subset_accuracy",
]

lazy(__name__)
