"""The rules between the records of a log: one form for each answer and name, and what remains after contradictions.

Everything works on the coded columns of :class:`d3stats.log.columns.Records`: a fast look at whole columns says whether
a rule is broken at all, and only then are the problems named one by one. The meaning of each rule is in
:data:`d3stats.log.problems.KINDS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Bools, Ints
from d3stats._words import counted, verb
from d3stats.log.columns import Coded, Coder, Coding, Part, Records, changes, occurring, opens, unified
from d3stats.log.files import journal_path
from d3stats.log.problems import (
    CUT_SHORT,
    DEBATES_OF_A_NOTE,
    Advised,
    LeftOut,
    Problem,
    in_reading_order,
    omissions,
    raise_first,
)
from d3stats.note import Note, warning
from d3stats.plausibility import running_totals
from d3stats.values import Canonical, canonical_texts, missing_words

RESUME = "to resume the run, give its command again"

_SAID = ("votes", "labels", "candidates shown first", "decisions", "answers")


@dataclass(frozen=True)
class Checked:
    """The valid part of a log, in canonical form.

    Attributes
    ----------
    items : Part
        One entry per debate, in order of first appearance. The codes of ``debate`` in all three parts are positions
        here, and ``vote``, ``label``, ``first`` and ``decision`` share one list of values.
    turns : Part
        In reading order.
    verdicts : Part
        At most one per debate.
    problems : tuple of Problem
        In reading order, those of the reader among them.
    notes : tuple of str
    n_records, coding, totals
        As in :class:`~d3stats.log.columns.Records`.
    as_written : bool
        Whether no two answers became one and none became missing, so that votes and labels are equal if their
        texts are, for any other content.
    panels : dict
        Agents in a debate of each run (``log``) and role; empty where they vary.
    """

    items: Part
    turns: Part
    verdicts: Part
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    n_records: int = 0
    coding: Coding = "answers"
    totals: bool = False
    as_written: bool = True
    panels: dict[tuple[str | None, str | None], int] = field(default_factory=dict)

    def strictly(self) -> Checked:
        """Raise the first problem; where agents are absent, say so in the notes instead.

        Raises
        ------
        LogError
            See :func:`d3stats.log.problems.raise_first`.
        """
        raise_first(self.problems)
        return self.warned()

    def leniently(self) -> Checked:
        """Count in the notes the records that are left out, by kind, before what :meth:`warned` says."""
        return self.warned(*omissions(self.problems))

    def warned(self, *more_notes: str) -> Checked:
        """Say in the notes which rounds were cut short, and where agents are absent, which only makes trials vary."""
        notes = [*more_notes, *self.notes]
        panels = [problem for problem in self.problems if problem.kind == "mixed panel"]
        absent = [problem.message for problem in panels if len(problem.record_key) == 3]
        if absent:
            more = f" (and {len(absent) - 1:,} more of this kind)" if len(absent) > 1 else ""
            names = [str(problem.record_key[0]) for problem in panels if len(problem.record_key) == 3]
            notes.append(warning(f"{absent[0]}{more}", "mixed panel", n=len(absent), examples=_few(names)))
        cut = [problem.record_key for problem in self.problems if problem.kind == CUT_SHORT]
        if cut:
            names = [str(key[0]) for key in cut]
            n = len(set(names))
            text = (
                f"{counted(n, 'round')} {verb(n, 'was', 'were')} cut short in {counted(n, 'debate')} without a verdict "
                f"({names[0]!r}{' and others' if n > 1 else ''}); {verb(n, 'its', 'their')} "
                f"{counted(len(cut), 'turn')} {verb(len(cut), 'is', 'are')} left out; {RESUME}"
            )
            notes.append(warning(text, CUT_SHORT, n=n, examples=_few(names)))
        return self if notes == list(self.notes) else replace(self, notes=tuple(notes))


def _few(names: Iterable[str]) -> list[str]:
    """Return different names, at most so many as a note has of debates."""
    return list(dict.fromkeys(names))[:DEBATES_OF_A_NOTE]


def check(records: Records, missing_values: Iterable[str] | None = None) -> Checked:
    """Bring every answer and name to its canonical form (see ``values.py``), then apply the rules between records."""
    settled, notes, as_written = _settled(records, missing_words(missing_values))
    rules = _Rules(settled, records.items.row)
    return Checked(
        rules.items,
        rules.turns,
        rules.verdicts,
        in_reading_order([*records.problems, *rules.problems], records.files),
        (*records.notes, *notes, *rules.notes, *_running_totals(rules.items, rules.turns, records.totals)),
        records.n_records,
        records.coding,
        records.totals,
        as_written,
        rules.panels,
    )


def _running_totals(items: Part, turns: Part, totals: bool) -> list[Note]:
    """Warn of tokens that are running totals; those of runs with a known protocol are what servers counted."""
    name = "tokens" if totals else "tokens_out"
    if name not in turns.columns or not len(turns) or (items.coded("protocol").codes >= 0).all():
        return []
    debate, agent = (turns.coded(who).codes.astype(np.int64) for who in ("debate", "agent"))
    said = running_totals(debate, turns.numbers("round"), agent, turns.numbers(name))
    return [warning(said, "running totals", about=name)] if said else []


# -------------------------------------------------------------------- canonical forms


def _settled(records: Records, words: Iterable[str]) -> tuple[Records, list[str], bool]:
    """Write answers and names in canonical form.

    Votes, labels, declared answers, the candidate shown first and decisions are compared with each other, so they get
    their form together. Questions, clusters, logs, roles, categories and personas are
    names. Debates and agents are names for which no word
    means missing.
    """
    parts = {name: getattr(records, name) for name in ("items", "turns", "verdicts")}
    columns = {name: {"debate": part.coded("debate"), **part.columns} for name, part in parts.items()}
    notes: list[str] = []

    def write(
        where: Sequence[tuple[str, str]], forms: dict[str, str | None], codes: Any, values: Any
    ) -> None:
        if list(forms) != list(forms.values()):
            coder = Coder()
            lookup = np.array([*(coder[forms.get(value, value)] for value in values), -1], dtype=np.int32)
            codes, values = [lookup[own] for own in codes], coder.values_list()
        for (part, name), own in zip(where, codes, strict=True):
            columns[part][name] = Coded(own, values)

    def rename(where: Sequence[tuple[str, str]], said: str, needed: bool) -> None:
        where = [(part, name) for part, name in where if name in columns[part]]
        if not where:
            return
        codes, values = unified(*(columns[part][name] for part, name in where))
        used = occurring(codes, len(values))
        meaning = () if needed else words
        texts = dict.fromkeys(compress(values, used.tolist()), 1)
        read = canonical_texts(texts, missing_values=meaning, names=True)
        if read.missing or read.merged:
            # What is said of it follows the order and the number of occurrences, which nobody else needs.
            if needed:
                rows = np.concatenate([parts[p].row * 3 + list(parts).index(p) for p, _ in where])
                together = Coded(np.concatenate(codes), values)[np.argsort(rows, kind="stable")]
                told = _counted(together)
            else:
                told = _counted(Coded(codes[0], values), columns[where[0][0]]["debate"].codes)
            notes.extend(canonical_texts(told, missing_values=meaning, names=True).notes(said))
        # A name of spaces alone stays as it is written: a record needs one.
        forms = dict(read.forms)
        if needed and None in forms.values():
            forms = {text: form or text for text, form in forms.items()}
        write(where, forms, codes, values)

    for name in ("debate", "agent"):
        rename([(part, name) for part in parts], f"{name}s", needed=True)
    items = parts["items"] = _once(Part(parts["items"].row, columns["items"]))
    columns["items"] = dict(items.columns)
    for name in ("question", "cluster", "log", "role", "category", "persona"):
        said = "categories" if name == "category" else f"{name}s"
        rename([("turns" if name in ("role", "persona") else "items", name)], said, needed=False)
    notes += _without_question(columns["items"])
    columns["items"]["question"] = _questions(columns["items"], len(items))

    answers = columns["items"].get("answers")
    declared: dict[str, int] = {}
    if answers is not None:
        sets = _counted(answers)
        declared = dict.fromkeys((answer for each in sets for answer in each), 1)
    where = [("turns", "vote"), ("items", "label"), ("items", "first"), ("verdicts", "decision")]
    codes, values = unified(
        *(columns[part].get(name, Coded.missing(len(parts[part]))) for part, name in where)
    )

    def looked_at(read_by: Any) -> Canonical:
        told = [read_by(own, part, name) for own, (part, name) in zip(codes, where, strict=True)]
        return canonical_texts(*told, declared, missing_values=words, keep=declared)

    read = looked_at(lambda own, *_: {values[i]: 1 for i in np.flatnonzero(occurring([own], len(values)))})
    as_written = not (read.missing or read.merged)
    if not as_written:
        read = looked_at(
            lambda own, part, name: _counted(
                Coded(own, values), None if name == "vote" else columns[part]["debate"].codes
            )
        )
        notes.extend(read.notes(*_SAID, answers=True))
    write(where, read.forms, codes, values)
    if answers is not None and any(read.forms[text] != text for text in declared):
        # Two spellings of one answer are one answer.
        forms = {
            each: tuple(form for form in dict.fromkeys(read.forms[text] for text in each) if form is not None)
            for each in sets
        }
        columns["items"]["answers"] = answers.mapped(forms)
    result: dict[str, Any] = {name: Part(part.row, columns[name]) for name, part in parts.items()}
    return replace(records, **result), notes, as_written


def _once(items: Part) -> Part:
    """Keep one entry of each debate where its entries follow one another and are alike, as in most tables."""
    at = opens(*(column.codes for column in items.columns.values()))
    debate = items.coded("debate")
    if len(at) in (0, len(items)) or occurring([debate.codes[at]], len(debate.values)).sum() < len(at):
        return items
    return items[at]


def _counted(column: Coded, debate: NDArray[np.int32] | None = None) -> dict[Any, int]:
    """Return the values in order of first appearance and how often each occurs, or in how many debates."""
    codes = column.codes[column.codes >= 0]
    if debate is not None:
        pairs = debate[column.codes >= 0] * np.int64(len(column.values)) + codes
        codes = codes[np.unique(pairs, return_index=True)[1]]
    counts = np.bincount(codes, minlength=len(column.values))
    first = firsts(column.codes, len(column.values))
    order = np.argsort(first, kind="stable")
    return {column.values[i]: int(counts[i]) for i in order[first[order] >= 0]}


def _questions(columns: Mapping[str, Any], n: int) -> Coded:
    """Return the questions; a debate without one is its own."""
    question: Coded = columns.get("question", Coded.missing(n))
    absent = question.codes < 0
    if not absent.any():
        return question
    (own, debate), values = unified(question, columns["debate"])
    return Coded(np.where(absent, debate, own), values)


def _without_question(columns: Mapping[str, Any]) -> list[Note]:
    """Warn of debates with neither question nor cluster where others have a question."""
    question = columns.get("question")
    absent = np.ones(0, dtype=np.bool_) if question is None else question.codes < 0
    if not absent.any() or absent.all():
        return []
    debate = columns["debate"].codes
    own = absent & ~np.isin(debate, debate[~absent])
    if (cluster := columns.get("cluster")) is not None:
        own &= ~np.isin(debate, debate[cluster.codes >= 0])
    n = len(np.unique(debate[own]))
    return [no_question(n, len(np.unique(debate)))] if n else []


def no_question(n: int, n_debates: int) -> Note:
    """Say that some debates have no question, while others have one."""
    text = (
        f"{n:,} of {counted(n_debates, 'debate')} {verb(n, 'has', 'have')} no question, while others have one; each "
        "counts as a question of its own, so intervals are too narrow if several belong to one question"
    )
    return warning(text, "debates without a question", n=n)


def firsts(codes: NDArray[Any], n: int) -> Ints:
    """Return where each code of 0 to n - 1 occurs first, -1 where it does not."""
    first = np.full(n + 1, -1, dtype=np.int64)
    at = opens(codes)[::-1]
    first[codes[at]] = at
    return first[:-1]


# -------------------------------------------------------------------- the rules between records


_TWO_RUNS = "two runs of the same debates are read one by one: d3stats compare and d3stats report take both"


class _Rules:
    """Apply the rules in order; each sees what the earlier ones left."""

    def __init__(self, records: Records, opening: Ints) -> None:
        self.records = records
        self.opens_too = np.zeros(records.n_rows, dtype=np.bool_)
        self.opens_too[opening] = True
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.panels: dict[tuple[str | None, str | None], int] = {}
        self.left_out = np.zeros(records.n_rows, dtype=np.bool_)
        self.without_cuts = False
        self._collect_items()
        self._collect_verdicts()
        self._collect_turns()
        if not len(self.turns):
            files = records.files
            more = f" and {len(files) - 3} more files" if len(files) > 3 else ""
            message = Advised(
                "a log must hold at least one turn", got=f"none in {', '.join(files[:3])}{more}"
            )
            self.problems.append(Problem(files[0], None, None, message, "no turns", (), "nothing"))

    def _note(
        self,
        row: int,
        kind: str,
        field: str | None,
        message: str,
        key: tuple[str | int, ...],
        left_out: LeftOut = "record",
    ) -> None:
        file, line = self._place(row)
        self.problems.append(Problem(file, line, field, message, kind, key, left_out))
        if left_out == "record":
            self.left_out[row] = True

    def _place(self, row: int) -> tuple[str, int]:
        return self.records.files[self.records.file[row]], int(self.records.line[row])

    def _remaining(self, part: Part) -> Part:
        return part[~self.left_out[part.row]] if self.left_out.any() else part

    def _collect_items(self) -> None:
        items = self.records.items
        debate = items.coded("debate")
        first = firsts(debate.codes, len(debate.values))
        fields = [name for name in items.columns if name in _ITEM_FIELDS]
        unlike = _unlike(debate.codes, first, [items.columns[name].codes for name in fields])
        for at in np.flatnonzero(unlike).tolist():
            known = first[debate.codes[at]]
            name = next(f for f in _ITEM_FIELDS if _value(items, f, at) != _value(items, f, known))
            file, line = self._place(items.row[known])
            message = Advised(
                f"{name} must be one per debate",
                _TWO_RUNS if name in ("log", "protocol") else "",
                got=(
                    f"{name}={_value(items, name, at)!r} for debate {_value(items, 'debate', at)!r}, but "
                    f"{_value(items, name, known)!r} at {file}:{line}"
                ),
            )
            self._note(items.row[at], "conflicting item", name, message, (_value(items, "debate", at),))
        opened = np.sort(first[first >= 0])
        self.items = items if len(opened) == len(items) else items[opened]
        self.names = [debate.values[code] for code in debate.codes[opened]]
        position = np.full(len(first) + 1, -1, dtype=np.int32)
        position[debate.codes[opened]] = np.arange(len(opened), dtype=np.int32)
        self.position, self.values = position, debate.values
        self.items.columns["debate"] = Coded(np.arange(len(opened), dtype=np.int32), self.names)
        self._collect_labels()

    def _at(self, part: Part) -> NDArray[np.int32]:
        """Return the position of each entry's debate among the items, -1 where no item opens it."""
        column = part.coded("debate")
        (own, _), values = unified(column, Coded(self.position[:0], self.values))
        if values is self.values:
            return self.position[own]
        known = {name: i for i, name in enumerate(self.names)}
        return np.array([*(known.get(v, -1) for v in values), -1], dtype=np.int32)[own]

    def _collect_labels(self) -> None:
        label, answers = self.items.coded("label"), self.items.coded("answers")
        outside = _outside(answers, answers.codes, label)
        for at in np.flatnonzero(outside).tolist():
            debate = self.names[at]
            allowed = answers.values[answers.codes[at]]
            message = Advised(
                f"label must be one of {_listed(allowed)}",
                got=f"label={label.values[label.codes[at]]!r} for debate {debate!r}",
            )
            self._note(self.items.row[at], "label outside the answers", "label", message, (debate,), "field")
        if outside.any():
            self.items.columns["label"] = Coded(np.where(outside, -1, label.codes), label.values)

    def _collect_verdicts(self) -> None:
        verdicts = self._remaining(self.records.verdicts)
        at = self._at(verdicts)
        first = firsts(at, len(self.names))
        says = [verdicts.coded(name).codes for name in _VERDICT_FIELDS[:2]]
        says.append(np.nan_to_num(verdicts.numbers("round"), nan=-1.0))
        wrong = _unlike(at, first, says)
        wrong[at < 0] = True
        for i in np.flatnonzero(wrong).tolist():
            debate, row = _value(verdicts, "debate", i), verdicts.row[i]
            if at[i] < 0:
                self._note(row, "unknown debate", "debate", _unknown(debate), (debate,))
                continue
            # A table row says more than its verdict; only a line of its own is left out for it.
            lost: LeftOut = "field" if self.opens_too[row] else "record"
            at_first = first[at[i]]
            name = next(f for f, own in zip(_VERDICT_FIELDS, says, strict=True) if own[i] != own[at_first])
            message = Advised(f"{name} must be one per debate", got=f"a second verdict for {debate!r}")
            self._note(row, "conflicting verdict", name, message, (debate,), lost)
        kept = np.sort(first[first >= 0])
        self.verdicts = verdicts if len(kept) == len(verdicts) else verdicts[kept]
        self.verdicts.columns["debate"] = Coded(at if len(kept) == len(at) else at[kept], self.names)

    def _collect_turns(self) -> None:
        turns = self._remaining(self.records.turns)
        self.turns = turns = Part(turns.row, dict(turns.columns))
        at = self._at(turns)
        agent, played = turns.coded("agent"), turns.numbers("round")
        order, repeated = _in_order(at, played, agent)
        unknown = at < 0
        repeated &= ~unknown
        answers = self.items.coded("answers")
        outside = _outside(answers, np.append(answers.codes, -1)[at], turns.coded("vote"))
        outside &= ~(unknown | repeated)
        first_of: dict[tuple[Any, ...], int] = {}
        if repeated.any():
            for i in np.flatnonzero(np.isin(at, at[repeated]))[::-1]:
                first_of[int(at[i]), int(played[i]), int(agent.codes[i])] = i
        for i in np.flatnonzero(unknown | repeated | outside).tolist():
            key = self._key(turns, i)
            row = turns.row[i]
            if unknown[i]:
                self._note(row, "unknown debate", "debate", _unknown(str(key[0])), key)
            elif repeated[i]:
                file, line = self._place(turns.row[first_of[int(at[i]), int(played[i]), int(agent.codes[i])]])
                message = Advised(
                    "an agent must speak once per round",
                    got=(
                        f"debate={key[0]!r}, round={key[1]}, agent={key[2]!r} again, first at {file}:{line}"
                    ),
                )
                self._note(row, "duplicate turn", "agent", message, key)
            else:
                allowed = answers.values[answers.codes[at[i]]]
                got = _value(turns, "vote", i)
                message = Advised(
                    f"vote must be one of {_listed(allowed)}", got=f"vote={got!r} in debate {key[0]!r}"
                )
                self._note(row, "vote outside the answers", "vote", message, key, "field")
        if outside.any():
            vote = turns.coded("vote")
            turns.columns["vote"] = Coded(np.where(outside, -1, vote.codes), vote.values)
        turns.columns["debate"] = Coded(at, self.names)
        self._keep(unknown | repeated, order)
        self.notes = self._several_files()
        self._cut_gaps()
        self._compare_panels()

    def _several_files(self) -> list[str]:
        """Say which debates have turns in several files: one debate in parts, or two that have one name."""
        if len(self.records.files) < 2 or not len(self.turns):
            return []
        debate, file = self.turns.coded("debate").codes, self.records.file[self.turns.row]
        runs = opens(debate, file)
        pairs = np.unique(np.stack([debate[runs].astype(np.int64), file[runs]]), axis=1)
        found, times = np.unique(pairs[0], return_counts=True)
        split = found[times > 1]
        if not len(split):
            return []
        played = self.turns.numbers("round").astype(np.int64)
        cells = np.unique(np.stack([debate.astype(np.int64), played, file]), axis=1)
        _, meet = np.unique(cells[:2], axis=1, return_counts=True)
        files = [self.records.files[k] for k in np.unique(pairs[1][np.isin(pairs[0], split)])[:3]]
        named = ", ".join(repr(self.names[k]) for k in split[:3]) + (", ..." if len(split) > 3 else "")
        many = "1 debate has" if len(split) == 1 else f"{len(split):,} debates have"
        said = f"{many} turns in several files ({named}; {', '.join(files)})"
        if (meet > 1).any():
            text = (
                f"{said}, in the same rounds, so the agents of these files form one panel; if the files hold "
                "different runs, give their debates different names"
            )
            return [warning(text, "debates in several files", n=len(split), examples=files)]
        return [f"{said}; each is read as one debate"]

    def _keep(self, gone: Bools, order: Ints | None) -> None:
        """Leave out turns; `order` sorts them by debate, round and agent, None when they are in order."""
        if gone.any():
            place = np.cumsum(~gone) - 1
            self.turns = self.turns[~gone]
            order = None if order is None else place[order[~gone[order]]]
        self.order = order

    @staticmethod
    def _key(turns: Part, i: int) -> tuple[str | int, ...]:
        return _value(turns, "debate", i), int(turns.columns["round"][i]), _value(turns, "agent", i)

    def _cut_gaps(self) -> None:
        debate, played = self.turns.coded("debate").codes, self.turns.numbers("round")
        if self.order is not None:
            debate, played = debate[self.order], played[self.order]
        at = opens(debate, played)
        of, number = debate[at], played[at]
        new = changes(of)
        expected = np.ones(len(of), dtype=np.int64)
        expected[1:] = np.where(new[1:], 1, number[:-1] + 1)
        gap = number != expected
        if not gap.any():
            return
        limit = np.full(len(self.names), np.iinfo(np.int64).max)
        at = np.flatnonzero(gap)[::-1]
        limit[of[at]] = expected[at] - 1
        debate, played = self.turns.coded("debate").codes, self.turns.numbers("round")
        gone = played > limit[debate]
        for i in np.flatnonzero(gone).tolist():
            key = self._key(self.turns, i)
            message = Advised(
                "rounds must follow one another from 1",
                got=f"round={key[1]} but no round {limit[debate[i]] + 1} in debate {key[0]!r}",
            )
            self._note(self.turns.row[i], "round gap", "round", message, key)
        self._keep(gone, self.order)

    def _compare_panels(self) -> None:
        """Compare agents within each role: roles may speak in different rounds, the agents of one may not."""
        if not len(self.turns):
            return
        debate, agent = self.turns.coded("debate").codes, self.turns.coded("agent").codes
        role, played = self.turns.coded("role"), self.turns.numbers("round")
        n_roles = len(role.values) + 1
        alike = bool((role.codes == role.codes[0]).all())
        cell = debate.astype(np.int64) if alike else debate * np.int64(n_roles) + role.codes + 1
        order = self.order
        if not alike:
            order = np.lexsort((agent, played, cell))
        cells, rounds, agents = (x if order is None else x[order] for x in (cell, played, agent))
        begins = opens(cells, rounds)
        size = np.diff(begins, append=len(cells))
        of = cells[begins]
        new = changes(of)
        start = np.flatnonzero(new)
        # Each round of a cell against the cell's first.
        first = start[np.cumsum(new) - 1]
        steady = size == size[first]
        if size.min() == size.max():
            panels = agents.reshape(-1, int(size[0]))
            for seat in panels.T:
                steady &= seat == seat[first]
        else:
            shift = np.repeat(begins - begins[first], size)
            here = np.arange(len(agents))
            within = np.where(np.repeat(steady, size), here - shift, here)
            steady &= np.logical_and.reduceat(agents == agents[within], begins)
        uneven = np.unique(of[~steady])
        each = of[start]
        log = self.items.coded("log").codes[each if alike else each // n_roles]
        group = log + 1 if alike else (log + 1) * np.int64(n_roles) + each % n_roles
        usual = np.zeros(int(group.max()) + 1, dtype=np.int64)
        usual[group] = size[start]
        if len(uneven) or (usual[group] != size[start]).any():
            if self._name_panels(cell, uneven):
                self._compare_panels()
            return
        logs, roles = [*self.items.coded("log").values, None], [*role.values, None]
        for at in np.flatnonzero(usual).tolist():
            run, spoke = (at, int(role.codes[0])) if alike else (at // n_roles, at % n_roles - 1)
            self.panels[logs[run - 1], roles[spoke]] = int(usual[at])

    def _name_panels(self, cell: Ints, uneven: Ints) -> bool:
        """Name what is wrong with panels, cell by cell (a debate's agents of one role) in reading order.

        Rounds that were cut short go first: where there are some, only they are named and left out, and the answer is
        True.
        """
        turns = self.turns
        debate, agent = turns.coded("debate"), turns.coded("agent")
        role, played = turns.coded("role"), turns.numbers("round").astype(np.int64)
        log = self.items.coded("log")
        depth = np.zeros(len(self.names), dtype=np.int64)
        np.maximum.at(depth, debate.codes, played)
        last = np.full(len(depth), -1) if self.without_cuts else np.where(self._under_way(), depth, -1)
        found: list[tuple[int, str, tuple[str | int, ...]]] = []
        cut: dict[int, str] = {}

        n_agents = np.int64(len(agent.values))
        some, sizes = np.unique(np.unique(cell * n_agents + agent.codes) // n_agents, return_counts=True)
        speakers: dict[tuple[int, int], set[int]] = {}
        rows: dict[tuple[int, int], int] = {}
        everyone: dict[int, set[int]] = {}
        for i in np.flatnonzero(np.isin(cell, uneven)).tolist():
            where = int(cell[i]), int(played[i])
            speakers.setdefault(where, set()).add(int(agent.codes[i]))
            rows.setdefault(where, i)
            everyone.setdefault(where[0], set()).add(int(agent.codes[i]))
        for where, present in speakers.items():
            absent = sorted(agent.values[a] for a in everyone[where[0]] - present)
            if absent:
                i = rows[where]
                name = self.names[debate.codes[i]]
                got = f"none from {_listed(absent[:3])} in round {where[1]} of debate {name!r}"
                if where[1] == last[debate.codes[i]]:
                    cut.setdefault(int(debate.codes[i]), got)
                    continue
                message = Advised(
                    f"all {len(everyone[where[0]])} agents{_of(_value(turns, 'role', i))} must have "
                    f"a turn in each round that one of them has",
                    got=got,
                )
                found.append((i, message, (name, where[1], absent[0])))

        # A role that speaks for the first time in the round that was cut short says nothing of its size.
        code = np.searchsorted(some, cell)
        first = firsts(code, len(some))
        opening = np.full(len(some), np.iinfo(np.int64).max)
        np.minimum.at(opening, code, played)
        begun = opening == last[debate.codes[first]]
        counts: dict[tuple[int, int], Counter[int]] = {}
        in_order = np.argsort(first, kind="stable")
        runs = [(int(log.codes[debate.codes[i]]), int(role.codes[i])) for i in first]
        for c in in_order:
            if not begun[c]:
                counts.setdefault(runs[c], Counter())[int(sizes[c])] += 1
        # most_common keeps the order of first appearance among ties.
        usual = {run: sizes.most_common(1)[0][0] for run, sizes in counts.items()}
        for c in in_order:
            most = usual.get(runs[c])
            if most is None or most == sizes[c]:
                continue
            i = first[c]
            name = self.names[debate.codes[i]]
            run = None if runs[c][0] < 0 else log.values[runs[c][0]]
            got = (
                f"{counted(int(sizes[c]), 'agent')}{_of(_value(turns, 'role', i))} in debate {name!r}, {most} in "
                f"most debates of {_run(run)}"
            )
            if begun[c] and sizes[c] < most:
                cut.setdefault(int(debate.codes[i]), got)
                continue
            message = Advised("debates of one run must have panels of one size", got=got)
            found.append((i, message, (name,)))
        if cut:
            self._leave_out(cut, (last == depth)[debate.codes] & (played == depth[debate.codes]))
            return True
        for i, said, key in found:
            self._note(turns.row[i], "mixed panel", "agent", said, key, "nothing")
        return False

    def _leave_out(self, cut: Mapping[int, str], ends: Bools) -> None:
        """Leave out the last round of debates in which it was cut short; `ends` are the turns of last rounds."""
        debate = self.turns.coded("debate").codes
        gone = ends & np.isin(debate, list(cut))
        for i in np.flatnonzero(gone).tolist():
            message = Advised(
                "a round of a debate without a verdict must be whole",
                RESUME,
                got=cut[int(debate[i])],
            )
            self._note(self.turns.row[i], CUT_SHORT, "agent", message, self._key(self.turns, i))
        self.without_cuts = True
        self._keep(gone, self.order)

    def _under_way(self) -> Bools:
        """Return the debates without a verdict of runs that have verdicts, or of logs with a journal."""
        records = self.records
        closed = np.zeros(len(self.names), dtype=np.bool_)
        closed[self.verdicts.coded("debate").codes] = True
        log = self.items.coded("log").codes
        under_way = np.isin(log, log[closed])
        opening = np.unique(records.file[self.items.row])
        journaled = [f for f in opening if journal_path(records.files[f]).is_file()]
        beside = np.isin(records.file[self.turns.row], journaled)
        under_way[self.turns.coded("debate").codes[beside]] = True
        return under_way & ~closed


_VERDICT_FIELDS = ("decision", "stop_reason", "round")
_ITEM_FIELDS = (
    *("question", "cluster", "label", "answers", "log", "protocol", "polling", "first", "category"),
)


def _value(part: Part, name: str, i: int) -> Any:
    column = part.coded(name)
    code = column.codes[i]
    return None if code < 0 else column.values[code]


def _unlike(of: NDArray[Any], first: Ints, columns: Sequence[NDArray[Any]]) -> Bools:
    """Which entries differ from the first entry of the same debate."""
    unlike = np.zeros(len(of), dtype=np.bool_)
    n_debates = int((first >= 0).sum())
    if n_debates in (0, len(of)):
        return unlike
    same = of[1:] == of[:-1]
    runs = len(of) - int(same.sum())
    for codes in columns:
        # Where each debate is in one piece, a change is a change from one entry to the next.
        if runs == n_debates and not ((codes[1:] != codes[:-1]) & same).any():
            continue
        unlike |= codes != codes[first[of]]
    return unlike


def _outside(answers: Coded, of: NDArray[np.int32], column: Coded) -> Bools:
    """Which texts are not among the answers of their debate; `of` codes the answers of each entry."""
    outside = np.zeros(len(of), dtype=np.bool_)
    if not len(of) or not answers.values:
        return outside
    n = len(column.values) + 1
    pairs = of * np.int64(n) + column.codes
    given = (of >= 0) & (column.codes >= 0)
    sets = {i: set(values) for i, values in enumerate(answers.values)}
    different = pd.unique(pairs[given])
    wrong = [p for p in different.tolist() if column.values[p % n] not in sets[p // n]]
    if wrong:
        outside = np.isin(pairs, wrong) & given
    return outside


def _in_order(debate: NDArray[np.int32], played: NDArray[Any], agent: Coded) -> tuple[Ints | None, Bools]:
    """Return the order by debate, round and agent (None when it is the reading order), and which turns repeat one."""
    repeated = np.zeros(len(debate), dtype=np.bool_)
    if not len(debate):
        return None, repeated
    steps, agents = int(played.max()) + 1, len(agent.values)
    n_debates = int(debate.max()) + 2
    if n_debates * steps * agents < 2**62:
        key = (debate.astype(np.int64) * steps + played) * agents + agent.codes
        if (key[1:] > key[:-1]).all():
            return None, repeated
        order: Ints = np.argsort(key, kind="stable")
        same = key[order[1:]] == key[order[:-1]]
    else:
        order = np.lexsort((agent.codes, played, debate))
        same = np.ones(len(order) - 1, dtype=np.bool_)
        for column in (debate, played, agent.codes):
            same &= column[order[1:]] == column[order[:-1]]
    repeated[order[1:][same]] = True
    return order, repeated


def _unknown(debate: str) -> str:
    return Advised("debate must have an item", got=f"debate={debate!r}")


def _of(role: str | None) -> str:
    return "" if role is None else f" of role {role!r}"


def _run(log: str | None) -> str:
    return "the log" if log is None else f"log {log!r}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
