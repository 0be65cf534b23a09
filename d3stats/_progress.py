"""Progress of long work: code that works reports it, and a display shows it. Without a display nothing is shown.

Each piece of work has a text such as "reading log.csv", which separates it from others.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Pace", "Watch", "tell", "watched", "watching", "working"]

Watch = Callable[[str, int, int], None]
"""Gets what is done, how much of it is done, and how much there is."""

PATIENCE = 2.0
"""Seconds that work may take before there is word of it."""

_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Hand on what is told within the block."""
    before = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(before)


def watching() -> Watch | None:
    """Return the display, None where there is none."""
    return _watch.get()


def tell(what: str, done: int, size: int) -> None:
    """Report to the display how much of some work is done."""
    watch = _watch.get()
    if watch is not None:
        watch(what, done, size)


class Pace:
    """Show how much of something is done and how long the rest takes, once it has taken a while.

    `show` gets what is done, how much of it, and the seconds left; and "", 0, 0 where something of which there was word
    is done.
    """

    def __init__(self, show: Callable[[str, float, float], None], every: float) -> None:
        self._show, self._every = show, every
        self._what, self._done, self._said = "", 0, False
        self._start = self._next = 0.0

    def __call__(self, what: str, done: int, size: int) -> None:
        now = time.monotonic()
        if what != self._what or done < self._done:  # something else, or the same from its start
            self._what, self._start, self._next = what, now, now + PATIENCE
        self._done = done
        if done >= size and self._said:
            self._said = False
            self._show("", 0.0, 0.0)
        if now < self._next or not 0 < done < size:
            return
        self._next, self._said = now + self._every, True
        self._show(what, done / size, (now - self._start) * (size - done) / done)


def _left(share: float, seconds: float) -> str:
    return f"{share:z.0%}, about {max(1, round(seconds))} s left"


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on standard error that something runs, and how far a long part of it is.

    A terminal gets a moving sign, and a bar for what takes a while; a pipe gets a line every few seconds, and nothing
    if all is done fast.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:

        def write(part: str, share: float, left: float) -> None:
            if part:
                sys.stderr.write(f"{part}: {_left(share, left)}\n")
                sys.stderr.flush()

        with watched(Pace(write, every=5.0)):
            yield
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    said = TextColumn("{task.description}", markup=False)  # a file's name may have brackets
    columns = (SpinnerColumn(), said, BarColumn(), TextColumn("{task.fields[left]}"))
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task(what, total=None, left="")

        def draw(part: str, share: float, left: float) -> None:
            name, text = (f"{what}: {part}", _left(share, left)) if part else (what, "")
            shown.update(task, description=name, completed=share, total=1.0 if part else None, left=text)

        with watched(Pace(draw, every=0.5)):
            yield
