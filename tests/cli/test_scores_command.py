"""``d3stats scores``: the numbers of the library, by round, stratum, aspect and candidate, and clear refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from d3stats import as_trajectories
from d3stats.cli import app
from d3stats.inference import aspect_correlations, borda_count, direct_scores
from d3stats.log import read_log
from d3stats.planning import score_gaps, scores

pytestmark = pytest.mark.usefixtures("computed_once")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("scores")
    for world, protocol in (("courtroom", "samre:jurors=0"), ("responses", "chateval")):
        (made / f"{world}.toml").write_text(f'name = "{world}"\n', encoding="utf-8")
        words = [
            "debate",
            "--synthetic",
            str(made / f"{world}.toml"),
            "--limit",
            "16",
            "--protocol",
            protocol,
        ]
        assert CliRunner().invoke(app, [*words, "-o", str(made / f"{world}.jsonl")]).exit_code == 0
    questions = read_log(made / "responses.jsonl").items["question"]
    points = np.random.default_rng(1).integers(1, 4, (len(questions), 2))
    people = pd.DataFrame(points, columns=["coherence", "naturalness"]).assign(question=list(questions))
    people.to_csv(made / "people.csv", index=False)
    ranked(12).to_csv(made / "ranked.csv", index=False)
    return made


def ranked(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    rows = [
        (f"d{i}", 1, f"judge {j}", json.dumps({side: {"c": int(rng.integers(1, 9))} for side in "xyz"}))
        for i in range(n)
        for j in (1, 2, 3)
    ]
    return pd.DataFrame(rows, columns=["debate", "round", "agent", "scores"])


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["scores", *words])


def tables(*words: str) -> dict[str, list[dict[str, Any]]]:
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)["tables"]
    return found


def test_means_and_gaps_are_those_of_the_arrays(folder: Path) -> None:
    path = folder / "courtroom.jsonl"
    found, t = tables(str(path)), as_trajectories(path)
    assert t.scores is not None
    for row in found["means"]:
        own = t.scores[:, row["round"] - 1, t.sides.index(row["side"])]
        assert row["mean"] == pytest.approx(np.nanmean(own))
        assert row["n"] == np.isfinite(own).sum()
        assert row["low"] is None or row["low"] < row["mean"] < row["high"]
    whole = score_gaps(path, dict.fromkeys(t.debates, "all"))
    assert [row["gap"] for row in found["gaps"]] == pytest.approx(whole["gap"].tolist())


def test_strata_are_rows_of_their_own_below_the_whole(folder: Path) -> None:
    path = folder / "courtroom.jsonl"
    found, by = tables(str(path), "--strata", "category"), score_gaps(path, "category")
    own = [row for row in found["gaps"] if row["category"] != "all"]
    assert [(row["category"], row["round"]) for row in own] == list(
        zip(by["category"], by["round"], strict=True)
    )
    assert [row["gap"] for row in own] == pytest.approx(by["gap"].tolist())
    text = run(str(path), "--strata", "category").stdout
    assert all(name in text for name in by["category"])


def test_aspects_and_correlations_are_those_of_the_library(folder: Path) -> None:
    log, people = folder / "responses.jsonl", folder / "people.csv"
    found = tables(str(log), "--human", str(people))
    table = direct_scores(log)
    assert {row["aspect"]: row["mean"] for row in found["aspects"]} == pytest.approx(
        {name: table[name].mean() for name in table.columns[4:]}
    )
    wanted = aspect_correlations(log, pd.read_csv(people), rng=0).to_frame()
    for name in ("value", "low", "high"):
        assert [row[name] for row in found["correlations"]] == pytest.approx(wanted[name].tolist())


def test_a_correlation_without_interval_says_why(folder: Path, tmp_path: Path) -> None:
    people = pd.read_csv(folder / "people.csv")
    name = next(c for c in people.columns if c != "question")
    people[name] = [1.0, *[2.0] * (len(people) - 1)]
    people.to_csv(tmp_path / "rare.csv", index=False)
    args = (str(folder / "responses.jsonl"), "--human", str(tmp_path / "rare.csv"))
    rows = [row for row in tables(*args)["correlations"] if row["aspect"] == name]
    assert len(rows) == 2
    assert all(row["low"] is None for row in rows)
    text = " ".join(run(*args, "--all").stdout.split())
    assert text.count(f"{name}: the correlation has no interval: only 1 of ") == 1


def test_candidates_are_ranked(folder: Path) -> None:
    path = folder / "ranked.csv"
    found = {row["candidate"]: row for row in tables(str(path))["ranks"]}
    rows = [
        (debate, agent, side, points["c"])
        for debate, _, agent, given in ranked(12).itertuples(index=False)
        for side, points in json.loads(given).items()
    ]
    counts = borda_count(pd.DataFrame(rows, columns=["item", "agent", "candidate", "score"]))
    for name, own in counts.points.groupby("candidate"):
        for what in ("borda", "firsts", "mean"):
            assert found[str(name)][what] == pytest.approx(own[what].mean())
        assert found[str(name)]["wins"] == (counts.winners["borda"] == name).sum()
    assert "Borda points" in run(str(path), "--all").stdout


def test_a_role_may_be_chosen(tmp_path: Path) -> None:
    rows = [
        (f"d{i}", 1, role, role, a, b, "A")
        for i in range(4)
        for role, a, b in (("judge", 80 + i, 40), ("juror", 5, 9))
    ]
    path = tmp_path / "log.csv"
    columns = ["debate", "round", "agent", "role", "score_A", "score_B", "label"]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    assert tables(str(path))["gaps"][0]["gap"] == 41.5
    assert "those of juror are left out" in " ".join(run(str(path)).stdout.split())
    assert tables(str(path), "--role", "juror")["gaps"][0]["gap"] == 4
    done = run(str(path), "--role", "clerk")
    assert done.exit_code == 1
    assert "--role must occur in the log; got" in done.stderr
    assert "judge, juror" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["slm7"], "log must hold scores; got none in Trajectories(160"),
        (["courtroom.jsonl", "--human", "people.csv"], "human must come with a log of single responses"),
        (["responses.jsonl", "--human", "absent.csv"], "--human must be a table of scores; got no file"),
        (["responses.jsonl", "--human", "responses.toml"], "--human must be a table (CSV"),
        (["responses.jsonl", "--human", "ranked.csv"], "--human must have the column 'question'; got debate"),
        (["courtroom.jsonl", "--strata", "kind"], "strata must be one of category, protocol, log"),
        (["courtroom.jsonl", "--level", "2"], "level must lie"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(words: list[str], message: str, folder: Path) -> None:
    done = run(*(str(folder / word) if "." in word else word for word in words))
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"d3stats: {message}"), line


def test_gaps_that_no_agent_gave_have_no_row(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [(f"d{i}", 1, j, [5, None][j], [None, 6][j], "A") for i in range(3) for j in (0, 1)]
    pd.DataFrame(rows, columns=["debate", "round", "agent", "score_A", "score_B", "label"]).to_csv(
        path, index=False
    )
    done = run(str(path))
    assert done.exit_code == 1
    assert "6 of 6 turns with scores have only a part of them" in done.stderr


def test_one_file_and_its_log_say_the_same(folder: Path) -> None:
    path = folder / "responses.jsonl"
    one, other = scores(path), scores(read_log(path))
    assert one.to_dict() == other.to_dict()
    assert scores(as_trajectories(path)).aspects is None
