"""The figures of a courtroom: gaps by kind of question, and when debates stop."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from d3stats.plotting import ONE_COLUMN, plot_gap_trajectories, plot_stop_histogram

CATEGORIES = ("coding", "reasoning", "ethics", "writing", "roleplay", "math")


def gap_frame(categories: tuple[str, ...] = CATEGORIES, rounds: int = 5) -> pd.DataFrame:
    rows = []
    for i, category in enumerate(categories):
        for r in range(1, rounds + 1):
            gap = (18 - 3 * i) * (1 - 0.4**r)
            rows.append((category, r, gap, gap - 0.5, gap + 0.5, r == 2 + i % 3))
    return pd.DataFrame(rows, columns=["category", "round", "gap", "low", "high", "verdict"])


def stop_frame() -> pd.DataFrame:
    return pd.DataFrame({"round": [2, 3, 4, 5], "share": [0.58, 0.22, 0.12, 0.08]})


FIGURES: list[tuple[Callable[..., Axes], Callable[[], pd.DataFrame]]] = [
    (plot_gap_trajectories, gap_frame),
    (plot_stop_histogram, stop_frame),
]
every_figure = pytest.mark.parametrize(("draw", "frame_of"), FIGURES, ids=lambda f: f.__name__)


def diamonds(ax: Axes) -> list[Any]:
    return [line for line in ax.lines if line.get_marker() == "D" and len(line.get_xdata())]


# ---------------------------------------------------------------- gap trajectories


def test_a_category_has_one_line_a_thin_rest_and_a_diamond_on_its_verdict() -> None:
    ax = plot_gap_trajectories(gap_frame(("coding", "ethics")))
    rows = gap_frame(("coding", "ethics"))
    for i, category in enumerate(("coding", "ethics")):
        gap = rows.loc[rows["category"] == category, "gap"].to_numpy()
        thick, thin, diamond = ax.lines[3 * i : 3 * i + 3]
        stop = 2 + i
        np.testing.assert_allclose(thick.get_ydata(), gap[:stop])
        np.testing.assert_allclose(thin.get_ydata(), gap[stop - 1 :])
        assert thin.get_linewidth() < thick.get_linewidth()
        np.testing.assert_allclose(diamond.get_ydata(), gap[[stop - 1]])
        np.testing.assert_array_equal(np.rint(diamond.get_xdata()), [stop])


def test_six_categories_stay_apart_by_colour_and_by_dashes() -> None:
    lines = plot_gap_trajectories(gap_frame()).lines[::3][:6]
    assert len({line.get_color() for line in lines}) == 6
    assert len({str(vars(line)["_dash_pattern"]) for line in lines}) == 6


def test_diamonds_of_equal_gaps_do_not_hide_each_other() -> None:
    frame = gap_frame(("a", "b")).assign(
        gap=5.0, lower=None, upper=None, verdict=[r == 2 for r in range(1, 6)] * 2
    )
    left, right = diamonds(plot_gap_trajectories(frame))
    assert right.get_xdata()[0] - left.get_xdata()[0] == pytest.approx(0.06)


def test_a_category_without_a_verdict_is_one_whole_line_and_the_legend_names_no_diamond() -> None:
    ax = plot_gap_trajectories(gap_frame(("coding",)).assign(verdict=False))
    assert len(ax.lines[0].get_xdata()) == 5
    assert not diamonds(ax)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["coding"]


def test_the_legend_has_the_categories_in_their_order_and_explains_the_diamond() -> None:
    legend = plot_gap_trajectories(gap_frame()).get_legend()
    assert [t.get_text() for t in legend.get_texts()] == [*CATEGORIES, "verdict"]


def test_the_order_of_the_rows_does_not_matter_within_a_category() -> None:
    frame = gap_frame(("coding",))
    shuffled = frame.iloc[::-1]
    for a, b in zip(plot_gap_trajectories(frame).lines, plot_gap_trajectories(shuffled).lines, strict=True):
        np.testing.assert_allclose(a.get_data(), b.get_data())


def test_gaps_that_cannot_be_negative_start_at_zero_and_signed_ones_get_a_zero_line() -> None:
    frame = gap_frame(("coding",))
    assert plot_gap_trajectories(frame).get_ylim()[0] == 0
    signed = plot_gap_trajectories(frame.assign(gap=-frame["gap"], lower=None, upper=None))
    assert signed.get_ylim()[0] < 0
    assert any(set(line.get_ydata()) == {0} for line in signed.lines if len(line.get_ydata()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gap": np.nan}, "gap must be finite numbers; got gap=nan at row 0"),
        ({"round": 1.5}, "round must be whole numbers; got round=1.5 at row 0"),
        ({"low": 30.0}, "high must be >= low; got low=30.0"),
        ({"verdict": 2}, "verdict must be true or false; got verdict=2 at row 0"),
        ({"verdict": True}, "verdict must be true at most once per category; got 2 in 'coding'"),
        ({"round": 2}, "one row per category and round; got category='coding', round=2 twice"),
    ],
)
def test_gap_trajectories_refuse_an_unclear_frame(change: dict[str, Any], message: str) -> None:
    frame = gap_frame().astype(object)
    for name, value in change.items():
        frame.loc[0, name] = value
    with pytest.raises(ValueError, match=message):
        plot_gap_trajectories(frame)


# ---------------------------------------------------------------- stop histogram


def test_the_histogram_has_a_bar_for_each_round_and_the_running_sum_below() -> None:
    ax = plot_stop_histogram(stop_frame())
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], [0, 0.58, 0.22, 0.12, 0.08])
    assert [t.get_text() for t in ax.texts] == ["0 %", "58 %", "22 %", "12 %", "8 %"]
    below = [tick.get_text().split("\n") for tick in ax.get_xticklabels()]
    assert below == [["1", "0 %"], ["2", "58 %"], ["3", "80 %"], ["4", "92 %"], ["5", "100 %"]]
    assert list(ax.get_xticks()) == [1, 2, 3, 4, 5]


def test_the_rows_of_the_histogram_may_come_in_any_order() -> None:
    a, b = plot_stop_histogram(stop_frame()), plot_stop_histogram(stop_frame().iloc[[2, 0, 3, 1]])
    for ax in (a, b):
        assert [tick.get_text()[2:] for tick in ax.get_xticklabels()] == [
            "0 %",
            "58 %",
            "80 %",
            "92 %",
            "100 %",
        ]


def test_many_rounds_are_not_all_numbered() -> None:
    ax = plot_stop_histogram(pd.DataFrame({"round": range(1, 41), "share": 1 / 40}))
    assert len(ax.texts) <= 8
    assert ax.get_xticklabels()[-1].get_text() == "40\n100 %"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"share": 0.5}, r"share must add up to 1; got 0\.92"),
        ({"share": -0.1}, r"share must be >= 0; got share=-0\.1 at row 0"),
        ({"round": 0}, "round must be >= 1; got round=0 at row 0"),
        ({"round": 3}, "frame must have one row per round; got round=3 twice"),
        ({"round": 2.5}, "round must be whole numbers; got round=2.5 at row 0"),
    ],
)
def test_the_histogram_refuses_shares_that_are_no_distribution(change: dict[str, Any], message: str) -> None:
    frame = stop_frame().astype(float)
    for name, value in change.items():
        frame.loc[0, name] = value
    with pytest.raises(ValueError, match=message):
        plot_stop_histogram(frame)


# ---------------------------------------------------------------- both


@every_figure
def test_an_absent_column_is_named(draw: Callable[..., Axes], frame_of: Callable[[], pd.DataFrame]) -> None:
    for name in frame_of().columns:
        with pytest.raises(ValueError, match=rf"frame must have the columns .*without \['{name}'\]"):
            draw(frame_of().drop(columns=name))


@every_figure
def test_a_frame_is_left_as_it_was_and_drawn_on_the_axes_given(
    draw: Callable[..., Axes], frame_of: Callable[[], pd.DataFrame]
) -> None:
    frame = frame_of()
    before = frame.copy(deep=True)
    _, ax = plt.subplots()
    figures = plt.get_fignums()
    assert draw(frame, ax=ax) is ax
    assert plt.get_fignums() == figures
    pd.testing.assert_frame_equal(frame, before)


@every_figure
def test_at_one_column_the_text_is_inside_the_page_apart_and_legible(
    draw: Callable[..., Axes], frame_of: Callable[[], pd.DataFrame]
) -> None:
    ax = draw(frame_of())
    fig = ax.figure
    fig.canvas.draw()
    assert fig.get_size_inches()[0] == pytest.approx(ONE_COLUMN)
    box = ax.get_tightbbox()
    assert box is not None
    assert box.x0 >= -1
    assert box.y0 >= -1
    assert box.x1 <= fig.bbox.x1 + 1
    assert box.y1 <= fig.bbox.y1 + 1
    written = [t for t in (*ax.get_xticklabels(), *ax.texts) if t.get_text()]
    for a, b in itertools.combinations([t.get_window_extent() for t in written], 2):
        assert not a.overlaps(b)
    assert min(t.get_fontsize() for t in ax.findobj(mpl.text.Text) if t.get_text()) >= 7
