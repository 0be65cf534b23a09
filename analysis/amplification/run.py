"""Does debate make the verdict better than the first vote's majority?

Run: D3STATS_DATA=FOLDER python analysis/amplification/run.py [-o FOLDER]

The accuracy of the last round's verdict less that of the first, on the same debates, beside two predictions made
from the first round alone. Writes a CSV per table and, into this folder only, the tables of ``findings.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from d3stats import Trajectories
from d3stats.inference import PairedDifference
from d3stats.inference.comparison.paired import paired_difference
from d3stats.models.beliefs import majority_accuracy
from d3stats.trajectories import MISSING

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "martingale"), str(HERE.parents[1] / "simulations")]

from findings_tables import run_on_data  # noqa: E402  # studies are no package
from round_logs import readable  # noqa: E402

LEVEL = 0.95


def verdict_scores(t: Trajectories, r: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how right each verdict of round `r` (an index) is: by the house rule, and in a draw by lot.

    NaN where there is no label or no vote. The house gives a tie to the lowest seat: 0 or 1. By lot, a debate
    scores one over the number of tied answers when the right one is among them.
    """
    verdict, label, votes = t.verdicts()[:, r], t.label, t.votes[:, r]
    known = (verdict != MISSING) & (label != MISSING)
    camps = np.stack([(votes == a).sum(axis=1) for a in range(len(t.answers))], axis=1)
    lead = camps == camps.max(axis=1, keepdims=True)
    right = lead[np.arange(len(t)), np.maximum(label, 0)]
    return (
        np.where(known, (verdict == label).astype(float), np.nan),
        np.where(known, right / lead.sum(axis=1), np.nan),
    )


def compared(t: Trajectories, label: str, selected: bool) -> dict[str, Any]:
    """Return one log's row: accuracies, their paired difference, McNemar's test, and the two predictions."""
    last = np.maximum(t.depth - 1, 0)
    rows = np.arange(len(t))
    scores = [verdict_scores(t, r) for r in range(t.n_rounds)]
    ruled, lot = (np.stack([s[i] for s in scores], axis=1) for i in range(2))
    both = np.isfinite(ruled[:, 0]) & np.isfinite(ruled[rows, last])
    first, final = ruled[both, 0], ruled[rows, last][both]
    cluster = t.cluster[both]

    def less(one: NDArray[np.float64], other: NDArray[np.float64]) -> PairedDifference:
        return paired_difference(other, one, cluster, level=LEVEL, rng=0)

    gain = less(final, first)
    won, lost = int((final > first).sum()), int((final < first).sum())
    s, n = t.successes_trials()
    share = s[both, 0] / n[both, 0]
    theorem_d = float(share.mean())
    final_share = s[both, last[both]] / n[both, last[both]]
    agreed = t.unanimous()[rows, last][both]
    # How right the final verdict is beyond what the martingale to consensus would give.
    beyond = less(final, share)
    panel = int(t.panel.max())
    return {
        "log": label,
        "picked": "yes" if selected else "no",
        "n_debates": int(both.sum()),
        "n_left_out": int((~both).sum()),
        "n_questions": len(np.unique(cluster)),
        "panel": panel,
        "first": float(first.mean()),
        "final": float(final.mean()),
        **spread("gain", gain),
        "p_gain": gain.p("cluster t"),
        **spread("gain_by_lot", less(lot[rows, last][both], lot[both, 0])),
        "won": won,
        "lost": lost,
        "p_mcnemar": float(mcnemar([[0, won], [lost, 0]], exact=True).pvalue) if won + lost else 1.0,
        "theorem_d": theorem_d,
        **spread("final_less_theorem_d", beyond),
        "p_beyond": beyond.p("cluster t"),
        # How much of that the first majority has already, and whether a last agent does as well as it.
        **spread("first_less_theorem_d", less(first, share)),
        "condorcet": majority_accuracy(theorem_d, panel),
        "final_share": float(final_share.mean()),
        **spread("final_share_less_first", less(final_share, first)),
        "agreed": float(agreed.mean()),
        "right_when_agreed": float(final[agreed].mean()) if agreed.any() else None,
    }


def spread(name: str, found: PairedDifference) -> dict[str, Any]:
    """Return a difference and its limits as columns."""
    estimate = found.difference
    # A difference of two equal means is 0, whatever rounding leaves of it.
    return {name: round(estimate.value, 12) + 0.0, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def study(folder: Path) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    rows, refused = [], []
    for log, t in readable(folder):
        if isinstance(t, str):
            refused.append({"log": log.label, "why": t})
        else:
            rows.append(compared(t, log.label, log.selected))
    table = pd.DataFrame(rows)
    for name in ("p_gain", "p_mcnemar", "p_beyond"):
        # A log in which all questions moved alike has no p-value.
        known = table[name].notna()
        table.loc[known, f"{name}_holm"] = multipletests(table.loc[known, name].astype(float), method="holm")[
            1
        ]
    return {"amplification": table, "refused": pd.DataFrame(refused)}


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings, with the digits that they show."""
    table = tables["amplification"]
    records = table.to_dict("records")
    gain = pd.DataFrame(
        {
            "log": table["log"],
            "picked for a failed majority": table["picked"],
            "debates (questions)": [f"{r['n_debates']} ({r['n_questions']})" for r in records],
            "left out": table["n_left_out"],
            "first vote": table["first"].map("{:.3f}".format),
            "last vote": table["final"].map("{:.3f}".format),
            "gain": [said(r, "gain") for r in records],
            "p, Holm": table["p_gain_holm"].map(p_of),
            "gain, ties by lot": [said(r, "gain_by_lot") for r in records],
            "won / lost": [f"{r['won']} / {r['lost']}" for r in records],
            "exact McNemar, Holm": table["p_mcnemar_holm"].map(p_of),
        }
    )
    benchmarks = pd.DataFrame(
        {
            "log": table["log"],
            "one agent, first round (theorem D)": table["theorem_d"].map("{:.3f}".format),
            "independent majority (Condorcet)": table["condorcet"].map("{:.3f}".format),
            "first vote": table["first"].map("{:.3f}".format),
            "last vote": table["final"].map("{:.3f}".format),
            "first vote less theorem D": [said(r, "first_less_theorem_d") for r in records],
            "last vote less theorem D": [said(r, "final_less_theorem_d") for r in records],
            "p, Holm": table["p_beyond_holm"].map(p_of),
            "one agent, last round": table["final_share"].map("{:.3f}".format),
            "one agent, last round, less first vote": [said(r, "final_share_less_first") for r in records],
            "agreed at the end": table["agreed"].map("{:.3f}".format),
            "right when agreed": table["right_when_agreed"].map("{:.3f}".format),
        }
    )
    return {"gain": gain, "benchmarks": benchmarks, "refused": tables["refused"]}


def said(row: Mapping[Any, Any], name: str) -> str:
    """Return an estimate with its interval, if it has one, three decimals."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return f"{row[name]:+.3f}" + ("" if pd.isna(low) else f" [{low:+.3f}, {high:+.3f}]")


def p_of(value: float) -> str:
    """Return a p-value: three decimals, or that it is smaller."""
    if pd.isna(value):
        return "-"
    return "<.001" if value < 0.0005 else f"{value:.3f}"


if __name__ == "__main__":
    run_on_data(HERE, __doc__ or "", study, shown)
