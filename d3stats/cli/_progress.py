"""How far a run of debates is: a line that moves on a terminal, a line now and then elsewhere; on standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from d3stats.debates.report import RunReport

__all__ = ["Progress"]

EVERY_SECONDS = 10.0
"""Between two lines where there is no terminal."""

REDRAW_SECONDS = 0.1


class Progress:
    """An observer of a run; use it as a context."""

    def __init__(self) -> None:
        self._status: Any = None
        self._last = 0.0
        self._report: RunReport | None = None
        self._halting = self._waited = False

    def __enter__(self) -> Self:
        from rich.console import Console

        console = Console(stderr=True, highlight=False)
        if console.is_terminal:
            self._status = console.status("starting", spinner="dots")
            self._status.start()
        self._last = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, report: RunReport) -> None:
        """Show where the run is, unless that was just done."""
        self._report = report
        now = time.monotonic()
        if now - self._last < (EVERY_SECONDS if self._status is None else REDRAW_SECONDS):
            return
        self._last = now
        self._say(self._line())

    def halt(self) -> None:
        """Say, from now on, what a run that is being ended waits for."""
        self._halting, self._last = True, time.monotonic()
        self._say(self._line())

    def wait(self, text: str) -> None:
        """Say that a server is waited for before the run begins, unless something was just said."""
        now = time.monotonic()
        if (
            now - self._last >= (EVERY_SECONDS if self._status is None else REDRAW_SECONDS)
            or not self._waited
        ):
            self._waited, self._last = True, now
            self._say(text)

    @property
    def report(self) -> RunReport | None:
        """The run as it was seen last."""
        return self._report

    def _line(self) -> str:
        calls = 0 if self._report is None else self._report.in_flight
        if self._halting:
            return f"waiting for {calls} calls in flight; interrupt again to stop at once"
        return "" if self._report is None else line(self._report)

    def _say(self, text: str) -> None:
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text(text))
        else:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()


def line(report: RunReport) -> str:
    """Write a report in a line.

    Examples
    --------
    >>> from collections import Counter
    >>> from pathlib import Path
    >>> from d3stats.debates.report import RunReport
    >>> line(RunReport(Path("a.jsonl"), planned=9, closed=2, rounds=7, charged=12345, stops=Counter(unanimity=2)))
    'debates 2/9, 7 rounds, 12,345 tokens, stops: 2 unanimity'
    """
    parts = [
        f"debates {report.closed}/{report.planned}",
        f"{report.rounds} rounds",
        f"{report.charged:,} tokens",
    ]
    if report.dollars is not None:
        parts.append(f"{report.dollars:,.4f} dollars")
    if report.stops:
        parts.append("stops: " + ", ".join(f"{count} {name}" for name, count in report.stops.most_common(4)))
    if report.missing:
        parts.append(f"{sum(report.missing.values())} turns with something missing")
    if report.waiting is not None:
        parts.append(report.waiting)
    return ", ".join(parts)
