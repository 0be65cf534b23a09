"""Are larger panels of small models right more often, on the same questions?

Run: D3STATS_DATA=FOLDER python analysis/ensemble_size/run.py [-o FOLDER]

Writes ``votes.csv`` (every vote as a number, no texts), ``sizes.csv`` (accuracy by panel size, and differences on the
same questions) and ``subpanels.csv`` (panels made of some seats of the 7-seat panels, before any debate).
"""

from __future__ import annotations

import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats import import_log
from d3stats.datasets import path
from d3stats.log import read_log
from d3stats.planning.costs import share
from d3stats.resampling import cluster_t, cluster_totals

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "simulations")]

from findings_tables import run_on_data  # noqa: E402  # studies are no package

CONFIG = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
FOLDER = "lferreiraMD__slm_multiagent_debate"
ROUNDS = ("round_1", "round_2", "round_3")
DEBATE = ["benchmark", "model", "seats", "question"]
_NAME = re.compile(
    r"(?P<benchmark>gsm|mmlu)_(?P<model>.+)_persona_(?P<personas>.+)_agents(?P<agents>\d+)_rounds3"
)
BENCHMARKS = {"both": ("gsm", "mmlu"), "GSM8K": ("gsm",), "MMLU": ("mmlu",)}

Floats = NDArray[np.float64]


def votes_of(folder: Path) -> pd.DataFrame:
    """Return a row per seat and debate: question by its number in slm7, persona by the file's name, votes by round.

    A vote is 0 when right, another number per other answer to the question, and missing when it cannot be read.
    """
    (archive,) = sorted((folder / FOLDER).glob("*.tar.gz"))
    with tempfile.TemporaryDirectory() as made:
        log = Path(made) / "log.jsonl"
        import_log("slm-multiagent", archive, log)
        read = read_log(log)
    numbers = pd.read_csv(path("slm7_questions")).set_index("name")["question"]
    items = read.items.set_index("debate")
    table = read.turns[["debate", "round", "agent", "vote"]].copy()
    label, log = table["debate"].map(items["label"]), table["debate"].map(items["log"])
    table["question"] = table["debate"].map(items["question"]).map(numbers)
    if table["question"].isna().any():
        raise ValueError("every question must be one of slm7_questions.csv; got another")
    known = table["vote"].notna() & (table["vote"] != label)
    wrong = table[known].groupby("question")["vote"].unique().map(lambda seen: sorted(seen)).to_dict()
    table["code"] = [
        np.nan if pd.isna(vote) else 0.0 if vote == right else 1.0 + wrong[question].index(vote)
        for vote, right, question in zip(table["vote"], label, table["question"], strict=True)
    ]
    about = {name: _NAME.fullmatch(name).groupdict() for name in items["log"].unique()}  # type: ignore[union-attr]
    for name in ("benchmark", "model"):
        table[name] = log.map({each: found[name] for each, found in about.items()})
    table["seats"] = log.map({each: int(found["agents"]) for each, found in about.items()})
    table["seat"] = table["agent"].str.removeprefix("agent ").astype(int)
    names = {each: found["personas"].split("+") for each, found in about.items()}
    table["persona"] = [names[each][seat - 1] for each, seat in zip(log, table["seat"], strict=True)]
    wide = table.set_index([*DEBATE, "seat", "persona", "round"])["code"].unstack("round")  # noqa: PD010  # keeps seats silent
    wide = wide.reset_index().rename(columns=dict(zip((1, 2, 3), ROUNDS, strict=True)))
    return wide.astype(dict.fromkeys(ROUNDS, "Int64")).sort_values([*DEBATE, "seat"], ignore_index=True)


def right_by_lot(votes: Floats) -> Floats:
    """Return the chance that the plurality of each row is right, a tie broken by lot; 0 without any vote.

    `votes` has shape (debates, seats): 0 is right, NaN is missing.
    """
    answers = np.unique(votes[~np.isnan(votes)])
    counts = np.stack([(votes == a).sum(axis=1) for a in answers], axis=1)
    lead = (counts == counts.max(axis=1, keepdims=True)) & (counts > 0)
    return np.asarray(lead[:, 0] * (answers[0] == 0) / np.maximum(lead.sum(axis=1), 1))


def debates_of(votes: pd.DataFrame) -> pd.DataFrame:
    """Return a row per debate: whether each round's plurality is right, and how many seats are, and agree."""
    rows = []
    for key, part in votes.groupby(DEBATE, sort=False):
        row = dict(zip(DEBATE, key, strict=True))
        for name in ROUNDS:
            cast = part[name].to_numpy(dtype=float, na_value=np.nan)[None]
            said = cast[~np.isnan(cast)]
            row[f"plurality_{name}"] = float(right_by_lot(cast)[0]) if said.size else 0.0
            row[f"seat_{name}"] = float((cast == 0).mean())
            row[f"agreed_{name}"] = float(said.size > 1 and (said == said[0]).all())
            row[f"silent_{name}"] = float(np.isnan(cast).mean())
        rows.append(row)
    return pd.DataFrame(rows)


def estimate(
    totals: Floats, statistic: Callable[[Floats], Floats], level: float
) -> dict[str, float | int | None]:
    """Return a statistic of sums by question with Student's t interval over questions."""
    found = cluster_t(totals, statistic, level=level)
    low, high = found.interval()
    return {"value": float(found.estimate[0]), "low": low, "high": high, "questions": len(totals)}


