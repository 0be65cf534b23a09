"""PRD: pairs of answers to the 80 Vicuna questions, reviewed by LLMs in both orders and by humans.

The archive holds one file per reviewer and ordered pair of models, one JSON line per question and vote, with
``score`` 1 (first shown is better), 2 or 3 (tie). A debate is one question and one unordered pair.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from d3stats.log.importers._source import files, json_lines, mapping, shape
from d3stats.log.schema import Item, Turn, Verdict

NAME = "prd"
TITLE = "80 questions x pairs of models, five LLM reviewers in both orders, one or three humans"
SOURCE = "bcdnlp/PRD @35fb99e5; licence: MIT"
NOTES = (
    "the pair is sorted by name: '1' is the first of the two, in either order shown; 3 becomes 'tie'",
    "an agent is a reviewer and the order shown, 'gpt4 (1-2)' or 'gpt4 (2-1)'; humans saw one order each",
    "label is the plurality of the humans, or missing without a plurality; score judges with roles=['judge']",
    "GPT-3.5 reviewed gpt35 against gpt4 twice; the second votes belong to the agents 'gpt35 (1-2) again', "
    "so the jury of ten has twelve votes there",
    "log is the pair: 'vicuna80: A against B' with LLM reviewers, 'vicuna80, humans only: ...' without; "
    "pairs differ in the number of humans (one or three), so each is a run of its own",
)

ANSWERS = ("1", "2", "tie")
_FILE = re.compile(
    r"ratings-(?P<folder>[^/]+)/answer[-_](?P<first>.+?)-vs-answer[-_](?P<second>.+?)"
    r"-(?P<reviewer>bard|claude|gpt35|gpt4|vicuna-13b|human)-reviewer(?P<kind>[-_]threeclass)?\.jsonl"
)
_VOTES = {"1-2": {1: "1", 2: "2", 3: "tie"}, "2-1": {1: "2", 2: "1", 3: "tie"}}


def records(source: Path) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of the archive, or of a folder with the ``ratings-*`` folders."""
    turns: dict[tuple[str, str, int], dict[str, Turn]] = {}
    humans: dict[tuple[str, str, int], list[tuple[str, str]]] = {}
    for name, content in files(source, "*-vs-*-reviewer*.jsonl"):
        match = _FILE.search(name)
        known = "ratings-R/answer_A-vs-answer_B-R-reviewer....jsonl"
        shape(f"file name {name}", known, match is not None, name)
        assert match is not None
        low, high = sorted((match["first"], match["second"]))
        order = "1-2" if match["first"] == low else "2-1"
        reviewer = None if match["reviewer"] == "human" else match["reviewer"]
        for line, row in enumerate(json_lines(name, content), start=1):
            where = f"{name}, line {line}"
            entry = mapping(where, row, ("question_id", "score", "text"))
            score, question = entry["score"], entry["question_id"]
            shape(f"{where}, score", "1, 2 or 3", score in (1, 2, 3), score)
            shape(f"{where}, question_id", "an integer", isinstance(question, int), question)
            vote = _VOTES[order][int(score)]
            said = turns.setdefault((low, high, question), {})
            asked = humans.setdefault((low, high, question), [])
            if reviewer is None:
                asked.append((vote, entry["text"]))
                agent = f"human {len(asked)} ({order})"
            else:
                agent = f"{reviewer} ({order})"
                while agent in said:
                    agent += " again"
            debate, role = f"prd/{question}/{low}-vs-{high}", "judge" if reviewer else "human"
            text = str(entry["text"]) if reviewer else None
            said[agent] = Turn(debate, 1, agent, role=role, vote=vote, model=reviewer, text=text)
    for (low, high, question), said in sorted(turns.items()):
        judged = any(turn.role == "judge" for turn in said.values())
        asked = humans[low, high, question]
        yield Item(
            f"prd/{question}/{low}-vs-{high}",
            f"vicuna80:{question}",
            label=_plurality([vote for vote, _ in asked]),
            answers=ANSWERS,
            log=f"{'vicuna80' if judged else 'vicuna80, humans only'}: {low} against {high}",
            protocol="pairwise",
            text=asked[-1][1] if asked else None,
        )
        yield from said.values()


def _plurality(votes: list[str]) -> str | None:
    leaders = Counter(votes).most_common(2)
    if not leaders or (len(leaders) == 2 and leaders[0][1] == leaders[1][1]):
        return None
    return leaders[0][0]
