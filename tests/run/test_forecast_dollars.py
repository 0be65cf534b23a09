"""Dollars: forecast, report, journal and log say the same, whatever each role's model costs."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from chancy import Chancy, pairs
from layers import covering

from d3stats.agent import More, Reply, Request, Size, always
from d3stats.log import read_log
from d3stats.planning.prices import price_turns
from d3stats.protocols import protocol_from_text
from d3stats.run.forecast import forecast, imagined
from d3stats.run.run import debate
from d3stats.stopping import FixedRounds
from d3stats.trajectories import Trajectories
from d3stats.worlds.tokens import PriceTable

PRICES = PriceTable("2026-01-01", {"small": (0.25, 1.25), "large": (3.0, 15.0)})
PROTOCOLS = [
    "samre:jurors=3,max_rounds=3",
    "more:jurors=2",
    "single_judge",
]


class Small(Chancy):
    model = "small"


class Large(Chancy):
    model = "large"


class Typical(Chancy):
    async def act(self, request: Request, /, more: More = always) -> Reply:
        return imagined(self, request, "typical")


class TypicalSmall(Typical):
    model = "small"


class TypicalLarge(Typical):
    model = "large"


def of_log(log: Path) -> float:
    """Price every turn of the log by its own model, plainly."""
    total = 0.0
    for turn in read_log(log, strict=False).turns.itertuples():
        asked, answered = PRICES.models["large" if turn.role == "judge" else "small"]
        total += (turn.tokens_in * asked + turn.tokens_out * answered) / 1e6
    return total


def of_journal(log: Path) -> float:
    """Price every call that the journal says has ended, at what it was charged."""
    roles, total = {}, 0.0
    for path in log.parent.glob("*"):
        if path == log or not path.is_file():
            continue
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if "begun" in record:
                roles[tuple(record["begun"])] = record["role"]
            elif "ended" in record:
                role = roles[tuple(record["ended"])]
                asked, answered = PRICES.models["large" if role == "judge" else "small"]
                total += (record["charged"][0] * asked + record["charged"][1] * answered) / 1e6
    return total


@covering(
    name=PROTOCOLS,
    failing=[0.0, 0.3],
)
def test_the_report_has_the_dollars_of_its_journal_and_its_log(
    name: str, failing: float, tmp_path: Path
) -> None:
    agents = {"judge": Large(failing=failing), "default": Small(failing=failing)}
    log = tmp_path / "log.jsonl"
    report = debate(protocol_from_text(name), pairs(6), agents, log, prices=PRICES, repeats=2)
    assert report.dollars == pytest.approx(of_journal(log), rel=1e-12)
    assert report.dollars == pytest.approx(of_log(log), rel=1e-12)
    assert report.charged == report.tokens_in + report.tokens_out


def test_a_run_in_parts_has_the_dollars_of_the_whole(tmp_path: Path) -> None:
    protocol, log = protocol_from_text(PROTOCOLS[0]), tmp_path / "log.jsonl"
    halt, agents = asyncio.Event(), {"judge": Large(), "default": Small()}
    agents["default"].before = lambda number, request: halt.set() if number > 12 else None
    first = debate(protocol, pairs(6), agents, log, prices=PRICES, halt=halt, concurrency=1)
    assert first.stopped == "interrupted"
    agents["default"].before = None
    second = debate(protocol, pairs(6), agents, log, prices=PRICES)
    assert second.dollars == pytest.approx(of_log(log), rel=1e-12)
    assert second.dollars > first.dollars


@pytest.mark.parametrize("name", PROTOCOLS)
def test_typical_replies_cost_the_dollars_that_were_forecast(name: str, tmp_path: Path) -> None:
    agents = {"judge": TypicalLarge(), "default": TypicalSmall()}
    protocol = protocol_from_text(name)
    found = forecast(protocol, pairs(5), agents, prices=PRICES, repeats=3, orders="both")
    rule = FixedRounds(protocol.max_rounds) if protocol.max_rounds > 1 else None
    report = debate(
        protocol, pairs(5), agents, tmp_path / "log.jsonl", prices=PRICES, repeats=3, orders="both", rule=rule
    )
    assert (found.debates, found.measured) == (30, 30)
    assert found.full.dollars == pytest.approx(report.dollars, rel=1e-12)
    assert found.full.calls == report.calls
    assert report.dollars <= found.bound.dollars


class LongOrShort(TypicalSmall):
    """Every other item is twenty times as long."""

    def imagine(self, request: Request, size: Size, /) -> Reply:
        reply = super().imagine(request, size)
        times = 20 if int(re.sub(r"\D", "", request.case.question)) % 2 else 1
        return replace(reply, tokens_in=times * reply.tokens_in)


@covering(repeats=[1, 2], orders=["both", "seeded"])
@pytest.mark.parametrize(("items", "measure"), [(30, 20), pytest.param(200, 50, marks=pytest.mark.slow)])
def test_a_part_of_the_list_stands_for_all_of_it_when_lengths_alternate(
    items: int, measure: int, repeats: int, orders: str
) -> None:
    asked = {"orders": orders, "repeats": repeats, "prices": PRICES}
    protocol, agent = protocol_from_text(PROTOCOLS[0]), LongOrShort()
    whole = forecast(protocol, pairs(items), agent, measure=10_000, **asked)
    part = forecast(protocol, pairs(items), agent, measure=measure, **asked)
    assert part.measured == measure
    # Debates of which each is long with probability 1/2: four standard errors of the scaled sum.
    assert part.full.dollars == pytest.approx(whole.full.dollars, rel=4 * 0.9 / measure**0.5)
    again = forecast(protocol, pairs(items), agent, measure=measure, **asked)
    assert again.full == part.full


def test_a_plan_of_the_log_prices_its_rounds_as_the_run_was_charged(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    protocol = protocol_from_text("samre:jurors=3,max_rounds=3,poll=every_round")
    report = debate(protocol, pairs(6), {"judge": Large(), "default": Small()}, log, prices=PRICES)
    turns = read_log(log).turns
    paid = price_turns(
        turns, Trajectories.from_log(log), PRICES, model="small", role_models={"judge": "large"}
    )
    assert report.dollars == pytest.approx(float(paid.dollars[paid.dollars == paid.dollars].sum()), rel=1e-9)
