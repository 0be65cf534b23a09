"""The rules of the published debate systems: what each paper says, on series where it can be told apart."""

from __future__ import annotations

import difflib
import functools
import itertools
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stopping_strategies import logs

from d3stats.log.importers import load
from d3stats.log.schema import Turn
from d3stats.planning import replay
from d3stats.stopping import (
    BudgetedStopping,
    ChatEvalTurns,
    Declaration,
    ExchangeOfThought,
    FixedRounds,
    Round,
    Rule,
    ScoreDeclaration,
    SignAgreement,
    from_text,
    rounds_of,
)
from d3stats.trajectories import MISSING, Trajectories

PAPER, CODE = BudgetedStopping.d3_paper(), BudgetedStopping.d3_code()


def scored(gaps: list[list[float | None]], tokens: list[list[float]] | None = None) -> Trajectories:
    """A log of debates with these gaps, in raw points around 60; None is a missing score."""
    points = [[(60 + (np.nan if gap is None else gap), 60.0) for gap in debate] for debate in gaps]
    votes = np.zeros((len(gaps), len(gaps[0]), 1), dtype=int)
    return Trajectories.from_arrays(votes, answers=["A"], scores=points, sides=("A", "B"), tokens=tokens)


def stops(rule: Rule, t: Trajectories) -> list[tuple[int, str]]:
    """Where and why the rule stops each debate; both faces are asked and must say the same."""
    result = rule.stop_rounds(t)
    vectorised = list(zip(result.rounds.tolist(), result.reasons.tolist(), strict=True))
    assert vectorised == [rule.run(rounds_of(t, i)) for i in range(t.n_debates)]
    return vectorised


def stop(rule: Rule, *gaps: float | None) -> tuple[int, str]:
    return stops(rule, scored([list(gaps)]))[0]


# ---------------------------------------------------------------- D3, budgeted stopping


@pytest.mark.parametrize(
    ("gaps", "paper", "code"),
    [
        ((4, 5, 5, 5, 5), (2, "gap_stable"), (3, "gap_stable")),
        ((4, 5, 6, 6, 7), (2, "gap_stable"), (4, "gap_stable")),
        ((3, -3, 3, -3, 3), (5, "round_cap"), (3, "gap_stable")),
        ((9, 4, 2, 1, 3), (3, "gap_stable"), (5, "gap_stable")),
        ((0, 10, 20, 30, 40), (5, "round_cap"), (5, "round_cap")),
        ((7, 5, 6, 9, 9), (2, "gap_stable"), (3, "gap_stable")),
        ((1, 4, 7, 6, 6), (4, "gap_stable"), (5, "gap_stable")),
    ],
)
def test_the_paper_and_its_code_stop_at_different_rounds(
    gaps: tuple[float, ...], paper: tuple[int, str], code: tuple[int, str]
) -> None:
    assert (stop(PAPER, *gaps), stop(CODE, *gaps)) == (paper, code)


def test_the_code_counts_a_change_of_the_leader_as_stable_and_the_paper_does_not() -> None:
    assert stop(CODE, 3, -3, 3, 9, 9) == (3, "gap_stable")
    assert stop(PAPER, 3, -3, 3, 9, 9) == (5, "gap_stable")


@pytest.mark.parametrize("step", [1, -1])
def test_a_strict_trend_refuses_to_stop_in_the_code_however_small_it_is(step: int) -> None:
    trend = [20 + step * 1.4 * r for r in range(4)]
    assert stop(CODE, *trend) == (4, "exhausted")
    assert stop(BudgetedStopping(3, window=3, min_rounds=3, absolute=True), *trend) == (3, "gap_stable")
    plateau = [trend[0], trend[1], trend[1]]
    assert stop(CODE, *plateau) == (3, "gap_stable")


def test_the_range_must_lie_strictly_below_epsilon() -> None:
    assert stop(PAPER, 5, 8, 10.5) == (3, "gap_stable")
    assert stop(CODE, 5, 8, 6) == (3, "exhausted")
    assert stop(CODE, 5, 7.5, 6) == (3, "gap_stable")


