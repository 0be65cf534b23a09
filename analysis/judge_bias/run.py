"""Are real judges biased: by position, by length, towards their own answers?

Run: D3STATS_DATA=FOLDER python analysis/judge_bias/run.py [-o FOLDER]

Writes ``position.csv``, ``length.csv`` and ``own.csv`` (a row per judge and estimate, with intervals), ``pairs.csv``
(how many pairs of verdicts agree, favour a slot, or hang on a tie) and ``reasons.csv`` (consistency when reasons are
asked for first, less without).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from d3stats.inference.bias import Audit, each_judge, length_bias, position_bias, self_preference
from d3stats.inference.bias.length import LENGTH, LONGER, MARGINAL, PULL
from d3stats.inference.bias.position import (
    AGAINST_LABEL,
    COIN,
    CONSISTENCY,
    EXCESS,
    FAVOURS,
    LOG_ODDS,
    RIGHT_FIRST,
    RIGHT_GAP,
    RIGHT_SECOND,
)
from d3stats.inference.bias.self_preference import DID, GAP, OF_ALL, OTHER, OWN
from d3stats.inference.comparison.multiplicity import adjust
from d3stats.inference.comparison.paired import paired_difference

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "simulations")]

from findings_tables import run_on_data  # noqa: E402  # studies are no package
from verdicts import llmbar, llmbar_lengths, pandalm, prd  # noqa: E402

LEVEL, SEED = 0.95, 1
COLUMNS = ["source", "judge", "name", "value", "low", "high", "kind", "n", "n_clusters", "p_value", "note"]


def rows(source: str, audits: Mapping[str, Audit]) -> pd.DataFrame:
    """Return the estimates of one source's judges."""
    return pd.concat([audit.to_frame() for audit in audits.values()]).assign(source=source)[COLUMNS]


def study(folder: Path) -> dict[str, pd.DataFrame]:
    """Audit every judge of every source."""
    bar, reviews, panda = llmbar(folder), prd(folder), pandalm(folder)
    both = {
        "LLMBar": each_judge(position_bias, bar, level=LEVEL, rng=SEED),
        "PRD": each_judge(position_bias, reviews, level=LEVEL, rng=SEED),
    }
    position = [rows(source, audits) for source, audits in both.items()]
    position.append(rows("PandaLM", each_judge(position_bias, panda, level=LEVEL, rng=SEED)))
    pairs = [
        {"source": source, "judge": judge}
        | audit.to_dict()["pairs"]
        | {"by_question": ignoring_by_question(reviews, judge) if source == "PRD" else np.nan}
        for source, audits in both.items()
        for judge, audit in audits.items()
    ]
    measured = bar.merge(llmbar_lengths(folder), on="item", validate="many_to_one")
    length = [
        rows(
            "LLMBar",
            each_judge(length_bias, measured[measured["judge"].str.endswith(", Vanilla")], level=LEVEL),
        ),
        rows("PandaLM", each_judge(length_bias, panda, level=LEVEL)),
    ]
    own = {judge: self_preference(reviews, judge=judge, level=LEVEL) for judge in reviews["judge"].unique()}
    return {
        "position": corrected(pd.concat(position), (EXCESS, AGAINST_LABEL)),
        "pairs": pd.DataFrame(pairs),
        "reasons": reasons(bar),
        "length": corrected(pd.concat(length), (LENGTH,)),
        "own": corrected(rows("PRD", own), (GAP, DID)),
    }


def ignoring_by_question(reviews: pd.DataFrame, judge: str) -> float:
    """Return the consistency of a judge that ignores the answers, with this judge's leaning by question.

    One verdict in each order, on different pairs of answers to one question: of such two verdicts nothing but the
    leaning is shared.
    """
    table = reviews[reviews["judge"] == judge]
    table = table.assign(turn=table.groupby(["item", "order"]).cumcount())
    keys = ["cluster", "item", "turn"]
    wide = table.pivot_table(index=keys, columns="order", values="vote", aggfunc="first").dropna()
    same = all_of_them = 0
    for _, part in wide.groupby("cluster"):
        one, other = part["AB"].to_numpy(), part["BA"].to_numpy()
        item = part.index.get_level_values("item").to_numpy()
        apart = item[:, None] != item[None, :]
        # The same answer stands in the other slot of the other order: equal votes are unequal leanings, or two ties.
        same += int(((one[:, None] == other[None, :]) & apart).sum())
        all_of_them += int(apart.sum())
    return same / all_of_them


def reasons(bar: pd.DataFrame) -> pd.DataFrame:
    """Return consistency with CoT less with the plain prompt, on items with both; p by McNemar, Holm over judges."""
    both = bar.pivot_table(index=["judge", "item"], columns="order", values="vote", aggfunc="first").dropna()
    same = (both["AB"] == both["BA"]).astype(float)
    lines = []
    for judge in sorted(set(bar["judge"].str.partition(", ")[0])):
        pair = pd.concat([same[f"{judge}, Vanilla"], same[f"{judge}, CoT"]], axis=1).dropna()
        found = paired_difference(*pair.to_numpy().T, level=LEVEL, rng=1)
        less = found.difference
        lines.append({"judge": judge, "value": less.value, "low": less.low, "high": less.high,
                      "n": less.n, "p_value": found.p("McNemar exact")})  # fmt: skip
    table = pd.DataFrame(lines)
    return table.assign(p_holm=adjust(table["p_value"].to_numpy(), "holm"))


