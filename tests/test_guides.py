"""The commands of the guides run, in order, and print what the page shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_readme import ELSEWHERE, ROOT, disagreement, files_shown, shown

GUIDES = [ROOT / "docs" / "quick_start.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_the_commands_of_a_guide_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    bash = f'd3stats() {{ "{sys.executable}" -m d3stats.cli "$@"; }}\n'
    for name, body in files_shown(page).items():
        (tmp_path / name).write_text(body, encoding="utf-8")
    for command, said in shown(page):
        if command.startswith(ELSEWHERE):
            continue
        done = subprocess.run(
            ["bash", "-c", bash + command],
            cwd=tmp_path,
            env=os.environ | {"MPLBACKEND": "Agg", "COLUMNS": "80", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        if said:
            assert (other := disagreement("\n".join(said), done.stdout)) is None, f"$ {command}\n{other}"
