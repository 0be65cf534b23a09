"""The posterior of a mixture as a figure: what is drawn is what is in the frame."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from d3stats.plotting.fits import plot_mixture_posterior, plot_round_bands


def frame(**changes):
    table = pd.DataFrame(
        {
            "successes": [0, 1, 2, 3],
            "observed": [0.4, 0.1, 0.1, 0.4],
            "predicted": [0.35, 0.15, 0.1, 0.4],
            "low": [0.3, 0.1, 0.05, 0.35],
            "high": [0.45, 0.2, 0.15, 0.5],
            "level": 0.9,
            "mean_1": 0.2,
            "mean_1_low": 0.1,
            "mean_1_high": 0.4,
            "mean_2": 0.9,
            "mean_2_low": 0.8,
            "mean_2_high": 0.95,
        }
    )
    return table.assign(**changes)


def test_bars_are_observed_shares_and_bands_the_posterior():
    ax = plot_mixture_posterior(frame())
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], [0.4, 0.1, 0.1, 0.4])
    segments = ax.collections[0].get_segments()
    np.testing.assert_allclose([s[:, 1] for s in segments], frame()[["low", "high"]].to_numpy())
    assert "posterior, 90 % band" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_component_means_stand_at_their_share_of_the_panel():
    ax = plot_mixture_posterior(frame())
    drawn = {line.get_label(): line.get_xdata()[0] for line in ax.get_lines()}
    assert drawn["mean of component 1"] == pytest.approx(0.6)
    assert drawn["mean of component 2"] == pytest.approx(2.7)


def test_components_are_optional_and_so_are_their_limits():
    plain = plot_mixture_posterior(frame()[["successes", "observed", "predicted", "low", "high"]])
    assert len(plain.get_legend().get_texts()) == 2
    assert not plain.texts
    ax = plot_mixture_posterior(frame().drop(columns=["mean_1_low", "mean_1_high"]))
    assert [text.get_text() for text in ax.texts] == ["mean of component 1", "mean of component 2"]


def test_a_given_axes_is_drawn_on_and_returned():
    _, ax = plt.subplots()
    assert plot_mixture_posterior(frame(), ax=ax) is ax


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"low": 0.46}, "high must be >= low"),
        ({"observed": 1.2}, "observed must lie between 0 and 1"),
        ({"predicted": np.nan}, "predicted must be finite"),
        ({"successes": [0, 1, 2, 4]}, "successes must be 0..panel in order"),
        ({"mean_1": -0.1}, "mean_1 must lie between 0 and 1"),
        ({"mean_7": 0.5}, "at most 6 components"),
    ],
)
def test_what_cannot_be_drawn_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        plot_mixture_posterior(frame(**changes))


def test_bands_over_rounds_are_drawn_one_line_each():
    table = pd.DataFrame(
        {
            "round": [1, 2, 1, 2],
            "quantity": ["accuracy", "accuracy", "majority", "majority"],
            "mean": [0.5, 0.6, 0.7, 0.8],
            "low": [0.4, 0.5, 0.6, 0.7],
            "high": [0.6, 0.7, 0.8, 0.9],
        }
    )
    ax = plot_round_bands(table)
    assert [line.get_label() for line in ax.get_lines()] == ["accuracy", "majority"]
    np.testing.assert_allclose(ax.get_lines()[1].get_ydata(), [0.7, 0.8])
    with pytest.raises(ValueError, match="high must be >= low"):
        plot_round_bands(table.assign(low=0.65))
