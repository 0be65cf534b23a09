"""Each way in which a call can fail, over real HTTP: what is asked again, what is recorded, what is charged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from asking import BOTH, EXPERTS, JUDGE, MODERATE, OPEN, QUICK, VOTE, asked, at_once, render
from layers import covering
from scripted import SAID
from server import KINDS, Asked, Fault, Say, Server, at_random, wrap

from d3stats.agent import Refused, Request
from d3stats.run.live import LiveAgent
from d3stats.run.live.prompt import Bounds, Wire
from d3stats.run.live.server import _got, _no_reply

BOUNDS = Bounds(2.0, 0)


def first_fails(kind: str, seconds: float = 0.0) -> Callable[[Asked], Fault | None]:
    return lambda asked: Fault(kind, seconds) if asked.attempt == 1 else None


def most(request: Request) -> tuple[int, int]:
    """Return the bound of one attempt in schema mode: tokens in and out."""
    wire = Wire(request)
    return BOUNDS.most_in(render(request), wire), BOUNDS.most_out(wire)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("slow", "refusal")])
def test_one_failure_costs_no_vote(server: Server, kind: str) -> None:
    (clean,) = asked(server, VOTE)
    server.reset()
    server.faults = first_fails(kind)
    (reply,) = asked(server, VOTE)
    assert reply.error is None
    assert reply.vote in ("A", "B", "tie")
    assert reply.attempts == len(server.calls) == (1 if kind == "no_usage" else 2)
    if kind not in ("wrong_schema", "not_json", "length"):
        assert reply.vote == clean.vote


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("rate_limited", "rate_limited"),
        ("server_error", "server_error"),
        ("reset", "connection"),
        ("half_body", "connection"),
        ("bad_json", "server_error"),
        ("empty_choices", "empty"),
        ("empty_content", "empty"),
        ("error_body", "server_error"),
        ("list_body", "server_error"),
        ("bad_gateway", "server_error"),
        ("gateway_timeout", "server_error"),
    ],
)
def test_what_fails_every_time_is_a_missing_vote_with_its_reason(
    server: Server, kind: str, error: str
) -> None:
    server.faults = lambda asked: Fault(kind)
    (reply,) = asked(server, BOTH, retries=3)
    assert (reply.vote, reply.scores, reply.text) == (None, None, None)
    assert reply.error == error
    assert reply.attempts == len(server.calls) == 4


@pytest.mark.parametrize(
    ("kind", "error"), [("wrong_schema", "unreadable"), ("not_json", "unreadable"), ("length", "length")]
)
@pytest.mark.parametrize("structured", ["schema", "text"])
def test_one_repair_and_then_a_missing_vote(server: Server, kind: str, error: str, structured: str) -> None:
    server.faults = lambda asked: Fault(kind)
    (reply,) = asked(server, BOTH, structured=structured)
    assert (reply.vote, reply.scores, reply.error) == (None, None, error)
    assert reply.attempts == len(server.calls) == 2
    assert reply.text is not None, "what was said is kept, though nothing could be read from it"


def test_the_repair_says_what_was_wrong_and_quotes_nothing(server: Server) -> None:
    server.script = lambda asked: wrap(
        asked, {"text": "SECRET WORDS", "vote": "3" if asked.attempt == 1 else "2"}
    )
    (reply,) = asked(server, VOTE)
    assert (reply.vote, reply.error) == ("A", None)
    first, second = (call.body["messages"] for call in server.calls)
    note = second[1]["content"].removeprefix(first[1]["content"])
    assert "vote must be one of those that were named" in note
    assert "SECRET WORDS" not in note
    assert 0 < len(note) < len(second[1]["content"])
    assert first[0] == second[0]


def test_a_refusal_is_recorded_and_not_asked_again(server: Server) -> None:
    server.faults = lambda asked: Fault("refusal")
    (reply,) = asked(server, VOTE)
    assert (reply.vote, reply.error, reply.attempts) == (None, "refused_content", 1)
    assert reply.text == "I cannot help with that."


def test_a_filtered_reply_is_a_refusal(server: Server) -> None:
    server.script = lambda asked: Say('{"text": "", "vote": "1"}', finish_reason="content_filter")
    (reply,) = asked(server, VOTE)
    assert (reply.vote, reply.error) == (None, "refused_content")


def test_a_time_out_is_over_the_whole_attempt_and_charged_at_its_most(server: Server) -> None:
    server.faults = first_fails("slow", 5.0)
    (reply,) = asked(server, VOTE, timeout=0.3)
    assert (reply.error, reply.attempts, reply.estimated) == (None, 2, True)
    told = server.calls[1]
    assert (reply.tokens_in, reply.tokens_out) == (
        told.tokens_in + most(VOTE)[0],
        told.tokens_out + most(VOTE)[1],
    )


@pytest.mark.parametrize(
    "kind",
    ["reset", "half_body", "bad_json", "bad_gateway", "gateway_timeout", "server_error", "made_500"],
)
def test_a_reply_that_was_lost_is_charged_at_its_most(server: Server, kind: str) -> None:
    server.faults = first_fails(kind)
    (reply,) = asked(server, VOTE)
    told = server.calls[1]
    assert reply.estimated
    assert (reply.tokens_in, reply.tokens_out) == (
        told.tokens_in + most(VOTE)[0],
        told.tokens_out + most(VOTE)[1],
    )


@pytest.mark.parametrize("kind", ["rate_limited", "unavailable", "error_body", "list_body"])
def test_a_call_that_was_turned_away_costs_nothing(server: Server, kind: str) -> None:
    server.faults = first_fails(kind)
    (reply,) = asked(server, VOTE)
    assert not reply.estimated
    assert (reply.tokens_in, reply.tokens_out) == (server.calls[1].tokens_in, server.calls[1].tokens_out)


@pytest.mark.parametrize("kind", ["wrong_schema", "not_json", "empty_choices", "empty_content", "length"])
def test_a_useless_reply_is_paid_as_the_server_counts_it(server: Server, kind: str) -> None:
    server.faults = first_fails(kind)
    (reply,) = asked(server, VOTE)
    assert not reply.estimated
    count = server.count()
    assert (reply.tokens_in, reply.tokens_out) == (count["tokens_in"], count["tokens_out"])


def test_usage_that_is_missing_is_estimated_from_above_and_marked(server: Server) -> None:
    server.faults = lambda asked: Fault("no_usage")
    (reply,) = asked(server, VOTE)
    (call,) = server.calls
    assert reply.estimated
    assert reply.tokens_in == most(VOTE)[0] >= call.tokens_in
    assert most(VOTE)[1] >= reply.tokens_out >= call.tokens_out


def test_usage_that_is_no_count_is_missing_usage(server: Server) -> None:
    from d3stats.run.live.server import _tokens

    assert _tokens({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}) == (10, 3)
    assert _tokens({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 20}) == (10, 10)
    for bad in (-1, 2.5, "7", True, None, 10**15):
        assert _tokens({"prompt_tokens": bad, "completion_tokens": 3}) == (None, 3)
    assert _tokens([]) == _tokens(None) == (None, None)


def test_cached_prompt_tokens_are_read_from_the_usage() -> None:
    from d3stats.run.live.server import Got, Key, reply_of

    for details, cached in (
        ({"cached_tokens": 6}, 6),
        ({"cached_tokens": 0}, 0),
        ({"cached_tokens": 60}, 10),
        ({"cached_tokens": "6"}, None),
        ({"audio_tokens": 0}, None),
        (None, None),
    ):
        usage = {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": details}
        body = {"choices": [{"message": {"content": "Yes."}}], "usage": usage}
        got = reply_of(json.dumps(body).encode(), Key("SOME_KEY"))
        assert isinstance(got, Got)
        assert (got.tokens_in, got.tokens_out, got.tokens_cached) == (10, 3, cached)


def test_the_cached_tokens_of_all_attempts_are_in_the_reply(server: Server) -> None:
    server.cached = 5
    server.faults = first_fails("empty_content")
    (reply,) = asked(server, VOTE)
    assert (reply.attempts, reply.tokens_cached) == (2, 10)


def test_an_error_under_the_status_of_success_is_kept_as_a_note(server: Server) -> None:
    server.faults = first_fails("error_body")

    async def run() -> dict[str, str]:
        async with LiveAgent("scripted", server.url, **QUICK) as agent:
            assert (await agent.act(VOTE)).error is None
            return agent.notes

    assert asyncio.run(run()) == {"server_error": "the model is overloaded"}


def test_an_error_beside_a_count_or_a_reply_is_paid_as_counted() -> None:
    counted = {"prompt_tokens": 7, "completion_tokens": 2}
    for value in (
        {"error": {"message": "cut"}, "usage": counted},
        {"error": None, "usage": counted},
        {"usage": counted},
    ):
        assert _no_reply(value) is None
        assert (_got(value, str).tokens_in, _got(value, str).tokens_out) == (7, 2)
    assert _no_reply({"error": "gone"}) == "gone"
    for value in ([], "text", 5, None, True):
        assert _no_reply(value) == "the body is not a JSON object"


def test_each_further_attempt_has_to_be_allowed(server: Server) -> None:
    wanted: list[tuple[int, int]] = []

    def more(bound: int, spent: int) -> bool:
        wanted.append((bound, spent))
        return len(wanted) < 2

    server.faults = lambda asked: Fault("unavailable")
    (reply,) = asked(server, VOTE, more=more)
    assert (reply.error, reply.attempts, len(server.calls)) == ("budget", 2, 2)
    assert wanted == [(sum(most(VOTE)), 0)] * 2


def test_what_the_attempts_so_far_cost_is_told_before_a_further_one(server: Server) -> None:
    told: list[int] = []

    def more(bound: int, spent: int) -> bool:
        told.append(spent)
        return True

    plan = {1: "unavailable", 2: "bad_json", 3: "not_json"}
    server.faults = lambda asked: Fault(plan[asked.attempt]) if asked.attempt in plan else None
    (reply,) = asked(server, VOTE, more=more)
    assert (reply.error, reply.attempts) == (None, 4)
    third = server.calls[2].tokens_in + server.calls[2].tokens_out
    assert told == [0, sum(most(VOTE)), sum(most(VOTE)) + third]


@pytest.mark.parametrize("kind", ["not_json", "bad_json"])
def test_a_refusal_after_paid_attempts_says_what_they_cost(server: Server, kind: str) -> None:
    server.faults = lambda asked: Fault(kind if asked.attempt == 1 else "no_quota")
    with pytest.raises(Refused, match=r"^the account at .* must have credit") as caught:
        asked(server, VOTE)
    first = server.calls[0]
    paid = (first.tokens_in, first.tokens_out) if kind == "not_json" else most(VOTE)
    assert caught.value.tokens == paid
    server.faults = lambda asked: Fault("no_quota")
    with pytest.raises(Refused) as caught:
        asked(server, VOTE)
    assert caught.value.tokens == (0, 0)


def test_a_repair_has_to_be_allowed(server: Server) -> None:
    server.faults = lambda asked: Fault("not_json")
    (reply,) = asked(server, VOTE, more=lambda bound, spent: False)
    assert (reply.error, reply.vote, reply.attempts) == ("budget", None, 1)


def test_a_server_without_structured_output_is_asked_in_text_from_then_on(server: Server) -> None:
    server.json_schema = False
    replies = asked(server, VOTE, BOTH, OPEN, EXPERTS)
    assert [reply.error for reply in replies] == [None] * 4
    assert [reply.attempts for reply in replies] == [2, 1, 1, 1]
    assert ["response_format" in call.body for call in server.calls] == [True, False, False, False, False]


def test_a_server_that_ignores_schemas_is_asked_in_text_after_two_replies_in_prose_and_no_vote_is_lost(
    server: Server,
) -> None:
    server.ignores_schema = True
    replies = asked(server, VOTE, VOTE, VOTE)
    assert [reply.error for reply in replies] == [None, None, None]
    assert ["response_format" in call.body for call in server.calls] == [True, True, False, False, False]


def test_one_bad_reply_does_not_change_how_a_good_server_is_asked(server: Server) -> None:
    server.faults = lambda asked: Fault("not_json") if asked.number > 1 else None
    asked(server, VOTE, VOTE, VOTE, VOTE)
    assert all("response_format" in call.body for call in server.calls)


def test_structured_text_never_sends_a_schema_and_schema_never_falls_back(server: Server) -> None:
    (reply,) = asked(server, VOTE, structured="text")
    assert (reply.error, "response_format" in server.calls[-1].body) == (None, False)
    server.json_schema = False
    (reply,) = asked(server, VOTE, structured="schema")
    assert (reply.error, reply.attempts) == ("bad_request", 1)


def test_a_server_without_seeds_gets_none(server: Server) -> None:
    server.lacks = ("seed",)
    replies = asked(server, VOTE, VOTE)
    assert [(reply.error, reply.attempts) for reply in replies] == [(None, 2), (None, 1)]


def test_the_limit_goes_by_the_name_that_the_server_takes(server: Server) -> None:
    server.lacks = ("max_tokens",)
    replies = at_once(server, [VOTE, JUDGE, BOTH])
    assert [reply.error for reply in replies] == [None] * 3
    assert "max_completion_tokens" in server.calls[-1].body
    server.lacks = ("max_tokens", "max_completion_tokens")
    (reply,) = asked(server, VOTE)
    assert (reply.error, reply.attempts) == ("bad_request", 2)


def test_a_temperature_that_is_not_taken_is_an_error_and_not_left_out(server: Server) -> None:
    server.lacks = ("temperature",)
    (reply,) = asked(server, VOTE, temperature=0.3)
    assert (reply.error, reply.vote, reply.attempts) == ("bad_request", None, 1)
    (reply,) = asked(server, VOTE)
    assert reply.error is None


def test_a_key_or_a_model_that_is_refused_in_a_run_ends_it(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.key = "sk-right"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-key")
    with pytest.raises(
        Refused, match=r"^the key in OPENAI_API_KEY must be one that http://127.0.0.1:\d+/v1 takes; got 401$"
    ):
        asked(server, VOTE)
    server.key, server.models = None, ("other",)
    with pytest.raises(Refused, match=r"^model must be one that .* has; got model='scripted' and 404"):
        asked(server, VOTE)


def test_what_may_be_withheld_is_no_error(server: Server) -> None:
    server.script = lambda asked: wrap(asked, {"text": "Go on.", "vote": None})
    (reply,) = asked(server, MODERATE)
    assert (reply.vote, reply.error, reply.attempts) == (None, None, 1)
    (reply,) = asked(server, OPEN)
    assert (reply.vote, reply.error) == (None, "unreadable")


def test_a_list_comes_back_as_lines(server: Server) -> None:
    server.script = lambda asked: wrap(asked, {"list": ["a  physicist", "a\nchemist", "a cook"]})
    (reply,) = asked(server, EXPERTS)
    assert (reply.text, reply.error) == ("a physicist\na chemist\na cook", None)


def test_under_many_faults_every_request_gets_a_vote_or_a_reason_and_pays_what_it_cost(
    server: Server,
) -> None:
    from dataclasses import replace

    kinds = [*(kind for kind in KINDS if kind != "slow"), *(kind for kind in SAID if kind != "no_quota")]
    server.faults = at_random(0.4, kinds, seed=3)
    requests = [replace(request, agent=f"{request.agent} {i}") for i in range(60) for request in (VOTE, BOTH)]
    replies = at_once(server, requests, concurrency=8, retries=2)
    assert server.errors == []
    assert all((reply.error is None) == (reply.vote is not None) for reply in replies)
    count = server.count()
    assert sum(reply.attempts for reply in replies) == count["calls"]
    assert sum(reply.tokens_in or 0 for reply in replies) >= count["tokens_in"]
    assert sum(reply.tokens_out or 0 for reply in replies) >= count["tokens_out"]
    exact = [reply for reply in replies if not reply.estimated]
    keys = {
        f"d1/{request.round}/{request.agent}/{request.act}"
        for request, reply in zip(requests, replies, strict=True)
        if not reply.estimated
    }
    told = [call for call in server.calls if call.charged and call.key in keys]
    assert sum(reply.tokens_in or 0 for reply in exact) == sum(call.tokens_in for call in told)
    assert len(exact) > 60


def test_a_server_that_names_json_object_in_a_500_gets_the_schema_beside_that_type(server: Server) -> None:
    server.object_only = True
    replies = asked(server, VOTE, BOTH, OPEN, EXPERTS)
    assert [reply.error for reply in replies] == [None] * 4
    assert [reply.attempts for reply in replies] == [2, 1, 1, 1]
    forms = [call.body["response_format"]["type"] for call in server.calls]
    assert forms == ["json_schema", *["json_object"] * 4]
    assert [reply.estimated for reply in replies] == [False] * 4, "a refused parameter costs nothing"


def test_a_server_that_takes_the_type_and_ignores_the_schema_is_asked_in_text_after_two_replies(
    server: Server,
) -> None:
    server.object_only = server.ignores_object = True
    replies = asked(server, VOTE, VOTE, VOTE)
    assert [reply.error for reply in replies] == [None, None, None]
    assert "response_format" not in server.calls[-1].body


def test_a_server_that_takes_only_the_bare_type_gets_the_schema_in_the_prompt(server: Server) -> None:
    server.plain_object_only = True

    async def run() -> tuple[list[int], tuple[str | None, ...]]:
        async with LiveAgent("scripted", server.url, **QUICK) as agent:
            bounds = [agent.imagine(request, "longest").tokens_in or 0 for request in (VOTE, BOTH, EXPERTS)]
            replies = [await agent.act(request) for request in (VOTE, BOTH, EXPERTS)]
            assert [reply.error for reply in replies] == [None] * 3
            assert all((r.tokens_in or 0) <= bound for r, bound in zip(replies, bounds, strict=True))
            return [reply.attempts for reply in replies], (agent.form, *agent.dropped)

    attempts, said = asyncio.run(run())
    assert attempts == [3, 1, 1]
    assert said == ("json_object", "json_schema")
    forms = [call.body["response_format"] for call in server.calls]
    assert [set(form) for form in forms[:3]] == [{"type", "json_schema"}, {"type", "schema"}, {"type"}]
    assert all("JSON schema: {" in call.body["messages"][0]["content"] for call in server.calls[2:])


@pytest.mark.parametrize("form", ["json_schema", "json_object with the schema", "json_object", "text"])
def test_the_report_says_once_how_votes_were_asked_for(server: Server, tmp_path: Path, form: str) -> None:
    from d3stats.protocols import protocol_from_text
    from d3stats.run.items import DebateItem
    from d3stats.run.run import run_debates

    server.object_only = form == "json_object with the schema"
    server.plain_object_only, server.json_schema = form == "json_object", form != "text"
    items = [DebateItem(f"q{i}", f"question {i}?", ("this", "that")) for i in range(12)]

    async def run() -> str | None:
        async with LiveAgent("scripted", server.url, **QUICK) as agent:
            protocol = protocol_from_text("single_judge")
            report = await run_debates(protocol, items, agent, tmp_path / "log.jsonl")
            assert report.missing == {}
            return report.structured

    assert asyncio.run(run()) == form
    journal = map(json.loads, (tmp_path / "log.calls.jsonl").read_text().splitlines())
    assert [entry["structured"] for entry in journal if "structured" in entry] == [form]


def test_a_refused_parameter_costs_one_call_though_the_server_loads_first(server: Server) -> None:
    from dataclasses import replace

    server.latency_s, server.lacks, server.loading = 0.05, ("seed",), 3
    replies = at_once(server, [replace(VOTE, agent=f"juror {i}") for i in range(12)], concurrency=12)
    assert [reply.error for reply in replies] == [None] * 12
    assert len(server.calls) == 12 + 1


@pytest.mark.parametrize("structured", ["schema", "text"])
def test_only_auto_falls_back_to_json_object(server: Server, structured: str) -> None:
    server.object_only = True
    (reply,) = asked(server, VOTE, structured=structured, retries=1)
    assert (reply.error, reply.attempts) == (("server_error", 2) if structured == "schema" else (None, 1))


@covering(
    lacks=[("seed",), ("max_tokens",), ("seed", "max_tokens"), ()],
    form=["json_schema", "json_object", "none"],
)
def test_what_a_server_does_not_take_is_found_out_once_however_many_calls_begin_together(
    server: Server, lacks: tuple[str, ...], form: str
) -> None:
    from dataclasses import replace

    server.lacks, server.latency_s = lacks, 0.02
    server.json_schema, server.object_only = form != "none", form == "json_object"
    requests = [replace(VOTE, agent=f"juror {i}") for i in range(16)]
    replies = at_once(server, requests, concurrency=16)
    assert [reply.error for reply in replies] == [None] * 16
    assert len(server.calls) == 16 + len(lacks) + (form != "json_schema")


def noted(
    server: Server, *requests: Request, **given: object
) -> tuple[list[str | None], dict[str, str], list[int]]:
    """Return errors, notes and attempts of one agent, after it has looked at the list of models."""

    async def run() -> tuple[list[str | None], dict[str, str], list[int]]:
        async with LiveAgent("scripted", server.url, **(QUICK | given)) as agent:  # type: ignore[arg-type]
            await agent.check()
            replies = [await agent.act(request) for request in requests]
            return [reply.error for reply in replies], agent.notes, [reply.attempts for reply in replies]

    return asyncio.run(run())


def test_a_prompt_that_does_not_fit_the_window_says_so_in_the_servers_words(server: Server) -> None:
    server.window = 50
    errors, notes, attempts = noted(server, VOTE)
    assert (errors, attempts) == (["context_full"], [1])
    assert notes["context_full"].startswith("the request exceeds the available context size")


@pytest.mark.parametrize("told", [True, False])
def test_a_reply_that_is_cut_off_by_the_window_is_told_from_one_that_is_cut_off_by_its_limit(
    server: Server, told: bool
) -> None:
    asked(server, VOTE)
    used = server.calls[-1].tokens_in
    server.reset()
    server.window, server.tells_window = used + 5, told
    errors, notes, attempts = noted(server, VOTE)
    assert errors == ["context_full"]
    # Where the window is not known the repair finds out that a longer prompt does not fit.
    assert attempts[0] == (1 if told else 2)
    error = "context_full" if told else "length"
    assert notes[error].startswith("cut off after 5 tokens of the")
    assert "window" in notes[error]


def test_a_reply_as_long_as_its_limit_was_cut_off_by_it(server: Server) -> None:
    server.window = 100_000
    server.script = lambda asked: Say("x" * 4 * asked.body["max_tokens"], finish_reason="length")
    errors, notes, _ = noted(server, VOTE)
    assert errors == ["length"]
    assert notes["length"] == f"cut off at the {most(VOTE)[1]} that were allowed"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (
            400,
            {
                "error": {
                    "code": 400,
                    "message": "the request exceeds the available context size (1055 > 1024)",
                }
            },
        ),
        (400, {"error": {"message": "request too large", "code": "context_length_exceeded"}}),
        (400, {"error": {"message": "request too large", "type": "exceed_context_size_error"}}),
        (
            400,
            {
                "object": "error",
                "message": "This model's maximum context length is 4096 tokens. However, ...",
            },
        ),
        (500, {"error": {"message": "Requested tokens (5000) exceed context window of 2048"}}),
        (400, {"error": {"message": "litellm.ContextWindowExceededError: OpenAIException", "code": "400"}}),
    ],
)
def test_every_servers_words_for_a_full_window_are_one_error(
    server: Server, status: int, body: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SAID, "full", (status, body))
    server.faults = lambda asked: Fault("full")
    (reply,) = asked(server, VOTE)
    assert (reply.error, reply.attempts, reply.tokens_in) == ("context_full", 1, 0)


def test_the_check_waits_for_a_server_that_loads_and_says_so(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("d3stats.run.live.agent.LOADING", 0.01)
    said: list[str] = []

    async def check(wait: float) -> None:
        async with LiveAgent("scripted", server.url, **QUICK) as agent:
            await agent.check(wait, said.append)

    server.loading = 8
    asyncio.run(check(20.0))
    assert len(said) == 8
    assert said[0] == f"waiting for {server.url}: Loading model (0 of 20 s)"
    server.loading = 100
    with pytest.raises(Refused, match=r"got Loading model from"):
        asyncio.run(check(0.05))


def test_a_server_that_still_loads_was_not_asked(server: Server) -> None:
    server.loading = 3
    (reply,) = asked(server, VOTE)
    assert (reply.error, reply.estimated, reply.attempts) == (None, False, 4)
    server.loading = 100
    (reply,) = asked(server, VOTE, retries=2)
    assert (reply.error, reply.tokens_in, reply.tokens_out) == ("loading", 0, 0)
    server.stop()
    (reply,) = asked(server, VOTE, retries=2)
    assert (reply.error, reply.tokens_in, reply.tokens_out) == ("unreachable", 0, 0)
