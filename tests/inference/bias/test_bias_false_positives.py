"""The study of false positives: its tables hold its claims, and a smaller run agrees with them."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from layers import examples

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "simulations" / "bias_false_positives"


@pytest.fixture(scope="module")
def module() -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / "run.py"))


@pytest.fixture(scope="module")
def made() -> pd.DataFrame:
    return pd.read_csv(FOLDER / "audits.csv")


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return tomllib.loads((FOLDER / "config.toml").read_text())


def nulls(table: pd.DataFrame) -> pd.DataFrame:
    tested = ~table["estimate"].isin(["position: consistency"])
    return table[tested & ~table["biased"] & (table["truth"] == 0)]


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: pd.DataFrame
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    assert fill(text, module["shown"]({"audits": made})) == text


def test_no_audit_finds_bias_too_often_where_there_is_none(made: pd.DataFrame) -> None:
    found = nulls(made)
    assert set(found["icc"]) == {0.0, 0.1, 0.3}
    assert (found["replicates"] >= 2000).all()
    assert len(found) == 8 * 5
    too_often = found["rejected"] > 0.055 + 2 * found["rejected_se"]
    assert not too_often.any(), found[too_often]


def test_intervals_cover_at_eighty_clusters(made: pd.DataFrame) -> None:
    many = made[(made["clusters"] == 80) & made["covered"].notna()]
    assert len(many) >= 40
    short = many["covered"] < 0.94 - 2 * many["covered_se"]
    wide = many["covered"] > 0.96 + 2 * many["covered_se"]
    assert not (short | wide).any(), many[short | wide]


def test_bias_of_the_size_tried_is_seen_more_often_than_chance(made: pd.DataFrame) -> None:
    there = made[made["biased"] & (made["truth"] != 0) & (made["estimate"] != "position: consistency")]
    many = there[there["clusters"] == 80]
    assert (many["rejected"] > 0.25).all(), many


@examples(5, 40)
def test_a_small_run_gives_rates_near_the_written_ones(
    module: dict[str, Any], made: pd.DataFrame, config: dict[str, Any], n_examples: int
) -> None:
    config = config | {"replicates": n_examples, "seed": 9, "icc": [0.1, 0.3], "few_clusters": []}
    config["icc"] = [0.1, 0.3]
    small = module["study"](config, only=("position", "length"))
    both = small.merge(made, on=["audit", "clusters", "icc", "biased", "estimate"], suffixes=("", "_written"))
    assert len(both) == 11 - 1 + 4
    error = np.sqrt(both["rejected_written"] * (1 - both["rejected_written"]) / n_examples) + 0.01
    assert ((both["rejected"] - both["rejected_written"]).abs() < 4 * error).all()


@pytest.mark.slow
def test_the_false_positive_rates_hold_in_a_fresh_run(module: dict[str, Any], config: dict[str, Any]) -> None:
    config = config | {"replicates": 2000, "seed": 77, "few_clusters": []}
    found = nulls(module["study"](config))
    too_often = found["rejected"] > 0.055 + 2 * found["rejected_se"]
    assert not too_often.any(), found[too_often]
