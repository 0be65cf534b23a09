"""The rules between records once more, record by record with dicts: what the rules on columns must come to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

from d3stats._words import counted
from d3stats.log.consistency import _TWO_RUNS, no_question
from d3stats.log.files import journal_path
from d3stats.log.problems import LeftOut, Problem
from d3stats.values import canonical

ITEM = ("debate", "question", "cluster", "label", "answers", "log", "protocol", "first")
VERDICT = ("debate", "decision", "round", "stop_reason")


@dataclass
class Row:
    """What one line or one table row says; a table row opens its debate, and may close it, each time."""

    file: str
    line: int
    item: dict[str, Any] | None = None
    turn: dict[str, Any] | None = None
    verdict: dict[str, Any] | None = None


@dataclass
class Gathered:
    """All records that could be read, in reading order."""

    files: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    n_records: int = 0
    coding: Literal["answers", "correctness"] = "answers"
    totals: bool = False


ANSWERS = ("vote", "label", "first", "decision", "answers")
NAMES = ("question", "cluster", "log", "role")
_KEYS = ("debate", "agent")
_SAID = ("votes", "labels", "candidates shown first", "decisions", "answers")


def settle(gathered: Gathered, missing_values: Iterable[str] | None = None) -> None:
    """Write every record's answers and names in canonical form, and note what changed by it."""
    parts = [part for row in gathered.rows for part in (row.item, row.turn, row.verdict) if part is not None]
    for name in _KEYS:
        read = canonical([part[name] for part in parts if name in part], missing_values=(), names=True)
        for part in parts:
            if name in part:
                # A name of spaces alone stays as it is written: a record needs one.
                part[name] = read.forms[part[name]] or part[name]
        gathered.notes += read.notes(f"{name}s")
    items = [row.item for row in gathered.rows if row.item is not None]
    turns = [row.turn for row in gathered.rows if row.turn is not None]
    for name in NAMES:
        parts_here = turns if name == "role" else items
        given = dict.fromkeys((part["debate"], part[name]) for part in parts_here)
        read = canonical([value for _, value in given], missing_values=missing_values, names=True)
        for part in parts_here:
            if part[name] is not None:
                part[name] = read.forms[part[name]]
        gathered.notes += read.notes(f"{name}s")
    asked = {item["debate"] for item in items if item["question"]}
    known = asked | {item["debate"] for item in items if item["cluster"]}
    own = {item["debate"] for item in items} - known
    if asked and own:
        gathered.notes.append(no_question(len(own), len({item["debate"] for item in items})))
    for item in items:
        item["question"] = item["question"] or item["debate"]

    def once(name: str) -> list[str | None]:
        """Return a field of each debate; a table repeats it on each of the debate's rows."""
        return [value for _, value in dict.fromkeys((p["debate"], p[name]) for p in parts if name in p)]

    declared = list(dict.fromkeys(a for p in items for a in p["answers"] or ()))
    read = canonical(
        [turn["vote"] for turn in turns],
        once("label"),
        once("first"),
        once("decision"),
        declared,
        missing_values=missing_values,
        keep=declared,
    )
    for part in parts:
        for name in ("vote", "label", "first", "decision"):
            if part.get(name) is not None:
                part[name] = read.forms[part[name]]
        if part.get("answers") is not None:
            # Two spellings of one answer are one answer.
            forms = dict.fromkeys(read.forms[answer] for answer in part["answers"])
            part["answers"] = tuple(form for form in forms if form is not None)
    gathered.notes += read.notes(*_SAID, answers=True)


_Cell = tuple[str, str | None]


