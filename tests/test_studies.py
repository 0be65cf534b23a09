"""The studies' scripts run, and their findings quote what they print."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def test_the_threshold_study_gives_the_published_false_stop_rates() -> None:
    """No drift, independent rounds: the audit's P(D < .05 twice) at 100, 200, 400, 800 debates."""
    folder = ROOT / "simulations" / "ks_threshold"
    module = runpy.run_path(str(folder / "run.py"))
    config = tomllib.loads((folder / "config.toml").read_text()) | {"debates": [100, 200, 400, 800]}
    table = module["study"](config).set_index("debates")
    published = {100: 0.019, 200: 0.12, 400: 0.44, 800: 0.80}
    for debates, rate in published.items():
        row = table.loc[debates]
        # 4 standard errors of ours, and the two digits that were published of theirs
        assert abs(row["P_stop_at_first_chance"] - rate) < 4 * row["se"] + 0.01


def test_the_findings_quote_the_simulation(capsys: pytest.CaptureFixture[str]) -> None:
    folder = ROOT / "simulations" / "ks_threshold"
    runpy.run_path(str(folder / "run.py"), run_name="__main__")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    text = (folder / "findings.md").read_text()
    quoted = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in text.splitlines()
        if line.startswith("| ") and line[2].isdigit()
    ]
    assert len(quoted) == len(rows) == 6
    for printed, said in zip(rows, quoted, strict=True):
        for value, word in zip(printed, said, strict=True):
            assert abs(float(value) - float(word)) <= 0.6 * 10.0 ** -len(word.partition(".")[2])
