"""A budget: never exceeded, and every debate that has begun ends in a verdict."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from chancy import Chancy, Honest, defects, lines, of_type, pairs
from layers import sampled

from d3stats.agent import More, Refused, Reply, Request, always
from d3stats.protocols import protocol_from_text, protocols
from d3stats.run.budget import FREE, Bank, Cost, Purse, Tariff
from d3stats.run.items import DebateItem
from d3stats.run.run import debate
from d3stats.stopping import from_text
from d3stats.worlds.tokens import PriceTable

SAMRE = protocol_from_text("samre:jurors=3")
PRICES = PriceTable("2025-01-01", {"chancy": (1.0, 4.0)})


@pytest.mark.parametrize(
    ("name", "share"),
    [
        # A budget that ends in the middle for every second protocol; too little and nearly enough are tried with one.
        pytest.param(
            name, share, marks=() if (share == 0.3 and k % 2) or name == "samre" else pytest.mark.slow
        )
        for k, name in enumerate(sorted(protocols()))
        for share in (0.1, 0.3, 0.7)
    ],
)
def test_a_budget_holds_for_every_protocol_and_who_has_begun_gets_a_verdict(
    name: str, share: float, tmp_path: Path
) -> None:
    protocol = protocol_from_text(name)
    whole = debate(protocol, pairs(10), Chancy(failing=0.2), tmp_path / "whole.jsonl")
    agent, log = Chancy(failing=0.2, pause=0.001), tmp_path / "log.jsonl"
    budget = int(whole.charged * share)
    whole_debate = "so that one debate can start and end"
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


@sampled("seed", range(48), (0, 8, 16, 28, 36, 44))  # every number of debates at a time
def test_no_budget_is_exceeded_however_the_calls_fall(seed: int, tmp_path: Path) -> None:
    log, budget = tmp_path / "log.jsonl", 30_000 + 4_111 * seed
    agent = Chancy(failing=0.4, pause=0.002)
    report = debate(
        SAMRE,
        pairs(8),
        agent,
        log,
        seed=seed,
        budget_tokens=budget,
        concurrency=1 + seed // 4 % 6,
        rule=from_text("fixed:4"),
    )
    assert agent.tokens == report.charged <= budget
    assert len(of_type(log, "item")) == len(of_type(log, "verdict")) == report.closed


def test_cached_tokens_are_charged_at_their_price_and_held_at_the_full_one(tmp_path: Path) -> None:
    """A third of each prompt is cached: the log, the report and a resumed run agree; no bound knows of the cache."""

    class Caching(Chancy):
        async def act(self, request: Request, /, more: More = always) -> Reply:
            reply = await super().act(request, more)
            return replace(reply, tokens_cached=(reply.tokens_in or 0) // 3)

    prices = PriceTable("2025-01-01", {"chancy": (1.0, 4.0)}, {"chancy": 0.1})
    log = tmp_path / "log.jsonl"
    report = debate(SAMRE, pairs(6), Caching(), log, prices=prices, max_usd=1.0)
    turns = of_type(log, "turn")
    paid = sum(
        (t["tokens_in"] - t["tokens_cached"]) * 1.0 + t["tokens_cached"] * 0.1 + t["tokens_out"] * 4.0
        for t in turns
    )
    assert sum(t["tokens_cached"] for t in turns) > 0
    assert report.dollars == pytest.approx(paid / 1e6, abs=1e-12)
    full = debate(SAMRE, pairs(6), Caching(), tmp_path / "full.jsonl", prices=PRICES, max_usd=1.0)
    assert report.dollars < full.dollars
    assert report.dollars_to_begin == full.dollars_to_begin
    again = debate(SAMRE, pairs(6), Caching(), log, prices=prices, max_usd=1.0)
    assert again.dollars == pytest.approx(report.dollars, abs=1e-12)


def test_a_budget_in_dollars_holds(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    report = debate(SAMRE, pairs(24), Chancy(0.3), log, max_usd=0.2, prices=PRICES)
    paid = sum(PRICES.dollars(t["tokens_in"], t["tokens_out"], "chancy") for t in of_type(log, "turn"))
    assert report.dollars == pytest.approx(paid, abs=1e-12)
    assert 0.05 < paid <= 0.2
    assert report.stopped == "budget"
    assert report.dollars_to_begin is not None
    assert report.dollars_left is not None
    assert report.dollars_left < report.dollars_to_begin


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
    with pytest.raises(ValueError, match=r"budget_tokens must be at least \d+ so that one debate") as caught:
        debate(SAMRE, pairs(3), agent, log, budget_tokens=100)
    assert agent.calls == 0
    least = int(str(caught.value).split("at least ")[1].split()[0])
    with pytest.raises(ValueError, match="so that one debate"):
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
        # Now and then one that can be read, or the run would end.
        return Reply("?", tokens_in=one, tokens_out=two, error="unreadable" if self.calls % 7 else None)


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


def test_a_purse_waits_for_others_and_one_is_refused_when_all_wait() -> None:
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
        less = asyncio.create_task(one.fill(Cost(70), running=True))
        more = await two.fill(Cost(80), running=True)
        assert (one.left, two.left, less.done()) == (Cost(50), Cost(50), False)
        two.close()
        second = await less
        one.close()
        assert (bank.held, bank.later, bank.spent, bank.open) == (FREE, FREE, FREE, 0)
        return [first, more, second]

    assert asyncio.run(asyncio.wait_for(scene(), 5)) == [True, False, True]


def test_a_debate_begins_beside_others_only_when_its_whole_course_fits_beside_theirs() -> None:
    async def scene() -> None:
        bank = Bank(100)
        one, two, three = Purse(bank), Purse(bank), Purse(bank)
        bank.resume(3)
        # Alone the first round is enough, whatever may follow.
        assert await one.fill(Cost(20), Cost(500), running=False)
        waits = asyncio.create_task(two.fill(Cost(10), Cost(5), running=False))
        await asyncio.sleep(0)
        assert not waits.done()
        assert await one.fill(Cost(20), Cost(40), running=True)
        assert await waits
        assert (bank.held, bank.later) == (Cost(30), Cost(45))
        too_much = asyncio.create_task(three.fill(Cost(1), Cost(25), running=False))
        await asyncio.sleep(0)
        assert not too_much.done()
        two.close()
        assert await too_much

    asyncio.run(asyncio.wait_for(scene(), 5))


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

    asyncio.run(asyncio.wait_for(scene(), 5))


WORDS = " ".join(["word"] * 120)
LONG = [
    DebateItem(f"q{i}", f"question {i}? {WORDS[:200]}", (f"answer {i} {WORDS}", f"another {i} {WORDS}"))
    for i in range(30)
]


@pytest.mark.parametrize(("rule", "budget"), [
    (None, 300_000), ("fixed:4", 300_000), pytest.param(None, 900_000, marks=pytest.mark.slow),
])  # fmt: skip
def test_a_budget_is_used_and_hardly_a_debate_is_cut_short(
    rule: str | None, budget: int, tmp_path: Path
) -> None:
    agent, log = Honest(), tmp_path / "log.jsonl"
    report = debate(
        protocol_from_text("samre"),
        LONG,
        agent,
        log,
        budget_tokens=budget,
        rule=None if rule is None else from_text(rule),
    )
    assert 0.6 * budget < agent.tokens == report.charged <= budget
    assert report.stops["budget"] <= 2
    assert report.stopped == "budget"
    assert report.tokens_left == budget - report.charged
    assert report.tokens_to_begin is not None
    assert report.tokens_to_begin > report.tokens_left
    assert len(of_type(log, "item")) == len(of_type(log, "verdict")) == report.closed


def test_debates_are_open_side_by_side_while_the_budget_is_large(tmp_path: Path) -> None:
    playing: dict[int, list[int]] = {}
    for budget in (300_000, 20_000_000):
        seen = playing.setdefault(budget, [])
        debate(
            protocol_from_text("samre"),
            LONG[:9],
            Honest(),
            tmp_path / f"{budget}.jsonl",
            budget_tokens=budget,
            rule=from_text("fixed:1"),
            observer=lambda report, seen=seen: seen.append(report.playing),  # type: ignore[misc]  # bound here
        )
    assert max(playing[300_000]) == 1
    assert max(playing[20_000_000]) == 8


class Stumbling(Chancy):
    """Every call fails once, costs nothing then, and is made again."""

    async def act(self, request: Request, /, more: More = always) -> Reply:
        reply = await super().act(request, more)
        most = self.imagine(request, "longest")
        if not more((most.tokens_in or 0) + (most.tokens_out or 0), 0):
            return Reply(None, tokens_in=0, tokens_out=0, error="budget")
        return reply


def test_attempts_that_cost_nothing_take_nothing_from_the_budget(tmp_path: Path) -> None:
    protocol = protocol_from_text("majority")
    with pytest.raises(ValueError, match="at least") as caught:
        debate(protocol, pairs(1), Chancy(), tmp_path / "log.jsonl", budget_tokens=5)
    least = int(str(caught.value).split("at least ")[1].split()[0])
    log = tmp_path / "log.jsonl"
    report = debate(protocol, pairs(1), Stumbling(), log, budget_tokens=least + 100)
    assert (report.closed, report.missing.total()) == (1, 0)
    mores = [line for line in lines(tmp_path / "log.calls.jsonl") if "more" in line]
    begun = {
        tuple(line["begun"]): line["bound"] for line in lines(tmp_path / "log.calls.jsonl") if "begun" in line
    }
    assert len(mores) == report.calls
    assert all(sum(line["held"]) == sum(begun[tuple(line["more"])]) for line in mores)


def test_in_dollars_a_further_attempt_is_held_at_the_price_of_one_attempt(tmp_path: Path) -> None:
    protocol = protocol_from_text("majority")
    with pytest.raises(ValueError, match="at least") as caught:
        debate(protocol, pairs(1), Chancy(), tmp_path / "l.jsonl", max_usd=1e-6, prices=PRICES)
    least = float(str(caught.value).split("at least ")[1].split()[0])
    report = debate(
        protocol, pairs(1), Stumbling(), tmp_path / "log.jsonl", max_usd=least + 1e-5, prices=PRICES
    )
    assert (report.closed, report.missing.total()) == (1, 0)


def test_what_a_refused_call_had_cost_is_charged_and_stays_so(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"

    def before(number: int, request: Request) -> None:
        if number == 4:
            refused = Refused("no credit is left")
            refused.tokens = (7, 5)
            raise refused

    agent = Chancy(before=before)
    with pytest.raises(Refused, match="no credit"):
        debate(SAMRE, pairs(2), agent, log, concurrency=1)
    assert agent.tokens == sum(turn["tokens_in"] + turn["tokens_out"] for turn in of_type(log, "turn"))
    after = Chancy()
    report = debate(SAMRE, pairs(2), after, log)
    assert report.charged == agent.tokens + 12 + after.tokens


class Dishonest(Chancy):
    """Its server counts more than its bound in one call."""

    async def act(self, request: Request, /, more: More = always) -> Reply:
        reply = await super().act(request, more)
        return Reply(reply.text, reply.vote, reply.scores, 10**6, 1) if self.calls == 5 else reply


def test_after_a_call_beyond_its_bound_a_run_with_a_budget_begins_nothing(tmp_path: Path) -> None:
    log, agent = tmp_path / "log.jsonl", Dishonest()
    report = debate(SAMRE, pairs(6), agent, log, budget_tokens=3_000_000, concurrency=1)
    assert (report.stopped, report.overdrawn, agent.calls) == ("overdrawn", 1, 5)
    with pytest.raises(ValueError, match=r"got 1 calls in log\.jsonl that cost more than their bound"):
        debate(SAMRE, pairs(6), agent, log, budget_tokens=30_000_000)
    assert agent.calls == 5
    free = debate(SAMRE, pairs(6), agent, log)
    assert (free.closed, free.overdrawn, free.stopped) == (6, 1, None)
