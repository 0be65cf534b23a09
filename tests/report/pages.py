"""Logs of every kind for the tests of the page, and a reader of its structure."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

HOSTILE = """</script><img src=x onerror=alert(1)>"'&<b>$\\foo$"""
"""Markup, quotes and a broken formula: in names, answers and texts of a log."""

VOID = {"meta", "img", "br", "wbr", "hr", "link", "input"}


def write_jsonl(
    path: Path,
    *,
    n: int = 24,
    rounds: int = 3,
    seats: int = 3,
    answers: tuple[str, ...] = ("A", "B"),
    label: bool = True,
    texts: bool = False,
    tokens: bool = False,
    scores: bool = False,
    votes: bool = True,
    first: bool = False,
    seed: int = 0,
    hostile: bool = False,
) -> Path:
    """Write a small log; what it holds is chosen by the flags."""
    rng = np.random.default_rng(seed)
    bad = HOSTILE if hostile else ""
    lines: list[dict[str, object]] = [{"type": "log", "schema_version": 2, "writer": f"tests{bad}"}]
    names = tuple(f"{answer}{bad}" for answer in answers)
    for d in range(n):
        debate = f"debate {d}{bad}"
        item: dict[str, object] = {"type": "item", "debate": debate, "question": f"question {d // 2}{bad}"}
        item |= {"label": names[0]} if label else {}
        item |= {"answers": list(names), "first": names[d % 2]} if first else {}
        item |= {"text": f"Why {d}? {bad}"} if texts else {}
        lines.append(item)
        for r in range(1, rounds + 1):
            for s in range(seats):
                turn: dict[str, object] = {
                    "type": "turn",
                    "debate": debate,
                    "round": r,
                    "agent": f"agent {s}{bad}",
                }
                if votes:
                    turn["vote"] = names[int(rng.random() > 0.6)]
                if scores:
                    turn["scores"] = {side: {"logic": float(rng.integers(1, 10))} for side in ("pro", "con")}
                turn |= {"tokens_in": 100 * r, "tokens_out": 50} if tokens else {}
                turn |= (
                    {"text": f"I say so in round {r}. {bad}\u202e" + "x" * (3000 * hostile)} if texts else {}
                )
                lines.append(turn)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@dataclass
class Page(HTMLParser):
    """The elements of a page, in order, with their attributes and texts."""

    html: str = ""
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    open_: list[str] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    sections: dict[str, str] = field(default_factory=dict)
    _section: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if tag == "section":
            self._section = str(found["aria-labelledby"])
        if tag not in VOID:
            self.open_.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open_, tag
        assert self.open_.pop() == tag, tag
        if tag == "section":
            self._section = ""

    def handle_data(self, data: str) -> None:
        if self.open_:
            self.texts.append((self.open_[-1], data))
        if self._section and data.strip():
            self.sections[self._section] = self.sections.get(self._section, "") + " " + " ".join(data.split())

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]
