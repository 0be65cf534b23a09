"""Does the fitted chain look like the pilot, and what could no pilot of this size tell?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.models.chains import panel_chain as chain
from d3stats.models.chains.panel_chain import ChainLaws, PanelChainFit
from d3stats.planning._coding import Target

__all__ = ["check_chain", "draw_counts", "untold"]

Floats = NDArray[np.float64]


def draw_counts(laws: ChainLaws, n_debates: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw counts of ones from every parameter draw, shape (draws, debates, rounds)."""
    draws, nodes, size = laws.initial.shape
    n_rounds = laws.steps.shape[1] + 1
    edges = np.cumsum(laws.weight, axis=1)[:, None, :]
    node = np.minimum((edges < rng.random((draws, n_debates, 1))).sum(axis=2), nodes - 1)
    row = np.arange(draws)[:, None]
    counts = np.empty((draws, n_debates, n_rounds), dtype=np.int64)
    law = laws.initial[row, node]
    for t in range(n_rounds):
        u = rng.random((draws, n_debates, 1))
        counts[:, :, t] = np.minimum((np.cumsum(law, axis=2) < u).sum(axis=2), size - 1)
        if t + 1 < n_rounds:
            law = laws.steps[row, t, node, counts[:, :, t]]
    return counts


def _statistics(counts: NDArray[np.int64], n: int) -> dict[tuple[str, int], Floats]:
    """Return what is compared, by name and round; counts of shape (..., debates, rounds)."""
    found: dict[tuple[str, int], Floats] = {}
    n_rounds = counts.shape[-1]
    for t in sorted({0, min(1, n_rounds - 1), n_rounds // 2, n_rounds - 1}):
        found["mean share", t + 1] = counts[..., t].mean(axis=-1) / n
        found["unanimous", t + 1] = ((counts[..., t] == 0) | (counts[..., t] == n)).mean(axis=-1)
        found["majority", t + 1] = (2 * counts[..., t] > n).mean(axis=-1)
    if n_rounds == 1:
        return found
    moved = (2 * counts[..., 0] > n) != (2 * counts[..., -1] > n)
    found["majority changed since round 1", n_rounds] = moved.mean(axis=-1)
    step = np.abs(np.diff(counts, axis=-1)).mean(axis=(-1, -2)) / n
    found["mean move of a round", n_rounds] = step
    return found


def check_chain(laws: ChainLaws, votes: NDArray[np.int8], rng: np.random.Generator) -> pd.DataFrame:
    """Compare the pilot with pilots of the same size drawn from the fitted chain.

    Only debates in which every seat voted in every round are compared, so that counts mean the same. `votes` may hold
    the first rounds only: those that every debate played, because debates that went on are not like all others.

    Returns
    -------
    DataFrame
        ``statistic, round, pilot, predicted, low, high, p_value``: limits hold 90 % of the replicates, and the
        p-value is the two-sided share of replicates at least as far out.
    """
    whole = votes[(votes != -1).all(axis=(1, 2))]
    columns = ["statistic", "round", "pilot", "predicted", "low", "high", "p_value"]
    if len(whole) < 2:
        return pd.DataFrame(columns=columns)
    n = whole.shape[2]
    seen = _statistics((whole == 1).sum(axis=2)[None], n)
    drawn = _statistics(draw_counts(laws, len(whole), rng)[:, :, : whole.shape[1]], n)
    rows = []
    for key, value in seen.items():
        replicate, here = drawn[key], float(value[0])
        above, below = np.mean(replicate >= here - 1e-12), np.mean(replicate <= here + 1e-12)
        low, high = np.quantile(replicate, [0.05, 0.95])
        rows.append((*key, here, float(replicate.mean()), low, high, min(1.0, 2 * min(above, below))))
    return pd.DataFrame(rows, columns=columns)


def untold(
    fit: PanelChainFit,
    checks: pd.DataFrame,
    max_loss: float,
    confidence: float,
    target: Target,
    n_questions: int,
) -> list[str]:
    """Say what the pilot cannot tell, in sentences."""
    notes = []
    blind = [name for name, se, sd in zip(chain.NAMES, fit.bse, chain.PRIOR_SD, strict=True) if se > 0.8 * sd]
    if blind:
        notes.append(
            f"the pilot says little about {', '.join(blind)}; the prior decides {'it' if len(blind) == 1 else 'them'}"
        )
    if fit.boundary:
        notes.append(f"{', '.join(fit.boundary)} ended on a bound: their errors are not to be trusted")
    off = checks[checks["p_value"] < 0.02]
    if len(off) > 0:
        worst = ", ".join(f"{s} in round {r}" for s, r in zip(off["statistic"], off["round"], strict=True))
        notes.append(f"the chain does not reproduce the pilot's {worst}: take its loss with care")
    if max_loss > 0:
        needed = int(np.ceil(np.log(1 - confidence) / np.log1p(-max_loss)))
        notes.append(
            f"without the chain, {needed} debates without a single lost verdict would be needed to show a loss "
            f"of at most {max_loss:g} with confidence {confidence:g}; the pilot has {n_questions} questions, so "
            f"the promise rests on the chain"
        )
    if target == "agreement":
        notes.append("agreement with full depth says nothing of whether debate makes verdicts better")
    if fit.design_effect > 1.05:
        notes.append(
            f"the questions differ more than the chain expects, so what the pilot says of its parameters is divided "
            f"by {fit.design_effect:.2f}"
        )
    return notes
