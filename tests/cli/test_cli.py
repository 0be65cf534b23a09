"""The program as a user runs it: what it prints, what it writes, how it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import d3stats
from d3stats.cli import app

CLEAN = "debate,round,agent,vote,label\nd1,1,a,A,A\nd1,1,b,A,A\nd2,1,a,B,A\nd2,1,b,A,A\n"


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(CLEAN)
    return path


def test_an_error_that_was_not_foreseen_says_so_and_can_keep_its_traceback(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal is a statement that raises; a key that is not there, or an array of a wrong shape, is none."""
    for wrong in (lambda *_, **__: {}["seats"], lambda *_, **__: np.zeros(2) + np.zeros(3)):
        monkeypatch.setattr("d3stats.sources.opened.Opened.checked", wrong)
        found = run("replay", str(log))
        assert found.exit_code == 1
        assert len(found.stderr.splitlines()) == 1
        assert "not foreseen: D3STATS_TRACEBACK=1 d3stats replay" in found.stderr
        monkeypatch.setenv("D3STATS_TRACEBACK", "1")
        assert isinstance(run("replay", str(log)).exception, KeyError | ValueError)
        monkeypatch.delenv("D3STATS_TRACEBACK")
    monkeypatch.undo()
    refused = run("replay", str(log), "--rule", "no-rule")
    assert refused.exit_code == 1
    assert "not foreseen" not in refused.stderr


