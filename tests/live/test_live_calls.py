"""How calls are made: seeds, temperatures, how many at once, how many a minute, how long between attempts."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import msgspec
import pytest
from asking import CASE, JUDGE, QUICK, VOTE, asked, at_once
from server import Fault, Server

from d3stats.agent import Case, Refused, Reply
from d3stats.log import DebateLog, read_log, write_csv, write_jsonl, write_parquet
from d3stats.protocols import protocol_from_text
from d3stats.protocols.recorded import as_reply
from d3stats.run.items import DebateItem
from d3stats.run.live import LiveAgent
from d3stats.run.live.limits import Pace, backoff
from d3stats.run.live.server import seconds_asked
from d3stats.run.record import as_turn
from d3stats.run.run import debate, run_debates


def test_each_call_has_its_own_seed_and_the_same_in_every_run(server: Server) -> None:
    others = [replace(VOTE, agent=f"juror {i}") for i in range(20)]
    for _ in range(2):
        at_once(server, others, concurrency=7)
    asked(server, *others, seed=8)
    seeds: dict[str, list[int]] = {}
    for call in server.calls:
        seeds.setdefault(call.key, []).append(call.body["seed"])
    assert all(one == two != three for one, two, three in seeds.values())
    assert len({pair[0] for pair in seeds.values()}) == 20
    assert all(0 <= seed < 2**31 for found in seeds.values() for seed in found)


@pytest.mark.parametrize("by_role", [False, True])
def test_without_an_event_loop_a_live_agent_is_connected_and_closed(
    server: Server, by_role: bool, tmp_path: Path
) -> None:
    agent = LiveAgent("scripted", server.url, **QUICK)
    protocol = protocol_from_text("majority:judges=3")
    items = [DebateItem("q", "a question?", ("one", "another"))]
    agents = dict.fromkeys(("panelist", "default"), agent) if by_role else agent
    for _ in range(2):
        report = debate(protocol, items, agents, tmp_path / "log.jsonl")
        assert (report.closed, report.votes, len(server.calls)) == (1, 3, 3)


def test_a_repeat_has_the_seed_of_the_first_attempt(server: Server) -> None:
    server.faults = lambda asked: Fault("rate_limited") if asked.attempt == 1 else None
    asked(server, VOTE)
    first, second = (call.body for call in server.calls)
    assert first == second


@pytest.mark.parametrize("kind", ["server_error", "made_500", "empty_content", "empty_choices"])
def test_a_repeat_after_a_useless_reply_has_another_seed_and_nothing_else_changes(
    server: Server, kind: str
) -> None:
    server.faults = lambda asked: Fault(kind) if asked.attempt <= 3 else None
    asked(server, VOTE)
    seeds = [call.body.pop("seed") for call in server.calls]
    assert len(set(seeds)) == len(seeds) == 4
    assert all(call.body == server.calls[0].body for call in server.calls)
    server.reset()
    asked(server, VOTE)
    assert [call.body["seed"] for call in server.calls] == seeds, "the same run asks with the same seeds"


def test_the_temperature_is_sent_as_given_or_not_at_all(server: Server) -> None:
    asked(server, VOTE, temperature=0.0)
    asked(server, VOTE, temperature=0.7)
    asked(server, VOTE)
    assert [call.body.get("temperature", "none") for call in server.calls] == [0.0, 0.7, "none"]


PROPOSED = replace(VOTE, temperature=0.2)


def test_the_protocols_temperature_is_sent_unless_the_user_chooses(server: Server) -> None:
    replies = [
        *asked(server, PROPOSED),
        *asked(server, PROPOSED, temperature=0.7),
        *asked(server, PROPOSED, temperature="server"),
    ]
    assert [call.body.get("temperature", "none") for call in server.calls] == [0.2, 0.7, "none"]
    assert [reply.temperature for reply in replies] == [0.2, 0.7, None]


def test_a_protocols_temperature_that_is_refused_is_left_out_and_said(server: Server) -> None:
    server.lacks = ("temperature",)
    agent = LiveAgent("scripted", server.url, **QUICK)

    async def twice() -> list[Reply]:
        async with agent:
            return [await agent.act(PROPOSED), await agent.act(replace(PROPOSED, round=2))]

    replies = asyncio.run(twice())
    assert [(reply.error, reply.attempts) for reply in replies] == [(None, 2), (None, 1)]
    assert [reply.temperature for reply in replies] == [None, None], "the call that was answered had none"
    assert agent.dropped == ("temperature",)
    assert agent.temperature_of(PROPOSED) is None


def test_every_turn_of_a_run_says_the_temperature_that_was_sent_and_a_resumed_run_keeps_it(
    server: Server, tmp_path: Path
) -> None:
    """What the server got is what the log has, in every format; a source that names none sends and records none."""
    items = [DebateItem(f"q{k}", "Which?", candidates=("2", "3"), label="A") for k in range(2)]

    def played(protocol: str, n: int) -> DebateLog:
        path = tmp_path / f"{protocol}.jsonl"

        async def run() -> None:
            async with LiveAgent("scripted", server.url, **QUICK) as agent:
                await run_debates(protocol_from_text(protocol), items[:n], agent, path)

        asyncio.run(run())
        return read_log(path)

    for n in (1, 2):
        log = played("chateval", n)
        assert [call.body["temperature"] for call in server.calls] == log.turns["temperature"].tolist()
        assert set(log.turns["temperature"]) == {0.0}
    assert log.turns["debate"].nunique() == 2
    for write, name in ((write_csv, "log.csv"), (write_parquet, "log.parquet"), (write_jsonl, "log.jsonl")):
        assert read_log(write(log, tmp_path / name)) == log
    assert played("majority", 1).turns["temperature"].isna().all()


def test_the_papers_temperatures_are_in_the_requests() -> None:
    case = Case("d", "q", "Which?", ("A", "B"), ("2", "3"), "A")
    wanted = {"chateval": 0.0, "stability:camp=none": 1.0, "samre": None, "majority": None}
    for text, temperature in wanted.items():
        step = next(protocol_from_text(text).play(case))
        assert {request.temperature for request in step.requests} == {temperature}


def test_settings_and_repr_say_what_was_sent(server: Server) -> None:
    agent = LiveAgent("scripted", server.url, temperature=0.7, seed=3)
    assert agent.settings["temperature"] == 0.7
    assert agent.settings["seed"] == 3
    assert agent.settings["server"] == server.url
    assert repr(agent) == f"LiveAgent('scripted', '{server.url}', temperature=0.7, seed=3)"


def test_the_reply_names_the_model_as_the_server_does(server: Server) -> None:
    (reply,) = asked(server, VOTE)
    assert reply.model == "scripted"


@pytest.mark.parametrize(
    ("style", "served"),
    [
        ("openai", {"finish": "stop", "fingerprint": "fp_44709d6fcb", "reasoning": 2}),
        ("vllm", {"finish": "stop"}),
        (None, {"finish": "stop"}),
    ],
)
def test_the_record_of_a_run_has_what_a_server_says_of_each_call(
    server: Server, tmp_path: Path, style: str | None, served: dict[str, object]
) -> None:
    server.style, server.cached = style, 3
    items = [DebateItem("q1", "Why?", ("So.", "No."))]
    log = tmp_path / "log.jsonl"
    agent = LiveAgent("scripted", server.url, **QUICK)
    report = debate(protocol_from_text("majority:judges=3"), items, agent, log)
    ends = [msgspec.json.decode(line) for line in (tmp_path / "log.calls.jsonl").read_bytes().splitlines()]
    ends = [line for line in ends if "ended" in line]
    assert len(ends) == report.calls == 3
    assert all(end["served"] == served for end in ends)
    assert all(end["turn"]["model"] == "scripted" and end["turn"]["tokens_cached"] == 3 for end in ends)
    assert all("error" not in end and end["seconds"] >= 0 for end in ends)


def test_tokens_of_thought_add_up_over_attempts_and_the_last_end_counts(server: Server) -> None:
    faults = iter([Fault("length"), None])
    server.style, server.faults = "openai", lambda call: next(faults)
    (reply,) = asked(server, VOTE)
    assert reply.attempts == 2
    assert reply.served == {"finish": "stop", "fingerprint": "fp_44709d6fcb", "reasoning": 4}
    server.faults = lambda call: Fault("length")
    (reply,) = asked(server, VOTE)
    assert (reply.error, (reply.served or {})["finish"]) == ("length", "length")


def test_calls_can_be_told_apart_by_the_server(server: Server) -> None:
    odd = replace(VOTE, case=replace(CASE, debate="q/1 é\n\x00"), agent="judge, B first")
    long = replace(VOTE, case=replace(CASE, debate="d" * 3_000))
    asked(server, VOTE, odd, long)
    keys = [call.key for call in server.calls]
    assert keys[0] == "d1/1/juror 1/vote"
    assert keys[1] == "q/1 é\n\x00/1/judge, B first/vote"
    assert len(server.calls[2].headers["x-client-request-id"]) <= 500


def test_no_more_calls_at_once_than_allowed(server: Server) -> None:
    server.latency_s = 0.2
    requests = [replace(VOTE, agent=f"juror {i}") for i in range(15)]
    at_once(server, requests, concurrency=3)
    assert server.most_at_once == 3
    server.reset()
    at_once(server, requests, concurrency=10)
    assert 4 <= server.most_at_once <= 10


def test_what_is_written_down_is_what_was_returned(server: Server) -> None:
    """Half of a surrogate pair, which JSON can spell and no file can hold, is replaced before anybody reads it."""
    server.script = lambda asked: '{"text": "half \\ud83d of it", "vote": "1"}'
    (reply,) = asked(server, VOTE)
    turn = as_turn(VOTE, reply)
    assert reply.text == "half \ufffd of it"
    assert as_reply(turn) == replace(reply, attempts=1)
    assert as_reply(msgspec.json.decode(msgspec.json.encode(turn), type=type(turn))) == as_reply(turn)


def test_the_bound_and_the_call_are_of_one_draft_and_of_the_same_request(server: Server) -> None:
    """The bound of one request is asked for, then another is made: it must not get the first one's prompt."""
    other = replace(VOTE, instruction="You are another juror. Vote.")

    async def run() -> None:
        async with LiveAgent("scripted", server.url, **QUICK) as agent:
            bound = agent.imagine(VOTE, "longest")
            assert bound == agent.imagine(replace(VOTE), "longest")
            await agent.act(other)
            await agent.act(VOTE)

    asyncio.run(run())
    systems = [call.body["messages"][0]["content"] for call in server.calls]
    assert systems[0].startswith("You are another juror.")
    assert systems[1].startswith("You are a juror.")


