"""What is handed out: the wheel, the source archive, the extras, and what runs without any of them."""

from __future__ import annotations

import ast
import email
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

import d3stats

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "d3stats"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
STEM = f"d3stats-{d3stats.__version__}"


def names_of(requirements: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9_.-]", line)[0].lower().replace("-", "_") for line in requirements}


def build(target: str, folder: Path) -> Path:
    # hatchling is part of the extra dev, so that these tests are never skipped where the others run.
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=300)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return zipfile.ZipFile(build("wheel", tmp_path_factory.mktemp("wheel")))


def said_by(wheel: zipfile.ZipFile) -> Message:
    return email.message_from_bytes(wheel.read(f"{STEM}.dist-info/METADATA"))


def test_the_wheel_holds_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    found = {name for name in wheel.namelist() if not name.startswith(f"{STEM}.dist-info/")}
    there = {path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    assert found == {name for name in there if "__pycache__" not in name}
    assert {Path(name).suffix for name in found} == {
        ".py",
        ".csv",
        ".parquet",
        ".md",
        ".toml",
        ".css",
        ".mplstyle",
        ".typed",
    }
    assert "d3stats/py.typed" in found
    assert sum(entry.compress_size for entry in wheel.infolist()) < 2_000_000


def test_the_wheel_fits_every_machine_and_brings_the_command(wheel: zipfile.ZipFile) -> None:
    assert Path(str(wheel.filename)).name == f"{STEM}-py3-none-any.whl"
    points = wheel.read(f"{STEM}.dist-info/entry_points.txt").decode()
    assert points.split() == ["[console_scripts]", "d3stats", "=", "d3stats.cli:app"]
    licences = [name for name in wheel.namelist() if "/licenses/" in name]
    assert [wheel.read(name) for name in licences] == [(ROOT / "LICENSE").read_bytes()]


def test_the_metadata_say_what_the_package_is(wheel: zipfile.ZipFile) -> None:
    said = said_by(wheel)
    assert (said["Name"], said["Version"]) == ("d3stats", d3stats.__version__)
    assert (said["License-Expression"], said["Requires-Python"]) == ("MIT", ">=3.11")
    assert said["Description-Content-Type"] == "text/markdown"
    readme = bytes(said.get_payload(decode=True)).decode("utf-8")  # type: ignore[arg-type]
    assert readme.strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()
    pythons = [
        line.rsplit(" ", 1)[1] for line in said.get_all("Classifier", []) if re.search(r":: 3\.\d+$", line)
    ]
    assert pythons == ["3.11", "3.12", "3.13"]
    assert "Typing :: Typed" in said.get_all("Classifier", [])
    # The project has no public address yet. RFC 2606 reserves the domain of these, so no page is behind them.
    addresses = dict(each.split(", ") for each in said.get_all("Project-URL", []))
    assert set(addresses) == {"Homepage", "Documentation", "Source", "Issues"}
    assert all(address.split("/")[2].endswith(".example") for address in addresses.values())
    assert said["Home-page"] is None


def test_the_wheel_asks_for_what_the_project_file_names(wheel: zipfile.ZipFile) -> None:
    asked = said_by(wheel).get_all("Requires-Dist", [])
    running = [line for line in asked if "extra ==" not in line]
    assert names_of(running) == names_of(PROJECT["dependencies"])
    assert set(said_by(wheel).get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])


