"""What a table says of its own votes: marks of right and wrong, failed calls, totals, other models, other files."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from layers import sampled
from typer.testing import CliRunner

import d3stats
from d3stats import inference
from d3stats.cli import app
from d3stats.log import doctor
from d3stats.note import Note, severity_of
from d3stats.plausibility import running_totals, two_scales


def table(seed: int = 0, n: int = 40, agents: str = "xyz") -> pd.DataFrame:
    """Return two rounds of debates with four answers."""
    rng = np.random.default_rng(seed)
    label = rng.choice(list("ABCD"), n)
    rows = [
        (f"d{d}", r, agent, label[d] if rng.random() < 0.7 else rng.choice(list("ABCD")), label[d])
        for d in range(n)
        for r in (1, 2)
        for agent in agents
    ]
    return pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])


def of_kind(notes: Any, kind: str) -> list[Note]:
    return [note for note in notes if isinstance(note, Note) and note.kind == kind]


@pytest.mark.parametrize("words", [(0, 1), ("no", "yes"), ("False", "True")])
def test_marks_that_contradict_votes_are_counted(words: tuple[Any, Any]) -> None:
    log = table()
    right = (log["vote"] == log["label"]).to_numpy(copy=True)
    right[[3, 50, 90]] ^= True
    marked = log.assign(is_correct=[words[int(mark)] for mark in right])
    (found,) = of_kind(d3stats.as_trajectories(marked).notes, "contradicting column")
    assert (found.n, severity_of(found)) == (3, "warning")
    assert "--columns correct=is_correct" in found
    items = marked[marked["round"] == 1].drop_duplicates("debate").rename(columns={"debate": "item"})
    (found,) = of_kind(inference.as_run(items).notes, "contradicting column")
    assert found.n == 1


def test_marks_of_debates_are_no_marks_of_votes() -> None:
    log = table()
    wins = (log["vote"] == log["label"]).groupby([log["debate"], log["round"]]).transform("mean") > 0.5
    assert not of_kind(d3stats.as_trajectories(log.assign(correct=wins)).notes, "contradicting column")


@pytest.mark.parametrize(
    ("column", "word", "fine"),
    [("status", "error", "ok"), ("finish_reason", "content_filter", "stop"), ("error", "HTTP 429", None)],
)
@pytest.mark.parametrize(("failed", "severity"), [(12, "warning"), (1, "note")])
def test_votes_of_failed_calls_are_counted(
    column: str, word: str, fine: str | None, failed: int, severity: str
) -> None:
    log = table()
    log[column] = pd.Series([word] * failed + [fine] * (len(log) - failed), dtype=object)
    (found,) = of_kind(d3stats.as_trajectories(log).notes, "failed calls")
    assert (found.n, severity_of(found)) == (failed, severity)
    log.loc[: failed - 1, "vote"] = None
    (found,) = of_kind(d3stats.as_trajectories(log).notes, "failed calls")
    assert "without a vote" in found


def test_a_status_that_says_right_or_wrong_is_none_of_a_call() -> None:
    log = table()
    log["status"] = np.where(log["vote"] == log["label"], "passed", "failed")
    assert not of_kind(d3stats.as_trajectories(log).notes, "failed calls")


GROWTH = list(
    itertools.product(
        ("shared", "latest", "sequential", "private"), (60, 120), (2, 4), (2, 4), (150, 900), (100, 300)
    )
)


@sampled("part", range(4), (0,))
def test_prompts_that_grow_are_no_running_totals_and_totals_are_found(part: int) -> None:
    rng = np.random.default_rng(part)
    found = []
    for how, n, rounds, agents, prompt, reply in GROWTH[part::4]:
        said = rng.lognormal(np.log(reply), 0.4, (n, rounds, agents))
        first = prompt * rng.lognormal(0, 0.3, n)[:, None, None]
        all_said = said.sum(axis=2, keepdims=True)
        none = np.zeros((n, 1, 1))
        spent = (
            first
            + {
                "shared": np.concatenate([none, all_said.cumsum(axis=1)[:, :-1]], axis=1) + said,
                "latest": np.concatenate([none, all_said[:, :-1]], axis=1) + said,
                "sequential": said.reshape(n, -1).cumsum(axis=1).reshape(said.shape),
                "private": said.cumsum(axis=1),
            }[how]
        )
        debate, played, agent = (each.ravel() for each in np.indices(spent.shape))
        assert running_totals(debate, played, agent, spent.ravel()) == "", (how, n, rounds, agents)
        bare = rng.integers(200, 3000, spent.shape)
        for totals in (bare.cumsum(axis=1), bare.reshape(n, -1).cumsum(axis=1)):
            found.append(running_totals(debate, played, agent, totals.ravel().astype(float)) != "")
    assert np.mean(found) > 0.95


def test_counts_with_a_tail_are_on_one_scale() -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        counts = rng.negative_binomial(1 + seed % 4, 0.25, 240)
        times = rng.lognormal(1, 0.9, 240).round(1)
        assert two_scales(counts) == two_scales(times) == ""
        scores = rng.integers(2, 11, 240)
        scores[:14] *= 10
        assert "as on two scales" in two_scales(scores)


def test_two_models_in_a_run_are_warned_of() -> None:
    items = pd.DataFrame({"item": [*range(30)] * 2, "correct": [1, 0] * 30, "model": ["a"] * 30 + ["b"] * 30})
    assert of_kind(inference.as_run(items).notes, "several models")
    assert not of_kind(inference.as_run(items[items["model"] == "a"]).notes, "several models")
    once = table().assign(model="a")
    both = pd.concat([once, table(1).assign(model="b", label=once["label"])])
    both = both.assign(question=both["debate"], debate=both["model"] + both["debate"])
    assert of_kind(inference.as_run(both).notes, "several models")
    mixed = once.assign(model=once["agent"].map({"x": "a", "y": "b", "z": "c"}))
    assert not of_kind(inference.as_run(mixed).notes, "several models")


def test_debates_that_two_models_played_are_told_apart_by_what_to_type(tmp_path: Path) -> None:
    once = table()
    both = pd.concat([once.assign(model="a"), table(1).assign(model="b", label=once["label"])])
    both.to_csv(tmp_path / "log.csv", index=False)
    said = doctor(tmp_path / "log.csv").to_text()
    assert "debate=model+debate,question=debate" in said.replace("\n", " ").replace("  ", "")
    read = d3stats.open(
        tmp_path / "log.csv", columns={"debate": ["model", "debate"], "question": "debate"}
    ).trajectories()
    assert (len(read), len(set(read.cluster))) == (80, 40)


def test_what_a_lenient_reader_left_out_is_a_warning_of_every_function(tmp_path: Path) -> None:
    log = table()
    pd.concat([log, log.head(2)]).to_csv(tmp_path / "log.csv", index=False)
    for notes in (
        d3stats.as_trajectories(tmp_path / "log.csv", lenient=True).notes,
        d3stats.agreement(tmp_path / "log.csv", lenient=True, measures=["alpha"]).notes,
        inference.as_run(tmp_path / "log.csv", lenient=True).notes,
    ):
        (found,) = of_kind(notes, "left out")
        assert (found.n, severity_of(found)) == (2, "warning")
        assert "log.csv, line 242: debate='d0', round=1, agent='x' again" in found


def test_a_glob_leaves_journals_out_and_gives_its_run_no_name(tmp_path: Path) -> None:
    log = table()
    for name, part in (("one", log.head(120)), ("two", log.tail(120))):
        rows = part.to_dict("records")
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (tmp_path / "one.calls.jsonl").write_text('{"call": 1}\n', "utf-8")
    opened = d3stats.open(str(tmp_path / "*.jsonl"))
    assert opened.trajectories().votes.tolist() == d3stats.as_trajectories(log).votes.tolist()
    assert sum("1 journal of calls is no log" in note for note in opened.trajectories().notes) == 1
    assert opened.stem is None
    assert d3stats.open(str(tmp_path / "tw*.jsonl")).stem == "two"


def test_only_names_that_are_near_are_suggested(tmp_path: Path) -> None:
    for name in ("pilot.csv", "1gold.csv"):
        table().to_csv(tmp_path / name, index=False)
    for wrong, near in (("pilto.csv", "pilot.csv"), ("Pilot.jsonl", "pilot.csv"), ("nofile.csv", None)):
        with pytest.raises(FileNotFoundError) as error:
            d3stats.open(tmp_path / wrong)
        assert (f"did you mean {str(tmp_path / str(near))!r}" in str(error.value)) == (near is not None)


def test_a_step_beyond_the_panel_is_refused() -> None:
    log = d3stats.as_trajectories(table())
    assert d3stats.replay(log, "ladder:3-2").baseline == "unanimity"
    for call in (d3stats.replay, d3stats.planning.scan):
        with pytest.raises(ValueError, match="at most the panel of 3; got ladder:9-1"):
            call(log, "unanimity & ladder:9-1")


def test_a_level_in_percent_is_refused_before_anything_is_read() -> None:
    for command in ("fit", "replay", "agreement", "plan"):
        said = CliRunner().invoke(app, [command, "no such file.csv", "--level", "95"])
        assert said.exit_code != 0
        assert "level must lie strictly between 0 and 1" in said.output


def test_tokens_of_a_few_debates_are_a_warning_where_a_cost_is_printed() -> None:
    log = table()
    spent = np.where(log["debate"].isin([f"d{k}" for k in range(33)]), np.nan, 500)
    (found,) = of_kind(d3stats.replay(log.assign(tokens=spent), "fixed:1").notes, "tokens missing")
    assert (found.n, severity_of(found)) == (33, "warning")


def test_the_notes_of_all_audits_are_in_one_place() -> None:
    rows = [
        (f"q{k}", order, "AB"[k % 2], judge) for k in range(40) for order in ("AB", "BA") for judge in "JK"
    ]
    audits = d3stats.bias(pd.DataFrame(rows, columns=["item", "order", "vote", "judge"]))
    own = {note for audit in audits.values() for note in audit.notes}
    assert own
    assert len(audits.to_dict()["notes"]) == len(own)
