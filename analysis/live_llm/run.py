"""Which protocol is right more often on a small language model, what does it cost, and what is said in it?

Run: python analysis/live_llm/run.py [-o FOLDER]

Reads what `play.py` collected: `items.csv`, `debates.csv`, `replies.csv.gz` and the logs in `votes/`. Writes a CSV per
table and refreshes the findings.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from d3stats import Trajectories, compare
from d3stats.estimate import Estimate
from d3stats.inference import Comparison, cohen_kappa, share
from d3stats.inference.bias import position_bias
from d3stats.log import DebateLog, read_log

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "simulations"))

from findings_tables import write  # noqa: E402  # studies are no package

CONFIG = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
PLAYED = tuple(CONFIG["arms"])
ARMS = ("one vote", "single, summed", *PLAYED)
"""The arms that were played, after two that follow from their votes: the first judge of the majority alone, and the
points of both orders of the single judge added up."""


@lru_cache(maxsize=16)
def log(arm: str) -> DebateLog:
    """Return the log of an arm, as it was collected."""
    return read_log(HERE / "votes" / f"{arm}.jsonl.gz")


@lru_cache(maxsize=1)
def items() -> pd.DataFrame:
    """Return the items with their kind, their cluster (the review of a sentence) and the side that is right."""
    return pd.read_csv(HERE / "items.csv").set_index("item")


def points(arm: str) -> pd.DataFrame:
    """Return the points of either side in each turn with scores: columns debate, A and B."""
    turns = log(arm).turns
    scored = turns[turns["scores"].notna()]
    return pd.DataFrame(
        [
            {"debate": debate} | {side: sum(of.values()) for side, of in scores.items()}
            for debate, scores in zip(scored["debate"], scored["scores"], strict=True)
        ]
    )


def side_of(difference: float) -> str | None:
    """Return the side that a difference of points favours."""
    return None if difference == 0 else "A" if difference > 0 else "B"


@lru_cache(maxsize=16)
def decisions(arm: str) -> pd.DataFrame:
    """Return a row per debate: item, side that was decided for (None: none), its label and cluster, what was first."""
    if arm == "single, summed":
        summed = points("single").assign(item=lambda t: t["debate"].str.rsplit("/", n=1).str[0])
        totals = summed.groupby("item")[["A", "B"]].agg(["sum", "count"])
        both = totals["A", "count"] == 2
        gap = (totals["A", "sum"] - totals["B", "sum"]).where(both, 0)
        found = pd.DataFrame({"item": totals.index, "decision": [side_of(g) for g in gap], "first": None})
    elif arm == "one vote":
        turns = log("majority").turns
        first = turns[turns["agent"] == "panelist 1"]
        order = log("majority").items.set_index("debate")["first"]
        found = pd.DataFrame(
            {"item": first["debate"], "decision": first["vote"], "first": first["debate"].map(order)}
        )
    else:
        whole = log(arm)
        found = whole.items[["debate", "question", "first"]].merge(
            whole.verdicts[["debate", "decision"]], on="debate"
        )
        found = found.rename(columns={"question": "item"})[["item", "decision", "first"]]
    found = found.merge(items()[["side", "cluster"]], left_on="item", right_index=True)
    found["decision"] = found["decision"].where(found["decision"].isin(["A", "B"]), None)
    # What decides for neither is right half the time.
    found["right"] = np.where(
        found["decision"].isna(), 0.5, (found["decision"] == found["side"]).astype(float)
    )
    return found.reset_index(drop=True)


def cells(prefix: str, found: Estimate | None) -> dict[str, Any]:
    """Return an estimate with its limits as three cells."""
    if found is None:
        return {prefix + end: None for end in ("", "_low", "_high")}
    return {prefix: found.value, f"{prefix}_low": found.low, f"{prefix}_high": found.high}


def rate(prefix: str, hits: Any, trials: Any, cluster: Any, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a share over clusters as three cells, empty where there are no trials."""
    some = np.sum(trials) > 0
    return cells(prefix, share(hits, trials, cluster=cluster, level=config["level"]) if some else None)


def tokens(arm: str) -> float:
    """Return the mean tokens of a judgment of an item: of a debate, of both orders, or of the first judge alone."""
    turns = log("majority" if arm == "one vote" else "single" if arm == "single, summed" else arm).turns
    if arm == "one vote":
        turns = turns[turns["agent"] == "panelist 1"]
    spent = (turns["tokens_in"] + turns["tokens_out"]).sum() / turns["debate"].nunique()
    return float(2 * spent if arm == "single, summed" else spent)


