"""Every dialect of a server is read or refused in words, and a budget holds whatever a server reports."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asking import ARGUE, BOTH, JUDGE, OPEN, QUICK, VOTE, asked
from layers import covering
from pace import idle_seconds
from quirks import AROUND, PARTS, Quirks
from server import Say, Server

from d3stats._words import cut
from d3stats.agent import KEPT, Refused, Reply, Request
from d3stats.log import Turn, read_log
from d3stats.protocols import protocol_from_text
from d3stats.run.items import DebateItem
from d3stats.run.live import LiveAgent
from d3stats.run.live.prompt import Wire
from d3stats.run.live.reply import Unreadable, read_reply
from d3stats.run.live.server import WINDOW_FULL, Key, _got, _refusal, listed, room_in
from d3stats.run.report import RunReport
from d3stats.run.run import run_debates


@pytest.fixture
def quirks() -> Iterator[Quirks]:
    with Quirks() as server:
        yield server


def ask(quirks: Quirks, mode: str, *requests: Request, **given: Any) -> tuple[list[Reply], LiveAgent]:
    """Ask a server of one dialect, one request after the other."""
    agent = LiveAgent("m", quirks.url(mode), **(QUICK | given))

    async def run() -> list[Reply]:
        async with agent:
            return [await agent.act(request) for request in requests]

    return asyncio.run(run()), agent


def played(quirks: Quirks, mode: str, log: Path, n: int, **given: Any) -> RunReport:
    items = [DebateItem(f"q{i}", f"question {i}?", ("this one", "that one")) for i in range(n)]

    async def run() -> RunReport:
        # A busy machine takes seconds over a huge reply.
        async with LiveAgent("m", quirks.url(mode), **(QUICK | {"timeout": 600.0})) as agent:
            return await run_debates(protocol_from_text("majority:judges=3"), items, agent, log, **given)

    return asyncio.run(run())


@pytest.mark.parametrize("mode", ["ok", *AROUND, *PARTS, "redirect"])
def test_what_a_server_puts_around_or_makes_of_a_reply_costs_no_call(quirks: Quirks, mode: str) -> None:
    replies, agent = ask(quirks, mode, VOTE, JUDGE, BOTH)
    assert [(reply.error, reply.attempts) for reply in replies] == [(None, 1)] * 3
    assert (replies[0].vote, agent.dropped) == ("B", ())


PROPOSED = replace(JUDGE, temperature=0.2)


@pytest.mark.parametrize(
    ("mode", "dropped"),
    [
        ("maxtok", ()),
        ("temp", ("temperature",)),
        ("nolengths", ("maxLength",)),
        ("toolarge", ("a limit on the reply above 150 tokens",)),
        ("range", ("a limit on the reply above 150 tokens",)),
        ("sysrole", ("the role system (its text begins the user's message)",)),
        ("alternate", ("the role system (its text begins the user's message)",)),
        ("developer", ("the role system (its text begins the user's message)",)),
    ],
)
def test_what_a_server_refuses_is_left_out_after_one_call_and_said(
    quirks: Quirks, mode: str, dropped: tuple[str, ...]
) -> None:
    replies, agent = ask(quirks, mode, PROPOSED, PROPOSED, PROPOSED)
    assert [(reply.error, reply.attempts) for reply in replies] == [(None, 2), (None, 1), (None, 1)]
    assert agent.dropped == dropped
    first, last = quirks.calls[0][1], quirks.calls[-1][1]
    changed = {
        "maxtok": {"max_tokens", "max_completion_tokens"},
        "temp": {"temperature"},
        "nolengths": {"response_format"},
        "toolarge": {"max_tokens"},
        "range": {"max_tokens"},
    }
    assert {name for name in {*first, *last} if first.get(name) != last.get(name)} == changed.get(
        mode, {"messages"}
    )
    if mode in ("toolarge", "range"):
        assert last["max_tokens"] == 150
        assert (agent.imagine(PROPOSED, "longest").tokens_out, agent.imagine(VOTE, "longest").tokens_out) == (
            150,
            150,
        )
    if dropped and dropped[0].startswith("the role"):
        (message,) = last["messages"]
        assert message["role"] == "user"
        assert message["content"] == "\n\n".join(one["content"] for one in first["messages"])


def test_a_reply_gets_the_room_that_a_full_window_leaves(quirks: Quirks) -> None:
    (reply,), _ = ask(quirks, "room", VOTE)
    assert (reply.error, reply.attempts, quirks.calls[1][1]["max_tokens"]) == (None, 2, 120)
    assert (
        room_in("maximum context length is 4096 tokens. However, you requested 5000 (4990 in the messages)")
        == -894
    )
    assert room_in("the request exceeds the available context size") is None


def test_a_redirect_to_another_host_gets_no_prompt(quirks: Quirks) -> None:
    with Quirks() as other:
        quirks.elsewhere = other.url("ok").replace("127.0.0.1", "localhost") + "/chat/completions?key=secret"
        with pytest.raises(
            Refused, match=r"which redirects to http://localhost:\d+/ok/v1/chat/completions \(nothing"
        ):
            ask(quirks, "elsewhere", VOTE)
        assert (len(quirks.calls), other.calls) == (1, [])


@pytest.mark.parametrize(
    ("mode", "model"),
    [("gemini", "m"), ("hf", "org/m"), ("hf", "org/m:together"), ("wild", "openai/x"), ("ok", "m:free")],
)
def test_a_model_is_found_under_the_name_that_its_server_lists(quirks: Quirks, mode: str, model: str) -> None:
    async def check(name: str, **given: Any) -> None:
        async with LiveAgent(name, quirks.url(mode), **given) as agent:
            await agent.check()

    asyncio.run(check(model))
    with pytest.raises(
        Refused, match=r"not one of .* \(--model-as-is, in Python model_as_is=True, asks for it"
    ):
        asyncio.run(check("another"))
    asyncio.run(check("another", model_as_is=True))


def test_a_name_without_its_tag_is_no_other_model() -> None:
    assert listed("llama3:8b", ["llama3:latest", "llama3:70b"]) is None
    assert listed("llama3", ["llama3:latest"]) == "llama3:latest"
    assert listed("a/x", ["openai/*"]) is None


def test_a_call_without_a_seed_has_none(server: Server) -> None:
    asked(server, VOTE, send_seed=False)
    asked(server, VOTE)
    assert ["seed" in call.body for call in server.calls] == [False, True]


@pytest.mark.parametrize(
    ("url", "warned"),
    [
        ("http://10.0.0.7:8000/v1", True),
        ("http://example.org/v1", True),
        ("https://example.org/v1", False),
        ("http://127.0.0.1:8000/v1", False),
        ("http://localhost:8000/v1", False),
        ("http://[::1]:8000/v1", False),
    ],
)
def test_a_key_that_others_could_read_is_warned_of(
    url: str, warned: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from d3stats.run.forecast import forecast

    monkeypatch.setenv("SOME_KEY", "sk-0123456789")
    agent = LiveAgent("m", url, key_env="SOME_KEY")
    item = DebateItem("q", "Which?", ("this", "that"), label="A")
    notes = forecast(protocol_from_text("single_judge"), [item], agent).notes
    assert [note.kind for note in notes if hasattr(note, "kind")] == ["key without encryption"] * warned
    assert not any("sk-0123456789" in note for note in notes)
    assert LiveAgent("m", url, key_env="NO_SUCH_KEY").cautions == ()


USAGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "honest": lambda usage: usage,
    "none": lambda usage: None,
    "empty": lambda usage: {},
    "a list": lambda usage: [1, 2],
    "zeros": lambda usage: dict.fromkeys(usage, 0),
    "ones": lambda usage: dict.fromkeys(usage, 1),
    "negative": lambda usage: dict.fromkeys(usage, -1),
    "half": lambda usage: {name: count // 2 for name, count in usage.items()},
    "a tenth": lambda usage: {name: count // 10 for name, count in usage.items()},
    "a third of the prompt": lambda usage: usage | {"prompt_tokens": usage["prompt_tokens"] // 3},
    "no prompt": lambda usage: usage | {"prompt_tokens": 0},
    "no completion": lambda usage: usage | {"completion_tokens": 0},
    "prompt alone": lambda usage: {"prompt_tokens": usage["prompt_tokens"]},
    "completion alone": lambda usage: {"completion_tokens": usage["completion_tokens"]},
    "total alone": lambda usage: {"total_tokens": usage["total_tokens"]},
    "no total": lambda usage: {name: count for name, count in usage.items() if name != "total_tokens"},
    "strings": lambda usage: {name: str(count) for name, count in usage.items()},
    "floats": lambda usage: {name: float(count) for name, count in usage.items()},
    "nulls": lambda usage: dict.fromkeys(usage),
    "double": lambda usage: {name: 2 * count for name, count in usage.items()},
}


@covering(kind=USAGES, budget=[6_000, 15_000])
def test_no_report_of_a_server_lets_a_run_pass_its_budget(
    quirks: Quirks, kind: str, budget: int, tmp_path: Path
) -> None:
    quirks.usage = USAGES[kind]
    report = played(quirks, "ok", tmp_path / "log.jsonl", 12, budget_tokens=budget)
    assert 0 < quirks.real <= report.charged <= budget
    assert report.closed > 0
    counts = read_log(tmp_path / "log.jsonl").turns
    if kind in ("honest", "no total"):
        assert counts["tokens_in"].sum() + counts["tokens_out"].sum() == quirks.real, (
            "an honest count is kept"
        )


def test_counts_that_can_be_true_are_recorded_as_they_are(quirks: Quirks) -> None:
    """A token of five bytes is possible, one of twenty is not."""
    quirks.usage = lambda usage: {
        name: count * 4 // 5 for name, count in usage.items() if name != "total_tokens"
    }
    (reply,), _ = ask(quirks, "ok", VOTE)
    said = quirks.usage
    assert not reply.estimated
    assert reply.charged is not None
    assert (reply.tokens_in or 0) < reply.charged[0] < 1.3 * (reply.tokens_in or 0)
    quirks.usage = lambda usage: {name: count // 5 for name, count in usage.items()}
    (reply,), agent = ask(quirks, "ok", VOTE)
    assert said is not quirks.usage
    assert reply.estimated
    assert (reply.tokens_in or 0) > sum(len(m["content"]) for m in quirks.calls[-1][1]["messages"])
    assert (reply.tokens_in or 0) <= (agent.imagine(VOTE, "longest").tokens_in or 0)


def test_thoughts_are_counted_where_the_completion_leaves_them_out() -> None:
    def tokens(**usage: Any) -> tuple[int | None, int | None]:
        got = _got({"usage": usage}, str)
        return got.tokens_in, got.tokens_out

    thought = {"completion_tokens_details": {"reasoning_tokens": 500}}
    assert tokens(prompt_tokens=100, completion_tokens=20, **thought) == (100, 520)
    assert tokens(prompt_tokens=100, completion_tokens=620, **thought) == (100, 620)
    assert tokens(prompt_tokens=100, completion_tokens=20, total_tokens=620, **thought) == (100, 520)
    assert tokens(prompt_tokens=100, total_tokens=120) == (100, 20)
    assert tokens(prompt_tokens=100, completion_tokens=20, total_tokens=0) == (100, 20)


@pytest.mark.parametrize(("mode", "error"), [("half", "connection"), ("gzip", "server_error")])
def test_bodies_that_never_decode_end_the_run_after_twenty(
    quirks: Quirks, mode: str, error: str, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    with pytest.raises(Refused, match=rf"got 2\d unreadable ones in a row, the last '{error}'"):
        played(quirks, mode, log, 50, concurrency=1)
    assert len(quirks.calls) == 20
    with pytest.raises(Refused, match=r"unreadable ones in a row"):
        played(quirks, mode, tmp_path / "other.jsonl", 50, concurrency=8)
    assert len(quirks.calls) - 20 <= 20 + 8 * 5


def test_a_huge_reply_is_cut_in_the_log_at_the_stated_length(quirks: Quirks, tmp_path: Path) -> None:
    (reply,), _ = ask(quirks, "huge", ARGUE, structured="schema")
    assert reply.error == "unreadable"
    assert reply.text is not None
    assert KEPT < len(reply.text) <= KEPT + 10
    assert reply.text.endswith(" [cut]")
    wordy = replace(ARGUE, slot=replace(ARGUE.slot, words=10_000))
    (reply,), _ = ask(quirks, "huge", wordy, structured="schema")
    assert wordy.slot.longest < len(reply.text or "") <= wordy.slot.longest + 10


def test_replies_that_are_cut_in_the_log_are_counted_in_this_run_and_in_a_resumed_one(
    quirks: Quirks, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    report = played(quirks, "huge", log, 1)
    assert report.shortened == report.votes > 0
    assert played(quirks, "huge", log, 1).shortened == report.shortened


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("A short reply that ends in the mark [cut]", 0),
        (cut("x" * 40_000, KEPT), 1),
        (cut("\u202e" * 40_000, KEPT), 1),
        ("x" * 40_000, 0),
    ],
    ids=["own words", "cut", "cut, written out", "long"],
)
def test_only_a_long_text_with_the_mark_is_one_that_was_cut(tmp_path: Path, text: str, n: int) -> None:
    report = RunReport(tmp_path / "log.jsonl")
    report.add(Turn(debate="d", round=1, agent="a", text=text), votes=False)
    assert report.shortened == n


def test_texts_have_a_length_in_schemas_and_it_is_no_shorter_than_what_is_asked_for() -> None:
    for request in (VOTE, ARGUE, OPEN):
        schema = Wire(request).schema["properties"]
        assert schema["text"]["maxLength"] == 7 * request.slot.words
    assert Wire(OPEN).schema["properties"]["vote"]["maxLength"] == 200
    assert "maxLength" not in Wire(VOTE).schema["properties"]["vote"]
    long = replace(ARGUE, slot=replace(ARGUE.slot, words=400))
    assert "maxLength" not in Wire(long).schema["properties"]["text"], (
        "llama.cpp takes no grammar of so many letters"
    )


def test_scores_are_asked_for_by_the_names_of_their_fields() -> None:
    words = Wire(JUDGE).words_for()
    assert (
        '"scores": for "answer_1" and "answer_2" the points for "relevance" and "depth", each a whole number'
        in words
    )
    assert all(f'"{side}"' in words for side in Wire(JUDGE).sides)


N = 1_000_000
CRAFTED = {
    "exceed": "exceed" * (N // 6),
    "context": "context_" * (N // 8),
    "digits": "max_tokens too large " + "9" * N,
    "roles": "role " * (N // 5),
    "braces": "{" * N,
    "brackets": "[" * N,
    "tags": "<think>" * (N // 7),
    "half tags": "<think>" + "</think>" * (N // 8),
    "fences": "```json\n" * (N // 8),
    "lines": "\n" * N,
    "blanks": " " * N,
    "quotes": '"' * N,
    "escapes": '{"text": "' + "\\\\" * (N // 2 - 10) + '"}',
    "controls": "\x1b\u202e\u200d" * (N // 3),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_megabyte_is_read_in_seconds(name: str) -> None:
    text = CRAFTED[name]
    key = Key("NO_SUCH_KEY")

    def read() -> None:
        for nonce in (None, "abc"):
            with pytest.raises(Unreadable):
                read_reply(text, Wire(VOTE), nonce)
        _refusal(400, text, {}, key)
        re.search(WINDOW_FULL, text)

    assert idle_seconds(read, tries=1) < 5


def test_a_huge_code_of_a_refusal_is_read_in_no_time() -> None:
    body = {"message": "no", "code": "exceed" * 150_000}
    assert _refusal(400, body, {}, Key("NO_SUCH_KEY")).error == "bad_request"
    assert idle_seconds(lambda: _refusal(400, body, {}, Key("NO_SUCH_KEY")), tries=1) < 0.5


def test_the_window_is_checked_with_the_servers_tokeniser_where_it_has_one(
    server: Server, tmp_path: Path
) -> None:
    """The same prompts fit or do not fit by the tokens that the server counts."""
    items = [DebateItem("q", "Which?" + " word" * 800, ("this", "that"), label="A")]
    server.script = lambda asked: Say('{"text": "x", "vote": "1"}')

    def run(name: str) -> RunReport:
        async def go() -> RunReport:
            async with LiveAgent("scripted", server.url, **QUICK) as agent:
                await agent.check()
                report = await run_debates(
                    protocol_from_text("majority:judges=1"), items, agent, tmp_path / name
                )
                assert agent.measured is (server.per_token is not None)
                return report

        return asyncio.run(go())

    server.window, server.per_token = 1500, 4.0
    report = run("fits.jsonl")
    assert (report.missing, [note for note in report.notes if "context" in note]) == ({}, [])
    server.window = 1200
    report = run("tight.jsonl")
    assert [note.kind for note in report.notes if hasattr(note, "kind")] == ["context window"]
    server.per_token = 2.0
    with pytest.raises(
        ValueError, match=r"the context window of 'scripted' must hold every prompt; got 1,200 tokens"
    ):
        run("refused.jsonl")
    server.per_token = None
    assert run("unknown.jsonl").closed == 1, "without a tokeniser only what surely cannot fit is refused"
    server.window = 500
    with pytest.raises(ValueError, match="must hold every prompt"):
        run("surely.jsonl")


def test_a_panel_whose_replies_are_all_alike_is_warned_of_once(server: Server, tmp_path: Path) -> None:
    items = [DebateItem(f"q{i}", f"question {i}?", ("this", "that"), label="A") for i in range(4)]

    def run(name: str) -> list[str]:
        async def go() -> RunReport:
            async with LiveAgent("scripted", server.url, **QUICK) as agent:
                return await run_debates(
                    protocol_from_text("majority:judges=3"), items, agent, tmp_path / name
                )

        return [note for note in asyncio.run(go()).notes if getattr(note, "kind", "") == "identical replies"]

    assert run("varied.jsonl") == []
    server.script = lambda asked: '{"text": "The first.", "vote": "1"}'
    (note,) = run("alike.jsonl")
    assert note.startswith("WARNING: all replies of a panel are word for word the same in 4 of 4 panels")
