"""A scan is a replay without the bootstrap: the same numbers, faster."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import examples

from d3stats.planning import replay
from d3stats.planning.scan import StopFinder, scan
from d3stats.stopping import FixedRounds, Ladder, StoppingRule, Supermajority, Unanimity, from_text
from d3stats.trajectories import Trajectories
from d3stats.worlds import Voter, simulate_debates

sys.path.insert(0, str(Path(__file__).parents[1] / "stopping"))
from stopping_strategies import BATCH_RULES, RULES, any_rules, logs

FAMILY = ["fixed:1", "unanimity", "supermajority:0.6", "supermajority:0.6.after(2) | fixed:4", "full"]


def in_reach(rule: StoppingRule, t: Trajectories) -> bool:
    """Whether no ladder asks for more votes than there are seats."""
    return all(part.votes[0] <= t.panel.max() for part in rule.parts() if isinstance(part, Ladder))


def compared(table: pd.DataFrame, against: pd.DataFrame) -> None:
    measures = [name.removesuffix("_se") for name in table.columns if name.endswith("_se")]
    assert {"rounds", "agreement", "saved_rounds_vs_unanimity"} <= set(measures)
    assert ("accuracy" in measures) == ("accuracy" in against)
    assert ("tokens" in measures) == ("tokens" in against)
    for column in ("rule", "decides", "n_debates", "n_questions", "undecided", *measures, "missing"):
        pd.testing.assert_series_equal(
            table[column], against[column].loc[table.index], check_dtype=False, check_exact=True
        )


@examples(3, 30)
@pytest.mark.parametrize("missing", ["exclude", "wrong"])
def test_a_scan_equals_a_replay_to_the_bit(missing: str, n_examples: int) -> None:
    @settings(max_examples=n_examples)
    @given(t=logs(min_debates=2), extra=st.lists(any_rules, max_size=3), threads=st.integers(1, 2))
    def holds(t: Trajectories, extra: list[StoppingRule], threads: int) -> None:
        scan_is_replay(t, extra, threads, missing)

    holds()


def scan_is_replay(t: Trajectories, extra: list[StoppingRule], threads: int, missing: str) -> None:
    if len(set(t.cluster[t.depth > 0].tolist())) < 2:
        return
    if (t.label == -1).all():
        extra = []
    rules = list({str(rule): rule for rule in [*RULES, *extra] if in_reach(rule, t)}.values())
    whole = replay(t, rules, missing=missing).to_frame()  # type: ignore[arg-type]
    compared(scan(t, rules, missing=missing, threads=threads), whole)  # type: ignore[arg-type]


@given(t=logs(), rule=any_rules)
def test_stop_rounds_found_by_bits_are_those_of_the_rule(t: Trajectories, rule: StoppingRule) -> None:
    if (t.label == -1).all():
        return
    assert StopFinder(t, [rule, rule]).rounds(rule).tolist() == rule.stop_rounds(t).rounds.tolist()


@pytest.mark.parametrize("n_rounds", [1, 8, 9, 16, 17, 32, 33, 64, 65, 70])
def test_any_number_of_rounds_fits(n_rounds: int) -> None:
    rng = np.random.default_rng(n_rounds)
    votes = rng.integers(0, 3, size=(60, n_rounds, 4))
    depth = rng.integers(0, n_rounds + 1, 60)
    votes[np.arange(n_rounds) >= depth[:, None]] = -1
    t = Trajectories.from_arrays(votes, answers=["a", "b", "c"], depth=depth)
    late = FixedRounds(max(n_rounds - 1, 1))
    rules = [
        late,
        late & Supermajority(0.6),
        (Unanimity() & Supermajority(0.9)).after(n_rounds),
        Unanimity().after(n_rounds + 3) | FixedRounds(n_rounds),
        (Supermajority(0.6, patience=2) | Unanimity()).after(2),
    ]
    finder = StopFinder(t, rules)
    for rule in rules:
        assert finder.rounds(rule).tolist() == rule.stop_rounds(t).rounds.tolist(), str(rule)


def test_unlabelled_debates_are_scanned_for_agreement_alone() -> None:
    t = replace(
        simulate_debates(Voter(), 50, 5, 1),
        tokens=None,
        tokens_in=None,
        tokens_out=None,
        label=np.full(50, -1, np.int32),
    )
    table = scan(t, FAMILY)
    assert not {"accuracy", "gained", "lost", "premature", "tokens"} & set(table.columns)
    compared(table, replay(t, FAMILY).to_frame())


def test_the_table_depends_on_neither_threads_nor_company() -> None:
    t = simulate_debates(Voter(), 3000, 6, 2)
    rules = [f"supermajority:{share}.after({k}) | fixed:5" for share in (0.5, 0.7, 0.9) for k in (1, 2, 3)]
    one = scan(t, rules, threads=1)
    pd.testing.assert_frame_equal(one, scan(t, rules, threads=3), check_exact=True)
    pd.testing.assert_frame_equal(one.iloc[[4]].reset_index(drop=True), scan(t, rules[4]), check_exact=True)


@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1), n_questions=st.integers(2, 60))
def test_one_thread_and_two_give_the_same_bits(seed: int, n_questions: int) -> None:
    rng = np.random.default_rng(seed)
    t = simulate_debates(Voter(), 300, 6, seed)
    questions = np.concatenate([np.arange(n_questions), rng.integers(0, n_questions, 300 - n_questions)])
    t = replace(t, cluster=questions, cluster_names=tuple(map(str, range(n_questions))))
    shares, patience = rng.uniform(0.3, 1.0, 6), rng.integers(1, 8, 6)
    camps = [f"supermajority:{share},patience={k}" for share, k in zip(shares, patience, strict=True)]
    steps = [
        "-".join(map(str, sorted(rng.integers(1, t.panel.max() + 1, 6).tolist(), reverse=True)))
        for _ in range(3)
    ]
    mixed = [
        f"{camps[0]} & fixed:3",
        f"({camps[1]} | unanimity).after(2)",
        "sprt",
        "e_process",
        "esc",
        "full",
    ]
    rules = list(dict.fromkeys([*camps, *(f"ladder:{step}" for step in steps), *mixed]))
    one = scan(t, rules, threads=1)
    pd.testing.assert_frame_equal(one, scan(t, rules, threads=2), check_exact=True)


@settings(max_examples=30)
@given(
    t=logs(),
    share=st.floats(0.01, 1.0),
    patience=st.integers(1, 80),
    steps=st.lists(st.integers(1, 12), min_size=1, max_size=12),
    min_votes=st.integers(1, 9),
)
def test_camps_found_by_bits_are_those_of_the_rule(
    t: Trajectories, share: float, patience: int, steps: list[int], min_votes: int
) -> None:
    ladder = Ladder("-".join(map(str, sorted(steps, reverse=True))))
    camp, agreed = Supermajority(share, patience), Unanimity(min_votes=min_votes)
    rules = [camp, ladder, agreed, ladder | camp, (agreed & ladder).after(2), camp & ladder]
    finder = StopFinder(t, [*rules, *rules])
    for rule in rules:
        assert finder.rounds(rule).tolist() == rule.stop_rounds(t).rounds.tolist(), str(rule)


def test_panels_of_different_sizes_ask_for_their_own_votes() -> None:
    rng = np.random.default_rng(8)
    votes, panel = rng.integers(0, 2, size=(400, 9, 200)), rng.integers(1, 201, 400)
    votes[np.broadcast_to((np.arange(200) >= panel[:, None])[:, None, :], votes.shape)] = -1
    t = Trajectories.from_arrays(votes, answers=["a", "b"], panel=panel)
    rules = [Supermajority(0.55), Supermajority(0.6, 2), Ladder("150-101-60-5-1"), Unanimity()]
    finder = StopFinder(t, rules)
    for rule in rules:
        stops = rule.stop_rounds(t).rounds
        assert len(np.unique(stops)) > 1
        assert finder.rounds(rule).tolist() == stops.tolist(), str(rule)


def test_rows_come_as_asked_and_nothing_is_added() -> None:
    t = simulate_debates(Voter(), 100, 5, 3)
    table = scan(t, ["fixed:2", "supermajority:0.7"])
    assert table["rule"].tolist() == ["fixed:2", "supermajority:0.7"]


def test_a_batch_rule_is_scanned_too() -> None:
    t = simulate_debates(Voter(), 100, 5, 3)
    rules = [*BATCH_RULES[:2], Unanimity() | BATCH_RULES[0]]
    table = scan(t, rules)
    assert set(table["decides"]) == {"batch"}
    compared(table, replay(t, rules).to_frame())


def test_errors_are_those_of_a_plain_linearised_ratio_over_questions() -> None:
    rng = np.random.default_rng(4)
    t = simulate_debates(Voter(), 400, 5, 4)
    tokens = rng.integers(10, 99, size=(400, 5)) * 1.0
    tokens[rng.random(400) < 0.1, 2] = np.nan
    t = replace(
        t,
        tokens=tokens,
        tokens_in=None,
        tokens_out=None,
        cluster=rng.integers(0, 40, 400),
        cluster_names=tuple(map(str, range(40))),
    )
    frame = replay(t, "fixed:2")
    each = frame.per_debate()
    base = each[each["rule"] == "unanimity"].reset_index(drop=True)
    each = each[each["rule"] == "fixed:2"].reset_index(drop=True)
    known = each["tokens"].notna()
    ratios = {
        "rounds": (each["round"], pd.Series(1.0, each.index)),
        "tokens": (each["tokens"].fillna(0.0), known * 1.0),
        "accuracy": (each["correct"].astype(float), pd.Series(1.0, each.index)),
        "agreement": (1.0 - each["flipped"].astype(float), pd.Series(1.0, each.index)),
        "saved_rounds_vs_unanimity": (base["round"] - each["round"], base["round"]),
        "saved_tokens_vs_unanimity": (
            (base["tokens"] - each["tokens"]).fillna(0.0),
            base["tokens"].fillna(0.0),
        ),
    }
    row = scan(t, "fixed:2").iloc[0]
    for name, (above, below) in ratios.items():
        residual = (above - row[name] * below).groupby(each["question"]).sum()
        left_out = residual / (1 - each.groupby("question").size() / len(each))
        expected = np.sqrt(39 / 40 * (left_out**2).sum()) / below.sum()
        assert row[f"{name}_se"] == pytest.approx(expected, rel=1e-10), name


def test_errors_agree_with_the_bootstrap_over_questions() -> None:
    rng = np.random.default_rng(5)
    t = simulate_debates(Voter(), 2000, 6, 5)
    t = replace(t, cluster=rng.integers(0, 300, 2000), cluster_names=tuple(map(str, range(300))))
    table = scan(t, ["fixed:2", "unanimity"])
    boot = replay(t, ["fixed:2", "unanimity"], level=0.6827).to_frame().loc[table.index]
    for measure in ("rounds", "accuracy", "agreement", "gained", "lost", "premature"):
        half = (boot[f"{measure}_high"] - boot[f"{measure}_low"]) / 2
        for error, width in zip(table[f"{measure}_se"], half, strict=True):
            if np.isnan(width):  # no replicate differs, so there are no limits
                assert error == 0
                continue
            # A share of 0 or 1 has limits and no error.
            assert error == pytest.approx(width, rel=0.12, abs=1e-12) or (error == 0 and measure != "rounds")


def test_a_share_of_early_stops_in_one_question_has_no_standard_error() -> None:
    votes = [
        [["A", "B", "B"], ["A", "A", "B"]],
        [["A", "A", "B"], ["A", "A", "A"]],
        [["B", "C", "A"], ["B", "B", "B"]],
    ]
    row = scan(Trajectories.from_arrays(votes, ["A", "A", "B"], cluster=["1", "1", "3"]), "supermajority:0.6")
    assert row["premature"].item() == 0.5
    assert np.isnan(row["premature_se"].item())


def test_a_question_with_most_debates_leaves_no_standard_error() -> None:
    t = simulate_debates(Voter(), 109, 4, 7)
    t = replace(
        t, cluster=np.repeat(np.arange(10), [100] + [1] * 9), cluster_names=tuple(map(str, range(10)))
    )
    row = scan(t, "fixed:2").iloc[0]
    assert np.isfinite(row["rounds"])
    assert all(np.isnan(row[name]) for name in row.index if name.endswith("_se"))


def test_questions_asked_often_widen_the_errors() -> None:
    t = simulate_debates(Voter(), 200, 5, 6)
    five = t.select(np.repeat(np.arange(200), 5))
    wide, narrow = scan(five, "fixed:2").iloc[0], scan(t, "fixed:2").iloc[0]
    for measure in ("rounds", "accuracy", "agreement", "saved_rounds_vs_unanimity"):
        assert wide[measure] == pytest.approx(narrow[measure], rel=1e-12)
        assert wide[f"{measure}_se"] == pytest.approx(narrow[f"{measure}_se"], rel=1e-9)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([], r"rules must hold at least one rule; got none"),
        (["fixed:0"], r"n must be >= 1"),
    ],
)
def test_bad_rules_get_one_clear_line(rules: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scan(simulate_debates(Voter(), 10, 3, 1), rules)


def test_a_rule_that_is_named_twice_is_taken_once_and_the_table_says_so() -> None:
    t = simulate_debates(Voter(), 100, 5, 3)
    once, twice = scan(t, ["fixed:2", "unanimity"]), scan(t, ["fixed:2", "unanimity", FixedRounds(2)])
    pd.testing.assert_frame_equal(once, twice)
    assert once.attrs["notes"] == ()
    assert twice.attrs["notes"] == ("Named more than once and used once: fixed:2.",)


def test_two_different_rules_of_one_name_are_refused() -> None:
    @dataclass(frozen=True)
    class Late(FixedRounds):
        def __str__(self) -> str:
            return "fixed:2"

    with pytest.raises(ValueError, match="rules must have different names; got two different rules named"):
        scan(simulate_debates(Voter(), 10, 3, 1), ["fixed:2", Late(3)])


def test_bad_arguments_get_one_clear_line() -> None:
    t = simulate_debates(Voter(), 10, 3, 1)
    with pytest.raises(TypeError, match="rules must be stopping rules or their text; got 3"):
        scan(t, [3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="threads must be >= 1; got threads=0"):
        scan(t, "fixed:2", threads=0)
    with pytest.raises(ValueError, match="missing must be one of"):
        scan(t, "fixed:2", missing="drop")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 2 questions"):
        scan(t.select([0]), "fixed:2")
    with pytest.raises(ValueError, match="at least one debate"):
        scan(t.select([]), from_text("fixed:2"))
