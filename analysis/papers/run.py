"""What do the tables and figures of five papers look like on real debates? Each by ``d3stats paper``.

Run: python analysis/papers/run.py [-o FOLDER]

Reads the bundled logs and the logs of ``analysis/live_llm``. Writes ``cells.csv``: every cell of every table, with its
value, its limits and its text in the paper's layout; and ``figures``: a picture of each item under ``pictures`` in
``config.toml``, at print size.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

import d3stats
from d3stats.estimate import Estimate
from d3stats.plotting import use_style
from d3stats.report.paper import PaperItem

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "simulations"))

from findings_tables import write  # noqa: E402  # studies are no package

CONFIG = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))


def made(config: Mapping[str, Any], item: str) -> PaperItem:
    """Make an item from its logs."""
    settings = dict(config["items"][item])
    short = settings.pop("logs")
    paths = [config["logs"][name] for name in short]
    sources = [str((HERE / path).resolve()) if path.startswith("..") else path for path in paths]
    found = d3stats.paper(item, *sources, **{"names": short, "rng": config["seed"], **settings})
    assert isinstance(found, PaperItem)
    return found


def cells(config: Mapping[str, Any], item: str) -> pd.DataFrame:
    """Return the cells of an item: row, column, value with limits, and the text."""
    found = made(config, item)
    texts = found.layout()
    rows = []
    for k, row in enumerate(found.rows):
        for c, column in enumerate(found.columns):
            value = row.get(column.key)
            e = value if isinstance(value, Estimate) else None
            rows.append(
                {
                    "item": item,
                    "row": k + 1,
                    "column": column.head,
                    "value": value if e is None and not isinstance(value, str) else getattr(e, "value", None),
                    "low": None if e is None else e.low,
                    "high": None if e is None else e.high,
                    "cell": texts.iloc[k, c],
                }
            )
    return pd.DataFrame(rows).astype(dict.fromkeys(("value", "low", "high"), "float64"))


def picture(config: Mapping[str, Any], item: str, folder: Path) -> Path:
    """Draw an item at print size, and return the picture's path."""
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{item.replace(':', '_').replace('-', '_').replace('.', '_')}.png"
    with use_style():
        drawn = made(config, item).plot()
        figure = drawn.figure if isinstance(drawn, Axes) else drawn
        figure.savefig(path, dpi=300, metadata={"Software": "d3stats"})
        plt.close(figure)  # type: ignore[arg-type]
    return path


def study(config: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return the cells of all items."""
    return {"cells": pd.concat([cells(config, item) for item in config["items"]], ignore_index=True)}


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return each item in the layout of its paper."""
    found = {}
    for item, part in tables["cells"].groupby("item", sort=False):
        heads = list(dict.fromkeys(part["column"]))
        wide = part.pivot_table(index="row", columns="column", values="cell", aggfunc="first", dropna=False)[
            heads
        ]
        found[str(item)] = wide.reset_index(drop=True).rename_axis(columns=None)
    return found


def main() -> None:
    """Write the cells and refresh the findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE, help="folder for the CSV file")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, table in write(HERE, out.resolve(), study(CONFIG), shown).items():
        print(f"\n== {name}\n{table.to_string(index=False)}")
    for item in CONFIG["pictures"]:
        print(picture(CONFIG, item, out / "figures"))


if __name__ == "__main__":
    main()
