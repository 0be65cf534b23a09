"""Which of several candidates do judges prefer: by Borda count, by majority of first places, or by mean score?

A score says how much better a candidate is; a ranking only that it is better, and does not change when a judge is
strict or uses little of the scale.

References
----------
Borda (1784). Young (1974), Journal of Economic Theory 9, 43. LLM advocates paper, 1.1, 2.4 and 5: voting schemes, and
ranking against scoring.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._words import counted
from d3stats.result import Result
from d3stats.values import numbers_of

__all__ = ["BordaCount", "borda_count"]

COLUMNS = ("item", "agent", "candidate")
METHODS = ("borda", "majority", "mean")


@dataclass(frozen=True, kw_only=True)
class BordaCount(Result):
    """Points of candidates and winners of items, by three ways to add up judgments.

    Attributes
    ----------
    winners : DataFrame
        One row per item: ``item, judges`` (rankings that count) and the winner by ``borda``, ``majority`` and ``mean``;
        missing where several candidates lead. Rankings have no mean.
    points : DataFrame
        One row per item and candidate: ``item, candidate, borda, firsts, mean``.
    n_tied, n_incomplete : int
        Rankings with equal candidates, and rankings left out because a candidate is missing in them.
    notes : tuple of str

    Examples
    --------
    >>> marks = [(3, 2, 1)] * 3 + [(1, 3, 2)] * 2
    >>> rows = [("q", judge, name, points) for judge, row in enumerate(marks) for name, points in zip("xyz", row)]
    >>> found = borda_count(pd.DataFrame(rows, columns=["item", "agent", "candidate", "score"]))
    >>> found.winners[["borda", "majority", "mean"]].values.tolist()
    [['y', 'x', 'y']]
    >>> found.agreement()["same"].tolist()
    [0, 1, 0]
    """

    winners: pd.DataFrame
    points: pd.DataFrame
    n_tied: int
    n_incomplete: int
    notes: tuple[str, ...] = ()

    def agreement(self) -> pd.DataFrame:
        """Return how often two methods have the same winner: ``first, second, items, same``.

        Items in which a method has no single winner do not count.
        """
        rows = []
        methods = [name for name in METHODS if name in self.winners]
        for i, first in enumerate(methods):
            for second in methods[i + 1 :]:
                both = self.winners[[first, second]].dropna()
                rows.append((first, second, len(both), int((both[first] == both[second]).sum())))
        return pd.DataFrame(rows, columns=["first", "second", "items", "same"])

    @property
    def headline(self) -> str:
        """The answer, how often the Borda count and the other methods name the same winner."""
        table = self.agreement()
        table = table[table["first"] == "borda"] if len(table) else table
        listed = [
            f"{row['same']} of {row['items']} with the {row['second']}" for row in table.to_dict("records")
        ]
        won = int(self.winners["borda"].notna().sum())
        same = f"; the same winner as {' and '.join(listed)}" if listed else ""
        return f"The Borda count names one winner in {won} of {counted(len(self.winners), 'item')}{same}."

    def _title(self) -> str:
        return f"Borda count, majority of first places and mean score, {counted(len(self.winners), 'item')}"

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {"winners": self.winners, "points": self.points, "same winner": self.agreement()}


def borda_count(
    judgments: pd.DataFrame, *, value: str = "score", item: str = "item", agent: str = "agent"
) -> BordaCount:
    """Rank the candidates of each item by Borda count, beside the majority of first places and the mean score.

    A judge gives a candidate one point for each candidate that it ranks lower and half a point for each equal one, so
    that equal candidates have the average of their ranks. A first place that several share is divided among them.

    Parameters
    ----------
    judgments : DataFrame
        One row per judge and candidate: `item`, `agent`, ``candidate`` and `value`.
    value : {"score", "rank"}
        The column with scores (more is better) or with ranks (1 is best; equal candidates may share a rank in any way).
    item, agent : str
        Names of the columns.

    Returns
    -------
    BordaCount

    Raises
    ------
    ValueError
        When a column is missing, a judge has two values for a candidate, a value is text or infinite, a rank is below
        1, or no ranking is complete.

    Notes
    -----
    A ranking counts only if it has every candidate of its item: a candidate without a score is missing, not last.

    Examples
    --------
    >>> table = pd.DataFrame({"item": "q", "agent": list("aabb"), "candidate": list("xyxy"), "rank": [1, 2, 1, 1]})
    >>> found = borda_count(table, value="rank")
    >>> found.points[["candidate", "borda"]].values.tolist(), found.notes
    ([['x', 1.5], ['y', 0.5]], ('1 of 2 rankings has equal candidates, which share the average of their ranks',))
    """
    if value not in ("score", "rank"):
        raise ValueError(f"value must be 'score' or 'rank'; got value={value!r}")
    columns = [item, agent, "candidate", value]
    absent = [name for name in columns if name not in judgments.columns]
    if absent:
        raise ValueError(
            f"judgments must have the columns {', '.join(columns)}; got none named {', '.join(absent)}"
        )
    from scipy.stats import rankdata

    table = judgments[columns].set_axis([*COLUMNS, "value"], axis=1)
    table["value"] = numbers_of(value, table["value"])
    twice = table[table.duplicated(list(COLUMNS))]
    if len(twice):
        first = twice.iloc[0]
        raise ValueError(
            f"a judge must have one {value} per candidate; got {first['agent']!r} again for {first['candidate']!r} of "
            f"item {first['item']!r}"
        )
    if value == "rank" and (table["value"] < 1).any():
        raise ValueError(f"rank must be 1 or more, 1 for the best; got rank={table['value'].min():g}")
    rows, winners = [], []
    tied = incomplete = complete = 0
    for name, own in table.groupby("item", sort=False):
        wide = own.set_index(["agent", "candidate"])["value"].unstack()  # noqa: PD010  # each pair occurs once
        whole = wide.dropna()
        incomplete += len(wide) - len(whole)
        complete += len(whole)
        if whole.empty:
            winners.append({"item": name, "judges": 0} | dict.fromkeys(_methods(value)))
            continue
        good = whole.to_numpy() if value == "score" else -whole.to_numpy()
        points = rankdata(good, axis=1) - 1
        best = good == good.max(axis=1, keepdims=True)
        firsts = best / best.sum(axis=1, keepdims=True)
        tied += int(sum(len(np.unique(each)) < len(each) for each in good))
        sums = {"borda": points.sum(axis=0), "majority": firsts.sum(axis=0)}
        if value == "score":
            sums["mean"] = good.mean(axis=0)
        names = list(whole.columns)
        leading = {method: _leader(names, sums[method]) for method in _methods(value)}
        winners.append({"item": name, "judges": len(whole)} | leading)
        for k, candidate in enumerate(names):
            row = {
                "item": name,
                "candidate": candidate,
                "borda": sums["borda"][k],
                "firsts": sums["majority"][k],
            }
            rows.append(row | ({"mean": sums["mean"][k]} if value == "score" else {}))
    if not complete:
        raise ValueError(
            "judgments must hold a judge who has every candidate of an item; got "
            f"{counted(incomplete, 'incomplete ranking')} and no other"
        )
    notes = []
    if tied:
        has = "has" if tied == 1 else "have"
        notes.append(
            f"{tied} of {counted(complete, 'ranking')} {has} equal candidates, which share the average of their ranks"
        )
    if incomplete:
        notes.append(
            f"{incomplete} of {counted(complete + incomplete, 'ranking')} left out: a candidate is missing in "
            f"{'it' if incomplete == 1 else 'them'}"
        )
    return BordaCount(
        winners=pd.DataFrame(winners),
        points=pd.DataFrame(rows),
        n_tied=tied,
        n_incomplete=incomplete,
        notes=tuple(notes),
    )


def _methods(value: str) -> tuple[str, ...]:
    return METHODS if value == "score" else METHODS[:2]


def _leader(names: Sequence[object], sums: NDArray[np.float64]) -> object:
    """Return the candidate with the most points, None where several have them."""
    top = np.flatnonzero(np.isclose(sums, sums.max(), rtol=1e-12, atol=1e-12))
    return names[top[0]] if len(top) == 1 else None
