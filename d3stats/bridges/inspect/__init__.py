"""How do I read logs of Inspect (inspect_ai) as debate logs, and stop its epochs by a rule?

Needs the extra ``d3stats[inspect]``; inspect_ai is imported when a log is read or an epoch is left out, not before.
"""

from d3stats.bridges.inspect.early_stopping import InspectStopping
from d3stats.bridges.inspect.records import read_inspect_log, write_debate_log

__all__ = ["InspectStopping", "read_inspect_log", "write_debate_log"]
