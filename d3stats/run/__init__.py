"""From a list of items to a log of debates: what will a run cost, does the budget hold, and can it be resumed?

:func:`forecast` answers before anything is spent. :func:`debate` plays the debates and writes their log; the same call
resumes a run that was interrupted. The protocols of single debates are in :mod:`d3stats.protocols`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.run.forecast import forecast
    from d3stats.run.items import DebateItem, read_items
    from d3stats.run.report import RunReport
    from d3stats.run.run import debate, run_debates

__all__ = ["DebateItem", "RunReport", "debate", "forecast", "read_items", "run_debates"]

lazy(__name__)
