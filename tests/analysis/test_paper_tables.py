"""The tables of three papers: every known inconsistency comes out of their entries, and what holds is seen to hold."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "analysis" / "paper_tables"

INCONSISTENT = [
    # The advocates paper.
    ("advocates", "4.2, relative gains", "smallest and largest entry", "3.7 to 10.5", "3.6% to 10.8%"),
    ("advocates", "4.2, mean relative gain of SAMRE without juries", "an average", "8.7", "9.9 ("),
    (
        "advocates",
        "Table 3",
        "one number of degrees of freedom in all rows",
        "6 rows",
        "Llama-3-8B 108 to 918",
    ),
    # D3.
    ("D3", "5.4, D3-SAMRE over Single Judge, tokens", "a ratio", "4.65x", "5.471 ("),
    ("D3", "5.5, tokens of D3-SAMRE over D3-MORE", "a relative gain in percent", "+42%", "52.46 ("),
    ("D3", "5.2, D3-MORE with personas, all tasks", "the total lies", "85.1", "between 80.6 and 80.9"),
    ("D3", "5.2, D3-MORE without personas, all tasks", "the total lies", "81.3", "between 75.2 and 80.1"),
    ("D3", "5.6, persona gain at any size, one juror", "a difference", "3 to 4", "2.3 ("),
    ("D3", "5.5, D3-SAMRE over D3-MORE", "gained minus lost items", "1.2", "24 (23 to 25)"),
    ("D3", "5.1 and G.1, MT-Bench", "a part is at most the total", "120 of 80", "at most 80"),
    ("D3", "Table 5, MT-Bench", "a part is at most the total", "100 of 80", "at most 80"),
    ("D3", "Table 5, D3-MORE, Llama-3-70B", "a share of 100 items", "73.9", "73/100 = 73 or 74/100 = 74"),
    ("D3", "5.8, diversity as a ratio of diversities", "a ratio", "2.2x", "2.091 ("),
    ("D3", "5.4, rounds by the published code's rule", "a mean of groups", "2.71", "3 to 5"),
    (
        "D3",
        "Table 3 and G.3, personas",
        "gain of a majority of 5",
        "74.8 to 85.1",
        "a gain of at most 7 (7.03)",
    ),
    # Found on the way.
    ("D3", "Table 1, MT-Bench", "shares of the same 80 items", "72.5, 78.2", "4 of 6 are not a share of 80"),
    (
        "D3",
        "Table 1, AlignBench",
        "shares of the same 683 items",
        "68.0, 75.1",
        "3 of 6 are not a share of 683",
    ),
    ("D3", "Table 4, curated personas", "a share of 120 items", "86.1", "103/120 = 85.83 or 104/120 = 86.67"),
    ("D3", "Table 5, Llama-3-70B", "shares of the same 100 items", "68.3", "4 of 4 are not a share of 100"),
    ("D3", "Table 5, D3-MORE, GPT-4-Turbo, over the first row", "a difference", "+12.6%", "16.8 ("),
    ("D3", "Table 5, ChatEval, Llama-3-70B, as its column", "a relative gain in percent", "+4.8%", "7.028 ("),
    ("D3", "5.6, personas with five jurors", "p of a difference at 80 items", "81.3 and 85.1", "p from .077"),
    ("D3", "5.1 and G.1, personas over generic", "p of a difference at 120 items", "82.7", "p from .042"),
    ("D3", "5.7, tokens saved over five rounds", "tokens in proportion to rounds", "-40", "-45.8 ("),
    (
        "D3",
        "D3-SAMRE, accuracy with budgeted",
        "the same number in several places",
        "86.3",
        "they differ by 5.7",
    ),
]
CONDITIONAL = [
    ("D3", "Table 1, MT-Bench", "accuracy and kappa", "72.5 and 0.45", "majority class 0.715 to 0.784"),
    (
        "D3",
        "Table 1, MT-Bench, D3-MORE, entries exact",
        "accuracy and kappa",
        "85.1",
        "majority class 0.705 to 0.854",
    ),
    (
        "D3",
        "Table 1, MT-Bench, D3-MORE and D3-SAMRE",
        "80 items separate",
        "85.1 and 86.3",
        "independent shares: p .822",
    ),
]
CONSISTENT = [
    ("D3", "Limitations, D3-MORE over Single Judge", "a ratio", "4x", "3.588 ("),
    ("D3", "Table 2", "one price for all rows", "6 rows", "0.09999 to 0.1016 per 1,000 tokens"),
    ("D3", "5.8, diversity as a ratio of similarities", "a ratio", "2.2x", "2.161 ("),
    ("D3", "5.3, D3-MORE over Single Judge", "a difference", "12.6", "12.6 ("),
    (
        "advocates",
        "Table 3",
        "6 tests at 0.05 together",
        "Llama-3-8B 0.063",
        "after Holm: Llama-3-8B .063, Qwen .042",
    ),
    ("ChatEval", "3.4, ChatGPT", "a difference", "6.2", "6.2 ("),
    ("ChatEval", "3.4, mean of the annotators", "an average", "71.7", "71.7 ("),
    ("ChatEval", "3.5, rho over G-EVAL-4", "a relative gain in percent", "16.3", "16.33 ("),
    ("ChatEval", "3.5, tau over G-EVAL-4", "a relative gain in percent", "10.0", "9.913 ("),
    ("ChatEval", "Table 1, FairEval, ChatGPT", "a share of 80 items", "58.7", "47/80 (a half, rounded down)"),
    ("ChatEval", "Table 1, Annotator 1", "a share of 80 items", "68.8", "55/80 (a half, rounded up)"),
    (
        "ChatEval",
        "Table 1, GPT-4, several agents",
        "a share of 80 items",
        "63.8",
        "51/80 (a half, rounded up)",
    ),
]


@pytest.fixture(scope="module")
def module() -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / "run.py"))


@pytest.fixture(scope="module")
def found(module: dict[str, Any]) -> dict[str, pd.DataFrame]:
    made: dict[str, pd.DataFrame] = module["study"]()
    return made


def test_the_findings_hold_the_tables_that_the_study_wrote(module: dict[str, Any]) -> None:
    made = {path.stem: pd.read_csv(path) for path in FOLDER.glob("*.csv")}
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables)


def test_the_written_tables_are_those_of_the_printed_numbers(
    found: dict[str, pd.DataFrame], tmp_path: Path
) -> None:
    for name, table in found.items():
        table.to_csv(tmp_path / "again.csv", index=False, float_format="%.6g", lineterminator="\n")
        assert (tmp_path / "again.csv").read_text("utf-8") == (FOLDER / f"{name}.csv").read_text("utf-8"), (
            name
        )


@pytest.mark.parametrize(
    ("verdict", "row"),
    [(v, row) for v, rows in (
        ("inconsistent", INCONSISTENT), ("conditional", CONDITIONAL), ("consistent", CONSISTENT)
    ) for row in rows],
    ids=lambda x: x if isinstance(x, str) else f"{x[0]} {x[1]}",
)  # fmt: skip
def test_a_known_number_implies_what_it_is_known_to_imply(
    verdict: str, row: tuple[str, ...], found: dict[str, pd.DataFrame]
) -> None:
    paper, place, check, printed, implied = row
    table = found["findings"]
    rows = table[
        (table["paper"] == paper)
        & table["place"].str.startswith(place)
        & table["check"].str.startswith(check)
        & table["printed"].str.startswith(printed)
        & table["implied"].str.startswith(implied)
    ]
    exact = rows[rows["place"] == place]
    assert len(exact if len(exact) else rows) == 1, rows
    assert (exact if len(exact) else rows)["verdict"].item() == verdict
    if verdict != "consistent":
        assert rows["needed"].str.len().min() > 10


def test_the_t_and_p_of_the_advocates_paper_share_no_degrees_of_freedom(
    found: dict[str, pd.DataFrame],
) -> None:
    table = found["holm"].set_index("model")
    ranges = {
        m: (low, None if pd.isna(high) else high)
        for m, low, high in table[["df_least", "df_most"]].itertuples()
    }
    assert ranges == {
        "Llama-3-8B": (108, 918),
        "Qwen": (67, 133),
        "Gemini": (61, 122),
        "GPT-4-o": (57, None),
        "GPT-4-turbo": (22, 87),
        "GPT-3.5-turbo": (69, None),
    }
    assert table["p_holm"].tolist() == pytest.approx([0.063, 0.042, 0.039, 0.010, 0.006, 0.012])


def test_both_readings_of_its_t_tests_as_right_or_wrong_answers(found: dict[str, pd.DataFrame]) -> None:
    """Entries exact: three of six impossible at 80 questions, all at 3,300; whole tables: all, at both."""
    table = found["discordance"]
    impossible = (~table["possible_exact"]).groupby(table["n"]).sum().to_dict()
    assert impossible == {80: 3, 3300: 6}
    assert table["tables_of_counts"].groupby(table["n"]).sum().to_dict() == {80: 0, 3300: 0}
    by_row = found["findings"][found["findings"]["check"].str.contains("right-or-wrong")]
    wrong = by_row[by_row["verdict"] == "inconsistent"].groupby("check").size().to_dict()
    assert wrong == {
        "discordance of 80 right-or-wrong answers, entries exact": 3,
        "discordance of 3300 right-or-wrong answers, entries exact": 6,
        "paired t of 80 right-or-wrong answers": 6,
        "paired t of 3300 right-or-wrong answers": 6,
    }
    none = found["holm"].set_index("model")["sizes"] == "none"
    assert sorted(none.index[none]) == ["GPT-4-turbo", "Qwen"]


def test_one_number_of_chateval_has_another_in_the_same_setting(found: dict[str, pd.DataFrame]) -> None:
    """Table 4 and section 4.3 both have three agents, one by one, two turns; Tables 1 and 3 have two."""
    table = found["findings"].query("paper == 'ChatEval'")
    wrong = table[table["verdict"] != "consistent"]
    assert wrong["printed"].tolist() == ["60 (Table 4), 62.5 (4.3)"]
    assert wrong["verdict"].tolist() == ["inconsistent"]
    two = table[table["place"].str.contains("two agents")]
    assert not two["printed"].str.contains("Table 4").any()
    counted = table["check"].value_counts()
    assert counted["a share of 80 items"] == 16
    assert counted["accuracy and kappa of known labels"] == 15
    assert table["place"].str.fullmatch(r"Table 2, .*, (rho|tau)").sum() == 18
