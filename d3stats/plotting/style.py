"""The look of every figure, and how a figure reaches a file.

Matplotlib is imported inside the functions: importing this module costs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ONE_COLUMN", "TWO_COLUMNS", "figure_stem", "intervals_drawn", "save", "use_style"]

Look = dict[str, Any]
Group = tuple[str, NDArray[np.bool_], str, str]

ONE_COLUMN = 3.3
"""Width of one journal column, in inches."""

TWO_COLUMNS = 6.9
"""Width of two journal columns, in inches."""

BLUE, VERMILLION, GREEN, PINK, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
PALETTE = (BLUE, VERMILLION, GREEN, PINK, ORANGE, SKY, "#000000")
"""Colours of Okabe and Ito (2008). Names like "C0" would be looked up when a figure is shown, outside of its style."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")

_LEGEND = 7.0
"""Points of a legend's letters in ``d3stats.mplstyle``."""
_UNDER, _LINE = 26, 10
"""Points that tick labels and the label of an axis take, and each further line of the label."""


@contextmanager
def use_style() -> Iterator[None]:
    """Draw in the style of this package; the settings of before come back at the end.

    Colours are those of Okabe and Ito (2008), text is 8 pt, and PDF files embed TrueType fonts.

    Examples
    --------
    >>> import matplotlib
    >>> with use_style():
    ...     matplotlib.rcParams["font.size"]
    8.0
    """
    import matplotlib.style

    with as_file(files("d3stats.plotting") / "d3stats.mplstyle") as sheet:
        with matplotlib.style.context(sheet):
            yield
            # A notebook's backend, loaded by the first figure, turns this on; to undo it would hide the others.
            interactive = matplotlib.is_interactive()
        matplotlib.interactive(interactive)


