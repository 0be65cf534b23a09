"""Does a plan made from fifty debates keep its promises?

For each of many random worlds: a pilot, the plan, then fresh debates played by the planned rule and by
unanimity. Beside it what could have been had with the world known: the best ladder, and the exact optimum where
the count is Markov.

Run: python simulations/plan_promises/run.py [--workers 2] [--worlds N]
A journal keeps finished worlds; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from d3stats.planning.plan import exact_limit, plan
from d3stats.stopping import Ladder, Unanimity
from d3stats.trajectories import Trajectories
from d3stats.worlds import (
    Conformity,
    DirichletCompound,
    LatentConcept,
    MixturePanel,
    Voter,
    World,
    count_process,
    simulate_debates,
)

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from findings_tables import filled  # noqa: E402  # the studies' shared helper lies beside their folders

JOURNAL = HERE / "worlds.csv"
MEASURES = ("rounds", "tokens", "kept", "saved", "loss")


def draw_world(family: str, ranges: dict[str, list[float]], panel: int, rng: np.random.Generator) -> World:
    """Draw a world of a family, each parameter uniform over its range."""
    x = {name: float(np.round(rng.uniform(*ends), 4)) for name, ends in ranges.items()}
    if family == "voter":
        return Voter(panel=panel, accuracy=x["accuracy"], precision=x["precision"])
    if family == "conformity":
        classes = ((1 - x["hard_share"], x["easy"]), (x["hard_share"], x["hard"]))
        return Conformity(
            panel=panel,
            difficulties=classes,
            shared_sd=x["shared_sd"],
            shared_points=3,
            conformity=x["conformity"],
            stubbornness=x["stubbornness"],
        )
    if family == "mixture_panel":
        return MixturePanel(
            panel=panel,
            weights=(x["weight"], 1 - x["weight"]),
            means=(x["good"], x["bad"]),
            precisions=(x["precision"], x["precision"]),
            mean_drift=(x["drift"], 0.0),
            persistence=x["persistence"],
        )
    if family == "dirichlet_compound":
        return DirichletCompound(panel=panel, **x)
    evidence = "fresh" if rng.random() < 0.5 else "self"
    return LatentConcept(panel=panel, evidence=evidence, **x)


def played(log: Trajectories, rule: Any, target: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rounds, tokens and kept verdicts of every debate under a rule."""
    rounds = rule.stop_rounds(log).rounds
    row = np.arange(log.n_debates)
    verdict = log.verdicts()[row, rounds - 1]
    spent = np.cumsum(log.tokens, axis=1)[row, rounds - 1]
    return rounds, spent, verdict == (log.label if target == "accuracy" else log.verdicts()[:, -1])


def covers(promise: pd.Series, measure: str, truth: float) -> bool:
    """Whether the interval holds the truth; a promise without an interval has to be it."""
    low, high = promise[f"{measure}_low"], promise[f"{measure}_high"]
    return bool(promise[measure] == truth if np.isnan(low) else low <= truth <= high)


