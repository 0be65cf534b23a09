"""The position figure draws what its frame says, and refuses what is unclear."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from d3stats.inference.bias import position_bias
from d3stats.inference.bias.position import CONSISTENCY, EXCESS
from d3stats.plotting import ONE_COLUMN, intervals_drawn, plot_position_bias


def frame(n: int = 3) -> pd.DataFrame:
    same, first = np.linspace(0.4, 0.9, n), np.linspace(0.3, 0.8, n)
    ends = {"consistency_low": same - 0.1, "consistency_high": same + 0.05}
    more = {"first_low": first - 0.02, "first_high": first + 0.03, "coin": 0.5}
    return pd.DataFrame(
        {"judge": [f"J{i}" for i in range(n)], "consistency": same, "first": first} | ends | more
    )


def test_each_judge_has_both_shares_with_intervals_from_the_top_down() -> None:
    table = frame()
    axes = plot_position_bias(table)
    for ax, name in zip(axes, ("consistency", "first"), strict=True):
        (container,) = ax.containers
        point, _, (bars,) = container.lines
        np.testing.assert_allclose(point.get_xdata(), table[name])
        for segment, row in zip(bars.get_segments(), table.to_dict("records"), strict=True):
            np.testing.assert_allclose(segment[:, 0], [row[f"{name}_low"], row[f"{name}_high"]])
        assert ax.yaxis_inverted()
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["J0", "J1", "J2"]
    assert axes[0].figure.get_size_inches()[0] == pytest.approx(ONE_COLUMN)


def test_each_measure_has_its_own_axes_with_its_own_reference() -> None:
    consistency, first = plot_position_bias(frame())
    np.testing.assert_allclose(consistency.collections[0].get_offsets()[:, 0], frame()["coin"])
    assert list(first.lines[0].get_xdata()) == [0.5, 0.5]
    assert not any(list(line.get_xdata()) == [0.5, 0.5] for line in consistency.lines)
    with pytest.raises(ValueError, match="axes must be one or two; got 3"):
        plot_position_bias(frame(), axes=plt.subplots(1, 3)[1])


def test_the_legend_fits_above_axes_that_keep_their_width() -> None:
    axes = plot_position_bias(frame())
    figure = axes[0].figure
    figure.canvas.draw()
    assert all(ax.get_position().width > 0.35 for ax in axes)
    legend = axes[0].get_legend()
    assert legend is not None
    assert legend.get_window_extent().x1 <= figure.bbox.x1
    one, other = (ax.get_tightbbox() for ax in axes)
    assert one.x1 <= other.x0


def test_a_share_without_an_interval_is_a_point() -> None:
    table = frame()
    table.loc[1, ["first_low", "first_high"]] = np.nan
    bars = plot_position_bias(table)[1].containers[0].lines[2][0]
    assert np.ptp(bars.get_segments()[1][:, 0]) == 0


def test_an_audit_draws_itself_on_given_axes() -> None:
    table = pd.DataFrame({"item": [1, 1, 2, 2, 3, 3], "order": ["AB", "BA"] * 3, "vote": list("AAABBB")})
    _, ax = plt.subplots()
    found = position_bias(table)
    assert found.plot(ax) is ax
    kinds = {estimate.kind for estimate in (found[CONSISTENCY], found[EXCESS]) if estimate.low is not None}
    assert kinds
    assert intervals_drawn(ax) == f"bars: 95 % {' and '.join(sorted(kinds))}"
    assert ax.get_xlabel() == "verdicts for the first slot"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"consistency": 1.2}, "consistency must lie between 0 and 1"),
        ({"first_low": 0.95}, "first_low <= first <= first_high must hold; got first_low=0.95"),
        ({"coin": "x"}, "coin must be finite"),
    ],
)
def test_an_unclear_frame_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_position_bias(frame().assign(**changes))
    with pytest.raises(ValueError, match="must have the columns"):
        plot_position_bias(frame().drop(columns="coin"))
