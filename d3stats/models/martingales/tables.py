"""The tables of a martingale test: one transition (or all together) at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from d3stats.models.martingales.clustered import clustered_mean, clustered_slope, joint_zero
from d3stats.models.martingales.increments import Increments
from d3stats.resampling.totals import cluster_totals

FEW_CLUSTERS = 10
POOLED = "pooled"
NO_ERROR = "every cluster moved alike: there is nothing to measure an error from"


def look(name: str, data: Increments, level: float, least: int, panel: int) -> dict[str, list[Any]]:
    """Return the rows of one transition (or of all together) for every table."""
    d, start, cluster = data.change, data.start, data.cluster
    rounds = {"transition": name}
    mean = clustered_mean(d, cluster, level)
    drift = rounds | {"n_pairs": len(d), "n_clusters": len(np.unique(cluster)), "drift": mean.value}
    drift |= _error(mean)
    cells = [_cell(k, data, level, least, panel) for k in np.unique(data.cell).tolist()]
    tested = np.array([cell["count"] for cell in cells if cell["tested"]], dtype=np.int64)
    joint = joint_zero(cluster_totals(d[:, None] * (data.cell[:, None] == tested), cluster))
    inside = tested[(tested > 0) & (tested < panel)]
    apart = joint_zero(cluster_totals(d[:, None] * (data.cell[:, None] == inside), cluster))
    why = ""
    if joint.p_value is None:
        why = "no cell can be tested" if not len(tested) else "the cells do not vary apart from each other"
    elif apart.p_value is None:
        why = "p_inside: no cell of split panels can be tested"
    sloped, split = _slope(data, level), _slope(data.where((start > 0) & (start < 1)), level)
    sloped |= {f"{name}_inside": split[name] for name in ("slope", "low", "high")} | {
        "p_inside": split["p_value"]
    }
    flat = _why_no_slope(sloped, "the starts")
    if not flat and (inner := _why_no_slope(split, "the starts of split panels")):
        flat = f"slope_inside: {inner}"
    wrong, right = start == 0, start == 1
    edge = {
        "all_wrong": int(wrong.sum()),
        "left_all_wrong": int((wrong & (d != 0)).sum()),
        "all_right": int(right.sum()),
        "left_all_right": int((right & (d != 0)).sum()),
    }
    return {
        "drift": [drift],
        "joint": [rounds | joint._asdict() | {"cells": len(tested), "p_inside": apart.p_value, "why": why}],
        "slope": [rounds | sloped | {"why": flat}],
        "boundary": [rounds | edge],
        "conditional": [rounds | cell for cell in cells],
    }


def _slope(data: Increments, level: float) -> dict[str, Any]:
    found = clustered_slope(data.start, data.change, data.cluster, level) if len(data.start) else None
    if found is None:
        return {"slope": None, "se": None, "df": None, "low": None, "high": None, "p_value": None}
    return {"slope": found.value} | _error(found)


def _why_no_slope(found: dict[str, Any], starts: str) -> str:
    if found["slope"] is None:
        return f"{starts} do not vary enough"
    return NO_ERROR if found["p_value"] is None else ""


def _cell(count: int, data: Increments, level: float, least: int, panel: int) -> dict[str, Any]:
    inside = data.cell == count
    change, cluster = data.change[inside], data.cluster[inside]
    mean, n_clusters = clustered_mean(change, cluster, level), len(np.unique(cluster))
    why = ""
    if n_clusters < least:
        why = f"{n_clusters} clusters, fewer than {least}"
    elif not change.any():
        why = "nobody moved"
    elif not mean.se:
        why = "all moved alike"
    return {
        "count": count,
        "panel": panel,
        "start": float(data.start[inside].mean()),
        "n_pairs": int(inside.sum()),
        "n_clusters": n_clusters,
        "drift": mean.value,
        "se": mean.se,
        "low": mean.low,
        "high": mean.high,
        "tested": not why,
        "why": why,
    }


def _error(estimate: Any) -> dict[str, Any]:
    """Return all of an estimate but its value."""
    return {name: value for name, value in estimate._asdict().items() if name != "value"}


def notes_on(data: Increments, n_clusters: int, looks: list[dict[str, list[Any]]]) -> tuple[str, ...]:
    """Say in words what was left out, what the ends say, and what cannot be told; `looks` ends with all rounds."""
    notes, pooled = list(data.notes), looks[-1]
    alone = [look["drift"][0]["transition"] for look in looks if look["drift"][0]["se"] is None]
    if alone:
        notes.append(f"no error can be given where there is one cluster: transitions {', '.join(alone)}")
    if n_clusters < FEW_CLUSTERS:
        notes.append(
            f"{n_clusters} clusters are too few for errors that can be relied on; have at least {FEW_CLUSTERS}"
        )
    (edge,), (drift,) = pooled["boundary"], pooled["drift"]
    left, held = (edge[f"{verb}all_wrong"] + edge[f"{verb}all_right"] for verb in ("left_", ""))
    if left:
        notes.append(
            f"the share left 0 or 1 after {left} of {held} rounds that ended all wrong or all right; under the null it "
            "never does, so in the strict sense it is no martingale"
        )
    thin = [str(cell["count"]) for cell in pooled["conditional"] if "fewer than" in cell["why"]]
    if thin:
        notes.append(f"cells shown and not tested for want of clusters: count {', '.join(thin)}")
    alike = [look["drift"][0]["transition"] for look in looks if look["drift"][0]["se"] == 0]
    if alike:
        notes.append(f"{NO_ERROR}, no limits and no p-value; transitions {', '.join(alike)}")
    if drift["low"] is not None:
        half = (drift["high"] - drift["low"]) / 2
        notes.append(f"a mean drift within {half:.3f} of 0 could not be told from none")
    return tuple(notes)
