"""Sums by question, as a table that may be published: how many questions have which sums, and the estimates from it.

A ratio of sums and its clustered interval need each question's two sums and nothing else, and questions with the same
sums are exchangeable. So the counts of questions are all that a study has to keep of logs that may not be copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from d3stats.planning.costs import ratio, share
from d3stats.resampling.clusters import cluster_totals

__all__ = ["estimated", "said", "summed"]


def summed(
    about: Mapping[str, Any], measures: Mapping[str, tuple[ArrayLike, ArrayLike]], cluster: ArrayLike
) -> pd.DataFrame:
    """Return how many questions have which two sums, for each measure; a measure is (above, below) by row of data.

    Questions without anything below the line are left out.
    """
    parts = []
    for name, (above, below) in measures.items():
        pair = np.column_stack([np.asarray(above, dtype=float), np.asarray(below, dtype=float)])
        totals = cluster_totals(pair, np.asarray(cluster, dtype=np.int64))
        totals = totals[totals[:, 1] > 0]
        values, times = np.unique(totals, axis=0, return_counts=True)
        part = pd.DataFrame({"above": values[:, 0], "below": values[:, 1], "questions": times})
        parts.append(part.assign(**about, measure=name)[[*about, "measure", "above", "below", "questions"]])
    return pd.concat(parts, ignore_index=True)


def estimated(table: pd.DataFrame, level: float, ratios: Sequence[str] = ()) -> pd.DataFrame:
    """Return each measure with its interval: cluster Wilson for shares, Student's t for those named in `ratios`."""
    keys = [name for name in table if name not in ("above", "below", "questions")]
    rows = []
    for key, part in table.groupby(keys, sort=False):
        above, below = (
            np.repeat(part[name].to_numpy(float), part["questions"]) for name in ("above", "below")
        )
        named = dict(zip(keys, key if isinstance(key, tuple) else (key,), strict=True))
        made = (ratio if named["measure"] in ratios else share)(above, below, np.arange(len(above)), level)
        rows.append(
            {
                **named,
                "value": made.value,
                "low": made.low,
                "high": made.high,
                "n": int(below.sum()),
                "questions": len(above),
            }
        )
    return pd.DataFrame(rows)


def said(row: Mapping[Any, Any], form: str = ".3f") -> str:
    """Return an estimate with its interval, a dash where there is none."""
    if pd.isna(row["value"]):
        return "-"
    return f"{row['value']:{form}}" + (
        "" if pd.isna(row["low"]) else f" [{row['low']:{form}}, {row['high']:{form}}]"
    )
