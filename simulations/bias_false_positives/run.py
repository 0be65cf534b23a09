"""How often do the audits of bias find one where there is none, and how well do they see and cover one that is there?

Run: python simulations/bias_false_positives/run.py [-o FOLDER] [--replicates N]

Writes ``audits.csv`` (a row per audit, number of clusters, intraclass correlation and world) and, into this folder
only, the tables of ``findings.md``.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from d3stats.estimate import Estimate
from d3stats.inference.bias import Judgments, length_bias, persona_effect, position_bias, self_preference
from d3stats.inference.bias.length import LENGTH, PULL
from d3stats.inference.bias.persona import SET
from d3stats.inference.bias.position import CONSISTENCY, EXCESS
from d3stats.inference.bias.self_preference import DID, GAP

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from findings_tables import write  # noqa: E402  # beside the studies, which are no package

Config = Mapping[str, Any]
Floats = NDArray[np.float64]
Rng = np.random.Generator
Found = dict[str, tuple[Estimate | None, float]]
"""What was estimated under each name, and the truth."""


class World:
    """Items in clusters; whatever happens to items of one cluster is correlated."""

    def __init__(self, config: Config, clusters: int, icc: float, rng: Rng) -> None:
        self.rng, self.icc = rng, icc
        self.n = clusters * config["items"]
        self.cluster = np.repeat(np.arange(clusters), config["items"])
        self.level = config["level"]

    def happens(self, probability: Floats | float, shared: Floats | None = None) -> NDArray[np.bool_]:
        """Draw events of given probabilities whose latent normals share a part within each cluster."""
        part = self.common() if shared is None else shared
        own = self.rng.standard_normal(self.n)
        return ndtr(np.sqrt(self.icc) * part + np.sqrt(1 - self.icc) * own) < probability

    def common(self) -> Floats:
        """Return a standard normal per cluster, given to each item."""
        return self.rng.standard_normal(self.cluster[-1] + 1)[self.cluster]


def judgments(
    world: World, vote: Any, *, order: Any = -1, label: Any = -1, who: Any = "J", table: Any = None
) -> Judgments:
    """Put verdicts together; arrays of several times the items are items one after the other."""
    vote = np.asarray(vote, dtype=np.int64)
    times = vote.size // world.n
    item = np.tile(np.arange(world.n), times)
    names = np.broadcast_to(np.asarray(who, dtype=object), vote.shape)
    judge, judges = pd.factorize(names)
    items, clusters = tuple(map(str, range(world.n))), tuple(map(str, range(world.cluster[-1] + 1)))
    codes = [np.broadcast_to(np.asarray(x, dtype=np.int64), vote.shape) for x in (vote, order, label)]
    frame = pd.DataFrame(table if table is not None else {}, index=range(vote.size))
    owner = np.tile(world.cluster, times)
    return Judgments(item, judge.astype(np.int64), owner, *codes, items, tuple(judges), clusters, frame)


def position(world: World, config: Config, biased: bool) -> Found:
    """Both orders of every item; some change sides with the order, mostly towards the first slot when biased."""
    share = config["inconsistent"]
    first = config["first"] if biased else 0.5
    changes, to_first = world.happens(share), world.happens(first)
    kept = world.rng.integers(0, 2, world.n)
    ab = np.where(changes, np.where(to_first, 0, 1), kept)
    ba = np.where(changes, np.where(to_first, 1, 0), kept)
    data = judgments(world, np.concatenate([ab, ba]), order=np.repeat([0, 1], world.n))
    found = position_bias(data, level=world.level, rng=world.rng)
    truth = share * (2 * first - 1) / 2
    return {
        "position: excess": (found[EXCESS], truth),
        "position: consistency": (found[CONSISTENCY], 1 - share),
    }


def one_order(world: World, config: Config, biased: bool) -> Found:
    """One order per item, and labels: errors are as frequent towards either slot, or more so towards the first."""
    wrong = 0.25
    pull = (2 * config["first"] - 1) * wrong if biased else 0.0
    label, order = world.rng.integers(0, 2, (2, world.n))
    chance = np.where(label == order, 1 - wrong + pull, wrong + pull)
    vote = np.where(world.happens(chance), order, 1 - order)
    found = position_bias(judgments(world, vote, order=order, label=label), level=world.level)
    return {"position: one order": (found.effect, pull)}


def length(world: World, config: Config, biased: bool) -> Found:
    """Longer answers are better ones here; the judge follows the label, and length as well when biased."""
    effect = config["effect"] if biased else 0.0
    doubling = np.sqrt(0.5) * (world.common() + world.rng.standard_normal(world.n))
    label = (world.rng.random(world.n) >= expit(doubling)).astype(np.int64)
    vote = 1 - world.happens(expit(np.where(label == 0, 1.0, -1.0) + effect * doubling))
    table = {"length_a": 100 * 2**doubling, "length_b": np.full(world.n, 100.0)}
    found = length_bias(judgments(world, vote, label=label, table=table), level=world.level)
    truth = {"length: log-odds": (found.find(LENGTH), effect)}
    return truth if biased else truth | {"length: pull": (found.find(PULL), 0.0)}


def own_family(world: World, config: Config, biased: bool) -> Found:
    """Everybody errs, and overrates one family's answers; the judge of that family more so when biased."""
    wrong, overrated = config["wrong"], config["overrated"] / 2
    extra = config["preference"] / 2 if biased else 0.0
    label = world.rng.integers(0, 2, world.n)
    names = ["J", *(f"other {i}" for i in range(config["others"]))]
    shared = world.common()
    parts = []
    for more in (extra, *[0.0] * config["others"]):
        chance = np.where(label == 0, 1 - wrong + overrated + more, wrong + overrated + more)
        parts.append(np.where(world.happens(chance, shared), 0, 1))
    who = np.repeat(np.asarray(names, dtype=object), world.n)
    family = {"family_a": "x", "family_b": "y", "judge_family": np.where(who == "J", "x", "z")}
    data = judgments(world, np.concatenate(parts), label=np.tile(label, len(names)), who=who, table=family)
    found = self_preference(data, judge="J", level=world.level)
    gap = config["overrated"] + config["preference"] * biased
    # The gap has no null here: everybody overrates this family. The difference to the others has.
    return {
        "self: gap": (found.find(GAP), gap),
        "self: difference": (found.find(DID), config["preference"] * biased),
    }


