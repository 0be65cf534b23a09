"""Differences with their intervals, one under the other, about zero."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import number, probability
from d3stats.plotting.style import ONE_COLUMN, check_frame, column, one_axes, with_bars, within_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "plot_agreement",
    "plot_forest",
    "plot_interval_coverage",
    "plot_jury_curve",
    "plot_martingale_drift",
    "plot_position_bias",
]

COLUMNS = ("label", "difference", "low", "high")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_ROW, _LINE, _EDGE = 0.24, 0.1, 0.75
"""Inches of a row, of another line of its label, and of what is above and below all rows."""
_WIDE, _LETTERS = 4.5, 22
"""From how many inches on numbers have room, and how long a label's line is below that."""


def plot_forest(
    frame: pd.DataFrame,
    *,
    margin: float | None = None,
    xlabel: str = "difference",
    numbers: bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one row per difference: a point, its interval, a line at zero, and the margin as a band.

    A row without an interval is an open marker. Nothing is drawn for a p-value: the interval says it.

    Parameters
    ----------
    frame : DataFrame
        One row per difference, drawn from top to bottom, with ``label``, ``difference``, ``low, high`` (its
        interval; missing where there is none) and, optionally, ``group`` (told apart by colour and marker; at
        most 7), ``level, kind`` (of the intervals, written below the axis).
    margin : float, optional
        Half the width of the band about zero in which nobody minds a difference; above 0.
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
        When a column is absent, a difference is not finite, one limit stands without the other, or a difference
        lies outside of its interval by more than a bootstrap may leave it.

    Examples
    --------
    >>> frame = pd.DataFrame({"label": ["B - A", "C - A"], "difference": [0.02, -0.01],
    ...                       "low": [-0.01, None], "high": [0.05, None]})
    >>> ax = plot_forest(frame, margin=0.03, xlabel="accuracy gained")
    >>> [tick.get_text() for tick in ax.get_yticklabels()], ax.get_xlabel()
    (['B - A', 'C - A'], 'accuracy gained')
    """
    grouped = "group" in getattr(frame, "columns", [])
    names = (*COLUMNS, "group") if grouped else COLUMNS
    checked = check_frame(frame, names, ("difference",), ("low", "high"))
    value, low, high = (column(checked[name]) for name in ("difference", "low", "high"))
    _check_limits(low, high)
    groups = list(dict.fromkeys(checked["group"].astype(str))) if grouped else [""]
    if len(groups) > len(COLOURS):
        raise ValueError(f"frame must have at most {len(COLOURS)} groups to tell apart; got {len(groups)}")
    rows = np.arange(len(checked), dtype=np.float64)
    narrow = ax is None or ax.figure.get_figure(root=True).get_figwidth() < _WIDE
    labels = [textwrap.fill(label, _LETTERS) if narrow else label for label in checked["label"].astype(str)]
    lines = sum(label.count("\n") for label in labels)
    ax = one_axes(ax, width=ONE_COLUMN, height=_EDGE + _ROW * len(rows) + _LINE * lines)
    if margin is not None:
        margin = number("margin", margin)
        if margin <= 0:
            raise ValueError(f"margin must be > 0; got margin={margin!r}")
        ax.axvspan(-margin, margin, color="0.9", linewidth=0, zorder=0, label=f"margin ±{margin:g}")
    ax.axvline(0.0, color="0.35", linewidth=0.8, zorder=1)
    for i, name in enumerate(groups):
        here = (
            (checked["group"].astype(str) == name).to_numpy() if grouped else np.ones(len(rows), dtype=bool)
        )
        _draw(ax, rows[here], value[here], low[here], high[here], MARKERS[i], COLOURS[i], name)
    ax.set_yticks(rows, labels)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(with_bars(xlabel, frame, ~np.isnan(low)))
    _reach(ax, value, low, high, margin)
    if numbers or (numbers is None and not narrow):
        _write(ax, rows, value, low, high)
    if len(groups) > 1 or margin is not None:
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(3, len(groups)))
    return ax


def _check_limits(low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
    alone = np.isnan(low) != np.isnan(high)
    if alone.any():
        row = int(np.argmax(alone))
        raise ValueError(
            f"low and high must come together; got low={low[row]}, high={high[row]} at row {row}"
        )
    bad = low > high
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"high must be >= low; got low={low[row]}, high={high[row]} at row {row}")


def _draw(
    ax: Axes,
    rows: NDArray[np.float64],
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    marker: str,
    colour: str,
    name: str,
) -> None:
    ax.hlines(rows, low, high, color=colour, linewidth=1.2, zorder=2)
    sure = ~np.isnan(low)
    style = {"color": colour, "marker": marker, "linestyle": "none", "markersize": 4.5, "zorder": 3}
    if sure.any():
        ax.plot(value[sure], rows[sure], label=name, **style)  # type: ignore[arg-type]  # one style, many types
    if (~sure).any():
        label = name if not sure.any() else "_nolegend_"
        ax.plot(value[~sure], rows[~sure], label=label, markerfacecolor="white", **style)  # type: ignore[arg-type]


def _reach(
    ax: Axes,
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    margin: float | None,
) -> None:
    """Leave room for every interval, for zero and for the margin."""
    ends = np.concatenate([value, low[~np.isnan(low)], high[~np.isnan(high)], [0.0]])
    if margin is not None:
        ends = np.append(ends, [-margin, margin])
    span = max(float(np.ptp(ends)), 1e-3)
    ax.set_xlim(float(ends.min()) - 0.06 * span, float(ends.max()) + 0.06 * span)


def _write(
    ax: Axes,
    rows: NDArray[np.float64],
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> None:
    """Write the numbers at the right edge, in digits that the widest interval deserves."""
    widths = (high - low)[~np.isnan(low)]
    size = float(np.median(widths)) if len(widths) else float(np.abs(value).max())
    digits = int(np.clip(1 - np.floor(np.log10(size)), 0, 4)) if size > 0 else 3
    for row, x, down, up in zip(rows, value, low, high, strict=True):
        limits = "" if np.isnan(down) else f" [{down:+.{digits}f}, {up:+.{digits}f}]"
        text = f"{x:+.{digits}f}{limits}".replace("-", "−")
        ax.annotate(
            text,
            (1.02, row),
            xycoords=ax.get_yaxis_transform(),
            va="center",
            fontsize="small",
            annotation_clip=False,
        )


_KAPPA_FOREST_ROW = 0.19
"""Inches of height that a line needs."""


def plot_agreement(frame: pd.DataFrame, *, ax: Axes | None = None, label: str = "") -> Axes:
    """Draw a forest of coefficients: a point and an interval per row, first row on top.

    The broken line is what chance alone gives; 1 is perfect agreement. A hollow point has no interval.

    Parameters
    ----------
    frame : DataFrame
        One row per coefficient with ``name``, ``value`` (at most 1), ``low, high`` (missing where there is no
        interval) and, optionally, ``group`` (told apart by colour and marker; at most 7), ``level,
        kind`` (of the intervals, written below the axis).
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
    grouped = "group" in getattr(frame, "columns", [])
    names = ("name", "value", "low", "high", *(("group",) if grouped else ()))
    checked = check_frame(frame, names, ("value",), ("low", "high"))
    value, low, high = (column(checked[name]) for name in ("value", "low", "high"))
    _refuse("value must be <= 1", value > 1, value)
    _refuse("low and high must come together", np.isnan(low) != np.isnan(high), low)
    _refuse("high must be >= low", low > high, low)
    groups = list(dict.fromkeys(checked["group"].astype(str))) if grouped else [""]
    if len(groups) > len(COLOURS):
        raise ValueError(f"frame must have at most {len(COLOURS)} groups to tell apart; got {len(groups)}")
    ax = one_axes(ax, width=ONE_COLUMN, height=0.7 + _KAPPA_FOREST_ROW * len(checked))
    rows = np.arange(len(checked))
    ax.axvline(0.0, color="0.45", linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    for i, name in enumerate(groups):
        here = checked["group"].astype(str).to_numpy() == name if grouped else np.ones(len(rows), dtype=bool)
        some = here & ~np.isnan(low)
        ax.hlines(rows[some], low[some], high[some], color=COLOURS[i], linewidth=1.0, zorder=2)
        style: dict[str, Any] = {
            "linestyle": "none",
            "marker": MARKERS[i],
            "color": COLOURS[i],
            "markersize": 4.0,
        }
        ax.plot(value[some], rows[some], label=name or None, zorder=3, **style)
        alone = here & np.isnan(low)
        if alone.any():
            shown = name if name and not some.any() else None
            ax.plot(value[alone], rows[alone], label=shown, markerfacecolor="white", zorder=3, **style)
    ax.set_yticks(rows, checked["name"].astype(str))
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(min(-0.05, float(np.nanmin([value.min(), *low])) - 0.05), 1.05)
    ax.set_xlabel(with_bars(label or "kappa", frame, ~np.isnan(low)))
    if grouped:
        ax.legend(loc="best", fontsize="small")
    return ax


def _refuse(requirement: str, bad: np.ndarray, values: np.ndarray) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{requirement}; got {values[row]} at row {row}")


MARTINGALE_DRIFT_COLUMNS = ("start", "drift", "low", "high")
_SPREAD = 0.05
"""How far apart the markers of all groups at one start lie together, on the axis of shares."""


def plot_martingale_drift(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the mean change by starting share with its intervals, a zero line, and what is possible at all.

    A martingale's points lie on the zero line. The grey areas cannot be reached: a share cannot fall below 0
    or rise above 1, so that at the ends a drift has one direction only.

    Parameters
    ----------
    frame : DataFrame
        One row per start (and group) with ``start`` (share of correct votes, in [0, 1]), ``drift`` (mean
        change of the share), ``low, high`` (its interval; missing where there is none) and, optionally,
        ``group`` (a log or a pair of rounds, told apart by colour and marker; at most 7).
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
    'mean change by the next round'
    """
    grouped = "group" in getattr(frame, "columns", [])
    names = (*MARTINGALE_DRIFT_COLUMNS, "group") if grouped else MARTINGALE_DRIFT_COLUMNS
    checked = check_frame(frame, names, ("start", "drift"), ("low", "high"))
    within_unit(checked, "start")
    low, high = column(checked["low"]), column(checked["high"])
    bad = low > high
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"high must be >= low; got low={low[row]}, high={high[row]} at row {row}")
    groups = list(dict.fromkeys(checked["group"].astype(str))) if grouped else [""]
    if len(groups) > len(COLOURS):
        raise ValueError(f"frame must have at most {len(COLOURS)} groups to tell apart; got {len(groups)}")
    ax = one_axes(ax, width=ONE_COLUMN, height=2.6)
    drift = column(checked["drift"])
    reach = np.concatenate([drift, low[np.isfinite(low)], high[np.isfinite(high)]])
    span = max(float(np.abs(reach).max()), 0.02) * 1.1
    ends = np.array([0.0, 1.0])
    ax.fill_between(ends, -ends, -1.0, color="0.9", linewidth=0, zorder=0)
    ax.fill_between(ends, 1 - ends, 1.0, color="0.9", linewidth=0, zorder=0)
    ax.axhline(0.0, color="0.35", linewidth=0.8, zorder=1)
    shifts = (np.arange(len(groups)) - (len(groups) - 1) / 2) * (_SPREAD / len(groups))
    for i, name in enumerate(groups):
        part = checked[checked["group"].astype(str) == name] if grouped else checked
        part = part.sort_values("start")
        y = column(part["drift"])
        # Without an interval only the point is drawn.
        down, up = (np.nan_to_num(np.abs(column(part[end]) - y)) for end in ("low", "high"))
        ax.errorbar(
            column(part["start"]) + shifts[i],
            y,
            yerr=[down, up],
            fmt=MARKERS[i],
            color=COLOURS[i],
            markersize=4.0,
            elinewidth=0.8,
            capsize=1.5,
            label=name or None,
        )
    ax.set_xlim(-0.06, 1.06)
    ax.set_ylim(-span, span)
    ax.set_xlabel("share of correct votes before")
    ax.set_ylabel("mean change by the next round")
    if grouped:
        ax.legend(loc="best", fontsize="small")
    return ax


INTERVAL_COVERAGE_COLUMNS = ("method", "icc", "coverage", "coverage_se")
_INTERVAL_COVERAGE_SPREAD = 0.5
"""How much of a method's row the markers of all correlations take together."""


def plot_interval_coverage(
    frame: pd.DataFrame, *, band: tuple[float, float] = (0.94, 0.96), ax: Axes | None = None
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
    checked = check_frame(frame, INTERVAL_COVERAGE_COLUMNS, ("icc", "coverage"), ("coverage_se",))
    within_unit(checked, "coverage")
    error = column(checked["coverage_se"])
    if (error < 0).any():
        row = int(np.argmax(error < 0))
        raise ValueError(f"coverage_se must be >= 0; got coverage_se={error[row]} at row {row}")
    twice = checked.duplicated(["method", "icc"]).to_numpy()
    if twice.any():
        row = int(np.argmax(twice))
        what = f"method={checked['method'][row]!r}, icc={checked['icc'][row]:g}"
        raise ValueError(f"frame must have one row per method and icc; got {what} again at row {row}")
    low, high = (probability("band", edge) for edge in band)
    if low > high:
        raise ValueError(f"band must be (low, high) with low <= high; got {band}")
    correlations = np.unique(column(checked["icc"]))
    if len(correlations) > len(COLOURS):
        raise ValueError(f"frame must have at most {len(COLOURS)} values of icc; got {len(correlations)}")
    methods = list(dict.fromkeys(checked["method"].astype(str)))
    place = checked["method"].astype(str).map({name: float(i) for i, name in enumerate(methods)})
    ax = one_axes(ax, width=ONE_COLUMN, height=0.8 + 0.32 * len(methods))
    ax.axvspan(low, high, color="0.88", linewidth=0, zorder=0)
    shifts = (np.arange(len(correlations)) - (len(correlations) - 1) / 2) * (
        _INTERVAL_COVERAGE_SPREAD / len(correlations)
    )
    for i, icc in enumerate(correlations):
        of = column(checked["icc"]) == icc
        ax.errorbar(
            column(checked["coverage"][of]),
            column(place[of]) + shifts[i],
            # Without an error only the point is drawn.
            xerr=2 * np.nan_to_num(error[of]),
            fmt=MARKERS[i],
            color=COLOURS[i],
            markersize=4.0,
            elinewidth=0.8,
            capsize=1.5,
            label=f"ICC {icc:g}",
        )
    ax.set_yticks(range(len(methods)), methods)
    ax.set_ylim(len(methods) - 0.5, -0.5)
    ax.set_xlabel("share of intervals that hold the truth")
    if len(correlations) > 1:
        ax.legend(loc="best", fontsize="small")
    return ax


VALUES = ("consistency", "first", "coin")
LIMITS = ("consistency_low", "consistency_high", "first_low", "first_high")
SERIES = (("consistency", "same winner both ways", "o", "#0072B2"), ("first", "first slot", "s", "#D55E00"))
_APART = 0.17
_POSITION_BIAS_ROW = 0.32
"""Height of a judge's row, in inches."""


def plot_position_bias(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw swap consistency and the share of first-slot verdicts of each judge, with intervals.

    A judge without position bias has its square on the line at one half. The bar is the consistency that a judge
    with the same shares of first, second and tie would have without looking at the answers.

    Parameters
    ----------
    frame : DataFrame
        One row per judge, drawn from the top: ``judge``, ``consistency`` and ``first`` (shares in [0, 1]), their
        limits ``consistency_low, consistency_high, first_low, first_high`` (missing where there is no
        interval) and ``coin`` (consistency of a judge that ignores the answers); optionally ``level, kind`` (of the
        intervals, written below the axis).
    ax : Axes, optional
        Where to draw; by default a new figure of one column, as high as it needs to be.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a share lies outside [0, 1], or an interval is upside down.

    Examples
    --------
    >>> row = {"judge": "J", "consistency": 0.7, "consistency_low": 0.6, "consistency_high": 0.8}
    >>> frame = pd.DataFrame([row | {"first": 0.6, "first_low": 0.55, "first_high": 0.65, "coin": 0.5}])
    >>> plot_position_bias(frame).get_xlabel()
    'share of pairs, of verdicts'
    """
    checked = check_frame(frame, ("judge", *VALUES, *LIMITS), VALUES, LIMITS)
    for name in (*VALUES, *LIMITS):
        within_unit(checked, name)
    for name, *_ in SERIES:
        _in_order(checked, name)
    ax = one_axes(ax, width=ONE_COLUMN, height=0.9 + _POSITION_BIAS_ROW * len(checked))
    y = np.arange(len(checked), dtype=float)
    ax.axvline(0.5, color="0.35", linewidth=0.8, zorder=1)
    coin = column(checked["coin"])
    shift = {"consistency": -_APART, "first": _APART}
    ax.scatter(
        coin,
        y + shift["consistency"],
        marker="|",
        s=40,
        color="0.45",
        zorder=2,
        label="same, answers ignored",
    )
    for name, said, marker, colour in SERIES:
        x = column(checked[name])
        reach: Any = [np.nan_to_num(np.abs(column(checked[f"{name}_{end}"]) - x)) for end in ("low", "high")]
        ax.errorbar(
            x,
            y + shift[name],
            xerr=reach,
            fmt=marker,
            color=colour,
            markersize=2.6,
            elinewidth=0.9,
            capsize=0,
            linestyle="none",
            label=said,
        )
    ax.set_yticks(y, [str(judge) for judge in checked["judge"]])
    ax.set_ylim(len(checked) - 0.45, -0.55)
    ax.set_xlim(-0.02, 1.02)
    drawn = np.isfinite(checked[[*LIMITS]].to_numpy(dtype=float)).any(axis=1)
    ax.set_xlabel(with_bars("share of pairs, of verdicts", frame, drawn))
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize="x-small", handletextpad=0.3,
              columnspacing=0.8, frameon=False)  # fmt: skip
    return ax


def _in_order(frame: pd.DataFrame, name: str) -> None:
    low, value, high = (column(frame[key]) for key in (f"{name}_low", name, f"{name}_high"))
    bad = (low > value) | (value > high)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{name} must lie within its limits; got {low[row]}, {value[row]}, {high[row]} at row {row}"
        )


NUMBERS = ("k", "accuracy", "independent")
CEILING = ("ceiling", "ceiling_low", "ceiling_high")
SEEN, INDEPENDENT, LIMIT = "#0072B2", "#D55E00", "#009E73"


def plot_jury_curve(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw accuracy by panel size with its interval, Condorcet's independent jurors, and the limit.

    Parameters
    ----------
    frame : DataFrame
        One row per size with ``k`` (jurors), ``accuracy`` (of k of these jurors), ``low, high`` (its interval;
        missing where there is none), ``independent`` (of k independent ones) and, optionally, ``ceiling,
        ceiling_low, ceiling_high`` (a large panel of these; the first row's is drawn; missing is left out),
        ``level, kind`` (of the intervals, written below the axis). All but k, level and kind are shares in [0, 1].
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
    limited = set(CEILING) <= set(getattr(frame, "columns", ()))
    extra = CEILING if limited else ()
    optional = ("low", "high", *extra)
    checked = check_frame(frame, (*NUMBERS[:2], "low", "high", "independent", *extra), NUMBERS, optional)
    for name in ("accuracy", "independent", *optional):
        within_unit(checked, name)
    checked = checked.sort_values("k", kind="stable").reset_index(drop=True)
    k = column(checked["k"])
    if (k != np.floor(k)).any() or (k < 1).any() or len(np.unique(k)) < k.size:
        raise ValueError(f"k must be different whole numbers >= 1; got {k.tolist()}")
    low, high = column(checked["low"]), column(checked["high"])
    if (low > high).any():
        row = int(np.argmax(low > high))
        raise ValueError(f"high must be >= low; got low={low[row]}, high={high[row]} at k={k[row]:g}")
    from matplotlib.ticker import MaxNLocator

    ax = one_axes(ax, width=ONE_COLUMN, height=2.6)
    banded = ~(np.isnan(low) | np.isnan(high))
    if limited and np.isfinite(checked["ceiling"].iloc[0]):
        _draw_limit(ax, checked)
    ax.plot(k, column(checked["independent"]), "--", color=INDEPENDENT, marker="s", markersize=3.0,
            label="independent jurors (Condorcet)")  # fmt: skip
    ax.fill_between(k, low, high, where=banded.tolist(), color=SEEN, alpha=0.2, linewidth=0)
    ax.plot(k, column(checked["accuracy"]), "-", color=SEEN, marker="o", markersize=3.5, label="these jurors")
    ax.set_xlabel(with_bars("jurors", frame, ~np.isnan(column(frame["low"])), what="blue band"))
    ax.set_ylabel("accuracy of the plurality")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(loc="best", fontsize="small")
    return ax


def _draw_limit(ax: Axes, checked: pd.DataFrame) -> None:
    value, low, high = (float(checked[name].iloc[0]) for name in CEILING)
    if low > high:
        raise ValueError(f"ceiling_high must be >= ceiling_low; got {low} and {high}")
    if np.isfinite(low) and np.isfinite(high):
        ax.axhspan(low, high, color=LIMIT, alpha=0.12, linewidth=0)
    ax.axhline(value, color=LIMIT, linestyle=":", linewidth=1.0, label="limit of a large panel")
