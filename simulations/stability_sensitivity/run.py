"""How much do rounds, accuracy and premature stops depend on the threshold, the patience and the panel of the KS rule?

Run: python simulations/stability_sensitivity/run.py [-o FOLDER]

Writes ``thresholds.csv`` (threshold x patience), ``panels.csv`` (panel size x threshold) and, into this folder only,
the tables of ``findings.md``. The rules see the counts of right votes of a whole batch; unanimity stands beside them.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from d3stats.planning import Study, simulate
from d3stats.worlds import from_table

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from findings_tables import write  # noqa: E402  # beside the studies, which are no package

Config = Mapping[str, Any]
KEPT = (
    "rounds", "rounds_se", "accuracy", "accuracy_se", "lost", "lost_se", "gained", "gained_se", "premature",
    "premature_se", "saved_rounds_vs_full", "saved_rounds_vs_unanimity", "saved_rounds_vs_unanimity_se",
)  # fmt: skip


def name_of(threshold: float, patience: int) -> str:
    """Return the text of the KS rule with these settings."""
    return f"ks:{threshold:g},patience={patience}"


def swept(config: Config, panel: int, settings: list[tuple[float, int]]) -> pd.DataFrame:
    """Run the KS rule at several settings in every world, for panels of one size."""
    worlds = {
        table["label"]: from_table(
            {name: value for name, value in table.items() if name != "label"} | {"panel": panel}
        )
        for table in config["worlds"]
    }
    study = Study(
        worlds=worlds,
        rules=[name_of(*each) for each in settings],
        n_rounds=config["rounds"],
        debates=config["batch"] * config["batches"],
        batch=config["batch"],
        seeds=[config["seed"]],
    )
    table = simulate(study, progress=False).to_frame()
    # The text of a rule leaves its usual values out.
    named = dict(zip(study.names, settings, strict=False))
    threshold, patience = (
        table["rule"].map(lambda rule, i=i: named.get(rule, (None, None))[i]) for i in (0, 1)
    )
    about = table[["world", "rule"]].assign(
        panel=panel, threshold=threshold, patience=patience.astype("Int64")
    )
    return pd.concat([about, table[list(KEPT)]], axis=1)


def study(config: Config) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    grid = [(eps, m) for m in config["patiences"] for eps in config["thresholds"]]
    line = [(eps, config["patience"]) for eps in config["thresholds"]]
    return {
        "thresholds": swept(config, config["panel"], grid),
        "panels": pd.concat([swept(config, n, line) for n in config["panels"]], ignore_index=True),
    }


def cell(row: Mapping[Any, Any], name: str, digits: int) -> str:
    """Return a value with its standard error, a dash where there is none."""
    value, error = row[name], row[f"{name}_se"]
    if pd.isna(value):
        return "-"
    return f"{value:.{digits}f}" + ("" if pd.isna(error) else f" ({error:.{digits}f})")


def wide(table: pd.DataFrame, down: list[str], across: str, measure: str, digits: int) -> pd.DataFrame:
    """Return one measure as a table, settings down and across."""
    cells = table.assign(cell=[cell(row, measure, digits) for row in table.to_dict("records")])
    made = cells.pivot_table(index=down, columns=across, values="cell", aggfunc="first", sort=False)
    return made.rename(columns=lambda c: f"{across} {c:g}").reset_index()


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings, with the digits that they show."""
    grid, panels = tables["thresholds"], tables["panels"]
    rules = grid[grid["threshold"].notna()].astype({"patience": int})
    alone = grid[grid["threshold"].isna()]
    usual = rules[rules["threshold"].isin([0.01, 0.05, 0.1, 0.2])]
    baseline = alone[["world", "rule"]].assign(
        rounds=[cell(row, "rounds", 2) for row in alone.to_dict("records")],
        accuracy=[cell(row, "accuracy", 3) for row in alone.to_dict("records")],
        premature=[cell(row, "premature", 3) for row in alone.to_dict("records")],
    )
    sizes = panels[panels["threshold"].isin([0.05, 0.1])]
    full = panels[panels["rule"] == "full"]
    by_size = {
        name: wide(sizes, ["world", "threshold"], "panel", name, 3 if name != "rounds" else 2)
        for name in ("rounds", "premature")
    }
    gained = sizes.merge(full[["world", "panel", "accuracy"]], on=["world", "panel"], suffixes=("", "_full"))
    gained["change"] = gained["accuracy"] - gained["accuracy_full"]
    gained["cell"] = [f"{row.accuracy:.3f} ({row.change:+.3f})" for row in gained.itertuples()]
    kept = gained.pivot_table(
        index=["world", "threshold"], columns="panel", values="cell", aggfunc="first", sort=False
    )
    return {
        "rounds": wide(usual, ["world", "patience"], "threshold", "rounds", 2),
        "accuracy": wide(usual, ["world", "patience"], "threshold", "accuracy", 3),
        "premature": wide(usual, ["world", "patience"], "threshold", "premature", 3),
        "baselines": baseline,
        "rounds by panel": by_size["rounds"],
        "accuracy by panel": kept.rename(columns=lambda c: f"panel {c:g}").reset_index(),
        "premature by panel": by_size["premature"],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE)
    out = parser.parse_args().out
    found = study(tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8")))
    tables = write(HERE, out, found, shown)
    print(*(f"== {name}\n{frame.to_string(index=False)}\n" for name, frame in tables.items()), sep="\n")
