"""No rule stops a debate before the round that it names as its earliest, and some debate stops there."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from d3stats.stopping import StoppingRule, from_text
from d3stats.trajectories import Trajectories

sys.path.insert(0, str(Path(__file__).parent))
from stopping_strategies import any_rules, logs


@given(t=logs(), rule=any_rules)
def test_no_debate_stops_before_the_earliest_round(t: Trajectories, rule: StoppingRule) -> None:
    if (t.label == -1).all() and rule.needs_labels:
        return
    assert (rule.stop_rounds(t).rounds >= np.minimum(rule.earliest, t.depth)).all()


@pytest.mark.parametrize(
    ("text", "round_number"),
    [
        *(
            ("unanimity", 1),
            ("d3_paper", 2),
            ("d3_code", 3),
            ("sign_agreement:2 | fixed:4", 2),
            ("fixed:3", 3),
        ),
        *(("supermajority:0.6,patience=2", 2), ("unanimity & d3_code", 3), ("unanimity.after(4)", 4)),
        *(("d3_paper:3.0,max_rounds=1", 1), ("budgeted:3.0,budget=5", 1)),
    ],
)
def test_the_earliest_round_is_met_by_a_debate_that_agrees_from_the_start(
    text: str, round_number: int
) -> None:
    t = Trajectories.from_arrays(
        [[["A", "A"]] * 5], scores=[[[60.0, 50.0]] * 5], sides=["A", "B"], tokens=[[100.0] * 5]
    )
    rule = from_text(text)
    assert rule.earliest == round_number == int(rule.stop_rounds(t).rounds[0])
