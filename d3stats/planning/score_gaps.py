"""Score gaps by round and kind of question: how far apart a judge puts two answers, and after which round it decides.

References
----------
D3, appendix G.4 and figure 5 (gap trajectories by category of MT-Bench).
"""

from __future__ import annotations

from typing import Any, Literal, Unpack, get_args

import numpy as np
import pandas as pd

from d3stats._check import choice, probability
from d3stats._words import counted
from d3stats.inputs.labels import StrataOf
from d3stats.note import UNREAD_SCORES, kind_of
from d3stats.plausibility import OF_SCORES, warnings_of
from d3stats.resampling import item_ratio
from d3stats.sources import LogSource, Reading, open
from d3stats.sources.strata import item_strata
from d3stats.trajectories import MISSING, Trajectories

__all__ = ["Gap", "score_gaps"]

Gap = Literal["absolute", "label"]
"""Distance of the scores, or the right answer's minus the other's."""


def score_gaps(
    source: LogSource,
    strata: StrataOf = "category",
    *,
    gap: Gap = "absolute",
    level: float = 0.95,
    **reading: Unpack[Reading],
) -> pd.DataFrame:
    """Compute the mean gap between the scores of two answers by stratum and round, with cluster t intervals.

    :func:`d3stats.plotting.plot_gap_trajectories` draws the table.

    Parameters
    ----------
    source : Trajectories, or what :func:`d3stats.as_trajectories` takes
        A log with scores of two sides.
    strata : str, mapping or Series
        The column that says a debate's kind, or the kind of each debate by its name.
    gap : {"absolute", "label"}
        The distance between the scores, or the score of the right answer minus the other score. The second needs
        labels that are names of sides.
    level : float
        Level of the intervals.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    DataFrame
        One row per stratum and scored round: ``category, round, gap, low, high, n, n_clusters, verdict, level, kind``.
        ``verdict`` is true in the lower median of the debates' last scored rounds. A debate that ended is missing from
        later rounds, so a later mean is one of fewer debates: see ``n``. Limits are missing where one question or no
        variation is left. ``attrs["notes"]`` has what the reader did, and counts the debates that were left out.

    Raises
    ------
    ValueError
        When the log has no scores of two sides, no gap is known, or no debate has a stratum.

    Examples
    --------
    >>> from d3stats.worlds import Courtroom, courtroom_items, simulate_debates
    >>> log = simulate_debates(Courtroom(), n_debates=60, n_rounds=3, rng=1)
    >>> kinds = courtroom_items(Courtroom(), 60, 1).set_index("debate")["category"]
    >>> table = score_gaps(log, kinds)
    >>> table[table["category"] == "coding"][["round", "gap", "n", "verdict"]].round(1).values.tolist()
    [[1, 16.7, 9, False], [2, 20.4, 9, False], [3, 21.3, 9, True]]
    >>> score_gaps(log, kinds[5:]).attrs["notes"]
    ('5 of 60 debates left out: no category',)
    """
    level = probability("level", level, open_interval=True)
    choice("gap", gap, get_args(Gap))
    opened = open(source, **reading)
    kinds = item_strata(opened, strata)
    t = opened.aside(strata).trajectories()
    if t.scores is None or len(t.sides) != 2:
        why = "".join(f" ({note})" for note in t.notes if kind_of(note) == UNREAD_SCORES)
        raise ValueError(f"scores must be of two sides to have a gap; got sides {list(t.sides)}{why}")
    labels = kinds.labels(list(t.debates), "debate", unit="debate")
    points = t.scores[:, :, 0] - t.scores[:, :, 1]
    if gap == "label":
        right = np.array([*t.answers, ""], dtype=object)[t.label]
        towards = np.select([right == t.sides[0], right == t.sides[1]], [1.0, -1.0], np.nan)
        points = points * np.where(t.label == MISSING, np.nan, towards)[:, None]
    else:
        points = np.abs(points)
    known = ~np.isnan(points)
    if not (known & (labels.codes >= 0)[:, None]).any():
        raise ValueError(f"a gap must be known in some debate with a {labels.column}; got none in {t!r}")
    notes = score_remarks(t)
    every = counted(len(known), "debate")
    if lost := int((labels.codes < 0).sum()):
        notes.append(f"{lost} of {every} left out: no {labels.column}")
    if lost := int(((labels.codes >= 0) & ~known.any(axis=1)).sum()):
        why = (
            "scores of both sides"
            if gap == "absolute"
            else "label that is a side, or no scores of both sides"
        )
        notes.append(f"{lost} of {every} left out: no {why}")
    last = np.where(known.any(axis=1), known.shape[1] - np.argmax(known[:, ::-1], axis=1), 0)
    rows: list[dict[str, Any]] = []
    for code, name in enumerate(labels.names):
        here = labels.rows(code) & known.any(axis=1)
        if not here.any():
            continue
        ends = np.sort(last[here])
        decided = int(ends[(len(ends) - 1) // 2])
        for r in range(known.shape[1]):
            scored = here & known[:, r]
            if not scored.any():
                continue
            n = int(scored.sum())
            e = item_ratio("gap", points[scored, r], np.ones(n), t.cluster[scored], level=level, tested=False)
            at: dict[str, Any] = {
                "category": name,
                "round": r + 1,
                "gap": e.value,
                # A distance is not below 0.
                "low": max(e.low, 0.0) if gap == "absolute" and e.low is not None else e.low,
                "high": e.high,
            }
            at |= {"n": n, "n_clusters": e.n_clusters, "verdict": r + 1 == decided}
            rows.append(at | {"level": level, "kind": e.kind})
    table = pd.DataFrame(rows).astype({"low": "float64", "high": "float64"})
    table.attrs["notes"] = tuple(notes)
    return table


def score_remarks(t: Trajectories) -> list[str]:
    """Return what an analysis of scores says first: the findings that are not about votes, then what the reader did."""
    return [*warnings_of(each for each in t.findings() if each.kind in OF_SCORES), *t.notes]
