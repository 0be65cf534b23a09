"""The figure of a value by a setting draws what its frame says, and refuses what is unclear."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from d3stats.plotting.intervals import plot_series
from d3stats.plotting.style import ONE_COLUMN, intervals_drawn


def frame() -> pd.DataFrame:
    one = pd.DataFrame({"x": [1, 3, 5], "value": [0.7, 0.74, 0.76], "group": "plain"})
    two = one.assign(value=[0.72, 0.78, 0.8], group="personas")
    both = pd.concat([one, two], ignore_index=True)
    return both.assign(low=both["value"] - 0.03, high=both["value"] + 0.03, level=0.95, kind="cluster t")


def drawn(ax: plt.Axes) -> list[np.ndarray]:
    return [np.asarray(line.get_ydata()) for line in ax.lines if line.get_linestyle() == "-"]


def test_each_group_is_a_line_through_its_values_in_the_order_of_the_settings() -> None:
    ax = plot_series(frame().sample(frac=1, random_state=1), xlabel="jurors", ylabel="accuracy")
    found = {tuple(np.round(y, 3)) for y in drawn(ax)}
    assert found == {(0.7, 0.74, 0.76), (0.72, 0.78, 0.8)}
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"plain", "personas"}
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "3", "5"]
    assert ax.get_xlabel() == "jurors"
    assert intervals_drawn(ax) == "bars: 95 % cluster t"
    assert ax.figure.get_size_inches()[0] == pytest.approx(ONE_COLUMN)


def test_bars_end_at_the_limits_and_do_not_hide_each_other() -> None:
    ax = plot_series(frame(), xlabel="jurors", ylabel="accuracy")
    ends = [path.vertices for bars in ax.collections for path in bars.get_paths()]
    assert sorted({round(float(e[:, 1].min()), 3) for e in ends}) == [0.67, 0.69, 0.71, 0.73, 0.75, 0.77]
    assert len({round(float(e[0, 0]), 3) for e in ends}) == 6


def test_exact_values_are_crosses_where_they_are_known() -> None:
    given = frame().assign(exact=[0.71, None, 0.77, 0.73, 0.77, 0.81])
    ax = plot_series(given, xlabel="jurors", ylabel="accuracy")
    crosses = [line for line in ax.lines if line.get_marker() == "x" and len(line.get_ydata())]
    assert sorted(np.concatenate([line.get_ydata() for line in crosses])[[0, 2, 3, 4, 5]].tolist()) == [
        0.71,
        0.73,
        0.77,
        0.77,
        0.81,
    ]
    assert "exact" in {text.get_text() for text in ax.get_legend().get_texts()}


def test_one_group_without_intervals_has_neither_legend_nor_bars() -> None:
    one = (
        frame().query("group == 'plain'").drop(columns=["group", "level", "kind"]).assign(low=None, high=None)
    )
    ax = plot_series(one, xlabel="jurors", ylabel="accuracy")
    assert ax.get_legend() is None
    assert ax.get_xlabel() == "jurors"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": 1}, "must .* once|twice|different"),
        ({"value": np.inf}, "value must be"),
        ({"low": 0.99}, "low"),
    ],
)
def test_what_is_unclear_is_refused(change: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_series(frame().assign(**change), xlabel="jurors", ylabel="accuracy")
