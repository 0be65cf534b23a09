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
    "the human decisions are votes of role 'human', not labels: no item has a label",
    "MT-Bench judgments have no judge id and merge two turns: repeats are not independent raters",
    "a pair is kept as shown: 1,198 pairs as shown are 906 pairs when the order is forgotten",
    "log is the number of judgments of a pair, 'mt-bench: 4 judgments': one run has one size of panel",
    "judgments of a pair are the agents 'human 1', 'human 2', ... in the order of the sheet",
)

_JUDGMENTS = ("Question", "Response_A", "Response_B", "Model_A_Score", "Model_B_Score")
_BATTLES = ("id", "model_a", "model_b", "prompt", "winner_model_a", "winner_model_b", "winner_tie")


def records(source: Path, *, text: bool = False) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a folder with the workbooks, or of one of them.

    Parameters
    ----------
    source : Path
        A folder or an ``.xlsx`` file.
    text : bool
        Keep the questions, and the responses of the MT-Bench pairs.

    Raises
    ------
    ValueError
        When a workbook has neither set of columns, or a row has no winner that the format knows.
    """
    for name, content in files(source, "*.xlsx"):
        header, rows = sheet(name, content)
        if set(_JUDGMENTS) <= set(header):
            yield from _judgments(name, [[row[header.index(c)] for c in _JUDGMENTS] for row in rows], text)
        elif set(_BATTLES) <= set(header):
            yield from _battles(name, [[row[header.index(c)] for c in _BATTLES] for row in rows], text)
        else:
            raise ValueError(
                f"{name} must have the columns {', '.join(_JUDGMENTS)} or {', '.join(_BATTLES)}; got {header}"
            )


def _judgments(name: str, rows: list[list[Any]], text: bool) -> Iterator[Item | Turn]:
    seen: dict[tuple[str, str, str], int] = {}
    judged: dict[tuple[str, str, str], int] = {}
    repeats = Counter((str(row[0]), str(row[1]), str(row[2])) for row in rows)
    for line, (question, first, second, score_a, score_b) in enumerate(rows, start=2):
        pair = (str(question), str(first), str(second))
        if pair not in seen:
            seen[pair] = len(seen) + 1
            yield Item(
                debate=f"mt-bench/{seen[pair]}",
                question=question_id("mt-bench", pair[0]),
                answers=("A", "B"),
                log=f"mt-bench: {repeats[pair]} judgments",
                protocol="pairwise",
                text=pair[0] if text else None,
                candidates=pair[1:] if text else None,
            )
        judged[pair] = judged.get(pair, 0) + 1
        yield Turn(
            debate=f"mt-bench/{seen[pair]}",
            round=1,
            agent=f"human {judged[pair]}",
            role="human",
            vote=_winner(f"{name}, row {line}", {"A": score_a, "B": score_b}),
        )


def _battles(name: str, rows: list[list[Any]], text: bool) -> Iterator[Item | Turn]:
    for line, (battle, model_a, model_b, prompt, won_a, won_b, tie) in enumerate(rows, start=2):
        debate = f"arena/{battle}"
        yield Item(
            debate=debate,
            question=question_id("arena", str(prompt)),
            answers=("A", "B", "tie"),
            log=f"arena: {model_a} against {model_b}",
            protocol="pairwise",
            text=str(prompt) if text else None,
        )
        vote = _winner(f"{name}, row {line}", {"A": won_a, "B": won_b, "tie": tie})
        yield Turn(debate=debate, round=1, agent="human 1", role="human", vote=vote)


def _winner(where: str, flags: dict[str, Any]) -> str:
    shape(f"{where}, winner", "0 or 1 in each column", all(flag in (0, 1) for flag in flags.values()), flags)
    won = [answer for answer, flag in flags.items() if flag == 1]
    shape(f"{where}, winner", "exactly one", len(won) == 1, flags)
    return won[0]
