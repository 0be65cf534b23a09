"""Small inputs that were once misread: each command gives the right value, or names the cause and what to type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from d3stats.cli import app

FOLDER = Path(__file__).parents[1] / "data" / "small"


def ran(words: str) -> tuple[int, str]:
    command, file, *options = words.split(" ")
    done = CliRunner().invoke(app, [command, str(FOLDER / file), *options], env={"COLUMNS": "20000"})
    return done.exit_code, " ".join(done.output.split())


def values(found: Any) -> dict[str, float]:
    """Return the numbers of a JSON document by the name that stands beside them."""
    named: dict[str, float] = {}
    if isinstance(found, dict):
        name, value = found.get("name"), found.get("value")
        if isinstance(name, str) and isinstance(value, (int, float)):
            named.setdefault(name, value)
        found = list(found.values())
    for each in found if isinstance(found, list) else ():
        named = {**values(each), **named}
    return named


SHARE = "share of agreement"
NUMBERS: dict[str, dict[str, float]] = {
    "agreement 02_label_widens_ac1.csv": {"Gwet's AC1": 1 / 3},
    "agreement 03_error_word_in_agreement.csv --missing-values ERROR": {SHARE: 6 / 9},
    "agreement 04_minus_one.csv --missing-values -1": {SHARE: 1.0},
    "agreement 09_quadratic_gap.csv --weights quadratic": {
        "Cohen's kappa (quadratic weights), j1 and j2": 0.456
    },
    "agreement 10_mtbench_turn.csv": {"Cohen's kappa, expert_0 and expert_1": 2 / 3},
    "agreement 11_pandas_index.csv": {SHARE: 6 / 7},
    "agreement 12_dict_of_votes.jsonl": {SHARE: 2 / 3},
    "agreement 12_list_of_votes.jsonl": {SHARE: 2 / 3},
    "agreement 13_composite_key.csv --columns item=system+primitive,rater=coder,vote=tier": {SHARE: 3 / 4},
    "bias 14_swapped_column.csv": {"first-slot excess": 1 / 6, "swap consistency": 2 / 3},
    "agreement 16_wide_with_extras.csv": {
        SHARE: 8 / 9,
        "Cohen's kappa, judge_gpt and judge_claude": 1 - (1 / 9) / (1 - 40 / 81),
    },
    "agreement 17_invalid_marker.csv --missing-values [invalid]": {SHARE: 10 / 27},
}
"""By command: the numbers that a right analysis gives, counted by hand."""

SAID: dict[str, tuple[int, str]] = {
    "fit 01_many_columns.csv": (1, "a table must have a column for debate and agent and vote"),
    "agreement 01_many_columns.csv": (1, "must have a column 'item'"),
    "doctor 01_many_columns.csv": (2, "a table must have a column for debate and agent and vote"),
    "agreement 03_error_word_in_agreement.csv": (0, "WARNING: 6 votes say 'ERROR'"),
    "agreement 04_minus_one.csv": (0, "WARNING: 2 votes say '-1'"),
    "fit 05_fullwidth_letter.csv": (0, "WARNING: 12 of 24 votes equal no answer but state one"),
    "fit 06_cyrillic_letter.csv": (0, "WARNING: 12 of 24 votes equal no answer but state one"),
    "fit 07_nan_in_jsonl.jsonl": (
        0,
        "8 values are written as NaN or Infinity, which is no JSON; read as missing",
    ),
    "doctor 07_nan_in_jsonl.jsonl": (2, "33.3 % of turns"),
    "rationales 08_chinese_rationales.jsonl": (0, "WARNING: 18 of 18 rationales are not in Latin letters"),
    "agreement 10_mtbench_turn.csv": (0, "items are separated by turn"),
    "replay 12_dict_of_votes.jsonl -r fixed:1": (0, "6 records with rounds or votes inside them"),
    "agreement 13_composite_key.csv": (1, "--columns item=system+primitive,rater=coder,vote=tier"),
    "bias 14_swapped_column.csv": (0, "order is 'is_swapped': BA where it is true"),
    "debate 15_items.jsonl --dry-run --model m --base-url http://localhost:9/v1": (
        0,
        "forecast: 2 debates, samre",
    ),
    "agreement 16_wide_with_extras.csv": (
        0,
        "raters are judge_gpt, judge_claude; columns that were not read",
    ),
    "agreement 17_invalid_marker.csv": (0, "WARNING: 5 votes say '[invalid]'"),
    "fit 17_invalid_marker.csv": (0, "WARNING: 5 votes say '[invalid]'"),
}
"""By command: its exit code, and what it says."""


@pytest.mark.parametrize("words", NUMBERS)
def test_a_small_input_gives_its_numbers(words: str) -> None:
    code, output = ran(f"{words} --json")
    assert code == 0, output
    found = values(json.loads(output))
    for name, value in NUMBERS[words].items():
        assert found[name] == pytest.approx(value, abs=5e-4 if value == 0.456 else 1e-9), name


@pytest.mark.parametrize("words", SAID)
def test_what_is_odd_in_a_small_input_is_said(words: str) -> None:
    code, text = SAID[words]
    found, output = ran(words)
    assert (found, text in output) == (code, True), output


@pytest.mark.parametrize("name", ["05_fullwidth_letter", "06_cyrillic_letter"])
def test_letters_of_another_script_are_all_right_once_they_are_read(name: str) -> None:
    code, output = ran(f"compare {name}.csv {FOLDER / name}.csv --read answer --value votes --json")
    assert code == 0, output
    assert {run["value"] for run in json.loads(output)["runs"]} == {1.0}


def test_every_small_input_is_tried() -> None:
    tried = {words.split(" ")[1] for words in [*NUMBERS, *SAID]}
    assert tried == {file.name for file in FOLDER.iterdir()}
