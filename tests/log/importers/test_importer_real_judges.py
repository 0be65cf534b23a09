"""Real judge votes and human labels: the numbers that a correct analysis of an import gives."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from d3stats.log.importers import load
from d3stats.log.schema import Item, Turn

pytestmark = pytest.mark.real_data


@cache
def tables(name: str, source: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Import without a file between: one frame of turns, one of items indexed by debate."""
    found = list(load(name).records(source))
    items = pd.DataFrame([record.to_dict() for record in found if isinstance(record, Item)])
    turns = pd.DataFrame([record.to_dict() for record in found if isinstance(record, Turn)])
    return turns, items.set_index("debate")


def kappa(a: pd.Series, b: pd.Series) -> float:
    table = pd.crosstab(a, b, normalize=True)
    labels = table.index.union(table.columns)
    table = table.reindex(index=labels, columns=labels, fill_value=0.0)
    chance = float(table.sum(axis=1) @ table.sum(axis=0))
    return (float(np.trace(table)) - chance) / (1 - chance)


def plurality(votes: pd.Series) -> Any:
    counts = votes.value_counts()
    return counts.index[0] if len(counts) == 1 or counts.iloc[0] > counts.iloc[1] else None


@pytest.mark.parametrize("source", ["princeton-nlp__LLMBar", "derived/llmbar_votes.csv.gz"])
@pytest.mark.parametrize(
    ("judge", "accuracy", "consistency", "agreement"),
    [("GPT-4", 0.8449, 0.928, 0.657), ("PaLM2", 0.705, 0.723, 0.374)],
)
def test_llmbar_judges_have_the_published_accuracy_and_order_consistency(
    data_dir: Path, source: str, judge: str, accuracy: float, consistency: float, agreement: float
) -> None:
    turns, items = tables("llmbar", data_dir / source)
    votes = turns.join(items[["label", "log"]], on="debate")
    votes = votes[(votes["log"] == f"{judge}/Vanilla") & votes["vote"].notna()]
    assert (votes["vote"] == votes["label"]).mean() == pytest.approx(accuracy, abs=5e-4)
    orders = votes.pivot_table(index="debate", columns="agent", values="vote", aggfunc="first").dropna()
    assert (orders["order 1-2"] == orders["order 2-1"]).mean() == pytest.approx(consistency, abs=5e-4)
    # The published kappa is that of the first order alone, against the label.
    first = votes[votes["agent"] == "order 1-2"]
    assert kappa(first["vote"], first["label"]) == pytest.approx(agreement, abs=6e-4)


def test_llmbar_has_419_items_and_keeps_the_four_without_a_vote(data_dir: Path) -> None:
    turns, items = tables("llmbar", data_dir / "princeton-nlp__LLMBar")
    assert items.groupby("log").size().to_dict() == dict.fromkeys(
        ["GPT-4/Swap", "GPT-4/Vanilla", "PaLM2/Swap", "PaLM2/Vanilla"], 419
    )
    assert items["question"].nunique() == 419
    silent = turns["vote"].isna().groupby(turns["debate"]).all()
    assert silent.groupby(items["log"]).sum().to_dict() == {
        "GPT-4/Swap": 0,
        "GPT-4/Vanilla": 0,
        "PaLM2/Swap": 1,
        "PaLM2/Vanilla": 4,
    }


def test_llmbar_vanilla_against_cot_is_discordant_on_20_and_13_items(data_dir: Path) -> None:
    turns, items = tables("llmbar", data_dir / "derived" / "llmbar_votes.csv.gz")
    votes = turns[turns["agent"] == "order 1-2"].join(items[["label", "log", "question"]], on="debate")
    right = votes.assign(right=votes["vote"] == votes["label"]).pivot_table(
        index="question", columns="log", values="right", aggfunc="first"
    )
    vanilla, cot = right["GPT-4/Vanilla"].astype(bool), right["GPT-4/CoT"].astype(bool)
    only_vanilla, only_cot = int((vanilla & ~cot).sum()), int((~vanilla & cot).sum())
    assert (only_vanilla, only_cot) == (20, 13)
    assert binomtest(only_cot, only_vanilla + only_cot).pvalue == pytest.approx(0.296, abs=5e-4)


