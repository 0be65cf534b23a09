"""What one worker does: draw a chunk of debates, stop them by every rule, keep whole-number sums.

The sums of two chunks add to the sums of both, exactly: everything is a whole number (a debate's tokens are
rounded to whole tokens), so neither the cut nor the order of addition can change a bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from operator import add, mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats.planning._measures import outcomes, spent_by_round, tokens_by_round
from d3stats.stopping import FullDepth, Rule, StoppingRule, Stops, Unanimity
from d3stats.trajectories import Missing, Trajectories
from d3stats.worlds import World

__all__ = [
    "COLUMNS",
    "PAIRS",
    "PIECE",
    "RATIOS",
    "Cell",
    "Chunk",
    "Sums",
    "added",
    "cuts",
    "play_chunk",
    "sums_of_rules",
    "whole_batches",
]

COLUMNS = (
    "debates",
    "rounds",
    "tied",
    "scored",
    "correct",
    "compared",
    "agrees",
    "judged",
    "gained",
    "lost",
    "charged",
    "tokens",
    "tokens_in",
    "tokens_out",
    "unanimity_rounds",
    "unanimity_tokens",
    "full_rounds",
    "full_tokens",
    "both_scored",
    "net_correct",
)
"""What is summed, one value per debate; a flag is 0 or 1, ``net_correct`` also -1."""

RATIOS = {
    "rounds": ("rounds", "debates"),
    "accuracy": ("correct", "scored"),
    "agreement": ("agrees", "compared"),
    "gained": ("gained", "judged"),
    "lost": ("lost", "judged"),
    "tied": ("tied", "debates"),
    "tokens": ("tokens", "charged"),
    "tokens_in": ("tokens_in", "charged"),
    "tokens_out": ("tokens_out", "charged"),
    "rounds_of_unanimity": ("rounds", "unanimity_rounds"),
    "rounds_of_full": ("rounds", "full_rounds"),
    "tokens_of_unanimity": ("tokens", "unanimity_tokens"),
    "tokens_of_full": ("tokens", "full_tokens"),
    "accuracy_minus_unanimity": ("net_correct", "both_scored"),
}
"""Every measure is the sum of one column over the sum of another."""

PAIRS = tuple(
    dict.fromkeys(
        [
            *(
                pair
                for above, below in RATIOS.values()
                for pair in ((above, above), (above, below), (below, below))
            ),
            # Dollars are a sum of both kinds.
            ("tokens_in", "tokens_out"),
        ]
    )
)
"""The products whose sums the standard errors need."""

PIECE = 8192
"""Debates that a worker holds at a time."""

EXACT = 2**53
"""Below this every sum of whole numbers is exact in float64, in any order."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Sums:
    """The sums of one rule over some debates; ``a + b`` is the sum over both.

    Attributes
    ----------
    units : int
        Independent units: debates, or batches for a rule that decides for a batch.
    totals : tuple of int
        Sum of each of ``COLUMNS``.
    products : tuple of int
        Sum over units of the product of each of ``PAIRS``.
    stops : tuple of int
        Debates by round played, 0 to the last, and for each round six kinds: wrong, right, unscored, then
        the same three with a tie.
    """

    units: int
    totals: tuple[int, ...]
    products: tuple[int, ...]
    stops: tuple[int, ...]

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.units + other.units,
            tuple(map(add, self.totals, other.totals)),
            tuple(map(add, self.products, other.products)),
            tuple(map(add, self.stops, other.stops)),
        )


@dataclass(frozen=True)
class Chunk:
    """What a chunk came to: the debates ``first`` to ``first + n_debates - 1`` of one world and seed.

    Attributes
    ----------
    world, seed : int
        Which cell, by the position of the world and by the seed in the study.
    sums : tuple of Sums
        One per rule.
    """

    world: int
    seed: int
    first: int
    n_debates: int
    sums: tuple[Sums, ...]


@dataclass(frozen=True)
class Cell:
    """What all chunks of one world and seed share.

    Attributes
    ----------
    name : str
        Of the world, for messages.
    at : tuple of int
        Position of the world, and the seed, in the study.
    stream : int
        The seed that the simulator gets.
    """

    name: str
    world: World
    at: tuple[int, int]
    stream: int
    rules: tuple[StoppingRule, ...]
    n_rounds: int
    missing: Missing
    batch: int | None


def play_chunk(cell: Cell, first: int, n_debates: int) -> Chunk:
    """Draw the debates, stop them by every rule and sum up, a piece at a time, so that memory stays small."""
    from d3stats.simulate import simulate

    total: tuple[Sums, ...] | None = None
    try:
        for start, end in cuts(first, first + n_debates, whole_batches(PIECE, cell.batch)):
            drawn = simulate(cell.world, end - start, cell.n_rounds, rng=cell.stream, first=start)
            sums = sums_of_rules(drawn, cell.rules, cell.missing, cell.batch)
            total = sums if total is None else added(total, sums)
    except (TypeError, ValueError) as error:
        raise ValueError(f"world {cell.name!r}: {error}") from error
    assert total is not None, "a chunk holds at least one debate"
    return Chunk(*cell.at, first, n_debates, total)


