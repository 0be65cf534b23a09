"""Servers that load, die and come back, and servers whose context window is too small: with the real command."""

from __future__ import annotations

import json
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from remote import served
from server import Asked, Fault, Server
from test_kill import CLI, Forked, wait_for_calls
from typer.testing import CliRunner

from d3stats.agent import Refused
from d3stats.cli import app
from d3stats.log.doctor import doctor
from d3stats.protocols import protocol_from_text
from d3stats.run.items import DebateItem
from d3stats.run.live import LiveAgent

PROTOCOL = "samre:jurors=2,max_rounds=2"


def items_file(folder: Path, n: int = 6) -> Path:
    path = folder / "items.jsonl"
    rows = [
        {"id": f"q{i}", "question": f"question {i}?", "answer_a": f"a {i}", "answer_b": f"b {i}"}
        for i in range(n)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def words(folder: Path, url: str, *more: str) -> list[str]:
    given = ["debate", str(folder / "items.jsonl"), "--protocol", PROTOCOL, "--model", "scripted"]
    return [*given, "--base-url", url, "-o", str(folder / "log.jsonl"), *more]


def run(folder: Path, url: str, *more: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, words(folder, url, *more))
    return done.exit_code, done.stdout, done.stderr


def of_type(log: Path, kind: str) -> list[dict[str, Any]]:
    return [
        record
        for record in map(json.loads, log.read_text(encoding="utf-8").splitlines())
        if record["type"] == kind
    ]


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def said(folder: Path) -> tuple[str, str]:
    """Return what a fork wrote to both streams."""
    return (folder / "out.txt").read_text(encoding="utf-8"), (folder / "err.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("retries", ["0", pytest.param("4", marks=pytest.mark.slow)])
def test_a_server_that_is_killed_and_comes_back_costs_no_vote(tmp_path: Path, retries: str) -> None:
    items_file(tmp_path)
    port = free_port()
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with served(tmp_path / "one", "--latency", "0.05", "--port", str(port)) as first:
        line = words(tmp_path, first.url, "--json", "--retries", retries, "--concurrency", "4")
        process = Forked([*CLI, *line], tmp_path / "out.txt", tmp_path / "err.txt")
        wait_for_calls(first, process, 14)
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        time.sleep(1.0)
        assert process.poll() is None, "the run waits for its server"
        with served(tmp_path / "two", "--port", str(port), "--loading", "5"):
            code = process.end()
    out, err = said(tmp_path)
    assert code == 0, err
    report = json.loads(out)["run"]
    assert (report["closed"], report["missing"], report["votes_missing"]) == (6, {}, {})
    assert report["charged"] == sum(
        t["tokens_in"] + t["tokens_out"] for t in of_type(tmp_path / "log.jsonl", "turn")
    )
    assert list(doctor(tmp_path / "log.jsonl").problems) == []


def test_a_server_that_stays_away_ends_the_run_in_time_and_the_same_command_goes_on(tmp_path: Path) -> None:
    items_file(tmp_path)
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    port = free_port()
    with served(tmp_path / "one", "--latency", "0.05", "--port", str(port)) as first:
        line = words(tmp_path, first.url, "--json", "--retries", "1", "--wait", "1.5")
        process = Forked([*CLI, *line], tmp_path / "out.txt", tmp_path / "err.txt")
        wait_for_calls(first, process, 12)
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        assert process.end() == 1  # in time: without --wait 1.5 it would wait for minutes
    out, err = said(tmp_path)
    last = err.strip().splitlines()[-1]
    assert "must answer; got no reply to a call for" in last
    document = json.loads(out)
    assert document["error"] in last
    assert document["run"]["missing"] == {}
    assert all("error" not in turn for turn in of_type(tmp_path / "log.jsonl", "turn"))
    kinds = {problem.kind for problem in doctor(tmp_path / "log.jsonl").problems}
    assert kinds <= {"interrupted round", "open debate"}
    replayed = CliRunner().invoke(app, ["replay", str(tmp_path / "log.jsonl")])
    if "interrupted round" in kinds:
        assert "to resume the run, give its command again" in replayed.stderr
    with served(tmp_path / "two", "--port", str(port)):
        code, out, err = run(tmp_path, first.url, "--json", "--retries", "1")
    assert code == 0, err
    assert json.loads(out)["run"]["closed"] == 6
    assert doctor(tmp_path / "log.jsonl").problems == ()


def test_a_round_that_was_cut_short_is_answered_by_advice_to_resume(tmp_path: Path, server: Server) -> None:
    items_file(tmp_path)
    assert run(tmp_path, server.url)[0] == 0
    log = tmp_path / "log.jsonl"
    kept = log.read_text().splitlines(keepends=True)
    # The last debate loses its verdict and one juror of its last round.
    debate_name = json.loads(kept[-1])["debate"]
    ours = [i for i, line in enumerate(kept) if json.loads(line).get("debate") == debate_name]
    log.write_text("".join(line for i, line in enumerate(kept) if i not in ours[-2:]))
    doctor = CliRunner().invoke(app, ["doctor", str(log)])
    assert doctor.exit_code == 2
    assert "interrupted round" in doctor.stdout
    assert "mixed panel" not in doctor.stdout
    assert "to resume the run, give its command again" in " ".join(doctor.stdout.split())
    replay = CliRunner().invoke(app, ["replay", str(log), "--all"])
    assert replay.exit_code == 0
    assert "interrupted round" in " ".join((replay.stdout + replay.stderr).split())
    assert run(tmp_path, server.url)[0] == 0
    assert CliRunner().invoke(app, ["doctor", str(log)]).exit_code == 0


def test_a_run_begins_when_the_server_has_loaded_and_no_vote_is_missing(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("d3stats.run.live.agent.LOADING", 0.01)
    items_file(tmp_path)
    server.loading = 20
    code, out, err = run(tmp_path, server.url, "--json")
    assert code == 0, err
    assert "waiting for" in err
    assert "Loading model" in err
    assert json.loads(out)["run"]["missing"] == {}


def test_a_server_that_loads_again_in_the_middle_of_a_run_leaves_no_missing_votes(
    tmp_path: Path, server: Server
) -> None:
    items_file(tmp_path)

    def faults(asked: Asked) -> Fault | None:
        if asked.number == 9:
            server.loading = 30
        return None

    server.faults = faults
    code, out, err = run(tmp_path, server.url, "--json", "--retries", "0")
    assert code == 0, err
    report = json.loads(out)["run"]
    assert (report["closed"], report["missing"]) == (6, {})
    assert "unreachable" not in report["words"]
    assert report["words"]["loading"] == "Loading model"


def test_a_window_that_cannot_hold_the_longest_call_is_one_line_and_no_call(
    tmp_path: Path, server: Server
) -> None:
    items_file(tmp_path)
    server.window = 150
    code, out, err = run(tmp_path, server.url, "--json")
    assert code == 1
    warning, refusal = err.strip().splitlines()
    assert warning == "d3stats: WARNING: no item has a label, so accuracy cannot be measured"
    assert refusal.startswith("d3stats: the context window of")
    assert "the context window of 'scripted' must hold every prompt" in err
    assert "got 150 tokens" in err
    assert "--window 0" in err
    assert json.loads(out)["error"] in err
    assert server.calls == []
    assert not (tmp_path / "log.jsonl").exists()
    server.window = None
    code, _, err = run(tmp_path, server.url, "--window", "100")
    assert (code, server.calls) == (1, [])
    assert run(tmp_path, server.url, "--window", "100000")[0] == 0


def test_a_window_that_is_too_small_is_said_first_by_the_report_the_json_and_the_doctor(
    tmp_path: Path, server: Server
) -> None:
    items_file(tmp_path, 4)
    assert run(tmp_path, server.url)[0] == 0
    by_role: dict[str, list[int]] = {}
    for call in server.calls:
        by_role.setdefault(call.key.split("/")[2].split()[0], []).append(call.tokens_in)
    (tmp_path / "log.jsonl").unlink()
    (tmp_path / "log.calls.jsonl").unlink()
    # Room for the first advocates, not for the calls that score.
    server.window, server.tells_window = min(by_role["judge"]) - 1, False
    assert min(by_role["advocate"]) < server.window
    code, out, err = run(tmp_path, server.url, "--window", "0", "--json")
    said = json.loads(out)
    assert next(iter(said)) == "warnings"
    first, *details = (note["text"] for note in said["warnings"])
    assert "votes are missing" in first
    assert "context_full" in first
    assert code == 3, err
    assert any("exceeds the available context size" in line for line in details)
    assert said["run"]["words"]["context_full"].startswith("the request exceeds")
    journal = (tmp_path / "log.calls.jsonl").read_text()
    assert "exceeds the available context size" in journal
    told = CliRunner().invoke(app, ["doctor", str(tmp_path / "log.jsonl")])
    assert first.split("missing")[1] in " ".join(told.stdout.split())
    assert "exceeds the available context size" in told.stdout
    assert told.exit_code == 2


@pytest.mark.parametrize(
    ("share", "code"), [pytest.param(0.0, 0, marks=pytest.mark.slow), (0.2, 0), (0.8, 3)]
)
def test_the_text_report_begins_with_what_is_missing_and_more_than_half_is_exit_code_3(
    tmp_path: Path, server: Server, share: float, code: int
) -> None:
    items_file(tmp_path, 5)
    lost = {f"q{i}" for i in range(round(5 * share))}
    server.faults = lambda asked: Fault("refusal") if asked.debate in lost else None
    got, out, err = run(tmp_path, server.url)
    assert got == code, err
    begins = out[out.index("No budget") :]
    assert ("votes are missing" in begins.split("log.jsonl")[0]) == (share > 0)
    assert "tokens estimated, in turns of this run" in out
    assert "3: finished, but more than half of the votes are missing" in " ".join(
        CliRunner().invoke(app, ["debate", "--help"]).stdout.split()
    )


def test_what_was_dropped_is_reported_and_journalled_in_this_run_and_the_next(
    tmp_path: Path, server: Server
) -> None:
    items_file(tmp_path)
    server.lacks, server.json_schema = ("seed",), False
    code, out, _ = run(tmp_path, server.url)
    assert code == 0
    assert "Not taken by the server, so the calls were made without: json_schema, seed." in " ".join(
        out.split()
    )
    journal = [json.loads(line) for line in (tmp_path / "log.calls.jsonl").read_text().splitlines()]
    assert [line["dropped"] for line in journal if "dropped" in line][-1] == ["json_schema", "seed"]
    _, out, _ = run(tmp_path, server.url, "--json")
    assert json.loads(out)["run"]["dropped"] == ["json_schema", "seed"]
    assert "response_format" in " ".join(json.loads(out)["run"]["words"].values())


@pytest.mark.parametrize(
    "more",
    [
        ("--model", "nobody"),
        ("--budget-tokens", "50"),
        ("--protocol", "nothing"),
        ("--max-usd", "1"),
    ],
)
def test_json_is_one_object_on_stdout_when_a_run_fails(
    tmp_path: Path, server: Server, more: tuple[str, ...]
) -> None:
    items_file(tmp_path)
    given = words(tmp_path, server.url, *more, "--json")
    if more[0] in ("--model", "--protocol"):
        at = given.index(more[0])
        del given[at : at + 2]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 1
    *warnings, refusal = done.stderr.strip().splitlines()
    assert all("WARNING: no item has a label" in line for line in warnings)
    assert refusal.startswith(f"d3stats: {json.loads(done.stdout)['error']}")


def test_a_reply_of_which_nothing_can_be_read_ends_a_run_with_advice_for_that_error(
    tmp_path: Path, server: Server
) -> None:
    server.faults = lambda asked: Fault("length")
    items = [DebateItem(f"q{i}", f"question {i}?", ("this", "that")) for i in range(30)]
    agent = LiveAgent("scripted", server.url)

    async def go() -> None:
        from d3stats.run.run import run_debates

        async with agent:
            await run_debates(protocol_from_text("single_judge"), items, agent, tmp_path / "log.jsonl")

    import asyncio

    with pytest.raises(
        Refused, match=r"'length' \(cut off after .*raise --tokens-per-word or --reasoning-tokens"
    ):
        asyncio.run(go())


def test_a_run_in_which_a_call_is_made_500_times_over_charges_what_the_server_generated(
    tmp_path: Path, server: Server
) -> None:
    from server import at_random

    items_file(tmp_path, 8)
    server.faults = at_random(0.3, ["made_500"], seed=4)
    code, out, _ = run(tmp_path, server.url, "--json", "--budget-tokens", "3000000")
    assert code == 0
    report, count = json.loads(out)["run"], server.count()
    assert count["faults"]["made_500"] > 8
    assert report["charged"] >= count["tokens_in"] + count["tokens_out"]
    assert report["estimated"] > 8
    assert report["words"]["server_error"].startswith("The model produced output that does not match")
