"""A live LLM: ask, wait, ask again if need be, read, and count what it cost."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from types import TracebackType
from typing import Any, Literal, Self, cast, get_args
from urllib.parse import quote

from d3stats._check import choice, integer, number
from d3stats._words import storable
from d3stats.agent import More, Refused, Reply, Request, Size, always
from d3stats.run.live.limits import Pace, backoff
from d3stats.run.live.prompt import Bounds, Draft, Prompt, Wire, call_key
from d3stats.run.live.reply import Unreadable, read_reply
from d3stats.run.live.transport import HOSTED, Failed, Got, Transport, checked_url

__all__ = ["Dialect", "LiveAgent", "Structured"]

Structured = Literal["auto", "schema", "text"]
"""How a slot is asked for: as a JSON schema, as a last line of text, or as the server turns out to support."""

OBJECT = "json_object"
"""What some servers call structured output; they take a schema beside it."""

REFUSALS = (400, 422, 500)
"""Statuses under which servers refuse a parameter; llama-cpp-python says 500."""

MISSES = 3
"""So many replies in a row that are no object, and none that was, and a server is taken to ignore schemas."""

SCHEMA_WORDS = ("response_format", "json_schema", "structured output", "guided")
OTHER_LIMIT = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
NOT_TAKEN = ("support", "unknown", "unrecognized", "extra", "unexpected", "not permitted")


@dataclass
class Dialect:
    """One server's dialect, learned once per run.

    Attributes
    ----------
    structured : {"auto", "schema", "text"}
    limit : str
        Name of the limit on a reply's tokens.
    as_text : bool
        Whether slots are asked for as a last line.
    as_object : bool
        Whether a schema is sent beside the type ``json_object``, for servers that do not know ``json_schema``.
    seeds : bool
        Whether seeds are sent.
    """

    structured: Structured
    limit: str
    as_text: bool = False
    as_object: bool = False
    seeds: bool = True
    worked: bool = False
    misses: int = 0
    renamed: bool = False

    def __post_init__(self) -> None:
        self.as_text = self.structured == "text"

    @property
    def mode(self) -> bool | None:
        """Whether slots are asked for as a last line; None when that may still change."""
        return None if self.structured == "auto" and not self.as_text else self.as_text

    def learn(self, status: int | None, message: str, body: dict[str, Any]) -> bool:
        """Leave out what a refusal names; return whether the call is worth making again.

        Calls that were under way while something was learned come back with the same refusal and are made again.
        """
        words = message.lower()
        if status not in REFUSALS or not words:
            return False
        form = body.get("response_format", {}).get("type")
        if form and self.structured == "auto" and any(word in words for word in SCHEMA_WORDS):
            if form == OBJECT or OBJECT not in words:
                self.as_text = True
            else:
                # The refusal names what the server takes.
                self.as_object = True
            return True
        if not any(word in words for word in NOT_TAKEN):
            return False
        for name in OTHER_LIMIT:
            if name in body and name in words:
                return self._rename(name)
        if "seed" in body and "seed" in words:
            self.seeds = False
            return True
        return False

    def _rename(self, name: str) -> bool:
        if name != self.limit:
            return True
        if self.renamed:
            return False
        self.limit, self.renamed = OTHER_LIMIT[name], True
        return True

    def response_format(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return how structured output is asked for."""
        if self.as_object:
            return {"type": OBJECT, "schema": schema}
        return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}

    def readable(self, body: dict[str, Any]) -> None:
        """Note that a slot was read."""
        self.worked |= "response_format" in body

    def unreadable(self, content: str, body: dict[str, Any]) -> None:
        """Note that one was not: after some replies in prose, and none as asked, slots are asked for in text.

        A server that takes the type ``json_object`` may ignore the schema: there every unreadable object counts.
        """
        if self.structured != "auto" or "response_format" not in body or self.worked:
            return
        if self.as_object or not content.lstrip().startswith("{"):
            self.misses += 1
            self.as_text |= self.misses >= MISSES

    @property
    def dropped(self) -> tuple[str, ...]:
        """What the server turned out not to take."""
        found = {
            "json_schema": self.as_object or (self.as_text and self.structured != "text"),
            "json_object": self.as_object and self.as_text,
            "seed": not self.seeds,
        }
        return tuple(name for name, gone in found.items() if gone)


EMPTY = Failed("empty", "none", True, "a reply without words")
"""A reply in which nothing is said; what it cost is on the bill already."""


