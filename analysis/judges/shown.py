"""The tables of the findings, made from the study's numbers as written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings."""

    def interval(row: Mapping[str, Any], sign: str = "") -> str:
        return "-" if pd.isna(row["low"]) else f"[{row['low']:{sign}.3f}, {row['high']:{sign}.3f}]"

    def said(row: Mapping[str, Any], name: str) -> str:
        return f"{row[name]:.{row['digits']}f}"

    known = [
        {
            "data": row["data"], "number": row["what"], "known": said(row, "known"),
            "ours": said(row, "ours"),
            "95 % interval": interval(row) + " of the share" * (row["interval_of"] == "the share"),
            "n": "-" if pd.isna(row["n"]) else f"{row['n']:.0f} in {row['clusters']:.0f}",
            "same": "yes" if row["same"] else "no",
        }
        for row in tables["published"].to_dict("records")
    ]  # fmt: skip
    each = [
        {
            "kappa": f"{row['group']}: {row['name']}", "value": f"{row['value']:.3f}",
            "cluster t": interval(row), "BCa": f"[{row['bca_low']:.3f}, {row['bca_high']:.3f}]",
            "se": f"{row['se']:.4f}", "se, items independent": f"{row['se_independent']:.4f}",
            "agreement": f"{row['share']:.3f}", "by chance": f"{row['chance']:.3f}",
            "n": f"{row['n']} in {row['clusters']}",
        }
        for row in tables["kappas"].to_dict("records")
    ]  # fmt: skip
    together = tables["panels"]
    cells = together.assign(text=[f"{r['value']:.3f} {interval(r)}" for r in together.to_dict("records")])
    wide = cells.pivot_table(
        index=["panel", "raters"], columns="measure", values="text", aggfunc="first", sort=False
    )
    two = [
        {
            "data": row["data"], "a": row["a"], "b": row["b"], "a alone": row["only_a"], "b alone": row["only_b"],
            "difference b - a": f"{row['difference']:+.3f} {interval(row, '+')}",
            "p, cluster t": f"{row['p_cluster']:.3g}", "p, exact McNemar": f"{row['p_mcnemar']:.3g}",
            "n": f"{row['items']} in {row['clusters']}",
        }
        for row in tables["pairs"].to_dict("records")
    ]  # fmt: skip
    like = [
        {
            "kappa on PRD's 800 pairs": row["who"], "value": f"{row['value']:.3f} {interval(row)}",
            "agreement": f"{row['share']:.3f}", "pairs of votes": f"{row['n']} on {row['items']} in {row['clusters']}",
        }
        for row in tables["alike"].to_dict("records")
    ]  # fmt: skip
    return {
        "published": pd.DataFrame(known),
        "kappas": pd.DataFrame(each),
        "panels": wide.reset_index(),
        "pairs": pd.DataFrame(two),
        "alike": pd.DataFrame(like),
    }