def ladders(panel: int, rounds: int) -> list[tuple[int, ...]]:
    """Return every falling ladder, its last step 1."""
    found: list[tuple[int, ...]] = []

    def climb(so_far: tuple[int, ...]) -> None:
        if len(so_far) < rounds:
            found.append((*so_far, 1))
            for need in range((panel + 3) // 2, so_far[-1] + 1 if so_far else panel + 1):
                climb((*so_far, need))

    climb(())
    return found


def best_ladder(log: Trajectories, target: str, max_loss: float) -> Ladder:
    """Return the cheapest ladder within the loss of unanimity on a large log."""
    kept_full = log.verdicts() == (
        log.label[:, None] if target == "accuracy" else log.verdicts()[:, -1][:, None]
    )
    lead = log.camps()[0]
    cost = np.cumsum(log.tokens.mean(axis=0))
    allowed = played(log, Unanimity(), target)[2].mean() - max_loss
    best, least = "", np.inf
    for steps in ladders(int(log.panel[0]), log.n_rounds):
        fires = lead[:, : len(steps)] >= np.array(steps)
        at = fires.argmax(axis=1)
        paid = cost[at].mean()
        if paid < least and kept_full[np.arange(len(at)), at].mean() >= allowed:
            best, least = "-".join(map(str, steps)), paid
    return Ladder(best or str(int(log.panel[0])))


def one_world(config: dict[str, Any], family: str, number: int) -> list[dict[str, Any]]:
    """Plan from a pilot of one world and hold the plan to fresh debates."""
    key = [config["seed"], sorted(config["families"]).index(family), number]
    rng = np.random.default_rng(key)
    world = draw_world(family, config["families"][family], config["panel"], rng)
    seeds = rng.integers(2**31, size=3).tolist()
    pilot = simulate_debates(world, config["pilot"], config["rounds"], seeds[0])
    fresh = simulate_debates(world, config["fresh"], config["rounds"], seeds[1])
    known = simulate_debates(world, config["search"], config["rounds"], seeds[2])
    rows = []
    for target in ("accuracy", "agreement"):
        made = plan(
            pilot,
            max_loss=config["max_loss"],
            confidence=config["confidence"],
            level=config["level"],
            target=target,
            limit=False,
            rng=1,
        )
        promise = made.to_frame().iloc[0]
        rounds, spent, kept = played(fresh, made.rule, target)
        _, base_spent, base_kept = played(fresh, Unanimity(), target)
        _, best_spent, best_kept = played(fresh, best_ladder(known, target, config["max_loss"]), target)
        difference = base_kept.astype(float) - kept
        truth = {
            "rounds": rounds.mean(),
            "tokens": spent.mean(),
            "kept": kept.mean(),
            "saved": 1 - spent.mean() / base_spent.mean(),
            "loss": difference.mean(),
        }
        row = {"family": family, "world": number, "target": target, "rule": str(made.rule)}
        row |= {"parameters": str(world), "probability": made.probability}
        for m in MEASURES:
            row |= {m: truth[m], f"{m}_promised": promise[m]}
            row[f"{m}_covered"] = int(covers(promise, m, truth[m]))
        row["loss_se"] = difference.std() / np.sqrt(len(difference))
        row["saved_best_ladder"] = 1 - best_spent.mean() / base_spent.mean()
        row["loss_best_ladder"] = base_kept.mean() - best_kept.mean()
        row["saved_optimum"] = np.nan
        if target == "accuracy":
            try:
                process = count_process(world, config["rounds"])
            except TypeError:
                pass
            else:
                limit = exact_limit(
                    process, known.tokens.mean(axis=0), config["max_loss"], target, config["max_beliefs"]
                )
                row["saved_optimum"] = limit.saved
        rows.append(row)
    return rows


def study(config: dict[str, Any], workers: int, journal: Path = JOURNAL) -> pd.DataFrame:
    """Run every world that the journal does not hold yet, and return them all."""
    done = set()
    if journal.exists():
        done = {(r["family"], int(r["world"])) for r in csv.DictReader(journal.open(encoding="utf-8"))}
    todo = [
        (family, i)
        for i in range(config["worlds_per_family"])
        for family in config["families"]
        if (family, i) not in done
    ]
    results = Parallel(n_jobs=workers, return_as="generator_unordered")(
        delayed(one_world)(config, family, i) for family, i in todo
    )
    for rows in results:
        new = not journal.exists()
        with journal.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            if new:
                writer.writeheader()
            writer.writerows(rows)
    table = pd.read_csv(journal)
    return table.sort_values(["target", "family", "world"], ignore_index=True)


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per target and family: savings, losses, and how often the intervals covered."""
    rows = []
    for (target, family), part in table.groupby(["target", "family"]):
        n = len(part)
        mean, se = part["loss"].mean(), part["loss"].std(ddof=1) / np.sqrt(n)
        best = part["saved_optimum"].fillna(part["saved_best_ladder"])
        rows.append(
            {
                "target": target,
                "family": family,
                "worlds": n,
                "saved": part["saved"].mean(),
                "saved_best_ladder": part["saved_best_ladder"].mean(),
                "saved_optimum": part["saved_optimum"].mean(),
                "share_of_best": part["saved"].mean() / best.mean(),
                "mean_loss": mean,
                "loss_upper_95": mean + 1.645 * se,
                "beyond_margin": (part["loss"] > 0.01).mean(),
                "beyond_surely": (part["loss"] - 1.645 * part["loss_se"] > 0.01).mean(),
                "worst_loss": part["loss"].max(),
                **{f"covered_{m}": part[f"{m}_covered"].mean() for m in MEASURES},
            }
        )
    return pd.DataFrame(rows)


def shown(summary: pd.DataFrame, found: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings."""
    tables = {}
    for target, part in summary.groupby("target"):
        tables[f"{target} by family"] = pd.DataFrame(
            {
                "family": part["family"],
                "worlds": part["worlds"],
                "tokens saved": part["saved"].map("{:.3f}".format),
                "best ladder": part["saved_best_ladder"].map("{:.3f}".format),
                "exact optimum": part["saved_optimum"].map(lambda v: "-" if np.isnan(v) else f"{v:.3f}"),
                "share of the best": part["share_of_best"].map("{:.2f}".format),
                "mean loss": part["mean_loss"].map("{:.4f}".format),
                "its upper 95 % limit": part["loss_upper_95"].map("{:.4f}".format),
                "worlds beyond .01": part["beyond_margin"].map("{:.3f}".format),
                "worst loss": part["worst_loss"].map("{:.3f}".format),
            }
        )
    covered = found.groupby("target")[[f"{m}_covered" for m in MEASURES]].mean()
    covered.columns = list(MEASURES)
    tables["coverage"] = covered.map("{:.3f}".format).reset_index()
    by_family = summary[["target", "family", *(f"covered_{m}" for m in MEASURES)]].copy()
    by_family.columns = ["target", "family", *MEASURES]
    for m in MEASURES:
        by_family[m] = by_family[m].map("{:.3f}".format)
    tables["coverage by family"] = by_family
    return tables


def main() -> None:
    """Run what is not in the journal, write the summary and refresh the findings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--worlds", type=int, help="worlds per family, fewer than the configured number")
    given = parser.parse_args()
    settings = tomllib.loads((HERE / "config.toml").read_text())
    settings["worlds_per_family"] = given.worlds or settings["worlds_per_family"]
    found = study(settings, given.workers)
    summary = summarise(found)
    summary.to_csv(HERE / "summary.csv", index=False, float_format="%.6g", lineterminator="\n")
    tables = shown(pd.read_csv(HERE / "summary.csv"), found)
    findings = HERE / "findings.md"
    findings.write_text(filled(findings.read_text(encoding="utf-8"), tables), encoding="utf-8")
    for name, table in tables.items():
        print(f"\n== {name}\n{table.to_string(index=False)}")


if __name__ == "__main__":
    main()
