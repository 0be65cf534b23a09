"""Kappa and accuracy of what debates decided, beside the right answers: the columns of the papers' tables."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from layers import sampled
from statsmodels.stats.inter_rater import cohens_kappa
from typer.testing import CliRunner

from d3stats import agreement, read_log
from d3stats.cli import app
from d3stats.datasets import load_slm7
from d3stats.inference import agreement_by_log
from d3stats.protocols import protocol_from_text
from d3stats.run.items import DebateItem
from d3stats.run.run import run_debates
from d3stats.sources.ratings import as_ratings
from d3stats.sources.runs import as_run
from d3stats.worlds import Assembly
from d3stats.worlds.streams import synthetic_agent, synthetic_items

OF_THE_PAPERS = [
    "samre",
    "more",
    "chateval",
    "stability",
    "multi_persona",
    "peer_rank",
    "single_judge",
    "more_advocates",
]


def played(folder: Path, protocol: str, n: int = 16, seed: int = 3) -> Path:
    items = [
        DebateItem(item.question, item.text, item.candidates, item.answers, item.label)
        for item in synthetic_items(Assembly(), n, seed=seed)
    ]
    path = folder / f"{protocol}.jsonl"
    asyncio.run(run_debates(protocol_from_text(protocol), items, synthetic_agent(Assembly(), seed=4), path))
    return path


def with_errors(path: Path) -> Path:
    """Turn over the label of every third debate, so that verdicts are not all right."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for k, record in enumerate(r for r in lines if "label" in r):
        if k % 3 == 0:
            record["label"] = next(a for a in record["answers"] if a != record["label"])
    path.write_text("".join(json.dumps(record) + "\n" for record in lines), encoding="utf-8")
    return path


def by_hand(path: Path) -> tuple[float, float, int]:
    """Return accuracy, kappa and the number of decided debates, from the lines of a log."""
    label, decision = {}, {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if "label" in record:
            label[record["debate"]] = record["label"]
        if record["type"] == "verdict" and record.get("decision") is not None:
            decision[record["debate"]] = record["decision"]
    pairs = pd.DataFrame({"label": pd.Series(label), "decision": pd.Series(decision)}).dropna()
    names = sorted({*pairs["label"], *pairs["decision"]})
    table = pd.crosstab(pairs["label"], pairs["decision"]).reindex(index=names, columns=names, fill_value=0)
    return float((pairs["label"] == pairs["decision"]).mean()), float(cohens_kappa(table).kappa), len(pairs)


@sampled("protocol", OF_THE_PAPERS, slice(0, None, 2))
def test_kappa_and_accuracy_of_verdicts_are_those_of_the_lines_of_any_protocols_log(
    tmp_path: Path, protocol: str
) -> None:
    path = with_errors(played(tmp_path, protocol))
    found = agreement(path, a="label", b="decision")
    share, kappa = found.estimates
    right, beyond, n = by_hand(path)
    assert (share.name, kappa.name) == ("accuracy of decision", "Cohen's kappa, label and decision")
    assert (share.value, kappa.value, share.n) == (pytest.approx(right), pytest.approx(beyond), n)
    assert f"decision is the recorded decision of {n} of 16 debates" in found.notes[0]
    # One accuracy in every command.
    assert np.nanmean(as_run(path, by="debate").value) == pytest.approx(right)


def test_every_door_gives_the_same_pair(tmp_path: Path) -> None:
    path = with_errors(played(tmp_path, "chateval", 8))
    log = read_log(path)
    wide = log.items.set_index("debate")[["label", "question"]].join(
        log.verdicts.set_index("debate")[["decision"]]
    )
    items = wide.reset_index(names="item").drop(columns="question")
    long = pd.concat([items.assign(rater=name, vote=["A", "B"] * 4) for name in "xy"])
    first = agreement(path, a="label", b="decision")
    for source in (log, items, long):
        other = agreement(source, a="label", b="decision")
        assert [(e.value, e.low, e.high) for e in other.estimates] == [
            (e.value, e.low, e.high) for e in first.estimates
        ]


def test_without_recorded_decisions_it_is_the_plurality_and_the_note_counts_ties() -> None:
    log = load_slm7()
    t = log
    last = t.verdicts()[np.arange(len(t)), t.depth - 1]
    known = (last >= 0) & (t.label >= 0)
    found = agreement(log, a="label", b="decision")
    assert found.estimates[0].value == pytest.approx((last == t.label)[known].mean())
    tied = int((t.tied()[np.arange(len(t)), t.depth - 1] & (last >= 0)).sum())
    said = f"a tie, of which there are {tied}, goes to"
    assert any(said in note and "no decision is recorded" in note for note in found.notes)
    assert found.estimates[1].n_clusters == 40
    first = agreement(log, a="label", b="decision", round_number=1)
    one = t.verdicts()[:, 0]
    assert first.estimates[0].value == pytest.approx((one == t.label)[(one >= 0) & (t.label >= 0)].mean())


def test_a_debate_without_a_decision_is_left_out_and_a_juror_can_be_held_against_the_verdict(
    tmp_path: Path,
) -> None:
    path = played(tmp_path, "samre", 8)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    gone = next(record for record in lines if record["type"] == "verdict")
    gone["decision"] = None
    path.write_text("".join(json.dumps(record) + "\n" for record in lines), encoding="utf-8")
    ratings = as_ratings(path, raters=["label", "decision"])
    assert (ratings.codes[:, 1] < 0).sum() == 1
    assert any("7 of 8 debates; debates without one are left out" in note for note in ratings.notes)
    juror = next(name for name in as_ratings(path).raters)
    assert agreement(path, a=juror, b="decision").raters == (juror, "decision")


def test_an_agent_of_this_name_is_the_agent() -> None:
    votes = pd.DataFrame({"debate": list("ab") * 2, "round": 1, "agent": ["decision"] * 2 + ["x"] * 2})
    votes = votes.assign(vote=["A", "B", "A", "A"], label=["A", "B"] * 2)
    assert as_ratings(votes, raters=["decision", "x"]).codes.tolist() == [[0, 0], [1, 0]]


def test_one_row_a_log_is_what_each_log_gives_alone(tmp_path: Path) -> None:
    paths = [with_errors(played(tmp_path, name, 8)) for name in ("more", "chateval")]
    found = agreement_by_log(paths, a="label", b="decision", kind="percentile", n_boot=200, rng=5)
    frame = found.to_frame()
    assert frame["log"].tolist() == ["more.jsonl", "chateval.jsonl"]
    for path, row in zip(paths, frame.to_dict("records"), strict=True):
        share, kappa = agreement(
            path, a="label", b="decision", kind="percentile", n_boot=200, rng=5
        ).estimates
        assert (row["share"], row["share_low"], row["kappa"]) == (share.value, share.low, kappa.value)
        assert (row["kappa_low"], row["kappa_high"]) == (kappa.low, kappa.high)
    code, text = run(*map(str, paths), "--a", "label", "--b", "decision", "--json")
    assert code == 0, text
    assert json.loads(text)["names"] == ["more.jsonl", "chateval.jsonl"]
    code, text = run(*map(str, paths), "--a", "label", "--b", "decision")
    assert "accuracy of decision" in text
    assert "more.jsonl" in text


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["agreement", *arguments])
    return result.exit_code, result.output


