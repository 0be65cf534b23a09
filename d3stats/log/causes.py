"""What brought about the problems of a log: problems that share a cause are one, and each cause has its advice."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

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
    meaning : str
        What such a problem is, and what a lenient reader does about it.
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
    meaning: str
    count: int
    left_out: int
    places: tuple[str, ...]
    span: str
    follows: dict[str, int]
    advice: str


def causes_of(problems: Sequence[Problem]) -> tuple[Cause, ...]:
    """Put problems of one cause together: whole files first, then single records, then what concerns several.

    A lost file or line explains the unknown debates, gaps and panels
    that it leaves behind; the same message about other values is the same problem.

    Examples
    --------
    >>> rows = [Problem("a.csv", n, "round", f"round must be whole; got round='{n}x'", "wrong field") for n in (2, 3)]
    >>> (cause,) = causes_of(rows)
    >>> cause.count, cause.message, cause.places
    (2, 'round must be whole', ("a.csv, line 2: got round='2x'", "a.csv, line 3: got round='3x'"))
    """
    groups: dict[_Key, list[Problem]] = defaultdict(list)
    for problem in problems:
        detail = (
            (problem.file,)
            if problem.kind in ("mixed coding", "unknown column")
            else (problem.field or "", _pattern(problem.message))
        )
        groups[problem.kind, *detail].append(problem)
    follows = _following(groups)
    order = {kind: place for place, kind in enumerate(KINDS)}
    kept = [key for key in groups if key not in follows.absorbed]
    kept.sort(key=lambda key: (not _whole_file(groups[key][0]) or key[0] in _EFFECTS, order[key[0]]))
    return tuple(_cause(groups[key], follows.by_cause.get(key, [])) for key in kept)


_Key = tuple[str, ...]


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
    misspelled = problem.kind == "unknown column" and "did you mean" in problem.message
    return (
        problem.left_out == "nothing" and not misspelled
    ) or "nothing after it was read" in problem.message


# ---------------------------------------------------------------- one cause


_TO_DO = re.compile(r"[;:] ((?:say which|if that is right|columns=).*)", re.DOTALL)
"""What a message itself says is to be done."""


def _cause(group: list[Problem], more: list[Problem]) -> Cause:
    first = group[0]
    known = KINDS[first.kind]
    said = [_TO_DO.sub("", p.message).partition("; got ") for p in group]
    requirement = said[0][0]
    if any(each[0] != requirement for each in said):
        # The requirement names its debate or its numbers, so it stands with each place.
        requirement = known.meaning.rstrip(".")
        places = [f"{p.place}: {p.message}" for p in group[:PLACES]]
    else:
        places = [
            f"{p.place}{got and f': got {got}'}" for p, (_, _, got) in zip(group[:PLACES], said, strict=False)
        ]
    refused = _whole_file(first) and first.kind in ("unknown column", "wrong field")
    return Cause(
        kind=first.kind,
        message=shortened(requirement, _LONGEST),
        meaning="The table is passed over." if refused else f"{known.meaning} {known.leniently}",
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
    if told := _TO_DO.search(problem.message):
        return f"{told[1][0].upper() if told[1][0] in 'si' else told[1][0]}{told[1][1:]}"
    if problem.kind == "wrong field":
        return _ADVICE.get(problem.field or "", KINDS[problem.kind].advice)
    return KINDS[problem.kind].advice


_ADVICE = {
    "answers": 'Write the answer set as a JSON list, ["A", "B"], in the cell.',
    "round": "Write rounds as whole numbers: 1, 2, 3.",
    "stop_round": "Write rounds as whole numbers: 1, 2, 3.",
    "correct": "Write 1 for right, 0 for wrong, and nothing where there is no vote.",
}
