"""Which columns of a long table hold the debate, the round, the agent and the vote, where their names do not say it.

Both the values and the names must speak for a choice. The values say what is possible: in a log no two rows have
the same debate, round and agent. The rounds of a debate count from its first, and its label is one value that agents
vote for. Several choices are often possible, as sessions and agents of a full design can change places. Then the words
in the names decide, and where they do not, nothing is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from d3stats.log.column_names import ALIASES, plain
from d3stats.values import is_missing_word, name_text

if TYPE_CHECKING:
    from d3stats.log.sheets import Sheet

Choice = dict[str, str | list[str]]

MOST_ROWS = 200_000
"""Nothing is proposed for a longer table."""

_MOST_PARTS = 12
"""So many columns may be parts of a debate's name."""

_MOST_WORK = 2_000_000
"""Rows that are looked at, over all ways to read a table; a way costs its rows and some thousands more."""

_MOST_ROUND = 200
_FULL = 0.9
"""Share of the cells of (round, agent) that the rows of a debate must fill."""

_MORE_WORDS = {
    "debate": "session sitting hearing trial meeting run repeat repetition replicate sample chat",
    "round": "phase stage pass cycle wave period",
    "agent": "bot panelist panellist member debator seat chatbot assistant persona respondent",
    "vote": "finding reply opinion ruling decided said",
    "label": "gold truth",
}
"""Words in names that say a role, besides the field's other names."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _words_of(field_name: str) -> frozenset[str]:
    whole = {field_name, *(alias for tier in ALIASES.get(field_name, ()) for alias in tier)}
    return frozenset(
        {name for name in whole if "_" not in name} | set(_words(_MORE_WORDS.get(field_name, "")))
    )


_VAGUE = frozenset(_words("id idx t r reference response target match name model llm content solution"))
"""Words that stand in names of several roles."""

_OTHER_THAN = frozenset(
    _words(
        "previous prior before initial first old earlier majority consensus mean average number count length"
    )
)
"""Words in names that say that a column is about a vote, an agent or a debate, but is none."""

_SAYS = {role: _words_of(role) - _VAGUE for role in ("debate", "question", "round", "agent", "vote", "label")}


def roles_said(name: str) -> frozenset[str]:
    """Return the roles that words of a column's name say, none where they say nothing.

    Examples
    --------
    >>> sorted(roles_said("Juror name")), sorted(roles_said("Case")), sorted(roles_said("x7"))
    (['agent'], ['debate', 'question'], [])
    """
    words = {word.casefold() for word in _WORD.findall(name)} | {plain(name)}
    words |= {word.removesuffix("s") for word in words}
    if words & _OTHER_THAN and plain(name) not in words & frozenset().union(*_SAYS.values()):
        return frozenset()
    said = frozenset(role for role, known in _SAYS.items() if words & known)
    return said or frozenset(role for role in _SAYS if is_slip(plain(name), role))


def is_slip(name: str, wanted: str) -> bool:
    """Whether one letter is missing or too many, or two are the wrong way round; a plural is another word.

    Examples
    --------
    >>> is_slip("rond", "round"), is_slip("rounds", "round"), is_slip("vtoe", "vote")
    (True, False, True)
    """
    if name[:1] != wanted[:1] or name == wanted + "s" or wanted == name + "s":
        return False
    dropped = {wanted[:k] + wanted[k + 1 :] for k in range(len(wanted))}
    swapped = {wanted[:k] + wanted[k + 1] + wanted[k] + wanted[k + 2 :] for k in range(len(wanted) - 1)}
    added = wanted in {name[:k] + name[k + 1 :] for k in range(len(name))}
    return name in (dropped | swapped) - {wanted} or (added and name != wanted)


@dataclass(frozen=True)
class Proposal:
    """A choice of columns, and the columns that are possible.

    Attributes
    ----------
    choice : dict or None
        A choice of all columns that a log needs, in the order debate, question, round, agent, vote, label, tokens; None
        where several are possible, or none.
    possible : dict of str to list of str
        For each role that is not known the columns that could have it by their values, with "+" between parts.
    """

    choice: Choice | None = None
    possible: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Reading:
    """One way to read the table: the parts of a debate's name, and a column for the round, the agent and the vote."""

    debate: tuple[str, ...]
    round: str | None
    agent: str
    vote: str


