"""Exports of other tools: shapes of public files with contents of our own, hostile ones, and the way there and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import d3stats
from d3stats.cli import app
from d3stats.inference import as_pairwise, as_ratings, as_run
from d3stats.inference.bias import as_judgments
from d3stats.log import read_log
from d3stats.log.copies import write_jsonl
from d3stats.log.importers import ImportSummary, import_log
from d3stats.run import read_items

RNG = np.random.default_rng(11)


def lines(*rows: Any) -> str:
    return "\n".join(json.dumps(row) for row in rows) + "\n"


def imported(folder: Path, name: str, file: str, content: str, **options: Any) -> tuple[Path, ImportSummary]:
    (folder / file).write_text(content, encoding="utf-8")
    log = folder / "log.jsonl"
    return log, import_log(name, folder / file, log, overwrite=True, **options)


# ------------------------------------------------------------------------------------------------ pairs

MODELS = (("alpha", "beta"), ("beta", "gamma"), ("alpha", "gamma"))


def pair_line(question: int, one: str, two: str, first: str, second: str, turn: int = 1) -> dict[str, Any]:
    return {
        "question_id": question, "model_1": one, "model_2": two, "g1_winner": first, "g2_winner": second,
        "judge": ["judge-x", "pair-v2"], "turn": turn, "g1_judgment": "first seen", "g2_judgment": "second seen",
    }  # fmt: skip


def mt_rows() -> list[dict[str, Any]]:
    words = ("model_1", "model_2", "tie")
    return [
        pair_line(q, one, two, *(str(RNG.choice(words)) for _ in range(2)), turn=turn)
        for q in range(81, 95)
        for one, two in MODELS
        for turn in (1, 2)
    ]


def test_mt_bench_keeps_order_tie_and_contestants(tmp_path: Path) -> None:
    rows = mt_rows()
    log, summary = imported(tmp_path, "mt-bench", "judge-x_pair.jsonl", lines(*rows))
    assert (summary.n_turns, summary.n_missing_votes) == (2 * len(rows), 0)
    read = as_judgments(log)
    # First-slot wins, counted from the file alone: model_1 is shown first in game 1, model_2 in game 2.
    first = sum((row["g1_winner"] == "model_1") + (row["g2_winner"] == "model_2") for row in rows)
    second = sum((row["g1_winner"] == "model_2") + (row["g2_winner"] == "model_1") for row in rows)
    assert int(((read.vote == read.order) & (read.vote >= 0)).sum()) == first
    assert int(((read.vote == 1 - read.order) & (read.vote >= 0)).sum()) == second
    ties = sum((row["g1_winner"] == "tie") + (row["g2_winner"] == "tie") for row in rows)
    assert len(read) - first - second == ties
    assert len(read.clusters) == 14
    assert len(read.items) == len(rows)
    assert read.judges == ("judge-x",)


def test_position_bias_of_mt_bench_is_that_of_a_table_of_its_verdicts(tmp_path: Path) -> None:
    rows = mt_rows()
    log, _ = imported(tmp_path, "mt-bench", "x_pair.jsonl", lines(*rows))
    letter = {"model_1": "A", "model_2": "B", "tie": "tie"}
    table = pd.DataFrame(
        [
            (f"{k}", row["question_id"], order, letter[row[key]])
            for k, row in enumerate(rows)
            for order, key in (("AB", "g1_winner"), ("BA", "g2_winner"))
        ],
        columns=["item", "cluster", "order", "vote"],
    )  # fmt: skip
    found, expected = (d3stats.bias(source).to_frame() for source in (log, table))
    np.testing.assert_allclose(found["value"].astype(float), expected["value"].astype(float))
    np.testing.assert_allclose(found["low"].astype(float), expected["low"].astype(float))


def test_a_log_of_pairs_is_ranked_as_a_table_of_its_judgments(tmp_path: Path) -> None:
    rows = mt_rows()
    log, _ = imported(tmp_path, "mt-bench", "x_pair.jsonl", lines(*rows))
    table = pd.DataFrame(
        [
            (str(k), row["question_id"], *(row[name] for name in shown), row.get(row[key], row[key]))
            for k, row in enumerate(rows)
            for shown, key in ((("model_1", "model_2"), "g1_winner"), (("model_2", "model_1"), "g2_winner"))
        ],
        columns=["item", "cluster", "first", "second", "winner"],
    )
    found, expected = (as_pairwise(source) for source in (log, table))
    assert found.contestants == expected.contestants == ("alpha", "beta", "gamma")
    counts = [
        pd.Series(zip(pairs.first, pairs.second, pairs.outcome, strict=True)).value_counts().to_dict()
        for pairs in (found, expected)
    ]
    assert counts[0] == counts[1]
    assert len(found.clusters) == len(expected.clusters) == 14


def test_an_unreadable_judgment_is_missing_and_counted(tmp_path: Path) -> None:
    rows = [pair_line(81, "alpha", "beta", "error", "tie"), pair_line(82, "alpha", "beta", "model_1", "tie")]
    log, summary = imported(tmp_path, "mt-bench", "x_pair.jsonl", lines(*rows))
    assert summary.n_missing_votes == 1
    assert (
        "1 of 4 judgments has no winner and no vote, the first at x_pair.jsonl, line 1, game 1"
        in summary.notes
    )
    assert read_log(log).turns["error"].dropna().tolist() == ["no_winner"]


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a"), ("1", "a"), ("model_a", "model_b"), ("B", "A")])
def test_models_called_like_the_two_sides_have_the_position_bias_of_others(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    won = RNG.choice(["model_1", "model_2", "tie"], size=(30, 2))
    found = []
    for k, models in enumerate([("m", "n") if names[0] < names[1] else ("n", "m"), names]):
        (tmp_path / str(k)).mkdir()
        rows = [pair_line(q, *models, *each) for q, each in enumerate(won.tolist())]
        log, _ = imported(tmp_path / str(k), "mt-bench", "x_pair.jsonl", lines(*rows))
        found.append(d3stats.position_bias(log, rng=1))
    assert str(found[0]) == str(found[1])
    assert "n = 30 in 30 clusters" in str(found[1])


def test_arena_hard_exchanges_the_places_in_game_two(tmp_path: Path) -> None:
    rows = [
        {"question_id": "a", "model": "mine", "judge": "j", "games": [{"score": "A>>B"}, {"score": "A>B"}]},
        {"question_id": "b", "model": "mine", "judge": "j", "games": [{"score": "A=B"}, {"score": "B>>A"}]},
        {"question_id": "c", "model": "mine", "judge": "j", "games": [{"score": None}, {"score": "B>A"}]},
    ]
    log, summary = imported(tmp_path, "arena-hard", "mine.jsonl", lines(*rows), baseline="base")
    turns = read_log(log).turns.merge(read_log(log).items, on="debate")
    votes = dict(zip(zip(turns["cluster"], turns["first"], strict=True), turns["vote"], strict=True))
    assert votes == {
        ("a", "base"): "base", ("a", "mine"): "mine", ("b", "base"): "tie", ("b", "mine"): "base",
        ("c", "base"): None, ("c", "mine"): "base",
    }  # fmt: skip
    assert "1 A>>B and 1 B>>A count as A>B and B>A; how far one is better is left out" in summary.notes
    new = [
        {
            "uid": "a",
            "baseline": "base",
            "category": "hard",
            **{k: v for k, v in rows[0].items() if k != "question_id"},
        }
    ]
    again, _ = imported(tmp_path, "arena-hard", "new.jsonl", lines(*new))
    assert read_log(again).turns["vote"].tolist() == ["base", "mine"]


def test_a_null_game_of_arena_hard_is_a_missing_judgment(tmp_path: Path) -> None:
    scores = ["A<B", "A<<B", "B<A", "B<<A"]
    rows = [
        {"uid": k, "model": "mine", "judge": "j", "baseline": "base", "games": [{"score": score}, None]}
        for k, score in enumerate(scores)
    ]
    log, summary = imported(tmp_path, "arena-hard", "mine.jsonl", lines(*rows))
    turns = read_log(log).turns.merge(read_log(log).items, on="debate")
    shown = turns[turns["first"] == "base"].sort_values("cluster")
    assert shown["vote"].tolist() == ["mine", "mine", "base", "base"]
    assert turns[turns["first"] == "mine"]["vote"].isna().all()
    assert (
        "4 of 8 judgments have no winner and no vote, the first at mine.jsonl, line 1, game 2"
        in summary.notes
    )
    assert any("1 A>>B and 1 B>>A count as A>B and B>A" in n for n in summary.notes)


def note(source: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {**source, **changed}


ANNOTATION = {
    "instruction": "Name a tree.", "output_1": "Oak.", "generator_1": "ref", "output_2": "An old elm.",
    "generator_2": "mine", "dataset": "short", "annotator": "weighted", "preference": 1.0,
}  # fmt: skip


def test_alpaca_eval_has_no_order_unless_the_file_says_so(tmp_path: Path) -> None:
    rows = [
        note(ANNOTATION, instruction=f"Name tree {k}.", preference=value)
        for k, value in enumerate([1, 2.0, 1.5, 0, None, 1.49, 1.93])
    ]
    log, summary = imported(tmp_path, "alpaca-eval", "annotations.json", json.dumps(rows), text=True)
    records = [json.loads(line) for line in log.read_text().splitlines()]
    votes = [record.get("vote") for record in records if record["type"] == "turn"]
    assert votes == ["ref", "mine", "tie", "tie", None, "ref", "mine"]
    assert not any("first" in record for record in records)
    assert any(
        "2 preferences between 1 and 2 are votes for the nearer output, such as 1.49" in n
        for n in summary.notes
    )
    with pytest.raises(ValueError, match="a position audit needs verdicts with their order"):
        d3stats.bias(log)
    switched = [note(row, is_switched_outputs=k % 2 == 0) for k, row in enumerate(rows)]
    log, _ = imported(tmp_path, "alpaca-eval", "annotations.json", json.dumps(switched))
    items = [json.loads(line) for line in log.read_text().splitlines() if '"type":"item"' in line]
    assert [item["first"] for item in items] == ["mine", "ref"] * 3 + ["mine"]


def test_both_orders_of_alpaca_eval_keep_candidates_with_their_names(tmp_path: Path) -> None:
    rows = [note(ANNOTATION, is_switched_outputs=switched) for switched in (True, False)]
    log, _ = imported(tmp_path, "alpaca-eval", "annotations.json", json.dumps(rows), text=True)
    items = [json.loads(line) for line in log.read_text().splitlines()[1:] if '"item"' in line]
    for item in items:
        assert dict(zip(item["answers"], item["candidates"], strict=False)) == {
            "ref": "Oak.",
            "mine": "An old elm.",
        }


# ------------------------------------------------------------------------------------------------ lm-eval


def sample(doc: int, value: Any, answer: Any = "18", target: Any = "18", **more: Any) -> dict[str, Any]:
    return {
        "doc_id": doc, "doc": {"question": "?"}, "target": target, "arguments": {"gen_args_0": {"arg_0": "What?"}},
        "resps": [[answer]], "filtered_resps": [answer], "filter": "strict-match", "metrics": ["exact_match"],
        "exact_match": value, "doc_hash": f"h{doc}", **more,
    }  # fmt: skip


def gsm(values: np.ndarray[Any, Any]) -> list[dict[str, Any]]:
    return [sample(k, float(v), "$18.00" if v else "7") for k, v in enumerate(values)]


def test_a_run_of_lm_eval_has_the_mean_of_its_metric_and_pairs_by_document(tmp_path: Path) -> None:
    logs = []
    right = [RNG.random(40) < share for share in (0.5, 0.7)]
    for name, values in zip("ab", right, strict=True):
        (tmp_path / name).mkdir()
        file = "samples_gsm8k_2025-01-02T03-04-05.678901.jsonl"
        log, _ = imported(tmp_path / name, "lm-eval", file, lines(*gsm(values)))
        assert as_run(log).value.mean() == pytest.approx(values.mean())
        logs.append(log)
    table = [
        pd.DataFrame({"item": [f"gsm8k/{k}" for k in range(40)], "correct": v.astype(int)}) for v in right
    ]
    found, expected = (d3stats.compare(*each, names=["a", "b"]).to_frame() for each in (logs, table))
    for column in ("value", "low", "high"):
        np.testing.assert_allclose(found[column].astype(float), expected[column].astype(float))


def test_one_filter_and_one_metric_must_be_chosen(tmp_path: Path) -> None:
    rows = [row for k in range(6) for row in (sample(k, k % 2), sample(k, 1.0, filter="flexible-extract"))]
    with pytest.raises(
        ValueError,
        match=r"filter must be given where there are several; got 'strict-match', 'flexible-extract'; choose one with "
        r"filter= \(--filter NAME\)",
    ):
        imported(tmp_path, "lm-eval", "samples_x.jsonl", lines(*rows))
    log, summary = imported(tmp_path, "lm-eval", "samples_x.jsonl", lines(*rows), filter="strict-match")
    assert as_run(log).value.tolist() == [0, 1] * 3
    assert "6 of 12 lines are of other filters, such as 'flexible-extract': left out" in summary.notes
    with pytest.raises(
        ValueError, match=r"filter must be one of .*; got filter='strict-mach'; did you mean 'strict-match'"
    ):
        imported(tmp_path, "lm-eval", "samples_x.jsonl", lines(*rows), filter="strict-mach")
    two = [sample(k, 1, metrics=["exact_match", "f1"], f1=0.25 * k) for k in range(5)]
    with pytest.raises(
        ValueError, match="metric must be given where there are several; got 'exact_match', 'f1'"
    ):
        imported(tmp_path, "lm-eval", "samples_x.jsonl", lines(*two))
    log, summary = imported(tmp_path, "lm-eval", "samples_x.jsonl", lines(*two), metric="f1")
    assert as_run(log, value="score:response").value.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert any("compare A B --value score:response" in each for each in summary.notes)


@pytest.mark.parametrize("metric", ["wer", "ter", "cer", "perplexity", "brier_score"])
def test_a_metric_whose_lower_value_is_better_is_no_vote(tmp_path: Path, metric: str) -> None:
    rows = [sample(k, 1, metrics=[metric], **{metric: float(k % 2)}) for k in range(4)]
    log, summary = imported(tmp_path, "lm-eval", "samples_x.jsonl", lines(*rows))
    assert read_log(log).turns["vote"].isna().all()
    assert as_run(log, value="score:response").value.tolist() == [0, 1, 0, 1]
    (note,) = [each for each in summary.notes if "lower is better" in each]
    assert note.startswith("WARNING: lower is better; ")
    assert not any("a 0/1 metric decides" in each for each in summary.notes)


def test_the_sentence_on_a_metric_of_0_and_1_is_for_those_alone(tmp_path: Path) -> None:
    for value, expected in ((1.0, True), (0.5, False)):
        rows = [sample(k, value) for k in range(4)]
        (tmp_path / str(value)).mkdir()
        _, summary = imported(tmp_path / str(value), "lm-eval", "samples_x.jsonl", lines(*rows))
        assert any("a 0/1 metric decides" in each for each in summary.notes) is expected


def test_two_runs_of_one_task_are_named(tmp_path: Path) -> None:
    files = [f"samples_gsm8k_2025-01-0{day}T03-04-05.678901.jsonl" for day in (2, 3)]
    for folder in ("flat", "deep/model"):
        (tmp_path / folder).mkdir(parents=True)
        for file in files:
            (tmp_path / folder / file).write_text(lines(*gsm(np.array([1, 0, 1]))))
    summary = d3stats.import_log("lm-eval", tmp_path / "flat", tmp_path / "log.jsonl")
    (note,) = [each for each in summary.notes if "2 runs of one task" in each]
    assert note.startswith(
        f"WARNING: {files[0]} and {files[1]} are 2 runs of one task, 'gsm8k', and all are read"
    )
    with pytest.raises(ValueError, match=r"doc_id must occur once.*runs of one task: import them one by one"):
        d3stats.import_log("lm-eval", tmp_path / "deep", tmp_path / "deep.jsonl")
    other = d3stats.import_log("lm-eval", tmp_path / "flat" / files[0], tmp_path / "one.jsonl")
    assert not any("runs of one task" in each for each in other.notes)


def test_likelihoods_of_choices_become_grades(tmp_path: Path) -> None:
    rows = [
        sample(k, 1 - k % 2, filtered_resps=[["-1.5", "False"], ["-0.5", "True"]], target=1, filter="none")
        for k in range(4)
    ]
    log, summary = imported(tmp_path, "lm-eval", "samples_arc.jsonl", lines(*rows))
    assert read_log(log).turns["vote"].tolist() == ["correct", "incorrect"] * 2
    assert as_run(log).value.tolist() == [1, 0, 1, 0]
    assert any("a vote is the grade by 'exact_match'" in each for each in summary.notes)


def test_repeats_are_votes_of_a_panel(tmp_path: Path) -> None:
    rows = [
        sample(k, 0.0, filtered_resps=[["18", "18", "9" if k else "18"]], filter="none") for k in range(3)
    ]
    log, summary = imported(tmp_path, "lm-eval", "samples_gsm.jsonl", lines(*rows))
    right, cast = d3stats.open(log).trajectories().successes_trials()
    assert (right.sum(), cast.sum()) == (7, 9)
    assert any("documents have up to 3 repeats" in each for each in summary.notes)


def test_an_answer_that_no_filter_found_counts_as_in_the_harness_and_is_said(tmp_path: Path) -> None:
    rows = [*gsm(np.array([1, 0, 1])), sample(3, 0.0, "[invalid]"), sample(4, float("nan"))]
    log, summary = imported(tmp_path, "lm-eval", "samples_gsm.jsonl", lines(*rows))
    assert as_run(log).value.tolist()[:4] == [1, 0, 1, 0]
    assert any("1 of 5 answers are '[invalid]'" in each for each in summary.notes)
    assert any(
        "1 of 5 values of 'exact_match' is missing, the first at samples_gsm.jsonl, line 5" in n
        for n in summary.notes
    )
    dropped = as_run(log, missing_values=["[invalid]"]).value
    assert np.nanmean(dropped) == pytest.approx(2 / 3)


def test_a_text_that_equals_the_target_and_counts_wrong_makes_votes_grades(tmp_path: Path) -> None:
    rows = [*gsm(np.array([1, 0, 1])), sample(3, 0.0)]
    log, _ = imported(tmp_path, "lm-eval", "samples_gsm.jsonl", lines(*rows))
    assert read_log(log).turns["vote"].tolist() == ["correct", "incorrect", "correct", "incorrect"]


# ------------------------------------------------------------------------------------------------ ratings

JUDGES = ("helpful", "grounded", "safe")
SCORES = RNG.integers(1, 6, (12, 3))


def promptfoo() -> str:
    rows = [
        {
            "testIdx": k, "promptIdx": 0, "provider": {"id": "p", "label": "model"}, "prompt": {"raw": "Q?"},
            "vars": {"x": k}, "success": True, "score": 1,
            "gradingResult": {"pass": True, "score": 1, "componentResults": [
                {"pass": bool(SCORES[k, j] > 2), "score": int(SCORES[k, j]), "reason": "seen",
                 "assertion": {"type": "llm-rubric", "metric": name}} for j, name in enumerate(JUDGES)]},
        }
        for k in range(12)
    ]  # fmt: skip
    return json.dumps({"evalId": "e", "results": {"version": 3, "results": rows}})


def deepeval() -> str:
    cases = [
        {"name": f"case {k}", "input": "Q?", "success": True, "metricsData": [
            {"name": name, "score": float(SCORES[k, j]), "threshold": 3, "success": bool(SCORES[k, j] > 2),
             "reason": "seen", "evaluationModel": "m"} for j, name in enumerate(JUDGES)]}
        for k in range(12)
    ]  # fmt: skip
    return json.dumps({"testCases": cases})


def langfuse() -> str:
    rows = [
        {"id": f"{k}-{j}", "traceId": f"t{k:02d}", "observationId": None, "name": name, "dataType": "NUMERIC",
         "value": int(SCORES[k, j]), "source": "EVAL", "comment": "seen"}
        for k in range(12) for j, name in enumerate(JUDGES)
    ]  # fmt: skip
    return json.dumps({"data": rows, "meta": {"page": 1}})


def langsmith() -> str:
    return lines(*(
        {"id": f"{k}-{j}", "run_id": f"r{k:02d}", "key": name, "score": float(SCORES[k, j]), "value": None,
         "comment": None, "feedback_source": {"type": "model"}}
        for k in range(12) for j, name in enumerate(JUDGES)
    ))  # fmt: skip


def event(name: str, value: dict[str, Any], **own: Any) -> dict[str, Any]:
    return {
        "eventName": "gen_ai.evaluation.result",
        "attributes": [
            {"key": "gen_ai.evaluation.name", "value": {"stringValue": name}},
            {"key": "gen_ai.evaluation.score.value", "value": value},
        ],
        **own,
    }


def otel() -> str:
    return lines(*(
        {"resourceLogs": [{"scopeLogs": [{"logRecords": [
            event(name, {"doubleValue": float(SCORES[k, j])}, traceId=f"t{k:02d}", spanId="s")
            for j, name in enumerate(JUDGES)]}]}]}
        for k in range(12)
    ))  # fmt: skip


EXPORTS: dict[str, tuple[str, Callable[[], str]]] = {
    "promptfoo": ("results.json", promptfoo),
    "deepeval": ("run.json", deepeval),
    "langfuse": ("scores.json", langfuse),
    "langsmith": ("feedback.jsonl", langsmith),
    "otel": ("events.jsonl", otel),
}


@pytest.mark.parametrize("name", list(EXPORTS))
def test_scores_of_judges_are_the_ratings_of_a_panel(name: str, tmp_path: Path) -> None:
    file, content = EXPORTS[name]
    log, summary = imported(tmp_path, name, file, content())
    assert (summary.n_debates, summary.n_turns, summary.n_missing_votes) == (12, 36, 0)
    ratings = as_ratings(log)
    at = [ratings.raters.index(judge) for judge in JUDGES]
    numbers = np.array([float(c) for c in ratings.categories])[ratings.codes[:, at]]
    assert sorted(map(tuple, numbers)) == sorted(map(tuple, SCORES.astype(float)))
    table = pd.DataFrame(SCORES, columns=JUDGES)[sorted(JUDGES)].assign(item=[f"i{k:02d}" for k in range(12)])
    found, expected = (
        d3stats.agreement(source, weights="quadratic", rng=1).to_frame() for source in (log, table)
    )
    np.testing.assert_allclose(found["value"].astype(float), expected["value"].astype(float))


@pytest.mark.parametrize("name", list(EXPORTS))
def test_a_log_that_is_written_again_has_equal_numbers(name: str, tmp_path: Path) -> None:
    file, content = EXPORTS[name]
    log, _ = imported(tmp_path, name, file, content())
    write_jsonl(read_log(log), tmp_path / "again.jsonl")
    one, two = (as_ratings(path) for path in (log, tmp_path / "again.jsonl"))
    assert (one.raters, one.categories, one.items) == (two.raters, two.categories, two.items)
    assert (one.codes == two.codes).all()


@pytest.mark.parametrize("name", ["promptfoo", "deepeval"])
def test_labels_may_be_the_votes(name: str, tmp_path: Path) -> None:
    file, content = EXPORTS[name]
    _, summary = imported(tmp_path, name, file, content())
    assert any(
        "36 of 36 ratings have a score and a label" in each and "--votes label" in each
        for each in summary.notes
    )
    log, _ = imported(tmp_path, name, file, content(), votes="label")
    counts = read_log(log).turns["vote"].value_counts()
    assert counts["pass"] == int((SCORES > 2).sum())


def test_people_and_judges_of_one_name_are_told_apart(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"{k}{source}{author}",
            "traceId": f"t{k}",
            "name": "ok",
            "value": 1.0,
            "source": source,
            "authorUserId": author,
        }
        for k in range(3)
        for source, author in (("EVAL", None), ("ANNOTATION", "u1"), ("ANNOTATION", "u2"))
    ]
    log, _ = imported(tmp_path, "langfuse", "scores.jsonl", lines(*rows))
    turns = read_log(log).turns
    assert set(turns["agent"]) == {"ok (EVAL)", "ok (ANNOTATION, u1)", "ok (ANNOTATION, u2)"}
    assert turns.groupby("role").size().to_dict() == {"human": 6, "judge": 3}


def test_copies_are_left_out_and_repeated_ratings_are_other_judges(tmp_path: Path) -> None:
    one = {"id": "x", "run_id": "r1", "key": "ok", "score": 1.0, "value": None}
    log, summary = imported(
        tmp_path, "langsmith", "f.jsonl", lines(one, one, {**one, "id": "y", "score": 0.5})
    )
    assert read_log(log).turns[["agent", "vote"]].values.tolist() == [["ok", "1"], ["ok (2)", "0.5"]]
    assert any("1 copy of a rating with the same id is left out" in each for each in summary.notes)
    assert any("1 repeated rating is read as another judge's, NAME (2)" in each for each in summary.notes)
    with pytest.raises(
        ValueError, match=r"an id must name one rating; got 'x' with other content at .* 1 and .* 2"
    ):
        imported(tmp_path, "langsmith", "f.jsonl", lines(one, {**one, "score": 0.0}))


def test_a_score_that_is_not_a_number_is_missing_and_counted(tmp_path: Path) -> None:
    rows = [{"run_id": f"r{k}", "key": "ok", "score": float("nan") if k == 1 else k} for k in range(3)]
    log, summary = imported(tmp_path, "langsmith", "f.jsonl", lines(*rows))
    assert summary.n_missing_votes == 1
    assert any(
        "1 of 3 ratings has no vote (not a number), the first at f.jsonl, feedback 2" in n
        for n in summary.notes
    )
    assert read_log(log).turns["vote"].tolist() == ["0", None, "2"]


def test_categories_of_langfuse_are_votes_in_words(tmp_path: Path) -> None:
    rows = [
        {
            "id": str(k),
            "traceId": f"t{k}",
            "name": "tone",
            "dataType": "CATEGORICAL",
            "value": k,
            "stringValue": word,
        }
        for k, word in enumerate(("warm", "cold"))
    ]
    log, _ = imported(tmp_path, "langfuse", "s.jsonl", lines(*rows))
    assert read_log(log).turns["vote"].tolist() == ["warm", "cold"]


def test_events_of_spans_and_whole_numbers_as_texts_are_read(tmp_path: Path) -> None:
    span = {
        "traceId": "t", "spanId": "s",
        "events": [{**event("rel", {"intValue": "4"}), "name": "gen_ai.evaluation.result"}, {"name": "exception"}],
    }  # fmt: skip
    del span["events"][0]["eventName"]  # type: ignore[attr-defined]
    whole = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    log, summary = imported(tmp_path, "otel", "spans.json", json.dumps(whole))
    assert read_log(log).turns[["debate", "agent", "vote"]].values.tolist() == [["t/s", "rel", "4"]]
    assert any(
        "1 of 2 events and log records of spans.json are no gen_ai.evaluation.result" in n
        for n in summary.notes
    )


def test_tests_without_a_graded_assertion_are_counted(tmp_path: Path) -> None:
    data = json.loads(promptfoo())
    data["results"]["results"][4]["gradingResult"] = None
    _, summary = imported(tmp_path, "promptfoo", "results.json", json.dumps(data))
    assert any(
        "1 of 12 results have no graded assertion and are left out, the first at results.json, result 5" in n
        for n in summary.notes
    )


# ------------------------------------------------------------------------------------------------ items


def test_items_of_chateval_are_items_of_a_debate(tmp_path: Path) -> None:
    rows = [
        {"question_id": k, "question": f"Q{k}?", "response": {"m1": f"one {k}", "m2": f"two {k}"}}
        for k in (1, 2)
    ]
    log, summary = imported(tmp_path, "chateval", "test.json", json.dumps(rows), text=True)
    assert (summary.n_items, summary.n_turns) == (2, 0)
    items = read_items(log)
    assert [item.candidates for item in items] == [("one 1", "two 1"), ("one 2", "two 2")]
    folder = tmp_path / "faireval"
    folder.mkdir()
    (folder / "question.jsonl").write_text(
        lines(*({"question_id": k, "text": f"Q{k}?", "category": "c"} for k in (1, 2, 3)))
    )
    for model, said in (("m1", "one"), ("m2", "two")):
        answers = ({"question_id": k, "text": f"{said} {k}", "model_id": model} for k in (1, 2))
        (folder / f"answer_{model}.jsonl").write_text(lines(*answers))
    again = import_log("chateval", folder, tmp_path / "fair.jsonl", text=True)
    assert [item.candidates for item in read_items(tmp_path / "fair.jsonl")] == [
        item.candidates for item in items
    ]
    assert any("1 of 3 questions lack an answer and are left out, such as 3" in each for each in again.notes)


# ------------------------------------------------------------------------------------------------ hostile


def arena(games: list[dict[str, Any]], **more: Any) -> str:
    return lines({"uid": 1, "model": "m", "judge": "j", "games": games, **more})


def feedback(score: Any, run: str | None = "r") -> str:
    return lines({"run_id": run, "key": "k", "score": score})


def question(models: str, times: int = 1) -> str:
    return json.dumps([{"question_id": 1, "question": "?", "response": dict.fromkeys(models, "x")}] * times)


HOSTILE: dict[str, tuple[str, str, str, dict[str, Any], str]] = {
    "pair without a judge": (
        "mt-bench",
        "x_pair.jsonl",
        lines({"question_id": 1}),
        {},
        "line 1 must have question_id, model_1",
    ),
    "unknown winner": (
        "mt-bench",
        "x_pair.jsonl",
        lines(pair_line(1, "a", "b", "A", "tie")),
        {},
        "line 1, g1_winner must be one of model_1, model_2, tie, error; got 'A'",
    ),
    "a judgment twice": (
        "mt-bench",
        "x_pair.jsonl",
        lines(*[pair_line(1, "a", "b", "tie", "tie")] * 2),
        {},
        "a judge must judge the two contestants of an item once in an order; got 'judge-x'",
    ),
    "a model against itself": (
        "mt-bench",
        "x_pair.jsonl",
        lines(pair_line(1, "a", "a", "tie", "tie")),
        {},
        "two different names",
    ),
    "a model without a name": (
        "mt-bench",
        "x_pair.jsonl",
        lines({**pair_line(1, "a", "b", "tie", "tie"), "model_2": None}),
        {},
        "model_2 must be a text that is not blank, or a whole number; got None",
    ),
    "a model called tie": (
        "mt-bench",
        "x_pair.jsonl",
        lines(pair_line(1, "a", "tie", "tie", "tie")),
        {},
        "a name that says no tie",
    ),
    "nothing": ("mt-bench", "x_pair.jsonl", "\n", {}, "one line or more"),
    "cut off": ("mt-bench", "x_pair.jsonl", '{"question_id": 1,', {}, "must hold one JSON document per line"),
    "no baseline": (
        "arena-hard",
        "m.jsonl",
        arena([{"score": "A>B"}]),
        {},
        r"baseline must be given where the file does not name it, as m.jsonl, line 1; got none; .*--baseline NAME",
    ),
    "another baseline": (
        "arena-hard",
        "m.jsonl",
        arena([{"score": "A>B"}], baseline="b"),
        {"baseline": "c"},
        "baseline must be 'b', as m.jsonl, line 1 says; got baseline='c'",
    ),
    "unknown letters": (
        "arena-hard",
        "m.jsonl",
        arena([{"score": "A?B"}]),
        {"baseline": "b"},
        "one of A>>B, A>B, A=B, B=A, B>A, B>>A, or null; got 'A[?]B'",
    ),
    "three games": (
        "arena-hard",
        "m.jsonl",
        arena([{"score": "A>B"}] * 3),
        {"baseline": "b"},
        "one or two games",
    ),
    "preference of 3": (
        "alpaca-eval",
        "annotations.json",
        json.dumps([note(ANNOTATION, preference=3)]),
        {},
        r"0 \(a tie\), or from 1 to 2; got 3",
    ),
    "no preference": (
        "alpaca-eval",
        "annotations.json",
        json.dumps([{"instruction": "x"}]),
        {},
        "must have instruction, generator_1",
    ),
    "an empty list": ("alpaca-eval", "annotations.json", "[]", {}, "a list that is not empty"),
    "the same doc_id": (
        "lm-eval",
        "samples_x.jsonl",
        lines(sample(1, 1), sample(1, 0)),
        {},
        "doc_id must occur once in a file and filter",
    ),
    "no target": (
        "lm-eval",
        "samples_x.jsonl",
        lines({"doc_id": 1}),
        {},
        "must have doc_id, target, filtered_resps",
    ),
    "a metric in words": (
        "lm-eval",
        "samples_x.jsonl",
        lines(sample(1, "good")),
        {},
        "exact_match must be a finite number; got 'good'",
    ),
    "no metric": (
        "lm-eval",
        "samples_x.jsonl",
        lines({"doc_id": 1, "target": "a", "filtered_resps": ["a"]}),
        {},
        "a metric that is a number",
    ),
    "no results": (
        "promptfoo",
        "r.json",
        json.dumps({"results": {"results": []}}),
        {},
        "a list that is not empty",
    ),
    "a score in words": ("langsmith", "f.jsonl", feedback("high"), {}, "a finite number or null; got 'high'"),
    "an infinite score": (
        "langsmith",
        "f.jsonl",
        '{"run_id": "r", "key": "k", "score": Infinity}',
        {},
        "a finite number or null; got inf",
    ),
    "feedback without a run": (
        "langsmith",
        "f.jsonl",
        feedback(1, None),
        {},
        "run_id must be a text that is not blank, or a whole number; got None",
    ),
    "labels that are not there": (
        "langsmith",
        "f.jsonl",
        feedback(1),
        {"votes": "label"},
        "votes='label' needs labels",
    ),
    "a score of nothing": (
        "langfuse",
        "s.jsonl",
        lines({"name": "x", "value": 1}),
        {},
        "a score with one of observationId, traceId",
    ),
    "no events": (
        "otel",
        "e.json",
        json.dumps({"resourceLogs": []}),
        {},
        "events gen_ai.evaluation.result; got 'none'",
    ),
    "no telemetry": (
        "otel",
        "e.json",
        json.dumps({"data": []}),
        {},
        "an object with resourceLogs or resourceSpans",
    ),
    "an event without a name": (
        "otel",
        "e.json",
        json.dumps(
            {
                "resourceLogs": [
                    {
                        "scopeLogs": [
                            {
                                "logRecords": [
                                    {
                                        "eventName": "gen_ai.evaluation.result",
                                        "traceId": "t",
                                        "attributes": [],
                                    }
                                ]
                            }
                        ]
                    }
                ]
            }
        ),
        {},
        "gen_ai.evaluation.name must be given",
    ),
    "a case without a name": (
        "deepeval",
        "d.json",
        json.dumps({"testCases": [{"input": "x"}]}),
        {},
        "must have name",
    ),
    "three answers": ("chateval", "t.json", question("abc"), {}, "answers must be those of two models"),
    "a question twice": ("chateval", "t.json", question("ab", 2), {}, "an identifier that occurs once"),
}


@pytest.mark.parametrize("case", list(HOSTILE))
def test_a_wrong_shape_is_refused_in_one_line_and_leaves_no_log(case: str, tmp_path: Path) -> None:
    name, file, content, options, message = HOSTILE[case]
    with pytest.raises(ValueError, match=message) as error:
        imported(tmp_path, name, file, content, **options)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "log.jsonl").exists()


def test_the_options_of_the_formats_work_in_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "samples_x.jsonl").write_text(lines(sample(1, 1), sample(1, 0, filter="other")))
    words = ["import", "lm-eval", str(tmp_path / "samples_x.jsonl"), "-o", str(tmp_path / "log.jsonl")]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 1
    assert "--filter NAME" in " ".join(refused.output.split())
    done = CliRunner().invoke(app, [*words, "--filter", "other"])
    assert done.exit_code == 0, done.output
    assert "1 of 2 lines are of other filters" in " ".join(done.output.split())
    wrong = CliRunner().invoke(app, [*words, "--overwrite", "--votes", "label"])
    assert "options of lm-eval must be among: text, pattern, filter, metric; got votes='label'" in " ".join(
        wrong.output.split()
    )
    listed = CliRunner().invoke(app, ["formats"]).output
    assert all(
        name in listed for name in (*EXPORTS, "lm-eval", "mt-bench", "alpaca-eval", "arena-hard", "chateval")
    )
