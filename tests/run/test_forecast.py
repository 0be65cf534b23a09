"""The forecast: what a run costs when every reply is as imagined."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chancy import Chancy, pairs
from layers import sampled

from d3stats.agent import More, Reply, Request, Size, always
from d3stats.protocols import protocol_from_text, protocols
from d3stats.run.forecast import forecast, imagined
from d3stats.run.record import measured_pace
from d3stats.run.run import debate
from d3stats.stopping import FixedRounds, FullDepth, from_text
from d3stats.worlds.tokens import PriceTable

SAMRE = protocol_from_text("samre:jurors=3,max_rounds=3")


class AsImagined(Chancy):
    """Says what it imagines."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.size: Size = size

    async def act(self, request: Request, /, more: More = always) -> Reply:
        self.asked[(request.case.debate, request.round, request.agent)] += 1
        return imagined(self, request, self.size)


@pytest.mark.parametrize("rounds", [2, 3])
def test_a_run_of_typical_replies_costs_what_was_forecast(rounds: int, tmp_path: Path) -> None:
    agent = AsImagined("typical")
    found = forecast(SAMRE, pairs(7), agent, orders="both")
    report = debate(SAMRE, pairs(7), agent, tmp_path / "log.jsonl", rule=FixedRounds(rounds), orders="both")
    look = {2: found.shortest, 3: found.full}[rounds]  # D3's rule compares two rounds
    assert look.rounds == rounds
    assert found.debates == 14
    assert (look.calls, look.tokens_in, look.tokens_out) == (
        report.calls,
        report.tokens_in,
        report.tokens_out,
    )


def test_the_bound_is_what_the_longest_replies_cost(tmp_path: Path) -> None:
    agent = AsImagined("longest")
    report = debate(SAMRE, pairs(3), agent, tmp_path / "log.jsonl", rule=FullDepth())
    assert forecast(SAMRE, pairs(3), agent).bound.tokens == report.charged


@sampled("name", sorted(protocols()), slice(1, None, 2))
def test_no_run_costs_more_than_the_bound_when_every_call_is_made_once(name: str, tmp_path: Path) -> None:
    protocol = protocol_from_text(name)
    found = forecast(protocol, pairs(2), Chancy())
    report = debate(protocol, pairs(2), Chancy(), tmp_path / "log.jsonl")
    assert found.shortest.tokens <= found.full.tokens <= found.bound.tokens
    assert report.charged <= found.bound.tokens
    assert report.calls <= found.bound.calls


def test_dollars_need_prices_of_the_models() -> None:
    assert forecast(SAMRE, pairs(2), Chancy()).full.dollars is None
    prices = PriceTable("2025-01-01", {"chancy": (1.0, 4.0)})
    full = forecast(SAMRE, pairs(2), Chancy(), prices=prices).full
    assert full.dollars == pytest.approx(prices.dollars(full.tokens_in, full.tokens_out, "chancy"))
    with pytest.raises(ValueError, match="prices must name the model 'chancy'"):
        forecast(SAMRE, pairs(2), Chancy(), prices=PriceTable.example())


def test_a_long_list_is_scaled_up_from_some_of_it() -> None:
    agent = Chancy()
    found = forecast(SAMRE, pairs(100), agent, measure=10)
    assert (found.debates, found.measured) == (100, 10)
    assert found.full.tokens == pytest.approx(
        forecast(SAMRE, pairs(100), agent, measure=100).full.tokens, rel=0.02
    )
    assert agent.calls == 0


def test_the_table_has_a_row_per_case() -> None:
    frame = forecast(SAMRE, pairs(2), Chancy()).to_frame()
    assert frame["case"].tolist() == ["earliest stop", "all rounds", "at most"]
    assert frame["tokens"].is_monotonic_increasing


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("fixed:9", True),
        ("fixed:3 | fixed:4", False),
        ("d3_paper.after(4)", True),
        ("full", False),
        (None, False),
    ],
)
def test_a_rule_beyond_the_last_round_of_the_protocol_is_said(rule: str | None, said: bool) -> None:
    found = forecast(SAMRE, pairs(2), Chancy(), rule=None if rule is None else from_text(rule))
    assert any("stops no debate before round" in note and "3 rounds" in note for note in found.notes) == said


def test_nothing_to_debate_is_refused() -> None:
    with pytest.raises(ValueError, match="items must hold at least one item"):
        forecast(SAMRE, [], Chancy())


def test_time_is_forecast_at_the_pace_of_a_journal_of_the_same_model(tmp_path: Path) -> None:
    pilot = tmp_path / "pilot.jsonl"
    majority = protocol_from_text("majority:judges=3")
    debate(majority, pairs(6), Chancy(pause=0.02), pilot, concurrency=4)
    pace = measured_pace(tmp_path / "new.jsonl", [Chancy.model])
    assert pace is not None
    assert (pace.calls, pace.at_once, pace.journal) == (18, 4, "pilot.calls.jsonl")
    ended = [json.loads(line) for line in (tmp_path / "pilot.calls.jsonl").read_text().splitlines()]
    took = [line["seconds"] for line in ended if "ended" in line]
    assert pace.seconds == pytest.approx(sum(took) / len(took) / 4)
    found = forecast(SAMRE, pairs(7), Chancy()).timed(*pace)
    assert found.full.seconds == found.full.calls * pace.seconds
    assert "at the pace of 18 calls in pilot.calls.jsonl" in found.notes[-1]
    assert forecast(SAMRE, pairs(7), Chancy()).full.seconds is None
    # The log's own journal comes before others.
    own = tmp_path / "own.jsonl"
    debate(majority, pairs(5), Chancy(pause=0.001), own, concurrency=2)
    debate(majority, pairs(9), Chancy(pause=0.001), tmp_path / "later.jsonl")
    assert measured_pace(own, [Chancy.model]).journal == "own.calls.jsonl"  # type: ignore[union-attr]


def test_no_pace_is_taken_from_other_models_few_calls_or_other_files(tmp_path: Path) -> None:
    majority = protocol_from_text("majority:judges=3")
    assert measured_pace(tmp_path / "new.jsonl", [Chancy.model]) is None
    debate(majority, pairs(3), Chancy(), tmp_path / "few.jsonl")
    (tmp_path / "odd.calls.jsonl").write_text('["no journal"]\n{"seconds": "x"}\nnot json "seconds":\n')
    assert measured_pace(tmp_path / "new.jsonl", [Chancy.model]) is None
    debate(majority, pairs(4), Chancy(), tmp_path / "pilot.jsonl")
    assert measured_pace(tmp_path / "new.jsonl", ["another"]) is None
    assert measured_pace(tmp_path / "new.jsonl", [Chancy.model, "another"]) is None
    assert measured_pace(tmp_path / "nowhere" / "new.jsonl", [Chancy.model]) is None
    assert measured_pace(tmp_path / "new.jsonl", [Chancy.model]) is not None
