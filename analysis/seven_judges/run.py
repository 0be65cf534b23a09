"""What do the 160 debates of seven agents of small models say, and does it depend on how their answers were read?

Run: python analysis/seven_judges/run.py
"""

from __future__ import annotations

import pandas as pd

from d3stats import datasets, fit, replay

RULES = ["fixed:1", "fixed:2", "ks:0.05,patience=1", "ks_bound:0.1"]
SEED = 1


def main() -> None:
    """Print the per-round table and the replay under both readings."""
    pd.set_option("display.width", 160)
    for reading in ("asked", "strict"):
        log = datasets.load_slm7(reading=reading)
        rounds = fit(log, n_boot=500, rng=SEED).to_frame()
        columns = ["round", "debates", "missing_votes", "mean", "spread", "prob_majority", "accuracy"]
        columns += [
            "accuracy_low",
            "accuracy_high",
            "ks_pmf",
            "ks_pmf_noise",
            "ks_latent",
            "ks_latent_noise",
        ]
        print(f"\n== reading: {reading}")
        print(rounds[columns].to_string(index=False, float_format=lambda v: f"{v:.3f}", na_rep=""))
        played = replay(log, RULES)
        print(played.summary())
        paired = played.paired("full")
        accuracy = paired[paired["measure"] == "accuracy"]
        print(
            accuracy[["rule", "difference", "low", "high", "n_debates"]].to_string(
                index=False, float_format=lambda v: f"{v:.3f}"
            )
        )


if __name__ == "__main__":
    main()
