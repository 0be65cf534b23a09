"""What is proved here: why each condition is there, and the numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from d3stats.models.beliefs.latent import (
    amplifies,
    consensus_probability,
    panel_drift,
)
from d3stats.models.gaps.beta import BetaGap
from d3stats.models.separation.best_of_k import separation
from d3stats.models.separation.laws import (
    DiscreteLaw,
    MixtureLaw,
    ScoreLaw,
    as_law,
    beta,
    exponential,
    uniform,
    weibull,
)
from d3stats.models.separation.orders import excess_wealth_order
from d3stats.models.separation.softmax import softmax_weighted
from d3stats.theory import claim
from d3stats.theory.claims import proved_here
from d3stats.theory.instances.advocates import Advocates, BestOf, Moved
from d3stats.theory.instances.beliefs import (
    Discussion,
    Listeners,
    discussions,
)
from d3stats.theory.instances.gaps import (
    GapDebate,
    Trial,
    debates_near_one,
    trials,
)
from d3stats.theory.instances.scores import Team
from d3stats.theory.instances.votes import (
    CountChain,
    TwoRounds,
    absorbed_right,
    condorcet_chains,
    count_chains,
    voter_row,
)

ONE, QUARTER = Fraction(1), Fraction(1, 4)

SURE, COIN = DiscreteLaw([1], [1]), DiscreteLaw([0, 1], [0.5, 0.5])


def as_arrays(panel: Listeners) -> tuple[np.ndarray, np.ndarray]:
    """The counts and the weights of a panel as the model takes them."""
    n = len(panel.counts)
    weights = np.array([[float(others.count(j)) for j in range(n)] for others in panel.heard])
    return np.array(panel.counts, dtype=float), weights


def voters(first: tuple[Fraction, ...]) -> CountChain:
    n = len(first) - 1
    return CountChain(first, tuple(voter_row(n, s) for s in range(n + 1)))


@given(debates_near_one())
def test_cantelli_is_never_weaker_where_the_claimed_bound_holds(debate: GapDebate) -> None:
    assert debate.cantelli_bound >= debate.claimed_bound - 1e-12
    assert claim("cantelli-bound").admits(debate)


def test_a_smaller_variance_proxy_would_be_refuted() -> None:
    debate = GapDebate(ONE, ONE, 500, 1000, Fraction(2, 25))
    total = float(debate.alpha + debate.beta)
    assert (
        debate.prob_far_from_mean
        <= debate.sub_gaussian_bound
        == pytest.approx(2 * exp(-2 * (total + 1) * 0.08**2))
    )
    assert debate.prob_far_from_mean > 2 * exp(-3 * (total + 1) * 0.08**2)


@given(trials())
def test_the_condition_is_the_one_that_the_model_uses(trial: Trial) -> None:
    gap = BetaGap([float(trial.a)], [float(trial.b)])  # type: ignore[arg-type]  # lists become arrays
    lowers = gap.success_lowers_variance() if trial.grew else gap.failure_lowers_variance()
    assert bool(lowers[0]) == (trial.condition > 0)


@given(trials())
def test_the_variance_falls_on_average_over_the_posteriors_own_forecast(trial: Trial) -> None:
    chance = trial.a / (trial.a + trial.b)
    grew, not_grew = replace(trial, grew=True), replace(trial, grew=False)
    assert chance * grew.after + (1 - chance) * not_grew.after < trial.before


def test_a_condition_with_the_wrong_sign_would_be_noticed() -> None:
    class Wrong(Trial):
        @property
        def condition(self) -> Fraction:
            return -super().condition

    assert claim("variance-condition").margin(Wrong(Fraction(3), ONE, grew=False)) < 0
    assert claim("variance-condition").margin(Trial(Fraction(3), ONE, grew=False)) > 0


def test_a_law_that_is_a_power_at_round_levels_only_is_no_power() -> None:
    """Scores near the upper tenths of [0, 1] share all nine deciles with the uniform law, and nothing else."""
    bunched = MixtureLaw([uniform((j + 0.9) / 10, (j + 1) / 10) for j in range(10)], [0.1] * 10)
    pair = Advocates(bunched, uniform(), 3)
    assert claim("lehmann-invariance").margin(pair) < -0.05
    assert not claim("lehmann-invariance").admits(pair)


def test_theorem_a_needs_its_order() -> None:
    pair = Advocates(uniform(0.5, 1), uniform(), 2)
    assert not claim("theorem-a").admits(pair)
    assert claim("theorem-a").margin(pair) == pytest.approx(1 / 6 - 1 / 4)


def test_theorem_a_needs_no_dominance() -> None:
    pair = Advocates(uniform(-5, 0), uniform(2, 3), 4)
    assert claim("theorem-a").admits(pair)
    assert not claim("d3-theorem-3-signed").admits(pair)
    # The gains are (k-1) / (2 (k+1)) of the widths, least for two advocates: one, who gains nothing, is no case.
    assert claim("d3-theorem-3-signed").margin(pair) == pytest.approx((5 - 1) * 0.3)
    assert claim("theorem-a").margin(pair) == pytest.approx((5 - 1) / 6)


def test_excess_wealth_alone_does_not_make_means_part_with_every_advocate() -> None:
    # One jump of 1 at the level 1/2 against one of 4/3 at 5/8, larger in excess wealth and not dispersive.
    steep = Advocates(as_law({0: 5 / 8, 4 / 3: 3 / 8}), COIN, 6)
    assert claim("theorem-a").admits(steep)
    assert not claim("theorem-a-monotone").admits(steep)
    assert claim("theorem-a").margin(steep) >= -1e-12
    wide = Advocates(uniform(0, 1.1), uniform(), 5)
    assert claim("theorem-a-monotone").admits(wide)
    assert separation(wide.first, wide.second, [1, 2, 3, 5]).mean_gap == pytest.approx(
        [0.05, 1 / 15, 0.075, 1 / 12]
    )
    assert claim("theorem-a-monotone").margin(wide) > 0


def test_theorem_a_needs_no_excess_wealth() -> None:
    """A point at 1 split into 0 and 2, beside one at 3: the spread is below the rest, where excess wealth is less."""
    pair = Advocates(as_law({0: 1 / 4, 2: 1 / 4, 3: 1 / 2}), as_law({1: 1 / 2, 3: 1 / 2}), 2)
    assert not excess_wealth_order(pair.first, pair.second).holds
    assert claim("theorem-a").admits(pair)
    # E M = sum of x P(M = x): 2 (3/16) + 3 (3/4) = 2.625 for the first, 1/4 + 3 (3/4) = 2.5 for the second.
    assert claim("theorem-a").margin(pair) == pytest.approx(0.125)


def test_the_gain_of_the_best_of_k_is_an_integral_of_the_centred_upper_tail() -> None:
    """E M - E G = k (k - 1) times the integral of H(u) u^(k-2): the step of theorem A's proof, with exact fractions."""
    law = {0: Fraction(1, 4), 2: Fraction(1, 4), 3: Fraction(1, 2)}
    mean = sum(x * p for x, p in law.items())
    for k in (2, 3, 5):
        level, upper, integral, best = Fraction(0), Fraction(0), Fraction(0), Fraction(0)
        for x, p in law.items():
            # H is linear with slope mean - x between two levels.
            low, high, slope = level, level + p, mean - x
            start = upper - slope * low
            integral += start * (high ** (k - 1) - low ** (k - 1)) / (k - 1) + slope * (high**k - low**k) / k
            level, upper, best = high, upper + slope * p, best + x * (high**k - low**k)
        assert best - mean == k * (k - 1) * integral


