"""Is the debate a martingale: does the share of correct votes move in no direction on average?

With S_t the share of votes cast in round t that are right, the null is E[S_{t+1} - S_t | past] = 0: talking
changes who is right, and not how many on average. Three looks at it, each with debates of one question kept
together:

- the *mean drift* E[S_{t+1} - S_t], per transition and over all;
- the drift *given S_t*, by cells of the starting count, and a joint test that all cells are 0;
- the *slope* of the increment on S_t, of all panels and of split ones: in split panels it is above 0 where the
  larger side gains, and below 0 where shares return towards the middle. All panels together always tend below
  0 as soon as the ends are left, from which there is one way only.

S is bounded, and that has teeth. From S_t = 0 it can only rise and from S_t = 1 only fall, so under the null a
panel that is all wrong or all right never moves again: a single departure refutes the null for good, and no
test is needed (but look whether a vote was misread). A cell in which nobody moved has no error and adds nothing
to the joint test.

The mean drift and the drift given S_t answer different questions. In models where *beliefs* are martingales
and votes are draws from them (Dirichlet-compound), the mean drift is 0, yet S_t itself is no martingale: a high
count was partly luck, and the next one is lower on average. The first is the claim of the literature, the
second that of the voter model. The same luck makes the share rise, without anybody learning, in debates chosen
because their first vote was bad.

References
----------
Debate or Vote (2025), arXiv 2508.17536 (the claim). Liang and Zeger (1986), Biometrika 73, 13 (clusters).
Hotelling (1931), Annals of Mathematical Statistics 2, 360 (the joint test).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from d3stats._check import choice, integer, probability
from d3stats.models.martingales.increments import increments_of
from d3stats.models.martingales.tables import POOLED, look, notes_on
from d3stats.trajectories import LogSource, log_or_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MartingaleTest", "martingale_test"]

INTERVAL = "t, clustered"


@dataclass(frozen=True, eq=False)
class MartingaleTest:
    """What :func:`martingale_test` found.

    Attributes
    ----------
    drift : DataFrame
        One row per ``transition`` ("1-2", ..., "pooled"): ``n_pairs`` (debates seen in both rounds),
        ``n_clusters``, ``drift, se, df, low, high, p_value``; shares of votes, in [-1, 1]. Limits and p-value are
        missing where every cluster moved alike (``se`` 0) or there is one only; a note then says so.
    joint : DataFrame
        One row per transition: Hotelling's ``f, df1, df2, p_value`` that all tested cells are 0, ``cells``
        (how many are tested), ``p_inside`` (the same without the cells of 0 and of all, which a single misread vote
        can set in motion) and ``why`` (why there is no test, or empty).
    slope : DataFrame
        One row per transition: ``slope, se, df, low, high, p_value`` of the increment on S_t, the same of split
        panels alone (0 < S_t < 1) as ``slope_inside, low_inside, high_inside, p_inside``, and ``why`` (why some of
        these are missing, or empty).
    boundary : DataFrame
        One row per transition: ``all_wrong`` and ``all_right`` (how often a round ended so) and how many
        ``left_all_wrong, left_all_right`` by the next.
    conditional : DataFrame
        One row per transition and cell: ``count`` (of ``panel``), ``start`` (mean share), ``n_pairs,
        n_clusters, drift, se, low, high, tested, why``; limits are missing where ``why`` says that nobody moved or
        all moved alike, or where there is one cluster.
    notes : tuple of str
        What the data cannot tell.
    panel : int
        Votes of the largest panel; cells are its counts.
    n_debates, n_clusters : int
        Debates and clusters with at least one pair of rounds.
    level : float
    interval : str
        How the intervals are made.
    missing : str
        How missing votes were counted; empty for arrays.
    """

    drift: pd.DataFrame
    joint: pd.DataFrame
    slope: pd.DataFrame
    boundary: pd.DataFrame
    conditional: pd.DataFrame
    notes: tuple[str, ...]
    panel: int
    n_debates: int
    n_clusters: int
    level: float
    interval: str
    missing: str

    @property
    def p_value(self) -> float | None:
        """p-value of the mean drift over all transitions; None when every cluster moved alike."""
        value = self.drift["p_value"].iloc[-1]
        return None if pd.isna(value) else float(value)

    @property
    def p_conditional(self) -> float | None:
        """p-value that the drift is 0 in every tested cell, over all transitions; None when none is tested."""
        value = self.joint["p_value"].iloc[-1]
        return None if pd.isna(value) else float(value)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per transition: the drift, then the joint test, the slope and the boundary."""
        names = ["f", "df1", "df2", "p_value", "p_inside", "cells"]
        joint = self.joint.set_index("transition")[names].rename(
            columns={"p_value": "p_conditional", "p_inside": "p_conditional_inside", "cells": "cells_tested"}
        )
        slope = self.slope.set_index("transition").drop(columns=["se", "df", "why"])
        slope = slope.rename(
            columns={
                "low": "slope_low",
                "high": "slope_high",
                "p_value": "p_slope",
                "low_inside": "slope_inside_low",
                "high_inside": "slope_inside_high",
                "p_inside": "p_slope_inside",
            }
        )
        parts = (joint, slope, self.boundary.set_index("transition"))
        frame = self.drift.set_index("transition").join(list(parts)).reset_index()
        return frame.assign(level=self.level, interval=self.interval)

    def summary(self) -> str:
        """Say in a few lines what was found and what cannot be told."""
        row = self.to_frame().iloc[-1]
        lines = [
            f"{self.n_debates} debates, {self.n_clusters} clusters, {int(row['n_pairs'])} pairs of rounds",
            self._said_drift(row),
        ]
        if self.p_conditional is None:
            lines.append(f"drift given the start: no joint test, {self.joint['why'].iloc[-1]}")
        else:
            lines.append(
                f"drift given the start: F({int(row['df1'])}, {int(row['df2'])}) = {row['f']:.2f}, "
                f"p = {self.p_conditional:.3g} over {int(row['cells_tested'])} cells"
            )
        for name, of in (("slope", "all panels"), ("slope_inside", "split panels")):
            if pd.notna(row[name]):
                low, high = row[f"{name}_low"], row[f"{name}_high"]
                limits = f"[{low:+.3f}, {high:+.3f}]" if pd.notna(low) else "(no error can be measured)"
                lines.append(f"slope on the start, {of} {row[name]:+.3f} {limits}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _said_drift(self, row: pd.Series) -> str:
        mean = f"mean drift per round {row['drift']:+.4f}"
        if self.p_value is None:
            return f"{mean}, without limits or p-value: no error can be measured"
        return (
            f"{mean} [{row['low']:+.4f}, {row['high']:+.4f}] "
            f"({self.level:.0%}, {self.interval}), p = {self.p_value:.3g}"
        )

    def plot(self, ax: Axes | None = None, *, by: Literal["pooled", "transition"] = "pooled") -> Axes:
        """Draw the drift by starting count, all transitions together or each in its colour."""
        from d3stats.plotting.martingale_drift import plot_martingale_drift

        choice("by", by, ("pooled", "transition"))
        table = self.conditional
        chosen = table[(table["transition"] == POOLED) == (by == "pooled")]
        frame = chosen.rename(columns={"low": "lower", "high": "upper"})
        if by == "transition":
            frame = frame.assign(group="rounds " + frame["transition"])
        return plot_martingale_drift(frame, ax=ax)


def martingale_test(
    log: LogSource | ArrayLike,
    trials: ArrayLike | None = None,
    *,
    cluster: ArrayLike | None = None,
    missing: Literal["exclude", "wrong"] = "exclude",
    level: float = 0.95,
    min_cell_clusters: int = 10,
) -> MartingaleTest:
    """Test whether the share of correct votes is a martingale.

    Parameters
    ----------
    log : Trajectories, what :func:`d3stats.as_trajectories` takes, or array of int of shape (debates, rounds)
        A log with labels, or correct votes; a debate counts in a transition when it has votes in both rounds.
    trials : int or array of int, shape (debates, rounds), optional
        Votes cast, with arrays only; 0 where a round was not reached.
    cluster : array, shape (debates,), optional
        The question of each debate, with arrays only (a log brings its own); by default each debate is its own.
    missing : {"exclude", "wrong"}
        With a log: leave missing votes out of the share, or count them as not correct.
    level : float
        Level of the intervals, which are Student's with clusters - 1 degrees of freedom.
    min_cell_clusters : int
        A cell with fewer clusters is shown and not tested, at least 2.

    Returns
    -------
    MartingaleTest

    Raises
    ------
    ValueError
        With fewer than two rounds, no debate with votes and a label in two rounds running, or fewer than two
        clusters.

    Examples
    --------
    >>> from d3stats.simulate import simulate
    >>> from d3stats.worlds import Voter
    >>> found = martingale_test(simulate(Voter(panel=5), 300, 4, rng=1))
    >>> found.drift[["transition", "n_pairs", "drift", "low", "high"]].round(3)
      transition  n_pairs  drift    low   high
    0        1-2      300  0.013 -0.007  0.032
    1        2-3      300 -0.005 -0.025  0.014
    2        3-4      300  0.006 -0.010  0.022
    3     pooled      900  0.004 -0.006  0.015
    """
    level = probability("level", level, open_interval=True)
    least = integer("min_cell_clusters", min_cell_clusters, minimum=2)
    log = log_or_array(log)
    data = increments_of(log, trials, cluster, choice("missing", missing, ("exclude", "wrong")))
    groups = [(f"{r}-{r + 1}", data.of_round(r)) for r in np.unique(data.from_round).tolist()]
    looks = [look(name, part, level, least, data.panel) for name, part in [*groups, (POOLED, data)]]
    n_clusters = len(np.unique(data.cluster))
    tables = {key: pd.DataFrame([row for look in looks for row in look[key]]) for key in looks[0]}
    return MartingaleTest(
        **tables,
        notes=notes_on(data, n_clusters, looks),
        panel=data.panel,
        n_debates=len(np.unique(data.debate)),
        n_clusters=n_clusters,
        level=level,
        interval=INTERVAL,
        missing=missing if hasattr(log, "successes_trials") else "",
    )
