"""Checks of printed numbers: true ones pass, moved ones fail, and what cannot be checked is refused."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from printed_tables import (
    Finding,
    check_average,
    check_common_size,
    check_difference,
    check_extremes,
    check_grouped_mean,
    check_items_to_change,
    check_kappas,
    check_majority_gain,
    check_one_price,
    check_p_values,
    check_part,
    check_ratio,
    check_relative_gain,
    check_same,
    check_share,
    check_within_parts,
    counts_of_share,
    discordance,
    kappa_range,
    possible_sizes,
    printed,
)
from scipy import optimize

HERE = "Table 1"
VALUES = st.floats(1, 1000)
DIGITS = st.integers(0, 3)


def cut(value: float, digits: int) -> str:
    return f"{value:.{digits}f}"


def moved(text: str, units: int) -> str:
    """Return the number with `units` added to its last digit."""
    digits = len(text.partition(".")[2])
    return cut(float(text) + units * 10.0**-digits, digits)


# A printed number


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("85.1", 85.05, 85.15),
        ("0.60", 0.595, 0.605),
        ("4,650", 4649.5, 4650.5),
        ("$0.31", 0.305, 0.315),
        ("+4.8%", 4.75, 4.85),
        ("−1.2", -1.25, -1.15),
        (".8", 0.75, 0.85),
        ("85.9 ± 0.7", 85.85, 85.95),
        ("< 0.01", 0.0, 0.01),
        ("5.47×", 5.465, 5.475),
        (7, 6.5, 7.5),
        (0.6, 0.55, 0.65),
    ],
)
def test_a_printed_number_stands_for_all_that_round_to_it(text: str | float, low: float, high: float) -> None:
    assert (printed(text).low, printed(text).high) == (low, high)


@pytest.mark.parametrize("text", ["", "-", "abc", "1.2.3", "12,34", "nan", "1e5", "< 0", "3-4"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"printed number|printed must"):
        printed(text)


def test_not_a_number_is_no_printed_number() -> None:
    with pytest.raises(ValueError, match="finite"):
        printed(float("nan"))


@given(VALUES, DIGITS)
def test_a_number_lies_in_the_range_of_what_is_printed_for_it(value: float, digits: int) -> None:
    assert printed(cut(value, digits)).covers(value)
    assert printed(value).taken_exactly().low == pytest.approx(value, abs=1e-11)


# True tables pass, moved entries fail


@given(VALUES, VALUES, DIGITS, DIGITS)
def test_a_true_difference_ratio_and_gain_pass_whatever_the_rounding(
    a: float, b: float, of_entries: int, of_result: int
) -> None:
    new, old = cut(a, of_entries), cut(b, of_entries)
    assert check_difference(new, old, cut(a - b, of_result), place=HERE).verdict == "consistent"
    assume(float(old) >= 1 and float(new) >= 1)
    assert check_ratio(new, old, cut(a / b, of_result), place=HERE).verdict == "consistent"
    gain = cut(100 * (a / b - 1), of_result)
    assert check_relative_gain(new, old, gain, place=HERE).verdict == "consistent"


@given(VALUES, VALUES, DIGITS, st.sampled_from([-3, 3]))
def test_a_difference_moved_by_more_than_rounding_fails(a: float, b: float, digits: int, units: int) -> None:
    new, old = cut(a, digits), cut(b, digits)
    stated = moved(cut(float(new) - float(old), digits), units)
    assert check_difference(new, old, stated, place=HERE).verdict == "inconsistent"


@given(VALUES, VALUES, st.sampled_from([0.9, 1.1]))
def test_a_ratio_a_tenth_off_fails(a: float, b: float, factor: float) -> None:
    new, old = cut(a, 3), cut(b, 3)
    stated = cut(factor * float(new) / float(old), 6)
    assert check_ratio(new, old, stated, place=HERE).verdict == "inconsistent"


@given(st.lists(VALUES, min_size=1, max_size=8), DIGITS, st.data())
def test_a_true_average_passes_and_one_moved_by_three_digits_fails(
    values: list[float], digits: int, data: st.DataObject
) -> None:
    weights = data.draw(st.lists(st.integers(1, 50), min_size=len(values), max_size=len(values)))
    parts = [cut(v, digits) for v in values]
    for w in (None, [float(x) for x in weights]):
        mean = cut(float(np.average(values, weights=w)), digits)
        assert check_average(parts, mean, place=HERE, weights=w).verdict == "consistent"
        assert check_average(parts, moved(mean, 3), place=HERE, weights=w).verdict == "inconsistent"
        assert check_within_parts(parts, mean, place=HERE).verdict == "consistent"
    beyond = moved(max(parts, key=float), 2)
    assert check_within_parts(parts, beyond, place=HERE).verdict == "inconsistent"
    least, most = min(parts, key=float), max(parts, key=float)
    assert check_extremes(parts, least, most, place=HERE).verdict == "consistent"
    assert check_extremes(parts, least, beyond, place=HERE).verdict == "inconsistent"


@given(st.integers(1, 3000), st.integers(0, 4), st.data())
def test_every_share_of_n_passes_at_n(n: int, digits: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    share = cut(100 * k / n, digits)
    assert k in counts_of_share(share, n)
    assert check_share(share, n, place=HERE).verdict == "consistent"
    assert n in possible_sizes(share, n)


@pytest.mark.parametrize("n", [7, 80, 120, 999])
def test_of_all_one_decimal_percentages_only_those_of_whole_numbers_pass(n: int) -> None:
    """The oracle is in whole numbers: 1000 k / n lies within half of the printed tenths."""
    fitting = {m for m in range(1001) if check_share(cut(m / 10, 1), n, place=HERE).verdict == "consistent"}
    assert fitting == {m for m in range(1001) if any(2 * abs(1000 * k - m * n) <= n for k in range(n + 1))}
    assert n > 900 or len(fitting) < 1.6 * n


def test_the_direction_in_which_a_half_was_rounded_is_said() -> None:
    assert check_share("58.7", 80, place=HERE).implied == "47/80 (a half, rounded down)"
    assert check_share("68.8", 80, place=HERE).implied == "55/80 (a half, rounded up)"
    assert check_share("62.5", 80, place=HERE).implied == "50/80"


def test_the_sizes_that_print_all_shares_are_those_that_print_each() -> None:
    texts = ["68.3", "73.1", "71.5", "73.9"]
    found = check_common_size(texts, n=100, n_max=400, place=HERE)
    fitting = [n for n in range(1, 401) if all(counts_of_share(t, n) for t in texts)]
    assert found.verdict == "inconsistent"
    assert found.needed.startswith(", ".join(map(str, fitting[:3])))
    assert check_common_size(["50.0", "25.0"], n=80, place=HERE).verdict == "consistent"


@given(st.floats(0.001, 20), st.lists(st.integers(100, 9999), min_size=2, max_size=6))
def test_one_price_passes_and_one_row_of_double_price_fails(price: float, tokens: list[int]) -> None:
    rows = [(f"row {i}", str(x), cut(price * x, 2)) for i, x in enumerate(tokens)]
    assume(all(float(cost) > 0 for _, _, cost in rows))
    assert check_one_price(rows, place=HERE).verdict == "consistent"
    name, count, cost = rows[0]
    assume(float(cost) >= 0.05)
    rows[0] = (name, count, cut(2 * float(cost), 2))
    assert check_one_price(rows, place=HERE).verdict == "inconsistent"


def test_one_number_in_two_places_must_read_alike() -> None:
    assert check_same([("a", "85.1"), ("b", "85.14"), ("c", "85")], place=HERE).verdict == "consistent"
    assert check_same([("a", "85.1"), ("b", "86.1")], place=HERE).implied == "they differ by 1"


def test_a_part_is_at_most_the_whole() -> None:
    assert check_part("120", "80", place=HERE).verdict == "inconsistent"
    assert check_part("80", "80", place=HERE).verdict == "consistent"


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 100), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=4))
def test_a_mean_within_bounds_of_its_groups_passes(groups: list[tuple[int, int, int]]) -> None:
    bounded = [(printed(size).taken_exactly(), min(a, b), max(a, b)) for size, a, b in groups]
    sizes = [size for size, _, _ in groups]
    low, high = (float(np.average([g[i] for g in bounded], weights=sizes)) for i in (1, 2))
    for value in (low, high, (low + high) / 2):
        assert check_grouped_mean(bounded, cut(value, 3), place=HERE).verdict == "consistent"
    assert check_grouped_mean(bounded, cut(high + 0.01, 3), place=HERE).verdict == "inconsistent"
    assert check_grouped_mean(bounded, cut(low - 0.01, 3), place=HERE).verdict == "inconsistent"


def test_the_shares_of_groups_are_rounded_too() -> None:
    """At most 57.5 % at 2 and 42.5 % at 5: 3.275."""
    groups = [("58", 1, 2), ("42", 3, 5)]
    assert check_grouped_mean(groups, "3.27", place=HERE).verdict == "consistent"
    assert check_grouped_mean(groups, "3.29", place=HERE).verdict == "inconsistent"


# What is refused


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: check_average([], "1", place=HERE), "parts must not be empty"),
        (lambda: check_average(["1", "2"], "1", place=HERE, weights=[1.0]), "weights must be"),
        (lambda: check_ratio("1", "0.0", "1", place=HERE), "below must be > 0"),
        (lambda: check_relative_gain("1", "0", "1", place=HERE), "old must be > 0"),
        (lambda: discordance(0.5, 0.6, 0.0, 80), "t must not be 0"),
        (lambda: check_share("50", 0, place=HERE), "n must be >= 1"),
        (lambda: check_common_size([], n=8, place=HERE), "shares must not be empty"),
        (lambda: check_one_price([("A", "0", "$1")], place=HERE), "must be > 0"),
        (lambda: check_kappas([], place=HERE), "rows must hold"),
        (lambda: kappa_range(3, [5]), "two classes"),
        (lambda: kappa_range(9, [5, 3]), "at most the 8 labels"),
        (lambda: check_p_values([], place=HERE), "at least one p-value"),
        (lambda: check_p_values([("A", ".1"), ("A", ".2")], place=HERE), "one name each"),
        (lambda: check_p_values([("A", ".1")], place=HERE, significant=["B"]), "must name rows"),
        (lambda: check_within_parts([], "1", place=HERE), "parts must not be empty"),
        (lambda: check_grouped_mean([("50", 3, 1)], "2", place=HERE), "low <= high"),
    ],
)
def test_what_cannot_be_checked_is_refused_in_words(call: object, words: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=words):
        call()


def test_a_finding_reads_as_a_sentence() -> None:
    found = check_difference("86.1", "82.7", "3.2", place="5.1")
    assert isinstance(found, Finding)
    assert str(found) == (
        "5.1, a difference: printed 3.2, implied 3.4 (3.3 to 3.5): inconsistent (other entries than the "
        "printed ones)"
    )
    assert not math.isnan(printed(found.printed).value)


# Majority and mean juror


def gains_and_agreements(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each of the 2^n patterns of right votes, the majority's gain over the mean and the agreeing pairs."""
    votes = np.array(list(product((0, 1), repeat=n)))
    pairs = [(i, j) for i in range(n) for j in range(i)]
    agree = np.mean([votes[:, i] == votes[:, j] for i, j in pairs], axis=0)
    return (votes.mean(axis=1) > 0.5) - votes.mean(axis=1), agree


