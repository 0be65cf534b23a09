"""Is my log sound? A report in plain words: what the files hold, what is wrong with them and what to do."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import choice
from d3stats._words import counted, percent, visible
from d3stats.log.arrays import stopped_by_rule, voting_roles
from d3stats.log.column_names import Columns, command_on, reading_options
from d3stats.log.columns import unified
from d3stats.log.consistency import Checked
from d3stats.log.copies import records_of, write_csv, write_parquet
from d3stats.log.files import LogFile, find_files, journal_path
from d3stats.log.frames import DebateLog, seated
from d3stats.log.problems import CUT_SHORT, Advised, Cause, Problem, causes_of, shortened, without_omissions
from d3stats.log.reader import iter_records, read_both, read_log
from d3stats.log.scores import Scored, scored_turns
from d3stats.log.writer import LogWriter, replacing
from d3stats.note import MISSING_VALUES, Note, kind_of, severity_of, warning
from d3stats.plausibility import Finding, VoteTable, findings
from d3stats.resampling.degrees import unequal_clusters
from d3stats.result import json_value
from d3stats.values import canonical

if TYPE_CHECKING:
    from d3stats.log.schema import AnyRecord

__all__ = ["DoctorReport", "FixReport", "MissingVotes", "doctor", "fix_log"]


# -------------------------------------------------------------------- votes that are missing


SAID_FROM = 0.1
"""A larger share of missing votes is reported before all other findings."""

MOST_NAMED = 3
"""So many kinds of what is wrong are named in the first line."""

MOST_TEMPERATURES = 5
"""So many temperatures are named."""

FEWEST = 10
"""With fewer votes the share is not checked."""

ADVICE = {
    "context_full": "give the server a larger context window (slots share llama-server's -c), or debate shorter items",
    "length": "raise --tokens-per-word or --reasoning-tokens",
    "unreadable": "check whether the server follows a JSON schema, or try --structured text",
    "empty": "raise --reasoning-tokens, or try --structured text",
    "timeout": "raise --timeout, or lower --concurrency",
    "connection": "check the log of the server, because it closes connections early",
    "server_error": "check the log of the server",
    "rate_limited": "lower --rpm or --concurrency, or raise --retries",
    "bad_request": "the server refuses these calls; change the setting that it names",
    "refused_content": "the model refuses these items; try another model",
    "budget": "raise --budget-tokens or --max-usd",
}
"""Advice on each error, by its name in the log."""


@dataclass(frozen=True)
class MissingVotes:
    r"""Votes, or scores that decide, that were asked for and are not there.

    Attributes
    ----------
    asked : int
    reasons : mapping of str to int
        How many are missing, by error; ``"no reason recorded"`` where the log does not say.
    words : mapping of str to str
        The latest words of a server by error.

    Examples
    --------
    >>> missing = MissingVotes(40, {"timeout": 3, "length": 9}, {"length": "cut off at the 336 that were allowed"})
    >>> print("\n".join(missing.sentences()))
    12 of 40 votes are missing (30.0 %): 9 length, 3 timeout.
    length: the last time "cut off at the 336 that were allowed"; raise --tokens-per-word or --reasoning-tokens.
    timeout: raise --timeout, or lower --concurrency.
    """

    asked: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of missing votes."""
        return sum(self.reasons.values())

    @property
    def share(self) -> float | None:
        """The share of missing votes among those that were asked for; None when there were none."""
        return self.total / self.asked if self.asked else None

    @property
    def said_first(self) -> bool:
        """Whether so many are missing that a report must begin with it."""
        return self.asked >= FEWEST and (self.share or 0.0) > SAID_FROM

    def sentences(self) -> list[str]:
        """Say how many votes are missing and why, with the last message and the remedy for each error."""
        ordered = sorted(self.reasons.items(), key=lambda pair: (-pair[1], pair[0]))
        counted = ", ".join(f"{count} {kind}" for kind, count in ordered)
        lines = [
            f"{self.total:,} of {self.asked:,} votes are missing ({100 * (self.share or 0.0):z.1f} %): {counted}."
        ]
        for kind, _ in ordered:
            words, advice = self.words.get(kind), ADVICE.get(kind)
            parts = [part for part in (words and f'the last time "{words}"', advice) if part]
            if parts:
                lines.append(f"{kind}: {'; '.join(parts)}.")
        return lines

    def warnings(self) -> list[Note]:
        """Return the sentences as warnings, where a report must begin with them."""
        said = self.sentences() if self.said_first else []
        return [warning(line, MISSING_VALUES, n=None if k else self.total) for k, line in enumerate(said)]


