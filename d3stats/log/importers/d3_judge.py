"""The two workbooks of D3-Judge: MT-Bench human judgments and arena battles.

``mt_bench_human_judgments.xlsx`` has one row per judgment (Question, Response_A, Response_B, Model_A_Score,
Model_B_Score); rows with the same question and responses are one debate. ``sample_data_200.xlsx`` has one row
per battle (id, model_a, model_b, prompt, ..., winner_model_a, winner_model_b, winner_tie).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from d3stats.log.importers._source import files, question_id, shape, sheet
from d3stats.log.schema import Item, Turn, Verdict

NAME = "d3-judge"
TITLE = "3,355 MT-Bench human judgments and 199 arena battles"
SOURCE = "abirharrasse/D3-Judge @129491b3; licence: MIT"
NOTES = (
    "the human decisions are votes of role 'human', not labels, so no item has a label",
    "MT-Bench judgments have no judge id and merge two turns, so repeats are not independent raters",
    "a pair keeps its order; the 1,198 ordered pairs are 906 pairs without the order",
    "log is the number of judgments of a pair, 'mt-bench: 4 judgments', because one run has one size of "
    "panel",
    "judgments of a pair are the agents 'human 1', 'human 2', ... in the order of the sheet",
)

_JUDGMENTS = ("Question", "Response_A", "Response_B", "Model_A_Score", "Model_B_Score")
_BATTLES = ("id", "model_a", "model_b", "prompt", "winner_model_a", "winner_model_b", "winner_tie")


def records(source: Path) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a folder with the workbooks, or of one of them."""
    for name, content in files(source, "*.xlsx"):
        header, rows = sheet(name, content)
        if set(_JUDGMENTS) <= set(header):
            yield from _judgments(name, [[row[header.index(c)] for c in _JUDGMENTS] for row in rows])
        elif set(_BATTLES) <= set(header):
            yield from _battles(name, [[row[header.index(c)] for c in _BATTLES] for row in rows])
        else:
            raise ValueError(
                f"{name} must have the columns {', '.join(_JUDGMENTS)} or {', '.join(_BATTLES)}; got {header}"
            )


def _judgments(name: str, rows: list[list[Any]]) -> Iterator[Item | Turn]:
    judged: dict[tuple[str, ...], list[int]] = {}
    repeats = Counter(tuple(map(str, row[:3])) for row in rows)
    for line, row in enumerate(rows, start=2):
        pair = tuple(map(str, row[:3]))
        first = pair not in judged
        seen = judged.setdefault(pair, [len(judged) + 1, 0])
        debate = f"mt-bench/{seen[0]}"
        if first:
            log, question = f"mt-bench: {repeats[pair]} judgments", question_id("mt-bench", pair[0])
            yield _item(debate, question, ("A", "B"), log, pair[0], pair[1:])
        seen[1] += 1
        yield _turn(debate, f"human {seen[1]}", f"{name}, row {line}", dict(zip("AB", row[3:], strict=True)))


def _battles(name: str, rows: list[list[Any]]) -> Iterator[Item | Turn]:
    for line, (battle, model_a, model_b, prompt, *won) in enumerate(rows, start=2):
        sides, log = ("A", "B", "tie"), f"arena: {model_a} against {model_b}"
        yield _item(f"arena/{battle}", question_id("arena", str(prompt)), sides, log, str(prompt), None)
        yield _turn(f"arena/{battle}", "human 1", f"{name}, row {line}", dict(zip(sides, won, strict=True)))


def _item(
    debate: str,
    question: str,
    sides: tuple[str, ...],
    log: str,
    text: str,
    candidates: tuple[str, ...] | None,
) -> Item:
    return Item(
        debate, question, answers=sides, log=log, protocol="pairwise", text=text, candidates=candidates
    )


def _turn(debate: str, agent: str, where: str, flags: dict[str, Any]) -> Turn:
    shape(f"{where}, winner", "0 or 1 in each column", all(flag in (0, 1) for flag in flags.values()), flags)
    won = [answer for answer, flag in flags.items() if flag == 1]
    shape(f"{where}, winner", "exactly one", len(won) == 1, flags)
    return Turn(debate, 1, agent, role="human", vote=won[0])