def corrected(table: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    """Add Holm's p-values of the main effects, within each source and effect: over judges and their prompts."""
    result = table.reset_index(drop=True).assign(p_holm=float("nan"))
    main = result["name"].isin(names) & result["p_value"].notna()
    for _, part in result[main].groupby(["source", "name"]):
        result.loc[part.index, "p_holm"] = adjust(part["p_value"].to_numpy(), "holm")
    return result


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings."""
    position, pairs = tables["position"], tables["pairs"]
    vanilla = position[(position["source"] == "LLMBar") & position["judge"].str.endswith(", Vanilla")]
    plain = [(EXCESS, "+"), (CONSISTENCY, ""), (COIN, ""), (FAVOURS, ""), (LOG_ODDS, "+")]
    llm = _wide(vanilla.assign(judge=vanilla["judge"].str.removesuffix(", Vanilla")), plain)
    accuracy = _wide(
        vanilla.assign(judge=vanilla["judge"].str.removesuffix(", Vanilla")),
        [(RIGHT_FIRST, ""), (RIGHT_SECOND, ""), (RIGHT_GAP, "+")],
    )
    reviewers = position[position["source"] == "PRD"]
    ties = pairs[pairs["source"] == "PRD"].drop(columns="source")
    ties = ties.assign(by_question=ties["by_question"].map("{:.3f}".format))
    ties = ties.rename(
        columns={"by_question": "consistency of a judge that ignores the answers, by question"}
    )
    one_order = [(AGAINST_LABEL, "+"), (RIGHT_FIRST, ""), (RIGHT_SECOND, "")]
    return {
        "llmbar": llm,
        "llmbar accuracy": accuracy,
        "llmbar strategies": _strategies(position),
        "llmbar reasons": _reasons(tables["reasons"]),
        "prd": _wide(reviewers, plain),
        "prd pairs": ties.rename(columns=lambda name: name.replace("_", " ")),
        "pandalm": _wide(position[position["source"] == "PandaLM"], one_order),
        "length": _wide(
            tables["length"].assign(
                judge=lambda d: d["source"] + ": " + d["judge"].str.removesuffix(", Vanilla")
            ),
            [(LENGTH, "+"), (MARGINAL, "+"), (LONGER, ""), (PULL, "+")],
        ),
        "own": _wide(tables["own"], [(GAP, "+"), (DID, "+"), (OWN, ""), (OTHER, ""), (OF_ALL, "")]),
    }


def _wide(table: pd.DataFrame, names: list[tuple[str, str]]) -> pd.DataFrame:
    """Return one row per judge, one column per estimate, and Holm's p-value of the main one."""
    lines = []
    for judge, part in table.groupby("judge", sort=False):
        by_name = part.set_index("name")
        line = {"judge": judge} | {name: _cell(by_name, name, sign) for name, sign in names}
        # Holm's p-values are shown where their effects are.
        p = by_name["p_holm"].reindex([name for name, _ in names]).dropna()
        heads = ("p (Holm)", "p (Holm) of the second")
        lines.append(line | {head: _p(value) for head, value in zip(heads, p, strict=False)})
    return pd.DataFrame(lines)


def _reasons(table: pd.DataFrame) -> pd.DataFrame:
    """Return the change of consistency, one row per judge."""
    lines = [
        {
            "judge": row["judge"],
            "consistency, CoT less plain": f"{row['value']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]",
            "items": row["n"],
            "p (Holm)": _p(row["p_holm"]),
        }
        for row in table.to_dict("records")
    ]
    return pd.DataFrame(lines)


def _cell(by_name: pd.DataFrame, name: str, sign: str) -> str:
    if name not in by_name.index:
        return "-"
    value, low, high = by_name.loc[name, ["value", "low", "high"]].astype(float)
    return f"{value:{sign}z.3f}" + ("" if pd.isna(low) else f" [{low:{sign}z.3f}, {high:{sign}z.3f}]")


def _p(p: float) -> str:
    return "< .001" if p < 0.001 else f"{p:.3f}"


def _strategies(position: pd.DataFrame) -> pd.DataFrame:
    """Return consistency by judge and strategy, with the first-slot excess."""
    bar = position[position["source"] == "LLMBar"]
    split = bar["judge"].str.split(", ", n=1, expand=True)
    bar = bar.assign(judge=split[0], strategy=split[1])
    texts = []
    for name in (CONSISTENCY, EXCESS):
        found = bar[bar["name"] == name].set_index(["strategy", "judge"])["value"]
        texts.append(found.map(("{:.3f}" if name == CONSISTENCY else "{:+.3f}").format))
    both = (texts[0] + " (" + texts[1] + ")").rename("said").reset_index()
    table = both.pivot_table(index="strategy", columns="judge", values="said", aggfunc="first")
    return table.fillna("-").reset_index()


if __name__ == "__main__":
    run_on_data(HERE, __doc__ or "", study, shown)
