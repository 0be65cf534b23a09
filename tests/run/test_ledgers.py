"""Debates under a ledger: the same for any number at a time and after a kill, and its guarantee at the end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from chancy import Chancy, as_set, defects, lines, of_type, pairs

from d3stats.agent import Reply, Request
from d3stats.planning import ledger as ledgers
from d3stats.protocols import protocol_from_text
from d3stats.run.record import journal_path
from d3stats.run.report import RunReport
from d3stats.run.run import debate, run_debates
from d3stats.stopping import from_text

PANEL = protocol_from_text("stability:panel=3,max_rounds=4,camp=none")
LEDGER = "eps=.1,delta=.1,stages=3,rise=.7,warm_up=8,lag=12"
N = 60
SECRET = bytes(range(32))


@pytest.fixture(autouse=True)
def known_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers.secrets, "token_bytes", lambda size: SECRET[:size])


def run(log: Path, agent: Any, concurrency: int = 4, n: int = N, **settings: Any) -> RunReport:
    settings = {"ledger": LEDGER, "name": "n"} | settings
    return debate(PANEL, pairs(n), agent, log, concurrency=concurrency, **settings)


def decisions(log: Path) -> list[dict[str, Any]]:
    return [record for record in lines(journal_path(log)) if "did" in record]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunReport, list[dict[str, Any]]]:
    log = tmp_path_factory.mktemp("alone") / "log.jsonl"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ledgers.secrets, "token_bytes", lambda size: SECRET[:size])
        report = run(log, Chancy(), 1)
    return log, report, decisions(log)


def test_early_stops_are_honoured_and_audited_and_the_report_has_the_guarantee(alone: Any) -> None:
    log, report, did = alone
    assert {record["did"] for record in did} == {"honour", "audit"}
    found = report.certificate
    assert found.complete
    assert found.allowed == 6
    assert found.honoured == sum(record["did"] == "honour" for record in did)
    assert found.audited == sum(record["did"] == "audit" for record in did)
    assert found.lost == sum(record.get("loss") == 1 for record in did)
    assert f"at most 6 of {N} delivered verdicts differ from unanimity's" in found.headline
    assert report.to_dict()["certificate"]["headline"] == found.headline
    stops = {record["debate"]: record["stop_reason"] for record in of_type(log, "verdict")}
    honoured = {record["debate"] for record in did if record["did"] == "honour"}
    assert all(stops[debate] in ("ladder", "fixed_rounds") for debate in honoured)
    assert all(stops[debate] in ("unanimity", "exhausted") for debate in stops.keys() - honoured)


@pytest.mark.parametrize("concurrency", [7, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 64))])
def test_many_at_a_time_have_the_verdicts_and_tokens_of_one_at_a_time(
    concurrency: int, alone: Any, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    report = run(log, Chancy(pause=0.002), concurrency)
    assert as_set(log) == as_set(alone[0])
    assert (report.tokens_in, report.tokens_out) == (alone[1].tokens_in, alone[1].tokens_out)
    assert decisions(log) == alone[2]
    assert report.certificate is not None
    assert report.certificate.headline == alone[1].certificate.headline


class Killed(RuntimeError):
    """What ends a run in the middle of a call."""


def test_killed_anywhere_and_resumed_the_campaign_is_that_of_a_run_in_one_go(
    alone: Any, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"

    def killed_at(call: int) -> Chancy:
        def before(number: int, request: Request) -> None:
            if number >= call:
                raise Killed

        return Chancy(pause=0.001, before=before)

    for call in (5, 60, 90, 120):
        with contextlib.suppress(Killed):
            run(log, killed_at(call), 8)
    report = run(log, Chancy(), 8)
    assert as_set(log) == as_set(alone[0])
    assert decisions(log) == alone[2], "no decision is written twice"
    assert report.certificate is not None
    assert report.certificate.headline == alone[1].certificate.headline
    assert report.repeated > 0
    assert defects(log) == []


def test_a_process_that_dies_is_resumed_with_its_own_coins(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    child = os.fork()
    if not child:
        try:
            ledgers.secrets.token_bytes = os.urandom  # coins that are not known
            died = Chancy(before=lambda number, request: os._exit(9) if number >= 150 else None)
            debate(PANEL, pairs(N), died, log, concurrency=4, ledger=LEDGER, name="n")
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    secret = next(record["secret"] for record in lines(journal_path(log)) if "secret" in record)
    assert bytes.fromhex(secret) != SECRET
    report = run(log, Chancy(), 4)
    assert [record["secret"] for record in lines(journal_path(log)) if "secret" in record] == [secret]
    assert report.certificate is not None
    assert report.certificate.complete
    again = tmp_path / "again.jsonl"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ledgers.secrets, "token_bytes", lambda size: bytes.fromhex(secret))
        run(again, Chancy(), 1)
    assert as_set(log) == as_set(again)


def test_a_run_that_is_interrupted_leaves_no_debate_waiting(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    halt = asyncio.Event()

    def before(number: int, request: Request) -> Reply | None:
        if number >= 120:
            halt.set()
        return None

    report = run(log, Chancy(pause=0.001, before=before), 8, halt=halt)
    assert report.stopped == "interrupted"
    assert report.certificate is not None
    assert not report.certificate.complete
    assert "No certificate yet" in report.certificate.headline
    assert report.closed + report.unfinished + len(report.not_begun) == N
    assert run(log, Chancy(), 8).closed == N


def test_with_a_budget_debates_that_it_ends_are_named(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole.jsonl", Chancy(), 4)
    log = tmp_path / "log.jsonl"
    report = run(log, Chancy(), 4, budget_tokens=int(whole.charged * 0.6))
    assert report.stopped == "budget" or report.certificate is None or report.certificate.complete
    assert report.charged <= whole.charged * 0.6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ledger": "eps=2"}, "eps must lie below 1"),
        ({"ledger": "delta=.1"}, "ledger must give eps"),
        ({"incumbent": "ks:camp=largest"}, "incumbent must be a rule that decides each debate by itself"),
        ({"ledger": None, "incumbent": "full"}, "incumbent must be given with a ledger alone"),
        ({"retry_missing": True}, "retry_missing must be False with a ledger"),
    ],
)
def test_what_a_run_with_a_ledger_refuses(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        run(tmp_path / "log.jsonl", Chancy(), **settings)


def test_a_rule_and_a_shadow_beside_a_ledger_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="rule must not be given with a ledger"):
        run(tmp_path / "log.jsonl", Chancy(), rule=from_text("fixed:2"))
    with pytest.raises(ValueError, match="shadow must not be given with a ledger"):
        run(tmp_path / "log.jsonl", Chancy(), shadow=from_text("fixed:2"))


def test_a_campaign_of_other_debates_is_no_continuation(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"

    def before(number: int, request: Request) -> None:
        if number >= 20:
            raise Killed

    with pytest.raises(Killed):
        run(log, Chancy(before=before), 1)
    with pytest.raises(ValueError, match="rule must be as in the run"):
        run(log, Chancy(), 1, n=N + 1)
    text = journal_path(log).read_text().splitlines(keepends=True)
    journal_path(log).write_text("".join(line for line in text if "secret" not in json.loads(line)))
    with pytest.raises(ValueError, match="must have the secret of its ledger"):
        run(log, Chancy(), 1)


def test_the_lag_follows_from_the_calls_at_a_time_and_a_resumed_run_keeps_it(tmp_path: Path) -> None:
    def lag(log: Path) -> str:
        rule: str = lines(journal_path(log))[0]["rule"]
        return rule.partition(",lag=")[2].partition(";")[0]

    short, settings = tmp_path / "one.jsonl", {"ledger": "eps=.1,stages=3,warm_up=8"}
    run(short, Chancy(), 1, n=12, **settings)
    assert lag(short) == "1"
    log = tmp_path / "log.jsonl"

    def before(number: int, request: Request) -> None:
        if number >= 60:
            raise Killed

    with pytest.raises(Killed):
        run(log, Chancy(before=before), 4, **settings)
    assert lag(log) == "16"
    report = run(log, Chancy(), 7, **settings)
    assert report.certificate is not None
    assert report.certificate.ledger.lag == 16
    again = tmp_path / "again.jsonl"
    run(again, Chancy(), 1, **settings | {"ledger": settings["ledger"] + ",lag=16"})
    assert as_set(log) == as_set(again)
    assert any("debates more than 16 before it" in note for note in report.certificate.notes)


def test_votes_are_not_asked_again_in_a_campaign_and_nothing_is_written(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with pytest.raises(ValueError, match="retry_missing must be False with a ledger"):
        run(log, Chancy(), retry_missing=True)
    assert not log.exists()
    assert not journal_path(log).exists()


class Simulated(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next event: elapsed seconds without waiting for them."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        selector: Any = self._selector  # type: ignore[attr-defined]
        ready = selector.select

        def select(timeout: float | None = None) -> Any:
            self.now += timeout or 0.0
            return ready(0)

        selector.select = select

    def time(self) -> float:
        return self.now


def test_held_debates_do_not_keep_others_from_being_played(tmp_path: Path) -> None:
    busy = 0.0

    class Timed(Chancy):
        async def act(self, request: Request, /, more: Any = None) -> Reply:
            nonlocal busy
            began = asyncio.get_running_loop().time()
            reply = await super().act(request, more)
            busy += asyncio.get_running_loop().time() - began
            return reply

    async def elapsed() -> float:
        began = asyncio.get_running_loop().time()
        log, ledger = tmp_path / "log.jsonl", "eps=.05,delta=.1,stages=5"
        await run_debates(PANEL, pairs(250), Timed(pause=1.0), log, concurrency=32, ledger=ledger, name="n")
        return asyncio.get_running_loop().time() - began

    with asyncio.Runner(loop_factory=Simulated) as runner:
        assert runner.run(elapsed()) <= 1.15 * busy / 32
