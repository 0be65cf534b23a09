"""The studies use the package as any user can: public names of public modules."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

from layers import for_each
from parsed import nodes_on_lines

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted(
    path for folder in ("simulations", "analysis", "figures") for path in (ROOT / folder).rglob("*.py")
)


def imported(script: Path) -> list[tuple[str, str]]:
    """Return what a script imports from the package: modules, and names in them."""
    found = []
    for node in nodes_on_lines(script.read_text(encoding="utf-8"), re.compile("d3stats")):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "d3stats":
            found += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names if alias.name.split(".")[0] == "d3stats"]
    return found


@for_each("script", SCRIPTS)
def test_a_study_imports_public_names_only(script: Path) -> None:
    private = [
        f"{module}: {name}"
        for module, name in imported(script)
        if any(part.startswith("_") for part in [*module.split("."), name])
        or (name and name not in public_names(module))
    ]
    assert private == []


def public_names(module: str) -> set[str]:
    """Return what a module says is public: its list of names, and the modules of a folder."""
    home = importlib.import_module(module)
    inside = {path.stem for path in Path(home.__path__[0]).iterdir()} if hasattr(home, "__path__") else set()
    return set(home.__all__) | inside


def test_there_are_studies_and_they_use_the_package() -> None:
    assert len(SCRIPTS) > 20
    assert sum(bool(imported(script)) for script in SCRIPTS) > 15
