"""How often does a fixed KS threshold call a debate stable when its rounds are independent draws of one law?

Run: python simulations/ks_threshold/run.py
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd

from d3stats.models.mixtures.law import BetaBinomialMixture

HERE = Path(__file__).resolve().parent


def study(config: dict[str, object]) -> pd.DataFrame:
    """Return one row per number of debates: P(D below the threshold once, and `patience` times running)."""
    law = BetaBinomialMixture.from_alpha_beta(config["weight"], config["alpha"], config["beta"])
    pmf = law.pmf(int(config["trials"]))
    rng = np.random.default_rng(config["seed"])
    rounds = int(config["patience"]) + 1
    rows = []
    for n in config["debates"]:
        counts = rng.multinomial(n, pmf / pmf.sum(), size=(int(config["replicates"]), rounds))
        cdf = np.cumsum(counts, axis=2) / n
        distance = np.abs(np.diff(cdf, axis=1)).max(axis=2)
        below = distance < config["threshold"]
        share = below.all(axis=1).mean()
        rows.append(
            {
                "debates": n,
                "median_D": np.median(distance),
                "P_below_once": below[:, 0].mean(),
                "P_stop_at_first_chance": share,
                "se": np.sqrt(share * (1 - share) / len(below)),
            }
        )
    return pd.DataFrame(rows)


if __name__ == "__main__":
    table = study(tomllib.loads((HERE / "config.toml").read_text()))
    print(table.to_string(index=False, float_format=lambda v: f"{v:.4f}"))
