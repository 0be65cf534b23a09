"""What the bars of a figure are, in words, so that no interval is drawn without its level and kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["with_bars"]


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
