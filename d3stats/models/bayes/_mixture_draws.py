"""From a mixture's density to draws, and from draws to what is said of the law."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import choice, integer, probability
from d3stats.counts import Counts
from d3stats.models.bayes import _stack
from d3stats.models.bayes._mixture_density import MixtureDensity, starting_points
from d3stats.models.bayes.result import KIND_NAMES, drawn
from d3stats.models.mixtures.law import BetaBinomialMixture, Cells, log_pmf

Floats = NDArray[np.float64]


def posterior_points(
    density: MixtureDensity,
    draws: int,
    tune: int,
    chains: int,
    target_accept: float,
    rng: np.random.Generator,
) -> tuple[dict[str, Floats], dict[str, NDArray[Any]], float, tuple[str, ...]]:
    """Draw from a density.

    Returns
    -------
    natural, stats : dict of ndarray
        ``weight, mean, rho`` of shape (chains, draws, rounds, K), with rounds ``step`` too; what the sampler said.
    float, tuple of str
        ``target_accept`` of the draws, and notes.
    """
    chains = integer("chains", chains, minimum=1)
    compiled = density.compiled()

    def run(accept: float, generator: np.random.Generator) -> Any:
        starts = starting_points(compiled, density.size, chains, generator)
        return _stack.sample_density(
            compiled, starts, draws=draws, tune=tune, target_accept=accept, rng=generator
        )

    points, used, notes = drawn(run, target_accept=target_accept, rng=rng)
    stats = {name: _stack.draws_of(points, name, "sample_stats") for name in ("diverging", "energy", "lp")}
    return density.natural(_stack.draws_of(points, "x")), stats, used, notes


def law_of(values: Mapping[str, Floats]) -> BetaBinomialMixture:
    """Return ``weight, mean, rho`` as a batch of laws; shapes are kept."""
    weight = values["weight"]
    return BetaBinomialMixture(weight / weight.sum(axis=-1, keepdims=True), values["mean"], values["rho"])


def flat(values: Mapping[str, Floats]) -> dict[str, Floats]:
    """Put all chains in one row of draws."""
    return {name: v.reshape(-1, *v.shape[2:]) for name, v in values.items()}


def law_quantities(values: Mapping[str, Floats], panel: int) -> dict[str, Floats]:
    """Return ``accuracy, spread, majority`` and each component's ``precision``; shapes without, with components."""
    law = law_of(values)
    return {
        "accuracy": law.mean,
        "spread": law.spread,
        "majority": law.prob_majority(panel),
        "precision": law.precision,
    }


def pmf_bands(law: BetaBinomialMixture, trials: int, level: float, kind: str) -> pd.DataFrame:
    """Return ``successes, predicted, low, high, level, kind`` of a batch of laws of shape (draws, K)."""
    trials = integer("trials", trials, minimum=1)
    choice("kind", kind, _stack.KINDS)
    pmf = law.pmf(trials)
    low, high = _stack.interval(pmf, probability("level", level, open_interval=True), kind)
    return pd.DataFrame(
        {
            "successes": np.arange(trials + 1),
            "predicted": pmf.mean(axis=0),
            "low": low,
            "high": high,
            "level": level,
            "kind": KIND_NAMES[kind],
        }
    )


def log_likelihood(values: Mapping[str, Floats], counts: Counts) -> Floats:
    """Return the log pmf of one debate in each cell, shape (chains, draws, cells), for ``weight, mean, rho``."""
    cells = Cells.of(counts.successes, counts.trials)
    with np.errstate(divide="ignore"):  # a weight may underflow
        log_weight = np.log(values["weight"])
    out = np.full((*values["mean"].shape[:-1], len(counts)), -np.inf)
    for j in range(values["mean"].shape[-1]):
        component = log_pmf(values["mean"][..., j], values["rho"][..., j], cells)
        np.logaddexp(out, component + log_weight[..., j, None], out=out)
    return out
