"""GSM8K debates kept as one message list per agent.

A file is ``{question: [[messages of agent 1], ...], "... #### 52"]}``; the assistant messages of an agent
are its rounds. The layout is that of the multi-agent debate code of Du et al. (2023).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from d3stats.log.importers import answers
from d3stats.log.importers._source import files, json_of, question_id, shape, stem
from d3stats.log.schema import Item, Turn, Verdict

NAME = "gsm-nested"
TITLE = "GSM8K debates, one message list per agent"
SOURCE = "nilgeoutim/CS546_MajorityErrorDebate, commits in the file names; licence: none stated"
NOTES = (
    "reading='asked': the last box decides; without a number in it, the last number of the text",
    "a box that holds a list, a range, a formula or a time of day is a missing vote",
)


def records(
    source: Path, *, text: bool = False, reading: str = "asked", pattern: str = "*.json"
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all files of a folder that fit `pattern`.

    Parameters
    ----------
    source : Path
        A JSON file, a folder or a tar archive of such files.
    text : bool
        Keep the texts.
    reading : {"asked", "strict"}
        How an answer is read, see :func:`d3stats.log.importers.answers.number`.
    pattern : str
        Which files of a folder are read.

    Raises
    ------
    ValueError
        When a file does not have this shape.
    """
    for name, content in files(source, pattern):
        yield from nested_debates(
            name,
            json_of(name, content),
            log=stem(name),
            question=lambda asked: question_id("gsm8k", asked),
            gold=answers.gold_number,
            vote=lambda said: answers.number(said, reading=reading),
            answers=None,
            model=None,
            text=text,
        )


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
