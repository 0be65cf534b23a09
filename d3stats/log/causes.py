"""What brought about the problems of a log: problems that share a cause are one, and each cause has its advice."""

from __future__ import annotations

import difflib
import inspect
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from d3stats.log.frames import TABLE_COLUMNS
from d3stats.log.problems import CONSEQUENCES, KINDS, Problem, shortened

__all__ = ["Cause", "causes_of"]

PLACES = 3
"""How many places of a cause are named."""

_LONGEST = 240
"""Characters of a line of the report before its middle is left out."""


@dataclass(frozen=True)
class Cause:
    """One thing that is wrong, wherever it shows.

    Attributes
    ----------
    kind : str
        A key of :data:`d3stats.log.problems.KINDS`.
    message : str
        What is required, or what was found.
    count : int
        In how many places it shows.
    left_out : int
        How many records were left out because of it, those of problems that follow from it included.
    places : tuple of str
        The first places, each with what was got there.
    span : str
        From where to where it shows; empty when `places` are all.
    follows : dict of str to int
        Kinds of problems that follow from this one, to their number.
    advice : str
        What to do about it.
    """

    kind: str
    message: str
    count: int
    left_out: int
    places: tuple[str, ...]
    span: str
    follows: dict[str, int]
    advice: str


def causes_of(problems: Sequence[Problem]) -> tuple[Cause, ...]:
    """Put problems of one cause together: whole files first, then single records, then what concerns several.

    A wrong header explains all rows of its table; a lost file or line explains the unknown debates, gaps and panels
    that it leaves behind; the same message about other values is the same problem.

    Examples
    --------
    >>> rows = [Problem("a.csv", n, "round", f"round must be whole; got round='{n}x'", "wrong field") for n in (2, 3)]
    >>> (cause,) = causes_of(rows)
    >>> cause.count, cause.message, cause.places
    (2, 'round must be whole', ("a.csv, line 2: got round='2x'", "a.csv, line 3: got round='3x'"))
    """
    groups, headers = _grouped(problems)
    follows = _following(groups)
    found = []
    for key, group in groups.items():
        if key in follows.absorbed:
            continue
        more = follows.by_cause.get(key, [])
        found.append(headers[key].cause(group, more) if key in headers else _cause(group, more))
    order = {kind: place for place, kind in enumerate(KINDS)}
    first = {"empty file", "not a log", "mixed coding"}
    found.sort(key=lambda c: (c.kind not in first and not c.message.startswith("the table"), order[c.kind]))
    return tuple(found)


_Key = tuple[str, ...]


def _grouped(problems: Sequence[Problem]) -> tuple[dict[_Key, list[Problem]], dict[_Key, _Header]]:
    groups: dict[_Key, list[Problem]] = defaultdict(list)
    at_top: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        if problem.line == 1 and problem.left_out == "nothing":
            at_top[problem.file].append(problem)
    headers = {file: header for file, own in at_top.items() if (header := _header(file, own)) is not None}
    by_key: dict[_Key, _Header] = {}
    for problem in problems:
        header = headers.get(problem.file)
        if header is not None and header.explains(problem):
            key: _Key = ("the table's header", problem.file)
            by_key[key] = header
        elif problem.kind == "mixed coding":
            key = (problem.kind, problem.file)
        else:
            key = (problem.kind, problem.field or "", _pattern(problem.message))
        groups[key].append(problem)
    return groups, by_key


def _pattern(message: str) -> str:
    """Return the requirement without names and numbers."""
    requirement = message.partition("; got ")[0]
    return re.sub(r"'(?:[^'\\]|\\.)*'|\d+", "*", requirement)


# ---------------------------------------------------------------- what follows from what


@dataclass
class _Following:
    by_cause: dict[_Key, list[Problem]]
    absorbed: set[_Key]


def _following(groups: dict[_Key, list[Problem]]) -> _Following:
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
    found = _Following({}, set())
    for key, group in groups.items():
        if group[0].kind not in _EFFECTS:
            continue
        if group[0].kind == "no turns":
            other = next((k for k, g in groups.items() if g[0].kind not in _EFFECTS), None)
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
            cause = moved.get(id(problem))
            if cause is not None:
                found.by_cause.setdefault(cause, []).append(problem)
        group[:] = [problem for problem in group if moved.get(id(problem)) is None]
        if not group:
            found.absorbed.add(key)
    return found


