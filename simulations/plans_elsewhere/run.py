"""Do plans keep their promise in worlds that the planner was not made for?

For each world of each family in ``elsewhere.py``: a pilot, the plan, then 40,000 other debates under the planned rule
and under unanimity.

Run: python simulations/plans_elsewhere/run.py [--worlds N] [--minutes M]
A journal keeps every finished world and pilot; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from d3stats.planning.plan import plan
from d3stats.stopping import Unanimity
from d3stats.trajectories import Trajectories

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from elsewhere import FAMILIES, debates  # noqa: E402  # the worlds lie beside this file
from findings_tables import filled  # noqa: E402  # the studies' shared helper lies beside their folders

JOURNAL = HERE / "worlds.csv"
MEASURES = ("rounds", "tokens", "accuracy", "saved", "loss")
FITS = ("conformers", "voters")
"""Families whose law is one of the chain's, or near it."""


def stopped(log: Trajectories, rule: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rounds, tokens and right verdicts of every debate under a rule."""
    rounds = rule.stop_rounds(log).rounds
    row = np.arange(log.n_debates)
    spent = np.cumsum(log.tokens, axis=1)[row, rounds - 1]
    return rounds, spent, log.verdicts()[row, rounds - 1] == log.label


def held(promise: Mapping[str, Any], measure: str, truth: float) -> bool:
    """Whether the interval holds the truth; a promise without an interval has to be it, but for rounding."""
    low, high = promise[f"{measure}_low"], promise[f"{measure}_high"]
    return bool(np.isclose(promise[measure], truth) if np.isnan(low) else low <= truth <= high)


def one_world(
    config: Mapping[str, Any], family: str, number: int, sizes: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Plan from pilots of one world, and hold each plan to the same campaign of other debates."""
    kind = FAMILIES[family]
    key = [config["seed"], list(FAMILIES).index(family), number]
    rng = np.random.default_rng(key)
    panel = config["panels"][number % len(config["panels"])]
    x = kind.draw(rng)
    later = x | ({"campaign": 1} if kind.shift else {})
    campaign = debates(kind, later, panel, config["rounds"], config["truth"], rng)
    _, base, base_right = stopped(campaign, Unanimity())
    for size in sizes:
        pilot = debates(kind, x, panel, config["rounds"], size, np.random.default_rng([*key, size]))
        made = plan(
            pilot,
            max_loss=config["max_loss"],
            confidence=config["confidence"],
            level=config["level"],
            target="accuracy",
            n_draws=config["n_draws"],
            limit=False,
            rng=1,
        )
        promise = made.to_frame().iloc[0].to_dict()
        rounds, spent, right = stopped(campaign, made.rule)
        lost = base_right.astype(float) - right
        truth = {
            "rounds": rounds.mean(),
            "tokens": spent.mean(),
            "accuracy": right.mean(),
            "saved": 1 - spent.mean() / base.mean(),
            "loss": lost.mean(),
        }
        row: dict[str, Any] = {"family": family, "world": number, "panel": panel, "pilot": size}
        promises = not isinstance(made.rule, Unanimity)
        row |= {"rule": str(made.rule), "promised": int(promises), "probability": made.probability}
        row |= {"refused": int("does not describe" in made.reason), "flicker": made.flicker_probability}
        row |= {"kept": int(truth["loss"] <= config["max_loss"]), "loss_se": lost.std() / np.sqrt(len(lost))}
        row |= {"misfit": promise["loss_high"] - promise["loss_low"]}
        for measure in MEASURES:
            row |= {measure: truth[measure], f"{measure}_said": promise[measure]}
            row[f"{measure}_held"] = int(held(promise, measure, truth[measure]))
        yield {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in row.items()}


def study(
    config: Mapping[str, Any],
    minutes: float,
    journal: Path = JOURNAL,
    families: Sequence[str] = tuple(FAMILIES),
) -> pd.DataFrame:
    """Run what the journal does not hold yet, each family in turn, until the time is up; return all rows."""
    done = set()
    if journal.exists():
        with journal.open(encoding="utf-8") as file:
            done = {(r["family"], int(r["world"]), int(r["pilot"])) for r in csv.DictReader(file)}
    end = time.monotonic() + 60 * minutes
    for number in range(config["worlds_per_family"]):
        for family in families:
            sizes = [size for size in config["pilots"] if (family, number, size) not in done]
            if time.monotonic() > end:
                return pd.read_csv(journal)
            for row in one_world(config, family, number, sizes) if sizes else ():
                new = not journal.exists()
                with journal.open("a", encoding="utf-8", newline="") as file:
                    writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
                    if new:
                        writer.writeheader()
                    writer.writerow(row)
    return pd.read_csv(journal)


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per family and size of pilot, and one for each group of families."""
    rows = []
    shifted = table["family"].isin([name for name, kind in FAMILIES.items() if kind.shift])
    groups = {name: table["family"] == name for name in FAMILIES}
    groups |= {"all without shift": ~shifted, "the chain's own": table["family"].isin(FITS)}
    for (name, part), size in ((g, s) for g in groups.items() for s in sorted(table["pilot"].unique())):
        all_ = table[part & (table["pilot"] == size)]
        made = all_[all_["promised"] == 1]
        if all_.empty:
            continue
        rows.append(
            {
                "family": name,
                "pilot": size,
                "worlds": len(all_),
                "made": len(made),
                "kept": made["kept"].mean(),
                "said": made["probability"].mean(),
                "loss_held": made["loss_held"].mean(),
                **{f"{m}_held": all_[f"{m}_held"].mean() for m in MEASURES[:4]},
                "saved": all_["saved"].mean(),
                "mean_loss": all_["loss"].mean(),
                "worst_loss": all_["loss"].max(),
            }
        )
    return pd.DataFrame(rows)


def shown(summary: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings, one for each size of pilot."""

    def share(column: pd.Series) -> list[str]:
        return ["-" if x != x else f"{x:.2f}" for x in column]

    tables = {}
    for size, part in summary.groupby("pilot"):
        columns = {"family": part["family"], "worlds": part["worlds"], "promises": part["made"]}
        columns |= {
            "kept": share(part["kept"]),
            "P said": share(part["said"]),
            "loss": share(part["loss_held"]),
        }
        columns |= {m: share(part[f"{m}_held"]) for m in MEASURES[:4]}
        columns |= {
            "tokens saved": share(part["saved"]),
            "worst loss": [f"{x:.3f}" for x in part["worst_loss"]],
        }
        tables[f"pilots of {size}"] = pd.DataFrame(columns)
    return tables


def main() -> None:
    """Run what is not in the journal, write the summary and refresh the findings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, help="worlds per family, fewer than the configured number")
    parser.add_argument("--minutes", type=float, default=np.inf, help="end after so many minutes")
    parser.add_argument("--family", action="append", choices=[*FAMILIES], help="one family, again for others")
    given = parser.parse_args()
    config = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
    config["worlds_per_family"] = given.worlds or config["worlds_per_family"]
    summary = summarise(study(config, given.minutes, families=given.family or tuple(FAMILIES)))
    summary.to_csv(HERE / "summary.csv", index=False, float_format="%.6g", lineterminator="\n")
    tables = shown(pd.read_csv(HERE / "summary.csv"))
    findings = HERE / "findings.md"
    if findings.exists():
        findings.write_text(filled(findings.read_text(encoding="utf-8"), tables), encoding="utf-8")
    for name, table in tables.items():
        print(f"\n== {name}\n{table.to_string(index=False)}")


if __name__ == "__main__":
    main()
