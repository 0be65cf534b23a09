"""Judgments of Arena-Hard: a model against a baseline, in two games with exchanged places.

A score is ``A>>B``, ``A>B``, ``A=B``, ``B>A`` or ``B>>A``, or nothing where it could not be read; ``A<B`` is read as
``B>A``. A game may be null, too. In game 1 A is the baseline and B the model, in game 2 it is the other way round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from d3stats._words import Advised
from d3stats.log.importers._pairs import TIE, Judgment, pair_records
from d3stats.log.importers._source import files, json_lines, mapping, named, sequence, shape
from d3stats.log.schema import Item, Turn, Verdict

NAME = "arena-hard"
TITLE = "Judgments of Arena-Hard: a model against a baseline, both orders, A>>B to B>>A"
SOURCE = "lmarena/arena-hard-auto, the files of model_judgment; licence: Apache-2.0"
NOTES = (
    "a debate is a question, a model, the baseline and an order; its answers are the two names and 'tie'",
    "the baseline is shown first in game 1 and second in game 2, as the benchmark does",
)

_WORDS = {"A>>B": 0, "A>B": 0, "A=B": None, "B=A": None, "B>A": 1, "B>>A": 1}
_TURNED = {"A<B": "B>A", "A<<B": "B>>A", "B<A": "A>B", "B<<A": "A>>B"}


def records(
    source: Path, said: list[str], *, pattern: str = "*.jsonl", baseline: str | None = None
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all of a folder; `baseline` names it where the files do not."""
    much: Counter[str] = Counter()
    yield from pair_records(_judgments(source, pattern, baseline, much), NAME, said)
    if much:
        listed = " and ".join(f"{n:,} {word}" for word, n in sorted(much.items()))
        said.append(f"{listed} count as A>B and B>A; how far one is better is left out")


def _judgments(source: Path, pattern: str, baseline: str | None, much: Counter[str]) -> Iterator[Judgment]:
    for name, content in files(source, pattern):
        for number, row in enumerate(json_lines(name, content), start=1):
            where = f"{name}, line {number}"
            entry = mapping(where, row, ("model", "judge", "games"))
            key = "uid" if "uid" in entry else "question_id"
            question = named(f"{where}, {key}", mapping(where, row, (key,))[key])
            model, against = (
                named(f"{where}, model", entry["model"]),
                _baseline(where, entry.get("baseline"), baseline),
            )
            games = sequence(f"{where}, games", entry["games"])
            shape(f"{where}, games", "one or two games", len(games) <= 2, games)
            category = entry.get("category")
            for game, played in enumerate(games, start=1):
                pair = (against, model) if game == 1 else (model, against)
                at = f"{where}, game {game}"
                score = None if played is None else mapping(at, played, ("score",))["score"]
                yield Judgment(
                    at,
                    question,
                    named(f"{where}, judge", entry["judge"]),
                    *pair,
                    ordered=True,
                    winner=_winner(f"{at}, score", score, pair, much),
                    said=None if played is None else _text(played.get("judgment")),
                    category=category if isinstance(category, str) and category else None,
                )


def _baseline(where: str, written: Any, given: str | None) -> str:
    if isinstance(written, str) and written:
        if given is not None and given != written:
            raise ValueError(f"baseline must be {written!r}, as {where} says; got baseline={given!r}")
        return written
    if given is None:
        needed = f"baseline must be given where the file does not name it, as {where}"
        step = "name it with baseline= (--baseline NAME); that of Arena-Hard 0.1 is gpt-4-0314"
        raise ValueError(Advised(needed, step, got="none"))
    return given


def _winner(where: str, word: Any, pair: tuple[str, str], much: Counter[str]) -> str | None:
    if word is None:
        return None
    word = _TURNED.get(word, word) if isinstance(word, str) else word
    shape(where, f"one of {', '.join(_WORDS)}, or null", isinstance(word, str) and word in _WORDS, word)
    side = _WORDS[word]
    if ">>" in word:
        much[word] += 1
    return TIE if side is None else pair[side]


def _text(value: Any) -> str | None:
    inside = value.get("answer") if isinstance(value, dict) else value
    return inside if isinstance(inside, str) else None