_EFFECTS = CONSEQUENCES | {"open debate"}
_LOST = frozenset({"malformed line", "truncated last line", "wrong field"})


def _whole_file(problem: Problem) -> bool:
    """Whether a file, or the rest of one, could not be read."""
    whole = problem.left_out == "nothing" and problem.kind != "unknown column"
    return whole or "nothing after it was read" in problem.message


# ---------------------------------------------------------------- one cause


def _cause(group: list[Problem], more: list[Problem]) -> Cause:
    first = group[0]
    requirement = first.message.partition("; got ")[0]
    if any(p.message.partition("; got ")[0] != requirement for p in group):
        # The requirement names its debate or its numbers, so it stands with each place.
        requirement, places = (
            KINDS[first.kind].meaning.rstrip("."),
            [f"{p.place}: {p.message}" for p in group[:PLACES]],
        )
    else:
        places = [f"{p.place}{got and f': got {got}'}" for p in group[:PLACES] for got in [_got(p)]]
    return Cause(
        kind=first.kind,
        message=shortened(requirement, _LONGEST),
        count=len(group),
        left_out=_n_left_out([*group, *more]),
        places=tuple(shortened(place, _LONGEST) for place in places),
        span=_span(group),
        follows=dict(Counter(p.kind for p in more)),
        advice=_advice(first),
    )


def _got(problem: Problem) -> str:
    return problem.message.partition("; got ")[2]


def _n_left_out(problems: Iterable[Problem]) -> int:
    return sum(p.left_out == "record" for p in problems)


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
    if problem.kind == "not a log" and (what := _nature(Path(problem.file))):
        return f"The file is {what}, whatever its name says: give the log itself."
    if "not UTF-8" in problem.message or "encoding=" in problem.message:
        if _reader_takes("encoding"):
            named = re.search(r"encoding=[\"']([\w-]+)", problem.message)
            return f"Name the file's encoding: --encoding {named[1] if named else 'latin-1'}"
        return f"Save the file as UTF-8: iconv -f latin1 -t utf-8 {problem.file} > utf8-{Path(problem.file).name}"
    if chosen := re.search(r"--columns [^)]*", problem.message):
        return f"Say which column is which: {chosen[0]}"
    if problem.kind == "wrong field" and problem.field == "answers":
        return 'Write the answer set as a JSON list, ["A", "B"], in the cell.'
    if problem.kind == "wrong field" and problem.field in ("round", "stop_round"):
        return "Write rounds as whole numbers: 1, 2, 3."
    if problem.kind == "wrong field" and problem.field == "correct":
        return "Write 1 for right, 0 for wrong, and nothing where there is no vote."
    return KINDS[problem.kind].advice


_NATURES = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a ZIP archive or a workbook (XLSX)",
    b"PAR1": "Parquet",
    b"\x1f\x8b": "compressed (gzip)",
    b"\xff\xfe": "text in UTF-16, not UTF-8",
    b"\xfe\xff": "text in UTF-16, not UTF-8",
    b"SQLite format": "an SQLite data base",
}


def _nature(path: Path) -> str | None:
    """Say what a file is by its first bytes."""
    try:
        with path.open("rb") as handle:
            head = handle.read(16)
    except OSError:
        return None
    return next((what for start, what in _NATURES.items() if head.startswith(start)), None)


def _reader_takes(option: str) -> bool:
    from d3stats.log.read import read_log

    return option in inspect.signature(read_log).parameters


# ---------------------------------------------------------------- the header of a table

_REQUIRED = ("debate", "round", "agent")
_MEANT = {
    "debate": "debate_id debateid id item item_id task task_id qid question_id sample sample_id example case",
    "round": "turn step iteration epoch round_number",
    "agent": "model speaker judge rater participant juror annotator agent_id name",
    "vote": "answer prediction choice response verdict decision pred output",
    "label": "gold target reference ground_truth correct_answer truth expected",
    "correct": "is_correct right score",
}