def figure_stem(path: str | Path) -> Path:
    """Return where a figure goes, without its suffix; a path that cannot be written is refused.

    Examples
    --------
    >>> figure_stem("out/rounds.pdf").as_posix()
    'out/rounds'
    """
    given = Path(path)
    if given.suffix.lower() in {".svg", ".eps", ".jpg", ".jpeg", ".tif", ".tiff", ".gif", ".webp", ".ps"}:
        raise ValueError(f"path of a figure must end in .pdf, .png or nothing; got {str(path)!r}")
    stem = given.with_suffix("") if given.suffix.lower() in {".pdf", ".png"} else given
    folder = next(parent for parent in stem.absolute().parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(f"the folder of a figure must be writable; got {str(path)!r}, and {folder} is none")
    return stem


def save(fig: Figure, path: str | Path) -> tuple[Path, Path]:
    """Write a figure as PDF (vectors) and as PNG (300 dpi); the same figure gives the same bytes.

    Both files hold the sentence of :func:`intervals_drawn` as their description.

    Parameters
    ----------
    fig : Figure
        What to write. Draw it and save it within :func:`use_style`.
    path : str or Path
        Where to, with or without ``.pdf`` or ``.png``: both are written. Missing folders are made.

    Returns
    -------
    tuple of Path
        The PDF and the PNG.

    Raises
    ------
    ValueError
        When `path` has the suffix of another kind of figure, or its folder cannot be one.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> with tempfile.TemporaryDirectory() as folder, use_style():
    ...     [made.name for made in save(Figure(), f"{folder}/nothing")]
    ['nothing.pdf', 'nothing.png']
    """
    stem = figure_stem(path)
    stem.parent.mkdir(parents=True, exist_ok=True)
    pdf, png = (stem.with_name(f"{stem.name}{suffix}") for suffix in (".pdf", ".png"))
    # A date or a version in the file would make two runs of one script differ.
    intervals = intervals_drawn(fig)
    told = {"Subject": intervals} if intervals else {}
    dates: Look = {"CreationDate": None, "Producer": None, "Creator": "d3stats"}
    fig.savefig(pdf, format="pdf", metadata=dates | told)
    told = {"Description": intervals} if intervals else {}
    fig.savefig(png, format="png", dpi=300, metadata={"Software": "d3stats"} | told)
    return pdf, png


def check_frame(
    frame: pd.DataFrame,
    columns: Sequence[str],
    numbers: Sequence[str],
    optional: Sequence[str] = (),
    *,
    shares: Sequence[str] = (),
    once: Sequence[str] = (),
    within: Sequence[tuple[str, str, str]] = (),
) -> pd.DataFrame:
    """Return the wanted columns of `frame` and its ``level``, ``kind`` and ``group``, numbers as floats.

    Parameters
    ----------
    frame : DataFrame
    columns : sequence of str
        What must be there. Rounds must be whole numbers, and ``low`` must not pass ``high``.
    numbers, optional : sequence of str
        Columns that must be finite, and those that may be missing besides.
    shares : sequence of str
        Columns that must lie in [0, 1].
    once : sequence of str
        Columns whose values together must not come twice.
    within : sequence of tuple
        Names (low, value, high) that must be in order.
    """
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"frame must be a DataFrame; got {type(frame).__name__}")
    absent = [name for name in columns if name not in frame.columns]
    if absent:
        raise ValueError(
            f"frame must have the columns {list(columns)}; got {list(frame.columns)}, without {absent}"
        )
    if frame.empty:
        raise ValueError("frame must have at least one row; got none")
    told = [name for name in ("level", "kind", "group") if name in frame.columns and name not in columns]
    checked = frame[[*columns, *told]].reset_index(drop=True)
    if "level" in told:
        optional, shares = (*optional, "level"), (*shares, "level")
    for name in dict.fromkeys((*numbers, *optional)):
        values = column(pd.to_numeric(checked[name], errors="coerce"))
        bad, wanted = ~np.isfinite(values), "finite numbers"
        if name in optional:
            bad, wanted = bad & checked[name].notna().to_numpy(), "finite or missing"
        refuse(f"{name} must be {wanted}", bad, checked, name)
        checked[name] = values
    for name in shares:
        values = column(checked[name])
        refuse(f"{name} must lie between 0 and 1", (values < 0) | (values > 1), checked, name)
    if "round" in columns:
        whole_rounds(checked)
    if once:
        twice = checked.duplicated([*once])
        if twice.any():
            got = ", ".join(f"{name}={_shown(checked[name][twice].iloc[0])}" for name in once)
            raise ValueError(f"frame must have one row per {' and '.join(once)}; got {got} twice")
    if {"low", "high"} <= set(columns):
        low, high = column(checked["low"]), column(checked["high"])
        for row in np.flatnonzero(low > high):
            where = f"in round {checked['round'][row]:g}" if "round" in columns else f"at row {row}"
            raise ValueError(f"high must be >= low; got low={low[row]}, high={high[row]} {where}")
    for names in within:
        low, value, high = (column(checked[name]) for name in names)
        refuse(f"{' <= '.join(names)} must hold", (low > value) | (value > high), checked, *names)
    return checked


def refuse(requirement: str, bad: NDArray[np.bool_], frame: pd.DataFrame, *names: str) -> None:
    """Raise ValueError with the values of the first bad row, if there is one."""
    if bad.any():
        row = int(np.argmax(bad))
        got = ", ".join(f"{name}={_shown(frame[name].iloc[row])}" for name in names)
        raise ValueError(f"{requirement}; got {got} at row {row}")


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return repr(value)
    return f"{value:g}" if isinstance(value, float) and value == np.floor(value) else str(value)


def column(values: pd.Series) -> NDArray[np.float64]:
    """Return a column of numbers as floats, missing as NaN."""
    return values.to_numpy(dtype=np.float64, na_value=np.nan)


def whole_rounds(frame: pd.DataFrame, name: str = "round") -> list[int]:
    """Return the distinct rounds, ascending; fractions are refused, missing ones are left out."""
    values = column(frame[name])
    refuse(f"{name} must be whole numbers", np.isfinite(values) & (values != np.floor(values)), frame, name)
    return [int(value) for value in np.unique(values[~np.isnan(values)])]


def groups(frame: pd.DataFrame, name: str = "group", what: str = "groups to distinguish") -> list[Group]:
    """Return name, rows, colour and marker of each group in order of appearance; without a column one, unnamed."""
    if name not in frame:
        return [("", np.ones(len(frame), dtype=bool), PALETTE[0], MARKERS[0])]
    values = frame[name].astype(str)
    names = list(dict.fromkeys(values))
    if len(names) > len(PALETTE):
        raise ValueError(f"frame must have at most {len(PALETTE)} {what}; got {len(names)}")
    looks = zip(names, PALETTE, MARKERS, strict=False)
    return [(one, (values == one).to_numpy(), colour, marker) for one, colour, marker in looks]