def fair_errors(world: World, config: Config, biased: bool) -> Found:
    """Nobody overrates a family; the judge errs both ways alike, or its own way more often."""
    return {"self: gap, fair": own_family(world, dict(config) | {"overrated": 0.0}, biased)["self: gap"]}


def personas(world: World, config: Config, biased: bool) -> Found:
    """Personas and a plain juror whose errors are shared within clusters; personas are better when biased."""
    label = world.rng.integers(0, 2, world.n)
    names = ["none", *(f"persona {i}" for i in range(config["personas"]))]
    shared = world.common()
    parts = []
    for name in names:
        right = world.happens(config["accuracy"] + config["gain"] * (biased and name != "none"), shared)
        parts.append(np.where(right, label, 1 - label))
    who = np.repeat(np.asarray(names, dtype=object), world.n)
    data = judgments(world, np.concatenate(parts), label=np.tile(label, len(names)), table={"persona": who})
    found = persona_effect(data, level=world.level)
    h = found.heterogeneity
    differ = Estimate(
        name="F", value=h.f or 0.0, low=None, high=None, kind="none", n=world.n, p_value=h.p_value
    )
    return {"persona: set": (found[SET], config["gain"] * biased), "persona: do they differ": (differ, 0.0)}


AUDITS: dict[str, tuple[str, Callable[[World, Config, bool], Found]]] = {
    "position": ("position", position),
    "one order": ("position", one_order),
    "length": ("length", length),
    "own family": ("self", own_family),
    "fair errors": ("self", fair_errors),
    "personas": ("persona", personas),
}