@given(logs())
def test_the_code_cannot_call_a_gap_stable_before_round_three(t: Trajectories) -> None:
    result = CODE.stop_rounds(t)
    assert (result.rounds[result.reasons == "gap_stable"] >= 3).all()


def test_the_paper_may_stop_at_round_two() -> None:
    assert stop(PAPER, 6, 6) == (2, "gap_stable")


@pytest.mark.parametrize("rule", [PAPER, BudgetedStopping(100, window=3)])
def test_a_missing_score_is_no_evidence_of_stability(rule: BudgetedStopping) -> None:
    assert stop(rule, 5, None, 5, None, 5)[1] != "gap_stable"
    assert stop(rule, None, None, None)[1] == "exhausted"
    assert stop(rule, None, 5, 5, 5, 5) == (rule.window + 1, "gap_stable")


def test_a_score_that_is_no_number_is_a_missing_one_and_an_infinite_one_is_refused() -> None:
    points = np.full((1, 3, 2), 60.0)
    points[0, 1] = np.inf
    with pytest.raises(ValueError, match="scores must be at most 1e\\+50 in size; got scores=inf"):
        Trajectories.from_arrays(np.zeros((1, 3, 1), int), answers=["A"], scores=points, sides=("A", "B"))
    points[0, 1] = np.nan
    t = Trajectories.from_arrays(np.zeros((1, 3, 1), int), answers=["A"], scores=points, sides=("A", "B"))
    assert stops(PAPER, t) == [(3, "exhausted")]
    assert stops(SignAgreement(1), t) == [(3, "exhausted")]


def test_each_way_to_stop_has_its_own_reason_and_the_gap_comes_first() -> None:
    rule = BudgetedStopping(3, budget=250, max_rounds=3)
    t = scored([[0, 9, 9], [0, 9, 20], [0, 9, 20], [0, 9, 9]], [[100] * 3, [50] * 3, [100] * 3, [200] * 3])
    assert stops(rule, t) == [(3, "gap_stable"), (3, "round_cap"), (3, "token_budget"), (2, "token_budget")]


def test_the_budget_stops_the_debate_once_it_is_exceeded_not_when_it_is_met() -> None:
    t = scored([[0, 9, 20, 31, 42]], [[100] * 5])
    assert stops(BudgetedStopping(budget=300), t) == [(4, "token_budget")]
    assert stops(BudgetedStopping(budget=299), t) == [(3, "token_budget")]
    assert stops(BudgetedStopping(budget=0), t) == [(1, "token_budget")]


def plain_budgeted(rule: BudgetedStopping, t: Trajectories, debate: int) -> tuple[int, str]:
    """The definition, word by word."""
    assert t.scores is not None
    assert t.tokens is not None
    played = int(t.depth[debate])
    for r in range(1, played + 1):
        recent = [float(a - b) for a, b in t.scores[debate, :r][-rule.window :]]
        if rule.absolute:
            recent = [abs(gap) for gap in recent]
        if len(recent) == rule.window and r >= rule.min_rounds and not np.isnan(recent).any():
            ordered = sorted(recent)
            strict = len(set(recent)) == rule.window and (recent in (ordered, ordered[::-1]))
            if ordered[-1] - ordered[0] < rule.epsilon and not (rule.refuse_trend and strict):
                return r, "gap_stable"
        if rule.budget is not None and t.tokens[debate, :r].sum() > rule.budget:
            return r, "token_budget"
        if rule.max_rounds is not None and r == rule.max_rounds:
            return r, "round_cap"
    return played, "exhausted"


@given(
    st.builds(
        BudgetedStopping,
        st.sampled_from([0.5, 1, 2, 3, 5]),
        window=st.integers(2, 4),
        min_rounds=st.integers(1, 5),
        absolute=st.booleans(),
        refuse_trend=st.booleans(),
        budget=st.none() | st.integers(0, 400),
        max_rounds=st.none() | st.integers(1, 6),
    ),
    logs(),
)
def test_budgeted_stopping_is_its_definition(rule: BudgetedStopping, t: Trajectories) -> None:
    assert stops(rule, t) == [plain_budgeted(rule, t, i) for i in range(t.n_debates)]
    assert from_text(str(rule)) == rule