@pytest.mark.slow  # 2 s; the fast layer builds the wheel
def test_the_source_archive_is_the_checkout(tmp_path: Path) -> None:
    """So that the tests run from it: all that they read is there, and nothing that was built."""
    with tarfile.open(build("sdist", tmp_path)) as archive:
        found = {name.removeprefix(f"{STEM}/") for name in archive.getnames()}
        assert sum(member.size for member in archive.getmembers()) < 30_000_000
    for folder in ("d3stats", "tests", "docs", "simulations", "analysis", "figures", "notebooks"):
        kept = {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py")}
        assert {name for name in kept if "_build" not in name} <= found, folder
    assert {"CITATION.cff", "LICENSE", "Makefile", "constraints.txt", "pyproject.toml", ".ci/run"} <= found
    assert not [name for name in found if re.search(r"__pycache__|docs/_build|\.venv|\.git/|\.pyc$", name)]


# What may be missing, by the extra that brings it; the tests' and the documentation's own are no concern of a user.
EXTRAS = {
    extra: names_of(needed) | {"bayes": {"pytensor"}, "text": {"sklearn"}}.get(extra, set())
    for extra, needed in PROJECT["optional-dependencies"].items()
    if extra not in {"docs", "dev", "peers"}
}


def test_every_extra_has_a_case() -> None:
    assert set(EXTRAS) == set(WITHOUT)
    for extra, needed in PROJECT["optional-dependencies"].items():
        if extra in EXTRAS:
            assert names_of(needed) <= EXTRAS[extra]


def imports_of(node: ast.AST, late: bool = False) -> Iterator[tuple[str, int, bool]]:
    """Yield each imported package with its line, and whether it is imported after the module or for types only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name.split(".")[0], child.lineno, late) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield str(child.module).split(".")[0], child.lineno, late
        elif isinstance(child, ast.stmt):
            typing_only = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
            function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            yield from imports_of(child, late or typing_only or function)
        elif isinstance(child, ast.excepthandler):
            yield from imports_of(child, late)


def test_what_is_imported_is_a_dependency_or_an_extra_inside_a_function() -> None:
    """A minimal install imports every module, so nothing optional is imported at a module's top."""
    running = names_of(PROJECT["dependencies"])
    optional = set().union(*EXTRAS.values()) | {"anyio"}  # which inspect-ai brings
    known = {"d3stats", *sys.stdlib_module_names, *running}
    seen = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        lines = re.findall(r"^[ \t]*(?:import|from) [^\n]*", text, re.MULTILINE)
        named = {line.split()[1].split(".")[0] for line in lines}
        if named <= known and not any("," in line for line in lines if line.lstrip().startswith("import")):
            seen |= named  # nothing optional, so that the place does not matter
            continue
        for name, line, late in imports_of(ast.parse(text)):
            seen.add(name)
            assert name in known or (late and name in optional), f"{path}:{line} imports {name}"
    assert running <= seen  # and nothing is installed that is not used


# Imports of these packages fail as if they were not installed.
BLOCKER = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""
COMMAND = """
sys.argv = ["d3stats", *{words}]
from d3stats.cli import app
app()
"""
WITHOUT = {
    "bayes": "from d3stats.models.bayes import fit_mixture\nfit_mixture([1, 2], 3)",
    "live": [
        "debate",
        "items.jsonl",
        "--model",
        "m",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "-o",
        "log.jsonl",
    ],
    "scale": [
        "simulate",
        str(ROOT / "tests" / "planning" / "study.toml"),
        "--scheduler",
        "tcp://127.0.0.1:9",
    ],
    "text": "from d3stats.inference.reasons.similarity import tfidf\ntfidf(['so be it'])",
    "inspect": "from d3stats.log.importers.inspect_logs import load_inspect\nload_inspect('log.eval')",
}
"""A use of each extra: lines of Python, or the words of a command."""


def run_without(absent: set[str], use: str | list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    code = BLOCKER.format(absent=absent) + (use if isinstance(use, str) else COMMAND.format(words=use))
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize(
    "extra",
    # Each case starts a process; the fast layer has a command and a function.
    [
        pytest.param(extra, marks=() if extra in ("live", "text") else pytest.mark.slow)
        for extra in sorted(WITHOUT)
    ],
)
def test_a_missing_extra_is_one_line_with_the_commands_that_install_it(extra: str, tmp_path: Path) -> None:
    item = {"id": "q1", "question": "2+2?", "candidates": ["3", "4"], "label": "B"}
    (tmp_path / "items.jsonl").write_text(json.dumps(item) + "\n", encoding="utf-8")
    import zipfile_zstd  # noqa: F401  (zipfile then packs as Inspect does)

    with zipfile.ZipFile(tmp_path / "log.eval", "w", compression=93) as archive:
        archive.writestr("header.json", "{}")
    done = run_without(EXTRAS[extra], WITHOUT[extra], tmp_path)
    assert done.returncode == 1
    *before, last = done.stderr.splitlines()
    if isinstance(WITHOUT[extra], list):  # a command shows no traceback
        assert before == []
    commands = rf'pip install "d3stats\[{extra}\]" \(in a checkout: pip install "\.\[{extra}\]"\)'
    missing = "|".join(sorted(EXTRAS[extra]))
    assert re.fullmatch(rf"(d3stats|ImportError): .+ needs .+; got no ({missing})\S*: {commands}", last), last
    # Nothing was written that a later run would go on from.
    assert {path.name for path in tmp_path.iterdir()} == {"items.jsonl", "log.eval"}


PLAIN = [
    ["example", "debates.csv"],
    ["fit", "slm7", "--round", "1", "--n-boot", "0"],
    ["replay", "slm7"],
    ["compare", "slm7", "slm7"],
    ["theorems", "d3-theorem-2"],
    ["plan", "debates.csv", "--no-limit", "--n-draws", "20"],
    ["simulate", "study.toml"],
    ["agreement", "slm7"],
    ["power", "--effect", "0.02", "--discordance", "0.06"],
    ["doctor", "slm7"],
    ["show", "slm7"],
    ["rules"],
    ["worlds"],
    ["protocols"],
    ["formats"],
    ["debate", "--synthetic", "world.toml", "--dry-run", "--limit", "2"],
]
"""Commands that need no extra."""


def test_the_commands_run_without_any_extra(tmp_path: Path) -> None:
    """One interpreter runs them all, with every optional package out of reach."""
    world = '[[worlds]]\nname = "voter"\npanel = 3\n'
    study = f'rules = ["fixed:2"]\nn_rounds = 3\ndebates = 50\nseeds = [1]\n\n{world}'
    (tmp_path / "study.toml").write_text(study, encoding="utf-8")
    (tmp_path / "world.toml").write_text('name = "courtroom"\n', encoding="utf-8")
    loop = f"""
from d3stats.cli import app
for words in {PLAIN}:
    try:
        app(words, prog_name="d3stats")
    except SystemExit as end:
        assert not end.code, (words, end.code)
    print("DONE", words[0])
"""
    done = run_without(set().union(*EXTRAS.values()) | {"krippendorff", "polars"}, loop, tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.findall("^DONE (.+)$", done.stdout, re.MULTILINE) == [words[0] for words in PLAIN]
