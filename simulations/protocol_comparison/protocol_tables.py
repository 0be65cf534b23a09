"""The tables of the findings, with the digits that they show; made from the tables as written."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from protocol_measures import COUNTED

__all__ = ["shown"]


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables by the name of their place in the findings."""
    measures, frontier = tables["measures"], tables["frontier"]
    main = measures["world"].iloc[0]
    return {
        "protocols": _wide(measures[measures["world"] == main], frontier[frontier["world"] == main]),
        "steps": _steps(tables["steps"].query("world == @main")),
        "across worlds": _across(measures),
        "frontiers": _frontiers(frontier, tables["steps"]),
        "ablation": _wide(tables["ablation"], None),
        "batch rules": _wide(tables["batch_rules"], None),
        "distances": _distances(tables["distances"]),
    }


def _wide(measures: pd.DataFrame, frontier: pd.DataFrame | None) -> pd.DataFrame:
    """Return a row per protocol in words."""
    at = dict(zip(_keys(measures), measures.itertuples(index=False), strict=True))
    rows = []
    for protocol in dict.fromkeys(measures["protocol"]):
        mine = {measure: row for (name, measure), row in at.items() if name == protocol}
        gain = mine.get("gain_half")
        worth = gain is not None and gain.p_holm < 0.05 and gain.estimate > 0
        row = {
            "protocol": protocol,
            "accuracy": _said(mine["accuracy"]),
            "no decision": f"{mine['undecided'].estimate:.3f}",
            "right of all": f"{mine['right_of_all'].estimate:.3f}",
            "with half credit": _said(mine["half_credit"]),
            "gain, half credit": _said(gain),
            "p (Holm)": _p(gain),
            "gain, of all": _said(mine.get("gain")),
            "gain where both decide": _said(mine.get("gain_decided")),
            "p of it (Holm)": _p(mine.get("gain_decided")),
            "kappa": _said(mine["kappa"]),
            "same verdict swapped": _said(mine["consistency"]),
            "rounds": f"{mine['rounds'].estimate:.2f}",
            "calls": f"{mine['calls'].estimate:.1f}",
            "tokens": f"{mine['tokens'].estimate:.0f}",
            "dollars per 1,000": f"{1000 * mine['dollars'].estimate:.2f}",
            "tokens per point gained": (
                f"{mine['tokens'].estimate / (100 * gain.estimate):.0f}" if worth else ""
            ),
        }
        if frontier is not None:
            on = frontier[frontier["efficient"] & (frontier["protocol"] == protocol)]
            row["efficient where none is"] = ", ".join(on["counted"])
        rows.append(row)
    return pd.DataFrame(rows)


def _keys(measures: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(measures["protocol"], measures["measure"], strict=True))


def _said(row: object, digits: int = 3) -> str:
    if row is None:
        return ""
    text = f"{row.estimate:.{digits}f}"
    return text if np.isnan(row.low) else f"{text} ({row.low:.{digits}f} to {row.high:.{digits}f})"


def _p(row: object) -> str:
    if row is None:
        return ""
    return "< .001" if row.p_holm < 0.0005 else f"{row.p_holm:.3f}"


def _steps(table: pd.DataFrame) -> pd.DataFrame:
    """Return what each efficient protocol gains on the next cheaper one, in words."""
    rows = [
        (
            row.counted,
            row.cheaper,
            row.dearer,
            f"{1000 * row.dollars_more:.2f}",
            f"{row.estimate:.3f} ({row.low:.3f} to {row.high:.3f})" if not np.isnan(row.low) else "0.000",
            _p(row),
        )
        for row in table.rename(columns={"gain": "estimate"}).itertuples(index=False)
    ]
    names = ["no decision is", "cheaper", "more expensive", "more dollars per 1,000", "gain", "p (Holm)"]
    return pd.DataFrame(rows, columns=names)


def _across(measures: pd.DataFrame) -> pd.DataFrame:
    """Return each protocol's gain with half credit in each world, with a star where it is beyond its error."""
    worlds = list(dict.fromkeys(measures["world"]))
    gain = measures[measures["measure"] == "gain_half"]
    said = [
        f"{v:+.3f}{'*' if p < 0.05 else ''}" for v, p in zip(gain["estimate"], gain["p_holm"], strict=True)
    ]
    table = gain.assign(said=said).pivot_table(
        index="world", columns="protocol", values="said", aggfunc="first"
    )
    base = measures[(measures["measure"] == "half_credit") & ~measures["protocol"].isin(gain["protocol"])]
    name = f"{base['protocol'].iloc[0]}: with half credit"
    first = base.set_index("world")["estimate"].map("{:.3f}".format).rename(name)
    table = pd.concat([first, table[list(dict.fromkeys(gain["protocol"]))]], axis=1).loc[worlds].T
    return table.rename_axis(None, axis=1).fillna("").reset_index(names="protocol")


def _distances(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row per batch rule and a column per round."""
    wide = table.pivot_table(index="rule", columns="round", values="distance").map("{:.3f}".format)
    wide = wide.loc[list(dict.fromkeys(table["rule"]))].rename(columns="round {}".format)
    return wide.rename_axis(None, axis=1).reset_index()


def _frontiers(table: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Return each world's efficient protocols, cheapest first; a star where the step to it is beyond its error."""
    sure = {(r.world, r.counted, r.dearer) for r in found.itertuples(index=False) if r.p_holm < 0.05}
    rows = []
    for (world, counted), points in table.groupby(["world", "counted"], sort=False):
        best = points[points["efficient"]].sort_values("cost", kind="stable")
        best = best.drop_duplicates(["cost", "accuracy"])
        said = [
            f"{r.protocol} ({r.accuracy:.3f}{'*' if (world, counted, r.protocol) in sure else ''})"
            for r in best.itertuples(index=False)
        ]
        rows.append((world, counted, "; ".join(said)))
    assert {row[1] for row in rows} <= set(COUNTED)
    return pd.DataFrame(rows, columns=["world", "no decision is", "efficient protocols, cheapest first"])
