"""Many log files to one small object, a file at a time, on as many processes or machines as there are."""

from __future__ import annotations

from pathlib import Path

from d3stats._check import choice
from d3stats._parallel import run_tasks
from d3stats.log.files import find_files
from d3stats.log.scan import LogCounts, Missing, count_log

__all__ = ["reduce_logs"]


def reduce_logs(
    *paths: str | Path,
    missing: Missing = "exclude",
    strict: bool = True,
    workers: int = 1,
    scheduler: str | None = None,
) -> LogCounts:
    r"""Count every file by itself and add the counts.

    The result does not depend on the number of workers: a file's counts are whole numbers, and they are added
    in the order of the files. A debate must lie in one file. :func:`d3stats.log.count_log` on all files at
    once also sees a debate that is spread over two of them; counting file by file cannot.

    Parameters
    ----------
    *paths : path or glob
        JSON lines, CSV or Parquet, see :func:`d3stats.log.read_log`; each file counts once.
    missing : {"exclude", "wrong"}
        Leave a missing vote out, or count every agent of the debate as a trial.
    strict : bool
        Raise on the first defect, or leave out what is defective and list it in ``problems``.
    workers : int
        Processes on this machine.
    scheduler : str, optional
        Address of a dask scheduler whose workers see the same files; needs the extra ``scale``.

    Returns
    -------
    LogCounts

    Raises
    ------
    LogError
        With `strict`, names file, line, field, the requirement and what was got.
    FileNotFoundError
        When a path does not exist or a glob matches nothing.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in "ab":
    ...     _ = (folder / f"{name}.csv").write_text(f"debate,round,agent,vote,label\n{name},1,x,A,A\n")
    >>> reduce_logs(folder / "*.csv").rounds.to_frame()
       round  successes  trials  weight
    0      1          1       1     2.0
    """
    choice("missing", missing, ("exclude", "wrong"))
    tasks = ((file.name, missing, strict) for file in find_files(paths))
    total: LogCounts | None = None
    for counts in run_tasks(_count, tasks, workers=workers, scheduler=scheduler, ordered=True):
        total = counts if total is None else total + counts
    assert total is not None, "find_files returns at least one file"
    return total


def _count(path: str, missing: Missing, strict: bool) -> LogCounts:
    return count_log(path, missing=missing, strict=strict)