def level_of(above: Floats, below: Floats, cluster: NDArray[np.int64], level: float) -> dict[str, Any]:
    """Return a share with its cluster Wilson interval."""
    found = share(above, below, cluster, level)
    counted = len(np.unique(cluster[below > 0]))
    return {"value": found.value, "low": found.low, "high": found.high, "questions": counted}


def by_size(debates: pd.DataFrame, config: Mapping[str, Any]) -> pd.DataFrame:
    """Return every measure by panel size, and the differences between sizes, over the models that have all sizes."""
    sizes, rows = config["sizes"], []
    every = debates.groupby(["benchmark", "model"])["seats"].transform(lambda seen: set(sizes) <= set(seen))
    kept = debates[every]
    for group, names in BENCHMARKS.items():
        part = kept[kept["benchmark"].isin(names)]
        about = {"benchmark": group, "models": len(part[["benchmark", "model"]].drop_duplicates())}
        cluster = part["question"].to_numpy(dtype=np.int64)
        for measure in [
            f"{what}_{name}" for name in ROUNDS for what in ("plurality", "seat", "agreed", "silent")
        ]:
            for size in sizes:
                here = (part["seats"] == size).to_numpy(dtype=float)
                found = level_of(here * part[measure].to_numpy(), here, cluster, config["level"])
                rows.append({**about, "measure": measure, "seats": str(size), "n": int(here.sum()), **found})
            for a, b in combinations(sizes, 2):
                at = [(part["seats"] == size).to_numpy(dtype=float) for size in (a, b)]
                totals = cluster_totals(
                    np.column_stack([at[0] * part[measure], at[0], at[1] * part[measure], at[1]]), cluster
                )
                found = estimate(totals, lambda s: s[:, 2] / s[:, 3] - s[:, 0] / s[:, 1], config["level"])
                rows.append(
                    {**about, "measure": measure, "seats": f"{b} - {a}", "n": int(at[1].sum()), **found}
                )
    return pd.DataFrame(rows)


def subpanels(votes: pd.DataFrame, config: Mapping[str, Any]) -> pd.DataFrame:
    """Return how right panels of 1 to 7 seats of the 7-seat panels are in round 1, and their gain over one seat."""
    part = votes[votes["seats"] == 7]
    cast = part["round_1"].to_numpy(dtype=float, na_value=np.nan).reshape(-1, 7)
    question = part["question"].to_numpy(dtype=np.int64).reshape(-1, 7)[:, 0]
    bench = part["benchmark"].to_numpy().reshape(-1, 7)[:, 0]
    right = np.stack(
        [
            np.mean([right_by_lot(cast[:, list(seats)]) for seats in combinations(range(7), k)], axis=0)
            for k in range(1, 8)
        ],
        axis=1,
    )
    rows = []
    for group, names in BENCHMARKS.items():
        here = np.isin(bench, names)
        ones = np.ones(int(here.sum()))
        totals = cluster_totals(np.column_stack([right[here], ones]), question[here])
        for k in range(1, 8):
            found = level_of(right[here, k - 1], ones, question[here], config["level"])
            rows.append({"benchmark": group, "seats": k, "what": "accuracy", "debates": len(ones), **found})
            if k > 1:
                found = estimate(totals, lambda s, k=k: (s[:, k - 1] - s[:, 0]) / s[:, 7], config["level"])
                rows.append({"benchmark": group, "seats": k, "what": "gain", "debates": len(ones), **found})
    return pd.DataFrame(rows)


def analysed(votes: pd.DataFrame, config: Mapping[str, Any] = CONFIG) -> dict[str, pd.DataFrame]:
    """Return every table that follows from the votes."""
    return {"sizes": by_size(debates_of(votes), config), "subpanels": subpanels(votes, config)}


def study(folder: Path) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    votes = votes_of(folder)
    return {"votes": votes, **analysed(votes)}


def cell(row: Mapping[Any, Any], sign: str = "") -> str:
    """Return an estimate with its interval."""
    limits = "" if pd.isna(row["low"]) else f" [{row['low']:{sign}.3f}, {row['high']:{sign}.3f}]"
    return f"{row['value']:{sign}.3f}{limits}"


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings, with the digits that they show."""
    table = tables["sizes"]
    signed = table["seats"].str.contains("-")
    records = table.to_dict("records")
    table = table.assign(cell=[cell(row, "+" if s else "") for row, s in zip(records, signed, strict=True)])
    table = table.assign(round=table["measure"].str[-1], what=table["measure"].str.partition("_")[0])

    def wide(what: str, rows: pd.DataFrame) -> pd.DataFrame:
        made = rows[rows["what"] == what].pivot_table(
            index=["benchmark", "round"], columns="seats", values="cell", aggfunc="first", sort=False
        )
        return made.reset_index()

    below = tables["subpanels"]
    below = below.assign(cell=[cell(r, "+" if r["what"] == "gain" else "") for r in below.to_dict("records")])
    below = below.pivot_table(
        index=["benchmark", "seats"], columns="what", values="cell", aggfunc="first", sort=False
    )
    return {
        "plurality": wide("plurality", table),
        "seat": wide("seat", table[~signed]),
        "agreed": wide("agreed", table[~signed]),
        "silent": wide("silent", table[~signed]),
        "subpanels": below.fillna("-").reset_index(),
    }


if __name__ == "__main__":
    run_on_data(HERE, __doc__ or "", study, shown)
