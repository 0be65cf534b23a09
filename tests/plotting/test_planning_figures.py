"""The figures of planning: rules beside the limit, regret over worlds, the cost of the debates to come."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from d3stats.plotting import (
    ONE_COLUMN,
    TWO_COLUMNS,
    plot_frontier,
    plot_plan_fan,
    plot_regret_map,
    plot_savings,
)

RULES = ("fixed:1", "fixed:2", "unanimity", "supermajority:0.85", "adaptive_consistency:0.95", "sprt:0.7")


def frontier_frame(rules: tuple[str, ...] = RULES) -> pd.DataFrame:
    cost = 4.0 + 13.0 * np.arange(len(rules))
    kept = 0.69 + 0.02 * (1 - np.exp(-cost / 20))
    return pd.DataFrame(
        {
            "rule": rules,
            "cost": cost,
            "cost_low": cost * 0.95,
            "cost_high": cost * 1.05,
            "kept": kept,
            "kept_low": kept - 0.006,
            "kept_high": kept + 0.006,
        }
    )


def limit_frame() -> pd.DataFrame:
    return pd.DataFrame({"cost": [30.0, 4.0, 10.0], "kept": [0.713, 0.697, 0.707]})


def regret_frame(worlds: int = 4, rules: tuple[str, ...] = RULES) -> pd.DataFrame:
    rows = [
        (f"world {j + 1}", rule, 0.07 * i * j / (worlds * len(rules)))
        for j in range(worlds)
        for i, rule in enumerate(rules)
    ]
    return pd.DataFrame(rows, columns=["world", "rule", "regret"])


def fan_frame() -> pd.DataFrame:
    parts = [
        pd.DataFrame(
            {
                "rule": rule,
                "role": role,
                "debates": [1, 500, 1000],
                "level": level,
                "unit": "tokens",
                "cost": [cost, cost * 500, cost * 1000],
                "low": [0.0, cost * 500 * (1 - level / 3), cost * 1000 * (1 - level / 3)],
                "high": [2 * cost, cost * 500 * (1 + level / 3), cost * 1000 * (1 + level / 3)],
            }
        )
        for rule, role, cost in (("ladder:7-6-1", "recommended", 40.0), ("unanimity", "incumbent", 120.0))
        for level in (0.5, 0.8, 0.95)
    ]
    return pd.concat(parts, ignore_index=True)


FIGURES: list[tuple[Callable[..., Axes], Callable[[], pd.DataFrame]]] = [
    (plot_frontier, frontier_frame),
    (plot_regret_map, regret_frame),
    (plot_plan_fan, fan_frame),
]
every_figure = pytest.mark.parametrize(("draw", "frame_of"), FIGURES, ids=lambda f: f.__name__)


# ---------------------------------------------------------------- frontier


def test_each_rule_is_a_point_with_its_interval_in_both_directions() -> None:
    frame = frontier_frame()
    ax = plot_frontier(frame)
    assert len(ax.containers) == len(frame)
    for container, row in zip(ax.containers, frame.to_dict("records"), strict=True):
        point, _, bars = container.lines
        assert (point.get_xdata()[0], point.get_ydata()[0]) == (row["cost"], row["kept"])
        across, up = (bar.get_segments()[0] for bar in bars)
        np.testing.assert_allclose(across[:, 0], [row["cost_low"], row["cost_high"]])
        np.testing.assert_allclose(up[:, 1], [row["kept_low"], row["kept_high"]])


def test_a_rule_without_an_interval_is_a_bare_point_and_bars_stay_inside_the_axes() -> None:
    frame = frontier_frame()
    frame.loc[0, ["cost_low", "cost_high", "kept_low", "kept_high"]] = np.nan
    ax = plot_frontier(frame)
    assert ax.containers[0].lines[2] == ()
    low, high = ax.get_ylim()
    assert low < frame["kept_low"].min()
    assert frame["kept_high"].max() < high
    assert plot_frontier(frame[["rule", "cost", "kept"]]).containers[1].lines[2] == ()


def test_the_limit_is_a_line_by_cost_with_the_unreachable_above_it_in_grey() -> None:
    ax = plot_frontier(frontier_frame(), limit_frame())
    line = next(line for line in ax.lines if line.get_label() == "exact limit")
    np.testing.assert_allclose(line.get_xdata(), [4, 10, 30])
    np.testing.assert_allclose(line.get_ydata(), [0.697, 0.707, 0.713])
    shaded = ax.collections[0].get_paths()[0]
    assert shaded.contains_point((10.0, 0.75))
    assert not shaded.contains_point((10.0, 0.70))


def test_rules_of_the_frontier_stay_apart_by_marker_and_keep_their_order() -> None:
    ax = plot_frontier(frontier_frame(), limit_frame())
    assert len({container.lines[0].get_marker() for container in ax.containers}) == len(RULES)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["exact limit", *RULES]


@pytest.mark.parametrize("width", [ONE_COLUMN, TWO_COLUMNS])
def test_the_legend_of_the_frontier_leaves_the_points_half_of_the_page(width: float) -> None:
    fig, ax = plt.subplots(figsize=(width, 2.8), layout="constrained")
    plot_frontier(frontier_frame(), limit_frame(), ax=ax)
    fig.canvas.draw()
    drawn, legend = ax.get_window_extent(), ax.get_legend().get_window_extent()
    assert not drawn.overlaps(legend)
    assert drawn.width * drawn.height > 0.45 * fig.bbox.width * fig.bbox.height


# ---------------------------------------------------------------- regret map


def test_the_map_has_a_row_for_each_rule_and_a_column_for_each_world_in_their_order() -> None:
    frame = regret_frame()
    ax = plot_regret_map(frame)
    assert [t.get_text() for t in ax.get_yticklabels()] == list(RULES)
    assert [t.get_text() for t in ax.get_xticklabels()] == [f"world {i}" for i in range(1, 5)]
    shown = np.asarray(ax.images[0].get_array())
    pivot = frame.pivot_table("regret", "rule", "world", sort=False).to_numpy()
    np.testing.assert_allclose(shown, 1000 * pivot)


def test_numbers_are_written_in_thousandths() -> None:
    frame = pd.DataFrame({"world": ["a", "b", "c"], "rule": "unanimity", "regret": [0.0, 0.0184, 1.25]})
    assert [t.get_text() for t in plot_regret_map(frame).texts] == ["0", "18", "1250"]


def test_a_darker_cell_is_a_larger_regret_and_its_number_stays_readable() -> None:
    frame = pd.DataFrame({"world": list("abcd"), "rule": "unanimity", "regret": [0.0, 0.02, 0.06, 0.2]})
    ax = plot_regret_map(frame)
    image = ax.images[0]
    light = [np.dot(image.to_rgba(1000 * value)[:3], [0.299, 0.587, 0.114]) for value in frame["regret"]]
    assert light == sorted(light, reverse=True)
    for shade, text in zip(light, ax.texts, strict=True):
        ink = 1.0 if to_hex(text.get_color()) == "#ffffff" else 0.0
        assert abs(shade - ink) > 0.35


def test_a_map_of_many_worlds_has_colours_and_no_numbers() -> None:
    assert plot_regret_map(regret_frame(worlds=15)).texts
    assert not plot_regret_map(regret_frame(worlds=40)).texts


def test_a_pair_that_is_not_there_is_an_empty_cell() -> None:
    frame = regret_frame().drop(index=0)
    ax = plot_regret_map(frame)
    assert np.isnan(np.ma.filled(ax.images[0].get_array(), np.nan)).sum() == 1
    assert len(ax.texts) == len(frame)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"regret": -0.01}, r"regret must be >= 0; got regret=-0\.01 at row 0"),
        ({"regret": np.nan}, "regret must be finite numbers; got regret=nan at row 0"),
        ({"rule": "fixed:2"}, "one row per world and rule; got world='world 1', rule='fixed:2' twice"),
    ],
)
def test_the_map_refuses_what_is_no_regret(change: dict[str, Any], message: str) -> None:
    frame = regret_frame().astype({"rule": object})
    for name, value in change.items():
        frame.loc[0, name] = value
    with pytest.raises(ValueError, match=message):
        plot_regret_map(frame)


# ---------------------------------------------------------------- savings


def savings_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "rule": ["ladder:6-1", "unanimity", "fixed:1", "fixed:2"],
            "role": ["recommended", "incumbent", "compared", "compared"],
            "saved": [0.2, 0.0, 0.21, np.nan],
            "saved_low": [0.15, np.nan, 0.16, np.nan],
            "saved_high": [0.25, np.nan, 0.26, np.nan],
            "change": [0.0, 0.0, -0.02, np.nan],
            "change_low": [-0.035, np.nan, -0.05, np.nan],
            "change_high": [0.035, np.nan, 0.01, np.nan],
        }
    )


def test_savings_are_drawn_in_points_with_a_ring_at_the_recommended_rule() -> None:
    ax = plot_savings(savings_frame(), max_loss=0.02)
    drawn = {tuple(xy) for c in ax.containers for xy in np.round(c.lines[0].get_xydata(), 9)}
    assert drawn == {(20.0, 0.0), (0.0, 0.0), (21.0, -2.0)}
    np.testing.assert_allclose(ax.collections[-1].get_offsets(), [[20.0, 0.0]])
    (region,) = ax.patches
    assert region.get_y() + region.get_height() == pytest.approx(-2.0)
    assert "loses more than 2 points" in {text.get_text() for text in ax.texts}


def test_no_name_of_a_rule_covers_another() -> None:
    """Two rules at nearly the same point get their names one above the other."""
    frame = savings_frame().assign(change_high=[0.03, np.nan, 0.03, np.nan])
    ax = plot_savings(frame, max_loss=0.02)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text() in set(frame["rule"])]
    assert len(boxes) == 3
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_a_frame_without_any_change_is_refused() -> None:
    with pytest.raises(ValueError, match="rule with saved and change; got none"):
        plot_savings(savings_frame().assign(change=np.nan))


# ---------------------------------------------------------------- plan fan


def test_the_fan_has_a_line_for_each_rule_and_a_band_for_each_level() -> None:
    ax = plot_plan_fan(fan_frame())
    assert [line.get_label() for line in ax.lines] == ["ladder:7-6-1", "unanimity"]
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [120, 60_000, 120_000])
    assert len(ax.collections) == 6
    assert ax.get_legend().get_title().get_text() == "bands: 50 %, 80 %, 95 %"


def test_the_bands_of_a_rule_are_nested_the_widest_first() -> None:
    bands = plot_plan_fan(fan_frame()).collections[:3]
    heights = [np.ptp(band.get_paths()[0].vertices[:, 1]) for band in bands]
    assert heights == sorted(heights, reverse=True)


def test_the_recommended_rule_has_one_colour_and_the_incumbent_another_in_any_order() -> None:
    forwards = {line.get_label(): line.get_color() for line in plot_plan_fan(fan_frame()).lines}
    backwards = {line.get_label(): line.get_color() for line in plot_plan_fan(fan_frame()[::-1]).lines}
    assert forwards == backwards
    assert len(set(forwards.values())) == 2


def test_the_fan_starts_at_nothing_and_ends_at_the_planned_debates() -> None:
    ax = plot_plan_fan(fan_frame())
    assert ax.get_xlim() == (0, 1000)
    assert ax.get_ylim()[0] == 0


def test_a_fan_in_two_units_is_refused() -> None:
    frame = fan_frame()
    frame.loc[0, "unit"] = "dollars"
    with pytest.raises(ValueError, match=r"unit must be the same in all rows; got \['dollars', 'tokens'\]"):
        plot_plan_fan(frame)


# ---------------------------------------------------------------- all


@every_figure
def test_an_absent_column_is_named(draw: Callable[..., Axes], frame_of: Callable[[], pd.DataFrame]) -> None:
    for name in frame_of().columns:
        if name.endswith(("_low", "_high")):
            continue
        with pytest.raises(ValueError, match=rf"frame must have the columns .*without \['{name}'\]"):
            draw(frame_of().drop(columns=name))


@every_figure
def test_a_frame_is_left_as_it_was_and_drawn_on_the_axes_given(
    draw: Callable[..., Axes], frame_of: Callable[[], pd.DataFrame]
) -> None:
    frame = frame_of()
    before = frame.copy(deep=True)
    _, ax = plt.subplots()
    figures = plt.get_fignums()
    assert draw(frame, ax=ax) is ax
    assert plt.get_fignums() == figures
    pd.testing.assert_frame_equal(frame, before)


@every_figure
@pytest.mark.parametrize("width", [ONE_COLUMN, pytest.param(TWO_COLUMNS, marks=pytest.mark.slow)])
def test_at_one_and_two_columns_the_text_is_inside_the_page_apart_and_legible(
    draw: Callable[..., Axes], frame_of: Callable[[], pd.DataFrame], width: float
) -> None:
    fig, ax = plt.subplots(figsize=(width, 2.8), layout="constrained")
    draw(frame_of(), ax=ax)
    fig.canvas.draw()
    box = ax.get_tightbbox()
    assert box is not None
    assert box.x0 >= -1
    assert box.y0 >= -1
    assert box.x1 <= fig.bbox.x1 + 1
    assert box.y1 <= fig.bbox.y1 + 1
    for labels in (ax.get_yticklabels(), ax.texts):
        boxes = [t.get_window_extent() for t in labels if t.get_text()]
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert min(t.get_fontsize() for t in ax.findobj(mpl.text.Text) if t.get_text()) >= 6
