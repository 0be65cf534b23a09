"""Foreign files of the wrong shape, the registry, and writing a log: no real data needed."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from layers import for_each

from d3stats.log.importers import available, import_log, load
from d3stats.log.schema import Item, Turn, Verdict

NAMES = [
    "alignbench",
    "alpaca-eval",
    "arena-hard",
    "auto-j",
    "chateval",
    "critic-actor",
    "d3-judge",
    "deepeval",
    "eot",
    "faireval",
    "gsm-nested",
    "inspect",
    "judgebench",
    "langfuse",
    "langsmith",
    "llmbar",
    "lm-eval",
    "mad",
    "mt-bench",
    "otel",
    "pandalm",
    "prd",
    "promptfoo",
    "slm-multiagent",
    "topical-chat",
    "truthfulqa",
    "truthification",
]


def say(*texts: str) -> list[dict[str, str]]:
    return [
        part
        for text in texts
        for part in ({"role": "user", "content": "?"}, {"role": "assistant", "content": text})
    ]


NESTED = {
    "How many?": [[say(r"\boxed{4}", r"\boxed{5}"), say("none", r"\boxed{5.0}")], "4 + 1\n#### 5"],
    "How far?": [[say(r"\boxed{1}", "7 or 8"), say("1", "2")], "#### 1,000"],
}


def write(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def turns(records: Iterable[Item | Turn | Verdict]) -> list[Turn]:
    return [record for record in records if isinstance(record, Turn)]


def test_every_format_is_found_and_says_what_it_is() -> None:
    found = available()
    assert list(found) == NAMES
    for name, importer in found.items():
        assert importer.name == name
        assert "licence" in importer.source
        assert importer.title
        assert importer.options["text"] is False


def test_an_unknown_format_lists_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match=r"name must be a known format \('alignbench', .*'truthification'\); got"
    ):
        load("nested")


def test_an_unknown_option_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match="options of gsm-nested must be among: text, reading, pattern; got texts=True"
    ):
        import_log("gsm-nested", write(tmp_path / "a.json", NESTED), tmp_path / "log.jsonl", texts=True)


def test_an_imported_log_reads_back_as_it_was_written(tmp_path: Path) -> None:
    from d3stats.trajectories import Trajectories

    log = tmp_path / "log.jsonl"
    summary = import_log("gsm-nested", write(tmp_path / "a.json", NESTED), log)
    assert (summary.n_items, summary.n_debates, summary.n_turns, summary.n_missing_votes) == (2, 2, 8, 1)
    trajectories = Trajectories.from_log(log)
    assert trajectories.votes.shape == (2, 2, 2)
    assert trajectories.successes_trials()[0].tolist() == [[0, 2], [0, 0]]
    assert trajectories.successes_trials()[1].tolist() == [[1, 2], [2, 2]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "log.jsonl"]


def test_a_failed_import_leaves_no_log_behind(tmp_path: Path) -> None:
    broken = {**NESTED, "Broken?": [[], "no number"]}
    with pytest.raises(ValueError, match="question 3"):
        import_log("gsm-nested", write(tmp_path / "a.json", broken), tmp_path / "log.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_an_existing_log_is_replaced_only_on_request(tmp_path: Path) -> None:
    source, log = write(tmp_path / "a.json", NESTED), write(tmp_path / "log.jsonl", "precious")
    with pytest.raises(FileExistsError, match="destination must not exist"):
        import_log("gsm-nested", source, log)
    assert log.read_text() == "precious"
    import_log("gsm-nested", source, log, overwrite=True)
    assert log.read_text() != "precious"


def test_texts_are_kept_only_on_request(tmp_path: Path) -> None:
    source = write(tmp_path / "a.json", NESTED)
    assert all(turn.text is None for turn in turns(load("gsm-nested").records(source)))
    assert turns(load("gsm-nested").records(source, text=True))[0].text == r"\boxed{4}"


def test_a_box_of_two_numbers_is_a_missing_vote_and_the_debate_keeps_its_turn(tmp_path: Path) -> None:
    data = {"Q": [[say(r"\boxed{7 or 8}")], "#### 8"]}
    (turn,) = turns(load("gsm-nested").records(write(tmp_path / "a.json", data)))
    assert turn.vote is None


def test_the_same_wording_is_the_same_question_in_every_file(tmp_path: Path) -> None:
    first = write(tmp_path / "gsm_M_persona_a+b_agents2_rounds2.json", NESTED)
    second = write(tmp_path / "gsm_N_persona_a+b_agents2_rounds2.json", NESTED)
    items = [
        record
        for path in (first, second)
        for record in load("slm-multiagent").records(path)
        if isinstance(record, Item)
    ]
    assert len({item.question for item in items}) == 2
    assert len({item.debate for item in items}) == 4


def test_an_archive_and_its_folder_give_the_same_records(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    write(folder / "gsm_M_persona_a+b_agents2_rounds2.json", NESTED)
    archive = tmp_path / "logs.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, arcname="logs")
    records = load("slm-multiagent").records
    assert list(records(archive)) == list(records(folder))


SHAPES = [
    ("gsm-nested", "a.json", "{broken", "a.json must be JSON; got .* at line 1, column 2"),
    ("gsm-nested", "a.json", [1], r"a.json must be an object of questions; got \[1\]"),
    (
        "gsm-nested",
        "a.json",
        {"Q": [1, 2, 3]},
        r"question 1 must be a list \[contexts, right answer\]; got \[1, 2, 3\]",
    ),
    (
        "gsm-nested",
        "a.json",
        {"Q": [[[{"role": "user"}]], "#### 1"]},
        "agent 1, message must be an object with role",
    ),
    (
        "gsm-nested",
        "a.json",
        {"Q": [[say("1")], "soon"]},
        "right answer must be a readable answer; got 'soon'",
    ),
    (
        "critic-actor",
        "a.json",
        {"Q": {"ground_truth": "#### 1"}},
        "question 1 must have .*; got no all_rounds_data",
    ),
    (
        "critic-actor",
        "a.json",
        {
            "Q": {
                "ground_truth": "#### 1",
                "all_rounds_data": [[{"solution": "1", "score": {"logic_score": "high"}}]],
            }
        },
        "logic_score must be a finite number; got 'high'",
    ),
    ("slm-multiagent", "a.json", NESTED, "file name must be BENCHMARK_MODEL_persona"),
    (
        "slm-multiagent",
        "mmlu_M_persona_a_agents2_rounds2.json",
        NESTED,
        "right answer must be a readable answer",
    ),
    ("eot", "a.jsonl", "", "file name must be Sample_BENCHMARK_EoT_MODEL.jsonl; got 'a.jsonl'"),
    (
        "eot",
        "Sample_CSQA_EoT_m.jsonl",
        '{"question": 1}\n',
        "line 1 must have .*; got no answer, response_list",
    ),
    ("eot", "Sample_CSQA_EoT_m.jsonl", "\n{", "one JSON document per line; got .* in line 2"),
    (
        "eot",
        "Sample_CSQA_EoT_m.jsonl",
        '{"question": "Q", "answer": "F", "response_list": []}',
        "answer must be a readable answer; got 'F'",
    ),
    ("mad", "0.json", {"players": {}}, "0.json must have .*; got no model_name"),
    ("llmbar", "Natural.json", [], "file name Natural.json must be SUBSET__JUDGE__STRATEGY.json"),
    ("llmbar", "N__J__S.json", [{"input": "", "label": 3, "results": []}], "label must be 1 or 2; got 3"),
    (
        "llmbar",
        "N__J__S.json",
        [{"input": "", "label": 1, "results": []}],
        "results must be a list that is not empty",
    ),
    ("llmbar", "votes.csv", "subset,item\n", "votes.csv must have the columns .*; got none named"),
    ("pandalm", "pandalm-7b-testset-v1.json", [], "source must hold testset-v1.json; got"),
    ("pandalm", "testset-v1.json", [{"idx": 0}], "idx 0 must have .*; got no instruction"),
    ("prd", "a.jsonl", "{}", "file name a.jsonl must be ratings-R"),
    ("d3-judge", "a.xlsx", "text", "a.xlsx must be an Excel workbook"),
    ("faireval", "human.txt", "CHATGPT\nBARD\n", "line 2 must be one of CHATGPT, VICUNA13B, TIE; got 'BARD'"),
    (
        "truthification",
        "game_1.json",
        {"config": {}},
        "must have config, rounds, metrics; got no rounds, metrics",
    ),
    ("truthification", "a.csv", "game,round\n", "a.csv must have the columns"),
    (
        "truthification",
        "a.csv",
        "game,oracle_budget,seed,round,judge_property_accuracy,judge_rule_accuracy,decision_quality,"
        "final_selection_accuracy\ng.json,0,1,first,0,0,0,0\n",
        "line 2, round must be a finite number; got 'first'",
    ),
]


@pytest.mark.parametrize(("name", "file", "content", "message"), SHAPES)
def test_a_file_of_the_wrong_shape_is_refused_by_name_requirement_and_got(
    tmp_path: Path, name: str, file: str, content: Any, message: str
) -> None:
    path = write(tmp_path / file, content)
    with pytest.raises(ValueError, match=message):
        list(load(name).records(path))


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_folder_and_an_absent_source_are_errors_not_empty_logs(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="source must hold"):
        list(load(name).records(tmp_path))
    with pytest.raises(FileNotFoundError, match="source must exist"):
        list(load(name).records(tmp_path / "absent"))


SINGLE = {
    "slm-multiagent": "mmlu_M_persona_a_agents2_rounds2.json",
    "eot": "Sample_CSQA_EoT_m.jsonl",
    "llmbar": "N__J__S.json",
    "pandalm": "testset-v1.json",
    "prd": "ratings-R.jsonl",
    "d3-judge": "a.xlsx",
    "faireval": "human.txt",
    "truthfulqa": "a.csv",
}
"""A name of a file that the importer takes, where it looks at the name."""
HEADS = {
    "truthfulqa": "Type,Category,Question,Best Answer,Best Incorrect Answer,Correct Answers,Incorrect Answers,Source\n",
    "truthification": "game,oracle_budget,seed,round,judge_property_accuracy,judge_rule_accuracy,decision_quality,"
    "final_selection_accuracy\n",
    "llmbar": "subset,item,judge,strategy,order,vote,label\n",
}
"""Tables without a row."""


@for_each("content", ["", "\n \n", "[]", "{}", "head"])
@for_each("name", NAMES)
def test_a_file_without_a_debate_is_an_error_and_not_an_empty_log(
    tmp_path: Path, name: str, content: str
) -> None:
    head = content == "head"
    source = tmp_path / (f"{name}.csv" if head else SINGLE.get(name, "a.json"))
    source.write_text(HEADS.get(name, "") if head else content)
    with pytest.raises(ValueError, match=r"must (be|hold|have|start) .*; got |must have"):
        import_log(name, source, tmp_path / "log.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


@pytest.mark.parametrize("name", ["gsm-nested", "critic-actor", "slm-multiagent", "mad"])
@pytest.mark.parametrize(
    "value", [None, 3, "text", [], {}, {"Q": None}, {"Q": []}, {"Q": {}}, {"Q": [[None], "1"]}]
)
def test_no_json_value_of_another_shape_escapes_as_a_key_or_type_error(
    tmp_path: Path, name: str, value: Any
) -> None:
    path = write(tmp_path / "gsm_M_persona_a_agents2_rounds2.json", value)
    with pytest.raises(ValueError, match="must"):
        list(load(name).records(path))


def test_a_truncated_archive_is_an_error_not_a_shorter_log(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for model in "ABC":
        write(folder / f"gsm_{model}_persona_a+b_agents2_rounds2.json", NESTED)
    whole = tmp_path / "whole.tar.gz"
    with tarfile.open(whole, "w:gz") as tar:
        tar.add(folder, arcname="logs")
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    with pytest.raises(ValueError, match="source must be a readable tar archive"):
        list(load("slm-multiagent").records(cut))


def mad(declared: list[str], judge: list[str] | None = None, final: str = "One.") -> dict[str, Any]:
    def player(*texts: str) -> list[dict[str, str]]:
        return [{"role": "system", "content": "s"}, *say(*texts)]

    rounds = range(len(declared))
    players = {
        "Affirmative side": player("base", *(f"for {i}" for i in rounds)),
        "Negative side": player(*(f"against {i}" for i in rounds)),
        "Moderator": player(*declared),
    }
    if judge is not None:
        players["Judge"] = player(*judge)
    return {"model_name": "m", "source": "S", "debate translation": final, "players": players}


def declare(preference: str, side: str) -> str:
    return str({"Whether there is a preference": preference, "Supported Side": side})


def test_the_moderators_declared_preference_is_the_vote_and_ends_the_debate(tmp_path: Path) -> None:
    path = write(tmp_path / "7.json", mad([declare("No", ""), declare("Yes", "Negative")]))
    records = list(load("mad").records(path))
    votes = [turn.vote for turn in turns(records) if turn.role == "moderator"]
    assert votes == ["no preference", "negative"]
    assert records[-1] == Verdict(
        debate="mad/7", decision="negative", round=2, stop_reason="moderator-preference"
    )
    assert sum(turn.role == "debater" for turn in turns(records)) == 4


@pytest.mark.parametrize(
    "declared", ["no JSON at all", declare("Yes", "Affirmative and Negative"), "[1]", "{'a': open('x')}"]
)
def test_a_moderator_who_names_no_single_side_has_a_missing_vote(tmp_path: Path, declared: str) -> None:
    records = list(load("mad").records(write(tmp_path / "7.json", mad([declared]))))
    assert [turn.vote for turn in turns(records) if turn.role == "moderator"] == [None]


@pytest.mark.parametrize(
    ("listed", "decision"),
    [
        ('Affirmative: "One."\nNegative: "Two."', "affirmative"),
        ('Affirmative: "Two."\nNegative: "One."', "negative"),
        ('Affirmative: "One."\nNegative: "One."', None),
        ('Affirmative: "One"\nNegative: "Two."', None),
        ('Translation candidate 1: "One."\nTranslation candidate 2: "Two."', None),
    ],
)
def test_the_judge_chose_a_side_only_when_its_labelled_words_are_the_final_ones(
    tmp_path: Path, listed: str, decision: str | None
) -> None:
    path = write(tmp_path / "7.json", mad([declare("No", "")], judge=[listed, "{}"]))
    verdict = list(load("mad").records(path))[-1]
    assert verdict == Verdict(debate="mad/7", decision=decision, round=1, stop_reason="judge")


def test_a_swapped_review_is_folded_to_the_pairs_own_numbering(tmp_path: Path) -> None:
    folder = tmp_path / "ratings-gpt4"
    folder.mkdir()
    row = '{"question_id": 1, "score": %d, "text": ""}\n'
    write(folder / "answer_bard-vs-answer_claude-gpt4-reviewer_threeclass.jsonl", row % 1)
    write(folder / "answer_claude-vs-answer_bard-gpt4-reviewer.jsonl", row % 1)
    found = {turn.agent: turn.vote for turn in turns(load("prd").records(tmp_path))}
    assert found == {"gpt4 (1-2)": "1", "gpt4 (2-1)": "2"}


def test_a_second_vote_of_the_same_reviewer_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "ratings-gpt35"
    folder.mkdir()
    row = '{"question_id": 1, "score": %d, "text": ""}\n'
    write(folder / "answer_a-vs-answer_b-gpt35-reviewer_threeclass.jsonl", row % 1 + row % 3)
    found = {turn.agent: turn.vote for turn in turns(load("prd").records(tmp_path))}
    assert found == {"gpt35 (1-2)": "1", "gpt35 (1-2) again": "tie"}


def test_the_table_of_llmbar_votes_may_be_gzipped_and_an_empty_vote_is_missing(tmp_path: Path) -> None:
    header = "subset,item,judge,strategy,step,label,winner_order_F,winner_order_T,score_1,score_2\n"
    table = header + "Natural,0,J,Swap,0,1,1,,,\nNatural,0,J,Swap,1,1,2,2,8,9\n"
    path = tmp_path / "votes.csv.gz"
    path.write_bytes(gzip.compress(table.encode()))
    found = [(turn.round, turn.agent, turn.vote) for turn in turns(load("llmbar").records(path))]
    assert found == [
        (1, "order 1-2", "1"),
        (1, "order 2-1", None),
        (2, "order 1-2", "2"),
        (2, "order 2-1", "2"),
    ]
