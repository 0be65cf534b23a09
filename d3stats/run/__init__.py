"""From a list of items to a log of debates: what will it cost, does the budget hold, and what if it is killed?

Who may live here: what is debated, the forecast, the budget, the journal and the run of many debates. How one debate
is played is in ``d3stats.protocols``.
"""

from d3stats.run.forecast import forecast
from d3stats.run.items import DebateItem, read_items
from d3stats.run.report import RunReport
from d3stats.run.run import debate, run_debates

__all__ = ["DebateItem", "RunReport", "debate", "forecast", "read_items", "run_debates"]
