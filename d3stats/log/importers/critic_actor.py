"""Debates in which a critic scores every solution for its logic and its computation.

A file is ``{question: {"ground_truth": ..., "all_rounds_data": rounds}}``; a round is a list with one
``{"solution": ..., "score": {...}}`` per agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from d3stats.log.importers import answers
from d3stats.log.importers._source import files, json_of, mapping, points, question_id, shape, stem
from d3stats.log.schema import Item, Turn, Verdict

NAME = "critic-actor"
TITLE = "GSM8K debates with a logic and a computation score per agent and round"
SOURCE = "nilgeoutim/CS546_MajorityErrorDebate, commits in the file names; licence: none stated"
NOTES = (
    "scores: side 'solution', criteria 'logic' and 'computation', 0 to 10 points given by the critic",
    "the score belongs to the turn of the agent whose solution was scored",
)

_CRITERIA = {"logic": "logic_score", "computation": "computation_score"}


def records(
    source: Path, *, text: bool = False, reading: str = "asked", pattern: str = "*critic_actor*.json"
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all files of a folder that fit `pattern`.

    Parameters
    ----------
    source : Path
        A JSON file, a folder or a tar archive of such files.
    text : bool
        Keep the texts: the solution, and below it the critique.
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
        data = json_of(name, content)
        log = stem(name)
        shape(name, "an object of questions", isinstance(data, dict) and bool(data), data)
        for index, (asked, value) in enumerate(data.items(), start=1):
            where = f"{name}, question {index}"
            debate = f"{log}/{index}"
            entry = mapping(where, value, ("ground_truth", "all_rounds_data"))
            label = answers.gold_number(str(entry["ground_truth"]))
            shape(f"{where}, ground_truth", "a readable answer", label is not None, entry["ground_truth"])
            yield Item(
                debate=debate,
                question=question_id("gsm8k", asked),
                label=label,
                log=log,
                protocol="critic-actor",
                text=asked if text else None,
            )
            rounds = entry["all_rounds_data"]
            shape(f"{where}, all_rounds_data", "a list of rounds", isinstance(rounds, list), rounds)
            for played, panel in enumerate(rounds, start=1):
                shape(f"{where}, round {played}", "a list of agents", isinstance(panel, list), panel)
                for agent, said in enumerate(panel, start=1):
                    yield _turn(
                        f"{where}, round {played}, agent {agent}", debate, played, agent, said, text, reading
                    )


def _turn(where: str, debate: str, played: int, agent: int, said: Any, text: bool, reading: str) -> Turn:
    entry = mapping(where, said, ("solution", "score"))
    shape(f"{where}, solution", "a text", isinstance(entry["solution"], str), entry["solution"])
    score = mapping(f"{where}, score", entry["score"], ())
    return Turn(
        debate=debate,
        round=played,
        agent=f"agent {agent}",
        role="debater",
        vote=answers.number(entry["solution"], reading=reading),
        scores=_scores(where, score),
        text=f"{entry['solution']}\n\n{score.get('critique', '')}".rstrip() if text else None,
    )


def _scores(where: str, score: Mapping[str, Any]) -> dict[str, dict[str, float]] | None:
    given = {}
    for criterion, key in _CRITERIA.items():
        if score.get(key) is not None:
            given[criterion] = points(f"{where}, {key}", score[key])
    return {"solution": given} if given else None
