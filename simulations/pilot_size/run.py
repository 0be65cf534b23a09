"""How many debates does a pilot take? The width of a plan's intervals, and what plans save and lose, by pilot size.

Run: python simulations/pilot_size/run.py [--workers 2]
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from d3stats.planning.plan import plan
from d3stats.stopping import Unanimity, from_text
from d3stats.trajectories import Trajectories
from d3stats.worlds import Conformity, MixturePanel, Voter, World, simulate_debates

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "guides" / "pilot_size.md"
sys.path.insert(0, str(HERE.parent))

from findings_tables import filled, write  # noqa: E402  # the studies' shared helper lies beside their folders


def world_of(x: dict[str, Any], panel: int) -> World:
    """Return the world that a line of the settings describes."""
    if x["family"] == "voter":
        return Voter(panel=panel, accuracy=x["accuracy"], precision=x["precision"])
    if x["family"] == "conformity":
        return Conformity(
            panel=panel,
            difficulties=((1 - x["hard_share"], x["easy"]), (x["hard_share"], x["hard"])),
            shared_sd=x["shared_sd"],
            shared_points=3,
            conformity=x["conformity"],
            stubbornness=x["stubbornness"],
        )
    return MixturePanel(
        panel=panel,
        weights=(x["weight"], 1 - x["weight"]),
        means=(x["good"], x["bad"]),
        precisions=(x["precision"], x["precision"]),
        mean_drift=(x["drift"], 0.0),
        persistence=x["persistence"],
    )


def true_of(log: Trajectories, rule: Any) -> tuple[float, float]:
    """Return the share of unanimity's tokens that a rule saves, and the accuracy that it loses, on a large log."""
    row = np.arange(log.n_debates)
    stops = [each.stop_rounds(log).rounds for each in (rule, Unanimity())]
    right = [(log.verdicts()[row, at - 1] == log.label).mean() for at in stops]
    tokens = np.cumsum(log.tokens, axis=1)
    spent = [tokens[row, at - 1].mean() for at in stops]
    return float(1 - spent[0] / spent[1]), float(right[1] - right[0])


def one_pilot(config: dict[str, Any], name: str, questions: int, number: int) -> dict[str, Any]:
    """Plan from one pilot: widths of the intervals of one rule, and the truth about the rule that is chosen."""
    which = list(config["worlds"]).index(name)
    seeds = np.random.default_rng([config["seed"], which, questions, number]).integers(2**31, size=2).tolist()
    world = world_of(config["worlds"][name], config["panel"])
    fresh = simulate_debates(world, config["fresh"], config["rounds"], config["seed"])
    asked = {key: config[key] for key in ("max_loss", "confidence", "level")}
    pilot = simulate_debates(world, questions, config["rounds"], seeds[0])
    made = plan(pilot, **asked, target="accuracy", rules=[config["rule"]], limit=False, rng=1)
    fixed = made.to_frame().set_index("rule").loc[config["rule"]]
    saved, loss = true_of(fresh, made.rule)
    true_saved, true_loss = true_of(fresh, from_text(config["rule"]))
    return {
        "world": name,
        "questions": questions,
        "pilot": number,
        "saved_width": fixed["saved_high"] - fixed["saved_low"],
        "loss_width": fixed["loss_high"] - fixed["loss_low"],
        "saved_covered": int(fixed["saved_low"] <= true_saved <= fixed["saved_high"]),
        "loss_covered": int(fixed["loss_low"] <= true_loss <= fixed["loss_high"]),
        "rule": str(made.rule),
        "saved": saved,
        "loss": loss,
    }


def by_world(pilots: pd.DataFrame, max_loss: float) -> pd.DataFrame:
    """Return one row per world and size: widths, coverage, and what the chosen rules save and lose."""
    found = pilots.assign(beyond=pilots["loss"] > max_loss)
    means = found.groupby(["world", "questions"], sort=False).agg(
        saved_width=("saved_width", "mean"),
        loss_width=("loss_width", "mean"),
        saved_covered=("saved_covered", "mean"),
        loss_covered=("loss_covered", "mean"),
        saved=("saved", "mean"),
        loss=("loss", "mean"),
        worst=("loss", "max"),
        beyond=("beyond", "mean"),
        plans=("loss", "size"),
    )
    return means.reset_index()


def _points(values: pd.Series) -> pd.Series:
    return (100 * values).map("{:z.1f}".format)


def shown(made: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the table of the findings: every world and size, in points."""
    table = made["pilot_size"]
    names = {
        "saved_width": "width, tokens saved",
        "loss_width": "width, accuracy lost",
        "saved": "plans save",
        "loss": "plans lose",
        "worst": "largest loss",
        "beyond": "plans beyond 1 point, %",
    }
    rows = {label: _points(table[name]) for name, label in names.items()}
    return {"by world": pd.DataFrame({"world": table["world"], "questions": table["questions"], **rows})}


def for_page(made: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the table of the page on pilots: means over the worlds, and losses where votes improve or do not."""
    table = made["pilot_size"]
    late = table["world"] == "votes improve"
    groups = [part.groupby("questions") for part in (table, table[~late], table[late])]
    columns = {
        "width: tokens saved": _points(groups[0]["saved_width"].mean()),
        "width: accuracy lost": _points(groups[0]["loss_width"].mean()),
        "plans save": (100 * groups[0]["saved"].mean()).map("{:z.0f} %".format),
        "plans that lose over 1 point": (100 * groups[1]["beyond"].mean()).map("{:z.0f} %".format),
        "the same, votes improve": (100 * groups[2]["beyond"].mean()).map("{:z.0f} %".format),
    }
    return {"by size": pd.DataFrame(columns).reset_index()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, default=1)
    workers = parser.parse_args().workers
    config = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
    cells = [
        (name, n, i)
        for name in config["worlds"]
        for n in config["questions"]
        for i in range(config["pilots"])
    ]
    found = pd.DataFrame(Parallel(n_jobs=workers)(delayed(one_pilot)(config, *cell) for cell in cells))
    tables = {"pilots": found, "pilot_size": by_world(found, config["max_loss"])}
    for name, table in write(HERE, HERE, tables, shown).items():
        print(f"\n== {name}\n{table.to_string(index=False)}")
    made = {"pilot_size": pd.read_csv(HERE / "pilot_size.csv")}
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), for_page(made)), encoding="utf-8")


if __name__ == "__main__":
    main()
