"""A progress bar on standard error, for what takes minutes."""

from __future__ import annotations

import sys

__all__ = ["Bar"]


class Bar:
    """A bar of debates; use it as a context and call it to move it.

    Parameters
    ----------
    total : int
    wanted : bool or None
        None shows the bar when standard error is a terminal.
    """

    def __init__(self, total: int, wanted: bool | None) -> None:
        self.total = total
        self.shown = sys.stderr.isatty() if wanted is None else wanted

    def __enter__(self) -> Bar:
        if self.shown:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("debates"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._progress = Progress(*columns, console=Console(stderr=True))
            self._task = self._progress.add_task("debates", total=self.total)
            self._progress.start()
        return self

    def __call__(self, debates: int) -> None:
        """Move on by so many debates."""
        if self.shown:
            self._progress.advance(self._task, debates)

    def __exit__(self, *error: object) -> None:
        if self.shown:
            self._progress.stop()
