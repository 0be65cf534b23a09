"""Write docs/conformance.md and the table of the findings from the results and the explanations."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pandas as pd

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from findings_tables import filled  # noqa: E402  # the studies' shared helper lies beside their folders

PAGE, FINDINGS = HERE.parents[1] / "docs" / "conformance.md", HERE / "findings.md"

HEAD = """\
# Numbers of other software

**Does other software give the numbers that d3stats gives?**

{summary}

Both sides read the same table and run the lines that are shown below. `make conformance` runs them again. Each peer has
an environment of its own, and one that cannot be installed is named. *CPU s* is the median processor time of one run
without imports and compilation. *Lines* counts the lines that a user types, imports included, once the table is read as
`d`. A cell of several numbers shows its first and last, and the largest difference of all.

The table `slm7` is the bundled log (first and last vote of 156 debates); `duck`, `face` and `dog` are public crowd data
(`simulations/conformance/crowd/SOURCE.md`). Other names are seeded tables of `simulations/conformance/data.py`, and
panels of the study [Panels without right answers](../simulations/panel_without_gold/findings.md). Rows with `none` need
no table.

d3stats calls ArviZ for its posteriors, so those rows show only that it passes the numbers on. The R packages posterior,
loo and bayestestR compute them by code of their own.
"""

ABSENT = """\
## Packages without a row

- **exact2x2** (R). Exact McNemar tests and intervals of an odds ratio. Debian has no package of it. statsmodels,
  truescore and errorbars give the exact p.
- **irr** (R). Coefficients of agreement. Debian has no package of it. irrCAC, psych and krippendorff give the same
  ones.
"""

FEATURES = {
    "panels": "Panels without right answers",
    "confidence": "Stated confidence",
    "correction": "Correction of a judge by labels",
    "ranking": "Ranking",
    "agreement": "Agreement",
    "comparison": "Comparisons of runs",
    "shares": "Shares",
    "mixtures": "Mixtures of counts",
    "correlation": "Correlations",
    "power": "Sample sizes",
    "bias": "Bias of a judge",
    "sequential": "Tests at any time",
    "posteriors": "Posteriors",
}


def shown(cell: str) -> str:
    """Write the first and the last number of a cell."""
    numbers = [f"{float(x):.5g}" for x in cell.split()]
    return (
        numbers[0]
        if len(numbers) == 1
        else f"{numbers[0]} to {numbers[-1]}"
        if len(numbers) > 3
        else ", ".join(numbers)
    )


def small(x: float) -> str:
    """Write a difference; rounding errors are 0."""
    return "0" if x < 1e-9 else f"{x:.2g}"


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the table of each feature."""
    run = frame[frame["there"] != ""]
    found = {}
    for name in FEATURES:
        rows = run[run["feature"] == name]
        if len(rows):
            found[name] = pd.DataFrame(
                {
                    "number": rows["number"],
                    "data": rows["data"],
                    "d3stats": rows["here"].map(shown),
                    "there": rows["there"].map(shown),
                    "peer": rows["peer"],
                    "difference": rows["difference"].map(small),
                    "CPU s": rows["seconds_here"] + " / " + rows["seconds_there"],
                    "lines": rows["lines_here"] + " / " + rows["lines_there"],
                }
            )
    return found


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each peer: its version, its rows, and how many differ by more than their tolerance."""
    out = []
    for peer, rows in frame.groupby("peer", sort=False):
        run = rows[rows["there"] != ""]
        notes = sorted(set(rows["note"]) - {""})
        apart = int((run["difference"] > run["tolerance"]).sum())
        line = {"peer": peer, "version": rows["version"].iloc[0] or "-", "numbers": len(run), "differ": apart}
        out.append({**line, "note": "; ".join(notes) or "-"})
    return pd.DataFrame(out)


def headline(frame: pd.DataFrame, why: pd.DataFrame) -> str:
    """Return the result in two sentences."""
    run = frame[frame["there"] != ""]
    apart = int((run["difference"] > run["tolerance"]).sum())
    return (
        f"{run['peer'].nunique()} packages give {len(run)} numbers that d3stats gives too. "
        f"{len(run) - apart} are equal within "
        f"the tolerance of their row, and {apart} differ.\nThese differences have {len(why)} reasons, "
        "each with a calculation "
        "that reproduces it."
    )


def of_table(frame: pd.DataFrame) -> str:
    """Return a frame as a table of Markdown."""
    lines = ["| " + " | ".join(frame.columns) + " |", "|" + "---|" * frame.shape[1]]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in frame.itertuples(index=False)]
    return "\n".join(lines) + "\n"


def text(frame: pd.DataFrame, why: pd.DataFrame) -> str:
    """Return the page."""
    parts = [HEAD.format(summary=headline(frame, why)), of_table(summary(frame))]
    for name, found in tables(frame).items():
        parts.append(f"## {FEATURES[name]}\n\n{of_table(found)}")
    apart = frame[frame["difference"] > frame["tolerance"]]
    parts.append("## Differences and their reasons\n")
    for row in why.itertuples():
        of = apart[apart["check"] == row.check]
        peers: dict[str, list[str]] = {}
        for peer, number in dict.fromkeys(zip(of["peer"], of["number"], strict=True)):
            peers.setdefault(number, []).append(peer)
        names = "; ".join(f"{', '.join(found)}, {number}" for number, found in peers.items())
        parts.append(f"- **{names}.** {row.sentence}")
    parts.append(f"\n{ABSENT}")
    parts.append("\n## Lines of both sides\n")
    for path in sorted((HERE / "rows").glob("*.toml")):
        peer = tomllib.loads(path.read_text(encoding="utf-8"))
        language = "r" if "r" in peer else "text"
        parts.append(f"### {peer['peer']}\n")
        for row in peer["rows"]:
            here, there = row["here"].strip(), row["there"].strip()
            parts.append(f"{row['number'][0].upper()}{row['number'][1:]}:\n")
            parts.append(f"```text\n{here}\n```\n\n```{language}\n{there}\n```\n")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def write(frame: pd.DataFrame, why: pd.DataFrame) -> None:
    """Write the page and the table of the findings."""
    PAGE.write_text(text(frame, why), encoding="utf-8")
    FINDINGS.write_text(
        filled(FINDINGS.read_text(encoding="utf-8"), {"peers": summary(frame)}), encoding="utf-8"
    )
