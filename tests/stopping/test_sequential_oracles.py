"""What the sequential rules promise, by exact enumeration of every path of counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from layers import covering

from d3stats.stopping import (
    SPRT,
    AdaptiveConsistency,
    BettingConfidence,
    EProcess,
    ESCWindow,
    LookAhead,
    Round,
    Rule,
)
from d3stats.stopping.sequential import ThresholdRule
from d3stats.trajectories import Trajectories


class Law(NamedTuple):
    """What a rule does to independent votes, up to a horizon."""

    right: float
    wrong: float
    undecided: float
    rounds: float


def enumerate_online(rule: Rule, p: Fraction, horizon: int, panel: int = 1) -> Law:
    """Walk every path of right votes through the rule's online face; paths in one state are one.

    The verdict is the pooled leader; a stop at a tie counts half right.
    """
    moves = [(j, math.comb(panel, j) * p**j * (1 - p) ** (panel - j)) for j in range(panel + 1)]
    nodes: dict[tuple[str, int], tuple[Any, Fraction]] = {("", 0): (rule.start(), Fraction(1))}
    right = wrong = rounds = Fraction(0)
    for number in range(1, horizon + 1):
        after: dict[tuple[str, int], tuple[Any, Fraction]] = {}
        for (_, ahead), (before, mass) in nodes.items():
            for j, chance in moves:
                state = deepcopy(before)
                lead = ahead + 2 * j - panel
                if state.update(Round(number, (1,) * j + (0,) * (panel - j), panel)).stop:
                    half = Fraction(1 + (lead > 0) - (lead < 0), 2)
                    right += mass * chance * half
                    wrong += mass * chance * (1 - half)
                    rounds += mass * chance * number
                else:
                    key = (repr(state), lead)
                    known = after[key][1] if key in after else Fraction(0)
                    after[key] = (state, known + mass * chance)
        nodes = after
    left = sum((mass for _, mass in nodes.values()), Fraction(0))
    assert right + wrong + left == 1
    return Law(float(right), float(wrong), float(left), float(rounds + horizon * left))


@pytest.mark.parametrize(
    ("rule", "p", "expected"),
    [
        (
            AdaptiveConsistency(),
            "1/2",
            (0.21001152157623437, 0.21001152157623437, 0.5799769568475313, 28.713784),
        ),
        (
            AdaptiveConsistency(),
            "11/20",
            (0.36821698008377196, 0.10934080295338407, 0.522442216962844, 27.4899206),
        ),
        (
            AdaptiveConsistency(),
            "7/10",
            (0.9078345766443299, 0.011770379165907225, 0.08039504418976, 15.1137107),
        ),
        (EProcess(), "1/2", (0.010749242999736452, 0.010749242999736452, 0.9785015140005271, 39.4916085)),
        (EProcess(), "11/20", (0.03297626484919127, 0.003361669066758144, 0.9636620660840505, 39.2327826)),
        (EProcess(), "7/10", (0.43350364288661397, 7.809542977734578e-05, 0.5664182616836091, 32.7037693)),
    ],
    ids=str,
)
def test_forty_single_votes_end_as_the_theory_says(
    rule: Rule, p: str, expected: tuple[float, float, float, float]
) -> None:
    law = enumerate_online(rule, Fraction(p), 40)
    assert law[:3] == pytest.approx(expected[:3], abs=1e-13)
    assert law.rounds == pytest.approx(expected[3], abs=1e-6)


def test_the_sprt_is_a_gamblers_ruin_and_keeps_walds_bounds() -> None:
    # A walk with steps +1 (p = 7/10) and -1 stopped at +4 or -4, solved in closed form.
    ruin = Fraction(81, 2401 + 81)
    duration = 4 * (1 - 2 * ruin) / (2 * Fraction(7, 10) - 1)
    law = enumerate_online(SPRT(0.7, alpha=0.05, beta=0.05), Fraction(7, 10), 320)
    assert law.undecided < 1e-10
    assert law.wrong == pytest.approx(float(ruin), abs=1e-10)
    assert law.rounds == pytest.approx(float(duration), abs=1e-8)
    assert law.wrong <= 0.05 / (1 - 0.05)
    # Wald's lower bound on the expected sample size; single votes never overshoot, so it is attained.
    bits = (1 - 2 * law.wrong) * math.log((1 - law.wrong) / law.wrong)
    assert law.rounds * 0.4 * math.log(7 / 3) == pytest.approx(bits, rel=1e-7)


@pytest.mark.parametrize("panel", [1, 2, 3, 7])
@pytest.mark.parametrize(("p", "alpha", "beta"), [(0.7, 0.05, 0.05), (0.6, 0.1, 0.2), (0.8, 0.01, 0.3)])
def test_the_sprt_errs_no_more_than_walds_bound_on_fresh_panels_of_any_size(
    panel: int, p: float, alpha: float, beta: float
) -> None:
    truth = Fraction(str(p))
    assert enumerate_online(SPRT(p, alpha, beta), truth, 40, panel).wrong <= alpha / (1 - beta)


def test_the_e_process_stops_a_fair_coin_within_forty_votes_with_probability_0215() -> None:
    assert round(1 - enumerate_online(EProcess(), Fraction(1, 2), 40).undecided, 4) == 0.0215


def test_adaptive_consistency_is_not_anytime_valid() -> None:
    assert round(1 - enumerate_online(AdaptiveConsistency(), Fraction(1, 2), 40).undecided, 3) == 0.420


def stop_chance_of_a_fair_coin(rule: ThresholdRule, horizon: int) -> Fraction:
    """Count the paths of a fair coin that have not crossed the rule's table."""
    alive, stopped = {0: 1}, Fraction(0)
    for n in range(1, horizon + 1):
        after: dict[int, int] = {}
        for k, paths in alive.items():
            for heads in (k, k + 1):
                after[heads] = after.get(heads, 0) + paths
        alive = {}
        for k, paths in after.items():
            if max(k, n - k) >= rule.votes_needed(min(k, n - k)):
                stopped += Fraction(paths, 2**n)
            else:
                alive[k] = paths
    return stopped


