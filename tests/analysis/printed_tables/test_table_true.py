"""``audit_table`` accuses no true table: random answers, tested and printed in every way that papers use."""

from __future__ import annotations

import math
import runpy
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from layers import examples
from printed_tables import audit_table, check_kappas, check_significance, majority_share, printed
from printed_tables.checks import kappa_of_any_classes

FOLDER = Path(__file__).resolve().parents[3] / "analysis" / "table_audit"
MODULE: dict[str, Any] = runpy.run_path(str(FOLDER / "true_tables.py"))
TESTS, ROUNDINGS, printed_as = MODULE["TESTS"], MODULE["ROUNDINGS"], MODULE["printed_as"]


def table(text: str) -> pd.DataFrame:
    first, *rows = [line.split(",") for line in text.split()]
    return pd.DataFrame(rows, columns=first)


def accused(seed: int, tables: int, rounding: str | None = None) -> list[str]:
    """Return what is called inconsistent in so many random true tables."""
    found = []
    for k in range(tables):
        rng = np.random.default_rng([seed, k])
        style = MODULE["draw_style"](rng, rounding)
        frame, n = MODULE["true_table"](MODULE["answers"](rng, int(rng.integers(1, 7))), style)
        audit = audit_table(frame, n=n)
        assert any(note.startswith("read as accuracy") for note in audit.notes)
        found += [f"table {k}: {finding}" for finding in audit.of("inconsistent")]
    return found


@examples(60, 300)
def test_no_number_of_true_tables_is_called_inconsistent(n_examples: int) -> None:
    assert accused(1, n_examples) == []


@examples(20, 60)
def test_no_number_is_called_inconsistent_because_its_digits_were_cut_off(n_examples: int) -> None:
    assert accused(2, n_examples, "cut off") == []


@pytest.mark.slow
def test_no_number_of_20000_true_tables_is_called_inconsistent() -> None:
    assert accused(3, 18_000) == []
    assert accused(4, 2_000, "cut off") == []


@pytest.mark.slow
def test_the_random_tables_hold_every_test_unit_column_and_kind_of_average() -> None:
    """What no accusation is worth depends on what was tried."""
    seen: Counter[str] = Counter()
    for k in range(300):
        rng = np.random.default_rng([1, k])
        style = MODULE["draw_style"](rng)
        frame, _ = MODULE["true_table"](MODULE["answers"](rng, 4), style)
        seen.update([style.test, style.unit, style.rounding, style.whole, style.p_form, *style.columns])
        seen.update([f"gained in {style.counted}" if "gained_lost" in style.columns else "no counts"])
        shares = pd.to_numeric(frame["accuracy"].astype(str).str.rstrip("%"))
        seen["share of 1"] += style.unit == "share" and bool((shares == 1).any())
        seen["percentages below 1"] += style.unit == "percent" and bool((shares < 1).all())
        seen["small p"] += "p" in frame and bool(frame["p"].astype(str).str.startswith("<").any())
    wanted = [*TESTS, *MODULE["UNITS"], *ROUNDINGS[:3], *MODULE["AVERAGES"], *MODULE["COLUMNS"]]
    wanted += [f"gained in {unit}" for unit in MODULE["COUNTED"]]
    wanted += ["share of 1", "percentages below 1", "small p", "scientific"]
    assert {name for name in wanted if not seen[name]} == set()


# p-values


@given(st.sampled_from(sorted(TESTS)), st.integers(5, 400), st.data())
def test_the_p_of_every_test_is_possible_whatever_its_sides_and_digits(
    test: str, n: int, data: st.DataObject
) -> None:
    gained = data.draw(st.integers(0, n))
    lost = data.draw(st.integers(0, n - gained))
    both = data.draw(st.integers(0, n - gained - lost))
    truth = MODULE["Answers"](n=n, both=both, gained=gained, lost=lost, kappa=0.0, tokens=1, price=1.0)
    p = TESTS[test][1](truth)
    assume(not math.isnan(p))
    digits, rounding = data.draw(st.integers(1, 6)), data.draw(st.sampled_from(ROUNDINGS[:3]))
    old, new = (printed_as(100 * x, 2, rounding) for x in (truth.old, truth.new))
    for value in (p, MODULE["one_sided"](truth, p)):
        found = check_significance(old, new, printed_as(value, digits, rounding), n, place="row")
        assert found.verdict == "conditional", (found, value)
        if value == p:
            assert found.needed == "a small number of lost items"


