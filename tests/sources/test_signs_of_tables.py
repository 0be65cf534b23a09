"""Signs that a table is not what it seems are named where they are, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import d3stats
from d3stats.inference import as_ratings, as_run
from d3stats.inference.bias import as_judgments
from d3stats.note import kind_of, severity_of


def warned(notes: tuple[str, ...]) -> set[str]:
    return {kind_of(note) for note in notes if severity_of(note) == "warning"}


def scores(values: Any) -> pd.DataFrame:
    return pd.DataFrame({"item": [f"q{k}" for k in range(len(values))], "score": values})


@pytest.mark.parametrize("seed", range(5))
def test_shares_beside_percentages_are_two_scales_and_one_scale_is_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.random(40).round(2)
    mixed = np.where(rng.random(40) < 0.4, (shares * 100).round(), shares)
    assert "two scales" in warned(as_run(scores(mixed)).notes)
    for one in (
        shares,
        shares * 100,
        rng.integers(1, 11, 40),
        rng.exponential(5, 40),
        rng.lognormal(0, 1, 40),
    ):
        assert "two scales" not in warned(as_run(scores(one)).notes)


@pytest.mark.parametrize("name", ["Total", "SUM", "Grand total", "average", "Summe"])
def test_a_row_that_sums_up_the_others_is_named_by_runs_ratings_and_verdicts(name: str) -> None:
    n = 12
    items = [*(f"q{k}" for k in range(n)), name]
    run = pd.DataFrame({"item": items, "score": [*[0.5] * n, 6.0]})
    wide = pd.DataFrame({"item": items, "x": [*list("AB" * 6), "A"], "y": [*list("AB" * 6), "B"]})
    verdicts = pd.DataFrame({"item": items, "order": "AB", "vote": [*list("AB" * 6), "A"]})
    for read, table in ((as_run, run), (as_ratings, wide), (as_judgments, verdicts)):
        assert "row of sums" in warned(read(table).notes)
        assert "row of sums" not in warned(read(table.iloc[:-1]).notes)


@pytest.mark.parametrize("header", [["ITEM", "X", "Y"], ["[item]", "[x]", "[y]"], ["item", "x", "y"]])
def test_a_second_header_is_left_out_in_any_case(header: list[str], tmp_path: Any) -> None:
    wide = pd.DataFrame({"item": list("pqrs"), "x": list("AABB"), "y": list("ABBB")})
    table = pd.concat([pd.DataFrame([header], columns=wide.columns), wide], ignore_index=True)
    table.to_csv(tmp_path / "table.csv", index=False)
    for source in (table, tmp_path / "table.csv"):
        read = as_ratings(source)
        assert read.items == ("p", "q", "r", "s")
        assert any("1 row that repeats the names of the columns was left out" in note for note in read.notes)


def test_votes_that_are_spelt_like_the_names_of_their_raters_are_no_header(tmp_path: Any) -> None:
    wide = pd.DataFrame({"a": list("AABB"), "b": list("ABBB")})
    assert as_ratings(wide).codes.tolist() == [[0, 0], [0, 1], [1, 1], [1, 1]]
    named = wide.assign(item=list("pqrs"))
    named.to_csv(tmp_path / "table.csv", index=False)
    for source in (named, tmp_path / "table.csv"):
        assert as_ratings(source).codes.tolist() == [[0, 0], [0, 1], [1, 1], [1, 1]]


def test_a_first_row_of_one_word_is_named_and_a_common_one_is_not(tmp_path: Any) -> None:
    wide = pd.DataFrame({"item": list("pqrs"), "x": list("AABB"), "y": list("ABBB")})
    table = pd.concat([pd.DataFrame([["text"] * 3], columns=wide.columns), wide], ignore_index=True)
    table.to_csv(tmp_path / "table.csv", index=False)
    for source in (table, tmp_path / "table.csv"):
        assert "headers" in warned(as_ratings(source).notes)
    assert "headers" not in warned(as_ratings(wide).notes)


@pytest.mark.parametrize("mark", [" ", "'", "\u202f", "\u00a0"])
def test_marks_between_thousands_are_read_and_said(mark: str) -> None:
    numbers = np.random.default_rng(1).integers(500, 90_000, 20)
    written = [f"{number:,}".replace(",", mark) for number in numbers]
    run = as_run(scores(written))
    assert run.value.tolist() == numbers.tolist()
    assert any(kind_of(note) == "marks between thousands" for note in run.notes)


def test_a_comma_before_three_digits_in_every_number_is_a_warning() -> None:
    unclear = as_run(scores([f"{k},{k}00" for k in range(1, 10)]))
    assert "decimal commas" in warned(unclear.notes)
    clear = as_run(scores([f"{k},{k}" for k in range(1, 10)]))
    assert "decimal commas" not in warned(clear.notes)
    assert clear.value[0] == 1.1


def test_a_negative_code_among_words_is_named_whatever_its_share() -> None:
    votes = ["A", "B", "-1"] * 8
    table = pd.DataFrame({"item": [f"q{k // 2}" for k in range(24)], "rater": ["x", "y"] * 12, "vote": votes})
    assert any(note.startswith("WARNING: 8 votes say '-1'") for note in as_ratings(table).notes)
    numbers = table.assign(vote=["1", "2", "-1"] * 8)
    assert any("-1" in note for note in as_ratings(numbers).notes)
    signed = table.assign(vote=["-2", "-1", "1"] * 8)
    assert not warned(as_ratings(signed).notes)


@pytest.mark.parametrize("form", ["frame", "csv", "xlsx"])
def test_debates_without_a_question_beside_others_are_counted(form: str, tmp_path: Path) -> None:
    names = [f"q{k // 3}" if k % 3 == 0 else None for k in range(12)]
    table = pd.DataFrame(
        {"debate": range(12), "question": names, "round": 1, "agent": "x", "vote": "A", "label": "A"}
    )

    def notes(given: pd.DataFrame) -> list[tuple[str, int | None]]:
        path = tmp_path / f"t.{form}"
        if form == "csv":
            given.to_csv(path, index=False)
        elif form == "xlsx":
            given.to_excel(path, index=False)
        read = d3stats.open(given if form == "frame" else path).trajectories().notes
        return [(severity_of(note), getattr(note, "n", None)) for note in read if "no question" in note]

    assert notes(table) == [("warning", 8)]
    assert notes(table.assign(cluster=[f"c{k // 3}" for k in range(12)])) == []
    assert notes(table.assign(question=[f"q{k // 3}" for k in range(12)])) == []
    assert notes(table.drop(columns="question")) == []
