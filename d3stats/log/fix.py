"""Write a clean copy of a log, and say what is different in it."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd

from d3stats._words import counted
from d3stats.log.column_names import Columns
from d3stats.log.convert import write_csv, write_parquet
from d3stats.log.doctor import DoctorReport, examine, wrapped
from d3stats.log.files import LogFile, find_files
from d3stats.log.problems import Problem
from d3stats.log.read import DebateLog, read_log
from d3stats.log.reader import iter_records
from d3stats.log.writer import LogWriter, records_of
from d3stats.values import canonical

if TYPE_CHECKING:
    from d3stats.log.schema import AnyRecord

__all__ = ["FixReport", "fix_log"]

PASSES = 4
"""How often a copy is read again and mended; taking out one defect can uncover another."""


@dataclass(frozen=True)
class FixReport:
    """What a clean copy holds and what was changed.

    Attributes
    ----------
    dest : str
        The copy.
    n_records, n_kept : int
        Records that were read, and those of them that are in the copy.
    left_out : dict of str to int
        Records that were left out, by kind of problem; with `n_kept` they add up to `n_records`.
    emptied : dict of str to int
        Votes and labels that were taken as missing, by kind of problem.
    changes : tuple of str
        What else was changed, one sentence each.
    after : DoctorReport
        What the doctor says of the copy.
    """

    dest: str
    n_records: int
    n_kept: int
    left_out: dict[str, int]
    emptied: dict[str, int]
    changes: tuple[str, ...]
    after: DoctorReport

    @property
    def exit_code(self) -> int:
        """That of the doctor for the copy: 0 when it is sound, 2 when something in it needs a look."""
        return self.after.exit_code

    def to_text(self, width: int | None = None) -> str:
        """Return the report for a reader, wrapped to `width` characters."""
        after = self.after
        lines = [
            f"Wrote {self.dest}: {counted(after.n_debates, 'debate')}, {counted(after.n_turns, 'turn')}, "
            f"{counted(after.n_verdicts, 'verdict')}.",
            f"Read {counted(self.n_records, 'record')}: {self.n_kept:,} kept, "
            f"{self.n_records - self.n_kept:,} left out.",
        ]
        lines += [f"- left out, {kind}: {counted(count, 'record')}" for kind, count in self.left_out.items()]
        lines += [
            f"- taken as missing, {kind}: {counted(count, 'record')}" for kind, count in self.emptied.items()
        ]
        lines += [f"- {change}" for change in self.changes]
        if self.n_records == self.n_kept and not self.emptied and not self.changes:
            lines.append("Nothing had to be changed.")
        if after.problems:
            lines.append("What a copy cannot mend:")
            lines += [f"- {cause.kind} ({cause.count:,}): {cause.advice}" for cause in after.causes]
        if after.findings:
            lines.append(
                f"{counted(len(after.findings), 'finding')} that can hardly be meant, also in the copy:"
            )
            lines += [f"- {finding.message}." for finding in after.findings]
        if after.exit_code == 0:
            lines.append("The copy is sound.")
        return "\n".join(wrapped(lines, width))

    def to_json(self) -> str:
        """Return the report for a program."""
        content = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "after"}
        content |= {"after": json.loads(self.after.to_json()), "exit_code": self.exit_code}
        return json.dumps(content, ensure_ascii=False, indent=2)


def fix_log(
    source: str | Path | Sequence[str | Path],
    dest: str | Path,
    *,
    overwrite: bool = False,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
) -> FixReport:
    r"""Read a log leniently and write a copy without its defects.

    Left out are the records that :func:`d3stats.log.read_log` leaves out, and the last round of a debate that was
    stopped in the middle of it. An agent that is absent from a round gets a turn without a vote there, and debates
    whose panel has another size than most of their run get a run (``log``) of their own. What stays as it is: right
    records, also when they are debates without a verdict or votes that can hardly be meant; the report names them.

    Parameters
    ----------
    source : path, glob or list of them
    dest : path
        Ends in ``.jsonl``, ``.ndjson``, ``.csv``, ``.csv.gz`` or ``.parquet``. Texts of questions, candidates and turns
        are kept when both sides are JSON lines; tables have no columns for them.
    overwrite : bool
        Whether `dest` may exist. It may never be one of the files that are read.
    missing_values, columns, encoding
        As for :func:`d3stats.read_log`.

    Raises
    ------
    FileExistsError
        When `dest` exists.
    ValueError
        When `dest` is one of the files or has another ending, when no turn can be read, or when JSON lines cannot hold
        what the table says.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "log.csv").write_text("debate,round,agent,vote,label\nd,1,a,A,A\nd,1,b,A,A\nd,1,b,B,A\n")
    >>> report = fix_log(folder / "log.csv", folder / "clean.csv")
    >>> report.n_records, report.n_kept, report.left_out, report.exit_code
    (3, 2, {'duplicate turn': 1}, 0)
    """
    paths = [source] if isinstance(source, (str, Path)) else list(source)
    files = find_files(paths)
    target = _checked_target(Path(dest), files, overwrite)
    log = read_log(
        *(file.path for file in files),
        strict=False,
        missing_values=missing_values,
        columns=columns,
        encoding=encoding,
    )
    if log.turns.empty:
        raise ValueError(
            f"a copy must hold at least one turn; got none that can be read in {', '.join(map(str, paths[:3]))} "
            "(d3stats doctor says why)"
        )
    lines = target.name.endswith((".jsonl", ".ndjson"))
    texts = _Texts(files) if lines and all(file.format == "jsonl" for file in files) else None
    changes: Counter[str] = Counter()
    written, notes = log, log.notes
    partial = target.with_name(f".{os.getpid()}.fix.{target.name}")
    try:
        for _ in range(PASSES):
            written = _mended(written, changes)
            _write(written, partial, texts)
            written = replace(read_log(partial, strict=False), notes=())
            if not {problem.kind for problem in written.problems} & _MENDED:
                break
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    after = examine(target)
    passed = [p for p in log.problems if p.left_out == "nothing" and p.kind in _PASSED_OVER]
    return FixReport(
        dest=str(dest),
        n_records=log.n_records,
        n_kept=log.n_records - log.n_left_out - changes[_CUT],
        left_out=_by_kind(log.problems, "record") | ({_CUT: changes[_CUT]} if changes[_CUT] else {}),
        emptied=_by_kind(log.problems, "field"),
        changes=(
            *(f"not read, {problem.kind}: {problem.file}{_of(problem)}" for problem in passed),
            *(note for note in notes if note not in after.notes),
            *(
                f"{what}: {counted(changes[what], noun)}"
                for what, noun in ((_ABSENT, "turn"), (_APART, "debate"))
                if changes[what]
            ),
        ),
        after=after,
    )


_MENDED = frozenset({"mixed panel", "interrupted round"})
_PASSED_OVER = frozenset({"empty file", "not a log", "unknown column", "mixed coding", "truncated last line"})
_CUT = "interrupted round"
_ABSENT = "added without a vote and without tokens, for agents that are absent from a round"
_APART = "set apart as a run of their own (column log), because their panel has another size"


def _by_kind(problems: Iterable[Problem], left_out: str) -> dict[str, int]:
    return dict(Counter(problem.kind for problem in problems if problem.left_out == left_out))


def _of(problem: Problem) -> str:
    return f", column {problem.field}" if problem.kind == "unknown column" else ""


def _checked_target(target: Path, files: Sequence[LogFile], overwrite: bool) -> Path:
    endings = (".jsonl", ".ndjson", ".csv", ".csv.gz", ".parquet")
    if not target.name.endswith(endings):
        raise ValueError(f"the copy's name must end in {', '.join(endings)}; got {str(target)!r}")
    if target.resolve() in {file.path.resolve() for file in files}:
        raise ValueError(f"the copy must be another file than the log; got {str(target)!r} for both")
    if target.exists() and not overwrite:
        raise FileExistsError(
            f"the copy must be a new file; got {str(target)!r}, which exists (overwrite=True, --overwrite, replaces it)"
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the copy's folder must exist; got {str(target.parent)!r}")
    return target


# ---------------------------------------------------------------- what a copy can mend


def _mended(log: DebateLog, changes: Counter[str]) -> DebateLog:
    """Take out rounds that were cut short, fill in absent agents and set panels of other sizes apart."""
    turns, items = log.turns, log.items
    by_kind: dict[str, list[tuple[str | int, ...]]] = defaultdict(list)
    for problem in log.problems:
        if problem.kind in _MENDED:
            by_kind[problem.kind].append(problem.record_key)
    cut = {key[0] for key in by_kind["interrupted round"]}
    if cut:
        last = turns.groupby("debate")["round"].transform("max")
        gone = turns["debate"].isin(cut) & (turns["round"] == last)
        changes[_CUT] += int(gone.sum())
        turns = turns[~gone]
    gaps = {key[0] for key in by_kind["mixed panel"] if len(key) == 3} - cut
    absent = list(_absent(turns[turns["debate"].isin(gaps)]))
    if absent:
        changes[_ABSENT] += len(absent)
        more = pd.DataFrame(absent).reindex(columns=turns.columns).astype(object)
        more = more.where(more.notna(), None).astype(turns.dtypes.to_dict())
        turns = pd.concat([turns, more]).sort_values(["debate", "round", "agent"], ignore_index=True)
    odd = {key[0] for key in by_kind["mixed panel"] if len(key) == 1} - cut - gaps
    if odd:
        names = [
            _own_run(item["log"], turns[turns["debate"] == item["debate"]])
            if item["debate"] in odd
            else item["log"]
            for item in items[["debate", "log"]].to_dict("records")
        ]
        changes[_APART] += len(odd)
        items = items.assign(log=pd.Series(names, index=items.index, dtype=object))
    return replace(log, turns=turns.reset_index(drop=True), items=items, problems=())


def _absent(turns: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Find the agents of a role that say nothing in a round in which others of their role do."""
    spoken = set(zip(turns["debate"], turns["round"], turns["agent"], strict=True))
    for (debate, role), own in turns.groupby(["debate", turns["role"].fillna("")], sort=False):
        for key in product([debate], own["round"].unique(), own["agent"].unique()):
            if key not in spoken:
                spoken.add(key)
                yield dict(zip(("debate", "round", "agent", "role"), (*key, role or None), strict=True))


