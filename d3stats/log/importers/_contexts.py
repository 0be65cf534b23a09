"""Nested debates, ``{question: [[messages of agent 1], ...], gold]}``, for the formats that use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from d3stats.log.importers._source import shape
from d3stats.log.schema import Item, Turn


def nested_debates(
    name: str,
    data: Any,
    *,
    log: str,
    question: Callable[[str], str],
    gold: Callable[[str], str | None],
    vote: Callable[[str], str | None],
    answers: tuple[str, ...] | None,
    model: str | None,
    text: bool,
) -> Iterator[Item | Turn]:
    """Yield the records of one file; the i-th assistant message of an agent is its round i."""
    shape(name, "an object of questions", isinstance(data, dict) and bool(data), data)
    for index, (asked, value) in enumerate(data.items(), start=1):
        where = f"{name}, question {index}"
        pair = isinstance(value, list) and len(value) == 2
        shape(where, "a list [contexts, right answer]", pair, value)
        contexts, right = value
        shape(f"{where}, contexts", "a list of lists", _is_lists(contexts), contexts)
        label = gold(right) if isinstance(right, str) else None
        shape(f"{where}, right answer", "a readable answer", label is not None, right)
        debate = f"{log}/{index}"
        yield Item(
            debate=debate,
            question=question(asked),
            label=label,
            answers=answers,
            log=log,
            protocol="simultaneous",
            text=asked if text else None,
        )
        for agent, context in enumerate(contexts, start=1):
            said = [_content(f"{where}, agent {agent}", message) for message in context]
            turns = [content for role, content in said if role == "assistant"]
            for played, content in enumerate(turns, start=1):
                yield Turn(
                    debate=debate,
                    round=played,
                    agent=f"agent {agent}",
                    role="debater",
                    vote=vote(content),
                    model=model,
                    text=content if text else None,
                )


def _is_lists(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(part, list) for part in value)


def _content(where: str, message: Any) -> tuple[str, str]:
    ok = isinstance(message, dict) and all(isinstance(message.get(key), str) for key in ("role", "content"))
    shape(f"{where}, message", "an object with role and content", ok, message)
    return message["role"], message["content"]
