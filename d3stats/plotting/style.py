"""The look of every figure, and how a figure reaches a file.

Matplotlib is imported inside the functions: importing this module costs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ONE_COLUMN", "TWO_COLUMNS", "figure_stem", "save", "use_style", "with_bars"]

ONE_COLUMN = 3.3
"""Width of one journal column, in inches."""

TWO_COLUMNS = 6.9
"""Width of two journal columns, in inches."""


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
        raise ValueError(
            f"path of a figure must lie in a folder that can be written; got {str(path)!r}, and {folder} is none"
        )
    return stem


def save(fig: Figure, path: str | Path) -> tuple[Path, Path]:
    """Write a figure as PDF (vectors) and as PNG (300 dpi); the same figure gives the same bytes.

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
    fig.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Producer": None, "Creator": "d3stats"})
    fig.savefig(png, format="png", dpi=300, metadata={"Software": "d3stats"})
    return pdf, png


def check_frame(
    frame: pd.DataFrame, columns: Sequence[str], numbers: Sequence[str], optional: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the wanted columns of `frame`, numbers as floats.

    Refused: absent columns, no rows, `numbers` that are not finite, `optional` ones that are neither finite
    nor missing.
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
    checked = frame[list(columns)].reset_index(drop=True)
    for name in (*numbers, *optional):
        values = column(pd.to_numeric(checked[name], errors="coerce"))
        bad = ~np.isfinite(values)
        if name in optional:
            bad &= checked[name].notna().to_numpy()
        if bad.any():
            row = int(np.argmax(bad))
            wanted = "finite or missing" if name in optional else "finite numbers"
            got = np.asarray(checked[name], dtype=object)[row]
            shown = repr(got) if isinstance(got, str) else str(got)
            raise ValueError(f"{name} must be {wanted}; got {name}={shown} at row {row}")
        checked[name] = values
    return checked


def column(values: pd.Series) -> NDArray[np.float64]:
    """Return a column of numbers as floats, missing as NaN."""
    return values.to_numpy(dtype=np.float64, na_value=np.nan)


def within_unit(frame: pd.DataFrame, name: str) -> None:
    """Refuse a column with a value outside [0, 1]; a missing one passes."""
    values = column(frame[name])
    bad = (values < 0) | (values > 1)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{name} must lie between 0 and 1; got {name}={values[row]} at row {row}")


def whole_rounds(frame: pd.DataFrame, name: str = "round") -> list[int]:
    """Return the distinct rounds, ascending; fractions are refused."""
    values = column(frame[name])
    bad = values != np.floor(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{name} must be whole numbers; got {name}={values[row]} at row {row}")
    return [int(value) for value in np.unique(values)]


def band(
    frame: pd.DataFrame, alone: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """Return where there is a band, its lower and its upper edges; edges in the wrong order are refused.

    Where one edge is missing, `alone` stands in for it; without `alone` there is no band.
    """
    low, high = column(frame["low"]), column(frame["high"])
    if alone is not None:
        one = np.isnan(low) != np.isnan(high)
        low, high = np.where(one & np.isnan(low), alone, low), np.where(one & np.isnan(high), alone, high)
    bad = low > high
    if bad.any():
        row = int(np.argmax(bad))
        where = f"in round {frame['round'].iloc[row]:g}"
        raise ValueError(f"high must be >= low; got low={low[row]}, high={high[row]} {where}")
    return ~(np.isnan(low) | np.isnan(high)), low, high


STYLE_LEGEND = 7.0
"""Points of a legend's letters in ``d3stats.mplstyle``."""


def one_axes(ax: Axes | None, *, width: float, height: float) -> Axes:
    """Return `ax`, or the axes of a new figure: of the given size in inches with the letters of this package's style.

    Larger letters, as those of matplotlib itself, get a larger figure; in the same one they would leave no room.
    """
    if ax is not None:
        return ax
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.font_manager import FontProperties

    letters = FontProperties(size=mpl.rcParams["legend.fontsize"]).get_size_in_points() / STYLE_LEGEND
    scale = max(1.0, letters)
    _, made = plt.subplots(figsize=(scale * width, scale * height), layout="constrained")
    return made


def with_bars(label: str, frame: pd.DataFrame, drawn: NDArray[np.bool_], what: str = "bars") -> str:
    """Return an axis label with a second line that tells level and kind of the intervals.

    Parameters
    ----------
    label : str
    frame : DataFrame
        With the columns ``level`` (in (0, 1)) and ``kind``, both or one; without them the label stays as it is.
    drawn : ndarray of bool, shape (rows,)
        Which rows have an interval.
    what : str
        What the intervals are drawn as.
    """
    rows = frame[drawn]
    levels: list[float] = sorted(rows["level"].dropna().unique()) if "level" in rows else []
    kinds: list[str] = list(rows["kind"].dropna().astype(str).unique()) if "kind" in rows else []
    said = [" and ".join(f"{100 * level:.6g} %" for level in levels), " or ".join(kinds)]
    told = " ".join(part for part in said if part)
    return f"{label}\n{what}: {told}" if told else label
