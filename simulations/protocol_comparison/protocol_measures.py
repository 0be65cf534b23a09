"""What the debates of a world measure: each protocol alone, against the baseline, and along the frontier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats import cohen_kappa, compare
from d3stats.estimate import Estimate
from d3stats.inference.bias.position import CONSISTENCY, position_bias
from d3stats.inference.comparison.multiplicity import adjust
from d3stats.resampling.cluster_t import cluster_t
from d3stats.resampling.clusters import cluster_totals
from d3stats.resampling.proportions import share
from d3stats.worlds import PriceTable

__all__ = ["COUNTED", "frontiers", "measured", "steps"]

Config = Mapping[str, Any]
Played = Mapping[str, pd.DataFrame]

COUNTED = {"wrong": "right_of_all", "half": "half_credit", "left out": "accuracy"}
"""How a debate without a decision is counted, and the share of right verdicts that comes of it."""

GAINS = {"wrong": "gain", "half": "gain_half", "left out": "gain_decided"}


def measured(played: Played, config: Config, baseline: str) -> pd.DataFrame:
    """Return a row per protocol and measure with its interval; items are the clusters, both orders of one together.

    ``right_of_all`` and ``gain`` count a debate without a decision as wrong, ``half_credit`` and ``gain_half`` as half
    right; ``accuracy``, ``kappa`` and ``gain_decided`` leave it out, the last one where either of the two has none.
    ``p_holm`` is adjusted over protocols.
    """
    level, rows = config["level"], []
    for label, table in played.items():
        rows += [(label, m, e.value, e.low, e.high, None) for m, e in _own(table, config).items()]
    others = [name for name in played if name != baseline]
    for counted, measure in GAINS.items():
        found = [_gain(played[baseline], played[name], counted, level) for name in others]
        adjusted = adjust([p for _, p in found])
        for name, (e, _), p in zip(others, found, adjusted, strict=True):
            rows.append((name, measure, e.value, e.low, e.high, p))
    return pd.DataFrame(rows, columns=["protocol", "measure", "estimate", "low", "high", "p_holm"])


def frontiers(measures: pd.DataFrame) -> pd.DataFrame:
    """Return cost and share of right verdicts of every protocol, each way of counting, and who is efficient.

    Efficient is who has no other that is at most as dear and at least as often right, one of the two strictly.
    """
    of = {name: rows.set_index("protocol") for name, rows in measures.groupby("measure", sort=False)}
    dollars, parts = of["dollars"], []
    for counted, measure in COUNTED.items():
        right = of[measure]
        found = pd.DataFrame(
            {
                "counted": counted,
                "cost": dollars["estimate"],
                "accuracy": right["estimate"],
                "low": right["low"],
                "high": right["high"],
                "cost_low": dollars["low"],
                "cost_high": dollars["high"],
                "efficient": efficient(dollars["estimate"].to_numpy(), right["estimate"].to_numpy()),
            }
        )
        parts.append(found.rename_axis("protocol").reset_index())
    return pd.concat(parts, ignore_index=True)


def efficient(cost: NDArray[np.float64], accuracy: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say of each point whether no other is at most as expensive and at least as accurate, one of the two strictly."""
    cheaper, better = cost[None, :] <= cost[:, None], accuracy[None, :] >= accuracy[:, None]
    strictly = (cost[None, :] < cost[:, None]) | (accuracy[None, :] > accuracy[:, None])
    result: NDArray[np.bool_] = ~np.any(cheaper & better & strictly, axis=1)
    return result


def steps(played: Played, frontier: pd.DataFrame, config: Config) -> pd.DataFrame:
    """Return what each efficient protocol gains on the next cheaper one; Holm's family is one frontier."""
    rows = []
    for counted, points in frontier.groupby("counted", sort=False):
        best = points[points["efficient"]].sort_values("cost", kind="stable")
        best = best.drop_duplicates(["cost", "accuracy"])
        pairs = list(pairwise(best.itertuples(index=False)))
        found = [_gain(played[a.protocol], played[b.protocol], counted, config["level"]) for a, b in pairs]
        adjusted = adjust([p for _, p in found]) if found else []
        for (a, b), (e, _), p in zip(pairs, found, adjusted, strict=True):
            rows.append((counted, a.protocol, b.protocol, b.cost - a.cost, e.value, e.low, e.high, p))
    names = ["counted", "cheaper", "dearer", "dollars_more", "gain", "low", "high", "p_holm"]
    return pd.DataFrame(rows, columns=names)


def _gain(a: pd.DataFrame, b: pd.DataFrame, counted: str, level: float) -> tuple[Estimate, float]:
    """Return b - a over the same debates, with its p-value; a pair without one counts in its family as 1."""
    runs = [_run(table, counted) for table in (a, b)]
    missing = "wrong" if counted == "wrong" else "exclude"
    found = compare(*runs, names=["a", "b"], missing=missing, level=level, rng=0).difference
    return found, 1.0 if found.p_value is None else float(found.p_value)


def _run(table: pd.DataFrame, counted: str) -> pd.DataFrame:
    right = (table["verdict"] == table["label"]).astype(float)
    known = table["verdict"].notna()
    column = {"score": right.where(known, 0.5)} if counted == "half" else {"correct": right.where(known)}
    return pd.DataFrame({"item": table["debate"], **column, "cluster": table["item"]})


def _own(table: pd.DataFrame, config: Config) -> dict[str, Estimate]:
    decided = table[table["verdict"].notna()]
    right = (table["verdict"] == table["label"]).to_numpy(dtype=int)
    level, item = config["level"], table["item"].to_numpy()
    both = {"level": level, "cluster": item}
    pairs = table.rename(columns={"verdict": "vote"})[["item", "order", "vote"]]
    swapped = position_bias(pairs, level=level, rng=0)
    consistent = next(e for e in swapped.estimates if e.name.endswith(CONSISTENCY))
    undecided = table["verdict"].isna().to_numpy(int)
    ones, known = np.ones(len(table), int), undecided == 0
    return {
        "accuracy": share(right[known], ones[known], level=level, cluster=item[known]),
        "right_of_all": share(right, ones, **both),
        "half_credit": _mean(table, right + undecided / 2, level),
        "undecided": share(undecided, ones, **both),
        "kappa": cohen_kappa(
            decided["verdict"].to_numpy(), decided["label"].to_numpy(), level=level, cluster=list(item[known])
        ).estimate,
        "consistency": consistent,
        **{name: _mean(table, values, level) for name, values in _spent(table, config).items()},
    }


def _spent(table: pd.DataFrame, config: Config) -> dict[str, Sequence[float]]:
    dollars = PriceTable.example().dollars(table["input"], table["output"], config["model"])
    tokens = table["input"] + table["output"]
    return {"tokens": tokens, "dollars": dollars, "calls": table["calls"], "rounds": table["rounds"]}


def _mean(table: pd.DataFrame, values: Any, level: float) -> Estimate:
    """Return a mean over debates with its cluster t interval."""
    column = np.asarray(values, float)
    totals = cluster_totals(np.column_stack([column, np.ones(len(column))]), pd.factorize(table["item"])[0])
    found = cluster_t(totals, lambda sums: sums[:, 0] / sums[:, 1], level=level)
    low, high = found.interval()
    return Estimate(
        name="mean", value=float(found.estimate[0]), low=low, high=high, level=level, kind="cluster t",
        n=len(column), n_clusters=found.n_clusters,
    )  # fmt: skip
