"""Real debates with known answers: the counts that a correct import gives, and why others differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from layers import sampled

from d3stats.log.importers import import_log, load
from d3stats.log.reader import read_log
from d3stats.log.schema import Item, Turn
from d3stats.trajectories import Trajectories

pytestmark = pytest.mark.real_data

NESTED = "nilgeoutim__CS546_MajorityErrorDebate"
SLM = "lferreiraMD__slm_multiagent_debate/results_hpc_gsm_mmlu_agents357_rounds3.tar.gz"

COUNTS = {
    "gsm_3_3_top100__918fa1ec": ([12, 9, 12, 67], [13, 5, 9, 73], [14, 7, 3, 76]),
    "gsm_3_3_top100__deb3db28": ([10, 9, 14, 67], [11, 4, 7, 78], [11, 1, 7, 81]),
    "gsm_v4_stateful_3_4_top_100_majority_error": (
        [44, 34, 12, 10],
        [53, 18, 11, 18],
        [57, 11, 5, 27],
        [56, 9, 10, 25],
    ),
    "gsm_v4_stateful_4_4_top_50_majority_error": (
        [25, 11, 4, 5, 5],
        [24, 7, 6, 5, 8],
        [27, 2, 6, 5, 10],
        [28, 0, 6, 3, 13],
    ),
    "gsm_critic_actor_3_5": ([41, 26, 19, 14], [47, 19, 5, 29], [51, 15, 5, 29], [58, 7, 4, 31]),
    "gsm_critic_actor_3_6": ([42, 24, 18, 16], [47, 10, 15, 28], [50, 7, 8, 35], [48, 4, 8, 40]),
}
POOLED_SEVEN = (
    [14, 15, 9, 7, 14, 11, 10, 80],
    [19, 9, 6, 7, 7, 6, 6, 100],
    [24, 6, 4, 6, 7, 6, 3, 104],
)


def tables(name: str, source: Path, **options: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Import without a file between: one frame of turns, one of items."""
    found = list(load(name).records(source, **options))
    items = pd.DataFrame([record.to_dict() for record in found if isinstance(record, Item)])
    turns = pd.DataFrame([record.to_dict() for record in found if isinstance(record, Turn)])
    return turns, items


def histogram(trajectories: Trajectories, n_agents: int) -> tuple[list[int], ...]:
    counts = trajectories.counts(missing="wrong")
    rows = []
    for played in counts.rounds:
        cells = counts[played]
        assert set(cells.trials) == {n_agents}
        row = np.zeros(n_agents + 1, dtype=int)
        row[cells.keys[:, 0]] = cells.weights.astype(int)
        rows.append(row.tolist())
    return tuple(rows)


@pytest.mark.parametrize("log", COUNTS)
def test_imported_gsm8k_debates_have_the_published_counts(data_dir: Path, log: str) -> None:
    name = "critic-actor" if "critic" in log else "gsm-nested"
    turns, items = tables(name, data_dir / NESTED / f"{log}.json")
    trajectories = Trajectories.from_frame(turns, items)
    assert histogram(trajectories, len(COUNTS[log][0]) - 1) == COUNTS[log]


def test_pooled_seven_agent_debates_have_the_published_counts(data_dir: Path) -> None:
    turns, items = tables("slm-multiagent", data_dir / SLM, agents=7)
    trajectories = Trajectories.from_frame(turns, items)
    assert trajectories.votes.shape == (160, 3, 7)
    assert len(trajectories.cluster_names) == 40
    assert histogram(trajectories, 7) == POOLED_SEVEN


def test_all_twenty_five_small_model_logs_share_their_forty_questions(data_dir: Path) -> None:
    turns, items = tables("slm-multiagent", data_dir / SLM)
    assert items["log"].nunique() == 25
    assert items["question"].nunique() == 40
    assert items.groupby("log").size().unique().tolist() == [20]
    assert items["debate"].is_unique
    assert len(turns) == 7380
    assert (turns["vote"].isna()).sum() == 426


def derived(data_dir: Path) -> pd.DataFrame:
    """The regex extraction of correctness, keyed like an import."""
    frame = pd.read_csv(data_dir / "derived" / "per_round_correct.csv")
    return frame.assign(item=frame["item"] + 1, agent="agent " + (frame["agent"] + 1).astype(str))


