"""The same votes in crowd-kit, which this project does not depend on.

Run: python simulations/panel_without_gold/run.py --votes FOLDER, then with an interpreter that has crowd-kit (and one
that has d3stats) python simulations/panel_without_gold/peers.py FOLDER. Rows of the package at hand are renewed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

HERE = Path(__file__).resolve().parent
TABLE = HERE / "peers.csv"


def crowd_kit() -> dict[str, Callable[[pd.DataFrame], pd.Series]]:
    """Return crowd-kit's aggregations: a long table of task, worker and label to a verdict for each task."""
    from crowdkit.aggregation import GLAD, DawidSkene, MajorityVote

    found = {"crowd-kit MajorityVote": MajorityVote(), "crowd-kit DawidSkene": DawidSkene(n_iter=100)}
    found["crowd-kit GLAD"] = GLAD(n_iter=100)
    return {name: one.fit_predict for name, one in found.items()}


def ours() -> dict[str, Callable[[pd.DataFrame], pd.Series]]:
    """Return the functions of this project in the same form."""
    from d3stats.inference import dawid_skene, glad

    def wide(long: pd.DataFrame) -> pd.DataFrame:
        return long.set_index(["task", "worker"])["label"].unstack().reset_index(names="item")  # noqa: PD010

    def verdicts(frame: pd.DataFrame) -> pd.Series:
        return frame.astype({"item": int}).set_index("item")["verdict"]

    return {
        "d3stats dawid_skene": lambda long: verdicts(dawid_skene(wide(long)).verdicts),
        "d3stats glad": lambda long: verdicts(glad(wide(long)).items),
    }


def main() -> None:
    """Measure the package that can be imported here and write its rows."""
    rows: list[dict[str, Any]] = []
    try:
        methods = crowd_kit()
    except ImportError:
        methods = ours()
    for path in sorted(Path(sys.argv[1]).glob("*.csv")):
        table = pd.read_csv(path)
        long = table.melt(["item", "label"], var_name="worker", value_name="vote").dropna(subset="vote")
        long = pd.DataFrame({"task": long["item"], "worker": long["worker"], "label": long["vote"]})
        for name, verdict_of in methods.items():
            verdict_of(long)  # what is loaded or compiled once
            began = time.perf_counter()
            verdict = verdict_of(long)
            took = time.perf_counter() - began
            right = (verdict.reindex(table["item"]).to_numpy() == table["label"].to_numpy()).mean()
            rows.append(
                {"cell": path.stem, "method": name, "right": round(right, 4), "seconds": round(took, 3)}
            )
    if TABLE.exists():
        before = pd.read_csv(TABLE)
        rows = [*before[~before["method"].isin(methods)].to_dict("records"), *rows]
    frame = pd.DataFrame(rows).sort_values(["cell", "method"])
    frame.to_csv(TABLE, index=False, lineterminator="\n")
    print(frame.to_string(index=False))


if __name__ == "__main__":
    main()