@pytest.mark.parametrize(
    "rule",
    [
        BettingConfidence(),
        BettingConfidence(bets=1),
        BettingConfidence(0.2, bets=3),
        EProcess(),
        EProcess(0.2, a=3.0, b=0.5),
        EProcess(0.1, a=0.5, b=0.5),
    ],
    ids=str,
)
def test_an_anytime_valid_rule_stops_a_fair_coin_within_two_hundred_votes_with_at_most_alpha(
    rule: BettingConfidence | EProcess,
) -> None:
    chance = stop_chance_of_a_fair_coin(rule, 200)
    assert 0 < chance <= rule.alpha
    assert float(stop_chance_of_a_fair_coin(rule, 30)) == pytest.approx(
        1 - enumerate_online(rule, Fraction(1, 2), 30).undecided, abs=1e-14
    )


@pytest.mark.parametrize("share", ["7/10", "19/20"])
def test_the_confidence_sequence_covers_the_share_at_all_counts_at_once(share: str) -> None:
    rule, p = BettingConfidence(0.2), Fraction(share)
    alive, missed = {0: Fraction(1)}, Fraction(0)
    for n in range(1, 26):
        after: dict[int, Fraction] = {}
        for k, mass in alive.items():
            after[k] = after.get(k, Fraction(0)) + mass * (1 - p)
            after[k + 1] = after.get(k + 1, Fraction(0)) + mass * p
        alive = {}
        for k, mass in after.items():
            low, high = rule.interval(k, n - k)
            if low <= p <= high:
                alive[k] = mass
            else:
                missed += mass
    assert 0 < missed <= rule.alpha


def test_adaptive_consistency_fails_the_same_test() -> None:
    assert stop_chance_of_a_fair_coin(AdaptiveConsistency(), 200) > Fraction(1, 2)


