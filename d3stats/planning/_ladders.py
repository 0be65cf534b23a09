"""Every ladder of stopping thresholds, evaluated exactly under many parameter draws at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats.models.panel_chain import ChainLaws
from d3stats.planning._coding import Target
from d3stats.stopping import FixedRounds, FullDepth, Ladder, Rule, Supermajority, Unanimity

__all__ = ["Evaluated", "evaluate_ladders", "evaluate_thresholds", "rule_of", "thresholds_of"]

Floats = NDArray[np.float64]
Thresholds = tuple[int, ...]

_LEVELS = 4
_CHANGES = 12
"""At most so many thresholds, and rounds in which they may fall: some 1,800 ladders."""


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Exact expectations of one rule, one value per draw.

    Attributes
    ----------
    rounds, cost, kept : ndarray of float, shape (draws,)
        Expected rounds, expected cost, and the probability that the verdict is right (target "accuracy") or
        full depth's ("agreement").
    """

    rounds: Floats
    cost: Floats
    kept: Floats


def _rewards(laws: ChainLaws, target: Target) -> list[Floats]:
    """Return P(the verdict of a stop is kept | count, class) by round, shape (draws or 1, nodes or 1, n + 1)."""
    n = laws.initial.shape[2] - 1
    k = np.arange(n + 1)
    ones_win: Floats = np.where(2 * k > n, 1.0, np.where(2 * k == n, 0.5, 0.0))
    n_rounds = laws.steps.shape[1] + 1
    if target == "accuracy":
        return [ones_win[None, None, :]] * n_rounds
    final = np.broadcast_to(ones_win, laws.initial.shape)
    rewards = []
    for t in range(n_rounds, 0, -1):
        rewards.append(ones_win * final + (1.0 - ones_win) * (1.0 - final))
        if t > 1:
            final = np.matmul(laws.steps[:, t - 2], final[..., None])[..., 0]
    # A tie at full depth is one coin, tossed once: stopping there keeps its verdict.
    rewards[0] = np.ones_like(rewards[0])
    return rewards[::-1]


def _levels(n: int) -> list[int]:
    """Return the thresholds tried on a panel, falling: unanimity first, none that every count reaches."""
    every = list(range(n, (n + 1) // 2, -1))
    if len(every) <= _LEVELS:
        return every
    picked = np.unique(np.round(np.linspace(0, len(every) - 1, _LEVELS)).astype(int))
    return [every[i] for i in picked]


def evaluate_ladders(
    laws: ChainLaws, cost: ArrayLike, target: Target
) -> Iterator[tuple[Thresholds, Evaluated]]:
    """Walk the tree of ladders, sharing what ladders with the same beginning have in common.

    Parameters
    ----------
    laws : ChainLaws
    cost : array, shape (rounds,)
        Cost of each round.
    target : {"accuracy", "agreement"}

    Yields
    ------
    (thresholds, Evaluated)
        Votes needed after rounds 1, 2, ...; the last is 1, where the debate ends whatever the count.
    """
    price = np.asarray(cost, dtype=np.float64)
    draws, _, size = laws.initial.shape
    n, n_rounds = size - 1, laws.steps.shape[1] + 1
    k = np.arange(size)
    lead = np.maximum(k, n - k)
    rewards = _rewards(laws, target)
    changes = {round(float(x)) for x in np.linspace(0, n_rounds - 1, min(n_rounds, _CHANGES))}
    levels = [*_levels(n), 1]
    nothing = np.zeros(draws)

    def climb(
        alive: Floats, so_far: Thresholds, rounds: Floats, spent: Floats, kept: Floats
    ) -> Iterator[tuple[Thresholds, Evaluated]]:
        t = len(so_far)
        mass = alive.sum(axis=(1, 2))
        rounds, spent = rounds + mass, spent + mass * price[t]
        for level in levels:
            if so_far and (level > so_far[-1] or (level < so_far[-1] and t not in changes)):
                continue
            if t == n_rounds - 1 and level != 1:
                continue
            stops = lead >= level
            here = kept + (alive * rewards[t] * stops).sum(axis=(1, 2))
            path = (*so_far, level)
            if level == 1:
                yield path, Evaluated(rounds, spent, here)
                continue
            going = np.matmul((alive * ~stops)[:, :, None, :], laws.steps[:, t])[:, :, 0, :]
            yield from climb(going, path, rounds, spent, here)

    yield from climb(laws.initial * laws.weight[:, :, None], (), nothing, nothing, nothing)


def evaluate_thresholds(
    laws: ChainLaws, thresholds: Mapping[str, Thresholds], cost: ArrayLike, target: Target
) -> dict[str, Evaluated]:
    """Evaluate named ladders; the last threshold holds for all later rounds."""
    price = np.asarray(cost, dtype=np.float64)
    n, n_rounds = laws.initial.shape[2] - 1, laws.steps.shape[1] + 1
    k = np.arange(n + 1)
    lead = np.maximum(k, n - k)
    rewards = _rewards(laws, target)
    found = {}
    for name, steps in thresholds.items():
        alive = laws.initial * laws.weight[:, :, None]
        rounds = np.zeros(len(alive))
        spent, kept = np.zeros_like(rounds), np.zeros_like(rounds)
        for t in range(n_rounds):
            mass = alive.sum(axis=(1, 2))
            rounds, spent = rounds + mass, spent + mass * price[t]
            stops = lead >= (steps[min(t, len(steps) - 1)] if t < n_rounds - 1 else 0)
            kept = kept + (alive * rewards[t] * stops).sum(axis=(1, 2))
            if t < n_rounds - 1:
                alive = np.matmul((alive * ~stops)[:, :, None, :], laws.steps[:, t])[:, :, 0, :]
        found[name] = Evaluated(rounds, spent, kept)
    return found


def rule_of(thresholds: Thresholds) -> Rule:
    """Return the ladder as a rule; a debate that ends in round 1 is a fixed round."""
    return FixedRounds(1) if thresholds == (1,) else Ladder("-".join(map(str, thresholds)))


def thresholds_of(rule: object, panel: int) -> Thresholds | None:
    """Return a rule as thresholds when it is a ladder in other words, else None."""
    if isinstance(rule, Ladder):
        return rule.votes
    if isinstance(rule, Unanimity):
        return (panel,)
    if isinstance(rule, Supermajority) and rule.patience == 1:
        return (rule.votes_needed(panel),)
    if isinstance(rule, FixedRounds):
        return (*[panel + 1] * (rule.n - 1), 1)
    if isinstance(rule, FullDepth):
        return (panel + 1,)
    return None
