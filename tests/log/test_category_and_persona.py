"""The category of a question and the persona of a juror: written by runs, read as columns from every format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from log_worlds import item, panel, write_lines

import d3stats
from d3stats.log import LogError, read_log
from d3stats.log.sheets import connect, quoted
from d3stats.protocols import protocol_from_text
from d3stats.run import debate, read_items
from d3stats.run.items import DebateItem
from d3stats.worlds import Courtroom, synthetic_agent, synthetic_items

ROWS = pd.DataFrame(
    {
        "debate": ["d1", "d1", "d2", "d2"],
        "round": 1,
        "agent": ["a", "b"] * 2,
        "vote": ["A", "B", "A", "A"],
        "category": ["ethics", "ethics", "math", "math"],
        "persona": ["nurse", "trial judge"] * 2,
    }
)


def test_a_run_writes_the_category_of_its_items_and_the_personas_of_its_jurors(tmp_path: Path) -> None:
    made = synthetic_items(Courtroom(), 3, 4)
    items = [
        DebateItem(i.question, i.text, i.candidates, i.answers, i.label, category=i.category) for i in made
    ]
    path = tmp_path / "log.jsonl"
    debate(protocol_from_text("more:jurors=2"), items, synthetic_agent(Courtroom(), 4), path)
    log = read_log(path)
    assert dict(zip(log.items["question"], log.items["category"], strict=True)) == {
        i.question: i.category for i in made
    }
    jurors = log.turns[log.turns["role"] == "juror"]
    assert jurors.groupby("agent")["persona"].unique().map(list).to_dict() == {
        "juror 1": ["professor of ethics"],
        "juror 2": ["environmental activist"],
    }
    assert log.turns[log.turns["role"] != "juror"]["persona"].isna().all()
    assert {i.category for i in read_items(path)} == {i.category for i in made}


def test_jurors_without_a_role_have_no_persona(tmp_path: Path) -> None:
    made = synthetic_items(Courtroom(), 1, 4)
    items = [DebateItem(i.question, i.text, i.candidates, i.answers, i.label) for i in made]
    path = tmp_path / "log.jsonl"
    debate(protocol_from_text("more:jurors=2,personas=none"), items, synthetic_agent(Courtroom(), 4), path)
    log = read_log(path)
    assert log.turns["persona"].isna().all()
    assert log.items["category"].isna().all()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_has_both_as_columns(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log.{ending}"
    if ending == "csv":
        ROWS.to_csv(path, index=False)
    else:
        with connect(ordered=True) as con:
            con.register("given", ROWS)
            con.execute(f"COPY given TO {quoted(str(path))} (FORMAT parquet)")
    log = read_log(path)
    assert log.items["category"].tolist() == ["ethics", "math"]
    assert log.turns["persona"].tolist() == ["nurse", "trial judge"] * 2
    assert not any("category" in note for note in log.notes)


def test_a_column_category_that_differs_within_debates_is_of_turns_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    ROWS.assign(category=["pro", "con", "pro", "pro"]).to_csv(path, index=False)
    log = read_log(path)
    assert log.items["category"].isna().all()
    assert "column 'category' differs within debates, so it is no category of a debate: not read" in log.notes
    with pytest.raises(LogError, match="category must be one per debate"):
        read_log(path, columns={"category": "category"})


def test_records_of_a_debate_must_agree_on_its_category(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [item(category="ethics"), *panel(), item(category="math")])
    with pytest.raises(LogError, match="category must be one per debate; got category='math'"):
        read_log(path)


def test_an_items_category_is_no_cluster() -> None:
    table = pd.DataFrame({"id": [1, 2], "question": ["Why?", "How?"], "category": ["ethics", "ethics"]})
    assert [(i.category, i.cluster) for i in read_items(table)] == [("ethics", None)] * 2


@pytest.mark.parametrize(("kinds", "warns"), [(3, True), (4, True), (5, False), (40, False)])
def test_a_question_column_of_few_values_may_be_a_kind(tmp_path: Path, kinds: int, warns: bool) -> None:
    """A column `task` is taken for the question; with a tenth as many values as debates the reader is warned."""
    right = ["AB"[d % kinds % 2] for d in range(40)]
    wrong = [(d + a * d // 7) % 3 == 2 for d in range(40) for a in (1, 2)]
    votes = [
        label if not other else "BA"["AB".index(label)]
        for label, other in zip(np.repeat(right, 2), wrong, strict=True)
    ]
    rows = [f"d{k // 2},t{k // 2 % kinds},{1 + k % 2},{vote},{right[k // 2]}" for k, vote in enumerate(votes)]
    path = tmp_path / "own.csv"
    path.write_text("\n".join(["debate,task,agent,vote,label", *rows]) + "\n", encoding="utf-8")
    for how, warned in (
        ({}, warns),
        ({"columns": {"category": "task"}}, False),
        ({"columns": {"question": "task"}}, False),
    ):
        notes = " ".join(d3stats.as_trajectories(path, **how).notes)
        said = " ".join(d3stats.log.doctor(path, **how).to_text().split())
        advice = "they are kinds of questions, choose columns={'category': 'task'} (--columns category=task)"
        assert (advice in notes) == (f"WARNING: {kinds} different values" in said) == warned
        assert said.startswith("Fit for analysis with care: " if warned else "Fit for analysis: 40 debates")
        assert ("Nothing is wrong." in said) == (not warned)
