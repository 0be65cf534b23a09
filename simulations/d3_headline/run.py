"""What remains of "58 % stop by round 2, 40 % of the tokens saved" against unanimity, and against the best?

Run: python simulations/d3_headline/run.py [-o FOLDER]

Calibrates a courtroom to the figures that D3 reports, then replays rules on fresh questions. Writes a CSV per
table and, into this folder only, the tables of ``findings.md``.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats import Trajectories
from d3stats.models.chains.optimum import cheapest
from d3stats.planning import scan
from d3stats.polling import reads_votes
from d3stats.stopping import Ladder, Optimal, Rule, StoppingRule, from_text
from d3stats.worlds import Courtroom, courtroom_items, simulate_debates

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from d3_calibration import Config, Floats, calibrate, columns_of, pay_with  # noqa: E402  # studies are no package
from findings_tables import write  # noqa: E402
from learned_chain import fit_process  # noqa: E402

READS_VOTES = "after every round"
READS_NO_VOTES = "at the end"


def log_of(world: Courtroom, questions: int, runs: int, rounds: int, seed: int) -> Trajectories:
    """Simulate questions that are debated several times each; a question is a cluster."""
    parts = []
    for run in range(runs):
        part = simulate_debates(replace(world, run=run, poll="every_round"), questions, rounds, seed)
        parts.append(replace(part, debates=tuple(f"{name}, run {run}" for name in part.debates)))
    return Trajectories.concat(*parts)


def columns(log: Trajectories, rules: Mapping[str, StoppingRule]) -> dict[str, dict[str, Floats]]:
    """Return the columns of every rule, each on its own bill."""
    return {name: columns_of(log, rule) for name, rule in rules.items()}


def best_on(log: Trajectories, config: Config) -> dict[str, StoppingRule]:
    """Find the cheapest ladder, gap rule and chain optimum within the margin of unanimity's accuracy."""
    settings, depth = config["report"], config["rounds"]
    jury = int(log.panel[0])
    enough = jury // 2 + 1
    levels = [*range(jury, enough, -1), 1]
    ladders = [
        Ladder("-".join(map(str, (*steps, 1)))) for steps in combinations_with_replacement(levels, depth - 1)
    ]
    unanimity = scan(log, "unanimity").iloc[0]
    floor = float(unanimity["accuracy"]) - settings["margin"]
    gaps = [
        from_text(f"budgeted:{eps},max_rounds={cap}")
        for eps in settings["epsilons"]
        for cap in range(2, depth + 1)
    ]
    successes, _ = log.successes_trials()
    assert log.tokens is not None
    chain = fit_process(successes, jury, n_classes=2)
    bill = log.tokens.mean(axis=0)
    return {
        "best ladder": _cheapest(log, ladders, floor),
        "best gap rule": _cheapest(log, [*gaps, from_text("full")], floor),
        "optimum of a fitted chain": Optimal(cheapest(chain, 1 - floor, tokens=bill, max_beliefs=2000)),
    }


def _cheapest(log: Trajectories, rules: Sequence[StoppingRule], floor: float) -> StoppingRule:
    table = scan(log, rules)
    within = table[table["accuracy"] >= floor]
    chosen = within["tokens"].idxmin() if len(within) else table["accuracy"].idxmax()
    return rules[int(chosen)]


