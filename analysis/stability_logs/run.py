"""How do threshold and patience of the KS rule change rounds, accuracy and premature stops on real logs?

Run: D3STATS_DATA=FOLDER python analysis/stability_logs/run.py [-o FOLDER]

Writes ``series.csv`` (the KS distance of every round from the one before), ``settings.csv`` (a row per log, threshold
and patience) and ``refused.csv``. Intervals draw questions with replacement and stop each resample
by its own distances.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats import Trajectories
from d3stats.planning.costs import outcomes, share
from d3stats.resampling.clusters import cluster_totals, resampled_totals
from d3stats.stopping import Unanimity

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "martingale"), str(HERE.parents[1] / "simulations")]

from findings_tables import run_on_data  # noqa: E402  # studies are no package
from round_logs import readable  # noqa: E402

CONFIG = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
FLAGS = ("scored", "correct", "judged", "gained", "lost", "early", "premature")

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Sums:
    """Sums over questions, a row per resample.

    distances : (resamples, rounds), NaN in round 1
    flags : (resamples, rounds, 7), the debates for which each of FLAGS holds when all stop in that round
    unanimity, debates : (resamples,), rounds under unanimity and number of debates
    """

    distances: Floats
    flags: Floats
    unanimity: Floats
    debates: Floats


def sums_of(t: Trajectories, n_boot: int, seed: int) -> tuple[Sums, Sums]:
    """Return the sums of the log itself (one row) and of its resamples of questions."""
    right, cast = t.successes_trials()
    columns, grids = [np.ones(len(t)), Unanimity().stop_rounds(t).rounds.astype(float)], []
    for r in range(t.n_rounds):
        made = outcomes(t, np.full(len(t), r + 1))
        columns += [made.column(name) for name in FLAGS]
    for r in range(1, t.n_rounds):
        shared = (cast[:, r - 1] > 0) & (cast[:, r] > 0)
        share = [np.where(shared, right[:, k] / np.maximum(cast[:, k], 1), np.nan) for k in (r - 1, r)]
        values = np.unique(np.concatenate(share)[~np.isnan(np.concatenate(share))])
        columns.append(shared.astype(float))
        columns += [(share[0] <= x).astype(float) - (share[1] <= x) for x in values]
        grids.append(len(values))
    totals = cluster_totals(np.column_stack(columns), t.cluster)
    # The order of questions must not depend on their names, so that the same seed gives the same resamples.
    totals = totals[np.lexsort(totals.T)]
    drawn = resampled_totals(totals, n_boot, np.random.default_rng(seed))
    return tuple(_unpacked(table, t.n_rounds, grids) for table in (totals.sum(axis=0)[None], drawn))  # type: ignore[return-value]


def _unpacked(table: Floats, rounds: int, grids: list[int]) -> Sums:
    flags = table[:, 2 : 2 + rounds * len(FLAGS)].reshape(len(table), rounds, len(FLAGS))
    distances = np.full((len(table), rounds), np.nan)
    at = 2 + rounds * len(FLAGS)
    for r, size in enumerate(grids, start=1):
        shared = table[:, at]
        gap = np.abs(table[:, at + 1 : at + 1 + size]).max(axis=1)
        distances[:, r] = np.divide(gap, shared, out=np.full(len(table), np.nan), where=shared > 0)
        at += 1 + size
    return Sums(distances, flags, table[:, 1], table[:, 0])


def stop_rounds(distances: Floats, threshold: float, patience: int) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the round (from 1) in which each row's rule stops, the last where it never fires, and whether it fires."""
    rows, rounds = distances.shape
    streak, stop = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    for r in range(rounds):
        streak = np.where(distances[:, r] < threshold, streak + 1, 0)
        stop = np.where((stop == 0) & (streak >= patience), r + 1, stop)
    return np.where(stop == 0, rounds, stop), stop > 0


