"""Evaluations of Inspect with several scorers: a panel of judges, and one scorer that is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner, Result

import d3stats
from d3stats.cli import app
from d3stats.inference import as_run

N = 30
RNG = np.random.default_rng(5)
TRUTH = RNG.random(N) < 0.6
VALUES: dict[str, list[Any]] = {
    name: ["C" if right ^ wrong else "I" for right, wrong in zip(TRUTH, RNG.random(N) < error, strict=True)]
    for name, error in (("strict", 0.1), ("mild", 0.2), ("lax", 0.3))
}


def scorer_of(name: str, values: list[Any], answers: list[str] | None = None) -> Any:
    from inspect_ai.scorer import Score, Target, accuracy, scorer
    from inspect_ai.solver import TaskState

    @scorer(metrics=[accuracy()], name=name)
    def make() -> Any:
        async def score(state: TaskState, target: Target) -> Score:
            k = int(str(state.sample_id)[1:])
            return Score(value=values[k], answer=answers[k] if answers else None, explanation="seen")

        return score

    return make()


@pytest.fixture(scope="module")
def evaluate(tmp_path_factory: pytest.TempPathFactory) -> Any:
    import inspect_ai
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def reply(*_: Any) -> Any:
        output = ModelOutput.from_content("mockllm/model", "18")
        output.usage = ModelUsage(input_tokens=3, output_tokens=1, total_tokens=4)
        return output

    def run(scorers: Any) -> str:
        samples = [Sample(id=f"q{k:02d}", input="?", target="18") for k in range(N)]
        task = inspect_ai.Task(samples, name="judged", scorer=scorers)
        model = get_model("mockllm/model", custom_outputs=reply, memoize=False)
        folder = str(tmp_path_factory.mktemp("inspect"))
        (log,) = inspect_ai.eval(
            task, model=model, log_dir=folder, display="none", log_level="critical", log_realtime=False
        )
        assert log.status == "success"
        return str(log.location)

    return run


@pytest.fixture(scope="module")
def three(evaluate: Any) -> str:
    return str(evaluate([scorer_of(name, values) for name, values in VALUES.items()]))


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def table() -> pd.DataFrame:
    return pd.DataFrame({"item": [f"q{k:02d}" for k in range(N)], **VALUES})


def test_each_scorer_is_a_judge_of_the_panel(three: str) -> None:
    wide = table()[["item", *sorted(VALUES)]].replace({"C": "correct", "I": "incorrect"})
    frames = [
        [d3stats.agreement(source, rng=1).to_frame(), d3stats.panel(source, rng=1).judges]
        for source in (three, wide)
    ]
    for found, expected in zip(*frames, strict=True):
        pd.testing.assert_frame_equal(found, expected)


def test_an_imported_panel_has_the_numbers_of_the_log_itself(three: str, tmp_path: Path) -> None:
    summary = d3stats.import_log("inspect", three, tmp_path / "log.jsonl")
    assert (summary.n_debates, summary.n_turns) == (N, 3 * N)
    direct, again = (
        d3stats.agreement(source, rng=1).to_frame() for source in (three, tmp_path / "log.jsonl")
    )
    pd.testing.assert_frame_equal(direct, again)


@pytest.mark.parametrize("name", list(VALUES))
def test_a_named_scorer_gives_its_own_accuracy(three: str, name: str) -> None:
    share = float(np.mean([value == "C" for value in VALUES[name]]))
    log = d3stats.open(three, scorer=name)
    right, known = log.trajectories().successes_trials()
    assert right.sum() / known.sum() == pytest.approx(share)
    assert as_run(three, scorer=name).value.mean() == pytest.approx(share)
    note = next(note for note in log.trajectories().notes if "Inspect" in note)
    assert repr(name) in note
    assert "2 other scorers not read" in note


def test_a_graded_log_has_no_warning_that_its_labels_are_one_word(three: str) -> None:
    assert not [f for f in d3stats.open(three, scorer="lax").trajectories().findings() if "label" in f.kind]


def test_an_analysis_of_one_scorer_names_those_there_are(three: str) -> None:
    for command in (("fit", three), ("compare", three, three, "--name", "a", "--name", "b")):
        said = " ".join(run(*command).output.split())
        assert "'strict'" in said or "(strict, mild, lax)" in said
        assert "--scorer" in said
        assert run(*command, "--scorer", "mild").exit_code == 0
    wrong = " ".join(run("fit", three, "--scorer", "milt").output.split())
    assert "scorer must be one of the log's ('strict', 'mild', 'lax'); got scorer='milt'" in wrong
    assert "did you mean 'mild'?" in wrong


def test_value_and_scorer_may_not_name_two_scorers(three: str) -> None:
    with pytest.raises(ValueError, match="value must be left out, or be 'strict' as scorer is"):
        as_run(three, value="mild", scorer="strict")
    assert as_run(three, value="mild").value.tolist() == as_run(three, scorer="mild").value.tolist()


def test_a_scorer_is_refused_where_there_is_no_log_of_inspect(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "t.csv", index=False)
    for command in ("agreement", "doctor"):
        assert "scorer must be left out for files" in " ".join(
            run(command, str(tmp_path / "t.csv"), "--scorer", "x").output.split()
        )
    (tmp_path / "t.json").write_text(json.dumps(table().to_dict("records")))
    with pytest.raises(ValueError, match="scorer must be left out for files that are no logs of Inspect"):
        d3stats.agreement(tmp_path / "t.json", scorer="x")


def test_every_command_that_reads_a_log_takes_a_scorer() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    takes = {name: {o for p in command.params for o in p.opts} for name, command in commands.items()}
    assert {n for n, options in takes.items() if "--read" in options and "--scorer" not in options} == set()


def test_scores_that_are_no_grades_are_counted_and_shown(evaluate: Any) -> None:
    odd = ["unsure" if k % 10 == 0 else value for k, value in enumerate(VALUES["mild"])]
    path = evaluate([scorer_of("strict", VALUES["strict"]), scorer_of("odd", odd)])
    (note,) = [note for note in d3stats.agreement(path).notes if "Inspect" in note]
    assert "3 of 60 scores are neither C, P, I nor a number, such as 'unsure' of 'odd'" in note
    assert note.severity == "warning"
    kept = table().drop(columns=["mild", "lax"]).assign(odd=odd).replace({"unsure": None})
    found = d3stats.agreement(path, missing_values=["unsure"], rng=1).to_frame()
    expected = d3stats.agreement(kept, rng=1).to_frame()
    np.testing.assert_allclose(found["value"], expected["value"])


def test_words_of_all_scorers_are_their_answers(evaluate: Any) -> None:
    """Where no score is a grade or a number, the words are what the scorers answer: nothing is odd."""
    words = [["A better", "B better"][k % 2] for k in range(N)]
    path = evaluate([scorer_of("one", words), scorer_of("two", words[::-1])])
    (note,) = [note for note in d3stats.agreement(path).notes if "Inspect" in note]
    assert "neither" not in note


def test_a_multi_scorer_is_one_scorer_and_says_what_it_reduced(evaluate: Any) -> None:
    from inspect_ai.scorer import mode_score, multi_scorer

    reduced = multi_scorer([scorer_of(name, values) for name, values in VALUES.items()], mode_score())
    path = evaluate(reduced)
    mode = [max(set(each), key=each.count) for each in map(list, zip(*VALUES.values(), strict=True))]
    assert as_run(path).value.mean() == pytest.approx(np.mean([value == "C" for value in mode]))
    note = next(note for note in d3stats.open(path).trajectories().notes if "Inspect" in note)
    assert "'multi_scorer' reduces 3 scorers (strict, mild, lax) to one score by 'mode'" in note
    assert "for a panel list them in the task" in note


@pytest.mark.parametrize("answers", [None, ["17"] * N])
def test_a_partial_score_is_no_right_vote_and_a_warning_counts_it(evaluate: Any, answers: Any) -> None:
    values = ["P" if k < 2 else "C" if k < 20 else "I" for k in range(N)]
    path = evaluate(scorer_of("graded", values, answers))
    log = d3stats.open(path)
    right, known = log.trajectories().successes_trials()
    assert (right.sum(), known.sum()) == (18, N)
    assert as_run(path).value.mean() == pytest.approx(19 / N)
    (note,) = [note for note in log.trajectories().notes if "partial" in note]
    assert note == "WARNING: 2 partial scores (P) count as wrong; Inspect's own accuracy counts them one half"


def test_the_scorer_decides_about_an_answer_with_the_text_of_the_target(
    evaluate: Any, tmp_path: Path
) -> None:
    values = ["C" if k < 20 else "I" for k in range(N)]
    path = evaluate(scorer_of("strict", values, ["18"] * N))
    said = (
        "10 of 30 scores of 'strict' are not correct although the answer is the target's text, such as 'I' of"
    )
    imported = d3stats.import_log("inspect", path, tmp_path / "log.jsonl")
    assert any(said in note for note in imported.notes)
    for source in (path, tmp_path / "log.jsonl"):
        right, known = d3stats.open(source).trajectories().successes_trials()
        assert (right.sum(), known.sum()) == (20, N)
    assert any(said in note for note in d3stats.open(path).trajectories().notes)
    shown = run("doctor", path).output
    assert "100 %" not in shown
