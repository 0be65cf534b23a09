"""Processor seconds as on an idle machine: a fixed piece of work is timed beside each try, and both are compared."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

__all__ = ["idle_seconds"]

IDLE = 0.017
"""Processor seconds of the fixed piece of work on an idle core of the machine that the limits were set on."""


def _fixed() -> None:
    rng = np.random.default_rng(0)
    for _ in range(4):
        np.sort(rng.random(40_000))
    text = "".join(str(i) for i in range(25_000))
    sum(letter == "7" for letter in text)


def _spent(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def idle_seconds(work: Callable[[], object], tries: int = 3) -> float:
    """Return the least processor seconds of several tries, each in proportion to a fixed piece of work beside it."""
    ratios = []
    for _ in range(tries):
        before, spent, after = _spent(_fixed), _spent(work), _spent(_fixed)
        ratios.append(spent / max(IDLE, (before + after) / 2))
    return IDLE * min(ratios)
