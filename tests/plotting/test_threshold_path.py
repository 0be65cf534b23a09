"""The figure of rounds against accuracy over thresholds draws what its frame holds, and refuses what is unclear."""

from __future__ import annotations

import itertools
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from layers import examples

from d3stats.plotting import ONE_COLUMN, intervals_drawn, plot_threshold_path


def frame() -> pd.DataFrame:
    one = pd.DataFrame(
        {"threshold": [0.2, 0.01, 0.05], "rounds": [2.0, 10.0, 5.0], "accuracy": [0.7, 0.76, 0.75]}
    )
    other = one.assign(rounds=one["rounds"] + 1, group="patience 2")
    return pd.concat([one.assign(group="patience 1"), other], ignore_index=True)


def test_each_group_is_a_path_in_the_order_of_thresholds() -> None:
    ax = plot_threshold_path(frame())
    paths = [line for line in ax.lines if line.get_linestyle() == "-" and len(line.get_xdata()) == 3]
    assert [list(path.get_xdata()) for path in paths] == [[10.0, 5.0, 2.0], [11.0, 6.0, 3.0]]
    assert [list(path.get_ydata()) for path in paths] == [[0.76, 0.75, 0.7]] * 2
    assert [text.get_text() for text in ax.texts] == ["0.01", "0.05", "0.2"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["patience 1", "patience 2"]


def test_thresholds_that_would_lie_on_another_are_not_written() -> None:
    near = frame().query("group == 'patience 1'").drop(columns="group")
    near = pd.concat([near, near.assign(threshold=near["threshold"] + 0.001)], ignore_index=True)
    texts = [text.get_text() for text in plot_threshold_path(near).texts]
    assert texts[0] == "0.01"
    assert texts[-1] == "0.201"
    assert len(texts) < 6


def test_intervals_are_drawn_and_limits_that_are_set_are_kept() -> None:
    _, ax = plt.subplots()
    ax.set_ylim(0.5, 0.9)
    table = frame().assign(
        low=lambda t: t["accuracy"] - 0.02, high=lambda t: t["accuracy"] + 0.03, level=0.95
    )
    assert plot_threshold_path(table, ax=ax) is ax
    assert ax.get_ylim() == (0.5, 0.9)
    _, _, (bars,) = ax.containers[0].lines
    np.testing.assert_allclose(bars.get_segments()[0][:, 1], [0.74, 0.79])
    assert intervals_drawn(ax) == "bars: 95 %"


def choice() -> dict[str, pd.DataFrame]:
    """A choice between two protocols: the path, each protocol alone, and the truth."""
    path = pd.DataFrame(
        {
            "threshold": [30.0, 10.0, 5.0, 2.0, 0.0],
            "tokens": [28e3, 24e3, 16e3, 9e3, 5e3],
            "accuracy": [0.86, 0.86, 0.85, 0.81, 0.77],
            "chosen": [False, False, True, False, False],
        }
    )
    path = path.assign(
        low=path["accuracy"] - 0.03,
        high=path["accuracy"] + 0.03,
        tokens_low=path["tokens"] - 900,
        tokens_high=path["tokens"] + 900,
        level=0.95,
        kind="over questions",
    )
    ends = pd.DataFrame(
        {"label": ["first alone", "second alone"], "tokens": [5e3, 22e3], "accuracy": [0.77, 0.86]}
    )
    truth = path[["threshold", "tokens", "accuracy"]].assign(
        accuracy=[0.87, 0.87, 0.86, 0.82, 0.78], chosen=[False, False, False, True, False]
    )
    return {"frame": path, "ends": ends, "truth": truth}


def drawn(**parts: Any) -> plt.Axes:
    ax: plt.Axes = plot_threshold_path(**parts, cost="tokens", cost_label="tokens per debate")
    ax.figure.canvas.draw()
    return ax


def marks(ax: plt.Axes) -> dict[str, list[list[float]]]:
    """Return the places of the open marks by what the legend says of them."""
    return {
        str(found.get_label()): found.get_offsets().tolist()
        for found in ax.collections
        if found.get_label() in ("chosen", "true best threshold")
    }


def test_a_choice_of_protocols_is_a_path_with_its_ends_its_choice_and_the_truth() -> None:
    ax = drawn(**choice())
    assert marks(ax) == {"chosen": [[16e3, 0.85]], "true best threshold": [[9e3, 0.82]]}
    (truth,) = (line for line in ax.lines if line.get_label() == "truth")
    assert list(truth.get_xdata()) == [5e3, 9e3, 16e3, 24e3, 28e3]
    assert list(truth.get_ydata()) == [0.78, 0.82, 0.86, 0.87, 0.87]
    points = {str(c.get_label()): c.lines[0].get_xydata().tolist() for c in ax.containers}
    assert points["first alone"] == [[5e3, 0.77]]
    assert points["second alone"] == [[22e3, 0.86]]
    said = {text.get_text() for text in ax.get_legend().get_texts()}
    assert said == {"thresholds", "first alone", "second alone", "chosen", "truth", "true best threshold"}
    assert (ax.get_xlabel(), intervals_drawn(ax)) == ("tokens per debate", "bars: 95 % over questions")
    assert "5" in [text.get_text() for text in ax.texts]
    assert "10,000" in [label.get_text() for label in ax.get_xticklabels()]


def test_the_interval_of_a_cost_is_a_line_between_its_limits() -> None:
    ax = drawn(frame=choice()["frame"])
    lines = {
        tuple(map(tuple, s)) for c in ax.collections if hasattr(c, "get_segments") for s in c.get_segments()
    }
    assert ((15100.0, 0.85), (16900.0, 0.85)) in lines
    assert any(np.allclose(line, [[16e3, 0.82], [16e3, 0.88]]) for line in lines)


def test_without_the_optional_parts_the_figure_is_the_path_alone() -> None:
    bare = choice()["frame"][["threshold", "tokens", "accuracy"]]
    ax = drawn(frame=bare)
    assert ax.get_legend() is None
    assert marks(ax) == {}
    assert ax.get_xlabel() == "tokens per debate"


def test_a_figure_of_one_column_keeps_its_text_inside_and_apart() -> None:
    ax = drawn(**choice())
    fig = ax.figure
    assert fig.get_size_inches()[0] == pytest.approx(ONE_COLUMN)
    box = ax.get_tightbbox()
    assert box.x0 >= fig.bbox.x0 - 1
    assert box.x1 <= fig.bbox.x1 + 1
    assert box.y0 >= fig.bbox.y0 - 1
    assert min(t.get_fontsize() for t in ax.findobj(mpl.text.Text) if t.get_text()) >= 6
    for texts in (ax.texts, ax.get_xticklabels(), ax.get_legend().get_texts()):
        boxes = [text.get_window_extent() for text in texts if text.get_text()]
        assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    assert not ax.get_legend().get_window_extent().overlaps(ax.xaxis.label.get_window_extent())


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("ends", {"accuracy": 1.2}, "accuracy must lie between 0 and 1"),
        ("ends", {"tokens": np.inf}, "tokens must be finite"),
        ("truth", {"threshold": -1.0}, "threshold must be at least 0"),
        ("frame", {"low": 0.865, "high": 0.9}, "low <= accuracy <= high must hold"),
        ("frame", {"tokens_low": 1e6}, "tokens_low <= tokens_high must hold"),
        ("frame", {"chosen": 2}, "chosen must be true or false"),
    ],
)
def test_bad_parts_of_a_choice_are_refused(part: str, change: dict[str, float], message: str) -> None:
    parts = choice()
    parts[part] = parts[part].assign(**change)
    with pytest.raises(ValueError, match=message):
        drawn(**parts)


