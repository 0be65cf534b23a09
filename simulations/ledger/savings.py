"""Without labels, what does a ledger save on real debates and in synthetic worlds, and how many verdicts does it lose?

Run: python simulations/ledger/savings.py [--minutes M]
Finished campaigns are kept in savings.csv; the same command continues, one campaign of each cell after the other.
"""

from __future__ import annotations

import argparse
import csv
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from d3stats.datasets import load_gemma, load_slm7
from d3stats.planning.ledger import Ledger
from d3stats.trajectories import Trajectories
from d3stats.worlds import Conformity, DirichletCompound, MixturePanel, Voter, simulate_debates

HERE = Path(__file__).resolve().parent
OUT = HERE / "savings.csv"
WORLDS = {
    "voter": Voter(panel=7),
    "conformity": Conformity(panel=7),
    "mixture_panel": MixturePanel(panel=7),
    "dirichlet_compound": DirichletCompound(panel=7),
}


def source(name: str, config: dict[str, Any]) -> Trajectories:
    """Return the debates of a source."""
    if name == "slm7":
        return load_slm7()
    if name.startswith("gemma_"):
        return load_gemma(name.removeprefix("gemma_"))
    return simulate_debates(WORLDS[name], config["population"], 8, rng=config["seed"])


def campaign(
    name: str, log: Trajectories, n: int, eps: float, number: int, config: dict[str, Any]
) -> dict[str, Any]:
    """Play one campaign of a cell."""
    rng = np.random.default_rng([config["seed"], number, n, round(1000 * eps), len(name), ord(name[-1])])
    found = Ledger(n=n, eps=eps).replay(log, campaigns=1, rng=rng)
    row = found.to_frame().iloc[0]
    return {
        "source": name,
        "debates": n,
        "eps": eps,
        "campaign": number,
        "allowed": found.allowed,
        "saved": round(float(row["saved"]), 6),
        "lost": int(row["lost"]),
        "honoured": int(row["honoured"]),
        "audited": int(row["audited"]),
        "unit": found.unit,
    }


def main() -> None:
    """Play campaigns until all are there or the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    end = time.monotonic() + 60 * parser.parse_args().minutes
    config = tomllib.loads((HERE / "config.toml").read_text())["savings"]
    done: set[tuple[str, int, float, int]] = set()
    if OUT.exists():
        with OUT.open(newline="") as file:
            for row in csv.DictReader(file):
                done.add((row["source"], int(row["debates"]), float(row["eps"]), int(row["campaign"])))
    names = [*config["logs"], *config["worlds"]]
    logs = {name: source(name, config) for name in names}
    for number in range(1, config["campaigns"] + 1):
        for name in names:
            for n in config["debates"]:
                for eps in config["eps"]:
                    if (name, n, eps, number) in done:
                        continue
                    if time.monotonic() > end:
                        return
                    row = campaign(name, logs[name], n, eps, number, config)
                    fresh = not OUT.exists()
                    with OUT.open("a", newline="") as file:
                        writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
                        if fresh:
                            writer.writeheader()
                        writer.writerow(row)


if __name__ == "__main__":
    main()
