"""A seed is an endless stream of debates, however it is cut."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from layers import covering
from panel_cases import PANEL_WORLDS

from d3stats.worlds import BLOCK, Lengths, PanelWorld, Voter, World, count_process, simulate_debates
from d3stats.worlds.draw import sample

N_DEBATES = 2 * BLOCK + 100


@covering(
    cuts=[(1,), (BLOCK,), (700, BLOCK + 1, 2 * BLOCK)],
    world=PANEL_WORLDS.values(),
)
def test_chunks_of_any_size_are_the_same_debates_bit_for_bit(
    world: PanelWorld, cuts: tuple[int, ...]
) -> None:
    whole = simulate_debates(world, N_DEBATES, 3, 11)
    ends = (0, *cuts, N_DEBATES)
    parts = [simulate_debates(world, b - a, 3, 11, first=a) for a, b in pairwise(ends)]
    for name in ("votes", "label", "tokens"):
        assert np.array_equal(np.concatenate([getattr(p, name) for p in parts]), getattr(whole, name))
    assert sum((p.debates for p in parts), ()) == whole.debates


@pytest.mark.parametrize("world", PANEL_WORLDS.values(), ids=PANEL_WORLDS)
def test_another_seed_gives_other_debates(world: PanelWorld) -> None:
    first, second, again = (simulate_debates(world, 200, 3, seed).votes for seed in (1, 2, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("world", PANEL_WORLDS.values(), ids=PANEL_WORLDS)
def test_every_answer_is_right_equally_often(world: PanelWorld) -> None:
    t = simulate_debates(world, 8_000, 1, 3)
    share = np.bincount(t.label, minlength=len(t.answers)) / t.n_debates
    even = 1 / len(t.answers)
    assert np.abs(share - even).max() < 4 * np.sqrt(even * (1 - even) / t.n_debates)
    assert t.votes.dtype == t.label.dtype == np.int32


def test_a_generator_is_a_seed_too() -> None:
    one, two = (simulate_debates(Voter(), 50, 2, np.random.default_rng(5)).votes for _ in range(2))
    assert np.array_equal(one, two)


def test_token_noise_does_not_move_the_votes() -> None:
    plain, noisy = (simulate_debates(Voter(lengths=Lengths(spread=s)), 300, 4, 9) for s in (0.0, 0.5))
    assert np.array_equal(plain.votes, noisy.votes)
    assert plain.tokens is not None
    assert noisy.tokens is not None
    assert len(np.unique(plain.tokens[:, 1])) == 1
    assert len(np.unique(noisy.tokens[:, 1])) == 300


def test_a_world_without_lengths_records_no_tokens() -> None:
    assert simulate_debates(Voter(lengths=None), 5, 2, 1).tokens is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 3), "n_debates must be >= 1"),
        ((3, 0), "n_rounds must be >= 1"),
        ((2.5, 3), "n_debates must be an integer"),
    ],
)
def test_sizes_are_checked(arguments: tuple[int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate_debates(Voter(), *arguments, 1)


def test_a_world_nobody_taught_to_draw_says_so_in_one_line() -> None:
    for draw in (
        lambda: sample(World(), 3, 3, np.random.default_rng(1)),
        lambda: simulate_debates(World(), 3, 3, 1),
    ):
        with pytest.raises(TypeError, match="world must be one that can be sampled; got World"):
            draw()
    with pytest.raises(TypeError, match="count that is Markov"):
        count_process(World(), 3)
