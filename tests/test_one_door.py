"""Whatever holds debates is taken by every function that reads a log, and the result does not depend on the form."""

from __future__ import annotations

import importlib
import inspect
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import for_each

import d3stats
from d3stats import Trajectories, as_trajectories, inference, planning, read_log
from d3stats.inference import bias
from d3stats.log import write_jsonl, write_parquet
from d3stats.log.importers import import_log
from d3stats.models.gaps.posterior import signed_gaps
from d3stats.models.gaps.wins import vote_wins
from d3stats.planning.prices import dollars_by_round, spending
from d3stats.stopping import from_text
from d3stats.worlds import Voter


def debates_table() -> pd.DataFrame:
    """Three judges named for the order in which they saw A and B, three rounds, two debates a question."""
    rng, sure = np.random.default_rng(4), np.random.default_rng(5)
    rows = []
    for d in range(24):
        truth = "AB"[d // 2 % 2]
        for r in (1, 2, 3):
            for agent, order in (("x (1-2)", 0), ("x (2-1)", 1), ("y (1-2)", 0)):
                right = rng.random() < 0.5 + 0.1 * r
                vote = truth if right else "AB"[order]
                points = {
                    "A": {"merit": float(rng.integers(1, 11))},
                    "B": {"merit": float(rng.integers(1, 11))},
                }
                rows.append(
                    (
                        f"d{d:02d}",
                        f"q{d // 2:02d}",
                        r,
                        agent,
                        vote,
                        truth,
                        points,
                        40 + 10 * r,
                        5 * r,
                        sure.integers(50, 101) / 100,
                    )
                )
    names = ["debate", "question", "round", "agent", "vote", "label", "scores", "tokens_in", "tokens_out",
             "confidence"]  # fmt: skip
    return pd.DataFrame(rows, columns=names)


RULES = ["fixed:1", "unanimity", "ks:0.3,patience=1"]

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "d3stats.replay": lambda log: d3stats.replay(log, RULES).to_frame(),
    "d3stats.scan": lambda log: d3stats.scan(log, RULES),
    "d3stats.plan": lambda log: d3stats.plan(log, max_loss=0.2, confidence=0.5, limit=False, n_draws=20, rng=1)
    .to_frame(),
    "d3stats.abstain": lambda log: d3stats.abstain(log, max_error=0.5).to_frame(),
    "d3stats.planning.label_value": lambda log: planning.label_value(log, "fixed:1").to_frame(),
    "d3stats.planning.pilot_sizes": lambda log: planning.pilot_sizes(
        log, campaign=500, sizes=[10], max_loss=0.2, confidence=0.5, n_draws=20, rng=1
    ).to_frame(),
    "d3stats.risk_controlled": lambda log: (
        d3stats.risk_controlled(log, RULES[:2], max_loss_vs_full=0.45, delta=0.2).to_frame()
    ),
    "d3stats.planning.conformal_risk_control": lambda log: planning.conformal_risk_control(
        log, RULES[:2], max_loss_vs_full=0.45
    ).to_frame(),
    "d3stats.fit": lambda log: d3stats.fit(log, n_components=1, n_boot=5, rng=1).to_frame(),
    "d3stats.calibrate": lambda log: d3stats.calibrate(Voter, log, n_rep=20, rng=1).to_frame(),
    "d3stats.fit_rounds": lambda log: d3stats.fit_rounds(log, n_components=1).to_frame(),
    "d3stats.martingale_test": lambda log: d3stats.martingale_test(log).drift,
    "d3stats.gap_posterior": lambda log: d3stats.gap_posterior(log).mean,
    "d3stats.signed_gap_posterior": lambda log: d3stats.signed_gap_posterior(log, scale=10).mean_points,
    "d3stats.report": lambda log: d3stats.report(log, n_boot=20).to_frame("rules"),
    "d3stats.agreement": lambda log: d3stats.agreement(log, n_boot=20, rng=1).to_frame(),
    "d3stats.cohen_kappa": lambda log: [
        d3stats.cohen_kappa(inference.as_ratings(log, raters=["x (1-2)", "y (1-2)"])).estimate.value
    ],
    "d3stats.jury_curve": lambda log: d3stats.jury_curve(log, rng=1).to_frame(),
    "d3stats.inference.effective_jurors": lambda log: inference.effective_jurors(log, rng=1).to_frame(),
    "d3stats.panel": lambda log: d3stats.panel(log, rng=1).judges,
    "d3stats.confidence": lambda log: d3stats.confidence(log, rng=1).bins,
    "d3stats.inference.dawid_skene": lambda log: inference.dawid_skene(log).judges,
    "d3stats.inference.glad": lambda log: inference.glad(log).judges,
    "d3stats.compare": lambda log: d3stats.compare(log, log, names=["one", "two"], n_boot=50, rng=1).to_frame(),
    "d3stats.position_bias": lambda log: d3stats.position_bias(log, rng=1).to_frame(),
    "d3stats.bias": lambda log: d3stats.bias(log, rng=1).to_frame(),
    "d3stats.planning.score_gaps": lambda log: planning.score_gaps(
        log, {f"d{d:02d}": "odd" if d // 2 % 2 else "even" for d in range(24)}
    ),
    "d3stats.scores": lambda log: planning.scores(log).means,
    "d3stats.inference.persona_effect": lambda log: inference.persona_effect(log, baseline="x").to_frame(),
    "d3stats.inference.as_run": lambda log: inference.as_run(log).value,
    "d3stats.inference.as_ratings": lambda log: inference.as_ratings(log).codes,
    "d3stats.inference.as_pairwise": lambda log: inference.as_pairwise(log).outcome,
    "d3stats.rank": lambda log: d3stats.rank(log, order=False).pairs,
    "d3stats.inference.fleiss_kappa": lambda log: [inference.fleiss_kappa(log, n_boot=20, rng=1).estimate.value],
    "d3stats.inference.gwet_ac": lambda log: [inference.gwet_ac(log, n_boot=20, rng=1).estimate.value],
    "d3stats.inference.krippendorff_alpha": lambda log: [inference.krippendorff_alpha(log, n_boot=20).estimate.value],
    "d3stats.inference.percent_agreement": lambda log: [inference.percent_agreement(log, n_boot=20).estimate.value],
    "d3stats.inference.bias.as_judgments": lambda log: bias.as_judgments(log).vote,
    "d3stats.inference.bias.each_judge": lambda log: bias.audits_frame(bias.each_judge(bias.position_bias, log, rng=1)),
    "d3stats.stopping.rounds_of": lambda log: [r.number for r in d3stats.stopping.rounds_of(log, 3)],
    "d3stats.stopping.batch_rounds": lambda log: np.stack([b.votes for b in d3stats.stopping.batch_rounds(log)]),
    "a rule's stop_rounds": lambda log: d3stats.Unanimity().stop_rounds(log).rounds,
    "a combined rule's stop_rounds": lambda log: from_text("ks:0.3,patience=1 | unanimity").stop_rounds(log).rounds,
    "a batch rule's stop_rounds": lambda log: from_text("ks:0.3,patience=1").stop_rounds(log).rounds,
    "KSStability.distances": lambda log: list(d3stats.KSStability(0.1).distances(log)[1:]),
    "signed_gaps": lambda log: signed_gaps(log),
    "vote_wins": lambda log: np.stack(vote_wins(log, ("A", "B"))),
    "dollars_by_round": lambda log: dollars_by_round(log, (1.0, 4.0)),
}  # fmt: skip
"""Each public function that reads a log, and what is compared of its result."""

LONG = {"d3stats.report", "d3stats.calibrate"}
"""Functions of a second or two: they read by `Opened`, as all functions do."""

SILENT = {
    "d3stats.gap_posterior": "reads scores, and returns the laws alone",
    "d3stats.signed_gap_posterior": "reads scores, and returns the laws alone",
    "d3stats.scores": "reads scores, which a row has beside a vote",
    "d3stats.planning.score_gaps": "reads scores, and returns a table alone",
    "d3stats.stopping.rounds_of": "plays the rounds and returns no result",
    "d3stats.stopping.batch_rounds": "plays the rounds and returns no result",
    "d3stats.rank": "refuses a vote for none of both and no tie",
    "d3stats.bias": "refuses a vote for none of both and no tie",
    "d3stats.position_bias": "refuses a vote for none of both and no tie",
    "d3stats.inference.as_pairwise": "refuses a vote for none of both and no tie",
    "d3stats.inference.bias.as_judgments": "refuses a vote for none of both and no tie",
    "d3stats.inference.bias.each_judge": "refuses a vote for none of both and no tie",
}
"""Functions that say nothing of votes that state an answer in other words."""


def notes_of(result: Any) -> list[str]:
    """Collect the notes of a result, or of each of several."""
    if isinstance(result, list):
        return [note for each in result for note in notes_of(each)]
    if isinstance(result, pd.DataFrame):
        return list(result.attrs.get("notes", ()))
    return [str(note) for note in getattr(result, "notes", ())]


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in LONG else ())
        for name in sorted(FUNCTIONS)
        if name.startswith("d3stats.") and name not in SILENT
    ],
)
def test_every_result_warns_of_votes_that_state_an_answer(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = debates_table()
    stated = table.index % 11 == 0
    table.loc[stated, "vote"] = "The answer is " + table.loc[stated, "label"] + "."
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_dict("records")), encoding="utf-8")
    room, _, function = name.rpartition(".")
    module, results = importlib.import_module(room), []
    original = getattr(module, function)

    def kept(*args: Any, **options: Any) -> Any:
        results.append(original(*args, **options))
        return results[-1]

    monkeypatch.setattr(module, function, kept)
    FUNCTIONS[name](str(path))
    assert any("The answer is" in note for note in notes_of(results))