def test_no_more_calls_a_minute_than_allowed(server: Server) -> None:
    requests = [replace(VOTE, agent=f"juror {i}") for i in range(12)]
    at_once(server, requests, requests_per_minute=1_200)  # one every 50 ms, bursts of 20 in a second
    began = sorted(call.began for call in server.calls)
    assert len(began) == 12
    server.reset()
    at_once(server, requests[:5], requests_per_minute=300)  # one every 200 ms, bursts of a second's worth
    at_once(server, requests[:4], requests_per_minute=60)  # one a second: no bursts
    began = sorted(call.began for call in server.calls)
    assert began[-1] - began[-4] >= 2.9


def test_the_pace_is_kept_over_any_stretch() -> None:
    async def run() -> list[float]:
        pace, times = Pace(6_000), []

        async def call() -> None:
            await pace.turn()
            times.append(asyncio.get_running_loop().time())

        await asyncio.gather(*(call() for _ in range(150)))
        return times

    times = asyncio.run(run())
    # A hundred may begin at once, each further one 10 ms after the one before.
    assert times[-1] - times[0] >= 0.45
    for i in range(100, 150):
        assert (
            times[i] - times[i - 100] >= (i - 99) * 0.01 - 0.02
            or times[i] - times[0] >= (i - 99) * 0.01 - 0.02
        )


