"""Few simulated draws in tests that look at something else: a third of the time of a small fit or plan.

A fit draws 499 data sets for its test of a second kind of debates, and a plan 1,000 sets of parameters. The slow tests
draw all.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest

__all__ = ["all_draws_in_slow_tests", "few_draws_of_fits", "few_draws_of_plans"]

_DESCRIBE = importlib.import_module("d3stats.planning.describe")
_PLAN = importlib.import_module("d3stats.planning.plan").plan
_OF_FITS, _OF_PLANS = _DESCRIBE._KIND_DRAWS, _PLAN.__kwdefaults__["n_draws"]


@pytest.fixture(autouse=True, scope="module")
def few_draws_of_fits() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_DESCRIBE, "_KIND_DRAWS", 19)
        yield


@pytest.fixture(scope="module")
def few_draws_of_plans() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(_PLAN.__kwdefaults__, "n_draws", 100)
        yield


@pytest.fixture(autouse=True)
def all_draws_in_slow_tests(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, few_draws_of_fits: None
) -> None:
    if "slow" in request.keywords:
        monkeypatch.setattr(_DESCRIBE, "_KIND_DRAWS", _OF_FITS)
        monkeypatch.setitem(_PLAN.__kwdefaults__, "n_draws", _OF_PLANS)
