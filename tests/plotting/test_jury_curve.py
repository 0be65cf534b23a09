"""The jury figure draws what its frame says, and refuses what is unclear."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from d3stats.plotting.intervals import plot_jury_curve
from d3stats.plotting.style import ONE_COLUMN, intervals_drawn


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "k": [1, 3, 5],
            "accuracy": [0.7, 0.74, 0.76],
            "low": [0.65, 0.7, 0.72],
            "high": [0.75, 0.78, 0.8],
            "independent": [0.7, 0.784, 0.837],
        }
    )


def test_the_curve_its_band_and_condorcet_are_drawn() -> None:
    ax = plot_jury_curve(frame().sample(frac=1, random_state=0))
    independent, seen = ax.lines
    np.testing.assert_allclose(seen.get_ydata(), frame()["accuracy"])
    np.testing.assert_allclose(independent.get_ydata(), frame()["independent"])
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(0.65)
    assert band[:, 1].max() == pytest.approx(0.8)
    assert ax.figure.get_size_inches()[0] == pytest.approx(ONE_COLUMN)


def test_the_limit_is_a_line_with_a_band_and_left_out_where_missing() -> None:
    with_limit = frame().assign(ceiling=0.79, ceiling_low=0.75, ceiling_high=0.83)
    ax = plot_jury_curve(with_limit)
    assert len(ax.lines) == 3
    assert next(t.get_text() for t in ax.get_legend().get_texts()) == "limit for a large panel"
    assert len(plot_jury_curve(with_limit.assign(ceiling=np.nan)).lines) == 2


def test_missing_intervals_leave_the_line() -> None:
    ax = plot_jury_curve(frame().assign(low=np.nan, high=np.nan))
    assert len(ax.lines) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": [1, 3, 3]}, "k must be different whole numbers"),
        ({"k": [1.5, 3, 5]}, "k must be different whole numbers"),
        ({"accuracy": [0.7, 1.2, 0.7]}, "accuracy must lie between 0 and 1"),
        ({"low": [0.65, 0.9, 0.72]}, "high must be >= low"),
    ],
)
def test_an_unclear_frame_is_refused(change: dict[str, list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_jury_curve(frame().assign(**change))


def test_level_and_kind_of_the_band_are_for_the_caption() -> None:
    named = frame().assign(level=0.95, kind="cluster t")
    assert intervals_drawn(plot_jury_curve(named)) == "blue band: 95 % cluster t"
