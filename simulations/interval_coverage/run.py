"""Do 95 % intervals of clustered evaluations cover 95 times of 100, and do 5 % tests reject 5 times of 100?

Run: python simulations/interval_coverage/run.py [-o FOLDER] [-j WORKERS]

Two judges answer the same items, several items a question. Each judge's chance to be right varies over questions
with a given intraclass correlation; a skewed score comes along. Every method is put to the same data, and every
bootstrap interval is read from the same resamples. ``few.py`` has the worlds in which few clusters changed, or few
hold a wrong answer. Writes coverage.csv, sizes.csv, changes.csv, again.csv and shares.csv and, into this folder
only, the tables of ``findings.md``.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.resampling import bootstrap, cluster_t, cluster_totals, sign_flip_p

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import few  # noqa: E402  # studies are no package
from findings_tables import write  # noqa: E402

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Config = Mapping[str, Any]

STATISTICS = ("accuracy", "difference", "kappa", "score")
RESAMPLED: dict[str, dict[str, Any]] = {
    "percentile": {"kind": "percentile"},
    "basic": {"kind": "basic"},
    "bca": {"kind": "bca"},
    "percentile expanded": {"kind": "percentile", "expand": True},
    "bca expanded": {"kind": "bca", "expand": True},
    "studentised": {"kind": "studentised"},
}
METHODS = (*RESAMPLED, "cluster t", "naive t")
TESTS = ("cluster t", "sign flip", "studentised", "naive t", "naive sign flip")


def statistics(sums: Floats) -> Floats:
    """Return accuracy of the first judge, difference, kappa and mean score from sums of (1, a, b, a b, score)."""
    n, a, b, both, score = sums.T
    chance = (a * b + (n - a) * (n - b)) / n**2
    agreed = (n - a - b + 2 * both) / n
    return np.column_stack([a / n, (a - b) / n, (agreed - chance) / (1 - chance), score / n])


def difference(sums: Floats) -> Floats:
    """Return the difference of the two judges' accuracies."""
    return (sums[:, 1] - sums[:, 2]) / sums[:, 0]


def quantiles(accuracy: float, icc: float, at: Floats) -> Floats:
    """Return quantiles of a judge's chance to be right over questions: Beta, or one value without correlation."""
    from scipy.special import betaincinv

    if icc == 0:
        return np.full(at.shape, accuracy)
    precision = 1 / icc - 1
    result: Floats = betaincinv(accuracy * precision, (1 - accuracy) * precision, at)
    return result


def draw(
    world: Config, accuracy: tuple[float, float], n_clusters: int, icc: float, rng: np.random.Generator
) -> tuple[Floats, Ints]:
    """Draw items: rows of (1, a, b, a b, score) and the question of each.

    The correlation of right answers within a question is that of a Beta-Binomial, exactly `icc`; that of the
    scores too, by the variance of the logarithm's common part.
    """
    size = rng.integers(world["sizes"][0], world["sizes"][1] + 1, size=n_clusters)
    cluster = np.repeat(np.arange(n_clusters), size)
    hard = rng.random((2, n_clusters))
    hard[1] = np.where(rng.random(n_clusters) < world["same_difficulty"], hard[0], hard[1])
    luck = rng.random((2, len(cluster)))
    luck[1] = np.where(rng.random(len(cluster)) < world["same_luck"], luck[0], luck[1])
    a, b = (luck[j] < quantiles(accuracy[j], icc, hard[j])[cluster] for j in range(2))
    variance = world["log_deviation"] ** 2
    common = np.log1p(icc * np.expm1(variance))
    logarithm = np.sqrt(common) * rng.standard_normal(n_clusters)[cluster]
    logarithm += np.sqrt(variance - common) * rng.standard_normal(len(cluster))
    return np.column_stack([np.ones(len(cluster)), a, b, a & b, np.exp(logarithm)]).astype(float), cluster