def test_the_identity_is_exact_for_a_rubric_by_hand() -> None:
    # W is 3/8 below the level 5/8 and 0 above; 1 + 2u integrates to 5/8 + 25/64 there.
    found = claim("theorem-a-identity").quantities(BestOf(as_law({0: 5 / 8, 1: 3 / 8}), 3))
    assert found["integral of the excess wealth"] == pytest.approx(3 / 8 * (5 / 8 + 25 / 64))
    assert found["E M - E G"] == pytest.approx(1 - (5 / 8) ** 3 - 3 / 8)


def test_theorem_b_counts_a_tie_in_full() -> None:
    silent = MixtureLaw([DiscreteLaw([0], [1]), exponential(1)], [0.8, 0.2])
    pair = Advocates(Moved(silent, 0.0, 1.5), silent, 3)
    now = separation(pair.first, pair.second)
    assert now.prob_first[0] < 0.5 < now.prob_first[0] + now.prob_tie[0]
    assert claim("theorem-b").admits(pair)
    assert claim("theorem-b").margin(pair) > 0


def test_theorem_b_fails_without_each_of_its_conditions() -> None:
    b = claim("theorem-b")

    def lacking(pair: Advocates) -> list[str]:
        return [a.words[:12] for a in b.assumptions if not a.holds(pair)]

    ceiling = Advocates(uniform(0.25, 1.25), uniform(), 2)
    assert lacking(ceiling) == ["M_i - E M_i "]
    less = Advocates(Moved(exponential(1), 3.0, 1.0), exponential(2), 2)
    assert lacking(less) == ["E M1 - E M2 "]
    behind = Advocates(exponential(2), Moved(exponential(1), 10.0, 1.0), 2)
    assert lacking(behind) == ["P(G1 >= G2) "]
    for pair in (ceiling, less, behind):
        assert b.margin(pair) < -0.01