@dataclass
class JournalWords:
    """The content of the journals of runs, without the cost of calls.

    Attributes
    ----------
    words : dict of str to str
        The latest words of a server by error.
    dropped : dict of str to None
        Parameters that servers did not take, in the order in which that was found out.
    voters : set of str
        Roles that are asked for votes, or for scores that decide.
    scales : dict of str to tuple of float
        The least and the greatest score that each role could give.
    """

    words: dict[str, str] = field(default_factory=dict)
    dropped: dict[str, None] = field(default_factory=dict)
    voters: set[str] = field(default_factory=set)
    scales: dict[str, tuple[float, float]] = field(default_factory=dict)

    def read(self, record: Mapping[str, Any]) -> None:
        """Take up a line of a journal."""
        if isinstance(said := record.get("words"), dict):
            self.words.update({str(kind): str(text) for kind, text in said.items()})
        if isinstance(dropped := record.get("dropped"), list):
            self.dropped.update(dict.fromkeys(map(str, dropped)))
        if isinstance(voters := record.get("voters"), list):
            self.voters.update(map(str, voters))
        if isinstance(scales := record.get("scales"), dict):
            for role, (low, high) in scales.items():
                # A role with two scales may have either.
                least, greatest = self.scales.get(str(role), (low, high))
                self.scales[str(role)] = (min(low, least), max(high, greatest))


def read_journals(logs: Iterable[Path]) -> JournalWords | None:
    """Read the journals that lie beside logs; None where there is none. A line that is none is passed over."""
    paths = [path for path in map(journal_path, logs) if path.is_file()]
    found = JournalWords()
    for path in paths:
        with path.open("rb") as file:
            for line in file:
                if any(name in line for name in (b'"words"', b'"dropped"', b'"voters"', b'"scales"')):
                    with suppress(ValueError):
                        record = json.loads(line)
                        if isinstance(record, dict):
                            found.read(record)
    return found if paths else None


def scales_beside(logs: Iterable[Path]) -> dict[str, tuple[float, float]]:
    """Return the least and the greatest score that each role could give, by the journals beside all these logs.

    Nothing is known where one of the logs has no journal.
    """
    paths = list(logs)
    if not paths or not all(journal_path(path).is_file() for path in paths):
        return {}
    journals = read_journals(paths)
    return {} if journals is None else journals.scales


def count_missing(turns: pd.DataFrame, journals: JournalWords | None) -> MissingVotes:
    """Count the votes that are missing from a table of turns.

    With a journal the roles that vote are known, and a vote that is missing without an error was withheld on purpose.
    A log of scores alone was not asked for votes.
    """
    vote = turns["vote" if "vote" in turns.columns else "correct"]
    if _scores_alone(turns):
        return MissingVotes(words={} if journals is None else journals.words)
    if journals is not None and journals.voters:
        asked = turns["role"].isin(journals.voters).to_numpy(dtype=bool)
        missing = asked & vote.isna().to_numpy() & turns["error"].notna().to_numpy()
    else:
        asked = seated(turns)
        missing = asked & vote.isna().to_numpy()
    reasons = Counter(turns["error"][missing].fillna("no reason recorded").map(str))
    return MissingVotes(int(asked.sum()), dict(reasons), {} if journals is None else journals.words)


def _scores_alone(turns: pd.DataFrame) -> bool:
    """Whether turns hold scores and no vote, so that no vote was asked for."""
    vote = turns["vote" if "vote" in turns.columns else "correct"]
    return "scores" in turns.columns and bool(turns["scores"].notna().any()) and not vote.notna().any()


# -------------------------------------------------------------------- the report