# ---------------------------------------------------------------- advocates, sign agreement

PRINTED = [
    (Fraction(6, 10), 0.66316, 2.947),
    (Fraction(7, 10), 0.80633, 2.7975),
    (Fraction(8, 10), 0.91429, 2.571),
    (Fraction(9, 10), 0.97912, 2.297),
]


def right_by_formula(p: Fraction) -> Fraction:
    return p**2 * (1 + (1 - p)) / (1 - p * (1 - p))


def rounds_by_formula(p: Fraction) -> Fraction:
    return (2 + p * (1 - p)) / (1 - p * (1 - p))


def solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Solve a small linear system exactly."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = next(j for j in range(i, len(rows)) if rows[j][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(len(rows)):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


def law_of_signs(rule: SignAgreement, chances: dict[int, Fraction]) -> tuple[Fraction, Fraction]:
    """P(the named side is right) and the mean rounds, over all endless sign paths.

    Every path is played through the online face; paths that leave it in equal states are one from there on, so
    finitely many equations hold all of them.
    """
    states: list[Any] = [rule.start()]
    moves: list[list[tuple[Fraction, int | None, int]]] = []
    for state in states:  # grows while it is walked
        moves.append([])
        for gap, chance in chances.items():
            after = deepcopy(state)
            # The rule is told no more than the round's number, which it must not use.
            if after.update(Round(7, (), 0, scores=(60.0 + gap, 60.0))).stop:
                moves[-1].append((chance, None, gap))
                continue
            if after not in states:
                states.append(after)
            moves[-1].append((chance, states.index(after), gap))
    n = len(states)
    matrix = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    right = [Fraction(0)] * n
    for i, out in enumerate(moves):
        for chance, to, gap in out:
            if to is None:
                right[i] += chance * (gap > 0)
            else:
                matrix[i][to] -= chance
    return solved(matrix, right)[0], solved(matrix, [Fraction(1)] * n)[0]


@pytest.mark.parametrize(("p", "correct", "rounds"), PRINTED)
def test_sign_agreement_is_right_as_often_and_as_late_as_the_formula_says(
    p: Fraction, correct: float, rounds: float
) -> None:
    chance, mean = law_of_signs(SignAgreement(), {1: p, -1: 1 - p})
    assert (chance, mean) == (right_by_formula(p), rounds_by_formula(p))
    assert float(chance) == pytest.approx(correct, abs=5e-6)
    assert float(mean) == pytest.approx(rounds, abs=5e-4)


def test_sign_agreement_at_seven_tenths_beats_a_majority_of_three_for_a_fifth_of_a_round_less() -> None:
    p = Fraction(7, 10)
    chance, mean = law_of_signs(SignAgreement(), {1: p, -1: 1 - p})
    assert chance > p**3 + 3 * p**2 * (1 - p) == Fraction(784, 1000)
    assert mean < Fraction(28, 10)


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_ties_cost_rounds_and_leave_a_fair_coin_fair(patience: int) -> None:
    half = {1: Fraction(1, 2), -1: Fraction(1, 2)}
    tied = {1: Fraction(2, 5), -1: Fraction(2, 5), 0: Fraction(1, 5)}
    (chance, mean), (chance_tied, mean_tied) = (
        law_of_signs(SignAgreement(patience), x) for x in (half, tied)
    )
    assert chance == chance_tied == Fraction(1, 2)
    assert mean == 2**patience - 1 < mean_tied


@functools.cache
def sign_paths() -> tuple[list[tuple[int, ...]], list[tuple[int, str]]]:
    """Return every path of ten signs, and where and why the rule stops on it."""
    paths = list(itertools.product([1, -1], repeat=10))
    return paths, list(stops(SignAgreement(), scored([list(map(float, path)) for path in paths])))


