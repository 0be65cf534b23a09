"""Every example in a docstring gives what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import sys

import pytest

import d3stats

MODULES = sorted(m.name for m in pkgutil.walk_packages(d3stats.__path__, "d3stats."))


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    module = importlib.import_module(name)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        runner.run(test, out=report.append)
    # Figures that examples leave open would add up, and matplotlib warns of more than twenty.
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    assert runner.failures == 0, "".join(report)