HOPELESS = 3600.0
"""Seconds: a server that asks for so long a wait has closed for the day; the call is given up at once."""

SAME_SEED_FAILS = ("server_error", "empty")
"""After these the next attempt has another seed: with the same one the model would make the same reply again."""

REFUSAL = 2.0
"""Seconds within which a server refuses a parameter; the first call that takes longer is being answered."""

LOADING = 1.0
"""Seconds between two looks at a server that loads its model."""

NEAR = 16
"""Tokens: a prompt and its reply that come so close to the context window have filled it."""


@dataclass
class _Bill:
    """What the attempts of one request came to."""

    tokens_in: int = 0
    tokens_out: int = 0
    estimated: bool = False
    attempts: int = 0
    model: str | None = None

    def charge(self, tokens_in: int | None, tokens_out: int | None, most_in: int, most_out: int) -> None:
        """Add an attempt; what the server did not say is taken at its most."""
        self.estimated |= tokens_in is None or tokens_out is None
        self.tokens_in += most_in if tokens_in is None else tokens_in
        self.tokens_out += most_out if tokens_out is None else tokens_out

    def add(self, got: Got, most_in: int, most_out: int) -> None:
        """Add an attempt that was answered."""
        self.charge(got.tokens_in, got.tokens_out, most_in, most_out)
        self.model = got.model or self.model