def test_absent_columns_and_too_many_ends_are_named() -> None:
    parts = choice()
    for part, name in (("frame", "tokens"), ("ends", "label"), ("truth", "threshold")):
        with pytest.raises(ValueError, match=f"without .'{name}'"):
            drawn(**parts | {part: parts[part].drop(columns=name)})
    many = pd.concat([parts["ends"]] * 3, ignore_index=True)
    with pytest.raises(ValueError, match="ends must have at most 4 rows; got 6"):
        drawn(**parts | {"ends": many})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": -0.1}, "threshold must be at least 0"),
        ({"accuracy": 1.2}, "accuracy"),
        ({"rounds": np.nan}, "rounds"),
    ],
)
def test_a_bad_frame_is_refused(change: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_threshold_path(frame().assign(**change))


@examples(4, 8, "paths")
def test_no_name_lies_on_a_line_a_point_or_another_name(paths: int) -> None:
    """The names of the first path keep clear of all paths, drawn steep and near to each other."""
    rng = np.random.default_rng(4)
    for seed in range(paths):
        rounds = np.sort(np.random.default_rng(seed).uniform(2, 10, 6))
        parts = []
        for k in range(3):
            accuracy = 0.55 + 0.25 * (rounds - 2) / 8 + rng.normal(0, 0.004, 6)
            thresholds = (0.2, 0.15, 0.1, 0.05, 0.02, 0.01)
            part = pd.DataFrame({"threshold": thresholds, "rounds": rounds, "accuracy": accuracy})
            parts.append(part.assign(group=f"patience {k}"))
        ax = plot_threshold_path(pd.concat(parts, ignore_index=True))
        ax.figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in ax.texts]
        assert len(boxes) >= 2
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
        ends = {ax.texts[0], ax.texts[-1]}
        for text, box in zip(ax.texts, boxes, strict=True):
            if text in ends:
                continue  # the ends are always named, in the best place there is
            for line in ax.lines:
                path = ax.transData.transform(np.column_stack([line.get_xdata(), line.get_ydata()]))
                at = np.concatenate(
                    [a + (b - a) * np.linspace(0, 1, 400)[:, None] for a, b in itertools.pairwise(path)]
                )
                assert not box.count_contains(at), text.get_text()


def test_a_policy_without_a_threshold_can_be_the_chosen_one() -> None:
    ends = pd.DataFrame(
        {"label": ["one", "two"], "rounds": [1.0, 4.0], "accuracy": [0.7, 0.72], "chosen": [False, True]}
    )
    ax = plot_threshold_path(frame(), ends=ends)
    (ring,) = [c for c in ax.collections if c.get_label() == "chosen"]
    assert ring.get_offsets().tolist() == [[4.0, 0.72]]