def test_fit_json_holds_every_round_with_its_intervals() -> None:
    done = run("fit", "slm7", "--n-boot", "40", "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert [row["round"] for row in document["rounds"]] == [1, 2, 3]
    assert document["counts"]["1"] == [14, 15, 9, 7, 14, 11, 10, 80]
    for row in document["rounds"]:
        assert row["accuracy_low"] <= row["accuracy"] <= row["accuracy_high"]
        assert row["mean_low"] <= row["mean"] <= row["mean_high"]
    assert document["rounds"][0]["ks_pmf"] is None
    assert document["rounds"][1]["ks_pmf"] > document["rounds"][1]["ks_pmf_noise"]


def test_fit_of_one_round_says_what_is_not_identifiable() -> None:
    done = run("fit", "slm7", "--n-boot", "40", "--round", "2")
    assert done.exit_code == 0, done.output
    assert "Components only describe the data" in done.output
    as_json = json.loads(run("fit", "slm7", "--n-boot", "40", "--round", "2", "--json").stdout)
    assert as_json["functionals"][0]["functional"] == "mean"


def test_the_same_seed_prints_the_same_document() -> None:
    words = ("fit", "slm7", "--n-boot", "20", "--json", "--seed", "3")
    first = run(*words).stdout
    assert run(*words).stdout == first
    assert run(*words[:-1], "4").stdout != first


def test_replay_reports_savings_against_unanimity_and_paired_differences() -> None:
    done = run("replay", "slm7", "-r", "fixed:1", "-r", "unanimity|ks:0.05", "--paired", "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    rules = {row["rule"]: row for row in document["rules"]}
    assert set(rules) == {"fixed:1", "unanimity | ks:0.05", "unanimity", "full"}
    assert rules["unanimity"]["saved_rounds_vs_unanimity"] == 0
    assert rules["fixed:1"]["saved_rounds_vs_unanimity"] > 0.3
    assert {row["measure"] for row in document["paired"]} >= {"accuracy", "rounds"}
    text = run("replay", "slm7", "-r", "fixed:1", "--paired")
    assert "Differences between rules on the same debates" in text.output


def test_replay_shows_tokens_per_accuracy_point_where_the_log_has_tokens(tmp_path: Path) -> None:
    rows = ["debate,question,round,agent,vote,label,tokens"]
    for d in range(6):
        for r, vote in ((1, "B"), (2, "A")):
            rows += [f"{d},{d // 2},{r},{agent},{vote},A,{50 + d}" for agent in "xyz"]
    path = tmp_path / "priced.csv"
    path.write_text("\n".join(rows) + "\n")
    done = run("replay", str(path), "-r", "fixed:1", "--all")
    assert done.exit_code == 0, done.output
    below = done.output.split("Tokens of each rule")[1]
    assert "tokens per accuracy point" in below
    # Five columns; a narrower terminal shows records.
    assert max(map(len, below.split("\n- ")[0].splitlines()[1:])) <= 100
    table = {line.split()[0]: line for line in below.splitlines() if line.strip()}
    assert "not defined" in table["fixed:1"]  # nobody is right in round 1
    assert "3.15 [" in table["full"]  # 315 tokens and 100 points
    assert "fixed:1; unanimity" in " ".join(below.split())
    document = json.loads(run("replay", str(path), "-r", "fixed:1", "--json").stdout)
    told = {row["rule"]: row["tokens_per_point"] for row in document["rules"]}
    assert told == {"fixed:1": None, "unanimity": None, "full": pytest.approx(3.15)}
    without = run("replay", "slm7", "-r", "fixed:1", "--all").output
    assert "Tokens of each rule" not in without


def test_replay_writes_its_figure(tmp_path: Path) -> None:
    done = run("replay", "slm7", "-r", "fixed:2", "--figure", str(tmp_path / "stops"))
    assert done.exit_code == 0, done.output
    assert (tmp_path / "stops.pdf").stat().st_size > 1000
    assert (tmp_path / "stops.png").stat().st_size > 1000


def test_doctor_exits_0_when_clean_2_when_it_found_something_and_1_when_it_could_not_run(
    log: Path, tmp_path: Path
) -> None:
    assert run("doctor", str(log)).exit_code == 0
    torn = tmp_path / "twice.csv"
    torn.write_text(CLEAN + "d2,1,b,A,A\n")
    found = run("doctor", str(torn))
    assert found.exit_code == 2
    assert "twice.csv" in found.output
    assert json.loads(run("doctor", str(torn), "--json").stdout)
    assert run("doctor", str(tmp_path / "nothing.jsonl")).exit_code == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("fit", "nothing.jsonl"), "nothing.jsonl"),
        (("replay", "slm7", "-r", "bogus"), "bogus"),
        (("fit", "slm7", "--missing", "maybe"), "'exclude', 'wrong'"),
        (("fit", "slm7", "--level", "95"), "between 0 and 1"),
        (("fit", "slm7", "--round", "9", "--n-boot", "5"), "round must be one of [1, 2, 3]"),
        (("fit", "slm7", "-k", "0"), "n_components must be >= 1"),
        (("replay", "slm7", "--missing", "magic"), "magic"),
        (("import", "slm-multiagent"), "SRC must be given"),
        (("import", "bogus", "x", "-o", "y"), "bogus"),
    ],
)
def test_what_a_user_can_mend_is_one_line_and_exit_code_1(words: tuple[str, ...], said: str) -> None:
    done = run(*words)
    assert done.exit_code == 1
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.output


def test_a_defective_log_stops_fit_unless_lenient_which_lists_what_it_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"d{i},1,{a},{v},A" for i in range(8) for a, v in (("a", "A"), ("b", "AB"[i % 2]))]
    path.write_text("debate,round,agent,vote,label\n" + "\n".join([*rows, rows[0]]) + "\n")
    strict = run("fit", str(path), "--n-boot", "10")
    assert strict.exit_code == 1
    assert "log.csv" in strict.stderr
    lenient = run("fit", str(path), "--n-boot", "10", "--lenient", "--json")
    assert lenient.exit_code == 0, lenient.output
    assert len(json.loads(lenient.stdout)["left_out"]) == 1


def test_a_single_question_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("debate,round,agent,vote,label\nd,1,a,A,A\nd,1,b,B,A\n")
    done = run("fit", str(path))
    assert done.exit_code == 1
    assert "at least 2 questions" in done.stderr


def test_import_list_names_every_format() -> None:
    done = run("import", "list")
    assert done.exit_code == 0
    assert {"gsm-nested", "llmbar", "slm-multiagent"} <= {
        line.split()[0] for line in done.output.splitlines()
    }