@dataclass(frozen=True)
class DoctorReport:
    r"""The content of a log, and its problems.

    Attributes
    ----------
    n_files, n_records, n_debates, n_turns, n_verdicts : int
        Records are lines or table rows as read; the others are counted after what is defective was left out.
    rounds : dict of int to int
        Number of rounds to number of debates that were played so long; 0 for a debate without turns.
    panel_sizes : dict of int to int
        Number of agents with a seat (of roles that vote) to number of debates that have so many.
    missing_votes : float or None
        Share of turns without a vote among those of roles that vote, in [0, 1]; None without turns,
        and for a log of scores alone, which asks for no vote.
    missing : MissingVotes
        How many votes are missing among those that were asked for, why, and the latest words of the server. With a
        journal beside the log a vote that is missing without an error was withheld on purpose.
    errors : dict of str to int
        Why something that was asked for is missing, to number of turns; empty when no turn recorded an error.
    estimated : int
        Turns whose tokens are no server's count.
    temperatures : dict of str to int
        Sampling temperature to number of turns, the most frequent first; empty when no turn records one.
    confidences : dict of str to float
        Stated confidences: ``stated`` and ``votes``, how many votes have one and how many there are; ``lowest`` and
        ``highest``; ``per_cent``, how many were read from per cents. Empty when no vote has one.
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
    paths, options : tuple of str
        The files and globs as given, and the options of reading as the command line writes them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "debates.csv"
    >>> _ = path.write_text("debate,round,agent,vote,label\nd,1,a,A,A\nd,1,b,,A\nd,1,b,B,A\n")
    >>> report = doctor(path)
    >>> report.n_debates, report.missing_votes, report.exit_code
    (1, 0.5, 2)
    >>> [cause.count for cause in report.causes], report.problems[0].kind
    ([1], 'duplicate turn')
    >>> report.headline
    'Not fit for analysis as it is: 1 debate, 2 turns; duplicate turn (1), agents without a vote.'
    >>> report.to_text().splitlines()[1]
    '1 file, 3 records: 1 debate, 2 turns, 0 verdicts.'
    >>> json.loads(report.to_json())["exit_code"]
    2
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
    temperatures: dict[str, int] = field(default_factory=dict)
    confidences: dict[str, float] = field(default_factory=dict)
    unlabelled: int = 0
    coding: Literal["answers", "correctness"] = "answers"
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    error: str | None = None
    paths: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 when nothing is wrong, 2 when something is or a note warns, 1 when the files could not be read."""
        if self.error is not None:
            return 1
        warned = any(severity_of(note) == "warning" for note in self.notes)
        return 2 if self.problems or self.findings or warned else 0

    @property
    def warned(self) -> bool:
        """Whether missing votes or a note warn of the numbers, although nothing is wrong with a record."""
        return self.missing.said_first or any(severity_of(note) == "warning" for note in self.notes)

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The causes of the problems, the first cause first; see :func:`d3stats.log.problems.causes_of`."""
        return causes_of(self.problems)

    @property
    def headline(self) -> str:
        """Whether the log is fit for analysis, how much it holds, and what is wrong, the worst first."""
        if self.error is not None:
            return f"The log could not be read: {self.error}"
        size = f"{counted(self.n_debates, 'debate')}, {counted(self.n_turns, 'turn')}"
        wrong = [f"{cause.kind} ({cause.count:,})" for cause in self.causes]
        wrong += [each.kind for each in self.findings]
        if not wrong and not self.warned:
            return f"Fit for analysis: {size}. Nothing is wrong."
        if any(problem.left_out != "nothing" for problem in self.problems) or not self.n_turns:
            fit = "Not fit for analysis as it is"
        elif self.findings:
            fit = "Probably not read as it was meant"
        else:
            fit = "Fit for analysis with care"
        if not wrong:
            lost = [f"{self.missing.total:,} of {self.missing.asked:,} votes are missing"]
            wrong = lost if self.missing.said_first else []
            wrong += [kind_of(note) or "a warning" for note in self.notes if severity_of(note) == "warning"]
        more = f" and {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
        return f"{fit}: {size}; {', '.join(wrong[:MOST_NAMED])}{more}."

    def to_text(self, width: int | None = None) -> str:
        """Return the report for a reader, wrapped to `width` characters; by default a line for each statement."""
        return "\n".join(wrapped(self._lines(), width))

    def _lines(self) -> list[str]:
        if self.error is not None:
            return [self.headline]
        lines = [self.headline, *(map(visible, self.missing.sentences()) if self.missing.said_first else ())]
        lines += [
            f"{counted(self.n_files, 'file')}, {counted(self.n_records, 'record')}: "
            f"{counted(self.n_debates, 'debate')}, {counted(self.n_turns, 'turn')}, "
            f"{counted(self.n_verdicts, 'verdict')}.",
            f"Rounds: {_spread(self.rounds, 'round')}.",
            f"Panels: {_spread(self.panel_sizes, 'agent')}.",
        ]
        if self.missing_votes is None and self.n_turns:
            show = shlex.join(["d3stats", "scores", *self.paths, *self.options])
            lines.append(f"Votes: none was asked for, because the turns hold scores; {show} shows them.")
        if self.missing_votes is not None:
            what = "votes" if self.coding == "answers" else "marks of right or wrong"
            lines.append(
                f"Missing {what}: {percent(self.missing_votes, digits=1)} of turns (missing, not wrong)."
            )
        if self.errors:
            kinds = ", ".join(
                f"{visible(kind, one_line=True)} in {counted(n, 'turn')}" for kind, n in self.errors.items()
            )
            lines.append(f"Errors recorded: {kinds}.")
        if self.estimated:
            lines.append(f"Tokens are estimates in {counted(self.estimated, 'turn')}.")
        if self.temperatures:
            lines.append(f"{self._temperatures()}.")
        if self.confidences:
            lines.append(f"{self._confidences()}.")
        if self.unlabelled:
            lines.append(
                f"{counted(self.unlabelled, 'debate')} without a label, so none of their votes counts as "
                "right or wrong."
            )
        lines.extend(
            f"{note}." if severity_of(note) == "warning" else f"Note: {note}." for note in self.notes
        )
        causes = self.causes
        if causes:
            lines.append(f"{counted(len(causes), 'problem')}:")
            for number, cause in enumerate(causes, start=1):
                lines += ["", *_told(number, cause)]
            if self.n_turns and any(problem.left_out != "nothing" for problem in self.problems):
                lines += ["", f"A copy without the defective records: {self._fix_command()}"]
        if self.findings:
            lines += [""] if causes else []
            lines.append(f"{counted(len(self.findings), 'finding')} of probable mistakes:")
            lines.extend(f"  - {visible(each.message, one_line=True)}." for each in self.findings)
        return lines

    def _confidences(self) -> str:
        c = self.confidences
        read = f", {c['per_cent']:,} of them read from per cents" if c["per_cent"] else ""
        return (
            f"Confidences: {c['stated']:,} of {counted(int(c['votes']), 'vote')}, from {c['lowest']:.2g} to "
            f"{c['highest']:.2g}{read}"
        )

    def _temperatures(self) -> str:
        named = list(self.temperatures.items())[:MOST_TEMPERATURES]
        told = [f"{value} in {counted(n, 'turn')}" for value, n in named]
        if more := len(self.temperatures) - len(named):
            told.append(
                f"{counted(more, 'other')} in {sum(list(self.temperatures.values())[len(named) :]):,}"
            )
        if silent := self.n_turns - sum(self.temperatures.values()):
            told.append(f"none recorded in {silent:,}")
        return f"Temperatures sent: {', '.join(told)}"

    def _fix_command(self) -> str:
        ending = next(
            (e for e in (".parquet", ".jsonl", ".ndjson") if self.paths[0].removesuffix(".gz").endswith(e)),
            ".csv",
        )
        # A copy keeps the votes as they are written, however they were read.
        options = self.options[: self.options.index("--read")] if "--read" in self.options else self.options
        return shlex.join(["d3stats", "doctor", *self.paths, *options, "--fix", f"clean{ending}"])

    def to_json(self) -> str:
        """Return the report for a program: every attribute, the causes, every problem, and the exit code."""
        content: dict[str, Any] = {
            "headline": self.headline,
            "warnings": self.missing.warnings(),
            **{name: getattr(self, name) for name in self.__dataclass_fields__},
            "missing": asdict(self.missing),
            "rounds": {str(size): n for size, n in (self.rounds or {}).items()},
            "panel_sizes": {str(size): n for size, n in (self.panel_sizes or {}).items()},
            "causes": [asdict(cause) for cause in self.causes],
            "problems": [vars(problem) for problem in self.problems],
            "findings": [{"kind": each.kind, "message": each.message} for each in self.findings],
        }
        return json.dumps(json_value(content) | {"exit_code": self.exit_code}, ensure_ascii=False, indent=2)


def doctor(
    *paths: str | Path,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
    sheet: str | None = None,
    scorer: str | None = None,
    read: Literal["answer"] | None = None,
    log: DebateLog | None = None,
) -> DoctorReport:
    r"""Read files and globs leniently and report on them; never raises for what is in the files.

    `missing_values`, `columns`, `encoding` and `sheet` are those of :func:`d3stats.read_log`; `log` is what it made of
    these files with ``strict=False``, so that they are not read twice.

    Parameters
    ----------
    *paths : path or glob
        As for :func:`d3stats.read_log`.
    missing_values, columns, encoding, sheet
        As for :func:`d3stats.read_log`.
    scorer : str, optional
        The scorer that is read of logs of Inspect with several.
    read : "answer", optional
        Examine votes as the answers that they state; see :func:`d3stats.values.stated_answer`.
    log : DebateLog, optional
        What :func:`d3stats.read_log` made of these files with ``strict=False``, so that they are not read twice.

    Returns
    -------
    DoctorReport

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "debates.csv"
    >>> _ = path.write_text("debate,round,agent,vote,label\nd,1,a,A,A\nd,2,a,B,A\n")
    >>> print(doctor(path).to_text())
    Fit for analysis: 1 debate, 2 turns. Nothing is wrong.
    1 file, 2 records: 1 debate, 2 turns, 0 verdicts.
    Rounds: 2 rounds in 1 debate.
    Panels: 1 agent in 1 debate.
    Missing votes: 0.0 % of turns (missing, not wrong).
    """
    missing_values = None if missing_values is None else tuple(missing_values)
    try:
        files = find_files(paths, sheet, scorer)
        if log is None:
            log, checked = read_both(
                [file.path for file in files],
                missing_values=missing_values,
                columns=columns,
                encoding=encoding,
                sheet=sheet,
                scorer=scorer,
                read=None if read is None else choice("read", read, ("answer",)),
            )
        else:
            checked = log.to_checked()
    except (OSError, ValueError) as error:
        return DoctorReport(error=str(error))
    options = reading_options(missing_values, columns, encoding, sheet, read, scorer)
    return examined(files, paths, log, checked, options)


def examined(
    files: Sequence[LogFile],
    paths: Sequence[str | Path],
    log: DebateLog,
    checked: Checked,
    options: tuple[str, ...] = (),
) -> DoctorReport:
    """Report on files that were read into tables and into columns, each in an order of its own; `options` say how."""
    # The report lists every problem, so it needs no note that counts what was left out.
    log = replace(log, notes=without_omissions(log.notes))
    checked = replace(checked, notes=without_omissions(checked.notes))
    journals = read_journals(file.path for file in files)
    scales = scales_beside(file.path for file in files)
    report = _report(log, checked, len(files), ", ".join(map(str, paths)), journals, scales)
    return replace(report, paths=tuple(map(str, paths)), options=options)


def _open(log: DebateLog, name: str, journaled: bool) -> list[Problem]:
    """List the debates without a verdict in runs that have verdicts; foreign logs often have none at all."""
    run = log.items["log"].fillna("")
    closed = log.items["debate"].isin(log.verdicts["debate"])
    told = {problem.record_key[0] for problem in log.problems if problem.kind == CUT_SHORT}
    missing = log.items["debate"][
        ~closed & (run.isin(run[closed]) | journaled) & ~log.items["debate"].isin(told)
    ]
    said = {
        debate: Advised("a debate must end in a verdict", got=f"none for {debate!r}") for debate in missing
    }
    return [
        Problem(name, None, None, said[debate], "open debate", (debate,), "nothing") for debate in missing
    ]


def _report(
    log: DebateLog,
    checked: Checked,
    n_files: int,
    name: str,
    journals: JournalWords | None,
    scales: Mapping[str, tuple[float, float]],
) -> DoctorReport:
    scored = scored_turns(checked.items, checked.turns)
    missing = count_missing(log.turns, journals)
    turns, n = checked.turns, len(checked.items)
    voted = (
        turns.coded("vote").codes >= 0 if checked.coding == "answers" else ~np.isnan(turns.numbers("correct"))
    )
    role = turns.coded("role")
    has_seat = voting_roles(role, voted)[role.codes]
    debate, agent = turns.coded("debate").codes, turns.coded("agent")
    depth = np.zeros(n, dtype=np.int64)
    np.maximum.at(depth, debate, turns.numbers("round").astype(np.int64))
    width = len(agent.values) + 1
    found = _findings(checked, depth, has_seat, scored, scales)
    named = has_seat & (agent.codes >= 0)
    seats = np.unique(debate[named] * np.int64(width) + agent.codes[named]) // width
    panel = np.bincount(seats, minlength=n)
    return DoctorReport(
        n_files=n_files,
        n_records=log.n_records,
        n_debates=len(log.items),
        n_turns=len(log.turns),
        n_verdicts=len(log.verdicts),
        rounds=_how_many(depth),
        panel_sizes=_how_many(panel[panel > 0]),
        missing_votes=float((~voted[has_seat]).mean())
        if has_seat.any() and not _scores_alone(log.turns)
        else None,
        missing=missing,
        errors={str(kind): int(n) for kind, n in log.turns["error"].value_counts().items()},
        estimated=int(log.turns["tokens_source"].notna().sum()),
        confidences=_confidences(turns.numbers("confidence"), voted, log.notes),
        temperatures={f"{value:g}": int(n) for value, n in log.turns["temperature"].value_counts().items()},
        unlabelled=int(log.items["label"].isna().sum()) if log.coding == "answers" else 0,
        coding=log.coding,
        problems=(*log.problems, *_open(log, name, journals is not None)),
        notes=(
            *log.notes,
            *_few_questions(log),
            *scored.role_notes,
            *_stopped_together(checked, depth[depth > 0]),
            *(each.note for each in found if each.severity != "warning"),
        ),
        findings=tuple(each for each in found if each.severity == "warning"),
    )


def _confidences(
    stated: NDArray[np.float64], voted: NDArray[np.bool_], notes: Sequence[str]
) -> dict[str, float]:
    """Count the stated confidences of votes, with their range; nothing where a log has none."""
    known = voted & ~np.isnan(stated)
    if not known.any():
        return {}
    found = {"stated": int(known.sum()), "votes": int(voted.sum())}
    percents = sum(getattr(note, "n", None) or 0 for note in notes if kind_of(note) == "per cent")
    return {**found, "lowest": float(stated[known].min()), "highest": float(stated[known].max()),
            "per_cent": percents}  # fmt: skip


def _few_questions(log: DebateLog) -> list[str]:
    """Warn of a question that has most of the debates."""
    if "question" not in log.items:
        return []
    return unequal_clusters(log.items["question"].dropna(), "question", "debate")


def _how_many(sizes: NDArray[np.int64]) -> dict[int, int]:
    """Return how often each size occurs, the smallest first."""
    different, n = np.unique(sizes, return_counts=True)
    return dict(zip(different.tolist(), n.tolist(), strict=True))


def _stopped_together(checked: Checked, depth: NDArray[np.int64]) -> list[str]:
    """Say that a rule ended debates in the last round of a log: its rounds do not show that they would have gone on."""
    if not len(checked.verdicts) or not len(depth) or depth.min() < depth.max():
        return []
    by_rule = stopped_by_rule(checked)
    if by_rule is None or not by_rule.any():
        return []
    stopped = checked.verdicts.coded("stop_reason")[
        by_rule[checked.verdicts.coded("debate").codes]
    ].occurring()
    return [
        f"a stopping rule ({', '.join(sorted(stopped))}) ended {int(by_rule.sum()):,} of "
        f"{counted(len(depth), 'debate')} in round {depth[0]}, the last of this log, so the decisions "
        "and costs of later rounds are unknown"
    ]


def _off_scale(checked: Checked, scored: Scored, scales: Mapping[str, tuple[float, float]]) -> list[str]:
    """Say each score that does not lie on the scale that its role was given."""
    if not scales:
        return []
    turns, found = checked.turns[scored.places], []
    roles, debates, agents = (turns.coded(name).to_array() for name in ("role", "debate", "agent"))
    for row, code in enumerate(scored.codes.tolist()):
        if roles[row] not in scales:
            continue
        low, high = scales[roles[row]]
        found += [
            f"{points:g} by {agents[row]} for {name} of {side} in debate {debates[row]!r} (scale {low:g} to {high:g})"
            for side, criteria in scored.scores[code].items()
            for name, points in criteria.items()
            if not low <= points <= high
        ]
    return found


def _findings(
    checked: Checked,
    depth: NDArray[np.int64],
    has_seat: NDArray[np.bool_],
    scored: Scored,
    scales: Mapping[str, tuple[float, float]],
) -> tuple[Finding, ...]:
    """Return the signs that the votes were not read as they were meant."""
    items, turns = checked.items, checked.turns[has_seat]
    by_answers = checked.coding == "answers"
    if by_answers:
        (vote, label), answers = unified(turns.coded("vote"), items.coded("label"))
    else:
        vote = np.nan_to_num(turns.numbers("correct"), nan=-1).astype(np.int32)
        label, answers = np.ones(len(items), dtype=np.int32), ["0", "1"]
    run, agent, error = items.coded("log"), turns.coded("agent"), turns.coded("error")
    (cluster, question), _ = unified(items.coded("cluster"), items.coded("question"))
    kinds = ("tokens",) if checked.totals else ("tokens_in", "tokens_out")
    table = VoteTable(
        debate=turns.coded("debate").codes.astype(np.int64),
        round=turns.numbers("round").astype(np.int64),
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
        category=items.coded("category").to_array().tolist(),
        known_protocol=bool((items.coded("protocol").codes >= 0).all()),
        scores_in_part=(scored.n_in_part, scored.n_scored),
        off_scale=_off_scale(checked, scored, scales),
        scores=scored.by_criterion(),
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
        lines.append(f"   Consequences: {followed}.")
    return [*lines, f"   What to do: {visible(cause.advice, one_line=True)}"]


def wrapped(lines: Iterable[str], width: int | None) -> Iterator[str]:
    """Wrap each line under its own beginning; a word longer than a line, as a path may be, is kept on one line."""
    for line in (" ".join(map(shortened, line.split(" "))) for line in lines):
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


# -------------------------------------------------------------------- a clean copy


PASSES = 4
"""The most passes that read a copy again and repair it; removing one defect can uncover another."""


@dataclass(frozen=True)
class FixReport:
    r"""The content of a clean copy, and the changes.

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
        The doctor's report on the copy.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "log.csv").write_text("debate,round,agent,vote,label\nd,1,a,A,A\nd,1,b,A,A\nd,1,b,B,A\n")
    >>> report = fix_log(folder / "log.csv", folder / "clean.csv")
    >>> report.n_kept, report.left_out, report.exit_code
    (2, {'duplicate turn': 1}, 0)
    >>> report.to_text().splitlines()[0].startswith("Wrote")
    True
    >>> json.loads(report.to_json())["n_kept"]
    2
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
            lines.append("No change was needed.")
        if after.problems:
            lines.append("Problems that a copy cannot repair:")
            lines += [f"- {cause.kind} ({cause.count:,}): {cause.advice}" for cause in after.causes]
        if after.findings:
            lines.append(f"{counted(len(after.findings), 'finding')} of probable mistakes, also in the copy:")
            lines += [f"- {finding.message}." for finding in after.findings]
        if after.exit_code == 0:
            lines.append("The copy has no problems.")
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
    sheet: str | None = None,
) -> FixReport:
    r"""Read a log leniently and write a copy without its defects.

    Left out are the records that :func:`d3stats.log.read_log` leaves out, and the last round of a debate that was
    stopped in the middle of it. An agent that is absent from a round gets a turn without a vote there, and debates
    whose panel has another size than most of their run get a run (``log``) of their own. Unchanged records:
    valid ones, also debates without a verdict and improbable votes; the report names them.

    Parameters
    ----------
    source : path, glob or list of them
        The file or files of the log.
    dest : path
        Ends in ``.jsonl``, ``.ndjson``, ``.csv``, ``.csv.gz`` or ``.parquet``. Texts of questions, candidates and turns
        are kept when both sides are JSON lines; tables have no columns for them.
    overwrite : bool
        Whether `dest` may exist. It may never be one of the files that are read.
    missing_values, columns, encoding, sheet
        As for :func:`d3stats.read_log`.

    Returns
    -------
    FixReport

    Raises
    ------
    ValueError, FileExistsError
        When no turn can be read, JSON lines cannot hold what the table says, or nothing may be written to `dest`.

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
    files = find_files(paths, sheet)
    how: dict[str, Any] = {
        "missing_values": missing_values,
        "columns": columns,
        "encoding": encoding,
        "sheet": sheet,
    }
    target = _checked_target(Path(dest), files, overwrite)
    log = read_log(*(file.path for file in files), strict=False, **how)
    if log.turns.empty:
        got = f"none that can be read in {', '.join(map(str, paths[:3]))}"
        step = f"{command_on('doctor', *paths, **how)} gives the reasons"
        raise ValueError(Advised("a copy must hold at least one turn", step, got=got))
    lines = target.name.endswith((".jsonl", ".ndjson"))
    texts = _Texts(files) if lines and all(file.format == "jsonl" for file in files) else None
    changes: Counter[str] = Counter()
    written, notes = log, without_omissions(log.notes)
    with replacing(target) as partial:
        for _ in range(PASSES):
            written, mended = _mended(written)
            changes += mended
            _write(written, partial, texts)
            written = replace(read_log(partial, strict=False), notes=())
            if not any(problem.kind == "mixed panel" for problem in written.problems):
                break
    after = doctor(target)
    passed = [p for p in log.problems if p.left_out == "nothing" and p.kind in _PASSED_OVER]
    return FixReport(
        dest=str(dest),
        n_records=log.n_records,
        n_kept=log.n_records - log.n_left_out,
        left_out=_by_kind(log.problems, "record"),
        emptied=_by_kind(log.problems, "field"),
        changes=(
            *(f"not read, {problem.kind}: {problem.file}{_of(problem)}" for problem in passed),
            # A warning is of what the copy mends, or is found in the copy too, but for words that are left empty there.
            *(
                note
                for note in notes
                if note not in after.notes
                and (severity_of(note) != "warning" or kind_of(note) == MISSING_VALUES)
            ),
            *(
                f"{what}: {counted(changes[what], noun)}"
                for what, noun in ((_ABSENT, "turn"), (_APART, "debate"))
                if changes[what]
            ),
        ),
        after=after,
    )


_PASSED_OVER = frozenset({"empty file", "not a log", "unknown column", "mixed coding", "truncated last line"})
_ABSENT = "added without vote and tokens, for agents that are absent from a round"
_APART = "stored as a separate run (column log), because their panel has another size"


def _by_kind(problems: Iterable[Problem], left_out: str) -> dict[str, int]:
    return dict(Counter(problem.kind for problem in problems if problem.left_out == left_out))


def _of(problem: Problem) -> str:
    return f", column {problem.field}" if problem.kind == "unknown column" else ""


def _checked_target(target: Path, files: Sequence[LogFile], overwrite: bool) -> Path:
    endings = (".jsonl", ".ndjson", ".csv", ".csv.gz", ".parquet")
    if not target.name.endswith(endings):
        raise ValueError(f"the name of the copy must end in {', '.join(endings)}; got {str(target)!r}")
    if target.resolve() in {file.path.resolve() for file in files}:
        raise ValueError(f"the copy and the log must be different files; got {str(target)!r} for both")
    if target.exists() and not overwrite:
        raise FileExistsError(
            Advised(
                "the copy must be a new file",
                "overwrite=True (--overwrite) replaces it",
                got=f"{str(target)!r}, which exists",
            )
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder of the copy must exist; got {str(target.parent)!r}")
    return target


# ---------------------------------------------------------------- what a copy can mend


def _mended(log: DebateLog) -> tuple[DebateLog, Counter[str]]:
    """Fill in absent agents, set panels of other sizes apart; and count these."""
    changes: Counter[str] = Counter()
    turns, items = log.turns, log.items
    uneven = [problem.record_key for problem in log.problems if problem.kind == "mixed panel"]
    gaps = {key[0] for key in uneven if len(key) == 3}
    absent = list(_absent(turns[turns["debate"].isin(gaps)]))
    if absent:
        changes[_ABSENT] += len(absent)
        more = pd.DataFrame(absent).reindex(columns=turns.columns).astype(object)
        more = more.where(more.notna(), None).astype(turns.dtypes.to_dict())
        turns = pd.concat([turns, more]).sort_values(["debate", "round", "agent"], ignore_index=True)
    odd = {key[0] for key in uneven if len(key) == 1} - gaps
    if odd:
        names = [
            _own_run(item["log"], turns[turns["debate"] == item["debate"]])
            if item["debate"] in odd
            else item["log"]
            for item in items[["debate", "log"]].to_dict("records")
        ]
        changes[_APART] += len(odd)
        items = items.assign(log=pd.Series(names, index=items.index, dtype=object))
    return replace(log, turns=turns.reset_index(drop=True), items=items, problems=()), changes


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
