"""A source is opened here, once: a path, a frame, rows, a log in memory, arrays."""

from __future__ import annotations

from d3stats.sources.opened import (
    LogSource,
    Opened,
    Reading,
    applies,
    as_trajectories,
    is_cube,
    log_or_array,
    open,
    open_all,
)

__all__ = [
    "LogSource",
    "Opened",
    "Reading",
    "applies",
    "as_trajectories",
    "is_cube",
    "log_or_array",
    "open",
    "open_all",
]