@pytest.mark.real_data
def test_an_imported_log_is_clean_and_can_be_fitted(data_dir: Path, tmp_path: Path) -> None:
    source = next((data_dir / "nilgeoutim__CS546_MajorityErrorDebate").glob("gsm_3_3_top100__918fa1ec.json"))
    log = tmp_path / "log.jsonl"
    done = run("import", "gsm-nested", str(source), "-o", str(log))
    assert done.exit_code == 0, done.output
    assert "100 debates, 900 turns" in done.output
    doctor = run("doctor", str(log), "--json")
    assert doctor.exit_code == 2
    found = json.loads(doctor.stdout)
    assert not found["problems"]
    assert [f["kind"] for f in found["findings"]] == ["debates without a vote"]
    counts = json.loads(run("fit", str(log), "--n-boot", "10", "--missing", "wrong", "--json").stdout)[
        "counts"
    ]
    assert counts["3"] == [14, 7, 3, 76]


def test_what_goes_into_a_pipe_is_utf8_whatever_the_code_page(tmp_path: Path) -> None:
    """As on Windows, whose pipes begin in a code page without the lines of a table and without most names."""
    votes = "debate,round,agent,vote,label\n東,1,a,A,A\n東,1,b,B,A\n"
    (tmp_path / "log.csv").write_text(votes, encoding="utf-8")
    cases = [
        (["show", "log.csv"], "stdout", "東"),
        (["replay", "slm7"], "stdout", "───"),
        (["show", "log.csv", "西"], "stderr", "西"),
    ]
    code = f"""
import sys
from d3stats.cli import app
for words, stream, _ in {cases!r}:
    for one in (sys.stdout, sys.stderr):
        one.write(chr(30))
        one.flush()
    getattr(sys, stream).reconfigure(encoding="cp1252")
    try:
        app(words)
    except SystemExit as end:
        assert bool(end.code) == (stream == "stderr"), words
"""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONIOENCODING"}
    env |= {"PYTHONPATH": str(Path(d3stats.__file__).parents[1]), "PYTHONUTF8": "0", "PYTHONUNBUFFERED": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    written = {name: getattr(done, name).decode("utf-8").split(chr(30))[1:] for name in ("stdout", "stderr")}
    for (words, stream, said), out, err in zip(cases, written["stdout"], written["stderr"], strict=True):
        assert said in (out if stream == "stdout" else err), words


@pytest.mark.parametrize(
    ("words", "code", "unbuffered"),
    [
        # The fast layer has every code and both kinds of output; each case starts a process.
        pytest.param(words, code, unbuffered, marks=() if unbuffered == soon else pytest.mark.slow)
        for words, code, soon in (
            (["agreement", "slm7", "--at-least", "0.99"], 4, "1"),
            (["agreement", "slm7", "--at-least", "0.01"], 0, None),
            (["rules"], 0, ""),
            (["show", "no such file"], 1, ""),
        )
        for unbuffered in ("", "1")
    ],
)
def test_the_exit_code_is_the_commands_when_the_reader_of_a_pipe_has_gone(
    words: list[str], code: int, unbuffered: str
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "d3stats", *words],
        stdout=writing,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        check=False,
    )
    os.close(writing)
    assert done.returncode == code, done.stderr
    assert b"pipe" not in done.stderr


@pytest.mark.parametrize("words", [["slm7"], ["s", "ss"]])
def test_words_too_many_are_named_as_they_were_typed(words: list[str]) -> None:
    done = CliRunner().invoke(app, ["power", *words])
    assert done.exit_code == 2
    assert f"got {' '.join(words)!r} as well" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["replay", "slm7", "--prices", "x"], "d3stats plan"),
        (["fit", "slm7", "--margin", "1"], "d3stats compare and d3stats power take it"),
        (["plan", "slm7", "--sede", "1"], "--seed"),
    ],
)
def test_an_option_of_other_commands_is_named_with_them(words: list[str], said: str) -> None:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert said in done.stderr
