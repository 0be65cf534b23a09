"""What each sequential rule looks at, what it ignores, and what it refuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stopping_strategies import logs

from d3stats.stopping import (
    SPRT,
    AdaptiveConsistency,
    BettingConfidence,
    EProcess,
    ESCWindow,
    GapPosterior,
    LookAhead,
    Round,
    Rule,
    TokenBudget,
    Unanimity,
    from_text,
    rounds_of,
)
from d3stats.stopping.sequential import TallyRule, camps_of
from d3stats.stopping.votes import _fires_in_step, _fires_vote_by_vote
from d3stats.trajectories import MISSING, Trajectories

TALLY_RULES: tuple[TallyRule, ...] = (
    SPRT(),
    EProcess(0.2),
    EProcess(0.3, a=0.5, b=2.0),
    BettingConfidence(0.2),
    AdaptiveConsistency(),
    LookAhead(),
)


def single_votes(*votes: int) -> list[Round]:
    return [Round(i + 1, (vote,), 1) for i, vote in enumerate(votes)]


# ---------------------------------------------------------------- tallies


@pytest.mark.parametrize(
    ("rule", "needed"),
    [(EProcess(), 8), (BettingConfidence(), 8), (AdaptiveConsistency(), 4), (SPRT(), 4), (ESCWindow(), 5)],
    ids=str,
)
def test_so_many_unanimous_votes_suffice_and_one_fewer_does_not(rule: Rule, needed: int) -> None:
    assert rule.run(single_votes(*[3] * 12)) == (needed, rule.reason)
    assert rule.run(single_votes(*[3] * (needed - 1))) == (needed - 1, "exhausted")


def test_a_statistic_that_equals_its_bound_on_paper_is_enough() -> None:
    # 2^7 / 8 = 16, and P(Beta(5, 1) > 1/2) = 31/32.
    assert EProcess(1 / 16).votes_needed(0) == 7
    assert AdaptiveConsistency(31 / 32).votes_needed(0) == 4
    # (.05, .05) at p = .95 asks for exactly one vote.
    assert SPRT(0.95).lead_needed == 1


def test_an_uneven_prior_is_read_both_ways_round() -> None:
    rule = EProcess(a=3.0, b=1.0)
    both = [EProcess(a=a, b=b).e_value(6, 2) for a, b in ((3.0, 1.0), (1.0, 3.0))]
    assert both[0] == pytest.approx(both[1])
    assert rule.e_value(6, 2) == pytest.approx(rule.e_value(2, 6))


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_confidence_sequence_leaves_out_one_half_where_the_rule_stops(k: int, s: int) -> None:
    rule = BettingConfidence()
    low, high = rule.interval(k, s)
    assert 0 <= low < high <= 1
    assert (low >= 0.5 or high <= 0.5) == (max(k, s) >= rule.votes_needed(min(k, s)))
    assert rule.interval(s, k) == pytest.approx((1 - high, 1 - low))
    if k + s:
        assert low <= k / (k + s) <= high


def test_the_table_of_votes_needed_is_the_statistic_and_grows_with_the_runner_up() -> None:
    for rule in (EProcess(), EProcess(a=0.3, b=4.0), BettingConfidence(), AdaptiveConsistency(0.99)):
        needed = [rule.votes_needed(second) for second in range(200)]
        assert all(b > a for a, b in pairwise(needed))
        for second in (0, 1, 7, 63, 64, 199):
            at = np.array([needed[second] - 1, needed[second]])
            reached = rule.strength(at, np.array([second, second])) >= rule.bound - 1e-9
            assert reached.tolist() == [False, True]


def relabelled_and_shuffled(t: Trajectories, seed: int) -> Trajectories:
    rng = np.random.default_rng(seed)
    names = rng.permutation(len(t.answers))
    votes = np.where(t.votes == MISSING, MISSING, names[t.votes]).astype(np.int32)
    for i in range(t.n_debates):
        votes[i, :, : t.panel[i]] = rng.permutation(votes[i, :, : t.panel[i]], axis=1)
    return replace(t, votes=votes)


@given(st.sampled_from(TALLY_RULES), st.sampled_from(["all", "latest"]), logs(), st.integers(0, 999))
def test_neither_the_order_of_the_seats_nor_the_names_of_the_answers_matter(
    rule: TallyRule, evidence: str, t: Trajectories, seed: int
) -> None:
    same = replace(rule, evidence=evidence)  # type: ignore[type-var]  # every rule is a dataclass
    assert same.fires(relabelled_and_shuffled(t, seed)).tolist() == same.fires(t).tolist()


@pytest.mark.parametrize("n_answers", [1, 2, 6, 7, 30, 500])
@pytest.mark.parametrize("evidence", ["all", "latest"])
def test_the_two_largest_camps_are_those_of_a_plain_count(n_answers: int, evidence: str) -> None:
    rng = np.random.default_rng(n_answers)
    votes = rng.integers(0, n_answers, size=(40, 5, 4)) // rng.integers(1, 6, size=(40, 1, 1))
    votes[rng.random(votes.shape) < 0.2] = MISSING
    votes[:3] = MISSING
    t = Trajectories.from_arrays(votes, answers=[str(i) for i in range(n_answers)])
    lead, second = camps_of(t, evidence)  # type: ignore[arg-type]  # one of the two
    for i in range(40):
        for r in range(5):
            seen = votes[i, : r + 1] if evidence == "all" else votes[i, r]
            sizes = [n for _, n in Counter(seen[seen != MISSING].tolist()).most_common(2)]
            assert [lead[i, r], second[i, r]] == [*sizes, 0, 0][:2]


@pytest.mark.parametrize("n_answers", [2, 300])
def test_more_debates_than_a_block_are_counted_like_few(n_answers: int) -> None:
    rng = np.random.default_rng(3)
    votes = rng.integers(0, n_answers, size=(9_000, 2, 2))
    t = Trajectories.from_arrays(votes, answers=[str(i) for i in range(n_answers)])
    tail = t.select(np.arange(8_190, 9_000))
    for whole, part in zip(camps_of(t, "all"), camps_of(tail, "all"), strict=True):
        assert (whole[8_190:] == part).all()


def test_the_remembered_camps_cannot_be_changed() -> None:
    t = Trajectories.from_arrays([[["A", "B"]]])
    with pytest.raises(ValueError, match="read-only"):
        camps_of(t, "all")[0][0, 0] = 7


@pytest.mark.parametrize("rule", TALLY_RULES, ids=str)
def test_latest_evidence_forgets_the_rounds_before(rule: TallyRule) -> None:
    split = [Round(r, (0, 1), 2) for r in (1, 2)]
    unanimous = Round(3, (0,) * 9, 9)
    for evidence in ("all", "latest"):
        same = replace(rule, evidence=evidence)  # type: ignore[type-var]  # every rule is a dataclass
        fresh = same.start().update(replace(unanimous, number=1))
        state = same.start()
        before = [state.update(latest).stop for latest in split]
        after = state.update(unanimous)
        assert before == [False, False]
        assert fresh.detail == {"lead": 9.0, "second": 0.0}
        expected = {"lead": 11.0, "second": 2.0} if evidence == "all" else fresh.detail
        assert after.detail == expected


@pytest.mark.parametrize("rule", [*TALLY_RULES, LookAhead(1, cost=5.0)], ids=str)
def test_no_tally_rule_stops_before_the_first_vote(rule: TallyRule) -> None:
    t = Trajectories.from_arrays([[[None], [None]], [[None], ["A"]]])
    assert not rule.fires(t)[:, 0].any()
    assert not rule.start().update(Round(1, (MISSING, MISSING), 2)).stop


def test_look_ahead_knows_that_a_larger_panel_buys_more_votes() -> None:
    rule = LookAhead(1, p=0.7, cost=0.01)
    assert [rule.lead_needed(panel) for panel in (1, 3, 7)] == [1, 3, 4]
    one, seven = Round(1, (0, *[MISSING] * 0), 1), Round(1, (0, *[MISSING] * 6), 7)
    assert rule.start().update(one).stop
    assert not rule.start().update(seven).stop


def test_a_table_of_thousands_of_votes_has_no_gap() -> None:
    assert 0 < LookAhead(1, p=0.51, cost=0.001).value(3, panel=1501) < 0.5
    assert EProcess().votes_needed(5000) < BettingConfidence().votes_needed(5000) + 1000 < 8000


# ---------------------------------------------------------------- windows


@given(logs())
def test_a_window_as_wide_as_the_panel_is_unanimity_of_the_round(t: Trajectories) -> None:
    seats = t.votes.shape[2]
    full = t.select((t.panel == seats) & ~((t.votes == MISSING).any(axis=2) & t.reached()).any(axis=1))
    expected = Unanimity(missing="block", min_votes=1).stop_rounds(full).rounds
    assert ESCWindow(seats).stop_rounds(full).rounds.tolist() == expected.tolist()


@given(logs(), st.integers(1, 8))
def test_debates_without_a_missing_vote_take_a_shorter_way_to_the_same_rounds(
    t: Trajectories, window: int
) -> None:
    full = np.where(t.votes == MISSING, 0, t.votes)
    short = _fires_in_step(full, window)
    assert short.tolist() == _fires_vote_by_vote(full, window).tolist()


def test_windows_do_not_overlap_and_wait_for_missing_votes() -> None:
    assert ESCWindow(3).run(single_votes(1, 0, 0, 0, 0, 0)) == (6, "esc_window")
    assert ESCWindow(3).run(single_votes(0, MISSING, 0, MISSING, 0)) == (5, "esc_window")
    # Votes 4 and 5 open a window that the next round has to fill.
    assert ESCWindow(3).run([Round(1, (0, 1, 0, 2, 2), 5), Round(2, (2, 0, 0, 1, 1), 5)]) == (2, "esc_window")


# ---------------------------------------------------------------- gaps


def gap_log(gaps: np.ndarray) -> Trajectories:
    scores = np.stack([60 + gaps / 2, 60 - gaps / 2], axis=2)
    return Trajectories.from_arrays(
        np.zeros((*gaps.shape, 1), dtype=int), answers=["A"], scores=scores, sides=("A", "B")
    )


def test_the_gap_posterior_is_about_growth_and_not_about_the_gap() -> None:
    creeping = np.linspace(0.001, 0.01, 10)[None, :]
    rule = GapPosterior()
    tiny, huge = rule.stop_rounds(gap_log(creeping)), rule.stop_rounds(gap_log(5000 * creeping))
    # Six rises of six: Beta(7, 1), mean 7/8, holds 1 - (5/8)^7 = .963 within 1/4; five hold .9499.
    assert tiny.rounds.tolist() == huge.rounds.tolist() == [7]
    assert tiny.reasons.tolist() == ["gap_posterior"]
    # The sign is not seen either: it stops as soon when the lead changes hands every round.
    swinging = creeping * np.where(np.arange(10) % 2, 1, -1)
    assert rule.stop_rounds(gap_log(swinging)).rounds.tolist() == [7]
    # A side that is ahead by a steady 100 points leaves it as sure as gaps that only shrink: growth is rare.
    steady = np.full((1, 10), 100.0)
    assert rule.stop_rounds(gap_log(steady)).rounds.tolist() == [7]


def test_gaps_that_rise_and_fall_keep_the_posterior_wide() -> None:
    saw = np.tile([1.0, 5.0], 5)[None, :]
    assert GapPosterior().stop_rounds(gap_log(saw)).reasons.tolist() == ["exhausted"]


def test_the_mass_of_the_gap_posterior_is_the_integral_of_the_beta_density() -> None:
    grid = (np.arange(200_000) + 0.5) / 200_000
    rule = GapPosterior(width=0.2, a=2.0, b=1.0)
    for grown, compared in ((0, 0), (3, 3), (2, 7), (0, 9)):
        a, b = 2.0 + grown, 1.0 + compared - grown
        density = grid ** (a - 1) * (1 - grid) ** (b - 1)
        inside = np.abs(grid - a / (a + b)) < 0.2
        assert rule.mass(grown, compared) == pytest.approx(density[inside].sum() / density.sum(), abs=1e-4)


def test_a_missing_score_is_no_comparison() -> None:
    gaps = np.array([[1.0, 2.0, np.nan, 3.0, 4.0, 5.0, 6.0, 7.0]])
    known = GapPosterior().stop_rounds(gap_log(gaps[:, ~np.isnan(gaps[0])])).rounds
    assert (GapPosterior().stop_rounds(gap_log(gaps)).rounds == known + 1).all()


def test_the_gap_posterior_needs_scores_of_two_sides_on_both_faces() -> None:
    bare = Trajectories.from_arrays([[["A"]]])
    three = Trajectories.from_arrays([[["A"]]], scores=[[[1.0, 2.0, 3.0]]], sides=("A", "B", "C"))
    for t in (bare, three):
        with pytest.raises(ValueError, match="scores must be given for two sides, because gap_posterior"):
            GapPosterior().stop_rounds(t)
        with pytest.raises(ValueError, match="scores must be given for two sides, because gap_posterior"):
            GapPosterior().run(rounds_of(t, 0))


# ---------------------------------------------------------------- tokens


def token_log(costs: list[list[float]]) -> Trajectories:
    votes = np.zeros((len(costs), len(costs[0]), 1), dtype=int)
    return Trajectories.from_arrays(votes, answers=["A"], tokens=costs)


@st.composite
def costs_that_grow_by_at_most(draw: st.DrawFn) -> tuple[TokenBudget, list[float]]:
    """A budget, a stated bound on the growth of round costs, and rounds that obey it."""
    first = draw(st.integers(1, 400))
    budget = draw(st.integers(first, 4000))
    kind = draw(st.sampled_from(["linear", "number", "most"]))
    costs = [first]
    if kind == "most":
        rule, most = TokenBudget(budget, next_round_max=500), 500
        costs += draw(st.lists(st.integers(0, most), max_size=12))
    elif kind == "number":
        growth = draw(st.integers(0, 100))
        rule = TokenBudget(budget, growth=growth)
        for step in draw(st.lists(st.integers(-200, growth), max_size=12)):
            costs.append(max(0, costs[-1] + step))
    else:
        factor = draw(st.integers(1, 4))
        rule = TokenBudget(budget, factor=factor)
        room = (factor - 1) * first
        for _ in range(draw(st.integers(0, 12))):
            costs.append(max(0, costs[-1] + draw(st.integers(-200, room))))
            room = max(0, costs[-1] - costs[-2])
    return rule, [float(c) for c in costs]


@given(costs_that_grow_by_at_most())
def test_the_budget_is_never_overspent_when_costs_grow_as_stated(
    case: tuple[TokenBudget, list[float]],
) -> None:
    rule, costs = case
    stops = rule.stop_rounds(token_log([costs]))
    assert sum(costs[: stops.rounds[0]]) <= rule.budget


@given(st.integers(1, 500), st.integers(0, 500), st.integers(1, 20_000))
def test_with_linear_costs_the_last_round_that_fits_is_played(first: int, growth: int, extra: int) -> None:
    growth = min(growth, first)
    costs = [float(first + growth * r) for r in range(60)]
    # Room for the first two rounds at the assumed factor; from then on the growth is known.
    budget = float(3 * first + extra)
    stops = TokenBudget(budget).stop_rounds(token_log([costs]))
    spent = np.cumsum(costs)
    if spent[-1] > budget:
        assert stops.reasons.tolist() == ["token_budget"]
    assert stops.rounds[0] == min(60, int((spent <= budget).sum()))


def test_the_budget_stops_before_the_round_that_would_overspend() -> None:
    costs = [[100.0, 100.0, 100.0, 100.0]]
    for budget, played in ((400, 4), (399, 3), (300, 3), (299, 2), (1, 1)):
        rule = TokenBudget(budget, growth=0)
        assert rule.stop_rounds(token_log(costs)).rounds.tolist() == [played]


def test_a_round_of_unknown_cost_ends_the_debate_and_says_why() -> None:
    t = token_log([[10.0, np.nan, 10.0], [10.0, 10.0, 10.0], [np.nan, 10.0, 10.0]])
    stops = TokenBudget(1000).stop_rounds(t)
    assert stops.rounds.tolist() == [2, 3, 1]
    assert stops.reasons.tolist() == ["tokens_unknown", "exhausted", "tokens_unknown"]
    played = [TokenBudget(1000).run(rounds_of(t, i)) for i in range(3)]
    assert played == list(zip(stops.rounds.tolist(), stops.reasons.tolist(), strict=True))
    assert TokenBudget(1000).fires(t)[0].tolist() == [False, True, True]


@given(
    st.lists(st.lists(st.one_of(st.just(np.nan), st.floats(0, 1e6)), min_size=5, max_size=5), min_size=1),
    st.sampled_from([TokenBudget(3e5), TokenBudget(1e6, factor=1.5), TokenBudget(1e6, growth=7.3)]),
)
def test_both_faces_add_tokens_to_the_last_bit(costs: list[list[float]], rule: TokenBudget) -> None:
    t = token_log(costs)
    stops = rule.stop_rounds(t)
    played = [rule.run(rounds_of(t, i)) for i in range(len(costs))]
    assert played == list(zip(stops.rounds.tolist(), stops.reasons.tolist(), strict=True))


def test_a_log_without_tokens_is_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match=r"^tokens must be logged, because token_budget .*; got none$"):
        TokenBudget(10).stop_rounds(Trajectories.from_arrays([[["A"]]]))


# ---------------------------------------------------------------- arguments and text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SPRT(0.5), r"p must be above 1/2; got p=0.5"),
        (lambda: SPRT(1.0), r"p must lie strictly between 0 and 1; got p=1.0"),
        (lambda: SPRT(alpha=0.6, beta=0.4), r"alpha \+ beta must be below 1"),
        (lambda: SPRT(evidence="pooled"), r"evidence must be one of 'all', 'latest'; got evidence='pooled'"),
        (lambda: EProcess(0.0), r"alpha must lie strictly between 0 and 1"),
        (lambda: EProcess(a=0.0), r"a must be > 0; got a=0.0"),
        (lambda: EProcess(b=float("nan")), r"b must be finite"),
        (lambda: BettingConfidence(1.0), r"alpha must lie strictly between 0 and 1"),
        (lambda: BettingConfidence(bets=0), r"bets must be >= 1"),
        (lambda: AdaptiveConsistency(0.5), r"threshold must be above 1/2"),
        (lambda: ESCWindow(0), r"window must be >= 1"),
        (lambda: GapPosterior(1.0), r"level must lie strictly between 0 and 1"),
        (lambda: GapPosterior(width=0.0), r"width must lie strictly between 0 and 1"),
        (lambda: GapPosterior(b=-1), r"b must be > 0"),
        (lambda: LookAhead(0), r"m must be >= 1"),
        (lambda: LookAhead(p=0.4), r"p must be above 1/2"),
        (lambda: LookAhead(cost=-0.1), r"cost must be >= 0"),
        (lambda: TokenBudget(0), r"budget must be > 0"),
        (lambda: TokenBudget(10, growth="cubic"), r"growth must be 'linear' or a number of tokens"),
        (lambda: TokenBudget(10, growth=-1), r"growth must be >= 0"),
        (lambda: TokenBudget(10, factor=0.5), r"factor must be >= 1"),
        (lambda: TokenBudget(10, growth=1, next_round_max=5), r"next_round_max must be given without growth"),
    ],
)
def test_an_argument_out_of_range_is_named(make: Callable[[], Rule], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: LookAhead().value(-1), "lead must be >= 0; got lead=-1"),
        (lambda: LookAhead().value(0, panel=0), "panel must be >= 1; got panel=0"),
        (lambda: LookAhead().lead_needed(0), "panel must be >= 1; got panel=0"),
    ],
)
def test_a_question_about_no_panel_or_no_lead_is_refused(ask: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("sprt:.8,.1,.1", SPRT(0.8, 0.1, 0.1)),
        ("e_process:0.01,evidence=latest", EProcess(0.01, evidence="latest")),
        ("betting:bets=50", BettingConfidence(bets=50)),
        ("adaptive_consistency:.99", AdaptiveConsistency(0.99)),
        ("esc:3", ESCWindow(3)),
        ("gap_posterior:.9,width=.2", GapPosterior(0.9, 0.2)),
        ("look_ahead:5,p=.6,cost=.001", LookAhead(5, 0.6, 0.001)),
        ("token_budget:5000,growth=200", TokenBudget(5000, growth=200)),
        ("token_budget:5000 | esc", TokenBudget(5000) | ESCWindow()),
    ],
)
def test_the_rules_can_be_written_as_text(text: str, rule: Rule) -> None:
    assert from_text(text) == rule
    assert from_text(str(rule)) == rule
