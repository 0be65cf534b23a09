"""The logs of a page as they were read: each with its name, its arrays, and what the doctor says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from d3stats.trajectories import LogSource, Trajectories, as_trajectories

if TYPE_CHECKING:
    from d3stats.inference.comparison.run_tables import RecordedLog
    from d3stats.log.doctor import DoctorReport
    from d3stats.log.reader import DebateLog

__all__ = ["Source", "read_sources"]


@dataclass(frozen=True, eq=False)
class Source:
    """One log of a page.

    Attributes
    ----------
    name : str
        What the page calls it.
    given : str
        What was given: the path, or the kind of object.
    trajectories : Trajectories
    path : str or None
        Where the files are; None for a log that was given as an object.
    log : DebateLog or None
        The records, where there are any.
    recorded : RecordedLog or None
        The same with the debates' decisions.
    doctor : DoctorReport or None
        Of files.
    """

    name: str
    given: str
    trajectories: Trajectories
    path: str | None = None
    log: DebateLog | None = None
    recorded: RecordedLog | None = None
    doctor: DoctorReport | None = None


def read_sources(
    logs: Sequence[LogSource],
    *,
    names: Sequence[str] | None = None,
    roles: Sequence[str] | None = None,
    reading: Mapping[str, Any] | None = None,
) -> tuple[Source, ...]:
    """Read each log once, leniently: what is defective is left out, and the doctor lists it.

    `reading` are ``missing_values, columns, encoding`` of :func:`d3stats.read_log`.

    Raises
    ------
    ValueError
        When there is no log, names do not fit, or nothing of a log could be read.
    FileNotFoundError
        When a text is no file, no glob and no bundled log.
    """
    if not logs:
        raise ValueError("a report must have at least one log; got none")
    if names is not None and len(names) != len(logs):
        raise ValueError(f"names must be one per log ({len(logs)}); got {len(names)}")
    called = _names(logs) if names is None else list(map(str, names))
    if len(set(called)) < len(called):
        raise ValueError(f"names must differ; got {', '.join(map(repr, called))}")
    return tuple(_read(log, name, roles, dict(reading or {})) for log, name in zip(logs, called, strict=True))


def _read(log: LogSource, name: str, roles: Sequence[str] | None, reading: dict[str, Any]) -> Source:
    from d3stats.inference.comparison.run_tables import recorded_of
    from d3stats.log.doctor import examine
    from d3stats.log.files import as_path
    from d3stats.log.reader import DebateLog, read_log

    if isinstance(log, (str, Path)):
        path = as_path(log)
        read = read_log(path, strict=False, **reading)
        if not len(read.items):
            raise ValueError(
                f"a log must hold at least one debate that can be read; got none in {path}: see d3stats doctor"
            )
        recorded = recorded_of(read, roles)
        said = examine(path, log=read)
        return Source(name, str(log), recorded.trajectories, path, read, recorded, said)
    if isinstance(log, DebateLog):
        recorded = recorded_of(log, roles)
        return Source(name, "a DebateLog", recorded.trajectories, None, log, recorded)
    own = reading | ({} if roles is None else {"roles": roles})
    own = {key: value for key, value in own.items() if value is not None}
    return Source(name, f"an object of type {type(log).__name__}", as_trajectories(log, **own))


def _names(logs: Sequence[LogSource]) -> list[str]:
    """Return the names of files without folder and ending, numbered where two are alike."""
    stems = []
    for log in logs:
        file = Path(log).name if isinstance(log, (str, Path)) else "log"
        stems.append(file.removesuffix(".gz").rsplit(".", 1)[0] or file)
    return [
        stem if stems.count(stem) == 1 else f"{stem} {stems[:k].count(stem) + 1}"
        for k, stem in enumerate(stems)
    ]
