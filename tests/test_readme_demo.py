"""The README's first screen is what the demo prints."""

from __future__ import annotations

import re
from pathlib import Path

from typer.testing import CliRunner

from d3stats.cli import app

ROOT = Path(__file__).resolve().parents[1]
NUMBER = re.compile(r"-?\d+\.\d+%?")


def test_the_readme_shows_the_demo_as_it_prints(tmp_path: Path) -> None:
    """Word for word; decimals may differ in the last places that other builds of numpy round otherwise."""
    screen = (
        (ROOT / "README.md").read_text(encoding="utf-8").split("$ make demo\n")[1].split("$ make test")[0]
    )
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo-output")])
    printed = done.stdout.replace(str(tmp_path) + "/", "")

    def shape(text: str) -> list[str]:
        lines = [re.sub(r"[ ─]+", " ", NUMBER.sub("#", line)).strip() for line in text.splitlines()]
        return [line for line in lines if line]

    assert shape(screen) == shape(printed)
    for shown, now in zip(NUMBER.findall(screen), NUMBER.findall(printed), strict=True):
        slack = 1.0 if shown.endswith("%") else 0.01
        assert abs(float(shown.rstrip("%")) - float(now.rstrip("%"))) <= slack, (shown, now)
