"""Was a table of votes read as it was meant? Signs that it was not: odd labels, exchanged columns, copied runs.

Each sign is a sentence with what to do. ``doctor`` lists them and exits with 2; the analyses put the same sentences
above their tables. Nothing is changed or left out because of a finding.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Ints
from d3stats._words import counted, verb
from d3stats.note import Note, Severity, severity_of, warning
from d3stats.values import stated_answer, statement_in

__all__ = [
    "FINDINGS",
    "NO_SIDE",
    "OF_NUMBERS",
    "OF_SCORES",
    "Finding",
    "VoteTable",
    "findings",
    "judged",
    "like_missing",
    "name_signs",
    "names_alike",
    "number_signs",
    "odd_numbers",
    "running_totals",
    "score_signs",
    "several_labels",
    "several_of",
    "two_scales",
    "warnings_of",
    "word_signs",
]

MUCH_MISSING = 0.2
"""From this share of missing votes on, how many are missing is a finding."""
_SOME = 8
"""Fewer debates than this may all be wrong, or all get one vote, by chance."""
_MANY = 50
"""Fewer votes than this may all be right, or all different, by chance."""


@dataclass(frozen=True)
class Finding:
    """One sign that a table was not read as it was meant: a key of :data:`FINDINGS`, what was seen and what to do.

    Attributes
    ----------
    kind : str
        A key of ``FINDINGS``.
    message : str
        What was seen, and what to do.
    severity : {"warning", "note"}
        A note where numbers hardly change by it.

    Examples
    --------
    >>> import d3stats
    >>> debates = d3stats.Trajectories.from_arrays([[["a", "b"]]] * 3, label=["A", "B", "A"])
    >>> [found.kind for found in debates.findings()]
    ['no vote is a label', 'answers in several spellings']
    """

    kind: str
    message: str
    severity: Severity = "warning"

    @property
    def note(self) -> Note:
        """The finding as a note above the tables of an analysis, or below where numbers hardly change by it."""
        return Note(self.message, kind=self.kind, severity=self.severity)


@dataclass(frozen=True)
class VoteTable:
    """Votes, one entry per turn of an agent that has a seat, and what is known of each debate.

    Attributes
    ----------
    debate, round, agent, vote : ndarray of int, shape (turns,)
        Code of the debate, round from 1, code of the agent, code of the answer (-1 missing).
    label, group, cluster : ndarray of int, shape (debates,)
        Codes of the right answer (-1 unknown), of the run and of the cluster that is resampled.
    debates, agents, answers, groups : sequence of str
        The values of the codes.
    depth : ndarray of int, shape (debates,)
        Rounds played, 0 for a debate without turns.
    question : sequence of str or None
        The question of each debate, None or "" where the source names none.
    tokens : ndarray of float or None
        Any recorded token counts.
    errors : mapping of str to int or None
        Reasons why votes are missing, to how many; None where the source does not tell.
    scored : bool
        Whether the log has scores; such a log may have no votes at all.
    unit : str
        What a debate is called in a message.
    only_right_or_wrong : bool
        Whether votes say only whether they are right.
    known_protocol : bool
        Whether the debates name the protocol that produced them; a single judge is then intended.
    category : sequence of str or None
        The kind of each debate's question, None where the source names none.
    scores_in_part : tuple of int
        Turns with only a part of the scores, and turns with scores.
    off_scale : sequence of str
        Each score that does not lie on the scale of its run, in words.
    scores : mapping of str to ndarray of float
        The scores by criterion, each as an agent gave it.

    Examples
    --------
    >>> zero, one = np.zeros(2, np.int64), np.ones(2, np.int64)
    >>> table = VoteTable(
    ...     debate=np.arange(2), round=one, agent=zero, vote=zero, label=one, group=zero, cluster=np.arange(2),
    ...     debates=["d1", "d2"], agents=["x"], answers=["a", "A"], groups=[""], depth=one,
    ... )
    >>> [found.kind for found in findings(table)]
    ['no vote is a label', 'answers in several spellings']
    >>> table.cast.tolist(), table.right.tolist()
    ([True, True], [1, 1])
    """

    debate: Ints
    round: Ints
    agent: Ints
    vote: Ints
    label: Ints
    group: Ints
    cluster: Ints
    debates: Sequence[str]
    agents: Sequence[str]
    answers: Sequence[str]
    groups: Sequence[str]
    depth: Ints
    question: Sequence[str] | None = None
    tokens: NDArray[np.float64] | None = None
    errors: Mapping[str, int] | None = None
    scored: bool = False
    unit: str = "debate"
    only_right_or_wrong: bool = False
    known_protocol: bool = False
    category: Sequence[str | None] | None = None
    scores_in_part: tuple[int, int] = (0, 0)
    off_scale: Sequence[str] = ()
    scores: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.debates)

    @cached_property
    def _signs_of_names(self) -> tuple[Finding, ...]:
        """The signs of the names of debates and questions."""
        at = _different(self.debate)
        signs = name_signs([self.debates[k] for k in at], self.unit)
        if self.question is None:
            return signs
        return (*signs, *name_signs([name for k in at if (name := self.question[k])], "question"))

    @cached_property
    def cast(self) -> NDArray[np.bool_]:
        """Turns with a vote."""
        return self.vote >= 0

    @cached_property
    def right(self) -> Ints:
        """The right answer of each turn's debate, -1 unknown."""
        return self.label[self.debate]

    @cached_property
    def contents(self) -> list[bytes]:
        """The votes of each debate, by round and agent's place among its agents, as one key."""
        return self._first_contents(len(self))

    def _first_contents(self, n: int) -> list[bytes]:
        """Return the `contents` of the first `n` debates."""
        here = np.flatnonzero(self.debate < n)
        order = here[np.lexsort((self.agent[here], self.round[here], self.debate[here]))]
        rows = np.stack([self.round[order].astype(np.int32), self.vote[order].astype(np.int32)], axis=1)
        ends = np.searchsorted(self.debate[order], np.arange(n + 1)).tolist()
        return [rows[a:b].tobytes() for a, b in pairwise(ends)]


def findings(table: VoteTable) -> tuple[Finding, ...]:
    """Look for every sign that a table of votes was not read as it was meant.

    Parameters
    ----------
    table : VoteTable
        Votes, and what is known of each debate.

    Returns
    -------
    tuple of Finding
        Empty where nothing is odd.

    Examples
    --------
    >>> findings(VoteTable(*[np.zeros(0, np.int64)] * 7, [], [], [], [], np.zeros(0, np.int64)))
    ()
    """
    return _found(table, FINDINGS)


def _found(table: VoteTable, kinds: Iterable[str]) -> tuple[Finding, ...]:
    found = ((kind, FINDINGS[kind](table)) for kind in kinds) if len(table) else ()
    return tuple(
        Finding(kind, message, severity_of(message) if isinstance(message, Note) else "warning")
        for kind, message in found
        if message
    )


def warnings_of(found: Iterable[Finding]) -> list[Note]:
    """Write findings as notes above a table.

    Parameters
    ----------
    found : iterable of Finding
        As :func:`findings` gives them.

    Returns
    -------
    list of Note

    Examples
    --------
    >>> warnings_of([Finding("one answer only", "every vote is 'A'")])
    ["WARNING: every vote is 'A'"]
    """
    return [each.note for each in found]


def judged(
    item: Any,
    judge: Any,
    vote: Any,
    label: Any = None,
    *,
    answers: Sequence[str] | None = None,
    cluster: Any = None,
) -> tuple[Finding, ...]:
    """Look for the signs that concern judgments of items by raters, of which each item has one round.

    Parameters
    ----------
    item, judge, vote, label : array of texts, or of codes, shape (judgments,)
        None or -1 where a vote or a label is missing.
    answers : sequence of str, optional
        The values of the codes of votes and labels, when they are codes.
    cluster : array of texts, shape (judgments,), optional
        The cluster of each judgment's item; by default each item is its own.

    Returns
    -------
    tuple of Finding

    Examples
    --------
    >>> [found.kind for found in judged([1, 2, 3], ["x"] * 3, ["yes", "no", "yes"], ["Y", "N", "Y"])]
    ['no vote is a label']
    """
    items, names = _codes(item)
    judges, who = _codes(judge)
    if answers is None:
        together, answers = _codes([*vote, *(label if label is not None else [])])
        votes, labels = together[: len(items)], together[len(items) :]
    else:
        votes = np.asarray(vote, dtype=np.int64)
        labels = np.asarray([] if label is None else label, dtype=np.int64)
    right = np.full(len(names), -1, dtype=np.int64)
    if len(labels):
        right[items] = labels
    none, one = np.zeros_like(right), np.ones_like(right)
    of_item = np.arange(len(names))
    if cluster is not None:
        of_item[items] = _codes(cluster)[0]
    table = VoteTable(
        debate=items, round=np.ones_like(items), agent=judges, vote=votes, label=right, group=none, cluster=of_item,
        debates=names, agents=who, answers=answers, groups=[""], depth=one, unit="item",
        only_right_or_wrong=set(answers) <= {"right", "wrong"},
    )  # fmt: skip
    return _found(table, [kind for kind in FINDINGS if kind in _OF_JUDGMENTS])


