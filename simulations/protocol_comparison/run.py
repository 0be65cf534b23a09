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
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed

from d3stats.stopping import from_text

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from findings_tables import write  # noqa: E402  # studies are no package
from play_all import panel_votes, play_all  # noqa: E402
from protocol_measures import frontiers, measured, steps  # noqa: E402
from protocol_tables import shown  # noqa: E402

Config = dict[str, Any]


def world_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the world's own parameters out of a row of the config."""
    return {key: value for key, value in row.items() if key not in ("label", "few")}


def study(config: Config, *, workers: int | None = None, keep: Path | None = None) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    workers = config["workers"] if workers is None else workers
    tasks = []
    for row in config["worlds"]:
        n = config["items_elsewhere"] if row.get("few") else config["items"]
        chosen = [p for p in config["protocols"] if not (row.get("few") and p.get("first_world_only"))]
        played = _kept(keep, row["label"], world_of(row), chosen, n, config["seed"], workers)
        tasks.append((row["label"], n, played, config))
    parts = Parallel(n_jobs=workers)(delayed(_of_world)(*task) for task in tasks)
    return {
        **{name: pd.concat([part[name] for part in parts], ignore_index=True) for name in parts[0]},
        **{name: cells(config, name, workers=workers, keep=keep) for name in ("ablation", "batch_rules")},
        "distances": distances(config),
    }


def _of_world(label: str, n: int, played: dict[str, pd.DataFrame], config: Config) -> dict[str, pd.DataFrame]:
    table = measured(played, config, config["baseline"])
    best = frontiers(table)
    found = {"measures": table.assign(items=n), "frontier": best, "steps": steps(played, best, config)}
    return {name: part.assign(world=label) for name, part in found.items()}


def cells(config: Config, name: str, *, workers: int = 1, keep: Path | None = None) -> pd.DataFrame:
    """Return the measures of a few protocols, each in its own variety of the first world, on the same items."""
    settings = config[name]
    played: dict[str, pd.DataFrame] = {}
    for change, group in groupby(settings["cells"], key=lambda cell: cell.get("world", {})):
        world = world_of(config["worlds"][0]) | change
        kept_as = f"{name} {'; '.join(f'{key}={value}' for key, value in change.items())}"
        played |= _kept(keep, kept_as, world, list(group), settings["items"], config["seed"], workers)
    return measured(played, config, settings["baseline"]).assign(items=settings["items"])


def distances(config: Config) -> pd.DataFrame:
    """Return how far the counts of a round are from those of the round before, as each batch rule measures it."""
    asked, world = config["distances"], world_of(config["worlds"][0])
    votes = panel_votes(world, asked["protocol"], asked["rounds"], asked["items"], config["seed"])
    rows = []
    for row in asked["rules"]:
        found = from_text(row["rule"]).distances(votes)
        rows += [(row["label"], at, far) for at, far in enumerate(found, start=1) if far is not None]
    return pd.DataFrame(rows, columns=["rule", "round", "distance"]).assign(items=asked["items"])


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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE)
    parser.add_argument("-k", "--keep", type=Path, help="folder for what was played, so that a run can go on")
    parser.add_argument("-w", "--workers", type=int)
    given = parser.parse_args()
    settings = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
    tables = write(HERE, given.out, study(settings, workers=given.workers, keep=given.keep), shown)
    print(*(f"{frame.to_string(index=False)}\n" for frame in tables.values()), sep="\n")
