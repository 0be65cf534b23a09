"""Optimal boundaries of a panel that votes again may rise, although those of independent votes never do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from d3stats.models.chains.optimum import solve
from d3stats.models.chains.process import CountProcess, walk

PANEL, ACCURACY, COST = 7, 0.6, 0.05
SEATS = np.arange(PANEL + 1)
FIRST = stats.binom.pmf(SEATS, PANEL, ACCURACY)
COPY = np.array([stats.binom.pmf(SEATS, PANEL, i / PANEL) for i in SEATS])
"""Round 2: each agent copies a seat of round 1, so that no evidence is added, and unanimity stays."""
AGAIN = np.zeros((PANEL + 1, PANEL + 1))
"""Round 3: a panel that is not unanimous finds the right answer with probability .95."""
AGAIN[0, 0] = AGAIN[PANEL, PANEL] = 1.0
AGAIN[1:PANEL, PANEL], AGAIN[1:PANEL, 0] = 0.95, 0.05


def cost_of(boundaries: tuple[int, int]) -> float:
    """Return expected loss plus cost of stopping at these camps in rounds 1 and 2, summed over all paths."""
    total = 0.0
    for one, p in zip(SEATS, FIRST, strict=True):
        if max(one, PANEL - one) >= boundaries[0]:
            total += p * (one < PANEL / 2)
            continue
        for two, q in zip(SEATS, COPY[one], strict=True):
            if max(two, PANEL - two) >= boundaries[1]:
                total += p * q * (COST + (two < PANEL / 2))
                continue
            total += sum(
                p * q * r * (2 * COST + (last < PANEL / 2)) for last, r in zip(SEATS, AGAIN[two], strict=True)
            )
    return float(total)


def test_the_boundary_rises_from_six_votes_to_seven() -> None:
    process = CountProcess.symmetric([FIRST], [[COPY, AGAIN]], n_rounds=3)
    policy = solve(process, [0.0, COST, COST])
    assert policy.exact
    needed = []
    for layer, masses in zip(policy.controller.layers, walk(process, policy.controller), strict=True):
        camp = np.maximum(layer.counts, PANEL - layer.counts)
        reached = masses.sum(axis=0) > 0
        stops, goes_on = set(camp[reached & layer.stops]), set(camp[reached & ~layer.stops])
        assert not stops & goes_on
        needed.append(min(stops))
    assert needed[:2] == [6, 7]
    # Every pair of boundaries, by hand: the optimum is one of them, and no ladder, which never rises, attains it.
    costs = {(a, b): cost_of((a, b)) for a in range(4, 9) for b in range(4, 9)}
    assert min(costs, key=costs.__getitem__) == (6, 7)
    assert costs[6, 7] == pytest.approx(policy.value, abs=1e-12)
    assert min(cost for (a, b), cost in costs.items() if b <= a) > costs[6, 7] + 0.002


def test_one_vote_at_a_time_the_boundary_never_rises() -> None:
    """Independent votes and a horizon, by backward induction on the lead: the case that Wald and Wolfowitz treat."""
    for p, cost, horizon in ((0.6, 0.01, 15), (0.7, 0.01, 15), (0.7, 0.001, 25), (0.55, 0.002, 40)):
        odds = p / (1 - p)
        value: dict[int, float] = {}
        boundary = []
        for t in range(horizon, -1, -1):
            new = {}
            for lead in range(-t, t + 1, 2):
                right = 1 / (1 + odds ** -abs(lead))
                up = p * right + (1 - p) * (1 - right)
                go_on = math.inf
                if t < horizon:
                    go_on = cost + up * value[abs(lead) + 1] + (1 - up) * value[abs(abs(lead) - 1)]
                new[abs(lead)] = min(1 - right, go_on)
                if 1 - right <= go_on:
                    boundary.append((t, abs(lead)))
            value = new
        least = {t: min(lead for at, lead in boundary if at == t) for t, _ in boundary}
        # Leads have the parity of the number of votes, so that votes are compared two apart.
        rounds = sorted(least)
        assert all(least[t + 2] <= least[t] for t in rounds if t + 2 in least)
