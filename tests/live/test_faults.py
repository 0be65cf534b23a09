"""A fault campaign over real HTTP: every debate ends, the budget holds, the log is sound, the sums agree."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from layers import examples
from server import KINDS, Fault, Server, at_random, play

from d3stats.agent import Refused
from d3stats.log.doctor import doctor
from d3stats.protocols import protocol_from_text
from d3stats.run.items import DebateItem
from d3stats.run.live import LiveAgent
from d3stats.run.report import RunReport
from d3stats.run.run import run_debates
from d3stats.worlds.tokens import PriceTable

SAMRE = "samre:jurors=3,max_rounds=2"
SHORT = "samre:jurors=2,max_rounds=1"


def items(n: int) -> list[DebateItem]:
    return [DebateItem(f"q{i}", f"question {i}?", (f"answer {i}", f"another {i}")) for i in range(n)]


def campaign(
    server: Server, log: Path, n: int, share: float = 0.2, protocol: str = SAMRE, **settings: Any
) -> RunReport:
    """Debate n items against a server that spoils a share of all calls in every way it knows."""
    server.faults = at_random(share, seed=5, slow_s=2.5)
    server.keep_bodies = False

    async def run() -> RunReport:
        agent = LiveAgent(
            "scripted",
            server.url,
            timeout=2.0,
            backoff=0.005,
            longest_wait=0.05,
            retries=settings.pop("retries", 3),
            concurrency=64,
        )
        async with agent:
            played = protocol_from_text(protocol)
            return await run_debates(played, items(n), agent, log, **{"concurrency": 16, **settings})

    return asyncio.run(run())


def turns(log: Path) -> list[dict[str, Any]]:
    return [
        record
        for record in map(json.loads, log.read_text(encoding="utf-8").splitlines())
        if record["type"] == "turn"
    ]


def verdicts(log: Path) -> list[dict[str, Any]]:
    return [
        record
        for record in map(json.loads, log.read_text(encoding="utf-8").splitlines())
        if record["type"] == "verdict"
    ]


def hold(server: Server, log: Path, report: RunReport, n: int) -> None:
    """Hold a finished campaign against the server's own count."""
    count = server.count()
    assert set(count["faults"]) == set(KINDS)
    assert not count["errors"]
    closed = verdicts(log)
    assert report.closed == len(closed) == n
    assert all(verdict["stop_reason"] for verdict in closed)
    assert list(doctor(log).problems) == []
    said = turns(log)
    assert len({(turn["debate"], turn["round"], turn["agent"]) for turn in said}) == len(said)
    # No turn without a vote or scores hides why.
    for turn in said:
        if turn["role"] == "juror":
            assert ("vote" in turn) != ("error" in turn)
        if turn["role"] == "judge":
            assert any(turn["scores"].values()) != (
                "error" in turn
            )  # sides without points are those that were asked
    charged = sum(turn["tokens_in"] + turn["tokens_out"] for turn in said)
    assert charged == report.charged >= count["tokens_in"] + count["tokens_out"]


@examples(70, 100, "n")
def test_debates_with_a_fifth_of_all_replies_spoilt(server: Server, tmp_path: Path, n: int) -> None:
    log = tmp_path / "log.jsonl"
    report = campaign(server, log, n, protocol=SHORT)
    hold(server, log, report, n)