def intervals(
    columns: Mapping[str, Mapping[str, Floats]], cluster: NDArray[Any], config: Config, seed: int
) -> pd.DataFrame:
    """Return every measure of every rule with percentile intervals; questions are resampled."""
    _, code = np.unique(cluster, return_inverse=True)
    groups = int(code.max()) + 1
    flat = {(rule, name): values for rule, found in columns.items() for name, values in found.items()}
    sums = np.stack([np.bincount(code, weights=values, minlength=groups) for values in flat.values()], axis=1)
    size = np.bincount(code, minlength=groups).astype(float)
    rng = np.random.default_rng(seed)
    times = rng.multinomial(groups, np.full(groups, 1 / groups), size=config["report"]["replicates"])
    weights = np.concatenate([np.ones((1, groups)), times])
    totals, sizes = weights @ sums, weights @ size
    at = {key: totals[:, i] for i, key in enumerate(flat)}
    rows = []
    for rule in columns:
        means = {name: at[rule, name] / sizes for name in columns[rule]}
        means["saved_tokens_vs_full"] = 1 - at[rule, "tokens"] / at["full", "tokens"]
        means["saved_tokens_vs_unanimity"] = 1 - at[rule, "tokens"] / at["unanimity", "tokens"]
        means["accuracy_minus_unanimity"] = means["accuracy"] - at["unanimity", "accuracy"] / sizes
        for name, values in means.items():
            for level in config["report"]["levels"]:
                low, high = np.quantile(values[1:], [(1 - level) / 2, (1 + level) / 2])
                rows.append((rule, name, values[0], low, high, level, "percentile, questions resampled"))
    return pd.DataFrame(rows, columns=["rule", "measure", "estimate", "low", "high", "level", "interval"])


def report(world: Courtroom, config: Config) -> tuple[pd.DataFrame, dict[str, StoppingRule]]:
    """Look for rules on one half of the questions and report every rule on the other."""
    settings, seed = config["report"], config["seed"]
    looked = log_of(world, settings["questions"], settings["runs"], config["rounds"], seed + 2)
    fresh = log_of(world, settings["questions"], settings["runs"], config["rounds"], seed + 3)
    rules = {text: from_text(text) for text in settings["rules"]} | best_on(looked, config)
    table = intervals(columns(fresh, rules), fresh.cluster, config, seed)
    asked = {name: READS_VOTES if reads_votes(rule) else READS_NO_VOTES for name, rule in rules.items()}
    return table.assign(jury=table["rule"].map(asked)), rules


def as_large_as_d3(world: Courtroom, config: Config) -> pd.DataFrame:
    """Return the headline rule's intervals from one study of D3's size."""
    settings = config["as_large_as_d3"]
    logs = log_of(world, settings["questions"], settings["runs"], config["rounds"], config["seed"] + 4)
    rules = {text: from_text(text) for text in (config["rule"], "full", "unanimity")}
    table = intervals(columns(logs, rules), logs.cluster, config, config["seed"])
    return table[table["rule"] == config["rule"]].reset_index(drop=True)


def other_bills(world: Courtroom, config: Config) -> pd.DataFrame:
    """Return the savings in worlds whose tokens go elsewhere; where debates stop is the same in all.

    A world with `pays` has that length moved until the headline's saving against full depth comes out.
    """
    settings, parts = config["other_bills"], []
    usual = replace(world, rationale_words=Courtroom().rationale_words)
    for bill in settings["worlds"]:
        given = {k: v for k, v in bill.items() if k not in ("label", "pays", "limits")}
        billed = replace(usual, **given)
        if "pays" in bill:
            billed = pay_with(billed, bill["pays"], bill["limits"], config)
        logs = log_of(billed, settings["questions"], 1, config["rounds"], config["seed"] + 5)
        rules = {text: from_text(text) for text in settings["rules"]}
        table = intervals(columns(logs, rules), logs.cluster, config, config["seed"])
        length = f"{bill['pays']} {getattr(billed, bill['pays']):.0f}" if "pays" in bill else "defaults"
        parts.append(table.assign(world=bill["label"], lengths=length))
    return pd.concat(parts, ignore_index=True)


