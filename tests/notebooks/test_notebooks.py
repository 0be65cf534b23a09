"""Every notebook runs from top to bottom, in a fresh kernel."""

from __future__ import annotations

import os
from pathlib import Path

import jupytext
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.py"))


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    notebook = jupytext.read(path)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    # The kernel chooses its own backend, the one that puts figures into the notebook.
    env = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    client.execute(env=env | {"PYTHONPATH": str(FOLDER.parent)})
    drawn = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    assert drawn, "a tutorial shows at least one figure"
