"""The judgment files as tables of votes: item, rater, vote, label, cluster, and the run where there are several."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd

from d3stats.log.importers import load
from d3stats.log.schema import Item, Turn

COLUMNS = ["item", "rater", "vote", "label", "cluster", "log", "role"]


@cache
def votes(name: str, source: Path) -> pd.DataFrame:
    """Return every vote of a log as imported, one row each; a vote that could not be read is missing."""
    found = list(load(name).records(source))
    about = [(r.debate, r.label, r.question, r.log) for r in found if isinstance(r, Item)]
    said = [(r.debate, r.round, r.agent, r.role, r.vote) for r in found if isinstance(r, Turn)]
    items = pd.DataFrame(about, columns=["debate", "label", "question", "log"]).set_index("debate")
    turns = pd.DataFrame(said, columns=["debate", "round", "agent", "role", "vote"])
    turns = turns.join(items[["label", "question", "log"]], on="debate")
    return turns.rename(columns={"debate": "item", "agent": "rater", "question": "cluster"})


def llmbar(folder: Path, *, raw: bool = True) -> pd.DataFrame:
    """Return LLMBar's votes before any second look: item is the question, run is JUDGE/STRATEGY, rater the order."""
    source = folder / ("princeton-nlp__LLMBar" if raw else "derived/llmbar_votes.csv.gz")
    table = votes("llmbar", source)
    return table[table["round"] == 1].assign(item=lambda t: t["cluster"])[COLUMNS]


def pandalm(folder: Path) -> pd.DataFrame:
    """Return PandaLM's votes; the cluster is the instruction, of which there are 170."""
    return votes("pandalm", folder / "WeOpenML__PandaLM")[COLUMNS]


def prd(folder: Path) -> pd.DataFrame:
    """Return PRD's votes on the pairs that LLMs reviewed too; the cluster is the question, of which there are 80."""
    table = votes("prd", folder / "bcdnlp__PRD" / "vicuna80_ratings.tar.gz")
    return table[table["log"].str.startswith("vicuna80: ")][COLUMNS]


def prd_humans(folder: Path, *, shown: bool = True) -> pd.DataFrame:
    """Return PRD's humans on the 2,240 pairs with three of them, guanaco's included.

    With `shown`, "1" is the answer that was shown first (all three saw one order), else the first by name.
    """
    table = votes("prd", folder / "bcdnlp__PRD" / "vicuna80_ratings.tar.gz")
    table = table[table["role"] == "human"]
    table = table[table.groupby("item")["rater"].transform("size") == 3]
    turned = table["vote"].map({"1": "2", "2": "1", "tie": "tie"})
    kept = table["rater"].str.endswith("(1-2)") if shown else pd.Series(True, index=table.index)
    rater = table["rater"].str.replace(r" \(.*", "", regex=True)
    return table.assign(vote=table["vote"].where(kept, turned), rater=rater)[COLUMNS]


def d3_judge(folder: Path) -> pd.DataFrame:
    """Return the MT-Bench judgments and the arena battles of D3's workbooks; runs tell them apart."""
    return votes("d3-judge", folder / "abirharrasse__D3-Judge")[COLUMNS]


def faireval(folder: Path) -> pd.DataFrame:
    """Return FairEval's human votes."""
    return votes("faireval", folder / "i-Eval__FairEval")[COLUMNS]


def jury(table: pd.DataFrame) -> pd.DataFrame:
    """Return the plurality vote of each item's judges, one row per item; missing on a tie."""
    judges = table[table["role"] == "judge"]

    def plurality(cast: pd.Series) -> str | None:
        counts = cast.value_counts()
        tied = len(counts) > 1 and counts.iloc[0] == counts.iloc[1]
        return None if counts.empty or tied else str(counts.index[0])

    chosen = judges.groupby("item", sort=False)["vote"].agg(plurality).rename("vote")
    about = judges.drop_duplicates("item").set_index("item")[["label", "cluster", "log"]]
    return about.join(chosen).reset_index().assign(rater="jury", role="judge")[COLUMNS]


def two_votes(table: pd.DataFrame, who: str) -> pd.DataFrame:
    """Return pairs of votes on one item, vote_1 and vote_2, of PRD's humans and the jury of its LLM reviews.

    `who` is "jury and human" (each human, where the jury decides), "human and human" (each ordered pair of them, who
    are nobody in particular) or "human and the others" (each of three, where the other two agree).
    """
    human = table[table["role"] == "human"][["item", "cluster", "rater", "vote"]].dropna()
    if who == "jury and human":
        verdict = jury(table).set_index("item")["vote"]
        pairs = human.assign(vote_1=human["item"].map(verdict), vote_2=human["vote"]).dropna()
    else:
        both = human.merge(human, on=["item", "cluster"], suffixes=("_1", "_2"))
        pairs = both[both["rater_1"] != both["rater_2"]]
        if who == "human and the others":
            keys = ["item", "cluster", "rater_1"]
            others = pairs.groupby(keys).agg(
                vote_1=("vote_1", "first"),
                vote_2=("vote_2", "first"),
                told=("vote_2", "nunique"),
                n=("vote_2", "size"),
            )
            pairs = others[(others["told"] == 1) & (others["n"] == 2)].reset_index()
        elif who != "human and human":
            raise ValueError(f"who must be one of three kinds of pairs; got {who!r}")
    return pairs[["item", "cluster", "vote_1", "vote_2"]].reset_index(drop=True)
