"""What does reading the others do to a small language model, which rule stops in time, and what would have shown it?

Run: python analysis/gemma_debates/run.py [-o FOLDER]

Reads the bundled logs gemma-reasons, gemma-votes and gemma-alone, and ``ratings.csv`` of this folder. Writes a CSV per
table.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from d3stats import Trajectories, compare, datasets, fit, martingale_test, replay
from d3stats.estimate import Estimate
from d3stats.inference.bias import persona_effect
from d3stats.inference.comparison import adjust
from d3stats.resampling import cluster_t, cluster_totals
from d3stats.stopping import from_text

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "simulations"))

from findings_tables import write  # noqa: E402  # studies are no package

CONFIG = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
LOGS = ("reasons", "votes", "alone")

load = lru_cache(maxsize=3)(datasets.load_gemma)


def positive(t: Trajectories) -> Any:
    """Return which votes are "positive", by debate, round and agent; no vote is missing and none is another."""
    return t.votes == t.answers.index("positive")


def interval(prefix: str, value: float, low: float | None, high: float | None) -> dict[str, Any]:
    """Return an estimate as three cells."""
    return {prefix: value, f"{prefix}_low": low, f"{prefix}_high": high}


def of_estimate(prefix: str, found: Estimate) -> dict[str, Any]:
    """Return an estimate with its interval as three cells."""
    return interval(prefix, found.value, found.low, found.high)


def rounds(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row per log and round: mixture, verdicts, KS distance and its noise, votes for "positive", tokens."""
    parts = []
    for log in LOGS:
        t = load(log)
        found = fit(t, n_boot=config["n_boot"], rng=config["seed"]).to_frame()
        assert t.tokens is not None
        share = positive(t).mean(axis=2)
        kept = ["round", "debates", "mean", "spread", "accuracy", "ks_pmf"]
        kept = [name + end for name in kept for end in ("", "_low", "_high", "_noise") if name + end in found]
        parts.append(
            found[kept].assign(
                log=log,
                positive=share.mean(axis=0),
                unanimous=t.unanimous().mean(axis=0),
                tokens=t.tokens.mean(axis=0),
                cumulative=np.cumsum(t.tokens.mean(axis=0)),
            )
        )
    return pd.concat(parts, ignore_index=True)


