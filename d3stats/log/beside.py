"""Marks of right and wrong, and of calls that failed, in columns beside the votes that are not read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Bools
from d3stats._words import counted, verb
from d3stats.log.cells import truths
from d3stats.log.column_names import other_names, plain, to_type
from d3stats.log.columns import Coded, unified
from d3stats.note import Note, Severity, warning
from d3stats.plausibility import like_missing
from d3stats.values import canonical_text, is_missing_word

__all__ = ["beside_votes", "tells_of_votes"]

_MARKS = frozenset(("correct", *other_names("correct")))
_STATES = frozenset(
    ("status", "callstatus", "responsestatus", "requeststatus", "apistatus", "finishreason", "finish", "stopreason",
     "error", "errors", "errortype", "errormessage", "errorcode", "exception")
)  # fmt: skip
_FAILED = re.compile(
    r"err|error\b.*|.*error|failed|failure|fail|time(?:d[ _-]?)?out.*|refus(?:ed|al)|content[ _-]?filter(?:ed)?|"
    r"length|max[ _-]?(?:output[ _-]?)?tokens|truncated|rate[ _-]?limit.*|exception\b.*|invalid.*|cancell?ed|aborted|"
    r"overloaded|safety|blocked|(?:http[ _]?)?[45][0-9][0-9]\b.*",
    re.IGNORECASE,
)
_RIGHT = frozenset(("pass", "passed", "correct", "right", "wrong", "incorrect"))
"""A column with one of these words says whether answers are right."""
_FEW = 0.005
"""From this share of the votes on, votes of calls that failed are warned of; below it they are noted."""


def tells_of_votes(name: str) -> bool:
    """Whether a column has a name that says that votes are right, or that calls failed."""
    return plain(name) in _MARKS | _STATES | {"score"}


def beside_votes(
    columns: Mapping[str, Coded],
    vote: Coded,
    label: Coded | None = None,
    places: Sequence[Coded] = (),
    *,
    counts: str = "",
) -> list[Note]:
    """Say how columns contradict the votes beside them, or that calls failed whose votes count.

    Parameters
    ----------
    columns : mapping of str to Coded
        Columns that were not read, by name, a cell per row.
    vote, label : Coded
        The vote and the right answer of each row; a label may be in one row of its debate alone.
    places : sequence of Coded
        The debate of each row, and its round where there are several.
    counts : str
        The column of `columns` that counts in place of the votes; "" where votes do.

    Returns
    -------
    list of Note

    Examples
    --------
    >>> vote, label = Coded.of(["A", "B", "A"]), Coded.of(["A", "A", "A"])
    >>> found = beside_votes({"ok": Coded.of(["1"] * 3), "is_correct": Coded.of(["1", "1", "1"])}, vote, label)
    >>> found[0].partition(";")[0]
    "WARNING: column 'is_correct' contradicts vote and label in 1 of 3 rows, for example vote 'B', label 'A', '1'"
    >>> beside_votes({"status": Coded.of(["ok", "error", "ok"])}, vote)[0].partition(";")[0]
    "WARNING: 1 of 3 votes stands in rows whose column 'status' says 'error'"
    """
    forms = {text: canonical_text(text) for text in vote.occurring()}
    vote = vote.mapped(forms)
    cast = (vote.codes >= 0) & ~np.isin(
        vote.codes, [k for k, text in enumerate(vote.values) if like_missing(str(text))]
    )
    found = []
    if label is not None:
        label = label.mapped({text: canonical_text(text) for text in label.occurring()})
        (votes, labels), answers = unified(vote, label)
        if places:
            known = np.full(len(places[0].values), -1, dtype=labels.dtype)
            known[places[0].codes[labels >= 0]] = labels[labels >= 0]
            labels = known[places[0].codes]
        judged = cast & (labels >= 0)
        cell = _cells(places, len(votes))
        for name, column in columns.items():
            said = _truths(name, column)
            if said is None:
                continue
            rows = judged & (said >= 0)
            wrong = rows & ((votes == labels) != (said == 1))
            if not wrong.any() or (
                not counts and _of_groups(cell[rows], said[rows], (votes == labels)[rows])
            ):
                continue
            k, n = int(np.argmax(wrong)), int(wrong.sum())
            use = f"{name!r} counts" if name == counts else f"the votes count, unless {to_type(correct=name)}"
            text = (
                f"column {name!r} contradicts vote and label in {n:,} of {counted(int(rows.sum()), 'row')}, for "
                f"example vote {answers[votes[k]]!r}, label {answers[labels[k]]!r}, "
                f"{column.values[column.codes[k]]!r}; {use}"
            )
            found.append(warning(text, "contradicting column", about=name, n=n))
    for name, column in columns.items():
        found += _failures(name, column, cast)
    return found


def _cells(places: Sequence[Coded], n: int) -> NDArray[np.int64]:
    cell = np.zeros(n, dtype=np.int64)
    for place in places:
        cell = cell * (len(place.values) + 1) + place.codes
    return cell if places else np.arange(n)


def _truths(name: str, column: Coded) -> NDArray[np.int64] | None:
    """Return 1, 0 or -1 (missing) of each row where a column says whether votes are right; None where it does not."""
    known = plain(name) in _MARKS or (
        plain(name) == "score" and {*column.occurring()} <= {"0", "1", "0.0", "1.0"}
    )
    meant = truths(column.occurring()) if known else None
    if not meant:
        return None
    lookup = np.array([*(meant.get(text, -1) for text in column.values), -1], dtype=np.int64)
    return lookup[column.codes]


def _of_groups(cell: NDArray[np.int64], said: NDArray[np.int64], right: Bools) -> bool:
    """Whether a column says one thing of all votes of a round although some are right and some wrong."""
    _, cell = np.unique(cell, return_inverse=True)
    n = np.bincount(cell)
    yes, hits = np.bincount(cell, said), np.bincount(cell, right)
    mixed = (hits > 0) & (hits < n)
    return bool(mixed.any() and ((yes == 0) | (yes == n))[n > 1].all())


def _failures(name: str, column: Coded, cast: Bools) -> list[Note]:
    if plain(name) not in _STATES:
        return []
    words = [text for text in column.occurring() if not is_missing_word(text)]
    failed = [text for text in words if _FAILED.fullmatch(text.strip())]
    if not failed or {text.strip().casefold() for text in words} & _RIGHT:
        return []
    bad = np.isin(column.codes, [k for k, text in enumerate(column.values) if text in failed])
    n, votes = int((bad & cast).sum()), int(cast.sum())
    shown = ", ".join(map(repr, sorted(failed)[:3])) + (", ..." if len(failed) > 3 else "")
    where = f"rows whose column {name!r} says {shown}"
    if not n:
        return [
            Note(f"{counted(int(bad.sum()), 'row')} without a vote: {where}", kind="failed calls", about=name)
        ]
    text = (
        f"{n:,} of {counted(votes, 'vote')} {verb(n, 'stands', 'stand')} in {where}; they count as answers, so empty "
        "these cells if the calls failed"
    )
    severity: Severity = "warning" if n >= _FEW * votes else "note"
    return [Note(text, kind="failed calls", severity=severity, about=name, n=n, examples=sorted(failed)[:3])]
