"""What a new user is told about a table of their own: the advice can be followed as it stands."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from d3stats.inference import compare
from d3stats.inference.bias import as_judgments, position_bias
from d3stats.log import doctor

ROWS = [f"q{q},{j},{'yes' if (q + j) % 3 else 'no'},yes" for q in range(4) for j in range(3)]
HEAD = "case,reviewer,verdict,truth"


def told(path: Path, lines: list[str], **how: object) -> str:
    path.write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")
    return " ".join(doctor(path, **how).to_text().split())  # type: ignore[arg-type]


def test_an_own_list_of_words_for_missing_does_not_hide_the_usual_ones(tmp_path: Path) -> None:
    """The list replaces the default: with "-" alone, N/A is an answer, and a wrong one."""
    rows = [*ROWS, "q4,0,-,yes", "q4,1,N/A,yes", "q4,2,yes,yes"]
    path = tmp_path / "own.csv"
    by_default = told(path, rows)
    assert "1 vote says '-', which looks like a missing value" in by_default
    assert "list all such words, NA too" in by_default
    assert "1 vote says 'N/A', which looks like a missing value" in told(path, rows, missing_values=["-"])
    assert "looks like a missing value" not in told(path, rows, missing_values=["-", "N/A"])


def test_the_note_on_missing_words_names_the_option(tmp_path: Path) -> None:
    said = told(tmp_path / "own.csv", [*ROWS, "q4,1,N/A,yes", "q4,2,yes,yes"])
    assert "list the words that mean missing in missing_values= (--missing-values)" in said


def test_a_file_of_two_encodings_is_not_sent_to_one_of_them(tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    path.write_bytes(f"{HEAD}\nq1,Zoë,yes,yes\n".encode() + "q2,Zoë,yes,yes\n".encode("latin-1"))
    said = " ".join(doctor(path).to_text().split())
    assert "the file mixes encodings" in said
    assert "save every part in UTF-8" in said
    path.write_bytes(f"{HEAD}\nq1,Zoë,yes,yes\n".encode("latin-1"))
    assert "use --encoding cp1252" in " ".join(doctor(path).to_text().split())


def test_a_table_of_right_and_wrong_is_told_of_the_column_correct(tmp_path: Path) -> None:
    path = tmp_path / "ok.csv"
    path.write_text("case,reviewer,ok,seconds\nq1,a,1,3\nq1,b,0,4\n", encoding="utf-8")
    said = " ".join(doctor(path).to_text().split())
    assert "with correct in place of vote where the column says 1 for right and 0 for wrong" in said


def test_the_persona_none_is_no_missing_value() -> None:
    rows = [(i, "j", order, "A", "none") for i in range(6) for order in ("AB", "BA")]
    table = pd.DataFrame(rows, columns=["item", "judge", "order", "vote", "persona"])
    assert not [note for note in position_bias(as_judgments(table)).notes if "persona" in note]


def test_every_error_on_a_missing_column_says_how_to_choose_one() -> None:
    """The advice works as it stands, with the names of the columns in place of COLUMN."""
    table = pd.DataFrame({"thing": [1, 2, 3], "mark": [1, 0, 1], "said": ["A", "B", "A"]})
    with pytest.raises(ValueError, match=r"--columns item=COLUMN,correct=COLUMN\)$"):
        compare(table, table)
    assert compare(table, table, columns={"item": "thing", "correct": "mark"}).to_dict()
    with pytest.raises(ValueError, match=r"--columns item=COLUMN\)$"):
        compare(table.rename(columns={"mark": "correct"}), table)
    with pytest.raises(ValueError, match=r"--columns correct=COLUMN\)$"):
        compare(table.rename(columns={"thing": "item"}), table)
    with pytest.raises(ValueError, match=r"--columns item=COLUMN,vote=COLUMN\)$"):
        as_judgments(table)
    assert len(as_judgments(table, columns={"item": "thing", "vote": "said"})) == 3
    with pytest.raises(ValueError, match=r"--columns length_a=COLUMN,length_b=COLUMN\)"):
        as_judgments(table, needs=("length_a", "length_b"), columns={"item": "thing", "vote": "said"})
