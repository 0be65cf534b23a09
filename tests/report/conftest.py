"""What the tests of the page share."""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the figures of a page undrawn, for tests of its words and tables: they are a third of its time."""
    sections = importlib.import_module("d3stats.report.sections")
    nothing = '<svg width="9pt" height="9pt" xmlns="http://www.w3.org/2000/svg"/>'
    monkeypatch.setattr(sections, "svg", lambda draw, title: nothing)
