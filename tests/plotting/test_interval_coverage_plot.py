"""The coverage figure draws what its frame says, and refuses what is unclear."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from d3stats.plotting import save
from d3stats.plotting.intervals import plot_interval_coverage


def coverage_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "method": np.repeat(["BCa", "cluster t", "naive t"], 2),
            "icc": [0.0, 0.3] * 3,
            "coverage": [0.948, 0.945, 0.951, 0.949, 0.95, 0.71],
            "coverage_se": [0.005] * 5 + [0.01],
        }
    )


def test_every_coverage_is_a_point_with_two_errors_either_way() -> None:
    frame = coverage_frame()
    ax = plot_interval_coverage(frame)
    for container, icc in zip(ax.containers, (0.0, 0.3), strict=True):
        part = frame[frame["icc"] == icc]
        point, _, (bars,) = container.lines
        np.testing.assert_allclose(point.get_xdata(), part["coverage"])
        np.testing.assert_allclose(np.round(point.get_ydata()), [0, 1, 2])
        for segment, row in zip(bars.get_segments(), part.to_dict("records"), strict=True):
            ends = row["coverage"] + np.array([-2, 2]) * row["coverage_se"]
            np.testing.assert_allclose(segment[:, 0], ends)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["BCa", "cluster t", "naive t"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ICC 0", "ICC 0.3"]
    bottom, top = ax.get_ylim()
    assert bottom > top, "the first method stands on top"


def test_the_band_is_grey_where_it_was_said_to_be() -> None:
    ax = plot_interval_coverage(coverage_frame(), band=(0.93, 0.97))
    (patch,) = ax.patches
    np.testing.assert_allclose([patch.get_x(), patch.get_x() + patch.get_width()], [0.93, 0.97])


def test_it_draws_into_the_axes_it_is_given_and_saves(tmp_path: Path) -> None:
    _, ax = plt.subplots()
    assert plot_interval_coverage(coverage_frame(), ax=ax) is ax
    save(ax.figure, tmp_path / "coverage")
    assert {path.suffix for path in tmp_path.iterdir()} == {".pdf", ".png"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"coverage": 1.2}, "coverage must lie between 0 and 1; got coverage=1.2 at row 0"),
        ({"coverage_se": -0.1}, "coverage_se must be >= 0; got coverage_se=-0.1 at row 0"),
        ({"coverage": np.nan}, "coverage must be finite numbers"),
        ({"icc": 0.3}, "one row per method and icc; got method='BCa', icc=0.3 twice"),
    ],
)
def test_unclear_frames_are_refused(change: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        plot_interval_coverage(coverage_frame().assign(**change))


def test_absent_columns_and_a_band_upside_down_are_refused() -> None:
    with pytest.raises(ValueError, match=r"without \['icc'\]"):
        plot_interval_coverage(coverage_frame().drop(columns="icc"))
    with pytest.raises(ValueError, match="band must be"):
        plot_interval_coverage(coverage_frame(), band=(0.96, 0.94))
