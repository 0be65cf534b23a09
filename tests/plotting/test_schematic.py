"""The figure of a protocol: a line per agent, a mark per turn, an arrow per reading."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from layers import sampled
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch

from d3stats.plotting import ONE_COLUMN, TWO_COLUMNS, plot_schematic, save
from d3stats.protocols import protocols, schematic

ORDERS = [
    f"chateval:communication={how}" for how in ("one_by_one", "simultaneous", "simultaneous_with_summarizer")
]
EVERY = [*sorted(protocols()), *ORDERS[1:], "samre:poll=every_round", "more:advocates=2,jurors=0"]


def arrows(ax: Axes) -> list[FancyArrowPatch]:
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def names(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def small() -> tuple[pd.DataFrame, pd.DataFrame]:
    turns = pd.DataFrame(
        {
            "turn": [1, 2, 3],
            "stage": [1, 1, 2],
            "round": 1,
            "closing": False,
            "agent": ["one", "two", "judge"],
            "role": ["debater", "debater", "judge"],
            "gives": ["text", "text", "vote"],
            "decides": ["", "", "verdict"],
        }
    )
    return turns, pd.DataFrame({"turn": [3, 3], "reads": [1, 2]})


@pytest.mark.parametrize("text", ORDERS)
def test_there_is_an_arrow_for_each_reading_and_for_each_who_decides(text: str) -> None:
    found = schematic(text)
    assert len(arrows(found.plot())) == len(found.readings) + (found.turns["decides"] == "verdict").sum()


def test_an_arrow_runs_from_what_is_read_to_its_reader() -> None:
    ax = plot_schematic(*small())
    ends = [tuple(map(tuple, patch._posA_posB)) for patch in arrows(ax)]  # type: ignore[attr-defined]
    assert ends[:2] == [((1.0, 0), (2.0, 2)), ((1.0, 1), (2.0, 2))]
    # The judge's vote is the verdict, one column on.
    assert ends[2] == ((2.0, 2), (3.0, 2.0))
    assert names(ax) == ["one", "two", "judge"]


def test_who_does_the_same_and_does_not_talk_shares_a_line_from_four_on() -> None:
    assert names(schematic("samre").plot()) == ["advocate A", "advocate B", "judge", "juror 1 to 5"]
    assert names(schematic("samre:jurors=3").plot())[-3:] == ["juror 1", "juror 2", "juror 3"]
    assert names(schematic("peer_rank").plot()) == ["reviewer 1 to 5, A first", "reviewer 1 to 5, B first"]
    assert names(schematic("more_advocates:advocates=4").plot())[0] == "advocate A 1 to 4"
    # Panelists that read each other are drawn apart, so that it is seen.
    assert len(names(schematic("stability").plot())) == 7


def test_where_all_read_all_one_arrow_says_so() -> None:
    ax = schematic("stability").plot()
    # 49 readings as one arrow, and seven votes that decide.
    assert len(arrows(ax)) == 8
    assert [text.get_text() for text in ax.texts].count("all read all") == 1
    turns = pd.DataFrame({"turn": range(8), "stage": [1] * 4 + [2] * 4, "round": [1] * 4 + [2] * 4})
    turns = turns.assign(closing=False, agent=list("abcd") * 2, role="panelist", gives="vote", decides="")
    pairs = [(reader, read) for reader in range(4, 8) for read in range(4)]
    for left_out in (0, 1):
        ax = plot_schematic(turns, pd.DataFrame(pairs[left_out:], columns=["turn", "reads"]))
        assert len(arrows(ax)) == (15 if left_out else 1)


def test_a_message_that_is_read_again_is_pale() -> None:
    ax = schematic("chateval").plot()
    pale = [patch for patch in arrows(ax) if mpl.colors.to_hex(patch.get_edgecolor()) == "#b8b8b8"]
    # Referee 2 has read referee 1 in round 1, and referee 3 both others.
    assert len(pale) == 3
    labels = [text.get_text() for text in ax.figure.legends[0].get_texts()]
    assert labels == ["scores", "is read by", "is read again", "verdict"]


def test_a_tie_break_is_dashed() -> None:
    dashed = [
        patch for patch in arrows(schematic("samre").plot()) if patch.get_linestyle() not in ("-", "solid")
    ]
    assert len(dashed) == 2


def test_rounds_and_what_follows_them_are_named() -> None:
    texts = [text.get_text() for text in schematic("samre", rounds=3).plot().texts]
    assert texts == ["round 1", "round 2", "round 3", "end"]


def test_a_title_says_how_many_rounds_are_left_out() -> None:
    assert schematic("samre").plot().figure.get_suptitle() == "samre (2 of at most 5 rounds)"
    assert schematic("more").plot().figure.get_suptitle() == "more"


@sampled("text", EVERY, slice(0, None, 5))
def test_text_stays_inside_of_one_column_and_apart_and_no_arrow_runs_over_a_mark(text: str) -> None:
    ax = schematic(text).plot()
    fig = ax.figure
    fig.canvas.draw()
    assert fig.get_size_inches()[0] == pytest.approx(ONE_COLUMN)
    page = fig.bbox
    for box in (ax.get_tightbbox(), fig.legends[0].get_window_extent()):
        assert box.x0 >= page.x0 - 1
        assert box.x1 <= page.x1 + 1
        assert box.y0 >= page.y0 - 1
        assert box.y1 <= page.y1 + 1
    rounds = [note.get_window_extent() for note in ax.texts if note.get_text() != "all read all"]
    assert all(a.x1 <= b.x0 for a, b in itertools.pairwise(rounds))
    labels = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert all(a.y0 >= b.y1 - 1 for a, b in itertools.pairwise(labels))
    assert min(text.get_fontsize() for text in fig.findobj(mpl.text.Text) if text.get_text()) >= 7
    drawn = (zip(*line.get_data(), strict=True) for line in ax.lines if line.get_linestyle() == "None")
    marks = {(float(x), float(y)) for points in drawn for x, y in points}
    for patch in arrows(ax):
        ends = [tuple(end) for end in patch._posA_posB]  # type: ignore[attr-defined]
        (line, *_), _ = patch._get_path_in_displaycoord()  # type: ignore[attr-defined]
        others = [mark for mark in marks if mark not in ends]
        if others:
            apart = line.interpolated(40).vertices[:, None] - ax.transData.transform(others)[None]
            assert np.linalg.norm(apart, axis=2).min() > 1.5 * fig.dpi / 72, ends


def test_it_is_drawn_on_the_axes_given_with_a_legend_of_its_own() -> None:
    _, axes = plt.subplots(1, 2, figsize=(TWO_COLUMNS, 2.5))
    before = plt.get_fignums()
    assert plot_schematic(*small(), title="three", ax=axes[0]) is axes[0]
    assert axes[0].get_legend() is not None
    assert axes[0].get_title(loc="left") == "three"
    assert plt.get_fignums() == before


def test_frames_are_left_as_they_were_and_their_order_does_not_matter(tmp_path: Path) -> None:
    found = schematic("samre")
    before = found.turns.copy(), found.readings.copy()
    files = [save(plot_schematic(found.turns, found.readings).figure, tmp_path / "a")]
    mixed = (frame.sample(frac=1, random_state=1) for frame in before)
    files.append(save(plot_schematic(*mixed).figure, tmp_path / "b"))
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]
    pd.testing.assert_frame_equal(found.turns, before[0])
    pd.testing.assert_frame_equal(found.readings, before[1])


@pytest.mark.parametrize(
    ("which", "change", "message"),
    [
        ("turns", {"turn": [1, 1, 3]}, "one row per turn; got turn=1 twice"),
        (
            "turns",
            {"gives": ["text", "text", "a nod"]},
            "gives must be one of 'text', .*; got gives='a nod' at row 2",
        ),
        (
            "turns",
            {"decides": ["", "", "yes"]},
            "decides must be one of 'verdict', 'fallback', ''; got decides='yes'",
        ),
        ("turns", {"round": [1, 1, 1.5]}, "round must be whole numbers"),
        (
            "readings",
            {"reads": [1, 3]},
            "a reading must be of a turn of an earlier stage.*got turn=3, reads=3 at row 1",
        ),
        (
            "readings",
            {"reads": [1, 9]},
            "a reading must be of a turn of an earlier stage.*got turn=3, reads=9 at row 1",
        ),
        (
            "readings",
            {"turn": [3, 1]},
            "a reading must be of a turn of an earlier stage.*got turn=1, reads=2",
        ),
    ],
)
def test_frames_that_cannot_be_are_refused(which: str, change: dict[str, Any], message: str) -> None:
    frames = dict(zip(("turns", "readings"), small(), strict=True))
    frames[which] = frames[which].assign(**change)
    with pytest.raises(ValueError, match=message):
        plot_schematic(**frames)


def test_an_absent_column_is_named() -> None:
    turns, readings = small()
    for name in turns.columns:
        with pytest.raises(ValueError, match=re.escape(f"without ['{name}']")):
            plot_schematic(turns.drop(columns=name), readings)
    with pytest.raises(ValueError, match=re.escape("without ['reads']")):
        plot_schematic(turns, readings.drop(columns="reads"))
