"""What is debated: read from any table that people have, and refused in words when it makes no sense."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from layers import covering
from typer.testing import CliRunner

from d3stats.cli import app
from d3stats.log import LogWriter, Turn
from d3stats.log.column_names import ITEM_NAMES
from d3stats.log.sheets import connect, quoted
from d3stats.run.items import ROLES, DebateItem, Items, read_items

PAIR = {"question": "Why?", "answer_a": "So.", "answer_b": "No.", "label": "A"}


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# ------------------------------------------------------------------------------------------ the item


def test_a_case_does_not_know_the_label() -> None:
    item = DebateItem("q1", "Why?", ("So.", "No."), label="B", cluster="c", models=("model-x", "model-y"))
    case = item.case("q1/BA", "B")
    assert (case.debate, case.question, case.first, case.sides) == ("q1/BA", "q1", "B", ("A", "B"))
    # Another label makes the very same case.
    assert case == replace(item, label="A", cluster="d").case("q1/BA", "B")
    assert case == replace(item, label=None).case("q1/BA", "B")


def test_an_item_opens_a_debate_with_everything_that_an_analysis_needs() -> None:
    item = DebateItem("q1", "Why?", ("So.", "No."), ("A", "B", "tie"), label="tie", cluster="c")
    opened = item.item("q1/AB", "A", log="pilot", protocol="samre")
    assert (opened.question, opened.cluster, opened.label, opened.first) == ("q1", "c", "tie", "A")
    assert (opened.candidates, opened.answers) == (("So.", "No."), ("A", "B", "tie"))
    assert (opened.log, opened.protocol, opened.text) == ("pilot", "samre", "Why?")
    alone = DebateItem("q2", "What?", label="4").item("q2")
    assert (alone.candidates, alone.first, alone.answers, alone.label) == (None, None, None, "4")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"text": " "}, "text must not be empty"),
        (
            {"candidates": ("So.", "No.", "Hm.")},
            "candidates must be two, one response or none; got 3 for question 'q'",
        ),
        ({"candidates": ("So.",), "label": "A"}, "answers and label must be None for one response"),
        ({"candidates": ("So.", "  ")}, "a candidate must not be empty; got '  ' as the second one"),
        ({"candidates": ("So.", "No."), "label": "C"}, "label must be one of 'A', 'B'; got label='C'"),
        ({"candidates": ("So.", "No."), "label": "tie"}, "label must be one of 'A', 'B'; got label='tie'"),
        ({"answers": ("yes", "yes")}, "answers must be two or more different names"),
        ({"answers": ("yes",)}, "answers must be two or more different names"),
        ({"answers": ("yes", "no"), "label": "maybe"}, "label must be one of 'yes', 'no'; got label='maybe'"),
        ({"candidates": ("So.", "No."), "models": ("x",)}, r"models must be one per candidate \(2\)"),
        ({"label": ""}, "label must not be empty"),
    ],
)
def test_an_item_that_makes_no_sense_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DebateItem(**({"question": "q", "text": "Why?"} | fields))


def test_a_candidate_must_be_named_as_the_one_shown_first() -> None:
    with pytest.raises(ValueError, match="first must be one of"):
        DebateItem("q", "Why?", ("So.", "No.")).case("q", "C")
    with pytest.raises(ValueError, match="first must be None without candidates and options; got first='A'"):
        DebateItem("q", "Why?").case("q", "A")


# ------------------------------------------------------------------------------------------ tables


@pytest.mark.parametrize(
    "row",
    [
        PAIR,
        {"Prompt": "Why?", "Response A": "So.", "Response_B": "No.", "winner": "model_a"},
        {"instruction": "Why?", "response1": "So.", "response2": "No.", "preference": 1},
        {"question": "Why?", "output_1": "So.", "output_2": "No.", "label": "1"},
        {"prompt": '["Why?"]', "response_a": '["So."]', "response_b": '["No."]'}
        | {"winner_model_a": 1, "winner_model_b": 0, "winner_tie": 0},
        {
            "Question": "Why?",
            "Response_A": "So.",
            "Response_B": "No.",
            "Model_A_Score": 1,
            "Model_B_Score": 0,
        },
        {
            "query": "Why?",
            "answer_1": "So.",
            "answer_2": "No.",
            "model_1": "x",
            "model_2": "y",
            "winner": "x",
        },
        {"text": "Why?", "candidates": ["So.", "No."], "label": "response_a"},
    ],
)
def test_columns_are_found_by_the_names_that_people_use(tmp_path: Path, row: dict[str, Any]) -> None:
    (item,) = read_items(pd.DataFrame([row]))
    assert (item.text, item.candidates, item.label, item.answers) == ("Why?", ("So.", "No."), "A", ("A", "B"))
    assert read_items(jsonl(tmp_path / "items.jsonl", [row])) == [item]
    (tmp_path / "items.json").write_text(json.dumps([row]))
    assert read_items(tmp_path / "items.json") == [item]
    if "candidates" not in row:
        pd.DataFrame([row]).to_csv(tmp_path / "items.csv", index=False)
        assert read_items(tmp_path / "items.csv") == [item]
        (tmp_path / "items.csv.gz").write_bytes(gzip.compress((tmp_path / "items.csv").read_bytes()))
        assert read_items(tmp_path / "items.csv.gz") == [item]
        pd.DataFrame([row]).to_excel(tmp_path / "items.xlsx", index=False)
        assert read_items(tmp_path / "items.xlsx") == [item]


@pytest.mark.parametrize(
    ("winner", "label"),
    [
        ("A", "A"),
        ("b", "B"),
        ("model_b", "B"),
        ("[[A]]", "A"),
        (2, "B"),
        (1.0, "A"),
        ("gpt", "B"),
        ("tie", "tie"),
        ("tie (bothbad)", "tie"),
        ("", None),
        (None, None),
    ],
)
def test_a_winner_is_read_however_it_is_written(winner: Any, label: str | None) -> None:
    row = {"prompt": "Why?", "response_a": "So.", "response_b": "No.", "model_a": "llama", "model_b": "gpt"}
    (item,) = read_items(pd.DataFrame([row | {"winner": winner}]))
    assert item.label == label
    assert item.models == ("llama", "gpt")
    assert item.answers == (("A", "B", "tie") if label == "tie" else ("A", "B"))


@pytest.mark.parametrize("winner", ["C", 0, 3, "llama or gpt", "both bad maybe", True])
def test_a_winner_that_cannot_be_read_is_refused_not_guessed(winner: Any) -> None:
    with pytest.raises(ValueError, match=r"label must be A, B, tie.*\(row 0\)"):
        read_items(pd.DataFrame([{**PAIR, "label": winner}]))


def test_a_tie_may_be_voted_for_when_a_label_says_so_or_on_demand() -> None:
    table = pd.DataFrame([PAIR, {**PAIR, "question": "How?", "label": "tie"}])
    assert [item.answers for item in read_items(table)] == [("A", "B", "tie")] * 2
    assert [item.label for item in read_items(table, ties=False)] == ["A", None]
    assert [item.answers for item in read_items(table[:1], ties=True)] == [("A", "B", "tie")]


def test_questions_without_candidates_are_items_too(tmp_path: Path) -> None:
    rows = [
        {"id": 7, "question": "2 + 2?", "answer": 4},
        {"id": 8, "question": "Is it?", "answer": "no", "options": ["yes", "no"], "category": "logic"},
    ]
    one, two = read_items(jsonl(tmp_path / "qa.jsonl", rows))
    assert (one.question, one.label, one.answers, one.candidates) == ("7", "4", None, ())
    assert (two.label, two.answers, two.cluster, two.category) == ("no", ("yes", "no"), None, "logic")
    (tmp_path / "qa.csv").write_text('question,options,gold\nIs it?,yes|no,no\nWho?,"[""a"", ""b""]",\n')
    assert [item.answers for item in read_items(tmp_path / "qa.csv")] == [("yes", "no"), ("a", "b")]


@pytest.mark.parametrize(
    ("given", "label"),
    [
        (["So.", "No."], "A"),
        ({"A": "So.", "B": "No."}, "A"),
        ({"B": "No.", "A": "So."}, "A"),
        ({"response_2": "No.", "response_1": "So."}, "model_a"),
        ({"gpt": "So.", "llama": "No."}, "gpt"),
    ],
    ids=["list", "object", "B first", "numbers", "systems"],
)
@pytest.mark.parametrize("kind", ["lines", "frame"])
def test_two_candidates_are_read_from_a_list_or_an_object(
    tmp_path: Path, given: Any, label: str, kind: str
) -> None:
    rows = [{"question": "Why?", "candidates": given, "label": label}]
    source = pd.DataFrame(rows) if kind == "frame" else jsonl(tmp_path / "items.jsonl", rows)
    (item,) = read_items(source)
    assert (item.candidates, item.answers, item.label) == (("So.", "No."), ("A", "B"), "A")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("So or no", "candidates must be a list of texts.*got 'So or no' .record 1"),
        ({"A": "So."}, "candidates must be two, named A and B or by their systems; got 'A' .record 1"),
        ({"A": "So.", "llama": "No."}, "candidates must be two, .*got 'A', 'llama'"),
        ({"A": "So.", "1": "No."}, "candidates must be A and B; got 'A' and '1'"),
        ({"A": "So.", "B": "No.", "C": "Yes."}, "candidates must be two.*got 'A', 'B', 'C'"),
    ],
    ids=["text", "one", "a side and a system", "a side twice", "three"],
)
def test_candidates_that_are_no_two_texts_are_refused_and_no_open_question(
    tmp_path: Path, given: Any, message: str
) -> None:
    rows = [{"question": "Why?", "candidates": given, "label": "A"}]
    with pytest.raises(ValueError, match=message):
        read_items(jsonl(tmp_path / "items.jsonl", rows))


def test_rows_of_the_same_texts_are_judgments_of_one_item() -> None:
    judged = read_items(pd.DataFrame([{**PAIR, "label": label} for label in "AAB"]))
    assert [item.label for item in judged] == ["A"]
    split = read_items(pd.DataFrame([{**PAIR, "label": label} for label in "AB"]))
    assert [item.label for item in split] == [None]


def test_an_item_without_an_id_is_named_by_its_texts_and_pairs_of_a_question_stay_together() -> None:
    table = pd.DataFrame([PAIR, {**PAIR, "answer_b": "Perhaps."}, {**PAIR, "question": "How?"}])
    one, two, three = read_items(table)
    assert len({one.question, two.question, three.question}) == 3
    assert one.cluster == two.cluster != three.cluster
    assert read_items(table[::-1])[-1].question == one.question
    named = read_items(table.assign(id=[1, 2, 3]))
    assert [item.question for item in named] == ["1", "2", "3"]
    assert [item.cluster for item in named] == [one.cluster, one.cluster, None]


def test_several_turns_of_a_conversation_are_numbered() -> None:
    row = {"prompt": '["Why?", "Sure?"]', "response_a": '["So.", "Yes."]', "response_b": '["No.", null]'}
    (item,) = read_items(pd.DataFrame([row]))
    assert item.text == "Turn 1: Why?\n\nTurn 2: Sure?"
    assert item.candidates == ("Turn 1: So.\n\nTurn 2: Yes.", "Turn 1: No.")
    # One text that is no list leaves the column as it is: brackets may be what somebody wrote.
    mixed = pd.DataFrame([row, {**row, "prompt": "Not a list"}])
    assert read_items(mixed)[0].text == '["Why?", "Sure?"]'


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{"answer_a": "So.", "answer_b": "No."}],
            r"must have the columns question .*; got answer_a, answer_b",
        ),
        (
            [{"question": "Why?", "answer_a": "So."}],
            r"columns question .* and both answer_a and answer_b; got",
        ),
        (
            [PAIR, {**PAIR, "answer_a": ""}],
            "candidates must not be empty; got an empty one for .* in record 2",
        ),
        (
            [{**PAIR, "answer_a": "So. ", "answer_b": " So."}],
            "candidates must differ; got the same text twice",
        ),
        (
            [{**PAIR, "text": "Some context."}],
            "must have one column with the question; got both question and text",
        ),
        ([{**PAIR, "question": ""}], r"text must not be empty; .*\(record 1\)"),
        (
            [{**PAIR, "id": 1}, {**PAIR, "id": 1, "answer_a": "Else."}],
            "a question must have one content; got '1' again with other candidates in record 2",
        ),
        (
            [{"id": 1, "question": "Why?", "answer": answer} for answer in "xy"],
            "a question must have one content; got '1' again with other label",
        ),
        (
            [{**PAIR, "label": None}, {"Label": "A", **PAIR}],
            "columns of .* must have different names; got 'label' and 'Label'",
        ),
        ([{"question": "Why?", "options": "yes|no", "answer": "maybe"}], "label must be one of 'yes', 'no'"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused_with_its_row(
    tmp_path: Path, rows: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read_items(jsonl(tmp_path / "items.jsonl", rows))
    assert "\n" not in str(caught.value)


def test_empty_and_identical_candidates_can_be_kept_on_demand() -> None:
    table = pd.DataFrame([{**PAIR, "answer_a": "", "label": "B"}, {**PAIR, "answer_b": "So."}])
    items = read_items(table, empty="keep", identical="keep")
    assert [item.candidates for item in items] == [("", "No."), ("So.", "So.")]
    assert items[1].identical


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    for name, content, message in (
        ("a.jsonl", "[1]\n", "line 1: a line must be one JSON object; got '\\[1\\]'"),
        ("a.jsonl", "{broken\n", "line 1: a line must be one JSON object; got '{broken'"),
        ("a.jsonl", "", "file must hold records; got 0 bytes"),
        ("a.json", "{", "a.json must be JSON"),
        ("a.json", "[[1]]", "a JSON document must hold objects; got \\[1\\] as record 1"),
        ("a.csv", "question,answer_a,answer_b\nWhy?,So.\n", "line 2: a row must have 3 cells; got 2"),
        ("a.csv", "question,label,label\nWhy?,4,4\n", "must have different names; got 'label' and 'label'"),
        ("a.parquet", "question", "file must be Parquet; got"),
        ("a.csv", "question,answer_a,answer_b\n", "must hold at least one item; got none"),
        ("a.xlsx", "no workbook", "file must be an XLSX workbook; got"),
        ("a.txt", "Why?", "source must end in"),
        ("a.csv.gz", "no gzip", "file must be gzipped text; got"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(ValueError, match=message):
            read_items(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="source must exist"):
        read_items(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="source must be a file, or a folder of pandalm, llmbar, eot"):
        read_items(tmp_path)
    with pytest.raises(TypeError, match="source must be a path, a DataFrame or DebateItems; got str"):
        read_items(["Why?"])  # type: ignore[list-item]


TABLE = pd.DataFrame(
    {
        "id": ["007", "q2", "q3"],
        "Prompt": ["Why; or why not?", 'Sagt man "Grüße"\nim Brief?', "2 + 2 = 4,0?"],
        "Response A": ["So.", "Ja\tja", "NA"],
        "Response B": ["No, no.", "Nein | nie", "Yes"],
        "winner": ["model_b", "", "tie"],
        "category": ["logic", None, "sums"],
    }
)
WAYS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "comma": ("items.csv", lambda path: TABLE.to_csv(path, index=False)),
    "semicolon": ("items.csv", lambda path: TABLE.to_csv(path, index=False, sep=";")),
    "bar": ("items.csv.gz", lambda path: TABLE.to_csv(path, index=False, sep="|")),
    "tabs": ("items.tsv", lambda path: TABLE.to_csv(path, index=False, sep="\t")),
    "packed tabs": ("items.tsv.gz", lambda path: TABLE.to_csv(path, index=False, sep="\t")),
    "UTF-8 with a mark": ("items.csv", lambda path: TABLE.to_csv(path, index=False, encoding="utf-8-sig")),
    "UTF-16": ("items.csv", lambda path: TABLE.to_csv(path, index=False, sep=";", encoding="utf-16")),
    "Excel": ("items.xlsx", lambda path: TABLE.to_excel(path, index=False)),
    "lines": ("items.jsonl", lambda path: TABLE.to_json(path, orient="records", lines=True)),
    "packed document": (
        "items.json.gz",
        lambda path: path.write_bytes(gzip.compress(TABLE.to_json(orient="records").encode())),
    ),
    "packed lines": ("items.ndjson.gz", lambda path: TABLE.to_json(path, orient="records", lines=True)),
    "JSON": ("items.json", lambda path: TABLE.to_json(path, orient="records")),
    "Parquet": ("items.parquet", lambda path: parquet(TABLE, path)),
}


def parquet(table: pd.DataFrame, path: Path) -> None:
    with connect(ordered=True) as con:
        con.register("given", table)
        con.execute(f"COPY given TO {quoted(str(path))} (FORMAT parquet)")


@pytest.mark.parametrize("way", WAYS)
def test_one_table_gives_the_same_items_from_every_kind_of_file(tmp_path: Path, way: str) -> None:
    name, write = WAYS[way]
    write(tmp_path / name)
    items = read_items(tmp_path / name)
    assert items == read_items(TABLE)
    assert [(item.question, item.label, item.category) for item in items] == [
        ("007", "B", "logic"),
        ("q2", None, None),
        ("q3", "tie", "sums"),
    ]
    assert [item.text for item in items] == TABLE["Prompt"].tolist()
    assert [item.candidates for item in items] == list(
        zip(TABLE["Response A"], TABLE["Response B"], strict=True)
    )


def test_a_polars_frame_and_an_older_encoding_give_the_same_items(tmp_path: Path) -> None:
    import polars as pl

    assert read_items(pl.DataFrame(TABLE.astype(object).where(TABLE.notna(), None).to_dict("list"))) == (
        read_items(TABLE)
    )
    TABLE.to_csv(tmp_path / "items.csv", index=False, encoding="cp1252")
    with pytest.raises(
        ValueError, match=r"reads .*Grüße.* as cp1252; if that is correct, use --encoding cp1252"
    ):
        read_items(tmp_path / "items.csv")
    assert read_items(tmp_path / "items.csv", encoding="cp1252") == read_items(TABLE)


def test_the_command_reads_what_the_function_reads_and_says_how_where_it_cannot(tmp_path: Path) -> None:
    TABLE.to_csv(tmp_path / "items.csv", index=False, sep=";", encoding="cp1252")
    words = [
        "debate",
        str(tmp_path / "items.csv"),
        "--protocol",
        "single_judge",
        "--model",
        "any",
        "--dry-run",
    ]
    words += ["--base-url", "http://127.0.0.1:9/v1", "--window", "0"]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 1
    assert "items.csv, line 3: the text must be UTF-8" in refused.stderr
    read = CliRunner().invoke(app, [*words, "--encoding", "cp1252"])
    assert read.exit_code == 0, read.output
    assert "forecast: 3 debates" in read.output


def test_messages_of_a_conversation_are_read_from_a_parquet_file_as_from_json(tmp_path: Path) -> None:
    talk = [[{"role": "user", "content": "Why?"}, {"role": "user", "content": "Sure?"}]]
    table = pd.DataFrame({"prompt": talk, "response_a": [["So.", "Yes."]], "response_b": [["No.", None]]})
    parquet(table, tmp_path / "items.parquet")
    table.to_json(tmp_path / "items.jsonl", orient="records", lines=True)
    (item,) = read_items(table)
    assert item.text == "Turn 1: Why?\n\nTurn 2: Sure?"
    assert item.candidates == ("Turn 1: So.\n\nTurn 2: Yes.", "Turn 1: No.")
    assert read_items(tmp_path / "items.parquet") == read_items(tmp_path / "items.jsonl") == [item]


@pytest.mark.parametrize("truth", [(True, False, False), ("True", "False", "False"), (1.0, 0.0, None)])
def test_flags_of_the_winner_are_read_however_a_table_writes_them(tmp_path: Path, truth: Any) -> None:
    flags = dict(zip(("winner_model_a", "winner_model_b", "winner_tie"), truth, strict=True))
    table = pd.DataFrame([{"prompt": "Why?", "response_a": "So.", "response_b": "No."} | flags])
    table.to_csv(tmp_path / "items.csv", index=False)
    assert [item.label for item in (*read_items(table), *read_items(tmp_path / "items.csv"))] == ["A", "A"]


def test_a_label_that_a_gap_in_its_column_made_a_float_is_read(tmp_path: Path) -> None:
    rows = [{**PAIR, "label": 1}, {**PAIR, "question": "How?", "label": None}]
    pd.DataFrame(rows).to_csv(tmp_path / "items.csv", index=False)
    assert "1.0" in (tmp_path / "items.csv").read_text()
    assert [item.label for item in read_items(tmp_path / "items.csv")] == ["A", None]


TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=30).filter(
    lambda t: bool(t.strip())
)


@given(TEXT, TEXT, TEXT)
def test_a_text_of_any_characters_comes_through_a_file_unchanged(
    tmp_path_factory: pytest.TempPathFactory, question: str, first: str, second: str
) -> None:
    assume(first.strip() != "B")  # this label could mean both candidates, and is refused
    row = {"id": "1", "question": question, "answer_a": first, "answer_b": second, "label": "B"}
    path = jsonl(
        tmp_path_factory.mktemp("text") / "items.jsonl",
        [row, {**row, "id": "2", "question": "Why?", "answer_a": "x", "answer_b": "y"}],
    )
    item = read_items(path, identical="keep")[0]
    assert (item.text, item.candidates, item.label) == (question, (first, second), "B")


def test_half_of_a_surrogate_pair_is_replaced_since_no_file_could_hold_it(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(r'{"question": "Why \ud83d?", "answer_a": "\udc00", "answer_b": "No."}' + "\n")
    (item,) = read_items(path)
    assert (item.text, item.candidates) == ("Why \ufffd?", ("\ufffd", "No."))


def test_items_read_back_from_a_log_of_their_debates_and_from_their_own_fields(tmp_path: Path) -> None:
    items = [
        DebateItem("q1", "Why?", ("So.", "No."), ("A", "B", "tie"), "B", "c"),
        DebateItem("q2", "How?", ("Thus.", "Not."), ("A", "B", "tie"), "tie"),
    ]
    with LogWriter(tmp_path / "log.jsonl", fsync=False) as log:
        for item in items:
            for first in "AB":
                log.write(item.item(f"{item.question}/{first}", first))
                log.write(Turn(debate=f"{item.question}/{first}", round=1, agent="judge", vote="A"))
    assert read_items(tmp_path / "log.jsonl") == items
    fields = ("question", "text", "candidates", "answers", "label", "cluster")
    rows = [{name: getattr(item, name) for name in fields} for item in items]
    assert read_items(pd.DataFrame(rows)) == items
    assert read_items(jsonl(tmp_path / "items.jsonl", rows)) == items
    assert read_items(items, limit=1) == items[:1]


# --------------------------------------------------------------------------------------- columns and notes

KINDS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "items.csv": lambda table, path: table.to_csv(path, index=False, sep=";"),
    "items.tsv": lambda table, path: table.to_csv(path, index=False, sep="\t"),
    "items.xlsx": lambda table, path: table.to_excel(path, index=False),
    "items.jsonl": lambda table, path: table.to_json(path, orient="records", lines=True),
}
_SAID = {"Prompt": ["2 + 2?", "Is it?"], "Answer A": ["four", "yes"], "Answer B": ["five", "no"]}
TABLES: dict[str, tuple[dict[str, list[Any]], set[str]]] = {
    "own names": ({"Nr": ["1", "2"], **_SAID, "Better": ["A", "B"]}, set()),
    "nothing known": (
        {"Row name": ["x", "y"], **_SAID, "Truth value": ["A", "B"]},
        {"Row name", "Truth value"},
    ),
    "two labels": ({**_SAID, "winner": ["A", "B"], "gold": ["A", "A"], "id": ["x", "y"]}, {"gold"}),
    "a text as reference": ({**_SAID, "reference": ["It is 4.", "Yes, it is."]}, {"reference"}),
    "scores beside a label": (
        {**_SAID, "label": ["A", "B"], "model_a_score": ["0", "1"], "model_b_score": ["1", "0"]},
        {"model_a_score", "model_b_score"},
    ),
    "scores": ({**_SAID, "model_a_score": ["1", "0"], "model_b_score": ["0", "1"]}, set()),
    "flags": (
        {"Prompt": ["2 + 2?", "Is it?", "Why?"], "Answer A": ["four", "yes", "So."]}
        | {"Answer B": ["five", "no", "No."], "winner_model_a": ["1", "0", "0"]}
        | {"winner_model_b": ["0", "1", "0"], "winner_tie": ["0", "0", "1"]},
        set(),
    ),
    "models": (
        {**_SAID, "model_a": ["x", "x"], "model_b": ["y", "y"], "models": ["z", "z"], "winner": ["x", "y"]},
        {"models"},
    ),
    "questions": (
        {"id": ["a", "b"], "question": ["2 + 2?", "Is it?"], "answer": ["4", "yes"]},
        set(),
    ),
    "questions with options": (
        {"question": ["Why?", "Is it?"], "choices": ["a|b", "c|d"], "gold": ["a", "c"], "better": ["a", "c"]}
        | {"topic": ["s", "t"], "category": ["u", "v"], "model_a": ["x", "x"], "model_b": ["y", "y"]},
        {"better", "model_a", "model_b"},
    ),
    "an instruction": (
        {"instruction": ["Add.", "Say."], "input": ["2 + 2", "yes"], "output_1": ["4", "yes"]}
        | {"output_2": ["5", "no"], "preference": ["1", "2"], "prompt_length": ["4", "5"]},
        {"prompt_length"},
    ),
    "responses": (
        {
            "prompt": ["Hello", "Bye"],
            "response": ["Hi", "So long"],
            "model": ["x", "y"],
            "length": ["2", "7"],
        },
        {"length"},
    ),
    "a response beside an answer": (
        {"prompt": ["2 + 2?", "Is it?"], "response": ["4", "no"], "target": ["4", "yes"]},
        {"response"},
    ),
}


def contents(items: Any) -> list[Any]:
    """All that the items hold, what is left out of their comparison included."""
    return [(*(getattr(item, name) for name in DebateItem.__dataclass_fields__),) for item in items]


def unread(items: Items) -> set[str]:
    prefix = "columns that were not read: "
    (listed,) = [note for note in items.notes if note.startswith(prefix)] or [prefix]
    return set(filter(None, listed.removeprefix(prefix).split(", ")))


@covering(name=TABLES, kind=KINDS)
def test_every_column_of_a_table_is_read_or_named(tmp_path: Path, name: str, kind: str) -> None:
    cells, others = TABLES[name]
    table = pd.DataFrame(cells)
    KINDS[kind](table, tmp_path / kind)
    items = read_items(tmp_path / kind)
    assert len(items) == len(table)
    named = unread(items)
    assert named == others
    for column in cells:
        try:
            without = contents(read_items(table.drop(columns=column)))
        except ValueError:
            without = None
        same = without == contents(items)
        if column in named:
            assert same, f"{column!r} was read, and a note says that it was not"
        else:
            assert not same, f"{column!r} was not read, and no note says so"


def test_the_guide_lists_every_role_and_only_names_that_are_read() -> None:
    guide = Path(__file__).resolve().parents[2] / "docs" / "guides" / "run_debates.md"
    rows = [line.split("|")[1:3] for line in guide.read_text("utf-8").splitlines() if line.startswith("| `")]
    listed = {tuple(re.findall("`(.*?)`", roles)): re.findall("`(.*?)`", names) for roles, names in rows}
    assert {role for roles in listed for role in roles} == set(ROLES)
    pairs = pd.DataFrame([PAIR, {**PAIR, "question": "How?"}])
    cells = {"label": ["A", "B"], "answers": ["A|B"] * 2, "candidates": ['["So.", "No."]'] * 2}
    for roles, names in listed.items():
        alone = {"response": ["question"], "candidates": ["question", "label"]}.get(roles[0], list(pairs))
        table = pairs[alone].drop(columns=[role for role in roles if role in alone])
        for several in zip(*[iter(names)] * len(roles), strict=True):
            added = {
                name: [f"{cell}{k}" for cell in "xy"] if len(roles) > 1 else cells.get(roles[0], ["x", "y"])
                for k, name in enumerate(several)
            }
            assert unread(read_items(table.assign(**added))) == set(), several


def test_own_names_of_label_and_id_are_known() -> None:
    items = read_items(pd.DataFrame(TABLES["own names"][0]))
    assert [(item.question, item.label) for item in items] == [("1", "A"), ("2", "B")]
    assert items.notes == [
        "columns: question is 'Prompt', id is 'Nr', answer_a is 'Answer A', answer_b is 'Answer B', "
        "label is 'Better'"
    ]


@covering(
    spelt=[str, str.upper, lambda name: name.replace("_", " ").title() + "."],
    of=[("id", "question"), ("preference", "label"), ("label", "label")],
)
def test_every_listed_name_is_read(of: tuple[str, str], spelt: Callable[[str], str]) -> None:
    role, field = of
    said = {"Prompt": ["2 + 2?", "Is it?"]} if role == "label" else _SAID
    cells = {"id": ["7", "8"], "preference": ["A", "B"], "label": ["4", "yes"]}[role]
    for name in (name for names in ITEM_NAMES[role] for name in names):
        items = read_items(pd.DataFrame({**said, spelt(name): cells}))
        assert [getattr(item, field) for item in items] == cells, name
        assert unread(items) == set()


def test_a_column_of_texts_is_no_label_and_one_wrong_label_is_an_error() -> None:
    table = pd.DataFrame({**_SAID, "reference": ["It is 4.", "Yes, it is."]})
    items = read_items(table)
    assert [item.label for item in items] == [None, None]
    assert any("the column 'reference' was not taken for the label" in note for note in items.notes)
    # A column whose cells are labels, all but one, is the label: the slip must not cost all the others.
    with pytest.raises(ValueError, match="label must be A, B"):
        read_items(table.assign(reference=["A", "neither one"]))
    with pytest.raises(ValueError, match="label must be A, B"):
        read_items(table, columns={"label": "reference"})


def test_the_text_of_the_right_candidate_is_a_label_and_what_could_be_both_is_refused() -> None:
    table = pd.DataFrame({**_SAID, "correct_answer": ["four", "no"]})
    assert [item.label for item in read_items(table)] == ["A", "B"]
    for texts, label in ((("2", "1"), "1"), (("B", "A"), "A"), (("tie", "bow"), "tie")):
        row = {"prompt": "Which?", "answer_a": texts[0], "answer_b": texts[1], "label": label}
        with pytest.raises(ValueError, match=r"label must mean one candidate; .*write answer_a or answer_b"):
            read_items(pd.DataFrame([row]))
        (item,) = read_items(pd.DataFrame([row | {"label": "answer_b"}]))
        assert item.label == "B"
    (item,) = read_items(pd.DataFrame([{**PAIR, "answer_a": "1", "answer_b": "2", "label": "2"}]))
    assert item.label == "B"


def test_numbers_of_rows_do_not_split_the_judgments_of_one_item() -> None:
    table = pd.DataFrame([{"Nr": k, **PAIR, "label": label} for k, label in enumerate("AAB", start=1)])
    items = read_items(table)
    assert [item.label for item in items] == ["A"]
    assert unread(items) == {"Nr"}
    assert any("'Nr' was not taken for the id" in note for note in items.notes)
    one_number = pd.DataFrame([{"No.": 1, **PAIR}, {"No.": 1, **PAIR, "question": "How?"}])
    assert len({item.question for item in read_items(one_number)} - {"1"}) == 2


def test_own_names_are_chosen_for_every_role() -> None:
    cells = {
        "question": "Why?",
        "answer_a": "So.",
        "answer_b": "No.",
        "candidates": '["So.", "No."]',
        "response": "So.",
        "label": "B",
        "answers": "A|B|neither",
        "id": "x1",
        "cluster": "c",
        "category": "logic",
        "model_a": "x",
        "model_b": "y",
    }
    assert set(cells) == set(ROLES)
    pair = [role for role in ROLES if role not in ("candidates", "response")]
    alone = ["question", "response", "id", "cluster", "category"]
    listed = [role for role in ROLES if role not in ("answer_a", "answer_b", "response")]
    for roles in (pair, alone, listed):
        own = {role: f"my {role} column" for role in roles}
        table = pd.DataFrame([{own[role]: cells[role] for role in roles} | {"else": "x"}])
        items = read_items(table, columns=own)
        standard = read_items(pd.DataFrame([{role: cells[role] for role in roles}]))
        assert contents(items) == contents(standard)
        assert unread(items) == {"else"}
    # A choice goes before the standard name, which is then named as not read.
    items = read_items(pd.DataFrame([{**PAIR, "mine": "B"}]), columns={"label": "mine"})
    assert items[0].label == "B"
    assert unread(items) == {"label"}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"questin": "question"}, "columns must choose among question, .*did you mean 'question'"),
        ({"label": "lable"}, "label must be a column of the table; got 'lable'; did you mean 'label'"),
        ({"label": ["label", "question"]}, "columns must choose one column for label; got"),
        (
            {"answer_a": "answer_a", "candidates": "label"},
            "only one of answer_a and answer_b, candidates, or",
        ),
        ({"response": "answer_a", "label": "label"}, "must not choose label or answers beside response"),
        ({"model_a": "label"}, "model_a and model_b must be chosen together"),
    ],
)
def test_a_choice_that_cannot_be_meant_is_refused(columns: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_items(pd.DataFrame([PAIR]), columns=columns)


def test_what_is_missing_is_said_with_what_to_type(tmp_path: Path) -> None:
    for row, said in (
        ({"Promt": "Why?", "a": "So."}, "columns={'question': 'Promt'} (--columns question=Promt)"),
        ({"asked": "Why?"}, "columns={'question': 'COLUMN'} (--columns question=COLUMN)"),
        (
            {"prompt": "Why?", "answer_a": "So.", "answr b": "No."},
            "(--columns 'answer_a=answer_a,answer_b=answr b')",
        ),
    ):
        with pytest.raises(ValueError, match="must have the columns question") as caught:
            read_items(pd.DataFrame([row]))
        assert said in str(caught.value)
    path = jsonl(tmp_path / "log.jsonl", [{"type": "item", "debate": "d", "question": "q", "text": "Why?"}])
    for source in (path, [DebateItem("q", "Why?")]):
        with pytest.raises(ValueError, match="columns must be of a table"):
            read_items(source, columns={"question": "text"})


def test_items_without_labels_are_counted() -> None:
    table = pd.DataFrame([PAIR, {**PAIR, "question": "How?"}])
    assert read_items(table).notes == []
    assert read_items(table.assign(label=["A", None])).notes == [
        "items without a label: 1 of 2; accuracy is measured on the other items only"
    ]
    none = read_items(table.drop(columns="label").assign(lable="A")).notes
    assert none[0] == "columns that were not read: lable"
    assert none[1].startswith("WARNING: no item has a label, so accuracy cannot be measured; if a column")
    assert "(--columns label=lable)" in none[1]
    assert read_items([DebateItem("q", "Why?", label="x"), DebateItem("r", "How?")]).notes != []
    # A single response is scored and has no label.
    assert read_items(pd.DataFrame([{"prompt": "Hello", "response": "Hi"}])).notes == [
        "columns: question is 'prompt'"
    ]


# ------------------------------------------------------------------------------------------ real files


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("source", "n", "clusters", "labels"),
    [
        pytest.param(
            *(
                "abirharrasse__D3-Judge/mt_bench_human_judgments.xlsx",
                1198,
                80,
                {"A": 322, "B": 616, None: 260},
            ),
            marks=pytest.mark.slow,
        ),
        ("abirharrasse__D3-Judge/sample_data_200.xlsx", 199, 199, {"A": 62, "B": 69, "tie": 68}),
        ("WeOpenML__PandaLM/testset-v1.json", 999, 170, {"A": 422, "B": 472, "tie": 105}),
        ("WeOpenML__PandaLM", 999, 170, {"A": 422, "B": 472, "tie": 105}),
        ("princeton-nlp__LLMBar", 419, 419, {"A": 206, "B": 213}),
        ("princeton-nlp__LLMBar/Natural__PaLM2__Swap.json", 100, 100, {"A": 42, "B": 58}),
    ],
)
def test_pairs_of_public_files_are_read_with_their_human_labels(
    data_dir: Path, source: str, n: int, clusters: int, labels: dict[str | None, int]
) -> None:
    items = read_items(data_dir / source, identical="keep", empty="keep")
    assert len(items) == n
    assert len({item.cluster or item.question for item in items}) == clusters
    assert Counter(item.label for item in items) == labels
    assert all(len(item.candidates) == 2 for item in items)


@pytest.mark.real_data
def test_degenerate_pairs_of_public_files_are_found(data_dir: Path) -> None:
    folder = data_dir / "abirharrasse__D3-Judge"
    with pytest.raises(ValueError, match=r"candidates must differ; .* and 1 more"):
        read_items(folder / "mt_bench_human_judgments.xlsx")
    with pytest.raises(ValueError, match="candidates must not be empty"):
        read_items(data_dir / "WeOpenML__PandaLM" / "testset-v1.json")
    battles = read_items(folder / "sample_data_200.xlsx", identical="keep")
    assert sum(item.identical for item in battles) == 3
    assert battles[0].models == ("gpt-4-1106-preview", "gpt-4-0613")
    assert battles[0].text.startswith("Turn 1: Is it morally right") or battles[0].text.startswith(
        "Is it morally"
    )


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("source", "n", "answers"),
    [
        ("yinzhangyue__EoT/Sample_AQuA_EoT_gpt-3.5-turbo-0301.jsonl", 50, tuple("ABCDE")),
        ("yinzhangyue__EoT/Sample_StrategyQA_EoT_gpt-3.5-turbo-0301.jsonl", 50, ("yes", "no")),
        ("yinzhangyue__EoT/Sample_GSM8K_EoT_gpt-3.5-turbo-0301.jsonl", 50, None),
        ("yinzhangyue__EoT", 400, ...),
        ("nilgeoutim__CS546_MajorityErrorDebate/gsm_3_3_top100__918fa1ec.json", 100, None),
        ("nilgeoutim__CS546_MajorityErrorDebate/gsm_critic_actor_3_6.json", 100, None),
        ("nilgeoutim__CS546_MajorityErrorDebate/gsm_v4_stateful_4_4_top_50_majority_error.json", 50, None),
    ],
)
def test_questions_of_public_files_are_read_with_their_right_answers(
    data_dir: Path, source: str, n: int, answers: Any
) -> None:
    items = read_items(data_dir / source)
    assert len(items) == n
    assert all(item.label is not None and not item.candidates for item in items)
    if answers is not ...:
        assert {item.answers for item in items} == {answers}


def test_what_is_wrong_after_the_limit_is_not_looked_at() -> None:
    rows = [{"id": f"q{i}", "question": f"{i}?", "answer_a": "a", "answer_b": "b"} for i in range(3)]
    odd = [
        {"id": "e", "question": "e?", "answer_a": "", "answer_b": "b"},
        {"id": "s", "question": "s?", "answer_a": "a", "answer_b": "a"},
        {"id": "t", "question": " ", "answer_a": "a", "answer_b": "b"},
    ]
    for row in odd:
        table = pd.DataFrame([*rows, row])
        assert [item.question for item in read_items(table, limit=3)] == ["q0", "q1", "q2"]
        with pytest.raises(ValueError, match="must"):
            read_items(table, limit=4)
