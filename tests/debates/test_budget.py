"""A budget: never exceeded, and every debate that has begun ends in a verdict."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from chancy import Chancy, defects, lines, of_type, pairs

from d3stats.agents.request import Reply, Request
from d3stats.debates.budget import Bank, Purse
from d3stats.debates.cost import FREE, Cost, Tariff
from d3stats.debates.run import debate
from d3stats.protocols.catalogue import protocol_from_text, protocols
from d3stats.simulate.tokens import PriceTable
from d3stats.stopping import from_text

SAMRE = protocol_from_text("samre:jurors=3")
PRICES = PriceTable("2025-01-01", {"chancy": (1.0, 4.0)})


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("name", sorted(protocols()))
def test_a_budget_holds_for_every_protocol_and_who_has_begun_gets_a_verdict(
    name: str, share: float, tmp_path: Path
) -> None:
    protocol = protocol_from_text(name)
    whole = debate(protocol, pairs(10), Chancy(failing=0.2), tmp_path / "whole.jsonl")
    agent, log = Chancy(failing=0.2, pause=0.001), tmp_path / "log.jsonl"
    budget = int(whole.charged * share)
    whole_debate = "for one debate to begin and end"
    try:
        report = debate(protocol, pairs(10), agent, log, budget_tokens=budget, concurrency=4)
    except ValueError as error:
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert whole_debate in refused
        assert agent.calls == 0
        return
    assert agent.tokens == report.charged <= budget
    assert report.overdrawn == 0
    assert len(of_type(log, "item")) == len(of_type(log, "verdict")) == report.closed
    assert (report.unfinished, len(report.not_begun)) == (0, 10 - report.closed)
    assert defects(log) == []


@pytest.mark.parametrize("seed", range(25))
def test_no_budget_is_exceeded_however_the_calls_fall(seed: int, tmp_path: Path) -> None:
    log, budget = tmp_path / "log.jsonl", 30_000 + 7_919 * seed
    agent = Chancy(failing=0.4, pause=0.002)
    report = debate(
        SAMRE,
        pairs(8),
        agent,
        log,
        seed=seed,
        budget_tokens=budget,
        concurrency=1 + seed % 6,
        rule=from_text("fixed:4"),
    )
    assert agent.tokens == report.charged <= budget
    assert len(of_type(log, "item")) == len(of_type(log, "verdict")) == report.closed


def test_a_budget_in_dollars_holds(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    report = debate(SAMRE, pairs(20), Chancy(0.3), log, max_usd=0.2, prices=PRICES)
    paid = sum(PRICES.dollars(t["tokens_in"], t["tokens_out"], "chancy") for t in of_type(log, "turn"))
    assert report.dollars == pytest.approx(paid, abs=1e-12)
    assert 0.05 < paid <= 0.2
    assert report.stops["budget"] > 0


def test_both_budgets_hold_together(tmp_path: Path) -> None:
    report = debate(
        SAMRE,
        pairs(20),
        Chancy(0.3),
        tmp_path / "log.jsonl",
        max_usd=0.2,
        budget_tokens=70_000,
        prices=PRICES,
    )
    assert report.charged <= 70_000
    assert report.dollars is not None
    assert report.dollars <= 0.2


def test_a_budget_below_one_debate_names_the_least_and_spends_nothing(tmp_path: Path) -> None:
    agent, log = Chancy(), tmp_path / "log.jsonl"
    with pytest.raises(ValueError, match=r"budget_tokens must be at least \d+ for one debate") as caught:
        debate(SAMRE, pairs(3), agent, log, budget_tokens=100)
    assert agent.calls == 0
    least = int(str(caught.value).split("at least ")[1].split()[0])
    with pytest.raises(ValueError, match="for one debate"):
        debate(SAMRE, pairs(3), agent, log, budget_tokens=least - 1)
    assert agent.calls == 0
    assert debate(SAMRE, pairs(3), agent, log, budget_tokens=least).closed >= 1


def test_a_larger_budget_goes_on_with_what_was_not_begun(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    agent = Chancy()
    first = debate(SAMRE, pairs(12), agent, log, budget_tokens=45_000)
    assert first.stopped == "budget"
    assert 0 < first.closed < 12
    early = {verdict["debate"]: verdict for verdict in of_type(log, "verdict")}
    second = debate(SAMRE, pairs(12), agent, log, budget_tokens=10_000_000)
    assert (second.closed, second.new, second.stopped) == (12, 12 - first.closed, None)
    assert max(agent.asked.values()) == 1
    # A debate that stopped for the budget stays closed.
    assert all(verdict == early.get(verdict["debate"], verdict) for verdict in of_type(log, "verdict"))
    assert second.stops["budget"] == first.stops["budget"] > 0


def test_a_debate_that_was_stopped_for_the_budget_is_decided_by_what_was_said(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    debate(SAMRE, pairs(12), Chancy(), log, budget_tokens=45_000)
    stopped = [v for v in of_type(log, "verdict") if v["stop_reason"] == "budget"]
    assert stopped
    for verdict in stopped:
        jurors = [
            turn
            for turn in of_type(log, "turn")
            if turn["debate"] == verdict["debate"] and turn["role"] == "juror"
        ]
        assert len(jurors) == 3
        assert {turn["round"] for turn in jurors} == {verdict["round"]}


def test_tokens_that_nobody_counted_are_charged_at_their_bound(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    agent = Chancy(before=lambda number, request: Reply("?", error="unreadable"))
    report = debate(SAMRE, pairs(1), agent, log, rule=from_text("fixed:1"))
    bounds = [line["bound"] for line in lines(tmp_path / "log.calls.jsonl") if "begun" in line]
    assert report.charged == sum(map(sum, bounds)) > 0
    assert debate(SAMRE, pairs(1), agent, log, rule=from_text("fixed:1")).charged == report.charged


class Greedy(Chancy):
    """Asks for a further attempt in every call, and spends it if allowed."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed = self.denied = 0

    async def act(self, request: Request, /, more: object = None) -> Reply:
        self.asked[(request.case.debate, request.round, request.agent)] += 1
        most = self.imagine(request, "longest")
        assert most.tokens_in is not None
        assert most.tokens_out is not None
        one, two = most.tokens_in, most.tokens_out
        if more(one + two):  # type: ignore[operator]  # always given by a run
            self.allowed += 1
            one, two = 2 * one, 2 * two
        else:
            self.denied += 1
        self.tokens += one + two
        return Reply(None, tokens_in=one, tokens_out=two, error="unreadable")


