"""The lengths of prompts and messages, which make up a debate's tokens."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from d3stats._arrays import Floats
from d3stats._check import NonNegativeFloat, PositiveFloat, RngLike, as_rng, choice, integer, number
from d3stats._named import Value
from d3stats._words import cut, visible
from d3stats.log.files import read_toml

__all__ = ["Lengths", "PriceTable", "round_tokens", "sample_tokens"]


@dataclass(frozen=True, kw_only=True)
class Lengths(Value):
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

    system: NonNegativeFloat = 150.0
    question: NonNegativeFloat = 200.0
    context: NonNegativeFloat = 0.0
    message_words: NonNegativeFloat = 120.0
    verdict_words: NonNegativeFloat = 15.0
    tokens_per_word: PositiveFloat = 4 / 3
    sees: Literal["everything", "last_round"] = "everything"
    spread: NonNegativeFloat = 0.0

    @property
    def prompt(self) -> float:
        """Tokens of a prompt that holds no message yet."""
        return self.system + self.question + self.context

    @property
    def output(self) -> float:
        """Mean tokens that an agent writes in a round, its verdict included."""
        return (self.message_words + self.verdict_words) * self.tokens_per_word


PER_MILLION = 1e6


def round_tokens(lengths: Lengths, panel: int, n_rounds: int) -> tuple[Floats, Floats]:
    """Return a panel's mean prompt and completion tokens in each round.

    In round t each of n agents sends ``system + question + context + m(t)`` tokens, where m(t) is what it
    sees of the transcript: all n (t - 1) messages, or the n of the last round. It writes one message.

    Parameters
    ----------
    lengths : Lengths
        Mean lengths of prompts and replies.
    panel, n_rounds : int
        At least 1.

    Returns
    -------
    input, output : ndarray of float, shape (n_rounds,)
        Tokens of the whole panel; they are priced differently.

    Examples
    --------
    >>> short = Lengths(system=10, question=20, message_words=30, verdict_words=0, tokens_per_word=1)
    >>> sent, written = round_tokens(short, panel=2, n_rounds=3)
    >>> sent.tolist(), written.tolist()
    ([60.0, 180.0, 300.0], [60.0, 60.0, 60.0])
    """
    n = integer("panel", panel, minimum=1)
    rounds = np.arange(float(integer("n_rounds", n_rounds, minimum=1)))
    seen = rounds if lengths.sees == "everything" else np.minimum(rounds, 1)
    sent: Floats = n * (lengths.prompt + seen * n * lengths.output)
    return sent, np.full(len(rounds), n * lengths.output)


def sample_tokens(
    lengths: Lengths, panel: int, n_debates: int, n_rounds: int, rng: RngLike = None
) -> tuple[Floats, Floats]:
    """Draw prompt and completion tokens when messages differ in length.

    A message has ``exp(Normal(-spread^2 / 2, spread^2))`` times the mean length, so the means are those of
    :func:`round_tokens`; each message is as long in the prompts that hold it as it was when written.

    Parameters
    ----------
    lengths : Lengths
        What prompts and messages are made of.
    panel : int
        Seats on the panel.
    n_debates, n_rounds : int
        How many debates of how many rounds.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    input, output : ndarray of float, shape (n_debates, n_rounds)

    Examples
    --------
    >>> sent, written = sample_tokens(Lengths(spread=0.3), panel=3, n_debates=2, n_rounds=4, rng=1)
    >>> sent.shape, bool((written > 0).all())
    ((2, 4), True)
    """
    shape = tuple(
        integer(name, value, minimum=1)
        for name, value in (("n_debates", n_debates), ("n_rounds", n_rounds), ("panel", panel))
    )
    noise = as_rng(rng).lognormal(-(lengths.spread**2) / 2, lengths.spread, size=shape)
    written: Floats = lengths.output * noise.sum(axis=2)
    seen = np.zeros_like(written)
    past = written[:, :-1]
    seen[:, 1:] = np.cumsum(past, axis=1) if lengths.sees == "everything" else past
    return panel * (lengths.prompt + seen), written


@dataclass(frozen=True)
class PriceTable:
    r"""Prices of models on a date.

    Read your own with :meth:`read`; :meth:`example` holds made-up prices of no vendor.

    Parameters
    ----------
    date : str
        The day that the prices held, YYYY-MM-DD.
    models : mapping of str to (float, float)
        Dollars per million prompt tokens, and per million completion tokens.
    cached : mapping of str to float, optional
        Dollars per million prompt tokens that are read from the server's cache, by model; at most the price of other
        prompt tokens, which is also the price of cached tokens of models that are not named here.

    Examples
    --------
    >>> prices = PriceTable("2025-01-01", {"mine": (1.0, 4.0)})
    >>> prices.dollars(2_000_000, 500_000, "mine")
    4.0
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "prices.toml"
    >>> _ = path.write_text('date = "2025-01-01"\n[models.mine]\ninput = 1.0\noutput = 4.0\ncached = 0.1\n')
    >>> PriceTable.read(path) == PriceTable("2025-01-01", {"mine": (1.0, 4.0)}, {"mine": 0.1})
    True
    """

    date: str
    models: Mapping[str, tuple[float, float]]
    cached: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            datetime.date.fromisoformat(self.date)
        except (TypeError, ValueError):
            raise ValueError(f"date must be written YYYY-MM-DD; got date={self.date!r}") from None
        if not self.models:
            raise ValueError("models must name at least one model; got none")
        read = {str(model): _pair(str(model), prices) for model, prices in self.models.items()}
        object.__setattr__(self, "models", MappingProxyType(read))
        kept = {str(model): _cached_price(str(model), price, read) for model, price in self.cached.items()}
        object.__setattr__(self, "cached", MappingProxyType(kept))

    @classmethod
    def read(cls, path: str | Path) -> PriceTable:
        """Read a price table from TOML: a ``date``, and a table ``[models.NAME]`` with ``input, output, cached``.

        Raises
        ------
        ValueError
            One line that names the file and what is wrong: a negative price, a missing date, an unknown key.
        """
        form = (
            'write a line date = "YYYY-MM-DD" and a table [models.NAME] with input and output for each model'
        )
        given = read_toml(path, "a price table", form)
        if not given:
            raise ValueError(f"{path}: a price table must have a date and models; got an empty file; {form}")
        try:
            return cls(*_parts(given))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}: {visible(cut(str(error), 1000), one_line=True)}") from None

    @classmethod
    def example(cls) -> PriceTable:
        """Return the shipped table: three made-up models, for trying things out.

        Examples
        --------
        >>> sorted(PriceTable.example().models)
        ['large', 'medium', 'small']
        """
        return cls.read(Path(__file__).with_name("prices.toml"))

    def dollars(self, input_tokens: ArrayLike, output_tokens: ArrayLike, model: str) -> Any:
        """Return the price of prompt and completion tokens, in dollars; arrays give an array."""
        asked, answered = self.models[choice("model", model, tuple(self.models))]
        total = (np.asarray(input_tokens) * asked + np.asarray(output_tokens) * answered) / PER_MILLION
        return float(total) if total.ndim == 0 else total


def _parts(given: Mapping[str, Any]) -> tuple[str, dict[str, tuple[float, float]], dict[str, float]]:
    for key in given:
        choice("key", key, ("date", "note", "models"))
    if "date" not in given:
        raise ValueError("date must be the date of the prices; got none")
    models = given.get("models", {})
    if not isinstance(models, dict) or not all(isinstance(m, dict) for m in models.values()):
        raise ValueError(f"models must be tables [models.NAME]; got {models!r}")
    for model, prices in models.items():
        if set(prices) - {"cached"} != {"input", "output"}:
            raise ValueError(
                f"models.{model} must have input and output, and may have cached; got {sorted(prices)}"
            )
    pairs = {model: (p["input"], p["output"]) for model, p in models.items()}
    return str(given["date"]), pairs, {model: p["cached"] for model, p in models.items() if "cached" in p}


def _cached_price(model: str, price: Any, models: Mapping[str, tuple[float, float]]) -> float:
    if model not in models:
        raise ValueError(f"cached must name models of the table ({', '.join(models)}); got {model!r}")
    value = number(f"models.{model}.cached", price, minimum=0.0)
    if value > models[model][0]:
        raise ValueError(f"models.{model}.cached must be <= input ({models[model][0]:g}); got {value:g}")
    return value


def _pair(model: str, prices: Any) -> tuple[float, float]:
    try:
        asked, answered = prices
    except (TypeError, ValueError):
        raise ValueError(f"models.{model} must be (input, output) prices; got {prices!r}") from None
    return (
        number(f"models.{model}.input", asked, minimum=0.0),
        number(f"models.{model}.output", answered, minimum=0.0),
    )
