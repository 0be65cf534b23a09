"""Every protocol against llama.cpp's own server, and through a LiteLLM proxy. Skipped where they are not installed.

``docs/reference/live.md`` says how to build the server and the model; three environment variables name them.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from d3stats.log.doctor import doctor
from d3stats.protocols import protocol_from_text, protocols
from d3stats.run.items import DebateItem
from d3stats.run.live import LiveAgent
from d3stats.run.report import RunReport
from d3stats.run.run import run_debates

SERVER = "D3STATS_LLAMA_SERVER"
MODEL = "D3STATS_LLAMA_MODEL"
PROXY = "D3STATS_LITELLM"
ITEMS = int(os.environ.get("D3STATS_REAL_ITEMS", "3"))
"""Debates per protocol."""

pytestmark = pytest.mark.slow

# Sample from what the model says, not from its forty likeliest tokens; count every token of every prompt.
SAMPLING = ["--top-k", "0", "--top-p", "1", "--min-p", "0", "--temp", "1", "--no-cache-prompt"]


def program(variable: str) -> str:
    """Return a path from the environment, or skip and say why."""
    path = os.environ.get(variable)
    if not path:
        pytest.skip(f"{variable} is not set: docs/reference/live.md says how to build it and the model")
    if not Path(path).is_file():
        pytest.fail(f"{variable} must name a file; got {path!r}")
    return path


@dataclass
class Counted:
    """A server of llama.cpp, and what it counts itself."""

    log: Path
    url: str

    def tokens(self) -> tuple[int, int]:
        """Return the tokens of all prompts and of all replies so far; its metrics round them to six digits."""
        text = self.log.read_text(errors="replace")
        prompts = re.findall(r"prompt eval time = .*? / +(\d+) tokens", text)
        replies = re.findall(r"\|\s+eval time = .*? / +(\d+) tokens", text)
        return sum(map(int, prompts)), sum(map(int, replies))

    def settled(self) -> tuple[int, int]:
        """Return them when no call is going on any more."""
        before = self.tokens()
        while True:
            time.sleep(1.0)
            now = self.tokens()
            if now == before:
                return now
            before = now


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


@contextmanager
def running(words: list[str], port: int, ready: str, log: Path, **environment: str) -> Iterator[None]:
    """Run a server, from the time when it answers until the end of the block."""
    with log.open("wb") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, env={**os.environ, **environment})
    try:
        until = time.monotonic() + 180
        while True:
            assert process.poll() is None, log.read_text(encoding="utf-8")[-2000:]
            assert time.monotonic() < until, log.read_text(encoding="utf-8")[-2000:]
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{ready}", timeout=5):
                    break
            except OSError:
                time.sleep(0.2)
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(20)


@contextmanager
def llama(folder: Path, context: int, slots: int) -> Iterator[Counted]:
    port = free_port()
    words = [program(SERVER), "-m", program(MODEL), "--alias", "tiny", "--host", "127.0.0.1"]
    words += ["--port", str(port), "-c", str(context), "-np", str(slots), "--threads", "1", "--no-webui"]
    with running([*words, *SAMPLING], port, "/health", folder / "llama.log"):
        yield Counted(folder / "llama.log", f"http://127.0.0.1:{port}/v1")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counted]:
    """Four slots of 32,768 tokens."""
    with llama(tmp_path_factory.mktemp("llama"), 131072, 4) as one:
        yield one


@pytest.fixture(scope="module")
def proxy(server: Counted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counted]:
    """A LiteLLM proxy in front of the same server."""
    folder, port = tmp_path_factory.mktemp("proxy"), free_port()
    behind = {"model": "openai/tiny", "api_base": server.url, "api_key": "none"}
    settings = {"drop_params": False, "num_retries": 0, "telemetry": False}
    config = {
        "model_list": [{"model_name": "tiny", "litellm_params": behind}],
        "litellm_settings": settings,
    }
    (folder / "config.yaml").write_text(json.dumps(config))  # JSON is YAML
    words = [program(PROXY), "--config", str(folder / "config.yaml"), "--host", "127.0.0.1"]
    allowed = {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}
    with running([*words, "--port", str(port)], port, "/health/liveliness", folder / "proxy.log", **allowed):
        yield Counted(server.log, f"http://127.0.0.1:{port}/v1")


def variants() -> list[tuple[str, bool]]:
    """Return every protocol of the catalogue, with candidates and without where it takes both."""
    found = []
    for name, protocol in sorted(protocols().items()):
        found += [(name, True)] if protocol.candidates is not False else []
        found += [(name, False)] if protocol.candidates is not True else []
    return found


def items(judged: bool, n: int) -> list[DebateItem]:
    """Return questions with two candidates; else every second one with options, the others to answer in free words."""
    questions = [f"Which number comes after {i}?" for i in range(n)]
    if judged:
        return [
            DebateItem(f"q{i}", question, (f"It is {i - 1}.", f"It is {i + 1}."), label="B")
            for i, question in enumerate(questions)
        ]
    options = ("ten", "two", "none")
    return [
        DebateItem(f"q{i}", question, answers=None if i % 2 else options, label="two")
        for i, question in enumerate(questions)
    ]


def turns(log: Path) -> list[dict[str, Any]]:
    whole = log.read_bytes().split(b"\n")[:-1] if log.exists() else []
    return [record for record in map(json.loads, whole) if record["type"] == "turn"]


def logged(log: Path) -> tuple[int, int]:
    found = turns(log)
    return sum(turn["tokens_in"] for turn in found), sum(turn["tokens_out"] for turn in found)


def play(server: Counted, log: Path, name: str, judged: bool, **given: Any) -> RunReport:
    # Ten rounds in which each of seven reads all the others take a minute a debate.
    protocol = protocol_from_text("stability:max_rounds=3" if name == "stability" else name)

    async def main() -> RunReport:
        async with LiveAgent("tiny", server.url, seed=1, concurrency=4, **given) as agent:
            await agent.check(60)
            return await run_debates(protocol, items(judged, ITEMS), agent, log, concurrency=4)

    return asyncio.run(main())


def holds(server: Counted, log: Path, name: str, judged: bool) -> None:
    """Play a protocol, and hold its log to what was counted and to what may be missing."""
    before = server.settled()
    report = play(server, log, name, judged)
    after = server.settled()
    counted = (after[0] - before[0], after[1] - before[1])
    print(
        f"\n{name:16} {'candidates' if judged else 'open':10} verdicts {report.closed} of {ITEMS}, votes missing "
        f"{report.votes_missing.total()} of {report.votes} {dict(report.votes_missing)}, turns with a "
        "missing part "
        f"{dict(report.missing)}, tokens {logged(log)} of {counted}, {report.structured}, {report.seconds:.0f} s"
    )
    assert report.closed == ITEMS
    assert (report.structured, report.dropped) == ("json_schema", ())
    assert report.estimated == 0
    assert logged(log) == counted
    assert report.charged == sum(counted)
    # What is missing has a reason, and a line that says what to do where it is more than a little.
    reasons = Counter(turn["error"] for turn in turns(log) if "error" in turn)
    assert reasons == report.missing
    assert set(reasons) <= {"length", "unreadable"}
    assert report.votes_missing.total() <= 0.1 * report.votes
    assert list(doctor(log).problems) == []


@pytest.mark.parametrize(("name", "judged"), variants())
def test_every_protocol_ends_with_verdicts_and_counts_what_the_server_counts(
    server: Counted, tmp_path: Path, name: str, judged: bool
) -> None:
    holds(server, tmp_path / "log.jsonl", name, judged)


@pytest.mark.parametrize(("name", "judged"), variants())
def test_every_protocol_through_a_proxy(proxy: Counted, tmp_path: Path, name: str, judged: bool) -> None:
    holds(proxy, tmp_path / "log.jsonl", name, judged)


def test_a_window_that_is_too_small_is_refused_before_a_call_and_recorded_with_window_0(
    tmp_path: Path,
) -> None:
    with llama(tmp_path, 1024, 1) as small:
        with pytest.raises(ValueError, match=r"the context window of 'tiny' must hold every prompt"):
            play(small, tmp_path / "refused.jsonl", "samre", True)
        assert small.tokens() == (0, 0)
        report = play(small, tmp_path / "log.jsonl", "samre:max_rounds=1", True, window=0)
    assert report.closed == ITEMS
    assert report.missing["context_full"] > 0
    assert "context" in report.words["context_full"]
    assert "larger context window" in " ".join(report.warnings)
    assert logged(tmp_path / "log.jsonl")[0] > 0


@pytest.mark.parametrize("through", ["server", "proxy"])
def test_a_run_that_is_killed_goes_on_and_pays_nothing_twice_but_calls_in_flight(
    request: pytest.FixtureRequest, tmp_path: Path, through: str
) -> None:
    one: Counted = request.getfixturevalue(through)
    path, log, n = tmp_path / "items.jsonl", tmp_path / "log.jsonl", 6
    rows = [
        {"id": f"q{i}", "question": f"{i}?", "answer_a": f"a {i}", "answer_b": f"b {i}"} for i in range(n)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [
        sys.executable,
        "-c",
        "from d3stats.cli import app; app()",
        "debate",
        str(path),
        "--model",
        "tiny",
    ]
    words += ["--protocol", "samre:jurors=2,max_rounds=3", "--base-url", one.url, "--concurrency", "4"]
    words += ["--budget-tokens", "100000000", "-o", str(log), "--json"]
    rng, before, kills = random.Random(3), one.settled(), 4
    for _ in range(kills):
        kept = turns(log)
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        more = len(kept) + rng.randrange(2, 8)
        while process.poll() is None and len(turns(log)) < more:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert turns(log)[: len(kept)] == kept, "a recorded turn was lost"
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)["run"]
    after, found = one.settled(), turns(log)
    counted = (after[0] - before[0]) + (after[1] - before[1])
    told = sum(logged(log))
    print(
        f"\n{through}: {kills} kills, {len(found)} turns, {report['closed']} of {n} verdicts, tokens logged {told}, "
        f"counted by the server {counted}, charged {report['charged']}, repeated {report['repeated']}"
    )
    assert report["closed"] == n
    assert len({(turn["debate"], turn["round"], turn["agent"]) for turn in found}) == len(found)
    assert report["repeated"] <= 4 * kills
    # Calls that were in flight at a kill may have been answered: the server counts them, and so does the budget.
    assert told <= counted <= report["charged"]
    assert list(doctor(log).problems) == []
