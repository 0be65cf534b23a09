"""The key goes from the environment into one header and appears nowhere else."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from asking import BOTH, OPEN, QUICK, VOTE
from scripted import SAID
from server import Asked, Fault, Say, Server, wrap

from d3stats.agent import Refused, Reply, Request
from d3stats.log.reader import iter_records
from d3stats.log.schema import Item, Turn, Verdict
from d3stats.log.writer import LogWriter
from d3stats.protocols import protocol_from_text
from d3stats.run.items import DebateItem
from d3stats.run.live import LiveAgent
from d3stats.run.run import run_debates

KEY = "sk-Zq7-very.secret_0123456789"


@pytest.fixture
def everything(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> Callable[..., str]:
    """Play a call and a check, and return everything that was said, stored or raised, locals of tracebacks included."""
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setenv("OPENAI_LOG", "debug")
    caplog.set_level(logging.DEBUG)

    def play(*requests: Request, url: str | None = None, **given: object) -> str:
        agent = LiveAgent("scripted", url or server.url, key_env="MY_KEY", **(QUICK | given))  # type: ignore[arg-type]
        found: list[object] = [agent, vars(agent), agent.settings]

        async def run() -> list[Reply]:
            async with agent:
                await agent.check()
                return [await agent.act(request) for request in requests or (VOTE, BOTH)]

        replies: list[Reply] = []
        try:
            replies = asyncio.run(run())
        except Exception as error:
            told = traceback.TracebackException.from_exception(error, capture_locals=True)
            found += [error, *told.format(chain=True), vars(error)]
            while error.__context__ is not None:
                error = error.__context__  # type: ignore[assignment]
                told = traceback.TracebackException.from_exception(error, capture_locals=True)
                found += [repr(error), *told.format(chain=True), vars(error)]
        with LogWriter(tmp_path / "log.jsonl", fsync="never") as log:
            log.write(Item(debate="d1", question="q1"))
            for reply in replies:
                log.write(
                    Turn(debate="d1", round=1, agent="j", text=reply.text, vote=reply.vote, model=reply.model)
                )
        found += [replies, agent.notes, agent.dropped, caplog.text, repr(agent)]
        found += [path.read_text() for path in tmp_path.iterdir()]
        return "\n".join(map(str, found))

    return play


def test_the_key_is_sent_and_shown_nowhere(
    server: Server, everything: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    server.key = KEY
    said = everything()
    assert "error=None" in said
    assert len(server.calls) == 2
    out = capfd.readouterr()
    assert KEY not in said + out.out + out.err
    assert KEY not in json.dumps([call.body for call in server.calls])
    assert [call.headers["authorization"] for call in server.calls] == [f"Bearer {KEY}"] * 2


@pytest.mark.parametrize("kind", ["server_error", "rate_limited", "reset", "half_body", "bad_json", "slow"])
def test_no_failure_shows_the_key(server: Server, everything: Callable[..., str], kind: str) -> None:
    server.key = KEY
    server.faults = lambda asked: Fault(kind, 2.0 if kind == "slow" else 0.0)
    said = everything(retries=1, timeout=0.3)
    assert "error='" in said
    assert KEY not in said


def test_a_refused_key_is_not_shown_although_the_server_repeats_it(
    server: Server, everything: Callable[..., str]
) -> None:
    server.key = "sk-another"
    said = everything()
    assert "Refused" in said
    assert KEY not in said


def test_a_server_that_puts_the_key_into_its_errors_and_replies_is_not_repeated(
    server: Server, everything: Callable[..., str]
) -> None:
    def script(asked: Asked) -> str:
        key = asked.headers["authorization"].removeprefix("Bearer ")
        return wrap(asked, {"text": f"Your key is {key}.", "vote": "1"})

    server.script = script
    said = everything()
    assert "Your key is [not shown]." in said
    assert KEY not in said
    server.models = ("scripted", KEY)
    server.lacks = ("seed",)
    assert KEY not in everything()


@pytest.mark.parametrize("escaped", [False, True])
def test_a_server_that_repeats_the_key_as_its_model_or_as_a_vote_is_not_repeated(
    server: Server, everything: Callable[..., str], escaped: bool
) -> None:
    def script(asked: Asked) -> Say:
        given = asked.headers["authorization"]
        value = {"text": "", "vote": given} if asked.agent == OPEN.agent else {"text": "", "vote": "1"}
        # JSON has more than one way to write it.
        content = wrap(asked, value).replace("sk-", "\\u0073k-") if escaped else wrap(asked, value)
        return Say(content, model=given)

    server.script = script
    for structured in ("schema", "text"):
        said = everything(OPEN, structured=structured)
        assert "vote='Bearer [not shown]'" in said
        assert "model='Bearer [not shown]'" in said
        assert KEY not in said


def test_a_debate_that_is_decided_for_the_key_does_not_name_it(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)

    def script(asked: Asked) -> Say:
        given = asked.headers["authorization"]
        return Say(wrap(asked, {"text": f"I heard {given}.", "vote": given}), model=given)

    async def run() -> None:
        async with LiveAgent("scripted", server.url, key_env="MY_KEY", **QUICK) as agent:
            await run_debates(
                protocol_from_text("majority"),
                [DebateItem("q1", "Which word?")],
                agent,
                tmp_path / "log.jsonl",
            )

    server.script = script
    asyncio.run(run())
    records = list(iter_records(tmp_path / "log.jsonl"))
    turns = [record for record in records if isinstance(record, Turn)]
    (verdict,) = (record for record in records if isinstance(record, Verdict))
    assert {turn.vote for turn in turns} == {turn.model for turn in turns} == {"Bearer [not shown]"}
    assert verdict.decision == "Bearer [not shown]"
    for path in tmp_path.iterdir():
        assert KEY not in path.read_text()


def test_a_refusal_an_unreadable_reply_and_a_list_of_models_with_the_key_in_it_are_not_repeated(
    server: Server, everything: Callable[..., str]
) -> None:
    server.script = lambda asked: Say(f"I know {KEY}.", model=KEY)
    said = everything()
    assert "error='unreadable'" in said
    assert "I know [not shown]." in said
    assert KEY not in said
    server.script = lambda asked: Say(None, refusal=f"Not with {KEY}.")
    said = everything()
    assert "Not with [not shown]." in said
    assert KEY not in said
    # Refused in the middle of a call: what was said before stands in the traceback.
    server.script = lambda asked: f"I know {KEY}."
    server.faults = lambda asked: Fault("no_quota") if asked.attempt == 2 else None
    said = everything()
    assert "must have credit" in said
    assert "I know [not shown]." in said
    assert KEY not in said
    server.models = ("other", KEY)
    said = everything()
    assert "not one of other, [not shown]" in said
    assert KEY not in said


def test_an_unknown_model_and_a_dead_server_show_no_key(
    server: Server, everything: Callable[..., str]
) -> None:
    server.models = ("other",)
    said = everything()
    assert "Refused" in said
    assert KEY not in said
    server.stop()
    said = everything()
    assert "ConnectError" in said
    assert KEY not in said


@pytest.mark.parametrize("bad", [f"{KEY}\nX-Other: 1", f"{KEY} {KEY}", f"{KEY}é", f"{KEY}\x00"[:-1] + "\x01"])
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(
    server: Server, everything: Callable[..., str], monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    monkeypatch.setenv("MY_KEY", bad)
    said = everything()
    assert "the key in MY_KEY must be printable ASCII without blanks" in said
    assert KEY not in said
    assert server.calls == []


def test_a_line_end_after_the_key_is_not_part_of_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.key = KEY
    monkeypatch.setenv("MY_KEY", f"  {KEY}\n")

    async def run() -> Reply:
        async with LiveAgent("scripted", server.url, key_env="MY_KEY", **QUICK) as agent:
            return await agent.act(VOTE)

    assert asyncio.run(run()).error is None


@pytest.mark.parametrize(
    "url", [f"http://me:{KEY}@127.0.0.1/v1", f"http://127.0.0.1/v1?key={KEY}", f"http://127.0.0.1/v1#{KEY}"]
)
def test_a_key_in_a_url_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ValueError, match="put keys into an environment variable") as caught:
        LiveAgent("m", url)
    assert KEY not in str(caught.value)


def test_other_environment_variables_are_not_taken_for_the_key(
    server: Server, everything: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-this-server")
    everything()
    assert {call.headers["authorization"] for call in server.calls} == {f"Bearer {KEY}"}
    monkeypatch.delenv("MY_KEY")
    server.reset()
    everything()
    assert {call.headers["authorization"] for call in server.calls} == {"Bearer none"}


def test_a_refusal_carries_no_other_error_along(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    server.key = "sk-another"

    async def run() -> None:
        async with LiveAgent("scripted", server.url, key_env="MY_KEY", **QUICK) as agent:
            await agent.act(VOTE)

    with pytest.raises(Refused) as caught:
        asyncio.run(run())
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("now", [None, "", "sk-another-key", "bad key\n with blanks"])
def test_the_key_that_was_sent_stays_hidden_whatever_the_environment_holds_later(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, now: str | None
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    server.script = lambda asked: Say(wrap(asked, {"text": f"I know {KEY}.", "vote": KEY}), model=KEY)

    def faults(asked: Asked) -> Fault | None:
        if now is None:
            monkeypatch.delenv("MY_KEY", raising=False)
        else:
            monkeypatch.setenv("MY_KEY", now)
        return Fault("echo") if asked.attempt <= 2 else None

    monkeypatch.setitem(SAID, "echo", (500, {"error": {"message": f"Your key is {KEY}"}}))
    server.faults = faults
    said: list[object] = []

    async def run() -> None:
        async with LiveAgent("scripted", server.url, key_env="MY_KEY", **QUICK) as agent:
            log = tmp_path / "log.jsonl"
            report = await run_debates(
                protocol_from_text("majority"), [DebateItem("q1", "Which word?")], agent, log
            )
            said.extend([agent.notes, report, report.to_dict()])
            server.key = "sk-only-this"
            with pytest.raises(Refused) as caught:
                await agent.act(OPEN)
            said.append(str(caught.value))

    asyncio.run(run())
    assert KEY not in repr(said)
    assert "Your key is [not shown]" in repr(said)
    for path in tmp_path.iterdir():
        assert KEY not in path.read_text()
    assert "[not shown]" in (tmp_path / "log.jsonl").read_text()


def test_a_key_at_the_place_where_long_words_are_cut_is_hidden_whole(
    server: Server, everything: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for blanks in range(1000 - len(KEY), 1001, 4):
        monkeypatch.setitem(SAID, "long", (400, f"{' ' * blanks}{KEY} is no key".encode()))
        server.faults = lambda asked: Fault("long")
        said = everything(VOTE)
        assert KEY[:8] not in said
