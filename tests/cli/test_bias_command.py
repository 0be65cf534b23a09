"""``d3stats bias``: tables for people, JSON, LaTeX, a figure, and how it refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from d3stats import position_bias
from d3stats.cli import app

pytestmark = pytest.mark.usefixtures("computed_once")


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["bias", *arguments])
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two judges on 60 items in both orders, with everything that any audit needs."""
    rng = np.random.default_rng(1)
    n = 60
    rows = []
    label, lengths = rng.choice(["A", "B"], n), rng.integers(50, 500, (n, 2))
    for judge, first in (("J", 0.9), ("K", 0.5)):
        for i in range(n):
            for order in ("AB", "BA"):
                vote = label[i] if rng.random() < 0.6 else order[0] if rng.random() < first else order[1]
                family = {"family_a": "x", "family_b": "y", "judge_family": "x" if judge == "J" else "z"}
                shown = {"item": i, "cluster": i // 2, "judge": judge, "order": order, "vote": vote}
                length = {"length_a": lengths[i, 0], "length_b": lengths[i, 1]}
                persona = {"persona": "none" if order == "AB" else "ethics", "label": label[i]}
                rows.append(shown | family | length | persona)
    path = tmp_path_factory.mktemp("bias") / "verdicts.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return str(path)


@pytest.mark.parametrize(
    ("audit", "first"),
    [
        ("position", "first-slot excess"),
        ("verbosity", "log-odds per doubling"),
        ("persona", "accuracy with personas"),
    ],
)
def test_every_audit_prints_its_effect_first_and_names_each_judge(table: str, audit: str, first: str) -> None:
    code, text = run(table, "--audit", audit)
    assert code == 0, text
    lines = text.splitlines()
    assert lines[0].startswith(("The clearest effect of 2 judges is that of", "J: ", "2 personas: "))
    assert first in " ".join(lines[:3])
    rows = [line for line in lines if line.startswith(f" {first}")]
    assert "[" in rows[0]


def test_a_judge_that_cannot_be_audited_is_named_and_the_others_are_shown(table: str) -> None:
    code, text = run(table, "--audit", "self")
    assert code == 0, text
    assert "own preferred wrongly" in text
    assert "K was not audited" in text
    code, text = run(table, "--audit", "self", "--judge", "K")
    assert code == 1
    assert "exactly one answer of the judge's family" in text


def test_json_holds_estimates_with_limits_and_no_nan(table: str) -> None:
    code, text = run(table, "--json", "--judge", "J")
    assert code == 0, text
    (judge,) = json.loads(text)["judges"]
    assert judge["judge"] == "J"
    assert judge["estimates"][0]["low"] > 0
    assert judge["pairs"]["n_pairs"] == 60
    assert "NaN" not in text


def test_latex_is_a_booktabs_table_with_the_judges_names(table: str) -> None:
    code, text = run(table, "--latex")
    assert code == 0, text
    assert text.startswith("\\begin{tabular}")
    assert "J: first-slot excess" in text
    assert "K: swap consistency" in text


def test_the_figure_is_written_twice_and_not_for_every_audit(table: str, tmp_path: Path) -> None:
    code, text = run(table, "--figure", str(tmp_path / "bias"))
    assert code == 0, text
    assert {p.name for p in tmp_path.iterdir()} == {"bias.pdf", "bias.png"}
    code, text = run(table, "--audit", "verbosity", "--figure", str(tmp_path / "other"))
    assert code == 1
    assert "--figure must come with --audit position" in text
    code, text = run(table, "--audit", "persona", "--judge", "J", "--figure", str(tmp_path / "personas"))
    assert code == 1
    assert "a figure of personas must have main effects or changes of the majority; got neither" in text


def test_a_debate_log_with_orders_in_its_agents_names_is_audited(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [{"type": "log", "schema_version": 1, "writer": "test"}]
    for i in range(6):
        lines.append({"type": "item", "debate": f"d{i}", "question": f"q{i}", "answers": ["1", "2", "tie"]})
        for order, vote in (("1-2", "1"), ("2-1", "2" if i < 4 else "1")):
            turn = {"type": "turn", "debate": f"d{i}", "round": 1, "agent": f"J ({order})", "vote": vote}
            lines.append(turn | {"role": "judge"})
    path.write_text("\n".join(map(json.dumps, lines)))
    code, text = run(str(path), "--json")
    assert code == 0, text
    assert json.loads(text)["judges"][0]["pairs"]["first"] == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--audit", "height"), "audit must be one of"),
        (("--json", "--latex"), "only one of --json"),
        (("--judge", "L"), "judge must be one of"),
        (("--votes", "place"), "votes must be one of"),
    ],
)
def test_what_is_asked_wrongly_is_one_clear_line(
    table: str, arguments: tuple[str, ...], message: str
) -> None:
    code, text = run(table, *arguments)
    assert code == 1
    assert message in text
    assert len(text.strip().splitlines()) == 1


