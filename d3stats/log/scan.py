"""Count a log without ever holding its turns: one scan in SQL, every strict check, memory that does not grow.

The scan either is sure that the files are clean, and then its counts are right, or it is not, and then the exact
reader (``reference.py``, ``checks.py``) decides, names the defects and counts. The second way holds the records
in memory; clean logs never take it, unless they mix JSON lines and tables.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from d3stats._check import choice
from d3stats.counts import RoundCounts, TransitionCounts
from d3stats.log.engine import connect
from d3stats.log.files import LogFile, find_files, unusable
from d3stats.log.forms import settle
from d3stats.log.problems import Problem, in_reading_order, raise_first
from d3stats.values import missing_words

if TYPE_CHECKING:
    import duckdb

    from d3stats.log.checks import Checked
    from d3stats.log.lines import Clean

__all__ = ["LogCounts", "are_small", "check_exactly", "count_log", "surely_clean"]

Missing = Literal["exclude", "wrong"]

SMALL = 1 << 19
"""Bytes up to which a log is read record by record: planning the queries takes longer (about 60 ms)."""


@dataclass(frozen=True)
class LogCounts:
    """The sufficient statistics of a log; adds up over files when no debate is spread over two of them.

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
    """

    rounds: RoundCounts
    transitions: TransitionCounts
    n_turns: int
    n_debates: int
    problems: tuple[Problem, ...] = ()
    missing: Missing = "exclude"

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
        )

    def __radd__(self, other: object) -> LogCounts:
        """Let ``sum()`` start from 0."""
        return self if other == 0 else NotImplemented


def count_log(
    *paths: str | Path,
    missing: Missing = "exclude",
    strict: bool = True,
    missing_values: Iterable[str] | None = None,
) -> LogCounts:
    r"""Reduce a log to counts in one pass, with all checks of :func:`d3stats.log.read_log`.

    Equal to ``Trajectories.from_log(*paths).counts(missing)`` and ``.transitions(missing)``, without the table
    of turns: a million turns take one and a half to two seconds as JSON lines and
    half a second as Parquet on two cores.

    Parameters
    ----------
    *paths : path or glob
        JSON lines, CSV or Parquet, see :func:`d3stats.log.read_log`.
    missing : {"exclude", "wrong"}
        Leave a missing vote out, so that trials vary, or count every agent of the debate as a trial; agents of
        roles that never vote in the files are no trials.
    strict : bool
        Raise on the first defect, or leave out what is defective and list it in ``problems``.
    missing_values : iterable of str, optional
        The words that mean missing, in place of :data:`d3stats.values.MISSING_WORDS`.

    Raises
    ------
    LogError
        With `strict`, names file, line, field, the requirement and what was got.
    FileNotFoundError
        When a path does not exist or a glob matches nothing.

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
    files = find_files(paths)
    words = missing_words(missing_values)
    counts = None if are_small(files) else _count_fast(files, missing, words)
    return _count_exactly(files, missing, words, strict=strict) if counts is None else counts


def are_small(files: Sequence[LogFile]) -> bool:
    """Whether the exact reader is done before duckdb has planned its queries."""
    return sum(file.path.stat().st_size for file in files) < SMALL


def _count_fast(
    files: Sequence[LogFile], missing: Missing, words: Iterable[str] | None = None
) -> LogCounts | None:
    with connect() as con:
        clean = surely_clean(con, files, words)
        if clean is None:
            return None
        from d3stats.log.tally import count_cells

        counted = count_cells(con, missing=missing, all_known=clean.coding == "correctness")
    return LogCounts(*counted, missing=missing)


def _count_exactly(
    files: Sequence[LogFile], missing: Missing, words: Iterable[str] | None = None, *, strict: bool
) -> LogCounts:
    checked, problems = check_exactly(files, strict=strict, missing_values=words)
    return LogCounts(*_count(checked, missing), len(checked.turns), len(checked.items), problems, missing)


def surely_clean(
    con: duckdb.DuckDBPyConnection, files: Sequence[LogFile], missing_values: Iterable[str] | None = None
) -> Clean | None:
    """Scan `files` in SQL; None when it is not sure that nothing is wrong and all values are in canonical form.

    When sure, `con` holds the tables that ``tally.py`` counts.
    """
    import duckdb

    from d3stats.log.lines import tally_lines
    from d3stats.log.tally import is_consistent

    # Tables are read by the exact reader. duckdb would take a bracket in a name for a pattern.
    if (
        {file.format for file in files} != {"jsonl"}
        or any(has_magic(file.name) for file in files)
        or any(map(unusable, files))
    ):
        return None
    try:
        clean = tally_lines(con, list(files), missing_values)
        return clean if clean is not None and is_consistent(con) else None
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error:
        return None


def check_exactly(
    files: Sequence[LogFile], *, strict: bool, missing_values: Iterable[str] | None = None
) -> tuple[Checked, tuple[Problem, ...]]:
    """Read every record in canonical form, apply every rule; raise the first problem when `strict`."""
    from d3stats.log.checks import Checked
    from d3stats.log.reference import gather

    gathered = gather(files)
    settle(gathered, missing_values)
    checked = Checked(gathered)
    problems = in_reading_order(checked.problems, [file.name for file in files])
    if strict:
        raise_first(problems)
    return checked, problems


def _count(checked: Checked, missing: Missing) -> tuple[RoundCounts, TransitionCounts]:
    """Count turn by turn: the plain twin of the SQL."""
    right: Counter[tuple[str, int]] = Counter()
    cast: Counter[tuple[str, int]] = Counter()
    panel: dict[str, set[str]] = defaultdict(set)
    by_answers = checked.gathered.coding == "answers"
    silent = _silent(checked.turns, "vote" if by_answers else "correct")
    for turn in checked.turns:
        debate, key = turn["debate"], (turn["debate"], turn["round"])
        label = checked.items[debate]["label"]
        if turn["role"] not in silent:
            panel[debate].add(turn["agent"])
        if by_answers and label is None:
            continue
        voted = turn["vote"] if by_answers else turn["correct"]
        right[key] += voted == label if by_answers else voted == 1
        cast[key] += voted is not None
    trials = {key: n if missing == "exclude" else len(panel[key[0]]) for key, n in cast.items()}
    seen = [(debate, r) for (debate, r), n in trials.items() if n > 0]
    steps = [(debate, r) for debate, r in seen if trials.get((debate, r + 1), 0) > 0]
    rounds = RoundCounts.from_columns(
        [r for _, r in seen], [right[key] for key in seen], [trials[key] for key in seen]
    )
    transitions = TransitionCounts.from_columns(
        [r for _, r in steps],
        [right[key] for key in steps],
        [trials[key] for key in steps],
        [right[d, r + 1] for d, r in steps],
        [trials[d, r + 1] for d, r in steps],
    )
    return rounds, transitions


def _silent(turns: Sequence[dict[str, Any]], vote: str) -> set[str]:
    """Return the roles that never vote; none where nobody has a seat otherwise, see ``frames.seated``."""
    voting = {turn["role"] for turn in turns if turn["role"] is None or turn[vote] is not None}
    return {turn["role"] for turn in turns} - voting if voting else set()
