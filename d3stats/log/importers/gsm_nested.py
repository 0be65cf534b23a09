"""GSM8K debates kept as one message list per agent.

A file is ``{question: [[messages of agent 1], ...], "... #### 52"]}``; the assistant messages of an agent
are its rounds. The layout is that of the multi-agent debate code of Du et al. (2023).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from d3stats.log.importers import answers
from d3stats.log.importers._source import json_files, question_id, questions, shape, stem
from d3stats.log.schema import Item, Turn, Verdict

NAME = "gsm-nested"
TITLE = "GSM8K debates, one message list per agent"
SOURCE = "nilgeoutim/CS546_MajorityErrorDebate, commits in the file names; licence: none stated"
NOTES = (
    "reading='asked': the last box decides; without a number in it, the last number of the text",
    "a box that holds a list, a range, a formula or a time of day is a missing vote",
)


def records(
    source: Path, *, reading: str = "asked", pattern: str = "*.json"
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all files of a folder or archive that fit `pattern`."""
    for name, data in json_files(source, pattern):
        vote = partial(answers.number, reading=reading)
        yield from nested_debates(name, data, "gsm8k", answers.gold_number, vote)


def nested_debates(
    name: str,
    data: Any,
    benchmark: str,
    gold: Callable[[str], str | None],
    vote: Callable[[str], str | None],
    closed: tuple[str, ...] | None = None,
    model: str | None = None,
) -> Iterator[Item | Turn]:
    """Yield the records of one file; the i-th assistant message of an agent is its round i."""
    for debate, where, asked, value in questions(name, data):
        pair = isinstance(value, list) and len(value) == 2
        shape(where, "a list [contexts, right answer]", pair, value)
        contexts, right = value
        lists = isinstance(contexts, list) and contexts and all(isinstance(part, list) for part in contexts)
        shape(f"{where}, contexts", "a list of lists", bool(lists), contexts)
        label = gold(right) if isinstance(right, str) else None
        shape(f"{where}, right answer", "a readable answer", label is not None, right)
        yield Item(
            debate,
            question_id(benchmark, asked),
            label=label,
            answers=closed,
            log=stem(name),
            protocol="simultaneous",
            text=asked,
        )
        for agent, context in enumerate(contexts, start=1):
            said = [_content(f"{where}, agent {agent}", message) for message in context]
            turns = [content for role, content in said if role == "assistant"]
            for played, content in enumerate(turns, start=1):
                own = f"agent {agent}"
                yield Turn(debate, played, own, role="debater", vote=vote(content), model=model, text=content)


def _content(where: str, message: Any) -> tuple[str, str]:
    ok = isinstance(message, dict) and all(isinstance(message.get(key), str) for key in ("role", "content"))
    shape(f"{where}, message", "an object with role and content", ok, message)
    return message["role"], message["content"]
