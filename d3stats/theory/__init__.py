"""Every theorem an object that is checked, refuted or corrected.

Who may live here: claims of the literature about debates, one source per file, and what checks them. A claim
computes with `models` and never with random numbers; hypothesis makes its instances and is imported only when
they are asked for.
"""

from d3stats.theory.claim import Assumption, Claim, Source

__all__ = ["Assumption", "Claim", "Source"]
