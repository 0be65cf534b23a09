"""Which debate protocol is worth its tokens, and on what does the answer hang?

Run: python simulations/protocol_comparison/run.py [-o FOLDER] [-k FOLDER] [-w WORKERS]

Plays every protocol over the same items in both orders, in worlds that differ in what nobody knows. Writes a CSV
per table and, into this folder only, the tables of ``findings.md``. With ``-k FOLDER`` what was played is kept there,
and a run that was cut off goes on.
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

from d3stats import cohen_kappa, compare
from d3stats.estimate import Estimate
from d3stats.inference.bias.position import CONSISTENCY, position_bias
from d3stats.inference.multiplicity import adjust
from d3stats.inference.proportion import share
from d3stats.plotting.protocol_frontier import efficient
from d3stats.simulate import PriceTable

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from findings_tables import write  # noqa: E402  # studies are no package
from play_all import play_all  # noqa: E402

Config = dict[str, Any]
Played = Mapping[str, pd.DataFrame]


def world_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the world's own parameters out of a row of the config."""
    return {key: value for key, value in row.items() if key not in ("label", "few")}


def measured(played: Played, config: Config, baseline: str) -> pd.DataFrame:
    """Return a row per protocol and measure with its interval; items are the clusters, both orders of one together.

    ``right_of_all`` and ``gain`` count a debate without a decision as not right; ``accuracy``, ``kappa`` and
    ``gain_decided`` leave it out, the last one where either of the two has none. ``p_holm`` is adjusted over protocols.
    """
    level, rows = config["level"], []
    for label, table in played.items():
        rows += [(label, m, e.value, e.low, e.high, None) for m, e in _own(table, config).items()]
    names = list(played)
    runs = [_run(played[name]) for name in names]
    others = [name for name in names if name != baseline]
    against = compare(*runs, names=names, missing="wrong", baseline=baseline, level=level, rng=0)
    # One pair at a time, as a debate that any one protocol leaves undecided would else be lost to all.
    base = runs[names.index(baseline)]
    pairs = [compare(base, _run(played[o]), names=[baseline, o], level=level, rng=0) for o in others]
    found = {
        "gain": ([d.difference for d in against], against.adjusted),
        "gain_decided": ([d.difference for d in pairs], adjust([_p(d.p_value) for d in pairs])),
    }
    for measure, (estimates, adjusted) in found.items():
        for name, e, p in zip(others, estimates, adjusted, strict=True):
            rows.append((name, measure, e.value, e.low, e.high, _p(p)))
    return pd.DataFrame(rows, columns=["protocol", "measure", "estimate", "low", "high", "p_holm"])


def _p(value: float | None) -> float:
    """Return a p-value; a pair without one counts in its family as 1."""
    return 1.0 if value is None else value


def _run(table: pd.DataFrame) -> pd.DataFrame:
    right = (table["verdict"] == table["label"]).astype(float).where(table["verdict"].notna())
    return pd.DataFrame({"item": table["debate"], "correct": right, "cluster": table["item"]})


def _own(table: pd.DataFrame, config: Config) -> dict[str, Estimate]:
    decided = table[table["verdict"].notna()]
    right = (decided["verdict"] == decided["label"]).to_numpy(dtype=int)
    level, item = config["level"], table["item"].to_numpy()
    both = {"level": level, "cluster": item}
    pairs = table.rename(columns={"verdict": "vote"})[["item", "order", "vote"]]
    swapped = position_bias(pairs, level=level, rng=0)
    consistent = next(e for e in swapped.estimates if e.name.endswith(CONSISTENCY))
    dollars = PriceTable.example().dollars(table["input"], table["output"], config["model"])
    spent = {"tokens": table["input"] + table["output"], "dollars": dollars, "calls": table["calls"]}
    spent["rounds"] = table["rounds"]
    return {
        "accuracy": share(right, np.ones_like(right), level=level, cluster=decided["item"].to_numpy()),
        "right_of_all": share(
            (table["verdict"] == table["label"]).to_numpy(int), np.ones(len(table), int), **both
        ),
        "undecided": share(table["verdict"].isna().to_numpy(int), np.ones(len(table), int), **both),
        "kappa": cohen_kappa(
            decided["verdict"].to_numpy(),
            decided["label"].to_numpy(),
            level=level,
            cluster=decided["item"].to_list(),
        ).estimate,
        "consistency": consistent,
        **{name: _mean(table, np.asarray(values, float), level) for name, values in spent.items()},
    }