@dataclass(frozen=True)
class _Header:
    """The columns of a table that cannot be read as they are, or not all of them."""

    file: str
    columns: tuple[str, ...]
    unknown: tuple[str, ...]
    refused: Problem | None

    def explains(self, problem: Problem) -> bool:
        if problem is self.refused or problem.kind == "unknown column":
            return True
        return self.refused is not None and problem.kind == "not a log" and problem.left_out == "record"

    def cause(self, group: list[Problem], more: list[Problem]) -> Cause:
        missing = self._missing()
        if self.refused is None:
            one = len(self.unknown) == 1
            message = f"the table's column{'' if one else 's'} {_listed(self.unknown)} {'is' if one else 'are'} unknown"
        elif missing:
            one = len(missing) == 1
            message = (
                f"the table has no column{'' if one else 's'} {_listed(missing)}; its columns are "
                f"{_listed(self.columns)}"
            )
        else:
            message = f"the table's header is refused: {self.refused.message}"
        return Cause(
            kind="unknown column" if self.refused is None or missing else "wrong field",
            message=shortened(message, 2 * _LONGEST),
            count=1,
            left_out=_n_left_out([*group, *more]),
            places=(group[0].place,),
            span="",
            follows={kind: n for kind, n in Counter(p.kind for p in more).items() if kind != "no turns"},
            advice=self._advice(missing),
        )

    def _missing(self) -> list[str]:
        if self.refused is None:
            return []
        missing = [name for name in _REQUIRED if name not in self.columns]
        return missing if {"vote", "correct"} & set(self.columns) else [*missing, "vote"]

    def _advice(self, missing: Sequence[str]) -> str:
        others = [
            n for n in TABLE_COLUMNS if n not in (*missing, *self.columns, *_REQUIRED, "vote", "correct")
        ]
        pairs: dict[str, str] = {}
        for name in (*missing, *others):
            # A column of its own meaning, such as model, may be the only one that can say who the agents are.
            among = self.columns if name in missing else self.unknown
            free = [
                column for column in among if column not in (*pairs.values(), *_REQUIRED, "vote", "correct")
            ]
            if meant := _meant(name, free):
                pairs[name] = meant
        unknown = [name for name in missing if name not in pairs]
        if self.refused is not None and not missing:
            return "Keep one of the columns that say the same."
        if not pairs and not unknown:
            them = "it" if len(self.unknown) == 1 else "them"
            return (
                f"Remove {them}, or rename {them} to what the package knows (see the log format in the docs)."
            )
        if _reader_takes("columns"):
            given = [f"{name}={column}" for name, column in pairs.items()] + [
                f"{name}=..." for name in unknown
            ]
            return f"Say which column is which: --columns {shlex.quote(','.join(given))}"
        said = [f"{column} to {name}" for name, column in pairs.items()]
        advice = f"Rename columns: {', '.join(said)}." if said else ""
        if unknown:
            advice += f" Add, or rename to, {_listed(unknown)}."
        return advice.strip()


def _meant(name: str, columns: Sequence[str]) -> str | None:
    """Return the column that most likely says what the standard column `name` says."""
    plain = {re.sub(r"[\W_]+", "_", column.strip().lower()): column for column in reversed(columns)}
    known = next((plain[word] for word in (name, *_MEANT.get(name, "").split()) if word in plain), None)
    near = difflib.get_close_matches(name, plain, 1, 0.75)
    return known or (plain[near[0]] if near else None)


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = [shortened(name, 60) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _header(file: str, own: Sequence[Problem]) -> _Header | None:
    """Find what is wrong with the header among the problems of line 1."""
    unknown = tuple(p.field for p in own if p.kind == "unknown column" and p.field is not None)
    refused = next((p for p in own if p.kind == "wrong field"), None)
    if not unknown and refused is None:
        return None
    listed = _got(refused).split(", ") if refused is not None and "have" in refused.message else []
    return _Header(file, tuple(listed), unknown, refused)
