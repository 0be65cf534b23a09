"""Exact evaluation agrees with drawn debates, with brute force, and with the theorems."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pace import idle_seconds

from d3stats.models.chains.optimum import solve
from d3stats.models.chains.process import CountProcess
from d3stats.planning import evaluate, replay
from d3stats.stopping import (
    BudgetedStopping,
    Decision,
    Declaration,
    FixedRounds,
    FullDepth,
    KSStability,
    Optimal,
    Round,
    Rule,
    Supermajority,
    Unanimity,
)
from d3stats.trajectories import Trajectories
from d3stats.worlds import Voter, count_process, simulate_debates


def a_process(seed: int, classes: int, panel: int, n_rounds: int) -> CountProcess:
    rng = np.random.default_rng(seed)
    size = panel + 1
    return CountProcess(
        weights=rng.dirichlet(np.ones(classes)),
        a_is_right=np.arange(classes) % 2 == 0,
        initial=rng.dirichlet(np.ones(size), size=classes),
        steps=rng.dirichlet(np.ones(size), size=(classes, 1, size)),
        n_rounds=n_rounds,
    )


@dataclass(frozen=True)
class FirstSeat(Rule):
    """Stops when the first seat says A: nothing that a count can tell."""

    def start(self) -> FirstSeat:
        return self

    def update(self, latest: Round) -> Decision:
        return Decision(stop=latest.votes[0] == 0, reason="first_seat")

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        return np.asarray(trajectories.votes[:, :, 0] == 0)


simple = st.one_of(
    st.builds(FixedRounds, st.integers(1, 4)),
    st.just(Unanimity()),
    st.builds(Supermajority, st.sampled_from([0.5, 0.6, 0.7, 0.9]), st.integers(1, 3)),
)
rules = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a | b, inner, inner),
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda a, n: a.after(n), inner, st.integers(1, 4)),
    ),
    max_leaves=4,
)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 5), st.integers(1, 5), rules, st.floats(0, 0.2)
)
def test_the_optimum_is_never_worse_than_any_rule_in_its_world(
    seed: int, classes: int, panel: int, n_rounds: int, rule: Rule, cost: float
) -> None:
    process = a_process(seed, classes, panel, n_rounds)
    ruled = evaluate(process, rule)
    majority = solve(process, cost, max_beliefs=20_000)
    posterior = solve(process, cost, verdict="posterior", max_beliefs=20_000)
    assert majority.lower <= ruled.value(cost) + 1e-12
    if majority.exact:
        assert majority.value <= ruled.value(cost) + 1e-12
    assert posterior.lower <= majority.value + 1e-12


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 10_000), st.integers(1, 4), st.sampled_from(["majority", "posterior"]), st.floats(0, 0.1)
)
def test_the_optimal_rule_is_worth_what_its_policy_says(
    seed: int, classes: int, verdict: str, cost: float
) -> None:
    process = a_process(seed, classes, 4, 5)
    policy = solve(process, cost, verdict=verdict, max_beliefs=60)  # type: ignore[arg-type]  # from a list
    assert evaluate(process, Optimal(policy)).value(cost) == pytest.approx(policy.value, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), rules)
def test_exact_evaluation_equals_adding_up_every_path(seed: int, classes: int, rule: Rule) -> None:
    process = a_process(seed, classes, 3, 4)
    paths = np.stack(np.meshgrid(*[np.arange(4)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    votes = (np.arange(3) >= paths[:, :, None]).astype(int)
    log = Trajectories.from_arrays(votes, answers=["A", "B"])
    stops = rule.stop_rounds(log).rounds
    chance = np.array([process.weights * process.path_likelihood(p) for p in paths])
    says_a = process.majority()[paths[np.arange(len(paths)), stops - 1]]
    final_a = process.majority()[paths[:, -1]]
    right = process.a_is_right
    result = evaluate(process, rule)
    assert result.rounds == pytest.approx((chance.sum(axis=1) * stops).sum(), abs=1e-12)
    accuracy = (chance * np.where(right, says_a[:, None], 1 - says_a[:, None])).sum()
    assert result.accuracy == pytest.approx(accuracy, abs=1e-12)
    agreement = (chance.sum(axis=1) * (says_a == final_a)).sum()
    assert result.agreement == pytest.approx(agreement, abs=1e-12)
    assert result.gained - result.lost == pytest.approx(result.accuracy - result.full_accuracy, abs=1e-12)
    early = stops < 4
    turned = np.where(right, ((1 - says_a) * final_a)[:, None], (says_a * (1 - final_a))[:, None])
    if early.any() and chance[early].sum() > 0:
        premature = (chance * turned)[early].sum() / chance[early].sum()
        assert result.premature == pytest.approx(premature, abs=1e-12)
    else:
        assert np.isnan(result.premature)


def test_a_tie_that_full_depth_turns_right_is_lost_and_not_premature() -> None:
    # Copying two: only one against one can change, and a wrong pair stays wrong.
    result = evaluate(count_process(Voter(panel=2, accuracy=0.6), n_rounds=4), FixedRounds(1))
    assert result.lost > 0.01
    assert result.premature == 0


@pytest.mark.slow
def test_drawn_debates_agree_with_exact_evaluation() -> None:
    world, n = Voter(panel=5, accuracy=0.6), 20_000
    process = count_process(world, 6)
    t = simulate_debates(world, n, 6, 5)
    every = [
        Supermajority(0.8, 2),
        Unanimity() & FixedRounds(3),
        Supermajority(0.7).after(2) | FixedRounds(5),
        Optimal(solve(process, 0.01)),
    ]
    drawn = replay(t, every).to_frame().set_index("rule")
    for rule in [*every, Unanimity(), FullDepth()]:
        exact, seen = evaluate(process, rule), drawn.loc[str(rule)]
        spread = np.sqrt(max((exact.stops * np.arange(1, 7) ** 2).sum() - exact.rounds**2, 0.0))
        assert abs(seen["rounds"] - exact.rounds) <= 4 * spread / np.sqrt(n) + 1e-9
        for name in ("accuracy", "agreement", "gained", "lost"):
            p = float(getattr(exact, name))
            assert abs(seen[name] - p) <= 4 * np.sqrt(max(p * (1 - p), 0) / n) + 1e-9


@pytest.mark.parametrize("panel", [3, 7])
def test_debating_to_consensus_is_right_as_often_as_one_agent_when_nobody_learns(panel: int) -> None:
    # Theorem D, optional stopping: S is a martingale, so P(all right in the end) = E S_0 / n.
    process = count_process(Voter(panel=panel, accuracy=0.6433, precision=3.0), n_rounds=300)
    result = evaluate(process, Unanimity())
    assert result.stops[-1] < 1e-12
    assert result.accuracy == pytest.approx(0.6433, abs=1e-12)


def test_the_sums_are_those_of_fractions() -> None:
    law = [[Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]]
    rows = [[Fraction(1), Fraction(0), Fraction(0)], [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]]
    process = CountProcess.symmetric(
        law, [[*rows, [Fraction(0), Fraction(0), Fraction(1)]]], n_rounds=3, weights=[Fraction(1)]
    )
    result = evaluate(process, Unanimity())
    rounds = Fraction(3, 4) + Fraction(1, 4) * (2 * Fraction(1, 2) + 3 * Fraction(1, 2))
    assert result.rounds == pytest.approx(float(rounds), abs=1e-15)
    assert result.accuracy == pytest.approx(
        float(Fraction(1, 2) + Fraction(1, 4) * Fraction(1, 2)), abs=1e-15
    )


def test_tokens_are_added_up_to_the_stop() -> None:
    process = count_process(Voter(panel=3), n_rounds=3)
    result = evaluate(process, FixedRounds(2), tokens=[100, 250, 400])
    assert result.tokens == pytest.approx(350)
    assert evaluate(process, FixedRounds(2)).tokens is None


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (BudgetedStopping.d3_paper(), "needs scores"),
        (Declaration(seat=0), "needs texts"),
        (FirstSeat(), "which seat said what"),
        (KSStability(0.05), "decide each debate by itself"),
    ],
)
def test_rules_that_need_more_than_counts_are_refused_in_one_line(rule: Rule, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        evaluate(count_process(Voter(panel=3), n_rounds=3), rule)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_one_exact_evaluation_takes_milliseconds() -> None:
    process = a_process(3, classes=4, panel=7, n_rounds=10)
    rule = Supermajority(0.8)
    evaluate(process, rule)
    assert idle_seconds(lambda: evaluate(process, rule), tries=5) < 0.010