def proposed(
    sheet: Sheet, known: Mapping[str, tuple[str, ...]], fixed: set[str], missing: Sequence[str] = ()
) -> Proposal:
    """Propose a choice of columns for a table with a row per turn.

    Parameters
    ----------
    sheet : Sheet
    known : mapping
        Field to the columns that it was found in.
    fixed : set of str
        The fields of which there is no doubt, because the user chose them or the name is the standard one.
    missing : sequence of str
        The roles without which the table cannot be read. Where its values allow nothing, as in a table of one agent,
        the one column with a name for each is taken.
    """
    if not 2 <= len(sheet.line) <= MOST_ROWS:
        return Proposal()
    table = _Table(sheet, known, fixed)
    try:
        readings = list(table.readings())
    except _TooMany:
        return Proposal()
    possible = _possible(readings, known, fixed)
    best = _said_best(readings, table) if readings else table.named_so(missing)
    if best is None:
        return Proposal(None, possible)
    label, labels = table.label(best)
    if labels:
        possible["label"] = labels
    question, questions = table.question(best, label)
    if questions:
        possible["question"] = questions
    if labels or questions:
        return Proposal(None, possible)
    debate = table.in_order(best.debate)
    choice: Choice = {"debate": debate if len(debate) > 1 else debate[0]}
    if question is not None and best.debate != (question,):
        choice["question"] = question
    if best.round is not None:
        choice["round"] = best.round
    choice["agent"] = best.agent
    choice["correct" if table.by_correct else "vote"] = best.vote
    if label is not None:
        choice["label"] = label
    return Proposal(choice | table.tokens(), possible)


class _TooMany(Exception):
    """There are too many ways to read a table."""


