"""Every item of the papers has a status, and the code and the tests that it names are there."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from layers import for_each
from typer.main import get_command

from d3stats.cli import app
from d3stats.protocols import protocols
from d3stats.report.paper import ITEMS as OWN
from d3stats.report.paper import PAPERS as OF_OWN_LOGS
from d3stats.stopping.text import rule_names
from d3stats.theory import claims

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))

from _papers import STATUSES, Item, link, pages, papers  # noqa: E402

PAPERS = papers()
every_item = for_each(
    "item",
    [item for paper in PAPERS.values() for item in paper.items],
    lambda item: f"{item.at}: {item.what}",
)


@cache
def figures() -> set[str]:
    manifest = tomllib.loads((ROOT / "figures" / "manifest.toml").read_text(encoding="utf-8"))
    return {figure["name"] for figure in manifest["figure"]}


@cache
def names_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def found(name: str) -> Any:
    """Return what a dotted name of the package is."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for part in parts[n:]:
            value = getattr(value, part)
        return value
    raise AssertionError(name)


def exists(code: str) -> bool:
    """Say whether there is what an entry names."""
    kind, _, name = code.rpartition(":")
    if kind == "study":
        return (ROOT / name / "findings.md").exists()
    if not kind:
        return found(name) is not None
    known: dict[str, Any] = {
        "claim": claims(),
        "protocol": protocols(),
        "rule": rule_names(),
        "figure": figures(),
        "command": get_command(app).commands,  # type: ignore[attr-defined]
    }
    return name in known[kind]


@every_item
def test_the_code_and_the_tests_of_an_item_are_there(item: Item) -> None:
    assert [code for code in item.code if not exists(code)] == []
    for test in item.tests:
        file, _, name = test.partition("::")
        assert name in names_in(file), test


@every_item
def test_an_item_has_a_status_with_what_belongs_to_it(item: Item) -> None:
    assert item.status in STATUSES
    if item.status == "absent":
        assert item.note
        assert not item.code
    else:
        assert item.code
        assert item.tests
    if item.status == "reading":
        assert item.note, "what is open, and how it is read"
    if item.status == "refuted":
        assert any(claims()[c.removeprefix("claim:")].status == "refuted" for c in item.code if "claim:" in c)


@pytest.mark.parametrize("name", PAPERS)
def test_every_label_of_a_paper_has_an_item(name: str) -> None:
    paper = PAPERS[name]
    places = {place for item in paper.items for place in item.places}
    assert [label for label in paper.labels if label not in places] == []


@pytest.mark.parametrize("name", [name for name, paper in PAPERS.items() if paper.claims])
def test_every_claim_about_a_paper_is_at_one_of_its_items(name: str) -> None:
    paper = PAPERS[name]
    own = {c.name: c.status for c in claims().values() if c.source.work == paper.claims}
    assert own, "the work is named as in the claims"
    named = {code.removeprefix("claim:") for item in paper.items for code in item.code if "claim:" in code}
    assert set(own) - named == set()
    for item in paper.items:
        refuted = {own.get(code.removeprefix("claim:")) for code in item.code} == {"refuted"}
        assert not refuted or item.status == "refuted", item.at


def test_the_protocols_of_the_papers_are_all_at_an_item() -> None:
    named = {c.removeprefix("protocol:") for p in PAPERS.values() for i in p.items for c in i.code}
    elsewhere = {"majority", "peer_rank", "peer_discussion"}  # of other papers
    assert set(protocols()) - named == elsewhere


REFERENCE = ROOT / "docs" / "reference"
READ_IN = {
    "discussions": (
        *("ChatEval", "Direct scores", "ChatEval on questions", "Stability debate"),
        *("Multi-Persona", "Exchange-of-Thought", "AgentVerse"),
    ),
    "protocols": ("Court protocols",),
}
"""Sections whose points say how the papers of the registry are read; peer rank and discussion are of others."""

