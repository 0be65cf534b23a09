"""The waist: what a debate log is, and how one is written, read and examined.

Who may live here: record types, the JSONL, Parquet and CSV readers and writers, the doctor, and one importer
per foreign format. Nothing here fits a model or decides anything.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from d3stats.log.causes import Cause, causes_of
    from d3stats.log.convert import write_csv, write_parquet
    from d3stats.log.counting import LogCounts, count_log, reduce_logs
    from d3stats.log.doctor import DoctorReport, examine
    from d3stats.log.fix import FixReport, fix_log
    from d3stats.log.problems import KINDS, LogError, Problem
    from d3stats.log.read import DebateLog, read_log
    from d3stats.log.reader import iter_records
    from d3stats.log.schema import Header, Item, Turn, Verdict
    from d3stats.log.writer import LogWriter, write_jsonl

_HOMES = {
    "Cause": "causes",
    "DebateLog": "read",
    "DoctorReport": "doctor",
    "FixReport": "fix",
    "Header": "schema",
    "Item": "schema",
    "KINDS": "problems",
    "LogCounts": "counting",
    "LogError": "problems",
    "LogWriter": "writer",
    "Problem": "problems",
    "Turn": "schema",
    "Verdict": "schema",
    "causes_of": "causes",
    "count_log": "counting",
    "examine": "doctor",
    "fix_log": "fix",
    "iter_records": "reader",
    "read_log": "read",
    "reduce_logs": "counting",
    "write_csv": "convert",
    "write_jsonl": "writer",
    "write_parquet": "convert",
}
"""Where each public name lives; loaded when first used."""

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
    "count_log",
    "examine",
    "fix_log",
    "iter_records",
    "read_log",
    "reduce_logs",
    "write_csv",
    "write_jsonl",
    "write_parquet",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'd3stats.log' has no attribute {name!r}")
    value = getattr(import_module(f"d3stats.log.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
