"""Debates as nested JSON, in whatever shape, are the debates of the long table; what could be either is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from layers import covering

import d3stats
from d3stats.inference import as_ratings

AGENTS = ("gpt", "claude", "qwen")


def debates(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        (f"q{q:02d}", r, agent, "ABC"[rng.integers(3)], "ABC"[q % 3], int(rng.integers(9, 99)))
        for q in range(6)
        for r in (1, 2, 3)
        for agent in AGENTS
    ]
    return pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label", "tokens"])


def by_agent(part: pd.DataFrame) -> dict[str, str]:
    return dict(zip(part["agent"], part["vote"], strict=True))


def of_question(part: pd.DataFrame) -> list[pd.DataFrame]:
    return [each for _, each in part.groupby("round")]


def turns(part: pd.DataFrame) -> list[dict[str, Any]]:
    return part[["agent", "vote", "tokens"]].to_dict("records")


def answered(part: pd.DataFrame) -> list[dict[str, Any]]:
    return part[["agent", "vote", "tokens"]].rename(columns={"vote": "answer"}).to_dict("records")


SHAPES: dict[str, Callable[[pd.DataFrame], dict[str, Any]]] = {
    "rounds of responses": lambda q: {"rounds": [{"responses": answered(r)} for r in of_question(q)]},
    "rounds of votes by name": lambda q: {"rounds": [{"votes": by_agent(r)} for r in of_question(q)]},
    "rounds by name": lambda q: {"rounds": [by_agent(r) for r in of_question(q)]},
    "rounds of one vote each": lambda q: {
        "rounds": [[{name: vote} for name, vote in by_agent(r).items()] for r in of_question(q)]
    },
    "rounds of turns": lambda q: {"history": [turns(r) for r in of_question(q)]},
    "keys of rounds": lambda q: {f"round_{k}": by_agent(r) for k, r in enumerate(of_question(q), start=1)},
    "keys of rounds with turns": lambda q: {
        f"Round {k}": turns(r) for k, r in enumerate(of_question(q), start=1)
    },
    "a debate": lambda q: {"debate": [by_agent(r) for r in of_question(q)]},
    "votes by round": lambda q: {"votes": [by_agent(r) for r in of_question(q)]},
    "votes of each agent": lambda q: {
        "votes": {agent: part["vote"].tolist() for agent, part in q.groupby("agent", sort=False)}
    },
    "agents with their votes": lambda q: {
        "agents": [
            {"name": agent, "votes": part["vote"].tolist()} for agent, part in q.groupby("agent", sort=False)
        ]
    },
}


@covering(shape=SHAPES, kind=["list", "results", "by name", "lines"])
def test_every_shape_of_a_debate_is_the_long_table(shape: str, kind: str, tmp_path: Path) -> None:
    table = debates(len(shape))
    made = {
        str(name): {"id": name, "gold": q["label"].iloc[0], **SHAPES[shape](q)}
        for name, q in table.groupby("debate")
    }
    path = tmp_path / ("log.jsonl" if kind == "lines" else "log.json")
    if kind == "lines":
        path.write_text("".join(json.dumps(one) + "\n" for one in made.values()))
    elif kind == "by name":
        bare = {name: {key: value for key, value in one.items() if key != "id"} for name, one in made.items()}
        path.write_text(json.dumps(bare))
    else:
        whole = list(made.values())
        path.write_text(
            json.dumps({"config": {"model": "x"}, "results": whole} if kind == "results" else whole)
        )
    expected, read = d3stats.as_trajectories(table), d3stats.as_trajectories(path)
    order = [read.seats.index(agent) for agent in expected.seats]
    names = np.array([*expected.answers, ""])
    said = np.array([*read.answers, ""])
    assert (said[read.votes[:, :, order]] == names[expected.votes]).all()
    assert (said[read.label] == names[expected.label]).all()
    if "tokens" in path.read_text():
        assert read.tokens is not None
        assert expected.tokens is not None
        assert read.tokens.tolist() == expected.tokens.tolist()
    assert as_ratings(path).n_items == 6


def test_an_answer_beside_rounds_is_named_as_what_may_be_the_label(tmp_path: Path) -> None:
    table = debates(1)
    made = [
        {"question_id": name, "answer": q["label"].iloc[0], "debate": [by_agent(r) for r in of_question(q)]}
        for name, q in table.groupby("debate")
    ]
    (tmp_path / "log.json").write_text(json.dumps(made))
    bare = d3stats.as_trajectories(tmp_path / "log.json")
    assert any("add label=answer" in note for note in bare.notes)
    read = d3stats.as_trajectories(tmp_path / "log.json", columns={"label": "answer"})
    assert read.verdicts().shape == (6, 3)
    assert [read.answers[k] for k in read.label] == table.groupby("debate")["label"].first().tolist()


def test_lists_that_hold_no_turns_stay_values(tmp_path: Path) -> None:
    rows = [
        {"debate": "d", "round": 1, "agent": a, "vote": "A", "answers": ["A", "B"], "responses": ["x", "y"]}
        for a in AGENTS
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert d3stats.as_trajectories(tmp_path / "log.jsonl").votes.shape == (1, 1, 3)
