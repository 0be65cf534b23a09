"""How fast calls are made: so many at once, so many a minute, and how long to wait after a failure."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["Pace", "backoff", "seconds_asked"]


class Pace:
    """A token bucket: calls a minute, with bursts of at most a second's worth; and a pause when a server asks for one.

    Parameters
    ----------
    per_minute : float or None
        None for no limit.
    """

    def __init__(self, per_minute: float | None) -> None:
        self._step = 0.0 if per_minute is None else 60.0 / per_minute
        self._slack = max(0.0, 1.0 - self._step) if per_minute is not None else 0.0
        self._due = 0.0
        self._pause = 0.0

    async def turn(self) -> None:
        """Wait until it is this call's turn."""
        now = asyncio.get_running_loop().time()
        start = max(now, self._due - self._slack, self._pause)
        self._due = max(self._due, start) + self._step
        if start > now:
            await asyncio.sleep(start - now)

    def hold(self, seconds: float) -> None:
        """Let no call begin for so long: a server that asks one call to wait means all."""
        self._pause = max(self._pause, asyncio.get_running_loop().time() + seconds)


def backoff(failures: int, base: float, cap: float, rng: random.Random) -> float:
    """Return seconds to wait after so many failures in a row: exponential, full jitter (Brooker 2015).

    Examples
    --------
    >>> [round(backoff(k, 0.5, 4.0, random.Random(1)), 3) for k in (1, 2, 3, 9)]
    [0.067, 0.134, 0.269, 0.537]
    """
    return rng.uniform(0.0, min(cap, base * 2.0 ** min(failures - 1, 60)))


def seconds_asked(headers: dict[str, str]) -> float | None:
    """Return how long a server asks to wait, from Retry-After (seconds or a date) or retry-after-ms.

    Examples
    --------
    >>> seconds_asked({"retry-after": "2"}), seconds_asked({"retry-after-ms": "250"}), seconds_asked({})
    (2.0, 0.25, None)
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * scale
        except ValueError:
            seconds = _until(value)
        if 0.0 <= seconds < float("inf"):
            return seconds
    return None


def _until(date: str) -> float:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return -1.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
