"""Options of a question are shown in an order of their own, which the log has and the audit of bias sees."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from d3stats import position_bias
from d3stats.agent import Case, Reply, Request, Slot, always
from d3stats.inference.bias.position import PositionBias
from d3stats.log import read_log
from d3stats.protocols import protocol_from_text
from d3stats.run.items import DebateItem, placements
from d3stats.run.live.prompt import Draft, Wire
from d3stats.run.run import run_debates

OPTIONS = ("Oslo", "Rome", "Bern", "Kyiv")
LETTERS = ("A", "B", "C", "D")


def items(n: int, options: tuple[str, ...]) -> list[DebateItem]:
    return [DebateItem(f"q{i}", f"question {i}?", answers=options, label=options[0]) for i in range(n)]


class Voter:
    """Votes for what it reads first, or always for one option."""

    model = "voter"

    def __init__(self, vote: str | None = None) -> None:
        self.vote = vote

    def imagine(self, request: Request, size: str) -> Reply:
        return Reply("", vote="x", tokens_in=1, tokens_out=1)

    async def act(self, request: Request, /, more: object = always) -> Reply:
        numbered = Wire(request).votes
        return Reply(f"{request.agent}.", vote=self.vote or numbered["1"], tokens_in=1, tokens_out=1)


def played(tmp_path: Path, agent: Voter, options: tuple[str, ...], orders: str) -> Path:
    log = tmp_path / f"{orders}.jsonl"
    protocol = protocol_from_text("majority:judges=3")
    asyncio.run(run_debates(protocol, items(12, options), agent, log, orders=orders))  # type: ignore[arg-type]
    return log


def test_options_are_numbered_from_the_first_one_on_and_votes_come_back_by_name() -> None:
    for first in OPTIONS:
        case = Case("d", "q", "Which?", OPTIONS, first=first)
        request = Request(case, 1, "p 1", "panelist", "answer", "Answer.", Slot(OPTIONS))
        at = OPTIONS.index(first)
        order = OPTIONS[at:] + OPTIONS[:at]
        assert case.shown == order
        assert Wire(request).votes == dict(zip("1234", order, strict=True))
        assert Wire(request).schema["properties"]["vote"]["enum"] == ["1", "2", "3", "4"]
        shown = Draft(request).prompt().user
        assert [shown.index(option) for option in order] == sorted(shown.index(option) for option in order)
    with pytest.raises(ValueError, match=r"^first must be one of the answers"):
        replace(case, first="Paris")


def test_many_options_are_named_in_the_order_of_their_numbers() -> None:
    options = tuple(f"city {i}" for i in range(12))
    case = Case("d", "q", "Which?", options, first="city 7")
    wire = Wire(Request(case, 1, "p 1", "panelist", "answer", "Answer.", Slot(options)))
    assert wire.schema["properties"]["vote"]["enum"] == [str(i) for i in range(1, 13)]
    assert '"9", "10", "11", "12"' in wire.words_for()


def test_each_option_is_as_often_first_as_any_other() -> None:
    many = items(4000, OPTIONS)
    counts = Counter(planned.first for planned in placements(many))
    assert set(counts) == set(OPTIONS)
    # Four deviations of a binomial count.
    assert all(abs(count - 1000) < 4 * (4000 * 0.25 * 0.75) ** 0.5 for count in counts.values())
    repeats = [planned.first for planned in placements(many[:1], repeats=4)]
    assert set(repeats) == set(OPTIONS)
    assert [planned.first for planned in placements(many[:2], "first")] == ["Oslo"] * 2
    both = [(planned.debate, planned.first) for planned in placements(many[:1], "both")]
    assert both == [("q0/o1", "Oslo"), ("q0/o3", "Bern")]
    two = [(planned.debate, planned.first) for planned in placements(items(1, ("yes", "no")), "both")]
    assert two == [("q0/o1", "yes"), ("q0/o2", "no")]
    with pytest.raises(ValueError, match="without two candidates or options"):
        list(placements([DebateItem("q", "Why?")], "both"))


@pytest.mark.parametrize("options", [OPTIONS, LETTERS, ("yes", "no")], ids=["names", "letters", "two"])
def test_the_log_has_what_was_shown_first_and_the_audit_sees_who_votes_for_it(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    log = played(tmp_path, Voter(), options, "both")
    seen = read_log(log)
    assert seen.items["first"].tolist() == [options[0], options[len(options) // 2]] * 12
    found = position_bias(log, judge="decision")
    assert isinstance(found, PositionBias)
    assert (found.n_pairs, found.first, found.consistent) == (12, 12, 0)
    assert found.effect.value == 0.5
    log.unlink()
    (tmp_path / "both.calls.jsonl").unlink()
    fair = position_bias(played(tmp_path, Voter(options[0]), options, "both"), judge="decision")
    assert isinstance(fair, PositionBias)
    assert (fair.n_pairs, fair.first, fair.second, fair.consistent) == (12, 0, 0, 12)
