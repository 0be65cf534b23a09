"""What would every rule have saved and lost on the logs of other people, and what would a plan have chosen?

Run: D3STATS_DATA=FOLDER python simulations/replay_real_logs/run.py [-o FOLDER]

Writes ``replay.csv`` (a row per log and rule), ``refused.csv`` (which rule or log could not be replayed, and
why) and ``plan.csv`` (the plan of each log, and how plans made from half of the questions did on the other half).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from d3stats import Trajectories, import_log, replay
from d3stats.planning.costs import log_ratio, ratio
from d3stats.planning.plan import plan
from d3stats.stopping import Declaration, StoppingRule, Unanimity, from_text
from d3stats.trajectories import MISSING

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from findings_tables import data_folder  # noqa: E402  # the studies' shared helper lies beside their folders

MEASURES = ("rounds", "accuracy", "flips", "gained", "lost", "saved_rounds_vs_unanimity")
SHOWN = (
    "fixed:1", "supermajority:0.6", "supermajority:0.7", "supermajority:0.85", "sprt:0.7", "esc:5", "eot:0.85",
    "adaptive_consistency:0.95", "ks:0.05,patience=1", "agreement_routing:0.67", "agreement_routing:0.67 | unanimity",
    "commit_walls:2", "full",
)  # fmt: skip
"""Rules of the findings' tables; `replay.csv` has all."""


def read(log: Mapping[str, Any], folder: Path) -> Trajectories:
    """Import one log of the configuration."""
    source = folder / log["folder"]
    archives = sorted(source.glob("*.tar.gz")) if source.is_dir() else []
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "log.jsonl"
        import_log(log["importer"], archives[0] if archives else source, path, **log.get("options", {}))
        return Trajectories.from_log(path, roles=log.get("roles"))


def why_not(t: Trajectories) -> str:
    """Say why a log has nothing to replay; an empty text when it has."""
    if not (t.votes != MISSING).any():
        return "no votes: the judge's accuracy is no vote, and cannot be seen while the debate runs"
    if t.n_rounds < 2:
        return "one round: there is nothing to stop"
    if (t.depth < t.n_rounds).mean() > 0.5 and t.panel.max() > 1:
        return "most entries have one round: judgments in two orders, no debate"
    return ""


