"""What rules cost: replay them over a log and report rounds, tokens, accuracy and flips with intervals.

Who may live here: whatever asks what stopping would have cost or would have lost. Nothing here decides when
to stop.
"""

from d3stats.planning.describe import RoundsReport, describe_rounds
from d3stats.planning.replay import Replay, replay

__all__ = ["Replay", "RoundsReport", "describe_rounds", "replay"]
