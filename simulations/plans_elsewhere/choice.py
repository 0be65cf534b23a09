"""How large must the allowance for misfit be? What plans keep and save under other values of c and f.

Each chain is fitted once to a pilot, and every ladder is counted once on 40,000 debates. Then the rule is chosen under
each allowance, for each limit of the loss. The worlds are the first ones of ``run.py``.

Run: python simulations/plans_elsewhere/choice.py [--worlds N] [--minutes M]
A journal keeps every finished pilot; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.models.chains.panel_chain import chain_laws, fit_panel_chains
from d3stats.planning.costs import share
from d3stats.planning.ladders import code_votes, evaluate_ladders, evaluate_thresholds
from d3stats.planning.misfit import ChainLoss, PilotLosses
from d3stats.planning.plan import Pilot
from d3stats.stopping import Unanimity

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from elsewhere import FAMILIES, debates  # noqa: E402  # the worlds lie beside this file
from findings_tables import filled  # noqa: E402  # the studies' shared helper lies beside their folders

JOURNAL = HERE / "choice.csv"
FITS = ("conformers", "voters")
Floats = NDArray[np.float64]


class Tried(NamedTuple):
    """A ladder under the chain, and what it does on the campaign."""

    cost: float
    loss: Floats
    differ: Floats
    counted: tuple[float, int]
    true_loss: float
    true_saved: float


class World(NamedTuple):
    """A pilot of a world with every ladder, cheapest first; those dearer than unanimity are left out."""

    family: str
    number: int
    pilot: int
    answers: int
    refused: bool
    ladders: list[Tried]


def tried_in(config: Mapping[str, Any], family: str, number: int) -> Iterator[World]:
    """Evaluate every ladder in one world, from a pilot of each size."""
    kind = FAMILIES[family]
    key = [config["seed"], list(FAMILIES).index(family), number]
    rng = np.random.default_rng(key)
    panel, rounds = config["panels"][number % len(config["panels"])], config["rounds"]
    x = kind.draw(rng)
    later = x | ({"campaign": 1} if kind.shift else {})
    campaign = debates(kind, later, panel, rounds, config["truth"], rng)
    lead, right = campaign.camps()[0], campaign.verdicts() == campaign.label[:, None]
    spent, row = np.cumsum(campaign.tokens, axis=1), np.arange(len(right))
    usual = Unanimity().stop_rounds(campaign).rounds - 1
    for size in config["pilots"]:
        pilot = debates(kind, x, panel, rounds, size, np.random.default_rng([*key, size]))
        coded = code_votes(pilot, "accuracy")
        chains = fit_panel_chains(coded.votes, pilot.cluster)
        laws = chain_laws(chains.draws(config["n_draws"], 0), panel, rounds)
        cost = Pilot.of(pilot, "accuracy", None).cost_by_round()
        all_agree = evaluate_thresholds(laws, {"": (panel,)}, cost, "accuracy", coded.others)[""]
        counts = PilotLosses(pilot, "accuracy")
        ladders = []
        for steps, found in evaluate_ladders(laws, cost, "accuracy", coded.others):
            if found.cost.mean() >= all_agree.cost.mean():
                continue
            stops = lead >= [*steps, *[1] * (rounds - len(steps))]
            at = stops.argmax(axis=1)
            counted = counts.of(steps)
            assert counted is not None
            lost = right[row, usual].mean() - right[row, at].mean()
            saved = 1 - spent[row, at].mean() / spent[row, usual].mean()
            loss = all_agree.kept - found.kept
            ladders.append(Tried(float(found.cost.mean()), loss, found.differ, counted, lost, saved))
        kept = pilot.verdicts()[np.arange(size), Unanimity().stop_rounds(pilot).rounds - 1] == pilot.label
        seen = share(kept.astype(float), np.ones(size), pilot.cluster, config["level"])
        refused = not seen.low <= all_agree.kept.mean() <= seen.high
        yield World(
            family, number, size, len(pilot.answers), refused, sorted(ladders, key=lambda one: one.cost)
        )


def decided(world: World, config: Mapping[str, Any], limit: float, c: float, few: float) -> dict[str, Any]:
    """Choose the cheapest ladder that keeps to the loss under one allowance."""
    row: dict[str, Any] = {"family": world.family, "world": world.number, "pilot": world.pilot}
    row |= {"limit": limit, "c": c, "f": few, "promised": 0, "loss": 0.0, "saved": 0.0}
    for one in () if world.refused else world.ladders:
        lost = ChainLoss.allowing(one.loss, one.differ, one.counted, world.answers, misfit=c, few=few)
        if lost.within(limit) >= config["confidence"]:
            return row | {"promised": 1, "loss": one.true_loss, "saved": one.true_saved}
    return row


def under_each(world: World, config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each allowance of the configuration."""
    settings = config["choice"]
    rows = [
        decided(world, config, limit, *pair)
        for limit in settings["limits"]
        for pair in settings["allowances"]
    ]
    return [{name: f"{v:.6g}" if isinstance(v, float) else v for name, v in row.items()} for row in rows]


def study(config: Mapping[str, Any], minutes: float, journal: Path = JOURNAL) -> pd.DataFrame:
    """Run what the journal does not hold yet, each family in turn, until the time is up; return all rows."""
    done = set()
    if journal.exists():
        with journal.open(encoding="utf-8") as file:
            done = {(r["family"], int(r["world"])) for r in csv.DictReader(file)}
    end = time.monotonic() + 60 * minutes
    for number in range(config["choice"]["worlds_per_family"]):
        for family in FAMILIES:
            if (family, number) in done:
                continue
            if time.monotonic() > end:
                return pd.read_csv(journal)
            rows = [row for world in tried_in(config, family, number) for row in under_each(world, config)]
            new = not journal.exists()
            with journal.open("a", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
                if new:
                    writer.writeheader()
                writer.writerows(rows)
    return pd.read_csv(journal)


def shown(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings: what is kept and saved under each allowance, one for each limit."""
    return {f"limit {limit:g}": one_limit(part) for limit, part in table.groupby("limit")}


def one_limit(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per allowance."""
    rows = []
    for (c, few), part in table.groupby(["c", "f"]):
        promises = part[part["promised"] == 1].assign(kept=lambda t: t["loss"] <= t["limit"])
        by_size, by_family = (promises.groupby(name)["kept"].mean() for name in ("pilot", "family"))
        own = part[part["family"].isin(FITS)]
        rows.append(
            {
                "c": f"{c:g}",
                "f": f"{few:g}",
                "promises": f"{len(promises)} of {len(part)}",
                **{f"kept, {size}": f"{by_size[size]:.2f}" for size in sorted(by_size.index)},
                "families below .9": int((by_family < 0.9).sum()),
                "lowest family": f"{by_family.min():.2f}",
                "saved": f"{part['saved'].mean():.3f}",
                "saved, the chain's own": f"{own['saved'].mean():.3f}",
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    """Run what is not in the journal and refresh the findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--worlds", type=int, help="worlds per family, fewer than the configured number")
    parser.add_argument("--minutes", type=float, default=np.inf, help="end after so many minutes")
    given = parser.parse_args()
    config = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
    config["choice"]["worlds_per_family"] = given.worlds or config["choice"]["worlds_per_family"]
    tables = shown(study(config, given.minutes))
    findings = HERE / "findings.md"
    findings.write_text(filled(findings.read_text(encoding="utf-8"), tables), encoding="utf-8")
    for name, table in tables.items():
        print(f"\n== {name}\n{table.to_string(index=False)}")


if __name__ == "__main__":
    main()
