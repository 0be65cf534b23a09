"""``d3stats calibrate`` and ``d3stats simulate --like``: from a pilot's file to its world and to a rule."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from layers import sampled
from typer.testing import CliRunner, Result

from d3stats.cli import app
from d3stats.planning import calibrate, simulate
from d3stats.planning.study import read_study
from d3stats.sources import as_trajectories
from d3stats.trajectories import Trajectories
from d3stats.worlds import Conformity, simulate_debates

pytestmark = pytest.mark.usefixtures("computed_once")

WORLD = Conformity(panel=5, difficulties=[(0.5, 1.6), (0.3, 0.3), (0.2, -1.0)], stubbornness=0.3)


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def write(t: Trajectories, path: Path, *, labelled: bool = True) -> Path:
    lines = ["debate,round,agent,vote,label,tokens_in,tokens_out"]
    for d, votes in enumerate(t.votes):
        label = t.answers[t.label[d]] if labelled else ""
        for r, of_round in enumerate(votes):
            lines += [
                f"{d},{r + 1},a{s},{t.answers[v]},{label},{100 * r + 50},20" for s, v in enumerate(of_round)
            ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(simulate_debates(WORLD, 60, 4, 5), tmp_path_factory.mktemp("pilot") / "pilot.csv")


def test_the_command_prints_what_the_library_fits_and_writes_a_study(pilot: Path, tmp_path: Path) -> None:
    out = tmp_path / "world.toml"
    done = run("calibrate", pilot, "-o", out, "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    fit = calibrate(Conformity, as_trajectories(pilot), rng=0)
    assert [row["parameter"] for row in document["parameters"]] == list(fit.params.index)
    np.testing.assert_allclose([row["estimate"] for row in document["parameters"]], fit.params, rtol=1e-12)
    assert {row["decided_by"] for row in document["parameters"]} <= {
        "pilot",
        "pilot, hardly",
        "template",
        "bound",
    }
    assert [note["text"] for note in document["notes"]] == list(fit.untold)
    (world,) = read_study(out).worlds.values()
    assert fit.world.stubbornness == world.stubbornness  # type: ignore[attr-defined]  # a conformity panel


def test_the_tables_name_parameters_with_intervals_and_who_decided(pilot: Path) -> None:
    done = run("calibrate", pilot, "--level", "0.8", "--free", "skill", "--free", "easiness", "--all")
    assert done.exit_code == 0, done.output
    assert "80 % interval" in done.output
    assert "template" in done.output
    assert "skill and easiness enter as a sum" in " ".join(done.output.split())
    assert "left unanimity, round 4" in done.output


def test_the_written_study_gives_the_same_debates_as_simulating_like_the_pilot(
    pilot: Path, tmp_path: Path
) -> None:
    out = tmp_path / "world.toml"
    assert run("calibrate", pilot, "-o", out).exit_code == 0
    like, again = run("simulate", "--like", pilot, "--json"), run("simulate", out, "--json")
    assert like.exit_code == again.exit_code == 0, like.output + again.output
    one, two = (json.loads(done.stdout) for done in (like, again))
    assert one["rules"] == two["rules"]
    assert one["stops"] == two["stops"]


def test_the_recommended_rule_is_the_cheapest_that_keeps_the_promise(pilot: Path) -> None:
    done = run(
        "simulate", "--like", pilot, "--debates", "4000", "-r", "fixed:1", "-r", "supermajority:0.8", "--json"
    )
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    (picked,) = document["recommended"]
    rows = {row["rule"]: row for row in document["rules"]}
    good = [
        name
        for name, row in rows.items()
        if -row["accuracy_minus_unanimity"] + 1.2815515655 * row["accuracy_minus_unanimity_se"] <= 0.01
        and row["rounds"] <= rows["unanimity"]["rounds"]
    ]
    assert picked["rule"] == min(good, key=lambda name: rows[name]["rounds"])
    assert picked["loss"] == pytest.approx(-rows[picked["rule"]]["accuracy_minus_unanimity"])
    # A round of this pilot takes five prompts of 50, 150, 250, 350 tokens and five messages of 20.
    stops = [row for row in document["stops"] if row["rule"] == picked["rule"]]
    each = np.cumsum([5 * (100 * r + 70) for r in range(4)])
    whole = sum(row["n_debates"] * each[row["round"] - 1] for row in stops)
    assert picked["tokens"] == pytest.approx(whole / 4000)


def test_a_promise_that_no_rule_keeps_leaves_unanimity(pilot: Path) -> None:
    never = ["--debates", "2000", "--max-loss", "0", "--confidence", "0.999999", "--all"]
    done = run("simulate", "--like", pilot, *never)
    assert done.exit_code == 0, done.output
    assert done.output.startswith("Run unanimity in conformity like the pilot")
    assert f"d3stats plan {pilot} also includes the pilot's sampling error" in " ".join(done.output.split())


def test_every_world_of_a_study_gets_a_recommendation(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    worlds = '[[worlds]]\nname = "voter"\n[[worlds]]\nname = "conformity"\n'
    study.write_text('rules = ["fixed:1"]\nn_rounds = 4\ndebates = 500\n' + worlds)
    sweep = simulate(study)
    assert sweep.recommend()["world"].tolist() == ["voter", "conformity"]
    # Nobody learns anything in the voter world, so one round is as good as any.
    assert sweep.recommend()["rule"][0] == "fixed:1"
    text = run("simulate", study).output
    picked = dict(zip(sweep.recommend()["world"], sweep.recommend()["rule"], strict=True))
    first = " ".join(text.split("\n\n")[0].split())
    assert first.startswith("Run fixed:1 in ")
    assert all(world in first or len(set(picked.values())) == 1 for world in picked)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["calibrate", "PILOT", "--world", "conformty"], "did you mean 'conformity'?"),
        (
            ["calibrate", "PILOT", "--world", "assembly"],
            "world must be one that can be calibrated; got Assembly",
        ),
        (["calibrate", "PILOT", "--world", "courtroom"], "pilot must have scores"),
        (["calibrate", "PILOT", "--free", "charm"], "free must be names out of"),
        (["calibrate", "PILOT", "-o", "PILOT"], "--output must not exist, or be given with --overwrite"),
        (["calibrate", "PILOT", "-o", "no/such/folder.toml"], "the folder of --output must exist"),
        (["simulate"], "exactly one of STUDY.toml and --like must be given; got neither"),
        (
            ["simulate", "PILOT", "--like", "PILOT"],
            "exactly one of STUDY.toml and --like must be given; got both",
        ),
        (["simulate", "PILOT", "-r", "fixed:1"], "--rule must come with --like"),
        (["simulate", "--like", "PILOT", "--max-loss", "5"], "max_loss must lie below 1"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(pilot: Path, words: list[str], message: str) -> None:
    done = run(*(str(pilot) if word == "PILOT" else word for word in words))
    assert done.exit_code == 1
    assert message in " ".join(done.output.split())
    assert done.output.count("\n") == 1


@sampled("dissents", [1, 2, 4], [1])
def test_each_wide_interval_has_the_reason_that_holds_for_its_parameter(
    tmp_path: Path, dissents: int
) -> None:
    """A parameter without bounds has no range to cover, and one above 0 is judged by its scale."""
    path = tmp_path / "nearly_unanimous.csv"
    rows = [
        f"d{d},{r},{a},{'B' if d < dissents and (r, a) == (1, 'xyz'[d % 3]) else 'A'},A"
        for d in range(12)
        for r in (1, 2, 3)
        for a in "xyz"
    ]
    path.write_text("\n".join(["debate,round,agent,vote,label", *rows]) + "\n", encoding="utf-8")
    done = run("calibrate", path, "--json")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    document = json.loads(done.stdout)
    limits = {row["parameter"]: (row["low"], row["high"]) for row in document["parameters"]}
    hardly = {row["parameter"] for row in document["parameters"] if row["decided_by"] == "pilot, hardly"}
    reasons = [
        note["text"] for note in document["notes"] if note["text"].startswith("the pilot says little about")
    ]
    kinds = {
        "covers more than half of the possible values, 0 to 1": {"stubbornness"},
        "has an upper limit above ten times the lower one": {"shared_sd"},
        "is longer than 4, twice a large difference of such a parameter": {"skill", "conformity"},
    }
    told = set()
    for note in reasons:
        (kind,) = [kind for kind in kinds if note.endswith(kind)]
        named = {name for name in limits if f"{name} (" in note}
        assert named <= kinds[kind], note
        told |= named
    assert told == hardly
    assert reasons