def test_raw_llmbar_files_and_the_table_of_votes_agree(data_dir: Path) -> None:
    raw, _ = tables("llmbar", data_dir / "princeton-nlp__LLMBar")
    table, _ = tables("llmbar", data_dir / "derived" / "llmbar_votes.csv.gz")
    keys = ["debate", "round", "agent"]
    both = raw.merge(table, on=keys, how="left", suffixes=("", "_table"), indicator="found")
    # The table leaves out the items of which neither order was answered.
    assert both.loc[both["found"] != "both", "vote"].isna().all()
    assert (both["found"] != "both").sum() == 10
    assert (both["vote"].fillna("") == both["vote_table"].fillna("")).all()


def test_pandalm_has_the_published_majorities_and_discordance(data_dir: Path) -> None:
    turns, items = tables("pandalm", data_dir / "WeOpenML__PandaLM")
    assert items["label"].value_counts().to_dict() == {"2": 472, "1": 422, "0": 105}
    assert items["question"].nunique() == 170
    votes = turns.pivot_table(index="debate", columns="agent", values="vote", aggfunc="first").join(
        items["label"]
    )
    assert votes["gpt-3.5-turbo"].isna().sum() == 25
    # The repository's convention: an answer that it calls garbage counts as a tie.
    gpt = votes["gpt-3.5-turbo"].fillna("0") == votes["label"]
    panda = votes["pandalm-7b"] == votes["label"]
    only_gpt, only_panda = int((gpt & ~panda).sum()), int((panda & ~gpt).sum())
    assert (only_gpt, only_panda) == (154, 111)
    assert binomtest(only_gpt, only_gpt + only_panda).pvalue == pytest.approx(0.00975, abs=5e-6)
    # Garbage as missing: pairs without a vote leave the comparison, and the conclusion weakens.
    cast = votes["gpt-3.5-turbo"].notna()
    assert (int((gpt & ~panda & cast).sum()), int((panda & ~gpt & cast).sum())) == (145, 104)


def test_pandalm_humans_have_the_published_kappas(data_dir: Path) -> None:
    turns, _ = tables("pandalm", data_dir / "WeOpenML__PandaLM")
    votes = turns.pivot_table(index="debate", columns="agent", values="vote", aggfunc="first")
    pairs = [("annotator1", "annotator2"), ("annotator1", "annotator3"), ("annotator2", "annotator3")]
    found = sorted(kappa(votes[a], votes[b]) for a, b in pairs)
    assert found == pytest.approx([0.852, 0.862, 0.879], abs=6e-4)


