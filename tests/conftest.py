"""What every test may use: the folder of real logs, one program for all calls, hypothesis profiles."""

from __future__ import annotations

import functools
import gc
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile(
    "fast", max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("slow", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

# A call of a command in this process takes the program as it is, not one made anew: a tenth of a second each, and
# half a second where a test asks for all commands.
typer.main.get_command = functools.cache(typer.main.get_command)
typer.testing._get_command = functools.cache(typer.testing._get_command)


# What is imported and collected here lives to the end. Searches for garbage that leave it out, and come less often,
# save a tenth of the processor time.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_sessionfinish() -> None:
    gc.unfreeze()


def _real_data_folder() -> Path:
    return Path(os.environ.get("D3STATS_DATA", ROOT.parent / "shared" / "data"))


LONGEST = (
    *("test_page.py", "test_docstrings.py", "test_guides.py", "test_one_door.py", "test_metamorphic.py"),
    *("test_terminal.py", "test_security.py", "test_no_option_is_ignored.py", "test_contradictions.py"),
    *(
        "test_escalation.py",
        "test_bills.py",
        "test_browser.py",
        "test_readme.py",
        "test_bad_input_of_commands.py",
    ),
    *(
        "test_no_argument_is_ignored.py",
        "test_distribution.py",
        "test_inspect_scorers.py",
        "test_own_columns.py",
    ),
)
"""Files of the most processor time, half a minute and less; `make test` begins with them, so that its processes end
together."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        place = {name: k for k, name in enumerate(LONGEST)}
        items.sort(key=lambda item: place.get(item.path.name, len(LONGEST)))
    folder = _real_data_folder()
    missing = {}
    if not folder.is_dir():
        missing["real_data"] = f"REAL DATA NOT CHECKED: no folder {folder} (set D3STATS_DATA)"
    if not os.environ.get("D3STATS_SMALL_MODEL"):
        missing["real_model"] = "NO MODEL ASKED: D3STATS_SMALL_MODEL is not set (make test-live)"
    for item in items:
        for mark, reason in missing.items():
            if mark in item.keywords:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def _no_terminal_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands print as into a pipe, however wide the terminal is that a parallel run of the tests names."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True)
def _no_figure_left_open() -> Iterator[None]:
    """Figures that tests leave open would add up, and matplotlib warns of more than twenty in one process."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the figures of a report undrawn, for tests of its words and tables: they are a third of its time."""
    sections = importlib.import_module("d3stats.report.sections")
    nothing = '<svg width="9pt" height="9pt" xmlns="http://www.w3.org/2000/svg"/>'
    monkeypatch.setattr(sections, "svg", lambda draw, title: (nothing, ""))


@pytest.fixture(scope="module")
def computed_once() -> Iterator[None]:
    """Let commands compute each result once, for tests of how they show it."""
    from remembered import remembered

    with remembered():
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real logs; tests that use it carry the mark ``real_data``."""
    return _real_data_folder()
