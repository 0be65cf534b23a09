"""What rules cost: replay them over a log, plan from a pilot, and evaluate them exactly or in simulated worlds.

From a log: :func:`replay` (intervals), :func:`scan` (a thousand rules), :func:`risk_controlled` (a promise without a
model), :func:`plan` (a rule from fifty debates), :func:`calibrate` (a world from a pilot). Without one:
:func:`evaluate` (exact, no debate drawn), :func:`sweep` (worlds x rules x seeds, resumable, on any number of
machines).

Who may live here: whatever asks what stopping would have cost or would have lost. Nothing here decides when
to stop.
"""

from d3stats.planning.calibration.calibrate import Calibration, calibrate
from d3stats.planning.describe import RoundsReport, describe_rounds
from d3stats.planning.exact import ExactResult, evaluate
from d3stats.planning.plan import Plan, plan
from d3stats.planning.replay import Replay, replay
from d3stats.planning.risk import RiskControlled, needed_debates, risk_controlled
from d3stats.planning.scan import scan
from d3stats.planning.study import Study, read_study
from d3stats.planning.sweep import Sweep, run_sweep, sweep

__all__ = [
    "Calibration",
    "ExactResult",
    "Plan",
    "Replay",
    "RiskControlled",
    "RoundsReport",
    "Study",
    "Sweep",
    "calibrate",
    "describe_rounds",
    "evaluate",
    "needed_debates",
    "plan",
    "read_study",
    "replay",
    "risk_controlled",
    "run_sweep",
    "scan",
    "sweep",
]
