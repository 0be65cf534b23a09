"""The courtroom of D3, drawn: what the judge scores, how the jurors vote, what it costs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from d3stats._check import RngLike, integer
from d3stats.simulate._court_tokens import court_tokens
from d3stats.simulate.draw import BLOCK, Drawn, block_seed, blocks_of, sample, seed_of
from d3stats.trajectories import MISSING
from d3stats.worlds.courtroom import Courtroom

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["courtroom_items", "courtroom_tokens", "sample_courtroom"]

Floats = NDArray[np.float64]

CRITERIA = 6


class Items(NamedTuple):
    """What is given before anybody speaks; arrays of one value per debate."""

    category: NDArray[np.int64]
    quality_gap: Floats
    label: NDArray[np.int32]
    log_length_ratio: Floats
    own_family: NDArray[np.bool_]
    seed: int


@sample.register
def sample_courtroom(world: Courtroom, n_debates: int, n_rounds: int, rng: np.random.Generator) -> Drawn:
    """Draw debates of advocates before a judge and jurors.

    Raises
    ------
    ValueError
        When a world of one-round debates is asked for more rounds.

    Examples
    --------
    >>> from d3stats.simulate import simulate
    >>> from d3stats.worlds import Courtroom
    >>> debates = simulate(Courtroom(), n_debates=100, n_rounds=5, rng=1)
    >>> debates.scores.shape, float(debates.scores.min()) >= 6
    ((100, 5, 2), True)
    """
    if world.protocol == "more" and n_rounds != 1:
        raise ValueError(f"n_rounds must be 1 for protocol='more'; got n_rounds={n_rounds}")
    items = draw_items(world, n_debates, rng)
    standing, arguing, judging, voting, writing = _streams(world, items)
    bias = reading_bias(world, items.log_length_ratio, items.own_family, world.first)
    shown = items.quality_gap[:, None] * shown_share(world, np.arange(n_rounds))
    side = standing.standard_normal((n_debates, 2))
    # Of two equal answers the sign of zero says which one the item was drawn to favour.
    a_is_better = ~np.signbit(items.quality_gap)
    strength = _arguments(world, side, a_is_better, n_rounds, arguing)
    scores = _judge(world, shown + bias[:, None], strength, judging)
    seen = shown + strength[:, :, 0] - strength[:, :, 1]
    votes = _jury(world, seen, bias, standing, voting)
    seats = tuple(f"juror {j + 1}" for j in range(world.panel))
    if world.panel % 2 == 0:
        votes = np.concatenate([votes, _tie_break(votes, scores)[:, :, None]], axis=2)
        seats = (*seats, "tie-break")
    sent, written = court_tokens(world, n_rounds, items.log_length_ratio, writing)
    return Drawn(votes, items.label, ("A", "B"), sent + written, scores, ("A", "B"), seats, sent, written)


def courtroom_items(world: Courtroom, n_debates: int, rng: RngLike = None, *, first: int = 0) -> pd.DataFrame:
    """Return what the debates of :func:`~d3stats.simulate.simulate` with the same seed are about.

    Parameters
    ----------
    world : Courtroom
    n_debates, rng, first
        As given to :func:`~d3stats.simulate.simulate`.

    Returns
    -------
    DataFrame
        One row per debate: ``debate`` (its name), ``category``, ``quality_gap`` (raw points, above 0 when A
        is better), ``label``, ``log_length_ratio`` (log of the words of A over those of B), ``own_family``
        (A is of the family of the judge's LLM).

    Examples
    --------
    >>> from d3stats.worlds import Courtroom
    >>> items = courtroom_items(Courtroom(categories=[("math", 1, 3, 0)]), n_debates=2, rng=1)
    >>> items[["debate", "category"]].to_numpy().tolist()
    [['1', 'math'], ['2', 'math']]
    """
    import pandas as pd

    integer("n_debates", n_debates, minimum=1)
    integer("first", first, minimum=0)
    seed, parts = seed_of(rng), []
    for block, cut in blocks_of(first, n_debates):
        items = draw_items(world, BLOCK, np.random.default_rng(block_seed(seed, block)))
        columns = {
            "debate": np.arange(block * BLOCK + 1, (block + 1) * BLOCK + 1).astype(str),
            "category": np.array([c.name for c in world.categories], dtype=object)[items.category],
            "quality_gap": items.quality_gap,
            "label": np.array(["A", "B"], dtype=object)[items.label],
            "log_length_ratio": items.log_length_ratio,
            "own_family": items.own_family,
        }
        parts.append(pd.DataFrame(columns).iloc[cut])
    return pd.concat(parts, ignore_index=True)


def courtroom_tokens(
    world: Courtroom, n_debates: int, n_rounds: int, rng: RngLike = None, *, first: int = 0
) -> tuple[Floats, Floats]:
    """Return the tokens of the debates of :func:`~d3stats.simulate.simulate`, prompts and messages apart.

    Parameters
    ----------
    world : Courtroom
    n_debates, n_rounds, rng, first
        As given to :func:`~d3stats.simulate.simulate`, whose tokens are the sum of both.

    Returns
    -------
    input, output : ndarray of float, shape (n_debates, n_rounds)

    Examples
    --------
    >>> sent, written = courtroom_tokens(Courtroom(), n_debates=2, n_rounds=3, rng=1)
    >>> sent.shape, bool((sent > written).all())
    ((2, 3), True)
    """
    integer("n_debates", n_debates, minimum=1)
    integer("n_rounds", n_rounds, minimum=1)
    integer("first", first, minimum=0)
    seed, parts = seed_of(rng), []
    for block, cut in blocks_of(first, n_debates):
        items = draw_items(world, BLOCK, np.random.default_rng(block_seed(seed, block)))
        both = court_tokens(world, n_rounds, items.log_length_ratio, _streams(world, items)[-1])
        parts.append(np.stack(both)[:, cut])
    sent, written = np.concatenate(parts, axis=1)
    return sent, written


def _streams(world: Courtroom, items: Items) -> list[np.random.Generator]:
    # What comes back in every run of an item has one stream; each kind of call has its own, so that a world
    # that differs in one kind keeps the others.
    calls = np.random.default_rng([items.seed, 1 + world.run])
    return [np.random.default_rng([items.seed, 0]), *calls.spawn(4)]


def draw_items(world: Courtroom, n: int, rng: np.random.Generator) -> Items:
    """Draw the items of one block of debates, and the seed of everything said about them."""
    share = np.array([c.share for c in world.categories])
    category = np.searchsorted(np.cumsum(share / share.sum())[:-1], rng.random(n), side="right")
    gap = np.array([c.gap for c in world.categories])[category]
    spread = np.array([c.spread for c in world.categories])[category]
    sign = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    quality_gap = sign * np.abs(gap + spread * rng.standard_normal(n))
    preferred = quality_gap + world.label_noise * rng.standard_normal(n)
    # Equal answers have no better one: the label is the sign's.
    label = np.where(np.where(preferred == 0, sign, preferred) > 0, 0, 1).astype(np.int32)
    ratio = world.length_sd * rng.standard_normal(n)
    own_family = rng.random(n) < world.own_family
    return Items(category, quality_gap, label, ratio, own_family, int(rng.integers(2**63)))


def reading_bias(world: Courtroom, log_length_ratio: Any, own_family: Any, first: str | None) -> Any:
    """Return how far the reading is tilted toward A, in points of the total, by what is read first."""
    position = world.position_bias if first == "A" else -world.position_bias
    return position + world.verbosity_bias * log_length_ratio + world.self_preference * own_family


def shown_share(world: Courtroom, heard: Any) -> Any:
    """Return the share of the quality gap that shows after so many rounds of feedback."""
    return 1 - world.hidden * world.decay**heard


def gain(world: Courtroom, heard: Any) -> Any:
    """Return what so many rounds of feedback add to an argument, in points of the total."""
    return world.improvement * (1 - world.decay**heard) / (1 - world.decay)


def argued(world: Courtroom, scale: Any, side: Any, own: Any) -> Any:
    """Return the strength of an advocate's argument without that gain, from its two errors.

    `scale` is `upside` for the better answer and 1 for the other.
    """
    common = world.advocate_correlation
    error = math.sqrt(common) * side + math.sqrt(1 - common) * own
    return world.skill + scale * world.advocate_sd * error


def _arguments(
    world: Courtroom, side: Floats, a_is_better: NDArray[np.bool_], n_rounds: int, rng: np.random.Generator
) -> Floats:
    """Return the strength of each side's defence, shape (debates, rounds, 2), in points of the total."""
    better = np.stack([a_is_better, ~a_is_better], axis=1)[:, None, :, None]
    own = rng.standard_normal((len(a_is_better), n_rounds, 2, world.advocates))
    error_scale = np.where(better, world.upside, 1.0)
    strength = aggregate(argued(world, error_scale, side[:, None, :, None], own), world.temperature)
    total: Floats = strength + gain(world, np.arange(n_rounds))[:, None]
    return total


def aggregate(strength: Floats, temperature: float) -> Floats:
    """Turn the strengths of parallel advocates, along the last axis, into that of their joint defence.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(aggregate(np.array([.9, .85, .4]), .1)), 12)
    0.879113517523
    >>> float(aggregate(np.array([.9, .85, .4]), 0))
    0.9
    """
    top: Floats = strength.max(axis=-1)
    if temperature == 0 or strength.shape[-1] == 1:
        return top
    # Next to no temperature: a quotient that overflows has the weight 0.
    with np.errstate(over="ignore"):
        weight = np.exp((strength - top[..., None]) / temperature)
    joint: Floats = (weight * strength).sum(axis=-1) / weight.sum(axis=-1)
    return joint


def _judge(world: Courtroom, gap: Floats, strength: Floats, rng: np.random.Generator) -> Floats:
    """Return the judge's totals, shape (debates, rounds, 2): whole raw points."""
    n, n_rounds = gap.shape
    strength = strength + np.stack([gap, -gap], axis=2) / 2
    halo = rng.standard_normal((n, n_rounds, 2, 1))
    own = rng.standard_normal((n, n_rounds, 2, CRITERIA))
    totals: Floats = marks(world, strength[..., None], halo, own).sum(axis=3)
    return totals


def marks(world: Courtroom, merit: Any, halo: Any, own: Any) -> Floats:
    """Return the marks of the criteria of an answer, from its merit in points and the judge's two errors."""
    error = world.noise * (math.sqrt(world.halo) * halo + math.sqrt(1 - world.halo) * own)
    given: Floats = np.rint(world.base + merit / CRITERIA + error)
    return np.minimum(np.maximum(given, 1), world.ceiling)


def _jury(
    world: Courtroom, seen: Floats, bias: Floats, standing: np.random.Generator, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Return the jurors' votes, shape (debates, rounds, jurors): 0 for A, 1 for B."""
    n, n_rounds = seen.shape
    read = np.cumsum(seen, axis=1) / np.arange(1, n_rounds + 1) + bias[:, None]
    shared, persona = standing.standard_normal((n, 1, 1)), standing.standard_normal((n, 1, world.panel))
    error = juror_error(world, shared, persona, rng.standard_normal((n, n_rounds, world.panel)))
    return np.where(read[:, :, None] + error > 0, 0, 1).astype(np.int32)


def juror_error(world: Courtroom, shared: Any, persona: Any, noise: Any) -> Any:
    """Return how far a juror misreads the debate toward A, in points, from its three errors."""
    return world.juror_shared * shared + world.juror_persona * persona + world.juror_noise * noise


def _tie_break(votes: NDArray[np.int32], scores: Floats) -> NDArray[np.int32]:
    """Return the judge's answer where the jurors are tied, ``MISSING`` elsewhere and on equal sums."""
    tied = 2 * votes.sum(axis=2) == votes.shape[2]
    lead = np.cumsum(scores[:, :, 0] - scores[:, :, 1], axis=1)
    judge = np.where(lead > 0, 0, np.where(lead < 0, 1, MISSING))
    return np.where(tied, judge, MISSING).astype(np.int32)
