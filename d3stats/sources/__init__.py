"""A source is opened here, once: a path, a frame, rows, a log in memory, arrays."""

from __future__ import annotations

from d3stats.log.column_names import Columns as Columns
from d3stats.log.files import read_toml as read_toml
from d3stats.sources.opened import LogSource as LogSource
from d3stats.sources.opened import Opened as Opened
from d3stats.sources.opened import Reading as Reading
from d3stats.sources.opened import applies as applies
from d3stats.sources.opened import as_trajectories as as_trajectories
from d3stats.sources.opened import is_cube as is_cube
from d3stats.sources.opened import log_or_array as log_or_array
from d3stats.sources.opened import open as open
from d3stats.sources.opened import open_all as open_all
from d3stats.sources.opened import readings as readings
