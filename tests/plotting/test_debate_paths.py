"""The figure of accuracy against tokens: a line per group, a mark per rule."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from d3stats.plotting import plot_debate_paths

ROUNDS = pd.DataFrame(
    {
        "group": ["alone"] * 2 + ["heard"] * 3,
        "round": [2, 1, 1, 2, 3],
        "tokens": [200.0, 100.0, 100.0, 300.0, 500.0],
        "accuracy": [0.79, 0.8, 0.8, 0.7, 0.6],
    }
)


def test_each_group_is_a_line_through_its_rounds_in_order_and_named_at_its_end() -> None:
    ax = plot_debate_paths(ROUNDS)
    drawn = [line.get_xydata().tolist() for line in ax.lines]
    assert drawn == [[[100, 0.8], [200, 0.79]], [[100, 0.8], [300, 0.7], [500, 0.6]]]
    assert [(text.get_text(), text.xy) for text in ax.texts] == [
        ("alone", (200, 0.79)),
        ("heard", (500, 0.6)),
    ]
    assert ax.get_legend() is None


def test_a_rule_is_a_mark_with_its_name_in_the_legend() -> None:
    stops = pd.DataFrame({"rule": ["fixed:1", "unanimity"], "tokens": [100, 420], "accuracy": [0.8, 0.65]})
    ax = plot_debate_paths(ROUNDS, stops)
    marks = np.concatenate([np.asarray(mark.get_offsets()) for mark in ax.collections])
    assert marks.tolist() == [[100, 0.8], [420, 0.65]]
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["fixed:1", "unanimity"]


def test_a_frame_without_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="tokens"):
        plot_debate_paths(ROUNDS.drop(columns="tokens"))
