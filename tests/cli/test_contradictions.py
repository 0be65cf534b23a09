"""Logs that contradict themselves or each other are refused or warned of, by every command that takes them.

One table: every command that takes logs, times every contradiction. A command that is silent fails here.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from layers import sampled
from typer.testing import CliRunner

from d3stats import Trajectories, as_trajectories, compare, read_log, replay
from d3stats.cli import app
from d3stats.inference import compare_rationales
from d3stats.inputs.questions import Questions, contradictions, warned
from d3stats.planning import escalate, join_protocols
from d3stats.sources.recorded import questions_of

pytestmark = pytest.mark.usefixtures("without_pictures", "computed_once")

N = 40
"""Questions, each with two debates."""


def log(seed: int) -> pd.DataFrame:
    """Two judges (one per order) and a juror vote for A or B in two rounds, with scores, tokens and rationales."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(N):
        label, kind = "AB"[k % 2], ["law", "math"][k // 2 % 2]
        for repeat in range(2):
            for played in (1, 2):
                for agent in ("J (1-2)", "J (2-1)", "juror"):
                    vote = label if rng.random() < 0.7 else "AB"[rng.integers(2)]
                    text = f"Case {k} of {agent} has depth, so {vote} is right."
                    points = (float(rng.integers(40, 60)), float(rng.integers(40, 60)))
                    of_turn = (f"q{k:02d}/{repeat}", f"q{k:02d}", played, agent, vote, label, kind)
                    rows.append((*of_turn, *points, int(rng.integers(90, 110)), 20, text))
    of_debate = ["label", "category", "score_A", "score_B", "tokens_in", "tokens_out", "text"]
    names = ["debate", "question", "round", "agent", "vote", *of_debate]
    return pd.DataFrame(rows, columns=names)


FIRST = ["q00", "q03"]

Change = Callable[[pd.DataFrame], pd.DataFrame]


def turned(rows: Callable[[pd.DataFrame], pd.Series]) -> Change:
    """Return a change that exchanges the labels A and B in some rows."""
    return lambda t: t.assign(label=t["label"].where(~rows(t), t["label"].map({"A": "B", "B": "A"})))


def moved(t: pd.DataFrame) -> pd.DataFrame:
    """Debates keep their names and are about other questions, of the same right answer and category."""
    return t.assign(question=[f"q{(int(q[1:]) + 4) % N:02d}" for q in t["question"]])


def relabelled(t: pd.DataFrame) -> pd.DataFrame:
    kind = t["category"].where(~t["question"].isin(FIRST), "ethics")
    return t.assign(category=kind)


WITHIN: dict[str, tuple[Change, str]] = {
    "a question with two labels": (
        turned(lambda t: t["debate"] == "q00/1"),
        "1 question of 40 has several labels",
    ),
}
"""What one log says twice: the change of a sound log, and what must be said."""

BETWEEN: dict[str, tuple[Change, str]] = {
    "other labels": (turned(lambda t: t["question"].isin(FIRST)),
                     r"label must be the same in both logs; got 'A' (one) and 'B' (two) on 'q00'; labels differ on "
                     "2 of 40 questions ('q00', 'q03')"),
    "no labels in one log": (lambda t: t.drop(columns="label"), "label"),
    "some labels in one log": (lambda t: t.assign(label=t["label"].where(~t["question"].isin(FIRST))), "label"),
    "debates of other questions": (moved, "question must be the same in both logs; got 'q00' (one) and 'q04' (two)"),
    "other categories": (relabelled, "category must be the same in both logs; got 'law' (one) and 'ethics' (two)"),
    "another agent": (lambda t: t.assign(agent=t["agent"].replace("juror", "other juror")),
                      "agents differ between the logs: 'juror' not in all (in one); 'other juror' not in all (in two)"),
    "questions in one log": (lambda t: t[~t["question"].isin(FIRST)], ""),
}  # fmt: skip
"""What two logs say otherwise: the change of the second log, and what must be said of the two."""

ONE_LOG = {
    "doctor": "doctor {one}",
    "replay": "replay {one}",
    "plan": "plan {one} --max-loss 0.2",
    "abstain": "abstain {one} --max-error 0.5",
    "fit": "fit {one} --n-boot 5",
    "agreement": "agreement {one}",
    "panel": "panel {one}",
    "agreement --jury": "agreement {one} --jury",
    "bias": "bias {one}",
    "report": "report {one} -o {page} --n-boot 20 --transcripts 0",
    "compare": "compare {one} {sound}",
    "compare --by debate": "compare {one} {sound} --by debate",
    "escalate": "escalate {one} {sound} --max-loss-vs-second 0.5",
}
"""Every command whose numbers depend on labels, with the log that contradicts itself as {one}."""

TWO_LOGS = {
    "compare": "compare {one} {two}",
    "compare --by debate": "compare {one} {two} --by debate",
    "report": "report {one} {two} -o {page} --n-boot 20 --transcripts 0",
    "escalate": "escalate {one} {two} --max-loss-vs-second 0.5",
    "rationales": "rationales {one} {two} --name one --name two",
}
"""Every command that takes two logs."""

ABOUT = {
    # Thresholds of gaps use no category, and the array view that escalate reads has none.
    ("escalate", "other categories"): "Play the second protocol always",
    ("rationales", "questions in one log"): "paired by question: 38 are in both logs; left out are 2 of one",
    ("escalate", "questions in one log"): "paired by debate: 76 are in both logs; left out are 4 of first",
    ("report", "questions in one log"): "paired by item: 38 are in both runs; left out are 2 of one",
    (
        "compare",
        "questions in one log",
    ): "paired by item: 38 are in both runs; left out are 2 of one ('q00', 'q03')",
    (
        "compare --by debate",
        "questions in one log",
    ): "paired by item: 76 are in both runs; left out are 4 of one",
    ("compare", "no labels in one log"): "a run must have labels, which tell the right verdicts; got none in",
    ("compare", "some labels in one log"): "2 of 40 items left out as not scored: 2 by two",
    ("compare --by debate", "some labels in one log"): "4 of 80 items left out as not scored: 4 by two",
    **{
        (command, f"{many} labels in one log"): f"two has no label on {n} of 40 questions"
        for command in ("report", "escalate", "rationales")
        for many, n in (("no", 40), ("some", 2))
    },
}
"""What is said in a command's own words."""

MUST_REFUSE = {
    *((command, "other labels") for command in ("compare", "compare --by debate", "escalate")),
    *((command, "debates of other questions") for command in ("compare --by debate", "escalate")),
    *((command, "no labels in one log") for command in ("compare", "compare --by debate")),
}
"""Where numbers would mean nothing: an error, and no table."""

SOON = {
    "report": {"other labels"},
    "escalate": {"other labels", "debates of other questions"},
    "rationales": {"some labels in one log", "questions in one log"},
}
"""Contradictions between two logs on which the commands that take long are tried in the fast layer."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    log(1).to_csv(folder / "one.csv", index=False)
    log(2).to_csv(folder / "sound.csv", index=False)
    for name, (change, _) in BETWEEN.items():
        (folder / name).mkdir()
        change(log(2)).to_csv(folder / name / "two.csv", index=False)
    for name, (change, _) in WITHIN.items():
        (folder / name).mkdir()
        change(log(1)).to_csv(folder / name / "one.csv", index=False)
    return folder


def said(command: str, **paths: Path) -> tuple[int, str]:
    words = [word.format(**paths) for word in command.split()]
    if words[0] in (
        "fit",
        "replay",
        "plan",
        "abstain",
        "compare",
        "agreement",
        "bias",
        "rationales",
        "scores",
    ):
        words.append("--all")  # every note
    done = CliRunner().invoke(app, words, env={"COLUMNS": "1000"})
    refused = f" {done.exception}" if done.exception is not None else ""
    page = paths.get("page")
    written = html.unescape(page.read_text(encoding="utf-8")) if page is not None and page.exists() else ""
    return done.exit_code, " ".join((done.output + refused + written).split())


def own_words(command: str, text: str) -> str:
    """Escalate calls its logs by their place."""
    return text.replace("(one)", "(first)").replace("(two)", "(second)").replace("two has", "second has").replace(
        "in one)", "in first)").replace("in two)", "in second)") if command == "escalate" else text  # fmt: skip


@pytest.mark.parametrize("contradiction", WITHIN)
@pytest.mark.parametrize(
    "command",
    # Of two logs, see below, the fast layer has a report.
    [pytest.param(name, marks=pytest.mark.slow if name == "report" else ()) for name in ONE_LOG],
)
def test_a_log_that_contradicts_itself_is_warned_of(
    command: str, contradiction: str, files: Path, tmp_path: Path
) -> None:
    paths = {
        "one": files / contradiction / "one.csv",
        "sound": files / "sound.csv",
        "page": tmp_path / "page.html",
    }
    code, text = said(ONE_LOG[command], **paths)
    assert code in (0, 2), text
    assert WITHIN[contradiction][1] in text
    if command not in STRATA or ONE_LOG[command] != STRATA[command]:  # else the test of strata has it
        _, sound = said(ONE_LOG[command], **paths | {"one": files / "one.csv"})
        assert "several labels" not in sound


@pytest.mark.parametrize(
    ("command", "contradiction"),
    [
        # All warn by the same code: compare with every contradiction, the longer commands with one or two.
        pytest.param(
            command,
            contradiction,
            marks=pytest.mark.slow if contradiction not in SOON.get(command, BETWEEN) else (),
        )
        for command in TWO_LOGS
        for contradiction in BETWEEN
    ],
)
def test_two_logs_that_contradict_each_other_are_refused_or_warned_of(
    command: str, contradiction: str, files: Path, tmp_path: Path
) -> None:
    paths = {
        "one": files / "one.csv",
        "two": files / contradiction / "two.csv",
        "page": tmp_path / "page.html",
    }
    code, text = said(TWO_LOGS[command], **paths)
    bare = command.partition(" ")[0]
    told_otherwise = ABOUT.get((command, contradiction), ABOUT.get((bare, contradiction)))
    wanted = BETWEEN[contradiction][1] if told_otherwise is None else told_otherwise
    assert own_words(command, wanted) in text, text[:3000]
    assert (code != 0) == ((command, contradiction) in MUST_REFUSE), text[:500]
    if bare == "report" and "must be the same" in wanted:
        page = paths["page"].read_text(encoding="utf-8")
        assert page.index("must be the same in both logs") < page.index('<dl class="key">')


@pytest.mark.parametrize(
    "command",
    [pytest.param(name, marks=pytest.mark.slow if name == "report" else ()) for name in TWO_LOGS],
)
def test_two_logs_that_agree_are_not_warned_of(command: str, files: Path, tmp_path: Path) -> None:
    paths = {"one": files / "one.csv", "two": files / "sound.csv", "page": tmp_path / "page.html"}
    code, text = said(TWO_LOGS[command], **paths)
    assert code == 0, text
    for word in ("must be the same", "must be in all logs", "agents differ", "has no label"):
        assert word not in text


def test_equal_tokens_have_no_limits(files: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        pd.read_csv(files / ("one.csv" if name == "one" else "sound.csv")).assign(tokens_in=100).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    code, text = said(TWO_LOGS["escalate"], one=tmp_path / "one.csv", two=tmp_path / "two.csv")
    assert code == 0, text
    assert "720 tokens" in text


def test_python_functions_refuse_and_warn_as_the_commands_do(files: Path) -> None:
    one, two = files / "one.csv", files / "other labels" / "two.csv"
    views = [as_trajectories(path) for path in (one, two)]
    for sources in (
        (one, two),
        views,
        [read_log(path) for path in (one, two)],
        [pd.read_csv(p) for p in (one, two)],
    ):
        with pytest.raises(ValueError, match="label must be the same in both logs"):
            compare(*sources)
        with pytest.raises(ValueError, match="label must be the same in both logs"):
            join_protocols(*sources)
        with pytest.raises(ValueError, match="label must be the same in both logs"):
            escalate(*sources)
    rationales = compare_rationales(one, two)
    assert any(note.startswith("WARNING: label must be the same in both logs") for note in rationales.notes)


def test_labels_that_decide_no_value_are_not_compared(files: Path) -> None:
    two = files / "other labels" / "two.csv"
    found = compare(files / "one.csv", two, value="tokens", n_boot=20, rng=1)
    assert not any("label must be" in note for note in found.notes)


def test_questions_decide_and_not_the_larger_cluster() -> None:
    """Questions of one topic have different labels; one question in two logs has not."""
    topics = [t.assign(cluster=t["question"].str[:2]) for t in (log(1), log(2))]
    assert not any("several labels" in f.kind for f in as_trajectories(topics[0]).findings())
    compare(*topics, n_boot=20, rng=1)
    topics[1] = turned(lambda t: t["question"] == "q00")(topics[1])
    with pytest.raises(ValueError, match="labels differ on 1 of 40 questions"):
        compare(*topics)


def test_a_list_of_logs_is_one_log(files: Path, tmp_path: Path) -> None:
    """Two files with other labels of one question, and other names of debates, are a log with two labels."""
    other = turned(lambda t: t["question"] == "q00")(log(2)).assign(debate=lambda t: "two/" + t["debate"])
    other.to_csv(tmp_path / "other.csv", index=False)
    paths = [files / "one.csv", tmp_path / "other.csv"]
    views = [as_trajectories(path) for path in paths]
    for source in (paths, views, Trajectories.concat(*views)):
        found = replay(source, "fixed:1")
        assert any(
            "1 question of 40 has several labels ('q00' has 'A' and 'B')" in note for note in found.notes
        )


def test_debates_of_one_name_in_several_files_are_said(files: Path, tmp_path: Path) -> None:
    log(2).assign(agent="other " + log(2)["agent"]).to_csv(tmp_path / "panel.csv", index=False)
    code, text = said("replay {one} {two}", one=files / "one.csv", two=tmp_path / "panel.csv")
    assert code == 0
    assert "WARNING: 80 debates have turns in several files" in text
    assert "the agents of these files form one panel" in text
    log(1)[lambda t: t["round"] == 1].to_csv(tmp_path / "r1.csv", index=False)
    log(1)[lambda t: t["round"] == 2].to_csv(tmp_path / "r2.csv", index=False)
    _, text = said("replay {one} {two}", one=tmp_path / "r1.csv", two=tmp_path / "r2.csv")
    assert "80 debates have turns in several files" in text
    assert "WARNING" not in text


STRATA = {
    "compare": "compare {one} {two} --strata category",
    "compare --by debate": "compare {one} {two} --strata category --by debate",
    "replay": "replay {one} --strata category",
    "agreement": "agreement {one} --strata category",
    "bias": "bias {one} --strata category",
    "report": "report {one} -o {page} --n-boot 20 --transcripts 0",
    "doctor": "doctor {one}",
}


@pytest.mark.parametrize(
    "command", [pytest.param(name, marks=pytest.mark.slow if name == "report" else ()) for name in STRATA]
)
def test_a_category_that_differs_between_debates_of_a_question(
    command: str, files: Path, tmp_path: Path
) -> None:
    changed = log(1)
    changed.loc[changed["debate"] == "q00/1", "category"] = "math"
    changed.to_csv(tmp_path / "one.csv", index=False)
    paths = {"one": tmp_path / "one.csv", "two": files / "sound.csv", "page": tmp_path / "page.html"}
    code, text = said(STRATA[command], **paths)
    if command == "doctor":
        assert code == 2
        assert "1 question of 40 has several categories ('q00' has 'law' and 'math')" in text
        return
    assert (
        "category must be one per question; got 'law' and 'math' in 'q00'; it changes within 1 question"
        in text
    )
    assert (code == 0) == (command == "report")
    code, text = said(STRATA[command], **paths | {"one": files / "one.csv", "page": tmp_path / "sound.html"})
    assert code == 0, text
    assert "several labels" not in text


def test_a_run_may_differ_between_debates_of_a_question(files: Path, tmp_path: Path) -> None:
    runs = log(1).assign(log=lambda t: "run " + t["debate"].str[-1])
    runs.to_csv(tmp_path / "runs.csv", index=False)
    code, text = said("replay {one} --strata log", one=tmp_path / "runs.csv")
    assert code == 0, text
    assert "with rows in several strata" in text


def test_a_replay_counts_missing_votes(files: Path, tmp_path: Path) -> None:
    gone = log(1)
    gone.loc[gone.index[::20], "vote"] = None
    gone.to_csv(tmp_path / "gone.csv", index=False)
    sentence = "24 of 480 votes are missing (5.0 %). Unanimity and pluralities take the votes cast"
    assert sentence in said("replay {one}", one=tmp_path / "gone.csv")[1]
    assert "votes are missing" not in said("replay {one}", one=files / "one.csv")[1]
    done = CliRunner().invoke(app, ["replay", str(tmp_path / "gone.csv"), "--json"])
    assert any(sentence in note["text"] for note in json.loads(done.stdout)["notes"])


@sampled(
    "lost,sentence",
    [
        (
            lambda t: t.index == 3,
            "1 of 480 turns has no token count, so the total of their rounds is unknown",
        ),
        (
            lambda t: t["agent"] == "juror",
            "No round has a total of tokens: of 480 turns, prompt tokens in 160 and completion tokens in 160 are not "
            "recorded, so what the debates cost is unknown",
        ),
        (lambda t: t.index >= 0, "The log does not record tokens, so what the debates cost is unknown"),
    ],
    [1],
)
def test_a_report_counts_turns_without_tokens(
    lost: Callable[[pd.DataFrame], pd.Series], sentence: str, tmp_path: Path
) -> None:
    table = log(1)
    table.loc[lost(table), ["tokens_in", "tokens_out"]] = np.nan
    table.to_csv(tmp_path / "log.csv", index=False)
    paths = {"one": tmp_path / "log.csv", "page": tmp_path / "page.html"}
    said("report {one} -o {page} --n-boot 20 --transcripts 0", **paths)
    assert sentence in paths["page"].read_text(encoding="utf-8")


def test_labels_that_overlap_are_no_contradiction_between_logs() -> None:
    """Debates of a question may show the answers in both orders in one log, and in one order in the other."""
    one = Questions("one", ("d1", "d2"), ("q", "q"), ("A", "B"))
    assert contradictions([one, Questions("two", ("e1",), ("q",), ("A",))]) == ()
    (found,) = contradictions([one, Questions("two", ("e1",), ("q",), ("C",))])
    assert found.kind == "labels"
    assert "'A' and 'B' (one) and 'C' (two) on 'q'" in found.message


def test_three_logs_are_held_against_each_other() -> None:
    logs = [
        Questions(name, ("d",), ("q",), (label,))
        for name, label in (("one", "A"), ("two", None), ("three", "B"))
    ]
    found = {each.kind: each.message for each in contradictions(logs)}
    assert found["labels"].startswith(
        "label must be the same in all logs; got 'A' (one) and 'B' (three) on 'q'"
    )
    assert found["labels absent"].endswith(
        "two has no label on 1 of 1 question ('q'), which another log labels"
    )
    assert all(note.startswith("WARNING: ") for note in warned(contradictions(logs)))


def test_a_log_of_right_or_wrong_has_no_labels_to_compare() -> None:
    right = Trajectories.from_arrays(
        [[[1, 0]]], [1], answers=("wrong", "right"), debates=["d"], coding="correctness"
    )
    answers = Trajectories.from_arrays([[["A", "B"]]], ["A"], debates=["d"])
    assert contradictions([questions_of(right, "one"), questions_of(answers, "two")]) == ()