def test_what_makes_one_doubt_the_table_stands_above_the_numbers(tmp_path: Path) -> None:
    path = tmp_path / "letters.csv"
    rows = [(i, order, "A") for i in range(40) for order in ("AB", "BA")]
    pd.DataFrame(rows, columns=["item", "order", "vote"]).to_csv(path, index=False)
    code, text = run(str(path))
    assert code == 0, text
    assert text.startswith("judge: first-slot excess")
    assert "every vote says A" in " ".join(text.splitlines()[1:4])
    assert text.index("(--votes slot)") < text.index("swap consistency")
    assert "every vote says A" not in run(str(path), "--votes", "slot")[1]


def test_one_persona_is_one_and_the_help_says_which_audits_have_a_figure(table: str) -> None:
    code, text = run(table, "--audit", "persona", "--judge", "J")
    assert code == 0, text
    assert "1 persona of J" in text
    assert "1 personas" not in text
    assert "For --audit position, --audit persona and --strata: also write the figure" in " ".join(
        run("--help")[1].replace("│", " ").split()
    )


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("")
    code, said = run(str(path), "--audit", "position")
    assert code == 1
    assert "empty.csv must be a table with a line of column names" in said


def test_the_persona_audit_takes_any_answers_and_says_what_each_persona_does(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = [
        (i, p, str(rng.choice([3, 7, 11], p=[0.2, share, 0.8 - share])), "7")
        for i in range(80)
        for p, share in (("nurse", 0.75), ("judge", 0.4), ("actuary", 0.5))
    ]
    path = tmp_path / "votes.csv"
    pd.DataFrame(rows, columns=["item", "persona", "vote", "label"]).to_csv(path, index=False)
    code, text = run(str(path), "--audit", "persona", "--all")
    assert code == 0, text
    for title in ("Main effects: accuracy minus", "Leave one out", "Share of items whose majority changes"):
        assert title in text
    assert "(95 % cluster t)" in text
    found = json.loads(run(str(path), "--audit", "persona", "--json")[1])["judges"][0]
    nurse = next(r for r in found["personas"] if (r["persona"], r["measure"]) == ("nurse", "main effect"))
    assert nurse["low"] > 0
    assert nurse["p_holm"] >= nurse["p_value"]
    code, text = run(str(path), "--audit", "position")
    assert code != 0
    assert "vote must be one of A, B, tie or missing" in text


def test_many_judges_are_one_table_of_main_effects(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    rows = [
        (f"q{k}", order, f"J{j}", order[0] if rng.random() < j / 8 else str(rng.choice(["A", "B"])))
        for k in range(40)
        for order in ("AB", "BA")
        for j in range(5)
    ]
    path = tmp_path / "many.csv"
    pd.DataFrame(rows, columns=["item", "order", "judge", "vote"]).to_csv(path, index=False)
    code, text = run(str(path))
    assert code == 0, text
    assert text.startswith("The clearest effect of 5 judges is that of J4")
    assert len(text.splitlines()) <= 20, text
    found = position_bias(path)
    assert isinstance(found, Mapping)
    shown = [line.split()[:2] for line in text.splitlines() if line.startswith(" J")]
    assert shown == [[judge, f"{one._gated()[0].value:z.3f}"] for judge, one in found.items()]
    whole = run(str(path), "--all")[1]
    assert len(whole.splitlines()) > 50
