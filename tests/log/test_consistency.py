"""The rules on columns against the same rules record by record, on logs with every defect that records can share."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import plain_rules
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import examples
from plain_rules import ITEM, VERDICT, Gathered, Row

from d3stats.log.columns import TURN, Coded, Part, Records, joined
from d3stats.log.consistency import Checked, check
from d3stats.log.problems import in_reading_order

FILES = ["a.jsonl", "b.csv"]
VOTES = ["A", "B", "A ", "NA", "n/a", "1", "1.0", "0", "true", "True", "2.50", "2.5", None]
NAMES = ["x", " x", "x 1", "x  1", "7", "7.0", "none", None]


@st.composite
def logs(draw: st.DrawFn) -> list[Row]:
    """Rows of lines and of tables; most debates are sound, so that rules meet each other."""
    pick = lambda values: draw(st.sampled_from(values))  # noqa: E731
    some = draw(st.integers(0, 3))
    votes = [VOTES[:3], VOTES[:6], VOTES[5:], VOTES][some]
    odd = [st.just(False), st.integers(0, 11).map(lambda n: n == 0), st.booleans()][draw(st.integers(0, 2))]
    rows: list[Row] = []
    for d in range(draw(st.integers(0, 4))):
        file = pick(FILES)
        name = f"d{d}"

        def opened(name: str = name) -> dict[str, Any]:
            return {
                "debate": pick([name, f" {name}", "d0"]) if draw(odd) else name,
                "question": pick([*NAMES[:-1], name]) if draw(odd) else "q",
                "cluster": pick(NAMES) if draw(odd) else None,
                "label": pick(votes) if draw(odd) else "A",
                "answers": pick([None, ("A", "B"), ("A", "NA"), ("1", "1.0"), ("A ", "A")])
                if draw(odd)
                else None,
                "log": pick(NAMES) if draw(odd) else "run",
                "protocol": pick(["p", None]) if draw(odd) else "p",
                "first": pick(votes) if draw(odd) else None,
            }

        def closed(name: str = name) -> dict[str, Any]:
            return {
                "debate": pick([f"{name}  ", "d9"]) if draw(odd) else name,
                "decision": pick(votes),
                "round": pick([1, 2, None]) if draw(odd) else 2,
                "stop_reason": pick(["unanimity", None]) if draw(odd) else None,
            }

        item, verdict = opened(), closed() if draw(st.booleans()) else None
        turns = []
        roles = pick([[None], ["juror"], ["juror", "none", "advocate"]])
        for played in range(1, 1 + draw(st.integers(0, 3))):
            for agent in "abc"[: draw(st.integers(1, 3)) if draw(odd) else 2]:
                if draw(odd):
                    played += draw(st.integers(0, 2))
                turns.append(
                    {
                        "debate": pick(["d9", "d0", f"{name} "]) if draw(odd) else name,
                        "round": played,
                        "agent": f" {agent}" if draw(odd) else agent,
                        "role": pick(roles),
                        "vote": pick(votes),
                    }
                )
        if file.endswith(".jsonl"):
            rows.append(Row(file, 0, item=item))
            if draw(odd):
                rows.append(Row(file, 0, item=opened()))
            rows += [Row(file, 0, turn=turn) for turn in turns]
            if verdict:
                rows.append(Row(file, 0, verdict=verdict))
                if draw(odd):
                    rows.append(Row(file, 0, verdict=closed()))
        else:
            for turn in turns or [None]:
                own = opened() if draw(odd) else item
                own = own | {"debate": turn["debate"]} if turn else own
                end = (closed() if draw(odd) else verdict) if verdict else None
                end = end and end | {"debate": own["debate"]}
                rows.append(Row(file, 0, dict(own), turn, end and dict(end)))
    if draw(odd):
        rows = draw(st.permutations(rows))
    if draw(st.integers(0, 15)) == 0:
        rows = [row for row in rows if row.item is None]
    rows.sort(key=lambda row: FILES.index(row.file))
    for number, row in enumerate(rows):
        row.line = number + 2
    return rows


def records_of(rows: list[Row], files: list[str] = FILES) -> Records:
    """Code rows of dicts as columns."""

    def part(name: str, coded: tuple[str, ...], numbers: tuple[str, ...]) -> Part:
        given = [(i, getattr(row, name)) for i, row in enumerate(rows) if getattr(row, name) is not None]
        columns: dict[str, Any] = {c: Coded.of([one.get(c) for _, one in given]) for c in coded}
        for c in numbers:
            values = [np.nan if one.get(c) is None else one[c] for _, one in given]
            columns[c] = np.array(values, dtype=np.int64 if (name, c) == ("turn", "round") else np.float64)
        return Part(np.array([i for i, _ in given], dtype=np.int64), columns)

    return Records(
        list(files),
        np.array([files.index(row.file) for row in rows], dtype=np.int64),
        np.array([row.line for row in rows], dtype=np.int64),
        part("item", ITEM, ()),
        part("turn", TURN["coded"], TURN["numbers"]),
        part("verdict", ("debate", "decision", "stop_reason"), ("round",)),
        n_records=len(rows),
    )


def rows_of(part: Part, names: tuple[str, ...]) -> list[dict[str, Any]]:
    columns = {}
    for name in names:
        column = part.columns[name]
        values = column.to_array() if isinstance(column, Coded) else column
        columns[name] = [None if x != x else x for x in values.tolist()]
    return [dict(zip(names, each, strict=True)) for each in zip(*columns.values(), strict=True)]


def several_files(expected: plain_rules.Checked) -> list[str]:
    """Name debates with turns in several files, row by row; a turn that is left out alone is none."""
    of_debate: dict[str, set[str]] = {}
    of_round: dict[tuple[str, int], set[str]] = {}
    for row in expected.spoken:
        assert row.turn is not None
        debate, played = row.turn["debate"], row.turn["round"]
        of_debate.setdefault(debate, set()).add(row.file)
        of_round.setdefault((debate, played), set()).add(row.file)
    split = [name for name in expected.items if len(of_debate.get(name, ())) > 1]
    if not split:
        return []
    files = sorted({file for name in split for file in of_debate[name]}, key=list(FILES).index)[:3]
    named = ", ".join(map(repr, split[:3])) + (", ..." if len(split) > 3 else "")
    many = "1 debate has" if len(split) == 1 else f"{len(split)} debates have"
    said = f"{many} turns in several files ({named}; {', '.join(files)})"
    if all(len(each) == 1 for each in of_round.values()):
        return [f"{said}; each is read as one debate"]
    return [
        f"WARNING: {said}, in the same rounds, so the agents of these files form one panel; if the files hold "
        "different runs, give their debates different names"
    ]


def assert_alike(checked: Checked, rows: list[Row], words: Any = None) -> None:
    plain = Gathered(list(FILES), copy.deepcopy(rows), n_records=len(rows))
    plain_rules.settle(plain, words)
    expected = plain_rules.Checked(plain)
    assert list(checked.problems) == list(in_reading_order(expected.problems, FILES))
    assert list(checked.notes) == [*plain.notes, *several_files(expected)]
    assert rows_of(checked.items, ITEM) == list(expected.items.values())
    turns = ("debate", "round", "agent", "role", "vote")
    assert rows_of(checked.turns, turns) == expected.turns
    verdicts = sorted(rows_of(checked.verdicts, VERDICT), key=str)
    assert verdicts == sorted(expected.verdicts.values(), key=str)


@examples(30, 100)
def test_the_rules_on_columns_find_what_the_rules_on_records_find(n_examples: int) -> None:
    @settings(max_examples=n_examples, deadline=None)
    @given(rows=logs(), words=st.sampled_from([None, (), ("x",)]))
    def holds(rows: list[Row], words: Any) -> None:
        assert_alike(check(records_of(rows), words), rows, words)

    holds()


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(rows=logs(), words=st.sampled_from([None, (), ("x",)]))
def test_the_rules_on_columns_find_what_the_rules_on_records_find_in_many_logs(
    rows: list[Row], words: Any
) -> None:
    assert_alike(check(records_of(rows), words), rows, words)


@examples(20, 60)
def test_records_read_in_pieces_say_the_same_as_records_read_together(n_examples: int) -> None:
    @settings(max_examples=n_examples, deadline=None)
    @given(rows=logs(), cut=st.integers(0, 20))
    def holds(rows: list[Row], cut: int) -> None:
        cut = min(cut, len(rows))
        assert_alike(check(joined([records_of(rows[:cut]), records_of(rows[cut:])])), rows)

    holds()