def compared(data_dir: Path, reading: str) -> pd.DataFrame:
    turns, items = tables("slm-multiagent", data_dir / SLM, reading=reading)
    turns = turns.merge(items[["debate", "label", "log"]], on="debate")
    run = turns["log"].str.extract(r"^(?P<benchmark>\w+?)_.*_agents(?P<n>\d)_")
    turns["log"] = run["benchmark"] + "_agents" + run["n"]
    turns["item"] = turns["debate"].str.rpartition("/")[2].astype(int)
    keys = ["log", "model", "item", "agent", "round"]
    both = turns.merge(derived(data_dir), on=keys, how="left", indicator="found")
    assert (both["found"] == "both").all()
    return both.assign(right=(both["vote"] == both["label"]), was_right=both["correct"] == 1)


def test_differences_from_the_regex_extraction_are_these_and_no_others(data_dir: Path) -> None:
    both = compared(data_dir, "asked")
    gsm = both["log"].str.startswith("gsm")
    assert (both["right"] == both["was_right"])[gsm].all()
    # Boxes with two numbers, a time or a formula: the extraction took the last number, and it was wrong.
    only_here = gsm & both["vote"].isna() & both["correct"].notna()
    assert only_here.sum() == 18
    assert not both["was_right"][only_here].any()
    # MMLU: "the answer is:\n\nD) 45,X", "ANSWER: B" and "option A" are read here; truncated texts are not.
    flips = both[~gsm & (both["right"] != both["was_right"])]
    assert flips.groupby(["vote", "label"], dropna=False).size().to_dict() == {
        ("A", "A"): 1,
        ("B", "B"): 3,
        ("D", "D"): 2,
        (np.nan, "B"): 1,
    }
    assert not flips["log"].str.endswith("7").any()


def test_the_strict_reading_changes_mmlu_counts_because_dismissed_letters_no_longer_win(
    data_dir: Path,
) -> None:
    both = compared(data_dir, "strict")
    mmlu = both["log"].str.startswith("mmlu")
    changed = both[
        mmlu & both["correct"].notna() & both["vote"].notna() & (both["right"] != both["was_right"])
    ]
    assert len(changed) > 50
    assert changed["right"].mean() > 0.9


def test_critic_scores_are_those_of_the_file(data_dir: Path) -> None:
    expected = pd.read_csv(data_dir / "derived" / "nilgeoutim_critic_scores.csv")
    turns, _ = tables("critic-actor", data_dir / NESTED)
    parts = turns["debate"].str.rpartition("/")
    turns = turns.assign(
        log=parts[0],
        item=parts[2].astype(int) - 1,
        agent=turns["agent"].str.removeprefix("agent ").astype(int) - 1,
        logic=[scores["solution"]["logic"] for scores in turns["scores"]],
        computation=[scores["solution"]["computation"] for scores in turns["scores"]],
    )
    both = turns.merge(expected, on=["log", "item", "agent", "round"], how="outer", indicator="found")
    assert (both["found"] == "both").all()
    assert (both["logic"] == both["logic_score"]).all()
    assert (both["computation"] == both["computation_score"]).all()


def test_the_same_gsm8k_question_has_one_name_in_every_repository(data_dir: Path) -> None:
    _, nested = tables("gsm-nested", data_dir / NESTED, pattern="gsm_3*.json")
    assert nested.groupby("log")["question"].nunique().tolist() == [100, 100]
    assert nested["question"].nunique() < 200


def test_eot_samples_are_fifty_items_of_eight_benchmarks_with_three_answers(data_dir: Path) -> None:
    turns, items = tables("eot", data_dir / "yinzhangyue__EoT")
    assert items.groupby("log").size().to_dict() == dict.fromkeys(
        ["AQuA", "AddSub", "CSQA", "GSM8K", "MultiArith", "SVAMP", "SingleEq", "StrategyQA"], 50
    )
    assert turns.groupby("debate").size().unique().tolist() == [3]
    assert turns["round"].unique().tolist() == [1]
    missing = turns["vote"].isna().groupby(turns["debate"].str.partition("/")[0]).sum()
    assert missing["StrategyQA"] > 0
    assert (missing[["AddSub", "GSM8K", "MultiArith", "SVAMP", "SingleEq"]] == 0).all()


