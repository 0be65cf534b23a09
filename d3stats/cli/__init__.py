"""The command line: each command reads its arguments, calls one function of the library and prints the
result.

One file per command, and the functions that show results. No statistics: the library returns everything that
a command prints. Commands import what they need when they run, so that ``--help`` stays fast.
"""

from __future__ import annotations

from d3stats.cli.app import app

__all__ = ["app"]
