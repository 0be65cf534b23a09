"""What every drawing asks of its frame and its axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
