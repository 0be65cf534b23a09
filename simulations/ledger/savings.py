"""Without labels, what does a ledger save on real debates and in synthetic worlds, and how many verdicts does it lose?

Beside it stand two savings that nobody can reach without knowing the debates beforehand: that of the best ladder whose
loss is at most eps, and that of a ledger which knows the loss and saving of every ladder and needs no warm-up.

Run: python simulations/ledger/savings.py [--minutes M]
Finished campaigns are kept in savings.csv; the same command continues, one campaign of each cell after the other.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import tomllib
from collections.abc import Iterator
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.datasets import load_gemma, load_slm7
from d3stats.planning.campaigns import DESIGNS, Logged, honoured_shares, stops_of
from d3stats.planning.ledger import Ledger, audit_shares
from d3stats.trajectories import Trajectories

HERE = Path(__file__).resolve().parent
OUT = HERE / "savings.csv"
sys.path.insert(0, str(HERE.parent / "plans_elsewhere"))

from elsewhere import FAMILIES, debates  # noqa: E402  # the worlds of the study of plans


def worlds(config: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield every source, by name and number."""
    for name in config["logs"]:
        yield name, 0
    for name in config["families"]:
        for number in range(config["worlds_per_family"]):
            yield name, number


def source(name: str, number: int, config: dict[str, Any]) -> Trajectories:
    """Return the debates of a source."""
    if name == "slm7":
        return load_slm7()
    if name.startswith("gemma_"):
        return load_gemma(name.removeprefix("gemma_"))
    family = FAMILIES[name]
    rng = np.random.default_rng([config["seed"], list(FAMILIES).index(name), number])
    return debates(family, family.draw(rng), config["panel"], config["rounds"], config["population"], rng)


def of_ladders(log: Logged) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the share of verdicts that each ladder loses in a log, and the share of the tokens that it saves."""
    rows = np.arange(len(log))
    levels = [*range(log.panel, (log.panel + 1) // 2, -1), 1]
    ladders = [steps for steps in combinations_with_replacement(levels, log.votes.shape[1]) if steps[-1] == 1]
    stops = stops_of(np.array(ladders), log.top, log.ends)
    lost = (log.verdicts[rows, stops - 1] != log.verdicts[rows, log.ends - 1]).mean(axis=1)
    return lost, 1.0 - log.spent[rows, stops].sum(axis=1) / log.spent[rows, log.ends].sum()


def knowing(ledger: Ledger, lost: NDArray[np.float64], saved: NDArray[np.float64]) -> tuple[float, float]:
    """Return what the best ladder within eps saves, and what a ledger that knows all ladders is expected to save."""
    best = 0.0
    for stages, rise in DESIGNS:
        shares = audit_shares(ledger.allowed, ledger.delta, stages, rise)
        row = honoured_shares(shares, ledger.n)[0]
        best = max(best, float((saved * np.interp(lost * ledger.n, np.arange(ledger.n + 1), row)).max()))
    return float(np.where(lost <= ledger.eps, saved, 0.0).max()), best


def campaign(
    place: tuple[str, int], log: Trajectories, ledger: Ledger, number: int, config: dict[str, Any]
) -> dict[str, Any]:
    """Play one campaign of a cell."""
    key = [list(worlds(config)).index(place), ledger.n, round(1000 * ledger.eps), number]
    found = ledger.replay(log, campaigns=1, rng=np.random.default_rng([config["seed"], *key]))
    row = found.to_frame().iloc[0]
    return {
        "source": place[0],
        "world": place[1],
        "debates": ledger.n,
        "eps": ledger.eps,
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
    parser.add_argument("--minutes", type=float, default=np.inf)
    end = time.monotonic() + 60 * parser.parse_args().minutes
    config = tomllib.loads((HERE / "config.toml").read_text())["savings"]
    logs = {place: source(*place, config) for place in worlds(config)}
    ledgers = [
        Ledger(n=n, eps=eps, delta=config["delta"]) for n in config["debates"] for eps in config["eps"]
    ]
    limits = []
    for (name, world), log in logs.items():
        lost, saved = of_ladders(Logged.of(ledgers[0], log))
        for ledger in ledgers:
            ladder, known = knowing(ledger, lost, saved)
            row = {"source": name, "world": world, "debates": ledger.n, "eps": ledger.eps}
            limits.append(row | {"best_ladder": ladder, "knowing": known})
    pd.DataFrame(limits).to_csv(HERE / "limits.csv", index=False, float_format="%.6g", lineterminator="\n")
    done: set[tuple[str, int, int, float, int]] = set()
    if OUT.exists():
        for row in pd.read_csv(OUT).itertuples():
            done.add((row.source, row.world, row.debates, row.eps, row.campaign))
    most = config["campaigns"]
    for number in range(1, most + 1):
        for place, log in logs.items():
            if number > (most if place[0] in config["logs"] else -(-most // config["worlds_per_family"])):
                continue
            for ledger in ledgers:
                if (*place, ledger.n, ledger.eps, number) in done:
                    continue
                if time.monotonic() > end:
                    return
                fresh = not OUT.exists()
                with OUT.open("a", newline="") as file:
                    row = campaign(place, log, ledger, number, config)
                    writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
                    if fresh:
                        writer.writeheader()
                    writer.writerow(row)


if __name__ == "__main__":
    main()