class LiveAgent:
    """An LLM behind any server that speaks the OpenAI chat protocol; an asynchronous context manager.

    Parameters
    ----------
    model : str
        As the server names it.
    base_url : str, optional
        Of the server, up to and with its version (``http://127.0.0.1:8000/v1``); by default the environment's
        ``OPENAI_BASE_URL``, else OpenAI's own. It may hold no user, password or query.
    key_env : str
        The environment variable that holds the key. A server of one's own needs none.
    temperature : float, optional
        Sent as it is; None leaves it to the server.
    seed : int
        Each call has its own, derived from this one and from debate, round and agent. It is sent to servers that take
        it, and the jitter of repeats is drawn from it.
    timeout : float
        Seconds that one attempt may take in all.
    retries : int
        How often a call is repeated after a failure that may pass. The one repair of an unreadable reply is extra.
    backoff, longest_wait : float
        Seconds: the first wait is drawn from 0 to `backoff`, each further one from twice as much, and no wait is
        longer than `longest_wait`, whatever the server asks for. Where it asks for an hour or more, the call is given
        up at once.
    requests_per_minute : float, optional
        None for no limit.
    concurrency : int
        The most calls at the same time.
    window : int, optional
        The context window of the model in tokens, prompt and reply together; by default what the server tells in its
        list of models (:meth:`check`). 0 lets a run begin whose longest call may not fit.
    tokens_per_word : float
        Tokens allowed per word that an agent was asked for; English needs 1.4, some languages 4.
    reasoning_tokens : int
        Tokens allowed on top in every call, for models that think before they speak.
    structured : {"auto", "schema", "text"}
        How the structured part is asked for. "auto" begins with a JSON schema and goes over to text for the rest of
        the run when the server does not support it.

    Attributes
    ----------
    where : str
        The base URL.
    dropped : tuple of str
        What the server turned out not to take: ``"json_schema"``, ``"json_object"``, ``"seed"``.
    notes : dict of str
        The latest words of the server, or what was wrong with its reply, for each kind of failure; under
        ``"retry_after"`` the latest wait that it asked for and did not get.
    window : int or None
        The context window, where it is known.

    Examples
    --------
    >>> from d3stats.agent import Case, Request, Slot
    >>> agent = LiveAgent("some-model", "http://127.0.0.1:8000/v1", temperature=0.7, seed=1)
    >>> agent
    LiveAgent('some-model', 'http://127.0.0.1:8000/v1', temperature=0.7, seed=1)
    >>> case = Case("d", "q", "Which is larger?", ("A", "B"), ("Two.", "Three."), "B")
    >>> request = Request(case, 1, "juror 1", "juror", "vote", "You are a juror.", Slot(case.answers))
    >>> expected, longest = agent.imagine(request, "typical"), agent.imagine(request, "longest")
    >>> expected.tokens_in < longest.tokens_in, expected.tokens_out < longest.tokens_out
    (True, True)
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        *,
        key_env: str = "OPENAI_API_KEY",
        temperature: float | None = None,
        seed: int = 0,
        timeout: float = 120.0,
        retries: int = 4,
        backoff: float = 0.5,
        longest_wait: float = 60.0,
        requests_per_minute: float | None = None,
        concurrency: int = 16,
        window: int | None = None,
        tokens_per_word: float = 2.0,
        reasoning_tokens: int = 0,
        structured: Structured = "auto",
    ) -> None:
        if not isinstance(model, str) or not model.strip():
            raise ValueError(f"model must be the name of a model; got model={model!r}")
        self.model = model
        self._hosted = base_url is None and not os.environ.get("OPENAI_BASE_URL")
        url = base_url or os.environ.get("OPENAI_BASE_URL") or HOSTED
        self.where = checked_url(url)
        self.key_env = key_env
        self.temperature = None if temperature is None else number("temperature", temperature, minimum=0.0)
        self.seed = integer("seed", seed, minimum=0)
        self.timeout = _positive("timeout", timeout)
        self.retries = integer("retries", retries, minimum=0)
        self.backoff = number("backoff", backoff, minimum=0.0)
        self.longest_wait = number("longest_wait", longest_wait, minimum=0.0)
        self.requests_per_minute = (
            None if requests_per_minute is None else _positive("requests_per_minute", requests_per_minute)
        )
        self.concurrency = integer("concurrency", concurrency, minimum=1)
        self._window = None if window is None else integer("window", window, minimum=0)
        self._told_window: int | None = None
        self._bounds = Bounds(
            _positive("tokens_per_word", tokens_per_word),
            integer("reasoning_tokens", reasoning_tokens, minimum=0),
        )
        self.structured = cast(Structured, choice("structured", structured, get_args(Structured)))
        self.notes: dict[str, str] = {}
        self._dialect = Dialect(self.structured, "max_completion_tokens" if self._hosted else "max_tokens")
        self._transport = Transport(url, key_env, self.timeout)
        self._gate: asyncio.Semaphore | None = None
        self._drafted: Draft | None = None
        self._pace = Pace(self.requests_per_minute)
        self._first: asyncio.Lock | None = None
        self._known = asyncio.Event()

    def __repr__(self) -> str:
        return f"LiveAgent({self.model!r}, {self.where!r}, temperature={self.temperature}, seed={self.seed})"

    @property
    def settings(self) -> dict[str, Any]:
        """What a record of a run should say about this agent; holds no key."""
        return {
            "model": self.model,
            "server": self.where,
            "temperature": self.temperature,
            "seed": self.seed,
            "tokens_per_word": self._bounds.per_word,
            "reasoning_tokens": self._bounds.reasoning,
            "structured": self.structured,
        }

    @property
    def dropped(self) -> tuple[str, ...]:
        """What the server turned out not to take."""
        return self._dialect.dropped

    @property
    def window(self) -> int | None:
        """What a run holds its longest call against, as it was given or as the server told; None where nobody said."""
        return (self._told_window if self._window is None else self._window) or None

    async def __aenter__(self) -> Self:
        if self._hosted and not self._transport.has_key:
            raise Refused(f"{self.where} needs a key; got none in the environment variable {self.key_env}")
        await self._transport.open()
        self._gate = asyncio.Semaphore(self.concurrency)
        self._first = asyncio.Lock()
        self._pace = Pace(self.requests_per_minute)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.close()

    async def check(self, wait: float = 0.0, tell: Callable[[str], None] | None = None) -> None:
        """Ask for the list of models, which costs nothing.

        A server without such a list is taken at its word.

        Parameters
        ----------
        wait : float
            Seconds that a server which is still loading its model is waited for.
        tell : function of str, optional
            Gets a line that says what is waited for.

        Raises
        ------
        Refused
            When nobody answers, the key is refused, the server does not end loading, or the model is not in the list.
        """
        failures, began = 0, asyncio.get_running_loop().time()
        while True:
            found = await self._transport.models()
            if not isinstance(found, Failed):
                break
            if found.status in (404, 405, 501):
                return
            self._refuse(found, _Bill())
            waited = asyncio.get_running_loop().time() - began
            if found.error == "loading" and waited < wait:
                if tell is not None:
                    tell(f"waiting for {self.where}: {found.message} ({waited:.0f} of {wait:g} s)")
                await asyncio.sleep(min(LOADING, wait - waited))
                continue
            failures += 1
            if failures > min(self.retries, 2) or not found.again:
                got = found.message or found.error
                raise Refused(f"base_url must lead to a server that answers; got {got} from {self.where}")
            await asyncio.sleep(backoff(failures, self.backoff, self.longest_wait, random.Random(self.seed)))
        named = next((name for name in (self.model, f"{self.model}:latest") if name in found), None)
        if found and named is None:
            more = f" and {len(found) - 8} more" if len(found) > 8 else ""
            raise Refused(
                f"model must be one that {self.where} has; got model={self.model!r}, not one of "
                f"{', '.join(map(self._transport.clean, list(found)[:8]))}{more}"
            )
        self._told_window = None if named is None else found[named]

    def imagine(self, request: Request, size: Size, /) -> Reply:
        """Return a reply of the expected or the longest length, with its tokens; asks nobody.

        The longest counts every byte of the prompt as a token, `max_tokens` for the reply, and allowances for the
        server's template and the schema. The expected one counts four characters of the prompt and three quarters
        of a word of the reply as a token.
        """
        draft = self._draft_of(request)
        if size == "longest":
            # A call's bound is asked for right before the call.
            self._drafted = draft
        return self._bounds.imagine(draft, size, seed=self.seed, as_text=self._dialect.mode)

    def _draft_of(self, request: Request) -> Draft:
        draft = self._drafted
        return draft if draft is not None and draft.request is request else Draft(request)

    async def act(self, request: Request, /, more: More = always) -> Reply:
        """Answer one request; see :class:`d3stats.agent.Agent`.

        Raises
        ------
        Refused
            When the key, the account or the model is refused; its `tokens` are what earlier attempts cost.
        RuntimeError
            When the agent was not entered.
        """
        draft, bill = self._draft_of(request), _Bill()
        wire, self._drafted = draft.wire, None
        jitter = random.Random(self._seed_of(request))
        failures, reseeded, problem, said = 0, 0, None, None
        while True:
            alone = await self._may_learn()
            try:
                prompt = draft.prompt(seed=self.seed, as_text=self._dialect.as_text)
                prompt = prompt if problem is None else prompt.mended(problem)
                most_in, most_out = self._bounds.most_in(prompt, wire), self._bounds.most_out(wire)
                if bill.attempts and not more(most_in + most_out, bill.tokens_in + bill.tokens_out):
                    return self._reply(said, bill, "budget")
                body = self._body(request, wire, prompt, reseeded)
                found = await self._attempt(body, request, bill)
                if isinstance(found, Failed):
                    if found.message:
                        self.notes[found.error] = found.message
                    if found.error != "context_full" and self._dialect.learn(
                        found.status, found.message, body
                    ):
                        continue
                self._known.set()
            finally:
                if alone and self._first is not None:
                    self._first.release()
            if isinstance(found, Failed):
                if found.cost == "unknown":
                    bill.charge(None, None, most_in, most_out)
                self._refuse(found, bill)
            else:
                bill.add(found, most_in, self._bounds.out_of(found.content or found.refusal, wire))
                if found.refusal is not None or found.finish == "content_filter":
                    return self._reply(found.refusal or found.content, bill, "refused_content")
                if found.content or found.finish == "length":
                    said = found.content or said
                    try:
                        read = read_reply(found.content or "", wire, prompt.nonce)
                    except Unreadable as fault:
                        self._dialect.unreadable(found.content or "", body)
                        error = self._cut_off(found, most_out) if found.finish == "length" else "unreadable"
                        if error == "unreadable":
                            self.notes[error] = str(fault)
                        # A note would only make a prompt longer that fills the window already.
                        if problem is not None or error == "context_full":
                            return self._reply(said, bill, error)
                        problem = (
                            "it was cut off before its end; be shorter" if error == "length" else str(fault)
                        )
                        continue
                    self._dialect.readable(body)
                    return self._reply(read.text, bill, None, read.vote, read.scores)
                found = EMPTY
                self.notes[found.error] = found.message
            failures += 1
            reseeded += found.error in SAME_SEED_FAILS and found.status in (None, 500)
            if not found.again or failures > self.retries or self._hopeless(found):
                return self._reply(said, bill, found.error)
            await self._wait(failures, found.wait, jitter)

    async def _may_learn(self) -> bool:
        """Let one call go first until it is known what the server takes; return whether this is that call."""
        if self._known.is_set() or self._first is None:
            return False
        try:
            async with asyncio.timeout(REFUSAL):
                await self._first.acquire()
        except TimeoutError:
            self._known.set()
            return False
        if self._known.is_set():
            self._first.release()
            return False
        return True

    def _cut_off(self, got: Got, most_out: int) -> str:
        """Return the error of a reply that was cut off, and note what cut it: its limit, or the context window."""
        allowed = f"{most_out} that were allowed"
        if got.tokens_in is None or got.tokens_out is None or got.tokens_out >= most_out:
            self.notes["length"] = f"cut off at the {allowed}"
            return "length"
        used = got.tokens_in + got.tokens_out
        window = self._window or self._told_window
        if window and used + NEAR >= window:
            self.notes["context_full"] = (
                f"cut off after {got.tokens_out} tokens of the {allowed}: with {got.tokens_in} of the prompt the "
                f"context window of {window} is full"
            )
            return "context_full"
        self.notes["length"] = (
            f"cut off after {got.tokens_out} tokens of the {allowed}: with {got.tokens_in} of the prompt the context "
            "window may be full, or the server has a limit of its own"
        )
        return "length"

    def _body(self, request: Request, wire: Wire, prompt: Prompt, reseeded: int) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
            self._dialect.limit: self._bounds.most_out(wire),
        }
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if self._dialect.seeds:
            body["seed"] = self._seed_of(request, reseeded)
        if prompt.nonce is None:
            body["response_format"] = self._dialect.response_format(wire.schema)
        return body

    async def _attempt(self, body: dict[str, Any], request: Request, bill: _Bill) -> Got | Failed:
        if self._gate is None:
            raise RuntimeError("a live agent must be entered (async with agent) before it is asked")
        async with self._gate:
            await self._pace.turn()
            bill.attempts += 1
            return await self._transport.chat(body, _trace(request, bill.attempts))

    def _hopeless(self, found: Failed) -> bool:
        if found.wait is None or found.wait < max(HOPELESS, self.longest_wait):
            return False
        self.notes["retry_after"] = f"{found.wait:g} s were asked for; the call was given up"
        return True

    async def _wait(self, failures: int, asked: float | None, jitter: random.Random) -> None:
        wait = backoff(failures, self.backoff, self.longest_wait, jitter)
        if asked is not None:
            if asked > self.longest_wait:
                self.notes["retry_after"] = (
                    f"{asked:g} s were asked for, longest_wait is {self.longest_wait:g} s"
                )
            asked = min(asked, self.longest_wait)
            self._pace.hold(asked)
        await asyncio.sleep(min((asked or 0.0) + wait, self.longest_wait))

    def _refuse(self, found: Failed, bill: _Bill) -> None:
        why = None
        if found.status in (401, 403):
            why = (
                f"the key in {self.key_env} must be one that {self.where} takes; got {found.status}"
                f"{'' if self._transport.has_key else ' (there is no key in it)'}"
            )
        if found.status == 402:
            why = f"the account at {self.where} must have credit; got {found.message!r}"
        if found.status == 404:
            why = f"model must be one that {self.where} has; got model={self.model!r} and 404 ({found.message!r})"
        if why is not None:
            raise Refused(why, tokens=(bill.tokens_in, bill.tokens_out))

    def _seed_of(self, request: Request, reseeded: int = 0) -> int:
        again = f"\x1f{reseeded}" if reseeded else ""
        text = f"{self.seed}\x1f{call_key(request)}{again}".encode(errors="backslashreplace")
        return int.from_bytes(blake2b(text, digest_size=4).digest()) >> 1

    def _reply(
        self,
        text: str | None,
        bill: _Bill,
        error: str | None,
        vote: str | None = None,
        scores: dict[str, dict[str, float]] | None = None,
    ) -> Reply:
        return Reply(
            None if text is None else self._safe(text),
            None if vote is None else self._safe(vote),
            scores,
            bill.tokens_in,
            bill.tokens_out,
            bill.estimated,
            self._safe(bill.model or self.model),
            error,
            bill.attempts,
        )

    def _safe(self, words: str) -> str:
        """Return what a server said as it may be kept: without the key, in whole characters."""
        return storable(self._transport.hide(words))


def _trace(request: Request, attempt: int) -> str:
    """Return what a server may log to tell calls apart: debate, round, agent, act, attempt."""
    parts = (request.case.debate, request.round, request.agent, request.act, attempt)
    trace = "/".join(quote(str(part), safe="", errors="backslashreplace") for part in parts)
    # Some servers refuse more than 512 characters.
    return trace if len(trace) <= 500 else f"{blake2b(trace.encode(), digest_size=16).hexdigest()}/{attempt}"


def _positive(name: str, value: float) -> float:
    result = number(name, value)
    if result <= 0:
        raise ValueError(f"{name} must be > 0; got {name}={value!r}")
    return result