@pytest.mark.parametrize("p", [p for p, _, _ in PRINTED])
def test_all_sign_paths_of_ten_rounds_hold_all_but_the_alternating_ones(p: Fraction) -> None:
    paths, stopped = sign_paths()
    weight = [p ** path.count(1) * (1 - p) ** path.count(-1) for path in paths]
    undecided = sum(w for w, (_, why) in zip(weight, stopped, strict=True) if why == "exhausted")
    assert undecided == 2 * (p * (1 - p)) ** 5
    right = sum(
        w
        for w, path, (at, why) in zip(weight, paths, stopped, strict=True)
        if why == "sign_agreement" and path[at - 1] > 0
    )
    assert right <= right_by_formula(p) <= right + undecided


@pytest.mark.parametrize(("p", "correct", "rounds"), PRINTED)
def test_simulated_debates_stop_by_sign_agreement_as_the_formula_says(
    p: Fraction, correct: float, rounds: float
) -> None:
    n = 10_000
    gaps = np.where(np.random.default_rng(7).random((n, 40)) < float(p), 2.0, -5.0)
    result = SignAgreement().stop_rounds(scored_arrays(gaps))
    assert set(result.reasons.tolist()) == {"sign_agreement"}
    right = gaps[np.arange(n), result.rounds - 1] > 0
    assert abs(right.mean() - correct) < 4 * np.sqrt(correct * (1 - correct) / n)
    assert abs(result.rounds.mean() - rounds) < 4 * result.rounds.std() / np.sqrt(n) + 5e-4


def scored_arrays(gaps: np.ndarray[Any, np.dtype[np.float64]]) -> Trajectories:
    points = np.stack([60.0 + gaps, np.full_like(gaps, 60.0)], axis=2)
    votes = np.zeros((*gaps.shape, 1), dtype=int)
    return Trajectories.from_arrays(votes, answers=["A"], scores=points, sides=("A", "B"))


def test_a_tied_or_missing_round_agrees_with_nothing_and_breaks_the_run() -> None:
    assert stop(SignAgreement(), 0, 0, 0, 0) == (4, "exhausted")
    assert stop(SignAgreement(), 3, 0, 3, 3) == (4, "sign_agreement")
    assert stop(SignAgreement(), 3, None, 3, 9) == (4, "sign_agreement")
    assert stop(SignAgreement(), 3, -3, -0.5, 3) == (3, "sign_agreement")
    assert stop(SignAgreement(3), 1, 1, -1, -1, -1) == (5, "sign_agreement")


# ---------------------------------------------------------------- Exchange-of-Thought


def worded(debates: list[list[tuple[str | None, ...]]]) -> Trajectories:
    return Trajectories.from_arrays(np.array(debates, dtype=object))


def test_difflib_finds_the_ratios_that_can_be_counted_by_hand() -> None:
    # Twice the matching characters over all characters: bcd of abcd and bcde; the order matters for tide, diet.
    for first, second, ratio in [("abcd", "bcde", 6 / 8), ("tide", "diet", 2 / 8), ("diet", "tide", 4 / 8)]:
        assert difflib.SequenceMatcher(None, first, second).ratio() == ratio
        t = worded([[(first, second)]])
        below, above = ratio - 1e-9, ratio
        assert stops(ExchangeOfThought(below), t) == [(1, "consensus")]
        assert stops(ExchangeOfThought(above), t) == [(1, "exhausted")]


def test_the_order_of_the_agents_is_part_of_the_rule() -> None:
    t = worded([[("tide", "diet")]])
    assert stops(ExchangeOfThought(0.3), t) == [(1, "exhausted")]
    assert stops(ExchangeOfThought(0.3, first=1, second=0), t) == [(1, "consensus")]


