"""A posterior of many debates and rounds as a table that says its level and kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def posterior_table(columns: Mapping[str, NDArray[Any] | None], level: float, kind: str) -> pd.DataFrame:
    """Return a row per value: where it stands, then `columns` (those that are there), then level and kind.

    Values of shape (debates, rounds) stand at a debate, from 0, and a round, from 1; others at a row, from 0.
    """
    given = {name: np.asarray(values) for name, values in columns.items() if values is not None}
    shape = next(iter(given.values())).shape
    if len(shape) == 2:
        at = np.indices(shape).reshape(2, -1)
        place = {"debate": at[0], "round": at[1] + 1}
    else:
        place = {"row": np.arange(int(np.prod(shape)))}
    table = pd.DataFrame({**place, **{name: np.ravel(values) for name, values in given.items()}})
    return table.assign(level=float(level), kind=kind)