def _own_run(log: str | None, turns: pd.DataFrame) -> str:
    sizes = turns.groupby(turns["role"].fillna(""))["agent"].nunique()
    panel = ", ".join(f"{n} {role}".strip() for role, n in sizes.items())
    return f"{log or 'log'} (panel of {panel})"


# ---------------------------------------------------------------- writing


class _Texts:
    """Texts and candidates of logs of JSON lines, which the tables leave out, by the names in their written form."""

    def __init__(self, files: Iterable[LogFile]) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self.turns: dict[tuple[str, int, str], str] = {}
        records: list[tuple[tuple[str | int, ...], dict[str, Any]]] = []
        for file in files:
            for record in iter_records(file.path, strict=False):
                if record.type == "item" and (record.text is not None or record.candidates is not None):
                    fields = {"text": record.text, "candidates": record.candidates, "answers": record.answers}
                    records.append(((record.debate,), fields))
                elif record.type == "turn" and record.text is not None:
                    records.append(((record.debate, record.round, record.agent), {"text": record.text}))
        names = list(dict.fromkeys(part for key, _ in records for part in key if isinstance(part, str)))
        forms = canonical(names, missing_values=(), names=True).forms
        for key, fields in records:
            at = [forms[part] or part if isinstance(part, str) else part for part in key]
            if len(at) == 1:
                self.items.setdefault(str(at[0]), fields)
            else:
                self.turns.setdefault((str(at[0]), int(at[1]), str(at[2])), str(fields["text"]))

    def of(self, record: AnyRecord) -> AnyRecord:
        """Give a record of the copy its text back."""
        if record.type == "item" and record.debate in self.items:
            found = self.items[record.debate]
            fields: dict[str, Any] = {"text": found["text"]}
            # Candidates stand in the order of the answers; where two answers became one, nothing says whose they are.
            if len(found["answers"] or ()) == len(record.answers or ()):
                fields = found | {"answers": record.answers}
        elif record.type == "turn" and (record.debate, record.round, record.agent) in self.turns:
            fields = {"text": self.turns[record.debate, record.round, record.agent]}
        else:
            return record
        return msgspec.structs.replace(record, **fields)


def _write(log: DebateLog, path: Path, texts: _Texts | None) -> None:
    if path.name.endswith(".parquet"):
        write_parquet(log, path)
    elif path.name.endswith((".csv", ".csv.gz")):
        write_csv(log, path)
    else:
        try:
            records = records_of(log)
        except ValueError as error:
            raise ValueError(f"{error}: name the copy .csv or .parquet") from None
        path.unlink(missing_ok=True)
        with LogWriter(path, fsync="close") as writer:
            for record in records:
                writer.write(record if texts is None else texts.of(record))