NO_READING = {
    "A later comparison of frameworks runs ChatEval": "a pointer to another section",
    "The paper's single agent has the same template": "as the paper has it",
    "Table 3 replaces every role by a neutral": "as the paper has it",
    "The paper's temperature is 0": "as the paper has it",
    "A table of items with the columns `question`": "a form of input",
    "There is no decision and no vote": "follows from what is scored",
    "The journal beside a log says the scale": "a check of what was scored",
    "The log has marks as scores": "how it is logged",
    "If the moderator's call fails": "failed calls, of which no paper speaks",
    "Liang et al. have a moderator": "the comparison is followed, which has one judge",
}
"""Points of these sections that are no readings of a paper, with what they are."""


def points(page: str) -> list[str]:
    """Return the points of a page's sections that say how the papers are read, each on one line."""
    section, found = "", []
    for line in (REFERENCE / f"{page}.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            section = line.strip("# ")
        elif section in READ_IN[page] and line.startswith("- "):
            found.append(line[2:])
        elif found and line.startswith("  "):
            found[-1] += " " + line.strip()
    return found


def test_every_reading_on_a_page_is_at_an_item_that_says_so() -> None:
    """A page must not list a reading of what the registry calls faithful; each point is listed in one of both ways."""
    items = [item for paper in PAPERS.values() for item in paper.items]
    plain = set(NO_READING)
    for page, sections in READ_IN.items():
        text = (REFERENCE / f"{page}.md").read_text(encoding="utf-8")
        assert all(re.search(rf"^#+ {re.escape(section)}$", text, re.MULTILINE) for section in sections)
        found = points(page)
        assert len(found) > 12
        for point in found:
            at = [i for i in items for r in i.readings if f"{page}: {point}".startswith(r)]
            without = {start for start in plain if point.startswith(start)}
            assert bool(at) != bool(without), (
                f"{page}.md: {point[:60]!r} is named by one item or by NO_READING"
            )
            assert {i.status for i in at} <= {"reading", "corrected", "absent"}, point[:60]
            plain -= without
        named = [r.partition(": ")[2] for i in items for r in i.readings if r.startswith(f"{page}: ")]
        assert [r for r in named if not any(point.startswith(r) for point in found)] == []
    assert plain == set()
    assert {r.partition(": ")[0] for i in items for r in i.readings} == set(READ_IN)


def test_pages_show_every_item_with_its_status() -> None:
    made = pages()
    assert set(made) == {"papers", "papers_own_logs", *(f"papers_{name}" for name in PAPERS)}
    for name, paper in PAPERS.items():
        text = made[f"papers_{name}"]
        for status in {item.status for item in paper.items}:
            part = re.split(r"^## ", text, flags=re.MULTILINE)
            (section,) = [one for one in part if one.startswith(status.capitalize())]
            for item in paper.items:
                assert (f"**{item.what}** ({item.at})" in section) == (item.status == status)


def test_every_table_and_figure_has_a_command_or_a_reason() -> None:
    """The items of ``d3stats paper`` are at labels of the registry, and no table or figure is absent from them."""
    assert set(OF_OWN_LOGS) == set(PAPERS)
    page = pages()["papers_own_logs"]
    for name, paper in PAPERS.items():
        items = [item for item in OWN.values() if item.name.startswith(f"{name}:")]
        assert [item.name for item in items if item.at not in paper.labels] == []
        pictured = {label for label in paper.labels if re.match(r"(Table|Figure) \d", label)}
        assert pictured <= {item.at for item in items}
        for item in items:
            assert (item.make is None) == bool(item.reason)
            slug = item.at.lower().replace(" ", "-")
            assert item.name.partition(":")[2] in (slug, f"section-{slug}", f"appendix-{slug}", "rounds")
            assert f"| {item.shows} |" in page
            if item.command:
                assert f"`{item.command}`" in page
                assert f"`{item.command}`" in pages()[f"papers_{name}"], item.name


def test_a_code_entry_links_to_its_place() -> None:
    assert link("claim:theorem-a") == "{ref}`theorem-a <theorem-a>`"
    assert link("study:analysis/max_of_k") == "[`analysis/max_of_k`](analysis_max_of_k.md)"
    assert link("d3stats.replay") == "`d3stats.replay`"
