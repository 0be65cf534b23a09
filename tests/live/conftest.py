"""The scripted server, started anew for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from server import Server


@pytest.fixture
def server() -> Iterator[Server]:
    """A scripted server on a free port of the loopback address; see ``tests/live/server.py``."""
    running = Server().start()
    yield running
    running.stop()