def test_an_agents_earlier_answer_comes_before_its_later_one() -> None:
    rule = ExchangeOfThought(1.0, 0.3, max_rounds=9)
    assert stops(rule, worded([[("diet", "x"), ("tide", "x")]])) == [(2, "agents_left")]
    assert stops(rule, worded([[("tide", "x"), ("diet", "x")]])) == [(2, "exhausted")]


def test_case_does_not_matter_and_other_seats_are_not_compared() -> None:
    t = worded([[("Yes, 12", "no way", "YES, 12"), ("Yes, 12 it is", "it is 7", "12")]])
    assert stops(ExchangeOfThought(0.95, 1.0, second=2), t) == [(1, "consensus")]
    assert stops(ExchangeOfThought(0.95, 1.0), t) == [(2, "exhausted")]


def test_answers_that_read_alike_may_differ() -> None:
    assert stops(ExchangeOfThought(), worded([[("1200", "12000")]])) == [(1, "consensus")]


def test_an_agent_that_repeats_itself_leaves_and_keeps_its_answer() -> None:
    left, right = "the train takes 4 hours", "we need 11 coins for it"
    # The first agent leaves after round 2; what it says in round 3 is not heard, so there is no consensus.
    talk = [(left, "aaaa"), (left, "bbbb"), (right, right), (left, left)]
    assert stops(ExchangeOfThought(max_rounds=9), worded([talk])) == [(4, "consensus")]
    assert stops(ExchangeOfThought(self_similarity=1, max_rounds=9), worded([talk])) == [(3, "consensus")]
    repeated = [(left, right), (left, "something else"), (left, right), (left, right)]
    assert stops(ExchangeOfThought(max_rounds=9), worded([repeated])) == [(4, "agents_left")]


def test_the_debate_ends_by_consensus_before_departure_before_the_cap() -> None:
    same, other = ("it is 12", "it is 12"), ("it is 12", "no, seven")
    rule = ExchangeOfThought(max_rounds=2)
    assert stops(rule, worded([[other, same]])) == [(2, "consensus")]
    assert stops(rule, worded([[other, other]])) == [(2, "agents_left")]
    assert stops(rule, worded([[other, ("who knows", "dunno")]])) == [(2, "round_cap")]


def test_a_missing_answer_is_like_nothing() -> None:
    t = worded([[("12", None), (None, "12"), ("12", None), (None, "12")]])
    assert stops(ExchangeOfThought(0.0, 0.0, max_rounds=9), t) == [(4, "exhausted")]
    assert stops(ExchangeOfThought(0.0, 0.0, second=4), worded([[("12", "12")]])) == [(1, "exhausted")]


WORDS = ["it is 12", "It is 12.", "it is 21", "twelve", "no", "No!", "the sum is 12", "?!"]


@given(st.integers(0, 2**32 - 1), st.floats(0, 1), st.floats(0, 1), st.integers(1, 6), st.integers(0, 2))
def test_exchange_of_thought_is_its_definition(
    seed: int, similarity: float, self_similarity: float, cap: int, second: int
) -> None:
    rng = np.random.default_rng(seed)
    votes = rng.integers(MISSING, len(WORDS), size=(6, 5, 3))
    kept = rng.random((6, 5, 3)) < 0.5
    for r in range(1, 5):
        votes[:, r][kept[:, r]] = votes[:, r - 1][kept[:, r]]
    t = Trajectories.from_arrays(votes, answers=WORDS, depth=[5] * 6)
    first = (second + 1) % 3
    rule = ExchangeOfThought(similarity, self_similarity, cap, first, second)
    expected = []
    for debate in votes.tolist():
        heard: list[list[int]] = []
        gone = [False, False]
        end = (5, "exhausted")
        for r, said in enumerate(debate, start=1):
            now = [heard[-1][i] if gone[i] else said[seat] for i, seat in enumerate((first, second))]
            before = heard[-1] if heard else [MISSING, MISSING]
            agree = ratio(now[0], now[1]) > similarity
            gone = [gone[i] or ratio(before[i], now[i]) > self_similarity for i in (0, 1)]
            heard.append(now)
            reasons = {"consensus": agree, "agents_left": all(gone), "round_cap": r >= cap}
            why = [reason for reason, holds in reasons.items() if holds]
            if why:
                end = (r, why[0])
                break
        expected.append(end)
    assert stops(rule, t) == expected


