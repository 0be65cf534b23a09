"""Do plans from small pilots keep their promise on the rest of the log?

Run: python analysis/gemma_debates/plans.py [-o FOLDER]

Writes ``plans.csv``, a row per pilot, and goes on where an earlier run ended. A pilot takes about a second.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from d3stats import Trajectories, datasets, plan
from d3stats.planning.costs import outcomes, paired_change
from d3stats.stopping import StoppingRule, from_text

HERE = Path(__file__).resolve().parent
CONFIG = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
LOGS = ("reasons", "votes", "alone")
KEYS = ("log", "debates", "pilot")
COLUMNS = (
    *KEYS, "rule", "default_rule", "probability", "saved_promised", "saved_low", "saved_high", "loss_promised",
    "saved", "loss", "loss_low", "loss_high",
)  # fmt: skip

load = lru_cache(maxsize=3)(datasets.load_gemma)


def cells(config: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Yield log, size and number of every pilot, so that an early end leaves as many of each log and size."""
    for pilot in range(config["pilots"]):
        for log in LOGS:
            for debates in config["debates"]:
                yield log, debates, pilot


@lru_cache(maxsize=500)
def stopped(log: str, rule: str) -> tuple[Any, Any]:
    """Return the round in which a rule stops each debate, and the tokens until then."""
    t = load(log)
    made: StoppingRule = from_text(rule)
    at = made.stop_rounds(t).rounds
    assert t.tokens is not None
    return at, np.cumsum(t.tokens, axis=1)[np.arange(len(t)), at - 1]


def promised(pilot: Trajectories, config: Mapping[str, Any], n_draws: int) -> Any:
    """Return the plan of a pilot, as a user would make it, without the optimum of the chain."""
    return plan(
        pilot,
        max_loss=config["max_loss"],
        confidence=config["confidence"],
        n_draws=n_draws,
        limit=False,
        rng=1,
    )


def one_pilot(config: Mapping[str, Any], seed: int, log: str, debates: int, pilot: int) -> dict[str, Any]:
    """Plan from one pilot and stop all other debates of its log by the rule."""
    t = load(log)
    rng = np.random.default_rng([seed, LOGS.index(log), debates, pilot])
    drawn = np.sort(rng.choice(len(t), debates, replace=False))
    made = promised(t.select(drawn), config, config["n_draws"])
    rule = str(made.rule)
    rest = np.ones(len(t), dtype=bool)
    rest[drawn] = False
    (mine, tokens), (theirs, spent) = (stopped(log, text) for text in (rule, "unanimity"))
    others = t.select(rest)
    loss = paired_change(
        outcomes(others, theirs[rest]), outcomes(others, mine[rest]), others.cluster, CONFIG["level"]
    )
    row = made.to_frame().set_index("rule").loc[rule]
    by_default = str(promised(t.select(drawn), config, 1000).rule) if pilot < config["checked"] else ""
    return {
        "log": log,
        "debates": debates,
        "pilot": pilot,
        "rule": rule,
        "default_rule": by_default,
        "probability": made.probability,
        "saved_promised": row["saved"],
        "saved_low": row["saved_low"],
        "saved_high": row["saved_high"],
        "loss_promised": row["loss"],
        "saved": 1 - tokens[rest].sum() / spent[rest].sum(),
        "loss": loss.value,
        "loss_low": loss.low,
        "loss_high": loss.high,
    }


def main() -> None:
    """Plan from every pilot that has no row yet."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE, help="folder of plans.csv")
    file = parser.parse_args().out / "plans.csv"
    done = set(pd.read_csv(file)[list(KEYS)].itertuples(index=False, name=None)) if file.exists() else set()
    with file.open("a", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, COLUMNS, lineterminator="\n")
        if not done:
            writer.writeheader()
        for cell in cells(CONFIG["plans"]):
            if cell not in done:
                row = one_pilot(CONFIG["plans"], CONFIG["seed"], *cell)
                writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
                handle.flush()
    print(f"{file}: {len(pd.read_csv(file))} pilots", file=sys.stderr)


if __name__ == "__main__":
    main()