_OF_JUDGMENTS = {
    "no vote is a label",
    "labels without a vote",
    "votes that are dates",
    "votes that state an answer",
    "answers in several spellings",
    "names in several spellings",
    "votes like missing values",
    "votes that are no label",
    "votes of no agent",
    "every debate wrong",
    "one answer only",
    "one label only",
    "votes with several answers",
    "answers in several ways",
    "votes are texts",
    "agents without a vote",
    "many votes missing",
}
"""The signs that a table of items and raters can show; rounds, panels and runs it does not have."""


def _codes(texts: Any) -> tuple[Ints, list[str]]:
    column = pd.Series(list(texts), dtype=object)
    if pd.api.types.infer_dtype(column, skipna=True) == "string":
        found, values = pd.factorize(column)
        return found.astype(np.int64), list(map(str, values))
    known: dict[str, int] = {}
    codes = [
        -1 if text is None or text != text else known.setdefault(str(text), len(known)) for text in texts
    ]
    return np.array(codes, dtype=np.int64), list(known)


def _no_vote_is_a_label(t: VoteTable) -> str:
    both = t.cast & (t.right >= 0)
    if t.only_right_or_wrong or not both.any() or (t.vote == t.right)[both].any():
        return ""
    votes = {t.answers[k] for k in _different(t.vote[both])}
    labels = {t.answers[k] for k in _different(t.label[t.label >= 0])}
    return (
        f"no vote ever equals its label (votes {_listed(votes)}; labels {_listed(labels)}), so every "
        f"accuracy would be 0; {_how_they_differ(votes, labels)}"
    )


def _how_they_differ(votes: set[str], labels: set[str]) -> str:
    if votes & labels:
        return (
            "both have the same answers, but never together; check that votes and labels belong to the "
            "same questions"
        )
    if {_folded(v) for v in votes} & {_folded(x) for x in labels}:
        return "they differ only in case or punctuation; write both in the same way"
    for one, other, these, those in (("label", "vote", labels, votes), ("vote", "label", votes, labels)):
        if all(map(_is_number, these)) and not any(map(_is_number, those)):
            return (
                f"{one}s are numbers and {other}s are not; write the answer itself in the {one}, not "
                "its position"
            )
    return "write both in the same way, or name the columns of votes and labels"


def several_of(question: Iterable[str | None], said: Iterable[Any]) -> dict[str, list[str]]:
    """Return the questions of which debates say different things, with what they say, sorted.

    Parameters
    ----------
    question, said : iterable of str or None
        One per debate; None or "" where a debate names no question, or says nothing.

    Returns
    -------
    dict of str to list of str

    Examples
    --------
    >>> several_of(["q1", "q1", "q2", "q2", None], ["A", "B", "A", None, "C"])
    {'q1': ['A', 'B']}
    """
    found: dict[str, set[str]] = defaultdict(set)
    for name, word in zip(question, said, strict=True):
        if name and word is not None and word == word:
            found[name].add(str(word))
    return {name: sorted(words) for name, words in found.items() if len(words) > 1}


def _questions_with_several(what: str, question: Sequence[str | None], said: Iterable[Any]) -> str:
    """Say which questions have several labels or categories, as "2 questions of 9 have several ..."; "" where none."""
    several = several_of(question, said)
    if not several:
        return ""
    asked = len({name for name in question if name})
    name, words = next(iter(several.items()))
    more = f", and so on in {_listed(list(several)[1:])}" if len(several) > 1 else ""
    return (
        f"{counted(len(several), 'question')} of {asked:,} {verb(len(several), 'has', 'have')} several {what} "
        f"({name!r} has {' and '.join(map(repr, words[:3]))}{more})"
    )


def several_labels(question: Sequence[str | None], label: Iterable[str | None]) -> str:
    """Say which questions have debates with different labels, and what to do; "" where none has.

    Parameters
    ----------
    question, label : sequence of str or None
        One per debate.

    Returns
    -------
    str

    Examples
    --------
    >>> several_labels(["q1", "q1"], ["A", "B"]).partition(",")[0]
    "1 question of 1 has several labels ('q1' has 'A' and 'B')"
    """
    said = _questions_with_several("labels", question, label)
    return said and (
        f"{said}, so one vote is right in some debates of a question and wrong in others; correct the "
        "labels, or give debates with answers of another order a question of their own"
    )


def _several_labels(t: VoteTable) -> str:
    if t.only_right_or_wrong or t.question is None:
        return ""
    return several_labels(t.question, [t.answers[k] if k >= 0 else None for k in t.label])


def _several_categories(t: VoteTable) -> str:
    if t.category is None or t.question is None:
        return ""
    said = _questions_with_several("categories", t.question, t.category)
    return said and f"{said}, which estimates by category refuse; give each question one category"


def _labels_nobody_votes(t: VoteTable) -> str:
    cast = t.vote[t.cast]
    used = _different(cast)
    known = t.label[t.label >= 0]
    if t.only_right_or_wrong or not 2 <= len(used) <= 8 or len(cast) < 20 * len(used):
        return ""
    strange = known[~np.isin(known, used)]
    if not len(strange) or len(strange) == len(known):
        return ""
    names = {t.answers[k] for k in _different(strange)}
    return (
        f"{counted(len(strange), t.unit)} of {len(known):,} {verb(len(strange), 'has', 'have')} a label "
        f"that no agent votes for ({_listed(names)}; votes are {_listed({t.answers[k] for k in used})}); "
        "these votes count as wrong; check how labels are written"
    )


_CLOSED = 26
"""As many different labels are the answers of every question; more are answers of their own questions."""


