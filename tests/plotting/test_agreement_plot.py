"""The forest of kappas draws what its frame says, and refuses what is unclear."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from d3stats.plotting import intervals_drawn, plot_agreement


@pytest.fixture
def frame() -> pd.DataFrame:
    rows = [
        ("x and y", 0.6, 0.5, 0.7, "one"),
        ("x and z", -0.1, -0.3, 0.1, "two"),
        ("y and z", 0.0, np.nan, np.nan, "two"),
    ]
    return pd.DataFrame(rows, columns=["name", "value", "low", "high", "group"])


def test_each_row_is_a_point_with_its_interval_the_first_on_top(frame: pd.DataFrame) -> None:
    ax = plot_agreement(frame.drop(columns="group"))
    (bars,) = ax.collections
    ends = [segment[:, 0].tolist() for segment in bars.get_segments()]
    assert ends == [[0.5, 0.7], [-0.3, 0.1]]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == frame["name"].tolist()
    bottom, top = ax.get_ylim()
    assert bottom > top
    low, high = ax.get_xlim()
    assert low < -0.3
    assert high > 1


def test_a_value_without_an_interval_is_hollow(frame: pd.DataFrame) -> None:
    ax = plot_agreement(frame.drop(columns="group"))
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert [line.get_xdata().tolist() for line in hollow] == [[0.0]]


def test_groups_are_told_apart_in_a_legend(frame: pd.DataFrame) -> None:
    ax = plot_agreement(frame)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["one", "two"]
    given = plt.figure().subplots()
    assert plot_agreement(frame, ax=given, label="alpha") is given
    assert given.get_xlabel() == "alpha"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": [1.2, 0, 0]}, "value must be <= 1; got value=1.2 at row 0"),
        ({"low": [0.9, 0, np.nan]}, "high must be >= low; got low=0.9, high=0.7 at row 0"),
        ({"low": [np.nan, 0, np.nan]}, "low and high must come together; got low=nan, high=0.7 at row 0"),
        ({"value": [np.nan, 0, 0]}, "value must be finite numbers"),
    ],
)
def test_unclear_rows_are_refused(frame: pd.DataFrame, change: dict[str, list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_agreement(frame.assign(**change))
    with pytest.raises(ValueError, match="frame must have the columns"):
        plot_agreement(frame.drop(columns="low"))
    many = pd.concat([frame.assign(group=str(i)) for i in range(8)])
    with pytest.raises(ValueError, match="at most 7 groups"):
        plot_agreement(many)


def test_level_and_kind_of_the_bars_are_for_the_caption(frame: pd.DataFrame) -> None:
    named = plot_agreement(frame.assign(level=0.95, kind="cluster t"))
    assert (named.get_xlabel(), intervals_drawn(named.figure)) == ("kappa", "bars: 95 % cluster t")
    assert intervals_drawn(plot_agreement(frame).figure) == ""