def arms(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row per arm: decisions, how many are right, kappa with the label, how many say "positive"."""
    value = {e.name: e for e in compared("chance", config).runs}
    rows = []
    for arm in ARMS:
        found = decisions(arm)
        decided = found[found["decision"].notna()]
        right = (decided["decision"] == decided["side"]).to_numpy(float)
        one = np.ones(len(decided))
        kappa = None
        if decided["decision"].nunique() == 2:
            kappa = cohen_kappa(
                decided["side"].tolist(),
                decided["decision"].tolist(),
                cluster=decided["cluster"].tolist(),
                level=config["level"],
            ).estimate
        rows.append(
            {
                "arm": arm,
                "tokens": tokens(arm),
                "debates": len(found),
                "decided": len(decided),
                **cells("value", value[arm]),
                **rate("right", right, one, decided["cluster"], config),
                **cells("kappa", kappa),
                "positive": (decided["decision"] == "A").mean(),
            }
        )
    return pd.DataFrame(rows)


def scored(arm: str) -> pd.DataFrame:
    """Return the value of each item: right 1, wrong 0, undecided a half, the mean of several debates."""
    by_item = decisions(arm).groupby("item", sort=False)["right"].mean()
    return pd.DataFrame(
        {
            "item": by_item.index,
            "score": by_item.to_numpy(),
            "cluster": items()["cluster"][by_item.index].to_numpy(),
        }
    )


def compared(baseline: str, config: Mapping[str, Any]) -> Comparison:
    """Return every arm minus one of them, or minus chance: a half for each item. Paired by item, Holm over all."""
    tables = {arm: scored(arm) for arm in ARMS}
    if baseline == "chance":
        tables = {"chance": tables["one vote"].assign(score=0.5)} | tables
    return compare(
        *tables.values(), names=list(tables), value="score", baseline=baseline, level=config["level"]
    )


def comparisons(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return each arm minus chance, minus one vote and minus the majority, paired by item; Holm over each family."""
    rows = []
    for baseline in ("chance", "one vote", "majority"):
        for row in compared(baseline, config).to_frame().to_dict("records"):
            sign = 1 if row["first"] == baseline else -1
            limits = sorted((sign * row["low"], sign * row["high"]))
            rows.append(
                {
                    "baseline": baseline,
                    "arm": row["second"] if sign > 0 else row["first"],
                    "items": row["n"],
                    "clusters": row["n_clusters"],
                    "difference": sign * row["value"],
                    "difference_low": limits[0],
                    "difference_high": limits[1],
                    "p_value": row["p_value"],
                    "p_holm": row["p_adjusted"],
                }
            )
    return pd.DataFrame(rows)


def position(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return how much more often than half the answer shown first wins: verdicts, and votes of those who judge."""
    rows = []
    for arm in ("one vote", *PLAYED):
        found = decisions(arm)
        found = found[found["decision"].notna()]
        first = (found["decision"] == found["first"]).to_numpy(float)
        rows.append(
            {
                "arm": arm,
                "verdicts": len(found),
                "right_first": (found["first"] == found["side"]).mean(),
                **rate("first", first, np.ones(len(first)), found["cluster"], config),
            }
        )
    return pd.DataFrame(rows)


def swapped(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return the audit of the single judge, who saw every item in both orders."""
    found = position_bias(HERE / "votes" / "single.jsonl.gz", judge="judge", level=config["level"])
    return pd.DataFrame(
        [{"what": e.name, "n": e.n, **cells("value", e), "p_value": e.p_value} for e in found.estimates]
    )


def rounds(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return how the votes of the arms with several polls change: by round, of the debates that reach it."""
    rows = []
    for arm in PLAYED:
        t = Trajectories.from_log(HERE / "votes" / f"{arm}.jsonl.gz")
        if t.n_rounds == 1:
            continue
        for r in range(t.n_rounds):
            votes = t.votes[:, r]
            there = votes >= 0
            reached = there.any(axis=1)
            if not reached.any():
                continue
            right = (votes == t.label[:, None]) & there
            moved = there & (t.votes[:, r - 1] >= 0) if r else np.zeros_like(there)
            changed = moved & (votes != t.votes[:, r - 1])
            rows.append(
                {
                    "arm": arm,
                    "round": r + 1,
                    "debates": int(reached.sum()),
                    **rate(
                        "votes_right",
                        right.sum(axis=1)[reached],
                        there.sum(axis=1)[reached],
                        t.cluster[reached],
                        config,
                    ),
                    "unanimous": t.unanimous()[reached, r].mean(),
                    "changed": changed.sum() / moved.sum() if moved.any() else None,
                    "ended": int((t.depth[reached] == r + 1).sum()),
                }
            )
    return pd.DataFrame(rows)


def cost(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return tokens, calls and rounds of a debate, the forecast beside the tokens, and what is missing."""
    debates = pd.read_csv(HERE / "debates.csv")
    debates["tokens"] = debates["tokens_in"] + debates["tokens_out"]
    debates["forecast"] = debates["forecast_in"] + debates["forecast_out"]
    rows = []
    for arm in PLAYED:
        mine, turns = debates[debates["arm"] == arm], log(arm).turns
        errors = turns["error"].value_counts()
        lacks = turns["error"].notna() & turns["vote"].isna()
        asked = turns["vote"].notna() | (
            lacks & turns["role"].isin(turns.loc[turns["vote"].notna(), "role"].unique())
        )
        rows.append(
            {
                "arm": arm,
                "debates": len(mine),
                "rounds": mine["rounds"].mean(),
                "calls": mine["calls"].mean(),
                "tokens": mine["tokens"].mean(),
                "tokens_out": mine["tokens_out"].mean(),
                "forecast": mine["forecast"].mean(),
                "ratio": mine["tokens"].sum() / mine["forecast"].sum(),
                "ratio_in": mine["tokens_in"].sum() / mine["forecast_in"].sum(),
                "ratio_out": mine["tokens_out"].sum() / mine["forecast_out"].sum(),
                "replies": len(turns),
                "votes": int(asked.sum()),
                "votes_missing": int((asked & turns["vote"].isna()).sum()),
                "cut": int(errors.get("length", 0)),
                "unreadable": int(errors.get("unreadable", 0)),
                "other": int(errors.drop(["length", "unreadable"], errors="ignore").sum()),
                "over_budget": int((mine["stop"] == "budget").sum()),
            }
        )
    return pd.DataFrame(rows)


def replies(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return what the reasons of each arm look like: their words, how many repeat others, how much is the item's."""
    found = pd.read_csv(HERE / "replies.csv.gz")
    rows = []
    for arm in PLAYED:
        mine = found[(found["arm"] == arm) & (found["words"] > 0)]
        rows.append(
            {
                "arm": arm,
                "replies": int((found["arm"] == arm).sum()),
                "empty": int(((found["arm"] == arm) & (found["words"] == 0)).sum()),
                "words": mine["words"].mean(),
                "repeated": mine["repeated"].mean(),
                "from_item": mine["from_item"].mean(),
            }
        )
    return pd.DataFrame(rows)


TABLES = {
    "arms": arms,
    "comparisons": comparisons,
    "position": position,
    "swapped": swapped,
    "rounds": rounds,
    "cost": cost,
    "reasons": replies,
}


def study(config: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    found = {name: make(config) for name, make in TABLES.items()}
    return found | {name: pd.read_csv(HERE / f"{name}.csv") for name in ("protocols", "gemma")}


def said(row: Mapping[Any, Any], name: str, form: str = ".3f") -> str:
    """Return an estimate with its interval, without one where there is none."""
    value, low, high = (row[name + end] for end in ("", "_low", "_high"))
    if pd.isna(value):
        return "-"
    form = form.replace(".", "z.", 1)
    return f"{value:{form}}" + ("" if pd.isna(low) else f" [{low:{form}}, {high:{form}}]")


def p_of(value: float) -> str:
    """Return a p-value as it is written."""
    return "-" if pd.isna(value) else "< .0001" if value < 1e-4 else f"{value:.4f}"


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings, with the digits that they show."""
    each = {name: table.to_dict("records") for name, table in tables.items()}
    pairs = tables["comparisons"].assign(
        cell=[f"{said(r, 'difference', '+.3f')}, p {p_of(r['p_holm'])}" for r in each["comparisons"]]
    )
    pairs = pairs.pivot_table(index="arm", columns="baseline", values="cell", aggfunc="first", sort=False)
    return {
        "arms": pd.DataFrame(
            {
                "arm": [r["arm"] for r in each["arms"]],
                "decided": [f"{r['decided']} of {r['debates']}" for r in each["arms"]],
                "right, undecided a half": [said(r, "value") for r in each["arms"]],
                "right, of the decided": [said(r, "right") for r in each["arms"]],
                "kappa with the label": [said(r, "kappa", "+.3f") for r in each["arms"]],
                "says positive": [
                    "-" if pd.isna(r["positive"]) else f"{r['positive']:.3f}" for r in each["arms"]
                ],
                "tokens": [f"{r['tokens']:,.0f}" for r in each["arms"]],
            }
        ),
        "comparisons": pd.DataFrame(
            {
                "arm": ARMS,
                **{
                    f"minus {name}": pairs[name].reindex(ARMS).fillna("-").tolist()
                    for name in ("chance", "one vote", "majority")
                },
            }
        ),
        "position": pd.DataFrame(
            {
                "arm": [r["arm"] for r in each["position"]],
                "verdicts": [r["verdicts"] for r in each["position"]],
                "right answer first": [
                    "-" if pd.isna(r["right_first"]) else f"{r['right_first']:.3f}" for r in each["position"]
                ],
                "for the answer shown first": [said(r, "first") for r in each["position"]],
            }
        ),
        "swapped": pd.DataFrame(
            {
                "measure": [r["what"] for r in each["swapped"]],
                "n": [r["n"] for r in each["swapped"]],
                "estimate": [said(r, "value", "+.3f") for r in each["swapped"]],
            }
        ),
        "rounds": pd.DataFrame(
            {
                "arm": [r["arm"] for r in each["rounds"]],
                "round": [r["round"] for r in each["rounds"]],
                "debates": [r["debates"] for r in each["rounds"]],
                "votes right": [said(r, "votes_right") for r in each["rounds"]],
                "votes changed": [
                    "-" if pd.isna(r["changed"]) else f"{r['changed']:.3f}" for r in each["rounds"]
                ],
                "unanimous": [f"{r['unanimous']:.3f}" for r in each["rounds"]],
            }
        ),
        "cost": pd.DataFrame(
            {
                "arm": [r["arm"] for r in each["cost"]],
                "rounds": [f"{r['rounds']:.2f}" for r in each["cost"]],
                "calls": [f"{r['calls']:.1f}" for r in each["cost"]],
                "tokens (of replies)": [f"{r['tokens']:,.0f} ({r['tokens_out']:,.0f})" for r in each["cost"]],
                "forecast": [f"{r['forecast']:,.0f}" for r in each["cost"]],
                "tokens / forecast": [f"{r['ratio']:.2f}" for r in each["cost"]],
                "votes missing": [f"{r['votes_missing']} of {r['votes']}" for r in each["cost"]],
                "replies cut": [f"{r['cut']} of {r['replies']}" for r in each["cost"]],
            }
        ),
        "reasons": pd.DataFrame(
            {
                "arm": [r["arm"] for r in each["reasons"]],
                "replies": [r["replies"] for r in each["reasons"]],
                "without words": [r["empty"] for r in each["reasons"]],
                "words": [f"{r['words']:.1f}" for r in each["reasons"]],
                "repeat an earlier one": [f"{r['repeated']:.3f}" for r in each["reasons"]],
                "words that the item has": [f"{r['from_item']:.3f}" for r in each["reasons"]],
            }
        ),
        "protocols": pd.DataFrame(
            {
                "protocol": [f"`{r['protocol']}`" for r in each["protocols"]],
                "verdicts": [f"{r['verdicts']} of {r['debates']}" for r in each["protocols"]],
                "votes missing": [
                    f"{r['votes_missing']} of {r['votes']}"
                    + ("" if pd.isna(r["reasons"]) else f" ({r['reasons']})")
                    for r in each["protocols"]
                ],
                "replies cut": [f"{r['cut']} of {r['replies']}" for r in each["protocols"]],
                "tokens: log, server": [
                    f"{r['tokens_log']:,}, {r['tokens_server']:,}" for r in each["protocols"]
                ],
                "tokens / forecast": [f"{r['ratio']:.2f}" for r in each["protocols"]],
            }
        ),
        "gemma": pd.DataFrame(
            {
                "model, arm": [f"{r['model']}, {r['arm']}" for r in each["gemma"]],
                "right, of the decided": [
                    f"{r['right']} of {r['decided']} (of {r['debates']})" for r in each["gemma"]
                ],
                "replies missing": [f"{r['missing']} of {r['replies']}" for r in each["gemma"]],
                "words": [f"{r['words']:.1f}" for r in each["gemma"]],
                "replies with a fence": [r["echoes"] for r in each["gemma"]],
                "tokens": [f"{r['tokens']:,.0f}" for r in each["gemma"]],
                "tokens / forecast": [f"{r['ratio']:.2f}" for r in each["gemma"]],
            }
        ),
    }


def listed(names: list[str], none: str = "none") -> str:
    """Return names as they are read out."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names) or none


def about_right(tables: Mapping[str, pd.DataFrame]) -> str:
    """Return how often verdicts are right, and which differences are shown."""
    each, pairs = tables["arms"].set_index("arm"), tables["comparisons"]

    def shown_to_differ(baseline: str) -> str:
        found = pairs[(pairs["baseline"] == baseline) & (pairs["p_holm"] < 1 - CONFIG["level"])]
        return listed([f"{r['arm']} ({r['difference']:+z.3f})" for r in found.to_dict("records")])

    wide = pairs[pairs["baseline"] == "one vote"]
    half = (wide["difference_high"] - wide["difference_low"]) / 2
    one, five = (said(each.loc[arm], "value", ".2f") for arm in ("one vote", "majority"))
    return (
        f"**Right:** of {each.loc['majority', 'debates']} texts, half of them positive, one vote gets {one} right "
        f"and the majority of five {five}. Shown to differ from chance: {shown_to_differ('chance')}. Shown to differ "
        f"from one vote: {shown_to_differ('one vote')}. Differences from one vote are known to within {half.min():.2f} "
        f"to {half.max():.2f}."
    )


def about_places(tables: Mapping[str, pd.DataFrame]) -> str:
    """Return which arms prefer a place."""
    place = tables["position"].dropna(subset=["first", "first_low"])

    def read_out(rows: pd.DataFrame) -> str:
        return listed([f"{r['arm']} ({r['first']:.2f})" for r in rows.to_dict("records")])

    return (
        "**Place:** by intervals that leave out a half, the answer shown first wins more often than not in "
        f"{read_out(place[place['first_low'] > 0.5])}, less often in {read_out(place[place['first_high'] < 0.5])}. By "
        f"the coin the right answer was shown first in {place['right_first'].iloc[0]:.2f} of the texts, and a verdict "
        "that follows the place is right as often as that."
    )


def sentences(tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """Return what the tables say, in words."""
    each, spent = tables["arms"].set_index("arm"), tables["cost"]
    times = each.loc[list(PLAYED), "tokens"] / each.loc["one vote", "tokens"]
    few = each.index[each["decided"] < each["debates"] / 2].tolist()
    of, repeated = tables["reasons"]["from_item"], tables["reasons"]["repeated"]
    return [
        about_right(tables),
        about_places(tables),
        f"**Tokens:** {times.min():.1f} to {times.max():.1f} times those of one vote, and {spent['ratio'].min():.2f} "
        f"to {spent['ratio'].max():.2f} times their forecast.",
        f"**Missing:** {spent['votes_missing'].sum()} of {spent['votes'].sum():,} votes; {spent['cut'].sum()} of "
        f"{spent['replies'].sum():,} replies were cut at a limit. Equal scores decide nothing: most verdicts are for "
        f"neither in {listed(few, 'no arm')}.",
        f"**Reasons:** {of.min():.2f} to {of.max():.2f} of their words are the item's own, and {repeated.min():.2f} to "
        f"{repeated.max():.2f} of the replies repeat an earlier one of the debate word for word.",
    ]


def worded(text: str, tables: Mapping[str, pd.DataFrame]) -> str:
    """Return the findings with their sentences."""
    lines = "\n".join(f"- {sentence}" for sentence in sentences(tables))
    head, tail = text.split("<!-- words -->\n")[0], text.split("<!-- words end -->")[1]
    return f"{head}<!-- words -->\n\n{lines}\n\n<!-- words end -->{tail}"


def main() -> None:
    """Write the tables and refresh the findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE, help="folder for the CSV files")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, table in write(HERE, out.resolve(), study(CONFIG), shown).items():
        print(f"\n== {name}\n{table.to_string(index=False)}")
    if out.resolve() == HERE:
        findings = HERE / "findings.md"
        written = {path.stem: pd.read_csv(path) for path in HERE.glob("*.csv")}
        findings.write_text(worded(findings.read_text(encoding="utf-8"), written), encoding="utf-8")


if __name__ == "__main__":
    main()
