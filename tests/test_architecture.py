"""The table of layers in ARCHITECTURE.md is the one that the code and import-linter keep."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "d3stats"
SHARED = ("d3stats.models", "d3stats.inference", "d3stats.resampling", "d3stats.theory")
"""Folders in which a private module has more than one importer, and whose ``__init__`` only names what they have."""


def layers() -> list[list[str]]:
    """Return the rows of the table: names in order, the ground first."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d [^|]*\| (.*) \|$", text, re.MULTILINE)
    return [re.findall(r"`(\w+)`", row) for row in rows]


IMPORT = re.compile(r"^[ ]*((?:from [\w.]+ import (?:\([^)]*\)|\w.*)|import [a-z][\w.]*.*))$", re.MULTILINE)


@cache
def modules() -> dict[str, Path]:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


@cache
def imports() -> dict[str, set[str]]:
    """Return what each module imports, lazily or for types alone too."""
    known = modules()
    found: dict[str, set[str]] = defaultdict(set)
    for name, path in known.items():
        # Parsing the import statements alone takes a tenth of the time.
        code = re.sub(r'"""[^"]*(?:"(?!"")[^"]*)*"""', "", path.read_text(encoding="utf-8"))
        for statement in IMPORT.findall(code):
            (node,) = ast.parse(statement).body
            if isinstance(node, ast.Import):
                found[name] |= {alias.name for alias in node.names if alias.name in known}
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    deep = f"{node.module}.{alias.name}"
                    found[name] |= {deep if deep in known else node.module} & set(known)
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one module, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph.get(name, ())):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            part = []
            while not part or part[-1] != name:
                part.append(stack.pop())
            if len(part) > 1:
                found.append(sorted(part))

    for name in sorted(graph):
        if name not in index:
            visit(name)
    return found


def test_the_search_for_circles_finds_them() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [["a", "b", "c"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_every_folder_and_module_has_one_layer() -> None:
    listed = [name for row in layers() for name in row]
    there = {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert len(layers()) == 6
    assert sorted(listed) == sorted(there - {"__init__", "__main__"})


def test_no_import_runs_upward() -> None:
    place = {name: (layer, k) for layer, row in enumerate(layers()) for k, name in enumerate(row)}
    up = []
    for name, others in imports().items():
        here = place.get(name.split(".")[1]) if "." in name else None
        for other in others:
            if here is not None and "." in other:
                there = place[other.split(".")[1]]
                if there > here:
                    up.append(f"{name} -> {other}")
    assert up == []


@pytest.mark.parametrize(
    ("folder", "unknown"),
    [
        ("d3stats.inputs", ("d3stats.log", "d3stats.sources")),
        ("d3stats.inference", ("d3stats.log",)),
        ("d3stats.planning", ("d3stats.log",)),
    ],
)
def test_statistics_know_no_logs(folder: str, unknown: tuple[str, ...]) -> None:
    """They compute on inputs: what reads files and columns is in `sources`."""
    reads = [
        f"{name} -> {other}"
        for name, others in imports().items()
        if name.startswith(folder)
        for other in others
        if other.startswith(unknown)
    ]
    assert any(name.startswith(folder) for name in modules())
    assert reads == []


@cache
def readers() -> dict[str, ast.FunctionDef]:
    """Return the functions of inference and planning that take a source with the settings of its reading."""
    return {
        f"{name}.{node.name}": node
        for name, path in modules().items()
        if name.startswith(("d3stats.inference", "d3stats.planning"))
        if "**reading" in (text := path.read_text(encoding="utf-8"))
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.args.kwarg and node.args.kwarg.arg == "reading"
    }


def test_a_function_opens_its_source_before_it_does_anything_else_with_it() -> None:
    """So what a source is, and how it is read, is decided in `sources` alone; checks of settings may come first."""
    late = []
    for name, function in readers().items():
        source = next(each.arg for each in function.args.args if each.arg != "world")
        named = [{x.id for x in ast.walk(line) if isinstance(x, ast.Name)} for line in function.body]
        first = next(names for names in named if source in names)
        late += [name] if "reading" not in first else []
    assert len(readers()) > 20
    assert late == []


def test_the_contract_of_import_linter_has_the_same_order() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]["layers"]
    ranks = {
        name.removeprefix("d3stats."): k
        for k, row in enumerate(reversed(contract))
        for name in row.split(" | ")
    }
    table = [[name for name in row if name in ranks] for row in layers()]
    for below, above in pairwise(table):
        assert max(ranks[name] for name in below) < min(ranks[name] for name in above)
    for row in table:
        assert [ranks[name] for name in row] == sorted(ranks[name] for name in row)
    assert {name for row in layers() for name in row} == set(ranks)


CIRCLES = [
    {"campaigns", "ledger"},  # a ledger replays a log
]
"""Modules of a folder that import each other inside functions, and why."""


def test_imports_form_no_circle_but_these() -> None:
    for folder in sorted({".".join(name.split(".")[:2]) for name in modules()} - {"d3stats"}):
        graph = {
            name: {other for other in others if other.startswith(f"{folder}.") or other == folder}
            for name, others in imports().items()
            if name.startswith(f"{folder}.") or name == folder
        }
        for circle in circles(graph):
            found = {name.removeprefix(f"{folder}.") if name != folder else "__init__" for name in circle}
            assert any(found <= known for known in CIRCLES), circle


def test_a_private_module_has_more_than_one_importer() -> None:
    by: dict[str, set[str]] = defaultdict(set)
    for name, others in imports().items():
        for other in others:
            by[other].add(name)
    private = [name for name in modules() if name.startswith(SHARED) and name.split(".")[-1].startswith("_")]
    assert {name: by[name] for name in private if len(by[name]) < 2} == {}


def test_what_a_folder_exports_is_what_it_names() -> None:
    for name, path in modules().items():
        if not name.startswith(SHARED) or path.name != "__init__.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        brought = {
            a.asname or a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names
        }
        named = {
            each
            for n in tree.body
            if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__"
            for each in ast.literal_eval(n.value)
        }
        assert brought - {"annotations", "TYPE_CHECKING", "lazy"} <= named | {"Any"}, name


def test_the_page_is_short() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()) <= 200


def test_what_the_page_names_is_there_under_no_old_path() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    paths = {path for path in re.findall(r"`([\w/]+\.py)`", text) if "/" in path}
    assert [path for path in paths if not (PACKAGE / path).exists() and not (ROOT / path).exists()] == []
    folders = {name for row in layers() for name in row}
    dotted = [
        name
        for name in re.findall(r"`(?:d3stats\.)?([a-z_]+(?:\.\w+)+)`", text)
        if name.split(".")[0] in folders and not name.endswith(".py")
    ]
    known = modules()
    lost = []
    for name in dotted:
        parts = f"d3stats.{name}".split(".")
        home = next((k for k in range(len(parts), 1, -1) if ".".join(parts[:k]) in known), 0)
        source = known[".".join(parts[:home])].read_text(encoding="utf-8") if home > 1 else ""
        if home < 2 or any(part not in source for part in parts[home:]) or len(parts) - home > 2:
            lost.append(name)
    assert len(dotted) > 15
    assert lost == []
