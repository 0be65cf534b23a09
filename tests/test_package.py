"""The public names are those that the package says it has."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import d3stats

ROOT = Path(__file__).resolve().parents[1]
PUBLIC = [name for name in d3stats.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_can_be_had_and_is_documented(name: str) -> None:
    value = getattr(d3stats, name)
    assert (value.__doc__ or "").strip()


@pytest.mark.parametrize(("name", "home"), sorted(d3stats._HOMES.items()))
def test_a_public_name_is_the_object_of_its_home(name: str, home: str) -> None:
    assert getattr(d3stats, name) is getattr(importlib.import_module(home), name)


def test_the_names_shown_are_the_public_names() -> None:
    assert set(dir(d3stats)) == set(d3stats.__all__)
    assert set(d3stats._HOMES) | set(d3stats._ROOMS) | {"__version__"} == set(d3stats.__all__)


def test_type_checkers_see_the_same_names_as_the_interpreter() -> None:
    tree = ast.parse(Path(d3stats.__file__).read_text(encoding="utf-8"))
    typed: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for entry in node.body:
                assert isinstance(entry, ast.ImportFrom)
                typed |= {alias.name: str(entry.module) for alias in entry.names}
    assert typed == d3stats._HOMES | dict.fromkeys(d3stats._ROOMS, "d3stats")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'd3stats' has no attribute 'fit_everything'"):
        _ = d3stats.fit_everything


def test_the_version_stands_in_one_place() -> None:
    """The project file takes it from the package, and what is cited is what is installed."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in document["project"]
    assert document["project"]["dynamic"] == ["version"]
    assert ROOT / document["tool"]["hatch"]["version"]["path"] == ROOT / "d3stats" / "__init__.py"
    assert citation()["version"] == d3stats.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", d3stats.__version__)


def citation() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return found


def test_the_citation_has_what_its_format_requires_and_names_no_person_and_no_address() -> None:
    """The Citation File Format 1.2.0 requires four keys; people who are not there are not named."""
    cited = citation()
    assert set(cited) >= {"cff-version", "message", "title", "authors"}
    assert cited["cff-version"] == "1.2.0"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert cited["license"] == project["license"]
    assert [list(author) for author in cited["authors"]] == [["name"]]
    assert cited["authors"][0]["name"].lower() == project["authors"][0]["name"]
    assert "://" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_constraints_pin_by_name_and_version_only() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pin = r"([a-z0-9][a-z0-9._-]*==[0-9][0-9a-z.!+]*)( ; python_version (?:<|>=) \"3\.12\")?"
    found = [re.fullmatch(pin, line) for line in lines]
    assert all(found)
    names = [line.split("==")[0] for line in lines]
    assert names == sorted(names)
    # A package is pinned once, or once for each side of 3.12.
    keys = [(line.split("==")[0], match[2]) for line, match in zip(lines, found, strict=True) if match]
    for name in set(names):
        markers = {marker for key, marker in keys if key == name}
        assert names.count(name) == len(markers), name
        assert len(markers) == 1 or None not in markers, name


def test_every_dependency_of_running_and_developing_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["dev"], *extras["docs"]]
    names = {re.match(r"[A-Za-z0-9_.-]+", line).group().lower() for line in wanted} - {"d3stats"}  # type: ignore[union-attr]
    pinned = {
        line.split("==")[0] for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    }
    assert names <= pinned


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(d3stats.__file__).parent / "py.typed").is_file()


def test_the_style_sheet_is_inside_the_package() -> None:
    assert (Path(d3stats.__file__).parent / "plotting" / "d3stats.mplstyle").is_file()


def test_no_public_name_is_lost() -> None:
    """`tests/public_names.txt` lists what users may import; a name leaves it together with a line in CHANGELOG.md."""
    listed = (ROOT / "tests" / "public_names.txt").read_text(encoding="utf-8").split()
    homes = {name: name.rsplit(".", 1) for name in listed}
    lost = [name for name, (home, last) in homes.items() if not hasattr(importlib.import_module(home), last)]
    assert lost == []
    assert len(listed) == len(set(listed)) > 300
