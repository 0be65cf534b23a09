"""What do the scores of a log say? Mean scores and gaps by round, aspects of single responses, and ranks of candidates.

Joins the means of the log's arrays with score gaps, direct scores, their correlations with people, and Borda counts.
Intervals are over clusters, by default questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import RngLike, probability
from d3stats._words import counted
from d3stats.agent import RESPONSE
from d3stats.inference.judges.aspects import AspectCorrelations, aspect_correlations, direct_scores
from d3stats.inference.judges.ranking import borda_count
from d3stats.inputs.labels import StrataOf
from d3stats.inputs.scores import CandidateScores
from d3stats.note import UNREAD_SCORES, kind_of, with_words
from d3stats.planning.score_gaps import score_gaps, score_remarks
from d3stats.resampling import item_ratio
from d3stats.result import Result
from d3stats.sources import LogSource, Reading, open
from d3stats.sources.scores import candidate_scores, score_ranges
from d3stats.sources.strata import item_strata
from d3stats.trajectories import Trajectories

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ScoreReport", "scores"]

ALL = "all"
"""The name of the row that is over all strata."""

Rows = list[tuple[str, NDArray[np.bool_]]]
"""Names of strata, the whole first, and which debates each has."""


def _told(value: float, row: dict[Any, Any]) -> str:
    bare = row["low"] != row["low"]
    return f"{value:z.1f}" + ("" if bare else f" [{row['low']:z.1f}, {row['high']:z.1f}]")


@dataclass(frozen=True, kw_only=True)
class ScoreReport(Result):
    """Scores of a log, as :func:`scores` collects them.

    Attributes
    ----------
    means : DataFrame
        One row per stratum, round and side: ``stratum, round, side, mean, low, high, n, n_clusters, level, kind``.
    gaps : DataFrame or None
        The distance between the scores of two sides by stratum and round, as :func:`score_gaps` has it; None unless
        there are two sides.
    aspects : DataFrame or None
        Means of single responses: ``stratum, aspect, mean, low, high, n, n_clusters, level, kind``.
    correlations : AspectCorrelations or None
        With human scores, where these were given.
    ranks : DataFrame or None
        One row per candidate where a debate has three or more: ``candidate, debates, borda, firsts, mean, wins``. The
        first three numbers are means over debates; ``wins`` counts debates that the candidate leads by Borda count.
    n_debates : int
        Debates with scores.
    notes : tuple of str

    Examples
    --------
    >>> from d3stats.worlds import Courtroom, simulate_debates
    >>> found = scores(simulate_debates(Courtroom(), n_debates=40, n_rounds=2, rng=1))
    >>> found.means[["round", "side", "mean"]].round(1).values.tolist()[:2], found.aspects is None
    ([[1, 'A', 85.0], [1, 'B', 83.1]], True)
    >>> found.plot().get_ylabel()
    'gap (raw points)'
    """

    means: pd.DataFrame
    gaps: pd.DataFrame | None = None
    aspects: pd.DataFrame | None = None
    correlations: AspectCorrelations | None = None
    ranks: pd.DataFrame | None = None
    n_debates: int = 0
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The gap between both sides in the last round, or else the means of the last round."""
        if self.gaps is not None:
            row = self.gaps[self.gaps["category"] == ALL].to_dict("records")[-1]
            return f"The gap between the sides is {_told(row['gap'], row)} points in round {row['round']}."
        last = self.means[self.means["stratum"] == ALL]
        last = last[last["round"] == last["round"].max()].sort_values("mean", ascending=False)
        listed = "; ".join(
            f"{row['side']} {_told(row['mean'], row)}" for row in last.head(3).to_dict("records")
        )
        more = f"; and {len(last) - 3} more sides" if len(last) > 3 else ""
        return f"Mean scores in the last round: {listed}{more}."

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        tables = {
            "means": self.means,
            "gaps": self.gaps,
            "aspects": self.aspects,
            "correlations": None if self.correlations is None else self.correlations.to_frame(),
            "ranks": self.ranks,
        }
        return {name: table for name, table in tables.items() if table is not None}

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the gaps by round, or, where there are no two sides, the correlations or the means of the aspects."""
        from d3stats.plotting import plot_forest, plot_gap_trajectories

        if self.gaps is not None:
            gaps = self.gaps[self.gaps["category"] != ALL]
            return plot_gap_trajectories(gaps if len(gaps) else self.gaps, ax=ax)
        if self.correlations is not None:
            frame = self.correlations.to_frame()
            drawn = frame.assign(label=frame["aspect"], group=frame["method"], difference=frame["value"])
            return plot_forest(drawn, xlabel="correlation with human scores", ax=ax)
        if self.aspects is not None:
            drawn = self.aspects.assign(label=self.aspects["aspect"], difference=self.aspects["mean"])
            several = len(drawn["stratum"].unique()) > 1
            drawn = drawn.assign(group=drawn["stratum"]) if several else drawn
            return plot_forest(drawn, xlabel="mean score", ax=ax)
        last = self.means[(self.means["round"] == self.means["round"].max()) & (self.means["stratum"] == ALL)]
        return plot_forest(
            last.assign(label=last["side"], difference=last["mean"]), xlabel="mean score", ax=ax
        )


def scores(
    source: LogSource,
    *,
    strata: StrataOf = None,
    human: pd.DataFrame | None = None,
    level: float = 0.95,
    rng: RngLike = None,
    **reading: Unpack[Reading],
) -> ScoreReport:
    """Collect mean scores and gaps by round, the aspects of single responses, and ranks of three or more candidates.

    Parameters
    ----------
    source : what :func:`d3stats.as_trajectories` takes
        A log with scores. Aspects and ranks are taken from files and from a ``DebateLog``, which have the records.
    strata : str, mapping or Series, optional
        The column that says a debate's kind, or the kind of each debate by its name.
    human : DataFrame, optional
        Scores by people of single responses, as :func:`d3stats.inference.aspect_correlations` takes them.
    level : float
        Level of the intervals.
    rng : int or Generator, optional
        For intervals of correlations that need a bootstrap.
    **reading : Reading
        How the log is read, see :func:`d3stats.open`.

    Returns
    -------
    ScoreReport

    Raises
    ------
    ValueError
        When the log has no scores, or `human` is given for a log without scores of single responses.

    Examples
    --------
    >>> from d3stats.worlds import Courtroom, courtroom_items, simulate_debates
    >>> log = simulate_debates(Courtroom(), n_debates=60, n_rounds=3, rng=1)
    >>> kinds = courtroom_items(Courtroom(), 60, 1).set_index("debate")["category"]
    >>> found = scores(log, strata=kinds)
    >>> found.gaps.query("category == 'all'")[["round", "gap", "n"]].round(1).values.tolist()
    [[1.0, 8.8, 60.0], [2.0, 9.3, 60.0], [3.0, 9.4, 60.0]]
    """
    level = probability("level", level, open_interval=True)
    opened = open(source, **reading)
    kinds = None if strata is None else item_strata(opened, strata)
    opened = opened.aside(strata)
    t = opened.trajectories()
    if t.scores is None or not np.isfinite(t.scores).any():
        why = "; ".join(note for note in t.notes if kind_of(note) == UNREAD_SCORES)
        raise ValueError(
            f"log must hold scores; got none in {t!r}"
            + (f" ({why})" if why else "")
            + "; they are the field scores of a turn, or columns such as score_A and score_B"
        )
    groups: Rows = [(ALL, np.ones(len(t), dtype=np.bool_))]
    notes = score_remarks(t)
    if kinds is not None:
        labels = kinds.labels(list(t.debates), "debate", unit="debate")
        groups += [(name, labels.rows(code)) for code, name in enumerate(labels.names)]
        if ALL in labels.names:
            raise ValueError(
                f"{labels.column} must not have the value {ALL!r}, the name of the whole; got it"
            )
        if lost := int((labels.codes < 0).sum()):
            notes.append(
                f"{lost} of {counted(len(t), 'debate')} have no {labels.column} and are in {ALL!r} alone"
            )
    totals, criteria = score_ranges(opened)
    gaps, said = (None, ()) if len(t.sides) != 2 else _gaps(t, groups, level)
    if gaps is not None:
        gaps["high"] = gaps["high"].clip(upper=totals[1] - totals[0])
    notes += [note for note in said if note not in notes]
    aspects = correlations = ranks = None
    if RESPONSE in t.sides and opened.has_records:
        table = direct_scores(opened)
        notes += [note for note in table.attrs["notes"] if note not in notes]
        aspects = _aspects(table, t, groups, level, criteria)
        if human is not None:
            correlations = aspect_correlations(opened, human, level=level, rng=rng)
            known = {*notes, *(with_words(note, "scores: ") for note in notes)}
            notes += [note for note in correlations.notes if note not in known]
            notes += dict.fromkeys(
                f"{aspect}: the correlation has no interval: {one.note}"
                for (aspect, _), one in correlations.correlations.items()
                if one.low is None and one.note
            )
    if human is not None and correlations is None:
        raise ValueError(
            f"human must come with a log of single responses ({RESPONSE!r}); got scores of {', '.join(t.sides[:5])}"
        )
    if len(t.sides) > 2 and opened.has_records:
        ranks, told = _ranks(candidate_scores(opened))
        notes += told
    return ScoreReport(
        means=_means(t, groups, level, totals),
        gaps=gaps,
        aspects=aspects,
        correlations=correlations,
        ranks=ranks,
        n_debates=int(np.isfinite(t.scores).any(axis=(1, 2)).sum()),
        notes=tuple(notes),
    )


def _row(
    values: NDArray[np.float64], cluster: NDArray[np.int64], level: float, within: tuple[float, float]
) -> dict[str, Any]:
    """Return the mean of known values with its interval over clusters, within the range of the scale."""
    e = item_ratio("mean", values, np.ones(len(values)), cluster, level=level, tested=False)
    return {
        "mean": e.value,
        "low": np.nan if e.low is None else max(e.low, within[0]),
        "high": np.nan if e.high is None else min(e.high, within[1]),
        "n": len(values),
        "n_clusters": e.n_clusters,
        "level": level,
        "kind": e.kind,
    }


def _means(t: Trajectories, groups: Rows, level: float, within: tuple[float, float]) -> pd.DataFrame:
    assert t.scores is not None
    rows = []
    for name, here in groups:
        for r in range(t.n_rounds):
            for s, side in enumerate(t.sides):
                known = here & np.isfinite(t.scores[:, r, s])
                if known.any():
                    where = {"stratum": name, "round": r + 1, "side": side}
                    rows.append(where | _row(t.scores[known, r, s], t.cluster[known], level, within))
    return pd.DataFrame(rows)


def _gaps(t: Trajectories, groups: Rows, level: float) -> tuple[pd.DataFrame | None, tuple[str, ...]]:
    """Return the gaps of the whole and of each stratum; none where no debate has scores of both sides."""
    assert t.scores is not None
    both: NDArray[np.bool_] = np.isfinite(t.scores).min(axis=2).max(axis=1)
    tables, notes = [], dict[str, None]()
    for name, here in groups:
        if not (here & both).any():
            continue
        of = {debate: name for debate, own in zip(t.debates, here, strict=True) if own}
        found = score_gaps(t, of, level=level)
        tables.append(found)
        if name == ALL:
            notes |= dict.fromkeys(found.attrs["notes"])
    return (pd.concat(tables, ignore_index=True) if tables else None), tuple(notes)


def _aspects(
    table: pd.DataFrame, t: Trajectories, groups: Rows, level: float, within: tuple[float, float]
) -> pd.DataFrame:
    place = {name: k for k, name in enumerate(t.debates)}
    at = np.array([place[name] for name in table["debate"]], dtype=np.int64)
    rows = []
    for name, here in groups:
        for aspect in table.columns.drop(["debate", "question", "cluster", "agents"]):
            values = table[aspect].to_numpy(dtype=float, na_value=np.nan)
            known = np.isfinite(values) & here[at]
            if known.any():
                where = {"stratum": name, "aspect": str(aspect)}
                rows.append(where | _row(values[known], t.cluster[at[known]], level, within))
    return pd.DataFrame(rows)


def _ranks(scores: CandidateScores) -> tuple[pd.DataFrame | None, list[str]]:
    """Rank the candidates of each debate with three or more; return means over debates."""
    table, told = scores.table, list(scores.notes)
    several = table.groupby("item")["candidate"].transform("nunique") > 2
    if not several.any():
        return None, told
    try:
        counts = borda_count(table[several])
    except ValueError as error:
        return None, [*told, f"no ranks: {error}"]
    by = counts.points.groupby("candidate", sort=True)
    ranks = by[["borda", "firsts", "mean"]].mean()
    ranks.insert(0, "debates", by.size())
    won = counts.winners["borda"].value_counts()
    ranks["wins"] = [int(won.get(name, 0)) for name in ranks.index]
    return ranks.sort_values("borda", ascending=False, kind="stable").reset_index(), [*told, *counts.notes]