def figures(world: Courtroom, config: Config) -> dict[str, pd.DataFrame]:
    """Return where the headline rule stops, and the gap in favour of the better answer by category."""
    seed, n = config["seed"] + 3, config["report"]["questions"]
    log = simulate_debates(replace(world, poll="end"), n, config["rounds"], seed)
    items = courtroom_items(world, n, seed)
    assert log.scores is not None
    stops = from_text(config["rule"]).stop_rounds(log).rounds
    share = np.bincount(stops, minlength=config["rounds"] + 1)[1:] / n
    rounds = np.arange(1, config["rounds"] + 1)
    gap = (log.scores[:, :, 0] - log.scores[:, :, 1]) * np.sign(items["quality_gap"].to_numpy())[:, None]
    rows = []
    for category in dict.fromkeys(c.name for c in world.categories):
        of = (items["category"] == category).to_numpy()
        verdict = int(np.median(stops[of]))
        for r in rounds:
            values = gap[of, r - 1]
            half = 1.96 * values.std(ddof=1) / np.sqrt(of.sum())
            mean = values.mean()
            rows.append((category, r, mean, mean - half, mean + half, bool(r == verdict)))
    names = ["category", "round", "gap", "low", "high", "verdict"]
    return {
        "stop_histogram": pd.DataFrame({"round": rounds, "share": share}),
        "gap_trajectories": pd.DataFrame(rows, columns=names),
    }


def study(config: Config) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    world, calibrated = calibrate(config)
    table, rules = report(world, config)
    chosen = pd.DataFrame([(name, str(rule), _kind(rule)) for name, rule in rules.items()])
    return {
        "calibrated": calibrated,
        "rules": table,
        "chosen": chosen.set_axis(["name", "rule", "decides"], axis=1),
        "as_large_as_d3": as_large_as_d3(world, config),
        "other_bills": other_bills(world, config),
        **figures(world, config),
    }


def _kind(rule: StoppingRule) -> str:
    return "debate" if isinstance(rule, Rule) else "batch"


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings, with the digits that they show."""
    made = tables["calibrated"]
    figure = made[made["what"] == "figure"].drop(columns="what").round(3)
    parameter = made[made["what"] == "parameter"].drop(columns=["what", "D3"]).round(3)
    named = tables["chosen"].set_index("name")["rule"]
    rules = tables["rules"].query("level == 0.95")
    text = rules.assign(
        said=[_said(*row) for row in rules[["measure", "estimate", "low", "high"]].to_numpy()]
    )
    wide = text.pivot_table(index="rule", columns="measure", values="said", aggfunc="first").loc[
        list(dict.fromkeys(rules["rule"]))
    ]
    wide.insert(0, "jury is asked", rules.groupby("rule")["jury"].first())
    wide = wide.reset_index().rename(columns=lambda c: c.replace("_", " "))
    order = ["rule", "jury is asked", "stopped by round 2", "rounds", "tokens", "saved tokens vs full"]
    order += ["saved tokens vs unanimity", "accuracy", "accuracy minus unanimity", "changed at full depth"]
    found = pd.DataFrame({"looked for": named.index, "rule": named.to_numpy()})
    small = tables["as_large_as_d3"].query("level == 0.95")
    sized = [
        (m.replace("_", " "), _said(m, *x))
        for m, *x in small[["measure", "estimate", "low", "high"]].to_numpy()
    ]
    bills = tables["other_bills"].query("level == 0.95")
    bills = bills[
        bills["measure"].str.startswith("saved_tokens") & ~bills["rule"].isin(["full", "unanimity"])
    ]
    bills = bills.assign(
        said=[_said(*row) for row in bills[["measure", "estimate", "low", "high"]].to_numpy()],
        measure=bills["measure"].str.replace("_", " "),
    )
    bills = bills.pivot_table(
        index=["world", "lengths", "rule"], columns="measure", values="said", aggfunc="first"
    ).reset_index()
    return {
        "figures": figure,
        "parameters": parameter,
        "rules": wide[order],
        "found": found[found["looked for"].str.contains("best|optimum")],
        "other bills": bills,
        "as large as D3": pd.DataFrame(sized, columns=["measure", "estimate and 95 % interval"]),
    }


def _said(measure: str, value: float, low: float, high: float) -> str:
    digits = 0 if measure == "tokens" else 2 if measure == "rounds" else 3
    return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE)
    out = parser.parse_args().out
    made = study(tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8")))
    tables = write(HERE, out, made, shown)
    print(*(f"{frame.to_string(index=False)}\n" for frame in tables.values()), sep="\n")
