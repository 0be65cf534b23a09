"""When should this debate have stopped?

A rule is an immutable value that decides live, round by round, or over a whole log, with the same stops.
:func:`from_text` reads one from text, and what a rule costs is in :mod:`d3stats.planning`.
"""

from d3stats.stopping import confidence, ks, optimal, rule, scores, sequential, tokens, votes, words
from d3stats.stopping.confidence import *
from d3stats.stopping.ks import *
from d3stats.stopping.optimal import *
from d3stats.stopping.rule import *
from d3stats.stopping.scores import *
from d3stats.stopping.sequential import *
from d3stats.stopping.text import from_text
from d3stats.stopping.tokens import *
from d3stats.stopping.votes import *
from d3stats.stopping.words import *

__all__ = ["from_text"]
__all__ += confidence.__all__
__all__ += ks.__all__
__all__ += optimal.__all__
__all__ += rule.__all__
__all__ += scores.__all__
__all__ += sequential.__all__
__all__ += tokens.__all__
__all__ += votes.__all__
__all__ += words.__all__
