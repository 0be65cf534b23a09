"""How often does ``audit_table`` find one altered number in a table that is true but for it?

Run: python analysis/table_audit/run.py [-o FOLDER] [-j WORKERS]

Draws tables whose every number is true, alters one printed number, and counts how often a finding is inconsistent.
Writes detected.csv and, into this folder only, the tables of ``findings.md``.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "paper_tables"), str(HERE.parents[1] / "simulations")]

from findings_tables import write  # noqa: E402  # studies are no package
from printed_tables import audit_table  # noqa: E402
from true_tables import Style, answers, true_table  # noqa: E402

Config = Mapping[str, Any]

ALTERATIONS = ("last digit", "one point", "two digits swapped", "sign")
IN_POINTS = ("accuracy", "baseline", "gain", "relative_gain")
SIGNED = ("gain", "relative_gain", "kappa", "t")


def altered(cell: str, column: str, how: str, rng: np.random.Generator) -> str | None:
    """Return a printed number with one alteration; None where it has none of that kind."""
    digits = [i for i, c in enumerate(cell) if c.isdigit()]
    value = float("".join(c for c in cell if c.isdigit() or c in ".-") or "nan") if digits else 0.0
    if not digits or cell.startswith("<"):
        return None
    if how == "two digits swapped":
        pairs = [(a, b) for a, b in pairwise(digits) if cell[a] != cell[b]]
        if not pairs:
            return None
        a, b = pairs[rng.integers(len(pairs))]
        swapped = list(cell)
        swapped[a], swapped[b] = cell[b], cell[a]
        return "".join(swapped)
    if how == "sign":
        if column not in SIGNED or value == 0:
            return None
        return cell.removeprefix("-") if cell.startswith("-") else f"-{cell}"
    if how == "one point" and column not in IN_POINTS:
        return None
    decimals = len("".join(c for c in cell if c.isdigit() or c == ".").partition(".")[2])
    step = 1.0 if how == "one point" else 10.0**-decimals
    new = value + float(rng.choice([-step, step]))
    if new < 0 and column not in SIGNED:
        new = value + step
    before, after = cell[: digits[0]].removesuffix("-"), cell[digits[-1] + 1 :]
    text = f"{before}{new:,.{decimals}f}{after}"
    return text if new != value else None


def detected(config: Config, design: str, n: int, column: str, how: str) -> dict[str, Any]:
    """Return how often one altered number of a column makes a finding inconsistent, or is refused as no such number."""
    found = tried = 0
    style = Style(columns=tuple(config["designs"][design]), relative_unit="percent sign")
    for i in range(config["replicates"]):
        rng = np.random.default_rng([config["seed"], n, i])
        frame, size = true_table(answers(rng, config["rows"], n), style)
        row = int(rng.integers(len(frame)))
        new = altered(str(frame.loc[row, column]), column, how, rng)
        if new is None:
            continue
        wrong = frame.copy()
        wrong.loc[row, column] = new
        try:
            audit = audit_table(wrong, n=size)
        except ValueError:
            # No such number: a kappa above 1, an accuracy above 100.
            tried, found = tried + 1, found + 1
            continue
        tried += 1
        found += not audit.holds
    return {
        "design": design,
        "items": n,
        "column": column,
        "alteration": how,
        "tables": tried,
        "inconsistent": found / tried if tried else np.nan,
    }


def study(config: Config, workers: int = 1) -> dict[str, pd.DataFrame]:
    """Return the share of altered numbers that are found, by design, items, column and alteration."""
    from joblib import Parallel, delayed

    jobs = [
        delayed(detected)(config, design, n, column, how)
        for design in config["designs"]
        for n in config["items"]
        for column in columns_of(config["designs"][design])
        for how in ALTERATIONS
        if not (how == "sign" and column not in SIGNED)
        and not (how == "one point" and column not in IN_POINTS)
    ]
    return {"detected": pd.DataFrame(Parallel(n_jobs=workers)(jobs))}


def columns_of(design: list[str]) -> list[str]:
    """Return the printed columns of a design."""
    return [
        "accuracy",
        *(c for name in design for c in (["gained", "lost"] if name == "gained_lost" else [name])),
    ]


def shown(found: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return a table for each design and number of items: percent found, by column and alteration."""
    table = found["detected"]
    out = {}
    for (design, n), part in table.groupby(["design", "items"], sort=False):
        wide = part.pivot_table(index="column", columns="alteration", values="inconsistent", sort=False)
        wide = (100 * wide[list(ALTERATIONS)]).round().map(lambda x: "" if pd.isna(x) else f"{x:.0f}")
        out[f"{design} {n}"] = wide.reset_index()
    return out


def main() -> None:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE, help="folder for the CSV files")
    parser.add_argument("-j", "--workers", type=int, default=1, help="processes")
    arguments = parser.parse_args()
    config = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
    arguments.out.mkdir(parents=True, exist_ok=True)
    tables = write(HERE, arguments.out.resolve(), study(config, arguments.workers), shown)
    for name, table in tables.items():
        print(f"\n== {name}\n{table.to_string(index=False)}")


if __name__ == "__main__":
    main()
