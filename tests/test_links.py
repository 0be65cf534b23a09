"""Every link of the project's texts leads somewhere, without asking the network."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path

import pytest
from layers import for_each

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))

import _api  # noqa: E402
import _links  # noqa: E402
import _pages  # noqa: E402

DOCS = ROOT / "docs"
BUILT = {"made", "build", "dist", "site"}
"""Folders of what a build writes; those that begin with a dot or an underscore are not read either."""
PAGES = sorted(
    path
    for path in (*ROOT.rglob("*.md"), *ROOT.glob("notebooks/*.py"))
    if not any(part in BUILT or part[0] in "._" for part in path.relative_to(ROOT).parts)
)
FENCE = re.compile(r"^(```+)(?!\{).*?^\1\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^)>\s]+)>?(?: \"[^\"]*\")?\)")
ATTRIBUTE = re.compile(r"(?:href|src)=\"([^\"]+)\"")
ROLE = re.compile(r"\{(?:py:)?(doc|func|class|meth|mod|data|attr|exc|obj)\}`([^`]+)`")


def prose(text: str, name: str) -> str:
    """Return the Markdown of a page or notebook without its code."""
    if name.endswith(".py"):
        text = "\n".join(line[2:] for line in text.splitlines() if line.startswith("# "))
    return FENCE.sub("", text)


def slug(heading: str) -> str:
    """Return the anchor that GitHub and MyST give a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", lambda m: m[1] or "", heading)
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", plain.strip().lower()))


def anchors(text: str) -> set[str]:
    """Return the places of a Markdown text that a link can name."""
    slugs: list[str] = []
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", text, re.MULTILINE):
        made = slug(heading)
        again = sum(re.sub(r"-\d+$", "", other) == made for other in slugs)
        slugs.append(f"{made}-{again}" if again and made in slugs else made)
    labels = re.findall(r"^\(([^)\s]+)\)=$", text, re.MULTILINE)
    return {*slugs, *labels, *re.findall(r"\b(?:id|name)=\"([^\"]+)\"", text)}


@cache
def made() -> dict[str, str]:
    """Return the pages that the build makes, by file name."""
    return {f"{name}.md": text for name, text in _pages.pages().items()}


def lost_links(page: Path, text: str) -> list[str]:
    """Return the links of a page that lead nowhere."""
    lost = []
    for target in [*LINK.findall(text), *ATTRIBUTE.findall(text)]:
        if re.match(r"[a-z][a-z+.-]*:", target):
            continue
        path, _, place = target.partition("#")
        # The folder of made pages need not exist yet, and the way to a picture leads through it.
        there = Path(os.path.normpath(page.parent / path)) if path else page
        # A page of the repository may lead to files of a checkout alone, and a made page to the other made pages.
        is_made = page.parent == there.parent == DOCS / "made" and there.name in made()
        if not there.exists() and not is_made:
            lost.append(target)
        elif place and there.suffix == ".md":
            there_text = made()[there.name] if is_made else there.read_text(encoding="utf-8")
            if place not in anchors(FENCE.sub("", there_text)):
                lost.append(target)
    return lost


@for_each("page", PAGES)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    assert lost_links(page, prose(page.read_text(encoding="utf-8"), page.name)) == []


@for_each("name", lambda: sorted(_pages.pages()))
def test_the_links_of_a_made_page_lead_somewhere(name: str) -> None:
    assert lost_links(DOCS / "made" / f"{name}.md", prose(made()[f"{name}.md"], name)) == []


@cache
def modules_with_a_page() -> set[str]:
    return {name for _, text in _api.pages() for name in re.findall(r"automodule:: (\S+)", text)}


@for_each("page", [page for page in PAGES if DOCS in page.parents])
def test_the_references_of_a_page_name_something(page: Path) -> None:
    lost = []
    for role, said in ROLE.findall(prose(page.read_text(encoding="utf-8"), page.name)):
        match = re.fullmatch(r".*<(.+)>", said, re.DOTALL)
        target = (match[1] if match else said).lstrip("~")
        if role == "doc":
            there = DOCS / target.lstrip("/") if target.startswith("/") else page.parent / target
            known = (
                there.with_name(f"{there.name}.md").exists() or there.with_name(f"{there.name}.rst").exists()
            )
            known = known or (there.parent.resolve() == DOCS / "made" and there.name in _pages.names())
        elif role == "mod":
            known = target in modules_with_a_page()
        else:
            known = _api.documented(target, None, "") is not None
        if not known:
            lost.append(f"{{{role}}}`{said}`")
    assert lost == []


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = (
        "# A heading, twice\n\n## A heading, twice\n\n(label)=\n"
        "[a](other.md) [b](#a-heading-twice-1) [c](#label) [d](#nowhere) [e](page.md#nor-here) "
        "![f](picture.png) [g](https://example.org/x#y) [h](page.md)\n\n```text\n[i](in_code.md)\n```\n"
    )
    page.write_text(text, encoding="utf-8")
    assert lost_links(page, prose(text, "page.md")) == [
        "other.md",
        "#nowhere",
        "page.md#nor-here",
        "picture.png",
    ]


def test_the_check_of_the_built_pages_finds_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text(
        '<p id="here"></p><a href="#here">1</a><a href="#gone">2</a><a href="sub/a.html#top">3</a>'
        '<a href="sub/a.html#end">4</a><img src="none.png"><a href="https://example.org/#x">5</a><a href="sub">6</a>',
        encoding="utf-8",
    )
    (tmp_path / "sub" / "a.html").write_text(
        '<a name="top" href="../index.html#here">1</a>', encoding="utf-8"
    )
    broken, hosts = _links.check(tmp_path)
    assert [(b.link, b.missing) for b in broken] == [
        ("#gone", "no such place on the page"),
        ("sub/a.html#end", "no such place on the page"),
        ("none.png", "no such file"),
        ("sub", "no such file"),
    ]
    assert hosts == {"example.org": 1}
    assert _links.main([str(tmp_path)]) == 1
    assert "links that lead nowhere: 4" in capsys.readouterr().out
    assert _links.main([str(tmp_path / "sub" / "empty")]) == 2
    assert "run `make docs` first" in capsys.readouterr().err


def test_every_study_is_in_the_contents_of_the_documentation() -> None:
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^made/(\w+)$", page, re.MULTILINE))
    kinds = ("analysis", "simulations")
    there = {f"{kind}_{path.parent.name}" for kind in kinds for path in (ROOT / kind).glob("*/findings.md")}
    assert there <= listed, there - listed
