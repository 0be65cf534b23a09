"""Cluster-robust tests whether the share of correct votes is a martingale: whether it drifts on average.

With S_t the share of votes cast in round t that are right, the null is E[S_{t+1} - S_t | past] = 0: talking
changes who is right, and not how many on average. Three tests, with debates of one question kept together:

- the *mean drift* E[S_{t+1} - S_t], per transition and over all;
- the drift *given S_t*, by cells of the starting count, and a joint test that all cells are 0;
- the *slope* of the increment on S_t, of all panels and of split ones: in split panels it is above 0 where the
  larger side gains, and below 0 where shares return towards the middle. Over all panels it tends below 0 as soon as
  some panels leave the ends, because from there a share can only move towards the middle.

The drift given S_t, the slope and the ends take the rounds in which the whole panel voted. The share of some of the
votes is that of the panel and chance. A high one is partly luck, so that the next is lower on average although nothing
drifts. With one vote in ten missing and 60 debates, a slope on all shares rejected a true null 16 % of the time. The
mean drift takes every pair of rounds, since missing votes move it neither up nor down.

S is bounded. Under the null a panel that is all wrong or all right never moves again, so a single departure refutes
the null for good (but check whether a vote was misread). A cell in which no panel moved has no error and adds nothing
to the joint test.

The mean drift and the drift given S_t answer different questions. Where *beliefs* are martingales and votes are draws
from them (Dirichlet-compound), the mean drift is 0, yet S_t itself is no martingale: a high count was partly luck, and
the next one is lower on average. For the same reason the share rises, although no agent learns, in debates chosen
because their first vote was bad.

References
----------
Debate or Vote (2025), arXiv 2508.17536 (the claim). Liang and Zeger (1986), Biometrika 73, 13 (clusters).
Hotelling (1931), Annals of Mathematical Statistics 2, 360 (the joint test).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import choice, integer, probability, whole_numbers
from d3stats._words import counted
from d3stats.resampling.cluster_t import hotelling, student_limits
from d3stats.resampling.clusters import FEW_CLUSTERS, cluster_codes, cluster_totals, jackknife
from d3stats.resampling.degrees import changed_degrees, degrees_of_freedom, mean_error, too_unequal
from d3stats.result import Result
from d3stats.sources import LogSource, Reading, log_or_array
from d3stats.trajectories import Trajectories

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MartingaleTest", "martingale_test"]


INTERVAL = "cluster t"
POOLED = "pooled"
NO_ERROR = "every cluster moved by the same amount, so no error can be estimated"


@dataclass(frozen=True, eq=False)
class MartingaleTest(Result):
    """Drifts of the share of correct votes, per transition and per starting count, made by :func:`martingale_test`.

    Attributes
    ----------
    drift : DataFrame
        One row per ``transition`` ("1-2", ..., "pooled"): ``n_pairs`` (debates seen in both rounds), ``n_clusters``,
        ``drift, se, df, low, high, p_value``; shares of votes, in [-1, 1]. Limits and p-value are missing where every
        cluster moved alike (``se`` 0) or there is one only; a note then says so.
    joint : DataFrame
        One row per transition: Hotelling's ``f, df1, df2, p_value`` that all tested cells are 0, ``cells`` (how
        many), ``p_inside`` (the same without the cells of 0 and of all, which a single misread vote can set in
        motion) and ``why`` (why there is no test, or empty).
    slope : DataFrame
        One row per transition: ``slope, se, df, low, high, p_value`` of the increment on S_t, the same of split
        panels alone (0 < S_t < 1) as ``slope_inside, low_inside, high_inside, p_inside``, and ``why`` as above. This
        table and the next two, like `joint`, are of the rounds in which the whole panel voted.
    boundary : DataFrame
        One row per transition: ``all_wrong, all_right`` (how often a round ended so) and ``left_all_wrong,
        left_all_right`` (how many moved in the next).
    conditional : DataFrame
        One row per transition and cell: ``count`` (of ``panel``), ``start`` (mean share), ``n_pairs, n_clusters,
        drift, se, low, high, tested, why``; limits are missing where ``why`` says that no panel moved or all moved
        alike, or where there is one cluster.
    panel : int
        Votes of the largest panel; cells are its counts.
    n_debates, n_clusters : int
        Debates and clusters with at least one pair of rounds.
    level : float
    interval, missing : str
        How the intervals are made; how missing votes were counted (empty for arrays).
    notes : tuple of str
        What the data do not show.

    Examples
    --------
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> found = martingale_test(simulate_debates(Voter(panel=5), 300, 4, rng=1))
    >>> found.n_debates, found.panel, round(found.p_value, 3), found.joint["df1"].tolist()
    (300, 5, 0.402, [4, 4, 4, 4])
    >>> found.plot().get_xlabel()
    'share of correct votes before'
    """

    drift: pd.DataFrame
    joint: pd.DataFrame
    slope: pd.DataFrame
    boundary: pd.DataFrame
    conditional: pd.DataFrame
    panel: int
    n_debates: int
    n_clusters: int
    level: float
    interval: str
    missing: str
    notes: tuple[str, ...] = ()

    @property
    def p_value(self) -> float | None:
        """p-value of the mean drift over all transitions; None when every cluster moved alike."""
        return _last_p_value(self.drift)

    @property
    def p_conditional(self) -> float | None:
        """p-value that the drift is 0 in every tested cell, over all transitions; None when none is tested."""
        return _last_p_value(self.joint)

    @property
    def headline(self) -> str:
        """The mean drift with its limits, and whether it is 0."""
        said = self._said_drift(self.to_frame().iloc[-1])
        return f"{said[0].upper()}{said[1:]}."

    def _title(self) -> str:
        return (
            f"Martingale test of the share of correct votes: {self.n_debates} debates, {self.n_clusters} clusters, "
            f"{100 * self.level:g} % {self.interval} limits"
        )

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {"transitions": self._by_transition(), "drift by starting count": self.conditional}

    def _by_transition(self) -> pd.DataFrame:
        """Return one row per transition: the drift, then the joint test, the slope and the boundary."""
        names = ["f", "df1", "df2", "p_value", "p_inside", "cells"]
        joint = self.joint.set_index("transition")[names].rename(
            columns={"p_value": "p_conditional", "p_inside": "p_conditional_inside", "cells": "cells_tested"}
        )
        slope = self.slope.set_index("transition").drop(columns=["se", "df", "why"])
        new = {"p_value": "p_slope", "p_inside": "p_slope_inside"}
        new |= {f"{limit}{of}": f"slope{of}_{limit}" for limit in ("low", "high") for of in ("", "_inside")}
        slope = slope.rename(columns=new)
        parts = (joint, slope, self.boundary.set_index("transition"))
        frame = self.drift.set_index("transition").join(list(parts)).reset_index()
        return frame.assign(level=self.level, interval=self.interval)

    def summary(self) -> str:
        """Return a few lines with the results and what the data do not show."""
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
                limits = f"[{low:+.3f}, {high:+.3f}]" if pd.notna(low) else "(no error can be estimated)"
                lines.append(f"slope on the start, {of} {row[name]:+.3f} {limits}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _said_drift(self, row: pd.Series) -> str:
        mean = f"mean drift per round {row['drift']:+.4f}"
        if self.p_value is None:
            return f"{mean}, without limits or p-value, because no error can be estimated"
        limits = f"[{row['low']:+.4f}, {row['high']:+.4f}] ({100 * self.level:g} %, {self.interval})"
        return f"{mean} {limits}, p = {self.p_value:.3g}"

    def plot(self, ax: Axes | None = None, *, by: Literal["pooled", "transition"] = "pooled") -> Axes:
        """Draw the drift by starting count, all transitions together or each in its colour."""
        from d3stats.plotting.intervals import plot_martingale_drift

        choice("by", by, ("pooled", "transition"))
        table = self.conditional
        chosen = table[(table["transition"] == POOLED) == (by == "pooled")]
        if by == "transition":
            chosen = chosen.assign(group="rounds " + chosen["transition"])
        return plot_martingale_drift(chosen, ax=ax)


def martingale_test(
    log: LogSource | ArrayLike,
    trials: ArrayLike | None = None,
    *,
    cluster: ArrayLike | None = None,
    missing: Literal["exclude", "wrong"] = "exclude",
    level: float = 0.95,
    min_cell_clusters: int = 10,
    **reading: Unpack[Reading],
) -> MartingaleTest:
    """Test whether the share of correct votes is a martingale: cluster t of the drift, Hotelling's F given the start.

    Parameters
    ----------
    log : Trajectories, what :func:`d3stats.as_trajectories` takes, or array of int of shape (debates, rounds)
        A log with labels, or correct votes; a debate counts in a transition when it has votes in both rounds.
    trials : int or array of int, shape (debates, rounds), optional
        Votes cast, with arrays only; 0 where a round was not reached. The panel of a debate is the most in its rounds.
    cluster : array, shape (debates,), optional
        The question of each debate, with arrays only (a log brings its own); by default each debate is its own.
    missing : {"exclude", "wrong"}
        With a log: leave missing votes out of the share, or count them as not correct.
    level : float
        Level of the intervals, which are Student's. Those of a drift have the degrees of freedom of the clusters that
        moved (:mod:`d3stats.resampling.degrees`), those of a slope what clusters of these sizes are worth.
    min_cell_clusters : int
        A cell with fewer clusters is shown and not tested, at least 2.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

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
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> found = martingale_test(simulate_debates(Voter(panel=5), 300, 4, rng=1))
    >>> found.drift[["transition", "n_pairs", "drift", "low", "high"]].round(3)
      transition  n_pairs  drift    low   high
    0        1-2      300  0.013 -0.007  0.032
    1        2-3      300 -0.005 -0.025  0.015
    2        3-4      300  0.006 -0.010  0.022
    3     pooled      900  0.004 -0.006  0.015
    """
    level = probability("level", level, open_interval=True)
    min_clusters = integer("min_cell_clusters", min_cell_clusters, minimum=2)
    log = log_or_array(log, **reading)
    data = increments_of(log, trials, cluster, choice("missing", missing, ("exclude", "wrong")))
    groups = [(f"{r}-{r + 1}", data.where(data.from_round == r)) for r in np.unique(data.from_round).tolist()]
    found = [_tests_of(name, part, level, min_clusters) for name, part in [*groups, (POOLED, data)]]
    n_clusters = len(np.unique(data.cluster))
    tables = {key: pd.DataFrame([row for one in found for row in one[key]]) for key in found[0]}
    return MartingaleTest(
        **tables,
        notes=(*(log.remarks() if isinstance(log, Trajectories) else ()), *_notes(data, n_clusters, found)),
        panel=data.panel,
        n_debates=len(np.unique(data.debate)),
        n_clusters=n_clusters,
        level=level,
        interval=INTERVAL,
        missing=missing if hasattr(log, "successes_trials") else "",
    )


@dataclass(frozen=True, eq=False)
class Increments:
    """Rows of (debate, round): ``start`` is S_t, ``change`` is S_{t+1} - S_t, ``panel`` the votes of the largest panel.

    ``cell`` is the starting count; in panels of several sizes the count of the largest panel that is nearest, 0
    and ``panel`` being kept for shares of exactly 0 and 1. ``whole`` says where all of the panel voted at the start.
    ``notes`` say what was left out.
    """

    start: Floats
    change: Floats
    cell: Ints
    whole: NDArray[np.bool_]
    from_round: Ints
    debate: Ints
    cluster: Ints
    panel: int
    notes: tuple[str, ...] = ()

    def where(self, at: NDArray[np.bool_]) -> Increments:
        """Return some of the rows."""
        names = ("start", "change", "cell", "whole", "from_round", "debate", "cluster")
        return Increments(**{name: getattr(self, name)[at] for name in names}, panel=self.panel)


def increments_of(log: Any, trials: ArrayLike | None, cluster: ArrayLike | None, missing: str) -> Increments:
    """Read a log or arrays, check them, and return the increments."""
    if hasattr(log, "successes_trials"):
        if trials is not None or cluster is not None:
            raise TypeError("trials and cluster must be left out when a log is given; it brings its own")
        s, n = log.successes_trials(missing)
        group, played = np.asarray(log.cluster), np.asarray(log.reached())
        panel = np.asarray(log.panel)
    else:
        if trials is None:
            raise TypeError("trials must be given with an array of correct votes; got None")
        s = whole_numbers("successes", log, any_shape=True)
        n = whole_numbers("trials", trials, any_shape=True)
        if s.ndim != 2:
            raise ValueError(f"successes must have shape (debates, rounds); got shape {s.shape}")
        if n.ndim and n.shape != s.shape:
            raise ValueError(f"trials must be one number or have shape {s.shape}; got shape {n.shape}")
        n = np.broadcast_to(n, s.shape)
        if (s > n).any():
            at = row, column = tuple(np.argwhere(s > n)[0])
            got = f"trials={n[at]}, successes={s[at]} at debate {row}, round {column + 1}"
            raise ValueError(f"trials must be >= successes; got {got}")
        group = cluster_codes(cluster, len(s), unit="debate")
        # A round without votes is the end of a debate unless it went on.
        played = np.cumsum(n[:, ::-1] > 0, axis=1)[:, ::-1] > 0
        panel = n.max(axis=1, initial=0)
    return _increments(s, n, panel, played, group.astype(np.int64))


def _increments(s: Ints, n: Ints, panels: Ints, played: NDArray[np.bool_], cluster: Ints) -> Increments:
    if s.shape[1] < 2:
        raise ValueError(
            f"the log must have at least two rounds, because a change needs two; got {s.shape[1]}"
        )
    both = (n[:, :-1] > 0) & (n[:, 1:] > 0)
    # Column by column, so that rows of one transition lie together.
    at, debate = np.nonzero(both.T)
    if not len(at):
        raise ValueError(
            "the log must have a debate with a label and with votes in two successive rounds; got none"
        )
    groups = len(np.unique(cluster[debate]))
    if groups < 2:
        need = "at least 2 values, because errors are estimated between questions"
        raise ValueError(f"cluster must have {need}; got {groups}")
    before, votes = s[debate, at], n[debate, at]
    start = before / votes
    change = s[debate, at + 1] / n[debate, at + 1] - start
    panel = int(votes.max())
    # 2 s panel + votes over 2 votes is s / votes * panel rounded half up, in whole numbers.
    nearest = np.clip((2 * before * panel + votes) // (2 * votes), min(1, panel), max(panel - 1, 0))
    cell = np.where(before == 0, 0, np.where(before == votes, panel, nearest))
    known: NDArray[np.bool_] = np.asarray((n > 0).any(axis=1))
    holes, lost = int((~both & played[:, 1:] & known[:, None]).sum()), int((~known).sum())
    notes = (
        [f"{counted(holes, 'pair', 'pairs')} of rounds left out because one of them has no vote"]
        if holes
        else []
    )
    notes += [f"{counted(lost, 'debate')} left out, because they have no vote or no label"] if lost else []
    cell, rounds, debate = (column.astype(np.int64) for column in (cell, at + 1, debate))
    whole = votes == panels[debate]
    if not whole.all():
        notes.append(
            f"{int((~whole).sum())} of {len(whole)} pairs of rounds start with a vote missing and count in the mean "
            "drift alone, because the share of some of the votes varies by chance and returns towards the mean"
        )
    return Increments(start, change, cell, whole, rounds, debate, cluster[debate], panel, tuple(notes))


class ClusteredEstimate(NamedTuple):
    """An estimate with its cluster-robust t interval.

    Where every cluster is alike `se` is 0, which measures no error, and limits and p-value are None; with fewer than
    two clusters, or one that has most of the weight, `se` is None as well. `df` is what the clusters are worth, less
    one (:func:`~d3stats.resampling.degrees_of_freedom`); of a mean change at most what those that moved are worth.
    """

    value: float
    se: float | None
    df: float
    low: float | None
    high: float | None
    p_value: float | None


def clustered_mean(values: Floats, cluster: Ints, level: float) -> ClusteredEstimate:
    """Return the mean change over debates, its error over clusters, and the degrees of freedom of those that moved.

    Where few questions have a wrong vote, most clusters never move. With clusters - 1 degrees of freedom 95 % limits
    held .74 at 44 questions of 2 to 126 debates and an accuracy of .95, and with these .93 or more in every cell tried.
    """
    columns = np.column_stack([values, np.ones(len(values)), np.abs(values)])
    sums, sizes, moved = cluster_totals(columns, cluster).T
    value = float(values.mean())
    if len(sizes) < 2 or too_unequal(sizes):
        return _with_limits(value, 0.0, sizes, level)
    error = mean_error(sums - value * sizes, sizes, float(np.mean((values - value) ** 2)))
    return _with_limits(value, error**2, sizes, level, changed_degrees(sizes, [moved]))


def clustered_slope(x: Floats, y: Floats, cluster: Ints, level: float) -> ClusteredEstimate | None:
    """Return the least-squares slope of y on x, its error by leaving out one cluster at a time (jackknife).

    A sandwich takes residuals of clusters far out on x for too small. None where x does not vary, in all debates or
    without some one cluster.
    """
    # About the means, so that sums of squares do not cancel.
    x, y = x - x.mean(), y - y.mean()
    flat = 1e-9 * len(x) * len(x) * max(float(x @ x) / len(x), 1e-12)

    def slope(sums: Floats) -> Floats:
        n, sx, sy, sxx, sxy = sums.T
        spread = n * sxx - sx**2
        slopes = np.full(len(sums), np.nan)
        np.divide(n * sxy - sx * sy, spread, out=slopes, where=spread > flat)
        return slopes

    totals = cluster_totals(np.column_stack([np.ones(len(x)), x, y, x * x, x * y]), cluster)
    if len(totals) < 2:
        return None
    value, without = float(slope(totals.sum(axis=0)[None])[0]), jackknife(totals, slope)[:, 0]
    if np.isnan([value, *without]).any():
        return None
    g = len(totals)
    # A cluster counts in a slope by how far its starts lie from the mean.
    spread = totals[:, 3]
    return _with_limits(value, (g - 1) / g * float(((without - without.mean()) ** 2).sum()), spread, level)


def _with_limits(
    value: float, variance: float, weights: Floats, level: float, df: float | None = None
) -> ClusteredEstimate:
    if len(weights) < 2 or too_unequal(weights):
        return ClusteredEstimate(value, None, 0, None, None, None)
    se = float(np.sqrt(variance))
    df = degrees_of_freedom(weights) if df is None else df
    # Rounding leaves a trace of an error where every cluster is alike.
    if se <= 1e-13 * max(1.0, abs(value)):
        return ClusteredEstimate(value, 0.0, df, None, None, None)
    return ClusteredEstimate(value, se, df, *student_limits(value, se, df, level))


def _tests_of(name: str, data: Increments, level: float, min_clusters: int) -> dict[str, list[Any]]:
    """Return the rows of one transition (or of all together) for every table."""
    rounds = {"transition": name}
    mean = clustered_mean(data.change, data.cluster, level)
    drift = rounds | {
        "n_pairs": len(data.change),
        "n_clusters": len(np.unique(data.cluster)),
        "drift": mean.value,
    }
    drift |= _error(mean)
    data = data.where(data.whole)
    d, start, cluster = data.change, data.start, data.cluster
    cells = [_cell(k, data, level, min_clusters) for k in np.unique(data.cell).tolist()]
    tested = np.array([cell["count"] for cell in cells if cell["tested"]], dtype=np.int64)
    joint = hotelling(cluster_totals(d[:, None] * (data.cell[:, None] == tested), cluster))
    inside = tested[(tested > 0) & (tested < data.panel)]
    apart = hotelling(cluster_totals(d[:, None] * (data.cell[:, None] == inside), cluster))
    why = ""
    if joint.p_value is None:
        why = "no cell can be tested" if not len(tested) else "the cells do not vary independently"
    elif apart.p_value is None:
        why = "p_inside is missing, because no cell of split panels can be tested"
    sloped, split = _slope(data, level), _slope(data.where((start > 0) & (start < 1)), level)
    for key, column in (("slope", "slope"), ("low", "low"), ("high", "high"), ("p", "p_value")):
        sloped[f"{key}_inside"] = split[column]
    flat = _why_no_slope(sloped, "the starts")
    if not flat and (inner := _why_no_slope(split, "the starts of split panels")):
        flat = f"slope_inside: {inner}"
    edge: dict[str, int] = {}
    for key, ended in (("all_wrong", start == 0), ("all_right", start == 1)):
        edge |= {key: int(ended.sum()), f"left_{key}": int((ended & (d != 0)).sum())}
    return {
        "drift": [drift],
        "joint": [rounds | joint._asdict() | {"cells": len(tested), "p_inside": apart.p_value, "why": why}],
        "slope": [rounds | sloped | {"why": flat}],
        "boundary": [rounds | edge],
        "conditional": [rounds | cell for cell in cells],
    }


def _slope(data: Increments, level: float) -> dict[str, Any]:
    found = clustered_slope(data.start, data.change, data.cluster, level) if len(data.start) else None
    if found is None:
        return dict.fromkeys(("slope", "se", "df", "low", "high", "p_value"))
    return {"slope": found.value} | _error(found)


def _why_no_slope(found: dict[str, Any], starts: str) -> str:
    if found["slope"] is None:
        return f"{starts} do not vary enough"
    return NO_ERROR if found["p_value"] is None else ""


def _cell(count: int, data: Increments, level: float, min_clusters: int) -> dict[str, Any]:
    inside = data.where(data.cell == count)
    mean, n_clusters = clustered_mean(inside.change, inside.cluster, level), len(np.unique(inside.cluster))
    why = ""
    if n_clusters < min_clusters:
        why = f"{counted(n_clusters, 'cluster')}, fewer than {min_clusters}"
    elif not inside.change.any():
        why = "no panel moved"
    elif not mean.se:
        why = "all moved alike"
    return {
        "count": count,
        "panel": data.panel,
        "start": float(inside.start.mean()),
        "n_pairs": len(inside.change),
        "n_clusters": n_clusters,
        "drift": mean.value,
        **{name: getattr(mean, name) for name in ("se", "low", "high")},
        "tested": not why,
        "why": why,
    }


def _last_p_value(table: pd.DataFrame) -> float | None:
    value = table["p_value"].iloc[-1]
    return None if pd.isna(value) else float(value)


def _error(estimate: Any) -> dict[str, Any]:
    """Return all of an estimate but its value."""
    return {name: value for name, value in estimate._asdict().items() if name != "value"}


def _notes(data: Increments, n_clusters: int, found: list[dict[str, list[Any]]]) -> tuple[str, ...]:
    """Say in words what was left out, what the ends say, and what cannot be told; `found` ends with all rounds."""
    notes, pooled = list(data.notes), found[-1]
    errors = {one["drift"][0]["transition"]: one["drift"][0]["se"] for one in found}
    if alone := [name for name, se in errors.items() if se is None]:
        why = (
            too_unequal(np.bincount(data.cluster).astype(np.float64), what="debates")
            or "there is one cluster"
        )
        notes.append(f"no error can be estimated in transitions {', '.join(alone)}: {why}")
    if n_clusters < FEW_CLUSTERS:
        notes.append(f"{n_clusters} clusters are too few for reliable errors; use at least {FEW_CLUSTERS}")
    (edge,), (drift,) = pooled["boundary"], pooled["drift"]
    left, held = (edge[f"{verb}all_wrong"] + edge[f"{verb}all_right"] for verb in ("left_", ""))
    if left:
        notes.append(
            f"the share left 0 or 1 after {left} of {held} rounds that ended all wrong or all right; under "
            "the null hypothesis it never does, so strictly it is not a martingale"
        )
    if thin := [str(cell["count"]) for cell in pooled["conditional"] if "fewer than" in cell["why"]]:
        notes.append(
            f"cells shown but not tested, because they have too few clusters: count {', '.join(thin)}"
        )
    if alike := [name for name, se in errors.items() if se == 0]:
        notes.append(f"{NO_ERROR}, no limits and no p-value; transitions {', '.join(alike)}")
    if drift["low"] is not None:
        half = (drift["high"] - drift["low"]) / 2
        notes.append(f"a mean drift within {half:.3f} of 0 could not be detected")
    return tuple(notes)
