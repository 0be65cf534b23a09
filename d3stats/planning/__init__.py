"""What rules cost: replay them over a log and report rounds, tokens, accuracy and flips with intervals.

Who may live here: whatever asks what stopping would have cost or would have lost. Nothing here decides when
to stop.
"""

from d3stats.planning.describe import RoundsReport, describe_rounds
from d3stats.planning.exact import ExactResult, evaluate
from d3stats.planning.replay import Replay, replay
from d3stats.planning.risk import RiskControlled, needed_debates, risk_controlled
from d3stats.planning.scan import scan
from d3stats.planning.study import Study, read_study
from d3stats.planning.sweep import Sweep, run_sweep, sweep

__all__ = [
    "ExactResult",
    "Replay",
    "RiskControlled",
    "RoundsReport",
    "Study",
    "Sweep",
    "describe_rounds",
    "evaluate",
    "needed_debates",
    "read_study",
    "replay",
    "risk_controlled",
    "run_sweep",
    "scan",
    "sweep",
]
