"""The doctor: a report that a newcomer can act on."""

from __future__ import annotations

import json
import shlex
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from layers import covering
from log_worlds import item, panel, turn, write_lines
from typer.testing import CliRunner

from d3stats.cli import app
from d3stats.log import KINDS, doctor
from d3stats.log.arrays import BY_A_RULE
from d3stats.trajectories import Trajectories


def test_a_sound_log_is_described_and_exits_with_0(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "log.jsonl",
        [item("d1"), *panel("d1"), item("d2", label=None), *panel("d2", rounds=1, vote=None), item("d3")],
    )
    report = doctor(path)
    assert not report.problems
    assert (report.n_files, report.n_records, report.n_debates, report.n_turns) == (1, 12, 3, 9)
    assert report.rounds == {0: 1, 1: 1, 2: 1}
    assert report.panel_sizes == {3: 2}
    assert report.missing_votes == pytest.approx(1 / 3)
    assert report.unlabelled == 1
    text = report.to_text()
    assert "1 file, 12 records: 3 debates, 9 turns, 0 verdicts." in text
    assert "Rounds: 0 rounds in 1 debate, 1 round in 1 debate, 2 rounds in 1 debate." in text
    assert "Missing votes: 33.3 % of turns (missing, not wrong)." in text
    assert "1 debate without a label" in text
    assert {f.kind for f in report.findings} == {
        "debates without a vote",
        "many votes missing",
        "debates without turns",
    }
    assert report.exit_code == 2
    whole = doctor(write_lines(tmp_path / "whole.jsonl", [item("d1"), *panel("d1")]))
    assert whole.exit_code == 0
    assert (
        whole.headline
        == whole.to_text().splitlines()[0]
        == "Fit for analysis: 1 debate, 6 turns. Nothing is wrong."
    )


def test_a_log_of_scores_alone_has_no_missing_votes(tmp_path: Path) -> None:
    scores = {"A": {"logic": 3.0}, "B": {"logic": 2.0}}
    one = {**turn("d1"), "vote": None, "scores": scores}
    path = write_lines(tmp_path / "scores.jsonl", [item("d1"), one])
    report = doctor(path)
    assert report.missing_votes is None
    text = report.to_text()
    assert "Votes: none was asked for, because the turns hold scores" in text
    assert "Missing votes" not in text


def test_a_defective_log_exits_with_2_and_says_what_to_do(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [item(), *panel(), *panel(), "garbage"])
    report = doctor(path)
    assert report.exit_code == 2
    text = report.to_text()
    assert "2 problems:" in text
    assert "duplicate turn (6): 6 records left out" in text
    for kind in ("duplicate turn", "malformed line"):
        assert KINDS[kind].meaning in text
        assert KINDS[kind].advice in text
    assert f"   - {path}, line 8: got " in text
    assert "  - and 3 more, up to line 13" in text
    assert f"{path}, line 12" not in text


def test_files_that_cannot_be_read_exit_with_1(tmp_path: Path) -> None:
    report = doctor(tmp_path / "none.jsonl")
    assert report.exit_code == 1
    assert "could not be read: paths must exist" in report.to_text()
    assert json.loads(report.to_json())["exit_code"] == 1
    assert doctor().exit_code == 1


