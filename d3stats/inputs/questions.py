"""Do several logs say the same of one question? Right answers, questions and categories that contradict each other.

Every function that takes two or more logs asks here. Two logs that mark one question by different right answers cannot
be compared by how often they are right; so such labels are refused wherever accuracies meet, and a warning elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from d3stats._words import Advised, counted
from d3stats.note import Note, warning

__all__ = ["Contradiction", "Questions", "contradictions", "refuse", "renamed", "warned"]

_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions, labels, categories and agents of one log; tuples have an entry per debate, None where it is unknown.

    Attributes
    ----------
    name : str
        What the log is called in messages.
    debate, item : tuple of str
        Names of debates, and the questions that they are about; a debate without a question is its own. Both are the
        items in a table of items.
    label, category : tuple of str or None
        Right answers and kinds of questions; empty where the log has none by its nature, as one of right or wrong.
    agents : frozenset of str
        Who speaks; empty where that is unknown.

    Examples
    --------
    >>> Questions("one", ("d1",), ("q1",), ("A",)).of("label")
    {'q1': frozenset({'A'})}
    """

    name: str
    debate: tuple[str, ...]
    item: tuple[str, ...]
    label: tuple[str | None, ...] = ()
    category: tuple[str | None, ...] = ()
    agents: frozenset[str] = frozenset()

    def of(self, what: Literal["label", "category"]) -> dict[str, frozenset[str]]:
        """Return the labels or categories of each item: none, one, or several where its debates differ."""
        return _by(self.item, getattr(self, what))

    def asked(self) -> dict[str, frozenset[str]]:
        """Return the question of each debate."""
        return _by(self.debate, self.item)


