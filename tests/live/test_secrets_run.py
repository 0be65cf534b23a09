"""The key is nowhere but in the header of a call; what cannot work says so in one line, before it costs anything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from server import Server, at_random
from typer.testing import CliRunner

from d3stats.cli import app

KEY = "sk-this-must-be-nowhere-8f2a1c"


def items_file(folder: Path, rows: list[dict[str, str]] | None = None) -> Path:
    path = folder / "items.jsonl"
    made = [{"question": f"question {i}?", "answer_a": f"a {i}", "answer_b": f"b {i}"} for i in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in (made if rows is None else rows)))
    return path


def words(folder: Path, url: str, *more: str) -> list[str]:
    usual = {"--protocol": "samre:jurors=2,max_rounds=2", "--model": "scripted", "--base-url": url}
    given = [word for name, value in usual.items() if name not in more for word in (name, value)]
    return ["debate", str(folder / "items.jsonl"), *given, "-o", str(folder / "log.jsonl"), *more]


def run(folder: Path, url: str, *more: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, words(folder, url, *more))
    return done.exit_code, done.stdout, done.stderr


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_the_key_is_in_no_file_no_line_and_no_report(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.key = KEY
    server.faults = at_random(0.3, seed=2, slow_s=0.5)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    items_file(tmp_path)
    code, out, err = run(tmp_path, server.url, "--timeout", "0.4", "--json", "--retries", "2")
    assert code == 0, err
    assert KEY in json.dumps([call.headers for call in server.calls]), "the server got it"
    assert KEY not in out + err
    assert KEY.encode() not in everything(tmp_path)


def test_a_key_that_is_refused_is_not_shown_even_where_the_server_repeats_it(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.key = "another"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    items_file(tmp_path)
    code, out, err = run(tmp_path, server.url)
    assert code == 1
    assert "the key in OPENAI_API_KEY" in err
    assert KEY not in out + err
    assert KEY.encode() not in everything(tmp_path)
    assert server.calls == []


def test_the_key_is_in_no_traceback_of_a_crash(server: Server, tmp_path: Path) -> None:
    items_file(tmp_path)
    crash = (
        "import d3stats.run.run as c\n"
        "def broken(*a): raise RuntimeError('a defect')\n"
        "c.as_turn = broken\n"
        "from d3stats.cli import app; app()"
    )
    done = subprocess.run(
        [sys.executable, "-c", crash, *words(tmp_path, server.url)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OPENAI_API_KEY": KEY},
    )
    assert "Traceback" in done.stderr
    assert KEY not in done.stdout + done.stderr
    assert KEY.encode() not in everything(tmp_path)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--model", "nobody"], "model='nobody', not one of scripted"),
        (["--budget-tokens", "50"], "budget_tokens must be at least"),
        (["--max-usd", "1"], "--max-usd needs --prices"),
        (["--stop", "unanimity"], "poll=every_round"),
        (["--protocol", "nothing"], "protocol must be one of"),
        (["--role-model", "judge"], "--role-model must be written ROLE=NAME"),
        (["--role-model", "judge=nobody"], "model='nobody'"),
        (
            ["--role-model", "jurr=scripted"],
            "roles of samre (advocate, judge, juror) or 'default'; got 'jurr'",
        ),
    ],
)
def test_what_cannot_work_is_one_line_and_no_call(
    more: list[str], said: str, server: Server, tmp_path: Path
) -> None:
    items_file(tmp_path)
    code, _, err = run(tmp_path, server.url, *more)
    assert code == 1
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert server.calls == []


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"question": "Why?", "answer_a": "So.", "answer_b": " "}, "must not be empty"),
        ({"question": "Why?", "answer_a": "So.", "answer_b": "So."}, "--identical keep"),
        ({"question": "Why?", "answer_a": "So."}, ""),
    ],
)
def test_items_that_cannot_be_debated_are_one_line_and_no_call(
    row: dict[str, str], said: str, server: Server, tmp_path: Path
) -> None:
    items_file(tmp_path, [row])
    code, _, err = run(tmp_path, server.url)
    assert code == 1
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert (server.calls, server.listings) == ([], 0)


def test_an_item_with_an_empty_answer_is_debated_where_that_is_asked_for(
    server: Server, tmp_path: Path
) -> None:
    items_file(tmp_path, [{"question": "Why?", "answer_a": "So.", "answer_b": " "}])
    code, _, err = run(tmp_path, server.url, "--empty", "keep")
    assert code == 0, err
    code, _, err = run(tmp_path, server.url, "--empty", "perhaps")
    assert code == 1
    assert len(err.strip().splitlines()) == 1


def test_a_server_that_is_not_there_is_one_line(server: Server, tmp_path: Path) -> None:
    items_file(tmp_path)
    server.stop()
    code, _, err = run(tmp_path, server.url, "--retries", "0")
    assert code == 1
    assert "base_url must be the address of a server that answers" in err
    assert len(err.strip().splitlines()) == 1


def test_a_setting_that_differs_is_named_alone(server: Server, tmp_path: Path) -> None:
    items_file(tmp_path)
    assert run(tmp_path, server.url)[0] == 0
    code, _, err = run(tmp_path, server.url, "--temperature", "0.3")
    assert code == 1
    assert "temperature of the agent for 'advocate' must be as in the run" in err
    assert "got 0.3, was none" in err
    assert len(err.strip().splitlines()) == 1


def test_bounds_and_the_form_of_the_structured_part_can_be_chosen(server: Server, tmp_path: Path) -> None:
    items_file(tmp_path)
    more = ("--reasoning-tokens", "500", "--tokens-per-word", "4", "--structured", "text")
    code, _, err = run(tmp_path, server.url, *more)
    assert code == 0, err
    assert not any("response_format" in call.body for call in server.calls)
    assert min(call.body["max_tokens"] for call in server.calls) > 500


def test_a_dry_run_asks_nobody_and_needs_no_server(server: Server, tmp_path: Path) -> None:
    items_file(tmp_path)
    server.stop()
    code, out, _ = run(tmp_path, server.url, "--dry-run", "--json")
    assert code == 0
    assert json.loads(out)["forecast"]["debates"] == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items.jsonl"]


def test_another_model_for_a_role_is_asked_for_that_role_only(server: Server, tmp_path: Path) -> None:
    server.models = ("scripted", "wise")
    items_file(tmp_path)
    code, _, err = run(tmp_path, server.url, "--role-model", "judge=wise")
    assert code == 0, err
    asked = {(call.body["model"], call.key.split("/")[2].split()[0]) for call in server.calls}
    assert asked == {("wise", "judge"), ("scripted", "advocate"), ("scripted", "juror")}
