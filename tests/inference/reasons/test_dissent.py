"""Dissent and its reasons: the paper's axes, hand-counted debates, chance, and texts made with known reasons."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_rationales import REASONS as MADE
from made_rationales import disputed_log, true_differences, true_traces

from d3stats.inference import proportion_interval, rationales
from d3stats.inference.comparison.multiplicity import adjust
from d3stats.inference.reasons import REASONS
from d3stats.inference.reasons.dissent import Disputed, traced
from d3stats.inference.reasons.rationales import AXIS, AXIS_BEYOND, AXIS_CHANCE, OWN, OWN_BEYOND, OWN_CHANCE


def panel(*debates: list[tuple[str | None, str | None]]) -> pd.DataFrame:
    """Return debates of agents with a vote and a rationale each."""
    rows = [
        (f"d{d}", 1, f"agent {k}", vote, text)
        for d, debate in enumerate(debates)
        for k, (vote, text) in enumerate(debate)
    ]
    return pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "text"])


@pytest.mark.parametrize(
    ("dissent", "majority"),
    [
        ("The first is more accurate.", "The second is more comprehensive."),
        ("The first is safer.", "The second is more helpful."),
    ],
)
def test_the_papers_axes_are_found(dissent: str, majority: str) -> None:
    """D3, section 5.8: accuracy against comprehensiveness, safety against helpfulness."""
    found = rationales(panel([("A", dissent), ("B", majority), ("B", majority)]))
    assert found[AXIS].value == 1.0
    assert found.marks["reasons"][0] != found.marks["reasons"][1]


def test_the_papers_share_of_traced_disagreements_is_a_share_of_debates() -> None:
    """D3, section 5.8: 96 % of 50 disagreements. Two of 50 have no axis, the others do."""
    clear = [("A", "It is safe."), ("B", "It is helpful."), ("B", "It is helpful.")]
    vague = [("A", "I like it."), ("B", "It is helpful."), ("B", "I like it.")]
    found = rationales(panel(*[clear] * 48, *[vague] * 2))
    assert (found[AXIS].value, found[AXIS].n) == (0.96, 50)
    wilson = proportion_interval(48, 50)[0]
    assert found[AXIS].low <= wilson  # .865


def test_the_six_criteria_of_the_paper_are_looked_for() -> None:
    """D3, appendix D.2."""
    criteria = {
        "Relevance to the question": "relevance",
        "Accuracy of information and use of credible sources": "accuracy",
        "Depth of analysis and completeness of argument": "depth",
        "Clarity of expression and logical flow": "clarity",
        "Strength of reasoning and factual support": "reasoning",
        "Effectiveness in addressing opponent's points": "addressing the opponent",
    }
    found = rationales(panel(*([("A", text), ("A", "x")] for text in criteria)))
    assert found.marks["reasons"][::2].tolist() == list(criteria.values())
    assert list(REASONS)[:6] == list(criteria.values())


def test_camps_are_counted_by_hand() -> None:
    """A majority has more than half of the votes cast; votes without a text count for it."""
    found = rationales(
        panel(
            [("A", "x"), ("A", "x"), ("B", "safe")],
            [("A", "x"), ("B", "x")],  # a tie
            [("A", "x"), ("A", "x"), ("B", "x"), ("C", "x")],  # half is not more than half
            [("A", "x"), ("A", "x"), (None, "x")],  # unanimous, one vote missing
            [("A", None), ("A", None), ("B", "safe")],  # one side has no text
            [(None, "x"), (None, "x")],
        )
    )
    camps = found.marks["camp"].tolist()
    most, open_ = "majority", ""
    assert camps == [most, most, "dissent", *[open_] * 6, most, most, open_, "dissent", open_, open_]
    assert (found[AXIS].n, found[OWN].n) == (1, 1)
    assert (
        "6 debates: 1 unanimous, 2 with a majority and a dissent, 2 left out because no answer has more than half of "
        "the votes, 1 without a vote"
    ) in found.notes
    assert "1 disputed debate left out of the reasons: one side has no text" in found.notes
    assert "2 of 17 turns have no text: left out, not taken as empty" in found.notes


def test_the_difference_of_a_reason_is_taken_within_debates() -> None:
    """Where a reason is named by all of a debate or by nobody, it says nothing, however large the camps are."""
    everybody = [("B", "safe"), ("B", "safe"), ("A", "safe"), ("A", "safe"), ("A", "safe")]
    nobody = [("B", "x"), ("A", "x"), ("A", "x"), ("A", "x"), ("A", "x")]
    table = rationales(panel(*[everybody, nobody] * 5)).reasons.set_index("reason")
    assert table.loc["safety", ["dissent", "majority", "difference"]].tolist() == [0.5, 0.5, 0.0]
    one = rationales(panel([("B", "safe"), ("A", "safe"), ("A", "x"), ("A", "x")], nobody)).reasons.set_index(
        "reason"
    )
    # (1 - 1/3 + 0) / 2
    assert one.loc["safety", "difference"] == pytest.approx(1 / 3)


def test_chance_is_that_of_dealing_out_the_dissent() -> None:
    """One of three names safety, the others helpfulness: only where that one dissents there is an axis."""
    found = rationales(panel([("B", "safe"), ("A", "helpful"), ("A", "helpful")]))
    assert (found[AXIS].value, found[AXIS_CHANCE].value) == (1.0, pytest.approx(1 / 3))
    assert (found[OWN].value, found[OWN_CHANCE].value) == (1.0, pytest.approx(1 / 3))
    # Each names a reason of its own: there is an axis, and a reason of one's own, whoever dissents.
    all_apart = rationales(panel([("B", "safe"), ("A", "helpful"), ("A", "deep")]))
    assert (all_apart[AXIS_CHANCE].value, all_apart[OWN_CHANCE].value) == (1.0, 1.0)
    assert all_apart[AXIS_BEYOND].value == 0.0


@given(st.lists(st.integers(0, 7), min_size=2, max_size=6), st.data())
def test_tracing_gives_what_sets_of_reasons_give(masks: list[int], data: st.DataObject) -> None:
    n = len(masks)
    k = data.draw(st.integers(1, n - 1))
    named = np.array([[mask >> bit & 1 for bit in range(3)] for mask in masks], dtype=bool)
    dissents = np.arange(n) < k
    codes = np.zeros(n, dtype=np.int64)
    found = traced(
        Disputed(np.array([]), np.arange(n), codes, codes, dissents, ()), named, np.random.default_rng(0)
    )

    def look(chosen: tuple[int, ...]) -> tuple[bool, int]:
        ours, theirs = (
            set().union(*({b for b in range(3) if named[i, b]} for i in side))
            for side in (chosen, set(range(n)) - set(chosen))
        )
        own = sum(bool({b for b in range(3) if named[i, b]} - theirs) for i in chosen)
        return bool(ours - theirs) and bool(theirs - ours), own

    deals = [look(chosen) for chosen in combinations(range(n), k)]
    assert (found.axis[0], found.own[0]) == look(tuple(range(k)))
    assert found.axis_by_chance[0] == pytest.approx(np.mean([axis for axis, _ in deals]))
    assert found.own_by_chance[0] == pytest.approx(np.mean([own for _, own in deals]))
    assert len(deals) == math.comb(n, k)


def test_large_panels_draw_deals_by_the_seed() -> None:
    votes = ["B"] * 8 + ["A"] * 12
    words = ["safe", "helpful", "deep", "clear"] * 5
    table = panel(list(zip(votes, words, strict=True)))
    one, again = (rationales(table, rng=3) for _ in range(2))
    assert one[OWN_CHANCE].value == again[OWN_CHANCE].value
    assert any("chance is that of drawn deals" in note for note in one.notes)


def test_reasons_made_with_known_chances_are_recovered() -> None:
    found = rationales(disputed_log(np.random.default_rng(2), 600), reasons=MADE, repeated_words=None)
    axis, own = true_traces()
    for name, truth in ((AXIS, axis), (OWN, own)):
        assert abs(found[name].value - truth) < 4 * found[name].se
    table = found.reasons.set_index("reason")
    for name, truth in true_differences().items():
        row = table.loc[name]
        assert row["low"] - 0.02 < truth < row["high"] + 0.02
    assert table["p_adjusted"].tolist() == adjust(table["p_value"]).tolist()
    assert found[AXIS_BEYOND].value > 0.05


def test_where_both_sides_name_reasons_alike_nothing_is_beyond_chance() -> None:
    found = rationales(
        disputed_log(np.random.default_rng(4), 600, same=True), reasons=MADE, repeated_words=None
    )
    assert found[AXIS].value > 0.1  # an axis is common all the same
    for name in (AXIS_BEYOND, OWN_BEYOND):
        assert abs(found[name].value) < 3.5 * found[name].se
    assert (found.reasons["p_adjusted"] > 0.01).all()


def test_a_reason_that_nobody_names_is_not_tested() -> None:
    found = rationales(disputed_log(np.random.default_rng(1), 30), reasons=MADE | {"colour": "colou?r"})
    table = found.reasons.set_index("reason")
    assert table.loc["colour", "note"] == "no rationale names it"
    assert table.loc["colour", ["low", "high", "p_value", "p_adjusted"]].isna().all()
    assert table.loc[list(MADE), "p_adjusted"].tolist() == adjust(table.loc[list(MADE), "p_value"]).tolist()


@pytest.mark.parametrize("family", ["bh", "bonferroni"])
def test_other_families_of_p_values_can_be_asked_for(family: str) -> None:
    found = rationales(disputed_log(np.random.default_rng(1), 30), reasons=MADE, family=family)
    assert found.reasons["p_adjusted"].tolist() == adjust(found.reasons["p_value"], family).tolist()
    with pytest.raises(ValueError, match="family must be one of"):
        rationales(disputed_log(np.random.default_rng(1), 3), family="sidak")