def _mean(table: pd.DataFrame, values: np.ndarray, level: float) -> Estimate:
    """Return a mean with the interval of its difference from nothing."""
    runs = [
        pd.DataFrame({"item": table["debate"], "score": column, "cluster": table["item"]})
        for column in (np.zeros(len(table)), values)
    ]
    return compare(*runs, names=["nothing", "spent"], level=level, rng=0).difference


def frontier(measures: pd.DataFrame) -> pd.DataFrame:
    """Return cost and accuracy of every protocol, and whether no other is both cheaper and right more often."""
    of = {name: rows.set_index("protocol") for name, rows in measures.groupby("measure", sort=False)}
    right, dollars = of["right_of_all"], of["dollars"]
    found = pd.DataFrame(
        {
            "cost": dollars["estimate"],
            "accuracy": right["estimate"],
            "low": right["low"],
            "high": right["high"],
            "cost_low": dollars["low"],
            "cost_high": dollars["high"],
            "efficient": efficient(dollars["estimate"].to_numpy(), right["estimate"].to_numpy()),
        }
    )
    return found.rename_axis("protocol").reset_index()


def study(config: Config, *, workers: int | None = None, keep: Path | None = None) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    workers = config["workers"] if workers is None else workers
    measures, frontiers = [], []
    for row in config["worlds"]:
        n = config["items_elsewhere"] if row.get("few") else config["items"]
        chosen = [p for p in config["protocols"] if not (row.get("few") and p.get("first_world_only"))]
        played = _kept(keep, row["label"], world_of(row), chosen, n, config["seed"], workers)
        table = measured(played, config, config["baseline"]).assign(world=row["label"], items=n)
        measures.append(table)
        frontiers.append(frontier(table).assign(world=row["label"]))
    return {
        "measures": pd.concat(measures, ignore_index=True),
        "frontier": pd.concat(frontiers, ignore_index=True),
        **{name: cells(config, name, workers=workers, keep=keep) for name in ("ablation", "batch_rules")},
    }


def cells(config: Config, name: str, *, workers: int = 1, keep: Path | None = None) -> pd.DataFrame:
    """Return the measures of a few protocols, each in its own variety of the first world, on the same items."""
    settings = config[name]
    played: dict[str, pd.DataFrame] = {}
    for cell in settings["cells"]:
        world = world_of(config["worlds"][0]) | cell.get("world", {})
        kept_as = f"{name} {cell['label']}"
        played |= _kept(keep, kept_as, world, [cell], settings["items"], config["seed"], workers)
    return measured(played, config, settings["baseline"]).assign(items=settings["items"])


