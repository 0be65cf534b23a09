"""Write docs/calibration.md from calibration.csv: one line per method, its worst cell, and what happens there."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pandas as pd
from estimators import ESTIMATORS, EXCEPTIONS

HERE = Path(__file__).resolve().parent
CONFIG = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
PAGE = HERE.parents[1] / "docs" / "calibration.md"

HEAD = """\
# Calibration of every interval and test

**Do the intervals hold the truth as often as they say, and do the tests reject as rarely as they say?**

Public methods were called on simulated data sets whose truth is known; those without a row are
[listed with the reason](#functions-without-a-row). Each row is one method. It names the cell in which the method did
worst: how often the printed interval held the truth there, or how often the test rejected a true
null. Levels are 95 % and 5 % unless the row says another. The number after ± is one Monte Carlo error.

- *printed* is the share of data sets of that cell in which the program printed an interval or a p-value. In the others
  it prints none, and a note says why; the column *note* has the most frequent one. Coverage is that of the data sets
  with an interval.
- *cells* counts the cells behind a row. "27 of 28" leaves out a cell in which fewer than 20 data sets have an interval.
  A test counts only where its null is true. The table of misses has all cells.
- A cell reads "40 x 5, p 0.9, icc 0.3": 40 questions of 5 items, a true share of .9, and a correlation of .3 within a
  question. "5 x [1, 2, 4, 8, 200]" are 25 questions of which five have 200 items each.
- The worst of many cells lies below the level by chance alone: of twenty cells with 400 data sets each and a true
  coverage of .95, the worst is expected near .93.

`make calibration` measures again. It takes about {minutes} minutes of processor time, and the same command resumes a
stopped run. All {rows} rows of {cells} cells are in `simulations/calibration/calibration.csv` ({sets} data sets).
`python simulations/calibration/run.py --random 200 --seed 1` measures random cells.
"""

FAMILIES = {
    "share": ("Shares", "One share of items, in questions of given sizes."),
    "mean": ("Means, resampling and strata", "Values with a normal, log-normal or exponential law."),
    "paired": (
        "Two runs on the same items",
        "Right or wrong, or scores; *a* and *b* are the true accuracies. *alike* is the correlation of the normals "
        "behind both runs, .5 unless it is named; with .97 nearly all changes are gains.",
    ),
    "sides": (
        "Audits of a judge",
        "`share_a` of the items have the first answer as the right one; *effect* is the bias, *error* how often the "
        "judge errs.",
    ),
    "ratings": (
        "Agreement",
        "*shares* are the chances of the labels, *reliability* how often a rating is no guess.",
    ),
    "jury": ("Juries", "*accuracies* of the jurors; *shared* is how much of their luck they share."),
    "scores": (
        "Correlations",
        "*rho* of the normal behind two scores, cut into *levels*; a *skew* below 1 makes ties.",
    ),
    "labelled": (
        "Few labels beside a judge",
        "*labels* of all items are known; the judge's verdict is known for all.",
    ),
    "rounds": ("Debates over rounds", "Votes of five seats; a seat copies another with chance *copying*."),
    "counts": ("Counts of right votes", "Beta-Binomials of the given *means* and correlations *rhos*."),
    "reasons": ("Rationales", "Jurors cite the debate with chance *p* (second log *q*)."),
    "stated": (
        "Stated confidence",
        "A vote with confidence c is right with chance .7 + *slope* (c - .7) - *shift*; one debate a question.",
    ),
    "pairs": (
        "Judgments of pairs",
        "Four contestants; *order* and *tie* are effects in log-odds, *spread* how far ratings vary between questions.",
    ),
}


ASKED = (
    "percentile",
    "basic",
    "bca",
    "studentised",
    "Wald",
    "Jeffreys",
    "Agresti",
    "Bayes uniform",
    "McNemar",
    "paired t",
    "delta",
)


def by_default(name: str, quantity: str) -> bool:
    """Say whether the program prints this interval or test without being asked for its kind."""
    chosen = name in ("bootstrap", "agreement, bootstrap") or (name, quantity) == (
        "share, clustered",
        "cluster t",
    )
    return not chosen and not any(word in quantity for word in ASKED)


def number(x: float, error: float) -> str:
    """Write a share with its Monte Carlo error, without leading zeros."""
    return f"{x:.3f}".replace("0.", ".", 1) + " ± " + f"{error:.3f}".replace("0.", ".", 1)


def missed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose interval or test misses its bound by more than two Monte Carlo errors."""
    short = table["level"] - 0.95 + CONFIG["least_coverage"]
    few = table["coverage"] + 2 * table["coverage_se"] < short
    many = table["size"] - 2 * table["size_se"] > CONFIG["largest_size"]
    return table[few | many]


def unshown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of few data sets whose coverage is below the bound by at most two Monte Carlo errors."""
    below = table["coverage"] < table["level"] - 0.95 + CONFIG["least_coverage"]
    few = (table["replicates"] <= CONFIG["few_data_sets"]) & (table["printed"] * table["replicates"] >= 20)
    return table[below & few].drop(missed(table).index, errors="ignore")


def worst(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per method and kind of number: the cell of lowest coverage, or of largest size.

    Cells in which fewer than 20 data sets have a number are left out, unless there are no others.
    """
    out = []
    for (name, quantity), rows in table.groupby(["estimator", "quantity"], sort=False):
        for what, lead, shown in (("coverage", "printed", -1), ("size", "tested", 1)):
            known = rows[rows[what].notna()]
            enough = known[
                known[lead] * known["replicates"] >= min(20, known["replicates"].max() if len(known) else 0)
            ]
            known = enough if len(enough) else known
            if known.empty:
                continue
            # The distance from the level, since one row may have a level of its own.
            goal = known["level"] if what == "coverage" else 0.05
            row = known.loc[(shown * (known[what] - goal)).idxmax()]
            of = rows["cell"].nunique() if what == "coverage" else len(known)
            out.append(
                {
                    "family": row["family"],
                    "method": f"{name}: {quantity}",
                    "what": "interval" if what == "coverage" else "test",
                    "cells": f"{len(known)} of {of}" if len(known) < of else str(len(known)),
                    "middle": known[what].median(),
                    "worst": number(row[what], row[f"{what}_se"]),
                    "value": row[what],
                    "level": row["level"] if what == "coverage" else 0.05,
                    "cell": row["cell"],
                    "printed": row[lead],
                    "least printed": rows[lead].min(),
                    "note": row["note"],
                }
            )
    return pd.DataFrame(out)


def misses(table: pd.DataFrame, wrong: pd.DataFrame) -> str:
    """Return the part about the methods that miss in some cell: those used by default, then those asked for."""
    found = worst(wrong)
    by = ["estimator", "quantity"]
    cells = table.groupby(by)["cell"].nunique()
    parts = []

    def lines_of(found: pd.DataFrame, rows: pd.DataFrame, default: bool | None = None) -> str:
        lines = []
        for (name, quantity), those in rows.groupby(by, sort=False):
            if default is None or by_default(str(name), str(quantity)) is default:
                line = found[found["method"] == f"{name}: {quantity}"]
                ends = [f"{row['what']} {row['worst']} ({row['cell']})" for _, row in line.iterrows()]
                many = f"{len(those)} of {cells[(name, quantity)]}"
                lines.append(f"| {name}: {quantity} | {many} | {_short(ends[0], 120)} |")
        head = "| method | cells | worst |\n|---|---|---|\n"
        return f"{head}{chr(10).join(lines)}\n" if lines else ""

    for default, title in (
        (True, "The program prints these without being asked for their kind."),
        (
            False,
            "These are printed only if a user asks for their kind, or beside another test and for reference.",
        ),
    ):
        lines = lines_of(found, wrong, default)
        parts.append(f"{title}\n\n{lines}" if lines else f"{title} There are none.\n")
    few = unshown(table)
    if len(few):
        parts.append(
            f"**Not shown to reach .93.** These have {CONFIG['few_data_sets']} data sets or fewer in the cell and a "
            f"coverage below .93, by less than\ntwo errors.\n\n{lines_of(worst(few.assign(size=float('nan'))), few)}"
        )
    rule = (
        f"In {len(wrong)} of {len(table)} rows the coverage lies below .93 (at a level of 95 %), or the size of a\n"
        "test above .065, by more than two Monte Carlo errors. The error depends on the number of data sets, so a\n"
        "row of few data sets can be far below .93 without counting here.\n"
    )
    return "\n## Methods that miss in some cell\n\n" + rule + "\n" + "\n".join(parts)


def _short(text: str, most: int = 90) -> str:
    first = str(text).split(";")[0].replace("|", "/").replace("<", "&lt;").replace("{", "(").replace("}", ")")
    return first if len(first) <= most else first[: first.rindex(" ", 0, most)] + " (cut)"


def _line(row: pd.Series) -> str:
    level = "" if row["level"] in (0.95, 0.05) else f" at {row['level']:g}"
    middle = f"{row['middle']:.3f}".replace("0.", ".", 1)
    cells = [
        _short(row["method"]),
        row["what"] + level,
        row["cells"],
        middle,
        row["worst"],
        row["cell"],
        f"{100 * row['printed']:.0f} %",
        _short(row["note"]),
    ]
    return "| " + " | ".join(cells) + " |"


def text(table: pd.DataFrame) -> str:
    """Return the page."""
    found = worst(table)
    pairs = table.drop_duplicates(["estimator", "family", "cell"])
    parts = [
        HEAD.format(
            minutes=round(pairs["seconds"].sum() / 60),
            rows=len(table),
            cells=len(table.drop_duplicates(["family", "cell"])),
            sets=f"{int(pairs['replicates'].sum()):,}",
        )
    ]
    planned = pairs["estimator"].map({e.name: e.replicates for e in ESTIMATORS})
    short = int((pairs["replicates"] < planned).sum())
    if short:
        parts.append(
            f"\n**A first look.** {short} of {len(pairs)} pairs of a method and a cell have fewer data sets than "
            "planned,\nand their numbers are rough. `make calibration` measures the rest.\n"
        )
    parts.append(misses(table, missed(table)))
    for family, (title, about) in FAMILIES.items():
        rows = found[found["family"] == family]
        if rows.empty:
            continue
        head = "| method | | cells | median | worst | in cell | printed | note |\n|---|---|---|---|---|---|---|---|"
        parts.append(
            f"\n## {title}\n\n{about}\n\n{head}\n"
            + "\n".join(_line(row) for _, row in rows.iterrows())
            + "\n"
        )
    return "".join([*parts, without_a_row()])


def without_a_row() -> str:
    """Return the part about the public functions that are not in the table, with the reason of each."""
    names: dict[str, list[str]] = {}
    for name, reason in EXCEPTIONS.items():
        names.setdefault(reason, []).append(f"`{name.removeprefix('d3stats.')}`")
    lines = [f"| {', '.join(those)} | {reason} |" for reason, those in names.items()]
    return "\n## Functions without a row\n\n| function | reason |\n|---|---|\n" + "\n".join(lines) + "\n"


def write(table: pd.DataFrame) -> None:
    """Write the page."""
    PAGE.write_text(text(table), encoding="utf-8")


if __name__ == "__main__":
    write(pd.read_csv(HERE / "calibration.csv").fillna({"kind": "", "note": "", "quantity": ""}))
