"""GSM8K debates kept as one message list per agent.

A file is ``{question: [[messages of agent 1], ...], "... #### 52"]}``; the assistant messages of an agent
are its rounds. The layout is that of the multi-agent debate code of Du et al. (2023).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from d3stats.log.importers import answers
from d3stats.log.importers._contexts import nested_debates
from d3stats.log.importers._source import files, json_of, question_id, stem
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
