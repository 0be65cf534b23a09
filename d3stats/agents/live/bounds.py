"""What a call can cost at most, and what it is expected to cost, before it is made.

A token of a byte-level vocabulary stands for at least one byte, so a text has at most as many tokens as bytes. What a
server adds (roles, a template, the schema) is not seen from here and has a stated allowance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from d3stats.agents.live.render import Draft, Prompt
from d3stats.agents.live.slots import OPEN_VOTE, Wire
from d3stats.agents.request import Reply, Request, Size

__all__ = ["Bounds"]

PER_CALL = 64
"""Tokens that a server's template may add to a call."""

PER_MESSAGE = 8
"""Tokens that a server's template may add to a message."""

NOTE = 400
"""Bytes of the note that asks for a repair."""

CHARACTERS_PER_TOKEN = 4.0
WORDS_PER_TOKEN = 0.75
"""Of English prose, for forecasts."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Counts tokens that have not been spent.

    Parameters
    ----------
    per_word : float
        Tokens allowed per word of the reply.
    reasoning : int
        Tokens allowed on top, for models that think before they speak.
    """

    per_word: float
    reasoning: int

    def most_out(self, wire: Wire) -> int:
        """Return the `max_tokens` of a call."""
        return wire.most_tokens(self.per_word, self.reasoning)

    def out_of(self, content: str | None, wire: Wire) -> int:
        """Return the most tokens that a reply can have cost that came without a count."""
        if not content or self.reasoning:
            return self.most_out(wire)
        return min(self.most_out(wire), len(content.encode("utf-8", errors="replace")) + PER_MESSAGE)

    def most_in(self, prompt: Prompt, wire: Wire) -> int:
        """Return the most tokens that a prompt can have, the schema included where it is sent beside it."""
        beside = 0 if prompt.nonce is not None else len(wire.schema_text)
        return prompt.size + 2 * PER_MESSAGE + PER_CALL + beside

    def imagine(self, draft: Draft, size: Size, *, seed: int = 0, as_text: bool | None = None) -> Reply:
        """Return a reply of the expected or the longest length, with its tokens.

        Parameters
        ----------
        draft : Draft
            Of the request.
        size : {"typical", "longest"}
        seed : int
            Of the agent.
        as_text : bool, optional
            How the slot is asked for; None when that may still change, and the longer form counts.
        """
        request, wire = draft.request, draft.wire
        if size == "typical":
            return self._reply(
                wire, " ".join(["quite"] * request.slot.words), *self._typical(draft, seed, bool(as_text))
            )
        modes = (False, True) if as_text is None else (as_text,)
        prompts = [draft.prompt(seed=seed, as_text=mode) for mode in modes]
        most = max(self.most_in(prompt, wire) for prompt in prompts) + NOTE + _growth(request)
        return self._reply(wire, "x" * (request.slot.longest + 1), most, self.most_out(wire))

    def _typical(self, draft: Draft, seed: int, as_text: bool) -> tuple[int, int]:
        prompt, wire = draft.prompt(seed=seed, as_text=as_text), draft.wire
        characters = len(prompt.system) + len(prompt.user) + (0 if as_text else len(wire.schema_text))
        tokens_in = math.ceil(characters / CHARACTERS_PER_TOKEN) + 2 * PER_MESSAGE
        words, most = wire.slot.words, self.most_out(wire)
        # Of what is allowed for scores and names about half is used.
        slots = (most - self.reasoning - self.per_word * words - 96) / 2 + 16
        return tokens_in, min(math.ceil(words / WORDS_PER_TOKEN + slots), most)

    def _reply(self, wire: Wire, text: str, tokens_in: int, tokens_out: int) -> Reply:
        slot = wire.slot
        vote = None
        if slot.wants_vote and not slot.may_pass:
            vote = "x" * OPEN_VOTE if slot.answers is None else max(slot.answers, key=len)
        scores = None
        if slot.rubric is not None:
            points = dict.fromkeys(slot.rubric.criteria, float(slot.rubric.high))
            scores = {side: dict(points) for side in slot.rubric.sides}
        return Reply(text if slot.words else "", vote, scores, tokens_in, tokens_out, estimated=True)


def _growth(request: Request) -> int:
    """Return bytes by which messages may be longer than imagined ones: cut marks, digits of scores, open votes.

    A text is cut by what it needs to be shown (:func:`d3stats.agents.request.cut`); a vote in free words is not, and a
    character of it that is written out has ten bytes.
    """
    count = 0
    for message in request.seen:
        count += 8
        if message.vote is not None:
            count += 9 * OPEN_VOTE if request.case.answers is None else 32
        for points in (message.scores or {}).values():
            count += 8 * len(points)
    return count
