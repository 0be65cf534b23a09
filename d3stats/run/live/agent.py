"""A live LLM as an agent: ask, wait, ask again if need be, read, and count what it cost."""

from __future__ import annotations

import asyncio
import math
import os
import random
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, cast, get_args
from urllib.parse import quote

from d3stats._check import choice, flag, integer, number, positive
from d3stats._words import cut, missing_extra, storable
from d3stats.agent import KEPT, More, Refused, Reply, Request, Size, always
from d3stats.note import Note, warning
from d3stats.run.live.limits import Pace, backoff
from d3stats.run.live.prompt import (
    LEAST_PER_TOKEN,
    MOST_PER_TOKEN,
    Bounds,
    Draft,
    Prompt,
    call_key,
    shortened,
)
from d3stats.run.live.reply import Read, Unreadable, read_reply
from d3stats.run.live.server import (
    Dialect,
    Failed,
    Got,
    Key,
    Redirected,
    Structured,
    checked_url,
    failure,
    is_loopback,
    listed,
    models_of,
    reply_of,
    room_in,
    stay,
    tokens_of,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["LiveAgent"]

HOSTED = "https://api.openai.com/v1"

EMPTY = Failed("empty", "none", True, "a reply without words")
"""A reply without any content; its cost is counted already."""

TOO_LONG = "it was cut off before its end; be shorter"

HOPELESS = 3600.0
"""Seconds: a server that asks for so long a wait has closed for the day; the call is given up at once."""

SAME_SEED_FAILS = ("server_error", "empty")
"""After these the next attempt has another seed: with the same one the model would make the same reply again."""

REFUSAL = 5.0
"""Seconds within which a server refuses a parameter; the first call that takes longer is being answered."""

LOADING = 1.0
"""Seconds between two looks at a server that loads its model."""

SAID = 200
"""The most characters that are kept of a server's name for itself, or for the end of a reply."""

ENOUGH = 64
"""Tokens: a reply is asked for again with what a full window leaves, if it leaves so many."""

SAMPLES = 3
"""So many prompts are counted by the server's tokeniser."""

NEAR = 16
"""Tokens: a prompt and its reply that come so close to the context window have filled it."""


@dataclass
class _Call:
    """One request on its way: what was said, what was wrong with it, and what its attempts came to."""

    request: Request
    draft: Draft
    more: More
    said: str | None = None
    problem: str | None = None
    reseeded: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int | None = None
    estimated: bool = False
    attempts: int = 0
    model: str | None = None
    temperature: float | None = None
    room: int | None = None
    charged: tuple[int, int] = (0, 0)
    served: dict[str, str | int] = field(default_factory=dict)

    def lose(self, most: tuple[int, int]) -> None:
        """Add an attempt that may have cost all that it could."""
        self._add(*most, most)
        self.estimated = True

    def pay(self, got: Got, prompt: Prompt, most: tuple[int, int]) -> None:
        """Add a reply as the server counts it; what it did not count, or cannot have counted so low, at its most.

        A budget is charged at least one token for every four bytes.
        """
        said = len((got.content or got.refusal or "").encode(errors="replace")) + got.thoughts
        counts = []
        for size, count, cached, bound in (
            (prompt.size, got.tokens_in, got.tokens_cached, most[0]),
            (said, got.tokens_out, 0, most[1]),
        ):
            if count is None or (count + (cached or 0)) * MOST_PER_TOKEN < size:
                self.estimated = True
                counts.append((bound, bound))
            else:
                counts.append((count, max(count, min(math.ceil(size / LEAST_PER_TOKEN), bound))))
        (tokens_in, charged_in), (tokens_out, charged_out) = counts
        self._add(tokens_in, tokens_out, (charged_in, charged_out))

    def told(self, got: Got) -> None:
        """Keep what a server says of a reply besides its text and its tokens."""
        words = {"finish": got.finish, "fingerprint": got.fingerprint}
        self.served |= {name: storable(said[:SAID]) for name, said in words.items() if said}
        if got.reasoning is not None:
            self.served["reasoning"] = int(self.served.get("reasoning", 0)) + got.reasoning

    def _add(self, tokens_in: int, tokens_out: int, charged: tuple[int, int]) -> None:
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out
        self.charged = (self.charged[0] + charged[0], self.charged[1] + charged[1])


class LiveAgent:
    """An LLM behind any server that speaks the OpenAI chat protocol; an asynchronous context manager.

    Parameters
    ----------
    model : str
        As the server names it.
    base_url : str, optional
        Address of the server, up to and with its version (``http://127.0.0.1:8000/v1``); by default the environment's
        ``OPENAI_BASE_URL``, else OpenAI's own. It may hold no user, password or query.
    key_env : str
        The environment variable that holds the key. A server of one's own needs none.
    temperature : float or "server", optional
        A number is sent as it is. By default that of the protocol's source is sent (``Request.temperature``), and where
        the protocol names none, or the server refuses it, none is. ``"server"`` never sends one.
    seed : int
        Each call has its own, derived from this one and from debate, round and agent. It is sent to servers that take
        it, and the jitter of repeats is drawn from it.
    timeout : float
        Seconds that one attempt may take in all.
    retries : int
        How often a call is repeated after a failure that may pass. The one repair of an unreadable reply is extra.
    backoff, longest_wait : float
        Seconds. The first wait is drawn from 0 to `backoff`, each further one from twice as much. No wait is longer
        than `longest_wait`, even if the server asks for more. Where it asks for an hour or more, the call is given up
        at once.
    requests_per_minute : float, optional
        The most requests in a minute; None for no limit.
    concurrency : int
        The most calls at the same time.
    window : int, optional
        The context window of the model in tokens, prompt and reply together; by default what the server tells in its
        list of models (:meth:`check`). 0 lets a run begin whose longest call may not fit.
    tokens_per_word : float
        Tokens allowed per word that an agent was asked for; English needs 1.4, some languages 4.
    reasoning_tokens : int
        Tokens allowed on top in every call, for models that think before they speak.
    most_words : int, optional
        The most words of any reply: a protocol that asks for more asks for so many. Lists stay as they are.
    send_seed : bool
        Whether calls have seeds; False for a server that fails on one.
    model_as_is : bool
        Whether a model that the server does not list is asked for all the same.
    structured : {"auto", "schema", "text"}
        How the structured part is asked for. "auto" begins with a JSON schema and goes over to text for the rest of
        the run when the server does not support it.
    ask_confidence : bool
        Whether agents that vote are also asked how probable it is that their vote is right; see ``Turn.confidence``.

    Attributes
    ----------
    where : str
        The base URL.
    dropped : tuple of str
        What the server turned out not to take: ``"json_schema"``, ``"json_object"``, ``"seed"``, ``"temperature"`` (of
        the protocol; a refused temperature of the user is an error).
    notes : dict of str
        The latest words of the server, or what was wrong with its reply, for each kind of failure; under
        ``"retry_after"`` the latest wait that it asked for and did not get.
    window : int or None
        The context window, where it is known.
    measured : bool
        Whether the server's tokeniser has counted prompts.

    Examples
    --------
    >>> from d3stats.agent import Case, Request, Slot
    >>> agent = LiveAgent("some-model", "http://127.0.0.1:8000/v1", temperature=0.7, seed=1)
    >>> agent
    LiveAgent('some-model', 'http://127.0.0.1:8000/v1', temperature=0.7, seed=1)
    >>> case = Case("d", "q", "Which is larger?", ("A", "B"), ("Two.", "Three."), "B")
    >>> request = Request(case, 1, "juror 1", "juror", "vote", "You are a juror.", Slot(case.answers))
    >>> agent.temperature_of(request)
    0.7
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
        temperature: float | Literal["server"] | None = None,
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
        most_words: int | None = None,
        send_seed: bool = True,
        model_as_is: bool = False,
        structured: Structured = "auto",
        ask_confidence: bool = False,
    ) -> None:
        if not isinstance(model, str) or not model.strip():
            raise ValueError(f"model must be the name of a model; got model={model!r}")
        self.model = model
        url = base_url or os.environ.get("OPENAI_BASE_URL")
        self._hosted = not url
        self.where = checked_url(url or HOSTED)
        self.key_env = key_env
        self.temperature = (
            temperature
            if temperature is None or temperature == "server"
            else number("temperature", temperature, minimum=0.0)
        )
        self.seed = integer("seed", seed, minimum=0)
        self.timeout = positive("timeout", timeout)
        self.retries = integer("retries", retries, minimum=0)
        self.backoff = number("backoff", backoff, minimum=0.0)
        self.longest_wait = number("longest_wait", longest_wait, minimum=0.0)
        self.requests_per_minute = (
            None if requests_per_minute is None else positive("requests_per_minute", requests_per_minute)
        )
        self.concurrency = integer("concurrency", concurrency, minimum=1)
        self._window = None if window is None else integer("window", window, minimum=0)
        self._told_window: int | None = None
        self._bounds = Bounds(
            positive("tokens_per_word", tokens_per_word),
            integer("reasoning_tokens", reasoning_tokens, minimum=0),
        )
        self.ask_confidence = ask_confidence
        self.most_words = None if most_words is None else integer("most_words", most_words, minimum=1)
        self.send_seed, self.model_as_is = flag("send_seed", send_seed), flag("model_as_is", model_as_is)
        self.structured = cast(Structured, choice("structured", structured, get_args(Structured)))
        self.notes: dict[str, str] = {}
        self.measured = False
        self._dialect = Dialect(self.structured, "max_completion_tokens" if self._hosted else "max_tokens")
        self._key = Key(key_env)
        self._client: AsyncOpenAI | None = None
        # Whether it is known what the server takes.
        self._known = False

    def __repr__(self) -> str:
        return f"LiveAgent({self.model!r}, {self.where!r}, temperature={self.temperature}, seed={self.seed})"

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of this agent for the record of a run; the key is not among them."""
        return {
            "model": self.model,
            "server": self.where,
            "temperature": self.temperature,
            "seed": self.seed,
            "tokens_per_word": self._bounds.per_word,
            "reasoning_tokens": self._bounds.reasoning,
            "structured": self.structured,
            **({} if self.send_seed else {"send_seed": False}),
            **({} if self.most_words is None else {"most_words": self.most_words}),
            **({"ask_confidence": True} if self.ask_confidence else {}),
        }

    @property
    def cautions(self) -> tuple[Note, ...]:
        """Warnings before the first call: a key that would be sent where others can read it."""
        if self.where.startswith("https:") or is_loopback(self.where) or not os.environ.get(self.key_env):
            return ()
        text = (
            f"the key in {self.key_env} is sent to {self.where} without encryption; use an address with https, or name "
            "another variable (--key-env NAME, in Python key_env=) if the server needs no key"
        )
        return (warning(text, "key without encryption", about=self.where),)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Parameters that the server did not take."""
        return self._dialect.dropped

    @property
    def form(self) -> str | None:
        """The way in which votes and scores are asked for; None until a reply was read that way."""
        return self._dialect.form if self._dialect.worked else None

    def temperature_of(self, request: Request) -> float | None:
        """Return the temperature that is sent with a request; None where it is left to the server.

        Parameters
        ----------
        request : Request

        Returns
        -------
        float or None
        """
        if self.temperature == "server":
            return None
        if self.temperature is not None:
            return self.temperature
        return None if "temperature" in self._dialect.without else request.temperature

    @property
    def window(self) -> int | None:
        """The context window that limits the longest call, as given or as the server reports it; None if unknown."""
        return (self._told_window if self._window is None else self._window) or None

    async def __aenter__(self) -> Self:
        try:
            import aiolimiter  # noqa: F401
            import openai
        except ImportError as error:
            needs = "a live agent needs openai >= 3 and aiolimiter"
            raise Refused(missing_extra(needs, "live", error)) from None
        # The environment may change during a run; what was sent stays secret.
        self._key.sent = self._key.read()
        if self._hosted and self._key.sent is None:
            raise Refused(f"{self.where} needs a key; got none in the environment variable {self.key_env}")
        self._client = openai.AsyncOpenAI(
            api_key=self._key.sent or "none",
            base_url=self.where,
            max_retries=0,
            timeout=openai.Timeout(self.timeout, connect=min(self.timeout, 10.0), pool=None),
            http_client=openai.DefaultAsyncHttpxClient(event_hooks={"response": [stay]}),
        )
        self._gate = asyncio.Semaphore(self.concurrency)
        self._first = asyncio.Lock()
        self._pace = Pace(self.requests_per_minute)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

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
            When no server answers, the key is refused, the server does not end loading, or the model is not in its
            list.
        """
        failures, began = 0, asyncio.get_running_loop().time()
        while True:
            found = await self._models()
            if not isinstance(found, Failed):
                break
            if found.status in (404, 405, 501):
                return
            if found.error == "refused":
                raise Refused(self._refusal(found))
            waited = asyncio.get_running_loop().time() - began
            if found.error == "loading" and waited < wait:
                if tell is not None:
                    tell(f"waiting for {self.where}: {found.message} ({waited:.0f} of {wait:g} s)")
                await asyncio.sleep(min(LOADING, wait - waited))
                continue
            failures += 1
            if failures > min(self.retries, 2) or not found.again:
                got = found.message or found.error
                raise Refused(
                    f"base_url must be the address of a server that answers; got {got} from {self.where}"
                )
            await asyncio.sleep(backoff(failures, self.backoff, self.longest_wait, random.Random(self.seed)))
        named = listed(self.model, found)
        if found and named is None and not self.model_as_is:
            more = f" and {len(found) - 8} more" if len(found) > 8 else ""
            anyway = "(--model-as-is, in Python model_as_is=True, asks for it all the same)"
            raise Refused(
                f"model must be one that {self.where} has; got model={self.model!r}, not one of "
                f"{', '.join(list(found)[:8])}{more} {anyway}"
            )
        self._told_window = None if named is None else found[named]

    async def measure(self, requests: Iterable[Request]) -> bool:
        """Count prompts with the server's own tokeniser, if it has one; return whether it does.

        The path ``/tokenize`` beside the API is asked, as llama.cpp and vLLM have it; it costs no tokens. The least
        number of characters per token is kept for :meth:`imagine`.

        Parameters
        ----------
        requests : iterable of Request
            What will be asked; a few of them are counted.

        Returns
        -------
        bool
        """
        client, root = self._entered(), self.where.removesuffix("/v1")
        found = []
        for request in list(requests)[:SAMPLES]:
            prompt = self._draft(request).prompt(seed=self.seed, as_text=self._dialect.as_text)
            text = f"{prompt.system}\n{prompt.user}"
            body = {"model": self.model, "content": text, "prompt": text}
            count = tokens_of(await self._content(partial(_post, client, f"{root}/tokenize", body, {})))
            if not count:
                return False
            found.append(len(text) / count)
        if found:
            self._bounds = replace(self._bounds, characters=min(found))
        self.measured = bool(found)
        return self.measured

    def imagine(self, request: Request, size: Size, /) -> Reply:
        """Return a reply of the expected or the longest length, with its tokens, without a call.

        The longest counts every byte of the prompt as a token, `max_tokens` for the reply, and allowances for the
        server's template and the schema. The expected one takes 3.8 characters of the prompt, or what :meth:`measure`
        found, and three quarters of a word of the reply as a token.
        """
        return self._bounds.imagine(self._draft(request), size, seed=self.seed, as_text=self._dialect.mode)

    async def act(self, request: Request, /, more: More = always) -> Reply:
        """Answer one request; see :class:`d3stats.agent.Agent`.

        Raises
        ------
        Refused
            When the key, the account or the model is refused; its `tokens` are what earlier attempts cost.
        RuntimeError
            When the agent was not entered.
        """
        self._entered()
        draft = self._draft(request)
        call = _Call(draft.request, draft, more)
        jitter = random.Random(self._seed_of(request))
        failures = 0
        while True:
            found = await self._until_answered(call)
            failures += 1
            if isinstance(found, Reply):
                return found
            if not found.again or self._gives_up(found, failures):
                break
            await self._pause(found, failures, jitter)
        if found.error == "refused":
            raise Refused(self._refusal(found), tokens=call.charged)
        return self._reply(call, found.error)

    def _draft(self, request: Request) -> Draft:
        """Return the messages of a request, or of the same with fewer words."""
        if self.ask_confidence and request.slot.wants_vote:
            request = replace(request, slot=replace(request.slot, confidence=True))
        return Draft(request if self.most_words is None else shortened(request, self.most_words))

    def _gives_up(self, found: Failed, failures: int) -> bool:
        """Whether a call is abandoned: after so many failures, or because its server has closed for the day."""
        if found.wait is None or found.wait < max(HOPELESS, self.longest_wait):
            return failures > self.retries
        self.notes["retry_after"] = f"{found.wait:g} s were requested by the server; the call was abandoned"
        return True

    async def _pause(self, found: Failed, failures: int, jitter: random.Random) -> None:
        """Wait before a call is repeated; the wait that a server asks of one call holds for all."""
        asked, drawn = found.wait or 0.0, backoff(failures, self.backoff, self.longest_wait, jitter)
        if asked > self.longest_wait:
            self.notes["retry_after"] = (
                f"{asked:g} s were requested by the server, but longest_wait is {self.longest_wait:g} s"
            )
        if found.wait is not None:
            self._pace.hold(min(asked, self.longest_wait))
        await asyncio.sleep(min(asked + drawn, self.longest_wait))

    async def _until_answered(self, call: _Call) -> Reply | Failed:
        """Make attempts until one is answered or fails.

        A parameter that the server refuses is left out, and an unreadable reply is asked for once more.
        """
        while True:
            async with self._one_at_first():
                dialect = self._dialect
                prompt = call.draft.prompt(
                    seed=self.seed, as_text=dialect.as_text, with_schema=dialect.in_prompt
                )
                prompt = prompt if call.problem is None else prompt.mended(call.problem)
                most = self._bounds.most_in(prompt, call.draft.wire), self._bounds.most_out(call.draft.wire)
                if call.attempts and not call.more(sum(most), sum(call.charged)):
                    return self._reply(call, "budget")
                body = self._body(call, prompt)
                call.temperature = body.get("temperature")
                found = await self._attempt(body, call)
                if isinstance(found, Failed):
                    if found.message:
                        self.notes[found.error] = found.message
                    if self._mended(found, body, call):
                        continue
                self._known |= isinstance(found, Got) or not found.again
            if isinstance(found, Failed):
                if found.cost == "unknown":
                    call.lose(most)
                call.reseeded += found.error in SAME_SEED_FAILS and found.status in (None, 500)
                return found
            call.model = found.model or call.model
            call.told(found)
            said = self._bounds.out_of(found.content or found.refusal, call.draft.wire)
            call.pay(found, prompt, (most[0], said))
            if found.tokens_cached is not None:
                call.tokens_cached = (call.tokens_cached or 0) + found.tokens_cached
            if found.refusal is not None or found.finish == "content_filter":
                call.said = found.refusal or found.content
                return self._reply(call, "refused_content")
            if not found.content and found.finish != "length":
                thought = " (its thoughts came apart from it; --reasoning-tokens allows longer ones)"
                self.notes[EMPTY.error] = EMPTY.message + (thought if found.thoughts else "")
                call.reseeded += 1
                return EMPTY
            call.said = found.content or call.said
            try:
                read = read_reply(found.content or "", call.draft.wire, prompt.nonce)
            except Unreadable as fault:
                if self._dialect.unreadable(found.content or "", body):
                    # It is asked in another form from now on, this call too.
                    call.problem = None
                    continue
                error = self._unread(found, str(fault), most[1])
                # A note would only make a prompt longer that fills the window already.
                if call.problem is not None or error == "context_full":
                    return self._reply(call, error)
                call.problem = TOO_LONG if error == "length" else str(fault)
                continue
            self._dialect.readable(body)
            return self._reply(call, None, read)

    @asynccontextmanager
    async def _one_at_first(self) -> AsyncIterator[None]:
        """Let one call go at a time until it is known what the server takes."""
        held = False
        if not self._known:
            try:
                async with asyncio.timeout(REFUSAL):
                    held = await self._first.acquire()
            except TimeoutError:
                self._known = True
        if held and self._known:
            self._first.release()
            held = False
        try:
            yield
        finally:
            if held:
                self._first.release()

    def _mended(self, found: Failed, body: dict[str, Any], call: _Call) -> bool:
        """Whether the call is made again without what the server refused, or with the room that its window leaves."""
        if found.error == "context_full":
            room = room_in(found.message)
            if room is None or room < ENOUGH or call.room is not None:
                return False
            call.room = room
            return True
        learned = self._dialect.learn(found.status, found.message, body, proposed=self.temperature is None)
        self._bounds = replace(self._bounds, most=self._dialect.most)
        return learned

    def _unread(self, found: Got, fault: str, most_out: int) -> str:
        """Return why a reply could not be read, and note it: its form, its limit, or a full context window."""
        if found.finish != "length":
            self.notes["unreadable"] = fault
            return "unreadable"
        allowed = f"{most_out} that were allowed"
        if found.tokens_in is None or found.tokens_out is None or found.tokens_out >= most_out:
            self.notes["length"] = f"cut off at the {allowed}"
            return "length"
        early = f"cut off after {found.tokens_out} tokens of the {allowed}: with {found.tokens_in} of the prompt the"
        window = self._window or self._told_window
        if window and found.tokens_in + found.tokens_out + NEAR >= window:
            self.notes["context_full"] = f"{early} context window of {window} is full"
            return "context_full"
        self.notes["length"] = f"{early} context window may be full, or the server has its own limit"
        return "length"

    def _body(self, call: _Call, prompt: Prompt) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": self._dialect.messages(prompt.system, prompt.user),
            self._dialect.limit: min(self._bounds.most_out(call.draft.wire), call.room or 10**9),
        }
        temperature = self.temperature_of(call.request)
        if temperature is not None:
            body["temperature"] = temperature
        if self.send_seed and "seed" not in self._dialect.without:
            body["seed"] = self._seed_of(call.request, call.reseeded)
        if prompt.nonce is None:
            body["response_format"] = self._dialect.response_format(call.draft.wire.schema)
        return body

    async def _attempt(self, body: dict[str, Any], call: _Call) -> Got | Failed:
        client = self._entered()
        async with self._gate:
            await self._pace.turn()
            call.attempts += 1
            headers = {"X-Client-Request-Id": _trace(call.request, call.attempts)}
            found = await self._content(lambda: _post(client, "/chat/completions", body, headers))
        return found if isinstance(found, Failed) else reply_of(found, self._key)

    async def _models(self) -> dict[str, int | None] | Failed:
        client = self._entered()
        found = await self._content(lambda: client.models.with_raw_response.list())
        return found if isinstance(found, Failed) else models_of(found, self._key)

    def _entered(self) -> AsyncOpenAI:
        if self._client is None:
            raise RuntimeError("a live agent must be entered (async with agent) before its first call")
        return self._client

    async def _content(self, send: Callable[[], Any]) -> bytes | Failed:
        """Make one attempt; return the body of the response."""
        import openai

        error: Exception
        try:
            # In all, not between two bytes: a server that trickles would hold a debate for ever.
            async with asyncio.timeout(self.timeout):
                response = await send()
            return cast(bytes, response.content)
        except (openai.OpenAIError, TimeoutError, Redirected) as caught:
            error = caught
        # Outside of the handler: nothing that is raised later carries the client's error along.
        return failure(error, self._key, self.timeout)

    def _refusal(self, found: Failed) -> str:
        """Say what every further call would be refused for."""
        if found.status == 307:
            return (
                f"base_url must be the address of a server that answers itself; got {self.where}, which redirects to "
                f"{found.message} (nothing was sent there; give that address as base_url if it is yours)"
            )
        if found.status in (401, 403):
            none = "" if self._key.sent is not None else " (there is no key in it)"
            return f"the key in {self.key_env} must be one that {self.where} takes; got {found.status}{none}"
        if found.status == 402:
            return f"the account at {self.where} must have credit; got {found.message!r}"
        return (
            f"model must be one that {self.where} has; got model={self.model!r} and 404 ({found.message!r})"
        )

    def _seed_of(self, request: Request, reseeded: int = 0) -> int:
        again = f"\x1f{reseeded}" if reseeded else ""
        text = f"{self.seed}\x1f{call_key(request)}{again}".encode(errors="backslashreplace")
        return int.from_bytes(blake2b(text, digest_size=4).digest()) >> 1

    def _reply(self, call: _Call, error: str | None, read: Read | None = None) -> Reply:
        text = call.said if read is None else read.text
        if text is not None:
            longest = max(KEPT, call.request.slot.longest)
            text = cut(self._safe(text)[: longest + 1], longest)
        vote = None if read is None or read.vote is None else self._safe(read.vote)
        return Reply(
            text,
            vote,
            None if read is None else read.scores,
            call.tokens_in,
            call.tokens_out,
            call.estimated,
            self._safe(call.model or self.model),
            error,
            call.attempts,
            call.temperature,
            call.tokens_cached,
            None if call.charged == (call.tokens_in, call.tokens_out) else call.charged,
            call.served or None,
            None if read is None else read.confidence,
        )

    def _safe(self, words: str) -> str:
        """Return what a server said as it may be kept: without the key, in whole characters."""
        return storable(self._key.hide(words))


async def _post(client: AsyncOpenAI, path: str, body: dict[str, Any], headers: dict[str, str]) -> Any:
    """Post a body as it is; the client's own method for chats checks and copies every part of it first."""
    import httpx2

    return await client.post(path, body=body, cast_to=httpx2.Response, options={"headers": headers})


def _trace(request: Request, attempt: int) -> str:
    """Return what a server may log to tell calls apart: debate, round, agent, act, attempt."""
    parts = (request.case.debate, request.round, request.agent, request.act, attempt)
    trace = "/".join(quote(str(part), safe="", errors="backslashreplace") for part in parts)
    # Some servers refuse more than 512 characters.
    return trace if len(trace) <= 500 else f"{blake2b(trace.encode(), digest_size=16).hexdigest()}/{attempt}"