def _votes_state_answers(t: VoteTable) -> str:
    if t.only_right_or_wrong:
        return ""
    labels = {t.answers[k] for k in _different(t.label[t.label >= 0])}
    closed = len(labels) <= _CLOSED and 2 * len(labels) <= max(int((t.label >= 0).sum()), 2)
    known = t.cast & (t.right >= 0) & (t.vote != t.right)
    width = len(t.answers)
    if not labels:
        pairs = _stated_among_votes(t)
        closed = True
    elif closed:
        votes, n = np.unique(t.vote[t.cast], return_counts=True)
        # An answer that is never right is no label, but it is voted for, and a sentence may state it.
        letters = {text for k in votes if (text := t.answers[k]).isascii() and _all_short({text})}
        among = labels | letters if _all_short(labels) else labels
        pairs = [(t.answers[k], among - {t.answers[k]}, int(many)) for k, many in zip(votes, n, strict=True)]
        pairs = [each for each in pairs if each[0] not in labels]
    else:
        both, n = np.unique(t.vote[known] * width + t.right[known], return_counts=True)
        pairs = [
            (t.answers[k // width], {t.answers[k % width]}, int(many))
            for k, many in zip(both, n, strict=True)
        ]
    found = [
        (text, answer, many)
        for text, among, many in pairs
        if (answer := stated_answer(text, among, anywhere=closed and (bool(labels) or _all_short(among))))
        is not None
        and _folded(text) != _folded(answer)
    ]
    if not found:
        return ""
    total, cast = sum(many for *_, many in found), int(t.cast.sum())
    found.sort(key=lambda each: -each[2])
    text, answer, _ = found[0]
    return (
        f"{total:,} of {counted(cast, 'vote')} {verb(total, 'equals', 'equal')} no answer but "
        f"{verb(total, 'states', 'state')} one ({statement_in(text, 60)!r} says {answer!r}); they are other answers "
        "without read='answer' (--read answer)"
    )


def _stated_among_votes(t: VoteTable) -> list[tuple[str, set[str], int]]:
    """Return the votes of a table without labels, with the shorter votes that each may state, and how many there are.

    Of votes of one length the one that occurs more often may be stated by the other; numbers state nothing.
    """
    votes, n = np.unique(t.vote[t.cast], return_counts=True)
    many = {t.answers[k]: int(times) for k, times in zip(votes, n, strict=True)}
    if len(many) > _CATEGORIES:
        return []

    def rank(text: str) -> tuple[int, int, str]:
        return len(text), -many[text], text

    found = []
    for text in many:
        among = {other for other in many if rank(other) < rank(text)}
        short = {other for other in among if _all_short({other})}
        for each in (among, short):
            if (
                each
                and not _is_number(text)
                and stated_answer(text, each, anywhere=_all_short(each)) is not None
            ):
                found.append((text, each, many[text]))
                break
    return found


_CATEGORIES = 60
"""In a table without labels that has more different votes, votes that state others are not looked for."""


def _all_short(answers: set[str]) -> bool:
    """Whether answers are single letters or digits, which may be anywhere in a sentence that states them."""
    return all(len(answer) == 1 for answer in answers)


def _answers_alike(t: VoteTable) -> str:
    if t.only_right_or_wrong:
        return ""
    used = _different(np.concatenate([t.vote, t.label]))
    alike = defaultdict(list)
    for name in sorted(t.answers[k] for k in used[used >= 0]):
        alike[_folded(name)].append(name)
    twins = [names for folded, names in alike.items() if folded and len(names) > 1]
    if not twins:
        return ""
    more = f" and {len(twins) - 1} more such answers" if len(twins) > 1 else ""
    labels = {t.answers[k] for k in _different(t.label[t.label >= 0])}
    votes, n = np.unique(t.vote[t.cast], return_counts=True)
    stated = [
        int(many)
        for k, many in zip(votes, n, strict=True)
        if t.answers[k] not in labels and stated_answer(t.answers[k], labels) is not None
    ]
    step = (
        f"; read='answer' (--read answer) reads {sum(stated):,} of {int(n.sum()):,} votes as labels"
        if stated
        else ""
    )
    return (
        f"answers differ only in case or punctuation: {_listed(twins[0])}{more}; they count as different "
        f"answers, so write them in the same way{step}"
    )


def names_alike(**names: Iterable[str | None]) -> str:
    """Say which names of one kind differ only in case or in how a number is written, and what to do; else "".

    Parameters
    ----------
    **names : iterable of str or None
        Names by what they name. Only the first kind with such names is told.

    Returns
    -------
    str

    Examples
    --------
    >>> names_alike(persona=["ethics", None, "Ethics"]).partition(";")[0]
    "names of personas differ only in upper and lower case: 'Ethics', 'ethics'"
    >>> names_alike(persona=["ethics", "law"], judge=["J"])
    ''
    """
    for kind, every in names.items():
        known = {name for name in every if isinstance(name, str)}
        if len(set(map(_plain_name, known))) == len(known):
            continue
        alike = defaultdict(list)
        for name in sorted(known):
            alike[_plain_name(name)].append(name)
        twins = [several for several in alike.values() if len(several) > 1]
        how = "upper and lower case" if _one(map(str.casefold, twins[0])) else "how a number is written"
        more = f" and {len(twins) - 1} more such names" if len(twins) > 1 else ""
        called = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
        called = _PLURALS.get(kind, called)
        return (
            f"names of {called} differ only in {how}: {_listed(twins[0])}{more}; they count as "
            f"different {called}: write them alike"
        )
    return ""


_PLURALS = {"stratum": "strata"}


def _plain_name(name: str) -> str:
    plain = name.strip().casefold()
    number = plain.lstrip("#")
    return number.lstrip("0") if number.isdecimal() else plain


def _one(texts: Iterable[str]) -> bool:
    return len({text.strip() for text in texts}) == 1


def _names_alike(t: VoteTable) -> str:
    speaker = "judge" if t.unit == "item" else "agent"
    return names_alike(
        **{t.unit: t.debates, speaker: t.agents, "run": t.groups, "category": t.category or ()}
    )


def _votes_like_missing(t: VoteTable) -> str:
    labels = {t.answers[k] for k in _different(t.label[t.label >= 0])}
    votes, n = np.unique(t.vote[t.cast], return_counts=True)
    codes = _failure_codes(t, labels)
    found = {
        t.answers[k]: int(many)
        for k, many in zip(votes, n, strict=True)
        if t.answers[k] not in labels and (t.answers[k] in codes or like_missing(t.answers[k]))
    }
    if not found or t.known_protocol:
        return ""
    total = sum(found.values())
    return (
        f"{counted(total, 'vote')} {verb(total, 'says', 'say')} {_listed(set(found))}, which looks like a "
        "missing value but is an answer; list all such words, NA too: missing_values= (--missing-values)"
    )


_MOVES = 0.005
"""From this change of the share of right votes on, votes that are no label are warned of; below it they are noted."""


NO_SIDE = frozenset({"tie", "tied", "tie (bothbad)", "bothbad", "both", "neither", "draw", "equal", "same"})
"""Verdicts that name no side, which a judge may give where each label names one of two sides."""


def _votes_no_label(t: VoteTable) -> str:
    """Name votes that are never the answer, where every question has its answer from one small set.

    Other numbers among numbers, and the letters up to two after the last label, may be answers that are never right.
    It is a warning where the share of right votes changes by half a point if these votes are left out. Verdicts that
    name none of two sides are noted: they may be meant.
    """
    labelled = np.flatnonzero(t.label >= 0)
    codes = _different(t.label[labelled])
    named = t.question if t.question is not None and any(t.question) else t.cluster.tolist()
    asked = len({named[k] for k in labelled.tolist()})
    if t.only_right_or_wrong or t.known_protocol or not 2 <= len(codes) <= _CLOSED:
        return ""
    known = t.cast & (t.right >= 0)
    cast, right = t.vote[known], int((t.vote == t.right)[known].sum())
    among = int(np.isin(cast, codes).sum())
    labels = {t.answers[k] for k in codes.tolist()}
    votes, n = np.unique(cast[~np.isin(cast, codes)], return_counts=True)
    spelled, numbers = {_folded(label) for label in labels}, all(map(_is_number, labels))
    letters = all(len(label) == 1 and label.isalpha() for label in labels)
    if asked < (2 if letters else 5) * len(codes):
        return ""
    found = [
        (t.answers[k], int(many))
        for k, many in zip(votes, n, strict=True)
        if not (numbers and _is_number(text := t.answers[k]))
        and not (
            letters
            and len(text := t.answers[k]) == 1
            and text.isalpha()
            and ord(text) <= max(map(ord, labels)) + 2
        )
        and _folded(text := t.answers[k]) not in spelled
        and not like_missing(text)
        and stated_answer(text, labels, anywhere=_all_short(labels)) is None
    ]
    total = sum(many for _, many in found)
    if not found or (2 * among < len(cast) and len(found) > _SOME):  # votes are answers of many kinds
        return ""
    said = ", ".join(
        f"{text[:40]!r} ({many:,})" for text, many in sorted(found, key=lambda each: -each[1])[:3]
    )
    told = (
        f"{total:,} of {counted(len(cast), 'vote')} {verb(total, 'says', 'say')} {said}, which is the label of no "
        f"{t.unit}; they count as wrong answers; if they mean that there is no answer, list all words that mean "
        "missing, NA and None among them, with missing_values= (--missing-values)"
    )
    no_side = len(labels) == 2 and all({_bare(text), text.casefold()} & NO_SIDE for text, _ in found)
    moved = right * total / (len(cast) * max(len(cast) - total, 1))
    if no_side or moved < _MOVES:
        return Note(told, kind="votes that are no label", n=total)
    return told


_GOLD = frozenset(
    ("gold", "golden", "label", "labels", "truth", "groundtruth", "gt", "goldlabel", "goldanswer", "answerkey",
     "correctanswer")
)  # fmt: skip
"""Names of agents that rather are columns of right answers."""
_COLLECTIVE = frozenset(
    ("majority", "consensus", "final", "ensemble", "aggregate", "aggregated", "plurality", "mode")
)
"""Names of agents that rather are columns of what the others say together."""
_RARE = 1e-6


def _votes_of_no_agent(t: VoteTable) -> str:
    """Name an agent whose every vote is the label, or the majority of the others: a column of the table that is none.

    Without a name that says so, it must be out of the question that an agent does it that errs a fourth as often as
    the best of the others.
    """
    agents = _different(t.agent)
    if t.only_right_or_wrong or t.known_protocol or not 2 <= len(agents) <= _MANY or not t.cast.any():
        return ""
    names = [t.agents[k] for k in agents.tolist()]
    words = [{*re.split(r"[\W_]+", name.casefold()), re.sub(r"[\W_]", "", name.casefold())} for name in names]
    place = np.searchsorted(agents, t.agent)
    said = _copy_of_the_label(t, place, words) or _copy_of_the_others(t, place, words)
    if said is None:
        return ""
    k, what = said
    others = "+".join(name for j, name in enumerate(names) if j != k)
    label = "" if "majority" in what else f"label={names[k]},"
    return (
        f"{'rater' if t.unit == 'item' else 'agent'} {names[k]!r} {what}; if that is no voter, leave its rows out, or, "
        f"where each voter has a column, choose them with columns= (--columns {label}votes={others})"
    )


def _copy_of_the_label(t: VoteTable, place: Ints, words: Sequence[set[str]]) -> tuple[int, str] | None:
    called = [bool(each & _GOLD) for each in words]
    if (t.label < 0).all():
        if t.unit != "item" and (t.depth <= 1).all():
            called = [bool(each & (_GOLD | {"human"})) for each in words]
        if len(words) > 2 and sum(called) == 1:
            return called.index(True), "has the name of a column of right answers, and there is no label"
        return None
    known = t.cast & (t.right >= 0)
    cast = np.bincount(place[known], minlength=len(words))
    right = np.bincount(place[known & (t.vote == t.right)], minlength=len(words))
    seen = _different(t.debate[known] * len(words) + place[known]) % len(words)
    n = np.bincount(seen, minlength=len(words))
    perfect = np.flatnonzero((right == cast) & (n >= _SOME)).tolist()
    others = (right < cast) & (n >= _SOME)
    if not others.any():
        return None
    best = float((right[others] / cast[others]).max())
    for k in perfect:
        hint = bool(words[k] & {"human", "reference", "target", "key", "expert", *_COLLECTIVE})
        chance = (1 - (1 - best) / 4) ** int(n[k])
        if called[k] or (hint and best ** int(cast[k]) < 0.05) or (len(perfect) == 1 and chance < _RARE):
            return (
                k,
                f"votes as the label in all {int(n[k]):,} {t.unit}s, and the others in {best:.0%} at most",
            )
    return None


def _copy_of_the_others(t: VoteTable, place: Ints, words: Sequence[set[str]]) -> tuple[int, str] | None:
    if len(words) < 3:
        return None
    _, few = _by_cell(t, place, len(words), np.flatnonzero(t.debate < _FIRST_DEBATES))
    # One vote against the majority is enough, and most agents have one among the first.
    left = [k for k in range(len(words)) if few is None or _always_as_the_majority(few, k)]
    if not left:
        return None
    debate, votes = _by_cell(t, place, len(words), np.arange(len(t.debate)))
    if votes is None:
        return None
    found = []
    for k in left:
        named = words[k]
        told, split, same = _against_the_majority(votes, k)
        n, n_told = len(_different(debate[split])), len(_different(debate[told]))
        enough = n_told >= _SOME if named & _COLLECTIVE else n >= _CONTESTED and len(words) > 3
        if enough and same[told].all():
            found.append((k, f"votes as the majority of the others all {n_told:,} times that they have one"))
    return found[0] if len(found) == 1 else None


def _by_cell(t: VoteTable, place: Ints, n_agents: int, turns: Ints) -> tuple[Ints, NDArray[np.int32] | None]:
    """Return the debate and the votes of each round of a debate, -1 for none; no votes where an agent has two."""
    last = int(t.round.max()) + 1
    cells, cell = _numbered(t.debate[turns] * last + t.round[turns])
    if len(_different(cell * n_agents + place[turns])) < len(cell):
        return cells, None
    votes = np.full((len(cells), n_agents), -1, dtype=np.int32)
    votes[cell, place[turns]] = t.vote[turns]
    return cells // last, votes


def _always_as_the_majority(votes: NDArray[np.int32], k: int) -> bool:
    told, _, same = _against_the_majority(votes, k)
    return bool(same[told].all())


def _against_the_majority(votes: NDArray[np.int32], k: int) -> tuple[NDArray[np.bool_], ...]:
    """Return where agent `k` votes and the others have a majority, where these also differ, and where it votes so.

    `votes` has shape (rounds of debates, agents), -1 for none.
    """
    rest = np.sort(np.delete(votes, k, axis=1), axis=1)
    times = np.array([(rest == rest[:, [j]]).sum(axis=1) * (rest[:, j] >= 0) for j in range(rest.shape[1])])
    top = times.max(axis=0)
    winner = rest[np.arange(len(rest)), np.argmax(times, axis=0)]
    alone = ((times == top) & (winner != rest.T)).sum(axis=0) == 0
    told = alone & (top >= 2) & (votes[:, k] >= 0)
    return told, told & (top < (rest >= 0).sum(axis=1)), votes[:, k] == winner


_FIRST_DEBATES = 256
"""Debates that are looked at first, because they often settle what all show."""

_CONTESTED = 40
"""Debates in which the others differ, from which on an agent that always votes as their majority is a column."""


def like_missing(text: str) -> bool:
    """Whether a vote is rather a word for a missing value or an error.

    Parameters
    ----------
    text : str
        A vote.

    Returns
    -------
    bool

    Examples
    --------
    >>> like_missing("[invalid]"), like_missing("B")
    (True, False)
    """
    return _LIKE_MISSING.fullmatch(_bare(text)) is not None


def word_signs(votes: Iterable[str], labels: Iterable[str]) -> list[Note]:
    """Say of each vote that equals no right answer whether it rather states one, or looks like a missing value.

    Nothing depends on how often a vote occurs, so parts of a log give the signs of the whole.

    Parameters
    ----------
    votes, labels : iterable of str
        The different votes and right answers; of more than 26 right answers nothing is told.

    Returns
    -------
    list of Note
        A warning for each such vote.

    Examples
    --------
    >>> [note.examples[0] for note in word_signs(["A", "B", "C", "ERROR", "The answer is B."], ["A", "B"])]
    ['ERROR', 'The answer is B.']
    """
    known = set(labels)
    if not 0 < len(known) <= _CLOSED:
        return []
    found = []
    for text in sorted(set(votes) - known):
        failed = _is_number(text) and float(text) < 0 and not any(map(_is_number, known))
        kind = "votes like missing values"
        if failed or like_missing(text):
            said = (
                "looks like a missing value but counts as wrong; list all such words, NA too: missing_values="
            )
            said += " (--missing-values)"
        elif (answer := stated_answer(text, known, anywhere=_all_short(known))) is not None:
            kind = "votes that state an answer"
            said = f"states {answer!r} but counts as wrong; d3stats fit and replay take read='answer' (--read answer)"
        else:
            continue
        found.append(
            warning(f"votes say {statement_in(text, 60)!r}, which {said}", kind=kind, examples=(text,))
        )
    return found


def _bare(text: str) -> str:
    return text.strip("[]()<>{} ").casefold()


def _failure_codes(t: VoteTable, labels: set[str]) -> set[str]:
    """Return numbers that no scale of ratings can have beside the others, such as -1 or 85 among 1 to 10."""
    names = {t.answers[k] for k in _different(t.vote[t.cast])} | labels
    closed = len(labels) <= _CLOSED and 2 * len(labels) <= int((t.label >= 0).sum())
    if labels and closed and not any(map(_is_number, labels)):
        return {name for name in names if _is_number(name) and float(name) < 0}
    words = [name for name in names if not _is_number(name)]
    if len(words) >= 2 and len(words) == len(names) - 1:  # one number among words
        return {name for name in names if _is_number(name) and float(name) < 0}
    if t.unit != "item" or len(names) < 3 or not all(map(_is_number, names)):
        return set()
    odd = odd_numbers(map(float, names))
    return {name for name in names if float(name) in odd}


_SUMS = frozenset(
    ("total", "totals", "grandtotal", "sum", "overall", "average", "avg", "mean", "median", "summe", "gesamt")
)


def row_of_sums(names: Iterable[Any], what: str = "an item") -> str:
    """Say that an item has the name of a row that sums up the others, and what to do; "" where none has.

    Parameters
    ----------
    names : iterable of str
        The items in the order of the rows.
    what : str
        What a row is, with its article.

    Returns
    -------
    str

    Examples
    --------
    >>> row_of_sums(["q1", "q2", "Total"])
    "an item is called 'Total', as a row that sums up the others is; leave the row out if it is one"
    >>> row_of_sums(["q1", "q2"])
    ''
    """
    listed = [str(name) for name in names]
    letters = re.sub(r"[\W_]+", "", " ".join(dict.fromkeys(listed))).casefold()
    if not any(
        word in letters for word in _SUMS
    ):  # one search through all names, of which there may be a million
        return ""
    found = [name for name in dict.fromkeys(listed) if re.sub(r"[\W_]", "", name).casefold() in _SUMS]
    if not found or len(set(listed)) < 3 * len(found):
        return ""
    last = (
        f"{what} is called {found[0]!r}, as a row that sums up the others is; leave the row out if it is one"
    )
    return last if len(found) == 1 else last.replace(repr(found[0]), " and another ".join(map(repr, found)))


_COPY = re.compile(
    r"(?:copy of|kopie von) +(?P<after>.+)|"
    r"(?P<before>.+?)[ _.-]*(?:[(]copy[ 0-9]*[)]|[ _.-](?:copy|kopie|copie|copia)[ _0-9]*)",
    re.IGNORECASE,
)


def name_signs(names: Iterable[Any], what: str = "item") -> tuple[Finding, ...]:
    """Look for the signs that names of items are none: a row that sums up the others, and copies of others.

    Parameters
    ----------
    names : iterable of str
        The items in the order of the rows.
    what : str
        What a name is of.

    Returns
    -------
    tuple of Finding

    Examples
    --------
    >>> [each.kind for each in name_signs(["q1", "q2", "q3", "q1 (copy)", "Total"])]
    ['row of sums', 'names of copies']
    """
    listed = [str(name) for name in names]
    known = set(listed)
    written = "\n".join(known).casefold()
    named = dict.fromkeys(listed) if "cop" in written or "kop" in written else ()
    matches = ((name, _COPY.fullmatch(name)) for name in named)
    copies = [name for name, match in matches if match and (match["after"] or match["before"]) in known]
    sums = row_of_sums(listed, f"{'an' if what[0] in 'aeiou' else 'a'} {what}")
    found = [Finding("row of sums", sums)] if sums else []
    if copies:
        text = (
            f"{counted(len(copies), what)} {verb(len(copies), 'has the name', 'have names')} of a copy of another "
            f"({_listed(copies)}); copies are not new data and make intervals too narrow, so leave them out"
        )
        found.append(Finding("names of copies", text))
    dates = [name for name in known if _DATE.fullmatch(name)]
    serials = sorted(name for name in known if re.fullmatch("[345][0-9]{4}", name)) if dates else []
    if dates and serials and len(dates) + len(serials) > 0.9 * len(known):
        text = (
            f"{counted(len(dates), what)} {verb(len(dates), 'is', 'are')} called by a date, {len(serials)} by a number "
            f"such as {serials[0]!r}, which a spreadsheet makes of a date; write the names of {what}s in one form"
        )
        found.append(Finding("dates as numbers", text))
    return tuple(found)


def two_scales(numbers: Iterable[float], what: str = "values") -> str:
    """Say that some numbers seem to be on a scale of 10, 100 or 1000 times the others; "" where none do.

    A column has shares from 0 to 1 and percentages if few values lie just above 1. On other scales all values above are
    10 or 100 times a value with as many digits as those below have.

    Parameters
    ----------
    numbers : iterable of float
        All values of a column, or of raters.
    what : str
        What they are, in the plural.

    Returns
    -------
    str

    Examples
    --------
    >>> two_scales([0.2, 0.5, 0.9, 1, 40, 70, 85, 90])
    '4 of 8 values lie from 0 to 1 and the others up to 90, as on two scales; write all on one scale'
    >>> two_scales([7.5, 3.2, 8.1, 2.6, 74, 31, 79, 28]), two_scales([7.5, 3.2, 8.1, 2.6, 74.5, 31, 79, 28])
    ('4 of 8 values lie from 2.6 to 8.1 and the others up to 79, as on two scales; write all on one scale', '')
    """
    values = np.asarray(list(numbers), dtype=np.float64)
    if len(values) < 6 or values.min() < 0:
        return ""
    for top, by in ((1.0, 100.0), (5.0, 10.0), (10.0, 10.0), (10.0, 100.0)):
        low, high = values[values <= top], values[values > top]
        if min(len(low), len(high)) < max(3, _LEAST_SHARE * len(values)) or high.max() > by * top:
            continue
        if top == 1:
            apart = (low % 1 > 0).any() and (high > 10).mean() >= 0.75
        else:
            steps = next((10.0**d for d in range(4) if np.allclose(low * 10**d % 1, 0)), 10.0**4)
            fine = ~np.isclose(low * steps / by % 1, 0) & ~np.isclose(low * steps / by % 1, 1)
            apart = fine.mean() >= 0.5 and np.allclose(np.round(high / by * steps), high / by * steps)
            apart = apart and (high > 2 * top).mean() >= 0.75
        if apart:
            return (
                f"{len(low):,} of {len(values):,} {what} lie from {low.min() if top > 1 else 0:g} to "
                f"{low.max():g} and the others up to {high.max():g}, as on two scales; write all on one scale"
            )
    if few := _few_beyond(values, what):
        return few
    ordered = np.sort(values)
    if ordered[0] > 0:
        at = int(np.argmax(ordered[1:] / ordered[:-1])) + 1
        low, high = ordered[:at], ordered[at:]
        gap = high[0] / low[-1]
        apart = gap >= 20 and gap > max(low[-1] / low[0], high[-1] / high[0])
        units = 300 < np.median(high) / np.median(low) < 3000
        if apart and units and min(len(low), len(high)) >= max(3, _LEAST_SHARE * len(values)):
            return (
                f"{len(low):,} of {len(values):,} {what} lie from {low[0]:g} to {low[-1]:g} and the others from "
                f"{high[0]:g} to {high[-1]:g}, as in two units, a thousand times apart; write all in one unit"
            )
    return ""


def _few_beyond(values: NDArray[np.float64], what: str) -> str:
    """Say that a few values lie far beyond a scale of whole or half points that all others keep to; else "".

    The others reach the end of the scale, and nothing lies between it and the few. Where these are 10 times a value of
    the scale, the others may have decimals.
    """
    for top in (5.0, 7.0, 10.0):
        low, high = values[values <= top], values[values > top]
        if not 3 <= len(high) <= _LEAST_SHARE * len(values) + 1 or len(low) < 20 or low.max() < 0.9 * top:
            continue
        points = np.isclose(low * 2 % 1, 0).all()
        digits = next((d for d in range(3) if np.isclose(low * 10**d % 1, 0).all()), None)
        by_ten = (
            digits is not None
            and np.allclose(np.round(high / 10, digits) * 10, high)
            and high.max() <= 10 * top
        )
        if not (points or by_ten) or high.min() < 1.5 * top or (not by_ten and high.min() < 2 * top):
            continue
        if (
            by_ten and digits and np.isclose(low % 1, 0).mean() > 0.5
        ):  # 1 decimal is no sign where few have one
            continue
        return (
            f"{len(high):,} of {len(values):,} {what} lie from {high.min():g} to {high.max():g} and the others from "
            f"{low.min():g} to {low.max():g}, as on two scales; write all on one scale"
        )
    return ""


_LEAST_SHARE = 0.1
"""From this share of the values on each scale on, two scales are warned of."""


_CODES = frozenset(
    float(code) for code in (-1, -9, -99, -98, -97, -999, -998, -997, -9999, 99, 999, 9999, 99999)
)
"""Numbers that stand for a missing value or a failure where they lie outside the scale."""

_SCALE = 12
"""With more different values than this, a value far above the others is a sign of a failure only if it is a code."""


def odd_numbers(numbers: Iterable[float]) -> set[float]:
    """Return the numbers that no scale can have beside the others: whole ones below 0, and some far above all.

    Parameters
    ----------
    numbers : iterable of float
        Values of ratings or scores.

    Returns
    -------
    set of float

    Examples
    --------
    >>> odd_numbers([1, 4, 7, -1]), odd_numbers([1, 4, 7, 85]), odd_numbers([-2, -1, 1, 2])
    ({-1.0}, {85.0}, set())
    >>> sorted(odd_numbers([1, 2, 3, 4, 5, 98, 99, -1, -99]))
    [-99.0, -1.0, 98.0, 99.0]
    """
    values = sorted({float(number) for number in numbers})
    negative = [v for v in values if v < 0]
    rest = values[len(negative) :]
    if len(values) < 3 or len(rest) < 2:
        return set()
    alone = len(negative) == 1 and negative[0].is_integer()
    odd = set(negative) if alone or set(negative) <= _CODES else set()
    rest = rest if odd else values
    for n in range(min(3, len(rest) - 2), 0, -1):
        scale, above = rest[:-n], rest[-n:]
        far = above[0] - scale[-1] > 3 * max(scale[-1] - scale[0], 1.0)
        if far and (len(values) <= _SCALE or _CODES & {*above}):
            return odd | {*above}
    return odd


def number_signs(numbers: Iterable[float], what: str = "values") -> tuple[Finding, ...]:
    """Look for the signs that a column of numbers was not read as it was meant: two scales, or codes of failures.

    Parameters
    ----------
    numbers : iterable of float
        The values of scores, or of a column; those that are missing are left out.
    what : str
        What they are, in the plural.

    Returns
    -------
    tuple of Finding

    Examples
    --------
    >>> number_signs([7, 4, 6, 99, 8], "scores")[0].message.partition(",")[0]
    '1 of 5 scores is 99'
    """
    values = np.asarray(list(numbers), dtype=np.float64)
    values = values[np.isfinite(values)]
    odd = sorted(odd_numbers(np.unique(values)))
    if not (odd and {*odd} <= _CODES) and (scales := two_scales(values, what)):
        return (Finding("two scales", scales),)
    if not odd:
        return ()
    n = int(np.isin(values, odd).sum())
    text = (
        f"{n:,} of {len(values):,} {what} {verb(n, 'is', 'are')} {', '.join(f'{each:g}' for each in odd)}, which looks "
        "like a code of a failure but counts as a value; leave the cells empty if it is one"
    )
    return (Finding("codes of failures", text),)


_LIKE_MISSING = re.compile(
    r"[-\u2013\u2014?.*_]+|error\b.*|err|exception\b.*|fail(ed|ure)?|invalid|timeout|timed out|unparse?able|unparsed|"
    r"nan|none|null|#?n/?a|nat|<na>|"  # which an own list of words for missing replaces
    r"parse[ _]error|no[ _]answer|no[ _]vote|no[ _]response|refus(ed|al)"
)
"""Texts of votes that are rather a missing value or an error, in lower case."""


def _every_debate_wrong(t: VoteTable) -> str:
    last = (t.round == t.depth[t.debate]) & t.cast & (t.right >= 0)
    hits = t.cast & (t.vote == t.right)
    judged = _different(t.debate[last])
    if len(judged) < _SOME or not hits.any():
        return ""
    right = np.bincount(t.debate[last & hits], minlength=len(t))
    pairs, n = np.unique(t.debate[last] * len(t.answers) + t.vote[last], return_counts=True)
    most = np.zeros(len(t), dtype=np.int64)
    np.maximum.at(most, pairs // len(t.answers), n)
    if (right[judged] == most[judged]).any():
        return ""
    return (
        f"every one of {len(judged):,} labelled {t.unit}s ends with a wrong verdict; check that labels and "
        "votes belong to the same questions"
    )


def _every_vote_right(t: VoteTable) -> str:
    known = t.cast & (t.right >= 0)
    if known.sum() < _MANY or (t.vote != t.right)[known].any():
        return ""
    return f"every one of {int(known.sum()):,} votes is right; check that the label is not a copy of the vote"


def _one_answer(t: VoteTable) -> str:
    cast = _different(t.vote[t.cast])
    labels = _different(t.label[t.label >= 0])
    if t.only_right_or_wrong or len(cast) != 1 or len(labels) < 2 or len(_different(t.debate)) < _SOME:
        return ""
    return (
        f"every vote is {t.answers[int(cast[0])]!r} although labels differ "
        f"({_listed({t.answers[k] for k in labels})}); check that the column of votes is the right one"
    )


def _one_label(t: VoteTable) -> str:
    labels = _different(t.label[t.label >= 0])
    both = t.cast & (t.right >= 0)
    used = len(_different(t.vote[both]))
    known = len(_different(t.cluster[t.label >= 0]))
    if (
        t.only_right_or_wrong
        or t.known_protocol
        or set(t.answers) <= {"correct", "incorrect", "partial"}  # grades, of which one is always right
        or len(labels) != 1
        or known < _SOME
        or not 2 <= used <= _CLOSED
    ):
        return ""
    share = float((t.vote == t.right)[both].mean())
    if share > (1 + 1 / used) / 2:  # votes that are mostly right may belong to questions with one answer
        return ""
    return (
        f"every one of {known:,} labels is {t.answers[int(labels[0])]!r}, and only {share:.0%} of the votes are; "
        "check that the column of labels was not filled with one cell"
    )


def _votes_with_several_answers(t: VoteTable) -> str:
    votes, n = np.unique(t.vote[t.cast], return_counts=True)
    labels = {t.answers[k] for k in _different(t.label[t.label >= 0])}
    if t.only_right_or_wrong or len(votes) > _CATEGORIES:
        return ""
    names = {t.answers[k] for k in votes} | labels
    letters = _all_short({name for name in names - labels if not _parts(name, names)} | labels)
    found = {
        t.answers[k]: int(many)
        for k, many in zip(votes, n, strict=True)
        if t.answers[k] not in labels and _parts(t.answers[k], names, letters)
    }
    if not found:
        return ""
    total = sum(found.values())
    return (
        f"{counted(total, 'vote')} {verb(total, 'names', 'name')} several answers ({_listed(set(found))}) and "
        f"{verb(total, 'counts', 'count')} as another one; leave the cells empty, or list such texts with "
        "missing_values= (--missing-values)"
    )


def _parts(text: str, answers: set[str], letters: bool = True) -> bool:
    """Whether a text is two or more other answers, with a sign between them or, where answers are `letters`, none."""
    parts = [part.strip(" .()") for part in re.split(r"[;,|/&+]| and | or ", text)]
    if len(parts) == 1 and letters and re.fullmatch(r"[A-Z](?: ?[A-Z])+", text):
        parts = list(text.replace(" ", ""))
    return len(parts) > 1 and len(set(parts)) > 1 and set(parts) <= answers - {text}


_SAYING = (
    ("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("1", "0"), ("ja", "nein"), ("oui", "non"), ("si", "no"),
    ("s\u00ed", "no"), ("right", "wrong"), ("correct", "incorrect"), ("pass", "fail"), ("valid", "invalid"),
)  # fmt: skip
"""Ways of saying yes and no, in lower case."""


def _yes_in_several_ways(t: VoteTable) -> str:
    for codes in (t.vote[t.cast], t.label[t.label >= 0]):
        names = {t.answers[k].casefold() for k in _different(codes)}
        ways = [way for way in _SAYING if names & set(way)]
        known = names <= {word for way in ways for word in way}
        if t.only_right_or_wrong or not known or not 3 <= len(names) <= 6:
            continue
        most = names & set(max(ways, key=lambda way: len(names & set(way))))
        return (
            f"answers have several spellings ({_listed(most)}, but also {_listed(names - most)}) and count as "
            "different answers; write them alike"
        )
    return ""


def _votes_are_texts(t: VoteTable) -> str:
    cast = t.vote[t.cast]
    distinct = len(_different(cast))
    if len(cast) < _MANY or distinct < 0.9 * len(cast) or len(cast) <= 1.5 * len(t):
        return ""
    return (
        f"{distinct:,} of {len(cast):,} votes are all different; check that the column of votes holds "
        "answers, not texts or identifiers"
    )


def _debates_without_votes(t: VoteTable) -> str:
    mute, played = _without_votes(t, t.debate)
    if _only_scores(t) or not mute:
        return ""
    return (
        f"in {counted(len(mute), 'debate')} of {played:,} every vote is missing "
        f"({_listed([t.debates[k] for k in mute])}); find the cause before an analysis, or leave these "
        "debates out"
    )


def _agents_without_votes(t: VoteTable) -> str:
    mute, spoke = _without_votes(t, t.agent)
    if not mute or len(mute) == spoke:
        return ""
    names = _listed([t.agents[k] for k in mute])
    return (
        f"every vote of {counted(len(mute), 'agent')} is missing ({names}); if they do not vote, give them "
        "a role of their own; otherwise find the cause"
    )


def _rounds_without_votes(t: VoteTable) -> str:
    mute, played = _without_votes(t, t.round)
    if not mute or len(mute) == played:
        return ""
    return (
        f"every vote of round {', '.join(map(str, mute[:5]))} is missing; find the cause, or leave the "
        "round out"
    )


def _without_votes(t: VoteTable, codes: Ints) -> tuple[list[int], int]:
    """Return the codes (of debates, agents or rounds) that occur and have no vote, and how many occur."""
    played = _different(codes)
    cast = np.bincount(codes[t.cast], minlength=int(played.max(initial=0)) + 1)
    return played[cast[played] == 0].tolist(), len(played)


def _many_missing(t: VoteTable) -> str:
    n, gone = len(t.vote), int((~t.cast).sum())
    if _only_scores(t) or n < _SOME or gone <= MUCH_MISSING * n:
        return ""
    counts = sorted((t.errors or {}).items(), key=lambda e: -e[1])[:4]
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in counts)
    reasons = (
        f"; recorded reasons: {kinds}" if kinds else "" if t.errors is None else "; no reason is recorded"
    )
    return (
        f"{gone:,} of {n:,} votes are missing ({gone / n:.0%}{reasons}); the other votes may not be "
        "representative; find the cause before an analysis"
    )


def _only_scores(t: VoteTable) -> bool:
    return t.scored and not t.cast.any()


def _no_turns(t: VoteTable) -> str:
    empty = np.flatnonzero(t.depth == 0)
    if not len(empty):
        return ""
    return (
        f"{counted(len(empty), 'debate')} of {len(t):,} {verb(len(empty), 'has', 'have')} no turns "
        f"({_listed([t.debates[int(k)] for k in empty])}); they count in no rate and no mean; run their "
        "command again, or leave them out"
    )


def _one_agent(t: VoteTable) -> str:
    speaking = _different(t.agent)
    debates = len(_different(t.debate))
    if t.known_protocol or _only_scores(t) or len(speaking) != 1 or debates < 3 or _one_turn_each(t):
        return ""
    return (
        f"one agent, {t.agents[int(speaking[0])]!r}, has every turn; if debates had several agents, check "
        "the column of agents; a single judge is not a panel, and stopping rules need one"
    )


def _one_turn_each(t: VoteTable) -> str:
    if t.known_protocol or _only_scores(t) or len(t.debate) < 20 or len(_different(t.debate)) < len(t.debate):
        return ""
    return (
        f"each of {len(t.debate):,} debates has a single turn; check that the column of debates names the "
        "debate, not the row; with one judge and one round there is nothing to stop"
    )


def _one_long_debate(t: VoteTable) -> str:
    if len(t) > 1 or int(t.depth.max(initial=0)) < _MANY:
        return ""
    return (
        f"the table holds one debate of {int(t.depth[0]):,} rounds; check that the columns of debates and "
        "rounds are not exchanged"
    )


def _panel_changes(t: VoteTable) -> str:
    width = len(t.agents) + 1
    panel = np.bincount(_different(t.debate * width + t.agent + 1) // width, minlength=len(t))
    group, panel = t.group[panel > 0], panel[panel > 0]
    most = int(panel.max(initial=0)) + 1
    sizes = np.unique(group * most + panel)
    groups, n = np.unique(sizes // most, return_counts=True)
    mixed = group[np.isin(group, groups[n > 1])]
    if not len(mixed):
        return ""
    each = (sizes[sizes // most == mixed[0]] % most).tolist()
    run = f" of run {t.groups[mixed[0]]!r}" if t.groups[mixed[0]] else ""
    return (
        f"debates{run} have panels of different sizes ({', '.join(map(str, each[:6]))} agents); give runs "
        "with different panels different values of log, or write an empty vote for a silent agent"
    )


def _runs_identical(t: VoteTable) -> str:
    runs = _different(t.group)
    if len(runs) < 2 or len(t) < 2 * len(runs) or not t.cast.any():
        return ""
    content: dict[int, list[Any]] = defaultdict(list)
    for k, votes in enumerate(t.contents):
        asked = t.question[k] if t.question is not None else str(int(t.cluster[k]))
        content[int(t.group[k])].append((asked, int(t.label[k]), votes))
    alike = {run: tuple(sorted(each)) for run, each in content.items()}
    first: dict[Any, int] = {}
    for run, each in alike.items():
        if each in first and len(each) > 2:
            return (
                f"runs {t.groups[first[each]]!r} and {t.groups[run]!r} have identical votes, as after a "
                "copy of a file or with one seed or cache for both; keep one of them"
            )
        first.setdefault(each, run)
    return ""


def _debates_identical(t: VoteTable) -> str:
    if len(t) < _SOME or len(_different(t.agent)) < 2 or not t.cast.any():
        return ""
    few = min(len(t), _FIRST_DEBATES)
    if len(set(t._first_contents(few))) > 1 or len(set(zip(t.contents, t.label.tolist(), strict=True))) > 1:
        return ""
    return (
        f"all {len(t):,} debates have identical votes; check that the rows differ, and that replies did "
        "not come from a cache"
    )


def _repeats_identical(t: VoteTable) -> str:
    if len(_different(t.cluster)) == len(t) or len(_different(t.agent)) < 2:
        return ""
    contents = t.contents
    by_question: dict[int, list[tuple[bytes, int]]] = defaultdict(list)
    for cluster, votes, label in zip(t.cluster.tolist(), contents, t.label.tolist(), strict=True):
        by_question[cluster].append((votes, label))
    repeated = [each for each in by_question.values() if len(each) > 1]
    if len(repeated) < _SOME or any(len(set(each)) > 1 for each in repeated) or len(set(contents)) < 3:
        return ""
    return (
        f"the debates of each of {len(repeated):,} repeated questions have identical votes; copies and "
        "cached replies are not new data, so keep one of them"
    )


_REPEAT = re.compile(r"(.*?)[\s_\-./#:]*(?:run|rep|repeat|seed|sample|trial|try|r|s)?[\s_\-./#:]*([0-9]+)")
_APART = re.compile(r"[\s_\-./#:]|run|rep|seed|sample|trial")


def _questions_not_clustered(t: VoteTable) -> str:
    if t.question is not None:
        clusters: dict[str, set[int]] = defaultdict(set)
        for question, cluster in zip(t.question, t.cluster.tolist(), strict=True):
            if question:
                clusters[question].add(cluster)
        split = [name for name, each in clusters.items() if len(each) > 1]
        if split:
            return (
                f"{counted(len(split), 'question')} {verb(len(split), 'lies', 'lie')} in several clusters "
                f"({_listed(split)}); debates of one question are not independent, so give them one cluster"
            )
    if len(_different(t.cluster)) < len(t):
        return ""
    stems: dict[str, list[int]] = defaultdict(list)
    for k, name in enumerate(t.debates):
        parts = _REPEAT.fullmatch(name)
        if parts is None or not parts[1] or not _APART.search(name[len(parts[1]) :]):
            return ""
        stems[parts[1]].append(k)
    sizes = {len(each) for each in stems.values()}
    same_label = all(len({int(t.label[k]) for k in each}) == 1 for each in stems.values())
    if len(stems) < 5 or min(sizes) < 2 or not same_label or len(_different(t.label)) < 2:
        return ""
    example = [t.debates[k] for k in next(iter(stems.values()))[:2]]
    return (
        f"debates look like repeats of {len(stems):,} questions ({_listed(example)}, ...) but each counts "
        "as its own question; add a column question, because intervals are too narrow otherwise"
    )


def _tokens_all_zero(t: VoteTable) -> str:
    known = np.zeros(0) if t.tokens is None else t.tokens[~np.isnan(t.tokens)]
    if not len(known) or known.any():
        return ""
    return (
        "every token count is 0; leave the column out if tokens were not recorded, because costs would be 0"
    )


def _tokens_of_debates(t: VoteTable) -> str:
    """Totals of a debate that stand in each of its rows: alike within every debate, and different between them."""
    if t.tokens is None or t.tokens.ndim != 2 or len(t.tokens) not in (len(t.debate), len(t)):
        return ""  # turns without a seat have tokens too
    by_turn = len(t.tokens) == len(t.debate)
    tokens = t.tokens.sum(axis=1, keepdims=True) if by_turn else t.tokens
    debate = np.repeat(t.debate if by_turn else np.arange(len(t)), tokens.shape[1])
    known = ~np.isnan(tokens.ravel())
    frame = pd.DataFrame({"debate": debate[known], "tokens": tokens.ravel()[known]})
    found = frame.groupby("debate")["tokens"].agg(["min", "max", "size"])
    found = found[found["size"] > 1]
    if len(found) < _SOME or (found["min"] != found["max"]).any() or 2 * found["min"].nunique() < len(found):
        return ""
    return (
        f"the tokens of each of {len(found):,} debates are the same in all its {'turns' if by_turn else 'rounds'}; "
        "if they are totals, write each debate's tokens in one turn only, because costs add up the turns"
    )


def running_totals(debate: Ints, played: Ints, agent: Ints, tokens: NDArray[np.float64]) -> str:
    """Say that tokens are running totals within a debate, or of an agent in it, which sums count again; else "".

    Prompts that hold all that was said grow as well. But a turn then adds less than the first one cost, or all
    agents of a round share what was added: who spent more than the others before does not remain ahead.

    Parameters
    ----------
    debate, played, agent : ndarray of int, shape (turns,)
        Codes of the debate, the round and the agent.
    tokens : ndarray of float, shape (turns,)
        Tokens of each turn, NaN unknown.

    Returns
    -------
    str

    Examples
    --------
    >>> spent = np.random.default_rng(1).integers(200, 900, (20, 3, 2))
    >>> d, r, a = (each.ravel() for each in np.indices(spent.shape))
    >>> running_totals(d, r, a, spent.cumsum(axis=1).ravel().astype(float)).partition(",")[0]
    'the tokens of 20 debates never fall from round to round'
    >>> running_totals(d, r, a, spent.ravel().astype(float))
    ''
    """
    known = ~np.isnan(tokens)
    if len(_different(debate[known])) < _SOME:
        return ""
    columns: dict[str, NDArray[Any]] = {
        "debate": debate[known],
        "round": played[known],
        "agent": agent[known],
        "tokens": tokens[known],
    }
    few = columns["debate"] < _FIRST
    first = {name: values[few] for name, values in columns.items()}
    left = [keys for keys in (["debate"], ["debate", "agent"]) if not _falls(first, keys)]
    left = [keys for keys in left if not _falls(columns, keys)]
    for keys in left:
        order, starts = _groups(columns, keys, then=["round", "tokens"])
        sizes = np.diff(np.append(starts, len(order)))
        starts, sizes = starts[sizes > 1], sizes[sizes > 1]
        begun, ended = (columns["tokens"][order[place]] for place in (starts, starts + sizes - 1))
        several = len(_different(columns["debate"][order[starts]]))
        orders = sum(math.lgamma(size + 1) for size in sizes.tolist())  # of as many turns
        base = float(((sizes - 1) * begun).sum())
        ratio = float((ended - begun).sum()) / base if base else 0.0
        # A prompt of half the reply's length, which holds all that was said, has a ratio of 2/3.
        if several < _SOME or orders < _ORDERS or ratio < 0.8:
            continue
        if _even(columns) if len(keys) == 1 else not _shared(columns):
            return (
                f"the tokens of {several:,} debates never fall from round to round, as running totals do; if they are "
                "such totals, write what each turn cost, because costs add up the turns"
            )
    return ""


def _groups(
    columns: Mapping[str, NDArray[Any]], keys: Sequence[str], then: Sequence[str] = ()
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of rows by keys and further columns, and where in it the rows of each key begin."""
    order = np.lexsort([columns[name] for name in reversed([*keys, *then])])
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = False
    for name in keys:
        codes = columns[name][order]
        begins[1:] |= codes[1:] != codes[:-1]
    return order, np.flatnonzero(begins)


def _falls(columns: Mapping[str, NDArray[Any]], keys: list[str]) -> bool:
    tokens = columns["tokens"]
    by = [columns[name] for name in keys]
    order = np.lexsort((tokens, columns["round"], *reversed(by)))
    falls = np.diff(tokens[order]) < 0
    for codes in by:
        falls &= codes[order][1:] == codes[order][:-1]
    return bool(falls.any())


_FIRST = 64
"""A log of which these debates have tokens that fall needs no further look."""
_ORDERS = 14.0
"""Logarithm of the number of orders of turns from which on an order by tokens is no chance."""


def _even(columns: Mapping[str, NDArray[Any]]) -> bool:
    """Whether tokens rise within a round about as much as from a round to the next; what a round adds comes at once."""
    order, starts = _groups(columns, ["debate"], then=["round", "tokens"])
    played, step = columns["round"][order], np.diff(columns["tokens"][order])
    inside = np.ones(len(step), dtype=bool)
    inside[starts[1:] - 1] = False  # from a debate to the next
    within = inside & (played[1:] == played[:-1])
    between = inside & ~within
    if not within.any():
        return True
    return bool(between.any()) and float(step[within].mean()) > 0.6 * float(step[between].mean())


def _shared(columns: Mapping[str, NDArray[Any]]) -> bool:
    """Whether agents of a round may share what was added: then who is ahead of the others falls back in the next one.

    Of totals the regression of what a round adds on the lead has the slope 0, of what is shared -1.
    """
    order, starts = _groups(columns, ["debate", "agent"], then=["round"])
    later = np.ones(len(order), dtype=bool)
    later[starts] = False
    after = np.flatnonzero(later)
    level = columns["tokens"][order[after - 1]]
    step = columns["tokens"][order[after]] - level
    keys = {name: columns[name][order[after]] for name in ("debate", "round", "agent")}
    whole = float((level**2).sum())
    for by in (["debate", "round"], ["agent", "round"]):
        step, level = (_about_means(x, *_groups(keys, by)) for x in (step, level))
    size = float((level**2).sum())
    free = len(level) - len(_groups(keys, ["debate", "round"])[1])
    if size <= 1e-20 * whole or free < 1:
        return bool((keys["agent"] != keys["agent"][0]).any())
    slope = float((step * level).sum()) / size
    error = math.sqrt(float(((step - slope * level) ** 2).sum()) / (free * size))
    return slope - 2.33 * error < -0.5


def _about_means(
    values: NDArray[np.float64], order: NDArray[np.int64], starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Take the mean of its group from each value."""
    sizes = np.diff(np.append(starts, len(order)))
    means = np.add.reduceat(values[order], starts) / sizes
    out = np.empty_like(values)
    out[order] = values[order] - np.repeat(means, sizes)
    return out


def _scores_in_part(t: VoteTable) -> str:
    part, scored = t.scores_in_part
    if not part:
        return ""
    return (
        f"{part:,} of {counted(scored, 'turn')} with scores {verb(part, 'has', 'have')} only a part of them (a side or "
        "a criterion is missing); means over agents leave these turns out, so find the cause, or complete the scores"
    )


def score_signs(scores: Mapping[str, NDArray[np.float64]]) -> tuple[Finding, ...]:
    """Look for the signs of :func:`number_signs` in the scores of each criterion, and say each once.

    Parameters
    ----------
    scores : mapping of str to ndarray of float
        The scores of each criterion.

    Returns
    -------
    tuple of Finding

    Examples
    --------
    >>> [each.message.partition(",")[0] for each in score_signs({"clarity": np.array([7.0, 4, -1, 6])})]
    ["1 of 4 scores of 'clarity' is -1"]
    """
    found: dict[str, Finding] = {}
    for criterion, values in scores.items():
        what = "scores" if len(scores) == 1 and criterion in ("", "score") else f"scores of {criterion!r}"
        for each in number_signs(values, what):
            found.setdefault(each.kind, each)
    return tuple(found.values())


def _of_scores(t: VoteTable, kind: str) -> str:
    if t.off_scale:  # which says each
        return ""
    return next((each.message for each in score_signs(t.scores) if each.kind == kind), "")


OF_NUMBERS = frozenset(("two scales", "codes of failures"))
"""The signs that concern scores alone."""
OF_SCORES = OF_NUMBERS | {
    "row of sums",
    "names of copies",
    "dates as numbers",
    "names in several spellings",
    "repeated questions",
}
"""The signs that concern scores as well as votes."""


def _off_scale(t: VoteTable) -> str:
    n = len(t.off_scale)
    if not n:
        return ""
    more = f" and {counted(n - 1, 'more score')}" if n > 1 else ""
    return (
        f"{t.off_scale[0]}{more} {verb(n, 'does', 'do')} not lie on the scale that the agents were given; correct "
        "them, or leave these turns out"
    )


def _of_names(t: VoteTable, kind: str) -> str:
    """Name a debate or a question that sums up the others, or is a copy."""
    return next((each.message for each in t._signs_of_names if each.kind == kind), "")


_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T]00:00:00)?|[0-9]{1,2}[-. ]{1,2}[A-Z][a-z]{2}|[A-Z][a-z]{2}[-. ]{1,2}[0-9]{1,2}"
)


def _votes_are_dates(t: VoteTable) -> str:
    votes, n = np.unique(t.vote[t.cast], return_counts=True)
    labels = {t.answers[k] for k in _different(t.label[t.label >= 0])}
    dates = {
        t.answers[k]: int(many) for k, many in zip(votes, n, strict=True) if _DATE.fullmatch(t.answers[k])
    }
    others = {t.answers[k] for k in votes} | labels
    if not dates or all(map(_DATE.fullmatch, others)):
        return ""
    total = sum(dates.values())
    return (
        f"{counted(total, 'vote')} {verb(total, 'is a date', 'are dates')} ({_listed(set(dates))}) and "
        f"{verb(total, 'counts', 'count')} as other answers; a spreadsheet makes dates of answers such as 1/2: write "
        "these as text"
    )


FINDINGS: dict[str, Callable[[VoteTable], str]] = {
    "row of sums": lambda t: _of_names(t, "row of sums"),
    "names of copies": lambda t: _of_names(t, "names of copies"),
    "dates as numbers": lambda t: _of_names(t, "dates as numbers"),
    "votes that are dates": _votes_are_dates,
    "two scales": lambda t: _of_scores(t, "two scales"),
    "codes of failures": lambda t: _of_scores(t, "codes of failures"),
    "no vote is a label": _no_vote_is_a_label,
    "labels without a vote": _labels_nobody_votes,
    "questions with several labels": _several_labels,
    "questions with several categories": _several_categories,
    "votes that state an answer": _votes_state_answers,
    "answers in several spellings": _answers_alike,
    "names in several spellings": _names_alike,
    "votes like missing values": _votes_like_missing,
    "votes that are no label": _votes_no_label,
    "votes of no agent": _votes_of_no_agent,
    "every debate wrong": _every_debate_wrong,
    "every vote right": _every_vote_right,
    "one answer only": _one_answer,
    "one label only": _one_label,
    "votes with several answers": _votes_with_several_answers,
    "answers in several ways": _yes_in_several_ways,
    "votes are texts": _votes_are_texts,
    "debates without a vote": _debates_without_votes,
    "agents without a vote": _agents_without_votes,
    "rounds without a vote": _rounds_without_votes,
    "many votes missing": _many_missing,
    "debates without turns": _no_turns,
    "one agent": _one_agent,
    "one turn per debate": _one_turn_each,
    "one long debate": _one_long_debate,
    "panel changes": _panel_changes,
    "identical runs": _runs_identical,
    "identical debates": _debates_identical,
    "identical repeats": _repeats_identical,
    "repeated questions": _questions_not_clustered,
    "tokens all zero": _tokens_all_zero,
    "tokens of debates": _tokens_of_debates,
    "scores in part": _scores_in_part,
    "scores off the scale": _off_scale,
}
"""The signs, by name, in the order in which they are reported."""


def _numbered(keys: Ints) -> tuple[Ints, Ints]:
    """Return the different keys, sorted, and the place of each among them; sorted keys need no sorting."""
    steps = np.diff(keys)
    if len(keys) and (steps >= 0).all():
        new = np.append(True, steps > 0)
        return keys[new], np.cumsum(new) - 1
    different, place = np.unique(keys, return_inverse=True)
    return different, place.reshape(-1)


def _different(codes: Ints) -> Ints:
    """Return the different codes, sorted; they are counted where they are small, since that needs no sorting."""
    if len(codes) and codes.min() >= -1 and codes.max() < 4 * len(codes):
        return np.flatnonzero(np.bincount(codes + 1)) - 1
    return np.unique(codes)


def _folded(text: str) -> str:
    return text if _is_number(text) else re.sub(r"^\W+|\W+$", "", text).casefold()


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?", text))


def _listed(names: Sequence[str] | set[str]) -> str:
    shown = sorted(names) if isinstance(names, set) else list(names)
    return ", ".join(repr(name) for name in shown[:3]) + (", ..." if len(shown) > 3 else "")
