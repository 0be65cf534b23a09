"""The optimum of a count process: attained, bounded, sufficient, and what forgetting the path costs."""

from __future__ import annotations

import runpy
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forgetful import forgetful_table
from hypothesis import given, settings
from hypothesis import strategies as st

from d3stats.models.chains.optimum import cheapest, frontier, solve
from d3stats.models.chains.process import CountProcess, Verdict, agreement_loss, error_loss, walk
from d3stats.models.chains.votes import optimal_votes
from d3stats.worlds import Voter, count_process, simulate_debates

STUDY = Path(__file__).parents[3] / "simulations" / "d3_headline"
fit_process = runpy.run_path(str(STUDY / "learned_chain.py"))["fit_process"]
VERDICTS: tuple[Verdict, ...] = ("majority", "posterior")


def a_process(
    seed: int, classes: int = 2, panel: int = 3, n_rounds: int = 3, varying: bool = False
) -> CountProcess:
    rng = np.random.default_rng(seed)
    size = panel + 1
    return CountProcess(
        weights=rng.dirichlet(np.ones(classes)),
        a_is_right=np.arange(classes) % 2 == 0,
        initial=rng.dirichlet(np.ones(size), size=classes),
        steps=rng.dirichlet(np.ones(size), size=(classes, n_rounds - 1 if varying else 1, size)),
        n_rounds=n_rounds,
    )


processes = st.builds(
    a_process, st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 3), st.integers(2, 4), st.booleans()
)
costs = st.sampled_from([0.0, 0.003, 0.01, 0.05, 0.3])


def best_over_all_paths(process: CountProcess, cost: float, loss: np.ndarray[Any, Any]) -> float:
    """Decide for every whole path by itself: nothing is merged and no posterior is formed."""

    def onward(path: tuple[int, ...]) -> float:
        t = len(path)
        joint = process.weights * process.path_likelihood(path)
        now = float(min(joint @ loss[:, t - 1, path[-1], d] for d in range(loss.shape[-1])))
        if t == process.n_rounds:
            return now
        further = cost * joint.sum() + sum(onward((*path, j)) for j in range(process.panel + 1))
        return min(now, float(further))

    return cost + sum(onward((k,)) for k in range(process.panel + 1))


@settings(max_examples=25, deadline=None)
@given(processes, costs, st.sampled_from(VERDICTS), st.booleans())
def test_knowing_the_whole_path_adds_nothing_to_round_count_and_posterior(
    process: CountProcess, cost: float, verdict: Verdict, agreement: bool
) -> None:
    loss = agreement_loss(process, verdict) if agreement else error_loss(process, verdict)
    policy = solve(process, cost, verdict=verdict, loss=np.array(loss))
    assert policy.exact
    assert policy.value == pytest.approx(best_over_all_paths(process, cost, loss), abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(processes, costs)
def test_one_more_possible_round_never_hurts(process: CountProcess, cost: float) -> None:
    if process.steps.shape[1] == 1:
        longer = CountProcess(
            process.weights, process.a_is_right, process.initial, process.steps, process.n_rounds + 1
        )
        assert solve(longer, cost).value <= solve(process, cost).value + 1e-12


@settings(max_examples=25, deadline=None)
@given(processes, costs, st.integers(0, 1000), st.floats(0.05, 0.95))
def test_the_value_is_concave_in_the_prior(
    process: CountProcess, cost: float, seed: int, share: float
) -> None:
    one, other = np.random.default_rng(seed).dirichlet(np.ones(process.n_classes), size=2)

    def value(weights: np.ndarray[Any, Any]) -> float:
        moved = CountProcess(
            weights / weights.sum(), process.a_is_right, process.initial, process.steps, process.n_rounds
        )
        return float(solve(moved, cost, verdict="posterior").value)

    mixed = value(share * one + (1 - share) * other)
    assert mixed >= share * value(one) + (1 - share) * value(other) - 1e-12


def test_the_value_of_fresh_votes_falls_with_the_horizon_and_is_concave_in_the_prior() -> None:
    values = [optimal_votes(Fraction(7, 10), Fraction(1, 100), h).value for h in range(12)]
    assert all(later <= earlier for earlier, later in pairwise(values))
    at = [optimal_votes(Fraction(7, 10), Fraction(1, 100), 8, Fraction(i, 20)).value for i in range(21)]
    assert all(2 * b >= a + c for a, b, c in zip(at, at[1:], at[2:], strict=False))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 4), costs, st.sampled_from(VERDICTS))
def test_merging_beliefs_keeps_the_exact_value_between_its_bounds(
    seed: int, classes: int, cost: float, verdict: Verdict
) -> None:
    process = a_process(seed, classes=classes, panel=3, n_rounds=5)
    exact = solve(process, cost, verdict=verdict, max_beliefs=50_000)
    coarse = solve(process, cost, verdict=verdict, max_beliefs=24)
    assert exact.exact
    assert coarse.lower - 1e-12 <= exact.value <= coarse.value + 1e-12


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 4), costs, st.sampled_from(VERDICTS))
def test_the_value_is_attained_by_the_policy_itself(
    seed: int, classes: int, cost: float, verdict: Verdict
) -> None:
    process = a_process(seed, classes=classes, panel=3, n_rounds=6)
    policy = solve(process, cost, verdict=verdict, max_beliefs=40)
    total = 0.0
    for t, (mass, layer) in enumerate(
        zip(walk(process, policy.controller), policy.controller.layers, strict=True)
    ):
        at = np.flatnonzero(layer.stops)
        lost = policy.loss[:, t, layer.counts[at], np.maximum(layer.decisions[at], 0)]
        total += float((mass[:, at] * (lost + cost * (t + 1))).sum())
    assert total == pytest.approx(policy.value, abs=1e-12)


