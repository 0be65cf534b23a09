"""Count a log without ever holding its turns: in pieces, on as many processes as there are.

A piece is a block of lines or a table. Its debates that are complete are checked and counted, the others wait for the
next piece. Pieces store a few facts about what they cannot know of each other. If these facts leave a doubt
(a defect, answers in several spellings, a debate in two pieces), the whole log is read again and that result
counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Ints
from d3stats._check import choice, integer
from d3stats._parallel import run_tasks
from d3stats._words import counted, percent
from d3stats.counts import RoundCounts, TransitionCounts
from d3stats.log.arrays import distinct, voting_roles
from d3stats.log.column_names import Columns
from d3stats.log.columns import Coded, Part, Records, joined, occurring, opens, unified
from d3stats.log.consistency import Checked, check
from d3stats.log.files import LogFile, files_note, find_files
from d3stats.log.problems import Problem, omissions, without_omissions
from d3stats.log.reader import line_blocks, read_checked, read_file, refuse_unread, takes
from d3stats.log.table_reader import parquet_blocks
from d3stats.note import Note
from d3stats.plausibility import word_signs
from d3stats.result import Result
from d3stats.values import missing_words

__all__ = ["LogCounts", "count", "count_log"]

Missing = Literal["exclude", "wrong"]

SIZE = 1 << 25
"""Bytes of a piece; a log that is no larger is read as a whole."""

ROWS = 1 << 18
"""Rows of a Parquet file in a piece."""


@dataclass(frozen=True)
class LogCounts(Result):
    r"""The sufficient statistics of a log; adds up over files when no debate is spread over two of them.

    The table ``cells`` has all of it. A row says how many debates had so many right votes (``successes``) of so many
    cast (``trials``) in a round. The next two columns say the same of the next round, where votes were cast in it.

    Attributes
    ----------
    rounds : RoundCounts
        (round, successes, trials) cells; rounds without a vote or a label are not in it.
    transitions : TransitionCounts
        The same from each round to the next.
    n_turns, n_debates : int
        Turns read and debates opened, labelled or not.
    problems : tuple of Problem
        What a lenient count left out; empty when strict.
    missing : {"exclude", "wrong"}
        How missing votes were counted.
    notes : tuple of str
        What was done in reading that is no defect.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "debates.csv"
    >>> _ = path.write_text("debate,round,agent,vote,label\nd,1,a,A,A\nd,1,b,B,A\nd,2,a,A,A\nd,2,b,A,A\n")
    >>> counts = count_log(path)
    >>> counts.to_frame()
       round  debates  votes  right  share
    0      1      1.0    2.0    1.0    0.5
    1      2      1.0    2.0    2.0    1.0
    >>> counts.to_frame("cells").columns.tolist()
    ['round', 'successes', 'trials', 'next_successes', 'next_trials', 'weight']
    >>> counts.n_debates, counts.n_turns, counts.rounds.n_obs, counts.transitions.n_obs
    (1, 4, 2.0, 1.0)
    >>> (counts + counts).rounds[2].to_frame().values.tolist()
    [[2.0, 2.0, 2.0]]
    """

    rounds: RoundCounts
    transitions: TransitionCounts
    n_turns: int
    n_debates: int
    problems: tuple[Problem, ...] = ()
    missing: Missing = "exclude"
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def headline(self) -> str:
        """Turns and debates that were counted."""
        last = self.rounds.rounds[-1:]
        deep = f" of at most {counted(last[0], 'round')}" if last else ""
        return f"{counted(self.n_turns, 'turn')} of {counted(self.n_debates, 'debate')}{deep}."

    def _title(self) -> str:
        missing = "are left out" if self.missing == "exclude" else "count as wrong"
        return f"Votes in debates with a known right answer, by round; missing votes {missing}."

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {"rounds": self._by_round(), "cells": self._cells()}

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        whole = self._by_round()
        text = {name: [f"{value:,g}" for value in whole[name]] for name in ("debates", "votes", "right")}
        shares = {"share right": ["-" if x != x else percent(x) for x in whole["share"]]}
        return {"rounds": pd.DataFrame({"round": whole["round"], **text, **shares})}

    def _by_round(self) -> pd.DataFrame:
        cells = self.rounds.to_frame()
        cells["votes"], cells["right"] = (cells[name] * cells["weight"] for name in ("trials", "successes"))
        sums = cells.groupby("round")[["weight", "votes", "right"]].sum().reset_index()
        sums = sums.rename(columns={"weight": "debates"})
        return sums.assign(share=sums["right"] / sums["votes"].where(sums["votes"] > 0))

    def _cells(self) -> pd.DataFrame:
        before = list(RoundCounts.columns)
        moves = self.transitions.to_frame().astype({"next_successes": "Int64", "next_trials": "Int64"})
        gone = moves.groupby(before)["weight"].sum()
        here = self.rounds.to_frame().set_index(before)["weight"]
        ended = here.sub(gone, fill_value=0.0)
        if (ended < 0).any():
            raise ValueError("rounds must hold every debate of transitions; got more of them in transitions")
        rest = ended[ended > 0].reset_index()
        rest = rest.assign(
            **dict.fromkeys(("next_successes", "next_trials"), pd.array([pd.NA] * len(rest), "Int64"))
        )
        both = pd.concat([rest[list(moves.columns)], moves], ignore_index=True)
        return both.sort_values(list(TransitionCounts.columns), ignore_index=True, na_position="first")

    def __add__(self, other: object) -> LogCounts:
        if not isinstance(other, LogCounts):
            return NotImplemented
        if other.missing != self.missing:
            raise ValueError(f"missing must be the same to add; got {self.missing!r} and {other.missing!r}")
        return LogCounts(
            self.rounds + other.rounds,
            self.transitions + other.transitions,
            self.n_turns + other.n_turns,
            self.n_debates + other.n_debates,
            self.problems + other.problems,
            self.missing,
            tuple(dict.fromkeys([*self.notes, *other.notes])),
        )

    def __radd__(self, other: object) -> LogCounts:
        """Let ``sum()`` start from 0."""
        return self if other == 0 else NotImplemented


def count_log(
    *paths: str | Path,
    missing: Missing = "exclude",
    strict: bool = True,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
    workers: int = 1,
) -> LogCounts:
    r"""Reduce a log to counts in one pass, with all checks of :func:`d3stats.log.read_log`.

    Equal to ``Trajectories.from_log(*paths).counts(missing)`` and ``.transitions(missing)``, without the table
    of turns: the memory does not grow with a sound log of JSON lines or a sound Parquet file.

    Parameters
    ----------
    *paths, strict, missing_values, columns, encoding
        As in :func:`d3stats.log.read_log`.
    missing : {"exclude", "wrong"}
        Leave a missing vote out, so that trials vary, or count every agent of the debate as a trial in each round in
        which some are asked; agents of roles that never vote in the files are no trials.
    workers : int
        Processes among which files, and the parts of large files, are shared out; the counts do not depend on it.

    Returns
    -------
    LogCounts

    Raises
    ------
    LogError
        With `strict`, names file, line, field, the requirement and what was got.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "debates.csv"
    >>> _ = path.write_text("debate,round,agent,vote,label\nd,1,a,A,A\nd,1,b,B,A\nd,2,a,A,A\nd,2,b,A,A\n")
    >>> count_log(path).rounds.to_frame()
       round  successes  trials  weight
    0      1          1       2     1.0
    1      2          2       2     1.0
    """
    choice("missing", missing, ("exclude", "wrong"))
    integer("workers", workers, minimum=1)
    return _count_together(paths, missing, strict, missing_values, columns, encoding, workers=workers)


def _count_together(
    paths: Sequence[str | Path],
    missing: Missing,
    strict: bool,
    missing_values: Iterable[str] | None,
    columns: Columns = None,
    encoding: str | None = None,
    *,
    workers: int = 1,
    sheet: str | None = None,
    scorer: str | None = None,
) -> LogCounts:
    files = find_files(paths, sheet, scorer)
    refuse_unread(files, columns, encoding, sheet)
    words = missing_words(missing_values)
    # Compressed files say little of their size.
    if sum(file.path.stat().st_size * (1 if _is_plain(file) else 50) for file in files) > SIZE:
        counts = _count_in_pieces(files, missing, words, columns, encoding, workers)
        if counts is not None:
            return counts
    how: dict[str, Any] = {"columns": columns, "encoding": encoding, "sheet": sheet, "scorer": scorer}
    checked = read_checked(paths, strict=strict, missing_values=words, **how)
    return replace(_counted(checked, missing), problems=checked.problems)


def count(
    *paths: str | Path,
    missing: Missing = "exclude",
    workers: int = 1,
    scheduler: str | None = None,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
    sheet: str | None = None,
    scorer: str | None = None,
    lenient: bool = False,
) -> LogCounts:
    r"""Count every file by itself, and add the counts in the order of the files.

    Counts are whole numbers, so the result is the same to the last bit for any number of workers. A debate must lie in
    one file. :func:`d3stats.count_log` on all files at once also sees a debate that is spread over two of them;
    counting file by file cannot. :func:`d3stats.log.write_counts` keeps the result.

    Parameters
    ----------
    *paths : path or glob
        Each file counts once.
    missing : {"exclude", "wrong"}
        A missing vote is left out (the number of votes then varies) or counts as wrong.
    workers : int
        Processes on this machine among which the files are shared out.
    scheduler : str, optional
        Address of a dask scheduler whose workers see the same files, as tcp://host:8786; needs the extra 'scale'.
    missing_values, columns, encoding, sheet, scorer, lenient
        As in :func:`d3stats.open`.

    Returns
    -------
    LogCounts

    Raises
    ------
    LogError
        Unless `lenient`, names file, line, field, the requirement and what was got.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in "ab":
    ...     _ = (folder / f"{name}.csv").write_text(f"debate,round,agent,vote,label\n{name},1,x,A,A\n")
    >>> count(folder / "*.csv").rounds.to_frame()
       round  successes  trials  weight
    0      1          1       1     2.0
    """
    choice("missing", missing, ("exclude", "wrong"))
    words = None if missing_values is None else tuple(missing_values)
    files = find_files(paths, sheet, scorer)
    refuse_unread(files, columns, encoding, sheet)
    given = {"columns": columns, "encoding": encoding, "sheet": sheet}
    tasks = [
        (
            file.name,
            (missing, not lenient, words),
            {
                **{name: value for name, value in given.items() if value and takes(file, name)},
                "scorer": scorer if file.inspect else None,
            },
        )
        for file in files
    ]
    total: LogCounts | None = None
    told: dict[str, Any] = {"what": "counting files", "total": len(tasks)}
    for part in run_tasks(_count_file, tasks, workers=workers, scheduler=scheduler, ordered=True, **told):
        total = part if total is None else total + part
    assert total is not None, "find_files returns at least one file"
    notes = [*files_note(files), *omissions(total.problems), *without_omissions(total.notes)]
    return replace(total, notes=tuple(dict.fromkeys(notes)))


def _count_file(path: str, how: tuple[Any, ...], more: dict[str, Any]) -> LogCounts:
    return _count_together([path], *how, **more)


def _is_plain(file: LogFile) -> bool:
    return file.format != "parquet" and not file.compressed


# -------------------------------------------------------------------- counts of what was checked


def _counted(checked: Checked, missing: Missing) -> LogCounts:
    turns, items = checked.turns, checked.items
    debate = turns.coded("debate").codes.astype(np.int64)
    played = turns.numbers("round").astype(np.int64)
    n_rounds = int(played.max(initial=0)) + 1
    key = debate * n_rounds + played
    if checked.coding == "answers":
        (vote, label), answers = unified(turns.coded("vote"), items.coded("label"))
        voted, right = vote >= 0, (vote == label[debate]) & (vote >= 0)
        known = label >= 0
        odd = _odd_words(vote, label, answers)
    else:
        odd = []
        voted, right = turns.numbers("correct") >= 0, turns.numbers("correct") == 1
        known = np.ones(len(items), dtype=np.bool_)
    role = turns.coded("role")
    has_seat = voting_roles(role, voted)
    seated = np.ones(len(key), dtype=np.bool_) if has_seat.all() else has_seat[role.codes]
    each_turn = (voted, right, seated)
    if (key[1:] >= key[:-1]).all():
        begins = opens(key)
        cells = key[begins]
        size = np.diff(begins, append=len(key))
        cast, rights, asked = (_sums(each, begins, size) for each in each_turn)
    else:
        cells, at = distinct(key, len(items) * n_rounds + 1)
        cast, rights, asked = (np.bincount(at[each], minlength=len(cells)) for each in each_turn)
    of, number = cells // n_rounds, cells % n_rounds
    trials = cast
    if missing == "wrong":
        agent = turns.coded("agent")
        pairs = (debate * len(agent.values) + agent.codes)[seated]
        sitting, _ = distinct(pairs, len(items) * len(agent.values))
        panel = np.bincount(sitting // max(len(agent.values), 1), minlength=len(items))
        # Where nobody was asked no vote is missing.
        trials = np.where(asked > 0, panel[of], 0)
    seen = (trials > 0) & known[of]
    of, number, rights, trials = of[seen], number[seen], rights[seen], trials[seen]
    step = np.flatnonzero((of[1:] == of[:-1]) & (number[1:] == number[:-1] + 1))
    return LogCounts(
        RoundCounts.from_columns(number, rights, trials),
        TransitionCounts.from_columns(
            number[step], rights[step], trials[step], rights[step + 1], trials[step + 1]
        ),
        len(turns),
        len(items),
        missing=missing,
        notes=tuple(dict.fromkeys([*odd, *checked.notes])),
    )


def _odd_words(vote: NDArray[Any], label: NDArray[Any], answers: Sequence[str]) -> list[Note]:
    """Return the signs that votes are no answers; most logs have no vote that is no label, and nothing to look for."""
    cast, right = (np.bincount(x[x >= 0], minlength=len(answers)) > 0 for x in (vote, label))
    strange = np.flatnonzero(cast & ~right)
    if len(strange) > MOST_STRANGE:
        return []
    return word_signs(
        [answers[k] for k in strange.tolist()], [answers[k] for k in np.flatnonzero(right).tolist()]
    )


MOST_STRANGE = 1_000
"""Where more different votes than this are no right answer, answers are free text, and none is looked at."""


def _sums(each: NDArray[np.bool_], begins: Ints, size: Ints) -> Ints:
    """Count what is true in each run of turns."""
    if each.all():
        return size
    if len(size) and size.min() == size.max() < 256:
        seats = each.view(np.uint8).reshape(len(size), -1).T
        total = np.zeros(len(size), dtype=np.uint8)
        for seat in seats:
            total += seat
        return total.astype(np.int64)
    return np.asarray(np.add.reduceat(each, begins, dtype=np.int64))


# -------------------------------------------------------------------- pieces


@dataclass
class _Facts:
    """The counts of some debates, and what other pieces must agree with."""

    counts: LogCounts
    debates: list[NDArray[np.uint64]] = field(default_factory=list)
    panels: set[tuple[str | None, str | None, int]] = field(default_factory=set)
    voting: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    everybody: set[bool] = field(default_factory=set)
    """Whether all agents have a seat because none of them votes."""
    kinds: set[tuple[str, bool]] = field(default_factory=set)
    """Codings, and whether tokens are totals."""

    @classmethod
    def none(cls, missing: Missing) -> _Facts:
        return cls(LogCounts(RoundCounts.empty(), TransitionCounts.empty(), 0, 0, missing=missing))

    def add(self, other: _Facts) -> None:
        self.counts += other.counts
        self.debates += other.debates
        for name in ("panels", "voting", "silent", "everybody", "kinds"):
            getattr(self, name).update(getattr(other, name))

    def agree(self) -> bool:
        """Whether the pieces together say what the whole says."""
        names = np.concatenate([*self.debates, np.zeros(0, dtype=np.uint64)])
        return (
            self.counts.n_turns > 0
            and len(np.unique(names)) == len(names)
            and len({panel[:2] for panel in self.panels}) == len(self.panels)
            and self.voting.isdisjoint(self.silent)
            and len(self.everybody) == 1
            and len(self.kinds) == 1
        )


def _facts(records: Records, words: Iterable[str], missing: Missing) -> _Facts | None:
    """Check and count complete debates; None where they are not surely sound by themselves."""
    checked = check(records, words)
    if not checked.as_written or any(problem.kind != "no turns" for problem in checked.problems):
        return None
    if len(checked.turns) and not checked.panels:
        return None  # panels that vary, though nothing is wrong with that in these debates alone
    role = checked.turns.coded("role")
    vote = (
        checked.turns.coded("vote").codes if checked.coding == "answers" else checked.turns.numbers("correct")
    )
    voted = vote >= 0
    at = opens(role.codes, voted)
    votes = set(role.codes[at][voted[at]].tolist())
    occurs = set(role.codes[at].tolist())
    return _Facts(
        _counted(checked, missing),
        [pd.util.hash_array(np.array(checked.items.coded("debate").values, dtype=object), categorize=False)],
        {(*run, n) for run, n in checked.panels.items()},
        {role.values[code] for code in votes if code >= 0},
        {role.values[code] for code in occurs - votes if code >= 0},
        {not votes and -1 not in occurs} if occurs else set(),
        {(checked.coding, checked.totals)},
    )


def _count_in_pieces(
    files: Sequence[LogFile],
    missing: Missing,
    words: Iterable[str],
    columns: Columns = None,
    encoding: str | None = None,
    workers: int = 1,
    size: int = SIZE,
) -> LogCounts | None:
    """Count a log piece by piece; None where that leaves a doubt."""
    tasks = [
        (file, start, stop, missing, words, columns, encoding, size)
        for file in files
        for start, stop in _spans(file, workers, size)
    ]
    total, rest = _Facts.none(missing), []
    told: dict[str, Any] = {"what": "counting", "total": len(tasks)}
    for found in run_tasks(_count_span, tasks, workers=min(workers, len(tasks)), ordered=True, **told):
        if found is None:
            return None
        facts, left = found
        total.add(facts)
        rest += left
    if rest:
        last = _facts(joined(rest), words, missing)
        if last is None:
            return None
        total.add(last)
        total.kinds |= {(part.coding, part.totals) for part in rest}
    return total.counts if total.agree() else None


def _spans(file: LogFile, workers: int, size: int) -> list[tuple[int, int | None]]:
    """Return spans of bytes, one for each process, where a file is large enough to be shared out."""
    length = file.path.stat().st_size
    if file.format != "jsonl" or file.compressed or workers == 1 or length <= size:
        return [(0, None)]
    starts = [length * k // workers for k in range(workers)]
    return list(zip(starts, [*starts[1:], None], strict=True))


def _count_span(
    file: LogFile,
    start: int,
    stop: int | None,
    missing: Missing,
    words: Iterable[str],
    columns: Columns,
    encoding: str | None,
    size: int,
) -> tuple[_Facts, list[Records]] | None:
    """Count what a span holds completely, and return the rest: debates that begin before it or may go on after it."""
    total = _Facts.none(missing)
    strays: list[Records] = []
    waiting: list[Records] = []
    pieces = _pieces(file, start, stop, columns, encoding, size)
    # No name holds on to a piece while the next one is read.
    while (piece := next(pieces, None)) is not None:
        records = joined([*waiting, _without(piece)])
        piece = None
        if records.problems:
            return None
        whole, waiting, unknown = _sorted_out(records)
        strays += map(_compact, unknown)
        waiting = list(map(_compact, waiting))
        facts = _Facts.none(missing) if whole is None else _facts(whole, words, missing)
        if facts is None:
            return None
        total.add(facts)
        del records, whole, unknown, facts
    return total, [*strays, *waiting]


def _pieces(
    file: LogFile, start: int, stop: int | None, columns: Columns, encoding: str | None, size: int
) -> Iterator[Records]:
    if file.format == "jsonl":
        return line_blocks(file, start, stop, size, columns=columns, without=_UNCOUNTED)
    if file.format == "parquet":
        return parquet_blocks(file, ROWS, columns=columns, without=_UNCOUNTED)
    return iter([read_file(file, columns, encoding)])


_UNCOUNTED = (
    "tokens",
    "tokens_in",
    "tokens_out",
    "tokens_cached",
    "tokens_source",
    "model",
    "error",
    "persona",
    "temperature",
    "confidence",
    "confidence_percent",
)


def _without(records: Records) -> Records:
    """Leave out what no count needs."""
    unread = ("scores", *_UNCOUNTED)
    turns = {name: column for name, column in records.turns.columns.items() if name not in unread}
    return replace(records, turns=Part(records.turns.row, turns))


def _sorted_out(records: Records) -> tuple[Records | None, list[Records], list[Records]]:
    """Part the debates that are complete from those that may go on, and from those that no item opens here."""
    items, turns, verdicts = records.items, records.turns, records.verdicts
    codes, names = unified(*(part.coded("debate") for part in (items, turns, verdicts)))
    opened, spoken = (np.append(occurring([own], len(names)), False) for own in codes[:2])
    closed = np.zeros(len(names) + 1, dtype=np.bool_)
    if len(verdicts):
        by_line = np.ones(records.n_rows, dtype=np.bool_)
        by_line[items.row] = False
        closed[codes[2][by_line[verdicts.row]]] = True
    of_row = codes[1]
    if len(turns) < records.n_rows:
        of_row = np.full(records.n_rows, -1, dtype=np.int32)
        for part, own in zip((items, turns, verdicts), codes, strict=True):
            of_row[part.row] = own
    going_on = ~spoken
    if 1 + int((codes[1][1:] != codes[1][:-1]).sum()) == int(spoken.sum()):
        going_on[codes[1][-1:]] = True
    else:
        # Debates take turns: one without a verdict that was heard of lately may go on.
        last = np.zeros(len(names) + 1, dtype=np.int64)
        last[of_row] = np.arange(records.n_rows)
        going_on |= ~closed & (last >= records.n_rows // 2)
    going_on[-1] = False
    opened[-1] = True
    waits = (going_on & opened)[of_row]
    unknown = ~opened[of_row]
    if unknown.any():
        return _rows(records, ~waits & ~unknown), [_rows(records, waits)], [_rows(records, unknown)]
    if not waits.any():
        return records if len(turns) else None, [], []
    whole = _rows(records, ~waits)
    return whole if len(whole.turns) else None, [_rows(records, waits)], []


def _compact(records: Records) -> Records:
    """Keep only the values that occur, so that a few rows do not hold all that a large piece says."""
    parts = {name: getattr(records, name) for name in ("items", "turns", "verdicts")}
    coded = [c for part in parts.values() for c in part.columns.values() if isinstance(c, Coded)]
    lists = {id(column.values): column.values for column in coded}
    forms: dict[int, tuple[NDArray[np.int32], list[Any]]] = {}
    for key, values in lists.items():
        used = np.unique(np.concatenate([c.codes for c in coded if c.values is values]))
        used = used[used >= 0]
        lookup = np.full(len(values) + 1, -1, dtype=np.int32)
        lookup[used] = np.arange(len(used), dtype=np.int32)
        forms[key] = lookup, [values[code] for code in used.tolist()]

    def compact(column: Any) -> Any:
        if not isinstance(column, Coded):
            return column
        lookup, values = forms[id(column.values)]
        return Coded(lookup[column.codes], values)

    kept: dict[str, Any] = {
        name: Part(part.row, {field: compact(c) for field, c in part.columns.items()})
        for name, part in parts.items()
    }
    return replace(records, **kept)


def _rows(records: Records, keep: NDArray[np.bool_]) -> Records:
    """Keep some rows; those in one piece are not copied."""
    low, n = int(keep.argmax()) if len(keep) else 0, int(np.count_nonzero(keep))
    high = low + n
    in_one = bool(keep[low:high].all())
    place = np.zeros(0, dtype=np.int64) if in_one else np.cumsum(keep) - 1
    parts = []
    for part in (records.items, records.turns, records.verdicts):
        chosen: Any = slice(*np.searchsorted(part.row, [low, high])) if in_one else keep[part.row]
        kept = part[chosen]
        row = kept.row if in_one and low == 0 else kept.row - low if in_one else place[kept.row]
        parts.append(Part(row, kept.columns))
    rows: Any = slice(low, high) if in_one else keep
    return replace(
        records,
        file=records.file[rows],
        line=records.line[rows],
        items=parts[0],
        turns=parts[1],
        verdicts=parts[2],
    )