def ratio(a: int, b: int) -> float:
    """Likeness of two codes; that of a missing answer is below any threshold."""
    if MISSING in (a, b):
        return -1.0
    return difflib.SequenceMatcher(None, WORDS[a].lower(), WORDS[b].lower()).ratio()


# ---------------------------------------------------------------- declarations, ChatEval


def test_the_judge_ends_the_debate_by_casting_a_vote() -> None:
    t = worded([[("A", "B", None), ("A", "B", "A")], [("A", "A", None), ("A", "A", None)]])
    assert stops(Declaration(), t) == [(2, "declaration"), (2, "exhausted")]
    assert stops(Declaration(2), t) == stops(Declaration(-1), t)
    assert stops(Declaration() | FixedRounds(1), t) == [(1, "fixed_rounds")] * 2


def test_the_last_seat_is_that_of_each_debates_own_panel() -> None:
    votes = np.array([[["A", "B", None]], [["A", "B", "C"]], [["A", None, None]]], dtype=object)
    t = Trajectories.from_arrays(votes, panel=[2, 3, 2])
    assert stops(Declaration(), t) == [(1, "declaration"), (1, "declaration"), (1, "exhausted")]
    assert [why for _, why in stops(Declaration(2), t)] == ["exhausted", "declaration", "exhausted"]
    assert [why for _, why in stops(Declaration(-3), t)] == ["exhausted", "declaration", "exhausted"]


def test_a_judge_whose_log_writes_down_going_on_has_not_declared() -> None:
    t = worded([[("A", "no preference"), ("B", "A"), ("B", "no preference")]])
    assert stops(Declaration(), t) == [(1, "declaration")]
    rule = Declaration(undecided="no preference")
    assert stops(rule, t) == [(2, "declaration")]
    assert from_text(str(rule)) == from_text("declaration:undecided=no_preference") == rule
    assert stops(rule.after(3), t) == [(3, "exhausted")]


@pytest.mark.real_data
def test_released_translation_debates_ended_when_their_moderator_declared(data_dir: Path) -> None:
    source = data_dir / "Skytliang__Multi-Agents-Debate" / "CommonMT_MAD_Debate_Process.tar.gz"
    turns = [record.to_dict() for record in load("mad").records(source) if isinstance(record, Turn)]
    frame = pd.DataFrame(turns)
    t = Trajectories.from_frame(frame[frame["role"] == "moderator"])
    stopped = Declaration(undecided="no preference").stop_rounds(t)
    assert (stopped.rounds == t.depth).all()
    assert pd.Series(stopped.reasons).value_counts().to_dict() == {"exhausted": 165, "declaration": 35}


def test_the_evaluators_mark_ends_the_debate_and_a_missing_mark_does_not() -> None:
    marks = [[[0.0], [1.0]], [[np.nan], [0.99]], [[1.0], [0.0]]]
    t = Trajectories.from_arrays(
        np.zeros((3, 2, 1), int), answers=["A"], scores=marks, sides=("correctness",)
    )
    assert stops(ScoreDeclaration(), t) == [
        (2, "score_declaration"),
        (2, "exhausted"),
        (1, "score_declaration"),
    ]
    assert stops(ScoreDeclaration(at_least=0.9), t)[1] == (2, "score_declaration")


def test_chateval_plays_a_fixed_number_of_turns() -> None:
    t = worded([[("A", "A")] * 5])
    assert stops(ChatEvalTurns(), t) == [(2, "chateval_turns")]
    assert stops(ChatEvalTurns(4), t) == [(4, "chateval_turns")]
    assert stops(ChatEvalTurns(1), t) == [(1, "chateval_turns")]
    with pytest.raises(ValueError, match="n must be >= 1; got n=0"):
        ChatEvalTurns(0)


