"""The pace of calls: so many a minute, a pause when the server asks for one, and the wait between attempts."""

from __future__ import annotations

import asyncio
import random

__all__ = ["Pace", "backoff"]


class Pace:
    """Calls a minute, with bursts of at most a second's worth, and a pause for all when a server asks for one."""

    def __init__(self, per_minute: float | None) -> None:
        self._limiter = None
        if per_minute is not None:
            from aiolimiter import AsyncLimiter

            burst = max(1.0, per_minute / 60.0)
            self._limiter = AsyncLimiter(burst, burst * 60.0 / per_minute)
        self._pause = 0.0

    async def turn(self) -> None:
        """Wait until it is this call's turn."""
        loop = asyncio.get_running_loop()
        # The pause may have grown meanwhile.
        while (rest := self._pause - loop.time()) > 0:
            await asyncio.sleep(rest)
        if self._limiter is not None:
            await self._limiter.acquire()

    def hold(self, seconds: float) -> None:
        """Let no call begin for so long: a server that asks one call to wait means all."""
        self._pause = max(self._pause, asyncio.get_running_loop().time() + seconds)


def backoff(failures: int, base: float, cap: float, rng: random.Random) -> float:
    """Return seconds to wait after so many failures in a row: exponential, full jitter (Brooker 2015)."""
    return rng.uniform(0.0, min(cap, base * 2.0 ** min(failures - 1, 60)))
