"""Over a family of pairs of laws: where more advocates tell two answers apart better, and where worse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

import pandas as pd

from d3stats._check import integer
from d3stats.models.separation import separation

__all__ = ["phase_table"]


def phase_table(
    family: Callable[[float, float], tuple[Any, Any]], grid: Mapping[str, Iterable[float]], k: int = 5
) -> pd.DataFrame:
    """Compare k advocates a side with one, for every pair of laws on a grid of two parameters.

    Parameters
    ----------
    family : callable
        Takes the two parameters; returns the law of one score for either answer. The right ranking is the one
        that one advocate a side gives more often, the first answer ahead where both are as likely.
    grid : mapping
        Name of each of the two parameters to its values, in the order in which `family` takes them.
    k : int
        Advocates a side, at least 2.

    Returns
    -------
    DataFrame
        One row per pair: the two parameters; ``gap_change``, E abs(M1 - M2) at k less that at one, in points;
        ``mean_gap_change``, the same for E M1 - E M2 in the direction of the right ranking;
        ``ranking_change``, the same for the probability of the right ranking (ties by a coin); and ``slack``,
        the part of either that is numerical error.

    Raises
    ------
    ValueError
        When the grid has not two parameters or one without values, or k is below 2.

    Examples
    --------
    >>> from d3stats.models.scores import uniform
    >>> table = phase_table(lambda floor, room: (uniform(floor, 1), uniform(0, 1 + room)),
    ...                     {"floor": [0.2, 0.5], "room": [0.0]}, k=3)
    >>> table.round(3)[["floor", "room", "gap_change", "ranking_change"]].values.tolist()
    [[0.2, 0.0, -0.117, -0.034], [0.5, 0.0, -0.145, -0.056]]
    """
    k = integer("k", k, minimum=2)
    values = {name: [float(x) for x in numbers] for name, numbers in grid.items()}
    if len(values) != 2 or not all(values.values()):
        sizes = {name: len(numbers) for name, numbers in values.items()}
        raise ValueError(f"grid must name two parameters with at least one value each; got {sizes}")
    rows = []
    for point in product(*values.values()):
        found = separation(*family(*point), k=[1, k])
        # Even odds have no right ranking; rounding must not choose one.
        sign = -1.0 if found.ranking[0] < 0.5 - found.prob_error[0] else 1.0
        rows.append(
            {
                **dict(zip(values, point, strict=True)),
                "gap_change": found.expected_gap[1] - found.expected_gap[0],
                "mean_gap_change": sign * (found.mean_gap[1] - found.mean_gap[0]),
                "ranking_change": sign * (found.ranking[1] - found.ranking[0]),
                "slack": float(found.error.sum() + found.prob_error.sum()),
            }
        )
    return pd.DataFrame(rows)