# ---------------------------------------------------------------- as text, in replay, and what is refused


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("budgeted", BudgetedStopping()),
        ("budgeted:2,window=3", BudgetedStopping(2, window=3)),
        (
            "budgeted:1.5,absolute=True,budget=1000,max_rounds=4",
            BudgetedStopping(1.5, 2, 1, True, False, 1000, 4),
        ),
        ("d3_paper", PAPER),
        ("d3_code", CODE),
        ("d3_paper:2,budget=9000", BudgetedStopping.d3_paper(2, budget=9000)),
        ("d3_code:5,max_rounds=7", BudgetedStopping.d3_code(5, max_rounds=7)),
        ("sign_agreement | fixed:4", SignAgreement() | FixedRounds(4)),
        ("sign_agreement:3", SignAgreement(3)),
        ("eot", ExchangeOfThought()),
        ("eot:.8,self_similarity=.95,max_rounds=5", ExchangeOfThought(0.8, 0.95, 5)),
        ("declaration", Declaration()),
        ("declaration:-2 | fixed:3", Declaration(-2) | FixedRounds(3)),
        ("score_declaration:1,at_least=0.5", ScoreDeclaration(1, 0.5)),
        ("chateval", ChatEvalTurns()),
        ("chateval:3.after(2)", ChatEvalTurns(3).after(2)),
    ],
)
def test_the_rules_can_be_written(text: str, rule: Rule) -> None:
    assert from_text(text) == rule
    assert from_text(str(rule)) == rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budgeted:0", r"epsilon must be above 0.*; got epsilon=0.0"),
        ("budgeted:nan", r"epsilon must be finite"),
        ("budgeted:window=1", r"window must be >= 2; got window=1"),
        ("budgeted:min_rounds=0", r"min_rounds must be >= 1"),
        ("budgeted:absolute=yes", r"absolute must be True or False; got absolute='yes'"),
        ("budgeted:refuse_trend=1", r"refuse_trend must be True or False; got refuse_trend=1"),
        ("budgeted:budget=-1", r"budget must be >= 0; got budget=-1"),
        ("d3_code:max_rounds=0", r"max_rounds must be >= 1"),
        ("sign_agreement:0", r"patience must be >= 1"),
        ("eot:1.1", r"similarity must lie between 0 and 1"),
        ("eot:max_rounds=0", r"max_rounds must be >= 1"),
        ("eot:second=0", r"second must be another seat than first; got seat 0 for both"),
        ("eot:first=-1", r"first must be >= 0"),
        ("declaration:undecided=3", r"undecided must be words without any of .*; got undecided=3"),
        ("declaration:undecided=nan", r"undecided must be words .*; got undecided=nan"),
        ("declaration:0.5", r"seat must be an integer"),
        ("score_declaration:-1", r"side must be >= 0"),
        ("score_declaration:0,at_least=inf", r"at_least must be finite"),
        ("chateval:0", r"n must be >= 1; got n=0"),
    ],
)
def test_parameters_that_make_no_rule_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_text(text)


UNSCORED = Trajectories.from_arrays([[["A", "A"], ["A", "B"]], [["B", "A"], ["A", "A"]]], ["A", "B"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "budgeted",
            "scores must be given for two sides, because budgeted compares their points; got no scores",
        ),
        (
            "d3_code",
            "scores must be given for two sides, because budgeted compares their points; got no scores",
        ),
        (
            "unanimity | sign_agreement",
            "scores must be given for two sides, because sign_agreement compares their points; got no scores",
        ),
        (
            "score_declaration",
            "scores must be given for side 0, because score_declaration reads the evaluator's mark there; "
            "got no scores",
        ),
    ],
)
def test_a_rule_that_needs_scores_says_so_in_one_line_on_a_log_without(text: str, message: str) -> None:
    rule = from_text(text)
    assert isinstance(rule, Rule)
    for attempt in (
        lambda: replay(UNSCORED, text),
        lambda: rule.stop_rounds(UNSCORED),
        lambda: rule.run([Round(1, (0, 1), 2)]),
    ):
        with pytest.raises(ValueError) as refused:
            attempt()
        assert str(refused.value) == message


