"""A headless Chromium driven over its debugging pipe: no library is needed beyond the program itself."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

PATIENCE = 120.0
"""Seconds to wait for one answer; a busy machine is slow."""


class Browser:
    """One page of a browser; every request and every complaint of the page is kept."""

    def __init__(self, profile: Path) -> None:
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ]
        flags += ["--disable-background-networking", f"--user-data-dir={profile}", "--remote-debugging-pipe"]
        redirect = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self._process = subprocess.Popen(
            ["bash", "-c", redirect, "bash", str(CHROMIUM), *flags, "about:blank"],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._held = b""
        self._number = 0
        self._session: str | None = None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._loaded = False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """Call a method and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        left = memoryview(json.dumps(message).encode() + b"\0")
        while left:
            left = left[os.write(self._out, left) :]
        end = time.monotonic() + PATIENCE
        while True:
            answer = self._next(end)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _next(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._held:
            ready, _, _ = select.select([self._in], [], [], max(end - time.monotonic(), 0))
            chunk = os.read(self._in, 1 << 16) if ready else b""
            if not chunk:
                raise TimeoutError("the browser did not answer")
            self._held += chunk
        line, _, self._held = self._held.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
            case "Page.loadEventFired":
                self._loaded = True
            case "Log.entryAdded":
                self.complaints.append(message["params"]["entry"]["text"])
            case "Runtime.exceptionThrown":
                self.complaints.append(message["params"]["exceptionDetails"]["text"])
        return message

    def open(self, path: Path, *, width: int, dark: bool = False, media: str = "screen") -> None:
        """Load a page at a width, and wait until everything in it is there."""
        self.requests, self.complaints, self._loaded = [], [], False
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.call("Page.navigate", url=path.absolute().as_uri())
        end = time.monotonic() + PATIENCE
        while not self._loaded:
            self._next(end)

    def run(self, script: str) -> Any:
        """Return the value of a script in the page; promises are waited for."""
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def close(self) -> None:
        """End the browser."""
        with suppress(Exception):
            self._session = None
            self.call("Browser.close")
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(20)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start a browser and end it."""
    started = Browser(profile)
    try:
        yield started
    finally:
        started.close()
