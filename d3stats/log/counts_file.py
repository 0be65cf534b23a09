"""Counts of logs in a file: one Parquet table of cells, so that counting is done once.

A row is a cell: how many debates had so many right votes of so many cast in a round, and what they had in the next
round, where they had votes in it. The counts of rounds are sums over the rows, so any reader of Parquet gets them
right. The metadata of the file have turns, debates, notes and records left out, and say that the table holds counts
and not debates.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from d3stats._words import Advised
from d3stats.counts import RoundCounts, TransitionCounts
from d3stats.log.counting import LogCounts
from d3stats.log.files import LogFile, find_files
from d3stats.log.problems import Problem
from d3stats.note import Note
from d3stats.result import json_value

__all__ = ["holds_counts", "read_counts", "write_counts"]

KEY, FORMAT = "d3stats_counts", 1
"""The name of the metadata, and the number of the form of file."""


def write_counts(counts: LogCounts, dest: str | Path) -> Path:
    r"""Write counts as a Parquet file, which :func:`d3stats.fit_rounds` and ``d3stats fit`` read in place of the log.

    Parameters
    ----------
    counts : LogCounts
        What :func:`d3stats.count` or :func:`d3stats.count_log` returned.
    dest : path
        Ends in ``.parquet``; replaced when it exists, and only once the new file is complete.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ValueError
        When `dest` ends otherwise.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from d3stats import count, fit_rounds
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rows = "d,1,a,A,A\nd,1,b,B,A\ne,1,a,A,A\ne,1,b,A,A\n"
    >>> _ = (folder / "log.csv").write_text(f"debate,round,agent,vote,label\n{rows}")
    >>> counts = count(folder / "log.csv")
    >>> path = write_counts(counts, folder / "counts.parquet")
    >>> read_counts(path) == counts, fit_rounds(path, n_components=1)[1].n_obs
    (True, 2.0)
    """
    from d3stats.log.sheets import connect, quoted
    from d3stats.log.writer import replacing

    told = {
        "format": FORMAT,
        "missing": counts.missing,
        "n_turns": counts.n_turns,
        "n_debates": counts.n_debates,
        "notes": [vars(note) if isinstance(note, Note) else {"sentence": note} for note in counts.notes],
        "problems": [asdict(problem) | {"message": str(problem.message)} for problem in counts.problems],
    }
    written = quoted(json.dumps(json_value(told)))
    with replacing(dest, (".parquet",)) as partial, connect(ordered=True) as con:
        con.register("cells", counts.to_frame("cells"))
        options = f"FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{KEY}: {written}}}"
        con.execute(f"COPY (SELECT * FROM cells) TO {quoted(str(partial))} ({options})")
    return Path(dest)


def read_counts(*paths: str | Path) -> LogCounts:
    r"""Read counts that :func:`write_counts` wrote; those of several files are added.

    Parameters
    ----------
    *paths : path or glob
        Files of counts; the logs behind two of them must hold different debates.

    Returns
    -------
    LogCounts

    Raises
    ------
    ValueError
        When a file holds no counts, or two files count missing votes differently.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from d3stats import count
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in "ab":
    ...     log = folder / f"{name}.csv"
    ...     _ = log.write_text(f"debate,round,agent,vote,label\n{name},1,x,A,A\n")
    ...     _ = write_counts(count(log), folder / f"{name}.parquet")
    >>> read_counts(folder / "*.parquet") == count(folder / "*.csv")
    True
    """
    files = find_files(paths)
    first, *others = map(_read, files)
    return sum(others, start=first)


def holds_counts(files: Sequence[LogFile]) -> bool:
    """Return whether files hold counts and not debates.

    Raises
    ------
    ValueError
        When some do and others do not.
    """
    kept = [file.name for file in files if _told(file) is not None]
    others = [file.name for file in files if file.name not in kept]
    if kept and others:
        step = "count the logs with d3stats count first"
        got = f"counts in {kept[0]} beside {others[0]}"
        raise ValueError(Advised("files must all be logs or all be counts", step, got=got))
    return bool(kept)


def _told(file: LogFile) -> dict[str, Any] | None:
    """Return what the metadata of a file of counts say; None for any other file."""
    if file.format != "parquet":
        return None
    import duckdb

    from d3stats.log.sheets import connect, text_list

    try:
        with connect(ordered=True) as con:
            query = f"SELECT value FROM parquet_kv_metadata({text_list([file.path])}) WHERE key = '{KEY}'"
            found = con.execute(query).fetchall()
        return json.loads(bytes(found[0][0])) if found else None
    except (duckdb.Error, ValueError):
        return None  # the reader of logs says what is wrong


def _read(file: LogFile) -> LogCounts:
    from d3stats.log.sheets import connect, text_list

    told = _told(file)
    if told is None:
        step = "make one with d3stats count LOGS -o counts.parquet"
        raise ValueError(Advised(f"{file.name} must be a file of counts", step, got="another file"))
    if told["format"] != FORMAT:
        step = "read it with the version of d3stats that wrote it"
        raise ValueError(Advised(f"{file.name} must be of form {FORMAT}", step, got=f"form {told['format']}"))
    with connect(ordered=True) as con:
        cells = con.execute(f"SELECT * FROM read_parquet({text_list([file.path])})").df()
    goes_on = cells["next_trials"].notna()
    moves = cells[goes_on].astype(dict.fromkeys(TransitionCounts.columns, "int64"))
    return LogCounts(
        RoundCounts.from_frame(cells),
        TransitionCounts.from_frame(pd.DataFrame(moves)),
        told["n_turns"],
        told["n_debates"],
        tuple(Problem(**{**one, "record_key": tuple(one["record_key"])}) for one in told["problems"]),
        told["missing"],
        tuple(_note(**one) for one in told["notes"]),
    )


def _note(sentence: str, **told: Any) -> str:
    return Note(sentence, **told) if told else sentence
