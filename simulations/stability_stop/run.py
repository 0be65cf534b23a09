"""What does "the counts have stopped moving" say of a debate, and how much of it is the number of debates?

Run: python simulations/stability_stop/run.py [-o FOLDER]

Writes a CSV per question and, into this folder only, the tables of ``findings.md``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.models.mixtures.fit import fit_beta_binomial_mixture_batch
from d3stats.models.mixtures.law import BetaBinomialMixture
from d3stats.models.mixtures.rounds import latent_ks, pmf_ks
from d3stats.planning import Study, simulate
from d3stats.stopping import KSStability
from d3stats.stopping.ks import stop_round_of_series
from d3stats.trajectories import Trajectories
from d3stats.worlds import from_table

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from findings_tables import write  # noqa: E402  # beside the studies, which are no package

PUBLISHED = HERE.parents[1] / "tests" / "oracles" / "hu2025.json"

Floats = NDArray[np.float64]
Config = Mapping[str, Any]


def first_law(config: Config) -> Floats:
    """Return the law of the number of right votes in round 1."""
    law = config["law"]
    pmf: Floats = BetaBinomialMixture.from_alpha_beta(law["weight"], law["alpha"], law["beta"]).pmf(
        config["trials"]
    )
    return pmf / pmf.sum()


def drifted(pmf: Floats, moved: float) -> Floats:
    """Carry `moved` of all debates from a wrong to a right majority, within each in proportion.

    So the distance between two rounds is exactly what was moved between them, at the middle of the scale and
    nowhere else. Once no wrong majority is left, nothing moves.
    """
    wrong = np.arange(len(pmf)) < len(pmf) / 2
    share = pmf[wrong].sum()
    left = max(share - moved, 0.0)
    return np.where(wrong, pmf * left / share, pmf * (1 - left) / (1 - share))


def error(share: Any, replicates: int) -> Any:
    """Return the Monte Carlo standard error of a share."""
    return np.sqrt(share * (1 - share) / replicates)


def false_stops(config: Config) -> pd.DataFrame:
    """Say how often D < threshold twice running while every round's law moves by `drift`, by debates."""
    settings, pmf = config["drift"], first_law(config)
    rng = np.random.default_rng([config["seed"], 1])
    rows = []
    for drift in settings["drift"]:
        laws = [drifted(pmf, drift * t) for t in range(settings["rounds"])]
        for n in settings["debates"]:
            counts = np.stack([rng.multinomial(n, law, size=settings["replicates"]) for law in laws])
            row: dict[str, float] = {"drift": drift, "debates": n}
            for ties, below in _below(counts.cumsum(axis=2), n, config["threshold"]).items():
                twice = below[1:] & below[:-1]
                for name, stopped in (("first", twice[0]), ("by_last", twice.any(axis=0))):
                    row[f"{name}_{ties}"] = stopped.mean()
                    row[f"{name}_{ties}_se"] = error(stopped.mean(), len(stopped))
            rows.append(row)
    return pd.DataFrame(rows)


def _below(cumulative: NDArray[np.int64], n: int, threshold: float) -> dict[str, NDArray[np.bool_]]:
    """Say where D < threshold: in whole numbers, and as a difference of two rounded quotients.

    D is a multiple of 1/n, so it often equals the threshold; then the second way falls on either side.
    """
    exact = np.abs(np.diff(cumulative, axis=0)).max(axis=2) < threshold * n
    return {"exact": exact, "rounded": np.abs(np.diff(cumulative / n, axis=0)).max(axis=2) < threshold}


