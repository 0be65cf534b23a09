"""A rule that is followed and stops nothing: its stops are those of a replay, and the run is as without it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import d3stats
from d3stats.cli import app
from d3stats.protocols import protocol_from_text
from d3stats.run import run_debates
from d3stats.run.report import RunReport
from d3stats.run.shadow import shadow_of
from d3stats.stopping import from_text
from d3stats.worlds import Conformity, synthetic_agent, synthetic_items

WORLD = Conformity(panel=5)


def played(
    log: Path, n: int = 40, *, rule: str = "full", shadow: str | None = None, **more: Any
) -> RunReport:
    items = synthetic_items(WORLD, n, seed=3)
    return asyncio.run(
        run_debates(
            protocol_from_text("stability:panel=5,max_rounds=4"),
            [
                d3stats.run.items.DebateItem(
                    each.question, each.text, each.candidates, each.answers, label=each.label
                )
                for each in items
            ],
            synthetic_agent(WORLD, 3),
            log,
            rule=from_text(rule),
            shadow=None if shadow is None else from_text(shadow),
            **more,
        )
    )


def test_the_stops_and_savings_are_those_of_a_replay_of_the_log(tmp_path: Path) -> None:
    found = played(tmp_path / "a.jsonl", shadow="supermajority:0.8").shadow
    assert found is not None
    replayed = d3stats.replay(str(tmp_path / "a.jsonl"), "supermajority:0.8")
    row = replayed.to_frame().set_index("rule").loc["supermajority:0.8"]
    assert found.rounds_saved == pytest.approx(row["saved_rounds_vs_full"])
    assert found.tokens_saved == pytest.approx(row["saved_tokens_vs_full"])
    assert found.differ == round(row["flips"] * 40)
    assert (found.debates, found.later) == (40, 0)
    each = replayed.per_debate()
    each = each[each["rule"] == "supermajority:0.8"].set_index("debate")
    written = pd.read_csv(found.file, dtype={"debate": str}).set_index("debate").loc[each.index]
    assert written["round"].tolist() == each["round"].tolist()
    assert written["verdict"].tolist() == each["verdict"].tolist()
    assert written["reason"].tolist() == each["reason"].tolist()
    assert 0 < found.differ < 40
    assert found.earlier > 0


def test_the_log_is_the_one_without_it_and_a_resumed_run_says_the_same(tmp_path: Path) -> None:
    whole = played(tmp_path / "a.jsonl", shadow="fixed:1")
    alone = played(tmp_path / "b.jsonl")
    lines = [
        sorted(line for line in (tmp_path / name).read_text().splitlines() if '"type":"log"' not in line)
        for name in ("a.jsonl", "b.jsonl")
    ]
    assert [line.replace('"a"', '"b"') for line in lines[0]] == lines[1]
    assert alone.shadow is None

    halt = asyncio.Event()

    def after_ten(report: RunReport) -> None:
        if report.closed >= 10:
            halt.set()

    cut = played(tmp_path / "c.jsonl", shadow="fixed:1", observer=after_ten, halt=halt)
    assert cut.shadow is not None
    assert cut.shadow.debates == cut.closed < 40
    resumed = played(tmp_path / "c.jsonl", shadow="fixed:1")
    assert resumed.shadow is not None
    assert whole.shadow is not None
    assert resumed.shadow.to_dict() | {"file": ""} == whole.shadow.to_dict() | {"file": ""}
    assert pd.read_csv(resumed.shadow.file).sort_values("debate").values.tolist() == (
        pd.read_csv(whole.shadow.file).sort_values("debate").values.tolist()
    )


def test_a_rule_that_would_continue_has_no_known_cost_and_its_savings_are_at_most(tmp_path: Path) -> None:
    found = played(tmp_path / "a.jsonl", rule="fixed:2", shadow="unanimity").shadow
    assert found is not None
    table = pd.read_csv(found.file)
    assert found.later == table["round"].isna().sum() > 0
    assert table.loc[table["round"].isna(), "differs"].eq(0).all()
    assert "would have saved at most" in str(found)
    assert f"In {found.later} debates it would have continued" in str(found)
    assert found.rounds_saved == pytest.approx(1 - table["round"].fillna(2).sum() / 80)


def test_a_log_without_closed_debates_says_so(tmp_path: Path) -> None:
    played(tmp_path / "a.jsonl", 3)
    text = [x for x in (tmp_path / "a.jsonl").read_text().splitlines() if '"type":"verdict"' not in x]
    (tmp_path / "open.jsonl").write_text("\n".join(text) + "\n", encoding="utf-8")
    found = shadow_of(tmp_path / "open.jsonl", from_text("fixed:1"))
    assert found.debates == 0
    assert "followed in no debate" in str(found)


@pytest.mark.parametrize(("shadow", "message"), [
    ("hu2025", "shadow must decide each debate by itself"),
    ("d3_paper", "must score every round"),
])  # fmt: skip
def test_a_rule_that_cannot_be_followed_is_refused_before_anything_is_spent(
    tmp_path: Path, shadow: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        played(tmp_path / "a.jsonl", shadow=shadow)
    assert not (tmp_path / "a.jsonl").exists()


def test_the_command_reports_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("world.toml").write_text('name = "courtroom"\n', encoding="utf-8")
    words = "debate --synthetic world.toml --limit 8 --protocol samre:poll=every_round --stop full"
    done = CliRunner().invoke(app, [*words.split(), "--shadow", "unanimity", "-o", "log.jsonl"])
    assert done.exit_code == 0, done.output
    assert "Shadow: unanimity would have saved" in " ".join(done.stdout.split())
    done = CliRunner().invoke(app, [*words.split(), "--shadow", "unanimity", "-o", "two.jsonl", "--json"])
    told = json.loads(done.stdout)["run"]["shadow"]
    assert told["debates"] == 8
    assert told["file"] == "two.shadow.csv"
    # The jury of this run votes at the end alone, so that no rule on votes can be followed.
    ends = words.replace(":poll=every_round", "")
    done = CliRunner().invoke(app, [*ends.split(), "--shadow", "unanimity", "-o", "three.jsonl"])
    assert done.exit_code == 1
    assert "must poll its voters every round" in done.stderr
