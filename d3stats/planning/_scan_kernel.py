"""The compiled loops of a scan: firings to bits, sums over debates, then squared residuals over questions.

Compiled because the same in numpy is some forty passes over arrays too large for a core's cache; here it is
two. Importing this module loads numba; a scan does so when it starts, and so does a search for the stops of a
rule that uses more than camps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Floats, Ints
from d3stats._compiled import compiled

__all__ = ["packed", "residual_squares", "totals"]


@compiled
def packed(fires: NDArray[np.bool_], bits: NDArray[Any]) -> NDArray[Any]:
    """Write every row of True and False as one whole number, a bit for each column.

    Parameters
    ----------
    fires : ndarray of bool, shape (debates, rounds)
    bits : ndarray of unsigned int, shape (rounds,)
        The number that each column represents.

    Returns
    -------
    ndarray of the type of `bits`, shape (debates,)
    """
    n, rounds = fires.shape
    masks = np.zeros(n, dtype=bits.dtype)
    for i in range(n):
        mask = np.uint64(0)
        for r in range(rounds):
            mask |= np.uint64(bits[r]) * np.uint64(fires[i, r])
        masks[i] = mask
    return masks


@compiled
def totals(
    stops: NDArray[Any], order: Ints, codes: NDArray[np.uint16], spent: Floats
) -> tuple[Ints, np.int64, float, Ints, NDArray[np.uint16], Floats]:
    """Look the stops up: return sums over debates, and one value per debate in the order of the questions.

    Parameters
    ----------
    stops : ndarray of int, shape (debates,)
        Rounds played, in the order of the log.
    order : ndarray of int64, shape (debates,)
        Rows of the log sorted by question; the other tables are in that order.
    codes : ndarray of uint16, shape (debates, rounds + 1)
        What a stop after so many rounds would mean.
    spent : ndarray of float, shape (debates, rounds + 1), or (0, 0) when no tokens are known

    Returns
    -------
    counts : ndarray of int64, shape (512,)
        How many debates have each code at their stop.
    rounds, tokens : number
        Rounds played and tokens spent, summed.
    played, code, paid : ndarray, shape (debates,)
        Rounds, code and tokens of each debate; no `paid` when no tokens are known.
    """
    n = order.shape[0]
    charged = spent.shape[0] > 0
    counts = np.zeros(512, dtype=np.int64)
    played = np.empty(n, dtype=np.int64)
    code = np.empty(n, dtype=np.uint16)
    paid = np.empty(n if charged else 0)
    rounds = np.int64(0)
    tokens = 0.0
    for i in range(n):
        stop = np.int64(stops[order[i]])
        played[i] = stop
        rounds += stop
        code[i] = codes[i, stop]
        counts[code[i]] += 1
        if charged:
            paid[i] = spent[i, stop]
            tokens += paid[i]
    return counts, rounds, tokens, played, code, paid


@compiled
def residual_squares(
    played: Ints,
    code: NDArray[np.uint16],
    paid: Floats,
    ends: Ints,
    factors: Floats,
    known: Floats,
    usual_rounds: Floats,
    usual_tokens: Floats,
    by_code: Floats,
    slopes: Floats,
) -> Floats:
    """Return, for every measure, the sum over questions of the squared residual of its ratio.

    Parameters
    ----------
    played, code, paid : ndarray, shape (debates,)
        From :func:`totals`.
    ends : ndarray of int64, shape (questions,)
        One past the last debate of each question.
    factors : ndarray of float, shape (questions,)
        What the squared residual of a question counts.
    known : ndarray of float, shape (debates,)
        1 where a debate's tokens are recorded.
    usual_rounds, usual_tokens : ndarray of float, shape (debates,)
        What the baseline costs.
    by_code : ndarray of float, shape (512, 5)
        Residual of a debate in each ratio of flags, by its code.
    slopes : ndarray of float, shape (4,)
        The ratios rounds, tokens, saved rounds, saved tokens.

    Returns
    -------
    ndarray, shape (9,)
        In the order of `slopes`, then of `by_code`.
    """
    squares = np.zeros(9)
    charged = paid.shape[0] > 0
    by_round, by_token, saving, sparing = slopes
    begin = 0
    # Nine plain sums, not an array of them: they stay in registers.
    for question in range(ends.shape[0]):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = s8 = 0.0
        for i in range(begin, ends[question]):
            s0 += played[i] - by_round
            s2 += usual_rounds[i] - played[i] - saving * usual_rounds[i]
            if charged:
                s1 += paid[i] - by_token * known[i]
                s3 += usual_tokens[i] - paid[i] - sparing * usual_tokens[i]
            s4 += by_code[code[i], 0]
            s5 += by_code[code[i], 1]
            s6 += by_code[code[i], 2]
            s7 += by_code[code[i], 3]
            s8 += by_code[code[i], 4]
        factor = factors[question]
        squares[0] += factor * s0 * s0
        squares[1] += factor * s1 * s1
        squares[2] += factor * s2 * s2
        squares[3] += factor * s3 * s3
        squares[4] += factor * s4 * s4
        squares[5] += factor * s5 * s5
        squares[6] += factor * s6 * s6
        squares[7] += factor * s7 * s7
        squares[8] += factor * s8 * s8
        begin = ends[question]
    return squares