@pytest.mark.parametrize(
    ("gained", "lost", "n", "p"),
    [
        (5, 0, 20, "0.021"),
        (20, 0, 20, "1.9e-06"),
        (20, 0, 40, "1.9e-6"),
        (1, 1, 30, "0.75"),
        (3, 0, 9, "0.084"),
    ],
)
def test_a_p_that_only_one_test_has_is_no_accusation(gained: int, lost: int, n: int, p: str) -> None:
    """Paired t, exact, exact, mid-p of equal runs, paired t of few items."""
    old, new = f"{100 * lost / n:.2f}", f"{100 * gained / n:.2f}"
    assert check_significance(old, new, p, n, place="row").verdict == "conditional"


def test_a_p_below_half_the_least_is_inconsistent_and_one_above_it_needs_one_side() -> None:
    # 3 gained of 80, none lost: the paired z is 1.765, and its p .077.
    assert check_significance("80.0", "83.75", "0.050", 80, place="row").needed == "a one-sided test"
    assert check_significance("80.0", "83.75", "0.030", 80, place="row").verdict == "inconsistent"


# Kappas


@given(st.lists(st.integers(0, 300), min_size=4, max_size=4), st.integers(0, 3), st.integers(0, 4))
def test_no_two_class_kappa_is_impossible_whatever_its_digits(
    cells: list[int], digits: int, kappa_digits: int
) -> None:
    a, b, c, d = cells
    n = sum(cells)
    assume(n > 0)
    chance = ((a + b) * (a + c) + (c + d) * (b + d)) / n**2
    assume(chance < 1)
    accuracy = (a + d) / n
    row = f"{100 * accuracy:.{digits}f}", f"{(accuracy - chance) / (1 - chance):.{kappa_digits}f}"
    found = majority_share(*row)
    assert found is not None, row
    assert found[0] <= max(a + b, c + d) / n <= found[1]


def test_a_kappa_that_rounds_to_one_is_possible() -> None:
    assert check_kappas([("99.8", "1.00")], place="row").verdict == "conditional"


@given(st.integers(2, 5), st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.3, 1.0, 3.0]))
def test_a_kappa_of_any_number_of_classes_lies_where_it_can(classes: int, seed: int, even: float) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.multinomial(200, rng.dirichlet(np.full(classes**2, even))).reshape(classes, classes)
    accuracy, chance = np.trace(cells) / 200, cells.sum(0) @ cells.sum(1) / 200**2
    assume(chance < 1)
    kappa = (accuracy - chance) / (1 - chance)
    assert kappa_of_any_classes(f"{accuracy:.3f}", f"{kappa:.3f}", percent=False)
    found = audit_table(pd.DataFrame({"accuracy": [f"{accuracy:.3f}"], "kappa": [f"{kappa:.3f}"]}))
    assert found.holds


def test_the_least_kappa_of_an_accuracy_is_reached_and_no_kappa_is_above_it() -> None:
    # 80 % right, each class said and true half of the time with the other's errors: kappa is -(1 - a)/(1 + a).
    cells = np.array([[80, 10], [10, 0]])
    chance = cells.sum(0) @ cells.sum(1) / 100**2
    assert (0.8 - chance) / (1 - chance) == pytest.approx(-0.2 / 1.8)
    assert kappa_of_any_classes("80.0", "-0.11")
    assert not kappa_of_any_classes("80.0", "-0.13")
    wrong = audit_table(table("accuracy,kappa 50.0,0.60 90.0,0.70"))
    assert [f.place for f in wrong.of("inconsistent")] == ["row 1"]


# Units


@pytest.mark.parametrize(
    ("gain", "gained", "lost"),
    [("15.0", "15", "3"), ("0.15", "15", "3"), ("15%", "18.75%", "3.75%"), ("15.0", ".1875", ".0375")],
)
@pytest.mark.parametrize("accuracy", ["0.850,0.700", "85.0,70.0", "85%,70%", "85.0,0.700"])
def test_counts_percentages_and_shares_of_one_table_go_together(
    accuracy: str, gain: str, gained: str, lost: str
) -> None:
    text = f"accuracy,baseline,gain,gained,lost,n {accuracy},{gain},{gained},{lost},80"
    assert audit_table(table(text)).holds
    wrong = audit_table(table(text.replace(f",{lost},80", ",30,80")))
    assert "gained minus lost items" in {f.check for f in wrong.of("inconsistent")}


def test_percentages_below_one_are_read_as_percentages_where_shares_are_impossible() -> None:
    rows = "accuracy,baseline,n,p 0.4,0.2,500,0.56 0.8,0.2,500,0.18"
    found = audit_table(table(rows))
    assert found.holds
    assert found.notes[0] == "read as accuracy and baseline in percent"
    assert found.notes[1].startswith("read as accuracy and baseline in shares, ")
    # Where both go, shares are taken, and the note says what would be percentages.
    found = audit_table(table("accuracy,n 0.4,500 0.8,500"))
    assert found.notes[0] == "read as accuracy in shares"
    assert '"%"' in found.notes[1]
    # Where neither goes, the table is accused.
    assert not audit_table(table("accuracy,baseline,gain,n 0.4,0.2,0.7,500")).holds