@covering(
    shares=[(0.34, 0.33, 0.33), (0.4, 0.4, 0.2), (0.45, 0.35, 0.2)],
    rule=[EProcess(0.2), BettingConfidence(0.2), EProcess(0.3, a=2.0, b=2.0)],
)
def test_with_three_answers_a_wrong_leader_wins_with_at_most_twice_alpha(
    rule: EProcess | BettingConfidence, shares: tuple[float, float, float]
) -> None:
    alive = {(0, 0, 0): 1.0}
    wrong = 0.0
    for _ in range(45):
        after: dict[tuple[int, ...], float] = {}
        for counts, mass in alive.items():
            for j, share in enumerate(shares):
                key = tuple(c + (i == j) for i, c in enumerate(counts))
                after[key] = after.get(key, 0.0) + mass * share
        alive = {}
        for counts3, mass in after.items():
            lead, second, _ = sorted(counts3, reverse=True)
            if lead < rule.votes_needed(second):
                alive[counts3] = mass  # type: ignore[index]  # three counts
            elif shares[counts3.index(lead)] < max(shares):
                wrong += mass
    assert 0 < wrong <= 2 * rule.alpha


@pytest.mark.parametrize(("window", "p"), [(3, "7/10"), (5, "3/5"), (1, "3/5")])
def test_esc_is_a_race_between_windows(window: int, p: str) -> None:
    truth = Fraction(p)
    agree, wrong = truth**window + (1 - truth) ** window, (1 - truth) ** window
    n_windows = 6
    law = enumerate_esc(ESCWindow(window), truth, n_windows * window)
    assert law.undecided == pytest.approx(float((1 - agree) ** n_windows), abs=1e-13)
    assert law.wrong == pytest.approx(float(wrong / agree * (1 - (1 - agree) ** n_windows)), abs=1e-13)
    assert law.wrong <= n_windows * wrong


def enumerate_esc(rule: ESCWindow, p: Fraction, horizon: int) -> Law:
    """As for tallies, but the verdict is the answer of the window that agreed."""
    nodes: dict[str, tuple[Any, Fraction]] = {"": (rule.start(), Fraction(1))}
    ends = [Fraction(0), Fraction(0)]
    rounds = Fraction(0)
    for number in range(1, horizon + 1):
        after: dict[str, tuple[Any, Fraction]] = {}
        for before, mass in nodes.values():
            for vote, chance in ((1, p), (0, 1 - p)):
                state = deepcopy(before)
                decision = state.update(Round(number, (vote,), 1))
                if decision.stop:
                    ends[int(decision.detail["answer"])] += mass * chance
                    rounds += mass * chance * number
                else:
                    known = after[repr(state)][1] if repr(state) in after else Fraction(0)
                    after[repr(state)] = (state, known + mass * chance)
        nodes = after
    left = sum((mass for _, mass in nodes.values()), Fraction(0))
    return Law(float(ends[1]), float(ends[0]), float(left), float(rounds + horizon * left))


def planned(p: Fraction, cost: Fraction, panel: int) -> Callable[[int, int], Fraction]:
    """The look-ahead value by plain recursion on the lead, exactly."""

    @cache
    def value(steps: int, lead: int) -> Fraction:
        odds = ((1 - p) / p) ** abs(lead)
        risk = odds / (1 + odds)
        if steps == 0:
            return risk
        q = 1 - risk if lead >= 0 else risk
        going_on = cost
        for j in range(panel + 1):
            law = q * p**j * (1 - p) ** (panel - j) + (1 - q) * (1 - p) ** j * p ** (panel - j)
            going_on += math.comb(panel, j) * law * value(steps - 1, lead + 2 * j - panel)
        return min(risk, going_on)

    return value


