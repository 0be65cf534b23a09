"""The figure of protocols draws what its frame says, and its labels hide nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from d3stats.plotting.costs import efficient, plot_protocol_frontier
from d3stats.plotting.style import ONE_COLUMN, TWO_COLUMNS, use_style

NAMES = (
    *("one judge", "one judge, both orders", "majority of 5", "MORE", "MORE (advocates)", "SAMRE"),
    *("SAMRE (advocates)", "ChatEval", "stability debate", "Multi-Persona", "EoT", "AgentVerse"),
    *("peer rank", "peer discussion"),
)
COST = (900, 1800, 4500, 5200, 4900, 14000, 9000, 8000, 16000, 6000, 7000, 12000, 5000, 9500)
RIGHT = (0.74, 0.765, 0.79, 0.8, 0.785, 0.842, 0.81, 0.8, 0.835, 0.77, 0.775, 0.79, 0.78, 0.805)


@pytest.fixture(autouse=True)
def _style() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}), use_style():
        yield
    plt.close("all")


def frame(cost: tuple[float, ...] = COST, accuracy: tuple[float, ...] = RIGHT) -> pd.DataFrame:
    right = np.array(accuracy)
    return pd.DataFrame(
        {
            "protocol": [f"p{i}" for i in range(len(cost))],
            "label": NAMES[: len(cost)],
            "cost": cost,
            "accuracy": right,
            "low": right - 0.018,
            "high": right + 0.018,
        }
    )


def test_the_steps_are_the_protocols_that_no_other_beats() -> None:
    given = frame()
    ax = plot_protocol_frontier(given)
    (steps,) = [line for line in ax.lines if line.get_label() == "efficient frontier"]
    corners = np.column_stack(steps.get_data())[:-1]
    beaten = [
        any((c <= cost and a >= right and (c < cost or a > right)) for c, a in zip(COST, RIGHT, strict=True))
        for cost, right in zip(COST, RIGHT, strict=True)
    ]
    kept = given[~np.array(beaten)].sort_values("cost")[["cost", "accuracy"]].to_numpy(dtype=float)
    np.testing.assert_allclose(corners, kept)
    assert steps.get_drawstyle() == "steps-post"
    assert ax.get_xscale() == "log"


def test_two_protocols_alike_are_both_on_the_frontier() -> None:
    assert efficient(np.array([2.0, 2.0, 2.0]), np.array([0.7, 0.7, 0.6])).tolist() == [True, True, False]


@pytest.mark.parametrize("width", [ONE_COLUMN, TWO_COLUMNS])
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 3))])
def test_labels_hide_no_point_and_no_other_label(width: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = frame()
    if seed:
        # Crowded: all within a factor of eight in cost and fifteen points of accuracy.
        right = rng.uniform(0.7, 0.85, len(COST))
        given = frame(tuple(10 ** rng.uniform(3, 3.9, len(COST))), tuple(right))
    fig, ax = plt.subplots(figsize=(width, 3.0), layout="constrained")
    plot_protocol_frontier(given, ax=ax)
    fig.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    for one, other in combinations(range(len(boxes)), 2):
        assert not boxes[one].overlaps(boxes[other]), (NAMES[one], NAMES[other])
    points = ax.transData.transform(given[["cost", "accuracy"]].to_numpy(dtype=float))
    for name, box in zip(NAMES, boxes, strict=True):
        hidden = [NAMES[i] for i, (x, y) in enumerate(points) if box.contains(x, y)]
        assert not hidden, f"{name} hides {hidden}"
        inside = ax.get_window_extent()
        assert inside.x0 <= box.x0 < box.x1 <= inside.x1
        assert inside.y0 <= box.y0 < box.y1 <= inside.y1


def test_the_same_frame_gives_the_same_places() -> None:
    one, other = (plot_protocol_frontier(frame()) for _ in range(2))
    assert [text.get_position() for text in one.texts] == [text.get_position() for text in other.texts]


def test_intervals_are_drawn_where_there_are_ends_and_named_below_the_axis() -> None:
    given = frame().assign(level=0.95, kind="cluster bootstrap")
    given.loc[2, ["low", "high"]] = np.nan
    ax = plot_protocol_frontier(given, cost_label="dollars per debate")
    assert ax.get_xlabel() == "dollars per debate\nbars: 95 % cluster bootstrap"
    spans = {
        (round(float(x[0]), 3), round(float(low[1]), 6), round(float(x[1]), 6))
        for bars in ax.collections
        for low, x in (map(np.asarray, segment) for segment in bars.get_segments())
    }
    assert (900.0, 0.722, 0.758) in spans
    assert (4500.0, 0.79, 0.79) in spans


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cost": [0.0, *COST[1:]]}, "cost must be above 0 for a log axis; got cost=0"),
        ({"accuracy": [1.2, *RIGHT[1:]]}, "accuracy must lie between 0 and 1"),
        (
            {"low": [0.75, *RIGHT[1:]]},
            r"low <= accuracy <= high must hold; got low=0.75, accuracy=0.74, high=0.758",
        ),
        ({"protocol": "samre"}, "one row per protocol; got protocol='samre' twice"),
        ({"cost_low": [-1.0, *COST[1:]], "cost_high": COST}, "cost_low must be above 0"),
        ({"cost_low": [c - 1 for c in COST]}, "both of .*got 'cost_low' alone"),
    ],
)
def test_an_unclear_frame_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_protocol_frontier(frame().assign(**change))


def test_one_protocol_is_a_figure_too() -> None:
    ax = plot_protocol_frontier(frame(COST[:1], RIGHT[:1]))
    assert [text.get_text() for text in ax.texts] == ["one judge"]