def test_digits_that_were_cut_off_are_said_and_not_called_wrong() -> None:
    cut = "accuracy,n 66.6,3 83.3,6 16.6,6"
    found = audit_table(table(cut))
    assert found.holds
    assert "digits are read as truncated, not rounded" in found.notes
    # One column has one rounding: 16.7 of 6 is rounded, 66.6 of 3 is cut off.
    assert not audit_table(table("accuracy,n 66.6,3 83.3,6 16.7,6")).holds


def test_tokens_in_round_hundreds_are_rounded_to_hundreds() -> None:
    found = audit_table(table("accuracy,tokens,tokens_per_point 80.0,3000,37.9 75.0,4500,59.6"))
    assert found.holds
    assert found.notes[-1] == "all token numbers end in 0, so they are read as rounded to 100"


def test_a_mean_of_several_runs_is_not_held_against_whole_numbers() -> None:
    found = audit_table(table("system,accuracy,n A,82.7±1.1,120"))
    assert not found.findings
    assert "mean of several runs" in found.notes[-1]


# Rows of other items, other prices, other weights


def test_rows_of_other_numbers_of_items_need_no_common_degrees_of_freedom() -> None:
    rows = "system,t,p,n A,2.09,0.050,20 B,1.97,0.050,300"
    assert audit_table(table(rows)).holds
    unsized = audit_table(table("system,t,p A,2.09,0.050 B,1.97,0.050"))
    assert [f.verdict for f in unsized.findings if "all rows" in f.check] == ["conditional"]


def test_a_row_of_another_price_is_possible_and_said() -> None:
    found = audit_table(table("system,tokens,cost A,3050,$0.31 B,4650,$9.99"))
    assert [f.verdict for f in found.findings] == ["conditional"]
    assert found.findings[0].needed == "another price for some rows"


@pytest.mark.parametrize("whole", ["Average", "macro average", "Weighted Avg.", "mean"])
@pytest.mark.parametrize(("said", "holds"), [("65.0", True), ("57.5", True), ("61.0", False)])
def test_an_average_is_plain_or_weighted_by_n(whole: str, said: str, holds: bool) -> None:
    frame = pd.DataFrame(
        {"name": ["A", "B", whole], "accuracy": ["50.0", "80.0", said], "n": ["30", "10", "40"]}
    )
    assert audit_table(frame).holds == holds


def test_an_average_with_weights_that_are_not_printed_has_one_weighting_for_all_columns() -> None:
    rows = "name,accuracy,baseline A,50.0,40.0 B,80.0,60.0 Average,{},{}"
    assert audit_table(table(rows.format("57.5", "45.0"))).holds
    assert not audit_table(table(rows.format("57.5", "55.0"))).holds
    assert not audit_table(table(rows.format("81.0", "50.0"))).holds


# Printed numbers


@given(st.integers(1, 10**6), st.integers(1, 8), st.integers(0, 3))
def test_a_small_p_is_read_with_its_digits(value: int, power: int, digits: int) -> None:
    p = value * 10.0 ** -(power + 6)
    text = f"{p:.{digits}e}"
    assume("e-" in text)
    assert printed(text).covers(p)
    assert printed(text).half_unit == pytest.approx(
        0.5 * 10.0 ** (math.floor(math.log10(float(text))) - digits)
    )
    assert not printed(text).covers(2 * p)


def test_a_bound_below_the_smallest_digits_is_still_a_bound() -> None:
    assert check_significance("10.0", "90.0", "< 1e-13", 100, place="row").verdict == "conditional"
    assert check_significance("50.0", "51.0", "< 1e-13", 100, place="row").verdict == "inconsistent"


# What is missed


def test_the_findings_hold_the_tables_that_the_study_wrote() -> None:
    module = runpy.run_path(str(FOLDER / "run.py"))
    fill = runpy.run_path(str(FOLDER.parents[1] / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"]({"detected": pd.read_csv(FOLDER / "detected.csv")})
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables)


def test_a_smaller_study_finds_what_the_page_says_is_found() -> None:
    module = runpy.run_path(str(FOLDER / "run.py"))
    config = tomllib.loads((FOLDER / "config.toml").read_text(encoding="utf-8")) | {"replicates": 10}
    table = pd.read_csv(FOLDER / "detected.csv").set_index(["design", "items", "column", "alteration"])
    for column, how in (
        ("accuracy", "last digit"),
        ("gain", "last digit"),
        ("gain", "sign"),
        ("baseline", "one point"),
    ):
        found = module["detected"](config, "usual", 80, column, how)["inconsistent"]
        assert abs(found - table.loc[("usual", 80, column, how), "inconsistent"]) < 0.3