def _by(names: Sequence[str], said: Sequence[str | None]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for name, word in zip(names, said, strict=False):
        found.setdefault(name, set()).update(() if word is None else (word,))
    return {name: frozenset(words) for name, words in found.items()}


@dataclass(frozen=True)
class Contradiction:
    """One thing that logs say otherwise of the same debates or questions.

    Attributes
    ----------
    kind : str
        One of "labels", "questions", "categories", "labels absent" and "agents".
    message : str
        The requirement, what was got, and how often.
    """

    kind: str
    message: str


def contradictions(
    logs: Sequence[Questions], *, what: str = "log", unit: str = "question"
) -> tuple[Contradiction, ...]:
    """Return what logs say otherwise of the debates and questions that they share.

    A question contradicts itself in two logs where they have no right answer (or category) in common: within one log
    debates of a question may differ, which is a finding of that log.

    Returns
    -------
    tuple of Contradiction
        In the order of their kinds; empty where the logs agree.

    Examples
    --------
    >>> one, two = Questions("one", ("d",), ("q",), ("A",)), Questions("two", ("e",), ("q",), ("B",))
    >>> print(contradictions([one, two])[0].message)
    label must be the same in both logs; got 'A' (one) and 'B' (two) on 'q'; labels differ on 1 of 1 question ('q')
    """
    if len(logs) < 2:
        return ()
    every = f"both {what}s" if len(logs) == 2 else f"all {what}s"
    found: list[tuple[str, str]] = [
        ("labels", _differ("label", "labels", [(log.name, log.of("label")) for log in logs], every, unit)),
        (
            "questions",
            _differ("question", "questions", [(log.name, log.asked()) for log in logs], every, "debate"),
        ),
        (
            "categories",
            _differ("category", "categories", [(log.name, log.of("category")) for log in logs], every, unit),
        ),
        ("labels absent", _absent(logs, unit)),
        ("agents", _agents(logs)),
    ]
    return tuple(Contradiction(kind, message) for kind, message in found if message)


def _differ(
    field: str,
    plural: str,
    said: Sequence[tuple[str, Mapping[str, frozenset[str]]]],
    every: str,
    unit: str,
) -> str:
    """Say on which names two logs have nothing in common, though both say something; "" where on none."""
    first: tuple[str, ...] = ()
    apart: dict[str, None] = {}
    shared: set[str] = set()
    for (one, mine), (other, theirs) in combinations(said, 2):
        both = [name for name in mine if name in theirs]
        shared.update(both)
        for name in both:
            if mine[name] and theirs[name] and not mine[name] & theirs[name]:
                first = first or (_words(mine[name]), one, _words(theirs[name]), other, name)
                apart[name] = None
    if not apart:
        return ""
    mine_says, one, theirs_say, other, at = first
    return (
        f"{field} must be the same in {every}; got {mine_says} ({one}) and {theirs_say} ({other}) on {at!r}; "
        f"{plural} differ on {len(apart):,} of {counted(len(shared), unit)} ({_listed(apart)})"
    )


def _absent(logs: Sequence[Questions], unit: str) -> str:
    """Say which logs lack labels of items that another log labels."""
    said = [(log.name, log.of("label")) for log in logs if log.label]
    known = {name for _, labels in said for name, words in labels.items() if words}
    lacking = [
        (one, [name for name, words in labels.items() if not words and name in known]) for one, labels in said
    ]
    parts = [
        f"{one} has no label on {len(names):,} of {counted(len(labels), unit)} ({_listed(names)})"
        for (one, names), (_, labels) in zip(lacking, said, strict=True)
        if names
    ]
    return (
        f"labels must be in all logs that share a {unit}; got: {'; '.join(parts)}, which another log labels"
        if parts
        else ""
    )


def _agents(logs: Sequence[Questions]) -> str:
    """Say that logs share some agents and not all: other panels have other names, but a lost agent has not."""
    named = [log for log in logs if log.agents]
    parts = []
    common = frozenset.intersection(*(log.agents for log in named)) if named else frozenset()
    for log in named:
        alone = sorted(log.agents - common)
        parts += [f"{_listed(alone)} not in all (in {log.name})"] if alone and common else []
    return f"agents differ between the logs: {'; '.join(parts)}" if parts else ""


def refuse(
    found: Iterable[Contradiction], kinds: Collection[str] = ("labels", "questions"), *, advice: str = ""
) -> None:
    """Raise the first contradiction of these kinds, with what can be done.

    Raises
    ------
    ValueError
        When there is one.

    Examples
    --------
    >>> refuse([Contradiction("agents", "agents differ")])
    """
    for each in found:
        if each.kind in kinds:
            raise ValueError(Advised(each.message, advice or _ADVICE[each.kind], ". "))


def warned(found: Iterable[Contradiction], besides: Collection[str] = ()) -> list[str]:
    """Return contradictions as notes of a result; that agents differ is no warning.

    Examples
    --------
    >>> warned([Contradiction("questions", "question must be the same in both logs")])
    ['WARNING: question must be the same in both logs. Give debates of different questions different names.']
    """
    return [
        Note(each.message, kind=each.kind)
        if each.kind == "agents"
        else warning(f"{each.message}. {_ADVICE[each.kind]}", each.kind)
        for each in found
        if each.kind not in besides
    ]


_ADVICE: dict[str, str] = {
    "labels": "Mark all logs by the same right answers; different questions must have different names.",
    "questions": "Give debates of different questions different names.",
    "categories": "Give each question one category in all logs.",
    "labels absent": "Add the labels, or expect these questions to be left out.",
    "agents": "",
}


def _words(words: frozenset[str]) -> str:
    return " and ".join(map(repr, sorted(words)[:3]))


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _SHOWN:,} more" if len(listed) > _SHOWN else ""
    return ", ".join(map(repr, listed[:_SHOWN])) + more


def renamed(logs: Iterable[Questions], names: Iterable[str]) -> list[Questions]:
    """Return what logs tell under other names.

    Examples
    --------
    >>> [each.name for each in renamed([Questions("a", (), ())], ["b"])]
    ['b']
    """
    return [replace(log, name=name) for log, name in zip(logs, names, strict=True)]
