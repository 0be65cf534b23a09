"""An option that a mode of a command takes changes what the command says, or the command refuses it.

A mode that reads an option and does nothing with it gives numbers that the user did not ask for, without a word.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from layers import dealt
from test_terminal import make_inputs
from typer.main import get_command
from typer.testing import CliRunner

from d3stats.cli import app

GROUP = get_command(app)
REPORT = "report log.csv --n-boot 20 --overwrite -o page.html"
MODES: dict[str, list[str]] = {
    "fit": ["fit log.csv --n-boot 30", "fit log.csv --n-boot 6 --round 2"],
    "count": ["count log.csv"],
    "replay": ["replay log.csv", "replay log.csv --paired --strata kind"],
    "plan": ["plan log.csv --n-draws 12", "plan log.csv --n-draws 12 --prices prices.toml --model mine"],
    "compare": [
        "compare log.csv other.csv",
        "compare log.csv other.csv --kind percentile --n-boot 50 --margin 0.1 --strata kind",
        "compare run_one.csv run_two.csv run_three.csv",
        "compare short.csv run_two.csv",
    ],
    "rank": ["rank pairs.csv"],
    "panel": ["panel ratings.csv --judges 2", "panel log.csv", "panel unlabelled.csv --judges 2"],
    "confidence": ["confidence confident.csv"],
    "agreement": [
        "agreement log.csv",
        "agreement log.csv --kind percentile --n-boot 50 --strata kind",
        "agreement log.csv --jury",
        "agreement ratings.csv",
    ],
    "bias": [f"bias verdicts.csv --audit {audit}" for audit in ("position", "verbosity", "self", "persona")],
    "report": [REPORT, f"{REPORT} --prices prices.toml --model mine"],
    "rationales": [
        "rationales said.csv",
        "rationales disputed.csv --role juror",
        "rationales said.csv disputed.csv",
    ],
    "escalate": ["escalate more.jsonl samre.jsonl --max-loss-vs-second 0.2 --confidence 0.6"],
    "abstain": ["abstain log.csv --max-error 0.1 --confidence 0.5"],
    "simulate": ["simulate study.toml", "simulate --like log.csv --world voter --debates 100"],
    "power": [
        "power --effect 0.05 --discordance 0.2",
        "power --n 300 --discordance 0.2",
        "power --effect 0.05 --n 300 --accuracy 0.7 --cluster-size 2 --icc 0.1 --repeats 2 --repeat-icc 0.2",
        "power --n 300 --goal equivalence --margin 0.1 --discordance 0.2",
        "power --pilot log.csv,other.csv --effect 0.1",
        "power --pilot run_one.csv,run_two.csv --n 100",
        "power --pilot short.csv,run_two.csv --n 100",
    ],
    "calibrate": ["calibrate log.csv --world voter --n-rep 40 --n-sim 100 --n-starts 2"],
    "paper": [
        "paper d3:table-1 log.csv other.csv",
        "paper d3:table-2 log.csv other.csv --prices prices.toml --model mine",
        "paper d3:figure-4 log.csv --rule fixed:1",
        "paper advocates:table-2 log.csv other.csv",
        "paper stability:rounds log.csv --n-boot 40",
    ],
    "correct": ["correct judged.csv", "correct chances.csv --judge judge", "correct partly.csv"],
    "scores": ["scores samre.jsonl", "scores responses.jsonl --human people.csv"],
    "doctor": ["doctor turns.csv"],
    "show": ["show log.csv d03", "show log.csv", "show samre.jsonl"],
    "debate": ["debate --synthetic world.toml --limit 3 --dry-run"],
}
CHANGES: dict[str, list[str]] = {
    "fit": ["--n-components 1", "--round 1", "--missing wrong", "--level 0.5", "--n-boot 30", "--seed 7"],
    "count": ["--missing wrong"],
    "replay": [
        *(
            "--rule unanimity|fixed:2",
            "--missing wrong",
            "--level 0.5",
            "--paired",
            "--strata kind",
        ),
    ],
    "plan": [
        *(
            "--max-loss 0.3",
            "--confidence 0.5",
            "--debates 5",
            "--campaign 300",
            "--target agreement",
            "--n-draws 20",
            "--rule supermajority:0.7",
        ),
        *("--output-share 0.9", "--level 0.5", "--no-limit", "--seed 7", "--prices prices.toml --model mine"),
    ],
    "compare": [
        *(
            "--by debate",
            "--value votes",
            "--round 1",
            "--baseline other",
            "--weights question",
            "--margin 0.2",
        ),
        *(
            "--baseline run_two",
            "--name x --name y",
            "--kind basic",
            "--test 'McNemar exact'",
            "--family bonferroni",
        ),
        *("--strata kind", "--missing wrong", "--level 0.5", "--n-boot 30", "--seed 7"),
    ],
    "agreement": [
        *(
            "--a 'agent 1' --b 'agent 2'",
            "--measure alpha",
            "--rater 'agent 1' --rater 'agent 2' --rater 'agent 3'",
            "--weights linear",
            "--metric interval",
            "--categories A",
        ),
        *(
            "--categories A,B,C",
            "--round 1",
            "--by question",
            "--repeats separate --by question",
            "--kind basic",
        ),
        *("--jury", "--strata kind", "--level 0.5", "--n-boot 30", "--seed 7"),
    ],
    "bias": [
        *(
            "--judge small",
            "--votes slot",
            "--baseline ethics",
            "--against all",
            "--no-use-label",
            "--strata kind",
        ),
        *("--level 0.5", "--seed 7"),
    ],
    "report": [
        *(
            "--rule unanimity|fixed:2",
            "--transcripts 1",
            "--missing wrong",
            "--level 0.5",
            "--n-boot 30",
            "--seed 7",
        ),
        *("--output-share 0.9", "--name mine", "--prices prices.toml --model mine"),
    ],
    "rationales": [
        *("--ignore depth", "--order turns", "--order rounds"),
        *(
            "--round 1",
            "--repeated-words 2",
            "--family bonferroni",
            "--level 0.5",
            "--seed 7",
            "--name x",
            "--role advocate",
        ),
        *("--name x --name y",),
    ],
    "abstain": ["--max-error 0.3", "--confidence 0.9", "--rule fixed:1", "--order none", "--level 0.5"],
    "confidence": ["--round 1", "--by-round", "--bins 3", "--binning equal_width", "--level 0.5", "--seed 9"],
    "rank": [
        *("--reference b", "--without d", "--no-order", "--effects judge", "--penalty 0.5", "--scale elo"),
        "--level 0.5",
    ],
    "panel": [
        *("--judges 1", "--max-price 1", "--rater 'agent 1' --rater 'agent 2' --rater 'agent 3'"),
        *(
            " ".join(f"--price 'agent {k}={1 + (k < 3)}'" for k in range(1, 6)),
            "--round 1",
            "--repeats separate",
            "--by question",
        ),
        *("--prior 3", "--level 0.5", "--n-boot 30", "--seed 7"),
    ],
    "escalate": [
        *("--max-loss-vs-second 0.4", "--confidence 0.95", "--threshold 3", "--level 0.5"),
    ],
    "simulate": [
        *("--world conformity", "--rule fixed:3", "--debates 300", "--max-loss 0.3", "--confidence 0.999"),
        *(
            "--by seed",
            "--role juror",
            "--missing-values A",
            "--columns vote=label",
            "--encoding utf-16",
            "--seed 7",
        ),
    ],
    "power": [
        *(
            "--effect 0.03",
            "--n 200",
            "--discordance 0.3",
            "--sd 0.3",
            "--accuracy 0.99",
            "--correlation 0.2",
        ),
        *(
            "--icc 0.15",
            "--cluster-size 3",
            "--size-cv 0.5",
            "--repeats 3",
            "--repeat-icc 0.3",
            "--goal equivalence --margin 0.1",
        ),
        *(
            "--margin 0.2",
            "--power 0.9",
            "--alpha 0.01",
            "--alternative one-sided",
            "--level 0.5",
        ),
        *("--by debate", "--value votes", "--missing wrong", "--missing-values A", "--columns vote=label"),
        "--encoding utf-16",
    ],
    "paper": [
        *("--name x --name y", "--strata kind", "--baseline other", "--rule unanimity", "--n-boot 50"),
        *("--level 0.5", "--seed 7", "--output-share 0.9", "--prices prices.toml --model mine"),
    ],
    "calibrate": [
        "--world conformity",
        "--free accuracy",
        "--level 0.5",
        "--seed 7",
        "--method simulated_moments",
        "--n-rep 60",
        "--n-sim 200",
        "--n-starts 1",
    ],
    "correct": [
        *(
            "--judge other",
            "--labelled chosen",
            "--chance part",
            "--width 0.08",
            "--round 1",
            "--categories A,B,C",
        ),
        *("--repeats separate", "--by question", "--level 0.5"),
    ],
    "scores": ["--level 0.5", "--seed 7", "--strata category"],
    "doctor": ["--fix mended.csv --overwrite"],
    "show": ["--round 1", "--no-text"],
    "debate": [
        *(
            "--protocol majority",
            "--stop fixed:2",
            "--orders both",
            "--repeats 2",
            "--budget-tokens 900000",
            "--limit 4",
        ),
        *(
            "--seed 7",
            "--ledger eps=.01,delta=.1",
            "--prices prices.toml",
            "--max-usd 9",
            "--incumbent fixed:2",
        ),
        *(
            "--model m",
            "--role-model juror=m",
            "--base-url http://127.0.0.1:1",
            "--key-env K",
            "--temperature 1",
        ),
        *(
            "--timeout 9",
            "--retries 1",
            "--rpm 9",
            "--window 9",
            "--tokens-per-word 3",
            "--reasoning-tokens 9",
        ),
        *(
            "--most-words 9",
            "--no-send-seed",
            "--model-as-is",
            "--structured text",
            "--ask-confidence",
            "--wait 9",
        ),
        *("--format table", "--identical keep", "--empty keep", "--columns label=x", "--encoding latin-1"),
    ],
}
"""Another value of every option; one with two options changes the first."""

ELSEWHERE = {
    "--json", "--latex", "--figure", "--output", "--overwrite", "--csv", "--table",  # where and how results are written
    "--workers", "--scheduler",  # where a study is computed; the numbers must not change
    "--lenient", "--role", "--missing-values", "--columns", "--encoding",  # how every mode reads: test_reading_options
    "--all", "--pairs",  # how much is printed: test_answers_first, test_agreement_command
    "--at-least", "--at-most", "--gate",  # tests/test_gate.py
    "--sheet",  # of workbooks: test_reading_options
    "--scorer",  # of logs of Inspect: tests/bridges/test_inspect_scorers.py
    "--read",  # tests/sources/test_stated_answers.py
    "--human",  # tests/report/test_paper.py
    "--cites", "--reasons", "--embed", "--model", "--role-model", "--like", "--pilot", "--audit", "--help",
}  # fmt: skip
"""Options that have tests of their own, or that make a mode."""

OF_COMMANDS: dict[tuple[str, str], str] = {
    ("fit", "--bayes"): "it samples for half a minute: test_fit_bayes.py",
    ("bias", "--use-label"): "it is the default of --no-use-label",
    ("rank", "--order"): "it is the default of --no-order",
    ("plan", "--limit"): "it is the default of --no-limit",
    ("show", "--text"): "it is the default of --no-text",
    ("debate", "--send-seed"): "it is the default of --no-send-seed",
    **{("debate", name): "it says how a run goes, which a dry run only forecasts: test_debate.py, tests/run"
       for name in ("--concurrency", "--name", "--retry-missing", "--shadow")},
    ("debate", "--synthetic"): "it makes the mode",
    ("debate", "--dry-run"): "it makes the mode",
    **{("import", name): "one format has it, and every other refuses it: tests/log/importers"
       for name in ("--baseline", "--filter", "--metric", "--reading", "--votes")},
    ("import", "--text"): "tests/log/importers",
    **dict.fromkeys((("demo", "--out"), ("demo", "--seed"), ("example", "--wide")), "it makes a file to try"),
    **{("theorems", name): "claims are checked with --verify alone, else it is refused: test_theorems_command.py"
       for name in ("--verify", "--examples", "--seed")},
}  # fmt: skip
"""Options of single commands that are not tried here, with the reason."""

NOTHING_TO_CHANGE = {
    # No method of these modes draws a random number, so every seed gives the same result, as the help says.
    "--seed": ["compare log.csv other.csv", "compare run_one", "compare short", "agreement log.csv",
               "agreement ratings", "bias", "rationales", "paper d3", "paper advocates", "scores"],
    # A row of a table is an item; the help says "in a log".
    "--by": ["compare run_one", "compare short", "power --pilot short", "agreement ratings", "power --pilot run_one",
             "panel ratings", "panel unlabelled", "correct judged", "correct chances"],
    # These inputs have nothing missing.
    "--missing": ["compare run_one", "power --pilot run_one"],
    "--missing-values": ["power --pilot run_one", "power --pilot short"],
    # Each question of a log is one item.
    "--weights": ["compare log.csv other.csv"],
    # One pair has nothing to adjust for.
    "--family": ["compare log.csv other.csv", "compare short", "rationales said"],
    # Too few questions changed to decide anything about a margin, as a note says.
    "--margin": ["compare log.csv other.csv --kind percentile"],
    # No agent votes twice on an item.
    "--repeats": ["agreement ratings", "panel", "correct"],
    # The best panel is one judge.
    "--judges": ["panel ratings", "panel unlabelled"],
    "--max-price": ["panel ratings", "panel unlabelled"],
    # There is no third judge, or one round of rationales.
    "--against": ["bias verdicts.csv --audit self"],
    "--round": ["rationales disputed"],
    # There are no rationales that repeat so many words, or no reasons.
    "--repeated-words": ["rationales"],
    # One start finds the same fit as all of them.
    "--n-starts": ["calibrate log.csv --world voter"],
    # A table holds no texts.
    "--no-text": ["show log.csv d03"],
}  # fmt: skip
"""Options without an effect in modes that begin so, with the reason."""


pytestmark = pytest.mark.usefixtures("computed_once")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inputs on which every option can have an effect: two answers, missing votes, an undecided debate, kinds."""
    path = tmp_path_factory.mktemp("options")
    make_inputs(path)
    for name, seed in (("log", 1), ("other", 2)):
        rng = np.random.default_rng(seed)
        rows = [
            (f"d{d:02d}", f"q{d // 2:02d}", r, f"agent {a}", "AB"[int(rng.random() < (d % 7) / 8)], "A",
             "xy"[d // 2 % 2], int(rng.integers(50, 90)))
            for d in range(28)
            for r in (1, 2, 3)
            for a in range(1, 6)
        ]  # fmt: skip
        table = pd.DataFrame(
            rows, columns=["debate", "question", "round", "agent", "vote", "label", "kind", "tokens"]
        )
        table.loc[
            (rng.random(len(table)) < 0.04) | ((table["debate"] == "d03") & (table["round"] == 3)), "vote"
        ] = None
        table.to_csv(path / f"{name}.csv", index=False)
    stated = np.random.default_rng(7).integers(30, 101, 28 * 15) / 100
    pd.read_csv(path / "log.csv").assign(confidence=stated).to_csv(path / "confident.csv", index=False)
    pd.read_csv(path / "ratings.csv").drop(columns="label").to_csv(path / "unlabelled.csv", index=False)
    verdicts = pd.read_csv(path / "verdicts.csv")
    verdicts.assign(kind=np.where(verdicts["item"] % 2, "x", "y")).to_csv(path / "verdicts.csv", index=False)
    log = pd.read_csv(path / "log.csv")
    log.assign(label=log["label"].where(log["question"] > "q06")).to_csv(path / "partly.csv", index=False)
    judged = pd.read_csv(path / "judged.csv")
    judged.assign(other=np.roll(judged["judge"], 1), part=0.2).to_csv(path / "chances.csv", index=False)
    runs = pd.read_csv(path / "run_one.csv").iloc[:50]
    runs["correct"] = runs["correct"].astype("Int64")
    runs.loc[[1, 7], "correct"] = pd.NA
    runs.to_csv(path / "short.csv", index=False)
    return path


def said(line: str) -> tuple[int, str]:
    """Return how a command ended, and all that it writes; a report is read from its page."""
    words = shlex.split(line)
    one_round = words[0] == "fit" and "--round" in words  # it is always shown in full
    if not one_round and any("--all" in parameter.opts for parameter in GROUP.commands[words[0]].params):  # type: ignore[attr-defined]
        words.append("--all")
    done = CliRunner().invoke(app, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    text = done.stdout + done.stderr
    if line.startswith("report") and done.exit_code == 0:
        text = Path("page.html").read_text(encoding="utf-8")
    return done.exit_code, text


def with_change(mode: str, change: str) -> str:
    """Give an option its other value; an option that the mode has already is replaced."""
    words, option = shlex.split(mode), shlex.split(change)[0]
    if option in words:
        at = words.index(option)
        del words[at : at + (2 if at + 1 < len(words) and not words[at + 1].startswith("--") else 1)]
    return f"{shlex.join(words)} {change}"


def of_no_effect(mode: str, option: str) -> bool:
    return any(mode.startswith(start) for start in NOTHING_TO_CHANGE.get(option, ()))


ANSWERED = (0, 4, 5)
"""Exit codes of an answer: without a gate, of a gate that failed, and of one that could not be decided."""

WITH_OPTION = dealt(
    {
        command: list(dict.fromkeys(shlex.split(change)[0] for change in changes))
        for command, changes in CHANGES.items()
    }
)
"""Options of a command that the fast layer tries: one that several commands have is tried with every fourth of them."""


def of_mode(command: str, mode: str, whole: bool) -> list[str]:
    """Return the changes that a mode is tried with: all of them, or those that the fast layer deals out to it."""
    modes = MODES[command]
    given = CHANGES[command] if whole else CHANGES[command][modes.index(mode) :: len(modes)]
    return [
        change
        for change in given
        if change not in mode and (whole or shlex.split(change)[0] in WITH_OPTION[command])
    ]


CASES = [
    pytest.param(
        command, mode, whole, id=f"{mode} {'all' if whole else 'dealt'}",
        marks=pytest.mark.slow if whole or command == "report" else (),
    )
    for command, modes in MODES.items()
    for mode in modes
    for whole in (False, True)
    if of_mode(command, mode, whole)
]  # fmt: skip
"""Each mode with all changes is slow; in the fast layer the changes of a command are dealt out among its modes."""


@pytest.mark.parametrize(("command", "mode", "whole"), CASES)
def test_every_option_has_an_effect_or_is_refused(
    command: str, mode: str, whole: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("d3stats.cli.report.command_of", lambda context: "d3stats report")
    code, usual = said(mode)
    assert code in ANSWERED, usual
    ignored = []
    for change in of_mode(command, mode, whole):
        _, text = said(with_change(mode, change))
        if text == usual and not of_no_effect(mode, shlex.split(change)[0]):
            ignored.append(change)
    assert ignored == []


LATEX = [
    "--level 0.5",
    "--n-boot 30",
    "--strata kind",
    "--missing wrong",
    "--confidence 0.999",
    "--max-loss 0.3",
]
"""Options of the numbers themselves, which LaTeX has too."""


def latex_changes(command: str, mode: str) -> list[str]:
    return [change for change in LATEX if change in CHANGES[command] and shlex.split(change)[0] not in mode]


def soon(command: str, mode: str) -> bool:
    """Whether the fast layer tries a mode: the first of a command that has an option which no command before it has."""
    before = {change for name in list(MODES)[: list(MODES).index(command)] for change in CHANGES[name]}
    return mode == MODES[command][0] and bool(set(latex_changes(command, mode)) - before)


@pytest.mark.parametrize("form", ["--latex", pytest.param("--json", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("command", "mode"),
    [
        pytest.param(command, mode, id=mode, marks=() if soon(command, mode) else pytest.mark.slow)
        for command, modes in MODES.items()
        if command != "report"
        for mode in modes
        if latex_changes(command, mode)
    ],
)
def test_every_option_has_an_effect_in_every_form(
    command: str, mode: str, form: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    _, usual = said(f"{mode} {form}")
    changes = latex_changes(command, mode)
    found = {change: said(f"{mode} {change} {form}")[1] for change in changes}
    same = [change for change, text in found.items() if text == usual]
    assert [change for change in same if not of_no_effect(mode, shlex.split(change)[0])] == []


def options_of(command: str) -> set[str]:
    return {
        name
        for parameter in GROUP.commands[command].params  # type: ignore[attr-defined]
        if parameter.param_type_name == "option"
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--")
    }


def test_every_option_of_every_command_is_tried_or_has_a_reason_not_to_be() -> None:
    untried = {}
    for command in GROUP.commands:  # type: ignore[attr-defined]
        changes = CHANGES.get(command, [])
        tried = {word for change in changes for word in shlex.split(change) if word.startswith("--")}
        excused = {option for of, option in OF_COMMANDS if of == command}
        assert excused <= options_of(command) - tried, (
            command,
            "has a reason for what is tried, or is no option",
        )
        if left := options_of(command) - tried - ELSEWHERE - excused:
            untried[command] = left
    assert untried == {}
    assert set(MODES) == set(CHANGES)


def test_one_round_is_always_shown_in_full(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--all is excused above, because it prints more; this mode has no more to print."""
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, ["fit", "log.csv", "--n-boot", "6", "--round", "2", "--all"])
    assert done.exit_code == 1
    assert "--all must come without --round" in done.output


@pytest.mark.slow
@pytest.mark.parametrize("command", [c for c in CHANGES if c not in ("report", "debate")])
def test_every_other_value_is_one_that_some_mode_accepts(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value that no mode accepts would show nothing of the option; what a live model needs has no other mode here."""
    monkeypatch.chdir(folder)
    meant_to_fail = {"--accuracy 0.99", "--categories A", "--encoding utf-16", "--role juror", "--name x"}
    # These modes have no mean of scores, no persona of that name, and pilots whose votes are chosen by name.
    meant_to_fail |= {"--sd 0.3", "--baseline ethics", "--columns vote=label"}
    refused = [
        change
        for change in CHANGES[command]
        if change not in meant_to_fail
        and not any(mode.endswith(change) for mode in MODES[command])
        and all(said(with_change(mode, change))[0] not in ANSWERED for mode in MODES[command])
    ]
    assert refused == []
