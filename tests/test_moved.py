"""Old module paths work, with a warning; the public names are frozen; imports form no circle."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import d3stats
from d3stats._moved import MOVED

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("old", sorted(MOVED))
def test_an_old_path_still_gives_the_names_of_the_new_one(old: str) -> None:
    new = importlib.import_module(MOVED[old])
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=re.escape(f"{old} is now {MOVED[old]}")):
        module = importlib.import_module(old)
    for name in new.__all__:
        assert getattr(module, name) is getattr(new, name)
    assert module.__doc__ == new.__doc__
    with pytest.raises(AttributeError):
        _ = module.nothing_of_the_kind
    for name in [name for name in sys.modules if name in MOVED]:
        sys.modules.pop(name)
    vars(d3stats).pop("simulate", None)  # an old folder that shares its name with a function


def test_the_old_folders_still_give_all_their_names() -> None:
    names = {
        "agents": "Agent Case Message Refused ReplayAgent Reply Request Rubric Slot "
        "SyntheticItem synthetic_agent synthetic_items",
        "debates": "DebateItem RunReport debate forecast read_items run_debates",
    }
    for folder, all_names in names.items():
        script = (
            f"import d3stats; print([getattr(d3stats.{folder}, n).__name__ for n in {all_names.split()!r}])"
        )
        ran = subprocess.run(
            [sys.executable, "-W", "default", "-c", script], capture_output=True, text=True, cwd=ROOT
        )
        assert ran.stdout.strip() == str(all_names.split()), ran.stderr
        assert f"DeprecationWarning: d3stats.{folder} is now" in ran.stderr


def test_a_function_stays_callable_after_its_old_module_was_imported() -> None:
    script = (
        "import d3stats; from d3stats.simulate import simulate; from d3stats.worlds import Voter; "
        "a, b = (f(Voter(panel=3), 9, 2, rng=1).votes for f in (d3stats.simulate, simulate)); print((a == b).all())"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout.strip() == "True"


def test_the_warning_points_at_the_users_line(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(
        "import d3stats\nfrom d3stats.models.gap import gap_posterior\nassert gap_posterior is d3stats.gap_posterior\n"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "default", str(script)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert "mine.py:2: DeprecationWarning: d3stats.models.gap is now d3stats.models.gaps.beta" in ran.stderr


def test_the_documented_table_is_the_table_that_works() -> None:
    page = (ROOT / "docs" / "moved.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"^\| `([\w.]+)` \| `([\w.]+)` \|$", page, re.MULTILINE)) == MOVED


def test_an_unknown_module_is_still_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"d3stats\.models\.nothing"):
        importlib.import_module("d3stats.models.nothing")


def test_nobody_here_uses_an_old_path() -> None:
    public = set((ROOT / "tests" / "public_names.txt").read_text(encoding="utf-8").split())
    old = re.compile(
        r"(?<![\w.])(" + "|".join(map(re.escape, sorted(set(MOVED) - public, reverse=True))) + r")\b"
    )
    listed = subprocess.run(
        ["git", "ls-files"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split()
    own = {"d3stats/_moved.py", "docs/moved.md", "tests/test_moved.py", "CHANGELOG.md"}
    found = {}
    for name in listed:
        path = ROOT / name
        if name not in own and path.suffix in (".py", ".md", ".rst", ".toml", ".ipynb") and path.exists():
            found |= {f"{name}: {match[1]}": 1 for match in old.finditer(path.read_text(encoding="utf-8"))}
    assert sorted(found) == []
