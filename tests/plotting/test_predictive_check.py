"""The figure of predictive checks: each statistic in units of its own band."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from d3stats.plotting import plot_predictive_check


def frame(pilot: list[float], predicted: float = 0.4, low: float = 0.2, high: float = 0.8) -> pd.DataFrame:
    n = len(pilot)
    return pd.DataFrame(
        {
            "statistic": "unanimous",
            "round": np.arange(1, n + 1),
            "pilot": pilot,
            "predicted": predicted,
            "low": low,
            "high": high,
            "p_value": 0.5,
        }
    )


def dots(ax: Axes) -> list[tuple[float, float]]:
    points = [p for c in ax.collections for p in np.asarray(c.get_offsets()).tolist()]
    return sorted(((float(x), float(y)) for x, y in points), key=lambda p: -p[1])


def test_a_dot_stands_where_it_is_in_its_own_band() -> None:
    ax = plot_predictive_check(frame([0.4, 0.8, 0.2, 0.6, 0.1]))
    assert [round(x, 12) for x, _ in dots(ax)] == [0.0, 1.0, -1.0, 0.5, -1.5]


def test_the_first_row_is_on_top_and_named_with_its_round() -> None:
    ax = plot_predictive_check(frame([0.4, 0.5]))
    assert [t.get_text() for t in ax.get_yticklabels()] == ["unanimous, round 1", "unanimous, round 2"]
    assert [y for _, y in dots(ax)] == [1.0, 0.0]


def test_the_numbers_stand_beside_the_dot() -> None:
    ax = plot_predictive_check(frame([0.6]))
    assert ax.texts[0].get_text() == "0.6 for 0.4, p = 0.5"


def test_a_value_far_outside_is_an_arrow_at_the_edge() -> None:
    ax = plot_predictive_check(frame([40.0, -40.0]))
    assert [x for x, _ in dots(ax)] == [3.0, -3.0]


def test_a_band_without_width_holds_its_own_value_alone() -> None:
    ax = plot_predictive_check(frame([0.0, 0.1], predicted=0.0, low=0.0, high=0.0))
    assert [x for x, _ in dots(ax)] == [0.0, 3.0]


def test_inside_and_outside_differ_in_colour() -> None:
    ax = plot_predictive_check(frame([0.4, 0.9]))
    colours = [tuple(c.get_facecolor()[0]) for c in ax.collections if len(c.get_offsets())]
    assert len(set(colours)) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"low": 0.9}, "high must be >= low"),
        ({"pilot": np.nan}, "pilot must be finite"),
        ({"round": 1.5}, "round must be whole"),
    ],
)
def test_a_bad_frame_is_refused_in_one_line(change: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_predictive_check(frame([0.4]).assign(**change))


def test_a_frame_without_a_column_is_refused() -> None:
    with pytest.raises(ValueError, match="without"):
        plot_predictive_check(frame([0.4]).drop(columns="p_value"))