def one_axes(ax: Axes | None, *, width: float, height: float) -> Axes:
    """Return `ax`, or the axes of a new figure: of the given size in inches with the letters of this package's style.

    Larger letters, as those of matplotlib itself, get a larger figure; in the same figure they would leave no
    space.
    """
    if ax is not None:
        return ax
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.font_manager import FontProperties

    letters = FontProperties(size=mpl.rcParams["legend.fontsize"]).get_size_in_points() / _LEGEND
    scale = max(1.0, letters)
    _, made = plt.subplots(figsize=(scale * width, scale * height), layout="constrained")
    return made


def draw_points(
    ax: Axes, x: Floats, y: Floats, low: Floats, high: Floats, *, along: Literal["x", "y"] = "y", **style: Any
) -> None:
    """Draw points with their intervals along one axis; a point without an interval is bare."""
    value = x if along == "x" else y
    ends = np.nan_to_num(np.abs(np.stack([value - low, high - value])))
    look: Look = {
        "linestyle": "none",
        "markersize": 4.0,
        "elinewidth": 0.9,
        "capsize": 0,
        f"{along}err": ends,
    }
    ax.errorbar(x, y, **(look | style))


def legend_above(ax: Axes, columns: int = 2, **more: Any) -> None:
    """Put the legend above the axes, where it hides nothing."""
    place: Look = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "columnspacing": 1.0}
    ax.legend(**(place | {"ncols": columns} | more))


def legend_below(ax: Axes, columns: int = 1, **more: Any) -> None:
    """Put the legend below the label of the axis, in points, so that it stays there at any height."""
    from matplotlib.transforms import ScaledTranslation

    under = _UNDER + _LINE * ax.get_xlabel().count("\n")
    place = ax.transAxes + ScaledTranslation(0, -under / 72, ax.figure.dpi_scale_trans)
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=place,
        ncols=columns,
        columnspacing=1.0,
        **more,
    )


def percent(frame: pd.DataFrame, what: str) -> str:
    """Return "95 % " before `what` where the frame tells the level of its intervals."""
    levels = sorted(frame["level"].dropna().unique()) if "level" in frame else []
    return " and ".join(f"{100 * level:.6g} %" for level in levels) + (f" {what}" if levels else what)


def tell_intervals(ax: Axes, frame: pd.DataFrame, drawn: NDArray[np.bool_], what: str = "bars") -> None:
    """Keep level and kind of the intervals in the label of the axes, for the caption of the figure.

    Parameters
    ----------
    ax : Axes
    frame : DataFrame
        With the columns ``level`` (in (0, 1)) and ``kind``, both or one; without them nothing is kept.
    drawn : ndarray of bool, shape (rows,)
        Which rows have an interval.
    what : str
        What the intervals are drawn as.
    """
    told = _told(frame[drawn])
    if told:
        before = [str(ax.get_label())] if ax.get_label() else []
        ax.set_label("; ".join(dict.fromkeys([*before, f"{what}: {told}"])))


def intervals_drawn(figure: Figure | Axes) -> str:
    """Say for a caption what the intervals of a figure are: as what they are drawn, their level and their kind.

    Parameters
    ----------
    figure : Figure or Axes
        What a function of this module, or the ``plot`` of a result, has drawn.

    Returns
    -------
    str
        Empty where nothing is known of the intervals, or there are none.

    Examples
    --------
    >>> from d3stats.plotting import plot_forest
    >>> frame = pd.DataFrame({"label": ["B - A"], "difference": [0.02], "low": [-0.01], "high": [0.05]})
    >>> intervals_drawn(plot_forest(frame.assign(level=0.95, kind="cluster t")))
    'bars: 95 % cluster t'
    """
    axes = figure.axes if hasattr(figure, "axes") and isinstance(figure.axes, list) else [figure]
    parts = [part for one in axes for part in str(one.get_label()).split("; ") if ": " in part]
    return "; ".join(dict.fromkeys(parts))


def _told(rows: pd.DataFrame) -> str:
    """Return the levels and kinds of intervals."""
    kinds = " or ".join(rows["kind"].dropna().astype(str).unique()) if "kind" in rows else ""
    return percent(rows, kinds).strip()
