"""The logs of a page as they were read: each with its name, its arrays, and what the doctor says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from d3stats.inputs.questions import Questions
from d3stats.sources import LogSource, Opened, Reading, applies, open, readings
from d3stats.sources.recorded import questions_of
from d3stats.trajectories import MISSING, Trajectories

if TYPE_CHECKING:
    from d3stats.inputs.recorded import RecordedLog
    from d3stats.log.consistency import Checked
    from d3stats.log.doctor import DoctorReport
    from d3stats.log.frames import DebateLog
    from d3stats.planning.prices import RoundDollars
    from d3stats.worlds.tokens import PriceTable

__all__ = ["Source", "read_sources", "rules_of_protocols", "with_dollars"]


@dataclass(frozen=True, eq=False)
class Source:
    """One log of a page.

    Attributes
    ----------
    name : str
        What the page calls it.
    given : str
        What was given: the path, or the kind of object.
    opened : Opened
        What was given, opened once.
    trajectories : Trajectories
    path : str or None
        Where the files are; None for a log that was given as an object.
    log : DebateLog or None
        The records, where there are any.
    recorded : RecordedLog or None
        The same with the debates' decisions.
    doctor : DoctorReport or None
        Report of the doctor; files only.
    roles : tuple of str or None
        Whose turns alone are in `trajectories`, `log` and `recorded`; None where all are.
    paid : RoundDollars or None
        What the rounds cost; None without prices, or where it is unknown.
    """

    name: str
    given: str
    opened: Opened
    trajectories: Trajectories
    path: str | None = None
    log: DebateLog | None = None
    recorded: RecordedLog | None = None
    doctor: DoctorReport | None = None
    roles: tuple[str, ...] | None = None
    paid: RoundDollars | None = None

    def questions(self) -> Questions:
        """Return what the log says of its questions, to be held against other logs."""
        return questions_of(self.trajectories if self.log is None else self.log, self.name)

    def missing_votes(self) -> tuple[int, int]:
        """Return how many votes are missing, and how many were asked for."""
        if self.doctor is not None and self.roles is None:
            return self.doctor.missing.total, self.doctor.missing.asked
        t = self.trajectories
        cast = t.votes != MISSING
        if t.scores is not None and not cast.any():
            return 0, 0
        asked = t.had_turns()
        return int((asked & ~cast).sum()), int(asked.sum())

    def voting_agents(self) -> set[str]:
        """Return the names of the agents of roles that vote; none for a log of arrays."""
        from d3stats.log.frames import seated

        return set() if self.log is None else set(self.log.turns["agent"][seated(self.log.turns)])


def read_sources(
    logs: Sequence[LogSource],
    *,
    names: Sequence[str] | None = None,
    roles: tuple[str, ...] | None = None,
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
    own = readings(logs, cast(Reading, dict(reading or {})))
    return tuple(_read(log, name, roles, how) for log, name, how in zip(logs, called, own, strict=True))


def _read(log: LogSource, name: str, roles: tuple[str, ...] | None, reading: Mapping[str, Any]) -> Source:
    from d3stats.log.column_names import command_on, reading_options
    from d3stats.log.doctor import examined

    typed = ("missing_values", "columns", "encoding", "sheet", "scorer")
    files: Any = {k: v for k, v in reading.items() if k in typed}
    how: Any = {"roles": roles, "lenient": applies(log, "lenient"), **reading}
    opened = open(log, **how)
    kind = f"an object of type {opened.name}" if opened.kind == "values" else opened.name
    if not opened.has_records:
        return Source(name, kind, opened, opened.trajectories(), roles=roles)
    read = opened.log(parsed=False)
    said = None
    if opened.paths:
        path = " ".join(opened.paths)
        if not len(read.items):
            raise ValueError(
                f"a log must hold at least one debate that can be read; got none in {path}; "
                f"{command_on('doctor', path, **files)} gives the reasons"
            )
        whole = opened.log(parsed=False, every_role=True)
        said = examined(opened.files, opened.paths, whole, opened.checked(), reading_options(**files))
    recorded = opened.recorded()
    path_of = opened.paths[0] if len(opened.paths) == 1 else None
    return Source(name, kind, opened, recorded.trajectories, path_of, read, recorded, said, roles)


def with_dollars(
    sources: Sequence[Source],
    prices: PriceTable,
    *,
    model: str | None,
    role_models: Mapping[str, str],
    output_share: float | None,
) -> tuple[Source, ...]:
    """Price the turns of every log that has tokens; logs of arrays have no turns to be priced.

    A role of `role_models` may be absent from some logs, not from all.

    Raises
    ------
    ValueError
        When a model has no prices, or a role speaks in no log.
    """
    from d3stats.planning.prices import price_logs

    logs = {
        s.name: (s.log.turns, s.trajectories)
        for s in sources
        if s.log is not None
        and s.trajectories.tokens is not None
        and not np.isnan(s.trajectories.tokens).all()
    }
    paid = price_logs(logs, prices, model=model, role_models=role_models, output_share=output_share)
    return tuple(replace(s, paid=paid[s.name]) if s.name in paid else s for s in sources)


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


def rules_of_protocols(t: Trajectories, log: Checked) -> list[str]:
    """Return the rules with which the protocols of a log stop where jurors vote at the end alone; else none."""
    if not t.pollings or not all(polling.at_end for polling in t.pollings):
        return []
    from d3stats.protocols import protocols

    known = protocols()
    names = [name for name in log.items.coded("protocol").occurring() if name in known]
    return list(dict.fromkeys(str(known[name]().rule()) for name in names))
