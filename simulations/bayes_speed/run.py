"""How fast are the Bayesian fits: seconds, effective draws and divergences on three data sets.

    python simulations/bayes_speed/run.py                  # the fits, as a user calls them
    python simulations/bayes_speed/run.py --way graph      # the same PyMC models, compiled by PyTensor, by pm.sample

Each data set runs in its own process, 4 chains of 1,000 draws after 1,000 to adapt, one chain after another. "Cold" is
the first run, with empty caches of compiled code, imports included; "warm" is the second run in the same process, with
the same data and another seed. Seconds are of processor time, of compilers that are started included, so that other
work on the machine does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

RUNS = {"draws": 1000, "tune": 1000, "chains": 4}
WATCHED = {
    "rounds": ("accuracy", "spread", "majority", "step"),
    "mixture": ("weight", "mean", "rho"),
    "accuracy": ("effect", "sd_question"),
}
"""Variables whose least number of effective draws (bulk) is reported; of "graph", those that the model has."""


def rounds() -> tuple[Any, ...]:
    """Votes of seven agents in 160 debates of three rounds; two components in each round."""
    from d3stats import datasets

    return (datasets.load_slm7().counts("wrong"),)


def mixture() -> tuple[Any, ...]:
    """620 simulated debates of 7 votes, of two kinds: Beta(4, 1) and Beta(2, 4)."""
    rng = np.random.default_rng(4)
    kind = rng.random(620) < 0.65
    chance = np.where(kind, rng.beta(4, 1, 620), rng.beta(2, 4, 620))
    return rng.binomial(7, chance), 7


def accuracy() -> tuple[Any, ...]:
    """100 simulated questions, three protocols, 5 answers in each cell."""
    rng = np.random.default_rng(1)
    logits = np.array([0.2, 0.6, 1.0]) + 1.2 * rng.standard_normal((100, 1))
    right = rng.binomial(5, 1 / (1 + np.exp(-logits)))
    question, protocol = np.meshgrid(np.arange(100), np.arange(3), indexing="ij")
    return right.ravel(), np.full(300, 5), question.ravel(), np.array(["A", "B", "C"])[protocol.ravel()]


DATA = {"rounds": rounds, "mixture": mixture, "accuracy": accuracy}


def processor_seconds() -> float:
    """Time of this process and of those that it started and that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def measured(name: str, way: str, seed: int) -> dict[str, Any]:
    """Run once: seconds, least effective draws, divergences."""
    import d3stats.models.bayes as room

    data = DATA[name]()
    start = processor_seconds()
    if way == "fit":
        idata = getattr(room, f"fit_{name}")(*data, **RUNS, rng=seed).idata
    else:
        import pymc

        model = getattr(room, f"{name}_model")(*data)
        idata = pymc.sample(
            **RUNS, cores=1, model=model, target_accept=0.9, random_seed=seed, progressbar=False
        )
    seconds = processor_seconds() - start
    import arviz

    held = [v for v in idata["posterior"].data_vars if v.split("[")[0] in WATCHED[name]]
    effective = arviz.ess(idata, var_names=held)
    least = min(float(np.asarray(effective[v]).min()) for v in held)
    return {
        "seconds": seconds,
        "ess": least,
        "divergences": int(np.asarray(idata["sample_stats"]["diverging"]).sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--way", choices=["fit", "graph"], default="fit")
    parser.add_argument("--data", choices=list(DATA))
    chosen = parser.parse_args()
    if chosen.data:
        print(json.dumps([measured(chosen.data, chosen.way, seed) for seed in (1, 2)]))
        return
    print(f"{'data':10s} {'run':5s} {'seconds':>8s} {'least ESS':>10s} {'ESS/s':>8s} {'divergences':>12s}")
    for name in DATA:
        with tempfile.TemporaryDirectory() as empty:
            caches = {
                "NUMBA_CACHE_DIR": f"{empty}/numba",
                "PYTENSOR_FLAGS": f"base_compiledir={empty}/pytensor",
            }
            command = [sys.executable, "-W", "ignore", __file__, "--data", name, "--way", chosen.way]
            done = subprocess.run(
                command, env=os.environ | caches, stdout=subprocess.PIPE, text=True, check=True
            )
        for run, row in zip(("cold", "warm"), json.loads(done.stdout.splitlines()[-1]), strict=True):
            print(
                f"{name:10s} {run:5s} {row['seconds']:8.1f} {row['ess']:10.0f} {row['ess'] / row['seconds']:8.1f} "
                f"{row['divergences']:12d}",
                flush=True,
            )


if __name__ == "__main__":
    main()