def fitted_stops(config: Config) -> pd.DataFrame:
    """Say the same without drift for fitted mixtures, on the scale of counts and on the latent one."""
    settings, pmf, trials = config["fitted"], first_law(config), config["trials"]
    rng = np.random.default_rng([config["seed"], 2])
    rows = []
    for n in settings["debates"]:
        counts = rng.multinomial(n, pmf, size=(settings["replicates"], 3))
        distances = {"counts": np.abs(np.diff(counts.cumsum(axis=2), axis=1)).max(axis=2) / n}
        batch = fit_beta_binomial_mixture_batch(
            np.arange(trials + 1), trials, counts.reshape(-1, trials + 1), rng=rng
        ).distribution
        fits = BetaBinomialMixture(*(a.reshape(-1, 3, 2) for a in (batch.weight, batch.mu, batch.rho)))
        first, second = (_round(fits, t) for t in (0, 1)), (_round(fits, t) for t in (1, 2))
        pairs = list(zip(first, second, strict=True))
        distances["fitted counts"] = np.stack([pmf_ks(a, b, trials) for a, b in pairs], axis=1)
        distances["fitted latent"] = np.array(
            [[latent_ks(_one(a, i), _one(b, i)) for a, b in pairs] for i in range(settings["replicates"])]
        )
        for scale, distance in distances.items():
            below = distance < config["threshold"]
            twice = below.all(axis=1).mean()
            rows.append(
                {
                    "debates": n,
                    "scale": scale,
                    "median_D": np.median(distance),
                    "once": below[:, 0].mean(),
                    "once_se": error(below[:, 0].mean(), len(below)),
                    "at_first_chance": twice,
                    "at_first_chance_se": error(twice, len(below)),
                }
            )
    return pd.DataFrame(rows)


def _round(fits: BetaBinomialMixture, t: int) -> BetaBinomialMixture:
    return BetaBinomialMixture(fits.weight[:, t], fits.mu[:, t], fits.rho[:, t])


def _one(fits: BetaBinomialMixture, i: int) -> BetaBinomialMixture:
    return BetaBinomialMixture(fits.weight[i], fits.mu[i], fits.rho[i])


def copying(config: Config) -> pd.DataFrame:
    """Say where debates that only copy are called settled, and what still moves in them then."""
    settings, pmf, n = config["copying"], first_law(config), config["trials"]
    rng = np.random.default_rng([config["seed"], 3])
    rows = []
    for debates in settings["debates"]:
        seen = [
            _copied(pmf, n, debates, settings["rounds"], config, rng) for _ in range(settings["replicates"])
        ]
        table = pd.DataFrame(seen)
        row: dict[str, float] = {"debates": debates}
        for name in table:
            row[str(name)] = float(table[name].mean())
            row[f"{name}_se"] = float(table[name].std(ddof=1)) / len(table) ** 0.5
        rows.append(row)
    return pd.DataFrame(rows)


def _copied(
    pmf: Floats, n: int, debates: int, rounds: int, config: Config, rng: np.random.Generator
) -> dict[str, float]:
    """Play one batch and stop it by the rule; rounds count from 1."""
    counts = np.empty((debates, rounds), dtype=np.int64)
    counts[:, 0] = rng.choice(n + 1, size=debates, p=pmf)
    for t in range(1, rounds):
        counts[:, t] = rng.binomial(n, counts[:, t - 1] / n)
    votes = (np.arange(n) < counts[:, :, None]).astype(np.int64)
    log = Trajectories.from_arrays(votes, label=np.ones(debates, dtype=np.int64), answers=["wrong", "right"])
    series = KSStability(config["threshold"], config["patience"]).distances(log)
    stopped = stop_round_of_series(series, config["threshold"], config["patience"])
    at = (stopped or rounds) - 1
    cdf = (counts[:, :, None] <= np.arange(n)).sum(axis=0) / debates
    rounded = [None, *np.abs(np.diff(cdf, axis=0)).max(axis=1).tolist()]
    right = 2 * counts > n
    return {
        "stop_round": at + 1,
        "stop_round_rounded": stop_round_of_series(rounded, config["threshold"], config["patience"])
        or rounds,
        "D_round_2": series[1] or 0.0,
        "changed_in_round_2": (counts[:, 1] != counts[:, 0]).mean(),
        "D_at_stop": series[at] or 0.0,
        "changed_at_stop": (counts[:, at] != counts[:, at - 1]).mean(),
        "verdicts_flip_later": (right[:, at] != right[:, -1]).mean(),
        "not_unanimous_at_stop": (counts[:, at] % n != 0).mean(),
        "accuracy_round_1": right[:, 0].mean(),
        "accuracy_at_stop": right[:, at].mean(),
        "accuracy_last_round": right[:, -1].mean(),
    }


