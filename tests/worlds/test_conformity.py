"""The conformity panel: compiled and plain samplers agree, and the parameters do what they say."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from panel_cases import right_votes
from scipy.special import expit

from d3stats.worlds import Conformity, simulate_debates
from d3stats.worlds.conformity import chances, fill_votes, reference_conformity, shared_error, threads_for
from d3stats.worlds.draw import BLOCK, Drawn, sample

MIXED = Conformity(
    panel=5,
    difficulties=((0.6, 1.0), (0.4, -0.5)),
    skill=(0.0, 0.0, 1.0, 1.0, -1.0),
    llms=("x", "x", "x", "y", "y"),
    shared_sd=1.0,
    shared_points=4,
    stubbornness=0.3,
)
PLAIN = Conformity(panel=4)


def states(n_debates: int, seed: int = 1) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 2**64, size=(-(-n_debates // BLOCK), 4), dtype=np.uint64)


def correct(drawn: Drawn) -> NDArray[np.bool_]:
    return drawn.votes == drawn.label[:, None, None]


def pair_shares(right: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Share of debates in which two votes are both right, for all pairs of (round, seat), and each alone."""
    flat = right.reshape(len(right), -1).astype(np.float64)
    return (flat.T @ flat / len(flat))[np.triu_indices(flat.shape[1])]


@pytest.mark.parametrize("world", [PLAIN, MIXED, Conformity(panel=1), Conformity(panel=3, shared_sd=0.0)])
def test_compiled_and_plain_samplers_have_one_law(world: Conformity) -> None:
    n = 40_000
    compiled, plain = (
        draw(world, n, 3, np.random.default_rng(seed))
        for draw, seed in ((sample, 1), (reference_conformity, 2))
    )
    one, two = pair_shares(correct(compiled)), pair_shares(correct(plain))
    assert np.abs((one - two) / np.sqrt((one * (1 - one) + two * (1 - two)) / n)).max() < 4
    counts = [
        np.apply_along_axis(np.bincount, 0, correct(x).sum(axis=2), minlength=world.panel + 1)
        for x in (compiled, plain)
    ]
    assert (np.abs(counts[0] - counts[1]) < 4 * np.sqrt(counts[0] + counts[1] + 1.0)).all()


def test_the_generator_is_xoshiro256_plus_plus() -> None:
    from d3stats.worlds._conformity_kernel import _step

    # first outputs from the state (1, 2, 3, 4), as the test of Rust's rand_xoshiro has them
    expected = [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205]
    state, found = [np.uint64(k) for k in (1, 2, 3, 4)], []
    for _ in expected:
        bits, *state = map(np.uint64, _step(*state))
        found.append(int(bits))
    assert found == expected


def test_debates_far_along_a_stream_can_be_drawn() -> None:
    far = simulate_debates(PLAIN, 5, 3, 2**62, first=10**9)
    assert np.array_equal(far.votes[2:], simulate_debates(PLAIN, 3, 3, 2**62, first=10**9 + 2).votes)
    assert far.debates[0] == "1000000001"


@pytest.mark.parametrize("world", [PLAIN, MIXED])
def test_threads_and_vote_type_do_not_change_a_bit(world: Conformity) -> None:
    n = 5 * BLOCK + 17
    votes = [np.empty((n, 4, world.panel), dtype) for dtype in (np.int32, np.int32, np.int32, np.int8)]
    labels = [fill_votes(world, states(n), v, threads=k) for v, k in zip(votes, (1, 2, 5, 3), strict=True)]
    for v, label in zip(votes, labels, strict=True):
        assert np.array_equal(v, votes[0])
        assert np.array_equal(label, labels[0])