@pytest.mark.parametrize("n", [3, 5, 7])
@pytest.mark.parametrize("agreement", [0.7, 0.895, 0.99])
def test_the_gain_of_a_majority_is_the_optimum_of_a_linear_programme_over_all_votes(
    n: int, agreement: float
) -> None:
    """Over every law of n votes with this agreement, the largest gain is the bound that the check takes."""
    gain, agree = gains_and_agreements(n)
    best = optimize.linprog(-gain, A_eq=[np.ones(len(gain)), agree], b_eq=[1, agreement], bounds=(0, 1))
    assert -best.fun == pytest.approx((n - 1) / (n + 1) * (1 - agreement), rel=1e-9)
    # Digits enough that rounding plays no part: the optimum is accepted, and a hundredth of a point more is not.
    juror, reached = 50.0, 50.0 - 100 * best.fun
    for more, verdict in ((0.0, "consistent"), (0.01, "inconsistent")):
        row = f"{juror:.6f}", f"{reached + more:.6f}", f"{100 * agreement:.6f}"
        assert check_majority_gain(*row, n, place="").verdict == verdict


@given(st.integers(0, 2**32 - 1), st.sampled_from([3, 5, 7]), st.integers(0, 2))
@settings(max_examples=60, deadline=None)
def test_no_panel_of_jurors_is_accused(seed: int, n: int, digits: int) -> None:
    rng = np.random.default_rng(seed)
    votes = rng.random((200, n)) < rng.beta(2, 1, (200, 1))
    if seed % 2:
        votes = rng.permuted(np.arange(n) < (n + 1) // 2) & np.ones((200, 1), dtype=bool)  # the extreme case
    right = votes.sum(axis=1)
    agree = 1 - np.mean(right * (n - right)) / math.comb(n, 2)
    row = (100 * votes.mean(), 100 * np.mean(right > n / 2), 100 * agree)
    assert check_majority_gain(*(f"{x:.{digits}f}" for x in row), n, place="").verdict == "consistent"


def test_an_even_panel_has_ties_and_no_bound() -> None:
    with pytest.raises(ValueError, match="n must be an odd number of jurors, 3 or more; got 4"):
        check_majority_gain("74.8", "85.1", "89.5", 4, place="")


# Items to gain and to lose


@given(st.integers(1, 60), st.data(), st.integers(0, 2), st.booleans())
def test_the_items_gained_and_lost_of_any_two_runs_are_possible(
    n: int, data: st.DataObject, digits: int, sized: bool
) -> None:
    gained = data.draw(st.integers(0, n))
    lost = data.draw(st.integers(0, n - gained))
    both = data.draw(st.integers(0, n - gained - lost))
    up, down, before, after = (
        f"{100 * x / n:.{digits}f}" for x in (gained, lost, both + lost, both + gained)
    )
    for known in ({"before": before}, {"after": after}, {"before": before, "after": after}):
        found = check_items_to_change(up, down, n=n if sized else None, place="", **known)
        assert found.verdict == "consistent", found


def test_exactly_the_numbers_that_no_two_runs_have_are_refused() -> None:
    """Ten items, both accuracies: every pair of numbers gained and lost against enumeration of all runs."""
    n = 10
    possible = {
        (both + lost, both + gained, gained, lost)
        for both, gained, lost in product(range(n + 1), repeat=3)
        if both + gained + lost <= n
    }
    for before, gained, lost in product(range(n + 1), repeat=3):
        after = before + gained - lost
        if 0 <= after <= n:
            row = [f"{100 * x / n:.0f}" for x in (gained, lost, before, after)]
            found = check_items_to_change(row[0], row[1], before=row[2], after=row[3], n=n, place="")
            assert (found.verdict == "consistent") == ((before, after, gained, lost) in possible)
