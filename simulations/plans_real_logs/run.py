"""Do plans keep their promise on logs of real debates?

A pilot is drawn with replacement from the debates of a log, and the campaign is the whole log: so the true cost,
accuracy and loss of every rule are known.

Run: D3STATS_DATA=FOLDER python simulations/plans_real_logs/run.py [--pilots N] [--minutes M]
A journal keeps every finished pilot; the same command goes on where it was stopped. The bundled logs need no folder.
"""

from __future__ import annotations

import argparse
import csv
import runpy
import sys
import time
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import d3stats
from d3stats.stopping import from_text
from d3stats.trajectories import Trajectories

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from findings_tables import data_folder, filled  # noqa: E402  # the studies' shared helper lies beside their folders

JOURNAL = HERE / "pilots.csv"
CONFIG = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
MEASURES = ("rounds", "tokens", "accuracy", "saved", "loss")
OTHERS = HERE.parent / "replay_real_logs"


@lru_cache(maxsize=1)
def imported() -> tuple[Any, dict[str, Any]]:
    """Return the reader of logs of others, and their settings by label."""
    settings = tomllib.loads((OTHERS / "config.toml").read_text(encoding="utf-8"))
    return runpy.run_path(str(OTHERS / "run.py"))["read"], {log["label"]: log for log in settings["logs"]}


@cache
def load(label: str) -> Trajectories | None:
    """Read a log by its label, every debate its own question; None where the folder of real logs is absent."""
    log = next(one for one in CONFIG["logs"] if one["label"] == label)
    if "bundled" in log:
        return d3stats.open(log["bundled"]).trajectories()
    if not data_folder().is_dir():
        return None
    read, settings = imported()
    found: Trajectories = read(settings[label], data_folder())
    return found


def drawn(log: Trajectories, at: np.ndarray) -> Trajectories:
    """Return debates of a log, each a question of its own, also where one occurs twice."""
    names = tuple(f"{number}" for number in range(len(at)))
    return replace(
        log.select(at), debates=names, cluster=np.arange(len(at)), cluster_names=names, questions=()
    )


@cache
def truth(label: str, rule: str) -> dict[str, float]:
    """Return what a rule costs and keeps on the whole log."""
    log = load(label)
    assert log is not None
    row = d3stats.replay(log, [from_text(rule)]).to_frame().set_index("rule").loc[rule]
    unit = "rounds" if log.tokens is None else "tokens"
    found = {"rounds": row["rounds"], "accuracy": row["accuracy"], "loss": -row["change"]}
    found |= {"tokens": row.get("tokens", np.nan), "saved": row[f"saved_{unit}_vs_unanimity"]}
    return {name: float(value) + 0.0 for name, value in found.items()}


def held(said: Mapping[str, Any], measure: str, true: float) -> float:
    """Whether an interval holds the truth; a number without an interval has to be it, but for rounding."""
    low, high = said[f"{measure}_low"], said[f"{measure}_high"]
    if np.isnan(said[measure]):
        return np.nan
    return float(np.isclose(said[measure], true) if np.isnan(low) else low <= true <= high)


def one_pilot(config: Mapping[str, Any], label: str, size: int, number: int) -> dict[str, Any]:
    """Plan from one pilot, and compare the plan with the whole log."""
    log = load(label)
    assert log is not None
    place = [one["label"] for one in config["logs"]].index(label)
    rng = np.random.default_rng([config["seed"], place, size, number])
    made = d3stats.plan(
        drawn(log, rng.integers(0, len(log), size)),
        max_loss=config["max_loss"],
        confidence=config["confidence"],
        level=config["level"],
        target="accuracy",
        n_draws=config["n_draws"],
        limit=False,
        rng=1,
    )
    said = made.to_frame().iloc[0].to_dict()
    true = truth(label, str(made.rule))
    row: dict[str, Any] = {"log": label, "size": size, "pilot": number, "rule": str(made.rule)}
    row |= {"promised": int(str(made.rule) != "unanimity"), "probability": made.probability}
    row |= {"refused": int("no other rule" in made.reason), "kept": int(true["loss"] <= config["max_loss"])}
    for measure in MEASURES:
        row |= {measure: true[measure], f"{measure}_said": said[measure]}
        row[f"{measure}_held"] = held(said, measure, true[measure])
    return {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in row.items()}


