"""The figure of estimates by stratum draws what its frame holds, and refuses what is unclear."""

from __future__ import annotations

import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from d3stats.plotting import ONE_COLUMN, intervals_drawn, plot_strata


def frame() -> pd.DataFrame:
    rows = [
        (f"a log with a long name, round {r}", quantity, value, value - 0.05, value + 0.04, beside)
        for r in (1, 2)
        for quantity, value, beside in (
            ("rationales that cite the debate", 0.1 * r, None),
            ("mean cosine within a debate", 0.5 + 0.1 * r, 0.15),
            ("disagreements with an axis", 0.3, 0.28),
        )
    ]
    table = pd.DataFrame(rows, columns=["stratum", "quantity", "value", "low", "high", "reference"])
    return table.assign(level=0.95, kind="over questions")


def strokes(ax: plt.Axes) -> list[float]:
    """Return where the lines across a row stand."""
    found = [c.get_offsets() for c in ax.collections if type(c).__name__ == "PathCollection"]
    return sorted(float(x) for offsets in found for x, _ in offsets)


def test_what_a_value_is_compared_with_is_a_line_in_its_row() -> None:
    ax = plot_strata(frame(), xlabel="share", reference="by chance")
    assert strokes(ax) == [0.15, 0.15, 0.28, 0.28]
    points = {line.get_label(): line for line in ax.lines}
    rows = {
        x: y
        for c in ax.collections
        if type(c).__name__ == "PathCollection"
        for x, y in c.get_offsets().tolist()
    }
    assert rows[0.28] == points["disagreements with an axis"].get_ydata()[-1]
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert said == [*frame()["quantity"].unique(), "by chance"]


def test_without_references_nothing_is_said_of_them() -> None:
    for table in (frame().drop(columns="reference"), frame().assign(reference=np.nan)):
        ax = plot_strata(table)
        assert strokes(ax) == []
        assert len(ax.get_legend().get_texts()) == 3


def test_a_figure_of_one_column_wraps_its_names_and_keeps_its_text_inside() -> None:
    ax = plot_strata(frame(), xlabel="share, or mean cosine", reference="across questions, by chance")
    fig = ax.figure
    fig.canvas.draw()
    assert fig.get_size_inches()[0] == pytest.approx(ONE_COLUMN)
    box = ax.get_tightbbox()
    assert box.x0 >= fig.bbox.x0 - 1
    assert box.x1 <= fig.bbox.x1 + 1
    assert box.y1 <= fig.bbox.y1 + 1
    assert ax.get_window_extent().width > 0.5 * fig.bbox.width
    names = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(names, 2))
    assert min(t.get_fontsize() for t in ax.findobj(mpl.text.Text) if t.get_text()) >= 6


def test_the_caption_names_the_kind_of_every_interval_that_is_drawn() -> None:
    one = frame()[frame()["quantity"] == "disagreements with an axis"].drop(columns=["quantity", "reference"])
    ends = {
        f"shrunken{end}": one["value"] + shift for end, shift in (("", 0.0), ("_low", -0.03), ("_high", 0.02))
    }
    both = one.assign(**ends, shrunken_kind="equal-tailed posterior", kind="cluster t", level=0.9)
    ax = plot_strata(both, xlabel="share")
    assert ax.get_xlabel() == "share"
    assert intervals_drawn(ax) == "raw bars: 90 % cluster t; shrunken bars: 90 % equal-tailed posterior"
    bare = both.assign(low=np.nan, high=np.nan, kind=None)
    assert intervals_drawn(plot_strata(bare)) == "shrunken bars: 90 % equal-tailed posterior"
    untold = intervals_drawn(plot_strata(both.drop(columns="shrunken_kind")))
    assert untold == "raw bars: 90 % cluster t; shrunken bars: 90 %"
    assert intervals_drawn(plot_strata(one)) == "bars: 95 % over questions"


@pytest.mark.parametrize("quantities", [2, 3, 5, 7])
def test_points_of_two_strata_are_further_apart_than_those_of_one(quantities: int) -> None:
    rows = [(s, f"q{k}", 0.1 * k, 0.0, 1.0) for s in ("one", "two") for k in range(quantities)]
    ax = plot_strata(pd.DataFrame(rows, columns=["stratum", "quantity", "value", "low", "high"]))
    rows_of = sorted(y for line in ax.lines if line.get_label().startswith("q") for y in line.get_ydata())
    steps = np.diff(rows_of)
    assert steps[quantities - 1] > 1.5 * np.delete(steps, quantities - 1).max()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": np.inf}, "value must be finite"),
        ({"reference": np.inf}, "reference must be finite or missing"),
        ({"low": 0.99}, "high must be >= low"),
        ({"high": np.nan}, "low and high must come together"),
        ({"stratum": "one"}, "one row per stratum and group"),
    ],
)
def test_what_is_unclear_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_strata(frame().assign(**change))


def test_what_is_no_frame_or_empty_is_refused() -> None:
    with pytest.raises(TypeError, match="frame must be a DataFrame; got list"):
        plot_strata([1, 2])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one row"):
        plot_strata(frame().iloc[:0])