def test_a_range_of_many_blocks_is_the_same_for_every_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n, results = 70 * BLOCK, []
    for allowed in ("1", "2"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", allowed)
        results.append(simulate_debates(PLAIN, n, 2, 3, first=100).votes)
    assert np.array_equal(*results)


def test_a_worker_uses_no_more_threads_than_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    assert threads_for(1_000) == 1
    monkeypatch.delenv("NUMBA_NUM_THREADS")
    assert threads_for(1) == 1
    assert threads_for(1_000) >= 1


def test_round_one_follows_the_stated_equation_seat_by_seat() -> None:
    n = 60_000
    points, mass = shared_error(MIXED)
    theta = np.array([easiness for _, easiness in MIXED.difficulties])
    weight = np.array([share for share, _ in MIXED.difficulties])
    p = [(weight[:, None] * mass * expit(a + theta[:, None] + points)).sum() for a in MIXED.skills]
    seen = correct(sample(MIXED, n, 1, np.random.default_rng(4)))[:, 0].mean(axis=0)
    assert (np.abs(seen - p) < 4 * np.sqrt(np.array(p) * (1 - np.array(p)) / n)).all()


def test_the_shared_error_has_the_moments_of_a_normal() -> None:
    points, mass = shared_error(Conformity(shared_sd=0.7, shared_points=5))
    moments = [float((mass * (points / 0.7) ** k).sum()) for k in range(10)]
    assert moments == pytest.approx([1, 0, 1, 0, 3, 0, 15, 0, 105, 0], abs=1e-9)


def test_agents_of_one_llm_err_together_and_others_do_not() -> None:
    world = Conformity(panel=4, difficulties=((1.0, 0.0),), shared_sd=2.0, llms=("x", "x", "y", "y"))
    votes = correct(sample(world, 40_000, 1, np.random.default_rng(8)))[:, 0]
    together = {(i, j): np.corrcoef(votes[:, i], votes[:, j])[0, 1] for i, j in combinations(range(4), 2)}
    assert together[0, 1] > 0.25
    assert together[2, 3] > 0.25
    assert all(abs(together[pair]) < 4 / np.sqrt(40_000) for pair in ((0, 2), (0, 3), (1, 2), (1, 3)))


def test_full_stubbornness_freezes_the_first_votes() -> None:
    t = simulate_debates(Conformity(stubbornness=1), 2_000, 5, 1)
    assert (t.votes == t.votes[:, :1]).all()


def test_a_strong_pull_makes_the_panel_unanimous_behind_its_first_majority() -> None:
    right = right_votes(
        simulate_debates(Conformity(panel=7, stubbornness=0, conformity=500, shared_sd=0), 2_000, 2, 1)
    )
    assert np.array_equal(right[:, 1], 7 * (right[:, 0] > 3))


def test_certain_and_impossible_items_are_exactly_so() -> None:
    for easiness, n_right in ((60.0, 3), (-60.0, 0)):
        world = Conformity(panel=3, difficulties=((1.0, easiness),), shared_sd=0)
        assert (right_votes(simulate_debates(world, 3_000, 3, 1)) == n_right).all()


def test_chances_are_probabilities_that_grow_with_the_majority() -> None:
    again = chances(MIXED).again
    assert ((again >= 0) & (again <= 1)).all()
    assert (np.diff(again, axis=-2) > 0).all()
    assert np.allclose(again[..., 1] - again[..., 0], MIXED.stubbornness)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stubbornness": 1.2}, "stubbornness must lie between 0 and 1"),
        ({"shared_sd": -0.1}, "shared_sd must be >= 0"),
        ({"shared_points": 0}, "shared_points must be >= 1"),
        ({"shared_points": 40}, "shared_points must be <= 31"),
        ({"conformity": float("nan")}, "conformity must be finite"),
        ({"difficulties": ((0.5, 1.0),)}, "sum to 1"),
        ({"difficulties": ((-0.5, 1.0), (1.5, 0.0))}, "must be >= 0"),
        ({"difficulties": (0.5, 1.0)}, "must be pairs"),
        ({"difficulties": ()}, "sum to 1"),
        ({"skill": (0.0, 1.0)}, r"one per seat \(7\); got 2"),
        ({"skill": "high"}, "skill must be a number"),
        ({"llms": ("x",)}, r"one name per seat \(7\)"),
        ({"llms": "abcdefg"}, "llms must be empty or one name"),
        ({"panel": 0}, "panel must be >= 1"),
        ({"lengths": 5}, "lengths must be a Lengths or None"),
    ],
)
def test_bad_parameters_are_named(given: dict[str, object], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Conformity(**given)  # type: ignore[arg-type]