@pytest.mark.parametrize(
    ("p", "cost", "panel", "m"), [("7/10", "1/100", 1, 6), ("3/5", "1/50", 3, 4), ("9/10", "0", 2, 3)]
)
def test_look_ahead_values_are_the_recursions(p: str, cost: str, panel: int, m: int) -> None:
    value = planned(Fraction(p), Fraction(cost), panel)
    rule = LookAhead(m, p=float(Fraction(p)), cost=float(Fraction(cost)))
    for lead in range(m * panel + 3):
        assert rule.value(lead, panel) == pytest.approx(float(value(m, lead)), abs=1e-14)


def test_looking_as_far_as_the_horizon_is_the_optimum_of_the_dynamic_programme() -> None:
    exact = Fraction(174506622320231, 1250000000000000)
    assert planned(Fraction(7, 10), Fraction(1, 100), 1)(15, 0) == exact
    assert LookAhead(15, p=0.7, cost=0.01).value(0) == pytest.approx(float(exact), abs=1e-14)
    assert LookAhead(25, p=0.7, cost=0.001).value(0) == pytest.approx(0.03266992708966098, abs=1e-13)


def test_look_ahead_stops_where_the_dynamic_programme_of_fifteen_votes_stops() -> None:
    bound = [None, None, None, None, 4, 5, 4, 5, 4, 3, 4, 3, 4, 3, 2]
    for n, optimal in enumerate(bound):
        needed = LookAhead(15 - n, p=0.7, cost=0.01).lead_needed()
        # After n votes the lead has the parity of n.
        needed += (needed + n) % 2
        assert needed == optimal if optimal is not None else needed > n


def test_one_more_vote_is_worth_exactly_nothing_to_a_leader_so_one_step_is_too_short() -> None:
    value = planned(Fraction(7, 10), Fraction(0), 1)
    for lead in range(1, 6):
        assert value(1, lead) == value(0, lead)
    assert value(2, 1) < value(0, 1)
    assert value(3, 2) < value(0, 2)
    assert LookAhead(1, p=0.7, cost=1e-9).lead_needed() == 1
    assert LookAhead(3, p=0.7, cost=1e-9).lead_needed() == 3


def test_a_longer_view_never_costs_more() -> None:
    for panel in (1, 3):
        values = [LookAhead(m, p=0.65, cost=0.005).value(1, panel) for m in range(1, 12)]
        assert (np.diff(values) <= 1e-15).all()
        assert values[-1] < values[0]


@pytest.mark.parametrize(
    ("rule", "p", "panel"),
    [
        pytest.param(
            rule, p, panel, id=f"{rule}, {panel}", marks=() if k % 2 == panel // 2 else pytest.mark.slow
        )
        for k, (rule, p) in enumerate(
            [
                (SPRT(), 0.7),
                (EProcess(0.2), 0.6),
                (BettingConfidence(0.2), 0.7),
                (AdaptiveConsistency(), 0.55),
                (LookAhead(5, cost=0.005), 0.6),
            ]
        )
        for panel in (1, 3)
    ],
)
def test_simulated_debates_agree_with_the_enumeration(rule: Rule, p: float, panel: int) -> None:
    n, horizon = 20_000, 20
    rng = np.random.default_rng([11, panel])
    votes = (rng.random((n, horizon, panel)) < p).astype(int)
    t = Trajectories.from_arrays(votes, np.ones(n, dtype=int), answers=["wrong", "right"])
    stops = rule.stop_rounds(t)
    ahead = (2 * votes - 1).sum(axis=2).cumsum(axis=1)[np.arange(n), stops.rounds - 1]
    stopped = stops.reasons == rule.reason
    law = enumerate_online(rule, Fraction(str(p)), horizon, panel)
    for exact, drawn in (
        (law.right, stopped * (1 + np.sign(ahead)) / 2),
        (law.wrong, stopped * (1 - np.sign(ahead)) / 2),
        (law.undecided, ~stopped),
        (law.rounds, stops.rounds),
    ):
        error = max(float(np.std(drawn)), 1e-3) / math.sqrt(n)
        assert abs(float(np.mean(drawn)) - exact) <= 4 * error
