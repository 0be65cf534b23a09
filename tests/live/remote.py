"""The scripted server in a process of its own: it outlives what is killed and takes no time from what is timed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Remote:
    """A server that runs."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def count(self) -> dict[str, Any]:
        """Return sums over its calls so far."""
        counted: dict[str, Any] = self._get("_count")
        return counted

    def calls(self) -> list[dict[str, Any]]:
        """Return its calls so far, without their bodies."""
        listed: list[dict[str, Any]] = self._get("_calls")
        return listed

    def reset(self) -> None:
        """Make it forget its calls."""
        self._get("_reset")

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}", timeout=300) as got:
            return json.load(got)


@contextmanager
def served(folder: Path, *words: str) -> Iterator[Remote]:
    """Run a server with these options; its port is written to a file in the folder."""
    port_file = folder / "port"
    script = Path(__file__).with_name("server.py")
    process = subprocess.Popen([sys.executable, str(script), "--port-file", str(port_file), *words])
    try:
        until = time.monotonic() + 300
        while not port_file.exists():
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        yield Remote(int(port_file.read_text()), process)
    finally:
        process.terminate()
        process.wait(10)
