"""The seconds of a round are those of its calls: at once the slowest, one after another their sum."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import d3stats
from d3stats.agent import Reply, always
from d3stats.cli import app
from d3stats.log.files import journal_path
from d3stats.log.timing import seconds_of_rounds
from d3stats.protocols import protocol_from_text
from d3stats.run import run_debates
from d3stats.run.items import DebateItem
from d3stats.stopping import from_text
from d3stats.worlds import Conformity, synthetic_agent, synthetic_items

WORLD = Conformity(panel=3)


def begun(debate: str, played: int, agent: str) -> dict[str, Any]:
    return {"begun": [debate, played, agent]}


def ended(debate: str, played: int, agent: str, seconds: float | None = 1.0) -> dict[str, Any]:
    return {"ended": [debate, played, agent]} | ({} if seconds is None else {"seconds": seconds})


def seconds(*records: dict[str, Any]) -> dict[tuple[str, int], float]:
    return seconds_of_rounds(json.dumps(record).encode() for record in records)


def test_calls_at_once_take_as_long_as_the_slowest_and_calls_in_turn_their_sum() -> None:
    at_once = [begun("a", 1, "x"), begun("a", 1, "y"), ended("a", 1, "y", 2.0), ended("a", 1, "x", 5.0)]
    in_turn = [begun("a", 1, "z"), ended("a", 1, "z", 3.0), begun("a", 2, "x"), ended("a", 2, "x", 4.0)]
    assert seconds(*at_once, *in_turn) == {("a", 1): 8.0, ("a", 2): 4.0}


def test_other_debates_in_between_change_nothing() -> None:
    mixed = [begun("a", 1, "x"), begun("b", 1, "x"), ended("a", 1, "x", 2.0), begun("a", 2, "x")]
    mixed += [ended("b", 1, "x", 7.0), ended("a", 2, "x", 3.0)]
    assert seconds(*mixed) == {("a", 1): 2.0, ("b", 1): 7.0, ("a", 2): 3.0}


@pytest.mark.parametrize("open_call", [[], [{"resumed": True}, begun("a", 1, "x"), ended("a", 1, "x", 2.0)]])
def test_a_call_without_a_time_makes_its_round_unknown(open_call: list[dict[str, Any]]) -> None:
    found = seconds(begun("a", 1, "x"), *open_call)
    assert np.isnan(found["a", 1])
    assert np.isnan(seconds(begun("a", 1, "x"), ended("a", 1, "x", None))["a", 1])


def test_lines_that_are_no_calls_are_passed_over() -> None:
    assert (
        seconds({"journal": "d3stats debate 1"}, {"begun": 3}, {"ended": ["a", 1, "x"], "seconds": 2.0}) == {}
    )
    assert seconds_of_rounds([b'{"begun": ["a", 1,', b"\n"]) == {}


class Waiting:
    """An agent that lets others go on while it answers, as a server does."""

    def __init__(self) -> None:
        self._agent: Any = synthetic_agent(WORLD, 3)

    async def act(self, request: Any, /, more: Any = always) -> Reply:
        await asyncio.sleep(0)
        reply: Reply = await self._agent.act(request)
        return reply

    def imagine(self, request: Any, size: Any, /) -> Reply:
        reply: Reply = self._agent.imagine(request, size)
        return reply


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Play a run, and give each call of agent k in round r the time 10 r + k."""
    path = tmp_path_factory.mktemp("timed") / "a.jsonl"
    items = [
        DebateItem(each.question, each.text, each.candidates, each.answers, label=each.label)
        for each in synthetic_items(WORLD, 12, seed=3)
    ]
    protocol = protocol_from_text("stability:panel=3,max_rounds=3")
    asyncio.run(run_debates(protocol, items, Waiting(), path, rule=from_text("full"), concurrency=64))
    lines = [json.loads(line) for line in journal_path(path).read_text().splitlines()]
    agents = sorted({line["ended"][2] for line in lines if "ended" in line})
    assert len(agents) == 3
    for line in lines:
        if "ended" in line:
            line["seconds"] = 10.0 * line["ended"][1] + agents.index(line["ended"][2])
    journal_path(path).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_replay_of_a_run_has_the_seconds_of_each_rule(log: Path) -> None:
    t = d3stats.open(str(log)).trajectories()
    # The three agents of a round are asked at once.
    assert t.seconds is not None
    assert t.seconds.tolist() == [[12.0, 22.0, 32.0]] * 12
    found = d3stats.replay(str(log), ["fixed:1", "unanimity"])
    table = found.to_frame().set_index("rule")
    stops = from_text("unanimity").stop_rounds(t).rounds
    unanimity = np.array([0.0, 12.0, 34.0, 66.0])[stops].mean()
    assert table["seconds"].to_dict() == pytest.approx(
        {"fixed:1": 12.0, "unanimity": unanimity, "full": 66.0}
    )
    assert table.loc["fixed:1", "saved_seconds_vs_unanimity"] == pytest.approx(1 - 12 / unanimity)
    done = CliRunner().invoke(app, ["replay", str(log), "--all"], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    assert "Seconds of each rule, for a debate by itself" in done.stdout


def test_parts_and_sums_of_logs_keep_their_seconds(log: Path) -> None:
    t = d3stats.open(str(log)).trajectories()
    part = t.select([2, 3])
    assert part.seconds is not None
    assert part.seconds.shape == (2, 3)
    other = d3stats.Trajectories.from_arrays([[["A", "B", "A"]]], debates=["other"])
    both = d3stats.Trajectories.concat(t, other)
    assert both.seconds is not None
    assert np.isnan(both.seconds[-1]).all()
    assert "Seconds leave out 1 of 13 debates" in " ".join(d3stats.replay(both, "fixed:1").notes)


def test_without_a_journal_there_are_no_seconds(log: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(log.read_bytes())
    assert d3stats.open(str(copy)).trajectories().seconds is None
    assert "seconds" not in d3stats.replay(str(copy), "fixed:1").to_frame().columns


def test_the_time_of_an_unfinished_call_is_not_guessed(log: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(log.read_bytes())
    lines = journal_path(log).read_text().splitlines()
    last = max(i for i, line in enumerate(lines) if '"ended"' in line)
    journal_path(copy).write_text("\n".join(lines[:last] + lines[last + 1 :]) + "\n")
    found = d3stats.replay(str(copy), ["fixed:1"])
    assert any(note.startswith("Seconds leave out 1 of 12 debates") for note in found.notes)
