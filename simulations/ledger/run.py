"""Does a ledger hold its limit against debates that work against it?

Every debate is stopped early. An adversary that sees all earlier decisions chooses which stops lose their verdict. The
share of campaigns that lose more than allowed must be at most delta, for every adversary.

Run: python simulations/ledger/run.py [--campaigns N], after python simulations/ledger/savings.py
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.planning.ledger import Ledger

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from findings_tables import filled, write  # noqa: E402  # the studies' shared helper lies beside their folders

__all__ = ["filled"]

ADVERSARIES = {
    "always": "every stop loses",
    "half": "each stop loses by a coin of its own",
    "second half": "no stop loses in the first half of the campaign, then all",
    "blocks": "stops lose in blocks of twenty, as repeats of one question do",
    "after honoured": "a stop loses where the one before was honoured",
    "first stage": "stops lose while the audit share is the lowest",
    "waits": "after an audit that found a loss no stop loses for ten debates",
    "until over": "stops lose until more are lost than allowed",
}


def losses(
    name: str, d: int, n: int, allowed: int, state: dict[str, NDArray[Any]], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return in which campaigns the stop of debate d (from 0) loses; `state` is the past."""
    size = len(state["lost"])
    if name == "always":
        return np.ones(size, dtype=bool)
    if name == "half":
        return rng.random(size) < 0.5
    if name == "second half":
        return np.full(size, 2 * d >= n)
    if name == "blocks":
        return np.full(size, d // 20 % 2 == 0)
    if name == "after honoured":
        return state["honoured"] | (d == 0)
    if name == "first stage":
        return state["stage"] == 0
    if name == "waits":
        return d - state["found"] > 10
    return state["lost"] <= allowed


def campaigns(
    name: str, ledger: Ledger, coins: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return how many lost verdicts are honoured in each campaign; coins has the shape (debates, campaigns)."""
    n, size = coins.shape
    shares = np.array([*ledger.shares, 1.0])
    state = {
        "stage": np.zeros(size, dtype=np.int64),
        "lost": np.zeros(size, dtype=np.int64),
        "honoured": np.zeros(size, dtype=bool),
        "found": np.full(size, -100, dtype=np.int64),
    }
    for d in range(n):
        loses = losses(name, d, n, ledger.allowed, state, rng)
        audited = coins[d] < shares[state["stage"]]
        found = audited & loses
        state["lost"] += loses & ~audited
        state["stage"] = np.minimum(state["stage"] + found, len(shares) - 1)
        state["honoured"] = ~audited
        state["found"] = np.where(found, d, state["found"])
    return state["lost"]


def ledger_of(config: dict[str, Any], design: str, allowed: int) -> Ledger:
    """Return the ledger of a cell."""
    n = 40 + config["debates_per_loss"] * (allowed + 1)
    stages, rise = config["designs"][design]
    return Ledger(n=n, eps=(allowed + 0.5) / n, delta=config["delta"], stages=stages, rise=rise)


def cell(config: dict[str, Any], design: str, allowed: int, adversary: str) -> dict[str, Any]:
    """Play the campaigns of one cell."""
    ledger = ledger_of(config, design, allowed)
    key = [list(config["designs"]).index(design), allowed, list(ADVERSARIES).index(adversary)]
    rng = np.random.default_rng([config["seed"], *key])
    lost = campaigns(adversary, ledger, rng.random((ledger.n, config["campaigns"])), rng)
    over = float((lost > allowed).mean())
    return {
        "design": design,
        "allowed": allowed,
        "adversary": adversary,
        "campaigns": config["campaigns"],
        "over": over,
        "over_se": float(np.sqrt(over * (1 - over) / config["campaigns"])),
        "mean_lost": float(lost.mean()),
    }


def shown(made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings."""
    table = made["adversaries"]
    wide = table.pivot_table(index="adversary", columns=["allowed"], values="over", aggfunc="max", sort=False)
    wide = wide.map(lambda over: f"{over:.4f}").reset_index()
    wide["adversary"] = wide["adversary"] + ": " + wide["adversary"].map(ADVERSARIES)
    cells = made["savings"].groupby(["source", "debates", "eps"], sort=False)
    saved = cells.agg(campaigns=("saved", "size"), allowed=("allowed", "first"), lost=("lost", "mean"))
    saved["saved"] = cells["saved"].mean().map(lambda share: f"{share:.3f}")
    saved["lost"] = saved["lost"].map(lambda lost: f"{lost:.1f}")
    saved["over"] = (
        made["savings"]
        .assign(over=made["savings"].eval("lost > allowed"))
        .groupby(["source", "debates", "eps"], sort=False)["over"]
        .sum()
    )
    return {
        "over": wide.rename(columns={m: f"{m} allowed" for m in wide.columns if m != "adversary"}),
        "savings": saved.reset_index(),
    }


def main() -> None:
    """Play all cells and write the table."""
    config = tomllib.loads((HERE / "config.toml").read_text())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=config["campaigns"])
    config["campaigns"] = parser.parse_args().campaigns
    rows = [
        cell(config, design, allowed, adversary)
        for design in config["designs"]
        for allowed in config["allowed"]
        for adversary in ADVERSARIES
    ]
    found = {"adversaries": pd.DataFrame(rows), "savings": pd.read_csv(HERE / "savings.csv")}
    for name, table in write(HERE, HERE, found, shown).items():
        print(name, table.to_string(index=False), sep="\n")


if __name__ == "__main__":
    main()