def published() -> pd.DataFrame:
    """Return the rounds processed at the stop on the published series of four models, by threshold."""
    data = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    rows = []
    for eps in (0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2):
        row: dict[str, float | None] = {"threshold": eps}
        for model, series in data["ks_statistics"].items():
            row[model] = stop_round_of_series(series, eps, data["rounds_processed_at_stop"]["patience"])
        rows.append(row)
    return pd.DataFrame(rows)


def threshold_sweep(config: Config) -> pd.DataFrame:
    """Run the rule on the counts and as published, at every threshold, beside unanimity."""
    settings = config["sweep"]
    rules = [f"{name}:{eps}" for name in ("ks", "hu2025") for eps in settings["thresholds"]]
    study = Study(
        worlds=_worlds(config),
        rules=[*rules, f"ks_bound:{config['threshold']}", "supermajority:0.85"],
        n_rounds=settings["rounds"],
        debates=settings["batch"] * settings["batches"],
        batch=settings["batch"],
        seeds=[config["seed"]],
    )
    return simulate(study, progress=False).to_frame()


def size_sweep(config: Config) -> pd.DataFrame:
    """Run one threshold on batches of different sizes, in worlds that do not know the size."""
    settings, parts = config["sweep"], []
    for size in settings["sizes"]:
        study = Study(
            worlds=_worlds(config),
            rules=[f"ks:{config['threshold']}"],
            n_rounds=settings["rounds"],
            debates=size * settings["batches_per_size"],
            batch=size,
            seeds=[config["seed"]],
        )
        parts.append(simulate(study, progress=False).to_frame().assign(batch=size))
    return pd.concat(parts, ignore_index=True)


def _worlds(config: Config) -> dict[str, Any]:
    return {
        table["label"]: from_table(
            {**{k: v for k, v in table.items() if k != "label"}, "panel": config["trials"]}
        )
        for table in config["sweep"]["worlds"]
    }


def study(config: Config) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    return {
        "false_stops": false_stops(config),
        "fitted_stops": fitted_stops(config),
        "copying": copying(config),
        "published": published(),
        "threshold_sweep": threshold_sweep(config),
        "size_sweep": size_sweep(config),
    }


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings, with the digits that they show."""
    stops = tables["false_stops"].round(3)
    wide = stops.pivot_table(index="debates", columns="drift", values="first_exact", aggfunc="first")
    wide.insert(1, "0, rounded", stops[stops["drift"] == 0].set_index("debates")["first_rounded"])
    wide = wide.reset_index()
    fits = (
        tables["fitted_stops"]
        .round(3)
        .pivot_table(index="debates", columns="scale", values="at_first_chance", aggfunc="first")
    )
    columns = [
        "world",
        "rule",
        "rounds",
        "accuracy",
        "flips",
        "saved_rounds_vs_full",
        "saved_rounds_vs_unanimity",
    ]
    sizes = tables["size_sweep"].query("decides == 'batch'").round(2)
    sizes = sizes.pivot_table(
        index=["world", "rule"], columns="batch", values="rounds", aggfunc="first"
    ).reset_index()
    copied = (
        tables["copying"]
        .filter(regex="^(?!.*(_se|_rounded)$)")
        .round(3)
        .set_index("debates")
        .T.reset_index(names="")
    )
    swept = tables["threshold_sweep"]
    as_published = swept["rule"].str.replace(r"^ks:([\d.]+),scale=latent.*", r"hu2025:\1", regex=True)
    swept = swept.assign(rule=as_published)
    return {
        "false stops": wide.rename(columns=lambda c: c if isinstance(c, str) else f"drift {c:g}"),
        "fitted": fits.reset_index(),
        "copying": copied,
        "published": tables["published"].astype(object).where(tables["published"].notna(), "never"),
        "thresholds": swept[columns].round(3),
        "sizes": sizes,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE)
    out = parser.parse_args().out
    found = study(tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8")))
    tables = write(HERE, out, found, shown)
    print(*(f"{frame.to_string(index=False)}\n" for frame in tables.values()), sep="\n")
