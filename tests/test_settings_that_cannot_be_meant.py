"""Percentages where shares are wanted, and losses that allow everything, are refused with what was likely meant."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import d3stats
from d3stats import _check
from d3stats.cli import app
from d3stats.planning import needed_debates, plan, replay, risk_controlled
from d3stats.stopping import from_text
from d3stats.worlds import Voter, simulate_debates

LOG = simulate_debates(Voter(panel=3), 30, 3, rng=1)


@given(percent=st.floats(2, 100), opened=st.booleans())
def test_a_percentage_is_refused_with_its_share(percent: float, opened: bool) -> None:
    with pytest.raises(ValueError, match=re.escape(f"({percent:g} % is written {percent / 100:g})")):
        _check.probability("level", percent, open_interval=opened)


@given(value=st.one_of(st.floats(-1e6, -1e-9), st.floats(100.001, 1e9)))
def test_what_is_no_percentage_gets_no_such_advice(value: float) -> None:
    for check in (_check.probability, _check.loss):
        with pytest.raises(ValueError, match=r"got level=") as refused:
            check("level", value)
        assert "is written" not in str(refused.value)


@given(value=st.floats(0, 1, exclude_max=True))
def test_shares_are_kept_as_they_are(value: float) -> None:
    assert _check.probability("level", value) == _check.loss("max_loss", value) == value


@pytest.mark.parametrize("value", [1, 1.0, 2, 50, 100, np.int64(5)])
def test_a_loss_of_one_or_more_is_refused(value: float) -> None:
    wanted = "must lie below 1, because it is a share of the verdicts"
    words = rf"max_loss(_vs_full|_vs_second)? {wanted}; got .* \({value:g} % is written"
    for call in (
        lambda: plan(LOG, max_loss=value),
        lambda: risk_controlled(LOG, ["fixed:1"], max_loss_vs_full=value),
        lambda: needed_debates(value, 0.1),
    ):
        with pytest.raises(ValueError, match=words):
            call()


CALLS = {
    "plan level": lambda: plan(LOG, level=95),
    "plan confidence": lambda: plan(LOG, confidence=90),
    "risk delta": lambda: risk_controlled(LOG, ["fixed:1"], max_loss_vs_full=0.1, delta=5),
    "replay": lambda: replay(LOG, "fixed:1", level=95),
    "compare": lambda: d3stats.compare([1, 0, 1, 1], [0, 0, 1, 1], level=95),
    "supermajority": lambda: from_text("supermajority:80"),
    "world": lambda: Voter(accuracy=70),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_every_door_gives_the_advice(call) -> None:
    with pytest.raises(ValueError, match="% is written 0"):
        call()


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "slm7", "--max-loss", "1"],
        ["plan", "slm7", "--max-loss", "5"],
        ["plan", "slm7", "--level", "95"],
        ["plan", "slm7", "--confidence", "90"],
        ["replay", "slm7", "--level", "95"],
        ["fit", "slm7", "--level", "95"],
        ["agreement", "slm7", "--level", "95"],
        ["power", "--accuracy", "70", "--effect", "0.05"],
        ["power", "--accuracy", "0.7", "--effect", "5"],
        ["power", "--accuracy", "0.7", "--effect", "0.05", "--power", "80"],
        ["power", "--accuracy", "0.7", "--effect", "0.05", "--alpha", "5"],
    ],
    ids=" ".join,
)
def test_the_commands_say_it_in_one_line(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1, result.output
    assert len(result.output.strip().splitlines()) == 1
    assert "% is written 0" in result.output