@pytest.mark.parametrize(
    "law", [COIN, uniform(), beta(2, 8), as_law({1: 0.5, 20: 0.5}), MixtureLaw([SURE, uniform()], [0.9, 0.1])]
)
def test_theorem_b_does_not_apply_under_a_ceiling(law: ScoreLaw) -> None:
    for pair in (Advocates(law, DiscreteLaw([0], [1]), 2), Advocates(law, law, 5)):
        assert not claim("theorem-b").admits(pair)
    assert "does not apply to a rubric" in claim("theorem-b").statement


def test_theorem_b_covers_a_sure_score_up_to_the_median() -> None:
    law, b = weibull(0.7, 2), claim("theorem-b")
    median = float(law.quantile(0.5))
    pair = Advocates(law, DiscreteLaw([median], [1]), 3)
    assert b.admits(pair)
    assert b.margin(pair) > 0.1
    assert not b.admits(replace(pair, second=DiscreteLaw([1.01 * median], [1])))


@pytest.mark.parametrize(
    ("first", "second", "limit"),
    [
        (as_law({1: 0.5, 20: 0.5}), as_law({1: 0.9, 20: 0.1}), 0.0),
        (as_law({1: 0.5, 19: 0.5}), as_law({1: 0.9, 20: 0.1}), 1.0),
        (uniform(0, 3), beta(2, 1), 2.0),
    ],
)
def test_the_gap_tends_to_that_of_the_ceilings(first: ScoreLaw, second: ScoreLaw, limit: float) -> None:
    assert separation(first, second, 10**4).expected_gap[0] == pytest.approx(limit, abs=5e-4)
    bound = claim("theorem-c").quantities(Advocates(first, second, 10**4))["E (s1 - M1) + E (s2 - M2)"]
    assert bound == pytest.approx(0.0, abs=5e-4)


def test_beyond_the_computed_numbers_of_advocates_the_gap_is_bounded() -> None:
    pair = Advocates(beta(1.5, 2), beta(2, 1.5), 2)
    gap = float(separation(pair.first, pair.second).expected_gap[0])
    [computed] = proved_here._late_gaps(pair, gap, [3_000])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proved_here, "_COMPUTED", 100)
        [bound] = proved_here._late_gaps(pair, gap, [3_000])
    assert computed <= bound <= 0.41 * gap


def test_a_common_ceiling_ends_the_growth_even_where_few_advocates_help() -> None:
    pair = Advocates(beta(2, 8), beta(1, 8), 3)
    assert claim("d3-theorem-3-absolute").margin(pair) > 0
    late = claim("common-ceiling").quantities(pair)
    assert late["K"] > 10_000  # too many to be computed: theorem-c bounds the gap there
    assert late["bound on E|M1 - M2| at K"] <= 0.8 * late["E|G1 - G2|"]
    assert claim("common-ceiling").margin(pair) > 0
    assert not claim("common-ceiling").admits(Advocates(SURE, SURE, 2))
    assert not claim("common-ceiling").admits(Advocates(uniform(0, 1.1), uniform(), 2))


def test_an_aggregator_that_disagrees_loses_up_to_twice_the_disagreement() -> None:
    scores: dict[str, Any] = {"judge": (Fraction(1, 2), Fraction(7, 10)), "temperature": Fraction(1, 10)}
    team = Team(inner=(Fraction(3, 5), Fraction(3, 5)), **scores)
    assert claim("advocates-aggregation").fails_on(team)
    assert claim("aggregation-loss").margin(team) == 0
    assert claim("advocates-aggregation").admits(Team(inner=scores["judge"], **scores), corrected=True)


