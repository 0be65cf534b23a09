"""The excess-wealth figure: two curves, what lies between them, and a title that says which k gain."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from d3stats.models.separation.excess import excess_wealth_table, gain_table
from d3stats.models.separation.laws import beta, exponential, uniform
from d3stats.plotting import ONE_COLUMN, TWO_COLUMNS, plot_excess_wealth

CROSSING = (beta(1, 2), beta(0.5, 2))


def test_the_curves_are_those_of_the_table_and_their_difference() -> None:
    frame = excess_wealth_table(exponential(2), exponential(1), n=50)
    ax = plot_excess_wealth(frame, first_label="mean 2", second_label="mean 1")
    drawn = {str(line.get_label()): line for line in ax.lines}
    np.testing.assert_array_equal(drawn["mean 2"].get_ydata(), frame["first"])
    np.testing.assert_array_equal(drawn["mean 1"].get_ydata(), frame["second"])
    np.testing.assert_array_equal(drawn["difference"].get_ydata(), frame["difference"])
    np.testing.assert_array_equal(drawn["difference"].get_xdata(), frame["u"])
    assert ax.get_xlim() == (0, 1)


@pytest.mark.parametrize(
    ("first", "second", "title"),
    [
        (exponential(2), exponential(1), "answer 1 gains more for every k"),
        (uniform(0.5, 1), uniform(), "answer 2 gains more for every k"),
        (uniform(0.5, 1.5), uniform(), "both gain the same for every k"),
        (*CROSSING, "the curves cross:\nanswer 1 gains more at k = 2–8"),
        (*CROSSING[::-1], "the curves cross:\nanswer 1 gains more at k = 9–11"),
        ({0: 0.5, 1: 0.5}, {0: 1 / 3, 1: 2 / 3}, "the curves cross:\nanswer 1 gains more at k = 2–11"),
    ],
)
def test_the_title_says_for_which_numbers_of_advocates_the_first_answer_gains(
    first: Any, second: Any, title: str
) -> None:
    gains = gain_table(first, second, range(2, 12))
    frame = excess_wealth_table(first, second)
    assert plot_excess_wealth(frame, gains).get_title("left") == title


def test_a_title_lists_only_the_numbers_of_advocates_that_were_asked_for() -> None:
    frame = excess_wealth_table(*CROSSING)
    gains = gain_table(*CROSSING, [2, 3, 6, 8, 9, 40])
    assert plot_excess_wealth(frame, gains).get_title("left").endswith("at k = 2–3, 6, 8")
    none = gain_table(*CROSSING, [9, 40])
    assert plot_excess_wealth(frame, none).get_title("left").endswith("answer 1 gains more at no k up to 40")
    assert plot_excess_wealth(frame).get_title("left") == "the curves cross:\nwhat gains more depends on k"


def test_the_area_between_the_curves_is_shaded_by_who_is_above() -> None:
    ax = plot_excess_wealth(excess_wealth_table(*CROSSING))
    above, below = (collection.get_paths() for collection in ax.collections)
    assert any(path.contains_point((0.1, 0.24)) for path in above)
    assert not any(path.contains_point((0.1, 0.24)) for path in below)
    assert any(path.vertices[:, 0].max() > 0.9 for path in below)


@pytest.mark.parametrize("width", [ONE_COLUMN, TWO_COLUMNS])
def test_the_title_and_the_legend_stay_inside_the_figure(width: float) -> None:
    fig, ax = plt.subplots(figsize=(width, 2.6), layout="constrained")
    plot_excess_wealth(excess_wealth_table(*CROSSING), gain_table(*CROSSING), ax=ax)
    fig.canvas.draw()
    title = max(
        (text.get_window_extent() for text in ax.get_children() if isinstance(text, Text)),
        key=lambda box: box.width,
    )
    legend = ax.get_legend().get_window_extent()
    assert title.width > 50
    assert title.x0 >= 0
    assert title.x1 <= fig.bbox.width
    assert ax.get_window_extent().contains(legend.x0, legend.y0)


def test_bad_frames_are_refused_in_one_line() -> None:
    good = pd.DataFrame({"u": [0.25, 0.75], "first": [0.2, 0.1], "second": [0.1, 0.2]})
    with pytest.raises(ValueError, match=r"frame must have the columns .*without \['second'\]"):
        plot_excess_wealth(good.drop(columns="second"))
    with pytest.raises(ValueError, match="first must be finite numbers; got first=inf at row 0"):
        plot_excess_wealth(good.assign(first=[np.inf, 0.1]))
    with pytest.raises(ValueError, match="u must lie between 0 and 1"):
        plot_excess_wealth(good.assign(u=[0.5, 1.5]))
    with pytest.raises(ValueError, match=r"u must ascend; got u=0\.75 before u=0\.25 at row 0"):
        plot_excess_wealth(good.iloc[::-1])
    twice = pd.DataFrame({"k": [2, 2], "difference": [0.1, 0.1]})
    with pytest.raises(ValueError, match="one row per k; got k=2 twice"):
        plot_excess_wealth(good, twice)
    with pytest.raises(TypeError, match="frame must be a DataFrame"):
        plot_excess_wealth([1, 2])  # type: ignore[arg-type]
