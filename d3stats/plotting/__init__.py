"""How do I draw a result? One function per figure: a documented DataFrame in, an axes out.

The ``plot`` of every result calls one of these. No function shows a window, and only :func:`save` writes a file.
"""

from d3stats.plotting import costs, fits, intervals, rounds, schematic
from d3stats.plotting.costs import *
from d3stats.plotting.fits import *
from d3stats.plotting.intervals import *
from d3stats.plotting.rounds import *
from d3stats.plotting.schematic import *
from d3stats.plotting.style import ONE_COLUMN, TWO_COLUMNS, intervals_drawn, save, use_style

__all__ = ["ONE_COLUMN", "TWO_COLUMNS", "intervals_drawn", "save", "use_style"]
__all__ += costs.__all__ + fits.__all__ + intervals.__all__ + rounds.__all__ + schematic.__all__