NO_LOG = {
    "d3stats.count": "counts files one by one",
    "d3stats.count_log": "counts files in chunks",
    "d3stats.read_log": "reads files; what it returns is taken by all others",
    "d3stats.correct": "needs items without a label; see tests/inference/judges/test_correct.py",
    "d3stats.inference.conditional_independence": "needs four judges; tried in its own tests",
    "d3stats.inference.direct_scores": "needs scores of one response, which Trajectories do not hold",
    "d3stats.inference.length_bias": "needs lengths, which no log of votes has",
    "d3stats.inference.self_preference": "needs families of models, which no log of votes has",
    "d3stats.rationales": "needs texts, which Trajectories do not hold",
    "d3stats.inference.rationale_texts": "needs texts, which Trajectories do not hold",
    "d3stats.plan_comparison": "takes a pair of runs",
    "d3stats.import_log": "reads foreign formats",
    "d3stats.doctor": "examines files and tables before they are read as debates; tried in tests/log/test_doctor.py",
    "d3stats.debate": "its source are items to debate, read by d3stats.run.read_items",
}

TAKES_A_LOG = ("trajectories", "pilot", "log", "ratings", "source")
"""What an argument that holds debates is called."""


def functions_of_logs() -> set[str]:
    rooms = ("d3stats", "d3stats.inference", "d3stats.inference.bias", "d3stats.planning", "d3stats.stopping")
    found: dict[Any, str] = {}
    for room in rooms:
        module = importlib.import_module(room)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value) and set(TAKES_A_LOG) & set(inspect.signature(value).parameters):
                found.setdefault(value, f"{room}.{name}")
    return set(found.values())


