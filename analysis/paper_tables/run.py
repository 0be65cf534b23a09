"""Do the tables of three papers on LLM judges hold, each number against the others?

Run: python analysis/paper_tables/run.py [-o FOLDER]

Reads ``d3.toml``, ``advocates.toml`` and ``chateval.toml`` (what is printed) and writes ``findings.csv`` (every check,
the consistent ones too), ``discordance.csv`` (the t tests of the advocates paper as right-or-wrong answers, in both
readings) and ``holm.csv`` (their p-values taken together).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

from d3stats.inference.comparison.multiplicity import adjust

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "simulations")]

import of_advocates  # noqa: E402  # studies are no package
import of_chateval  # noqa: E402
import of_d3  # noqa: E402
from findings_tables import Tables, write  # noqa: E402
from papers import Paper, read  # noqa: E402
from printed_tables import Finding, discordance, findings_frame, implied_df, paired_counts  # noqa: E402

PAPERS: dict[str, Callable[[Paper], Iterator[Finding]]] = {
    "d3": of_d3.findings,
    "advocates": of_advocates.findings,
    "chateval": of_chateval.findings,
}


MOST_ITEMS = 400
"""No more are tried: with more than 348 items each of these t would have to be larger."""


def study() -> dict[str, pd.DataFrame]:
    """Return every finding, and the two tables of the advocates paper's tests."""
    parts = []
    for stem, findings in PAPERS.items():
        paper = read(HERE / f"{stem}.toml")
        frame = findings_frame(findings(paper))
        frame.insert(0, "paper", paper.name)
        parts.append(frame)
    advocates = read(HERE / "advocates.toml")
    return {
        "findings": pd.concat(parts, ignore_index=True),
        "discordance": discordances(advocates),
        "holm": together(advocates),
    }


def discordances(paper: Paper) -> pd.DataFrame:
    """Return what t implies and what the accuracies allow, a row for each model and number of items."""
    rows = []
    for n in (paper.size("questions"), paper.size("preferences")):
        for row, test in zip(paper.tables["1"], paper.tables["3"], strict=True):
            old, new, t = row["baseline"], row["samre_no_jury"], test["t"]
            found = discordance(float(old), float(new), float(t), n)
            rows.append(
                {
                    "model": test["model"],
                    "n": n,
                    "implied": found.implied,
                    "least": found.allowed[0],
                    "most": found.allowed[1],
                    "possible_exact": found.possible,
                    "tables_of_counts": len(paired_counts(old, new, t, n)),
                }
            )
    return pd.DataFrame(rows)


def together(paper: Paper) -> pd.DataFrame:
    """Return the printed t and p with the degrees of freedom that they share and p after Holm."""
    frame = pd.DataFrame(paper.tables["3"])
    ranges = [implied_df(t, p) for t, p in zip(frame["t"], frame["p"], strict=True)]
    known = [(None, None) if r is None else r for r in ranges]
    frame["df_least"] = pd.array([low for low, _ in known], dtype="Int64")
    frame["df_most"] = pd.array([high for _, high in known], dtype="Int64")
    frame["p_holm"] = adjust(frame["p"].astype(float))
    frame["sizes"] = [sizes(*row) for row in zip(paper.tables["1"], paper.tables["3"], known, strict=True)]
    return frame


def sizes(row: dict[str, str], test: dict[str, str], df: tuple[int | None, int | None]) -> str:
    """Return the numbers of right-or-wrong items that print both accuracies, t and p, up to `MOST_ITEMS`."""
    least, most = df
    if least is None:
        return "none"
    tried = range(least + 1, min(MOST_ITEMS, MOST_ITEMS if most is None else most + 1) + 1)
    entries = row["baseline"], row["samre_no_jury"], test["t"]
    fitting = [n for n in tried if paired_counts(*entries, n)]
    return f"{fitting[0]} to {fitting[-1]}" if fitting else "none"


def shown(made: Tables) -> Tables:
    """Return the tables as the findings show them."""
    found = made["findings"].fillna("").rename(columns={"needed": "what would have to be true"})
    columns = ["paper", "place", "check", "printed", "implied", "what would have to be true"]
    paired = found["check"].str.contains("right-or-wrong answers")
    counted = found.pivot_table(index="paper", columns="verdict", values="place", aggfunc="count", sort=False)
    order = ["inconsistent", "conditional", "consistent"]
    # What the rows together say is enough here; the file has each by itself.
    single = (found["check"] == "accuracy and kappa") & ~found["printed"].str.contains(",")
    single = (single & ~found["place"].str.contains("entries exact")) | (found["check"] == "t and p")
    held = found[(found["verdict"] == "consistent")].groupby(["paper", "check"], sort=False).size()
    exact = made["discordance"]
    tests = made["holm"]
    most = tests["df_most"].map(lambda x: "any more" if pd.isna(x) else f"{x:.0f}")
    return {
        "counted": counted.reindex(columns=order).fillna(0).astype(int).reset_index(),
        "inconsistent": found.loc[(found["verdict"] == "inconsistent") & ~paired, columns],
        "conditional": found.loc[(found["verdict"] == "conditional") & ~paired & ~single, columns],
        "held": held.rename("times").reset_index(),
        "discordance": pd.DataFrame(
            {
                "model": exact["model"],
                "n": exact["n"],
                "t implies": exact["implied"].map("{:.3f}".format),
                "accuracies allow": exact["least"].map("{:.2f}".format)
                + " to "
                + exact["most"].map("{:.2f}".format),
                "possible, entries exact": exact["possible_exact"].map({True: "yes", False: "no"}),
                "tables of counts, rounding allowed": exact["tables_of_counts"],
            }
        ),
        "holm": pd.DataFrame(
            {
                "model": tests["model"],
                "t": tests["t"].map("{:.2f}".format),
                "p": tests["p"].map("{:.3f}".format),
                "degrees of freedom, least": tests["df_least"],
                "most": most,
                "p after Holm": tests["p_holm"].map("{:.3f}".format),
                "items that print it all": tests["sizes"].fillna("none"),
            }
        ),
    }


def main() -> None:
    """Write the tables and print what is inconsistent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE, help="folder for the CSV files")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, table in write(HERE, out.resolve(), study(), shown).items():
        print(f"\n== {name}\n{table.to_string(index=False)}")


if __name__ == "__main__":
    main()
