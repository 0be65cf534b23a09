"""Traces of personas: every table follows from the committed votes, and a trace that is there is found."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from study_tables import same

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "analysis" / "persona_agreement"


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables)


@pytest.mark.slow  # 1 s; the findings hold the tables in the fast layer
def test_every_table_follows_from_the_committed_votes(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    for name, again in module["study"](pd.read_csv(module["VOTES"])).items():
        same(again, made[name])


def test_a_persona_that_always_says_the_same_is_found(module: dict[str, Any]) -> None:
    rng = np.random.default_rng(2)
    rows = []
    for question in range(60):
        benchmark = "gsm" if question < 30 else "mmlu"
        own = {name: int(rng.integers(0, 3)) for name in ("kantian", "zen", "expert")}
        for size in (3, 5):
            rows += [(benchmark, "m", size, question, seat, name, own[name]) for seat, name in enumerate(own)]
    votes = pd.DataFrame(
        rows, columns=["benchmark", "model", "seats", "question", "seat", "persona", "round_1"]
    )
    pairs = module["pairs"](votes)
    assert pairs[pairs["kind"] == "same persona"]["equal"].all()
    table = (
        module["alike"](pairs, 0.95).query("benchmark == 'GSM8K' and measure == 'equal'").set_index("kind")
    )
    assert table.loc["same minus other", "low"] > 0.4


def test_what_the_findings_say_in_words_follows_from_the_tables(made: dict[str, pd.DataFrame]) -> None:
    table = made["alike"].set_index(["benchmark", "measure", "kind"])
    less = table.loc[("both", "equal", "same minus other")]
    assert (round(less["value"], 3), round(less["low"], 3), round(less["high"], 3)) == (0.011, -0.009, 0.030)
    assert (table.xs("same minus other", level="kind")["low"] < 0).all()
    assert (made["personas"]["p_holm"] > 0.05).all()
    assert len(made["personas"]) == 15
