"""Every ladder of stopping thresholds, evaluated exactly under many parameter draws at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats.models.chains.panel_chain import ChainLaws
from d3stats.planning._coding import Target, one_camp
from d3stats.stopping import Either, FixedRounds, FullDepth, Ladder, Rule, Supermajority, Unanimity

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


@dataclass(frozen=True, eq=False)
class _Stops:
    """What a threshold does with a count of ones: stop, and stop with ones ahead; each of shape (n + 1,)."""

    stop: Floats
    ahead: Floats


def _stops(level: int, others: Floats) -> _Stops:
    """Return P(the largest camp reaches the level) and P(it does, and ones lead; a tie is a fair coin)."""
    k = np.arange(len(others))[:, None]
    m = np.arange(len(others))[None, :]
    reached = others * (np.maximum(k, m) >= level)
    lead = np.where(k > m, 1.0, np.where(k == m, 0.5, 0.0))
    return _Stops(reached.sum(axis=1), (reached * lead).sum(axis=1))


class _Kept:
    """P(stopping here keeps the verdict), by round, count and class."""

    def __init__(self, laws: ChainLaws, target: Target, others: Floats) -> None:
        n_rounds = laws.steps.shape[1] + 1
        self._finals: list[Floats] | None = None
        if target == "agreement":
            every = _stops(0, others)
            final = np.broadcast_to(every.ahead, laws.initial.shape)
            finals = [final]
            for t in range(n_rounds - 1, 0, -1):
                final = np.matmul(laws.steps[:, t - 1], final[..., None])[..., 0]
                finals.append(final)
            self._finals = finals[::-1]

    def mass(self, alive: Floats, t: int, stops: _Stops) -> Floats:
        """Return the mass that stops after round t + 1 with its verdict kept, shape (draws,)."""
        if self._finals is None:
            kept = alive * stops.ahead
        elif t == len(self._finals) - 1:
            # A tie at full depth is one coin, tossed once: stopping there keeps its verdict.
            kept = alive * stops.stop
        else:
            final = self._finals[t]
            kept = alive * (final * stops.ahead + (1.0 - final) * (stops.stop - stops.ahead))
        total: Floats = kept.sum(axis=(1, 2))
        return total


def _levels(n: int) -> list[int]:
    """Return the thresholds tried on a panel, falling: unanimity first, none that every count reaches."""
    every = list(range(n, (n + 1) // 2, -1))
    if len(every) <= _LEVELS:
        return every
    picked = np.unique(np.round(np.linspace(0, len(every) - 1, _LEVELS)).astype(int))
    return [every[i] for i in picked]


def evaluate_ladders(
    laws: ChainLaws, cost: ArrayLike, target: Target, others: Floats | None = None
) -> Iterator[tuple[Thresholds, Evaluated]]:
    """Walk the tree of ladders, sharing what ladders with the same beginning have in common.

    Parameters
    ----------
    laws : ChainLaws
    cost : array, shape (rounds,)
        Cost of each round.
    target : {"accuracy", "agreement"}
    others : ndarray, shape (panel + 1, panel + 1), optional
        Law of the largest other camp given the ones; by default others are one camp.

    Yields
    ------
    (thresholds, Evaluated)
        Votes needed after rounds 1, 2, ...; the last is 1, where the debate ends whatever the count.
    """
    price = np.asarray(cost, dtype=np.float64)
    draws, _, size = laws.initial.shape
    n, n_rounds = size - 1, laws.steps.shape[1] + 1
    camps = one_camp(n) if others is None else others
    kept_by = _Kept(laws, target, camps)
    changes = {round(float(x)) for x in np.linspace(0, n_rounds - 1, min(n_rounds, _CHANGES))}
    levels = [*_levels(n), 1]
    stops_at = {level: _stops(level if level > 1 else 0, camps) for level in levels}
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
            stops = stops_at[level]
            here = kept + kept_by.mass(alive, t, stops)
            path = (*so_far, level)
            if level == 1:
                yield path, Evaluated(rounds, spent, here)
                continue
            going = np.matmul((alive * (1.0 - stops.stop))[:, :, None, :], laws.steps[:, t])[:, :, 0, :]
            yield from climb(going, path, rounds, spent, here)

    yield from climb(laws.initial * laws.weight[:, :, None], (), nothing, nothing, nothing)


def evaluate_thresholds(
    laws: ChainLaws,
    thresholds: Mapping[str, Thresholds],
    cost: ArrayLike,
    target: Target,
    others: Floats | None = None,
) -> dict[str, Evaluated]:
    """Evaluate named ladders; the last threshold holds for all later rounds."""
    price = np.asarray(cost, dtype=np.float64)
    n, n_rounds = laws.initial.shape[2] - 1, laws.steps.shape[1] + 1
    camps = one_camp(n) if others is None else others
    kept_by = _Kept(laws, target, camps)
    found = {}
    for name, steps in thresholds.items():
        alive = laws.initial * laws.weight[:, :, None]
        rounds = np.zeros(len(alive))
        spent, kept = np.zeros_like(rounds), np.zeros_like(rounds)
        for t in range(n_rounds):
            mass = alive.sum(axis=(1, 2))
            rounds, spent = rounds + mass, spent + mass * price[t]
            stops = _stops(steps[min(t, len(steps) - 1)] if t < n_rounds - 1 else 0, camps)
            kept = kept + kept_by.mass(alive, t, stops)
            if t < n_rounds - 1:
                alive = np.matmul((alive * (1.0 - stops.stop))[:, :, None, :], laws.steps[:, t])[:, :, 0, :]
        found[name] = Evaluated(rounds, spent, kept)
    return found


def rule_of(thresholds: Thresholds, missing: bool = False) -> Rule:
    """Return the ladder as a rule; a debate that ends in round 1 is a fixed round.

    Where votes go missing, unanimity of the votes that were cast stops as well: a full camp is then out of
    reach, and a ladder alone would cost more than unanimity.
    """
    if thresholds == (1,):
        return FixedRounds(1)
    ladder = Ladder("-".join(map(str, thresholds)))
    return Unanimity() | ladder if missing else ladder


def thresholds_of(rule: object, panel: int) -> Thresholds | None:
    """Return a rule as thresholds when it is a ladder in other words, else None."""
    if isinstance(rule, Either) and isinstance(rule.left, Unanimity):
        # A ladder with unanimity beside it, as recommended where votes go missing.
        inner = thresholds_of(rule.right, panel)
        return None if inner is None else tuple(min(step, panel) for step in inner)
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
