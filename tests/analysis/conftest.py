"""What the tests of studies share: the study's script, the tables that it wrote, and whether its findings hold them."""

from __future__ import annotations

import runpy
from typing import Any

import pandas as pd
import pytest


@pytest.fixture(scope="module")
def module(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Run the script of the study in the folder FOLDER of a test file."""
    return runpy.run_path(str(request.module.FOLDER / "run.py"))


@pytest.fixture(scope="module")
def made(request: pytest.FixtureRequest) -> dict[str, pd.DataFrame]:
    """Read the tables that the study wrote."""
    return {path.stem: pd.read_csv(path) for path in request.module.FOLDER.glob("*.csv")}
