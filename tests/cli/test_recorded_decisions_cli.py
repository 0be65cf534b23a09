"""Logs of debates in both orders through compare, replay, bias and agreement, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from d3stats.cli import app
from d3stats.log.reader import read_log
from d3stats.trajectories import Trajectories

pytestmark = pytest.mark.usefixtures("computed_once")


PROTOCOLS = ("samre", "multi_persona", "eot")
N = 40


def run(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.stdout


def said(*words: str) -> str:
    return " ".join(run(*words).split())


def found(*words: str) -> Any:
    return json.loads(run(*words, "--json"))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Each protocol's debates of forty questions, both orders, with agents of one world."""
    folder = tmp_path_factory.mktemp("both_orders")
    world = folder / "world.toml"
    world.write_text('name = "assembly"\n')
    paths = {name: str(folder / f"{name}.jsonl") for name in PROTOCOLS}
    for name, path in paths.items():
        words = ("--synthetic", str(world), "--protocol", name, "--orders", "both", "--limit", str(N))
        run("debate", *words, "-o", path)
    return paths


def right(path: str) -> float:
    """Return the share of right decisions, straight from the records; debates without one left out."""
    log = read_log(path)
    both = log.verdicts.merge(log.items, on="debate").dropna(subset=["decision"])
    return float((both["decision"] == both["label"]).mean())


def test_compare_reports_the_accuracy_that_was_recorded(logs: dict[str, str]) -> None:
    document = found("compare", *logs.values())
    means = {one["name"]: one["value"] for one in document["runs"]}
    assert means == {name: pytest.approx(right(path)) for name, path in logs.items()}


def test_compare_says_which_verdict_was_read(logs: dict[str, str]) -> None:
    words = ("compare", logs["samre"], logs["multi_persona"], "--all")
    assert (
        'both runs: verdicts are the recorded decisions; the plurality of the votes, value="plurality" (--value'
        in (said(*words))
    )
    assert "both runs: verdicts are pluralities of the votes; the recorded decision differs in" in (
        said(*words, "--value", "plurality")
    )


def test_replay_says_where_votes_and_decisions_part(tmp_path: Path) -> None:
    rows = [
        f"q{k},1,{role},{role},{vote},A,1,A"
        for k in range(5)
        for role, vote in (
            ("moderator", "A"),
            ("affirmative", "A"),
            ("negative", "B"),
            ("helper", "BA"[k > 1]),
        )
    ]
    log = tmp_path / "moderated.csv"
    log.write_text("\n".join(["debate,round,agent,role,vote,label,closed,decision", *rows, ""]))
    shown = said("replay", str(log))
    assert (
        "The recorded decision is not the plurality of the last votes in" not in shown
    )  # ties: the lowest seat
    log.write_text(log.read_text().replace("affirmative,affirmative,A", "affirmative,affirmative,B"))
    shown = said("replay", str(log))
    assert "The recorded decision is not the plurality of the last votes in 5 of 5 debates" in shown
    assert "role (here: affirmative, helper, moderator, negative)" in shown
    assert "recorded decision" not in said("replay", str(log), "--role", "moderator")


def test_replay_of_the_role_that_decides_has_nothing_to_say(logs: dict[str, str]) -> None:
    shown = said("replay", logs["eot"], "--role", "synthesizer")
    assert "The recorded decision" not in shown
    document = found("replay", logs["eot"], "--role", "synthesizer")
    full = next(row for row in document["rules"] if row["rule"] == "full")
    alone = Trajectories.from_log(logs["eot"], roles=["synthesizer"])
    # Consensus ended each debate before the protocol's last round, also those of the log's last.
    assert set(read_log(logs["eot"]).verdicts["stop_reason"]) == {"consensus"}
    assert full["accuracy"] is None
    assert full["undecided"] == alone.ended_early().sum() == len(alone)
    last = alone.verdicts()[np.arange(len(alone)), alone.depth - 1]
    assert (last == alone.label).mean() == pytest.approx(right(logs["eot"]))


def test_replay_keeps_silent_where_both_are_the_same(logs: dict[str, str]) -> None:
    document = found("replay", logs["samre"])
    assert not any("recorded decision" in note["text"] for note in document["notes"])


def test_rules_on_scores_and_on_batches_replay_a_log_of_debates(logs: dict[str, str]) -> None:
    rules = ("budgeted:3", "sign_agreement", "ks:0.05")
    words = [word for rule in rules for word in ("-r", rule)]
    document = found("replay", logs["samre"], *words)
    names = [row["rule"] for row in document["rules"]]
    # The jury is asked once, so no rule on votes can be run.
    assert [name.split(":")[0] for name in names] == ["budgeted", "sign_agreement", "full"]
    assert any("ks:0.05; unanimity" in note["text"] for note in document["notes"])
    # The protocol's own rule, replayed: it stops where the debates did.
    own, full = document["rules"][0], document["rules"][-1]
    depth = Trajectories.from_log(logs["samre"]).depth
    assert own["rounds"] == pytest.approx(depth.mean())
    assert full["rounds"] is None
    assert full["undecided"] == (depth < depth.max()).sum() > 0
    # Signs may go on where a debate ended; before the jury has voted there is no verdict, and a note says so.
    assert document["rules"][1]["rounds"] is None
    document = found("replay", logs["samre"], "-r", "fixed:1")
    assert any("Debates without any vote at their stop" in note["text"] for note in document["notes"])


