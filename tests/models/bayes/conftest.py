"""The tests of this folder need PyMC, which takes seconds to import: they ask for it when they run."""

import pytest


@pytest.fixture(autouse=True)
def _sampler() -> None:
    pytest.importorskip("pymc")
