"""The figures draw what their frame says, where they are told to, and refuse unclear frames."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from layers import sampled
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

import d3stats.plotting as plotting
from d3stats.plotting import plot_counts_by_round, plot_ks_series, plot_stop_rounds, save, use_style


def counts_frame(rounds: int = 3, n: int = 7, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    parts = []
    for r in range(1, rounds + 1):
        observed, fitted = rng.dirichlet(np.ones(n + 1)), rng.dirichlet(np.ones(n + 1))
        parts.append(
            pd.DataFrame(
                {
                    "round": r,
                    "successes": range(n + 1),
                    "observed": observed,
                    "fitted": fitted,
                    "low": fitted * 0.8,
                    "high": np.minimum(fitted * 1.2, 1),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def ks_frame(scales: tuple[str, ...] = ("pmf", "latent")) -> pd.DataFrame:
    parts = [
        pd.DataFrame(
            {
                "round": [2, 3, 4],
                "scale": scale,
                "ks": [0.12, 0.04, 0.02],
                "noise": [0.07, 0.07, 0.06],
                "low": [0.08, 0.02, 0.01],
                "high": [0.17, 0.07, 0.05],
            }
        )
        for scale in scales
    ]
    return pd.concat(parts, ignore_index=True)


def stop_frame() -> pd.DataFrame:
    rows = [
        ("unanimity", 1, 0.58, "unanimous"),
        ("unanimity", 2, 0.17, "unanimous"),
        ("unanimity", 3, 0.05, "unanimous"),
        ("unanimity", 3, 0.20, "last_round"),
        ("KS < 0.05, twice", 3, 1.0, "last_round"),
    ]
    return pd.DataFrame(rows, columns=["rule", "round", "share", "reason"])


FIGURES: list[tuple[Callable[..., Any], Callable[[], pd.DataFrame]]] = [
    (plot_counts_by_round, counts_frame),
    (plot_ks_series, ks_frame),
    (plot_stop_rounds, stop_frame),
]
every_figure = pytest.mark.parametrize(("draw", "frame_of"), FIGURES, ids=lambda f: f.__name__)


# ---------------------------------------------------------------- counts by round


def test_counts_by_round_draws_the_logged_bars_and_the_fitted_dots_of_each_round() -> None:
    frame = counts_frame()
    axes = plot_counts_by_round(frame)
    assert [ax.get_title(loc="left") for ax in axes] == ["round 1", "round 2", "round 3"]
    for r, ax in enumerate(axes, start=1):
        rows = frame[frame["round"] == r]
        heights = [bar.get_height() for bar in ax.patches]
        np.testing.assert_allclose(heights, rows["observed"])
        x, y = ax.lines[0].get_data()
        np.testing.assert_allclose(x, rows["successes"])
        np.testing.assert_allclose(y, rows["fitted"])
        ends = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
        np.testing.assert_allclose(ends, rows[["low", "high"]])


def test_counts_by_round_shows_a_round_whatever_the_order_of_the_rows() -> None:
    frame = counts_frame()
    shuffled = frame.sample(frac=1, random_state=3)
    for a, b in zip(plot_counts_by_round(frame), plot_counts_by_round(shuffled), strict=True):
        np.testing.assert_allclose(a.lines[0].get_data(), b.lines[0].get_data())


def test_counts_by_round_draws_no_band_where_the_frame_gives_none() -> None:
    frame = counts_frame(rounds=1).assign(low=np.nan, high=np.nan)
    (ax,) = plot_counts_by_round(frame)
    assert len(ax.collections[0].get_segments()) == 0
    assert len(ax.patches) == 8


def test_counts_by_round_labels_the_lowest_panel_of_each_column_of_a_short_grid() -> None:
    axes = plot_counts_by_round(counts_frame(rounds=5), columns=3)
    assert [bool(ax.get_xlabel()) for ax in axes] == [False, False, True, True, True]
    assert [bool(ax.get_ylabel()) for ax in axes] == [True, False, False, True, False]


def test_the_legend_of_counts_by_round_stands_above_the_panels_and_hides_no_bar() -> None:
    axes = plot_counts_by_round(counts_frame())
    figure = axes[0].figure
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert {t.get_text() for t in legend.get_texts()} == {"observed", "fitted", "band"}
    assert not any(ax.get_legend() or legend.get_window_extent().overlaps(ax.bbox) for ax in axes)


def test_counts_by_round_in_a_figure_with_other_axes_puts_the_legend_on_the_first_panel_only() -> None:
    _, given = plt.subplots(1, 4, layout="constrained")
    axes = plot_counts_by_round(counts_frame(), axes=given[:3])
    assert [ax.get_legend() is not None for ax in axes] == [True, False, False]


def test_counts_by_round_draws_on_the_axes_given() -> None:
    _, given = plt.subplots(1, 3)
    before = plt.get_fignums()
    axes = plot_counts_by_round(counts_frame(), axes=given)
    assert list(axes) == list(given)
    assert plt.get_fignums() == before


def test_counts_by_round_refuses_another_number_of_axes_than_rounds() -> None:
    _, given = plt.subplots(1, 2)
    with pytest.raises(ValueError, match=r"axes must be one per round \(3\); got 2"):
        plot_counts_by_round(counts_frame(), axes=given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observed": -0.1}, "observed must lie between 0 and 1; got observed=-0.1 at row 0"),
        ({"fitted": 1.5}, "fitted must lie between 0 and 1; got fitted=1.5 at row 0"),
        ({"observed": np.nan}, "observed must be finite numbers; got observed=.*nan.* at row 0"),
        ({"low": 0.5, "high": 0.4}, "high must be >= low; got low=0.5, high=0.4 in round 1"),
        ({"high": "high"}, "high must be finite or missing; got high='high' at row 0"),
        ({"round": 1.5}, "round must be whole numbers; got round=1.5 at row 0"),
    ],
)
def test_counts_by_round_refuses_what_is_no_share(change: dict[str, Any], message: str) -> None:
    frame = counts_frame().astype(object)
    for name, value in change.items():
        frame.loc[0, name] = value
    with pytest.raises(ValueError, match=message):
        plot_counts_by_round(frame)


def test_counts_by_round_refuses_a_count_given_twice() -> None:
    frame = counts_frame()
    with pytest.raises(ValueError, match="one row per round and successes; got round=2, successes=3 twice"):
        plot_counts_by_round(pd.concat([frame, frame.iloc[[11]]]))


def test_counts_by_round_refuses_no_columns() -> None:
    with pytest.raises(ValueError, match="columns must be >= 1; got columns=0"):
        plot_counts_by_round(counts_frame(), columns=0)


# ---------------------------------------------------------------- KS series


def test_ks_series_draws_each_scale_its_band_its_noise_and_the_threshold() -> None:
    ax = plot_ks_series(ks_frame(), threshold=0.1)
    labels = {line.get_label(): line for line in ax.lines}
    np.testing.assert_allclose(labels["counts"].get_ydata(), [0.12, 0.04, 0.02])
    np.testing.assert_allclose(labels["latent mixture"].get_ydata(), [0.12, 0.04, 0.02])
    np.testing.assert_allclose(labels["threshold 0.1"].get_ydata(), 0.1)
    noise = [c for c in ax.collections if c.get_label() == "noise level"]
    assert [segment[0, 1] for segment in noise[0].get_segments()] == [0.07, 0.07, 0.06]
    assert list(ax.get_xticks()) == [2, 3, 4]


def test_ks_series_of_one_scale_stands_on_its_rounds() -> None:
    ax = plot_ks_series(ks_frame(("pmf",)))
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [2, 3, 4])


def test_ks_series_without_noise_or_band_draws_the_distances_alone() -> None:
    frame = ks_frame(("pmf",)).assign(noise=None, low=None, high=None)
    ax = plot_ks_series(frame)
    assert sum(len(c.get_segments()) for c in ax.collections) == 0
    assert "noise level" not in {t.get_text() for t in ax.get_legend().get_texts()}


def test_ks_series_draws_an_upper_bound_alone_from_the_distance_up() -> None:
    ax = plot_ks_series(ks_frame(("pmf",)).assign(low=None, noise=None))
    ends = [segment[:, 1].tolist() for c in ax.collections for segment in c.get_segments()]
    assert ends == [[0.12, 0.17], [0.04, 0.07], [0.02, 0.05]]


def test_ks_series_keeps_its_whole_band_inside_the_picture() -> None:
    frame = ks_frame(("pmf",)).assign(high=[0.9, 0.1, 0.1])
    assert plot_ks_series(frame).get_ylim()[1] > 0.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale": "log"}, "scale must be one of 'pmf', 'latent'; got scale='log'"),
        ({"ks": 1.2}, "ks must lie between 0 and 1; got ks=1.2 at row 0"),
        ({"noise": np.inf}, "noise must be finite or missing; got noise=inf at row 0"),
        ({"low": 0.3}, "high must be >= low; got low=0.3, high=0.17 in round 2"),
    ],
)
def test_ks_series_refuses_what_is_no_distance(change: dict[str, Any], message: str) -> None:
    frame = ks_frame()
    for name, value in change.items():
        frame.loc[0, name] = value
    with pytest.raises(ValueError, match=message):
        plot_ks_series(frame)


def test_ks_series_refuses_a_threshold_that_is_no_distance() -> None:
    with pytest.raises(ValueError, match=r"threshold must lie between 0 and 1; got threshold=5"):
        plot_ks_series(ks_frame(), threshold=5)


# ---------------------------------------------------------------- stop rounds


def test_stop_rounds_draws_one_full_bar_per_rule_cut_at_the_shares() -> None:
    ax = plot_stop_rounds(stop_frame())
    assert [t.get_text() for t in ax.get_yticklabels()] == ["unanimity", "KS < 0.05, twice"]
    first = [bar for bar in ax.patches if round(bar.get_y() + bar.get_height() / 2) == 0]
    np.testing.assert_allclose([bar.get_width() for bar in first], [0.58, 0.17, 0.05, 0.20])
    np.testing.assert_allclose([bar.get_x() for bar in first], [0, 0.58, 0.75, 0.80])


def test_stop_rounds_gives_a_round_one_colour_and_a_reason_one_hatch() -> None:
    ax = plot_stop_rounds(stop_frame())
    colours = [to_hex(bar.get_facecolor()) for bar in ax.patches]
    assert colours[2] == colours[3] == colours[4]
    assert len(set(colours[:3])) == 3
    hatches = [bar.get_hatch() or "" for bar in ax.patches]
    assert hatches[:3] == ["", "", ""]
    assert hatches[3] == hatches[4] != ""


def test_stop_rounds_writes_the_round_where_there_is_room_for_it() -> None:
    ax = plot_stop_rounds(stop_frame())
    assert [t.get_text() for t in ax.texts] == ["1", "2", "3", "3"]


def test_stop_rounds_breaks_a_long_name_so_that_its_bar_keeps_room() -> None:
    frame = stop_frame().replace({"rule": {"unanimity": "unanimity, or two rounds without a change"}})
    ax = plot_stop_rounds(frame)
    ax.figure.canvas.draw()
    assert ax.get_position().width > 0.5


def test_stop_rounds_names_the_reasons_in_words() -> None:
    legend = plot_stop_rounds(stop_frame()).get_legend()
    assert [t.get_text() for t in legend.get_texts()] == ["unanimous", "last round"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"share": 0.5}, r"share must add up to 1 within a rule; got 0\.92 for rule 'unanimity'"),
        ({"share": -0.1}, r"share must be >= 0; got share=-0\.1 at row 0"),
        ({"round": np.inf}, "round must be"),
    ],
)
def test_stop_rounds_refuses_shares_that_are_no_distribution(change: dict[str, Any], message: str) -> None:
    frame = stop_frame().astype({"round": float})
    for name, value in change.items():
        frame.loc[0, name] = value
    with pytest.raises(ValueError, match=message):
        plot_stop_rounds(frame)


def test_debates_whose_stop_round_is_unknown_are_drawn_with_a_question_mark() -> None:
    frame = pd.DataFrame(
        {"rule": "full", "round": [3, None], "share": [0.4, 0.6], "reason": ["exhausted", "log_ended"]}
    )
    ax = plot_stop_rounds(frame)
    assert [text.get_text() for text in ax.texts] == ["3", "?"]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([0.4, 0.6])


# ---------------------------------------------------------------- every figure


@every_figure
def test_an_absent_column_is_named(draw: Callable[..., Any], frame_of: Callable[[], pd.DataFrame]) -> None:
    frame = frame_of()
    for name in frame.columns:
        with pytest.raises(ValueError, match=rf"frame must have the columns .*without \['{name}'\]"):
            draw(frame.drop(columns=name))


@every_figure
def test_a_frame_without_rows_is_refused(
    draw: Callable[..., Any], frame_of: Callable[[], pd.DataFrame]
) -> None:
    with pytest.raises(ValueError, match="frame must have at least one row; got none"):
        draw(frame_of().iloc[:0])


@every_figure
def test_what_is_no_frame_is_refused(draw: Callable[..., Any], frame_of: Callable[[], pd.DataFrame]) -> None:
    with pytest.raises(TypeError, match="frame must be a DataFrame; got list"):
        draw([1, 2])


@every_figure
def test_a_frame_is_left_as_it_was(draw: Callable[..., Any], frame_of: Callable[[], pd.DataFrame]) -> None:
    frame = frame_of()
    before = frame.copy(deep=True)
    draw(frame)
    pd.testing.assert_frame_equal(frame, before)


@every_figure
def test_a_figure_takes_no_stray_arguments(
    draw: Callable[..., Any], frame_of: Callable[[], pd.DataFrame]
) -> None:
    kinds = {p.kind for p in inspect.signature(draw).parameters.values()}
    assert not kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


@pytest.mark.parametrize(("draw", "frame_of"), FIGURES[1:], ids=lambda f: f.__name__)
def test_a_figure_is_drawn_on_the_axes_given(
    draw: Callable[..., Axes], frame_of: Callable[[], pd.DataFrame]
) -> None:
    _, ax = plt.subplots()
    before = plt.get_fignums()
    assert draw(frame_of(), ax=ax) is ax
    assert plt.get_fignums() == before


@every_figure
def test_a_figure_at_one_column_keeps_its_text_inside_and_apart(
    draw: Callable[..., Any], frame_of: Callable[[], pd.DataFrame]
) -> None:
    axes = np.atleast_1d(draw(frame_of(), columns=2) if draw is plot_counts_by_round else draw(frame_of()))
    fig = axes[0].figure
    fig.canvas.draw()
    assert fig.get_size_inches()[0] == pytest.approx(plotting.ONE_COLUMN)
    page = fig.bbox
    for ax in axes:
        box = ax.get_tightbbox()
        assert box.x0 >= page.x0 - 1
        assert box.x1 <= page.x1 + 1
        assert box.y0 >= page.y0 - 1
        assert box.y1 <= page.y1 + 1
        labels = [t.get_window_extent() for t in ax.get_xticklabels() if t.get_text()]
        assert all(a.x1 <= b.x0 for a, b in itertools.pairwise(labels))
        sizes = [t.get_fontsize() for t in ax.findobj(mpl.text.Text) if t.get_text()]
        assert min(sizes) >= 7


@sampled("draw, frame_of", FIGURES, (1,), ids=lambda f: f.__name__)
def test_saving_twice_writes_the_same_bytes_as_pdf_and_png(
    draw: Callable[..., Any], frame_of: Callable[[], pd.DataFrame], tmp_path: Path
) -> None:
    written = []
    for folder in ("a", "b"):
        fig = np.atleast_1d(draw(frame_of()))[0].figure
        pdf, png = save(fig, tmp_path / folder / "figure")
        written.append((pdf.read_bytes(), png.read_bytes()))
    assert written[0] == written[1]
    assert written[0][0].startswith(b"%PDF")
    assert written[0][1].startswith(b"\x89PNG")


def test_a_pdf_embeds_its_fonts_as_outlines(tmp_path: Path) -> None:
    pdf, _ = save(plot_ks_series(ks_frame()).figure, tmp_path / "figure")
    text = pdf.read_bytes()
    assert b"/FontFile2" in text
    assert b"/Type3" not in text


@pytest.mark.parametrize("name", ["figure", "figure.pdf", "figure.PNG"])
def test_a_path_is_taken_with_and_without_a_suffix(name: str, tmp_path: Path) -> None:
    assert [made.name for made in save(plt.figure(), tmp_path / name)] == ["figure.pdf", "figure.png"]


def test_a_place_where_no_figure_can_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in .pdf, .png or nothing; got '.*figure.svg'"):
        save(plt.figure(), tmp_path / "figure.svg")
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="the folder of a figure must be writable"):
        save(plt.figure(), tmp_path / "file" / "figure")


def test_a_figure_in_larger_letters_has_room_for_them() -> None:
    frame = pd.DataFrame(
        {
            "rule": ["ks:0.05,patience=1"] * 2,
            "round": [1, 3],
            "share": [0.7, 0.3],
            "reason": ["ks stable", "exhausted"],
        }
    )
    with plt.rc_context(mpl.rcParamsDefault | {"backend": "agg"}):
        ax = plot_stop_rounds(frame)
        ax.figure.draw_without_rendering()
        width, height = ax.get_window_extent().size / ax.figure.bbox.size
    assert width > 0.4
    assert height > 0.3


def test_a_dot_in_the_name_is_kept(tmp_path: Path) -> None:
    pdf, png = save(plt.figure(), tmp_path / "p0.05")
    assert (pdf.name, png.name) == ("p0.05.pdf", "p0.05.png")


def test_the_style_leaves_the_settings_as_they_were() -> None:
    with mpl.rc_context({"font.size": 13}):
        with use_style():
            assert mpl.rcParams["font.size"] == 8
        assert mpl.rcParams["font.size"] == 13


def test_the_first_colours_stay_apart_under_red_green_blindness() -> None:
    """Vienot, Brettel and Mollon (1999) matrices in linear RGB."""
    deutan = np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]])
    protan = np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]])
    cycle = [mpl.colors.to_rgb(c) for c in mpl.rcParams["axes.prop_cycle"].by_key()["color"]]
    linear = np.array(cycle) ** 2.2
    for matrix in (np.eye(3), deutan, protan):
        seen = np.clip(linear @ matrix.T, 0, 1) ** (1 / 2.2)
        apart = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen[:3], 2)]
        assert min(apart) > 0.3