class Checked:
    """The records that remain after the rules, and the problems of those that do not.

    Attributes
    ----------
    items, verdicts : dict
        Debate to record.
    turns : list of dict
        In reading order.
    problems : list of Problem
        Those of `gathered` and the new ones.
    spoken : list of Row
        Those with a turn, before any round is left out.
    """

    def __init__(self, gathered: Gathered) -> None:
        self.gathered = gathered
        self.problems: list[Problem] = list(gathered.problems)
        self.items: dict[str, dict[str, Any]] = {}
        self.verdicts: dict[str, dict[str, Any]] = {}
        self._item_rows: dict[str, Row] = {}
        self._left_out: set[int] = set()
        self._kept: list[Row] = []
        self._collect_items()
        self._collect_verdicts()
        self._collect_turns()
        self.spoken = self._kept
        self._cut_gaps()
        self._compare_panels()
        self.turns = [row.turn for row in self._kept if row.turn is not None]
        if not self.turns:
            files = gathered.files
            message = f"a log must hold at least one turn; got none in {', '.join(files[:3])}"
            if len(files) > 3:
                message += f" and {len(files) - 3} more files"
            self.problems.append(Problem(files[0], None, None, message, "no turns", (), "nothing"))

    def _note(
        self,
        row: Row,
        kind: str,
        field: str | None,
        message: str,
        key: tuple[str | int, ...],
        left_out: LeftOut = "record",
    ) -> None:
        self.problems.append(Problem(row.file, row.line, field, message, kind, key, left_out))
        if left_out == "record":
            self._left_out.add(id(row))

    def _rows(self) -> Iterator[Row]:
        return (row for row in self.gathered.rows if id(row) not in self._left_out)

    def _collect_items(self) -> None:
        for row in self._rows():
            if row.item is None:
                continue
            debate = row.item["debate"]
            known = self.items.get(debate)
            if known is None:
                self.items[debate] = row.item
                self._item_rows[debate] = row
            elif known != row.item:
                field = next(name for name in known if known[name] != row.item[name])
                first = self._item_rows[debate]
                message = (
                    f"{field} must be one per debate; got {field}={row.item[field]!r} for debate "
                    f"{debate!r}, but {known[field]!r} at {first.file}:{first.line}"
                )
                if field in ("log", "protocol"):
                    message += f"; {_TWO_RUNS}"
                self._note(row, "conflicting item", field, message, (debate,))
        for debate, item in self.items.items():
            label, answers = item["label"], item["answers"]
            if answers is not None and label is not None and label not in answers:
                message = (
                    f"label must be one of {_listed(answers)}; got label={label!r} for debate {debate!r}"
                )
                row = self._item_rows[debate]
                self._note(row, "label outside the answers", "label", message, (debate,), "field")
                self.items[debate] = item | {"label": None}

    def _collect_verdicts(self) -> None:
        for row in self._rows():
            if row.verdict is None:
                continue
            debate = row.verdict["debate"]
            # A table row says more than its verdict; only a line of its own is left out for it.
            lost: LeftOut = "record" if row.item is None else "field"
            if debate not in self.items:
                self._note(row, "unknown debate", "debate", _unknown(debate), (debate,))
            elif self.verdicts.setdefault(debate, row.verdict) != row.verdict:
                known = self.verdicts[debate]
                field = next(f for f in ("decision", "stop_reason", "round") if known[f] != row.verdict[f])
                message = f"{field} must be one per debate; got a second verdict for {debate!r}"
                self._note(row, "conflicting verdict", field, message, (debate,), lost)

    def _collect_turns(self) -> None:
        seen: dict[tuple[str, int, str], Row] = {}
        for row in self._rows():
            turn = row.turn
            if turn is None:
                continue
            key = (turn["debate"], turn["round"], turn["agent"])
            item = self.items.get(key[0])
            first = seen.get(key)
            if item is None:
                self._note(row, "unknown debate", "debate", _unknown(key[0]), key)
                continue
            if first is not None:
                message = (
                    "an agent must speak once per round; "
                    f"got debate={key[0]!r}, round={key[1]}, agent={key[2]!r} again, first at "
                    f"{first.file}:{first.line}"
                )
                self._note(row, "duplicate turn", "agent", message, key)
                continue
            seen[key] = row
            answers = item["answers"]
            if answers is not None and turn["vote"] is not None and turn["vote"] not in answers:
                message = (
                    f"vote must be one of {_listed(answers)}; got vote={turn['vote']!r} in debate {key[0]!r}"
                )
                self._note(row, "vote outside the answers", "vote", message, key, "field")
                row.turn = turn | {"vote": None}
            self._kept.append(row)

    def _cut_gaps(self) -> None:
        rounds: dict[str, set[int]] = defaultdict(set)
        for row in self._kept:
            assert row.turn is not None
            rounds[row.turn["debate"]].add(row.turn["round"])
        last: dict[str, int] = {}
        for debate, played in rounds.items():
            if max(played) > len(played):
                last[debate] = next(r for r in range(1, max(played) + 1) if r not in played) - 1
        kept = []
        for row in self._kept:
            assert row.turn is not None
            turn = row.turn
            limit = last.get(turn["debate"])
            if limit is None or turn["round"] <= limit:
                kept.append(row)
                continue
            message = (
                f"rounds must follow one another from 1; got round={turn['round']} "
                f"but no round {limit + 1} in debate {turn['debate']!r}"
            )
            self._note(row, "round gap", "round", message, (turn["debate"], turn["round"], turn["agent"]))
        self._kept = kept

    def _compare_panels(self) -> None:
        """Leave out rounds that were cut short, then name what is wrong with the panels of the rest."""
        cut, found = self._look_at_panels(self._under_way())
        last = self._depths()
        kept = []
        for row in self._kept:
            assert row.turn is not None
            debate, played = row.turn["debate"], row.turn["round"]
            if debate in cut and played == last[debate]:
                message = (
                    f"a round of a debate without a verdict must be whole; got {cut[debate]}; to resume the run, give "
                    "its command again"
                )
                self._note(row, "interrupted round", "agent", message, (debate, played, row.turn["agent"]))
            else:
                kept.append(row)
        self._kept = kept
        if cut:
            found = self._look_at_panels(set())[1]
        for row, message, key in found:
            self._note(row, "mixed panel", "agent", message, key, "nothing")

    def _depths(self) -> dict[str, int]:
        last: dict[str, int] = {}
        for row in self._kept:
            assert row.turn is not None
            last[row.turn["debate"]] = max(row.turn["round"], last.get(row.turn["debate"], 0))
        return last

    def _look_at_panels(
        self, under_way: set[str]
    ) -> tuple[dict[str, str], list[tuple[Row, str, tuple[str | int, ...]]]]:
        """Compare agents within each role: roles may speak in different rounds, the agents of one may not."""
        agents: dict[_Cell, set[str]] = defaultdict(set)
        speakers: dict[tuple[_Cell, int], set[str]] = defaultdict(set)
        at: dict[tuple[_Cell, int], Row] = {}
        for row in self._kept:
            assert row.turn is not None
            turn = row.turn
            cell = (turn["debate"], turn["role"])
            agents[cell].add(turn["agent"])
            speakers[cell, turn["round"]].add(turn["agent"])
            at.setdefault((cell, turn["round"]), row)
        last = {debate: depth for debate, depth in self._depths().items() if debate in under_way}
        cut: dict[str, str] = {}
        found: list[tuple[Row, str, tuple[str | int, ...]]] = []
        for (cell, played), present in speakers.items():
            absent = agents[cell] - present
            if absent:
                got = f"none from {_listed(sorted(absent)[:3])} in round {played} of debate {cell[0]!r}"
                if played == last.get(cell[0]):
                    cut.setdefault(cell[0], got)
                    continue
                message = (
                    f"all {len(agents[cell])} agents{_of(cell[1])} must have a turn in each round that one "
                    f"of them has; got {got}"
                )
                found.append((at[cell, played], message, (cell[0], played, min(absent))))
        # A role that speaks for the first time in the round that was cut short says nothing of its size.
        opening: dict[_Cell, int] = {}
        for cell, played in at:
            opening[cell] = min(played, opening.get(cell, played))
        begun = {cell for cell, played in opening.items() if played == last.get(cell[0])}
        sizes: dict[tuple[str | None, str | None], Counter[int]] = defaultdict(Counter)
        for cell, names in agents.items():
            if cell not in begun:
                sizes[self.items[cell[0]]["log"], cell[1]][len(names)] += 1
        first = {cell: row for (cell, _), row in reversed(at.items())}
        for cell, names in agents.items():
            run = self.items[cell[0]]["log"]
            if not sizes[run, cell[1]]:
                continue
            # most_common keeps the order of first appearance among ties.
            usual = sizes[run, cell[1]].most_common(1)[0][0]
            if len(names) == usual:
                continue
            got = (
                f"{counted(len(names), 'agent')}{_of(cell[1])} in debate {cell[0]!r}, {usual} in most debates of "
                f"{_run(run)}"
            )
            if cell in begun and len(names) < usual:
                cut.setdefault(cell[0], got)
                continue
            message = f"debates of one run must have panels of one size; got {got}"
            found.append((first[cell], message, (cell[0],)))
        return cut, found

    def _under_way(self) -> set[str]:
        """Return the debates without a verdict of runs that have verdicts, or of logs with a journal."""
        closing = {self.items[debate]["log"] for debate in self.verdicts}
        files = {row.file for row in self._item_rows.values()}
        journaled = {file for file in files if journal_path(file).is_file()}
        return {
            row.turn["debate"]
            for row in self._kept
            if row.turn is not None
            and row.turn["debate"] not in self.verdicts
            and (self.items[row.turn["debate"]]["log"] in closing or row.file in journaled)
        }


