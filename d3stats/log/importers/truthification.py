"""Truthification games: two agents with interests argue, a judge's accuracy is measured after each round.

Read either the raw ``game_budgetB_seedS.json`` files or the table of rounds, one row per game and round with
``game,oracle_budget,seed,round``, three accuracies of the round and ``final_selection_accuracy``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from d3stats.log.importers._source import csv_rows, json_files, mapping, points, sequence, shape, stem, string
from d3stats.log.schema import Item, Turn, Verdict

NAME = "truthification"
TITLE = "27 games x 10 rounds with the judge's accuracy after each round"
SOURCE = "superkaiba/truthification @fef44f84; licence: MIT by its README"
NOTES = (
    "there are no votes; each accuracy is a separate side with the criterion 'judge', between 0 and 1, so "
    "that no total adds different accuracies",
    "final_selection_accuracy, one number per game, is in the last round",
    "games with the same seed share their objects, so the seed is the question",
    "the raw game also has the agents' statements, as turns without votes",
)

SIDES = ("judge_property_accuracy", "judge_rule_accuracy", "decision_quality")
FINAL = "final_selection_accuracy"
_COLUMNS = ("game", "oracle_budget", "seed", "round", *SIDES, FINAL)


def records(source: Path) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a raw game, of a folder of raw games, or of the table of rounds."""
    if source.suffix == ".csv":
        yield from _from_table(source)
        return
    for name, data in json_files(source, "game_*.json"):
        yield from _from_game(name, data)


def _from_game(name: str, data: Any) -> Iterator[Item | Turn]:
    game = mapping(name, data, ("config", "rounds", "metrics"))
    keys = ("seed", "oracle_budget", "observer_model", "agent_model")
    config = mapping(f"{name}, config", game["config"], keys)
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
            yield Turn(debate, played, agent, role="debater", model=model, text="\n\n".join(texts))
        metrics = mapping(f"{where}, round_metrics", entry["round_metrics"], SIDES)
        values = {side: metrics[side] for side in SIDES}
        if played == len(rounds):
            last = mapping(f"{name}, metrics", game["metrics"], ("selection_accuracy",))
            values[FINAL] = last["selection_accuracy"]
        reasoning = str(entry.get("observer_reasoning", ""))
        yield _judge(where, debate, played, values, model=observer, text=reasoning)


def _from_table(source: Path) -> Iterator[Item | Turn]:
    games: dict[str, list[tuple[str, int, dict[str, str]]]] = {}
    for where, row in csv_rows(source, _COLUMNS):
        played = points(f"{where}, round", row["round"])
        shape(f"{where}, round", "an integer >= 1", played >= 1 and played == int(played), played)
        game = string(f"{where}, game", row["game"])
        games.setdefault(game, []).append((where, int(played), row))
    for game, entries in games.items():
        debate, first = stem(game), entries[0][2]
        yield _item(debate, first["seed"], first["oracle_budget"])
        last = max(number for _, number, _ in entries)
        for where, number, row in entries:
            sides = (*SIDES, FINAL) if number == last else SIDES
            yield _judge(where, debate, number, {side: row[side] for side in sides})


def _item(debate: str, seed: Any, budget: Any) -> Item:
    question, log = f"truthification:seed {seed}", f"oracle budget {budget}"
    return Item(debate, question, log=log, protocol="truthification")


def _judge(where: str, debate: str, played: int, values: Mapping[str, Any], **said: Any) -> Turn:
    scores = {
        side: {"judge": points(f"{where}, {side}", value)}
        for side, value in values.items()
        if value is not None and value != ""
    }
    return Turn(debate, played, "judge", role="judge", scores=scores or None, **said)
