"""Rebuild ``slm7.csv``, ``slm7_strict.csv`` and ``slm7_questions.csv`` from the archive of the debates.

``python analysis/build_slm7.py SRC [-o FOLDER]``, where SRC is the tar.gz or a folder of its files.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

from d3stats.log.importers import slm_multiagent
from d3stats.log.schema import Item, Turn

AGENTS = 7
# The full name is too long to stand in 3,360 rows.
_SHORT = {"Mistral-7B-Instruct-v0.3": "Mistral-7B"}

_Votes = dict[tuple[str, int, int], str | None]

FOLDER = Path(__file__).resolve().parents[1] / "d3stats" / "datasets"
"""Where the package has its tables."""


def build(source: Path) -> dict[str, str]:
    """Return the text of each file by its name.

    Raises
    ------
    ValueError
        When the source does not have the archive's shape, or holds no 7-agent debate.
    """
    items, asked = _read(source, "asked")
    _, strict = _read(source, "strict")
    if not items:
        raise ValueError(f"source must hold debates of {AGENTS} agents; got none in {str(source)!r}")
    names = _question_numbers(items.values())
    codes = _codes(items, asked, strict)
    order = sorted(items, key=lambda debate: (_log(items[debate]), names[items[debate].question]))

    rows, changes = [], []
    for number, debate in enumerate(order, start=1):
        item = items[debate]
        code = codes[item.question]
        label = code[item.label or ""]
        turns = sorted((played, agent) for name, played, agent in asked if name == debate)
        for played, agent in turns:
            key = (debate, played, agent)
            vote = _coded(code, asked[key])
            rows.append((number, names[item.question], _log(item), played, agent, vote, label))
            if strict[key] != asked[key]:
                changes.append((number, played, agent, _coded(code, strict[key])))
    return {
        "slm7.csv": _csv(("debate", "question", "log", "round", "agent", "vote", "label"), rows),
        "slm7_strict.csv": _csv(("debate", "round", "agent", "vote"), changes),
        "slm7_questions.csv": _csv(("question", "name"), [(number, name) for name, number in names.items()]),
    }


def _read(source: Path, reading: str) -> tuple[dict[str, Item], _Votes]:
    items: dict[str, Item] = {}
    votes: _Votes = {}
    for record in slm_multiagent.records(source, reading=reading, agents=AGENTS):
        if isinstance(record, Item):
            items[record.debate] = record
        elif isinstance(record, Turn):
            votes[record.debate, record.round, int(record.agent.removeprefix("agent "))] = record.vote
    return items, votes


def _question_numbers(items: Iterable[Item]) -> dict[str, int]:
    """Number the questions by name, so that neither the archive's order nor a new log changes the table."""
    names = sorted({item.question for item in items})
    return {name: number for number, name in enumerate(names, start=1)}


def _codes(items: dict[str, Item], *readings: _Votes) -> dict[str, dict[str, int]]:
    """Code the answers of each question: letters by their place, numbers by their size."""
    given: dict[str, set[str]] = {}
    for item in items.values():
        given.setdefault(item.question, set()).update(item.answers or (item.label or "",))
    for votes in readings:
        for (debate, _, _), vote in votes.items():
            if vote is not None:
                given[items[debate].question].add(vote)
    return {
        question: {answer: code for code, answer in enumerate(sorted(answers, key=_size))}
        for question, answers in given.items()
    }


def _size(answer: str) -> tuple[Fraction, str]:
    return (Fraction(0), answer) if answer.isalpha() else (Fraction(answer), "")


def _coded(code: dict[str, int], vote: str | None) -> int | str:
    return "" if vote is None else code[vote]


def _log(item: Item) -> str:
    run = slm_multiagent.parts(item.log or "")
    return f"{run['benchmark']}/{_SHORT.get(run['model'], run['model'])}"


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [",".join(header), *(",".join(map(str, row)) for row in rows)]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(prog="python analysis/build_slm7.py", description=__doc__)
    parser.add_argument("source", type=Path, help="the tar.gz of the debates, or a folder of its files")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER, help="where to write")
    options = parser.parse_args(arguments)
    for name, content in build(options.source).items():
        (options.output / name).write_text(content, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