def test_an_immediate_vote_is_optimal_in_the_voter_world() -> None:
    process = count_process(Voter(panel=7, accuracy=0.61, precision=2.0), n_rounds=10)
    for verdict in VERDICTS:
        policy = solve(process, 1e-6, verdict=verdict)
        assert policy.exact
        assert policy.rounds == pytest.approx(1.0, abs=1e-12)


def test_a_table_that_forgets_the_path_debates_on_in_the_voter_world_and_loses_accuracy() -> None:
    process = count_process(Voter(panel=7, accuracy=0.609, precision=2.5), n_rounds=20)
    best, table = solve(process, 0.005), forgetful_table(process, 0.005)
    assert 1 - best.expected_loss == pytest.approx(0.643, abs=0.003)
    assert 1 - table.loss == pytest.approx(0.620, abs=0.003)
    assert table.rounds > 3
    # It believes that it does better than the optimum, and does worse.
    assert table.claimed < best.value < table.value


def test_fractions_are_taken_as_floats() -> None:
    third = Fraction(1, 3)
    law = [[third / 2, third / 2, third, third]]
    rows = [[Fraction(1, 4)] * 4, [Fraction(1, 8), third, Fraction(1, 6), Fraction(3, 8)]] * 2
    given = CountProcess.symmetric(law, [rows], n_rounds=4, weights=[Fraction(1)])
    floats = CountProcess.symmetric(
        np.array(law, dtype=float), np.array([rows], dtype=float), n_rounds=4, weights=[1.0]
    )
    for verdict in VERDICTS:
        value = solve(given, Fraction(1, 100), verdict=verdict).value
        assert value == pytest.approx(solve(floats, 0.01, verdict=verdict).value, abs=1e-12)


def test_the_frontier_trades_rounds_for_errors_and_the_cheapest_policy_is_on_it() -> None:
    process = a_process(5, classes=2, panel=3, n_rounds=5)
    table = frontier(process, [0.001, 0.01, 0.05, 0.2], tokens=[100.0, 200.0, 300.0, 400.0, 500.0])
    assert (table["loss"].diff().dropna() >= -1e-9).all()
    assert (table["tokens"].diff().dropna() <= 1e-9).all()
    wanted = float((solve(process, 0.0).expected_loss + solve(process, 10.0).expected_loss) / 2)
    found = cheapest(process, wanted)
    assert found.expected_loss <= wanted
    for price in (0.001, 0.01, 0.05, 0.2):
        other = solve(process, price)
        assert other.expected_loss >= found.expected_loss - 1e-6 or other.rounds >= found.rounds - 1e-6
    with pytest.raises(ValueError, match="max_expected_loss must be at least"):
        cheapest(process, 0.0)


def test_a_learned_process_nears_the_truth() -> None:
    world = Voter(panel=5, accuracy=0.65, precision=4.0)
    truth = count_process(world, 4)
    successes, _ = simulate_debates(world, 4000, 4, 3).successes_trials()
    learned = fit_process(successes, 5)
    assert np.abs(learned.initial - truth.initial).max() < 0.03
    assert np.abs(learned.steps - truth.steps).max() < 0.06


def test_shrinkage_moves_a_small_pilot_to_the_smooth_chain() -> None:
    successes, _ = simulate_debates(Voter(panel=5), 30, 3, 1).successes_trials()
    truth = count_process(Voter(panel=5), 3)
    bare, shrunk = (fit_process(successes, 5, shrinkage=s) for s in (0.0, None))
    assert np.abs(shrunk.steps - truth.steps).mean() < np.abs(bare.steps - truth.steps).mean()


def test_two_classes_and_no_labels_are_learned_as_symmetric_laws() -> None:
    t = simulate_debates(Voter(panel=3), 200, 3, 2)
    two = fit_process(t.successes_trials()[0], 3, n_classes=2)
    assert two.n_classes == 4
    folded = fit_process((t.votes == 0).sum(axis=2), 3, labelled=False)
    assert folded.marginal()[0] == pytest.approx(folded.marginal()[0][::-1])
    assert solve(folded, 0.01, loss=agreement_loss(folded)).value < 0.2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cost": -0.1}, "cost must be finite and >= 0"),
        ({"cost": [0.1, 0.1]}, "one per round"),
        ({"cost": 0.1, "max_beliefs": 2}, "max_beliefs must be >= 4"),
        ({"cost": 0.1, "verdict": "best"}, "verdict must be one of"),
        ({"cost": 0.1, "loss": np.zeros((1, 1))}, "loss must have shape"),
    ],
)
def test_bad_arguments_are_refused_in_words(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solve(a_process(1), **arguments)


def test_a_pilot_of_one_debate_or_one_round_is_refused() -> None:
    for pilot in ([[1, 2]], [[1], [2]]):
        with pytest.raises(ValueError, match="at least 2 debates and 2 rounds"):
            fit_process(pilot, 3)
    with pytest.raises(ValueError, match="at most panel=3"):
        fit_process([[1, 4], [1, 1]], 3)
