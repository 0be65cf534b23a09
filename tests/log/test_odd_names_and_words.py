"""What a reader is told of names that differ by case, of words that are no votes, and of columns passed over."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from d3stats.cli.example import example_table
from d3stats.cli.options import left_out
from d3stats.inference.judges import agreement
from d3stats.log import doctor, read_log
from d3stats.trajectories import Trajectories


def kinds(frame: pd.DataFrame) -> dict[str, str]:
    return {f.kind: f.message for f in Trajectories.from_frame(frame, strict=False).findings()}


def test_the_example_has_none_of_these_findings() -> None:
    assert kinds(example_table()) == {}


@pytest.mark.parametrize("column", ["debate", "agent"])
def test_names_that_differ_by_case_only_are_named(column: str) -> None:
    table = example_table()
    first = table[column].iloc[0]
    table.loc[(table[column] == first) & (table["round"] == 1), column] = first.upper()
    said = kinds(table)["names in several spellings"]
    assert repr(first) in said
    assert repr(first.upper()) in said
    assert f"names of {column}s differ only in upper and lower case" in said


def test_a_gap_by_case_names_the_cause_in_its_advice(tmp_path: Path) -> None:
    table = example_table()
    first = table["debate"].iloc[0]
    table.loc[(table["debate"] == first) & (table["round"] == 2), "debate"] = first.upper()
    table.to_csv(tmp_path / "log.csv", index=False)
    said = doctor(tmp_path / "log.csv").to_text()
    assert "differ in upper and lower case only" in said


@pytest.mark.parametrize(
    "word", ["-", "-1", "ERROR", "error: timeout", "?", "no answer", "Refused", "failed", "parse error"]
)
def test_a_vote_that_looks_missing_is_named(word: str) -> None:
    table = example_table()
    table.loc[table.index % 9 == 0, "vote"] = word
    said = kinds(table)["votes like missing values"]
    assert repr(word) in said
    assert "missing_values= (--missing-values)" in said
    listed = Trajectories.from_frame(table, missing_values=[word])
    assert "votes like missing values" not in {f.kind for f in listed.findings()}


@pytest.mark.parametrize("word", ["A", "tie", "yes", "0.5", "both", "none of these", "failsafe", "E"])
def test_an_answer_is_not_taken_for_a_missing_value(word: str) -> None:
    table = example_table()
    table.loc[table.index % 9 == 0, "vote"] = word
    assert "votes like missing values" not in kinds(table)


def test_a_word_that_is_a_label_is_an_answer() -> None:
    table = example_table().replace({"vote": {"D": "error"}, "label": {"D": "error"}})
    assert "votes like missing values" not in kinds(table)


def test_a_column_that_a_choice_passes_over_is_named(tmp_path: Path) -> None:
    table = example_table()
    table.to_csv(tmp_path / "log.csv", index=False)
    wanted = "the column 'vote' was not read, because vote was chosen to be 'label'"
    assert wanted in read_log(tmp_path / "log.csv", columns={"vote": "label"}).notes
    assert not any("was chosen" in note for note in read_log(tmp_path / "log.csv").notes)
    renamed = table.rename(columns={"vote": "choice"})
    renamed.to_csv(tmp_path / "own.csv", index=False)
    assert not any(
        "was chosen" in n for n in read_log(tmp_path / "own.csv", columns={"vote": "choice"}).notes
    )


@pytest.mark.parametrize("strict", [True, False])
def test_an_absent_agent_is_said_and_leaves_nothing_out(strict: bool, tmp_path: Path) -> None:
    table = example_table()
    gone = (table["debate"] == "debate 02") & (table["round"] == 2) & (table["agent"] == "agent 3")
    table[~gone].to_csv(tmp_path / "log.csv", index=False)
    log = read_log(tmp_path / "log.csv", strict=strict)
    assert left_out(log.problems) == []
    assert (
        sum("agents must have a turn in each round that one of them has" in note for note in log.notes) == 1
    )


def _closed_set(word: str, share: int) -> pd.DataFrame:
    rows = [
        (
            f"q{q}",
            r,
            agent,
            word if (7 * q + 3 * r + k) % share == 0 else "ABC"[(q + (k * r == 4)) % 3],
            "ABC"[q % 3],
        )
        for q in range(30)
        for r in (1, 2)
        for k, agent in enumerate(("x", "y", "z"))
    ]
    return pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])


@pytest.mark.parametrize(
    "word", ["sans réponse", "k.A.", "无法判断", "sin respuesta", "X", "I cannot answer that."]
)
def test_a_frequent_vote_that_is_never_a_label_of_a_closed_set_is_named(word: str) -> None:
    table = _closed_set(word, 5)
    said = kinds(table)["votes that are no label"]
    assert f"{word!r} ({(table['vote'] == word).sum()})" in said
    assert "missing_values=" in said
    last = agreement(table, n_boot=50).notes
    assert any(repr(word) in note and note.startswith("WARNING") for note in last)
    listed = Trajectories.from_frame(table, missing_values=[word])
    assert "votes that are no label" not in {f.kind for f in listed.findings()}


def test_a_letter_that_follows_the_labels_is_not_named() -> None:
    assert "votes that are no label" not in kinds(_closed_set("D", 5))


@pytest.mark.parametrize(("share", "severity"), [(40, "warning"), (180, "note")])
def test_votes_that_are_no_label_are_warned_of_where_they_move_the_accuracy(
    share: int, severity: str
) -> None:
    found = Trajectories.from_frame(_closed_set("sin respuesta", share)).findings()
    assert [each.severity for each in found if each.kind == "votes that are no label"] == [severity]


def test_answers_of_their_own_questions_are_not_a_closed_set() -> None:
    table = _closed_set("Rome", 5)
    table["question"] = table["debate"].map(lambda name: f"p{int(name[1:]) % 3}")
    assert "votes that are no label" not in kinds(table)
