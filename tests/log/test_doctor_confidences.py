"""The doctor says how many votes have a confidence, in which range, and what was read from per cents."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from typer.testing import CliRunner

from d3stats.cli import app
from d3stats.log import doctor


def turns() -> pd.DataFrame:
    rows = [
        (d, r, a, "AB"[(d + r + len(a)) % 2], "AB"[d % 2])
        for d in range(8)
        for r in (1, 2)
        for a in ("x", "yy")
    ]
    table = pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])
    return table.assign(confidence=[0.5 + k / 100 for k in range(len(table))])


def test_a_log_with_confidences_says_how_many_and_their_range(tmp_path: Path) -> None:
    table = turns()
    table.loc[3, "confidence"] = None
    table.to_csv(tmp_path / "log.csv", index=False)
    report = doctor(tmp_path / "log.csv")
    assert "Confidences: 31 of 32 votes, from 0.5 to 0.81." in report.to_text()
    assert report.confidences == {"stated": 31, "votes": 32, "lowest": 0.5, "highest": 0.81, "per_cent": 0}
    percent = table.assign(confidence_percent=(100 * table["confidence"]).round(1)).drop(columns="confidence")
    percent.to_csv(tmp_path / "percent.csv", index=False)
    again = doctor(tmp_path / "percent.csv")
    assert "Confidences: 31 of 32 votes, from 0.5 to 0.81, 31 of them read from per cents." in again.to_text()
    table.drop(columns="confidence").to_csv(tmp_path / "bare.csv", index=False)
    assert "Confidences" not in doctor(tmp_path / "bare.csv").to_text()


def test_a_table_of_ratings_with_confidences_says_so_too(tmp_path: Path) -> None:
    table = (
        turns().query("round == 1").drop(columns="round").rename(columns={"debate": "item", "agent": "rater"})
    )
    table.to_csv(tmp_path / "ratings.csv", index=False)
    said = CliRunner().invoke(app, ["doctor", str(tmp_path / "ratings.csv")], env={"COLUMNS": "400"}).stdout
    assert "16 votes have a confidence, from 0.5 to 0.79; d3stats confidence" in " ".join(said.split())
    shares = table.rename(columns={"confidence": "confidence_percent"})
    shares.to_csv(tmp_path / "shares.csv", index=False)
    done = CliRunner().invoke(app, ["doctor", str(tmp_path / "shares.csv")], env={"COLUMNS": "400"})
    assert "if they are shares" in " ".join(done.stdout.split())
    assert done.exit_code == 2
