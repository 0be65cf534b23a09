"""The README shows what the demo prints, "..." for what it leaves out."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from typer.testing import CliRunner

from d3stats.cli import app

ROOT = Path(__file__).resolve().parents[1]
OVERVIEW = ROOT / "figures" / "slm7_overview.png"
NUMBER = re.compile(r"-?\d+\.\d+%?")


def shape(text: str) -> list[str]:
    """Lines with decimals as signs and spaces as one: what has to be the same word for word."""
    lines = [re.sub(r"[ ─]+", " ", NUMBER.sub("#", line)).strip() for line in text.splitlines()]
    return [line for line in lines if line]


def test_the_readme_shows_the_demo_as_it_prints(tmp_path: Path) -> None:
    """Word for word; decimals may differ in the last places that other builds of numpy round otherwise."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    screen = readme.split("$ make demo\n")[1].split("```")[0].split("$ make test")[0]
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo-output")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "demo-output" / "slm7.pdf").read_bytes().startswith(b"%PDF")
    printed = [line for line in done.stdout.replace(str(tmp_path) + "/", "").splitlines() if shape(line)]
    blocks = [block for block in re.split(r"^\.\.\.$", screen, flags=re.MULTILINE) if shape(block)]
    assert len(blocks) >= 3
    at = 0
    for block in blocks:
        wanted = shape(block)
        places = [
            i
            for i in range(at, len(printed))
            if [shape(x)[0] for x in printed[i : i + len(wanted)]] == wanted
        ]
        assert places, f"the demo does not print:\n{block}"
        at = places[0] + len(wanted)
        now_text = "\n".join(printed[places[0] : at])
        for shown, now in zip(NUMBER.findall(block), NUMBER.findall(now_text), strict=True):
            slack = 1.0 if shown.endswith("%") else 0.01
            assert abs(float(shown.rstrip("%")) - float(now.rstrip("%"))) <= slack, (shown, now)

    made, shown = (plt.imread(path) for path in (tmp_path / "demo-output" / "slm7.png", OVERVIEW))
    assert made.shape == shown.shape
    other = np.abs(made - shown).max(axis=2) > 0.1
    assert other.mean() < 0.005, "the figure that README shows is not that of the demo; run `make figures`"
