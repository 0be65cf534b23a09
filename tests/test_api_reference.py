"""The API reference has every public name, each in one place, and shows what the name is."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import d3stats

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))

import _api  # noqa: E402

DOCUMENTS = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs").glob("guides/*.md")),
    *sorted((ROOT / "docs").glob("methods/*.md")),
    *sorted((ROOT / "docs").glob("reference/*.md")),
    *sorted((ROOT / "notebooks").glob("*.py")),
    *sorted((ROOT / "figures").glob("*.py")),
]
IMPORT = re.compile(r"^\s*(?:>>> )?(from d3stats[.\w]* import [^()\n]+|import d3stats[.\w]*)$", re.MULTILINE)


@cache
def pages() -> dict[str, str]:
    return dict(_api.pages())


def test_every_name_of_the_package_itself_has_one_job_or_a_chapter() -> None:
    sorted_in = Counter(name for job in _api.JOBS.values() for name in job)
    chapters = {chapter.removeprefix("d3stats.") for chapter in _api.CHAPTERS}
    packages = {name for name in d3stats.__all__ if name in chapters}
    assert set(sorted_in.values()) == {1}
    assert set(sorted_in) | packages | {"__version__"} == set(d3stats.__all__)


def test_the_names_of_the_package_itself_come_first() -> None:
    first = [each.chapter for each in _api.names()]
    n = first.count("d3stats")
    assert first[:n] == ["d3stats"] * n
    assert pages()["top.txt"].index("d3stats.plan") < pages()["top.txt"].index("Packages and modules")


def test_every_package_that_exports_names_is_a_chapter() -> None:
    packages = {
        module.name
        for module in pkgutil.walk_packages(d3stats.__path__, "d3stats.")
        if module.ispkg and hasattr(importlib.import_module(module.name), "__all__")
    }
    assert packages - set(_api.CHAPTERS) == {"d3stats.cli"}


def test_every_frozen_public_name_has_a_place() -> None:
    listed = (ROOT / "tests" / "public_names.txt").read_text(encoding="utf-8").split()
    chapters = set(_api.CHAPTERS)
    lost = [
        name for name in listed if name not in chapters and _api.place(*name.rpartition(".")[::2]) is None
    ]
    assert lost == []


def test_what_the_documents_import_has_a_place() -> None:
    lost = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for statement in IMPORT.findall(text):
            node = ast.parse(statement).body[0]
            # A new importer stands in the folder of importers and may use what they share.
            if not isinstance(node, ast.ImportFrom) or "._" in str(node.module):
                continue
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                # The page of other software shows the lines that ran, and three of them are of modules.
                if document.name == "conformance.md" and importlib.util.find_spec(full):
                    continue
                known = full in _api.CHAPTERS or f":: {full}\n" in "".join(pages().values())
                if not known and _api.place(str(node.module), alias.name) is None:
                    lost.append(f"{document.relative_to(ROOT)}: {full}")
    assert lost == []


def test_every_name_is_described_once() -> None:
    described = Counter(
        match[1]
        for text in pages().values()
        for match in re.finditer(r"^\.\. auto(?:function|class|exception):: (\S+)$", text, re.MULTILINE)
    )
    expected = {each.full for each in _api.names() if each.kind in ("function", "class")}
    assert set(described) == expected
    assert set(described.values()) == {1}
    constants = Counter(
        f"{match[2]}.{match[1]}"
        for text in pages().values()
        for match in re.finditer(r"^\.\. py:data:: (\S+)\n   :module: (\S+)$", text, re.MULTILINE)
    )
    assert constants == Counter(each.full for each in _api.names() if each.kind == "constant")


def test_every_name_of_a_chapter_stands_in_its_table() -> None:
    lost = []
    for chapter in _api.CHAPTERS:
        text = pages()[f"{chapter}.rst"]
        for name in importlib.import_module(chapter).__all__:
            there = _api.place(chapter, name)
            assert there is not None
            if f"<{there.full}>`" not in text and f".. py:data:: {name}\n" not in text:
                lost.append(f"{chapter}.{name}")
    assert lost == []


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("d3stats.inference.comparison.compare", "d3stats.compare"),
        ("d3stats.inference.comparison.compare.Comparison", "d3stats.inference.Comparison"),
        ("d3stats.inference.judges.agreement.AgreementTable", "d3stats.inference.AgreementTable"),
        ("d3stats.inference.bias.self_preference", "d3stats.inference.self_preference"),
        ("d3stats.inference.bias.self_preference.SelfPreference", "d3stats.inference.SelfPreference"),
        ("d3stats.inference.judges.correlation.Correlation", "d3stats.inference.Correlation"),
        ("d3stats.inference.judges.correlation.kendall", "d3stats.inference.kendall"),
        ("d3stats.inference.judges.correlation.spearman", "d3stats.inference.spearman"),
        ("d3stats.planning.plan", "d3stats.plan"),
        ("d3stats.theory.claim", "d3stats.theory.claim"),
        ("d3stats.theory.claim.Claim", "d3stats.theory.Claim"),
    ],
)
def test_a_name_that_shadows_its_module_has_a_page_of_its_own(path: str, name: str) -> None:
    assert _api.aliases()[path] == name
    there = next(each for each in _api.names() if each.full == name)
    directive = {"function": "autofunction", "class": "autoclass"}[there.kind]
    assert f".. {directive}:: {name}\n" in pages()[f"{there.page}.rst"]


def test_no_two_pages_differ_in_case_alone() -> None:
    assert len({name.lower() for name in pages()}) == len(list(_api.pages()))


def test_every_name_and_chapter_says_what_it_is_in_one_line() -> None:
    silent = [each.full for each in _api.names() if not each.says]
    silent += [chapter for chapter in _api.CHAPTERS if not importlib.import_module(chapter).__doc__]
    assert silent == []


def test_the_page_of_a_class_has_its_public_members() -> None:
    text = pages()["d3stats.inference.Comparison_class.rst"]
    for name in ("interval", "noninferior", "plot", "summary"):
        assert f".. automethod:: d3stats.inference.Comparison.{name}\n" in text
    assert ".. autoproperty:: d3stats.inference.Comparison.difference\n" in text
    assert "<d3stats.result.Result.to_frame>`" in text


def test_a_page_of_a_name_that_is_gone_is_removed_and_the_others_keep_their_time(tmp_path: Path) -> None:
    _api.write(tmp_path)
    gone = tmp_path / "d3stats.gone.rst"
    gone.write_text("an old page", encoding="utf-8")
    kept = (tmp_path / "d3stats.compare.rst").stat().st_mtime_ns
    _api.write(tmp_path)
    assert not gone.exists()
    assert (tmp_path / "d3stats.compare.rst").stat().st_mtime_ns == kept
    assert {path.name for path in tmp_path.iterdir()} == set(pages())


def conf() -> ModuleType:
    pytest.importorskip("numpydoc")
    spec = importlib.util.spec_from_file_location("docs_conf", ROOT / "docs" / "conf.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_table_of_three_columns_names_the_column_in_each_cell() -> None:
    """On a telephone such a table is a list of values; without a name a value would say nothing."""
    head = '<table class="table">\n<thead><tr><th class="head"><p>{}</p></th></tr></thead>'
    names = ["rule", 'rounds &amp; "stops"', "<em>share</em>"]
    row = "<tr><td><p>full</p></td><td><p>3</p></td><td><p>1</p></td></tr>"
    page = head.format('</p></th><th class="head"><p>'.join(names)) + f"<tbody>{row}{row}</tbody></table>"
    made = conf().label_cells(f"<p>before</p>{page}<p>after</p>")
    assert made.count('<td data-label="rule"><p>full') == 2
    assert made.count('<td data-label="rounds &amp; &quot;stops&quot;"><p>3') == 2
    assert made.count('<td data-label="share"><p>1') == 2
    assert made.startswith('<p>before</p><table class="stacked table">')
    two = (
        head.format("</p></th><th><p>".join(names[:2]))
        + "<tbody><tr><td>1</td><td>2</td></tr></tbody></table>"
    )
    assert conf().label_cells(two) == two


def test_a_long_block_shows_that_it_scrolls_and_a_table_becomes_a_list() -> None:
    style = (ROOT / "docs" / "_static" / "d3stats.css").read_text(encoding="utf-8")
    assert "content: attr(data-label)" in style
    assert re.search(r"pre, \.pst-scrollable-table-container \{[^}]*scroll,", style)
