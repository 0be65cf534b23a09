"""One table in many files and frames says one thing, or is refused in one sentence that says what to type."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from layers import covering, examples

from d3stats.log.column_names import ALIASES, ColumnError, parse_columns, resolve, to_type
from d3stats.log.columns import Part, Records, joined
from d3stats.log.files import LogFile, find_files
from d3stats.log.problems import LogError
from d3stats.log.reader import read_file, read_log
from d3stats.log.table_reader import parquet_blocks, records_of_table
from d3stats.note import severity_of
from d3stats.sources import as_trajectories

# ---------------------------------------------------------------- what records say


def plain_rows(part: Part) -> list[dict[str, Any]]:
    columns = {
        name: column.to_array().tolist() if hasattr(column, "codes") else column.tolist()
        for name, column in part.columns.items()
    }
    return [
        {name: None if values[i] != values[i] else values[i] for name, values in columns.items()}
        for i in range(len(part))
    ]


def said(records: Records) -> dict[str, Any]:
    """Return what a table says, in any order of its rows, or how it is refused."""
    given = {
        name: sorted(
            json.dumps({k: v for k, v in row.items() if v is not None}, sort_keys=True) for row in rows
        )
        for name in ("items", "turns", "verdicts")
        for rows in [plain_rows(getattr(records, name))]
    }
    given["items"] = sorted(set(given["items"]))
    return given | {
        "coding": records.coding,
        "problems": sorted({(p.kind, p.field or "") for p in records.problems}),
    }


def a_file(path: Path) -> LogFile:
    return find_files([path])[0]


# ---------------------------------------------------------------- doors


def as_text(delimiter: str, encoding: str = "utf-8", suffix: str = ".csv") -> Callable[..., Records]:
    def read(table: pd.DataFrame, folder: Path) -> Records:
        path = folder / f"table{suffix}"
        data = table.to_csv(index=False, sep=delimiter).encode(encoding)
        path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
        return read_file(a_file(path))

    return read


def as_excel(table: pd.DataFrame, folder: Path) -> Records:
    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page.append(list(table.columns))
    for row in table.itertuples(index=False):
        page.append([None if pd.isna(x) else int(x) if isinstance(x, np.integer) else x for x in row])
    book.save(folder / "table.xlsx")
    return read_file(a_file(folder / "table.xlsx"))


def as_lines(table: pd.DataFrame, folder: Path) -> Records:
    rows = [
        {k: None if pd.isna(v) else int(v) if isinstance(v, np.integer) else v for k, v in row.items()}
        for row in table.to_dict("records")
    ]
    (folder / "table.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_file(a_file(folder / "table.jsonl"))


def to_parquet(table: pd.DataFrame, path: Path) -> LogFile:
    typed = table.apply(lambda c: c.astype("string") if c.dtype == object else c)
    with duckdb.connect() as con:
        con.register("typed", typed)
        con.execute(f"COPY typed TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
    return a_file(path)


DOORS: dict[str, Callable[[pd.DataFrame, Path], Records]] = {
    "comma": as_text(","),
    "semicolon": as_text(";"),
    "tab": as_text("\t"),
    "pipe": as_text("|"),
    "with a mark": as_text(";", "utf-8-sig"),
    "sixteen bits": as_text(",", "utf-16"),
    "tsv": as_text("\t", suffix=".tsv"),
    "gzip": as_text(",", suffix=".csv.gz"),
    "excel": as_excel,
    "lines": as_lines,
    "parquet": lambda table, folder: read_file(to_parquet(table, folder / "table.parquet")),
    "blocks": lambda table, folder: joined(
        list(parquet_blocks(to_parquet(table, folder / "table.parquet"), rows=3))
    ),
    "pandas": lambda table, _: records_of_table(table),
    "strings": lambda table, _: records_of_table(table.astype("string")),
    "categories": lambda table, _: records_of_table(table.astype("category")),
    "objects": lambda table, _: records_of_table(table.astype(object)),
    "index": lambda table, _: records_of_table(table.set_index(table.columns[0])),
    "polars": lambda table, _: records_of_table(
        pl.DataFrame(table.astype(object).where(table.notna(), None).to_dict("list"))
    ),
    "lazy polars": lambda table, _: records_of_table(
        pl.LazyFrame(table.astype(object).where(table.notna(), None).to_dict("list"))
    ),
}

NAMES = {
    "debate": ["debate", "Debate", "qid", "question_id", "Task-ID", "item", "conversation id"],
    "round": ["round", "ROUND", "turn", "step", "Iteration", "t"],
    "agent": ["agent", "Agent", "model", "speaker", "judge", "rater", "participant"],
    "vote": ["vote", "Vote", "answer", "prediction", "choice", "response"],
    "label": ["label", "Label", "gold", "target", "reference", "ground truth", "correct_answer"],
}


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """Draw a small table in its standard names: panels and depths vary, votes and labels may be missing."""
    answers = draw(st.sampled_from([["A", "B", "C"], [6, 7, 8], ["déjà", "x;y", "a|b", 'say "no"']]))
    first = draw(st.sampled_from([0, 1]))
    rows = []
    for debate in range(1, draw(st.integers(1, 3)) + 1):
        label = draw(st.sampled_from(answers))
        for played in range(first, first + draw(st.integers(1, 3))):
            for agent in "xyz"[: draw(st.integers(1, 3))]:
                rows.append((f"d{debate}", played, agent, draw(st.sampled_from([*answers, None])), label))
    table = pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])
    if answers[0] == 6:
        table["vote"] = table["vote"].astype("Int64")
    if first == 0 and not (table["round"] == 0).any():
        table["round"] += 1
    return table.iloc[draw(st.permutations(range(len(table))))].reset_index(drop=True)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables(), st.data())
def test_a_table_says_the_same_in_every_file_and_frame(
    tmp_path_factory: pytest.TempPathFactory, table: pd.DataFrame, data: st.DataObject
) -> None:
    expected = said(records_of_table(table))
    assert expected["problems"] == []
    assert len(expected["turns"]) == len(table)
    named = {name: data.draw(st.sampled_from(options)) for name, options in NAMES.items()}
    renamed = table.rename(columns=named)
    if data.draw(st.booleans()):
        renamed["mood"] = 0.5
    doors = data.draw(st.lists(st.sampled_from(sorted(DOORS)), min_size=4, max_size=4, unique=True))
    for door in doors:
        read = DOORS[door](renamed, tmp_path_factory.mktemp("door"))
        assert said(read) == expected, (door, named)
        assert any("mood" in note for note in read.notes) == ("mood" in renamed)
        assert any(note.startswith("columns: ") for note in read.notes) == any(
            k != v for k, v in named.items()
        )


@pytest.mark.parametrize("door", sorted(DOORS))
def test_each_door_opens_and_shifts_rounds_from_zero(tmp_path: Path, door: str) -> None:
    table = pd.DataFrame(
        {
            "debate": ["d"] * 4 + ["e"] * 4,
            "round": [0, 0, 1, 1] * 2,
            "agent": ["x", "y"] * 4,
            "vote": ["A", None, "B", "B"] * 2,
            "label": ["A"] * 4 + ["B"] * 4,
        }
    )
    one = table.assign(round=table["round"] + 1)
    read = DOORS[door](table, tmp_path)
    assert said(read) == said(DOORS[door](one, tmp_path)) == said(records_of_table(one))
    assert any("rounds count from 0 and were shifted" in note for note in read.notes)


@examples(8, 25)
def test_a_wide_table_says_what_the_long_one_says(n_examples: int) -> None:
    settings(max_examples=n_examples, deadline=None)(given(st.data())(wide_and_long_say_the_same))()


def wide_and_long_say_the_same(data: st.DataObject) -> None:
    answers = data.draw(st.sampled_from([["A", "B", "C"], ["yes", "no"]]))
    agents, depth = ["gpt", "claude", "llama"], data.draw(st.integers(1, 3))
    rows = [
        (debate, played, agent, data.draw(st.sampled_from(answers)), answers[debate % len(answers)])
        for debate in range(6)
        for played in range(1, depth + 1)
        for agent in agents
    ]
    long = pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])
    expected = said(records_of_table(long))
    keys = ["debate", "label"]

    def wide(by: list[str], names: Callable[..., str]) -> pd.DataFrame:
        index = [*keys, *(name for name in ("round", "agent") if name not in by)]
        table = long.pivot_table(index=index, columns=by, values="vote", aggfunc="first")
        table.columns = [names(*(c if isinstance(c, tuple) else (c,))) for c in table.columns]
        return table.reset_index()

    for table in (
        wide(["agent"], str),
        wide(["round"], lambda r: f"round {r}"),
        wide(["round"], lambda r: f"t{r}"),
        wide(["agent", "round"], lambda a, r: f"{a}_r{r}"),
        wide(["round", "agent"], lambda r, a: f"Turn{r}-{a}"),
    ):
        read = records_of_table(table.assign(difficulty=3))
        if said(read)["problems"]:  # a column that shares no answer with another may hold something else
            assert "--columns votes=" in str(read.problems[0])
            votes = [name for name in table.columns if name not in (*keys, "round", "agent")]
            read = records_of_table(table, columns={"votes": votes})
        assert said(read) == expected


# ---------------------------------------------------------------- names of columns


@examples(False, True, "whole")
@pytest.mark.parametrize(
    "field", ["debate", "round", "agent", "vote", "label", "tokens_in", "tokens_out", "tokens"]
)
def test_every_other_name_of_a_column_is_taken_and_said(whole: bool, field: str) -> None:
    """In the fast layer each name in one of three spellings, dealt in turn."""
    table = {"debate": ["d", "d"], "round": [1, 1], "agent": ["x", "y"], "vote": ["A", "B"]}
    table |= {field: [7, 7] if field.startswith("tok") else table.get(field, ["A", "A"])}
    expected = said(records_of_table(pd.DataFrame(table)))
    for k, alias in enumerate(alias for tier in ALIASES[field] for alias in tier):
        if alias in ("id", "idx", "question", field):
            continue
        spellings = (alias, alias.title().replace("_", " "), alias.upper().replace("_", "-"))
        for spelled in spellings if whole else [spellings[k % 3]]:
            renamed = pd.DataFrame({spelled if name == field else name: v for name, v in table.items()})
            read = records_of_table(renamed)
            assert said(read) == expected, spelled
            assert f"{field} is {spelled!r}" in read.notes[0]


@pytest.mark.parametrize(
    ("field", "one", "other"),
    [
        ("agent", "judge", "model"),
        ("agent", "speaker", "participant"),
        ("vote", "answer", "prediction"),
        ("vote", "choice", "response"),
        ("label", "gold", "target"),
        ("round", "turn", "step"),
        ("debate", "qid", "task"),
        ("debate", "Debate", "DEBATE"),
    ],
)
def test_when_two_columns_could_be_meant_the_reader_asks(field: str, one: str, other: str) -> None:
    table = {
        "debate": ["d", "d"],
        "round": [1, 1],
        "agent": ["x", "y"],
        "vote": ["A", "B"],
        "label": ["A", "A"],
    }
    values = table.pop(field)
    frame = pd.DataFrame(table | {one: values, other: values})
    (problem,) = records_of_table(frame).problems
    assert (problem.field, problem.left_out) == (field, "nothing")
    assert repr(one) in problem.message
    assert repr(other) in problem.message
    assert f"--columns {field}=" in problem.message
    for chosen in (one, other):
        read = records_of_table(frame, columns={field: chosen})
        assert read.problems == []
        assert read.turns.columns.keys() >= {"debate", "agent", "vote"}


def test_a_standard_name_goes_before_another_name() -> None:
    frame = pd.DataFrame(
        {"qid": ["q", "q"], "debate": ["d1", "d2"], "agent": ["a", "a"], "model": ["m", "n"]}
    )
    read = records_of_table(frame.assign(vote="A", answer="B", round=1))
    assert plain_rows(read.turns)[0] == {"debate": "d1", "round": 1, "agent": "a", "vote": "A", "model": "m"}
    assert {row["question"] for row in plain_rows(read.items)} == {"q"}
    assert "columns that were not read: answer" in read.notes


def test_a_missing_column_is_one_problem_that_lists_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("deb8,wave,who,said,truth\n" + "d,1,a,A,A\n" * 400)
    read = read_file(a_file(path))
    (problem,) = read.problems
    assert (problem.kind, read.n_records) == ("unknown column", 0)
    for text in ("debate and agent and vote", "deb8, wave, who, said", "--columns debate="):
        assert text in problem.message


def test_a_column_that_is_one_slip_from_a_standard_one_is_a_problem_and_others_are_a_note(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.csv"
    path.write_text("debate,round,agent,vote,lable,note,mode,score\nd,1,a,A,A,x,y,3\n")
    read = read_file(a_file(path))
    assert [(p.kind, p.field) for p in read.problems] == [("unknown column", "lable")]
    assert "did you mean label?" in read.problems[0].message
    assert "columns that were not read: lable, note, mode, score" in read.notes


def test_a_choice_of_columns_is_read_from_text_and_must_name_columns_that_are_there() -> None:
    assert parse_columns("debate=run+qid, round=turn") == {"debate": ["run", "qid"], "round": "turn"}
    assert parse_columns("") is None
    with pytest.raises(ValueError, match="must be written field=column"):
        parse_columns("debate")
    with pytest.raises(ValueError, match="did you mean 'qid'"):
        resolve(["qid", "vote"], ["debate"], columns={"debate": "qidd"})
    with pytest.raises(ValueError, match="did you mean 'debate'"):
        resolve(["qid", "vote"], ["debate"], columns={"debat": "qid"})
    with pytest.raises(ColumnError, match="got 'a_b' and 'A B'"):
        resolve(["a_b", "A B"], ["ab"])


def test_several_columns_make_a_debate_together() -> None:
    frame = pd.DataFrame(
        {"run": [1, 1, 2, 2], "qid": list("qqqq"), "model": list("abab"), "answer": list("ABBB")}
    )
    frame["turn"] = 1
    (problem,) = records_of_table(frame).problems
    assert "columns={'debate': ['run', 'qid']} (--columns debate=run+qid)" in problem.message
    read = records_of_table(frame, columns=parse_columns("debate=run+qid"))
    assert [row["debate"] for row in plain_rows(read.turns)] == ["1 / q", "1 / q", "2 / q", "2 / q"]


def test_a_table_without_rounds_is_of_one_round_unless_an_agent_speaks_again() -> None:
    frame = pd.DataFrame({"debate": ["d", "d"], "agent": ["a", "b"], "vote": ["A", "B"], "phase": [1, 2]})
    read = records_of_table(frame)
    assert [row["round"] for row in plain_rows(read.turns)] == [1, 1]
    assert "there is no column for the round, so all rows belong to round 1" in read.notes
    (problem,) = records_of_table(frame.assign(agent="a")).problems
    assert (problem.field, problem.line) == ("round", 2)
    assert "'a' twice in debate 'd': columns={'round': 'phase'}" in problem.message


@pytest.mark.parametrize(
    "columns",
    [
        {"gpt": ["A", "B"], "claude": ["B", "A"], "kind": ["math", "law"]},
        {"r1": ["A", "B"], "r2": ["A", "B"]},
        {"gpt_1": ["A", "B"], "gpt_2": ["A", "B"], "phi_1": ["A", "B"], "phi_2": ["B", "A"]},
        {"gpt": ["Paris", "Rome"], "claude": ["London", "Bonn"]},
    ],
)
def test_columns_that_may_be_votes_and_may_be_something_else_are_asked_for(
    columns: dict[str, list[str]],
) -> None:
    (problem,) = records_of_table(
        pd.DataFrame({"qid": [1, 2]} | columns | ({"gold": ["A", "B"]} if "gpt" in columns else {}))
    ).problems
    assert "columns={'" in problem.message
    assert "votes" in problem.message


GRID = [(agent, number) for agent in ("ann", "bob") for number in (1, 2, 3)]
WIDE_NAMES: dict[str, tuple[Callable[[str, int], Any], bool]] = {
    # How a column is named, and whether the name says plainly that it holds a round's votes.
    "ann_r1": (lambda a, r: f"{a}_r{r}", True),
    "ann round 1": (lambda a, r: f"{a} round {r}", True),
    "ann_r0": (lambda a, r: f"{a}_r{r - 1}", True),
    "t1 ann": (lambda a, r: f"t{r} {a}", True),
    "ann_1": (lambda a, r: f"{a}_{r}", False),
    "ann_0": (lambda a, r: f"{a}_{r - 1}", False),
    "ann (1)": (lambda a, r: f"{a} ({r})", False),
    "ann1": (lambda a, r: f"{a}{r}", False),
    "two levels": (lambda a, r: (a, r), False),
}


@pytest.mark.parametrize("kind", WIDE_NAMES)
def test_columns_of_agents_and_rounds_are_read_where_they_are_plain_and_asked_for_where_not(
    kind: str,
) -> None:
    named, is_plain = WIDE_NAMES[kind]
    debates = [f"d{i}" for i in range(4)]
    votes = {
        pair: ["AB"[(i + len(pair[0]) * pair[1] + k) % 2] for i in range(4)] for k, pair in enumerate(GRID)
    }
    long = pd.DataFrame(
        [(d, r, a, votes[a, r][i], "A") for i, d in enumerate(debates) for a, r in GRID],
        columns=["debate", "round", "agent", "vote", "label"],
    )
    wide = pd.DataFrame({"debate": debates, "label": "A"} | {named(*pair): votes[pair] for pair in GRID})
    if kind == "two levels":
        wide.columns = pd.MultiIndex.from_tuples(c if isinstance(c, tuple) else (c, "") for c in wide.columns)
    read = records_of_table(wide)
    names = [f"{a}_{r}" if kind == "two levels" else named(a, r) for a, r in GRID]
    if not is_plain:
        (problem,) = read.problems
        assert "columns={'votes': [" in problem.message
        assert "--columns" in problem.message
        assert "rounds=" in problem.message
        agents = records_of_table(wide, columns={"votes": names})
        assert {(row["agent"], row["round"]) for row in plain_rows(agents.turns)} == {(n, 1) for n in names}
        read = records_of_table(wide, columns={"rounds": names})
    assert said(read) == said(records_of_table(long))


@pytest.mark.parametrize(
    "names",
    [
        ["deepseek_r1", "o_r1", "qwen"],
        ["deepseek-r1", "command-r7", "command-r8"],
        ["ann_r1", "ann_r2", "bob_r1"],
        ["ann_r2", "ann_r3", "bob_r2", "bob_r3"],
    ],
)
def test_names_that_end_like_a_round_are_rounds_only_where_every_agent_has_every_round(
    names: list[str],
) -> None:
    wide = pd.DataFrame({"debate": ["d", "e"], "label": ["A", "B"]} | {name: ["A", "B"] for name in names})
    (problem,) = records_of_table(wide).problems
    assert "do not say one agent and one round each" in problem.message
    read = records_of_table(wide, columns={"votes": names})
    assert {row["agent"] for row in plain_rows(read.turns)} == set(names)


def test_a_majority_beside_columns_of_agents_and_rounds_is_not_read_and_named() -> None:
    names = ["ann_r1", "ann_r2", "bob_r1", "bob_r2"]
    wide = pd.DataFrame({"debate": ["d", "e"], "label": ["A", "B"]} | {name: ["A", "B"] for name in names})
    read = records_of_table(wide.assign(majority=["A", "B"]))
    assert said(read) == said(records_of_table(wide))
    assert any("not read: majority" in note for note in read.notes)


@pytest.mark.parametrize("names", [["1", "2", "3"], ["opening", "middle", "closing"], ["p1", "p2", "p3"]])
def test_columns_beside_an_agent_are_offered_as_rounds_and_read_as_such(names: list[str]) -> None:
    rows = [("d", a, "A", *votes) for a, votes in (("1", "AAB"), ("2", "ABB"))]
    wide = pd.DataFrame(rows, columns=["debate", "agent", "label", *names])
    (problem,) = records_of_table(wide).problems
    assert to_type(rounds=names) in problem.message
    assert to_type(votes=names) in problem.message
    read = records_of_table(wide, columns={"rounds": names})
    assert read.problems == []
    assert {(r["agent"], r["round"], r["vote"]) for r in plain_rows(read.turns)} == {
        (row[1], k + 1, row[3 + k]) for row in rows for k in range(3)
    }
    # The other reading does not call the agents rounds.
    (other,) = records_of_table(wide, columns={"votes": names}).problems
    assert "'agent'" not in other.message.split("columns={")[1]


@pytest.mark.parametrize("tokens", [["tokens"], ["tokens_in", "tokens_out"], ["total_tokens"]])
@pytest.mark.parametrize("by", ["agents", "rounds", "both"])
def test_what_a_wide_row_says_once_is_counted_once_or_not_at_all(tokens: list[str], by: str) -> None:
    votes = {"agents": ["ann", "bob"], "rounds": ["r1", "r2"], "both": ["a_r1", "a_r2", "b_r1", "b_r2"]}[by]
    keys: dict[str, Any] = {"debate": ["d", "d", "e"], "label": "A"}
    keys |= {"agents": {"round": [1, 2, 1]}, "rounds": {"agent": ["a", "b", "a"]}, "both": {}}[by]
    frame = pd.DataFrame(keys | {name: ["A", "B", "A"] for name in votes})
    if by == "both":
        frame["debate"] = ["d", "e", "f"]
    frame[tokens] = 300
    frame["scores"] = '{"A": {"x": 1.0}}'
    read = records_of_table(frame)
    assert read.problems == []
    fields = [name for name in read.turns.columns if name.startswith("tokens")]
    assert "scores" not in read.turns.columns
    if by == "agents":
        assert len(fields) == len(tokens)
        for name in fields:
            assert read.turns.columns[name].sum() == 900
            assert any(f"{name} of a row holds for all agents" in note for note in read.notes)
    else:
        assert fields == []
        assert any("not read" in note and "tokens" in note for note in read.notes)


@pytest.mark.parametrize("door", ["comma", "excel", "parquet", "blocks", "pandas", "lines"])
@pytest.mark.parametrize(
    ("values", "truths"),
    [
        (["0", "1", "1", "0"], [0, 1, 1, 0]),
        (["true", "FALSE", "1.0", None], [1, 0, 1, None]),
        (["yes", "No", "y", "NA"], [1, 0, 1, None]),
        (["correct", "incorrect", "right", "wrong"], [1, 0, 1, 0]),
        (["WAHR", "FALSCH", "WAHR", "WAHR"], [1, 0, 1, 1]),
        (["0", "100", "100", "0"], None),
        (["1", "1", "1", "0.5"], None),
        (["0", "1", "x", "1"], None),
        (["-1", "1", "1", "1"], None),
    ],
)
def test_correctness_is_read_whole_or_refused_whole(
    tmp_path: Path, door: str, values: list[str | None], truths: list[float | None] | None
) -> None:
    table = pd.DataFrame({"debate": "d", "round": [1, 1, 2, 2], "agent": list("abab"), "correct": values})
    read = DOORS[door](table, tmp_path)
    if truths is not None:
        assert read.problems == []
        assert [row["correct"] for row in plain_rows(read.turns)] == truths
        return
    (problem,) = read.problems
    assert (problem.field, problem.left_out, len(read.turns)) == ("correct", "nothing", 0)
    assert "correct must be 0, 1 or empty; got correct='" in problem.message


@covering(door=["comma", "excel", "parquet", "lines"], key=["round", "agent", "debate"])
def test_a_table_split_into_files_says_what_the_whole_says_wherever_its_rounds_begin(
    tmp_path: Path, door: str, key: str
) -> None:
    rows = [(d, r, a, "AB"[(r + k) % 2], d) for k, d in enumerate("AB") for r in (0, 1, 2) for a in "xy"]
    table = pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])
    files = []
    for value, part in table.groupby(key):
        folder = tmp_path / str(value)
        folder.mkdir()
        DOORS[door](part.reset_index(drop=True), folder)
        files += sorted(folder.iterdir())
    log = read_log(*files)
    turns = log.turns[["debate", "round", "agent", "vote"]].sort_values(["debate", "round", "agent"])
    assert turns.to_numpy().tolist() == sorted([d, r + 1, a, v] for d, r, a, v, _ in rows)
    assert any("shifted by one, because another file" in note for note in log.notes) == (key == "round")


@pytest.mark.parametrize("column", ["tokens", "tokens_in"])
@pytest.mark.parametrize("first", [True, False])
def test_a_table_without_tokens_is_read_beside_one_with_any_kind_of_tokens(
    tmp_path: Path, column: str, first: bool
) -> None:
    """A table that counts no tokens has neither totals nor parts, so it goes with both, in either order."""
    names = ("a.csv", "b.csv") if first else ("b.csv", "a.csv")
    (tmp_path / names[0]).write_text("debate,round,agent,vote,label\nd,1,x,A,A\nd,1,y,B,A\n")
    (tmp_path / names[1]).write_text(f"debate,round,agent,vote,label,{column}\ne,1,x,A,A,7\ne,1,y,B,A,9\n")
    log = read_log(tmp_path / "*.csv", strict=True)
    assert not log.problems
    assert sorted(set(log.turns["debate"])) == ["d", "e"]
    known = log.turns.set_index(["debate", "agent"])[column if column in log.turns else "tokens_in"]
    assert known[("e", "x")] == 7
    assert pd.isna(known[("d", "x")])


def test_the_round_of_a_verdict_is_shifted_with_the_rounds_of_its_file(tmp_path: Path) -> None:
    """One file holds round 0 of a debate, the other its rounds 1 and 2 and the round in which it was stopped."""
    head = "debate,round,agent,vote,label,closed,decision,stop_round,stop_reason\n"
    (tmp_path / "a.csv").write_text(head + "d,0,x,A,A,,,,\nd,0,y,B,A,,,,\n")
    closing = "true,A,2,unanimity"
    later = [f"d,{r},{seat},A,A,{closing}" for r in (1, 2) for seat in "xy"]
    (tmp_path / "b.csv").write_text(head + "\n".join(later) + "\n")
    log = read_log(tmp_path / "a.csv", tmp_path / "b.csv")
    assert sorted(set(log.turns["round"])) == [1, 2, 3]
    assert log.verdicts[["debate", "round", "decision"]].values.tolist() == [["d", 3, "A"]]


@covering(
    door=["comma", "excel", "parquet", "lines", "pandas"],
    given=[0, 1, 3],
    name=["label", "question", "cluster"],
)
def test_what_one_row_says_of_a_debate_holds_for_its_rows_that_leave_it_empty(
    tmp_path: Path, door: str, given: int, name: str
) -> None:
    table = pd.DataFrame(
        {
            "debate": list("ddddee"),
            "round": [1, 1, 2, 2, 1, 1],
            "agent": list("ababab"),
            "vote": list("ABABAB"),
        }
    )
    whole = table.assign(**{name: list("AAAABB")})
    once = whole.copy()
    once.loc[[i for i in range(4) if i != given], name] = None
    read = DOORS[door](once, tmp_path)
    assert said(read) == said(records_of_table(whole))
    assert any(f"{name}: a value in some rows of a debate" in note for note in read.notes)


@pytest.mark.parametrize("names", [["debate"], ["label"], ["debate", "round", "label"]])
def test_merged_cells_of_a_workbook_hold_for_each_of_their_rows(tmp_path: Path, names: list[str]) -> None:
    table = pd.DataFrame(
        {
            "debate": list("ddddee"),
            "round": [1, 1, 2, 2, 1, 1],
            "agent": list("ababab"),
            "vote": list("ABABAB"),
        }
    ).assign(label=list("AAAABB"))
    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page.append(list(table))
    for row in table.itertuples(index=False):
        page.append(list(row))
    spans = {"debate": [(2, 5), (6, 7)], "label": [(2, 5), (6, 7)], "round": [(2, 3), (4, 5), (6, 7)]}
    for name in names:
        column = list(table).index(name) + 1
        for first, last in spans[name]:
            page.merge_cells(start_row=first, end_row=last, start_column=column, end_column=column)
    book.save(tmp_path / "a.xlsx")
    read = read_file(a_file(tmp_path / "a.xlsx"))
    assert said(read) == said(records_of_table(table))
    assert any(note.startswith("merged cells: ") for note in read.notes)


@covering(
    door=["comma", "excel", "parquet", "lines", "pandas"],
    error=["#REF!", "#N/A", "#DIV/0!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!"],
)
def test_an_error_of_a_spreadsheet_is_a_missing_vote(tmp_path: Path, door: str, error: str) -> None:
    table = pd.DataFrame({"debate": "d", "round": 1, "agent": list("abc"), "vote": ["A", error, "B"]})
    read = DOORS[door](table, tmp_path)
    assert said(read) == said(records_of_table(table.assign(vote=["A", None, "B"])))
    assert f"column 'vote': 1 cell is an error of the spreadsheet ({error}), read as empty" in read.notes


@pytest.mark.parametrize(
    ("votes", "read_as"),
    [
        (["1,5", "1,50", "2"], ["1.5", "1.50", "2"]),
        (["-0,5", "", "3,0"], ["-0.5", None, "3.0"]),
        (["1,5", "x", "2"], ["1,5", "x", "2"]),
        (["1,2,3", "1,5", "2"], ["1,2,3", "1,5", "2"]),
        (["1,5", "1.5", "2"], ["1,5", "1.5", "2"]),
        (["1", "2", "3"], ["1", "2", "3"]),
    ],
)
def test_a_decimal_comma_is_a_point_where_all_answers_are_such_numbers(
    tmp_path: Path, votes: list[str], read_as: list[str | None]
) -> None:
    path = tmp_path / "a.csv"
    rows = "".join(f"d;1;{agent};{vote};2\n" for agent, vote in zip("abc", votes, strict=True))
    path.write_text("debate;round;agent;vote;label\n" + rows)
    read = read_file(a_file(path))
    assert [row["vote"] for row in plain_rows(read.turns)] == read_as
    assert any("decimal comma" in note for note in read.notes) == ("," in votes[0] and read_as != votes)


def test_numbers_that_describe_a_question_are_no_votes() -> None:
    read = records_of_table(
        pd.DataFrame(
            {
                "qid": [1, 2],
                "gpt": [1, 2],
                "phi": [2, 2],
                "difficulty": [1, 2],
                "gold": [1, 2],
                "seed": [1, 2],
            }
        )
    )
    assert {row["agent"] for row in plain_rows(read.turns)} == {"gpt", "phi"}
    assert "columns that were not read: difficulty, seed" in read.notes


def test_numbers_of_rows_are_no_debates() -> None:
    frame = pd.DataFrame({"id": [1, 2], "agent": ["a", "b"], "vote": ["A", "B"]})
    (problem,) = records_of_table(frame).problems
    assert "must have a column for debate; got id, agent, vote" in problem.message
    assert (
        records_of_table(frame.assign(id=1)).problems
        == records_of_table(frame, columns={"debate": "id"}).problems
        == []
    )


def test_two_frames_are_turns_and_what_is_known_of_each_debate() -> None:
    turns = pd.DataFrame({"debate": ["d", "d"], "round": [1, 1], "agent": ["a", "b"], "vote": ["A", "B"]})
    items = pd.DataFrame({"debate": ["d"], "gold": ["A"], "answers": [("A", "B")]})
    for one, other in (
        (turns, items),
        (pl.DataFrame(turns.to_dict("list")), pl.DataFrame(items.to_dict("list"))),
    ):
        read = records_of_table(one, other)
        assert plain_rows(read.items) == [{"debate": "d", "label": "A", "answers": ("A", "B")}]
        assert [row["vote"] for row in plain_rows(read.turns)] == ["A", "B"]
        assert read.turns.columns["round"].dtype == np.int64


# ---------------------------------------------------------------- bad input

HEAD = "debate,round,agent,vote,label\n"


@pytest.mark.parametrize(
    ("name", "content", "kind", "text"),
    [
        ("a.csv", b"", "empty file", "got 0 bytes"),
        ("a.csv", b"\n\n", "wrong field", "a line of column names"),
        ("a.tsv", b"debate\n", "wrong field", "a column for agent and vote"),
        ("a.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not a log", "must be text"),
        ("a.xlsx", b"PK\x03\x04 no zip", "not a log", "readable Excel"),
        ("a.xlsx", b"debate;round", "not a log", "must be an XLSX"),
        ("a.parquet", b"PAR1 no more PAR1", "not a log", "readable Parquet"),
        ("a.csv", (HEAD + "d,1,é,A,A\n").encode("latin-1"), "not a log", "--encoding cp1252"),
        ("a.csv", (HEAD + "d,1,\x81é,A,A\n").encode("latin-1"), "not a log", "--encoding latin-1"),
        ("a.csv", (HEAD + "d,1,a,A").encode(), "truncated last line", "5 cells; got 4"),
        ("a.csv", (HEAD + 'd,1,a,"A').encode(), "truncated last line", "must be readable"),
        ("a.csv", (HEAD + "d,1,a,A,A,A\n").encode(), "malformed line", "5 cells; got 6"),
        ("a.csv", (HEAD + "d,1000000000,a,A,A\n").encode(), "wrong field", "<= 999999999; got round=1000000000"),
        ("a.csv", (HEAD + "d,-1,a,A,A\n").encode(), "wrong field", "got round='-1'"),
        ("a.csv", (HEAD + "d,1.5,a,A,A\n").encode(), "wrong field", "got round='1.5'"),
        ("a.csv", (HEAD + "d;1,5;a;A;A\n").replace(",", ";").encode(), "malformed line", "5 cells; got 6"),
        ("a.csv", HEAD.replace("label", "vote").encode(), "wrong field", "got 'vote' twice"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_problem(
    tmp_path: Path, name: str, content: bytes, kind: str, text: str
) -> None:
    (tmp_path / name).write_bytes(content)
    read = read_file(a_file(tmp_path / name))
    (problem,) = read.problems
    assert problem.kind == kind
    assert text in problem.message
    assert read.n_records - (problem.left_out == "record") == len(read.turns) == 0


def test_a_decoding_error_names_byte_and_line_and_the_encoding_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes((HEAD + "d,1,a,A,A\nd,1,José,A,A\n").encode("cp1252"))
    (problem,) = read_file(a_file(path)).problems
    assert problem.line == 3
    assert "byte 0xe9 in line 3" in problem.message
    assert "José" in problem.message
    read = read_file(a_file(path), encoding="cp1252")
    assert [row["agent"] for row in plain_rows(read.turns)] == ["a", "José"]
    with pytest.raises(ValueError, match="encoding must be known"):
        read_file(a_file(path), encoding="latin-one")


def test_a_very_long_answer_and_lines_within_a_cell_are_read_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(HEAD + f'd,1,a,"{"x" * 1_000_000}",A\nd,1,b,"two\nlines",A\nd,x,c,A,A\n,,,,\n\n')
    read = read_file(a_file(path))
    assert [len(row["vote"]) for row in plain_rows(read.turns)] == [1_000_000, 9]
    assert read.line[read.turns.row].tolist() == [2, 3]
    assert [(p.line, p.field) for p in read.problems] == [(5, "round")]
    assert read.n_records == 3


def test_dates_of_a_spreadsheet_are_text_and_a_note_says_so(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page.append(["debate", "agent", "vote"])
    page.append(["d", "a", pd.Timestamp("2024-02-01").to_pydatetime()])
    book.create_sheet("more").append(["debate"])
    book.save(tmp_path / "a.xlsx")
    for read in (
        read_file(a_file(tmp_path / "a.xlsx")),
        records_of_table(
            pd.DataFrame({"debate": ["d"], "agent": ["a"], "vote": [pd.Timestamp("2024-02-01")]})
        ),
    ):
        assert plain_rows(read.turns)[0]["vote"] == "2024-02-01"
        assert any("column 'vote' holds dates" in note for note in read.notes)
    assert (
        "the first sheet, 'Sheet', was read; not read: 'more'" in read_file(a_file(tmp_path / "a.xlsx")).notes
    )


@pytest.mark.parametrize("above", ["My debates 2024,,,\n", "My debates 2024,,,\n,,,\n", "a,b,c,d\n"])
def test_names_of_columns_below_a_title_are_found_and_said(tmp_path: Path, above: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(above + "debate,round,agent,vote\nd,1,a,A\n")
    (problem,) = read_file(a_file(path)).problems
    line = above.count("\n") + 1
    assert f"the column names seem to be in line {line}; delete the lines above it" in problem.message


def test_what_is_no_table_is_refused_by_type() -> None:
    with pytest.raises(TypeError, match="pandas, polars or Arrow data frame; got list"):
        records_of_table([1, 2])


@pytest.mark.parametrize("title", ["My results", "Export of 2024", '"a, quoted title"'])
@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_a_title_above_a_table_is_named_in_every_text_and_workbook(
    title: str, sep: str, tmp_path: Path
) -> None:
    """Whatever separates the cells, with an empty line after it or without."""
    table = pd.DataFrame({"debate": ["d", "d"], "round": 1, "agent": ["a", "b"], "vote": "A"})
    for blank in ("", "\n"):
        (tmp_path / "t.csv").write_text(f"{title}\n{blank}{table.to_csv(index=False, sep=sep)}")
        with pytest.raises(
            LogError, match=r"the first line must name the columns; got .* delete the lines above"
        ):
            read_log(tmp_path / "t.csv")
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        table.to_excel(book, index=False, startrow=2)
        book.sheets["Sheet1"]["A1"] = title
        table.to_excel(book, sheet_name="other", index=False)
    with pytest.raises(
        LogError, match=r"must name the columns; .*the first sheet, 'Sheet1', was read; not read: 'other'"
    ):
        read_log(tmp_path / "t.xlsx")


def test_a_sheet_that_is_no_table_names_the_others(tmp_path: Path) -> None:
    table = pd.DataFrame({"debate": ["d", "d"], "round": 1, "agent": ["a", "b"], "vote": "A"})
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        pd.DataFrame({"read": ["me"], "first": ["now"]}).to_excel(book, sheet_name="about", index=False)
        table.to_excel(book, sheet_name="votes", index=False)
    with pytest.raises(LogError, match=r"the first sheet, 'about', was read; not read: 'votes'"):
        read_log(tmp_path / "t.xlsx")


@pytest.mark.parametrize("number", ["1,200", "-12,345", "1,234,567", "1,200.5"])
@pytest.mark.parametrize("sep", [",", ";"])
def test_a_number_in_two_forms_is_warned_of_and_never_made_another_one(
    number: str, sep: str, tmp_path: Path
) -> None:
    """A comma between thousands is no decimal comma where the number occurs without it."""
    table = pd.DataFrame({"debate": ["d", "d"], "round": 1, "agent": ["a", "b"], "vote": [number, "7"]})
    table["label"] = number.replace(",", "")
    table.to_csv(tmp_path / "t.csv", index=False, sep=sep)
    for source in (table, tmp_path / "t.csv"):
        read = as_trajectories(source)
        assert set(read.answers) == {number, number.replace(",", ""), "7"}
        assert any(note.startswith("WARNING: ") and "in one form" in note for note in read.notes)


@pytest.mark.parametrize(
    ("cells", "read_as"),
    [(("11,0", "12,0", "9"), [11, 12, 9]), (("1,390", "12", "9"), None), (("11,5", "12,0", "9"), None)],
)
def test_whole_numbers_with_a_decimal_comma_are_read_in_a_table_of_semicolons(
    cells: tuple[str, ...], read_as: list[int] | None, tmp_path: Path
) -> None:
    rows = [f"q{k};1;a;A;A;{cell}" for k, cell in enumerate(cells)]
    text = "\n".join(["debate;round;agent;vote;label;tokens", *rows])
    (tmp_path / "log.csv").write_text(text, encoding="utf-8")
    if read_as is None:
        with pytest.raises(ValueError, match="tokens must be a whole number"):
            read_log(tmp_path / "log.csv")
        return
    read = read_log(tmp_path / "log.csv")
    assert read.turns["tokens"].tolist() == read_as
    assert sum("decimal comma" in note for note in read.notes) == 1


@pytest.mark.parametrize(
    ("field", "rival", "values", "warned"),
    [
        ("tokens", "total_tokens", [110, 110, 120, 120], True),
        ("tokens", "total_tokens", [10, 10, 20, 20], False),
        ("label", "gold", ["B", "A", "A", "A"], True),
        ("label", "gold", ["A", "A", "A", "A"], False),
        ("vote", "prediction", ["B", "B", "B", "A"], True),
        ("vote", "response", ["I say A", "It is B", "A, of course", "B"], False),
        ("vote", "answer", ["A", "A", "A", "A"], False),  # the label once more
        ("tokens", "other", [110, 110, 120, 120], False),
    ],
)
def test_two_columns_for_one_field_with_other_values_are_warned_of(
    field: str, rival: str, values: list[Any], warned: bool
) -> None:
    frame = pd.DataFrame(
        {
            "debate": [1, 1, 2, 2],
            "agent": ["x", "y"] * 2,
            "label": ["A"] * 4,
            "vote": ["A", "B", "A", "B"],
            "tokens": [10, 10, 20, 20],
            rival: values,
        }
    )
    said = [note for note in as_trajectories(frame).notes if severity_of(note) == "warning"]
    assert [repr(field) in note and repr(rival) in note and "columns=" in note for note in said] == [
        True
    ] * warned
    chosen = as_trajectories(frame, columns={field: field}).notes
    assert not any(severity_of(note) == "warning" for note in chosen)


@pytest.mark.parametrize(
    ("first", "stop", "said"), [(1, "0", ">= 1; got stop_round=0"), (0, "-1", ">= 0; got stop_round='-1'")]
)
def test_a_wrong_round_of_a_verdict_has_its_own_name(
    first: int, stop: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"debate,round,agent,vote,label,stop_round\nd,{first},a,A,A,{stop}\n")
    with pytest.raises(ValueError, match=f"stop_round must be a whole number {said}"):
        as_trajectories(path)
