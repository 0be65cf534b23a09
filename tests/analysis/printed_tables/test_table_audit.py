"""``audit_table``: what a user's table is checked for, and what it refuses."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from printed_tables import audit_table, findings_frame
from printed_tables.table import CHECKS
from scipy import stats


def table(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False, skipinitialspace=True)


def made_up(rng: np.random.Generator, n: int, percent: bool) -> pd.DataFrame:
    """Return a table whose every number follows from the same made-up answers."""
    rows = []
    for name in ("A", "B", "C"):
        gained, lost, both = (int(rng.integers(low, n // 4)) for low in (4, 1, 5))
        x = np.repeat([1.0, -1.0, 0.0], [gained, lost, n - gained - lost])
        t = stats.ttest_1samp(x, 0)
        old, new = (both + lost) / n, (both + gained) / n
        tokens = int(rng.integers(500, 5000))
        scale, digits = (100, 1) if percent else (1, 3)
        rows.append(
            {
                "System": name,
                "accuracy": f"{scale * new:.{digits}f}",
                "baseline": f"{scale * old:.{digits}f}",
                "gain": f"{scale * (new - old):.{digits}f}",
                "relative gain": f"{100 * (new / old - 1):.1f}%",
                "n": str(n),
                "t": f"{t.statistic:.2f}",
                "p": f"{t.pvalue:.3f}",
                "tokens": f"{tokens:,}",
                "tokens per point": f"{tokens / (100 * new):.1f}",
                "cost": f"${0.0001 * tokens:.2f}",
            }
        )
    return pd.DataFrame(rows)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(40, 400), st.booleans())
def test_a_made_up_table_that_is_true_has_no_inconsistent_finding(seed: int, n: int, percent: bool) -> None:
    frame = made_up(np.random.default_rng(seed), n, percent)
    found = audit_table(frame)
    assert found.holds, [str(f) for f in found.of("inconsistent")]
    without = {"kappa", "gained-lost", "items-to-change", "cost-per-point", "average", "overall", "overall-n"}
    assert without == set(found.left_out)


@pytest.mark.parametrize(
    ("column", "value", "check"),
    [
        ("gain", "99.9", "gain"),
        ("relative gain", "99.9%", "relative gain in percent"),
        ("tokens per point", "0.1", "tokens per point of accuracy"),
        ("p", "0.999", "t and p"),
        ("t", "9.99", "paired t of 80 right-or-wrong answers"),
        ("accuracy", "77.7", "a share of 80 items"),
    ],
)
def test_an_entry_that_is_moved_is_found_by_its_check(column: str, value: str, check: str) -> None:
    frame = made_up(np.random.default_rng(1), 80, percent=True)
    assert audit_table(frame).holds
    frame.loc[1, column] = value
    found = audit_table(frame)
    assert check in {f.check for f in found.of("inconsistent")}


def test_the_costs_and_kappas_of_a_published_table() -> None:
    found = audit_table(
        table(
            "framework,Accuracy,Kappa,Tokens,tokens_per_point,Cost\n"
            "Single Judge,72.5,0.45,850,11.7,$0.09\n"
            'D3-MORE,85.1,0.58,"3,050",35.8,$0.31\n'
            'D3-SAMRE,86.3,0.60,"4,650",53.9,$0.47\n'
        )
    )
    assert found.holds
    kappas = [f for f in found.findings if f.check == "accuracy and kappa"]
    assert [f.place for f in kappas] == ["Single Judge", "D3-MORE", "D3-SAMRE", "all rows"]
    assert kappas[-1].implied == "majority class 0.715 to 0.784"
    assert set(found.left_out) >= {"share", "gain", "holm"}
    assert found.left_out["gain"] == "no baseline and no gain"


def test_the_number_of_items_can_be_given_beside_the_table() -> None:
    frame = table("model,accuracy\nA,85.1\nB,86.3\n")
    found = audit_table(frame, n=80)
    assert [f.verdict for f in found.findings] == ["inconsistent", "consistent"]
    # A column of its own goes before.
    frame["n"] = "1000"
    assert audit_table(frame, n=80).holds


def test_shares_and_percentages_are_told_apart_by_their_size() -> None:
    shares, percents = "model,accuracy\nA,0.85\nB,0.9\n", "model,accuracy\nA,85%\nB,90%\n"
    for text in (shares, percents):
        assert audit_table(table(text), n=20).holds
        assert not audit_table(table(text), n=7).holds


def test_an_average_row_is_the_mean_and_an_overall_row_lies_among_the_others() -> None:
    found = audit_table(
        table("model,accuracy,gain\nA,80.0,1.0\nB,90.0,3.0\nAverage,85.0,2.5\nOverall,95.0,\n")
    )
    wrong = {(f.place, f.check) for f in found.of("inconsistent")}
    assert wrong == {("Average", "average gain"), ("Overall", "the total lies between its parts")}


def test_an_overall_row_whose_parts_make_it_up_is_weighted_by_their_sizes() -> None:
    rows = "model,accuracy,n\ncoding,50.0,30\nwriting,80.0,10\noverall,{},40\n"
    assert audit_table(table(rows.format("57.5")), checks=["overall"]).holds
    assert not audit_table(table(rows.format("65.0")), checks=["overall"]).holds


def test_a_family_of_tests_is_adjusted() -> None:
    found = audit_table(table("model,p\nA,0.030\nB,0.040\nC,<0.001\n"))
    (finding,) = found.findings
    assert finding.verdict == "conditional"
    assert finding.implied == "after Holm: A .060, B .060, C .003"


def test_an_empty_cell_is_not_checked_and_an_unknown_column_is_named() -> None:
    found = audit_table(table("model,accuracy,baseline,gain,colour\nA,80.0,70.0,10.0,red\nB,75.0,-,,blue\n"))
    assert [f.place for f in found.findings if f.check == "gain"] == ["A"]
    assert found.ignored == ("colour",)


def test_numbers_instead_of_text_are_read_in_their_shortest_form() -> None:
    frame = pd.DataFrame(
        {"model": ["A", "B"], "accuracy": [85.1, np.nan], "baseline": [80, 70], "gain": [5.1, 1.0]}
    )
    found = audit_table(frame)
    assert [str(f.printed) for f in found.findings if f.check == "gain"] == ["5.1"]


def test_a_row_of_nothing_does_not_stop_the_audit() -> None:
    found = audit_table(
        table(
            "model,accuracy,baseline,relative_gain,tokens,cost,cost_per_point\n"
            "local,80.0,50.0,60.0,100,$0.00,0.000\n"
            "paid,80.0,50.0,60.0,100,$0.00,0.000\n"
            "empty,0.0,0.0,10.0,0,$0.00,0.000\n"
        )
    )
    assert found.holds
    assert {f.place for f in found.findings if f.check == "cost per point of accuracy"} == {"local", "paid"}


def test_only_the_wanted_checks_are_made() -> None:
    frame = made_up(np.random.default_rng(2), 80, percent=True)
    found = audit_table(frame, checks=["gain", "one-price"])
    assert {f.check for f in found.findings} == {"gain", "one price for all rows"}
    assert not found.left_out


def test_the_result_is_a_table_and_text() -> None:
    found = audit_table(table("model,accuracy,baseline,gain\nA,80.0,70.0,10.0\nB,80.0,70.0,12.0\n"))
    assert findings_frame(found.findings)["verdict"].tolist() == ["consistent", "inconsistent"]
    assert not found.holds
    assert str(found).splitlines()[0] == (
        "2 findings: 1 inconsistent, 0 possible only under a further condition, 1 consistent."
    )
    # What is wrong comes first.
    assert str(found).splitlines()[1].startswith("B, gain: printed 12.0")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("colour\nred\n", "a table must have one of the columns"),
        ("model,accuracy\n", "at least one row"),
        ("model,accuracy\nA,80\nA,90\n", "'A' more than once"),
        ("model,accuracy\nA,about 80\n", "accuracy must be a number as printed; got 'about 80' in row 'A'"),
        ("model,accuracy,n\nA,80,12.5\n", "n must be a whole number"),
        ("model,accuracy,n\nA,80,0\n", "n must be a whole number >= 1"),
        ("model,accuracy,n\nA,180,80\n", "between 0 and 100"),
        ("model,Accuracy,accuracy\nA,80,80\n", "differ by more than case"),
        ("model,t,p\nA,2.0,1.5\n", "p must lie between 0 and 1"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        audit_table(table(text))


def test_a_check_that_is_unknown_or_lacks_its_columns_is_refused() -> None:
    frame = table("model,accuracy\nA,80.0\n")
    with pytest.raises(ValueError, match="check must be one of"):
        audit_table(frame, checks=["colour"])
    with pytest.raises(ValueError, match=r"'gain' must have its columns .* no baseline and no gain"):
        audit_table(frame, checks=["gain"])


def test_every_check_says_what_it_asks() -> None:
    assert all(check.asks.endswith("?") for check in CHECKS.values())
    assert [check.name for check in CHECKS.values()] == list(CHECKS)


@pytest.mark.parametrize(
    "head",
    ["Accuracy (%)", "accuracy [%]", "Accuracy, %", "accuracy (in %)", "ACCURACY %", "accuracy in percent"],
)
def test_a_percent_sign_in_a_head_is_the_unit_of_its_column(head: str) -> None:
    """Also of small numbers, which would be read as shares without it."""
    plain = audit_table(pd.DataFrame({"accuracy": ["0.8%", "2.4%"], "n": ["125", "125"]}))
    found = audit_table(pd.DataFrame({head: ["0.8", "2.4"], "N": ["125", "125"]}))
    assert found == plain
    assert not found.ignored


def test_only_shares_may_be_percentages() -> None:
    found = audit_table(
        pd.DataFrame({"accuracy": ["81.6"], "n": ["125"], "p (%)": ["5"], "tokens (%)": ["3"]})
    )
    assert found.ignored == ("p (%)", "tokens (%)")
    with pytest.raises(ValueError, match="differ by more than case and a percent sign"):
        audit_table(pd.DataFrame({"Accuracy": ["81.6"], "accuracy (%)": ["81.6"]}))


FALSE_TABLES = {
    "more gained than wrong": "accuracy,baseline,n,gained,lost\n85.0,80.0,80,20,16\n",
    "lost where all are right": "accuracy,gained,lost,n\n100,4,1,80\n",
    "more lost than right": "accuracy,baseline,gained,lost,n\n70.0,10.0,60%,20%,10\n",
    "a whole smaller than a part": "system,accuracy,n\nA,50.0,40\nB,60.0,20\noverall,53.3,30\n",
}


@pytest.mark.parametrize("name", FALSE_TABLES)
def test_numbers_of_items_that_cannot_be_are_inconsistent(name: str) -> None:
    found = audit_table(table(FALSE_TABLES[name]))
    assert {f.check for f in found.of("inconsistent")} & {"items to gain and to lose", "n of all items"}


def test_a_whole_that_is_not_the_sum_needs_items_of_no_or_of_several_rows() -> None:
    rows = "system,accuracy,n\nA,50.0,40\nB,60.0,20\noverall,53.3,{}\n"
    for n, verdict in (("60", "consistent"), ("75", "conditional"), ("50", "conditional")):
        found = [f for f in audit_table(table(rows.format(n))).findings if f.check == "n of all items"]
        assert [f.verdict for f in found] == [verdict]
    same = audit_table(table("system,accuracy,n\nA,50.0,40\nB,60.0,40\noverall,55.0,40\n"))
    assert "overall-n" in same.left_out


@pytest.mark.parametrize("column", ["tokens", "cost", "gained", "lost", "tokens_per_point", "cost_per_point"])
def test_a_number_below_zero_of_what_is_counted_is_refused(column: str) -> None:
    with pytest.raises(ValueError, match=f"{column} must lie at or above 0; got '-300' in row 'row 1'"):
        audit_table(table(f"accuracy,{column}\n85.0,-300\n"))


def test_closing_zeros_count() -> None:
    assert not audit_table(table("accuracy,n\n0.600,7\n")).holds
    assert audit_table(table("accuracy,n\n0.6,7\n")).holds


def test_a_half_is_rounded_up_and_an_entry_that_is_moved_names_what_it_would_need() -> None:
    frame = table("model,accuracy,baseline,gain,note\nMORE,85.0,72.5,12.5,a\nSAMRE,86.3,72.5,14.8,b\n")
    found = audit_table(frame, n=80)
    (wrong,) = found.of("inconsistent")
    assert (wrong.place, wrong.printed, wrong.implied) == ("SAMRE", "14.8", "13.8 (13.7 to 13.9)")
    assert wrong.needed == "other entries than the printed ones"
    assert {f.place: f.implied for f in found.findings if f.check == "a share of 80 items"} == {
        "MORE": "68/80",
        "SAMRE": "69/80 (a half, rounded up)",
    }
    assert found.ignored == ("note",)


def test_a_table_that_no_check_can_read_says_that_nothing_was_checked() -> None:
    found = audit_table(table("model,accuracy,acc\nA,80,79\n"))
    assert found.headline == "Nothing was checked, because no check has all of its columns."
    assert found.ignored == ("acc",)


def test_the_notes_say_how_the_table_was_read() -> None:
    found = audit_table(table("model,accuracy,n\nA,66.6,3\nB,83.3,6\n"))
    assert found.holds
    assert found.notes[0] == "read as accuracy in percent"
    assert found.notes[-1] == "digits are read as truncated, not rounded"


def test_decimal_commas_give_the_same_findings() -> None:
    rows = [("A", "85.0", "72.5", "12.5", "1390", "16.35"), ("B", "86.3", "72.5", "14.8", "2051", "23.77")]
    columns = ["system", "Accuracy (%)", "baseline", "gain", "tokens", "tokens_per_point"]
    frame = pd.DataFrame(rows, columns=columns, dtype=str)
    points, commas = audit_table(frame, n=80), audit_table(frame.map(lambda x: x.replace(".", ",")), n=80)
    assert [(f.place, f.check, f.verdict) for f in commas.findings] == [
        (f.place, f.check, f.verdict) for f in points.findings
    ]
    assert len(points.of("inconsistent")) == 1
    assert "numbers have a decimal comma, such as '85,0'" in commas.notes


def test_a_comma_between_thousands_is_refused_beside_decimal_commas() -> None:
    frame = pd.DataFrame({"model": ["A"], "accuracy": ["80,5"], "tokens": ["1,390"]})
    with pytest.raises(ValueError, match="no comma between thousands; got '1,390'; write 1390"):
        audit_table(frame)
