"""The forest plot draws what its frame says, at both widths, and refuses what is unclear."""

from __future__ import annotations

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from d3stats.inference import compare, paired_difference
from d3stats.plotting import ONE_COLUMN, TWO_COLUMNS, intervals_drawn, plot_forest


def forest_frame(n: int = 4) -> pd.DataFrame:
    value = np.linspace(-0.04, 0.1, n)
    frame = pd.DataFrame(
        {
            "label": [f"log {k}" for k in range(n)],
            "difference": value,
            "low": value - 0.05,
            "high": value + 0.04,
        }
    )
    frame.loc[n - 1, ["low", "high"]] = np.nan
    return frame


def test_each_row_is_a_point_with_its_interval_from_top_to_bottom() -> None:
    frame = forest_frame()
    ax = plot_forest(frame)
    bars = next(c for c in ax.collections if isinstance(c, LineCollection))
    drawn = {segment[0, 1]: segment[:, 0].tolist() for segment in bars.get_segments() if len(segment)}
    for row in range(3):
        assert drawn[row] == pytest.approx([frame["low"][row], frame["high"][row]])
    points = {
        y: x for line in ax.lines for x, y in zip(*line.get_data(), strict=True) if line.get_marker() == "o"
    }
    assert points == pytest.approx(dict(enumerate(frame["difference"])))
    bottom, top = ax.get_ylim()
    assert bottom > top
    assert [t.get_text() for t in ax.get_yticklabels()] == frame["label"].tolist()


def test_a_row_without_an_interval_is_an_open_marker() -> None:
    ax = plot_forest(forest_frame())
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert [line.get_ydata().tolist() for line in hollow] == [[3.0]]


def test_zero_and_the_margin_are_always_in_sight() -> None:
    frame = forest_frame().assign(difference=0.5, low=0.45, high=0.55)
    ax = plot_forest(frame, margin=0.1)
    low, high = ax.get_xlim()
    assert low < -0.1
    assert high > 0.55
    assert any(np.all(np.asarray(line.get_xdata()) == 0.0) for line in ax.lines)
    (band,) = [patch for patch in ax.patches if patch.get_label() == "margin ±0.1"]
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((-0.1, 0.1))


def test_the_numbers_are_written_beside_the_rows_or_not() -> None:
    written = [t.get_text() for t in plot_forest(forest_frame(), numbers=True).texts]
    assert written[0] == "−0.040 [−0.090, +0.000]"
    assert len(written) == 4
    assert "[" not in written[3]
    assert not plot_forest(forest_frame()).texts
    assert len(plot_forest(forest_frame(), ax=plt.subplots(figsize=(TWO_COLUMNS, 2))[1]).texts) == 4


@pytest.mark.parametrize("width", [ONE_COLUMN, TWO_COLUMNS])
def test_nothing_is_cut_off_and_no_label_covers_another_at_either_width(width: float) -> None:
    frame = forest_frame(7).assign(label=lambda f: "GSM8K, 3 seats, two " + f["label"])
    fig, ax = plt.subplots(figsize=(width, 3.4), layout="constrained")
    plot_forest(frame, margin=0.02, xlabel="accuracy gained", ax=ax)
    fig.canvas.draw()
    whole = fig.bbox
    boxes = [t.get_window_extent() for t in (*ax.get_yticklabels(), *ax.texts)]
    assert all(box.x0 >= whole.x0 and box.x1 <= whole.x1 for box in boxes)
    rows = [t.get_window_extent() for t in ax.get_yticklabels()]
    assert all(above.y0 >= below.y1 for above, below in pairwise(rows))
    assert ax.get_window_extent().width > 0.3 * whole.width


def test_groups_are_told_apart_by_colour_and_marker() -> None:
    frame = forest_frame().assign(group=["picked", "plain", "picked", "plain"])
    ax = plot_forest(frame)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["picked", "plain"]
    assert len({line.get_marker() for line in ax.lines if line.get_marker() not in ("None", "")}) == 2


def test_results_draw_themselves() -> None:
    rng = np.random.default_rng(1)
    runs = [
        pd.DataFrame({"item": range(60), "correct": (rng.random(60) < p).astype(int)})
        for p in (0.5, 0.6, 0.7)
    ]
    found = compare(*runs, margin=0.05)
    assert [t.get_text() for t in found.plot().get_yticklabels()] == ["B - A", "C - A", "C - B"]
    kinds = paired_difference(runs[0]["correct"], runs[1]["correct"], n_boot=200, rng=1).plot()
    assert len(kinds.get_yticklabels()) == 6
    _, ax = plt.subplots()
    assert found.plot(ax) is ax


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"difference": np.nan}, "difference must be finite numbers"),
        ({"low": 9.0}, "high must be >= low"),
        ({"low": np.nan}, "low and high must come together"),
    ],
)
def test_a_frame_that_says_nothing_clear_is_refused(change: dict[str, float], line: str) -> None:
    frame = forest_frame()
    for name, value in change.items():
        frame.loc[0, name] = value
    with pytest.raises(ValueError, match=line):
        plot_forest(frame)
    with pytest.raises(ValueError, match="without \\['low'\\]"):
        plot_forest(frame.drop(columns="low"))


def test_a_margin_of_nothing_and_too_many_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="margin must be > 0"):
        plot_forest(forest_frame(), margin=0.0)
    with pytest.raises(ValueError, match="at most 7 groups to distinguish; got 8"):
        plot_forest(forest_frame(8).assign(group=list("abcdefgh")))


def test_level_and_kind_of_the_bars_are_for_the_caption() -> None:
    frame = forest_frame().assign(level=0.9, kind=["cluster t", "cluster t", "bootstrap BCa", "none"])
    ax = plot_forest(frame, xlabel="gain")
    assert (ax.get_xlabel(), intervals_drawn(ax)) == ("gain", "bars: 90 % cluster t or bootstrap BCa")
    # Of two panels with the same intervals, the caption says it once.
    _, axes = plt.subplots(1, 2)
    for one in axes:
        plot_forest(frame, ax=one)
    assert intervals_drawn(axes[0].figure) == intervals_drawn(ax)
    runs = [
        pd.DataFrame({"item": range(40), "correct": marks * 10}) for marks in ([0, 1, 0, 1], [0, 1, 1, 1])
    ]
    assert intervals_drawn(compare(*runs).plot()) == "bars: 95 % cluster t"