@pytest.fixture(scope="module")
def prd(data_dir: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    source = data_dir / "bcdnlp__PRD" / "vicuna80_ratings.tar.gz"
    turns, items = tables("prd", source)
    core = items[items["log"].str.startswith("vicuna80: ")]
    return turns[turns["debate"].isin(core.index)], core


def test_prd_is_eighty_questions_of_ten_pairs_with_one_or_three_humans(
    prd: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    turns, items = prd
    assert len(items) == 800
    assert items["question"].nunique() == 80
    assert items["label"].notna().sum() == 744
    humans = turns[turns["role"] == "human"].groupby("debate").size()
    assert humans.value_counts().to_dict() == {3: 480, 1: 320}


def test_gpt4_meets_the_human_plurality_as_published_in_the_sorted_order_of_a_pair(
    prd: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    turns, items = prd
    votes = turns.pivot_table(index="debate", columns="agent", values="vote", aggfunc="first")
    both = votes.join(items["label"]).dropna(subset=["label"])
    assert len(both) == 744
    assert (both["gpt4 (1-2)"] == both["label"]).mean() == pytest.approx(0.652, abs=5e-4)
    assert kappa(both["gpt4 (1-2)"], both["label"]) == pytest.approx(0.424, abs=5e-4)
    # Shown in the other order the same judge agrees more: the order is a convention that matters.
    assert (both["gpt4 (2-1)"] == both["label"]).mean() == pytest.approx(0.700, abs=5e-4)


def test_the_jury_of_all_reviews_meets_the_human_plurality_as_published(
    prd: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    turns, items = prd
    judges = turns[turns["role"] == "judge"]
    jury = judges.groupby("debate")["vote"].agg(plurality).rename("jury")
    both = items.join(jury).dropna(subset=["label", "jury"])
    assert len(both) == 704
    assert (both["jury"] == both["label"]).mean() == pytest.approx(0.754, abs=5e-4)
    assert kappa(both["jury"], both["label"]) == pytest.approx(0.545, abs=5e-4)
    # Ten votes a pair, except that GPT-3.5 reviewed gpt35 against gpt4 twice.
    assert judges.groupby("debate").size().value_counts().to_dict() == {10: 720, 12: 80}


def test_raw_prd_reviews_and_the_table_of_votes_agree(data_dir: Path) -> None:
    table = pd.read_csv(data_dir / "derived" / "prd_votes.csv")
    turns, _ = tables("prd", data_dir / "bcdnlp__PRD" / "vicuna80_ratings.tar.gz")
    assert len(turns) == len(table)
    swapped = table["answer1"] > table["answer2"]
    vote = table["score_1_2_3tie"].map({1: "1", 2: "2", 3: "tie"})
    vote = vote.where(~swapped, table["score_1_2_3tie"].map({1: "2", 2: "1", 3: "tie"}))
    low = table["answer1"].where(~swapped, table["answer2"])
    high = table["answer2"].where(~swapped, table["answer1"])
    debate = "prd/" + table["question_id"].astype(str) + "/" + low + "-vs-" + high
    expected = pd.DataFrame({"debate": debate, "agent": table["reviewer"], "vote": vote})
    found = turns.assign(agent=turns["agent"].str.partition(" ")[0])
    columns = ["debate", "agent", "vote"]
    assert expected.value_counts(columns).sort_index().equals(found.value_counts(columns).sort_index())


def test_d3_judge_has_the_published_pairs_judgments_and_battles(data_dir: Path) -> None:
    turns, items = tables("d3-judge", data_dir / "abirharrasse__D3-Judge")
    bench = items["log"].str.startswith("mt-bench: ")
    judgments = turns[turns["debate"].isin(items.index[bench])]
    assert (int(bench.sum()), len(judgments), int((~bench).sum())) == (1198, 3355, 199)
    assert set(judgments["vote"]) == {"A", "B"}
    assert items.loc[bench, "question"].nunique() == 80
    for_a = judgments["vote"].eq("A").groupby(judgments["debate"]).agg(["sum", "size"])
    k, n = for_a["sum"], for_a["size"]
    pairs, alike = n * (n - 1) / 2, (k * (k - 1) + (n - k) * (n - k - 1)) / 2
    assert alike.sum() / pairs.sum() == pytest.approx(0.744, abs=5e-4)
    battles = turns.loc[~turns["debate"].isin(items.index[bench]), "vote"]
    assert battles.value_counts().to_dict() == {"B": 69, "tie": 68, "A": 62}


def test_faireval_has_the_published_human_labels(data_dir: Path) -> None:
    turns, items = tables("faireval", data_dir / "i-Eval__FairEval")
    assert turns["vote"].value_counts().to_dict() == {"chatgpt": 41, "vicuna-13b": 25, "tie": 14}
    assert items["question"].tolist() == [f"vicuna80:{i}" for i in range(1, 81)]
    assert items["label"].isna().all()