def truth(world: Config, accuracy: tuple[float, float], icc: float) -> Floats:
    """Return the true value of each statistic, by quadrature over how hard questions are."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    # Nodes are crowded at both ends, where quantiles of a Beta bend most.
    angle = np.pi * (nodes + 1) / 2
    at, mass = (1 - np.cos(angle)) / 2, weights * np.pi * np.sin(angle) / 4
    first, second = (quantiles(p, icc, at) for p in accuracy)
    mass2 = mass[:, None] * mass
    alike = {"min": mass @ np.minimum(first, second), "product": mass @ (first * second)}
    apart = {
        "min": float((mass2 * np.minimum(first[:, None], second)).sum()),
        "product": accuracy[0] * accuracy[1],
    }
    share = world["same_difficulty"]
    least, product = (share * alike[key] + (1 - share) * apart[key] for key in ("min", "product"))
    both = world["same_luck"] * least + (1 - world["same_luck"]) * product
    score = np.exp(world["log_deviation"] ** 2 / 2)
    return statistics(np.array([[1.0, *accuracy, both, score]]))[0]


def coverage_cell(
    config: Config, n_clusters: int, icc: float, replicates: int, methods: Sequence[str] = METHODS
) -> pd.DataFrame:
    """Return, by statistic and method, how often the interval covers, misses on either side, is refused."""
    world, level = config["world"], config["level"]
    accuracy = (world["accuracy"][0], world["accuracy"][1])
    true = truth(world, accuracy, icc)
    low, high = np.full((2, replicates, len(methods), len(STATISTICS)), np.nan)
    for i in range(replicates):
        rng = np.random.default_rng([config["seed"], n_clusters, round(1000 * icc), i])
        rows, cluster = draw(world, accuracy, n_clusters, icc, rng)
        totals = cluster_totals(rows, cluster)
        errors = "studentised" in methods
        draws = bootstrap(totals, statistics, n_boot=config["n_boot"], rng=rng, errors=errors)
        linear = {"cluster t": totals, "naive t": rows}
        found = [
            draws.limits(**RESAMPLED[method], level=level)
            if method in RESAMPLED
            else cluster_t(linear[method], statistics, level=level)
            for method in methods
        ]
        low[i], high[i] = ([getattr(x, end) for x in found] for end in ("low", "high"))
    given = ~np.isnan(low)
    rows_out = []
    for j, name in enumerate(STATISTICS):
        for m, method in enumerate(methods):
            keep = given[:, m, j]
            below, above = (true[j] < low[keep, m, j]).mean(), (true[j] > high[keep, m, j]).mean()
            covers = 1 - below - above
            rows_out.append(
                {
                    "statistic": name,
                    "clusters": n_clusters,
                    "icc": icc,
                    "method": method,
                    "replicates": int(keep.sum()),
                    "refused": int((~keep).sum()),
                    "coverage": covers,
                    "coverage_se": np.sqrt(covers * (1 - covers) / keep.sum()),
                    "truth_below": below,
                    "truth_above": above,
                    "width": (high - low)[keep, m, j].mean(),
                }
            )
    return pd.DataFrame(rows_out)


def size_cell(config: Config, n_clusters: int, icc: float, replicates: int) -> pd.DataFrame:
    """Return how often each test at 1 - level rejects that two judges of equal accuracy are equally accurate."""
    world, level = config["world"], config["level"]
    accuracy = (float(np.mean(world["accuracy"])),) * 2
    rejects = np.zeros((replicates, len(TESTS)), dtype=bool)
    for i in range(replicates):
        rng = np.random.default_rng([config["seed"], n_clusters, round(1000 * icc), i, 1])
        rows, cluster = draw(world, accuracy, n_clusters, icc, rng)
        rows = rows[:, :3]
        totals = cluster_totals(rows, cluster)
        draws = bootstrap(totals, difference, n_boot=config["n_boot"], rng=rng, errors=True)
        low, high = draws.limits("studentised", level=level).interval()
        gaps = [x[:, 1] - x[:, 2] for x in (totals, rows)]
        flips = [sign_flip_p(gap, rng=rng).p_value for gap in gaps]
        ts = [cluster_t(x, difference, level=level).p_value[0] for x in (totals, rows)]
        outside = low is not None and high is not None and not low <= 0 <= high
        rejects[i] = [
            ts[0] < 1 - level,
            flips[0] <= 1 - level,
            outside,
            ts[1] < 1 - level,
            flips[1] <= 1 - level,
        ]
    share = rejects.mean(axis=0)
    return pd.DataFrame(
        {
            "clusters": n_clusters,
            "icc": icc,
            "test": TESTS,
            "replicates": replicates,
            "rejected": share,
            "rejected_se": np.sqrt(share * (1 - share) / replicates),
        }
    )


def study(config: Config, workers: int = 1) -> dict[str, pd.DataFrame]:
    """Return coverage and sizes over the whole grid; each cell has its own seeds, so workers change nothing."""
    from joblib import Parallel, delayed

    sizes = zip(config["clusters"], config["replicates"], strict=True)
    grid = [(g, icc, replicates) for g, replicates in sizes for icc in config["icc"]]
    run = Parallel(n_jobs=workers)
    jobs = [delayed(cell)(config, *point) for cell in (coverage_cell, size_cell) for point in grid]
    parts = run(jobs)
    half = len(grid)
    found = {"coverage": pd.concat(parts[:half]), "sizes": pd.concat(parts[half:])}
    return found | {
        "changes": few.changes(config, workers),
        "again": few.again(config, workers),
        "shares": few.shares(config, workers),
    }


def shown(found: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings: methods side by side, in percent."""
    coverage, sizes = found["coverage"], found["sizes"]
    tables = {}
    for name in STATISTICS:
        part = coverage[coverage["statistic"] == name]
        wide = part.pivot_table(index=["clusters", "icc"], columns="method", values="coverage")[list(METHODS)]
        tables[name] = (100 * wide).round(1).reset_index()
    wide = sizes.pivot_table(index=["clusters", "icc"], columns="test", values="rejected")[list(TESTS)]
    tables["sizes"] = (100 * wide).round(1).reset_index()
    part = coverage[
        (coverage["clusters"] == coverage["clusters"].max()) & (coverage["icc"] == coverage["icc"].max())
    ]
    wide = part.pivot_table(index="statistic", columns="method", values="width").loc[
        list(STATISTICS), list(METHODS)
    ]
    tables["widths"] = wide.round(3).reset_index()
    tables["changes"] = few.shown_changes(found["changes"])
    tables["again"] = few.shown_again(found["again"], found["changes"])
    tables["shares"] = few.shown_shares(found["shares"])
    return tables


def main() -> None:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE, help="folder for the CSV files")
    parser.add_argument("-j", "--workers", type=int, default=1, help="processes")
    arguments = parser.parse_args()
    config = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, table in write(HERE, arguments.out.resolve(), study(config, arguments.workers), shown).items():
        print(f"\n== {name}\n{table.to_string(index=False)}")


if __name__ == "__main__":
    main()