def test_mad_holds_two_hundred_debates_ended_by_the_moderator_or_the_judge(data_dir: Path) -> None:
    source = data_dir / "Skytliang__Multi-Agents-Debate" / "CommonMT_MAD_Debate_Process.tar.gz"
    found = list(load("mad").records(source))
    verdicts = [record for record in found if record.type == "verdict"]
    assert len(verdicts) == 200
    reasons = pd.Series([verdict.stop_reason for verdict in verdicts]).value_counts().to_dict()
    assert reasons == {"judge": 164, "moderator-preference": 36}
    votes = pd.Series(
        [record.vote for record in found if isinstance(record, Turn) and record.role == "moderator"]
    )
    assert votes.value_counts(dropna=False).to_dict() == {
        "no preference": 709,
        "affirmative": 26,
        "negative": 9,
        np.nan: 1,
    }


def test_truthification_is_twenty_seven_games_of_ten_rounds(data_dir: Path) -> None:
    turns, items = tables("truthification", data_dir / "derived" / "truthification_rounds.csv")
    assert len(items) == 27
    assert items["question"].nunique() == 3
    trajectories = Trajectories.from_frame(turns, items)
    assert trajectories.scores is not None
    assert trajectories.scores.shape == (27, 10, 4)
    first = trajectories.scores[:, :, trajectories.sides.index("judge_property_accuracy")]
    assert not np.isnan(first).any()
    last = trajectories.scores[:, :, trajectories.sides.index("final_selection_accuracy")]
    assert np.isnan(last[:, :-1]).all()
    assert not np.isnan(last[:, -1]).any()


def test_the_raw_game_and_the_table_of_rounds_agree(data_dir: Path) -> None:
    raw, _ = tables("truthification", data_dir / "superkaiba__truthification")
    table, _ = tables("truthification", data_dir / "derived" / "truthification_rounds.csv")
    judge = raw[raw["role"] == "judge"].set_index(["debate", "round"])["scores"]
    assert judge.to_dict() == {
        key: table.set_index(["debate", "round"])["scores"][key] for key in judge.index
    }
    assert set(raw["agent"]) == {"Agent_A", "Agent_B", "judge"}


SOURCES = {
    "critic-actor": NESTED,
    "d3-judge": "abirharrasse__D3-Judge",
    "eot": "yinzhangyue__EoT",
    "faireval": "i-Eval__FairEval",
    "gsm-nested": f"{NESTED}/gsm_3_3_top100__918fa1ec.json",
    "llmbar": "princeton-nlp__LLMBar",
    "mad": "Skytliang__Multi-Agents-Debate/CommonMT_MAD_Debate_Process.tar.gz",
    "pandalm": "WeOpenML__PandaLM",
    "prd": "bcdnlp__PRD/vicuna80_ratings.tar.gz",
    "slm-multiagent": SLM,
    "truthification": "superkaiba__truthification",
}


@sampled("name", SOURCES, [k for k, name in enumerate(SOURCES) if k % 3 == 0 and name != "slm-multiagent"])
def test_every_real_log_survives_writing_and_strict_reading(
    data_dir: Path, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "log.jsonl"
    summary = import_log(name, data_dir / SOURCES[name], path)
    log = read_log(path)
    assert (len(log.items), len(log.turns)) == (summary.n_items, summary.n_turns)
    assert log.turns["vote"].isna().sum() == summary.n_missing_votes
    trajectories = Trajectories.from_log(path)
    assert trajectories.n_debates == summary.n_debates == summary.n_items
    turns, items = tables(name, data_dir / SOURCES[name])
    direct = Trajectories.from_frame(turns, items)
    # A reader may order debates as it likes.
    both = [t.select(np.argsort(np.array(t.debates))) for t in (trajectories, direct)]
    assert both[0].debates == both[1].debates
    for which in (0, 1):
        assert np.array_equal(both[0].successes_trials()[which], both[1].successes_trials()[which])