class _Table:
    """The columns of a table as codes, and what their values allow."""

    def __init__(self, sheet: Sheet, known: Mapping[str, tuple[str, ...]], fixed: set[str]) -> None:
        self.known, self.fixed, self.n = known, fixed, len(sheet.line)
        self.work = 0
        self.by_correct = "correct" in known and "vote" not in known
        self.values: dict[str, list[str]] = {}
        self.codes: dict[str, NDArray[np.int64]] = {}
        for name in dict.fromkeys(name for name in sheet.names if name and not name.startswith("Unnamed: ")):
            texts, codes = _as_compared(sheet.get(name).values, sheet.get(name).codes)
            self.values[name], self.codes[name] = texts, codes
        #: Columns whose role is beyond doubt, which can have no other.
        held = {
            column
            for role, several in known.items()
            if role not in ("debate", "question", "cluster", "category", "log")
            for column in several
        }
        self.free = [name for name in self.codes if name not in held]
        self.whole = [name for name in self.free if (self.codes[name] >= 0).all() and self.size(name) > 1]

    def size(self, name: str) -> int:
        return len(self.values[name])

    # ---------------------------------------------------------------- readings

    def readings(self) -> Iterator[_Reading]:
        """Yield all readings that the values allow."""
        votes = self._votes()
        agents = [*self.known["agent"][:1]] if "agent" in self.known else self._agents()
        rounds: list[str | None] = (
            [*self.known["round"][:1]] if "round" in self.known else [None, *self._rounds()]
        )
        for vote in votes:
            for agent in agents:
                for played in rounds:
                    if len({vote, agent, played}) < 3 or not self._varies(agent, vote):
                        continue
                    for debate in self._debates(agent, played, vote):
                        yield _Reading(debate, played, agent, vote)

    def _agents(self) -> list[str]:
        return [name for name in self.whole if self.size(name) >= 2]

    def _rounds(self) -> list[str]:
        return [
            name
            for name in self.whole
            if (numbers := _integers(self.values[name])) is not None
            and min(numbers) in (0, 1)
            and max(numbers) <= _MOST_ROUND
        ]

    def _votes(self) -> list[str]:
        for role in ("vote", "correct"):
            if role in self.known:
                return [*self.known[role][:1]]
        if "label" not in self.known:
            return [name for name in self.free if 2 <= self.size(name) <= max(20, self.n // 20)]
        label = self.known["label"][0]
        return [name for name in self.free if self._votes_for(name, label)]

    def _votes_for(self, name: str, label: str) -> bool:
        """Whether the values of a column are answers like those of the label."""
        given = (self.codes[name] >= 0) & (self.codes[label] >= 0)
        if name == label or self.size(name) < 2 or not given.any():
            return False
        mine = np.array(self.values[name], dtype=object)[self.codes[name][given]]
        right = np.array(self.values[label], dtype=object)[self.codes[label][given]]
        among = np.isin(mine.astype(str), np.array(self.values[label], dtype=str)).mean()
        share = {value: float(np.mean(mine == value)) for value in self.values[label]}
        by_chance = sum(share[value] * float(np.mean(right == value)) for value in share)
        alike = float(np.mean(mine == right))
        few = self.size(name) <= max(20, 2 * self.size(label))
        return bool((few and among >= 0.5) or alike >= max(0.1, 2 * by_chance))

    def _varies(self, agent: str, vote: str) -> bool:
        """Whether agents change a vote, so that it is no property of the agent; who votes once says nothing."""
        given = self.codes[vote] >= 0
        if given.sum() < 2 * len(np.unique(self.codes[agent][given])):
            return True
        return _cells(self.codes[agent][given], self.codes[vote][given]) > len(
            np.unique(self.codes[agent][given])
        )

    def _debates(self, agent: str, played: str | None, vote: str) -> list[tuple[str, ...]]:
        """Return the columns that name debates, with each more that would split them into smaller ones."""
        named = self.known.get("debate", ())
        if "debate" in self.fixed:
            return [named] if self._is_log(named, agent, played, vote) else []
        taken = {agent, played, vote}
        # A column that was taken for the debate by its name is a part of it, unless it names questions.
        must = [name for name in named if name not in self.known.get("question", ()) and not self._asks(name)]
        free = [name for name in self.whole if name not in taken and name not in must][:_MOST_PARTS]
        found: list[tuple[str, ...]] = []
        for more in range(0 if must else 1, 4):
            for parts in combinations(free, more):
                if any(set(each) <= {*parts, *must} for each in found):
                    continue
                if self._is_log((*must, *parts), agent, played, vote):
                    found.append((*must, *parts))
            if found:
                break
        finer = [
            (*parts, name)
            for parts in found
            for name in free
            if name not in parts
            and self._splits(parts, name)
            and self._is_log((*parts, name), agent, played, vote)
        ]
        return [*found, *finer]

    def in_order(self, parts: Sequence[str]) -> list[str]:
        """Put a question last; one that is the same in all rows is kept, because other tables may have more."""
        alone = [
            name
            for name in self.known.get("debate", ())
            if self.size(name) == 1 and "debate" not in self.fixed
        ]
        asked = {*self.known.get("debate", ()), *self.known.get("question", ())}
        return sorted(
            [*parts, *(name for name in alone if name not in parts)], key=lambda name: name in asked
        )

    def _asks(self, name: str) -> bool:
        return "question" in roles_said(name)

    def _splits(self, parts: Sequence[str], name: str) -> bool:
        whole = self._joined(parts)
        return _cells(whole, self.codes[name]) > len(np.unique(whole))

    def _joined(self, names: Sequence[str]) -> NDArray[np.int64]:
        key = np.zeros(self.n, dtype=np.int64)
        for name in names:
            _, key = np.unique(key * (self.size(name) + 1) + self.codes[name], return_inverse=True)
        return key

    def _is_log(self, debate: Sequence[str], agent: str, played: str | None, vote: str) -> bool:
        """Whether no row stands twice, panels are full, rounds count from the first, and votes differ in debates."""
        self.work += self.n + 2_000
        if self.work > _MOST_WORK:
            raise _TooMany
        group, who = self._joined(debate), self.codes[agent]
        n_debates = int(group.max()) + 1
        if played is None:
            number = np.ones(self.n, dtype=np.int64)
        else:
            numbers = _integers(self.values[played])
            if numbers is None or (self.codes[played] < 0).any():
                return False
            number = np.array(numbers)[self.codes[played]]
        if (who < 0).any() or _cells(group, who, number) < self.n:
            return False
        agents = _per_group(group, who, n_debates)
        depth = _per_group(group, number, n_debates)
        if (agents >= 2).mean() < _FULL or self.n < _FULL * float((agents * depth).sum()):
            return False
        first, last = np.full(n_debates, number.max()), np.zeros(n_debates, dtype=np.int64)
        np.minimum.at(first, group, number)
        np.maximum.at(last, group, number)
        if (first != first.min()).any() or (last - first + 1 != depth).any():
            return False
        for name in (*self.known.get("label", ()), *self.known.get("question", ())):
            if (_per_group(group, self.codes[name], n_debates) > 1).any():
                return False
        given = self.codes[vote] >= 0
        said = _per_group(group[given], self.codes[vote][given], n_debates)
        return bool((said > 1).any())

    def named_so(self, missing: Sequence[str]) -> _Reading | None:
        """Return the reading with the one free column that is named like each missing role, None without one."""
        said = {role: [name for name in self.free if role in roles_said(name)] for role in missing}
        of_role = {**self.known, **{role: tuple(names) for role, names in said.items()}}
        played = of_role.get("round")
        taken = [of_role.get("agent", ()), of_role.get("correct" if self.by_correct else "vote", ())]
        if any(len(names) != 1 for names in (*said.values(), *taken, played or ("one round",))):
            return None
        debate = of_role.get("debate", ())
        return _Reading(debate, played[0] if played else None, taken[0][0], taken[1][0]) if debate else None

    # ---------------------------------------------------------------- label, question, tokens

    def _constant(self, reading: _Reading) -> list[str]:
        """Return the other columns with one value in each debate."""
        group, taken = self._joined(reading.debate), {reading.agent, reading.round, reading.vote}
        n = int(group.max()) + 1
        return [
            name
            for name in self.codes
            if name not in taken
            and self.size(name) > 1
            and (self.codes[name] >= 0).any()
            and (_per_group(group, self.codes[name], n) <= 1).all()
        ]

    def label(self, reading: _Reading) -> tuple[str | None, list[str]]:
        """Return the column of right answers, or those that may hold them."""
        if "label" in self.known or self.by_correct:
            return self.known.get("label", (None,))[0], []
        votes = set(self.values[reading.vote])
        may_be = [
            name
            for name in self._constant(reading)
            if name in self.free and name not in reading.debate and votes & set(self.values[name])
        ]
        named = [name for name in may_be if "label" in roles_said(name)]
        if len(named) == 1:
            return named[0], []
        return None, may_be

    def question(self, reading: _Reading, label: str | None) -> tuple[str | None, list[str]]:
        """Return the column of questions that several debates share, or those that may be it."""
        constant = self._constant(reading)
        if "question" in self.known:
            name = self.known["question"][0]
            return (name, []) if name in constant or self.size(name) < 2 else (None, [name])
        group = self._joined(reading.debate)
        n_debates = int(group.max()) + 1
        may_be = []
        for name in constant:
            # A column of one value for each debate says nothing of questions, and one of few values is a kind.
            if not self.size(name) < n_debates or name == label:
                continue
            if any(
                name in several for role, several in self.known.items() if role not in ("debate", "question")
            ):
                continue
            if label is None or self._decides(name, label):
                may_be.append(name)
        named = [name for name in may_be if "question" in roles_said(name)]
        if len(named) == 1:
            return named[0], []
        return None, may_be

    def _decides(self, name: str, label: str) -> bool:
        """Whether each value of a column has one label."""
        given = (self.codes[name] >= 0) & (self.codes[label] >= 0)
        return bool(
            (_per_group(self.codes[name][given], self.codes[label][given], self.size(name)) <= 1).all()
        )

    def tokens(self) -> Choice:
        """Return columns of tokens, by their names and because they hold numbers."""
        if {"tokens", "tokens_in", "tokens_out"} & set(self.known):
            return {}
        found: dict[str, list[str]] = {"tokens": [], "tokens_in": [], "tokens_out": []}
        for name in self.free:
            words = {word.casefold() for word in _WORD.findall(name)}
            if not words & {"tok", "toks", "token", "tokens"} or _integers(self.values[name]) is None:
                continue
            sent = bool(words & {"in", "input", "prompt", "sent", "read"})
            made = bool(words & {"out", "output", "completion", "generated", "written"})
            found[
                "tokens_in" if sent and not made else "tokens_out" if made and not sent else "tokens"
            ].append(name)
        one = {role: names[0] for role, names in found.items() if len(names) == 1}
        if {"tokens_in", "tokens_out"} <= set(one):
            return {"tokens_in": one["tokens_in"], "tokens_out": one["tokens_out"]}
        return {"tokens": one["tokens"]} if sum(map(len, found.values())) == 1 and "tokens" in one else {}


def _as_compared(values: Sequence[str], codes: NDArray[np.int32]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the texts of a column that occur, without missing ones, and their codes."""
    used = np.zeros(len(values) + 1, dtype=np.bool_)
    used[codes] = True
    texts: dict[str, int] = {}
    lookup = np.full(len(values) + 1, -1, dtype=np.int64)
    for code, value in enumerate(values):
        text = name_text(value)
        if used[code] and text is not None and not is_missing_word(text):
            lookup[code] = texts.setdefault(text, len(texts))
    return list(texts), lookup[codes]


_WHOLE = re.compile(r"([0-9]{1,9})(?:\.0*)?")


def _integers(values: Sequence[str]) -> list[int] | None:
    """Return whole numbers, None where one value is none."""
    read = [_WHOLE.fullmatch(value.strip()) for value in values]
    return [int(match[1]) for match in read if match] if read and all(read) else None


def _cells(*columns: NDArray[np.int64]) -> int:
    """Count the different rows."""
    return len(np.unique(np.stack(columns), axis=1).T)


def _per_group(group: NDArray[np.int64], codes: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Count the different values of each group; a missing one does not count."""
    given = codes >= 0
    pairs = np.unique(np.stack([group[given], codes[given]]), axis=1)
    return np.bincount(pairs[0][pairs[0] >= 0], minlength=n)


def _possible(
    readings: Sequence[_Reading], known: Mapping[str, tuple[str, ...]], fixed: set[str]
) -> dict[str, list[str]]:
    """Return the columns of each open role over all readings."""
    found: dict[str, list[str]] = {}
    for role in ("debate", "round", "agent", "vote"):
        if role in fixed or (role != "debate" and role in known):
            continue
        of_role = [getattr(reading, role) for reading in readings]
        texts = [
            " + ".join(each) if isinstance(each, tuple) else each for each in of_role if each is not None
        ]
        if listed := list(dict.fromkeys(texts)):
            found[role] = listed
    return found


def _said_best(readings: Sequence[_Reading], table: _Table) -> _Reading | None:
    """Return the one reading that the names support, None where there are several or none."""
    told: dict[_Reading, int] = {}
    for reading in readings:
        agrees = 0
        roles = {reading.agent: {"agent"}, reading.vote: {"vote"}} | {
            name: {"debate", "question"} for name in reading.debate
        }
        if reading.round is not None:
            roles[reading.round] = {"round"}
        for name, role in roles.items():
            said = roles_said(name)
            if any(name in several and key in role for key, several in table.known.items()):
                said = said | role  # the reader took the column by its name, or the user chose it
            if said and not said & role:
                break
            agrees += bool(said & role)
        else:
            told[reading] = agrees
    if not told:
        return None
    best = max(told.values())
    first, *others = [reading for reading, agrees in told.items() if agrees == best]
    # Names of all columns that were chosen must say so, unless the values leave no other way.
    n_roles = len(first.debate) + 2 + (first.round is not None)
    return first if not others and (len(readings) == 1 or best == n_roles) else None
