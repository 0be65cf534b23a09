"""Is my log sound? A report in plain words: what the files hold, what is wrong with them and what to do."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._words import counted
from d3stats.log._visible import visible
from d3stats.log.arrays import stopped_by_rule
from d3stats.log.causes import Cause, causes_of
from d3stats.log.column_names import Columns
from d3stats.log.columns import unified
from d3stats.log.files import find_files
from d3stats.log.frames import seated
from d3stats.log.missing import JournalWords, MissingVotes, count_missing, read_journals
from d3stats.log.problems import Problem
from d3stats.log.read import DebateLog, read_log
from d3stats.plausibility import Finding, VoteTable, findings

__all__ = ["DoctorReport", "examine"]


@dataclass(frozen=True)
class DoctorReport:
    """What a log holds and what is wrong with it.

    Attributes
    ----------
    n_files, n_records, n_debates, n_turns, n_verdicts : int
        Records are lines or table rows as read; the others are counted after what is defective was left out.
    rounds : dict of int to int
        Number of rounds to number of debates that were played so long; 0 for a debate without turns.
    panel_sizes : dict of int to int
        Number of agents with a seat (of roles that vote) to number of debates that have so many.
    missing_votes : float or None
        Share of turns without a vote among those of roles that vote, in [0, 1]; None without turns.
    missing : MissingVotes
        How many votes are missing among those that were asked for, why, and the latest words of the server. With a
        journal beside the log a vote that is missing without an error was withheld on purpose.
    errors : dict of str to int
        Why something that was asked for is missing, to number of turns; empty when no turn recorded an error.
    estimated : int
        Turns whose tokens are no server's count.
    unlabelled : int
        Debates whose right answer is unknown (0 in a log of correctness).
    coding : {"answers", "correctness"}
        Whether votes are answers or only right or wrong.
    problems : tuple of Problem
        Every defect, in reading order.
    notes : tuple of str
        What the reader did that is no defect.
    findings : tuple of Finding
        Signs that the log was not read as it was meant; see :mod:`d3stats.plausibility`.
    error : str or None
        Why the files could not be read at all.
    """

    n_files: int = 0
    n_records: int = 0
    n_debates: int = 0
    n_turns: int = 0
    n_verdicts: int = 0
    rounds: dict[int, int] | None = None
    panel_sizes: dict[int, int] | None = None
    missing_votes: float | None = None
    missing: MissingVotes = field(default_factory=MissingVotes)
    errors: dict[str, int] = field(default_factory=dict)
    estimated: int = 0
    unlabelled: int = 0
    coding: Literal["answers", "correctness"] = "answers"
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    error: str | None = None

    @property
    def exit_code(self) -> int:
        """0 when nothing is wrong, 2 when something is, 1 when the files could not be read."""
        if self.error is not None:
            return 1
        return 2 if self.problems or self.findings else 0

    @property
    def causes(self) -> tuple[Cause, ...]:
        """What the problems come from, the first cause first; see :func:`d3stats.log.causes.causes_of`."""
        return causes_of(self.problems)

    def to_text(self, width: int | None = None) -> str:
        """Return the report for a reader, wrapped to `width` characters; by default a line for each statement."""
        return "\n".join(wrapped(self._lines(), width))

    def _lines(self) -> list[str]:
        if self.error is not None:
            return [f"The log could not be read: {self.error}"]
        lines = [*(map(visible, self.missing.sentences()) if self.missing.said_first else ())]
        lines += [
            f"{counted(self.n_files, 'file')}, {counted(self.n_records, 'record')}: "
            f"{counted(self.n_debates, 'debate')}, {counted(self.n_turns, 'turn')}, "
            f"{counted(self.n_verdicts, 'verdict')}.",
            f"Rounds: {_spread(self.rounds, 'round')}.",
            f"Panels: {_spread(self.panel_sizes, 'agent')}.",
        ]
        if self.missing_votes is not None:
            what = "votes" if self.coding == "answers" else "marks of right or wrong"
            lines.append(f"Missing {what}: {self.missing_votes:.1%} of turns (missing, not wrong).")
        if self.errors:
            kinds = ", ".join(
                f"{visible(kind, one_line=True)} in {counted(n, 'turn')}" for kind, n in self.errors.items()
            )
            lines.append(f"Errors recorded: {kinds}.")
        if self.estimated:
            lines.append(f"Tokens are estimates in {counted(self.estimated, 'turn')}.")
        if self.unlabelled:
            lines.append(
                f"{counted(self.unlabelled, 'debate')} without a label: no vote of theirs counts as right or wrong."
            )
        lines.extend(f"Note: {note}." for note in self.notes)
        causes = self.causes
        if causes:
            lines.append(f"{counted(len(causes), 'problem')}:")
            for number, cause in enumerate(causes, start=1):
                lines += ["", *_told(number, cause)]
            if self.n_turns and any(problem.left_out != "nothing" for problem in self.problems):
                lines += ["", f"A copy without what is defective: {self._fix_command()}"]
        if self.findings:
            lines += [""] if causes else []
            lines.append(f"{counted(len(self.findings), 'finding')} that can hardly be meant:")
            lines.extend(f"  - {visible(each.message, one_line=True)}." for each in self.findings)
        if not causes and not self.findings:
            lines.append("Nothing else is wrong." if self.missing.said_first else "Nothing is wrong.")
        return lines

    def _fix_command(self) -> str:
        files = list(dict.fromkeys(problem.file for problem in self.problems))
        ending = next((e for e in (".parquet", ".jsonl", ".ndjson") if e in files[0]), ".csv")
        return f"d3stats doctor {shlex.quote(files[0]) if len(files) == 1 else 'LOG ...'} --fix clean{ending}"

    def to_json(self) -> str:
        """Return the report for a program: every attribute, the causes, every problem, and the exit code."""
        content: dict[str, Any] = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("problems", "findings", "rounds", "panel_sizes", "missing")
        }
        warnings = self.missing.sentences() if self.missing.said_first else []
        content = {"warnings": warnings} | content | {"missing": asdict(self.missing)}
        for name in ("rounds", "panel_sizes"):
            table: dict[int, int] = getattr(self, name) or {}
            content[name] = {str(size): n for size, n in table.items()}
        content["causes"] = [asdict(cause) for cause in self.causes]
        content["problems"] = [
            {name: getattr(p, name) for name in p.__dataclass_fields__} for p in self.problems
        ]
        content["findings"] = [{"kind": each.kind, "message": each.message} for each in self.findings]
        return json.dumps(content | {"exit_code": self.exit_code}, ensure_ascii=False, indent=2)


def examine(
    *paths: str | Path,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
) -> DoctorReport:
    r"""Read files and globs leniently and report on them; never raises for what is in the files.

    `missing_values`, `columns` and `encoding` are those of :func:`d3stats.read_log`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "debates.csv"
    >>> _ = path.write_text("debate,round,agent,vote,label\nd,1,a,A,A\nd,2,a,B,A\n")
    >>> print(examine(path).to_text())
    1 file, 2 records: 1 debate, 2 turns, 0 verdicts.
    Rounds: 2 rounds in 1 debate.
    Panels: 1 agent in 1 debate.
    Missing votes: 0.0% of turns (missing, not wrong).
    Nothing is wrong.
    """
    try:
        files = find_files(paths)
        log = read_log(
            *(file.path for file in files),
            strict=False,
            missing_values=missing_values,
            columns=columns,
            encoding=encoding,
        )
    except (OSError, ValueError) as error:
        return DoctorReport(error=str(error))
    journals = read_journals(file.path for file in files)
    return _report(log, len(files), ", ".join(map(str, paths)), journals)


def _open(log: DebateLog, name: str, journaled: bool) -> list[Problem]:
    """List the debates without a verdict in runs that have verdicts; foreign logs often have none at all."""
    run = log.items["log"].fillna("")
    closed = log.items["debate"].isin(log.verdicts["debate"])
    told = {problem.record_key[0] for problem in log.problems if problem.kind == "interrupted round"}
    missing = log.items["debate"][
        ~closed & (run.isin(run[closed]) | journaled) & ~log.items["debate"].isin(told)
    ]
    requirement = "a debate must end in a verdict; got none for"
    return [
        Problem(name, None, None, f"{requirement} {debate!r}", "open debate", (debate,), "nothing")
        for debate in missing
    ]


def _report(log: DebateLog, n_files: int, name: str, journals: JournalWords | None) -> DoctorReport:
    missing = count_missing(log.turns, journals)
    depth = log.turns.groupby("debate")["round"].max()
    has_seat = seated(log.turns)
    panel = log.turns[has_seat].groupby("debate")["agent"].nunique()
    silent = len(log.items) - len(depth)
    rounds = Counter(int(n) for n in depth)
    if silent:
        rounds[0] = silent
    vote = log.turns["vote" if log.coding == "answers" else "correct"][has_seat]
    return DoctorReport(
        n_files=n_files,
        n_records=log.n_records,
        n_debates=len(log.items),
        n_turns=len(log.turns),
        n_verdicts=len(log.verdicts),
        rounds=dict(sorted(rounds.items())),
        panel_sizes=dict(sorted(Counter(int(n) for n in panel).items())),
        missing_votes=float(vote.isna().mean()) if len(vote) else None,
        missing=missing,
        errors={str(kind): int(n) for kind, n in log.turns["error"].value_counts().items()},
        estimated=int(log.turns["tokens_source"].notna().sum()),
        unlabelled=int(log.items["label"].isna().sum()) if log.coding == "answers" else 0,
        coding=log.coding,
        problems=(*log.problems, *_open(log, name, journals is not None)),
        notes=(*log.notes, *_stopped_together(log, depth)),
        findings=_findings(log, has_seat),
    )


def _stopped_together(log: DebateLog, depth: pd.Series) -> list[str]:
    """Say that a rule ended debates in the last round of a log: its rounds do not show that they would have gone on."""
    if log.verdicts.empty or depth.empty or depth.min() < depth.max():
        return []
    by_rule = stopped_by_rule(log.to_checked())
    cut = log.items["debate"][by_rule] if by_rule is not None else log.items["debate"][:0]
    stopped = log.verdicts.loc[log.verdicts["debate"].isin(cut), "stop_reason"]
    if stopped.empty:
        return []
    return [
        f"a stopping rule ({', '.join(sorted(set(stopped)))}) ended {len(stopped):,} of "
        f"{counted(len(depth), 'debate')} in round {depth.iloc[0]}, the last of this log: what later rounds would have "
        "decided and cost is unknown"
    ]


def _findings(log: DebateLog, has_seat: NDArray[np.bool_]) -> tuple[Finding, ...]:
    """Return the signs that the votes were not read as they were meant."""
    checked = log.to_checked()
    items, turns = checked.items, checked.turns[has_seat]
    by_answers = log.coding == "answers"
    if by_answers:
        (vote, label), answers = unified(turns.coded("vote"), items.coded("label"))
    else:
        vote = np.nan_to_num(turns.numbers("correct"), nan=-1).astype(np.int32)
        label, answers = np.ones(len(items), dtype=np.int32), ["0", "1"]
    run, agent, error = items.coded("log"), turns.coded("agent"), turns.coded("error")
    (cluster, question), _ = unified(items.coded("cluster"), items.coded("question"))
    depth = np.zeros(len(items), dtype=np.int64)
    np.maximum.at(depth, checked.turns.coded("debate").codes, checked.turns.numbers("round"))
    kinds = [c for c in ("tokens", "tokens_in", "tokens_out") if c in log.turns.columns]
    table = VoteTable(
        debate=turns.coded("debate").codes.astype(np.int64),
        round=turns.numbers("round"),
        agent=agent.codes.astype(np.int64),
        vote=vote.astype(np.int64),
        label=label.astype(np.int64),
        group=np.where(run.codes < 0, len(run.values), run.codes).astype(np.int64),
        cluster=np.where(cluster < 0, question, cluster).astype(np.int64),
        debates=items.coded("debate").values,
        agents=agent.values,
        answers=answers,
        groups=[*run.values, ""],
        depth=depth,
        question=items.coded("question").to_array().tolist(),
        tokens=np.column_stack([checked.turns.numbers(kind) for kind in kinds]),
        errors=dict(Counter(error[vote < 0].to_array()[error.codes[vote < 0] >= 0])),
        scored=bool((checked.turns.coded("scores").codes >= 0).any()),
        only_right_or_wrong=not by_answers,
        known_protocol=bool((items.coded("protocol").codes >= 0).all()),
    )
    # Who is absent from a panel is a problem of its own, told by role.
    return tuple(each for each in findings(table) if each.kind != "panel changes")


def _told(number: int, cause: Cause) -> list[str]:
    """Say one cause: what, where, and what to do."""
    lost = f": {counted(cause.left_out, 'record')} left out" if cause.left_out else ""
    lines = [f"{number}. {cause.kind} ({cause.count:,}){lost}", f"   {cause.meaning}"]
    if cause.message not in cause.meaning:
        lines.append(f"   Requirement: {visible(cause.message, one_line=True).rstrip('.')}.")
    lines += [f"   - {visible(place, one_line=True)}" for place in (*cause.places, cause.span) if place]
    if cause.follows:
        followed = ", ".join(f"{kind} ({n:,})" for kind, n in cause.follows.items())
        lines.append(f"   What follows from it: {followed}.")
    return [*lines, f"   What to do: {visible(cause.advice, one_line=True)}"]


def wrapped(lines: Iterable[str], width: int | None) -> Iterator[str]:
    """Wrap each line under its own beginning; a word that is longer than a line, as a path may be, stays whole."""
    for line in lines:
        start = len(line) - len(line.lstrip(" -"))
        if width is None or len(line) <= width:
            yield line
        else:
            yield from textwrap.wrap(
                line, width, subsequent_indent=" " * start, break_long_words=False, break_on_hyphens=False
            )


def _spread(table: dict[int, int] | None, noun: str) -> str:
    if not table:
        return f"no {noun}s"
    shown = [
        f"{counted(size, noun)} in {counted(debates, 'debate')}" for size, debates in list(table.items())[:8]
    ]
    return ", ".join(shown) + (f" and {len(table) - 8} other numbers" if len(table) > 8 else "")