@pytest.mark.parametrize("rule", [PAPER, SignAgreement(), ScoreDeclaration(3)], ids=str)
def test_scores_of_the_wrong_sides_are_refused(rule: Rule) -> None:
    three = Trajectories.from_arrays(
        np.zeros((1, 1, 1), int), answers=["A"], scores=np.zeros((1, 1, 3)), sides=("A", "B", "C")
    )
    for attempt in (lambda: rule.stop_rounds(three), lambda: rule.run(rounds_of(three, 0))):
        with pytest.raises(ValueError, match=r"scores must be given for .*; got scores of 3 sides"):
            attempt()


def test_a_budget_on_a_log_without_tokens_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"tokens must be recorded, because budgeted .*; got none in the log"
    ):
        BudgetedStopping(budget=100).stop_rounds(scored([[1, 9, 20]]))


def test_a_budget_ends_a_debate_where_the_tokens_of_a_round_are_not_recorded_and_says_so() -> None:
    tokens = [[10, 10, 10], [10, np.nan, 10], [90, 90, np.nan], [np.nan, 10, 10]]
    partly = scored([[1, 9, 20]] * 4, tokens)
    expected = [(3, "exhausted"), (2, "tokens_unknown"), (2, "token_budget"), (1, "tokens_unknown")]
    assert stops(BudgetedStopping(budget=100), partly) == expected
    assert stops(BudgetedStopping(), partly) == [(3, "exhausted")] * 4


def test_answers_in_words_are_needed_to_compare_them() -> None:
    t = Trajectories.from_arrays([[[0, 1]]], [1], answers=["wrong", "right"], coding="correctness")
    with pytest.raises(
        ValueError, match=r"coding must be 'answers', because eot compares .*; got 'correctness'"
    ):
        ExchangeOfThought().stop_rounds(t)
    with pytest.raises(ValueError, match=r"texts must be given, because eot compares answers in words"):
        ExchangeOfThought().run([Round(1, (0, 1), 2)])
    judge = Declaration(undecided="no preference")
    with pytest.raises(ValueError, match=r"coding must be 'answers', because declaration looks for .*"):
        judge.stop_rounds(t)
    with pytest.raises(ValueError, match=r"texts must be given, because declaration looks for .*"):
        judge.run([Round(1, (0, 1), 2)])


def test_a_replay_shows_the_seeds_rules_beside_unanimity() -> None:
    rng = np.random.default_rng(3)
    gaps = np.round(rng.normal(4, 6, size=(60, 5)))
    scores = np.stack([60 + gaps, np.full(gaps.shape, 60.0)], axis=2)
    t = Trajectories.from_arrays(
        rng.integers(0, 2, (60, 5, 3)), rng.integers(0, 2, 60), answers=["A", "B"], scores=scores, sides="AB"
    )
    rules = ["d3_paper", "d3_code", "sign_agreement|fixed:4", "eot", "declaration", "chateval"]
    result = replay(t, rules)
    rounds = result.to_frame().set_index("rule")["rounds"]
    assert rounds[str(PAPER)] < rounds[str(CODE)] <= 5
    assert rounds["chateval:2"] == 2
    reasons = result.stops().groupby("rule")["reason"].agg(set)
    assert reasons[str(PAPER)] == {"gap_stable", "round_cap"}
    assert reasons["sign_agreement:2 | fixed:4"] == {"sign_agreement", "fixed_rounds"}


def test_no_rule_of_the_seeds_promises_what_it_does_not_keep() -> None:
    for rule in (
        PAPER,
        SignAgreement(),
        ExchangeOfThought(),
        Declaration(),
        ScoreDeclaration(),
        ChatEvalTurns(),
    ):
        assert all((rule.name, rule.citation, rule.statistic, rule.guarantee, rule.reason)), rule
        assert not rule.needs_labels