def study(config: Mapping[str, Any], minutes: float = np.inf, journal: Path = JOURNAL) -> pd.DataFrame:
    """Plan from every pilot that the journal does not hold, each log and size in turn, until the time is up."""
    done = set()
    if journal.exists():
        with journal.open(encoding="utf-8") as file:
            done = {(r["log"], int(r["size"]), int(r["pilot"])) for r in csv.DictReader(file)}
    end = time.monotonic() + 60 * minutes
    labels = [log["label"] for log in config["logs"] if load(log["label"]) is not None]
    for number in range(config["pilots"]):
        for size in config["sizes"]:
            for label in labels:
                if time.monotonic() > end:
                    return pd.read_csv(journal)
                if (label, size, number) in done:
                    continue
                row = one_pilot(config, label, size, number)
                new = not journal.exists()
                with journal.open("a", encoding="utf-8", newline="") as file:
                    writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
                    if new:
                        writer.writeheader()
                    writer.writerow(row)
    return pd.read_csv(journal)


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per log and size of pilot."""
    rows = []
    for log in CONFIG["logs"]:
        for size, every in table[table["log"] == log["label"]].groupby("size"):
            made = every[every["promised"] == 1]
            rows.append(
                {
                    "log": log["label"],
                    "size": size,
                    "pilots": len(every),
                    "made": len(made),
                    "kept": made["kept"].mean(),
                    "said": made["probability"].mean(),
                    "loss_held": made["loss_held"].mean(),
                    **{f"{m}_held": every[f"{m}_held"].mean() for m in MEASURES[:4]},
                    "saved": every["saved"].mean(),
                    "saved_said": every["saved_said"].mean(),
                    "loss": made["loss"].mean(),
                    "loss_said": made["loss_said"].mean(),
                    "worst_loss": made["loss"].max(),
                    "commonest": every["rule"].mode().iloc[0],
                }
            )
    return pd.DataFrame(rows)


def shown(summary: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings."""

    def text(column: pd.Series, form: str = ".2f") -> list[str]:
        return ["-" if x != x else f"{x + 0.0:{form}}" for x in column]

    first = {name: summary[name] for name in ("log", "size", "pilots")} | {"promises": summary["made"]}
    first |= {"kept": text(summary["kept"]), "P said": text(summary["said"])}
    first |= {"commonest rule": [str(rule).replace("|", "\\|") for rule in summary["commonest"]]}
    first |= {"saved": text(summary["saved"]), "saved, said": text(summary["saved_said"])}
    first |= {"loss": text(summary["loss"], ".3f"), "loss, said": text(summary["loss_said"], ".3f")}
    first |= {"worst loss": text(summary["worst_loss"], ".3f")}
    held_in = {name: summary[name] for name in ("log", "size")}
    held_in |= {m: text(summary[f"{m}_held"]) for m in ("loss", *MEASURES[:4])}
    return {"promises": pd.DataFrame(first), "intervals": pd.DataFrame(held_in)}


def main() -> None:
    """Run what is not in the journal, write the summary and refresh the findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--pilots", type=int, help="pilots of a size and log, fewer than the configured number"
    )
    parser.add_argument("--minutes", type=float, default=np.inf, help="end after so many minutes")
    given = parser.parse_args()
    summary = summarise(study(CONFIG | {"pilots": given.pilots or CONFIG["pilots"]}, given.minutes))
    summary.to_csv(HERE / "summary.csv", index=False, float_format="%.6g", lineterminator="\n")
    tables = shown(pd.read_csv(HERE / "summary.csv"))
    findings = HERE / "findings.md"
    if findings.exists():
        findings.write_text(filled(findings.read_text(encoding="utf-8"), tables), encoding="utf-8")
    for name, table in tables.items():
        print(f"\n== {name}\n{table.to_string(index=False)}")


if __name__ == "__main__":
    main()