def test_an_empty_file_is_a_finding_not_a_failure(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").touch()
    report = doctor(tmp_path / "log.jsonl")
    assert report.exit_code == 2
    assert {p.kind for p in report.problems} == {"empty file", "no turns"}
    assert "Rounds: no rounds." in report.to_text()


def test_the_json_report_holds_every_problem(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [item(), *panel(), turn()])
    report = json.loads(doctor(path).to_json())
    assert report["exit_code"] == 2
    assert report["panel_sizes"] == {"3": 1}
    (problem,) = report["problems"]
    assert problem["kind"] == "duplicate turn"
    assert problem["line"] == 8
    assert problem["record_key"] == ["d1", 1, "a"]


def test_a_log_of_correctness_has_no_unlabelled_debates(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("debate,round,agent,correct\nd,0,a,1\nd,0,b,\n")
    report = doctor(path)
    assert report.unlabelled == 0
    assert report.missing_votes == 0.5
    assert "marks of right or wrong: 50.0 %" in report.to_text()
    assert "Note: " in report.to_text()
    assert "count from 0" in report.to_text()
    assert not report.problems


@pytest.mark.parametrize(("lost", "code"), [(1, 0), (2, 0), (4, 0), (5, 2), (18, 2)])
def test_many_missing_votes_are_said_first_with_their_reasons_and_the_servers_last_words(
    tmp_path: Path, lost: int, code: int
) -> None:
    turns = [turn(f"d{i}", agent="a", role="juror") for i in range(20)]
    for one in turns[:lost]:
        one |= {"vote": None, "error": "context_full"}
    records = [record for i in range(20) for record in (item(f"d{i}"), turns[i])]
    path = write_lines(tmp_path / "log.jsonl", records)
    words = "request (1055 tokens) exceeds the available context size"
    (tmp_path / "log.calls.jsonl").write_text(
        json.dumps({"journal": "x", "voters": ["juror"]}) + "\n"
        '{"words": {"context_full": "an earlier one"}}\n'
        + json.dumps({"words": {"context_full": words}, "server": "http://h/v1"})
        + '\n{"words": torn'
    )
    closed = [{"type": "verdict", "debate": f"d{i}", "decision": "A", "round": 1} for i in range(20)]
    write_lines(path, [*records, *closed])
    report = doctor(path)
    assert report.exit_code >= code, report.to_text()
    headline, first, *rest = report.to_text().splitlines()
    assert headline == report.headline
    if lost / 20 > 0.1:
        assert first == f"{lost} of 20 votes are missing ({5 * lost}.0 %): {lost} context_full."
        assert words in rest[0]
        assert "larger context window" in rest[0]
        assert "Nothing is wrong" not in headline
        assert next(iter(json.loads(report.to_json()))) == "headline"
    else:
        assert "are missing" not in report.to_text()
        assert headline.startswith(
            "Probably not read as it was meant: 20 debates, 20 turns; debates without a vote"
        )


def test_a_log_that_a_rule_ended_everywhere_in_one_round_says_what_it_cannot_tell(tmp_path: Path) -> None:
    def log(reason: str, rounds: dict[str, int]) -> Path:
        records = []
        for name, n in rounds.items():
            records += [item(name), *panel(name, rounds=n)]
            records.append(
                {"type": "verdict", "debate": name, "decision": "A", "round": n, "stop_reason": reason}
            )
        return write_lines(tmp_path / f"{reason}{len(set(rounds.values()))}.jsonl", records)

    alike, apart = {"d1": 2, "d2": 2}, {"d1": 2, "d2": 1}
    (said,) = doctor(log("fixed_rounds", alike)).notes
    assert said.startswith(
        "a stopping rule (fixed_rounds) ended 2 of 2 debates in round 2, the last of this log"
    )
    assert Trajectories.from_log(log("fixed_rounds", alike)).ended_early().all()
    assert doctor(log("exhausted", alike)).notes == ()
    assert doctor(log("fixed_rounds", apart)).notes == ()  # replay, scan and plan see this by themselves


def test_the_reasons_that_a_rule_gives_are_known_to_the_reader() -> None:
    from d3stats import stopping

    of_protocols = {"", "exhausted", "consensus", "declaration", "score_declaration", "chateval_turns"}
    reasons = {
        str(rule.reason)
        for rule in vars(stopping).values()
        if isinstance(rule, type) and isinstance(getattr(rule, "reason", None), str)
    }
    assert reasons - of_protocols <= BY_A_RULE


@covering(
    names=[["a.csv"], ["a.csv", "b.csv"], ["a.csv", "my votes.csv", "c.csv"], ["*.csv"]], own=[False, True]
)
def test_the_advised_command_fixes_every_file_as_it_was_read(
    names: list[str], own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is run as it is printed: all files, with the options with which they were read."""
    monkeypatch.chdir(tmp_path)
    head = "qid,turn,who,said,gold\n" if own else "debate,round,agent,vote,label\n"
    for k, name in enumerate(names if "*" not in names[0] else ["a.csv", "b.csv"]):
        again = f"{k},1,x,B,A\n" if k == 0 else ""  # only the first file has a defect
        Path(name).write_text(head + f"{k},1,x,A,A\n{again}{k},1,y,é,A\n", encoding="latin-1")
    columns = dict(zip(("debate", "round", "agent", "vote", "label"), head.strip().split(","), strict=True))
    report = doctor(*names, columns=columns if own else None, encoding="latin-1", missing_values=["-", "é"])
    lines = [line for line in report.to_text().splitlines() if line.startswith("A copy without")]
    (line,) = lines
    words = shlex.split(line.partition(": ")[2])
    assert words[:2] == ["d3stats", "doctor"]
    done = CliRunner().invoke(app, words[1:])
    assert done.exit_code in (0, 2), done.output  # the copy keeps the votes that are missing
    assert doctor("clean.csv").n_turns == report.n_turns
    assert doctor("clean.csv").n_debates == report.n_debates
    assert doctor("clean.csv").missing_votes == report.missing_votes


def test_a_question_with_most_of_the_debates_is_named_and_nothing_is_wrong_is_not_said(
    tmp_path: Path,
) -> None:
    """100 of 125 debates are of one question, so the 26 questions count as 1.6 equal ones."""
    path = tmp_path / "log.csv"
    questions = ["q0"] * 100 + [f"q{k}" for k in range(1, 26)]
    rows = [f"d{k},{q},1,{a},A,A" for k, q in enumerate(questions) for a in ("a", "b")]
    path.write_text("\n".join(["debate,question,round,agent,vote,label", *rows]) + "\n")
    text = doctor(path).to_text()
    assert "question 'q0' has 100 of 125 debates: the 26 questions count as 1.6" in text
    assert "no interval" in text
    assert "Nothing is wrong" not in text
    even = [f"d{k},q{k // 5},1,{a},A,A" for k in range(125) for a in ("a", "b")]
    path.write_text("\n".join(["debate,question,round,agent,vote,label", *even]) + "\n")
    assert "questions count as" not in doctor(path).to_text()


def test_votes_are_examined_as_the_answers_that_they_state(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"q{k},1,{agent},The answer is {'AB'[k % 2]}.,A" for k in range(20) for agent in "ab"]
    path.write_text(
        "debate,round,agent,vote,label\n" + "\n".join([*rows, "q1,1,a,The answer is A.,A"]) + "\n"
    )
    assert "no vote is a label" in doctor(path).headline
    read = doctor(path, read="answer")
    assert "no vote is a label" not in read.headline
    assert any("21 of 41 votes were read as the answer that they state" in note for note in read.notes)
    copied = next(line for line in read.to_text().splitlines() if line.startswith("A copy without"))
    assert "--read" not in copied
    assert "read must be" in doctor(path, read="sentence").headline  # type: ignore[arg-type]


def test_the_exit_code_says_what_a_note_warns_of() -> None:
    """Columns that contradict each other end with 2 in a log of debates as in a table of ratings."""
    rows = [
        (d, r, "xyz"[a], "AB"[(d + (d + r + a) % 4 // 3) % 2], "AB"[d % 2])
        for d in range(12)
        for r in (1, 2)
        for a in range(3)
    ]
    sound = pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])
    against = sound.assign(correct=(sound["vote"] != sound["label"]).astype(int))
    with tempfile.TemporaryDirectory() as folder:
        codes = []
        for k, table in enumerate((sound, against)):
            path = Path(folder) / f"{k}.csv"
            table.to_csv(path, index=False)
            codes.append(doctor(path).exit_code)
            ratings = table.rename(columns={"debate": "item", "agent": "rater"})
            ratings[ratings["round"] == 1].drop(columns="round").to_csv(path, index=False)
            done = CliRunner().invoke(app, ["doctor", str(path)])
            codes.append(done.exit_code)
    assert codes == [0, 0, 2, 2]


@pytest.mark.parametrize("answers", [True, False])
def test_items_without_a_turn_that_can_be_read_are_examined(answers: bool, tmp_path: Path) -> None:
    items = [{"type": "item", "debate": f"d{k}", "question": f"q{k}", "label": "A"} for k in range(40)]
    turn = (
        {"type": "turn", "debate": "d0", "round": "x", "agent": "a", "vote": "A"}
        if answers
        else {"type": "x"}
    )
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in [*items, turn]), encoding="utf-8")
    report = doctor(path)
    assert report.n_turns == 0
    assert "no turns" in {problem.kind for problem in report.problems}