def test_the_wait_that_a_server_asks_for_is_kept(server: Server) -> None:
    server.faults = lambda asked: Fault("rate_limited", 0.4) if asked.attempt == 1 else None
    asked(server, VOTE)
    first, second = server.calls
    assert second.began - first.ended >= 0.4


def test_a_wait_that_is_asked_of_one_call_holds_for_all(server: Server) -> None:
    server.faults = lambda asked: Fault("rate_limited", 0.4) if asked.number == 1 else None

    async def run() -> None:
        async with LiveAgent("scripted", server.url, **QUICK) as agent:
            first = asyncio.create_task(agent.act(VOTE))
            while not server.calls or not server.calls[0].ended:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            await asyncio.gather(first, *(agent.act(replace(JUDGE, agent=f"j {i}")) for i in range(3)))

    asyncio.run(run())
    assert len(server.calls) == 5
    assert min(call.began for call in server.calls[1:]) - server.calls[0].ended >= 0.39


def test_no_wait_is_longer_than_the_longest_and_a_note_says_what_was_asked_for(server: Server) -> None:
    server.faults = lambda asked: Fault("rate_limited", 1_800.0) if asked.attempt == 1 else None
    start = time.monotonic()
    reply, notes = asked_with_notes(server, longest_wait=0.2)
    assert (reply.error, reply.attempts, time.monotonic() - start < 1_800) == (None, 2, True)
    assert notes["retry_after"] == "1800 s were requested by the server, but longest_wait is 0.2 s"