def test_a_log_whose_jury_votes_once_is_replayed_with_the_rule_of_its_protocol(logs: dict[str, str]) -> None:
    own = found("replay", logs["samre"])["rules"][0]
    assert own["rule"].startswith("budgeted")
    assert own["rounds"] == pytest.approx(Trajectories.from_log(logs["samre"]).depth.mean())
    assert own["accuracy"] == pytest.approx(right(logs["samre"]))
    assert own["tokens"] > 0
    names = [row["rule"] for row in found("replay", logs["eot"])["rules"]]
    assert not any(name.startswith("budgeted") for name in names)


@pytest.mark.parametrize(
    ("reason", "cut"),
    [
        *((name, 1) for name in ("exhausted", "round_cap", "negative_stands", "no_conclusion")),
        *((name, 2) for name in ("agents_left", "moderator-preference", "")),
    ],
)
def test_a_rule_that_fires_in_the_last_round_that_a_run_allows_cuts_nothing_off(
    tmp_path: Path, reason: str, cut: int
) -> None:
    """The last round is known where another debate of the run ended there for want of rounds."""
    rows = [
        f"{q},{r},x,A,A,{why},A,run,p"
        for q, depth, why in (("early", 1, "unanimity"), ("late", 2, "unanimity"), ("full", 2, reason))
        for r in range(1, depth + 1)
    ]
    log = tmp_path / "log.csv"
    head = "debate,round,agent,vote,label,stop_reason,decision,log,protocol"
    log.write_text("\n".join([head, *rows, ""]))
    t = Trajectories.from_log(log)
    assert t.ended_early().sum() == cut
    assert found("replay", str(log))["rules"][-1]["undecided"] == cut


def test_position_consistency_of_a_protocol_in_one_command(logs: dict[str, str]) -> None:
    for path in logs.values():
        decision = found("bias", path, "--judge", "decision")["judges"][0]
        log = read_log(path)
        table = log.verdicts.merge(log.items, on="debate").pivot_table(
            index="question", columns="first", values="decision", aggfunc="first"
        )
        same = float((table["A"] == table["B"]).mean())
        consistency = next(e for e in decision["estimates"] if e["name"] == "swap consistency")
        assert consistency["value"] == pytest.approx(same)
        assert consistency["n_clusters"] == decision["pairs"]["n_pairs"] == N


def test_bias_shows_the_protocol_first_then_who_voted(logs: dict[str, str]) -> None:
    judges = [audit["judge"] for audit in found("bias", logs["samre"])["judges"]]
    assert judges == ["decision", *(f"juror {k}" for k in range(1, 6))]


def test_debates_in_one_order_are_audited_against_the_label(tmp_path: Path) -> None:
    world, log = tmp_path / "world.toml", str(tmp_path / "seeded.jsonl")
    world.write_text('name = "assembly"\n')
    run("debate", "--synthetic", str(world), "--protocol", "single_judge", "--limit", "40", "-o", log)
    shown = said("bias", log)
    assert "first-slot excess against the label" in shown
    assert "each item was shown in one order only" in shown


def test_answers_without_candidates_have_no_position(tmp_path: Path) -> None:
    log = tmp_path / "free.csv"
    log.write_text("debate,round,agent,vote,label\nq1,1,x,42,42\nq2,1,x,7,8\n")
    done = CliRunner().invoke(app, ["bias", str(log)])
    assert done.exit_code != 0
    assert "a log must hold votes for A, B or tie (or 1, 2, tie); got votes for ['42', '7']" in done.output


def test_a_log_without_an_order_is_refused_with_what_it_lacks(tmp_path: Path) -> None:
    log = tmp_path / "votes.csv"
    log.write_text("debate,round,agent,vote,label\nq1,1,x,A,A\nq2,1,x,B,A\n")
    done = CliRunner().invoke(app, ["bias", str(log)])
    assert done.exit_code != 0
    assert "a position audit needs verdicts with their order" in " ".join(done.output.split())


def test_jurors_are_the_raters_of_a_log_of_debates(logs: dict[str, str]) -> None:
    shown = said("agreement", logs["samre"])
    assert f"{2 * N} items in {N} clusters, 5 agents, 0 votes missing" in shown
    assert "advocate" not in shown
    jury = said("agreement", logs["samre"], "--jury")
    assert "plurality of 5 jurors" in jury


def test_a_log_whose_jury_votes_once_is_fitted_round_by_round_without_distances(logs: dict[str, str]) -> None:
    shown = said("fit", logs["samre"], "--n-boot", "20")
    assert "No debate has votes in both rounds" in " ".join(shown.split())
    assert "votes right" in shown
