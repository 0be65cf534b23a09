"""Does debate beat the vote before it: the last round's plurality against the first round's, on the same debates?

Run: D3STATS_DATA=FOLDER python analysis/debate_or_vote/run.py [-o FOLDER]

Paired by debate, clustered by question, p-values adjusted over logs by Holm's method; then split by model or run.
Writes a CSV per table and, into this folder only, the tables of ``findings.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from d3stats import Trajectories
from d3stats.inference import PairedDifference, compare
from d3stats.inference.comparison.multiplicity import adjust
from d3stats.inference.comparison.power import sample_size

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "martingale"), str(HERE.parents[1] / "simulations")]

from findings_tables import run_on_data  # noqa: E402  # studies are no package
from round_logs import readable  # noqa: E402

SEED, MARGIN, SOUGHT = 20254, 0.05, 0.02
"""MARGIN is what counts as the same; SOUGHT the gain whose price in questions is asked."""

NAMES = ("first vote", "last vote")


def compared(t: Trajectories, missing: str = "exclude") -> PairedDifference:
    """Return the last round's verdict against the first round's, debate by debate."""
    return compare(
        t, t, names=NAMES, by="debate", round_number=(1, None), missing=missing, kind="cluster t", rng=SEED
    ).only


def row_of(d: PairedDifference) -> dict[str, Any]:
    """Return one comparison as columns."""
    row: dict[str, Any] = {"n_debates": d.difference.n, "n_questions": d.difference.n_clusters}
    row |= {"first": d.first.value, "last": d.second.value, "gain": d.difference.value}
    row |= {"low": d.difference.low, "high": d.difference.high}
    for kind in ("bca", "studentised"):
        effect = d.interval(kind)
        row |= {f"low_{kind}": effect.low, f"high_{kind}": effect.high}
    row |= {"gained": d.gained, "lost": d.lost}
    row |= {f"p_{name.replace(' ', '_')}": d.p(name) for name in ("cluster t", "sign flip", "McNemar exact")}
    within = d.equivalent(MARGIN)
    row |= {"low_90": within.difference.low, "high_90": within.difference.high, "equivalent": within.holds}
    return row | {"detectable": d.detectable(), "questions_for_sought": questions(d)}


def questions(d: PairedDifference) -> int | None:
    """Return how many questions, as noisy as these, would find a gain of SOUGHT with power .8."""
    if not d.difference.se or d.difference.n_clusters is None:
        return None
    sd = d.difference.se * np.sqrt(d.difference.n_clusters)
    return int(sample_size(SOUGHT, sd=sd).n_questions)


def parts(t: Trajectories) -> Iterator[tuple[str, Trajectories]]:
    """Yield a pooled log's parts: by model where the groups name models, else by run; nothing where it is one."""
    named = np.array([model_of(group) for group in t.groups])
    if len(set(named)) > 1:
        for name in sorted(set(named)):
            yield name, t.select(named == name)


def model_of(group: str) -> str:
    """Return the model of a group of the small-model logs, or the group itself."""
    words = group.split("_")
    return words[1] if "persona" in words else group


def study(folder: Path) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    logs, split, wrong, refused = [], [], [], []
    for log, t in readable(folder):
        if isinstance(t, str):
            refused.append({"log": log.label, "why": t})
            continue
        named = {"log": log.label, "picked": "yes" if log.selected else "no"}
        logs.append(named | row_of(compared(t)))
        wrong.append(named | row_of(compared(t, "wrong")))
        split += [{"log": log.label, "part": name} | row_of(compared(part)) for name, part in parts(t)]
    return {
        "debate_or_vote": with_holm(pd.DataFrame(logs)),
        "splits": with_holm(pd.DataFrame(split)),
        "missing_wrong": with_holm(pd.DataFrame(wrong)),
        "refused": pd.DataFrame(refused),
    }


def with_holm(table: pd.DataFrame) -> pd.DataFrame:
    """Add Holm's p-values over the rows; a row without a p-value counts in the family as 1 and stays without."""
    for name in ("p_cluster_t", "p_sign_flip", "p_McNemar_exact"):
        p = table[name].astype(float)
        table[f"{name}_holm"] = np.where(p.isna(), np.nan, adjust(p.fillna(1.0).to_numpy(), "holm"))
    return table


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings, with the digits that they show."""
    table = tables["debate_or_vote"]
    rows = table.to_dict("records")
    gain = pd.DataFrame(
        {
            "log": table["log"],
            "picked for a failed majority": table["picked"],
            "debates (questions)": [f"{r['n_debates']} ({r['n_questions']})" for r in rows],
            "first vote": table["first"].map("{:.3f}".format),
            "last vote": table["last"].map("{:.3f}".format),
            "gain, cluster t": [limits(r) for r in rows],
            "BCa": [limits(r, "_bca", value=False) for r in rows],
            "studentised": [limits(r, "_studentised", value=False) for r in rows],
            "gained / lost": [f"{r['gained']} / {r['lost']}" for r in rows],
            "p": table["p_cluster_t"].map(p_of),
            "p, Holm": table["p_cluster_t_holm"].map(p_of),
            "sign flip, Holm": table["p_sign_flip_holm"].map(p_of),
        }
    )
    power = pd.DataFrame(
        {
            "log": table["log"],
            "90 % interval": [limits(r, "_90", value=False) for r in rows],
            f"within ±{MARGIN:g}": [said(r["equivalent"]) for r in rows],
            "smallest gain found with power .8": table["detectable"].map("{:.3f}".format),
            f"questions to find a gain of {SOUGHT:g}": table["questions_for_sought"].map("{:.0f}".format),
        }
    )
    split = tables["splits"]
    rows = split.to_dict("records")
    by_part = pd.DataFrame(
        {
            "log": split["log"],
            "part": split["part"],
            "debates (questions)": [f"{r['n_debates']} ({r['n_questions']})" for r in rows],
            "first vote": split["first"].map("{:.3f}".format),
            "gain": [limits(r) for r in rows],
            "gained / lost": [f"{r['gained']} / {r['lost']}" for r in rows],
            "sign flip": split["p_sign_flip"].map(p_of),
            "sign flip, Holm": split["p_sign_flip_holm"].map(p_of),
        }
    )
    other = tables["missing_wrong"]
    rows = other.to_dict("records")
    wrong = pd.DataFrame(
        {
            "log": other["log"],
            "debates": other["n_debates"],
            "gain": [limits(r) for r in rows],
            "p, Holm": other["p_cluster_t_holm"].map(p_of),
        }
    )
    return {
        "gain": gain,
        "power": power,
        "by model or run": by_part,
        "missing counts as wrong": wrong,
        "refused": tables["refused"],
    }


def limits(row: Mapping[Any, Any], suffix: str = "", *, value: bool = True) -> str:
    """Return an estimate with its interval, three decimals; a dash where there is no interval."""
    low, high = row[f"low{suffix}"], row[f"high{suffix}"]
    interval = "-" if pd.isna(low) else f"[{low:+.3f}, {high:+.3f}]"
    return f"{row['gain']:+.3f} {interval}" if value else interval


def said(holds: Any) -> str:
    """Return whether a claim is shown."""
    return "undecided" if pd.isna(holds) else "shown" if str(holds) == "True" else "not shown"


def p_of(value: float) -> str:
    """Return a p-value: three decimals, or that it is smaller."""
    if pd.isna(value):
        return "-"
    return "<.001" if value < 0.0005 else f"{value:.3f}"


if __name__ == "__main__":
    run_on_data(HERE, __doc__ or "", study, shown)
