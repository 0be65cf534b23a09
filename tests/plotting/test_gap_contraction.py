"""The figure of the gap posterior's contraction shows what its frame says."""

from __future__ import annotations

import io
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from d3stats.models.gaps.beta import contraction_table
from d3stats.plotting import plot_gap_contraction

ROUNDS = np.arange(0, 61)


def _line(ax: Axes, label: str) -> Line2D:
    return next(line for line in ax.get_lines() if line.get_label() == label)


def _labels(ax: Axes) -> set[str]:
    return {str(line.get_label()) for line in ax.get_lines()} - {"_nolegend_"}


def test_the_lines_are_the_columns() -> None:
    frame = contraction_table(ROUNDS, ROUNDS, 0.1)
    ax = plot_gap_contraction(frame.sample(frac=1, random_state=1))
    for label, name in (("exact", "exact"), ("Cantelli", "cantelli"), ("sub-Gaussian", "sub_gaussian")):
        np.testing.assert_array_equal(_line(ax, label).get_ydata(), frame[name])
    assert ax.get_ylabel() == "P(gap ≥ 0.9)"


def test_the_claimed_bound_is_a_full_line_only_where_its_premise_holds() -> None:
    frame = contraction_table(ROUNDS, ROUNDS, 0.1)
    ax = plot_gap_contraction(frame)
    full = np.asarray(_line(ax, "claimed, premise holds").get_ydata(), dtype=float)
    drawn = ~np.isnan(full)
    np.testing.assert_array_equal(drawn, frame["premise"] & (frame["claimed"] >= 0))
    assert drawn.any()
    assert not drawn.all()
    assert "claimed, above exact" not in _labels(ax)


def test_crosses_stand_only_where_the_claim_is_false() -> None:
    frame = contraction_table(10 * ROUNDS, 20 * ROUNDS, 0.1)
    ax = plot_gap_contraction(frame)
    crosses = _line(ax, "claimed, above exact")
    at = frame.set_index("round").loc[np.asarray(crosses.get_xdata(), dtype=float)]
    assert 5 <= len(at) <= 12
    assert (at["claimed"] > at["exact"]).all()
    assert "claimed, premise holds" not in _labels(ax)


def test_it_draws_into_given_axes_and_saves_as_pdf() -> None:
    figure, axes = plt.subplots()
    assert plot_gap_contraction(contraction_table(ROUNDS, ROUNDS, 0.3), ax=axes) is axes
    saved = io.BytesIO()
    figure.savefig(saved, format="pdf")
    assert saved.getvalue().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.drop(columns="premise"), "frame must have the columns"),
        (lambda f: f.iloc[:0], "frame must have at least one row"),
        (lambda f: pd.concat([f, f.iloc[:1]]), "one row per round; got round=0 twice"),
        (lambda f: f.assign(exact=1.5), "exact must lie between 0 and 1"),
        (lambda f: f.assign(cantelli=np.nan), "cantelli must be finite"),
        (lambda f: f.assign(claimed=1.5), "claimed must be <= 1"),
        (lambda f: f.assign(premise=2), "premise must be true or false; got premise=2 at row 0"),
        (lambda f: f.assign(eps=np.linspace(0.1, 0.2, len(f))), "eps must be the same in all rows"),
        (lambda f: f.assign(round=f["round"] + 0.5), "round must be whole numbers"),
    ],
)
def test_a_frame_that_cannot_be_drawn_is_refused(change: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        plot_gap_contraction(change(contraction_table(ROUNDS, ROUNDS, 0.1)))