def test_a_server_that_has_closed_for_the_day_is_given_up_at_once(server: Server) -> None:
    server.faults = lambda asked: Fault("rate_limited", 86_400.0)
    reply, notes = asked_with_notes(server, longest_wait=60.0, backoff=1.0)
    assert (reply.error, reply.attempts) == ("rate_limited", 1)
    assert (reply.tokens_in, reply.tokens_out, reply.vote) == (0, 0, None)
    assert notes["retry_after"] == "86400 s were requested by the server; the call was abandoned"


def asked_with_notes(server: Server, **given: float) -> tuple[Reply, dict[str, str]]:
    async def run() -> tuple[Reply, dict[str, str]]:
        async with LiveAgent("scripted", server.url, **(QUICK | given)) as agent:
            return await agent.act(VOTE), agent.notes

    return asyncio.run(run())


def test_waits_double_on_average_up_to_the_cap_and_come_from_the_seed() -> None:
    rng = random.Random(1)
    means = [sum(backoff(k, 0.5, 8.0, rng) for _ in range(4_000)) / 4_000 for k in range(1, 8)]
    assert means == pytest.approx([0.25, 0.5, 1.0, 2.0, 4.0, 4.0, 4.0], rel=0.05)
    assert backoff(3, 0.5, 8.0, random.Random(5)) == backoff(3, 0.5, 8.0, random.Random(5))
    assert backoff(10**6, 0.5, 8.0, rng) <= 8.0