@pytest.mark.parametrize("field", ["value", "slope", "entropy_bound"])
def test_a_fault_of_the_softmax_cannot_hide_behind_a_clip(
    field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best score itself, in place of A, satisfies every bound and would not be noticed by them."""
    bounds = claim("softmax-weighted-bounds")
    judge = (Fraction(9, 10), Fraction(17, 20), Fraction(2, 5))
    team = Team(judge, judge, Fraction(1, 10))
    assert bounds.margin(team) >= -1e-14

    def faulty(scores: Any, temperature: float) -> Any:
        found = softmax_weighted(scores, temperature)
        return replace(found, **{field: found.best if field == "value" else 0.9 * getattr(found, field)})

    monkeypatch.setattr(proved_here, "softmax_weighted", faulty)
    assert bounds.margin(team) < -1e-4


@pytest.mark.parametrize(
    ("temperature", "weighted"),
    [
        (Fraction(1, 10), 0.8791135175227547),
        (Fraction(1), 0.7628382688248686),
        (Fraction(1, 100), 0.8996653574537858),
    ],
)
def test_the_softmax_weighted_score_of_three_arguments(temperature: Fraction, weighted: float) -> None:
    judge = (Fraction(9, 10), Fraction(17, 20), Fraction(2, 5))
    team = Team(judge, judge, temperature)
    found = claim("softmax-weighted-bounds").quantities(team)
    assert found["A"] == pytest.approx(weighted, abs=1e-15)
    assert found["Var_p(g)"] == pytest.approx(found["dA / d(1/tau)"], rel=1e-12)
    assert claim("softmax-weighted-bounds").margin(team) >= -1e-14


@given(discussions())
def test_the_condition_for_amplification_is_the_models(case: Discussion) -> None:
    table = [[float(p) for p in row] for row in case.table]
    found = amplifies([float(p) for p in case.prior], table, 0, list(case.heard))
    assert found.after == pytest.approx(case.after, rel=1e-12)
    if case.prob_under_truth != case.prob_under_belief:
        assert found.rises == (case.prob_under_truth > case.prob_under_belief)


def test_with_unequal_strengths_the_mean_belief_drifts_towards_the_strong() -> None:
    panel = Listeners(((9, 1), (1, 1)), ((1,), (0,)))
    drift = [after - now for after, now in zip(panel.next_beliefs, panel.beliefs, strict=True)]
    assert sum(drift) > 0
    assert float(sum(drift) / 2) == pytest.approx(float(panel_drift(*as_arrays(panel))), rel=1e-12)
    assert not claim("panel-mean-martingale").admits(panel)
    assert claim("panel-mean-martingale").margin(panel) < 0


@given(count_chains())
def test_the_absorbed_chain_is_what_a_linear_solver_finds(case: CountChain) -> None:
    n = case.panel
    steps = np.array([[float(p) for p in row] for row in case.steps])
    inner = steps[1:n, 1:n]
    solved = np.linalg.solve(np.eye(n - 1) - inner, steps[1:n, n]) if n > 1 else []
    assert [float(h) for h in absorbed_right(case.steps)[1:n]] == pytest.approx(list(solved), abs=1e-10)


@given(condorcet_chains())
def test_consensus_is_right_as_often_as_the_model_says(case: CountChain) -> None:
    assert float(case.prob_right) == pytest.approx(
        consensus_probability(float(case.mean_accuracy)), abs=1e-12
    )


def test_a_panel_that_follows_its_majority_is_no_martingale_and_breaks_theorem_d() -> None:
    """All take the side of the majority: the consensus is then Condorcet's, above the mean accuracy."""
    follow = ((1, 0, 0, 0), (1, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 1))
    p = Fraction(7, 10)
    first = tuple(c * p**s * (1 - p) ** (3 - s) for s, c in enumerate((1, 3, 3, 1)))
    case = CountChain(first, tuple(tuple(Fraction(x) for x in row) for row in follow))
    assert case.prob_right == Fraction(98, 125)
    assert claim("theorem-d").margin(case) == pytest.approx(-0.084)
    assert not claim("theorem-d").admits(case)


def test_where_beliefs_are_martingales_the_count_of_votes_need_not_be() -> None:
    """Two agents with counts (1, 1) have both said the right answer: each now believes 2/3, not 1."""
    before, after = (Listeners((pair, pair), ((1,), (0,))) for pair in ((1, 1), (2, 1)))
    assert before.next_beliefs == before.beliefs
    assert after.next_beliefs == after.beliefs
    said, expected_next = 2, sum(after.beliefs)
    assert expected_next == Fraction(4, 3) < said
    theorem = claim("theorem-d")
    assert "voter model" in theorem.source.place
    assert "2508.17536" not in str(theorem.source)


def test_where_the_majority_is_likely_wrong_consensus_beats_the_vote() -> None:
    case = voters((Fraction(0), Fraction(0), Fraction(0), Fraction(1), *[Fraction(0)] * 4))
    assert (case.prob_majority_right, case.prob_right) == (0, Fraction(3, 7))
    assert not claim("vote-beats-consensus").admits(case)
    assert claim("vote-beats-consensus").margin(case) < 0


def test_carrying_finished_debates_forward_makes_the_distance_fall_by_itself() -> None:
    moving = TwoRounds(3, (1, 1, 2), (2, 2, 3))
    carried = TwoRounds(3, moving.before + (3,) * 9, moving.after + (3,) * 9)
    assert carried.distance == pytest.approx(moving.distance * 3 / 12)
    assert carried.distance <= carried.share_changed == 3 / 12


def test_a_tie_is_a_side_of_its_own() -> None:
    assert TwoRounds(2, (1, 1, 0), (2, 1, 1)).share_flipped == pytest.approx(2 / 3)
