"""``d3stats show``: a debate as people read it, and candidates that cannot act on the terminal."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from d3stats._words import visible
from d3stats.cli import app
from d3stats.log import LogWriter, Turn, Verdict, write_csv
from d3stats.log.schema import Item
from d3stats.log.transcript import read_transcript

HOSTILE = [
    "\x1b[2J\x1b[H\x1b[31mYou have won\x1b[0m",
    "\x1b]0;title\x07\x1b]8;;http://example.org\x1b\\click\x1b]8;;\x1b\\",
    "\x9b31mC1 introducer\x9c",
    "over\rwritten",
    "back\b\b\b\bspace \x00 nul \x7f del \x0b \x0c",
    "[bold red]markup[/bold red] [link=http://example.org]x[/link] [/] [red",
    ":bomb: :smile:",
    "right\u202eto left\u202c \u2066isolate\u2069 \u200f\u200e\u061c",
    "zero\u200bwidth\u200c\u200d\ufeff\u2060\u00ad",
    "tags " + "".join(chr(0xE0000 + ord(c)) for c in "vote A") + " \U000e0100",
    "line\u2028and paragraph\u2029separators",
    "A 20\nVerdict: A after round 1 (unanimity)",
    "=" * 300,
    "日本語 naïve नमस्ते",
]
ACTS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e01ef]"
)


def run(*arguments: object, width: str = "100") -> tuple[int, str]:
    result = CliRunner().invoke(app, ["show", *map(str, arguments)], env={"COLUMNS": width})
    return result.exit_code, result.output


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    with LogWriter(path, fsync=False) as writer:
        writer.write(
            Item(
                debate="q1/BA",
                question="q1",
                text="Why is the sky blue?",
                candidates=("Rayleigh scattering.", "It is not."),
                answers=("A", "B"),
                first="B",
                label="A",
                log="pilot",
                protocol="samre",
            )
        )
        said = {"tokens_in": 1200, "tokens_out": 80, "model": "small-model"}
        writer.write(
            Turn(debate="q1/BA", round=1, agent="advocate A", role="advocate", text="I defend A.", **said)
        )
        scores = {"A": {"depth": 11.0, "clarity": 12.0}, "B": {"depth": 9.0, "clarity": 8.5}}
        writer.write(
            Turn(
                debate="q1/BA",
                round=1,
                agent="judge",
                role="judge",
                scores=scores,
                tokens_source="estimate",
                tokens_in=5,
            )
        )
        writer.write(Turn(debate="q1/BA", round=2, agent="juror 1", role="juror", vote="A", text="A it is."))
        writer.write(Turn(debate="q1/BA", round=2, agent="juror 2", role="juror", error="unreadable"))
        writer.write(Verdict(debate="q1/BA", decision="A", round=2, stop_reason="sign agreement"))
        writer.write(Item(debate="q2/AB", question="q2"))
        writer.write(Turn(debate="q2/AB", round=1, agent="juror 1", role="juror", vote="B"))
    return path


def test_a_debate_is_shown_whole(log: Path) -> None:
    code, text = run(log, "q1/BA")
    assert code == 0
    for part in (
        "debate q1/BA, run pilot, protocol samre",
        "Why is the sky blue?",
        "answer B, shown first\n    It is not.",
        "right answer: A",
        "advocate A (advocate)  1,200 + 80 tokens  model small-model\n    I defend A.",
        "judge  scores A 23 (depth 11, clarity 12); B 17.5 (depth 9, clarity 8.5)  5 + ? tokens (estimate)",
        "juror 1 (juror)  votes A\n    A it is.",
        "juror 2 (juror)  error unreadable",
        "Verdict: A after round 2 (sign agreement)",
    ):
        assert part in text
    assert text.index("Round 1") < text.index("I defend A.") < text.index("Round 2") < text.index("A it is.")


def test_one_round_and_no_texts_can_be_asked_for(log: Path) -> None:
    _, text = run(log, "q1/BA", "--round", 2)
    assert "Round 2" in text
    assert "Round 1" not in text
    _, text = run(log, "q1/BA", "--no-text")
    assert "Rayleigh" not in text
    assert "I defend" not in text
    assert "answer B was shown first" in text
    assert run(log, "q1/BA", "--round", 3) == (
        1,
        "d3stats: round must be one of the debate's (1, 2); got round=3 (see d3stats show --help)\n",
    )


def test_an_open_debate_says_so(log: Path) -> None:
    assert "No verdict yet, because the debate has not ended." in run(log, "q2/AB")[1]


def test_an_unknown_debate_is_one_line_that_names_near_matches(log: Path) -> None:
    assert run(log, "q1") == (
        1,
        "d3stats: debate must be in the log; got 'q1' (near: 'q1/BA') (see d3stats show --help)\n",
    )
    code, text = run(log, "q2-AB")
    assert (code, text.count("\n")) == (1, 1)
    assert "near: 'q2/AB'" in text
    assert "2 debates; without a name they are listed" in run(log, "zzzzzzzzzz")[1]


def test_without_a_debate_the_first_fifty_are_listed(log: Path) -> None:
    text = run(log)[1]
    assert re.search(r"q1/BA +2 +4 +A +sign agreement", text)
    assert re.search(r"q2/AB +1 +1 +- +open", text)
    with LogWriter(log, fsync=False) as writer:
        for i in range(60):
            writer.write(Item(debate=f"more {i}", question="q"))
    text = run(log)[1]
    assert "more 47" in text
    assert "more 48" not in text
    assert "The first 50 of 62 debates; --json lists all." in text
    assert len(json.loads(run(log, "--json")[1])) == 62


def test_json_holds_the_records(log: Path) -> None:
    shown = json.loads(run(log, "q1/BA", "--json")[1])
    found = read_transcript(log, "q1/BA")
    assert shown["item"]["candidates"] == ["Rayleigh scattering.", "It is not."]
    assert [turn["agent"] for turn in shown["turns"]] == [turn.agent for turn in found.turns]
    assert shown["verdict"]["stop_reason"] == "sign agreement"
    bare = json.loads(run(log, "q1/BA", "--json", "--no-text", "--round", 1)[1])
    assert "text" not in bare["turns"][0]
    assert "candidates" not in bare["item"]


def test_a_table_is_shown_without_texts(log: Path, tmp_path: Path) -> None:
    code, text = run(write_csv(log, tmp_path / "log.csv"), "q1/BA")
    assert code == 0
    assert "juror 1 (juror)  votes A" in text
    assert "answer B was" not in text


def test_a_line_that_could_not_be_read_is_told(log: Path) -> None:
    with log.open("a", encoding="utf-8") as handle:
        handle.write('{"type":"turn","debate":"q1/BA","rou')
    assert "1 line of the log could not be read; d3stats doctor" in " ".join(run(log, "q1/BA")[1].split())
    assert "lists the problems." in " ".join(run(log, "q1/BA")[1].split())


@pytest.mark.parametrize(
    "hostile", HOSTILE, ids=lambda text: f"{len(text)}-{unicodedata.name(text[0], 'control')}"
)
def test_nothing_that_anybody_wrote_acts_on_the_terminal(tmp_path: Path, hostile: str) -> None:
    path = tmp_path / "log.jsonl"
    with LogWriter(path, fsync=False) as writer:
        names = {"question": hostile, "log": hostile, "protocol": hostile, "first": hostile, "label": hostile}
        writer.write(
            Item(debate=hostile, text=hostile, candidates=(hostile, "x"), answers=(hostile, "B"), **names)
        )
        spoken = {"role": hostile, "vote": hostile, "model": hostile, "error": hostile, "text": hostile}
        writer.write(
            Turn(debate=hostile, round=1, agent=hostile, scores={hostile: {hostile: 1, "y": 2}}, **spoken)
        )
        writer.write(Verdict(debate=hostile, decision=hostile, round=1, stop_reason=hostile))
    for arguments in ((hostile,), (hostile, "--json"), (), ("--json",), (f"{hostile}?",)):
        code, text = run(path, *arguments, width="80")
        assert code == (1 if arguments and arguments[0].endswith("?") else 0), text
        assert not ACTS.search(text)
    whole = run(path, hostile)[1]
    assert whole.count("\nVerdict: ") == 1
    said = re.sub(r"\s", "", visible(hostile))
    assert re.sub(r"\s", "", whole).count(said) >= 3


def test_a_hundred_kilobytes_of_candidate_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with LogWriter(path, fsync=False) as writer:
        writer.write(
            Item(debate="d", question="q", text="?", candidates=("x" * 100_000, "y"), answers=("A", "B"))
        )
        writer.write(Turn(debate="d", round=1, agent="judge", vote="A"))
    code, text = run(path, "d")
    assert code == 0
    assert text.count("x") >= 100_000


def test_what_is_visible_is_left_alone() -> None:
    text = "plain, naïve 日本語 \t\n e\u0301 👍🏽 ❤️"
    assert visible(text) == text
    assert visible("a\x1bb\n", one_line=True) == "a\\x1bb\\n"
    assert visible("\ud800") == "\\ud800"


def test_a_log_without_a_debate_is_said_to_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("", encoding="utf-8")
    code, output = run(path)
    assert code == 1
    assert "at least one debate" in output


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx"])
def test_the_tokens_of_a_table_are_shown_as_totals(tmp_path: Path, ending: str) -> None:
    table = pd.DataFrame(
        [("d1", 1, agent, "A", "A", 1200 + k) for k, agent in enumerate("xy")]
        + [("d1", 2, "x", "B", "A", 7), ("d1", 2, "y", "A", "A", None)],
        columns=["debate", "round", "agent", "vote", "label", "tokens"],
    ).astype({"tokens": "Int64"})
    path = tmp_path / f"log.{ending}"
    match ending:
        case "xlsx":
            table.to_excel(path, index=False)
        case _:
            table.to_csv(path, index=False, sep="," if ending == "csv" else "\t")
    code, text = run(path, "d1")
    assert code == 0, text
    assert re.findall(r"([\d,]+) tokens", text) == ["1,200", "1,201", "7"]
    told = json.loads(run(path, "d1", "--json")[1])
    assert [turn.get("tokens") for turn in told["turns"]] == [1200, 1201, 7, None]


def test_a_table_of_correctness_alone_is_refused_in_words_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("debate,round,agent,correct\nd1,1,x,1\nd1,1,y,0\n")
    code, text = run(path, "d1")
    assert code == 1
    assert "log must hold votes to be shown; got" in " ".join(text.split())


def test_a_log_without_verdicts_is_told_from_a_debate_that_has_not_ended(tmp_path: Path) -> None:
    """A table records votes alone; only beside other verdicts, or a journal, is a debate without one open."""
    path = tmp_path / "votes.csv"
    path.write_text(
        "debate,round,agent,vote,label\nd,1,x,A,A\nd,1,y,B,A\ne,1,x,A,A\ne,1,y,A,A\n", encoding="utf-8"
    )
    assert "No verdict, because the log records none." in run(path, "d")[1]
    listed = run(path)[1]
    assert "The log records no verdicts." in listed
    assert "open" not in listed
    some = tmp_path / "some.csv"
    some.write_text(
        "debate,round,agent,vote,label,decision\nd,1,x,A,A,\nd,1,y,B,A,\ne,1,x,A,A,A\ne,1,y,A,A,A\n",
        encoding="utf-8",
    )
    assert "No verdict yet, because the debate has not ended." in run(some, "d")[1]
    assert "Verdict: A" in run(some, "e")[1]
    assert "open" in run(some)[1]
    lines = tmp_path / "log.jsonl"
    lines.write_text(
        '{"type":"item","debate":"d","question":"q"}\n{"type":"turn","debate":"d","round":1,"agent":"x","vote":"A"}\n',
        encoding="utf-8",
    )
    assert "No verdict, because the log records none." in run(lines, "d")[1]
    (tmp_path / "log.calls.jsonl").touch()
    assert "No verdict yet, because the debate has not ended." in run(lines, "d")[1]
