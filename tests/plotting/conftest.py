"""The settings that every test of a figure draws with."""

from collections.abc import Iterator

import matplotlib as mpl
import pytest

from d3stats.plotting import use_style


@pytest.fixture(autouse=True)
def _style() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}), use_style():
        yield
