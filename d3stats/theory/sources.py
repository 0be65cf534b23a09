"""The works whose claims are checked here, in the order in which a catalogue lists them."""

from __future__ import annotations

import re

__all__ = ["ADVOCATES", "D3", "DEBATE_OR_VOTE", "HERE", "STABILITY", "WORKS", "place_of", "short_name"]

D3 = "Harrasse, Bandi and Bandi (D3), arXiv 2410.04663"
ADVOCATES = "Optimal Architectures for Judging LLM Outputs Using LLMs (the advocates paper)"
STABILITY = "Hu et al. (2025), arXiv 2510.12697"
DEBATE_OR_VOTE = "Choi, Zhu and Li (2025), Debate or Vote, arXiv 2508.17536"
HERE = "d3stats"
"""For what is stated and proved in this package: a correction, a formula that a source left out."""

WORKS = (D3, ADVOCATES, STABILITY, DEBATE_OR_VOTE, HERE)

_SHORT = ("D3", "advocates", "stability", "debate or vote", "d3stats")


def place_of(work: str) -> int:
    """Return where a work stands among `WORKS`: by its text, else by its arXiv number, else after all.

    Examples
    --------
    >>> place_of(STABILITY), place_of("a later version of arXiv 2510.12697"), place_of("folklore")
    (2, 2, 5)
    """
    for place, known in enumerate(WORKS):
        number = re.search(r"\d{4}\.\d{5}", known)
        if work == known or (number is not None and number.group() in work):
            return place
    return len(WORKS)


def short_name(work: str) -> str:
    """Return a word or two for a work, for tables.

    Examples
    --------
    >>> short_name(DEBATE_OR_VOTE), short_name("Shaked and Shanthikumar (1998), theorem 2.1")
    ('debate or vote', 'Shaked and Shanthikumar (1998)')
    """
    place = place_of(work)
    return _SHORT[place] if place < len(_SHORT) else work.split(", ")[0]