DEBATE = {"debate": ["d", "d"], "round": [1, 1], "agent": ["x", "y"], "vote": ["A", "B"]}
BAD: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        DEBATE,
        {"a": "label", "b": "decision"},
        "label must be given to be compared; got no right answer in 1 item",
    ),
    (
        DEBATE | {"vote": [None, None]},
        {"a": "x", "b": "decision"},
        "decision must be known in some debate; got no",
    ),
    (
        DEBATE | {"label": ["A", "A"]},
        {"a": "label", "b": "decision", "by": "question"},
        "decision needs votes by debate",
    ),
    (DEBATE | {"label": ["A", "A"]}, {"a": "label"}, "a and b must come together"),
    (DEBATE | {"label": ["A", "A"]}, {"a": "x", "b": "x"}, "a and b must be different raters"),
    (
        {"item": [1, 2], "label": ["A", "B"], "x": ["A", "B"]},
        {"a": "label", "b": "decision"},
        "rater must be one of",
    ),
]


@pytest.mark.parametrize(("table", "asked", "line"), BAD)
def test_what_has_no_such_pair_is_refused_in_one_line(
    table: dict[str, Any], asked: dict[str, Any], line: str
) -> None:
    with pytest.raises(ValueError, match=line) as error:
        agreement(pd.DataFrame(table), **asked)
    assert "\n" not in str(error.value)


def test_one_debate_has_a_share_and_no_interval() -> None:
    with pytest.raises(ValueError, match="undefined where all ratings are one category"):
        agreement(pd.DataFrame(DEBATE | {"label": ["A", "A"]}), a="label", b="decision", measures=["cohen"])
    found = agreement(pd.DataFrame(DEBATE | {"label": ["A", "A"]}), a="label", b="decision")
    assert (found.estimates[0].value, found.estimates[0].low) == (1.0, None)


def test_logs_that_cannot_be_set_side_by_side_are_refused_with_the_name_of_the_log(tmp_path: Path) -> None:
    votes = pd.DataFrame({"item": list("abcd"), "label": list("ABAB"), "x": list("ABBB")})
    with pytest.raises(ValueError, match=r"^second: rater must be one of"):
        agreement_by_log({"first": votes, "second": votes.rename(columns={"x": "z"})}, a="label", b="x")
    with pytest.raises(ValueError, match="sources must be at least two logs; got 1"):
        agreement_by_log([votes], a="label", b="x")
    with pytest.raises(ValueError, match="strata must be left out"):
        agreement_by_log([votes, votes], a="label", b="x", strata="x")
    path = tmp_path / "v.csv"
    votes.to_csv(path, index=False)
    code, _ = run(str(path), str(path))
    assert code != 0
    code, _ = run(str(path), str(path), "--a", "label", "--b", "x")
    assert code != 0
