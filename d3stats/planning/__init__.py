"""What does a stopping rule cost and lose, and which one should the next debates use?

From a log: :func:`replay` (intervals), :func:`scan` (a thousand rules), :func:`risk_controlled` (a guarantee without a
model), :func:`plan` (a rule from fifty debates), :func:`abstain` (which verdicts to withhold), :func:`calibrate` (a
world from a pilot). For one campaign: :class:`Ledger` (a guarantee without a model). Without a log: :func:`evaluate`
(exact, no debate drawn), :func:`simulate` (worlds x rules x seeds, resumable, on any number of machines).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.planning.abstain import Abstention, abstain
    from d3stats.planning.calibration.calibrate import Calibration, calibrate
    from d3stats.planning.campaigns import LedgerReplay
    from d3stats.planning.conformal import ConformalRisk, conformal_risk_control
    from d3stats.planning.describe import RoundsReport, fit
    from d3stats.planning.escalation import Escalation, escalate, join_protocols
    from d3stats.planning.exact import ExactResult, evaluate
    from d3stats.planning.label_value import LabelValue, label_value
    from d3stats.planning.ledger import Campaign, Certificate, Ledger, audit_shares, net_design, over_budget
    from d3stats.planning.pilot_sizes import PilotSizes, pilot_sizes
    from d3stats.planning.plan import Plan, plan
    from d3stats.planning.replay import Replay, replay
    from d3stats.planning.risk import RiskControlled, needed_debates, risk_controlled
    from d3stats.planning.scan import scan
    from d3stats.planning.score_gaps import score_gaps
    from d3stats.planning.scores import ScoreReport, scores
    from d3stats.planning.simulate import Simulation, simulate
    from d3stats.planning.study import Study, read_study

__all__ = [
    "Abstention",
    "Calibration",
    "Campaign",
    "Certificate",
    "ConformalRisk",
    "Escalation",
    "ExactResult",
    "LabelValue",
    "Ledger",
    "LedgerReplay",
    "PilotSizes",
    "Plan",
    "Replay",
    "RiskControlled",
    "RoundsReport",
    "ScoreReport",
    "Simulation",
    "Study",
    "abstain",
    "audit_shares",
    "calibrate",
    "conformal_risk_control",
    "escalate",
    "evaluate",
    "fit",
    "join_protocols",
    "label_value",
    "needed_debates",
    "net_design",
    "over_budget",
    "pilot_sizes",
    "plan",
    "read_study",
    "replay",
    "risk_controlled",
    "scan",
    "score_gaps",
    "scores",
    "simulate",
]

lazy(__name__)
