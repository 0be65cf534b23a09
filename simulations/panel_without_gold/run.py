"""What do votes alone tell of judges and of right answers, where judges are independent and where they are not?

Run: python simulations/panel_without_gold/run.py
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit

from d3stats.inference import conditional_independence, dawid_skene, glad

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from findings_tables import write  # noqa: E402  # the studies' shared helper lies beside their folders

CONFIG = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
NODES, SHARE = np.polynomial.hermite_e.hermegauss(61)
SHARE = SHARE / SHARE.sum()


def abilities(accuracy: list[float], spread: float) -> np.ndarray:
    """Return the abilities whose mean accuracy over items of differing ease is the one given, with two answers."""
    ease = np.exp(spread * NODES)
    return np.array([brentq(lambda a, p=p: expit(a * ease) @ SHARE - p, 0, 60) for p in accuracy])


def drawn(cell: Mapping[str, Any], n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the votes of one panel with their labels, and the true accuracy of each judge."""
    accuracy = np.array(cell["accuracy"])
    answers = cell.get("answers", 2)
    truth = rng.integers(0, answers, n)
    chance = np.tile(accuracy, (n, 1))
    if "spread" in cell:
        ease = np.exp(cell["spread"] * rng.standard_normal(n))
        chance = expit(np.outer(ease, abilities(cell["accuracy"], cell["spread"])))
    if "misled" in cell:
        # The accuracies are those over all items; where a panel is misled, each judge is right with 1 - accuracy.
        misled = rng.random(n) < cell["misled"]
        chance = np.where(misled[:, None], 1 - accuracy, accuracy)
        accuracy = cell["misled"] * (1 - accuracy) + (1 - cell["misled"]) * accuracy
    wrong = (truth[:, None] + rng.integers(1, answers, chance.shape)) % answers
    codes = np.where(rng.random(chance.shape) < chance, truth[:, None], wrong)
    copies = cell.get("copies", 0)
    codes = np.column_stack([codes, *[codes[:, 0]] * copies])
    accuracy = np.append(accuracy, [accuracy[0]] * copies)
    words = np.array(list("ABCD"), dtype=object)
    votes = np.where(rng.random(codes.shape) < cell.get("missing", 0.0), None, words[codes])
    table = pd.DataFrame(votes, columns=[f"judge {k + 1}" for k in range(codes.shape[1])])
    return table.assign(label=words[truth]), accuracy


def measured(cell: Mapping[str, Any], number: int, config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row per method for one panel."""
    place = [one["name"] for one in config["cells"]].index(cell["name"])
    table, accuracy = drawn(cell, config["items"], np.random.default_rng([config["seed"], place, number]))
    p = np.nan
    if len(accuracy) > 3:
        tested = conditional_independence(table.drop(columns="label"), n_boot=config["n_boot"], rng=number)
        p = tested.p_value
    rows = []
    for name, estimate in (("Dawid and Skene", dawid_skene), ("GLAD", glad)):
        found = estimate(table, level=config["level"])
        low, high = (found.judges[end].to_numpy(dtype=float) for end in ("low", "high"))
        said = found.expected if isinstance(found.expected, float) else found.expected.value
        rows.append(
            {
                "cell": cell["name"],
                "panel": number,
                "method": name,
                "right": found.accuracy.value,
                "plurality": found.plurality.value,
                "said": said,
                "error": np.abs(found.judges["accuracy"] - accuracy).mean(),
                "held": ((low <= accuracy) & (accuracy <= high)).mean(),
                "p_value": p,
            }
        )
    return rows


def study(config: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return the panels, and the means of each cell and method."""
    rows = [
        row
        for cell in config["cells"]
        for k in range(config["replicates"])
        for row in measured(cell, k, config)
    ]
    panels = pd.DataFrame(rows)
    return {"panels": panels, "summary": summarise(panels)}


def summarise(panels: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell and method."""
    panels = panels.assign(warned=(panels["p_value"] <= 0.05).where(panels["p_value"].notna()))
    kept = ["right", "plurality", "said", "error", "held", "warned"]
    means = (
        panels.astype({"warned": float}).groupby(["cell", "method"], sort=False)[kept].mean().reset_index()
    )
    gain = panels.assign(gain=panels["right"] - panels["plurality"]).groupby(["cell", "method"], sort=False)[
        "gain"
    ]
    return means.assign(gain=gain.mean().to_numpy(), gain_se=gain.sem().to_numpy())


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the table of the findings."""
    t = tables["summary"]

    def text(column: str, digits: int = 2) -> list[str]:
        return ["-" if x != x else f"{x:.{digits}f}" for x in t[column]]

    columns: dict[str, Any] = {"cell": t["cell"], "method": t["method"]}
    columns |= {"plurality right": text("plurality", 3), "verdicts right": text("right", 3)}
    columns |= {"gain (SE)": [f"{g:+.3f} ({s:.3f})" for g, s in zip(t["gain"], t["gain_se"], strict=True)]}
    columns |= {"said": text("said", 3), "error of accuracies": text("error", 3), "held": text("held")}
    columns |= {"warned": text("warned")}
    return {"cells": pd.DataFrame(columns)}


def main() -> None:
    """Run the study and write its tables."""
    for name, table in write(HERE, HERE, study(CONFIG), shown).items():
        print(f"\n== {name}\n{table.to_string(index=False)}")


if __name__ == "__main__":
    main()
