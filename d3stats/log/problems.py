"""Problems of debate logs: the kinds, their meaning and their remedies.

A strict reader raises the first problem as a :class:`LogError`; a lenient one leaves out what is defective and
lists it. Every record that was left out has exactly one problem with ``left_out == "record"``, so records kept
plus records left out are the records read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from d3stats._words import Advised, line_of, visible
from d3stats.note import Note, kind_of, warning

__all__ = ["KINDS", "Advised", "Cause", "Kind", "LogError", "Problem", "causes_of"]

LeftOut = Literal["record", "field", "nothing"]


@dataclass(frozen=True)
class Kind:
    """The meaning of one kind of problem, the reaction of a lenient reader, and the remedy.

    Attributes
    ----------
    meaning : str
        What a problem of this kind is.
    leniently : str
        What a lenient reader does about it.
    advice : str
        What to do.

    Examples
    --------
    >>> KINDS["duplicate turn"].leniently
    'The first turn is kept and the later one is left out.'
    """

    meaning: str
    leniently: str
    advice: str


KINDS: dict[str, Kind] = {
    "empty file": Kind(
        "The file has no records.",
        "The file is skipped.",
        "Delete the file, or run the program that writes it again.",
    ),
    "not a log": Kind(
        "The file cannot be read in the format that its name says.",
        "The file is skipped.",
        "Check that the path is right; names end in .jsonl, .csv, .tsv (or these with .gz), .xlsx, .parquet "
        "or .eval.",
    ),
    "unknown column": Kind(
        "A table has a column that this package does not know, perhaps a misspelled one.",
        "The column is not read.",
        "Rename the column, or remove it.",
    ),
    "malformed line": Kind(
        "A line is not one JSON object, or not one row of the table.",
        "The line is left out.",
        "Open the file in an editor and check the line; perhaps two programs wrote to the file at once.",
    ),
    "truncated last line": Kind(
        "The last line is incomplete, because the program that wrote it was stopped.",
        "The line is left out.",
        "Run the command that wrote the file again, or write a copy without the line (doctor --fix).",
    ),
    "newer schema": Kind(
        "The file was written for a newer version of the log schema.",
        "The header is left out; records that are valid here are read.",
        "Upgrade this package.",
    ),
    "wrong field": Kind(
        "A field is missing, unknown, of the wrong type or out of its range.",
        "The record is left out.",
        "Correct the program that wrote it; a vote that cannot be read is null, not a placeholder.",
    ),
    "conflicting item": Kind(
        "A debate has two items with different contents.",
        "The first is kept and the later one is left out.",
        "Give each debate its own identifier across all files of a log.",
    ),
    "conflicting verdict": Kind(
        "A debate has two different verdicts.",
        "The first is kept and the later one is left out.",
        "Give each debate its own identifier across all files of a log.",
    ),
    "unknown debate": Kind(
        "A turn or a verdict belongs to a debate without an item.",
        "The record is left out.",
        "Read the file that holds the items together with this one.",
    ),
    "label outside the answers": Kind(
        "An item's label is not in its own closed answer set.",
        "The label is left out, so the debate counts as unlabelled.",
        "Write labels and answers in the same form.",
    ),
    "duplicate turn": Kind(
        "An agent has two turns in one round of a debate.",
        "The first turn is kept and the later one is left out.",
        "If two runs went into one log, give their debates different identifiers.",
    ),
    "vote outside the answers": Kind(
        "A vote is not in the closed answer set of its debate.",
        "The vote is left out and counts as missing, not as wrong.",
        "Write votes in the form of the answer set, or open the answer set (answers: null).",
    ),
    "round gap": Kind(
        "A debate skips a round; rounds must be 1, 2, ... without a gap.",
        "The rounds before the gap are kept, and all turns after it are left out.",
        "Look for lost lines, a file that was not read, or names that differ in upper and lower case only.",
    ),
    "mixed panel": Kind(
        "The number of agents changes within one run. An agent is absent from a round in which others of "
        "its role have turns, or debates of one run (one value of log) have panels of different sizes.",
        "Nothing is left out; a strict reader reads the log with a warning, and the number of votes varies.",
        "Give runs with different panels different values of log, or write a null vote for a silent agent.",
    ),
    "interrupted round": Kind(
        "A debate without a verdict ends in the middle of its last round, because the run was stopped.",
        "The turns of that round are left out; a strict reader reads the log with a warning, too.",
        "Run the same command again to resume it.",
    ),
    "open debate": Kind(
        "A debate has no verdict though others of its run (one value of log) do, or the log has a journal; "
        "the run was stopped, or lines are lost.",
        "Nothing is left out, and a strict reader reads the log; only the doctor reports it.",
        "Run the same command again to resume it.",
    ),
    "no turns": Kind(
        "The files hold no turn at all, so there is nothing to count.",
        "The log is empty.",
        "Check the paths, and that the debates were run.",
    ),
    "mixed coding": Kind(
        "Some tables record answers (a column vote), others only correctness (a column correct).",
        "The tables that differ from the first file are skipped.",
        "Read the two kinds separately.",
    ),
}
"""Every kind of problem, in the order in which a report lists them."""


LONGEST = 600
"""Characters of a message."""


def shortened(text: str, longest: int = LONGEST) -> str:
    """Leave out the middle of a long text; its beginning holds the requirement, its end what was got.

    Examples
    --------
    >>> shortened("vote must be one of 'A', 'B'; got vote='" + "A" * 1000 + "' in debate 'd'", 70)
    "vote must be one of 'A', 'B'; got vote='AAAA ... AAAAAA' in debate 'd'"
    """
    if len(text) <= longest:
        return text
    tail = (longest - 5) // 3
    return f"{text[: longest - 5 - tail]} ... {text[-tail:]}"


@dataclass(frozen=True)
class Problem:
    """One defect of a log and where it is.

    Attributes
    ----------
    file : str
        The file as it was named or found.
    line : int or None
        Line of a text file, from 1 with the header counted; row of a Parquet file, from 1; None when the
        problem concerns the file or the log as a whole.
    field : str or None
        The field concerned.
    message : str
        Requirement and what was got.
    kind : str
        A key of :data:`KINDS`.
    record_key : tuple of (str or int)
        The record concerned: ``(debate,)`` or ``(debate, round, agent)``; empty when unknown.
    left_out : {"record", "field", "nothing"}
        What a lenient reader leaves out because of this problem.
    rest_lost : bool
        Whether nothing of the file could be read after it.

    Examples
    --------
    >>> problem = Problem("a.csv", 3, "round", "round must be a whole number >= 1; got round='x'", "wrong field")
    >>> print(problem)
    a.csv, line 3: wrong field: round must be a whole number >= 1; got round='x'
    >>> problem.place, problem.left_out
    ('a.csv, line 3', 'record')
    """

    file: str
    line: int | None
    field: str | None
    message: str
    kind: str
    record_key: tuple[str | int, ...] = ()
    left_out: LeftOut = "record"
    rest_lost: bool = False

    def __post_init__(self) -> None:
        """Write a message in one line, and shorten one that quotes a long value: an answer may be a whole book."""
        given = self.message
        text = visible(shortened(given), one_line=True)
        if isinstance(given, Advised):
            parts = given.requirement, given.got, given.step
            text = Advised._of_parts(text, *(visible(shortened(part), one_line=True) for part in parts))
        object.__setattr__(self, "message", text)

    @property
    def requirement(self) -> str:
        """The message up to what was got; all of it where it does not tell its parts."""
        return self.message.requirement if isinstance(self.message, Advised) else self.message

    @property
    def got(self) -> str:
        """The value that was got, without what to do; "" where the message does not tell its parts."""
        return self.message.got if isinstance(self.message, Advised) else ""

    @property
    def step(self) -> str:
        """The advice of the message, "" where it has none."""
        return self.message.step if isinstance(self.message, Advised) else ""

    @property
    def place(self) -> str:
        """File and line, in words."""
        return self.file if self.line is None else line_of(self.file, self.line)

    def __str__(self) -> str:
        return f"{self.place}: {self.kind}: {self.message}"


class LogError(ValueError):
    r"""A log that a strict reader refuses; names file, line, field, the requirement and what was got.

    Attributes
    ----------
    problem : Problem
        The first problem in reading order; one that a lost line can bring about elsewhere (an unknown debate, a
        round gap, no turns) only when there is no other.
    n_problems : int
        How many problems there are in all; that no turns are left is none beside others.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from d3stats.log import read_log
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "debates.csv"
    >>> _ = path.write_text("debate,round,agent,vote,label\nd,one,a,A,A\nd,two,b,B,A\n")
    >>> try:
    ...     read_log(path)
    ... except LogError as error:
    ...     print(error.problem.field, error.problem.kind, error.n_problems)
    round wrong field 2
    """

    def __init__(self, problem: Problem, n_problems: int = 1) -> None:
        self.problem = problem
        self.n_problems = n_problems
        more = f" (and {n_problems - 1} more)" if n_problems > 1 else ""
        super().__init__(f"{problem}{more}")

    def __reduce__(self) -> tuple[type[LogError], tuple[Problem, int]]:
        """Survive the way back from a worker process."""
        return type(self), (self.problem, self.n_problems)


class WrongChoice(ValueError):
    """A part of a file was chosen that the file does not have; the file may be sound.

    Examples
    --------
    >>> raise WrongChoice("scorer must be one of 'x', 'y'; got 'z'")
    Traceback (most recent call last):
        ...
    d3stats.log.problems.WrongChoice: scorer must be one of 'x', 'y'; got 'z'
    """


def in_reading_order(problems: Iterable[Problem], files: Sequence[str]) -> tuple[Problem, ...]:
    """Sort by the order of `files`, then by line; a problem of a whole file comes before its lines."""
    position = {name: i for i, name in enumerate(files)}
    # That no turn is left is what the other problems have come to.
    return tuple(
        sorted(
            problems, key=lambda p: (p.kind == "no turns", position.get(p.file, len(position)), p.line or 0)
        )
    )


CONSEQUENCES = frozenset({"unknown debate", "round gap", "mixed panel", "interrupted round", "no turns"})
"""Kinds that a lost line brings about elsewhere, perhaps further up."""


CUT_SHORT = "interrupted round"
"""The kind of turns of a round that was cut short; a note of its own counts these rounds."""

DEBATES_OF_A_NOTE = 20
"""The most debates that the note on such a kind names; with fewer it names all of them."""

TOLERATED = frozenset({"mixed panel", CUT_SHORT})
"""Kinds of logs that a strict reader reads, too; the results begin with a remark."""


def raise_first(problems: Sequence[Problem]) -> None:
    """Raise the first problem that is not tolerated; a cause goes before what it may have brought about."""
    if not all(problem.kind in TOLERATED for problem in problems):
        causes = [problem for problem in problems if problem.kind not in CONSEQUENCES]
        worst = causes or [problem for problem in problems if problem.kind not in TOLERATED]
        # That no turn is left says nothing more than what is wrong.
        told = [problem for problem in problems if problem.kind != "no turns"] or problems
        raise LogError(worst[0], len(told))


_SHOWN = 80
"""Characters of an example in a warning, which has two lines."""


def omissions(problems: Iterable[Problem]) -> list[Note]:
    """Return a warning that counts the records that a lenient reader left out, by kind; none of rounds cut short.

    Examples
    --------
    >>> omissions([Problem("a.csv", 3, "round", "round must be a number; got 'x'", "wrong field")])
    ["WARNING: left out: wrong field (1), the first at a.csv, line 3: round must be a number; got 'x'"]
    """
    lost = [each for each in problems if each.left_out != "nothing" and each.kind != CUT_SHORT]
    if not lost:
        return []
    kinds = Counter(each.kind for each in lost)
    said = ", ".join(f"{kind} ({n:,})" for kind, n in kinds.most_common())
    got = getattr(lost[0].message, "got", "") or lost[0].message  # the kind names the requirement
    text = f"left out: {said}, the first at {lost[0].place}: {shortened(got, _SHOWN)}"
    return [warning(text, _LEFT_OUT, n=len(lost), examples=kinds)]


_LEFT_OUT = "left out"


def without_omissions(notes: Iterable[str]) -> tuple[str, ...]:
    """Return notes without the warning of :func:`omissions`, for those who list every problem."""
    return tuple(note for note in notes if kind_of(note) != _LEFT_OUT)


# -------------------------------------------------------------------- what brought problems about


PLACES = 3
"""The most places of a cause that are named."""

_LONGEST = 240
"""Characters of a line of the report before its middle is left out."""


@dataclass(frozen=True)
class Cause:
    """One cause of problems, with all the places in which it shows.

    Attributes
    ----------
    kind, message, meaning, advice : str
        A key of :data:`KINDS`; what is required, or what was found; what such a problem is, and what a lenient reader
        does about it; what to do about it.
    count : int
        In how many places it shows.
    left_out : int
        How many records were left out because of it, those of problems that follow from it included.
    places : tuple of str
        The first places, each with what was got there.
    span : str
        The first and the last place; empty when `places` holds all of them.
    follows : dict of str to int
        Kinds of problems that follow from this one, to their number.

    Examples
    --------
    >>> messages = [Advised("vote must be known", got=f"vote='{n}'") for n in range(7)]
    >>> rows = [Problem("a.csv", n + 2, "vote", message, "wrong field") for n, message in enumerate(messages)]
    >>> (cause,) = causes_of(rows)
    >>> cause.count, cause.left_out, cause.span
    (7, 7, 'and 4 more, up to line 8')
    """

    kind: str
    message: str
    meaning: str
    count: int
    left_out: int
    places: tuple[str, ...]
    span: str
    follows: dict[str, int]
    advice: str


def causes_of(problems: Sequence[Problem]) -> tuple[Cause, ...]:
    """Put problems of one cause together: whole files first, then single records, then what concerns several.

    A lost file or line explains the unknown debates, gaps and panels that it leaves behind; the same message about
    other values is the same problem.

    Parameters
    ----------
    problems : sequence of Problem
        In reading order.

    Returns
    -------
    tuple of Cause

    Examples
    --------
    >>> messages = [Advised("round must be whole", got=f"round='{n}x'") for n in (2, 3)]
    >>> rows = [Problem("a.csv", n + 2, "round", message, "wrong field") for n, message in enumerate(messages)]
    >>> (cause,) = causes_of(rows)
    >>> cause.count, cause.message, cause.places
    (2, 'round must be whole', ("a.csv, line 2: got round='2x'", "a.csv, line 3: got round='3x'"))
    """
    groups: dict[_Key, list[Problem]] = defaultdict(list)
    for problem in problems:
        detail = (
            (problem.file,)
            if problem.kind in ("mixed coding", "unknown column")
            else (problem.field or "", _pattern(problem.requirement))
        )
        groups[problem.kind, *detail].append(problem)
    follows = _following(groups)
    order = {kind: place for place, kind in enumerate(KINDS)}
    kept = [key for key, group in groups.items() if group]
    kept.sort(key=lambda key: (not _whole_file(groups[key][0]) or key[0] in _EFFECTS, order[key[0]]))
    return tuple(_cause(groups[key], follows[key]) for key in kept)


_Key = tuple[str, ...]


def _pattern(requirement: str) -> str:
    """Return a requirement without names and numbers."""
    return re.sub(r"'(?:[^'\\]|\\.)*'|\d+", "*", requirement)


# ---------------------------------------------------------------- what follows from what


def _following(groups: dict[_Key, list[Problem]]) -> dict[_Key, list[Problem]]:
    """Move what a lost file or record explains to its cause; `groups` keep the rest."""
    whole: _Key | None = None
    of_debate: dict[str | int, _Key] = {}
    unnamed: dict[_Key, int] = {}
    for key, group in groups.items():
        for problem in group:
            if problem.kind in _EFFECTS:
                continue
            if _whole_file(problem):
                whole = whole or key
            elif problem.left_out == "record" and problem.kind in _LOST:
                if problem.record_key:
                    of_debate.setdefault(problem.record_key[0], key)
                else:
                    unnamed[key] = unnamed.get(key, 0) + 1
    found: dict[_Key, list[Problem]] = defaultdict(list)
    for key, group in groups.items():
        if key[0] not in _EFFECTS:
            continue
        if key[0] == "no turns":
            other = next((k for k in groups if k[0] not in _EFFECTS), None)
            moved = {id(p): other for p in group} if other is not None else {}
        else:
            named = [p for p in group if p.record_key and p.record_key[0] in of_debate]
            moved = {id(p): of_debate[p.record_key[0]] for p in named}
            left = {p.record_key[:1] for p in group if id(p) not in moved}
            # A line that could not be read may have been of any debate, but of one only.
            unknown = whole or (
                next(iter(unnamed)) if len(left) <= sum(unnamed.values()) and unnamed else None
            )
            if unknown is not None:
                moved |= {id(p): unknown for p in group if id(p) not in moved}
        for problem in group:
            if (cause := moved.get(id(problem))) is not None:
                found[cause].append(problem)
        group[:] = [problem for problem in group if moved.get(id(problem)) is None]
    return found


_EFFECTS = CONSEQUENCES | {"open debate"}
_LOST = frozenset({"malformed line", "truncated last line", "wrong field"})


_NEEDED = ("debate", "agent", "vote")
"""Columns without which a table is not read."""


def _whole_file(problem: Problem) -> bool:
    """Whether a file, or the rest of one, could not be read."""
    one_column = problem.kind == "unknown column" and problem.field not in _NEEDED
    return (problem.left_out == "nothing" and not one_column) or problem.rest_lost


# ---------------------------------------------------------------- one cause


def _cause(group: list[Problem], more: list[Problem]) -> Cause:
    first = group[0]
    known = KINDS[first.kind]
    requirement = first.requirement
    if any(each.requirement != requirement for each in group):
        # The requirement names its debate or its numbers, so it stands with each place.
        requirement = known.meaning.rstrip(".")
        places = [f"{p.place}: {p.message}" for p in group[:PLACES]]
    else:
        places = [f"{p.place}{p.got and f': got {p.got}'}" for p in group[:PLACES]]
    refused = _whole_file(first) and first.kind in ("unknown column", "wrong field")
    return Cause(
        kind=first.kind,
        message=shortened(requirement, _LONGEST),
        meaning="The table is skipped." if refused else f"{known.meaning} {known.leniently}",
        count=len(group),
        left_out=sum(p.left_out == "record" for p in [*group, *more]),
        places=tuple(shortened(place, _LONGEST) for place in places),
        span=_span(group),
        follows=dict(Counter(p.kind for p in more)),
        advice=_advice(first),
    )


def _span(group: list[Problem]) -> str:
    if len(group) <= PLACES:
        return ""
    more = f"and {len(group) - PLACES:,} more"
    files = dict.fromkeys(p.file for p in group)
    last = group[-1]
    if len(files) > 1:
        return f"{more} in {len(files):,} files, the last in {last.place}"
    return more if last.line is None else f"{more}, up to {last.place.rpartition(', ')[2]}"


def _advice(problem: Problem) -> str:
    """Say what would mend it, with the command where there is one."""
    if problem.step:
        return (
            problem.step
            if problem.step.startswith("columns=")
            else f"{problem.step[0].upper()}{problem.step[1:]}"
        )
    if problem.kind == "wrong field":
        return _ADVICE.get(problem.field or "", KINDS[problem.kind].advice)
    return KINDS[problem.kind].advice


_ADVICE = {
    "answers": 'Write the answer set as a JSON list, ["A", "B"], in the cell.',
    "round": "Write rounds as whole numbers: 1, 2, 3.",
    "stop_round": "Write rounds as whole numbers: 1, 2, 3.",
    "correct": "Write 1 for right, 0 for wrong, and nothing where there is no vote.",
}
