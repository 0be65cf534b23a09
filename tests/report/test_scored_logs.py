"""Logs with scores of one response, of two sides and of three candidates: no command fails, and all say the same."""

from __future__ import annotations

import importlib
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from layers import sampled
from typer.testing import CliRunner

import d3stats
from d3stats.cli import app
from d3stats.planning import scores
from d3stats.report.tables import score_tables

SIDES = {"one response": ("response",), "two sides": ("A", "B"), "three candidates": ("A", "B", "C")}


@pytest.fixture(params=SIDES.values(), ids=list(SIDES))
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Three agents vote and score every side in two rounds of 24 debates; one agent leaves out a criterion once."""
    rng = np.random.default_rng(3)
    rows = []
    for d in range(24):
        for r in (1, 2):
            for k in range(3):
                named = ("clear",) if (d, k) == (0, 0) else ("clear", "sound")
                given = {side: {name: int(rng.integers(1, 10)) for name in named} for side in request.param}
                rows.append((f"d{d}", r, f"a{k}", "ABC"[rng.integers(3)], "A", json.dumps(given)))
    path = tmp_path / "log.csv"
    columns = ["debate", "round", "agent", "vote", "label", "scores"]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path


@pytest.mark.usefixtures("without_pictures")
@sampled("log", SIDES.values(), [2], indirect=True)
def test_the_scores_of_a_page_are_those_of_the_function(log: Path) -> None:
    page = d3stats.report(log, n_boot=20)
    (part,) = next(section for section in page.sections if section.key == "scores").parts
    assert not part.absent
    expected = score_tables(scores(log))
    assert [table for table, _ in part.tables] == expected
    wanted = {"response": "Aspects", "C": "Ranks"}
    sides = set(scores(log).means["side"])
    assert all(
        any(title in table[0] for table in expected) for side, title in wanted.items() if side in sides
    )


@sampled(
    "words, log",
    list(
        itertools.product(
            [("plan", "--no-limit", "--n-draws", "50"), ("replay",), ("scores",)], SIDES.values()
        )
    ),
    (0, 4, 8),  # each command and each number of sides once
    indirect=["log"],
)
def test_no_command_fails_because_of_the_number_of_sides(words: tuple[str, ...], log: Path) -> None:
    done = CliRunner().invoke(app, [words[0], str(log), *words[1:]])
    assert done.exit_code == 0, done.output


def test_a_page_of_votes_at_the_end_replays_the_protocols_own_rule_and_folds_its_strata(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sections = importlib.import_module("d3stats.report.sections")
    draw_it = sections.svg
    left_out = '<svg width="9pt" height="9pt" xmlns="http://www.w3.org/2000/svg"/>', ""
    # Of the pictures only those with intervals are looked at.
    monkeypatch.setattr(
        sections, "svg", lambda draw, title: draw_it(draw, title) if "with intervals" in title else left_out
    )
    path, world = tmp_path / "samre.jsonl", tmp_path / "court.toml"
    world.write_text('name = "courtroom"\n', encoding="utf-8")
    asked = ["debate", "--synthetic", str(world), "--limit", "24", "--protocol", "samre", "-o", str(path)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    page = d3stats.report(path, n_boot=20)
    of = {section.key: section.parts[0] for section in page.sections}
    assert of["rules"].lead[0].startswith("No rule is recommended: pilot must have votes after every round")
    (_, _, rows), _ = of["rules"].tables[0]
    assert [row[0] for row in rows] == ["d3_paper", "full"]
    assert "-" not in rows[0]
    (whole, _), (by_stratum, _) = of["scores"].tables[:2]
    assert (whole[1][0], by_stratum[1][0]) == ("round", "stratum")
    assert "all" not in {row[0] for row in by_stratum[2]}
    html = page.to_html()
    folded = re.findall(r"<summary>([^<]*)</summary>", html)
    assert len(set(folded)) == len(folded)
    assert "Bars: 95 % cluster t" in html
