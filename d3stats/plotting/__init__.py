"""One function per figure: a documented DataFrame in, an axes out.

Who may live here: drawings and the style sheet. A drawing knows matplotlib and its frame's columns, never the
model that made the frame, so that every result's ``.plot`` can call down to it. Nothing here shows a window
or writes a file, :func:`save` excepted.
"""

from d3stats.plotting import costs, fits, intervals, rounds
from d3stats.plotting.costs import *
from d3stats.plotting.fits import *
from d3stats.plotting.intervals import *
from d3stats.plotting.rounds import *
from d3stats.plotting.style import ONE_COLUMN, TWO_COLUMNS, save, use_style

__all__ = ["ONE_COLUMN", "TWO_COLUMNS", "save", "use_style"]
__all__ += costs.__all__ + fits.__all__ + intervals.__all__ + rounds.__all__
