"""Does a ledger hold its limit against debates that work against it?

Every debate is stopped early. An adversary that sees all earlier decisions chooses which stops lose their verdict, and
for net losses also which gain one. The share of campaigns that lose more than allowed must be at most delta, for every
adversary. A campaign with net losses counts as over the limit if it was over at any time.

Run: python simulations/ledger/run.py [--campaigns N], after python simulations/ledger/savings.py
"""

from __future__ import annotations

import argparse
import math
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.planning.ledger import Ledger, net_design

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


NET_ADVERSARIES = {
    "always": "every stop loses",
    "coin": "each stop loses or gains by a fair coin",
    "gains first": "stops gain in the first third of the campaign, then lose",
    "losses first": "stops lose in the first half of the campaign, then gain",
    "blocks": "stops lose in blocks of twenty and gain in blocks of twenty",
    "after honoured": "a stop loses where the one before was honoured, else it gains",
    "near the end": "a stop gains where one more audited loss would end early stopping, else it loses",
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


def net_losses(
    name: str, d: int, n: int, allowed: int, state: dict[str, NDArray[Any]], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the loss of the stop of debate d (from 0) in each campaign: 1, 0, or -1 for a gain."""
    size = len(state["lost"])
    if name == "always":
        return np.ones(size, dtype=np.int64)
    if name == "coin":
        return np.where(rng.random(size) < 0.5, 1, -1)
    if name == "gains first":
        return np.full(size, -1 if 3 * d < n else 1)
    if name == "losses first":
        return np.full(size, 1 if 2 * d < n else -1)
    if name == "blocks":
        return np.full(size, 1 if d // 20 % 2 == 0 else -1)
    if name == "after honoured":
        return np.where(state["honoured"] | (d == 0), 1, -1)
    if name == "near the end":
        return np.where(state["last"], -1, 1)
    return (state["lost"] <= allowed).astype(np.int64)


def net_campaigns(
    name: str, ledger: Ledger, coins: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the largest net loss of each campaign; the same decisions as :class:`d3stats.planning.Campaign`."""
    n, size = coins.shape
    assert ledger.stages is not None
    q, theta = net_design(ledger.allowed, ledger.delta, ledger.stages)
    pays = -math.log((1.0 - (1.0 - q) * math.exp(theta)) / q) / theta
    earns = math.log((1.0 - (1.0 - q) * math.exp(-theta)) / q) / theta
    bound = np.full(size, -math.log(ledger.delta) / theta)
    most = np.zeros(size, dtype=np.int64)
    state = {"lost": np.zeros(size, dtype=np.int64), "honoured": np.zeros(size, dtype=bool)}
    for d in range(n):
        goes_on = bound < ledger.allowed + 1 - 1e-9
        state["last"] = bound + pays >= ledger.allowed + 1 - 1e-9
        loss = net_losses(name, d, n, ledger.allowed, state, rng)
        audited = coins[d] < np.where(goes_on, q, 1.0)
        bound += np.where(
            audited & goes_on, np.where(loss == 1, pays, np.where(loss == -1, -earns, 0.0)), 0.0
        )
        state["lost"] = state["lost"] + np.where(audited, 0, loss)
        state["honoured"] = ~audited
        most = np.maximum(most, state["lost"])
    return most


def ledger_of(config: dict[str, Any], losses: str, design: str, allowed: int) -> Ledger:
    """Return the ledger of a cell."""
    n = 40 + config["debates_per_loss"] * (allowed + 1)
    eps = (allowed + 0.5) / n
    if losses == "net":
        return Ledger(n=n, eps=eps, delta=config["delta"], losses="net", stages=config["net_designs"][design])
    stages, rise = config["designs"][design]
    return Ledger(n=n, eps=eps, delta=config["delta"], stages=stages, rise=rise)


def cell(config: dict[str, Any], losses: str, design: str, allowed: int, adversary: str) -> dict[str, Any]:
    """Play the campaigns of one cell."""
    ledger = ledger_of(config, losses, design, allowed)
    names, designs = of_kind(config, losses)
    key = [designs.index(design), allowed, names.index(adversary)]
    rng = np.random.default_rng([config["seed"], *key] + [1] * (losses == "net"))
    play = net_campaigns if losses == "net" else campaigns
    lost = play(adversary, ledger, rng.random((ledger.n, config["campaigns"])), rng)
    over = float((lost > allowed).mean())
    return {
        "losses": losses,
        "design": design,
        "allowed": allowed,
        "adversary": adversary,
        "campaigns": config["campaigns"],
        "over": over,
        "over_se": float(np.sqrt(over * (1 - over) / config["campaigns"])),
        "mean_lost": float(lost.mean()),
    }


def of_kind(config: dict[str, Any], losses: str) -> tuple[list[str], list[str]]:
    """Return the adversaries and the designs of a kind of losses."""
    if losses == "net":
        return list(NET_ADVERSARIES), list(config["net_designs"])
    return list(ADVERSARIES), list(config["designs"])


def over_table(table: pd.DataFrame, losses: str, said: dict[str, str]) -> pd.DataFrame:
    """Return the largest share over the limit, by adversary and verdicts allowed."""
    part = table[table["losses"] == losses]
    wide = part.pivot_table(index="adversary", columns="allowed", values="over", aggfunc="max", sort=False)
    wide = wide.map(lambda over: f"{over:.4f}").reset_index()
    wide["adversary"] = wide["adversary"] + ": " + wide["adversary"].map(said)
    return wide.rename(columns={m: f"{m} allowed" for m in wide.columns if m != "adversary"})


def saved_table(played: pd.DataFrame, limits: pd.DataFrame) -> pd.DataFrame:
    """Return what campaigns save, by source, size and share; families are means over their worlds."""
    cells = ["source", "debates", "eps"]
    played = played.assign(over=played["lost"] > played["allowed"])
    by = played.groupby(cells, sort=False)
    found = by.agg(campaigns=("saved", "size"), saved=("saved", "mean"), over=("over", "sum"))
    found = found.join(limits.groupby(cells, sort=False)[["knowing", "best_ladder"]].mean())
    return found.reset_index()


def shown(made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings."""
    table = saved_table(made["savings"], made["limits"])
    logs = table["source"].str.startswith("gemma") | (table["source"] == "slm7")
    measures = ["saved", "knowing", "best_ladder"]
    mean = table[~logs].groupby(["debates", "eps"])[measures].mean()
    played = table[~logs].groupby(["debates", "eps"])[["campaigns", "over"]].sum()
    families = mean.map(lambda share: f"{share:.3f}").join(played)
    names = {"saved": "ledger", "knowing": "knows all ladders", "best_ladder": "best ladder"}
    each = table[(table["eps"] == 0.01) | logs]
    sources = each.assign(**{name: each[name].map(lambda share: f"{share:.3f}") for name in measures})
    return {
        "over": over_table(made["adversaries"], "differs", ADVERSARIES),
        "net": over_table(made["adversaries"], "net", NET_ADVERSARIES),
        "families": families.reset_index().rename(columns=names),
        "savings": sources.rename(columns=names),
    }


def main() -> None:
    """Play all cells and write the table."""
    config = tomllib.loads((HERE / "config.toml").read_text())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=config["campaigns"])
    config["campaigns"] = parser.parse_args().campaigns
    rows = [
        cell(config, losses, design, allowed, adversary)
        for losses in ("differs", "net")
        for design in of_kind(config, losses)[1]
        for allowed in config["allowed"]
        for adversary in of_kind(config, losses)[0]
    ]
    found = {"adversaries": pd.DataFrame(rows)}
    found |= {name: pd.read_csv(HERE / f"{name}.csv") for name in ("savings", "limits")}
    for name, table in write(HERE, HERE, found, shown).items():
        print(name, table.to_string(index=False), sep="\n")


if __name__ == "__main__":
    main()