def added(a: tuple[Sums, ...], b: tuple[Sums, ...]) -> tuple[Sums, ...]:
    """Add rule by rule."""
    return tuple(map(add, a, b))


def whole_batches(size: int, batch: int | None) -> int:
    """Return `size`, rounded up to whole batches."""
    return size if batch is None else -(-size // batch) * batch


def cuts(first: int, end: int, step: int) -> Iterator[tuple[int, int]]:
    """Cut a range at the multiples of `step`, where the blocks and batches of the stream begin too."""
    while first < end:
        stop = min((first // step + 1) * step, end)
        yield first, stop
        first = stop


def sums_of_rules(
    trajectories: Trajectories, rules: Sequence[StoppingRule], missing: Missing, batch: int | None
) -> tuple[Sums, ...]:
    """Stop the debates by every rule and sum up; `rules` holds unanimity and full depth."""
    spent = tokens_by_round(trajectories)
    kinds = {
        name: None if found is None else spent_by_round(trajectories, found)
        for name, found in (("tokens_in", trajectories.tokens_in), ("tokens_out", trajectories.tokens_out))
    }

    def until(spent: NDArray[Any] | None, stops: Stops) -> NDArray[Any]:
        if spent is None:
            return np.zeros(len(stops))
        rounded: NDArray[Any] = np.rint(np.nan_to_num(spent[np.arange(len(stops)), stops.rounds]))
        return rounded

    def columns_of(rule: StoppingRule, stops: Stops) -> dict[str, NDArray[Any]]:
        seen = outcomes(trajectories, stops, missing, None)
        return {
            "rounds": stops.rounds,
            "tied": seen.tied,
            "scored": seen.scored,
            "correct": seen.correct & seen.scored,
            "compared": seen.compared,
            "agrees": seen.agrees,
            "judged": seen.judged,
            "gained": seen.gained,
            "lost": seen.lost,
            "tokens": until(spent, stops),
            **{name: until(of_kind, stops) for name, of_kind in kinds.items()},
        }

    n = trajectories.n_debates
    common: dict[str, NDArray[Any]] = {
        "debates": np.ones(n),
        "charged": np.zeros(n, dtype=bool) if spent is None else np.asarray(~np.isnan(spent).any(axis=1)),
    }
    unanimity = next(rule for rule in rules if isinstance(rule, Unanimity))
    full = next(rule for rule in rules if isinstance(rule, FullDepth))
    base = columns_of(unanimity, unanimity.stop_rounds(trajectories))
    deep = columns_of(full, full.stop_rounds(trajectories))
    for name in ("rounds", "tokens"):
        common[f"unanimity_{name}"], common[f"full_{name}"] = base[name], deep[name]
    result = []
    for rule in rules:
        if rule is unanimity or rule is full:
            mine = base if rule is unanimity else deep
        else:
            try:
                mine = columns_of(rule, _stops(rule, trajectories, batch))
            except (TypeError, ValueError) as error:
                raise ValueError(f"rule {rule}: {error}") from error
        both = mine["scored"] & base["scored"]
        net = (mine["correct"].astype(np.int8) - base["correct"]) * both
        table = {**common, **mine, "both_scored": both, "net_correct": net}
        kind = np.where(table["scored"], table["correct"], 2) + 3 * table["tied"]
        stops = np.bincount(table["rounds"] * 6 + kind, minlength=6 * (trajectories.n_rounds + 1))
        units = np.stack([np.asarray(table[name], dtype=np.float64) for name in COLUMNS])
        if not isinstance(rule, Rule):
            assert batch is not None, "the study asks for a batch"
            units = np.add.reduceat(units, np.arange(0, n, batch), axis=1)
        result.append(_summed(units, stops))
    return tuple(result)


def _stops(rule: StoppingRule, trajectories: Trajectories, batch: int | None) -> Stops:
    if isinstance(rule, Rule) or batch is None or trajectories.n_debates <= batch:
        return rule.stop_rounds(trajectories)
    parts = [
        rule.stop_rounds(trajectories.select(np.arange(at, min(at + batch, trajectories.n_debates))))
        for at in range(0, trajectories.n_debates, batch)
    ]
    return Stops(
        np.concatenate([part.rounds for part in parts]), np.concatenate([part.reasons for part in parts])
    )


def _summed(units: Matrix, stops: NDArray[np.int64]) -> Sums:
    largest = np.abs(units).max(axis=1)
    at = {name: i for i, name in enumerate(COLUMNS)}
    products = (_dot(units[at[a]], units[at[b]], float(largest[at[a]] * largest[at[b]])) for a, b in PAIRS)
    ones = np.ones(units.shape[1])
    totals = (_dot(column, ones, float(top)) for column, top in zip(units, largest, strict=True))
    return Sums(units.shape[1], tuple(totals), tuple(products), tuple(stops.tolist()))


def _dot(a: Matrix, b: Matrix, largest: float) -> int:
    """Sum of products of whole numbers, exactly."""
    if largest * len(a) < EXACT:
        return int(a @ b)
    if largest >= EXACT:
        return sum(starmap(mul, zip(map(int, a.tolist()), map(int, b.tolist()), strict=True)))
    half = len(a) // 2
    return _dot(a[:half], b[:half], largest) + _dot(a[half:], b[half:], largest)
