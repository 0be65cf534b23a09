"""PRD: pairs of answers to the 80 Vicuna questions, reviewed by LLMs in both orders and by humans.

The archive holds one file per reviewer and ordered pair of models, one JSON line per question and vote, with
``score`` 1 (first shown is better), 2 or 3 (tie). A debate is one question and one unordered pair.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from d3stats.log.importers._source import files, json_lines, mapping, shape
from d3stats.log.schema import Item, Turn, Verdict

NAME = "prd"
TITLE = "80 questions x pairs of models, five LLM reviewers in both orders, one or three humans"
SOURCE = "bcdnlp/PRD @35fb99e5; licence: MIT"
NOTES = (
    "the pair is sorted by name: '1' is the first of the two, in either order shown; 3 becomes 'tie'",
    "an agent is a reviewer and the order shown, 'gpt4 (1-2)' or 'gpt4 (2-1)'; humans saw one order each",
    "label is the plurality of the humans, missing when there is none; score judges with roles=['judge']",
    "GPT-3.5 reviewed gpt35 against gpt4 twice: the second votes are the agents 'gpt35 (1-2) again', so the "
    "jury of ten has twelve votes there",
    "log is the pair: 'vicuna80: A against B' with LLM reviewers, 'vicuna80, humans only: ...' without; "
    "pairs differ in the number of humans (one or three), so each is a run of its own",
)

ANSWERS = ("1", "2", "tie")
_FILE = re.compile(
    r"ratings-(?P<folder>[^/]+)/answer[-_](?P<first>.+?)-vs-answer[-_](?P<second>.+?)"
    r"-(?P<reviewer>bard|claude|gpt35|gpt4|vicuna-13b|human)-reviewer(?P<kind>[-_]threeclass)?\.jsonl"
)
_VOTES = {"1-2": {1: "1", 2: "2", 3: "tie"}, "2-1": {1: "2", 2: "1", 3: "tie"}}


@dataclass
class _Debate:
    """Turns of one question and pair, collected over the files."""

    turns: dict[str, Turn] = field(default_factory=dict)
    humans: list[str] = field(default_factory=list)
    text: str | None = None


def records(source: Path, *, text: bool = False) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of the archive, or of a folder like it.

    Parameters
    ----------
    source : Path
        The tar.gz, or a folder with the ``ratings-*`` folders.
    text : bool
        Keep the reviews.

    Raises
    ------
    ValueError
        When a file's name or content does not have this shape.
    """
    debates: dict[tuple[str, str, int], _Debate] = {}
    for name, content in files(source, "*-vs-*-reviewer*.jsonl"):
        match = _FILE.search(name)
        shape(
            f"file name {name}", "ratings-R/answer_A-vs-answer_B-R-reviewer....jsonl", match is not None, name
        )
        assert match is not None
        first, second, reviewer = match["first"], match["second"], match["reviewer"]
        order = "1-2" if first < second else "2-1"
        for line, row in enumerate(json_lines(name, content), start=1):
            where = f"{name}, line {line}"
            entry = mapping(where, row, ("question_id", "score", "text"))
            score = entry["score"]
            shape(f"{where}, score", "1, 2 or 3", score in (1, 2, 3), score)
            question = entry["question_id"]
            shape(f"{where}, question_id", "an integer", isinstance(question, int), question)
            debate = debates.setdefault((min(first, second), max(first, second), question), _Debate())
            vote = _VOTES[order][int(score)]
            human = reviewer == "human"
            if human:
                debate.humans.append(vote)
                agent = f"human {len(debate.humans)} ({order})"
                debate.text = entry["text"] if text else None
            else:
                agent = f"{reviewer} ({order})"
                while agent in debate.turns:
                    agent += " again"
            debate.turns[agent] = Turn(
                debate=_name(min(first, second), max(first, second), question),
                round=1,
                agent=agent,
                role="human" if human else "judge",
                vote=vote,
                model=None if human else reviewer,
                text=str(entry["text"]) if text and not human else None,
            )
    for (low, high, question), debate in sorted(debates.items(), key=lambda entry: entry[0]):
        judged = any(turn.role == "judge" for turn in debate.turns.values())
        yield Item(
            debate=_name(low, high, question),
            question=f"vicuna80:{question}",
            label=_plurality(debate.humans),
            answers=ANSWERS,
            log=f"{'vicuna80' if judged else 'vicuna80, humans only'}: {low} against {high}",
            protocol="pairwise",
            text=debate.text,
        )
        yield from debate.turns.values()


def _name(low: str, high: str, question: int) -> str:
    return f"prd/{question}/{low}-vs-{high}"


def _plurality(votes: list[str]) -> str | None:
    leaders = Counter(votes).most_common(2)
    if not leaders or (len(leaders) == 2 and leaders[0][1] == leaders[1][1]):
        return None
    return leaders[0][0]
