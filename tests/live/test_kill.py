"""kill -9 at any point: the same command goes on, and nothing that was recorded is lost or bought again."""

from __future__ import annotations

import importlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from remote import Remote, served

from d3stats.cli import app
from d3stats.log.doctor import doctor

CONCURRENCY = 4
CLI = [sys.executable, "-c", "from d3stats.cli import app; app()"]
PROTOCOL = "samre:jurors=3,max_rounds=3"


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    with served(tmp_path, "--latency", "0.02") as running:
        yield running


def items_file(folder: Path, n: int) -> Path:
    path = folder / "items.jsonl"
    rows = [
        {"id": f"q{i}", "question": f"question {i}?", "answer_a": f"a {i}", "answer_b": f"b {i}"}
        for i in range(n)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def command(remote: Remote, items: Path, log: Path, *more: str) -> list[str]:
    words = ["debate", str(items), "--protocol", PROTOCOL, "--model", "scripted", "--base-url", remote.url]
    return [*CLI, *words, "--concurrency", str(CONCURRENCY), "-o", str(log), *more]


class Forked:
    """The same command in a fork of this process, which has loaded everything already."""

    def __init__(self, words: list[str], output: Path, errors: Path | None = None) -> None:
        self.code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            code = 70
            try:
                # pytest listens to these two, not to the descriptors. The program may put another stream in the place
                # of the first, so the files are kept: one that is not would be closed.
                names = [output] if errors is None else [output, errors]
                files = [path.open("w", encoding="utf-8", buffering=1) for path in names]
                sys.stdout, sys.stderr = files[0], files[-1]
                code = app(words[len(CLI) :], standalone_mode=False) or 0
            finally:
                with suppress(OSError):
                    sys.stdout.flush()
                os._exit(code)

    def poll(self) -> int | None:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code

    def end(self) -> int:
        """Wait for it; return its exit status."""
        while (code := self.poll()) is None:
            time.sleep(0.01)
        return code

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def finish(words: list[str], output: Path) -> dict[str, Any]:
    """Let a command come to its end and return the report of the run that it prints."""
    assert Forked(words, output).end() == 0, output.read_text(encoding="utf-8")
    said = output.read_text(encoding="utf-8")
    # What is said to people stands around it.
    found, _ = json.JSONDecoder().raw_decode(said[said.index("{") :])
    report: dict[str, Any] = found["run"]
    return report


def wait_for_calls(remote: Remote, process: Forked, calls: int) -> None:
    """Wait until the server has had so many calls, or the process has ended."""
    while process.poll() is None and remote.count()["calls"] < calls:
        time.sleep(0.04)  # each question is a call of the server, which costs what a call of the run costs


def records(log: Path, kind: str) -> list[dict[str, Any]]:
    """Return the whole records of a kind; a torn last line is none."""
    whole = log.read_bytes().split(b"\n")[:-1] if log.exists() else []
    return [record for record in map(json.loads, whole) if record["type"] == kind]


def keys(log: Path) -> list[tuple[str, int, str]]:
    return [(turn["debate"], turn["round"], turn["agent"]) for turn in records(log, "turn")]


def warm_up(remote: Remote, folder: Path) -> None:
    """Load here, once, what the forks would each load."""
    (folder / "warm").mkdir()
    words = command(remote, items_file(folder / "warm", 1), folder / "warm" / "log.jsonl")
    app(words[len(CLI) :], standalone_mode=False)
    importlib.import_module("d3stats.log.reader")
    remote.reset()


def kill_and_resume(remote: Remote, tmp_path: Path, kills: int, n: int, seed: int) -> dict[str, Any]:
    """Kill a run at random points, resume it each time, and hold what is left to what must be."""
    items, log = items_file(tmp_path, n), tmp_path / "log.jsonl"
    budget = ("--budget-tokens", "100000000")
    warm_up(remote, tmp_path)
    rng = random.Random(seed)
    repeated = 0
    for _ in range(kills):
        before = keys(log)
        words = command(remote, items, log, *budget)
        process = Forked(words, tmp_path / "said.txt")
        wait_for_calls(remote, process, remote.count()["calls"] + rng.randrange(1, 25))
        time.sleep(rng.random() * 0.03)
        process.kill()
        assert process.poll() == -signal.SIGKILL, (tmp_path / "said.txt").read_text()
        after = keys(log)
        assert after[: len(before)] == before, "a recorded turn was lost"
        assert len(set(after)) == len(after)
        # Paid and not recorded: in flight at a kill, at most as many as there may be at once.
        lost = remote.count()["charged"] - len(after)
        assert lost - repeated <= CONCURRENCY
        repeated = lost
    report = finish(command(remote, items, log, *budget, "--json"), tmp_path / "said.txt")
    count, said = remote.count(), keys(log)
    assert len(set(said)) == len(said)
    assert {debate for debate, _, _ in said} == {f"q{i}" for i in range(n)}
    assert report["closed"] == len(records(log, "verdict")) == n
    assert list(doctor(log).problems) == []
    # Each key was paid once, but for calls in flight at a kill, which are counted as repeated.
    paid_again = sum(times - 1 for times in count["keys"].values())
    assert count["charged"] == len(said) + paid_again
    assert paid_again <= report["repeated"] <= kills * CONCURRENCY
    assert count["most_at_once"] <= 2 * CONCURRENCY
    # What may have been paid is on the account: turns at their count, lost calls at their bound.
    assert report["charged"] >= count["tokens_in"] + count["tokens_out"]
    assert not count["errors"]
    return report | {"paid_again": paid_again, "turns": len(said)}


def test_killed_three_times_and_resumed(remote: Remote, tmp_path: Path) -> None:
    kill_and_resume(remote, tmp_path, kills=3, n=6, seed=1)


@pytest.mark.slow
def test_killed_two_hundred_times_and_resumed(remote: Remote, tmp_path: Path) -> None:
    kills = int(os.environ.get("D3STATS_KILLS", "200"))
    result = kill_and_resume(remote, tmp_path, kills=kills, n=2 * kills, seed=2)
    print(result)


def test_an_interrupt_ends_the_calls_in_flight_and_says_how_to_go_on(remote: Remote, tmp_path: Path) -> None:
    items, log = items_file(tmp_path, 12), tmp_path / "log.jsonl"
    warm_up(remote, tmp_path)
    process = Forked(command(remote, items, log), tmp_path / "interrupted.txt")
    wait_for_calls(remote, process, 20)
    os.kill(process.pid, signal.SIGINT)
    assert process.end() == 130
    said = (tmp_path / "interrupted.txt").read_text()
    last = said.strip().splitlines()[-1]
    assert last.startswith("d3stats: interrupted after ")
    assert last.endswith(f"the same command resumes {log}")
    assert "Traceback" not in said
    # Nothing that was begun is lost.
    assert remote.count()["charged"] == len(keys(log))
    report = finish(command(remote, items, log, "--json"), tmp_path / "said.txt")
    assert (report["closed"], report["repeated"]) == (12, 0)
    assert set(remote.count()["keys"].values()) == {1}


def test_a_second_interrupt_stops_at_once(tmp_path: Path) -> None:
    with served(tmp_path, "--latency", "900") as far:
        items, log = items_file(tmp_path, 6), tmp_path / "log.jsonl"
        process = Forked(command(far, items, log), tmp_path / "said.txt")
        wait_for_calls(far, process, CONCURRENCY)
        os.kill(process.pid, signal.SIGINT)
        time.sleep(0.3)
        assert process.poll() is None, "the first interrupt waits for the calls in flight"
        os.kill(process.pid, signal.SIGINT)
        # The replies would come in a quarter of an hour.
        assert process.end() == 130
        said = (tmp_path / "said.txt").read_text()
        assert "Traceback" not in said
        journal = [json.loads(line) for line in (tmp_path / "log.calls.jsonl").read_text().splitlines()]
        # They may have been paid for: without an end they count as in flight.
        assert sum("begun" in line for line in journal) == CONCURRENCY
        assert sum("ended" in line for line in journal) == 0
