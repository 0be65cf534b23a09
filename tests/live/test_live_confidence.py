"""Agents are asked for a confidence where the user says so, and a rule stops on it live as in the log."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asking import ARGUE, JUDGE, MODERATE, OPEN, VOTE, asked
from server import Asked as Heard
from server import Server, wrap

import d3stats
from d3stats.protocols import protocol_from_text
from d3stats.run.items import DebateItem
from d3stats.run.live import LiveAgent
from d3stats.run.live.prompt import Draft, Wire
from d3stats.run.live.reply import Unreadable, read_reply
from d3stats.stopping import from_text

SURE = replace(VOTE, slot=replace(VOTE.slot, confidence=True))


def read(value: Any) -> float | None:
    return read_reply(json.dumps({"text": "", "vote": "1", "confidence": value}), Wire(SURE), None).confidence


def test_a_confidence_is_read_in_per_cent() -> None:
    assert [read(value) for value in (0, 85, 99.5, 100)] == [0.0, 0.85, 0.995, 1.0]


@pytest.mark.parametrize("value", [-1, 101, "85", "high", True, None, [85]])
def test_another_confidence_is_unreadable(value: Any) -> None:
    with pytest.raises(Unreadable, match="confidence must be a number from 0 to 100"):
        read(value)


def test_a_withheld_vote_has_no_confidence() -> None:
    request = replace(MODERATE, slot=replace(MODERATE.slot, confidence=True))
    said = json.dumps({"text": "", "vote": None, "confidence": 50})
    assert read_reply(said, Wire(request), None).confidence is None


@pytest.mark.parametrize("structured", ["schema", "text"])
def test_agents_that_vote_are_asked_where_the_user_says_so(server: Server, structured: str) -> None:
    replies = asked(server, VOTE, OPEN, ARGUE, JUDGE, ask_confidence=True, structured=structured)
    assert [reply.confidence is not None for reply in replies] == [True, True, False, False]
    assert all(0 <= reply.confidence <= 1 for reply in replies[:2] if reply.confidence is not None)
    shown = ['"confidence": how probable' in call.body["messages"][0]["content"] for call in server.calls]
    assert shown == [True, True, False, False]
    plain = asked(server, VOTE, structured=structured)
    assert plain[0].confidence is None
    assert "confidence" not in server.calls[-1].body["messages"][0]["content"]


def test_the_forecast_has_room_for_it(server: Server) -> None:
    agent, plain = (LiveAgent("m", server.url, ask_confidence=ask) for ask in (True, False))
    assert agent.imagine(VOTE, "typical").confidence == 0.5
    assert (agent.imagine(VOTE, "longest").tokens_out or 0) > (plain.imagine(VOTE, "longest").tokens_out or 0)
    assert agent.settings["ask_confidence"] is True
    assert "ask_confidence" not in plain.settings
    assert Draft(VOTE).wire.asked.keys() == {"text", "vote"}


def test_a_live_run_stops_on_confidence_where_the_replay_of_its_log_stops(
    server: Server, tmp_path: Path
) -> None:
    def script(heard: Heard) -> str:
        k = sum(map(ord, f"{heard.debate}{heard.agent}{heard.round}"))
        return wrap(
            heard, {"text": "so", "vote": "12"[k % 2], "confidence": 30 + 7 * (k * int(heard.round) % 11)}
        )

    server.script = script
    protocol = protocol_from_text("stability:panel=3,max_rounds=5")
    items = [DebateItem(f"q{k}", "Which?", (), ("A", "B"), "A") for k in range(5)]
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    agent = LiveAgent("scripted", server.url, backoff=0.001, ask_confidence=True)
    rule = from_text("confidence:0.7")
    d3stats.debate(protocol, items, agent, whole, rule=from_text("full"), orders="first")
    d3stats.debate(protocol, items, agent, cut, rule=rule, orders="first")
    full = d3stats.as_trajectories(whole)
    assert full.confidence is not None
    stops = rule.stop_rounds(full)
    assert stops.rounds.tolist() == d3stats.as_trajectories(cut).depth.tolist()
    assert 1 < stops.rounds.mean() < 5
    silent = LiveAgent("scripted", server.url, backoff=0.001)
    with pytest.raises(
        ValueError, match=r"agents must state a confidence with their votes for the rule confidence:0\.7"
    ):
        d3stats.debate(protocol, items, silent, tmp_path / "none.jsonl", rule=rule, orders="first")
