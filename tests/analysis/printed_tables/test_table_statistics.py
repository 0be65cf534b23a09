"""Checks of printed tests and kappas: brute force over whole tables agrees, and true ones pass."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from printed_tables import (
    check_common_df,
    check_discordance,
    check_distinguishable,
    check_gains_and_losses,
    check_kappa_of_labels,
    check_kappas,
    check_p_values,
    check_paired_t,
    check_significance,
    check_t_and_p,
    counts_of_share,
    discordance,
    implied_df,
    kappa_range,
    majority_share,
    p_range,
    paired_counts,
    printed,
)
from scipy import stats

HERE = "Table 1"


def cut(value: float, digits: int) -> str:
    return f"{value:.{digits}f}"


# t and p


@settings(max_examples=40, deadline=None)
@given(st.floats(0.5, 6), st.integers(1, 500))
def test_the_degrees_of_freedom_of_a_printed_t_and_p_hold_the_true_one(t: float, df: int) -> None:
    p = cut(float(2 * stats.t.sf(t, df)), 3)
    found = implied_df(cut(t, 2), p)
    assert found is not None
    assert found[0] <= df
    assert found[1] is None or df <= found[1]
    assert check_t_and_p(cut(t, 2), p, place=HERE, df=df).verdict == "consistent"
    if found[0] > 1:
        # One degree of freedom fewer gives a larger p than what is printed, whatever the rounding.
        assert 2 * stats.t.sf(printed(cut(t, 2)).high, found[0] - 1) > printed(p).high
    if found[1] is not None:
        assert 2 * stats.t.sf(printed(cut(t, 2)).low, found[1] + 1) < printed(p).low
        assert 2 * stats.t.sf(printed(cut(t, 2)).low, found[1]) >= printed(p).low
    assert 2 * stats.t.sf(printed(cut(t, 2)).high, found[0]) <= printed(p).high


def test_a_t_whose_p_none_has_is_inconsistent() -> None:
    assert implied_df("1.00", "0.100") is None
    assert check_t_and_p("1.00", "0.100", place=HERE).verdict == "inconsistent"
    rows = [("A", "1.00", "0.100"), ("B", "2.00", "0.050")]
    assert check_common_df(rows, place=HERE).verdict == "inconsistent"


@given(st.integers(5, 200), st.lists(st.floats(0.5, 5), min_size=2, max_size=6))
def test_rows_of_one_number_of_pairs_share_it(df: int, values: list[float]) -> None:
    rows = [(f"row {i}", cut(t, 2), cut(float(2 * stats.t.sf(t, df)), 3)) for i, t in enumerate(values)]
    assert check_common_df(rows, place=HERE).verdict == "consistent"


# Right-or-wrong answers


def tables(n: int) -> list[tuple[int, int, int, int]]:
    """Return every table (both right, gained, lost, both wrong) of n items."""
    return [(n - b - c - d, b, c, d) for b, c, d in product(range(n + 1), repeat=3) if b + c + d <= n]


@pytest.mark.parametrize(
    ("old", "new", "t"), [("0.58", "0.83", "1.91"), ("0.42", "0.67", "1.39"), ("0.8", "0.9", "1.0")]
)
def test_the_tables_that_print_a_row_are_those_of_brute_force(old: str, new: str, t: str) -> None:
    n = 12
    wanted = set()
    for both, gained, lost, _ in tables(n):
        before, after = (both + lost) / n, (both + gained) / n
        x = np.repeat([1.0, -1.0, 0.0], [gained, lost, n - gained - lost])
        if printed(old).covers(before) and printed(new).covers(after) and x.std() > 0:
            value = abs(float(stats.ttest_1samp(x, 0).statistic))
            if printed(t).covers(value):
                wanted.add((both + lost, gained, lost))
    assert set(paired_counts(old, new, t, n)) == wanted
    verdict = check_paired_t(old, new, t, n, place=HERE).verdict
    assert verdict == ("conditional" if wanted else "inconsistent")


@settings(max_examples=50)
@given(st.integers(20, 150), st.data())
def test_a_row_made_from_a_table_of_counts_is_possible(n: int, data: st.DataObject) -> None:
    gained = data.draw(st.integers(2, n // 3))
    lost = data.draw(st.integers(0, gained - 2))
    both = data.draw(st.integers(0, n - gained - lost))
    x = np.repeat([1.0, -1.0, 0.0], [gained, lost, n - gained - lost])
    assume(x.std() > 0)
    t = float(stats.ttest_1samp(x, 0).statistic)
    old, new = (both + lost) / n, (both + gained) / n
    assert (both + lost, gained, lost) in paired_counts(cut(old, 2), cut(new, 2), cut(t, 2), n)
    # The sign says only which run came first.
    assert (both + lost, gained, lost) in paired_counts(cut(old, 2), cut(new, 2), cut(-t, 2), n)
    found = discordance(old, new, t, n)
    assert found.implied == pytest.approx((gained + lost) / n)
    assert found.allowed[0] - 1e-9 <= found.implied <= found.allowed[1] + 1e-9


def test_both_readings_are_told_apart() -> None:
    """An inequality that holds at 80 items where no table of counts does."""
    row = ("0.82", "0.89", "1.87", 80)
    assert check_discordance(*row, place=HERE).verdict == "conditional"
    assert check_paired_t(*row, place=HERE).verdict == "inconsistent"


@pytest.mark.parametrize(("i", "j", "n"), [(6, 9, 12), (9, 6, 12), (11, 12, 12), (3, 3, 12)])
def test_the_range_of_mcnemar_p_is_that_of_brute_force(i: int, j: int, n: int) -> None:
    every = [
        stats.binomtest(min(gained, lost), gained + lost).pvalue if gained + lost else 1.0
        for both, gained, lost, _ in tables(n)
        if both + lost == i and both + gained == j
    ]
    _, least, most = p_range(cut(i / n, 6), cut(j / n, 6), n, percent=False)
    assert (least, most) == (pytest.approx(min(every)), pytest.approx(max(every)))


@settings(max_examples=50)
@given(st.integers(20, 300), st.data())
def test_the_p_of_a_true_comparison_is_within_reach(n: int, data: st.DataObject) -> None:
    gained = data.draw(st.integers(0, n // 2))
    lost = data.draw(st.integers(0, n // 2))
    both = data.draw(st.integers(0, n - gained - lost))
    p = cut(stats.binomtest(lost, gained + lost).pvalue if gained + lost else 1.0, 3)
    old, new = cut(100 * (both + lost) / n, 1), cut(100 * (both + gained) / n, 1)
    assert check_significance(old, new, p, n, place=HERE).verdict == "conditional"


def test_a_p_that_no_outcome_can_have_is_inconsistent_and_says_how_many_items_it_takes() -> None:
    found = check_significance("81.3", "85.1", "< 0.01", 80, place=HERE)
    assert (found.verdict, found.implied) == ("inconsistent", "p from .077 to .701")
    assert found.needed.startswith("168 items")
    # All gained, none lost: the square of the paired z is n d / (1 - d), and no other test has a smaller p.
    assert stats.chi2.sf(168 * 0.038 / 0.962, 1) < 0.01 < stats.chi2.sf(167 * 0.038 / 0.962, 1)


def test_a_small_difference_at_few_items_tells_nothing_apart() -> None:
    found = check_distinguishable("85.1", "86.3", 80, place=HERE)
    assert (found.verdict, found.implied) == ("conditional", "independent shares: p .822; exact McNemar: p 1")
    assert "cannot separate" in found.needed
    assert check_distinguishable("50.0", "90.0", 80, place=HERE).verdict == "consistent"
    assert check_distinguishable("70.0", "80.0", 80, place=HERE).needed == "a small number of lost items"


def test_gained_minus_lost_is_the_difference() -> None:
    assert check_gains_and_losses("28", "4", "24", place=HERE).verdict == "consistent"
    found = check_gains_and_losses("28", "4", "1.2", place=HERE)
    assert (found.verdict, found.implied) == ("inconsistent", "24 (23 to 25)")


# Families of tests


def test_holm_of_printed_p_values_keeps_or_takes_what_a_paper_claims() -> None:
    rows = [("A", "0.004"), ("B", "0.030"), ("C", "0.040")]
    found = check_p_values(rows, place=HERE)
    assert found.verdict == "conditional"
    assert found.implied == "after Holm: A .012, B .060, C .060"
    assert found.needed.startswith("B and C ")
    assert check_p_values(rows, place=HERE, significant=["A"]).verdict == "consistent"
    kept = check_p_values([("A", "0.004"), ("B", "0.010")], place=HERE, significant=["A"])
    assert kept.verdict == "inconsistent"
    assert kept.needed.startswith("B ")


def test_a_p_below_a_bound_counts_as_the_bound() -> None:
    assert "A .002" in check_p_values([("A", "< 0.001"), ("B", "0.2")], place=HERE).implied


@pytest.mark.parametrize("p", ["1.2", "-0.1"])
def test_a_p_outside_zero_and_one_is_refused(p: str) -> None:
    with pytest.raises(ValueError, match="p must lie between 0 and 1"):
        check_p_values([("A", p)], place=HERE)


# Accuracy and kappa


@settings(max_examples=20)
@given(st.lists(st.integers(0, 60), min_size=4, max_size=4))
def test_the_class_balance_of_a_true_table_is_within_what_its_accuracy_and_kappa_imply(
    cells: list[int],
) -> None:
    a, b, c, d = cells
    n = sum(cells)
    assume(n >= 20 and a + b not in (0, n) and a + c not in (0, n))
    human, judge = (a + b) / n, (a + c) / n
    accuracy, chance = (a + d) / n, human * judge + (1 - human) * (1 - judge)
    kappa = (accuracy - chance) / (1 - chance)
    found = majority_share(cut(100 * accuracy, 1), cut(kappa, 2))
    assert found is not None
    assert found[0] - 1e-4 <= max(human, 1 - human) <= found[1] + 1e-4


def test_the_class_balance_that_brute_force_finds_fills_the_range() -> None:
    n, reached = 200, []
    for k in counts_of_share("85.0", n):
        for a in range(k + 1):
            for b in range(n - k + 1):
                human, judge = (a + b) / n, (a + n - k - b) / n
                chance = human * judge + (1 - human) * (1 - judge)
                if chance < 1 and printed("0.58").covers((k / n - chance) / (1 - chance)):
                    reached.append(max(human, 1 - human))
    found = majority_share(printed("85.0").taken_exactly(), "0.58")
    assert found is not None
    assert found[0] == pytest.approx(min(reached), abs=1 / n)
    assert found[1] == pytest.approx(max(reached), abs=1 / n)


def test_rows_over_the_same_items_must_leave_one_class_balance() -> None:
    assert check_kappas([("95.0", "0.10"), ("70.0", "0.40")], place=HERE).verdict == "inconsistent"
    assert majority_share("60.0", "0.90") is None
    assert "one row alone" in check_kappas([("60.0", "0.90"), ("85.1", "0.58")], place=HERE).needed


@pytest.mark.parametrize(("right", "labels"), [(4, [4, 2, 2]), (5, [3, 3, 2]), (0, [5, 3]), (8, [6, 1, 1])])
def test_the_range_of_kappa_of_known_labels_is_that_of_brute_force(right: int, labels: list[int]) -> None:
    truth = np.repeat(range(len(labels)), labels)
    found = []
    for answer in product(range(len(labels)), repeat=len(truth)):
        if np.count_nonzero(np.array(answer) == truth) == right:
            rows = np.zeros((len(labels), len(labels)))
            np.add.at(rows, (truth, np.array(answer)), 1)
            e = float(rows.sum(0) @ rows.sum(1)) / len(truth) ** 2
            found.append((right / len(truth) - e) / (1 - e))
    assert kappa_range(right, labels) == (pytest.approx(min(found)), pytest.approx(max(found)))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_the_kappa_of_a_judge_of_known_labels_passes(seed: int, skill: float) -> None:
    rng = np.random.default_rng(seed)
    labels = [41, 25, 14]
    truth = np.repeat(range(3), labels)
    answer = np.where(rng.random(80) < skill, truth, rng.integers(0, 3, 80))
    accuracy = float((answer == truth).mean())
    chance = float(np.bincount(truth, minlength=3) @ np.bincount(answer, minlength=3)) / 80**2
    kappa = (accuracy - chance) / (1 - chance)
    found = check_kappa_of_labels(cut(100 * accuracy, 1), cut(kappa, 2), labels, place=HERE)
    assert found.verdict == "consistent", (accuracy, kappa)


def test_a_kappa_out_of_reach_of_known_labels_is_inconsistent() -> None:
    assert check_kappa_of_labels("53.8", "0.60", [41, 25, 14], place=HERE).verdict == "inconsistent"
    assert check_kappa_of_labels("53.0", "0.27", [41, 25, 14], place=HERE).implied == "no number of 80 items"
