"""Every notebook runs from top to bottom, in a fresh kernel, and what it shows can be read."""

from __future__ import annotations

import base64
import io
import os
import re
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.py"))
MOST_SECONDS = 60.0
"""Of processor time: what a notebook takes on a machine that does nothing else."""
SPENT = """
import resource
print(sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
"""
ABSENT = re.compile(r".{0,40}(?:\b(?:NaN|nan|NaT|None)\b|<NA>|&lt;NA&gt;).{0,20}")


def executed(path: Path, folder: Path) -> tuple[Any, float]:
    """Return a notebook with its outputs, and the processor time that it took."""
    notebook = jupytext.read(path)
    notebook.cells.append(nbformat.v4.new_code_cell(SPENT))
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    # `make docs` runs them without a screen, and a figure must be in the notebook even so.
    env = {"PYTHONPATH": str(FOLDER.parent), "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    client.execute(env=os.environ | env)
    return notebook, float(notebook.cells.pop().outputs[0].text)


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def texts(output: Any) -> list[str]:
    """Return what a reader sees of an output as letters: its HTML, or else its text."""
    if output.output_type == "stream":
        return [output.text]
    data = output.get("data", {})
    return [data["text/html"]] if "text/html" in data else [data.get("text/plain", "")]


def is_table(lines: list[str]) -> bool:
    """Say whether lines of text are rows of a table: three or more columns that begin at the same places in all."""
    starts = [{m.start() for m in re.finditer(r"(?<=  )\S", line)} for line in lines]
    ends = [{m.end() for m in re.finditer(r"\S(?=  |$)", line)} for line in lines]
    return len(set.intersection(*starts)) >= 2 or len(set.intersection(*ends)) >= 3


def tables_in(text: str) -> list[str]:
    """Return every three lines of a text that are rows of a table."""
    lines = text.splitlines()
    three = (lines[i : i + 3] for i in range(len(lines) - 2))
    return ["\n".join(rows) for rows in three if all(row.strip() for row in rows) and is_table(rows)]


def test_the_seven_subjects_have_their_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "compare_two_judges",
        "debate_a_local_server",
        "from_no_pilot_to_a_campaign",
        "from_own_csv_to_report",
        "from_pilot_to_plan",
        "mixtures_and_bayesian_twins",
        "what_the_theorems_really_say",
    ]
    page = (FOLDER.parent / "docs" / "notebooks.md").read_text(encoding="utf-8")
    assert all(f"(../notebooks/{path.name})" in page and f"\nmade/{path.stem}\n" in page for path in NOTEBOOKS)


def no_number_is_missing(output: Any) -> None:
    for text in texts(output):
        assert ABSENT.findall(text) == []


def no_warning_is_shown(output: Any) -> None:
    assert output.output_type != "error"
    assert output.get("name") != "stderr", output.text
    assert not any("\x1b[" in text for text in texts(output)), "codes for a terminal"


def every_table_is_html(output: Any) -> None:
    data = output.get("data", {})
    if "text/html" in data:
        assert "DataFrame" not in data.get("text/plain", "") or "<table" in data["text/html"]
        return
    for text in texts(output):
        # What is made for LaTeX is text.
        assert tables_in("" if "\\toprule" in text else text) == []
        assert "image/png" in data or not re.match(r"<[\w.]+ (?:object )?at 0x", text)


def every_figure_has_the_palette(output: Any) -> None:
    """Colours are those of Okabe and Ito, not matplotlib's own."""
    if "image/png" in output.get("data", {}):
        pixels = imread(io.BytesIO(base64.b64decode(output.data["image/png"])))[..., :3].reshape(-1, 3)
        for foreign in ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728"):
            assert (np.abs(pixels - to_rgb(foreign)).max(axis=1) < 0.004).mean() < 0.0005, foreign


ASKS_A_MODEL = "debate_a_local_server"


def runs_and_can_be_read(path: Path, folder: Path) -> None:
    notebook, seconds = executed(path, folder)
    kinds = [kind for output in outputs(notebook) for kind in output.get("data", {})]
    assert "image/png" in kinds, "a tutorial shows at least one figure"
    assert "text/html" in kinds, "and at least one table"
    for output in outputs(notebook):
        no_warning_is_shown(output)
        no_number_is_missing(output)
        every_table_is_html(output)
        every_figure_has_the_palette(output)
    assert seconds < MOST_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [path for path in NOTEBOOKS if path.stem != ASKS_A_MODEL], ids=lambda p: p.stem
)
def test_a_notebook_runs_in_a_minute_and_all_that_it_shows_can_be_read(path: Path, tmp_path: Path) -> None:
    runs_and_can_be_read(path, tmp_path)


@pytest.mark.real_model
def test_the_notebook_that_asks_a_model_runs(tmp_path: Path) -> None:
    runs_and_can_be_read(FOLDER / f"{ASKS_A_MODEL}.py", tmp_path)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("   a    b    c\n 1.0  2.0  3.0\n10.0 20.0 30.0\n", False),
        ("rule      rounds   accuracy\nfixed:1   1.0      .7\nfull      3.0      .8\n", True),
        ("    k    gap   rank\n    1  3.124  0.666\n    2  2.937  0.728\n", True),
        ("- one note\n- another note, longer than that\n- and a third\n", False),
    ],
)
def test_a_table_of_text_is_known(text: str, is_one: bool) -> None:
    assert bool(tables_in(text)) is is_one


def test_what_a_notebook_must_not_show_is_seen() -> None:
    shown = nbformat.v4.new_output("display_data", {"text/html": "<table><tr><td>NaN</td></tr></table>"})
    with pytest.raises(AssertionError):
        no_number_is_missing(shown)
    no_number_is_missing(nbformat.v4.new_output("stream", text="Normal-theory errors: none; nanometres"))
    with pytest.raises(AssertionError):
        no_warning_is_shown(nbformat.v4.new_output("stream", name="stderr", text="UserWarning"))
    with pytest.raises(AssertionError):
        every_table_is_html(
            nbformat.v4.new_output(
                "stream", text="rule   rounds   gain\na      1.0      .7\nb      3.0      .8\n"
            )
        )
