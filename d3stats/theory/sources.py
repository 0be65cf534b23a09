"""The works whose claims are checked here, in the order in which a catalogue lists them."""

from __future__ import annotations

__all__ = ["ADVOCATES", "D3", "DEBATE_OR_VOTE", "HERE", "STABILITY", "WORKS"]

D3 = "Harrasse, Bandi and Bandi (D3), arXiv 2410.04663"
ADVOCATES = "Optimal Architectures for Judging LLM Outputs Using LLMs (the advocates paper)"
STABILITY = "Hu et al. (2025), arXiv 2510.12697"
DEBATE_OR_VOTE = "Choi, Zhu and Li (2025), Debate or Vote, arXiv 2508.17536"
HERE = "d3stats"
"""For what is stated and proved in this package: a correction, a formula that a source left out."""

WORKS = (D3, ADVOCATES, STABILITY, DEBATE_OR_VOTE, HERE)