def cells(config: Config) -> Iterator[tuple[int, float]]:
    """Yield numbers of clusters and intraclass correlations."""
    yield from ((config["clusters"], icc) for icc in config["icc"])
    yield from ((few, config["icc"][1]) for few in config["few_clusters"])


def study(config: Config, only: Collection[str] = tuple(AUDITS)) -> pd.DataFrame:
    """Return one row per audit, cell and world: rejections at 5 %, coverage, and Monte Carlo errors.

    Each audit has its own stream of random numbers, so that `only` some give the same rows as all.
    """
    rows = []
    seeds = np.random.SeedSequence(config["seed"]).spawn(len(AUDITS))
    for seed, (name, (key, audit)) in zip(seeds, AUDITS.items(), strict=True):
        if name not in only:
            continue
        for (clusters, icc), own in zip(cells(config), seed.spawn(99), strict=False):
            for biased, stream in zip((False, True), own.spawn(2), strict=True):
                rng = np.random.default_rng(stream)
                made = []
                for _ in range(config["replicates"]):
                    made.append(audit(World(config, clusters, icc, rng), config[key], biased))
                rows += summary(made, {"audit": name, "clusters": clusters, "icc": icc, "biased": biased})
    return pd.DataFrame(rows)


def summary(made: list[Found], at: dict[str, Any]) -> list[dict[str, Any]]:
    """Return rejections and coverage of every estimate."""
    rows = []
    for name, (_, truth) in made[0].items():
        given = [found[name][0] for found in made]
        # Without an estimate nothing is rejected and nothing covered; it is counted apart.
        estimates = [e for e in given if e is not None]
        tested = np.array([e.p_value is not None and e.p_value <= 0.05 for e in estimates])
        with_limits = [e for e in estimates if e.low is not None]
        held = np.array([not e.excludes(truth) for e in with_limits])
        rate = tested.sum() / len(made)
        rows.append(
            at
            | {
                "estimate": name,
                "truth": truth,
                "mean": np.mean([e.value for e in estimates]),
                "rejected": rate,
                "rejected_se": np.sqrt(rate * (1 - rate) / len(made)),
                "no_test": 1 - np.mean([e is not None and e.p_value is not None for e in given]),
                "covered": held.mean() if len(held) else np.nan,
                "covered_se": np.sqrt(held.mean() * (1 - held.mean()) / len(held)) if len(held) else np.nan,
                "no_interval": 1 - len(with_limits) / len(made),
                "replicates": len(made),
            }
        )
    return rows


UNTESTED = ("position: consistency",)


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings."""
    found = tables["audits"]
    where = found["clusters"].astype(str) + " clusters, ICC " + found["icc"].map("{:g}".format)
    found = found.assign(where=where)
    order = list(dict.fromkeys(found["where"]))
    tested = found[~found["estimate"].isin(UNTESTED)]
    null = tested[(tested["truth"] == 0) & (~tested["biased"])]
    away = tested[(tested["truth"] != 0) & tested["biased"]]
    covered = found[found["covered"].notna()].assign(
        estimate=lambda d: d["estimate"] + np.where(d["biased"], ", biased", "")
    )

    def wide(rows: pd.DataFrame, value: str) -> pd.DataFrame:
        table = rows.pivot_table(index="estimate", columns="where", values=value, sort=False)[order]
        return table.map("{:.3f}".format).reset_index()

    return {
        "size": wide(null, "rejected"),
        "power": wide(away, "rejected"),
        "coverage": wide(covered, "covered"),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE, help="folder for the CSV files")
    parser.add_argument("--replicates", type=int, help="instead of the config's")
    chosen = parser.parse_args()
    config = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
    if chosen.replicates:
        config["replicates"] = chosen.replicates
    chosen.out.mkdir(parents=True, exist_ok=True)
    for name, table in write(HERE, chosen.out.resolve(), {"audits": study(config)}, shown).items():
        print(f"\n== {name}\n{table.to_string(index=False)}")
