"""The map of where more advocates help: regions are right, told apart without colour, and readable."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Patch

from d3stats.models.separation.best_of_k import phase_table, separation
from d3stats.models.separation.laws import uniform
from d3stats.models.separation.logged import separation_from_scores
from d3stats.plotting import ONE_COLUMN, TWO_COLUMNS, plot_phase_map


def four_phases() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "floor": [0.0, 0.0, 1.0, 1.0, 2.0, 2.0],
            "room": [0.0, 1.0, 0.0, 1.0, 0.0, 1.0],
            "gap_change": [0.1, 0.1, -0.1, -0.1, 0.1, 0.1],
            "ranking_change": [0.1, -0.1, 0.1, -0.1, 0.1, 1e-15],
            "slack": 1e-12,
        }
    )


def centres(ax: Axes, rows: int, columns: int) -> np.ndarray:
    """Return what is drawn in the middle of each cell of the grid."""
    codes = np.asarray(ax.collections[0].get_array())
    parts = round((codes.size / (rows * columns)) ** 0.5)
    return codes.reshape(rows * parts, columns * parts)[parts // 2 :: parts, parts // 2 :: parts]


def labels(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_every_phase_has_its_name_and_no_change_is_grey() -> None:
    ax = plot_phase_map(four_phases())
    assert labels(ax) == [
        "both better",
        "gap larger, ranking worse",
        "gap smaller, ranking better",
        "both worse",
        "no change",
    ]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("floor", "room")


def test_the_phase_of_a_cell_is_that_of_its_pair() -> None:
    ax = plot_phase_map(four_phases())
    codes = centres(ax, 2, 3)
    assert codes.tolist() == [[0, 2, 0], [1, 3, -1]]


def test_a_border_between_cells_is_where_a_change_is_zero() -> None:
    grid = [(x, y) for x in (0.0, 1.0) for y in (0.0, 1.0)]
    frame = pd.DataFrame(grid, columns=["x", "y"])
    ax = plot_phase_map(frame.assign(gap_change=frame["x"] - 0.25, ranking_change=1.0))
    edges = ax.collections[0].get_coordinates()[0, :, 0]
    row = np.asarray(ax.collections[0].get_array()).reshape(18, 18)[0]
    (border,) = np.flatnonzero(np.diff(row))
    assert edges[border + 1] == pytest.approx(0.25, abs=0.06)


def test_phases_differ_without_colour() -> None:
    legend = plot_phase_map(four_phases()).get_legend()
    assert legend is not None
    patches = [patch for patch in legend.get_patches() if isinstance(patch, Patch)]
    assert len({(patch.get_hatch(), to_rgba(patch.get_facecolor())) for patch in patches}) == 5
    assert len({patch.get_hatch() for patch in patches if patch.get_label() != "no change"}) == 4


@pytest.mark.parametrize("width", [ONE_COLUMN, TWO_COLUMNS])
def test_at_both_widths_nothing_is_cut_off(width: float) -> None:
    fig, ax = plt.subplots(figsize=(width, 3.1), layout="constrained")
    plot_phase_map(four_phases(), title="a family", ax=ax)
    fig.draw_without_rendering()
    legend = ax.get_legend()
    assert legend is not None
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= fig.bbox.width
    assert box.y0 >= 0
    assert ax.get_window_extent().height > 0.9 * fig.dpi


def test_rows_may_come_in_any_order() -> None:
    mixed = plot_phase_map(four_phases().sample(frac=1, random_state=1))
    plain = plot_phase_map(four_phases())
    np.testing.assert_array_equal(mixed.collections[0].get_array(), plain.collections[0].get_array())


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (four_phases().iloc[:-1], "a row for every pair of floor and room; got 5 of 6"),
        (
            pd.concat([four_phases(), four_phases().iloc[:1]]),
            "one row per floor and room; got floor=0, room=0 twice",
        ),
        (four_phases().drop(columns="gap_change"), "must have the columns"),
        (four_phases().assign(ranking_change=np.nan), "ranking_change must be finite"),
    ],
)
def test_a_frame_that_is_no_full_grid_is_refused(frame: pd.DataFrame, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        plot_phase_map(frame)


def test_uniform_scores_below_a_common_ceiling_lie_where_both_get_worse() -> None:
    grid = {"floor": [0.3, 0.6], "room": [0.0, 2.0]}
    table = phase_table(lambda floor, room: (uniform(floor, 1), uniform(0, 1 + room)), grid, k=5)
    codes = centres(plot_phase_map(table), 2, 2)
    assert codes[0].tolist() == [3, 3]
    assert codes[1].tolist() == [0, 0]


def test_results_draw_themselves() -> None:
    ax = separation(uniform(0.5, 1), uniform(), [1, 2, 5]).plot()
    assert ax.get_xlabel() == "advocates a side"
    assert len(ax.get_lines()) == 2
    given, own = plt.subplots()
    found = separation_from_scores([[9, 8, 5], [7, 7, 6]], [[4, 6, 8], [7, 5, 5]], [1, 3], n_boot=10, rng=1)
    assert found.plot(own) is own
    given.draw_without_rendering()
