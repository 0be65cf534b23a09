"""Importing the package and asking for help stay quick, and load nothing heavy."""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from pathlib import Path

import pytest

import d3stats

ROOT = Path(d3stats.__file__).resolve().parents[1]
HEAVY = (
    *("pymc", "arviz", "statsmodels", "matplotlib", "scipy.stats", "numba", "duckdb", "openai", "openpyxl"),
    "hypothesis",
)
HELP = """
import sys
from d3stats.cli import app
sys.argv = ["d3stats", "--help"]
try:
    app()
except SystemExit as end:
    assert not end.code, end.code
"""
needs_cli = pytest.mark.skipif(
    not hasattr(importlib.import_module("d3stats.cli"), "app"), reason="the command line is not there yet"
)


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run a line of Python in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )


def loaded_by(code: str) -> set[str]:
    names = run(f"{code}\nimport sys; print(*sys.modules)").stdout.split()
    return set(HEAVY) & set(names)


def quickest(code: str, limit: float, times: int = 12) -> float:
    """Return the least seconds, start of the interpreter included, that `code` took in a fresh one.

    Other processes of the machine can only make a run longer, so one run within the limit settles it.
    """
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        run(code)
        best = min(best, time.perf_counter() - start)
        if best < limit:
            break
    return best


def test_importing_the_package_takes_less_than_0_3_seconds() -> None:
    assert quickest("import d3stats", 0.3) < 0.3


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("import d3stats") == set()


def test_reading_arrays_and_counting_them_loads_nothing_heavy() -> None:
    code = "import d3stats; d3stats.Trajectories.from_arrays([[['A', 'B']]], label=['A']).counts()"
    assert loaded_by(code) == set()


def test_the_figures_load_matplotlib_only_when_they_draw() -> None:
    assert loaded_by("import d3stats.plotting") == set()


@needs_cli
def test_asking_for_help_takes_less_than_half_a_second() -> None:
    assert quickest(HELP, 0.5) < 0.5


@needs_cli
def test_asking_for_help_loads_nothing_heavy() -> None:
    assert loaded_by(HELP + "print()") == set()
