"""Are real judges biased: by position, by length, towards their own answers?

Run: D3STATS_DATA=FOLDER python analysis/judge_bias/run.py [-o FOLDER]

Writes ``position.csv``, ``length.csv`` and ``own.csv`` (a row per judge and estimate, with intervals) and
``pairs.csv`` (how many pairs of verdicts agree, favour a slot, or hang on a tie).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from d3stats.inference.bias import Audit, by_judge, length_bias, position_bias, self_preference
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
from d3stats.inference.bias.verbosity import LENGTH, LONGER, MARGINAL, PULL
from d3stats.inference.multiplicity import adjust

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
        "LLMBar": by_judge(position_bias, bar, level=LEVEL, rng=SEED),
        "PRD": by_judge(position_bias, reviews, level=LEVEL, rng=SEED),
    }
    position = [rows(source, audits) for source, audits in both.items()]
    position.append(rows("PandaLM", by_judge(position_bias, panda, level=LEVEL, rng=SEED)))
    pairs = [
        {"source": source, "judge": judge} | audit.to_dict()["pairs"]
        for source, audits in both.items()
        for judge, audit in audits.items()
    ]
    measured = bar.merge(llmbar_lengths(folder), on="item", validate="many_to_one")
    length = [
        rows(
            "LLMBar",
            by_judge(length_bias, measured[measured["judge"].str.endswith(", Vanilla")], level=LEVEL),
        ),
        rows("PandaLM", by_judge(length_bias, panda, level=LEVEL)),
    ]
    own = {judge: self_preference(reviews, judge=judge, level=LEVEL) for judge in reviews["judge"].unique()}
    return {
        "position": corrected(pd.concat(position), (EXCESS, AGAINST_LABEL)),
        "pairs": pd.DataFrame(pairs),
        "length": corrected(pd.concat(length), (LENGTH,)),
        "own": corrected(rows("PRD", own), (GAP,)),
    }


def corrected(table: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    """Add Holm's p-values of the main effects, within each source."""
    result = table.reset_index(drop=True).assign(p_holm=float("nan"))
    main = result["name"].isin(names) & result["p_value"].notna()
    for _, part in result[main].groupby("source"):
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
    one_order = [(AGAINST_LABEL, "+"), (RIGHT_FIRST, ""), (RIGHT_SECOND, "")]
    return {
        "llmbar": llm,
        "llmbar accuracy": accuracy,
        "llmbar strategies": _strategies(position),
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
        # Holm's p-value is that of the main effect, and is shown where that is.
        p = by_name["p_holm"].reindex([name for name, _ in names]).dropna()
        lines.append(line | ({"p (Holm)": _p(p.iloc[0])} if len(p) else {}))
    return pd.DataFrame(lines)


def _cell(by_name: pd.DataFrame, name: str, sign: str) -> str:
    if name not in by_name.index:
        return "-"
    value, low, high = by_name.loc[name, ["value", "low", "high"]].astype(float)
    return f"{value:{sign}.3f}" + ("" if pd.isna(low) else f" [{low:{sign}.3f}, {high:{sign}.3f}]")


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
