"""What the README and the documentation tell a reader to type works."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)

# These set up an environment or run the tests, which is what is going on here already.
ELSEWHERE = ("make", "pip", "python -m venv", "python3 -m venv", "git", "cd", "source", ".")


def blocks(path: Path, language: str) -> list[str]:
    return [body for name, body in FENCE.findall(path.read_text(encoding="utf-8")) if name == language]


def commands(path: Path) -> list[str]:
    """Return the lines after ``$ `` of the console blocks of a page, comments removed."""
    lines = [line for body in blocks(path, "console") for line in body.splitlines()]
    return [re.sub(r"\s+#.*", "", line[2:]).strip() for line in lines if line.startswith("$ ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_python_of_a_page_gives_what_the_page_says(page: Path) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    found = [body for body in blocks(page, "python") if ">>>" in body]
    test = doctest.DocTestParser().get_doctest("\n".join(found), {}, page.name, str(page), 0)
    report: list[str] = []
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_files_that_a_page_links_to_exist(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = re.findall(r"\]\(([^)#\s]+)", text)
    local = [t for t in targets if not re.match(r"[a-z]+:", t)]
    assert [t for t in local if not (page.parent / t).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_make_targets_that_a_page_names_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|^\$ )make ([a-z][a-z-]*)", text, re.MULTILINE))
    assert named <= targets


@pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="there is no README yet")
def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    """In order, in an empty folder, as a reader would type them; the checkout's files are at hand."""
    wanted = [c for c in commands(ROOT / "README.md") if not c.startswith(ELSEWHERE)]
    here = Path(sys.executable).parent
    if any(c.startswith("d3stats") for c in wanted) and not (here / "d3stats").exists():
        pytest.skip("the command d3stats is not installed beside this Python: `make setup` does that")
    for name in ("notebooks", "figures"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name)
    path = f"{here}{os.pathsep}{os.environ['PATH']}"
    for command in wanted:
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env=os.environ | {"PATH": path, "MPLBACKEND": "Agg"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"


def test_the_readme_names_the_test_command_that_the_check_runs() -> None:
    readme = ROOT / "README.md"
    if not readme.exists():
        pytest.skip("there is no README yet")
    assert "make test" in commands(readme)
    assert re.search(r"^make test$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
