"""How long prompts and messages are: what a debate's tokens are made of."""

from __future__ import annotations

from dataclasses import dataclass

from d3stats._check import choice, number

__all__ = ["Lengths"]

_SEEN = ("everything", "last_round")


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Lengths of what is sent and written in a debate.

    Each agent makes one call a round. Its prompt holds the system prompt, the question with its context and
    the messages that the agent sees; it writes one message that ends in its verdict. The next prompts hold
    both. An API without memory charges the whole prompt again in every round, so with ``sees="everything"``
    the tokens of a debate grow with the square of its rounds.

    Parameters
    ----------
    system, question, context : float
        Tokens of the system prompt, the question, and documents sent with it.
    message_words, verdict_words : float
        Mean words of a message without its verdict, and of the verdict.
    tokens_per_word : float
        4/3 is a usual figure for English prose; measure your own tokeniser.
    sees : {"everything", "last_round"}
        Whether a prompt holds all messages so far, the agent's own among them, or those of the last round.
    spread : float
        Standard deviation of the log of a message's length; 0 makes all messages alike. The mean stays.

    Examples
    --------
    >>> Lengths(message_words=90, verdict_words=0).output
    120.0
    """

    system: float = 150.0
    question: float = 200.0
    context: float = 0.0
    message_words: float = 120.0
    verdict_words: float = 15.0
    tokens_per_word: float = 4 / 3
    sees: str = "everything"
    spread: float = 0.0

    def __post_init__(self) -> None:
        for name in ("system", "question", "context", "message_words", "verdict_words", "spread"):
            object.__setattr__(self, name, number(name, getattr(self, name), minimum=0.0))
        if number("tokens_per_word", self.tokens_per_word) <= 0:
            raise ValueError(f"tokens_per_word must be > 0; got tokens_per_word={self.tokens_per_word!r}")
        choice("sees", self.sees, _SEEN)

    @property
    def prompt(self) -> float:
        """Tokens of a prompt that holds no message yet."""
        return self.system + self.question + self.context

    @property
    def output(self) -> float:
        """Mean tokens that an agent writes in a round, its verdict included."""
        return (self.message_words + self.verdict_words) * self.tokens_per_word
