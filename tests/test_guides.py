"""The commands of the guides run, in order, and print what the page shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_readme import ROOT, disagreement, shown

GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_the_commands_of_a_guide_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    bash = f'd3stats() {{ "{sys.executable}" -m d3stats.cli "$@"; }}\n'
    for command, said in shown(page):
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
