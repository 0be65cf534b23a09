"""Small logs for the tests of the log room: hypothesis strategies and short ways to write files, no tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st

from d3stats.log.schema import Item, Turn, Verdict
from d3stats.log.table_reader import _ERRORS
from d3stats.log.writer import LogWriter
from d3stats.values import canonical_text

NAMES = (
    st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="é\"\\,;'~ \n日"), max_size=5)
    .map(canonical_text)
    .filter(bool)
    .filter(lambda text: text not in _ERRORS)
)
"""Texts in canonical form, as every log in the tests of the fast readers holds them; no error of a spreadsheet."""
POINTS = st.one_of(st.integers(-20, 20).map(float), st.floats(-1e6, 1e6).map(lambda x: round(x, 6)))
TOKENS = st.none() | st.integers(0, 10**9)


@st.composite
def clean_logs(
    draw: st.DrawFn, *, scores: bool = True, max_debates: int = 4, plain: bool = False
) -> list[Item | Turn | Verdict]:
    """Draw the records of a log that breaks no rule."""
    records: list[Item | Turn | Verdict] = []
    names = st.sampled_from(["A", "B", "52", "yes"]) if plain else NAMES
    agents = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    answers = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    any_scores = scores and draw(st.booleans())
    caches = draw(st.booleans())
    for debate in draw(st.lists(names, min_size=1, max_size=max_debates, unique=True)):
        closed = draw(st.booleans())
        records.append(
            Item(
                debate=debate,
                question=draw(names),
                cluster=draw(st.none() | names),
                label=draw(st.none() | st.sampled_from(answers)),
                answers=tuple(answers) if closed else None,
                log=draw(st.none() | st.sampled_from(["run", "läuft"])),
                protocol=draw(st.none() | names),
            )
        )
        votes = st.none() | (st.sampled_from(answers) if closed else names)
        for round_number in range(1, draw(st.integers(1, 3)) + 1):
            for agent in agents:
                records.append(
                    Turn(
                        debate=debate,
                        round=round_number,
                        agent=agent,
                        role=draw(st.just("juror") if agent == agents[0] else st.none()),
                        vote=draw(votes),
                        scores=draw(
                            st.none()
                            | st.dictionaries(NAMES, st.dictionaries(NAMES, POINTS, max_size=2), max_size=2)
                        )
                        if any_scores
                        else None,
                        tokens_in=draw(TOKENS),
                        tokens_out=draw(TOKENS),
                        tokens_cached=draw(TOKENS) if caches else None,
                        model=draw(st.none() | names),
                    )
                )
        if draw(st.booleans()):
            records.append(
                Verdict(
                    debate=debate,
                    decision=draw(st.none() | names),
                    round=draw(st.none() | st.integers(1, 9)),
                    stop_reason=draw(st.none() | names),
                )
            )
    return records


@st.composite
def spoiled_lines(draw: st.DrawFn) -> list[bytes]:
    """Draw a clean log with a few of its lines cut, doubled, dropped, swapped or edited."""
    records = [msgspec.json.encode(r) for r in draw(clean_logs(plain=True))]
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(records) - 1))
        line = records[at]
        edit = draw(st.sampled_from(["cut", "double", "drop", "byte", "swap", "move", "null"]))
        if edit == "cut":
            records[at] = line[: draw(st.integers(0, len(line)))]
        elif edit == "double":
            records.insert(draw(st.integers(0, len(records))), line)
        elif edit == "drop" and len(records) > 1:
            del records[at]
        elif edit == "byte" and line:
            spot = draw(st.integers(0, len(line) - 1))
            new = draw(
                st.sampled_from([b'"', b"1", b"0", b"-", b"{", b"}", b" ", b",", b"A", b"\xc3", b".", b"e"])
            )
            records[at] = line[:spot] + new + line[spot + 1 :]
        elif edit == "swap":
            old, new = draw(
                st.sampled_from([(b'"A"', b'"B"'), (b":1", b":2"), (b":2", b":4"), (b"vote", b"role")])
            )
            records[at] = line.replace(old, new)
        elif edit == "move":
            records.append(records.pop(at))
        elif edit == "null":
            records[at] = line.replace(b'"A"', b"null")
    return records


def write_log(path: Path, records: list[Any], **options: Any) -> Path:
    path.unlink(missing_ok=True)
    with LogWriter(path, fsync=False, **options) as log:
        for record in records:
            log.write(record)
    return path


def item(debate: str = "d1", **fields: Any) -> dict[str, Any]:
    return {"type": "item", "debate": debate, "question": f"q-{debate}", "label": "A"} | fields


def turn(
    debate: str = "d1", round: Any = 1, agent: Any = "a", vote: Any = "A", **fields: Any
) -> dict[str, Any]:
    return {"type": "turn", "debate": debate, "round": round, "agent": agent, "vote": vote} | fields


def panel(debate: str = "d1", rounds: int = 2, agents: str = "abc", **fields: Any) -> list[dict[str, Any]]:
    return [turn(debate, r, a, **fields) for r in range(1, rounds + 1) for a in agents]


def write_lines(path: Path, lines: list[Any], end: str = "\n") -> Path:
    """Write dicts as compact JSON and strings as they are."""
    text = "\n".join(x if isinstance(x, str) else json.dumps(x, separators=(",", ":")) for x in lines)
    path.write_text(text + end, encoding="utf-8")
    return path