def test_a_wait_may_be_given_in_seconds_milliseconds_or_as_a_date() -> None:
    soon = datetime.now(UTC) + timedelta(seconds=30)
    assert seconds_asked({"retry-after": format_datetime(soon, usegmt=True)}) == pytest.approx(29.5, abs=1.0)
    assert seconds_asked({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert seconds_asked({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    for bad in ("", "soon", "-1", "nan", "inf", "Wed, 99 Xyz"):
        assert seconds_asked({"retry-after": bad}) is None


def test_an_agent_has_to_be_entered(server: Server) -> None:
    agent = LiveAgent("scripted", server.url)
    with pytest.raises(RuntimeError, match="must be entered"):
        asyncio.run(agent.act(VOTE))
    with pytest.raises(RuntimeError, match="must be entered"):
        asyncio.run(agent.check())


def test_a_cancelled_call_leaves_the_agent_usable(server: Server) -> None:
    async def run() -> None:
        async with LiveAgent("scripted", server.url, concurrency=1, **QUICK) as agent:
            server.latency_s = 5.0
            task = asyncio.create_task(agent.act(VOTE))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            server.latency_s = 0.0
            assert (await agent.act(VOTE)).error is None

    asyncio.run(run())


def checked(model: str, url: str, **given: object) -> None:
    async def run() -> None:
        async with LiveAgent(model, url, **(QUICK | given)) as agent:  # type: ignore[arg-type]
            await agent.check()

    asyncio.run(run())


def test_a_known_model_passes_the_check_without_a_chat(server: Server) -> None:
    server.models = ("scripted", "tagged:latest")
    checked("scripted", server.url)
    checked("tagged", server.url)
    assert (server.listings, server.calls) == (2, [])


def test_an_unknown_model_is_refused_with_the_first_eight_that_are_known(server: Server) -> None:
    server.models = tuple(f"m{i}" for i in range(11))
    with pytest.raises(
        Refused, match=r"got model='mistake', not one of m0, m1, .*, m7 and 3 more \(--model-as-is"
    ):
        checked("mistake", server.url)
    assert server.calls == []


def test_a_key_that_is_refused_is_one_line(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.key = "sk-right"
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(Refused, match=r"got 401 \(there is no key in it\)$"):
        checked("scripted", server.url)
    monkeypatch.setenv("OTHER_KEY", "sk-right")
    checked("scripted", server.url, key_env="OTHER_KEY")


def test_a_server_that_is_not_there_is_one_line(server: Server) -> None:
    server.stop()
    with pytest.raises(
        Refused,
        match=r"^base_url must be the address of a server that answers; got ConnectError from "
        r"http://127",
    ):
        checked("scripted", server.url)


@pytest.mark.parametrize("listed", [5, "scripted", {"id": "scripted"}, True])
def test_a_list_of_models_that_is_none_is_one_line(server: Server, listed: object) -> None:
    server.listing = {"data": listed}
    with pytest.raises(
        Refused,
        match=r"^base_url must be the address of a server that answers; got a list of models that is not a "
        r"list from ",
    ):
        checked("scripted", server.url)
    assert server.listings == 1


@pytest.mark.parametrize(
    "listing", [{}, {"data": None}, {"data": []}, [], "models", {"data": [5, {"id": 7}, {"id": "scripted"}]}]
)
def test_a_list_of_models_that_says_nothing_is_no_list(server: Server, listing: object) -> None:
    server.listing = listing
    checked("scripted", server.url)


def test_a_server_without_a_list_of_models_is_taken_at_its_word(server: Server) -> None:
    checked("scripted", server.url.replace("/v1", "/v2"))
    assert server.listings == 0


def test_the_hosted_service_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    async def run() -> None:
        async with LiveAgent("some-model"):
            pass

    with pytest.raises(Refused, match=r"needs a key; got none in the environment variable OPENAI_API_KEY$"):
        asyncio.run(run())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LiveAgent(""), "model must be the name of a model; got model=''"),
        (lambda: LiveAgent("m", "127.0.0.1:8000"), "base_url must begin with http:// or https://"),
        (
            lambda: LiveAgent("m", "http://me:secret@h/v1"),
            "base_url must hold no user, no password and no query",
        ),
        (lambda: LiveAgent("m", "http://h:99999/v1"), "base_url must be a URL"),
        (lambda: LiveAgent("m", "http://h/v1", temperature=-1), "temperature must be >= 0"),
        (lambda: LiveAgent("m", "http://h/v1", timeout=0), "timeout must be > 0; got timeout=0"),
        (lambda: LiveAgent("m", "http://h/v1", retries=-1), "retries must be >= 0"),
        (lambda: LiveAgent("m", "http://h/v1", concurrency=0), "concurrency must be >= 1"),
        (lambda: LiveAgent("m", "http://h/v1", requests_per_minute=0), "requests_per_minute must be > 0"),
        (lambda: LiveAgent("m", "http://h/v1", structured="json"), "structured must be one of 'auto'"),  # type: ignore[arg-type]
    ],
    ids=[
        "model",
        "scheme",
        "user",
        "port",
        "temperature",
        "timeout",
        "retries",
        "concurrency",
        "rpm",
        "structured",
    ],
)
def test_bad_settings_are_refused_in_one_line(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value).startswith(words)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("absent", ["openai", "aiolimiter"])
def test_a_package_that_is_not_installed_is_one_line_with_the_command(
    server: Server, monkeypatch: pytest.MonkeyPatch, absent: str
) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(
        Refused, match=rf'^a live agent needs .*; got no {absent}: pip install "d3stats\[live\]"'
    ):
        asked(server, VOTE)
    assert server.calls == []


def test_openai_is_not_imported_before_the_first_call(tmp_path: Path) -> None:
    import subprocess

    code = (
        "import sys; from d3stats.run.live import LiveAgent; LiveAgent('m', 'http://h/v1'); "
        "print(sorted({'openai', 'httpx2', 'httpx', 'aiolimiter', 'numba', 'duckdb'} & set(sys.modules)))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert said.stdout.strip() == "[]"
