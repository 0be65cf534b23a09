"""How many debates does a pilot take, and what is left of the saving of its plan when it is paid?

Each world gets pilots of several sizes, once played to the end and once stopped at unanimity. From each pilot come a
plan, with the widths of its intervals, and the rule that saves most on the pilot itself. The first round alone and
unanimity are the other rivals.

Run: python simulations/pilot_bills/run.py [--until HH:MM]
A journal keeps finished pilots; the same command continues where it was stopped.
"""

from __future__ import annotations

import argparse
import csv
import runpy
import sys
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from d3stats.planning import plan, replay
from d3stats.stopping import FixedRounds, Rule, Unanimity, from_text
from d3stats.trajectories import MISSING, Trajectories
from d3stats.worlds import simulate_debates

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from findings_tables import filled, write  # noqa: E402  # the studies' shared helper lies beside their folders

JOURNAL = HERE / "pilots.csv"
PAGE = HERE.parents[1] / "docs" / "guides" / "pilot_size.md"
POLICIES = {
    "plan, pilot stopped at unanimity": ("plan", "stopped"),
    "plan, pilot to the end": ("plan", "full"),
    "best on the pilot by replay": ("replayed", "full"),
    "fixed:1, no pilot": ("first", ""),
    "unanimity, no pilot": ("unanimity", ""),
}
"""Policies by their names in the tables: the rule, and how its pilot is played."""


def stopped_at_unanimity(full: Trajectories) -> Trajectories:
    """Return the pilot as a run under unanimity would have left it."""
    depth = Unanimity().stop_rounds(full).rounds.astype(np.int64)
    last = int(depth.max())
    late = np.arange(last) >= depth[:, None]
    assert full.tokens is not None
    return Trajectories.from_arrays(
        np.where(late[:, :, None], MISSING, full.votes[:, :last]),
        full.label,
        answers=full.answers,
        tokens=np.where(late, np.nan, full.tokens[:, :last]),
        depth=depth,
        stopped_by_rule=full.unanimous()[np.arange(len(full)), depth - 1],
    )


def played(log: Trajectories, rule: Rule) -> tuple[float, float]:
    """Return the mean tokens and the accuracy of a rule on a large log."""
    row, at = np.arange(len(log)), rule.stop_rounds(log).rounds
    assert log.tokens is not None
    spent = np.cumsum(log.tokens, axis=1)[row, at - 1].mean()
    return float(spent), float((log.verdicts()[row, at - 1] == log.label).mean())


