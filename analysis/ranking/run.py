"""Who writes the better answers, by LLM reviewers and by people, and what does the place gain? Pairs of PRD, ranked.

Run: D3STATS_DATA=FOLDER python analysis/ranking/run.py [-o FOLDER]

Reads PRD's judgments of pairs of answers from its public repository. Writes ``ratings.csv`` (each contestant by each
group of judges), ``effects.csv`` (the first place and ties), and ``sizes.csv`` (judgments, items, questions, and pairs
with a settled order).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from d3stats import rank
from d3stats.inference.judges.bradley_terry import Ranking

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "simulations"), str(HERE.parent / "judges")]

from findings_tables import run_on_data  # noqa: E402  # studies are no package
from tables_of_votes import votes  # noqa: E402

PEOPLE, REVIEWERS = "people", "five reviewers"


def judgments(folder: Path) -> pd.DataFrame:
    """Return who was shown first and second, who won, and by whose judgment, of the pairs that LLMs reviewed."""
    table = votes("prd", folder / "bcdnlp__PRD" / "vicuna80_ratings.tar.gz").dropna(subset=["vote"])
    table = table[table["log"].str.startswith("vicuna80: ") & ~table["rater"].str.endswith(" again")]
    pair = table["item"].str.split("/").str[2].str.split("-vs-")
    one, two = pair.str[0], pair.str[1]
    swapped = table["rater"].str.endswith("(2-1)")
    person = table["role"] == "human"
    return pd.DataFrame(
        {
            "item": table["item"],
            "question": table["cluster"],
            "judge": table["rater"].str.replace(r" \(.*", "", regex=True).mask(person, PEOPLE),
            "first": one.mask(swapped, two),
            "second": two.mask(swapped, one),
            "winner": one.where(table["vote"] == "1", two.where(table["vote"] == "2", "tie")),
        }
    )


def groups(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the judgments of people, of all reviewers and of each."""
    reviewers = table[table["judge"] != PEOPLE]
    each = {str(name): part for name, part in reviewers.groupby("judge")}
    return {PEOPLE: table[table["judge"] == PEOPLE], REVIEWERS: reviewers, **each}


def study(folder: Path) -> dict[str, pd.DataFrame]:
    """Return ratings, effects and sizes, group by group."""
    found: dict[str, Ranking] = {name: rank(part) for name, part in groups(judgments(folder)).items()}
    ratings = pd.concat([one.ratings.assign(by=name) for name, one in found.items()], ignore_index=True)
    effects = pd.concat([one.effects.assign(by=name) for name, one in found.items()], ignore_index=True)
    sizes = pd.DataFrame(
        [
            (name, one.n_judgments, one.n_items, one.n_clusters, one.settled, len(one.pairs))
            for name, one in found.items()
        ],
        columns=["by", "judgments", "items", "questions", "settled", "pairs"],
    )
    return {"ratings": ratings, "effects": effects, "sizes": sizes}


def cell(value: float, low: float, high: float, scale: float = 1.0, digits: int = 2) -> str:
    """Write a number with its limits."""
    form = f"z.{digits}f"
    return f"{scale * value:{form}} [{scale * low:{form}}, {scale * high:{form}}]"


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the ranking by people and by reviewers, the order effects, and each reviewer's own answers."""
    ratings, effects, sizes = tables["ratings"], tables["effects"], tables["sizes"].set_index("by")
    columns = {}
    for by in (PEOPLE, REVIEWERS):
        part = ratings[ratings["by"] == by].set_index("contestant")
        rating = {name: cell(r["rating"], r["low"], r["high"]) for name, r in part.iterrows()}
        ranks = {
            name: f"{r['rank_low']:.0f}"
            + ("" if r["rank_low"] == r["rank_high"] else f" to {r['rank_high']:.0f}")
            for name, r in part.iterrows()
        }
        columns |= {f"rating by {by}": rating, f"rank by {by}": ranks}
    ranking = pd.DataFrame(columns).reindex(ratings.loc[ratings["by"] == PEOPLE, "contestant"])
    rows = []
    for by, part in effects.groupby("by", sort=False):
        row = {"judge": by, "judgments": f"{sizes.loc[by, 'judgments']:,}"}
        for word, head in (("first", "first wins, %"), ("ties", "ties, %")):
            e = part[part["effect"].str.startswith(word)].iloc[0]
            row[head] = cell(e["share"], e["low"], e["high"], 100, 1)
        rows.append(row | {"pairs settled": f"{sizes.loc[by, 'settled']} of {sizes.loc[by, 'pairs']}"})
    own = []
    people = ratings[ratings["by"] == PEOPLE].set_index("contestant")
    for name in (n for n in sizes.index if n in people.index):
        mine = ratings[(ratings["by"] == name) & (ratings["contestant"] == name)].iloc[0]
        theirs = people.loc[name]
        own.append(
            {
                "model": name,
                "by itself": cell(mine["rating"], mine["low"], mine["high"]),
                "by people": cell(theirs["rating"], theirs["low"], theirs["high"]),
                "rank by itself": f"{mine['rank']:.0f}",
                "rank by people": f"{theirs['rank']:.0f}",
            }
        )
    return {"ranking": ranking.reset_index(), "order": pd.DataFrame(rows), "own answers": pd.DataFrame(own)}


if __name__ == "__main__":
    run_on_data(HERE, __doc__ or "", study, shown)
