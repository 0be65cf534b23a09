"""The compiled loop of the conformity panel: one debate after another, each vote one comparison of 32 bits.

The loop is compiled because numpy would write and read ten arrays of the size of the votes for each round. Here a
debate stays in registers and only votes are written (tests/benchmarks compares it with drawing the uniforms alone).
Random bits come from xoshiro256++ (Blackman and Vigna, 2021). Importing this module loads numba; only
:mod:`d3stats.worlds.conformity` does so, when debates are drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats._compiled import compiled

HALF = np.uint64(0xFFFFFFFF)
S17, S23, S32, S41, S45, S19 = (np.uint64(s) for s in (17, 23, 32, 41, 45, 19))
ONE_BIT = np.uint64(1)


@compiled
def _step(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return 64 random bits and the generator's next state."""
    total = a + d
    bits = ((total << S23) | (total >> S41)) + a
    t = b << S17
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= t
    d = (d << S45) | (d >> S19)
    return bits, a, b, c, d


@compiled
def fill(
    states: NDArray[np.uint64],
    cut_difficulty: NDArray[np.uint64],
    cut_shared: NDArray[np.uint64],
    opening: NDArray[np.uint64],
    again: NDArray[np.uint64],
    kinds: NDArray[np.uint64],
    kind_of_seat: NDArray[np.uint64],
    n_llms: int,
    skip: int,
    block: int,
    votes: NDArray[Any],
    label: NDArray[np.int32],
) -> None:
    """Fill `votes` and `label` with whole blocks of debates, the first `skip` debates left out.

    Rows of `opening`, shape (D * Q * K,), and `again`, shape (D * Q * K * 2 (panel + 1),), are item, shared
    error, skill; their values are thresholds for 32 random bits, in `again` at place 2 * right votes + own
    vote. `kinds`, shape (2, kinds), holds the LLM and the skill of each kind of agent. `n_llms` is 0 where no
    error is shared.
    """
    n_debates, n_rounds, panel = votes.shape
    n_kinds, pairs = kinds.shape[1], panel // 2
    odd = panel % 2 == 1
    width = np.uint64(2 * (panel + 1))
    n_shared, n_skills = np.uint64(len(cut_shared)), np.uint64(kinds[1].max()) + ONE_BIT
    own = np.zeros(panel + 1, np.uint64)
    shared = np.zeros(n_llms + 2, np.uint64)
    row = np.zeros(n_kinds, np.uint64)
    words = 1 + (n_llms + 1) // 2 + n_rounds * ((panel + 1) // 2)
    at = 0
    for one in range(states.shape[0]):
        a, b, c, d = states[one, 0], states[one, 1], states[one, 2], states[one, 3]
        begin = skip if one == 0 else 0
        for _ in range(begin * words):
            bits, a, b, c, d = _step(a, b, c, d)
        for _ in range(begin, block):
            if at >= n_debates:
                return
            bits, a, b, c, d = _step(a, b, c, d)
            flip = (bits & ONE_BIT) ^ ONE_BIT
            label[at] = bits & ONE_BIT
            item = np.uint64(0)
            while (bits >> S32) >= cut_difficulty[item]:
                item += ONE_BIT
            for m in range(0, n_llms, 2):
                bits, a, b, c, d = _step(a, b, c, d)
                for h in range(2):
                    q = np.uint64(0)
                    while (bits & HALF) >= cut_shared[q]:
                        q += ONE_BIT
                    shared[m + h] = q
                    bits >>= S32
            for k in range(n_kinds):
                row[k] = (item * n_shared + shared[kinds[0, k]]) * n_skills + kinds[1, k]
            right = np.uint64(0)
            for pair in range(pairs):
                bits, a, b, c, d = _step(a, b, c, d)
                j = 2 * pair
                for _ in range(2):
                    vote = np.uint64((bits & HALF) < opening[row[kind_of_seat[j]]])
                    bits >>= S32
                    own[j] = vote
                    votes[at, 0, j] = vote ^ flip
                    right += vote
                    j += 1
            if odd:
                bits, a, b, c, d = _step(a, b, c, d)
                j = panel - 1
                vote = np.uint64((bits & HALF) < opening[row[kind_of_seat[j]]])
                own[j] = vote
                votes[at, 0, j] = vote ^ flip
                right += vote
            if n_kinds == 1:
                base = row[0] * width
                for t in range(1, n_rounds):
                    place = base + right + right
                    low, high = again[place], again[place + ONE_BIT]
                    right = np.uint64(0)
                    for pair in range(pairs):
                        bits, a, b, c, d = _step(a, b, c, d)
                        j = 2 * pair
                        first, second = bits & HALF, bits >> S32
                        vote = np.uint64(first < low) | (own[j] & np.uint64(first < high))
                        other = np.uint64(second < low) | (own[j + 1] & np.uint64(second < high))
                        own[j], own[j + 1] = vote, other
                        votes[at, t, j], votes[at, t, j + 1] = vote ^ flip, other ^ flip
                        right += vote + other
                    if odd:
                        bits, a, b, c, d = _step(a, b, c, d)
                        j = panel - 1
                        first = bits & HALF
                        vote = np.uint64(first < low) | (own[j] & np.uint64(first < high))
                        own[j] = vote
                        votes[at, t, j] = vote ^ flip
                        right += vote
            else:
                for t in range(1, n_rounds):
                    place = right + right
                    right = np.uint64(0)
                    for j in range(panel):
                        if j % 2 == 0:
                            bits, a, b, c, d = _step(a, b, c, d)
                        vote = np.uint64((bits & HALF) < again[row[kind_of_seat[j]] * width + place + own[j]])
                        bits >>= S32
                        own[j] = vote
                        votes[at, t, j] = vote ^ flip
                        right += vote
            at += 1