def test_every_public_function_that_reads_a_log_is_tried() -> None:
    assert (
        functions_of_logs() - set(FUNCTIONS) - set(NO_LOG) - {"d3stats.as_trajectories", "d3stats.open"}
        == set()
    )


NO_READING = {
    "d3stats.debate": "its items are read by read_items, which has them",
    "d3stats.doctor": "has those of them that apply before a source is read; tried in tests/log/test_doctor.py",
    "d3stats.inference.bias.each_judge": "passes its options on to the audit; those of reading are tried below",
    "d3stats.count": "counts files one by one",
    "d3stats.count_log": "counts files in chunks",
    "d3stats.read_log": "is below open()",
    "d3stats.import_log": "reads foreign formats",
    "d3stats.plan_comparison": "takes a pair of runs",
    "d3stats.jury_curve": "passes all settings of as_ratings on, those of reading among them",
    "d3stats.inference.effective_jurors": "passes all settings of as_ratings on, those of reading among them",
    "d3stats.inference.conditional_independence": "passes all settings of as_ratings on, those of reading among them",
    "d3stats.inference.glad": "passes all settings of as_ratings on, those of reading among them",
    "d3stats.inference.dawid_skene": "passes all settings of as_ratings on, those of reading among them",
}


@for_each("name", sorted((set(FUNCTIONS) | set(NO_LOG)) - set(NO_READING)))
def test_every_public_function_that_takes_a_source_has_the_settings_of_reading(name: str) -> None:
    room, _, function = name.rpartition(".")
    if not room.startswith("d3stats"):
        return  # a method of a rule, which takes a log that was read
    if name in (
        "d3stats.count",
        "d3stats.count_log",
        "d3stats.read_log",
        "d3stats.import_log",
    ):
        return  # they read files in their own way, see NO_LOG
    if name == "d3stats.plan_comparison":
        return
    hints = inspect.signature(getattr(importlib.import_module(room), function)).parameters
    assert hints["reading"].annotation == "Unpack[Reading]"


OWN = {"debate": "Nr", "round": "Runde", "agent": "Wer", "vote": "Urteil", "label": "Richtig"}
"""Own names of columns, none of which is a usual one."""

READ_WITH_OWN_NAMES: dict[str, Callable[..., Any]] = {
    "fit_rounds": lambda log, **how: d3stats.fit_rounds(log, n_components=1, **how).to_frame(),
    "martingale_test": lambda log, **how: d3stats.martingale_test(log, **how).drift,
    "gap_posterior": lambda log, **how: d3stats.gap_posterior(log, **how).mean,
    "signed_gap_posterior": lambda log, **how: d3stats.signed_gap_posterior(log, scale=10, **how).mean_points,
    "position_bias": lambda log, **how: d3stats.position_bias(log, rng=1, **how).to_frame(),
    "persona_effect": lambda log, **how: inference.persona_effect(log, baseline="x", **how).to_frame(),
    "each_judge": lambda log, **how: bias.audits_frame(
        bias.each_judge(bias.position_bias, log, rng=1, **how)
    ),
    "fleiss_kappa": lambda log, **how: [inference.fleiss_kappa(log, **how).estimate.value],
    "gwet_ac": lambda log, **how: [inference.gwet_ac(log, **how).estimate.value],
    "krippendorff_alpha": lambda log, **how: [inference.krippendorff_alpha(log, **how).estimate.value],
    "percent_agreement": lambda log, **how: [inference.percent_agreement(log, **how).estimate.value],
    "rounds_of": lambda log, **how: [r.number for r in d3stats.stopping.rounds_of(log, 3, **how)],
    "batch_rounds": lambda log, **how: np.stack([b.votes for b in d3stats.stopping.batch_rounds(log, **how)]),
    "spending": lambda log, **how: spending(log, **how),
    "vote_wins": lambda log, **how: np.stack(vote_wins(log, ("A", "B"), **how)),
}