def _kept(
    keep: Path | None,
    name: str,
    world: Mapping[str, Any],
    protocols: Sequence[Mapping[str, Any]],
    n: int,
    seed: int,
    workers: int,
) -> dict[str, pd.DataFrame]:
    """Play what was not played before."""
    if keep is None:
        return dict(play_all(world, protocols, n, seed, workers=workers))
    folder = keep / f"{name}, {n} items, seed {seed}".replace(" ", "_").replace(",", "")
    folder.mkdir(parents=True, exist_ok=True)
    paths = {p["label"]: folder / f"{p['label'].replace(' ', '_').replace(',', '')}.csv" for p in protocols}
    absent = [p for p in protocols if not paths[p["label"]].exists()]
    for label, table in play_all(world, absent, n, seed, workers=workers):
        table.to_csv(paths[label], index=False)
    return {label: pd.read_csv(path, dtype={"item": str}) for label, path in paths.items()}


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings, with the digits that they show."""
    measures = tables["measures"]
    worlds = list(dict.fromkeys(measures["world"]))
    main = worlds[0]
    found = _wide(measures[measures["world"] == main], tables["frontier"].query("world == @main"))
    gain = measures[measures["measure"] == "gain_decided"]
    said = [
        f"{v:+.3f}{'*' if p < 0.05 else ''}" for v, p in zip(gain["estimate"], gain["p_holm"], strict=True)
    ]
    across = gain.assign(said=said).pivot_table(
        index="world", columns="protocol", values="said", aggfunc="first"
    )
    base = measures[(measures["measure"] == "accuracy") & ~measures["protocol"].isin(gain["protocol"])]
    first = (
        base.set_index("world")["estimate"]
        .map("{:.3f}".format)
        .rename(f"{base['protocol'].iloc[0]}: accuracy")
    )
    across = pd.concat([first, across[list(dict.fromkeys(gain["protocol"]))]], axis=1).loc[worlds].T
    across = across.rename_axis(None, axis=1).fillna("").reset_index(names="protocol")
    best = _frontiers(tables["frontier"])
    return {
        "protocols": found,
        "across worlds": across,
        "frontiers": best,
        "ablation": _wide(tables["ablation"], None),
        "batch rules": _wide(tables["batch_rules"], None),
    }


def _wide(measures: pd.DataFrame, frontiers: pd.DataFrame | None) -> pd.DataFrame:
    """Return a row per protocol in words."""
    at = measures.set_index(["protocol", "measure"])
    rows = []
    for protocol in dict.fromkeys(measures["protocol"]):

        def said(name: str, digits: int = 3, *, limits: bool = True, protocol: str = protocol) -> str:
            row = at.loc[(protocol, name)]
            text = f"{row['estimate']:.{digits}f}"
            if not limits or np.isnan(row["low"]):
                return text
            return f"{text} ({row['low']:.{digits}f} to {row['high']:.{digits}f})"

        first = (protocol, "gain") not in at.index
        p = np.nan if first else at.loc[(protocol, "gain"), "p_holm"]
        tokens, gain = (
            at.loc[(protocol, "tokens"), "estimate"],
            0 if first else at.loc[(protocol, "gain"), "estimate"],
        )
        row = {
            "protocol": protocol,
            "accuracy": said("accuracy"),
            "no decision": said("undecided", limits=False),
            "right of all": said("right_of_all", limits=False),
            "gain": "" if first else said("gain"),
            "p (Holm)": "" if first else ("< .001" if p < 0.0005 else f"{p:.3f}"),
            "gain where both decide": "" if first else said("gain_decided"),
            "kappa": said("kappa"),
            "same verdict swapped": said("consistency"),
            "rounds": said("rounds", 2, limits=False),
            "calls": said("calls", 1, limits=False),
            "tokens": said("tokens", 0, limits=False),
            "dollars per 1,000": f"{1000 * at.loc[(protocol, 'dollars'), 'estimate']:.2f}",
            "tokens per point gained": f"{tokens / (100 * gain):.0f}" if p < 0.05 and gain > 0 else "",
        }
        if frontiers is not None:
            row["efficient"] = "yes" if frontiers.set_index("protocol").loc[protocol, "efficient"] else ""
        rows.append(row)
    return pd.DataFrame(rows)


def _frontiers(table: pd.DataFrame) -> pd.DataFrame:
    """Return each world's efficient protocols, cheapest first."""
    rows = []
    for world in dict.fromkeys(table["world"]):
        best = table[(table["world"] == world) & table["efficient"]].sort_values("cost")
        rows.append(
            (
                world,
                "; ".join(f"{p} ({a:.3f})" for p, a in zip(best["protocol"], best["accuracy"], strict=True)),
            )
        )
    return pd.DataFrame(rows, columns=["world", "efficient protocols, cheapest first (right of all)"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE)
    parser.add_argument("-k", "--keep", type=Path, help="folder for what was played, so that a run can go on")
    parser.add_argument("-w", "--workers", type=int)
    given = parser.parse_args()
    settings = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
    tables = write(HERE, given.out, study(settings, workers=given.workers, keep=given.keep), shown)
    print(*(f"{frame.to_string(index=False)}\n" for frame in tables.values()), sep="\n")
