"""Truthification games: two agents with interests argue, a judge's accuracy is measured after each round.

Read either the raw ``game_budgetB_seedS.json`` files or the table of rounds, one row per game and round with
``game,oracle_budget,seed,round``, three accuracies of the round and ``final_selection_accuracy``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from d3stats.log.importers._source import (
    files,
    json_of,
    mapping,
    points,
    sequence,
    shape,
    stem,
    string,
    text_of,
)
from d3stats.log.schema import Item, Turn, Verdict

NAME = "truthification"
TITLE = "27 games x 10 rounds with the judge's accuracy after each round"
SOURCE = "superkaiba/truthification @fef44f84; licence: MIT by its README"
NOTES = (
    "there are no votes: each accuracy is a side of its own with the one criterion 'judge', between 0 and 1, "
    "so that no total adds different accuracies",
    "final_selection_accuracy, one number per game, stands in the last round",
    "games with the same seed share their objects: the seed is the question",
    "the raw game also has the agents' statements, as turns without votes",
)

SIDES = ("judge_property_accuracy", "judge_rule_accuracy", "decision_quality")
FINAL = "final_selection_accuracy"
_COLUMNS = ("game", "oracle_budget", "seed", "round", *SIDES, FINAL)


def records(source: Path, *, text: bool = False) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a raw game, of a folder of raw games, or of the table of rounds.

    Parameters
    ----------
    source : Path
        A ``game_*.json`` file, a folder of them, or a CSV.
    text : bool
        Keep the statements and the judge's reasoning (raw games only).

    Raises
    ------
    ValueError
        When a file does not have this shape.
    """
    if source.suffix == ".csv":
        yield from _from_table(source)
        return
    for name, content in files(source, "game_*.json"):
        yield from _from_game(name, json_of(name, content), text)


def _from_game(name: str, data: Any, text: bool) -> Iterator[Item | Turn]:
    game = mapping(name, data, ("config", "rounds", "metrics"))
    config = mapping(
        f"{name}, config", game["config"], ("seed", "oracle_budget", "observer_model", "agent_model")
    )
    rounds = sequence(f"{name}, rounds", game["rounds"])
    observer = string(f"{name}, observer_model", config["observer_model"])
    model = string(f"{name}, agent_model", config["agent_model"])
    debate = stem(name)
    yield _item(debate, config["seed"], config["oracle_budget"])
    for played, value in enumerate(rounds, start=1):
        where = f"{name}, round {played}"
        entry = mapping(where, value, ("agent_statements", "round_metrics"))
        statements: dict[str, list[str]] = {}
        for statement in sequence(f"{where}, agent_statements", entry["agent_statements"], empty=True):
            said = mapping(f"{where}, statement", statement, ("agent_id", "text"))
            agent = string(f"{where}, agent_id", said["agent_id"])
            statements.setdefault(agent, []).append(str(said["text"]))
        for agent, texts in sorted(statements.items()):
            yield Turn(
                debate=debate,
                round=played,
                agent=agent,
                role="debater",
                model=model,
                text="\n\n".join(texts) if text else None,
            )
        metrics = mapping(f"{where}, round_metrics", entry["round_metrics"], SIDES)
        values = {side: metrics[side] for side in SIDES}
        if played == len(rounds):
            values[FINAL] = mapping(f"{name}, metrics", game["metrics"], ("selection_accuracy",))[
                "selection_accuracy"
            ]
        reasoning = str(entry.get("observer_reasoning", "")) if text else None
        yield _judge(where, debate, played, values, observer, reasoning)


def _from_table(source: Path) -> Iterator[Item | Turn]:
    ((name, content),) = files(source, "*")
    rows = csv.DictReader(io.StringIO(text_of(name, content), newline=""))
    absent = [column for column in _COLUMNS if column not in (rows.fieldnames or ())]
    if absent:
        raise ValueError(f"{name} must have the columns {', '.join(_COLUMNS)}; got none named {absent}")
    games: dict[str, list[tuple[int, int, dict[str, str]]]] = {}
    for line, row in enumerate(rows, start=2):
        played = points(f"{name}, line {line}, round", row["round"])
        shape(f"{name}, line {line}, round", "an integer >= 1", played >= 1 and played == int(played), played)
        games.setdefault(string(f"{name}, line {line}, game", row["game"]), []).append(
            (line, int(played), row)
        )
    for game, entries in games.items():
        debate = stem(game)
        yield _item(debate, entries[0][2]["seed"], entries[0][2]["oracle_budget"])
        last = max(played for _, played, _ in entries)
        for line, played, row in entries:
            sides = (*SIDES, FINAL) if played == last else SIDES
            yield _judge(f"{name}, line {line}", debate, played, {side: row[side] for side in sides})


def _item(debate: str, seed: Any, budget: Any) -> Item:
    return Item(
        debate=debate,
        question=f"truthification:seed {seed}",
        log=f"oracle budget {budget}",
        protocol="truthification",
    )


def _judge(
    where: str,
    debate: str,
    played: int,
    values: Mapping[str, Any],
    model: str | None = None,
    text: str | None = None,
) -> Turn:
    scores = {}
    for side, value in values.items():
        if value is None or value == "":
            continue
        scores[side] = {"judge": points(f"{where}, {side}", value)}
    return Turn(
        debate=debate,
        round=played,
        agent="judge",
        role="judge",
        scores=scores or None,
        model=model,
        text=text,
    )
