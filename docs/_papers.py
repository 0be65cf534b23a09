"""The papers that d3stats implements, item by item: read from ``docs/papers/*.toml`` and written as pages.

An item is a definition, algorithm, theorem, table or figure. It names the code that does it, the tests that show it,
and a status. `code` holds public names (``d3stats.replay``) and ``kind:name`` for a protocol, a stopping rule, a claim,
a command, a figure or a study. `readings` holds a page of ``docs/reference`` and the first words of a point there which
says how the paper is read. ``tests/test_papers.py`` checks all of them against the code and the pages. The tables and
figures that own logs give are those of ``d3stats.report.paper``, and have a page of commands.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from d3stats.report.paper import ITEMS, PAPERS

__all__ = ["STATUSES", "Item", "Paper", "pages", "papers"]

ROOT = Path(__file__).resolve().parents[1]

STATUSES = {
    "faithful": "does what the paper says",
    "reading": "the paper leaves something open or says it twice; the note says how it is read",
    "corrected": "the paper's form is there, and beside it one that is right",
    "refuted": "false as stated: a counterexample is computed",
    "audited": "numbers of the paper that need its data: checked for what they imply, not reproduced",
    "absent": "not in d3stats; the note says why",
}
"""What a status means, in the order of the tables."""

ORDER = ("d3", "chateval", "frameworks", "advocates", "stability")


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a paper: where it is, what it is, its status, the code, the tests, a note, and where it is read."""

    at: str
    what: str
    status: str
    code: tuple[str, ...]
    tests: tuple[str, ...]
    note: str
    readings: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(part.strip() for part in self.at.split(","))


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its title, where it is found, the labels that must occur, the work that its claims name, its items."""

    name: str
    title: str
    authors: str
    reference: str
    claims: str
    labels: tuple[str, ...]
    items: tuple[Item, ...]


def papers(folder: Path = ROOT / "docs" / "papers") -> dict[str, Paper]:
    """Read every paper of a folder."""
    found = {}
    for path in sorted(folder.glob("*.toml"), key=lambda p: ORDER.index(p.stem)):
        said = tomllib.loads(path.read_text(encoding="utf-8"))
        items = tuple(
            Item(
                one["at"],
                one["what"],
                one["status"],
                tuple(one["code"]),
                tuple(one["tests"]),
                " ".join(one.get("note", "").split()),
                tuple(one.get("readings", ())),
            )
            for one in said["item"]
        )
        labels = tuple(" ".join(one.split()) for one in said["labels"].split(";"))
        heads = (said["title"], said["authors"], said["reference"], said.get("claims", ""))
        found[path.stem] = Paper(path.stem, *heads, labels, items)
    return found


def link(code: str) -> str:
    """Return a reference to what an entry of `code` names, in the Markdown of the documentation."""
    kind, _, name = code.rpartition(":")
    if kind == "claim":
        return f"{{ref}}`{name} <{name}>`"
    if kind == "study":
        return f"[`{name}`]({name.replace('/', '_')}.md)"
    if kind == "figure":
        return f"[{name}](gallery.md#{re.sub(r'_', '-', name)})"
    if kind == "command":
        return f"[`d3stats {name}`](command_line.md#{name})"
    if kind:
        return f"`{name}` ({kind})"
    return f"`{name}`"


def own_logs() -> str:
    """Return the page with the command for every table and figure, or the reason why there is none."""
    lines = [
        "# Tables and figures from own logs",
        "",
        "Each command makes the table in the layout of the paper, with intervals over questions. `--latex`, "
        "`--json` and `--csv` give it in another form, `--figure FILE.pdf` the figure. "
        "[The command](../reference/papers.md) is explained in the reference.",
    ]
    for name, title in PAPERS.items():
        items = [item for item in ITEMS.values() if item.name.startswith(f"{name}:")]
        lines += ["", f"## {title[0].upper()}{title[1:]}", ""]
        if not items:
            lines.append("There is no table and no figure.")
            continue
        lines += ["| item | shows | needs | command |", "|---|---|---|---|"]
        for item in items:
            command = f"`{item.command}`" if item.command else f"none: {item.reason}"
            lines.append(f"| {item.at} | {item.shows} | {', '.join(item.needs) or '-'} | {command} |")
    return "\n".join([*lines, ""])


def pages() -> dict[str, str]:
    """Return one page for each paper and an index with the number of items of each status."""
    known = papers()
    index = [
        "# Papers",
        "",
        "What each paper defines, claims or reports, and what d3stats does with it. "
        "Every entry names its code and its tests, and a test checks that both exist.",
        "",
        "\n".join(f"- **{name}**: {meaning}." for name, meaning in STATUSES.items()),
        "",
        "| paper | " + " | ".join(STATUSES) + " |",
        "|---" * (1 + len(STATUSES)) + "|",
    ]
    made = {"papers_own_logs": own_logs()}
    for paper in known.values():
        counts = [sum(item.status == name for item in paper.items) for name in STATUSES]
        index.append(f"| [{paper.title}](papers_{paper.name}.md) | " + " | ".join(map(str, counts)) + " |")
        lines = [f"# {paper.title}", "", f"{paper.authors[0].upper()}{paper.authors[1:]}: {paper.reference}."]
        for status, meaning in STATUSES.items():
            items = [item for item in paper.items if item.status == status]
            if not items:
                continue
            lines += ["", f"## {status.capitalize()}", "", f"{meaning[0].upper()}{meaning[1:]}."]
            for item in items:
                lines += ["", f"**{item.what}** ({item.at})", ""]
                if item.note:
                    lines += [item.note, ""]
                if item.readings:
                    where = dict.fromkeys(reading.partition(": ")[0] for reading in item.readings)
                    lines.append(
                        "- How it is read: " + ", ".join(f"{{doc}}`../reference/{page}`" for page in where)
                    )
                own = [one.command for one in ITEMS.values() if one.name.startswith(f"{paper.name}:")
                       and one.at in item.places and one.make is not None]  # fmt: skip
                if own:
                    lines.append("- From own logs: " + ", ".join(f"`{command}`" for command in own))
                if item.code:
                    lines.append("- Code: " + ", ".join(map(link, item.code)))
                if item.tests:
                    lines.append("- Tests: " + ", ".join(f"`{test}`" for test in item.tests))
        made[f"papers_{paper.name}"] = "\n".join([*lines, ""])
    toctree = [*(f"papers_{name}" for name in known), "papers_own_logs"]
    index += ["", "[From own logs](papers_own_logs.md) lists the command for every table and figure."]
    index += ["", "```{toctree}", ":hidden:", "", *toctree, "```", ""]
    return {"papers": "\n".join(index), **made}
