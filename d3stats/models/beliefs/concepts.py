"""The checks of a table of concepts, and the exact law of response counts, one response at a time."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from d3stats._check import integer

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_STATES = 2_000_000
"""How many counts of responses are summed over at most."""


def checked_table(prior: ArrayLike, likelihoods: ArrayLike) -> tuple[Floats, Floats]:
    """Return the prior, shape (concepts,), and the likelihoods, shape (concepts, responses)."""
    table = _numbers("likelihoods", likelihoods)
    if table.ndim != 2 or not table.size or not (table > 0).all():
        got = (
            f"shape {table.shape}"
            if table.ndim != 2 or not table.size
            else f"a least value of {table.min()!r}"
        )
        raise ValueError(f"likelihoods must have shape (concepts, responses) and be > 0; got {got}")
    away = np.abs(table.sum(axis=1) - 1)
    if not (away <= 1e-9).all():
        row = int(np.argmax(~(away <= 1e-9)))
        raise ValueError(
            f"likelihoods must sum to 1 in each row; got a sum of {table[row].sum():.9g} at concept {row}"
        )
    start = _numbers("prior", prior)
    if start.shape != (len(table),) or not (start >= 0).all() or not abs(start.sum() - 1) <= 1e-9:
        raise ValueError(f"prior must be {len(table)} weights that sum to 1; got {start.tolist()}")
    return start, table


def checked_counts(counts: Any, n_kinds: int) -> Ints:
    """Return counts of responses, shape (..., responses)."""
    array = _whole("counts", counts)
    if array.ndim == 0 or array.shape[-1] != n_kinds:
        raise ValueError(
            f"counts must have shape (..., {n_kinds}), one per response; got shape {array.shape}"
        )
    return array


def checked_responses(responses: Any, n_kinds: int) -> Ints:
    """Return the counts, shape (..., responses), of sequences of responses, shape (..., heard)."""
    heard = _whole("responses", responses)
    if heard.ndim == 0:
        raise ValueError(f"responses must be a sequence; got the single value {heard.item()}")
    if heard.size and heard.max() >= n_kinds:
        raise ValueError(f"responses must be below {n_kinds}; got {heard.max()}")
    rows = heard.reshape(int(np.prod(heard.shape[:-1])), heard.shape[-1])
    offset = np.arange(len(rows))[:, None] * n_kinds
    counts = np.bincount((rows + offset).ravel(), minlength=len(rows) * n_kinds)
    return counts.reshape(*heard.shape[:-1], n_kinds).astype(np.int64)


def checked_truth(truth: int, prior: Floats) -> int:
    """Return the index of the true concept, which must have a prior above 0."""
    at = integer("truth", truth, minimum=0)
    if at >= len(prior):
        raise ValueError(f"truth must be below {len(prior)}, the number of concepts; got truth={at}")
    if prior[at] <= 0:
        raise ValueError("prior of the truth must be > 0, no evidence can raise a belief of 0; got 0")
    return at


def posterior(start: Floats, table: Floats, counts: Ints) -> Floats:
    """Return the belief over concepts after counts of responses, shape (..., concepts)."""
    with np.errstate(divide="ignore"):
        belief: Floats = special.softmax(np.log(start) + counts @ np.log(table).T, axis=-1)
    return belief


def response_paths(
    start: Floats, table: Floats, truth: int, q: Floats | None, fresh: float, n: int
) -> tuple[Ints, Floats]:
    """Return every count of `n` responses and its probability.

    Responses come from `q`; without it, each is drawn under the truth with chance `fresh` and otherwise from
    the belief of that moment. That belief depends on the counts alone, so the counts are a Markov chain.
    """
    kinds = table.shape[1]
    states = comb(n + kinds - 1, kinds - 1)
    if states > MOST_STATES:
        raise ValueError(
            f"n_responses must leave at most {MOST_STATES} counts to sum over; "
            f"got n_responses={n} of {kinds} kinds, {states} counts"
        )
    counts: Ints = np.zeros((1, kinds), dtype=np.int64)
    chance: Floats = np.ones(1)
    for _ in range(n):
        if q is None:
            belief = posterior(start, table, counts)
            law = fresh * table[truth] + (1 - fresh) * (belief @ table)
        else:
            law = np.broadcast_to(q, (len(counts), kinds))
        reached = (counts[:, None, :] + np.eye(kinds, dtype=np.int64)).reshape(-1, kinds)
        # A count is one number in a base that no entry reaches.
        key = reached @ (np.int64(n + 1) ** np.arange(kinds, dtype=np.int64)) if _fits(n, kinds) else None
        if key is None:
            counts, index = np.unique(reached, axis=0, return_inverse=True)
        else:
            _, first, index = np.unique(key, return_index=True, return_inverse=True)
            counts = reached[first]
        mass = (chance[:, None] * law).ravel()
        chance = np.bincount(index.ravel(), weights=mass, minlength=len(counts)).astype(np.float64)
    return counts, chance


def _fits(n: int, kinds: int) -> bool:
    return bool(kinds * np.log2(n + 1) < 62)


def _numbers(name: str, values: ArrayLike) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a rectangular array of numbers; got {values!r}") from None


def _whole(name: str, values: Any) -> Ints:
    array = _numbers(name, values)
    bad = ~(np.isfinite(array) & (array == np.floor(array)) & (array >= 0))
    if bad.any():
        raise ValueError(f"{name} must be whole numbers >= 0; got {array[bad][0]!r}")
    return array.astype(np.int64)
