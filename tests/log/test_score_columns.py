"""One column of scores for each side is the same as the JSON column, the log and the frame, whatever the names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from layers import covering

import d3stats
from d3stats.log import doctor
from d3stats.stopping import from_text

POINTS = [  # debate, round, judge, pro, con, label
    ("d1", 1, "j1", 7, 5, "pro"), ("d1", 1, "j2", 6, 8, "pro"), ("d1", 2, "j1", 7.5, 4, "pro"),
    ("d1", 2, "j2", None, 3, "pro"), ("d2", 1, "j1", 3, 9, "con"), ("d2", 1, "j2", 5, 6, "con"),
    ("d2", 2, "j1", 2, 9, "con"), ("d2", 2, "j2", None, None, "con"),
]  # fmt: skip
TABLE = pd.DataFrame(POINTS, columns=["debate", "round", "agent", "score_pro", "score_con", "label"])
NAMES = [
    ("score_pro", "score_con"), ("Pro score", "Con score"), ("PRO_SCORE", "CON-SCORE"), ("scores.pro", "scores.con"),
]  # fmt: skip


def as_json(table: pd.DataFrame) -> pd.DataFrame:
    """The same table with the column ``scores`` that a log has; a side without points has no criterion."""

    def cell(pro: float, con: float) -> str | None:
        if np.isnan(pro) and np.isnan(con):
            return None
        return json.dumps({s: {} if np.isnan(x) else {"score": x} for s, x in (("pro", pro), ("con", con))})

    scores = [cell(p, c) for p, c in zip(table["score_pro"], table["score_con"], strict=True)]
    rest = table.drop(columns=["score_pro", "score_con"])
    return rest.assign(scores=scores, answers='["pro","con"]')


def stops(source: object, **how: object) -> tuple[object, ...]:
    t = d3stats.as_trajectories(source, **how)
    assert t.scores is not None
    order = [t.sides.index(side) for side in ("pro", "con")]
    return t.scores[:, :, order].tolist(), from_text("sign_agreement:2").stop_rounds(t).rounds.tolist()


@covering(names=NAMES, ending=["csv", "xlsx", "parquet", "frame", "jsonl"])
def test_columns_of_sides_are_the_json_column(names: tuple[str, str], ending: str, tmp_path: Path) -> None:
    wanted = stops(as_json(TABLE))
    table = TABLE.rename(columns=dict(zip(("score_pro", "score_con"), names, strict=True)))
    path = tmp_path / f"own.{ending}"
    if ending == "csv":
        table.to_csv(path, index=False)
    elif ending == "xlsx":
        table.to_excel(path, index=False)
    elif ending == "parquet":
        pl.DataFrame(table.to_dict("list")).write_parquet(path)
    elif ending == "jsonl":
        rows = json.loads(table.to_json(orient="records"))
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert repr(stops(table if ending == "frame" else path)) == repr(wanted)


def test_the_points_are_means_over_the_judges_by_hand() -> None:
    t = d3stats.as_trajectories(TABLE)
    assert t.scores is not None
    side = {name: t.scores[:, :, k] for k, name in enumerate(t.sides)}
    assert side["pro"].tolist() == [[6.5, 7.5], [4.0, 2.0]]
    # A judge with points for one side alone is left out of both means, so that the gap is one that a judge gave.
    assert side["con"].tolist() == [[6.5, 4.0], [7.5, 9.0]]
    assert any(note.startswith("1 of 7 turns with scores has only a part of them") for note in t.notes)
    assert "scores of pro and con are in the columns score_pro, score_con" in t.notes


def test_a_table_of_scores_needs_no_agent(tmp_path: Path) -> None:
    one = TABLE[TABLE["agent"] == "j1"].drop(columns="agent")
    t = d3stats.as_trajectories(one)
    assert t.scores is not None
    assert t.scores.shape == (2, 2, 2)
    assert "there is no column for the agent, so all scores are of one judge" in t.notes
    path = tmp_path / "own.csv"
    one.to_csv(path, index=False)
    assert "Votes: none was asked for, because the turns hold scores" in doctor(path).to_text()


def test_scores_of_something_else_are_not_taken_for_sides() -> None:
    """Only names of answers are sides: a table with votes and two qualities keeps its votes and says what is unread."""
    table = pd.DataFrame(
        {"debate": ["a", "a"], "agent": [1, 2], "vote": ["A", "B"], "label": ["A", "A"],
         "quality_score": [1, 2], "confidence_score": [3, 4]}
    )  # fmt: skip
    t = d3stats.as_trajectories(table)
    assert t.scores is None
    assert "columns that were not read: quality_score, confidence_score" in t.notes


def test_chosen_columns_need_no_label() -> None:
    table = TABLE.drop(columns="label").rename(columns={"score_pro": "x", "score_con": "y"})
    t = d3stats.as_trajectories(table, columns={"scores": ["x", "y"]})
    assert sorted(t.sides) == ["x", "y"]


def test_what_is_no_number_is_a_problem_of_its_row(tmp_path: Path) -> None:
    for bad in ("x", "inf", "1e999", "7,5,1"):
        path = tmp_path / "own.csv"
        TABLE.assign(score_con=[5, 8, 4, 3, bad, 6, 9, None]).to_csv(path, index=False)
        said = " ".join(doctor(path).to_text().split())
        assert f"scores.con.score must be a number. - {path}, line 6: got scores.con.score={bad!r}" in said


def test_the_advice_for_scores_without_labels_names_them() -> None:
    with pytest.raises(
        ValueError, match=r"\(--columns scores=score_pro\+score_con\) where each column holds the scores"
    ):
        d3stats.as_trajectories(TABLE.drop(columns="label"))
    with pytest.raises(ValueError) as error:
        d3stats.as_trajectories(TABLE.drop(columns="label"))
    assert "votes=" not in str(error.value)


def test_a_json_column_alone_is_a_log_of_scores() -> None:
    t = d3stats.as_trajectories(as_json(TABLE))
    assert t.scores is not None
    assert "there is no column for the vote, so the table holds scores alone" in t.notes


def test_a_column_without_any_score_is_no_log_of_scores() -> None:
    with pytest.raises(ValueError, match=r"a table must have a column for vote \(or correct\)"):
        d3stats.as_trajectories(as_json(TABLE).assign(scores=None))
