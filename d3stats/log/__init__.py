"""How is a debate log written, read, counted and examined?

A debate log is the one form between what produces debates and what analyses them; its records are those of
:mod:`d3stats.log.schema`. :func:`read_log` reads one, strictly or leniently, :func:`count_log` counts one without
holding it in memory, :func:`doctor` says what is wrong with one, and :func:`fix_log` writes a copy without defects.
:class:`LogWriter` writes one record by record, and :mod:`d3stats.log.importers` reads the logs of other projects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats._lazy import lazy

if TYPE_CHECKING:
    from d3stats.log.copies import write_csv, write_jsonl, write_parquet
    from d3stats.log.counting import LogCounts, count, count_log
    from d3stats.log.counts_file import read_counts, write_counts
    from d3stats.log.doctor import DoctorReport, FixReport, doctor, fix_log
    from d3stats.log.frames import DebateLog
    from d3stats.log.problems import KINDS, Cause, LogError, Problem, causes_of
    from d3stats.log.reader import iter_records, read_log
    from d3stats.log.schema import Header, Item, Turn, Verdict
    from d3stats.log.writer import LogWriter

__all__ = [
    "KINDS",
    "Cause",
    "DebateLog",
    "DoctorReport",
    "FixReport",
    "Header",
    "Item",
    "LogCounts",
    "LogError",
    "LogWriter",
    "Problem",
    "Turn",
    "Verdict",
    "causes_of",
    "count",
    "count_log",
    "doctor",
    "fix_log",
    "iter_records",
    "read_counts",
    "read_log",
    "write_counts",
    "write_csv",
    "write_jsonl",
    "write_parquet",
]

lazy(__name__)