def added(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return how often the answer with the most votes of all rounds so far is right; a tie counts half."""
    rows = []
    for log in LOGS:
        t = load(log)
        right = np.cumsum((t.votes == t.label[:, None, None]).sum(axis=2), axis=1)
        assert t.tokens is not None
        tokens = np.cumsum(t.tokens.mean(axis=0))
        for r in range(1, t.n_rounds + 1):
            lead = np.sign(2 * right[:, r - 1] - 7 * r)
            totals = cluster_totals(np.column_stack([(lead + 1) / 2, np.ones(len(lead))]), t.cluster)
            found = cluster_t(totals, lambda s: s[:, 0] / s[:, 1], level=config["level"])
            low, high = found.interval()
            about = {"log": log, "round": r, "tokens": tokens[r - 1], "ties": (lead == 0).mean()}
            rows.append({**about, **interval("accuracy", float(found.estimate[0]), low, high)})
    return pd.DataFrame(rows)


def drift(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return the drift of right votes and of votes for "positive"; the latter needs no label. Holm over each column."""
    rows = []
    for log in LOGS:
        t = load(log)
        counts = positive(t).sum(axis=2)
        for share, found in (
            ("right", martingale_test(t, level=config["level"])),
            ("positive", martingale_test(counts, 7, cluster=t.cluster, level=config["level"])),
        ):
            rows += [
                {"log": log, "share": share, "p_conditional": found.p_conditional, **row}
                for row in found.drift.to_dict("records")
            ]
    table = pd.DataFrame(rows)
    one = table["transition"] != "pooled"
    table.loc[one, "p_holm"] = adjust(table.loc[one, "p_value"].to_numpy(float), "holm")
    return table[
        [
            "log",
            "share",
            "transition",
            "n_pairs",
            "drift",
            "low",
            "high",
            "p_value",
            "p_holm",
            "p_conditional",
        ]
    ]


def rules(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return every rule replayed over every log, against unanimity."""
    named = {str(from_text(text)): text for text in config["rules"]}
    parts = []
    for log in LOGS:
        t = load(log)
        found = replay(t, config["rules"], level=config["level"]).to_frame()
        found["rule"] = [named.get(rule, rule) for rule in found["rule"]]
        kept = ["rounds", "tokens", "accuracy", "change", "saved_tokens_vs_unanimity", "premature", "flips"]
        kept = [name + end for name in kept for end in ("", "_low", "_high") if name + end in found]
        parts.append(found[["rule", "decides", *kept]].assign(log=log))
    return pd.concat(parts, ignore_index=True)


def at_round(t: Trajectories, r: int, chosen: Any = slice(None)) -> Trajectories:
    """Return one round of some debates as a log of its own."""
    names = np.array(t.cluster_names, dtype=object)[t.cluster]
    return Trajectories.from_arrays(
        t.votes[chosen][:, r - 1 : r],
        t.label[chosen],
        answers=t.answers,
        cluster=names[chosen],
        debates=np.array(t.debates, dtype=object)[chosen],
    )


def strength(t: Trajectories) -> pd.Series:
    """Return how strong the human ratings of each product sentence are, by the size of their mean."""
    mean = pd.read_csv(HERE / "ratings.csv").set_index("debate")["mean"].abs()
    cut = pd.cut(mean, [0, 1.2, 2.0, 4.0], right=False, labels=["below 1.2", "1.2 to 2", "2 and more"])
    return cut.astype(str).loc[[name for name in t.debates if name in mean.index]]


def kinds(t: Trajectories) -> dict[str, pd.Series]:
    """Return the kinds of debates by which differences are told apart, each as a Series by debate."""
    names = list(t.debates)
    label = pd.Series([t.answers[k] for k in t.label], index=names)
    text = pd.Series([name.split("-")[0] for name in names], index=names)
    return {"text": text, "label": label, "strength of the ratings, products": strength(t)}


def comparisons(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return the paired differences between logs and between rounds, all and by kind of text; Holm over each family."""
    logs = {log: load(log) for log in LOGS}
    rows = []

    def entered(what: str, kind: str, found: Any) -> None:
        for e in found:
            rows.append(
                {
                    "what": what,
                    "kind": kind,
                    "name": e.name,
                    "n": e.n,
                    "clusters": e.n_clusters,
                    **of_estimate("difference", e),
                    "p_value": e.p_value,
                }
            )

    made = partial(compare, by="debate", value="plurality", level=config["level"], rng=config["seed"])
    three = [logs[log] for log in ("alone", "votes", "reasons")]
    for r, what in ((1, "round 1"), (None, "last round")):
        found = made(*three, names=("alone", "votes", "reasons"), round_number=r)
        entered(f"logs, {what}", "all", [pair.difference for pair in found.differences])
    for log in LOGS:
        t = logs[log]
        settings: dict[str, Any] = {"names": ("first", "last"), "round_number": (1, None)}
        entered("last round - first", "all", [made(t, t, **settings).difference.about(log)])
        for kind, series in kinds(t).items():
            part = t.select(np.isin(t.debates, series.index))
            found = made(part, part, strata=series, **settings)
            entered(f"last round - first, {log}", kind, found.strata[0].raw)
    table = pd.DataFrame(rows)
    families = table.groupby(["what", "kind"], sort=False)["p_value"]
    table["p_holm"] = families.transform(lambda p: adjust(p.to_numpy(float), "holm"))
    return table


def starts(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return what becomes of the first verdict, by its margin and by the label: right in rounds 1, 2 and 6."""
    rows = []
    for log in LOGS:
        t = load(log)
        right = (t.votes == t.label[:, None, None]).sum(axis=2)
        for label in t.answers:
            for votes in range(8):
                here = (t.label == t.answers.index(label)) & (right[:, 0] == votes)
                rows.append(
                    {
                        "log": log,
                        "label": label,
                        "right_votes": votes,
                        "debates": int(here.sum()),
                        **{f"right_{r}": int((right[here, r - 1] > 3).sum()) for r in (1, 2, 6)},
                    }
                )
    return pd.DataFrame(rows)


def agents(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return each agent's accuracy minus the mean of the others, and its votes for "positive", in rounds 1 and 6."""
    rows = []
    for log in LOGS:
        t = load(log)
        for r in (1, 6):
            found = persona_effect(at_round(t, r), level=config["level"])
            share = positive(t)[:, r - 1].mean(axis=0)
            for k, (e, more) in enumerate(zip(found.estimates, found.main_effects, strict=False)):
                rows.append(
                    {
                        "log": log,
                        "round": r,
                        "agent": k + 1,
                        **of_estimate("right", e),
                        **of_estimate("against_others", more),
                        "positive": share[k],
                        "agents_differ_p": found.heterogeneity.p_value,
                    }
                )
    return pd.DataFrame(rows)


def seats(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return how much more often votes of round 2 follow the first vote of one agent than those of the other agents.

    Each agent's second vote is compared with the first votes of the six others, within the debate; in the log alone
    nobody hears them, which shows what equal accuracy alone does.
    """
    rows = []
    for log in LOGS:
        t = load(log)
        first, second = t.votes[:, 0], t.votes[:, 1]
        same = (second[:, :, None] == first[:, None, :]).astype(float)  # debate, listener, speaker
        off = ~np.eye(7, dtype=bool)
        mean = np.where(off, same, 0).sum(axis=2) / 6
        for speaker in range(7):
            others = off[:, speaker]
            more = (same[:, others, speaker] - mean[:, others]).mean(axis=1)
            totals = cluster_totals(np.column_stack([more, np.ones(len(more))]), t.cluster)
            found = cluster_t(totals, lambda s: s[:, 0] / s[:, 1], level=config["level"])
            low, high = found.interval()
            rows.append(
                {
                    "log": log,
                    "speaker": speaker + 1,
                    **interval("more_followed", float(found.estimate[0]), low, high),
                }
            )
    return pd.DataFrame(rows)


def noticed(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return how often two rounds of a pilot show a drift of the votes, without labels: the martingale test."""
    settings = config["noticed"]
    rows = []
    for log in LOGS:
        t = load(log)
        counts = positive(t).sum(axis=2)[:, :2]
        for debates in settings["debates"]:
            rng = np.random.default_rng([config["seed"], LOGS.index(log), debates])
            p = []
            for _ in range(settings["pilots"]):
                drawn = rng.choice(len(t), debates, replace=False)
                found = martingale_test(counts[drawn], 7, cluster=t.cluster[drawn])
                p.append(found.drift["p_value"].iloc[0])
            below = int((np.array(p) < settings["alpha"]).sum())
            rows.append({"log": log, "debates": debates, "pilots": len(p), "noticed": below})
    return pd.DataFrame(rows)


TABLES = {
    "rounds": rounds,
    "added": added,
    "drift": drift,
    "rules": rules,
    "comparisons": comparisons,
    "starts": starts,
    "agents": agents,
    "seats": seats,
    "noticed": noticed,
}


def study(config: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    return {name: make(config) for name, make in TABLES.items()}


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
    by_round = tables["rounds"].to_dict("records")
    moved = tables["drift"].assign(
        cell=[said(r, "drift", "+.3f") for r in with_limits(tables["drift"], "drift")]
    )
    steps = moved.pivot_table(
        index=["log", "share"], columns="transition", values="cell", aggfunc="first", sort=False
    )
    differences = tables["comparisons"]
    found = pd.DataFrame(
        {
            "what": differences["what"],
            "kind": [
                kind if kind == "all" else f"{kind}: {name}"
                for kind, name in zip(differences["kind"], differences["name"], strict=True)
            ],
            "pair": [
                name if kind == "all" else "-"
                for kind, name in zip(differences["kind"], differences["name"], strict=True)
            ],
            "texts": differences["n"],
            "difference": [said(r, "difference", "+.3f") for r in differences.to_dict("records")],
            "p, Holm": [p_of(p) for p in differences["p_holm"]],
        }
    )
    each = tables["agents"]
    wide = {r: each[each["round"] == r].reset_index(drop=True) for r in (1, 6)}
    agent_table = pd.DataFrame(
        {
            "log": wide[1]["log"],
            "agent": wide[1]["agent"],
            "right, round 1": wide[1]["right"].map("{:.3f}".format),
            "minus the others": [said(r, "against_others", "+.3f") for r in wide[1].to_dict("records")],
            "right, round 6": wide[6]["right"].map("{:.3f}".format),
            "minus the others, round 6": [
                said(r, "against_others", "+.3f") for r in wide[6].to_dict("records")
            ],
            "votes positive, rounds 1 and 6": [
                f"{a:.3f}, {b:.3f}" for a, b in zip(wide[1]["positive"], wide[6]["positive"], strict=True)
            ],
        }
    )
    heard = tables["seats"].assign(
        cell=[said(r, "more_followed", "+.3f") for r in tables["seats"].to_dict("records")]
    )
    start = tables["starts"]
    start = start[start["log"] != "votes"].assign(
        cell=[f"{r.right_6} of {r.debates}" for r in start[start["log"] != "votes"].itertuples()]
    )
    return {
        "rounds": pd.DataFrame(
            {
                "log": [r["log"] for r in by_round],
                "round": [r["round"] for r in by_round],
                "verdicts right": [said(r, "accuracy") for r in by_round],
                "votes right, mixture": [said(r, "mean") for r in by_round],
                "spread": [said(r, "spread") for r in by_round],
                "KS to the round before (noise)": [
                    "-" if pd.isna(r["ks_pmf"]) else f"{r['ks_pmf']:.3f} ({r['ks_pmf_noise']:.3f})"
                    for r in by_round
                ],
                "votes positive": [f"{r['positive']:.3f}" for r in by_round],
                "unanimous": [f"{r['unanimous']:.3f}" for r in by_round],
                "tokens": [f"{r['tokens']:,.0f}" for r in by_round],
            }
        ),
        "added": pd.DataFrame(
            {
                "rounds": range(1, 7),
                **{
                    f"{log}": [
                        f"{said(r, 'accuracy')}, {r['tokens']:,.0f} tokens" for r in rows.to_dict("records")
                    ]
                    for log, rows in tables["added"].groupby("log", sort=False)
                },
            }
        ),
        "drift": steps.reset_index().rename(columns={"share": "share of votes that are"}),
        "rules": rules_shown(tables["rules"]),
        "comparisons": found,
        "starts": start.pivot_table(
            index=["log", "label"], columns="right_votes", values="cell", aggfunc="first", sort=False
        ).reset_index(),
        "agents": agent_table,
        "seats": heard.pivot_table(
            index="speaker", columns="log", values="cell", aggfunc="first", sort=False
        ).reset_index(),
        "noticed": tables["noticed"]
        .assign(cell=[f"{r.noticed} of {r.pilots}" for r in tables["noticed"].itertuples()])
        .pivot_table(index="debates", columns="log", values="cell", aggfunc="first", sort=False)
        .reset_index(),
    }


def with_limits(table: pd.DataFrame, name: str) -> list[dict[Any, Any]]:
    """Return the rows of a table whose limits are called low and high."""
    rows: list[dict[Any, Any]] = table.rename(columns={"low": f"{name}_low", "high": f"{name}_high"}).to_dict(
        "records"
    )
    return rows


def rules_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return rules, and of each log what they cost, how often they are right and how many stops were premature."""
    rows = table.to_dict("records")
    return pd.DataFrame(
        {
            "log": table["log"],
            "rule": table["rule"],
            "rounds": [said(r, "rounds", ".2f") for r in rows],
            "tokens": table["tokens"].map("{:,.0f}".format),
            "saved, of unanimity's tokens": [said(r, "saved_tokens_vs_unanimity", ".3f") for r in rows],
            "right": table["accuracy"].map("{:.3f}".format),
            "right, minus unanimity": [said(r, "change", "+.3f") for r in rows],
            "premature stops": [said(r, "premature") for r in rows],
        }
    )


def main() -> None:
    """Write the tables and refresh the findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE, help="folder for the CSV files")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, table in write(HERE, out.resolve(), study(CONFIG), shown).items():
        print(f"\n== {name}\n{table.to_string(index=False)}")


if __name__ == "__main__":
    main()