def family_of_rules(panel: int, rounds: int) -> list[str]:
    """Return the rules among which a replay of the pilot looks for the cheapest."""
    steps = [f"ladder:{a}-{b}-1" for a in range(panel, panel // 2, -1) for b in range(a, panel // 2, -1)]
    return [*(f"fixed:{k}" for k in range(1, rounds)), *steps]


def one_pilot(config: Mapping[str, Any], family: str, number: int, size: int, which: int) -> dict[str, Any]:
    """Play one pilot twice, choose rules from it, and count on fresh debates what they save and lose."""
    promises = runpy.run_path(str(HERE.parent / "plan_promises" / "run.py"))
    ranges = tomllib.loads((HERE / config["ranges"]).read_text(encoding="utf-8"))["families"][family]
    key = [config["seed"], config["families"].index(family), number]
    world = promises["draw_world"](family, ranges, config["panel"], np.random.default_rng(key))
    seed = int(np.random.default_rng([*key, size, which]).integers(2**31))
    full = simulate_debates(world, size, config["rounds"], seed)
    fresh = simulate_debates(world, config["fresh"], config["rounds"], config["seed"])
    cut = stopped_at_unanimity(full)
    asked = {name: config[name] for name in ("max_loss", "confidence")}
    asked |= {"level": config["level"], "n_draws": config["draws"], "rules": [config["rule"]]}
    plans = {
        name: plan(log, **asked, target="accuracy", limit=False, rng=1)
        for name, log in (("stopped", cut), ("full", full))
    }
    rules = {f"plan of {name}": made.rule for name, made in plans.items()}
    best = replay(full, family_of_rules(config["panel"], config["rounds"])).cheapest(config["max_loss"])
    rules["replayed of full"] = from_text(best["rule"].iloc[0]) if len(best) else Unanimity()
    rules["first"] = FixedRounds(1)
    usual, right = played(fresh, Unanimity())
    row: dict[str, Any] = {
        "family": family,
        "world": number,
        "size": size,
        "pilot": which,
        "unanimity": usual,
    }
    for name, log in (("stopped", cut), ("full", full)):
        row[f"bill {name}"] = float(np.nansum(log.tokens) / size)
    measured = plans["full"].to_frame().set_index("rule").loc[config["rule"]]
    row |= {f"width {what}": measured[f"{what}_high"] - measured[f"{what}_low"] for what in ("saved", "loss")}
    for name, rule in rules.items():
        spent, kept = played(fresh, rule)
        row |= {f"rule {name}": str(rule), f"saved {name}": 1 - spent / usual, f"loss {name}": right - kept}
    return row


def study(config: Mapping[str, Any], journal: Path, until: datetime | None = None) -> pd.DataFrame:
    """Play every pilot that the journal does not hold, and return them all."""
    names = ("family", "world", "size", "pilot")
    done = set()
    if journal.exists():
        with journal.open(encoding="utf-8") as file:
            done = {tuple(row[name] for name in names) for row in csv.DictReader(file)}
    cells = [
        (family, number, size, which)
        for number in range(config["worlds"])
        for which in range(config["pilots"])
        for family in config["families"]
        for size in config["sizes"]
    ]
    for cell in cells:
        if tuple(map(str, cell)) in done:
            continue
        if until is not None and datetime.now(UTC) > until:
            break
        row = one_pilot(config, *cell)
        new = not journal.exists()
        with journal.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)
    return pd.read_csv(journal)


def net(pilots: pd.DataFrame, config: Mapping[str, Any]) -> pd.DataFrame:
    """Return the net saving of each policy by size of pilot and campaign, and how often it loses too much.

    The debates of a pilot are part of the campaign. They cost what the pilot cost, and the others what the rule costs;
    the saving is against unanimity in every debate.
    """
    rows = []
    for policy, (rule, how) in POLICIES.items():
        name = f"{rule} of {how}" if how else rule
        for size in config["sizes"] if how else [0]:
            of = pilots[pilots["size"] == size] if how else pilots
            saved = of[f"saved {name}"] if rule != "unanimity" else 0.0 * of["size"]
            loss = of[f"loss {name}"] if rule != "unanimity" else 0.0 * of["size"]
            bill = of[f"bill {how}"] / of["unanimity"] if how else 1.0
            for debates in config["campaigns"]:
                share = size / debates
                left = (1 - share) * saved + share * (1 - bill)
                by_world = left.groupby([of["family"], of["world"]]).mean()
                rows.append(
                    {
                        "policy": policy,
                        "size": size,
                        "campaign": debates,
                        "net": left.mean(),
                        "net_se": by_world.std() / np.sqrt(len(by_world)),
                        "broken": (loss > config["max_loss"]).mean(),
                        "loss": loss.mean(),
                        "pilots": len(of),
                    }
                )
    return pd.DataFrame(rows)


def best_sizes(table: pd.DataFrame) -> pd.DataFrame:
    """Return the size of pilot, stopped at unanimity, that leaves most of the saving of a campaign of each size."""
    of = table[table["policy"] == "plan, pilot stopped at unanimity"]
    best = of.loc[of.groupby("campaign")["net"].idxmax()]
    others = of.groupby("campaign")["net"].agg(["min", "max"])
    return pd.DataFrame(
        {
            "campaign": [f"{n:,}" for n in best["campaign"]],
            "best pilot": best["size"].to_numpy(),
            "net saving": [f"{100 * x:z.0f} %" for x in best["net"]],
            "error": [f"{100 * x:z.0f}" for x in best["net_se"]],
            "worst of the sizes": [f"{100 * x:z.0f} %" for x in others["min"]],
        }
    )


def by_size(pilots: pd.DataFrame, max_loss: float) -> pd.DataFrame:
    """Return the widths of a plan's intervals, in points, and what plans save and lose, by size of the pilot."""
    found = pilots.assign(beyond=pilots["loss plan of stopped"] > max_loss).groupby("size")
    means = found[["width saved", "width loss", "saved plan of stopped"]].mean()
    promised = found["rule plan of stopped"].agg(lambda rules: (rules != "unanimity").sum())
    beyond, worlds = found["beyond"].sum(), found.size()
    return pd.DataFrame(
        {
            "questions": means.index,
            "width: tokens saved": [f"{100 * x:z.1f}" for x in means["width saved"]],
            "width: accuracy lost": [f"{100 * x:z.1f}" for x in means["width loss"]],
            "a rule is found": [f"{k} of {n}" for k, n in zip(promised, worlds, strict=True)],
            "plans save": [f"{100 * x:z.0f} %" for x in means["saved plan of stopped"]],
            "plans that lose over 1 point": [f"{k} of {n}" for k, n in zip(beyond, worlds, strict=True)],
        }
    )


def for_page(made: Mapping[str, pd.DataFrame], max_loss: float) -> dict[str, pd.DataFrame]:
    """Return the tables of the page on pilots."""
    return {"by size": by_size(made["pilots"], max_loss), "best size": best_sizes(made["net"])}


def shown(made: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the table of the findings: net savings in percent by campaign, and the share of rules that lose more."""
    table = made["net"]
    wide = table.pivot_table(index=["policy", "size"], columns="campaign", values="net", sort=False)
    error = table.groupby(["policy", "size"], sort=False)["net_se"].max()
    broken = table.groupby(["policy", "size"], sort=False)[["broken", "loss"]].first()
    out = pd.DataFrame({"policy": [p for p, _ in wide.index], "pilot": [s for _, s in wide.index]})
    for debates in wide.columns:
        out[f"net, {debates:,} debates"] = [f"{100 * x:z.0f} %" for x in wide[debates]]
    out["error"] = [f"{100 * x:z.0f}" for x in error]
    out["lose over 1 point"] = [f"{100 * x:z.0f} %" for x in broken["broken"]]
    out["mean loss, points"] = [f"{100 * x:z.1f}" for x in broken["loss"]]
    return {"net": out, "best size": best_sizes(table)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--until", help="UTC time, HH:MM, after which no further pilot starts")
    told = parser.parse_args().until
    until = None
    if told is not None:
        hour, minute = map(int, told.split(":"))
        until = datetime.now(UTC).replace(hour=hour, minute=minute)
    config = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
    pilots = study(config, JOURNAL, until)
    for name, table in write(HERE, HERE, {"net": net(pilots, config)}, shown).items():
        print(f"\n== {name}\n{table.to_string(index=False)}")
    made = {name: pd.read_csv(HERE / f"{name}.csv") for name in ("pilots", "net")}
    PAGE.write_text(
        filled(PAGE.read_text(encoding="utf-8"), for_page(made, config["max_loss"])), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