@pytest.mark.parametrize("name", list(READ_WITH_OWN_NAMES))
def test_settings_of_reading_reach_the_reader(name: str) -> None:
    table, function = debates_table(), READ_WITH_OWN_NAMES[name]
    expected = _as_values(function(table))
    assert _plain(function(table.rename(columns=OWN), columns=OWN)) == expected


def test_what_was_read_already_is_not_read_otherwise() -> None:
    """Settings of reading that could not be applied are refused, not passed over."""
    table = debates_table()
    ratings = inference.as_ratings(table)
    verdicts = bias.as_judgments(table)
    counts = as_trajectories(table).counts()
    for call in (
        lambda: inference.fleiss_kappa(ratings, missing_values=["A"]),
        lambda: d3stats.position_bias(verdicts, missing_values=["A"]),
        lambda: d3stats.position_bias(verdicts, strata="label", missing_values=["A"]),
        lambda: d3stats.fit_rounds(counts, n_components=1, missing_values=["A"]),
        lambda: d3stats.cohen_kappa(["A", "B"], ["A", "A"], columns={"item": "a"}),
    ):
        with pytest.raises(ValueError, match="must be left out"):
            call()


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The same debates as whatever holds debates."""
    import pyarrow as pa

    table = debates_table()
    written = table.assign(scores=[json.dumps(scores) for scores in table["scores"]])
    folder = tmp_path_factory.mktemp("logs")
    half = {"first": written[written["debate"] < "d12"], "second": written[written["debate"] >= "d12"]}
    for name, part in half.items():
        part.to_csv(folder / f"{name}.csv", index=False)
    path = folder / "debates.csv"
    written.to_csv(path, index=False)
    written.to_csv(folder / "debates.tsv", index=False, sep="\t")
    written.to_excel(folder / "debates.xlsx", index=False)
    rows = written.to_dict("records")
    (folder / "flat.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    log = read_log(path)
    write_jsonl(log, folder / "log.jsonl")
    write_parquet(log, folder / "log.parquet")
    return {
        "Trajectories": Trajectories.from_frame(table),
        "pandas": table,
        "pandas with an index": table.set_index(["debate", "round"]),
        "polars": pl.DataFrame(table.to_dict("list")),
        "lazy polars": pl.DataFrame(table.to_dict("list")).lazy(),
        "Arrow": pa.table(written.to_dict("list")),
        "list of frames": [table[table["debate"] < "d12"], table[table["debate"] >= "d12"]],
        "rows": table.to_dict("records"),
        "text path": str(path),
        "path": path,
        "list of paths": [folder / "first.csv", folder / "second.csv"],
        "glob": str(folder / "deb*.csv"),
        "TSV": folder / "debates.tsv",
        "XLSX": folder / "debates.xlsx",
        "flat JSONL": folder / "flat.jsonl",
        "log": folder / "log.jsonl",
        "Parquet": folder / "log.parquet",
        "DebateLog": log,
        "Opened": d3stats.open(path),
    }


INSPECT_QUESTIONS = 24


def inspect_log(path: Path, scorers: dict[str, list[Any]], epochs: int, **head: Any) -> Path:
    """Write a log of Inspect: the score of each scorer by sample, then epoch, and the target and topic of a sample."""
    spec = {
        "task": "sums", "model": "m", "dataset": {}, "config": {"epochs": epochs},
        "scorers": [{"name": name} for name in scorers],
    }  # fmt: skip
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": spec, **head}))
        for k in range(INSPECT_QUESTIONS * epochs):
            q, epoch = k // epochs, k % epochs + 1
            sample = {
                "id": f"q{q:02d}", "epoch": epoch, "input": "Which?", "target": "AB"[q % 2], "messages": [],
                "scores": {name: values[k] for name, values in scorers.items()},
                "metadata": {"topic": ["odd", "even"][q % 3 > 0]}, "output": {"choices": []},
                "model_usage": {"m": {"input_tokens": 10, "output_tokens": 5 + q, "total_tokens": 15 + q}},
            }  # fmt: skip
            archive.writestr(f"samples/q{q:02d}_epoch_{epoch}.json", json.dumps(sample))
    return path


@pytest.fixture(scope="module")
def inspected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    """Four epochs of one scorer as a log of Inspect, and the same votes as a table of seats."""
    rng = np.random.default_rng(8)
    rows, scores = [], []
    for k in range(INSPECT_QUESTIONS * 4):
        q, label = k // 4, "AB"[k // 4 % 2]
        vote = None if rng.random() < 0.1 else "AB"[rng.integers(2)]
        scores.append({"value": "C" if vote == label else "I", "answer": vote})
        debate = f"sums, m: q{q:02d}"
        rows.append((debate, f"q{q:02d}", 1, f"seat {k % 4 + 1}", vote, label, 10, 5 + q))
    names = ["debate", "question", "round", "agent", "vote", "label", "tokens_in", "tokens_out"]
    path = inspect_log(tmp_path_factory.mktemp("inspect") / "sums.eval", {"match": scores}, 4)
    return path, pd.DataFrame(rows, columns=names).assign(log="sums, m")


def _outcome(function: Callable[[Any], Any], log: Any) -> Any:
    try:
        return _plain(function(log))
    except (ValueError, TypeError) as error:
        return type(error)


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize("part", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
def test_a_log_of_inspect_is_a_source_of_every_function(
    part: int, inspected: tuple[Path, pd.DataFrame]
) -> None:
    path, table = inspected
    values = 0
    for name, function in list(FUNCTIONS.items())[part::3]:
        if name in ("d3stats.compare", "d3stats.inference.as_run") or (name in LONG and not part):
            continue  # of a run each epoch counts, see below
        expected = _outcome(function, table)
        values += not isinstance(expected, type)
        assert str(_outcome(function, path)) == str(expected), name
    assert values > 6
    assert as_trajectories(path).votes.tolist() == as_trajectories(table).votes.tolist()


def test_a_run_of_inspect_is_the_mean_of_its_epochs(inspected: tuple[Path, pd.DataFrame]) -> None:
    path, table = inspected
    right = (table["vote"] == table["label"]).groupby(table["question"]).mean()
    run = inference.as_run(path)
    assert (run.name, run.items, run.value.tolist()) == ("sums", tuple(right.index), right.tolist())
    by_topic = d3stats.compare(path, right.rename("other"), strata="topic", n_boot=20, rng=1)
    assert by_topic.difference.value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("value", ["verdict", "plurality", "votes", "tokens"])
def test_a_run_of_inspect_has_the_values_that_debates_have(
    inspected: tuple[Path, pd.DataFrame], value: str
) -> None:
    path, table = inspected
    one, other = (inference.as_run(source, value=value) for source in (path, table))
    assert one.value.tolist() == other.value.tolist()


def test_what_a_scorer_could_not_read_is_0_in_a_run_and_missing_in_a_log_and_both_are_said(
    tmp_path: Path,
) -> None:
    given = [
        {"value": "I", "answer": None}
        if k % 4 == 0
        else {"value": "CI"[k % 3 > 0], "answer": "AB"[(k + (k % 3 > 0)) % 2]}
        for k in range(INSPECT_QUESTIONS)
    ]
    path = inspect_log(tmp_path / "refused.eval", {"match": given}, 1)
    run, votes = inference.as_run(path), inference.as_run(path, value="votes")
    silent = np.arange(INSPECT_QUESTIONS) % 4 == 0
    assert not run.value[silent].any()
    assert np.isnan(votes.value[silent]).all()
    assert (run.value[~silent] == votes.value[~silent]).all()
    assert any("6 of 24 values are 0 because the scorer read no answer" in note for note in run.notes)
    assert int((as_trajectories(path).votes < 0).sum()) == 6


def test_the_scorers_of_a_log_of_inspect_are_a_panel(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    points = {name: rng.integers(1, 4, INSPECT_QUESTIONS * 2) for name in ("strict", "mild")}
    given = {name: [{"value": int(x)} for x in values] for name, values in points.items()}
    path = inspect_log(tmp_path / "panel.eval", given, 2)
    items = [f"q{k // 2:02d}, {k % 2}" for k in range(INSPECT_QUESTIONS * 2)]
    wide = pd.DataFrame({"item": items, "cluster": [item[:3] for item in items], **points})
    for weights in ("identity", "quadratic"):
        expected = d3stats.agreement(wide, weights=weights, rng=1).to_frame()
        found = d3stats.agreement(path, weights=weights, rng=1)
        for column in ("value", "low", "high"):
            np.testing.assert_allclose(found.to_frame()[column], expected[column])
    assert any("strict, mild" in note and note.kind == "a log of Inspect" for note in found.notes)
    by_item = wide.groupby("cluster")["mild"].mean()
    assert inference.as_run(path, value="mild").value.tolist() == by_item.tolist()
    with pytest.raises(
        ValueError, match=r"scorer must name one of the scorers of .* \(--scorer\): 'strict', 'mild'"
    ):
        inference.as_run(path)
    mixed = inspect_log(tmp_path / "mixed.eval", {"mild": given["mild"], "match": [{"value": "C"}] * 48}, 2)
    (note,) = [
        note for note in d3stats.agreement(mixed).notes if getattr(note, "kind", "") == "a log of Inspect"
    ]
    assert note.severity == "warning"


def test_scores_of_inspect_count_as_inspect_counts_them(tmp_path: Path) -> None:
    """C, P, I and N are 1, .5, 0 and 0; a value that is no number is missing; each value of a scorer is a scorer."""
    letters = [*"CPIN", float("nan"), 0.25] * 4
    path = inspect_log(tmp_path / "letters.eval", {"x": [{"value": value} for value in letters]}, 1)
    assert inference.as_run(path).value[:6].tolist() == pytest.approx(
        [1, 0.5, 0, 0, np.nan, 0.25], nan_ok=True
    )
    several = [{"value": {"clear": 1 + k % 2, "deep": 2}} for k in range(INSPECT_QUESTIONS)]
    path = inspect_log(tmp_path / "rubric.eval", {"rubric": several}, 1)
    assert inference.as_ratings(path).raters == ("rubric.clear", "rubric.deep")
    assert inference.as_run(path, value="rubric.clear").value[:2].tolist() == [1, 2]


def test_a_log_of_inspect_that_broke_off_or_is_json_or_none(
    tmp_path: Path, inspected: tuple[Path, pd.DataFrame]
) -> None:
    path, table = inspected
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    head = json.loads(parts.pop("header.json"))
    with zipfile.ZipFile(tmp_path / "broken.eval", "w") as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": head["eval"]}))
        for name, content in list(parts.items())[:40]:
            archive.writestr(name, content)
    assert (
        as_trajectories(tmp_path / "broken.eval").votes.tolist() == as_trajectories(table).votes[:10].tolist()
    )
    whole = {**head, "samples": [json.loads(content) for content in parts.values()]}
    (tmp_path / "whole.json").write_text(json.dumps(whole))
    assert as_trajectories(tmp_path / "whole.json").votes.tolist() == as_trajectories(table).votes.tolist()
    (tmp_path / "empty.eval").write_bytes(b"")
    (tmp_path / "none.eval").write_bytes(b"PK not a zip")
    (tmp_path / "cut.eval").write_bytes(path.read_bytes()[:-100])
    for name in ("empty", "none", "cut"):
        for function in (d3stats.read_log, d3stats.agreement, inference.as_run, d3stats.count_log):
            with pytest.raises(ValueError, match=r"empty\.eval.* 0 bytes|must be an Inspect log"):
                function(tmp_path / f"{name}.eval")


FORMS = ("pandas", "pandas with an index", "polars", "Arrow", "list of frames", "rows", "path", "list of paths", "glob",
         "TSV", "XLSX", "flat JSONL", "log", "Parquet", "DebateLog", "Opened")  # fmt: skip


def _as_values(result: Any) -> Any:
    if isinstance(result, pd.DataFrame):
        return {str(name): _as_values(column) for name, column in result.items()}
    values = np.asarray(result).ravel().tolist()
    return pytest.approx(values, rel=1e-9, nan_ok=True) if np.asarray(result).dtype.kind in "fiu" else values


_expected: dict[str, Any] = {}


READERS = ("as_run", "as_ratings", "as_judgments", "as_pairwise", "rounds_of", "scores")
"""Functions that the others read by."""


def pairs() -> list[Any]:
    """Every function with every form. The fast layer deals out all forms to the functions that others read by.

    Each other function has one form there.
    """
    readers = [name for name in FUNCTIONS if name.endswith(READERS)]
    found = []
    for k, name in enumerate(FUNCTIONS):
        one = [] if name in LONG else [FORMS[5 * k % len(FORMS)]]
        at_once = FORMS[readers.index(name) :: len(readers)] if name in readers else one
        found += [
            pytest.param(name, form, marks=() if form in at_once else pytest.mark.slow) for form in FORMS
        ]
    return found


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize(("name", "form"), pairs())
def test_a_result_does_not_depend_on_what_holds_the_debates(
    name: str, form: str, forms: dict[str, Any]
) -> None:
    if name not in _expected:
        _expected[name] = _as_values(FUNCTIONS[name](forms["Trajectories"]))
    assert _plain(FUNCTIONS[name](forms[form])) == _expected[name]


def _plain(result: Any) -> Any:
    if isinstance(result, pd.DataFrame):
        return {str(name): _plain(column) for name, column in result.items()}
    return np.asarray(result).ravel().tolist()


def test_all_forms_give_the_same_trajectories(forms: dict[str, Any]) -> None:
    first = forms["Trajectories"]
    for form in forms.values():
        t = as_trajectories(form)
        assert (t.answers, t.debates, t.seats) == (first.answers, first.debates, first.seats)
        for name in ("votes", "label", "depth", "panel", "cluster", "scores", "tokens", "tokens_in"):
            assert np.array_equal(getattr(t, name), getattr(first, name)), name


def test_arrays_and_a_mapping_of_arrays_are_debates() -> None:
    votes = [[["A", "B"], ["A", "A"]], [["B", "B"], ["B", None]]]
    bare = as_trajectories(np.array(votes, dtype=object))
    named = as_trajectories({"votes": votes, "label": ["A", "A"]})
    assert bare.votes.tolist() == named.votes.tolist()
    assert bare.unanimous().tolist() == [[False, True], [True, True]]
    assert named.successes_trials()[0].tolist() == [[1, 2], [0, 0]]


def test_own_names_of_columns_are_given_as_a_mapping() -> None:
    table = debates_table()
    own = table.rename(columns={"debate": "qid", "round": "turn"}).assign(debate="another thing")
    columns = {"debate": "qid", "round": "turn"}
    for frame in (own, pl.DataFrame(own.to_dict("list"))):
        assert as_trajectories(frame, columns=columns).votes.tolist() == as_trajectories(table).votes.tolist()
    with pytest.raises(
        ValueError, match=r"debate must be a column of the table; got 'qidd'; did you mean 'qid'\?"
    ):
        as_trajectories(own, columns={"debate": "qidd"})
    both = as_trajectories(own, columns=columns | {"question": "qid"})
    assert both.votes.tolist() == as_trajectories(table).votes.tolist()
    assert both.cluster_names == both.debates


def test_an_argument_that_would_do_nothing_is_refused(forms: dict[str, Any]) -> None:
    for form, argument in (
        ("Trajectories", {"roles": ["x"]}),
        ("Trajectories", {"columns": {"debate": "qid"}}),
        ("DebateLog", {"missing_values": ["none"]}),
        ("pandas", {"encoding": "latin-1"}),
        ("DebateLog", {"lenient": True}),
    ):
        with pytest.raises(ValueError, match="must be left out"):
            as_trajectories(forms[form], **argument)


def test_a_table_is_read_leniently_in_memory_as_in_a_file(tmp_path: Path) -> None:
    table = debates_table().drop(columns="scores")
    spoiled = pd.concat([table, table.head(1).assign(vote="B")], ignore_index=True)
    spoiled.to_csv(tmp_path / "spoiled.csv", index=False)
    for source in (spoiled, pl.DataFrame(spoiled.to_dict("list")), tmp_path / "spoiled.csv"):
        with pytest.raises(ValueError, match="an agent must speak once per round"):
            as_trajectories(source)
        assert as_trajectories(source, lenient=True).votes.tolist() == as_trajectories(table).votes.tolist()


def test_a_name_that_is_no_file_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "pilot.csv").write_text("debate,round,agent,vote\nd,1,a,A\n")
    with pytest.raises(FileNotFoundError, match=r"did you mean '.*pilot.csv'\?"):
        as_trajectories(tmp_path / "pilto.csv")
    for function in (
        d3stats.read_log,
        d3stats.agreement,
        lambda p: d3stats.compare(p, p),
        d3stats.position_bias,
    ):
        with pytest.raises(FileNotFoundError, match=r"did you mean 'slm7'\?"):
            function("slm8")
    with pytest.raises(FileNotFoundError, match="no folder"):
        as_trajectories(tmp_path / "nowhere" / "pilot.csv")
    for other in (None, 5, {"qid": [1]}):
        with pytest.raises(TypeError, match=r"a log must be|a mapping must have votes"):
            as_trajectories(other)


def test_a_bundled_log_is_known_by_its_name() -> None:
    from d3stats import datasets

    assert as_trajectories("slm7").votes.tolist() == as_trajectories(datasets.path("slm7")).votes.tolist()


def test_runs_are_compared_as_arrays_too() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 2, (2, 40))
    tables = [pd.DataFrame({"item": range(40), "correct": values}) for values in (first, second)]
    by_arrays = d3stats.compare(first, second).difference
    by_tables = d3stats.compare(*tables).difference
    assert (by_arrays.value, by_arrays.low) == (by_tables.value, by_tables.low)
    assert [run.name for run in d3stats.compare(first, second.tolist()).runs] == ["A", "B"]


def test_a_file_called_run_keeps_its_name(tmp_path: Path) -> None:
    paths = [tmp_path / "maj.csv", tmp_path / "run.csv"]
    for path in paths:
        pd.DataFrame({"item": range(6), "correct": [1, 0, 1, 1, 0, 0]}).to_csv(path, index=False)
    assert [run.name for run in d3stats.compare(*paths).runs] == ["maj", "run"]


def test_agreement_says_which_round_it_took(forms: dict[str, Any]) -> None:
    for form in ("Trajectories", "path"):
        assert any("(round 3)" in note for note in d3stats.agreement(forms[form], n_boot=10, rng=1).notes)


def test_a_table_in_another_encoding_is_read_or_says_what_to_say(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    pd.DataFrame({"item": ["é1", "é2"], "correct": [1, 0]}).to_csv(path, index=False, encoding="latin-1")
    assert inference.as_run(path, encoding="latin-1").items == ("é1", "é2")
    with pytest.raises(ValueError, match=r'if that is correct, use --encoding cp1252 \(encoding="cp1252"\)'):
        inference.as_run(path)


@settings(max_examples=3, deadline=None)
@given(st.data())
def test_a_panel_that_varies_is_read_through_every_door_with_a_warning(data: Any) -> None:
    """Agents absent from rounds, and panels of different sizes: nothing is left out, and remarks say it everywhere."""
    rows = []
    for debate in range(data.draw(st.integers(1, 3))):
        for number in (1, 2):
            there = data.draw(st.sets(st.sampled_from("xyz"), min_size=1))
            rows += [
                (f"d{debate}", number, agent, data.draw(st.sampled_from("AB")), "A")
                for agent in sorted(there)
            ]
    table = pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])
    of_round = {key: set(agents) for key, agents in table.groupby(["debate", "round"])["agent"]}
    absent = any(agents != of_round[debate, 1] for (debate, _), agents in of_round.items())
    sizes = len({len(set(agents)) for _, agents in table.groupby("debate")["agent"]}) > 1
    with TemporaryDirectory() as name:
        folder = Path(name)
        table.to_csv(folder / "log.csv", index=False)
        table.to_csv(folder / "log.tsv", index=False, sep="\t")
        write_parquet(folder / "log.csv", folder / "log.parquet")
        write_jsonl(folder / "log.csv", folder / "log.jsonl")
        files = [folder / f"log.{end}" for end in ("csv", "tsv", "parquet", "jsonl")]
        sources = [table, pl.DataFrame(table.to_dict("list")), *files, read_log(files[0])]
        first = as_trajectories(table)
        for source in sources:
            t = as_trajectories(source)
            assert t.votes.tolist() == first.votes.tolist()
            assert t.remarks() == first.remarks()
            assert t.had_turns().sum() == len(table)
        for file in files:
            assert d3stats.count_log(file).rounds == first.counts()
    warned = [remark for remark in first.remarks() if remark.startswith("WARNING")]
    assert any("must have a turn in each round that one of them has" in remark for remark in warned) == absent
    assert any("panels of different sizes" in remark for remark in warned) == sizes


def test_a_list_of_tables_is_one_table_and_never_an_array_of_votes() -> None:
    """Whole debates or rounds of one debate in each part: the list means what its rows together mean."""
    table = debates_table().drop(columns="scores")
    expected = as_trajectories(table)
    by_debate = [part for _, part in table.groupby(table["debate"] < "d12")]
    by_round = [part for _, part in table.groupby("round")]
    for parts in (by_debate, by_round, tuple(by_round)):
        turned = [part[list(part.columns[::-1])] for part in parts[1:]]
        polars = [pl.DataFrame(part.to_dict("list")) for part in parts]
        for source in (parts, [parts[0], *turned], polars, [polars[0], *parts[1:]]):
            read = as_trajectories(source)
            assert read.debates == expected.debates
            assert read.votes.tolist() == expected.votes.tolist()
    assert as_trajectories(table.to_dict("records")).votes.tolist() == expected.votes.tolist()
    logs = [as_trajectories(part) for part in by_debate]
    joined = as_trajectories(logs)
    assert sorted(joined.debates) == sorted(expected.debates)
    assert joined.counts() == expected.counts()
    assert d3stats.martingale_test(by_round).drift.equals(d3stats.martingale_test(table).drift)
    with pytest.raises(ValueError, match=r"must have the same columns.*'label'.*pd\.concat"):
        as_trajectories([by_round[0], by_round[1].drop(columns="label")])


@pytest.mark.parametrize(
    "strange", [lambda t: t, lambda t: {"vote": "A"}, lambda t: t["vote"], as_trajectories]
)
def test_a_list_of_mixed_things_is_refused_by_its_type(strange: Callable[[Any], Any]) -> None:
    table = debates_table()
    for source in (
        [[["A", "B"]], strange(table)],
        [[strange(table)], [strange(table)]],
        ["log.csv", strange(table)],
    ):
        with pytest.raises(TypeError, match="a list must hold paths, tables"):
            as_trajectories(source)


def test_fit_of_a_log_of_inspect_with_several_scorers_names_them_and_the_way_to_read_one(
    tmp_path: Path,
) -> None:
    graded = [{"value": "CI"[k % 2], "answer": "?Z"[k % 2]} for k in range(INSPECT_QUESTIONS * 2)]
    path = inspect_log(tmp_path / "two.eval", {"match": graded, "model graded": graded}, 2)
    with pytest.raises(
        ValueError, match=r"2 scorers \(match, model graded\).*scorer='match' \(--scorer match\)"
    ):
        d3stats.fit(path)
    assert d3stats.fit(path, scorer="match") is not None
    import_log("inspect", path, tmp_path / "one.jsonl", scorer="model graded")
    alone = inspect_log(tmp_path / "one.eval", {"model graded": graded}, 2)
    # Epochs are rounds of the one and seats of the other.
    read, own = (as_trajectories(one) for one in (tmp_path / "one.jsonl", alone))
    for t in (read, own):
        right, cast = t.successes_trials("exclude")
        assert (right.sum(), cast.sum()) == (INSPECT_QUESTIONS, 2 * INSPECT_QUESTIONS)
