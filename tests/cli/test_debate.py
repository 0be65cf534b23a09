"""``d3stats debate`` as a user runs it, with synthetic agents; live ones are in tests/live."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from d3stats.cli import app
from d3stats.cli.debate import show_report
from d3stats.note import note_values
from d3stats.protocols import protocol_from_text
from d3stats.run import debate, forecast, read_items
from d3stats.run.items import DebateItem, Items
from d3stats.worlds import Courtroom, synthetic_agent, synthetic_items


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["debate", *words])


@pytest.fixture
def world(tmp_path: Path) -> str:
    path = tmp_path / "world.toml"
    path.write_text('name = "courtroom"\n')
    return str(path)


def test_a_world_is_debated_and_the_log_goes_through_the_other_commands(world: str, tmp_path: Path) -> None:
    log = str(tmp_path / "log.jsonl")
    done = run("--synthetic", world, "--limit", "12", "-o", log)
    assert done.exit_code == 0, done.output
    shown = " ".join(done.stdout.split())
    assert "forecast: 12 debates, samre, stopped by budgeted" in shown
    assert "No budget is set, so nothing limits the cost." in shown
    assert "debates closed 12 of 12" in shown
    assert "Next: d3stats doctor" in shown
    assert CliRunner().invoke(app, ["doctor", log]).exit_code == 0
    assert CliRunner().invoke(app, ["replay", log, "-r", "fixed:1"]).exit_code == 0


@pytest.mark.parametrize("n", [1, 2])
def test_a_replay_is_the_next_step_only_where_there_are_questions_enough(
    world: str, tmp_path: Path, n: int
) -> None:
    log = str(tmp_path / "log.jsonl")
    shown = " ".join(run("--synthetic", world, "--limit", str(n), "-o", log).stdout.split())
    assert ("d3stats replay" in shown) is (n == 2)
    assert (CliRunner().invoke(app, ["replay", log]).exit_code == 0) is (n == 2)


def test_the_same_command_again_plays_nothing_again(world: str, tmp_path: Path) -> None:
    words = ("--synthetic", world, "--limit", "5", "-o", str(tmp_path / "log.jsonl"), "--json")
    first, again = (json.loads(run(*words).stdout)["run"] for _ in range(2))
    assert (first["new"], again["new"], again["closed"]) == (5, 0, 5)
    assert again["charged"] == first["charged"]


def test_a_dry_run_shows_the_forecast_and_writes_nothing(world: str, tmp_path: Path) -> None:
    done = run("--synthetic", world, "--limit", "5", "--dry-run", "--json")
    forecast = json.loads(done.stdout)["forecast"]
    assert forecast["debates"] == 5
    assert forecast["shortest"]["calls"] < forecast["full"]["calls"] == forecast["bound"]["calls"]
    assert [path.name for path in tmp_path.iterdir()] == ["world.toml"]


def test_a_budget_is_shown_and_what_it_left_out_is_said(world: str, tmp_path: Path) -> None:
    words = ("--synthetic", world, "--limit", "30", "-o", str(tmp_path / "log.jsonl"))
    done = run(*words, "--budget-tokens", "60000")
    shown = " ".join(done.stdout.split())
    assert done.exit_code == 0, done.output
    assert "Budget: 60,000 tokens." in shown
    assert "run the same command with a larger budget" in shown
    assert "are needed to start another debate)" in shown
    assert "debates closed 30 of 30" in " ".join(run(*words, "--budget-tokens", "99000000").stdout.split())


def test_a_rule_for_a_batch_is_followed(world: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    protocol = "samre:jurors=5,poll=every_round"
    words = ("--synthetic", world, "--limit", "20", "--protocol", protocol, "-o", str(log), "--json")
    done = run(*words, "--stop", "ks:0.9,patience=1,camp=largest")
    assert json.loads(done.stdout)["run"]["stops"] == {"ks_stable": 20}


def test_a_dry_run_refuses_what_the_run_refuses(world: str) -> None:
    for more, said in (
        (("--stop", "unanimity"), "poll=every_round"),
        (("--budget-tokens", "50"), "a typical debate with all its rounds costs about"),
    ):
        done = run("--synthetic", world, "--dry-run", *more)
        assert (done.exit_code, len(done.stderr.strip().splitlines())) == (1, 1)
        assert said in done.stderr


def test_a_refused_budget_does_not_hold_the_log_for_its_settings(world: str, tmp_path: Path) -> None:
    words = ("--synthetic", world, "--limit", "3", "-o", str(tmp_path / "log.jsonl"))
    assert run(*words, "--budget-tokens", "50").exit_code == 1
    assert run(*words, "--protocol", "majority", "--seed", "3").exit_code == 0


def test_other_settings_are_named(world: str, tmp_path: Path) -> None:
    words = ("--synthetic", world, "--limit", "2", "-o", str(tmp_path / "log.jsonl"))
    assert run(*words).exit_code == 0
    assert "seed must be as in the run that log.calls.jsonl belongs to; got 3, was 0" in " ".join(
        run(*words, "--seed", "3").stderr.split()
    )


def test_a_path_with_blanks_is_quoted_in_the_next_command(world: str, tmp_path: Path) -> None:
    log = tmp_path / "a log.jsonl"
    done = run("--synthetic", world, "--limit", "2", "-o", str(log))
    assert f"d3stats doctor '{log}'" in " ".join(done.stdout.split())
    assert "calls, attempts" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("items.jsonl",), "-o must name the log"),
        (("-o", "{}/log.jsonl", "--model", "m"), "ITEMS must be given"),
        (("nothing.jsonl", "-o", "{}/log.jsonl"), "--model must name"),
        (("nothing.jsonl", "--model", "m", "-o", "{}/log.jsonl"), "nothing.jsonl"),
        (("--synthetic", "{}/world.toml", "-o", "{}/log.txt"), "log must end in .jsonl"),
        (("--synthetic", "{}/world.toml", "-o", "{}/no/log.jsonl"), "the folder of the log must exist"),
        (("--synthetic", "{}/world.toml", "-o", "{}/log.jsonl", "--stop", "bogus"), "bogus"),
        (("--synthetic", "{}/world.toml", "-o", "{}/log.jsonl", "--orders", "odd"), "orders must be one of"),
        (("--synthetic", "{}/world.toml", "-o", "{}/log.jsonl", "--budget-tokens", "9"), "must be at least"),
        (("x.jsonl", "--synthetic", "{}/world.toml", "-o", "{}/log.jsonl"), "ITEMS must not be given"),
        (("--synthetic", "{}/world.toml", "--dry-run", "--model", "m"), "--model must not be given with"),
        (
            ("--synthetic", "{}/world.toml", "--dry-run", "--no-send-seed"),
            "--no-send-seed must not be given with",
        ),
        (
            ("--synthetic", "{}/world.toml", "--dry-run", "--incumbent", "full"),
            "--incumbent must come with --ledger",
        ),
        (("x.jsonl", "--model", "m", "-o", "{}/log.jsonl", "--base-url", "nowhere"), "base_url must begin"),
        (("x.jsonl", "--model", "m", "--key-env", "NO_SUCH_KEY", "-o", "{}/log.jsonl"), "got 'NO_SUCH_KEY'"),
        (
            ("x.jsonl", "--model", "m", "--structured", "odd", "-o", "{}/log.jsonl"),
            "structured must be one of",
        ),
    ],
)
def test_what_a_user_can_mend_is_one_line(
    words: tuple[str, ...], said: str, world: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*(word.format(tmp_path) for word in words))
    assert done.exit_code == 1
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.output


def test_a_world_file_that_does_not_exist_is_named_with_what_it_must_hold(tmp_path: Path) -> None:
    done = run("--synthetic", str(tmp_path / "court.toml"), "--dry-run")
    assert done.exit_code == 1
    said = " ".join(done.output.split())
    assert "--synthetic must name a TOML file" in said
    assert "does not exist ('d3stats worlds' lists the names)" in said
    assert "Errno" not in said


TASKS = "Nr;Prompt;Answer A;Answer B;{}\n1;What is 2+2?;4;5;A\n2;Is it?;yes;no;B\n"
NO_SERVER = ("--protocol", "samre", "--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--window", "0")


@pytest.fixture
def tasks(tmp_path: Path) -> str:
    path = tmp_path / "tasks.csv"
    path.write_text(TASKS.format("Outcome"))
    return str(path)


def test_unread_columns_and_missing_labels_are_said_before_the_first_call(tasks: str, tmp_path: Path) -> None:
    unread, unlabelled = "columns that were not read: Outcome", "WARNING: no item has a label"
    shown = " ".join(run(tasks, *NO_SERVER, "--dry-run").stdout.split())
    assert shown.index(unlabelled) < shown.index("forecast: 2 debates") < shown.index(unread)
    assert "(--columns label=COLUMN)" in shown
    # No call is answered, and yet all of this was printed.
    log = ("-o", str(tmp_path / "log.jsonl"), "--wait", "0")
    played = run(tasks, *NO_SERVER, *log)
    assert played.exit_code == 1
    shown = " ".join(played.stdout.split())
    assert unread in shown
    assert unlabelled in shown
    # The object of --json is printed last, so the notes go ahead of it.
    played = run(tasks, *NO_SERVER, *log, "--json")
    assert unread in played.stderr
    assert unlabelled in played.stderr
    assert json.loads(played.stdout)["warnings"][0]["text"].startswith("no item has a label")


def test_chosen_columns_are_read(tasks: str, tmp_path: Path) -> None:
    done = run(tasks, *NO_SERVER, "--dry-run", "--json", "--columns", "label=Outcome,question=Prompt")
    assert json.loads(done.stdout)["warnings"] == []
    assert json.loads(done.stdout)["forecast"]["notes"][0]["text"] == (
        "columns: question is 'Prompt', id is 'Nr', answer_a is 'Answer A', answer_b is 'Answer B', "
        "label is 'Outcome'"
    )
    for wrong, said in (
        ("label=Outcom", "did you mean 'Outcome'?"),
        ("lable=Outcome", "did you mean 'label'?"),
        ("Outcome", "columns must be written field=column"),
    ):
        refused = run(tasks, *NO_SERVER, "--dry-run", "--columns", wrong)
        assert refused.exit_code == 1
        assert said in refused.stderr
    (tmp_path / "w.toml").write_text('name = "courtroom"\n')
    refused = run("--synthetic", str(tmp_path / "w.toml"), "--dry-run", "--columns", "label=Outcome")
    assert "--columns must not be given with --synthetic" in refused.stderr


def test_the_report_of_a_run_repeats_the_notes_on_its_items(
    tasks: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = read_items(tasks)
    world = Courtroom()
    protocol = protocol_from_text("majority:judges=3")
    drawn = synthetic_items(world, 2, seed=1)
    agents = synthetic_agent(world, 1)
    synthetic = Items([DebateItem(i.question, i.text, i.candidates) for i in drawn], items.read, items.unread)
    outlook = forecast(protocol, synthetic, agents)
    report = debate(protocol, synthetic, agents, tmp_path / "log.jsonl")
    assert list(report.notes) == list(outlook.notes) == items.notes
    assert report.to_dict()["notes"] == outlook.to_dict()["notes"] == note_values(items.notes)
    show_report(report)
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.index("WARNING: no item has a label") < shown.index("debates closed")
    assert "columns that were not read: Outcome" in shown
    labelled = [DebateItem(i.question, i.text, i.candidates, label=i.label) for i in drawn]
    assert forecast(protocol, labelled, agents).notes == ()
    assert forecast(protocol, list(synthetic), agents).notes[0].startswith("WARNING: no item has a label")


def test_a_run_tells_cut_replies_dear_calls_and_what_its_budget_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = Courtroom()
    items = Items([DebateItem(i.question, i.text, i.candidates) for i in synthetic_items(world, 2, seed=1)])
    done = debate(
        protocol_from_text("majority:judges=3"), items, synthetic_agent(world, 1), tmp_path / "log.jsonl"
    )
    short = {"stopped": "budget", "not_begun": ("c", "d"), "unfinished": 1}
    in_tokens = {"tokens_left": 1_200, "tokens_to_begin": 4_321}
    in_dollars = {"dollars_left": 0.5, "dollars_to_begin": 0.75}
    for changes, told in (
        ({"shortened": 1_017}, ("1,017 replies are longer",)),
        ({"overdrawn": 3}, ("3 calls cost more than their bound",)),
        (short, ("2 debates did not start, 1 did not end. To resume",)),
        (short | in_tokens, ("(1,200 left; 4,321 tokens are needed to start another debate)",)),
        (short | in_dollars, ("0.7500 dollars are needed",)),
        (short | in_tokens | in_dollars, ("1,200 and", "4,321 tokens and", "0.7500 dollars")),
    ):
        show_report(replace(done, **changes))
        shown = " ".join(capsys.readouterr().out.split())
        assert all(part in shown for part in told), shown


LEDGER = (
    "--protocol",
    "stability:panel=3,max_rounds=4,camp=none",
    "--limit",
    "30",
    "--ledger",
    "eps=.2,warm_up=8",
)


def test_a_campaign_with_a_ledger_prints_its_certificate(world: str, tmp_path: Path) -> None:
    done = run("--synthetic", world, *LEDGER, "-o", str(tmp_path / "log.jsonl"))
    assert done.exit_code == 0, done.output
    shown = " ".join(done.stdout.split())
    assert "stopped by unanimity" in shown
    assert "With chance at least 90 %, at most 6 of 30 delivered verdicts differ from unanimity's" in shown
    assert "The guarantee is about this campaign" in shown


def test_a_ledger_has_the_rule_in_force_as_its_incumbent(world: str, tmp_path: Path) -> None:
    log = str(tmp_path / "log.jsonl")
    done = run("--synthetic", world, *LEDGER, "--incumbent", "fixed:3", "-o", log)
    assert done.exit_code == 0, done.output
    assert "at most 6 of 30 delivered verdicts differ from fixed:3's" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--stop", "fixed:2"), "--stop must not be given with --ledger, which chooses its early rules"),
        (("--shadow", "fixed:2"), "shadow must not be given with a ledger"),
        (("--retry-missing",), "retry_missing must be False with a ledger"),
        (("--incumbent", "ks"), "incumbent must be a rule that decides each debate by itself"),
    ],
)
def test_what_a_ledger_cannot_stand_beside_is_refused_before_a_call(
    words: tuple[str, ...], said: str, world: str, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    done = run("--synthetic", world, *LEDGER, *words, "-o", str(log))
    assert done.exit_code == 1
    assert said in " ".join(done.output.split()), done.output
    assert [path.name for path in tmp_path.iterdir()] == ["world.toml"]
