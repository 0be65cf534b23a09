"""A source is opened once, whatever it is, and what is odd in a file is said or refused in bounded time."""

from __future__ import annotations

import json
import re
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from layers import sampled

import d3stats
from d3stats.inputs.runs import pair
from d3stats.log import sheets
from d3stats.log.reader import read_log
from d3stats.sources import open as open_source
from d3stats.sources import open_all
from d3stats.sources.runs import RunOf, runs_of


def table(n: int = 4) -> pd.DataFrame:
    rows = [(f"d{d}", 1, f"a{a}", "AB"[(d + a) % 2], "A", 10) for d in range(n) for a in range(3)]
    return pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label", "tokens"])


def test_a_file_is_read_once_for_several_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.csv"
    table().assign(task=["math"] * 6 + ["law"] * 6).to_csv(path, index=False)
    opened = open_source(path)
    read: list[Any] = []
    inner = sheets.text_sheet
    monkeypatch.setattr(sheets, "text_sheet", lambda *args: (read.append(args), inner(*args))[1])
    d3stats.replay(opened, ["fixed:1"], strata="task")
    d3stats.agreement(opened, measures=["alpha"])
    opened.log()
    assert len(read) == 1


def test_a_column_that_is_set_aside_for_strata_is_no_unread_column_and_no_rater(tmp_path: Path) -> None:
    wide = pd.DataFrame(
        {"item": range(8), "x": list("AABBAABB"), "y": list("AABBABAB"), "task": ["m", "l"] * 4}
    )
    found = d3stats.agreement(wide, strata="task")
    assert found.raters == ("x", "y")
    assert not any("task" in note for note in found.notes)


