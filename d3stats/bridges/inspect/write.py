"""Inspect logs written as one debate log."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from d3stats.bridges.inspect.records import read_inspect_log
from d3stats.log.importers import ImportSummary
from d3stats.log.schema import Item, Turn, Verdict

__all__ = ["write_debate_log"]


def write_debate_log(
    inspect_log: str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    **options: Any,
) -> ImportSummary:
    """Write Inspect logs as one debate log.

    The log is written beside `out` and moved there when it is complete.

    Parameters
    ----------
    inspect_log : path, or mapping of str to path
        One log, or several with a name each (the ``name`` of :func:`read_inspect_log`).
    out : path
        The debate log, ``.jsonl``.
    overwrite : bool
        Replace `out` when it exists.
    **options
        Of :func:`read_inspect_log`.

    Returns
    -------
    ImportSummary

    Raises
    ------
    FileExistsError
        When `out` exists and `overwrite` is false.
    """
    from d3stats.log.writer import LogWriter

    target = Path(out)
    if target.exists() and not overwrite:
        raise FileExistsError(f"out must not exist; got out={str(target)!r}")
    partial = target.with_name(f".{os.getpid()}.{target.name}")
    counted = {"item": 0, "turn": 0, "verdict": 0, "missing": 0}
    try:
        with LogWriter(partial, source="inspect_ai", fsync="close") as writer:
            for record in _all(inspect_log, options):
                writer.write(record)
                counted[record.type] += 1
                counted["missing"] += isinstance(record, Turn) and record.vote is None
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    return ImportSummary(
        n_items=counted["item"],
        n_turns=counted["turn"],
        n_missing_votes=counted["missing"],
        n_debates=counted["item"],
        n_verdicts=counted["verdict"],
    )


def _all(
    logs: str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]], options: Mapping[str, Any]
) -> Iterator[Item | Turn | Verdict]:
    if isinstance(logs, Mapping):
        for name, path in logs.items():
            yield from read_inspect_log(path, **{**options, "name": name})
    else:
        yield from read_inspect_log(logs, **options)
