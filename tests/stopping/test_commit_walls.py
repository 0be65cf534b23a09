"""A position between two walls: the posterior by integration, the stops by a plain loop, their law in a small chain."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from d3stats import Trajectories, replay
from d3stats.stopping import CommitWalls, FixedRounds, Round, from_text, rounds_of
from d3stats.trajectories import MISSING


def majority_chance(lead: int, panel: int, silent: int, weight: float) -> float:
    """Return P(share > 1/2) after `lead` of `panel` votes, by integration of the likelihood over (u, 1 - u)."""
    if silent == panel:
        return 0.0
    u = min(max(weight * silent / panel, 1e-6), 0.5 - 1e-6)
    mode = lead / panel

    def likelihood(q: float) -> float:
        return (q / max(mode, 0.01)) ** lead * ((1 - q) / max(1 - mode, 0.01)) ** (panel - lead)

    upper, lower = quad(likelihood, 0.5, 1 - u)[0], quad(likelihood, u, 0.5)[0]
    return upper / (upper + lower)


def plain_stop(rule: CommitWalls, rounds: list[list[int]]) -> tuple[int, str]:
    """Play one debate by the rule's description, a round at a time."""
    x = 0
    for number, votes in enumerate(rounds, start=1):
        counts = Counter(vote for vote in votes if vote != MISSING)
        g = majority_chance(max(counts.values(), default=0), len(votes), votes.count(MISSING), rule.weight)
        worth_right = g - rule.cost * (rule.wall - x)
        worth_left = 1 - g - rule.cost * (x + rule.wall)
        if max(worth_right, worth_left) > 1e-9:
            x += 1 if worth_right > worth_left - 1e-9 else -1
        if x == rule.wall:
            return number, "wall_consensus"
        if x == -rule.wall:
            return number, "wall_no_consensus"
        if number == rule.max_rounds:
            return number, "round_cap"
    return len(rounds), "exhausted"