def test_nan_in_json_lines_is_a_missing_value_and_is_said(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    rows = table().to_dict("records")
    rows[2] |= {"vote": float("nan"), "tokens": float("nan")}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = d3stats.as_trajectories(path)
    assert (read.votes < 0).sum() == 1
    assert any("2 values are written as NaN" in note for note in read.notes)
    path.write_text('{"debate": "d", "round": 1, "agent": "a", "vote": "it is NaN, really", "label": "A"}\n')
    assert d3stats.as_trajectories(path).answers == ("A", "it is NaN, really")


@pytest.mark.parametrize(
    "spelt", ['"vote": "A", "vote": "B"', '"vote" : "A", "vote": "B"', '"vote"\t:"A","vote":"B"']
)
def test_a_key_that_occurs_twice_in_a_flat_line_is_refused(tmp_path: Path, spelt: str) -> None:
    path = tmp_path / "log.jsonl"
    first = '{"debate": "d", "round": 1, "agent": "a", "vote": "A", "label": "A"}\n'
    path.write_text(first + '{"debate": "d", "round": 1, "agent": "b", ' + spelt + ', "label": "A"}\n')
    with pytest.raises(ValueError, match="a key must occur once"):
        d3stats.as_trajectories(path)


def test_a_long_number_does_not_hide_a_key_that_occurs_twice(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    item = '{"type":"item","debate":"d","question":"q","label":"A"}\n'
    turn = '{"type":"turn","debate":"d","round":1,"agent":"a","vote":"A","temperature":%s,"vote":"B"}\n'
    for spelt in ("1e0", "1E0", "1.0e0"):
        path.write_text(item + turn % spelt)
        with pytest.raises(ValueError, match="a key must occur once"):
            read_log(path)


def test_values_of_every_type_of_a_flat_line_are_what_a_table_gives(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    rows = [
        {"debate": d, "round": 1.0, "agent": a, "vote": vote, "label": 1}
        for d, votes in enumerate([(1, 1.0, "1", True), (2, "2", 2.0, None)])
        for a, vote in enumerate(votes)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read, frame = d3stats.as_trajectories(path), d3stats.as_trajectories(pd.DataFrame(rows).astype(object))
    assert read.answers == frame.answers
    assert read.votes.tolist() == frame.votes.tolist()


def test_a_workbook_is_read_whole_whatever_size_it_declares(tmp_path: Path) -> None:
    path, lying = tmp_path / "log.xlsx", tmp_path / "lying.xlsx"
    table(5).to_excel(path, index=False)
    with zipfile.ZipFile(path) as parts, zipfile.ZipFile(lying, "w") as out:
        for name in parts.namelist():
            content = parts.read(name)
            if name == "xl/worksheets/sheet1.xml":
                content, n = re.subn(rb'<dimension ref="[^"]*"', b'<dimension ref="A1:E4"', content)
                assert n == 1
            out.writestr(name, content)
    assert d3stats.as_trajectories(lying).votes.tolist() == d3stats.as_trajectories(path).votes.tolist()


@sampled("rows, columns", [(3, 20), (3, 200), (500, 80), (20_000, 40)], (0, 1, 2))
def test_a_table_of_many_unknown_columns_is_refused_in_bounded_time(rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"col{k}": rng.integers(0, 50, rows).astype(str) for k in range(columns)})
    begun = time.process_time()
    with pytest.raises(ValueError, match="a table must have a column for debate"):
        d3stats.as_trajectories(frame)
    # CPU seconds of this process: it was minutes, and ten times as many for twice the columns.
    assert time.process_time() - begun < 20


def test_what_no_source_can_be_is_refused_with_what_can() -> None:
    for wrong in (3, object(), {1, 2}):
        with pytest.raises(TypeError, match="a log must be Trajectories"):
            d3stats.as_trajectories(wrong)
    with pytest.raises(TypeError, match="unknown argument 'strict'"):
        d3stats.as_trajectories("slm7", strict=False)
    with pytest.raises(ValueError, match="columns must be left out for a source that is open already"):
        d3stats.agreement(d3stats.open("slm7"), columns={"vote": "x"})


@pytest.mark.parametrize("value", ["ERROR", "-1", "[invalid]", "99"])
def test_a_code_of_a_failed_judgment_is_named_above_the_agreement(value: str) -> None:
    rng = np.random.default_rng(1)
    votes = rng.integers(1, 11, (40, 3)).astype(str)
    votes[::8, 1] = value
    notes = d3stats.agreement(pd.DataFrame(votes, columns=["x", "y", "z"]), measures=["alpha"]).notes
    assert any(value in note and "WARNING" in note for note in notes)
    assert not any(
        "looks like" in note for note in d3stats.agreement(pd.DataFrame(rng.integers(1, 11, (40, 3)))).notes
    )


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_decimal_commas_are_read_in_every_column_of_numbers(tmp_path: Path, separator: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(10, 99, 40) / 10
    pointed = pd.DataFrame(
        {"item": [f"q{k}" for k in range(40)], "x": x, "y": np.round(x + rng.normal(0, 1, 40), 1)}
    )
    written = pointed.assign(
        **{name: [f"{v:.1f}".replace(".", ",") for v in pointed[name]] for name in ("x", "y")}
    )
    path = tmp_path / "scores.csv"
    written.to_csv(path, index=False, sep=separator)
    how: dict[str, Any] = {"measures": ["cohen", "alpha"], "weights": "quadratic"}
    found, true = d3stats.agreement(path, **how), d3stats.agreement(pointed, **how)
    assert found.to_frame()["value"].tolist() == pytest.approx(true.to_frame()["value"].tolist())
    assert any("decimal comma" in note for note in found.notes)
    runs = [pointed.rename(columns={name: "score"})[["item", "score"]] for name in ("x", "y")]
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for run, file in zip(runs, paths, strict=True):
        run.assign(score=[f"{v:.1f}".replace(".", ",") for v in run["score"]]).to_csv(
            file, index=False, sep=separator
        )
    assert d3stats.compare(*paths).difference.value == pytest.approx(d3stats.compare(*runs).difference.value)


def test_a_comma_that_may_stand_between_thousands_is_named(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text('item,x,y\nq1,"1,200","1,200"\nq2,"1,300","2,500"\nq3,"1,300","1,300"\n')
    assert any("between thousands" in note and "WARNING" in note for note in d3stats.agreement(path).notes)


def _dumps() -> dict[str, Any]:
    """One set of debates as researchers dump it, and as rows."""
    rows = [
        {
            "debate": f"q{q}",
            "label": "AB"[q % 2],
            "round": r,
            "agent": f"agent {a}",
            "vote": "ABB"[(q + r + a) % 3],
        }
        for q in range(6)
        for r in (1, 2)
        for a in (1, 2, 3)
    ]
    votes = {(row["debate"], row["round"], row["agent"]): row["vote"] for row in rows}
    about = [(f"q{q}", "AB"[q % 2]) for q in range(6)]
    names = ("agent 1", "agent 2", "agent 3")

    def rounds(q: str, one: Any) -> list[Any]:
        return [one([votes[q, r, name] for name in names]) for r in (1, 2)]

    def named(said: list[str]) -> dict[str, str]:
        return dict(zip(names, said, strict=True))

    def turns(said: list[str]) -> list[dict[str, str]]:
        return [{"agent": name, "answer": vote} for name, vote in named(said).items()]

    dumps = {
        "rows": rows,
        "votes by name": [
            {"id": q, "gold": x, "rounds": rounds(q, lambda s: {"votes": named(s)})} for q, x in about
        ],
        "rounds of names": [{"id": q, "gold": x, "rounds": rounds(q, named)} for q, x in about],
        "lists": [{"id": q, "gold": x, "rounds": rounds(q, list)} for q, x in about],
        "turns": [{"id": q, "gold": x, "rounds": rounds(q, turns)} for q, x in about],
        "numbered rounds": [
            {"id": q, "gold": x, "rounds": dict(zip("12", rounds(q, named), strict=True))} for q, x in about
        ],
    }
    dumps["inside"] = {"model": "m", "results": dumps["turns"]}
    dumps["by name"] = {q: {"gold": x, "rounds": rounds(q, named)} for q, x in about}
    return dumps


@pytest.mark.parametrize("form", list(_dumps()))
def test_a_dump_of_rounds_inside_questions_is_read_as_the_rows_it_stands_for(
    tmp_path: Path, form: str
) -> None:
    dump, path = _dumps()[form], tmp_path / "dump.json"
    path.write_text(json.dumps(dump))
    expected = d3stats.as_trajectories(pd.DataFrame(_dumps()["rows"]))
    sources: list[Any] = [path]
    if isinstance(dump, list):
        (tmp_path / "dump.jsonl").write_text("".join(json.dumps(one) + "\n" for one in dump))
        sources.append(tmp_path / "dump.jsonl")
    for source in sources:
        read = d3stats.as_trajectories(source)
        assert read.votes.tolist() == expected.votes.tolist()
        assert read.label.tolist() == expected.label.tolist()
        assert read.seats == expected.seats


def test_a_wide_table_takes_as_raters_only_columns_with_the_same_ratings(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    x = rng.choice(list("ABC"), 30)
    y = np.where(rng.random(30) < 0.7, x, rng.choice(list("ABC"), 30))
    wide = pd.DataFrame({"item": [f"q{k}" for k in range(30)], "judge_x": x, "judge_y": y})
    alone = d3stats.agreement(wide, measures=["cohen"]).to_frame()["value"].tolist()
    extras: dict[str, Any] = {
        "confidence_x": rng.random(30).round(2),
        "same": x == y,
        "majority": x,
        "model_1": "gpt",
        "timestamp": pd.date_range("2026-01-01", periods=30).astype(str),
        "latency_ms": rng.integers(100, 9000, 30),
    }
    for source in (
        wide.assign(**extras),
        wide.assign(**extras).to_csv(tmp_path / "w.csv", index=False) or tmp_path / "w.csv",
    ):
        found = d3stats.agreement(source, measures=["cohen"])
        assert found.raters == ("judge_x", "judge_y")
        assert found.to_frame()["value"].tolist() == pytest.approx(alone)
        assert any("not read" in note and "model_1" in note for note in found.notes)
    two = wide.assign(score_x=rng.integers(1, 11, 30), score_y=rng.integers(1, 11, 30))
    with pytest.raises(
        ValueError, match=r"must have one kind of ratings; got .*judge_x.*choose the raters with"
    ):
        d3stats.agreement(two.rename(columns={"score_x": "points_x", "score_y": "points_y"}))


def test_a_turn_made_by_a_model_without_a_price_is_refused() -> None:
    from d3stats.planning.prices import price_turns
    from d3stats.worlds.tokens import PriceTable

    turns = table().assign(model="small", tokens_in=100, tokens_out=10).drop(columns="tokens")
    log = d3stats.as_trajectories(turns)
    only = PriceTable("2026-01-01", {"large": (10.0, 40.0)})
    with pytest.raises(ValueError, match=r"got turns of 'small'; add their prices .*--model"):
        price_turns(turns, log, only)
    chosen = price_turns(turns, log, only, model="large")
    assert chosen.warnings == ("WARNING: turns are priced as chosen, not as logged: small as large",)
    unnamed = turns.drop(columns="model")
    assert price_turns(unnamed, log, only).dollars.tolist() == chosen.dollars.tolist()


def test_a_run_bears_its_strata_or_why_it_has_none() -> None:
    table = pd.DataFrame({"item": ["q1", "q2"], "correct": [1, 0], "task": ["math", "law"]})
    without = table.drop(columns="task")
    one, other = runs_of(open_all([table, without]), RunOf(), strata="task")
    assert one.strata is not None
    assert other.strata is not None
    assert one.strata.texts(["q2", "q1"]) == ["law", "math"]
    assert not one.strata.absent
    assert "'task'" in other.strata.absent
    assert [each.absent for each in pair([one, other]).strata] == ["", other.strata.absent]
    assert all(run.strata is None for run in runs_of(open_all([table, without]), RunOf()))