def _unknown(debate: str) -> str:
    return f"debate must have an item; got debate={debate!r}"


def _of(role: str | None) -> str:
    return "" if role is None else f" of role {role!r}"


def _run(log: str | None) -> str:
    return "the log" if log is None else f"log {log!r}"


def _listed(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"


def read_plainly(*paths: Any) -> Checked:
    """Read sound JSON lines record by record."""
    import msgspec

    from d3stats.log.reader import iter_records

    gathered = Gathered(list(map(str, paths)))
    for path in paths:
        for number, record in enumerate(iter_records(path), start=1):
            values = msgspec.structs.asdict(record)
            kind = type(record).__name__.lower()
            row = Row(str(path), number)
            if kind != "header":
                for unread in ("text", "candidates"):
                    values.pop(unread, None)
                setattr(row, kind, values)
            gathered.rows.append(row)
            gathered.n_records += 1
    settle(gathered)
    return Checked(gathered)


def assert_reads_plainly(log: Any, *paths: Any) -> None:
    """Hold the tables of sound JSON lines to what their records say one by one."""
    plain = read_plainly(*paths)
    assert list(log.problems) == plain.problems

    def said(table: Any) -> list[dict[str, Any]]:
        return [
            {name: None if value is pd.NA else value for name, value in row.items()}
            for row in table.to_dict("records")
        ]

    def by(record: dict[str, Any]) -> Any:
        return record["debate"], record.get("round"), record.get("agent")

    assert said(log.items) == sorted(plain.items.values(), key=lambda item: item["debate"])
    # Cached tokens and confidences have a column only where some were recorded.
    drop = {
        name for name in ("tokens_cached", "confidence") if all(turn[name] is None for turn in plain.turns)
    }
    plain_turns = [{k: v for k, v in turn.items() if k not in drop} for turn in plain.turns]
    assert said(log.turns) == sorted(plain_turns, key=by)
    assert said(log.verdicts) == sorted(plain.verdicts.values(), key=lambda verdict: verdict["debate"])
    assert log.n_records == plain.gathered.n_records
    assert list(log.notes)[: len(plain.gathered.notes)] == plain.gathered.notes
