"""A courtroom in which the rule of D3 shows the figures that D3 reports: simulated moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq, least_squares

from d3stats import Trajectories
from d3stats.planning.costs import bill
from d3stats.stopping import FullDepth, StoppingRule, from_text
from d3stats.worlds import Courtroom, simulate_debates

__all__ = ["MOMENTS", "Config", "Floats", "calibrate", "columns_of", "moments", "pay_with"]

Config = Mapping[str, Any]
Floats = NDArray[np.float64]
MOMENTS = ("stopped_by_round_2", "rounds", "saved_tokens_vs_full", "accuracy", "changed_at_full_depth")


def columns_of(log: Trajectories, rule: StoppingRule) -> dict[str, Floats]:
    """Return what each debate adds to the sums: rounds, tokens, right, and so on; one value per debate."""
    row, at = np.arange(len(log)), rule.stop_rounds(log).rounds - 1
    tokens = bill(log, rule)
    assert tokens is not None
    verdict, final = log.verdicts()[row, at], log.verdicts()[:, -1]
    return {
        "stopped_by_round_2": (at < 2).astype(float),
        "rounds": at + 1.0,
        "tokens": tokens[row, at + 1],
        "accuracy": (verdict == log.label).astype(float),
        "changed_at_full_depth": (verdict != final).astype(float),
    }


def moments(world: Courtroom, config: Config, seed: int, debates: int) -> Floats:
    """Return the five figures of the headline in a world."""
    log = simulate_debates(world, debates, config["rounds"], seed)
    sums = columns_of(log, from_text(config["rule"]))
    mean = {name: float(values.mean()) for name, values in sums.items()}
    mean["saved_tokens_vs_full"] = 1 - mean["tokens"] / float(columns_of(log, FullDepth())["tokens"].mean())
    return np.array([mean[name] for name in MOMENTS])


def calibrate(config: Config) -> tuple[Courtroom, pd.DataFrame]:
    """Move one parameter per target until the simulated figures are D3's, and say how near they came.

    The same seed throughout keeps the simulated figures smooth in the parameters; the last column of the
    figures comes from another seed.
    """
    start = Courtroom(**config["world"])
    limits = config["calibrate"]["limits"]
    names, (low, high) = tuple(limits), np.array(list(limits.values())).T
    target = np.array([config["targets"][name] for name in MOMENTS])
    # A round's spread is about 1; a share's and a saving's that of a coin.
    spread = np.where(np.array(MOMENTS) == "rounds", 1.0, np.sqrt(np.abs(target * (1 - target))))
    error = spread / np.sqrt(config["targets"]["evaluations"])
    seed, debates = config["seed"], config["calibrate"]["debates"]

    def world_at(x: Floats) -> Courtroom:
        return replace(start, **dict(zip(names, map(float, x), strict=True)))

    def misfit(x: Floats) -> Floats:
        return (moments(world_at(x), config, seed, debates) - target) / error

    first = np.array([getattr(start, name) for name in names])
    found = least_squares(
        misfit,
        first,
        bounds=(low, high),
        x_scale=np.maximum(first / 5, 0.1),
        diff_step=0.08,
        max_nfev=config["calibrate"]["evaluations"],
    )
    world = world_at(found.x.round(4))
    fresh = moments(world, config, seed + 1, 2 * debates)
    before = moments(start, config, seed + 1, 2 * debates)
    table = pd.DataFrame({"name": MOMENTS, "D3": target, "default": before, "calibrated": fresh})
    moved = pd.DataFrame({"name": names, "default": first, "calibrated": found.x.round(4)})
    return world, pd.concat([table.assign(what="figure"), moved.assign(what="parameter")], ignore_index=True)


def pay_with(world: Courtroom, length: str, limits: Sequence[float], config: Config) -> Courtroom:
    """Move one length, in words, until the saving of tokens against full depth is the headline's."""
    seed, debates, at = (
        config["seed"],
        config["calibrate"]["debates"] // 4,
        MOMENTS.index("saved_tokens_vs_full"),
    )

    def excess(words: float) -> float:
        saved = moments(replace(world, **{length: words}), config, seed, debates)[at]
        return float(saved - config["targets"]["saved_tokens_vs_full"])

    return replace(world, **{length: float(brentq(excess, *limits, xtol=1.0))})
