"""The juries: votes of several jurors on labelled items, read from the logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from d3stats.datasets import load_slm7
from d3stats.inputs.ratings import Ratings
from d3stats.log.importers import load
from d3stats.log.schema import Item, Turn
from d3stats.sources.ratings import as_ratings


def imported(name: str, source: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the turns and the items of a log, without a file between."""
    found = list(load(name).records(source))
    turns = pd.DataFrame([record.to_dict() for record in found if isinstance(record, Turn)])
    items = pd.DataFrame([record.to_dict() for record in found if isinstance(record, Item)])
    return turns, items.set_index("debate")


def long(turns: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Return one row per vote, with the item's label and question."""
    table = turns.rename(columns={"debate": "item", "agent": "rater"})[["item", "rater", "vote"]]
    told = items[["label", "question"]].rename(columns={"question": "cluster"})
    return table.join(told, on="item")


def prd(folder: Path) -> dict[str, Ratings]:
    """Read the reviews of answers by five models, each pair in both orders, and the humans' plurality."""
    turns, items = imported("prd", next((folder / "bcdnlp__PRD").glob("*.tar.gz")))
    core = items[items["log"].str.startswith("vicuna80: ")]
    votes = turns[turns["debate"].isin(core.index) & (turns["role"] == "judge")]
    table = long(votes, core)
    # GPT-3.5 reviewed one pair of systems twice: the second time is left out where jurors are compared.
    ten = table[~table["rater"].str.endswith("again")]
    both = {"PRD, all votes": as_ratings(table), "PRD, ten votes": as_ratings(ten)}
    for order in ("1-2", "2-1"):
        mine = ten[ten["rater"].str.endswith(f"({order})")]
        both[f"PRD, five reviewers, order {order}"] = as_ratings(mine)
    return both


def pandalm(folder: Path) -> dict[str, Ratings]:
    """Read the three humans against the two judges' labels, and each human against the other two.

    The humans' majority is the only label there is, and it is made of their votes: a human is right on it more often
    than on a truth. So each human in turn is the label for the other two, and the three are stacked.
    """
    turns, items = imported("pandalm", folder / "WeOpenML__PandaLM")
    table = long(turns, items)
    humans = table[table["rater"].str.startswith("annotator")]
    wide = humans.pivot_table(index="item", columns="rater", values="vote", aggfunc="first")
    names = sorted(wide.columns)
    parts = []
    for held in names:
        rest = [name for name in names if name != held]
        part = wide[rest].set_axis(["one human", "another"], axis=1)
        parts.append(part.assign(label=wide[held], item=wide.index + f" / {held}"))
    question = items["question"]
    stacked = pd.concat(parts)
    stacked = stacked.assign(cluster=question.loc[stacked.index].to_numpy()).reset_index(drop=True)
    whole = wide.assign(label=items.loc[wide.index, "label"], cluster=question.loc[wide.index])
    whole = whole.rename_axis("item").reset_index()
    return {
        "PandaLM, 3 humans on their majority": as_ratings(whole),
        "PandaLM, 2 humans on the third": as_ratings(stacked),
    }


def llmbar(folder: Path) -> dict[str, Ratings]:
    """Read the judges' verdicts in the plain prompt, and GPT-4's under every prompt, both in the first order."""
    votes = pd.read_csv(folder / "derived" / "llmbar_votes.csv.gz")
    last = votes.groupby(["subset", "item", "judge", "strategy"])["step"].transform("max")
    votes = votes[votes["step"] == last]
    votes = votes.assign(item=votes["subset"] + "/" + votes["item"].astype(str), vote=votes["winner_order_F"])
    votes["vote"] = votes["vote"].where(votes["vote"].isin([1, 2]))
    rating = votes["strategy"].str.startswith("Rating")
    plain = votes[(votes["strategy"] == "Vanilla") & ~rating].assign(rater=lambda d: d["judge"])
    gpt4 = votes[(votes["judge"] == "GPT-4") & ~rating].assign(rater=lambda d: d["strategy"])
    return {
        "LLMBar, judges": as_ratings(plain[["item", "rater", "vote", "label"]]),
        "LLMBar, GPT-4's prompts": as_ratings(gpt4[["item", "rater", "vote", "label"]]),
    }


def slm7() -> dict[str, Ratings]:
    """Read the seven agents of small models, before they talk and after."""
    debates = load_slm7()
    return {f"slm7, round {r}": as_ratings(debates, round_number=r) for r in (1, 3)}


def slm7_by_model() -> dict[tuple[str, int], Ratings]:
    """Read the same by model, whose agents are alike: (model, round)."""
    debates = load_slm7()
    model = np.array([group.partition("/")[2] for group in debates.groups or ()])
    return {
        (str(name), r): as_ratings(debates.select(model == name), round_number=r)
        for name in np.unique(model)
        for r in (1, 3)
    }


def juries(folder: Path) -> dict[str, Ratings]:
    """Return every jury by name."""
    return {**prd(folder), **pandalm(folder), **llmbar(folder), **slm7()}


def kappa_of_decided(ratings: Ratings) -> dict[str, Any]:
    """Return how the plurality of all votes meets the label where it decides: items, accuracy, Cohen's kappa."""
    assert ratings.label is not None
    counts = ratings.counts
    decided = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
    kept = decided & (ratings.label >= 0) & (counts.sum(axis=1) > 0)
    q = len(ratings.categories)
    verdict, label = counts[kept].argmax(axis=1), ratings.label[kept]
    table = np.bincount(verdict * q + label, minlength=q * q).reshape(q, q) / kept.sum()
    agreed, chance = float(np.trace(table)), float(table.sum(axis=0) @ table.sum(axis=1))
    return {
        "decided_items": int(kept.sum()),
        "decided_accuracy": agreed,
        "kappa": (agreed - chance) / (1 - chance),
    }
