"""The drift figure draws what its frame says, and refuses what is unclear."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from d3stats.plotting import ONE_COLUMN, plot_martingale_drift, save


def drift_frame(groups: tuple[str, ...] = ()) -> pd.DataFrame:
    start = np.arange(6) / 5
    rng = np.random.default_rng(1)
    parts = []
    for name in groups or ("",):
        drift = rng.normal(0, 0.03, 6)
        part = pd.DataFrame({"start": start, "drift": drift, "low": drift - 0.02, "high": drift + 0.03})
        parts.append(part.assign(group=name) if groups else part)
    return pd.concat(parts, ignore_index=True)


def test_each_start_is_a_point_with_its_interval_about_a_zero_line() -> None:
    frame = drift_frame()
    ax = plot_martingale_drift(frame)
    point, _, (bars,) = ax.containers[0].lines
    np.testing.assert_allclose(point.get_xdata(), frame["start"])
    np.testing.assert_allclose(point.get_ydata(), frame["drift"])
    for segment, row in zip(bars.get_segments(), frame.to_dict("records"), strict=True):
        np.testing.assert_allclose(segment[:, 1], [row["low"], row["high"]])
    flat = [line for line in ax.lines if list(line.get_ydata()) == [0.0, 0.0]]
    assert len(flat) == 1
    low, high = ax.get_ylim()
    assert low <= frame["low"].min()
    assert frame["high"].max() <= high
    assert low == -high
    assert ax.figure.get_size_inches()[0] == pytest.approx(ONE_COLUMN)
    assert ax.get_legend() is None


def test_groups_are_told_apart_by_colour_marker_and_place() -> None:
    ax = plot_martingale_drift(drift_frame(("rounds 1-2", "rounds 2-3", "rounds 3-4")))
    points = [c.lines[0] for c in ax.containers]
    assert len({p.get_color() for p in points}) == len({p.get_marker() for p in points}) == 3
    assert len({p.get_xdata()[0] for p in points}) == 3
    assert max(abs(p.get_xdata()[2] - 0.4) for p in points) < 0.05
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["rounds 1-2", "rounds 2-3", "rounds 3-4"]


def test_a_start_without_an_interval_is_a_bare_point() -> None:
    frame = drift_frame()
    frame.loc[0, ["low", "high"]] = np.nan
    _, _, (bars,) = plot_martingale_drift(frame).containers[0].lines
    first = bars.get_segments()[0]
    assert first[0, 1] == first[1, 1] == frame.loc[0, "drift"]


def test_it_is_drawn_on_the_axes_given_and_saved_in_both_formats(tmp_path: object) -> None:
    fig, ax = plt.subplots()
    frame = drift_frame()
    before = frame.copy(deep=True)
    assert plot_martingale_drift(frame, ax=ax) is ax
    pd.testing.assert_frame_equal(frame, before)
    for path in save(fig, f"{tmp_path}/drift"):
        assert path.stat().st_size > 1000


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda f: f.drop(columns="drift"), "without \\['drift'\\]"),
        (lambda f: f.iloc[:0], "at least one row"),
        (lambda f: f.assign(start=1.5), "start must lie between 0 and 1"),
        (lambda f: f.assign(drift=np.nan), "drift must be finite"),
        (lambda f: f.assign(low=1.0), "high must be >= low"),
        (lambda f: pd.concat([f.assign(group=str(i)) for i in range(8)]), "at most 7 groups"),
    ],
)
def test_unclear_frames_are_refused(change: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        plot_martingale_drift(change(drift_frame()))  # type: ignore[operator]


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(TypeError, match="frame must be a DataFrame; got list"):
        plot_martingale_drift([1, 2])  # type: ignore[arg-type]