@pytest.mark.parametrize("weight", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("panel", [1, 2, 3, 4, 7, 30])
def test_the_evidence_is_the_posterior_chance_of_a_majority_by_integration(panel: int, weight: float) -> None:
    rule = CommitWalls(weight=weight)
    for lead, silent in product(range(panel + 1), range(panel + 1)):
        if lead + silent > panel or (lead == 0 < panel - silent):
            continue
        expected = majority_chance(lead, panel, silent, weight)
        assert rule.evidence(lead, panel, silent) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_the_evidence_of_a_large_panel_is_a_number() -> None:
    rule = CommitWalls()
    for panel in (1000, 2000):
        found = np.array([rule.evidence(lead, panel, 3) for lead in range(1, panel - 3, 50)])
        assert ((found >= 0) & (found <= 1)).all()
        assert (np.diff(found) >= 0).all()
        assert found[0] < 1e-9
        assert found[-1] > 1 - 1e-9


SETTINGS = st.builds(
    CommitWalls,
    wall=st.integers(1, 3),
    cost=st.sampled_from([0.0, 0.01, 0.07, 0.16, 0.3]),
    weight=st.sampled_from([0.0, 0.2, 0.9]),
    max_rounds=st.integers(3, 7),
)


@given(rule=SETTINGS, seed=st.integers(0, 2**32 - 1), panel=st.integers(1, 5), answers=st.integers(1, 4))
def test_live_over_a_log_and_by_a_plain_loop_the_stops_are_the_same(
    rule: CommitWalls, seed: int, panel: int, answers: int
) -> None:
    rng = np.random.default_rng(seed)
    votes = rng.integers(0, answers, size=(12, 8, panel))
    votes[rng.random(votes.shape) < 0.2] = MISSING
    log = Trajectories.from_arrays(votes, answers=["A", "B", "C", "D"][:answers])
    stops = rule.stop_rounds(log)
    expected = [plain_stop(rule, debate.tolist()) for debate in votes]
    assert list(zip(stops.rounds.tolist(), stops.reasons.tolist(), strict=True)) == expected
    assert [rule.run(rounds_of(log, i)) for i in range(len(log))] == expected


CAMPS = {1: (0, 1, 2), 2: (0, 0, 1), 3: (0, 0, 0)}
"""Votes of three seats by the size of their largest camp."""
CHAIN = np.array([[0.6, 0.3, 0.1], [0.35, 0.4, 0.25], [0.05, 0.25, 0.7]])
"""The chance that the largest camp changes from 1, 2 or 3 votes (rows) to 1, 2 or 3 (columns)."""
START = np.array([0.5, 0.3, 0.2])


def law_of_the_stop(rule: CommitWalls) -> dict[tuple[int, str], float]:
    """Return P(round, reason) in the chain, by its joint law with the position."""
    law: dict[tuple[int, str], float] = {}
    here = {(camp, 0): START[camp - 1] for camp in CAMPS}
    for number in range(1, rule.max_rounds + 1):
        moved: Counter[tuple[int, int]] = Counter()
        for (camp, x), chance in here.items():
            # Of three seats, two are a majority; the price of a step never outweighs it.
            x += 1 if camp >= 2 else -1
            if abs(x) == rule.wall:
                law[number, "wall_consensus" if x > 0 else "wall_no_consensus"] = (
                    law.get((number, "wall_consensus" if x > 0 else "wall_no_consensus"), 0.0) + chance
                )
            elif number == rule.max_rounds:
                law[number, "round_cap"] = law.get((number, "round_cap"), 0.0) + chance
            else:
                for to in CAMPS:
                    moved[to, x] += chance * CHAIN[camp - 1, to - 1]
        here = dict(moved)
    return law


@pytest.mark.parametrize("rule", [CommitWalls(2, max_rounds=6), CommitWalls(4), CommitWalls(3, max_rounds=3)])
def test_the_stops_of_a_chain_have_their_exact_law(rule: CommitWalls) -> None:
    rng, n = np.random.default_rng(7), 20_000
    camp = np.searchsorted(START.cumsum(), rng.random(n))
    votes = np.zeros((n, rule.max_rounds, 3), dtype=np.int64)
    for r in range(rule.max_rounds):
        votes[:, r] = np.array(list(CAMPS.values()))[camp]
        camp = (rng.random(n)[:, None] > CHAIN.cumsum(axis=1)[camp]).sum(axis=1)
    stops = rule.stop_rounds(Trajectories.from_arrays(votes, answers=["A", "B", "C"]))
    found = Counter(zip(stops.rounds.tolist(), stops.reasons.tolist(), strict=True))
    law = law_of_the_stop(rule)
    assert sum(law.values()) == pytest.approx(1)
    assert set(found) <= set(law)
    for event, chance in law.items():
        # 24 events: four standard errors and a half.
        assert abs(found[event] / n - chance) < 4.5 * np.sqrt(chance * (1 - chance) / n) + 1e-12
    assert min(number for number, _ in law) == rule.wall == rule.earliest


def test_a_tie_goes_to_the_right_and_a_price_can_keep_the_position_where_it_is() -> None:
    even = Round(1, (0, 0, 1, 1), 4)
    assert CommitWalls(1).run([even]) == (1, "wall_consensus")
    half = CommitWalls(2, cost=0.3, max_rounds=5)
    # At the start both walls are worth 1/2 - .6: nothing moves.
    assert half.moved(np.array([0]), np.array([0.5])).tolist() == [0]
    assert half.run([Round(r, (0, 0, 1, 1), 4) for r in range(1, 6)]) == (5, "round_cap")
    # A position on the left is nearer to the left wall, so that there a tie of the votes counts for it.
    assert CommitWalls().moved(np.array([-1, 0, 1]), np.array([0.5, 0.5, 0.5])).tolist() == [-2, 1, 2]


def test_a_silent_panel_goes_to_the_left_and_a_wall_holds() -> None:
    silent = [Round(r, (-1, -1, -1), 3) for r in range(1, 5)]
    assert CommitWalls(2).run(silent) == (2, "wall_no_consensus")
    agreed = [Round(r, (0, 0, 0), 3) for r in (1, 2)]
    split = [Round(r, (0, 1, 2), 3) for r in (3, 4, 5)]
    assert CommitWalls(2).after(5).run([*agreed, *split]) == (5, "wall_consensus")


def test_with_two_answers_and_every_vote_it_is_a_fixed_number_of_rounds_and_says_so() -> None:
    rng = np.random.default_rng(1)
    log = Trajectories.from_arrays(rng.integers(0, 2, size=(200, 6, 7)), answers=["A", "B"])
    for wall in (1, 2, 4):
        rule = CommitWalls(wall)
        assert (rule.stop_rounds(log).rounds == FixedRounds(wall).stop_rounds(log).rounds).all()
        (said,) = rule.remarks(log)
        assert f"as fixed:{wall} does" in said
    open_ended = Trajectories.from_arrays(rng.integers(0, 5, size=(200, 6, 7)), answers=list("ABCDE"))
    assert CommitWalls(2).remarks(open_ended) == ()


def test_a_wall_beyond_the_last_round_is_said() -> None:
    notes = replay("slm7", "commit_walls").notes
    (said,) = (note for note in notes if "commit_walls:4 cannot fire" in note)
    assert "any debate, because no wall is reached before round 4, and they have at most 3" in said
    assert from_text("commit_walls:2").remarks(Trajectories.from_arrays([[["A", "B", "C"]] * 4])) == ()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: CommitWalls(4, max_rounds=3), "max_rounds must be at least wall.*max_rounds=3, wall=4"),
        (lambda: CommitWalls(4, cost=0.25), "cost times wall must be below 1.*cost=0.25, wall=4"),
        (lambda: CommitWalls(0), "wall must be"),
        (lambda: CommitWalls(weight=1.5), "weight must lie between 0 and 1"),
        (lambda: CommitWalls().evidence(3, 4, 2), "votes of panel=4 seats; got lead=3, missing=2"),
    ],
)
def test_what_cannot_be_meant_is_refused(made, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        made()


@pytest.mark.parametrize(("n_short", "told"), [(1, False), (2, True), (3, True), (4, True)])
def test_too_short_debates_are_told_from_half_of_them_on(n_short: int, told: bool) -> None:
    votes = np.tile([0, 0, 1], (4, 4, 1))
    votes[:n_short, 2:] = MISSING
    log = Trajectories.from_arrays(votes, answers=["A", "B"], depth=[2] * n_short + [4] * (4 - n_short))
    assert any("cannot fire" in note for note in CommitWalls(3).remarks(log)) == told
