"""Which claims survive 100,000 generated examples, and how soon is each false one refuted?

Run: python simulations/theorem_audit/run.py [NAME ...] [--examples N] [--workers N] [--again] [-o FOLDER]

Takes hours, and may be stopped at any time: each claim is written as it is done, and one that is on record with
the same seed and as many examples is not run again unless asked to. Writes the record that the package shows and,
into this folder, the counterexamples found and the tables of ``findings.md``.
"""

from __future__ import annotations

import argparse
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from d3stats.theory import Claim, claim, claims, find_counterexample, survive
from d3stats.theory.check import RECORD_FILE
from d3stats.theory.claim import short_name

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from findings_tables import filled  # noqa: E402  # studies are no package

RECORD = ("claim", "examples", "distinct", "exhausted", "least_margin", "seed")
REFUTED = ("claim", "counterexample", "margin", "examined", "seed")


def survived(entry: Claim, config: dict[str, Any], workers: int) -> dict[str, Any]:
    """Return the row of a claim that holds; raises when it breaks."""
    found = survive(entry, config["examples"], rng=config["seed"], workers=workers)
    row = (entry.name, found.n, found.n_distinct, found.exhausted, found.least_margin, config["seed"])
    return dict(zip(RECORD, row, strict=True))


def refuted(entry: Claim, config: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a claim that is false somewhere; raises when no counterexample is found."""
    found = find_counterexample(entry, max_examples=config["searched"], rng=config["seed"])
    row = (entry.name, str(found.instance), found.margin, found.n_examined, config["seed"])
    return dict(zip(REFUTED, row, strict=True))


def on_record(table: pd.DataFrame, name: str, config: dict[str, Any]) -> bool:
    """Say whether a claim has survived as many examples with this seed."""
    row = table[(table["claim"] == name) & (table["seed"] == config["seed"])]
    return bool(len(row)) and bool(row["exhausted"].iloc[0] or row["examples"].iloc[0] >= config["examples"])


def read(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return a table as it was written, or an empty one."""
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=list(columns))


def put(table: pd.DataFrame, row: dict[str, Any], path: Path) -> pd.DataFrame:
    """Put a row in the place of the claim's last one, drop claims that are no more, and write the table."""
    order = {name: i for i, name in enumerate(claims())}
    kept = table[(table["claim"] != row["claim"]) & table["claim"].isin(list(order))]
    rows = sorted([*kept.to_dict("records"), row], key=lambda r: order[r["claim"]])
    made = pd.DataFrame(rows, columns=list(row))
    made.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
    return pd.read_csv(path)  # as written: the findings follow from the files alone


def shown(record: pd.DataFrame, found: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings."""
    held = record.assign(source=[short_name(claim(n).source.work) for n in record["claim"]])
    held["examples"] = [
        f"{n:,}" + (" (all)" if all_ else "")
        for n, all_ in zip(held["examples"], held["exhausted"], strict=True)
    ]
    held["differ"] = [f"{n:,}" for n in held["distinct"]]
    held["least margin"] = [f"{m + 0.0:.3g}" for m in held["least_margin"]]
    false = found.assign(source=[short_name(claim(n).source.work) for n in found["claim"]])
    false["counterexample"] = [text.replace("|", "\\|") for text in false["counterexample"]]
    false["margin"] = [f"{m:.3g}" for m in false["margin"]]
    return {
        "survived": held[["claim", "source", "examples", "differ", "least margin"]],
        "refuted": false[["claim", "source", "counterexample", "margin", "examined"]],
    }


def study(names: Sequence[str], config: dict[str, Any], out: Path | None, workers: int, again: bool) -> None:
    """Run what is not on record, claim by claim."""
    record_at, refuted_at = (
        (RECORD_FILE, HERE / "refuted.csv") if out is None else (out / "record.csv", out / "refuted.csv")
    )
    record, found = read(record_at, RECORD), read(refuted_at, REFUTED)
    for name in names:
        entry, started = claim(name), time.perf_counter()
        if entry.status != "holds":
            found = put(found, refuted(entry, config), refuted_at)
        if entry.status != "refuted" and (again or not on_record(record, name, config)):
            record = put(record, survived(entry, config, workers), record_at)
        print(f"{name}: {time.perf_counter() - started:.1f} s", flush=True)
    if out is None:
        findings = HERE / "findings.md"
        text = filled(findings.read_text(encoding="utf-8"), shown(record, found))
        findings.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--examples", type=int)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("-o", "--out", type=Path)
    asked = parser.parse_args()
    settings = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
    if asked.examples is not None:
        if asked.out is None:
            parser.error("--examples must come with -o: the record of the package is of the config's number")
        settings["examples"] = asked.examples
    study(asked.names or list(claims()), settings, asked.out, asked.workers, asked.again)