@pytest.mark.slow
def test_two_thousand_debates_with_a_fifth_of_all_replies_spoilt(server: Server, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    report = campaign(server, log, 2000)
    hold(server, log, report, 2000)


def test_what_the_server_told_is_what_the_log_says(server: Server, tmp_path: Path) -> None:
    """Turn by turn, where every charge was told: repeats and repairs included."""
    log = tmp_path / "log.jsonl"
    campaign(server, log, 20)
    told: Counter[str] = Counter()
    silent = set()
    for call in server.calls:
        key = call.key.rsplit("/", 1)[0]
        told[key] += call.tokens_in + call.tokens_out if call.charged and call.told else 0
        if call.charged and not call.told:
            silent.add(key)
    compared = 0
    for turn in turns(log):
        key = f"{turn['debate']}/{turn['round']}/{turn['agent']}"
        counted = "tokens_source" not in turn
        assert not (counted and key in silent), "a charge that was not told is marked as an estimate"
        if counted:
            assert turn["tokens_in"] + turn["tokens_out"] == told[key]
            compared += 1
    assert compared > 100


@pytest.mark.parametrize("budget", [60_000, pytest.param(120_000, marks=pytest.mark.slow)])
def test_a_budget_holds_against_the_servers_own_count(budget: int, server: Server, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    report = campaign(server, log, 50, budget_tokens=budget)
    count = server.count()
    assert count["tokens_in"] + count["tokens_out"] <= report.charged <= budget
    assert report.overdrawn == 0
    assert report.unfinished == 0
    assert 0 < report.closed == len(verdicts(log)) < 50
    assert report.closed + len(report.not_begun) == 50
    assert list(doctor(log).problems) == []


def test_a_budget_in_dollars_holds_too(server: Server, tmp_path: Path) -> None:
    prices = PriceTable("2025-01-01", {"scripted": (1.5, 6.0)})
    report = campaign(server, tmp_path / "log.jsonl", 30, max_usd=0.2, prices=prices)
    count = server.count()
    assert report.dollars is not None
    paid = prices.dollars(count["tokens_in"], count["tokens_out"], "scripted")
    assert paid <= report.dollars <= 0.2
    assert 0 < report.closed < 30


def test_a_server_that_fails_always_leaves_verdicts_without_a_decision(
    server: Server, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    server.script = lambda asked: "no object at all"
    campaign(server, log, 1, share=0.0)
    assert len(verdicts(log)) == 1
    assert all("decision" not in verdict for verdict in verdicts(log))
    assert all("vote" not in turn and not any(turn.get("scores", {}).values()) for turn in turns(log))


def test_a_server_of_which_nothing_can_be_read_ends_the_run_after_twenty_turns(
    server: Server, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    server.script = lambda asked: "no object at all"
    with pytest.raises(Refused, match=r"got 20 unreadable ones in a row.*--structured text"):
        campaign(server, log, 30, share=0.0, concurrency=4)
    assert 20 <= len(turns(log)) < 20 + 4
    server.script = play
    report = campaign(server, log, 30, share=0.0, concurrency=4)
    assert (report.closed, sum(report.missing.values())) == (30, len([t for t in turns(log) if "error" in t]))


def test_a_call_that_was_turned_away_first_costs_the_budget_nothing(server: Server, tmp_path: Path) -> None:
    """A budget hardly above the least, and every call gets one 429: no vote is missing."""
    server.keep_bodies = False

    async def run(budget: int, log: Path) -> RunReport:
        async with LiveAgent("scripted", server.url, backoff=0.005, longest_wait=0.05) as agent:
            return await run_debates(
                protocol_from_text("majority"), items(1), agent, log, budget_tokens=budget
            )

    with pytest.raises(ValueError, match="at least") as caught:
        asyncio.run(run(5, tmp_path / "log.jsonl"))
    least = int(str(caught.value).split("at least ")[1].split()[0])
    server.faults = lambda asked: Fault("rate_limited", 0.01) if asked.attempt == 1 else None
    report = asyncio.run(run(least + 100, tmp_path / "log.jsonl"))
    assert (report.closed, sum(report.missing.values())) == (1, 0)
    assert report.attempts == 2 * report.calls
    assert server.count()["tokens_in"] + server.count()["tokens_out"] == report.charged


def test_what_was_paid_before_a_refusal_is_charged(server: Server, tmp_path: Path) -> None:
    server.keep_bodies = False
    log = tmp_path / "log.jsonl"

    def faults(asked: Any) -> Fault | None:
        if asked.attempt == 1 and asked.agent == "juror 1":
            server.key = "another"  # the repair will be turned away, and all that follows
            return Fault("not_json")
        return None

    async def run() -> RunReport:
        async with LiveAgent("scripted", server.url, retries=0) as agent:
            return await run_debates(protocol_from_text(SHORT), items(2), agent, log, concurrency=1)

    server.faults = faults
    with pytest.raises(Refused, match="the key in"):
        asyncio.run(run())
    said = sum(turn["tokens_in"] + turn["tokens_out"] for turn in turns(log))
    count = server.count()
    assert count["tokens_in"] + count["tokens_out"] > said, "one reply was paid and is in no turn"
    server.key = server.faults = None
    report = asyncio.run(run())
    count = server.count()
    assert count["tokens_in"] + count["tokens_out"] == report.charged
