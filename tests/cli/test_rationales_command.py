"""``d3stats rationales``: tables and JSON, two logs, patterns and vectors of one's own, failures in one line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_rationales import cited_log, disputed_log
from typer.testing import CliRunner, Result

from d3stats.cli import app

pytestmark = pytest.mark.usefixtures("computed_once")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    cited_log(np.random.default_rng(1), 12).to_csv("one.csv", index=False)
    disputed_log(np.random.default_rng(1), 12).to_csv("two.csv", index=False)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["rationales", *words])


def test_the_tables_show_every_measure(folder: Path) -> None:
    done = run("two.csv", "--all")
    assert done.exit_code == 0, done.output
    for text in (
        "References to the debate in 120 rationales",
        "Similarity of rationales",
        "Disagreements traced to reasons",
        "Reasons named in dissent and in the majority (95 % cluster t; 24 disputed debates of 12 clusters)",
        "Agents (95 % cluster Wilson)",
        "24 debates: 24 with a majority and a dissent",
    ):
        assert text in done.stdout


def test_the_first_line_is_the_answer_in_a_sentence(folder: Path) -> None:
    from d3stats.inference import compare_rationales, rationales

    cited = rationales("one.csv").estimates[0]
    first = run("one.csv").stdout.splitlines()[0]
    assert first.startswith(f"{100 * cited.value:.0f} % [")
    assert first.endswith("of 120 rationales cite the debate.")
    difference = compare_rationales("one.csv", "two.csv").estimates[0]
    assert difference.high < 0
    first = run("one.csv", "two.csv").stdout.splitlines()[0]
    assert first.startswith(
        f"Fewer rationales cite the debate in two.csv: two.csv minus one.csv {100 * difference.value:.1f} points"
    )
    assert run("one.csv", "one.csv").stdout.startswith("No difference is shown in how many rationales cite")


def test_json_holds_what_the_library_gives(folder: Path) -> None:
    from d3stats.inference import rationales

    done = run(
        "one.csv", "--json", "--role", "juror", "--round", "2", "--level", "0.9", "--repeated-words", "4"
    )
    assert done.exit_code == 0, done.output
    expected = rationales("one.csv", role=["juror"], round_number=2, level=0.9, repeated_words=4, rng=0)
    assert json.loads(done.stdout) == json.loads(json.dumps(expected.to_dict()))


def test_two_logs_are_compared(folder: Path) -> None:
    done = run("one.csv", "two.csv", "--name", "personas", "--name", "generic")
    assert done.exit_code == 0, done.output
    assert "generic minus personas" in done.stdout
    assert "paired by question: 12 are in both logs" in done.stdout
    found = json.loads(run("one.csv", "two.csv", "--json").stdout)
    assert found["names"] == ["one.csv", "two.csv"]
    assert found["estimates"][0]["name"] == "rationales that cite the debate, two.csv - one.csv"


def test_no_words_and_the_order_of_speaking_are_options(folder: Path) -> None:
    rows = [
        (f"d{d}", 1, agent, "A", text)
        for d in range(12)
        for agent, text in (("y", f"Answer A {d}."), ("x", "I agree with agent y."))
    ]
    table = pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "text"])
    table.to_csv("turns.csv", index=False)
    share = {}
    for order in ("turns", "rounds"):
        found = json.loads(run("turns.csv", "--json", "--order", order, "--repeated-words", "0").stdout)
        share[order] = found["estimates"][0]["value"]
        assert not any("repeat" in e["name"] for e in found["estimates"])
    assert share == {"turns": 0.5, "rounds": 0.0}
    assert "--order turns" in " ".join(run("turns.csv").stdout.split())


def test_a_note_on_missing_intervals_names_the_estimates_without_one(folder: Path) -> None:
    """Shares have limits where all clusters give the same, means have none; the note is about the latter."""
    rows = [(f"d{d:02}", 1, agent, "A", "the same words") for d in range(12) for agent in "xy"]
    table = pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "text"])
    table.to_csv("same.csv", index=False)
    done = run("same.csv", "--all")
    assert done.exit_code == 0, done.output
    bare = [e for e in json.loads(run("same.csv", "--json").stdout)["estimates"] if e["low"] is None]
    said = " ".join(done.stdout.split())
    assert bare
    assert "all " not in said.split("no interval")[0].split("- ")[-1]
    for note in {e["note"] for e in bare}:
        named = "; ".join(e["name"] for e in bare if e["note"] == note)
        assert f"no interval for {named}: {note}" in said


def test_reasons_and_citations_of_ones_own_come_from_a_file(folder: Path) -> None:
    Path("reasons.toml").write_text("safety = 'safe\\w*'\nothers = ['accuracy', 'depth']\n")
    done = run("two.csv", "--json", "--reasons", "reasons.toml", "--cites", "reasons.toml")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [row["reason"] for row in found["reasons"]] == ["safety", "others"]
    assert found["estimates"][1]["name"] == "that cite: safety"


def test_phrases_are_shown_and_can_be_ignored(folder: Path) -> None:
    done = run("one.csv", "--all")
    assert done.exit_code == 0, done.output
    assert "Phrases that count as a reference (of each kind, the 3 most frequent)" in done.stdout
    found = json.loads(run("one.csv", "--json").stdout)
    phrase = max(
        (row for row in found["phrases"] if row["kind"] == "argument"), key=lambda r: r["rationales"]
    )
    done = run("one.csv", "--json", "--ignore", phrase["phrase"], "--ignore", "no such words")
    less = json.loads(done.stdout)
    assert phrase["phrase"] not in [row["phrase"] for row in less["phrases"]]
    assert less["estimates"][0]["value"] < found["estimates"][0]["value"]
    assert any("'no such words', which is in no rationale" in note["text"] for note in less["notes"])


def test_the_table_holds_every_rationale_in_the_order_of_the_vectors(folder: Path) -> None:
    done = run("two.csv", "--table", "texts.csv")
    assert done.exit_code == 0, done.output
    assert "table: texts.csv" in done.stderr
    written = pd.read_csv("texts.csv")
    assert len(written) == 120
    assert {"debate", "agent", "vote", "text", "camp", "reasons", "cosine", "cites_speaker"} <= set(written)
    # Texts of one vote point one way: the mean cosine is the share of pairs of equal votes, 6 of 10.
    np.save("vectors.npy", np.eye(2)[(written["vote"] == "A").astype(int)])
    found = json.loads(run("two.csv", "--embed", "vectors.npy", "--json").stdout)
    by_name = {e["name"]: e["value"] for e in found["estimates"]}
    assert by_name["mean cosine within a debate"] == pytest.approx(0.6)


def test_latex_and_figures(folder: Path) -> None:
    done = run("two.csv", "--latex", "--figure", "shares")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("\\begin{tabular}") == 5
    assert Path("shares.pdf").exists()
    both = run("one.csv", "two.csv", "--latex", "--figure", "differences.png")
    assert both.exit_code == 0, both.output
    assert Path("differences.png").exists()


def test_without_scikit_learn_a_note_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    # Of a new log nothing is remembered.
    disputed_log(np.random.default_rng(2), 12).to_csv("new.csv", index=False)
    done = run("new.csv", "--all")
    assert done.exit_code == 0, done.output
    assert 'pip install "d3stats[text]"' in " ".join(done.stdout.split())
    assert "Similarity of rationales" not in done.stdout
    assert "Disagreements traced" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["slm7"], "log must hold what was said"),
        (["none.csv"], "paths must exist; got 'none.csv'"),
        (["one.csv", "two.csv", "one.csv"], "logs must be one or two; got 3"),
        (["one.csv", "--name", "x"], "--name must come with two logs"),
        (["one.csv", "two.csv", "--name", "x"], "--name must be given once per log (2); got it 1 times"),
        (["one.csv", "--role", "judge"], "role must be one of the log's"),
        (["one.csv", "--round", "9"], "--round must be a round in which they spoke"),
        (["one.csv", "--repeated-words", "1"], "repeated_words must be >= 2"),
        (
            ["one.csv", "--repeated-words", "-1"],
            "or None to look for none (--repeated-words 0); got repeated_words=-1",
        ),
        (["one.csv", "--order", "rows"], "order must be one of 'turns', 'rounds'"),
        (["one.csv", "--family", "none"], "family must be one of"),
        (["one.csv", "--reasons", "one.csv"], "--reasons must be TOML; got"),
        (["one.csv", "--reasons", "none.toml"], "must exist; got"),
        (["one.csv", "--embed", "one.csv"], "embed must be an array that numpy.save wrote"),
        (["one.csv", "--embed", "short.npy"], "embed must give one vector per rationale"),
        (["one.csv", "--embed", "several.npz"], "embed must be one array (.npy)"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(words: list[str], message: str, folder: Path) -> None:
    np.save("short.npy", np.ones((3, 2)))
    np.savez("several.npz", a=np.ones(3))
    done = run(*words)
    assert done.exit_code == 1, done.output
    (line,) = done.stderr.splitlines()
    assert line.startswith("d3stats: ")
    assert message in line
