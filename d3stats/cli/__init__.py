"""The command line: reads arguments, calls one function of the library, prints what it returns.

Who may live here: one file per command, and how results are shown. No statistics: what a command prints, the
library can return. Commands import what they need when they run, so that ``--help`` stays fast.
"""

from __future__ import annotations

from d3stats.cli.app import app

__all__ = ["app"]
