"""How do I read logs of Inspect (inspect_ai) as debate logs, and stop its epochs by a rule?

Logs are read without Inspect; a rule for its epochs needs the extra ``d3stats[inspect]``, imported when it is asked.
"""

from d3stats.bridges.inspect.early_stopping import InspectStopping
from d3stats.log.importers.inspect_logs import read_inspect_log, write_debate_log

__all__ = ["InspectStopping", "read_inspect_log", "write_debate_log"]
