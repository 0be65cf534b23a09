"""Figures of intervals: forests of differences and kappas, coverage, drift, position bias, juries."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import number, probability
from d3stats.plotting.style import (
    BLUE,
    GREEN,
    ONE_COLUMN,
    VERMILLION,
    Look,
    check_frame,
    column,
    draw_points,
    groups,
    legend_above,
    legend_below,
    one_axes,
    refuse,
    tell_intervals,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "plot_agreement",
    "plot_forest",
    "plot_interval_coverage",
    "plot_jury_curve",
    "plot_martingale_drift",
    "plot_position_bias",
    "plot_ranking",
    "plot_reliability",
    "plot_series",
    "plot_strata",
]

_ROW, _LINE, _EDGE = 0.24, 0.1, 0.75
"""Inches of a row, of another line of its label, and of what is above and below all rows."""
_KAPPA_ROW = 0.19
_WIDE, _LETTERS = 4.5, 22
"""The width in inches from which numbers fit, and the length of a label's line below that."""
_SPREAD, _COVERAGE_SPREAD, _STRATUM_SPREAD = 0.06, 0.5, 0.24
"""The distances of the markers of one start, one method and one stratum."""


def plot_forest(
    frame: pd.DataFrame,
    *,
    margin: float | None = None,
    xlabel: str = "difference",
    numbers: bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one row per difference: a point, its interval, a line at zero, and the margin as a band.

    A row without an interval is an open marker. No p-value is drawn, because the interval shows the result.

    Parameters
    ----------
    frame : DataFrame
        One row per difference, drawn from top to bottom, with ``label``, ``difference``, ``low, high`` (its
        interval; missing where there is none) and, optionally, ``group`` (shown by colour and marker; at most
        7), ``level, kind`` (of the intervals, for the caption).
    margin : float, optional
        Half the width of the band about zero in which a difference does not matter; above 0.
    xlabel : str
        What the differences are, with their units.
    numbers : bool, optional
        Whether to write each difference and its interval at the right; by default where the figure is wide enough
        (4.5 inches). Labels of a narrower figure are wrapped.
    ax : Axes, optional
        Where to draw; by default a new figure of one column, as high as the rows need.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a difference is not finite, one limit is given without the other, or the
        limits are in the wrong order.

    Examples
    --------
    >>> frame = pd.DataFrame({"label": ["B - A", "C - A"], "difference": [0.02, -0.01],
    ...                       "low": [-0.01, None], "high": [0.05, None]})
    >>> ax = plot_forest(frame, margin=0.03, xlabel="accuracy gained")
    >>> [tick.get_text() for tick in ax.get_yticklabels()], ax.get_xlabel()
    (['B - A', 'C - A'], 'accuracy gained')
    """
    checked = _check_rows(frame, "label", "difference")
    narrow = _is_narrow(ax)
    labels = [textwrap.fill(label, _LETTERS) if narrow else label for label in checked["label"].astype(str)]
    lines = sum(label.count("\n") for label in labels)
    ax = one_axes(ax, width=ONE_COLUMN, height=_EDGE + _ROW * len(labels) + _LINE * lines)
    reach = [0.0]
    if margin is not None:
        margin = number("margin", margin)
        if margin <= 0:
            raise ValueError(f"margin must be > 0; got margin={margin!r}")
        ax.axvspan(-margin, margin, color="0.9", linewidth=0, zorder=0, label=f"margin ±{margin:g}")
        reach += [-margin, margin]
    ax.axvline(0.0, color="0.35", linewidth=0.8, zorder=1)
    _draw_rows(ax, checked, "difference", labels, xlabel)
    ends = np.append(checked[["difference", "low", "high"]].to_numpy(), reach)
    least, most = float(np.nanmin(ends)), float(np.nanmax(ends))
    span = max(most - least, 1e-3)
    ax.set_xlim(least - 0.06 * span, most + 0.06 * span)
    if numbers or (numbers is None and not narrow):
        _write(ax, *(column(checked[name]) for name in ("difference", "low", "high")))
    entries = len(groups(checked)) + (margin is not None)
    if entries > 1:
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(3, entries))
    return ax


def plot_agreement(frame: pd.DataFrame, *, ax: Axes | None = None, label: str = "") -> Axes:
    """Draw a forest of coefficients: a point and an interval per row, first row on top.

    The broken line is what chance alone gives; 1 is perfect agreement. A hollow point has no interval.

    Parameters
    ----------
    frame : DataFrame
        One row per coefficient with ``name``, ``value`` (at most 1), ``low, high`` (missing where there is no
        interval) and, optionally, ``group`` (shown by colour and marker; at most 7), ``level,
        kind`` (of the intervals, for the caption).
    ax : Axes, optional
        Where to draw; by default a new figure of one column, as tall as its rows need.
    label : str
        What the axis is called; by default "kappa".

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a value is not finite or above 1, one limit is missing alone, or an interval is
        upside down.

    Examples
    --------
    >>> rows = [("x and y", 0.6, 0.5, 0.7), ("x and z", 0.4, None, None)]
    >>> frame = pd.DataFrame(rows, columns=["name", "value", "low", "high"])
    >>> plot_agreement(frame).get_xlabel()
    'kappa'
    """
    checked = _check_rows(frame, "name", "value")
    refuse("value must be <= 1", column(checked["value"]) > 1, checked, "value")
    ax = one_axes(ax, width=ONE_COLUMN, height=0.7 + _KAPPA_ROW * len(checked))
    ax.axvline(0.0, color="0.45", linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    _draw_rows(ax, checked, "value", checked["name"].astype(str).tolist(), label or "kappa")
    ax.set_xlim(min(-0.05, float(np.nanmin(checked[["value", "low"]].to_numpy())) - 0.05), 1.05)
    if "group" in checked:
        ax.legend(loc="best", fontsize="small")
    return ax


def _is_narrow(ax: Axes | None) -> bool:
    """Whether the labels of rows are wrapped: where the figure is, or will be, of one column."""
    return ax is None or ax.figure.get_figure(root=True).get_figwidth() < _WIDE


def _check_rows(frame: pd.DataFrame, name: str, value: str) -> pd.DataFrame:
    checked = check_frame(frame, (name, value, "low", "high"), (value,), ("low", "high"))
    alone = (checked["low"].isna() != checked["high"].isna()).to_numpy()
    refuse("low and high must come together", alone, checked, "low", "high")
    return checked


def _draw_rows(ax: Axes, checked: pd.DataFrame, value: str, labels: list[str], xlabel: str) -> None:
    """Draw the rows of a forest from the top: points with intervals, open ones without, one colour per group."""
    rows = np.arange(len(checked), dtype=np.float64)
    at, low, high = (column(checked[name]) for name in (value, "low", "high"))
    sure = ~np.isnan(low)
    for name, here, colour, marker in groups(checked):
        some, alone = here & sure, here & ~sure
        ax.hlines(rows[some], low[some], high[some], color=colour, linewidth=1.1, zorder=2)
        style: Look = {
            "color": colour,
            "marker": marker,
            "linestyle": "none",
            "markersize": 4.2,
            "zorder": 3,
        }
        ax.plot(at[some], rows[some], label=name if some.any() else None, **style)
        if alone.any():
            label = None if some.any() else name
            ax.plot(at[alone], rows[alone], label=label, **(style | {"markerfacecolor": "white"}))
    ax.set_yticks(rows, labels)
    ax.set_ylim(len(rows) - 0.45, -0.55)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(xlabel)
    tell_intervals(ax, checked, sure)


def _write(ax: Axes, value: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
    """Write the numbers at the right edge, in digits that the widest interval deserves."""
    widths = (high - low)[~np.isnan(low)]
    size = float(np.median(widths)) if len(widths) else float(np.abs(value).max())
    digits = int(np.clip(1 - np.floor(np.log10(size)), 0, 4)) if size > 0 else 3
    place: Look = {"xycoords": ax.get_yaxis_transform(), "va": "center", "fontsize": "small"}
    for row, (x, down, up) in enumerate(zip(value, low, high, strict=True)):
        limits = "" if np.isnan(down) else f" [{down:+.{digits}f}, {up:+.{digits}f}]"
        text = f"{x:+.{digits}f}{limits}".replace("-", "−")
        ax.annotate(text, (1.02, row), annotation_clip=False, **place)


def strata_height(strata: int, drawn: int) -> float:
    """Return the inches that :func:`plot_strata` needs for strata with so many points each."""
    return _EDGE + (0.12 + 0.1 * drawn) * strata + 0.12 * drawn


def plot_strata(
    frame: pd.DataFrame,
    *,
    xlabel: str = "estimate",
    zero: bool | None = None,
    reference: str = "reference",
    ax: Axes | None = None,
) -> Axes:
    """Draw estimates by stratum: of one quantity raw and shrunken side by side, of several one colour each.

    A point without an interval is open. With several quantities (the runs' accuracies, say) the form is that of D3,
    figure 2.

    Parameters
    ----------
    frame : DataFrame
        One row per quantity and stratum, strata from top to bottom in the order of first appearance, with ``stratum``,
        ``value``, ``low, high`` (missing where there is no interval) and, optionally, ``quantity`` (at most 7),
        ``n_clusters`` (questions, written beside the stratum), ``shrunken, shrunken_low, shrunken_high`` (drawn of a
        single quantity), ``reference`` (what a value is to be compared with, such as its value by chance, drawn as a
        line across its row; missing where there is none), ``level``, ``kind`` (of the raw intervals) and
        ``shrunken_kind``, for the caption.
    xlabel : str
        What is estimated, with its units. Long texts are wrapped.
    zero : bool, optional
        Whether to draw a line at zero; by default where the values and intervals hold it.
    reference : str
        What the column of that name holds, in the words of the legend.
    ax : Axes, optional
        Where to draw; by default a new figure of one column, as high as the rows need.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a value is not finite, a quantity has a stratum twice, or limits are in the wrong
        order.

    Examples
    --------
    >>> frame = pd.DataFrame({"stratum": ["coding", "ethics"], "value": [0.1, 0.3], "low": [0.0, 0.1],
    ...     "high": [0.2, 0.5], "shrunken": [0.15, 0.25], "shrunken_low": [0.05, 0.1], "shrunken_high": [0.25, 0.4]})
    >>> ax = plot_strata(frame, xlabel="accuracy gained")
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['raw', 'shrunken']
    >>> kinds = {"level": 0.95, "kind": "cluster t", "shrunken_kind": "equal-tailed posterior"}
    >>> plot_strata(frame.assign(**kinds), xlabel="accuracy gained").get_label()
    'raw bars: 95 % cluster t; shrunken bars: 95 % equal-tailed posterior'
    """
    given = frame
    if isinstance(frame, pd.DataFrame):
        given = frame.assign(group=frame.get("quantity", ""))
    compared = ["reference"] if "reference" in getattr(frame, "columns", ()) else []
    checked = check_frame(
        given,
        ("stratum", "group", "value", "low", "high", *compared),
        ("value",),
        ("low", "high", *compared),
        once=("stratum", "group"),
    )
    checked["reference"] = checked.get("reference", np.nan)
    refuse(
        "low and high must come together",
        (checked["low"].isna() != checked["high"].isna()).to_numpy(),
        checked,
        "low",
        "high",
    )
    strata = list(dict.fromkeys(checked["stratum"].astype(str)))
    if len(set(checked["group"])) == 1:
        checked["group"] = "raw"
        if "shrunken" in frame and frame["shrunken"].notna().any():
            names = {"shrunken": "value", "shrunken_low": "low", "shrunken_high": "high"}
            shrunken = pd.DataFrame(
                {to: frame[name].to_numpy(dtype=float, na_value=np.nan) for name, to in names.items()}
            )
            shrunken = shrunken.assign(stratum=checked["stratum"], group="shrunken")
            for name, given_as in (("level", "level"), ("kind", "shrunken_kind")):
                if name in checked:
                    shrunken[name] = frame[given_as].to_numpy() if given_as in frame else None
            checked = pd.concat([checked, shrunken[shrunken["value"].notna()]], ignore_index=True)
    drawn = groups(checked)
    narrow = _is_narrow(ax)
    ax = one_axes(ax, width=ONE_COLUMN, height=strata_height(len(strata), len(drawn)))
    place = {name: row for row, name in enumerate(strata)}
    # Between strata there is more space than between the points of one.
    apart = min(_STRATUM_SPREAD, 0.72 / len(drawn))
    rows = np.array([place[str(name)] for name in checked["stratum"]], dtype=np.float64)
    for k, (name, here, colour, marker) in enumerate(drawn):
        at, low, high = (column(checked[part])[here] for part in ("value", "low", "high"))
        y, sure = rows[here] + apart * (k - (len(drawn) - 1) / 2), ~np.isnan(low)
        ax.hlines(y[sure], low[sure], high[sure], color=colour, linewidth=1.1, zorder=2)
        style: Look = {"color": colour, "marker": marker, "linestyle": "none", "markersize": 4.2, "zorder": 3}
        ax.plot(at[sure], y[sure], label=name, **style)
        ax.plot(at[~sure], y[~sure], label="_nolegend_", **(style | {"markerfacecolor": "white"}))
        beside = column(checked["reference"])[here]
        known = ~np.isnan(beside)
        ax.scatter(beside[known], y[known], marker="|", s=40, linewidth=1.0, color="0.15", zorder=4)
    if checked["reference"].notna().any():
        ax.scatter([], [], marker="|", s=40, linewidth=1.0, color="0.15", label=reference)
    ends = checked[["value", "low", "high", "reference"]].to_numpy(dtype=float)
    if zero or (zero is None and np.nanmin(ends) <= 0 <= np.nanmax(ends)):
        ax.axvline(0.0, color="0.35", linewidth=0.8, zorder=1)
    sizes = (
        dict(zip(frame["stratum"].astype(str), frame["n_clusters"], strict=True))
        if "n_clusters" in frame
        else {}
    )
    told = [name if pd.isna(sizes.get(name)) else f"{name} ({int(sizes[name])})" for name in strata]
    ax.set_yticks(
        np.arange(len(strata)), [textwrap.fill(name, _LETTERS) if narrow else name for name in told]
    )
    ax.set_ylim(len(strata) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    barred = checked["low"].notna().to_numpy()
    ax.set_xlabel(textwrap.fill(xlabel, 2 * _LETTERS))
    if (checked["group"] == "shrunken").any():
        for name, here, _, _ in drawn:
            tell_intervals(ax, checked[here], barred[here], what=f"{name} bars")
    else:
        tell_intervals(ax, checked, barred)
    if len(drawn) > 1 or compared:
        if compared and narrow:
            # Long names need the space above the labels of the rows, too.
            legend_above(ax, 1, loc="lower right", bbox_to_anchor=(1.0, 1.0))
        else:
            legend_above(ax)
    return ax


def plot_martingale_drift(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the mean change by starting share with its intervals, a zero line, and what is possible at all.

    A martingale's points lie on the zero line. The grey areas cannot be reached: a share cannot fall below 0
    or rise above 1, so that at the ends a drift has one direction only.

    Parameters
    ----------
    frame : DataFrame
        One row per start (and group) with ``start`` (share of correct votes, in [0, 1]), ``drift`` (mean
        change of the share), ``low, high`` (its interval; missing where there is none) and, optionally,
        ``group`` (a log or a pair of rounds, shown by colour and marker; at most 7), ``level, kind`` (of the
        intervals, for the caption).
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a value is not finite, a start is no share, or an interval is upside down.

    Examples
    --------
    >>> frame = pd.DataFrame(
    ...     {"start": [0.0, 0.5, 1.0], "drift": [0.0, 0.1, 0.0], "low": [0, 0.05, 0], "high": [0, 0.15, 0]}
    ... )
    >>> plot_martingale_drift(frame).get_ylabel()
    'mean change in the next round'
    """
    names = ("start", "drift", "low", "high")
    checked = check_frame(frame, names, names[:2], names[2:], shares=("start",))
    parts = groups(checked)
    ax = one_axes(ax, width=ONE_COLUMN, height=2.6 + 0.13 * (len(parts) if len(parts) > 1 else 0))
    span = max(float(np.nanmax(np.abs(checked[["drift", "low", "high"]].to_numpy()))), 0.02) * 1.1
    ends = np.array([0.0, 1.0])
    for edge, far in ((-ends, -1.0), (1 - ends, 1.0)):
        ax.fill_between(ends, edge, far, color="0.9", linewidth=0, zorder=0)
    ax.axhline(0.0, color="0.35", linewidth=0.8, zorder=1)
    for i, (name, here, colour, marker) in enumerate(parts):
        part = checked[here].sort_values("start")
        shift = (i - (len(parts) - 1) / 2) * (_SPREAD / len(parts))
        start, drift, low, high = (column(part[key]) for key in names)
        draw_points(ax, start + shift, drift, low, high, color=colour, marker=marker, label=name or None)
    ax.set_xlim(-0.06, 1.06)
    ax.set_ylim(-span, span)
    if span > 0.2:
        ax.annotate(
            "out of reach",
            (0.98, 0.96),
            xycoords=("data", "axes fraction"),
            ha="right",
            va="top",
            fontsize=6.5,
            color="0.4",
        )
    ax.set_xlabel("share of correct votes before")
    tell_intervals(ax, checked, checked["low"].notna().to_numpy())
    ax.set_ylabel("mean change in the next round")
    if "group" in checked:
        legend_below(ax, 2 if len(parts) > 4 else 1)
    return ax


def plot_interval_coverage(
    frame: pd.DataFrame,
    *,
    band: tuple[float, float] = (0.94, 0.96),
    zoom: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of intervals that hold the truth, a row per method, a marker per intraclass correlation.

    Parameters
    ----------
    frame : DataFrame
        One row per method and correlation with ``method`` (text; rows from the top in order of appearance),
        ``icc`` (intraclass correlation), ``coverage`` (share, in [0, 1]) and ``coverage_se`` (its Monte Carlo
        standard error; missing where unknown). Bars are two of these either way.
    band : tuple of float
        Shares between which coverage counts as held; drawn grey.
    zoom : tuple of float, optional
        Shares that the axis covers. What lies outside is an arrow at the edge with its number beside it.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a share lies outside [0, 1], an error is negative, a method and a correlation come
        twice, or the band is upside down.

    Examples
    --------
    >>> frame = pd.DataFrame(
    ...     {"method": ["BCa", "naive t"], "icc": 0.1, "coverage": [0.95, 0.85], "coverage_se": 0.005}
    ... )
    >>> [label.get_text() for label in plot_interval_coverage(frame).get_yticklabels()]
    ['BCa', 'naive t']
    """
    names = ("method", "icc", "coverage", "coverage_se")
    checked = check_frame(frame, names, names[1:3], names[3:], shares=("coverage",), once=("method", "icc"))
    refuse("coverage_se must be >= 0", column(checked["coverage_se"]) < 0, checked, "coverage_se")
    low, high = (probability("band", edge) for edge in band)
    if low > high:
        raise ValueError(f"band must be (low, high) with low <= high; got {band}")
    methods = list(dict.fromkeys(checked["method"].astype(str)))
    checked = checked.sort_values("icc", kind="stable").reset_index(drop=True)
    place = column(checked["method"].astype(str).map({name: float(i) for i, name in enumerate(methods)}))
    parts = groups(checked, "icc", "values of icc")
    ax = one_axes(ax, width=ONE_COLUMN, height=0.8 + 0.32 * len(methods))
    ax.axvspan(low, high, color="0.88", linewidth=0, zorder=0)
    coverage, error = column(checked["coverage"]), 2 * column(checked["coverage_se"])
    beyond = np.zeros(len(methods), dtype=int)
    for i, (icc, here, colour, marker) in enumerate(parts):
        y = place[here] + (i - (len(parts) - 1) / 2) * (_COVERAGE_SPREAD / len(parts))
        x, ends = coverage[here], error[here]
        label = f"ICC {float(icc):g}"
        draw_points(ax, x, y, x - ends, x + ends, along="x", color=colour, marker=marker, label=label)
        for share, at, method in zip(x, y, place[here].astype(int), strict=True):
            if zoom and not zoom[0] <= share <= zoom[1]:
                _draw_arrow(ax, share, at, zoom, colour, beyond[method])
                beyond[method] += 1
    if zoom:
        ax.set_xlim(*zoom)
    ax.set_yticks(range(len(methods)), methods)
    ax.set_ylim(len(methods) - 0.5, -0.5)
    ax.set_xlabel("share of intervals that hold the truth")
    if len(parts) > 1:
        ax.legend(loc="best", fontsize="small")
    return ax


def _draw_arrow(
    ax: Axes, share: float, at: float, zoom: tuple[float, float], colour: str, before: int
) -> None:
    """Draw an arrow at the edge for a share beyond it, its number right of those `before` it."""
    low = share < zoom[0]
    edge, side, align = (zoom[0], 1, "left") if low else (zoom[1], -1, "right")
    ax.plot([edge], [at], "<" if low else ">", color=colour, markersize=4, clip_on=False, label="_beyond")
    look: Look = {"textcoords": "offset points", "ha": align, "va": "center", "fontsize": 6, "color": colour}
    ax.annotate(f"{share:.2f}", (edge, at), (side * (5 + 16 * before), 0), **look)


def plot_position_bias(frame: pd.DataFrame, *, axes: Sequence[Axes] | None = None) -> NDArray[Any]:
    """Draw swap consistency and the share of first-slot verdicts of each judge, with intervals, side by side.

    Left, a bar is the consistency that a judge with the same shares of first, second and tie would have without looking
    at the answers. Right, a judge without position bias is on the line at one half.

    Parameters
    ----------
    frame : DataFrame
        One row per judge, drawn from the top: ``judge``, ``consistency`` (share of pairs with the same winner in both
        orders) and ``first`` (share of verdicts for the first slot), their limits ``consistency_low,
        consistency_high, first_low, first_high`` (missing where there is no interval) and ``coin`` (consistency of a
        judge that ignores the answers); optionally ``level, kind`` (of the intervals, for the caption).
    axes : sequence of Axes, optional
        Two of them, or one for the share of first-slot verdicts alone; by default a new figure of one column, as high
        as it needs to be.

    Returns
    -------
    ndarray of Axes

    Raises
    ------
    ValueError
        When a column is absent, a share lies outside [0, 1], an interval is upside down, or there are more than two
        axes.

    Examples
    --------
    >>> row = {"judge": "J", "consistency": 0.7, "consistency_low": 0.6, "consistency_high": 0.8}
    >>> frame = pd.DataFrame([row | {"first": 0.6, "first_low": 0.55, "first_high": 0.65, "coin": 0.5}])
    >>> [ax.get_xlabel() for ax in plot_position_bias(frame)]
    ['same winner in both orders', 'verdicts for the first slot']
    """
    values, names = ("consistency", "first", "coin"), ("consistency", "first")
    limits = tuple(f"{name}_{end}" for name in names for end in ("low", "high"))
    within = [(f"{name}_low", name, f"{name}_high") for name in names]
    shares = (*values, *limits)
    checked = check_frame(frame, ("judge", *shares), values, limits, shares=shares, within=within)
    panels = (
        _two_panels(0.95 + 0.2 * len(checked)) if axes is None else np.asarray(axes, dtype=object).ravel()
    )
    if panels.size not in (1, 2):
        raise ValueError(f"axes must be one or two; got {panels.size}")
    y = np.arange(len(checked), dtype=float)
    looks = (("consistency", "o", BLUE), ("first", "s", VERMILLION))
    labels = {"consistency": "same winner in both orders", "first": "verdicts for the first slot"}
    for ax, (name, marker, colour) in zip(panels, looks[-panels.size :], strict=True):
        if name == "first":
            ax.axvline(0.5, color="0.35", linewidth=0.8, zorder=1)
        else:
            look: Look = {"marker": "|", "s": 45, "color": "0.35", "zorder": 2}
            ax.scatter(column(checked["coin"]), y, **look, label="by chance alone")
            legend_above(ax, 1, handletextpad=0.3)
        x, low, high = (column(checked[key]) for key in (name, f"{name}_low", f"{name}_high"))
        draw_points(ax, x, y, low, high, along="x", marker=marker, color=colour, markersize=3.6)
        ax.set_yticks(y, [str(judge) for judge in checked["judge"]])
        ax.set_ylim(len(checked) - 0.45, -0.55)
        ax.set_xlim(-0.02, 1.02)
        ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        ax.set_xlabel(labels[name])
        tell_intervals(ax, checked, np.isfinite(low) | np.isfinite(high))
    if panels.size == 2:
        panels[1].tick_params(labelleft=False)
    return panels


def plot_ranking(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the rating of each contestant with its interval, and at the right edge the ranks that are left open.

    Parameters
    ----------
    frame : DataFrame
        One row per contestant, drawn from the top: ``contestant, rating, low, high`` (missing where there is no
        interval), ``rank_low, rank_high``; optionally ``scale`` ("logit" or "elo"), ``level`` and ``kind`` (of the
        intervals, for the caption).
    ax : Axes, optional
        Where to draw; by default a new figure of one column, as high as it needs to be.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, or an interval is upside down.

    Examples
    --------
    >>> rows = [("x", 0.8, 0.5, 1.1, 1, 1), ("y", -0.2, -0.6, 0.2, 2, 3), ("z", -0.6, -1.0, -0.2, 2, 3)]
    >>> frame = pd.DataFrame(rows, columns=["contestant", "rating", "low", "high", "rank_low", "rank_high"])
    >>> ax = plot_ranking(frame)
    >>> [text.get_text() for text in ax.texts], ax.get_xlabel()
    (['rank', '1', '2 to 3', '2 to 3'], 'rating (log-odds)')
    """
    needed = ("contestant", "rating", "low", "high", "rank_low", "rank_high")
    checked = check_frame(frame, needed, ("rating", "rank_low", "rank_high"), ("low", "high"))
    alone = (checked["low"].isna() != checked["high"].isna()).to_numpy()
    refuse("low and high must come together", alone, checked, "low", "high")
    inside = (checked["low"] <= checked["rating"]) & (checked["rating"] <= checked["high"])
    refuse(
        "rating must lie in its interval", (checked["low"].notna() & ~inside).to_numpy(), checked, "rating"
    )
    ax = one_axes(ax, width=ONE_COLUMN, height=_EDGE + _ROW * len(checked))
    unit = "Elo points" if "scale" in frame and (frame["scale"] == "elo").all() else "log-odds"
    names = ["\n".join(textwrap.wrap(str(name), _LETTERS)) for name in checked["contestant"]]
    _draw_rows(ax, checked, "rating", names, f"rating ({unit})")
    place: Look = {"xycoords": ax.get_yaxis_transform(), "va": "center", "fontsize": "small"}
    ax.annotate("rank", (1.02, -0.8), annotation_clip=False, **place)
    for row, (low, high) in enumerate(zip(checked["rank_low"], checked["rank_high"], strict=True)):
        text = f"{int(low)}" if low == high else f"{int(low)} to {int(high)}"
        ax.annotate(text, (1.02, row), annotation_clip=False, **place)
    return ax


def _two_panels(height: float) -> NDArray[Any]:
    """Return the two axes of a new figure of one column."""
    import matplotlib.pyplot as plt

    first = one_axes(None, width=ONE_COLUMN, height=height)
    width, tall = first.figure.get_figure(root=True).get_size_inches()
    plt.close(first.figure.get_figure(root=True))
    _, made = plt.subplots(1, 2, figsize=(width, tall), layout="constrained")
    return np.asarray(made, dtype=object)


def plot_jury_curve(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw accuracy by panel size with its interval, Condorcet's independent jurors, and the limit.

    Parameters
    ----------
    frame : DataFrame
        One row per size with ``k`` (jurors), ``accuracy`` (of k of these jurors), ``low, high`` (its interval;
        missing where there is none), ``independent`` (of k independent ones) and, optionally, ``ceiling,
        ceiling_low, ceiling_high`` (a large panel of these; the first row's is drawn; missing is left out),
        ``level, kind`` (of the intervals, for the caption). All but k, level and kind are shares in [0, 1].
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a share lies outside [0, 1], a size is no whole number or occurs twice, or an
        interval is upside down.

    Examples
    --------
    >>> frame = pd.DataFrame({"k": [1, 3], "accuracy": [0.7, 0.74], "low": [0.65, 0.7], "high": [0.75, 0.78]})
    >>> frame["independent"] = [0.7, 0.784]
    >>> plot_jury_curve(frame).get_xlabel()
    'jurors'
    """
    from matplotlib.ticker import MaxNLocator

    limit = ("ceiling_low", "ceiling", "ceiling_high")
    limited = set(limit) <= set(getattr(frame, "columns", ()))
    optional = ("low", "high", *(limit if limited else ()))
    shares = ("accuracy", "independent", *optional)
    checked = check_frame(
        frame,
        ("k", *shares),
        ("k", "accuracy", "independent"),
        optional,
        shares=shares,
        within=[limit] * limited,
    ).sort_values("k", kind="stable")
    k = column(checked["k"])
    if (k != np.floor(k)).any() or (k < 1).any() or len(np.unique(k)) < k.size:
        raise ValueError(f"k must be different whole numbers >= 1; got {k.tolist()}")
    ax = one_axes(ax, width=ONE_COLUMN, height=2.6)
    if limited and np.isfinite(checked["ceiling"].iloc[0]):
        down, value, up = (float(checked[name].iloc[0]) for name in limit)
        if np.isfinite(down + up):
            ax.axhspan(down, up, color=GREEN, alpha=0.12, linewidth=0)
        ax.axhline(value, color=GREEN, linestyle=":", linewidth=1.0, label="limit for a large panel")
    low, high = column(checked["low"]), column(checked["high"])
    banded = ~np.isnan(low + high)
    alone: Look = {"marker": "s", "markersize": 3.0, "label": "independent jurors (Condorcet)"}
    ax.plot(k, column(checked["independent"]), "--", color=VERMILLION, **alone)
    ax.fill_between(k, low, high, where=banded.tolist(), color=BLUE, alpha=0.2, linewidth=0)
    ax.plot(k, column(checked["accuracy"]), "-", color=BLUE, marker="o", markersize=3.5, label="these jurors")
    ax.set_xlabel("jurors")
    tell_intervals(ax, checked, banded, what="blue band")
    ax.set_ylabel("accuracy of the plurality")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(loc="best", fontsize="small")
    return ax


_DODGE = 0.11
"""Share of the least distance between settings over which the points of the groups are spread, so that bars show."""


def plot_series(frame: pd.DataFrame, *, xlabel: str, ylabel: str, ax: Axes | None = None) -> Axes:
    """Draw a value by a setting, a line with intervals per group, and exact values as crosses.

    Parameters
    ----------
    frame : DataFrame
        One row per group and setting with ``x`` (the setting, a number), ``value``, ``low, high`` (its interval;
        missing where there is none) and, optionally, ``group`` (shown by colour and marker; at most 7),
        ``exact`` (what the value estimates; missing where it is not known), ``level, kind`` (of the
        intervals, for the caption).
    xlabel, ylabel : str
        What the setting and the value are, with their units.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a number is not finite, a setting comes twice in a group, or an interval is upside
        down.

    Examples
    --------
    >>> frame = pd.DataFrame({"x": [1, 3], "value": [0.7, 0.74], "low": [0.65, 0.7], "high": [0.75, 0.78]})
    >>> plot_series(frame, xlabel="jurors", ylabel="accuracy").get_ylabel()
    'accuracy'
    """
    known = "exact" in getattr(frame, "columns", ())
    optional = ("low", "high", *(["exact"] if known else []))
    once = ("group", "x") if "group" in getattr(frame, "columns", ()) else ("x",)
    names = ("x", "value", *optional)
    checked = check_frame(frame, names, names[:2], optional, once=once).sort_values("x", kind="stable")
    checked = checked.reset_index(drop=True)
    low, high = column(checked["low"]), column(checked["high"])
    parts = groups(checked)
    settings = np.unique(column(checked["x"]))
    step = _DODGE * float(np.diff(settings).min()) if len(settings) > 1 else 0.0
    ax = one_axes(ax, width=ONE_COLUMN, height=2.6)
    for i, (name, here, colour, marker) in enumerate(parts):
        x = column(checked["x"])[here] + step * (i - (len(parts) - 1) / 2)
        y = column(checked["value"])[here]
        ax.plot(x, y, "-", color=colour, linewidth=0.9, alpha=0.6)
        draw_points(ax, x, y, low[here], high[here], color=colour, marker=marker, label=name or None)
        if known:
            ax.plot(x, column(checked["exact"])[here], "x", color="0.15", markersize=3.5, zorder=4)
    if known:
        ax.plot([], [], "x", color="0.15", markersize=3.5, label="exact")
    ax.set_xticks(settings, [f"{value:g}" for value in settings])
    ax.set_xlabel(xlabel)
    tell_intervals(ax, checked, ~np.isnan(low + high))
    ax.set_ylabel(ylabel)
    if len(parts) > 1 or known:
        ax.legend(loc="best", fontsize="small")
    return ax


def plot_reliability(
    frame: pd.DataFrame, *, curve: pd.DataFrame | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the share of right votes against the stated confidence, with the band in which calibrated votes would lie.

    A point is one bin; its size grows with its votes. Below the diagonal judges are overconfident. A bar on the
    diagonal is the band of the bin (Bröcker and Smith, 2007): a point outside is not calibrated.

    Parameters
    ----------
    frame : DataFrame
        One row per bin: ``n, confidence, right, band_low, band_high``, all but the first in [0, 1]; a band may be
        missing.
    curve : DataFrame, optional
        Recalibrated confidences: ``confidence`` and one column per method, ``isotonic`` or ``beta``.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, or a share is not in [0, 1].

    Examples
    --------
    >>> frame = pd.DataFrame({"n": [40, 60], "confidence": [0.7, 0.9], "right": [0.6, 0.65],
    ...     "band_low": [0.55, 0.82], "band_high": [0.85, 0.98]})
    >>> plot_reliability(frame).get_ylabel()
    'votes that are right'
    """
    shares = ("confidence", "right", "band_low", "band_high")
    from matplotlib.ticker import FuncFormatter

    checked = check_frame(
        frame, ("n", *shares), ("n", "confidence", "right"), ("band_low", "band_high"), shares=shares
    )
    ax = one_axes(ax, width=ONE_COLUMN, height=3.2)
    n, stated, right, low, high = (column(checked[name]) for name in ("n", *shares))
    ax.plot([0, 1], [0, 1], color="0.5", linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
    known = np.isfinite(low)
    ax.vlines(stated[known], low[known], high[known], color="0.75", linewidth=5, zorder=1,
              label="if calibrated")  # fmt: skip
    looks = {"isotonic": (GREEN, "-"), "beta": (VERMILLION, "--")}
    if curve is not None:
        lines = [name for name in looks if name in curve.columns]
        drawn = check_frame(
            curve, ("confidence", *lines), ("confidence", *lines), shares=("confidence", *lines)
        )
        for name in lines:
            colour, style = looks[name]
            label = "Beta" if name == "beta" else name
            ax.plot(
                column(drawn["confidence"]),
                column(drawn[name]),
                style,
                color=colour,
                linewidth=1.0,
                label=label,
            )
    size = 14 + 60 * n / max(float(n.max(initial=1.0)), 1.0)
    ax.scatter(stated, right, s=size, color=BLUE, zorder=3, label="bin")
    written = FuncFormatter(lambda value, _: f"{100 * value:.4g} %")
    start = max(min(float(np.nanmin([*stated, *right, *low])) - 0.05, 0.95), 0.0)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(written)
    ax.set_xlim(start, 1.02)
    ax.set_ylim(start, 1.02)
    ax.set_xlabel("stated confidence")
    ax.set_ylabel("votes that are right")
    legend_above(ax, 2)
    return ax
