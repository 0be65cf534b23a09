"""The examples of the checks print what they say."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["checks", "printed", "significance", "table"])
def test_the_examples_of_a_module_hold(name: str) -> None:
    done = doctest.testmod(import_module(f"printed_tables.{name}"))
    assert done.attempted > 0
    assert done.failed == 0