def test_a_further_attempt_draws_on_the_budget_or_is_denied(tmp_path: Path) -> None:
    free = Greedy()
    debate(SAMRE, pairs(2), free, tmp_path / "free.jsonl")
    assert free.denied == 0
    tight = Greedy()
    report = debate(SAMRE, pairs(2), tight, tmp_path / "tight.jsonl", budget_tokens=17_000)
    assert tight.tokens == report.charged <= 17_000
    assert tight.denied > 0 < tight.allowed


def test_prices_with_many_decimals_do_not_let_a_sum_slip() -> None:
    tariff = Tariff(PriceTable("2025-01-01", {"m": (0.1, 0.7), "odd": (1 / 3, 0.0)}))
    assert tariff.cost("m", 3, 0).pico == 300_000
    assert tariff.cost("m", 0, 10**6).dollars == 0.7
    # Rounded up: a limit must hold.
    assert tariff.cost("odd", 3, 0).pico == 3 * 333_334
    assert tariff.cost("m", *tariff.dearest("m", 9)).pico == 9 * 700_000


def test_a_purse_waits_for_others_and_is_refused_when_all_wait() -> None:
    async def scene() -> list[bool]:
        bank = Bank(100)
        one, two = Purse(bank), Purse(bank)
        bank.resume(2)
        assert await one.fill(Cost(60), running=False)
        waiting = asyncio.create_task(two.fill(Cost(50), running=False))
        await asyncio.sleep(0)
        assert not waiting.done()
        one.close()
        first = await waiting
        # Now both hold too little for what they want, and nobody else can give back.
        assert await one.fill(Cost(50), running=False)
        both = await asyncio.gather(one.fill(Cost(70), running=True), two.fill(Cost(70), running=True))
        assert one.left == two.left == Cost(50)
        one.close()
        two.close()
        assert (bank.held, bank.spent) == (FREE, FREE)
        return [first, *both]

    assert asyncio.run(scene()) == [True, False, False]


def test_a_new_debate_does_not_begin_before_one_that_waits_to_go_on() -> None:
    async def scene() -> None:
        bank = Bank(100)
        running, other, new = Purse(bank), Purse(bank), Purse(bank)
        bank.resume(3)
        assert await running.fill(Cost(40), running=False)
        assert await other.fill(Cost(40), running=False)
        waiting = asyncio.create_task(running.fill(Cost(70), running=True))
        begins = asyncio.create_task(new.fill(Cost(10), running=False))
        await asyncio.sleep(0)
        assert not begins.done(), "10 would fit, but another waits"
        other.close()
        assert await waiting
        bank.pause()
        assert await begins

    asyncio.run(scene())