def replayed(
    t: Trajectories, rules: list[StoppingRule], config: Mapping[str, Any]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Replay the rules that apply; return the table, and why the others do not."""
    fit, refused = [], {}
    for rule in rules:
        try:
            rule.stop_rounds(t)
        except ValueError as error:
            refused[str(rule)] = str(error)
        else:
            fit.append(rule)
    result = replay(t, fit, level=config["level"])
    table = result.to_frame()
    columns = ["rule", "n_debates", "n_questions"]
    columns += [c for m in MEASURES for c in (m, f"{m}_low", f"{m}_high") if c in table]
    if (t.label != MISSING).any():
        paired = result.paired("unanimity")
        paired = paired[paired["measure"] == "accuracy"].set_index("rule")[["difference", "low", "high"]]
        paired.columns = ["accuracy_vs_unanimity", "accuracy_vs_unanimity_low", "accuracy_vs_unanimity_high"]
        return table[columns].join(paired, on="rule"), refused
    return table[columns], refused


def halves(
    t: Trajectories, splits: int, rng: np.random.Generator
) -> Iterator[tuple[Trajectories, Trajectories]]:
    """Yield (half to learn from, the rest), questions kept whole; each half of a split is learned from once."""
    questions = np.unique(t.cluster)
    for _ in range(splits):
        chosen = rng.permutation(questions)[: len(questions) // 2]
        inside = np.isin(t.cluster, chosen)
        yield t.select(inside), t.select(~inside)
        yield t.select(~inside), t.select(inside)


def crossed(t: Trajectories, settings: Mapping[str, Any], seed: int, level: float) -> dict[str, Any]:
    """Plan on half of the questions and stop the other half by it: rounds saved and accuracy lost."""
    played: list[pd.DataFrame] = []
    chosen: Counter[str] = Counter()
    for i, (learn, rest) in enumerate(halves(t, settings["splits"], np.random.default_rng(seed))):
        made = plan(
            learn,
            max_loss=settings["max_loss"],
            confidence=settings["confidence"],
            limit=False,
            rng=np.random.default_rng([seed, i]),
        )
        chosen[str(made.rule)] += 1
        mine, theirs = made.rule.stop_rounds(rest).rounds, Unanimity().stop_rounds(rest).rounds
        row = np.arange(len(rest))
        verdicts, label = rest.verdicts(), rest.label
        known = (
            (label != MISSING) & (verdicts[row, mine - 1] != MISSING) & (verdicts[row, theirs - 1] != MISSING)
        )
        lost = (verdicts[row, theirs - 1] == label) * 1.0 - (verdicts[row, mine - 1] == label)
        names = np.array(rest.cluster_names, dtype=object)[rest.cluster]
        played.append(
            pd.DataFrame(
                {
                    "question": names,
                    "mine": mine,
                    "theirs": theirs,
                    "lost": np.where(known, lost, 0.0),
                    "known": known,
                }
            )
        )
    both = pd.concat(played, ignore_index=True)
    cluster = np.unique(both["question"].to_numpy(dtype=str), return_inverse=True)[1].astype(np.int64)
    saved = log_ratio(both["mine"].to_numpy(float), both["theirs"].to_numpy(float), cluster, level)
    loss = ratio(both["lost"].to_numpy(), both["known"].to_numpy(float), cluster, level)
    return {
        "cv_saved": saved.value,
        "cv_saved_low": saved.low,
        "cv_saved_high": saved.high,
        "cv_loss": loss.value,
        "cv_loss_low": loss.low,
        "cv_loss_high": loss.high,
        "cv_rules": "; ".join(f"{rule} x{n}" for rule, n in chosen.most_common()),
    }


def planned(t: Trajectories, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan of a whole log, and the cross-validation of its making."""
    settings = config["plan"]
    made = plan(
        t,
        max_loss=settings["max_loss"],
        confidence=settings["confidence"],
        level=config["level"],
        limit=False,
        rng=config["seed"],
    )
    row = made.to_frame().iloc[0]
    names = ["rule", *(f"{m}{end}" for m in ("rounds", "saved", "loss") for end in ("", "_low", "_high"))]
    return {
        **{name: row[name] for name in names},
        "probability": made.probability,
        **crossed(t, settings, config["seed"], config["level"]),
    }


def study(config: Mapping[str, Any], folder: Path) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return the tables of the replay, of what was refused, and of the plans."""
    tables, refusals, plans = [], [], []
    for log in config["logs"]:
        t = read(log, folder)
        label = log["label"]
        if reason := why_not(t):
            refusals.append({"log": label, "rule": "every rule", "why": reason})
            continue
        moderated = log.get("roles") == ["moderator"]
        rules = (
            [Declaration(0, "no preference")] if moderated else [from_text(text) for text in config["rules"]]
        )
        table, refused = replayed(t, rules, config)
        if moderated:
            # One seat is unanimous as soon as it speaks, so there is no incumbent to save against.
            saved = [column for column in table if column.startswith("saved")]
            table = table[table["rule"] != "unanimity"].drop(columns=saved)
        tables.append(table.assign(log=label))
        refusals += [{"log": label, "rule": rule, "why": why} for rule, why in refused.items()]
        if t.panel.max() > 1:
            plans.append({"log": label, "questions": len(np.unique(t.cluster)), **planned(t, config)})
    whole = pd.concat(tables, ignore_index=True)
    whole.insert(0, "log", whole.pop("log"))
    why = pd.DataFrame(refusals).groupby(["rule", "why"], sort=False)["log"].agg("; ".join).reset_index()
    return whole, why, pd.DataFrame(plans)


def cell(row: Mapping[str, Any], name: str) -> str:
    """Return an estimate with its limits, two decimals."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    limits = "" if pd.isna(low) or low == high else f" [{low:.2f}, {high:.2f}]"
    return f"{row[name] + 0.0:.2f}{limits}".replace("-0.00", "0.00")


def markdown(frame: pd.DataFrame) -> str:
    """Return a table for the findings."""
    rows = [frame.columns, ["---"] * frame.shape[1], *frame.astype(str).itertuples(index=False)]
    # A rule's own bar would open a column.
    return "\n".join("| " + " | ".join(str(x).replace("|", "\\|") for x in row) + " |" for row in rows)


def shown(table: pd.DataFrame, measure: str) -> str:
    """Return one measure of the rules that say something, a row per rule and a column per log."""
    kept = table[table["rule"].isin(SHOWN) & table["saved_rounds_vs_unanimity"].notna()]
    cells = kept.assign(cell=[cell(row, measure) for row in kept.to_dict("records")])
    wide = cells.pivot_table("cell", "rule", "log", aggfunc="first", sort=False).reset_index()
    return markdown(wide)


def shown_plans(plans: pd.DataFrame) -> str:
    """Return the plans: what each log's own plan says, then what plans of halves did on the other halves."""
    return markdown(
        pd.DataFrame(
            {
                "log": row["log"],
                "plan": row["rule"],
                "rounds saved": cell(row, "saved"),
                "loss by the chain": f"{row['loss']:.4f}",
                "rounds saved, held out": cell(row, "cv_saved"),
                "loss, held out": f"{row['cv_loss']:.3f} [{row['cv_loss_low']:.3f}, {row['cv_loss_high']:.3f}]",
                "plans of the halves": row["cv_rules"],
            }
            for row in plans.to_dict("records")
        )
    )


def main() -> None:
    """Write the tables and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=HERE)
    output = parser.parse_args().output
    folder = data_folder()
    if not folder.is_dir():
        sys.exit(f"REAL LOGS NOT REPLAYED: no folder {folder} (set D3STATS_DATA)")
    output.mkdir(parents=True, exist_ok=True)
    found = study(tomllib.loads((HERE / "config.toml").read_text()), folder)
    for name, table in zip(("replay", "refused", "plan"), found, strict=True):
        numbers = table.select_dtypes("float").columns
        rounded = table.assign(**{c: table[c].round(4) + 0.0 for c in numbers})
        rounded.to_csv(output / f"{name}.csv", index=False, float_format="%g", lineterminator="\n")
        print(f"\n== {name}\n{rounded.to_string(index=False)}")


if __name__ == "__main__":
    main()
