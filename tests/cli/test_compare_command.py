"""``d3stats compare``: a table that leads with the effect, JSON, LaTeX, a figure, and refusals in one line."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from d3stats.cli import app

pytestmark = pytest.mark.usefixtures("computed_once")


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["compare", *arguments])
    return result.exit_code, result.output


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    hard = np.random.default_rng(0).random(90)
    paths = []
    for k, share in enumerate((0.5, 0.6, 0.65)):
        rng = np.random.default_rng(k + 1)
        correct = (0.7 * hard + 0.3 * rng.random(90) < share).astype(int)
        frame = pd.DataFrame(
            {"item": range(90), "cluster": [f"c{i // 3}" for i in range(90)], "correct": correct}
        )
        paths.append(str(tmp_path / f"{'abc'[k]}.csv"))
        frame.to_csv(paths[-1], index=False)
    return paths


def test_the_table_leads_with_the_effect_and_its_interval(runs: list[str]) -> None:
    code, text = run(*runs[:2], "--all")
    assert code == 0, text
    assert text.startswith(("A difference is shown: b - a ", "No difference shown: b - a "))
    assert text.index("b - a") < text.index("sign flip")
    head, rest = text.split("The runs")
    assert "[" in head
    assert "95 % cluster t" in head
    assert "holm" not in head
    assert "McNemar's test and the paired t over items assume independent items" in " ".join(rest.split())


def test_several_runs_are_adjusted_together_or_against_a_baseline(runs: list[str]) -> None:
    code, text = run(*runs, "--family", "bh")
    assert code == 0, text
    assert "p, bh" in text
    assert all(name in text for name in ("b - a", "c - a", "c - b"))
    code, text = run(*runs, "--baseline", "b")
    assert code == 0, text
    assert "c - a" not in text
    assert "a - b" in text


def test_json_holds_what_the_library_finds(runs: list[str]) -> None:
    import d3stats

    code, text = run(
        *runs[:2], "--json", "--seed", "3", "--kind", "bca", "--n-boot", "300", "--margin", "0.1"
    )
    assert code in (0, 4, 5), text
    found = d3stats.compare(runs[0], runs[1], kind="bca", n_boot=300, margin=0.1, rng=3)
    document, expected = json.loads(text), json.loads(json.dumps(found.to_dict()))
    notes, of_the_library = document.pop("notes"), expected.pop("notes")
    assert document == expected
    conclusion = {"text": found.equivalent(0.1)[0].conclusion, "severity": "note"}
    assert [note for note in notes if note != conclusion] == of_the_library
    assert conclusion in notes


def test_latex_is_a_booktabs_table(runs: list[str]) -> None:
    code, text = run(*runs, "--latex")
    assert code == 0
    assert text.startswith(r"\begin{tabular}")
    assert text.count(r"\\") == 4


def test_a_margin_adds_conclusions_in_words(runs: list[str]) -> None:
    code, text = run(*runs[:2], "--margin", "0.02")
    outcome = {0: "Shown: ", 4: "Refuted: ", 5: "Not decided: "}[code]
    assert text.splitlines()[1].startswith(f"{outcome}b is less than 0.02 worse than a")


def test_rounds_of_one_log_are_runs_of_their_own(tmp_path: Path) -> None:
    arguments = ["slm7", "slm7", "--by", "debate", "--round", "1", "--round", "last"]
    code, text = run(*arguments, "--name", "first", "--name", "last", "--figure", str(tmp_path / "forest"))
    assert code == 0, text
    assert "last - first" in text
    assert "2 / 3" in text
    assert "156 items in 40 clusters" in " ".join(text.split())
    assert (tmp_path / "forest.pdf").stat().st_size > 1000
    assert (tmp_path / "forest.png").is_file()


def test_identical_runs_are_told_so(runs: list[str]) -> None:
    code, text = run(runs[0], runs[0])
    assert code == 0, text
    assert "no interval" in text
    assert "the runs gave the same result on every item" in " ".join(text.split())


@pytest.mark.parametrize(
    ("extra", "line"),
    [
        (["--kind", "wald"], "kind must be one of"),
        (["--family", "none"], "family must be one of"),
        (["--json", "--latex"], "only one of --json and --latex may be given; got both"),
        (["--round", "first"], "--round must be a round or 'last'; got 'first'"),
        (["--name", "one"], "names must be one per run (2); got 1"),
        (["--margin", "0"], "margin must be > 0"),
        (["--value", "speed"], "must have the column 'speed'"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(runs: list[str], extra: list[str], line: str) -> None:
    code, text = run(*runs[:2], *extra)
    assert code == 1
    assert text.startswith("d3stats: ")
    assert line in text
    assert len(text.splitlines()) == 1


def test_one_run_or_too_few_common_items_are_refused(runs: list[str], tmp_path: Path) -> None:
    assert run(runs[0])[0] == 1
    short = tmp_path / "short.csv"
    pd.read_csv(runs[1]).iloc[:80].to_csv(short, index=False)
    code, text = run(runs[0], str(short))
    assert code == 0
    assert "80 items" in " ".join(text.split())
    assert "paired by item: 80 are in both runs; left out are 10 of a ('80'" in " ".join(text.split())
    pd.read_csv(runs[1]).assign(item=[f"x{k}" for k in range(90)]).to_csv(short, index=False)
    code, text = run(runs[0], str(short))
    assert code == 1
    assert "got none of 90" in text


def written(path: Path, correct: list[int | None]) -> str:
    frame = pd.DataFrame({"item": [f"q{k}" for k in range(len(correct))], "correct": correct})
    frame.astype({"correct": "Int64"}).to_csv(path, index=False)
    return str(path)


def test_every_test_stands_beside_the_pair_that_it_tests(tmp_path: Path) -> None:
    sources = [
        written(tmp_path / f"{n}.csv", v) for n, v in (("a", [1, 0, 1]), ("x", [1] * 3), ("y", [0] * 3))
    ]
    code, text = run(*sources, "--all")
    assert code == 0, text
    lines = text.split("Tests of no difference between the runs")[1].split("\n- ")[0].splitlines()
    pair, of_pair = "", Counter[str]()
    for line in (line for line in lines if "p =" in line):
        pair = next((p for p in ("x - a", "y - a", "y - x") if p in line), pair)
        of_pair[pair] += 1
    # Sign flip and McNemar twice: of two runs that never vary the t cannot be made.
    assert of_pair == {"x - a": 5, "y - a": 5, "y - x": 3}
    code, text = run(*sources[1:], "--all")
    assert "y - x" in text.split("Tests of no difference between the runs")[1].split("\n- ")[0]


@pytest.mark.parametrize("name", ["[/x]", "judge [v1]", "[bold]b[/bold]", ":smile:"])
def test_names_in_brackets_are_shown_as_they_are(runs: list[str], name: str) -> None:
    code, text = run(*runs[:2], "--name", name, "--name", "b")
    assert code == 0, text
    assert f"b - {name} " in text


def test_notes_of_several_pairs_name_them(runs: list[str], tmp_path: Path) -> None:
    code, text = run(*runs, runs[0], "--all")
    assert code == 0, text
    said = " ".join(text.split())
    assert "a (D) - a (A): the runs gave the same result on every item" in said
    assert "McNemar's test and the paired t over items assume independent items" in said
    assert "and 2 more: McNemar's test" in said or "all 6 pairs: McNemar's test" in said


def test_means_have_a_level_and_a_run_that_is_always_right_has_limits_too(
    runs: list[str], tmp_path: Path
) -> None:
    same = written(tmp_path / "same.csv", [1] * 12)
    other = written(tmp_path / "other.csv", [1] * 6 + [0] * 6)
    code, text = run(same, other, "--level", "0.9", "--all")
    assert code == 0, text
    assert "90 % cluster" in text.split("The runs")[1]
    assert "1.000 [0.779, 1.000]   90 % Clopper-Pearson over clusters" in text


def test_latex_states_level_kind_and_size_and_why_there_is_no_interval(
    runs: list[str], tmp_path: Path
) -> None:
    code, text = run(*runs[:2], "--latex", "--level", "0.9")
    assert code == 0, text
    assert r"90 \% cluster t & 90 in 30" in text
    code, text = run(runs[0], runs[0], "--latex")
    assert "& - & the runs gave the same result on every item & 90 in 30 &" in text


def test_one_of_anything_is_in_the_singular(tmp_path: Path) -> None:
    a, b = written(tmp_path / "a.csv", [1]), written(tmp_path / "b.csv", [0])
    code, text = run(a, b)
    assert code == 0, text
    assert "1 item in 1 cluster)" in " ".join(text.split())
    assert "there is only one item, so there is no interval and no test" in " ".join(text.split())
    code, text = run(written(tmp_path / "a.csv", [1, 0]), written(tmp_path / "b.csv", [0, 0]))
    assert "1 degree of freedom" in " ".join(text.split())


def test_messages_name_options_of_the_command(runs: list[str], tmp_path: Path) -> None:
    short = tmp_path / "short.csv"
    pd.read_csv(runs[1]).assign(item="x").iloc[:1].to_csv(short, index=False)
    code, text = run(runs[0], str(short))
    assert code == 1
    assert "(--columns item=NAME" in text
    code, text = run(*runs[:2], "--name", "x", "--name", "x")
    assert (code, "pass names= (--name)" in text) == (1, True)


def test_a_run_with_itself_correlates_exactly(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", [1, 0, 1])  # rounding leaves 0.9999999999999998
    code, text = run(path, path, "--json")
    assert code == 0, text
    assert json.loads(text)["differences"][0]["correlation"] == 1


def test_a_file_in_brackets_is_a_file_and_an_empty_one_is_named(runs: list[str], tmp_path: Path) -> None:
    code, text = run(written(tmp_path / "[br]_a.csv", [1, 0, 1]), written(tmp_path / "b.csv", [1, 1, 1]))
    assert code == 0, text
    assert "b - [br]_a" in text
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    code, text = run(runs[0], str(empty))
    assert (code, "empty.csv must be a table" in text, len(text.splitlines())) == (1, True, 1)


def test_missing_answers_that_count_as_wrong_are_counted(tmp_path: Path) -> None:
    a = written(tmp_path / "a.csv", [1, 0, 1, 0])
    b = written(tmp_path / "b.csv", [1, None, None, None])
    code, text = run(a, b, "--missing", "wrong")
    assert code == 0, text
    assert "- b: WARNING: 3 of 4 values are missing and count as wrong, which is more than half" in text
