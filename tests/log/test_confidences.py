"""A vote's confidence: read from every kind of file, kept in a round trip, and never guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import d3stats
from d3stats.log import LogError, read_log, write_csv, write_jsonl, write_parquet
from d3stats.note import UNREAD_CONFIDENCE, kind_of, severity_of
from d3stats.trajectories import Trajectories

GIVEN = [0.8, 1.0, np.nan, 0.25]


def long(confidence: Any = GIVEN) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "debate": ["d1", "d1", "d2", "d2"],
            "round": 1,
            "agent": ["x", "y"] * 2,
            "vote": list("AABA"),
            "label": "A",
        }
    ).assign(confidence=pd.Series(confidence, dtype=object))


def wide(*, scale: float = 1.0) -> pd.DataFrame:
    table = pd.DataFrame({"item": ["1", "2", "3"], "x": list("ABA"), "y": list("BBA"), "label": "A"})
    return table.assign(
        x_confidence=np.array([0.9, 0.5, 0.7]) * scale, conf_y=np.array([0.1, np.nan, 0.3]) * scale
    )


IN_WIDE = [[[0.9, 0.1]], [[0.5, np.nan]], [[0.7, 0.3]]]


def test_a_confidence_is_read_from_every_file_and_kept_in_every_format(tmp_path: Path) -> None:
    long().to_csv(tmp_path / "a.csv", index=False)
    rows = [{k: v for k, v in row.items() if v == v} for row in long().to_dict("records")]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    expected = np.array([[[0.8, 1.0]], [[np.nan, 0.25]]])
    for source in (long(), tmp_path / "a.csv", tmp_path / "a.jsonl"):
        np.testing.assert_array_equal(d3stats.as_trajectories(source).confidence, expected)
    log = read_log(tmp_path / "a.csv")
    for write, name in ((write_jsonl, "b.jsonl"), (write_csv, "b.csv"), (write_parquet, "b.parquet")):
        again = read_log(write(log, tmp_path / name))
        assert again == log
        np.testing.assert_array_equal(d3stats.as_trajectories(again).confidence, expected)


def test_a_log_without_confidences_has_no_column_for_them(tmp_path: Path) -> None:
    plain = long().drop(columns="confidence")
    plain.to_csv(tmp_path / "a.csv", index=False)
    assert "confidence" not in read_log(tmp_path / "a.csv").turns
    assert d3stats.as_trajectories(plain).confidence is None
    assert "confidence" not in write_csv(read_log(tmp_path / "a.csv"), tmp_path / "b.csv").read_text()


@pytest.mark.parametrize("cell", ["85", "high", "-0.2", "1.2", "nan?", "80%"])
def test_a_column_with_another_cell_is_not_read_unless_it_was_chosen(cell: str) -> None:
    table = long([cell, 1.0, np.nan, 0.25])
    left = d3stats.as_trajectories(table)
    assert left.confidence is None
    (note,) = [note for note in left.notes if kind_of(note) == UNREAD_CONFIDENCE]
    assert f"1 of 3 cells is no number from 0 to 1, such as {cell!r}" in note
    assert ("confidence_percent" in note) == (cell in ("85", "1.2", "80%"))
    chosen = d3stats.as_trajectories(table, columns={"confidence": "confidence"})
    np.testing.assert_array_equal(chosen.confidence, [[[np.nan, 1.0]], [[np.nan, 0.25]]])
    (note,) = [note for note in chosen.notes if kind_of(note) == UNREAD_CONFIDENCE]
    assert severity_of(note) == "warning"
    assert repr(cell) in note


def test_per_cents_are_read_only_where_the_user_says_so() -> None:
    table = long([80, 100, np.nan, 25])
    assert d3stats.as_trajectories(table).confidence is None
    read = d3stats.as_trajectories(table, columns={"confidence_percent": "confidence"})
    np.testing.assert_array_equal(read.confidence, [[[0.8, 1.0]], [[np.nan, 0.25]]])
    assert any("per cent" in note for note in read.notes)
    named = table.rename(columns={"confidence": "confidence_percent"})
    np.testing.assert_array_equal(d3stats.as_trajectories(named).confidence, read.confidence)
    signed = long(["80 %", "100%", np.nan, "25%"])
    again = d3stats.as_trajectories(signed, columns={"confidence_percent": "confidence"})
    np.testing.assert_array_equal(again.confidence, read.confidence)


def test_a_chosen_column_without_any_confidence_is_refused() -> None:
    for cells, advice in (([500] * 4, "choose another column"), ([80] * 4, "confidence_percent=confidence")):
        with pytest.raises(
            LogError, match=r"confidence must be a number from 0 to 1; got '[0-9]+'"
        ) as caught:
            d3stats.as_trajectories(long(cells), columns={"confidence": "confidence"})
        assert advice in str(caught.value)


def test_columns_of_shares_and_of_per_cents_are_not_mixed() -> None:
    both = long().assign(confidence_percent=50)
    with pytest.raises(LogError, match="one column for the confidence; got confidence, confidence_percent"):
        d3stats.as_trajectories(both)
    read = d3stats.as_trajectories(both, columns={"confidence": "confidence"})
    np.testing.assert_array_equal(read.confidence, [[[0.8, 1.0]], [[np.nan, 0.25]]])
    with pytest.raises(LogError, match="all shares or all per cents"):
        d3stats.as_trajectories(wide().rename(columns={"conf_y": "y_confidence_percent"}))


def test_a_wide_table_has_a_column_of_confidences_for_each_column_of_votes() -> None:
    read = d3stats.as_trajectories(wide())
    np.testing.assert_array_equal(read.confidence, IN_WIDE)
    assert not any("not read" in note for note in read.notes)
    assert d3stats.as_trajectories(wide(scale=100)).confidence is None
    chosen = {"confidence_percent": ["x_confidence", "conf_y"]}
    np.testing.assert_allclose(d3stats.as_trajectories(wide(scale=100), columns=chosen).confidence, IN_WIDE)
    own = wide().rename(columns={"x_confidence": "first", "conf_y": "second"})
    named = {"votes": ["x", "y"], "confidence": ["first", "second"]}
    np.testing.assert_array_equal(d3stats.as_trajectories(own, columns=named).confidence, IN_WIDE)
    with pytest.raises(LogError, match="one column for each column of votes"):
        d3stats.as_trajectories(own, columns={"votes": ["x", "y"], "confidence": "first"})


@pytest.mark.parametrize(
    "form", ["{agent}_confidence_r{round}", "{agent}_r{round}_conf", "conf_{agent}_r{round}"]
)
def test_a_wide_table_with_rounds_has_one_for_each_agent_and_round(form: str) -> None:
    table = pd.DataFrame({"item": ["1", "2"], "label": ["A", "A"]})
    places = [(agent, number) for agent in ("gpt", "phi") for number in (1, 2)]
    for k, (agent, number) in enumerate(places):
        table[f"{agent}_r{number}"] = ["A", "B" if k % 2 else "A"]
        table[form.format(agent=agent, round=number)] = [0.1 * (k + 1), 0.2 * (k + 1)]
    confidence = d3stats.as_trajectories(table).confidence
    assert confidence is not None
    np.testing.assert_allclose(confidence[0], [[0.1, 0.3], [0.2, 0.4]])
    np.testing.assert_allclose(confidence[1], [[0.2, 0.6], [0.4, 0.8]])


def test_the_confidence_of_a_row_is_said_of_none_of_its_votes_alone() -> None:
    table = wide().drop(columns=["x_confidence", "conf_y"]).assign(confidence=0.5)
    assert d3stats.as_trajectories(table).confidence is None


def test_confidences_stay_with_their_votes_when_logs_are_cut_and_joined() -> None:
    one = Trajectories.from_arrays([[["A", "B"]], [["B", "B"]]], confidence=[[[0.1, 0.2]], [[0.3, np.nan]]])
    two = Trajectories.from_arrays([[["A", "A", "B"]]], debates=["z"])
    joint = Trajectories.concat(one.select([1, 0]), two)
    assert joint.confidence is not None
    np.testing.assert_array_equal(
        joint.confidence[:, 0], [[0.3, np.nan, np.nan], [0.1, 0.2, np.nan], [np.nan] * 3]
    )
    with pytest.raises(ValueError, match="confidence must be a number from 0 to 1; got"):
        Trajectories.from_arrays([[["A", "B"]]], confidence=[[[0.1, 1.2]]])
    with pytest.raises(ValueError, match="confidence must have shape"):
        Trajectories.from_arrays([[["A", "B"]]], confidence=[[0.1, 0.2]])


@pytest.mark.parametrize(
    ("cells", "warns"),
    [([0.5, 0.75, 1.0, 0.25], True), ([0.5, 75, 100, 25], False), ([0, 0, 0, 0], False)],
)
def test_per_cents_that_are_all_at_most_1_may_be_shares_and_are_said_to_be(
    cells: list[float], warns: bool
) -> None:
    table = long().rename(columns={"confidence": "confidence_percent"}).iloc[:4]
    read = d3stats.as_trajectories(table.assign(confidence_percent=cells))
    said = [note for note in read.notes if "if they are shares" in note]
    assert len(said) == warns
    if warns:
        assert said[0].startswith("WARNING: 4 confidences in 'confidence_percent' are at most 1")
        assert "such as '1' as 1 %" in said[0]
    signed = d3stats.as_trajectories(table.assign(confidence_percent=["0.5%", "1%", "0.1%", "0.2%"]))
    assert not any("if they are shares" in note for note in signed.notes)
