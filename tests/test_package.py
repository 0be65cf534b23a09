"""The public names are those that the package says it has."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import d3stats
from d3stats._lazy import homes

ROOT = Path(__file__).resolve().parents[1]
PUBLIC = [name for name in d3stats.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_can_be_had_and_is_documented(name: str) -> None:
    value = getattr(d3stats, name)
    assert (value.__doc__ or "").strip()


FOLDERS = sorted(
    ".".join(path.relative_to(ROOT).parent.parts)
    for path in (ROOT / "d3stats").rglob("__init__.py")
    if "lazy(__name__)" in path.read_text(encoding="utf-8")
)


def test_every_folder_that_is_loaded_late_is_tried() -> None:
    assert {"d3stats", "d3stats.planning", "d3stats.inference", "d3stats.worlds"} <= set(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_has_the_names_that_it_says_and_that_type_checkers_see(folder: str) -> None:
    package = importlib.import_module(folder)
    seen = homes(str(package.__file__))
    assert set(seen) == set(package.__all__) - {"__version__"}
    assert dir(package) == sorted(package.__all__)
    for name, home in seen.items():
        module = importlib.import_module(f"{folder}.{name}" if home == folder else home)
        assert getattr(package, name) is (module if home == folder else getattr(module, name))


def test_a_function_keeps_its_place_when_the_module_of_its_name_is_imported() -> None:
    code = """
import d3stats.planning.plan
from d3stats import planning
from d3stats.planning.plan import Plan
assert callable(planning.plan) and planning.Plan is Plan, planning.plan
import d3stats.theory.claims.d3
assert d3stats.theory.claims().keys()
assert planning.exact.evaluate is planning.evaluate
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=60)


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
