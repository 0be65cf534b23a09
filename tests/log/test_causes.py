"""The doctor lists causes, not symptoms: what follows from one thing is said once, with what would mend it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from log_worlds import item, panel, spoiled_lines, turn, write_lines
from typer.testing import CliRunner

from d3stats.cli import app
from d3stats.log import KINDS, causes_of, doctor, read_log

HEAD = "debate,round,agent,vote,label\n"


def table(path: Path, head: str, round_of: str = "{r}") -> Path:
    body = "".join(
        f"d{d},{round_of.format(r=r)},m{m},A,A\n" for d in range(40) for r in (1, 2, 3) for m in range(10)
    )
    path.write_text(head + "\n" + body, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("head", "required", "typed"),
    [
        ("debate,round,agent,votes,label", "a column for vote (or correct)", "--columns vote=votes"),
        ("debate,rond,agent,vote,label", "a column round", "--columns round=rond"),
        ("x1,x2,x3,x4,x5", "a column for debate and agent and vote (or correct)", "--columns debate=COLUMN,"),
        ("debate,round,agent,answer,response", "vote must be one column", "--columns vote=response"),
    ],
)
def test_columns_that_cannot_be_told_are_one_problem_that_says_what_to_type(
    tmp_path: Path, head: str, required: str, typed: str
) -> None:
    report = doctor(table(tmp_path / "own.csv", head))
    (cause,) = report.causes
    assert required in cause.message
    assert (cause.count, cause.left_out, cause.follows) == (1, 0, {"no turns": 1})
    assert "got " in cause.places[0]
    assert "columns=" not in cause.places[0]
    assert typed in cause.advice
    text = report.to_text()
    assert "1 problem:" in text
    assert "The table is skipped." in text
    # The advice stands with its cause, and once more in a note that proposes the label beside it.
    assert 1 <= text.count(typed) <= 2
    assert report.exit_code == 2


def test_the_fields_own_names_are_no_problem(tmp_path: Path) -> None:
    report = doctor(table(tmp_path / "own.csv", "qid,turn,speaker,choice,gold"))
    assert report.causes == ()
    assert "debate is 'qid'" in report.notes[0]
    assert report.n_turns == 1200


def test_misspelled_columns_are_one_problem_and_others_are_a_note(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("debate,round,agent,vote,lable,colour,tokens_inn\nd,1,a,A,A,red,3\n")
    report = doctor(path)
    (cause,) = report.causes
    assert (cause.kind, cause.count, report.n_turns) == ("unknown column", 2, 1)
    assert [place.partition("got ")[2] for place in cause.places] == [
        "'lable': did you mean label?",
        "'tokens_inn': did you mean tokens_in?",
    ]
    assert any("colour" in note for note in report.notes)


def test_one_wrong_field_in_many_rows_is_one_problem(tmp_path: Path) -> None:
    path = table(tmp_path / "log.csv", HEAD.strip(), "{r}st")
    (cause,) = doctor(path).causes
    assert (cause.kind, cause.count, cause.left_out) == ("wrong field", 1200, 1200)
    assert cause.message == "round must be a whole number >= 0"
    assert cause.places == tuple(f"{path}, line {n}: got round='1st'" for n in (2, 3, 4))
    assert cause.span == "and 1,197 more, up to line 1201"
    assert cause.follows == {"no turns": 1}


@pytest.mark.parametrize(
    "lost", ['{"type":"item","debate":"d1","quest', {"type": "item", "debate": "d1", "label": 3}]
)
def test_an_item_that_is_lost_explains_the_turns_of_its_debate(tmp_path: Path, lost: object) -> None:
    path = write_lines(tmp_path / "log.jsonl", [lost, *panel("d1"), item("d2"), *panel("d2")])
    report = doctor(path)
    (cause,) = report.causes
    assert cause.places[0].startswith(f"{path}, line 1: got ")
    assert cause.follows == {"unknown debate": 6}
    assert cause.left_out == 7
    assert "Consequences: unknown debate (6)." in report.to_text()


def test_two_unknown_debates_are_not_explained_by_one_lost_line(tmp_path: Path) -> None:
    lines = ['{"type":"turn","deb', *panel("d1"), *panel("d2"), item("d3"), *panel("d3")]
    causes = doctor(write_lines(tmp_path / "log.jsonl", lines)).causes
    assert [cause.kind for cause in causes] == ["malformed line", "unknown debate"]


def test_a_log_without_turns_says_why_and_not_that_it_has_none(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    assert [cause.kind for cause in doctor(tmp_path / "a.csv").causes] == ["empty file"]
    (tmp_path / "b.csv").write_text(HEAD)
    assert [cause.kind for cause in doctor(tmp_path / "b.csv").causes] == ["no turns"]


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG picture"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG picture"),
        (b"%PDF-1.7\n\0", "a PDF"),
    ],
)
@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_what_is_no_log_is_called_by_its_name(tmp_path: Path, head: bytes, said: str, ending: str) -> None:
    path = tmp_path / f"log{ending}"
    path.write_bytes(head + bytes(100))
    (cause,) = doctor(path).causes
    assert cause.kind == "not a log"
    assert said in cause.places[0]


def test_what_a_file_says_in_another_encoding_is_one_problem_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes((HEAD + "é,1,a,A,A\n" * 3).encode("latin-1"))
    (cause,) = doctor(path).causes
    assert "'é,1,a,A,A' as cp1252" in cause.places[0]
    assert "--encoding cp1252" in cause.advice
    path.write_bytes((HEAD + "é,1,a,A,A\n").encode("utf-16"))
    assert doctor(path).exit_code == 0
    lines = tmp_path / "log.jsonl"
    lines.write_bytes('{"type": "log"}'.encode("utf-16"))
    (cause,) = doctor(lines).causes
    assert "text in UTF-16" in cause.places[0]


@settings(max_examples=20)
@given(spoiled_lines())
def test_every_problem_of_single_records_is_counted_once(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("causes") / "log.jsonl"
    path.write_bytes(b"\n".join(lines))
    problems = read_log(path, strict=False).problems
    counted: Counter[str] = Counter()
    causes = causes_of(problems)
    for cause in causes:
        counted[cause.kind] += cause.count
        counted.update(cause.follows)
        assert cause.advice
        assert len(cause.places) == min(cause.count, 3)
        assert bool(cause.span) == (cause.count > 3)
    assert counted == Counter(problem.kind for problem in problems)
    assert sum(cause.left_out for cause in causes) == sum(p.left_out == "record" for p in problems)
    order = [list(KINDS).index(cause.kind) for cause in causes]
    assert order == sorted(order)


@pytest.mark.parametrize("columns", ["80", "40"])
def test_the_report_fits_the_terminal_and_loses_no_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", columns)
    Path("own.csv").write_text(
        "case number,speaker name,what was said," + ",".join(f"c{i}" for i in range(60)) + "\n",
        encoding="utf-8",
    )
    lines = [
        item(answers=["A", "B"]),
        *panel(rounds=1),
        *panel(rounds=1),
        turn(agent="d", vote="C" * 3000),
        "x",
    ]
    write_lines(Path("log.jsonl"), [*lines, item("d2"), *panel("d2", rounds=1, agents="ab")])
    done = CliRunner().invoke(app, ["doctor", "own.csv", "log.jsonl"])
    assert done.exit_code == 2
    long = [line for line in done.stdout.splitlines() if len(line) > int(columns)]
    assert [line for line in long if len(line.split()) > 2] == []
    whole = doctor("own.csv", "log.jsonl").to_text()
    assert done.stdout.split() == whole.split()
    assert len(whole) < 6000


def test_the_json_report_groups_as_the_text_does(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [item(), *panel(), *panel()])
    report = json.loads(doctor(path).to_json())
    (cause,) = report["causes"]
    assert cause["kind"] == "duplicate turn"
    assert cause["count"] == len(report["problems"]) == 6
    assert len(cause["places"]) == 3
    assert cause["advice"] == KINDS["duplicate turn"].advice
