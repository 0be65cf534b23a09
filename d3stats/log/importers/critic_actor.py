"""Debates in which a critic scores every solution for its logic and its computation.

A file is ``{question: {"ground_truth": ..., "all_rounds_data": rounds}}``; a round is a list with one
``{"solution": ..., "score": {...}}`` per agent. The text of a turn is the solution, and below it the critique.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from d3stats.log.importers import answers
from d3stats.log.importers._source import json_files, mapping, points, question_id, questions, shape, stem
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
    source: Path, *, reading: str = "asked", pattern: str = "*critic_actor*.json"
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a file, or of all files of a folder or archive that fit `pattern`."""
    for name, data in json_files(source, pattern):
        for debate, where, asked, value in questions(name, data):
            entry = mapping(where, value, ("ground_truth", "all_rounds_data"))
            label = answers.gold_number(str(entry["ground_truth"]))
            shape(f"{where}, ground_truth", "a readable answer", label is not None, entry["ground_truth"])
            question = question_id("gsm8k", asked)
            yield Item(debate, question, label=label, log=stem(name), protocol="critic-actor", text=asked)
            rounds = entry["all_rounds_data"]
            shape(f"{where}, all_rounds_data", "a list of rounds", isinstance(rounds, list), rounds)
            for played, panel in enumerate(rounds, start=1):
                shape(f"{where}, round {played}", "a list of agents", isinstance(panel, list), panel)
                for agent, said in enumerate(panel, start=1):
                    yield _turn(
                        f"{where}, round {played}, agent {agent}", debate, played, agent, said, reading
                    )


def _turn(where: str, debate: str, played: int, agent: int, said: Any, reading: str) -> Turn:
    entry = mapping(where, said, ("solution", "score"))
    solution = entry["solution"]
    shape(f"{where}, solution", "a text", isinstance(solution, str), solution)
    score = mapping(f"{where}, score", entry["score"], ())
    given = {
        criterion: points(f"{where}, {key}", score[key])
        for criterion, key in _CRITERIA.items()
        if score.get(key) is not None
    }
    vote = answers.number(solution, reading=reading)
    scores = {"solution": given} if given else None
    text = f"{solution}\n\n{score.get('critique', '')}".rstrip()
    return Turn(debate, played, f"agent {agent}", role="debater", vote=vote, scores=scores, text=text)
