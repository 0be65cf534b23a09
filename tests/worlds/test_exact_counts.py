"""Where the count is Markov within a class, the exact law and the simulator agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from panel_cases import MARKOV_WORLDS, right_votes, worst_z
from scipy.special import betaln, binom, expit

from d3stats.worlds import (
    Conformity,
    DirichletCompound,
    LatentConcept,
    MixturePanel,
    PanelWorld,
    Voter,
    count_process,
    simulate_debates,
)
from d3stats.worlds.conformity import shared_error
from d3stats.worlds.mixture_panel import beta_rule

N_DEBATES, N_ROUNDS = 30_000, 5


@pytest.mark.slow
@pytest.mark.parametrize("world", MARKOV_WORLDS.values(), ids=MARKOV_WORLDS)
def test_simulated_counts_follow_the_exact_law_in_every_round(world: PanelWorld) -> None:
    process = count_process(world, N_ROUNDS)
    half = process.n_classes // 2
    exact = 2 * (process.weights[:half, None] * process.by_class()[:, :half]).sum(axis=1)
    right = right_votes(simulate_debates(world, N_DEBATES, N_ROUNDS, 5))
    for t in range(N_ROUNDS):
        assert worst_z(np.bincount(right[:, t], minlength=world.panel + 1), exact[t]) < 4


@pytest.mark.parametrize("world", MARKOV_WORLDS.values(), ids=MARKOV_WORLDS)
def test_simulated_paths_follow_the_exact_law_of_three_rounds(world: PanelWorld) -> None:
    # marginals alone would not notice a class that is redrawn every round
    process, n = count_process(world, 3), world.panel + 1
    law = (process.weights[:, None] * process.initial)[:, :, None, None] * process.step(1)[..., None]
    joint = (law * process.step(2)[:, None]).sum(axis=0)
    t = simulate_debates(world, N_DEBATES, 3, 6)
    count = (t.votes == 0).sum(axis=2)
    seen = np.bincount((count[:, 0] * n + count[:, 1]) * n + count[:, 2], minlength=n**3)
    assert joint.sum() == pytest.approx(1, abs=1e-12)
    assert worst_z(seen, joint) < 4.5  # some hundred cells


def test_a_faithful_mixture_is_integrated_exactly_and_not_approximately() -> None:
    n, rounds, a, b = 5, 4, 0.3, 0.8
    world = MixturePanel(panel=n, weights=[1], means=[a / (a + b)], precisions=[a + b], persistence=1)
    process = count_process(world, rounds)
    for path in ([0, 0, 0, 0], [5, 5, 5, 5], [0, 5, 2, 3], [1, 0, 0, 4]):
        s = sum(path)
        log = betaln(a + s, b + n * rounds - s) - betaln(a, b)
        expected = np.exp(log) * np.prod(binom(n, path))
        half = process.n_classes // 2
        found = 2 * (process.weights[:half] * process.path_likelihood(path)[:half]).sum()
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("precision", [0.01, 1.0, 2.0, 50.0, 1e4, 1e6])
@pytest.mark.parametrize("mean", [0.01, 0.5, 0.9])
def test_the_rule_of_a_beta_law_has_its_moments(mean: float, precision: float) -> None:
    a, b = mean * precision, (1 - mean) * precision
    points, mass = beta_rule(a, b, 12)
    assert mass.sum() == pytest.approx(1, abs=1e-12)
    for k in range(24):
        expected = np.prod((a + np.arange(k)) / (precision + np.arange(k)))
        assert mass @ points**k == pytest.approx(expected, rel=1e-7, abs=1e-13)


def test_a_voter_world_debated_to_unanimity_is_as_right_as_one_agent_on_average() -> None:
    # optional stopping of a martingale; an immediate majority vote beats it
    world = Voter(panel=7, accuracy=0.65)
    process = count_process(world, 600)
    half = process.n_classes // 2
    law = 2 * (process.weights[:half, None] * process.by_class()[:, :half]).sum(axis=1)
    assert (law @ np.arange(8) / 7) == pytest.approx(0.65, abs=1e-12)
    assert law[-1][[0, 7]].sum() == pytest.approx(1, abs=1e-12)
    assert law[-1][7] == pytest.approx(0.65, abs=1e-12)
    assert law[0][4:].sum() > 0.68


def test_a_conforming_panel_with_no_pull_and_no_habit_has_independent_rounds() -> None:
    process = count_process(Conformity(panel=4, conformity=0, stubbornness=0), 3)
    assert np.allclose(process.step(1), process.initial[:, None, :], atol=1e-14)


def test_a_stubborn_panel_never_moves() -> None:
    process = count_process(Conformity(panel=4, stubbornness=1), 3)
    assert np.array_equal(process.step(1), np.broadcast_to(np.eye(5), process.step(1).shape))


@given(
    panel=st.integers(1, 12),
    easiness=st.lists(st.floats(-30, 30), min_size=1, max_size=3),
    stubbornness=st.floats(0, 1),
    conformity=st.floats(-40, 40),
    shared_sd=st.floats(0, 10),
)
def test_the_next_count_has_the_mean_that_the_equation_gives(
    panel: int, easiness: list[float], stubbornness: float, conformity: float, shared_sd: float
) -> None:
    world = Conformity(
        panel=panel,
        difficulties=tuple((1 / len(easiness), e) for e in easiness),
        stubbornness=stubbornness,
        conformity=conformity,
        shared_sd=shared_sd,
        shared_points=3,
    )
    process = count_process(world, 2)
    right = np.arange(panel + 1)
    theta = [e + u for e in easiness for u in shared_error(world)[0]]
    chance = expit(np.array(theta)[:, None] + conformity * (2 * right / panel - 1))
    expected = stubbornness * right + (1 - stubbornness) * panel * chance
    found = process.step(1)[: process.n_classes // 2] @ right
    assert np.allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("world", "why"),
    [
        (Conformity(skill=(0, 0, 0, 0, 0, 0, 1)), "one skill"),
        (Conformity(panel=2, llms=("x", "y")), "one LLM"),
        (MixturePanel(persistence=0.5), "persistence 0, or persistence 1"),
        (MixturePanel(persistence=1, mean_drift=(0.1, 0.0)), "with drift"),
        (LatentConcept(evidence="fresh"), 'evidence="self"'),
        (LatentConcept(evidence="self", n_concepts=3), "two concepts"),
        (DirichletCompound(), "Markov within a class; got DirichletCompound"),
    ],
)
def test_a_world_whose_count_is_not_markov_says_why(world: PanelWorld, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        count_process(world, 4)


@pytest.mark.parametrize("n_rounds", [1, 2, 7])
@pytest.mark.parametrize("world", MARKOV_WORLDS.values(), ids=MARKOV_WORLDS)
def test_any_depth_has_a_process(world: PanelWorld, n_rounds: int) -> None:
    assert count_process(world, n_rounds).marginal().shape == (n_rounds, world.panel + 1)