def measures(sums: Sums, stop: Ints) -> dict[str, Floats]:
    """Return every measure of each row at its stop."""
    row = np.arange(len(stop))
    here = dict(zip(FLAGS, sums.flags[row, stop - 1].T, strict=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "rounds": stop.astype(float),
            "accuracy": here["correct"] / here["scored"],
            "change": (here["gained"] - here["lost"]) / here["judged"],
            "saved_vs_unanimity": 1 - stop * sums.debates / sums.unanimity,
        }


def limits(values: Floats, level: float) -> tuple[float, float]:
    """Return percentile limits; none where a resample has no value or all are alike."""
    if np.isnan(values).any():
        return np.nan, np.nan
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return (float(low), float(high)) if high > low else (np.nan, np.nan)


def of_log(t: Trajectories, label: str, config: Mapping[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the distances of one log, and its rows of the settings."""
    whole, drawn = sums_of(t, config["n_boot"], config["seed"])
    about = {
        "log": label,
        "debates": len(t),
        "questions": len(np.unique(t.cluster)),
        "last_round": t.n_rounds,
    }
    series = [
        {
            **about,
            "round": r + 1,
            "distance": whole.distances[0, r],
            **{f"below_{eps:g}": (drawn.distances[:, r] < eps).mean() for eps in config["thresholds"]},
        }
        for r in range(1, t.n_rounds)
    ]
    rows = []
    for patience in config["patiences"]:
        for eps in config["thresholds"]:
            (stop, fires), (stops, _) = (stop_rounds(s.distances, eps, patience) for s in (whole, drawn))
            point, spread = measures(whole, stop), measures(drawn, stops)
            row: dict[str, Any] = {**about, "threshold": eps, "patience": patience}
            row |= {"stop": int(stop[0]), "fires": bool(fires[0])}
            row |= {f"stops_in_{r}": (stops == r).mean() for r in range(2, t.n_rounds + 1)}
            row["mean_rounds"], row["mean_accuracy"] = spread["rounds"].mean(), spread["accuracy"].mean()
            for name, value in point.items():
                if name not in ("rounds", "premature"):
                    row[name] = value[0]
                    row[f"{name}_low"], row[f"{name}_high"] = limits(spread[name], config["level"])
            # Resamples that stop late have no early stops, so this share is taken at the stop of the log itself.
            made = outcomes(t, np.full(len(t), stop[0]))
            found = share(made.column("premature"), made.column("early"), t.cluster, config["level"])
            row |= {"premature": found.value, "premature_low": found.low, "premature_high": found.high}
            rows.append(row)
    return pd.DataFrame(series), pd.DataFrame(rows)


def study(folder: Path) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    found, refused = [], []
    for log, t in readable(folder):
        if isinstance(t, str):
            refused.append({"log": log.label, "why": t})
        else:
            found.append(of_log(t, log.label, CONFIG))
    series, rows = (pd.concat([each[i] for each in found], ignore_index=True) for i in (0, 1))
    stops = [name for name in rows if name.startswith("stops_in_")]
    return {
        "series": series,
        "settings": rows.fillna(dict.fromkeys(stops, 0.0)),
        "refused": pd.DataFrame(refused),
    }


def said(row: Mapping[Any, Any], name: str, form: str = ".3f") -> str:
    """Return an estimate with its interval, a dash where there is none."""
    value, low, high = (row[name + end] for end in ("", "_low", "_high"))
    if pd.isna(value):
        return "-"
    return f"{value:{form}}" + ("" if pd.isna(low) else f" [{low:{form}}, {high:{form}}]")


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings, with the digits that they show."""
    series, rows = tables["series"], tables["settings"]
    distances = pd.DataFrame(
        {
            "log": series["log"],
            "debates (questions)": [f"{r.debates} ({r.questions})" for r in series.itertuples()],
            "round": series["round"],
            "distance": series["distance"].map("{:.3f}".format),
            "resamples below .05": series["below_0.05"].map("{:.3f}".format),
            "below .1": series["below_0.1"].map("{:.3f}".format),
            "below .2": series["below_0.2"].map("{:.3f}".format),
        }
    )
    usual = rows[rows["threshold"].isin([0.05, 0.1, 0.2])]
    records = usual.to_dict("records")
    settings = pd.DataFrame(
        {
            "log": usual["log"],
            "patience": usual["patience"],
            "threshold": usual["threshold"].map("{:g}".format),
            "stops after": [f"{r['stop']} of {r['last_round']}" for r in records],
            "resamples that stop early": [
                f"{sum(r[f'stops_in_{k}'] for k in range(2, r['last_round'])):.3f}" for r in records
            ],
            "accuracy": [said(r, "accuracy") for r in records],
            "change against all rounds": [said(r, "change", "+.3f") for r in records],
            "premature stops": [said(r, "premature") for r in records],
            "rounds saved against unanimity": [said(r, "saved_vs_unanimity", "+.2f") for r in records],
        }
    )
    return {"series": distances, "settings": settings, "refused": tables["refused"]}


if __name__ == "__main__":
    run_on_data(HERE, __doc__ or "", study, shown)
