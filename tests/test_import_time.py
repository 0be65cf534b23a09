"""Importing the package and asking for help stay quick, and load nothing heavy."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

import d3stats
from d3stats.cli.app import GROUPS

ROOT = Path(d3stats.__file__).resolve().parents[1]
HEAVY = (
    *("pymc", "arviz", "statsmodels", "matplotlib", "scipy.stats", "numba", "duckdb", "openai", "openpyxl"),
    "hypothesis",
)
HELP = """
import sys
from d3stats.cli import app
sys.argv = ["d3stats", *{}]
try:
    app()
except SystemExit as end:
    assert not end.code, end.code
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run a line of Python in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=600
    )


def loaded_by(code: str) -> set[str]:
    names = run(f"{code}\nimport sys; print('\\n' + ' '.join(sys.modules))").stdout.split("\n")[-2].split()
    return set(HEAVY) & set(names)


def least_cpu(code: str, limit: float, times: int = 6) -> float:
    """Return the least CPU seconds, start of the interpreter included, that `code` took in a fresh one.

    Other processes of the machine can only make a run longer, so one run within the limit settles it.
    """
    best = float("inf")
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(code)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if best < limit:
            break
    return best


@pytest.mark.slow
def test_importing_the_package_takes_less_than_0_1_seconds() -> None:
    """Beside the start of the interpreter."""
    limit = least_cpu("pass", 0.0) + 0.1
    assert least_cpu("import d3stats", limit) < limit


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("import d3stats") == set()


def test_reading_arrays_and_counting_them_loads_nothing_heavy() -> None:
    code = "import d3stats; d3stats.Trajectories.from_arrays([[['A', 'B']]], label=['A']).counts()"
    assert loaded_by(code) == set()


def test_the_figures_load_matplotlib_only_when_they_draw() -> None:
    assert loaded_by("import d3stats.plotting") == set()


COMMANDS = ["", *(name for names in GROUPS.values() for name in names)]


def test_asking_for_help_loads_nothing_heavy() -> None:
    """For any command; one interpreter asks them all, since what is loaded stays."""
    asked = [[command, "--help"] if command else ["--help"] for command in COMMANDS]
    assert loaded_by("\n".join(HELP.format(words) for words in asked)) == set()


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_asking_for_help_takes_less_than_a_second_of_cpu(command: str) -> None:
    limit = 1.0 if command else 0.5
    assert least_cpu(HELP.format([command, "--help"] if command else ["--help"]), limit) < limit
