"""The half-widths of a loss are those of its estimates in simulated pilots."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from layers import examples
from scipy.special import ndtri
from typer.testing import CliRunner

from d3stats.cli import app
from d3stats.planning import label_value
from d3stats.stopping import Unanimity, from_text
from d3stats.trajectories import MISSING
from d3stats.worlds import Conformity, simulate_debates

RULE = "fixed:1"


@pytest.fixture(scope="module")
def many():  # type: ignore[no-untyped-def]
    return simulate_debates(Conformity(panel=5), n_debates=50_000, n_rounds=5, rng=4)


def changes(log) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Return 1 where unanimity alone is right, -1 where the rule alone is, NaN where the verdicts are the same."""
    row = np.arange(len(log))
    first, usual = (
        log.verdicts()[row, rule.stop_rounds(log).rounds - 1] for rule in (from_text(RULE), Unanimity())
    )
    change = (usual == log.label).astype(float) - (first == log.label)
    return np.where(first == usual, np.nan, change)


@examples(50, 200, "number")
def test_half_widths_are_those_of_estimates_from_50000_debates_at_four_standard_errors(
    many, number: int
) -> None:  # type: ignore[no-untyped-def]
    table = label_value(many, RULE).to_frame().set_index(["labels", "chosen"])["half_width"]
    x, n = changes(many), len(many)
    z = ndtri(0.975)
    # At random: one estimate from each block of so many labelled debates.
    blocks = np.nan_to_num(x)[: n // number * number].reshape(-1, number).mean(axis=1)
    error = blocks.std(ddof=1) / np.sqrt(2 * (len(blocks) - 1))
    assert abs(table[number, "at random"] / z - blocks.std(ddof=1)) <= 4 * error
    # Where verdicts differ: the share is known from all debates, so that its own error is nothing beside the other.
    differ = x[~np.isnan(x)]
    share = len(differ) / n
    blocks = share * differ[: len(differ) // number * number].reshape(-1, number).mean(axis=1)
    error = blocks.std(ddof=1) / np.sqrt(2 * (len(blocks) - 1))
    assert abs(table[number, "where verdicts differ"] / z - blocks.std(ddof=1)) <= 4 * error
    assert table[number, "where verdicts differ"] < table[number, "at random"]


def test_the_loss_is_at_most_the_share_of_verdicts_that_differ(many) -> None:  # type: ignore[no-untyped-def]
    pilot = many.select(np.arange(200))
    found = label_value(replace(pilot, label=np.full(200, MISSING, np.int32)), RULE)
    assert found.n_differ == int((~np.isnan(changes(pilot))).sum())
    assert abs(np.nanmean(np.nan_to_num(changes(many)))) < found.differ_high
    assert found.to_frame()["half_width"].iloc[0] == pytest.approx(found.differ_high)
    # Without a label the variance is the largest: one label more or less in each debate that differs.
    d = found.differ
    half = found.to_frame().set_index(["labels", "chosen"])["half_width"]
    assert half[50, "at random"] == pytest.approx(min(ndtri(0.975) * np.sqrt(d / 50), found.differ_high))
    assert "the largest that labels could show" in found.summary()
    assert found.headline.startswith(
        f"Label the {found.n_differ} debates in which fixed:1 and unanimity differ"
    )


def test_debates_that_share_a_question_are_warned_of(many) -> None:  # type: ignore[no-untyped-def]
    pilot = many.select(np.arange(40))
    shared = replace(pilot, cluster=np.arange(40) // 4, cluster_names=tuple(map(str, range(10))))
    assert any("40 debates here are of 10 questions" in note for note in label_value(shared, RULE).notes)
    assert not any("share" in note for note in label_value(pilot, RULE).notes)


def test_a_rule_that_never_differs_needs_no_label(many) -> None:  # type: ignore[no-untyped-def]
    found = label_value(many.select(np.arange(50)), "unanimity")
    assert found.n_differ == 0
    assert found.headline.startswith("No label is needed")


def test_what_cannot_be_known_is_refused(many) -> None:  # type: ignore[no-untyped-def]
    pilot = many.select(np.arange(30))
    with pytest.raises(ValueError, match="decide each debate by itself"):
        label_value(pilot, "hu2025")
    with pytest.raises(ValueError, match="labels must be"):
        label_value(pilot, RULE, labels=[0])
    one = replace(pilot, cluster=np.zeros(30, np.int64), cluster_names=("q",))
    with pytest.raises(ValueError, match="pilot must hold at least 2 questions"):
        label_value(one, RULE)
    short = replace(pilot, stopped_by_rule=np.ones(30, np.bool_))
    with pytest.raises(ValueError, match="of 30 debates that ended before"):
        label_value(short, "full")


@pytest.fixture
def pilot_files(tmp_path):  # type: ignore[no-untyped-def]
    """Write one pilot with all labels, with those of a third of the debates, and without labels."""
    log = simulate_debates(Conformity(panel=5), n_debates=60, n_rounds=3, rng=2)
    head = "debate,round,agent,vote,label"
    for name, labelled in (("all", 60), ("some", 20), ("none", 0)):
        rows = [
            f"d{i},{r + 1},a{s},{log.answers[log.votes[i, r, s]]},"
            f"{log.answers[log.label[i]] if i < labelled else ''}"
            for i in range(60)
            for r in range(3)
            for s in range(5)
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return tmp_path


def planned(path) -> dict:  # type: ignore[no-untyped-def, type-arg]
    done = CliRunner().invoke(app, ["plan", str(path), "--no-limit", "--n-draws", "50", "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_plan_of_a_pilot_without_labels_is_about_agreement_and_says_what_labels_would_tell(
    pilot_files,
) -> None:  # type: ignore[no-untyped-def]
    for name in ("none", "some"):
        document = planned(pilot_files / f"{name}.csv")
        assert document["target"] == "agreement"
        assert "agreement" in document["reason"]
        assert "accuracy" not in document["headline"]
        told = document["labels"]
        rules = {row["rule"]: row for row in document["rules"]}
        named = rules[told["rule"]]
        others = [row for row in rules.values() if row["role"] == "compared" and row["undecided"] == 0]
        # The rule is the recommended one, or where that is unanimity the one that saves most.
        assert named["role"] == "recommended" or named["saved"] == max(row["saved"] for row in others)
        found = label_value(str(pilot_files / f"{name}.csv"), told["rule"])
        assert told["tables"]["labels"] == found.to_frame().to_dict("records")
        assert [row["labels"] for row in told["tables"]["labels"]][:3] == [0, 50, 200]
    shown = CliRunner().invoke(
        app, ["plan", str(pilot_files / "none.csv"), "--no-limit", "--n-draws", "50"], env={"COLUMNS": "80"}
    )
    assert f"in which {told['rule']} and unanimity differ" in " ".join(shown.stdout.split())
    assert "loss known to" in shown.stdout


def test_a_pilot_with_all_labels_needs_no_further_ones(pilot_files) -> None:  # type: ignore[no-untyped-def]
    assert "labels" not in planned(pilot_files / "all.csv")
